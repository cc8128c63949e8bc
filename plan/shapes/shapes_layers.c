/* The shape rules (plan/shapes/shape_rules.h) of what a model is built of: casts, products, sums, tables, norms,
 * activations, attention and rotary positions, each with its gradients. Freestanding. */
#include "plan/shapes/shape_rules.h"

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

/* --- rotary position embedding ------------------------------------------------------------------------------------ */

/* Both directions: x:real[...,T,heads*D]. */
static int rotate_heads(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[0];
    const int64_t heads = s->integers[FIRN_ROTARY_HEADS], rotated = s->integers[FIRN_ROTARY_ROTATED];
    const int64_t rotary_dim = s->integers[FIRN_ROTARY_ROTARY_DIM];
    const float base = s->reals[FIRN_ROTARY_BASE];
    if (!is_real_type(s->integers[FIRN_ROTARY_ROTATION]) || !is_word(heads, 1) || rotated < 1 || rotated > heads ||
        !is_word(rotary_dim, 2) || rotary_dim % 2 != 0 || !is_flag(s->integers[FIRN_ROTARY_INTERLEAVED]) ||
        !is_finite(base) || base < 1.0f)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_rows(x) || last_extent(x) % heads != 0)
        return FIRN_ERROR_OP_SHAPE;
    if (rotary_dim > last_extent(x) / heads)
        return FIRN_ERROR_OP_ATTRIBUTE;
    return one_to_one(s);
}

int firn_shape_rotary_embedding(firn_op_signature *s) {
    return rotate_heads(s);
}

int firn_shape_rotary_embedding_backward(firn_op_signature *s) {
    return rotate_heads(s);
}
