/* Attention in vector registers; see attention.h. Work goes by blocks of queries, whose scores lie in memory as
 * [key][query] with the queries side by side in registers: softmax then needs nothing across lanes, and the block
 * is the left factor of the products with values and keys (a row is a query) as well as of those with queries and dy (a
 * row is a key). Heads are packed into the slot of the thread, widened to float32. Nothing of T x T is kept. */
#include "runtime/kernels/x86/attention.h"

#include "runtime/kernels/attention.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/x86/chunked.h"
#include "runtime/kernels/x86/convert.h"
#include "runtime/kernels/x86/exponential.h"
#include "runtime/kernels/x86/pack.h"
#include "runtime/kernels/x86/pieces.h"

enum {
    QUERIES = 32, /* of a block: as many terms have the sums of keys before they are stored again */
    VECTORS = QUERIES / FIRN_VECTOR,
    PANEL_VECTORS = 2, /* registers of columns of a tile */
    PANEL = PANEL_VECTORS * FIRN_VECTOR,
    HEIGHT = FIRN_VECTOR / 2, /* rows of a tile: half of the registers that there are hide the latency of a sum */
    RUN = FIRN_SUM_LANES,     /* keys that are worked on while they are in the first cache: one of each lane of a sum */
    SLOT = FIRN_SLOT_BYTES / sizeof(float)
};

/* Multiplications that take the time of one operation on an element (FIRN_GRAIN). */
enum { MULTIPLICATIONS = 16, CHUNKED_MULTIPLICATIONS = 2 };

/* Pieces for each thread where heads are too few to keep all of them busy. */
enum { PIECES = 4 };

static void clear(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = 0.0f;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* What some terms add to HEIGHT rows by one or two registers of columns of a product. Terms have an index in the whole
 * sum; row r has those up to index diagonal + r, or from it on, or all. */
typedef struct addend {
    const firn_reduction *reduction;
    const float *left; /* factor of (row, term) at row * row_step + term * term_step */
    size_t row_step, term_step;
    const float *right; /* factor of (term, column) at term * right_step + column */
    size_t right_step, columns;
    size_t first_term, terms;
    firn_terms present;
    size_t diagonal;   /* a row has some of the terms from here on, and the next rows too, or none has it */
    bool begins, ends; /* the sums begin at +0, else they go on from what is stored; no terms follow */
    float *sums;       /* of (row, column) at row * sums_step + column */
    float *chunk_sums; /* likewise, of the chunk that is not at its end; zeros where none is */
    size_t sums_step;
} addend;

/* The same for float32 sums. Rows have all `terms`, and of `edge` more some: behind the others row r has the first r +
 * 1 of them, or before the others it lacks the first r. */
typedef struct tile {
    const addend *addend;
    const float *left, *right; /* of the first term that any row has */
    size_t terms, edge;
} tile;

typedef firn_vector tile_sums[HEIGHT][PANEL_VECTORS];

/* One term for the rows [first, end). */
static inline __attribute__((always_inline)) void add_term(tile_sums sums, const size_t vectors, const float *left,
                                                           size_t row_step, const float *right, const size_t first,
                                                           const size_t end) {
    firn_vector line[PANEL_VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        line[v] = firn_vector_load(right + v * FIRN_VECTOR);
    FIRN_UNROLL
    for (size_t row = first; row < end; row++) {
        const firn_vector factor = firn_vector_fill(left[row * row_step]);
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_fma(factor, line[v], sums[row][v]);
    }
}

static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t vectors) {
    const addend *x = t->addend;
    const size_t row_step = x->row_step, term_step = x->term_step, right_step = x->right_step;
    const float *left = t->left, *right = t->right;
    tile_sums sums;
    FIRN_UNROLL
    for (size_t row = 0; row < HEIGHT; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] =
                x->begins ? firn_vector_zero() : firn_vector_load(x->sums + row * x->sums_step + v * FIRN_VECTOR);
    }
    if (x->present == FIRN_TERMS_FROM_DIAGONAL) {
        FIRN_UNROLL
        for (size_t term = 0; term < HEIGHT; term++) {
            if (term < t->edge)
                add_term(sums, vectors, left + term * term_step, row_step, right + term * right_step, 0, term + 1);
        }
        left += t->edge * term_step;
        right += t->edge * right_step;
    }
    for (size_t term = 0; term < t->terms; term++, left += term_step, right += right_step)
        add_term(sums, vectors, left, row_step, right, 0, HEIGHT);
    if (x->present == FIRN_TERMS_UP_TO_DIAGONAL) {
        FIRN_UNROLL
        for (size_t term = 0; term < HEIGHT; term++) {
            if (term < t->edge)
                add_term(sums, vectors, left + term * term_step, row_step, right + term * right_step, term, HEIGHT);
        }
    }
    FIRN_UNROLL
    for (size_t row = 0; row < HEIGHT; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(x->sums + row * x->sums_step + v * FIRN_VECTOR, sums[row][v]);
    }
}

static void multiply_narrow(const tile *t) {
    multiply_tile(t, 1);
}

static void multiply_wide(const tile *t) {
    multiply_tile(t, PANEL_VECTORS);
}

