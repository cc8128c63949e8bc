/* Attention as one op: scores, softmax, dropout, the product with the values, and the gradients of all of these.
 * Some rows of scores at a time are computed in the scratch tensor of their head: as many as the plan gives room for,
 * on which no result depends. The backward pass computes them again, so no T x T matrix is kept. Freestanding. */
#include "runtime/kernels/attention.h"

#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* The reductions of both ops, as plan/ops.def names them; only the backward op has the last one. */
enum {
    SCORES = FIRN_ATTENTION_REDUCTION_SCORES,
    VALUES = FIRN_ATTENTION_REDUCTION_VALUES,
    QUERIES_AND_KEYS = FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS
};

#define AS_BACKWARD(NAME) (FIRN_ATTENTION_BACKWARD_##NAME == FIRN_ATTENTION_##NAME)
_Static_assert(AS_BACKWARD(HEADS) && AS_BACKWARD(KV_HEADS) && AS_BACKWARD(CAUSAL) && AS_BACKWARD(HALF_SOFTMAX) &&
                   AS_BACKWARD(REDUCTION_SCORES) && AS_BACKWARD(REDUCTION_VALUES) && AS_BACKWARD(RNG_ID) &&
                   AS_BACKWARD(ROWS) && AS_BACKWARD(SCALE) && AS_BACKWARD(DROPOUT_RATE),
               "firn_attention_of reads the attributes of both ops");

/* A query head and its part of the scratch. */
typedef struct head {
    size_t batch, query, key; /* query head, and the key head it reads */
    size_t row;               /* position of its first query in row_max and row_sum */
    float *probabilities;     /* [rows][T]: scores, then probabilities; rows are queries, later keys */
    float *gradients;         /* [rows][T]: gradients of the probabilities, then of the scores; backward only */
} head;

firn_attention firn_attention_of(const firn_kernel_call *call, uint8_t qkv_position, uint8_t slopes_position) {
    const firn_tensor *qkv = &call->inputs[qkv_position], *slopes = firn_call_input(call, slopes_position);
    firn_attention a = {.call = call, .qkv = qkv, .batch = qkv->dims[0], .steps = qkv->dims[1]};
    a.heads = (size_t)call->integers[FIRN_ATTENTION_HEADS];
    a.kv_heads = (size_t)call->integers[FIRN_ATTENTION_KV_HEADS];
    a.rows = (size_t)call->integers[FIRN_ATTENTION_ROWS];
    a.size = qkv->dims[2] / (a.heads + 2 * a.kv_heads);
    a.group = a.heads / a.kv_heads;
    a.causal = call->integers[FIRN_ATTENTION_CAUSAL] != 0;
    a.softmax_type = call->integers[FIRN_ATTENTION_HALF_SOFTMAX] != 0 ? qkv->type : FIRN_FLOAT32;
    a.scale = call->reals[FIRN_ATTENTION_SCALE];
    a.dropout_rate = call->reals[FIRN_ATTENTION_DROPOUT_RATE];
    a.slopes = slopes != NULL ? slopes->data : NULL;
    a.rng = (firn_rng){call->seed, (uint32_t)call->integers[FIRN_ATTENTION_RNG_ID], call->moment->global_step,
                       call->moment->micro_step};
    return a;
}

firn_matrix firn_attention_part(const firn_attention *a, const firn_tensor *tensor, size_t batch, size_t number) {
    const size_t width = tensor->dims[2];
    return (firn_matrix){tensor->data, tensor->type, batch * a->steps * width + number * a->size, width, 1};
}

/* --- the matrices of a head: [T][D], from the first step to the last ---------------------------------------------- */

static firn_matrix queries(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->qkv, h->batch, h->query);
}

static firn_matrix keys(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->qkv, h->batch, firn_attention_key_part(a, h->key));
}

static firn_matrix values(const firn_attention *a, const head *h) {
    return firn_attention_part(a, a->qkv, h->batch, firn_attention_value_part(a, h->key));
}

