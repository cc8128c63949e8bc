/* See sample_plan.h. */
#include "tests/unit/sample_plan.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static const uint32_t dims_two[] = {3, 4294967295u};
static const uint32_t dims_one[] = {1};

static const firn_native_tensor tensors[] = {
    {.name = "h.0.weight",
     .type = FIRN_FB_ELEMENT_TYPE_CBFLOAT16,
     .role = FIRN_FB_ROLE_CONSTANT,
     .region = 1,
     .offset = 4503599627370497,
     .dims = dims_two,
     .dims_count = 2,
     .first = 7,
     .last = 4294967295u,
     .base = 5},
    {.name = "~ \"odd\\\" /name!",
     .type = FIRN_FB_ELEMENT_TYPE_UINT8,
     .role = FIRN_FB_ROLE_OPTIMIZER_STATE,
     .dims = dims_one,
     .dims_count = 1,
     .base = 4294967295u},
};

static const uint32_t operands[] = {1, 0, 1};
static const int64_t integers[] = {-9007199254740993, 0, 12};
static const float reals[] = {0.5f, -1.25f};
static const firn_fb_reduction reductions[] = {
    {.kind = FIRN_FB_REDUCTION_KIND_CHUNKED,
     .accumulator = FIRN_FB_ELEMENT_TYPE_FLOAT16,
     .output = FIRN_FB_ELEMENT_TYPE_BFLOAT16,
     .reserved_byte = 1,
     .chunk = 64,
     .reserved_low = 2,
     .reserved_high = 3},
    {.kind = FIRN_FB_REDUCTION_KIND_F32},
};

static const firn_native_op ops[] = {
    {.code = 65535,
     .inputs = operands,
     .inputs_count = COUNT(operands),
     .outputs = operands,
     .outputs_count = 1,
     .integers = integers,
     .integers_count = COUNT(integers),
     .reals = reals,
     .reals_count = COUNT(reals),
     .reductions = reductions,
     .reductions_count = COUNT(reductions)},
    {.code = 1, .outputs = operands, .outputs_count = 2},
};

static const firn_native_phase phases[] = {
    {.kind = FIRN_FB_PHASE_KIND_EVALUATE, .ops = ops, .ops_count = 2},
    {.kind = FIRN_FB_PHASE_KIND_MICRO_BATCH, .ops = ops, .ops_count = 1},
};

static const firn_native_input inputs[] = {
    {.name = "input_ids",
     .tensor = 1,
     .stream = 2,
     .element = FIRN_FB_ELEMENT_TYPE_INT32,
     .advance = 3,
     .limit = 256,
     .scale = 0.125f,
     .shift = -0.5f,
     .label = true,
     .ring = 6},
    {.name = "plain", .scale = 1.0f, .ring = 4294967295u},
};

static const firn_native_output outputs[] = {{.name = "loss", .tensor = 1}};

static const firn_native_sampler sampler = {
    .kind = FIRN_FB_SAMPLER_KIND_PERMUTATION,
    .unit = FIRN_FB_SAMPLE_UNIT_RECORD,
    .part = FIRN_FB_DATA_PART_HELD_OUT,
    .epoch_end = FIRN_FB_EPOCH_END_SHORT,
    .window = 65,
    .stride = 32,
    .samples = 4,
    .held_out_per_mille = 100,
    .seed = 18446744073709551615u,
    .cursor = 9,
    .pushed = 8,
    .counted = 10,
};

static const firn_fb_schedule_node nodes[] = {
    {.kind = FIRN_FB_SCHEDULE_KIND_SEQUENTIAL,
     .mode = 7,
     .first_child = 1,
     .child_count = 1,
     .total = 100,
     .start = 5,
     .auxiliary = 6,
     .initial = 0.5,
     .final = 0.0625,
     .rate = 0.75,
     .power = 2.5,
     .reserved = 9},
    {.kind = FIRN_FB_SCHEDULE_KIND_CONSTANT, .initial = 0.25},
};

static const firn_fb_schedule_number numbers[] = {{100}, {0.5}, {0.25}};

static const firn_fb_schedule_instruction instructions[] = {
    {.operation = FIRN_FB_SCHEDULE_OPERATION_STEP},
    {.operation = FIRN_FB_SCHEDULE_OPERATION_NUMBER, .reserved_low = 3, .reserved_high = 4, .value = 0.125},
};

static const firn_native_schedule schedules[] = {{.root = 1, .tensor = 4}};

static const firn_native_initialiser initialisers[] = {
    {.rule = FIRN_FB_INITIALISER_RULE_WEIGHTS,
     .element = FIRN_FB_ELEMENT_TYPE_FLOAT16,
     .rng_id = 2,
     .a = 0.5f,
     .b = 1.5f,
     .integer = -4611686018427387905,
     .weights = 16,
     .low = -0.25f,
     .high = 0.75f},
    {.rule = FIRN_FB_INITIALISER_RULE_CONSTANT},
};

static const firn_native_metric metric = {.kind = FIRN_FB_METRIC_KIND_ACCURACY,
                                          .sum = 1,
                                          .count = 2,
                                          .beta = 0.5f,
                                          .ignore_classes = operands,
                                          .ignore_classes_count = 3};

static const uint8_t origin[] = {255, 0, 7};

const firn_native_plan sample_plan = {
    .numerics_version = 1,
    .micro_batch_order = FIRN_FB_MICRO_BATCH_ORDER_SEQUENTIAL,
    .check_loss = false,
    .micro_batches = 3,
    .seed = 9223372036854775809u,
    .steps = 1000,
    .tensors = tensors,
    .tensors_count = COUNT(tensors),
    .state_tensors = 1,
    .phases = phases,
    .phases_count = COUNT(phases),
    .inputs = inputs,
    .inputs_count = COUNT(inputs),
    .outputs = outputs,
    .outputs_count = COUNT(outputs),
    .sampler = &sampler,
    .schedule_nodes = nodes,
    .schedule_nodes_count = COUNT(nodes),
    .schedule_numbers = numbers,
    .schedule_numbers_count = COUNT(numbers),
    .schedule_instructions = instructions,
    .schedule_instructions_count = COUNT(instructions),
    .schedules = schedules,
    .schedules_count = COUNT(schedules),
    .initialisers = initialisers,
    .initialisers_count = COUNT(initialisers),
    .metrics = &metric,
    .metrics_count = 1,
    .loss = 5,
    .learning_rate = 6,
    .loss_scale = 7,
    .global_step = 1,
    .optimizer_step = 2,
    .finite = 3,
    .at_floor = 8,
    .gradient_norm = 4294967294u,
    .origin = origin,
    .origin_count = COUNT(origin),
    .losses_added = true,
    .tokenizer = origin,
    .tokenizer_count = 1,
};
