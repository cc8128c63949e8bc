/* See support_network.h. */
#include "tests/unit/support_network.h"

#include <string.h>

#include "runtime/numerics/numerics.h"

builder network;
network_tensors network_at;

const network_form network_plain = {.mode = FIRN_MODE_TRAIN,
                                    .type = FIRN_BFLOAT16,
                                    .micro_batches = 3,
                                    .steps = 100,
                                    .limit = 0.25f,
                                    .buffer_name = "model.running_mean"};

network_form network_evaluated(network_form has) {
    has.mode = FIRN_MODE_EVAL;
    return has;
}

float network_a[NETWORK_HIDDEN * NETWORK_WIDTH], network_b[NETWORK_CLASSES * NETWORK_HIDDEN];
uint16_t network_half[NETWORK_HIDDEN * NETWORK_WIDTH]; /* bits; of any half type, all are finite */

/* Fills the initial values. a has the values of half_weights in a type. */
void network_make_weights(uint8_t type) {
    for (uint32_t i = 0; i < NETWORK_HIDDEN * NETWORK_WIDTH; i++) {
        network_half[i] = (uint16_t)(0x3e00 + i * 613 % 0x100 + (i % 3 == 0 ? 0x8000 : 0));
        network_a[i] = firn_load(network_half, type, i);
    }
    for (uint32_t i = 0; i < NETWORK_CLASSES * NETWORK_HIDDEN; i++)
        network_b[i] = (float)((int)(i * 11 % 17) - 8) / 16;
}

const uint32_t network_one[] = {1, 0};

static const uint32_t classes[] = {NETWORK_CLASSES, 0}, a_dims[] = {NETWORK_HIDDEN, NETWORK_WIDTH, 0},
                      b_dims[] = {NETWORK_CLASSES, NETWORK_HIDDEN, 0}, width[] = {NETWORK_WIDTH, 0};
static const firn_fb_reduction in_float32 = {.kind = FIRN_FB_REDUCTION_KIND_F32};

int network_activation(const uint32_t *dims) {
    return (int)builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, dims);
}

static int gradient(const uint32_t *dims) {
    return (int)builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, dims);
}

static int parameter(int region, const char *name, const uint32_t *dims) {
    return (int)builder_state(&network, region, name, FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, dims);
}

/* A product with one reduction, in float32, and the weight as [outputs, inputs]. */
static void product(uint16_t code, int left, int right, int result, firn_fb_reduction reduction) {
    firn_native_op *op = builder_op(&network, code, (int[]){left, right, BUILDER_END}, (int[]){result, BUILDER_END});
    builder_integer(&network, op, 0);
    builder_reduction(&network, op, reduction);
}

static void unary(uint16_t code, int from, int to) {
    (void)builder_op(&network, code, (int[]){from, BUILDER_END}, (int[]){to, BUILDER_END});
}

static void binary(uint16_t code, int left, int right, int to) {
    (void)builder_op(&network, code, (int[]){left, right, BUILDER_END}, (int[]){to, BUILDER_END});
}

void network_count(int counter) {
    builder_integer(
        &network, builder_op(&network, FIRN_OP_count, (int[]){counter, BUILDER_END}, (int[]){counter, BUILDER_END}), 1);
}

