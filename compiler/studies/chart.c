/* Writes a drawing as a file (compiler/studies/chart.h). */
#define _POSIX_C_SOURCE 200809L
#include "compiler/studies/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"

bool firnc_chart_write(const char *file, const char *title, const char *axis, const firn_chart_panel *panels,
                       uint32_t count) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to != NULL)
        firn_chart_write(to, title, axis, panels, count);
    const bool drawn = to != NULL && fclose(to) == 0;
    if (!drawn)
        firnc_say("firnc: memory: %s; free some, or raise its limit (ulimit -v)", strerror(errno));
    bool written = drawn;
    if (drawn && strcmp(file, "-") == 0)
        fwrite(text, 1, length, stdout); /* whether this worked is looked at once, at the end of main */
    else
        written = drawn && firnc_file_write(file, text, length);
    free(text);
    return written;
}
