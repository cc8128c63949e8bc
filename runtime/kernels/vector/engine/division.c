/* Tries a few numbers of pieces; see division.h. */
#include "runtime/kernels/vector/engine/division.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/engine.h"

enum { CHOICES = 8 /* numbers of row pieces, and of column pieces, that are tried */ };

static firn_engine_division of_pieces(const firn_engine_whole *whole, size_t row_pieces, size_t column_pieces) {
    firn_engine_division d;
    d.rows = firn_round_up(firn_ceiling(whole->rows, row_pieces), firn_engine_of_set.rows);
    d.columns = firn_round_up(firn_ceiling(whole->columns, column_pieces), FIRN_WORD_COLUMNS);
    d.row_pieces = firn_ceiling(whole->rows, d.rows);
    d.column_pieces = firn_ceiling(whole->columns, d.columns);
    return d;
}

/* Estimates the time with this many threads, in multiplications for each term: pieces run in rounds. */
static size_t estimate(const firn_engine_whole *whole, const firn_engine_division *d, size_t threads) {
    const size_t piece = d->rows * d->columns + whole->row_packing * d->rows + whole->column_packing * d->columns;
    return firn_ceiling(whole->products * d->row_pieces * d->column_pieces, threads) * piece + piece / 8;
}

firn_engine_division firn_engine_divide(const firn_engine_whole *whole, size_t threads) {
    const size_t row_pieces = firn_ceiling(whole->rows, whole->most_rows);
    const size_t column_pieces = firn_ceiling(whole->columns, whole->most_columns);
    firn_engine_division best = of_pieces(whole, row_pieces, column_pieces);
    size_t least = estimate(whole, &best, threads);
    for (size_t r = row_pieces; threads > 1 && r < row_pieces + CHOICES; r++)
        for (size_t c = column_pieces; c < column_pieces + CHOICES; c++) {
            const firn_engine_division other = of_pieces(whole, r, c);
            const size_t time = estimate(whole, &other, threads);
            if (time < least) {
                best = other;
                least = time;
            }
        }
    return best;
}
