/* Tests the division of attention's exponentials by their sums, in each kernel set that this CPU can run: within limits
 * it takes a reciprocal and two corrections in place of a division, and must have the bits of the division in any case.
 * The quotients are those closest to a float or to the middle of two floats, with terms and sums everywhere within the
 * limits, at the limits and beyond. FIRN_TEST_EXHAUSTIVE=1 in the environment takes every mantissa of a sum.
 *
 * It calls the function of each set by a name of its own, which the build gives it, because a call of the op cannot be
 * made to have any exponential and any sum. The other sets of AVX-512 have the function of avx512. Sets that this CPU
 * cannot run are named and skipped. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/attention.h"
#include "runtime/kernels/blocks.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

enum {
    QUERIES = 32,
    ROWS = 17, /* an odd number, because some sets compute two rows at once */
    BATCH = ROWS * QUERIES,
    LEAST_MANTISSA = 1 << 23,
    MANTISSAS = 1 << 23
};

/* --- the function of each set ------------------------------------------------------------------------------------- */

/* See runtime/kernels/vector/attention/scores.h. */
typedef void normalise(const firn_attention *a, float *x, const float *sums, size_t rows);

__attribute__((weak)) normalise firn_scores_normalise_avx2, firn_scores_normalise_avx512, firn_scores_normalise_neon,
    firn_scores_normalise_neonfp16;

static const struct {
    const char *set;
    normalise *function; /* NULL: this build does not have it */
} functions[] = {
    {"avx2", firn_scores_normalise_avx2},
    {"avx512", firn_scores_normalise_avx512},
    {"neon", firn_scores_normalise_neon},
    {"neonfp16", firn_scores_normalise_neonfp16},
};

BEFORE_ALL {
    support_find_sets("avx2 avx512 neon neonfp16");
}

static normalise *function_of(const char *set) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].set, set) == 0)
            return functions[i].function;
    return NULL;
}

/* --- comparison with the division --------------------------------------------------------------------------------- */

typedef struct batch {
    float sums[QUERIES];
    float terms[BATCH]; /* row by row, each with a term for each query */
} batch;

/* A NaN need not be the canonical one. */
static bool is_same(float expected, float actual) {
    return firn_bits(expected) == firn_bits(actual) || (expected != expected && actual != actual);
}

static void check_set(const char *set, normalise *function, uint8_t type, const batch *b, const float *expected) {
    const firn_attention a = {.type = type};
    float x[BATCH];
    memcpy(x, b->terms, sizeof x);
    function(&a, x, b->sums, ROWS);
    for (size_t i = 0; i < BATCH; i++)
        if (!is_same(expected[i], x[i]))
            fail_msg("%s, type %d: %a / %a is %a, not %a", set, (int)type, (double)b->terms[i],
                     (double)b->sums[i % QUERIES], (double)expected[i], (double)x[i]);
}

