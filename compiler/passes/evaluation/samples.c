/* Which values of an evaluation keep the samples of a batch apart (samples.h). Follows the dimension along which the
 * samples lie from the inputs through every op. An op that has no rule here counts as one that mixes samples: a rule
 * may be missing, but must never say of an op that mixes them that it does not. Nothing is changed here. */
#include "compiler/passes/evaluation/samples.h"

#include <string.h>

/* What is known of a value. */
typedef struct place {
    bool batch;               /* it is computed from the samples; false: it is the same for every batch */
    uint8_t axis;             /* batch: the dimension along which the samples lie, each with an equal part of it */
    uint8_t equal;            /* else: a bit for each dimension along which all slices are equal by construction */
    const firnc_node *mixing; /* not NULL: the node that has mixed the samples */
} place;

struct firnc_samples {
    const firnc_graph *graph;
    uint32_t count; /* samples in a batch */
    place *places;  /* of each value */
};

/* A rule finds the place of the outputs of a node, in places[] by output, from those of its inputs. At least one input
 * is computed from the samples, and none has mixed them. Returns false if the node mixes samples. */
typedef bool (*rule)(const firnc_samples *s, const firnc_node *node, place *outputs);

/* --- lookups ------------------------------------------------------------------------------------------------------ */

static bool has(const firnc_node *node, uint8_t input) {
    return input < node->input_count && node->inputs[input] != FIRNC_NONE;
}

static const firn_shape *shape_of(const firnc_samples *s, firnc_value value) {
    return &s->graph->values[value].shape;
}

static const firn_shape *input_shape(const firnc_samples *s, const firnc_node *node, uint8_t input) {
    return shape_of(s, node->inputs[input]);
}

static const place *place_of(const firnc_samples *s, const firnc_node *node, uint8_t input) {
    return &s->places[node->inputs[input]];
}

static bool is_batch(const firnc_samples *s, const firnc_node *node, uint8_t input) {
    return has(node, input) && place_of(s, node, input)->batch;
}

/* Whether no input but one is computed from the samples. */
static bool is_only_batch(const firnc_samples *s, const firnc_node *node, uint8_t input) {
    for (uint8_t i = 0; i < node->input_count; i++)
        if (is_batch(s, node, i) != (i == input))
            return false;
    return true;
}

/* Puts the samples of all outputs along one dimension. */
static bool along(const firnc_node *node, place *outputs, uint8_t axis) {
    for (uint8_t j = 0; j < node->output_count; j++)
        outputs[j] = (place){.batch = true, .axis = axis};
    return true;
}

static uint64_t product_of(const uint32_t *dims, uint8_t count) {
    uint64_t product = 1;
    for (uint8_t i = 0; i < count; i++)
        product *= dims[i];
    return product;
}

/* --- rules: rows and elements ---------------------------------------------------------------------------------------
 */

/* Each element depends on the element in its place. */
static bool each(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, 0) && along(node, outputs, place_of(s, node, 0)->axis);
}

/* Each row, a run along the last dimension, depends on the row in its place and on weights. */
static bool rows(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, 0) && place_of(s, node, 0)->axis + 1 < input_shape(s, node, 0)->rank &&
           along(node, outputs, place_of(s, node, 0)->axis);
}

/* The last two dimensions are positions and elements. */
static bool positions(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, 0) && place_of(s, node, 0)->axis + 2 < input_shape(s, node, 0)->rank &&
           along(node, outputs, place_of(s, node, 0)->axis);
}

/* Images and sequences, whose first dimension is the samples; all other inputs are weights. */
static bool leading(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, 0) && place_of(s, node, 0)->axis == 0 && along(node, outputs, 0);
}

static bool attention(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return node->reals[FIRN_ATTENTION_DROPOUT_RATE] == 0 && leading(s, node, outputs);
}

_Static_assert(FIRN_CROSS_ATTENTION_IN_QUERY == 0 && FIRN_CROSS_ATTENTION_IN_KEY == 1 &&
                   FIRN_CROSS_ATTENTION_IN_VALUE == 2,
               "cross_attention reads these");

