/* The views pass. In: the whole step. Out: the same step, in which reshapes, what only moves or adds dimensions of
 * extent 1, and slices whose elements lie behind each other, are views of what they read and no ops any more
 * (Tensor.base of plan.fbs). No bit of any result may change: a view has the bytes that the op would have copied.
 *
 * A view keeps its whole base alive, and no op may write one. So a node stays where its result or what it reads is
 * changed before the last reader, where the result outlives the step and the other does not, and where the runtime
 * finds it by a field of the plan. A reshape as a view never needs more memory; slices become views only where all of
 * them together need no larger arena than copies. */
#include <string.h>

#include "compiler/passes/passes.h"

#define VIEW_ALIGNMENT 16U /* bytes at which a view may begin */

typedef struct viewing {
    firnc_graph *graph;
    firnc_node_list list;   /* the step as it came */
    uint32_t *first_change; /* for each value: the first node that changes it, or a part of it, in place */
    uint32_t *last_reader;  /* for each value: the last node that reads it, or a view of it */
    bool *named;            /* for each value: a field of the plan names it */
} viewing;

/* Whether a transposition leaves the elements where they are: it moves only dimensions of extent 1. */
static bool keeps_order(const firn_shape *x, int64_t order) {
    int64_t before = -1;
    for (uint8_t d = 0; d < x->rank; d++) {
        const int64_t from = order >> 4 * d & 15;
        if (x->dims[from] == 1)
            continue;
        if (from < before)
            return false;
        before = from;
    }
    return true;
}

/* Whether a node gives all elements of its input in their order. */
static bool is_reshape(const firnc_graph *graph, const firnc_node *node) {
    const firn_shape *x = &graph->values[node->inputs[0]].shape, *y = &graph->values[node->outputs[0]].shape;
    uint64_t given = 0, taken = 0;
    if (node->code == FIRN_OP_transpose)
        return keeps_order(x, node->integers[FIRN_TRANSPOSE_ORDER]);
    return node->code == FIRN_OP_reshape || (node->code == FIRN_OP_expand && firn_shape_elements(x, &given) &&
                                             firn_shape_elements(y, &taken) && given == taken);
}

/* Elements in front of a slice that is one run of its input. False if it is none. */
static bool find_run(const firnc_graph *graph, const firnc_node *node, uint64_t *before) {
    const firn_shape *x = &graph->values[node->inputs[0]].shape;
    const int64_t axis = node->integers[FIRN_SLICE_AXIS], count = node->integers[FIRN_SLICE_COUNT];
    if (node->code != FIRN_OP_slice || (node->integers[FIRN_SLICE_STEP] != 1 && count != 1))
        return false;
    for (int64_t d = 0; d < axis; d++)
        if (x->dims[d] != 1)
            return false;
    *before = (uint64_t)node->integers[FIRN_SLICE_FIRST];
    for (int64_t d = axis + 1; d < x->rank; d++)
        *before *= x->dims[d];
    return true;
}

static bool may_become_view(const firnc_graph *graph, const firnc_node *node) {
    uint64_t before = 0;
    return node->input_count == 1 && (is_reshape(graph, node) || find_run(graph, node, &before));
}

/* The tensor whose bytes a value has. */
static firnc_value whole(const firnc_graph *graph, firnc_value value) {
    return graph->values[value].base != FIRNC_NONE ? graph->values[value].base : value;
}

static void survey(viewing *v) {
    firnc_graph *graph = v->graph;
    const firnc_value results[] = {graph->loss, graph->finite, graph->gradient_norm, graph->at_floor};
    v->first_change = firnc_allocate(graph->value_count * sizeof *v->first_change);
    v->last_reader = firnc_allocate(graph->value_count * sizeof *v->last_reader);
    v->named = firnc_allocate(graph->value_count * sizeof *v->named);
    for (firnc_value i = 0; i < graph->value_count; i++)
        v->first_change[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < v->list.count; i++) {
        const firnc_node *node = &v->list.nodes[i];
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE)
                v->last_reader[node->inputs[j]] = i;
        for (uint8_t j = 0; j < node->output_count; j++)
            if (firnc_output_is_input(node, j) && v->first_change[whole(graph, node->outputs[j])] == FIRNC_NONE)
                v->first_change[whole(graph, node->outputs[j])] = i;
    }
    /* A result may become a view of what another view reads: its readers read that as well. */
    for (uint32_t i = v->list.count; i > 0; i--) {
        const firnc_node *node = &v->list.nodes[i - 1];
        if (may_become_view(graph, node) && v->last_reader[node->outputs[0]] > v->last_reader[node->inputs[0]])
            v->last_reader[node->inputs[0]] = v->last_reader[node->outputs[0]];
    }
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i] != FIRNC_NONE)
            v->named[results[i]] = true;
    for (uint32_t i = 0; i < graph->output_count; i++)
        v->named[graph->outputs[i]] = true;
}

