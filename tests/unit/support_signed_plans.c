/* See support_signed_plans.h. */
#include "tests/unit/support_signed_plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/sha256.h>

#include "plan/checks/semantics.h"
#include "plan/ops.h"
#include "runtime/instance.h"

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

enum { TENSORS_MAX = 32, OPS_MAX = 16, LIST_MAX = 8 };

typedef struct builder {
    firn_native_plan plan;
    uint8_t mode;
    firn_native_tensor tensors[TENSORS_MAX];
    uint32_t dims[TENSORS_MAX][4];
    firn_native_phase phases[4];
    firn_native_op ops[OPS_MAX];
    uint32_t operands[OPS_MAX][2][LIST_MAX];
    int64_t integers[OPS_MAX][LIST_MAX];
    float reals[OPS_MAX][LIST_MAX];
    firn_fb_reduction reduction;
    uint32_t op_count;
    firn_native_input inputs[2];
    firn_native_output outputs[2];
    firn_native_sampler sampler;
    firn_fb_schedule_node nodes[3];
    firn_native_schedule schedule;
    firn_native_initialiser initialisers[TENSORS_MAX];
    firn_native_metric metric;
    uint64_t bytes[4]; /* of each kind below */
} builder;

/* Kinds of regions; an eval plan has no optimizer, so its regions have other numbers. */
enum { PARAMETERS, OPTIMIZER, SESSION, ARENA };

static uint8_t region_of(const builder *b, int kind) {
    return (uint8_t)(b->mode == FIRN_MODE_EVAL && kind > OPTIMIZER ? kind - 1 : kind);
}

/* Adds a tensor with dimensions ended by 0. */
static uint32_t tensor(builder *b, int kind, uint8_t type, uint8_t role, const uint32_t *dims) {
    uint32_t index = b->plan.tensors_count++, rank = 0;
    uint64_t bytes = firn_type_bytes(type);
    for (; dims[rank] != 0; rank++) {
        b->dims[index][rank] = dims[rank];
        bytes *= dims[rank];
    }
    b->tensors[index] = (firn_native_tensor){.type = type,
                                             .role = role,
                                             .region = region_of(b, kind),
                                             .offset = b->bytes[kind],
                                             .dims = b->dims[index],
                                             .dims_count = rank,
                                             .first = 0,
                                             .last = UINT32_MAX,
                                             .base = FIRN_ABSENT};
    b->bytes[kind] += (bytes + 15) / 16 * 16;
    return index;
}

static uint32_t arena(builder *b, uint8_t type, uint8_t role, const uint32_t *dims) {
    return tensor(b, ARENA, type, role, dims);
}

/* Tensors of the state must be added before all others, in the order of their names. */
static uint32_t state(builder *b, int kind, const char *name, uint8_t type, uint8_t role, const uint32_t *dims) {
    uint32_t index = tensor(b, kind, type, role, dims);
    b->tensors[index].name = name;
    b->plan.state_tensors = index + 1;
    return index;
}

static uint32_t counter(builder *b, int kind, const char *name) {
    return state(b, kind, name, FIRN_INT64, FIRN_FB_ROLE_COUNTER, (uint32_t[]){1, 0});
}

/* The operand lists end with -1. */
static firn_native_op *op(builder *b, uint16_t code, const int *inputs, const int *outputs) {
    uint32_t i = b->op_count++;
    firn_native_op *op = &b->ops[i];
    *op = (firn_native_op){.code = code};
    for (; inputs[op->inputs_count] >= 0; op->inputs_count++)
        b->operands[i][0][op->inputs_count] = (uint32_t)inputs[op->inputs_count];
    for (; outputs[op->outputs_count] >= 0; op->outputs_count++)
        b->operands[i][1][op->outputs_count] = (uint32_t)outputs[op->outputs_count];
    op->inputs = op->inputs_count > 0 ? b->operands[i][0] : NULL;
    op->outputs = b->operands[i][1];
    return op;
}

static void with_integer(builder *b, firn_native_op *op, int64_t value) {
    int64_t *list = b->integers[op - b->ops];
    list[op->integers_count++] = value;
    op->integers = list;
}

