/* Linear layers with float16 sums inside chunks, for CPUs with a fused multiply-add of float16. This is exactly the
 * step round16 of plan/NUMERICS.md, so an output is one lane and a term is one instruction. x86 with AVX-512-FP16 or
 * AArch64 with FEAT_FP16; compiled without, plain C gives the same bits (half_vector.h). */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_NATIVE_H
#define FIRN_KERNELS_VECTOR_CHUNKED_NATIVE_H

#include "runtime/kernels/kernels.h"

/* The three ops of a linear layer, only for float16 sums inside chunks, and their scratch. */
uint64_t firn_native_scratch(uint16_t op, const firn_kernel_call *call);
void firn_native_linear(const firn_kernel_call *call);
void firn_native_linear_backward_input(const firn_kernel_call *call);
void firn_native_linear_backward_weight(const firn_kernel_call *call);
void firn_native_linear_backward_weight_rows(const firn_kernel_call *call);
void firn_native_add_weight(const firn_kernel_call *call); /* FIRN_KERNEL_ADD_WEIGHT */
void firn_native_matmul(const firn_kernel_call *call);

#endif
