/* Attention as one op: scores, softmax, dropout, the product with the values, and the gradients of all of these.
 * Some rows of scores at a time are computed in the scratch tensor of their head: as many as the plan gives room for,
 * on which no result depends. The backward pass computes them again, so no matrix of all of them is kept. Freestanding.
 */
#include "runtime/kernels/attention.h"

#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* The reductions of both ops, as plan/ops.def names them; only the backward op has the last one. */
enum {
    SCORES = FIRN_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_ATTENTION_REDUCTION_VALUES,
    QUERIES_AND_KEYS = FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS
};

#define AS_FORWARD(OP, NAME) ((int)FIRN_##OP##_##NAME == (int)FIRN_ATTENTION_##NAME)
#define ALL_AS_FORWARD(OP)                                                                                             \
    (AS_FORWARD(OP, HEADS) && AS_FORWARD(OP, KV_HEADS) && AS_FORWARD(OP, CAUSAL) && AS_FORWARD(OP, HALF_SOFTMAX) &&    \
     AS_FORWARD(OP, REDUCTION_SCORES) && AS_FORWARD(OP, REDUCTION_VALUES) && AS_FORWARD(OP, RNG_ID) &&                 \
     AS_FORWARD(OP, ROWS) && AS_FORWARD(OP, SCALE) && AS_FORWARD(OP, DROPOUT_RATE))
_Static_assert(ALL_AS_FORWARD(ATTENTION_BACKWARD) && ALL_AS_FORWARD(CROSS_ATTENTION) &&
                   ALL_AS_FORWARD(CROSS_ATTENTION_BACKWARD) &&
                   (int)FIRN_CROSS_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS == (int)QUERIES_AND_KEYS,
               "settings_of reads the attributes of all four ops");

/* A query head and its part of the scratch. */
typedef struct head {
    size_t batch, query, key; /* query head, and the key head it reads */
    size_t row;               /* position of its first query in row_max and row_sum */
    float *probabilities;     /* [rows][stride]: scores, then probabilities; rows are queries, later keys */
    float *gradients;         /* [rows][stride]: gradients of the probabilities, then of the scores; backward only */
} head;

static const float *floats_of(const firn_tensor *tensor) {
    return tensor != NULL ? tensor->data : NULL;
}

/* The attributes of a call, and what follows from them and from the parts. */
static void settings_of(firn_attention *a, const firn_kernel_call *call, const firn_tensor *slopes) {
    const firn_tensor *q = a->query.tensor;
    a->call = call;
    a->batch = q->dims[0];
    a->queries = q->dims[1];
    a->keys = a->key.tensor->dims[1];
    a->heads = (size_t)call->integers[FIRN_ATTENTION_HEADS];
    a->kv_heads = (size_t)call->integers[FIRN_ATTENTION_KV_HEADS];
    a->rows = (size_t)call->integers[FIRN_ATTENTION_ROWS];
    a->group = a->heads / a->kv_heads;
    a->causal = call->integers[FIRN_ATTENTION_CAUSAL] != 0;
    a->type = q->type;
    a->softmax_type = call->integers[FIRN_ATTENTION_HALF_SOFTMAX] != 0 ? q->type : FIRN_FLOAT32;
    a->scale = call->reals[FIRN_ATTENTION_SCALE];
    a->dropout_rate = call->reals[FIRN_ATTENTION_DROPOUT_RATE];
    a->slopes = floats_of(slopes);
    a->rng = (firn_rng){call->seed, (uint32_t)call->integers[FIRN_ATTENTION_RNG_ID], call->moment->global_step,
                        call->moment->micro_step};
}

/* The heads of a tensor that holds queries, keys and values. */
static void set_joined(const firn_kernel_call *call, const firn_tensor *qkv, firn_attention_heads *query,
                       firn_attention_heads *key, firn_attention_heads *value) {
    const size_t heads = (size_t)call->integers[FIRN_ATTENTION_HEADS];
    *query = (firn_attention_heads){qkv, 0};
    *key = (firn_attention_heads){qkv, heads};
    *value = (firn_attention_heads){qkv, heads + (size_t)call->integers[FIRN_ATTENTION_KV_HEADS]};
}

