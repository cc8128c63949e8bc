/* Scores, probabilities and their sums in registers; see scores.h. */
#include "runtime/kernels/vector/attention/scores.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/exponential.h"
#include "runtime/kernels/vector/pack.h"

enum {
    QUERIES = FIRN_BLOCK_QUERIES,
    VECTORS = FIRN_BLOCK_VECTORS,
    PANEL = FIRN_PANEL_QUERIES,
    RUN = FIRN_RUN_KEYS,
    GROUP = FIRN_VECTOR_GROUP * FIRN_VECTOR /* scores of registers that are computed at once */
};

_Static_assert((int)GROUP % (int)QUERIES == 0, "a group is whole rows");

/* Returns one bit for each query of a block that sees a key. */
static uint32_t seeing(const firn_attention_head *h, const firn_attention_block *b, size_t key) {
    return h->a->causal && key > b->query ? ~0u << (key - b->query) : ~0u;
}

/* Selects the bits of register v. */
static inline firn_mask lanes_of(uint32_t queries, size_t v) {
    return firn_mask_from_bits(queries >> (v * FIRN_VECTOR));
}

/* --- softmax ------------------------------------------------------------------------------------------------------ */

static void add_slopes(const firn_attention_head *h, const firn_attention_block *b, size_t first, float *scores,
                       size_t rows) {
    const float slope = h->a->slopes[h->query];
    float queries[QUERIES];
    for (size_t i = 0; i < QUERIES; i++)
        queries[i] = (float)(b->query + i);
    for (size_t row = 0; row < rows; row++, scores += QUERIES) {
        const float key = (float)(first + row);
        for (size_t i = 0; i < QUERIES; i++)
            scores[i] = firn_fma(slope, key - queries[i], scores[i]);
    }
}

static void add_mask(const firn_attention_head *h, const firn_attention_block *b, size_t first, float *scores,
                     size_t rows, const float *mask) {
    for (size_t i = 0; i < b->count; i++) {
        const float *added = mask + (b->query + i) * h->a->keys + first;
        for (size_t row = 0; row < rows; row++)
            scores[row * QUERIES + i] = scores[row * QUERIES + i] + added[row];
    }
}

void firn_scores_scale(const firn_attention_head *h, const firn_attention_block *b, size_t first, float *scores,
                       size_t rows) {
    const float scale = h->a->scale;
    for (size_t i = 0; i < rows * QUERIES; i++)
        scores[i] *= scale;
    if (h->a->slopes != NULL)
        add_slopes(h, b, first, scores, rows);
    const float *mask = firn_attention_mask(h->a, h->batch, h->query);
    if (mask != NULL)
        add_mask(h, b, first, scores, rows, mask);
    firn_block_round(h->a->softmax_type, scores, rows * QUERIES);
}

void firn_scores_maxima(const firn_attention_head *h, const firn_attention_block *b, const float *scores,
                        float maxima[QUERIES]) {
    firn_vector largest[VECTORS];
    firn_mask has_nan[VECTORS];
    for (size_t v = 0; v < VECTORS; v++) {
        largest[v] = firn_vector_fill(-__builtin_inff());
        has_nan[v] = firn_mask_from_bits(0);
    }
    for (size_t key = b->begin; key < b->end; key++, scores += QUERIES) {
        const uint32_t queries = seeing(h, b, key);
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const firn_vector score = firn_vector_load(scores + v * FIRN_VECTOR);
            const firn_mask mask = lanes_of(queries, v);
            largest[v] = firn_vector_select(mask, firn_vector_maximum(score, largest[v]), largest[v]);
            has_nan[v] = firn_mask_or(has_nan[v], firn_mask_and(mask, firn_vector_is_nan(score)));
        }
    }
    const firn_vector nan = firn_vector_fill(firn_from_bits(FIRN_NAN_BITS));
    for (size_t v = 0; v < VECTORS; v++) {
        largest[v] = firn_vector_add(largest[v], firn_vector_zero());
        firn_vector_store(maxima + v * FIRN_VECTOR, firn_vector_select(has_nan[v], nan, largest[v]));
    }
}