/* y or dy */
static firn_matrix outputs(const firn_attention *a, const head *h, const firn_tensor *y) {
    return firn_attention_part(a, y, h->batch, h->query);
}

static firn_matrix from_row(firn_matrix m, size_t row) {
    m.first += row * m.row_step;
    return m;
}

/* D of each query, stored after the two blocks; backward only. */
static float *projections(const firn_attention *a, const head *h) {
    return h->gradients + a->rows * a->steps;
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
                block[(tile.row + row) * a->steps + begin + tile.column + column] = factor * tile.values[row][column];
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
        float *scores = block + r * a->steps;
        const float origin = (float)(row + r);
        for (size_t column = begin; column < end; column++)
            scores[column] = firn_fma(slope, (float)column - origin, scores[column]);
    }
}

/* Computes the scores of some queries (rows) and keys, or of some keys (rows) and queries. */
static void multiply_scores(const firn_attention *a, const head *h, size_t row, size_t rows, size_t begin, size_t end,
                            bool rows_are_keys) {
    const firn_matrix q = queries(a, h), k = keys(a, h);
    multiply_rows(a, h->probabilities, from_row(rows_are_keys ? k : q, row), rows, rows_are_keys ? q : k, begin, end,
                  SCORES, a->scale);
    add_slopes(a, h, h->probabilities, row, rows, begin, end, rows_are_keys);
}

/* Describes the product of the block and right. With the causal mask, row r of the block has only the terms that the
 * mask permits. */
static firn_product block_product(const firn_attention *a, const float *block, size_t rows, firn_matrix right,
                                  size_t diagonal, firn_terms present, uint8_t reduction) {
    return (firn_product){.left = {block, FIRN_FLOAT32, 0, a->steps, 1},
                          .right = right,
                          .rows = rows,
                          .columns = a->size,
                          .terms = a->steps,
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
    return a->causal ? query + 1 : a->steps;
}

/* Returns the first query that sees a key. */
static size_t first_seeing(const firn_attention *a, size_t key) {
    return a->causal ? key : 0;
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
    firn_block_round(a->qkv->type, x, count);
}

/* Replaces the scores of one key by probabilities, using the maximum and the sum of each query. */
static void normalise_across(const firn_attention *a, float *scores, size_t count, const float *maxima,
                             const float *sums) {
    for (size_t i = 0; i < count; i++)
        scores[i] = firn_exp_inline(scores[i] - maxima[i]);
    firn_block_round(a->softmax_type, scores, count);
    for (size_t i = 0; i < count; i++)
        scores[i] /= sums[i];
    firn_block_round(a->qkv->type, scores, count);
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

/* Returns a query head with its part of the scratch, which has scratch_rows rows of T floats for each. */
static head head_of(const firn_attention *a, size_t task, size_t member, const firn_tensor *scratch,
                    size_t scratch_rows) {
    head h = {.batch = task / a->kv_heads, .key = task % a->kv_heads};
    float *floats = scratch->data;
    h.query = h.key * a->group + member;
    h.row = firn_attention_row(a, h.batch, h.query);
    h.probabilities = floats + h.row * scratch_rows;
    h.gradients = h.probabilities + a->rows * a->steps;
    return h;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void softmax_row(const firn_attention *a, const head *h, float *scores, size_t query) {
    float *maximum = (float *)a->call->outputs[FIRN_ATTENTION_OUT_ROW_MAX].data + h->row + query;
    float *total = (float *)a->call->outputs[FIRN_ATTENTION_OUT_ROW_SUM].data + h->row + query;
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
    firn_block_round(a->qkv->type, scores, count);
}

static void attention_block(const firn_attention *a, const head *h, size_t query) {
    const size_t rows = firn_smaller(a->rows, a->steps - query);
    const firn_tensor *y = &a->call->outputs[FIRN_ATTENTION_OUT_Y];
    multiply_scores(a, h, query, rows, 0, seen(a, query + rows - 1), false);
    for (size_t row = 0; row < rows; row++)
        softmax_row(a, h, h->probabilities + row * a->steps, query + row);
    combination c = {.heads = 1, .factor = 1.0f, .out_data = y->data};
    c.product = block_product(a, h->probabilities, rows, values(a, h), query, FIRN_TERMS_UP_TO_DIAGONAL, VALUES);
    c.out = from_row(outputs(a, h, y), query);
    combine(&c);
}

static void attention_heads(void *argument, size_t begin, size_t end) {
    const firn_attention *a = argument;
    for (size_t task = begin; task < end; task++)
        for (size_t member = 0; member < a->group; member++) {
            const head h = head_of(a, task, member, &a->call->outputs[FIRN_ATTENTION_OUT_SCRATCH], a->rows);
            for (size_t query = 0; query < a->steps; query += a->rows)
                attention_block(a, &h, query);
        }
}

/* Returns the multiplications of one product, for the query heads that share a key head. */
static uint64_t product_cost(const firn_attention *a) {
    return (uint64_t)a->group * a->steps * a->steps * a->size;
}

/* y = dropout(softmax(scale q k^T)) v */
void firn_kernel_attention(const firn_kernel_call *call) {
    firn_attention a = firn_attention_of(call, FIRN_ATTENTION_IN_QKV, FIRN_ATTENTION_IN_SLOPES);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 2 * product_cost(&a), attention_heads, &a);
}

/* --- backward, queries -------------------------------------------------------------------------------------------- */

/* Input: rows of the scratch with scores and dP. Output: gradients of the scores, and D in the head's projections. */
static void score_gradients_of_query(const firn_attention *a, const head *h, size_t row, size_t query) {
    const float *maxima = a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX].data;
    const float *sums = a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM].data;
    const size_t count = seen(a, query);
    float *p = h->probabilities + row * a->steps, *gradient = h->gradients + row * a->steps;
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
    firn_block_round(a->qkv->type, gradient, count);
}