static void with_real(builder *b, firn_native_op *op, float value) {
    float *list = b->reals[op - b->ops];
    list[op->reals_count++] = value;
    op->reals = list;
}

/* Defines a phase of all ops added since the previous phase. */
static void phase(builder *b, uint8_t kind) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < b->plan.phases_count; i++)
        before += b->phases[i].ops_count;
    b->phases[b->plan.phases_count++] =
        (firn_native_phase){.kind = kind, .ops = b->ops + before, .ops_count = b->op_count - before};
}

static void begin(builder *b, const signed_plan_settings *settings, uint8_t mode) {
    memset(b, 0, sizeof *b);
    b->mode = mode;
    b->plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                                 .check_loss = settings->check_loss,
                                 .micro_batches = mode == FIRN_MODE_TRAIN ? settings->micro_batches : 1,
                                 .seed = settings->seed,
                                 .steps = settings->steps,
                                 .loss = FIRN_ABSENT,
                                 .learning_rate = FIRN_ABSENT,
                                 .loss_scale = FIRN_ABSENT,
                                 .global_step = FIRN_ABSENT,
                                 .optimizer_step = FIRN_ABSENT,
                                 .finite = FIRN_ABSENT,
                                 .at_floor = FIRN_ABSENT,
                                 .gradient_norm = FIRN_ABSENT};
    b->sampler = (firn_native_sampler){.kind = settings->sampler,
                                       .unit = FIRN_FB_SAMPLE_UNIT_WINDOW,
                                       .part = settings->part,
                                       .epoch_end = settings->epoch_end,
                                       .window = BIGRAM_WINDOW,
                                       .stride = settings->stride,
                                       .samples = BIGRAM_SAMPLES,
                                       .held_out_per_mille = settings->held_out_per_mille,
                                       .seed = settings->seed,
                                       .pushed = FIRN_ABSENT};
}

static uint32_t parameter(builder *b, const signed_plan_settings *settings, const char *name, const uint32_t *dims) {
    uint32_t index = state(b, PARAMETERS, name, FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, dims);
    b->initialisers[index] = (firn_native_initialiser){.rule = settings->uniform ? FIRN_FB_INITIALISER_RULE_UNIFORM
                                                                                 : FIRN_FB_INITIALISER_RULE_NORMAL,
                                                       .rng_id = 1,
                                                       .a = settings->uniform ? -0.25f : 0.0f,
                                                       .b = 0.5f};
    return index;
}

/* Adds an output; all of them can be read with support_tensor. */
static void output(builder *b, const char *name, int tensor) {
    b->outputs[b->plan.outputs_count++] = (firn_native_output){.name = name, .tensor = (uint32_t)tensor};
}

static firn_header header_of(const builder *b, const signed_plan_settings *settings) {
    static const uint8_t kinds[] = {FIRN_FB_REGION_KIND_PARAMETERS, FIRN_FB_REGION_KIND_OPTIMIZER,
                                    FIRN_FB_REGION_KIND_SESSION, FIRN_FB_REGION_KIND_ARENA};
    firn_header header = {.format_major = FIRN_FORMAT_MAJOR,
                          .algorithm = FIRN_ALGORITHM_ECDSA_P256,
                          .mode = b->mode,
                          .image_id = settings->image_id,
                          .plan_version = 1,
                          .security_counter = settings->security_counter};
    for (uint32_t i = 0; i < 4; i++) {
        if (b->bytes[i] == 0)
            continue;
        header.region_kinds[header.region_count] = kinds[i];
        header.region_bytes[header.region_count++] = b->bytes[i];
    }
    memcpy(header.schema_hash, firn_schema_hash, sizeof header.schema_hash);
    return header;
}

