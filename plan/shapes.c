/* What each op of plan/ops.def takes and gives, in the order of the table; the comment above a row is what the rule
 * here checks. Kernels run blind behind these rules, so a rule may not be looser than what its kernel can be given.
 * Freestanding.
 *
 * Words of the table: "real" is float32 or a half type; N is all leading dimensions taken together, at least one; where
 * a tensor has an extent N alone, any dimensions whose product is N will do, and an output gets the leading dimensions
 * themselves. A real output may have any real type unless the row says which. */
#include "plan/shapes.h"

#include <stddef.h>

#include "plan/errors.h"

/* --- shapes ----------------------------------------------------------------------------------------------------- */

static bool is_real(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32 || firn_type_is_half(shape->type);
}

/* Binary32 of any shape. */
static bool is_single(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32;
}

/* One dimension of that type and extent. */
static bool is_vector(const firn_shape *shape, uint8_t type, uint32_t extent) {
    return shape->type == type && shape->rank == 1 && shape->dims[0] == extent;
}

static uint32_t last_extent(const firn_shape *shape) {
    return shape->dims[shape->rank - 1];
}

/* The product of all extents but the last. Inputs are whole, so it cannot overflow. */
static uint64_t leading_elements(const firn_shape *shape) {
    uint64_t product = 1;
    for (uint8_t i = 0; i + 1 < shape->rank; i++)
        product *= shape->dims[i];
    return product;
}

static uint64_t all_elements(const firn_shape *shape) {
    return leading_elements(shape) * last_extent(shape);
}

/* a ends with the dimensions of b. */
static bool ends_with(const firn_shape *a, const firn_shape *b) {
    if (b->rank > a->rank)
        return false;
    for (uint8_t i = 0; i < b->rank; i++) {
        if (a->dims[a->rank - b->rank + i] != b->dims[i])
            return false;
    }
    return true;
}

static bool same_extents(const firn_shape *a, const firn_shape *b) {
    return a->rank == b->rank && ends_with(a, b);
}

/* x is real[N,C]. */
static bool is_rows(const firn_shape *shape) {
    return is_real(shape) && shape->rank >= 2;
}

/* Fills an output with `rank` extents; those beyond are 0. */
static void set_extents(firn_shape *output, uint8_t rank, const uint32_t *dims) {
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        output->dims[i] = i < rank ? dims[i] : 0;
    output->rank = rank;
}

static void set_like(firn_shape *output, const firn_shape *input) {
    set_extents(output, input->rank, input->dims);
}

static void set_one(firn_shape *output) {
    set_extents(output, 1, (const uint32_t[]){1});
}

/* The leading dimensions of the input, then `last`. */
static void set_last(firn_shape *output, const firn_shape *input, uint32_t last) {
    set_like(output, input);
    output->dims[input->rank - 1] = last;
}

