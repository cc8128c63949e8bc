/* Recognises kinds of files by their first bytes, for messages about a file that is read as text or given instead of an
 * array. */
#include <string.h>

#include "runtime/targets/host/host.h"

#define UNPACK "unpack it first"
#define TEXT   "extract its text first"
#define ARRAY  "save its arrays by numpy.save"

static const struct {
    const char *magic;
    uint16_t length, offset;
    firn_host_kind kind;
} kinds[] = {
    {"\x1f\x8b\x08", 3, 0, {"gzip inside of gzip", UNPACK}},
    {"BZh", 3, 0, {"bzip2", UNPACK}},
    {"\xfd"
     "7zXZ\0",
     6,
     0,
     {"xz", UNPACK}},
    {"\x28\xb5\x2f\xfd", 4, 0, {"zstd", UNPACK}},
    {"\x04\x22\x4d\x18", 4, 0, {"lz4", UNPACK}},
    {"LZIP", 4, 0, {"lzip", UNPACK}},
    {"\x1f\x9d", 2, 0, {"compress (.Z)", UNPACK}},
    {"7z\xbc\xaf\x27\x1c", 6, 0, {"7z", UNPACK}},
    {"Rar!\x1a\x07", 6, 0, {"rar", UNPACK}},
    {"PK\x03\x04", 4, 0, {"zip (also .npz, .pt, .docx)", UNPACK}},
    {"ustar", 5, 257, {"tar", UNPACK}},
    {"\x89PNG\r\n\x1a\n", 8, 0, {"a PNG image", ARRAY}},
    {"\xff\xd8\xff", 3, 0, {"a JPEG image", ARRAY}},
    {"GIF8", 4, 0, {"a GIF image", ARRAY}},
    {"%PDF-", 5, 0, {"a PDF document", TEXT}},
    {"{\\rtf", 5, 0, {"an RTF document", TEXT}},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, {"an old Office document", TEXT}},
    {"PAR1", 4, 0, {"parquet", TEXT}},
    {"ARROW1", 6, 0, {"Arrow", TEXT}},
    {"Obj\x01", 4, 0, {"Avro", TEXT}},
    {"\x89HDF\r\n\x1a\n", 8, 0, {"HDF5", ARRAY}},
    {"SQLite format 3", 16, 0, {"an SQLite database", TEXT}},
    {"\x93NUMPY", 6, 0, {"a damaged .npy file", ARRAY}},
    {"\x80\x02", 2, 0, {"a pickle of Python", ARRAY}},
    {"\x80\x03", 2, 0, {"a pickle of Python", ARRAY}},
    {"\x80\x04\x95", 3, 0, {"a pickle of Python", ARRAY}},
    {"\x80\x05\x95", 3, 0, {"a pickle of Python", ARRAY}},
    {"GGUF", 4, 0, {"GGUF weights", ARRAY}},
    {"FIRNCKPT", 8, 0, {"a checkpoint of firn", "give the data"}},
    {"\x7f"
     "ELF",
     4,
     0,
     {"an ELF program", "give the data"}},
    {"RIFF", 4, 0, {"RIFF (WAV, AVI, WebP)", ARRAY}},
    {"\0\0\xfe\xff", 4, 0, {"UTF-32 text", "write it as UTF-8, as iconv -t UTF-8 does"}},
    {"\xff\xfe\0\0", 4, 0, {"UTF-32 text", "write it as UTF-8, as iconv -t UTF-8 does"}},
    {"\xff\xfe", 2, 0, {"UTF-16 text", "write it as UTF-8, as iconv -t UTF-8 does"}},
    {"\xfe\xff", 2, 0, {"UTF-16 text", "write it as UTF-8, as iconv -t UTF-8 does"}},
};

/* Safetensors begin with the length of a JSON text and the text. */
static bool is_safetensors(const uint8_t *head, size_t count) {
    return count > 16 && head[8] == '{' && head[9] == '"' && head[5] == 0 && head[6] == 0 && head[7] == 0;
}

const firn_host_kind *firn_host_kind_of(const uint8_t *head, size_t count) {
    static const firn_host_kind safetensors = {"safetensors", ARRAY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count >= (size_t)kinds[i].offset + kinds[i].length &&
            memcmp(head + kinds[i].offset, kinds[i].magic, kinds[i].length) == 0)
            return &kinds[i].kind;
    return is_safetensors(head, count) ? &safetensors : NULL;
}