static bool cross_attention(const firnc_samples *s, const firnc_node *node, place *outputs) {
    for (uint8_t i = FIRN_CROSS_ATTENTION_IN_QUERY; i <= (uint8_t)FIRN_CROSS_ATTENTION_IN_VALUE; i++)
        if (!is_batch(s, node, i) || place_of(s, node, i)->axis != 0)
            return false;
    if (has(node, FIRN_CROSS_ATTENTION_IN_MASK)) {
        const place *mask = place_of(s, node, FIRN_CROSS_ATTENTION_IN_MASK);
        const uint32_t batches = input_shape(s, node, FIRN_CROSS_ATTENTION_IN_MASK)->dims[0];
        if (mask->batch ? mask->axis != 0 : batches != 1 && (mask->equal & 1) == 0)
            return false;
    }
    return node->reals[FIRN_CROSS_ATTENTION_DROPOUT_RATE] == 0 && !is_batch(s, node, FIRN_CROSS_ATTENTION_IN_SLOPES) &&
           along(node, outputs, 0);
}

/* Of recurrent ops the gates are [T,B,...], the states before the first step [B,H]; of the outputs all but those of two
 * dimensions have the steps first. */
static bool recurrent(const firnc_samples *s, const firnc_node *node, place *outputs) {
    if (!is_batch(s, node, 0) || place_of(s, node, 0)->axis != 1 || is_batch(s, node, FIRN_LSTM_IN_WEIGHT))
        return false;
    for (uint8_t i = 1; i < node->input_count; i++)
        if (is_batch(s, node, i) && (input_shape(s, node, i)->rank != 2 || place_of(s, node, i)->axis != 0))
            return false;
    const uint32_t batch = input_shape(s, node, 0)->dims[1];
    const uint8_t first_state = node->code == FIRN_OP_gru ? FIRN_GRU_IN_H0 : FIRN_LSTM_IN_H0;
    for (uint8_t i = first_state; i < node->input_count; i++)
        if (has(node, i) && !is_batch(s, node, i) && batch != 1 && (place_of(s, node, i)->equal & 1) == 0)
            return false;
    along(node, outputs, 1);
    for (uint8_t j = 0; j < node->output_count; j++)
        if (shape_of(s, node->outputs[j])->rank == 2)
            outputs[j].axis = 0;
    return true;
}

_Static_assert(FIRN_LSTM_IN_H0 == FIRN_RNN_IN_H0, "recurrent reads the states of both");
_Static_assert(FIRN_LSTM_IN_WEIGHT == FIRN_GRU_IN_WEIGHT && FIRN_LSTM_IN_WEIGHT == FIRN_RNN_IN_WEIGHT,
               "and the weight of all three");

static bool embedding(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, FIRN_EMBEDDING_IN_IDS) &&
           along(node, outputs, place_of(s, node, FIRN_EMBEDDING_IN_IDS)->axis);
}

/* --- rules: operands that are repeated ------------------------------------------------------------------------------
 */

/* Whether an input that is the same for every batch is so for each place along dimension `axis` of the output, too, to
 * whose last dimensions it is repeated. */
static bool is_equal_along(const firnc_samples *s, const firnc_node *node, uint8_t input, uint8_t axis, uint8_t rank) {
    const firn_shape *shape = input_shape(s, node, input);
    const int own = (int)axis - (rank - shape->rank);
    return own < 0 || shape->dims[own] == 1 || (place_of(s, node, input)->equal >> own & 1) != 0;
}

/* The dimension of the output along which the samples of an input lie, whose last dimensions are those of the output;
 * false if the input is repeated along it. */
static bool is_aligned(const firnc_samples *s, const firnc_node *node, uint8_t input, const firn_shape *y,
                       uint8_t *axis) {
    const firn_shape *shape = input_shape(s, node, input);
    const uint8_t own = place_of(s, node, input)->axis;
    *axis = (uint8_t)(own + (y->rank - shape->rank));
    return shape->dims[own] == y->dims[*axis];
}