/* The state, sorted by name. */
void network_add_state(const network_form *has) {
    bool training = has->mode == FIRN_MODE_TRAIN;
    int first = BUILDER_PARAMETERS, second = first, slow = first;
    if (has->regions) {
        second = builder_region(&network, FIRN_FB_REGION_KIND_PARAMETERS);
        slow = builder_region(&network, FIRN_FB_REGION_KIND_SLOW_PARAMETERS);
    }
    network_at.cursor = (int)builder_counter(&network, BUILDER_SESSION, "counters.cursor");
    if (training) {
        network_at.global_step = (int)builder_counter(&network, BUILDER_OPTIMIZER, "counters.global_step");
        network_at.optimizer_step = (int)builder_counter(&network, BUILDER_OPTIMIZER, "counters.optimizer_step");
    } else if (!has->unlabelled) {
        network_at.count = (int)builder_counter(&network, BUILDER_SESSION, "metric.count");
        network_at.sum = (int)builder_state(&network, BUILDER_SESSION, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER,
                                            (uint32_t[]){2, 0});
    }
    if (has->views) {
        float both[NETWORK_HIDDEN * NETWORK_WIDTH + NETWORK_CLASSES * NETWORK_HIDDEN];
        memcpy(both, network_a, sizeof network_a);
        memcpy(both + NETWORK_HIDDEN * NETWORK_WIDTH, network_b, sizeof network_b);
        network_at.ab = parameter(first, "model.ab", (uint32_t[]){NETWORK_HIDDEN + NETWORK_CLASSES, NETWORK_WIDTH, 0});
        builder_weights(&network, (uint32_t)network_at.ab, FIRN_FLOAT32, both, sizeof both);
    } else {
        network_at.a = parameter(first, has->frozen ? "model.adapter" : "model.a", a_dims);
        if (has->frozen)
            network.initialisers[network_at.a] =
                (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_NORMAL, .rng_id = 1, .b = 0.25f};
        else if (has->weights != FIRN_FLOAT32)
            builder_weights(&network, (uint32_t)network_at.a, has->weights, network_half, sizeof network_half);
        else
            builder_weights(&network, (uint32_t)network_at.a, FIRN_FLOAT32, network_a, sizeof network_a);
        network_at.b = parameter(second, "model.b", b_dims);
        builder_weights(&network, (uint32_t)network_at.b, FIRN_FLOAT32, network_b, sizeof network_b);
    }
    if (has->buffers)
        network_at.batches =
            (int)builder_state(&network, first, "model.batches", FIRN_INT64, FIRN_FB_ROLE_BUFFER, network_one);
    network_at.c = parameter(slow, "model.c", classes);
    if (has->buffers)
        network_at.running =
            (int)builder_state(&network, slow, has->buffer_name, FIRN_FLOAT32, FIRN_FB_ROLE_BUFFER, width);
    if (has->scale != 0) {
        network_at.scale = (int)builder_state(&network, BUILDER_OPTIMIZER, "scaler.loss_scale", FIRN_FLOAT32,
                                              FIRN_FB_ROLE_OPTIMIZER_STATE, network_one);
        network.initialisers[network_at.scale].a = has->scale;
        network_at.skipped = (int)builder_counter(&network, BUILDER_OPTIMIZER, "scaler.num_skipped_steps");
        network_at.overflows = (int)builder_counter(&network, BUILDER_OPTIMIZER, "scaler.overflows_since_rescale");
        network_at.since = (int)builder_counter(&network, BUILDER_OPTIMIZER, "scaler.steps_since_rescale");
    }
}

/* The constants: the frozen weight before all others. */
static void add_constants(const network_form *has) {
    int region = builder_region(&network, FIRN_FB_REGION_KIND_CONSTANT);
    const float tenth = 0.1f;
    if (has->frozen && has->type == FIRN_FLOAT32)
        network_at.frozen = (int)builder_constant(&network, region, "model.frozen", FIRN_FLOAT32, a_dims, network_a);
    if (has->frozen && has->type != FIRN_FLOAT32) {
        uint16_t bits[NETWORK_HIDDEN * NETWORK_WIDTH];
        memcpy(bits, network_half, sizeof bits);
        bits[5] ^= has->flip ? 1 : 0;
        network_at.frozen = (int)builder_constant(&network, region, "model.frozen", has->type, a_dims, bits);
    }
    if (has->buffers)
        network_at.tenth = (int)builder_constant(&network, region, NULL, FIRN_FLOAT32, network_one, &tenth);
}

