/* Tests that a job of a program is accepted up to each limit and refused behind it, with the field, the number and the
 * range in one message (compiler/job/job.c). What recipes may say is tested in test_recipe.c. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "compiler/firnc.h"
#include "compiler/job/job.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_test.h"

static firnc_job job;
static char message[512];
static unsigned messages;

static void keep_message(void *context, const char *line) {
    (void)context;
    messages++;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    firnc_messages_to(keep_message, NULL);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

typedef enum base {
    TRAIN,
    ENDLESS,
    EVAL,
    OUTPUTS_ONLY,
    F_BETA,
    MEAN_IOU,
    WINDOWS,
    PUSHED,
    PUSHED_WINDOWS,
    MIXED,
    DYNAMIC,
    STATIC,
    CLIPPED,
    LORA,
    NARROW,
    GROUPS,
    ADAM,
    RMSPROP,
    ADAFACTOR,
    RPROP,
    MUON
} base;

static const firnc_optimizer optimizers[] = {[ADAM] = FIRNC_ADAM,
                                             [RMSPROP] = FIRNC_RMSPROP,
                                             [ADAFACTOR] = FIRNC_ADAFACTOR,
                                             [RPROP] = FIRNC_RPROP,
                                             [MUON] = FIRNC_MUON};
static const firnc_job_pattern layers = {.pattern = "*"};
static const char *const patterns[] = {"*"};

static void make_data(base kind) {
    job.data.batch_size = job.data.micro_batch_size = 1;
    if (kind == WINDOWS || kind == PUSHED_WINDOWS) {
        job.data.window = 9;
        job.data.stride = 4;
    }
    if (kind == PUSHED || kind == PUSHED_WINDOWS) {
        job.data.batch_size = job.data.micro_batch_size = 3;
        job.data.ring = 1000;
    }
}

static void make_precision(base kind) {
    firnc_precision *p = &job.precision;
    p->mixed = kind == MIXED || kind == NARROW;
    if (p->mixed)
        p->half = p->gradient_type = FIRN_BFLOAT16;
    if (kind == CLIPPED) {
        p->clipping = FIRN_FB_CLIPPING_NORM;
        p->clip_threshold = 1;
    }
    if (kind == STATIC) {
        p->scaling = FIRNC_SCALING_STATIC;
        p->initial_loss_scale = 2;
    }
    if (kind == DYNAMIC) {
        p->scaling = FIRNC_SCALING_DYNAMIC;
        p->min_loss_scale = 1;
        p->initial_loss_scale = 4;
        p->max_loss_scale = 16;
        p->steps_per_increase = 5;
        p->overflow_tolerance = 0.5F;
    }
}

static void make_groups(void) {
    static const char *const names[] = {"first", "second"};
    for (uint32_t i = 0; i < 2; i++)
        job.groups[i] = (firnc_parameter_group){
            .name = names[i], .patterns = patterns, .pattern_count = 1, .settings = job.optimizer};
    job.group_count = 2;
}

/* Makes a job that is good. */
static void make(base kind) {
    const bool eval = kind == EVAL || kind == OUTPUTS_ONLY || kind == F_BETA || kind == MEAN_IOU;
    firnc_job_defaults(&job, eval ? FIRNC_EVAL : FIRNC_TRAIN);
    job.name = "job.yaml";
    job.steps = eval || kind == ENDLESS ? 0 : 20;
    job.endless = kind == ENDLESS;
    firnc_job_learning_rate(&job, 0.5);
    make_data(kind);
    make_precision(kind);
    if (kind >= ADAM)
        job.optimizer = firnc_optimizer_defaults(optimizers[kind]);
    if (kind == GROUPS)
        make_groups();
    job.metric = kind == F_BETA ? FIRNC_METRIC_F_BETA : kind == MEAN_IOU ? FIRNC_METRIC_MEAN_IOU : FIRNC_METRIC_LOSS;
    job.metric_beta = kind == F_BETA;
    if (kind == OUTPUTS_ONLY) {
        job.metric = FIRNC_METRIC_NONE;
        job.outputs[0].name = "logits";
        job.outputs[1].name = "loss";
        job.output_count = 2;
    }
    if (kind == LORA) {
        job.fine_tuning.layers = &layers;
        job.fine_tuning.layer_count = job.fine_tuning.rank = 1;
        job.fine_tuning.alpha = 1;
    }
}

