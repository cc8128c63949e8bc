/* What plan/bytes.h declares and is not worth copying into each file. Freestanding. */
#include "plan/bytes.h"

bool firn_is_zero(const uint8_t *bytes, uint32_t begin, uint32_t end) {
    uint32_t any = 0;
    for (uint32_t i = begin; i < end; i++)
        any |= bytes[i];
    return any == 0;
}