/* Puts header, payload and report together and signs them. */
static void assemble(signed_plan *plan, firn_header *header, const uint8_t *payload, size_t bytes, const char *report) {
    header->flatbuffers_bytes = bytes;
    header->constants_offset = (FIRN_PAYLOAD_OFFSET + bytes + 63) / 64 * 64;
    header->report_bytes = report != NULL ? strlen(report) : 0;
    header->total_bytes = header->constants_offset + header->report_bytes;
    header->counts = firn_semantics_count(firn_fb_plan_root(payload));
    memset(plan, 0, sizeof *plan);
    plan->bytes = header->total_bytes;
    assert_true(plan->bytes <= sizeof plan->file);
    memcpy(plan->file + FIRN_PAYLOAD_OFFSET, payload, bytes);
    if (report != NULL)
        memcpy(plan->file + header->constants_offset, report, (size_t)header->report_bytes);
    firn_header_encode(header, plan->file);
    support_sign(plan, false);
}

/* Writes the payload and makes the file. */
static void finish(builder *b, const signed_plan_settings *settings, signed_plan *plan) {
    if (settings->spoil_code != 0)
        b->ops[0].code = settings->spoil_code;
    b->plan.tensors = b->tensors;
    b->plan.phases = b->phases;
    b->plan.inputs = b->inputs;
    b->plan.outputs = b->outputs;
    b->plan.sampler = &b->sampler;
    b->plan.initialisers = b->initialisers;
    b->plan.initialisers_count = b->plan.state_tensors;
    if (settings->change != NULL)
        settings->change(&b->plan);
    size_t bytes = 0;
    uint8_t *payload = firn_native_write(&b->plan, &bytes);
    assert_non_null(payload);
    firn_header header = header_of(b, settings);
    assemble(plan, &header, payload, bytes, settings->report);
    free(payload);
}

/* --- the three plans --- */

static void window_inputs(builder *b) {
    const uint32_t dims[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, 0};
    for (uint32_t i = 0; i < 2; i++)
        b->inputs[i] = (firn_native_input){.name = i == 0 ? "input_ids" : "labels",
                                           .tensor = arena(b, FIRN_INT32, FIRN_FB_ROLE_INPUT, dims),
                                           .element = FIRN_UINT8,
                                           .advance = i,
                                           .limit = BIGRAM_VOCABULARY,
                                           .scale = 1.0f,
                                           .label = i == 1,
                                           .ring = FIRN_ABSENT};
    b->plan.inputs_count = 2;
}

static uint32_t scalar(builder *b, uint8_t type, uint8_t role) {
    return arena(b, type, role, (uint32_t[]){1, 0});
}

/* Adds the embedding and the cross-entropy; returns the loss. `saved` receives row_max and row_sum. */
static int forward(builder *b, int table, int *logits, int saved[2]) {
    const uint32_t three[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, BIGRAM_VOCABULARY, 0};
    const uint32_t rows[] = {BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, 0};
    int ids = (int)b->inputs[0].tensor, labels = (int)b->inputs[1].tensor;
    *logits = (int)arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, three);
    int loss = (int)scalar(b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    saved[0] = (int)arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    saved[1] = (int)arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    op(b, FIRN_OP_embedding, (int[]){ids, table, -1}, (int[]){*logits, -1});
    op(b, FIRN_OP_cross_entropy, (int[]){*logits, labels, -1}, (int[]){loss, saved[0], saved[1], -1});
    output(b, "loss", loss);
    output(b, "logits", *logits);
    b->plan.loss = (uint32_t)loss;
    return loss;
}