static size_t joined_size(const firn_attention *a) {
    return a->query.tensor->dims[2] / (a->heads + 2 * a->kv_heads);
}

firn_attention firn_attention_of(const firn_kernel_call *call) {
    firn_attention a = {.y = &call->outputs[FIRN_ATTENTION_OUT_Y],
                        .new_row_max = call->outputs[FIRN_ATTENTION_OUT_ROW_MAX].data,
                        .new_row_sum = call->outputs[FIRN_ATTENTION_OUT_ROW_SUM].data,
                        .scratch = call->outputs[FIRN_ATTENTION_OUT_SCRATCH].data};
    set_joined(call, &call->inputs[FIRN_ATTENTION_IN_QKV], &a.query, &a.key, &a.value);
    settings_of(&a, call, firn_call_input(call, FIRN_ATTENTION_IN_SLOPES));
    a.size = joined_size(&a);
    a.stride = a.keys;
    return a;
}

firn_attention firn_attention_backward_of(const firn_kernel_call *call) {
    firn_attention a = {.y = &call->inputs[FIRN_ATTENTION_BACKWARD_IN_DY],
                        .row_max = call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX].data,
                        .row_sum = call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM].data,
                        .scratch = call->outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH].data};
    set_joined(call, &call->inputs[FIRN_ATTENTION_BACKWARD_IN_QKV], &a.query, &a.key, &a.value);
    set_joined(call, &call->outputs[FIRN_ATTENTION_BACKWARD_OUT_DQKV], &a.dquery, &a.dkey, &a.dvalue);
    settings_of(&a, call, firn_call_input(call, FIRN_ATTENTION_BACKWARD_IN_SLOPES));
    a.size = joined_size(&a);
    a.stride = a.keys;
    return a;
}

/* Sizes and mask of separate queries, keys and values. */
static void separate_settings_of(firn_attention *a, const firn_tensor *mask) {
    a->size = a->query.tensor->dims[2] / a->heads;
    a->mask = floats_of(mask);
    if (mask == NULL)
        return;
    const size_t scores = a->queries * a->keys, heads = mask->dims[1];
    a->mask_head_step = heads > 1 ? scores : 0;
    a->mask_batch_step = mask->dims[0] > 1 ? heads * scores : 0;
}

firn_attention firn_cross_attention_of(const firn_kernel_call *call) {
    firn_attention a = {.query = {&call->inputs[FIRN_CROSS_ATTENTION_IN_QUERY], 0},
                        .key = {&call->inputs[FIRN_CROSS_ATTENTION_IN_KEY], 0},
                        .value = {&call->inputs[FIRN_CROSS_ATTENTION_IN_VALUE], 0},
                        .y = &call->outputs[FIRN_CROSS_ATTENTION_OUT_Y],
                        .new_row_max = call->outputs[FIRN_CROSS_ATTENTION_OUT_ROW_MAX].data,
                        .new_row_sum = call->outputs[FIRN_CROSS_ATTENTION_OUT_ROW_SUM].data,
                        .scratch = call->outputs[FIRN_CROSS_ATTENTION_OUT_SCRATCH].data};
    settings_of(&a, call, firn_call_input(call, FIRN_CROSS_ATTENTION_IN_SLOPES));
    separate_settings_of(&a, firn_call_input(call, FIRN_CROSS_ATTENTION_IN_MASK));
    a.stride = a.keys;
    return a;
}

firn_attention firn_cross_attention_backward_of(const firn_kernel_call *call) {
    firn_attention a = {.query = {&call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_QUERY], 0},
                        .key = {&call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_KEY], 0},
                        .value = {&call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_VALUE], 0},
                        .dquery = {&call->outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DQUERY], 0},
                        .dkey = {&call->outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DKEY], 0},
                        .dvalue = {&call->outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_DVALUE], 0},
                        .y = &call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_DY],
                        .row_max = call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_MAX].data,
                        .row_sum = call->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_SUM].data,
                        .scratch = call->outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_SCRATCH].data};
    settings_of(&a, call, firn_call_input(call, FIRN_CROSS_ATTENTION_BACKWARD_IN_SLOPES));
    separate_settings_of(&a, firn_call_input(call, FIRN_CROSS_ATTENTION_BACKWARD_IN_MASK));
    a.stride = a.keys > a.queries ? a.keys : a.queries;
    return a;
}

