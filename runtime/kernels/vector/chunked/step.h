/* One step of a chunked sum in each lane, sum = round16(left * right + sum). It is split into stages, which chunked.c
 * interleaves for several sums: compute the fused result rounded down and up, choose the odd one of the two, and round
 * it to the half type. chunked.h explains why this is correct.
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
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/half.h"

/* The type a step rounds to. FIRN_STEP_SMALL_CBFLOAT16 is for sums known to stay below the largest value, which saves a
 * third of the time. */
typedef enum firn_step_kind {
    FIRN_STEP_FLOAT16,
    FIRN_STEP_BFLOAT16,
    FIRN_STEP_CBFLOAT16,
    FIRN_STEP_SMALL_CBFLOAT16
} firn_step_kind;

#if defined(__aarch64__)
#    include "runtime/kernels/vector/chunked/step_neon.h"
#elif defined(__AVX512F__)
#    include "runtime/kernels/vector/chunked/step_avx512.h"
#else
#    include "runtime/kernels/vector/chunked/step_avx2.h"
#endif

#endif
