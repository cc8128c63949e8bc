/* Tests the C interface of the compiler with a network that recipes cannot describe: built, annotated with nested POL
 * scopes and calls, frozen with this test's key, trained by the runtime, and compared with PyTorch's losses
 * (tests/golden/front_end.py). Also tests the error messages for wrong use. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/commands/report_read.h"
#include "compiler/firnc.h"
#include "plan/generated/reader.h"
#include "plan/ops.h"
#include "runtime/firn.h"
#include "tests/unit/support_test.h"

enum { BATCH = 4, LENGTH = 6, TOKENS = 16, SIZE = 16, HEADS = 2, FEATURES = 4, WIDE = 96, LABELS = 5 };
enum { RECORDS = 40, STEPS = 20 };

static firnc_key key;
static char message[2048];

static void keep_message(void *context, const char *line) {
    (void)context;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    assert_true(firnc_key_generate(&key));
}

/* --- the network -------------------------------------------------------------------------------------------------- */

static const firnc_pol precise = {.level = 0, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol fast_forward = {.level = 2, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol fast_backward = {.level = FIRNC_UNSET, .bwd_level = 2, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol middle = {.level = 1, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};

static firnc_value parameter(firnc_graph *graph, const char *layer, const char *name, uint8_t rank,
                             const uint32_t *dims) {
    const firnc_init zero = {.rule = FIRNC_INIT_CONSTANT}; /* the weights file provides every value */
    return firnc_parameter(graph, firnc_format("%s.%s", layer, name), rank, dims, zero, rank == 2);
}

static firnc_value linear(firnc_graph *graph, const char *layer, firnc_value x, uint32_t in, uint32_t out) {
    firnc_value weight = parameter(graph, layer, "weight", 2, (uint32_t[]){out, in});
    firnc_value bias = parameter(graph, layer, "bias", 1, &out);
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

static firnc_value norm(firnc_graph *graph, const char *layer, firnc_value x, uint32_t size) {
    firnc_value gain = parameter(graph, layer, "weight", 1, &size), bias = parameter(graph, layer, "bias", 1, &size);
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_layer_norm(graph, x, gain, bias, 1e-5F);
    firnc_layer_end(graph);
    return y;
}

/* Attention over the tokens, without a causal mask. The outer scope applies to norm and qkv; the inner scope replaces
 * it for the output layer, whose forward level is then the global one; the call applies to attention only. */
static firnc_value mixer(firnc_graph *graph, firnc_value x) {
    firnc_pol_begin(graph, fast_forward);
    firnc_value qkv = linear(graph, "mixer.qkv", norm(graph, "mixer.norm", x, SIZE), SIZE, 3 * SIZE);
    firnc_pol_next(graph, middle);
    firnc_layer_begin(graph, "mixer");
    firnc_value y = firnc_attention(
        graph, qkv, (firnc_attention_options){.heads = HEADS, .kv_heads = HEADS, .scale = 0.353553390593273762F});
    firnc_layer_end(graph);
    firnc_pol_begin(graph, fast_backward);
    y = linear(graph, "mixer.out", y, SIZE, SIZE);
    firnc_pol_end(graph);
    firnc_pol_end(graph);
    return firnc_add(graph, x, firnc_dropout(graph, y, 0));
}

/* The call keeps the norm in float32; the second layer's forward is kept precise by a call inside a scope. */
static firnc_value perceptron(firnc_graph *graph, firnc_value features) {
    firnc_pol_next(graph, precise);
    firnc_value x = norm(graph, "features.norm", features, FEATURES);
    x = firnc_silu(graph, linear(graph, "features.up", x, FEATURES, WIDE));
    const firnc_pol call = {.level = 0, .bwd_level = 2, .enable_fwd = true, .enable_bwd = true};
    firnc_pol_begin(graph, precise);
    firnc_pol_next(graph, call);
    x = linear(graph, "features.down", x, WIDE, SIZE);
    firnc_pol_end(graph);
    return x;
}

static firnc_graph *build(bool eval) {
    const uint32_t sequence[] = {BATCH, LENGTH, FEATURES};
    const firnc_input_options words = {.stream = 0, .element = FIRN_UINT8, .limit = TOKENS};
    const firnc_input_options numbers = {
        .stream = 1, .element = FIRN_UINT8, .scaled = true, .scale = 1.0F / 64, .shift = -2};
    const firnc_input_options classes = {.stream = 2, .element = FIRN_INT32, .limit = LABELS};
    firnc_graph *graph = firnc_graph_create("two_branches");
    if (eval)
        firnc_graph_evaluate(graph);
    firnc_value tokens = firnc_input(graph, "tokens", FIRN_INT32, 2, sequence, words);
    firnc_value features = firnc_input(graph, "numbers", FIRN_FLOAT32, 3, sequence, numbers);
    firnc_value table = parameter(graph, "tokens", "weight", 2, (uint32_t[]){TOKENS, SIZE});
    firnc_layer_begin(graph, "tokens");
    firnc_value x = firnc_embedding(graph, tokens, table);
    firnc_layer_end(graph);
    x = firnc_add(graph, mixer(graph, x), perceptron(graph, features));
    firnc_value logits = linear(graph, "head.linear", norm(graph, "head.norm", x, SIZE), SIZE, LABELS);
    firnc_value labels = firnc_input(graph, "classes", FIRN_INT32, 2, sequence, classes);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return graph;
}

/* --- the job ------------------------------------------------------------------------------------------------------ */

/* SGD with a linearly rising learning rate, gradient clipping by norm, and a separate weight decay for the table. */
static firnc_job *make_job(bool mixed, bool emulate) {
    static const char *const pattern = "tokens.*";
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    firnc_job_defaults(job, FIRNC_TRAIN);
    job->name = "two_branches";
    job->steps = STEPS;
    job->data.batch_size = job->data.micro_batch_size = BATCH;
    job->weights = "tests/golden/front_end.safetensors";
    keys.enabled = mixed;
    keys.emulate = emulate;
    keys.max_gradient_norm = 1;
    assert_true(firnc_mixed_precision_complete(&keys, &job->precision, &fault));
    job->optimizer = firnc_optimizer_defaults(FIRNC_SGD);
    job->optimizer.momentum = 0.5F;
    job->optimizer.weight_decay = 0.01F;
    job->groups[0] = (firnc_parameter_group){
        .name = "table", .patterns = &pattern, .pattern_count = 1, .settings = job->optimizer, .decay_given = true};
    job->groups[0].settings.weight_decay = 0.1F;
    job->group_count = 1;
    job->schedule.nodes[0] =
        (firn_schedule_node){.kind = FIRN_SCHEDULE_LINEAR, .initial = 0.05, .final = 0.25, .total = STEPS};
    return job;
}

/* --- the data, as front_end.py makes it --------------------------------------------------------------------------- */

typedef struct records {
    uint8_t numbers[RECORDS * LENGTH * FEATURES], tokens[RECORDS * LENGTH];
    int32_t labels[RECORDS * LENGTH];
} records;

static uint32_t draw(uint32_t *state, uint32_t n) {
    *state = (*state * 1103515245U + 12345U) & 0x7fffffffU;
    return (*state >> 16) % n;
}

static void make_records(records *data) {
    uint32_t state = 1;
    for (uint32_t i = 0; i < RECORDS * LENGTH; i++) {
        for (uint32_t j = 0; j < FEATURES; j++)
            data->numbers[i * FEATURES + j] = (uint8_t)draw(&state, 256);
        data->tokens[i] = (uint8_t)draw(&state, TOKENS);
        data->labels[i] = (int32_t)((data->tokens[i] + (data->numbers[i * FEATURES] > 128)) % LABELS);
    }
}

static int read_records(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const records *data = context;
    if (stream == 0)
        memcpy(elements, data->tokens + first, count);
    else if (stream == 1)
        memcpy(elements, data->numbers + first, count);
    else
        memcpy(elements, data->labels + first, count * sizeof *data->labels);
    return 0;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void *block(uint64_t bytes) {
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, FIRN_BLOCK_ALIGNMENT, bytes == 0 ? 1 : (size_t)bytes), 0);
    return memory;
}

static void train(const firnc_bytes *plan, double losses[STEPS]) {
    static records data;
    make_records(&data);
    const firn_segment tokens = {sizeof data.tokens}, numbers = {sizeof data.numbers}, labels = {RECORDS * LENGTH};
    const firn_stream streams[] = {{FIRN_UINT8, LENGTH, &tokens, 1},
                                   {FIRN_UINT8, LENGTH * FEATURES, &numbers, 1},
                                   {FIRN_INT32, LENGTH, &labels, 1}};
    const firn_source source = {.context = &data, .streams = streams, .stream_count = 3, .read = read_records};
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan->data, plan->count, &sizes), FIRN_OK);
    firn_block blocks[FIRN_BLOCKS_MAX];
    for (uint32_t i = 0; i < sizes.block_count; i++)
        blocks[i] = (firn_block){.memory = block(sizes.blocks[i].bytes), .bytes = sizes.blocks[i].bytes};
    firn_config config = {.plan = plan->data,
                          .plan_bytes = plan->count,
                          .public_key = key.public_key,
                          .blocks = blocks,
                          .block_count = sizes.block_count};
    assert_int_equal(firn_workspace_bytes(&config, &config.workspace_bytes), FIRN_OK);
    config.workspace = block(config.workspace_bytes);
    firn *instance = calloc(1, sizeof *instance);
    firn_step_report report;
    assert_non_null(instance);
    assert_int_equal(firn_open(instance, &config), FIRN_OK);
    assert_int_equal(firn_initialise(instance), FIRN_OK);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(firn_train_step(instance, &source, &report), FIRN_OK);
        losses[i] = (double)report.loss;
    }
    free(instance);
    for (uint32_t i = 0; i < sizes.block_count; i++)
        free(blocks[i].memory);
    free(config.workspace);
}

