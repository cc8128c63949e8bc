/* The shape rules (plan/shapes/shape_rules.h) of losses, with their gradients, and of metrics. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* --- losses ------------------------------------------------------------------------------------------------------- */

/* logits:real[N,V], labels:int32[N]. */
static bool are_logits(const firn_shape *logits, const firn_shape *labels) {
    return is_rows(logits) && labels->type == FIRN_INT32 && all_elements(labels) == leading_elements(logits);
}

int firn_shape_cross_entropy(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !is_single(&s->outputs[0]) || !is_single(&s->outputs[1]) ||
        !is_single(&s->outputs[2]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_leading(&s->outputs[1], logits);
    set_leading(&s->outputs[2], logits);
    return FIRN_OK;
}

int firn_shape_cross_entropy_backward(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[1];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(logits, &s->inputs[2]) ||
        !are_row_values(&s->inputs[3], 2, logits) || s->outputs[0].type != logits->type)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], logits);
    return FIRN_OK;
}

/* prediction:real[...], target:float32[...] -> loss:float32[1]. */
static int pair_to_loss(firn_op_signature *s) {
    const firn_shape *prediction = &s->inputs[0], *target = &s->inputs[1];
    if (!is_real(prediction) || !is_single(target) || !same_extents(prediction, target) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

/* dloss, prediction, target -> dprediction. */
static int pair_gradient(firn_op_signature *s) {
    const firn_shape *prediction = &s->inputs[1], *target = &s->inputs[2];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !is_real(prediction) || !is_single(target) ||
        !same_extents(prediction, target) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], prediction);
    return FIRN_OK;
}