void support_bigram(signed_plan *plan, const signed_plan_settings *settings) {
    static builder b;
    begin(&b, settings, FIRN_MODE_TRAIN);
    const uint32_t square[] = {BIGRAM_VOCABULARY, BIGRAM_VOCABULARY, 0}, one[] = {1, 0};
    /* sorted by name */
    int cursor = (int)counter(&b, SESSION, "counters.cursor");
    int global_step = (int)counter(&b, OPTIMIZER, "counters.global_step");
    int optimizer_step = (int)counter(&b, OPTIMIZER, "counters.optimizer_step");
    int scale = (int)state(&b, OPTIMIZER, "scaler.loss_scale", FIRN_FLOAT32, FIRN_FB_ROLE_OPTIMIZER_STATE, one);
    b.initialisers[scale].a = settings->initial_scale;
    int skipped = (int)counter(&b, OPTIMIZER, "scaler.num_skipped_steps");
    int overflows = (int)counter(&b, OPTIMIZER, "scaler.overflows_since_rescale");
    int since = (int)counter(&b, OPTIMIZER, "scaler.steps_since_rescale");
    int table = (int)parameter(&b, settings, "table", square);

    window_inputs(&b);
    int ids = (int)b.inputs[0].tensor, labels = (int)b.inputs[1].tensor;
    int logits, saved[2];
    forward(&b, table, &logits, saved);
    int seed = (int)scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int dlogits = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT,
                             (uint32_t[]){BIGRAM_SAMPLES, BIGRAM_WINDOW - 1, BIGRAM_VOCABULARY, 0});
    int gradient = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, square);
    int total = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, square);
    int partial = (int)scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int scratch = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_SCRATCH, (uint32_t[]){1, 1, 0});
    int factors = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, (uint32_t[]){FIRN_FACTORS, 0});
    int norm = (int)scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int finite = (int)scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT);
    int at_floor = (int)scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT);
    int rate = (int)scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT);

    with_real(&b, op(&b, FIRN_OP_loss_seed, (int[]){scale, -1}, (int[]){seed, -1}),
              1.0f / (float)settings->micro_batches);
    if (settings->gradient_factor != 0.0f)
        with_real(&b, op(&b, FIRN_OP_advance_power, (int[]){seed, -1}, (int[]){seed, -1}), settings->gradient_factor);
    op(&b, FIRN_OP_cross_entropy_backward, (int[]){seed, logits, labels, saved[0], saved[1], -1}, (int[]){dlogits, -1});
    with_integer(&b, op(&b, FIRN_OP_embedding_backward, (int[]){ids, dlogits, -1}, (int[]){gradient, -1}),
                 BIGRAM_VOCABULARY);
    op(&b, FIRN_OP_accumulate, (int[]){total, gradient, -1}, (int[]){total, -1});
    phase(&b, FIRN_FB_PHASE_KIND_MICRO_BATCH);
    with_integer(&b, op(&b, FIRN_OP_sum_of_squares, (int[]){total, partial, scale, -1}, (int[]){partial, scratch, -1}),
                 0);
    op(&b, FIRN_OP_gradient_norm, (int[]){partial, -1}, (int[]){norm, finite, -1});
    firn_native_op *make_factors = op(&b, FIRN_OP_gradient_factors, (int[]){scale, -1}, (int[]){factors, -1});
    with_integer(&b, make_factors, FIRN_FB_CLIPPING_NONE);
    with_real(&b, make_factors, 0.0f);
    phase(&b, FIRN_FB_PHASE_KIND_FINALISE);
    firn_native_op *sgd = op(&b, FIRN_OP_sgd, (int[]){table, total, rate, factors, -1}, (int[]){table, -1});
    with_integer(&b, sgd, 0);
    with_real(&b, sgd, 0.0f);
    with_integer(&b, op(&b, FIRN_OP_count, (int[]){optimizer_step, -1}, (int[]){optimizer_step, -1}), 1);
    phase(&b, FIRN_FB_PHASE_KIND_UPDATE);
    firn_native_op *update = op(&b, FIRN_OP_loss_scale_update, (int[]){finite, scale, since, overflows, skipped, -1},
                                (int[]){scale, since, overflows, skipped, at_floor, -1});
    with_integer(&b, update, 2000);
    with_real(&b, update, settings->minimum_scale);
    with_real(&b, update, 0x1p126f);
    with_real(&b, update, 0.0f);
    with_integer(&b, op(&b, FIRN_OP_count, (int[]){global_step, -1}, (int[]){global_step, -1}), 1);
    phase(&b, FIRN_FB_PHASE_KIND_BOOKKEEP);

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
    int cursor = (int)counter(&b, SESSION, "counters.cursor");
    int count = (int)counter(&b, SESSION, "metric.count");
    int sum = (int)state(&b, SESSION, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER, (uint32_t[]){2, 0});
    int table = (int)parameter(&b, settings, "table", (uint32_t[]){BIGRAM_VOCABULARY, BIGRAM_VOCABULARY, 0});
    window_inputs(&b);
    int logits, saved[2];
    int loss = forward(&b, table, &logits, saved);
    op(&b, FIRN_OP_metric_mean, (int[]){loss, sum, count, -1}, (int[]){sum, count, -1});
    phase(&b, FIRN_FB_PHASE_KIND_EVALUATE);
    b.metric = (firn_native_metric){.kind = settings->metric, .sum = (uint32_t)sum, .count = (uint32_t)count};
    b.plan.metric = &b.metric;
    b.sampler.cursor = (uint32_t)cursor;
    finish(&b, settings, plan);
}

