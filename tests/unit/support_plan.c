/* The plans of support_plan.h. */
#include "tests/unit/support_plan.h"

#include <string.h>

#define PERSISTENT UINT32_MAX

static void set_tensor(support_plan *s, uint32_t index, uint8_t type, uint8_t role, uint8_t region, uint64_t offset,
                       uint32_t rank, const uint32_t *dims, uint32_t first, uint32_t last) {
    memcpy(s->dims[index], dims, rank * sizeof *dims);
    s->tensors[index] = (firn_native_tensor){.type = type,
                                             .role = role,
                                             .region = region,
                                             .offset = offset,
                                             .dims = s->dims[index],
                                             .dims_count = rank,
                                             .first = first,
                                             .last = last,
                                             .base = FIRN_ABSENT};
}

static void set_state(support_plan *s, uint32_t index, const char *name, uint8_t type, uint8_t role, uint8_t region,
                      uint64_t offset, uint32_t rank, const uint32_t *dims) {
    set_tensor(s, index, type, role, region, offset, rank, dims, 0, PERSISTENT);
    s->tensors[index].name = name;
}

/* Defines a counter of type int64[1]. */
static void set_counter(support_plan *s, uint32_t index, const char *name, uint8_t region, uint64_t offset) {
    set_state(s, index, name, FIRN_INT64, FIRN_FB_ROLE_COUNTER, region, offset, 1, (const uint32_t[]){1});
}

/* The following are in the arena, which is the last region. */
static uint8_t arena_of(const support_plan *s) {
    return (uint8_t)(s->header.region_count - 1);
}

static void set_input(support_plan *s, uint32_t index, uint8_t type, uint64_t offset, uint32_t rank,
                      const uint32_t *dims, uint32_t last) {
    set_tensor(s, index, type, FIRN_FB_ROLE_INPUT, arena_of(s), offset, rank, dims, 0, last);
}

static void set_activation(support_plan *s, uint32_t index, uint64_t offset, uint32_t rank, const uint32_t *dims,
                           uint32_t first, uint32_t last) {
    set_tensor(s, index, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, arena_of(s), offset, rank, dims, first, last);
}

/* Defines the scratch of one op. */
static void set_scratch(support_plan *s, uint32_t index, uint64_t offset, uint32_t rank, const uint32_t *dims,
                        uint32_t op) {
    set_tensor(s, index, FIRN_FLOAT32, FIRN_FB_ROLE_SCRATCH, arena_of(s), offset, rank, dims, op, op);
}

/* Defines a tensor of one element that the runtime exchanges with the ops. */
static void set_exchanged(support_plan *s, uint32_t index, uint8_t type, uint8_t role, uint64_t offset) {
    set_tensor(s, index, type, role, arena_of(s), offset, 1, (const uint32_t[]){1}, 0, PERSISTENT);
}

/* Defines an op with its operands. It has as many attributes and reductions as the op table requires; the caller fills
 * them in. */
static support_op *set_op(support_plan *s, uint32_t index, uint16_t code, uint32_t input_count, const uint32_t *inputs,
                          uint32_t output_count, const uint32_t *outputs) {
    const firn_op_info *info = firn_op_find(code);
    support_op *op = &s->operands[index];
    memcpy(op->inputs, inputs, input_count * sizeof *inputs);
    memcpy(op->outputs, outputs, output_count * sizeof *outputs);
    s->ops[index] = (firn_native_op){.code = code,
                                     .inputs = op->inputs,
                                     .inputs_count = input_count,
                                     .outputs = op->outputs,
                                     .outputs_count = output_count,
                                     .integers = op->integers,
                                     .integers_count = info->integers,
                                     .reals = op->reals,
                                     .reals_count = info->reals,
                                     .reductions = op->reductions,
                                     .reductions_count = info->reductions};
    return op;
}

static void set_phase(support_plan *s, uint32_t index, uint8_t kind, uint32_t first, uint32_t end) {
    s->phases[index] = (firn_native_phase){.kind = kind, .ops = &s->ops[first], .ops_count = end - first};
    s->plan.phases_count = index + 1;
}

static void add_region(support_plan *s, uint8_t kind, uint64_t bytes) {
    uint32_t i = s->header.region_count++;
    s->header.region_kinds[i] = kind;
    s->header.region_bytes[i] = bytes;
}

