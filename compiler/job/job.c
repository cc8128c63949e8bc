/* Defaults and checks of a job (compiler/job/job.h). The recipe reader checks the keys of a recipe; the checks here are
 * for a job that a program has filled in, and name the fields of the struct. */
#include "compiler/job/job.h"

#include <math.h>
#include <string.h>

#include "compiler/job/targets.h"
#include "plan/generated/reader.h"

/* --- defaults ----------------------------------------------------------------------------------------------------- */

void firnc_job_defaults(firnc_job *job, firnc_mode mode) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    keys.enabled = false;
    memset(job, 0, sizeof *job);
    job->name = "job";
    job->mode = mode;
    job->seed = 1;
    job->check_loss = true;
    job->image_id = mode;
    job->target = "portable";
    job->optimizer = firnc_optimizer_defaults(FIRNC_SGD);
    job->data.wrap = mode == FIRNC_TRAIN;
    (void)firnc_mixed_precision_complete(&keys, &job->precision, &fault); /* the defaults are valid */
    firnc_job_learning_rate(job, 0);
}

void firnc_job_learning_rate(firnc_job *job, double rate) {
    memset(&job->schedule, 0, sizeof job->schedule);
    job->schedule.count = job->schedule.root_count = 1;
    job->schedule.nodes[0] = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = rate + 0.0};
    job->schedule.roots[0] = (firnc_schedule_root){.name = "learning_rate"};
    for (uint32_t i = 0; i <= FIRNC_GROUPS_MAX; i++)
        job->schedule.decay_of[i] = FIRNC_NONE;
}

bool firnc_job_judges(const firnc_job *job) {
    return job->mode == FIRNC_TRAIN || job->metric != FIRNC_METRIC_NONE;
}

/* --- checks: precision and data ----------------------------------------------------------------------------------- */

static bool check_scaling(const firnc_job *job) {
    const firnc_precision *p = &job->precision;
    if (p->scaling > FIRNC_SCALING_DYNAMIC)
        return firnc_job_fail(job, NULL, "precision.scaling: %u is no LossScaling of plan.fbs", (unsigned)p->scaling);
    if (p->scaling == FIRNC_SCALING_STATIC &&
        !(p->initial_loss_scale >= (float)FIRNC_LEAST_STATIC_SCALE && isfinite(p->initial_loss_scale)))
        return firnc_job_fail(job, NULL,
                              "precision.initial_loss_scale: %.9g is no static factor, which is at least 2.93874e-39",
                              (double)p->initial_loss_scale);
    if (p->scaling != FIRNC_SCALING_DYNAMIC)
        return true;
    if (!(p->min_loss_scale >= FIRNC_LEAST_LOSS_SCALE && p->initial_loss_scale >= p->min_loss_scale &&
          p->max_loss_scale >= p->initial_loss_scale && isfinite(p->max_loss_scale)))
        return firnc_job_fail(job, NULL,
                              "precision: a dynamic loss scale begins between min_loss_scale, at least 2^-14, and "
                              "max_loss_scale; firnc_mixed_precision_complete fills them in");
    if (p->steps_per_increase == 0 || p->steps_per_increase > (uint64_t)FIRNC_STEPS_MAX)
        return firnc_job_fail(job, NULL, "precision.steps_per_increase: %llu is not from 1 to %.0f",
                              (unsigned long long)p->steps_per_increase, FIRNC_STEPS_MAX);
    return (p->overflow_tolerance >= 0 && p->overflow_tolerance <= 1) ||
           firnc_job_fail(job, NULL, "precision.overflow_tolerance: %.9g is not a share from 0 to 1",
                          (double)p->overflow_tolerance);
}

static bool check_patterns(const firnc_job *job) {
    const firnc_precision *p = &job->precision;
    if ((p->pattern_count > 0 && p->patterns == NULL) || (p->float32_layer_count > 0 && p->float32_layers == NULL))
        return firnc_job_fail(job, NULL, "precision: patterns or float32_layers is NULL, and its count is not 0");
    for (uint32_t i = 0; i < p->pattern_count; i++) {
        const firnc_pol *pol = &p->patterns[i].pol;
        if (p->patterns[i].pattern == NULL || pol->level < FIRNC_UNSET || pol->level > 2 ||
            pol->bwd_level < FIRNC_UNSET || pol->bwd_level > 2)
            return firnc_job_fail(
                job, NULL, "precision.patterns[%u]: needs a pattern and levels 0, 1, 2 or FIRNC_UNSET", (unsigned)i);
    }
    for (uint32_t i = 0; i < p->float32_layer_count; i++)
        if (p->float32_layers[i].pattern == NULL)
            return firnc_job_fail(job, NULL, "precision.float32_layers[%u]: needs a pattern", (unsigned)i);
    return true;
}