static void multiply_in_float32(const addend *x) {
    tile t = {.addend = x, .left = x->left, .right = x->right, .terms = x->terms};
    const size_t before = x->diagonal < x->first_term ? 0 : firn_smaller(x->diagonal - x->first_term, x->terms);
    if (x->present != FIRN_TERMS_ALL)
        t.edge = firn_smaller(HEIGHT, x->terms - before);
    if (x->present == FIRN_TERMS_UP_TO_DIAGONAL)
        t.terms = before;
    if (x->present == FIRN_TERMS_FROM_DIAGONAL) {
        t.left += before * x->term_step;
        t.right += before * x->right_step;
        t.terms -= before + t.edge;
    }
    if (x->columns > FIRN_VECTOR)
        multiply_wide(&t);
    else
        multiply_narrow(&t);
}

static void multiply_in_chunks(const addend *x) {
    for (size_t row = 0; x->begins && row < HEIGHT; row++)
        clear(x->sums + row * x->sums_step, x->columns);
    const firn_chunked_tile tile = {.accumulator = x->reduction->accumulator,
                                    .chunk = x->reduction->chunk,
                                    .left = x->left,
                                    .left_row_step = x->row_step,
                                    .left_term_step = x->term_step,
                                    .right = x->right,
                                    .right_step = x->right_step,
                                    .rows = HEIGHT,
                                    .columns = x->columns,
                                    .terms = x->terms,
                                    .first_term = x->first_term,
                                    .ends = x->ends,
                                    .present = x->present,
                                    .diagonal = x->diagonal,
                                    .sums = x->chunk_sums,
                                    .totals = x->sums,
                                    .step = x->sums_step};
    firn_chunked_tile_add(&tile);
}

static void multiply(const addend *x) {
    if (x->reduction->kind == FIRN_REDUCTION_F32)
        multiply_in_float32(x);
    else
        multiply_in_chunks(x);
}

/* --- what a piece of work has in its slot ------------------------------------------------------------------------- */

/* Where each thing lies in the slot, in floats. */
typedef struct layout {
    size_t query_columns, gradient_columns; /* [panel][D][PANEL]: q and dy of a block */
    size_t query_rows, gradient_rows;       /* [QUERIES][width]: the same */
    size_t sums, chunk_sums;                /* [QUERIES][width]: y or dq of a block */
    size_t lanes;                           /* [RUN][QUERIES]: of a sum over the keys */
    size_t drawn, transposed;               /* [QUERIES][RUN] and [panel][RUN][PANEL]: random numbers */
    size_t kept;                            /* [rows]: a bit for each query of a block, 1 where dropout keeps it */
    size_t scores, gradients;               /* [rows][QUERIES]: of a block */
    size_t keys, values;                    /* [span][width] */
    size_t key_sums, value_sums;            /* [span][width]: dk and dv */
    size_t key_chunks, value_chunks;        /* [span][width]: of the chunks that are not at their end */
    size_t head_key_sums, head_value_sums;  /* [span][width]: of a query head, unless it is the first */
} layout;

typedef struct job {
    firn_attention a;
    const firn_tensor *dy, *out; /* out: y, or the gradient of qkv */
    const float *row_max, *row_sum;
    float *new_row_max, *new_row_sum;
    float *projections; /* D of each query */
    size_t width;       /* floats of a packed row: D, and what fills up its last register */
    size_t span;        /* keys that can be packed at a time */
    bool chunked;       /* one of the reductions is */
    size_t parts;       /* of a head, each a piece of work */
    size_t part;        /* queries or keys of a part */
    bool whole;         /* the gradients of keys are found a whole head at a time, and those of queries with them */
    layout at;
} job;

/* A query head, and what is packed for it. */
typedef struct desk {
    const job *job;
    const firn_attention *a;
    float *slot;
    size_t batch, head, key_head;
    size_t row;                        /* of its first query in row_max and row_sum */
    size_t origin;                     /* key of the first row of scores */
    size_t reach;                      /* where the keys of the piece end */
    size_t packed_keys, packed_values; /* the first key of those that are packed */
} desk;

static const size_t nothing_packed = SIZE_MAX;

/* A block of queries, and the keys that the last of them sees among those of the piece. */
typedef struct block {
    size_t query, count;
    size_t begin, end;
    _Alignas(64) float row_max[QUERIES], row_sum[QUERIES], projections[QUERIES];
} block;

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

static size_t claim(size_t *end, size_t floats) {
    const size_t at = *end;
    *end += round_up(floats, FIRN_VECTOR);
    return at;
}

/* Things of the size of the packed keys. */
typedef struct key_matrices {
    size_t *place[8];
    size_t count;
} key_matrices;

static void add_pair(key_matrices *matrices, size_t *of_keys, size_t *of_values) {
    matrices->place[matrices->count++] = of_keys;
    matrices->place[matrices->count++] = of_values;
}

/* Lays out a slot for pieces of keys, which have as many scores as keys, or for pieces of queries, which have a score
 * for each step. How many keys fit is in job->span, at most all of them; false when not even a block does. */
