/* Tests what a plan must be to run on this device: its identity, its keys, the confirmation that advances the security
 * counter, and the copy that protects a plan in memory that another could change. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/signature.h"
#include "tests/unit/support_signed_plans.h"
#include "tests/unit/support_small_plans.h"
#include "tests/unit/support_test.h"

static const uint8_t text[64] = {1, 2, 3, 4, 5, 6, 7, 0, 7, 6, 5, 4, 3, 2, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7};
static const uint64_t whole[] = {sizeof text, 0};
static const firn_identity device = {.vendor = "acme", .class_id = "sensor", .image_id = 7};

static signed_plan plan;
static opened one, two;

/* Makes a plan for the device above. */
static void make_plan(void) {
    support_bigram(&plan, &support_settings);
    firn_header header;
    assert_int_equal(firn_header_decode(&header, plan.file, plan.bytes), FIRN_OK);
    memcpy(header.vendor, device.vendor, sizeof header.vendor);
    memcpy(header.class_id, device.class_id, sizeof header.class_id);
    header.image_id = device.image_id;
    firn_header_encode(&header, plan.file);
    support_sign(&plan, false);
}

static int open_with(opened *opened, firn_config config) {
    memset(&opened->firn, 0, sizeof opened->firn);
    return firn_open(&opened->firn, &config);
}

static void train(opened *opened, int steps) {
    bytes_source source;
    support_text(&source, text, whole);
    firn_step_report report;
    for (int i = 0; i < steps; i++)
        assert_int_equal(firn_train_step(&opened->firn, &source.source, &report), FIRN_OK);
}

/* --- identity --- */

TEST(another_identity_is_refused) {
    make_plan();
    firn_identity here = device;
    firn_config config = support_config(&one, &plan);
    assert_int_equal(open_with(&one, config), FIRN_OK);
    config.identity = &here;
    assert_int_equal(open_with(&one, config), FIRN_OK);
    for (uint32_t i = 0; i < 16; i++) {
        here.vendor[i] ^= 1;
        assert_int_equal(open_with(&one, config), FIRN_ERROR_OTHER_DEVICE);
        here.vendor[i] ^= 1;
        here.class_id[i] ^= 0x80;
        assert_int_equal(open_with(&one, config), FIRN_ERROR_OTHER_DEVICE);
        here.class_id[i] ^= 0x80;
    }
    here.image_id = 8;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_OTHER_IMAGE);
    here = device;
    assert_int_equal(open_with(&one, config), FIRN_OK);
}

/* A header that nobody signed says nothing about the identity. */
TEST(the_signature_comes_first) {
    make_plan();
    plan.file[48] ^= 1; /* vendor */
    firn_config config = support_config(&one, &plan);
    config.identity = &device;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_SIGNATURE);
}

TEST(reads_what_people_write) {
    static const uint8_t uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    uint8_t id[16];
    assert_true(firn_device_id_read("00112233-4455-6677-8899-aAbBccddeeff", 36, id));
    assert_memory_equal(id, uuid, sizeof id);
    assert_true(firn_device_id_read("acme", 4, id));
    assert_memory_equal(id, device.vendor, sizeof id);
    assert_true(firn_device_id_read("sixteen.letters.", 16, id));
    assert_false(firn_device_id_read("seventeen.letters", 17, id));
    assert_false(firn_device_id_read("a word", 6, id));
    assert_false(firn_device_id_read("00112233-4455-6677-8899-aabbccddeefg", 36, id));
    assert_false(firn_device_id_read("00112233-4455-6677-8899+aabbccddeeff", 36, id));
}

/* --- keys --- */

