/* Convolutions that are linear layers: windows of one element, one for each place of the image. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_POINTWISE_H
#define FIRN_KERNELS_VECTOR_IMAGES_POINTWISE_H

#include <stdbool.h>

#include "runtime/kernels/kernels.h"

/* A call of a linear layer's op with the operands of a convolution, to which it points. */
typedef struct firn_pointwise {
    uint16_t op;
    firn_tensor inputs[3], output;
    uint32_t weight_dims[2];
    int64_t layout;
    firn_kernel_call call;
} firn_pointwise;

/* Sets the call for one of the three ops of convolutions. False if it is no linear layer. */
bool firn_pointwise_of(firn_pointwise *layer, uint16_t op, const firn_kernel_call *call);

#endif
