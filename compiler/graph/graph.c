/* The graph builder (compiler/graph/graph.h) and the helpers with which passes add values and nodes
 * (compiler/graph/ir.h). This file must not depend on an architecture, a precision or the plan's layout. */
#include "compiler/graph/graph.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/landing.h"
#include "compiler/graph/ir.h"
#include "plan/errors.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"
#include "plan/shapes/windows.h"

/* An open scope of the builder: a layer if it has a name, otherwise an annotation. */
typedef struct firnc_scope {
    const char *layer; /* the whole path, such as "transformer.h.0"; NULL: annotation */
    firnc_pol pol;
    struct firnc_scope *outer;
} firnc_scope;

/* For bugs in a pass or in the program that calls the builder; a wrong recipe must never get here. */
void firnc_graph_misuse(const firnc_graph *graph, const char *what) {
    firnc_say("firnc: graph %s: %s; this is a bug of the program that builds the graph", graph->model, what);
    firnc_end(FIRNC_MISUSE);
}

/* --- values and nodes ------------------------------------------------------------------------------------------ */

/* Passes derive names from this one ("total.gradient.NAME", "LAYER/OP.POSITION"), and a plan limits those, too. */
void firnc_check_name(const firnc_graph *graph, const char *name) {
    if (!firnc_is_name(name))
        firnc_graph_misuse(graph, firnc_format("the name \"%s\" is not of 1 to %d printable ASCII characters",
                                               name == NULL ? "" : name, FIRNC_NAME_MAX));
}

firnc_graph *firnc_graph_create(const char *model) {
    firnc_graph *graph = firnc_allocate(sizeof *graph);
    graph->model = firnc_format("%s", model == NULL ? "" : model);
    firnc_check_name(graph, model);
    firnc_value *named[] = {&graph->loss,
                            &graph->logits,
                            &graph->labels,
                            &graph->loss_scale,
                            &graph->steps_since_rescale,
                            &graph->skipped_steps,
                            &graph->overflows_since_rescale,
                            &graph->at_floor,
                            &graph->finite,
                            &graph->gradient_norm,
                            &graph->global_step,
                            &graph->cursor,
                            &graph->optimizer_step,
                            &graph->metric_sum,
                            &graph->metric_count,
                            &graph->counted,
                            &graph->row_weights,
                            &graph->prediction,
                            &graph->target,
                            &graph->scores,
                            &graph->score_targets,
                            &graph->pushed};
    graph->ignore_index = FIRNC_UNSET;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        *named[i] = FIRNC_NONE;
    return graph;
}

void firnc_graph_evaluate(firnc_graph *graph) {
    if (graph->node_count > 0)
        firnc_graph_misuse(graph, "firnc_graph_evaluate comes after an op");
    graph->eval = true;
}

firnc_value firnc_value_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape) {
    graph->values = firnc_grown(graph->values, graph->value_count, &graph->value_capacity, sizeof *graph->values);
    firnc_value value = graph->value_count++;
    graph->values[value] = (firnc_value_info){.name = name,
                                              .shape = shape,
                                              .role = role,
                                              .producer = FIRNC_NONE,
                                              .gradient = FIRNC_NONE,
                                              .base = FIRNC_NONE,
                                              .gradient_of = FIRNC_NONE};
    return value;
}

static void check_value(const firnc_graph *graph, firnc_value value) {
    if (value >= graph->value_count)
        firnc_graph_misuse(graph, "an operand is not a value of this graph");
}

static const char *path(const firnc_graph *graph) {
    for (const firnc_scope *scope = graph->scopes; scope != NULL; scope = scope->outer)
        if (scope->layer != NULL)
            return scope->layer;
    return graph->model;
}

/* Annotates a new node: with the annotation of the call, else of the innermost annotation scope, else the
 * architecture's rule. */
static void annotate(firnc_graph *graph, firnc_node *node) {
    if (graph->next_annotated) {
        node->annotated = true;
        node->pol = graph->next_pol;
        node->pol_origin = graph->next_origin;
        graph->next_annotated = false;
        if (node->pol_origin != FIRNC_ORIGIN_RULE)
            return;
    }
    for (const firnc_scope *scope = graph->scopes; scope != NULL; scope = scope->outer)
        if (scope->layer == NULL) {
            node->annotated = true;
            node->pol = scope->pol;
            node->pol_origin = FIRNC_ORIGIN_SCOPE;
            return;
        }
}

/* Outputs of a node: those of its row, without one that changes an optional input which the node does not have. Such an
 * input is the last one, and its output too. */
static uint8_t outputs_of(const firn_op_info *info, uint8_t input_count) {
    const uint8_t changed = firn_op_changed(info, info->outputs - 1U);
    return changed != FIRN_FRESH && changed >= input_count ? (uint8_t)(info->outputs - 1) : info->outputs;
}

