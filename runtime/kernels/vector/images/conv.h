/* Convolutions in vectors, for sums in float32: the same terms in the same order as runtime/kernels/images/conv.c, and
 * therefore the same bits. Every output is one lane of a register tile (runtime/kernels/vector/tile.h), which leaves
 * out the terms outside the image by its runs of terms. No image is laid out anew; half types are widened once. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_CONV_H
#define FIRN_KERNELS_VECTOR_IMAGES_CONV_H

#include "runtime/kernels/kernels.h"

uint64_t firn_vector_conv_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_conv(const firn_kernel_call *call);
void firn_vector_conv_backward_input(const firn_kernel_call *call);

uint64_t firn_vector_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_conv_backward_weight(const firn_kernel_call *call);

#endif