/* Sets what both plans have in common; the caller adds the regions and sets the counts of tensors and phases. */
static void begin(support_plan *s, uint8_t mode) {
    memset(s, 0, sizeof *s);
    s->header = (firn_header){.mode = mode};
    s->plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                                 .check_loss = true,
                                 .micro_batches = 1,
                                 .seed = 1,
                                 .steps = 10,
                                 .tensors = s->tensors,
                                 .phases = s->phases,
                                 .inputs = s->inputs,
                                 .inputs_count = 2,
                                 .outputs = s->outputs,
                                 .outputs_count = 1,
                                 .sampler = &s->sampler,
                                 .initialisers = s->initialisers,
                                 .loss = FIRN_ABSENT,
                                 .learning_rate = FIRN_ABSENT,
                                 .loss_scale = FIRN_ABSENT,
                                 .global_step = FIRN_ABSENT,
                                 .optimizer_step = FIRN_ABSENT,
                                 .finite = FIRN_ABSENT,
                                 .at_floor = FIRN_ABSENT,
                                 .gradient_norm = FIRN_ABSENT,
                                 .schedule_nodes = s->nodes,
                                 .schedules = s->schedules,
                                 .metrics = s->metrics,
                                 .origin = s->origin};
}

/* --- train ------------------------------------------------------------------------------------------------------ */

#define SAMPLES  4
#define FEATURES 3
#define CLASSES  5

static void add_train_state(support_plan *s) {
    set_state(s, TRAIN_BIAS, "fc.bias", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, TRAIN_PARAMETERS, 0, 1,
              (const uint32_t[]){CLASSES});
    set_state(s, TRAIN_WEIGHT, "fc.weight", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, TRAIN_PARAMETERS, 32, 2,
              (const uint32_t[]){CLASSES, FEATURES});
    set_counter(s, TRAIN_GLOBAL_STEP, "counters.global_step", TRAIN_OPTIMIZER, 0);
    set_counter(s, TRAIN_OPTIMIZER_STEP, "counters.optimizer_step", TRAIN_OPTIMIZER, 16);
    set_state(s, TRAIN_LOSS_SCALE, "scaler.loss_scale", FIRN_FLOAT32, FIRN_FB_ROLE_OPTIMIZER_STATE, TRAIN_OPTIMIZER, 32,
              1, (const uint32_t[]){1});
    set_counter(s, TRAIN_SKIPPED, "scaler.num_skipped_steps", TRAIN_OPTIMIZER, 48);
    set_counter(s, TRAIN_OVERFLOWS, "scaler.overflows_since_rescale", TRAIN_OPTIMIZER, 64);
    set_counter(s, TRAIN_STEPS, "scaler.steps_since_rescale", TRAIN_OPTIMIZER, 80);
    set_counter(s, TRAIN_CURSOR, "counters.cursor", TRAIN_SESSION, 0);
    s->initialisers[TRAIN_LOSS_SCALE].a = 1024;
    s->initialisers[TRAIN_WEIGHT] =
        (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_UNIFORM, .a = -0.5f, .b = 0.5f};
}

static void add_train_arena(support_plan *s) {
    const uint32_t logits[] = {SAMPLES, CLASSES}, rows[] = {SAMPLES}, weight[] = {CLASSES, FEATURES},
                   bias[] = {CLASSES}, one[] = {1}, two[] = {2}, one_by_one[] = {1, 1};
    set_input(s, TRAIN_FEATURES, FIRN_FLOAT32, 0, 2, (const uint32_t[]){SAMPLES, FEATURES}, TRAIN_OP_DWEIGHT);
    set_input(s, TRAIN_LABELS, FIRN_INT32, 48, 1, rows, TRAIN_OP_DLOGITS);
    set_exchanged(s, TRAIN_LEARNING_RATE, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, 64);
    set_exchanged(s, TRAIN_LOSS, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 80);
    set_exchanged(s, TRAIN_NORM, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 96);
    set_exchanged(s, TRAIN_FINITE, FIRN_INT32, FIRN_FB_ROLE_RESULT, 112);
    set_exchanged(s, TRAIN_AT_FLOOR, FIRN_INT32, FIRN_FB_ROLE_RESULT, 128);
    set_activation(s, TRAIN_LOGITS, 144, 2, logits, TRAIN_OP_LINEAR, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DLOGITS, 144, 2, logits, TRAIN_OP_DLOGITS, TRAIN_OP_DBIAS);
    set_activation(s, TRAIN_ROW_MAX, 224, 1, rows, TRAIN_OP_CROSS_ENTROPY, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_ROW_SUM, 240, 1, rows, TRAIN_OP_CROSS_ENTROPY, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DLOSS, 256, 1, one, TRAIN_OP_LOSS_SEED, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DWEIGHT, 224, 2, weight, TRAIN_OP_DWEIGHT, TRAIN_OP_SGD_WEIGHT);
    set_activation(s, TRAIN_DBIAS, 0, 1, bias, TRAIN_OP_DBIAS, TRAIN_OP_SGD_BIAS);
    set_activation(s, TRAIN_PARTIAL, 144, 1, two, TRAIN_OP_SQUARES_BIAS, TRAIN_OP_NORM);
    set_scratch(s, TRAIN_SCRATCH_BIAS, 160, 2, one_by_one, TRAIN_OP_SQUARES_BIAS);
    set_scratch(s, TRAIN_SCRATCH_WEIGHT, 160, 2, one_by_one, TRAIN_OP_SQUARES_WEIGHT);
    set_activation(s, TRAIN_FACTORS, 144, 1, (const uint32_t[]){FIRN_FACTORS}, TRAIN_OP_FACTORS, TRAIN_OP_SGD_WEIGHT);
}