void support_classifier(signed_plan *plan, const signed_plan_settings *settings) {
    static builder b;
    begin(&b, settings, FIRN_MODE_EVAL);
    int cursor = (int)counter(&b, SESSION, "counters.cursor");
    int correct = (int)counter(&b, SESSION, "metric.correct");
    int count = (int)counter(&b, SESSION, "metric.count");
    int weight = (int)parameter(&b, settings, "weight", (uint32_t[]){4, 3, 0});
    b.inputs[0] =
        (firn_native_input){.name = "features",
                            .tensor = arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){BIGRAM_SAMPLES, 3, 0}),
                            .element = FIRN_UINT8,
                            .scale = 0.5f,
                            .shift = -1.0f,
                            .ring = FIRN_ABSENT};
    b.inputs[1] =
        (firn_native_input){.name = "labels",
                            .tensor = arena(&b, FIRN_INT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){BIGRAM_SAMPLES, 0}),
                            .stream = 1,
                            .element = FIRN_UINT8,
                            .limit = 4,
                            .scale = 1.0f,
                            .label = true,
                            .ring = FIRN_ABSENT};
    b.plan.inputs_count = 2;
    const uint32_t rows[] = {BIGRAM_SAMPLES, 0};
    int logits = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, (uint32_t[]){BIGRAM_SAMPLES, 4, 0});
    int loss = (int)scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int row_max = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    int row_sum = (int)arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, rows);
    int features = (int)b.inputs[0].tensor, labels = (int)b.inputs[1].tensor;
    firn_native_op *linear = op(&b, FIRN_OP_linear, (int[]){features, weight, -1}, (int[]){logits, -1});
    with_integer(&b, linear, 0);
    b.reduction = (firn_fb_reduction){.kind = FIRN_FB_REDUCTION_KIND_F32};
    linear->reductions = &b.reduction;
    linear->reductions_count = 1;
    op(&b, FIRN_OP_cross_entropy, (int[]){logits, labels, -1}, (int[]){loss, row_max, row_sum, -1});
    op(&b, FIRN_OP_metric_accuracy, (int[]){logits, labels, correct, count, -1}, (int[]){correct, count, -1});
    phase(&b, FIRN_FB_PHASE_KIND_EVALUATE);
    output(&b, "loss", loss);
    output(&b, "logits", logits);
    b.plan.loss = (uint32_t)loss;
    b.metric =
        (firn_native_metric){.kind = FIRN_FB_METRIC_KIND_ACCURACY, .sum = (uint32_t)correct, .count = (uint32_t)count};
    b.plan.metric = &b.metric;
    b.sampler.unit = FIRN_FB_SAMPLE_UNIT_RECORD;
    b.sampler.window = 0;
    b.sampler.stride = 0;
    b.sampler.cursor = (uint32_t)cursor;
    finish(&b, settings, plan);
}

/* --- signing --- */

static int no_random(void *context, unsigned char *bytes, size_t count) {
    (void)context; /* the random numbers are used for blinding only: the nonce is deterministic (RFC 6979) */
    memset(bytes, 1, count);
    return 0;
}

static void sha256(const uint8_t *bytes, uint64_t count, uint8_t hash[32]) {
    assert_int_equal(mbedtls_sha256_ret(bytes, (size_t)count, hash, 0), 0);
}

