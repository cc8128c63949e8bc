/* The matrix engine of AVX512_BF16: up to 14 rows by 32 columns of sums in registers. One instruction adds a pair of
 * terms to 16 sums, as `pairs` defines it. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/engine/pair_vector.h"
#include "runtime/kernels/vector/vector.h"

enum { HEIGHT = 14, VECTORS = FIRN_WORD_COLUMNS / FIRN_PAIR_SUMS };

static uint32_t load_word(const uint16_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* are_some: the columns from 2w on have word w, and others do not. */
static inline __attribute__((always_inline)) void
multiply_rows(const size_t rows, const bool are_some, const firn_engine_tile *t, const uint16_t *left, float *out) {
    firn_pair_sums sums[HEIGHT][VECTORS];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[row][v] =
                t->begins ? firn_pair_sums_zero() : firn_pair_sums_load(out + row * t->sums_step + v * FIRN_PAIR_SUMS);
    }
    const uint32_t *right = t->right;
    for (size_t word = 0; word < t->words; word++, left += 2, right += FIRN_WORD_COLUMNS) {
        firn_pair_words line[VECTORS];
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            line[v] = firn_pair_words_load(right + v * FIRN_PAIR_SUMS);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            const uint32_t factor = load_word(left + row * t->left_step);
            FIRN_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                sums[row][v] =
                    are_some ? firn_pair_add_some(~0u << 2 * word >> v * FIRN_PAIR_SUMS, sums[row][v], factor, line[v])
                             : firn_pair_add(sums[row][v], factor, line[v]);
        }
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            firn_pair_sums_store(out + row * t->sums_step + v * FIRN_PAIR_SUMS, sums[row][v]);
    }
}

/* A loop for all rows of a whole tile; other rows go by seven, four and one. */
static inline __attribute__((always_inline)) void multiply_tile(const firn_engine_tile *t, const bool are_some) {
    const size_t left_step = t->left_step, sums_step = t->sums_step;
    const uint16_t *left = t->left;
    float *sums = t->sums;
    size_t rows = t->rows;
    for (; rows >= HEIGHT; rows -= HEIGHT, left += HEIGHT * left_step, sums += HEIGHT * sums_step)
        multiply_rows(HEIGHT, are_some, t, left, sums);
    if (rows == 7 || rows > 10) {
        multiply_rows(7, are_some, t, left, sums);
        left += 7 * left_step, sums += 7 * sums_step, rows -= 7;
    }
    for (; rows >= 4; rows -= 4, left += 4 * left_step, sums += 4 * sums_step)
        multiply_rows(4, are_some, t, left, sums);
    for (; rows > 0; rows--, left += left_step, sums += sums_step)
        multiply_rows(1, are_some, t, left, sums);
}

static void multiply(const firn_engine_tile *t) {
    firn_engine_do_beside(t->beside);
    multiply_tile(t, false);
}

static void multiply_from_column(const firn_engine_tile *t) {
    multiply_tile(t, true);
}

/* Rows 2p and 2p + 1 begin with word p. */
static void multiply_up_to_row(const firn_engine_tile *t) {
    for (size_t row = 0; row < t->rows; row += 2) {
        firn_engine_tile both = *t;
        const size_t word = firn_smaller(row / 2, t->words);
        both.left += row * t->left_step + 2 * word;
        both.right += word * FIRN_WORD_COLUMNS;
        both.words -= word;
        both.sums += row * t->sums_step;
        if (row + 1 < t->rows)
            multiply_rows(2, false, &both, both.left, both.sums);
        else
            multiply_rows(1, false, &both, both.left, both.sums);
    }
}

static void nothing(void) {}

/* One instruction does 32 multiplications in half a cycle on the fastest CPU. */
const firn_engine firn_engine_of_set = {.rows = HEIGHT,
                                        .height = 1,
                                        .words = 1,
                                        .copying = 2,
                                        .packing = 8,
                                        .cost = 64,
                                        .begin = nothing,
                                        .multiply = multiply,
                                        .multiply_from_column = multiply_from_column,
                                        .multiply_up_to_row = multiply_up_to_row,
                                        .end = nothing};
