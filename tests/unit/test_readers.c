/* Tests what the host reads from data files: every element type, byte order and order of axes of a file against every
 * type that a plan reads. A number is read exactly, or the file is refused by the place of that number. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mbedtls/sha256.h>
#include <zlib.h>

#include "plan/bytes.h"
#include "plan/ops.h"
#include "runtime/targets/host/cells.h"
#include "runtime/targets/host/host.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_test.h"

enum { BYTES_MOST = 4096, WIDTH_MOST = 8 };

static char path[64], said[2000];

/* --- files -------------------------------------------------------------------------------------------------------- */

typedef struct number_type {
    const char *code;
    uint32_t width;
    bool real, is_signed;
} number_type;

static const number_type types[] = {
    {"b1", 1, false, false}, {"u1", 1, false, false}, {"i1", 1, false, true}, {"u2", 2, false, false},
    {"i2", 2, false, true},  {"u4", 4, false, false}, {"i4", 4, false, true}, {"u8", 8, false, false},
    {"i8", 8, false, true},  {"f2", 2, true, true},   {"f4", 4, true, true},  {"f8", 8, true, true},
};

enum { TYPES = sizeof types / sizeof types[0] };

/* Returns the bits of a float16 that holds the value exactly. */
static uint16_t half_of(double value) {
    int exponent;
    if (isnan(value))
        return 0x7e00;
    if (isinf(value) || value == 0)
        return (uint16_t)((signbit(value) ? 0x8000 : 0) | (value == 0 ? 0 : 0x7c00));
    const double fraction = frexp(fabs(value), &exponent); /* 0.5 to 1 */
    return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | ((int)(fraction * 2048) - 1024));
}

/* Writes a value as a number of a type, little-endian; the type must hold it. */
static void put_number(const number_type *type, double value, uint8_t *to) {
    const float single = type->width == 4 ? (float)value : 0;
    const uint16_t half = type->real && type->width == 2 ? half_of(value) : 0;
    const int64_t integer = type->real ? 0 : (int64_t)value;
    if (!type->real)
        memcpy(to, &integer, type->width);
    else if (type->width == 2)
        memcpy(to, &half, 2);
    else if (type->width == 4)
        memcpy(to, &single, 4);
    else
        memcpy(to, &value, 8);
}

typedef struct npy_file {
    const char *code; /* with the byte order */
    const char *shape;
    bool fortran;
    uint8_t version;
} npy_file;

static void write_bytes(const void *head, size_t head_bytes, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, head_bytes, file), head_bytes);
    assert_true(count == 0 || fwrite(bytes, 1, count, file) == count);
    assert_int_equal(fclose(file), 0);
}

static void write_npy(npy_file about, const void *bytes, size_t count) {
    char head[200];
    const size_t start = about.version == 1 ? 10 : 12;
    const int length =
        snprintf(head + start, sizeof head - start, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", about.code,
                 about.fortran ? "True" : "False", about.shape);
    memcpy(head, (const uint8_t[]){0x93, 'N', 'U', 'M', 'P', 'Y'}, 6);
    const uint8_t rest[] = {about.version, 0, (uint8_t)length, 0, 0, 0};
    memcpy(head + 6, rest, start - 6);
    write_bytes(head, start + (size_t)length, bytes, count);
}