/* Appends a node whose outputs are not set yet. */
static firnc_node *append(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name, const firnc_value *inputs,
                          uint8_t input_count, const int64_t *integers, const float *reals) {
    const firn_op_info *info = firn_op_find(code);
    if (info == NULL)
        firnc_graph_misuse(graph, "an op has a code that is not in plan/ops.def");
    while (input_count > 0 && inputs[input_count - 1] == FIRNC_NONE)
        input_count--;
    if (input_count < info->inputs_min || input_count > info->inputs_max)
        firnc_graph_misuse(graph, firnc_format("op %s has %u operands", firn_op_name(info), (unsigned)input_count));
    graph->nodes = firnc_grown(graph->nodes, graph->node_count, &graph->node_capacity, sizeof *graph->nodes);
    firnc_node *node = &graph->nodes[graph->node_count++];
    *node = (firnc_node){.code = code,
                         .phase = phase,
                         .name = name,
                         .input_count = input_count,
                         .output_count = outputs_of(info, input_count),
                         .trained_rows = FIRNC_NONE,
                         .pol = {.level = FIRNC_UNSET, .bwd_level = FIRNC_UNSET}};
    for (uint8_t i = 0; i < input_count; i++) {
        if (inputs[i] != FIRNC_NONE || !firn_op_input(info, i)->optional)
            check_value(graph, inputs[i]);
        node->inputs[i] = inputs[i];
    }
    (void)firn_op_fill_integers(code, info->integers_min, node->integers);
    for (uint8_t i = 0; i < info->integers && integers != NULL; i++)
        node->integers[i] = integers[i];
    (void)firn_op_fill_reals(code, info->reals_min, node->reals);
    for (uint8_t i = 0; i < info->reals && reals != NULL; i++)
        node->reals[i] = reals[i];
    return node;
}

int firnc_infer_outputs(const firnc_graph *graph, const firnc_node *node, const uint8_t *types, firn_shape *outputs) {
    const firn_op_info *info = firn_op_find(node->code);
    firn_shape inputs[FIRN_INPUTS_MAX];
    firn_op_signature signature = {.code = node->code,
                                   .input_count = node->input_count,
                                   .output_count = node->output_count,
                                   .integer_count = firn_op_given_integers(info, node->integers),
                                   .real_count = firn_op_given_reals(info, node->reals),
                                   .inputs = inputs,
                                   .outputs = outputs};
    for (uint8_t i = 0; i < node->input_count; i++)
        inputs[i] = node->inputs[i] != FIRNC_NONE ? graph->values[node->inputs[i]].shape : (firn_shape){0};
    for (uint8_t i = 0; i < node->output_count; i++)
        outputs[i] = (firn_shape){.type = types[i]};
    memcpy(signature.integers, node->integers, sizeof signature.integers);
    memcpy(signature.reals, node->reals, sizeof signature.reals);
    return firn_op_infer(&signature);
}

/* Infers the outputs of a node that a pass creates; an error is a bug of the pass. */
static void infer(const firnc_graph *graph, const firnc_node *node, const uint8_t *types, firn_shape *outputs) {
    int error = firnc_infer_outputs(graph, node, types, outputs);
    if (error != FIRN_OK)
        firnc_graph_misuse(graph, firnc_format("op %s of %s: %s", firn_op_name(firn_op_find(node->code)), node->name,
                                               firn_error_text(error)));
}

/* "LAYER/OP" for output 0, "LAYER/OP.POSITION" for the others. */
static const char *output_name(const firnc_node *node, uint8_t output) {
    const char *op = firn_op_name(firn_op_find(node->code));
    if (output == 0)
        return firnc_format("%s/%s", node->name, op);
    return firnc_format("%s/%s.%u", node->name, op, (unsigned)output);
}

static void add_output(firnc_graph *graph, uint32_t index, uint8_t output, firn_shape shape) {
    firnc_node *node = &graph->nodes[index];
    node->outputs[output] = firnc_value_new(graph, output_name(node, output), FIRNC_ROLE_ACTIVATION, shape);
    graph->values[node->outputs[output]].producer = index;
}

uint32_t firnc_node_new(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name, const firnc_value *inputs,
                        uint8_t input_count, const int64_t *integers, const float *reals, const uint8_t *output_types) {
    firnc_node *node = append(graph, code, phase, name, inputs, input_count, integers, reals);
    uint32_t index = graph->node_count - 1;
    firn_shape shapes[FIRN_OUTPUTS_MAX];
    infer(graph, node, output_types, shapes);
    for (uint8_t i = 0; i < node->output_count; i++)
        add_output(graph, index, i, shapes[i]);
    return index;
}

static bool same_shape(const firn_shape *a, const firn_shape *b) {
    bool same = a->type == b->type && a->rank == b->rank;
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        same = same && a->dims[i] == b->dims[i];
    return same;
}

uint32_t firnc_node_in_place(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name,
                             const firnc_value *inputs, uint8_t input_count, const int64_t *integers,
                             const float *reals, const firnc_value *outputs) {
    firnc_node *node = append(graph, code, phase, name, inputs, input_count, integers, reals);
    uint8_t types[FIRN_OUTPUTS_MAX] = {0};
    for (uint8_t i = 0; i < node->output_count; i++) {
        if (outputs[i] == FIRNC_NONE)
            continue;
        check_value(graph, outputs[i]);
        types[i] = graph->values[outputs[i]].shape.type;
    }
    firn_shape shapes[FIRN_OUTPUTS_MAX];
    infer(graph, node, types, shapes);
    for (uint8_t i = 0; i < node->output_count; i++)
        if (outputs[i] == FIRNC_NONE)
            add_output(graph, graph->node_count - 1, i, shapes[i]);
        else if (same_shape(&shapes[i], &graph->values[outputs[i]].shape))
            node->outputs[i] = outputs[i];
        else
            firnc_graph_misuse(graph, firnc_format("an output of %s has another shape than its op gives", name));
    return graph->node_count - 1;
}

/* --- scopes ---------------------------------------------------------------------------------------------------- */

static void scope_push(firnc_graph *graph, firnc_scope content) {
    firnc_scope *scope = firnc_allocate(sizeof *scope);
    *scope = content;
    scope->outer = graph->scopes;
    graph->scopes = scope;
}

static void scope_pop(firnc_graph *graph, bool layer) {
    if (graph->scopes == NULL || (graph->scopes->layer != NULL) != layer)
        firnc_graph_misuse(graph, layer ? "firnc_layer_end does not match" : "firnc_pol_end does not match");
    graph->scopes = graph->scopes->outer;
}

