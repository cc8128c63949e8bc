/* Reserves room on a disk for bytes that are written later, so that a disk that is full is known before the work whose
 * result it should hold. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "runtime/targets/host/host.h"

/* The kernel does not apply this limit to a reservation that keeps the length of the file. */
static bool is_within_limit(uint64_t end) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

bool firn_host_reserve(int file, uint64_t offset, uint64_t bytes) {
    if (!is_within_limit(offset + bytes)) {
        errno = EFBIG;
        return false;
    }
    int result;
    do
        result = fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result != 0 && (errno == ENOSYS || errno == EINVAL || errno == ENODEV || errno == ESPIPE))
        errno = EOPNOTSUPP;
    return result == 0;
}

bool firn_host_has_room(const char *path, uint64_t bytes) {
    char *copy = firn_host_joined(path, "");
    struct statvfs disk;
    const bool known = copy != NULL && statvfs(dirname(copy), &disk) == 0 && disk.f_frsize != 0;
    free(copy);
    if (!is_within_limit(bytes)) {
        errno = EFBIG;
        return false;
    }
    if (known && disk.f_bavail < bytes / disk.f_frsize + (bytes % disk.f_frsize != 0)) {
        errno = ENOSPC;
        return false;
    }
    return true;
}
