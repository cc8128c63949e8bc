/* Runs one step, train or eval. This file defines the order in which the phases of a plan run and when the state is
 * valid. The computation itself is in the plan's ops; sample.c selects the samples. */
#define FIRN_FB_INLINE /* plan/access.h */
#include <string.h>

#include "plan/divide.h"
#include "plan/schedule_list.h"
#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* The context of a step: the source it reads, and the progress of the run. */
typedef struct step {
    uint64_t global_step; /* before the step */
    uint64_t cursor;      /* draws taken, this step's included; stored only if the step succeeds */
    firn_samples samples;
} step;

static void begin_step(const firn_instance *instance, uint64_t global_step, step *step) {
    step->global_step = global_step;
    step->cursor = (uint64_t)*instance->bound.cursor;
}

static bool finite(float x) {
    return (firn_bits(x) & FIRN_INFINITY_BITS) != FIRN_INFINITY_BITS;
}

/* Samples of a micro-batch, at least 1. */
static uint32_t samples_of(const firn_instance *instance) {
    if (instance->bound.samples == 0)
        firn_instance_trap(instance, FIRN_ERROR_SAMPLER);
    return instance->bound.samples;
}

/* Runs derive if the parameters have changed since it ran. A plan derives nothing from what its own steps change, so
 * these do not count for it; those of its owner do. The state is only read. */
static void derive(firn_instance *instance) {
    const firn_instance *owner = firn_instance_owner(instance);
    const uint64_t changes = owner != NULL ? owner->changes : instance->outside_changes;
    if (instance->derived_at == changes)
        return;
    instance->moment = (firn_moment){0, 0};
    firn_execute_phase(instance, FIRN_FB_PHASE_KIND_DERIVE);
    instance->derived_at = changes;
}

/* --- train --- */

/* Evaluates every schedule at an optimizer step and stores the value in the schedule's tensor. */
static void set_schedules(const firn_instance *instance, uint64_t optimizer_step) {
    const firn_schedule_list list = firn_plan_checked_schedules(instance->plan);
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(instance->plan); i++) {
        const firn_fb_schedule schedule = firn_fb_plan_schedules_at(instance->plan, i);
        float *value = firn_instance_data(instance, firn_fb_schedule_tensor(schedule));
        *value = firn_schedule_value(&list, firn_fb_schedule_root(schedule), optimizer_step);
    }
}

/* Whether the losses of micro-batches are divided by the divisor of the whole batch, and so added. A build without such
 * plans opens none. */
static bool adds_losses(const firn_instance *instance) {
    return firn_batch != NULL && instance->bound.phases[FIRN_FB_PHASE_KIND_COUNT].count != 0;
}

/* Runs forward and backward of every micro-batch. Does not write the state, so an error here leaves it valid. The loss
 * of the batch is the sum of the losses in order, divided by their number unless they are added. Where the plan adds
 * micro-batches as a tree, an op does it, and the sum is there behind the last. */
static int run_micro_batches(firn_instance *instance, step *step, float *batch_loss) {
    const uint32_t micro_batches = firn_fb_plan_micro_batches(instance->plan);
    float total = -0.0f; /* added to it, the first loss stays as it is, also -0 */
    const bool added = adds_losses(instance);
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
        step->cursor += samples_of(instance);
        instance->moment = (firn_moment){step->global_step, micro};
        firn_execute_phase(instance, FIRN_FB_PHASE_KIND_MICRO_BATCH);
        if (firn_loss_follows != NULL && firn_loss_follows(instance->plan, micro))
            continue;
        const float loss = *instance->bound.loss;
        total += loss;
        if (firn_fb_plan_check_loss(instance->plan) && !finite(loss))
            status = FIRN_ERROR_LOSS_NOT_FINITE;
    } while (status == FIRN_OK && ++micro < micro_batches);
    *batch_loss = firn_canonical(added ? total : total / (float)micro_batches);
    return status;
}

/* The last phases, which write the state. It counts as poisoned until the last write, because a function of the port
 * may never return. */
static void finish_step(firn_instance *instance, const step *step, bool skipped) {
    instance->condition = FIRN_CONDITION_POISONED;
    if (!skipped)
        firn_execute_phase(instance, FIRN_FB_PHASE_KIND_UPDATE);
    firn_execute_phase(instance, FIRN_FB_PHASE_KIND_BOOKKEEP);
    *instance->bound.cursor = (int64_t)step->cursor;
    instance->changes++;
    instance->condition = FIRN_CONDITION_READY;
}

static void report_progress(const firn_bindings *bound, firn_step_report *report) {
    report->global_step = (uint64_t)*bound->global_step;
    report->optimizer_step = (uint64_t)*bound->optimizer_step;
}

