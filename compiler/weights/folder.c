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

/* config.json whose type of weights is float32, as the weights are: without that transformers would round them. */
static bool widen_config(firnc_bytes *config, const char *file) {
    static const char *const keys[] = {"dtype", "torch_dtype"};
    bool changed = false;
    cJSON *json = firnc_json_parse((const char *)config->data, config->count, " \t\r\n");
    if (json == NULL)
        return firnc_weights_refuse(file, "is not one JSON object; give the file that save_pretrained wrote");
    for (size_t i = 0; i < COUNT(keys); i++) {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, keys[i]));
        if (type == NULL || strcmp(type, "float32") == 0)
            continue;
        cJSON_ReplaceItemInObjectCaseSensitive(json, keys[i], cJSON_CreateString("float32"));
        changed = true;
    }
    if (changed) {
        char *text = cJSON_Print(json);
        *config = (firnc_bytes){.data = firnc_allocate_aligned(strlen(text) + 2), .count = strlen(text) + 1};
        memcpy(config->data, text, strlen(text));
        config->data[config->count - 1] = '\n';
        cJSON_free(text);
    }
    cJSON_Delete(json);
    return true;
}

/* Reads the companions that the folder has; returns their number, or -1 after one message. */
static int read_companions(const char *from, const char *folder, firnc_file *files) {
    int count = 0;
    for (size_t i = 0; i < COUNT(companions); i++) {
        const char *name = firnc_format("%s/%s", from, companions[i]);
        if (access(name, F_OK) != 0)
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
