/* Tests the chain of checks: their order, and that firnc and the runtime perform the same ones. The test damages a plan
 * for the last check first and then for each earlier check without repairing it, so the reported error must always be
 * that of the earliest check. */
#include <string.h>

#include "compiler/emit/plan_file.h"
#include "plan/checks/check.h"
#include "plan/errors.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_test.h"

static signed_plan plan;
static _Alignas(16) uint8_t pool[4096];

typedef struct device {
    uint32_t counter;
    int alive, reads;
} device;

static void device_alive(void *context) {
    ((device *)context)->alive++;
}

static int device_counter(void *context, uint32_t *value) {
    device *self = context;
    self->reads++;
    *value = self->counter;
    return self->counter == UINT32_MAX ? FIRN_ERROR_COUNTER : FIRN_OK;
}

static firn_check_request request_of(device *device, const uint8_t *key) {
    return (firn_check_request){.mark = FIRN_CHECK_REQUEST,
                                .file = plan.file,
                                .file_bytes = plan.bytes,
                                .keys = {.list = key, .count = 1},
                                .pool = pool,
                                .pool_bytes = sizeof pool,
                                .life = {.context = device, .alive = device_alive},
                                .counter = device_counter};
}

static void expect_of_firnc(int expected, const uint8_t *key, uint32_t counter) {
    firnc_plan_file seen;
    const firnc_bytes file = {.data = plan.file, .count = plan.bytes};
    assert_int_equal(firnc_plan_check(&file, key, counter, &seen), expected);
}

/* Asserts the result of both programs' checks for the current plan. */
static void expect(int expected, const uint8_t *key, uint32_t counter) {
    device device = {.counter = counter};
    const firn_check_request request = request_of(&device, key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), expected);
    expect_of_firnc(expected, key, counter);
}

/* Returns the plan's current header. */
static firn_header header_now(void) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    return header;
}

static void encode(const firn_header *header) {
    firn_header_encode(header, plan.file);
}

TEST(the_earliest_fault_is_reported) {
    signed_plan_settings settings = support_settings; /* counter 3 */
    support_bigram(&plan, &settings);
    expect(FIRN_OK, plan.key, 3);
    settings.spoil_code = 60000;
    support_bigram(&plan, &settings);
    expect(FIRN_ERROR_OP_UNKNOWN, plan.key, 3);
    plan.file[FIRN_PAYLOAD_OFFSET + 4] ^= 1; /* the identifier */
    support_sign(&plan, false);
    expect(FIRN_ERROR_SCHEMA_IDENTIFIER, plan.key, 3);
    expect(FIRN_ERROR_SECURITY_COUNTER, plan.key, 4);
    firn_header header = header_now();
    header.run_hash[0] ^= 1;
    encode(&header);
    support_sign_bytes(&plan);
    expect(FIRN_ERROR_RUN_HASH, plan.key, 4);
    plan.file[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    expect(FIRN_ERROR_SIGNATURE, plan.key, 4);
    static uint8_t other[64];
    memcpy(other, plan.key, sizeof other);
    other[7] ^= 1;
    expect(FIRN_ERROR_WRONG_KEY, other, 4);

    device device = {.counter = 4};
    firn_check_request request = request_of(&device, other);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_WRONG_KEY);
    assert_int_equal(device.alive, 0); /* a wrong key is refused before anything is hashed */
    assert_int_equal(device.reads, 0); /* and before the counter is read */
    plan.bytes--;
    expect(FIRN_ERROR_TRUNCATED, other, 4);
}

/* The schema hash says which schema the writer had; the version decides. */
TEST(any_schema_hash_is_accepted) {
    support_bigram(&plan, &support_settings);
    firn_header header = header_now();
    memset(header.schema_hash, 0x5a, sizeof header.schema_hash);
    encode(&header);
    support_sign(&plan, false);
    expect(FIRN_OK, plan.key, 3);
}

TEST(success_is_only_what_was_checked) {
    support_bigram(&plan, &support_settings);
    device device = {.counter = 2};
    firn_check_request request = request_of(&device, plan.key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_OK);
    assert_int_equal(checked.device_counter, 2);
    assert_int_equal(checked.header.security_counter, 3);
    assert_string_equal(firn_fb_tensor_name(firn_fb_plan_tensors_at(checked.plan, 0)), "counters.cursor");
    assert_true(device.alive > 2);
    for (uint32_t i = 0; i < sizeof pool; i++)
        assert_int_equal(pool[i], 0);
    /* firn_check refuses a missing key; only the other function skips the signature */
    request.keys.list = NULL;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_ARGUMENT);
    plan.file[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    assert_int_equal(firn_check_untrusted(&request, &checked), FIRN_OK);
    plan.file[FIRN_PAYLOAD_OFFSET - 1] ^= 1;
    request.keys.list = plan.key;
    request.pool_bytes = 64;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_POOL_TOO_SMALL);
    request.pool_bytes = sizeof pool;
    device.counter = UINT32_MAX;
    assert_int_equal(firn_check(&request, &checked), FIRN_ERROR_COUNTER);
}

