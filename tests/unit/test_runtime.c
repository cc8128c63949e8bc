/* Tests opening and running: which error each refusal gives, what a step changes, and that only the plan and the data
 * determine the result. */
#include <stdlib.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "plan/ops.h"
#include "runtime/numerics/numerics.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_control_word.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static const uint8_t text[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6,
                               0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7, 7, 6, 5, 4, 3, 2, 1, 0,
                               7, 6, 5, 4, 3, 2, 1, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};
static const uint64_t whole[] = {sizeof text, 0};

static signed_plan plan;
static opened one, two;

static void open_bigram(opened *opened, const signed_plan_settings *settings, const firn_port *port) {
    support_bigram(&plan, settings);
    assert_int_equal(support_open(opened, &plan, port), FIRN_OK);
    assert_int_equal(firn_initialise(&opened->firn), FIRN_OK);
}

static void assert_near(double a, double b, double bound) {
    assert_true(a - b <= bound && b - a <= bound);
}

static void digest_of(const opened *opened, uint8_t digest[32]) {
    assert_int_equal(firn_digest(&opened->firn, digest), FIRN_OK);
}

static void assert_same_state(const opened *a, const opened *b) {
    uint8_t first[32], second[32];
    digest_of(a, first);
    digest_of(b, second);
    assert_memory_equal(first, second, sizeof first);
}

static void train(opened *opened, bytes_source *source, int steps, firn_step_report *report) {
    for (int i = 0; i < steps; i++)
        assert_int_equal(firn_train_step(&opened->firn, &source->source, report), FIRN_OK);
}

/* --- opening --- */

TEST(opens_and_describes) {
    signed_plan_settings settings = support_settings;
    settings.image_id = 77;
    settings.report = "{}";
    support_bigram(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_string_equal(info.kernels, "portable");
    assert_false(info.eval);
    assert_false(info.metric);
    assert_int_equal(info.steps, 30);
    assert_int_equal(info.window, BIGRAM_WINDOW);
    assert_int_equal(info.samples, BIGRAM_SAMPLES);
    assert_int_equal(info.micro_batches, 2);
    assert_int_equal(info.parameters, BIGRAM_VOCABULARY * BIGRAM_VOCABULARY);
    assert_int_equal(info.security_counter, 3);
    assert_int_equal(info.image_id, 77);
    uint8_t hash[32];
    mbedtls_sha256(plan.file, FIRN_HEADER_BYTES, hash, 0);
    assert_memory_equal(info.plan_hash, hash, 32);
    mbedtls_sha256(plan.file + FIRN_PAYLOAD_OFFSET, (size_t)plan.bytes - FIRN_PAYLOAD_OFFSET - 2, hash, 0);
    assert_memory_equal(info.run_hash, hash, 32);
}

TEST(is_programmed_once) {
    open_bigram(&one, &support_settings, NULL);
    uint8_t before[32], after[32];
    digest_of(&one, before);
    const firn_config config = support_config(&two, &plan);
    assert_int_equal(firn_open(&one.firn, &config), FIRN_ERROR_ALREADY_PROGRAMMED);
    digest_of(&one, after);
    assert_memory_equal(before, after, 32);
}

TEST(needs_a_plan) {
    firn empty = {0};
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    firn_info info;
    firn_tensor_info tensor;
    uint8_t digest[32];
    uint64_t steps;
    float value;
    assert_int_equal(firn_describe(&empty, &info), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_initialise(&empty), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_train_step(&empty, &source.source, &report), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_eval_step(&empty, &source.source), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_eval_result(&empty, &value), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_progress(&empty, &steps), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_save(&empty), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_restore(&empty, NULL), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_parameters_changed(&empty), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_output(&empty, "loss", &tensor), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_digest(&empty, digest), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_tensor_at(&empty, 0, &tensor), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_open(NULL, NULL), FIRN_ERROR_ARGUMENT);
}

/* Opens with a config whose blocks the test has changed. */
static int open_with(const firn_config *config) {
    firn firn = {0};
    return firn_open(&firn, config);
}

TEST(refuses_wrong_blocks) {
    support_bigram(&plan, &support_settings);
    const firn_config good = support_config(&one, &plan);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    static const uint8_t kinds[] = {FIRN_REGION_PARAMETERS, FIRN_REGION_OPTIMIZER, FIRN_REGION_SESSION,
                                    FIRN_REGION_ARENA};
    const uint32_t count = sizeof kinds;
    assert_int_equal(sizes.block_count, count);
    firn_config bad = good;
    for (int more = -1; more <= 1; more += 2) {
        bad.block_count = good.block_count + (uint32_t)more;
        assert_int_equal(open_with(&bad), FIRN_ERROR_ARGUMENT);
    }
    bad = good;
    bad.blocks = NULL;
    assert_int_equal(open_with(&bad), FIRN_ERROR_ARGUMENT);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sizes.blocks[i].kind, kinds[i]);
        firn_block blocks[FIRN_BLOCKS_MAX];
        bad = good;
        bad.blocks = blocks;
        const firn_block wrong[] = {
            {NULL, 0},                                                     /* no block */
            {NULL, one.blocks[i].bytes},                                   /* bytes of nothing */
            {(uint8_t *)one.blocks[i].memory + 32, sizes.blocks[i].bytes}, /* not aligned */
            {one.blocks[(i + 1) % count].memory, one.blocks[i].bytes},     /* the block of another region */
            {(void *)(uintptr_t)plan.file, one.blocks[i].bytes},           /* the plan */
            {one.blocks[i].memory, UINT64_MAX},                            /* past the end of memory */
        };
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            memcpy(blocks, one.blocks, sizeof one.blocks);
            blocks[i] = wrong[w];
            assert_int_equal(open_with(&bad), FIRN_ERROR_ARGUMENT);
        }
        memcpy(blocks, one.blocks, sizeof one.blocks);
        blocks[i].bytes = sizes.blocks[i].bytes - 1;
        assert_int_equal(open_with(&bad), FIRN_ERROR_BLOCK_TOO_SMALL);
    }
}