TEST(any_of_several_keys_may_sign) {
    static signed_plan other;
    support_bigram(&plan, &support_settings);
    support_bigram(&other, &support_settings);
    support_sign(&other, true);
    uint8_t keys[3][FIRN_PUBLIC_KEY_BYTES] = {{1}};
    memcpy(keys[1], plan.key, sizeof keys[1]);
    memcpy(keys[2], other.key, sizeof keys[2]);
    firn_config config = support_config(&one, &plan), config_other = support_config(&two, &other);
    config.public_key = config_other.public_key = keys[0];
    assert_int_equal(open_with(&one, config), FIRN_ERROR_WRONG_KEY);
    config.more_keys = config_other.more_keys = 1;
    assert_int_equal(open_with(&one, config), FIRN_OK);
    assert_int_equal(open_with(&two, config_other), FIRN_ERROR_WRONG_KEY);
    config.more_keys = config_other.more_keys = 2;
    assert_int_equal(open_with(&one, config), FIRN_OK);
    assert_int_equal(open_with(&two, config_other), FIRN_OK);
    config.more_keys = 32;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_ARGUMENT);
    /* The key that the header names is the one that is used, not just any of the list. */
    config.more_keys = 2;
    memcpy(plan.file + 112, other.file + 112, 32); /* the hash of the other key */
    assert_int_equal(open_with(&one, config), FIRN_ERROR_SIGNATURE);
}

static int read_revoked(void *context, uint32_t *mask) {
    *mask = *(const uint32_t *)context;
    return *mask == UINT32_MAX ? FIRN_ERROR_COUNTER : 0;
}

TEST(a_revoked_key_opens_nothing) {
    support_bigram(&plan, &support_settings);
    uint8_t keys[2][FIRN_PUBLIC_KEY_BYTES] = {{1}};
    memcpy(keys[1], plan.key, sizeof keys[1]);
    uint32_t fuses = 0;
    const firn_port port = {.struct_size = sizeof port, .context = &fuses, .revoked_keys = read_revoked};
    firn_config config = support_config(&one, &plan);
    config.public_key = keys[0];
    config.more_keys = 1;
    config.port = &port;
    config.revoked_keys = 1;
    assert_int_equal(open_with(&one, config), FIRN_OK);
    config.revoked_keys = 2;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_KEY_REVOKED);
    config.revoked_keys = 0;
    fuses = 1;
    assert_int_equal(open_with(&one, config), FIRN_OK);
    fuses = 2;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_KEY_REVOKED);
    fuses = UINT32_MAX; /* cannot be read */
    assert_int_equal(open_with(&one, config), FIRN_ERROR_COUNTER);
}

/* --- confirming --- */

typedef struct counter {
    uint32_t value, advances;
    bool broken;
} counter;

static int counter_read(void *context, uint32_t *value) {
    *value = ((counter *)context)->value;
    return 0;
}

static int counter_advance(void *context, uint32_t value) {
    counter *self = context;
    assert_true(value > self->value);
    if (self->broken)
        return FIRN_ERROR_COUNTER;
    self->value = value;
    self->advances++;
    return 0;
}

static const firn_counter counter_functions = {counter_read, counter_advance};

