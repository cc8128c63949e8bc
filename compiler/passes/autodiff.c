/* The autodiff pass (train). In: the forward graph in its final types. Out: the backward nodes after the forward ones,
 * and a float32 gradient for every parameter.
 *
 * The pass walks the nodes backwards. Each op's rule (the gradient column of plan/ops.def) contributes to the gradients
 * of its inputs. Once the walk has passed the first consumer of a value, it adds up the value's contributions in
 * ascending order of their consumers. The one exception is an embedding table: its rows are added last, in place, to
 * the contributions of other consumers (NUMERICS.md).
 *
 * The gradient of a value has the value's type. Half copies of parameters are the exception: their gradients have the
 * job's gradient_type. Only gradients on a path to a parameter are computed. */
#include <string.h>

#include "compiler/passes/gradients/gradients.h"
#include "plan/op_words.h"
#include "plan/shapes/windows.h"

/* --- the rules: dy is the gradient of output 0 of the current node ------------------------------------------------ */

bool firnc_gradient_none(firnc_differentiation *d, firnc_value dy) {
    (void)dy;
    return firnc_fail(d->compilation, "layer %s: %s has no gradient; it cannot stand between a parameter and the loss",
                      d->node->name, firn_op_name(firn_op_find(d->node->code)));
}

bool firnc_gradient_cast(firnc_differentiation *d, firnc_value dy) {
    firnc_contribute(d, FIRN_CAST_IN_X, dy);
    return true;
}

bool firnc_gradient_linear(firnc_differentiation *d, firnc_value dy) {
    if (firnc_wanted(d, FIRN_LINEAR_IN_WEIGHT))
        firnc_apply_backward(d, FIRN_OP_linear_backward_weight, dy, NULL);
    if (firnc_wanted(d, FIRN_LINEAR_IN_BIAS))
        firnc_contribute_bias(d, FIRN_LINEAR_IN_BIAS, dy);
    if (firnc_wanted(d, FIRN_LINEAR_IN_X))
        firnc_apply_backward(d, FIRN_OP_linear_backward_input, dy, NULL);
    return true;
}

/* Height and width of an image [N,H,W,C]. */
static const uint32_t *extents_of(const firnc_differentiation *d, firnc_value image) {
    return &firnc_shape_of(d, image)->dims[1];
}

/* Adds an op whose attributes are those of the forward op, then two extents, and contributes its result. */
static void contribute_of_window(firnc_differentiation *d, uint8_t operand, uint16_t code, const firnc_value *inputs,
                                 uint8_t input_count, const uint32_t extents[2]) {
    const uint8_t given = firn_op_find(d->node->code)->integers,
                  type = firnc_type_of_gradient(d, d->node->inputs[operand]);
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    memcpy(integers, d->node->integers, given * sizeof integers[0]);
    integers[given] = extents[0];
    integers[given + 1] = extents[1];
    firnc_contribute(d, operand, firnc_emit(d, code, inputs, input_count, integers, NULL, &type));
}

bool firnc_gradient_conv(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = d->node->inputs[FIRN_CONV_IN_X], weight = d->node->inputs[FIRN_CONV_IN_WEIGHT];
    if (firnc_wanted(d, FIRN_CONV_IN_WEIGHT)) {
        const uint32_t *kernel = extents_of(d, weight);
        const uint8_t type = firnc_type_of_gradient(d, weight);
        const int64_t *given = d->node->integers;
        const int64_t integers[] = {[FIRN_CONV_BACKWARD_WEIGHT_GROUPS] = given[FIRN_CONV_GROUPS],
                                    [FIRN_CONV_BACKWARD_WEIGHT_STRIDE] = given[FIRN_CONV_STRIDE],
                                    [FIRN_CONV_BACKWARD_WEIGHT_DILATION] = given[FIRN_CONV_DILATION],
                                    [FIRN_CONV_BACKWARD_WEIGHT_BEFORE] = given[FIRN_CONV_BEFORE],
                                    [FIRN_CONV_BACKWARD_WEIGHT_AFTER] = given[FIRN_CONV_AFTER],
                                    [FIRN_CONV_BACKWARD_WEIGHT_KERNEL] = firn_pair(kernel[0], kernel[1])};
        firnc_contribute(d, FIRN_CONV_IN_WEIGHT,
                         firnc_emit(d, FIRN_OP_conv_backward_weight, (firnc_value[]){dy, x}, 2, integers, NULL, &type));
    }
    if (firnc_wanted(d, FIRN_CONV_IN_BIAS))
        firnc_contribute_bias(d, FIRN_CONV_IN_BIAS, dy);
    if (firnc_wanted(d, FIRN_CONV_IN_X))
        contribute_of_window(d, FIRN_CONV_IN_X, FIRN_OP_conv_backward_input, (firnc_value[]){dy, weight}, 2,
                             extents_of(d, x));
    return true;
}

