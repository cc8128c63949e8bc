/* Tests that the short form of each loop that a build for size takes (FIRN_SMALL) gives the bits of the fast one, which
 * is the library's. */
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/quads.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_test.h"

/* --- the short forms, under other names --- */

#undef FIRN_SMALL
#define FIRN_SMALL 1

void small_sum_begin(firn_sum *sum);
void small_sum_add(firn_sum *sum, float x);
void small_sum_add_many(firn_sum *sum, const float *x, size_t count);
float small_sum_end(const firn_sum *sum);
#define firn_sum_begin    small_sum_begin
#define firn_sum_add      small_sum_add
#define firn_sum_add_many small_sum_add_many
#define firn_sum_end      small_sum_end
#include "runtime/numerics/sum.c"
#undef firn_sum_begin
#undef firn_sum_add
#undef firn_sum_add_many
#undef firn_sum_end

#define firn_philox                small_philox
#define firn_random_bits           small_random_bits
#define firn_random_uniform        small_random_uniform
#define firn_random_uniform_many   small_random_uniform_many
#define firn_random_normal         small_random_normal
#define firn_random_normal_many    small_random_normal_many
#define firn_random_truncated_many small_random_truncated_many
#define firn_permute               small_permute
#define firn_permute_many          small_permute_many
void small_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint32_t small_random_bits(const firn_rng *rng, uint64_t element);
float small_random_uniform(const firn_rng *rng, uint64_t element);
void small_random_uniform_many(float *out, const firn_rng *rng, uint64_t first, size_t count);
float small_random_normal(const firn_rng *rng, uint64_t element);
void small_random_normal_many(float *out, const firn_rng *rng, uint64_t first, size_t count);
void small_random_truncated_many(float *out, const firn_rng *rng, uint64_t first, size_t count, firn_truncation from);
uint64_t small_permute(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t index);
void small_permute_many(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t *indices, size_t number);
#include "runtime/numerics/random.c"
#undef firn_philox
#undef firn_random_bits
#undef firn_random_uniform
#undef firn_random_uniform_many
#undef firn_random_normal
#undef firn_random_normal_many
#undef firn_random_truncated_many
#undef firn_permute
#undef firn_permute_many

#define firn_block_maximum         small_block_maximum
#define firn_block_round           small_block_round
#define firn_block_dropout_factors small_block_dropout_factors
float small_block_maximum(float m, const float *x, size_t count);
void small_block_round(uint8_t type, float *x, size_t count);
void small_block_dropout_factors(const firn_rng *rng, uint64_t first, float rate, float *factors, size_t count);
#include "runtime/kernels/blocks.c"
#undef firn_block_maximum
#undef firn_block_round
#undef firn_block_dropout_factors

firn_nan_watch small_quads_add(const firn_quads *quads, size_t rows, size_t columns, float *sums, size_t step,
                               bool begins);
#define firn_quads_add small_quads_add
#include "runtime/kernels/quads.c"
#undef firn_quads_add

/* --- tests --- */

enum { NUMBERS = 3000 };

/* Numbers of many sizes and both signs. */
static void fill(float *x, size_t count, uint64_t seed) {
    const firn_rng rng = {.seed = seed};
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = firn_random_bits(&rng, i);
        x[i] = firn_from_bits((bits & 0x807fffffu) | (100u + (bits >> 23 & 0x3f)) << 23);
    }
}

TEST(sums_are_equal) {
    static float x[NUMBERS];
    fill(x, NUMBERS, 1);
    for (size_t count = 0; count <= NUMBERS; count += count < 200 ? 1 : 97) {
        firn_sum fast, small;
        firn_sum_begin(&fast);
        small_sum_begin(&small);
        firn_sum_add_many(&fast, x, count / 3);
        small_sum_add_many(&small, x, count / 3);
        firn_sum_add_many(&fast, x + count / 3, count - count / 3);
        small_sum_add_many(&small, x + count / 3, count - count / 3);
        assert_int_equal(firn_bits(firn_sum_end(&fast)), firn_bits(small_sum_end(&small)));
    }
}

