/* See support_signed_plans.h. */
#include "tests/unit/support_signed_plans.h"

#include <string.h>

#include "runtime/instance.h"
#include "tests/unit/support_test.h"

const signed_plan_settings support_settings = {
    .sampler = FIRN_FB_SAMPLER_KIND_PERMUTATION,
    .part = FIRN_FB_DATA_PART_ALL,
    .epoch_end = FIRN_FB_EPOCH_END_WRAP,
    .stride = 2,
    .micro_batches = 2,
    .steps = 30,
    .seed = 7,
    .learning_rate = 0.5f,
    .initial_scale = 1024.0f,
    .minimum_scale = 0.00006103515625f,
    .check_loss = true,
    .metric = FIRN_FB_METRIC_KIND_PERPLEXITY,
    .security_counter = 3,
};

/* --- building a plan --------------------------------------------------------------------------------------------- */

static void begin(builder *b, const signed_plan_settings *settings, uint8_t mode) {
    builder_begin(b, mode);
    b->header.image_id = settings->image_id;
    b->header.security_counter = settings->security_counter;
    b->report = settings->report;
    b->plan.check_loss = settings->check_loss;
    b->plan.micro_batches = mode == FIRN_MODE_TRAIN ? settings->micro_batches : 1;
    b->plan.seed = settings->seed;
    b->plan.steps = settings->steps;
    b->sampler.kind = settings->sampler;
    b->sampler.part = settings->part;
    b->sampler.epoch_end = settings->epoch_end;
    b->sampler.window = BIGRAM_WINDOW;
    b->sampler.stride = settings->stride;
    b->sampler.samples = BIGRAM_SAMPLES;
    b->sampler.held_out_per_mille = settings->held_out_per_mille;
    b->sampler.seed = settings->seed;
}

static uint32_t parameter(builder *b, const signed_plan_settings *settings, const char *name, const uint32_t *dims) {
    uint32_t index = builder_state(b, BUILDER_PARAMETERS, name, FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, dims);
    b->initialisers[index] = (firn_native_initialiser){.rule = settings->uniform ? FIRN_FB_INITIALISER_RULE_UNIFORM
                                                                                 : FIRN_FB_INITIALISER_RULE_NORMAL,
                                                       .rng_id = 1,
                                                       .a = settings->uniform ? -0.25f : 0.0f,
                                                       .b = 0.5f};
    return index;
}

static void finish(builder *b, const signed_plan_settings *settings, signed_plan *plan) {
    if (settings->spoil_code != 0)
        b->ops[0].code = settings->spoil_code;
    builder_finish(b, settings->change, plan);
}

/* --- the three plans --- */

static void window_inputs(builder *b) {
    const uint32_t dims[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, 0};
    for (uint32_t i = 0; i < 2; i++)
        b->inputs[i] = (firn_native_input){.name = i == 0 ? "input_ids" : "labels",
                                           .tensor = builder_arena(b, FIRN_INT32, FIRN_FB_ROLE_INPUT, dims),
                                           .element = FIRN_UINT8,
                                           .advance = i,
                                           .limit = BIGRAM_VOCABULARY,
                                           .scale = 1.0f,
                                           .label = i == 1,
                                           .ring = FIRN_ABSENT};
    b->plan.inputs_count = 2;
}

/* Adds the embedding and the cross-entropy; returns the loss. `saved` receives row_max and row_sum. */
static int forward(builder *b, int table, int *logits, int saved[2]) {
    const uint32_t three[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, BIGRAM_VOCABULARY, 0};
    const uint32_t rows[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, 0};
    int ids = (int)b->inputs[0].tensor, labels = (int)b->inputs[1].tensor;
    *logits = (int)builder_arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, three);
    int loss = (int)builder_scalar(b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    saved[0] = (int)builder_arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    saved[1] = (int)builder_arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    builder_op(b, FIRN_OP_embedding, (int[]){ids, table, -1}, (int[]){*logits, -1});
    builder_op(b, FIRN_OP_cross_entropy, (int[]){*logits, labels, -1}, (int[]){loss, saved[0], saved[1], -1});
    builder_output(b, "loss", loss);
    builder_output(b, "logits", *logits);
    b->plan.loss = (uint32_t)loss;
    return loss;
}

