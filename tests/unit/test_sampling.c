/* Choosing a token by its scores (runtime/decode/sampling.c): plan/NUMERICS.md, "Choosing a token". The expected ids
 * follow from the definition by hand or by a model in Python's integers, not from the code. */
#include <math.h>

#include "runtime/decode/sampling.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_test.h"

enum { CLASSES = 8 };

static const float scores[CLASSES] = {1, 3, -2, 3, 0.5F, 2.5F, -1, 3};

static uint32_t sample(const float *logits, uint32_t classes, firn_sampling sampling, uint64_t number) {
    uint32_t room[2 * CLASSES], id = UINT32_MAX;
    assert_int_equal(firn_sample(logits, classes, &sampling, number, room, &id), FIRN_OK);
    assert_true(id < classes);
    return id;
}

/* Bit i is set if id i is drawn by one of the first 2,000 tokens. */
static uint32_t drawn(const float *logits, firn_sampling sampling) {
    uint32_t ids = 0;
    for (uint64_t number = 0; number < 2000; number++)
        ids |= UINT32_C(1) << sample(logits, CLASSES, sampling, number);
    return ids;
}

TEST(largest) {
    uint32_t id = 9;
    const firn_sampling greedy = {.temperature = 0, .top_p = 1};
    assert_int_equal(firn_sample(scores, CLASSES, &greedy, 5, NULL, &id), FIRN_OK);
    assert_int_equal(id, 1); /* the first of equals */
    assert_int_equal(sample(&scores[2], 4, greedy, 0), 1);
    assert_int_equal(sample(scores, 1, greedy, 0), 0);
    const float zeros[] = {-0.0F, 0.0F, -0.0F};
    assert_int_equal(sample(zeros, 3, greedy, 0), 0); /* both zeros are equal */
}

/* Whatever the number of the token, only these can be drawn. */
TEST(limits) {
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1}), 0xff);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1, .top_k = 1}), 0x02);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1, .top_k = 2}), 0x0a);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1, .top_k = 4}), 0xaa);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1, .top_k = 8}), 0xff);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1, .top_k = UINT32_MAX}), 0xff);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_p = 1e-30F}), 0x02);
    /* three equal shares of more than a quarter each, of those that temperature leaves */
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 0.01F, .top_p = 0.3F}), 0x02);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 0.01F, .top_p = 0.4F}), 0x0a);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 0.01F, .top_p = 0.9F}), 0x8a);
    /* of two, the first has half: the share is of those that top_k leaves */
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_k = 2, .top_p = 0.5F}), 0x02);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 2, .top_k = 2, .top_p = 0.51F}), 0x0a);
    /* temperatures so small that the quotient overflows */
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 1e-45F, .top_p = 1}), 0x8a);
    assert_int_equal(drawn(scores, (firn_sampling){.temperature = 1e38F, .top_p = 1}), 0xff);
}

