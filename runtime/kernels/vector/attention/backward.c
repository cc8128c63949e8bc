/* The gradient of attention, for a block of queries at a time; see attention.h. s and p are computed again as in
 * forward.c, from the maxima and sums that it saved; the gradient of a dropped probability is 0.
 *
 *     dp_ij = dy_i . v_j
 *     D_i   = sum_j p_ij dp_ij
 *     ds_ij = p_ij (dp_ij - D_i)
 *     dq_i  = scale sum_j ds_ij k_j   over the keys j that query i sees
 *     dk_j  = scale sum_i ds_ij q_i   over the queries i that see key j
 *     dv_j  = sum_i p_ij dy_i         likewise
 *
 * If whole heads keep all threads busy, a piece is a key head, and one pass computes everything; otherwise queries are
 * processed first, and keys afterwards, which use the D of the queries. plan/NUMERICS.md specifies rounding and order.
 */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/attention/products.h"
#include "runtime/kernels/vector/attention/scores.h"
#include "runtime/kernels/vector/attention/stores.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/pieces.h"

enum { QUERIES = FIRN_BLOCK_QUERIES, RUN = FIRN_RUN_KEYS, ROWS = FIRN_ATTENTION_TILE_ROWS };

typedef firn_attention_head head;
typedef firn_attention_block block;
typedef firn_attention_job job;

/* --- gradients of the scores -------------------------------------------------------------------------------------- */

/* Lanes beyond the last query repeat its values, which avoids 0 / 0. */
static void load_saved(const head *h, block *b, bool all_keys) {
    for (size_t i = 0; i < QUERIES; i++) {
        const size_t row = h->row + b->query + firn_smaller(i, b->count - 1);
        b->row_max[i] = h->a->row_max[row];
        b->row_sum[i] = h->a->row_sum[row];
        b->projections[i] = all_keys ? 0.0f : h->job->projections[row];
    }
}

/* Turns the products q_i . k_j and dy_i . v_j into probabilities and their gradients. Also computes D if the block has
 * all keys of its queries. */
static void probability_gradients(const head *h, block *b, bool all_keys) {
    const firn_attention *a = h->a;
    firn_key_sum sum = firn_key_sum_begin(h);
    for (size_t key = b->begin; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key), at = (key - h->origin) * QUERIES;
        float *p = h->slot + h->job->at.scores + at, *gradient = h->slot + h->job->at.gradients + at;
        firn_scores_scale(h, b, key, p, rows);
        firn_scores_exponentials(a, p, b->row_max, rows);
        firn_scores_normalise(a, p, b->row_sum, rows);
        firn_scores_drop(a, gradient, firn_scores_draw(h, b, key, rows), rows);
        if (all_keys)
            firn_key_sum_add(&sum, h, b, key, rows, p, gradient);
    }
    if (all_keys)
        firn_key_sum_end(&sum, b->projections);
}

/* Some scores of a block: probabilities, and their gradients. */
typedef struct gradients {
    const float *p, *projections;
    float *gradient;
    size_t count;
} gradients;

static inline __attribute__((always_inline)) void multiply_gradients(uint8_t type, const void *arguments) {
    const gradients g = *(const gradients *)arguments; /* a copy, because the stores could change *arguments */
    for (size_t i = 0; i < g.count; i += FIRN_VECTOR) {
        const firn_vector projection = firn_vector_load(g.projections + i % QUERIES);
        const firn_vector centred = firn_vector_subtract(firn_vector_load(g.gradient + i), projection);
        const firn_vector product = firn_vector_multiply(firn_vector_load(g.p + i), centred);
        firn_vector_store(g.gradient + i, firn_vector_round(type, product));
    }
}

/* Turns gradients of probabilities into gradients of scores, and applies dropout to the probabilities. */
static void score_gradients(const head *h, const block *b) {
    const firn_attention *a = h->a;
    for (size_t key = b->begin; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key), at = (key - h->origin) * QUERIES;
        float *p = h->slot + h->job->at.scores + at, *gradient = h->slot + h->job->at.gradients + at;
        firn_for_type(a->type, multiply_gradients, &(gradients){p, b->projections, gradient, rows * QUERIES});
        if (a->dropout_rate == 0.0f)
            continue;
        firn_scores_drop(a, p, firn_scores_drawn(h, key), rows);
        firn_block_round(a->type, p, rows * QUERIES);
    }
    firn_scores_clear_unseen(h, b, h->slot + h->job->at.scores);
    firn_scores_clear_unseen(h, b, h->slot + h->job->at.gradients);
}

/* Computes, for a block of queries and its keys, everything up to the gradients of the scores. all_keys: the keys are
 * all that the queries see, so D is computed here; otherwise D was computed before. */
static block gradient_block(head *h, size_t query, size_t begin, size_t end, bool all_keys) {
    block b = firn_attention_block_of(h, query, begin, end);
    load_saved(h, &b, all_keys);
    firn_attention_multiply_scores(h, &b);
    firn_attention_multiply_gradients(h, &b);
    probability_gradients(h, &b, all_keys);
    for (size_t i = 0; all_keys && i < b.count; i++)
        h->job->projections[h->row + query + i] = b.projections[i];
    score_gradients(h, &b);
    return b;
}

/* --- pieces of queries -------------------------------------------------------------------------------------------- */

static void query_piece(void *argument, size_t piece, void *slot) {
    size_t begin, end;
    head h = firn_attention_query_piece(argument, piece, slot, &begin, &end);
    firn_attention_products_begin();
    for (size_t query = begin; query < end; query += QUERIES) {
        const block b = gradient_block(&h, query, 0, h.reach, true);
        firn_attention_store_query_gradients(&h, &b);
    }
    firn_attention_products_end();
}