void support_bigram(signed_plan *plan, const signed_plan_settings *settings) {
    static builder b;
    begin(&b, settings, FIRN_MODE_TRAIN);
    const uint32_t square[] = {BIGRAM_VOCABULARY, BIGRAM_VOCABULARY, 0}, one[] = {1, 0};
    /* sorted by name */
    int cursor = (int)builder_counter(&b, BUILDER_SESSION, "counters.cursor");
    int global_step = (int)builder_counter(&b, BUILDER_OPTIMIZER, "counters.global_step");
    int optimizer_step = (int)builder_counter(&b, BUILDER_OPTIMIZER, "counters.optimizer_step");
    int scale =
        (int)builder_state(&b, BUILDER_OPTIMIZER, "scaler.loss_scale", FIRN_FLOAT32, FIRN_FB_ROLE_OPTIMIZER_STATE, one);
    b.initialisers[scale].a = settings->initial_scale;
    int skipped = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.num_skipped_steps");
    int overflows = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.overflows_since_rescale");
    int since = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.steps_since_rescale");
    int table = (int)parameter(&b, settings, "table", square);

    window_inputs(&b);
    int ids = (int)b.inputs[0].tensor, labels = (int)b.inputs[1].tensor;
    int logits, saved[2];
    forward(&b, table, &logits, saved);
    int seed = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int dlogits = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT,
                                     (uint32_t[]){BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, BIGRAM_VOCABULARY, 0});
    int gradient = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, square);
    int total = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, square);
    int partial = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int scratch = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_SCRATCH, (uint32_t[]){1, 1, 0});
    int factors = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, (uint32_t[]){FIRN_FACTORS, 0});
    int norm = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int finite = (int)builder_scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT);
    int at_floor = (int)builder_scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT);
    int rate = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT);

    builder_real(&b, builder_op(&b, FIRN_OP_loss_seed, (int[]){scale, -1}, (int[]){seed, -1}),
                 1.0f / (float)settings->micro_batches);
    if (settings->gradient_factor != 0.0f)
        builder_real(&b, builder_op(&b, FIRN_OP_advance_power, (int[]){seed, -1}, (int[]){seed, -1}),
                     settings->gradient_factor);
    builder_op(&b, FIRN_OP_cross_entropy_backward, (int[]){seed, logits, labels, saved[0], saved[1], -1},
               (int[]){dlogits, -1});
    builder_integer(&b, builder_op(&b, FIRN_OP_embedding_backward, (int[]){ids, dlogits, -1}, (int[]){gradient, -1}),
                    BIGRAM_VOCABULARY);
    builder_op(&b, FIRN_OP_accumulate, (int[]){total, gradient, -1}, (int[]){total, -1});
    builder_phase(&b, FIRN_FB_PHASE_KIND_MICRO_BATCH);
    builder_integer(
        &b, builder_op(&b, FIRN_OP_sum_of_squares, (int[]){total, partial, scale, -1}, (int[]){partial, scratch, -1}),
        0);
    builder_op(&b, FIRN_OP_gradient_norm, (int[]){partial, -1}, (int[]){norm, finite, -1});
    firn_native_op *make_factors = builder_op(&b, FIRN_OP_gradient_factors, (int[]){scale, -1}, (int[]){factors, -1});
    builder_integer(&b, make_factors, FIRN_FB_CLIPPING_NONE);
    builder_real(&b, make_factors, 0.0f);
    builder_phase(&b, FIRN_FB_PHASE_KIND_FINALISE);
    firn_native_op *sgd = builder_op(&b, FIRN_OP_sgd, (int[]){table, total, rate, factors, -1}, (int[]){table, -1});
    builder_integer(&b, sgd, 0);
    builder_real(&b, sgd, 0.0f);
    builder_integer(&b, builder_op(&b, FIRN_OP_count, (int[]){optimizer_step, -1}, (int[]){optimizer_step, -1}), 1);
    builder_phase(&b, FIRN_FB_PHASE_KIND_UPDATE);
    firn_native_op *update =
        builder_op(&b, FIRN_OP_loss_scale_update, (int[]){finite, scale, since, overflows, skipped, -1},
                   (int[]){scale, since, overflows, skipped, at_floor, -1});
    builder_integer(&b, update, 2000);
    builder_real(&b, update, settings->minimum_scale);
    builder_real(&b, update, 0x1p126f);
    builder_real(&b, update, 0.0f);
    builder_integer(&b, builder_op(&b, FIRN_OP_count, (int[]){global_step, -1}, (int[]){global_step, -1}), 1);
    builder_phase(&b, FIRN_FB_PHASE_KIND_BOOKKEEP);

    /* first half the learning rate, then the full rate */
    b.nodes[0] = (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_SEQUENTIAL, .child_count = 2, .first_child = 1};
    b.nodes[1] = (firn_fb_schedule_node){
        .kind = FIRN_FB_SCHEDULE_KIND_CONSTANT, .total = 4, .initial = (double)settings->learning_rate / 2};
    b.nodes[2] = (firn_fb_schedule_node){
        .kind = FIRN_FB_SCHEDULE_KIND_CONSTANT, .start = 4, .initial = (double)settings->learning_rate};
    b.schedule = (firn_native_schedule){.tensor = (uint32_t)rate};
    b.sampler.cursor = (uint32_t)cursor;
    b.plan.schedule_nodes = b.nodes;
    b.plan.schedule_nodes_count = 3;
    b.plan.schedules = &b.schedule;
    b.plan.schedules_count = 1;
    b.plan.learning_rate = (uint32_t)rate;
    b.plan.loss_scale = (uint32_t)scale;
    b.plan.global_step = (uint32_t)global_step;
    b.plan.optimizer_step = (uint32_t)optimizer_step;
    b.plan.finite = (uint32_t)finite;
    b.plan.at_floor = (uint32_t)at_floor;
    b.plan.gradient_norm = (uint32_t)norm;
    finish(&b, settings, plan);
}

