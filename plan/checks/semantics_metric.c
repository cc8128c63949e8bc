/* Rule 17 of FORMAT.md, the metrics. Reached only through firn_semantics_metric: a firmware that only trains leaves it
 * out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/errors.h"
#include "plan/parts.h"

/* The one or two ops that may compute the state of a kind of metric; other is 0 if there is one. */
typedef struct metric_rule {
    uint16_t code, other;
    uint8_t type; /* type of `sum` */
    bool matrix, f_beta;
} metric_rule;

static const metric_rule metric_rules[] = {
    [FIRN_FB_METRIC_KIND_MEAN_LOSS] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_PERPLEXITY] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_ACCURACY] = {FIRN_OP_metric_accuracy, 0, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY] = {FIRN_OP_metric_weighted_accuracy, 0, FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_MEAN_IOU] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_DICE] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_F_BETA_MICRO] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, true},
    [FIRN_FB_METRIC_KIND_F_BETA_MACRO] = {FIRN_OP_metric_confusion, 0, FIRN_INT64, true, true},
    [FIRN_FB_METRIC_KIND_AUC] = {FIRN_OP_metric_auc, 0, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR] = {FIRN_OP_metric_mean, 0, FIRN_FLOAT32, false, false},
};

/* Checks that one op alone writes sum and count, which also determines their shapes. */
static bool is_measured_once(firn_fb_plan plan, uint32_t sum, uint32_t count, uint16_t code) {
    firn_fb_op adds, counts;
    return firn_semantics_has_one_writer(plan, sum, code, 0, FIRN_FB_PHASE_KIND_EVALUATE, &adds) &&
           firn_semantics_has_one_writer(plan, count, code, 1, FIRN_FB_PHASE_KIND_EVALUATE, &counts) &&
           adds.at == counts.at;
}

/* Whether a tensor is a counter of this type with any extents. */
static bool is_counter_of(firn_fb_plan plan, uint32_t index, uint8_t type) {
    if (index >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_COUNTER && firn_fb_tensor_base(tensor) == FIRN_ABSENT &&
           firn_fb_tensor_type(tensor) == type;
}

/* Checks the ignored classes of the confusion matrix `sum`: ascending, and at least one class must remain. */
static bool are_ignored_classes(firn_fb_plan plan, firn_fb_metric metric) {
    firn_fb_tensor matrix = firn_fb_plan_tensors_at(plan, firn_fb_metric_sum(metric));
    uint32_t count = firn_fb_metric_ignore_classes_count(metric), classes = firn_fb_tensor_dims_at(matrix, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = firn_fb_metric_ignore_classes_at(metric, i);
        if (class >= classes || (i > 0 && class <= firn_fb_metric_ignore_classes_at(metric, i - 1)))
            return false;
    }
    return count < classes;
}

int firn_semantics_check_metric(firn_fb_plan plan, firn_fb_metric metric) {
    const metric_rule *rule = &metric_rules[firn_fb_metric_kind(metric)];
    uint32_t sum = firn_fb_metric_sum(metric), count = firn_fb_metric_count(metric);
    float beta = firn_fb_metric_beta(metric);
    if (!is_counter_of(plan, sum, rule->type) || !firn_semantics_is_counter(plan, count) ||
        (!is_measured_once(plan, sum, count, rule->code) && !is_measured_once(plan, sum, count, rule->other)))
        return FIRN_ERROR_ROLE;
    if (rule->f_beta ? !firn_semantics_is_positive(beta) : !firn_semantics_is_unused(beta))
        return FIRN_ERROR_FIELD;
    if (rule->matrix ? !are_ignored_classes(plan, metric) : firn_fb_metric_ignore_classes_count(metric) != 0)
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}
