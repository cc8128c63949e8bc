/* The metric pass (eval; called by the training pass). In: the forward graph of the evaluate phase. Out: one more op,
 * which adds each batch to the metric's state, and that state: the data cursor, a sum (or a table of counters) and a
 * count. The runtime computes one number from it at the end. */
#include "compiler/passes/passes.h"

/* Maximum of classes in a confusion matrix, with 128 MiB of counters. */
#define CLASSES_MAX 4096U

static firn_shape table_shape(uint32_t rows, uint32_t columns) {
    return (firn_shape){.type = FIRN_INT64, .rank = 2, .dims = {rows, columns}};
}

/* Adds the state of a float32 sum and its carry. */
static void add_sum(firnc_graph *graph) {
    firn_shape shape = {.type = FIRN_FLOAT32, .rank = 1, .dims = {2}};
    graph->metric_sum = firnc_state_new(graph, "metric.sum", FIRNC_ROLE_COUNTER, shape, 0);
}

/* Adds the op of the metric. If the graph has row weights and the op takes them, they are its last operand. */
static void add_op(firnc_graph *graph, uint16_t code, const firnc_value *operands, uint8_t count, const float *reals) {
    firnc_value inputs[FIRN_INPUTS_MAX];
    for (uint8_t i = 0; i < count; i++)
        inputs[i] = operands[i];
    if (firn_op_find(code)->inputs_max > count && graph->row_weights != FIRNC_NONE)
        inputs[count++] = graph->row_weights;
    firnc_node_in_place(graph, code, FIRNC_PHASE_EVALUATE, "metric", inputs, count, &graph->ignore_index, reals,
                        (firnc_value[]){graph->metric_sum, graph->metric_count});
}

static const firnc_node *producer_of(const firnc_graph *graph, firnc_value value) {
    return &graph->nodes[graph->values[value].producer];
}

/* Adds the mean over batches of a scalar. */
static void add_mean(firnc_graph *graph, firnc_value value) {
    add_sum(graph);
    add_op(graph, FIRN_OP_metric_mean,
           (firnc_value[]){[FIRN_METRIC_MEAN_IN_VALUE] = value,
                           [FIRN_METRIC_MEAN_IN_SUM] = graph->metric_sum,
                           [FIRN_METRIC_MEAN_IN_COUNT] = graph->metric_count},
           3, NULL);
}

/* Adds the mean of the loss over rows. If every row has weight 1, it is the mean over batches. */
static void add_mean_of_rows(firnc_graph *graph) {
    const firnc_node *loss = producer_of(graph, graph->loss);
    if (loss->code != FIRN_OP_cross_entropy_weighted) {
        add_mean(graph, graph->loss);
        return;
    }
    const float factor = loss->reals[FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR];
    const firnc_value divisor = loss->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_DIVISOR];
    add_sum(graph);
    add_op(graph, FIRN_OP_metric_weighted_mean,
           (firnc_value[]){[FIRN_METRIC_WEIGHTED_MEAN_IN_LOSS] = graph->loss,
                           [FIRN_METRIC_WEIGHTED_MEAN_IN_LABELS] = graph->labels,
                           [FIRN_METRIC_WEIGHTED_MEAN_IN_DIVISOR] = divisor,
                           [FIRN_METRIC_WEIGHTED_MEAN_IN_SUM] = graph->metric_sum,
                           [FIRN_METRIC_WEIGHTED_MEAN_IN_COUNT] = graph->metric_count},
           5, &factor);
}

static void add_accuracy(firnc_graph *graph) {
    if (graph->row_weights == FIRNC_NONE && graph->ignore_index < 0) {
        graph->metric_sum = firnc_counter_new(graph, "metric.correct");
        add_op(graph, FIRN_OP_metric_accuracy,
               (firnc_value[]){[FIRN_METRIC_ACCURACY_IN_LOGITS] = graph->logits,
                               [FIRN_METRIC_ACCURACY_IN_LABELS] = graph->labels,
                               [FIRN_METRIC_ACCURACY_IN_CORRECT] = graph->metric_sum,
                               [FIRN_METRIC_ACCURACY_IN_COUNT] = graph->metric_count},
               4, NULL);
        return;
    }
    graph->metric_kind = FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY;
    add_sum(graph);
    add_op(graph, FIRN_OP_metric_weighted_accuracy,
           (firnc_value[]){[FIRN_METRIC_WEIGHTED_ACCURACY_IN_LOGITS] = graph->logits,
                           [FIRN_METRIC_WEIGHTED_ACCURACY_IN_LABELS] = graph->labels,
                           [FIRN_METRIC_WEIGHTED_ACCURACY_IN_SUM] = graph->metric_sum,
                           [FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNT] = graph->metric_count},
           4, NULL);
}

