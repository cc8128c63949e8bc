/* Tests how ops of a plan become kernel calls: operands and attributes of any number arrive, absent inputs stay absent,
 * and the block of prepared ops is as large as it must be. Inputs of the plan are bound. The kernels of these ops only
 * look at their calls. */
#include <stdlib.h>
#include <string.h>

#include "plan/generated/writer.h"
#include "runtime/instance.h"
#include "tests/unit/support_test.h"

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

/* --- a plan of three ops ------------------------------------------------------------------------------------------ */

static const uint32_t dims[][3] = {{2, 3, 4}, {5}, {7, 11}};
static const firn_native_tensor tensors[] = {
    {.type = FIRN_FLOAT16, .region = 0, .offset = 64, .dims = dims[0], .dims_count = 3, .base = FIRN_ABSENT},
    {.type = FIRN_INT32, .region = 1, .offset = 0, .dims = dims[1], .dims_count = 1, .base = FIRN_ABSENT},
    {.type = FIRN_FLOAT32, .region = 1, .offset = 128, .dims = dims[2], .dims_count = 2, .base = FIRN_ABSENT},
};

/* What an op has without `prepared`, from runtime/firn.h. */
enum { OPERANDS_WITHOUT_BLOCK = 16 };

/* The largest op: as many operands as an op may have, every third input absent. */
enum { MOST_INPUTS = FIRN_INPUTS_MAX, MOST_OUTPUTS = FIRN_OUTPUTS_MAX, MOST_ATTRIBUTES = FIRN_ATTRIBUTES_MAX };
static uint32_t many_inputs[MOST_INPUTS], many_outputs[MOST_OUTPUTS];
static int64_t many_integers[MOST_ATTRIBUTES];
static float many_reals[MOST_ATTRIBUTES];

static const uint32_t few_inputs[] = {2, FIRN_ABSENT, 0}, one_output[] = {1};
static const int64_t few_integers[] = {-5};
static const firn_fb_reduction reductions[] = {
    {.kind = FIRN_REDUCTION_CHUNKED, .accumulator = FIRN_FLOAT16, .output = FIRN_BFLOAT16, .chunk = 64},
    {.kind = FIRN_REDUCTION_F32, .output = FIRN_FLOAT16},
};

enum { FEW = 1, MANY = 2, BARE = 3 }; /* codes, to which the kernels below belong */
static const firn_native_op ops[] = {
    {.code = FEW,
     .inputs = few_inputs,
     .inputs_count = COUNT(few_inputs),
     .outputs = one_output,
     .outputs_count = 1,
     .integers = few_integers,
     .integers_count = 1,
     .reductions = reductions,
     .reductions_count = COUNT(reductions)},
    {.code = MANY,
     .inputs = many_inputs,
     .inputs_count = MOST_INPUTS,
     .outputs = many_outputs,
     .outputs_count = MOST_OUTPUTS,
     .integers = many_integers,
     .integers_count = MOST_ATTRIBUTES,
     .reals = many_reals,
     .reals_count = MOST_ATTRIBUTES},
    {.code = BARE, .outputs = one_output, .outputs_count = 1},
};
enum { PHASE = FIRN_FB_PHASE_KIND_EVALUATE };

static const firn_counts counts = {.ops = 3,
                                   .operands = 4 + MOST_INPUTS + MOST_OUTPUTS + 1,
                                   .integers = 1 + MOST_ATTRIBUTES,
                                   .reals = MOST_ATTRIBUTES,
                                   .reductions = 2};

/* --- kernels that look at their calls ----------------------------------------------------------------------------- */

static _Alignas(64) uint8_t state[256], arena[512];
static firn_instance instance;
static uint32_t called;

static void check_tensor(const firn_tensor *tensor, uint32_t index) {
    const uint8_t *const at[] = {state + 64, arena, arena + 128};
    size_t elements = 1;
    for (uint32_t i = 0; i < tensors[index].dims_count; i++)
        elements *= dims[index][i];
    assert_ptr_equal(tensor->data, at[index]);
    assert_int_equal(tensor->type, tensors[index].type);
    assert_int_equal(tensor->rank, tensors[index].dims_count);
    assert_int_equal(tensor->elements, elements);
    assert_memory_equal(tensor->dims, dims[index], tensor->rank * sizeof dims[0][0]);
}