static bool check_clipping(const firnc_job *job) {
    const firnc_precision *p = &job->precision;
    if (p->clipping > FIRN_FB_CLIPPING_VALUE)
        return firnc_job_fail(job, NULL, "precision.clipping: %u is no Clipping of plan.fbs", (unsigned)p->clipping);
    return (p->clipping == FIRN_FB_CLIPPING_NONE ? p->clip_threshold == 0
                                                 : p->clip_threshold > 0 && isfinite(p->clip_threshold)) ||
           firnc_job_fail(job, NULL, "precision.clip_threshold: is not a number above 0, or 0 without clipping");
}

static bool check_precision(const firnc_job *job) {
    const firnc_precision *p = &job->precision;
    if (p->mixed && ((uint32_t)p->half > UINT8_MAX || !firn_type_is_half((uint8_t)p->half)))
        return firnc_job_fail(job, NULL, "precision.half: is no half type; choose float16, bfloat16 or cbfloat16");
    if (p->level < 0 || p->level > 2)
        return firnc_job_fail(job, NULL, "precision.level: %d is none of 0, 1, 2", p->level);
    if (p->gradient_type != FIRN_FLOAT32 && !(p->mixed && p->gradient_type == p->half))
        return firnc_job_fail(job, NULL, "precision.gradient_type: is neither float32 nor the half type");
    return check_clipping(job) && check_scaling(job) && check_patterns(job);
}

static bool check_samples(const firnc_job *job) {
    const firnc_data *data = &job->data;
    if (data->batch_size == 0 || data->batch_size > FIRNC_SAMPLES_MAX)
        return firnc_job_fail(job, NULL, "data.batch_size: %u is not from 1 to %d", (unsigned)data->batch_size,
                              FIRNC_SAMPLES_MAX);
    if (data->micro_batch_size == 0 || data->batch_size % data->micro_batch_size != 0)
        return firnc_job_fail(job, NULL, "data.micro_batch_size: %u does not divide batch_size %u",
                              (unsigned)data->micro_batch_size, (unsigned)data->batch_size);
    if (job->mode == FIRNC_EVAL && data->batch_size != data->micro_batch_size)
        return firnc_job_fail(job, NULL,
                              "data.micro_batch_size: an eval plan has no micro-batches; write batch_size %u",
                              (unsigned)data->batch_size);
    return true;
}

/* The ring must hold a micro-batch, else no step could ever run. */
bool firnc_job_ring(const firnc_job *job) {
    const firnc_data *data = &job->data;
    const uint64_t others = (uint64_t)data->micro_batch_size - 1;
    const uint64_t least = data->window == 0 ? others + 1 : data->window + others * data->stride;
    if (data->ring == 0)
        return true;
    if (data->ring < least)
        return firnc_job_fail(
            job, &job->places.ring,
            "a ring of %u holds less than a micro-batch, which takes %llu; make it as large, or larger",
            (unsigned)data->ring, (unsigned long long)least);
    if (data->held_out_per_mille != 0)
        return firnc_job_fail(job, &job->places.ring,
                              "nothing can be held out of samples that are pushed; set held_out_per_mille to 0");
    return job->mode == FIRNC_EVAL || data->wrap ||
           firnc_job_fail(job, &job->places.ring, "samples that are pushed have no end to stop at; set wrap to true");
}

static bool check_data(const firnc_job *job) {
    const firnc_data *data = &job->data;
    if ((data->window == 0) != (data->stride == 0))
        return firnc_job_fail(job, NULL, "data.stride: %u, and window is %u; windows have both, records neither",
                              (unsigned)data->stride, (unsigned)data->window);
    if (data->held_out_per_mille > 999)
        return firnc_job_fail(job, NULL, "data.held_out_per_mille: %u is not below 1000",
                              (unsigned)data->held_out_per_mille);
    if (data->held_out && data->held_out_per_mille == 0)
        return firnc_job_fail(job, NULL, "data.held_out: nothing is held out; set held_out_per_mille");
    if (job->mode == FIRNC_EVAL && job->steps == 0 && data->wrap)
        return firnc_job_fail(job, NULL, "data.wrap: an evaluation without steps never ends; set steps");
    return check_samples(job) && firnc_job_ring(job);
}

