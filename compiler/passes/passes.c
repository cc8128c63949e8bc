/* How a pass complains (compiler/passes/passes.h). What the passes do is in a file for each. */
#include "compiler/passes/passes.h"

#include <stdarg.h>

bool firnc_fail(const firnc_compilation *compilation, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_job_fail(compilation->job, NULL, "%s", firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}