/* Each element depends on those of the operands in its place; operands are repeated as NumPy repeats them. */
static bool repeated(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const firn_shape *y = shape_of(s, node->outputs[0]);
    uint8_t axis = 0, other;
    bool found = false, good = true;
    for (uint8_t i = 0; i < node->input_count; i++) {
        if (!is_batch(s, node, i))
            continue;
        good = good && is_aligned(s, node, i, y, &other) && (!found || other == axis);
        axis = found ? axis : other;
        found = true;
    }
    for (uint8_t i = 0; i < node->input_count; i++)
        good = good && (!has(node, i) || is_batch(s, node, i) || is_equal_along(s, node, i, axis, y->rank));
    return good && along(node, outputs, axis);
}

static bool expand(const firnc_samples *s, const firnc_node *node, place *outputs) {
    uint8_t axis;
    return is_aligned(s, node, 0, shape_of(s, node->outputs[0]), &axis) && along(node, outputs, axis);
}

/* Of products of batches, each of which is a product of two matrices, the samples are batches, or rows or columns of
 * the output. */
static bool matmul(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const firn_shape *y = shape_of(s, node->outputs[0]);
    const uint8_t batches = (uint8_t)(y->rank - 2);
    uint8_t axis = 0;
    bool found = false;
    for (uint8_t i = 0; i < 2; i++) {
        if (!is_batch(s, node, i))
            continue;
        const firn_shape *x = input_shape(s, node, i);
        const uint8_t own = place_of(s, node, i)->axis, matrix = (uint8_t)(x->rank - 2);
        const bool turned = node->integers[i == 0 ? FIRN_MATMUL_TRANSPOSE_A : FIRN_MATMUL_TRANSPOSE_B] != 0;
        const uint8_t kept = (uint8_t)(matrix + ((i == 1) != turned)); /* the dimension that y has, too */
        uint8_t here = (uint8_t)(batches + i);
        if (own < matrix && !is_aligned(s, node, i, y, &here))
            return false;
        if ((own >= matrix && own != kept) || (found && here != axis) || (found && here >= batches))
            return false;
        axis = here;
        found = true;
    }
    for (uint8_t i = 0; i < 2 && axis < batches; i++)
        if (!is_batch(s, node, i) && !is_equal_along(s, node, i, axis, y->rank))
            return false;
    return along(node, outputs, axis);
}

/* --- rules: elements that move --------------------------------------------------------------------------------------
 */

/* The elements keep their order, so the samples do if a dimension has as much before it. */
static bool reshape(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const firn_shape *x = input_shape(s, node, 0), *y = shape_of(s, node->outputs[0]);
    const uint64_t before = product_of(x->dims, place_of(s, node, 0)->axis);
    for (uint8_t axis = 0; axis < y->rank; axis++)
        if (product_of(y->dims, axis) == before && y->dims[axis] % s->count == 0)
            return along(node, outputs, axis);
    return false;
}

static bool transpose(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const uint64_t order = (uint64_t)node->integers[FIRN_TRANSPOSE_ORDER];
    uint8_t axis = 0;
    while ((order >> (4 * axis) & 15) != place_of(s, node, 0)->axis)
        axis++;
    return along(node, outputs, axis);
}

/* What happens along the dimension of attribute 0 happens in each sample by itself. */
static bool along_another(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_only_batch(s, node, 0) && node->integers[0] != place_of(s, node, 0)->axis &&
           along(node, outputs, place_of(s, node, 0)->axis);
}

_Static_assert(FIRN_SLICE_AXIS == 0 && FIRN_PAD_AXIS == 0 && FIRN_CUMULATIVE_SUM_AXIS == 0 && FIRN_ARG_MAX_AXIS == 0 &&
                   FIRN_CONCAT_AXIS == 0 && FIRN_CONCAT_INT32_AXIS == 0 && FIRN_GATHER_AXIS == 0 &&
                   FIRN_GATHER_ELEMENTS_AXIS == 0,
               "rules read the axis there");

static bool arg_max(const firnc_samples *s, const firnc_node *node, place *outputs) {
    if (!along_another(s, node, outputs))
        return false;
    outputs[0].axis = (uint8_t)(outputs[0].axis - (node->integers[0] < outputs[0].axis));
    return true;
}

static bool concat(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return repeated(s, node, outputs) && outputs[0].axis != node->integers[0];
}