TEST(special_scores) {
    const firn_sampling greedy = {.temperature = 0, .top_p = 1}, warm = {.temperature = 1, .top_p = 1};
    const firn_sampling limited = {.temperature = 1, .top_p = 0.999F, .top_k = 7};
    const float with_nan[CLASSES] = {NAN, 1, NAN, 1, -INFINITY, -INFINITY, NAN, -1e30F};
    assert_int_equal(sample(with_nan, CLASSES, greedy, 0), 1);
    assert_int_equal(drawn(with_nan, warm), 0x0a);
    assert_int_equal(drawn(with_nan, limited), 0x0a);
    const float infinite[CLASSES] = {1, INFINITY, NAN, INFINITY, 3e38F, 2, 2, 2};
    assert_int_equal(sample(infinite, CLASSES, greedy, 0), 1);
    assert_int_equal(drawn(infinite, warm), 0x0a);
    assert_int_equal(drawn(infinite, limited), 0x0a);
    const float nothing[CLASSES] = {NAN, NAN, -INFINITY, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(sample(nothing, CLASSES, greedy, 0), 0);
    assert_int_equal(drawn(nothing, warm), 0xff); /* all are equal */
    assert_int_equal(drawn(nothing, (firn_sampling){.temperature = 1, .top_p = 1, .top_k = 2}), 0x03);
    const float far[CLASSES] = {3e38F, -3e38F, -3e38F, -3e38F, -3e38F, -3e38F, -3e38F, -3e38F};
    assert_int_equal(drawn(far, warm), 0x01);
}

/* Equal scores: token n has the class floor(8 * U / 2^64), U being its random bits, which Python's Philox gave. */
TEST(draws) {
    static const float equal[CLASSES];
    static const uint8_t expected[] = {1, 7, 0, 4, 6, 2, 0, 2, 1, 3, 7, 4, 2, 0, 3, 7};
    for (uint64_t n = 0; n < sizeof expected; n++)
        assert_int_equal(sample(equal, CLASSES, (firn_sampling){.temperature = 1, .top_p = 1, .seed = 7}, n),
                         expected[n]);
    assert_int_equal(sample(equal, CLASSES, (firn_sampling){.temperature = 1, .top_p = 1, .seed = 7}, UINT64_MAX), 4);
    assert_int_equal(
        sample(equal, CLASSES, (firn_sampling){.temperature = 1, .top_p = 1, .seed = UINT64_C(7) << 32}, 0), 6);
}

/* The example of plan/NUMERICS.md. */
TEST(example) {
    const float logits[] = {0, 0, -INFINITY, 0};
    const firn_sampling sampling = {.temperature = 1, .top_k = 2, .top_p = 1, .seed = 7};
    assert_int_equal(sample(logits, 4, sampling, 0), 0);
}

/* The frequencies of 20,000 draws are those of the softmax. */
TEST(frequencies) {
    const float logits[] = {logf(1), logf(2), logf(5)};
    uint32_t counts[3] = {0};
    for (uint64_t n = 0; n < 20000; n++)
        counts[sample(logits, 3, (firn_sampling){.temperature = 1, .top_p = 1, .seed = 1}, n)]++;
    assert_in_range(counts[0], 2350, 2650);
    assert_in_range(counts[1], 4800, 5200);
    assert_in_range(counts[2], 12250, 12750);
}

/* --- by sorting --------------------------------------------------------------------------------------------------- */

enum { MOST = 300 };

static float number_of(const float *logits, uint32_t i) {
    return isnan(logits[i]) ? -INFINITY : logits[i];
}

static uint64_t weight_of(float x, float largest, float temperature) {
    return x == largest ? UINT64_C(1) << 31 : (uint64_t)(firn_exp((x - largest) / temperature) * 0x1p31F);
}

/* Stores all classes in the order of their ranks. */
static void sort_by_rank(const float *logits, uint32_t classes, uint32_t *order) {
    for (uint32_t i = 0; i < classes; i++) {
        uint32_t at = i;
        for (; at > 0 && number_of(logits, i) > number_of(logits, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Returns floor(a * b / 2^64), by doubling and adding. */
static uint64_t high_product(uint64_t a, uint64_t b) {
    uint64_t high = 0, low = 0;
    for (int bit = 63; bit >= 0; bit--) {
        high = high << 1 | low >> 63;
        low <<= 1;
        if ((b >> bit & 1) == 0)
            continue;
        low += a;
        high += low < a;
    }
    return high;
}

/* Chooses as plan/NUMERICS.md says it, with all classes sorted. */
static uint32_t sample_sorted(const float *logits, uint32_t classes, const firn_sampling *sampling, uint64_t number) {
    const uint32_t key[2] = {(uint32_t)sampling->seed, (uint32_t)(sampling->seed >> 32)};
    const uint32_t counter[4] = {0, 0xffffff80U, (uint32_t)number, (uint32_t)(number >> 32)};
    uint32_t order[MOST], words[4], left = classes, kept = 0, chosen = 0;
    uint64_t weights[MOST], sum = 0, of_kept = 0, up_to = 0;
    bool is_left[MOST] = {false};
    sort_by_rank(logits, classes, order);
    for (uint32_t i = 0; i < classes; i++)
        weights[i] = weight_of(number_of(logits, i), number_of(logits, order[0]), sampling->temperature);
    if (sampling->top_k != 0 && sampling->top_k < classes)
        left = sampling->top_k;
    for (uint32_t i = 0; i < left; i++)
        sum += weights[order[i]];
    const uint64_t share = high_product(sum, (uint64_t)(sampling->top_p * 0x1p31F) << 33);
    while (kept < left && (sampling->top_p == 1.0F || kept == 0 || of_kept < share)) {
        of_kept += weights[order[kept]];
        is_left[order[kept++]] = true;
    }
    firn_philox(counter, key, words);
    const uint64_t drawn = high_product((uint64_t)words[0] << 32 | words[1], of_kept);
    for (chosen = 0; up_to += is_left[chosen] ? weights[chosen] : 0, up_to <= drawn;)
        chosen++;
    return chosen;
}

static uint32_t next(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525U + 1013904223U;
    return (uint32_t)((uint64_t)*state * limit >> 32);
}

/* Few values, so that many are equal; numbers of either sign; special ones. */
static void fill(float *logits, uint32_t classes, uint32_t *state) {
    static const float special[] = {NAN, -INFINITY, INFINITY, -0.0F, 0.0F, 3e38F, -3e38F, 1e-45F, -1e-45F};
    const uint32_t kind = next(state, 5);
    for (uint32_t i = 0; i < classes; i++) {
        logits[i] = (float)next(state, kind == 0 ? 3 : 1000000) / 100000.0F - (kind == 2 ? 20.0F : 5.0F);
        if (kind == 3 && next(state, 3) == 0)
            logits[i] = special[next(state, sizeof special / sizeof special[0])];
        else if (kind == 4)
            logits[i] = special[3 + next(state, 2)];
    }
}

TEST(as_by_sorting) {
    static const float temperatures[] = {1, 0.3F, 2.5F, 1e-3F, 1e30F}, shares[] = {1, 0.9F, 0.5F, 0.999F, 1e-9F, 0.25F};
    static float logits[MOST];
    static uint32_t room[2 * MOST];
    uint32_t random = 3;
    for (unsigned n = 0; n < 6000; n++) {
        const uint32_t classes = 1 + next(&random, n % 3 == 0 ? 4 : n % 3 == 1 ? 40 : MOST);
        firn_sampling sampling = {.seed = random};
        uint32_t id = UINT32_MAX;
        fill(logits, classes, &random);
        sampling.temperature = temperatures[next(&random, 5)];
        sampling.top_k = n % 2 == 0 ? 0 : next(&random, classes + 2);
        sampling.top_p = shares[next(&random, 6)];
        assert_int_equal(firn_sample(logits, classes, &sampling, n, room, &id), FIRN_OK);
        assert_int_equal(id, sample_sorted(logits, classes, &sampling, n));
    }
}

TEST(arguments) {
    static const firn_sampling wrong[] = {{.temperature = -1, .top_p = 1},       {.temperature = NAN, .top_p = 1},
                                          {.temperature = INFINITY, .top_p = 1}, {.temperature = 1, .top_p = 0},
                                          {.temperature = 1, .top_p = NAN},      {.temperature = 0, .top_p = 1.5F},
                                          {.temperature = 1, .top_p = -0.5F}};
    uint32_t room[2 * CLASSES], id = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(firn_sample(scores, CLASSES, &wrong[i], 0, room, &id), FIRN_ERROR_ARGUMENT);
    const firn_sampling good = {.temperature = 1, .top_p = 1};
    assert_int_equal(firn_sample(NULL, CLASSES, &good, 0, room, &id), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_sample(scores, 0, &good, 0, room, &id), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_sample(scores, CLASSES, NULL, 0, room, &id), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_sample(scores, CLASSES, &good, 0, NULL, &id), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_sample(scores, CLASSES, &good, 0, room, NULL), FIRN_ERROR_ARGUMENT);
    assert_int_equal(id, 77);
}
