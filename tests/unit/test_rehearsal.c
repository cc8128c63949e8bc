/* Runs what the form of a plan is for, beyond what firnc writes today: plans built by hand that share parameters, have
 * buffers, frozen weights, views, derived copies, rings, several regions of a kind, no labels or no end. Each must run
 * and give what it says, or be refused because this build lacks a kernel, never because of its form. */
#include <math.h>
#include <string.h>

#include "plan/identity.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_network.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

/* --- the data ----------------------------------------------------------------------------------------------------- */

enum { RECORDS = 24 };

static float features[RECORDS][NETWORK_WIDTH];
static uint8_t labels[RECORDS];

/* Features are small multiples of 1/8, which every half type holds exactly. */
static void make_data(void) {
    for (uint32_t r = 0; r < RECORDS; r++) {
        labels[r] = (uint8_t)((r * 3 + r / 4) % NETWORK_CLASSES);
        for (uint32_t k = 0; k < NETWORK_WIDTH; k++)
            features[r][k] = (float)((int)((r * 7 + k * 5) % 16) - 8) / 8;
    }
}

static int read_records(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    if (stream == 0)
        memcpy(elements, &features[0][0] + first, count * sizeof(float));
    else
        memcpy(elements, labels + first, count);
    return 0;
}

static const firn_segment feature_segment = {RECORDS * NETWORK_WIDTH}, label_segment = {RECORDS};
static const firn_stream streams[] = {
    {.element = FIRN_FLOAT32, .record_elements = NETWORK_WIDTH, .segments = &feature_segment, .segment_count = 1},
    {.element = FIRN_UINT8, .record_elements = 1, .segments = &label_segment, .segment_count = 1},
};
static const firn_source source = {.streams = streams, .stream_count = 2, .read = read_records};
static const firn_source unlabelled = {.streams = streams, .stream_count = 1, .read = read_records};

/* --- an open instance --------------------------------------------------------------------------------------------- */

typedef struct run {
    _Alignas(64) uint8_t memory[32768];
    _Alignas(64) uint8_t prepared[32768];
    _Alignas(64) uint8_t workspace[65536];
    firn firn;
} run;

static const char *kernels; /* the kernel set; NULL: the best of this machine */

static run one, two, three, four;
static signed_plan plan, other;

/* Configures an instance with a block for each region that needs one; regions of parameters only without an owner. */
static firn_config config_of(run *run, const signed_plan *plan_of_run, firn_block blocks[FIRN_BLOCKS_MAX],
                             const firn *owner) {
    firn_sizes sizes;
    uint64_t used = 0;
    assert_int_equal(firn_plan_sizes(plan_of_run->file, plan_of_run->bytes, &sizes), FIRN_OK);
    for (uint32_t i = 0; i < sizes.block_count; i++) {
        bool shared = owner != NULL && sizes.blocks[i].kind % FIRN_REGION_SLOW == FIRN_REGION_PARAMETERS;
        blocks[i] = (firn_block){0};
        if (shared || sizes.blocks[i].bytes == 0)
            continue;
        blocks[i] = (firn_block){run->memory + used, sizes.blocks[i].bytes};
        used += (sizes.blocks[i].bytes + 63) / 64 * 64;
    }
    assert_true(used <= sizeof run->memory && sizes.prepared_bytes <= sizeof run->prepared);
    memset(run, 0xa5, sizeof *run);
    memset(&run->firn, 0, sizeof run->firn);
    return (firn_config){.plan = plan_of_run->file,
                         .plan_bytes = plan_of_run->bytes,
                         .public_key = plan_of_run->key,
                         .blocks = blocks,
                         .block_count = sizes.block_count,
                         .owner = owner,
                         .prepared = run->prepared,
                         .prepared_bytes = sizes.prepared_bytes,
                         .kernels = kernels};
}

static int open_as(run *run, const signed_plan *plan_of_run, const firn *owner, const firn_port *port) {
    firn_block blocks[FIRN_BLOCKS_MAX];
    firn_config config = config_of(run, plan_of_run, blocks, owner);
    config.port = port;
    int status = firn_workspace_bytes(&config, &config.workspace_bytes);
    if (status != FIRN_OK)
        return status;
    assert_true(config.workspace_bytes <= sizeof run->workspace);
    config.workspace = config.workspace_bytes != 0 ? run->workspace : NULL;
    return firn_open(&run->firn, &config);
}

static void start(run *run, const signed_plan *plan_of_run, const firn_port *port) {
    assert_int_equal(open_as(run, plan_of_run, NULL, port), FIRN_OK);
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
}

static firn_step_report train(run *run, int steps) {
    firn_step_report report = {0};
    for (int i = 0; i < steps; i++)
        assert_int_equal(firn_train_step(&run->firn, &source, &report), FIRN_OK);
    return report;
}

static void digest_of(const run *run, uint8_t digest[32]) {
    assert_int_equal(firn_digest(&run->firn, digest), FIRN_OK);
}

static void assert_same_state(const run *a, const run *c) {
    uint8_t first[32], second[32];
    digest_of(a, first);
    digest_of(c, second);
    assert_memory_equal(first, second, 32);
}

static const float *floats(const run *run, const char *name) {
    return support_tensor(&run->firn, name).data;
}