static void check_pol(const firnc_graph *graph, firnc_pol pol) {
    if (pol.level < FIRNC_UNSET || pol.level > 2 || pol.bwd_level < FIRNC_UNSET || pol.bwd_level > 2)
        firnc_graph_misuse(graph, "a POL is not 0, 1, 2 or FIRNC_UNSET");
}

void firnc_pol_begin(firnc_graph *graph, firnc_pol pol) {
    check_pol(graph, pol);
    scope_push(graph, (firnc_scope){.pol = pol});
}

void firnc_pol_end(firnc_graph *graph) {
    scope_pop(graph, false);
}

static void annotate_next(firnc_graph *graph, firnc_pol pol, uint8_t origin) {
    check_pol(graph, pol);
    if (graph->next_annotated)
        firnc_graph_misuse(graph, "two annotations for one op");
    graph->next_annotated = true;
    graph->next_pol = pol;
    graph->next_origin = origin;
}

void firnc_pol_next(firnc_graph *graph, firnc_pol pol) {
    annotate_next(graph, pol, FIRNC_ORIGIN_CALL);
}

void firnc_pol_rule(firnc_graph *graph, firnc_pol pol) {
    annotate_next(graph, pol, FIRNC_ORIGIN_RULE);
}

void firnc_layer_begin(firnc_graph *graph, const char *name) {
    const char *outer = path(graph);
    firnc_check_name(graph, name);
    const char *joined = outer == graph->model ? firnc_format("%s", name) : firnc_format("%s.%s", outer, name);
    firnc_check_name(graph, joined);
    scope_push(graph, (firnc_scope){.layer = joined});
}

void firnc_layer_end(firnc_graph *graph) {
    scope_pop(graph, true);
}

/* --- values of the builder ------------------------------------------------------------------------------------- */

firn_shape firnc_make_shape(const firnc_graph *graph, firn_type type, uint8_t rank, const uint32_t *dims) {
    if (rank == 0 || rank > FIRN_RANK_MAX)
        firnc_graph_misuse(graph, "a rank is not 1 to 8");
    for (uint8_t i = 0; i < rank; i++)
        if (dims[i] == 0)
            firnc_graph_misuse(graph, "an extent is 0");
    firn_shape shape = {.type = (uint8_t)type, .rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return shape;
}

firnc_value firnc_parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims, firnc_init init,
                            bool decay) {
    firnc_check_name(graph, name);
    firnc_value value = firnc_value_new(graph, firnc_format("%s", name), FIRNC_ROLE_PARAMETER,
                                        firnc_make_shape(graph, FIRN_FLOAT32, rank, dims));
    firnc_value_info *info = &graph->values[value];
    info->decay = decay;
    info->initialised = true;
    info->init = init;
    if (init.rule != FIRNC_INIT_CONSTANT)
        info->rng_id = graph->rng_ids++;
    return value;
}

firnc_value firnc_buffer(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims, float initial) {
    firnc_check_name(graph, name);
    firnc_value value = firnc_value_new(graph, firnc_format("%s", name), FIRNC_ROLE_BUFFER,
                                        firnc_make_shape(graph, FIRN_FLOAT32, rank, dims));
    graph->values[value].initialised = true;
    graph->values[value].init = (firnc_init){.rule = FIRNC_INIT_CONSTANT, .a = initial};
    return value;
}

/* --- ops of the builder ---------------------------------------------------------------------------------------- */

/* The type of an output before the autocast pass: the one type that its row names, or that of an input; int32 where the
 * op follows input 0 and that is int32; else float32. */
static uint8_t type_of_output(const firnc_graph *graph, const firnc_node *node, uint8_t output) {
    const firn_op_info *info = firn_op_find(node->code);
    const uint8_t type = firn_op_output(info, output)->type;
    if (type >= FIRN_TYPE_OF_INPUT)
        return graph->values[node->inputs[type - FIRN_TYPE_OF_INPUT]].shape.type;
    if (type < FIRN_TYPE_REAL)
        return type;
    const bool follows = info->autocast == FIRN_AUTOCAST_follow && output == 0;
    return follows && graph->values[node->inputs[0]].shape.type == FIRN_INT32 ? FIRN_INT32 : FIRN_FLOAT32;
}

/* Records an op. Its outputs have no extents until the shapes pass, and no half type until the autocast pass. */
static firnc_value record(firnc_graph *graph, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                          const int64_t *integers, const float *reals) {
    uint8_t phase = graph->eval ? FIRNC_PHASE_EVALUATE : FIRNC_PHASE_MICRO_BATCH;
    firnc_node *node = append(graph, code, phase, path(graph), inputs, input_count, integers, reals);
    annotate(graph, node);
    uint32_t index = graph->node_count - 1;
    for (uint8_t i = 0; i < node->output_count; i++) {
        const firn_shape shape = {.type = type_of_output(graph, node, i)};
        node->outputs[i] = firnc_value_new(graph, output_name(node, i), FIRNC_ROLE_ACTIVATION, shape);
        graph->values[node->outputs[i]].producer = index;
    }
    return node->outputs[0];
}

static bool takes_rng_id(const firn_op_info *info) {
    for (uint8_t i = 0; i < info->integers; i++)
        if (info->ranges[i] == FIRN_RANGE_RNG_ID)
            return true;
    return false;
}

