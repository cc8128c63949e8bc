/* Tests the header: each byte must be at the offset that FORMAT.md gives, and every kind of invalid header must be
 * refused. */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/container.h"
#include "plan/errors.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_test.h"

/* 120 bytes of FlatBuffers, 8 bytes of padding, 200 bytes of constants in two regions, 30 bytes of report. */
#define FLATBUFFERS_BYTES 120u
#define CONSTANTS_OFFSET  704u
#define CONSTANTS_BYTES   200u
#define PAYLOAD_END       (CONSTANTS_OFFSET + CONSTANTS_BYTES)
#define REPORT_BYTES      30u
#define TOTAL_BYTES       (PAYLOAD_END + REPORT_BYTES)

/* The table of FORMAT.md. open: the decoder accepts any value, because only the signature, the key, the device or the
 * payload can contradict it. */
struct place {
    unsigned offset, bytes;
    bool open;
};
static const struct place places[] = {
    {0, 8, false},   {8, 4, false},    {12, 4, false},  {16, 4, false},    {20, 4, false},   {24, 4, false},
    {28, 4, false},  {32, 4, true},    {36, 4, true},   {40, 4, true},     {44, 4, false},   {48, 16, true},
    {64, 16, true},  {80, 32, true},   {112, 32, true}, {144, 32, true},   {176, 32, true},  {208, 8, false},
    {216, 8, false}, {224, 8, false},  {232, 8, false}, {240, 8, false},   {248, 4, false},  {252, 4, false},
    {256, 4, false}, {260, 4, false},  {264, 4, false}, {268, 4, false},   {272, 4, false},  {276, 4, false},
    {280, 4, false}, {284, 16, false}, {300, 4, false}, {304, 128, false}, {432, 80, false},
};
enum {
    AT_MAJOR = 8,
    AT_MINOR = 12,
    AT_ALGORITHM = 20,
    AT_MODE = 28,
    AT_TOTAL = 208,
    AT_FLATBUFFERS = 216,
    AT_CONSTANTS = 224,
    AT_CONSTANTS_BYTES = 232,
    AT_REPORT_BYTES = 240,
    AT_COUNTS = 248,
    AT_REGIONS = 280,
    AT_KINDS = 284,
    AT_SIZES = 304
};

/* The regions of `good`, by ascending kind. */
enum { PARAMETERS, OPTIMIZER, FIRST_ARENA, SECOND_ARENA, CONSTANT, SLOW_CONSTANT, REGIONS };

static firn_header good;
static uint8_t file[TOTAL_BYTES + 1];

static void fill(uint8_t *bytes, size_t count, uint8_t first) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(first + i);
}

static void set_region(uint32_t i, uint8_t kind, uint64_t bytes) {
    good.region_kinds[i] = kind;
    good.region_bytes[i] = bytes;
}

BEFORE_EACH {
    memset(&good, 0, sizeof good);
    memset(file, 0xee, sizeof file);
    good.format_major = FIRN_FORMAT_MAJOR;
    good.needs_minor = 0;
    good.algorithm = FIRN_ALGORITHM_ECDSA_P256;
    good.mode = FIRN_MODE_EVAL;
    good.image_id = 0x090a0b0c;
    good.plan_version = 0x01020304;
    good.security_counter = 0x05060708;
    fill(good.vendor, 16, 0x10);
    fill(good.class_id, 16, 0x20);
    fill(good.schema_hash, 32, 0x30);
    fill(good.key_hash, 32, 0x50);
    fill(good.run_hash, 32, 0x70);
    fill(good.report_hash, 32, 0x90);
    good.total_bytes = TOTAL_BYTES;
    good.flatbuffers_bytes = FLATBUFFERS_BYTES;
    good.constants_offset = CONSTANTS_OFFSET;
    good.constants_bytes = CONSTANTS_BYTES;
    good.report_bytes = REPORT_BYTES;
    good.counts = (firn_counts){.tensors = 9,
                                .state_tensors = 8,
                                .ops = 7,
                                .operands = 6,
                                .integers = 5,
                                .reals = 4,
                                .reductions = 3,
                                .widest = 2};
    good.region_count = REGIONS;
    set_region(PARAMETERS, FIRN_FB_REGION_KIND_PARAMETERS, 0x0012131415161718);
    set_region(OPTIMIZER, FIRN_FB_REGION_KIND_OPTIMIZER, 0x0022232425262728);
    set_region(FIRST_ARENA, FIRN_FB_REGION_KIND_ARENA, 0x0032333435363738);
    set_region(SECOND_ARENA, FIRN_FB_REGION_KIND_ARENA, 1);
    set_region(CONSTANT, FIRN_FB_REGION_KIND_CONSTANT, 65);
    set_region(SLOW_CONSTANT, FIRN_FB_REGION_KIND_SLOW_CONSTANT, 72);
    firn_header_encode(&good, file);
}

