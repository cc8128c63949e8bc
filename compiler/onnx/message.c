/* The message of an import: one, whatever else is wrong. And the lists of words that the importer's tables have. */
#include <stdarg.h>
#include <string.h>

#include "compiler/onnx/import.h"

bool firnc_onnx_fail(firnc_onnx_importer *im, const char *format, ...) {
    va_list arguments;
    if (im->failed)
        return false;
    im->failed = true;
    va_start(arguments, format);
    const char *text = firnc_format_list(format, arguments);
    va_end(arguments);
    if (im->node == NULL)
        firnc_say("firnc: %s: %s", im->file, text);
    else
        firnc_say("firnc: %s: node %s (%s): %s", im->file,
                  im->node->proto->name != NULL && im->node->proto->name[0] != '\0' ? im->node->proto->name
                                                                                    : "without a name",
                  im->node->op, text);
    return false;
}

bool firnc_onnx_is_listed(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; length > 0 && (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}
