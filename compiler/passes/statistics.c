/* Part of the training pass: the running statistics of batch norms. The micro-batches of a step advance a copy, and
 * bookkeep stores it: so a step that fails leaves the buffers as they were, and one whose update is skipped advances
 * them, as PyTorch does. */
#include "compiler/passes/passes.h"

/* Whether another batch norm before this one advances one of its buffers. */
static bool is_shared(const firnc_graph *graph, const firnc_statistics *statistics) {
    for (const firnc_statistics *other = graph->statistics; other < statistics; other++)
        if (other->mean == statistics->mean || other->mean == statistics->variance ||
            other->variance == statistics->mean || other->variance == statistics->variance)
            return true;
    return statistics->mean == statistics->variance;
}

static bool is_of_width(const firnc_graph *graph, firnc_value value, uint32_t width) {
    const firn_shape *shape = &graph->values[value].shape;
    return shape->rank == 1 && shape->dims[0] == width;
}

static bool fits(const firnc_compilation *compilation, const firnc_statistics *statistics, const firnc_node *node) {
    const firnc_graph *graph = compilation->graph;
    const uint32_t width = graph->values[node->outputs[FIRN_BATCH_NORM_OUT_MEAN]].shape.dims[0];
    if (is_shared(graph, statistics))
        return firnc_fail(compilation,
                          "layer %s: its batch norm has the buffer %s or %s of another one; give it its own",
                          node->name, graph->values[statistics->mean].name, graph->values[statistics->variance].name);
    if (!is_of_width(graph, statistics->mean, width) || !is_of_width(graph, statistics->variance, width))
        return firnc_fail(compilation,
                          "layer %s: the buffers %s and %s of its batch norm are not of %u elements each; give it one "
                          "for each channel",
                          node->name, graph->values[statistics->mean].name, graph->values[statistics->variance].name,
                          (unsigned)width);
    return true;
}

bool firnc_advance_statistics(const firnc_compilation *compilation, firnc_value *next) {
    firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < graph->statistics_count; i++) {
        const firnc_statistics *statistics = &graph->statistics[i];
        const firnc_node node = graph->nodes[graph->values[statistics->y].producer];
        if (!fits(compilation, statistics, &node))
            return false;
        const firnc_value mean = node.outputs[FIRN_BATCH_NORM_OUT_MEAN];
        firn_shape shape = {.type = FIRN_FLOAT32, .rank = 2, .dims = {2, graph->values[mean].shape.dims[0]}};
        uint64_t elements = 0;
        (void)firn_shape_elements(&graph->values[statistics->y].shape, &elements);
        const int64_t rows = (int64_t)(elements / shape.dims[1]);
        if (rows < 2)
            return firnc_fail(compilation, "layer %s: a batch norm of one row has no variance; use more samples",
                              node.name);
        next[i] = firnc_value_new(graph, firnc_format("%s/next_statistics", node.name), FIRNC_ROLE_ACTIVATION, shape);
        graph->values[next[i]].persistent = true;
        const firnc_value inputs[] = {[FIRN_RUNNING_STATISTICS_IN_NEXT] = next[i],
                                      [FIRN_RUNNING_STATISTICS_IN_MEAN] = mean,
                                      [FIRN_RUNNING_STATISTICS_IN_VARIANCE] =
                                          node.outputs[FIRN_BATCH_NORM_OUT_VARIANCE],
                                      [FIRN_RUNNING_STATISTICS_IN_RUNNING_MEAN] = statistics->mean,
                                      [FIRN_RUNNING_STATISTICS_IN_RUNNING_VAR] = statistics->variance};
        firnc_node_in_place(graph, FIRN_OP_running_statistics, FIRNC_PHASE_MICRO_BATCH, node.name, inputs, 5, &rows,
                            &statistics->momentum, &next[i]);
    }
    return true;
}

void firnc_store_statistics(firnc_graph *graph, const firnc_value *next) {
    for (uint32_t i = 0; i < graph->statistics_count; i++) {
        const firnc_statistics *statistics = &graph->statistics[i];
        const firnc_value inputs[] = {[FIRN_STORE_STATISTICS_IN_RUNNING_MEAN] = statistics->mean,
                                      [FIRN_STORE_STATISTICS_IN_RUNNING_VAR] = statistics->variance,
                                      [FIRN_STORE_STATISTICS_IN_NEXT] = next[i]};
        const firnc_value outputs[] = {[FIRN_STORE_STATISTICS_OUT_RUNNING_MEAN] = statistics->mean,
                                       [FIRN_STORE_STATISTICS_OUT_RUNNING_VAR] = statistics->variance};
        firnc_node_in_place(graph, FIRN_OP_store_statistics, FIRNC_PHASE_BOOKKEEP, graph->values[next[i]].name, inputs,
                            3, NULL, NULL, outputs);
    }
}