void support_bigram_eval(signed_plan *plan, const signed_plan_settings *settings) {
    static builder b;
    begin(&b, settings, FIRN_MODE_EVAL);
    int cursor = (int)builder_counter(&b, BUILDER_SESSION, "counters.cursor");
    int count = (int)builder_counter(&b, BUILDER_SESSION, "metric.count");
    int sum =
        (int)builder_state(&b, BUILDER_SESSION, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER, (uint32_t[]){2, 0});
    int table = (int)parameter(&b, settings, "table", (uint32_t[]){BIGRAM_VOCABULARY, BIGRAM_VOCABULARY, 0});
    window_inputs(&b);
    int logits, saved[2];
    int loss = forward(&b, table, &logits, saved);
    builder_op(&b, FIRN_OP_metric_mean, (int[]){loss, sum, count, -1}, (int[]){sum, count, -1});
    builder_phase(&b, FIRN_FB_PHASE_KIND_EVALUATE);
    b.metric = (firn_native_metric){.kind = settings->metric, .sum = (uint32_t)sum, .count = (uint32_t)count};
    b.plan.metrics = &b.metric;
    b.plan.metrics_count = 1;
    b.sampler.cursor = (uint32_t)cursor;
    finish(&b, settings, plan);
}

void support_classifier(signed_plan *plan, const signed_plan_settings *settings) {
    static builder b;
    begin(&b, settings, FIRN_MODE_EVAL);
    int cursor = (int)builder_counter(&b, BUILDER_SESSION, "counters.cursor");
    int correct = (int)builder_counter(&b, BUILDER_SESSION, "metric.correct");
    int count = (int)builder_counter(&b, BUILDER_SESSION, "metric.count");
    int weight = (int)parameter(&b, settings, "weight", (uint32_t[]){4, 3, 0});
    b.inputs[0] = (firn_native_input){
        .name = "features",
        .tensor = builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){BIGRAM_SAMPLES, 3, 0}),
        .element = FIRN_UINT8,
        .scale = 0.5f,
        .shift = -1.0f,
        .ring = FIRN_ABSENT};
    b.inputs[1] = (firn_native_input){
        .name = "labels",
        .tensor = builder_arena(&b, FIRN_INT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){BIGRAM_SAMPLES, 0}),
        .stream = 1,
        .element = FIRN_UINT8,
        .limit = 4,
        .scale = 1.0f,
        .label = true,
        .ring = FIRN_ABSENT};
    b.plan.inputs_count = 2;
    const uint32_t rows[] = {BIGRAM_SAMPLES, 0};
    int logits = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, (uint32_t[]){BIGRAM_SAMPLES, 4, 0});
    int loss = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int row_max = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    int row_sum = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    int features = (int)b.inputs[0].tensor, labels = (int)b.inputs[1].tensor;
    firn_native_op *linear = builder_op(&b, FIRN_OP_linear, (int[]){features, weight, -1}, (int[]){logits, -1});
    builder_integer(&b, linear, 0);
    builder_reduction(&b, linear, (firn_fb_reduction){.kind = FIRN_FB_REDUCTION_KIND_F32});
    builder_op(&b, FIRN_OP_cross_entropy, (int[]){logits, labels, -1}, (int[]){loss, row_max, row_sum, -1});
    builder_op(&b, FIRN_OP_metric_accuracy, (int[]){logits, labels, correct, count, -1}, (int[]){correct, count, -1});
    builder_phase(&b, FIRN_FB_PHASE_KIND_EVALUATE);
    builder_output(&b, "loss", loss);
    builder_output(&b, "logits", logits);
    b.plan.loss = (uint32_t)loss;
    b.metric =
        (firn_native_metric){.kind = FIRN_FB_METRIC_KIND_ACCURACY, .sum = (uint32_t)correct, .count = (uint32_t)count};
    b.plan.metrics = &b.metric;
    b.plan.metrics_count = 1;
    b.sampler.unit = FIRN_FB_SAMPLE_UNIT_RECORD;
    b.sampler.window = 0;
    b.sampler.stride = 0;
    b.sampler.cursor = (uint32_t)cursor;
    finish(&b, settings, plan);
}