firn_matrix firn_attention_part(const firn_attention *a, firn_attention_heads heads, size_t batch, size_t number) {
    const firn_tensor *tensor = heads.tensor;
    const size_t width = tensor->dims[2];
    return (firn_matrix){tensor->data, tensor->type, batch * tensor->dims[1] * width + (heads.first + number) * a->size,
                         width, 1};
}

/* --- the matrices of a head: [T][D], from the first step to the last ---------------------------------------------- */

static firn_matrix queries(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->query, h->batch, h->query);
}

static firn_matrix keys(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->key, h->batch, h->key);
}

static firn_matrix values(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->value, h->batch, h->key);
}

/* y or dy */
static firn_matrix outputs(const firn_attention *a, const head *h) {
    return firn_attention_part(a, (firn_attention_heads){a->y, 0}, h->batch, h->query);
}

static firn_matrix from_row(firn_matrix m, size_t row) {
    m.first += row * m.row_step;
    return m;
}

/* D of each query, stored after the two blocks; backward only. */
static float *projections(const firn_attention *a, const head *h) {
    return h->gradients + a->rows * a->stride;
}

/* --- blocks of rows ----------------------------------------------------------------------------------------------- */

/* Computes block[r][column] = factor * left[r] . right[column] for the columns [begin, end); rows of both have D
 * elements. Columns that the causal mask excludes may be computed too; they are never read. */
static void multiply_rows(const firn_attention *a, float *block, firn_matrix left, size_t rows, firn_matrix right,
                          size_t begin, size_t end, uint8_t reduction, float factor) {
    firn_product product = {.left = left,
                            .right = firn_transposed(from_row(right, begin)),
                            .rows = rows,
                            .columns = end - begin,
                            .terms = a->size,
                            .present = FIRN_TERMS_ALL,
                            .reduction = a->call->reductions[reduction]};
    firn_tile tile;
    for (size_t number = 0; number < firn_product_tiles(&product); number++) {
        firn_product_tile(&product, number, &tile);
        for (size_t row = 0; row < tile.rows; row++)
            for (size_t column = 0; column < tile.columns; column++)
                block[(tile.row + row) * a->stride + begin + tile.column + column] = factor * tile.values[row][column];
    }
}

/* Adds slope * (key - query) to scores whose rows are queries from `row` on and whose columns are keys, or the other
 * way round. */
static void add_slopes(const firn_attention *a, const head *h, float *block, size_t row, size_t rows, size_t begin,
                       size_t end, bool rows_are_keys) {
    if (a->slopes == NULL)
        return;
    const float slope = rows_are_keys ? -a->slopes[h->query] : a->slopes[h->query];
    for (size_t r = 0; r < rows; r++) {
        float *scores = block + r * a->stride;
        const float origin = (float)(a->position + row + r);
        for (size_t column = begin; column < end; column++)
            scores[column] = firn_fma(slope, (float)column - origin, scores[column]);
    }
}

/* Adds the mask to scores, likewise. */
static void add_mask(const firn_attention *a, const head *h, float *block, size_t row, size_t rows, size_t begin,
                     size_t end, bool rows_are_keys) {
    const float *mask = firn_attention_mask(a, h->batch, h->query);
    if (mask == NULL)
        return;
    const size_t row_step = rows_are_keys ? 1 : a->keys, column_step = rows_are_keys ? a->keys : 1;
    for (size_t r = 0; r < rows; r++) {
        float *scores = block + r * a->stride;
        const float *added = mask + (row + r) * row_step;
        for (size_t column = begin; column < end; column++)
            scores[column] = scores[column] + added[column * column_step];
    }
}