static bool lay_out(job *job, bool of_keys) {
    const size_t size = job->a.size, width = round_up(size, FIRN_VECTOR), steps = round_up(job->a.steps, QUERIES);
    const size_t blocks = job->dy != NULL ? 2 : 1, score_row = blocks * QUERIES + 1;
    layout *at = &job->at;
    key_matrices matrices = {.count = 0};
    size_t end = 0;
    add_pair(&matrices, &at->keys, &at->values);
    if (of_keys)
        add_pair(&matrices, &at->key_sums, &at->value_sums);
    if (of_keys && job->chunked)
        add_pair(&matrices, &at->key_chunks, &at->value_chunks);
    if (of_keys && job->a.group > 1)
        add_pair(&matrices, &at->head_key_sums, &at->head_value_sums);
    job->width = width;
    at->query_columns = claim(&end, size * QUERIES);
    at->gradient_columns = claim(&end, size * QUERIES);
    at->query_rows = claim(&end, QUERIES * width);
    at->gradient_rows = claim(&end, QUERIES * width);
    at->sums = claim(&end, QUERIES * width);
    at->chunk_sums = claim(&end, QUERIES * width);
    at->lanes = claim(&end, (size_t)RUN * QUERIES);
    at->drawn = claim(&end, (size_t)QUERIES * RUN);
    at->transposed = claim(&end, (size_t)RUN * QUERIES);
    const size_t fixed = end + (of_keys ? 0 : steps * score_row), per_key = matrices.count * width;
    if (fixed >= SLOT)
        return false;
    job->span = firn_smaller((SLOT - fixed) / (per_key + (of_keys ? score_row : 0)) / QUERIES * QUERIES, steps);
    const size_t rows = of_keys ? job->span : steps;
    at->kept = claim(&end, rows);
    at->scores = claim(&end, rows * QUERIES);
    at->gradients = claim(&end, (blocks - 1) * rows * QUERIES);
    for (size_t i = 0; i < matrices.count; i++)
        *matrices.place[i] = claim(&end, job->span * width);
    return job->span > 0;
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Rows of a head's matrix, widened; columns and rows that fill up are zeros. */
static inline __attribute__((always_inline)) void widen_rows(const job *job, float *out, const firn_matrix *from,
                                                             uint8_t type, size_t first, size_t rows) {
    const size_t size = job->a.size, width = job->width;
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < width; column += FIRN_VECTOR)
            firn_vector_store(out + row * width + column,
                              firn_vector_widen(from->data, type, from->first + (first + row) * from->row_step + column,
                                                firn_first_lanes(size - column)));
    clear(out + rows * width, (round_up(rows, HEIGHT) - rows) * width);
}

static void pack_rows(const job *job, float *out, const firn_matrix *from, size_t first, size_t rows) {
    switch (from->type) {
    case FIRN_FLOAT16:
        widen_rows(job, out, from, FIRN_FLOAT16, first, rows);
        break;
    case FIRN_BFLOAT16:
        widen_rows(job, out, from, FIRN_BFLOAT16, first, rows);
        break;
    case FIRN_CBFLOAT16:
        widen_rows(job, out, from, FIRN_CBFLOAT16, first, rows);
        break;
    default:
        widen_rows(job, out, from, FIRN_FLOAT32, first, rows);
        break;
    }
}

static void pack_columns(const job *job, float *out, const firn_matrix *from, const block *b) {
    const firn_matrix columns = firn_transposed(*from);
    for (size_t query = 0; query < b->count; query += PANEL)
        firn_vector_pack(out + query * job->a.size, PANEL_VECTORS, &columns, 0, job->a.size, b->query + query,
                         firn_smaller(PANEL, b->count - query));
}

/* Part `number` of qkv from key `first` on, as far as the piece reaches and memory allows. */
static const float *pack_part(const desk *d, size_t number, size_t first, float *out, size_t *packed) {
    const firn_matrix part = firn_attention_part(d->a, d->a->qkv, d->batch, number);
    if (*packed != first)
        pack_rows(d->job, out, &part, first, firn_smaller(d->job->span, d->reach - first));
    *packed = first;
    return out;
}

static const float *pack_keys(desk *d, size_t first) {
    return pack_part(d, firn_attention_key_part(d->a, d->key_head), first, d->slot + d->job->at.keys, &d->packed_keys);
}

static const float *pack_values(desk *d, size_t first) {
    return pack_part(d, firn_attention_value_part(d->a, d->key_head), first, d->slot + d->job->at.values,
                     &d->packed_values);
}

/* --- the products of a block -------------------------------------------------------------------------------------- */

/* out[key][query] = rows[key] . columns[][query] for the keys [begin, end); rows are packed from key `begin` on. */
static void multiply_rows(const desk *d, const block *b, size_t reduction, float *out, const float *rows,
                          const float *columns, size_t begin, size_t end) {
    addend x = {.reduction = &d->a->call->reductions[reduction],
                .row_step = d->job->width,
                .term_step = 1,
                .right_step = PANEL,
                .terms = d->a->size,
                .present = FIRN_TERMS_ALL,
                .begins = true,
                .ends = true,
                .chunk_sums = d->slot + d->job->at.chunk_sums,
                .sums_step = QUERIES};
    for (size_t key = begin; key < end; key += HEIGHT) {
        /* The first registers of queries may come before these keys. */
        const size_t skip = d->a->causal && key > b->query ? (key - b->query) / FIRN_VECTOR * FIRN_VECTOR : 0;
        x.left = rows + (key - begin) * d->job->width;
        for (size_t query = skip; query < b->count; query += x.columns) {
            x.right = columns + (query - query % PANEL) * d->a->size + query % PANEL;
            x.sums = out + (key - d->origin) * QUERIES + query;
            x.columns = PANEL - query % PANEL;
            multiply(&x);
        }
    }
}

