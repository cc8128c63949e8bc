/* The adapt pass. In: the graph with its shapes, and the layers that the job names for LoRA. Out: the same graph in
 * which the product of each such layer has two small matrices beside its weight W:
 *
 *     y = product(x, W) + B (alpha / rank * product(dropout(x), A))
 *
 * A has W's extents with `rank` outputs, and begins as kaiming_uniform_ of PyTorch with a = sqrt(5) does, evenly
 * between -1 and 1 divided by the root of the inputs of an output; B begins as zeros, so the model begins as it was.
 * Both are named after W. A product is linear, or a convolution without groups, whose B is linear over the channels.
 * What is trained and what is frozen is decided in frozen.c. */
#include <math.h>
#include <string.h>

#include "compiler/passes/passes.h"
#include "plan/op_words.h"

typedef struct adapting {
    const firnc_compilation *compilation;
    firnc_graph *graph;
    firnc_node_list list; /* the nodes as they were */
} adapting;

static const firnc_fine_tuning *form_of(const adapting *a) {
    return &a->compilation->job->fine_tuning;
}

static bool is_product(const firnc_node *node) {
    return node->code == FIRN_OP_linear || node->code == FIRN_OP_conv;
}

_Static_assert((int)FIRN_LINEAR_IN_X == (int)FIRN_CONV_IN_X && (int)FIRN_LINEAR_IN_WEIGHT == (int)FIRN_CONV_IN_WEIGHT,
               "both products have their operands in the same places");

/* Whether the weight has its inputs first. */
static bool is_turned(const firnc_node *node) {
    return node->code == FIRN_OP_linear && node->integers[FIRN_LINEAR_LAYOUT] == FIRNC_IN_OUT;
}

/* The first pattern that a layer matches, or NULL. */
static const firnc_job_pattern *pattern_of(const adapting *a, const char *layer) {
    for (uint32_t i = 0; i < form_of(a)->layer_count; i++)
        if (firnc_name_matches(form_of(a)->layers[i].pattern, layer))
            return &form_of(a)->layers[i];
    return NULL;
}

/* --- what can have an adapter ------------------------------------------------------------------------------------- */

static uint32_t readers_of(const adapting *a, firnc_value value) {
    uint32_t readers = 0;
    for (uint32_t i = 0; i < a->list.count; i++)
        for (uint8_t j = 0; j < a->list.nodes[i].input_count; j++)
            readers += a->list.nodes[i].inputs[j] == value;
    return readers;
}

static const char *reason_against(const adapting *a, const firnc_node *node) {
    const firnc_value_info *weight = &a->graph->values[node->inputs[FIRN_LINEAR_IN_WEIGHT]];
    if (weight->role != FIRNC_ROLE_PARAMETER)
        return "its weight is computed, and only a parameter";
    if (readers_of(a, node->inputs[FIRN_LINEAR_IN_WEIGHT]) > 1)
        return "other layers read its weight too, and only a weight of its own";
    if (node->code == FIRN_OP_conv && node->integers[FIRN_CONV_GROUPS] != 1)
        return "it is a convolution with groups, and only one without";
    return NULL;
}

/* --- the matrices ------------------------------------------------------------------------------------------------- */

/* "LAYER.lora_A.weight" for the weight "LAYER.weight". */
static const char *matrix_name(const firnc_value_info *weight, const char *matrix) {
    static const char end[] = ".weight";
    const size_t length = strlen(weight->name), tail = sizeof end - 1;
    const bool ends = length > tail && strcmp(weight->name + length - tail, end) == 0;
    return firnc_format("%.*s.%s.weight", (int)(ends ? length - tail : length), weight->name, matrix);
}

static firnc_value add_matrix(const adapting *a, const char *name, uint8_t rank, const uint32_t *dims,
                              firnc_init init) {
    const firnc_value matrix = firnc_parameter(a->graph, name, rank, dims, init, true);
    a->graph->values[matrix].adapter = true;
    return matrix;
}

/* The extents of A, with the outputs first as it is read, and the inputs of an output. */
static firn_shape first_shape(const adapting *a, const firnc_node *node, uint64_t *inputs) {
    firn_shape shape = a->graph->values[node->inputs[FIRN_LINEAR_IN_WEIGHT]].shape;
    if (is_turned(node))
        shape.dims[1] = shape.dims[0];
    shape.dims[0] = form_of(a)->rank;
    *inputs = 1;
    for (uint8_t i = 1; i < shape.rank; i++)
        *inputs *= shape.dims[i];
    return shape;
}

/* --- the nodes ---------------------------------------------------------------------------------------------------- */

/* Appends a node of an adapter, with the annotation of the product that it stands beside. */
static firnc_value put(const adapting *a, const firnc_node *product, const char *part, uint16_t code,
                       const firnc_value *inputs, uint8_t input_count, const int64_t *integers, const float *reals) {
    const uint8_t type = FIRN_FLOAT32;
    const char *name = firnc_format("%s.%s", product->name, part);
    const uint32_t index =
        firnc_node_new(a->graph, code, product->phase, name, inputs, input_count, integers, reals, &type);
    firnc_node *made = &a->graph->nodes[index];
    made->annotated = product->annotated;
    made->pol = product->pol;
    made->pol_origin = product->pol_origin;
    return made->outputs[0];
}

static firnc_value drop_out(const adapting *a, const firnc_node *product, firnc_value x) {
    const float rate = form_of(a)->dropout;
    const int64_t rng_id = a->graph->rng_ids;
    if (rate == 0)
        return x;
    a->graph->rng_ids++; /* in an evaluation too, as firnc_dropout does */
    return a->graph->eval ? x : put(a, product, "lora_dropout", FIRN_OP_dropout, &x, 1, &rng_id, &rate);
}

