/* Tests that a job which no recipe makes, but a C program may, is refused with the message of its fault:
 * firnc_job_check knows each limit by itself. tests/unit/test_front_end.c has those that a plan is needed for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/firnc.h"
#include "compiler/job/job.h"
#include "tests/unit/support_test.h"

static char message[4096];

static void keep_message(void *context, const char *line) {
    (void)context;
    snprintf(message, sizeof message, "%s", line);
}

static void no_name(firnc_job *job) {
    job->name = NULL;
}

static void endless_with_steps(firnc_job *job) {
    job->endless = true;
}

static void tiny_factor(firnc_job *job) {
    job->precision.scaling = FIRNC_SCALING_STATIC;
    job->precision.initial_loss_scale = 1e-39F;
}

static void dynamic_scale(firnc_job *job) {
    job->precision.scaling = FIRNC_SCALING_DYNAMIC;
    job->precision.min_loss_scale = 1;
    job->precision.initial_loss_scale = job->precision.max_loss_scale = 2;
    job->precision.steps_per_increase = 1;
}

static void scale_that_never_grows(firnc_job *job) {
    dynamic_scale(job);
    job->precision.steps_per_increase = 0;
}

static void tolerance_above_one(firnc_job *job) {
    dynamic_scale(job);
    job->precision.overflow_tolerance = 1.5F;
}

static void level_of_a_pattern(firnc_job *job) {
    static const firnc_pol_pattern pattern = {.pattern = "*", .pol = {.level = 3}};
    job->precision.patterns = &pattern;
    job->precision.pattern_count = 1;
}

static void layer_without_pattern(firnc_job *job) {
    static const firnc_layer_pattern none;
    job->precision.float32_layers = &none;
    job->precision.float32_layer_count = 1;
}

static void integer_gradients(firnc_job *job) {
    job->precision.gradient_type = FIRN_INT32;
}

static void no_samples(firnc_job *job) {
    job->data.batch_size = job->data.micro_batch_size = 0;
}

static void all_held_out(firnc_job *job) {
    job->data.held_out_per_mille = 1000;
}

static void short_ring(firnc_job *job) {
    job->data.ring = 3;
}

static void ring_with_an_end(firnc_job *job) {
    job->data.ring = 4;
    job->data.wrap = false;
}

static void ring_that_holds_out(firnc_job *job) {
    job->data.ring = 4;
    job->data.held_out_per_mille = 100;
}

static void nesterov_without_momentum(firnc_job *job) {
    job->optimizer.nesterov = true;
}

static void no_epsilon(firnc_job *job) {
    job->optimizer = firnc_optimizer_defaults(FIRNC_ADAMW);
    job->optimizer.epsilon = 0;
}

static void two_groups_of_one_name(firnc_job *job) {
    static const char *const pattern = "*";
    for (uint32_t i = 0; i < 2; i++)
        job->groups[i] = (firnc_parameter_group){
            .name = "twin", .patterns = &pattern, .pattern_count = 1, .settings = job->optimizer};
    job->group_count = 2;
}

static void many_groups(firnc_job *job) {
    job->group_count = FIRNC_GROUPS_MAX + 1;
}

static void many_schedules(firnc_job *job) {
    job->schedule.root_count = FIRNC_SCHEDULES_MAX + 1;
}

static void many_outputs(firnc_job *job) {
    job->output_count = FIRNC_OUTPUTS_MAX + 1;
}

static void output_without_name(firnc_job *job) {
    job->outputs[0].name = "";
    job->output_count = 1;
}

static void output_twice(firnc_job *job) {
    job->outputs[0].name = job->outputs[1].name = "scores";
    job->output_count = 2;
}

static void evaluation(firnc_job *job) {
    const char *name = job->name;
    firnc_job_defaults(job, FIRNC_EVAL);
    job->name = name;
    job->data.batch_size = job->data.micro_batch_size = 4;
}

static void micro_batches_of_an_evaluation(firnc_job *job) {
    evaluation(job);
    job->data.micro_batch_size = 2;
}

static void evaluation_without_end(firnc_job *job) {
    evaluation(job);
    job->data.wrap = true;
}

static void unknown_metric(firnc_job *job) {
    evaluation(job);
    job->metric = (firnc_metric)(FIRNC_METRIC_NONE + 1);
}

static void classes_in_disorder(firnc_job *job) {
    evaluation(job);
    job->metric = FIRNC_METRIC_DICE;
    job->metric_ignored[0] = job->metric_ignored[1] = 1;
    job->metric_ignored_count = 2;
}

TEST(a_job_of_a_program_is_refused) {
    static const struct {
        void (*spoil)(firnc_job *job);
        const char *words;
    } cases[] = {
        {no_name, "firnc: a job has no name"},
        {endless_with_steps, "firnc: it: endless: is for a training with steps 0"},
        {tiny_factor, "is no static factor, which is at least"},
        {scale_that_never_grows, "precision.steps_per_increase: 0 is not from 1 to"},
        {tolerance_above_one, "precision.overflow_tolerance: 1.5 is not a share"},
        {level_of_a_pattern, "precision.patterns[0]: needs a pattern and levels"},
        {layer_without_pattern, "precision.float32_layers[0]: needs a pattern"},
        {integer_gradients, "precision.gradient_type: is neither float32"},
        {no_samples, "data.batch_size: 0 is not from 1 to"},
        {all_held_out, "data.held_out_per_mille: 1000 is not below 1000"},
        {short_ring, "a ring of 3 holds less than a micro-batch, which takes 4"},
        {ring_with_an_end, "samples that are pushed have no end to stop at"},
        {ring_that_holds_out, "nothing can be held out of samples that are pushed"},
        {nesterov_without_momentum, "optimizer.nesterov: needs a momentum"},
        {no_epsilon, "optimizer: epsilon, clip_threshold or ns_steps of AdamW is 0"},
        {two_groups_of_one_name, "groups[1].name: another group is called \"twin\" too"},
        {many_groups, "group_count: 32 is above 31"},
        {many_schedules, "schedule: has more than 1024 nodes or 64 roots"},
        {many_outputs, "output_count: 65 is above 64"},
        {output_without_name, "an output needs a name of 1 to 160"},
        {output_twice, "the output scores is there twice"},
        {micro_batches_of_an_evaluation, "data.micro_batch_size: an eval plan has no micro-batches"},
        {evaluation_without_end, "data.wrap: an evaluation without steps never ends"},
        {unknown_metric, "is no metric"},
        {classes_in_disorder, "metric_ignored[1]: is not above the class before it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static firnc_job job;
        firnc_job_defaults(&job, FIRNC_TRAIN);
        job.name = "it";
        job.steps = 20;
        job.data.batch_size = job.data.micro_batch_size = 4;
        firnc_job_learning_rate(&job, 0.1);
        firnc_messages_to(keep_message, NULL);
        assert_true(firnc_job_check(&job));
        message[0] = '\0';
        cases[i].spoil(&job);
        const bool good = firnc_job_check(&job);
        firnc_messages_to(NULL, NULL);
        if (good || strstr(message, cases[i].words) == NULL)
            fail_msg("expected %s in %s", cases[i].words, message);
    }
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

enum { BATCH = 4, CLASSES = 3 };

static const firnc_init none;

static firnc_value numbers(firnc_graph *graph) {
    return firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, CLASSES},
                       (firnc_input_options){.element = FIRN_FLOAT32});
}

static firnc_value scaled(firnc_graph *graph, firnc_value x) {
    firnc_value scale = firnc_parameter(graph, "scale", 1, (uint32_t[]){CLASSES}, none, true);
    return firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){x, scale}, 2, NULL, NULL);
}

static firnc_value classes(firnc_graph *graph, firnc_value logits) {
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){BATCH},
                                     (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = CLASSES});
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return labels;
}

static void three_classes(firnc_graph *graph, firnc_job *job) {
    (void)job;
    firnc_graph_evaluate(graph);
    classes(graph, scaled(graph, numbers(graph)));
}

static void auc_of_three(firnc_graph *graph, firnc_job *job) {
    three_classes(graph, job);
    job->metric = FIRNC_METRIC_AUC;
}

static void difference_without_targets(firnc_graph *graph, firnc_job *job) {
    three_classes(graph, job);
    job->metric = FIRNC_METRIC_MEAN_SQUARED_ERROR;
}

static void class_beyond(firnc_graph *graph, firnc_job *job) {
    three_classes(graph, job);
    job->metric = FIRNC_METRIC_DICE;
    job->metric_ignored[0] = CLASSES;
    job->metric_ignored_count = 1;
}

static void output_of_no_rows(firnc_graph *graph, firnc_job *job) {
    firnc_graph_evaluate(graph);
    firnc_value y = scaled(graph, numbers(graph));
    firnc_name_value(graph, "turned", firnc_transpose(graph, y, 2, (uint8_t[]){1, 0}));
    classes(graph, y);
    job->outputs[0].name = "turned";
    job->output_count = 1;
}

static void parameter_in_vain(firnc_graph *graph, firnc_job *job) {
    (void)job;
    firnc_parameter(graph, "idle", 1, (uint32_t[]){CLASSES}, none, true);
    classes(graph, scaled(graph, numbers(graph)));
}

static void no_input(firnc_graph *graph, firnc_job *job) {
    (void)job;
    firnc_value a = firnc_parameter(graph, "a", 2, (uint32_t[]){BATCH, CLASSES}, none, true);
    firnc_loss(graph, firnc_mean_squared_error(graph, firnc_relu(graph, a), a));
}

/* A batch norm of three channels, whose statistics are in buffers of `width` elements. */
static firnc_value normed(firnc_graph *graph, firnc_value x, firnc_value mean, firnc_value variance) {
    const uint32_t width = CLASSES;
    const char *layer = firnc_format("norm%u", (unsigned)x);
    firnc_value gain = firnc_parameter(graph, firnc_format("%s.weight", layer), 1, &width, none, false);
    firnc_value bias = firnc_parameter(graph, firnc_format("%s.bias", layer), 1, &width, none, false);
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_batch_norm(graph, x, gain, bias, mean, variance, 1e-5F, 0.1F);
    firnc_layer_end(graph);
    return y;
}