/* The leading dimensions of the input, which has at least two. */
static void set_leading(firn_shape *output, const firn_shape *input) {
    set_extents(output, (uint8_t)(input->rank - 1), input->dims);
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

static bool is_flag(int64_t value) {
    return value == 0 || value == 1;
}

/* An extent: what an unsigned 32-bit number can hold, from `least`. */
static bool is_word(int64_t value, int64_t least) {
    return value >= least && value <= (int64_t)UINT32_MAX;
}

static bool is_rng_id(int64_t value) {
    return value >= 0 && value < (int64_t)FIRN_RNG_ID_END;
}

static bool is_finite(float x) {
    return x - x == 0.0f;
}

static bool is_positive(float x) {
    return x > 0.0f && is_finite(x);
}

static bool is_not_negative(float x) {
    return x >= 0.0f && is_finite(x);
}

/* In [0, 1): a rate of dropout, a beta of Adam. NaN fails. */
static bool is_rate(float x) {
    return x >= 0.0f && x < 1.0f;
}

static bool is_real_type(int64_t value) {
    return value == FIRN_FLOAT32 || value == FIRN_FLOAT16 || value == FIRN_BFLOAT16 || value == FIRN_CBFLOAT16;
}

/* --- elementwise rules that several ops share ------------------------------------------------------------------- */

/* x:real -> y:real of the same extents. */
static int one_to_one(firn_op_signature *s) {
    if (!is_real(&s->inputs[0]) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

/* dy:real, x or y:real -> dx:real, all of the same extents. */
static int two_to_one(firn_op_signature *s) {
    if (!is_real(&s->inputs[0]) || !is_real(&s->inputs[1]) || !is_real(&s->outputs[0]) ||
        !same_extents(&s->inputs[0], &s->inputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

/* A float32 tensor changed in place, whatever its extents. */
static int change_single(firn_op_signature *s) {
    if (!is_single(&s->inputs[0]) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

/* --- casts and products ----------------------------------------------------------------------------------------- */

int firn_shape_cast(firn_op_signature *s) {
    if (s->inputs[0].type == s->outputs[0].type)
        return FIRN_ERROR_OP_SHAPE;
    return one_to_one(s);
}

/* Extents K and O of a weight under its layout. */
static bool weight_extents(const firn_op_signature *s, const firn_shape *weight, uint32_t *k, uint32_t *o) {
    if (!is_real(weight) || weight->rank != 2)
        return false;
    *o = weight->dims[s->integers[FIRN_LINEAR_LAYOUT] == 0 ? 0 : 1];
    *k = weight->dims[s->integers[FIRN_LINEAR_LAYOUT] == 0 ? 1 : 0];
    return true;
}

int firn_shape_linear(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[0], *weight = &s->inputs[1];
    uint32_t k, o;
    if (!is_flag(s->integers[FIRN_LINEAR_LAYOUT]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_rows(x) || !weight_extents(s, weight, &k, &o) || x->type != weight->type || last_extent(x) != k ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    if (s->input_count > 2 && (!is_real(&s->inputs[2]) || !is_vector(&s->inputs[2], s->inputs[2].type, o)))
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[0], x, o);
    return FIRN_OK;
}

int firn_shape_linear_backward_input(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0], *weight = &s->inputs[1];
    uint32_t k, o;
    if (!is_flag(s->integers[FIRN_LINEAR_LAYOUT]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_rows(dy) || !weight_extents(s, weight, &k, &o) || dy->type != weight->type || last_extent(dy) != o ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[0], dy, k);
    return FIRN_OK;
}

int firn_shape_linear_backward_weight(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0], *x = &s->inputs[1];
    if (!is_flag(s->integers[FIRN_LINEAR_LAYOUT]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_rows(dy) || !is_rows(x) || dy->type != x->type || leading_elements(dy) != leading_elements(x) ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    uint32_t k = last_extent(x), o = last_extent(dy);
    bool out_in = s->integers[FIRN_LINEAR_LAYOUT] == 0;
    set_extents(&s->outputs[0], 2, (const uint32_t[]){out_in ? o : k, out_in ? k : o});
    return FIRN_OK;
}

/* --- sums, tables, addition ------------------------------------------------------------------------------------- */

int firn_shape_sum_leading(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[0];
    if (s->integers[FIRN_SUM_LEADING_RANK] < 1 || s->integers[FIRN_SUM_LEADING_RANK] > x->rank)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_real(x) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    uint8_t rank = (uint8_t)s->integers[FIRN_SUM_LEADING_RANK];
    set_extents(&s->outputs[0], rank, &x->dims[x->rank - rank]);
    return FIRN_OK;
}

int firn_shape_embedding(firn_op_signature *s) {
    const firn_shape *ids = &s->inputs[0], *table = &s->inputs[1];
    if (ids->type != FIRN_INT32 || ids->rank == FIRN_RANK_MAX || !is_single(table) || table->rank != 2 ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], ids->rank, ids->dims);
    s->outputs[0].dims[ids->rank] = table->dims[1];
    s->outputs[0].rank++;
    return FIRN_OK;
}

int firn_shape_embedding_backward(firn_op_signature *s) {
    const firn_shape *ids = &s->inputs[0], *dy = &s->inputs[1];
    if (!is_word(s->integers[FIRN_EMBEDDING_ROWS], 1))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (ids->type != FIRN_INT32 || !is_rows(dy) || leading_elements(dy) != all_elements(ids) ||
        !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 2, (const uint32_t[]){(uint32_t)s->integers[FIRN_EMBEDDING_ROWS], last_extent(dy)});
    if (s->input_count > 2 && (!is_single(&s->inputs[2]) || !same_extents(&s->inputs[2], &s->outputs[0])))
        return FIRN_ERROR_OP_SHAPE;
    return FIRN_OK;
}

int firn_shape_leading_rows(firn_op_signature *s) {
    const firn_shape *table = &s->inputs[0];
    if (!is_single(table) || table->rank != 2 || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    if (s->integers[FIRN_LEADING_ROWS_ROWS] < 1 || s->integers[FIRN_LEADING_ROWS_ROWS] > (int64_t)table->dims[0])
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_extents(&s->outputs[0], 2, (const uint32_t[]){(uint32_t)s->integers[FIRN_LEADING_ROWS_ROWS], table->dims[1]});
    return FIRN_OK;
}

int firn_shape_leading_rows_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0];
    if (!is_real(dy) || dy->rank != 2 || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    if (!is_word(s->integers[FIRN_LEADING_ROWS_ROWS], dy->dims[0]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_extents(&s->outputs[0], 2, (const uint32_t[]){(uint32_t)s->integers[FIRN_LEADING_ROWS_ROWS], dy->dims[1]});
    return FIRN_OK;
}

int firn_shape_add(firn_op_signature *s) {
    const firn_shape *a = &s->inputs[0], *b = &s->inputs[1];
    if (!is_real(a) || !is_real(b) || !ends_with(a, b) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], a);
    return FIRN_OK;
}

/* --- layer norm ------------------------------------------------------------------------------------------------- */

/* mean and reciprocal, one of each for every row of x. */
static bool are_row_values(const firn_shape *values, uint8_t count, const firn_shape *x) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_single(&values[i]) || all_elements(&values[i]) != leading_elements(x))
            return false;
    }
    return true;
}

int firn_shape_layer_norm(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[0];
    if (!is_real_type(s->integers[FIRN_LAYER_NORM_AFFINE]) || !is_positive(s->reals[FIRN_LAYER_NORM_EPSILON]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_rows(x) || !is_vector(&s->inputs[1], FIRN_FLOAT32, last_extent(x)) ||
        !is_vector(&s->inputs[2], FIRN_FLOAT32, last_extent(x)) || !is_real(&s->outputs[0]) ||
        !is_single(&s->outputs[1]) || !is_single(&s->outputs[2]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], x);
    set_leading(&s->outputs[1], x);
    set_leading(&s->outputs[2], x);
    return FIRN_OK;
}

int firn_shape_layer_norm_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0], *x = &s->inputs[1];
    if (!is_real_type(s->integers[FIRN_LAYER_NORM_AFFINE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_real(dy) || !is_rows(x) || !same_extents(dy, x) ||
        !is_vector(&s->inputs[2], FIRN_FLOAT32, last_extent(x)) || !are_row_values(&s->inputs[3], 2, x) ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], x);
    return FIRN_OK;
}

int firn_shape_layer_norm_backward_affine(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0], *x = &s->inputs[1];
    if (!is_real_type(s->integers[FIRN_LAYER_NORM_AFFINE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_real(dy) || !is_rows(x) || !same_extents(dy, x) || !are_row_values(&s->inputs[2], 2, x) ||
        !is_real(&s->outputs[0]) || !is_real(&s->outputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 1, (const uint32_t[]){last_extent(x)});
    set_extents(&s->outputs[1], 1, (const uint32_t[]){last_extent(x)});
    return FIRN_OK;
}

/* --- activations and dropout ------------------------------------------------------------------------------------ */

int firn_shape_gelu(firn_op_signature *s) {
    return is_flag(s->integers[FIRN_GELU_FORM]) ? one_to_one(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_gelu_backward(firn_op_signature *s) {
    return is_flag(s->integers[FIRN_GELU_FORM]) ? two_to_one(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_relu(firn_op_signature *s) {
    return one_to_one(s);
}

int firn_shape_relu_backward(firn_op_signature *s) {
    return two_to_one(s);
}

int firn_shape_tanh(firn_op_signature *s) {
    return one_to_one(s);
}

int firn_shape_tanh_backward(firn_op_signature *s) {
    return two_to_one(s);
}

int firn_shape_sigmoid(firn_op_signature *s) {
    return one_to_one(s);
}

int firn_shape_sigmoid_backward(firn_op_signature *s) {
    return two_to_one(s);
}

int firn_shape_silu(firn_op_signature *s) {
    return one_to_one(s);
}

int firn_shape_silu_backward(firn_op_signature *s) {
    return two_to_one(s);
}

int firn_shape_softplus(firn_op_signature *s) {
    return one_to_one(s);
}

int firn_shape_softplus_backward(firn_op_signature *s) {
    return two_to_one(s);
}

int firn_shape_log_softmax(firn_op_signature *s) {
    return is_rows(&s->inputs[0]) ? one_to_one(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_log_softmax_backward(firn_op_signature *s) {
    return is_rows(&s->inputs[0]) ? two_to_one(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_dropout(firn_op_signature *s) {
    if (!is_rng_id(s->integers[FIRN_DROPOUT_RNG_ID]) || !is_rate(s->reals[FIRN_DROPOUT_RATE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return one_to_one(s);
}

/* --- attention -------------------------------------------------------------------------------------------------- */

/* Attributes that both directions have, and what follows from them for qkv:[B,T,(heads + 2*kv_heads)*D]. */
static int attention_extents(const firn_op_signature *s, const firn_shape *qkv, uint32_t *heads, uint32_t *size) {
    int64_t query = s->integers[FIRN_ATTENTION_HEADS], keys = s->integers[FIRN_ATTENTION_KV_HEADS];
    if (!is_word(query, 1) || keys < 1 || keys > query || query % keys != 0 ||
        !is_flag(s->integers[FIRN_ATTENTION_CAUSAL]) || !is_flag(s->integers[FIRN_ATTENTION_HALF_SOFTMAX]) ||
        !is_rng_id(s->integers[FIRN_ATTENTION_RNG_ID]) || !is_positive(s->reals[FIRN_ATTENTION_SCALE]) ||
        !is_rate(s->reals[FIRN_ATTENTION_DROPOUT_RATE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    /* half_softmax rounds to the half type of qkv, so there must be one. */
    if (s->integers[FIRN_ATTENTION_HALF_SOFTMAX] == 1 && !firn_type_is_half(qkv->type))
        return FIRN_ERROR_OP_ATTRIBUTE;
    int64_t parts = query + 2 * keys;
    if (!is_real(qkv) || qkv->rank != 3 || qkv->dims[2] % parts != 0)
        return FIRN_ERROR_OP_SHAPE;
    *heads = (uint32_t)query;
    *size = (uint32_t)(qkv->dims[2] / parts);
    return FIRN_OK;
}

int firn_shape_attention(firn_op_signature *s) {
    const firn_shape *qkv = &s->inputs[0];
    uint32_t heads, size;
    int error = attention_extents(s, qkv, &heads, &size);
    if (error != FIRN_OK)
        return error;
    if (!is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[0], qkv, heads * size);
    for (uint8_t i = 1; i < 3; i++) {
        if (!is_single(&s->outputs[i]))
            return FIRN_ERROR_OP_SHAPE;
        set_extents(&s->outputs[i], 3, (const uint32_t[]){qkv->dims[0], heads, qkv->dims[1]});
    }
    if (!is_single(&s->outputs[3]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[3], 4, (const uint32_t[]){qkv->dims[0], heads, FIRN_SCRATCH_ATTENTION, qkv->dims[1]});
    return FIRN_OK;
}

int firn_shape_attention_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[0], *qkv = &s->inputs[1];
    uint32_t heads, size;
    int error = attention_extents(s, qkv, &heads, &size);
    if (error != FIRN_OK)
        return error;
    if (dy->type != qkv->type || dy->rank != 3 || dy->dims[0] != qkv->dims[0] || dy->dims[1] != qkv->dims[1] ||
        dy->dims[2] != heads * size)
        return FIRN_ERROR_OP_SHAPE;
    for (uint8_t i = 2; i < 4; i++) {
        const firn_shape *row = &s->inputs[i];
        if (!is_single(row) || row->rank != 3 || row->dims[0] != qkv->dims[0] || row->dims[1] != heads ||
            row->dims[2] != qkv->dims[1])
            return FIRN_ERROR_OP_SHAPE;
    }
    if (!is_real(&s->outputs[0]) || !is_single(&s->outputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], qkv);
    set_extents(&s->outputs[1], 4,
                (const uint32_t[]){qkv->dims[0], heads, FIRN_SCRATCH_ATTENTION_BACKWARD, qkv->dims[1]});
    return FIRN_OK;
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

/* logits:real[N,V], labels:int32[N]. */
static bool are_logits(const firn_shape *logits, const firn_shape *labels) {
    return is_rows(logits) && labels->type == FIRN_INT32 && all_elements(labels) == leading_elements(logits);
}

int firn_shape_cross_entropy(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !is_single(&s->outputs[0]) || !is_single(&s->outputs[1]) ||
        !is_single(&s->outputs[2]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_leading(&s->outputs[1], logits);
    set_leading(&s->outputs[2], logits);
    return FIRN_OK;
}

int firn_shape_cross_entropy_backward(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[1];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(logits, &s->inputs[2]) ||
        !are_row_values(&s->inputs[3], 2, logits) || s->outputs[0].type != logits->type)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], logits);
    return FIRN_OK;
}

/* prediction:real[...], target:float32[...] -> loss:float32[1]. */
static int pair_to_loss(firn_op_signature *s) {
    const firn_shape *prediction = &s->inputs[0], *target = &s->inputs[1];
    if (!is_real(prediction) || !is_single(target) || !same_extents(prediction, target) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

/* dloss, prediction, target -> dprediction. */
static int pair_gradient(firn_op_signature *s) {
    const firn_shape *prediction = &s->inputs[1], *target = &s->inputs[2];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !is_real(prediction) || !is_single(target) ||
        !same_extents(prediction, target) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], prediction);
    return FIRN_OK;
}

int firn_shape_mean_squared_error(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_mean_squared_error_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

int firn_shape_l1_loss(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_l1_loss_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

static bool is_huber(const firn_op_signature *s) {
    return is_flag(s->integers[FIRN_HUBER_FORM]) && is_positive(s->reals[FIRN_HUBER_THRESHOLD]);
}

int firn_shape_huber_loss(firn_op_signature *s) {
    return is_huber(s) ? pair_to_loss(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_huber_loss_backward(firn_op_signature *s) {
    return is_huber(s) ? pair_gradient(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_binary_cross_entropy(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_binary_cross_entropy_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

static bool is_divergence(const firn_op_signature *s) {
    return is_flag(s->integers[FIRN_KL_LOG_TARGET]) && is_flag(s->integers[FIRN_KL_BATCH_MEAN]);
}

int firn_shape_kl_divergence(firn_op_signature *s) {
    return is_divergence(s) ? pair_to_loss(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_kl_divergence_backward(firn_op_signature *s) {
    return is_divergence(s) ? pair_gradient(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_nll_loss(firn_op_signature *s) {
    if (!are_logits(&s->inputs[0], &s->inputs[1]) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

int firn_shape_nll_loss_backward(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(&s->inputs[1], &s->inputs[2]) ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[1]);
    return FIRN_OK;
}

/* A label, or -1 for none. */
static bool is_ignorable(int64_t label, const firn_shape *logits) {
    return label >= -1 && label < (int64_t)last_extent(logits);
}

/* weights:float32[N]?, the operand at that place, one for each row of the logits. */
static bool may_be_weights(const firn_op_signature *s, uint8_t place, const firn_shape *logits) {
    return s->input_count <= place || are_row_values(&s->inputs[place], 1, logits);
}

static bool is_weighted(const firn_op_signature *s, const firn_shape *logits) {
    return is_ignorable(s->integers[FIRN_CROSS_ENTROPY_IGNORE_INDEX], logits) &&
           is_flag(s->integers[FIRN_CROSS_ENTROPY_SCALING]) && is_rate(s->reals[FIRN_CROSS_ENTROPY_LABEL_SMOOTHING]) &&
           is_positive(s->reals[FIRN_CROSS_ENTROPY_FACTOR]);
}

int firn_shape_cross_entropy_weighted(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !may_be_weights(s, 2, logits))
        return FIRN_ERROR_OP_SHAPE;
    if (!is_weighted(s, logits))
        return FIRN_ERROR_OP_ATTRIBUTE;
    for (uint8_t i = 0; i < 5; i++) {
        if (!is_single(&s->outputs[i]))
            return FIRN_ERROR_OP_SHAPE;
        if (i == 0 || i == 4)
            set_one(&s->outputs[i]);
        else
            set_leading(&s->outputs[i], logits);
    }
    return FIRN_OK;
}

int firn_shape_cross_entropy_weighted_backward(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[1];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(logits, &s->inputs[2]) ||
        !are_row_values(&s->inputs[3], 2, logits) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !may_be_weights(s, 6, logits) || s->outputs[0].type != logits->type)
        return FIRN_ERROR_OP_SHAPE;
    if (!is_weighted(s, logits))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_like(&s->outputs[0], logits);
    return FIRN_OK;
}

/* --- gradients: scaling, norm, clipping ------------------------------------------------------------------------- */

int firn_shape_loss_seed(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_LOSS_SEED_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if ((s->input_count > 0 && !is_vector(&s->inputs[0], FIRN_FLOAT32, 1)) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

int firn_shape_accumulate(firn_op_signature *s) {
    if (!is_real(&s->inputs[1]) || !same_extents(&s->inputs[0], &s->inputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    return change_single(s);
}

/* One number for each block of the sum over all elements of x. Two extents, because one could not count the blocks of
 * the largest tensor. */
static void set_sum_scratch(firn_shape *scratch, const firn_shape *x) {
    uint64_t blocks = (all_elements(x) - 1) / FIRN_SCRATCH_SUM_BLOCK + 1;
    uint64_t row = blocks < FIRN_SCRATCH_SUM_ROW ? blocks : FIRN_SCRATCH_SUM_ROW;
    set_extents(scratch, 2, (const uint32_t[]){(uint32_t)((blocks - 1) / row + 1), (uint32_t)row});
}

int firn_shape_sum_of_squares(firn_op_signature *s) {
    const firn_shape *gradient = &s->inputs[0], *partial = &s->inputs[1];
    if (!is_real(gradient) || !is_single(partial) || partial->rank != 1 || !is_single(&s->outputs[0]) ||
        !is_single(&s->outputs[1]) || (s->input_count > 2 && !is_vector(&s->inputs[2], FIRN_FLOAT32, 1)))
        return FIRN_ERROR_OP_SHAPE;
    if (s->integers[FIRN_SUM_OF_SQUARES_INDEX] < 0 ||
        s->integers[FIRN_SUM_OF_SQUARES_INDEX] >= (int64_t)partial->dims[0])
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_like(&s->outputs[0], partial);
    set_sum_scratch(&s->outputs[1], gradient);
    return FIRN_OK;
}

int firn_shape_gradient_norm(firn_op_signature *s) {
    if (!is_single(&s->inputs[0]) || s->inputs[0].rank != 1 || !is_single(&s->outputs[0]) ||
        s->outputs[1].type != FIRN_INT32)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_gradient_factors(firn_op_signature *s) {
    int64_t scaled = s->integers[FIRN_GRADIENT_FACTORS_SCALED], clipping = s->integers[FIRN_GRADIENT_FACTORS_CLIPPING];
    float limit = s->reals[FIRN_GRADIENT_FACTORS_LIMIT];
    if (!is_flag(scaled) || clipping < FIRN_CLIPPING_NONE || clipping > FIRN_CLIPPING_VALUE ||
        !(clipping == FIRN_CLIPPING_NONE ? limit == 0.0f : is_positive(limit)))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (s->input_count != scaled + (clipping == FIRN_CLIPPING_NORM))
        return FIRN_ERROR_OP_OPERANDS;
    for (uint8_t i = 0; i < s->input_count; i++) {
        if (!is_vector(&s->inputs[i], FIRN_FLOAT32, 1))
            return FIRN_ERROR_OP_SHAPE;
    }
    if (!is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 1, (const uint32_t[]){FIRN_FACTORS});
    return FIRN_OK;
}

int firn_shape_decay_factors(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) ||
        (s->input_count > 1 && !is_vector(&s->inputs[1], FIRN_FLOAT32, FIRN_FACTORS)) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 1, (const uint32_t[]){FIRN_FACTORS_AND_DECAY});
    return FIRN_OK;
}

/* --- optimizers, counters, loss scale --------------------------------------------------------------------------- */

/* count float32 tensors with the extents of the first, the parameter. */
static bool are_like_parameter(const firn_shape *tensors, const firn_shape *parameter, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_single(&tensors[i]) || !same_extents(&tensors[i], parameter))
            return false;
    }
    return true;
}

/* What every optimizer is given first and last: parameter:float32[...], gradient:real of the same extents, and, as the
 * input of that position, factors:float32[3] or [4], or nothing. */
static bool is_update(const firn_op_signature *s, uint8_t factors) {
    const firn_shape *parameter = &s->inputs[0], *gradient = &s->inputs[1];
    return is_single(parameter) && is_real(gradient) && same_extents(gradient, parameter) &&
           (s->input_count <= factors || is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS) ||
            is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY));
}

/* The attribute weight_decay: 0 where the factors bring one. */
static bool is_decay(const firn_op_signature *s, uint8_t factors, float decay) {
    bool brought = s->input_count > factors && is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY);
    return brought ? decay == 0.0f : is_not_negative(decay);
}

/* The outputs are float32 and take the extents of the parameter. */
static int change_parameter(firn_op_signature *s) {
    for (uint8_t i = 0; i < s->output_count; i++) {
        if (!is_single(&s->outputs[i]))
            return FIRN_ERROR_OP_SHAPE;
        set_like(&s->outputs[i], &s->inputs[0]);
    }
    return FIRN_OK;
}

int firn_shape_adamw(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_ADAMW_CORRECT_BIAS]) || !is_rate(s->reals[FIRN_ADAMW_BETA1]) ||
        !is_rate(s->reals[FIRN_ADAMW_BETA2]) || !is_positive(s->reals[FIRN_ADAMW_EPSILON]) ||
        !is_decay(s, 7, s->reals[FIRN_ADAMW_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 7) || !are_like_parameter(&s->inputs[2], &s->inputs[0], 2) ||
        !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[6], FIRN_FLOAT32, 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_sgd(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_SGD_MAXIMIZE]) || !is_decay(s, 3, s->reals[FIRN_SGD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 3) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_sgd_momentum(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_SGD_MOMENTUM_NESTEROV]) || !is_flag(s->integers[FIRN_SGD_MOMENTUM_MAXIMIZE]) ||
        !is_not_negative(s->reals[FIRN_SGD_MOMENTUM_MOMENTUM]) || !is_finite(s->reals[FIRN_SGD_MOMENTUM_DAMPENING]) ||
        !is_decay(s, 4, s->reals[FIRN_SGD_MOMENTUM_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 4) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        !are_like_parameter(&s->inputs[3], &s->inputs[0], 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

/* The inputs of an optimizer: parameter, gradient, so many tensors like the parameter, the learning rate, the counter
 * of steps where it is `counted`, and factors or nothing. */
static bool is_update_of(const firn_op_signature *s, uint8_t tensors, bool counted) {
    const uint8_t rate = (uint8_t)(2 + tensors);
    return is_update(s, (uint8_t)(rate + 1 + counted)) && are_like_parameter(&s->inputs[2], &s->inputs[0], tensors) &&
           is_vector(&s->inputs[rate], FIRN_FLOAT32, 1) && (!counted || is_vector(&s->inputs[rate + 1], FIRN_INT64, 1));
}

/* The first outputs are the parameter and the tensors like it, the last `scratch` are scratch of sums over it. */
static int change_with_scratch(firn_op_signature *s, uint8_t scratch) {
    int error = change_parameter(s);
    for (uint8_t i = (uint8_t)(s->output_count - scratch); i < s->output_count; i++)
        set_sum_scratch(&s->outputs[i], &s->inputs[0]);
    return error;
}

static bool has_adam_attributes(const firn_op_signature *s, uint8_t factors) {
    return is_rate(s->reals[FIRN_ADAM_BETA1]) && is_rate(s->reals[FIRN_ADAM_BETA2]) &&
           is_positive(s->reals[FIRN_ADAM_EPSILON]) && is_decay(s, factors, s->reals[FIRN_ADAM_WEIGHT_DECAY]);
}

int firn_shape_adam(firn_op_signature *s) {
    if (!has_adam_attributes(s, 6))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adam_amsgrad(firn_op_signature *s) {
    if (!has_adam_attributes(s, 7) || !is_flag(s->integers[FIRN_AMSGRAD_DECOUPLED]) ||
        !is_flag(s->integers[FIRN_AMSGRAD_CORRECT_BIAS]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 3, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_radam(firn_op_signature *s) {
    return firn_shape_adam(s);
}

int firn_shape_nadam(firn_op_signature *s) {
    if (!has_adam_attributes(s, 7) || !is_not_negative(s->reals[FIRN_NADAM_MOMENTUM_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 7) || !are_like_parameter(&s->inputs[2], &s->inputs[0], 2) ||
        !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[6], FIRN_INT64, 1))
        return FIRN_ERROR_OP_SHAPE;
    int error = change_parameter(s);
    set_one(&s->outputs[3]);
    return error;
}

int firn_shape_adamax(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return firn_shape_adam(s);
}

int firn_shape_lamb(firn_op_signature *s) {
    if (!has_adam_attributes(s, 5) || !is_flag(s->integers[FIRN_LAMB_ADAM]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, false) ? change_with_scratch(s, 2) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_lion(firn_op_signature *s) {
    if (!is_rate(s->reals[FIRN_LION_BETA1]) || !is_rate(s->reals[FIRN_LION_BETA2]) ||
        !is_decay(s, 4, s->reals[FIRN_LION_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

/* One of the four, with so many tensors. */
static int rmsprop(firn_op_signature *s, uint8_t tensors) {
    if (!is_rate(s->reals[FIRN_RMSPROP_ALPHA]) || !is_positive(s->reals[FIRN_RMSPROP_EPSILON]) ||
        !is_decay(s, (uint8_t)(3 + tensors), s->reals[FIRN_RMSPROP_WEIGHT_DECAY]) ||
        (s->real_count > FIRN_RMSPROP_MOMENTUM && !is_not_negative(s->reals[FIRN_RMSPROP_MOMENTUM])))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, tensors, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_rmsprop(firn_op_signature *s) {
    return rmsprop(s, 1);
}

int firn_shape_rmsprop_momentum(firn_op_signature *s) {
    return rmsprop(s, 2);
}

int firn_shape_rmsprop_centered(firn_op_signature *s) {
    return rmsprop(s, 2);
}

int firn_shape_rmsprop_centered_momentum(firn_op_signature *s) {
    return rmsprop(s, 3);
}

int firn_shape_rprop(firn_op_signature *s) {
    const float minus = s->reals[FIRN_RPROP_ETA_MINUS], plus = s->reals[FIRN_RPROP_ETA_PLUS],
                smallest = s->reals[FIRN_RPROP_SMALLEST], largest = s->reals[FIRN_RPROP_LARGEST];
    if (!is_positive(minus) || minus >= 1.0f || !is_positive(plus) || plus <= 1.0f || !is_not_negative(smallest) ||
        !is_positive(largest) || smallest > largest)
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adagrad(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_not_negative(s->reals[FIRN_ADAGRAD_LR_DECAY]) ||
        !is_positive(s->reals[FIRN_ADAGRAD_EPSILON]) || !is_decay(s, 5, s->reals[FIRN_ADAGRAD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adadelta(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_rate(s->reals[FIRN_ADADELTA_RHO]) ||
        !is_positive(s->reals[FIRN_ADADELTA_EPSILON]) || !is_decay(s, 5, s->reals[FIRN_ADADELTA_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_asgd(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_not_negative(s->reals[FIRN_ASGD_LAMBD]) ||
        !is_not_negative(s->reals[FIRN_ASGD_ALPHA]) || !is_not_negative(s->reals[FIRN_ASGD_T0]) ||
        !is_decay(s, 5, s->reals[FIRN_ASGD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

/* The exponent of the step is below 0, so that the first step takes the whole of its square. */
static bool has_adafactor_attributes(const firn_op_signature *s, uint8_t factors) {
    const float exponent = s->reals[FIRN_ADAFACTOR_DECAY_RATE];
    return is_flag(s->integers[FIRN_ADAFACTOR_SCALE_PARAMETER]) && is_positive(s->reals[FIRN_ADAFACTOR_EPSILON1]) &&
           is_not_negative(s->reals[FIRN_ADAFACTOR_EPSILON2]) && is_positive(s->reals[FIRN_ADAFACTOR_CLIP]) &&
           exponent < 0.0f && is_finite(exponent) && is_decay(s, factors, s->reals[FIRN_ADAFACTOR_WEIGHT_DECAY]);
}

int firn_shape_adafactor(firn_op_signature *s) {
    if (!has_adafactor_attributes(s, 5))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_with_scratch(s, 1) : FIRN_ERROR_OP_SHAPE;
}

/* The extents of a parameter without one of its last two: the last for rows, the one before it for columns. */
static firn_shape without_extent(const firn_shape *parameter, uint8_t from_end) {
    firn_shape shape = {.type = FIRN_FLOAT32, .rank = (uint8_t)(parameter->rank - 1)};
    for (uint8_t i = 0; i < shape.rank; i++)
        shape.dims[i] = parameter->dims[i + (i >= parameter->rank - from_end)];
    return shape;
}

int firn_shape_adafactor_factored(firn_op_signature *s) {
    if (!has_adafactor_attributes(s, 6))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 6) || s->inputs[0].rank < 2 || !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[5], FIRN_INT64, 1))
        return FIRN_ERROR_OP_SHAPE;
    const firn_shape rows = without_extent(&s->inputs[0], 1), columns = without_extent(&s->inputs[0], 2);
    if (!are_like_parameter(&s->inputs[2], &rows, 1) || !are_like_parameter(&s->inputs[3], &columns, 1))
        return FIRN_ERROR_OP_SHAPE;
    int error = change_parameter(s);
    set_like(&s->outputs[1], &rows);
    set_like(&s->outputs[2], &columns);
    set_sum_scratch(&s->outputs[3], &s->inputs[0]);
    set_like(&s->outputs[4], &rows);
    set_like(&s->outputs[5], &columns);
    return error;
}

int firn_shape_muon_direction(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_MUON_NESTEROV]) || !is_rate(s->reals[FIRN_MUON_MOMENTUM]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update(s, 2) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_unit_norm(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_UNIT_NORM_EPSILON]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_single(&s->inputs[0]) ? change_with_scratch(s, 1) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_weighted_sum(firn_op_signature *s) {
    if (!is_finite(s->reals[FIRN_WEIGHTED_SUM_A]) || !is_finite(s->reals[FIRN_WEIGHTED_SUM_B]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return are_like_parameter(s->inputs, &s->inputs[0], 2) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_muon_step(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_MUON_STEP_SCALE]) || !is_decay(s, 3, s->reals[FIRN_MUON_STEP_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!are_like_parameter(s->inputs, &s->inputs[0], 2) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        (s->input_count > 3 && !is_vector(&s->inputs[3], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY)))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_multiply(firn_op_signature *s) {
    if (!is_finite(s->reals[FIRN_MULTIPLY_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_vector(&s->inputs[0], FIRN_FLOAT32, 1) ? change_single(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_count(firn_op_signature *s) {
    if (s->integers[FIRN_COUNT_STEP] < 1 || s->integers[FIRN_COUNT_STEP] > INT32_MAX)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_vector(&s->inputs[0], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

/* Checks each of count shapes for one element of the type given for it. */
static bool are_ones(const firn_shape *shapes, const uint8_t *types, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_vector(&shapes[i], types[i], 1))
            return false;
    }
    return true;
}

int firn_shape_loss_scale_update(firn_op_signature *s) {
    static const uint8_t inputs[] = {FIRN_INT32, FIRN_FLOAT32, FIRN_INT64, FIRN_INT64, FIRN_INT64};
    static const uint8_t outputs[] = {FIRN_FLOAT32, FIRN_INT64, FIRN_INT64, FIRN_INT64, FIRN_INT32};
    if (s->integers[FIRN_LOSS_SCALE_STEPS_PER_INCREASE] < 1 || !is_positive(s->reals[FIRN_LOSS_SCALE_MINIMUM]) ||
        !is_finite(s->reals[FIRN_LOSS_SCALE_MAXIMUM]) ||
        s->reals[FIRN_LOSS_SCALE_MAXIMUM] < s->reals[FIRN_LOSS_SCALE_MINIMUM] ||
        !is_not_negative(s->reals[FIRN_LOSS_SCALE_OVERFLOW_TOLERANCE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!are_ones(s->inputs, inputs, 5))
        return FIRN_ERROR_OP_SHAPE;
    for (uint8_t i = 0; i < 5; i++) {
        if (s->outputs[i].type != outputs[i])
            return FIRN_ERROR_OP_SHAPE;
        set_one(&s->outputs[i]);
    }
    return FIRN_OK;
}

int firn_shape_metric_mean(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[1], FIRN_FLOAT32, 2) ||
        !is_vector(&s->inputs[2], FIRN_INT64, 1) || !is_single(&s->outputs[0]) || s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[1]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_accuracy(firn_op_signature *s) {
    if (!are_logits(&s->inputs[0], &s->inputs[1]) || !is_vector(&s->inputs[2], FIRN_INT64, 1) ||
        !is_vector(&s->inputs[3], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64 ||
        s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

/* sum:float32[2], count:int64[1] as the operands from that place on, and as the outputs. */
static int change_sum_and_count(firn_op_signature *s, uint8_t place) {
    if (!is_vector(&s->inputs[place], FIRN_FLOAT32, 2) || !is_vector(&s->inputs[place + 1], FIRN_INT64, 1) ||
        !is_single(&s->outputs[0]) || s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[place]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_weighted_mean(firn_op_signature *s) {
    const firn_shape *labels = &s->inputs[1];
    if (s->integers[FIRN_METRIC_IGNORE_INDEX] < -1 || s->integers[FIRN_METRIC_IGNORE_INDEX] > INT32_MAX ||
        !is_positive(s->reals[FIRN_METRIC_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || labels->type != FIRN_INT32 ||
        !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        (s->input_count > 5 && (!is_single(&s->inputs[5]) || all_elements(&s->inputs[5]) != all_elements(labels))))
        return FIRN_ERROR_OP_SHAPE;
    return change_sum_and_count(s, 3);
}

/* logits, labels and, behind the state, weights?, with the label that is ignored. */
static int check_labelled(const firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !may_be_weights(s, 4, logits))
        return FIRN_ERROR_OP_SHAPE;
    return is_ignorable(s->integers[FIRN_METRIC_IGNORE_INDEX], logits) ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_metric_weighted_accuracy(firn_op_signature *s) {
    int error = check_labelled(s);
    return error == FIRN_OK ? change_sum_and_count(s, 2) : error;
}

/* Counters of `rows` and `columns`, and count:int64[1], as operands 2 and 3 and as the outputs. */
static int change_table_and_count(firn_op_signature *s, uint64_t rows, uint64_t columns) {
    const firn_shape *table = &s->inputs[2];
    if (table->type != FIRN_INT64 || table->rank != 2 || table->dims[0] != rows || table->dims[1] != columns ||
        !is_vector(&s->inputs[3], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64 ||
        s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], table);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_confusion(firn_op_signature *s) {
    int error = check_labelled(s);
    uint64_t classes = last_extent(&s->inputs[0]);
    return error == FIRN_OK ? change_table_and_count(s, classes, classes + 1) : error;
}

int firn_shape_metric_auc(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0], *target = &s->inputs[1];
    bool each = is_real(logits) && is_single(target) && same_extents(logits, target);
    bool of_two = are_logits(logits, target) && last_extent(logits) == 2;
    return each || of_two ? change_table_and_count(s, 2, FIRN_AUC_BUCKETS) : FIRN_ERROR_OP_SHAPE;
}
