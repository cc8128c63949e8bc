/* The value of a schedule as the runtime uses it, in binary32. A constant, of which most devices have no more, is
 * rounded with integers: a core without arithmetic in binary64 is linked with none. Freestanding. */
#include <string.h>

#include "schedules/parts.h"

/* Rounds to binary32, to nearest and ties to even; the magnitude is at most that of the largest float. */
static float round_to_single(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - (1023 - 127); /* biased as in binary32; below 1: subnormal */
    const uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const uint32_t drop = exponent >= 1 ? 29 : (uint32_t)(30 - (exponent < -23 ? -24 : exponent)); /* at most 54 */
    const uint64_t kept = mantissa >> drop, rest = mantissa & ((UINT64_C(1) << drop) - 1);
    const uint64_t half = UINT64_C(1) << (drop - 1);
    uint32_t single = (uint32_t)kept + (rest > half || (rest == half && (kept & 1) != 0));
    if (exponent >= 1)
        single += (uint32_t)(exponent - 1) << 23; /* the bit above the mantissa counts as 1 */
    single |= (uint32_t)(bits >> 63) << 31;
    float result;
    memcpy(&result, &single, sizeof result);
    return result;
}

float firn_schedule_value(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    const firn_schedule_node *node = &list->nodes[root];
    return node->kind == FIRN_SCHEDULE_CONSTANT ? round_to_single(node->initial)
                                                : firn_schedule_trees.value(list, root, step);
}