/* Constants lie in the plan: a region of them has no block, and a block for it is refused. */
TEST(constants_need_no_block) {
    support_bigram(&plan, &support_settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    header.constants_bytes = 64;
    header.total_bytes += 64;
    header.region_kinds[header.region_count] = FIRN_FB_REGION_KIND_CONSTANT;
    header.region_bytes[header.region_count++] = 64;
    plan.bytes += 64;
    assert_true(plan.bytes <= sizeof plan.file);
    firn_header_encode(&header, plan.file);
    support_sign(&plan, false);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    assert_int_equal(sizes.block_count, 5);
    assert_int_equal(sizes.blocks[4].bytes, 0);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    static _Alignas(64) uint8_t memory[64];
    firn_block blocks[5];
    firn_config config = support_config(&one, &plan);
    memcpy(blocks, config.blocks, sizeof blocks);
    config.blocks = blocks;
    blocks[4] = (firn_block){memory, sizeof memory};
    assert_int_equal(open_with(&config), FIRN_ERROR_ARGUMENT);
    blocks[4] = (firn_block){0};
    assert_int_equal(open_with(&config), FIRN_OK);
}

TEST(refuses_wrong_arguments) {
    uint64_t workspace_bytes;
    support_bigram(&plan, &support_settings);
    const firn_config good = support_config(&one, &plan);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    assert_int_equal(firn_plan_sizes(NULL, plan.bytes, &sizes), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, NULL), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    firn firn = {0};
    firn_config bad = good;
    bad.public_key = NULL;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad = good;
    bad.plan = NULL;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    static _Alignas(64) uint8_t prepared[32768];
    assert_true(sizes.prepared_bytes > 0 && sizes.prepared_bytes < sizeof prepared);
    bad = good;
    bad.prepared = prepared;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad.prepared_bytes = sizes.prepared_bytes - 1;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_PREPARED_TOO_SMALL);
    bad.prepared_bytes = UINT64_MAX;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad.prepared_bytes = sizes.prepared_bytes;
    bad.prepared = prepared + 8;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad.prepared = one.arena + 64;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    for (uint32_t i = 0; i < good.block_count; i++) {
        bad.prepared = good.blocks[i].memory;
        assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    }
    bad.prepared = plan.file;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad.prepared = bad.workspace = prepared;
    bad.workspace_bytes = 64;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    bad = good;
    bad.prepared = NULL;
    bad.prepared_bytes = 64;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    const firn_port small = {.struct_size = 8};
    bad = good;
    bad.kernels = "nonsense";
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_KERNELS_UNKNOWN);
    assert_int_equal(firn_workspace_bytes(&bad, &workspace_bytes), FIRN_ERROR_KERNELS_UNKNOWN);
    bad = good;
    bad.port = &small;
    assert_int_equal(firn_open(&firn, &bad), FIRN_ERROR_ARGUMENT);
    /* Blocks of exactly the required sizes are enough. */
    firn_block blocks[FIRN_BLOCKS_MAX];
    memcpy(blocks, one.blocks, sizeof one.blocks);
    for (uint32_t i = 0; i < sizes.block_count; i++)
        blocks[i].bytes = sizes.blocks[i].bytes;
    bad = good;
    bad.blocks = blocks;
    assert_int_equal(firn_workspace_bytes(&bad, &workspace_bytes), FIRN_OK);
    assert_int_equal(workspace_bytes, 0);
    assert_int_equal(firn_open(&firn, &bad), FIRN_OK);
}

static int open_error(void) {
    return support_open(&one, &plan, NULL);
}

/* Flips a bit and opens the plan; the bit is as before afterwards. */
static int error_of_flip(uint64_t bit) {
    plan.file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    const int error = open_error();
    plan.file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    return error;
}

