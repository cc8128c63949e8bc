/* Runs what the form of a plan is for, beyond what firnc writes today: plans built by hand that share parameters, have
 * buffers, frozen weights, views, derived copies, rings, several regions of a kind, no labels or no end. Each must run
 * and give what it says, or be refused because this build lacks a kernel, never because of its form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_signed_plans.h"

/* --- the data ------------------------------------------------------------------------------------------------------
 */

enum { RECORDS = 24, WIDTH = 8, HIDDEN = 8, CLASSES = 4, SAMPLES = 4 };

static float features[RECORDS][WIDTH];
static uint8_t labels[RECORDS];

/* Features are small multiples of 1/8, which every half type holds exactly. */
static void make_data(void) {
    for (uint32_t r = 0; r < RECORDS; r++) {
        labels[r] = (uint8_t)((r * 3 + r / 4) % CLASSES);
        for (uint32_t k = 0; k < WIDTH; k++)
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

static const firn_segment feature_segment = {RECORDS * WIDTH}, label_segment = {RECORDS};
static const firn_stream streams[] = {
    {.element = FIRN_FLOAT32, .record_elements = WIDTH, .segments = &feature_segment, .segment_count = 1},
    {.element = FIRN_UINT8, .record_elements = 1, .segments = &label_segment, .segment_count = 1},
};
static const firn_source source = {.streams = streams, .stream_count = 2, .read = read_records};
static const firn_source unlabelled = {.streams = streams, .stream_count = 1, .read = read_records};

/* --- an open instance ----------------------------------------------------------------------------------------------
 */

typedef struct run {
    _Alignas(64) uint8_t memory[32768];
    _Alignas(64) uint8_t prepared[32768];
    _Alignas(64) uint8_t workspace[65536];
    firn firn;
} run;

static const char *kernels; /* the kernel set; NULL: the best of this machine */

static run one, two, three, four;
static signed_plan plan, other;
static builder b;

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

/* --- storage for a checkpoint --------------------------------------------------------------------------------------
 */

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

/* --- the network: logits = b relu(a x) + c --------------------------------------------------------------------------
 */

/* What a plan of this network has beyond the plain one. */
typedef struct features_of_plan {
    uint8_t mode;
    bool unlabelled;  /* eval: no loss and no metric */
    bool regions;     /* several of parameters and arenas, one of each slow */
    bool buffers;     /* the batches counted, and a running mean of the features */
    bool frozen;      /* a is read in place from the constants, and a trained adapter beside it */
    uint8_t type;     /* of the frozen weight */
    bool flip;        /* one bit of the frozen weight differs */
    bool views;       /* a and b are slices of one parameter; hidden, logits and labels are used in other shapes */
    bool clip;        /* by norm, without a loss scale */
    float limit;      /* of the norm */
    float scale;      /* if not 0, dynamic loss scaling begins with it */
    bool half_weight; /* derive: a in bfloat16 */
    uint8_t weights;  /* type of the initial values of a */
    uint32_t micro_batches;
    uint64_t steps;
    const char *buffer_name;
    firn_fb_reduction reduction; /* of the product with the frozen weight */
} features_of_plan;

static const features_of_plan plain = {.mode = FIRN_MODE_TRAIN,
                                       .type = FIRN_BFLOAT16,
                                       .micro_batches = 3,
                                       .steps = 100,
                                       .limit = 0.25f,
                                       .buffer_name = "model.running_mean"};

static features_of_plan eval_of(features_of_plan has) {
    has.mode = FIRN_MODE_EVAL;
    return has;
}

/* The tensors of the network; those a plan has not are 0. */
static struct {
    int cursor, global_step, optimizer_step, count, sum, scale, skipped, overflows, since;
    int a, b, c, ab, adapter, frozen, batches, running;
    int x, labels, hidden, hidden_of_b, logits, logits_of_loss, labels_of_loss, loss, max, sums;
    int a_used, b_used, rate, tenth;
    int total_a, total_b, total_c, total_ab, total_mean;
} t;

static float weights_of_a[HIDDEN * WIDTH], weights_of_b[CLASSES * HIDDEN];
static uint16_t half_weights[HIDDEN * WIDTH]; /* bits; of any half type, all are finite */

/* Fills the initial values. a has the values of half_weights in a type. */
static void make_weights(uint8_t type) {
    for (uint32_t i = 0; i < HIDDEN * WIDTH; i++) {
        half_weights[i] = (uint16_t)(0x3e00 + i * 613 % 0x100 + (i % 3 == 0 ? 0x8000 : 0));
        weights_of_a[i] = firn_load(half_weights, type, i);
    }
    for (uint32_t i = 0; i < CLASSES * HIDDEN; i++)
        weights_of_b[i] = (float)((int)(i * 11 % 17) - 8) / 16;
}

static const uint32_t one_element[] = {1, 0}, classes[] = {CLASSES, 0}, a_dims[] = {HIDDEN, WIDTH, 0},
                      b_dims[] = {CLASSES, HIDDEN, 0}, width[] = {WIDTH, 0};
static const firn_fb_reduction in_float32 = {.kind = FIRN_FB_REDUCTION_KIND_F32};

static int activation(const uint32_t *dims) {
    return (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, dims);
}

static int gradient(const uint32_t *dims) {
    return (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, dims);
}

static int parameter(int region, const char *name, const uint32_t *dims) {
    return (int)builder_state(&b, region, name, FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, dims);
}

/* A product with one reduction, in float32, and the weight as [outputs, inputs]. */
static void product(uint16_t code, int left, int right, int result, firn_fb_reduction reduction) {
    firn_native_op *op = builder_op(&b, code, (int[]){left, right, BUILDER_END}, (int[]){result, BUILDER_END});
    builder_integer(&b, op, 0);
    builder_reduction(&b, op, reduction);
}

static void unary(uint16_t code, int from, int to) {
    (void)builder_op(&b, code, (int[]){from, BUILDER_END}, (int[]){to, BUILDER_END});
}

static void binary(uint16_t code, int left, int right, int to) {
    (void)builder_op(&b, code, (int[]){left, right, BUILDER_END}, (int[]){to, BUILDER_END});
}

static void count(int counter) {
    builder_integer(&b, builder_op(&b, FIRN_OP_count, (int[]){counter, BUILDER_END}, (int[]){counter, BUILDER_END}), 1);
}

/* The state, sorted by name. */
static void add_state(const features_of_plan *has) {
    bool training = has->mode == FIRN_MODE_TRAIN;
    int first = BUILDER_PARAMETERS, second = first, slow = first;
    if (has->regions) {
        second = builder_region(&b, FIRN_FB_REGION_KIND_PARAMETERS);
        slow = builder_region(&b, FIRN_FB_REGION_KIND_SLOW_PARAMETERS);
    }
    t.cursor = (int)builder_counter(&b, BUILDER_SESSION, "counters.cursor");
    if (training) {
        t.global_step = (int)builder_counter(&b, BUILDER_OPTIMIZER, "counters.global_step");
        t.optimizer_step = (int)builder_counter(&b, BUILDER_OPTIMIZER, "counters.optimizer_step");
    } else if (!has->unlabelled) {
        t.count = (int)builder_counter(&b, BUILDER_SESSION, "metric.count");
        t.sum = (int)builder_state(&b, BUILDER_SESSION, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER,
                                   (uint32_t[]){2, 0});
    }
    if (has->views) {
        float both[HIDDEN * WIDTH + CLASSES * HIDDEN];
        memcpy(both, weights_of_a, sizeof weights_of_a);
        memcpy(both + HIDDEN * WIDTH, weights_of_b, sizeof weights_of_b);
        t.ab = parameter(first, "model.ab", (uint32_t[]){HIDDEN + CLASSES, WIDTH, 0});
        builder_weights(&b, (uint32_t)t.ab, FIRN_FLOAT32, both, sizeof both);
    } else {
        t.a = parameter(first, has->frozen ? "model.adapter" : "model.a", a_dims);
        if (has->frozen)
            b.initialisers[t.a] =
                (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_NORMAL, .rng_id = 1, .b = 0.25f};
        else if (has->weights != FIRN_FLOAT32)
            builder_weights(&b, (uint32_t)t.a, has->weights, half_weights, sizeof half_weights);
        else
            builder_weights(&b, (uint32_t)t.a, FIRN_FLOAT32, weights_of_a, sizeof weights_of_a);
        t.b = parameter(second, "model.b", b_dims);
        builder_weights(&b, (uint32_t)t.b, FIRN_FLOAT32, weights_of_b, sizeof weights_of_b);
    }
    if (has->buffers)
        t.batches = (int)builder_state(&b, first, "model.batches", FIRN_INT64, FIRN_FB_ROLE_BUFFER, one_element);
    t.c = parameter(slow, "model.c", classes);
    if (has->buffers)
        t.running = (int)builder_state(&b, slow, has->buffer_name, FIRN_FLOAT32, FIRN_FB_ROLE_BUFFER, width);
    if (has->scale != 0) {
        t.scale = (int)builder_state(&b, BUILDER_OPTIMIZER, "scaler.loss_scale", FIRN_FLOAT32,
                                     FIRN_FB_ROLE_OPTIMIZER_STATE, one_element);
        b.initialisers[t.scale].a = has->scale;
        t.skipped = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.num_skipped_steps");
        t.overflows = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.overflows_since_rescale");
        t.since = (int)builder_counter(&b, BUILDER_OPTIMIZER, "scaler.steps_since_rescale");
    }
}

/* The constants: the frozen weight before all others. */
static void add_constants(const features_of_plan *has) {
    int region = builder_region(&b, FIRN_FB_REGION_KIND_CONSTANT);
    const float tenth = 0.1f;
    if (has->frozen && has->type == FIRN_FLOAT32)
        t.frozen = (int)builder_constant(&b, region, "model.frozen", FIRN_FLOAT32, a_dims, weights_of_a);
    if (has->frozen && has->type != FIRN_FLOAT32) {
        uint16_t bits[HIDDEN * WIDTH];
        memcpy(bits, half_weights, sizeof bits);
        bits[5] ^= has->flip ? 1 : 0;
        t.frozen = (int)builder_constant(&b, region, "model.frozen", has->type, a_dims, bits);
    }
    if (has->buffers)
        t.tenth = (int)builder_constant(&b, region, NULL, FIRN_FLOAT32, one_element, &tenth);
}

static void add_inputs(const features_of_plan *has) {
    t.x = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){SAMPLES, WIDTH, 0});
    b.inputs[0] = (firn_native_input){
        .name = "x", .tensor = (uint32_t)t.x, .element = FIRN_FLOAT32, .scale = 1, .ring = FIRN_ABSENT};
    b.plan.inputs_count = 1;
    b.sampler.kind = FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
    b.sampler.unit = FIRN_FB_SAMPLE_UNIT_RECORD;
    b.sampler.samples = SAMPLES;
    b.sampler.cursor = (uint32_t)t.cursor;
    if (has->unlabelled)
        return;
    t.labels = (int)builder_arena(&b, FIRN_INT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){SAMPLES, 0});
    b.inputs[1] = (firn_native_input){.name = "labels",
                                      .tensor = (uint32_t)t.labels,
                                      .stream = 1,
                                      .element = FIRN_UINT8,
                                      .limit = CLASSES,
                                      .scale = 1,
                                      .label = true,
                                      .ring = FIRN_ABSENT};
    b.plan.inputs_count = 2;
}

