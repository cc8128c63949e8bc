/* Whether the last batch of an evaluation may be short (short_batch.h): samples that are missing are then filled in,
 * and the metric leaves them out. Two things are needed. The samples of a batch must not depend on one another, or what
 * is filled in would change the others. And the metric must be made of what each row adds by itself, in the order of
 * the data; so its value has the same bits for every size of a batch. */
#include "compiler/passes/evaluation/short_batch.h"

#include "compiler/passes/evaluation/samples.h"
#include "plan/errors.h"
#include "plan/op_words.h"

static const firnc_node *loss_of(const firnc_graph *graph) {
    return &graph->nodes[graph->values[graph->loss].producer];
}

static bool compares_numbers(uint16_t code) {
    return code == FIRN_OP_mean_squared_error || code == FIRN_OP_l1_loss || code == FIRN_OP_huber_loss ||
           code == FIRN_OP_binary_cross_entropy || code == FIRN_OP_kl_divergence;
}

/* --- what prevents it -----------------------------------------------------------------------------------------------
 */

static bool is_mean_of_losses(firnc_metric metric) {
    return metric == FIRNC_METRIC_LOSS || metric == FIRNC_METRIC_MEAN || metric == FIRNC_METRIC_PERPLEXITY;
}

/* Whether the loss is a mean over rows, whatever is in the batch. The metric `loss` means what the training minimises;
 * that of weighted rows is divided by the weights of a batch. */
static bool is_mean_of_rows(const firnc_node *loss, firnc_metric metric) {
    if (loss->code == FIRN_OP_cross_entropy_weighted)
        return metric != FIRNC_METRIC_LOSS || (loss->input_count <= FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS &&
                                               loss->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == 0);
    return loss->code == FIRN_OP_cross_entropy || loss->code == FIRN_OP_nll_loss || compares_numbers(loss->code);
}

/* Lists what the metric is computed from; FIRNC_NONE stands for what the graph does not have. */
static uint8_t operands_of(const firnc_compilation *compilation, firnc_value operands[3]) {
    const firnc_graph *graph = compilation->graph;
    const firnc_node *loss = loss_of(graph);
    const firnc_metric metric = compilation->job->metric;
    const bool scores = metric == FIRNC_METRIC_AUC && graph->scores != FIRNC_NONE;
    if (is_mean_of_losses(metric)) {
        for (uint8_t i = 0; i < 3; i++)
            operands[i] = i < loss->input_count ? loss->inputs[i] : FIRNC_NONE;
        return 3;
    }
    if (metric == FIRNC_METRIC_MEAN_SQUARED_ERROR || scores) {
        operands[0] = scores ? graph->scores : graph->prediction;
        operands[1] = scores ? graph->score_targets : graph->target;
        return 2;
    }
    operands[0] = graph->logits;
    operands[1] = graph->labels;
    operands[2] = graph->row_weights;
    return 3;
}

/* Returns why the last batch may not be short, or NULL. A batch of one sample has none to depend on. */
static const char *obstacle(const firnc_compilation *compilation) {
    firnc_value operands[3];
    if (is_mean_of_losses(compilation->job->metric) &&
        !is_mean_of_rows(loss_of(compilation->graph), compilation->job->metric))
        return "the loss is no mean over rows that a short batch could continue; trainer.validate.metric: mean or "
               "accuracy counts them where the model has one of these";
    const uint8_t count = operands_of(compilation, operands);
    const firnc_samples *samples = firnc_samples_of(compilation);
    for (uint8_t i = 0; i < count && compilation->job->data.micro_batch_size > 1; i++) {
        const firnc_node *mixing;
        if (operands[i] == FIRNC_NONE || firnc_samples_are_apart(samples, operands[i], &mixing))
            continue;
        if (mixing == NULL)
            return firnc_format(
                "the metric reads %s, which is no input, and has an element for each place in the batch",
                compilation->graph->values[operands[i]].name);
        return firnc_format("layer %s: the samples of a batch depend on one another in its op %s", mixing->name,
                            firn_op_name(firn_op_find(mixing->code)));
    }
    return NULL;
}