firnc_value firnc_op(firnc_graph *graph, firn_op_code code, const firnc_value *inputs, uint8_t input_count,
                     const int64_t *integers, const float *reals) {
    const firn_op_info *info = (uint32_t)code <= UINT16_MAX ? firn_op_find((uint16_t)code) : NULL;
    if (info == NULL || info->autocast == FIRN_AUTOCAST_fixed)
        firnc_graph_misuse(graph, "firnc_op records forward ops only; casts and backward, update and metric ops are "
                                  "added by the compiler");
    if (takes_rng_id(info))
        firnc_graph_misuse(graph, firnc_format("the builder assigns the rng_id of %s; call firnc_%s",
                                               firn_op_name(info), firn_op_name(info)));
    return record(graph, (uint16_t)code, inputs, input_count, integers, reals);
}

firnc_value firnc_linear(firnc_graph *graph, firnc_value x, firnc_value weight, firnc_value bias_or_none, int layout) {
    uint8_t count = bias_or_none == FIRNC_NONE ? 2 : 3;
    return record(graph, FIRN_OP_linear, (firnc_value[]){x, weight, bias_or_none}, count, (int64_t[]){layout}, NULL);
}

/* A pair of attributes; 0 stands for `instead`. */
static int64_t pair(firnc_graph *graph, const uint32_t values[2], uint32_t instead) {
    if (values[0] > FIRN_PAIR_MAX || values[1] > FIRN_PAIR_MAX)
        firnc_graph_misuse(graph, "a size, stride, dilation or padding of windows is above 65535");
    return firn_pair(values[0] != 0 ? values[0] : instead, values[1] != 0 ? values[1] : instead);
}

/* Writes the attributes of windows one behind the other (plan/shapes/windows.h). */
static void set_windows(firnc_graph *graph, int64_t *attributes, const firnc_windows *windows) {
    attributes[FIRN_WINDOW_STRIDE] = pair(graph, windows->stride, 1);
    attributes[FIRN_WINDOW_DILATION] = pair(graph, windows->dilation, 1);
    attributes[FIRN_WINDOW_BEFORE] = pair(graph, windows->before, 0);
    attributes[FIRN_WINDOW_AFTER] = pair(graph, windows->after, 0);
}

firnc_value firnc_conv(firnc_graph *graph, firnc_value x, firnc_value weight, firnc_value bias_or_none, uint32_t groups,
                       firnc_windows windows) {
    const uint8_t count = bias_or_none == FIRNC_NONE ? 2 : 3;
    int64_t integers[FIRN_CONV_STRIDE + FIRN_WINDOW_ATTRIBUTES] = {[FIRN_CONV_GROUPS] = groups};
    set_windows(graph, &integers[FIRN_CONV_STRIDE], &windows);
    return record(graph, FIRN_OP_conv, (firnc_value[]){x, weight, bias_or_none}, count, integers, NULL);
}

firnc_value firnc_max_pool(firnc_graph *graph, firnc_value x, const uint32_t kernel[2], firnc_windows windows) {
    int64_t integers[FIRN_MAX_POOL_STRIDE + FIRN_WINDOW_ATTRIBUTES] = {[FIRN_MAX_POOL_KERNEL] = pair(graph, kernel, 0)};
    set_windows(graph, &integers[FIRN_MAX_POOL_STRIDE], &windows);
    return record(graph, FIRN_OP_max_pool, &x, 1, integers, NULL);
}

firnc_value firnc_average_pool(firnc_graph *graph, firnc_value x, const uint32_t kernel[2], firnc_windows windows,
                               bool padded) {
    int64_t integers[FIRN_ATTRIBUTES_MAX] = {
        [FIRN_AVERAGE_POOL_KERNEL] = pair(graph, kernel, 0), [FIRN_AVERAGE_POOL_PADDED] = padded};
    set_windows(graph, &integers[FIRN_AVERAGE_POOL_STRIDE], &windows);
    return record(graph, FIRN_OP_average_pool, &x, 1, integers, NULL);
}

/* Records a recurrent op and hands out its last states. Inputs at the end of the list that are FIRNC_NONE are left
 * out. */
static firnc_value record_recurrence(firnc_graph *graph, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                                     const int64_t *integers, firnc_value *last_h, firnc_value *last_c) {
    while (input_count > 1 && inputs[input_count - 1] == FIRNC_NONE)
        input_count--;
    const firnc_value y = record(graph, code, inputs, input_count, integers, NULL);
    const firnc_value *outputs = graph->nodes[graph->node_count - 1].outputs;
    if (last_h != NULL)
        *last_h = outputs[FIRN_LSTM_OUT_LAST_H];
    if (last_c != NULL)
        *last_c = outputs[FIRN_LSTM_OUT_LAST_C];
    return y;
}

_Static_assert((int)FIRN_LSTM_OUT_LAST_H == (int)FIRN_GRU_OUT_LAST_H &&
                   (int)FIRN_LSTM_OUT_LAST_H == (int)FIRN_RNN_OUT_LAST_H,
               "all recurrent ops have the last h at one place");

firnc_value firnc_lstm(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value h0_or_none,
                       firnc_value c0_or_none, firnc_recurrent_options options, firnc_value *last_h,
                       firnc_value *last_c) {
    const firnc_value inputs[] = {[FIRN_LSTM_IN_GATES] = gates,
                                  [FIRN_LSTM_IN_WEIGHT] = weight,
                                  [FIRN_LSTM_IN_H0] = h0_or_none,
                                  [FIRN_LSTM_IN_C0] = c0_or_none};
    const int64_t integers[] = {[FIRN_LSTM_REVERSE] = options.reverse, [FIRN_LSTM_KEEP] = !graph->eval};
    return record_recurrence(graph, FIRN_OP_lstm, inputs, 4, integers, last_h, last_c);
}