/* Writes values as an array of this type and byte order. */
static void write_values(const number_type *type, char order, const char *shape, const double *values, uint32_t count) {
    uint8_t bytes[BYTES_MOST], number[WIDTH_MOST];
    char code[4] = {order};
    memcpy(code + 1, type->code, 3);
    for (uint32_t i = 0; i < count; i++) {
        put_number(type, values[i], number);
        for (uint32_t b = 0; b < type->width; b++)
            bytes[i * type->width + b] = number[order == '>' ? type->width - 1 - b : b];
    }
    write_npy((npy_file){code, shape, false, 1}, bytes, (size_t)count * type->width);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static firn_host_data data;

/* Opens the file as a stream of records or of text; what is said is kept. */
static bool open_as(uint8_t element, uint32_t record_elements, bool records) {
    const firn_host_wanted wanted = {
        .records = records, .stream_count = 1, .streams = {{.element = element, .record_elements = record_elements}}};
    const char *paths[] = {path};
    support_capture_begin(STDERR_FILENO);
    const bool opened = firn_host_data_open(&data, &wanted, paths, 1, NULL, NULL);
    (void)support_capture_end(said, sizeof said);
    return opened;
}

static double element_at(uint8_t type, const uint8_t *bytes, uint32_t i) {
    const uint8_t *at = bytes + (size_t)i * firn_type_bytes(type);
    float single;
    int32_t word;
    int16_t half;
    uint16_t unsigned_half;
    switch (type) {
    case FIRN_FLOAT32:
        memcpy(&single, at, 4);
        return (double)single;
    case FIRN_INT32:
        memcpy(&word, at, 4);
        return word;
    case FIRN_INT16:
        memcpy(&half, at, 2);
        return half;
    case FIRN_UINT16:
        memcpy(&unsigned_half, at, 2);
        return unsigned_half;
    case FIRN_INT8:
        return (int8_t)*at;
    default:
        return *at;
    }
}

static void expect_values(uint8_t element, const double *values, uint32_t count) {
    uint8_t bytes[BYTES_MOST];
    assert_int_equal(data.streams[0].segments[0].elements, count);
    assert_int_equal(data.streams[0].element, element);
    assert_int_equal(data.source.read(data.source.context, 0, 0, count, bytes), FIRN_OK);
    for (uint32_t i = 0; i < count; i++)
        if (element_at(element, bytes, i) != values[i])
            fail_msg("element %lu of type %s is %g, not %g", (unsigned long)i, firn_type_name(element),
                     element_at(element, bytes, i), values[i]);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(data.source.read(data.source.context, 0, i, 1, bytes), FIRN_OK);
        assert_true(element_at(element, bytes, 0) == values[i]);
    }
    assert_int_equal(data.source.read(data.source.context, 0, count, 1, bytes), FIRN_ERROR_SOURCE);
}

static const uint8_t elements[] = {FIRN_FLOAT32, FIRN_INT32, FIRN_INT16, FIRN_UINT16, FIRN_INT8, FIRN_UINT8, FIRN_BOOL};

enum { ELEMENTS = sizeof elements / sizeof elements[0] };

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static bool type_holds(const number_type *type, double value) {
    const int bits = (int)(8 * type->width) - (type->is_signed ? 1 : 0);
    if (strcmp(type->code, "b1") == 0)
        return value == 0 || value == 1;
    if (type->real)
        return type->width != 2 || fabs(value) <= 2048 || fabs(value) == 32768;
    return value == floor(value) && value <= ldexp(1, bits) - 1 && value >= (type->is_signed ? -ldexp(1, bits) : 0);
}

static bool element_holds(uint8_t element, double value) {
    static const number_type of[] = {
        [FIRN_FLOAT32] = {"f4", 4, true, true}, [FIRN_INT32] = {"i4", 4, false, true},
        [FIRN_INT16] = {"i2", 2, false, true},  [FIRN_UINT16] = {"u2", 2, false, false},
        [FIRN_INT8] = {"i1", 1, false, true},   [FIRN_UINT8] = {"u1", 1, false, false},
        [FIRN_BOOL] = {"b1", 1, false, false},
    };
    return type_holds(&of[element], value) && (element != FIRN_FLOAT32 || (double)(float)value == value);
}

/* Each value that a type of file holds, in either byte order, is read as it is by each type of a plan that holds it,
 * and refused by the others with its place. */
TEST(reads_every_type) {
    static const double candidates[] = {
        0,        1,        -1,         2,          127,           128,           -128,  -129, 255,
        256,      32767,    32768,      65535,      -32768,        -32769,        65536, 0.5,  -2.25,
        16777216, 16777217, 2147483647, 2147483648, -2147483648.0, -2147483649.0, 1e300};
    (void)state;
    for (uint32_t t = 0; t < TYPES; t++)
        for (uint32_t c = 0; c < sizeof candidates / sizeof candidates[0]; c++)
            for (uint32_t e = 0; e < ELEMENTS; e++) {
                const double values[] = {1, 0, candidates[c]};
                const bool fits = element_holds(elements[e], candidates[c]), real = types[t].real;
                if (!type_holds(&types[t], candidates[c]) ||
                    (types[t].width == 4 && real && !element_holds(FIRN_FLOAT32, candidates[c])))
                    continue;
                if (elements[e] == FIRN_FLOAT32 && real && !fits && candidates[c] != 1e300)
                    continue; /* is rounded: see below */
                for (uint32_t o = 0; o < 2; o++) {
                    write_values(&types[t], o == 0 ? '<' : '>', "(3,)", values, 3);
                    if (open_as(elements[e], 1, true) != fits)
                        fail_msg("%s of %g for %s: %s", types[t].code, candidates[c], firn_type_name(elements[e]),
                                 said);
                    if (fits)
                        expect_values(elements[e], values, 3);
                    else if (strstr(said, ": record 2, counted from 0, is ") == NULL ||
                             strchr(said, '\n') != said + strlen(said) - 1)
                        fail_msg("%s", said);
                    firn_host_data_close(&data);
                }
            }
}

