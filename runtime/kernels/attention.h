/* The parameters of a call of the attention ops and the layout of its operands, shared by every kernel set.
 * Freestanding. */
#ifndef FIRN_KERNELS_ATTENTION_H
#define FIRN_KERNELS_ATTENTION_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/numerics/numerics.h"

typedef struct firn_attention {
    const firn_kernel_call *call;
    const firn_tensor *qkv;
    size_t batch, steps, heads, kv_heads, size; /* B, T, heads, kv_heads, D */
    size_t group;                               /* query heads that share one key head; they are consecutive */
    size_t rows;                                /* queries of a block: what the scratch of a head has room for */
    bool causal;
    uint8_t softmax_type; /* type that scores and probabilities round to: float32, or the half type with half_softmax */
    float scale, dropout_rate;
    const float *slopes; /* one for each query head, or NULL */
    firn_rng rng;
} firn_attention;

/* Decodes the call of either op, whose inputs have these positions. */
firn_attention firn_attention_of(const firn_kernel_call *call, uint8_t qkv, uint8_t slopes);

/* Returns part `number` of the positions of a sequence as a matrix [T][D]. The parts of qkv and its gradient are the
 * query heads, then the key heads, then the value heads; the parts of y and its gradient are the query heads. */
firn_matrix firn_attention_part(const firn_attention *a, const firn_tensor *tensor, size_t batch, size_t number);

static inline size_t firn_attention_key_part(const firn_attention *a, size_t key_head) {
    return a->heads + key_head;
}

static inline size_t firn_attention_value_part(const firn_attention *a, size_t key_head) {
    return a->heads + a->kv_heads + key_head;
}

/* Returns the index of a head's first query in row_max and row_sum. */
static inline size_t firn_attention_row(const firn_attention *a, size_t batch, size_t head) {
    return (batch * a->heads + head) * a->steps;
}

/* Returns the index of a probability's random number; row: the index of its query, as above. */
static inline uint64_t firn_attention_element(const firn_attention *a, size_t row, size_t key) {
    return (uint64_t)row * a->steps + key;
}

#endif