firnc_value firnc_gru(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value bias_or_none,
                      firnc_value h0_or_none, firnc_recurrent_options options, firnc_value *last_h) {
    const firnc_value inputs[] = {[FIRN_GRU_IN_GATES] = gates,
                                  [FIRN_GRU_IN_WEIGHT] = weight,
                                  [FIRN_GRU_IN_BIAS] = bias_or_none,
                                  [FIRN_GRU_IN_H0] = h0_or_none};
    const int64_t integers[] = {[FIRN_GRU_RESET_AFTER] = options.reset_after,
                                [FIRN_GRU_REVERSE] = options.reverse,
                                [FIRN_GRU_KEEP] = !graph->eval};
    return record_recurrence(graph, FIRN_OP_gru, inputs, 4, integers, last_h, NULL);
}

firnc_value firnc_rnn(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value h0_or_none,
                      firnc_recurrent_options options, firnc_value *last_h) {
    const firnc_value inputs[] = {
        [FIRN_RNN_IN_GATES] = gates, [FIRN_RNN_IN_WEIGHT] = weight, [FIRN_RNN_IN_H0] = h0_or_none};
    const int64_t integers[] = {[FIRN_RNN_RELU] = options.relu, [FIRN_RNN_REVERSE] = options.reverse};
    return record_recurrence(graph, FIRN_OP_rnn, inputs, 3, integers, last_h, NULL);
}

firnc_value firnc_embedding(firnc_graph *graph, firnc_value ids, firnc_value table) {
    return record(graph, FIRN_OP_embedding, (firnc_value[]){ids, table}, 2, NULL, NULL);
}

void firnc_train_rows(firnc_graph *graph, firnc_value selected, firnc_value trained) {
    firnc_node *node = &graph->nodes[graph->values[selected].producer];
    if (node->code != FIRN_OP_embedding && node->code != FIRN_OP_gather)
        firnc_graph_misuse(graph, "only rows that an embedding or a gather has selected may be left untrained");
    node->trained_rows = trained;
}

firnc_value firnc_leading_rows(firnc_graph *graph, firnc_value table, uint32_t rows) {
    return record(graph, FIRN_OP_leading_rows, &table, 1, (int64_t[]){rows}, NULL);
}

firnc_value firnc_multiply(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record(graph, FIRN_OP_multiply, (firnc_value[]){a, b}, 2, NULL, NULL);
}

firnc_value firnc_add(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record(graph, FIRN_OP_add, (firnc_value[]){a, b}, 2, NULL, NULL);
}

/* Extents as eight attributes; those behind the rank are 0. */
static void set_extents(firnc_graph *graph, int64_t *attributes, uint8_t rank, const uint32_t *dims) {
    const firn_shape shape = firnc_make_shape(graph, FIRN_FLOAT32, rank, dims);
    for (uint8_t d = 0; d < FIRN_RANK_MAX; d++)
        attributes[d] = shape.dims[d];
}

firnc_value firnc_reshape(firnc_graph *graph, firnc_value x, uint8_t rank, const uint32_t *dims) {
    int64_t integers[FIRN_RANK_MAX];
    set_extents(graph, integers, rank, dims);
    return record(graph, FIRN_OP_reshape, &x, 1, integers, NULL);
}

firnc_value firnc_expand(firnc_graph *graph, firnc_value x, uint8_t rank, const uint32_t *dims) {
    int64_t integers[FIRN_RANK_MAX];
    set_extents(graph, integers, rank, dims);
    return record(graph, FIRN_OP_expand, &x, 1, integers, NULL);
}

firnc_value firnc_transpose(firnc_graph *graph, firnc_value x, uint8_t rank, const uint8_t *order) {
    int64_t packed = 0;
    if (rank == 0 || rank > FIRN_RANK_MAX)
        firnc_graph_misuse(graph, "a rank is not 1 to 8");
    for (uint8_t d = 0; d < rank; d++) {
        if (order[d] >= rank)
            firnc_graph_misuse(graph, "an order of dimensions names one that is not there");
        packed |= (int64_t)order[d] << 4 * d;
    }
    return record(graph, FIRN_OP_transpose, &x, 1, &packed, NULL);
}

firnc_value firnc_slice(firnc_graph *graph, firnc_value x, uint8_t axis, uint32_t first, int32_t step, uint32_t count) {
    const int64_t integers[] = {
        [FIRN_SLICE_AXIS] = axis, [FIRN_SLICE_FIRST] = first, [FIRN_SLICE_STEP] = step, [FIRN_SLICE_COUNT] = count};
    return record(graph, FIRN_OP_slice, &x, 1, integers, NULL);
}

firnc_value firnc_pad(firnc_graph *graph, firnc_value x, uint8_t axis, uint32_t before, uint32_t after, float value) {
    const int64_t integers[] = {[FIRN_PAD_AXIS] = axis, [FIRN_PAD_BEFORE] = before, [FIRN_PAD_AFTER] = after};
    return record(graph, FIRN_OP_pad, &x, 1, integers, &value);
}

firnc_value firnc_concat(firnc_graph *graph, const firnc_value *xs, uint8_t count, uint8_t axis) {
    if (count == 0)
        firnc_graph_misuse(graph, "concat joins no tensors");
    check_value(graph, xs[0]);
    const bool integers = graph->values[xs[0]].shape.type == FIRN_INT32;
    return record(graph, integers ? FIRN_OP_concat_int32 : FIRN_OP_concat, xs, count, (int64_t[]){axis}, NULL);
}

firnc_value firnc_gather(firnc_graph *graph, firnc_value x, firnc_value ids, uint8_t axis) {
    return record(graph, FIRN_OP_gather, (firnc_value[]){x, ids}, 2, (int64_t[]){axis}, NULL);
}

firnc_value firnc_gather_elements(firnc_graph *graph, firnc_value x, firnc_value ids, uint8_t axis) {
    return record(graph, FIRN_OP_gather_elements, (firnc_value[]){x, ids}, 2, (int64_t[]){axis}, NULL);
}

