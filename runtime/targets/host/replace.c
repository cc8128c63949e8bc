/* Replaces files as a whole: a file is written under a temporary name, synced and renamed, so that a crash at any
 * moment leaves either the old or the new contents. Only a regular file, or none, may be replaced. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/checkpoint/record.h"
#include "runtime/targets/host/host.h"

/* Returns the file that a path refers to through symbolic links, so that renaming replaces the file and not the link.
 * Returns NULL with errno set if it refers to something that renaming would destroy (ENOTSUP), or on a system error. */
static char *target_of(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0) {
        if (S_ISREG(status.st_mode))
            return realpath(path, NULL);
        errno = ENOTSUP;
        return NULL;
    }
    if (errno == ENOENT && lstat(path, &status) != 0 && errno == ENOENT)
        return firn_host_joined(path, "");
    return NULL; /* a dangling link, or a path that cannot be examined */
}

/* Each does what the system call of its name does, and again after a signal. */
static int open_again(const char *path, int flags) {
    int file;
    do
        file = open(path, flags, 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

static int sync_again(int file) {
    int result;
    do
        result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result;
}

/* What is at a name that cannot be replaced, and what to do. Returns NULL where only errno says it. */
static const char *fault_of(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode)    ? "is a folder; give the name of a file in it"
               : S_ISFIFO(status.st_mode) ? "is a pipe and not a regular file; give the name of a file"
               : S_ISREG(status.st_mode)  ? NULL
                                          : "is a device or socket and not a regular file; give the name of a file";
    if (errno == ENOENT && lstat(path, &status) == 0)
        return "is a link to a file that is not there; remove the link, or give the name of the file";
    return NULL;
}

/* What to do about a folder that cannot be written to, by errno. */
static const char *mend_of_folder(int error) {
    return error == ENOENT  ? "make the folder, or give another name"
           : error == EROFS ? "give a name on a disk that can be written to"
                            : "change its permissions, or give another name";
}

/* Returns true if the kernel would refuse a rename over this file although its folder can be written to: the file
 * belongs to another user in a folder with the sticky bit, or something is mounted on it. */
static bool is_held(const char *target, const char *folder) {
    struct statx file;
    struct stat above;
    const uid_t user = geteuid();
    if (statx(AT_FDCWD, target, AT_SYMLINK_NOFOLLOW, STATX_UID, &file) != 0 || stat(folder, &above) != 0)
        return false;
    if ((file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return true;
    return (above.st_mode & S_ISVTX) != 0 && user != 0 && user != file.stx_uid && user != above.st_uid;
}

/* A temporary file has the sticky bit until it is renamed. The bit has no other meaning for a file, so it tells what a
 * killed process has left, such as half a prediction, from a file of the user. */
#define UNFINISHED S_ISVTX

/* Marks a file that has just been created. A file system that has no such bit is accepted. */
static void mark_unfinished(int file) {
    struct stat status;
    if (fstat(file, &status) == 0)
        (void)!fchmod(file, (status.st_mode & 07777) | UNFINISHED);
}

/* Takes the mark from the file that has been renamed. A kill before that leaves a whole file with the bit, which
 * changes nothing for its readers; so does a failure. */
static void mark_finished(const char *path) {
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & UNFINISHED) != 0)
        (void)!chmod(path, status.st_mode & 07777 & ~(mode_t)UNFINISHED);
}

/* Returns true if nothing is at the temporary name, or a file that an earlier process of firn left there when it was
 * killed: one with the mark, an empty one, or one that begins like a checkpoint, like one that is reserved, like an
 * export, or that holds one number as a counter does. */
static bool is_free(const char *temporary) {
    static const char record[] = FIRN_RECORD_MAGIC, export[] = "{\"__metadata__\":{\"format\":\"pt\",\"global_step\":";
    char bytes[64] = {0};
    struct stat status;
    if (lstat(temporary, &status) != 0)
        return errno == ENOENT;
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || (status.st_mode & UNFINISHED) != 0)
        return S_ISREG(status.st_mode);
    int file = open_again(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t count = file >= 0 ? pread(file, bytes, sizeof bytes, 0) : -1;
    if (file >= 0)
        close(file);
    if (count <= 0)
        return false;
    static const char zeros[sizeof bytes];
    return memcmp(bytes, record, sizeof record - 1) == 0 || memcmp(bytes + 8, export, sizeof export - 1) == 0 ||
           memcmp(bytes, zeros, sizeof bytes) == 0 || (count <= 11 && strspn(bytes, "0123456789\n") == (size_t)count);
}

/* Whether a file begins as keys in PEM do. A secret key that is replaced cannot be made again. */
static bool holds_key(const char *target) {
    static const char begin[] = "-----BEGIN ";
    char head[sizeof begin - 1];
    const int file = open_again(target, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool key =
        file >= 0 && pread(file, head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head, begin, sizeof head) == 0;
    if (file >= 0)
        close(file);
    return key;
}

/* Checks the target, and what stands beside it and above it. */
static bool can_replace(const char *path, const char *target) {
    char *copy = firn_host_joined(target, ""), *temporary = firn_host_joined(target, ".tmp");
    const char *folder = copy != NULL ? dirname(copy) : NULL;
    bool good = true;
    if (folder == NULL || temporary == NULL)
        good = firn_host_fail(path, "%s; free some memory", strerror(ENOMEM));
    else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        good = firn_host_fail(path, "its folder cannot be written to: %s; %s", strerror(errno), mend_of_folder(errno));
    else if (is_held(target, folder))
        good = firn_host_fail(path, "cannot be replaced, because it belongs to another user or something is mounted on "
                                    "it; give another name");
    else if (holds_key(target))
        good = firn_host_fail(path, "holds a key, which is never replaced; give another name, or move it away");
    else if (strlen(basename(temporary)) > NAME_MAX - 1) /* the name of the lock has one letter more */
        good = firn_host_fail(path, "%s; give a shorter name", strerror(ENAMETOOLONG));
    else if (!is_free(temporary))
        good = firn_host_fail(
            temporary, "is in the way: %s is written under this name first; move it away, or give another name", path);
    free(copy);
    free(temporary);
    return good;
}

bool firn_host_replaceable(const char *path) {
    const size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/')
        return firn_host_fail(path, "is the name of a folder; give the name of a file");
    char *target = target_of(path);
    const int error = errno;
    bool good = target != NULL && can_replace(path, target);
    if (target != NULL) {
        free(target);
        return good;
    }
    const char *fault = fault_of(path);
    return firn_host_fail(path, "%s%s", fault != NULL ? fault : strerror(error),
                          fault != NULL ? "" : "; give another name");
}

/* Closes a file. A signal does not keep it open. */
static bool close_synced(int file) {
    return close(file) == 0 || errno == EINTR;
}

/* Syncs the whole file system that holds a file. Failures are ignored: this stands in for the sync of a folder that
 * cannot be opened. */
static void sync_file_system(const char *path) {
    int file = open_again(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    (void)syncfs(file);
    close(file);
}

/* Syncs the folder of a path, because a rename is durable only after that. A file system that cannot sync folders is
 * accepted, and so is a folder that cannot be opened, as one with write permission but without read permission: the
 * rename has been done, and is no failure. */
static bool sync_folder(const char *path) {
    char *copy = firn_host_joined(path, "");
    int folder = copy != NULL ? open_again(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (folder < 0) {
        sync_file_system(path);
        return true;
    }
    bool synced = sync_again(folder) == 0 || errno == EINVAL || errno == ENOTSUP;
    int error = errno;
    close(folder);
    errno = error;
    return synced;
}

/* Gives the new file the permissions of the one that it replaces, if there is one: what was kept from others stays
 * so. */
static bool keep_permissions(const firn_host_replacement *replacement) {
    struct stat status;
    if (stat(replacement->target, &status) != 0)
        return errno == ENOENT;
    return fchmod(replacement->file, status.st_mode & 07777 & ~(mode_t)UNFINISHED) == 0;
}

bool firn_host_replace_begin(firn_host_replacement *replacement, const char *path) {
    *replacement = (firn_host_replacement){.file = -1, .target = target_of(path)};
    if (replacement->target == NULL)
        return false;
    replacement->temporary = firn_host_joined(replacement->target, ".tmp");
    if (replacement->temporary == NULL) {
        firn_host_replace_abandon(replacement);
        return false;
    }
    /* The temporary file is always created anew: a leftover of a crash is removed and never written to. */
    if (!is_free(replacement->temporary))
        errno = EEXIST;
    else if (unlink(replacement->temporary) == 0 || errno == ENOENT)
        replacement->file = open_again(replacement->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
    replacement->created = replacement->file >= 0;
    if (replacement->created && keep_permissions(replacement)) {
        mark_unfinished(replacement->file);
        return true;
    }
    firn_host_replace_abandon(replacement);
    return false;
}

static bool same_inode(int file, const char *path) {
    struct stat ours, there;
    return fstat(file, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

bool firn_host_replace_is_there(const firn_host_replacement *replacement) {
    return replacement->file >= 0 && same_inode(replacement->file, replacement->temporary);
}

bool firn_host_replace_reserve(const firn_host_replacement *replacement, uint64_t bytes) {
    static const uint8_t zeros[1 << 16];
    if (firn_host_reserve(replacement->file, 0, bytes))
        return true;
    if (errno != EOPNOTSUPP)
        return false;
    for (uint64_t at = 0; at < bytes; at += sizeof zeros) {
        const size_t piece = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
        if (!firn_host_replace_write(replacement, at, zeros, piece))
            return false;
    }
    return sync_again(replacement->file) == 0; /* some file systems find room only then */
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

bool firn_host_replace_sync(const firn_host_replacement *replacement) {
    return sync_again(replacement->file) == 0;
}

static void forget(firn_host_replacement *replacement) {
    free(replacement->target);
    free(replacement->temporary);
    *replacement = (firn_host_replacement){.file = -1};
}

bool firn_host_replace_end(firn_host_replacement *replacement) {
    bool written = sync_again(replacement->file) == 0;
    int error = errno;
    if (written && !firn_host_replace_is_there(replacement)) { /* another process has taken the temporary name */
        written = false;
        replacement->created = false;
        error = EBUSY;
    }
    if (!close_synced(replacement->file) && written) {
        written = false;
        error = errno;
    }
    replacement->file = -1;
    errno = error;
    if (!written || rename(replacement->temporary, replacement->target) != 0) {
        firn_host_replace_abandon(replacement);
        return false;
    }
    mark_finished(replacement->target);
    bool synced = sync_folder(replacement->target);
    error = errno;
    forget(replacement);
    replacement->placed = !synced;
    errno = error;
    return synced;
}

bool firn_host_remove(const char *path) {
    char *target = target_of(path);
    const bool removed = target != NULL && unlink(target) == 0 && sync_folder(target);
    const int error = errno;
    free(target);
    errno = error;
    return removed;
}

void firn_host_replace_abandon(firn_host_replacement *replacement) {
    int error = errno;
    if (replacement->file >= 0)
        close(replacement->file);
    if (replacement->created)
        unlink(replacement->temporary);
    forget(replacement);
    errno = error;
}

bool firn_host_replace_fail(firn_host_replacement *replacement, const char *path) {
    const bool placed = replacement->placed;
    firn_host_replace_abandon(replacement);
    if (placed)
        return firn_host_fail(path,
                              "is in its place, but the disk has not confirmed that: %s; look at the disk before you "
                              "trust it",
                              strerror(errno));
    return firn_host_fail_to_write(path);
}

/* --- locks --- */

/* Opens and locks the lock file. Returns -1 with errno set, EWOULDBLOCK if another process holds the lock. If the
 * holder removed the file while it was being opened, the lock is worthless and the loop tries again. */
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
        if (same_inode(file, path)) /* a file system without locks is accepted */
            return file;
        close(file);
    }
}

/* Opens and locks a lock file that is there, as open_locked does. Returns -1 with errno set, 0 if there is none. */
static int open_there(const char *path) {
    const int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(file);
        errno = EWOULDBLOCK;
        return -1;
    }
    errno = file < 0 && errno == ENOENT ? 0 : errno;
    return file;
}

/* Locks the file of a path; looks: only if it is there. */
static bool lock_file(firn_host_lock *lock, const char *path, bool looks) {
    char *target = target_of(path);
    *lock = (firn_host_lock){.path = firn_host_joined(target != NULL ? target : path, ".lock"), .file = -1};
    free(target);
    if (lock->path == NULL)
        return firn_host_fail(path, "the lock cannot be made: %s; free some memory", strerror(ENOMEM));
    lock->file = looks ? open_there(lock->path) : open_locked(lock->path);
    if (lock->file >= 0 || (looks && errno == 0))
        return true;
    if (errno == EWOULDBLOCK)
        firn_host_fail(path, "another run is saving there; wait for its end, or give another name");
    else
        firn_host_fail(lock->path, "the lock cannot be made: %s; %s", strerror(errno),
                       errno == EISDIR || errno == ELOOP || errno == ENXIO
                           ? "move what is there away, or give another name"
                           : "look at the folder's permissions and the disk");
    firn_host_lock_release(lock);
    return false;
}

bool firn_host_lock_take(firn_host_lock *lock, const char *path) {
    return lock_file(lock, path, false);
}

bool firn_host_lock_look(const char *path) {
    firn_host_lock lock;
    const bool good = lock_file(&lock, path, true);
    if (lock.file >= 0)
        close(lock.file);
    free(lock.path);
    return good;
}

void firn_host_lock_release(firn_host_lock *lock) {
    struct stat status;
    if (lock->path == NULL)
        return;
    if (lock->file >= 0 && fstat(lock->file, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size == 0) /* it is a lock */
        unlink(lock->path);
    if (lock->file >= 0)
        close(lock->file);
    free(lock->path);
    *lock = (firn_host_lock){.file = -1};
}