/* Computes the scores of some queries (rows) and keys, or of some keys (rows) and queries. */
static void multiply_scores(const firn_attention *a, const head *h, size_t row, size_t rows, size_t begin, size_t end,
                            bool rows_are_keys) {
    const firn_matrix q = queries(a, h), k = keys(a, h);
    multiply_rows(a, h->probabilities, from_row(rows_are_keys ? k : q, row), rows, rows_are_keys ? q : k, begin, end,
                  SCORES, a->scale);
    add_slopes(a, h, h->probabilities, row, rows, begin, end, rows_are_keys);
    add_mask(a, h, h->probabilities, row, rows, begin, end, rows_are_keys);
}

/* Describes the product of the block and right. With the causal mask, row r of the block has only the terms that the
 * mask permits. */
static firn_product block_product(const firn_attention *a, const float *block, size_t rows, firn_matrix right,
                                  size_t diagonal, firn_terms present, uint8_t reduction) {
    return (firn_product){.left = {block, FIRN_FLOAT32, 0, a->stride, 1},
                          .right = right,
                          .rows = rows,
                          .columns = a->size,
                          .terms = present == FIRN_TERMS_UP_TO_DIAGONAL ? a->keys : a->queries,
                          .present = a->causal ? present : FIRN_TERMS_ALL,
                          .diagonal = diagonal,
                          .reduction = a->call->reductions[reduction]};
}

/* out[row][column] = factor * sum over heads of sum over terms of left[row][term] right[term][column], rounded once.
 * The heads of a group are consecutive, both in the scratch and in each position. */
typedef struct combination {
    firn_product product; /* product of the first head */
    size_t heads, left_step, right_step;
    float factor;
    firn_matrix out;
    void *out_data;
} combination;

static void combine_tile(const combination *c, size_t number) {
    firn_tile total, tile;
    firn_product product = c->product;
    firn_product_tile(&product, number, &total);
    for (size_t head = 1; head < c->heads; head++) {
        product.left.first += c->left_step;
        product.right.first += c->right_step;
        firn_product_tile(&product, number, &tile);
        for (size_t row = 0; row < tile.rows; row++)
            for (size_t column = 0; column < tile.columns; column++)
                total.values[row][column] += tile.values[row][column];
    }
    for (size_t row = 0; row < total.rows; row++) {
        for (size_t column = 0; column < total.columns; column++)
            total.values[row][column] *= c->factor;
        firn_narrow(c->out_data, c->out.type, c->out.first + (total.row + row) * c->out.row_step + total.column,
                    total.values[row], total.columns);
    }
}

static void combine(const combination *c) {
    for (size_t number = 0; number < firn_product_tiles(&c->product); number++)
        combine_tile(c, number);
}

/* --- softmax and dropout of a row --------------------------------------------------------------------------------- */

/* Returns the number of keys that a query sees. */
static size_t seen(const firn_attention *a, size_t query) {
    return a->causal ? firn_smaller(query + 1, a->keys) : a->keys;
}

/* Returns the first query that sees a key; behind the last one if none does. */
static size_t first_seeing(const firn_attention *a, size_t key) {
    return a->causal ? firn_smaller(key, a->queries) : 0;
}

/* Replaces the scores of one query by e^(score - maximum). */
static void exponentials(const firn_attention *a, float *scores, size_t count, float maximum) {
    for (size_t i = 0; i < count; i++)
        scores[i] = firn_exp_inline(scores[i] - maximum);
    firn_block_round(a->softmax_type, scores, count);
}

/* Replaces the exponentials of one query by probabilities. */
static void normalise(const firn_attention *a, float *x, size_t count, float sum) {
    for (size_t i = 0; i < count; i++)
        x[i] /= sum;
    firn_block_round(a->type, x, count);
}

/* Replaces the scores of one key by probabilities, using the maximum and the sum of each query. */
static void normalise_across(const firn_attention *a, float *scores, size_t count, const float *maxima,
                             const float *sums) {
    for (size_t i = 0; i < count; i++)
        scores[i] = firn_exp_inline(scores[i] - maxima[i]);
    firn_block_round(a->softmax_type, scores, count);
    for (size_t i = 0; i < count; i++)
        scores[i] /= sums[i];
    firn_block_round(a->type, scores, count);
}

