/* Messages and memory allocation of the host's programs. An error is one line; an allocation either succeeds or ends
 * the program. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/host.h"

enum { MESSAGE_BYTES = 16384 };

void firn_host_print(FILE *to, const char *text) {
    for (; *text != 0; text++)
        if (*text >= ' ' && *text <= '~')
            fputc(*text, to);
        else
            fprintf(to, "\\x%02x", (unsigned)(unsigned char)*text);
}

/* Uses a static buffer, because the message may report that memory is exhausted. Longer messages are truncated. */
static const char *format_list(const char *format, va_list arguments) {
    static char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    return text;
}

bool firn_host_fail(const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("firn: ", stderr);
    firn_host_print(stderr, where);
    fputs(": ", stderr);
    firn_host_print(stderr, format_list(format, arguments));
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

const char *firn_host_room(void) {
    switch (errno) {
    case EFBIG:
        return "raise the limit of file sizes (ulimit -f), or write elsewhere";
    case ENOSPC:
    case EDQUOT:
        return "make room there, or write elsewhere";
    case EPIPE:
        return "its reader has ended: keep that open, or write to a file";
    case EBUSY:
        return "another process has written there: let one of them end first, or write elsewhere";
    default:
        return "look at the folder's permissions and the disk, or write elsewhere";
    }
}

bool firn_host_fail_to_write(const char *path) {
    return firn_host_fail(path, "cannot be written: %s; %s", strerror(errno), firn_host_room());
}

void firn_host_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    firn_host_print(stderr, format_list(format, arguments));
    fputc('\n', stderr);
    va_end(arguments);
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

bool firn_host_has_ending(const char *name, const char *ending) {
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

char *firn_host_path(const char *path, const char *ending) {
    size_t bytes = strlen(path) + strlen(ending) + 1;
    char *joined = firn_host_allocate(bytes);
    snprintf(joined, bytes, "%s%s", path, ending);
    return joined;
}
