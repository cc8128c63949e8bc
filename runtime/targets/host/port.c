/* The host's port: block storage and the security counter in files that are replaced as a whole, so that a crash at any
 * moment leaves either the old or the new contents. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

static void parallel_for(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                         void *argument) {
    firn_host_port *port = context;
    firn_host_threads_run(port->threads, tasks, body, argument);
}

/* --- files --- */

static void close_file(int *file) {
    if (*file >= 0)
        close(*file);
    *file = -1;
}

/* Returns the library's error for errno, and keeps errno in the port for messages: the library has one error for all
 * kinds of full storage. */
static int storage_error(firn_host_port *port) {
    port->cause = errno;
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? FIRN_ERROR_STORAGE_FULL : FIRN_ERROR_STORAGE;
}

/* --- checkpoint --- */

/* A file that is there and cannot be opened is not missing: it has bytes, and reading them fails. */
static uint64_t stored(void *context) {
    firn_host_port *port = context;
    struct stat status;
    close_file(&port->reading);
    port->reading = open(port->checkpoint, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block */
    if (port->reading < 0 && errno != ENOENT && stat(port->checkpoint, &status) == 0 && S_ISREG(status.st_mode))
        return UINT64_MAX;
    if (port->reading < 0 || fstat(port->reading, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    return (uint64_t)status.st_size;
}

static int storage_read(void *context, uint64_t offset, void *bytes, uint32_t count) {
    firn_host_port *port = context;
    uint8_t *to = bytes;
    while (count > 0) {
        ssize_t got = pread(port->reading, to, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return FIRN_ERROR_STORAGE;
        to += got;
        count -= (uint32_t)got;
        offset += (uint64_t)got;
    }
    return FIRN_OK;
}

/* Removes an unfinished record. The previous record is unchanged. */
static int abandon(firn_host_port *port) {
    int error = storage_error(port);
    firn_host_replace_abandon(&port->writing);
    return error;
}

static int storage_erase(void *context, uint64_t offset, uint64_t count) {
    firn_host_port *port = context;
    (void)offset;
    (void)count;
    const bool ready = port->reserved && firn_host_replace_is_there(&port->writing);
    port->reserved = false;
    port->written = 0;
    if (ready)
        return FIRN_OK;
    firn_host_replace_abandon(&port->writing);
    return firn_host_replace_begin(&port->writing, port->checkpoint) ? FIRN_OK : storage_error(port);
}

static int storage_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    firn_host_port *port = context;
    port->written = offset + count;
    return firn_host_replace_write(&port->writing, offset, bytes, count) ? FIRN_OK : abandon(port);
}

static int storage_sync(void *context) {
    firn_host_port *port = context;
    /* Zeros that reserved more than the record has must not stay behind it. */
    if (ftruncate(port->writing.file, (off_t)port->written) != 0)
        return abandon(port);
    return firn_host_replace_end(&port->writing) ? FIRN_OK : storage_error(port);
}

int firn_host_port_reserve(firn_host_port *port, uint64_t bytes) {
    int status = storage_erase(port, 0, bytes);
    if (status == FIRN_OK && !firn_host_replace_reserve(&port->writing, bytes))
        status = abandon(port);
    port->reserved = status == FIRN_OK;
    return status;
}

/* --- counter --- */

static int counter_read(void *context, uint32_t *value) {
    const firn_host_port *port = context;
    *value = 0;
    struct stat status;
    int file = open(port->counter_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block */
    if (file < 0)
        return errno == ENOENT ? FIRN_OK : FIRN_ERROR_COUNTER; /* a new device starts at 0 */
    char text[16] = {0};
    int64_t length =
        fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? firn_host_read(file, text, sizeof text - 1) : -1;
    bool whole = length >= 0;
    close(file);
    uint64_t number = 0;
    int64_t at = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        number = 10 * number + (uint64_t)(text[at] - '0');
    if (!whole || at == 0 || number > UINT32_MAX || strcmp(text + at, "\n") != 0)
        return FIRN_ERROR_COUNTER;
    *value = (uint32_t)number;
    return FIRN_OK;
}

static int counter_advance(void *context, uint32_t value) {
    firn_host_port *port = context;
    char text[16];
    int length = snprintf(text, sizeof text, "%lu\n", (unsigned long)value);
    firn_host_replacement file;
    if (firn_host_replace_begin(&file, port->counter_path) && firn_host_replace_write(&file, 0, text, (size_t)length) &&
        firn_host_replace_end(&file))
        return FIRN_OK;
    port->counter_cause = errno;
    port->counter_placed = file.placed;
    firn_host_replace_abandon(&file);
    return FIRN_ERROR_COUNTER;
}

/* --- the port --- */

void firn_host_port_begin(firn_host_port *port, const char *checkpoint, const char *counter, unsigned threads) {
    *port = (firn_host_port){.checkpoint = checkpoint, .counter_path = counter, .reading = -1, .writing = {.file = -1}};
    port->storage = (firn_storage){.program_unit = 16,
                                   .erase_unit = 16,
                                   .capacity = 0,
                                   .erased_value = 0,
                                   .read = storage_read,
                                   .program = storage_program,
                                   .erase = storage_erase,
                                   .sync = storage_sync,
                                   .stored = stored};
    port->counter = (firn_counter){.read = counter_read, .advance = counter_advance};
    port->threads = firn_host_threads_start(threads);
    port->port = (firn_port){.struct_size = sizeof port->port,
                             .context = port,
                             .storage = checkpoint != NULL ? &port->storage : NULL,
                             .counter = counter != NULL ? &port->counter : NULL,
                             .parallel_for = port->threads != NULL ? parallel_for : NULL,
                             .threads = firn_host_threads_count(port->threads)};
}

/* Copies what belongs to the file of a port's storage. */
static void take_file(firn_host_port *to, const firn_host_port *from) {
    to->port.storage = from->checkpoint != NULL ? &to->storage : NULL;
    to->checkpoint = from->checkpoint;
    to->reading = from->reading;
    to->writing = from->writing;
    to->reserved = from->reserved;
    to->written = from->written;
    to->cause = from->cause;
}

void firn_host_port_exchange(firn_host_port *a, firn_host_port *b) {
    const firn_host_port before = *a;
    take_file(a, b);
    take_file(b, &before);
}

void firn_host_port_end(firn_host_port *port) {
    close_file(&port->reading);
    firn_host_replace_abandon(&port->writing);
    firn_host_threads_stop(port->threads);
    port->threads = NULL;
}
