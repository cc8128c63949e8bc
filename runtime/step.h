/* What every step does besides its micro-batches or its batch: checks, schedules, the order of the last phases, and
 * when the state is valid. step.c runs steps in one process; runtime/ranks shares the micro-batches of a step, or the
 * batches of an evaluation, among processes. The functions are inline, because firmware has the ones in step.c alone.
 * Private to the core and to runtime/ranks. */
#ifndef FIRN_STEP_H
#define FIRN_STEP_H

#include "plan/divide.h"
#include "plan/schedule_list.h"
#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* The context of a step: the source it reads, and the progress of the run. */
typedef struct firn_step {
    uint64_t global_step; /* before the step */
    uint64_t cursor;      /* draws taken, this step's included; stored only if the step succeeds */
    firn_samples samples;
} firn_step;

static inline void firn_step_begin(const firn_instance *instance, uint64_t global_step, firn_step *step) {
    step->global_step = global_step;
    step->cursor = (uint64_t)*instance->bound.cursor;
}

static inline bool firn_step_is_finite(float x) {
    return (firn_bits(x) & FIRN_INFINITY_BITS) != FIRN_INFINITY_BITS;
}

/* Samples of a micro-batch, at least 1. */
static inline uint32_t firn_step_samples(const firn_instance *instance) {
    if (instance->bound.samples == 0)
        firn_instance_trap(instance, FIRN_ERROR_SAMPLER);
    return instance->bound.samples;
}

/* Runs derive if the parameters have changed since it ran. A plan derives nothing from what its own steps change, so
 * these do not count for it; those of its owner do. The state is only read. */
static inline void firn_step_derive(firn_instance *instance) {
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
static inline void firn_step_set_schedules(const firn_instance *instance, uint64_t optimizer_step) {
    const firn_schedule_list list = firn_plan_checked_schedules(instance->plan);
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(instance->plan); i++) {
        const firn_fb_schedule schedule = firn_fb_plan_schedules_at(instance->plan, i);
        float *value = firn_instance_data(instance, firn_fb_schedule_tensor(schedule));
        *value = firn_schedule_value(&list, firn_fb_schedule_root(schedule), optimizer_step);
    }
}

/* Whether the losses of micro-batches are divided by the divisor of the whole batch, and so added. A build without such
 * plans opens none. */
static inline bool firn_step_adds_losses(const firn_instance *instance) {
    return firn_batch != NULL && instance->bound.phases[FIRN_FB_PHASE_KIND_COUNT].count != 0;
}

/* Runs a phase behind the micro-batches: firn_execute_phase, or a share of it. */
typedef void (*firn_step_phase)(firn_instance *instance, firn_step *step, uint8_t kind);

/* The last phases, which write the state. It counts as poisoned until the last write, because a function of the port
 * may never return. */
static inline void firn_step_finish(firn_instance *instance, firn_step *step, bool skipped, firn_step_phase run_phase) {
    instance->condition = FIRN_CONDITION_POISONED;
    if (!skipped)
        run_phase(instance, step, FIRN_FB_PHASE_KIND_UPDATE);
    run_phase(instance, step, FIRN_FB_PHASE_KIND_BOOKKEEP);
    *instance->bound.cursor = (int64_t)step->cursor;
    instance->changes++;
    instance->condition = FIRN_CONDITION_READY;
}

static inline void firn_step_report_progress(const firn_bindings *bound, firn_step_report *report) {
    report->global_step = (uint64_t)*bound->global_step;
    report->optimizer_step = (uint64_t)*bound->optimizer_step;
}

/* What comes before the micro-batches of a step. */
static inline void firn_step_prepare(const firn_instance *instance, firn_step_report *report) {
    const firn_bindings *bound = &instance->bound;
    firn_step_report_progress(bound, report);
    firn_step_set_schedules(instance, report->optimizer_step);
    report->learning_rate = bound->learning_rate != NULL ? *bound->learning_rate : 0;
    report->loss_scale = bound->loss_scale != NULL ? *bound->loss_scale : 1;
    report->gradient_norm = firn_from_bits(FIRN_NAN_BITS);
}