bool firnc_gradient_average_pool(firnc_differentiation *d, firnc_value dy) {
    contribute_of_window(d, FIRN_AVERAGE_POOL_IN_X, FIRN_OP_average_pool_backward, &dy, 1,
                         extents_of(d, d->node->inputs[FIRN_AVERAGE_POOL_IN_X]));
    return true;
}

bool firnc_gradient_embedding(firnc_differentiation *d, firnc_value dy) {
    firnc_contribute_rows(d, FIRN_EMBEDDING_IN_TABLE, firnc_gradient_of_rows(d, dy));
    return true;
}

bool firnc_gradient_leading_rows(firnc_differentiation *d, firnc_value dy) {
    int64_t rows = firnc_shape_of(d, d->node->inputs[FIRN_LEADING_ROWS_IN_TABLE])->dims[0];
    uint8_t type = FIRN_FLOAT32;
    firnc_contribute(d, FIRN_LEADING_ROWS_IN_TABLE,
                     firnc_emit(d, FIRN_OP_leading_rows_backward, &dy, 1, &rows, NULL, &type));
    return true;
}

bool firnc_gradient_add(firnc_differentiation *d, firnc_value dy) {
    if (firnc_wanted(d, FIRN_ADD_IN_A))
        firnc_contribute(d, FIRN_ADD_IN_A, dy);
    if (firnc_wanted(d, FIRN_ADD_IN_B))
        firnc_contribute_repeated(d, FIRN_ADD_IN_B, dy);
    return true;
}

/* da = dy b, db = the sum of dy a over the dimensions that b is repeated over, which rounds once, behind the sum. */
bool firnc_gradient_multiply(firnc_differentiation *d, firnc_value dy) {
    const firnc_value a = d->node->inputs[FIRN_MULTIPLY_IN_A], b = d->node->inputs[FIRN_MULTIPLY_IN_B];
    if (firnc_wanted(d, FIRN_MULTIPLY_IN_A)) {
        uint8_t type = firnc_type_of_gradient(d, a);
        firnc_contribute(d, FIRN_MULTIPLY_IN_A,
                         firnc_emit(d, FIRN_OP_multiply, (firnc_value[]){dy, b}, 2, NULL, NULL, &type));
    }
    if (firnc_wanted(d, FIRN_MULTIPLY_IN_B)) {
        bool repeated = firnc_shape_of(d, b)->rank < firnc_shape_of(d, a)->rank;
        uint8_t type = repeated ? (uint8_t)FIRN_FLOAT32 : firnc_type_of_gradient(d, b);
        firnc_contribute_repeated(d, FIRN_MULTIPLY_IN_B,
                                  firnc_emit(d, FIRN_OP_multiply, (firnc_value[]){dy, a}, 2, NULL, NULL, &type));
    }
    return true;
}

/* Gain and bias are float32 tables that the affine part reads in its own type: their gradients are those of half
 * copies. */
static uint8_t type_of_affine_gradient(const firnc_differentiation *d, int64_t affine, uint8_t operand) {
    return firn_type_is_half((uint8_t)affine) ? firnc_type_of_half_parameter(d, d->node->inputs[operand])
                                              : (uint8_t)FIRN_FLOAT32;
}

