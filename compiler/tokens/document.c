/* Keys and values of a tokenizer.json (compiler/tokens/document.h). Knows no key itself. */
#include "compiler/tokens/document.h"

#include <string.h>

#include "compiler/base/text.h"

enum { SHOWN_BYTES = 200 }; /* of a value in a message */

bool firnc_document_refuse(const firnc_document *document, const char *key, const cJSON *item, const char *why) {
    char *value = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
    const bool joined = document->path[0] != '\0' && key[0] != '\0';
    const bool named = document->path[0] != '\0' || key[0] != '\0';
    firnc_say("firnc: %s: %s%s%s%s%.*s%s%s", document->file, document->path, joined ? "." : "", key, named ? ": " : "",
              SHOWN_BYTES, value != NULL ? value : "", value != NULL ? " " : "", why);
    cJSON_free(value);
    return false;
}

static bool is_empty(const cJSON *item) {
    return cJSON_IsNull(item) || cJSON_IsFalse(item) || (cJSON_IsNumber(item) && item->valuedouble == 0) ||
           (cJSON_IsString(item) && item->valuestring[0] == '\0');
}

bool firnc_document_open(firnc_document *document, const char *file, const char *path, const cJSON *object,
                         const firnc_key *keys, uint32_t count) {
    *document = (firnc_document){file, path, object};
    if (!cJSON_IsObject(object))
        return firnc_document_refuse(document, "", object, "is no object; write the file again");
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        const firnc_key *key = keys;
        while (key < keys + count && strcmp(key->name, item->string) != 0)
            key++;
        if (key == keys + count)
            return firnc_document_refuse(document, item->string, item,
                                         "is not a key that firnc reads; remove it if no id depends on it");
        if (cJSON_GetObjectItemCaseSensitive(object, item->string) != item)
            return firnc_document_refuse(document, item->string, item, "stands here twice; write the file again");
        if (key->kind == FIRNC_KEY_EMPTY && !is_empty(item))
            return firnc_document_refuse(document, item->string, item, key->why);
    }
    return true;
}

const cJSON *firnc_document_get(const firnc_document *document, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(document->object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

bool firnc_document_flag(const firnc_document *document, const char *key, bool *value) {
    const cJSON *item = firnc_document_get(document, key);
    if (item != NULL && !cJSON_IsBool(item))
        return firnc_document_refuse(document, key, item, "is neither true nor false; write the file again");
    if (item != NULL)
        *value = cJSON_IsTrue(item);
    return true;
}

bool firnc_document_text(const firnc_document *document, const char *key, const char **value) {
    const cJSON *item = firnc_document_get(document, key);
    if (!cJSON_IsString(item))
        return firnc_document_refuse(document, key, item, "must be a text; write the file again");
    *value = firnc_format("%s", item->valuestring);
    return true;
}

const char *firnc_document_type(const cJSON *object) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));
    return type != NULL ? type : "";
}

bool firnc_document_number(const cJSON *item, uint32_t most, uint32_t *value) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most))
        return false;
    *value = (uint32_t)item->valuedouble;
    return (double)*value == item->valuedouble;
}
