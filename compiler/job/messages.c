/* Messages about a job: errors and warnings with the place of a recipe, or with the name of the job. */
#include <stdarg.h>

#include "compiler/job/job.h"

static void say(const firnc_job *job, const firnc_place *place, const char *text) {
    if (place != NULL && place->file != NULL)
        firnc_say_at(place, text);
    else
        firnc_say("firnc: %s: %s", job->name, text);
}

bool firnc_job_fail(const firnc_job *job, const firnc_place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(job, place, firnc_format_list(format, arguments));
    va_end(arguments);
    return false;
}

void firnc_job_warn(const firnc_job *job, const firnc_place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(job, place, firnc_format("warning: %s", firnc_format_list(format, arguments)));
    va_end(arguments);
}