static void check_op(const firn_kernel_call *call, const firn_native_op *op) {
    assert_int_equal(call->input_count, op->inputs_count);
    assert_int_equal(call->output_count, op->outputs_count);
    for (uint8_t i = 0; i < call->input_count; i++)
        if (op->inputs[i] == FIRN_ABSENT)
            assert_null(firn_call_input(call, i));
        else
            check_tensor(firn_call_input(call, i), op->inputs[i]);
    assert_null(firn_call_input(call, call->input_count));
    for (uint8_t i = 0; i < call->output_count; i++)
        check_tensor(&call->outputs[i], op->outputs[i]);
    if (op->integers_count > 0)
        assert_memory_equal(call->integers, op->integers, op->integers_count * sizeof(int64_t));
    if (op->reals_count > 0)
        assert_memory_equal(call->reals, op->reals, op->reals_count * sizeof(float));
    assert_int_equal(call->reductions != NULL, op->reductions_count != 0);
    for (uint32_t i = 0; i < op->reductions_count; i++) {
        assert_int_equal(call->reductions[i].kind, op->reductions[i].kind);
        assert_int_equal(call->reductions[i].accumulator, op->reductions[i].accumulator);
        assert_int_equal(call->reductions[i].output, op->reductions[i].output);
        assert_int_equal(call->reductions[i].chunk, op->reductions[i].chunk);
    }
    assert_int_equal(call->seed, 99);
    assert_ptr_equal(call->moment, &instance.moment);
    called = called * 10 + op->code;
}

static void look_at_few(const firn_kernel_call *call) {
    check_op(call, &ops[0]);
}
static void look_at_many(const firn_kernel_call *call) {
    check_op(call, &ops[1]);
}
static void look_at_bare(const firn_kernel_call *call) {
    check_op(call, &ops[2]);
}

static uint64_t scratch_of_inputs(uint16_t op, const firn_kernel_call *call) {
    assert_int_equal(call->inputs[0].data == NULL, op == MANY);
    return call->input_count;
}

static firn_kernel_choice find(uint16_t op, const firn_reduction *reduction) {
    assert_int_equal(reduction != NULL, op == FEW);
    switch (op) {
    case FEW:
        return (firn_kernel_choice){look_at_few, scratch_of_inputs};
    case MANY:
        return (firn_kernel_choice){look_at_many, scratch_of_inputs};
    default:
        return (firn_kernel_choice){look_at_bare, NULL};
    }
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* More inputs of the plan than an instance keeps. */
enum { INPUTS = FIRN_BOUND_INPUTS + 2, FIRST_LIMIT = 100 };

/* Binds a plan with the first `count` ops, as firn_open would. Returns what must be freed. */
static uint8_t *bind(uint32_t count) {
    static const firn_kernel_set set = {.name = "looks", .find = find};
    static const firn_native_sampler sampler = {.samples = 1};
    static firn_native_input inputs[INPUTS];
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = (firn_native_input){.name = "x", .tensor = i % COUNT(tensors), .limit = FIRST_LIMIT + i};
    static const firn_native_initialiser initialisers[] = {{.rule = FIRN_FB_INITIALISER_RULE_CONSTANT}};
    const firn_native_phase phases[] = {{.kind = PHASE, .ops = ops, .ops_count = count}};
    const firn_native_plan plan = {.seed = 99,
                                   .tensors = tensors,
                                   .tensors_count = COUNT(tensors),
                                   .phases = phases,
                                   .phases_count = 1,
                                   .inputs = inputs,
                                   .inputs_count = INPUTS,
                                   .sampler = &sampler,
                                   .initialisers = initialisers,
                                   .initialisers_count = 1};
    size_t bytes;
    uint8_t *written = firn_native_write(&plan, &bytes);
    assert_non_null(written);
    instance = (firn_instance){
        .header.counts = counts, .blocks = {state, arena}, .kernels = &set, .plan = firn_fb_plan_root(written)};
    instance.bound.phases[PHASE] =
        (firn_bound_phase){.ops = firn_fb_phase_ops_data(firn_fb_plan_phases_at(instance.plan, 0)), .count = count};
    called = 0;
    return written;
}

BEFORE_ALL {
    for (uint32_t i = 0; i < MOST_INPUTS; i++)
        many_inputs[i] = i % 3 == 0 ? FIRN_ABSENT : i % 3;
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++)
        many_outputs[i] = (i + 1) % 3;
    for (uint32_t i = 0; i < MOST_ATTRIBUTES; i++) {
        many_integers[i] = INT64_MIN + i;
        many_reals[i] = 0.5f * (float)i;
    }
}