TEST(refuses_other_bytes) {
    support_bigram(&plan, &support_settings);
    const uint64_t bytes = plan.bytes;
    plan.bytes = bytes + 1;
    assert_int_equal(open_error(), FIRN_ERROR_TRAILING_BYTES);
    for (plan.bytes = 1; plan.bytes < bytes; plan.bytes++)
        assert_int_equal(open_error(), FIRN_ERROR_TRUNCATED);
    for (uint64_t bit = 0; bit < 8 * FIRN_HEADER_BYTES; bit++) {
        assert_int_not_equal(error_of_flip(bit), FIRN_OK);
        firn_info info;
        assert_int_equal(firn_describe(&one.firn, &info), FIRN_ERROR_NOT_OPEN);
    }
    for (uint64_t bit = 8 * FIRN_HEADER_BYTES; bit < 8 * FIRN_PAYLOAD_OFFSET; bit += 7)
        assert_int_equal(error_of_flip(bit), FIRN_ERROR_SIGNATURE);
    for (uint64_t bit = 8 * FIRN_PAYLOAD_OFFSET; bit < 8 * bytes; bit += 509)
        assert_int_equal(error_of_flip(bit), FIRN_ERROR_RUN_HASH);
    assert_int_equal(open_error(), FIRN_OK);
}

/* A device never reads the report: a plan runs the same without it, or with other bytes in its place. Of any other
 * length it is not the plan that was signed. */
TEST(the_report_is_not_read) {
    signed_plan_settings settings = support_settings;
    settings.report = "{\"model\":\"bigram\"}";
    const uint64_t report_bytes = strlen(settings.report);
    support_bigram(&plan, &settings);
    assert_int_equal(open_error(), FIRN_OK);
    const uint64_t whole_file = plan.bytes;
    plan.file[whole_file - 1] ^= 1;
    assert_int_equal(open_error(), FIRN_OK);
    for (plan.bytes = whole_file - 1; plan.bytes > whole_file - report_bytes; plan.bytes--)
        assert_int_equal(open_error(), FIRN_ERROR_TRUNCATED);
    assert_int_equal(open_error(), FIRN_OK);
    plan.bytes = whole_file + 1;
    assert_int_equal(open_error(), FIRN_ERROR_TRAILING_BYTES);
}

TEST(refuses_another_key) {
    support_bigram(&plan, &support_settings);
    static signed_plan other;
    other = plan;
    support_sign(&other, true);
    memcpy(other.key, plan.key, sizeof plan.key);
    assert_int_equal(support_open(&one, &other, NULL), FIRN_ERROR_WRONG_KEY);
}

/* Signs a plan with a changed header, and opens it. */
static int error_of_header(const firn_header *header) {
    firn_header_encode(header, plan.file);
    support_sign_bytes(&plan);
    return open_error();
}

/* Each plan is signed, so that only the named check can refuse it. */
TEST(refuses_signed_faults) {
    support_bigram(&plan, &support_settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    const firn_header good = header;
    header.run_hash[5] ^= 1;
    assert_int_equal(error_of_header(&header), FIRN_ERROR_RUN_HASH);
    header = good;
    header.format_major++;
    assert_int_equal(error_of_header(&header), FIRN_ERROR_FORMAT_VERSION);
    header = good;
    header.needs_minor = FIRN_FORMAT_MINOR + 1;
    assert_int_equal(error_of_header(&header), FIRN_ERROR_FORMAT_VERSION);
    header = good;
    header.counts.operands++;
    assert_int_equal(error_of_header(&header), FIRN_ERROR_HEADER_MISMATCH);
    header = good;
    header.mode = FIRN_MODE_EVAL;
    assert_int_not_equal(error_of_header(&header), FIRN_OK);
    header = good;
    header.region_bytes[0] -= 16; /* the parameters do not fit */
    assert_int_equal(error_of_header(&header), FIRN_ERROR_TENSOR);
    /* The schema may have grown since the plan was written: what it needs is in the version. */
    header = good;
    header.schema_hash[5] ^= 1;
    assert_int_equal(error_of_header(&header), FIRN_OK);
    signed_plan_settings unknown = support_settings;
    unknown.spoil_code = 60000;
    support_bigram(&plan, &unknown);
    assert_int_equal(open_error(), FIRN_ERROR_OP_UNKNOWN);
}

/* What a plan needs can be read whatever it is, so that a report can say more than that it was refused. */
TEST(says_which_version_a_plan_needs) {
    firn_version needed;
    const firn_version here = firn_format_version();
    assert_int_equal(here.major, FIRN_FORMAT_MAJOR);
    assert_int_equal(here.minor, FIRN_FORMAT_MINOR);
    support_bigram(&plan, &support_settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    header.format_major = 7;
    header.needs_minor = 9;
    firn_header_encode(&header, plan.file);
    assert_int_equal(firn_plan_needs(plan.file, plan.bytes, &needed), FIRN_OK);
    assert_int_equal(needed.major, 7);
    assert_int_equal(needed.minor, 9);
    assert_int_equal(firn_plan_needs(plan.file, FIRN_HEADER_BYTES - 1, &needed), FIRN_ERROR_TRUNCATED);
    assert_int_equal(needed.major, 0);
    assert_int_equal(firn_plan_needs(NULL, plan.bytes, &needed), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_plan_needs(plan.file, plan.bytes, NULL), FIRN_ERROR_ARGUMENT);
    plan.file[0] ^= 1;
    assert_int_equal(firn_plan_needs(plan.file, plan.bytes, &needed), FIRN_ERROR_MAGIC);
}

/* --- the security counter and the rest of the port --- */

typedef struct device {
    uint32_t counter;
    bool broken;
    int alive, advances;
} device;

static int counter_read(void *context, uint32_t *value) {
    *value = ((device *)context)->counter;
    return ((device *)context)->broken ? FIRN_ERROR_COUNTER : 0;
}

static int counter_advance(void *context, uint32_t value) {
    device *self = context;
    assert_true(value >= self->counter);
    self->counter = value;
    self->advances++;
    return 0;
}

static void device_alive(void *context) {
    ((device *)context)->alive++;
}

static const firn_counter counter = {counter_read, counter_advance};

static firn_port port_of(device *device) {
    return (firn_port){.struct_size = sizeof(firn_port), .context = device, .counter = &counter, .alive = device_alive};
}

TEST(obeys_the_security_counter) {
    device device = {.counter = 2};
    const firn_port port = port_of(&device);
    support_bigram(&plan, &support_settings); /* counter 3 */
    assert_int_equal(support_open(&one, &plan, &port), FIRN_OK);
    assert_int_equal(device.counter, 2); /* it advances when the plan is confirmed */
    assert_true(device.alive >= 5);      /* for each hash, and beside the signature check */
    device.counter = 3;
    assert_int_equal(support_open(&one, &plan, &port), FIRN_OK); /* an equal counter is accepted */
    assert_int_equal(device.advances, 0);
    device.counter = 4;
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_SECURITY_COUNTER);
    device.counter = 2;
    device.broken = true;
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_COUNTER);
}

