/* The floating-point control word: round to nearest even, keep subnormals, no default NaN. It is set on entry to the
 * runtime and in every thread that computes, and restored on return, because the caller's program may use other
 * settings. No other processor state is changed. */
#ifndef FIRN_FLOAT_ENVIRONMENT_H
#define FIRN_FLOAT_ENVIRONMENT_H

#include <stdint.h>

#if defined(__SSE__)

/* All exceptions masked, nearest, no flush to zero, no denormals are zero. */
static inline uint32_t firn_float_begin(void) {
    uint32_t before, ours = 0x1f80;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    __asm__ volatile("ldmxcsr %0" : : "m"(ours) : "memory");
    return before;
}

static inline void firn_float_end(uint32_t before) {
    __asm__ volatile("ldmxcsr %0" : : "m"(before) : "memory");
}

#elif defined(__aarch64__)

static inline uint32_t firn_float_begin(void) {
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return (uint32_t)before;
}

static inline void firn_float_end(uint32_t before) {
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)before) : "memory");
}

#elif defined(__arm__) && defined(__ARM_FP)

/* Clears AHP, DN, FZ, the rounding mode, FZ16 and the trap enables; the remaining bits do not affect arithmetic. */
static inline uint32_t firn_float_begin(void) {
    uint32_t before, ours;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(before));
    ours = before & ~0x07c89f00u;
    __asm__ volatile("vmsr fpscr, %0" : : "r"(ours) : "memory", "cc");
    return before;
}

static inline void firn_float_end(uint32_t before) {
    __asm__ volatile("vmsr fpscr, %0" : : "r"(before) : "memory", "cc");
}

#elif defined(__riscv_flen)

static inline uint32_t firn_float_begin(void) {
    uintptr_t before;
    __asm__ volatile("frcsr %0" : "=r"(before));
    __asm__ volatile("fscsr zero" : : : "memory");
    return (uint32_t)before;
}

static inline void firn_float_end(uint32_t before) {
    __asm__ volatile("fscsr %0" : : "r"((uintptr_t)before) : "memory");
}

#elif defined(__arm__) || defined(__riscv)

/* Soft floating point has no control word: it always rounds to nearest and keeps subnormals. */
static inline uint32_t firn_float_begin(void) {
    return 0;
}

static inline void firn_float_end(uint32_t before) {
    (void)before;
}

#else
#    error "say here how this target sets its floating-point control word"
#endif

#endif
