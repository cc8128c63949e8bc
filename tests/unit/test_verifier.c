/* Tests the FlatBuffers rules one at a time, and then with hundreds of thousands of random changes against the C++
 * verifier of flatbuffers (tests/oracle), on 64 and, on x86, on 32 bits. Runs from the root of the repository.
 *
 * Needs: oracle */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/checks/verifier.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "plan/generated/tables.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

#define MUTATIONS "400000"

/* Vtable slots of fields that the tests change: 4 + 2 * id, with the ids of plan/generated/schema.txt. */
enum {
    PLAN_CHECK_LOSS = 8,
    PLAN_SEED = 12,
    PLAN_TENSORS = 16,
    PLAN_SAMPLER = 26,
    PLAN_SCHEDULE_NODES = 28,
    PLAN_INITIALISERS = 32,
    PLAN_ORIGIN = 56,
    TENSOR_TYPE = 4,
    TENSOR_ROLE = 6,
    TENSOR_DIMS = 12,
    TENSOR_NAME = 18,
    PHASE_KIND = 4,
    PHASE_OPS = 6,
    OP_REALS = 12,
    OP_REDUCTIONS = 14,
    METRIC_KIND = 4,
    INPUT_NAME = 4,
    INPUT_SCALE = 16,
    INPUT_LABEL = 20,
    INITIALISER_RULE = 4,
    INITIALISER_ELEMENT = 6,
    INITIALISER_A = 10,
    INITIALISER_LOW = 18,
    INITIALISER_HIGH = 20
};

/* Bytes of struct ScheduleNode. */
#define NODE_BYTES ((unsigned)sizeof(firn_fb_schedule_node))

/* The sample in memory of exactly its size, new for each test, so that the sanitizers detect any read past its end. */
static uint8_t *buffer;
static size_t bytes;
static firn_fb_plan plan;

static uint8_t *exact_copy(const uint8_t *from, size_t count) {
    static void *memory; /* static, because gcc 12 confuses the lifetime of the block with that of the variable */
    assert_int_equal(posix_memalign(&memory, FIRN_PAYLOAD_ALIGNMENT, count == 0 ? 1 : count), 0);
    memcpy(memory, from, count);
    return memory;
}

BEFORE_EACH {
    uint8_t *written = firn_native_write(&sample_plan, &bytes);
    assert_non_null(written);
    buffer = exact_copy(written, bytes);
    free(written);
    plan = firn_fb_plan_root(buffer);
}

static void replace_buffer(const firn_native_plan *native) {
    free(buffer);
    buffer = firn_native_write(native, &bytes);
    assert_non_null(buffer);
    plan = firn_fb_plan_root(buffer);
    assert_int_equal(firn_fb_verify(buffer, bytes), FIRN_OK);
}

AFTER_EACH {
    free(buffer);
}

static int verify(void) {
    return firn_fb_verify(buffer, bytes);
}

/* Converts an accessor's pointer to const into a writable one; the buffer belongs to this test. */
static uint8_t *writable(const uint8_t *at) {
    assert_non_null(at);
    return buffer + (at - buffer);
}

static uint8_t *field(const uint8_t *table, uint32_t slot) {
    return writable(firn_fb_slot(table, slot));
}

/* Returns the position of the count of a vector or string. */
static uint8_t *sequence(const uint8_t *table, uint32_t slot) {
    return writable(firn_fb_follow(field(table, slot)));
}

static uint8_t *vtable(const uint8_t *table) {
    return writable(table - firn_fb_load_int32(table));
}

static void put16(uint8_t *at, uint16_t value) {
    memcpy(at, &value, sizeof value);
}

static void put32(uint8_t *at, uint32_t value) {
    memcpy(at, &value, sizeof value);
}

/* Writes a number and expects this error of the verifier. */
static void expect16(uint8_t *at, uint16_t value, int error) {
    put16(at, value);
    assert_int_equal(verify(), error);
}

static void expect32(uint8_t *at, uint32_t value, int error) {
    put32(at, value);
    assert_int_equal(verify(), error);
}

static firn_fb_op first_op(void) {
    return firn_fb_phase_ops_at(firn_fb_plan_phases_at(plan, 0), 0);
}

static firn_fb_input first_input(void) {
    return firn_fb_plan_inputs_at(plan, 0);
}