#define ONE(x)                                                                                                         \
    1, (const uint32_t[]) {                                                                                            \
        x                                                                                                              \
    }
#define TWO(x, y)                                                                                                      \
    2, (const uint32_t[]) {                                                                                            \
        x, y                                                                                                           \
    }
#define THREE(x, y, z)                                                                                                 \
    3, (const uint32_t[]) {                                                                                            \
        x, y, z                                                                                                        \
    }

#define FOUR(x, y, z, w)                                                                                               \
    4, (const uint32_t[]) {                                                                                            \
        x, y, z, w                                                                                                     \
    }

static const firn_fb_reduction f32 = {.kind = FIRN_FB_REDUCTION_KIND_F32};

static void add_train_micro_batch(support_plan *s) {
    set_op(s, TRAIN_OP_LINEAR, FIRN_OP_linear, THREE(TRAIN_FEATURES, TRAIN_WEIGHT, TRAIN_BIAS), ONE(TRAIN_LOGITS))
        ->reductions[0] = f32;
    set_op(s, TRAIN_OP_CROSS_ENTROPY, FIRN_OP_cross_entropy, TWO(TRAIN_LOGITS, TRAIN_LABELS),
           THREE(TRAIN_LOSS, TRAIN_ROW_MAX, TRAIN_ROW_SUM));
    set_op(s, TRAIN_OP_LOSS_SEED, FIRN_OP_loss_seed, ONE(TRAIN_LOSS_SCALE), ONE(TRAIN_DLOSS))->reals[0] = 1;
    set_op(s, TRAIN_OP_DLOGITS, FIRN_OP_cross_entropy_backward, 5,
           (const uint32_t[]){TRAIN_DLOSS, TRAIN_LOGITS, TRAIN_LABELS, TRAIN_ROW_MAX, TRAIN_ROW_SUM},
           ONE(TRAIN_DLOGITS));
    set_op(s, TRAIN_OP_DWEIGHT, FIRN_OP_linear_backward_weight, TWO(TRAIN_DLOGITS, TRAIN_FEATURES), ONE(TRAIN_DWEIGHT))
        ->reductions[0] = f32;
    set_op(s, TRAIN_OP_DBIAS, FIRN_OP_sum_leading, ONE(TRAIN_DLOGITS), ONE(TRAIN_DBIAS))->integers[0] = 1;
    set_phase(s, 0, FIRN_FB_PHASE_KIND_MICRO_BATCH, TRAIN_OP_LINEAR, TRAIN_OP_SQUARES_BIAS);
}

