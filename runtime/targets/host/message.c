/* Messages of the host's port, and names of files. Nothing here prints, or ends the program: program/console.c does. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/host.h"

enum { MESSAGE_BYTES = 16384 };

static firn_host_message receiver;
static void *receiver_context;

void firn_host_messages_to(firn_host_message message, void *context) {
    receiver = message;
    receiver_context = context;
}

/* The text is on the stack, because the message may report that memory is exhausted. Longer messages are truncated. */
static void deliver(const char *where, const char *format, va_list arguments) {
    char text[MESSAGE_BYTES];
    if (receiver == NULL)
        return;
    vsnprintf(text, sizeof text, format, arguments);
    receiver(receiver_context, where, text);
}

bool firn_host_fail(const char *where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    deliver(where, format, arguments);
    va_end(arguments);
    return false;
}

void firn_host_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    deliver(NULL, format, arguments);
    va_end(arguments);
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

bool firn_host_has_ending(const char *name, const char *ending) {
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

char *firn_host_joined(const char *path, const char *ending) {
    size_t bytes = strlen(path) + strlen(ending) + 1;
    char *joined = malloc(bytes);
    if (joined != NULL)
        snprintf(joined, bytes, "%s%s", path, ending);
    return joined;
}