/* A plan that passes the counter check and is refused later must not advance the counter. */
TEST(refused_plans_leave_the_counter) {
    device device = {.counter = 2};
    const firn_port port = port_of(&device);
    signed_plan_settings unknown = support_settings;
    unknown.spoil_code = 60000;
    support_bigram(&plan, &unknown);
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_OP_UNKNOWN);
    assert_int_equal(device.counter, 2);
    support_bigram(&plan, &support_settings);
    plan.file[FIRN_PAYLOAD_OFFSET + 44] ^= 1;
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_RUN_HASH);
    assert_int_equal(device.counter, 2);
    plan.file[FIRN_HEADER_BYTES + 44] ^= 1;
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_SIGNATURE);
    assert_int_equal(device.counter, 2);
}

/* --- train steps --- */

TEST(trains) {
    open_bigram(&one, &support_settings, NULL);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report, first;
    train(&one, &source, 1, &first);
    assert_int_equal(first.global_step, 1);
    assert_int_equal(first.optimizer_step, 1);
    assert_false(first.skipped);
    assert_float_equal(first.learning_rate, 0.25f, 0);
    assert_float_equal(first.loss_scale, 1024.0f, 0);
    assert_true(first.gradient_norm > 0.01f && first.gradient_norm < 10.0f);
    assert_true(first.loss > 1.5f && first.loss < 3.0f); /* about log 8 */
    train(&one, &source, 4, &report);
    assert_float_equal(report.learning_rate, 0.5f, 0); /* optimizer step 4 */
    train(&one, &source, 25, &report);
    assert_int_equal(report.global_step, 30);
    assert_true(report.loss < first.loss - 0.2f);
    uint64_t steps;
    assert_int_equal(firn_progress(&one.firn, &steps), FIRN_OK);
    assert_int_equal(steps, 30);
    uint8_t before[32], after[32];
    digest_of(&one, before);
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_ERROR_RUN_COMPLETE);
    digest_of(&one, after);
    assert_memory_equal(before, after, 32);
    int64_t cursor;
    memcpy(&cursor, support_tensor(&one.firn, "counters.cursor").data, sizeof cursor);
    assert_int_equal(cursor, 30 * 2 * BIGRAM_SAMPLES);
}

/* A run of 0 steps has no end. */
TEST(a_run_without_an_end_goes_on) {
    signed_plan_settings settings = support_settings;
    settings.steps = 0;
    open_bigram(&one, &settings, NULL);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    firn_info info;
    uint64_t steps;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_int_equal(info.steps, 0);
    train(&one, &source, 100, &report);
    assert_int_equal(report.global_step, 100);
    assert_int_equal(firn_progress(&one.firn, &steps), FIRN_OK);
    assert_int_equal(steps, 100);
}