static void add_train_finalise(support_plan *s) {
    for (uint32_t i = 0; i < 2; i++)
        set_op(s, TRAIN_OP_SQUARES_BIAS + i, FIRN_OP_sum_of_squares,
               THREE(i == 0 ? TRAIN_DBIAS : TRAIN_DWEIGHT, TRAIN_PARTIAL, TRAIN_LOSS_SCALE),
               TWO(TRAIN_PARTIAL, TRAIN_SCRATCH_BIAS + i))
            ->integers[0] = i;
    set_op(s, TRAIN_OP_NORM, FIRN_OP_gradient_norm, ONE(TRAIN_PARTIAL), TWO(TRAIN_NORM, TRAIN_FINITE));
    support_op *factors =
        set_op(s, TRAIN_OP_FACTORS, FIRN_OP_gradient_factors, TWO(TRAIN_LOSS_SCALE, TRAIN_NORM), ONE(TRAIN_FACTORS));
    factors->integers[FIRN_GRADIENT_FACTORS_CLIPPING] = FIRN_FB_CLIPPING_NORM;
    factors->reals[FIRN_GRADIENT_FACTORS_LIMIT] = 1;
    set_phase(s, 1, FIRN_FB_PHASE_KIND_FINALISE, TRAIN_OP_SQUARES_BIAS, TRAIN_OP_SGD_BIAS);
}

static void add_train_update(support_plan *s) {
    set_op(s, TRAIN_OP_SGD_BIAS, FIRN_OP_sgd, FOUR(TRAIN_BIAS, TRAIN_DBIAS, TRAIN_LEARNING_RATE, TRAIN_FACTORS),
           ONE(TRAIN_BIAS));
    set_op(s, TRAIN_OP_SGD_WEIGHT, FIRN_OP_sgd, FOUR(TRAIN_WEIGHT, TRAIN_DWEIGHT, TRAIN_LEARNING_RATE, TRAIN_FACTORS),
           ONE(TRAIN_WEIGHT));
    set_op(s, TRAIN_OP_COUNT_UPDATE, FIRN_OP_count, ONE(TRAIN_OPTIMIZER_STEP), ONE(TRAIN_OPTIMIZER_STEP))->integers[0] =
        1;
    set_phase(s, 2, FIRN_FB_PHASE_KIND_UPDATE, TRAIN_OP_SGD_BIAS, TRAIN_OP_LOSS_SCALE);
}

static void add_train_bookkeep(support_plan *s) {
    support_op *scaler =
        set_op(s, TRAIN_OP_LOSS_SCALE, FIRN_OP_loss_scale_update, 5,
               (const uint32_t[]){TRAIN_FINITE, TRAIN_LOSS_SCALE, TRAIN_STEPS, TRAIN_OVERFLOWS, TRAIN_SKIPPED}, 5,
               (const uint32_t[]){TRAIN_LOSS_SCALE, TRAIN_STEPS, TRAIN_OVERFLOWS, TRAIN_SKIPPED, TRAIN_AT_FLOOR});
    scaler->integers[0] = 2000;
    scaler->reals[0] = 0x1p-14f;
    scaler->reals[1] = 0x1p15f;
    set_op(s, TRAIN_OP_COUNT_STEP, FIRN_OP_count, ONE(TRAIN_GLOBAL_STEP), ONE(TRAIN_GLOBAL_STEP))->integers[0] = 1;
    set_phase(s, 3, FIRN_FB_PHASE_KIND_BOOKKEEP, TRAIN_OP_LOSS_SCALE, TRAIN_OPS);
}

static void add_train_fields(support_plan *s) {
    s->inputs[0] = (firn_native_input){.name = "features",
                                       .tensor = TRAIN_FEATURES,
                                       .element = FIRN_UINT8,
                                       .scale = 1.0f / 255,
                                       .shift = -0.5f,
                                       .ring = FIRN_ABSENT};
    s->inputs[1] = (firn_native_input){.name = "labels",
                                       .tensor = TRAIN_LABELS,
                                       .stream = 1,
                                       .element = FIRN_UINT8,
                                       .limit = CLASSES,
                                       .scale = 1,
                                       .label = true,
                                       .ring = FIRN_ABSENT};
    s->outputs[0] = (firn_native_output){.name = "loss", .tensor = TRAIN_LOSS};
    s->sampler = (firn_native_sampler){.kind = FIRN_FB_SAMPLER_KIND_PERMUTATION,
                                       .unit = FIRN_FB_SAMPLE_UNIT_RECORD,
                                       .samples = SAMPLES,
                                       .cursor = TRAIN_CURSOR,
                                       .pushed = FIRN_ABSENT};
    s->nodes[0] = (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_LINEAR, .total = 10, .initial = 0.1};
    s->schedules[0] = (firn_native_schedule){.tensor = TRAIN_LEARNING_RATE};
}

