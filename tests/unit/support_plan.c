/* The plans of support_plan.h. */
#include "tests/unit/support_plan.h"

#include <string.h>

#define PERSISTENT UINT32_MAX

static void set_tensor(support_plan *s, uint32_t index, const char *name, uint8_t type, uint8_t role, uint64_t offset,
                       uint32_t rank, const uint32_t *dims, uint32_t first, uint32_t last) {
    memcpy(s->dims[index], dims, rank * sizeof *dims);
    s->tensors[index] = (firn_native_tensor){.name = name,
                                             .type = type,
                                             .role = role,
                                             .region = role <= FIRN_FB_ROLE_COUNTER ? 0 : 1,
                                             .offset = offset,
                                             .dims = s->dims[index],
                                             .dims_count = rank,
                                             .first = first,
                                             .last = last};
}

static void set_state(support_plan *s, uint32_t index, const char *name, uint8_t type, uint8_t role, uint64_t offset,
                      uint32_t rank, const uint32_t *dims) {
    set_tensor(s, index, name, type, role, offset, rank, dims, 0, PERSISTENT);
    s->initialisers[index] = (firn_native_initialiser){.tensor = index};
}

/* Defines a counter of type int64[1]. */
static void set_counter(support_plan *s, uint32_t index, const char *name, uint64_t offset) {
    set_state(s, index, name, FIRN_INT64, FIRN_FB_ROLE_COUNTER, offset, 1, (const uint32_t[]){1});
}

static void set_activation(support_plan *s, uint32_t index, const char *name, uint64_t offset, uint32_t rank,
                           const uint32_t *dims, uint32_t first, uint32_t last) {
    set_tensor(s, index, name, FIRN_FLOAT32, FIRN_FB_ROLE_ACTIVATION, offset, rank, dims, first, last);
}

/* Defines a tensor of one element that the runtime exchanges with the ops. */
static void set_exchanged(support_plan *s, uint32_t index, const char *name, uint8_t type, uint8_t role,
                          uint64_t offset) {
    set_tensor(s, index, name, type, role, offset, 1, (const uint32_t[]){1}, 0, PERSISTENT);
}

/* Defines an op with its operands. It has as many attributes and reductions as the op table requires; the caller fills
 * them in. */
