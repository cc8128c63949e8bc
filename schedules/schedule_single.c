/* The value of a schedule as the runtime uses it, in binary32. A constant, of which most devices have no more, is
 * rounded with integers: a core without arithmetic in binary64 is linked with none. Freestanding. */
#include <stddef.h>
#include <string.h>

#include "schedules/parts.h"

/* Rounds to binary32, to nearest and ties to even; the magnitude is at most that of the largest float. In words of 32
 * bits: `kept` is the mantissa that stays, `rest` what follows it, a half of its last bit being the top of the word. */
static float round_to_single(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t high = (uint32_t)(bits >> 32), low = (uint32_t)bits, half = UINT32_C(1) << 31;
    const int exponent = (int)(high >> 20 & 0x7ff) - (1023 - 127); /* biased as in binary32; below 1: subnormal */
    uint32_t kept = UINT32_C(1) << 23 | (high & 0xfffff) << 3 | low >> 29, rest = low << 3;
    if (exponent < 1) {
        const uint32_t drop = exponent < -24 ? 25 : (uint32_t)(1 - exponent); /* with 25 nothing is left to round up */
        rest = kept << (32 - drop) | (rest != 0);
        kept >>= drop;
    }
    uint32_t single = kept + (rest > half || (rest == half && (kept & 1) != 0));
    if (exponent >= 1)
        single += (uint32_t)(exponent - 1) << 23; /* the bit above the mantissa counts as 1 */
    single |= high & UINT32_C(1) << 31;
    float result;
    memcpy(&result, &single, sizeof result);
    return result;
}

float firn_schedule_value(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    const firn_schedule_node *node = &list->nodes[root];
    return node->kind == FIRN_SCHEDULE_CONSTANT || firn_schedule_trees.value == NULL
               ? round_to_single(node->initial)
               : firn_schedule_trees.value(list, root, step);
}
