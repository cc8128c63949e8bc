/* Own rules (plan/shapes/shape_rules.h) of the ops of layers: casts, products, sums, tables, attention and rotary
 * positions. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* --- casts and products ----------------------------------------------------------------------------------------- */

int firn_shape_cast(firn_op_signature *s) {
    return s->inputs[FIRN_CAST_IN_X].type != s->outputs[FIRN_CAST_OUT_Y].type ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

enum { OUT_IN = 0, IN_OUT = 1 }; /* values of the attribute layout */

/* Extents K and O of a weight with this layout. */
static bool weight_extents(const firn_shape *weight, int64_t layout, uint32_t *k, uint32_t *o) {
    if (weight->rank != 2)
        return false;
    *o = weight->dims[layout == OUT_IN ? 0 : 1];
    *k = weight->dims[layout == OUT_IN ? 1 : 0];
    return true;
}

int firn_shape_linear(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_LINEAR_IN_X], *bias = &s->inputs[FIRN_LINEAR_IN_BIAS];
    uint32_t k, o;
    if (!weight_extents(&s->inputs[FIRN_LINEAR_IN_WEIGHT], s->integers[FIRN_LINEAR_LAYOUT], &k, &o) ||
        last_extent(x) != k || (has_input(s, FIRN_LINEAR_IN_BIAS) && !is_vector(bias, bias->type, o)))
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[FIRN_LINEAR_OUT_Y], x, o);
    return FIRN_OK;
}

int firn_shape_linear_backward_input(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_DY];
    uint32_t k, o;
    if (!weight_extents(&s->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT],
                        s->integers[FIRN_LINEAR_BACKWARD_INPUT_LAYOUT], &k, &o) ||
        last_extent(dy) != o)
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[FIRN_LINEAR_BACKWARD_INPUT_OUT_DX], dy, k);
    return FIRN_OK;
}

int firn_shape_linear_backward_weight(firn_op_signature *s) {
    uint32_t k = last_extent(&s->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X]);
    uint32_t o = last_extent(&s->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY]);
    bool out_in = s->integers[FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT] == OUT_IN;
    firn_shape_set(&s->outputs[FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT], 2,
                   (const uint32_t[]){out_in ? o : k, out_in ? k : o});
    return FIRN_OK;
}

int firn_shape_linear_backward_weight_rows(firn_op_signature *s) {
    const uint32_t k = last_extent(&s->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_X]);
    const uint32_t o = last_extent(&s->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_DY]);
    const bool out_in = s->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_LAYOUT] == OUT_IN;
    const int64_t first = s->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST];
    const int64_t rows = s->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS], all = out_in ? o : k;
    if (first < 0 || first >= all || rows < 1 || rows > all - first)
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_shape_set(&s->outputs[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_OUT_DWEIGHT], 2,
                   (const uint32_t[]){(uint32_t)rows, out_in ? k : o});
    return FIRN_OK;
}

/* --- sums, tables, addition ------------------------------------------------------------------------------------- */

int firn_shape_sum_leading(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_SUM_LEADING_IN_X];
    if (s->integers[FIRN_SUM_LEADING_RANK] < 1 || s->integers[FIRN_SUM_LEADING_RANK] > x->rank)
        return FIRN_ERROR_OP_ATTRIBUTE;
    uint8_t rank = (uint8_t)s->integers[FIRN_SUM_LEADING_RANK];
    firn_shape_set(&s->outputs[FIRN_SUM_LEADING_OUT_Y], rank, &x->dims[x->rank - rank]);
    return FIRN_OK;
}

int firn_shape_embedding(firn_op_signature *s) {
    const firn_shape *ids = &s->inputs[FIRN_EMBEDDING_IN_IDS];
    firn_shape *y = &s->outputs[FIRN_EMBEDDING_OUT_Y];
    if (ids->rank == FIRN_RANK_MAX)
        return FIRN_ERROR_OP_SHAPE;
    set_like(y, ids);
    y->dims[y->rank++] = s->inputs[FIRN_EMBEDDING_IN_TABLE].dims[1];
    return FIRN_OK;
}