static uint32_t classes_of(const firnc_graph *graph) {
    const firn_shape *shape = &graph->values[graph->logits].shape;
    return shape->dims[shape->rank - 1];
}

static void add_confusion(firnc_graph *graph) {
    uint32_t classes = classes_of(graph);
    graph->metric_sum =
        firnc_state_new(graph, "metric.confusion", FIRNC_ROLE_COUNTER, table_shape(classes, classes + 1), 0);
    add_op(graph, FIRN_OP_metric_confusion,
           (firnc_value[]){[FIRN_METRIC_CONFUSION_IN_LOGITS] = graph->logits,
                           [FIRN_METRIC_CONFUSION_IN_LABELS] = graph->labels,
                           [FIRN_METRIC_CONFUSION_IN_CONFUSION] = graph->metric_sum,
                           [FIRN_METRIC_CONFUSION_IN_COUNT] = graph->metric_count},
           4, NULL);
}

static void add_auc(firnc_graph *graph) {
    bool classes = graph->scores == FIRNC_NONE;
    graph->metric_sum =
        firnc_state_new(graph, "metric.histogram", FIRNC_ROLE_COUNTER, table_shape(2, FIRN_AUC_BUCKETS), 0);
    add_op(graph, FIRN_OP_metric_auc,
           (firnc_value[]){[FIRN_METRIC_AUC_IN_LOGITS] = classes ? graph->logits : graph->scores,
                           [FIRN_METRIC_AUC_IN_TARGET] = classes ? graph->labels : graph->score_targets,
                           [FIRN_METRIC_AUC_IN_HISTOGRAM] = graph->metric_sum,
                           [FIRN_METRIC_AUC_IN_COUNT] = graph->metric_count},
           4, NULL);
}

/* Adds the mean over batches of the mean squared error, which is the loss or else an additional op. */
static void add_squared_error(firnc_graph *graph) {
    firnc_value error = graph->loss;
    if (producer_of(graph, graph->loss)->code != FIRN_OP_mean_squared_error) {
        uint8_t type = FIRN_FLOAT32;
        uint32_t node = firnc_node_new(graph, FIRN_OP_mean_squared_error, FIRNC_PHASE_EVALUATE, "metric",
                                       (firnc_value[]){graph->prediction, graph->target}, 2, NULL, NULL, &type);
        error = graph->nodes[node].outputs[FIRN_MEAN_SQUARED_ERROR_OUT_LOSS];
    }
    add_mean(graph, error);
}

/* What a metric requires of the model. */
typedef enum need { NEEDS_NOTHING, NEEDS_CLASSES, NEEDS_FEW_CLASSES, NEEDS_TWO, NEEDS_NUMBERS } need;

static need need_of(firnc_metric metric) {
    switch (metric) {
    case FIRNC_METRIC_LOSS:
    case FIRNC_METRIC_MEAN:
        return NEEDS_NOTHING;
    case FIRNC_METRIC_PERPLEXITY:
    case FIRNC_METRIC_ACCURACY:
        return NEEDS_CLASSES;
    case FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY:
    case FIRNC_METRIC_MEAN_IOU:
    case FIRNC_METRIC_DICE:
    case FIRNC_METRIC_F_BETA:
        return NEEDS_FEW_CLASSES;
    case FIRNC_METRIC_AUC:
        return NEEDS_TWO;
    case FIRNC_METRIC_MEAN_SQUARED_ERROR:
        return NEEDS_NUMBERS;
    }
    return NEEDS_NOTHING;
}

/* Refuses a metric with a message at its place in the recipe, if it has one. */
static bool refuse(const firnc_compilation *compilation, const char *what) {
    return firnc_job_fail(compilation->job, &compilation->job->places.metric, "%s", what);
}

