/* Chooses a token by its scores, as plan/NUMERICS.md, "Choosing a token", defines it: the same scores, settings and
 * number give the same token on every machine. The scores may come from an output of a plan or from
 * anywhere else: nothing here knows a plan. No function allocates. */
#ifndef FIRN_SAMPLING_H
#define FIRN_SAMPLING_H

#include "runtime/firn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_sampling {
    float temperature; /* what the scores are divided by, finite; 0: the largest score is taken, and nothing is drawn */
    uint32_t top_k;    /* only so many of the largest scores can be drawn; 0: all */
    float top_p;       /* above 0, at most 1: of those, only the first that together have this share of the
                        * probability, at least one; 1: all */
    uint64_t seed;     /* of the random numbers */
} firn_sampling;

/* Chooses a token by its scores, and stores its id. number: of the token in the text, so that each has a random number
 * of its own. room: 2 * classes words that the function works in; NULL where the temperature is 0. A NaN counts as
 * minus infinity. Returns ARGUMENT for classes == 0 or settings outside of the ranges above. */
int firn_sample(const float *logits, uint32_t classes, const firn_sampling *sampling, uint64_t number, uint32_t *room,
                uint32_t *id) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
