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

static void *there_must_be(void *memory, size_t bytes) {
    if (memory == NULL) {
        firn_host_fail("memory", "%zu bytes are not to be had", bytes);
        exit(1);
    }
    return memory;
}

void *firn_host_allocate(size_t bytes) {
    return there_must_be(calloc(1, bytes == 0 ? 1 : bytes), bytes);
}

void *firn_host_grow(void *memory, size_t bytes) {
    return there_must_be(realloc(memory, bytes), bytes);
}

char *firn_host_path(const char *path, const char *ending) {
    size_t bytes = strlen(path) + strlen(ending) + 1;
    char *joined = firn_host_allocate(bytes);
    snprintf(joined, bytes, "%s%s", path, ending);
    return joined;
}
