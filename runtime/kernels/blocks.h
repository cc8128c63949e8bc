/* How kernels walk over elements: a block at a time, widened to float32 on the stack, computed, narrowed. Nothing here
 * knows an op. Freestanding. */
#ifndef FIRN_KERNELS_BLOCKS_H
#define FIRN_KERNELS_BLOCKS_H

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"

enum { FIRN_BLOCK = 256 }; /* elements: one kilobyte of floats */

static inline size_t firn_smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* a / b, rounded up; a is not 0. What is small has mostly quotients of 1, for which a division is too slow. */
static inline size_t firn_ceiling(size_t a, size_t b) {
    return a <= b ? 1 : (a - 1) / b + 1;
}

static inline size_t firn_last_extent(const firn_tensor *tensor) {
    return tensor->dims[tensor->rank - 1];
}

/* All leading dimensions taken together. */
static inline size_t firn_rows(const firn_tensor *tensor) {
    return tensor->elements / firn_last_extent(tensor);
}

static inline size_t firn_blocks(size_t elements) {
    return firn_ceiling(elements, FIRN_BLOCK);
}

/* Elements of a block: all are full but the last. */
static inline size_t firn_block_elements(size_t elements, size_t block) {
    return firn_smaller(FIRN_BLOCK, elements - block * FIRN_BLOCK);
}

/* A block of a tensor as floats; returns its elements. */
static inline size_t firn_block_widen(float *x, const firn_tensor *tensor, size_t block) {
    size_t count = firn_block_elements(tensor->elements, block);
    firn_widen(x, tensor->data, tensor->type, block * FIRN_BLOCK, count);
    return count;
}

static inline void firn_block_narrow(const firn_tensor *tensor, size_t block, const float *x, size_t count) {
    firn_narrow(tensor->data, tensor->type, block * FIRN_BLOCK, x, count);
}

/* A block of a row of a tensor, from column `at`; returns its elements. */
static inline size_t firn_row_widen(float *x, const firn_tensor *tensor, size_t row, size_t at) {
    const size_t width = firn_last_extent(tensor), count = firn_smaller(FIRN_BLOCK, width - at);
    firn_widen(x, tensor->data, tensor->type, row * width + at, count);
    return count;
}

static inline void firn_row_narrow(const firn_tensor *tensor, size_t row, size_t at, const float *x, size_t count) {
    firn_narrow(tensor->data, tensor->type, row * firn_last_extent(tensor) + at, x, count);
}

/* An element of a row. */
static inline float firn_row_load(const firn_tensor *tensor, size_t row, size_t column) {
    return firn_load(tensor->data, tensor->type, row * firn_last_extent(tensor) + column);
}

/* Runs body over tasks, each of this cost, with the call as its argument. */
static inline void firn_split(const firn_kernel_call *call, size_t tasks, uint64_t cost, firn_task_body body) {
    firn_parallel_run(&call->parallel, tasks, cost, body, (void *)call);
}

/* Runs body over the blocks of output 0, where each element is read, computed and written. */
static inline void firn_run_blocks(const firn_kernel_call *call, firn_task_body body, void *argument) {
    firn_parallel_run(&call->parallel, firn_blocks(call->outputs[0].elements), UINT64_C(4) * FIRN_BLOCK, body,
                      argument);
}

/* The same with the call as its argument. */
static inline void firn_split_blocks(const firn_kernel_call *call, firn_task_body body) {
    firn_run_blocks(call, body, (void *)call);
}

/* The one element of a float32 tensor. */
static inline float firn_scalar(const firn_tensor *tensor) {
    const float *value = tensor->data;
    return *value;
}

static inline void firn_set_scalar(const firn_tensor *tensor, float x) {
    float *value = tensor->data;
    *value = firn_canonical(x);
}

/* A term of a sum over a row: of an element, and of a number that is the same for all. */
typedef float (*firn_row_term)(float x, float shift);

/* The sum of the terms of a row. The term must be known where this is inlined: then the compiler vectorises the loop,
 * and no call through a pointer is left. */
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

/* The term that is the element itself. */
static inline float firn_row_element(float x, float shift) {
    (void)shift;
    return x;
}

/* --- sums over a tensor (block_sum.c) ----------------------------------------------------------------------------- */

/* Gives the terms of a sum that belong to a block of elements; called once for each. Its name ends with _terms. */
typedef void (*firn_term_maker)(const void *settings, size_t block, float *terms, size_t count);

/* The sum of the terms of all elements; totals has a place for each FIRN_SUM_BLOCK of them. */
float firn_sum_terms(const firn_kernel_call *call, size_t elements, float *totals, firn_term_maker terms,
                     const void *settings);

/* --- short arrays of floats (blocks.c) ---------------------------------------------------------------------------- */

/* firn_maximum over m and all elements, with +0 for either zero: no order shows in the result. */
float firn_block_maximum(float m, const float *x, size_t count);

/* Each element rounded to the values of a type. */
void firn_block_round(uint8_t type, float *x, size_t count);

/* Dropout: for count elements from `first`, 1 / (1 - rate) where the random number is at least rate, else 0. */
void firn_block_dropout_factors(const firn_rng *rng, uint64_t first, float rate, float *factors, size_t count);

/* A dropped element is +0, whatever it was. */
static inline float firn_dropped(float x, float factor) {
    return factor > 0.0f ? x * factor : 0.0f;
}

#endif