static void check(uint8_t type, const batch *b) {
    float expected[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        expected[i] = b->terms[i] / b->sums[i % QUERIES];
    firn_block_round(type, expected, BATCH);
    for (int i = 0; i < support_compared.count; i++) {
        const char *set = support_compared.found[i].name;
        normalise *function = function_of(set);
        if (function != NULL)
            check_set(set, function, type, b, expected);
    }
}

/* --- quotients that are hard to round ----------------------------------------------------------------------------- */

/* The inverse of an odd number modulo 2^32. Each step doubles the number of bits that are right; at first three are. */
static uint32_t inverse(uint32_t odd) {
    uint32_t y = odd;
    for (int i = 0; i < 4; i++)
        y *= 2 - odd * y;
    return y;
}

/* For mantissas as integers of 24 bits: finds a term for which 2^shift term - middle sum is distance times the largest
 * power of two in the sum, where `middle` has 25 bits: a float if it is even, else the middle of two floats. No other
 * term is closer to a multiple of the sum with distance 1. shift is 24, or 25 for terms less than the sum. Returns 0 if
 * there is no such term. */
static uint32_t hard_term(uint32_t sum, int shift, int32_t distance, uint32_t *seed) {
    const int even = __builtin_ctz(sum);
    const uint32_t period = 1u << (shift - even), limit = 1u << shift;
    const uint32_t first = (uint32_t)-distance * inverse(sum >> even) & (period - 1);
    const uint32_t rest = first + draw(seed, limit / period) * period;
    const uint64_t middle = shift == 24 ? rest | 1u << 24 : rest;
    const uint64_t term = (middle * sum + (uint64_t)((int64_t)distance * (1 << even))) >> shift;
    const bool is_right = middle >= 1u << 24 && term >= LEAST_MANTISSA && term < LEAST_MANTISSA + MANTISSAS;
    return is_right ? (uint32_t)term : 0;
}

/* An exponent in [least, most], often one of the two. */
static int draw_exponent(int least, int most, uint32_t *seed) {
    const uint32_t choice = draw(seed, 8);
    return choice == 0 ? least : (choice == 1 ? most : least + (int)draw(seed, (uint32_t)(most - least) + 1));
}

static float float_of(uint32_t mantissa, int exponent) {
    return ldexpf((float)mantissa, exponent - 23);
}

/* Exponents of terms and sums. */
typedef struct range {
    int least_term, most_term, least_sum, most_sum;
} range;

/* Where a set may multiply: terms from 2^-96 to 2^60, sums from 2^-20 to 2^20. */
static const range within = {-96, 59, -20, 19};

/* Fills in the sum of a query and its terms, all but one of them with quotients that are hard to round. */
static void fill_hard(batch *b, const range *r, size_t query, uint32_t sum, uint32_t *seed) {
    static const int32_t distances[] = {-1, 1, -2, 2, -3, 3, -4, 4};
    b->sums[query] = float_of(sum, draw_exponent(r->least_sum, r->most_sum, seed));
    for (size_t row = 0; row < ROWS; row++) {
        uint32_t term = row == ROWS - 1 ? 0 : hard_term(sum, 24 + row % 2, distances[row / 2], seed);
        if (term == 0)
            term = LEAST_MANTISSA + draw(seed, MANTISSAS);
        b->terms[row * QUERIES + query] = float_of(term, draw_exponent(r->least_term, r->most_term, seed));
    }
}

/* A mantissa of a sum: close to the least or the largest one, with few bits set, or any. */
static uint32_t draw_mantissa(uint32_t *seed) {
    const uint32_t choice = draw(seed, 4), bits = draw(seed, MANTISSAS), bit = 1u << draw(seed, 23);
    if (choice == 0)
        return LEAST_MANTISSA + bits % 64;
    if (choice == 1)
        return LEAST_MANTISSA + MANTISSAS - 1 - bits % 64;
    return LEAST_MANTISSA + (choice == 2 ? bit | 1u << bits % 23 : bits);
}

TEST(hard_quotients) {
    enum { BATCHES = 20000 };
    const bool every = support_is_exhaustive();
    uint32_t seed = 17;
    batch b;
    support_skip_without_sets();
    for (uint32_t i = 0; i < (every ? MANTISSAS / QUERIES : BATCHES); i++) {
        if (every && !support_takes_next())
            continue;
        for (uint32_t query = 0; query < QUERIES; query++)
            fill_hard(&b, &within, query, every ? LEAST_MANTISSA + i * QUERIES + query : draw_mantissa(&seed), &seed);
        check(FIRN_FLOAT32, &b);
    }
}

/* --- beyond the limits -------------------------------------------------------------------------------------------- */

/* Floats at the limits of terms and of sums, at the ends of the range, and none. */
static const float limits[] = {
    0.0f,           0x1p-149f,       0x1p-130f,      0x1.fffffcp-127f,
    FLT_MIN,        0x1.fffffep-97f, 0x1p-96f,       0x1.fffffep-21f,
    0x1p-20f,       0x1.fffffep-1f,  1.0f,           0x1.fffffep19f,
    0x1p20f,        0x1.000002p20f,  0x1.fffffep59f, 0x1p60f,
    0x1.000002p60f, FLT_MAX,         INFINITY,       NAN,
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

static float draw_limit(uint32_t *seed) {
    return limits[draw(seed, LIMITS)];
}

/* Some elements of a batch within the limits are replaced: one, or about one in `rare`. Sums may be negative, as the
 * gradient's, which are read from a tensor; terms may not. */
static void replace_some(batch *b, uint32_t *seed) {
    static const uint32_t rarities[] = {2, QUERIES, BATCH};
    const uint32_t rare = rarities[draw(seed, 3)];
    for (size_t i = 0; i < BATCH; i++)
        if (draw(seed, rare) == 0)
            b->terms[i] = draw_limit(seed);
    if (draw(seed, 2) == 0)
        return;
    for (size_t i = 0; i < QUERIES; i++)
        if (draw(seed, rare) == 0)
            b->sums[i] = draw(seed, 2) == 0 ? draw_limit(seed) : -draw_limit(seed);
    b->sums[draw(seed, QUERIES)] = draw(seed, 2) == 0 ? draw_limit(seed) : -draw_limit(seed);
}

/* Some exponents next to each other, in [*least, *most]. */
static void narrow(int *least, int *most, uint32_t *seed) {
    enum { WIDTH = 4 };
    *least += (int)draw(seed, (uint32_t)(*most - *least - WIDTH + 2));
    *most = *least + WIDTH - 1;
}

/* Quotients that are hard to round, below and above the limits; multiplications would lose bits or overflow there. The
 * elements of a batch have close exponents, so that none that is far outside keeps the others from being multiplied. */
TEST(hard_quotients_beyond) {
    enum { BATCHES = 2000 };
    static const range beyond[] = {{-126, -97, -20, 19}, {60, 126, -20, 19}, {-96, 59, -126, -21}, {-96, 59, 20, 126}};
    uint32_t seed = 29;
    batch b;
    support_skip_without_sets();
    for (uint32_t i = 0; i < BATCHES; i++)
        for (size_t j = 0; j < sizeof beyond / sizeof beyond[0]; j++) {
            range r = beyond[j];
            narrow(&r.least_term, &r.most_term, &seed);
            narrow(&r.least_sum, &r.most_sum, &seed);
            for (uint32_t query = 0; query < QUERIES; query++)
                fill_hard(&b, &r, query, draw_mantissa(&seed), &seed);
            check(FIRN_FLOAT32, &b);
        }
}

TEST(limits_and_special_values) {
    enum { BATCHES = 3000 };
    uint32_t seed = 19;
    batch b;
    support_skip_without_sets();
    for (uint32_t i = 0; i < BATCHES; i++) {
        for (uint32_t query = 0; query < QUERIES; query++)
            fill_hard(&b, &within, query, draw_mantissa(&seed), &seed);
        replace_some(&b, &seed);
        for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
            check(type, &b);
    }
}

/* Terms and sums as those of a softmax, of which each type can hold many quotients. */
TEST(types) {
    enum { BATCHES = 500 };
    uint32_t seed = 23;
    batch b;
    support_skip_without_sets();
    for (uint32_t i = 0; i < BATCHES; i++) {
        for (uint32_t query = 0; query < QUERIES; query++)
            b.sums[query] = float_of(draw_mantissa(&seed), draw_exponent(0, 10, &seed));
        for (size_t j = 0; j < BATCH; j++)
            b.terms[j] = float_of(LEAST_MANTISSA + draw(&seed, MANTISSAS), draw_exponent(-30, -1, &seed));
        for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
            check(type, &b);
    }
}