/* `factor` times h, whose last extent is the rank. */
static firnc_value scale(const adapting *a, const firnc_node *product, firnc_value h, float factor) {
    const uint32_t rank = form_of(a)->rank;
    if (factor == 1)
        return h;
    float *factors = firnc_allocate(rank * sizeof *factors);
    for (uint32_t i = 0; i < rank; i++)
        factors[i] = factor;
    const firn_shape shape = {.type = FIRN_FLOAT32, .rank = 1, .dims = {rank}};
    const firnc_value inputs[] = {
        h, firnc_constant_new(a->graph, firnc_format("%s.lora_scale", product->name), shape, factors)};
    return put(a, product, "lora_scale", FIRN_OP_multiply, inputs, 2, NULL, NULL);
}

/* Appends a product and its adapter. The value that was the product's result becomes the sum of the two, so that no
 * reader of it changes. */
static bool adapt(const adapting *a, const firnc_node *node) {
    firnc_graph *graph = a->graph;
    const char *reason = reason_against(a, node);
    if (reason != NULL)
        return firnc_job_fail(a->compilation->job, &pattern_of(a, node->name)->place,
                              "layer %s: %s can have an adapter of LoRA; leave it out of the patterns", node->name,
                              reason);
    const firnc_value_info weight = graph->values[node->inputs[FIRN_LINEAR_IN_WEIGHT]];
    const char *first_name = matrix_name(&weight, "lora_A"), *second_name = matrix_name(&weight, "lora_B");
    if (!firnc_is_name(second_name) || !firnc_is_name(firnc_format("%s.lora_dropout", node->name)))
        return firnc_fail(
            a->compilation,
            "layer %s: its name is too long for the names of an adapter; give the layer or the model a shorter one",
            node->name);
    const firnc_value y = node->outputs[0];
    firnc_node product = *node;
    product.outputs[0] = firnc_value_new(graph, graph->values[y].name, FIRNC_ROLE_ACTIVATION, graph->values[y].shape);
    firnc_put_node(graph, &product);

    uint64_t inputs = 0;
    const firn_shape shape = first_shape(a, node, &inputs);
    const float bound = (float)(1 / sqrt((double)inputs));
    const firnc_init even = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound}, zeros = {.a = 0};
    const firn_shape *result = &graph->values[y].shape;
    const uint32_t second_dims[] = {result->dims[result->rank - 1], form_of(a)->rank};
    const firnc_value first = add_matrix(a, first_name, shape.rank, shape.dims, even);
    const firnc_value second = add_matrix(a, second_name, 2, second_dims, zeros);

    const firnc_value x = drop_out(a, node, node->inputs[FIRN_LINEAR_IN_X]);
    const firnc_adapter adapter = {.weight = node->inputs[FIRN_LINEAR_IN_WEIGHT],
                                   .first = first,
                                   .second = second,
                                   .factor = (float)((double)form_of(a)->alpha / form_of(a)->rank),
                                   .turned = is_turned(node)};
    graph->adapters =
        firnc_grown(graph->adapters, graph->adapter_count, &graph->adapter_capacity, sizeof *graph->adapters);
    graph->adapters[graph->adapter_count++] = adapter;
    const int64_t out_in = FIRNC_OUT_IN;
    firnc_value h = put(a, node, "lora_A", node->code, (firnc_value[]){x, first}, 2,
                        node->code == FIRN_OP_linear ? &out_in : node->integers, NULL);
    h = put(a, node, "lora_B", FIRN_OP_linear, (firnc_value[]){scale(a, node, h, adapter.factor), second}, 2, &out_in,
            NULL);
    graph->values[y].name = firnc_format("%s/add", node->name);
    graph->values[y].producer = firnc_node_in_place(graph, FIRN_OP_add, node->phase, node->name,
                                                    (firnc_value[]){product.outputs[0], h}, 2, NULL, NULL, &y);
    return true;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* The layers that have a product; NULL ends the list. */
static const char *const *product_names(const adapting *a) {
    const char **names = firnc_allocate((a->list.count + UINT64_C(1)) * sizeof *names);
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->list.count; i++)
        if (is_product(&a->list.nodes[i]))
            names[count++] = a->list.nodes[i].name;
    return names;
}

/* Refuses a pattern that no product's layer matches. */
static bool check_patterns(const adapting *a) {
    const char *const *names = product_names(a);
    for (uint32_t i = 0; i < form_of(a)->layer_count; i++) {
        const firnc_job_pattern *pattern = &form_of(a)->layers[i];
        const char *const *name = names;
        while (*name != NULL && !firnc_name_matches(pattern->pattern, *name))
            name++;
        if (*name == NULL)
            return firnc_job_fail(a->compilation->job, &pattern->place, "no layer with a product matches \"%s\"; %s",
                                  pattern->pattern, firnc_unmatched_among(names, pattern->pattern, true));
    }
    return true;
}

bool firnc_add_adapters(firnc_compilation *compilation) {
    adapting a = {.compilation = compilation, .graph = compilation->graph};
    if (form_of(&a)->layer_count == 0)
        return true;
    a.list = firnc_take_nodes(a.graph);
    bool good = check_patterns(&a);
    for (uint32_t i = 0; good && i < a.list.count; i++) {
        const firnc_node *node = &a.list.nodes[i];
        if (is_product(node) && pattern_of(&a, node->name) != NULL)
            good = adapt(&a, node);
        else
            firnc_put_node(a.graph, node);
    }
    return good;
}