/* Makes a private key from a fixed number, and its public key. */
static void make_key(mbedtls_ecp_keypair *pair, int number, uint8_t public_key[64]) {
    uint8_t point[65];
    size_t length = 0;
    mbedtls_ecp_keypair_init(pair);
    assert_int_equal(mbedtls_ecp_group_load(&pair->grp, MBEDTLS_ECP_DP_SECP256R1), 0);
    assert_int_equal(mbedtls_mpi_lset(&pair->d, number), 0);
    assert_int_equal(mbedtls_ecp_mul(&pair->grp, &pair->Q, &pair->d, &pair->grp.G, no_random, NULL), 0);
    assert_int_equal(
        mbedtls_ecp_point_write_binary(&pair->grp, &pair->Q, MBEDTLS_ECP_PF_UNCOMPRESSED, &length, point, sizeof point),
        0);
    memcpy(public_key, point + 1, 64);
}

/* Updates what the header says about payload, report and key. */
static void update_hashes(signed_plan *plan, const uint8_t public_key[64]) {
    uint8_t point[65] = {4};
    memcpy(point + 1, public_key, 64);
    memcpy(plan->key, public_key, sizeof plan->key);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan->file, plan->bytes), FIRN_OK);
    const uint64_t end = firn_header_payload_end(&header);
    sha256(point, sizeof point, header.key_hash);
    sha256(plan->file + FIRN_PAYLOAD_OFFSET, end - FIRN_PAYLOAD_OFFSET, header.run_hash);
    if (header.report_bytes != 0 && plan->bytes == header.total_bytes)
        sha256(plan->file + end, header.report_bytes, header.report_hash);
    firn_header_encode(&header, plan->file);
}

/* Signs the header. */
static void sign_with(signed_plan *plan, int number, bool hashes) {
    mbedtls_ecp_keypair pair;
    mbedtls_mpi r, s;
    uint8_t public_key[64], digest[32], *signature = plan->file + FIRN_HEADER_BYTES;
    make_key(&pair, number, public_key);
    if (hashes)
        update_hashes(plan, public_key);
    sha256(plan->file, FIRN_HEADER_BYTES, digest);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    assert_int_equal(mbedtls_ecdsa_sign_det_ext(&pair.grp, &r, &s, &pair.d, digest, sizeof digest, MBEDTLS_MD_SHA256,
                                                no_random, NULL),
                     0);
    assert_int_equal(mbedtls_mpi_write_binary(&r, signature, 32), 0);
    assert_int_equal(mbedtls_mpi_write_binary(&s, signature + 32, 32), 0);
    mbedtls_mpi_free(&r);
    mbedtls_mpi_free(&s);
    mbedtls_ecp_keypair_free(&pair);
}

void support_sign(signed_plan *plan, bool second) {
    sign_with(plan, second ? 54321 : 12345, true);
}

void support_sign_bytes(signed_plan *plan) {
    sign_with(plan, 12345, false);
}

/* --- running --- */

firn_config support_config(opened *opened, const signed_plan *plan) {
    firn_config config = {.plan = plan->file,
                          .plan_bytes = plan->bytes,
                          .public_key = plan->key,
                          .blocks = opened->blocks,
                          .kernels = "plain"};
    firn_sizes sizes;
    if (firn_plan_sizes(plan->file, plan->bytes, &sizes) == FIRN_OK) {
        const firn_block of_kind[] = {[FIRN_REGION_PARAMETERS] = {opened->parameters, sizeof opened->parameters},
                                      [FIRN_REGION_OPTIMIZER] = {opened->optimizer, sizeof opened->optimizer},
                                      [FIRN_REGION_SESSION] = {opened->session, sizeof opened->session},
                                      [FIRN_REGION_ARENA] = {opened->arena, sizeof opened->arena}};
        config.block_count = sizes.block_count;
        for (uint32_t i = 0; i < sizes.block_count; i++)
            opened->blocks[i] =
                sizes.blocks[i].kind <= FIRN_REGION_ARENA ? of_kind[sizes.blocks[i].kind] : (firn_block){0};
    }
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