TEST(reads_every_version_and_order) {
    static const uint16_t numbers[6] = {1, 2, 3, 4, 5, 6}, reversed[6] = {0x100, 0x200, 0x300, 0x400, 0x500, 0x600};
    static const double as_written[6] = {1, 2, 3, 4, 5, 6}, transposed[6] = {1, 3, 5, 2, 4, 6};
    (void)state;
    for (uint8_t version = 1; version <= 3; version++)
        for (int fortran = 0; fortran < 2; fortran++)
            for (int order = 0; order < 2; order++)
                for (uint32_t e = 0; e < 4; e++) {
                    write_npy((npy_file){order == 0 ? "<u2" : ">u2", "(2, 3)", fortran == 1, version},
                              order == 0 ? numbers : reversed, sizeof numbers);
                    assert_true(open_as(elements[e], 3, true));
                    expect_values(elements[e], fortran == 1 ? transposed : as_written, 6);
                    firn_host_data_close(&data);
                }
    /* Axes of 1 have no order. */
    write_npy((npy_file){"<u2", "(1, 6, 1)", true, 1}, numbers, sizeof numbers);
    assert_true(open_as(FIRN_UINT16, 6, true));
    expect_values(FIRN_UINT16, as_written, 6);
    firn_host_data_close(&data);
}

/* More numbers than are converted at once, of three axes. */
TEST(reorders_large_arrays) {
    enum { A = 7, B = 31, C = 53 };
    static int64_t numbers[A * B * C];
    static int32_t read[A * B * C];
    (void)state;
    for (int i = 0; i < A * B * C; i++)
        numbers[i] = i;
    write_npy((npy_file){"<i8", "(7, 31, 53)", true, 1}, numbers, sizeof numbers);
    assert_true(open_as(FIRN_INT32, B * C, true));
    assert_int_equal(data.source.read(data.source.context, 0, 0, A * B * C, read), FIRN_OK);
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int c = 0; c < C; c++)
                assert_int_equal(read[(a * B + b) * C + c], a + A * (b + B * c));
    firn_host_data_close(&data);
}

TEST(rounds_float64_once) {
    /* The second lies just above the middle of two float32: rounded to float16 or float32 by way of another type it
     * would become the lower one. */
    static const double values[] = {0.1, 1.0 + 0x1p-24 + 0x1p-50, (double)NAN, (double)INFINITY, 1e-300, 0.5};
    uint8_t bytes[64];
    float read[6];
    (void)state;
    write_values(&types[11], '<', "(6,)", values, 6);
    assert_true(open_as(FIRN_FLOAT32, 1, true));
    assert_int_equal(data.source.read(data.source.context, 0, 0, 6, bytes), FIRN_OK);
    memcpy(read, bytes, sizeof read);
    assert_true(read[0] == 0.1f && read[1] == 1.0f + 0x1p-23f && isnan(read[2]) && isinf(read[3]) && read[4] == 0 &&
                read[5] == 0.5f);
    assert_int_equal(firn_host_file_rounded(data.files[0].files[0]), 3);
    firn_host_data_close(&data);
    const double huge[] = {1, -3.5e38};
    write_values(&types[11], '<', "(1, 2)", huge, 2);
    assert_false(open_as(FIRN_FLOAT32, 2, true));
    assert_non_null(strstr(said, ": element 1 of record 0, counted from 0, is -3.5e+38; the plan reads "
                                 "float32, and -3.5e+38 would be infinity in it (DATA_TYPE): "));
    firn_host_data_close(&data);
    const double none[] = {1, (double)NAN};
    for (uint32_t t = 9; t < TYPES; t += 2) {
        write_values(&types[t], '<', "(2,)", none, 2);
        if (t == 9)
            continue; /* half_of makes no NaN */
        assert_false(open_as(FIRN_INT32, 1, true));
        assert_non_null(strstr(said, ": record 1, counted from 0, is NaN; the plan reads int32, "));
        firn_host_data_close(&data);
    }
}