static bool reduce(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const uint8_t axis = place_of(s, node, 0)->axis;
    const uint64_t axes = (uint64_t)node->integers[FIRN_REDUCE_SUM_AXES];
    uint8_t gone = 0;
    for (uint8_t i = 0; i < axis && node->integers[FIRN_REDUCE_SUM_KEEP] == 0; i++)
        gone = (uint8_t)(gone + (axes >> i & 1));
    return (axes >> axis & 1) == 0 && along(node, outputs, (uint8_t)(axis - gone));
}

_Static_assert(FIRN_REDUCE_SUM_AXES == FIRN_REDUCE_MAX_AXES && FIRN_REDUCE_SUM_KEEP == FIRN_REDUCE_MAX_KEEP,
               "reduce serves both ops");

static bool gather(const firnc_samples *s, const firnc_node *node, place *outputs) {
    const int64_t axis = node->integers[0];
    const uint8_t ids_rank = input_shape(s, node, FIRN_GATHER_IN_IDS)->rank;
    if (is_only_batch(s, node, FIRN_GATHER_IN_IDS))
        return along(node, outputs, (uint8_t)(axis + place_of(s, node, FIRN_GATHER_IN_IDS)->axis));
    if (!is_only_batch(s, node, FIRN_GATHER_IN_X) || axis == place_of(s, node, FIRN_GATHER_IN_X)->axis)
        return false;
    const uint8_t own = place_of(s, node, FIRN_GATHER_IN_X)->axis;
    return along(node, outputs, (uint8_t)(axis < own ? own + ids_rank - 1 : own));
}

static bool gather_elements(const firnc_samples *s, const firnc_node *node, place *outputs) {
    return is_batch(s, node, 0) && is_batch(s, node, 1) && place_of(s, node, 0)->axis == place_of(s, node, 1)->axis &&
           place_of(s, node, 0)->axis != node->integers[0] && along(node, outputs, place_of(s, node, 0)->axis);
}

/* --- the table ------------------------------------------------------------------------------------------------------
 */

static const struct {
    uint16_t code;
    rule find;
} rules[] = {
    {FIRN_OP_cast, each},
    {FIRN_OP_gelu, each},
    {FIRN_OP_relu, each},
    {FIRN_OP_tanh, each},
    {FIRN_OP_sigmoid, each},
    {FIRN_OP_silu, each},
    {FIRN_OP_softplus, each},
    {FIRN_OP_exp, each},
    {FIRN_OP_log, each},
    {FIRN_OP_sqrt, each},
    {FIRN_OP_reciprocal, each},
    {FIRN_OP_erf, each},
    {FIRN_OP_abs, each},
    {FIRN_OP_clip, each},
    {FIRN_OP_affine, each},
    {FIRN_OP_leaky_relu, each},
    {FIRN_OP_elu, each},
    {FIRN_OP_to_int32, each},
    {FIRN_OP_to_float32, each},
    {FIRN_OP_sign, each},
    {FIRN_OP_floor, each},
    {FIRN_OP_sin, each},
    {FIRN_OP_cos, each},
    {FIRN_OP_atan, each},
    {FIRN_OP_log_one_plus, each},
    {FIRN_OP_round, each},
    {FIRN_OP_linear, rows},
    {FIRN_OP_layer_norm, rows},
    {FIRN_OP_rms_norm, rows},
    {FIRN_OP_batch_norm_fixed, rows},
    {FIRN_OP_softmax, rows},
    {FIRN_OP_log_softmax, rows},
    {FIRN_OP_top_k, rows},
    {FIRN_OP_rotary_embedding, positions},
    {FIRN_OP_conv, leading},
    {FIRN_OP_max_pool, leading},
    {FIRN_OP_average_pool, leading},
    {FIRN_OP_attention, attention},
    {FIRN_OP_cross_attention, cross_attention},
    {FIRN_OP_lstm, recurrent},
    {FIRN_OP_gru, recurrent},
    {FIRN_OP_rnn, recurrent},
    {FIRN_OP_embedding, embedding},
    {FIRN_OP_add, repeated},
    {FIRN_OP_multiply, repeated},
    {FIRN_OP_broadcast_add, repeated},
    {FIRN_OP_broadcast_multiply, repeated},
    {FIRN_OP_subtract, repeated},
    {FIRN_OP_divide, repeated},
    {FIRN_OP_minimum, repeated},
    {FIRN_OP_maximum, repeated},
    {FIRN_OP_select, repeated},
    {FIRN_OP_less, repeated},
    {FIRN_OP_less_or_equal, repeated},
    {FIRN_OP_equal, repeated},
    {FIRN_OP_power, repeated},
    {FIRN_OP_fake_quantize, repeated},
    {FIRN_OP_expand, expand},
    {FIRN_OP_matmul, matmul},
    {FIRN_OP_reshape, reshape},
    {FIRN_OP_transpose, transpose},
    {FIRN_OP_slice, along_another},
    {FIRN_OP_pad, along_another},
    {FIRN_OP_cumulative_sum, along_another},
    {FIRN_OP_arg_max, arg_max},
    {FIRN_OP_concat, concat},
    {FIRN_OP_concat_int32, concat},
    {FIRN_OP_reduce_sum, reduce},
    {FIRN_OP_reduce_max, reduce},
    {FIRN_OP_gather, gather},
    {FIRN_OP_gather_elements, gather_elements},
};

