/* Tests the header: each byte must be at the offset that FORMAT.md gives, and every kind of invalid header must be
 * refused. */
#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plan/container.h"
#include "plan/errors.h"

/* 100 bytes of FlatBuffers, 28 bytes of padding, 48 bytes of constants, and the signature. */
#define FLATBUFFERS_BYTES 100u
#define CONSTANTS_OFFSET  384u
#define CONSTANTS_BYTES   48u
#define TOTAL_BYTES       (CONSTANTS_OFFSET + CONSTANTS_BYTES + FIRN_SIGNATURE_BYTES)

/* The table of FORMAT.md. open: the decoder accepts any value, because only the signature, the key, the device or the
 * payload can contradict it. */
struct place {
    unsigned offset, bytes;
    bool open;
};
static const struct place places[] = {
    {0, 8, false},   {8, 4, false},   {12, 4, false},  {16, 8, false},  {24, 4, false},   {28, 4, false},
    {32, 4, false},  {36, 4, false},  {40, 4, true},   {44, 4, true},   {48, 16, true},   {64, 16, true},
    {80, 32, true},  {112, 32, true}, {144, 32, true}, {176, 8, false}, {184, 8, false},  {192, 8, false},
    {200, 8, false}, {208, 8, false}, {216, 8, false}, {224, 4, false}, {228, 28, false},
};
enum {
    AT_TOTAL = 16,
    AT_STATE = 176,
    AT_ARENA = 184,
    AT_POOL = 192,
    AT_FLATBUFFERS = 200,
    AT_CONSTANTS = 208,
    AT_OPS = 224
};

static firn_header good;
static uint8_t file[TOTAL_BYTES + 1];

static void fill(uint8_t *bytes, size_t count, uint8_t first) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(first + i);
}

static int set_up(void **state) {
    (void)state;
    memset(&good, 0, sizeof good);
    memset(file, 0xee, sizeof file);
    good.container_version = FIRN_CONTAINER_VERSION;
    good.total_bytes = TOTAL_BYTES;
    good.algorithm = FIRN_ALGORITHM_ECDSA_P256;
    good.signature_bytes = FIRN_SIGNATURE_BYTES;
    good.mode = good.image_id = FIRN_MODE_EVAL;
    good.plan_version = 0x01020304;
    good.security_counter = 0x05060708;
    fill(good.vendor, 16, 0x10);
    fill(good.class_id, 16, 0x20);
    fill(good.schema_hash, 32, 0x30);
    fill(good.key_hash, 32, 0x50);
    fill(good.run_hash, 32, 0x70);
    good.state_bytes = 0x1112131415161718 & ((UINT64_C(1) << 60) - 1);
    good.arena_bytes = 0x2122232425262728 & ((UINT64_C(1) << 60) - 1);
    good.pool_bytes = 4096;
    good.flatbuffers_bytes = FLATBUFFERS_BYTES;
    good.constants_offset = CONSTANTS_OFFSET;
    good.constants_bytes = CONSTANTS_BYTES;
    good.ops = 8;
    firn_header_encode(&good, file);
    return 0;
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

static void every_byte_stands_where_the_format_says(void **state) {
    (void)state;
    unsigned end = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(places[i].offset, end);
        end += places[i].bytes;
    }
    assert_int_equal(end, FIRN_HEADER_BYTES);
    assert_memory_equal(file, "FIRNPLAN", 8);
    assert_int_equal(little(8, 4), 1);
    assert_int_equal(little(12, 4), 256);
    assert_int_equal(little(AT_TOTAL, 8), TOTAL_BYTES);
    assert_int_equal(little(24, 4), 1);
    assert_int_equal(little(28, 4), 64);
    assert_int_equal(little(32, 4), 1);
    assert_int_equal(little(36, 4), 1);
    assert_int_equal(little(40, 4), 0x01020304);
    assert_int_equal(little(44, 4), 0x05060708);
    assert_memory_equal(file + 48, good.vendor, 16);
    assert_memory_equal(file + 64, good.class_id, 16);
    assert_memory_equal(file + 80, good.schema_hash, 32);
    assert_memory_equal(file + 112, good.key_hash, 32);
    assert_memory_equal(file + 144, good.run_hash, 32);
    assert_true(little(AT_STATE, 8) == good.state_bytes);
    assert_true(little(AT_ARENA, 8) == good.arena_bytes);
    assert_int_equal(little(AT_POOL, 8), 4096);
    assert_int_equal(little(AT_FLATBUFFERS, 8), FLATBUFFERS_BYTES);
    assert_int_equal(little(AT_CONSTANTS, 8), CONSTANTS_OFFSET);
    assert_int_equal(little(216, 8), CONSTANTS_BYTES);
    assert_int_equal(little(224, 4), 8);
    for (unsigned i = 228; i < 256; i++)
        assert_int_equal(file[i], 0);
    assert_int_equal(file[256], 0xee); /* nothing is written beyond the header */
}