void support_plan_train(support_plan *s) {
    begin(s, FIRN_FB_MODE_TRAIN);
    add_region(s, FIRN_FB_REGION_KIND_PARAMETERS, 96);
    add_region(s, FIRN_FB_REGION_KIND_OPTIMIZER, 96);
    add_region(s, FIRN_FB_REGION_KIND_SESSION, 16);
    add_region(s, FIRN_FB_REGION_KIND_ARENA, 288);
    add_train_state(s);
    add_train_arena(s);
    add_train_micro_batch(s);
    add_train_finalise(s);
    add_train_update(s);
    add_train_bookkeep(s);
    add_train_fields(s);
    s->plan.tensors_count = TRAIN_TENSORS;
    s->plan.state_tensors = s->plan.initialisers_count = TRAIN_STATE_TENSORS;
    s->plan.schedule_nodes_count = 1;
    s->plan.schedules_count = 1;
    s->plan.loss = TRAIN_LOSS;
    s->plan.learning_rate = TRAIN_LEARNING_RATE;
    s->plan.loss_scale = TRAIN_LOSS_SCALE;
    s->plan.global_step = TRAIN_GLOBAL_STEP;
    s->plan.optimizer_step = TRAIN_OPTIMIZER_STEP;
    s->plan.finite = TRAIN_FINITE;
    s->plan.at_floor = TRAIN_AT_FLOOR;
    s->plan.gradient_norm = TRAIN_NORM;
}

/* --- eval ------------------------------------------------------------------------------------------------------- */

#define BATCH    2
#define LENGTH   3
#define TOKENS   7
#define HEADS    2
#define KV_HEADS 1
#define HEAD     3

static void add_eval_state(support_plan *s) {
    set_state(s, EVAL_TABLE, "wte", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, EVAL_PARAMETERS, 0, 2,
              (const uint32_t[]){TOKENS, (HEADS + 2 * KV_HEADS) * HEAD});
    set_counter(s, EVAL_CURSOR, "counters.cursor", EVAL_SESSION, 0);
    set_counter(s, EVAL_COUNT, "metric.count", EVAL_SESSION, 16);
    set_state(s, EVAL_SUM, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER, EVAL_SESSION, 32, 1,
              (const uint32_t[]){2});
    s->initialisers[EVAL_TABLE] = (firn_native_initialiser){.rule = FIRN_FB_INITIALISER_RULE_NORMAL, .b = 0.5f};
}

static void add_eval_arena(support_plan *s) {
    const uint32_t tokens[] = {BATCH, LENGTH}, rows[] = {BATCH, HEADS, LENGTH};
    set_input(s, EVAL_IDS, FIRN_INT32, 0, 2, tokens, EVAL_OP_EMBEDDING);
    set_input(s, EVAL_LABELS, FIRN_INT32, 32, 2, tokens, EVAL_OP_CROSS_ENTROPY);
    set_exchanged(s, EVAL_LOSS, FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 64);
    set_activation(s, EVAL_QKV, 80, 3, (const uint32_t[]){BATCH, LENGTH, (HEADS + 2 * KV_HEADS) * HEAD},
                   EVAL_OP_EMBEDDING, EVAL_OP_ATTENTION);
    set_activation(s, EVAL_Y, 224, 3, (const uint32_t[]){BATCH, LENGTH, HEADS * HEAD}, EVAL_OP_ATTENTION,
                   EVAL_OP_CROSS_ENTROPY);
    s->tensors[EVAL_QKV].type = s->tensors[EVAL_Y].type = FIRN_BFLOAT16;
    set_activation(s, EVAL_HEAD_MAX, 304, 3, rows, EVAL_OP_ATTENTION, EVAL_OP_ATTENTION);
    set_activation(s, EVAL_HEAD_SUM, 352, 3, rows, EVAL_OP_ATTENTION, EVAL_OP_ATTENTION);
    set_scratch(s, EVAL_SCRATCH, 400, 4, (const uint32_t[]){BATCH, HEADS, 16, LENGTH}, EVAL_OP_ATTENTION);
    set_activation(s, EVAL_ROW_MAX, 304, 2, tokens, EVAL_OP_CROSS_ENTROPY, EVAL_OP_CROSS_ENTROPY);
    set_activation(s, EVAL_ROW_SUM, 336, 2, tokens, EVAL_OP_CROSS_ENTROPY, EVAL_OP_CROSS_ENTROPY);
}