/* Applies dropout to the keys that a query sees. */
static void drop(const firn_attention *a, const head *h, float *x, size_t count, size_t query) {
    float factors[FIRN_BLOCK];
    if (a->dropout_rate == 0.0f)
        return;
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        size_t run = firn_smaller(FIRN_BLOCK, count - at);
        firn_block_dropout_factors(&a->rng, firn_attention_element(a, h->row + query, at), a->dropout_rate, factors,
                                   run);
        for (size_t i = 0; i < run; i++)
            x[at + i] = firn_dropped(x[at + i], factors[i]);
    }
}

/* --- tasks: the query heads of one key head ----------------------------------------------------------------------- */

/* Returns a query head with its part of the scratch, which has scratch_rows rows for each. */
static head head_of(const firn_attention *a, size_t task, size_t member, size_t scratch_rows) {
    head h = {.batch = task / a->kv_heads, .key = task % a->kv_heads};
    h.query = h.key * a->group + member;
    h.row = firn_attention_row(a, h.batch, h.query);
    h.probabilities = a->scratch + (h.batch * a->heads + h.query) * scratch_rows * a->stride;
    h.gradients = h.probabilities + a->rows * a->stride;
    return h;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void softmax_row(const firn_attention *a, const head *h, float *scores, size_t query) {
    float *maximum = a->new_row_max + h->row + query;
    float *total = a->new_row_sum + h->row + query;
    const size_t count = seen(a, query);
    firn_sum sum;
    firn_block_round(a->softmax_type, scores, count);
    *maximum = firn_block_maximum(scores[0], scores, count);
    exponentials(a, scores, count, *maximum);
    firn_sum_begin(&sum);
    firn_sum_add_many(&sum, scores, count);
    *total = firn_sum_end(&sum);
    normalise(a, scores, count, *total);
    drop(a, h, scores, count, query);
    firn_block_round(a->type, scores, count);
}

static void attention_block(const firn_attention *a, const head *h, size_t query) {
    const size_t rows = firn_smaller(a->rows, a->queries - query);
    multiply_scores(a, h, query, rows, 0, seen(a, query + rows - 1), false);
    for (size_t row = 0; row < rows; row++)
        softmax_row(a, h, h->probabilities + row * a->stride, query + row);
    combination c = {.heads = 1, .factor = 1.0f, .out_data = a->y->data};
    c.product = block_product(a, h->probabilities, rows, values(a, h), query, FIRN_TERMS_UP_TO_DIAGONAL, VALUES);
    c.out = from_row(outputs(a, h), query);
    combine(&c);
}

static void attention_heads(void *argument, size_t begin, size_t end) {
    const firn_attention *a = argument;
    for (size_t task = begin; task < end; task++)
        for (size_t member = 0; member < a->group; member++) {
            const head h = head_of(a, task, member, a->rows);
            for (size_t query = 0; query < a->queries; query += a->rows)
                attention_block(a, &h, query);
        }
}

/* Returns the multiplications of one product, for the query heads that share a key head. */
static uint64_t product_cost(const firn_attention *a) {
    return (uint64_t)a->group * a->queries * a->keys * a->size;
}

/* y = dropout(softmax(scale q k^T)) v */
void firn_kernel_attention(const firn_kernel_call *call) {
    firn_attention a = firn_attention_of(call);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 2 * product_cost(&a), attention_heads, &a);
}

void firn_kernel_cross_attention(const firn_kernel_call *call) {
    firn_attention a = firn_cross_attention_of(call);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 2 * product_cost(&a), attention_heads, &a);
}

/* --- forward, over a cache ---------------------------------------------------------------------------------------- */

size_t firn_cached_attention_first(const firn_cached_attention *c) {
    return firn_smaller(firn_position(&c->a.call->inputs[FIRN_CACHED_ATTENTION_IN_LENGTH]), c->a.stride);
}