static void add_views(void) {
    t.a_used = (int)builder_view(&b, (uint32_t)t.ab, 0, a_dims);
    t.b_used = (int)builder_view(&b, (uint32_t)t.ab, sizeof weights_of_a, b_dims);
    t.hidden_of_b = (int)builder_view(&b, (uint32_t)t.hidden, 0, (uint32_t[]){2, 1, SAMPLES / 2, HIDDEN, 0});
    t.logits_of_loss = (int)builder_view(&b, (uint32_t)t.logits, 0, (uint32_t[]){1, SAMPLES, CLASSES, 0});
    t.labels_of_loss = (int)builder_view(&b, (uint32_t)t.labels, 0, (uint32_t[]){1, SAMPLES, 0});
}

/* hidden = relu(a x), where a may be the frozen weight and the adapter together. */
static void add_hidden(const features_of_plan *has) {
    const uint32_t hidden[] = {SAMPLES, HIDDEN, 0};
    int before = activation(hidden);
    int half = has->half_weight ? (int)builder_arena(&b, FIRN_BFLOAT16, FIRN_FB_ROLE_ACTIVATION, a_dims) : 0;
    int x_half = (int)builder_arena(&b, has->frozen && has->type != FIRN_FLOAT32 ? has->type : FIRN_BFLOAT16,
                                    FIRN_FB_ROLE_ACTIVATION, (uint32_t[]){SAMPLES, WIDTH, 0});
    if (has->half_weight) {
        unary(FIRN_OP_cast, t.a_used, half);
        builder_phase(&b, FIRN_FB_PHASE_KIND_DERIVE);
        builder_output(&b, "half", half);
    }
    unary(FIRN_OP_cast, t.x, x_half);
    if (has->half_weight) {
        product(FIRN_OP_linear, x_half, half, before, in_float32);
    } else if (has->frozen) {
        int frozen = activation(hidden), adapted = activation(hidden);
        product(FIRN_OP_linear, has->type == FIRN_FLOAT32 ? t.x : x_half, t.frozen, frozen, has->reduction);
        product(FIRN_OP_linear, t.x, t.a_used, adapted, in_float32);
        binary(FIRN_OP_add, frozen, adapted, before);
    } else {
        product(FIRN_OP_linear, t.x, t.a_used, before, in_float32);
    }
    unary(FIRN_OP_relu, before, t.hidden);
}