/* Returns the largest relative difference of the losses from a column of the golden file. */
static double apart(const double losses[STEPS], int column) {
    FILE *file = fopen("tests/golden/front_end.losses", "r");
    assert_non_null(file);
    double most = 0;
    for (int i = 0; i < STEPS; i++) {
        double golden[2];
        assert_int_equal(fscanf(file, "%lf %lf", &golden[0], &golden[1]), 2);
        const double d = (losses[i] - golden[column]) / golden[column];
        most = d > most ? d : -d > most ? -d : most;
    }
    fclose(file);
    return most;
}

static firnc_frozen freeze(bool mixed, bool emulate) {
    firnc_frozen plan;
    if (!firnc_freeze_plan(build(false), make_job(mixed, emulate), &key, NULL, &plan))
        fail_msg("refused: %s", message);
    return plan;
}

TEST(float32_agrees_with_pytorch) {
    double losses[STEPS];
    firnc_frozen plan = freeze(false, false);
    train(&plan.file, losses);
    print_message("float32: %.2e from PyTorch's float64\n", apart(losses, 0));
    assert_true(apart(losses, 0) <= 1e-6);
}

/* Trains with every reduction that the scopes request; without them the losses differ noticeably. */
TEST(bfloat16_agrees_with_pytorch) {
    double emulated[STEPS], native[STEPS];
    firnc_frozen plan = freeze(true, true), other = freeze(true, false);
    train(&plan.file, emulated);
    train(&other.file, native);
    print_message("bfloat16: %.2e from PyTorch; with float32 sums %.2e\n", apart(emulated, 1), apart(native, 1));
    assert_true(apart(emulated, 1) <= 1e-6);
    assert_true(apart(native, 1) > 5e-4);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

/* A plan and what its report says. */
typedef struct read_plan {
    firn_fb_plan plan;
    cJSON *report;
} read_plan;

static read_plan read_frozen(const firnc_frozen *frozen) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, frozen->file.data, frozen->file.count), FIRN_OK);
    return (read_plan){.plan = firn_fb_plan_root(frozen->file.data + FIRN_PAYLOAD_OFFSET),
                       .report = firnc_report_of(&frozen->file, &header)};
}