/* Checks that the ignored classes exist and are not all classes. */
static bool check_ignored(const firnc_compilation *compilation) {
    const firnc_job *job = compilation->job;
    const uint32_t count = job->metric_ignored_count, classes = classes_of(compilation->graph);
    return count == 0 || (job->metric_ignored[count - 1] < classes && count < classes) ||
           refuse(compilation, firnc_format("the metric leaves out a class that is not below %u, or all of them",
                                            (unsigned)classes));
}

static bool check_needs(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    const bool has_classes = graph->logits != FIRNC_NONE;
    switch (need_of(compilation->job->metric)) {
    case NEEDS_CLASSES:
    case NEEDS_FEW_CLASSES:
        if (!has_classes)
            return refuse(compilation,
                          firnc_format("the metric needs classes, and the loss of the model %s has none; use loss",
                                       graph->model));
        if (need_of(compilation->job->metric) == NEEDS_FEW_CLASSES && classes_of(graph) > CLASSES_MAX)
            return refuse(compilation,
                          firnc_format("a confusion matrix of %u classes is too large (at most %u); use accuracy",
                                       (unsigned)classes_of(graph), CLASSES_MAX));
        return check_ignored(compilation);
    case NEEDS_TWO:
        if (graph->scores == FIRNC_NONE && !(has_classes && classes_of(graph) == 2))
            return refuse(compilation, "the metric auc needs two classes, or loss: binary_cross_entropy_with_logits; "
                                       "change the model, or trainer.validate.metric");
        return graph->scores != FIRNC_NONE || (graph->row_weights == FIRNC_NONE && graph->ignore_index < 0) ||
               refuse(compilation, "the metric auc counts every row once; remove sample_weights and ignore_index");
    case NEEDS_NUMBERS:
        return graph->prediction != FIRNC_NONE ||
               refuse(compilation, "the metric mean_squared_error needs a loss of numbers and targets; use loss as "
                                   "trainer.validate.metric");
    case NEEDS_NOTHING:
        break;
    }
    return true;
}

static uint8_t kind_of(const firnc_job *job) {
    static const uint8_t kinds[] = {[FIRNC_METRIC_LOSS] = FIRN_FB_METRIC_KIND_MEAN_LOSS,
                                    [FIRNC_METRIC_PERPLEXITY] = FIRN_FB_METRIC_KIND_PERPLEXITY,
                                    [FIRNC_METRIC_ACCURACY] = FIRN_FB_METRIC_KIND_ACCURACY,
                                    [FIRNC_METRIC_MEAN] = FIRN_FB_METRIC_KIND_MEAN_LOSS,
                                    [FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY] =
                                        FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY,
                                    [FIRNC_METRIC_MEAN_IOU] = FIRN_FB_METRIC_KIND_MEAN_IOU,
                                    [FIRNC_METRIC_DICE] = FIRN_FB_METRIC_KIND_DICE,
                                    [FIRNC_METRIC_F_BETA] = FIRN_FB_METRIC_KIND_F_BETA_MICRO,
                                    [FIRNC_METRIC_AUC] = FIRN_FB_METRIC_KIND_AUC,
                                    [FIRNC_METRIC_MEAN_SQUARED_ERROR] = FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR};
    if (job->metric == FIRNC_METRIC_F_BETA && job->metric_macro)
        return FIRN_FB_METRIC_KIND_F_BETA_MACRO;
    return kinds[job->metric];
}

bool firnc_add_metric(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    if (!check_needs(compilation))
        return false;
    graph->cursor = firnc_counter_new(graph, "counters.cursor");
    graph->metric_count = firnc_counter_new(graph, "metric.count");
    graph->metric_kind = kind_of(job);
    firnc_value_info *loss = &graph->values[graph->loss];
    loss->name = "loss";
    loss->role = FIRNC_ROLE_RESULT;
    loss->persistent = true;
    switch (job->metric) {
    case FIRNC_METRIC_LOSS:
        add_mean(graph, graph->loss);
        break;
    case FIRNC_METRIC_MEAN:
    case FIRNC_METRIC_PERPLEXITY:
        add_mean_of_rows(graph);
        break;
    case FIRNC_METRIC_ACCURACY:
        add_accuracy(graph);
        break;
    case FIRNC_METRIC_AUC:
        add_auc(graph);
        break;
    case FIRNC_METRIC_MEAN_SQUARED_ERROR:
        add_squared_error(graph);
        break;
    default:
        add_confusion(graph);
        break;
    }
    return true;
}