int firn_shape_mean_squared_error(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_mean_squared_error_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

int firn_shape_l1_loss(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_l1_loss_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

static bool is_huber(const firn_op_signature *s) {
    return is_flag(s->integers[FIRN_HUBER_FORM]) && is_positive(s->reals[FIRN_HUBER_THRESHOLD]);
}

int firn_shape_huber_loss(firn_op_signature *s) {
    return is_huber(s) ? pair_to_loss(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_huber_loss_backward(firn_op_signature *s) {
    return is_huber(s) ? pair_gradient(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_binary_cross_entropy(firn_op_signature *s) {
    return pair_to_loss(s);
}

int firn_shape_binary_cross_entropy_backward(firn_op_signature *s) {
    return pair_gradient(s);
}

static bool is_divergence(const firn_op_signature *s) {
    return is_flag(s->integers[FIRN_KL_LOG_TARGET]) && is_flag(s->integers[FIRN_KL_BATCH_MEAN]);
}

int firn_shape_kl_divergence(firn_op_signature *s) {
    return is_divergence(s) ? pair_to_loss(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_kl_divergence_backward(firn_op_signature *s) {
    return is_divergence(s) ? pair_gradient(s) : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_nll_loss(firn_op_signature *s) {
    if (!are_logits(&s->inputs[0], &s->inputs[1]) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

int firn_shape_nll_loss_backward(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(&s->inputs[1], &s->inputs[2]) ||
        !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[1]);
    return FIRN_OK;
}

/* A label, or -1 for none. */
static bool is_ignorable(int64_t label, const firn_shape *logits) {
    return label >= -1 && label < (int64_t)last_extent(logits);
}

/* weights:float32[N]?, the operand at that place, one for each row of the logits. */
static bool may_be_weights(const firn_op_signature *s, uint8_t place, const firn_shape *logits) {
    return s->input_count <= place || are_row_values(&s->inputs[place], 1, logits);
}

static bool is_weighted(const firn_op_signature *s, const firn_shape *logits) {
    return is_ignorable(s->integers[FIRN_CROSS_ENTROPY_IGNORE_INDEX], logits) &&
           is_flag(s->integers[FIRN_CROSS_ENTROPY_SCALING]) && is_rate(s->reals[FIRN_CROSS_ENTROPY_LABEL_SMOOTHING]) &&
           is_positive(s->reals[FIRN_CROSS_ENTROPY_FACTOR]);
}

int firn_shape_cross_entropy_weighted(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !may_be_weights(s, 2, logits))
        return FIRN_ERROR_OP_SHAPE;
    if (!is_weighted(s, logits))
        return FIRN_ERROR_OP_ATTRIBUTE;
    for (uint8_t i = 0; i < 5; i++) {
        if (!is_single(&s->outputs[i]))
            return FIRN_ERROR_OP_SHAPE;
        if (i == 0 || i == 4)
            set_one(&s->outputs[i]);
        else
            set_leading(&s->outputs[i], logits);
    }
    return FIRN_OK;
}

int firn_shape_cross_entropy_weighted_backward(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[1];
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !are_logits(logits, &s->inputs[2]) ||
        !are_row_values(&s->inputs[3], 2, logits) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !may_be_weights(s, 6, logits) || s->outputs[0].type != logits->type)
        return FIRN_ERROR_OP_SHAPE;
    if (!is_weighted(s, logits))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_like(&s->outputs[0], logits);
    return FIRN_OK;
}

/* --- metrics -------------------------------------------------------------------------------------------------------
 */

int firn_shape_metric_mean(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[1], FIRN_FLOAT32, 2) ||
        !is_vector(&s->inputs[2], FIRN_INT64, 1) || !is_single(&s->outputs[0]) || s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[1]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_accuracy(firn_op_signature *s) {
    if (!are_logits(&s->inputs[0], &s->inputs[1]) || !is_vector(&s->inputs[2], FIRN_INT64, 1) ||
        !is_vector(&s->inputs[3], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64 ||
        s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

/* sum:float32[2], count:int64[1] as the operands from that place on, and as the outputs. */
static int change_sum_and_count(firn_op_signature *s, uint8_t place) {
    if (!is_vector(&s->inputs[place], FIRN_FLOAT32, 2) || !is_vector(&s->inputs[place + 1], FIRN_INT64, 1) ||
        !is_single(&s->outputs[0]) || s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[place]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_weighted_mean(firn_op_signature *s) {
    const firn_shape *labels = &s->inputs[1];
    if (s->integers[FIRN_METRIC_IGNORE_INDEX] < -1 || s->integers[FIRN_METRIC_IGNORE_INDEX] > INT32_MAX ||
        !is_positive(s->reals[FIRN_METRIC_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) || labels->type != FIRN_INT32 ||
        !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        (s->input_count > 5 && (!is_single(&s->inputs[5]) || all_elements(&s->inputs[5]) != all_elements(labels))))
        return FIRN_ERROR_OP_SHAPE;
    return change_sum_and_count(s, 3);
}

/* logits, labels and, behind the state, weights?, with the label that is ignored. */
static int check_labelled(const firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0];
    if (!are_logits(logits, &s->inputs[1]) || !may_be_weights(s, 4, logits))
        return FIRN_ERROR_OP_SHAPE;
    return is_ignorable(s->integers[FIRN_METRIC_IGNORE_INDEX], logits) ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_metric_weighted_accuracy(firn_op_signature *s) {
    int error = check_labelled(s);
    return error == FIRN_OK ? change_sum_and_count(s, 2) : error;
}

/* Counters of `rows` and `columns`, and count:int64[1], as operands 2 and 3 and as the outputs. */
static int change_table_and_count(firn_op_signature *s, uint64_t rows, uint64_t columns) {
    const firn_shape *table = &s->inputs[2];
    if (table->type != FIRN_INT64 || table->rank != 2 || table->dims[0] != rows || table->dims[1] != columns ||
        !is_vector(&s->inputs[3], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64 ||
        s->outputs[1].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], table);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_metric_confusion(firn_op_signature *s) {
    int error = check_labelled(s);
    uint64_t classes = last_extent(&s->inputs[0]);
    return error == FIRN_OK ? change_table_and_count(s, classes, classes + 1) : error;
}

int firn_shape_metric_auc(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[0], *target = &s->inputs[1];
    bool each = is_real(logits) && is_single(target) && same_extents(logits, target);
    bool of_two = are_logits(logits, target) && last_extent(logits) == 2;
    return each || of_two ? change_table_and_count(s, 2, FIRN_AUC_BUCKETS) : FIRN_ERROR_OP_SHAPE;
}