int firn_shape_embedding_backward(firn_op_signature *s) {
    const firn_shape *start = &s->inputs[FIRN_EMBEDDING_BACKWARD_IN_START];
    firn_shape *dtable = &s->outputs[FIRN_EMBEDDING_BACKWARD_OUT_DTABLE];
    firn_shape_set(dtable, 2,
                   (const uint32_t[]){(uint32_t)s->integers[FIRN_EMBEDDING_BACKWARD_ROWS],
                                      last_extent(&s->inputs[FIRN_EMBEDDING_BACKWARD_IN_DY])});
    if (has_input(s, FIRN_EMBEDDING_BACKWARD_IN_START) && !same_extents(start, dtable))
        return FIRN_ERROR_OP_SHAPE;
    return FIRN_OK;
}

int firn_shape_leading_rows(firn_op_signature *s) {
    const firn_shape *table = &s->inputs[FIRN_LEADING_ROWS_IN_TABLE];
    int64_t rows = s->integers[FIRN_LEADING_ROWS_ROWS];
    if (rows < 1 || rows > (int64_t)table->dims[0])
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_shape_set(&s->outputs[FIRN_LEADING_ROWS_OUT_Y], 2, (const uint32_t[]){(uint32_t)rows, table->dims[1]});
    return FIRN_OK;
}