TEST(uniform_numbers_are_equal) {
    static float fast[NUMBERS], small[NUMBERS];
    const firn_rng rng = {.seed = UINT64_C(0x123456789abcdef), .rng_id = 7, .global_step = UINT64_C(1) << 33};
    for (uint64_t first = 0; first < 9; first++) {
        const size_t count = NUMBERS - (size_t)first * 5;
        firn_random_uniform_many(fast, &rng, first, count);
        small_random_uniform_many(small, &rng, first, count);
        assert_memory_equal(fast, small, count * sizeof *fast);
    }
}

TEST(maxima_are_equal) {
    float x[100];
    for (size_t count = 0; count <= 100; count++)
        for (size_t special = 0; special <= count; special++) {
            fill(x, 100, count);
            if (special < count)
                x[special] = firn_from_bits(special % 2 == 0 ? 0xffc00001u : 0x80000000u);
            assert_int_equal(firn_bits(firn_block_maximum(-0.0f, x, count)),
                             firn_bits(small_block_maximum(-0.0f, x, count)));
        }
}

TEST(products_are_equal) {
    enum { ROWS = 4, COLUMNS = 13, TERMS = 21, STEP = 16 };
    float left[ROWS * TERMS], right[COLUMNS * TERMS], fast[ROWS * STEP], small[ROWS * STEP];
    fill(left, ROWS * TERMS, 2);
    fill(right, COLUMNS * TERMS, 3);
    for (size_t rows = 1; rows <= ROWS; rows++)
        for (size_t columns = 1; columns <= COLUMNS; columns++)
            for (uint32_t form = 0; form < 16; form++) {
                const firn_quads quads = {{left, (form & 1) != 0 ? TERMS : 1, (form & 1) != 0 ? 1 : ROWS},
                                          {right, (form & 2) != 0 ? TERMS : 1, (form & 2) != 0 ? 1 : COLUMNS},
                                          (form & 8) != 0 ? 1 : TERMS};
                fill(fast, ROWS * STEP, 4);
                memcpy(small, fast, sizeof small);
                (void)firn_quads_add(&quads, rows, columns, fast, STEP, (form & 4) != 0);
                (void)small_quads_add(&quads, rows, columns, small, STEP, (form & 4) != 0);
                assert_memory_equal(fast, small, sizeof fast);
            }
}

TEST(exponentials_and_logarithms_are_equal) {
    static float x[NUMBERS];
    fill(x, NUMBERS, 11);
    for (size_t i = 0; i < NUMBERS; i++) {
        const float exponent = x[i] > 0.0f ? 200.0f * firn_random_uniform(&(firn_rng){.seed = 3}, i) - 100.0f : x[i];
        assert_int_equal(firn_bits(firn_exp_inline(exponent)), firn_bits(firn_exp(exponent)));
        assert_int_equal(firn_bits(firn_log_inline(x[i])), firn_bits(firn_log(x[i])));
    }
}

/* Infinity times zero is NaN, although neither factor is. */
TEST(a_nan_among_products_is_noticed) {
    enum { ROWS = 4, COLUMNS = 8 };
    float left[ROWS] = {1, 1, 1, 1}, right[COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1}, sums[ROWS * COLUMNS];
    const firn_quads quads = {{left, 1, ROWS}, {right, 1, COLUMNS}, 1};
    assert_false(firn_may_have_nan(firn_quads_add(&quads, ROWS, COLUMNS, sums, COLUMNS, true)));
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            for (uint32_t turned = 0; turned < 2; turned++) {
                left[row] = turned != 0 ? 0.0f : firn_from_bits(FIRN_INFINITY_BITS);
                right[column] = turned != 0 ? firn_from_bits(FIRN_INFINITY_BITS) : 0.0f;
                assert_true(firn_may_have_nan(firn_quads_add(&quads, ROWS, COLUMNS, sums, COLUMNS, true)));
                assert_true(firn_may_have_nan(small_quads_add(&quads, ROWS, COLUMNS, sums, COLUMNS, true)));
                left[row] = right[column] = 1.0f;
            }
}