/* Every float16 becomes the float32 of the same value. */
TEST(reads_every_half) {
    static uint16_t halves[65536];
    static float read[65536];
    (void)state;
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    write_npy((npy_file){"<f2", "(65536,)", false, 1}, halves, sizeof halves);
    assert_true(open_as(FIRN_FLOAT32, 1, true));
    for (uint32_t at = 0; at < 65536; at += 8192)
        assert_int_equal(data.source.read(data.source.context, 0, at, 8192, read + at), FIRN_OK);
    for (uint32_t i = 0; i < 65536; i++) {
        const int exponent = (int)(i >> 10 & 31), mantissa = (int)(i & 1023);
        const double size = exponent == 0 ? mantissa * 0x1p-24 : (1024 + mantissa) * ldexp(1, exponent - 25);
        if (exponent == 31)
            assert_true(mantissa == 0 ? isinf(read[i]) : isnan(read[i]));
        else
            assert_true((double)read[i] == (i >= 32768 ? -size : size));
    }
    firn_host_data_close(&data);
}

/* A text is made of integers: a plan of tokens or bytes takes those that it holds, and no others. */
TEST(reads_tokens) {
    static const double tokens[] = {0, 5, 200, 1};
    (void)state;
    for (uint32_t t = 0; t < TYPES; t++)
        for (uint32_t e = 0; e < 2; e++) {
            const uint8_t element = e == 0 ? FIRN_UINT8 : FIRN_INT32;
            const bool fits = t != 0 && t != 2 && !types[t].real; /* not bool, and 200 is no int8 */
            if (t == 0 || t == 2)
                continue;
            write_values(&types[t], '<', "(4,)", tokens, 4);
            assert_int_equal(open_as(element, 1, false), fits);
            if (fits)
                expect_values(element, tokens, 4);
            else
                assert_non_null(strstr(said, ": it has float"));
            firn_host_data_close(&data);
        }
    static const double large[] = {1, 256};
    write_values(&types[6], '<', "(2,)", large, 2);
    assert_false(open_as(FIRN_UINT8, 1, false));
    assert_non_null(strstr(said, ": token 1, counted from 0, is 256; the plan reads uint8, and 256 is beyond it"));
    firn_host_data_close(&data);
}

TEST(reads_idx_of_every_type) {
    static const struct { uint8_t code, type; } idx[] = {{8, 1}, {9, 2}, {0x0b, 4}, {0x0c, 6}, {0x0d, 10}, {0x0e, 11}};
    static const double values[] = {1, 2, 3, 100};
    (void)state;
    for (size_t i = 0; i < sizeof idx / sizeof idx[0]; i++)
        for (uint32_t e = 0; e < ELEMENTS - 1; e++) {
            const number_type *type = &types[idx[i].type];
            const uint8_t head[12] = {0, 0, idx[i].code, 2, 0, 0, 0, 2, 0, 0, 0, 2};
            uint8_t bytes[4 * WIDTH_MOST], number[WIDTH_MOST];
            for (uint32_t n = 0; n < 4; n++) {
                put_number(type, values[n], number);
                for (uint32_t b = 0; b < type->width; b++)
                    bytes[n * type->width + b] = number[type->width - 1 - b];
            }
            write_bytes(head, sizeof head, bytes, (size_t)4 * type->width);
            assert_true(open_as(elements[e], 2, true));
            expect_values(elements[e], values, 4);
            firn_host_data_close(&data);
            write_bytes(head, sizeof head, bytes, (size_t)4 * type->width - 1);
            assert_false(open_as(elements[e], 2, true));
            firn_host_data_close(&data);
        }
}

/* Writes an archive of one array, "x.npy" of two bytes 7 and 9, whose entry in the directory has a zip64 field with the
 * array's size; then stores `value`, little-endian, into `width` bytes of the entry. */