bool firnc_gradient_layer_norm(firnc_differentiation *d, firnc_value dy) {
    const int64_t affine = d->node->integers[FIRN_LAYER_NORM_AFFINE];
    uint8_t type = FIRN_FLOAT32;
    for (uint8_t i = FIRN_LAYER_NORM_IN_GAIN; i <= (uint8_t)FIRN_LAYER_NORM_IN_BIAS; i++)
        if (firnc_wanted(d, i))
            type = type_of_affine_gradient(d, affine, i);
    if (firnc_wanted(d, FIRN_LAYER_NORM_IN_GAIN) || firnc_wanted(d, FIRN_LAYER_NORM_IN_BIAS))
        firnc_apply_backward(d, FIRN_OP_layer_norm_backward_affine, dy, &type);
    if (firnc_wanted(d, FIRN_LAYER_NORM_IN_X))
        firnc_apply_backward(d, FIRN_OP_layer_norm_backward, dy, NULL);
    return true;
}

bool firnc_gradient_rms_norm(firnc_differentiation *d, firnc_value dy) {
    const uint8_t type = type_of_affine_gradient(d, d->node->integers[FIRN_RMS_NORM_AFFINE], FIRN_RMS_NORM_IN_GAIN);
    if (firnc_wanted(d, FIRN_RMS_NORM_IN_GAIN))
        firnc_apply_backward(d, FIRN_OP_rms_norm_backward_gain, dy, &type);
    if (firnc_wanted(d, FIRN_RMS_NORM_IN_X))
        firnc_apply_backward(d, FIRN_OP_rms_norm_backward, dy, NULL);
    return true;
}

bool firnc_gradient_dropout(firnc_differentiation *d, firnc_value dy) {
    uint8_t type = firnc_shape_of(d, dy)->type;
    firnc_contribute(d, FIRN_DROPOUT_IN_X,
                     firnc_emit(d, FIRN_OP_dropout, &dy, 1, d->node->integers, d->node->reals, &type));
    return true;
}

static firnc_gradient_rule find_rule(uint16_t code) {
    static const struct {
        uint16_t code;
        firnc_gradient_rule rule;
    } rules[] = {
#define FIRN_OP(name, code, rule, gradient, ...) {(code), firnc_gradient_##gradient},
#include "plan/ops.def"
#undef FIRN_OP
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].code == code)
            return rules[i].rule;
    return firnc_gradient_none;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

/* Adds up the contributions to a value. */
static void complete(firnc_differentiation *d, firnc_value value) {
    firnc_value total = FIRNC_NONE;
    for (const firnc_contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding != NULL)
            continue;
        if (total == FIRNC_NONE) {
            total = c->gradient;
            continue;
        }
        uint8_t type = firnc_shape_of(d, total)->type;
        total = firnc_emit(d, FIRN_OP_add, (firnc_value[]){total, c->gradient}, 2, NULL, NULL, &type);
    }
    for (const firnc_contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding == NULL)
            continue;
        int64_t rows = firnc_shape_of(d, value)->dims[0];
        uint8_t type = FIRN_FLOAT32;
        const firnc_value inputs[] = {[FIRN_EMBEDDING_BACKWARD_IN_IDS] = c->embedding->inputs[FIRN_EMBEDDING_IN_IDS],
                                      [FIRN_EMBEDDING_BACKWARD_IN_DY] = c->gradient,
                                      [FIRN_EMBEDDING_BACKWARD_IN_START] = total};
        total =
            firnc_emit(d, FIRN_OP_embedding_backward, inputs, FIRN_EMBEDDING_BACKWARD_IN_START + 1, &rows, NULL, &type);
    }
    d->gradients[value] = total;
}

/* Whether values of a type have gradients: indices have none. */
static bool is_real(uint8_t type) {
    return type == FIRN_FLOAT32 || firn_type_is_half(type);
}

