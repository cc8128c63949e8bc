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

/* Rounds x, the value of a * b + c that an instruction has rounded to binary32, to bfloat16. Runs between
 * firn_step_watch_begin and firn_step_watch_end, outside of firn_step_begin and firn_step_end. Of bfloat16 numbers the
 * result is that of one rounding unless c is not zero and at most 2^-24 of a * b.
 *
 * For let the exact value lie in [2^e, 2^(e+1)) and not be its rounding to 24 bits, and let this be the middle m of two
 * neighbours in bfloat16, an odd multiple of 2^(e-8). Either a * b has bits below 2^(e-23). Then it is at most
 * 255 * 255 * 2^(e-24), which is 511 * 2^(e-24) less than 2^(e-8), c is at least 2^e and a multiple of 2^(e-7), and the
 * value cannot come as close to m as 2^(e-24). Or only c has such bits. Then it is less than 2^(e-16), and a * b and m
 * are multiples of 2^(e-15): they are equal, and c, at most half of the last of 24 bits, is lost. But c alone tells on
 * which side of the middle the value lies.
 *
 * For x in [2^e, 2^(e+1)), 65536 x - x lies below 2^(e+17), so its last bit is 2^(e-7), the one to keep, or, if x is
 * within 2^(e-16) of 2^e, half of that. Rounding it to 24 bits rounds x, since 65536 x is an even multiple of that bit
 * except where x is no middle; the difference to 65536 x is exact. tests/unit/test_kernels_chunked.c goes through every
 * x. */
static inline firn_vector firn_step_round_twice(firn_vector x) {
    const firn_vector less = firn_vector_multiply(x, firn_vector_fill(-65535.0f));
    return firn_vector_fma(x, firn_vector_fill(65536.0f), less);
}

#if defined(__aarch64__)
#    include "runtime/kernels/vector/chunked/step_neon.h"
#elif defined(__AVX512F__)
#    include "runtime/kernels/vector/chunked/step_avx512.h"
#else
#    include "runtime/kernels/vector/chunked/step_avx2.h"
#endif

#endif