static void decoding_gives_back_what_was_encoded(void **state) {
    (void)state;
    firn_header header;
    uint8_t again[FIRN_HEADER_BYTES];
    assert_int_equal(firn_header_decode(&header, file, TOTAL_BYTES), FIRN_OK);
    firn_header_encode(&header, again);
    assert_memory_equal(again, file, sizeof again);
    assert_int_equal(header.mode, FIRN_MODE_EVAL);
    assert_true(header.arena_bytes == good.arena_bytes);
}

/* The memory has exactly the given length, so that the sanitizers detect a read beyond it. */
static void truncated_at_every_length(void **state) {
    (void)state;
    for (size_t length = 0; length < TOTAL_BYTES; length++) {
        firn_header header;
        uint8_t *copy = malloc(length == 0 ? 1 : length);
        assert_non_null(copy);
        memcpy(copy, file, length);
        assert_int_equal(firn_header_decode(&header, copy, length), FIRN_ERROR_TRUNCATED);
        assert_true(is_zero(&header));
        free(copy);
    }
}

static void trailing_bytes(void **state) {
    (void)state;
    assert_int_equal(decode_bytes(TOTAL_BYTES + 1), FIRN_ERROR_TRAILING_BYTES);
    assert_int_equal(decode_bytes(UINT64_MAX), FIRN_ERROR_TRAILING_BYTES);
    assert_int_equal(decode_bytes(TOTAL_BYTES + (UINT64_C(1) << 32)), FIRN_ERROR_TRAILING_BYTES);
}

/* The error that flipping one bit must cause; FIRN_OK if the container is still valid. */
static int expected_of_flip(unsigned byte, unsigned bit) {
    uint64_t arena = good.arena_bytes ^ (byte / 8 == AT_ARENA / 8 ? UINT64_C(1) << (8 * (byte % 8) + bit) : 0);
    if (byte < 8)
        return FIRN_ERROR_MAGIC;
    if (byte < 12)
        return FIRN_ERROR_CONTAINER_VERSION;
    if (byte >= 24 && byte < 28) /* algorithm "none" with 64 bytes of signature is a contradiction */
        return byte == 24 && bit == 0 ? FIRN_ERROR_HEADER : FIRN_ERROR_ALGORITHM;
    if (byte >= AT_FLATBUFFERS && byte < AT_FLATBUFFERS + 8) { /* a different amount of padding is valid, too */
        uint64_t flatbuffers = good.flatbuffers_bytes ^ UINT64_C(1) << (8 * (byte - AT_FLATBUFFERS) + bit);
        if (flatbuffers > 0x7fffffff)
            return FIRN_ERROR_PLAN_TOO_LARGE;
        return (FIRN_HEADER_BYTES + flatbuffers + 63) / 64 * 64 == CONSTANTS_OFFSET ? FIRN_OK : FIRN_ERROR_HEADER;
    }
    if (byte >= AT_STATE && byte < AT_STATE + 8)
        return byte == AT_STATE + 7 && bit >= 6 ? FIRN_ERROR_HEADER : FIRN_OK;
    if (byte >= AT_ARENA && byte < AT_ARENA + 8)
        return arena > UINT64_C(1) << 62 ? FIRN_ERROR_HEADER : FIRN_OK;
    if (byte >= AT_POOL && byte < AT_POOL + 8) { /* a multiple of 16, not 0, at most the arena size */
        uint64_t pool = good.pool_bytes ^ UINT64_C(1) << (8 * (byte - AT_POOL) + bit);
        return pool == 0 || pool % 16 != 0 || pool > good.arena_bytes ? FIRN_ERROR_HEADER : FIRN_OK;
    }
    if (byte >= AT_OPS && byte < AT_OPS + 4) {
        uint32_t ops = good.ops ^ UINT32_C(1) << (8 * (byte - AT_OPS) + bit);
        return ops == 0 || ops > FLATBUFFERS_BYTES / 8 ? FIRN_ERROR_HEADER : FIRN_OK;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (byte >= places[i].offset && byte - places[i].offset < places[i].bytes && places[i].open)
            return FIRN_OK;
    return FIRN_ERROR_HEADER;
}

static void a_flip_of_every_bit(void **state) {
    (void)state;
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
    assert_true(refused > 700);
    assert_int_equal(decode(), FIRN_OK);
}

static void inconsistent_blocks(void **state) {
    (void)state;
    good.state_bytes = 0;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.state_bytes = (UINT64_C(1) << 62) + 1;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.state_bytes = 1;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.arena_bytes = good.pool_bytes - 1;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.arena_bytes = good.pool_bytes;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.pool_bytes = 0;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.pool_bytes = 8;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.pool_bytes = 16;
    good.image_id = FIRN_MODE_TRAIN;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.mode = FIRN_MODE_TRAIN;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.mode = good.image_id = 2;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
}

/* The number of ops determines how much memory is requested, so it is checked first against the size of the payload. */
static void impossible_numbers_of_ops(void **state) {
    (void)state;
    const uint32_t refused[] = {0, FLATBUFFERS_BYTES / 8 + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        good.ops = refused[i];
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    }
    good.ops = FLATBUFFERS_BYTES / 8;
    assert_int_equal(decode_changed(), FIRN_OK);
}

/* Lengths that are consistent only if a sum overflows, and spans that overlap or leave a gap. */
static void inconsistent_spans(void **state) {
    (void)state;
    const uint64_t offsets[] = {0, 256, 320, 356, 383, 385, 448, UINT64_C(1) << 32 | 384, UINT64_MAX - 63};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        good.constants_offset = offsets[i];
        good.total_bytes = offsets[i] + CONSTANTS_BYTES + FIRN_SIGNATURE_BYTES;
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    }
    good.constants_offset = CONSTANTS_OFFSET;
    const uint64_t constants[] = {UINT64_MAX - 383, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 62) + 1};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        good.constants_bytes = constants[i];
        good.total_bytes = CONSTANTS_OFFSET + constants[i] + FIRN_SIGNATURE_BYTES;
        firn_header_encode(&good, file);
        assert_int_not_equal(decode_bytes(TOTAL_BYTES), FIRN_OK);
        assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    }
    good.constants_bytes = 0;
    good.ops = 1;
    good.total_bytes = CONSTANTS_OFFSET + FIRN_SIGNATURE_BYTES;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.total_bytes--;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.flatbuffers_bytes = 7;
    good.constants_offset = 320;
    good.total_bytes = 320 + FIRN_SIGNATURE_BYTES;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.flatbuffers_bytes = 8;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.flatbuffers_bytes = 64; /* no padding is required and none is present */
    assert_int_equal(decode_changed(), FIRN_OK);
}