firnc_value firnc_scatter_nd(firnc_graph *graph, firnc_value data, firnc_value ids, firnc_value updates, bool add) {
    return record(graph, FIRN_OP_scatter_nd, (firnc_value[]){data, ids, updates}, 3, (int64_t[]){add}, NULL);
}

firnc_value firnc_cumulative_sum(firnc_graph *graph, firnc_value x, uint8_t axis, bool exclusive, bool reverse) {
    const int64_t integers[] = {[FIRN_CUMULATIVE_SUM_AXIS] = axis,
                                [FIRN_CUMULATIVE_SUM_EXCLUSIVE] = exclusive,
                                [FIRN_CUMULATIVE_SUM_REVERSE] = reverse};
    return record(graph, FIRN_OP_cumulative_sum, &x, 1, integers, NULL);
}

firnc_value firnc_layer_norm(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias, float epsilon) {
    return record(graph, FIRN_OP_layer_norm, (firnc_value[]){x, gain, bias}, 3, (int64_t[]){FIRN_FLOAT32}, &epsilon);
}

firnc_value firnc_batch_norm_fixed(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias,
                                   firnc_value mean, firnc_value variance, float epsilon) {
    return record(graph, FIRN_OP_batch_norm_fixed, (firnc_value[]){x, gain, bias, mean, variance}, 5, NULL, &epsilon);
}

static void check_buffer(const firnc_graph *graph, firnc_value value) {
    check_value(graph, value);
    if (graph->values[value].role != FIRNC_ROLE_BUFFER)
        firnc_graph_misuse(graph, "the mean and the variance of a batch norm are buffers; call firnc_buffer");
}

firnc_value firnc_batch_norm(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias, firnc_value mean,
                             firnc_value variance, float epsilon, float momentum) {
    check_buffer(graph, mean);
    check_buffer(graph, variance);
    if (!(momentum >= 0 && momentum <= 1))
        firnc_graph_misuse(graph, "the momentum of a batch norm is not from 0 to 1");
    if (graph->eval)
        return firnc_batch_norm_fixed(graph, x, gain, bias, mean, variance, epsilon);
    const firnc_value y = record(graph, FIRN_OP_batch_norm, (firnc_value[]){x, gain, bias}, 3, NULL, &epsilon);
    graph->statistics =
        firnc_grown(graph->statistics, graph->statistics_count, &graph->statistics_capacity, sizeof *graph->statistics);
    graph->statistics[graph->statistics_count++] = (firnc_statistics){y, mean, variance, momentum};
    return y;
}

firnc_value firnc_rms_norm(firnc_graph *graph, firnc_value x, firnc_value gain, float epsilon) {
    return record(graph, FIRN_OP_rms_norm, (firnc_value[]){x, gain}, 2, (int64_t[]){FIRN_FLOAT32}, &epsilon);
}

firnc_value firnc_gelu(firnc_graph *graph, firnc_value x, int form) {
    return record(graph, FIRN_OP_gelu, &x, 1, (int64_t[]){form}, NULL);
}

firnc_value firnc_relu(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_relu, &x, 1, NULL, NULL);
}

firnc_value firnc_tanh(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_tanh, &x, 1, NULL, NULL);
}

firnc_value firnc_sigmoid(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_sigmoid, &x, 1, NULL, NULL);
}

firnc_value firnc_silu(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_silu, &x, 1, NULL, NULL);
}

firnc_value firnc_softplus(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_softplus, &x, 1, NULL, NULL);
}

firnc_value firnc_softmax(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_softmax, &x, 1, NULL, NULL);
}

firnc_value firnc_reduce_sum(firnc_graph *graph, firnc_value x, uint32_t axes, bool keep) {
    return record(graph, FIRN_OP_reduce_sum, &x, 1, (int64_t[]){axes, keep}, NULL);
}

firnc_value firnc_reduce_max(firnc_graph *graph, firnc_value x, uint32_t axes, bool keep) {
    return record(graph, FIRN_OP_reduce_max, &x, 1, (int64_t[]){axes, keep}, NULL);
}

firnc_value firnc_arg_max(firnc_graph *graph, firnc_value x, uint8_t axis, bool last) {
    return record(graph, FIRN_OP_arg_max, &x, 1, (int64_t[]){axis, last}, NULL);
}

firnc_value firnc_matmul(firnc_graph *graph, firnc_value a, firnc_value b, bool transpose_a, bool transpose_b) {
    return record(graph, FIRN_OP_matmul, (firnc_value[]){a, b}, 2, (int64_t[]){transpose_a, transpose_b}, NULL);
}

firnc_value firnc_log_softmax(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_log_softmax, &x, 1, NULL, NULL);
}

/* --- elementwise ops with repeated operands ----------------------------------------------------------------------- */

static firnc_value record_two(firnc_graph *graph, uint16_t code, firnc_value a, firnc_value b) {
    return record(graph, code, (firnc_value[]){a, b}, 2, NULL, NULL);
}

firnc_value firnc_subtract(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_subtract, a, b);
}

firnc_value firnc_divide(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_divide, a, b);
}

firnc_value firnc_minimum(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_minimum, a, b);
}

firnc_value firnc_maximum(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_maximum, a, b);
}

firnc_value firnc_power(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_power, a, b);
}

firnc_value firnc_less(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_less, a, b);
}

firnc_value firnc_less_or_equal(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_less_or_equal, a, b);
}

firnc_value firnc_equal(firnc_graph *graph, firnc_value a, firnc_value b) {
    return record_two(graph, FIRN_OP_equal, a, b);
}

