/* Tests the chain of checks: their order, and that firnc and the runtime perform the same ones. The test damages a plan
 * for the last check first and then for each earlier check without repairing it, so the reported error must always be
 * that of the earliest check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/plan_file.h"
#include "plan/checks/check.h"
#include "plan/errors.h"
#include "tests/unit/support_signed_plans.h"

static signed_plan plan;
static _Alignas(16) uint8_t pool[FIRN_POOL_BYTES_MAX];

typedef struct device {
    uint32_t counter;
    int alive, locked, reads;
} device;

static void device_alive(void *context) {
    ((device *)context)->alive++;
}

static void device_lock(void *context) {
    ((device *)context)->locked++;
}

static void device_unlock(void *context) {
    ((device *)context)->locked--;
}

static int device_counter(void *context, uint32_t *value) {
    device *self = context;
    self->reads++;
    *value = self->counter;
    return self->counter == UINT32_MAX ? FIRN_ERROR_COUNTER : FIRN_OK;
}

static firn_check_request request_of(device *device, const uint8_t *key) {
    return (firn_check_request){.file = plan.file,
                                .file_bytes = plan.bytes,
                                .public_key = key,
                                .state_bytes = UINT64_MAX,
                                .arena_bytes = UINT64_MAX,
                                .pool = pool,
                                .pool_bytes = sizeof pool,
                                .context = device,
                                .alive = device_alive,
                                .lock = device_lock,
                                .unlock = device_unlock,
                                .counter = device_counter};
}

/* Asserts the result of both programs' checks for the current plan. */
static void expect(int expected, const uint8_t *key, uint32_t counter) {
    device device = {.counter = counter};
    const firn_check_request request = request_of(&device, key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), expected);
    assert_int_equal(device.locked, 0);
    firnc_plan_file seen;
    const firnc_bytes file = {.data = plan.file, .count = plan.bytes};
    assert_int_equal(firnc_plan_check(&file, key, counter, &seen), expected);
}

/* Returns the plan's current header. */
static firn_header header_now(void) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    return header;
}

static void the_earliest_fault_is_reported(void **state) {
    (void)state;
    signed_plan_settings settings = support_settings; /* counter 3 */
    support_bigram(&plan, &settings);
    expect(FIRN_OK, plan.key, 3);
    settings.spoil_code = 60000;
    support_bigram(&plan, &settings);
    expect(FIRN_ERROR_OP_UNKNOWN, plan.key, 3);
    plan.file[FIRN_HEADER_BYTES + 4] ^= 1; /* the identifier */
    support_sign(&plan, false);
    expect(FIRN_ERROR_SCHEMA_IDENTIFIER, plan.key, 3);
    firn_header header = header_now();
    header.schema_hash[9] ^= 1;
    firn_header_encode(&header, plan.file);
    support_sign(&plan, false);
    expect(FIRN_ERROR_SCHEMA_HASH, plan.key, 3);
    expect(FIRN_ERROR_SECURITY_COUNTER, plan.key, 4);
    header = header_now();
    header.run_hash[0] ^= 1;
    firn_header_encode(&header, plan.file);
    support_sign_bytes(&plan);
    expect(FIRN_ERROR_HEADER_MISMATCH, plan.key, 4);
    plan.file[plan.bytes - 1] ^= 1;
    expect(FIRN_ERROR_SIGNATURE, plan.key, 4);
    static uint8_t other[64];
    memcpy(other, plan.key, sizeof other);
    other[7] ^= 1;
    expect(FIRN_ERROR_WRONG_KEY, other, 4);

    device device = {.counter = 4};
    firn_check_request request = request_of(&device, other);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_WRONG_KEY);
    assert_int_equal(device.alive, 0); /* a wrong key is refused before the file is hashed */
    assert_int_equal(device.reads, 0); /* and before the counter is read */
    request.arena_bytes = checked.header.arena_bytes - 1;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_ARENA_TOO_SMALL);
    request.state_bytes = checked.header.state_bytes - 1;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_STATE_TOO_SMALL);
    plan.bytes--;
    expect(FIRN_ERROR_TRUNCATED, other, 4);
}

static void success_is_only_what_was_checked(void **state) {
    (void)state;
    support_bigram(&plan, &support_settings);
    device device = {.counter = 2};
    firn_check_request request = request_of(&device, plan.key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_OK);
    assert_int_equal(checked.device_counter, 2);
    assert_int_equal(checked.header.security_counter, 3);
    assert_string_equal(firn_fb_plan_model(checked.plan), "bigram");
    assert_true(device.alive > 2);
    for (uint32_t i = 0; i < sizeof pool; i++)
        assert_int_equal(pool[i], 0);
    /* firn_check refuses a missing key; only the other function skips the signature */
    request.public_key = NULL;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_ARGUMENT);
    plan.file[plan.bytes - 1] ^= 1;
    assert_int_equal(firn_check_untrusted(&request, &checked), FIRN_OK);
    plan.file[plan.bytes - 1] ^= 1;
    request.public_key = plan.key;
    request.pool_bytes = 64;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_POOL_TOO_SMALL);
    request.pool_bytes = sizeof pool;
    device.counter = UINT32_MAX;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_COUNTER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_fault_is_reported),
        cmocka_unit_test(success_is_only_what_was_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