/* The block has exactly the bytes that were asked for, and nothing else is written. */
TEST(prepared_ops_have_what_the_plan_says) {
    uint8_t *plan = bind(3);
    const size_t bytes = (size_t)firn_execute_prepared_bytes(&counts), guard = 64;
    const size_t whole = (bytes + guard + 63) / 64 * 64;
    uint8_t *block = aligned_alloc(64, whole);
    assert_non_null(block);
    memset(block, 0x5a, whole);
    size_t slot_bytes = 0;
    assert_int_equal(firn_execute_check(&instance, block, &slot_bytes), FIRN_OK);
    assert_int_equal(slot_bytes, 64); /* scratch for at most 64 inputs */
    instance.prepared = (const firn_prepared_op *)(void *)block;
    firn_execute_phase(&instance, PHASE);
    assert_int_equal(called, 123);
    for (size_t i = bytes; i < whole; i++)
        assert_int_equal(block[i], 0x5a);
    const firn_tensor *last = (const firn_tensor *)(void *)(block + bytes) - 1;
    check_tensor(last, one_output[0]);
    free(block);
    free(plan);
}

TEST(ops_are_decoded_each_time_without_the_block) {
    uint8_t *plan = bind(1);
    size_t slot_bytes = 0;
    assert_int_equal(firn_execute_check(&instance, NULL, &slot_bytes), FIRN_OK);
    firn_execute_phase(&instance, PHASE);
    firn_execute_phase(&instance, PHASE);
    assert_int_equal(called, 11);
    free(plan);
}

TEST(a_large_op_needs_the_block) {
    uint8_t *plan = bind(3);
    const bool fits = MOST_INPUTS + MOST_OUTPUTS <= OPERANDS_WITHOUT_BLOCK;
    size_t slot_bytes = 0;
    assert_int_equal(firn_execute_check(&instance, NULL, &slot_bytes), fits ? FIRN_OK : FIRN_ERROR_PREPARED_TOO_SMALL);
    if (fits) {
        firn_execute_phase(&instance, PHASE);
        assert_int_equal(called, 123);
    }
    free(plan);
}

TEST(every_input_is_what_the_plan_says) {
    uint8_t *plan = bind(1);
    firn_bind(&instance);
    assert_int_equal(instance.bound.inputs, INPUTS);
    for (uint32_t i = 0; i < INPUTS; i++) {
        firn_bound_input room = {0};
        const firn_bound_input *input = firn_bound_input_at(&instance, i, &room);
        assert_int_equal(input == &room, i >= FIRN_BOUND_INPUTS);
        assert_int_equal(input->limit, FIRST_LIMIT + i);
        assert_ptr_equal(input->data, firn_instance_data(&instance, i % COUNT(tensors)));
    }
    free(plan);
}

/* A header that was not verified can claim any number of ops. */
TEST(sizes_do_not_overflow) {
    const uint64_t most = UINT32_MAX;
    const firn_counts all = {.ops = UINT32_MAX,
                             .operands = UINT32_MAX,
                             .integers = UINT32_MAX,
                             .reals = UINT32_MAX,
                             .reductions = UINT32_MAX},
                      none = {0};
    assert_true(firn_execute_prepared_bytes(&all) > most * sizeof(firn_prepared_op));
    assert_true(firn_execute_prepared_bytes(&all) < most * 1024);
    assert_int_equal(firn_execute_prepared_bytes(&none), 0);
}