firnc_value firnc_select(firnc_graph *graph, firnc_value condition, firnc_value a_or_none, firnc_value b_or_none) {
    const uint8_t count = b_or_none == FIRNC_NONE ? 2 : 3;
    if (a_or_none == FIRNC_NONE && b_or_none == FIRNC_NONE)
        firnc_graph_misuse(graph, "a select has nothing to select");
    return record(graph, FIRN_OP_select, (firnc_value[]){condition, a_or_none, b_or_none}, count, NULL, NULL);
}

firnc_value firnc_exp(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_exp, &x, 1, NULL, NULL);
}

firnc_value firnc_log(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_log, &x, 1, NULL, NULL);
}

firnc_value firnc_sqrt(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_sqrt, &x, 1, NULL, NULL);
}

firnc_value firnc_reciprocal(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_reciprocal, &x, 1, NULL, NULL);
}

firnc_value firnc_erf(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_erf, &x, 1, NULL, NULL);
}

firnc_value firnc_abs(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_abs, &x, 1, NULL, NULL);
}

firnc_value firnc_signum(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_sign, &x, 1, NULL, NULL);
}

firnc_value firnc_floor(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_floor, &x, 1, NULL, NULL);
}

firnc_value firnc_to_int32(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_to_int32, &x, 1, NULL, NULL);
}

firnc_value firnc_to_float32(firnc_graph *graph, firnc_value x) {
    return record(graph, FIRN_OP_to_float32, &x, 1, NULL, NULL);
}

firnc_value firnc_elu(firnc_graph *graph, firnc_value x, float alpha) {
    return record(graph, FIRN_OP_elu, &x, 1, NULL, &alpha);
}

firnc_value firnc_leaky_relu(firnc_graph *graph, firnc_value x, float slope) {
    return record(graph, FIRN_OP_leaky_relu, &x, 1, NULL, &slope);
}

firnc_value firnc_clip(firnc_graph *graph, firnc_value x, float low, float high) {
    const float limits[] = {
        [FIRN_CLIP_LOW] = low < -FLT_MAX ? -FLT_MAX : low, [FIRN_CLIP_HIGH] = high > FLT_MAX ? FLT_MAX : high};
    return record(graph, FIRN_OP_clip, &x, 1, NULL, limits);
}

firnc_value firnc_affine(firnc_graph *graph, firnc_value x, float scale, float shift) {
    return record(graph, FIRN_OP_affine, &x, 1, NULL, (float[]){scale, shift});
}

firnc_value firnc_dropout(firnc_graph *graph, firnc_value x, float rate) {
    if (!(rate >= 0 && rate < 1))
        firnc_graph_misuse(graph, "a dropout rate is not in [0, 1)");
    check_value(graph, x);
    uint32_t rng_id = graph->rng_ids++;
    if (rate == 0 || graph->eval) {
        graph->next_annotated = false; /* an annotation of this call must not reach the next op */
        return x;
    }
    return record(graph, FIRN_OP_dropout, &x, 1, (int64_t[]){rng_id}, &rate);
}

firnc_value firnc_random_uniform(firnc_graph *graph, firnc_value like) {
    return record(graph, FIRN_OP_random_uniform, &like, 1, (int64_t[]){graph->rng_ids++}, NULL);
}

firnc_value firnc_random_normal(firnc_graph *graph, firnc_value like) {
    return record(graph, FIRN_OP_random_normal, &like, 1, (int64_t[]){graph->rng_ids++}, NULL);
}

/* Queries for which attention computes the scores at a time: as many as the rows of the portable kernels' tiles. Fewer
 * would take less of the arena and more time. */
enum { ATTENTION_ROWS = 16 };

/* Records either op of attention, which have the same attributes. */
static firnc_value attention(firnc_graph *graph, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                             const firnc_attention_options *options) {
    if (!(options->dropout_rate >= 0 && options->dropout_rate < 1))
        firnc_graph_misuse(graph, "a dropout rate is not in [0, 1)");
    const int64_t integers[] = {[FIRN_ATTENTION_HEADS] = options->heads,
                                [FIRN_ATTENTION_KV_HEADS] = options->kv_heads,
                                [FIRN_ATTENTION_CAUSAL] = options->causal,
                                [FIRN_ATTENTION_RNG_ID] = graph->rng_ids++,
                                [FIRN_ATTENTION_ROWS] = ATTENTION_ROWS};
    const float reals[] = {[FIRN_ATTENTION_SCALE] = options->scale,
                           [FIRN_ATTENTION_DROPOUT_RATE] = graph->eval ? 0 : options->dropout_rate};
    firnc_value y = record(graph, code, inputs, input_count, integers, reals);
    graph->nodes[graph->values[y].producer].half_softmax = options->half_softmax;
    return y;
}

firnc_value firnc_attention(firnc_graph *graph, firnc_value qkv, firnc_attention_options options) {
    const firnc_value inputs[] = {[FIRN_ATTENTION_IN_QKV] = qkv, [FIRN_ATTENTION_IN_SLOPES] = options.slopes};
    return attention(graph, FIRN_OP_attention, inputs, options.alibi ? 2 : 1, &options);
}

firnc_value firnc_cross_attention(firnc_graph *graph, firnc_value query, firnc_value key, firnc_value value,
                                  firnc_value mask_or_none, firnc_attention_options options) {
    const firnc_value inputs[] = {[FIRN_CROSS_ATTENTION_IN_QUERY] = query,
                                  [FIRN_CROSS_ATTENTION_IN_KEY] = key,
                                  [FIRN_CROSS_ATTENTION_IN_VALUE] = value,
                                  [FIRN_CROSS_ATTENTION_IN_MASK] = mask_or_none,
                                  [FIRN_CROSS_ATTENTION_IN_SLOPES] = options.slopes};
    const uint8_t count = options.alibi ? 5 : mask_or_none != FIRNC_NONE ? 4 : 3;
    return attention(graph, FIRN_OP_cross_attention, inputs, count, &options);
}

