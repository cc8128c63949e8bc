/* Helpers to process a tensor block by block: widen a block to float32 on the stack, compute, narrow the result. No
 * function here may depend on a particular op. Freestanding. */
#ifndef FIRN_KERNELS_BLOCKS_H
#define FIRN_KERNELS_BLOCKS_H

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/half_parts.h"
#include "runtime/numerics/numerics.h"

/* Elements: one kilobyte of floats, or less on cores without vectors, which gain nothing from more and have little
 * stack. */
enum { FIRN_BLOCK = FIRN_VECTORS ? 256 : 64 };

static inline size_t firn_smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns a / b, rounded up; a is not 0. The quotient of small sizes is usually 1, which is returned without a
 * division. */
static inline size_t firn_ceiling(size_t a, size_t b) {
    return a <= b ? 1 : (a - 1) / b + 1;
}

/* Returns the least multiple of a unit that is not below x. */
static inline size_t firn_round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

static inline size_t firn_last_extent(const firn_tensor *tensor) {
    return tensor->dims[tensor->rank - 1];
}

/* Returns the product of all extents but the last. */
static inline size_t firn_rows(const firn_tensor *tensor) {
    return tensor->elements / firn_last_extent(tensor);
}

static inline size_t firn_blocks(size_t elements) {
    return firn_ceiling(elements, FIRN_BLOCK);
}

/* Returns the elements of a block: FIRN_BLOCK, or fewer in the last block. */
static inline size_t firn_block_elements(size_t elements, size_t block) {
    return firn_smaller(FIRN_BLOCK, elements - block * FIRN_BLOCK);
}

/* Widens a block of a tensor to floats and returns its elements. */
static inline size_t firn_block_widen(float *x, const firn_tensor *tensor, size_t block) {
    size_t count = firn_block_elements(tensor->elements, block);
    firn_widen(x, tensor->data, tensor->type, block * FIRN_BLOCK, count);
    return count;
}

/* Returns a block of a tensor as floats, and its elements in *count: where it lies, if that needs no conversion on this
 * machine, else widened to the buffer. A NaN in it need not be canonical. */
static inline const float *firn_block_floats(float *buffer, const firn_tensor *tensor, size_t block, size_t *count) {
    *count = firn_block_elements(tensor->elements, block);
    if (FIRN_VECTORS == 0 && !firn_has_half_part(tensor->type))
        return (const float *)tensor->data + block * FIRN_BLOCK;
    firn_widen_rows(buffer, 0, tensor->data, tensor->type, block * FIRN_BLOCK, 0, 1, *count);
    return buffer;
}

static inline void firn_block_narrow(const firn_tensor *tensor, size_t block, const float *x, size_t count) {
    firn_narrow(tensor->data, tensor->type, block * FIRN_BLOCK, x, count);
}

/* Widens a block of a row of a tensor, starting with column `at`, and returns its elements. */
static inline size_t firn_row_widen(float *x, const firn_tensor *tensor, size_t row, size_t at) {
    const size_t width = firn_last_extent(tensor), count = firn_smaller(FIRN_BLOCK, width - at);
    firn_widen(x, tensor->data, tensor->type, row * width + at, count);
    return count;
}

static inline void firn_row_narrow(const firn_tensor *tensor, size_t row, size_t at, const float *x, size_t count) {
    firn_narrow(tensor->data, tensor->type, row * firn_last_extent(tensor) + at, x, count);
}

/* Returns one element of a row. */
static inline float firn_row_load(const firn_tensor *tensor, size_t row, size_t column) {
    return firn_load(tensor->data, tensor->type, row * firn_last_extent(tensor) + column);
}

/* Copies `count` elements from one tensor to another, each starting with its own `first`, converting through float32.
 */
static inline void firn_copy(const firn_tensor *to, size_t to_first, const firn_tensor *from, size_t from_first,
                             size_t count) {
    float x[FIRN_BLOCK];
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        size_t run = firn_smaller(FIRN_BLOCK, count - at);
        firn_widen(x, from->data, from->type, from_first + at, run);
        firn_narrow(to->data, to->type, to_first + at, x, run);
    }
}

