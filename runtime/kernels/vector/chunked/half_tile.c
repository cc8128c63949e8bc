/* The register tile of attention in halves; see half_tile.h. One loop is compiled for each shape. The sums of a chunk
 * stay in registers while its terms are at hand; a mask of lanes leaves absent terms out. */
#include "runtime/kernels/vector/chunked/half_tile.h"

#include "runtime/kernels/blocks.h"

enum { ROWS = FIRN_HALF_TILE_ROWS, LOW = FIRN_HALF_TILE_LOW, VECTORS = 2 };

typedef firn_half_vector tile_sums[ROWS][VECTORS];

/* Adds a term. some: to the lanes of `lanes`, and to the rows up to `last`. */
static inline __attribute__((always_inline)) void add_term(tile_sums sums, const size_t rows, const size_t vectors,
                                                           const firn_half_tile *t, size_t term, const bool some,
                                                           uint32_t lanes, size_t last) {
    const firn_half_factor *left = t->left + term * t->left_term_step;
    const uint16_t *right = t->right + term * t->right_step;
    firn_half_vector line[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        line[v] = firn_half_vector_load(right + v * FIRN_HALVES);
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        const firn_half_vector factor = firn_half_vector_fill(left[row * t->left_row_step]);
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = some ? firn_half_vector_fma_some(row <= last ? lanes : 0, factor, line[v], sums[row][v])
                                : firn_half_vector_fma_of(factor, line[v], sums[row][v]);
    }
}

/* The terms of a chunk, begin to end, relative to the tile's first. All sums have those from all_begin to all_end. */
typedef struct extent {
    size_t begin, all_begin, all_end, end;
} extent;

static inline size_t limited(ptrdiff_t x, size_t low, size_t high) {
    return x < (ptrdiff_t)low ? low : firn_smaller((size_t)x, high);
}

static extent extent_of(const firn_half_tile *t, size_t rows, size_t begin, size_t end) {
    extent e = {begin, begin, end, end};
    if (t->present == FIRN_HALF_TERMS_FROM_ROW) {
        e.begin = limited(t->diagonal, begin, end);
        e.all_begin = limited(t->diagonal + (ptrdiff_t)rows - 1, e.begin, end);
    } else if (t->present == FIRN_HALF_TERMS_UP_TO_COLUMN) {
        e.all_end = limited(t->diagonal + 1, begin, end);
        e.end = limited(t->diagonal + FIRN_HALVES, e.all_end, end);
    }
    return e;
}

static inline __attribute__((always_inline)) void add_extent(const firn_half_tile *t, const extent *e, bool begins,
                                                             const size_t rows, const size_t vectors) {
    static const uint16_t zeros[FIRN_HALVES];
    tile_sums sums;
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_half_vector_load(begins ? zeros : t->sums + row * t->step + v * FIRN_HALVES);
    }
    for (size_t term = e->begin; term < e->all_begin; term++)
        add_term(sums, rows, vectors, t, term, true, ~0u, (size_t)((ptrdiff_t)term - t->diagonal));
    for (size_t term = e->all_begin; term < e->all_end; term++)
        add_term(sums, rows, vectors, t, term, false, ~0u, 0);
    for (size_t term = e->all_end; term < e->end; term++)
        add_term(sums, rows, vectors, t, term, true, ~0u << ((ptrdiff_t)term - t->diagonal), rows);
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_half_vector_store(t->sums + row * t->step + v * FIRN_HALVES, sums[row][v]);
    }
}

/* Adds the sums of a finished chunk to the totals. */
static inline __attribute__((always_inline)) void end_chunk(const firn_half_tile *t, bool is_first, const size_t rows,
                                                            const size_t vectors) {
    for (size_t row = 0; row < rows; row++)
        for (size_t v = 0; v < vectors; v++) {
            float *totals = t->totals + row * t->step + v * FIRN_HALVES;
            firn_half_vector_add_to(totals, t->sums + row * t->step + v * FIRN_HALVES, is_first);
        }
}

static void clear_totals(const firn_half_tile *t, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            t->totals[row * t->step + column] = 0.0f;
}

static inline __attribute__((always_inline)) void add(const firn_half_tile *t, const size_t rows,
                                                      const size_t vectors) {
    bool has_totals = !t->begins;
    size_t here, before = t->first_term % t->chunk;
    for (size_t done = 0; done < t->terms; done += here, before = 0) {
        here = firn_smaller(t->chunk - before, t->terms - done);
        const extent e = extent_of(t, rows, done, done + here);
        add_extent(t, &e, before == 0 || (t->begins && done == 0), rows, vectors);
        if (before + here < t->chunk && !(t->ends && done + here == t->terms))
            continue;
        end_chunk(t, !has_totals, rows, vectors);
        has_totals = true;
    }
    if (!has_totals)
        clear_totals(t, rows, vectors * FIRN_HALVES);
}

void firn_half_tile_add(const firn_half_tile *tile) {
    add(tile, ROWS, 1);
}

void firn_half_tile_add_wide(const firn_half_tile *tile) {
    add(tile, LOW, VECTORS);
}

void firn_half_tile_add_low(const firn_half_tile *tile) {
    add(tile, LOW, 1);
}
