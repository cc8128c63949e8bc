/* The matrix engine of AVX512_BF16: up to 14 rows by 32 columns of sums in registers. One instruction adds a pair of
 * terms to 16 sums, as `pairs` defines it. */
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/engine/pair_vector.h"
#include "runtime/kernels/vector/vector.h"

enum { HEIGHT = 14, VECTORS = FIRN_WORD_COLUMNS / FIRN_PAIR_SUMS };

static uint32_t load_word(const uint16_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline __attribute__((always_inline)) void multiply_rows(const size_t rows, const firn_engine_tile *t,
                                                                const uint16_t *left, float *out) {
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
                sums[row][v] = firn_pair_add(sums[row][v], factor, line[v]);
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
static void multiply(const firn_engine_tile *t) {
    const uint16_t *left = t->left;
    float *sums = t->sums;
    size_t rows = t->rows;
    if (rows == HEIGHT) {
        multiply_rows(HEIGHT, t, left, sums);
        return;
    }
    if (rows >= 7) {
        multiply_rows(7, t, left, sums);
        left += 7 * t->left_step, sums += 7 * t->sums_step, rows -= 7;
    }
    if (rows >= 4) {
        multiply_rows(4, t, left, sums);
        left += 4 * t->left_step, sums += 4 * t->sums_step, rows -= 4;
    }
    for (; rows > 0; rows--, left += t->left_step, sums += t->sums_step)
        multiply_rows(1, t, left, sums);
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
                                        .end = nothing};
