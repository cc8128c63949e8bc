/* Tests how data files are recognised by their bytes: arrays written by NumPy, IDX files, and files that look like them
 * but are invalid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/dataset.h"
#include "tests/unit/support_test.h"

typedef struct memory_file {
    uint8_t bytes[1024];
    firn_data_file file;
} memory_file;

static int read_memory(void *context, uint64_t offset, void *bytes, uint32_t count) {
    memory_file *self = context;
    assert_true(offset <= self->file.bytes && self->file.bytes - offset >= count); /* as the interface guarantees */
    memcpy(bytes, self->bytes + offset, count);
    return 0;
}

static void put(memory_file *file, const void *bytes, size_t count) {
    memcpy(file->bytes + file->file.bytes, bytes, count);
    file->file.bytes += count;
}

static void begin(memory_file *file) {
    memset(file, 0, sizeof *file);
    file->file = (firn_data_file){.context = file, .read = read_memory};
}

/* Makes a .npy file with this dictionary, followed by `data` bytes that count up. */
static void npy(memory_file *file, uint8_t version, const char *dictionary, size_t data) {
    begin(file);
    size_t length = strlen(dictionary) + 1;
    const uint8_t head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    put(file, head, version == 1 ? 10 : 12);
    put(file, dictionary, length - 1);
    put(file, "\n", 1);
    for (size_t i = 0; i < data; i++)
        put(file, &(uint8_t){(uint8_t)i}, 1);
}

static void idx(memory_file *file, uint8_t type, uint8_t rank, const uint8_t *dims, size_t data) {
    begin(file);
    const uint8_t head[4] = {0, 0, type, rank};
    put(file, head, 4);
    for (uint8_t i = 0; i < rank; i++) {
        const uint8_t extent[4] = {0, 0, 0, dims[i]};
        put(file, extent, 4);
    }
    for (size_t i = 0; i < data; i++)
        put(file, &(uint8_t){(uint8_t)i}, 1);
}

static firn_data_layout look(memory_file *file) {
    firn_data_layout layout;
    assert_int_equal(firn_data_look(&file->file, &layout), FIRN_OK);
    return layout;
}

/* --- .npy --- */

TEST(reads_npy) {
    memory_file file;
    for (uint8_t version = 1; version <= 3; version++) {
        npy(&file, version, "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 2, 3), }   ", 30);
        firn_data_layout layout = look(&file);
        assert_int_equal(layout.format, FIRN_DATA_NPY);
        assert_int_equal(layout.element, FIRN_UINT8);
        assert_int_equal(layout.rank, 3);
        assert_int_equal(layout.dims[0], 5);
        assert_int_equal(layout.elements, 30);
        assert_int_equal(firn_data_record_elements(&layout), 6);
        uint8_t elements[3];
        assert_int_equal(firn_data_read(&file.file, &layout, 27, 3, elements), FIRN_OK);
        assert_int_equal(elements[0], 27);
        assert_int_equal(firn_data_read(&file.file, &layout, 28, 3, elements), FIRN_ERROR_SOURCE);
        assert_int_equal(firn_data_read(&file.file, &layout, UINT64_MAX, 3, elements), FIRN_ERROR_SOURCE);
    }
    npy(&file, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }", 16);
    firn_data_layout layout = look(&file);
    assert_int_equal(layout.element, FIRN_INT32);
    assert_int_equal(firn_data_record_elements(&layout), 1);
    int32_t value;
    assert_int_equal(firn_data_read(&file.file, &layout, 1, 1, &value), FIRN_OK);
    assert_int_equal(value, 0x07060504);
    npy(&file, 1, "{'shape': (2, 2), 'fortran_order': False, 'descr': '<f4'}", 16);
    assert_int_equal(look(&file).element, FIRN_FLOAT32);
}

TEST(refuses_other_npy) {
    static const struct {
        const char *dictionary;
        firn_data_fault fault;
    } bad[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_TYPE},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_TYPE},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_TYPE},
        {"{'descr': '', 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_TYPE},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_TYPE},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", FIRN_DATA_ORDER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", FIRN_DATA_RANK},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 4), }", FIRN_DATA_RANK},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", FIRN_DATA_LONGER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", FIRN_DATA_CUT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967295), }", FIRN_DATA_CUT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", FIRN_DATA_CUT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (65536, 65536, 65536, 65536, 4), }", FIRN_DATA_CUT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 4), }", FIRN_DATA_CUT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", FIRN_DATA_EMPTY},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 0), }", FIRN_DATA_EMPTY},
        {"{'descr': '<f4', 'fortran_order': False, }", FIRN_DATA_HEADER},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", FIRN_DATA_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1, }", FIRN_DATA_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } x", FIRN_DATA_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }", FIRN_DATA_HEADER},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4", FIRN_DATA_HEADER},
        {"", FIRN_DATA_HEADER},
    };
    memory_file file;
    firn_data_layout layout;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        npy(&file, 1, bad[i].dictionary, 16);
        if (firn_data_look(&file.file, &layout) != FIRN_ERROR_DATA_TYPE || layout.fault != bad[i].fault)
            fail_msg("fault %d: %s", (int)layout.fault, bad[i].dictionary);
    }
    npy(&file, 4, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16);
    assert_int_equal(firn_data_look(&file.file, &layout), FIRN_ERROR_DATA_TYPE);
    assert_int_equal(layout.fault, FIRN_DATA_VERSION);
}

