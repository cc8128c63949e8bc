/* One step of a chunked sum in each lane, sum = round16(left * right + sum). It computes the fused result rounded down
 * and up, chooses the odd one of the two, and rounds it to the half type. chunked.h explains why this is correct.
 *
 * AVX-512 encodes the rounding direction in the instruction. AVX2 and NEON take it from the control register: between
 * firn_step_begin and firn_step_end everything is rounded down, and the result rounded up is the negative of the
 * negated expression rounded down. Compilers do not model the control register. Therefore the code between the two
 * calls must be a function that is not inlined and that reads and writes its sums in memory, and it must contain no
 * other operation that rounds. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_H

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/chunked/step_watch.h"
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/half.h"

/* The type a step rounds to. FIRN_STEP_SMALL_CBFLOAT16 is for sums known to stay below the largest value, which saves
 * up to a third of the time. */
typedef enum firn_step_kind {
    FIRN_STEP_FLOAT16,
    FIRN_STEP_BFLOAT16,
    FIRN_STEP_CBFLOAT16,
    FIRN_STEP_SMALL_CBFLOAT16
} firn_step_kind;

/* Rounds x to nearest even by dropping `drop` bits, where neither x nor 2^drop x is too large or too small for
 * binary32. Runs outside of firn_step_begin and firn_step_end.
 *
 * For x in [2^e, 2^(e+1)), 2^d x - x lies below 2^(e+d+1), so its last bit is 2^(e+d-23), the one to keep, or, if x is
 * within 2^(e-d) of 2^e, half of that. Rounding it to 24 bits rounds x, since 2^d x is an even multiple of that bit
 * except where x is no middle; the difference to 2^d x is exact. tests/unit/test_kernels_chunked.c goes through every
 * x. */
static inline firn_vector firn_step_to_half(firn_vector x, int drop) {
    const float raised = firn_power_of_two(drop);
    const firn_vector less = firn_vector_multiply(x, firn_vector_fill(1.0f - raised));
    return firn_vector_fma(x, firn_vector_fill(raised), less);
}

/* Rounds a * b + c to binary32 and then to bfloat16. Of bfloat16 numbers the result is that of one rounding unless c is
 * not zero and at most 2^-24 of a * b.
 *
 * For let the exact value lie in [2^e, 2^(e+1)) and not be its rounding to 24 bits, and let this be the middle m of two
 * neighbours in bfloat16, an odd multiple of 2^(e-8). Either a * b has bits below 2^(e-23). Then it is at most
 * 255 * 255 * 2^(e-24), which is 511 * 2^(e-24) less than 2^(e-8), c is at least 2^e and a multiple of 2^(e-7), and the
 * value cannot come as close to m as 2^(e-24). Or only c has such bits. Then it is less than 2^(e-16), and a * b and m
 * are multiples of 2^(e-15): they are equal, and c, at most half of the last of 24 bits, is lost. But c alone tells on
 * which side of the middle the value lies.
 *
 * firn_step_to_half does the second rounding. */
static inline firn_vector firn_step_round_twice(firn_vector a, firn_vector b, firn_vector c) {
    return firn_step_to_half(firn_vector_fma(a, b, c), 16);
}

#if defined(__aarch64__)
#    include "runtime/kernels/vector/chunked/step_neon.h"
#elif defined(__AVX512F__)
#    include "runtime/kernels/vector/chunked/step_avx512.h"
#else
#    include "runtime/kernels/vector/chunked/step_avx2.h"
#endif

/* The step of scaled sums, between firn_step_watch_begin and firn_step_watch_end: rounds bfloat16 twice, if no sum is
 * 2^-24 of a product, and cbfloat16 to odd and then to nearest, if none is subnormal or too large. The latter needs
 * instructions that encode the rounding direction (FIRN_STEP_IS_DIRECTED). */
static inline firn_vector firn_step_watched(firn_step_kind kind, firn_vector a, firn_vector b, firn_vector c) {
    if (kind == FIRN_STEP_BFLOAT16)
        return firn_step_round_twice(a, b, c);
    return firn_step_to_half(firn_step_odd(firn_step_down(a, b, c), firn_step_up(a, b, c)),
                             23 - FIRN_CBFLOAT16_MANTISSA);
}

#endif