static rule rule_of(uint16_t code) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].code == code)
            return rules[i].find;
    return NULL;
}

/* --- the walk -------------------------------------------------------------------------------------------------------
 */

/* The dimensions along which the result of a node that reads no samples is equal: those that expand adds, also where a
 * cast follows. */
static uint8_t equal_dimensions(const firnc_samples *s, const firnc_node *node) {
    const firn_shape *y = shape_of(s, node->outputs[0]);
    uint8_t equal = 0;
    if (node->code == FIRN_OP_cast)
        return place_of(s, node, 0)->equal;
    for (uint8_t axis = 0; axis < y->rank && node->code == FIRN_OP_expand; axis++)
        equal |= (uint8_t)(is_equal_along(s, node, 0, axis, y->rank) << axis);
    return equal;
}

/* Random numbers depend on the place of an element in the batch, whatever the node reads. */
static bool is_random(const firnc_node *node) {
    return node->code == FIRN_OP_random_uniform || node->code == FIRN_OP_random_normal || node->code == FIRN_OP_dropout;
}

static void visit(firnc_samples *s, const firnc_node *node) {
    place outputs[FIRN_OUTPUTS_MAX] = {{0}};
    const firnc_node *mixing = is_random(node) ? node : NULL;
    bool batch = mixing != NULL;
    for (uint8_t i = 0; i < node->input_count; i++) {
        if (!is_batch(s, node, i))
            continue;
        batch = true;
        if (mixing == NULL)
            mixing = place_of(s, node, i)->mixing;
    }
    if (!batch)
        outputs[0].equal = equal_dimensions(s, node);
    else if (mixing == NULL && (rule_of(node->code) == NULL || !rule_of(node->code)(s, node, outputs)))
        mixing = node;
    for (uint8_t j = 0; j < node->output_count; j++) {
        outputs[j].batch = batch;
        outputs[j].mixing = mixing;
        s->places[node->outputs[j]] = outputs[j];
    }
}

const firnc_samples *firnc_samples_of(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    firnc_samples *s = firnc_allocate(sizeof *s);
    s->graph = graph;
    s->count = compilation->job->data.micro_batch_size;
    s->places = firnc_allocate(graph->value_count * sizeof *s->places);
    for (firnc_value i = 0; i < graph->value_count; i++)
        s->places[i].batch = graph->values[i].source != NULL;
    for (uint32_t i = 0; i < graph->node_count; i++)
        visit(s, &graph->nodes[i]);
    return s;
}

bool firnc_samples_are_apart(const firnc_samples *samples, firnc_value value, const firnc_node **mixing) {
    const place *found = &samples->places[value];
    const uint32_t producer = samples->graph->values[value].producer;
    *mixing = found->mixing;
    if (found->mixing != NULL)
        return false;
    if (found->batch && found->axis == 0)
        return true;
    if (producer != FIRNC_NONE) {
        *mixing = &samples->graph->nodes[producer];
        return false;
    }
    return !found->batch && shape_of(samples, value)->dims[0] == 1;
}