/* Recomputes one complete step with plain loops. */
TEST(one_step_is_right) {
    signed_plan_settings settings = support_settings;
    settings.sampler = FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
    settings.micro_batches = 1;
    open_bigram(&one, &settings, NULL);
    enum { V = BIGRAM_VOCABULARY };
    double before[V][V], gradient[V][V] = {{0}}, loss = 0;
    const float *table = support_tensor(&one.firn, "table").data;
    for (int i = 0; i < V * V; i++)
        before[i / V][i % V] = (double)table[i];
    const int terms = BIGRAM_SAMPLES * (BIGRAM_WINDOW - 1);
    for (int sample = 0; sample < BIGRAM_SAMPLES; sample++)
        for (int t = 0; t < BIGRAM_WINDOW - 1; t++) {
            const uint8_t *at = text + sample * 2 + t; /* windows start two tokens apart */
            double sum = 0;
            for (int v = 0; v < V; v++)
                sum += (double)firn_exp((float)before[at[0]][v]);
            loss += ((double)firn_log((float)sum) - before[at[0]][at[1]]) / terms;
            for (int v = 0; v < V; v++)
                gradient[at[0]][v] +=
                    ((double)firn_exp((float)before[at[0]][v]) / sum - (v == at[1] ? 1.0 : 0.0)) / terms;
        }
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    train(&one, &source, 1, &report);
    assert_near((double)report.loss, loss, 1e-5);
    for (int i = 0; i < V * V; i++)
        assert_near((double)table[i], before[i / V][i % V] - 0.25 * gradient[i / V][i % V], 1e-6);
}

TEST(errors_of_data_cost_nothing) {
    open_bigram(&one, &support_settings, NULL);
    open_bigram(&two, &support_settings, NULL);
    bytes_source good, bad;
    support_text(&good, text, whole);
    firn_step_report report;
    train(&one, &good, 3, &report);
    train(&two, &good, 3, &report);
    /* fails each read of a step in turn, including those of the second micro-batch */
    uint32_t reads = 0;
    for (uint32_t place = 1; place <= 8; place++) {
        support_text(&bad, text, whole);
        bad.fail_after = place;
        assert_int_equal(firn_train_step(&one.firn, &bad.source, &report), FIRN_ERROR_SOURCE);
        reads = bad.reads;
    }
    assert_int_equal(reads, 8); /* two micro-batches of two samples with two inputs each */
    uint8_t outside[sizeof text];
    memset(outside, BIGRAM_VOCABULARY, sizeof outside);
    support_text(&bad, outside, whole);
    assert_int_equal(firn_train_step(&one.firn, &bad.source, &report), FIRN_ERROR_DATA_RANGE);
    support_text(&bad, text, (const uint64_t[]){BIGRAM_WINDOW, 0});
    assert_int_equal(firn_train_step(&one.firn, &bad.source, &report), FIRN_ERROR_DATA_TOO_SHORT);
    support_text(&bad, text, whole);
    bad.streams[0].element = FIRN_INT32;
    assert_int_equal(firn_train_step(&one.firn, &bad.source, &report), FIRN_ERROR_DATA_TYPE);
    assert_int_equal(firn_train_step(&one.firn, NULL, &report), FIRN_ERROR_ARGUMENT);
    assert_same_state(&one, &two);
    train(&one, &good, 3, &report);
    train(&two, &good, 3, &report);
    assert_same_state(&one, &two);
}

TEST(a_loss_that_is_not_finite_stops) {
    signed_plan_settings settings = support_settings;
    settings.learning_rate = 3e38f;
    open_bigram(&one, &settings, NULL);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    uint8_t before[32], after[32];
    int status = FIRN_OK;
    uint64_t steps = 0;
    while (status == FIRN_OK && steps < 20) {
        digest_of(&one, before);
        assert_int_equal(firn_progress(&one.firn, &steps), FIRN_OK);
        status = firn_train_step(&one.firn, &source.source, &report);
    }
    assert_int_equal(status, FIRN_ERROR_LOSS_NOT_FINITE);
    assert_int_equal(report.global_step, steps);
    assert_false(report.loss - report.loss == 0.0f);
    digest_of(&one, after);
    assert_memory_equal(before, after, 32);
    /* A plan without the loss check continues. */
    settings.check_loss = false;
    open_bigram(&one, &settings, NULL);
    train(&one, &source, (int)steps, &report);
    assert_true(report.loss - report.loss == 0.0f);
    train(&one, &source, 1, &report);
    assert_false(report.loss - report.loss == 0.0f);
    assert_int_equal(report.global_step, steps + 1);
}

/* The scale is 2^126 and the gradient of each loss is multiplied by eight: it overflows in the first step and, after
 * one halving of the scale, in the second. */
static signed_plan_settings overflowing(void) {
    signed_plan_settings settings = support_settings;
    settings.initial_scale = 0x1p126f;
    settings.gradient_factor = 16.0f; /* halved by the mean over two micro-batches */
    return settings;
}

