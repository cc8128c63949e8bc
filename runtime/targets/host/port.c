/* The host's port: block storage and security counter on files that are replaced as a whole, so that a crash at any
 * moment leaves the old contents or the new. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

/* The signature check's pool is one for the process. */
static pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock(void *context) {
    (void)context;
    pthread_mutex_lock(&check_lock);
}

static void unlock(void *context) {
    (void)context;
    pthread_mutex_unlock(&check_lock);
}

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

/* The rename is safe only when the folder's entry is. */
static bool sync_folder(const char *path) {
    char *copy = firn_host_path(path, "");
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (folder < 0)
        return false;
    bool synced = fsync(folder) == 0;
    close(folder);
    return synced;
}

static bool write_all(int file, const uint8_t *bytes, size_t count, uint64_t offset) {
    while (count > 0) {
        ssize_t wrote = pwrite(file, bytes, count, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        count -= (size_t)wrote;
        offset += (uint64_t)wrote;
    }
    return true;
}

/* What the last system call's failure means to the library. */
static int storage_error(void) {
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? FIRN_ERROR_STORAGE_FULL : FIRN_ERROR_STORAGE;
}

/* --- checkpoint --- */

static uint64_t stored(void *context) {
    firn_host_port *port = context;
    struct stat status;
    close_file(&port->reading);
    port->reading = open(port->checkpoint, O_RDONLY | O_CLOEXEC);
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

/* A record that was not finished is removed; the one before it is where it was. */
static int abandon(firn_host_port *port) {
    int error = storage_error();
    close_file(&port->writing);
    unlink(port->temporary);
    return error;
}

static int storage_erase(void *context, uint64_t offset, uint64_t count) {
    firn_host_port *port = context;
    (void)offset;
    (void)count;
    close_file(&port->writing);
    port->writing = open(port->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return port->writing >= 0 ? FIRN_OK : storage_error();
}

static int storage_program(void *context, uint64_t offset, const void *bytes, uint32_t count) {
    firn_host_port *port = context;
    return write_all(port->writing, bytes, count, offset) ? FIRN_OK : abandon(port);
}

static int storage_sync(void *context) {
    firn_host_port *port = context;
    if (fsync(port->writing) != 0)
        return abandon(port);
    close_file(&port->writing);
    if (rename(port->temporary, port->checkpoint) != 0)
        return abandon(port);
    return sync_folder(port->checkpoint) ? FIRN_OK : FIRN_ERROR_STORAGE;
}

/* --- counter --- */

static int counter_read(void *context, uint32_t *value) {
    const firn_host_port *port = context;
    *value = 0;
    FILE *file = fopen(port->counter_path, "rb");
    if (file == NULL)
        return errno == ENOENT ? FIRN_OK : FIRN_ERROR_COUNTER; /* a new device begins at 0 */
    char text[16] = {0};
    size_t length = fread(text, 1, sizeof text - 1, file);
    bool whole = !ferror(file);
    fclose(file);
    uint64_t number = 0;
    size_t at = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        number = 10 * number + (uint64_t)(text[at] - '0');
    if (!whole || at == 0 || number > UINT32_MAX || strcmp(text + at, "\n") != 0)
        return FIRN_ERROR_COUNTER;
    *value = (uint32_t)number;
    return FIRN_OK;
}

static int counter_advance(void *context, uint32_t value) {
    const firn_host_port *port = context;
    char text[16];
    int length = snprintf(text, sizeof text, "%lu\n", (unsigned long)value);
    char *temporary = firn_host_path(port->counter_path, ".tmp");
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool written = file >= 0 && write_all(file, (const uint8_t *)text, (size_t)length, 0) && fsync(file) == 0;
    close_file(&file);
    bool replaced = written && rename(temporary, port->counter_path) == 0 && sync_folder(port->counter_path);
    if (!replaced)
        unlink(temporary);
    free(temporary);
    return replaced ? FIRN_OK : FIRN_ERROR_COUNTER;
}

/* --- the port --- */

void firn_host_port_begin(firn_host_port *port, const char *checkpoint, const char *counter, unsigned threads) {
    *port = (firn_host_port){.checkpoint = checkpoint, .counter_path = counter, .reading = -1, .writing = -1};
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
                             .lock = lock,
                             .unlock = unlock,
                             .parallel_for = port->threads != NULL ? parallel_for : NULL};
    if (checkpoint != NULL)
        port->temporary = firn_host_path(checkpoint, ".tmp");
}

void firn_host_port_end(firn_host_port *port) {
    close_file(&port->reading);
    close_file(&port->writing);
    firn_host_threads_stop(port->threads);
    free(port->temporary);
    port->threads = NULL;
    port->temporary = NULL;
}