static void write_archive(uint32_t at, uint32_t width, uint32_t value) {
    static const char name[] = "x.npy",
                      npy[] = "\x93NUMPY\1\0\x38\0{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}\n\7\11";
    enum { LOCAL = 30, NAME = 5, NPY = sizeof npy - 1, ENTRY = 46, FIELD = 12, END = 22 };
    uint8_t bytes[LOCAL + NAME + NPY + ENTRY + NAME + FIELD + END] = {'P', 'K', 3, 4},
                                                              *entry = bytes + LOCAL + NAME + NPY;
    uint8_t *end = entry + ENTRY + NAME + FIELD;
    const uint32_t crc = (uint32_t)crc32(0, (const uint8_t *)npy, NPY);
    bytes[26] = NAME;
    memcpy(bytes + LOCAL, name, NAME);
    memcpy(bytes + LOCAL + NAME, npy, NPY);
    memcpy(entry, (const uint8_t[]){'P', 'K', 1, 2}, 4);
    firn_store32(entry + 16, crc);
    entry[20] = entry[24] = NPY;
    entry[28] = NAME;
    entry[30] = FIELD;
    memcpy(entry + ENTRY, name, NAME);
    memcpy(entry + ENTRY + NAME, (const uint8_t[]){1, 0, 8, 0, NPY}, 5);
    memcpy(end, (const uint8_t[]){'P', 'K', 5, 6}, 4);
    end[8] = end[10] = 1;
    end[12] = ENTRY + NAME + FIELD;
    end[16] = LOCAL + NAME + NPY;
    for (uint32_t i = 0; i < width; i++)
        entry[at + i] = (uint8_t)(value >> 8 * i);
    write_bytes(bytes, sizeof bytes, NULL, 0);
}

/* An entry of an archive's directory that contradicts itself is refused, and none is read twice. */
TEST(refuses_damaged_archives) {
    static const struct {
        uint32_t at, width, value;
        bool good;
    } rows[] = {
        {0, 0, 0, true},           {0, 1, 'p', false},  {28, 2, 400, false},        {30, 2, 400, false},
        {32, 2, 400, false},       {42, 4, 1, false},   {53, 2, 9, false},          {30, 2, 11, false},
        {24, 4, UINT32_MAX, true}, {20, 4, 500, false}, {42, 4, UINT32_MAX, false},
    };
    static const double values[] = {7, 9};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_archive(rows[i].at, rows[i].width, rows[i].value);
        if (open_as(FIRN_UINT8, 1, true) != rows[i].good)
            fail_msg("%lu at %lu: %s", (unsigned long)rows[i].value, (unsigned long)rows[i].at, said);
        if (rows[i].good)
            expect_values(FIRN_UINT8, values, 2);
        else
            assert_non_null(strstr(said, ": is a zip file that was cut or is damaged; get it again\n"));
        firn_host_data_close(&data);
    }
}

/* Reads the cells of a text that is cut, with a byte behind it; writes each, what ends it, and the fault. */
static void read_cells(const char *text, size_t count, char behind, char *cells, size_t size) {
    uint8_t bytes[64];
    firn_host_cells at;
    size_t length = 0;
    bool last, good = true;
    assert_true(count < sizeof bytes && size > 0);
    memcpy(bytes, text, count);
    memset(bytes + count, behind, sizeof bytes - count);
    firn_host_cells_begin(&at, bytes, count);
    cells[0] = 0;
    while (good && !firn_host_cells_over(&at)) {
        good = firn_host_cells_next(&at, &last);
        length += (size_t)snprintf(cells + length, size - length, "%s%s", good ? at.text : at.fault, last ? "|" : ",");
        assert_true(length < size);
    }
    firn_host_cells_free(&at);
}

TEST(reads_no_byte_behind_a_table) {
    static const char text[] = "a,\"b \"\"\r\n\" ,1\r\n,\" 2 \"\r\n", behind[] = "\r\n,\" 1";
    (void)state;
    for (size_t count = 0; count < sizeof text; count++) {
        char first[300], other[300];
        read_cells(text, count, 'x', first, sizeof first);
        for (size_t i = 0; i < sizeof behind; i++) { /* the last is a byte of 0 */
            read_cells(text, count, behind[i], other, sizeof other);
            if (strcmp(first, other) != 0)
                fail_msg("%lu bytes and %d behind them: %s, not %s", (unsigned long)count, behind[i], other, first);
        }
    }
}

/* The hash of numbers that are converted is that of what they become, with type and extents; of others it stays that
 * of the file. */