/* --- pieces of keys ----------------------------------------------------------------------------------------------- */

static void add(float *restrict total, const float *restrict x, size_t count) {
    for (size_t i = 0; i < count; i++)
        total[i] += x[i];
}

/* Adds the gradients of keys and values from one query head; in one pass, also stores the gradients of its queries. */
static void add_query_head(head *h, size_t begin, size_t end, float *key_sums, float *value_sums) {
    for (size_t query = h->a->causal ? begin : 0; query < h->a->queries; query += QUERIES) {
        const block b = gradient_block(h, query, begin, end, h->job->one_pass);
        if (h->job->one_pass)
            firn_attention_store_query_gradients(h, &b);
        firn_attention_add_key_gradients(h, &b, key_sums, value_sums);
    }
}

/* Computes the gradients of the keys [begin, end) of a key head and of their values. The sums of the first query head
 * are the totals to which those of the others are added. */
static void key_range(const job *work, float *slot, size_t batch, size_t key_head, size_t begin, size_t end) {
    const firn_attention_layout *at = &work->at;
    const size_t group = work->a.group, floats = (end - begin) * work->width;
    if (work->chunked) {
        const size_t whole_tiles = firn_round_up(end - begin, ROWS) * work->width;
        firn_attention_clear(slot + at->key_chunks, whole_tiles);
        firn_attention_clear(slot + at->value_chunks, whole_tiles);
    }
    head h = firn_attention_head_of(work, slot, batch, key_head * group);
    h.origin = begin;
    h.reach = end;
    add_query_head(&h, begin, end, slot + at->key_sums, slot + at->value_sums);
    for (size_t member = 1; member < group; member++) {
        h.query = key_head * group + member;
        h.row = firn_attention_row(&work->a, batch, h.query);
        add_query_head(&h, begin, end, slot + at->head_key_sums, slot + at->head_value_sums);
        add(slot + at->key_sums, slot + at->head_key_sums, floats);
        add(slot + at->value_sums, slot + at->head_value_sums, floats);
    }
    firn_attention_store_key_gradients(&h, begin, end);
}

static void key_piece(void *argument, size_t piece, void *slot) {
    const job *work = argument;
    const size_t head_number = piece / work->parts, begin = piece % work->parts * work->part;
    firn_attention_products_begin();
    key_range(work, slot, head_number / work->a.kv_heads, head_number % work->a.kv_heads, begin,
              firn_smaller(begin + work->part, work->a.keys));
    firn_attention_products_end();
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

/* Returns true if processing whole key heads is faster. It needs five products; queries and keys processed separately
 * need seven, but keep all threads busy. */
static bool whole_heads_are_sooner(const firn_attention *a, size_t threads) {
    const size_t heads = a->batch * a->kv_heads;
    return 5 * ((heads + threads - 1) / threads * threads) <= 7 * heads;
}

/* The passes of a call: one by key, or one by query followed by one by key. */
typedef struct passes {
    job by_key, by_query;
    uint64_t cost;
    size_t threads;
} passes;

/* Prepares the passes. Returns false if the portable kernel must execute the call, as in forward.c. */
static bool begin(passes *p, firn_attention a) {
    p->by_key = (job){.a = a, .backward = true, .chunked = firn_attention_is_chunked(a.call, 3)};
    p->by_key.projections = a.scratch; /* the rest of it is unused */
    p->by_query = p->by_key;
    p->cost = firn_attention_cost(&p->by_key, 5);
    p->threads = firn_parallel_threads(&a.call->parallel, p->cost);
    if ((a.causal && a.queries != a.keys) || !firn_attention_lay_out(&p->by_key, true) ||
        !firn_attention_lay_out(&p->by_query, false))
        return false;
    p->by_key.one_pass = p->by_key.span >= a.keys && whole_heads_are_sooner(&a, p->threads);
    return true;
}

static uint64_t scratch(firn_attention a) {
    passes p;
    if (!begin(&p, a))
        return 0;
    const uint64_t by_key = firn_attention_scratch(&p.by_key), by_query = firn_attention_scratch(&p.by_query);
    return p.by_key.one_pass || by_key > by_query ? by_key : by_query;
}

/* Returns false if the portable kernel must execute the call. */
static bool run(firn_attention a) {
    passes p;
    if (!begin(&p, a))
        return false;
    const size_t heads = a.batch * a.kv_heads;
    if (p.by_key.one_pass) {
        const size_t pieces = firn_attention_divide(&p.by_key, heads, a.keys, 1, SIZE_MAX);
        firn_pieces_run(a.call, firn_attention_scratch(&p.by_key), pieces, p.cost, key_piece, &p.by_key);
        return true;
    }
    const size_t by_query = firn_attention_divide(&p.by_query, a.batch * a.heads, a.queries, p.threads, SIZE_MAX);
    firn_pieces_run(a.call, firn_attention_scratch(&p.by_query), by_query, p.cost, query_piece, &p.by_query);
    const size_t by_key = firn_attention_divide(&p.by_key, heads, a.keys, p.threads, p.by_key.span);
    firn_pieces_run(a.call, firn_attention_scratch(&p.by_key), by_key, p.cost, key_piece, &p.by_key);
    return true;
}

uint64_t firn_vector_attention_backward_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return scratch(firn_attention_backward_of(call));
}

void firn_vector_attention_backward(const firn_kernel_call *call) {
    if (!run(firn_attention_backward_of(call)))
        firn_kernel_attention_backward(call);
}

uint64_t firn_vector_cross_attention_backward_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return scratch(firn_cross_attention_backward_of(call));
}

void firn_vector_cross_attention_backward(const firn_kernel_call *call) {
    if (!run(firn_cross_attention_backward_of(call)))
        firn_kernel_cross_attention_backward(call);
}