TEST(overflows_are_skipped) {
    const signed_plan_settings settings = overflowing();
    open_bigram(&one, &settings, NULL);
    bytes_source source;
    support_text(&source, text, whole);
    float before[BIGRAM_VOCABULARY * BIGRAM_VOCABULARY];
    const firn_tensor_info table = support_tensor(&one.firn, "table");
    memcpy(before, table.data, sizeof before);
    firn_step_report report;
    for (uint64_t i = 1; i <= 2; i++) {
        train(&one, &source, 1, &report);
        assert_true(report.skipped);
        assert_int_equal(report.global_step, i);
        assert_int_equal(report.optimizer_step, 0);
        assert_float_equal(report.loss_scale, i == 1 ? 0x1p126f : 0x1p125f, 0);
        assert_false(report.gradient_norm - report.gradient_norm == 0.0f);
        assert_memory_equal(table.data, before, sizeof before);
    }
    train(&one, &source, 1, &report);
    assert_false(report.skipped);
    assert_int_equal(report.global_step, 3);
    assert_int_equal(report.optimizer_step, 1);
    assert_float_equal(report.learning_rate, 0.25f, 0); /* skipped steps do not advance the schedule */
    assert_memory_not_equal(table.data, before, sizeof before);
    int64_t skipped;
    memcpy(&skipped, support_tensor(&one.firn, "scaler.num_skipped_steps").data, sizeof skipped);
    assert_int_equal(skipped, 2);
}

TEST(the_floor_of_the_scale_stops) {
    signed_plan_settings settings = overflowing();
    settings.minimum_scale = 0x1p125f;
    open_bigram(&one, &settings, NULL);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    train(&one, &source, 1, &report);
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_ERROR_LOSS_SCALE_FLOOR);
    assert_true(report.skipped);
    assert_int_equal(report.global_step, 2); /* all state is consistent */
    uint8_t digest[32];
    digest_of(&one, digest);
}

/* --- independence of threads, decoding and rounding mode --- */

TEST(threads_do_not_matter) {
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    open_bigram(&one, &support_settings, NULL);
    train(&one, &source, 10, &report);
    for (unsigned threads = 2; threads <= 5; threads += 3) {
        firn_host_port host;
        firn_host_port_begin(&host, NULL, NULL, threads);
        host.port.grain = 1; /* split every op */
        open_bigram(&two, &support_settings, &host.port);
        train(&two, &source, 10, &report);
        assert_same_state(&one, &two);
        firn_host_port_end(&host);
    }
}

/* The result is the same whether ops are decoded once or on each run, and the memory of decoded ops is not written to
 * after opening. */