TEST(accepts_the_sample) {
    assert_int_equal(verify(), FIRN_OK);
}

TEST(rule_1_base_and_length) {
    uint8_t *block =
        aligned_alloc(FIRN_PAYLOAD_ALIGNMENT, (bytes / FIRN_PAYLOAD_ALIGNMENT + 2) * FIRN_PAYLOAD_ALIGNMENT);
    assert_non_null(block);
    for (unsigned shift = 0; shift < FIRN_PAYLOAD_ALIGNMENT; shift++) {
        memcpy(block + shift, buffer, bytes);
        assert_int_equal(firn_fb_verify(block + shift, bytes), shift == 0 ? FIRN_OK : FIRN_ERROR_SCHEMA_ALIGNMENT);
    }
    free(block);
    assert_int_equal(firn_fb_verify(buffer, 0), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(firn_fb_verify(buffer, 7), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(firn_fb_verify(buffer, UINT64_C(0x80000000)), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(firn_fb_verify(buffer, (UINT64_C(1) << 32) + bytes), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(firn_fb_verify(buffer, UINT64_MAX), FIRN_ERROR_SCHEMA_BOUNDS);
    buffer[4] ^= 1; /* what is read after the length: the identifier, and nothing behind it */
    assert_int_equal(firn_fb_verify(buffer, 7), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(firn_fb_verify(buffer, 8), FIRN_ERROR_SCHEMA_IDENTIFIER);
    assert_int_equal(firn_fb_verify(buffer, 0x7fffffff), FIRN_ERROR_SCHEMA_IDENTIFIER);
}

/* The last bytes of the buffer are referenced, so no truncated buffer is valid. */
TEST(rule_1_truncated_at_every_length) {
    for (size_t length = 0; length < bytes; length++) {
        uint8_t *copy = exact_copy(buffer, length);
        assert_int_not_equal(firn_fb_verify(copy, length), FIRN_OK);
        free(copy);
    }
}

TEST(rule_2_identifier) {
    for (unsigned bit = 0; bit < 32; bit++) {
        buffer[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(verify(), FIRN_ERROR_SCHEMA_IDENTIFIER);
        buffer[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* a size prefix before the root moves the identifier */
    memmove(buffer + 4, buffer, bytes - 4);
    expect32(buffer, (uint32_t)bytes - 4, FIRN_ERROR_SCHEMA_IDENTIFIER);
}

static void expect_offset_refused(uint8_t *at) {
    uint32_t good = firn_fb_load_uint32(at), here = (uint32_t)(at - buffer);
    const uint32_t unaligned[] = {good + 1, good + 2, good + 3, 0xfffffffd, 0xffffffff};
    const uint32_t outside[] = {0,          (uint32_t)bytes & ~3u,
                                0x7ffffffc, 0x80000000,
                                0xfffffffc, 0xfffffff8,
                                0u - here,  (((uint32_t)bytes + 3) & ~3u) - here};
    for (size_t i = 0; i < sizeof unaligned / sizeof unaligned[0]; i++)
        expect32(at, unaligned[i], FIRN_ERROR_SCHEMA_ALIGNMENT);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        expect32(at, outside[i], FIRN_ERROR_SCHEMA_BOUNDS);
    expect32(at, good, FIRN_OK);
}

TEST(rule_4_offsets) {
    expect_offset_refused(buffer);
    expect_offset_refused(field(plan.at, PLAN_ORIGIN));
    expect_offset_refused(field(plan.at, PLAN_TENSORS));
    expect_offset_refused(field(plan.at, PLAN_SAMPLER));
    expect_offset_refused(sequence(plan.at, PLAN_TENSORS) + 4);
    expect_offset_refused(field(firn_fb_plan_tensors_at(plan, 1).at, TENSOR_NAME));
    expect32(buffer, 4, FIRN_ERROR_SCHEMA_BOUNDS); /* the root inside the identifier */
}

TEST(rule_5_vtable_place) {
    uint8_t *table = writable(plan.at);
    uint32_t here = (uint32_t)(table - buffer);
    expect32(table, firn_fb_load_uint32(table) + 1, FIRN_ERROR_SCHEMA_ALIGNMENT);
    expect32(table, here + 2, FIRN_ERROR_SCHEMA_BOUNDS); /* before the buffer */
    expect32(table, here - (uint32_t)((bytes - 2) & ~(size_t)1),
             FIRN_ERROR_SCHEMA_BOUNDS); /* two bytes before its end */
    expect32(table, 0x80000000, FIRN_ERROR_SCHEMA_BOUNDS);
}

/* Buffers of a root table without fields: the root as early as it may be, before its vtable; then as late. Each ends
 * with the last byte that is read. What is missing is a required field. */
TEST(rules_4_and_5_smallest_buffers) {
    static const uint32_t words[][5] = {{8, 0, 0xfffffff8, 0, 4 | 4 << 16}, {12, 0, 4 | 4 << 16, 4}};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = i == 0 ? 20 : 16;
        uint8_t *small = exact_copy((const uint8_t *)words[i], length);
        memcpy(small + 4, buffer + 4, 4);
        assert_int_equal(firn_fb_verify(small, length), FIRN_ERROR_SCHEMA_REQUIRED);
        assert_int_equal(firn_fb_verify(small, length - 1), FIRN_ERROR_SCHEMA_BOUNDS);
        free(small);
    }
}

TEST(rules_6_and_7_sizes) {
    const firn_fb_table_rule *rule = &firn_fb_tables[FIRN_FB_ROOT];
    uint8_t *v = vtable(plan.at);
    uint16_t vtable_bytes = firn_fb_load_uint16(v), table_bytes = firn_fb_load_uint16(v + 2);
    const uint16_t malformed[] = {0, 2, 3, (uint16_t)(vtable_bytes - 1), (uint16_t)(4 + 2 * rule->field_count + 2)};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        expect16(v, malformed[i], FIRN_ERROR_SCHEMA_VTABLE);
    expect16(v, 0xfffe, FIRN_ERROR_SCHEMA_BOUNDS);
    put16(v, vtable_bytes);
    for (uint16_t size = 0; size < 4; size++)
        expect16(v + 2, size, FIRN_ERROR_SCHEMA_VTABLE);
    expect16(v + 2, 0xffff, FIRN_ERROR_SCHEMA_BOUNDS);
    expect16(v + 2, (uint16_t)(table_bytes - 1),
             FIRN_ERROR_SCHEMA_VTABLE); /* the last field now extends beyond the table */
}

/* A table without fields, and one whose only field is larger than the rest of the table. */
TEST(rules_7_and_8_small_tables) {
    const firn_native_schedule one_field = {.tensor = 1};
    uint8_t *empty = vtable(firn_fb_plan_initialisers_at(plan, 1).at);
    assert_int_equal(firn_fb_load_uint16(empty), 4);
    for (uint16_t size = 0; size < 4; size++)
        expect16(empty + 2, size, FIRN_ERROR_SCHEMA_VTABLE);
    firn_native_plan changed = sample_plan;
    changed.schedules = &one_field;
    changed.schedules_count = 1;
    replace_buffer(&changed);
    uint8_t *single = vtable(firn_fb_plan_schedules_at(plan, 0).at);
    assert_int_equal(firn_fb_load_uint16(single + 2), 8);
    for (uint16_t size = 4; size < 8; size++)
        expect16(single + 2, size, FIRN_ERROR_SCHEMA_VTABLE);
}

TEST(rule_8_slots) {
    uint8_t *v = vtable(plan.at);
    uint16_t table_bytes = firn_fb_load_uint16(v + 2), good = firn_fb_load_uint16(v + PLAN_SEED);
    for (uint16_t place = 1; place < 4; place++)
        expect16(v + PLAN_SEED, place, FIRN_ERROR_SCHEMA_VTABLE);
    expect16(v + PLAN_SEED, (uint16_t)(table_bytes - 7), FIRN_ERROR_SCHEMA_VTABLE);
    expect16(v + PLAN_SEED, 0xfff8, FIRN_ERROR_SCHEMA_VTABLE);
    expect16(v + PLAN_SEED, (uint16_t)(good + 4),
             FIRN_ERROR_SCHEMA_ALIGNMENT); /* an eight-byte field on a multiple of four */
    expect16(v + PLAN_SEED, (uint16_t)(good + 1), FIRN_ERROR_SCHEMA_ALIGNMENT);
}

TEST(rule_9_required) {
    uint8_t *v = vtable(plan.at);
    const firn_fb_table_rule *rule = &firn_fb_tables[FIRN_FB_ROOT];
    unsigned required = 0;
    for (uint32_t i = 0; i < rule->field_count; i++) {
        bool wanted = (firn_fb_fields[rule->first_field + i].flags & FIRN_FB_FLAG_REQUIRED) != 0;
        uint16_t good = firn_fb_load_uint16(v + 4 + 2 * i);
        expect16(v + 4 + 2 * i, 0, wanted ? FIRN_ERROR_SCHEMA_REQUIRED : FIRN_OK);
        put16(v + 4 + 2 * i, good);
        required += wanted ? 1 : 0;
    }
    assert_int_equal(required, 5);
    expect16(v, PLAN_SAMPLER, FIRN_ERROR_SCHEMA_REQUIRED); /* a vtable that ends before the sampler's slot */
}

static void expect_byte_at_most(uint8_t *at, unsigned most) {
    uint8_t good = *at;
    for (unsigned value = 0; value < 256; value++) {
        *at = (uint8_t)value;
        assert_int_equal(verify(), value <= most ? FIRN_OK : FIRN_ERROR_SCHEMA_VALUE);
    }
    *at = good;
}

TEST(rule_10_values) {
    const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, 0);
    expect_byte_at_most(field(plan.at, PLAN_CHECK_LOSS), 1);
    expect_byte_at_most(field(firn_fb_plan_metrics_at(plan, 0).at, METRIC_KIND),
                        FIRN_FB_METRIC_KIND_MEAN_SQUARED_ERROR);
    expect_byte_at_most(field(first_input().at, INPUT_LABEL), 1);
    expect_byte_at_most(field(tensor.at, TENSOR_TYPE), FIRN_FB_ELEMENT_TYPE_BOOL);
    expect_byte_at_most(field(tensor.at, TENSOR_ROLE), FIRN_FB_ROLE_CACHE);
    expect_byte_at_most(field(firn_fb_plan_phases_at(plan, 0).at, PHASE_KIND), FIRN_FB_PHASE_KIND_COUNT);
    const firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(plan, 0);
    expect_byte_at_most(field(initialiser.at, INITIALISER_RULE), FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL);
    expect_byte_at_most(field(initialiser.at, INITIALISER_ELEMENT), FIRN_FB_ELEMENT_TYPE_BOOL);
    expect_byte_at_most(sequence(plan.at, PLAN_ORIGIN) + 4, 255);
    for (unsigned member = 0; member < 4; member++) { /* of the second reduction: kind, accumulator, output, reserved */
        static const unsigned most[] = {FIRN_FB_REDUCTION_KIND_PAIRS, FIRN_FB_ELEMENT_TYPE_BOOL,
                                        FIRN_FB_ELEMENT_TYPE_BOOL, 255};
        expect_byte_at_most(sequence(first_op().at, OP_REDUCTIONS) + 4 + 16 + member, most[member]);
    }
    uint8_t *kind = sequence(plan.at, PLAN_SCHEDULE_NODES) + 4 + NODE_BYTES;
    expect16(kind, FIRN_FB_SCHEDULE_KIND_PRODUCT, FIRN_OK);
    expect16(kind, FIRN_FB_SCHEDULE_KIND_PRODUCT + 1, FIRN_ERROR_SCHEMA_VALUE);
    expect16(kind, 0x0100, FIRN_ERROR_SCHEMA_VALUE); /* the second byte is significant */
}

static void expect_finite_float(uint8_t *at) {
    const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffffffff};
    const uint32_t fine[] = {0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000000, 0};
    for (size_t i = 0; i < 5; i++) {
        expect32(at, bad[i], FIRN_ERROR_SCHEMA_VALUE);
        expect32(at, fine[i], FIRN_OK);
    }
}

TEST(rule_10_floats) {
    expect_finite_float(field(first_input().at, INPUT_SCALE));
    expect_finite_float(field(firn_fb_plan_initialisers_at(plan, 0).at, INITIALISER_A));
    expect_finite_float(field(firn_fb_plan_initialisers_at(plan, 0).at, INITIALISER_LOW));
    expect_finite_float(field(firn_fb_plan_initialisers_at(plan, 0).at, INITIALISER_HIGH));
    expect_finite_float(sequence(first_op().at, OP_REALS) + 4 + 4);
    for (unsigned member = 32; member < 64; member += 8) {
        uint8_t *high = sequence(plan.at, PLAN_SCHEDULE_NODES) + 4 + NODE_BYTES + member + 4;
        uint32_t good = firn_fb_load_uint32(high);
        expect32(high, 0x7ff00000, FIRN_ERROR_SCHEMA_VALUE);
        expect32(high, 0xfff80000, FIRN_ERROR_SCHEMA_VALUE);
        expect32(high, 0x7fefffff, FIRN_OK);
        put32(high, good);
    }
}

TEST(rule_11_vectors) {
    uint8_t *dims = sequence(firn_fb_plan_tensors_at(plan, 1).at, TENSOR_DIMS);
    uint8_t *initialisers = sequence(plan.at, PLAN_INITIALISERS);
    uint32_t after = (uint32_t)(bytes - (size_t)(initialisers + 4 - buffer));
    expect32(dims, 0, FIRN_ERROR_SCHEMA_LIMIT);
    expect32(dims, 9, FIRN_ERROR_SCHEMA_LIMIT);
    expect32(dims, 0xffffffff, FIRN_ERROR_SCHEMA_LIMIT);
    put32(dims, 1);
    expect32(initialisers, after / 4 + 1, FIRN_ERROR_SCHEMA_BOUNDS);
    expect32(initialisers, 65536, FIRN_ERROR_SCHEMA_BOUNDS);
    expect32(initialisers, 65537, FIRN_ERROR_SCHEMA_LIMIT);
}

/* Every vector and string of a table and of the tables below it may have as many elements as its limit, and no more. */
static uint32_t expect_limits(const uint8_t *table, uint8_t type) {
    const firn_fb_table_rule *rule = &firn_fb_tables[type];
    uint32_t limits = 0;
    for (uint32_t i = 0; i < rule->field_count; i++) {
        const firn_fb_field_rule *f = &firn_fb_fields[rule->first_field + i];
        const uint8_t *at = firn_fb_slot(table, 4 + 2 * i);
        if (at == NULL || f->kind == FIRN_FB_KIND_INLINE)
            continue;
        uint8_t *target = writable(firn_fb_follow(at));
        if (f->kind == FIRN_FB_KIND_TABLE) {
            limits += expect_limits(target, f->type);
            continue;
        }
        const uint32_t good = firn_fb_load_uint32(target), most = firn_fb_limits[f->value] + 1u;
        put32(target, most);
        assert_int_not_equal(verify(), FIRN_ERROR_SCHEMA_LIMIT);
        expect32(target, most + 1, FIRN_ERROR_SCHEMA_LIMIT);
        put32(target, good);
        limits += 1 + (f->kind == FIRN_FB_KIND_TABLE_VECTOR ? expect_limits(firn_fb_follow(target + 4), f->type) : 0);
    }
    return limits;
}

TEST(rules_11_and_12_limits) {
    assert_true(expect_limits(plan.at, FIRN_FB_ROOT) > 20);
}

/* Structs of eight-byte members, moved to a multiple of four. */
TEST(rule_11_alignment) {
    uint8_t *nodes = sequence(plan.at, PLAN_SCHEDULE_NODES), *offset = field(plan.at, PLAN_SCHEDULE_NODES);
    memmove(nodes + 4, nodes, 4 + NODE_BYTES);
    put32(nodes + 4, 1);
    expect32(offset, firn_fb_load_uint32(offset) + 4, FIRN_ERROR_SCHEMA_ALIGNMENT);
}

TEST(rule_12_strings) {
    uint8_t *name = sequence(first_input().at, INPUT_NAME), *text = name + 4, good = text[1];
    uint32_t length = firn_fb_load_uint32(name);
    for (unsigned value = 0; value < 256; value++) {
        text[1] = (uint8_t)value;
        assert_int_equal(verify(), value >= 0x20 && value <= 0x7e ? FIRN_OK : FIRN_ERROR_SCHEMA_STRING);
    }
    text[1] = good;
    text[length] = 1;
    assert_int_equal(verify(), FIRN_ERROR_SCHEMA_STRING);
    text[length] = 0;
    expect32(name, length - 1, FIRN_ERROR_SCHEMA_STRING); /* not followed by a zero byte */
    expect32(name, 0, FIRN_ERROR_SCHEMA_LIMIT);
    expect32(name, 201, FIRN_ERROR_SCHEMA_LIMIT);
}

/* Returns the error of a longer buffer, whose last 8 bytes are what the offset at `offset` leads to. */
static int verify_with_end(const uint8_t *offset, const char *end) {
    const size_t longer = ((bytes + 3) & ~(size_t)3) + 8;
    const uint32_t from = (uint32_t)(offset - buffer);
    uint8_t *zero = calloc(1, longer), *copy = exact_copy(zero, longer);
    memcpy(copy, buffer, bytes);
    memcpy(copy + longer - 8, end, 8);
    put32(copy + from, (uint32_t)(longer - 8) - from);
    const int error = firn_fb_verify(copy, longer);
    free(copy);
    free(zero);
    return error;
}

/* The terminator of a string lies in the buffer, too. */
TEST(rules_11_and_12_ends) {
    const uint8_t *name = field(first_input().at, INPUT_NAME), *origin = field(plan.at, PLAN_ORIGIN);
    assert_int_equal(verify_with_end(name, "\3\0\0\0dat"), FIRN_OK);
    assert_int_equal(verify_with_end(name, "\4\0\0\0data"), FIRN_ERROR_SCHEMA_BOUNDS);
    assert_int_equal(verify_with_end(origin, "\4\0\0\0data"), FIRN_OK);
    assert_int_equal(verify_with_end(origin, "\5\0\0\0data"), FIRN_ERROR_SCHEMA_BOUNDS);
}

/* Returns the bytes of a table and of all that is below it, each counted as often as it is referred to. */
static uint32_t visited_bytes(const uint8_t *table, uint8_t type) {
    const firn_fb_table_rule *rule = &firn_fb_tables[type];
    uint32_t sum = firn_fb_load_uint16(vtable(table) + 2);
    for (uint32_t i = 0; i < rule->field_count; i++) {
        const firn_fb_field_rule *f = &firn_fb_fields[rule->first_field + i];
        const uint8_t *at = firn_fb_slot(table, 4 + 2 * i);
        if (at == NULL || f->kind == FIRN_FB_KIND_INLINE)
            continue;
        const uint8_t *target = firn_fb_follow(at);
        if (f->kind == FIRN_FB_KIND_TABLE) {
            sum += visited_bytes(target, f->type);
            continue;
        }
        const uint32_t count = firn_fb_load_uint32(target);
        const bool inlined = f->kind == FIRN_FB_KIND_INLINE_VECTOR;
        sum += count * (f->kind == FIRN_FB_KIND_STRING ? 1u : inlined ? firn_fb_inlines[f->type].bytes : 4u);
        for (uint32_t j = 0; f->kind == FIRN_FB_KIND_TABLE_VECTOR && j < count; j++)
            sum += visited_bytes(firn_fb_follow(target + 4 + 4 * j), f->type);
    }
    return sum;
}

/* A buffer that visits more than it has is refused; padded to as many bytes it is accepted, and with one less not. */
static void expect_budget(void) {
    const uint32_t budget = visited_bytes(plan.at, FIRN_FB_ROOT);
    assert_true(budget > bytes);
    assert_int_equal(verify(), FIRN_ERROR_SCHEMA_BUDGET);
    uint8_t *zero = calloc(1, budget), *padded = exact_copy(zero, budget);
    memcpy(padded, buffer, bytes);
    assert_int_equal(firn_fb_verify(padded, budget), FIRN_OK);
    assert_int_equal(firn_fb_verify(padded, budget - 1), FIRN_ERROR_SCHEMA_BUDGET);
    free(padded);
    free(zero);
}

/* Five phases refer to the same list of ops, as an attacker would do to make a short file slow to check. */
TEST(rule_15_no_vector_is_shared) {
    enum { OPS = 1000, PHASES = 5 };
    static firn_native_op ops[OPS];
    firn_native_phase phases[PHASES];
    for (size_t i = 0; i < OPS; i++)
        ops[i] = sample_plan.phases[0].ops[0];
    for (size_t i = 0; i < PHASES; i++)
        phases[i] = (firn_native_phase){.ops = ops, .ops_count = i + 1 < PHASES ? 1 : OPS};
    firn_native_plan large = sample_plan;
    large.phases = phases;
    large.phases_count = PHASES;
    replace_buffer(&large);
    uint8_t *shared = sequence(firn_fb_plan_phases_at(plan, PHASES - 1).at, PHASE_OPS);
    for (uint32_t i = 0; i + 1 < PHASES; i++) {
        uint8_t *offset = field(firn_fb_plan_phases_at(plan, i).at, PHASE_OPS);
        put32(offset, (uint32_t)(shared - offset));
    }
    expect_budget();
}

/* Thousands of entries refer to one table. */
TEST(rule_15_no_table_is_shared) {
    enum { ENTRIES = 4096 };
    static firn_native_initialiser entries[ENTRIES];
    entries[ENTRIES - 1] = sample_plan.initialisers[0];
    firn_native_plan large = sample_plan;
    large.initialisers = entries;
    large.initialisers_count = ENTRIES;
    replace_buffer(&large);
    uint8_t *slots = sequence(plan.at, PLAN_INITIALISERS) + 4;
    uint32_t last = firn_fb_load_uint32(slots + 4 * (ENTRIES - 1));
    for (uint32_t i = 0; i < ENTRIES; i++)
        put32(slots + 4 * i, last + 4 * (ENTRIES - 1 - i));
    expect_budget();
}

/* --- comparison with the oracle ----------------------------------------------------------------------------------- */

static char folder[64];

/* $FOLDER stands for the test's folder. */
static void run(const char *command, char *output, size_t output_bytes) {
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t got = fread(output, 1, output_bytes - 1, pipe);
    output[got] = 0;
    int status = pclose(pipe);
    if (status != 0)
        fail_msg("exit status %d from: %s", status, command);
}

static void write_seed(const char *name, const uint8_t *data, size_t count) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Writes a plan that contains only what is required. */
static void write_small_seed(void) {
    firn_native_plan small = sample_plan;
    size_t count = 0;
    small.schedule_nodes_count = small.schedules_count = small.outputs_count = small.origin_count = 0;
    small.schedule_numbers_count = small.schedule_instructions_count = 0;
    small.tensors_count = small.phases_count = small.inputs_count = small.initialisers_count = 1;
    small.metrics_count = 0;
    uint8_t *written = firn_native_write(&small, &count);
    assert_non_null(written);
    assert_int_equal(firn_fb_verify(written, count), FIRN_OK);
    write_seed("small.plan", written, count);
    free(written);
}

#define SANITIZE "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "
#define OURS                                                                                                           \
    "tests/oracle/mutate.c plan/access.c plan/checks/verifier.c plan/generated/tables.c plan/generated/words.c "       \
    "tests/unit/support_plan_walk.c "
#define MUTATE "$FOLDER/mutate " MUTATIONS " $FOLDER/sample.plan $FOLDER/small.plan"

/* Compiles programs and takes nearly all of the time: one case of this file for support_takes_next. */
TEST(random_changes_beside_the_oracle) {
    if (!support_takes_next())
        skip();
    char wide[256], narrow[256], nothing[8];
    unsigned accepted = 0, refused = 0;
    strcpy(folder, P_tmpdir "/firn-verifier-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("FOLDER", folder, 1), 0);
    write_seed("sample.plan", buffer, bytes);
    write_small_seed();
    run("flatc --cpp -o $FOLDER plan/plan.fbs", nothing, sizeof nothing);
    run("g++ -std=c++17 " SANITIZE "-I$FOLDER -c tests/oracle/oracle.cc -o $FOLDER/oracle.o", nothing, sizeof nothing);
    run("gcc -std=c11 " SANITIZE "-I. " OURS "$FOLDER/oracle.o -lstdc++ -o $FOLDER/mutate", nothing, sizeof nothing);
    run(MUTATE, wide, sizeof wide);
#ifdef __x86_64__
    run("gcc -m32 -std=c11 " SANITIZE "-I. " OURS "tests/oracle/without_oracle.c -o $FOLDER/mutate", nothing,
        sizeof nothing);
    run(MUTATE, narrow, sizeof narrow);
    assert_string_equal(wide, narrow);
#else
    print_message("skipped for want of a CPU feature: programs of 32 bits\n");
    (void)narrow;
#endif
    run("rm -r $FOLDER", nothing, sizeof nothing);
    print_message("%s", wide);
    assert_int_equal(sscanf(wide, "accepted %u refused %u", &accepted, &refused), 2);
    assert_true(accepted > (accepted + refused) / 20 && refused > (accepted + refused) / 20);
}
