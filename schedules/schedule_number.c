/* The range of the numbers of a schedule. They are compared by their bits: a build that has only constants is linked
 * without arithmetic in binary64. Freestanding. */
#include <string.h>

#include "schedules/parts.h"

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Values are finally rounded to binary32, so larger ones could only become infinite. NaN fails, because its bits are
 * larger than those of the largest float. */
bool firn_schedule_is_single(double value) {
    const uint64_t largest = UINT64_C(0x47efffffe0000000); /* FLT_MAX */
    return (bits_of(value) & INT64_MAX) <= largest;
}

/* A field that is not used is +0, bit by bit. */
bool firn_schedule_is_number(double value, bool used) {
    return used ? firn_schedule_is_single(value) : bits_of(value) == 0;
}