static inline __attribute__((always_inline)) void exponentials(float *scores, const float *maxima, size_t registers) {
    firn_vector x[FIRN_VECTOR_GROUP];
    FIRN_EACH(v, registers)
    x[v] = firn_vector_subtract(firn_vector_load(scores + v * FIRN_VECTOR),
                                firn_vector_load(maxima + v * FIRN_VECTOR % QUERIES));
    firn_vector_exp_group(x, registers);
    FIRN_EACH(v, registers) firn_vector_store(scores + v * FIRN_VECTOR, x[v]);
}

void firn_scores_exponentials(const firn_attention *a, float *scores, const float maxima[QUERIES], size_t rows) {
    const size_t count = rows * QUERIES;
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP)
        exponentials(scores + i, maxima, FIRN_VECTOR_GROUP);
    for (; i < count; i += FIRN_VECTOR)
        exponentials(scores + i, maxima + i % QUERIES, 1);
    firn_block_round(a->softmax_type, scores, count);
}

/* --- division by the sums -----------------------------------------------------------------------------------------
 *
 * A division takes as long as a dozen multiplications, and a query has one divisor s for all of its keys. Therefore
 * y = 1 / s, the result of a division, is computed once for each query, and for each key
 *
 *     q = x y    r = x - q s    q' = q + r y    r' = x - q' s    q" = q' + r' y
 *
 * each rounded once. q" has the bits of x / s: this is a theorem of P. Markstein ("Computation of elementary functions
 * on the IBM RISC System/6000 processor", 1990). Its exception, divisors whose mantissa is all ones, is for a y that is
 * itself found by such steps. The proof, with u = 2^-24, s = 2^b f where 1 <= f < 2, and 2^e <= x / s < 2^(e+1), where
 * floats are h = 2^(e-23) apart:
 *
 *   1. y is off by 2^(-b-25) at most, so that |y s - 1| <= f u / 2 < u.
 *   2. |q - x/s| < 2.1 u x/s, because y and the product each add an error of u. In q + r y, y and the rounded r leave
 *      2.1 u of this: less than 4.5 u^2 x/s, which is less than h / 4. So q' is x/s if that is a float, and then r' = 0
 *      and q" = q'; otherwise it is one of the two floats beside x/s.
 *   3. r' is exact: x and q' s are multiples of 2^(e+b-46), and |r'| < h s < 2^24 such units.
 *   4. Hence q" is x/s + (x/s - q') (y s - 1), rounded. Let m be the middle of the two floats, and d = |x/s - m|; then
 *      |x/s - q'| <= h/2 + d. x and m s are multiples of 2^(e+b-47) = h u 2^b. They differ, because m needs 25 bits
 *      and m s no fewer; so d >= h u / f. The error is at most (h/2 + d) f u / 2, which is less than d, because f <=
 *      2 - 2 u gives f f / 4 < 1 - u: it does not reach m, and q" is rounded to the same side as x/s.
 *
 * Within the limits below, y, q, q' and q" are normal numbers, from 2^-117 to 2^81. r and r' may be subnormal, but no
 * bit is lost: they are multiples of 2^(e+b-47), which is at least 2^-144 because 2^(e+b) > x / 4. */

#define LEAST_TERM    0x1p-96f
#define MOST_TERM     0x1p60f
#define LEAST_DIVISOR 0x1p-20f
#define MOST_DIVISOR  0x1p20f

typedef struct normalising {
    float *x;
    size_t count;
    const float *sums;
    _Alignas(64) float reciprocals[QUERIES];
    bool by_reciprocals; /* the sums are within the limits */
} normalising;

static inline bool is_every(firn_mask mask) {
    return firn_mask_to_bits(mask) == (UINT32_C(1) << FIRN_VECTOR) - 1;
}

/* Not of a NaN. */
static inline firn_mask is_within(firn_vector x, float low, float high) {
    return firn_mask_and(firn_vector_is_at_least(x, firn_vector_fill(low)),
                         firn_vector_is_at_least(firn_vector_fill(high), x));
}

/* x are exponentials: none is negative, so their order, with that of NaNs above it, is the order of their bits. */
static inline __attribute__((always_inline)) bool are_terms_within(const firn_vector *x, size_t registers) {
    firn_words least = firn_vector_bits(x[0]), most = least;
    FIRN_EACH(v, registers) {
        least = firn_words_smaller(least, firn_vector_bits(x[v]));
        most = firn_words_larger(most, firn_vector_bits(x[v]));
    }
    return is_every(firn_mask_and(firn_vector_is_at_least(firn_vector_from_bits(least), firn_vector_fill(LEAST_TERM)),
                                  firn_vector_is_at_least(firn_vector_fill(MOST_TERM), firn_vector_from_bits(most))));
}

