/* Tests the number formatting of the emulated targets against printf. */
#include <stdio.h>
#include <string.h>

#include "runtime/targets/emulated/text.h"
#include "tests/unit/support_test.h"

static void expect_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    char expected[64];
    snprintf(expected, sizeof expected, "%.9g", (double)value);
    firn_text line = {0};
    firn_text_add_float(&line, value);
    if (value != value)
        assert_string_equal(line.bytes, "nan");
    else
        assert_string_equal(line.bytes, expected);
}

TEST(floats_are_written_as_printf_writes_them) {
    const uint32_t edges[] = {0,          0x80000000, 1,          0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000,
                              0xff800000, 0x7fc00000, 0x3f800000, 0x40490fdb, 0x4e6e6b28, 0x4e6e6b27, 0x4cbebc20,
                              0x38d1b717, 0x38d1b718, 0x3dcccccd, 0x42c80000, 0x49742400, 0xc2f6e979};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        expect_float(edges[i]);
    uint32_t bits = 12345;
    for (int i = 0; i < 20000; i++) {
        bits = bits * 1664525u + 1013904223u;
        expect_float(bits);
    }
}

TEST(integers_and_cut_lines) {
    firn_text line = {0};
    firn_text_add_unsigned(&line, 0);
    firn_text_add(&line, " ");
    firn_text_add_unsigned(&line, UINT64_MAX);
    firn_text_add(&line, " ");
    firn_text_add_hex(&line, 0xdeadbeef, 8);
    assert_string_equal(line.bytes, "0 18446744073709551615 deadbeef");
    for (int i = 0; i < 100; i++)
        firn_text_add(&line, "0123456789");
    assert_int_equal(line.used, sizeof line.bytes - 1);
    assert_int_equal(strlen(line.bytes), line.used);
}

TEST(a_hash_is_64_digits) {
    uint8_t hash[32];
    char expected[65];
    for (size_t i = 0; i < sizeof hash; i++) {
        hash[i] = (uint8_t)(i * 37 + 1);
        snprintf(expected + 2 * i, 3, "%02x", hash[i]);
    }
    firn_text line = {0};
    firn_text_add_hash(&line, hash);
    assert_string_equal(line.bytes, expected);
}