static void narrow_buffers(firnc_graph *graph, firnc_job *job) {
    (void)job;
    const uint32_t width = CLASSES - 1;
    firnc_value mean = firnc_buffer(graph, "mean", 1, &width, 0),
                variance = firnc_buffer(graph, "variance", 1, &width, 1);
    classes(graph, normed(graph, numbers(graph), mean, variance));
}

static void shared_buffers(firnc_graph *graph, firnc_job *job) {
    (void)job;
    const uint32_t width = CLASSES;
    firnc_value mean = firnc_buffer(graph, "mean", 1, &width, 0),
                variance = firnc_buffer(graph, "variance", 1, &width, 1);
    firnc_value y = normed(graph, numbers(graph), mean, variance);
    classes(graph, normed(graph, y, mean, variance));
}

TEST(a_graph_of_a_program_is_refused) {
    static const struct {
        void (*build)(firnc_graph *graph, firnc_job *job);
        bool eval;
        const char *words;
    } cases[] = {
        {auc_of_three, true, "the metric auc needs two classes"},
        {difference_without_targets, true, "the metric mean_squared_error needs a loss of numbers"},
        {class_beyond, true, "the metric leaves out a class that is not below 3"},
        {output_of_no_rows, true, "turned is float32[3,4], and an output has a row for each of the 4 samples"},
        {parameter_in_vain, false, "parameter idle does not reach the loss"},
        {no_input, false, "the graph has no input; call firnc_input"},
        {narrow_buffers, false, "the buffers mean and variance of its batch norm are not of 3 elements each"},
        {shared_buffers, false, "its batch norm has the buffer mean or variance of another one"},
    };
    firnc_key key;
    assert_true(firnc_key_generate(&key));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static firnc_job job;
        firnc_job_defaults(&job, cases[i].eval ? FIRNC_EVAL : FIRNC_TRAIN);
        job.name = "it";
        job.steps = cases[i].eval ? 0 : 20;
        job.data.batch_size = job.data.micro_batch_size = BATCH;
        if (!cases[i].eval)
            firnc_job_learning_rate(&job, 0.1);
        firnc_graph *graph = firnc_graph_create("small");
        firnc_frozen plan;
        cases[i].build(graph, &job);
        message[0] = '\0';
        firnc_messages_to(keep_message, NULL);
        const bool good = firnc_freeze_plan(graph, &job, &key, NULL, &plan);
        firnc_messages_to(NULL, NULL);
        if (good || strstr(message, cases[i].words) == NULL)
            fail_msg("expected %s in %s", cases[i].words, message);
    }
}