/* --- checks: optimizer and schedules ------------------------------------------------------------------------------ */

/* Limits that hold for one class only. */
static bool check_class(const firnc_job *job, const char *where, const firnc_optimizer_settings *s) {
    if (s->kind == FIRNC_RMSPROP && s->alpha >= 1)
        return firnc_job_fail(job, NULL, "%s.alpha: %.9g is not below 1", where, (double)s->alpha);
    if (s->kind == FIRNC_ADAFACTOR && s->decay_rate > -1e-6F)
        return firnc_job_fail(job, NULL, "%s.decay_rate: %.9g is not from -1000 to -1e-06", where,
                              (double)s->decay_rate);
    if (s->kind == FIRNC_RPROP && !(s->eta_minus > 0 && s->eta_plus > 1 && s->largest_step > 0))
        return firnc_job_fail(job, NULL, "%s: Rprop needs eta_minus and largest_step above 0, and eta_plus above 1",
                              where);
    return !(s->kind == FIRNC_SGD && s->nesterov && (s->momentum == 0 || s->dampening != 0)) ||
           firnc_job_fail(job, NULL, "%s.nesterov: needs a momentum and no dampening", where);
}

/* Settings that a class does not use are zero, which every range includes. */
static bool check_settings(const firnc_job *job, const char *where, const firnc_optimizer_settings *s) {
    const struct {
        const char *name;
        float value, low, high;
        bool below_high;
    } ranges[] = {
        {"beta1", s->beta1, 0, 1, true},
        {"beta2", s->beta2, 0, 1, true},
        {"epsilon", s->epsilon, 0, 1, false},
        {"weight_decay", s->weight_decay, 0, 1e30F, false},
        {"momentum", s->momentum, 0, 1, true},
        {"dampening", s->dampening, 0, 1, false},
        {"alpha", s->alpha, 0, 1e3F, false},
        {"rho", s->rho, 0, 1, true},
        {"lr_decay", s->lr_decay, 0, 1e30F, false},
        {"initial_accumulator_value", s->initial_accumulator_value, 0, 1e30F, false},
        {"lambd", s->lambd, 0, 1e30F, false},
        {"t0", s->t0, 0, 1e30F, false},
        {"momentum_decay", s->momentum_decay, 0, 1e30F, false},
        {"eta_minus", s->eta_minus, 0, 1, true},
        {"eta_plus", s->eta_plus, 0, 1e30F, false},
        {"smallest_step", s->smallest_step, 0, s->largest_step, false},
        {"largest_step", s->largest_step, 0, 1e30F, false},
        {"epsilon2", s->epsilon2, 0, 1, false},
        {"clip_threshold", s->clip_threshold, 0, 1e30F, false},
        {"decay_rate", s->decay_rate, -1e3F, 0, false},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const float value = ranges[i].value;
        if (!(value >= ranges[i].low && value <= ranges[i].high) || (ranges[i].below_high && value == ranges[i].high))
            return firnc_job_fail(job, NULL, "%s.%s: %.9g is not from %.9g to %.9g", where, ranges[i].name,
                                  (double)value, (double)ranges[i].low, (double)ranges[i].high);
    }
    const firnc_optimizer_settings usual = firnc_optimizer_defaults(s->kind);
    if ((usual.epsilon > 0 && s->epsilon == 0) || (usual.clip_threshold > 0 && s->clip_threshold == 0) ||
        (usual.ns_steps > 0 && (s->ns_steps == 0 || s->ns_steps > 100)))
        return firnc_job_fail(job, NULL,
                              "%s: epsilon, clip_threshold or ns_steps of %s is 0 or too large; begin with "
                              "firnc_optimizer_defaults",
                              where, firnc_optimizer_word(s->kind));
    return check_class(job, where, s);
}

