/* Division of 64-bit integers (plan/divide.h). Freestanding. */
#include "plan/divide.h"

#include <stddef.h>

uint64_t firn_divide(uint64_t value, uint64_t by, uint64_t *remainder) {
    uint64_t quotient, rest;
    if ((value | by) <= UINT32_MAX) {
        quotient = (uint32_t)value / (uint32_t)by;
        rest = (uint32_t)value % (uint32_t)by;
    } else {
        quotient = value; /* its bits leave at the top, and those of the quotient enter at the bottom */
        rest = 0;
        for (uint32_t bit = 0; bit < 64; bit++) {
            const uint64_t carry = rest >> 63;
            rest = rest << 1 | quotient >> 63;
            quotient <<= 1;
            if (carry != 0 || rest >= by) {
                rest -= by;
                quotient |= 1;
            }
        }
    }
    if (remainder != NULL)
        *remainder = rest;
    return quotient;
}
