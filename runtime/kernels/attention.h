/* What a call of the attention ops asks for, and where its parts lie: what every kernel set needs to know.
 * Freestanding.
 */
#ifndef FIRN_KERNELS_ATTENTION_H
#define FIRN_KERNELS_ATTENTION_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/numerics/numerics.h"

typedef struct firn_attention {
    const firn_kernel_call *call;
    const firn_tensor *qkv;
    size_t batch, steps, heads, kv_heads, size; /* B, T, heads, kv_heads, D */
    size_t group;                               /* query heads of one key head, which follow each other */
    bool causal;
    uint8_t softmax_type; /* scores and probabilities round to it: float32, or the half type with half_softmax */
    float scale, dropout_rate;
    firn_rng rng;
} firn_attention;

/* The call of either op; qkv is one of its inputs. */
firn_attention firn_attention_of(const firn_kernel_call *call, const firn_tensor *qkv);

/* Part `number` of the positions of a sequence, [T][D]. qkv and its gradient hold the query heads, then the key heads,
 * then the value heads; y and its gradient hold the query heads. */
firn_matrix firn_attention_part(const firn_attention *a, const firn_tensor *tensor, size_t batch, size_t number);

static inline size_t firn_attention_key_part(const firn_attention *a, size_t key_head) {
    return a->heads + key_head;
}

static inline size_t firn_attention_value_part(const firn_attention *a, size_t key_head) {
    return a->heads + a->kv_heads + key_head;
}

/* Where the first query of a head is in row_max and row_sum. */
static inline size_t firn_attention_row(const firn_attention *a, size_t batch, size_t head) {
    return (batch * a->heads + head) * a->steps;
}

/* Where the random number of a probability is; row: that of its query. */
static inline uint64_t firn_attention_element(const firn_attention *a, size_t row, size_t key) {
    return (uint64_t)row * a->steps + key;
}

#endif