/* The panels of a product whose columns are the elements of a head. */
static void multiply_across(const desk *d, addend *x) {
    const float *right = x->right;
    float *sums = x->sums, *chunk_sums = x->chunk_sums;
    for (size_t column = 0; column < d->job->width; column += PANEL) {
        x->right = right + column;
        x->sums = sums + column;
        x->chunk_sums = chunk_sums + column;
        x->columns = firn_smaller(PANEL, d->job->width - column);
        multiply(x);
    }
}

/* sums[query] = weights[][query] . rows[] over the keys [begin, end) that the query sees, added to those before; rows
 * are packed from key `begin` on. */
static void add_run_of_keys(const desk *d, const block *b, size_t reduction, const float *weights, const float *rows,
                            size_t begin, size_t end) {
    const size_t width = d->job->width;
    for (size_t row = 0; row < b->count; row += HEIGHT) {
        addend x = {.reduction = &d->a->call->reductions[reduction],
                    .left = weights + (begin - d->origin) * QUERIES + row,
                    .row_step = 1,
                    .term_step = QUERIES,
                    .right = rows,
                    .right_step = width,
                    .first_term = begin,
                    .terms = end - begin,
                    .present = d->a->causal ? FIRN_TERMS_UP_TO_DIAGONAL : FIRN_TERMS_ALL,
                    .diagonal = b->query + row,
                    .begins = begin == 0,
                    .ends = end == b->end,
                    .sums = d->slot + d->job->at.sums + row * width,
                    .chunk_sums = d->slot + d->job->at.chunk_sums + row * width,
                    .sums_step = width};
        multiply_across(d, &x);
    }
}

/* The same a run at a time: while it is in the first cache, all rows and columns of the sums pass by. */
static void add_keys(const desk *d, const block *b, size_t reduction, const float *weights, const float *rows,
                     size_t begin, size_t end) {
    for (size_t key = begin; key < end; key += RUN)
        add_run_of_keys(d, b, reduction, weights, rows + (key - begin) * d->job->width, key,
                        firn_smaller(end, key + RUN));
}

/* sums[key] = weights[key][] . rows[] over the queries of the block that see the key, added to those before. */
static void add_queries(const desk *d, const block *b, size_t reduction, const float *weights, const float *rows,
                        float *sums, float *chunk_sums) {
    const size_t width = d->job->width;
    for (size_t key = b->begin; key < b->end; key += HEIGHT) {
        addend x = {.reduction = &d->a->call->reductions[reduction],
                    .left = weights + (key - d->origin) * QUERIES,
                    .row_step = QUERIES,
                    .term_step = 1,
                    .right = rows,
                    .right_step = width,
                    .first_term = b->query,
                    .terms = b->count,
                    .present = d->a->causal && key >= b->query ? FIRN_TERMS_FROM_DIAGONAL : FIRN_TERMS_ALL,
                    .diagonal = key,
                    .begins = d->a->causal ? key >= b->query : b->query == 0,
                    .ends = b->query + b->count == d->a->steps,
                    .sums_step = width};
        x.sums = sums + (key - d->origin) * width;
        x.chunk_sums = chunk_sums + (key - d->origin) * width;
        multiply_across(d, &x);
    }
}

static inline __attribute__((always_inline)) void narrow_rows(const desk *d, void *out, uint8_t type,
                                                              const firn_matrix *part, size_t first, size_t rows,
                                                              const float *sums, float factor) {
    const size_t size = d->a->size, width = d->job->width;
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < width; column += FIRN_VECTOR) {
            const firn_vector sum = firn_vector_load(sums + row * width + column);
            const firn_vector x = firn_vector_canonical(firn_vector_multiply(sum, firn_vector_fill(factor)));
            firn_vector_narrow(out, type, part->first + (first + row) * part->row_step + column,
                               firn_first_lanes(size - column), x);
        }
}

/* factor * sums[row] for `rows` rows of a part of a tensor, from row `first` on, rounded once. */
static void store_rows(const desk *d, const firn_tensor *out, size_t number, size_t first, size_t rows,
                       const float *sums, float factor) {
    const firn_matrix part = firn_attention_part(d->a, out, d->batch, number);
    switch (out->type) {
    case FIRN_FLOAT16:
        narrow_rows(d, out->data, FIRN_FLOAT16, &part, first, rows, sums, factor);
        break;
    case FIRN_BFLOAT16:
        narrow_rows(d, out->data, FIRN_BFLOAT16, &part, first, rows, sums, factor);
        break;
    case FIRN_CBFLOAT16:
        narrow_rows(d, out->data, FIRN_CBFLOAT16, &part, first, rows, sums, factor);
        break;
    default:
        narrow_rows(d, out->data, FIRN_FLOAT32, &part, first, rows, sums, factor);
        break;
    }
}

/* --- elements of a block: rows of QUERIES, one row for each key --------------------------------------------------- */

/* The queries of a block that see a key, as a bit each. */
static uint32_t seeing(const desk *d, const block *b, size_t key) {
    return d->a->causal && key > b->query ? ~0u << (key - b->query) : ~0u;
}

static inline firn_mask half_of(uint32_t queries, size_t v) {
    return firn_mask_from_bits(queries >> (v * FIRN_VECTOR));
}

