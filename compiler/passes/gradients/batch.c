/* Part of the training pass: a loss whose rows may be absent or weighted is a mean over the rows that count in the
 * whole batch. Where a step has several micro-batches, each divides by the divisor of all of them, which must be known
 * before the first backward pass: dividing the sum at the end would let gradients of half types overflow. Ops of the
 * phase count find the divisor from labels and weights, and the losses and gradients of micro-batches are then added
 * instead of averaged (losses_added of plan.fbs). */
#include "compiler/passes/passes.h"

typedef struct counting {
    const firnc_compilation *compilation;
    firnc_graph *graph;
    firnc_node_list list; /* the nodes before this part of the pass */
    uint32_t loss;        /* index of the node that makes the loss */
    uint32_t micro_batches;
    bool *makes_weights; /* of each value before: the weights of the rows are computed from it */
    firnc_value *copies; /* of each value before: the value that stands for it in the phase count; at first itself */
} counting;

/* Whether a node is a loss that is divided by the number, or the weights, of the rows that count in a micro-batch. */
static bool is_masked(const firnc_node *node) {
    return node->code == FIRN_OP_cross_entropy_weighted && node->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == 0 &&
           (node->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX] >= 0 ||
            node->input_count > FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS);
}

static uint32_t micro_batches_of(const firnc_compilation *compilation) {
    return compilation->job->data.batch_size / compilation->job->data.micro_batch_size;
}

/* A half type overflows in the gradient of a whole batch before it overflows in those of micro-batches. If each were
 * rounded by itself, the cut into micro-batches would decide which steps are skipped. */
bool firnc_rounds_totals(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    const firnc_precision *precision = &compilation->job->precision;
    return precision->scaling == FIRNC_SCALING_DYNAMIC && precision->gradient_type != FIRN_FLOAT32 &&
           micro_batches_of(compilation) > 1 && is_masked(&graph->nodes[graph->values[graph->loss].producer]);
}

/* Whether a node makes one of the marked values. */
static bool makes_marked(const bool *marked, const firnc_node *node) {
    bool makes = false;
    for (uint8_t j = 0; j < node->output_count; j++)
        makes = makes || marked[node->outputs[j]];
    return makes;
}

static void mark_inputs(bool *marked, const firnc_node *node) {
    for (uint8_t j = 0; j < node->input_count; j++)
        if (node->inputs[j] != FIRNC_NONE)
            marked[node->inputs[j]] = true;
}

/* Refuses a masked loss that is only a part of the model's loss. */
static bool is_whole_loss(const counting *c) {
    bool *makes_loss = firnc_allocate(c->graph->value_count * sizeof *makes_loss);
    makes_loss[c->graph->loss] = true;
    for (uint32_t i = c->list.count; i > 0; i--) {
        const firnc_node *node = &c->list.nodes[i - 1];
        if (!makes_marked(makes_loss, node))
            continue;
        if (is_masked(node) && i - 1 != c->loss)
            return firnc_fail(c->compilation,
                              "layer %s: a loss of which rows may be absent is only a part of the loss, and %u "
                              "micro-batches cannot add it up; make micro_batch_size equal to batch_size, or make this "
                              "loss the whole one",
                              node->name, (unsigned)c->micro_batches);
        mark_inputs(makes_loss, node);
    }
    return true;
}

static firnc_value weights_of(const counting *c) {
    const firnc_node *loss = &c->list.nodes[c->loss];
    return loss->input_count > FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS
               ? loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS]
               : FIRNC_NONE;
}

/* Fills makes_weights; the weights of the rows must come from data and constants alone. */
static bool find_weights(const counting *c) {
    const firnc_value weights = weights_of(c);
    if (weights == FIRNC_NONE)
        return true;
    c->makes_weights[weights] = true;
    for (uint32_t i = c->loss; i > 0; i--)
        if (makes_marked(c->makes_weights, &c->list.nodes[i - 1]))
            mark_inputs(c->makes_weights, &c->list.nodes[i - 1]);
    for (firnc_value i = 0; i < c->graph->value_count; i++)
        if (c->makes_weights[i] && firnc_is_state(c->graph->values[i].role))
            return firnc_fail(c->compilation,
                              "layer %s: the weights of its rows depend on %s, which is no data, and %u micro-batches "
                              "need their sum before the first of them is trained on; make micro_batch_size equal to "
                              "batch_size, or compute the weights from inputs alone",
                              c->list.nodes[c->loss].name, c->graph->values[i].name, (unsigned)c->micro_batches);
    return true;
}

