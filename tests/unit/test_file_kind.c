/* Tests how files are recognised by their first bytes: each kind by exactly these bytes, and nothing else. */
#include <stdbool.h>
#include <string.h>

#include "plan/keys/file_kind.h"
#include "tests/unit/support_test.h"

/* A kind, and the bytes by which it is recognised. */
struct example {
    const char *name;
    firn_file_use use;
    size_t offset, length;
    const char *bytes;
};

static const struct example examples[] = {
    {"gzip", FIRN_FILE_PACKED, 0, 3, "\x1f\x8b\x08"},
    {"bzip2", FIRN_FILE_PACKED, 0, 3, "BZh"},
    {"xz", FIRN_FILE_PACKED, 0, 6, "\xfd\x37\x7a\x58\x5a\x00"},
    {"zstd", FIRN_FILE_PACKED, 0, 4, "\x28\xb5\x2f\xfd"},
    {"lz4", FIRN_FILE_PACKED, 0, 4, "\x04\x22\x4d\x18"},
    {"lzip", FIRN_FILE_PACKED, 0, 4, "LZIP"},
    {"compress (.Z)", FIRN_FILE_PACKED, 0, 2, "\x1f\x9d"},
    {"7z", FIRN_FILE_PACKED, 0, 6, "7z\xbc\xaf\x27\x1c"},
    {"rar", FIRN_FILE_PACKED, 0, 6, "Rar!\x1a\x07"},
    {"zip (also .npz, .pt, .docx)", FIRN_FILE_ZIP, 0, 4, "PK\x03\x04"},
    {"tar", FIRN_FILE_PACKED, 257, 5, "ustar"},
    {"a PNG image", FIRN_FILE_ARRAYS, 0, 8, "\x89PNG\r\n\x1a\n"},
    {"a JPEG image", FIRN_FILE_ARRAYS, 0, 3, "\xff\xd8\xff"},
    {"a GIF image", FIRN_FILE_ARRAYS, 0, 4, "GIF8"},
    {"a PDF document", FIRN_FILE_DOCUMENT, 0, 5, "%PDF-"},
    {"an RTF document", FIRN_FILE_DOCUMENT, 0, 5, "{\\rtf"},
    {"an old Office document", FIRN_FILE_DOCUMENT, 0, 8, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
    {"parquet", FIRN_FILE_DOCUMENT, 0, 4, "PAR1"},
    {"Arrow", FIRN_FILE_DOCUMENT, 0, 6, "ARROW1"},
    {"Avro", FIRN_FILE_DOCUMENT, 0, 4, "Obj\x01"},
    {"HDF5", FIRN_FILE_ARRAYS, 0, 8, "\x89HDF\r\n\x1a\n"},
    {"an SQLite database", FIRN_FILE_DOCUMENT, 0, 16, "SQLite format 3"},
    {"an array of NumPy", FIRN_FILE_NPY, 0, 6, "\x93NUMPY"},
    {"a pickle of Python", FIRN_FILE_ARRAYS, 0, 2, "\x80\x02"},
    {"a pickle of Python", FIRN_FILE_ARRAYS, 0, 2, "\x80\x03"},
    {"a pickle of Python", FIRN_FILE_ARRAYS, 0, 3, "\x80\x04\x95"},
    {"a pickle of Python", FIRN_FILE_ARRAYS, 0, 3, "\x80\x05\x95"},
    {"GGUF weights", FIRN_FILE_QUANTIZED, 0, 4, "GGUF"},
    {"tokens of llm.c", FIRN_FILE_TOKENS, 0, 4, "\x88\xd8\x34\x01"},
    {"tokens of llm.c", FIRN_FILE_TOKENS, 0, 4, "\xa1\xd9\x34\x01"},
    {"a checkpoint of firn", FIRN_FILE_CHECKPOINT, 0, 8, "FIRNCKPT"},
    {"a plan", FIRN_FILE_PLAN, 0, 8, "FIRNPLAN"},
    {"a key or another text in PEM", FIRN_FILE_KEY, 0, 11, "-----BEGIN "},
    {"an ELF program", FIRN_FILE_PROGRAM, 0, 4, "\x7f\x45\x4c\x46"},
    {"RIFF (WAV, AVI, WebP)", FIRN_FILE_ARRAYS, 0, 4, "RIFF"},
    {"UTF-32 text", FIRN_FILE_WIDE_TEXT, 0, 4, "\x00\x00\xfe\xff"},
    {"UTF-32 text", FIRN_FILE_WIDE_TEXT, 0, 4, "\xff\xfe\x00\x00"},
    {"UTF-16 text", FIRN_FILE_WIDE_TEXT, 0, 2, "\xff\xfe"},
    {"UTF-16 text", FIRN_FILE_WIDE_TEXT, 0, 2, "\xfe\xff"},
    /* The upper bytes of the length of a JSON text, and how the text begins. */
    {"safetensors", FIRN_FILE_ARRAYS, 5, 5, "\x00\x00\x00{\""},
};

static bool is_named(const uint8_t *head, size_t count, const char *name) {
    const firn_file_kind *kind = firn_file_kind_of(head, count);
    return kind != NULL && strcmp(kind->name, name) == 0;
}

/* The least number of bytes in which the example is recognised. */
static size_t least_bytes(const struct example *e) {
    return strcmp(e->name, "safetensors") == 0 ? 17 : e->offset + e->length;
}

/* Each example is recognised when its last byte is there, and not if any of its bytes is another. */
TEST(exactly_these_bytes) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *e = &examples[i];
        uint8_t head[FIRN_FILE_KIND_BYTES];
        memset(head, 'x', sizeof head);
        memcpy(head + e->offset, e->bytes, e->length);
        const size_t least = least_bytes(e);
        assert_true(is_named(head, sizeof head, e->name));
        assert_true(is_named(head, least, e->name));
        assert_int_equal(firn_file_kind_of(head, least)->use, e->use);
        assert_false(is_named(head, least - 1, e->name));
        for (size_t at = e->offset; at < e->offset + e->length; at++) {
            head[at] ^= 0x40;
            assert_false(is_named(head, sizeof head, e->name));
            head[at] ^= 0x40;
        }
    }
}

TEST(other_files) {
    static const char *const texts[] = {"", "x", "trainer:\n  init:\n    seed: 1\n", "{\"trainer\": {\"init\": {}}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(firn_file_kind_of((const uint8_t *)texts[i], strlen(texts[i])));
    const uint8_t zeros[FIRN_FILE_KIND_BYTES] = {0};
    assert_null(firn_file_kind_of(zeros, sizeof zeros));
}
