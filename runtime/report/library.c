/* Finds the library that draws the charts of a page: Chart.js, which the package libjs-chart.js of Debian installs. It
 * is read when a page is made and becomes a part of it, so that the page needs no network (runtime/report/report.h). */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/report/report.h"

enum { LIBRARY_BYTES_MAX = 1 << 20 };

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

static bool refuse(const char *path, const char *what) {
    return firn_host_fail(path,
                          "%s; the charts of a report need Chart.js: install the package libjs-chart.js, or name the "
                          "folder of chart.js/chart.min.js by FIRN_JAVASCRIPT; firn plot needs none",
                          what);
}

/* Whether the bytes look like the library: not empty, text, and named in its head. */
static bool is_library(const char *text, size_t length) {
    return length != 0 && memchr(text, 0, length) == NULL && strstr(text, "Chart.js v") != NULL;
}

static bool read_file(const char *path, char **text, size_t *length) {
    uint64_t bytes;
    if (access(path, R_OK) != 0)
        return refuse(path, errno == ENOENT || errno == ENOTDIR ? "there is no such file" : strerror(errno));
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return false;
    *length = bytes <= LIBRARY_BYTES_MAX ? (size_t)bytes : 0;
    *text = firn_host_allocate(*length + 1);
    const bool whole = firn_host_read(file, *text, *length) == (int64_t)*length;
    close(file);
    return whole && is_library(*text, *length) ? true : refuse(path, "is no Chart.js");
}

int report_library_read(char **text, size_t *length) {
    char *path = find();
    const bool read = read_file(path, text, length);
    free(path);
    return read ? CLI_OK : CLI_FILE;
}