static void add_eval_ops(support_plan *s) {
    const firn_fb_reduction chunked = {
        .kind = FIRN_FB_REDUCTION_KIND_CHUNKED, .accumulator = FIRN_BFLOAT16, .output = FIRN_BFLOAT16, .chunk = 128};
    set_op(s, EVAL_OP_EMBEDDING, FIRN_OP_embedding, TWO(EVAL_IDS, EVAL_TABLE), ONE(EVAL_QKV));
    support_op *attention = set_op(s, EVAL_OP_ATTENTION, FIRN_OP_attention, ONE(EVAL_QKV), 4,
                                   (const uint32_t[]){EVAL_Y, EVAL_HEAD_MAX, EVAL_HEAD_SUM, EVAL_SCRATCH});
    memcpy(attention->integers, (const int64_t[]){HEADS, KV_HEADS, 1, 1, 0, 16}, 6 * sizeof(int64_t));
    attention->reals[0] = 0.5f;
    attention->reductions[0] = attention->reductions[1] = chunked;
    set_op(s, EVAL_OP_CROSS_ENTROPY, FIRN_OP_cross_entropy, TWO(EVAL_Y, EVAL_LABELS),
           THREE(EVAL_LOSS, EVAL_ROW_MAX, EVAL_ROW_SUM));
    set_op(s, EVAL_OP_METRIC, FIRN_OP_metric_mean, THREE(EVAL_LOSS, EVAL_SUM, EVAL_COUNT), TWO(EVAL_SUM, EVAL_COUNT));
    set_phase(s, 0, FIRN_FB_PHASE_KIND_EVALUATE, EVAL_OP_EMBEDDING, EVAL_OPS);
}

void support_plan_eval(support_plan *s) {
    begin(s, FIRN_FB_MODE_EVAL);
    add_region(s, FIRN_FB_REGION_KIND_PARAMETERS, 336);
    add_region(s, FIRN_FB_REGION_KIND_SESSION, 48);
    add_region(s, FIRN_FB_REGION_KIND_ARENA, 1168);
    add_eval_state(s);
    add_eval_arena(s);
    add_eval_ops(s);
    s->inputs[0] = (firn_native_input){.name = "input_ids",
                                       .tensor = EVAL_IDS,
                                       .element = FIRN_UINT8,
                                       .limit = TOKENS,
                                       .scale = 1,
                                       .ring = FIRN_ABSENT};
    s->inputs[1] = (firn_native_input){.name = "labels",
                                       .tensor = EVAL_LABELS,
                                       .element = FIRN_UINT8,
                                       .advance = 1,
                                       .limit = HEADS * HEAD,
                                       .scale = 1,
                                       .label = true,
                                       .ring = FIRN_ABSENT};
    s->outputs[0] = (firn_native_output){.name = "loss", .tensor = EVAL_LOSS};
    s->sampler = (firn_native_sampler){.part = FIRN_FB_DATA_PART_HELD_OUT,
                                       .epoch_end = FIRN_FB_EPOCH_END_STOP,
                                       .window = LENGTH + 1,
                                       .stride = LENGTH,
                                       .samples = BATCH,
                                       .held_out_per_mille = 100,
                                       .cursor = EVAL_CURSOR,
                                       .pushed = FIRN_ABSENT};
    s->metrics[0] = (firn_native_metric){.sum = EVAL_SUM, .count = EVAL_COUNT};
    s->plan.metrics_count = 1;
    s->plan.loss = EVAL_LOSS;
    s->plan.tensors_count = EVAL_TENSORS;
    s->plan.state_tensors = s->plan.initialisers_count = EVAL_STATE_TENSORS;
}

firn_counts support_plan_counts(const support_plan *s) {
    firn_counts counts = {.tensors = s->plan.tensors_count, .state_tensors = s->plan.state_tensors};
    for (uint32_t p = 0; p < s->plan.phases_count; p++) {
        for (uint32_t i = 0; i < s->phases[p].ops_count; i++) {
            const firn_native_op *op = &s->phases[p].ops[i];
            const uint32_t operands = op->inputs_count + op->outputs_count;
            counts.ops++;
            counts.operands += operands;
            counts.integers += op->integers_count;
            counts.reals += op->reals_count;
            counts.reductions += op->reductions_count;
            if (operands > counts.widest)
                counts.widest = operands;
        }
    }
    return counts;
}

uint8_t *support_plan_write(const support_plan *s, size_t *bytes) {
    return firn_native_write(&s->plan, bytes);
}
