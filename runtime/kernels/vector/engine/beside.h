/* What a matrix engine does beside the multiplications of a tile, in the time that they take: it fetches memory that is
 * needed soon, and stores the finished sums of the tile before. Nothing here may depend on matrices or threads. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_BESIDE_H
#define FIRN_KERNELS_VECTOR_ENGINE_BESIDE_H

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/round.h"
#include "runtime/kernels/vector/engine/words.h"

enum { FIRN_CACHE_LINE = 64 };

/* The lines of the cache that a part of a matrix fills, and how far they have been fetched: first line 0 of every row,
 * then line 1 of every row, and so on. Addresses need not be valid. All zero: none. */
typedef struct firn_engine_lines {
    const uint8_t *first;
    size_t row_bytes;   /* from one row to the next */
    size_t rows, lines; /* lines: of each row */
    size_t row, line;   /* the next one */
} firn_engine_lines;

static inline void firn_engine_fetch(firn_engine_lines *l, size_t count) {
    for (; count > 0 && l->line < l->lines; count--) {
        firn_prefetch_far(l->first + l->row * l->row_bytes + l->line * FIRN_CACHE_LINE);
        if (++l->row == l->rows) {
            l->row = 0;
            l->line++;
        }
    }
}

/* Finished sums that are to be stored. All zero: none. */
typedef struct firn_engine_finished {
    const float *sums; /* of (row, column) at row * FIRN_WORD_COLUMNS + column */
    const float *bias; /* of each column, added before the sum is rounded once; NULL: none */
    void *out;
    size_t first, step; /* elements of `out` up to that of (0, 0), and from one row to the next */
    size_t rows, columns;
    uint8_t type; /* of `out` */
} firn_engine_finished;

typedef struct firn_engine_beside {
    firn_engine_lines left;        /* of the left factor, into the L2 cache */
    const uint8_t *sums;           /* the next line of sums that wait, which goes into the L1 cache; a tile moves it by
                                    * sums_lines */
    size_t left_lines, sums_lines; /* to be fetched beside one tile */
    firn_engine_finished finished;
} firn_engine_beside;

static inline firn_vector firn_engine_sum(const firn_engine_finished *f, size_t row, size_t column, firn_lanes lanes) {
    const firn_vector sum = firn_vector_load(f->sums + row * FIRN_WORD_COLUMNS + column);
    return f->bias != NULL ? firn_vector_add(sum, firn_vector_load_some(lanes, f->bias + column)) : sum;
}

/* A row of the width of a panel, in bfloat16. */
static inline void firn_engine_store_whole_row(const firn_engine_finished *f, size_t row) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    uint16_t *out = (uint16_t *)f->out + f->first + row * f->step;
    for (size_t column = 0; column < FIRN_WORD_COLUMNS; column += (size_t)2 * FIRN_VECTOR)
        firn_round_and_store(out + column, firn_engine_sum(f, row, column, all),
                             firn_engine_sum(f, row, column + FIRN_VECTOR, all));
}

typedef struct firn_engine_row {
    const firn_engine_finished *finished;
    size_t row;
} firn_engine_row;

static inline __attribute__((always_inline)) void firn_engine_store_row_as(uint8_t type, const void *arguments) {
    const firn_engine_row *r = arguments;
    const firn_engine_finished *f = r->finished;
    for (size_t column = 0; column < f->columns; column += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(f->columns - column);
        firn_vector_narrow(f->out, type, f->first + r->row * f->step + column, lanes,
                           firn_vector_canonical(firn_engine_sum(f, r->row, column, lanes)));
    }
}

/* Stores the rows [begin, end), as far as there are so many. */
static inline void firn_engine_store_rows(const firn_engine_finished *f, size_t begin, size_t end) {
    const bool are_whole = f->type == FIRN_BFLOAT16 && f->columns == FIRN_WORD_COLUMNS;
    for (firn_engine_row r = {f, begin}; r.row < end && r.row < f->rows; r.row++)
        if (are_whole)
            firn_engine_store_whole_row(f, r.row);
        else
            firn_for_type(f->type, firn_engine_store_row_as, &r);
}

/* What is done in each of several steps. */
typedef struct firn_engine_pace {
    size_t left_lines, sums_lines, rows;
} firn_engine_pace;

/* a / b, rounded up, where a may be 0. */
static inline size_t firn_engine_share(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static inline firn_engine_pace firn_engine_pace_of(const firn_engine_beside *b, size_t steps) {
    return (firn_engine_pace){firn_engine_share(b->left_lines, steps), firn_engine_share(b->sums_lines, steps),
                              firn_engine_share(b->finished.rows, steps)};
}

static inline void firn_engine_beside_step(firn_engine_beside *b, firn_engine_pace pace, size_t step) {
    firn_engine_fetch(&b->left, pace.left_lines);
    const size_t end = firn_smaller((step + 1) * pace.sums_lines, b->sums_lines);
    for (size_t line = step * pace.sums_lines; line < end; line++, b->sums += FIRN_CACHE_LINE)
        firn_prefetch_near(b->sums);
    firn_engine_store_rows(&b->finished, step * pace.rows, (step + 1) * pace.rows);
}

/* All at once, for an engine whose multiplications leave no time beside them: it fetches nothing. */
static inline void firn_engine_do_beside(const firn_engine_beside *b) {
    if (b != NULL)
        firn_engine_store_rows(&b->finished, 0, b->finished.rows);
}

#endif
