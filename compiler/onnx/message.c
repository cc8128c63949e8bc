/* The message of an import: one, whatever else is wrong. And the lists of words that the importer's tables have. */
#include <stdarg.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* The mend of a message that has none: a node is not as ONNX defines it, or a size that the recipe gives is wrong. */
static const char *mend_of_invalid(const firnc_onnx_importer *im) {
    return firnc_format("; check the file by onnx.checker.check_model(\"%s\", full_check=True) and the sizes in "
                        "model.dimensions, and export it again",
                        im->file);
}

bool firnc_onnx_fail(firnc_onnx_importer *im, const char *format, ...) {
    va_list arguments;
    if (im->failed)
        return false;
    im->failed = true;
    va_start(arguments, format);
    const char *text = firnc_format_list(format, arguments),
               *mend = strstr(format, "; ") == NULL ? mend_of_invalid(im) : "";
    va_end(arguments);
    if (im->node == NULL)
        firnc_say("firnc: %s: %s%s", im->file, text, mend);
    else
        firnc_say("firnc: %s: node %s (%s): %s%s", im->file,
                  im->node->proto->name != NULL && im->node->proto->name[0] != '\0' ? im->node->proto->name
                                                                                    : "without a name",
                  im->node->op, text, mend);
    return false;
}

bool firnc_onnx_is_listed(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; length > 0 && (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}
