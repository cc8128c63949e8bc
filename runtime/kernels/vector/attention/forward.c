/* Attention, forward, for a block of queries at a time; see attention.h.
 *
 *     s_ij = scale q_i . k_j          for the keys j that query i sees
 *     p_ij = e^(s_ij - row_max_i) / row_sum_i, some of them dropped
 *     y_i  = sum_j p_ij v_j
 *
 * row_max and row_sum are saved for backward.c. plan/NUMERICS.md specifies rounding and order; work.h describes what is
 * packed and how threads divide the work. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/attention/products.h"
#include "runtime/kernels/vector/attention/scores.h"
#include "runtime/kernels/vector/pieces.h"

enum { QUERIES = FIRN_BLOCK_QUERIES, RUN = FIRN_RUN_KEYS };

typedef firn_attention_head head;
typedef firn_attention_block block;
typedef firn_attention_job job;

/* Turns the products q_i . k_j into probabilities. */
static void softmax(const head *h, block *b) {
    const firn_attention *a = h->a;
    float *scores = h->slot + h->job->at.scores;
    firn_key_sum sum = firn_key_sum_begin(h);
    firn_scores_scale(h, b, 0, scores, b->end);
    firn_scores_maxima(h, b, scores, b->row_max);
    for (size_t key = 0; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key);
        firn_scores_exponentials(a, scores + key * QUERIES, b->row_max, rows);
        firn_key_sum_add(&sum, h, b, key, rows, scores + key * QUERIES, NULL);
    }
    firn_key_sum_end(&sum, b->row_sum);
    for (size_t key = 0; key < b->end; key += RUN) {
        const size_t rows = firn_smaller(RUN, b->end - key);
        firn_scores_normalise(a, scores + key * QUERIES, b->row_sum, rows);
        firn_scores_drop(a, scores + key * QUERIES, firn_scores_draw(h, b, key, rows), rows);
        if (a->dropout_rate != 0.0f)
            firn_block_round(a->type, scores + key * QUERIES, rows * QUERIES);
    }
    firn_scores_clear_unseen(h, b, scores);
}

/* Without a gradient, nothing is saved. */
static void save(const head *h, const block *b) {
    if (h->a->new_row_max == NULL)
        return;
    for (size_t i = 0; i < b->count; i++) {
        h->a->new_row_max[h->row + b->query + i] = b->row_max[i];
        h->a->new_row_sum[h->row + b->query + i] = b->row_sum[i];
    }
}

/* Computes the queries of a block that are before `end`. Returns their number. */
static size_t attention_block(head *h, size_t query, size_t end) {
    block b = firn_attention_block_of(h, query, 0, h->reach);
    b.count = firn_smaller(b.count, end - query);
    firn_attention_multiply_scores(h, &b);
    softmax(h, &b);
    save(h, &b);
    firn_attention_store_outputs(h, &b);
    return b.count;
}

static void attention_piece(void *argument, size_t piece, void *slot) {
    size_t begin, end;
    head h = firn_attention_query_piece(argument, piece, slot, &begin, &end);
    firn_attention_products_begin();
    for (size_t query = begin; query < end;)
        query += attention_block(&h, query, end);
    firn_attention_products_end();
}

/* Prepares the job. Returns false if the portable kernel must execute the call: the slot would be too large, or a
 * causal mask is no triangle of a square. */
static bool begin(job *work, firn_attention a) {
    *work = (job){.a = a, .chunked = firn_attention_is_chunked(a.call, 2)};
    return (!a.causal || a.queries == a.keys) && firn_attention_lay_out(work, false);
}

static uint64_t scratch(firn_attention a) {
    job work;
    return begin(&work, a) ? firn_attention_scratch(&work) : 0;
}

static void run_job(job *work) {
    const firn_attention *a = &work->a;
    const uint64_t cost = firn_attention_cost(work, 2);
    const size_t threads = firn_parallel_threads(&a->call->parallel, cost);
    const size_t pieces = firn_attention_divide(work, a->batch * a->heads, a->queries, threads, SIZE_MAX);
    firn_pieces_run(a->call, firn_attention_scratch(work), pieces, cost, attention_piece, work);
}

/* Returns false if the portable kernel must execute the call. */
static bool run(firn_attention a) {
    job work;
    if (!begin(&work, a))
        return false;
    run_job(&work);
    return true;
}

uint64_t firn_vector_attention_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return scratch(firn_attention_of(call));
}

void firn_vector_attention(const firn_kernel_call *call) {
    if (!run(firn_attention_of(call)))
        firn_kernel_attention(call);
}

uint64_t firn_vector_cross_attention_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return scratch(firn_cross_attention_of(call));
}

void firn_vector_cross_attention(const firn_kernel_call *call) {
    if (!run(firn_cross_attention_of(call)))
        firn_kernel_cross_attention(call);
}

/* --- over a cache ------------------------------------------------------------------------------------------------- */

/* Describes the queries of a call together. The slot has room for all keys of the cache, however many there are. */
static bool begin_cached(job *work, const firn_cached_attention *c) {
    firn_attention a = c->a;
    const firn_tensor *qkv = &a.call->inputs[FIRN_CACHED_ATTENTION_IN_QKV];
    a.query = (firn_attention_heads){qkv, firn_attention_first_head(0, c->first, a.heads + 2 * a.kv_heads)};
    a.y = &a.call->outputs[FIRN_CACHED_ATTENTION_OUT_Y];
    a.new_row_max = a.new_row_sum = NULL;
    a.causal = true;
    a.position = c->first;
    a.queries = c->tokens;
    a.keys = a.stride;
    *work = (job){.a = a, .chunked = firn_attention_is_chunked(a.call, 2)};
    return firn_attention_lay_out(work, false);
}

uint64_t firn_attention_over_cache_scratch(const firn_cached_attention *c) {
    job work;
    return begin_cached(&work, c) ? firn_attention_scratch(&work) : 0;
}

bool firn_attention_over_cache(const firn_cached_attention *c) {
    job work;
    if (c->first + c->tokens > c->a.stride || !begin_cached(&work, c))
        return false;
    work.a.keys = c->first + c->tokens;
    firn_cached_attention_store(c);
    run_job(&work);
    return true;
}

/* Describes one query, the one that was taken, as attention without a mask: its sums end with the last key that it
 * sees. The slot has room for all keys of the cache. */
static bool begin_query(job *work, const firn_cached_attention *c) {
    firn_attention a = c->a;
    a.query.first = firn_attention_first_head(0, a.position, a.heads + 2 * a.kv_heads);
    a.new_row_max = a.new_row_sum = NULL;
    a.keys = a.stride;
    *work = (job){.a = a, .chunked = firn_attention_is_chunked(a.call, 2)};
    return firn_attention_lay_out(work, false);
}

uint64_t firn_attention_by_query_scratch(const firn_cached_attention *c) {
    job work;
    return begin_query(&work, c) ? firn_attention_scratch(&work) : 0;
}

bool firn_attention_by_query(firn_cached_attention *c) {
    job work;
    if (!begin_query(&work, c))
        return false;
    firn_cached_attention_store(c);
    for (size_t query = 0; query < c->tokens; query++) {
        firn_cached_attention_take(c, query);
        (void)begin_query(&work, c);
        work.a.keys = c->a.keys;
        run_job(&work);
    }
    return true;
}
