/* The metric pass (eval; called by the training pass). In: the forward graph of the evaluate phase. Out: one more op,
 * which adds each batch to the metric's state, and that state: the data cursor, a sum (or a table of counters) and a
 * count. The runtime computes one number from it at the end. Where the last batch may be short, the op also reads which
 * samples count, and adds what each row contributes by itself (short_batch.c). */
#include "compiler/passes/evaluation/short_batch.h"
#include "plan/errors.h"

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

/* What the op of a metric takes beside its operands: weights of the rows, or FIRNC_NONE, and the label of rows that are
 * left out, or -1. */
typedef struct row_choice {
    firnc_value weights;
    int64_t ignore_index;
} row_choice;

/* Whether weights of the rows follow the operands of a metric's op, before those that say which samples count. */
static bool takes_weights(uint16_t code) {
    return code == FIRN_OP_metric_weighted_mean || code == FIRN_OP_metric_weighted_accuracy ||
           code == FIRN_OP_metric_confusion;
}

/* Adds the op of the metric. Behind its operands it has the weights of the rows and then, if the last batch may be
 * short, which samples count. False without a message if the operands that the graph names do not fit the op. */
static bool add_op_for(firnc_graph *graph, uint16_t code, const firnc_value *operands, uint8_t count,
                       const float *reals, row_choice rows) {
    firnc_node node = {.code = code, .input_count = count, .output_count = 2, .integers = {rows.ignore_index}};
    firn_shape shapes[2];
    for (uint8_t i = 0; i < count; i++) {
        node.inputs[i] = operands[i];
        if (operands[i] == FIRNC_NONE)
            return false;
    }
    if (reals != NULL)
        node.reals[0] = reals[0];
    if (takes_weights(code) && (rows.weights != FIRNC_NONE || graph->counted != FIRNC_NONE))
        node.inputs[node.input_count++] = rows.weights;
    if (graph->counted != FIRNC_NONE)
        node.inputs[node.input_count++] = graph->counted;
    const uint8_t types[] = {graph->values[graph->metric_sum].shape.type, FIRN_INT64};
    if (firnc_infer_outputs(graph, &node, types, shapes) != FIRN_OK)
        return false;
    firnc_node_in_place(graph, code, FIRNC_PHASE_EVALUATE, "metric", node.inputs, node.input_count, node.integers,
                        node.reals, (firnc_value[]){graph->metric_sum, graph->metric_count});
    return true;
}

static bool add_op(firnc_graph *graph, uint16_t code, const firnc_value *operands, uint8_t count) {
    return add_op_for(graph, code, operands, count, NULL, (row_choice){graph->row_weights, graph->ignore_index});
}

static const firnc_node *producer_of(const firnc_graph *graph, firnc_value value) {
    return &graph->nodes[graph->values[value].producer];
}

/* Adds the mean over rows of their losses. */
static bool add_row_mean(firnc_graph *graph, const firnc_row_losses *rows) {
    add_sum(graph);
    const firnc_value inputs[] = {
        [FIRN_METRIC_ROW_MEAN_IN_ROW_LOSS] = rows->losses,     [FIRN_METRIC_ROW_MEAN_IN_SUM] = graph->metric_sum,
        [FIRN_METRIC_ROW_MEAN_IN_COUNT] = graph->metric_count, [FIRN_METRIC_ROW_MEAN_IN_COUNTED] = graph->counted,
        [FIRN_METRIC_ROW_MEAN_IN_LABELS] = rows->labels,       [FIRN_METRIC_ROW_MEAN_IN_WEIGHTS] = rows->weights};
    const firnc_value outputs[] = {graph->metric_sum, graph->metric_count};
    firnc_node_in_place(graph, FIRN_OP_metric_row_mean, FIRNC_PHASE_EVALUATE, "metric", inputs,
                        sizeof inputs / sizeof inputs[0], &rows->ignore_index, NULL, outputs);
    return true;
}

/* Adds the mean over batches of a scalar. */
static bool add_mean(firnc_graph *graph, firnc_value value) {
    add_sum(graph);
    return add_op(graph, FIRN_OP_metric_mean,
                  (firnc_value[]){[FIRN_METRIC_MEAN_IN_VALUE] = value,
                                  [FIRN_METRIC_MEAN_IN_SUM] = graph->metric_sum,
                                  [FIRN_METRIC_MEAN_IN_COUNT] = graph->metric_count},
                  3);
}