/* Scores as the softmax takes them. */
static void scale_scores(const firn_attention *a, float *x, size_t rows) {
    const float scale = a->scale;
    for (size_t i = 0; i < rows * QUERIES; i++)
        x[i] *= scale;
    firn_block_round(a->softmax_type, x, rows * QUERIES);
}

/* e^(score - maximum) */
static void exponentials(const firn_attention *a, float *x, const float maxima[QUERIES], size_t rows) {
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < QUERIES; i += FIRN_VECTOR) {
            float *at = x + row * QUERIES + i;
            const firn_vector score = firn_vector_load(at);
            firn_vector_store(at, firn_vector_exp(score - firn_vector_load(maxima + i)));
        }
    firn_block_round(a->softmax_type, x, rows * QUERIES);
}

static void normalise(const firn_attention *a, float *x, const float sums[QUERIES], size_t rows) {
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < QUERIES; i += FIRN_VECTOR) {
            float *at = x + row * QUERIES + i;
            firn_vector_store(at, firn_vector_load(at) / firn_vector_load(sums + i));
        }
    firn_block_round(a->qkv->type, x, rows * QUERIES);
}

/* The largest of the scores that each query sees, NaN where one of them is. */
static void find_maxima(const desk *d, const block *b, const float *x, float maxima[QUERIES]) {
    firn_vector largest[VECTORS];
    firn_mask has_nan[VECTORS];
    for (size_t v = 0; v < VECTORS; v++) {
        largest[v] = firn_vector_fill(-__builtin_inff());
        has_nan[v] = firn_mask_from_bits(0);
    }
    for (size_t key = b->begin; key < b->end; key++, x += QUERIES) {
        const uint32_t queries = seeing(d, b, key);
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const firn_vector score = firn_vector_load(x + v * FIRN_VECTOR);
            const firn_mask mask = half_of(queries, v);
            largest[v] = firn_vector_select(mask, firn_vector_maximum(score, largest[v]), largest[v]);
            has_nan[v] |= mask & firn_vector_is_nan(score);
        }
    }
    const firn_vector nan = firn_vector_fill(firn_from_bits(FIRN_NAN_BITS));
    for (size_t v = 0; v < VECTORS; v++) {
        largest[v] = firn_vector_add(largest[v], firn_vector_zero());
        firn_vector_store(maxima + v * FIRN_VECTOR, firn_vector_select(has_nan[v], nan, largest[v]));
    }
}

/* --- sums over the keys that a query sees: NUMERICS.md, "Other sums" ---------------------------------------------- */

typedef struct key_sum {
    float *lanes; /* [RUN][QUERIES] */
    _Alignas(64) float totals[QUERIES];
} key_sum;

static key_sum begin_sum(const desk *d) {
    key_sum sum = {.lanes = d->slot + d->job->at.lanes};
    clear(sum.lanes, (size_t)RUN * QUERIES);
    return sum;
}

/* A lane of the sum is a row of floats here. */
static void fold(key_sum *sum) {
    for (size_t half = RUN / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half * QUERIES; i++)
            sum->lanes[i] += sum->lanes[half * QUERIES + i];
    for (size_t i = 0; i < QUERIES; i++)
        sum->totals[i] += sum->lanes[i];
}

/* The terms of a run of keys, whose first is a multiple of RUN: x[key][query], times y[key][query] where that is given.
 */
static void add_run(const desk *d, const block *b, key_sum *sum, size_t first, size_t rows, const float *x,
                    const float *y) {
    for (size_t row = 0; row < rows; row++) {
        const uint32_t queries = seeing(d, b, first + row);
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t at = row * QUERIES + v * FIRN_VECTOR;
            const firn_vector lane = firn_vector_load(sum->lanes + at);
            firn_vector term = firn_vector_load(x + at);
            if (y != NULL)
                term = firn_vector_multiply(term, firn_vector_load(y + at));
            firn_vector_store(sum->lanes + at, firn_vector_select(half_of(queries, v), lane + term, lane));
        }
    }
    if ((first + RUN) % FIRN_SUM_BLOCK != 0)
        return;
    fold(sum);
    clear(sum->lanes, (size_t)RUN * QUERIES);
}

/* A query without elements in the last block has +0 there, which changes nothing: no total is ever -0. */
static void end_sum(key_sum *sum, float out[QUERIES]) {
    fold(sum);
    for (size_t i = 0; i < QUERIES; i++)
        out[i] = firn_canonical(sum->totals[i]);
}

/* --- dropout ------------------------------------------------------------------------------------------------------ */

/* Which probabilities of a run of keys are kept. They are drawn by query, because neighbours in the order of random
 * numbers are keys. */