static void add_forward(const features_of_plan *has) {
    t.hidden = activation((uint32_t[]){SAMPLES, HIDDEN, 0});
    t.logits = has->views ? activation((uint32_t[]){2, 1, SAMPLES / 2, CLASSES, 0})
                          : activation((uint32_t[]){SAMPLES, CLASSES, 0});
    t.a_used = t.a;
    t.b_used = t.b;
    t.hidden_of_b = t.hidden;
    t.logits_of_loss = t.logits;
    t.labels_of_loss = t.labels;
    if (has->views)
        add_views();
    add_hidden(has);
    firn_native_op *last = builder_op(&b, FIRN_OP_linear, (int[]){t.hidden_of_b, t.b_used, t.c, BUILDER_END},
                                      (int[]){t.logits, BUILDER_END});
    builder_integer(&b, last, 0);
    builder_reduction(&b, last, in_float32);
    builder_output(&b, "logits", t.logits_of_loss);
    if (has->unlabelled)
        return;
    const uint32_t viewed[] = {1, SAMPLES, 0}, rows[] = {SAMPLES, 0};
    t.loss = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    t.max = activation(has->views ? viewed : rows);
    t.sums = activation(has->views ? viewed : rows);
    (void)builder_op(&b, FIRN_OP_cross_entropy, (int[]){t.logits_of_loss, t.labels_of_loss, BUILDER_END},
                     (int[]){t.loss, t.max, t.sums, BUILDER_END});
    builder_output(&b, "loss", t.loss);
    b.plan.loss = (uint32_t)t.loss;
    b.plan.check_loss = true;
}

static void accumulate(int total, int part) {
    (void)builder_op(&b, FIRN_OP_accumulate, (int[]){total, part, BUILDER_END}, (int[]){total, BUILDER_END});
}

/* The gradients of one micro-batch, added up. Of several arenas the sums take another, and the gradients a slow one. */
static void add_backward(const features_of_plan *has) {
    const uint32_t hidden[] = {SAMPLES, HIDDEN, 0};
    int slow = has->regions ? builder_region(&b, FIRN_FB_REGION_KIND_SLOW_ARENA) : BUILDER_ARENA;
    int seed = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int dlogits = gradient(has->views ? (uint32_t[]){1, SAMPLES, CLASSES, 0} : (uint32_t[]){SAMPLES, CLASSES, 0});
    int flat = has->views ? (int)builder_view(&b, (uint32_t)dlogits, 0, (uint32_t[]){SAMPLES, CLASSES, 0}) : dlogits;
    int dhidden = gradient(hidden), dbefore = gradient(hidden), dc = gradient(classes);
    int da = (int)builder_tensor(&b, slow, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, a_dims);
    int db = (int)builder_tensor(&b, slow, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, b_dims);
    builder_real(&b,
                 builder_op(&b, FIRN_OP_loss_seed, (int[]){has->scale != 0 ? t.scale : BUILDER_END, BUILDER_END},
                            (int[]){seed, BUILDER_END}),
                 1.0f / (float)has->micro_batches);
    (void)builder_op(&b, FIRN_OP_cross_entropy_backward,
                     (int[]){seed, t.logits_of_loss, t.labels_of_loss, t.max, t.sums, BUILDER_END},
                     (int[]){dlogits, BUILDER_END});
    product(FIRN_OP_linear_backward_weight, flat, t.hidden, db, in_float32);
    builder_integer(&b, builder_op(&b, FIRN_OP_sum_leading, (int[]){flat, BUILDER_END}, (int[]){dc, BUILDER_END}), 1);
    product(FIRN_OP_linear_backward_input, flat, t.b_used, dhidden, in_float32);
    binary(FIRN_OP_relu_backward, dhidden, t.hidden, dbefore);
    product(FIRN_OP_linear_backward_weight, dbefore, t.x, da, in_float32);
    int second = has->regions ? builder_region(&b, FIRN_FB_REGION_KIND_ARENA) : BUILDER_ARENA;
    t.total_c = (int)builder_tensor(&b, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, classes);
    accumulate(t.total_c, dc);
    if (has->views) {
        const uint32_t both[] = {HIDDEN + CLASSES, WIDTH, 0};
        int dab = gradient(both);
        t.total_ab = gradient(both);
        builder_integer(&b, builder_op(&b, FIRN_OP_concat, (int[]){da, db, BUILDER_END}, (int[]){dab, BUILDER_END}), 0);
        accumulate(t.total_ab, dab);
        return;
    }
    t.total_a = (int)builder_tensor(&b, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, a_dims);
    t.total_b = (int)builder_tensor(&b, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, b_dims);
    accumulate(t.total_a, da);
    accumulate(t.total_b, db);
}