static int train(firn_instance *instance, step *step, firn_step_report *report) {
    const firn_bindings *bound = &instance->bound;
    report_progress(bound, report);
    set_schedules(instance, report->optimizer_step);
    report->learning_rate = bound->learning_rate != NULL ? *bound->learning_rate : 0;
    report->loss_scale = bound->loss_scale != NULL ? *bound->loss_scale : 1;
    report->gradient_norm = firn_from_bits(FIRN_NAN_BITS);
    int status = run_micro_batches(instance, step, &report->loss);
    if (status != FIRN_OK)
        return status;
    instance->moment.micro_step = 0;
    firn_execute_phase(instance, FIRN_FB_PHASE_KIND_FINALISE);
    if (bound->gradient_norm != NULL)
        report->gradient_norm = *bound->gradient_norm;
    report->skipped = bound->finite != NULL && *bound->finite == 0;
    finish_step(instance, step, report->skipped);
    report_progress(bound, report);
    return bound->at_floor != NULL && *bound->at_floor != 0 ? FIRN_ERROR_LOSS_SCALE_FLOOR : FIRN_OK;
}

int firn_train_step(firn *instance, const firn_source *source, firn_step_report *report) {
    firn_instance *self = firn_instance_of(instance);
    if (report == NULL)
        return FIRN_ERROR_ARGUMENT;
    *report = (firn_step_report){0};
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_TRAIN)
        return FIRN_ERROR_WRONG_MODE;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    step step;
    begin_step(self, (uint64_t)*self->bound.global_step, &step);
    const uint64_t steps = firn_fb_plan_steps(self->plan);
    if (steps != 0 && step.global_step >= steps)
        return FIRN_ERROR_RUN_COMPLETE;
    status = firn_samples_begin(self, source, &step.samples);
    if (status != FIRN_OK)
        return status;
    uint32_t before = firn_float_begin();
    derive(self);
    status = train(self, &step, report);
    firn_float_end(before);
    if (status == FIRN_OK)
        self->worked = true;
    return status;
}

/* --- eval --- */

/* Returns the number of steps done. Each uses one micro-batch of samples, or what was left of the data. */
static uint64_t eval_steps(const firn_instance *instance) {
    uint64_t rest;
    const uint64_t whole = firn_divide((uint64_t)*instance->bound.cursor, samples_of(instance), &rest);
    return whole + (rest != 0);
}

/* Returns true if the plan's number of steps is done; if no sample is left where the last batch may be short; or else,
 * of a plan without a number, if the remaining samples are too few for a batch. In the last case the data is read once,
 * even if the sampler would start another epoch. */
static bool eval_is_over(const firn_instance *instance, const step *step) {
    const uint64_t steps = firn_fb_plan_steps(instance->plan);
    if (steps != 0 && step->global_step >= steps)
        return true;
    if (firn_samples_may_be_short(instance))
        return step->cursor >= step->samples.count;
    return steps == 0 && step->cursor > step->samples.count - samples_of(instance);
}

/* Returns how many samples of the next batch count, and says so to the ops of a plan whose last batch may be short. */
static uint32_t count_samples(const firn_instance *instance, const step *step) {
    const uint32_t samples = samples_of(instance);
    if (!firn_samples_may_be_short(instance))
        return samples;
    const uint64_t left = step->samples.count - step->cursor;
    int32_t *counted = firn_instance_data(instance, firn_fb_sampler_counted(firn_fb_plan_sampler(instance->plan)));
    for (uint32_t i = 0; i < samples; i++)
        counted[i] = i < left;
    return left < samples ? (uint32_t)left : samples;
}

static int evaluate(firn_instance *instance, step *step) {
    int status = firn_samples_fill(instance, &step->samples, step->cursor);
    if (status != FIRN_OK)
        return status;
    step->cursor += count_samples(instance, step);
    instance->condition = FIRN_CONDITION_POISONED;
    instance->moment = (firn_moment){step->global_step, 0};
    firn_execute_phase(instance, FIRN_FB_PHASE_KIND_EVALUATE);
    *instance->bound.cursor = (int64_t)step->cursor;
    instance->condition = FIRN_CONDITION_READY;
    /* A plan that does not check its loss may have none. */
    return firn_fb_plan_check_loss(instance->plan) && !finite(*instance->bound.loss) ? FIRN_ERROR_LOSS_NOT_FINITE
                                                                                     : FIRN_OK;
}

int firn_eval_step(firn *instance, const firn_source *source) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    int status = firn_instance_condition(self);
    if (status != FIRN_OK)
        return status;
    step step;
    begin_step(self, eval_steps(self), &step);
    status = firn_samples_begin(self, source, &step.samples);
    if (status != FIRN_OK)
        return status;
    if (eval_is_over(self, &step))
        return FIRN_ERROR_DATA_END;
    uint32_t before = firn_float_begin();
    derive(self);
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
    const uint64_t whole = firn_divide((uint64_t)*self->bound.cursor, samples_of(self), &rest);
    if (whole == 0 && rest == 0)
        return FIRN_ERROR_NO_RESULT;
    *samples = rest != 0 ? (uint32_t)rest : samples_of(self);
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
        return eval_steps(self) == 0 ? FIRN_ERROR_NO_RESULT : FIRN_ERROR_NO_ROWS;
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
    *steps = self->header.mode == FIRN_MODE_EVAL ? eval_steps(self) : (uint64_t)*self->bound.global_step;
    return FIRN_OK;
}