/* The gradient reads its sums from a tensor, in which any float may lie, also a negative one. */
static void take_reciprocals(normalising *n) {
    n->by_reciprocals = true;
    for (size_t i = 0; i < QUERIES; i += FIRN_VECTOR) {
        const firn_vector sum = firn_vector_load(n->sums + i);
        firn_vector_store(n->reciprocals + i, firn_vector_divide(firn_vector_fill(1.0f), sum));
        n->by_reciprocals &= is_every(is_within(sum, LEAST_DIVISOR, MOST_DIVISOR));
    }
}

/* Replaces each x, which begins with query `first`, by x / sum. */
static inline __attribute__((always_inline)) void divide(const normalising *n, firn_vector *x, size_t first,
                                                         size_t registers) {
    firn_vector q[FIRN_VECTOR_GROUP], sum[FIRN_VECTOR_GROUP], y[FIRN_VECTOR_GROUP], rest[FIRN_VECTOR_GROUP];
    FIRN_EACH(v, registers) sum[v] = firn_vector_load(n->sums + (first + v * FIRN_VECTOR) % QUERIES);
    if (!n->by_reciprocals || !are_terms_within(x, registers)) {
        FIRN_EACH(v, registers) x[v] = firn_vector_divide(x[v], sum[v]);
        return;
    }
    FIRN_EACH(v, registers) y[v] = firn_vector_load(n->reciprocals + (first + v * FIRN_VECTOR) % QUERIES);
    FIRN_EACH(v, registers) q[v] = firn_vector_multiply(x[v], y[v]);
    FIRN_EACH(v, registers) rest[v] = firn_vector_fma(firn_vector_negative(q[v]), sum[v], x[v]);
    FIRN_EACH(v, registers) q[v] = firn_vector_fma(rest[v], y[v], q[v]);
    FIRN_EACH(v, registers) rest[v] = firn_vector_fma(firn_vector_negative(q[v]), sum[v], x[v]);
    FIRN_EACH(v, registers) x[v] = firn_vector_fma(rest[v], y[v], q[v]);
}

static inline __attribute__((always_inline)) void normalise_at(uint8_t type, const normalising *n, size_t i,
                                                               size_t registers) {
    firn_vector x[FIRN_VECTOR_GROUP];
    FIRN_EACH(v, registers) x[v] = firn_vector_load(n->x + i + v * FIRN_VECTOR);
    divide(n, x, i % QUERIES, registers);
    FIRN_EACH(v, registers) firn_vector_store(n->x + i + v * FIRN_VECTOR, firn_vector_round(type, x[v]));
}

static inline __attribute__((always_inline)) void normalise(uint8_t type, const void *arguments) {
    const normalising *n = arguments;
    size_t i = 0;
    for (; i + GROUP <= n->count; i += GROUP)
        normalise_at(type, n, i, FIRN_VECTOR_GROUP);
    for (; i < n->count; i += FIRN_VECTOR)
        normalise_at(type, n, i, 1);
}

void firn_scores_normalise(const firn_attention *a, float *x, const float sums[QUERIES], size_t rows) {
    normalising n = {.count = rows * QUERIES, .sums = sums};
    n.x = x;
    take_reciprocals(&n);
    firn_for_type(a->type, normalise, &n);
}

/* --- what a query does not see ------------------------------------------------------------------------------------ */

void firn_scores_clear_unseen(const firn_attention_head *h, const firn_attention_block *b, float *x) {
    const size_t first = b->begin > b->query ? b->begin : b->query;
    for (size_t key = first; h->a->causal && key < b->end; key++)
        for (size_t v = 0; v < VECTORS; v++) {
            float *at = x + (key - h->origin) * QUERIES + v * FIRN_VECTOR;
            firn_vector_store(at, firn_vector_keep(lanes_of(seeing(h, b, key), v), firn_vector_load(at)));
        }
}

/* --- sums over the keys that a query sees ------------------------------------------------------------------------- */

firn_key_sum firn_key_sum_begin(const firn_attention_head *h) {
    firn_key_sum sum = {.lanes = h->slot + h->job->at.lanes};
    firn_attention_clear(sum.lanes, (size_t)RUN * QUERIES);
    return sum;
}