/* Returns the op of that code in that layer, and its entry in the report; asserts that it exists. */
static firn_fb_op find_op(const read_plan *read, uint16_t code, const char *layer, const cJSON **entry) {
    int number = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(read->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(read->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++, number++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            *entry = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(read->report, "ops"), number);
            if (firn_fb_op_code(op) == code && strcmp(cJSON_GetStringValue(cJSON_GetArrayItem(*entry, 0)), layer) == 0)
                return op;
        }
    }
    fail_msg("no op %u in layer %s", (unsigned)code, layer);
    return firn_fb_phase_ops_at(firn_fb_plan_phases_at(read->plan, 0), 0);
}

/* chunk 0: float32 sum. */
static void expect_sum(const read_plan *read, uint16_t code, const char *layer, uint32_t chunk) {
    const cJSON *entry;
    firn_fb_op op = find_op(read, code, layer, &entry);
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        const firn_fb_reduction sum = firn_fb_op_reductions_at(op, i);
        if (sum.chunk != chunk || sum.kind != (chunk == 0 ? FIRN_REDUCTION_F32 : FIRN_REDUCTION_CHUNKED))
            fail_msg("%s: op %u sums in chunks of %u, not %u", layer, (unsigned)code, (unsigned)sum.chunk,
                     (unsigned)chunk);
    }
    assert_true(firn_fb_op_reductions_count(op) > 0);
}

static void expect_origin(const read_plan *read, uint16_t code, const char *layer, const char *origin) {
    const cJSON *entry;
    (void)find_op(read, code, layer, &entry);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(entry, 2)), origin);
}

/* An inner annotation replaces the outer one completely, and a call replaces both. */
TEST(scopes_become_reductions) {
    static const struct {
        const char *layer;
        uint32_t forward, backward;
    } linears[] = {{"mixer.qkv", 128, 0},
                   {"mixer.out", 64, 128},
                   {"features.up", 64, 64},
                   {"features.down", 0, 128},
                   {"head.linear", 64, 64}};
    firnc_frozen frozen = freeze(true, true), native = freeze(true, false);
    const read_plan plan = read_frozen(&frozen), portable = read_frozen(&native);
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
        expect_sum(&plan, FIRN_OP_linear, linears[i].layer, linears[i].forward);
        expect_sum(&plan, FIRN_OP_linear_backward_weight, linears[i].layer, linears[i].backward);
        expect_sum(&plan, FIRN_OP_linear_backward_input, linears[i].layer, linears[i].backward);
        expect_sum(&portable, FIRN_OP_linear, linears[i].layer, 0); /* the portable target, which multiplies no half
                                                                     * type natively */
    }
    expect_sum(&plan, FIRN_OP_attention, "mixer", 0);
    expect_sum(&plan, FIRN_OP_attention_backward, "mixer", 0);
    expect_origin(&plan, FIRN_OP_attention, "mixer", "call");
    expect_origin(&plan, FIRN_OP_linear, "mixer.qkv", "scope");
    expect_origin(&plan, FIRN_OP_linear, "mixer.out", "global");
    cJSON_Delete(plan.report);
    cJSON_Delete(portable.report);
}