void firn_cached_attention_store(const firn_cached_attention *c) {
    const firn_kernel_call *call = c->a.call;
    const firn_tensor *qkv = &call->inputs[FIRN_CACHED_ATTENTION_IN_QKV];
    const firn_tensor *cache = &call->outputs[FIRN_CACHED_ATTENTION_OUT_CACHE];
    const size_t rows = cache->dims[1], width = cache->dims[2], heads_width = c->a.heads * c->a.size;
    for (size_t i = 0; i < firn_smaller(c->tokens, rows - c->first); i++)
        firn_copy(cache, (c->first + i) * width, qkv, i * qkv->dims[2] + heads_width, width);
}

void firn_cached_attention_take(firn_cached_attention *c, size_t query) {
    const firn_kernel_call *call = c->a.call;
    const firn_tensor *qkv = &call->inputs[FIRN_CACHED_ATTENTION_IN_QKV];
    const firn_tensor *y = &call->outputs[FIRN_CACHED_ATTENTION_OUT_Y];
    const size_t rows = call->outputs[FIRN_CACHED_ATTENTION_OUT_CACHE].dims[1];
    c->query.data = (uint8_t *)qkv->data + query * qkv->dims[2] * firn_type_bytes(qkv->type);
    c->y.data = (uint8_t *)y->data + query * y->dims[2] * firn_type_bytes(y->type);
    c->a.position = c->first + query;
    c->a.keys = firn_smaller(c->first + query + 1, rows);
}

/* The part of a tensor that one token has. */
static firn_tensor of_one_token(const firn_tensor *tensor, uint32_t dims[3]) {
    dims[0] = dims[1] = 1;
    dims[2] = tensor->dims[2];
    return (firn_tensor){.elements = dims[2], .dims = dims, .type = tensor->type, .rank = 3};
}

void firn_cached_attention_of(firn_cached_attention *c, const firn_kernel_call *call) {
    const firn_tensor *qkv = &call->inputs[FIRN_CACHED_ATTENTION_IN_QKV];
    const firn_tensor *cache = &call->outputs[FIRN_CACHED_ATTENTION_OUT_CACHE];
    const firn_tensor *slopes = firn_call_input(call, FIRN_CACHED_ATTENTION_IN_SLOPES);
    const size_t kv_heads = (size_t)call->integers[FIRN_CACHED_ATTENTION_KV_HEADS];
    firn_attention *a = &c->a;
    c->tokens = qkv->dims[1];
    c->query = of_one_token(qkv, c->query_dims);
    c->y = of_one_token(&call->outputs[FIRN_CACHED_ATTENTION_OUT_Y], c->y_dims);
    *a = (firn_attention){.call = call,
                          .query = {&c->query, 0},
                          .key = {cache, 0},
                          .value = {cache, kv_heads},
                          .y = &c->y,
                          .batch = 1,
                          .queries = 1,
                          .heads = (size_t)call->integers[FIRN_CACHED_ATTENTION_HEADS],
                          .kv_heads = kv_heads,
                          .size = cache->dims[2] / (2 * kv_heads),
                          .rows = 1,
                          .stride = cache->dims[1],
                          .type = cache->type,
                          .scale = call->reals[FIRN_CACHED_ATTENTION_SCALE],
                          .scratch = call->outputs[FIRN_CACHED_ATTENTION_OUT_SCRATCH].data};
    a->slopes = floats_of(slopes);
    a->group = a->heads / kv_heads;
    a->softmax_type = call->integers[FIRN_CACHED_ATTENTION_HALF_SOFTMAX] != 0 ? cache->type : FIRN_FLOAT32;
    a->new_row_max = a->scratch + a->heads * a->stride;
    a->new_row_sum = a->new_row_max + a->heads;
}

_Static_assert((int)FIRN_CACHED_ATTENTION_REDUCTION_SCORES == (int)SCORES &&
                   (int)FIRN_CACHED_ATTENTION_REDUCTION_VALUES == (int)VALUES,
               "attention_heads reads the reductions of all three ops");

/* Each query is computed by itself, as if it were the last of a sequence: so its bits do not depend on which other
 * tokens are in its call. */