/* Puts a copy of a node into the phase count, with values of its own. */
static void put_copy(const counting *c, firnc_node node) {
    firnc_graph *graph = c->graph;
    node.phase = FIRNC_PHASE_COUNT;
    for (uint8_t j = 0; j < node.input_count; j++)
        if (node.inputs[j] != FIRNC_NONE)
            node.inputs[j] = c->copies[node.inputs[j]];
    for (uint8_t j = 0; j < node.output_count; j++) {
        const firnc_value_info original = graph->values[node.outputs[j]];
        const firnc_value copy =
            firnc_value_new(graph, firnc_format("count.%s", original.name), original.role, original.shape);
        c->copies[node.outputs[j]] = copy;
        node.outputs[j] = copy;
    }
    firnc_put_node(graph, &node);
}

/* Adds a tensor that stays from one micro-batch to the next. */
static firnc_value kept(firnc_graph *graph, const char *name, uint8_t type, uint32_t elements) {
    const firn_shape shape = {.type = type, .rank = 1, .dims = {elements}};
    const firnc_value value = firnc_value_new(graph, name, FIRNC_ROLE_ACTIVATION, shape);
    graph->values[value].persistent = true;
    return value;
}

/* Puts the op that finds the divisor, and returns the divisor. */
static firnc_value put_divisor(const counting *c) {
    const firnc_node *loss = &c->list.nodes[c->loss];
    const firnc_value weights = weights_of(c), divisor = kept(c->graph, "batch.divisor", FIRN_FLOAT32, 1);
    firnc_node node = {.phase = FIRNC_PHASE_COUNT, .output_count = 2, .name = loss->name};
    if (weights == FIRNC_NONE) {
        node.code = FIRN_OP_batch_rows;
        node.input_count = 2;
        node.inputs[FIRN_BATCH_ROWS_IN_ROWS] = kept(c->graph, "batch.rows", FIRN_INT64, 1);
        node.outputs[FIRN_BATCH_ROWS_OUT_ROWS] = node.inputs[FIRN_BATCH_ROWS_IN_ROWS];
    } else {
        node.code = FIRN_OP_batch_weights;
        node.input_count = 3;
        node.inputs[FIRN_BATCH_WEIGHTS_IN_WEIGHTS] = c->copies[weights];
        node.inputs[FIRN_BATCH_WEIGHTS_IN_SUM] = kept(c->graph, "batch.weights", FIRN_FLOAT32, 2);
        node.outputs[FIRN_BATCH_WEIGHTS_OUT_SUM] = node.inputs[FIRN_BATCH_WEIGHTS_IN_SUM];
    }
    node.inputs[FIRN_BATCH_ROWS_IN_LABELS] = loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS];
    node.integers[FIRN_BATCH_ROWS_IGNORE_INDEX] = loss->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX];
    node.outputs[FIRN_BATCH_ROWS_OUT_DIVISOR] = divisor;
    firnc_put_node(c->graph, &node);
    return divisor;
}

_Static_assert((int)FIRN_BATCH_ROWS_IN_LABELS == (int)FIRN_BATCH_WEIGHTS_IN_LABELS &&
                   (int)FIRN_BATCH_ROWS_IGNORE_INDEX == (int)FIRN_BATCH_WEIGHTS_IGNORE_INDEX &&
                   (int)FIRN_BATCH_ROWS_OUT_DIVISOR == (int)FIRN_BATCH_WEIGHTS_OUT_DIVISOR,
               "both ops have these in the same places");

/* Gives the loss the divisor of the batch as its last operand. */
static void divide_by(firnc_node *loss, firnc_value divisor) {
    if (loss->input_count <= FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS)
        loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS] = FIRNC_NONE;
    loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR] = divisor;
    loss->input_count = FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR + 1;
}

/* Puts the phase count before the nodes of the graph: copies of the nodes that make the weights, then the divisor. */
static void put_phase(counting *c) {
    for (uint32_t i = 0; i < c->loss; i++)
        if (makes_marked(c->makes_weights, &c->list.nodes[i]))
            put_copy(c, c->list.nodes[i]);
    const firnc_value divisor = put_divisor(c);
    for (uint32_t i = 0; i < c->list.count; i++) {
        firnc_node node = c->list.nodes[i];
        if (i == c->loss)
            divide_by(&node, divisor);
        firnc_put_node(c->graph, &node);
    }
    c->graph->losses_added = true;
}

bool firnc_count_batch(const firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    counting c = {.compilation = compilation,
                  .graph = graph,
                  .list = {.nodes = graph->nodes, .count = graph->node_count},
                  .loss = graph->values[graph->loss].producer,
                  .micro_batches = micro_batches_of(compilation)};
    if (c.micro_batches == 1)
        return true;
    if (!is_whole_loss(&c))
        return false;
    if (!is_masked(&c.list.nodes[c.loss]))
        return true;
    c.makes_weights = firnc_allocate(graph->value_count * sizeof *c.makes_weights);
    c.copies = firnc_allocate(graph->value_count * sizeof *c.copies);
    for (firnc_value i = 0; i < graph->value_count; i++)
        c.copies[i] = i;
    if (!find_weights(&c))
        return false;
    firnc_take_nodes(graph);
    put_phase(&c);
    return true;
}