/* The norm of the gradients, and factors of scale and clipping; returns the factors, or BUILDER_END without both. */
static int add_finalise(const features_of_plan *has) {
    if (!has->clip && has->scale == 0)
        return BUILDER_END;
    const int totals[] = {t.total_a, t.total_b, t.total_c};
    int partial = gradient((uint32_t[]){3, 0}), norm = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int finite = (int)builder_scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT),
        factors = gradient((uint32_t[]){FIRN_FACTORS, 0});
    const int scale = has->scale != 0 ? t.scale : BUILDER_END;
    for (int i = 0; i < 3; i++) {
        int scratch = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_SCRATCH, (uint32_t[]){1, 1, 0});
        builder_integer(&b,
                        builder_op(&b, FIRN_OP_sum_of_squares, (int[]){totals[i], partial, scale, BUILDER_END},
                                   (int[]){partial, scratch, BUILDER_END}),
                        i);
    }
    (void)builder_op(&b, FIRN_OP_gradient_norm, (int[]){partial, BUILDER_END}, (int[]){norm, finite, BUILDER_END});
    firn_native_op *make =
        builder_op(&b, FIRN_OP_gradient_factors,
                   (int[]){has->scale != 0 ? t.scale : BUILDER_ABSENT, has->clip ? norm : BUILDER_END, BUILDER_END},
                   (int[]){factors, BUILDER_END});
    builder_integer(&b, make, has->clip ? FIRN_FB_CLIPPING_NORM : FIRN_FB_CLIPPING_NONE);
    builder_real(&b, make, has->clip ? has->limit : 0.0f);
    builder_phase(&b, FIRN_FB_PHASE_KIND_FINALISE);
    b.plan.gradient_norm = (uint32_t)norm;
    if (has->scale != 0) {
        b.plan.finite = (uint32_t)finite;
        b.plan.loss_scale = (uint32_t)t.scale;
    }
    return factors;
}

static void sgd(int tensor, int total, int rate, int factors) {
    firn_native_op *op =
        builder_op(&b, FIRN_OP_sgd, (int[]){tensor, total, rate, factors, BUILDER_END}, (int[]){tensor, BUILDER_END});
    builder_integer(&b, op, 0);
    builder_real(&b, op, 0.0f);
}

/* running += 0.1 (mean - running), where total_mean is the sum of all samples of the step. */
static void add_running_mean(const features_of_plan *has) {
    int difference = gradient(width);
    firn_native_op *op = builder_op(&b, FIRN_OP_weighted_sum, (int[]){t.running, t.total_mean, BUILDER_END},
                                    (int[]){difference, BUILDER_END});
    builder_real(&b, op, 1.0f);
    builder_real(&b, op, -1.0f / (float)(SAMPLES * has->micro_batches));
    sgd(t.running, difference, t.tenth, BUILDER_END);
    count(t.batches);
}

static void add_training(const features_of_plan *has) {
    t.rate = (int)builder_scalar(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT);
    add_backward(has);
    if (has->buffers) {
        int sum = gradient(width);
        t.total_mean = gradient(width);
        builder_integer(&b, builder_op(&b, FIRN_OP_sum_leading, (int[]){t.x, BUILDER_END}, (int[]){sum, BUILDER_END}),
                        1);
        accumulate(t.total_mean, sum);
        builder_output(&b, "total_mean", t.total_mean);
    }
    builder_phase(&b, FIRN_FB_PHASE_KIND_MICRO_BATCH);
    int factors = add_finalise(has);
    if (has->views) {
        sgd(t.ab, t.total_ab, t.rate, factors);
    } else {
        sgd(t.a, t.total_a, t.rate, factors);
        sgd(t.b, t.total_b, t.rate, factors);
    }
    sgd(t.c, t.total_c, t.rate, factors);
    if (has->buffers)
        add_running_mean(has);
    count(t.optimizer_step);
    builder_phase(&b, FIRN_FB_PHASE_KIND_UPDATE);
    if (has->scale != 0) {
        int floor = (int)builder_scalar(&b, FIRN_INT32, FIRN_FB_ROLE_RESULT);
        firn_native_op *op =
            builder_op(&b, FIRN_OP_loss_scale_update,
                       (int[]){(int)b.plan.finite, t.scale, t.since, t.overflows, t.skipped, BUILDER_END},
                       (int[]){t.scale, t.since, t.overflows, t.skipped, floor, BUILDER_END});
        builder_integer(&b, op, 2);
        builder_real(&b, op, 0x1p-14f);
        builder_real(&b, op, 0x1p127f);
        builder_real(&b, op, 0.0f);
        b.plan.at_floor = (uint32_t)floor;
    }
    count(t.global_step);
    builder_phase(&b, FIRN_FB_PHASE_KIND_BOOKKEEP);
    b.nodes[0] =
        (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_LINEAR, .total = 8, .initial = 0.5, .final = 0.125};
    b.schedule = (firn_native_schedule){.tensor = (uint32_t)t.rate};
    b.plan.schedule_nodes = b.nodes;
    b.plan.schedule_nodes_count = 1;
    b.plan.schedules = &b.schedule;
    b.plan.schedules_count = 1;
    b.plan.learning_rate = (uint32_t)t.rate;
    b.plan.global_step = (uint32_t)t.global_step;
    b.plan.optimizer_step = (uint32_t)t.optimizer_step;
    b.plan.micro_batches = has->micro_batches;
    b.plan.steps = has->steps;
}

static void add_evaluation(const features_of_plan *has) {
    if (!has->unlabelled)
        (void)builder_op(&b, FIRN_OP_metric_mean, (int[]){t.loss, t.sum, t.count, BUILDER_END},
                         (int[]){t.sum, t.count, BUILDER_END});
    builder_phase(&b, FIRN_FB_PHASE_KIND_EVALUATE);
    if (has->unlabelled)
        return;
    b.metric =
        (firn_native_metric){.kind = FIRN_FB_METRIC_KIND_MEAN_LOSS, .sum = (uint32_t)t.sum, .count = (uint32_t)t.count};
    b.plan.metric = &b.metric;
}

/* Builds everything but the file, so that a test can still change it. */
static void describe(const features_of_plan *has) {
    memset(&t, 0, sizeof t);
    builder_begin(&b, has->mode);
    add_state(has);
    add_constants(has);
    add_inputs(has);
    add_forward(has);
    if (has->mode == FIRN_MODE_TRAIN)
        add_training(has);
    else
        add_evaluation(has);
}

static void build(signed_plan *to, const features_of_plan *has) {
    describe(has);
    builder_finish(&b, NULL, to);
}

static int setup(void **state) {
    (void)state;
    make_data();
    make_weights(FIRN_BFLOAT16);
    return 0;
}

/* --- shared parameters ----------------------------------------------------------------------------------------------
 */

/* Trains with an evaluation after each step, over the same parameters; and without one, with an evaluation of a
 * checkpoint after each step. Metrics and digests must be the same. */