/* Returns the position of the first token of a call: element 0 of an int64 tensor, limited to 0 to 2^31 - 1; 0 without
 * the tensor. Kernels rely on no more than these limits, whatever a restored state holds. */
static inline size_t firn_position(const firn_tensor *length) {
    if (length == NULL)
        return 0;
    const int64_t position = *(const int64_t *)length->data;
    return position < 0 ? 0 : position < INT32_MAX ? (size_t)position : (size_t)INT32_MAX;
}

/* Runs body over tasks of this cost each, with the call as its argument. */
static inline void firn_split(const firn_kernel_call *call, size_t tasks, uint64_t cost, firn_task_body body) {
    firn_parallel_run(&call->parallel, tasks, cost, body, (void *)call);
}

/* Runs body over the blocks of output 0; the cost is that of reading, computing and writing each element. */
static inline void firn_run_blocks(const firn_kernel_call *call, firn_task_body body, void *argument) {
    firn_parallel_run(&call->parallel, firn_blocks(call->outputs[0].elements), UINT64_C(4) * FIRN_BLOCK, body,
                      argument);
}

/* The same with the call as its argument. */
static inline void firn_split_blocks(const firn_kernel_call *call, firn_task_body body) {
    firn_run_blocks(call, body, (void *)call);
}

/* Returns the single element of a float32 tensor. */
static inline float firn_scalar(const firn_tensor *tensor) {
    const float *value = tensor->data;
    return *value;
}

static inline void firn_set_scalar(const firn_tensor *tensor, float x) {
    float *value = tensor->data;
    *value = firn_canonical(x);
}

/* Computes a term of a sum over a row from an element and a number common to all. */
typedef float (*firn_row_term)(float x, float shift);

/* Returns the sum of the terms of a row. `term` must be known at compile time after inlining; the compiler then
 * vectorises the loop and makes no call through a pointer. */
static inline __attribute__((always_inline)) float firn_row_sum(const firn_tensor *tensor, size_t row, float shift,
                                                                firn_row_term term) {
    float x[FIRN_BLOCK];
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t at = 0; at < firn_last_extent(tensor); at += FIRN_BLOCK) {
        const size_t count = firn_row_widen(x, tensor, row, at);
        for (size_t i = 0; i < count; i++)
            x[i] = term(x[i], shift);
        firn_sum_add_many(&sum, x, count);
    }
    return firn_sum_end(&sum);
}

/* A term that is the element itself. */
static inline float firn_row_element(float x, float shift) {
    (void)shift;
    return x;
}

/* --- sums over a tensor (block_sum.c) ----------------------------------------------------------------------------- */

/* Computes the terms of a sum for one block of elements; called once for each block. The function's name must end in
 * _terms. */
typedef void (*firn_term_maker)(const void *settings, size_t block, float *terms, size_t count);

/* Returns the sum of the terms of all elements. totals must have room for one float for each FIRN_SUM_BLOCK
 * elements. */
float firn_sum_terms(const firn_kernel_call *call, size_t elements, float *totals, firn_term_maker terms,
                     const void *settings);

/* --- short arrays of floats (blocks.c) ---------------------------------------------------------------------------- */

/* Returns firn_maximum over m and all elements. Either zero becomes +0, so that the result does not depend on the
 * order. */
float firn_block_maximum(float m, const float *x, size_t count);

/* Rounds each element to the values of a type. */
void firn_block_round(uint8_t type, float *x, size_t count);

/* Computes dropout factors for `count` elements, starting with `first`: 1 / (1 - rate) if the random number is at least
 * rate, else 0. */
void firn_block_dropout_factors(const firn_rng *rng, uint64_t first, float rate, float *factors, size_t count);

/* Applies a dropout factor. A dropped element becomes +0, even if it was infinite or NaN. */
static inline float firn_dropped(float x, float factor) {
    return factor > 0.0f ? x * factor : 0.0f;
}

#endif