/* dq_i = scale sum_j dS_ij k_j */
static void query_block(const firn_attention *a, const head *h, size_t query) {
    const firn_tensor *dy = &a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_DY];
    const firn_tensor *dqkv = &a->call->outputs[FIRN_ATTENTION_BACKWARD_OUT_DQKV];
    const size_t rows = firn_smaller(a->rows, a->steps - query), end = seen(a, query + rows - 1);
    multiply_scores(a, h, query, rows, 0, end, false);
    multiply_rows(a, h->gradients, from_row(outputs(a, h, dy), query), rows, values(a, h), 0, end, VALUES, 1.0f);
    for (size_t row = 0; row < rows; row++)
        score_gradients_of_query(a, h, row, query + row);
    combination c = {.heads = 1, .factor = a->scale, .out_data = dqkv->data};
    c.product = block_product(a, h->gradients, rows, keys(a, h), query, FIRN_TERMS_UP_TO_DIAGONAL, QUERIES_AND_KEYS);
    c.out = from_row(firn_attention_part(a, dqkv, h->batch, h->query), query);
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
    const float *maxima = (const float *)a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX].data + h->row + query;
    const float *sums = (const float *)a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM].data + h->row + query;
    const float *d = projections(a, h) + query;
    float *p = h->probabilities + row * a->steps + query, *gradient = h->gradients + row * a->steps + query;
    firn_block_round(a->softmax_type, p, count);
    normalise_across(a, p, count, maxima, sums);
    for (size_t i = 0; i < count; i++)
        gradient[i] = p[i] * (firn_dropped(gradient[i], factors[i]) - d[i]);
    firn_block_round(a->qkv->type, gradient, count);
    for (size_t i = 0; i < count; i++)
        p[i] = firn_dropped(p[i], factors[i]);
    firn_block_round(a->qkv->type, p, count);
}

/* The same for at most DRAWN keys, which have consecutive rows of the block, and all queries that see at least one of
 * them. */