static bool check_group(const firnc_job *job, uint32_t index) {
    const firnc_parameter_group *group = &job->groups[index];
    const char *where = firnc_format("groups[%u]", (unsigned)index);
    if (!firnc_is_name(group->name) || group->pattern_count == 0 || group->patterns == NULL)
        return firnc_job_fail(job, NULL, "%s: needs a name of 1 to %d printable ASCII characters, and a pattern", where,
                              FIRNC_NAME_MAX);
    for (uint32_t i = 0; i < group->pattern_count; i++)
        if (group->patterns[i] == NULL)
            return firnc_job_fail(job, NULL, "%s.patterns[%u]: is NULL", where, (unsigned)i);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(job->groups[i].name, group->name) == 0)
            return firnc_job_fail(job, NULL, "%s.name: another group is called \"%s\" too", where, group->name);
    if (group->settings.kind != job->optimizer.kind)
        return firnc_job_fail(job, NULL, "%s.settings: are of another class than the optimizer", where);
    return check_settings(job, firnc_format("%s.settings", where), &group->settings);
}

static bool check_optimizer(const firnc_job *job) {
    if (firnc_optimizer_word(job->optimizer.kind) == NULL)
        return firnc_job_fail(job, NULL, "optimizer.kind: %d is no optimizer", (int)job->optimizer.kind);
    if (!check_settings(job, "optimizer", &job->optimizer))
        return false;
    if (job->group_count > FIRNC_GROUPS_MAX)
        return firnc_job_fail(job, NULL, "group_count: %u is above %d", (unsigned)job->group_count, FIRNC_GROUPS_MAX);
    for (uint32_t i = 0; i < job->group_count; i++)
        if (!check_group(job, i))
            return false;
    return true;
}

/* True if the index is a root of the schedules for that setting. */
static bool is_root(const firnc_schedules *s, uint32_t root, bool weight_decay) {
    return root < s->root_count && s->roots[root].weight_decay == weight_decay;
}

static bool check_schedules(const firnc_job *job) {
    const firnc_schedules *s = &job->schedule;
    if (s->count > FIRNC_NODES_MAX || s->root_count > FIRNC_SCHEDULES_MAX)
        return firnc_job_fail(job, NULL, "schedule: has more than %d nodes or %d roots", FIRNC_NODES_MAX,
                              FIRNC_SCHEDULES_MAX);
    if ((s->number_count > 0 && s->numbers == NULL) || (s->instruction_count > 0 && s->instructions == NULL))
        return firnc_job_fail(job, NULL, "schedule: numbers or instructions is NULL, and its count is not 0");
    firn_schedule_list list = firnc_job_schedules(job);
    const uint32_t fault = firn_schedule_check(&list);
    if (fault != 0)
        return firnc_job_fail(job, NULL, "schedule.nodes[%u]: is malformed; see schedules/schedule.h",
                              (unsigned)fault - 1);
    for (uint32_t i = 0; i < s->root_count; i++)
        if (!firnc_is_name(s->roots[i].name) || s->roots[i].node >= s->count)
            return firnc_job_fail(job, NULL,
                                  "schedule.roots[%u]: needs a name of 1 to %d printable ASCII characters, and a node "
                                  "of the schedule",
                                  (unsigned)i, FIRNC_NAME_MAX);
    for (uint32_t i = 0; i <= job->group_count; i++)
        if (!is_root(s, s->rate_of[i], false) || (s->decay_of[i] != FIRNC_NONE && !is_root(s, s->decay_of[i], true)))
            return firnc_job_fail(job, NULL, "schedule: rate_of[%u] or decay_of[%u] is no root of its setting",
                                  (unsigned)i, (unsigned)i);
    return firnc_job_schedule_values(job, NULL, NULL, NULL);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static bool check_outputs(const firnc_job *job) {
    if (job->output_count > FIRNC_OUTPUTS_MAX)
        return firnc_job_fail(job, NULL, "output_count: %u is above %d", (unsigned)job->output_count,
                              FIRNC_OUTPUTS_MAX);
    for (uint32_t i = 0; i < job->output_count; i++) {
        if (!firnc_is_name(job->outputs[i].name))
            return firnc_job_fail(job, &job->outputs[i].place,
                                  "an output needs a name of 1 to %d printable ASCII characters", FIRNC_NAME_MAX);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(job->outputs[i].name, job->outputs[j].name) == 0)
                return firnc_job_fail(job, &job->outputs[i].place, "the output %s is there twice; leave one out",
                                      job->outputs[i].name);
    }
    return true;
}

static bool check_list(const firnc_job *job, const char *list, const firnc_job_pattern *patterns, uint32_t count) {
    if (count > 0 && patterns == NULL)
        return firnc_job_fail(job, NULL, "%s: is NULL, and its count is not 0", list);
    for (uint32_t i = 0; i < count; i++)
        if (patterns[i].pattern == NULL)
            return firnc_job_fail(job, NULL, "%s[%u].pattern: is NULL", list, (unsigned)i);
    return true;
}

