/* Parses JSON (compiler/base/json.h). What it says is not checked here. */
#include "compiler/base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "compiler/base/landing.h"

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

static void delete (void *json) {
    cJSON_Delete(json);
}

cJSON *firnc_json_parse(const char *text, uint64_t bytes, const char *padding) {
    const char *end = NULL;
    if (bytes == 0 || text[0] != '{' || has_zero_byte(text, bytes))
        return NULL;
    errno = 0;
    cJSON *json = cJSON_ParseWithLengthOpts(text, (size_t)bytes, &end, false);
    if (json == NULL && errno == ENOMEM)
        firnc_out_of_memory(bytes);
    for (; json != NULL && end < text + bytes; end++)
        if (strchr(padding, *end) == NULL || *end == '\0') {
            cJSON_Delete(json);
            return NULL;
        }
    if (json != NULL)
        firnc_hold(delete, json);
    return json;
}

void firnc_json_delete(cJSON *json) {
    firnc_let_go(delete, json);
    cJSON_Delete(json);
}