/* The inputs appear in the order in which they were created, each as described by the front end. */
TEST(inputs_are_as_described) {
    firnc_frozen frozen = freeze(false, false);
    firn_fb_plan plan = firn_fb_plan_root(frozen.file.data + FIRN_PAYLOAD_OFFSET);
    static const char *const names[] = {"tokens", "numbers", "classes"};
    assert_int_equal(firn_fb_plan_inputs_count(plan), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(firn_fb_input_name(firn_fb_plan_inputs_at(plan, i)), names[i]);
        assert_int_equal(firn_fb_input_stream(firn_fb_plan_inputs_at(plan, i)), i);
    }
    assert_int_equal(firn_fb_input_limit(firn_fb_plan_inputs_at(plan, 0)), TOKENS);
    assert_float_equal(firn_fb_input_scale(firn_fb_plan_inputs_at(plan, 1)), 1.0F / 64, 0);
    assert_float_equal(firn_fb_input_shift(firn_fb_plan_inputs_at(plan, 1)), -2, 0);
    assert_int_equal(firn_fb_input_element(firn_fb_plan_inputs_at(plan, 2)), FIRN_INT32);
}

TEST(the_same_graph_and_job_give_the_same_bytes) {
    firnc_frozen a = freeze(true, true), b = freeze(true, true);
    assert_int_equal(a.file.count, b.file.count);
    assert_memory_equal(a.file.data, b.file.data, (size_t)a.file.count);
    assert_memory_equal(a.plan_hash, b.plan_hash, sizeof a.plan_hash);
}

TEST(an_evaluation_has_its_own_plan) {
    static const uint8_t nothing[FIRN_HASH_BYTES];
    const firnc_freeze_options unsigned_plan = {.without_signature = true};
    firnc_job *job = make_job(true, true);
    job->mode = FIRNC_EVAL;
    job->steps = 0;
    job->data.wrap = false;
    job->metric = FIRNC_METRIC_ACCURACY;
    firnc_frozen plan;
    assert_true(firnc_freeze_plan(build(true), job, &key, &unsigned_plan, &plan));
    assert_memory_equal(plan.plan_hash, nothing, sizeof nothing);
    firn_header header;
    assert_int_equal(firn_header_decode_unsigned(&header, plan.file.data, plan.file.count), FIRN_OK);
    assert_int_equal(header.mode, FIRN_MODE_EVAL);
    assert_int_equal(header.image_id, job->image_id);
}

/* What a program names for the metric need not fit it; the builder cannot know. */
TEST(a_metric_that_does_not_fit_is_refused) {
    for (int i = 0; i < 3; i++) {
        firnc_graph *graph = firnc_graph_create("one_layer");
        firnc_graph_evaluate(graph);
        firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3},
                                    (firnc_input_options){.element = FIRN_FLOAT32});
        firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){4},
                                         (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = 3});
        firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, (firnc_init){.a = 1}, true);
        firnc_value logits = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
        const firnc_cross_entropy_options smooth = {.label_smoothing = 0.1F};
        firnc_loss(graph, firnc_cross_entropy_weighted(graph, logits, labels, FIRNC_NONE, smooth));
        if (i == 1)
            firnc_classification(graph, logits, x); /* as labels */
        if (i == 2)
            firnc_regression(graph, logits, labels); /* as targets */
        static firnc_job job;
        firnc_job_defaults(&job, FIRNC_EVAL);
        job.data.batch_size = job.data.micro_batch_size = 4;
        static const firnc_metric metrics[] = {FIRNC_METRIC_MEAN, FIRNC_METRIC_ACCURACY,
                                               FIRNC_METRIC_MEAN_SQUARED_ERROR};
        job.metric = metrics[i];
        firnc_frozen plan;
        message[0] = '\0';
        firnc_messages_to(keep_message, NULL);
        bool good = firnc_freeze_plan(graph, &job, &key, NULL, &plan);
        firnc_messages_to(NULL, NULL);
        assert_int_equal(good, i == 0); /* the mean takes the labels of the loss */
        if (i > 0 && strstr(message, "the metric does not fit") == NULL)
            fail_msg("%s", message);
    }
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void refused(firnc_graph *graph, const firnc_job *job, const char *words) {
    firnc_frozen plan = {.file = {.count = 7}};
    message[0] = '\0';
    firnc_messages_to(keep_message, NULL);
    bool good = firnc_freeze_plan(graph, job, &key, NULL, &plan);
    firnc_messages_to(NULL, NULL);
    if (good)
        fail_msg("frozen, although %s was expected", words);
    if (strstr(message, words) == NULL || strncmp(message, "firnc: two_branches: ", 21) != 0)
        fail_msg("expected %s in %s", words, message);
    assert_int_equal(plan.file.count, 7); /* set on success only */
}

/* A name of FIRNC_NAME_MAX bytes, which ends in the given byte. */
static const char *longest_name(char last) {
    char *name = firnc_allocate(FIRNC_NAME_MAX + 1);
    memset(name, 'n', FIRNC_NAME_MAX);
    name[FIRNC_NAME_MAX - 1] = last;
    return name;
}