/* Adds the mean of the loss over rows. If every row has weight 1, it is the mean over batches. */
static bool add_mean_of_rows(firnc_graph *graph) {
    const firnc_node *loss = producer_of(graph, graph->loss);
    if (loss->code != FIRN_OP_cross_entropy_weighted)
        return add_mean(graph, graph->loss);
    const float factor = loss->reals[FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR];
    const bool weighted = loss->input_count > FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS;
    const row_choice rows = {weighted ? loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS] : FIRNC_NONE,
                             loss->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX]};
    const firnc_value labels = loss->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS];
    const firnc_value divisor = loss->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_DIVISOR];
    add_sum(graph);
    return add_op_for(graph, FIRN_OP_metric_weighted_mean,
                      (firnc_value[]){[FIRN_METRIC_WEIGHTED_MEAN_IN_LOSS] = graph->loss,
                                      [FIRN_METRIC_WEIGHTED_MEAN_IN_LABELS] = labels,
                                      [FIRN_METRIC_WEIGHTED_MEAN_IN_DIVISOR] = divisor,
                                      [FIRN_METRIC_WEIGHTED_MEAN_IN_SUM] = graph->metric_sum,
                                      [FIRN_METRIC_WEIGHTED_MEAN_IN_COUNT] = graph->metric_count},
                      5, &factor, rows);
}

static bool add_accuracy(firnc_graph *graph) {
    if (graph->row_weights == FIRNC_NONE && graph->ignore_index < 0) {
        graph->metric_sum = firnc_counter_new(graph, "metric.correct");
        return add_op(graph, FIRN_OP_metric_accuracy,
                      (firnc_value[]){[FIRN_METRIC_ACCURACY_IN_LOGITS] = graph->logits,
                                      [FIRN_METRIC_ACCURACY_IN_LABELS] = graph->labels,
                                      [FIRN_METRIC_ACCURACY_IN_CORRECT] = graph->metric_sum,
                                      [FIRN_METRIC_ACCURACY_IN_COUNT] = graph->metric_count},
                      4);
    }
    graph->metric_kind = FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY;
    add_sum(graph);
    return add_op(graph, FIRN_OP_metric_weighted_accuracy,
                  (firnc_value[]){[FIRN_METRIC_WEIGHTED_ACCURACY_IN_LOGITS] = graph->logits,
                                  [FIRN_METRIC_WEIGHTED_ACCURACY_IN_LABELS] = graph->labels,
                                  [FIRN_METRIC_WEIGHTED_ACCURACY_IN_SUM] = graph->metric_sum,
                                  [FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNT] = graph->metric_count},
                  4);
}

static uint32_t classes_of(const firnc_graph *graph) {
    const firn_shape *shape = &graph->values[graph->logits].shape;
    return shape->dims[shape->rank - 1];
}

static bool add_confusion(firnc_graph *graph) {
    uint32_t classes = classes_of(graph);
    graph->metric_sum =
        firnc_state_new(graph, "metric.confusion", FIRNC_ROLE_COUNTER, table_shape(classes, classes + 1), 0);
    return add_op(graph, FIRN_OP_metric_confusion,
                  (firnc_value[]){[FIRN_METRIC_CONFUSION_IN_LOGITS] = graph->logits,
                                  [FIRN_METRIC_CONFUSION_IN_LABELS] = graph->labels,
                                  [FIRN_METRIC_CONFUSION_IN_CONFUSION] = graph->metric_sum,
                                  [FIRN_METRIC_CONFUSION_IN_COUNT] = graph->metric_count},
                  4);
}

static bool add_auc(firnc_graph *graph) {
    bool classes = graph->scores == FIRNC_NONE;
    graph->metric_sum =
        firnc_state_new(graph, "metric.histogram", FIRNC_ROLE_COUNTER, table_shape(2, FIRN_AUC_BUCKETS), 0);
    return add_op(graph, FIRN_OP_metric_auc,
                  (firnc_value[]){[FIRN_METRIC_AUC_IN_LOGITS] = classes ? graph->logits : graph->scores,
                                  [FIRN_METRIC_AUC_IN_TARGET] = classes ? graph->labels : graph->score_targets,
                                  [FIRN_METRIC_AUC_IN_HISTOGRAM] = graph->metric_sum,
                                  [FIRN_METRIC_AUC_IN_COUNT] = graph->metric_count},
                  4);
}

