/* Adds runs of terms to a rectangle of sums; see sums.h. The left factor of a run is widened at once, and the right one
 * when as many terms wait as there is room for: panel by panel, so that a panel stays in the L1 cache while it meets
 * all rows. There is no blocking for the L2 cache: a term of a tile takes much longer than loading its factors. */
#include "runtime/kernels/vector/chunked/sums.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/chunked.h"
#include "runtime/kernels/vector/pack.h"

enum {
    HEIGHT = FIRN_CHUNKED_HEIGHT,
    WIDTH = FIRN_CHUNKED_WIDTH,
    DEPTH = FIRN_CHUNKED_DEPTH,
    LEFT_STEP = DEPTH + FIRN_CHUNKED_LEFT_GAP,
    PANELS = FIRN_CHUNKED_ROWS / HEIGHT
};

_Static_assert(PANELS *HEIGHT *DEPTH <= FIRN_CHUNKED_ROWS * LEFT_STEP, "either order of the left factor has room");

/* --- factors ------------------------------------------------------------------------------------------------------ */

/* Where term `at` of a row lies; the row is a multiple of HEIGHT. */
static float *left_at(firn_chunked_sums *s, size_t row, size_t at) {
    return s->left + (s->in_rows ? row * LEFT_STEP + at : row * DEPTH + at * HEIGHT);
}

/* Widens the left factor of a run behind the terms that wait. */
static void put_left(firn_chunked_sums *s, const firn_chunked_terms *run) {
    const firn_matrix *left = &run->left;
    s->in_rows = left->column_step == 1;
    if (run->places != NULL) {
        for (size_t row = 0; row < s->rows; row++)
            firn_widen(s->left + row * LEFT_STEP + s->terms, left->data, left->type, left->first + run->places[row],
                       run->terms);
        return;
    }
    if (s->in_rows) {
        firn_vector_widen_rows(s->left + s->terms, LEFT_STEP, left, 0, s->rows, 0, run->terms);
        return;
    }
    const firn_matrix by_terms = firn_transposed(*left);
    for (size_t row = 0; row < s->rows; row += HEIGHT)
        firn_vector_pack(left_at(s, row, s->terms), 1, &by_terms, 0, run->terms, row,
                         firn_smaller(HEIGHT, s->rows - row));
}

static float largest_of_left(firn_chunked_sums *s, size_t row) {
    const size_t rows = firn_smaller(HEIGHT, s->rows - row);
    return s->in_rows ? firn_chunked_largest(s->reduction.accumulator, left_at(s, row, 0), rows, LEFT_STEP, s->terms)
                      : firn_chunked_largest(s->reduction.accumulator, left_at(s, row, 0), s->terms, HEIGHT, rows);
}

static void pack_right(firn_chunked_sums *s, size_t column, size_t columns) {
    for (size_t i = 0; i < s->run_count; i++) {
        const firn_chunked_right *run = &s->runs[i];
        firn_vector_pack(s->right + run->at * WIDTH, WIDTH / FIRN_VECTOR, &run->matrix, 0, run->terms, column, columns);
    }
}

/* --- the terms that wait ------------------------------------------------------------------------------------------ */

/* Adds them to all sums. None wait afterwards. */
static void add_waiting(firn_chunked_sums *s) {
    float left_largest[PANELS] = {0};
    firn_chunked_tile tile = {.accumulator = s->reduction.accumulator,
                              .chunk = s->reduction.chunk,
                              .left_row_step = s->in_rows ? LEFT_STEP : 1,
                              .left_term_step = s->in_rows ? 1 : HEIGHT,
                              .right = s->right,
                              .right_step = WIDTH,
                              .terms = s->terms,
                              .cuts = s->cuts,
                              .cut_count = s->cut_count,
                              .present = FIRN_TERMS_ALL,
                              .step = FIRN_CHUNKED_COLUMNS};
    for (size_t row = 0; row < s->rows; row += HEIGHT)
        left_largest[row / HEIGHT] = largest_of_left(s, row);
    for (size_t column = 0; column < s->columns; column += WIDTH) {
        tile.columns = firn_smaller(WIDTH, s->columns - column);
        pack_right(s, column, tile.columns);
        tile.right_largest = firn_chunked_largest(tile.accumulator, s->right, s->terms, WIDTH, tile.columns);
        for (size_t row = 0; row < s->rows; row += HEIGHT) {
            tile.rows = firn_smaller(HEIGHT, s->rows - row);
            tile.left = left_at(s, row, 0);
            tile.left_largest = left_largest[row / HEIGHT];
            tile.sums = s->sums + row * FIRN_CHUNKED_COLUMNS + column;
            tile.totals = s->totals + row * FIRN_CHUNKED_COLUMNS + column;
            firn_chunked_tile_add(&tile);
        }
    }
    s->terms = s->run_count = s->cut_count = 0;
}

/* Ends the chunk of the terms that wait, if there are any, unless the term with this number, the next one, is in it. */
static void cut_before(firn_chunked_sums *s, size_t number) {
    if (s->terms > 0 && number / s->reduction.chunk != s->last / s->reduction.chunk)
        s->cuts[s->cut_count++] = s->terms;
}

/* Ends chunks in front of the terms of a run that are in another one than the term before. */
static void cut_run(firn_chunked_sums *s, const firn_chunked_terms *run) {
    const size_t chunk = s->reduction.chunk;
    cut_before(s, run->number);
    for (size_t next = chunk - run->number % chunk; next < run->terms; next += chunk)
        s->cuts[s->cut_count++] = s->terms + next;
    s->last = run->number + run->terms - 1;
}

/* Notes a run for which there is room. */
static void put_run(firn_chunked_sums *s, const firn_chunked_terms *run) {
    cut_run(s, run);
    put_left(s, run);
    s->runs[s->run_count++] = (firn_chunked_right){run->right, s->terms, run->terms};
    s->terms += run->terms;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

void firn_chunked_sums_begin(firn_chunked_sums *s, const firn_reduction *reduction, size_t rows, size_t columns) {
    s->reduction = *reduction;
    s->rows = rows;
    s->columns = columns;
    s->terms = s->run_count = s->cut_count = s->last = 0;
    s->in_rows = false;
    for (size_t row = 0; row < rows; row++) {
        memset(s->sums + row * FIRN_CHUNKED_COLUMNS, 0, columns * sizeof(float));
        memset(s->totals + row * FIRN_CHUNKED_COLUMNS, 0, columns * sizeof(float));
    }
}

void firn_chunked_sums_add(firn_chunked_sums *s, const firn_chunked_terms *run) {
    firn_chunked_terms rest = *run;
    for (size_t left = run->terms; left > 0; left -= rest.terms) {
        if (s->terms == DEPTH) {
            cut_before(s, rest.number);
            add_waiting(s);
        }
        rest.terms = firn_smaller(left, DEPTH - s->terms);
        put_run(s, &rest);
        rest.number += rest.terms;
        rest.left.first += rest.terms * rest.left.column_step;
        rest.right.first += rest.terms * rest.right.row_step;
    }
}

void firn_chunked_sums_end(firn_chunked_sums *s) {
    if (s->terms > 0)
        s->cuts[s->cut_count++] = s->terms;
    add_waiting(s);
}