TEST(a_job_is_checked) {
    enum { FAULTS = 29 };
    static const char *const words[FAULTS] = {"steps: 0",
                                              "data.micro_batch_size: 3 does not divide",
                                              "data.stride: 2",
                                              "data.held_out: nothing",
                                              "target: \"z80\"",
                                              "precision.level: 3",
                                              "precision.half",
                                              "precision.clip_threshold",
                                              "precision: a dynamic loss scale",
                                              "optimizer.momentum: 1 is not",
                                              "groups[0]: needs a name",
                                              "groups[0].settings: are of another class",
                                              "schedule.nodes[0]: is malformed",
                                              "schedule: rate_of[1]",
                                              "learning_rate is -1 at step 0",
                                              "mode: a plan has one mode",
                                              "precision.scaling: 3",
                                              "precision.clipping: 3",
                                              "precision.half",
                                              "optimizer.kind: 256",
                                              "optimizer.kind: 15",
                                              "precision: patterns or float32_layers is NULL",
                                              "precision: patterns or float32_layers is NULL",
                                              "groups[0].patterns[0]: is NULL",
                                              "groups[0]: needs a name of 1 to 160",
                                              "groups[0]: needs a name of 1 to 160",
                                              "schedule.roots[0]: needs a name of 1 to 160",
                                              "schedule: numbers or instructions is NULL",
                                              "schedule: numbers or instructions is NULL"};
    static const char *const no_pattern = NULL;
    for (int i = 0; i < FAULTS; i++) {
        firnc_job *job = make_job(true, false);
        job->steps = i == 0 ? 0 : STEPS;
        job->data.micro_batch_size = i == 1 ? 3 : BATCH;
        job->data.stride = i == 2 ? 2 : 0;
        job->data.held_out = i == 3;
        job->target = i == 4 ? "z80" : "portable";
        job->precision.level = i == 5 ? 3 : 1;
        job->precision.half = i == 6 ? FIRN_INT32 : FIRN_BFLOAT16;
        job->precision.clip_threshold = i == 7 ? 0 : 1;
        if (i == 8) {
            job->precision.scaling = FIRNC_SCALING_DYNAMIC;
            job->precision.initial_loss_scale = 0;
        }
        job->optimizer.momentum = i == 9 ? 1 : 0.5F;
        job->groups[0].name = i == 10 ? NULL : "table";
        job->groups[0].settings.kind = i == 11 ? FIRNC_ADAM : FIRNC_SGD;
        job->schedule.nodes[0].total = i == 12 ? 0 : STEPS;
        job->schedule.rate_of[1] = i == 13 ? 1 : 0;
        job->schedule.nodes[0].initial = i == 14 ? -1 : 0.05;
        job->mode = i == 15 ? (firnc_mode)2 : FIRNC_TRAIN;
        if (i == 16)
            job->precision.scaling = FIRNC_SCALING_DYNAMIC + 1;
        if (i == 17)
            job->precision.clipping = FIRN_FB_CLIPPING_VALUE + 1;
        if (i == 18)
            job->precision.half = (firn_type)(256 + FIRN_BFLOAT16);
        if (i == 19 || i == 20)
            job->optimizer = firnc_optimizer_defaults((firnc_optimizer)(i == 19 ? 256 : FIRNC_MUON + 1));
        job->precision.pattern_count = i == 21;
        job->precision.float32_layer_count = i == 22;
        if (i == 23)
            job->groups[0].patterns = &no_pattern;
        if (i == 24 || i == 25)
            job->groups[0].name = i == 24 ? firnc_format("%s+", longest_name('g')) : "tab\tle";
        if (i == 26)
            job->schedule.roots[0].name = "";
        job->schedule.number_count = i == 27;
        job->schedule.instruction_count = i == 28;
        refused(build(false), job, words[i]);
    }
}

/* A rate that float32 makes 0 trains nothing, and a cycle that is shorter than the run has no meaning behind its end.
 */
TEST(schedules_of_a_program_are_checked) {
    firnc_job *job = make_job(false, false);
    firnc_job_learning_rate(job, 1e-50);
    refused(build(false), job, "learning_rate is 1e-50 at step 0, which float32 makes 0");
    job = make_job(false, false);
    firnc_job_learning_rate(job, 0.05);
    job->schedule.nodes[0] = (firn_schedule_node){
        .kind = FIRN_SCHEDULE_ONE_CYCLE, .initial = 0.01, .final = 0.1, .rate = 0.001, .total = 10, .power = 3};
    refused(build(false), job, "one_cycle has an end, total_steps 10, and the run has num_steps 20; ");
}

TEST(limits_of_one_optimizer_are_checked) {
    static const struct {
        firnc_optimizer kind;
        size_t setting;
        float value;
        const char *words;
    } faults[] = {
        {FIRNC_RMSPROP, offsetof(firnc_optimizer_settings, alpha), 1, "optimizer.alpha: 1 is not below 1"},
        {FIRNC_ADAFACTOR, offsetof(firnc_optimizer_settings, decay_rate), 0, "optimizer.decay_rate: 0 is not from"},
        {FIRNC_RPROP, offsetof(firnc_optimizer_settings, eta_minus), 0, "optimizer: Rprop needs eta_minus"},
        {FIRNC_RPROP, offsetof(firnc_optimizer_settings, eta_plus), 1, "optimizer: Rprop needs eta_minus"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        firnc_job *job = make_job(false, false);
        job->optimizer = firnc_optimizer_defaults(faults[i].kind);
        memcpy((unsigned char *)&job->optimizer + faults[i].setting, &faults[i].value, sizeof(float));
        refused(build(false), job, faults[i].words);
    }
}

static firnc_graph *with_input(firn_type type, uint32_t samples, firnc_input_options options) {
    firnc_graph *graph = firnc_graph_create("small");
    const firnc_input_options target = {.stream = 1, .element = FIRN_FLOAT32};
    firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){2, 3}, (firnc_init){0}, true);
    firnc_value x = firnc_input(graph, "x", type, 2, (uint32_t[]){samples, 3}, options);
    firnc_value y = firnc_input(graph, "y", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 2}, target);
    firnc_loss(graph, firnc_mean_squared_error(graph, firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN), y));
    return graph;
}