static uint32_t *draw(const desk *d, const block *b, size_t first, size_t rows) {
    const firn_attention *a = d->a;
    float *drawn = d->slot + d->job->at.drawn, *transposed = d->slot + d->job->at.transposed;
    uint32_t *kept = (uint32_t *)(void *)(d->slot + d->job->at.kept) + (first - d->origin);
    const firn_matrix by_key = {drawn, FIRN_FLOAT32, 0, 1, RUN};
    if (a->dropout_rate == 0.0f)
        return kept;
    for (size_t i = 0; i < b->count; i++)
        firn_random_uniform_many(drawn + i * RUN, &a->rng, firn_attention_element(a, d->row + b->query + i, first),
                                 rows);
    for (size_t query = 0; query < b->count; query += PANEL)
        firn_vector_pack(transposed + query * RUN, PANEL_VECTORS, &by_key, 0, rows, query,
                         firn_smaller(PANEL, b->count - query));
    const firn_vector rate = firn_vector_fill(a->dropout_rate);
    for (size_t row = 0; row < rows; row++) {
        kept[row] = 0;
        for (size_t query = 0; query < QUERIES; query += FIRN_VECTOR) {
            const float *numbers = transposed + (query - query % PANEL) * RUN + row * PANEL + query % PANEL;
            kept[row] |= firn_mask_to_bits(firn_vector_is_at_least(firn_vector_load(numbers), rate)) << query;
        }
    }
    return kept;
}

/* What is kept times 1 / (1 - rate), +0 for the rest. */
static void drop(const firn_attention *a, float *x, const uint32_t *kept, size_t rows) {
    const firn_vector factor = firn_vector_fill(1.0f / (1.0f - a->dropout_rate));
    if (a->dropout_rate == 0.0f)
        return;
    for (size_t row = 0; row < rows; row++)
        for (size_t v = 0; v < VECTORS; v++) {
            float *at = x + row * QUERIES + v * FIRN_VECTOR;
            firn_vector_store(at, firn_vector_keep(half_of(kept[row], v), firn_vector_load(at) * factor));
        }
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The block of queries from `query` on, with those of the keys [begin, end) that it sees. */
static block block_of(const desk *d, size_t query, size_t begin, size_t end) {
    block b = {.query = query, .count = firn_smaller(QUERIES, d->a->steps - query), .begin = begin, .end = end};
    if (d->a->causal)
        b.end = firn_smaller(end, query + b.count);
    return b;
}

static desk desk_of(const job *job, void *slot, size_t batch, size_t head) {
    desk d = {.job = job, .a = &job->a, .slot = slot, .batch = batch, .head = head};
    d.key_head = head / job->a.group;
    d.row = firn_attention_row(&job->a, batch, head);
    d.reach = job->a.steps;
    d.packed_keys = d.packed_values = nothing_packed;
    if (job->chunked)
        clear(d.slot + job->at.chunk_sums, QUERIES * job->width);
    return d;
}

static void multiply_scores(desk *d, const block *b) {
    float *slot = d->slot, *columns = slot + d->job->at.query_columns;
    const firn_matrix queries = firn_attention_part(d->a, d->a->qkv, d->batch, d->head);
    pack_columns(d->job, columns, &queries, b);
    for (size_t key = b->begin; key < b->end; key += d->job->span)
        multiply_rows(d, b, 0, slot + d->job->at.scores, pack_keys(d, key), columns, key,
                      firn_smaller(b->end, key + d->job->span));
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void softmax(const desk *d, block *b) {
    const firn_attention *a = d->a;
    float *scores = d->slot + d->job->at.scores;
    key_sum sum = begin_sum(d);
    scale_scores(a, scores, b->end);
    find_maxima(d, b, scores, b->row_max);
    for (size_t key = 0; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key);
        exponentials(a, scores + key * QUERIES, b->row_max, rows);
        add_run(d, b, &sum, key, rows, scores + key * QUERIES, NULL);
    }
    end_sum(&sum, b->row_sum);
    for (size_t key = 0; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key);
        normalise(a, scores + key * QUERIES, b->row_sum, rows);
        drop(a, scores + key * QUERIES, draw(d, b, key, rows), rows);
        if (a->dropout_rate != 0.0f)
            firn_block_round(a->qkv->type, scores + key * QUERIES, rows * QUERIES);
    }
}

static void forward_block(desk *d, size_t query) {
    const job *job = d->job;
    block b = block_of(d, query, 0, d->reach);
    multiply_scores(d, &b);
    softmax(d, &b);
    for (size_t i = 0; i < b.count; i++) {
        job->new_row_max[d->row + query + i] = b.row_max[i];
        job->new_row_sum[d->row + query + i] = b.row_sum[i];
    }
    for (size_t key = 0; key < b.end; key += job->span)
        add_keys(d, &b, 1, d->slot + job->at.scores, pack_values(d, key), key, firn_smaller(b.end, key + job->span));
    store_rows(d, job->out, d->head, query, b.count, d->slot + job->at.sums, 1.0f);
}

/* A part of a query head. */
static desk query_desk(const job *job, size_t piece, void *slot, size_t *begin, size_t *end) {
    const size_t head = piece / job->parts, part = piece % job->parts;
    desk d = desk_of(job, slot, head / job->a.heads, head % job->a.heads);
    *begin = part * job->part;
    *end = firn_smaller(*begin + job->part, job->a.steps);
    if (job->a.causal)
        d.reach = *end;
    return d;
}