void network_add_inputs(const network_form *has) {
    network_at.x =
        (int)builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){NETWORK_SAMPLES, NETWORK_WIDTH, 0});
    network.inputs[0] = (firn_native_input){
        .name = "x", .tensor = (uint32_t)network_at.x, .element = FIRN_FLOAT32, .scale = 1, .ring = FIRN_ABSENT};
    network.plan.inputs_count = 1;
    network.sampler.kind = FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
    network.sampler.unit = FIRN_FB_SAMPLE_UNIT_RECORD;
    network.sampler.samples = NETWORK_SAMPLES;
    network.sampler.cursor = (uint32_t)network_at.cursor;
    if (has->unlabelled)
        return;
    network_at.labels = (int)builder_arena(&network, FIRN_INT32, FIRN_FB_ROLE_INPUT, (uint32_t[]){NETWORK_SAMPLES, 0});
    network.inputs[1] = (firn_native_input){.name = "labels",
                                            .tensor = (uint32_t)network_at.labels,
                                            .stream = 1,
                                            .element = FIRN_UINT8,
                                            .limit = NETWORK_CLASSES,
                                            .scale = 1,
                                            .label = true,
                                            .ring = FIRN_ABSENT};
    network.plan.inputs_count = 2;
}

static void add_views(void) {
    network_at.a_used = (int)builder_view(&network, (uint32_t)network_at.ab, 0, a_dims);
    network_at.b_used = (int)builder_view(&network, (uint32_t)network_at.ab, sizeof network_a, b_dims);
    network_at.hidden_of_b = (int)builder_view(&network, (uint32_t)network_at.hidden, 0,
                                               (uint32_t[]){2, 1, NETWORK_SAMPLES / 2, NETWORK_HIDDEN, 0});
    network_at.logits_of_loss = (int)builder_view(&network, (uint32_t)network_at.logits, 0,
                                                  (uint32_t[]){1, NETWORK_SAMPLES, NETWORK_CLASSES, 0});
    network_at.labels_of_loss =
        (int)builder_view(&network, (uint32_t)network_at.labels, 0, (uint32_t[]){1, NETWORK_SAMPLES, 0});
}

/* A cast that is a phase derive, and an output of the plan. */
static void derive(int from, int to, const char *name) {
    unary(FIRN_OP_cast, from, to);
    builder_phase(&network, FIRN_FB_PHASE_KIND_DERIVE);
    builder_output(&network, name, to);
}

/* hidden = relu(a x), where a may be the frozen weight and the adapter together. */
static void add_hidden(const network_form *has) {
    const uint32_t hidden[] = {NETWORK_SAMPLES, NETWORK_HIDDEN, 0};
    int before = network_activation(hidden);
    int half = has->half_weight ? (int)builder_arena(&network, FIRN_BFLOAT16, FIRN_FB_ROLE_ACTIVATION, a_dims) : 0;
    int x_half = (int)builder_arena(&network, has->frozen && has->type != FIRN_FLOAT32 ? has->type : FIRN_BFLOAT16,
                                    FIRN_FB_ROLE_ACTIVATION, (uint32_t[]){NETWORK_SAMPLES, NETWORK_WIDTH, 0});
    int wide = has->wide ? network_activation(a_dims) : 0;
    if (has->half_weight)
        derive(network_at.a_used, half, "half");
    if (has->wide)
        derive(network_at.frozen, wide, "wide");
    unary(FIRN_OP_cast, network_at.x, x_half);
    if (has->half_weight) {
        product(FIRN_OP_linear, x_half, half, before, in_float32);
    } else if (has->frozen) {
        int frozen = network_activation(hidden), adapted = network_activation(hidden);
        product(FIRN_OP_linear, has->wide || has->type == FIRN_FLOAT32 ? network_at.x : x_half,
                has->wide ? wide : network_at.frozen, frozen, has->reduction);
        product(FIRN_OP_linear, network_at.x, network_at.a_used, adapted, in_float32);
        binary(FIRN_OP_add, frozen, adapted, before);
    } else {
        product(FIRN_OP_linear, network_at.x, network_at.a_used, before, in_float32);
    }
    unary(FIRN_OP_relu, before, network_at.hidden);
}

