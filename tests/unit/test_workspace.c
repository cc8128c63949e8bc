/* Tests the workspace that the kernels of a plan require: as much as the largest op needs in each thread and no more,
 * and enough for every kernel set. */
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

enum { GUARD = 64, THREADS_MAX = 3 };

static const char *const sets[] = {"plain", "fma",        "avx2", "avx512",  "avx512fp16",
                                   "amx",   "avx512bf16", "neon", "neonfp16"};
enum { SETS = sizeof sets / sizeof sets[0] };

/* Runs the last tasks first. */
static void run_split(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    body(argument, tasks / 2, tasks);
    body(argument, 0, tasks / 2);
}

static void *block_of(uint64_t bytes) {
    void *block = aligned_alloc(FIRN_BLOCK_ALIGNMENT, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(block);
    return block;
}

static firn_config config_of(const compiled_plan *plan, compiled_run *run, const char *kernels, const firn_port *port) {
    firn_config config = {
        .plan = plan->file, .plan_bytes = plan->bytes, .public_key = compiled_key, .port = port, .kernels = kernels};
    compiled_run_blocks(run, &config);
    return config;
}

static void take_steps(compiled_run *run) {
    firn_step_report report;
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(firn_train_step(&run->firn, compiled_source(run), &report), FIRN_OK);
}

/* Opens with exactly the workspace that is required, is refused with one byte less, and runs without writing behind it.
 * Returns the required bytes. */
static uint64_t check_set(const compiled_plan *plan, const char *kernels, uint32_t threads) {
    const firn_port port = {
        .struct_size = sizeof port, .parallel_for = threads > 1 ? run_split : NULL, .threads = threads, .grain = 1};
    compiled_run run;
    firn_config config = config_of(plan, &run, kernels, &port);
    uint64_t bytes;
    assert_int_equal(firn_workspace_bytes(&config, &bytes), FIRN_OK);
    assert_int_equal(bytes % 64, 0);
    run.workspace = block_of(bytes + GUARD);
    memset(run.workspace, 0xa5, (size_t)bytes + GUARD);
    if (bytes != 0) {
        assert_int_equal(firn_open(&run.firn, &config), FIRN_ERROR_WORKSPACE_TOO_SMALL);
        config.workspace = run.workspace;
        config.workspace_bytes = bytes - 1;
        assert_int_equal(firn_open(&run.firn, &config), FIRN_ERROR_WORKSPACE_TOO_SMALL);
        config.workspace_bytes = bytes;
    }
    assert_int_equal(firn_open(&run.firn, &config), FIRN_OK);
    take_steps(&run);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(((uint8_t *)run.workspace)[bytes + i], 0xa5);
    compiled_run_close(&run);
    return bytes;
}

/* Returns the largest number of bytes that any set requires for one thread. */
static uint64_t check_plan(const char *recipe, const char *const *settings, uint32_t count) {
    compiled_plan plan;
    uint64_t most = 0;
    compiled_plan_make(&plan, recipe, FIRNC_TRAIN, settings, count);
    for (int i = 0; i < SETS; i++)
        for (uint32_t threads = 1; firn_kernel_set_choose(sets[i]) != NULL && threads <= THREADS_MAX; threads++) {
            const uint64_t bytes = check_set(&plan, sets[i], threads);
            if (!firn_kernel_set_choose(sets[i])->has_scratch)
                assert_int_equal(bytes, 0);
            else if (threads == 1 && bytes > most)
                most = bytes;
        }
    compiled_plan_free(&plan);
    return most;
}

TEST(it_follows_the_plan) {
    static const char *const wide[] = {"trainer.init.model.hidden_sizes=[500]",
                                       "trainer.fit.train_dataloader.batch_size=64",
                                       "trainer.fit.train_dataloader.micro_batch_size=64"};
    static const char *const chunked[] = {"trainer.init.precision.precision_opt_level=2",
                                          "trainer.init.precision.pol_lowering=emulate"};
    const uint64_t small = check_plan("compiler/recipes/small_mlp.yaml", NULL, 0);
    const uint64_t larger = check_plan("compiler/recipes/small_mlp.yaml", wide, 3);
    assert_true(larger < (1 << 20));
    if (larger != 0)
        assert_true(small < larger);
    (void)check_plan("compiler/recipes/small_gpt2.yaml", NULL, 0);
    (void)check_plan("compiler/recipes/small_gpt2.yaml", chunked, 2);
}

/* The workspace size is not computed from a plan whose signature is unchecked. */
TEST(it_is_asked_of_verified_plans) {
    compiled_plan plan;
    compiled_run run;
    uint64_t bytes = 1;
    if (!firn_kernel_set_choose(NULL)->has_scratch)
        skip();
    compiled_plan_make(&plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, NULL, 0);
    plan.file[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    const firn_config config = config_of(&plan, &run, NULL, NULL);
    assert_int_equal(firn_workspace_bytes(&config, &bytes), FIRN_ERROR_SIGNATURE);
    assert_int_equal(bytes, 0);
    assert_int_equal(firn_workspace_bytes(&config, NULL), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_workspace_bytes(NULL, &bytes), FIRN_ERROR_ARGUMENT);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}