static void evaluates_between_steps(const features_of_plan *has) {
    const features_of_plan evaluated = eval_of(*has);
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

static void an_evaluation_shares_parameters(void **state) {
    (void)state;
    evaluates_between_steps(&plain);
}

/* A training would write the parameters of the owner. */
static void a_training_shares_nothing(void **state) {
    (void)state;
    build(&plan, &plain);
    start(&one, &plan, NULL);
    assert_int_equal(open_as(&two, &plan, &one.firn, NULL), FIRN_ERROR_WRONG_MODE);
}

/* The same in three regions of parameters and three arenas; the digest is that of one region of each. */
static void parameters_lie_in_several_regions(void **state) {
    (void)state;
    features_of_plan has = plain;
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
    has = eval_of(has);
    build(&other, &has);
    assert_int_equal(open_as(&three, &other, &one.firn, NULL), FIRN_ERROR_OTHER_OWNER);
}

/* --- rings ----------------------------------------------------------------------------------------------------------
 */

/* Opens an evaluation of two inputs that read these streams from these two rings. */
static int open_with_rings(const uint8_t of_streams[2], const int of_rings[2]) {
    features_of_plan has = eval_of(plain);
    has.unlabelled = true;
    describe(&has);
    int region = builder_region(&b, FIRN_FB_REGION_KIND_RING);
    uint32_t rings[2];
    for (uint32_t i = 0; i < 2; i++)
        rings[i] = builder_tensor(&b, region, FIRN_FLOAT32, FIRN_FB_ROLE_RING, (uint32_t[]){10, WIDTH, 0});
    b.sampler.pushed = builder_tensor(&b, region, FIRN_INT64, FIRN_FB_ROLE_RING, one_element);
    b.inputs[1] = b.inputs[0];
    b.inputs[1].tensor = builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){SAMPLES, WIDTH, 0});
    b.plan.inputs_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        b.inputs[i].stream = of_streams[i];
        b.inputs[i].ring = rings[of_rings[i]];
    }
    builder_finish(&b, NULL, &plan);
    return open_as(&one, &plan, NULL, NULL);
}

static void a_stream_has_one_ring(void **state) {
    (void)state;
    const uint8_t same[] = {0, 0}, different[] = {0, 1};
    assert_int_equal(open_with_rings(same, (int[]){0, 0}), FIRN_ERROR_KERNEL_MISSING);
    assert_int_equal(open_with_rings(same, (int[]){0, 1}), FIRN_ERROR_SAMPLER);
    assert_int_equal(open_with_rings(different, (int[]){0, 1}), FIRN_ERROR_KERNEL_MISSING);
    assert_int_equal(open_with_rings(different, (int[]){1, 0}), FIRN_ERROR_KERNEL_MISSING);
    assert_int_equal(open_with_rings(different, (int[]){1, 1}), FIRN_ERROR_SAMPLER);
}

/* Samples that are pushed have a form, but no kernel yet. */
static void rings_have_no_kernel(void **state) {
    (void)state;
    const uint32_t room = 10;
    describe(&plain);
    int ring = builder_region(&b, FIRN_FB_REGION_KIND_RING);
    b.inputs[0].ring = builder_tensor(&b, ring, FIRN_FLOAT32, FIRN_FB_ROLE_RING, (uint32_t[]){room, WIDTH, 0});
    b.inputs[1].ring = builder_tensor(&b, ring, FIRN_UINT8, FIRN_FB_ROLE_RING, (uint32_t[]){room, 0});
    b.sampler.pushed = builder_tensor(&b, ring, FIRN_INT64, FIRN_FB_ROLE_RING, one_element);
    builder_finish(&b, NULL, &plan);
    assert_int_equal(open_as(&one, &plan, NULL, NULL), FIRN_ERROR_KERNEL_MISSING);
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    assert_int_equal(sizes.blocks[3].kind, FIRN_REGION_RING);
    assert_int_equal(sizes.blocks[3].bytes, room * WIDTH * 4 + 16 + 16); /* of 10 labels; of the count */
}

/* --- buffers --------------------------------------------------------------------------------------------------------
 */

/* The sums of the features of a step, added up in float32 in the order of the micro-batches. */
static void expected_sums(uint32_t step, uint32_t micro_batches, float sums[WIDTH]) {
    for (uint32_t k = 0; k < WIDTH; k++) {
        for (uint32_t m = 0; m < micro_batches; m++) {
            float part = 0;
            for (uint32_t s = 0; s < SAMPLES; s++)
                part += features[((step * micro_batches + m) * SAMPLES + s) % RECORDS][k];
            sums[k] = m == 0 ? part : sums[k] + part;
        }
    }
}