static void the_largest_plan(void **state) {
    (void)state;
    good.flatbuffers_bytes = 0x7fffffff;
    good.constants_offset = 0x80000000 + 256;
    good.total_bytes = good.constants_offset + CONSTANTS_BYTES + FIRN_SIGNATURE_BYTES;
    assert_int_equal(decode_changed(), FIRN_OK);
    good.flatbuffers_bytes = 0x80000000;
    assert_int_equal(decode_changed(), FIRN_ERROR_PLAN_TOO_LARGE);
    good.flatbuffers_bytes = UINT64_MAX;
    assert_int_equal(decode_changed(), FIRN_ERROR_PLAN_TOO_LARGE);
}

static void unsigned_plans(void **state) {
    (void)state;
    firn_header header;
    assert_int_equal(firn_header_decode_unsigned(&header, file, TOTAL_BYTES), FIRN_ERROR_ALGORITHM);
    assert_true(is_zero(&header));
    good.algorithm = FIRN_ALGORITHM_NONE;
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER); /* an unsigned plan with a signature */
    good.signature_bytes = 0;
    good.total_bytes = CONSTANTS_OFFSET + CONSTANTS_BYTES;
    assert_int_equal(decode_changed(), FIRN_ERROR_UNSIGNED);
    assert_int_equal(firn_header_decode_unsigned(&header, file, good.total_bytes), FIRN_OK);
    assert_int_equal(header.algorithm, FIRN_ALGORITHM_NONE);
    assert_int_equal(firn_header_decode_unsigned(&header, file, good.total_bytes + 1), FIRN_ERROR_TRAILING_BYTES);
    good.algorithm = FIRN_ALGORITHM_ECDSA_P256; /* a signed plan without a signature */
    assert_int_equal(decode_changed(), FIRN_ERROR_HEADER);
    good.algorithm = 2;
    assert_int_equal(decode_changed(), FIRN_ERROR_ALGORITHM);
}

static void what_begins_as_a_plan_does(void **state) {
    (void)state;
    uint8_t bytes[FIRN_HEADER_BYTES];
    firn_header header = {.container_version = FIRN_CONTAINER_VERSION};
    firn_header_encode(&header, bytes);
    assert_true(firn_is_plan(bytes, sizeof bytes));
    assert_true(firn_is_plan(bytes, 8));
    assert_false(firn_is_plan(bytes, 7));
    assert_false(firn_is_plan(NULL, 0));
    bytes[7] ^= 1;
    assert_false(firn_is_plan(bytes, sizeof bytes));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(what_begins_as_a_plan_does),
        CASE(every_byte_stands_where_the_format_says),
        CASE(decoding_gives_back_what_was_encoded),
        CASE(truncated_at_every_length),
        CASE(trailing_bytes),
        CASE(a_flip_of_every_bit),
        CASE(inconsistent_blocks),
        CASE(impossible_numbers_of_ops),
        CASE(inconsistent_spans),
        CASE(the_largest_plan),
        CASE(unsigned_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
