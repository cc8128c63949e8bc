/* Chooses a token by its scores: plan/NUMERICS.md, "Choosing a token". Scores become whole numbers before anything is
 * added, so no order of a sum matters, and only subtraction, division and exp are computed in binary32. Freestanding;
 * memory comes from the caller. */
#include <stdbool.h>
#include <stddef.h>

#include "runtime/decode/sampling.h"
#include "runtime/float_environment.h"
#include "runtime/numerics/numerics.h"

enum { WEIGHT_BITS = 31 }; /* the largest score has the weight 2^31 */

#define TOP_BIT (UINT32_C(1) << 31)

/* Stands in the place of an rng_id, among those that no op of a plan can have; permutations use the first of these. */
#define NUMBER_TAG 0xffffff80u

/* The scores of a call. */
typedef struct scores {
    const float *logits;
    uint32_t classes;
    uint32_t *weights; /* of each class; not of those that the limit of rank excludes */
    uint32_t *ids;     /* all classes; those that are left come first, in any order */
} scores;

/* A NaN counts as minus infinity. */
static float score_of(const float *logits, uint32_t i) {
    return logits[i] == logits[i] ? logits[i] : -firn_from_bits(FIRN_INFINITY_BITS);
}

/* Returns the class that ranks first. A NaN is never larger. */
static uint32_t first_of(const float *logits, uint32_t classes) {
    uint32_t first = 0;
    float largest = -firn_from_bits(FIRN_INFINITY_BITS);
    for (uint32_t i = 0; i < classes; i++)
        if (logits[i] > largest) {
            largest = logits[i];
            first = i;
        }
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

/* Finds the weights of the first `count` ids and returns their sum. */
static uint64_t find_weights(const scores *s, uint32_t count, float temperature) {
    const float largest = score_of(s->logits, first_of(s->logits, s->classes));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = s->ids[i];
        s->weights[id] = weight_of(score_of(s->logits, id), largest, temperature);
        sum += s->weights[id];
    }
    return sum;
}

/* --- the first ones of an order -----------------------------------------------------------------------------------
 * The fewest ids that come first in an order and whose sizes add up to some number are found without sorting: ids are
 * divided by the highest bit in which their keys differ, and one of both sides by the next, at most 32 times. */

typedef enum order { BY_SCORE, BY_ID } order; /* the largest score first, the smallest id first */
typedef enum size { ONE, WEIGHT } size;       /* of an id */

/* What is not decided: of ids[begin] to ids[end - 1], the first that have the size `needed` together, at least 1 and at
 * most the size of all. Ids before `begin` are among the first ones. */
typedef struct open_ids {
    uint32_t begin, end;
    uint64_t needed;
} open_ids;

/* Returns a number that is larger for an id that comes earlier. Both zeros are equal. */
static inline uint32_t key_of(const scores *s, order by, uint32_t id) {
    const uint32_t bits = by == BY_SCORE ? firn_bits(score_of(s->logits, id) + 0.0f) : 0;
    return by == BY_SCORE ? bits ^ ((0 - (bits >> 31)) | TOP_BIT) : ~id;
}

/* Moves the ids whose keys have the bit to the front, and decides on which side the last of the first ones is. Returns
 * the bits in which the keys of that side differ. */
static inline uint32_t divide(const scores *s, order by, size of, uint32_t bit, open_ids *open) {
    uint32_t middle = open->begin, any[2] = {0, 0}, every[2] = {UINT32_MAX, UINT32_MAX};
    uint64_t before = 0;
    for (uint32_t i = open->begin; i < open->end; i++) {
        const uint32_t id = s->ids[i], key = key_of(s, by, id), is_before = (key & bit) != 0;
        s->ids[i] = s->ids[middle];
        s->ids[middle] = id;
        middle += is_before;
        before += (of == ONE ? 1 : s->weights[id]) & (0 - (uint64_t)is_before);
        any[is_before] |= key;
        every[is_before] &= key;
    }
    if (before >= open->needed) {
        open->end = middle;
        return any[1] & ~every[1];
    }
    open->needed -= before;
    open->begin = middle;
    return any[0] & ~every[0];
}

/* Decides until the keys of the ids between begin and end are equal. */
static void decide(const scores *s, order by, size of, open_ids *open) {
    uint32_t bit = TOP_BIT, differ = UINT32_MAX;
    for (; differ != 0; bit >>= 1)
        if ((differ & bit) != 0)
            differ = divide(s, by, of, bit, open);
}

/* Moves the ids that rank first and have the size `needed` together to the front of `count`; returns their number. */
static uint32_t take_first(const scores *s, uint32_t count, size of, uint64_t needed) {
    open_ids open = {0, count, needed};
    decide(s, BY_SCORE, of, &open);
    decide(s, BY_ID, of, &open);
    return open.end;
}

/* --- what can be drawn -------------------------------------------------------------------------------------------- */

/* Returns floor(sum * p), for a sum below 2^63 and p in multiples of 2^-31. */
static uint64_t share_of(uint64_t sum, float p) {
    const uint64_t part = (uint64_t)(p * 0x1p31f), low = sum & ((UINT64_C(1) << WEIGHT_BITS) - 1);
    return (sum >> WEIGHT_BITS) * part + (low * part >> WEIGHT_BITS);
}

/* Moves the ids that can be drawn to the front and finds their weights. Returns their number. */
static uint32_t leave(const scores *s, const firn_sampling *sampling, uint64_t *sum) {
    uint32_t left = s->classes;
    if (sampling->top_k != 0 && sampling->top_k < left)
        left = take_first(s, left, ONE, sampling->top_k);
    *sum = find_weights(s, left, sampling->temperature);
    if (sampling->top_p == 1.0f)
        return left;
    const uint64_t share = share_of(*sum, sampling->top_p);
    left = take_first(s, left, WEIGHT, share > 0 ? share : 1);
    *sum = 0;
    for (uint32_t i = 0; i < left; i++)
        *sum += s->weights[s->ids[i]];
    return left;
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

/* Returns the first class up to which the weights of all classes add up to more than a number. */
static uint32_t reach(const scores *s, uint64_t drawn) {
    uint32_t i = 0;
    for (uint64_t sum = s->weights[0]; sum <= drawn; sum += s->weights[i])
        i++;
    return i;
}

static uint32_t draw(const scores *s, const firn_sampling *sampling, uint64_t number) {
    uint64_t sum;
    for (uint32_t i = 0; i < s->classes; i++)
        s->ids[i] = i;
    const uint32_t left = leave(s, sampling, &sum);
    const uint64_t drawn = high_product(random_of(sampling->seed, number), sum);
    open_ids open = {0, left, drawn + 1};
    if (left == s->classes)
        return reach(s, drawn);
    decide(s, BY_ID, WEIGHT, &open);
    return s->ids[open.begin];
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
        s.ids = room + classes;
        *id = draw(&s, sampling, number);
    }
    firn_float_end(before);
    return FIRN_OK;
}