/* Marks the values that depend on a parameter, and finds the first consumer of each value. */
static void survey(firnc_differentiation *d) {
    const firnc_graph *graph = d->graph;
    d->value_count = graph->value_count;
    d->wanted = firnc_allocate(d->value_count * sizeof *d->wanted);
    d->first_consumer = firnc_allocate(d->value_count * sizeof *d->first_consumer);
    d->contributions = firnc_allocate(d->value_count * sizeof(firnc_contribution *));
    d->gradients = firnc_allocate(d->value_count * sizeof *d->gradients);
    for (firnc_value i = 0; i < d->value_count; i++) {
        d->wanted[i] = firnc_is_parameter(graph->values[i].role);
        d->first_consumer[i] = FIRNC_NONE;
        d->gradients[i] = FIRNC_NONE;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++) {
            if (node->inputs[j] == FIRNC_NONE)
                continue;
            if (d->first_consumer[node->inputs[j]] == FIRNC_NONE)
                d->first_consumer[node->inputs[j]] = i;
            for (uint8_t k = 0; d->wanted[node->inputs[j]] && k < node->output_count; k++)
                d->wanted[node->outputs[k]] |= is_real(firnc_shape_of(d, node->outputs[k])->type);
        }
    }
}

/* Whether an output of a node has a gradient that is needed. */
static bool is_reached(const firnc_differentiation *d, const firnc_node *node) {
    for (uint8_t i = 0; i < node->output_count; i++)
        if (d->gradients[node->outputs[i]] != FIRNC_NONE && d->wanted[node->outputs[i]])
            return true;
    return false;
}

static bool walk(firnc_differentiation *d, uint32_t index) {
    const firnc_node *node = &d->forward[index];
    d->node = node;
    d->index = index;
    if (is_reached(d, node) && !find_rule(node->code)(d, d->gradients[node->outputs[0]]))
        return false;
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != FIRNC_NONE && d->first_consumer[node->inputs[i]] == index &&
            d->gradients[node->inputs[i]] == FIRNC_NONE)
            complete(d, node->inputs[i]);
    return true;
}

/* The gradient of a parameter, or a copy where it is that of another parameter, too: of two that are added, say. */
static firnc_value gradient_of_its_own(firnc_differentiation *d, firnc_value parameter) {
    const firnc_value gradient = d->gradients[parameter];
    const float same[] = {[FIRN_AFFINE_SCALE] = 1, [FIRN_AFFINE_SHIFT] = -0.0f};
    if (d->graph->values[gradient].role != FIRNC_ROLE_GRADIENT)
        return gradient;
    d->node = &d->forward[d->first_consumer[parameter]];
    return firnc_emit(d, FIRN_OP_affine, &gradient, 1, NULL, same, &firnc_shape_of(d, gradient)->type);
}

/* Names the gradient of each parameter after it. Fails if a parameter has none. */
static bool name_gradients(firnc_differentiation *d) {
    firnc_graph *graph = d->graph;
    for (firnc_value i = 0; i < d->value_count; i++) {
        const firnc_value_info *parameter = &graph->values[i];
        if (!firnc_is_parameter(parameter->role))
            continue;
        if (d->gradients[i] == FIRNC_NONE)
            return firnc_fail(d->compilation, "parameter %s does not reach the loss; leave it out of the model",
                              parameter->name);
        const firnc_value own = gradient_of_its_own(d, i);
        graph->values[own].role = FIRNC_ROLE_GRADIENT;
        graph->values[own].name = firnc_format("gradient.%s", graph->values[i].name);
        graph->values[i].gradient = own;
    }
    return true;
}

bool firnc_differentiate(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    firnc_differentiation d = {
        .compilation = compilation, .graph = graph, .rounds_totals = firnc_rounds_totals(compilation)};
    survey(&d);

    uint32_t forward_nodes = graph->node_count;
    uint32_t loss_producer = graph->values[graph->loss].producer;
    d.forward = graph->nodes;
    d.node = &d.forward[loss_producer];
    uint8_t type = FIRN_FLOAT32;
    const float factor = 1; /* the training pass sets the factor and the scale */
    d.gradients[graph->loss] = firnc_emit(&d, FIRN_OP_loss_seed, NULL, 0, NULL, &factor, &type);
    for (uint32_t i = forward_nodes; i > 0; i--)
        if (!walk(&d, i - 1))
            return false;
    return name_gradients(&d);
}