/* A message says what the header says, so it is kept as far as it was understood. */
TEST(keeps_what_it_refuses) {
    memory_file file;
    firn_data_layout layout;
    npy(&file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (5000000000, 2), }", 16);
    assert_int_equal(firn_data_look(&file.file, &layout), FIRN_ERROR_DATA_TYPE);
    assert_string_equal(layout.type, "<f8");
    assert_int_equal(layout.rank, 2);
    assert_true(layout.dims[0] == UINT64_C(5000000000));
    npy(&file, 1, "{'descr': '<U123456789', 'fortran_order': False, 'shape': (4,), }", 16);
    assert_int_equal(firn_data_look(&file.file, &layout), FIRN_ERROR_DATA_TYPE);
    assert_string_equal(layout.type, "<U12345");
}

/* Spaces may follow the dictionary, any number of them, and nothing else. */
TEST(reads_long_headers) {
    static const char dictionary[] = "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 5, 1), }";
    char text[800];
    memory_file file;
    firn_data_layout layout;
    for (size_t length = sizeof dictionary; length < sizeof text; length += 61) {
        memset(text, ' ', sizeof text);
        memcpy(text, dictionary, sizeof dictionary - 1);
        text[length] = 0;
        npy(&file, 1, text, 5);
        assert_int_equal(look(&file).elements, 5);
        file.bytes[10 + length - 1] = 'x';
        assert_int_equal(firn_data_look(&file.file, &layout), FIRN_ERROR_DATA_TYPE);
        assert_int_equal(layout.fault, FIRN_DATA_HEADER);
    }
}

/* Of the beginning of a file only the header is read; its length is compared when it is known. */
TEST(looks_at_a_beginning) {
    memory_file file;
    firn_data_layout layout;
    npy(&file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000), }", 16);
    assert_int_equal(firn_data_look_at_begin(&file.file, &layout), FIRN_OK);
    assert_int_equal(layout.elements, 1000000);
    file.file.bytes = 20;
    assert_int_equal(firn_data_look_at_begin(&file.file, &layout), FIRN_ERROR_DATA_TYPE);
    assert_int_equal(layout.fault, FIRN_DATA_CUT);
    idx(&file, 8, 2, (const uint8_t[]){5, 6}, 3);
    assert_int_equal(firn_data_look_at_begin(&file.file, &layout), FIRN_OK);
    assert_int_equal(layout.format, FIRN_DATA_IDX);
    assert_int_equal(layout.elements, 30);
    assert_int_equal(firn_data_look(&file.file, &layout), FIRN_OK);
    assert_int_equal(layout.format, FIRN_DATA_RAW);
    assert_int_equal(layout.fault, FIRN_DATA_CUT);
}

/* Every truncation and every flipped bit of the header must give a result without a read beyond the file. */
TEST(survives_damaged_headers) {
    memory_file file;
    firn_data_layout layout;
    npy(&file, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 16);
    const uint64_t bytes = file.file.bytes;
    for (file.file.bytes = 0; file.file.bytes < bytes; file.file.bytes++) {
        int status = firn_data_look(&file.file, &layout);
        assert_true(status == FIRN_ERROR_DATA_TYPE || (status == FIRN_OK && layout.format == FIRN_DATA_RAW));
    }
    for (uint32_t bit = 0; bit < 8 * (bytes - 16); bit++) {
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)!firn_data_look(&file.file, &layout);
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    idx(&file, 8, 3, (const uint8_t[]){2, 3, 4}, 24);
    const uint64_t idx_bytes = file.file.bytes;
    for (file.file.bytes = 0; file.file.bytes < idx_bytes; file.file.bytes++)
        assert_int_equal(look(&file).format, FIRN_DATA_RAW);
    for (uint32_t bit = 0; bit < 8 * 16; bit++) {
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (bit == 8 * 2) /* uint8 becomes int8, which has as many bytes */
            assert_int_equal(look(&file).element, FIRN_INT8);
        else
            assert_int_equal(look(&file).format, FIRN_DATA_RAW);
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(look(&file).format, FIRN_DATA_IDX);
}

/* --- IDX --- */

TEST(reads_idx) {
    memory_file file;
    idx(&file, 8, 3, (const uint8_t[]){5, 2, 3}, 30);
    firn_data_layout layout = look(&file);
    assert_int_equal(layout.format, FIRN_DATA_IDX);
    assert_int_equal(layout.element, FIRN_UINT8);
    assert_int_equal(layout.dims[0], 5);
    assert_int_equal(firn_data_record_elements(&layout), 6);
    uint8_t elements[6];
    assert_int_equal(firn_data_read(&file.file, &layout, 6, 6, elements), FIRN_OK);
    assert_int_equal(elements[5], 11);
    idx(&file, 0x0c, 1, (const uint8_t[]){3}, 12);
    layout = look(&file);
    assert_int_equal(layout.element, FIRN_INT32);
    int32_t values[2];
    assert_int_equal(firn_data_read(&file.file, &layout, 1, 2, values), FIRN_OK);
    assert_int_equal(values[0], 0x04050607); /* big-endian in the file */
    assert_int_equal(values[1], 0x08090a0b);
    idx(&file, 0x0d, 2, (const uint8_t[]){3, 1}, 12);
    assert_int_equal(look(&file).element, FIRN_FLOAT32);
    idx(&file, 0x0e, 1, (const uint8_t[]){3}, 24); /* IDX doubles are not supported, so the file counts as raw bytes */
    assert_int_equal(look(&file).format, FIRN_DATA_RAW);
}

/* --- raw --- */

TEST(anything_else_is_bytes) {
    memory_file file;
    begin(&file);
    assert_int_equal(look(&file).elements, 0);
    put(&file, "The quick brown fox", 19);
    firn_data_layout layout = look(&file);
    assert_int_equal(layout.format, FIRN_DATA_RAW);
    assert_int_equal(layout.elements, 19);
    assert_int_equal(layout.offset, 0);
    char word[6] = {0};
    assert_int_equal(firn_data_read(&file.file, &layout, 4, 5, word), FIRN_OK);
    assert_string_equal(word, "quick");
}
