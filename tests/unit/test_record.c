/* Tests that firnc inspect shows the checkpoint size and the identities of a plan as the runtime writes and reports
 * them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/inspect/inspect.h"
#include "plan/bytes.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"
#include <cjson/cJSON.h>

static signed_plan plan;
static opened one;

/* --- storage that counts --- */

typedef struct storage {
    uint64_t end; /* offset behind the last byte that was programmed */
} storage;

static int read_none(void *context, uint64_t offset, void *bytes, uint32_t count) {
    (void)context, (void)offset, (void)bytes, (void)count;
    return FIRN_ERROR_STORAGE;
}

static int count_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    storage *self = context;
    (void)bytes;
    self->end = offset + count;
    return 0;
}

static int erase_all(void *context, uint64_t offset, uint64_t count) {
    (void)offset, (void)count;
    ((storage *)context)->end = 0;
    return 0;
}

static int sync_nothing(void *context) {
    (void)context;
    return 0;
}

static uint64_t count_stored(void *context) {
    return ((storage *)context)->end;
}

/* Size of the record that firn_save writes for the plan. */
static uint64_t saved_bytes(void) {
    static const firn_storage slot = {.program_unit = 16,
                                      .erase_unit = 16,
                                      .read = read_none,
                                      .program = count_program,
                                      .erase = erase_all,
                                      .sync = sync_nothing,
                                      .stored = count_stored};
    storage storage = {0};
    const firn_port port = {.struct_size = sizeof port, .context = &storage, .storage = &slot};
    assert_int_equal(support_open(&one, &plan, &port), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_save(&one.firn), FIRN_OK);
    return storage.end;
}

/* --- output of inspect --- */

static int run_inspect(const char *name) {
    return firnc_inspect(name, FIRNC_INSPECT_JSON);
}

static cJSON *inspect(void) {
    static char text[1 << 20];
    assert_int_equal(support_capture_command(run_inspect, plan.file, plan.bytes, STDOUT_FILENO, text, sizeof text), 0);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    return root;
}

static void assert_hash(const cJSON *root, const char *name, const uint8_t hash[32]) {
    char hex[65];
    for (uint32_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    const char *printed = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
    assert_non_null(printed);
    assert_string_equal(printed, hex);
}

static void expect_agreement(void) {
    uint64_t saved = saved_bytes();
    cJSON *root = inspect();
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
    const cJSON *printed = cJSON_GetObjectItemCaseSensitive(totals, "checkpoint_bytes");
    assert_true(cJSON_IsNumber(printed));
    assert_int_equal((uint64_t)printed->valuedouble, saved);
    firn_info info;
    assert_int_equal(firn_describe(&one.firn, &info), FIRN_OK);
    assert_hash(root, "plan_hash", info.plan_hash);
    assert_hash(root, "run_hash", info.run_hash);
    assert_hash(root, "model_hash", info.model_hash);
    cJSON_Delete(root);
}

TEST(inspect_says_what_is_saved) {
    support_bigram(&plan, &support_settings);
    expect_agreement();
    support_bigram_eval(&plan, &support_settings);
    expect_agreement();
    support_classifier(&plan, &support_settings);
    expect_agreement();
}

/* --- bytes --- */

TEST(loads_what_was_stored) {
    uint8_t bytes[10] = {0};
    firn_store64(bytes + 1, UINT64_C(0xfedcba9876543210));
    static const uint8_t expected[10] = {0, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0};
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_true(firn_load64(bytes + 1) == UINT64_C(0xfedcba9876543210));
    assert_int_equal(firn_load32(bytes + 5), 0xfedcba98u);
    assert_int_equal(firn_load16(bytes + 7), 0xfedcu);
}