/* Whether the job is accepted in silence, or refused with one message. */
static bool is_accepted(void) {
    messages = 0;
    message[0] = '\0';
    const bool accepted = firnc_job_check(&job);
    assert_int_equal(messages, !accepted);
    return accepted;
}

static void accepted(const char *what) {
    if (!is_accepted())
        fail_msg("%s: %s", what, message);
}

static void refused(const char *said) {
    if (is_accepted())
        fail_msg("accepted, although this was expected: %s", said);
    assert_string_equal(message, firnc_format("firnc: job.yaml: %s", said));
}

TEST(every_base_is_good) {
    for (base kind = TRAIN; kind <= MUON; kind++) {
        make(kind);
        accepted(firnc_format("base %d", (int)kind));
    }
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

typedef enum kind { SINGLE, WHOLE, LONG, SIGNED, FLAG } kind;

static void set(kind of, size_t at, double value) {
    unsigned char *field = (unsigned char *)&job + at;
    const float single = (float)value;
    const uint32_t whole = of == WHOLE ? (uint32_t)value : 0;
    const uint64_t large = of == LONG ? (uint64_t)value : 0;
    const int32_t number = of == SIGNED ? (int32_t)value : 0;
    const bool flag = value != 0;
    switch (of) {
    case SINGLE:
        memcpy(field, &single, sizeof single);
        break;
    case WHOLE:
        memcpy(field, &whole, sizeof whole);
        break;
    case LONG:
        memcpy(field, &large, sizeof large);
        break;
    case SIGNED:
        memcpy(field, &number, sizeof number);
        break;
    case FLAG:
        memcpy(field, &flag, sizeof flag);
        break;
    }
}

/* A field, the last good number, the first bad one, and what is said of it. */
typedef struct limit {
    base base;
    kind of;
    size_t at;
    double good, bad;
    const char *said;
} limit;

static void check_limits(const limit *limits, size_t count) {
    for (size_t i = 0; i < count; i++) {
        make(limits[i].base);
        set(limits[i].of, limits[i].at, limits[i].good);
        accepted(firnc_format("%.17g, before: %s", limits[i].good, limits[i].said));
        make(limits[i].base);
        set(limits[i].of, limits[i].at, limits[i].bad);
        refused(limits[i].said);
    }
}

#define PRECISION(field) offsetof(firnc_job, precision.field)
#define OPTIMIZER(field) offsetof(firnc_job, optimizer.field)
#define DATA(field)      offsetof(firnc_job, data.field)

TEST(numbers_of_the_run_have_limits) {
    static const limit limits[] = {
        {TRAIN, LONG, offsetof(firnc_job, steps), 1, 0, "steps: 0 is not from 1 to 1000000000000000"},
        {TRAIN, LONG, offsetof(firnc_job, steps), 1e15, 1e15 + 1,
         "steps: 1000000000000001 is not from 1 to 1000000000000000"},
        {EVAL, LONG, offsetof(firnc_job, steps), 1e15, 1e15 + 1,
         "steps: 1000000000000001 is not from 0 to 1000000000000000"},
        {TRAIN, FLAG, offsetof(firnc_job, endless), 0, 1, "endless: is for a training with steps 0"},
        {EVAL, FLAG, offsetof(firnc_job, endless), 0, 1, "endless: is for a training with steps 0"},
        {ENDLESS, LONG, offsetof(firnc_job, steps), 0, 1, "endless: is for a training with steps 0"},
        {ENDLESS, FLAG, offsetof(firnc_job, endless), 1, 0, "steps: 0 is not from 1 to 1000000000000000"},
        {TRAIN, WHOLE, DATA(batch_size), 1 << 24, (1 << 24) + 1, "data.batch_size: 16777217 is not from 1 to 16777216"},
        {TRAIN, WHOLE, DATA(batch_size), 7, 0, "data.batch_size: 0 is not from 1 to 16777216"},
        {TRAIN, WHOLE, DATA(micro_batch_size), 1, 0, "data.micro_batch_size: 0 does not divide batch_size 1"},
        {TRAIN, WHOLE, DATA(micro_batch_size), 1, 2, "data.micro_batch_size: 2 does not divide batch_size 1"},
        {EVAL, WHOLE, DATA(batch_size), 1, 2,
         "data.micro_batch_size: an eval plan has no micro-batches; write batch_size 2"},
        {EVAL, FLAG, DATA(wrap), 0, 1, "data.wrap: an evaluation without steps never ends; set steps"},
        {TRAIN, WHOLE, DATA(stride), 0, 1, "data.stride: 1, and window is 0; windows have both, records neither"},
        {WINDOWS, WHOLE, DATA(stride), 1, 0, "data.stride: 0, and window is 9; windows have both, records neither"},
        {WINDOWS, WHOLE, DATA(window), 1, 0, "data.stride: 4, and window is 0; windows have both, records neither"},
        {TRAIN, WHOLE, DATA(held_out_per_mille), 999, 1000, "data.held_out_per_mille: 1000 is not below 1000"},
        {TRAIN, FLAG, DATA(held_out), 0, 1, "data.held_out: nothing is held out; set held_out_per_mille"},
        {PUSHED, WHOLE, DATA(ring), 3, 2,
         "a ring of 2 holds less than a micro-batch, which takes 3; make it as large, or larger"},
        {PUSHED_WINDOWS, WHOLE, DATA(ring), 17, 16,
         "a ring of 16 holds less than a micro-batch, which takes 17; make it as large, or larger"},
        {PUSHED, WHOLE, DATA(held_out_per_mille), 0, 1,
         "nothing can be held out of samples that are pushed; set held_out_per_mille to 0"},
        {PUSHED, FLAG, DATA(wrap), 1, 0, "samples that are pushed have no end to stop at; set wrap to true"},
    };
    check_limits(limits, sizeof limits / sizeof limits[0]);
}

TEST(numbers_of_precision_have_limits) {
    static const char dynamic[] = "precision: a dynamic loss scale begins between min_loss_scale, at least 2^-14, and "
                                  "max_loss_scale; firnc_mixed_precision_complete fills them in";
    static const char threshold[] = "precision.clip_threshold: is not a number above 0, or 0 without clipping";
    static const char gradient[] = "precision.gradient_type: is neither float32 nor the half type";
    static const limit limits[] = {
        {TRAIN, SIGNED, PRECISION(level), 0, -1, "precision.level: -1 is none of 0, 1, 2"},
        {TRAIN, SIGNED, PRECISION(level), 2, 3, "precision.level: 3 is none of 0, 1, 2"},
        {MIXED, SIGNED, PRECISION(half), FIRN_BFLOAT16, FIRN_FLOAT32,
         "precision.half: is no half type; choose float16, bfloat16 or cbfloat16"},
        {MIXED, SIGNED, PRECISION(gradient_type), FIRN_FLOAT32, FIRN_FLOAT16, gradient},
        {TRAIN, SIGNED, PRECISION(gradient_type), FIRN_FLOAT32, FIRN_FLOAT16, gradient},
        {STATIC, SINGLE, PRECISION(initial_loss_scale), 2.93874e-39, 2.9387e-39,
         "precision.initial_loss_scale: 2.93869944e-39 is no static factor, which is at least 2.93874e-39"},
        {STATIC, SINGLE, PRECISION(initial_loss_scale), 3e38, (double)INFINITY,
         "precision.initial_loss_scale: inf is no static factor, which is at least 2.93874e-39"},
        {STATIC, SINGLE, PRECISION(initial_loss_scale), 1, (double)NAN,
         "precision.initial_loss_scale: nan is no static factor, which is at least 2.93874e-39"},
        {DYNAMIC, SINGLE, PRECISION(min_loss_scale), 0x1p-14, 0x1.fffffep-15, dynamic},
        {DYNAMIC, SINGLE, PRECISION(min_loss_scale), 4, 5, dynamic},
        {DYNAMIC, SINGLE, PRECISION(initial_loss_scale), 1, 0.5, dynamic},
        {DYNAMIC, SINGLE, PRECISION(initial_loss_scale), 16, 17, dynamic},
        {DYNAMIC, SINGLE, PRECISION(initial_loss_scale), 16, (double)NAN, dynamic},
        {DYNAMIC, SINGLE, PRECISION(max_loss_scale), 4, 3, dynamic},
        {DYNAMIC, SINGLE, PRECISION(max_loss_scale), 3e38, (double)INFINITY, dynamic},
        {DYNAMIC, LONG, PRECISION(steps_per_increase), 1, 0,
         "precision.steps_per_increase: 0 is not from 1 to 1000000000000000"},
        {DYNAMIC, LONG, PRECISION(steps_per_increase), 1e15, 1e15 + 1,
         "precision.steps_per_increase: 1000000000000001 is not from 1 to 1000000000000000"},
        {DYNAMIC, SINGLE, PRECISION(overflow_tolerance), 0, -0x1p-149,
         "precision.overflow_tolerance: -1.40129846e-45 is not a share from 0 to 1"},
        {DYNAMIC, SINGLE, PRECISION(overflow_tolerance), 1, 1.0000002,
         "precision.overflow_tolerance: 1.00000024 is not a share from 0 to 1"},
        {DYNAMIC, SINGLE, PRECISION(overflow_tolerance), 1, (double)NAN,
         "precision.overflow_tolerance: nan is not a share from 0 to 1"},
        {CLIPPED, SINGLE, PRECISION(clip_threshold), 0x1p-149, 0, threshold},
        {CLIPPED, SINGLE, PRECISION(clip_threshold), 3e38, (double)INFINITY, threshold},
        {TRAIN, SINGLE, PRECISION(clip_threshold), 0, 1, threshold},
    };
    check_limits(limits, sizeof limits / sizeof limits[0]);
}

TEST(numbers_of_optimizers_have_limits) {
    static const char usual[] = "optimizer: epsilon, clip_threshold or ns_steps of %s is 0 or too large; begin with "
                                "firnc_optimizer_defaults";
    static const char rprop[] = "optimizer: Rprop needs eta_minus and largest_step above 0, and eta_plus above 1";
    const limit limits[] = {
        {TRAIN, SINGLE, OPTIMIZER(beta1), 0, -1, "optimizer.beta1: -1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(beta1), 0.99999994, 1, "optimizer.beta1: 1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(beta1), 0.5, (double)NAN, "optimizer.beta1: nan is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(beta2), 0.99999994, 1, "optimizer.beta2: 1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(epsilon), 1, 1.5, "optimizer.epsilon: 1.5 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(weight_decay), 1e30, 2e30,
         "optimizer.weight_decay: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(momentum), 0.99999994, 1, "optimizer.momentum: 1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(dampening), 1, 1.5, "optimizer.dampening: 1.5 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(alpha), 1000, 1001, "optimizer.alpha: 1001 is not from 0 to 1000"},
        {TRAIN, SINGLE, OPTIMIZER(rho), 0.99999994, 1, "optimizer.rho: 1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(lr_decay), 1e30, 2e30,
         "optimizer.lr_decay: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(initial_accumulator_value), 1e30, 2e30,
         "optimizer.initial_accumulator_value: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(lambd), 1e30, 2e30,
         "optimizer.lambd: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(t0), 1e30, 2e30, "optimizer.t0: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(momentum_decay), 1e30, 2e30,
         "optimizer.momentum_decay: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(eta_minus), 0.99999994, 1, "optimizer.eta_minus: 1 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(eta_plus), 1e30, 2e30,
         "optimizer.eta_plus: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {RPROP, SINGLE, OPTIMIZER(smallest_step), 50, 51, "optimizer.smallest_step: 51 is not from 0 to 50"},
        {TRAIN, SINGLE, OPTIMIZER(largest_step), 1e30, 2e30,
         "optimizer.largest_step: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(epsilon2), 1, 1.5, "optimizer.epsilon2: 1.5 is not from 0 to 1"},
        {TRAIN, SINGLE, OPTIMIZER(clip_threshold), 1e30, 2e30,
         "optimizer.clip_threshold: 2.00000003e+30 is not from 0 to 1.00000002e+30"},
        {TRAIN, SINGLE, OPTIMIZER(decay_rate), -1000, -1001, "optimizer.decay_rate: -1001 is not from -1000 to 0"},
        {TRAIN, SINGLE, OPTIMIZER(decay_rate), 0, 1, "optimizer.decay_rate: 1 is not from -1000 to 0"},
        {ADAM, SINGLE, OPTIMIZER(epsilon), 0x1p-149, 0, firnc_format(usual, "Adam")},
        {ADAFACTOR, SINGLE, OPTIMIZER(clip_threshold), 0x1p-149, 0, firnc_format(usual, "Adafactor")},
        {MUON, WHOLE, OPTIMIZER(ns_steps), 1, 0, firnc_format(usual, "Muon")},
        {MUON, WHOLE, OPTIMIZER(ns_steps), 100, 101, firnc_format(usual, "Muon")},
        {RMSPROP, SINGLE, OPTIMIZER(alpha), 0.99999994, 1, "optimizer.alpha: 1 is not below 1"},
        {ADAFACTOR, SINGLE, OPTIMIZER(decay_rate), -1e-6, -9e-7,
         "optimizer.decay_rate: -8.99999975e-07 is not from -1000 to -1e-06"},
        {RPROP, SINGLE, OPTIMIZER(eta_minus), 0x1p-149, 0, rprop},
        {RPROP, SINGLE, OPTIMIZER(eta_plus), 1.0000002, 1, rprop},
        {TRAIN, FLAG, OPTIMIZER(nesterov), 0, 1, "optimizer.nesterov: needs a momentum and no dampening"},
    };
    check_limits(limits, sizeof limits / sizeof limits[0]);
    make(RPROP);
    job.optimizer.smallest_step = job.optimizer.largest_step = 0;
    refused(rprop);
    make(TRAIN);
    job.optimizer.nesterov = true;
    job.optimizer.momentum = 0.5F;
    accepted("a momentum of Nesterov");
    job.optimizer.dampening = 0.5F;
    refused("optimizer.nesterov: needs a momentum and no dampening");
}

TEST(numbers_of_fine_tuning_and_metrics_have_limits) {
    static const char lora[] = "LoRA needs a rank of at least 1, alpha above 0 and a dropout of 0 to below 1";
    static const char beta[] = "metric_beta: is above 0 for f_beta, and 0 for every other metric";
    static const limit limits[] = {
        {LORA, WHOLE, offsetof(firnc_job, fine_tuning.rank), 1, 0, lora},
        {LORA, SINGLE, offsetof(firnc_job, fine_tuning.alpha), 0x1p-149, 0, lora},
        {LORA, SINGLE, offsetof(firnc_job, fine_tuning.alpha), 1e9, 1.1e9, lora},
        {LORA, SINGLE, offsetof(firnc_job, fine_tuning.dropout), 0, -0x1p-149, lora},
        {LORA, SINGLE, offsetof(firnc_job, fine_tuning.dropout), 0.99999994, 1, lora},
        {TRAIN, SIGNED, offsetof(firnc_job, fine_tuning.frozen_type), FIRN_CBFLOAT16, FIRN_INT32,
         "frozen_type: is neither float32 nor a half type"},
        {NARROW, SIGNED, offsetof(firnc_job, fine_tuning.frozen_type), FIRN_BFLOAT16, FIRN_FLOAT16,
         "frozen weights cannot be float16 where the run computes in bfloat16; write that, or float32"},
        {EVAL, SIGNED, offsetof(firnc_job, metric), FIRNC_METRIC_LOSS, -1, "metric: -1 is no metric"},
        {OUTPUTS_ONLY, SIGNED, offsetof(firnc_job, metric), FIRNC_METRIC_NONE, FIRNC_METRIC_NONE + 1,
         "metric: 11 is no metric"},
        {EVAL, SIGNED, offsetof(firnc_job, metric), FIRNC_METRIC_AUC, FIRNC_METRIC_NONE,
         "the plan would have neither a metric nor an output; name one of them"},
        {F_BETA, SINGLE, offsetof(firnc_job, metric_beta), 0x1p-149, 0, beta},
        {F_BETA, SINGLE, offsetof(firnc_job, metric_beta), 1e9, 1.1e9, beta},
        {EVAL, SINGLE, offsetof(firnc_job, metric_beta), 0, 1, beta},
        {EVAL, WHOLE, offsetof(firnc_job, metric_ignored_count), 0, 1,
         "metric_ignored_count: is above 0; only metrics of a confusion matrix have any"},
        {F_BETA, WHOLE, offsetof(firnc_job, metric_ignored_count), 1, 65,
         "metric_ignored_count: is above 64; only metrics of a confusion matrix have any"},
    };
    check_limits(limits, sizeof limits / sizeof limits[0]);
    make(MEAN_IOU);
    for (uint32_t i = 0; i < FIRNC_IGNORED_MAX; i++)
        job.metric_ignored[i] = i;
    job.metric_ignored_count = FIRNC_IGNORED_MAX;
    accepted("the most classes");
    job.metric_ignored[1] = 0;
    refused("metric_ignored[1]: is not above the class before it");
    job.metric_ignored[1] = 1;
    job.metric_ignored[63] = 61;
    refused("metric_ignored[63]: is not above the class before it");
}

/* --- names and lists ---------------------------------------------------------------------------------------------- */

TEST(a_job_has_a_name) {
    make(TRAIN);
    job.name = NULL;
    assert_false(is_accepted());
    assert_string_equal(message, "firnc: a job has no name; messages begin with it");
    make(TRAIN);
    job.target = NULL;
    refused("target: \"\" is not known; see compiler/job/targets.c");
}

TEST(lists_are_there_and_their_entries_too) {
    static const firnc_job_pattern nothing[] = {{.pattern = "*"}, {.pattern = NULL}};
    const struct {
        const char *name;
        const firnc_job_pattern **list;
        uint32_t *count;
    } lists[] = {{"frozen", &job.frozen, &job.frozen_count},
                 {"fine_tuning.layers", &job.fine_tuning.layers, &job.fine_tuning.layer_count},
                 {"fine_tuning.trained", &job.fine_tuning.trained, &job.fine_tuning.trained_count}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        make(LORA);
        *lists[i].list = nothing;
        *lists[i].count = 1;
        accepted(lists[i].name);
        *lists[i].count = 2;
        refused(firnc_format("%s[1].pattern: is NULL", lists[i].name));
        *lists[i].list = NULL;
        *lists[i].count = 1;
        refused(firnc_format("%s: is NULL, and its count is not 0", lists[i].name));
    }
}

TEST(patterns_of_levels_are_checked) {
    static const char absent[] = "precision: patterns or float32_layers is NULL, and its count is not 0";
    static const char wrong[] = "precision.patterns[0]: needs a pattern and levels 0, 1, 2 or FIRNC_UNSET";
    static const int levels[] = {FIRNC_UNSET - 1, FIRNC_UNSET, 0, 2, 3};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        for (int backward = 0; backward < 2; backward++) {
            const firnc_pol_pattern pattern = {
                .pattern = "*", .pol = {.level = backward ? 1 : levels[i], .bwd_level = backward ? levels[i] : 1}};
            make(TRAIN);
            job.precision.patterns = &pattern;
            job.precision.pattern_count = 1;
            if (i == 0 || i == 4)
                refused(wrong);
            else
                accepted("a level");
        }
    const firnc_pol_pattern nameless = {.pol = {.level = 1, .bwd_level = 1}};
    make(TRAIN);
    job.precision.patterns = &nameless;
    job.precision.pattern_count = 1;
    refused(wrong);
    job.precision.patterns = NULL;
    refused(absent);
    make(TRAIN);
    job.precision.float32_layer_count = 1;
    refused(absent);
}

TEST(outputs_have_names_of_their_own) {
    make(OUTPUTS_ONLY);
    job.outputs[1].name = "logits";
    refused("the output logits is there twice; leave one out");
    job.outputs[1].name = "";
    refused("an output needs a name of 1 to 160 printable ASCII characters");
    make(OUTPUTS_ONLY);
    for (uint32_t i = 0; i < FIRNC_OUTPUTS_MAX; i++)
        job.outputs[i].name = firnc_format("output.%u", (unsigned)i);
    job.output_count = FIRNC_OUTPUTS_MAX;
    accepted("the most outputs");
    job.output_count++;
    refused("output_count: 65 is above 64");
}

TEST(groups_have_names_of_their_own) {
    make(GROUPS);
    job.groups[1].name = "first";
    refused("groups[1].name: another group is called \"first\" too");
    make(GROUPS);
    job.groups[1].pattern_count = 0;
    refused("groups[1]: needs a name of 1 to 160 printable ASCII characters, and a pattern");
    make(GROUPS);
    job.groups[1].patterns = NULL;
    refused("groups[1]: needs a name of 1 to 160 printable ASCII characters, and a pattern");
    make(GROUPS);
    job.groups[1].settings.kind = FIRNC_ADAM;
    refused("groups[1].settings: are of another class than the optimizer");
    make(GROUPS);
    job.groups[1].settings.momentum = 1;
    refused("groups[1].settings.momentum: 1 is not from 0 to 1");
    make(GROUPS);
    for (uint32_t i = 0; i < FIRNC_GROUPS_MAX; i++) {
        job.groups[i] = job.groups[0];
        job.groups[i].name = firnc_format("group.%u", (unsigned)i);
    }
    job.group_count = FIRNC_GROUPS_MAX;
    accepted("the most groups");
    job.group_count++;
    refused("group_count: 32 is above 31");
}

TEST(schedules_have_roots) {
    static const char many[] = "schedule: has more than 1024 nodes or 64 roots";
    make(TRAIN);
    job.schedule.count = FIRNC_NODES_MAX + 1;
    refused(many);
    make(TRAIN);
    for (uint32_t i = 0; i < FIRNC_SCHEDULES_MAX; i++)
        job.schedule.roots[i] = job.schedule.roots[0];
    job.schedule.root_count = FIRNC_SCHEDULES_MAX;
    accepted("the most roots");
    job.schedule.root_count++;
    refused(many);
    make(TRAIN);
    job.schedule.roots[0].node = 1;
    refused("schedule.roots[0]: needs a name of 1 to 160 printable ASCII characters, and a node of the schedule");
    make(TRAIN);
    job.schedule.nodes[0].total = 1; /* a constant may have a length */
    accepted("a constant with a length");
    job.schedule.nodes[0].mode = 1;
    refused("schedule.nodes[0]: is malformed; see schedules/schedule.h");
    make(GROUPS);
    job.schedule.rate_of[2] = 1;
    refused("schedule: rate_of[2] or decay_of[2] is no root of its setting");
    make(GROUPS);
    job.schedule.decay_of[2] = 0; /* that of a learning rate */
    refused("schedule: rate_of[2] or decay_of[2] is no root of its setting");
    job.schedule.roots[1] = (firnc_schedule_root){.name = "weight_decay", .weight_decay = true};
    job.schedule.root_count = 2;
    job.schedule.decay_of[2] = 1;
    accepted("a weight decay");
    job.schedule.rate_of[0] = 1;
    refused("schedule: rate_of[0] or decay_of[0] is no root of its setting");
}
