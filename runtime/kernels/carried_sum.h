/* A float32 total with a carry beside it. Freestanding. */
#ifndef FIRN_KERNELS_CARRIED_SUM_H
#define FIRN_KERNELS_CARRIED_SUM_H

#include "runtime/numerics/numerics.h"

/* Adds a value to the total before[0], and what its rounding lost to the carry before[1] (TwoSum, Knuth). If the total
 * is not finite, the carry is set to 0. `after` may be `before`. */
static inline void firn_carried_sum_add(const float before[2], float after[2], float value) {
    float total = before[0] + value;
    float value_part = total - before[0];
    float sum_part = total - value_part;
    float lost = before[1] + ((before[0] - sum_part) + (value - value_part));
    after[0] = firn_canonical(total);
    after[1] = total - total == 0.0f ? firn_canonical(lost) : 0.0f;
}

#endif
