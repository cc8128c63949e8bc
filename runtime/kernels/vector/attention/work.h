/* What attention in vectors works on: the job that a call asks for, how it is cut into pieces, what a piece has in its
 * slot, and the blocks of queries that it takes one after the other. Scores of a block lie as [key][query], with the
 * queries side by side in registers: the softmax then needs nothing across lanes, and the block is the left factor of
 * the products with values and keys (a row is a query) as well as of those with queries and dy (a row is a key).
 * Nothing of T x T is kept. No arithmetic on elements here. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_WORK_H
#define FIRN_KERNELS_VECTOR_ATTENTION_WORK_H

#include "runtime/kernels/attention.h"
#include "runtime/kernels/vector/attention/tile.h"

enum {
    FIRN_BLOCK_QUERIES = 32, /* as many terms have the sums of a key before they are stored again */
    FIRN_BLOCK_VECTORS = FIRN_BLOCK_QUERIES / FIRN_VECTOR,
    FIRN_PANEL_QUERIES = FIRN_ATTENTION_COLUMNS, /* whose columns are packed side by side */
    FIRN_RUN_KEYS = FIRN_SUM_LANES /* that are worked on while they are in the first cache: one of each lane of a sum */
};

/* Where each thing lies in the slot, in floats. Rows of `width` floats hold D elements; rows of scores, a float or a
 * bit for each query of a block. */
typedef struct firn_attention_layout {
    size_t query_columns, gradient_columns; /* [panel][D][panel queries]: q and dy of a block */
    size_t query_rows, gradient_rows;       /* [block queries][width]: the same */
    size_t sums, chunk_sums;                /* [block queries][width]: y or dq of a block */
    size_t lanes;                           /* [run keys][block queries]: of a sum over the keys */
    size_t drawn, transposed;               /* [block queries][run keys], [panel][run keys][panel queries]: random */
    size_t kept;                            /* [rows]: bits, 1 where dropout keeps a probability */
    size_t scores, gradients;               /* [rows][block queries]: of a block */
    size_t keys, values;                    /* [span][width] */
    size_t key_sums, value_sums;            /* [span][width]: dk and dv */
    size_t key_chunks, value_chunks;        /* [span][width]: of the chunks that are not at their end */
    size_t head_key_sums, head_value_sums;  /* [span][width]: of a query head, unless it is the first */
    size_t end;
} firn_attention_layout;

typedef struct firn_attention_job {
    firn_attention a;
    const firn_tensor *dy, *out; /* out: y, or the gradient of qkv */
    const float *row_max, *row_sum;
    float *new_row_max, *new_row_sum;
    float *projections; /* D of each query */
    size_t width;       /* floats of a packed row: the head's elements, and what fills up its last register */
    size_t span;        /* keys that can be packed at a time */
    bool chunked;       /* one of the reductions is */
    size_t parts;       /* of a head, each a piece of work */
    size_t part;        /* queries or keys of a part */
    bool one_pass;      /* a piece of keys is a whole key head, and finds the gradients of its queries too */
    firn_attention_layout at;
} firn_attention_job;

/* A query head, and what is packed for it. */
typedef struct firn_attention_head {
    const firn_attention_job *job;
    const firn_attention *a;
    float *slot;
    size_t batch, query, key;          /* query head, and the key head that it reads */
    size_t row;                        /* of its first query in row_max and row_sum */
    size_t origin;                     /* key of the first row of scores */
    size_t reach;                      /* where the keys of the piece end */
    size_t packed_keys, packed_values; /* the first key of those that are packed */
} firn_attention_head;

/* A block of queries, and the keys that the last of them sees among those of the piece. */
typedef struct firn_attention_block {
    size_t query, count;
    size_t begin, end;
    _Alignas(64) float row_max[FIRN_BLOCK_QUERIES], row_sum[FIRN_BLOCK_QUERIES], projections[FIRN_BLOCK_QUERIES];
} firn_attention_block;

static inline void firn_attention_clear(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = 0.0f;
}

/* --- the job ------------------------------------------------------------------------------------------------------ */

bool firn_attention_is_chunked(const firn_kernel_call *call, size_t reductions);

/* Operations on elements of so many products (FIRN_GRAIN). */
uint64_t firn_attention_cost(const firn_attention_job *job, uint64_t products);

/* Lays out a slot for pieces of keys, which have as many scores as keys, or for pieces of queries, which have a score
 * for each step, in at most 4 MiB. How many keys fit is in job->span, at most all of them; false when not even a block
 * does. */
bool firn_attention_lay_out(firn_attention_job *job, bool of_keys);

/* Bytes of a slot that was laid out. */
static inline uint64_t firn_attention_scratch(const firn_attention_job *job) {
    return job->at.end * sizeof(float);
}

/* Cuts heads into parts of whole blocks, `most` steps or fewer, where the heads alone would not keep all threads busy.
 * Returns the pieces. */
size_t firn_attention_divide(firn_attention_job *job, size_t heads, size_t threads, size_t most);

/* --- heads and blocks --------------------------------------------------------------------------------------------- */

firn_attention_head firn_attention_head_of(const firn_attention_job *job, void *slot, size_t batch, size_t query_head);

/* The head of a piece of queries, which are those from `begin` to `end`. */
firn_attention_head firn_attention_query_piece(const firn_attention_job *job, size_t piece, void *slot, size_t *begin,
                                               size_t *end);

/* The block of queries from `query` on, with those of the keys [begin, end) that it sees. */
firn_attention_block firn_attention_block_of(const firn_attention_head *h, size_t query, size_t begin, size_t end);

#endif