/* A network of one linear layer; the names of its two parameters and the limit of its labels are given. */
static firnc_graph *small_network(const char *first, const char *second, uint32_t limit, bool eval) {
    firnc_graph *graph = firnc_graph_create("small");
    static const float mean = 0, deviation = 1;
    static const firnc_standard standard = {.by_statistics = true, .count = 1, .mean = &mean, .deviation = &deviation};
    const firnc_input_options features = {.element = FIRN_FLOAT32, .standard = &standard};
    const firnc_input_options classes = {.stream = 1, .element = FIRN_INT32, .limit = limit};
    if (eval)
        firnc_graph_evaluate(graph);
    firnc_value weight = firnc_parameter(graph, first, 2, (uint32_t[]){LABELS, 3}, (firnc_init){0}, true);
    firnc_value bias = firnc_parameter(graph, second, 1, (uint32_t[]){LABELS}, (firnc_init){0}, false);
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 3}, features);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){BATCH}, classes);
    firnc_value logits = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return graph;
}

/* A job for that network. */
static firnc_job *small_job(bool eval) {
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_job_defaults(job, eval ? FIRNC_EVAL : FIRNC_TRAIN);
    job->name = "two_branches"; /* with which the messages begin */
    job->steps = STEPS;
    job->data.batch_size = job->data.micro_batch_size = BATCH;
    return job;
}

TEST(names_of_parameters_are_checked) {
    static const char *const reserved[] = {"optimizer.momentum_buffer.bias", "counters.cursor", "scaler.loss_scale",
                                           "metric.correct"};
    static const char *const free_names[] = {"optimizer", "metrics.sum", "a.counters.cursor", "x", "normalise.x.means"};
    for (int eval = 0; eval < 2; eval++) {
        const firnc_job *job = small_job(eval == 1);
        for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
            refused(small_network(reserved[i], "bias", LABELS, eval == 1), job,
                    firnc_format("parameter %s: names that begin with optimizer.", reserved[i]));
        for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; i++) {
            firnc_frozen plan;
            assert_true(
                firnc_freeze_plan(small_network(free_names[i], "bias", LABELS, eval == 1), job, &key, NULL, &plan));
        }
        refused(small_network("twin", "twin", LABELS, eval == 1), job, "two parameters have the name twin; give each");
        refused(small_network("weight", "normalise.x.mean", LABELS, eval == 1), job,
                "parameter normalise.x.mean: what standardises the data has this name; choose another one");
    }
}

/* The limit of the labels is that of their input, and it must fit the classes; so it is with the rows of a table. */
TEST(limits_of_indices_are_checked) {
    firnc_frozen plan;
    for (int eval = 0; eval < 2; eval++) {
        const firnc_job *job = small_job(eval == 1);
        assert_true(firnc_freeze_plan(small_network("w", "b", LABELS - 1, eval == 1), job, &key, NULL, &plan));
        refused(small_network("w", "b", LABELS + 1, eval == 1), job,
                "input labels: its limit is 6, and cross_entropy of layer small");
    }
    firnc_graph *graph = firnc_graph_create("metric");
    firnc_graph_evaluate(graph);
    firnc_value scale = firnc_parameter(graph, "scale", 1, (uint32_t[]){LABELS}, (firnc_init){0}, true);
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, LABELS},
                                (firnc_input_options){.element = FIRN_FLOAT32});
    firnc_value logits = firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){x, scale}, 2, NULL, NULL);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){BATCH},
                                     (firnc_input_options){.stream = 1, .element = FIRN_INT32, .limit = LABELS + 1});
    firnc_loss(graph, firnc_mean_squared_error(graph, logits, logits));
    firnc_classification(graph, logits, labels);
    firnc_job *job = small_job(true);
    job->metric = FIRNC_METRIC_ACCURACY;
    refused(graph, job, "input labels: its limit is 6, and metric_accuracy");
    graph = firnc_graph_create("table");
    firnc_value table = firnc_parameter(graph, "table", 2, (uint32_t[]){TOKENS, 1}, (firnc_init){0}, true);
    firnc_value tokens = firnc_input(graph, "tokens", FIRN_INT32, 1, (uint32_t[]){BATCH},
                                     (firnc_input_options){.element = FIRN_UINT8, .limit = TOKENS + 1});
    firnc_value rows = firnc_embedding(graph, tokens, table);
    firnc_loss(graph, firnc_mean_squared_error(graph, rows, rows));
    refused(graph, small_job(false), "input tokens: its limit is 17, and embedding");
}