int firn_shape_leading_rows_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_LEADING_ROWS_BACKWARD_IN_DY];
    int64_t rows = s->integers[FIRN_LEADING_ROWS_BACKWARD_ROWS];
    if (!is_word(rows, dy->dims[0]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_shape_set(&s->outputs[FIRN_LEADING_ROWS_BACKWARD_OUT_DTABLE], 2,
                   (const uint32_t[]){(uint32_t)rows, dy->dims[1]});
    return FIRN_OK;
}

_Static_assert(FIRN_ADD_IN_A == FIRN_MULTIPLY_IN_A && FIRN_ADD_IN_B == FIRN_MULTIPLY_IN_B, "one rule for both");

/* b is repeated over the leading dimensions of a. */
int firn_shape_broadcast(firn_op_signature *s) {
    return ends_with(&s->inputs[FIRN_ADD_IN_A], &s->inputs[FIRN_ADD_IN_B]) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

/* --- concat ----------------------------------------------------------------------------------------------------- */

static bool joins(const firn_shape *first, const firn_shape *other, uint8_t axis) {
    if (other->type != first->type || other->rank != first->rank)
        return false;
    for (uint8_t d = 0; d < first->rank; d++) {
        if (d != axis && other->dims[d] != first->dims[d])
            return false;
    }
    return true;
}

_Static_assert((int)FIRN_CONCAT_IN_X == (int)FIRN_CONCAT_INT32_IN_X &&
                   (int)FIRN_CONCAT_OUT_Y == (int)FIRN_CONCAT_INT32_OUT_Y &&
                   (int)FIRN_CONCAT_AXIS == (int)FIRN_CONCAT_INT32_AXIS,
               "one rule for both");

int firn_shape_concat(firn_op_signature *s) {
    const firn_shape *first = &s->inputs[FIRN_CONCAT_IN_X];
    firn_shape *y = &s->outputs[FIRN_CONCAT_OUT_Y];
    if (s->integers[FIRN_CONCAT_AXIS] < 0 || s->integers[FIRN_CONCAT_AXIS] >= first->rank)
        return FIRN_ERROR_OP_ATTRIBUTE;
    const uint8_t axis = (uint8_t)s->integers[FIRN_CONCAT_AXIS];
    int64_t extent = 0;
    for (uint8_t i = 0; i < s->input_count; i++) {
        if (!joins(first, &s->inputs[i], axis))
            return FIRN_ERROR_OP_SHAPE;
        extent += s->inputs[i].dims[axis];
    }
    if (!is_word(extent, 1))
        return FIRN_ERROR_OP_SHAPE;
    set_like(y, first);
    y->dims[axis] = (uint32_t)extent;
    return FIRN_OK;
}

/* --- attention -------------------------------------------------------------------------------------------------- */

_Static_assert(FIRN_ATTENTION_HEADS == FIRN_ATTENTION_BACKWARD_HEADS &&
                   FIRN_ATTENTION_KV_HEADS == FIRN_ATTENTION_BACKWARD_KV_HEADS &&
                   FIRN_ATTENTION_HALF_SOFTMAX == FIRN_ATTENTION_BACKWARD_HALF_SOFTMAX &&
                   FIRN_ATTENTION_ROWS == FIRN_ATTENTION_BACKWARD_ROWS &&
                   (int)FIRN_ATTENTION_HEADS == (int)FIRN_CACHED_ATTENTION_HEADS &&
                   (int)FIRN_ATTENTION_KV_HEADS == (int)FIRN_CACHED_ATTENTION_KV_HEADS,
               "both directions have the same attributes, and heads are where the cached op has them");

/* Computes heads and head size from the attributes, for qkv:[B,T,(heads + 2*kv_heads)*D]. half_softmax is the place of
 * that attribute. */
static int attention_extents(const firn_op_signature *s, const firn_shape *qkv, uint8_t half_softmax, uint32_t *heads,
                             uint32_t *size) {
    int64_t query = s->integers[FIRN_ATTENTION_HEADS], keys = s->integers[FIRN_ATTENTION_KV_HEADS];
    if (keys < 1 || keys > query || query % keys != 0)
        return FIRN_ERROR_OP_ATTRIBUTE;
    /* half_softmax rounds to the half type of qkv, so qkv must have one. */
    if (s->integers[half_softmax] == 1 && !firn_type_is_half(qkv->type))
        return FIRN_ERROR_OP_ATTRIBUTE;
    int64_t parts = query + 2 * keys;
    if (qkv->rank != 3 || qkv->dims[2] % parts != 0)
        return FIRN_ERROR_OP_SHAPE;
    *heads = (uint32_t)query;
    *size = (uint32_t)(qkv->dims[2] / parts);
    return FIRN_OK;
}

/* Whether slopes, if an op has them, are one for each query head. */
static bool are_slopes(const firn_op_signature *s, uint8_t input, uint32_t heads) {
    return !has_input(s, input) || is_vector(&s->inputs[input], FIRN_FLOAT32, heads);
}

/* Gives the scratch of each head `rows` rows of T floats. */
static void set_scratch(firn_shape *scratch, const firn_shape *qkv, uint32_t heads, uint32_t rows) {
    firn_shape_set(scratch, 4, (const uint32_t[]){qkv->dims[0], heads, rows, qkv->dims[1]});
}

int firn_shape_attention(firn_op_signature *s) {
    const firn_shape *qkv = &s->inputs[FIRN_ATTENTION_IN_QKV];
    uint32_t heads, size;
    int error = attention_extents(s, qkv, FIRN_ATTENTION_HALF_SOFTMAX, &heads, &size);
    if (error != FIRN_OK)
        return error;
    if (!are_slopes(s, FIRN_ATTENTION_IN_SLOPES, heads))
        return FIRN_ERROR_OP_SHAPE;
    const uint32_t rows[] = {qkv->dims[0], heads, qkv->dims[1]};
    set_last(&s->outputs[FIRN_ATTENTION_OUT_Y], qkv, heads * size);
    firn_shape_set(&s->outputs[FIRN_ATTENTION_OUT_ROW_MAX], 3, rows);
    firn_shape_set(&s->outputs[FIRN_ATTENTION_OUT_ROW_SUM], 3, rows);
    set_scratch(&s->outputs[FIRN_ATTENTION_OUT_SCRATCH], qkv, heads, (uint32_t)s->integers[FIRN_ATTENTION_ROWS]);
    return FIRN_OK;
}

int firn_shape_attention_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_ATTENTION_BACKWARD_IN_DY];
    const firn_shape *qkv = &s->inputs[FIRN_ATTENTION_BACKWARD_IN_QKV];
    uint32_t heads, size;
    int error = attention_extents(s, qkv, FIRN_ATTENTION_HALF_SOFTMAX, &heads, &size);
    if (error != FIRN_OK)
        return error;
    firn_shape y = *qkv, rows = {.rank = 3, .dims = {qkv->dims[0], heads, qkv->dims[1]}};
    set_last(&y, qkv, heads * size);
    if (!same_extents(dy, &y) || !same_extents(&s->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_MAX], &rows) ||
        !same_extents(&s->inputs[FIRN_ATTENTION_BACKWARD_IN_ROW_SUM], &rows) ||
        !are_slopes(s, FIRN_ATTENTION_BACKWARD_IN_SLOPES, heads))
        return FIRN_ERROR_OP_SHAPE;
    /* The scores of a block, their gradients, and one number for each query; int31 excludes an overflow. */
    set_scratch(&s->outputs[FIRN_ATTENTION_BACKWARD_OUT_SCRATCH], qkv, heads,
                2 * (uint32_t)s->integers[FIRN_ATTENTION_BACKWARD_ROWS] + 1);
    return FIRN_OK;
}

