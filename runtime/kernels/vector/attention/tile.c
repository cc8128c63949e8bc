/* The register tile of attention; see tile.h. One loop is compiled for one register of columns and one for two, so that
 * the sums stay in registers; chunked sums are computed by chunked.h, flushed ones by engine/attention_tile.h. */
#include "runtime/kernels/vector/attention/tile.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/chunked.h"
#include "runtime/kernels/vector/engine/attention_tile.h"
#include "runtime/kernels/vector/engine/flush.h"

enum { ROWS = FIRN_ATTENTION_TILE_ROWS, VECTORS = FIRN_ATTENTION_TILE_VECTORS };

/* --- float32 ------------------------------------------------------------------------------------------------------ */

/* All rows have `terms` terms, and some rows have some of `edge` more: after the common terms, row r has the first r +
 * 1 of them; or before the common terms, row r lacks the first r. */
typedef struct extent {
    const float *left, *right; /* factors of the first term that any row has */
    size_t terms, edge;
} extent;

typedef firn_vector tile_sums[ROWS][VECTORS];

/* Adds one term to the rows [first, end). */
static inline __attribute__((always_inline)) void add_term(tile_sums sums, const size_t vectors, const float *left,
                                                           size_t row_step, const float *right, const size_t first,
                                                           const size_t end) {
    firn_vector line[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        line[v] = firn_vector_load(right + v * FIRN_VECTOR);
    FIRN_UNROLL
    for (size_t row = first; row < end; row++) {
        const firn_vector factor = firn_vector_fill(left[row * row_step]);
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_fma(factor, line[v], sums[row][v]);
    }
}

/* Adds the terms that only some rows have. */
static inline __attribute__((always_inline)) void add_edge(tile_sums sums, const size_t vectors,
                                                           const firn_attention_tile *t, const float *left,
                                                           const float *right, size_t terms, const bool up_to) {
    FIRN_UNROLL
    for (size_t term = 0; term < ROWS; term++) {
        if (term < terms)
            add_term(sums, vectors, left + term * t->left_term_step, t->left_row_step, right + term * t->right_step,
                     up_to ? term : 0, up_to ? ROWS : term + 1);
    }
}

static inline __attribute__((always_inline)) void add_extent(const firn_attention_tile *t, const extent *e,
                                                             const size_t vectors) {
    const size_t row_step = t->left_row_step, term_step = t->left_term_step, right_step = t->right_step;
    const float *left = e->left, *right = e->right;
    tile_sums sums;
    FIRN_UNROLL
    for (size_t row = 0; row < ROWS; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] =
                t->begins ? firn_vector_zero() : firn_vector_load(t->sums + row * t->sums_step + v * FIRN_VECTOR);
    }
    if (t->present == FIRN_TERMS_FROM_DIAGONAL) {
        add_edge(sums, vectors, t, left, right, e->edge, false);
        left += e->edge * term_step;
        right += e->edge * right_step;
    }
    for (size_t term = 0; term < e->terms; term++, left += term_step, right += right_step)
        add_term(sums, vectors, left, row_step, right, 0, ROWS);
    if (t->present == FIRN_TERMS_UP_TO_DIAGONAL)
        add_edge(sums, vectors, t, left, right, e->edge, true);
    FIRN_UNROLL
    for (size_t row = 0; row < ROWS; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * t->sums_step + v * FIRN_VECTOR, sums[row][v]);
    }
}

static void add_narrow(const firn_attention_tile *t, const extent *e) {
    add_extent(t, e, 1);
}

static void add_wide(const firn_attention_tile *t, const extent *e) {
    add_extent(t, e, VECTORS);
}

/* Excludes the terms that no row has, and separates those on the diagonals of the rows: as many as rows, or fewer at
 * the end of the terms. */
static void cut_at_diagonal(const firn_attention_tile *t, extent *e) {
    const size_t before = firn_smaller(t->diagonal - t->first_term, t->terms);
    e->edge = firn_smaller(ROWS, t->terms - before);
    if (t->present == FIRN_TERMS_UP_TO_DIAGONAL) {
        e->terms = before;
    } else {
        e->left += before * t->left_term_step;
        e->right += before * t->right_step;
        e->terms -= before + e->edge;
    }
}

static void add_in_float32(const firn_attention_tile *t) {
    extent e = {.left = t->left, .right = t->right, .terms = t->terms};
    if (t->present != FIRN_TERMS_ALL)
        cut_at_diagonal(t, &e);
    if (t->columns > FIRN_VECTOR)
        add_wide(t, &e);
    else
        add_narrow(t, &e);
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static void begin_totals(const firn_attention_tile *t) {
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < t->columns; column++)
            t->sums[row * t->sums_step + column] = 0.0f;
}

static void add_in_chunks(const firn_attention_tile *t) {
    if (t->begins)
        begin_totals(t);
    const firn_chunked_tile tile = {.accumulator = t->reduction->accumulator,
                                    .chunk = t->reduction->chunk,
                                    .left = t->left,
                                    .left_row_step = t->left_row_step,
                                    .left_term_step = t->left_term_step,
                                    .right = t->right,
                                    .right_step = t->right_step,
                                    .rows = ROWS,
                                    .columns = t->columns,
                                    .terms = t->terms,
                                    .first_term = t->first_term,
                                    .ends = t->ends,
                                    .present = t->present,
                                    .diagonal = t->diagonal,
                                    .sums = t->chunk_sums,
                                    .totals = t->sums,
                                    .step = t->sums_step};
    firn_chunked_tile_add(&tile);
}

unsigned firn_attention_tiles_begin(const firn_reduction *reduction) {
    return firn_reduction_is_flushed(reduction->kind) ? firn_flush_begin() : 0;
}

void firn_attention_tiles_end(const firn_reduction *reduction, unsigned mode) {
    if (firn_reduction_is_flushed(reduction->kind))
        firn_flush_end(mode);
}

void firn_attention_tile_add(const firn_attention_tile *tile) {
    switch (tile->reduction->kind) {
    case FIRN_REDUCTION_F32:
        add_in_float32(tile);
        break;
    case FIRN_REDUCTION_CHUNKED:
        add_in_chunks(tile);
        break;
    default:
        firn_engine_attention_tile_add(tile);
    }
}