TEST(a_graph_is_checked) {
    const firnc_job *job = make_job(false, false);
    const firnc_input_options plain = {.element = FIRN_FLOAT32};
    refused(with_input(FIRN_FLOAT32, 3, plain), job, "input x: has 3 samples");
    refused(with_input(FIRN_BFLOAT16, BATCH, plain), job, "input x: is neither int32 nor float32");
    refused(with_input(FIRN_INT32, BATCH, plain), job, "input x: an int32 input takes elements of");
    refused(with_input(FIRN_FLOAT32, BATCH, (firnc_input_options){.element = FIRN_FLOAT32, .limit = 5}), job,
            "input x: a float32 input has no limit");
    refused(with_input(FIRN_FLOAT32, BATCH, (firnc_input_options){.element = FIRN_FLOAT32, .stream = 2}), job,
            "input x: is of stream 2");
    refused(with_input(FIRN_FLOAT32, BATCH, (firnc_input_options){.element = FIRN_FLOAT32, .advance = 1}), job,
            "input x: a record has no advance");
    refused(with_input(FIRN_FLOAT32, BATCH, (firnc_input_options){.element = FIRN_FLOAT32, .stream = 1}), job,
            "input x: is of stream 1");
    firnc_graph *shared = build(false);
    firnc_input(shared, "more", FIRN_FLOAT32, 3, (uint32_t[]){BATCH, LENGTH, FEATURES},
                (firnc_input_options){.stream = 1, .element = FIRN_FLOAT32});
    refused(shared, job, "input more: has other elements than the input numbers");
    firnc_graph *open = build(false);
    firnc_layer_begin(open, "left");
    refused(open, job, "leaves a layer");
    refused(firnc_graph_create("empty"), job, "has no loss");
    refused(build(true), job, "is for evaluation");
    firnc_graph *fixed = firnc_graph_create("fixed");
    firnc_value x = firnc_input(fixed, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 3}, plain);
    firnc_loss(fixed, firnc_mean_squared_error(fixed, x, x));
    refused(fixed, job, "has no parameter");
    firnc_graph *of_rows = firnc_graph_create("of_rows");
    x = firnc_input(of_rows, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 3}, plain);
    firnc_value weight = firnc_parameter(of_rows, "weight", 2, (uint32_t[]){2, 3}, (firnc_init){0}, true);
    firnc_loss(of_rows, firnc_linear(of_rows, x, weight, FIRNC_NONE, FIRNC_OUT_IN));
    refused(of_rows, job, "the loss of_rows/linear is float32[4,2], not float32[1]");
    firnc_graph *crowded = build(false);
    for (uint8_t i = 3; i <= 64; i++)
        firnc_input(crowded, firnc_format("input.%u", (unsigned)i), FIRN_FLOAT32, 1, (uint32_t[]){BATCH},
                    (firnc_input_options){.stream = i, .element = FIRN_FLOAT32});
    refused(crowded, job, "input input.64: is one more than the 64 that a plan can have");
    firnc_graph *twice = build(false);
    firnc_frozen plan;
    assert_true(firnc_freeze_plan(twice, job, &key, NULL, &plan));
    refused(twice, job, "has been frozen already");
}

/* A gradient that an op does not give would be lost: that of the target of a loss. */
TEST(a_lost_gradient_is_named) {
    const firnc_input_options first = {.element = FIRN_FLOAT32};
    firnc_graph *graph = firnc_graph_create("two_branches");
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 3}, first);
    firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){3, 3}, (firnc_init){0}, true);
    firnc_value y = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_mean_squared_error(graph, x, y));
    firnc_job *job = make_job(false, false);
    job->weights = NULL;
    refused(graph, job, "mean_squared_error has no gradient of its input target, which depends on a parameter");
}

/* The plan would lack an input that no op reads, or whose results no op needs, and with it perhaps a stream. */
TEST(an_input_is_read) {
    const firnc_job *job = make_job(false, false);
    const firnc_input_options more = {.stream = 3, .element = FIRN_FLOAT32};
    firnc_graph *unread = build(false), *in_vain = build(false);
    firnc_input(unread, "more", FIRN_FLOAT32, 1, (uint32_t[]){BATCH}, more);
    refused(unread, job, "input more: neither the loss nor the metric nor an output depends on it");
    firnc_relu(in_vain, firnc_input(in_vain, "more", FIRN_FLOAT32, 1, (uint32_t[]){BATCH}, more));
    refused(in_vain, job, "input more: neither the loss nor the metric nor an output depends on it");
}

TEST(initial_values_are_checked) {
    static const firnc_init wrong[] = {{.rule = (firnc_init_rule)4},
                                       {.rule = (firnc_init_rule)256},
                                       {.rule = FIRNC_INIT_CONSTANT, .a = NAN},
                                       {.rule = FIRNC_INIT_NORMAL, .b = -1},
                                       {.rule = FIRNC_INIT_NORMAL, .b = NAN},
                                       {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .b = 1},
                                       {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .b = -1, .high = 1},
                                       {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .b = 1, .low = NAN, .high = 1},
                                       {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .b = 1, .high = INFINITY},
                                       {.rule = FIRNC_INIT_UNIFORM, .a = 1, .b = 0},
                                       {.rule = FIRNC_INIT_UNIFORM, .a = -3e38F, .b = 3e38F}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        firnc_graph *graph = build(false);
        firnc_parameter(graph, "started", 1, (uint32_t[]){1}, wrong[i], false);
        refused(graph, make_job(false, false), "parameter started: its firnc_init needs");
    }
}

/* The longest names leave room for all that the passes add to them: "optimizer.exp_avg_sq_row.NAME",
 * "total.gradient.NAME", "LAYER/binary_cross_entropy_backward" and the like. */
