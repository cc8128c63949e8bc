/* The register tile of flushed sums whose terms have places; see placed.h. engine/flushed.h has its loops. */
#include "runtime/kernels/vector/images/placed.h"

#include "plan/ops.h"
#include "runtime/kernels/vector/heights.h"

static __attribute__((noinline)) void add_blocks_narrow(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 1, places, FIRN_TERMS_PLACED) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 2, places, FIRN_TERMS_PLACED) }
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 1, places, FIRN_TERMS_PLACED) }
}

static __attribute__((noinline)) void add_pairs_wide(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 2, places, FIRN_TERMS_PLACED) }
}

void firn_placed_add(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile, places);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile, places);
}

/* --- a left factor for each column */

static __attribute__((noinline)) void add_blocks_columns_narrow(const firn_register_tile *t,
                                                                const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 1, places, FIRN_TERMS_BY_COLUMN) }
}

static __attribute__((noinline)) void add_blocks_columns_wide(const firn_register_tile *t,
                                                              const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_blocks, t, 2, places, FIRN_TERMS_BY_COLUMN) }
}

static __attribute__((noinline)) void add_pairs_columns_narrow(const firn_register_tile *t,
                                                               const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 1, places, FIRN_TERMS_BY_COLUMN) }
}

static __attribute__((noinline)) void add_pairs_columns_wide(const firn_register_tile *t,
                                                             const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(firn_flushed_add_pairs, t, 2, places, FIRN_TERMS_BY_COLUMN) }
}

void firn_placed_add_columns(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_columns_wide : add_blocks_columns_narrow)(tile, places);
    else
        (is_wide ? add_pairs_columns_wide : add_pairs_columns_narrow)(tile, places);
}
