/* Comparing for a trail of checks. */
#include "plan/checks/trail.h"

uint32_t firn_difference(const volatile void *a, const volatile void *b, size_t count) {
    const volatile uint8_t *left = a, *right = b;
    uint32_t difference = 0;
    for (size_t i = 0; i < count; i++)
        difference |= (uint32_t)(left[i] ^ right[i]);
    return difference;
}