static void forward_piece(void *argument, size_t piece, void *slot) {
    size_t begin, end;
    desk d = query_desk(argument, piece, slot, &begin, &end);
    for (size_t query = begin; query < end; query += QUERIES)
        forward_block(&d, query);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Scores and products of dy and values become probabilities and gradients of them, and D is found where the block has
 * all keys. */
static void probability_gradients(const desk *d, block *b, bool whole) {
    const firn_attention *a = d->a;
    key_sum sum = begin_sum(d);
    for (size_t key = b->begin; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key), at = (key - d->origin) * QUERIES;
        float *p = d->slot + d->job->at.scores + at, *gradient = d->slot + d->job->at.gradients + at;
        scale_scores(a, p, rows);
        exponentials(a, p, b->row_max, rows);
        normalise(a, p, b->row_sum, rows);
        drop(a, gradient, draw(d, b, key, rows), rows);
        if (whole)
            add_run(d, b, &sum, key, rows, p, gradient);
    }
    if (whole)
        end_sum(&sum, b->projections);
}

/* Gradients of probabilities become those of scores, and probabilities are dropped. */
static void score_gradients(const desk *d, const block *b) {
    const firn_attention *a = d->a;
    const uint32_t *kept = (const uint32_t *)(const void *)(d->slot + d->job->at.kept);
    for (size_t key = b->begin; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key), at = (key - d->origin) * QUERIES;
        float *p = d->slot + d->job->at.scores + at, *gradient = d->slot + d->job->at.gradients + at;
        for (size_t i = 0; i < rows * QUERIES; i += FIRN_VECTOR) {
            const firn_vector projection = firn_vector_load(b->projections + i % QUERIES);
            firn_vector_store(gradient + i, firn_vector_load(p + i) * (firn_vector_load(gradient + i) - projection));
        }
        firn_block_round(a->qkv->type, gradient, rows * QUERIES);
        if (a->dropout_rate == 0.0f)
            continue;
        drop(a, p, kept + (key - d->origin), rows);
        firn_block_round(a->qkv->type, p, rows * QUERIES);
    }
}

/* Queries that are not there have any numbers but 0 / 0. */
static void load_saved(const desk *d, block *b, bool whole) {
    for (size_t i = 0; i < QUERIES; i++) {
        const size_t row = d->row + b->query + firn_smaller(i, b->count - 1);
        b->row_max[i] = d->job->row_max[row];
        b->row_sum[i] = d->job->row_sum[row];
        b->projections[i] = whole ? 0.0f : d->job->projections[row];
    }
}

/* Everything of a block of queries and its keys up to the gradients of the scores. whole: it has all keys, so that D
 * can be found; else it was found before. */
static block gradient_block(desk *d, size_t query, size_t begin, size_t end, bool whole) {
    const job *job = d->job;
    const layout *at = &job->at;
    const firn_matrix dy = firn_attention_part(d->a, job->dy, d->batch, d->head);
    block b = block_of(d, query, begin, end);
    load_saved(d, &b, whole);
    multiply_scores(d, &b);
    pack_columns(job, d->slot + at->gradient_columns, &dy, &b);
    for (size_t key = begin; key < b.end; key += job->span)
        multiply_rows(d, &b, 1, d->slot + at->gradients, pack_values(d, key), d->slot + at->gradient_columns, key,
                      firn_smaller(b.end, key + job->span));
    probability_gradients(d, &b, whole);
    for (size_t i = 0; whole && i < b.count; i++)
        job->projections[d->row + query + i] = b.projections[i];
    score_gradients(d, &b);
    return b;
}

/* dq_i = scale sum_j dS_ij k_j */
static void store_query_gradient(desk *d, const block *b) {
    const job *job = d->job;
    for (size_t key = 0; key < b->end; key += job->span)
        add_keys(d, b, 2, d->slot + job->at.gradients, pack_keys(d, key), key, firn_smaller(b->end, key + job->span));
    store_rows(d, job->out, d->head, b->query, b->count, d->slot + job->at.sums, d->a->scale);
}

/* dk_j = scale sum_i dS_ij q_i;  dv_j = sum_i P_ij dy_i */
static void add_key_gradients(const desk *d, const block *b, float *key_sums, float *value_sums) {
    const layout *at = &d->job->at;
    float *slot = d->slot;
    const firn_matrix queries = firn_attention_part(d->a, d->a->qkv, d->batch, d->head);
    const firn_matrix dy = firn_attention_part(d->a, d->job->dy, d->batch, d->head);
    pack_rows(d->job, slot + at->query_rows, &queries, b->query, b->count);
    pack_rows(d->job, slot + at->gradient_rows, &dy, b->query, b->count);
    add_queries(d, b, 2, slot + at->gradients, slot + at->query_rows, key_sums, slot + at->key_chunks);
    add_queries(d, b, 1, slot + at->scores, slot + at->gradient_rows, value_sums, slot + at->value_chunks);
}

static void add(float *restrict total, const float *restrict x, size_t count) {
    for (size_t i = 0; i < count; i++)
        total[i] += x[i];
}

/* Gradients of the keys [begin, end) of a key head and of their values; of a whole head, gradients of the queries too.
 * What the first query head gives is what the others are added to. */
