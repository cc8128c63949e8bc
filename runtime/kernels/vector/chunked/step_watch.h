/* Watches a stretch of code for results that become too small or too large. CPUs note in a register that a result is
 * tiny, overflows or is invalid, at no cost: numbers are scaled until those to be noticed are tiny, and need no
 * comparison. Tiny results become zero meanwhile (`flushes`), because x86 would not note one that is exact; or they do
 * not, and are noted when they are operands. Compilers do not model this register; step.h states what that asks of the
 * code between begin and end. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_WATCH_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/kernels/vector/vector.h"

#ifdef __aarch64__

typedef struct firn_step_watch {
    uint64_t mode, notes;
} firn_step_watch;

/* Rounds to nearest, and flushes in any case. Returns the previous state, which firn_step_watch_end restores. */
static inline firn_step_watch firn_step_watch_begin(bool flushes) {
    (void)flushes;
    const uint64_t every_mode = 3u << 22, flush = 1u << 24;
    firn_step_watch before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.mode));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.notes));
    __asm__ volatile("msr fpcr, %0" : : "r"((before.mode & ~every_mode) | flush) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"((uint64_t)0) : "memory");
    return before;
}

/* Returns whether nothing was noticed. Here the mode also takes subnormal operands for zeros, and notes it. */
static inline bool firn_step_watch_end(firn_step_watch before, bool flushes) {
    (void)flushes;
    enum { INVALID = 1, OVERFLOW = 4, UNDERFLOW = 8, SUBNORMAL_OPERAND = 128 };
    uint64_t notes;
    __asm__ volatile("mrs %0, fpsr" : "=r"(notes) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(before.mode) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before.notes) : "memory");
    return (notes & (INVALID | OVERFLOW | UNDERFLOW | SUBNORMAL_OPERAND)) == 0;
}

#else

typedef unsigned firn_step_watch;

/* Rounds to nearest, takes subnormal operands as they are. Returns the previous state, which firn_step_watch_end
 * restores. */
static inline firn_step_watch firn_step_watch_begin(bool flushes) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(_MM_MASK_MASK | (flushes ? _MM_FLUSH_ZERO_ON : 0) | _MM_ROUND_NEAREST);
    return before;
}

/* Returns whether nothing was noticed. */
static inline bool firn_step_watch_end(firn_step_watch before, bool flushes) {
    const unsigned notes = _mm_getcsr(), subnormal_operand = flushes ? 0 : _MM_EXCEPT_DENORM;
    _mm_setcsr(before);
    return (notes & (_MM_EXCEPT_INVALID | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW | subnormal_operand)) == 0;
}

#endif

#endif
