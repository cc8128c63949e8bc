/* Own rules (plan/shapes/shape_rules.h) of losses and metrics. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* An ignored label must be a class; -1 means that none is ignored. */
static int check_ignored(int64_t label, const firn_shape *logits) {
    return label < (int64_t)last_extent(logits) ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

enum { BATCH_SIZE = 1 }; /* a value of the attribute scaling, whose divisor is the same in every micro-batch */

int firn_shape_cross_entropy_weighted(firn_op_signature *s) {
    if (has_input(s, FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR) &&
        s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == BATCH_SIZE)
        return FIRN_ERROR_OP_ATTRIBUTE;
    return check_ignored(s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX],
                         &s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS]);
}

int firn_shape_cross_entropy_weighted_backward(firn_op_signature *s) {
    return check_ignored(s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX],
                         &s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LOGITS]);
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
        s->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] >= classes ||
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

int firn_shape_metric_weighted_accuracy(firn_op_signature *s) {
    return check_ignored(s->integers[FIRN_METRIC_WEIGHTED_ACCURACY_IGNORE_INDEX],
                         &s->inputs[FIRN_METRIC_WEIGHTED_ACCURACY_IN_LOGITS]);
}

/* The matrix has a row for each label and a column for each prediction, and one more column for rows without a
 * prediction. */
int firn_shape_metric_confusion(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[FIRN_METRIC_CONFUSION_IN_LOGITS];
    const firn_shape *confusion = &s->inputs[FIRN_METRIC_CONFUSION_IN_CONFUSION];
    uint64_t classes = last_extent(logits);
    if (confusion->rank != 2 || confusion->dims[0] != classes || confusion->dims[1] != classes + 1)
        return FIRN_ERROR_OP_SHAPE;
    return check_ignored(s->integers[FIRN_METRIC_CONFUSION_IGNORE_INDEX], logits);
}

int firn_shape_metric_auc(firn_op_signature *s) {
    const firn_shape *logits = &s->inputs[FIRN_METRIC_AUC_IN_LOGITS], *target = &s->inputs[FIRN_METRIC_AUC_IN_TARGET];
    bool each = is_single(target) && same_extents(logits, target);
    bool of_two = target->type == FIRN_INT32 && logits->rank >= 2 && last_extent(logits) == 2 &&
                  all_elements(target) == leading_elements(logits);
    return each || of_two ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}