/* --- what each row adds ---------------------------------------------------------------------------------------------
 */

static firnc_value add_node(firnc_graph *graph, uint16_t code, const firnc_value *inputs, uint8_t count,
                            const int64_t *integers, const float *reals, uint8_t type) {
    const uint32_t made =
        firnc_node_new(graph, code, FIRNC_PHASE_EVALUATE, "metric", inputs, count, integers, reals, &type);
    return graph->nodes[made].outputs[0];
}

/* Adds the element of each row at its label, in the type of the rows and with their extents but for the last. Labels
 * may have others. */
static firnc_value add_chosen(firnc_graph *graph, firnc_value rows, firnc_value labels) {
    const firn_shape *shape = &graph->values[rows].shape;
    const uint8_t last = (uint8_t)(shape->rank - 1), type = shape->type;
    int64_t dims[FIRN_RANK_MAX] = {0}, column[FIRN_RANK_MAX] = {0};
    for (uint8_t i = 0; i < last; i++)
        dims[i] = column[i] = shape->dims[i];
    column[last] = 1;
    const firnc_value ids = add_node(graph, FIRN_OP_reshape, &labels, 1, column, NULL, FIRN_INT32);
    const firnc_value operands[] = {[FIRN_GATHER_ELEMENTS_IN_X] = rows, [FIRN_GATHER_ELEMENTS_IN_IDS] = ids};
    const int64_t axis = last;
    const firnc_value chosen = add_node(graph, FIRN_OP_gather_elements, operands, 2, &axis, NULL, type);
    return add_node(graph, FIRN_OP_reshape, &chosen, 1, dims, NULL, type);
}

static firnc_value add_difference(firnc_graph *graph, firnc_value a, firnc_value b) {
    const firnc_value operands[] = {[FIRN_SUBTRACT_IN_A] = a, [FIRN_SUBTRACT_IN_B] = b};
    return add_node(graph, FIRN_OP_subtract, operands, 2, NULL, NULL, FIRN_FLOAT32);
}

/* Adds what cross_entropy adds up: log(row_sum) - (the logit at the label - row_max). It is no op of its own, because
 * kernel sets are fast at the maxima and sums of cross_entropy, which are there. */
static firnc_value add_cross_entropies(firnc_graph *graph, const firnc_node *loss) {
    const firnc_value chosen =
        add_chosen(graph, loss->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS], loss->inputs[FIRN_CROSS_ENTROPY_IN_LABELS]);
    const firnc_value distance = add_difference(graph, chosen, loss->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_MAX]);
    const firnc_value sum = loss->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_SUM];
    return add_difference(graph, add_node(graph, FIRN_OP_log, &sum, 1, NULL, NULL, FIRN_FLOAT32), distance);
}

/* Adds what nll_loss adds up: the logarithm at the label of each row, negated. */
static firnc_value add_negated_logarithms(firnc_graph *graph, const firnc_node *loss) {
    const float negates[] = {[FIRN_AFFINE_SCALE] = -1.0F, [FIRN_AFFINE_SHIFT] = -0.0F};
    firnc_value chosen =
        add_chosen(graph, loss->inputs[FIRN_NLL_LOSS_IN_LOG_PROBABILITIES], loss->inputs[FIRN_NLL_LOSS_IN_LABELS]);
    if (graph->values[chosen].shape.type != FIRN_FLOAT32)
        chosen = add_node(graph, FIRN_OP_cast, &chosen, 1, NULL, NULL, FIRN_FLOAT32);
    return add_node(graph, FIRN_OP_affine, &chosen, 1, NULL, negates, FIRN_FLOAT32);
}