/* The plan hash is that of the header, which all else follows from. */
TEST(the_plan_hash_is_that_of_the_header) {
    support_bigram(&plan, &support_settings);
    device device = {.counter = 3};
    const firn_check_request request = request_of(&device, plan.key);
    firn_checked checked;
    uint8_t hash[FIRN_HASH_BYTES];
    assert_int_equal(firn_check(&request, &checked), FIRN_OK);
    assert_int_equal(firn_sha256_of(plan.file, FIRN_HEADER_BYTES, hash), FIRN_OK);
    assert_memory_equal(checked.plan_hash, hash, sizeof hash);
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static const char report[] = "{\"model\": \"bigram\"}\n";

static void make_with_report(void) {
    signed_plan_settings settings = support_settings;
    settings.report = report;
    support_classifier(&plan, &settings);
}

/* Returns the result for the report of a plan whose other checks pass. */
static int check_report(void) {
    device device = {.counter = 3};
    const firn_check_request request = request_of(&device, plan.key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_OK);
    return firn_check_report(&request, &checked.header);
}

TEST(the_report_is_what_was_signed) {
    make_with_report();
    const uint64_t end = plan.bytes - (sizeof report - 1);
    expect(FIRN_OK, plan.key, 3);
    assert_int_equal(check_report(), FIRN_OK);
    assert_memory_equal(plan.file + end, report, sizeof report - 1);
    for (uint64_t bit = 8 * end; bit < 8 * plan.bytes; bit++) {
        if (!support_takes_next())
            continue;
        plan.file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(check_report(), FIRN_ERROR_REPORT);
        if (bit % 16 == 0)
            expect_of_firnc(FIRN_ERROR_REPORT, plan.key, 3);
        plan.file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    firn_header header = header_now();
    header.report_hash[31] ^= 1;
    encode(&header);
    support_sign_bytes(&plan);
    assert_int_equal(check_report(), FIRN_ERROR_REPORT);
}

/* A device needs no report. */
TEST(a_plan_without_its_report_is_checked_alike) {
    make_with_report();
    plan.bytes -= sizeof report - 1;
    expect(FIRN_OK, plan.key, 3);
    assert_int_equal(check_report(), FIRN_ERROR_REPORT);
    plan.bytes++;
    expect(FIRN_ERROR_TRUNCATED, plan.key, 3);
    support_classifier(&plan, &support_settings);
    expect(FIRN_OK, plan.key, 3);
    assert_int_equal(check_report(), FIRN_ERROR_REPORT);
}

/* --- every bit ---------------------------------------------------------------------------------------------------- */

static void flip(uint64_t bit) {
    plan.file[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

/* Bytes that are no request allow nothing by what they lack. */
TEST(a_request_without_its_mark_passes_no_plan) {
    make_with_report();
    device device = {.counter = 3};
    firn_check_request request = request_of(&device, plan.key);
    firn_checked checked;
    assert_int_equal(firn_check(&request, &checked), FIRN_OK);
    request.mark = 0;
    assert_int_not_equal(firn_check(&request, &checked), FIRN_OK);
}

enum { STEPS = 7, BEFORE_THE_COUNTER = 5, NO_STEP = STEPS };

static const uint32_t trail_steps[STEPS] = {FIRN_TRAIL_KEY,    FIRN_TRAIL_SIGNATURE, FIRN_TRAIL_DEVICE,
                                            FIRN_TRAIL_IMAGE,  FIRN_TRAIL_RUN_HASH,  FIRN_TRAIL_COUNTER,
                                            FIRN_TRAIL_PAYLOAD};

/* A trail of the first `count` checks without number `left_out`. Check number `different` has these differences. */
static firn_trail trail_of(uint32_t count, uint32_t left_out, uint32_t different, uint32_t first, uint32_t second) {
    firn_trail trail = {0};
    for (uint32_t i = 0; i < count; i++)
        if (i != left_out)
            firn_trail_add(&trail, trail_steps[i], i == different ? first : 0, i == different ? second : 0);
    return trail;
}

/* The trail of a plan that has passed every check before that of the counter. */
static firn_trail trail_before_the_counter(void) {
    return trail_of(BEFORE_THE_COUNTER, NO_STEP, NO_STEP, 0, 0);
}

/* A disturbance that changes few bits of the number of a check cannot make it that of another, or no number at all. */
TEST(the_numbers_of_checks_differ_in_many_bits) {
    for (uint32_t i = 0; i < STEPS; i++) {
        assert_true(__builtin_popcount(trail_steps[i]) >= 12);
        for (uint32_t j = 0; j < i; j++)
            assert_true(__builtin_popcount(trail_steps[i] ^ trail_steps[j]) >= 12);
    }
}

TEST(a_trail_needs_every_check_and_no_difference) {
    const firn_trail whole = trail_of(STEPS, NO_STEP, NO_STEP, 0, 0), none = {0};
    assert_true(firn_trail_is_complete(&whole));
    assert_int_equal(firn_trail_end(), 0x4273e714); /* of all numbers and the factor: none changes unnoticed */
    assert_false(firn_trail_is_complete(&none));
    for (uint32_t i = 0; i < STEPS; i++) {
        const firn_trail shorter = trail_of(STEPS, i, NO_STEP, 0, 0);
        assert_false(firn_trail_is_complete(&shorter));
        for (uint32_t bit = 0; bit < 32; bit++) {
            const firn_trail first = trail_of(STEPS, NO_STEP, i, UINT32_C(1) << bit, 0);
            const firn_trail second = trail_of(STEPS, NO_STEP, i, 0, UINT32_C(1) << bit);
            assert_false(firn_trail_is_complete(&first));
            assert_false(firn_trail_is_complete(&second));
        }
    }
}

TEST(a_difference_is_found_in_every_bit) {
    static const uint8_t zeros[9];
    uint8_t other[sizeof zeros];
    for (uint32_t bit = 0; bit < 8 * sizeof other; bit++) {
        memset(other, 0, sizeof other);
        other[bit / 8] = (uint8_t)(1u << bit % 8);
        assert_int_not_equal(firn_difference(zeros, other, sizeof other), 0);
        assert_int_not_equal(firn_difference(other, zeros, sizeof other), 0);
        assert_int_equal(firn_difference(other, zeros, bit / 8), 0);
        assert_int_equal(firn_difference(other, other, sizeof other), 0);
    }
}

/* Zeros, as they may lie where a spoiled pointer points to, have no function that reads a counter. Only with the mark
 * does this mean that the device has none. */
TEST(zeros_are_no_device_without_counter) {
    firn_check_request zeros = {0};
    uint32_t counter = 0;
    firn_trail trail = trail_before_the_counter();
    assert_int_equal(firn_check_counter(&zeros, &counter, &trail), FIRN_ERROR_SECURITY_COUNTER);
    firn_trail_add(&trail, FIRN_TRAIL_PAYLOAD, 0, 0);
    assert_false(firn_trail_is_complete(&trail));

    zeros.mark = FIRN_CHECK_REQUEST;
    trail = trail_before_the_counter();
    assert_int_equal(firn_check_counter(&zeros, &counter, &trail), FIRN_OK);
    firn_trail_add(&trail, FIRN_TRAIL_PAYLOAD, 0, 0);
    assert_true(firn_trail_is_complete(&trail));
}

/* No bit of header, signature and payload can change unnoticed. A flip in the payload leaves the header alone, so for
 * most of them the check without signature shows that the run hash differs; every ninth is tried with the signature. */
TEST(a_flip_of_every_bit) {
    make_with_report();
    device device = {.counter = 3};
    const firn_check_request request = request_of(&device, plan.key);
    const uint64_t payload = 8 * FIRN_PAYLOAD_OFFSET, end = 8 * (plan.bytes - (sizeof report - 1));
    firn_checked checked;
    for (uint64_t bit = 0; bit < end; bit++) {
        if (!support_takes_next())
            continue;
        flip(bit);
        int status = firn_check_untrusted(&request, &checked);
        if (bit < payload || bit % 9 == 0) {
            const int trusted = firn_check(&request, &checked);
            assert_true(bit < payload || trusted == status);
            status = trusted;
        }
        if (bit < payload ? status == FIRN_OK : status != FIRN_ERROR_RUN_HASH)
            fail_msg("bit %llu: %s", (unsigned long long)bit, firn_error_name(status));
        if (bit >= 8 * FIRN_HEADER_BYTES && bit < payload)
            assert_int_equal(status, FIRN_ERROR_SIGNATURE);
        flip(bit);
    }
    expect(FIRN_OK, plan.key, 3);
}