static bool is_zero(const firn_header *header) {
    static const firn_header zero;
    return memcmp(header, &zero, sizeof zero) == 0;
}

static int decode_bytes(uint64_t count) {
    firn_header header;
    memset(&header, 0xcc, sizeof header);
    int status = firn_header_decode(&header, file, count);
    assert_int_equal(is_zero(&header), status != FIRN_OK);
    return status;
}

static int decode(void) {
    return decode_bytes(TOTAL_BYTES);
}

/* Encodes `good` and decodes it as a file of the length that the header claims, at least that of a header. */
static int decode_changed(void) {
    firn_header_encode(&good, file);
    return decode_bytes(good.total_bytes < FIRN_HEADER_BYTES ? FIRN_HEADER_BYTES : good.total_bytes);
}

static uint64_t little(unsigned at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)file[at + i] << (8 * i);
    return value;
}

TEST(every_byte_stands_where_the_format_says) {
    unsigned end = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(places[i].offset, end);
        end += places[i].bytes;
    }
    assert_int_equal(end, FIRN_HEADER_BYTES);
    assert_memory_equal(file, "FIRNPLAN", 8);
    assert_int_equal(little(AT_MAJOR, 4), 2);
    assert_int_equal(little(AT_MINOR, 4), 0);
    assert_int_equal(little(16, 4), 512);
    assert_int_equal(little(AT_ALGORITHM, 4), 1);
    assert_int_equal(little(24, 4), 64);
    assert_int_equal(little(AT_MODE, 4), 1);
    assert_int_equal(little(32, 4), 0x090a0b0c);
    assert_int_equal(little(36, 4), 0x01020304);
    assert_int_equal(little(40, 4), 0x05060708);
    assert_memory_equal(file + 48, good.vendor, 16);
    assert_memory_equal(file + 64, good.class_id, 16);
    assert_memory_equal(file + 80, good.schema_hash, 32);
    assert_memory_equal(file + 112, good.key_hash, 32);
    assert_memory_equal(file + 144, good.run_hash, 32);
    assert_memory_equal(file + 176, good.report_hash, 32);
    assert_int_equal(little(AT_TOTAL, 8), TOTAL_BYTES);
    assert_int_equal(little(AT_FLATBUFFERS, 8), FLATBUFFERS_BYTES);
    assert_int_equal(little(AT_CONSTANTS, 8), CONSTANTS_OFFSET);
    assert_int_equal(little(AT_CONSTANTS_BYTES, 8), CONSTANTS_BYTES);
    assert_int_equal(little(AT_REPORT_BYTES, 8), REPORT_BYTES);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(little(AT_COUNTS + 4 * i, 4), 9 - i);
    assert_int_equal(little(AT_REGIONS, 4), REGIONS);
    for (unsigned i = 0; i < FIRN_REGIONS_MAX; i++) {
        assert_int_equal(little(AT_KINDS + i, 1), good.region_kinds[i]);
        assert_true(little(AT_SIZES + 8 * i, 8) == good.region_bytes[i]);
    }
    assert_int_equal(little(44, 4) | little(300, 4), 0);
    for (unsigned i = 432; i < 512; i++)
        assert_int_equal(file[i], 0);
    assert_int_equal(file[512], 0xee); /* nothing is written beyond the header */
}

TEST(decoding_gives_back_what_was_encoded) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, file, TOTAL_BYTES), FIRN_OK);
    firn_header expected = good;
    expected.header_bytes = FIRN_HEADER_BYTES;
    expected.signature_bytes = FIRN_SIGNATURE_BYTES;
    assert_memory_equal(&header, &expected, sizeof expected);
}

/* The report may be missing: every length is refused but that of the payload and that of the whole file. The memory has
 * exactly the given length, so that the sanitizers detect a read beyond it. */