static void assert_same_tensor(const run *a, const run *c, const char *name) {
    firn_tensor_info x = support_tensor(&a->firn, name), y = support_tensor(&c->firn, name);
    assert_int_equal(x.bytes, y.bytes);
    assert_memory_equal(x.data, y.data, x.bytes);
}

/* Evaluates all data from the start and returns the value of the metric. */
static float evaluate(run *run) {
    float value;
    int status;
    while ((status = firn_eval_step(&run->firn, &source)) == FIRN_OK)
        continue;
    assert_int_equal(status, FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_result(&run->firn, &value), FIRN_OK);
    return value;
}

static void assert_same_float(float x, float y) {
    assert_memory_equal(&x, &y, sizeof x);
}

/* --- storage for a checkpoint ------------------------------------------------------------------------------------- */

static uint8_t stored[8192];
static uint64_t stored_bytes;

static int stored_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context;
    memcpy(bytes, stored + offset, count);
    return 0;
}

static int stored_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    (void)context;
    assert_true(offset + count <= sizeof stored);
    memcpy(stored + offset, bytes, count);
    stored_bytes = offset + count;
    return 0;
}

static int stored_erase(void *context, uint64_t offset, uint64_t count) {
    (void)context;
    (void)offset;
    (void)count;
    stored_bytes = 0;
    return 0;
}

static int stored_sync(void *context) {
    (void)context;
    return 0;
}

static uint64_t stored_now(void *context) {
    (void)context;
    return stored_bytes;
}

static const firn_storage storage = {.program_unit = 16,
                                     .erase_unit = 16,
                                     .read = stored_read,
                                     .program = stored_program,
                                     .erase = stored_erase,
                                     .sync = stored_sync,
                                     .stored = stored_now};
static const firn_port port = {.struct_size = sizeof port, .storage = &storage};

static void build(signed_plan *to, const network_form *has) {
    network_describe(has);
    builder_finish(&network, NULL, to);
}

BEFORE_ALL {
    make_data();
    network_make_weights(FIRN_BFLOAT16);
}

/* --- shared parameters -------------------------------------------------------------------------------------------- */

/* Trains with an evaluation after each step, over the same parameters; and without one, with an evaluation of a
 * checkpoint after each step. Metrics and digests must be the same. */
static void evaluates_between_steps(const network_form *has) {
    const network_form evaluated = network_evaluated(*has);
    build(&plan, has);
    build(&other, &evaluated);
    start(&one, &plan, NULL);
    start(&three, &plan, &port);
    assert_int_equal(open_as(&two, &other, &one.firn, NULL), FIRN_OK);
    assert_int_equal(open_as(&four, &other, NULL, &port), FIRN_OK);
    float before = 0;
    for (int step = 0; step < 5; step++) {
        (void)train(&one, 1);
        (void)train(&three, 1);
        assert_int_equal(firn_save(&three.firn), FIRN_OK);
        assert_int_equal(firn_restore(&four.firn, NULL), FIRN_OK);
        assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
        float shared = evaluate(&two);
        assert_same_float(shared, evaluate(&four));
        assert_true(shared != before && isfinite(shared));
        before = shared;
    }
    assert_same_state(&one, &three);
}

TEST(an_evaluation_shares_parameters) {
    evaluates_between_steps(&network_plain);
}

/* A training would write the parameters of the owner. */
TEST(a_training_shares_nothing) {
    build(&plan, &network_plain);
    start(&one, &plan, NULL);
    assert_int_equal(open_as(&two, &plan, &one.firn, NULL), FIRN_ERROR_WRONG_MODE);
}

/* The same in three regions of parameters and three arenas; the digest is that of one region of each. */
TEST(parameters_lie_in_several_regions) {
    network_form has = network_plain;
    has.regions = true;
    has.buffers = true;
    evaluates_between_steps(&has);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    static const uint8_t kinds[] = {FIRN_REGION_PARAMETERS,
                                    FIRN_REGION_PARAMETERS,
                                    FIRN_REGION_OPTIMIZER,
                                    FIRN_REGION_SESSION,
                                    FIRN_REGION_ARENA,
                                    FIRN_REGION_ARENA,
                                    FIRN_REGION_CONSTANT,
                                    FIRN_REGION_SLOW + FIRN_REGION_PARAMETERS,
                                    FIRN_REGION_SLOW + FIRN_REGION_ARENA};
    assert_int_equal(sizes.block_count, sizeof kinds);
    for (uint32_t i = 0; i < sizeof kinds; i++)
        assert_int_equal(sizes.blocks[i].kind, kinds[i]);
    has.regions = false;
    build(&other, &has);
    start(&two, &other, NULL);
    (void)train(&two, 5);
    assert_same_state(&one, &two);
    /* other places: not the owner's */
    has = network_evaluated(has);
    build(&other, &has);
    assert_int_equal(open_as(&three, &other, &one.firn, NULL), FIRN_ERROR_OTHER_OWNER);
}

/* --- rings -------------------------------------------------------------------------------------------------------- */

