/* The autocast pass. In: a float32 graph with POL resolved. Out: the graph in mixed precision: every value has its
 * type, and casts convert operands to the type that an op requires by the autocast column of plan/ops.def. For the
 * classes single and promote nothing is cast: their ops read any real type and widen it themselves. A value is cast at
 * most once to each type, so a weight is cast once per iteration. Without mixed precision the whole graph stays
 * float32; the layers in the job's float32_layers always do. They read a frozen weight that is stored in a half type
 * through a cast. */
#include "compiler/passes/passes.h"
#include "compiler/passes/pol_meaning.h"

typedef struct casting {
    const firnc_compilation *compilation;
    firnc_graph *graph;
    uint8_t half;
    firnc_value *halves, *singles; /* for each value of the graph before the pass: its copy in that type, or
                                    * FIRNC_NONE */
} casting;

static uint8_t type_of(const firnc_graph *graph, firnc_value value) {
    return graph->values[value].shape.type;
}

/* Returns a value converted to another type; adds the cast at the first call. A constant is converted here and now. */
static firnc_value to_type(casting *c, firnc_value value, uint8_t type, firnc_value *copies, const firnc_node *user) {
    if (copies[value] == FIRNC_NONE && c->graph->values[value].role == FIRNC_ROLE_CONSTANT) {
        copies[value] = firnc_constant_narrow(c->graph, value, type);
    } else if (copies[value] == FIRNC_NONE) {
        uint32_t node = firnc_node_new(c->graph, FIRN_OP_cast, user->phase, user->name, &value, 1, NULL, NULL, &type);
        firnc_value copy = c->graph->nodes[node].outputs[FIRN_CAST_OUT_Y];
        c->graph->values[copy].name = firnc_format("%s/%s", c->graph->values[value].name, firn_type_name(type));
        copies[value] = copy;
    }
    return copies[value];
}

static firnc_value to_half(casting *c, firnc_value value, const firnc_node *user) {
    return value != FIRNC_NONE && type_of(c->graph, value) == FIRN_FLOAT32 ? to_type(c, value, c->half, c->halves, user)
                                                                           : value;
}

static firnc_value to_single(casting *c, firnc_value value, const firnc_node *user) {
    return value != FIRNC_NONE && type_of(c->graph, value) == c->half
               ? to_type(c, value, FIRN_FLOAT32, c->singles, user)
               : value;
}

/* True if the job excludes the layer from mixed precision. */
static bool stays_float32(const firnc_precision *precision, const char *layer) {
    for (uint32_t i = 0; i < precision->float32_layer_count; i++)
        if (firnc_name_matches(precision->float32_layers[i].pattern, layer))
            return true;
    return false;
}

/* Refuses a pattern that no layer matches, as the POL pass does. */
static bool check_patterns(const firnc_compilation *compilation) {
    const firnc_precision *precision = &compilation->job->precision;
    for (uint32_t i = 0; i < precision->float32_layer_count; i++) {
        const firnc_layer_pattern *pattern = &precision->float32_layers[i];
        if (!firnc_layer_exists(compilation->graph, pattern->pattern))
            return firnc_job_fail(compilation->job, &pattern->place, "no layer matches \"%s\"; %s", pattern->pattern,
                                  firnc_unmatched_text(compilation->graph, pattern->pattern, true));
    }
    return true;
}

static uint8_t widest(const firnc_graph *graph, const firnc_node *node) {
    for (uint8_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != FIRNC_NONE && type_of(graph, node->inputs[i]) == FIRN_FLOAT32)
            return FIRN_FLOAT32;
    return type_of(graph, node->inputs[0]);
}

static uint8_t norm_output(const casting *c, const firnc_node *node) {
    const firnc_pol_question question = {.pol = (firn_pol_class)firn_op_find(node->code)->pol,
                                         .level = node->level,
                                         .type = type_of(c->graph, node->inputs[0]),
                                         .half = c->half};
    return firnc_pol_meaning_of(&question).output;
}

/* Casts to the type of input 0 what must have it: repeated inputs, and those whose row says so. Returns that type. */
static uint8_t follow_first(casting *c, firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    const uint8_t type = type_of(c->graph, node->inputs[0]);
    for (uint8_t i = 1; i < node->input_count; i++)
        if (i >= info->inputs || firn_op_input(info, i)->type == FIRN_TYPE_OF_INPUT)
            node->inputs[i] = type == c->half ? to_half(c, node->inputs[i], node) : to_single(c, node->inputs[i], node);
    return type;
}

/* Gives the other outputs the types that the row takes from inputs; those without such a type stay float32. */
static void follow_inputs(firnc_graph *graph, const firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    for (uint8_t i = 1; i < node->output_count; i++) {
        const firn_operand *output = firn_op_output(info, i);
        if (output->type >= FIRN_TYPE_OF_INPUT)
            graph->values[node->outputs[i]].shape.type =
                type_of(graph, node->inputs[output->type - FIRN_TYPE_OF_INPUT]);
    }
}

/* Casts the inputs, except of ops that widen them themselves, and returns the type of output 0. */
static uint8_t convert(casting *c, firnc_node *node) {
    const firn_op_info *info = firn_op_find(node->code);
    const firnc_precision *precision = &c->compilation->job->precision;
    if (!precision->mixed || stays_float32(precision, node->name)) {
        for (uint8_t i = 0; i < node->input_count; i++)
            node->inputs[i] = to_single(c, node->inputs[i], node);
        return type_of(c->graph, node->outputs[0]);
    }
    switch ((firn_autocast)info->autocast) {
    case FIRN_AUTOCAST_half:
        for (uint8_t i = 0; i < node->input_count; i++)
            if (firn_op_input(info, i)->type != FIRN_FLOAT32) /* its row lets it be a half type */
                node->inputs[i] = to_half(c, node->inputs[i], node);
        return c->half;
    case FIRN_AUTOCAST_embedding:
        return c->half;
    case FIRN_AUTOCAST_norm:
        return norm_output(c, node);
    case FIRN_AUTOCAST_promote: /* the op widens its inputs itself, exactly */
        return widest(c->graph, node);
    case FIRN_AUTOCAST_follow:
        return follow_first(c, node);
    case FIRN_AUTOCAST_single: /* the op itself widens its inputs, exactly */
    case FIRN_AUTOCAST_fixed:
        break;
    }
    return type_of(c->graph, node->outputs[0]);
}

bool firnc_autocast(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    if (!job->precision.mixed && job->fine_tuning.frozen_type == FIRN_FLOAT32)
        return true;
    if (job->precision.mixed && !check_patterns(compilation))
        return false;
    casting c = {.compilation = compilation,
                 .graph = graph,
                 .half = (uint8_t)(job->precision.mixed ? job->precision.half : job->fine_tuning.frozen_type)};
    c.halves = firnc_allocate(graph->value_count * sizeof *c.halves);
    c.singles = firnc_allocate(graph->value_count * sizeof *c.singles);
    for (firnc_value i = 0; i < graph->value_count; i++)
        c.halves[i] = c.singles[i] = FIRNC_NONE;

    firnc_node_list list = firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list.count; i++) {
        firnc_node node = list.nodes[i];
        uint8_t type = convert(&c, &node);
        graph->values[node.outputs[0]].shape.type = type;
        follow_inputs(graph, &node);
        const firn_op_info *info = firn_op_find(node.code);
        if (info->pol == FIRN_POL_norm)
            node.integers[info->typed] = type; /* the affine part is computed in the type of the output */
        firnc_put_node(graph, &node);
        if (!firnc_infer_node(compilation, &node))
            return false;
    }
    return true;
}
