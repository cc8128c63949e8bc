/* Tests how firn_open uses a kernel set: it is looked up once, and asked for its workspace. This test defines the set
 * and links it in place of the build's own. */

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/vector/rows.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

enum { WORKSPACE = 128 };

static uint32_t choices, calls, threads;
static uint64_t wanted = WORKSPACE - 1; /* scratch of the largest op */
static firn_port port;
static _Alignas(64) uint8_t workspace[3 * WORKSPACE];

/* Also used as the kernel of initial values, which has no scratch function. */
static void nothing(const firn_kernel_call *call) {
    if (call->input_count == 0 && call->moment == NULL)
        return;
    assert_ptr_equal(call->workspace, wanted != 0 ? workspace : NULL);
    assert_int_equal(call->slot_bytes, wanted != 0 ? WORKSPACE : 0);
    assert_int_equal(call->parallel.threads, threads);
    calls++;
}

/* Bytes of scratch that one op asks for, and hence the plan; not a multiple of 64. */
static uint64_t scratch(uint16_t op, const firn_kernel_call *call) {
    (void)call;
    return op == FIRN_OP_cross_entropy ? wanted : wanted != 0;
}

static firn_kernel_choice find_nothing(uint16_t op, const firn_reduction *reduction) {
    (void)op;
    (void)reduction;
    return (firn_kernel_choice){nothing, scratch};
}

const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    static const firn_kernel_set set = {.name = "nothing", .find = find_nothing, .has_scratch = true};
    choices++;
    return name == NULL || strcmp(name, set.name) == 0 ? &set : NULL;
}

static void in_the_caller(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    body(argument, 0, tasks);
}

static signed_plan plan;
static opened one;

static int open_with(void *block, uint64_t bytes) {
    port = (firn_port){.struct_size = sizeof port, .parallel_for = in_the_caller, .threads = threads};
    firn_config config = support_config(&one, &plan);
    config.workspace = block;
    config.workspace_bytes = bytes;
    config.port = &port;
    config.kernels = "nothing";
    one.firn = (firn){{0}};
    uint64_t needed;
    assert_int_equal(firn_workspace_bytes(&config, &needed), FIRN_OK);
    const uint64_t slot = wanted != 0 ? WORKSPACE : 0;
    assert_int_equal(needed, threads < 2 ? slot : threads * slot);
    return firn_open(&one.firn, &config);
}

TEST(a_workspace_is_checked) {
    support_bigram(&plan, &support_settings);
    assert_int_equal(open_with(NULL, 0), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(workspace, WORKSPACE - 1), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(NULL, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace + 8, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(one.parameters, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(one.arena + 64, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(plan.file, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace, UINT64_MAX), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace, WORKSPACE), FIRN_OK);
}

/* Each thread gets separate memory. */
TEST(a_workspace_is_for_all_threads) {
    support_bigram(&plan, &support_settings);
    threads = 3;
    assert_int_equal(open_with(workspace, 3 * WORKSPACE - 1), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(workspace, 3 * WORKSPACE), FIRN_OK);
    threads = 0;
}

/* Runs a step of what was opened with a plan of support_bigram. */
static void take_step(void) {
    static const uint8_t text[40] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint64_t whole[] = {sizeof text, 0};
    bytes_source source;
    firn_step_report report;
    support_text(&source, text, whole);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_OK);
}

/* The workspace has a slot for each thread of the port at firn_open, so a later number must not be used. */
TEST(threads_are_read_once) {
    support_bigram(&plan, &support_settings);
    threads = 3;
    assert_int_equal(open_with(workspace, sizeof workspace), FIRN_OK);
    port.threads = 4;
    calls = 0;
    take_step();
    assert_true(calls > 5);
    threads = 0;
}

/* Kernels that need no scratch are not given any, whether the caller has some or not. */
TEST(a_workspace_without_use_is_ignored) {
    support_bigram(&plan, &support_settings);
    wanted = 0;
    assert_int_equal(open_with(workspace, sizeof workspace), FIRN_OK);
    take_step();
    wanted = WORKSPACE - 1;
}

/* A need that no memory can meet is refused, and not shortened to a size that it does not fit. */
TEST(a_need_beyond_all_memory_is_refused) {
    static const uint64_t needs[] = {UINT64_MAX, SIZE_MAX - 62, SIZE_MAX / 3 + 1};
    support_bigram(&plan, &support_settings);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        port = (firn_port){.struct_size = sizeof port, .parallel_for = in_the_caller, .threads = 3};
        firn_config config = support_config(&one, &plan);
        config.port = &port;
        config.kernels = "nothing";
        config.workspace = workspace;
        config.workspace_bytes = sizeof workspace;
        one.firn = (firn){{0}};
        wanted = needs[i];
        uint64_t bytes = 1;
        assert_int_equal(firn_workspace_bytes(&config, &bytes), FIRN_ERROR_WORKSPACE_TOO_SMALL);
        assert_int_equal(bytes, 0);
        assert_int_equal(firn_open(&one.firn, &config), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    }
    wanted = WORKSPACE - 1;
}

/* The kind and the accumulator of a row are compared independently. */
TEST(a_row_matches_both_fields) {
    enum { OP = FIRN_OP_linear, ANY = FIRN_ANY, KIND = FIRN_REDUCTION_CHUNKED, TYPE = FIRN_FLOAT16 };
    static const struct {
        firn_kernel_row row;
        bool of_none, of_same, of_other_kind, of_other_type;
    } cases[] = {
        {{.op = OP, .reduction = ANY, .accumulator = ANY}, true, true, true, true},
        {{.op = OP, .reduction = KIND, .accumulator = ANY}, false, true, false, true},
        {{.op = OP, .reduction = ANY, .accumulator = TYPE}, false, true, true, false},
        {{.op = OP, .reduction = KIND, .accumulator = TYPE}, false, true, false, false},
    };
    const firn_reduction same = {.kind = KIND, .accumulator = TYPE};
    const firn_reduction other_kind = {.kind = FIRN_REDUCTION_F32, .accumulator = TYPE};
    const firn_reduction other_type = {.kind = KIND, .accumulator = FIRN_BFLOAT16};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(firn_row_matches(&cases[i].row, OP, NULL), cases[i].of_none);
        assert_int_equal(firn_row_matches(&cases[i].row, OP, &same), cases[i].of_same);
        assert_int_equal(firn_row_matches(&cases[i].row, OP, &other_kind), cases[i].of_other_kind);
        assert_int_equal(firn_row_matches(&cases[i].row, OP, &other_type), cases[i].of_other_type);
        assert_false(firn_row_matches(&cases[i].row, FIRN_OP_gelu, &same));
    }
}

TEST(a_set_is_chosen_once) {
    firn_info info;
    support_bigram(&plan, &support_settings);
    assert_int_equal(open_with(workspace, sizeof workspace), FIRN_OK);
    choices = 0;
    calls = 0;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_string_equal(info.kernels, "nothing");
    take_step();
    assert_true(calls > 5);
    assert_int_equal(choices, 0);
}
