/* What the loss of a plan is, and what it is measured in (runtime/report/report.h). A loss is called by what the plan
 * computes: the ops that make it, the labels that they count, and whether targets are standardised. */
#include <math.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/report/report.h"

/* What losses there are. cross_entropy: of classes, whose unit depends on what has a label. */
static const struct {
    uint16_t code;
    const char *loss, *unit;
    bool of_classes;
} losses[] = {
    {FIRN_OP_cross_entropy, "cross-entropy", NULL, true},
    {FIRN_OP_cross_entropy_weighted, "cross-entropy", NULL, true},
    {FIRN_OP_linear_cross_entropy, "cross-entropy", NULL, true},
    {FIRN_OP_nll_loss, "negative log likelihood", NULL, true},
    {FIRN_OP_mean_squared_error, "mean squared error", "squared units of the target", false},
    {FIRN_OP_l1_loss, "mean absolute error", "units of the target", false},
    {FIRN_OP_huber_loss, "Huber loss", "", false},
    {FIRN_OP_binary_cross_entropy, "binary cross-entropy", "nats per output", false},
    {FIRN_OP_kl_divergence, "divergence of Kullback and Leibler", "nats", false},
};

enum { LOSSES = sizeof losses / sizeof *losses };

typedef struct found_loss {
    uint32_t count; /* how many losses the plan adds, of one kind or of several */
    uint32_t kind;  /* index of the first */
    firn_fb_op op;  /* the first */
} found_loss;

static found_loss find(firn_fb_plan plan) {
    found_loss found = {0};
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            const firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            for (uint32_t kind = 0; kind < LOSSES; kind++) {
                if (losses[kind].code != firn_fb_op_code(op))
                    continue;
                if (found.count++ == 0) {
                    found.kind = kind;
                    found.op = op;
                }
            }
        }
    }
    return found;
}

static uint64_t elements_of(firn_fb_tensor tensor) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < firn_fb_tensor_dims_count(tensor); i++)
        elements *= firn_fb_tensor_dims_at(tensor, i);
    return elements;
}

/* The input of labels; false: the plan has none. */
static bool find_labels(firn_fb_plan plan, firn_fb_input *labels) {
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        *labels = firn_fb_plan_inputs_at(plan, i);
        if (firn_fb_input_label(*labels))
            return true;
    }
    return false;
}

/* Whether the weighted loss is a sum that is divided by nothing but a number of the recipe. */
static bool is_sum(firn_fb_op op) {
    const uint16_t code = firn_fb_op_code(op);
    int64_t integers[FIRN_ATTRIBUTES_MAX] = {0};
    const uint32_t count = firn_fb_op_integers_count(op);
    for (uint32_t i = 0; i < count; i++)
        integers[i] = firn_fb_op_integers_at(op, i);
    (void)firn_op_fill_integers(code, count, integers);
    return (code == FIRN_OP_cross_entropy_weighted && integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] != 0) ||
           (code == FIRN_OP_linear_cross_entropy && integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] != 0 &&
            integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] != 0);
}

/* The unit of a cross-entropy of classes: what has a label each. */
static const char *unit_of_classes(firn_fb_plan plan, firn_fb_op op) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    firn_fb_input labels;
    if (is_sum(op))
        return "nats, scaled by the recipe";
    if (!find_labels(plan, &labels))
        return "nats";
    if (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_WINDOW)
        return firn_fb_input_element(labels) == FIRN_UINT8 && firn_fb_input_limit(labels) == 256 ? "nats per byte"
                                                                                                 : "nats per token";
    const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(labels));
    if (elements_of(tensor) <= firn_fb_sampler_samples(sampler))
        return "nats per sample";
    const firn_fb_input first = firn_fb_plan_inputs_at(plan, 0);
    const firn_fb_tensor input = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(first));
    return firn_fb_tensor_type(input) == FIRN_INT32 ? "nats per token" : "nats per label";
}

/* Whether statistics in the plan standardise its targets. */
static bool standardises_targets(firn_fb_plan plan) {
    static const char begin[] = "normalise.targets.";
    for (uint32_t i = firn_fb_plan_state_tensors(plan); i < firn_fb_plan_tensors_count(plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_name_length(tensor) >= sizeof begin - 1 &&
            memcmp(firn_fb_tensor_name(tensor), begin, sizeof begin - 1) == 0)
            return true;
    }
    return false;
}

report_unit report_unit_of(firn_fb_plan plan) {
    const found_loss found = find(plan);
    if (found.count == 0)
        return (report_unit){"loss", ""};
    if (found.count > 1)
        return (report_unit){"sum of losses", ""};
    report_unit unit = {losses[found.kind].loss, losses[found.kind].unit};
    if (losses[found.kind].of_classes)
        unit.unit = unit_of_classes(plan, found.op);
    else if (standardises_targets(plan) && firn_fb_op_code(found.op) == FIRN_OP_mean_squared_error)
        unit.unit = "squared standard deviations of the target";
    else if (standardises_targets(plan) && firn_fb_op_code(found.op) == FIRN_OP_l1_loss)
        unit.unit = "standard deviations of the target";
    return unit;
}

void cli_loss_words(const cli_session *session, const char **loss, const char **unit) {
    const report_unit words = report_unit_of(cli_plan(session));
    *loss = words.loss;
    *unit = words.unit;
}

double report_guess_of(firn_fb_plan plan) {
    const found_loss found = find(plan);
    firn_fb_input labels;
    if (found.count != 1 || !losses[found.kind].of_classes || is_sum(found.op) || !find_labels(plan, &labels))
        return (double)NAN;
    if (firn_fb_op_code(found.op) == FIRN_OP_linear_cross_entropy)
        return log((double)firn_fb_op_integers_at(found.op, FIRN_LINEAR_CROSS_ENTROPY_CLASSES));
    const firn_fb_tensor logits = firn_fb_plan_tensors_at(plan, firn_fb_op_inputs_at(found.op, 0));
    return log((double)firn_fb_tensor_dims_at(logits, firn_fb_tensor_dims_count(logits) - 1));
}