static bool may_be_base(const firnc_value_info *value) {
    return value->role == FIRNC_ROLE_INPUT || value->role == FIRNC_ROLE_ACTIVATION ||
           value->role == FIRNC_ROLE_GRADIENT || value->role == FIRNC_ROLE_PARAMETER;
}

/* Makes the result of a node a view, if it may be one. */
static bool becomes_view(const viewing *v, uint32_t index, bool slices) {
    const firnc_node *node = &v->list.nodes[index];
    uint64_t before = 0;
    if (!may_become_view(v->graph, node) ||
        (!is_reshape(v->graph, node) && !(slices && find_run(v->graph, node, &before))))
        return false;
    const firnc_value x = node->inputs[0], base = whole(v->graph, x);
    const firnc_value_info *read = &v->graph->values[x], *of = &v->graph->values[base];
    firnc_value_info *view = &v->graph->values[node->outputs[0]];
    const uint64_t offset = (base == x ? 0 : read->offset) + before * firn_type_bytes(view->shape.type);
    if (!may_be_base(of) || offset % VIEW_ALIGNMENT != 0 || v->named[node->outputs[0]] ||
        v->first_change[node->outputs[0]] != FIRNC_NONE || (view->persistent && !of->persistent))
        return false;
    if (v->first_change[base] != FIRNC_NONE && v->first_change[base] <= v->last_reader[node->outputs[0]])
        return false;
    view->base = base;
    view->offset = offset;
    view->role = of->role;
    view->producer = FIRNC_NONE;
    if (v->graph->values[base].gradient_of == FIRNC_NONE && view->gradient_of != FIRNC_NONE)
        v->graph->values[base].gradient_of = view->gradient_of;
    return true;
}

/* Makes the list with views, and returns how many slices are views. */
static uint32_t put_views(const viewing *v, bool slices) {
    uint32_t count = 0;
    firnc_take_nodes(v->graph);
    for (uint32_t i = 0; i < v->list.count; i++)
        if (becomes_view(v, i, slices))
            count += v->list.nodes[i].code == FIRN_OP_slice;
        else
            firnc_put_node(v->graph, &v->list.nodes[i]);
    return count;
}

/* Undoes put_views. */
static void put_back(const viewing *v, const firnc_value_info *values) {
    memcpy(v->graph->values, values, v->graph->value_count * sizeof *values);
    firnc_take_nodes(v->graph);
    for (uint32_t i = 0; i < v->list.count; i++)
        firnc_put_node(v->graph, &v->list.nodes[i]);
}

/* The arena in the order that the order pass gives the nodes. */
static uint64_t bytes_in_order(firnc_compilation *compilation) {
    (void)firnc_order(compilation);
    return firnc_live_bytes(compilation->graph);
}

bool firnc_make_views(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    bool any = false;
    for (uint32_t i = 0; i < graph->node_count; i++)
        any = any || may_become_view(graph, &graph->nodes[i]);
    if (!any)
        return true;
    viewing v = {.graph = graph, .list = {.nodes = graph->nodes, .count = graph->node_count}};
    firnc_value_info *values = firnc_allocate(graph->value_count * sizeof *values);
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    survey(&v);
    if (put_views(&v, true) == 0)
        return true;
    const uint64_t with_slices = bytes_in_order(compilation);
    put_back(&v, values);
    put_views(&v, false);
    const uint64_t without = bytes_in_order(compilation);
    put_back(&v, values);
    put_views(&v, with_slices <= without);
    return true;
}
