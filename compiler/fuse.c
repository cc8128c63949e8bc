/* The fuse pass. In: the whole step. Out: the same step without casts that repeat another and without nodes whose
 * results nobody reads. Not a bit of any result changes. */
#include "compiler/ir.h"

/* Whether some node of the phase changes the value after it was made: then two casts of it may differ. */
static bool is_changed(const firnc_node_list *list, uint8_t phase, firnc_value value) {
    for (uint32_t i = 0; i < list->count; i++)
        for (uint8_t j = 0; list->nodes[i].phase == phase && j < list->nodes[i].output_count; j++)
            if (list->nodes[i].outputs[j] == value && firnc_output_is_input(&list->nodes[i], j))
                return true;
    return false;
}

/* An earlier cast of the same value to the same type in the same phase, or NULL. */
static const firnc_node *find_cast(const firnc_graph *graph, const firnc_node *node) {
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *other = &graph->nodes[i];
        if (other->code == FIRN_OP_cast && other->phase == node->phase && other->inputs[0] == node->inputs[0] &&
            graph->values[other->outputs[0]].shape.type == graph->values[node->outputs[0]].shape.type)
            return other;
    }
    return NULL;
}

static void merge_casts(firnc_graph *graph) {
    firnc_value *instead = firnc_allocate(graph->value_count * sizeof *instead);
    for (firnc_value i = 0; i < graph->value_count; i++)
        instead[i] = i;
    firnc_node_list list = firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list.count; i++) {
        firnc_node node = list.nodes[i];
        for (uint8_t j = 0; j < node.input_count; j++)
            node.inputs[j] = instead[node.inputs[j]];
        bool own_gradient = graph->values[node.outputs[0]].role == FIRNC_ROLE_GRADIENT; /* changed in place later */
        if (node.code == FIRN_OP_cast && !own_gradient && !is_changed(&list, node.phase, node.inputs[0])) {
            const firnc_node *earlier = find_cast(graph, &node);
            if (earlier != NULL) {
                instead[node.outputs[0]] = earlier->outputs[0];
                continue;
            }
        }
        firnc_put_node(graph, &node);
    }
}

/* State, and what the runtime reads between the phases. */
static void mark_roots(const firnc_graph *graph, bool *needed) {
    const firnc_value results[] = {graph->loss, graph->finite, graph->gradient_norm, graph->at_floor};
    for (firnc_value i = 0; i < graph->value_count; i++)
        needed[i] = firnc_is_state(graph->values[i].role);
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i] != FIRNC_NONE)
            needed[results[i]] = true;
}

static void remove_dead(firnc_graph *graph) {
    bool *needed = firnc_allocate(graph->value_count * sizeof *needed);
    bool *live = firnc_allocate(graph->node_count * sizeof *live);
    mark_roots(graph, needed);
    for (uint32_t i = graph->node_count; i > 0; i--) {
        const firnc_node *node = &graph->nodes[i - 1];
        for (uint8_t j = 0; j < node->output_count; j++)
            live[i - 1] = live[i - 1] || needed[node->outputs[j]];
        for (uint8_t j = 0; live[i - 1] && j < node->input_count; j++)
            needed[node->inputs[j]] = true;
    }
    firnc_node_list list = firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list.count; i++)
        if (live[i])
            firnc_put_node(graph, &list.nodes[i]);
}

bool firnc_fuse(firnc_compilation *compilation) {
    merge_casts(compilation->graph);
    remove_dead(compilation->graph);
    return true;
}
