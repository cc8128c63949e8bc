/* Files that are replaced as a whole: written beside their place and moved there when they are complete and durable, so
 * that a crash at any moment leaves the old contents or the new. Only a regular file, or none, is ever replaced. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

/* The file that a path stands for, through symbolic links, so that renaming replaces the file and not the link. NULL
 * with errno set when something else is there, which renaming would destroy: ENOTSUP, or what the system said. */
static char *target_of(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISREG(status.st_mode))
            return realpath(path, NULL);
        errno = ENOTSUP;
        return NULL;
    }
    if (errno == ENOENT && lstat(path, &status) != 0 && errno == ENOENT)
        return firn_host_path(path, "");
    return NULL; /* a link to nothing, or a path that cannot be looked at */
}

bool firn_host_replaceable(const char *path) {
    char *target = target_of(path);
    int error = errno;
    bool there = target != NULL, writable = there && faccessat(AT_FDCWD, dirname(target), W_OK | X_OK, AT_EACCESS) == 0;
    if (there && !writable)
        firn_host_fail(path, "its folder cannot be written to: %s; make the folder, or give another name",
                       strerror(errno));
    free(target);
    if (there)
        return writable;
    return firn_host_fail(path, "%s; give the name of a file",
                          error == ENOTSUP ? "is not a regular file" : strerror(error));
}

/* A rename is safe only when the folder's entry is. Where folders cannot be synced there is nothing to wait for. */
static bool sync_folder(const char *path) {
    char *copy = firn_host_path(path, "");
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (folder < 0)
        return false;
    bool synced = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP;
    int error = errno;
    close(folder);
    errno = error;
    return synced;
}

bool firn_host_replace_begin(firn_host_replacement *replacement, const char *path) {
    *replacement = (firn_host_replacement){.file = -1, .target = target_of(path)};
    if (replacement->target == NULL)
        return false;
    replacement->temporary = firn_host_path(replacement->target, ".tmp");
    /* What a crash left there, or another wants us to write to, is not opened. */
    if (unlink(replacement->temporary) == 0 || errno == ENOENT)
        replacement->file = open(replacement->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (replacement->file >= 0)
        return true;
    firn_host_replace_abandon(replacement);
    return false;
}

bool firn_host_replace_write(const firn_host_replacement *replacement, uint64_t offset, const void *bytes,
                             size_t count) {
    const uint8_t *from = bytes;
    while (count > 0) {
        ssize_t wrote = pwrite(replacement->file, from, count, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        from += wrote;
        count -= (size_t)wrote;
        offset += (uint64_t)wrote;
    }
    return true;
}

static void forget(firn_host_replacement *replacement) {
    free(replacement->target);
    free(replacement->temporary);
    *replacement = (firn_host_replacement){.file = -1};
}

bool firn_host_replace_end(firn_host_replacement *replacement) {
    bool written = fsync(replacement->file) == 0;
    int error = errno;
    if (close(replacement->file) != 0 && written) {
        written = false;
        error = errno;
    }
    replacement->file = -1;
    errno = error;
    if (!written || rename(replacement->temporary, replacement->target) != 0) {
        firn_host_replace_abandon(replacement);
        return false;
    }
    bool synced = sync_folder(replacement->target);
    error = errno;
    forget(replacement);
    errno = error;
    return synced;
}

void firn_host_replace_abandon(firn_host_replacement *replacement) {
    int error = errno;
    if (replacement->file >= 0)
        close(replacement->file);
    if (replacement->temporary != NULL)
        unlink(replacement->temporary);
    forget(replacement);
    errno = error;
}