TEST(truncated_at_every_length) {
    for (size_t length = 0; length < TOTAL_BYTES; length++) {
        firn_header header;
        uint8_t *copy = malloc(length == 0 ? 1 : length);
        assert_non_null(copy);
        memcpy(copy, file, length);
        const int expected = length == PAYLOAD_END ? FIRN_OK : FIRN_ERROR_TRUNCATED;
        assert_int_equal(firn_header_decode(&header, copy, length), expected);
        assert_int_equal(is_zero(&header), expected != FIRN_OK);
        free(copy);
    }
}

TEST(trailing_bytes) {
    assert_int_equal(decode_bytes(TOTAL_BYTES + 1), FIRN_ERROR_TRAILING_BYTES);
    assert_int_equal(decode_bytes(UINT64_MAX), FIRN_ERROR_TRAILING_BYTES);
    assert_int_equal(decode_bytes(TOTAL_BYTES + (UINT64_C(1) << 32)), FIRN_ERROR_TRAILING_BYTES);
}

/* Whether the regions of `good` would be valid if region i had this kind and this size. */
static bool are_regions(unsigned i, unsigned kind, uint64_t size) {
    uint64_t constants = 0;
    unsigned before = 0;
    for (unsigned j = 0; j < REGIONS; j++) {
        const unsigned its_kind = j == i ? kind : good.region_kinds[j];
        const uint64_t its_size = j == i ? size : good.region_bytes[j];
        if (its_kind < before || its_kind > FIRN_FB_REGION_KIND_SLOW_CONSTANT || its_size == 0 ||
            its_size > UINT64_C(1) << 58)
            return false;
        before = its_kind;
        if (its_kind % 6 != FIRN_FB_REGION_KIND_CONSTANT)
            continue;
        if (constants + its_size > CONSTANTS_BYTES)
            return false;
        constants += (its_size + 63) / 64 * 64;
    }
    return true;
}