static support_op *set_op(support_plan *s, uint32_t index, uint16_t code, const char *name, uint32_t input_count,
                          const uint32_t *inputs, uint32_t output_count, const uint32_t *outputs) {
    const firn_op_info *info = firn_op_find(code);
    support_op *op = &s->operands[index];
    memcpy(op->inputs, inputs, input_count * sizeof *inputs);
    memcpy(op->outputs, outputs, output_count * sizeof *outputs);
    s->ops[index] = (firn_native_op){.code = code,
                                     .name = name,
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

/* Sets what both plans have in common; the caller sets the counts of tensors, phases and inputs. */
static void begin(support_plan *s, uint8_t mode, uint64_t state_bytes, uint64_t arena_bytes) {
    memset(s, 0, sizeof *s);
    s->regions[0] = (firn_native_region){.kind = FIRN_FB_REGION_KIND_STATE, .bytes = state_bytes, .alignment = 64};
    s->regions[1] = (firn_native_region){.kind = FIRN_FB_REGION_KIND_ARENA, .bytes = arena_bytes, .alignment = 64};
    s->header = (firn_header){.mode = mode, .image_id = mode, .state_bytes = state_bytes, .arena_bytes = arena_bytes};
    s->plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                                 .mode = mode,
                                 .check_loss = true,
                                 .micro_batches = 1,
                                 .seed = 1,
                                 .steps = 10,
                                 .model = "small",
                                 .compiler = "by hand",
                                 .target = "portable",
                                 .regions = s->regions,
                                 .regions_count = 2,
                                 .tensors = s->tensors,
                                 .phases = s->phases,
                                 .inputs = s->inputs,
                                 .inputs_count = 2,
                                 .outputs = s->outputs,
                                 .outputs_count = 1,
                                 .sampler = &s->sampler,
                                 .initialisers = s->initialisers,
                                 .global_step = UINT32_MAX,
                                 .optimizer_step = UINT32_MAX,
                                 .finite = UINT32_MAX,
                                 .gradient_norm = UINT32_MAX};
}

/* --- train ------------------------------------------------------------------------------------------------------ */

#define SAMPLES  4
#define FEATURES 3
#define CLASSES  5

static void add_train_state(support_plan *s) {
    set_state(s, TRAIN_BIAS, "fc.bias", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, 0, 1, (const uint32_t[]){CLASSES});
    set_state(s, TRAIN_WEIGHT, "fc.weight", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, 32, 2,
              (const uint32_t[]){CLASSES, FEATURES});
    set_counter(s, TRAIN_CURSOR, "counters.cursor", 96);
    set_counter(s, TRAIN_GLOBAL_STEP, "counters.global_step", 112);
    set_counter(s, TRAIN_OPTIMIZER_STEP, "counters.optimizer_step", 128);
    set_state(s, TRAIN_LOSS_SCALE, "scaler.loss_scale", FIRN_FLOAT32, FIRN_FB_ROLE_OPTIMIZER_STATE, 144, 1,
              (const uint32_t[]){1});
    set_counter(s, TRAIN_SKIPPED, "scaler.num_skipped_steps", 160);
    set_counter(s, TRAIN_OVERFLOWS, "scaler.overflows_since_rescale", 176);
    set_counter(s, TRAIN_STEPS, "scaler.steps_since_rescale", 192);
    s->initialisers[TRAIN_LOSS_SCALE].a = 1024;
    s->initialisers[TRAIN_WEIGHT] = (firn_native_initialiser){
        .tensor = TRAIN_WEIGHT, .rule = FIRN_FB_INITIALISER_RULE_UNIFORM, .a = -0.5f, .b = 0.5f};
}

static void add_train_arena(support_plan *s) {
    const uint32_t logits[] = {SAMPLES, CLASSES}, rows[] = {SAMPLES}, weight[] = {CLASSES, FEATURES},
                   bias[] = {CLASSES}, one[] = {1}, two[] = {2}, one_by_one[] = {1, 1};
    set_tensor(s, TRAIN_FEATURES, "features", FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, 0, 2,
               (const uint32_t[]){SAMPLES, FEATURES}, 0, TRAIN_OP_DWEIGHT);
    set_tensor(s, TRAIN_LABELS, "labels", FIRN_INT32, FIRN_FB_ROLE_INPUT, 48, 1, rows, 0, TRAIN_OP_DLOGITS);
    set_exchanged(s, TRAIN_LEARNING_RATE, "learning_rate", FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, 64);
    set_exchanged(s, TRAIN_LOSS, "loss", FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 80);
    set_exchanged(s, TRAIN_NORM, "gradient_norm", FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 96);
    set_exchanged(s, TRAIN_FINITE, "finite", FIRN_INT32, FIRN_FB_ROLE_RESULT, 112);
    set_exchanged(s, TRAIN_AT_FLOOR, "at_floor", FIRN_INT32, FIRN_FB_ROLE_RESULT, 128);
    set_activation(s, TRAIN_LOGITS, "logits", 144, 2, logits, TRAIN_OP_LINEAR, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DLOGITS, "gradient.logits", 144, 2, logits, TRAIN_OP_DLOGITS, TRAIN_OP_DBIAS);
    set_activation(s, TRAIN_ROW_MAX, "row_max", 224, 1, rows, TRAIN_OP_CROSS_ENTROPY, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_ROW_SUM, "row_sum", 240, 1, rows, TRAIN_OP_CROSS_ENTROPY, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DLOSS, "gradient.loss", 256, 1, one, TRAIN_OP_LOSS_SEED, TRAIN_OP_DLOGITS);
    set_activation(s, TRAIN_DWEIGHT, "gradient.fc.weight", 224, 2, weight, TRAIN_OP_DWEIGHT, TRAIN_OP_SGD_WEIGHT);
    set_activation(s, TRAIN_DBIAS, "gradient.fc.bias", 0, 1, bias, TRAIN_OP_DBIAS, TRAIN_OP_SGD_BIAS);
    set_activation(s, TRAIN_PARTIAL, "partial", 144, 1, two, TRAIN_OP_SQUARES_BIAS, TRAIN_OP_NORM);
    set_activation(s, TRAIN_SCRATCH_BIAS, "scratch.bias", 160, 2, one_by_one, TRAIN_OP_SQUARES_BIAS,
                   TRAIN_OP_SQUARES_BIAS);
    set_activation(s, TRAIN_SCRATCH_WEIGHT, "scratch.weight", 160, 2, one_by_one, TRAIN_OP_SQUARES_WEIGHT,
                   TRAIN_OP_SQUARES_WEIGHT);
    set_activation(s, TRAIN_FACTORS, "factors", 144, 1, (const uint32_t[]){FIRN_FACTORS}, TRAIN_OP_FACTORS,
                   TRAIN_OP_SGD_WEIGHT);
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
    set_op(s, TRAIN_OP_LINEAR, FIRN_OP_linear, "fc", THREE(TRAIN_FEATURES, TRAIN_WEIGHT, TRAIN_BIAS), ONE(TRAIN_LOGITS))
        ->reductions[0] = f32;
    set_op(s, TRAIN_OP_CROSS_ENTROPY, FIRN_OP_cross_entropy, "loss", TWO(TRAIN_LOGITS, TRAIN_LABELS),
           THREE(TRAIN_LOSS, TRAIN_ROW_MAX, TRAIN_ROW_SUM));
    set_op(s, TRAIN_OP_LOSS_SEED, FIRN_OP_loss_seed, "loss", ONE(TRAIN_LOSS_SCALE), ONE(TRAIN_DLOSS))->reals[0] = 1;
    set_op(s, TRAIN_OP_DLOGITS, FIRN_OP_cross_entropy_backward, "loss", 5,
           (const uint32_t[]){TRAIN_DLOSS, TRAIN_LOGITS, TRAIN_LABELS, TRAIN_ROW_MAX, TRAIN_ROW_SUM},
           ONE(TRAIN_DLOGITS));
    set_op(s, TRAIN_OP_DWEIGHT, FIRN_OP_linear_backward_weight, "fc", TWO(TRAIN_DLOGITS, TRAIN_FEATURES),
           ONE(TRAIN_DWEIGHT))
        ->reductions[0] = f32;
    set_op(s, TRAIN_OP_DBIAS, FIRN_OP_sum_leading, "fc", ONE(TRAIN_DLOGITS), ONE(TRAIN_DBIAS))->integers[0] = 1;
    set_phase(s, 0, FIRN_FB_PHASE_KIND_MICRO_BATCH, TRAIN_OP_LINEAR, TRAIN_OP_SQUARES_BIAS);
}

static void add_train_finalise(support_plan *s) {
    for (uint32_t i = 0; i < 2; i++)
        set_op(s, TRAIN_OP_SQUARES_BIAS + i, FIRN_OP_sum_of_squares, "squares",
               THREE(i == 0 ? TRAIN_DBIAS : TRAIN_DWEIGHT, TRAIN_PARTIAL, TRAIN_LOSS_SCALE),
               TWO(TRAIN_PARTIAL, TRAIN_SCRATCH_BIAS + i))
            ->integers[0] = i;
    set_op(s, TRAIN_OP_NORM, FIRN_OP_gradient_norm, "norm", ONE(TRAIN_PARTIAL), TWO(TRAIN_NORM, TRAIN_FINITE));
    support_op *factors = set_op(s, TRAIN_OP_FACTORS, FIRN_OP_gradient_factors, "factors",
                                 TWO(TRAIN_LOSS_SCALE, TRAIN_NORM), ONE(TRAIN_FACTORS));
    factors->integers[FIRN_GRADIENT_FACTORS_SCALED] = 1;
    factors->integers[FIRN_GRADIENT_FACTORS_CLIPPING] = FIRN_FB_CLIPPING_NORM;
    factors->reals[FIRN_GRADIENT_FACTORS_LIMIT] = 1;
    set_phase(s, 1, FIRN_FB_PHASE_KIND_FINALISE, TRAIN_OP_SQUARES_BIAS, TRAIN_OP_SGD_BIAS);
}

static void add_train_update(support_plan *s) {
    set_op(s, TRAIN_OP_SGD_BIAS, FIRN_OP_sgd, "fc", FOUR(TRAIN_BIAS, TRAIN_DBIAS, TRAIN_LEARNING_RATE, TRAIN_FACTORS),
           ONE(TRAIN_BIAS));
    set_op(s, TRAIN_OP_SGD_WEIGHT, FIRN_OP_sgd, "fc",
           FOUR(TRAIN_WEIGHT, TRAIN_DWEIGHT, TRAIN_LEARNING_RATE, TRAIN_FACTORS), ONE(TRAIN_WEIGHT));
    set_op(s, TRAIN_OP_COUNT_UPDATE, FIRN_OP_count, "counters", ONE(TRAIN_OPTIMIZER_STEP), ONE(TRAIN_OPTIMIZER_STEP))
        ->integers[0] = 1;
    set_phase(s, 2, FIRN_FB_PHASE_KIND_UPDATE, TRAIN_OP_SGD_BIAS, TRAIN_OP_LOSS_SCALE);
}

static void add_train_bookkeep(support_plan *s) {
    support_op *scaler =
        set_op(s, TRAIN_OP_LOSS_SCALE, FIRN_OP_loss_scale_update, "scaler", 5,
               (const uint32_t[]){TRAIN_FINITE, TRAIN_LOSS_SCALE, TRAIN_STEPS, TRAIN_OVERFLOWS, TRAIN_SKIPPED}, 5,
               (const uint32_t[]){TRAIN_LOSS_SCALE, TRAIN_STEPS, TRAIN_OVERFLOWS, TRAIN_SKIPPED, TRAIN_AT_FLOOR});
    scaler->integers[0] = 2000;
    scaler->reals[0] = 0x1p-14f;
    scaler->reals[1] = 0x1p15f;
    set_op(s, TRAIN_OP_COUNT_STEP, FIRN_OP_count, "counters", ONE(TRAIN_GLOBAL_STEP), ONE(TRAIN_GLOBAL_STEP))
        ->integers[0] = 1;
    set_phase(s, 3, FIRN_FB_PHASE_KIND_BOOKKEEP, TRAIN_OP_LOSS_SCALE, TRAIN_OPS);
}

static void add_train_fields(support_plan *s) {
    s->inputs[0] = (firn_native_input){
        .name = "features", .tensor = TRAIN_FEATURES, .element = FIRN_UINT8, .scale = 1.0f / 255, .shift = -0.5f};
    s->inputs[1] = (firn_native_input){
        .name = "labels", .tensor = TRAIN_LABELS, .stream = 1, .element = FIRN_UINT8, .limit = CLASSES, .scale = 1};
    s->outputs[0] = (firn_native_output){.name = "loss", .tensor = TRAIN_LOSS};
    s->sampler = (firn_native_sampler){.kind = FIRN_FB_SAMPLER_KIND_PERMUTATION,
                                       .unit = FIRN_FB_SAMPLE_UNIT_RECORD,
                                       .samples = SAMPLES,
                                       .cursor = TRAIN_CURSOR};
    s->nodes[0] = (firn_fb_schedule_node){.kind = FIRN_FB_SCHEDULE_KIND_LINEAR, .total = 10, .initial = 0.1};
    s->schedules[0] = (firn_native_schedule){.name = "learning_rate", .tensor = TRAIN_LEARNING_RATE};
    s->group_parameters[0] = TRAIN_BIAS;
    s->group_parameters[1] = TRAIN_WEIGHT;
    s->groups[0] = (firn_native_parameter_group){.name = "all",
                                                 .optimizer = "SGD",
                                                 .parameters = s->group_parameters,
                                                 .parameters_count = 2,
                                                 .decay_schedule = UINT32_MAX};
    s->loss_scaler = (firn_native_loss_scaler){.kind = FIRN_FB_LOSS_SCALING_DYNAMIC,
                                               .scale = TRAIN_LOSS_SCALE,
                                               .steps_since_rescale = TRAIN_STEPS,
                                               .overflows_since_rescale = TRAIN_OVERFLOWS,
                                               .skipped_steps = TRAIN_SKIPPED,
                                               .at_floor = TRAIN_AT_FLOOR};
}

void support_plan_train(support_plan *s) {
    begin(s, FIRN_FB_MODE_TRAIN, 208, 288);
    add_train_state(s);
    add_train_arena(s);
    add_train_micro_batch(s);
    add_train_finalise(s);
    add_train_update(s);
    add_train_bookkeep(s);
    add_train_fields(s);
    s->plan.tensors_count = TRAIN_TENSORS;
    s->plan.state_tensors = s->plan.initialisers_count = TRAIN_STATE_TENSORS;
    s->plan.schedule_nodes = s->nodes;
    s->plan.schedule_nodes_count = 1;
    s->plan.schedules = s->schedules;
    s->plan.schedules_count = 1;
    s->plan.groups = s->groups;
    s->plan.groups_count = 1;
    s->plan.loss_scaler = &s->loss_scaler;
    s->plan.clipping = FIRN_FB_CLIPPING_NORM;
    s->plan.clip_threshold = 1;
    s->plan.global_step = TRAIN_GLOBAL_STEP;
    s->plan.optimizer_step = TRAIN_OPTIMIZER_STEP;
    s->plan.finite = TRAIN_FINITE;
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
    set_state(s, EVAL_TABLE, "wte", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, 0, 2,
              (const uint32_t[]){TOKENS, (HEADS + 2 * KV_HEADS) * HEAD});
    set_counter(s, EVAL_CURSOR, "counters.cursor", 336);
    set_counter(s, EVAL_COUNT, "metric.count", 352);
    set_state(s, EVAL_SUM, "metric.sum", FIRN_FLOAT32, FIRN_FB_ROLE_COUNTER, 368, 1, (const uint32_t[]){2});
    s->initialisers[EVAL_TABLE] =
        (firn_native_initialiser){.tensor = EVAL_TABLE, .rule = FIRN_FB_INITIALISER_RULE_NORMAL, .b = 0.5f};
}

static void add_eval_arena(support_plan *s) {
    const uint32_t tokens[] = {BATCH, LENGTH}, rows[] = {BATCH, HEADS, LENGTH};
    set_tensor(s, EVAL_IDS, "input_ids", FIRN_INT32, FIRN_FB_ROLE_INPUT, 0, 2, tokens, 0, EVAL_OP_EMBEDDING);
    set_tensor(s, EVAL_LABELS, "labels", FIRN_INT32, FIRN_FB_ROLE_INPUT, 32, 2, tokens, 0, EVAL_OP_CROSS_ENTROPY);
    set_exchanged(s, EVAL_LOSS, "loss", FIRN_FLOAT32, FIRN_FB_ROLE_RESULT, 64);
    set_tensor(s, EVAL_QKV, "qkv", FIRN_BFLOAT16, FIRN_FB_ROLE_ACTIVATION, 80, 3,
               (const uint32_t[]){BATCH, LENGTH, (HEADS + 2 * KV_HEADS) * HEAD}, EVAL_OP_EMBEDDING, EVAL_OP_ATTENTION);
    set_tensor(s, EVAL_Y, "y", FIRN_BFLOAT16, FIRN_FB_ROLE_ACTIVATION, 224, 3,
               (const uint32_t[]){BATCH, LENGTH, HEADS * HEAD}, EVAL_OP_ATTENTION, EVAL_OP_CROSS_ENTROPY);
    set_activation(s, EVAL_HEAD_MAX, "head_max", 304, 3, rows, EVAL_OP_ATTENTION, EVAL_OP_ATTENTION);
    set_activation(s, EVAL_HEAD_SUM, "head_sum", 352, 3, rows, EVAL_OP_ATTENTION, EVAL_OP_ATTENTION);
    set_activation(s, EVAL_SCRATCH, "scratch", 400, 4, (const uint32_t[]){BATCH, HEADS, 16, LENGTH}, EVAL_OP_ATTENTION,
                   EVAL_OP_ATTENTION);
    set_activation(s, EVAL_ROW_MAX, "row_max", 304, 2, tokens, EVAL_OP_CROSS_ENTROPY, EVAL_OP_CROSS_ENTROPY);
    set_activation(s, EVAL_ROW_SUM, "row_sum", 336, 2, tokens, EVAL_OP_CROSS_ENTROPY, EVAL_OP_CROSS_ENTROPY);
}

static void add_eval_ops(support_plan *s) {
    const firn_fb_reduction chunked = {
        .kind = FIRN_FB_REDUCTION_KIND_CHUNKED, .accumulator = FIRN_BFLOAT16, .output = FIRN_BFLOAT16, .chunk = 128};
    set_op(s, EVAL_OP_EMBEDDING, FIRN_OP_embedding, "wte", TWO(EVAL_IDS, EVAL_TABLE), ONE(EVAL_QKV));
    support_op *attention = set_op(s, EVAL_OP_ATTENTION, FIRN_OP_attention, "attention", ONE(EVAL_QKV), 4,
                                   (const uint32_t[]){EVAL_Y, EVAL_HEAD_MAX, EVAL_HEAD_SUM, EVAL_SCRATCH});
    memcpy(attention->integers, (const int64_t[]){HEADS, KV_HEADS, 1, 1, 0, 16}, 6 * sizeof(int64_t));
    attention->reals[0] = 0.5f;
    attention->reductions[0] = attention->reductions[1] = chunked;
    s->ops[EVAL_OP_ATTENTION].pol_present = true;
    s->ops[EVAL_OP_ATTENTION].pol = (firn_fb_pol){.level = 2, .origin = FIRN_FB_POL_ORIGIN_GLOBAL};
    set_op(s, EVAL_OP_CROSS_ENTROPY, FIRN_OP_cross_entropy, "loss", TWO(EVAL_Y, EVAL_LABELS),
           THREE(EVAL_LOSS, EVAL_ROW_MAX, EVAL_ROW_SUM));
    set_op(s, EVAL_OP_METRIC, FIRN_OP_metric_mean, "metric", THREE(EVAL_LOSS, EVAL_SUM, EVAL_COUNT),
           TWO(EVAL_SUM, EVAL_COUNT));
    set_phase(s, 0, FIRN_FB_PHASE_KIND_EVALUATE, EVAL_OP_EMBEDDING, EVAL_OPS);
}

void support_plan_eval(support_plan *s) {
    begin(s, FIRN_FB_MODE_EVAL, 384, 1168);
    add_eval_state(s);
    add_eval_arena(s);
    add_eval_ops(s);
    s->inputs[0] = (firn_native_input){
        .name = "input_ids", .tensor = EVAL_IDS, .element = FIRN_UINT8, .limit = TOKENS, .scale = 1};
    s->inputs[1] = (firn_native_input){.name = "labels",
                                       .tensor = EVAL_LABELS,
                                       .element = FIRN_UINT8,
                                       .advance = 1,
                                       .limit = HEADS * HEAD,
                                       .scale = 1};
    s->outputs[0] = (firn_native_output){.name = "loss", .tensor = EVAL_LOSS};
    s->sampler = (firn_native_sampler){.part = FIRN_FB_DATA_PART_HELD_OUT,
                                       .epoch_end = FIRN_FB_EPOCH_END_STOP,
                                       .window = LENGTH + 1,
                                       .stride = LENGTH,
                                       .samples = BATCH,
                                       .held_out_per_mille = 100,
                                       .cursor = EVAL_CURSOR};
    s->metric = (firn_native_metric){.sum = EVAL_SUM, .count = EVAL_COUNT};
    s->plan.metric = &s->metric;
    s->plan.tensors_count = EVAL_TENSORS;
    s->plan.state_tensors = s->plan.initialisers_count = EVAL_STATE_TENSORS;
}

uint8_t *support_plan_write(const support_plan *s, size_t *bytes) {
    return firn_native_write(&s->plan, bytes);
}
