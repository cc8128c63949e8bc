/* Opens the files that a program reads: plans, keys, checkpoints and data. Only regular files are read. A pipe without
 * a writer would block in open(), and a device may have no end. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

/* The word for a kind of file. */
static const char *kind_of(mode_t mode) {
    return S_ISFIFO(mode) ? "pipe" : S_ISSOCK(mode) ? "socket" : S_ISLNK(mode) ? "symbolic link" : "device";
}

/* Returns true for a regular file; else false, after a message. */
static bool is_regular(const char *path, mode_t mode) {
    if (S_ISREG(mode))
        return true;
    if (S_ISDIR(mode))
        return firn_host_fail(path, "is a folder; give a file");
    return firn_host_fail(
        path, "is neither a file nor a folder, but a %s; write what it gives to a file, and give that", kind_of(mode));
}

bool firn_host_unreadable(const char *path) {
    struct stat status;
    const int error = errno;
    if (error == EMFILE)
        return firn_host_fail(path, "%s; raise the limit (ulimit -Hn), or give fewer files", strerror(error));
    if (error == ENOENT && lstat(path, &status) == 0)
        return firn_host_fail(path, "is a link to a file that is not there; give the name of a file");
    return firn_host_fail(path, "cannot be read: %s; look at the name and its permissions", strerror(error));
}

int firn_host_open(const char *path, bool follow, uint64_t *bytes) {
    struct stat status;
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
    const int file = open(path, flags);
    /* ENXIO: a socket, or a device without its hardware */
    const bool known = file >= 0 ? fstat(file, &status) == 0 : errno == ENXIO && stat(path, &status) == 0;
    if (!known)
        firn_host_unreadable(path);
    if (known && is_regular(path, status.st_mode) && file >= 0) {
        *bytes = (uint64_t)status.st_size;
        return file;
    }
    if (file >= 0)
        close(file);
    return -1;
}

int64_t firn_host_read(int file, void *bytes, size_t most) {
    uint8_t *to = bytes;
    size_t count = 0;
    while (count < most) {
        const ssize_t got = read(file, to + count, most - count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        count += (size_t)got;
    }
    return (int64_t)count;
}
