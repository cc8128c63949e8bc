/* Files of JSON: the statistics of data, and the names of columns beside a checkpoint. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "runtime/cli/cli.h"

int cli_json_write(const char *path, const cJSON *root) {
    char *text = cJSON_Print(root);
    firn_host_replacement file = {.file = -1};
    if (text == NULL) {
        firn_host_fail("memory", "%s", strerror(ENOMEM));
        return CLI_FILE;
    }
    if (!firn_host_replaceable(path)) {
        cJSON_free(text);
        return CLI_FILE;
    }
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the zero, which is not written */
    const bool written = firn_host_replace_begin(&file, path) && firn_host_replace_write(&file, 0, text, length + 1) &&
                         firn_host_replace_end(&file);
    if (!written)
        firn_host_replace_fail(&file, path);
    cJSON_free(text);
    return written ? CLI_OK : CLI_FILE;
}