TEST(the_counter_advances_when_a_step_has_worked) {
    support_bigram(&plan, &support_settings); /* counter 3 */
    counter stored = {.value = 2};
    const firn_port port = {.struct_size = sizeof port, .context = &stored, .counter = &counter_functions};
    memset(&one.firn, 0, sizeof one.firn);
    assert_int_equal(firn_confirm(&one.firn), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(support_open(&one, &plan, &port), FIRN_OK);
    assert_int_equal(firn_confirm(&one.firn), FIRN_ERROR_NOT_TRIED);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    assert_int_equal(firn_confirm(&one.firn), FIRN_ERROR_NOT_TRIED);
    bytes_source source;
    support_text(&source, text, whole);
    source.fail_after = 1;
    firn_step_report report;
    assert_int_equal(firn_train_step(&one.firn, &source.source, &report), FIRN_ERROR_SOURCE);
    assert_int_equal(firn_confirm(&one.firn), FIRN_ERROR_NOT_TRIED);
    assert_int_equal(stored.value, 2);
    train(&one, 1);
    assert_int_equal(stored.value, 2);
    stored.broken = true;
    assert_int_equal(firn_confirm(&one.firn), FIRN_ERROR_COUNTER);
    stored.broken = false;
    assert_int_equal(firn_confirm(&one.firn), FIRN_OK);
    assert_int_equal(stored.value, 3);
    assert_int_equal(firn_confirm(&one.firn), FIRN_OK);
    assert_int_equal(stored.advances, 1);
    stored.value = 9; /* another instance went further */
    assert_int_equal(firn_confirm(&one.firn), FIRN_OK);
    assert_int_equal(stored.value, 9);
    assert_int_equal(support_open(&one, &plan, &port), FIRN_ERROR_SECURITY_COUNTER);
}

TEST(nothing_advances_without_a_counter) {
    support_bigram(&plan, &support_settings);
    assert_int_equal(support_open(&one, &plan, NULL), FIRN_OK);
    assert_int_equal(firn_initialise(&one.firn), FIRN_OK);
    train(&one, 1);
    assert_int_equal(firn_confirm(&one.firn), FIRN_OK);
}

/* --- the copy --- */

static _Alignas(64) uint8_t copy[sizeof plan.file];

static firn_config config_with_copy(uint64_t bytes) {
    firn_config config = support_config(&one, &plan);
    config.copy_plan = copy;
    config.copy_plan_bytes = bytes;
    return config;
}

static uint64_t copy_bytes(void) {
    firn_sizes sizes;
    assert_int_equal(firn_plan_sizes(plan.file, plan.bytes, &sizes), FIRN_OK);
    return sizes.copy_plan_bytes;
}

static void digest_after_steps(opened *opened, uint8_t digest[32]) {
    assert_int_equal(firn_initialise(&opened->firn), FIRN_OK);
    train(opened, 7);
    assert_int_equal(firn_digest(&opened->firn, digest), FIRN_OK);
}

/* Everything that a run reads of its plan comes from the copy: the plan itself may be gone. No decoded ops are kept, so
 * that every step reads the plan. */
TEST(a_copied_plan_may_change_afterwards) {
    uint8_t expected[32], digest[32];
    signed_plan_settings settings = support_settings;
    settings.report = "{}";
    support_bigram(&plan, &settings);
    assert_int_equal(open_with(&one, support_config(&one, &plan)), FIRN_OK);
    digest_after_steps(&one, expected);
    const uint64_t needed = copy_bytes();
    assert_int_equal(needed, plan.bytes - 2); /* without the report */
    memset(copy, 0x5a, sizeof copy);
    assert_int_equal(open_with(&one, config_with_copy(needed)), FIRN_OK);
    assert_int_equal(copy[needed], 0x5a);
    memset(plan.file, 0xa5, sizeof plan.file);
    digest_after_steps(&one, digest);
    assert_memory_equal(expected, digest, sizeof digest);
}

static uint32_t calls, change_at;

static void change_plan(void *context) {
    (void)context;
    if (++calls == change_at)
        memset(plan.file, 0xa5, sizeof plan.file);
}

/* A plan that changes while it is opened is refused, or the run is that of the bytes that were verified. */
TEST(a_copied_plan_may_change_meanwhile) {
    static const firn_port port = {.struct_size = sizeof port, .alive = change_plan};
    uint8_t expected[32], digest[32];
    support_bigram(&plan, &support_settings);
    assert_int_equal(open_with(&one, support_config(&one, &plan)), FIRN_OK);
    digest_after_steps(&one, expected);
    uint32_t refused = 0, opened = 0;
    bool changed = true;
    for (change_at = 1; changed; change_at++) {
        support_bigram(&plan, &support_settings);
        firn_config config = config_with_copy(copy_bytes());
        config.port = &port;
        calls = 0;
        const int status = open_with(&one, config);
        changed = calls >= change_at;
        if (status == FIRN_ERROR_RUN_HASH) {
            refused++;
            continue;
        }
        assert_int_equal(status, FIRN_OK);
        digest_after_steps(&one, digest);
        assert_memory_equal(expected, digest, sizeof digest);
        opened++;
    }
    assert_int_equal(refused, 1); /* after the header was copied, before the rest */
    assert_true(opened > 5);
}

/* Opens a plan with a copy of it or without, takes two steps, and computes the digest. If a copy is given, the plan is
 * overwritten before the first step. Returns the status of firn_open. */
static int run_small(const compiled_plan *of, uint8_t *block, uint64_t block_bytes, uint8_t digest[32]) {
    compiled_run run;
    compiled_plan small;
    compiled_plan_copy(&small, of);
    firn_config config = {.plan = small.file,
                          .plan_bytes = small.bytes,
                          .public_key = compiled_key,
                          .kernels = "plain",
                          .copy_plan = block,
                          .copy_plan_bytes = block_bytes};
    compiled_run_blocks(&run, &config);
    const int status = firn_open(&run.firn, &config);
    if (block != NULL)
        memset(small.file, 0xa5, small.bytes);
    firn_info info;
    int stepped = FIRN_OK;
    if (status == FIRN_OK) {
        assert_int_equal(firn_describe(&run.firn, &info), FIRN_OK);
        assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
        for (int i = 0; i < 2; i++) {
            firn_step_report report;
            stepped = info.eval ? firn_eval_step(&run.firn, compiled_source(&run))
                                : firn_train_step(&run.firn, compiled_source(&run), &report);
        }
        assert_int_equal(firn_digest(&run.firn, digest), FIRN_OK);
        digest[0] ^= (uint8_t)stepped;
    }
    compiled_run_close(&run);
    compiled_plan_free(&small);
    return status;
}

/* Every op, schedule, sampler, constant and frozen weight is read from the copy. */
TEST(every_kind_of_plan_runs_from_its_copy) {
    static compiled_plan plans[SMALL_PLANS_MAX];
    const uint32_t count = small_plans_make(plans);
    uint32_t ran = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t expected[32] = {0}, digest[32] = {0};
        firn_sizes sizes;
        assert_int_equal(firn_plan_sizes(plans[i].file, plans[i].bytes, &sizes), FIRN_OK);
        uint8_t *block = aligned_alloc(64, (sizes.copy_plan_bytes + 63) / 64 * 64);
        assert_non_null(block);
        const int status = run_small(&plans[i], NULL, 0, expected);
        assert_int_equal(run_small(&plans[i], block, sizes.copy_plan_bytes, digest), status);
        assert_memory_equal(expected, digest, sizeof digest);
        ran += status == FIRN_OK;
        free(block);
        compiled_plan_free(&plans[i]);
    }
    assert_true(ran > 30);
}

