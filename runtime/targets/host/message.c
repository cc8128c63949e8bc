/* Messages and memory of the host's programs: one line for an error, and no half-handled lack of memory. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/host.h"

bool firn_host_fail(const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "firn: %s: ", where);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

void *firn_host_allocate(size_t bytes) {
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL) {
        firn_host_fail("memory", "%zu bytes are not to be had", bytes);
        exit(1);
    }
    return memory;
}

char *firn_host_path(const char *path, const char *ending) {
    size_t length = strlen(path), more = strlen(ending);
    char *joined = firn_host_allocate(length + more + 1);
    memcpy(joined, path, length);
    memcpy(joined + length, ending, more);
    return joined;
}