static bool check_fine_tuning(const firnc_job *job) {
    const firnc_fine_tuning *form = &job->fine_tuning;
    if (!check_list(job, "frozen", job->frozen, job->frozen_count) ||
        !check_list(job, "fine_tuning.layers", form->layers, form->layer_count) ||
        !check_list(job, "fine_tuning.trained", form->trained, form->trained_count))
        return false;
    if (form->layer_count > 0 &&
        !(form->rank > 0 && form->alpha > 0 && form->alpha <= 1e9F && form->dropout >= 0 && form->dropout < 1))
        return firnc_job_fail(job, &form->place,
                              "LoRA needs a rank of at least 1, alpha above 0 and a dropout of 0 to below 1");
    if (form->frozen_type != FIRN_FLOAT32 && !firn_type_is_half((uint8_t)form->frozen_type))
        return firnc_job_fail(job, &form->frozen_type_place, "frozen_type: is neither float32 nor a half type");
    return form->frozen_type == FIRN_FLOAT32 || !job->precision.mixed || form->frozen_type == job->precision.half ||
           firnc_job_fail(job, &form->frozen_type_place,
                          "frozen weights cannot be %s where the run computes in %s; write that, or float32",
                          firn_type_name((uint8_t)form->frozen_type), firn_type_name((uint8_t)job->precision.half));
}

static bool check_metric(const firnc_job *job) {
    if ((int)job->metric < FIRNC_METRIC_LOSS || job->metric > FIRNC_METRIC_NONE)
        return firnc_job_fail(job, NULL, "metric: %d is no metric", (int)job->metric);
    if (!firnc_job_judges(job) && job->output_count == 0)
        return firnc_job_fail(job, &job->places.metric,
                              "the plan would have neither a metric nor an output; name one of them");
    if (job->metric == FIRNC_METRIC_F_BETA ? !(job->metric_beta > 0 && job->metric_beta <= 1e9F)
                                           : job->metric_beta != 0)
        return firnc_job_fail(job, NULL, "metric_beta: is above 0 for f_beta, and 0 for every other metric");
    const bool of_matrix = job->metric == FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY ||
                           job->metric == FIRNC_METRIC_MEAN_IOU || job->metric == FIRNC_METRIC_DICE ||
                           job->metric == FIRNC_METRIC_F_BETA;
    if (job->metric_ignored_count > (of_matrix ? FIRNC_IGNORED_MAX : 0))
        return firnc_job_fail(job, NULL,
                              "metric_ignored_count: is above %d; only metrics of a confusion matrix have any",
                              of_matrix ? FIRNC_IGNORED_MAX : 0);
    for (uint32_t i = 1; i < job->metric_ignored_count; i++)
        if (job->metric_ignored[i] <= job->metric_ignored[i - 1])
            return firnc_job_fail(job, NULL, "metric_ignored[%u]: is not above the class before it", (unsigned)i);
    return true;
}

bool firnc_job_check(const firnc_job *job) {
    if (job->name == NULL) {
        firnc_say("firnc: a job has no name; messages begin with it");
        return false;
    }
    if (job->mode != FIRNC_TRAIN && job->mode != FIRNC_EVAL)
        return firnc_job_fail(job, NULL, "mode: " FIRNC_ONE_MODE);
    if (job->endless && (job->mode != FIRNC_TRAIN || job->steps != 0))
        return firnc_job_fail(job, NULL, "endless: is for a training with steps 0");
    if (job->steps > (uint64_t)FIRNC_STEPS_MAX || (job->mode == FIRNC_TRAIN && job->steps == 0 && !job->endless))
        return firnc_job_fail(job, NULL, "steps: %llu is not from %d to %.0f", (unsigned long long)job->steps,
                              job->mode == FIRNC_TRAIN, FIRNC_STEPS_MAX);
    if (job->target == NULL || firnc_target_find(job->target) == NULL)
        return firnc_job_fail(job, NULL, "target: \"%s\" is not known; see compiler/job/targets.c",
                              job->target == NULL ? "" : job->target);
    if (!check_precision(job) || !check_data(job) || !check_outputs(job) || !check_fine_tuning(job))
        return false;
    return job->mode == FIRNC_TRAIN ? check_optimizer(job) && check_schedules(job) : check_metric(job);
}
