/* The matrix engine of AMX: two by two tiles of sums, or one by two for the last rows. One instruction adds a block of
 * 32 terms to 16 by 16 sums, as even_odd_blocks defines it. It flushes whatever the control register says. */
#include "runtime/kernels/vector/engine/amx_tiles.h"
#include "runtime/kernels/vector/engine/engine.h"

/* Tiles 0 to 3 are sums, 4 and 5 of the left factor, 6 and 7 of the right one. */
enum {
    ROWS = 2 * FIRN_AMX_ROWS,
    RIGHT_BYTES = FIRN_WORD_COLUMNS * sizeof(uint32_t),
    BLOCK = 2 * FIRN_AMX_WORDS,                     /* terms of the left factor */
    BLOCK_WORDS = FIRN_AMX_ROWS * FIRN_WORD_COLUMNS /* of the right one */
};

_Static_assert((int)FIRN_WORD_COLUMNS == 2 * FIRN_AMX_WORDS, "two tiles side by side are as wide as a panel");

static void begin(void) {
    firn_amx_begin();
}

static void end(void) {
    firn_amx_end();
}

/* 17 to 32 rows. */
static inline __attribute__((always_inline)) void multiply_high(const firn_engine_tile *t, firn_engine_beside *beside) {
    const size_t left_bytes = t->left_step * sizeof *t->left, sums_bytes = t->sums_step * sizeof *t->sums;
    const uint16_t *left = t->left, *below = left + FIRN_AMX_ROWS * t->left_step;
    float *sums = t->sums, *sums_below = sums + FIRN_AMX_ROWS * t->sums_step;
    const uint32_t *right = t->right;
    if (t->begins) {
        firn_amx_zero(0);
        firn_amx_zero(1);
        firn_amx_zero(2);
        firn_amx_zero(3);
    } else {
        firn_amx_load(0, sums, sums_bytes);
        firn_amx_load(1, sums + FIRN_AMX_WORDS, sums_bytes);
        firn_amx_load(2, sums_below, sums_bytes);
        firn_amx_load(3, sums_below + FIRN_AMX_WORDS, sums_bytes);
    }
    firn_amx_load(4, left, left_bytes);
    firn_amx_load(5, below, left_bytes);
    firn_amx_stream(6, right, RIGHT_BYTES);
    firn_amx_stream(7, right + FIRN_AMX_WORDS, RIGHT_BYTES);
    const size_t steps = t->words / FIRN_AMX_WORDS;
    const firn_engine_pace pace = beside != NULL ? firn_engine_pace_of(beside, steps) : (firn_engine_pace){0};
    for (size_t step = 0; step < steps; step++) {
        if (beside != NULL)
            firn_engine_beside_step(beside, pace, step);
        const bool is_last = step + 1 == steps;
        left += BLOCK;
        below += BLOCK;
        right += BLOCK_WORDS;
        /* Each factor of the next step is loaded as soon as this one no longer needs the tile. */
        firn_amx_multiply(0, 4, 6);
        firn_amx_multiply(2, 5, 6);
        if (!is_last)
            firn_amx_stream(6, right, RIGHT_BYTES);
        firn_amx_multiply(1, 4, 7);
        if (!is_last)
            firn_amx_load(4, left, left_bytes);
        firn_amx_multiply(3, 5, 7);
        if (!is_last) {
            firn_amx_load(5, below, left_bytes);
            firn_amx_stream(7, right + FIRN_AMX_WORDS, RIGHT_BYTES);
        }
    }
    firn_amx_store(0, sums, sums_bytes);
    firn_amx_store(1, sums + FIRN_AMX_WORDS, sums_bytes);
    firn_amx_store(2, sums_below, sums_bytes);
    firn_amx_store(3, sums_below + FIRN_AMX_WORDS, sums_bytes);
}

/* At most 16 rows. */
static void multiply_low(const firn_engine_tile *t) {
    const size_t left_bytes = t->left_step * sizeof *t->left, sums_bytes = t->sums_step * sizeof *t->sums;
    const uint16_t *left = t->left;
    const uint32_t *right = t->right;
    float *sums = t->sums;
    if (t->begins) {
        firn_amx_zero(0);
        firn_amx_zero(1);
    } else {
        firn_amx_load(0, sums, sums_bytes);
        firn_amx_load(1, sums + FIRN_AMX_WORDS, sums_bytes);
    }
    for (size_t word = 0; word < t->words; word += FIRN_AMX_WORDS) {
        firn_amx_load(4, left, left_bytes);
        firn_amx_stream(6, right, RIGHT_BYTES);
        firn_amx_stream(7, right + FIRN_AMX_WORDS, RIGHT_BYTES);
        firn_amx_multiply(0, 4, 6);
        firn_amx_multiply(1, 4, 7);
        left += BLOCK;
        right += BLOCK_WORDS;
    }
    firn_amx_store(0, sums, sums_bytes);
    firn_amx_store(1, sums + FIRN_AMX_WORDS, sums_bytes);
}

/* multiply_high is compiled twice, because without work beside them its steps need no tests. */
static void multiply(const firn_engine_tile *tile) {
    if (tile->rows > FIRN_AMX_ROWS && tile->beside != NULL) {
        multiply_high(tile, tile->beside);
    } else if (tile->rows > FIRN_AMX_ROWS) {
        multiply_high(tile, NULL);
    } else {
        firn_engine_do_beside(tile->beside);
        multiply_low(tile);
    }
}

/* One instruction does 8,192 multiplications in 16 cycles; packing 64 terms of a lane takes about 8. */
const firn_engine firn_engine_of_set = {.rows = ROWS,
                                        .height = FIRN_AMX_ROWS,
                                        .words = FIRN_AMX_WORDS,
                                        .copying = 16,
                                        .packing = 64,
                                        .cost = 512,
                                        .begin = begin,
                                        .multiply = multiply,
                                        .end = end};
