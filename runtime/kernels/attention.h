/* The parameters of a call of the attention ops and the layout of its operands, shared by every kernel set.
 * Freestanding. */
#ifndef FIRN_KERNELS_ATTENTION_H
#define FIRN_KERNELS_ATTENTION_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/numerics/numerics.h"

/* Heads of D elements that lie side by side in the positions [B][T or S] of a tensor, from head number `first` on. */
typedef struct firn_attention_heads {
    const firn_tensor *tensor;
    size_t first;
} firn_attention_heads;

typedef struct firn_attention {
    const firn_kernel_call *call;
    firn_attention_heads query, key, value;
    firn_attention_heads dquery, dkey, dvalue; /* the gradients, backward only */
    const firn_tensor *y;                      /* y, or dy backward */
    float *new_row_max, *new_row_sum;          /* forward */
    const float *row_max, *row_sum;            /* backward */
    float *scratch;
    size_t batch, queries, keys, heads, kv_heads, size; /* B, T, S, heads, kv_heads, D */
    size_t group;                                       /* query heads that share one key head; they are consecutive */
    size_t rows;   /* queries of a block: what the scratch of a head has room for */
    size_t stride; /* floats of a row of the scratch: for each key, or backward for each key or query */
    bool causal;
    uint8_t type;         /* of the operands */
    uint8_t softmax_type; /* type that scores and probabilities round to: float32, or the half type with half_softmax */
    float scale, dropout_rate;
    size_t position;                        /* of the first query among the keys; forward only, 0 without a cache */
    const float *slopes;                    /* one for each query head, or NULL */
    const float *mask;                      /* [T][S] for each head, or NULL */
    size_t mask_batch_step, mask_head_step; /* floats from one to the next; 0: they share it */
    firn_rng rng;
} firn_attention;

/* Decode the calls of the four ops. */
firn_attention firn_attention_of(const firn_kernel_call *call);
firn_attention firn_attention_backward_of(const firn_kernel_call *call);
firn_attention firn_cross_attention_of(const firn_kernel_call *call);
firn_attention firn_cross_attention_backward_of(const firn_kernel_call *call);

/* A call of cached_attention: `first` keys lie in the cache before those of its own tokens. `a` describes one query,
 * alone with the keys that it sees. */
typedef struct firn_cached_attention {
    firn_attention a;
    size_t first, tokens;
    firn_tensor query, y; /* of one token */
    uint32_t query_dims[3], y_dims[3];
} firn_cached_attention;

/* Decodes a call, all but `first` and the query: it reads no tensor. *c must stay where it is. */
void firn_cached_attention_of(firn_cached_attention *c, const firn_kernel_call *call);
/* Returns the number of keys before the call: the session's length, limited to the rows of the cache. */
size_t firn_cached_attention_first(const firn_cached_attention *c);
/* Stores the keys and values of the tokens, as far as the cache has rows for them. */
void firn_cached_attention_store(const firn_cached_attention *c);
/* Moves on to a query: keys beyond those that it sees are in none of its sums, whatever the cache has there. */
void firn_cached_attention_take(firn_cached_attention *c, size_t query);

/* Returns head `number` of the positions of a sequence as a matrix [T or S][D]. */
firn_matrix firn_attention_part(const firn_attention *a, firn_attention_heads heads, size_t batch, size_t number);

/* Returns what is added to the scores of a head, or NULL: a row of S floats for each query. */
static inline const float *firn_attention_mask(const firn_attention *a, size_t batch, size_t head) {
    return a->mask == NULL ? NULL : a->mask + batch * a->mask_batch_step + head * a->mask_head_step;
}

/* Returns the index of a head's first query in row_max and row_sum. */
static inline size_t firn_attention_row(const firn_attention *a, size_t batch, size_t head) {
    return (batch * a->heads + head) * a->queries;
}

/* Returns the index of a probability's random number; row: the index of its query, as above. */
static inline uint64_t firn_attention_element(const firn_attention *a, size_t row, size_t key) {
    return (uint64_t)row * a->keys + key;
}

#endif
