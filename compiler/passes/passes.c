/* Messages of the passes (compiler/passes/passes.h). Each pass has its own file; no pass belongs here. */
#include "compiler/passes/passes.h"

#include <stdarg.h>

bool firnc_fail(const firnc_compilation *compilation, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firnc_job_fail(compilation->job, NULL, "%s", firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}
