/* The autodiff pass (train). In: the forward graph in its final types. Out: the backward nodes behind it, and for every
 * parameter a float32 value that is its gradient.
 *
 * The nodes are walked backwards. Each op's rule (the gradient column of plan/ops.def) contributes to the gradients of
 * its inputs; when the first consumer of a value has been walked its contributions are added, in the ascending order of
 * their consumers. The one exception is an embedding table: its rows are added last, in place, onto what other
 * consumers contributed (NUMERICS.md).
 *
 * The gradient of a value has the value's type, as casts differentiate. Half copies of parameters are the exception:
 * theirs has the job's gradient_type. Only gradients that lead to a parameter are computed. */
#include "compiler/passes/passes.h"
#include "plan/op_words.h"

/* What one consumer adds to the gradient of a value. */
typedef struct contribution {
    uint64_t position; /* of the consumer and operand in the forward graph */
    firnc_value gradient;
    const firnc_node *embedding; /* not NULL: rows of `gradient` to be added by its ids */
    struct contribution *next;   /* of a higher position */
} contribution;

typedef struct differentiation {
    firnc_compilation *compilation;
    firnc_graph *graph;
    const firnc_node *forward;    /* its nodes before any was added; growing the list leaves them readable */
    uint32_t value_count;         /* of the forward graph, as is what follows */
    bool *wanted;                 /* leads to a parameter */
    uint32_t *first_consumer;     /* node, or FIRNC_NONE */
    contribution **contributions; /* ascending */
    firnc_value *gradients;       /* FIRNC_NONE until complete */
    const firnc_node *node;       /* the forward node that is being walked */
    uint32_t index;
} differentiation;

static const firn_shape *shape_of(const differentiation *d, firnc_value value) {
    return &d->graph->values[value].shape;
}

/* Makes a backward node for the forward node being walked; returns its first output. */
static firnc_value emit(differentiation *d, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                        const int64_t *integers, const float *reals, const uint8_t *types) {
    uint32_t index = firnc_node_new(d->graph, code, FIRNC_PHASE_MICRO_BATCH, d->node->name, inputs, input_count,
                                    integers, reals, types);
    firnc_node *made = &d->graph->nodes[index];
    made->backward = true;
    if (firn_op_find(code)->pol != FIRN_POL_none) {
        made->level = made->backward_level = d->node->backward_level;
        made->origin = made->backward_origin = d->node->backward_origin;
        made->forward_level = d->node->level;
        made->half_softmax = d->node->half_softmax;
    }
    return made->outputs[0];
}

static firnc_value cast_to(differentiation *d, firnc_value value, uint8_t type) {
    if (shape_of(d, value)->type == type)
        return value;
    return emit(d, FIRN_OP_cast, &value, 1, NULL, NULL, &type);
}

/* Whether a value is a parameter in the half type: cast, or the leading rows of a table. */
static bool is_weight_copy(const differentiation *d, firnc_value value) {
    const firnc_value_info *info = &d->graph->values[value];
    if (info->producer == FIRNC_NONE || !firn_type_is_half(info->shape.type))
        return false;
    const firnc_node *producer = &d->graph->nodes[info->producer];
    return (producer->code == FIRN_OP_cast || producer->code == FIRN_OP_leading_rows) &&
           d->graph->values[producer->inputs[0]].role == FIRNC_ROLE_PARAMETER;
}

static uint8_t gradient_type(const differentiation *d, firnc_value value) {
    if (is_weight_copy(d, value))
        return (uint8_t)d->compilation->job->precision.gradient_type;
    return shape_of(d, value)->type;
}

static void insert(differentiation *d, uint8_t operand, firnc_value gradient, const firnc_node *embedding) {
    contribution *fresh = firnc_allocate(sizeof *fresh);
    fresh->position = (uint64_t)d->index * FIRN_INPUTS_MAX + operand;
    fresh->gradient = gradient;
    fresh->embedding = embedding;
    contribution **place = &d->contributions[d->node->inputs[operand]];
    while (*place != NULL && (*place)->position < fresh->position)
        place = &(*place)->next;
    fresh->next = *place;
    *place = fresh;
}

static void contribute(differentiation *d, uint8_t operand, firnc_value gradient) {
    insert(d, operand, cast_to(d, gradient, gradient_type(d, d->node->inputs[operand])), NULL);
}

