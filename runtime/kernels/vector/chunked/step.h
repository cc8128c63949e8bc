/* One step of a chunked sum in each lane, sum = round16(left * right + sum), in the stages that chunked.c puts side by
 * side for several sums: the product and sum rounded down and up, of these the one that is odd, and that rounded to the
 * half type. Why that is right is said in chunked.h. x86 only.
 *
 * AVX-512 has the direction in the instruction. AVX2 has it in the control register: between firn_step_begin and
 * firn_step_end all is rounded down, and up is the negative of what the negative is down. Compilers know nothing of
 * that register. So what is done between the two is a call of a function that is not inlined and takes and leaves its
 * sums in memory, and that function must not round anything but by what is written here. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_H

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/half.h"

/* What a step rounds to. The last is for sums that are known to stay below the largest value, which saves a third. */
typedef enum firn_step_kind {
    FIRN_STEP_FLOAT16,
    FIRN_STEP_BFLOAT16,
    FIRN_STEP_CBFLOAT16,
    FIRN_STEP_SMALL_CBFLOAT16
} firn_step_kind;

/* The conversion of the CPU is that of NUMERICS.md, whatever the control register says. */
static inline firn_vector firn_step_round_float16(firn_vector x) {
    return firn_vector_from_float16(firn_vector_to_float16(x));
}

#ifdef __AVX512F__
#    include "runtime/kernels/vector/chunked/step_avx512.h"
#else
#    include "runtime/kernels/vector/chunked/step_avx2.h"
#endif

static inline firn_vector firn_step_round(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_FLOAT16)
        return firn_step_round_float16(x);
    return kind == FIRN_STEP_BFLOAT16 ? firn_step_round_bfloat16(x) : firn_step_round_cbfloat16(kind, x);
}

#endif