TEST(hashes_what_is_read) {
    static const double values[] = {1, 2};
    static const uint8_t bytes[] = {1, 0, 0, 0, 2, 0, 0, 0};
    static const char head[] = "rows of firn, 1: int32 (2,)\n";
    uint8_t hash[32], rows[sizeof head - 1 + sizeof bytes], first[32];
    char line[80] = "data ";
    (void)state;
    memcpy(rows, head, sizeof head - 1);
    memcpy(rows + sizeof head - 1, bytes, sizeof bytes);
    mbedtls_sha256(rows, sizeof rows, hash, 0);
    for (size_t i = 0; i < 32; i++)
        snprintf(line + 5 + 2 * i, 4, "%02x", hash[i]);
    line[69] = '\n';
    mbedtls_sha256((const uint8_t *)line, 70, hash, 0);
    for (uint32_t t = 3; t < TYPES; t++) {
        write_values(&types[t], '<', "(2,)", values, 2);
        assert_true(open_as(FIRN_INT32, 1, true));
        assert_int_equal(memcmp(data.sha256, hash, 32) == 0, t != 6);
        firn_host_data_close(&data);
        write_values(&types[t], '>', "(2,)", values, 2);
        assert_true(open_as(FIRN_INT32, 1, true));
        assert_memory_equal(data.sha256, hash, 32);
        firn_host_data_close(&data);
    }
    write_values(&types[8], '<', "(2,)", values, 2);
    assert_true(open_as(FIRN_FLOAT32, 1, true));
    memcpy(first, data.sha256, 32);
    assert_memory_not_equal(first, hash, 32);
    firn_host_data_close(&data);
    write_values(&types[8], '<', "(2, 1)", values, 2);
    assert_true(open_as(FIRN_FLOAT32, 1, true));
    assert_memory_not_equal(data.sha256, first, 32);
    firn_host_data_close(&data);
}

/* -100 is a label of a plan that ignores a class, also where its type has no negative numbers. */
TEST(reads_ignored_labels) {
    static const double labels[] = {3, -100}, read[] = {3, 9};
    static const char raw[] = "(2,)";
    (void)state;
    for (uint32_t t = 2; t < TYPES; t++)
        for (uint32_t e = 1; e < ELEMENTS - 1; e++) {
            const firn_host_wanted wanted = {.records = true,
                                             .stream_count = 2,
                                             .streams = {{.element = elements[e], .record_elements = 1},
                                                         {.element = elements[e], .record_elements = 1}},
                                             .ignores = true,
                                             .ignored = 9};
            uint8_t bytes[8];
            if (!types[t].is_signed)
                continue;
            const char *paths[] = {path};
            write_values(&types[t], '<', raw, labels, 2);
            support_capture_begin(STDERR_FILENO);
            const bool opened = firn_host_data_open(&data, &wanted, paths, 1, path, NULL);
            (void)support_capture_end(said, sizeof said);
            assert_int_equal(opened, element_holds(elements[e], -100)); /* as a feature it is what it is */
            if (opened) {
                assert_int_equal(data.source.read(data.source.context, 1, 0, 2, bytes), FIRN_OK);
                for (uint32_t i = 0; i < 2; i++)
                    assert_true(element_at(elements[e], bytes, i) == read[i]);
            }
            firn_host_data_close(&data);
        }
}

/* Numbers in names count by their value; the rest, and zeros before a number, by their bytes. */
TEST(orders_names) {
    static const char *const names[] = {"",
                                        "B",
                                        "a",
                                        "p",
                                        "p.txt",
                                        "p0",
                                        "p01",
                                        "p1",
                                        "p1a2",
                                        "p1a10",
                                        "p9",
                                        "p10",
                                        "p010b",
                                        "p10c",
                                        "p99999999999999999999",
                                        "p100000000000000000000",
                                        "q0",
                                        "\xc3\xa4"};
    (void)state;
    const int count = sizeof names / sizeof names[0];
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            const int order = firn_host_folder_order(names[a], names[b], true);
            if ((order > 0) - (order < 0) != (a > b) - (a < b))
                fail_msg("%s and %s: %d", names[a], names[b], order);
            assert_int_equal(firn_host_folder_order(names[a], names[b], false) < 0, strcmp(names[a], names[b]) < 0);
        }
}

BEFORE_ALL {
    snprintf(path, sizeof path, "/tmp/firn-readers-%ld.npy", (long)getpid());
}

AFTER_ALL {
    assert_int_equal(remove(path), 0);
}