static bool wanted(const differentiation *d, uint8_t operand) {
    return operand < d->node->input_count && d->wanted[d->node->inputs[operand]];
}

/* --- the rules: dy is the gradient of output 0 of the node that is being walked ----------------------------------- */

typedef bool (*gradient_rule)(differentiation *d, firnc_value dy);

static bool firnc_gradient_none(differentiation *d, firnc_value dy) {
    (void)dy;
    return firnc_fail(d->compilation, "layer %s: %s has no gradient; it cannot stand between a parameter and the loss",
                      d->node->name, firn_op_name(firn_op_find(d->node->code)));
}

static bool firnc_gradient_cast(differentiation *d, firnc_value dy) {
    contribute(d, 0, dy);
    return true;
}

static bool firnc_gradient_linear(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    firnc_value x = node->inputs[0], weight = node->inputs[1];
    if (wanted(d, 1)) {
        uint8_t type = gradient_type(d, weight);
        contribute(d, 1,
                   emit(d, FIRN_OP_linear_backward_weight, (firnc_value[]){dy, x}, 2, node->integers, NULL, &type));
    }
    if (wanted(d, 2)) {
        uint8_t type = gradient_type(d, node->inputs[2]);
        contribute(d, 2, emit(d, FIRN_OP_sum_leading, &dy, 1, (int64_t[]){1}, NULL, &type));
    }
    if (wanted(d, 0)) {
        uint8_t type = gradient_type(d, x);
        contribute(d, 0,
                   emit(d, FIRN_OP_linear_backward_input, (firnc_value[]){dy, weight}, 2, node->integers, NULL, &type));
    }
    return true;
}

static bool firnc_gradient_embedding(differentiation *d, firnc_value dy) {
    insert(d, 1, dy, d->node);
    return true;
}

static bool firnc_gradient_leading_rows(differentiation *d, firnc_value dy) {
    int64_t rows = shape_of(d, d->node->inputs[0])->dims[0];
    uint8_t type = FIRN_FLOAT32;
    contribute(d, 0, emit(d, FIRN_OP_leading_rows_backward, &dy, 1, &rows, NULL, &type));
    return true;
}

static bool firnc_gradient_add(differentiation *d, firnc_value dy) {
    if (wanted(d, 0))
        contribute(d, 0, dy);
    if (!wanted(d, 1))
        return true;
    firnc_value b = d->node->inputs[1];
    int64_t rank = shape_of(d, b)->rank;
    if (rank == shape_of(d, dy)->rank) {
        contribute(d, 1, dy);
        return true;
    }
    uint8_t type = gradient_type(d, b);
    contribute(d, 1, emit(d, FIRN_OP_sum_leading, &dy, 1, &rank, NULL, &type));
    return true;
}

static bool firnc_gradient_layer_norm(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    firnc_value x = node->inputs[0], gain = node->inputs[1], mean = node->outputs[1], reciprocal = node->outputs[2];
    if (wanted(d, 1) || wanted(d, 2)) {
        bool half = firn_type_is_half((uint8_t)node->integers[FIRN_LAYER_NORM_AFFINE]);
        uint8_t type = half ? (uint8_t)d->compilation->job->precision.gradient_type : (uint8_t)FIRN_FLOAT32;
        emit(d, FIRN_OP_layer_norm_backward_affine, (firnc_value[]){dy, x, mean, reciprocal}, 4, node->integers, NULL,
             (uint8_t[]){type, type});
        firnc_node affine = d->graph->nodes[d->graph->node_count - 1];
        if (wanted(d, 1))
            contribute(d, 1, affine.outputs[0]);
        if (wanted(d, 2))
            contribute(d, 2, affine.outputs[1]);
    }
    if (wanted(d, 0)) {
        uint8_t type = gradient_type(d, x);
        contribute(d, 0,
                   emit(d, FIRN_OP_layer_norm_backward, (firnc_value[]){dy, x, gain, mean, reciprocal}, 5,
                        node->integers, NULL, &type));
    }
    return true;
}

/* Ops of one input whose backward op takes dy and one remembered value. */
static bool pointwise(differentiation *d, uint16_t code, firnc_value dy, firnc_value remembered) {
    uint8_t type = gradient_type(d, d->node->inputs[0]);
    contribute(d, 0, emit(d, code, (firnc_value[]){dy, remembered}, 2, d->node->integers, NULL, &type));
    return true;
}