/* --- running --- */

void support_blocks(opened *opened, const firn_sizes *sizes, firn_config *config) {
    const firn_block of_kind[] = {[FIRN_REGION_PARAMETERS] = {opened->parameters, sizeof opened->parameters},
                                  [FIRN_REGION_OPTIMIZER] = {opened->optimizer, sizeof opened->optimizer},
                                  [FIRN_REGION_SESSION] = {opened->session, sizeof opened->session},
                                  [FIRN_REGION_ARENA] = {opened->arena, sizeof opened->arena}};
    config->blocks = opened->blocks;
    config->block_count = sizes->block_count;
    for (uint32_t i = 0; i < sizes->block_count; i++)
        opened->blocks[i] =
            sizes->blocks[i].kind <= FIRN_REGION_ARENA ? of_kind[sizes->blocks[i].kind] : (firn_block){0};
}

firn_config support_config(opened *opened, const signed_plan *plan) {
    firn_config config = {.plan = plan->file,
                          .plan_bytes = plan->bytes,
                          .public_key = plan->key,
                          .blocks = opened->blocks,
                          .kernels = "plain"};
    firn_sizes sizes;
    if (firn_plan_sizes(plan->file, plan->bytes, &sizes) == FIRN_OK)
        support_blocks(opened, &sizes, &config);
    return config;
}

int support_open(opened *opened, const signed_plan *plan, const firn_port *port) {
    firn_config config = support_config(opened, plan);
    config.port = port;
    firn_sizes sizes;
    if (firn_plan_sizes(plan->file, plan->bytes, &sizes) == FIRN_OK &&
        sizes.prepared_bytes <= sizeof opened->prepared) {
        config.prepared = opened->prepared;
        config.prepared_bytes = sizes.prepared_bytes;
    }
    memset(&opened->firn, 0, sizeof opened->firn);
    return firn_open(&opened->firn, &config);
}

static int read_bytes(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    bytes_source *source = context;
    uint64_t declared = 0;
    assert_true(stream < source->source.stream_count);
    for (uint32_t i = 0; i < source->streams[stream].segment_count; i++)
        declared += source->streams[stream].segments[i].elements;
    assert_true(first <= declared && count <= declared - first); /* as firn.h guarantees to a source */
    source->reads++;
    if (source->reads == source->fail_after)
        return FIRN_ERROR_SOURCE;
    memcpy(elements, (stream == 0 ? source->bytes : source->labels) + first, count);
    return 0;
}

void support_text(bytes_source *source, const uint8_t *bytes, const uint64_t *lengths) {
    *source = (bytes_source){.bytes = bytes};
    uint32_t count = 0;
    for (; lengths[count] != 0; count++)
        source->segments[count].elements = lengths[count];
    source->streams[0] = (firn_stream){
        .element = FIRN_UINT8, .record_elements = 1, .segments = source->segments, .segment_count = count};
    source->source =
        (firn_source){.context = source, .streams = source->streams, .stream_count = 1, .read = read_bytes};
}

void support_records(bytes_source *source, const uint8_t *features, const uint8_t *labels, uint32_t width,
                     uint64_t records) {
    *source = (bytes_source){.bytes = features, .labels = labels};
    source->segments[0].elements = records * width;
    source->segments[1].elements = records;
    for (uint32_t i = 0; i < 2; i++)
        source->streams[i] = (firn_stream){.element = FIRN_UINT8,
                                           .record_elements = i == 0 ? width : 1,
                                           .segments = &source->segments[i],
                                           .segment_count = 1};
    source->source =
        (firn_source){.context = source, .streams = source->streams, .stream_count = 2, .read = read_bytes};
}

static int find_input(const firn *firn, const char *name, firn_tensor_info *info) {
    firn_fb_plan plan = firn_instance_view(firn)->plan;
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        if (strcmp(firn_fb_input_name(input), name) == 0)
            return firn_tensor_at(firn, firn_fb_input_tensor(input), info);
    }
    return FIRN_ERROR_ARGUMENT;
}

firn_tensor_info support_tensor(const firn *firn, const char *name) {
    firn_tensor_info info;
    for (uint32_t i = 0; firn_tensor_at(firn, i, &info) == FIRN_OK; i++)
        if (strcmp(info.name, name) == 0)
            return info;
    if (firn_output(firn, name, &info) != FIRN_OK && find_input(firn, name, &info) != FIRN_OK)
        fail_msg("no tensor %s", name);
    return info;
}
