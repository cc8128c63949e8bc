/* The metric pass (eval; called by the training pass). In: the forward graph of the evaluate phase. Out: one op behind
 * it that folds each batch into the metric's state, and that state: the data cursor, a sum and a count. */
#include "compiler/ir.h"

/* Perplexity is the exponential of the same mean; the runtime takes it at the end. */
static void add_mean(firnc_graph *graph) {
    firn_shape shape = {.type = FIRN_FLOAT32, .rank = 1, .dims = {2}}; /* a sum and its carry */
    graph->metric_sum = firnc_state_new(graph, "metric.sum", FIRNC_ROLE_COUNTER, shape, 0);
    firnc_node_in_place(graph, FIRN_OP_metric_mean, FIRNC_PHASE_EVALUATE, "metric",
                        (firnc_value[]){graph->loss, graph->metric_sum, graph->metric_count}, 3, NULL, NULL,
                        (firnc_value[]){graph->metric_sum, graph->metric_count});
}

static void add_accuracy(firnc_graph *graph) {
    graph->metric_sum = firnc_counter_new(graph, "metric.correct");
    firnc_node_in_place(graph, FIRN_OP_metric_accuracy, FIRNC_PHASE_EVALUATE, "metric",
                        (firnc_value[]){graph->logits, graph->labels, graph->metric_sum, graph->metric_count}, 4, NULL,
                        NULL, (firnc_value[]){graph->metric_sum, graph->metric_count});
}

bool firnc_add_metric(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    bool accuracy = compilation->recipe->metric == FIRNC_METRIC_ACCURACY;
    if (accuracy && graph->logits == FIRNC_NONE)
        return firnc_fail(compilation, "the metric accuracy needs classes, and the model %s has none; use mean_loss",
                          graph->model);
    graph->cursor = firnc_counter_new(graph, "counters.cursor");
    graph->metric_count = firnc_counter_new(graph, "metric.count");
    firnc_value_info *loss = &graph->values[graph->loss];
    loss->name = "loss";
    loss->role = FIRNC_ROLE_RESULT;
    loss->persistent = true;
    if (accuracy)
        add_accuracy(graph);
    else
        add_mean(graph);
    return true;
}