/* Folds the lanes of the sum; each lane is a row of floats. */
static void fold(firn_key_sum *sum) {
    for (size_t half = RUN / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half * QUERIES; i++)
            sum->lanes[i] += sum->lanes[half * QUERIES + i];
    for (size_t i = 0; i < QUERIES; i++)
        sum->totals[i] += sum->lanes[i];
}

void firn_key_sum_add(firn_key_sum *sum, const firn_attention_head *h, const firn_attention_block *b, size_t first,
                      size_t rows, const float *x, const float *y) {
    for (size_t row = 0; row < rows; row++) {
        const uint32_t queries = seeing(h, b, first + row);
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t at = row * QUERIES + v * FIRN_VECTOR;
            const firn_vector lane = firn_vector_load(sum->lanes + at);
            firn_vector term = firn_vector_load(x + at);
            if (y != NULL)
                term = firn_vector_multiply(term, firn_vector_load(y + at));
            firn_vector_store(sum->lanes + at,
                              firn_vector_select(lanes_of(queries, v), firn_vector_add(lane, term), lane));
        }
    }
    if ((first + RUN) % FIRN_SUM_BLOCK != 0)
        return;
    fold(sum);
    firn_attention_clear(sum->lanes, (size_t)RUN * QUERIES);
}

/* A query without elements in the last block adds +0; this does not change its total, which is never -0. */
void firn_key_sum_end(firn_key_sum *sum, float out[QUERIES]) {
    fold(sum);
    for (size_t i = 0; i < QUERIES; i++)
        out[i] = firn_canonical(sum->totals[i]);
}

/* --- dropout ------------------------------------------------------------------------------------------------------ */

static uint32_t *kept_from(const firn_attention_head *h, size_t first) {
    return (uint32_t *)(void *)(h->slot + h->job->at.kept) + (first - h->origin);
}

/* Draws random numbers query by query, because consecutive random numbers belong to consecutive keys. */
static const float *draw_run(const firn_attention_head *h, const firn_attention_block *b, size_t first, size_t rows) {
    float *drawn = h->slot + h->job->at.drawn, *transposed = h->slot + h->job->at.transposed;
    const firn_matrix by_key = {drawn, FIRN_FLOAT32, 0, 1, RUN};
    for (size_t i = 0; i < b->count; i++)
        firn_random_uniform_many(drawn + i * RUN, &h->a->rng,
                                 firn_attention_element(h->a, h->row + b->query + i, first), rows);
    for (size_t query = 0; query < b->count; query += PANEL)
        firn_vector_pack(transposed + query * RUN, FIRN_ATTENTION_TILE_VECTORS, &by_key, 0, rows, query,
                         firn_smaller(PANEL, b->count - query));
    return transposed;
}

const uint32_t *firn_scores_draw(const firn_attention_head *h, const firn_attention_block *b, size_t first,
                                 size_t rows) {
    uint32_t *kept = kept_from(h, first);
    if (h->a->dropout_rate == 0.0f)
        return kept;
    const float *numbers = draw_run(h, b, first, rows);
    const firn_vector rate = firn_vector_fill(h->a->dropout_rate);
    for (size_t row = 0; row < rows; row++) {
        kept[row] = 0;
        for (size_t query = 0; query < QUERIES; query += FIRN_VECTOR) {
            const float *at = numbers + (query - query % PANEL) * RUN + row * PANEL + query % PANEL;
            kept[row] |= firn_mask_to_bits(firn_vector_is_at_least(firn_vector_load(at), rate)) << query;
        }
    }
    return kept;
}

const uint32_t *firn_scores_drawn(const firn_attention_head *h, size_t first) {
    return kept_from(h, first);
}

void firn_scores_drop(const firn_attention *a, float *x, const uint32_t *kept, size_t rows) {
    const firn_vector factor = firn_vector_fill(1.0f / (1.0f - a->dropout_rate));
    if (a->dropout_rate == 0.0f)
        return;
    for (size_t row = 0; row < rows; row++)
        for (size_t v = 0; v < VECTORS; v++) {
            float *at = x + row * QUERIES + v * FIRN_VECTOR;
            const firn_vector scaled = firn_vector_multiply(firn_vector_load(at), factor);
            firn_vector_store(at, firn_vector_keep(lanes_of(kept[row], v), scaled));
        }
}
