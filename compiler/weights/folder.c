/* Writes a folder that transformers load (compiler/weights/folder.h). Configuration and tokenizer come from
 * the folder with which the training began; no value in them is interpreted but the type of the weights. */
#define _XOPEN_SOURCE 700

#include "compiler/weights/folder.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/json.h"
#include "compiler/base/text.h"
#include "compiler/weights/safetensors.h"

#define COPY_BYTES_MAX (UINT64_C(1) << 30)
#define COUNT(table)   (sizeof(table) / sizeof *(table))

/* Files that stand beside the weights, as far as there are any. */
static const char *const companions[] = {"config.json",         "generation_config.json",
                                         "tokenizer.json",      "tokenizer_config.json",
                                         "vocab.json",          "merges.txt",
                                         "vocab.txt",           "tokenizer.model",
                                         "spiece.model",        "sentencepiece.bpe.model",
                                         "added_tokens.json",   "special_tokens_map.json",
                                         "chat_template.jinja", "chat_template.json"};

bool firnc_weights_is_folder(const char *output) {
    struct stat status;
    return output[strlen(output) - 1] == '/' || (stat(output, &status) == 0 && S_ISDIR(status.st_mode));
}

/* The folder's name without slashes at its end. */
static const char *folder_name(const char *output) {
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/')
        length--;
    return firnc_format("%.*s", (int)length, output);
}

/* The end of a string of JSON that begins at `at`. */
static uint64_t string_end(const char *text, uint64_t at) {
    for (at++; text[at] != '"'; at++)
        at += text[at] == '\\';
    return at + 1;
}

static bool is_type_key(const char *string, uint64_t length) {
    static const char *const keys[] = {"\"dtype\"", "\"torch_dtype\""};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (length == strlen(keys[i]) && memcmp(string, keys[i], length) == 0)
            return true;
    return false;
}

/* Where the string begins that is the value of the key which ends at `at`; 0: what stands there is no key, or has
 * another value. */
static uint64_t string_value(const char *text, uint64_t at) {
    static const char space[] = " \t\r\n";
    at += strspn(text + at, space);
    if (text[at] != ':')
        return 0;
    at += 1 + strspn(text + at + 1, space);
    return text[at] == '"' ? at : 0;
}

/* Copies the text of config.json, with float32 as the type of the weights. Every other byte stays, because a number
 * that was parsed and printed may have other digits. */
static firnc_growing_text with_float32(const char *text, uint64_t count) {
    static const char type[] = "\"float32\"";
    firnc_growing_text out = {0};
    uint32_t depth = 0;
    for (uint64_t at = 0, next; at < count; at = next) {
        next = text[at] == '"' ? string_end(text, at) : at + 1;
        depth += text[at] == '{' || text[at] == '[';
        depth -= text[at] == '}' || text[at] == ']';
        const uint64_t value =
            text[at] == '"' && depth == 1 && is_type_key(text + at, next - at) ? string_value(text, next) : 0;
        firnc_text_add(&out, text + at, (value != 0 ? value : next) - at);
        if (value == 0)
            continue;
        firnc_text_add(&out, type, sizeof type - 1);
        next = string_end(text, value);
    }
    return out;
}

/* config.json whose type of weights is float32, as the weights are: without that transformers would round them. */
static bool widen_config(firnc_bytes *config, const char *file) {
    cJSON *json = firnc_json_parse((const char *)config->data, config->count, " \t\r\n");
    const bool parsed = json != NULL;
    firnc_json_delete(json);
    if (!parsed)
        return firnc_weights_refuse(file, "is not one JSON object; give the file that save_pretrained wrote");
    const firnc_growing_text text = with_float32((const char *)config->data, config->count);
    *config = (firnc_bytes){.data = firnc_allocate_aligned(text.length + 1), .count = text.length};
    memcpy(config->data, text.text, text.length);
    return true;
}

/* Reads the companions that the folder has; returns their number, or -1 after one message. */
static int read_companions(const char *from, const char *folder, firnc_file *files) {
    int count = 0;
    for (size_t i = 0; i < COUNT(companions); i++) {
        const char *name = firnc_format("%s/%s", from, companions[i]);
        struct stat status;
        if (lstat(name, &status) != 0) /* a link that leads nowhere is there, and is refused below */
            continue;
        firnc_file *file = &files[count++];
        file->name = firnc_format("%s/%s", folder, companions[i]);
        if (!firnc_file_read(name, COPY_BYTES_MAX, &file->bytes) || (i == 0 && !widen_config(&file->bytes, name)))
            return -1;
    }
    return count;
}

bool firnc_weights_folder_write(const char *output, const char *from, const firnc_bytes *weights) {
    const char *folder = folder_name(output);
    firnc_file files[COUNT(companions) + 1];
    const int count = read_companions(from, folder, files);
    if (count < 0)
        return false;
    files[count] = (firnc_file){.name = firnc_format("%s/model.safetensors", folder), .bytes = *weights};
    bool made;
    if (!firnc_folder_make(folder, &made))
        return false;
    if (!firnc_files_write(files, (uint32_t)count + 1)) {
        if (made)
            rmdir(folder);
        return false;
    }
    for (int i = 0; i <= count; i++)
        printf("%s: %llu bytes\n", firnc_printable(files[i].name), (unsigned long long)files[i].bytes.count);
    return true;
}