TEST(the_block_of_the_copy_is_checked) {
    support_bigram(&plan, &support_settings);
    const uint64_t needed = copy_bytes();
    assert_int_equal(open_with(&one, config_with_copy(needed - 1)), FIRN_ERROR_BLOCK_TOO_SMALL);
    assert_int_equal(open_with(&one, config_with_copy(575)), FIRN_ERROR_BLOCK_TOO_SMALL);
    firn_config config = config_with_copy(needed);
    config.copy_plan = NULL;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_ARGUMENT);
    config.copy_plan = copy + 1;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_ARGUMENT);
    config.copy_plan = plan.file;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_ARGUMENT);
    config.copy_plan = one.arena;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_ARGUMENT);
    config = config_with_copy(needed);
    config.plan_bytes = 575;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_TRUNCATED);
    config = config_with_copy(needed);
    plan.file[FIRN_PAYLOAD_OFFSET + 44] ^= 1;
    assert_int_equal(open_with(&one, config), FIRN_ERROR_RUN_HASH);
}

/* Behind the end of a file there may be no memory: of one that ends within the header, no more than it has is copied.
 */
TEST(a_short_file_is_not_read_behind_its_end) {
    static const uint64_t counts[] = {0, 64, 512, 576};
    static const int errors[] = {FIRN_ERROR_TRUNCATED, FIRN_ERROR_TRUNCATED, FIRN_ERROR_TRUNCATED,
                                 FIRN_ERROR_TRUNCATED};
    support_bigram(&plan, &support_settings);
    firn_config config = config_with_copy(copy_bytes());
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        memcpy(pages + page - counts[i], plan.file, (size_t)counts[i]);
        config.plan = pages + page - counts[i];
        config.plan_bytes = counts[i];
        assert_int_equal(open_with(&one, config), errors[i]);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
}
