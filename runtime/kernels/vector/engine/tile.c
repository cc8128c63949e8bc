/* The register tile with the sums of a matrix engine, whose terms are equally far apart; see tile.h. flushed.h has its
 * loops. */
#include "runtime/kernels/vector/engine/tile.h"

#include "plan/ops.h"
#include "runtime/kernels/vector/engine/flushed.h"
#include "runtime/kernels/vector/heights.h"

/* --- in the mode that flushes ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 1, NULL, FIRN_TERMS_APART) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 2, NULL, FIRN_TERMS_APART) }
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 1, NULL, FIRN_TERMS_APART) }
}

static __attribute__((noinline)) void add_pairs_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 2, NULL, FIRN_TERMS_APART) }
}

void firn_engine_tile_add(uint8_t kind, const firn_register_tile *tile) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile);
}

/* --- a tile of any width ------------------------------------------------------------------------------------------ */

static void load(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t row = 0; row < t->rows; row++)
        for (size_t column = 0; column < t->columns; column += FIRN_VECTOR)
            firn_vector_store(
                whole->sums + row * whole->sums_step + column,
                firn_vector_load_some(firn_first_lanes(t->columns - column), t->sums + row * t->sums_step + column));
}

/* Adds the bias and stores the sums, which may be there already. */
static void store(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t column = 0; column < t->columns; column += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(t->columns - column);
        const firn_vector bias = t->bias != NULL ? firn_vector_load_some(lanes, t->bias + column) : firn_vector_zero();
        for (size_t row = 0; row < t->rows; row++) {
            const firn_vector sum = firn_vector_load(whole->sums + row * whole->sums_step + column);
            firn_vector_store_some(t->sums + row * t->sums_step + column, lanes,
                                   firn_vector_canonical(t->bias != NULL ? firn_vector_add(sum, bias) : sum));
        }
    }
}

void firn_engine_tile_multiply(uint8_t kind, const firn_register_tile *tile) {
    _Alignas(64) float own[FIRN_REGISTER_ROWS][FIRN_REGISTER_COLUMNS];
    firn_register_tile whole = *tile;
    if (tile->columns % FIRN_VECTOR != 0) {
        whole.sums = own[0];
        whole.sums_step = FIRN_REGISTER_COLUMNS;
        if (!tile->begins)
            load(tile, &whole);
    }
    const unsigned mode = firn_flush_begin();
    firn_engine_tile_add(kind, &whole);
    firn_flush_end(mode);
    store(tile, &whole);
}
