/* Own rules (plan/shapes/shape_rules.h) of losses and metrics. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* An ignored label must be a class; -1 means that none is ignored. */
static int check_ignored(int64_t label, const firn_shape *logits) {
    return label < (int64_t)last_extent(logits) ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_cross_entropy_weighted(firn_op_signature *s) {
    return check_ignored(s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX],
                         &s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS]);
}

int firn_shape_cross_entropy_weighted_backward(firn_op_signature *s) {
    return check_ignored(s->integers[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX],
                         &s->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LOGITS]);
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
