/* Linear layers whose chunks are summed in float16, on a unit that multiplies and adds such numbers with one rounding:
 * what round16 asks for, so that an output is one lane and a term is one instruction. x86 with AVX-512-FP16; without,
 * the same in plain C (half_vector.h). */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_NATIVE_H
#define FIRN_KERNELS_VECTOR_CHUNKED_NATIVE_H

#include "runtime/kernels/kernels.h"

/* The linear layer's three ops, with float16 sums inside chunks and nothing else, and the scratch of each. */
uint64_t firn_native_scratch(uint16_t op, const firn_kernel_call *call);
void firn_native_linear(const firn_kernel_call *call);
void firn_native_linear_backward_input(const firn_kernel_call *call);
void firn_native_linear_backward_weight(const firn_kernel_call *call);

#endif
