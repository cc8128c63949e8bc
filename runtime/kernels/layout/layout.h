/* What the kernels that move elements share: walks over the elements of two tensors, and ids. Elements of any type are
 * moved as they are: a NaN that a tensor holds is canonical already. Freestanding. */
#ifndef FIRN_KERNELS_LAYOUT_H
#define FIRN_KERNELS_LAYOUT_H

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"

/* Elements of two tensors by pairs. Dimension d has extent[d] of them; from one to the next it advances by from_step[d]
 * elements in one tensor and by to_step[d] in the other. A step may be negative, and is 0 where an element repeats. */
typedef struct firn_walk {
    uint32_t rank;
    size_t extent[FIRN_RANK_MAX];
    ptrdiff_t from_step[FIRN_RANK_MAX], to_step[FIRN_RANK_MAX];
    size_t from_first, to_first;
} firn_walk;

/* Begins a walk over the extents of a tensor; its steps are those of `to` or `from`, or of both. */
firn_walk firn_walk_over(const firn_tensor *tensor);

/* Copies the elements of a walk to output 0, which has the type of `from`. */
void firn_move(const firn_kernel_call *call, const firn_tensor *from, firn_walk walk);

/* Copies `count` elements that lie behind each other in tensors of one type. */
static inline void firn_copy_bits(const firn_tensor *to, size_t to_first, const firn_tensor *from, size_t from_first,
                                  size_t count) {
    const size_t bytes = firn_type_bytes(from->type);
    memcpy((uint8_t *)to->data + to_first * bytes, (const uint8_t *)from->data + from_first * bytes, count * bytes);
}

/* Sets elements of a tensor to +0. */
static inline void firn_clear_bits(const firn_tensor *to, size_t first, size_t count) {
    const size_t bytes = firn_type_bytes(to->type);
    memset((uint8_t *)to->data + first * bytes, 0, count * bytes);
}

/* The product of the extents from `begin` up to `end`. */
static inline size_t firn_extents(const firn_tensor *tensor, size_t begin, size_t end) {
    size_t product = 1;
    for (size_t d = begin; d < end; d++)
        product *= tensor->dims[d];
    return product;
}

/* The element that an id names along an extent: from the end if it is negative, and within the extent in any case. */
static inline size_t firn_named(int32_t id, uint32_t extent) {
    const int64_t place = id < 0 ? (int64_t)id + extent : id;
    if (place < 0)
        return 0;
    return place < extent ? (size_t)place : extent - 1u;
}

#endif
