/* Rule 17 of FORMAT.md, the metrics. Reached only through firn_semantics_parts: a firmware that only trains leaves it
 * out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/errors.h"
#include "plan/parts.h"

/* The one or two ops that may compute the state of a kind of metric; other is 0 if there is one. Where the sampler says
 * which samples count, it is the op `counting`. */
typedef struct metric_rule {
    uint16_t code, other, counting;
    uint8_t type; /* type of `sum` */
    bool matrix, f_beta;
} metric_rule;

static const metric_rule metric_rules[] = {
    [FIRN_FB_METRIC_KIND_MEAN_LOSS] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_OP_metric_row_mean,
                                       FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_PERPLEXITY] = {FIRN_OP_metric_mean, FIRN_OP_metric_weighted_mean, FIRN_OP_metric_row_mean,
                                        FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_ACCURACY] = {FIRN_OP_metric_accuracy, 0, FIRN_OP_metric_accuracy, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_WEIGHTED_ACCURACY] = {FIRN_OP_metric_weighted_accuracy, 0, FIRN_OP_metric_weighted_accuracy,
                                               FIRN_FLOAT32, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY] = {FIRN_OP_metric_confusion, 0, FIRN_OP_metric_confusion, FIRN_INT64,
                                                     true, false},
    [FIRN_FB_METRIC_KIND_MEAN_IOU] = {FIRN_OP_metric_confusion, 0, FIRN_OP_metric_confusion, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_DICE] = {FIRN_OP_metric_confusion, 0, FIRN_OP_metric_confusion, FIRN_INT64, true, false},
    [FIRN_FB_METRIC_KIND_F_BETA_MICRO] = {FIRN_OP_metric_confusion, 0, FIRN_OP_metric_confusion, FIRN_INT64, true,
                                          true},
    [FIRN_FB_METRIC_KIND_F_BETA_MACRO] = {FIRN_OP_metric_confusion, 0, FIRN_OP_metric_confusion, FIRN_INT64, true,
                                          true},
    [FIRN_FB_METRIC_KIND_AUC] = {FIRN_OP_metric_auc, 0, FIRN_OP_metric_auc, FIRN_INT64, false, false},
    [FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR] = {FIRN_OP_metric_mean, 0, FIRN_OP_metric_row_mean, FIRN_FLOAT32, false,
                                                false},
};

/* Returns the operand of a metric's op that says which samples count, FIRN_ABSENT if it has none. */
static uint32_t counted_of(const firn_fb_op_record *op) {
    static const struct {
        uint16_t code;
        uint8_t counted;
    } places[] = {{FIRN_OP_metric_accuracy, FIRN_METRIC_ACCURACY_IN_COUNTED},
                  {FIRN_OP_metric_weighted_accuracy, FIRN_METRIC_WEIGHTED_ACCURACY_IN_COUNTED},
                  {FIRN_OP_metric_confusion, FIRN_METRIC_CONFUSION_IN_COUNTED},
                  {FIRN_OP_metric_auc, FIRN_METRIC_AUC_IN_COUNTED},
                  {FIRN_OP_metric_row_mean, FIRN_METRIC_ROW_MEAN_IN_COUNTED}};
    for (uint32_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (op->code == places[i].code && places[i].counted < op->inputs_count)
            return op->inputs[places[i].counted];
    }
    return FIRN_ABSENT;
}

/* Checks that one op alone writes sum and count, which also determines their shapes, and leaves out the samples that
 * the sampler says. */
static bool is_measured_once(const firn_fb_plan_record *plan, uint32_t sum, uint32_t count, uint16_t code) {
    firn_fb_op_record adds, counts;
    return firn_semantics_has_one_writer(plan, sum, code, 0, FIRN_FB_PHASE_KIND_EVALUATE, &adds) &&
           firn_semantics_has_one_writer(plan, count, code, 1, FIRN_FB_PHASE_KIND_EVALUATE, &counts) &&
           adds.table.at == counts.table.at &&
           counted_of(&adds) == firn_fb_sampler_counted(firn_fb_plan_sampler(plan->table));
}

static bool is_measured(const firn_fb_plan_record *plan, const firn_fb_metric_record *metric, const metric_rule *rule) {
    if (firn_fb_sampler_counted(firn_fb_plan_sampler(plan->table)) != FIRN_ABSENT)
        return is_measured_once(plan, metric->sum, metric->count, rule->counting);
    return is_measured_once(plan, metric->sum, metric->count, rule->code) ||
           is_measured_once(plan, metric->sum, metric->count, rule->other);
}

/* Whether there is such a tensor, and it is a counter of this type with any extents. */
static bool is_counter_of(const firn_fb_plan_record *plan, uint32_t index, uint8_t type,
                          firn_fb_tensor_record *tensor) {
    if (index >= plan->tensors_count)
        return false;
    firn_semantics_tensor(plan, index, tensor);
    return tensor->role == FIRN_FB_ROLE_COUNTER && tensor->base == FIRN_ABSENT && tensor->type == type;
}

/* Checks the ignored classes of a confusion matrix: ascending, and at least one class must remain. */
static bool are_ignored_classes(const firn_fb_metric_record *metric, uint32_t classes) {
    for (uint32_t i = 0; i < metric->ignore_classes_count; i++) {
        const uint32_t class = metric->ignore_classes[i];
        if (class >= classes || (i > 0 && class <= metric->ignore_classes[i - 1]))
            return false;
    }
    return metric->ignore_classes_count < classes;
}

int firn_semantics_check_metric(const firn_fb_plan_record *plan, uint32_t i) {
    firn_fb_metric_record metric;
    firn_fb_tensor_record sum;
    firn_fb_metric_read_at(plan->metrics, i, &metric);
    const metric_rule *rule = &metric_rules[metric.kind];
    if (!is_counter_of(plan, metric.sum, rule->type, &sum) || !firn_semantics_is_counter(plan, metric.count) ||
        !is_measured(plan, &metric, rule))
        return FIRN_ERROR_ROLE;
    if (rule->f_beta ? !firn_semantics_is_positive(metric.beta) : !firn_semantics_is_unused(metric.beta))
        return FIRN_ERROR_FIELD;
    if (rule->matrix ? !are_ignored_classes(&metric, sum.dims[0]) : metric.ignore_classes_count != 0)
        return FIRN_ERROR_FIELD;
    return FIRN_OK;
}
