/* Convolutions in vectors: the same terms in the same order as runtime/kernels/images/conv.c, and therefore the same
 * bits. Every output is one lane of a register tile. For sums in float32 that of runtime/kernels/vector/tile.h leaves
 * out the terms outside the image by its runs of terms; no image is laid out anew, half types are widened once. For
 * flushed sums (placed.h) such terms are zeros in their blocks: lines of the image are copied between zeros
 * (padded.h), and each term has a place in the copies. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_CONV_H
#define FIRN_KERNELS_VECTOR_IMAGES_CONV_H

#include "runtime/kernels/kernels.h"

uint64_t firn_vector_conv_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_conv(const firn_kernel_call *call);
void firn_vector_conv_backward_input(const firn_kernel_call *call);

uint64_t firn_vector_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_conv_backward_weight(const firn_kernel_call *call);

#endif