static void score_gradients_of_keys(const firn_attention *a, const head *h, size_t row, size_t key, size_t keys) {
    float factors[DRAWN][DRAWN];
    for (size_t query = first_seeing(a, key); query < a->steps; query += DRAWN) {
        const size_t count = firn_smaller(DRAWN, a->steps - query);
        draw_factors(a, h, key, keys, query, count, factors);
        for (size_t i = 0; i < keys; i++) {
            const size_t first = first_seeing(a, key + i), skip = first > query ? first - query : 0;
            if (skip < count)
                score_gradients_of_key(a, h, row + i, query + skip, count - skip, &factors[i][skip]);
        }
    }
}

/* Returns the rows of T floats of each query head's scratch: two blocks and a number for each query. */
static size_t backward_scratch(const firn_attention *a) {
    return 2 * a->rows + 1;
}

/* dk_j = scale sum_i dS_ij q_i;  dv_j = sum_i P_ij dy_i; over all query heads of the key head */
static void key_block(const firn_attention *a, size_t task, size_t key) {
    const firn_tensor *dy = &a->call->inputs[FIRN_ATTENTION_BACKWARD_IN_DY];
    const firn_tensor *dqkv = &a->call->outputs[FIRN_ATTENTION_BACKWARD_OUT_DQKV];
    const firn_tensor *scratch = &a->call->outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH];
    const size_t rows = firn_smaller(a->rows, a->steps - key), begin = first_seeing(a, key);
    for (size_t member = 0; member < a->group; member++) {
        const head h = head_of(a, task, member, scratch, backward_scratch(a));
        multiply_scores(a, &h, key, rows, begin, a->steps, true);
        multiply_rows(a, h.gradients, from_row(values(a, &h), key), rows, outputs(a, &h, dy), begin, a->steps, VALUES,
                      1.0f);
        for (size_t row = 0; row < rows; row += DRAWN)
            score_gradients_of_keys(a, &h, row, key + row, firn_smaller(DRAWN, rows - row));
    }
    const head h = head_of(a, task, 0, scratch, backward_scratch(a));
    combination c = {.heads = a->group, .right_step = a->size, .out_data = dqkv->data};
    c.left_step = backward_scratch(a) * a->steps;
    c.product = block_product(a, h.gradients, rows, queries(a, &h), key, FIRN_TERMS_FROM_DIAGONAL, QUERIES_AND_KEYS);
    c.out = from_row(firn_attention_part(a, dqkv, h.batch, firn_attention_key_part(a, h.key)), key);
    c.factor = a->scale;
    combine(&c);
    c.product = block_product(a, h.probabilities, rows, outputs(a, &h, dy), key, FIRN_TERMS_FROM_DIAGONAL, VALUES);
    c.out = from_row(firn_attention_part(a, dqkv, h.batch, firn_attention_value_part(a, h.key)), key);
    c.factor = 1.0f;
    combine(&c);
}

static void attention_backward_heads(void *argument, size_t begin, size_t end) {
    const firn_attention *a = argument;
    for (size_t task = begin; task < end; task++) {
        for (size_t member = 0; member < a->group; member++) {
            const head h =
                head_of(a, task, member, &a->call->outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH], backward_scratch(a));
            for (size_t query = 0; query < a->steps; query += a->rows)
                query_block(a, &h, query);
        }
        for (size_t key = 0; key < a->steps; key += a->rows)
            key_block(a, task, key);
    }
}

/* dP = dropout(dy v^T), D = sum_j P dP, dS = P (dP - D), and the products of dS and P with q, k and dy */
void firn_kernel_attention_backward(const firn_kernel_call *call) {
    firn_attention a = firn_attention_of(call, FIRN_ATTENTION_BACKWARD_IN_QKV, FIRN_ATTENTION_BACKWARD_IN_SLOPES);
    firn_parallel_run(&call->parallel, a.batch * a.kv_heads, 5 * product_cost(&a), attention_backward_heads, &a);
}
