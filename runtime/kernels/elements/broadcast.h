/* Reads operands that are repeated to the extents of a result, as NumPy repeats them, block by block. The only reader
 * of such operands. Freestanding. */
#ifndef FIRN_KERNELS_BROADCAST_H
#define FIRN_KERNELS_BROADCAST_H

#include "plan/ops.h"
#include "runtime/kernels/blocks.h"

/* Where the elements of a result come from. Dimensions of the result, the last one first; neighbours along which the
 * operand is read alike are one dimension. A step is what the operand moves by from one element to the next; 0: it is
 * repeated. */
typedef struct firn_broadcast {
    const firn_tensor *tensor;
    uint32_t rank;
    size_t extents[FIRN_RANK_MAX], steps[FIRN_RANK_MAX];
} firn_broadcast;

/* `result` has the extents to which the tensor is repeated. */
void firn_broadcast_begin(firn_broadcast *operand, const firn_tensor *tensor, const firn_tensor *result);

/* Returns a block of the repeated operand as floats, for `count` elements of the result: where it lies, or in the
 * buffer. A NaN in it need not be canonical. */
const float *firn_broadcast_floats(const firn_broadcast *operand, float *buffer, size_t block, size_t count);

/* An op of two operands that are repeated to the extents of one tensor. */
typedef struct firn_broadcast_pair {
    const firn_kernel_call *call;
    firn_broadcast a, b;
} firn_broadcast_pair;

/* a and b are numbers of inputs. */
firn_broadcast_pair firn_broadcast_pair_of(const firn_kernel_call *call, uint8_t a, uint8_t b,
                                           const firn_tensor *result);

#endif