/* Opens an evaluation of two inputs that read these streams from these two rings. */
static int open_with_rings(const uint8_t of_streams[2], const int of_rings[2]) {
    network_form has = network_evaluated(network_plain);
    has.unlabelled = true;
    network_describe(&has);
    int region = builder_region(&network, FIRN_FB_REGION_KIND_RING);
    uint32_t rings[2];
    for (uint32_t i = 0; i < 2; i++)
        rings[i] =
            builder_tensor(&network, region, FIRN_FLOAT32, FIRN_FB_ROLE_RING, (uint32_t[]){10, NETWORK_WIDTH, 0});
    network.sampler.pushed = builder_tensor(&network, region, FIRN_INT64, FIRN_FB_ROLE_RING, network_one);
    network.inputs[1] = network.inputs[0];
    network.inputs[1].tensor =
        builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){NETWORK_SAMPLES, NETWORK_WIDTH, 0});
    network.plan.inputs_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        network.inputs[i].stream = of_streams[i];
        network.inputs[i].ring = rings[of_rings[i]];
    }
    builder_finish(&network, NULL, &plan);
    return open_as(&one, &plan, NULL, NULL);
}

TEST(a_stream_has_one_ring) {
    const uint8_t same[] = {0, 0}, different[] = {0, 1};
    assert_int_equal(open_with_rings(same, (int[]){0, 0}), FIRN_OK);
    assert_int_equal(open_with_rings(same, (int[]){0, 1}), FIRN_ERROR_SAMPLER);
    assert_int_equal(open_with_rings(different, (int[]){0, 1}), FIRN_OK);
    assert_int_equal(open_with_rings(different, (int[]){1, 0}), FIRN_OK);
    assert_int_equal(open_with_rings(different, (int[]){1, 1}), FIRN_ERROR_SAMPLER);
}

/* Makes a plan whose rings have room for so many records. */
static void build_with_rings(uint32_t room) {
    network_describe(&network_plain);
    int ring = builder_region(&network, FIRN_FB_REGION_KIND_RING);
    network.inputs[0].ring =
        builder_tensor(&network, ring, FIRN_FLOAT32, FIRN_FB_ROLE_RING, (uint32_t[]){room, NETWORK_WIDTH, 0});
    network.inputs[1].ring = builder_tensor(&network, ring, FIRN_UINT8, FIRN_FB_ROLE_RING, (uint32_t[]){room, 0});
    network.sampler.pushed = builder_tensor(&network, ring, FIRN_INT64, FIRN_FB_ROLE_RING, network_one);
    builder_finish(&network, NULL, &plan);
}

