/* Reads a whole file into memory (runtime/report/report.h): what a page takes beside logs and plans is small. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/report/report.h"

char *report_file_read(const char *path, size_t most, const char *mend, size_t *length) {
    uint64_t bytes;
    const int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return NULL;
    const bool fits = bytes <= most;
    *length = fits ? (size_t)bytes : 0;
    char *text = firn_host_allocate(*length + 1);
    errno = 0;
    const bool whole = firn_host_read(file, text, *length) == (int64_t)*length;
    const int error = errno;
    close(file);
    if (fits && whole)
        return text;
    if (!fits)
        firn_host_fail(path, "has more than %lu bytes; %s", (unsigned long)most, mend);
    else
        firn_host_fail(path, "cannot be read to its end: %s; look at the disk",
                       error != 0 ? strerror(error) : "it was cut while it was read");
    free(text);
    return NULL;
}
