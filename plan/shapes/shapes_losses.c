/* Own rules (plan/shapes/shape_rules.h) of losses and metrics. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* An ignored label must be a class, or the number behind the last class. -1 means that none is ignored. */
static int check_ignored(firn_op_signature *s, int64_t label, int64_t classes) {
    s->ignored_labels = label == classes;
    return label <= classes ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

enum { BATCH_SIZE = 1 }; /* a value of the attribute scaling, whose divisor is the same in every micro-batch */

int firn_shape_cross_entropy_weighted(firn_op_signature *s) {
    if (has_input(s, FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR) &&
        s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == BATCH_SIZE)
        return FIRN_ERROR_OP_ATTRIBUTE;
    return check_ignored(s, s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX],
                         last_extent(&s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS]));
}

int firn_shape_cross_entropy_weighted_backward(firn_op_signature *s) {
    return check_ignored(s, s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX],
                         last_extent(&s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LOGITS]));
}

enum { OUT_IN = 0 };         /* a value of the attribute layout */
enum { ROWS_TOGETHER = 32 }; /* blocks begin with whole blocks of terms of a matrix engine */

/* Without weights the attributes of the weighted loss have no meaning, and one value each. */
static bool is_plain(const firn_op_signature *s) {
    return !has_input(s, FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS) &&
           !has_input(s, FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR) &&
           s->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] == -1 &&
           s->integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] == 0 &&
           s->reals[FIRN_LINEAR_CROSS_ENTROPY_LABEL_SMOOTHING] == 0.0f &&
           s->reals[FIRN_LINEAR_CROSS_ENTROPY_FACTOR] == 1.0f;
}

int firn_shape_linear_cross_entropy(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_X];
    const firn_shape *weight = &s->inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHT];
    const bool out_in = s->integers[FIRN_LINEAR_CROSS_ENTROPY_LAYOUT] == OUT_IN;
    const int64_t classes = s->integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES];
    const int64_t rows = s->integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS];
    const uint64_t all = leading_elements(x);
    if (weight->rank != 2 || weight->dims[out_in ? 0 : 1] != classes || weight->dims[out_in ? 1 : 0] != last_extent(x))
        return FIRN_ERROR_OP_SHAPE;
    if (!is_word(rows, 1) || (uint64_t)rows > all || ((uint64_t)rows != all && rows % ROWS_TOGETHER != 0) ||
        s->integers[FIRN_LINEAR_CROSS_ENTROPY_HALF] != firn_type_is_half(x->type) ||
        check_ignored(s, s->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX], classes) != FIRN_OK ||
        (s->integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] == 0 && !is_plain(s)) ||
        (s->integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] == BATCH_SIZE &&
         has_input(s, FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR)))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_like(&s->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT], weight);
    firn_shape_set(&s->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS], 2,
                   (const uint32_t[]){(uint32_t)rows, (uint32_t)classes});
    firn_shape_set(&s->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES], 2, (const uint32_t[]){3, (uint32_t)rows});
    return FIRN_OK;
}

/* Whether each sample of the operand `counted`, if the op has it, has an equal number of the rows. */
static bool rows_are_of_samples(const firn_op_signature *s, uint8_t counted, uint64_t rows) {
    const firn_shape *samples = &s->inputs[counted];
    uint64_t rest = 0;
    if (!has_input(s, counted))
        return true;
    if (samples->rank == 1)
        (void)firn_divide(rows, samples->dims[0], &rest);
    return samples->rank == 1 && rest == 0;
}

int firn_shape_metric_accuracy(firn_op_signature *s) {
    const uint64_t rows = leading_elements(&s->inputs[FIRN_METRIC_ACCURACY_IN_LOGITS]);
    return rows_are_of_samples(s, FIRN_METRIC_ACCURACY_IN_COUNTED, rows) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_metric_weighted_accuracy(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[FIRN_METRIC_WEIGHTED_ACCURACY_IN_LOGITS];
    if (!rows_are_of_samples(s, FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNTED, leading_elements(logits)))
        return FIRN_ERROR_OP_SHAPE;
    return check_ignored(s, s->integers[FIRN_METRIC_WEIGHTED_ACCURACY_IGNORE_INDEX], last_extent(logits));
}

int firn_shape_metric_row_mean(firn_op_signature *s) {
    const uint64_t rows = all_elements(&s->inputs[FIRN_METRIC_ROW_MEAN_IN_ROW_LOSS]);
    return rows_are_of_samples(s, FIRN_METRIC_ROW_MEAN_IN_COUNTED, rows) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

/* The attributes that a loss does not have are 0. */
static bool has_its_attributes(const firn_op_signature *s, bool huber, bool divergence) {
    const float threshold = s->reals[FIRN_SAMPLE_LOSS_THRESHOLD];
    return (huber ? is_positive(threshold) : threshold == 0.0f) && (huber || s->integers[FIRN_SAMPLE_LOSS_FORM] == 0) &&
           (divergence || (s->integers[FIRN_SAMPLE_LOSS_LOG_TARGET] | s->integers[FIRN_SAMPLE_LOSS_BATCH_MEAN]) == 0);
}

int firn_shape_sample_loss(firn_op_signature *s) {
    const firn_shape *prediction = &s->inputs[FIRN_SAMPLE_LOSS_IN_PREDICTION];
    const uint32_t samples = (uint32_t)s->integers[FIRN_SAMPLE_LOSS_SAMPLES];
    const int64_t loss = s->integers[FIRN_SAMPLE_LOSS_LOSS];
    const bool huber = loss == FIRN_OP_huber_loss, divergence = loss == FIRN_OP_kl_divergence;
    if (!(huber || divergence || loss == FIRN_OP_mean_squared_error || loss == FIRN_OP_l1_loss ||
          loss == FIRN_OP_binary_cross_entropy) ||
        !has_its_attributes(s, huber, divergence))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (prediction->dims[0] % samples != 0)
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(&s->outputs[FIRN_SAMPLE_LOSS_OUT_LOSSES], 1, &samples);
    return FIRN_OK;
}

/* The matrix has a row for each label and a column for each prediction, and one more column for rows without a
 * prediction. */
int firn_shape_metric_confusion(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[FIRN_METRIC_CONFUSION_IN_LOGITS];
    const firn_shape *confusion = &s->inputs[FIRN_METRIC_CONFUSION_IN_CONFUSION];
    uint64_t classes = last_extent(logits);
    if (confusion->rank != 2 || confusion->dims[0] != classes || confusion->dims[1] != classes + 1 ||
        !rows_are_of_samples(s, FIRN_METRIC_CONFUSION_IN_COUNTED, leading_elements(logits)))
        return FIRN_ERROR_OP_SHAPE;
    return check_ignored(s, s->integers[FIRN_METRIC_CONFUSION_IGNORE_INDEX], (int64_t)classes);
}

int firn_shape_metric_auc(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[FIRN_METRIC_AUC_IN_LOGITS], *target = &s->inputs[FIRN_METRIC_AUC_IN_TARGET];
    bool each = is_single(target) && same_extents(logits, target);
    bool of_two = target->type == FIRN_INT32 && logits->rank >= 2 && last_extent(logits) == 2 &&
                  all_elements(target) == leading_elements(logits);
    return (each || of_two) && rows_are_of_samples(s, FIRN_METRIC_AUC_IN_COUNTED, all_elements(target))
               ? FIRN_OK
               : FIRN_ERROR_OP_SHAPE;
}
