/* The floating-point control word of this machine, for tests that change it: that of x86 with SSE, or of AArch64.
 * Other machines have none here (FIRN_TESTS_CONTROL_WORD). Test code. */
#ifndef FIRN_TESTS_CONTROL_WORD_H
#define FIRN_TESTS_CONTROL_WORD_H

#include <stdint.h>

#if defined(__SSE__)

#    define FIRN_TESTS_CONTROL_WORD 1

enum {
    CONTROL_SUBNORMAL_OPERANDS_ARE_ZERO = 0x0040,
    CONTROL_SUBNORMAL_RESULTS_ARE_ZERO = 0x8000,
    CONTROL_DOWNWARD = 0x2000,
    CONTROL_UPWARD = 0x4000,
    CONTROL_TOWARDS_ZERO = 0x6000,
};

/* Without the flags of what has happened so far, to which any operation may add. */
static inline uint32_t control_word(void) {
    const uint32_t flags = 0x3f;
    uint32_t word;
    __asm__ volatile("stmxcsr %0" : "=m"(word));
    return word & ~flags;
}

static inline void set_control_word(uint32_t word) {
    __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
}

#elif defined(__aarch64__)

#    define FIRN_TESTS_CONTROL_WORD 1

enum {
    CONTROL_SUBNORMAL_OPERANDS_ARE_ZERO = 1 << 24, /* one bit for both */
    CONTROL_SUBNORMAL_RESULTS_ARE_ZERO = 1 << 24,
    CONTROL_UPWARD = 1 << 22,
    CONTROL_DOWNWARD = 2 << 22,
    CONTROL_TOWARDS_ZERO = 3 << 22,
};

static inline uint32_t control_word(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (uint32_t)word;
}

static inline void set_control_word(uint32_t word) {
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)word) : "memory");
}

#else

#    define FIRN_TESTS_CONTROL_WORD 0

#endif

#if FIRN_TESTS_CONTROL_WORD

enum {
    CONTROL_FLUSHING = CONTROL_SUBNORMAL_OPERANDS_ARE_ZERO | CONTROL_SUBNORMAL_RESULTS_ARE_ZERO,
    CONTROL_MODES = CONTROL_FLUSHING | CONTROL_TOWARDS_ZERO, /* every bit above */
};

#endif

#endif