firnc_value firnc_rotary_embedding(firnc_graph *graph, firnc_value x, firnc_rotary_options options) {
    const int64_t integers[] = {[FIRN_ROTARY_EMBEDDING_ROTATION] = FIRN_FLOAT32,
                                [FIRN_ROTARY_EMBEDDING_HEADS] = options.heads,
                                [FIRN_ROTARY_EMBEDDING_ROTATED] = options.rotated,
                                [FIRN_ROTARY_EMBEDDING_ROTARY_DIM] = options.rotary_dim,
                                [FIRN_ROTARY_EMBEDDING_INTERLEAVED] = options.interleaved};
    return record(graph, FIRN_OP_rotary_embedding, &x, 1, integers, &options.base);
}

firnc_value firnc_cross_entropy(firnc_graph *graph, firnc_value logits, firnc_value labels) {
    return record(graph, FIRN_OP_cross_entropy, (firnc_value[]){logits, labels}, 2, NULL, NULL);
}

firnc_value firnc_mean_squared_error(firnc_graph *graph, firnc_value prediction, firnc_value target) {
    return record(graph, FIRN_OP_mean_squared_error, (firnc_value[]){prediction, target}, 2, NULL, NULL);
}

firnc_value firnc_cross_entropy_weighted(firnc_graph *graph, firnc_value logits, firnc_value labels,
                                         firnc_value weights_or_none, firnc_cross_entropy_options options) {
    const int64_t integers[] = {[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX] =
                                    options.ignores ? (int64_t)options.ignore_index : FIRNC_UNSET,
                                [FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] = options.batch_size};
    const float reals[] = {[FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING] = options.label_smoothing,
                           [FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR] = options.batch_size ? options.loss_weight : 1};
    return record(graph, FIRN_OP_cross_entropy_weighted, (firnc_value[]){logits, labels, weights_or_none}, 3, integers,
                  reals);
}

firnc_value firnc_l1_loss(firnc_graph *graph, firnc_value prediction, firnc_value target) {
    return record(graph, FIRN_OP_l1_loss, (firnc_value[]){prediction, target}, 2, NULL, NULL);
}

firnc_value firnc_huber_loss(firnc_graph *graph, firnc_value prediction, firnc_value target, int form,
                             float threshold) {
    return record(graph, FIRN_OP_huber_loss, (firnc_value[]){prediction, target}, 2, (int64_t[]){form}, &threshold);
}

firnc_value firnc_binary_cross_entropy(firnc_graph *graph, firnc_value logits, firnc_value target) {
    return record(graph, FIRN_OP_binary_cross_entropy, (firnc_value[]){logits, target}, 2, NULL, NULL);
}

firnc_value firnc_nll_loss(firnc_graph *graph, firnc_value log_probabilities, firnc_value labels) {
    return record(graph, FIRN_OP_nll_loss, (firnc_value[]){log_probabilities, labels}, 2, NULL, NULL);
}

firnc_value firnc_kl_divergence(firnc_graph *graph, firnc_value log_probabilities, firnc_value target, bool log_target,
                                bool batch_mean) {
    const int64_t integers[FIRN_ATTRIBUTES_MAX] = {
        [FIRN_KL_DIVERGENCE_LOG_TARGET] = log_target, [FIRN_KL_DIVERGENCE_BATCH_MEAN] = batch_mean};
    return record(graph, FIRN_OP_kl_divergence, (firnc_value[]){log_probabilities, target}, 2, integers, NULL);
}

void firnc_graph_refuse(firnc_graph *graph) {
    graph->refused = true;
}

void firnc_loss(firnc_graph *graph, firnc_value loss) {
    check_value(graph, loss);
    if (graph->loss != FIRNC_NONE)
        firnc_graph_misuse(graph, "a graph has one loss");
    if (graph->values[loss].producer == FIRNC_NONE)
        firnc_graph_misuse(graph, "the loss is an input or a parameter, not the result of an op");
    graph->loss = loss;
}

void firnc_classification(firnc_graph *graph, firnc_value logits, firnc_value labels) {
    check_value(graph, logits);
    check_value(graph, labels);
    graph->logits = logits;
    graph->labels = labels;
}

void firnc_name_value(firnc_graph *graph, const char *name, firnc_value value) {
    firnc_check_name(graph, name);
    check_value(graph, value);
    if (graph->values[value].producer == FIRNC_NONE)
        firnc_graph_misuse(graph, "a value with a name is an input or a parameter, not the result of an op");
    graph->named = firnc_grown(graph->named, graph->named_count, &graph->named_capacity, sizeof *graph->named);
    graph->named[graph->named_count++] = (firnc_named_value){firnc_format("%s", name), value};
}

void firnc_row_weights(firnc_graph *graph, firnc_value weights_or_none, int64_t ignore_index) {
    if (weights_or_none != FIRNC_NONE)
        check_value(graph, weights_or_none);
    if (ignore_index < FIRNC_UNSET || ignore_index > INT32_MAX)
        firnc_graph_misuse(graph, "an ignore_index is neither -1 nor a label");
    graph->row_weights = weights_or_none;
    graph->ignore_index = ignore_index;
}

void firnc_regression(firnc_graph *graph, firnc_value prediction, firnc_value target) {
    check_value(graph, prediction);
    check_value(graph, target);
    graph->prediction = prediction;
    graph->target = target;
}

void firnc_detection(firnc_graph *graph, firnc_value logits, firnc_value target) {
    check_value(graph, logits);
    check_value(graph, target);
    graph->scores = logits;
    graph->score_targets = target;
}
