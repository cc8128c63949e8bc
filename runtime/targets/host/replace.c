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
#include <sys/file.h>
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

/* --- locks --- */

static bool same_inode(int file, const char *path) {
    struct stat ours, there;
    return fstat(file, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/* The lock file, open and locked; -1 with errno set, EWOULDBLOCK when another process has it. One that its holder
 * removed while it was being opened locks nothing, and is asked for again. */
static int open_locked(const char *path) {
    for (;;) {
        int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0)
            return -1;
        if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(file);
            errno = EWOULDBLOCK;
            return -1;
        }
        if (same_inode(file, path)) /* a file system without locks has none to take */
            return file;
        close(file);
    }
}

bool firn_host_lock_take(firn_host_lock *lock, const char *path) {
    char *target = target_of(path);
    *lock = (firn_host_lock){.path = firn_host_path(target != NULL ? target : path, ".lock"), .file = -1};
    free(target);
    lock->file = open_locked(lock->path);
    if (lock->file >= 0)
        return true;
    if (errno == EWOULDBLOCK)
        firn_host_fail(path, "another run is saving there; wait for its end, or give another name");
    else
        firn_host_fail(lock->path, "the lock cannot be made: %s; look at the folder's permissions and the disk",
                       strerror(errno));
    firn_host_lock_release(lock);
    return false;
}

void firn_host_lock_release(firn_host_lock *lock) {
    struct stat status;
    if (lock->path == NULL)
        return;
    if (lock->file >= 0 && fstat(lock->file, &status) == 0 && status.st_size == 0) /* else it is somebody's file */
        unlink(lock->path);
    if (lock->file >= 0)
        close(lock->file);
    free(lock->path);
    *lock = (firn_host_lock){.file = -1};
}