TEST(the_longest_names_fit_a_plan) {
    static const firnc_optimizer kinds[] = {FIRNC_ADAFACTOR, FIRNC_MUON, FIRNC_ADAMW};
    const firnc_input_options plain = {.element = FIRN_FLOAT32}, second = {.stream = 1, .element = FIRN_FLOAT32};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *pattern = "*w";
        firnc_job *job = make_job(true, false);
        job->weights = NULL;
        job->data.batch_size = 2 * BATCH;
        job->optimizer = firnc_optimizer_defaults(kinds[i]);
        job->optimizer.weight_decay = 0.1F;
        job->groups[0] = (firnc_parameter_group){
            .name = longest_name('g'), .patterns = &pattern, .pattern_count = 1, .settings = job->optimizer};
        job->groups[0].settings.beta1 /= 2;
        job->schedule.roots[0].name = longest_name('s');
        firnc_graph *graph = firnc_graph_create(longest_name('m'));
        firnc_value x = firnc_input(graph, longest_name('x'), FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 3}, plain);
        firnc_value y = firnc_input(graph, longest_name('y'), FIRN_FLOAT32, 2, (uint32_t[]){BATCH, 2}, second);
        firnc_value weight = firnc_parameter(graph, longest_name('w'), 2, (uint32_t[]){2, 3}, (firnc_init){0}, true);
        firnc_value bias = firnc_parameter(graph, longest_name('b'), 1, (uint32_t[]){2}, (firnc_init){0}, false);
        firnc_layer_begin(graph, longest_name('l'));
        firnc_value logits = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
        firnc_loss(graph, firnc_binary_cross_entropy(graph, firnc_relu(graph, logits), y));
        firnc_layer_end(graph);
        firnc_frozen plan;
        assert_true(firnc_freeze_plan(graph, job, &key, NULL, &plan));
    }
}

TEST(options_are_checked) {
    const firnc_freeze_options mistyped = {.dump_after = "autodif"};
    firnc_frozen plan;
    firnc_messages_to(keep_message, NULL);
    bool without_key = firnc_freeze_plan(build(false), make_job(false, false), NULL, NULL, &plan);
    assert_string_equal(message, "firnc: two_branches: the key is NULL; read it with firnc_key_read");
    bool dumped = firnc_freeze_plan(build(false), make_job(false, false), &key, &mistyped, &plan);
    firnc_messages_to(NULL, NULL);
    assert_non_null(strstr(message, "dump_after: autodif is not a pass; write one of build, shapes, adapt, "));
    assert_false(without_key || dumped);
}

TEST(an_unknown_optimizer_has_no_defaults) {
    const firnc_optimizer unknown[] = {(firnc_optimizer)(FIRNC_MUON + 1), (firnc_optimizer)256, (firnc_optimizer)-1};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(firnc_optimizer_defaults(unknown[i]).kind, unknown[i]);
        assert_true(firnc_optimizer_learning_rate(unknown[i]) < 0);
        assert_null(firnc_optimizer_word(unknown[i]));
    }
}

/* The classes that a metric ignores must exist in the model. */
TEST(a_metric_is_checked) {
    static const struct {
        firnc_metric metric;
        uint32_t ignored;
        const char *words;
    } faults[] = {{FIRNC_METRIC_MEAN_IOU, LABELS, "leaves out a class that is not below 5"},
                  {FIRNC_METRIC_ACCURACY, 1, "metric_ignored_count"},
                  {FIRNC_METRIC_AUC, 0, "metric_ignored_count"},
                  {FIRNC_METRIC_F_BETA, 1, "metric_beta"}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        firnc_job *job = make_job(false, false);
        job->mode = FIRNC_EVAL;
        job->data.wrap = false;
        job->metric = faults[i].metric;
        job->metric_ignored[0] = faults[i].ignored;
        job->metric_ignored_count = 1;
        refused(build(true), job, faults[i].words);
    }
}

/* Passes check shapes, patterns and weights. Their messages name the job, where those for a recipe give the line. */
TEST(passes_speak_of_the_job) {
    firnc_job *job = make_job(true, true);
    const firnc_pol_pattern pattern = {.pattern = "mixxer.*", .pol = precise};
    job->precision.patterns = &pattern;
    job->precision.pattern_count = 1;
    refused(build(false), job, "no layer matches \"mixxer.*\"");
    refused(with_input(FIRN_FLOAT32, BATCH, (firnc_input_options){.element = FIRN_FLOAT32}), make_job(false, false),
            "no parameter matches \"tokens.*\"");
}

/* Releasing a mark frees everything built since then, and messages are passed only to the given function. */
TEST(memory_is_released) {
    for (int i = 0; i < 3; i++) {
        const firnc_mark mark = firnc_memory_mark();
        firnc_frozen plan = freeze(false, false);
        assert_int_equal(plan.file.data[0], 'F');
        firnc_memory_release(mark);
    }
}

static bool allocate_too_much(void *argument) {
    firnc_allocate(UINT64_MAX);
    *(bool *)argument = true;
    return true;
}

TEST(a_program_survives_a_lack_of_memory) {
    bool was_reached = false;
    assert_int_equal(firnc_perform(allocate_too_much, &was_reached, keep_message, NULL), FIRNC_MEMORY);
    assert_false(was_reached);
    assert_non_null(strstr(message, "out of memory"));
}
