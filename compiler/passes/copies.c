/* The copies pass. In: the whole step, without dead ops, in which half copies of float32 weights stand, written by
 * casts. Out: the same step, in which products read such a weight itself and round it as they read it, where nothing
 * else reads its copy; or the step as it was. No bit of any result may change: a product rounds as the cast did.
 *
 * A copy lives from the forward product to the gradient of its input, so all of them are in the arena at one time. What
 * is left out must be large, and the arena must become smaller, because small copies are in the caches and rounding
 * each element more than once takes time on a core without vectors. The job may ask for all copies, or for none.
 *
 * A weight may not change between the place of the cast and that of the products. No op of a micro-batch changes one,
 * and the early and order passes keep every op that reads a weight in front of the one that changes it. */
#include <string.h>

#include "compiler/passes/passes.h"

#define COPIES_LEAST ((uint64_t)16 << 20) /* bytes of all copies: fewer stay unless the job says otherwise */

typedef struct copies {
    firnc_graph *graph;
    firnc_node_list list; /* the step as it came */
    bool *kept;           /* for each value: something reads it that cannot round, or the plan names it */
    firnc_value *weights; /* for each value: the weight of which it is a copy that is left out, or FIRNC_NONE */
} copies;

/* Whether an op rounds the operand in this place as it reads it, if that is float32. */
static bool rounds(const firnc_node *node, uint8_t place) {
    return firn_op_input(firn_op_find(node->code), place)->rounded;
}

/* Whether a node makes the half copy of a float32 weight. */
static bool is_copy(const firnc_graph *graph, const firnc_node *node) {
    if (node->code != FIRN_OP_cast)
        return false;
    const firnc_value_info *weight = &graph->values[node->inputs[FIRN_CAST_IN_X]];
    return weight->shape.type == FIRN_FLOAT32 &&
           firn_type_is_half(graph->values[node->outputs[FIRN_CAST_OUT_Y]].shape.type) &&
           (firnc_is_state(weight->role) || firnc_is_constant(weight->role));
}

/* Finds the copies that are not needed. Returns their bytes. */
static uint64_t find(copies *c) {
    firnc_graph *graph = c->graph;
    uint64_t total = 0, bytes = 0;
    for (uint32_t i = 0; i < graph->output_count; i++)
        c->kept[graph->outputs[i]] = true;
    for (uint32_t i = 0; i < c->list.count; i++) {
        const firnc_node *node = &c->list.nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE && !rounds(node, j))
                c->kept[node->inputs[j]] = true;
    }
    for (uint32_t i = 0; i < c->list.count; i++) {
        const firnc_node *node = &c->list.nodes[i];
        const firnc_value copy = node->outputs[0];
        if (!is_copy(graph, node) || c->kept[copy])
            continue;
        c->weights[copy] = node->inputs[FIRN_CAST_IN_X];
        (void)firn_shape_bytes(&graph->values[copy].shape, &bytes);
        total += bytes;
    }
    return total;
}

static void put_without(const copies *c) {
    firnc_take_nodes(c->graph);
    for (uint32_t i = 0; i < c->list.count; i++) {
        firnc_node node = c->list.nodes[i];
        if (c->weights[node.outputs[0]] != FIRNC_NONE)
            continue;
        for (uint8_t j = 0; j < node.input_count; j++)
            if (node.inputs[j] != FIRNC_NONE && c->weights[node.inputs[j]] != FIRNC_NONE)
                node.inputs[j] = c->weights[node.inputs[j]];
        firnc_put_node(c->graph, &node);
    }
}

bool firnc_leave_out_copies(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_weight_copies wanted = compilation->job->weight_copies;
    copies c = {.graph = graph, .list = {.nodes = graph->nodes, .count = graph->node_count}};
    if (wanted == FIRNC_COPIES_ALWAYS)
        return true;
    c.kept = firnc_allocate(graph->value_count * sizeof *c.kept);
    c.weights = firnc_allocate(graph->value_count * sizeof *c.weights);
    for (firnc_value i = 0; i < graph->value_count; i++)
        c.weights[i] = FIRNC_NONE;
    const uint64_t bytes = find(&c);
    if (bytes == 0 || (wanted == FIRNC_COPIES_AUTO && bytes < COPIES_LEAST))
        return true;
    const uint64_t with = wanted == FIRNC_COPIES_AUTO ? firnc_bytes_ahead(compilation) : UINT64_MAX;
    put_without(&c);
    if (wanted == FIRNC_COPIES_AUTO && firnc_bytes_ahead(compilation) >= with)
        firnc_put_list(graph, &c.list);
    return true;
}
