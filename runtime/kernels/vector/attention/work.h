/* The data structures of attention in vectors: the job of a call, its division into pieces, the layout of a piece's
 * slot, and the blocks of queries that a piece processes in turn. Scores of a block are stored as [key][query], with
 * the queries side by side in registers: the softmax then needs no operation across lanes, and the block can be the
 * left factor both of the products with values and keys (a row is a query) and of those with queries and dy (a row is a
 * key). No T x T matrix is kept. No arithmetic on elements may be done here. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_WORK_H
#define FIRN_KERNELS_VECTOR_ATTENTION_WORK_H

#include "runtime/kernels/attention.h"
#include "runtime/kernels/vector/attention/tile.h"

enum {
    FIRN_BLOCK_QUERIES = 32, /* also the terms added to a key's sums between two stores */
    FIRN_BLOCK_VECTORS = FIRN_BLOCK_QUERIES / FIRN_VECTOR,
    FIRN_PANEL_QUERIES = FIRN_ATTENTION_TILE_COLUMNS, /* queries whose columns are packed side by side */
    FIRN_RUN_KEYS = FIRN_SUM_LANES /* keys processed while they are in the L1 cache: one for each lane of a sum */
};

/* What the products (products.h) need of a slot; given by the file that implements them. */
typedef struct firn_attention_packing {
    size_t unit;       /* floats of which a packed row is a multiple; itself one of FIRN_VECTOR */
    size_t spare_rows; /* of each matrix of keys, behind its keys */
    size_t own;        /* floats of a part for the products alone */
    /* Of chunked sums, like FIRN_MULTIPLICATIONS, which is for all others; 0 in a set without chunked sums. */
    unsigned chunked_multiplications;
} firn_attention_packing;

extern const firn_attention_packing firn_attention_packing_of_set;

/* Offsets of the parts of a slot, in floats. Rows of `width` floats hold D elements; rows of scores hold a float or a
 * bit for each query of a block. What the products pack is described as float32; others use the parts in their own way.
 */
typedef struct firn_attention_layout {
    size_t query_columns, gradient_columns; /* [panel][width][panel queries]: q and dy of a block */
    size_t query_rows, gradient_rows;       /* [block queries][width]: the same as rows */
    size_t sums;                            /* [block queries][width]: y or dq of a block */
    size_t chunk_sums; /* of unfinished chunks: [block queries][width] like sums, or [tile rows][block queries] of
                          scores */
    size_t lanes;      /* [run keys][block queries]: lanes of a sum over the keys */
    size_t drawn, transposed;        /* [block queries][run keys], [panel][run keys][panel queries]: random numbers */
    size_t kept;                     /* [rows]: bits, 1 where dropout keeps a probability */
    size_t scores, gradients;        /* [rows][block queries]: scores of a block and their gradients */
    size_t own;                      /* of the products alone */
    size_t keys, values;             /* [span][width] */
    size_t key_sums, value_sums;     /* [span][width]: dk and dv */
    size_t key_chunks, value_chunks; /* [span][width]: of the unfinished chunks */
    size_t head_key_sums, head_value_sums; /* [span][width]: of one query head, other than the first */
    size_t end;
} firn_attention_layout;

typedef struct firn_attention_job {
    firn_attention a;
    bool backward;
    float *projections; /* D of each query */
    size_t width;       /* floats of a packed row: the head's elements, padded to whole units */
    size_t span;        /* keys that the slot can hold packed */
    bool chunked;       /* at least one of the reductions is chunked */
    size_t parts;       /* parts of a head, each one piece */
    size_t part;        /* queries or keys in one part */
    bool one_pass;      /* a piece of keys is a whole key head and also computes the gradients of its queries */
    firn_attention_layout at;
} firn_attention_job;

/* A query head, and what is packed in the slot for it. */
typedef struct firn_attention_head {
    const firn_attention_job *job;
    const firn_attention *a;
    float *slot;
    size_t batch, query, key;          /* query head, and the key head it reads */
    size_t row;                        /* position of its first query in row_max and row_sum */
    size_t origin;                     /* key of the first row of scores */
    size_t reach;                      /* end of the keys of the piece */
    size_t packed_keys, packed_values; /* the first packed key and value */
    size_t packed_key_columns;         /* the first key packed transposed, where products do so */
} firn_attention_head;

/* A block of queries, and those keys of the piece that its last query sees. */
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

/* Returns the cost of this many products, in operations on elements (FIRN_GRAIN). */
uint64_t firn_attention_cost(const firn_attention_job *job, uint64_t products);

/* Lays out a slot of at most 4 MiB for pieces of keys, which have as many scores as keys, or for pieces of queries,
 * which have a score for each step. job->span becomes the number of keys that fit, at most all of them. Returns false
 * if not even one block of keys fits. */
bool firn_attention_lay_out(firn_attention_job *job, bool of_keys);

/* Returns the bytes of a slot that was laid out. */
static inline size_t firn_attention_scratch(const firn_attention_job *job) {
    return job->at.end * sizeof(float);
}

/* Divides heads of so many queries or keys (steps) into parts of whole blocks, at most `most` steps each, if the heads
 * alone would not keep all threads busy. Returns the number of pieces. */
size_t firn_attention_divide(firn_attention_job *job, size_t heads, size_t steps, size_t threads, size_t most);

/* Returns the number of the first head of a tensor whose rows, of so many heads each, begin with row `position`. The
 * rows before do not exist: the number is that head's modulo the range of size_t, so that elements of rows that exist
 * get the index that they have. */
static inline size_t firn_attention_first_head(size_t first, size_t position, size_t heads_of_row) {
    return first - position * heads_of_row;
}

/* --- the matrices of a head: [T][D], from the first step to the last ---------------------------------------------- */

static inline firn_matrix firn_attention_queries(const firn_attention_head *h) {
    return firn_attention_part(h->a, h->a->query, h->batch, h->query);
}

/* The heads that y holds, for rows that are numbered like the queries, from a->position on. */
static inline firn_attention_heads firn_attention_outputs(const firn_attention *a) {
    return (firn_attention_heads){a->y, firn_attention_first_head(0, a->position, a->heads)};
}

static inline firn_matrix firn_attention_keys(const firn_attention_head *h) {
    return firn_attention_part(h->a, h->a->key, h->batch, h->key);
}

static inline firn_matrix firn_attention_values(const firn_attention_head *h) {
    return firn_attention_part(h->a, h->a->value, h->batch, h->key);
}

static inline firn_matrix firn_attention_output_gradients(const firn_attention_head *h) {
    return firn_attention_part(h->a, (firn_attention_heads){h->a->y, 0}, h->batch, h->query);
}

/* --- heads and blocks --------------------------------------------------------------------------------------------- */

firn_attention_head firn_attention_head_of(const firn_attention_job *job, void *slot, size_t batch, size_t query_head);

/* Returns the head of a piece of queries, and in *begin and *end the range of its queries, numbered like the keys. */
firn_attention_head firn_attention_query_piece(const firn_attention_job *job, size_t piece, void *slot, size_t *begin,
                                               size_t *end);

/* Returns the block of queries that starts with `query`, and those of the keys [begin, end) that it sees. It ends at a
 * multiple of FIRN_BLOCK_QUERIES, so that no run of keys begins inside, or with the last query. */
firn_attention_block firn_attention_block_of(const firn_attention_head *h, size_t query, size_t begin, size_t end);

#endif