void network_add_forward(const network_form *has) {
    network_at.hidden = network_activation((uint32_t[]){NETWORK_SAMPLES, NETWORK_HIDDEN, 0});
    network_at.logits = has->views ? network_activation((uint32_t[]){2, 1, NETWORK_SAMPLES / 2, NETWORK_CLASSES, 0})
                                   : network_activation((uint32_t[]){NETWORK_SAMPLES, NETWORK_CLASSES, 0});
    network_at.a_used = network_at.a;
    network_at.b_used = network_at.b;
    network_at.hidden_of_b = network_at.hidden;
    network_at.logits_of_loss = network_at.logits;
    network_at.labels_of_loss = network_at.labels;
    if (has->views)
        add_views();
    add_hidden(has);
    firn_native_op *last = builder_op(&network, FIRN_OP_linear,
                                      (int[]){network_at.hidden_of_b, network_at.b_used, network_at.c, BUILDER_END},
                                      (int[]){network_at.logits, BUILDER_END});
    builder_integer(&network, last, 0);
    builder_reduction(&network, last, in_float32);
    builder_output(&network, "logits", network_at.logits_of_loss);
    if (has->unlabelled)
        return;
    const uint32_t viewed[] = {1, NETWORK_SAMPLES, 0}, rows[] = {NETWORK_SAMPLES, 0};
    network_at.loss = (int)builder_scalar(&network, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    network_at.max = network_activation(has->views ? viewed : rows);
    network_at.sums = network_activation(has->views ? viewed : rows);
    (void)builder_op(&network, FIRN_OP_cross_entropy,
                     (int[]){network_at.logits_of_loss, network_at.labels_of_loss, BUILDER_END},
                     (int[]){network_at.loss, network_at.max, network_at.sums, BUILDER_END});
    builder_output(&network, "loss", network_at.loss);
    network.plan.loss = (uint32_t)network_at.loss;
    network.plan.check_loss = true;
}

void network_accumulate(int total, int part) {
    (void)builder_op(&network, FIRN_OP_accumulate, (int[]){total, part, BUILDER_END}, (int[]){total, BUILDER_END});
}

/* The gradients of one micro-batch, added up. Of several arenas the sums take another, and the gradients a slow one. */
static void add_backward(const network_form *has) {
    const uint32_t hidden[] = {NETWORK_SAMPLES, NETWORK_HIDDEN, 0};
    int slow = has->regions ? builder_region(&network, FIRN_FB_REGION_KIND_SLOW_ARENA) : BUILDER_ARENA;
    int seed = (int)builder_scalar(&network, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT);
    int dlogits = gradient(has->views ? (uint32_t[]){1, NETWORK_SAMPLES, NETWORK_CLASSES, 0}
                                      : (uint32_t[]){NETWORK_SAMPLES, NETWORK_CLASSES, 0});
    int flat = has->views ? (int)builder_view(&network, (uint32_t)dlogits, 0,
                                              (uint32_t[]){NETWORK_SAMPLES, NETWORK_CLASSES, 0})
                          : dlogits;
    int dhidden = gradient(hidden), dbefore = gradient(hidden), dc = gradient(classes);
    int da = (int)builder_tensor(&network, slow, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, a_dims);
    int db = (int)builder_tensor(&network, slow, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, b_dims);
    builder_real(&network,
                 builder_op(&network, FIRN_OP_loss_seed,
                            (int[]){has->scale != 0 ? network_at.scale : BUILDER_END, BUILDER_END},
                            (int[]){seed, BUILDER_END}),
                 1.0f / (float)has->micro_batches);
    (void)builder_op(&network, FIRN_OP_cross_entropy_backward,
                     (int[]){seed, network_at.logits_of_loss, network_at.labels_of_loss, network_at.max,
                             network_at.sums, BUILDER_END},
                     (int[]){dlogits, BUILDER_END});
    product(FIRN_OP_linear_backward_weight, flat, network_at.hidden, db, in_float32);
    builder_integer(&network,
                    builder_op(&network, FIRN_OP_sum_leading, (int[]){flat, BUILDER_END}, (int[]){dc, BUILDER_END}), 1);
    product(FIRN_OP_linear_backward_input, flat, network_at.b_used, dhidden, in_float32);
    binary(FIRN_OP_relu_backward, dhidden, network_at.hidden, dbefore);
    product(FIRN_OP_linear_backward_weight, dbefore, network_at.x, da, in_float32);
    int second = has->regions ? builder_region(&network, FIRN_FB_REGION_KIND_ARENA) : BUILDER_ARENA;
    network_at.total_c = (int)builder_tensor(&network, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, classes);
    network_accumulate(network_at.total_c, dc);
    if (has->views) {
        const uint32_t both[] = {NETWORK_HIDDEN + NETWORK_CLASSES, NETWORK_WIDTH, 0};
        int dab = gradient(both);
        network_at.total_ab = gradient(both);
        builder_integer(
            &network, builder_op(&network, FIRN_OP_concat, (int[]){da, db, BUILDER_END}, (int[]){dab, BUILDER_END}), 0);
        network_accumulate(network_at.total_ab, dab);
        return;
    }
    network_at.total_a = (int)builder_tensor(&network, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, a_dims);
    network_at.total_b = (int)builder_tensor(&network, second, FIRN_FLOAT32, FIRN_FB_ROLE_GRADIENT, b_dims);
    network_accumulate(network_at.total_a, da);
    network_accumulate(network_at.total_b, db);
}

/* The norm of the gradients, and factors of scale and clipping; returns the factors, or BUILDER_END without both. */
static int add_finalise(const network_form *has) {
    if (!has->clip && has->scale == 0)
        return BUILDER_END;
    const int totals[] = {network_at.total_a, network_at.total_b, network_at.total_c};
    int partial = gradient((uint32_t[]){3, 0}), norm = (int)builder_scalar(&network, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT);
    int finite = (int)builder_scalar(&network, FIRN_INT32, FIRN_FB_ROLE_RESULT),
        factors = gradient((uint32_t[]){FIRN_FACTORS, 0});
    const int scale = has->scale != 0 ? network_at.scale : BUILDER_END;
    for (int i = 0; i < 3; i++) {
        int scratch = (int)builder_arena(&network, FIRN_FLOAT32, FIRN_FB_ROLE_SCRATCH, (uint32_t[]){1, 1, 0});
        builder_integer(&network,
                        builder_op(&network, FIRN_OP_sum_of_squares, (int[]){totals[i], partial, scale, BUILDER_END},
                                   (int[]){partial, scratch, BUILDER_END}),
                        i);
    }
    (void)builder_op(&network, FIRN_OP_gradient_norm, (int[]){partial, BUILDER_END},
                     (int[]){norm, finite, BUILDER_END});
    firn_native_op *make = builder_op(
        &network, FIRN_OP_gradient_factors,
        (int[]){has->scale != 0 ? network_at.scale : BUILDER_ABSENT, has->clip ? norm : BUILDER_END, BUILDER_END},
        (int[]){factors, BUILDER_END});
    builder_integer(&network, make, has->clip ? FIRN_FB_CLIPPING_NORM : FIRN_FB_CLIPPING_NONE);
    builder_real(&network, make, has->clip ? has->limit : 0.0f);
    builder_phase(&network, FIRN_FB_PHASE_KIND_FINALISE);
    network.plan.gradient_norm = (uint32_t)norm;
    if (has->scale != 0) {
        network.plan.finite = (uint32_t)finite;
        network.plan.loss_scale = (uint32_t)network_at.scale;
    }
    return factors;
}

static void sgd(int tensor, int total, int rate, int factors) {
    firn_native_op *op = builder_op(&network, FIRN_OP_sgd, (int[]){tensor, total, rate, factors, BUILDER_END},
                                    (int[]){tensor, BUILDER_END});
    builder_integer(&network, op, 0);
    builder_real(&network, op, 0.0f);
}

/* running += 0.1 (mean - running), where total_mean is the sum of all samples of the step. */
static void add_running_mean(const network_form *has) {
    int difference = gradient(width);
    firn_native_op *op =
        builder_op(&network, FIRN_OP_weighted_sum, (int[]){network_at.running, network_at.total_mean, BUILDER_END},
                   (int[]){difference, BUILDER_END});
    builder_real(&network, op, 1.0f);
    builder_real(&network, op, -1.0f / (float)(NETWORK_SAMPLES * has->micro_batches));
    sgd(network_at.running, difference, network_at.tenth, BUILDER_END);
    network_count(network_at.batches);
}

static void add_training(const network_form *has) {
    network_at.rate = (int)builder_scalar(&network, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT);
    add_backward(has);
    if (has->buffers) {
        int sum = gradient(width);
        network_at.total_mean = gradient(width);
        builder_integer(
            &network,
            builder_op(&network, FIRN_OP_sum_leading, (int[]){network_at.x, BUILDER_END}, (int[]){sum, BUILDER_END}),
            1);
        network_accumulate(network_at.total_mean, sum);
        builder_output(&network, "total_mean", network_at.total_mean);
    }
    builder_phase(&network, FIRN_FB_PHASE_KIND_MICRO_BATCH);
    int factors = add_finalise(has);
    if (has->views) {
        sgd(network_at.ab, network_at.total_ab, network_at.rate, factors);
    } else {
        sgd(network_at.a, network_at.total_a, network_at.rate, factors);
        sgd(network_at.b, network_at.total_b, network_at.rate, factors);
    }
    sgd(network_at.c, network_at.total_c, network_at.rate, factors);
    if (has->buffers)
        add_running_mean(has);
    network_count(network_at.optimizer_step);
    builder_phase(&network, FIRN_FB_PHASE_KIND_UPDATE);
    if (has->scale != 0) {
        int floor = (int)builder_scalar(&network, FIRN_INT32, FIRN_FB_ROLE_RESULT);
        firn_native_op *op = builder_op(
            &network, FIRN_OP_loss_scale_update,
            (int[]){(int)network.plan.finite, network_at.scale, network_at.since, network_at.overflows,
                    network_at.skipped, BUILDER_END},
            (int[]){network_at.scale, network_at.since, network_at.overflows, network_at.skipped, floor, BUILDER_END});
        builder_integer(&network, op, 2);
        builder_real(&network, op, 0x1p-14f);
        builder_real(&network, op, 0x1p127f);
        builder_real(&network, op, 0.0f);
        network.plan.at_floor = (uint32_t)floor;
    }
    network_count(network_at.global_step);
    builder_phase(&network, FIRN_FB_PHASE_KIND_BOOKKEEP);
    network.nodes[0] =
        (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_LINEAR, .total = 8, .initial = 0.5, .final = 0.125};
    network.schedule = (firn_native_schedule){.tensor = (uint32_t)network_at.rate};
    network.plan.schedule_nodes = network.nodes;
    network.plan.schedule_nodes_count = 1;
    network.plan.schedules = &network.schedule;
    network.plan.schedules_count = 1;
    network.plan.learning_rate = (uint32_t)network_at.rate;
    network.plan.global_step = (uint32_t)network_at.global_step;
    network.plan.optimizer_step = (uint32_t)network_at.optimizer_step;
    network.plan.micro_batches = has->micro_batches;
    network.plan.steps = has->steps;
}

void network_add_evaluation(const network_form *has) {
    if (!has->unlabelled)
        (void)builder_op(&network, FIRN_OP_metric_mean,
                         (int[]){network_at.loss, network_at.sum, network_at.count, BUILDER_END},
                         (int[]){network_at.sum, network_at.count, BUILDER_END});
    builder_phase(&network, FIRN_FB_PHASE_KIND_EVALUATE);
    if (has->unlabelled)
        return;
    network.metric = (firn_native_metric){
        .kind = FIRN_FB_METRIC_KIND_MEAN_LOSS, .sum = (uint32_t)network_at.sum, .count = (uint32_t)network_at.count};
    network.plan.metrics = &network.metric;
    network.plan.metrics_count = 1;
}

void network_describe(const network_form *has) {
    memset(&network_at, 0, sizeof network_at);
    builder_begin(&network, has->mode);
    network_add_state(has);
    add_constants(has);
    network_add_inputs(has);
    network_add_forward(has);
    if (has->mode == FIRN_MODE_TRAIN)
        add_training(has);
    else
        network_add_evaluation(has);
}