static void key_range(const job *job, float *slot, size_t batch, size_t key_head, size_t begin, size_t end) {
    const firn_attention *a = &job->a;
    const layout *at = &job->at;
    const size_t floats = round_up(end - begin, HEIGHT) * job->width;
    if (job->chunked) {
        clear(slot + at->key_chunks, floats);
        clear(slot + at->value_chunks, floats);
    }
    desk d = desk_of(job, slot, batch, key_head * a->group);
    d.origin = begin;
    d.reach = end;
    for (size_t member = 0; member < a->group; member++) {
        float *key_sums = slot + (member == 0 ? at->key_sums : at->head_key_sums);
        float *value_sums = slot + (member == 0 ? at->value_sums : at->head_value_sums);
        d.head = key_head * a->group + member;
        d.row = firn_attention_row(a, batch, d.head);
        for (size_t query = a->causal ? begin : 0; query < a->steps; query += QUERIES) {
            const block b = gradient_block(&d, query, begin, end, job->whole);
            if (job->whole)
                store_query_gradient(&d, &b);
            add_key_gradients(&d, &b, key_sums, value_sums);
        }
        if (member > 0) {
            add(slot + at->key_sums, key_sums, floats);
            add(slot + at->value_sums, value_sums, floats);
        }
    }
    store_rows(&d, job->out, firn_attention_key_part(a, key_head), begin, end - begin, slot + at->key_sums, a->scale);
    store_rows(&d, job->out, firn_attention_value_part(a, key_head), begin, end - begin, slot + at->value_sums, 1.0f);
}

static void key_piece(void *argument, size_t piece, void *slot) {
    const job *job = argument;
    const size_t head = piece / job->parts, begin = piece % job->parts * job->part;
    key_range(job, slot, head / job->a.kv_heads, head % job->a.kv_heads, begin,
              firn_smaller(begin + job->part, job->a.steps));
}

static void query_piece(void *argument, size_t piece, void *slot) {
    size_t begin, end;
    desk d = query_desk(argument, piece, slot, &begin, &end);
    for (size_t query = begin; query < end; query += QUERIES) {
        const block b = gradient_block(&d, query, 0, d.reach, true);
        store_query_gradient(&d, &b);
    }
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Operations on elements of so many products of a call. */
static uint64_t cost_of(const job *job, uint64_t products) {
    const firn_attention *a = &job->a;
    const uint64_t pairs = (uint64_t)a->batch * a->heads * a->steps * a->steps / (a->causal ? 2 : 1);
    return products * pairs * a->size / (job->chunked ? CHUNKED_MULTIPLICATIONS : MULTIPLICATIONS);
}

static bool is_chunked(const firn_kernel_call *call, size_t reductions) {
    for (size_t i = 0; i < reductions; i++)
        if (call->reductions[i].kind != FIRN_REDUCTION_F32)
            return true;
    return false;
}

/* Cuts heads into parts of whole blocks, `most` steps or fewer, where the heads alone would not keep all threads busy.
 * Returns the pieces. */
static size_t divide(job *job, size_t heads, size_t threads, size_t most) {
    const size_t steps = job->a.steps, blocks = round_up(steps, QUERIES) / QUERIES;
    size_t parts = threads < 2 || heads >= PIECES * threads ? 1 : round_up(PIECES * threads, heads) / heads;
    parts = firn_smaller(parts, blocks);
    job->part = firn_smaller(round_up(blocks, parts) / parts * QUERIES, most);
    job->parts = round_up(steps, job->part) / job->part;
    return heads * job->parts;
}

void firn_vector_attention(const firn_kernel_call *call) {
    job work = {.a = firn_attention_of(call, &call->inputs[0]), .out = &call->outputs[0]};
    work.chunked = is_chunked(call, 2);
    work.new_row_max = call->outputs[1].data;
    work.new_row_sum = call->outputs[2].data;
    const uint64_t cost = cost_of(&work, 2);
    const size_t threads = firn_parallel_threads(&call->parallel, cost), heads = work.a.batch * work.a.heads;
    if (!lay_out(&work, false))
        firn_kernel_attention(call);
    else
        firn_pieces_run(call, divide(&work, heads, threads, SIZE_MAX), cost, forward_piece, &work);
}

/* Whether whole key heads, which need five products, are done sooner than queries and keys apart, which need seven but
 * keep all threads busy. */
static bool whole_heads_are_sooner(const firn_attention *a, size_t threads) {
    const size_t heads = a->batch * a->kv_heads;
    return 5 * round_up(heads, threads) <= 7 * heads;
}

void firn_vector_attention_backward(const firn_kernel_call *call) {
    job by_key = {.a = firn_attention_of(call, &call->inputs[1]), .dy = &call->inputs[0], .out = &call->outputs[0]};
    const firn_attention *a = &by_key.a;
    by_key.chunked = is_chunked(call, 3);
    by_key.row_max = call->inputs[2].data;
    by_key.row_sum = call->inputs[3].data;
    by_key.projections = call->outputs[1].data; /* nothing else of the scratch is used */
    job by_query = by_key;
    const uint64_t cost = cost_of(&by_key, 5);
    const size_t threads = firn_parallel_threads(&call->parallel, cost), heads = a->batch * a->kv_heads;
    if (!lay_out(&by_key, true) || !lay_out(&by_query, false)) {
        firn_kernel_attention_backward(call);
    } else if (by_key.span >= a->steps && whole_heads_are_sooner(a, threads)) {
        by_key.whole = true;
        firn_pieces_run(call, divide(&by_key, heads, 1, SIZE_MAX), cost, key_piece, &by_key);
    } else {
        firn_pieces_run(call, divide(&by_query, a->batch * a->heads, threads, SIZE_MAX), cost, query_piece, &by_query);
        firn_pieces_run(call, divide(&by_key, heads, threads, by_key.span), cost, key_piece, &by_key);
    }
}
