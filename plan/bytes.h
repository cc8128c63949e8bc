/* Bytes and sizes. Loads and stores of little-endian integers work at any address, independent of the machine's byte
 * order and alignment. The caller has checked that the bytes are within bounds. Freestanding. */
#ifndef FIRN_PLAN_BYTES_H
#define FIRN_PLAN_BYTES_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t firn_load16(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t firn_load32(const uint8_t *at) {
    return firn_load16(at) | firn_load16(at + 2) << 16;
}

static inline uint64_t firn_load64(const uint8_t *at) {
    return firn_load32(at) | (uint64_t)firn_load32(at + 4) << 32;
}

static inline void firn_store32(uint8_t *at, uint32_t value) {
    for (uint32_t i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline void firn_store64(uint8_t *at, uint64_t value) {
    firn_store32(at, (uint32_t)value);
    firn_store32(at + 4, (uint32_t)(value >> 32));
}

/* The next multiple of a unit. The caller knows that it does not overflow. */
static inline uint64_t firn_round_up(uint64_t bytes, uint32_t unit) {
    return (bytes + (unit - 1)) / unit * unit;
}

/* Whether the bytes from `begin` to before `end` are all zero. */
bool firn_is_zero(const uint8_t *bytes, uint32_t begin, uint32_t end);

#endif