TEST(prepared_ops_do_not_matter) {
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    support_bigram(&plan, &support_settings);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    firn_config config = support_config(&one, &plan);
    config.prepared = firn_host_block(sizes.prepared_bytes);
    config.prepared_bytes = sizes.prepared_bytes;
    assert_non_null(config.prepared);
    one.firn = two.firn = (firn){{0}};
    assert_int_equal(firn_open(&one.firn, &config), FIRN_OK);
    assert_true(firn_host_block_seal(config.prepared, config.prepared_bytes));
    firn_config without = config;
    without.blocks = support_config(&two, &plan).blocks;
    without.prepared = NULL;
    without.prepared_bytes = 0;
    assert_int_equal(firn_open(&two.firn, &without), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    train(&one, &source, 10, &report);
    train(&two, &source, 10, &report);
    assert_same_state(&one, &two);
    firn_host_block_free(config.prepared, config.prepared_bytes);
}

TEST(old_memory_does_not_matter) {
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    memset(&one, 0x00, sizeof one);
    memset(&two, 0xff, sizeof two);
    open_bigram(&one, &support_settings, NULL);
    open_bigram(&two, &support_settings, NULL);
    train(&one, &source, 10, &report);
    train(&two, &source, 10, &report);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    for (uint32_t i = 0; i < header.region_count; i++)
        if (firn_region_is_state(header.region_kinds[i]))
            assert_memory_equal(one.blocks[i].memory, two.blocks[i].memory, (size_t)header.region_bytes[i]);
}

#if FIRN_TESTS_CONTROL_WORD
/* The caller may use another rounding mode, which is restored on return. */
TEST(the_callers_rounding_does_not_matter) {
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    open_bigram(&one, &support_settings, NULL);
    train(&one, &source, 10, &report);
    const uint32_t usual = control_word(), upward_and_flushing = usual | CONTROL_UPWARD | CONTROL_FLUSHING;
    support_bigram(&plan, &support_settings);
    assert_int_equal(support_open(&two, &plan, NULL), FIRN_OK);
    set_control_word(upward_and_flushing);
    int status = firn_initialise(&two.firn);
    for (int i = 0; status == FIRN_OK && i < 10; i++)
        status = firn_train_step(&two.firn, &source.source, &report);
    const uint32_t left = control_word();
    set_control_word(usual);
    assert_int_equal(status, FIRN_OK);
    assert_int_equal(left & CONTROL_MODES, CONTROL_UPWARD | CONTROL_FLUSHING);
    assert_same_state(&one, &two);
}

/* A subnormal attribute counts as greater than 0 even if the caller's CPU mode treats subnormals as zero; a value of 0
 * is refused. */
TEST(the_callers_zeros_do_not_matter) {
    const uint32_t usual = control_word(), flushing = usual | CONTROL_FLUSHING;
    const struct {
        float minimum_scale;
        int status;
    } cases[] = {{0x1p-140f, FIRN_OK}, {0.0f, FIRN_ERROR_OP_ATTRIBUTE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        signed_plan_settings settings = support_settings;
        settings.minimum_scale = cases[i].minimum_scale;
        support_bigram(&plan, &settings);
        set_control_word(flushing);
        const int status = support_open(&one, &plan, NULL);
        const uint32_t left = control_word();
        set_control_word(usual);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(left & CONTROL_MODES, CONTROL_FLUSHING);
    }
}
#endif

TEST(initial_values_follow_the_rule) {
    signed_plan_settings settings = support_settings;
    open_bigram(&one, &settings, NULL);
    const float *table = support_tensor(&one.firn, "table").data;
    const firn_rng rng = {.seed = settings.seed, .rng_id = 1};
    for (uint32_t i = 0; i < BIGRAM_VOCABULARY * BIGRAM_VOCABULARY; i++)
        assert_int_equal(firn_bits(table[i]), firn_bits(firn_fma(0.5f, firn_random_normal(&rng, i), 0.0f)));
    settings.uniform = true;
    open_bigram(&one, &settings, NULL);
    table = support_tensor(&one.firn, "table").data;
    for (uint32_t i = 0; i < BIGRAM_VOCABULARY * BIGRAM_VOCABULARY; i++) {
        assert_int_equal(firn_bits(table[i]), firn_bits(firn_fma(0.75f, firn_random_uniform(&rng, i), -0.25f)));
        assert_true(table[i] >= -0.25f && table[i] < 0.5f);
    }
    settings.seed++;
    open_bigram(&two, &settings, NULL);
    assert_memory_not_equal(one.parameters, two.parameters, 256);
}

/* How the table begins, for the change below, which also lets the run begin at later steps. */
static uint8_t weights_type;
enum { WEIGHTS_AT = 16, FIRST_GLOBAL_STEP = 7, FIRST_OPTIMIZER_STEP = 5 };

static void begin_from_weights(firn_native_plan *native) {
    static firn_native_initialiser initialisers[16];
    memcpy(initialisers, native->initialisers, native->initialisers_count * sizeof initialisers[0]);
    for (uint32_t i = 0; i < native->initialisers_count; i++)
        if (native->tensors[i].role == FIRN_FB_ROLE_PARAMETER)
            initialisers[i] = (firn_native_initialiser){
                .rule = FIRN_FB_INITIALISER_RULE_WEIGHTS, .element = weights_type, .weights = WEIGHTS_AT};
    initialisers[native->global_step].integer = FIRST_GLOBAL_STEP;
    initialisers[native->optimizer_step].integer = FIRST_OPTIMIZER_STEP;
    native->initialisers = initialisers;
}

/* Adds constants to a plan without a report, and signs it again. */
static void add_constants(const uint8_t *bytes, uint64_t count) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    assert_true(plan.bytes + count <= sizeof plan.file);
    memcpy(plan.file + header.constants_offset, bytes, (size_t)count);
    header.constants_bytes = count;
    header.total_bytes += count;
    plan.bytes += count;
    firn_header_encode(&header, plan.file);
    support_sign(&plan, false);
}

/* Weights of every real type become float32, exactly; counters begin where the plan says. */
TEST(weights_and_counters_begin_as_the_plan_says) {
    static const uint8_t types[] = {FIRN_FLOAT32, FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    enum { ELEMENTS = BIGRAM_VOCABULARY * BIGRAM_VOCABULARY };
    signed_plan_settings settings = support_settings;
    settings.change = begin_from_weights;
    for (size_t t = 0; t < sizeof types; t++) {
        static uint8_t constants[WEIGHTS_AT + ELEMENTS * sizeof(float)];
        weights_type = types[t];
        memset(constants, 0xa5, sizeof constants);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            firn_store(constants + WEIGHTS_AT, weights_type, i, ((float)i - 20.25f) / 3);
        support_bigram(&plan, &settings);
        add_constants(constants, WEIGHTS_AT + (uint64_t)ELEMENTS * firn_type_bytes(weights_type));
        assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
        assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
        const float *table = support_tensor(&one.firn, "table").data;
        for (uint32_t i = 0; i < ELEMENTS; i++)
            assert_int_equal(firn_bits(table[i]), firn_bits(firn_load(constants + WEIGHTS_AT, weights_type, i)));
        bytes_source source;
        support_text(&source, text, whole);
        firn_step_report report;
        uint64_t steps;
        assert_int_equal(firn_progress(&one.firn, &steps), FIRN_OK);
        assert_int_equal(steps, FIRST_GLOBAL_STEP);
        train(&one, &source, 1, &report);
        assert_int_equal(report.global_step, FIRST_GLOBAL_STEP + 1);
        assert_int_equal(report.optimizer_step, FIRST_OPTIMIZER_STEP + 1);
        assert_float_equal(report.learning_rate, 0.5f, 0); /* the second part of the schedule */
    }
}

/* --- conditions --- */

TEST(needs_a_state) {
    support_bigram(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    uint8_t digest[32];
    uint64_t steps;
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_digest(&one.firn, digest), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_progress(&one.firn, &steps), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_save(&one.firn), FIRN_ERROR_NO_STORAGE);
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_ERROR_NO_STORAGE);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_OK);
}