static bool firnc_gradient_gelu(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_gelu_backward, dy, d->node->inputs[0]);
}

static bool firnc_gradient_relu(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_relu_backward, dy, d->node->outputs[0]);
}

static bool firnc_gradient_tanh(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_tanh_backward, dy, d->node->outputs[0]);
}

static bool firnc_gradient_sigmoid(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_sigmoid_backward, dy, d->node->outputs[0]);
}

static bool firnc_gradient_silu(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_silu_backward, dy, d->node->inputs[0]);
}

static bool firnc_gradient_softplus(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_softplus_backward, dy, d->node->inputs[0]);
}

static bool firnc_gradient_log_softmax(differentiation *d, firnc_value dy) {
    return pointwise(d, FIRN_OP_log_softmax_backward, dy, d->node->outputs[0]);
}

static bool firnc_gradient_dropout(differentiation *d, firnc_value dy) {
    uint8_t type = shape_of(d, dy)->type;
    contribute(d, 0, emit(d, FIRN_OP_dropout, &dy, 1, d->node->integers, d->node->reals, &type));
    return true;
}

static bool firnc_gradient_attention(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const firnc_value inputs[] = {dy, node->inputs[0], node->outputs[1], node->outputs[2]};
    const uint8_t types[] = {gradient_type(d, node->inputs[0]), FIRN_FLOAT32};
    contribute(d, 0, emit(d, FIRN_OP_attention_backward, inputs, 4, node->integers, node->reals, types));
    return true;
}

static bool firnc_gradient_rotary_embedding(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    uint8_t type = gradient_type(d, node->inputs[0]);
    contribute(d, 0, emit(d, FIRN_OP_rotary_embedding_backward, &dy, 1, node->integers, node->reals, &type));
    return true;
}

static bool firnc_gradient_cross_entropy(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const firnc_value inputs[] = {dy, node->inputs[0], node->inputs[1], node->outputs[1], node->outputs[2]};
    uint8_t type = gradient_type(d, node->inputs[0]);
    contribute(d, 0, emit(d, FIRN_OP_cross_entropy_backward, inputs, 5, NULL, NULL, &type));
    return true;
}

static bool firnc_gradient_cross_entropy_weighted(differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const bool weighted = node->input_count > 2;
    const firnc_value inputs[] = {dy,
                                  node->inputs[0],
                                  node->inputs[1],
                                  node->outputs[1],
                                  node->outputs[2],
                                  node->outputs[4],
                                  weighted ? node->inputs[2] : FIRNC_NONE};
    uint8_t type = gradient_type(d, node->inputs[0]);
    contribute(
        d, 0,
        emit(d, FIRN_OP_cross_entropy_weighted_backward, inputs, weighted ? 7 : 6, node->integers, node->reals, &type));
    return true;
}

/* Losses whose backward op takes dy and both operands. */
static bool of_pair(differentiation *d, uint16_t code, firnc_value dy) {
    const firnc_node *node = d->node;
    const firnc_value inputs[] = {dy, node->inputs[0], node->inputs[1]};
    uint8_t type = gradient_type(d, node->inputs[0]);
    contribute(d, 0, emit(d, code, inputs, 3, node->integers, node->reals, &type));
    return true;
}

static bool firnc_gradient_mean_squared_error(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_mean_squared_error_backward, dy);
}

static bool firnc_gradient_l1_loss(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_l1_loss_backward, dy);
}

static bool firnc_gradient_huber_loss(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_huber_loss_backward, dy);
}

static bool firnc_gradient_binary_cross_entropy(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_binary_cross_entropy_backward, dy);
}

static bool firnc_gradient_kl_divergence(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_kl_divergence_backward, dy);
}

static bool firnc_gradient_nll_loss(differentiation *d, firnc_value dy) {
    return of_pair(d, FIRN_OP_nll_loss_backward, dy);
}