/* Rings that hold all of the data are drawn from as the data itself is. */
TEST(pushed_samples_are_drawn) {
    firn_step_report report;
    firn_sizes sizes;
    build_with_rings(10);
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    assert_int_equal(sizes.blocks[3].kind, FIRN_REGION_RING);
    assert_int_equal(sizes.blocks[3].bytes, 10 * NETWORK_WIDTH * 4 + 16 + 16); /* of 10 labels; of the count */
    build_with_rings(RECORDS);
    start(&one, &plan, NULL);
    build(&other, &network_plain);
    start(&two, &other, NULL);
    const void *const streams_of_data[] = {features, labels};
    assert_int_equal(firn_train_step(&one.firn, NULL, &report), FIRN_ERROR_NOT_ENOUGH_PUSHED);
    assert_int_equal(firn_push(&one.firn, streams_of_data, 2, RECORDS), FIRN_OK);
    for (int step = 0; step < 8; step++)
        assert_int_equal(firn_train_step(&one.firn, NULL, &report), FIRN_OK);
    (void)train(&two, 8);
    assert_same_state(&one, &two);
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

/* The sums of the features of a step, added up in float32 in the order of the micro-batches. */
static void expected_sums(uint32_t step, uint32_t micro_batches, float sums[NETWORK_WIDTH]) {
    for (uint32_t k = 0; k < NETWORK_WIDTH; k++) {
        for (uint32_t m = 0; m < micro_batches; m++) {
            float part = 0;
            for (uint32_t s = 0; s < NETWORK_SAMPLES; s++)
                part += features[((step * micro_batches + m) * NETWORK_SAMPLES + s) % RECORDS][k];
            sums[k] = m == 0 ? part : sums[k] + part;
        }
    }
}

TEST(buffers_change_in_the_update) {
    /* a sum that depends on the order: 1 + 2^-25 - 1 */
    memset(features, 0, sizeof features);
    for (uint32_t r = 0; r < 3 * NETWORK_SAMPLES; r += NETWORK_SAMPLES)
        features[r][2] = r == 0 ? 1.0f : r == NETWORK_SAMPLES ? 0x1p-25f : -1.0f;
    for (uint32_t r = 0; r < RECORDS; r++)
        features[r][3] = (float)r / 8;
    network_form has = network_plain;
    has.buffers = true;
    build(&plan, &has);
    start(&one, &plan, &port);
    float running[NETWORK_WIDTH] = {0};
    for (uint32_t step = 0; step < 4; step++) {
        float sums[NETWORK_WIDTH];
        (void)train(&one, 1);
        expected_sums(step, has.micro_batches, sums);
        assert_memory_equal(floats(&one, "total_mean"), sums, sizeof sums);
        for (uint32_t k = 0; k < NETWORK_WIDTH; k++)
            running[k] = fmaf(-0.1f, running[k] + (-1.0f / 12) * sums[k], running[k]);
        for (uint32_t k = 0; k < NETWORK_WIDTH; k++)
            assert_true(fabsf(floats(&one, "model.running_mean")[k] - running[k]) <= 1e-6f);
        assert_int_equal(*(const int64_t *)support_tensor(&one.firn, "model.batches").data, step + 1);
    }
    assert_true(floats(&one, "model.running_mean")[3] > 0.25f);
    /* an evaluation restores them; one with another name of a buffer is of another model */
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    network_form evaluated = network_evaluated(has);
    build(&other, &evaluated);
    assert_int_equal(open_as(&two, &other, NULL, &port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    assert_same_tensor(&one, &two, "model.running_mean");
    assert_same_tensor(&one, &two, "model.batches");
    evaluated.buffer_name = "model.running_meaning";
    build(&other, &evaluated);
    assert_int_equal(open_as(&three, &other, NULL, &port), FIRN_OK);
    assert_int_equal(firn_restore(&three.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_MODEL);
    make_data();
}

TEST(a_skipped_step_leaves_buffers) {
    network_form has = network_plain;
    has.buffers = true;
    has.scale = 0x1p127f; /* the first gradients overflow */
    for (uint32_t r = 0; r < RECORDS; r++)
        for (uint32_t k = 0; k < NETWORK_WIDTH; k++)
            features[r][k] *= 32;
    build(&plan, &has);
    start(&one, &plan, NULL);
    firn_step_report report;
    int64_t updates = 0;
    uint32_t skipped = 0;
    for (int step = 0; step < 8; step++) {
        float before[NETWORK_WIDTH];
        memcpy(before, floats(&one, "model.running_mean"), sizeof before);
        assert_int_equal(firn_train_step(&one.firn, &source, &report), FIRN_OK);
        skipped += report.skipped;
        updates += report.skipped ? 0 : 1;
        assert_int_equal(*(const int64_t *)support_tensor(&one.firn, "model.batches").data, updates);
        bool same = memcmp(before, floats(&one, "model.running_mean"), sizeof before) == 0;
        assert_int_equal(same, report.skipped);
    }
    assert_true(skipped > 0 && updates > 0);
    make_data();
}

/* --- a frozen weight with an adapter ------------------------------------------------------------------------------ */

static void count_call(void *calls) {
    ++*(uint32_t *)calls;
}

TEST(a_frozen_weight_is_read_in_place) {
    network_form has = network_plain;
    has.frozen = true;
    evaluates_between_steps(&has); /* leaves a checkpoint and the trained instance `one` */
    firn_tensor_info frozen = support_tensor(&one.firn, "model.frozen");
    assert_int_equal(frozen.type, FIRN_BFLOAT16);
    assert_memory_equal(frozen.data, network_half, sizeof network_half);
    assert_true((const uint8_t *)frozen.data > plan.file && (const uint8_t *)frozen.data < plan.file + plan.bytes);
    /* a watchdog is fed while it is hashed, which may take long */
    const firn_instance *self = firn_instance_view(&one.firn);
    uint32_t calls = 0;
    const firn_alive alive = {&calls, count_call};
    uint8_t hash[FIRN_HASH_BYTES];
    assert_int_equal(firn_model_hash(self->plan, &self->header, self->file, &alive, hash), FIRN_OK);
    assert_memory_equal(hash, self->model_hash, sizeof hash);
    assert_int_equal(calls, 1);
    /* one bit makes it another model */
    network_form evaluated = network_evaluated(has);
    evaluated.flip = true;
    build(&other, &evaluated);
    assert_int_equal(open_as(&two, &other, NULL, &port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_MODEL);
    assert_int_equal(open_as(&three, &other, &one.firn, NULL), FIRN_ERROR_OTHER_OWNER);
    /* the same values in float32 give the same bits */
    network_form wide = has;
    wide.type = FIRN_FLOAT32;
    build(&other, &wide);
    start(&four, &other, NULL);
    (void)train(&four, 5);
    assert_same_state(&one, &four);
}

/* --- initial values and continued runs ---------------------------------------------------------------------------- */

TEST(weights_begin_in_half_types) {
    static const uint8_t types[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (uint32_t i = 0; i < sizeof types; i++) {
        network_make_weights(types[i]);
        network_form has = network_plain;
        build(&plan, &has);
        start(&one, &plan, NULL);
        has.weights = types[i];
        build(&other, &has);
        start(&two, &other, NULL);
        assert_memory_equal(floats(&two, "model.a"), network_a, sizeof network_a);
        (void)train(&one, 3);
        (void)train(&two, 3);
        assert_same_state(&one, &two);
    }
    network_make_weights(FIRN_BFLOAT16);
}

/* Lets the plan in the builder begin with the state of a run. */
static void begin_with_state_of(const run *run) {
    firn_tensor_info info;
    for (uint32_t i = 0; i < network.plan.state_tensors; i++) {
        assert_int_equal(firn_tensor_at(&run->firn, i, &info), FIRN_OK);
        assert_string_equal(info.name, network.tensors[i].name);
        network.initialisers[i] = (firn_native_initialiser){0};
        if (info.type == FIRN_INT64)
            network.initialisers[i].integer = *(const int64_t *)info.data;
        else
            builder_weights(&network, i, FIRN_FLOAT32, info.data, info.bytes);
    }
}

TEST(a_run_continues_under_a_new_plan) {
    network_form has = network_plain;
    has.buffers = true;
    has.scale = 0x1p126f;
    build(&plan, &has);
    start(&one, &plan, NULL);
    (void)train(&one, 4);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    network_describe(&has);
    network.weights_bytes = 0; /* instead of the old plan's */
    begin_with_state_of(&one);
    network.plan.origin = info.run_hash;
    network.plan.origin_count = sizeof info.run_hash;
    network.plan.steps = has.steps + 1; /* anything else may differ */
    builder_finish(&network, NULL, &other);
    start(&two, &other, &port);
    assert_same_state(&one, &two);
    firn_step_report uninterrupted = train(&one, 6), continued = train(&two, 6);
    assert_same_state(&one, &two);
    assert_int_equal(continued.global_step, 10);
    assert_memory_equal(&continued.loss, &uninterrupted.loss, sizeof continued.loss);
    assert_memory_equal(&continued.learning_rate, &uninterrupted.learning_rate, sizeof continued.learning_rate);
    /* the checkpoint says where the run came from */
    assert_int_equal(firn_save(&two.firn), FIRN_OK);
    firn_restore_report report;
    assert_int_equal(firn_restore(&two.firn, &report), FIRN_OK);
    assert_memory_equal(report.origin_hash, info.run_hash, sizeof info.run_hash);
    assert_int_equal(report.global_step, 10);
    assert_same_state(&one, &two);
}

/* --- evaluation without labels ------------------------------------------------------------------------------------ */

static void expected_logits(uint32_t first, float logits[NETWORK_SAMPLES * NETWORK_CLASSES]) {
    for (uint32_t s = 0; s < NETWORK_SAMPLES; s++) {
        float hidden[NETWORK_HIDDEN];
        for (uint32_t h = 0; h < NETWORK_HIDDEN; h++) {
            float sum = 0;
            for (uint32_t k = 0; k < NETWORK_WIDTH; k++)
                sum = fmaf(features[first + s][k], network_a[h * NETWORK_WIDTH + k], sum);
            hidden[h] = sum > 0 ? sum : 0;
        }
        for (uint32_t o = 0; o < NETWORK_CLASSES; o++) {
            float sum = 0;
            for (uint32_t h = 0; h < NETWORK_HIDDEN; h++)
                sum = fmaf(hidden[h], network_b[o * NETWORK_HIDDEN + h], sum);
            logits[s * NETWORK_CLASSES + o] = sum + 0.0f;
        }
    }
}

TEST(an_evaluation_needs_no_labels) {
    network_form has = network_evaluated(network_plain);
    has.unlabelled = true;
    build(&plan, &has);
    start(&one, &plan, NULL);
    float value, logits[NETWORK_SAMPLES * NETWORK_CLASSES];
    for (uint32_t step = 0; step < RECORDS / NETWORK_SAMPLES; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        firn_tensor_info info;
        assert_int_equal(firn_output(&one.firn, "logits", &info), FIRN_OK);
        assert_int_equal(info.bytes, sizeof logits);
        expected_logits(step * NETWORK_SAMPLES, logits);
        assert_memory_equal(info.data, logits, sizeof logits);
        assert_int_equal(firn_output(&one.firn, "loss", &info), FIRN_ERROR_ARGUMENT);
    }
    assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_result(&one.firn, &value), FIRN_ERROR_NO_METRIC);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_false(info.metric);
}

/* --- a session ---------------------------------------------------------------------------------------------------- */

/* An evaluation carries caches from one batch to the next: here the last logits, and a position. */
TEST(caches_stay_between_batches) {
    network_form has = network_evaluated(network_plain);
    has.unlabelled = true;
    const uint32_t of_logits[] = {NETWORK_SAMPLES, NETWORK_CLASSES, 0};
    builder_begin(&network, FIRN_MODE_EVAL);
    (void)builder_state(&network, BUILDER_SESSION, "cache.half", FIRN_BFLOAT16, FIRN_FB_ROLE_CACHE, (uint32_t[]){7, 0});
    int last = (int)builder_state(&network, BUILDER_SESSION, "cache.last", FIRN_FLOAT32, FIRN_FB_ROLE_CACHE, of_logits);
    int position =
        (int)builder_state(&network, BUILDER_SESSION, "cache.position", FIRN_INT64, FIRN_FB_ROLE_CACHE, network_one);
    memset(&network_at, 0, sizeof network_at);
    network_add_state(&has);
    network_add_inputs(&has);
    network_add_forward(&has);
    int earlier = network_activation(of_logits), difference = network_activation(of_logits);
    firn_native_op *copy =
        builder_op(&network, FIRN_OP_weighted_sum, (int[]){last, last, BUILDER_END}, (int[]){earlier, BUILDER_END});
    builder_real(&network, copy, 1.0f);
    builder_real(&network, copy, 0.0f);
    firn_native_op *subtract = builder_op(&network, FIRN_OP_weighted_sum, (int[]){network_at.logits, last, BUILDER_END},
                                          (int[]){difference, BUILDER_END});
    builder_real(&network, subtract, 1.0f);
    builder_real(&network, subtract, -1.0f);
    network_accumulate(last, network_at.logits); /* an evaluation has one micro-batch, so this replaces it */
    network_count(position);
    network_add_evaluation(&has);
    builder_output(&network, "earlier", earlier);
    builder_output(&network, "difference", difference);
    builder_finish(&network, NULL, &plan);
    start(&one, &plan, NULL);
    float before[NETWORK_SAMPLES * NETWORK_CLASSES] = {0}, logits[NETWORK_SAMPLES * NETWORK_CLASSES];
    for (uint32_t step = 0; step < 3; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        expected_logits(step * NETWORK_SAMPLES, logits);
        assert_memory_equal(floats(&one, "logits"), logits, sizeof logits);
        assert_memory_equal(floats(&one, "earlier"), before, sizeof before);
        assert_memory_equal(floats(&one, "cache.last"), logits, sizeof logits);
        assert_same_float(floats(&one, "difference")[5], logits[5] - before[5]);
        assert_int_equal(*(const int64_t *)support_tensor(&one.firn, "cache.position").data, step + 1);
        memcpy(before, logits, sizeof before);
    }
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(*(const int64_t *)support_tensor(&one.firn, "cache.position").data, 0);
}

/* --- a run without an end ----------------------------------------------------------------------------------------- */

TEST(a_run_may_have_no_end) {
    network_form has = network_plain;
    has.steps = 0;
    build(&plan, &has);
    start(&one, &plan, NULL);
    has.steps = 40;
    build(&other, &has);
    start(&two, &other, NULL);
    (void)train(&two, 40);
    firn_step_report report = train(&one, 40);
    assert_same_state(&one, &two);
    assert_true(report.learning_rate == 0.125f); /* the schedule ended after 8 steps */
    assert_int_equal(firn_train_step(&two.firn, &source, &report), FIRN_ERROR_RUN_COMPLETE);
    report = train(&one, 10);
    assert_true(report.learning_rate == 0.125f);
    assert_int_equal(report.global_step, 50);
    /* from the largest counters that a plan can set */
    has.steps = 0;
    network_describe(&has);
    network.initialisers[network_at.cursor].integer = INT64_C(1) << 62;
    network.initialisers[network_at.global_step].integer = INT64_C(1) << 62;
    network.initialisers[network_at.optimizer_step].integer = INT64_C(1) << 62;
    builder_finish(&network, NULL, &plan);
    start(&one, &plan, NULL);
    report = train(&one, 3);
    assert_true(report.global_step == (UINT64_C(1) << 62) + 3);
    assert_true(report.learning_rate == 0.125f && isfinite(report.loss));
}

/* --- wide ops ----------------------------------------------------------------------------------------------------- */

enum { JOINED = 40 };

/* concat of 40 rows of the features, which are views. */
static void build_wide(void) {
    network_form has = network_evaluated(network_plain);
    has.unlabelled = true;
    network_describe(&has);
    int rows[NETWORK_SAMPLES], list[JOINED + 1];
    for (uint32_t s = 0; s < NETWORK_SAMPLES; s++)
        rows[s] = (int)builder_view(&network, (uint32_t)network_at.x, s * NETWORK_WIDTH * sizeof(float),
                                    (uint32_t[]){1, NETWORK_WIDTH, 0});
    for (uint32_t i = 0; i < JOINED; i++)
        list[i] = rows[i * i % 7 % NETWORK_SAMPLES];
    list[JOINED] = BUILDER_END;
    int wide = network_activation((uint32_t[]){JOINED, NETWORK_WIDTH, 0});
    builder_integer(&network, builder_op(&network, FIRN_OP_concat, list, (int[]){wide, BUILDER_END}), 0);
    network.phases[0].ops_count++;
    builder_output(&network, "wide", wide);
    builder_finish(&network, NULL, &plan);
}

TEST(an_op_may_have_forty_inputs) {
    build_wide();
    start(&one, &plan, NULL);
    for (uint32_t step = 0; step < 2; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        for (uint32_t i = 0; i < JOINED; i++)
            assert_memory_equal(floats(&one, "wide") + i * NETWORK_WIDTH,
                                features[step * NETWORK_SAMPLES + i * i % 7 % NETWORK_SAMPLES], sizeof features[0]);
    }
    firn_block blocks[FIRN_BLOCKS_MAX];
    firn_config config = config_of(&two, &plan, blocks, NULL);
    config.prepared = NULL;
    config.prepared_bytes = 0;
    assert_int_equal(firn_open(&two.firn, &config), FIRN_ERROR_PREPARED_TOO_SMALL);
}

/* --- absent inputs ------------------------------------------------------------------------------------------------ */

/* gradient_factors has a norm but no scale before it. */
TEST(an_input_may_be_absent_in_the_middle) {
    network_form has = network_plain;
    build(&plan, &has);
    start(&one, &plan, NULL);
    has.clip = true;
    has.limit = 1e6f; /* changes nothing */
    build(&other, &has);
    start(&two, &other, NULL);
    firn_step_report report = train(&two, 1);
    (void)train(&one, 1);
    assert_same_state(&one, &two);
    float free_step = floats(&two, "model.b")[3] - network_b[3], norm = report.gradient_norm;
    assert_true(norm > 0 && free_step != 0);
    has.limit = norm / 4;
    build(&other, &has);
    start(&three, &other, NULL);
    report = train(&three, 1);
    assert_same_float(report.gradient_norm, norm);
    float clipped_step = floats(&three, "model.b")[3] - network_b[3];
    assert_true(fabsf(clipped_step * 4 - free_step) < fabsf(free_step) * 1e-3f);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

TEST(views_change_no_value) {
    network_form has = network_plain;
    build(&plan, &has);
    start(&one, &plan, NULL);
    has.views = true;
    build(&other, &has);
    start(&two, &other, NULL);
    for (int step = 0; step < 5; step++) {
        firn_step_report without = train(&one, 1), with = train(&two, 1);
        assert_memory_equal(&without.loss, &with.loss, sizeof with.loss);
        const float *both = floats(&two, "model.ab");
        assert_memory_equal(floats(&one, "model.a"), both, sizeof network_a);
        assert_memory_equal(floats(&one, "model.b"), both + NETWORK_HIDDEN * NETWORK_WIDTH, sizeof network_b);
        assert_memory_equal(floats(&one, "logits"), floats(&two, "logits"),
                            NETWORK_SAMPLES * NETWORK_CLASSES * sizeof(float));
        assert_same_tensor(&one, &two, "model.c");
    }
    firn_tensor_info view = support_tensor(&two.firn, "logits");
    assert_int_equal(view.rank, 3);
    assert_int_equal(view.dims[1], NETWORK_SAMPLES);
}

/* --- derived tensors ---------------------------------------------------------------------------------------------- */

/* Spoils the copy in the arena, runs a batch, and tells whether the copy was made again from the parameter. */
static bool is_derived_again(run *run) {
    firn_tensor_info half = support_tensor(&run->firn, "half");
    const float *a = floats(run, "model.a");
    uint16_t expected[NETWORK_HIDDEN * NETWORK_WIDTH], spoilt[NETWORK_HIDDEN * NETWORK_WIDTH];
    for (uint32_t i = 0; i < NETWORK_HIDDEN * NETWORK_WIDTH; i++)
        firn_store(expected, FIRN_BFLOAT16, i, a[i]);
    memset(spoilt, 0x11, sizeof spoilt);
    memcpy((void *)(uintptr_t)half.data, spoilt, sizeof spoilt);
    int status = firn_eval_step(&run->firn, &source);
    if (status == FIRN_ERROR_DATA_END)
        return false; /* nothing ran */
    assert_int_equal(status, FIRN_OK);
    bool again = memcmp(half.data, expected, sizeof expected) == 0;
    assert_true(again || memcmp(half.data, spoilt, sizeof spoilt) == 0);
    memcpy((void *)(uintptr_t)half.data, expected, sizeof expected);
    return again;
}

TEST(copies_follow_the_parameters) {
    network_form has = network_evaluated(network_plain);
    has.half_weight = true;
    build(&other, &has);
    build(&plan, &network_plain);
    start(&two, &plan, &port);
    (void)train(&two, 2);
    assert_int_equal(firn_save(&two.firn), FIRN_OK);
    /* with parameters of its own */
    start(&one, &other, &port);
    assert_true(is_derived_again(&one));
    assert_false(is_derived_again(&one));
    assert_int_equal(firn_restore(&one.firn, NULL), FIRN_OK);
    assert_true(is_derived_again(&one));
    assert_same_tensor(&one, &two, "model.a");
    ((float *)(uintptr_t)floats(&one, "model.a"))[7] = 3;
    assert_false(is_derived_again(&one));
    assert_int_equal(firn_parameters_changed(&one.firn), FIRN_OK);
    assert_true(is_derived_again(&one));
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_true(is_derived_again(&one));
    assert_false(is_derived_again(&one));
    /* with those of a training */
    assert_int_equal(open_as(&three, &other, &two.firn, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&three.firn), FIRN_OK);
    assert_true(is_derived_again(&three));
    assert_false(is_derived_again(&three));
    (void)train(&two, 1);
    assert_true(is_derived_again(&three));
    assert_false(is_derived_again(&three));
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_OK);
    assert_true(is_derived_again(&three));
    assert_int_equal(firn_initialise(&three.firn), FIRN_OK); /* back to the first batch */
    (void)is_derived_again(&three);
    assert_int_equal(firn_parameters_changed(&two.firn), FIRN_OK);
    assert_true(is_derived_again(&three));
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    assert_true(is_derived_again(&three));
    assert_false(is_derived_again(&three));
}

/* A training derives from what it does not train: the frozen weight, in float32. */
static void build_derived_frozen(signed_plan *to, uint8_t mode, bool derived) {
    network_form has = network_plain;
    has.mode = mode;
    has.frozen = true;
    network_describe(&has);
    if (derived) {
        /* cast(frozen) before all other ops; the product takes it and x */
        firn_native_op *ops = network.ops;
        memmove(ops + 1, ops, network.op_count * sizeof *ops);
        int wide = (int)builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION,
                                      (uint32_t[]){NETWORK_HIDDEN, NETWORK_WIDTH, 0});
        static uint32_t in[1], out[1], factors[2];
        in[0] = (uint32_t)network_at.frozen;
        out[0] = (uint32_t)wide;
        ops[0] =
            (firn_native_op){.code = FIRN_OP_cast, .inputs = in, .inputs_count = 1, .outputs = out, .outputs_count = 1};
        factors[0] = (uint32_t)network_at.x;
        factors[1] = (uint32_t)wide;
        assert_int_equal(ops[2].code, FIRN_OP_linear);
        ops[2].inputs = factors;
        memmove(network.phases + 1, network.phases, network.plan.phases_count * sizeof *network.phases);
        network.plan.phases_count++;
        network.phases[0] = (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_DERIVE, .ops = ops, .ops_count = 1};
        for (uint32_t p = 1; p < network.plan.phases_count; p++)
            network.phases[p].ops++;
        builder_output(&network, "wide", wide);
    }
    builder_finish(&network, NULL, to);
}

TEST(a_training_derives_from_frozen_weights) {
    build_derived_frozen(&plan, FIRN_MODE_TRAIN, false);
    start(&one, &plan, &port);
    build_derived_frozen(&other, FIRN_MODE_TRAIN, true);
    start(&two, &other, NULL);
    (void)train(&one, 1);
    (void)train(&two, 1);
    assert_memory_equal(floats(&two, "wide"), network_a, sizeof network_a);
    (void)train(&one, 2);
    (void)train(&two, 2);
    assert_same_state(&one, &two);
    /* its own steps do not derive again: a changed copy stays, and acts */
    float *wide = (float *)(uintptr_t)floats(&two, "wide");
    wide[0] += 1;
    (void)train(&one, 1);
    (void)train(&two, 1);
    assert_true(wide[0] == network_a[0] + 1);
    uint8_t first[32], second[32];
    digest_of(&one, first);
    digest_of(&two, second);
    assert_memory_not_equal(first, second, 32);
    assert_int_equal(firn_initialise(&two.firn), FIRN_OK);
    (void)train(&two, 4);
    assert_same_state(&one, &two);
    /* and the same in an evaluation */
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    float values[2];
    for (int derived = 0; derived < 2; derived++) {
        build_derived_frozen(&other, FIRN_MODE_EVAL, derived != 0);
        assert_int_equal(open_as(&three, &other, NULL, &port), FIRN_OK);
        assert_int_equal(firn_restore(&three.firn, NULL), FIRN_OK);
        values[derived] = evaluate(&three);
    }
    assert_same_float(values[0], values[1]);
}

/* --- flushed sums ------------------------------------------------------------------------------------------------- */

TEST(every_set_computes_blocks_and_pairs) {
    static const char *const sets[] = {"plain", "fma",        "avx2", "avx512",  "avx512fp16",
                                       "amx",   "avx512bf16", "neon", "neonfp16"};
    static const firn_fb_reduction reductions[] = {{.kind = FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, .chunk = 32},
                                                   {.kind = FIRN_FB_REDUCTION_KIND_PAIRS, .chunk = 2}};
    for (uint32_t i = 0; i < 2; i++) {
        network_form has = network_plain;
        has.frozen = true;
        has.reduction = reductions[i];
        build(&plan, &has);
        for (uint32_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            kernels = sets[s];
            int status = open_as(s == 0 ? &one : &two, &plan, NULL, NULL);
            kernels = NULL;
            if (s != 0 && status == FIRN_ERROR_KERNELS_UNKNOWN)
                continue;
            assert_int_equal(status, FIRN_OK);
            assert_int_equal(firn_initialise(s == 0 ? &one.firn : &two.firn), FIRN_OK);
            (void)train(s == 0 ? &one : &two, 3);
            if (s != 0)
                assert_same_state(&one, &two);
        }
    }
}

/* --- types that no op takes --------------------------------------------------------------------------------------- */

TEST(constants_of_every_type_are_accepted) {
    static const uint8_t types[] = {FIRN_UINT8, FIRN_UINT16, FIRN_INT16, FIRN_INT8, FIRN_BOOL, FIRN_INT32, FIRN_INT64};
    static const uint8_t contents[24] = {1, 0, 1};
    network_describe(&network_plain);
    int region = builder_region(&network, FIRN_FB_REGION_KIND_CONSTANT);
    uint32_t at[sizeof types];
    for (uint32_t i = 0; i < sizeof types; i++)
        at[i] = builder_constant(&network, region, NULL, types[i], (uint32_t[]){3, 0}, contents);
    builder_finish(&network, NULL, &plan);
    start(&one, &plan, NULL);
    build(&other, &network_plain);
    start(&two, &other, NULL);
    (void)train(&one, 3);
    (void)train(&two, 3);
    assert_same_state(&one, &two);
    for (uint32_t i = 0; i < sizeof types; i++) {
        firn_tensor_info info;
        assert_int_equal(firn_tensor_at(&one.firn, at[i], &info), FIRN_OK);
        assert_int_equal(info.type, types[i]);
        assert_memory_equal(info.data, contents, info.bytes);
    }
}

int main(void) {
    kernels = "plain";
    int failed = support_test_run();
    kernels = NULL;
    return failed + support_test_run();
}
