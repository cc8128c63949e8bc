/* Tests that a configuration which asks for a part that the build lacks is refused, and runs nothing: threads of the
 * port, an owner, the copy of a plan. The same configurations are good in a build that has the part. */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/parts.h"
#include "tests/unit/support_signed_plans.h"

/* --- open.c with parts that can be taken out --- */

static bool has_threads;
static const firn_sharing_part *sharing;
static firn_plan_copy copier;

#define firn_has_threads has_threads
#define firn_sharing     sharing
#define firn_plan_copier copier
#include "runtime/open.c"
#include "tests/unit/support_test.h"
#undef firn_has_threads
#undef firn_sharing
#undef firn_plan_copier

static signed_plan trains, evaluates;
static opened first, second;
static firn_port port;

BEFORE_EACH {
    has_threads = firn_has_threads;
    sharing = firn_sharing;
    copier = firn_plan_copier;
    port = (firn_port){.struct_size = sizeof port};
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    support_bigram(&trains, &support_settings);
    support_bigram_eval(&evaluates, &support_settings);
}

/* --- configurations --- */

static void run_in_the_caller(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                              void *argument) {
    (void)context;
    body(argument, 0, tasks);
}

static int open_with_threads(uint32_t threads) {
    firn_config config = support_config(&first, &trains);
    port.parallel_for = threads != 0 ? run_in_the_caller : NULL;
    port.threads = threads;
    config.port = &port;
    memset(&first.firn, 0, sizeof first.firn);
    return firn_open(&first.firn, &config);
}

TEST(missing_threads_are_found) {
    assert_int_equal(open_with_threads(2), FIRN_OK);
    has_threads = false;
    assert_int_equal(open_with_threads(2), FIRN_ERROR_KERNEL_MISSING);
    firn_step_report report;
    assert_int_equal(firn_train_step(&first.firn, NULL, &report), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(open_with_threads(1), FIRN_OK);
    assert_int_equal(open_with_threads(0), FIRN_OK);
}

static int open_with_owner(void) {
    firn_config config = support_config(&second, &evaluates);
    config.owner = &first.firn;
    for (uint32_t i = 0; i < config.block_count; i++)
        if (firn_region_fast_kind(((const firn_instance *)(const void *)&first.firn)->header.region_kinds[i]) ==
            FIRN_FB_REGION_KIND_PARAMETERS)
            second.blocks[i] = (firn_block){0};
    memset(&second.firn, 0, sizeof second.firn);
    return firn_open(&second.firn, &config);
}

TEST(missing_sharing_is_found) {
    assert_int_equal(open_with_threads(0), FIRN_OK);
    assert_int_not_equal(open_with_owner(), FIRN_ERROR_KERNEL_MISSING);
    sharing = NULL;
    assert_int_equal(open_with_owner(), FIRN_ERROR_KERNEL_MISSING);
}

static int open_with_copy(uint64_t bytes) {
    static _Alignas(64) uint8_t copy[sizeof trains.file];
    firn_config config = support_config(&first, &trains);
    config.copy_plan = bytes != 0 ? copy : NULL;
    config.copy_plan_bytes = bytes;
    memset(&first.firn, 0, sizeof first.firn);
    return firn_open(&first.firn, &config);
}

TEST(a_missing_copier_is_found) {
    assert_int_equal(open_with_copy(sizeof trains.file), FIRN_OK);
    copier = NULL;
    assert_int_equal(open_with_copy(sizeof trains.file), FIRN_ERROR_KERNEL_MISSING);
    assert_int_equal(open_with_copy(0), FIRN_OK);
}
