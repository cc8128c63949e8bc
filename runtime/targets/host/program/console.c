/* What only programs have: messages on standard error, and allocations that either succeed or end the program. The port
 * (runtime/targets/host/host.h) must not call this file, because it is part of a library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/host.h"

void firn_host_print(FILE *to, const char *text) {
    for (; *text != 0; text++)
        if (*text >= ' ' && *text <= '~')
            fputc(*text, to);
        else
            fprintf(to, "\\x%02x", (unsigned)(unsigned char)*text);
}

void firn_host_print_message(void *context, const char *where, const char *text) {
    (void)context;
    if (where != NULL) {
        fputs("firn: ", stderr);
        firn_host_print(stderr, where);
        fputs(": ", stderr);
    }
    firn_host_print(stderr, text);
    fputc('\n', stderr);
}

static void *there_must_be(void *memory, size_t bytes) {
    if (memory == NULL) {
        firn_host_fail("memory", "%zu bytes are not to be had; free some, or raise their limit (ulimit -v)", bytes);
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
    return there_must_be(firn_host_joined(path, ending), strlen(path) + strlen(ending) + 1);
}
