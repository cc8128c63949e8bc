/* Finds the library that draws the charts of a page: Chart.js, which the package libjs-chart.js of Debian installs. It
 * is read when a page is made and becomes a part of it, so that the page needs no network (runtime/report/report.h). */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/report/report.h"

enum { LIBRARY_BYTES_MAX = 1 << 20, HEAD_BYTES = 256 };

static const char file_name[] = "/chart.js/chart.min.js";
static const char *const folders[] = {"/usr/share/javascript", "/usr/share/nodejs"};

/* Returns the path of the library; the caller frees it. */
static char *find(void) {
    const char *asked = getenv("FIRN_JAVASCRIPT");
    if (asked != NULL)
        return firn_host_path(asked, file_name);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = firn_host_path(folders[i], file_name);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return firn_host_path(folders[0], file_name);
}

static const char mend[] = "the charts of a report need Chart.js, version 3: install the package libjs-chart.js, or "
                           "name the folder of chart.js/chart.min.js by FIRN_JAVASCRIPT; firn plot needs none";

static bool refuse(const char *path, const char *what) {
    return firn_host_fail(path, "%s; %s", what, mend);
}

/* Whether the head of the text has some words. */
static bool begins_with(const char *text, const char *words) {
    char head[HEAD_BYTES + 1] = {0};
    strncpy(head, text, HEAD_BYTES);
    return strstr(head, words) != NULL;
}

/* The page uses the interface of version 3, and other versions have others. */
static bool check(const char *path, const char *text, size_t length) {
    if (memchr(text, 0, length) != NULL || !begins_with(text, "Chart.js v"))
        return refuse(path, "is no Chart.js");
    return begins_with(text, "Chart.js v3.") || refuse(path, "is another version of Chart.js");
}

static bool read_file(const char *path, char **text, size_t *length) {
    if (access(path, R_OK) != 0)
        return refuse(path, errno == ENOENT || errno == ENOTDIR ? "there is no such file" : strerror(errno));
    *text = report_file_read(path, LIBRARY_BYTES_MAX, mend, length);
    return *text != NULL && check(path, *text, *length);
}

int report_library_read(char **text, size_t *length) {
    char *path = find();
    const bool read = read_file(path, text, length);
    free(path);
    return read ? CLI_OK : CLI_FILE;
}