void firn_kernel_cached_attention(const firn_kernel_call *call) {
    firn_cached_attention c;
    firn_cached_attention_of(&c, call);
    c.first = firn_cached_attention_first(&c);
    firn_cached_attention_store(&c);
    for (size_t query = 0; query < c.tokens; query++) {
        firn_cached_attention_take(&c, query);
        firn_parallel_run(&call->parallel, c.a.kv_heads, 2 * product_cost(&c.a), attention_heads, &c.a);
    }
}

/* --- backward, queries -------------------------------------------------------------------------------------------- */

/* Input: rows of the scratch with scores and dP. Output: gradients of the scores, and D in the head's projections. */
static void score_gradients_of_query(const firn_attention *a, const head *h, size_t row, size_t query) {
    const float *maxima = a->row_max, *sums = a->row_sum;
    const size_t count = seen(a, query);
    float *p = h->probabilities + row * a->stride, *gradient = h->gradients + row * a->stride;
    float products[FIRN_BLOCK];
    firn_sum projection;
    firn_block_round(a->softmax_type, p, count);
    exponentials(a, p, count, maxima[h->row + query]);
    normalise(a, p, count, sums[h->row + query]);
    drop(a, h, gradient, count, query);
    firn_sum_begin(&projection);
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        size_t run = firn_smaller(FIRN_BLOCK, count - at);
        for (size_t i = 0; i < run; i++)
            products[i] = p[at + i] * gradient[at + i];
        firn_sum_add_many(&projection, products, run);
    }
    const float d = firn_sum_end(&projection);
    projections(a, h)[query] = d;
    for (size_t i = 0; i < count; i++)
        gradient[i] = p[i] * (gradient[i] - d);
    firn_block_round(a->type, gradient, count);
}

/* dq_i = scale sum_j dS_ij k_j */
static void query_block(const firn_attention *a, const head *h, size_t query) {
    const size_t rows = firn_smaller(a->rows, a->queries - query), end = seen(a, query + rows - 1);
    multiply_scores(a, h, query, rows, 0, end, false);
    multiply_rows(a, h->gradients, from_row(outputs(a, h), query), rows, values(a, h), 0, end, VALUES, 1.0f);
    for (size_t row = 0; row < rows; row++)
        score_gradients_of_query(a, h, row, query + row);
    combination c = {.heads = 1, .factor = a->scale, .out_data = a->dquery.tensor->data};
    c.product = block_product(a, h->gradients, rows, keys(a, h), query, FIRN_TERMS_UP_TO_DIAGONAL, QUERIES_AND_KEYS);
    c.out = from_row(firn_attention_part(a, a->dquery, h->batch, h->query), query);
    combine(&c);
}

/* --- backward, keys and values ------------------------------------------------------------------------------------ */

/* Dropout factors of at most so many keys and queries are drawn at a time. */
enum { DRAWN = FIRN_TILE_ROWS };

/* Draws dropout factors as [key][query]. They are drawn query by query, because consecutive random numbers belong to
 * consecutive keys. */
static void draw_factors(const firn_attention *a, const head *h, size_t key, size_t keys, size_t query, size_t queries,
                         float factors[DRAWN][DRAWN]) {
    float drawn[DRAWN];
    for (size_t i = 0; i < queries; i++) {
        firn_block_dropout_factors(&a->rng, firn_attention_element(a, h->row + query + i, key), a->dropout_rate, drawn,
                                   keys);
        for (size_t j = 0; j < keys; j++)
            factors[j][i] = drawn[j];
    }
}

/* Replaces the scores and dP of one key and some of its queries by dropped probabilities and gradients of the
 * scores. */
static void score_gradients_of_key(const firn_attention *a, const head *h, size_t row, size_t query, size_t count,
                                   const float *factors) {
    const float *maxima = a->row_max + h->row + query, *sums = a->row_sum + h->row + query;
    const float *d = projections(a, h) + query;
    float *p = h->probabilities + row * a->stride + query, *gradient = h->gradients + row * a->stride + query;
    firn_block_round(a->softmax_type, p, count);
    normalise_across(a, p, count, maxima, sums);
    for (size_t i = 0; i < count; i++)
        gradient[i] = p[i] * (firn_dropped(gradient[i], factors[i]) - d[i]);
    firn_block_round(a->type, gradient, count);
    for (size_t i = 0; i < count; i++)
        p[i] = firn_dropped(p[i], factors[i]);
    firn_block_round(a->type, p, count);
}