/* What comes behind them. */
static inline int firn_step_conclude(firn_instance *instance, firn_step *step, firn_step_report *report,
                                     firn_step_phase run_phase) {
    const firn_bindings *bound = &instance->bound;
    instance->moment.micro_step = 0;
    run_phase(instance, step, FIRN_FB_PHASE_KIND_FINALISE);
    if (bound->gradient_norm != NULL)
        report->gradient_norm = *bound->gradient_norm;
    report->skipped = bound->finite != NULL && *bound->finite == 0;
    firn_step_finish(instance, step, report->skipped, run_phase);
    firn_step_report_progress(bound, report);
    return bound->at_floor != NULL && *bound->at_floor != 0 ? FIRN_ERROR_LOSS_SCALE_FLOOR : FIRN_OK;
}

/* Checks that an instance may run a step of training, and begins it. *self becomes the instance. */
static inline int firn_step_begin_training(firn *instance, const firn_source *source, firn_step_report *report,
                                           firn_instance **self, firn_step *step) {
    firn_instance *trained = firn_instance_of(instance);
    if (report == NULL)
        return FIRN_ERROR_ARGUMENT;
    *report = (firn_step_report){0};
    if (trained == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (trained->header.mode != FIRN_MODE_TRAIN)
        return FIRN_ERROR_WRONG_MODE;
    *self = trained;
    int status = firn_instance_condition(trained);
    if (status != FIRN_OK)
        return status;
    firn_step_begin(trained, (uint64_t)*trained->bound.global_step, step);
    const uint64_t steps = firn_fb_plan_steps(trained->plan);
    if (steps != 0 && step->global_step >= steps)
        return FIRN_ERROR_RUN_COMPLETE;
    return firn_samples_begin(trained, source, &step->samples);
}

/* --- eval --- */

/* Returns the number of steps done. Each uses one micro-batch of samples, or what was left of the data. */
static inline uint64_t firn_step_evaluated(const firn_instance *instance) {
    uint64_t rest;
    const uint64_t whole = firn_divide((uint64_t)*instance->bound.cursor, firn_step_samples(instance), &rest);
    return whole + (rest != 0);
}

/* Returns true if the plan's number of steps is done; if no sample is left where the last batch may be short; or else,
 * of a plan without a number, if the remaining samples are too few for a batch. In the last case the data is read once,
 * even if the sampler would start another epoch. */
static inline bool firn_step_evaluation_is_over(const firn_instance *instance, const firn_step *step) {
    const uint64_t steps = firn_fb_plan_steps(instance->plan);
    if (steps != 0 && step->global_step >= steps)
        return true;
    if (firn_samples_may_be_short(instance))
        return step->cursor >= step->samples.count;
    return steps == 0 && step->cursor > step->samples.count - firn_step_samples(instance);
}

/* Returns how many samples of the next batch count, and says so to the ops of a plan whose last batch may be short. */
static inline uint32_t firn_step_count_samples(const firn_instance *instance, const firn_step *step) {
    const uint32_t samples = firn_step_samples(instance);
    if (!firn_samples_may_be_short(instance))
        return samples;
    const uint64_t left = step->samples.count - step->cursor;
    int32_t *counted = firn_instance_data(instance, firn_fb_sampler_counted(firn_fb_plan_sampler(instance->plan)));
    for (uint32_t i = 0; i < samples; i++)
        counted[i] = i < left;
    return left < samples ? (uint32_t)left : samples;
}

/* Checks that an instance may run a step of an evaluation, and begins it. *self becomes the instance. */
static inline int firn_step_begin_evaluation(firn *instance, const firn_source *source, firn_instance **self,
                                             firn_step *step) {
    firn_instance *evaluated = firn_instance_of(instance);
    if (evaluated == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (evaluated->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    *self = evaluated;
    int status = firn_instance_condition(evaluated);
    if (status != FIRN_OK)
        return status;
    firn_step_begin(evaluated, firn_step_evaluated(evaluated), step);
    status = firn_samples_begin(evaluated, source, &step->samples);
    if (status != FIRN_OK)
        return status;
    return firn_step_evaluation_is_over(evaluated, step) ? FIRN_ERROR_DATA_END : FIRN_OK;
}

#endif
