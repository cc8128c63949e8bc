/* The trail of the checks that let a plan run: two numbers to which each check adds itself and what it compared. A
 * branch that is taken although it should not be, or an instruction that a disturbance of the device skips, leaves a
 * number that is not the one of a complete trail. Two numbers, because one instruction may be what adds a difference:
 * each is computed by instructions of its own. Statuses stay what callers act on; a trail only says whether they may be
 * believed. Freestanding. */
#ifndef FIRN_PLAN_TRAIL_H
#define FIRN_PLAN_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed before the first check. volatile: the compiler may neither keep a number in a register nor join the two. */
typedef struct firn_trail {
    volatile uint32_t first, second;
} firn_trail;

/* The checks, in the order in which they are made. Their numbers differ in many bits. */
enum {
    FIRN_TRAIL_KEY = 0x1d6b3a94,
    FIRN_TRAIL_SIGNATURE = 0x62c5e74b,
    FIRN_TRAIL_DEVICE = 0x4c93b0e6,
    FIRN_TRAIL_IMAGE = 0x276ea85d,
    FIRN_TRAIL_RUN_HASH = 0x39f81c5e,
    FIRN_TRAIL_COUNTER = 0x54a2d9b7,
    FIRN_TRAIL_PAYLOAD = 0x0be7462d
};

/* Adds a check to one number; a difference other than 0 spoils it for good. */
static inline uint32_t firn_trail_next(uint32_t number, uint32_t step, uint32_t difference) {
    return (number ^ difference) * 0x9e3779b1u + step;
}

/* Adds a check to a trail, with two differences that were found one apart from the other. */
static inline void firn_trail_add(firn_trail *trail, uint32_t step, uint32_t first, uint32_t second) {
    trail->first = firn_trail_next(trail->first, step, first);
    trail->second = firn_trail_next(trail->second, step, second);
}

/* The number that the checks lead to. */
static inline uint32_t firn_trail_end(void) {
    uint32_t number = firn_trail_next(0, FIRN_TRAIL_KEY, 0);
    number = firn_trail_next(number, FIRN_TRAIL_SIGNATURE, 0);
    number = firn_trail_next(number, FIRN_TRAIL_DEVICE, 0);
    number = firn_trail_next(number, FIRN_TRAIL_IMAGE, 0);
    number = firn_trail_next(number, FIRN_TRAIL_RUN_HASH, 0);
    number = firn_trail_next(number, FIRN_TRAIL_COUNTER, 0);
    return firn_trail_next(number, FIRN_TRAIL_PAYLOAD, 0);
}

/* Whether every check was made and found nothing. */
static inline bool firn_trail_is_complete(const firn_trail *trail) {
    if (trail->first != firn_trail_end())
        return false;
    return trail->second == firn_trail_end();
}

/* Returns 0 if two spans are equal, else another number. Each call reads all bytes of both. */
uint32_t firn_difference(const volatile void *a, const volatile void *b, size_t count);

#endif
