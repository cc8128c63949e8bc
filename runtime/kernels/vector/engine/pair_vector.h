/* A register of 16 sums of pairs of bfloat16 and the operations that pairs.c needs. Compiled for AVX512_BF16, they are
 * single instructions. Compiled without, they are the plain C of model.h. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_PAIR_VECTOR_H
#define FIRN_KERNELS_VECTOR_ENGINE_PAIR_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FIRN_PAIR_SUMS = 16 };

#ifdef __AVX512BF16__

#    include <immintrin.h>

typedef __m512 firn_pair_sums;
typedef __m512bh firn_pair_words;

static inline firn_pair_sums firn_pair_sums_zero(void) {
    return _mm512_setzero_ps();
}

static inline firn_pair_sums firn_pair_sums_load(const float *from) {
    return _mm512_loadu_ps(from);
}

static inline void firn_pair_sums_store(float *to, firn_pair_sums sums) {
    _mm512_storeu_ps(to, sums);
}

static inline firn_pair_words firn_pair_words_load(const uint32_t *from) {
    return (__m512bh)_mm512_loadu_si512(from);
}

/* Adds left * right for the pair of each lane; the left word is the same for all, which the instruction can load as its
 * last operand. It flushes whatever the control register says. */
static inline firn_pair_sums firn_pair_add(firn_pair_sums sums, uint32_t left, firn_pair_words right) {
    return _mm512_dpbf16_ps(sums, right, (__m512bh)_mm512_set1_epi32((int)left));
}

/* The same for the lanes whose bits are set. The instruction could take the lanes itself, but gcc before 13 gives it
 * eight of the sixteen. */
static inline firn_pair_sums firn_pair_add_some(uint32_t lanes, firn_pair_sums sums, uint32_t left,
                                                firn_pair_words right) {
    return _mm512_mask_mov_ps(sums, (__mmask16)lanes, firn_pair_add(sums, left, right));
}

#else

#    include "runtime/kernels/vector/engine/model.h"

typedef struct firn_pair_sums {
    float lanes[FIRN_PAIR_SUMS];
} firn_pair_sums;

typedef struct firn_pair_words {
    uint32_t lanes[FIRN_PAIR_SUMS];
} firn_pair_words;

static inline firn_pair_sums firn_pair_sums_zero(void) {
    return (firn_pair_sums){{0}};
}

static inline firn_pair_sums firn_pair_sums_load(const float *from) {
    firn_pair_sums sums;
    memcpy(&sums, from, sizeof sums);
    return sums;
}

static inline void firn_pair_sums_store(float *to, firn_pair_sums sums) {
    memcpy(to, &sums, sizeof sums);
}

static inline firn_pair_words firn_pair_words_load(const uint32_t *from) {
    firn_pair_words words;
    memcpy(&words, from, sizeof words);
    return words;
}

/* Not inlined: a tile has dozens of additions, which would take a compiler with sanitizers minutes. */
static __attribute__((noinline, unused)) firn_pair_sums firn_pair_add(firn_pair_sums sums, uint32_t left,
                                                                      firn_pair_words right) {
    for (size_t i = 0; i < FIRN_PAIR_SUMS; i++)
        sums.lanes[i] = firn_model_pair(sums.lanes[i], left, right.lanes[i]);
    return sums;
}

static __attribute__((noinline, unused)) firn_pair_sums firn_pair_add_some(uint32_t lanes, firn_pair_sums sums,
                                                                           uint32_t left, firn_pair_words right) {
    for (size_t i = 0; i < FIRN_PAIR_SUMS; i++)
        if ((lanes >> i & 1u) != 0)
            sums.lanes[i] = firn_model_pair(sums.lanes[i], left, right.lanes[i]);
    return sums;
}

#endif

#endif