/* qkv has the tokens of one sequence; a row of the cache holds the keys, then the values of one token. */
int firn_shape_cached_attention(firn_op_signature *s) {
    const firn_shape *qkv = &s->inputs[FIRN_CACHED_ATTENTION_IN_QKV],
                     *cache = &s->inputs[FIRN_CACHED_ATTENTION_IN_CACHE];
    uint32_t heads, size;
    int error = attention_extents(s, qkv, FIRN_CACHED_ATTENTION_HALF_SOFTMAX, &heads, &size);
    if (error != FIRN_OK)
        return error;
    const uint64_t width = 2 * (uint64_t)s->integers[FIRN_CACHED_ATTENTION_KV_HEADS] * size;
    if (qkv->dims[0] != 1 || cache->rank != 3 || cache->dims[0] != 1 || cache->dims[2] != width ||
        cache->dims[1] > UINT32_MAX - 2 || !are_slopes(s, FIRN_CACHED_ATTENTION_IN_SLOPES, heads))
        return FIRN_ERROR_OP_SHAPE;
    set_last(&s->outputs[FIRN_CACHED_ATTENTION_OUT_Y], qkv, heads * size);
    firn_shape_set(&s->outputs[FIRN_CACHED_ATTENTION_OUT_SCRATCH], 2, (const uint32_t[]){cache->dims[1] + 2, heads});
    return FIRN_OK;
}

/* --- rotary position embedding ------------------------------------------------------------------------------------ */

_Static_assert(FIRN_ROTARY_EMBEDDING_ROTARY_DIM == FIRN_ROTARY_EMBEDDING_BACKWARD_ROTARY_DIM &&
                   FIRN_ROTARY_EMBEDDING_ROTATED == FIRN_ROTARY_EMBEDDING_BACKWARD_ROTATED &&
                   FIRN_ROTARY_EMBEDDING_HEADS == FIRN_ROTARY_EMBEDDING_BACKWARD_HEADS &&
                   FIRN_ROTARY_EMBEDDING_BASE == FIRN_ROTARY_EMBEDDING_BACKWARD_BASE &&
                   FIRN_ROTARY_EMBEDDING_IN_X == FIRN_ROTARY_EMBEDDING_BACKWARD_IN_DY,
               "both directions have the same attributes");

/* The rule of both directions, for x:[...,T,heads*D]. */
int firn_shape_rotary_embedding(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_ROTARY_EMBEDDING_IN_X];
    const int64_t heads = s->integers[FIRN_ROTARY_EMBEDDING_HEADS];
    const int64_t rotated = s->integers[FIRN_ROTARY_EMBEDDING_ROTATED];
    const int64_t rotary_dim = s->integers[FIRN_ROTARY_EMBEDDING_ROTARY_DIM];
    const float base = s->reals[FIRN_ROTARY_EMBEDDING_BASE];
    if (rotated < 1 || rotated > heads || !is_word(rotary_dim, 2) || rotary_dim % 2 != 0 || !is_finite(base) ||
        base < 1.0f)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (last_extent(x) % heads != 0)
        return FIRN_ERROR_OP_SHAPE;
    return rotary_dim <= last_extent(x) / heads ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}