/* Adds the loss of each sample by itself. */
static firnc_value add_sample_loss(const firnc_compilation *compilation, const firnc_node *loss) {
    const bool huber = loss->code == FIRN_OP_huber_loss, divergence = loss->code == FIRN_OP_kl_divergence;
    const int64_t integers[] = {
        [FIRN_SAMPLE_LOSS_LOSS] = loss->code,
        [FIRN_SAMPLE_LOSS_SAMPLES] = compilation->job->data.micro_batch_size,
        [FIRN_SAMPLE_LOSS_FORM] = huber ? loss->integers[FIRN_HUBER_LOSS_FORM] : 0,
        [FIRN_SAMPLE_LOSS_LOG_TARGET] = divergence ? loss->integers[FIRN_KL_DIVERGENCE_LOG_TARGET] : 0,
        [FIRN_SAMPLE_LOSS_BATCH_MEAN] = divergence ? loss->integers[FIRN_KL_DIVERGENCE_BATCH_MEAN] : 0};
    const float threshold = huber ? loss->reals[FIRN_HUBER_LOSS_THRESHOLD] : 0;
    return add_node(compilation->graph, FIRN_OP_sample_loss, loss->inputs, 2, integers, &threshold, FIRN_FLOAT32);
}

/* Adds the losses that the metric is the mean of. Operands that the graph names and that do not fit have none; the
 * metric's op refuses them. */
static void add_row_losses(const firnc_compilation *compilation, firnc_row_losses *rows) {
    firnc_graph *graph = compilation->graph;
    if (compilation->job->metric == FIRNC_METRIC_MEAN_SQUARED_ERROR) {
        const firnc_node squares = {.code = FIRN_OP_mean_squared_error,
                                    .input_count = 2,
                                    .output_count = 1,
                                    .inputs = {[FIRN_MEAN_SQUARED_ERROR_IN_PREDICTION] = graph->prediction,
                                               [FIRN_MEAN_SQUARED_ERROR_IN_TARGET] = graph->target}};
        firn_shape shape;
        if (firnc_infer_outputs(graph, &squares, &(uint8_t){FIRN_FLOAT32}, &shape) == FIRN_OK)
            rows->losses = add_sample_loss(compilation, &squares);
        return;
    }
    if (!is_mean_of_losses(compilation->job->metric))
        return;
    const firnc_node loss = *loss_of(graph);
    if (loss.code == FIRN_OP_cross_entropy) {
        rows->losses = add_cross_entropies(graph, &loss);
    } else if (loss.code == FIRN_OP_nll_loss) {
        rows->losses = add_negated_logarithms(graph, &loss);
    } else if (loss.code == FIRN_OP_cross_entropy_weighted) {
        rows->losses = loss.outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_LOSS];
        rows->ignore_index = loss.integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX];
        if (rows->ignore_index >= 0)
            rows->labels = loss.inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS];
        if (loss.input_count > FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS)
            rows->weights = loss.inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS];
    } else {
        rows->losses = add_sample_loss(compilation, &loss);
    }
}

/* --- the decision ---------------------------------------------------------------------------------------------------
 */

bool firnc_decide_short_batch(const firnc_compilation *compilation, firnc_row_losses *rows) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    *rows = (firnc_row_losses){FIRNC_NONE, FIRNC_NONE, FIRNC_NONE, -1};
    if (job->data.wrap || job->data.ring != 0 || job->data.short_batch == FIRNC_SHORT_NEVER)
        return true;
    const char *why = obstacle(compilation);
    if (why != NULL && job->data.short_batch == FIRNC_SHORT_ALWAYS)
        return firnc_job_fail(job, &job->places.short_batch,
                              "the last samples cannot be counted: %s; write drop_last: true, which leaves out those "
                              "that are fewer than a batch",
                              why);
    if (why != NULL) {
        firnc_job_warn(job, NULL,
                       "samples at the end of the data that are fewer than a batch are left out: %s; choose a "
                       "batch_size that divides the data, or say so by drop_last: true",
                       why);
        return true;
    }
    const firn_shape shape = {.type = FIRN_INT32, .rank = 1, .dims = {job->data.micro_batch_size}};
    graph->counted = firnc_value_new(graph, "counted", FIRNC_ROLE_INPUT, shape);
    graph->values[graph->counted].persistent = true;
    add_row_losses(compilation, rows);
    return true;
}