/* Adds the mean over batches of the mean squared error, which is the loss or else an additional op. */
static bool add_squared_error(firnc_graph *graph) {
    if (producer_of(graph, graph->loss)->code == FIRN_OP_mean_squared_error)
        return add_mean(graph, graph->loss);
    const firnc_node node = {.code = FIRN_OP_mean_squared_error,
                             .input_count = 2,
                             .output_count = 1,
                             .inputs = {[FIRN_MEAN_SQUARED_ERROR_IN_PREDICTION] = graph->prediction,
                                        [FIRN_MEAN_SQUARED_ERROR_IN_TARGET] = graph->target}};
    const uint8_t type = FIRN_FLOAT32;
    firn_shape shape;
    if (firnc_infer_outputs(graph, &node, &type, &shape) != FIRN_OK)
        return false;
    uint32_t made = firnc_node_new(graph, node.code, FIRNC_PHASE_EVALUATE, "metric", node.inputs, node.input_count,
                                   NULL, NULL, &type);
    return add_mean(graph, graph->nodes[made].outputs[FIRN_MEAN_SQUARED_ERROR_OUT_LOSS]);
}

/* What a metric requires of the model. */
typedef enum need { NEEDS_NOTHING, NEEDS_CLASSES, NEEDS_FEW_CLASSES, NEEDS_TWO, NEEDS_NUMBERS } need;

static need need_of(firnc_metric metric) {
    switch (metric) {
    case FIRNC_METRIC_LOSS:
    case FIRNC_METRIC_MEAN:
    case FIRNC_METRIC_NONE:
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
           refuse(compilation,
                  firnc_format(
                      "the metric leaves out a class that is not below %u, or all of them; write other ignore_classes",
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
    static const uint8_t kinds[FIRNC_METRIC_NONE + 1] = {
        [FIRNC_METRIC_LOSS] = FIRN_FB_METRIC_KIND_MEAN_LOSS,
        [FIRNC_METRIC_PERPLEXITY] = FIRN_FB_METRIC_KIND_PERPLEXITY,
        [FIRNC_METRIC_ACCURACY] = FIRN_FB_METRIC_KIND_ACCURACY,
        [FIRNC_METRIC_MEAN] = FIRN_FB_METRIC_KIND_MEAN_LOSS,
        [FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY] = FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY,
        [FIRNC_METRIC_MEAN_IOU] = FIRN_FB_METRIC_KIND_MEAN_IOU,
        [FIRNC_METRIC_DICE] = FIRN_FB_METRIC_KIND_DICE,
        [FIRNC_METRIC_F_BETA] = FIRN_FB_METRIC_KIND_F_BETA_MICRO,
        [FIRNC_METRIC_AUC] = FIRN_FB_METRIC_KIND_AUC,
        [FIRNC_METRIC_MEAN_SQUARED_ERROR] = FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR};
    if (job->metric == FIRNC_METRIC_F_BETA && job->metric_macro)
        return FIRN_FB_METRIC_KIND_F_BETA_MACRO;
    return kinds[job->metric];
}

static bool add_metric_op(firnc_graph *graph, firnc_metric metric, const firnc_row_losses *rows) {
    if (rows->losses != FIRNC_NONE)
        return add_row_mean(graph, rows);
    switch (metric) {
    case FIRNC_METRIC_LOSS:
        return add_mean(graph, graph->loss);
    case FIRNC_METRIC_MEAN:
    case FIRNC_METRIC_PERPLEXITY:
        return add_mean_of_rows(graph);
    case FIRNC_METRIC_ACCURACY:
        return add_accuracy(graph);
    case FIRNC_METRIC_AUC:
        return add_auc(graph);
    case FIRNC_METRIC_MEAN_SQUARED_ERROR:
        return add_squared_error(graph);
    case FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY:
    case FIRNC_METRIC_MEAN_IOU:
    case FIRNC_METRIC_DICE:
    case FIRNC_METRIC_F_BETA:
    case FIRNC_METRIC_NONE:
        break;
    }
    return add_confusion(graph);
}

bool firnc_add_metric(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    if (!check_needs(compilation))
        return false;
    graph->cursor = firnc_counter_new(graph, "counters.cursor");
    if (!firnc_job_judges(job)) {
        graph->loss = FIRNC_NONE; /* nothing needs it, so the fuse pass leaves it out */
        return true;
    }
    graph->metric_count = firnc_counter_new(graph, "metric.count");
    graph->metric_kind = kind_of(job);
    firnc_row_losses rows;
    if (!firnc_decide_short_batch(compilation, &rows))
        return false;
    firnc_value_info *loss = &graph->values[graph->loss];
    loss->name = "loss";
    loss->role = FIRNC_ROLE_RESULT;
    loss->persistent = true;
    if (!add_metric_op(graph, job->metric, &rows))
        return refuse(compilation, firnc_format("the metric does not fit what the model %s names for it: labels, "
                                                "weights, targets or scores have another type or other extents than "
                                                "the metric takes; name others, or use loss",
                                                graph->model));
    return firnc_check_indices(compilation, &graph->nodes[graph->node_count - 1]);
}