static jmp_buf escape;
static int calls_left;

/* A port function that does not return, like a watchdog reset. */
static void leave(void *context) {
    (void)context;
    if (--calls_left == 0)
        longjmp(escape, 1);
}

TEST(a_step_that_never_ended_poisons) {
    const firn_port port = {.struct_size = sizeof port, .alive = leave};
    bytes_source source;
    support_text(&source, text, whole);
    bool poisoned = false, untouched = false;
    for (int at = 1; at <= 20; at++) {
        calls_left = 0;
        open_bigram(&one, &support_settings, &port);
        firn_step_report report;
        calls_left = at;
        if (setjmp(escape) == 0)
            assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_OK);
        calls_left = 0;
        int status = firn_train_step(&one.firn, &source.source, &report);
        poisoned = poisoned || status == FIRN_ERROR_POISONED;
        untouched = untouched || (status == FIRN_OK && report.global_step == 1);
        if (status == FIRN_ERROR_POISONED) {
            uint8_t digest[32];
            assert_int_equal(firn_digest(&one.firn, digest), FIRN_ERROR_POISONED);
            assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
            assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_OK);
        }
    }
    assert_true(poisoned);
    assert_true(untouched);
}

/* --- eval --- */

TEST(evaluates) {
    signed_plan_settings settings = support_settings;
    settings.sampler = FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
    settings.metric = FIRN_FB_METRIC_KIND_MEAN_LOSS;
    settings.steps = 0;
    support_bigram_eval(&plan, &settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    float mean, perplexity;
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_ERROR_WRONG_MODE);
    assert_int_equal(firn_eval_result(&one.firn, &mean), FIRN_ERROR_NO_RESULT);
    double sum = 0;
    uint32_t steps = 0;
    const float *loss = support_tensor(&one.firn, "loss").data;
    uint64_t left;
    const uint64_t windows = (sizeof text - BIGRAM_WINDOW) / 2 + 1;
    assert_int_equal(firn_eval_left(&one.firn, &source.source, &left), FIRN_OK);
    assert_int_equal(left, windows);
    firn_sample_counts counts;
    assert_int_equal(firn_count_samples(&one.firn, &source.source, &counts), FIRN_OK);
    assert_int_equal(counts.all, windows);
    assert_int_equal(counts.part, windows);
    while (firn_eval_step(&one.firn, &source.source) == FIRN_OK) {
        sum += (double)*loss;
        steps++;
    }
    assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_ERROR_DATA_END);
    assert_int_equal(steps, windows / 2);
    assert_int_equal(firn_eval_left(&one.firn, &source.source, &left), FIRN_OK);
    assert_int_equal(left, windows % 2);
    assert_int_equal(firn_eval_left(&one.firn, &source.source, NULL), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_eval_result(&one.firn, &mean), FIRN_OK);
    assert_near((double)mean, sum / steps, 1e-6);
    uint64_t progress;
    assert_int_equal(firn_progress(&one.firn, &progress), FIRN_OK);
    assert_int_equal(progress, steps);

    settings.metric = FIRN_FB_METRIC_KIND_PERPLEXITY;
    settings.steps = 3;
    support_bigram_eval(&plan, &settings);
    assert_int_equal(support_open(&two, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(firn_eval_step(&two.firn, &source.source), FIRN_OK);
    assert_int_equal(firn_eval_step(&two.firn, &source.source), FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_result(&two.firn, &perplexity), FIRN_OK);
    assert_true(perplexity > 5.0f && perplexity < 20.0f);
}

TEST(counts_what_is_right) {
    support_classifier(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    uint8_t features[3 * 20], labels[20];
    for (uint32_t i = 0; i < sizeof features; i++)
        features[i] = (uint8_t)(i * 7 % 5);
    for (uint32_t i = 0; i < sizeof labels; i++)
        labels[i] = (uint8_t)(i % 4);
    bytes_source source;
    support_records(&source, features, labels, 3, 20);
    int right = 0, seen = 0;
    for (int step = 0; step < 10; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &source.source), FIRN_OK);
        const float *logits = support_tensor(&one.firn, "logits").data;
        const int32_t *wanted = support_tensor(&one.firn, "labels").data;
        for (int row = 0; row < BIGRAM_SAMPLES; row++, seen++) {
            int best = 0;
            for (int c = 1; c < 4; c++)
                best = logits[4 * row + c] > logits[4 * row + best] ? c : best;
            right += best == wanted[row];
        }
    }
    float accuracy;
    assert_int_equal(firn_eval_result(&one.firn, &accuracy), FIRN_OK);
    assert_float_equal(accuracy, (float)right / (float)seen, 0);
    labels[3] = 4;
    int status = FIRN_OK;
    for (int step = 0; step < 10 && status == FIRN_OK; step++)
        status = firn_eval_step(&one.firn, &source.source);
    assert_int_equal(status, FIRN_ERROR_DATA_RANGE);
}