static void buffers_change_in_the_update(void **state) {
    (void)state;
    /* a sum that depends on the order: 1 + 2^-25 - 1 */
    memset(features, 0, sizeof features);
    for (uint32_t r = 0; r < 3 * SAMPLES; r += SAMPLES)
        features[r][2] = r == 0 ? 1.0f : r == SAMPLES ? 0x1p-25f : -1.0f;
    for (uint32_t r = 0; r < RECORDS; r++)
        features[r][3] = (float)r / 8;
    features_of_plan has = plain;
    has.buffers = true;
    build(&plan, &has);
    start(&one, &plan, &port);
    float running[WIDTH] = {0};
    for (uint32_t step = 0; step < 4; step++) {
        float sums[WIDTH];
        (void)train(&one, 1);
        expected_sums(step, has.micro_batches, sums);
        assert_memory_equal(floats(&one, "total_mean"), sums, sizeof sums);
        for (uint32_t k = 0; k < WIDTH; k++)
            running[k] = fmaf(-0.1f, running[k] + (-1.0f / 12) * sums[k], running[k]);
        for (uint32_t k = 0; k < WIDTH; k++)
            assert_true(fabsf(floats(&one, "model.running_mean")[k] - running[k]) <= 1e-6f);
        assert_int_equal(*(const int64_t *)support_tensor(&one.firn, "model.batches").data, step + 1);
    }
    assert_true(floats(&one, "model.running_mean")[3] > 0.25f);
    /* an evaluation restores them; one with another name of a buffer is of another model */
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    features_of_plan evaluated = eval_of(has);
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

static void a_skipped_step_leaves_buffers(void **state) {
    (void)state;
    features_of_plan has = plain;
    has.buffers = true;
    has.scale = 0x1p127f; /* the first gradients overflow */
    for (uint32_t r = 0; r < RECORDS; r++)
        for (uint32_t k = 0; k < WIDTH; k++)
            features[r][k] *= 32;
    build(&plan, &has);
    start(&one, &plan, NULL);
    firn_step_report report;
    int64_t updates = 0;
    uint32_t skipped = 0;
    for (int step = 0; step < 8; step++) {
        float before[WIDTH];
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

/* --- a frozen weight with an adapter --------------------------------------------------------------------------------
 */

static void a_frozen_weight_is_read_in_place(void **state) {
    (void)state;
    features_of_plan has = plain;
    has.frozen = true;
    evaluates_between_steps(&has); /* leaves a checkpoint and the trained instance `one` */
    firn_tensor_info frozen = support_tensor(&one.firn, "model.frozen");
    assert_int_equal(frozen.type, FIRN_BFLOAT16);
    assert_memory_equal(frozen.data, half_weights, sizeof half_weights);
    assert_true((const uint8_t *)frozen.data > plan.file && (const uint8_t *)frozen.data < plan.file + plan.bytes);
    /* one bit makes it another model */
    features_of_plan evaluated = eval_of(has);
    evaluated.flip = true;
    build(&other, &evaluated);
    assert_int_equal(open_as(&two, &other, NULL, &port), FIRN_OK);
    assert_int_equal(firn_restore(&two.firn, NULL), FIRN_ERROR_CHECKPOINT_OTHER_MODEL);
    assert_int_equal(open_as(&three, &other, &one.firn, NULL), FIRN_ERROR_OTHER_OWNER);
    /* the same values in float32 give the same bits */
    features_of_plan wide = has;
    wide.type = FIRN_FLOAT32;
    build(&other, &wide);
    start(&four, &other, NULL);
    (void)train(&four, 5);
    assert_same_state(&one, &four);
}

/* --- initial values and continued runs ------------------------------------------------------------------------------
 */

static void weights_begin_in_half_types(void **state) {
    (void)state;
    static const uint8_t types[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (uint32_t i = 0; i < sizeof types; i++) {
        make_weights(types[i]);
        features_of_plan has = plain;
        build(&plan, &has);
        start(&one, &plan, NULL);
        has.weights = types[i];
        build(&other, &has);
        start(&two, &other, NULL);
        assert_memory_equal(floats(&two, "model.a"), weights_of_a, sizeof weights_of_a);
        (void)train(&one, 3);
        (void)train(&two, 3);
        assert_same_state(&one, &two);
    }
    make_weights(FIRN_BFLOAT16);
}

/* Lets the plan in the builder begin with the state of a run. */
static void begin_with_state_of(const run *run) {
    firn_tensor_info info;
    for (uint32_t i = 0; i < b.plan.state_tensors; i++) {
        assert_int_equal(firn_tensor_at(&run->firn, i, &info), FIRN_OK);
        assert_string_equal(info.name, b.tensors[i].name);
        b.initialisers[i] = (firn_native_initialiser){0};
        if (info.type == FIRN_INT64)
            b.initialisers[i].integer = *(const int64_t *)info.data;
        else
            builder_weights(&b, i, FIRN_FLOAT32, info.data, info.bytes);
    }
}

static void a_run_continues_under_a_new_plan(void **state) {
    (void)state;
    features_of_plan has = plain;
    has.buffers = true;
    has.scale = 0x1p126f;
    build(&plan, &has);
    start(&one, &plan, NULL);
    (void)train(&one, 4);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    describe(&has);
    b.weights_bytes = 0; /* instead of the old plan's */
    begin_with_state_of(&one);
    b.plan.origin = info.run_hash;
    b.plan.origin_count = sizeof info.run_hash;
    b.plan.steps = has.steps + 1; /* anything else may differ */
    builder_finish(&b, NULL, &other);
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

/* --- evaluation without labels --------------------------------------------------------------------------------------
 */

static void expected_logits(uint32_t first, float logits[SAMPLES * CLASSES]) {
    for (uint32_t s = 0; s < SAMPLES; s++) {
        float hidden[HIDDEN];
        for (uint32_t h = 0; h < HIDDEN; h++) {
            float sum = 0;
            for (uint32_t k = 0; k < WIDTH; k++)
                sum = fmaf(features[first + s][k], weights_of_a[h * WIDTH + k], sum);
            hidden[h] = sum > 0 ? sum : 0;
        }
        for (uint32_t o = 0; o < CLASSES; o++) {
            float sum = 0;
            for (uint32_t h = 0; h < HIDDEN; h++)
                sum = fmaf(hidden[h], weights_of_b[o * HIDDEN + h], sum);
            logits[s * CLASSES + o] = sum + 0.0f;
        }
    }
}

static void an_evaluation_needs_no_labels(void **state) {
    (void)state;
    features_of_plan has = eval_of(plain);
    has.unlabelled = true;
    build(&plan, &has);
    start(&one, &plan, NULL);
    float value, logits[SAMPLES * CLASSES];
    for (uint32_t step = 0; step < RECORDS / SAMPLES; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        firn_tensor_info info;
        assert_int_equal(firn_output(&one.firn, "logits", &info), FIRN_OK);
        assert_int_equal(info.bytes, sizeof logits);
        expected_logits(step * SAMPLES, logits);
        assert_memory_equal(info.data, logits, sizeof logits);
        assert_int_equal(firn_output(&one.firn, "loss", &info), FIRN_ERROR_ARGUMENT);
    }
    assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_result(&one.firn, &value), FIRN_ERROR_NO_METRIC);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_false(info.metric);
}

/* --- a session ------------------------------------------------------------------------------------------------------
 */

/* An evaluation carries caches from one batch to the next: here the last logits, and a position. */
static void caches_stay_between_batches(void **state) {
    (void)state;
    features_of_plan has = eval_of(plain);
    has.unlabelled = true;
    const uint32_t of_logits[] = {SAMPLES, CLASSES, 0};
    builder_begin(&b, FIRN_MODE_EVAL);
    (void)builder_state(&b, BUILDER_SESSION, "cache.half", FIRN_BFLOAT16, FIRN_FB_ROLE_CACHE, (uint32_t[]){7, 0});
    int last = (int)builder_state(&b, BUILDER_SESSION, "cache.last", FIRN_FLOAT32, FIRN_FB_ROLE_CACHE, of_logits);
    int position =
        (int)builder_state(&b, BUILDER_SESSION, "cache.position", FIRN_INT64, FIRN_FB_ROLE_CACHE, one_element);
    memset(&t, 0, sizeof t);
    add_state(&has);
    add_inputs(&has);
    add_forward(&has);
    int earlier = activation(of_logits), difference = activation(of_logits);
    firn_native_op *copy =
        builder_op(&b, FIRN_OP_weighted_sum, (int[]){last, last, BUILDER_END}, (int[]){earlier, BUILDER_END});
    builder_real(&b, copy, 1.0f);
    builder_real(&b, copy, 0.0f);
    firn_native_op *subtract =
        builder_op(&b, FIRN_OP_weighted_sum, (int[]){t.logits, last, BUILDER_END}, (int[]){difference, BUILDER_END});
    builder_real(&b, subtract, 1.0f);
    builder_real(&b, subtract, -1.0f);
    accumulate(last, t.logits); /* an evaluation has one micro-batch, so this replaces it */
    count(position);
    add_evaluation(&has);
    builder_output(&b, "earlier", earlier);
    builder_output(&b, "difference", difference);
    builder_finish(&b, NULL, &plan);
    start(&one, &plan, NULL);
    float before[SAMPLES * CLASSES] = {0}, logits[SAMPLES * CLASSES];
    for (uint32_t step = 0; step < 3; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        expected_logits(step * SAMPLES, logits);
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

/* --- a run without an end -------------------------------------------------------------------------------------------
 */

static void a_run_may_have_no_end(void **state) {
    (void)state;
    features_of_plan has = plain;
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
    describe(&has);
    b.initialisers[t.cursor].integer = INT64_C(1) << 62;
    b.initialisers[t.global_step].integer = INT64_C(1) << 62;
    b.initialisers[t.optimizer_step].integer = INT64_C(1) << 62;
    builder_finish(&b, NULL, &plan);
    start(&one, &plan, NULL);
    report = train(&one, 3);
    assert_true(report.global_step == (UINT64_C(1) << 62) + 3);
    assert_true(report.learning_rate == 0.125f && isfinite(report.loss));
}

/* --- wide ops -------------------------------------------------------------------------------------------------------
 */

enum { JOINED = 40 };

/* concat of 40 rows of the features, which are views. */
static void build_wide(void) {
    features_of_plan has = eval_of(plain);
    has.unlabelled = true;
    describe(&has);
    int rows[SAMPLES], list[JOINED + 1];
    for (uint32_t s = 0; s < SAMPLES; s++)
        rows[s] = (int)builder_view(&b, (uint32_t)t.x, s * WIDTH * sizeof(float), (uint32_t[]){1, WIDTH, 0});
    for (uint32_t i = 0; i < JOINED; i++)
        list[i] = rows[i * i % 7 % SAMPLES];
    list[JOINED] = BUILDER_END;
    int wide = activation((uint32_t[]){JOINED, WIDTH, 0});
    builder_integer(&b, builder_op(&b, FIRN_OP_concat, list, (int[]){wide, BUILDER_END}), 0);
    b.phases[0].ops_count++;
    builder_output(&b, "wide", wide);
    builder_finish(&b, NULL, &plan);
}

static void an_op_may_have_forty_inputs(void **state) {
    (void)state;
    build_wide();
    start(&one, &plan, NULL);
    for (uint32_t step = 0; step < 2; step++) {
        assert_int_equal(firn_eval_step(&one.firn, &unlabelled), FIRN_OK);
        for (uint32_t i = 0; i < JOINED; i++)
            assert_memory_equal(floats(&one, "wide") + i * WIDTH, features[step * SAMPLES + i * i % 7 % SAMPLES],
                                sizeof features[0]);
    }
    firn_block blocks[FIRN_BLOCKS_MAX];
    firn_config config = config_of(&two, &plan, blocks, NULL);
    config.prepared = NULL;
    config.prepared_bytes = 0;
    assert_int_equal(firn_open(&two.firn, &config), FIRN_ERROR_PREPARED_TOO_SMALL);
}

/* --- absent inputs --------------------------------------------------------------------------------------------------
 */

/* gradient_factors has a norm but no scale before it. */
static void an_input_may_be_absent_in_the_middle(void **state) {
    (void)state;
    features_of_plan has = plain;
    build(&plan, &has);
    start(&one, &plan, NULL);
    has.clip = true;
    has.limit = 1e6f; /* changes nothing */
    build(&other, &has);
    start(&two, &other, NULL);
    firn_step_report report = train(&two, 1);
    (void)train(&one, 1);
    assert_same_state(&one, &two);
    float free_step = floats(&two, "model.b")[3] - weights_of_b[3], norm = report.gradient_norm;
    assert_true(norm > 0 && free_step != 0);
    has.limit = norm / 4;
    build(&other, &has);
    start(&three, &other, NULL);
    report = train(&three, 1);
    assert_same_float(report.gradient_norm, norm);
    float clipped_step = floats(&three, "model.b")[3] - weights_of_b[3];
    assert_true(fabsf(clipped_step * 4 - free_step) < fabsf(free_step) * 1e-3f);
}

/* --- views ----------------------------------------------------------------------------------------------------------
 */

static void views_change_no_value(void **state) {
    (void)state;
    features_of_plan has = plain;
    build(&plan, &has);
    start(&one, &plan, NULL);
    has.views = true;
    build(&other, &has);
    start(&two, &other, NULL);
    for (int step = 0; step < 5; step++) {
        firn_step_report without = train(&one, 1), with = train(&two, 1);
        assert_memory_equal(&without.loss, &with.loss, sizeof with.loss);
        const float *both = floats(&two, "model.ab");
        assert_memory_equal(floats(&one, "model.a"), both, sizeof weights_of_a);
        assert_memory_equal(floats(&one, "model.b"), both + HIDDEN * WIDTH, sizeof weights_of_b);
        assert_memory_equal(floats(&one, "logits"), floats(&two, "logits"), SAMPLES * CLASSES * sizeof(float));
        assert_same_tensor(&one, &two, "model.c");
    }
    firn_tensor_info view = support_tensor(&two.firn, "logits");
    assert_int_equal(view.rank, 3);
    assert_int_equal(view.dims[1], SAMPLES);
}

/* --- derived tensors ------------------------------------------------------------------------------------------------
 */

/* Spoils the copy in the arena, runs a batch, and tells whether the copy was made again from the parameter. */
static bool is_derived_again(run *run) {
    firn_tensor_info half = support_tensor(&run->firn, "half");
    const float *a = floats(run, "model.a");
    uint16_t expected[HIDDEN * WIDTH], spoilt[HIDDEN * WIDTH];
    for (uint32_t i = 0; i < HIDDEN * WIDTH; i++)
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

static void copies_follow_the_parameters(void **state) {
    (void)state;
    features_of_plan has = eval_of(plain);
    has.half_weight = true;
    build(&other, &has);
    build(&plan, &plain);
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
    features_of_plan has = plain;
    has.mode = mode;
    has.frozen = true;
    describe(&has);
    if (derived) {
        /* cast(frozen) before all other ops; the product takes it and x */
        firn_native_op *ops = b.ops;
        memmove(ops + 1, ops, b.op_count * sizeof *ops);
        int wide = (int)builder_arena(&b, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, a_dims);
        static uint32_t in[1], out[1], factors[2];
        in[0] = (uint32_t)t.frozen;
        out[0] = (uint32_t)wide;
        ops[0] =
            (firn_native_op){.code = FIRN_OP_cast, .inputs = in, .inputs_count = 1, .outputs = out, .outputs_count = 1};
        factors[0] = (uint32_t)t.x;
        factors[1] = (uint32_t)wide;
        assert_int_equal(ops[2].code, FIRN_OP_linear);
        ops[2].inputs = factors;
        memmove(b.phases + 1, b.phases, b.plan.phases_count * sizeof *b.phases);
        b.plan.phases_count++;
        b.phases[0] = (firn_native_phase){.kind = FIRN_FB_PHASE_KIND_DERIVE, .ops = ops, .ops_count = 1};
        for (uint32_t p = 1; p < b.plan.phases_count; p++)
            b.phases[p].ops++;
        builder_output(&b, "wide", wide);
    }
    builder_finish(&b, NULL, to);
}

static void a_training_derives_from_frozen_weights(void **state) {
    (void)state;
    build_derived_frozen(&plan, FIRN_MODE_TRAIN, false);
    start(&one, &plan, &port);
    build_derived_frozen(&other, FIRN_MODE_TRAIN, true);
    start(&two, &other, NULL);
    (void)train(&one, 1);
    (void)train(&two, 1);
    assert_memory_equal(floats(&two, "wide"), weights_of_a, sizeof weights_of_a);
    (void)train(&one, 2);
    (void)train(&two, 2);
    assert_same_state(&one, &two);
    /* its own steps do not derive again: a changed copy stays, and acts */
    float *wide = (float *)(uintptr_t)floats(&two, "wide");
    wide[0] += 1;
    (void)train(&one, 1);
    (void)train(&two, 1);
    assert_true(wide[0] == weights_of_a[0] + 1);
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

/* --- reductions without a kernel ------------------------------------------------------------------------------------
 */

static void blocks_and_pairs_have_no_kernel(void **state) {
    (void)state;
    static const char *const sets[] = {"plain", "fma", "avx2", "avx512", "avx512fp16"};
    static const firn_fb_reduction reductions[] = {{.kind = FIRN_FB_REDUCTION_KIND_EVEN_ODD_BLOCKS, .chunk = 32},
                                                   {.kind = FIRN_FB_REDUCTION_KIND_PAIRS, .chunk = 2}};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < 2; i++) {
        features_of_plan has = plain;
        has.frozen = true;
        has.reduction = reductions[i];
        build(&plan, &has);
        for (uint32_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            firn_block blocks[FIRN_BLOCKS_MAX];
            firn_config config = config_of(&one, &plan, blocks, NULL);
            config.kernels = sets[s];
            int status = firn_open(&one.firn, &config);
            if (status == FIRN_ERROR_KERNELS_UNKNOWN)
                continue;
            assert_int_equal(status, FIRN_ERROR_KERNEL_MISSING);
            tried++;
        }
    }
    assert_true(tried >= 2);
}

/* --- types that no op takes -----------------------------------------------------------------------------------------
 */

static void constants_of_every_type_are_accepted(void **state) {
    (void)state;
    static const uint8_t types[] = {FIRN_UINT8, FIRN_UINT16, FIRN_INT16, FIRN_INT8, FIRN_BOOL, FIRN_INT32, FIRN_INT64};
    static const uint8_t contents[24] = {1, 0, 1};
    describe(&plain);
    int region = builder_region(&b, FIRN_FB_REGION_KIND_CONSTANT);
    uint32_t at[sizeof types];
    for (uint32_t i = 0; i < sizeof types; i++)
        at[i] = builder_constant(&b, region, NULL, types[i], (uint32_t[]){3, 0}, contents);
    builder_finish(&b, NULL, &plan);
    start(&one, &plan, NULL);
    build(&other, &plain);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_evaluation_shares_parameters),
        cmocka_unit_test(parameters_lie_in_several_regions),
        cmocka_unit_test(a_training_shares_nothing),
        cmocka_unit_test(rings_have_no_kernel),
        cmocka_unit_test(a_stream_has_one_ring),
        cmocka_unit_test(buffers_change_in_the_update),
        cmocka_unit_test(a_skipped_step_leaves_buffers),
        cmocka_unit_test(a_frozen_weight_is_read_in_place),
        cmocka_unit_test(weights_begin_in_half_types),
        cmocka_unit_test(a_run_continues_under_a_new_plan),
        cmocka_unit_test(an_evaluation_needs_no_labels),
        cmocka_unit_test(caches_stay_between_batches),
        cmocka_unit_test(a_run_may_have_no_end),
        cmocka_unit_test(an_op_may_have_forty_inputs),
        cmocka_unit_test(an_input_may_be_absent_in_the_middle),
        cmocka_unit_test(views_change_no_value),
        cmocka_unit_test(copies_follow_the_parameters),
        cmocka_unit_test(a_training_derives_from_frozen_weights),
        cmocka_unit_test(blocks_and_pairs_have_no_kernel),
        cmocka_unit_test(constants_of_every_type_are_accepted),
    };
    kernels = "plain";
    int failed = cmocka_run_group_tests_name("plain", tests, setup, NULL);
    kernels = NULL;
    return failed + cmocka_run_group_tests_name("the best kernels of this machine", tests, setup, NULL);
}