/* The same for at most DRAWN keys, which have consecutive rows of the block, and all queries that see at least one of
 * them. */
static void score_gradients_of_keys(const firn_attention *a, const head *h, size_t row, size_t key, size_t keys) {
    float factors[DRAWN][DRAWN];
    for (size_t query = first_seeing(a, key); query < a->queries; query += DRAWN) {
        const size_t count = firn_smaller(DRAWN, a->queries - query);
        draw_factors(a, h, key, keys, query, count, factors);
        for (size_t i = 0; i < keys; i++) {
            const size_t first = first_seeing(a, key + i), skip = first > query ? first - query : 0;
            if (skip < count)
                score_gradients_of_key(a, h, row + i, query + skip, count - skip, &factors[i][skip]);
        }
    }
}

/* Returns the rows of each query head's scratch: two blocks and a number for each query. */
static size_t backward_scratch(const firn_attention *a) {
    return 2 * a->rows + 1;
}

/* dk_j = scale sum_i dS_ij q_i;  dv_j = sum_i P_ij dy_i; over all query heads of the key head */
static void key_block(const firn_attention *a, size_t task, size_t key) {
    const size_t rows = firn_smaller(a->rows, a->keys - key), begin = first_seeing(a, key);
    for (size_t member = 0; begin < a->queries && member < a->group; member++) {
        const head h = head_of(a, task, member, backward_scratch(a));
        multiply_scores(a, &h, key, rows, begin, a->queries, true);
        multiply_rows(a, h.gradients, from_row(values(a, &h), key), rows, outputs(a, &h), begin, a->queries, VALUES,
                      1.0f);
        for (size_t row = 0; row < rows; row += DRAWN)
            score_gradients_of_keys(a, &h, row, key + row, firn_smaller(DRAWN, rows - row));
    }
    const head h = head_of(a, task, 0, backward_scratch(a));
    combination c = {.heads = a->group, .right_step = a->size, .out_data = a->dkey.tensor->data};
    c.left_step = backward_scratch(a) * a->stride;
    c.product = block_product(a, h.gradients, rows, queries(a, &h), key, FIRN_TERMS_FROM_DIAGONAL, QUERIES_AND_KEYS);
    c.out = from_row(firn_attention_part(a, a->dkey, h.batch, h.key), key);
    c.factor = a->scale;
    combine(&c);
    c.product = block_product(a, h.probabilities, rows, outputs(a, &h), key, FIRN_TERMS_FROM_DIAGONAL, VALUES);
    c.out_data = a->dvalue.tensor->data;
    c.out = from_row(firn_attention_part(a, a->dvalue, h.batch, h.key), key);
    c.factor = 1.0f;
    combine(&c);
}

static void attention_backward_heads(void *argument, size_t begin, size_t end) {
    const firn_attention *a = argument;
    for (size_t task = begin; task < end; task++) {
        for (size_t member = 0; member < a->group; member++) {
            const head h = head_of(a, task, member, backward_scratch(a));
            for (size_t query = 0; query < a->queries; query += a->rows)
                query_block(a, &h, query);
        }
        for (size_t key = 0; key < a->keys; key += a->rows)
            key_block(a, task, key);
    }
}

/* dP = dropout(dy v^T), D = sum_j P dP, dS = P (dP - D), and the products of dS and P with q, k and dy */
void firn_kernel_attention_backward(const firn_kernel_call *call) {
    firn_attention a = firn_attention_backward_of(call);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 5 * product_cost(&a), attention_backward_heads, &a);
}

void firn_kernel_cross_attention_backward(const firn_kernel_call *call) {
    firn_attention a = firn_cross_attention_backward_of(call);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 5 * product_cost(&a), attention_backward_heads, &a);
}
