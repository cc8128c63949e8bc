/* Chooses a token by its scores: plan/NUMERICS.md, "Choosing a token". Scores become whole numbers before anything is
 * added, so no order of a sum matters, and only subtraction, division and exp are computed in binary32. Freestanding;
 * memory comes from the caller. */
#include <stdbool.h>
#include <stddef.h>

#include "runtime/decode/sampling.h"
#include "runtime/float_environment.h"
#include "runtime/numerics/numerics.h"

enum { WEIGHT_BITS = 31 }; /* the largest score has the weight 2^31 */

/* Stands in the place of an rng_id, among those that no op of a plan can have; permutations use the first of these. */
#define NUMBER_TAG 0xffffff80u

/* The scores of a call. */
typedef struct scores {
    const float *logits;
    uint32_t classes;
    uint32_t *weights; /* of each class */
    uint32_t *heap;    /* classes, of which none ranks above its parent, the one at (place - 1) / 2 */
} scores;

/* A NaN counts as minus infinity. */
static float score_of(const float *logits, uint32_t i) {
    return logits[i] == logits[i] ? logits[i] : -firn_from_bits(FIRN_INFINITY_BITS);
}

/* Whether class a ranks above class b: by a larger score, or as the first of equals. */
static bool ranks_above(const scores *s, uint32_t a, uint32_t b) {
    const float x = score_of(s->logits, a), y = score_of(s->logits, b);
    return x != y ? x > y : a < b;
}

/* Returns the class that ranks first. */
static uint32_t first_of(const float *logits, uint32_t classes) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < classes; i++)
        if (score_of(logits, i) > score_of(logits, first))
            first = i;
    return first;
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* The weight of a score: e^((x - largest) / temperature), as a multiple of 2^-31 that is not above it. */
static uint32_t weight_of(float x, float largest, float temperature) {
    if (x == largest)
        return UINT32_C(1) << WEIGHT_BITS;
    const float e = firn_exp((x - largest) / temperature);
    return (uint32_t)(e * 0x1p31f);
}

static void find_weights(const scores *s, float temperature) {
    const float largest = score_of(s->logits, first_of(s->logits, s->classes));
    for (uint32_t i = 0; i < s->classes; i++)
        s->weights[i] = weight_of(score_of(s->logits, i), largest, temperature);
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Moves the class at a place of the heap down to where it belongs. */
static void sink(const scores *s, uint32_t count, uint32_t place) {
    const uint32_t moved = s->heap[place];
    for (;;) {
        uint64_t child = 2 * (uint64_t)place + 1;
        if (child + 1 < count && ranks_above(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (child >= count || !ranks_above(s, s->heap[child], moved))
            break;
        s->heap[place] = s->heap[child];
        place = (uint32_t)child;
    }
    s->heap[place] = moved;
}

static void make_heap(const scores *s) {
    for (uint32_t i = 0; i < s->classes; i++)
        s->heap[i] = i;
    for (uint32_t i = s->classes / 2; i > 0; i--)
        sink(s, s->classes, i - 1);
}

/* Takes the class that ranks first out of a heap of `count`; it then stands behind the others. */
static uint32_t take_first(const scores *s, uint32_t count) {
    const uint32_t first = s->heap[0];
    s->heap[0] = s->heap[count - 1];
    s->heap[count - 1] = first;
    sink(s, count - 1, 0);
    return first;
}

/* --- what can be drawn -------------------------------------------------------------------------------------------- */

/* Returns floor(sum * p), for a sum below 2^63 and p in multiples of 2^-31. */
static uint64_t share_of(uint64_t sum, float p) {
    const uint64_t part = (uint64_t)(p * 0x1p31f), low = sum & ((UINT64_C(1) << WEIGHT_BITS) - 1);
    return (sum >> WEIGHT_BITS) * part + (low * part >> WEIGHT_BITS);
}

static uint64_t sum_of_all(const scores *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->classes; i++)
        sum += s->weights[i];
    return sum;
}

/* Finds the class of the lowest rank that can be drawn; all classes can where there is no limit. Returns the sum of the
 * weights of those that can. */
static uint64_t find_last(const scores *s, const firn_sampling *sampling, uint32_t *last) {
    const bool limited = sampling->top_k != 0 && sampling->top_k < s->classes;
    const uint32_t kept = limited ? sampling->top_k : s->classes;
    uint64_t sum = 0, share = UINT64_MAX;
    make_heap(s);
    if (!limited) {
        share = sampling->top_p < 1.0f ? share_of(sum_of_all(s), sampling->top_p) : share;
    } else if (sampling->top_p < 1.0f) {
        for (uint32_t i = 0; i < kept; i++)
            sum += s->weights[take_first(s, s->classes - i)];
        share = share_of(sum, sampling->top_p);
        make_heap(s);
    }
    sum = 0;
    for (uint32_t i = 0; i < kept && (i == 0 || sum < share); i++) {
        *last = take_first(s, s->classes - i);
        sum += s->weights[*last];
    }
    return sum;
}

/* --- the draw ----------------------------------------------------------------------------------------------------- */

/* Returns floor(a * b / 2^64). */
static uint64_t high_product(uint64_t a, uint64_t b) {
    const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    return a_high * b_high + (middle >> 32) + ((a_low * b_high + (uint32_t)middle) >> 32);
}

/* Returns the 64 random bits of a token. */
static uint64_t random_of(uint64_t seed, uint64_t number) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {0, NUMBER_TAG, (uint32_t)number, (uint32_t)(number >> 32)};
    uint32_t words[4];
    firn_philox(counter, key, words);
    return (uint64_t)words[0] << 32 | words[1];
}

static uint32_t draw(const scores *s, const firn_sampling *sampling, uint64_t number) {
    const bool all = (sampling->top_k == 0 || sampling->top_k >= s->classes) && sampling->top_p == 1.0f;
    uint32_t last = 0, chosen = 0;
    find_weights(s, sampling->temperature);
    const uint64_t sum = all ? sum_of_all(s) : find_last(s, sampling, &last);
    const uint64_t drawn = high_product(random_of(sampling->seed, number), sum);
    uint64_t before = 0;
    for (uint32_t i = 0; i < s->classes && before <= drawn; i++) {
        if (!all && ranks_above(s, last, i))
            continue;
        before += s->weights[i];
        chosen = i;
    }
    return chosen;
}

int firn_sample(const float *logits, uint32_t classes, const firn_sampling *sampling, uint64_t number, uint32_t *room,
                uint32_t *id) {
    if (logits == NULL || classes == 0 || sampling == NULL || id == NULL)
        return FIRN_ERROR_ARGUMENT;
    const float temperature = sampling->temperature, infinity = firn_from_bits(FIRN_INFINITY_BITS);
    if (!(temperature >= 0.0f && temperature < infinity) || !(sampling->top_p > 0.0f && sampling->top_p <= 1.0f) ||
        (temperature > 0.0f && room == NULL))
        return FIRN_ERROR_ARGUMENT;
    const uint32_t before = firn_float_begin();
    if (temperature == 0.0f) {
        *id = first_of(logits, classes);
    } else {
        scores s = {.logits = logits, .classes = classes};
        s.weights = room;
        s.heap = room + classes;
        *id = draw(&s, sampling, number);
    }
    firn_float_end(before);
    return FIRN_OK;
}