static gradient_rule find_rule(uint16_t code) {
    static const struct {
        uint16_t code;
        gradient_rule rule;
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

/* Adds up what was contributed to a value. */
static void complete(differentiation *d, firnc_value value) {
    firnc_value total = FIRNC_NONE;
    for (const contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding != NULL)
            continue;
        if (total == FIRNC_NONE) {
            total = c->gradient;
            continue;
        }
        uint8_t type = shape_of(d, total)->type;
        total = emit(d, FIRN_OP_add, (firnc_value[]){total, c->gradient}, 2, NULL, NULL, &type);
    }
    for (const contribution *c = d->contributions[value]; c != NULL; c = c->next) {
        if (c->embedding == NULL)
            continue;
        int64_t rows = shape_of(d, value)->dims[0];
        uint8_t type = FIRN_FLOAT32;
        const firnc_value inputs[] = {c->embedding->inputs[0], c->gradient, total};
        total = emit(d, FIRN_OP_embedding_backward, inputs, total == FIRNC_NONE ? 2 : 3, &rows, NULL, &type);
    }
    d->gradients[value] = total;
}

/* Marks the values that lead from a parameter, and finds the first consumer of each value. */
static void survey(differentiation *d) {
    const firnc_graph *graph = d->graph;
    d->value_count = graph->value_count;
    d->wanted = firnc_allocate(d->value_count * sizeof *d->wanted);
    d->first_consumer = firnc_allocate(d->value_count * sizeof *d->first_consumer);
    d->contributions = firnc_allocate(d->value_count * sizeof(contribution *));
    d->gradients = firnc_allocate(d->value_count * sizeof *d->gradients);
    for (firnc_value i = 0; i < d->value_count; i++) {
        d->wanted[i] = graph->values[i].role == FIRNC_ROLE_PARAMETER;
        d->first_consumer[i] = FIRNC_NONE;
        d->gradients[i] = FIRNC_NONE;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++) {
            if (d->first_consumer[node->inputs[j]] == FIRNC_NONE)
                d->first_consumer[node->inputs[j]] = i;
            if (d->wanted[node->inputs[j]])
                d->wanted[node->outputs[0]] = true;
        }
    }
}

static bool walk(differentiation *d, uint32_t index) {
    const firnc_node *node = &d->forward[index];
    d->node = node;
    d->index = index;
    firnc_value dy = d->gradients[node->outputs[0]];
    if (dy != FIRNC_NONE && d->wanted[node->outputs[0]] && !find_rule(node->code)(d, dy))
        return false;
    for (uint8_t i = 0; i < node->input_count; i++)
        if (d->first_consumer[node->inputs[i]] == index && d->gradients[node->inputs[i]] == FIRNC_NONE)
            complete(d, node->inputs[i]);
    return true;
}

/* Every parameter must have a gradient of its own, which bears its name. */
static bool name_gradients(differentiation *d) {
    firnc_graph *graph = d->graph;
    for (firnc_value i = 0; i < d->value_count; i++) {
        firnc_value_info *parameter = &graph->values[i];
        if (parameter->role != FIRNC_ROLE_PARAMETER)
            continue;
        if (d->gradients[i] == FIRNC_NONE)
            return firnc_fail(d->compilation, "parameter %s does not reach the loss; leave it out of the model",
                              parameter->name);
        firnc_value_info *gradient = &graph->values[d->gradients[i]];
        if (gradient->role == FIRNC_ROLE_GRADIENT)
            return firnc_fail(d->compilation, "parameters share one gradient (%s); this is a limit of firnc",
                              gradient->name);
        gradient->role = FIRNC_ROLE_GRADIENT;
        gradient->name = firnc_format("gradient.%s", parameter->name);
        parameter->gradient = d->gradients[i];
    }
    return true;
}

bool firnc_differentiate(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    differentiation d = {.compilation = compilation, .graph = graph};
    survey(&d);
    if (graph->loss == FIRNC_NONE)
        return firnc_fail(compilation, "the model %s has no loss; name one with firnc_loss", graph->model);

    uint32_t forward_nodes = graph->node_count;
    uint32_t loss_producer = graph->values[graph->loss].producer;
    d.forward = graph->nodes;
    d.node = &d.forward[loss_producer];
    uint8_t type = FIRN_FLOAT32;
    const float factor = 1; /* the training pass gives the factor and the scale */
    d.gradients[graph->loss] = emit(&d, FIRN_OP_loss_seed, NULL, 0, NULL, &factor, &type);
    for (uint32_t i = forward_nodes; i > 0; i--)
        if (!walk(&d, i - 1))
            return false;
    return name_gradients(&d);
}
