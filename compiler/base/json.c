/* Parses JSON (compiler/base/json.h). What it says is not checked here. */
#include "compiler/base/json.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

static bool has_zero_byte(const char *text, uint64_t bytes) {
    if (memchr(text, 0, (size_t)bytes) != NULL)
        return true;
    for (uint64_t i = 0; i < bytes; i++) {
        if (text[i] != '\\')
            continue;
        if (bytes - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0)
            return true;
        i++; /* the character that is escaped */
    }
    return false;
}

cJSON *firnc_json_parse(const char *text, uint64_t bytes, const char *padding) {
    const char *end = NULL;
    if (bytes == 0 || text[0] != '{' || has_zero_byte(text, bytes))
        return NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, (size_t)bytes, &end, false);
    for (; json != NULL && end < text + bytes; end++)
        if (strchr(padding, *end) == NULL || *end == '\0') {
            cJSON_Delete(json);
            return NULL;
        }
    return json;
}
