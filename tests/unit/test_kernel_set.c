/* Tests how firn_open uses a kernel set: it is looked up once, and asked for its workspace. This test defines the set
 * and links it in place of the build's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/kernels/kernels.h"
#include "tests/unit/support_signed_plans.h"

enum { WORKSPACE = 128 };

static uint32_t choices, calls, threads;
static _Alignas(64) uint8_t workspace[3 * WORKSPACE];

/* Also used as the kernel of initial values, which has no scratch function. */
static void nothing(const firn_kernel_call *call) {
    if (call->input_count == 0 && call->moment == NULL)
        return;
    assert_ptr_equal(call->workspace, workspace);
    assert_int_equal(call->slot_bytes, WORKSPACE);
    calls++;
}

/* Bytes of scratch that one op asks for, and hence the plan; not a multiple of 64. */
static uint64_t scratch(uint16_t op, const firn_kernel_call *call) {
    (void)call;
    return op == FIRN_OP_cross_entropy ? WORKSPACE - 1 : 1;
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
    static firn_port port;
    port = (firn_port){.struct_size = sizeof port, .parallel_for = in_the_caller, .threads = threads};
    firn_config config = support_config(&one, &plan);
    config.workspace = block;
    config.workspace_bytes = bytes;
    config.port = &port;
    config.kernels = "nothing";
    one.firn = (firn){{0}};
    uint64_t needed;
    assert_int_equal(firn_workspace_bytes(&config, &needed), FIRN_OK);
    assert_int_equal(needed, threads < 2 ? WORKSPACE : threads * WORKSPACE);
    return firn_open(&one.firn, &config);
}

static void a_workspace_is_checked(void **state) {
    (void)state;
    support_bigram(&plan, &support_settings);
    assert_int_equal(open_with(NULL, 0), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(workspace, WORKSPACE - 1), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(NULL, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace + 8, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(one.state, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(one.arena + 64, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(plan.file, WORKSPACE), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace, UINT64_MAX), FIRN_ERROR_ARGUMENT);
    assert_int_equal(open_with(workspace, WORKSPACE), FIRN_OK);
}

/* Each thread gets separate memory. */
static void a_workspace_is_for_all_threads(void **state) {
    (void)state;
    support_bigram(&plan, &support_settings);
    threads = 3;
    assert_int_equal(open_with(workspace, 3 * WORKSPACE - 1), FIRN_ERROR_WORKSPACE_TOO_SMALL);
    assert_int_equal(open_with(workspace, 3 * WORKSPACE), FIRN_OK);
    threads = 0;
}

static void a_set_is_chosen_once(void **state) {
    (void)state;
    static const uint8_t text[40] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint64_t whole[] = {sizeof text, 0};
    bytes_source source;
    firn_step_report report;
    firn_info info;
    support_bigram(&plan, &support_settings);
    assert_int_equal(open_with(workspace, sizeof workspace), FIRN_OK);
    choices = 0;
    calls = 0;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_string_equal(info.kernels, "nothing");
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    support_text(&source, text, whole);
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_OK);
    assert_true(calls > 5);
    assert_int_equal(choices, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workspace_is_checked),
        cmocka_unit_test(a_workspace_is_for_all_threads),
        cmocka_unit_test(a_set_is_chosen_once),
    };
    return cmocka_run_group_tests_name("kernel set", tests, NULL, NULL);
}
