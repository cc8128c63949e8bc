/* The fuse pass. In: the whole step. Out: the same step without duplicate casts and without nodes whose results are
 * never read. Refuses inputs that are never read, and a graph that is larger than a plan can hold. No bit of any result
 * may change. */
#include "compiler/passes/passes.h"

#define PLAN_MOST 65536U /* as (max: 65536) of ops and tensors in plan.fbs */

typedef struct fusing {
    firnc_graph *graph;
    firnc_value *instead; /* for each value: the value that replaces it */
    uint8_t *changed;     /* for each value: the phases (1 << phase) in which a node changes it in place */
    uint32_t *last_cast;  /* for each value: the last cast of it that was kept, or FIRNC_NONE */
    uint32_t *next_cast;  /* for each such cast: the one before it of the same value, or FIRNC_NONE */
} fusing;

/* Finds the phases in which each value changes: two casts of it may differ there and are not merged. */
static uint8_t *find_changes(const firnc_graph *graph, const firnc_node_list *list) {
    uint8_t *changed = firnc_allocate(graph->value_count);
    for (uint32_t i = 0; i < list->count; i++) {
        const firnc_node *node = &list->nodes[i];
        for (uint8_t j = 0; j < node->output_count; j++)
            if (firnc_output_is_input(node, j))
                changed[node->outputs[j]] |= (uint8_t)(1U << node->phase);
    }
    return changed;
}

/* The earliest cast of the same value to the same type in the same phase, or NULL. */
static const firnc_node *find_cast(const fusing *f, const firnc_node *node) {
    const firnc_graph *graph = f->graph;
    const firnc_node *earliest = NULL;
    for (uint32_t i = f->last_cast[node->inputs[FIRN_CAST_IN_X]]; i != FIRNC_NONE; i = f->next_cast[i]) {
        const firnc_node *other = &graph->nodes[i];
        if (other->phase == node->phase && graph->values[other->outputs[FIRN_CAST_OUT_Y]].shape.type ==
                                               graph->values[node->outputs[FIRN_CAST_OUT_Y]].shape.type)
            earliest = other;
    }
    return earliest;
}

/* Appends a node to the graph, unless it is a cast that an earlier one can replace. */
static void put_or_merge(fusing *f, const firnc_node *node) {
    bool cast = node->code == FIRN_OP_cast;
    if (cast && (f->changed[node->inputs[FIRN_CAST_IN_X]] >> node->phase & 1) == 0) {
        const firnc_node *earlier = find_cast(f, node);
        if (earlier != NULL) {
            f->instead[node->outputs[FIRN_CAST_OUT_Y]] = earlier->outputs[FIRN_CAST_OUT_Y];
            return;
        }
    }
    firnc_put_node(f->graph, node);
    if (cast) {
        uint32_t index = f->graph->node_count - 1;
        f->next_cast[index] = f->last_cast[node->inputs[FIRN_CAST_IN_X]];
        f->last_cast[node->inputs[FIRN_CAST_IN_X]] = index;
    }
}

static void merge_casts(firnc_graph *graph) {
    firnc_node_list list = firnc_take_nodes(graph);
    fusing f = {.graph = graph, .changed = find_changes(graph, &list)};
    f.instead = firnc_allocate(graph->value_count * sizeof *f.instead);
    f.last_cast = firnc_allocate(graph->value_count * sizeof *f.last_cast);
    f.next_cast = firnc_allocate(list.count * sizeof *f.next_cast);
    for (firnc_value i = 0; i < graph->value_count; i++) {
        f.instead[i] = i;
        f.last_cast[i] = FIRNC_NONE;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        firnc_node node = list.nodes[i];
        for (uint8_t j = 0; j < node.input_count; j++)
            if (node.inputs[j] != FIRNC_NONE)
                node.inputs[j] = f.instead[node.inputs[j]];
        put_or_merge(&f, &node);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        graph->outputs[i] = f.instead[graph->outputs[i]];
        graph->values[graph->outputs[i]].persistent = true;
    }
}

/* Marks the values that must stay: state, and results that the runtime reads between phases. */
static void mark_roots(const firnc_graph *graph, bool *needed) {
    const firnc_value results[] = {graph->loss, graph->finite, graph->gradient_norm, graph->at_floor};
    for (firnc_value i = 0; i < graph->value_count; i++)
        needed[i] = firnc_is_state(graph->values[i].role);
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i] != FIRNC_NONE)
            needed[results[i]] = true;
    for (uint32_t i = 0; i < graph->output_count; i++)
        needed[graph->outputs[i]] = true;
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
            if (node->inputs[j] != FIRNC_NONE)
                needed[node->inputs[j]] = true;
    }
    firnc_node_list list = firnc_take_nodes(graph);
    for (uint32_t i = 0; i < list.count; i++)
        if (live[i])
            firnc_put_node(graph, &list.nodes[i]);
}

/* Refuses an input that no op reads: the plan would lack it, and with it perhaps a data stream. The set of nodes is
 * final here. */
static bool reads_every_input(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    bool *read = firnc_allocate(graph->value_count * sizeof *read);
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint8_t j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] != FIRNC_NONE)
                read[graph->nodes[i].inputs[j]] = true;
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].source != NULL && !read[i])
            return firnc_fail(compilation,
                              "input %s: neither the loss nor the metric nor an output depends on it; leave it out",
                              graph->values[i].name);
    return true;
}

/* The set of nodes is final here. Refuses a graph that is too large before the passes that take long. */
static bool fits_a_plan(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    uint32_t tensors = 0;
    bool *counted = firnc_allocate(graph->value_count * sizeof *counted);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        for (uint8_t j = 0; j < node->input_count + node->output_count; j++) {
            firnc_value value = j < node->input_count ? node->inputs[j] : node->outputs[j - node->input_count];
            if (value == FIRNC_NONE)
                continue;
            tensors += !counted[value];
            counted[value] = true;
        }
    }
    if (tensors <= PLAN_MOST && graph->node_count <= PLAN_MOST)
        return true;
    return firnc_job_fail(compilation->job, &compilation->job->places.layers,
                          "%u ops and %u tensors, and a plan holds at most %u of each; use fewer layers",
                          (unsigned)graph->node_count, (unsigned)tensors, PLAN_MOST);
}

bool firnc_fuse(firnc_compilation *compilation) {
    merge_casts(compilation->graph);
    remove_dead(compilation->graph);
    return reads_every_input(compilation) && fits_a_plan(compilation);
}
