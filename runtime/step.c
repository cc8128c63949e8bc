/* Runs one step, train or eval, in one process. step.h has what runtime/ranks shares: the order in which the phases of
 * a plan run and when the state is valid. The computation itself is in the plan's ops; sample.c selects the samples. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "runtime/step.h"

/* --- train --- */

/* Runs forward and backward of every micro-batch. Does not write the state, so an error here leaves it valid. The loss
 * of the batch is the sum of the losses in order, divided by their number unless they are added. Where the plan adds
 * micro-batches as a tree, an op does it, and the sum is there behind the last. */
static int run_micro_batches(firn_instance *instance, firn_step *step, float *batch_loss) {
    const uint32_t micro_batches = firn_fb_plan_micro_batches(instance->plan);
    float total = -0.0f; /* added to it, the first loss stays as it is, also -0 */
    const bool added = firn_step_adds_losses(instance);
    int status = FIRN_OK;
    uint32_t micro = 0;
    if (added)
        status = firn_batch->count(instance, &step->samples, firn_samples_fill, step->global_step, step->cursor);
    if (status != FIRN_OK)
        return status;
    do {
        status = firn_samples_fill(instance, &step->samples, step->cursor);
        if (status != FIRN_OK)
            return status;
        step->cursor += firn_step_samples(instance);
        instance->moment = (firn_moment){step->global_step, micro};
        firn_execute_phase(instance, FIRN_FB_PHASE_KIND_MICRO_BATCH);
        if (firn_loss_follows != NULL && firn_loss_follows(instance->plan, micro))
            continue;
        const float loss = *instance->bound.loss;
        total += loss;
        if (firn_fb_plan_check_loss(instance->plan) && !firn_step_is_finite(loss))
            status = FIRN_ERROR_LOSS_NOT_FINITE;
    } while (status == FIRN_OK && ++micro < micro_batches);
    *batch_loss = firn_canonical(added ? total : total / (float)micro_batches);
    return status;
}

static void run_phase(firn_instance *instance, firn_step *step, uint8_t kind) {
    (void)step;
    firn_execute_phase(instance, kind);
}

int firn_train_step(firn *instance, const firn_source *source, firn_step_report *report) {
    firn_instance *self;
    firn_step step;
    int status = firn_step_begin_training(instance, source, report, &self, &step);
    if (status != FIRN_OK)
        return status;
    uint32_t before = firn_float_begin();
    firn_step_derive(self);
    firn_step_prepare(self, report);
    status = run_micro_batches(self, &step, &report->loss);
    if (status == FIRN_OK)
        status = firn_step_conclude(self, &step, report, run_phase);
    firn_float_end(before);
    if (status == FIRN_OK)
        self->worked = true;
    return status;
}

/* --- eval --- */

static int evaluate(firn_instance *instance, firn_step *step) {
    int status = firn_samples_fill(instance, &step->samples, step->cursor);
    if (status != FIRN_OK)
        return status;
    step->cursor += firn_step_count_samples(instance, step);
    instance->condition = FIRN_CONDITION_POISONED;
    instance->moment = (firn_moment){step->global_step, 0};
    firn_execute_phase(instance, FIRN_FB_PHASE_KIND_EVALUATE);
    *instance->bound.cursor = (int64_t)step->cursor;
    instance->condition = FIRN_CONDITION_READY;
    /* A plan that does not check its loss may have none. */
    return firn_fb_plan_check_loss(instance->plan) && !firn_step_is_finite(*instance->bound.loss)
               ? FIRN_ERROR_LOSS_NOT_FINITE
               : FIRN_OK;
}

int firn_eval_step(firn *instance, const firn_source *source) {
    firn_instance *self;
    firn_step step;
    int status = firn_step_begin_evaluation(instance, source, &self, &step);
    if (status != FIRN_OK)
        return status;
    uint32_t before = firn_float_begin();
    firn_step_derive(self);
    status = evaluate(self, &step);
    firn_float_end(before);
    if (status == FIRN_OK)
        self->worked = true;
    return status;
}

int firn_eval_left(const firn *instance, const firn_source *source, uint64_t *samples) {
    const firn_instance *self = firn_instance_view(instance);
    if (samples == NULL)
        return FIRN_ERROR_ARGUMENT;
    *samples = 0;
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    firn_samples part;
    status = firn_samples_begin(self, source, &part);
    if (status != FIRN_OK)
        return status;
    uint64_t taken = (uint64_t)*self->bound.cursor;
    *samples = taken < part.count ? part.count - taken : 0;
    return FIRN_OK;
}

int firn_eval_rows(const firn *instance, uint32_t *samples) {
    const firn_instance *self = firn_instance_view(instance);
    if (samples == NULL)
        return FIRN_ERROR_ARGUMENT;
    *samples = 0;
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    uint64_t rest;
    const uint64_t whole = firn_divide((uint64_t)*self->bound.cursor, firn_step_samples(self), &rest);
    if (whole == 0 && rest == 0)
        return FIRN_ERROR_NO_RESULT;
    *samples = rest != 0 ? (uint32_t)rest : firn_step_samples(self);
    return FIRN_OK;
}

int firn_eval_metric(const firn *instance, uint32_t index, float *value) {
    const firn_instance *self = firn_instance_view(instance);
    if (value == NULL)
        return FIRN_ERROR_ARGUMENT;
    *value = firn_from_bits(FIRN_NAN_BITS);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    if (index >= firn_fb_plan_metrics_count(self->plan))
        return FIRN_ERROR_NO_METRIC;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    const firn_fb_metric metric = firn_fb_plan_metrics_at(self->plan, index);
    if (firn_instance_int64(self, firn_fb_metric_count(metric)) <= 0)
        return firn_step_evaluated(self) == 0 ? FIRN_ERROR_NO_RESULT : FIRN_ERROR_NO_ROWS;
    uint32_t before = firn_float_begin();
    *value = firn_canonical(firn_metric_parts[firn_fb_metric_kind(metric)](self, metric));
    firn_float_end(before);
    return FIRN_OK;
}

int firn_eval_result(const firn *instance, float *value) {
    return firn_eval_metric(instance, 0, value);
}

int firn_progress(const firn *instance, uint64_t *steps) {
    const firn_instance *self = firn_instance_view(instance);
    if (steps == NULL)
        return FIRN_ERROR_ARGUMENT;
    *steps = 0;
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    *steps = self->header.mode == FIRN_MODE_EVAL ? firn_step_evaluated(self) : (uint64_t)*self->bound.global_step;
    return FIRN_OK;
}
