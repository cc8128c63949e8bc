/* Attention over a cache; see attention.h. There are three ways:
 *
 * - A few tokens with sums in float32: one query after the other, for all heads together (heads.h), so that the cache
 * is read in place, once, and in the order of memory.
 * - A chunk of a prompt, or sums in chunks: blocks of queries, as attention without a cache (attention/forward.c),
 * which packs keys and values once for all of them.
 * - Flushed sums: blocks of one query, because what their last block of terms holds depends on the query. */
#include "runtime/kernels/vector/token/attention.h"

#include "runtime/kernels/attention.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/exponential.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/token/heads.h"

enum {
    FEW_TOKENS = 3, /* with more, a block of queries is faster */
    GROUP = FIRN_VECTOR_GROUP * FIRN_VECTOR,
    SCORES = FIRN_CACHED_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_CACHED_ATTENTION_REDUCTION_VALUES
};

/* --- one query ---------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void exponentials_of(float *x, firn_vector maximum, size_t registers) {
    firn_vector group[FIRN_VECTOR_GROUP];
    FIRN_EACH(v, registers) group[v] = firn_vector_subtract(firn_vector_load(x + v * FIRN_VECTOR), maximum);
    firn_vector_exp_group(group, registers);
    FIRN_EACH(v, registers) firn_vector_store(x + v * FIRN_VECTOR, group[v]);
}

/* Replaces scores by e^(score - maximum). */
static void exponentials(float *scores, size_t count, float maximum) {
    const firn_vector largest = firn_vector_fill(maximum);
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP)
        exponentials_of(scores + i, largest, FIRN_VECTOR_GROUP);
    for (; i < count; i += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(count - i);
        const firn_vector x = firn_vector_subtract(firn_vector_load_some(lanes, scores + i), largest);
        firn_vector_store_some(scores + i, lanes, firn_vector_exp(x));
    }
}

/* Replaces the products of a query with its keys by probabilities. */
static void softmax(const firn_attention *a, size_t head, float *scores) {
    const size_t count = a->keys;
    const float query = (float)a->position;
    for (size_t i = 0; i < count; i++)
        scores[i] *= a->scale;
    for (size_t i = 0; a->slopes != NULL && i < count; i++)
        scores[i] = firn_fma(a->slopes[head], (float)i - query, scores[i]);
    firn_block_round(a->softmax_type, scores, count);
    exponentials(scores, count, firn_block_maximum(scores[0], scores, count));
    firn_block_round(a->softmax_type, scores, count);
    firn_sum sum;
    firn_sum_begin(&sum);
    firn_sum_add_many(&sum, scores, count);
    const float total = firn_sum_end(&sum);
    for (size_t i = 0; i < count; i++)
        scores[i] /= total;
    firn_block_round(a->type, scores, count);
}

/* A call, divided into pieces of consecutive query heads. */
typedef struct query_job {
    firn_attention *a;
    size_t unit, pieces; /* query heads that are not divided, and the number of pieces */
} query_job;

/* The heads that share a key head stay in one piece, unless some threads would then have none. */
static query_job job_of(firn_attention *a, size_t threads) {
    const size_t unit = a->kv_heads < threads ? 1 : a->group;
    return (query_job){a, unit, firn_smaller(a->heads / unit, threads)};
}

/* Returns the first query head of a piece. */
static size_t piece_begin(const query_job *job, size_t piece) {
    return piece * (job->a->heads / job->unit) / job->pieces * job->unit;
}

/* The slot holds the queries and y of all heads, in float32. */
static size_t slot_bytes(const firn_attention *a) {
    return 2 * a->heads * a->size * sizeof(float);
}

static void query_heads(void *argument, size_t piece, void *slot) {
    const query_job *job = argument;
    const firn_attention *a = job->a;
    const size_t first = piece_begin(job, piece), count = piece_begin(job, piece + 1) - first, values = count * a->size;
    const firn_matrix q = firn_attention_part(a, a->query, 0, first);
    const firn_matrix y = firn_attention_part(a, (firn_attention_heads){a->y, 0}, 0, first);
    firn_heads heads = {.a = a, .first = first, .count = count};
    heads.queries = slot;
    heads.sums = heads.queries + values;
    heads.scores = a->scratch + first * a->stride;
    firn_widen(heads.queries, q.data, q.type, q.first, values);
    firn_heads_multiply_keys(&heads);
    for (size_t head = 0; head < count; head++)
        softmax(a, first + head, heads.scores + head * a->stride);
    firn_heads_multiply_values(&heads);
    firn_narrow(a->y->data, y.type, y.first, heads.sums, values);
}

static void query_by_query(firn_cached_attention *c) {
    firn_attention *a = &c->a;
    firn_cached_attention_store(c);
    for (size_t query = 0; query < c->tokens; query++) {
        firn_cached_attention_take(c, query);
        const uint64_t cost = 2 * (uint64_t)a->heads * a->keys * a->size / FIRN_MULTIPLICATIONS;
        query_job job = job_of(a, firn_parallel_threads(&a->call->parallel, cost));
        firn_pieces_run(a->call, slot_bytes(a), job.pieces, cost, query_heads, &job);
    }
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

static bool have_kind(const firn_kernel_call *call, uint8_t kind) {
    return call->reductions[SCORES].kind == kind && call->reductions[VALUES].kind == kind;
}

static bool have_flushed(const firn_kernel_call *call) {
    return firn_reduction_is_flushed(call->reductions[SCORES].kind) ||
           firn_reduction_is_flushed(call->reductions[VALUES].kind);
}

static bool is_few(const firn_cached_attention *c) {
    return c->tokens <= FEW_TOKENS && have_kind(c->a.call, FIRN_REDUCTION_F32);
}

uint64_t firn_vector_cached_attention_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_cached_attention c;
    (void)op;
    firn_cached_attention_of(&c, call);
    if (have_flushed(call))
        return firn_attention_by_query_scratch(&c);
    return is_few(&c) ? slot_bytes(&c.a) : firn_attention_over_cache_scratch(&c);
}

void firn_vector_cached_attention(const firn_kernel_call *call) {
    firn_cached_attention c;
    firn_cached_attention_of(&c, call);
    c.first = firn_cached_attention_first(&c);
    bool done = true;
    if (have_flushed(call))
        done = firn_attention_by_query(&c);
    else if (is_few(&c))
        query_by_query(&c);
    else
        done = firn_attention_over_cache(&c);
    if (!done)
        firn_kernel_cached_attention(call);
}
