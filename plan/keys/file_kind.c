/* The kinds of files that are recognised by their first bytes, as data (plan/keys/file_kind.h). */
#include "plan/keys/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "plan/container.h"

static const struct {
    const char *magic;
    uint16_t length, offset;
    firn_file_kind kind;
} kinds[] = {
    {"\x1f\x8b\x08", 3, 0, {"gzip", FIRN_FILE_PACKED}},
    {"BZh", 3, 0, {"bzip2", FIRN_FILE_PACKED}},
    {"\xfd"
     "7zXZ\0",
     6,
     0,
     {"xz", FIRN_FILE_PACKED}},
    {"\x28\xb5\x2f\xfd", 4, 0, {"zstd", FIRN_FILE_PACKED}},
    {"\x04\x22\x4d\x18", 4, 0, {"lz4", FIRN_FILE_PACKED}},
    {"LZIP", 4, 0, {"lzip", FIRN_FILE_PACKED}},
    {"\x1f\x9d", 2, 0, {"compress (.Z)", FIRN_FILE_PACKED}},
    {"7z\xbc\xaf\x27\x1c", 6, 0, {"7z", FIRN_FILE_PACKED}},
    {"Rar!\x1a\x07", 6, 0, {"rar", FIRN_FILE_PACKED}},
    {"PK\x03\x04", 4, 0, {"zip (also .npz, .pt, .docx)", FIRN_FILE_ZIP}},
    {"ustar", 5, 257, {"tar", FIRN_FILE_PACKED}},
    {"\x89PNG\r\n\x1a\n", 8, 0, {"a PNG image", FIRN_FILE_ARRAYS}},
    {"\xff\xd8\xff", 3, 0, {"a JPEG image", FIRN_FILE_ARRAYS}},
    {"GIF8", 4, 0, {"a GIF image", FIRN_FILE_ARRAYS}},
    {"%PDF-", 5, 0, {"a PDF document", FIRN_FILE_DOCUMENT}},
    {"{\\rtf", 5, 0, {"an RTF document", FIRN_FILE_DOCUMENT}},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, {"an old Office document", FIRN_FILE_DOCUMENT}},
    {"PAR1", 4, 0, {"parquet", FIRN_FILE_DOCUMENT}},
    {"ARROW1", 6, 0, {"Arrow", FIRN_FILE_DOCUMENT}},
    {"Obj\x01", 4, 0, {"Avro", FIRN_FILE_DOCUMENT}},
    {"\x89HDF\r\n\x1a\n", 8, 0, {"HDF5", FIRN_FILE_ARRAYS}},
    {"SQLite format 3", 16, 0, {"an SQLite database", FIRN_FILE_DOCUMENT}},
    {"\x93NUMPY", 6, 0, {"an array of NumPy", FIRN_FILE_NPY}},
    {"\x80\x02", 2, 0, {"a pickle of Python", FIRN_FILE_ARRAYS}},
    {"\x80\x03", 2, 0, {"a pickle of Python", FIRN_FILE_ARRAYS}},
    {"\x80\x04\x95", 3, 0, {"a pickle of Python", FIRN_FILE_ARRAYS}},
    {"\x80\x05\x95", 3, 0, {"a pickle of Python", FIRN_FILE_ARRAYS}},
    {"GGUF", 4, 0, {"GGUF weights", FIRN_FILE_QUANTIZED}},
    {"\x88\xd8\x34\x01", 4, 0, {"tokens of llm.c", FIRN_FILE_TOKENS}},
    {"\xa1\xd9\x34\x01", 4, 0, {"tokens of llm.c", FIRN_FILE_TOKENS}},
    {"FIRNCKPT", 8, 0, {"a checkpoint of firn", FIRN_FILE_CHECKPOINT}},
    {"-----BEGIN ", 11, 0, {"a key or another text in PEM", FIRN_FILE_KEY}},
    {"\x7f"
     "ELF",
     4,
     0,
     {"an ELF program", FIRN_FILE_PROGRAM}},
    {"RIFF", 4, 0, {"RIFF (WAV, AVI, WebP)", FIRN_FILE_ARRAYS}},
    {"\0\0\xfe\xff", 4, 0, {"UTF-32 text", FIRN_FILE_WIDE_TEXT}},
    {"\xff\xfe\0\0", 4, 0, {"UTF-32 text", FIRN_FILE_WIDE_TEXT}},
    {"\xff\xfe", 2, 0, {"UTF-16 text", FIRN_FILE_WIDE_TEXT}},
    {"\xfe\xff", 2, 0, {"UTF-16 text", FIRN_FILE_WIDE_TEXT}},
};

/* Safetensors begin with the length of a JSON text and the text. */
static bool is_safetensors(const uint8_t *head, size_t count) {
    return count > 16 && head[8] == '{' && head[9] == '"' && head[5] == 0 && head[6] == 0 && head[7] == 0;
}

const firn_file_kind *firn_file_kind_of(const uint8_t *head, size_t count) {
    static const firn_file_kind safetensors = {"safetensors", FIRN_FILE_ARRAYS}, plan = {"a plan", FIRN_FILE_PLAN};
    if (firn_is_plan(head, count))
        return &plan;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count >= (size_t)kinds[i].offset + kinds[i].length &&
            memcmp(head + kinds[i].offset, kinds[i].magic, kinds[i].length) == 0)
            return &kinds[i].kind;
    return is_safetensors(head, count) ? &safetensors : NULL;
}