/* The error that flipping one bit must cause; FIRN_OK if the container is still valid. */
static int expected_of_flip(unsigned byte, unsigned bit) {
    const unsigned in_word = 8 * (byte % 4) + bit, in_long = 8 * (byte % 8) + bit;
    if (byte < 8)
        return FIRN_ERROR_MAGIC;
    if (byte < 16) /* another major version, or a minor version that this build does not have */
        return byte >= AT_MINOR && UINT64_C(1) << in_word <= FIRN_FORMAT_MINOR ? FIRN_OK : FIRN_ERROR_FORMAT_VERSION;
    if (byte >= AT_ALGORITHM && byte < AT_ALGORITHM + 4)
        return byte == AT_ALGORITHM && bit == 0 ? FIRN_ERROR_UNSIGNED : FIRN_ERROR_ALGORITHM;
    if (byte >= AT_MODE && byte < AT_MODE + 4)
        return byte == AT_MODE && bit == 0 ? FIRN_OK : FIRN_ERROR_HEADER;
    if (byte >= AT_FLATBUFFERS && byte < AT_FLATBUFFERS + 8) { /* a different amount of padding is valid, too */
        const uint64_t flatbuffers = FLATBUFFERS_BYTES ^ UINT64_C(1) << in_long;
        if (flatbuffers > 0x7fffffff)
            return FIRN_ERROR_PLAN_TOO_LARGE;
        return (FIRN_PAYLOAD_OFFSET + flatbuffers + 63) / 64 * 64 == CONSTANTS_OFFSET ? FIRN_OK : FIRN_ERROR_HEADER;
    }
    if (byte >= AT_COUNTS && byte < AT_REGIONS) {
        static const uint32_t at_least[] = {8, 0, 1, 2, 0, 0, 0, 0}; /* 9, 8, 7, ... in `good` */
        static const uint32_t at_most[] = {30, 9, 15, 30, 30, 30, 30, 6};
        const unsigned i = (byte - AT_COUNTS) / 4;
        const uint32_t changed = (9 - i) ^ UINT32_C(1) << in_word;
        return changed >= at_least[i] && changed <= at_most[i] ? FIRN_OK : FIRN_ERROR_HEADER;
    }
    if (byte >= AT_KINDS && byte < AT_KINDS + REGIONS) {
        const unsigned i = byte - AT_KINDS;
        return are_regions(i, good.region_kinds[i] ^ 1u << bit, good.region_bytes[i]) ? FIRN_OK : FIRN_ERROR_HEADER;
    }
    if (byte >= AT_SIZES && byte < AT_SIZES + 8 * REGIONS) {
        const unsigned i = (byte - AT_SIZES) / 8;
        return are_regions(i, good.region_kinds[i], good.region_bytes[i] ^ UINT64_C(1) << in_long) ? FIRN_OK
                                                                                                   : FIRN_ERROR_HEADER;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (byte >= places[i].offset && byte - places[i].offset < places[i].bytes && places[i].open)
            return FIRN_OK;
    return FIRN_ERROR_HEADER;
}

TEST(a_flip_of_every_bit) {
    unsigned refused = 0;
    for (unsigned byte = 0; byte < FIRN_HEADER_BYTES; byte++)
        for (unsigned bit = 0; bit < 8; bit++) {
            firn_header header;
            uint8_t again[FIRN_HEADER_BYTES];
            file[byte] ^= (uint8_t)(1u << bit);
            if (decode() != expected_of_flip(byte, bit))
                fail_msg("byte %u, bit %u: %d", byte, bit, decode());
            if (firn_header_decode(&header, file, TOTAL_BYTES) == FIRN_OK) {
                firn_header_encode(&header, again); /* no bit is ignored: encoding gives back the changed bytes */
                assert_memory_equal(again, file, sizeof again);
            } else {
                refused++;
            }
            file[byte] ^= (uint8_t)(1u << bit);
        }
    assert_true(refused > 2000);
    assert_int_equal(decode(), FIRN_OK);
}

TEST(versions) {
    const uint32_t majors[] = {0, 1, 3, UINT32_MAX};
    for (size_t i = 0; i < sizeof majors / sizeof majors[0]; i++) {
        good.format_major = majors[i];
        assert_int_equal(decode_changed(), FIRN_ERROR_FORMAT_VERSION);
    }
    good.format_major = FIRN_FORMAT_MAJOR;
    const uint32_t minors[] = {FIRN_FORMAT_MINOR + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof minors / sizeof minors[0]; i++) {
        good.needs_minor = minors[i];
        assert_int_equal(decode_changed(), FIRN_ERROR_FORMAT_VERSION);
    }
    good.needs_minor = FIRN_FORMAT_MINOR;
    assert_int_equal(decode_changed(), FIRN_OK);
}

/* The version of a plan can be read whatever else is in the file. */
TEST(the_version_of_any_plan) {
    uint32_t major = 9, minor = 9;
    memset(file + 16, 0xff, sizeof file - 16);
    file[AT_MAJOR] = 77;
    file[AT_MINOR + 1] = 1;
    assert_int_equal(firn_plan_version(file, FIRN_HEADER_BYTES, &major, &minor), FIRN_OK);
    assert_int_equal(major, 77);
    assert_int_equal(minor, 256);
    assert_int_equal(firn_plan_version(file, FIRN_HEADER_BYTES - 1, &major, &minor), FIRN_ERROR_TRUNCATED);
    assert_int_equal(major | minor, 0);
    file[0] ^= 1;
    major = minor = 9;
    assert_int_equal(firn_plan_version(file, sizeof file, &major, &minor), FIRN_ERROR_MAGIC);
    assert_int_equal(major | minor, 0);
}

TEST(modes) {
    good.mode = FIRN_MODE_TRAIN;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.mode = 2;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* --- regions ------------------------------------------------------------------------------------------------------ */

TEST(kinds_of_regions) {
    for (uint8_t kind = 0; kind <= FIRN_FB_REGION_KIND_SLOW_CONSTANT; kind++) {
        const uint8_t fast = kind % 6;
        assert_int_equal(firn_region_fast_kind(kind), fast);
        assert_int_equal(firn_region_is_state(kind), fast <= FIRN_FB_REGION_KIND_SESSION);
        assert_int_equal(firn_region_is_arena(kind), fast == FIRN_FB_REGION_KIND_ARENA);
        assert_int_equal(firn_region_is_constant(kind), fast == FIRN_FB_REGION_KIND_CONSTANT);
    }
}

TEST(where_regions_and_parts_are) {
    assert_true(firn_header_state_bytes(&good) == 0x0012131415161718 + 0x0022232425262728);
    assert_int_equal(firn_header_constant_offset(&good, CONSTANT), 0);
    assert_int_equal(firn_header_constant_offset(&good, SLOW_CONSTANT), 128);
    assert_int_equal(firn_header_payload_end(&good), PAYLOAD_END);
}

TEST(regions_without_state_or_arena) {
    good.constants_bytes = 0;
    good.constants_offset = good.total_bytes = CONSTANTS_OFFSET;
    good.report_bytes = 0;
    static const struct {
        uint8_t kinds[3];
        int error;
    } lists[] = {
        {{FIRN_FB_REGION_KIND_PARAMETERS, FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_ARENA}, FIRN_OK},
        {{FIRN_FB_REGION_KIND_SESSION, FIRN_FB_REGION_KIND_RING, FIRN_FB_REGION_KIND_ARENA}, FIRN_OK},
        {{FIRN_FB_REGION_KIND_SLOW_OPTIMIZER, FIRN_FB_REGION_KIND_SLOW_ARENA, FIRN_FB_REGION_KIND_SLOW_ARENA}, FIRN_OK},
        {{FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_SLOW_SESSION, FIRN_FB_REGION_KIND_SLOW_RING}, FIRN_OK},
        {{FIRN_FB_REGION_KIND_PARAMETERS, FIRN_FB_REGION_KIND_OPTIMIZER, FIRN_FB_REGION_KIND_SESSION},
         FIRN_ERROR_HEADER},
        {{FIRN_FB_REGION_KIND_PARAMETERS, FIRN_FB_REGION_KIND_OPTIMIZER, FIRN_FB_REGION_KIND_RING}, FIRN_ERROR_HEADER},
        {{FIRN_FB_REGION_KIND_RING, FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_SLOW_ARENA}, FIRN_ERROR_HEADER},
        {{FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_ARENA}, FIRN_ERROR_HEADER},
        {{FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_PARAMETERS, FIRN_FB_REGION_KIND_SLOW_ARENA},
         FIRN_ERROR_HEADER},
        {{FIRN_FB_REGION_KIND_SLOW_PARAMETERS, FIRN_FB_REGION_KIND_ARENA, FIRN_FB_REGION_KIND_ARENA},
         FIRN_ERROR_HEADER},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        memset(good.region_kinds, 0, sizeof good.region_kinds);
        memset(good.region_bytes, 0, sizeof good.region_bytes);
        good.region_count = 3;
        for (uint32_t j = 0; j < 3; j++)
            set_region(j, lists[i].kinds[j], 16);
        if (decode_changed() != lists[i].error)
            fail_msg("list %zu", i);
    }
    good.region_count = 0;
    memset(good.region_bytes, 0, sizeof good.region_bytes);
    memset(good.region_kinds, 0, sizeof good.region_kinds);
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* The encoder has room for as many regions as there may be; the number stands in the file. */
TEST(as_many_regions_as_there_may_be) {
    good.constants_bytes = 0;
    good.total_bytes = CONSTANTS_OFFSET + REPORT_BYTES;
    good.region_count = FIRN_REGIONS_MAX;
    for (uint32_t i = 0; i < FIRN_REGIONS_MAX; i++)
        set_region(i, i == 0 ? FIRN_FB_REGION_KIND_PARAMETERS : FIRN_FB_REGION_KIND_ARENA, 1 + i);
    assert_int_equal(decode_changed(), FIRN_OK);
    const uint32_t counts[] = {FIRN_REGIONS_MAX + 1, 255, 256, UINT32_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        memcpy(file + AT_REGIONS, &counts[i], 4);
        assert_int_equal(decode_bytes(good.total_bytes), FIRN_ERROR_HEADER);
    }
    const uint32_t fewer = FIRN_REGIONS_MAX - 1; /* what lies behind the list is zero */
    memcpy(file + AT_REGIONS, &fewer, 4);
    assert_int_equal(decode_bytes(good.total_bytes), FIRN_ERROR_HEADER);
    memset(file + AT_SIZES + 8 * fewer, 0, 8);
    assert_int_equal(decode_bytes(good.total_bytes), FIRN_ERROR_HEADER);
    file[AT_KINDS + fewer] = 0;
    assert_int_equal(decode_bytes(good.total_bytes), FIRN_OK);
}

TEST(sizes_of_regions) {
    const uint64_t most = UINT64_C(1) << 58; /* a sixteenth of 2^62, so that no sum of regions overflows */
    const uint64_t refused[] = {0, most + 1, UINT64_C(1) << 62, UINT64_MAX};
    for (uint32_t region = 0; region < REGIONS; region++) {
        const uint64_t before = good.region_bytes[region];
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
            good.region_bytes[region] = refused[i];
            assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
        }
        good.region_bytes[region] = most;
        assert_int_equal(decode_changed(), region < CONSTANT ? FIRN_OK : FIRN_ERROR_HEADER);
        good.region_bytes[region] = before;
    }
    assert_int_equal(decode_changed(), FIRN_OK);
    good.region_kinds[SLOW_CONSTANT]++; /* the first kind that there is not */
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* Each constant region begins at a multiple of 64, and ends within the constants. */
TEST(constants_of_regions) {
    good.region_bytes[SLOW_CONSTANT] = 73;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.region_bytes[CONSTANT] = 64;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.region_bytes[SLOW_CONSTANT] = 200 - 64;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.region_bytes[SLOW_CONSTANT]++;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.region_bytes[CONSTANT] = 200;
    good.region_bytes[SLOW_CONSTANT] = 1;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.region_bytes[SLOW_CONSTANT] = 0;
    good.region_kinds[SLOW_CONSTANT] = 0;
    good.region_count--;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.region_bytes[CONSTANT] = 201;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* --- counts and lengths ------------------------------------------------------------------------------------------- */

/* The counts determine how much memory is requested, so they are checked first against the size of the payload. */
TEST(impossible_counts) {
    const uint32_t most = FLATBUFFERS_BYTES / 4, more[] = {most + 1, UINT32_MAX};
    uint32_t *const counts[] = {&good.counts.tensors, &good.counts.operands, &good.counts.integers, &good.counts.reals,
                                &good.counts.reductions};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const uint32_t before = *counts[i];
        *counts[i] = most;
        assert_int_equal(decode_changed(), FIRN_OK);
        for (size_t j = 0; j < 2; j++) {
            *counts[i] = more[j];
            assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
        }
        *counts[i] = before;
    }
    const uint32_t ops[] = {0, FLATBUFFERS_BYTES / 8 + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        good.counts.ops = ops[i];
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    }
    good.counts.ops = FLATBUFFERS_BYTES / 8;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.counts.state_tensors = good.counts.tensors;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.counts.state_tensors++;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.counts.state_tensors = 0;
    good.counts.widest = good.counts.operands;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.counts.widest++;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* Leaves out constants and report, which the next tests have no use for. */
static void leave_out_the_rest(void) {
    good.region_count = CONSTANT;
    for (uint32_t i = CONSTANT; i < REGIONS; i++)
        set_region(i, 0, 0);
    good.constants_bytes = good.report_bytes = 0;
    good.total_bytes = CONSTANTS_OFFSET;
}

/* Lengths that are consistent only if a sum overflows, and spans that overlap or leave a gap. */
TEST(inconsistent_spans) {
    const uint64_t rest = CONSTANTS_BYTES + REPORT_BYTES;
    const uint64_t offsets[] = {0, 512, 576, 640, 696, 703, 705, 768, UINT64_C(1) << 32 | 704, UINT64_MAX - 63};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        good.constants_offset = offsets[i];
        good.total_bytes = offsets[i] + rest;
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    }
    good.constants_offset = CONSTANTS_OFFSET;
    uint64_t *const lengths[] = {&good.constants_bytes, &good.report_bytes};
    const uint64_t wrong[] = {UINT64_MAX - 703, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 62) + 1};
    for (size_t which = 0; which < 2; which++) {
        const uint64_t before = *lengths[which];
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            *lengths[which] = wrong[i];
            good.total_bytes = CONSTANTS_OFFSET + good.constants_bytes + good.report_bytes;
            firn_header_encode(&good, file);
            assert_int_not_equal(decode_bytes(TOTAL_BYTES), FIRN_OK);
            assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
        }
        *lengths[which] = before;
    }
    leave_out_the_rest();
    assert_int_equal(decode_changed(), FIRN_OK);
    for (size_t which = 0; which < 2; which++) { /* the longest file */
        good.total_bytes = UINT64_C(1) << 62;
        *lengths[which] = good.total_bytes - CONSTANTS_OFFSET;
        assert_int_equal(decode_changed(), FIRN_OK);
        good.total_bytes++;
        ++*lengths[which];
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
        *lengths[which] = 0;
    }
    good.total_bytes = CONSTANTS_OFFSET - 1;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.counts = (firn_counts){.ops = 1};
    good.flatbuffers_bytes = 7;
    good.constants_offset = good.total_bytes = 640;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.flatbuffers_bytes = 8;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.flatbuffers_bytes = 64; /* no padding is required and none is present */
    assert_int_equal(decode_changed(), FIRN_OK);
}

TEST(the_largest_plan) {
    leave_out_the_rest();
    good.flatbuffers_bytes = 0x7fffffff;
    good.constants_offset = good.total_bytes = UINT64_C(0x80000000) + FIRN_PAYLOAD_OFFSET;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.flatbuffers_bytes = 0x80000000;
    assert_int_equal(decode_changed(), FIRN_ERROR_PLAN_TOO_LARGE);
    good.flatbuffers_bytes = UINT64_MAX;
    assert_int_equal(decode_changed(), FIRN_ERROR_PLAN_TOO_LARGE);
}

/* Without its report a plan has the length of its payload, and nothing else. */
TEST(reports) {
    firn_header header;
    assert_int_equal(firn_header_decode(&header, file, PAYLOAD_END), FIRN_OK);
    assert_int_equal(header.report_bytes, REPORT_BYTES);
    assert_int_equal(decode_bytes(PAYLOAD_END + 1), FIRN_ERROR_TRUNCATED);
    good.report_bytes = 0;
    good.total_bytes = PAYLOAD_END;
    assert_int_equal(decode_changed(), FIRN_OK);
    assert_int_equal(decode_bytes(PAYLOAD_END + 1), FIRN_ERROR_TRAILING_BYTES);
    assert_int_equal(decode_bytes(PAYLOAD_END - 1), FIRN_ERROR_TRUNCATED);
}

TEST(unsigned_plans) {
    firn_header header;
    memset(file + FIRN_HEADER_BYTES, 0, FIRN_SIGNATURE_BYTES);
    assert_int_equal(firn_header_decode_unsigned(&header, file, TOTAL_BYTES), FIRN_ERROR_ALGORITHM);
    assert_true(is_zero(&header));
    good.algorithm = FIRN_ALGORITHM_NONE;
    assert_int_equal(decode_changed(), FIRN_ERROR_UNSIGNED);
    const uint64_t lengths[] = {PAYLOAD_END, TOTAL_BYTES};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(firn_header_decode_unsigned(&header, file, lengths[i]), FIRN_OK);
        assert_int_equal(header.algorithm, FIRN_ALGORITHM_NONE);
    }
    assert_int_equal(firn_header_decode_unsigned(&header, file, TOTAL_BYTES + 1), FIRN_ERROR_TRAILING_BYTES);
    for (unsigned i = 0; i < 8 * FIRN_SIGNATURE_BYTES; i++) { /* where the signature will be */
        file[FIRN_HEADER_BYTES + i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(firn_header_decode_unsigned(&header, file, TOTAL_BYTES), FIRN_ERROR_HEADER);
        assert_true(is_zero(&header));
        file[FIRN_HEADER_BYTES + i / 8] = 0;
    }
    good.algorithm = 2;
    assert_int_equal(decode_changed(), FIRN_ERROR_ALGORITHM);
    assert_int_equal(firn_header_decode_unsigned(&header, file, TOTAL_BYTES), FIRN_ERROR_ALGORITHM);
}

TEST(what_begins_as_a_plan_does) {
    uint8_t bytes[FIRN_HEADER_BYTES];
    const firn_header header = {.format_major = FIRN_FORMAT_MAJOR};
    firn_header_encode(&header, bytes);
    assert_true(firn_is_plan(bytes, sizeof bytes));
    assert_true(firn_is_plan(bytes, 8));
    assert_false(firn_is_plan(bytes, 7));
    assert_false(firn_is_plan(NULL, 0));
    bytes[7] ^= 1;
    assert_false(firn_is_plan(bytes, sizeof bytes));
}
