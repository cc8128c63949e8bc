/* Reads and writes whole files (compiler/base/files.h). This file must not interpret their contents. */
#define _XOPEN_SOURCE 700

#include "compiler/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/landing.h"
#include "compiler/base/text.h"

/* The remedy that a message suggests after a failed write; reads errno. */
static const char *room(void) {
    switch (errno) {
    case EFBIG:
        return "raise the limit of file sizes (ulimit -f), or choose another disk";
    case ENOSPC:
    case EDQUOT:
        return "make room on the disk, or choose another folder";
    case EROFS:
    case EACCES:
    case EPERM:
        return "choose a folder that can be written to";
    default:
        return "check the disk, or choose another folder";
    }
}

/* The same after something could not be made in a folder. */
static const char *mend_of_folder(void) {
    if (errno == ENAMETOOLONG)
        return "choose a shorter name";
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? "check that its folder exists and may be written"
                                                                  : room();
}

/* Prints "firnc: NAME: cannot be DONE: error of errno; remedy". Returns false. */
static bool fail(const char *name, const char *done, const char *mend) {
    firnc_say("firnc: %s: cannot be %s: %s; %s", name, done, strerror(errno), mend);
    return false;
}

/* --- which files were read ------------------------------------------------------------------------------------- */

typedef struct identity {
    dev_t device;
    ino_t inode;
} identity;

static identity *were_read;
static size_t read_count;

static bool is_known(const struct stat *status) {
    for (size_t i = 0; i < read_count; i++)
        if (were_read[i].device == status->st_dev && were_read[i].inode == status->st_ino)
            return true;
    return false;
}

void firnc_file_remember(int file) {
    struct stat status;
    if (fstat(file, &status) != 0 || is_known(&status))
        return;
    identity *more = realloc(were_read, (read_count + 1) * sizeof *more);
    if (more == NULL)
        return;
    were_read = more;
    were_read[read_count++] = (identity){status.st_dev, status.st_ino};
}

void firnc_files_forget(void) {
    free(were_read);
    were_read = NULL;
    read_count = 0;
}

static bool was_read(const char *name) {
    struct stat status;
    return stat(name, &status) == 0 && is_known(&status);
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* Reads up to `most` bytes, or to the end of the file. False with errno set. */
static bool read_some(int file, uint8_t *data, uint64_t most, uint64_t *count) {
    *count = 0;
    while (*count < most) {
        ssize_t got = read(file, data + *count, most - *count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        *count += (uint64_t)got;
    }
    return true;
}

/* Reads into memory that grows: to the end of the file, or as many bytes as `extent` returns. expected: the length of
 * the file. False with errno set; EFBIG if more than `limit` bytes would be read. */
static bool read_all(int file, uint64_t expected, uint64_t limit, firnc_extent extent, firnc_bytes *bytes) {
    uint64_t capacity = FIRNC_HEAD_BYTES, count = 0, most = limit + 1, got;
    uint8_t *data = firnc_allocate_aligned(capacity + 1);
    bool ended = false;
    while (!ended && count < most) {
        const uint64_t room = capacity < most ? capacity : most;
        if (!read_some(file, data + count, room - count, &got))
            return false;
        ended = got < room - count;
        count += got;
        if (capacity == FIRNC_HEAD_BYTES && extent != NULL && extent(data, count) < most)
            most = extent(data, count);
        if (!ended && count < most) {
            capacity = capacity > expected ? 2 * capacity : expected + 1;
            capacity = capacity < most ? capacity : most;
            uint8_t *larger = firnc_allocate_aligned(capacity + 1);
            memcpy(larger, data, count);
            data = larger;
        }
    }
    data[count] = 0;
    *bytes = (firnc_bytes){.data = data, .count = count};
    errno = EFBIG;
    return count <= limit;
}

bool firnc_same_file(const char *one, const char *other) {
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A pipe without a writer would block in open(), and a device may have no end. */
int firnc_file_open(const char *name, uint64_t *size) {
    struct stat status;
    const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return -1;
    const bool known = fstat(file, &status) == 0;
    if (known && S_ISREG(status.st_mode)) {
        *size = (uint64_t)status.st_size;
        return file;
    }
    const int error = !known ? errno : S_ISDIR(status.st_mode) ? EISDIR : ENXIO;
    close(file);
    errno = error;
    return -1;
}

int firnc_input_open(const char *name, uint64_t *size) {
    struct stat status;
    const int file = firnc_file_open(name, size);
    if (file >= 0)
        return file;
    if (errno == ENOENT && lstat(name, &status) == 0)
        firnc_say("firnc: %s: is a link to a file that is not there; give the name of a file", name);
    else if (errno == EISDIR)
        firnc_say("firnc: %s: is a folder; give a file", name);
    else if (errno == ENXIO && stat(name, &status) == 0)
        firnc_say("firnc: %s: is not a file, but a %s; write what it gives to a file, and give that", name,
                  S_ISFIFO(status.st_mode)   ? "pipe"
                  : S_ISSOCK(status.st_mode) ? "socket"
                                             : "device");
    else
        fail(name, "opened", "check the name and its permissions");
    return -1;
}

bool firnc_input_read(int file, const char *name, void *bytes, uint64_t most, uint64_t *count) {
    return read_some(file, bytes, most, count) || fail(name, "read", "check the disk and its connection");
}

firnc_input_state firnc_input_look(int file) {
    struct stat status = {0};
    (void)fstat(file, &status);
    return (firnc_input_state){(uint64_t)status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

bool firnc_input_unchanged(int file, const char *name, const firnc_input_state *before) {
    const firnc_input_state now = firnc_input_look(file);
    if (now.bytes == before->bytes && now.seconds == before->seconds && now.nanoseconds == before->nanoseconds)
        return true;
    firnc_say("firnc: %s: was changed while it was read: it has %llu bytes and had %llu; run again where nobody "
              "changes it",
              name, (unsigned long long)now.bytes, (unsigned long long)before->bytes);
    return false;
}

bool firnc_file_read_part(const char *name, uint64_t limit, firnc_extent extent, firnc_bytes *bytes) {
    uint64_t size;
    int file = firnc_input_open(name, &size);
    if (file < 0)
        return false;
    firnc_hold_file(file);
    const firnc_input_state before = firnc_input_look(file);
    errno = EFBIG;
    bool good = (extent != NULL || size <= limit) && read_all(file, size, limit, extent, bytes);
    if (!good && errno == EFBIG)
        fail(name, "read",
             firnc_format("it may have %llu bytes at most; check that it is the file that is meant",
                          (unsigned long long)limit));
    else if (!good)
        fail(name, "read", "check that it is a file of the right kind");
    good = good && firnc_input_unchanged(file, name, &before);
    if (good)
        firnc_file_remember(file);
    firnc_let_go_file(file);
    close(file);
    return good;
}

bool firnc_file_read(const char *name, uint64_t limit, firnc_bytes *bytes) {
    return firnc_file_read_part(name, limit, NULL, bytes);
}

/* --- writing --------------------------------------------------------------------------------------------------- */

/* Holds back the signals that end the program until a file has its name, so that none leaves half a file behind. */
static void hold_signals(sigset_t *before) {
    static const int held[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        sigaddset(&signals, held[i]);
    sigprocmask(SIG_BLOCK, &signals, before);
}

/* Writes all bytes, at the end of what was written. False with errno set. */
static bool write_all(int file, const uint8_t *bytes, uint64_t count) {
    while (count > 0) {
        ssize_t put = write(file, bytes, count);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        count -= (uint64_t)put;
    }
    return true;
}

/* Syncs the file if `good`, and closes it in any case. False with errno set; errno stays if it was not good. */
static bool sync_and_close(int file, bool good) {
    good = good && fsync(file) == 0;
    int error = errno;
    if (close(file) != 0 && good) {
        good = false;
        error = errno;
    }
    errno = error;
    return good;
}

/* Makes a new directory entry durable. Two cases count as success, because the entry is there: a file system that
 * cannot sync folders, and a folder that cannot be opened, such as one with write but without read permission. False
 * with errno set. Allocates nothing, because it runs between the names of a set of files. */
static bool sync_folder(const char *name) {
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(name, '/');
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", slash == name ? 1 : (int)(slash - name), name);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return true;
    bool good = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
    int error = errno;
    close(descriptor);
    errno = error;
    return good;
}

/* Follows symbolic links to the real file, so that rename() replaces the file and not the link. Returns NULL after a
 * message if the name is that of something else, which rename() would destroy. */
static const char *resolve(const char *name) {
    struct stat status;
    if (stat(name, &status) != 0) {
        if (lstat(name, &status) != 0 || !S_ISLNK(status.st_mode))
            return name;
        firnc_say("firnc: %s: is a link to a file that is not there; remove the link, or give the name of the file",
                  name);
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        firnc_say("firnc: %s: is not a regular file; give the name of a file", name);
        return NULL;
    }
    char *real = realpath(name, NULL);
    if (real == NULL)
        return name;
    firnc_hold(free, real);
    const char *copy = firnc_format("%s", real);
    firnc_let_go(free, real);
    free(real);
    return copy;
}

/* A name beside the target, for mkstemp. */
static char *name_beside(const char *target) {
    const char *pattern = firnc_format("%s.XXXXXX", target);
    char *name = firnc_allocate(strlen(pattern) + 1);
    memcpy(name, pattern, strlen(pattern) + 1);
    return name;
}

/* Whether a file begins as keys in PEM do. A secret key that is replaced cannot be made again. */
static bool holds_key(const char *name) {
    static const char begin[] = "-----BEGIN ";
    char head[sizeof begin - 1];
    const int file = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool key =
        file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, begin, sizeof head) == 0;
    if (file >= 0)
        close(file);
    return key;
}

/* Finds the target of a name, which must be free to be replaced. */
static bool find_target(firnc_output *output, const char *name) {
    *output = (firnc_output){.name = name, .target = resolve(name), .file = -1};
    if (output->target == NULL)
        return false;
    if (was_read(output->target))
        firnc_say("firnc: %s: would be replaced, and is read; give another name", name);
    else if (holds_key(output->target))
        firnc_say("firnc: %s: holds a key, which is never replaced; give another name, or move it away", name);
    else
        return true;
    return false;
}

static void remove_name(void *name) {
    unlink(name);
}

/* Until it has its name, a temporary file is removed if the call ends early. */
static bool create_temporary(firnc_output *output) {
    char *temporary = name_beside(output->target);
    firnc_hold(remove_name, temporary);
    output->file = mkstemp(temporary);
    if (output->file < 0) {
        fail(output->name, "written", mend_of_folder());
        firnc_let_go(remove_name, temporary);
        return false;
    }
    firnc_hold_file(output->file);
    output->temporary = temporary;
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(output->file, 0666 & ~mask) == 0)
        return true;
    fail(output->name, "written", room());
    firnc_output_abandon(output);
    return false;
}

bool firnc_output_begin(firnc_output *output, const char *name) {
    return find_target(output, name) && create_temporary(output);
}

/* Whether a name may be added to the folder of a name, without slashes at its end. False with errno set. */
static bool can_add_beside(const char *name) {
    const char *slash = strrchr(name, '/');
    const char *folder = slash == NULL ? "." : firnc_format("%.*s/.", (int)(slash - name), name);
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

bool firnc_output_look(const char *name) {
    firnc_output output;
    return find_target(&output, name) && (can_add_beside(output.target) || fail(name, "written", mend_of_folder()));
}

bool firnc_output_add(firnc_output *output, const void *bytes, uint64_t count) {
    if (write_all(output->file, bytes, count))
        return true;
    fail(output->name, "written", room());
    firnc_output_abandon(output);
    return false;
}

/* Replaces the first `count` bytes, and closes the temporary file, in which everything is then. */
static bool close_temporary(firnc_output *output, const void *head, uint64_t count) {
    const bool written = count == 0 || (lseek(output->file, 0, SEEK_SET) == 0 && write_all(output->file, head, count));
    firnc_let_go_file(output->file);
    const bool closed = sync_and_close(output->file, written);
    output->file = -1;
    if (closed)
        return true;
    fail(output->name, "written", room());
    firnc_output_abandon(output);
    return false;
}

static bool rename_temporary(firnc_output *output) {
    if (rename(output->temporary, output->target) == 0) {
        firnc_let_go(remove_name, output->temporary);
        output->temporary = NULL;
        return true;
    }
    fail(output->name, "written", room());
    firnc_output_abandon(output);
    return false;
}

static bool sync_target(const firnc_output *output) {
    return sync_folder(output->target) || fail(output->name, "made durable", "check the disk and write it again");
}

bool firnc_output_end(firnc_output *output, const void *head, uint64_t count) {
    return close_temporary(output, head, count) && rename_temporary(output) && sync_target(output);
}

void firnc_output_abandon(firnc_output *output) {
    if (output->file >= 0) {
        firnc_let_go_file(output->file);
        close(output->file);
    }
    if (output->temporary != NULL) {
        firnc_let_go(remove_name, output->temporary);
        unlink(output->temporary);
    }
    output->file = -1;
    output->temporary = NULL;
}

bool firnc_file_write(const char *name, const void *bytes, uint64_t count) {
    firnc_output output;
    sigset_t before;
    hold_signals(&before);
    const bool good = firnc_output_begin(&output, name) && firnc_output_add(&output, bytes, count) &&
                      firnc_output_end(&output, NULL, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

/* --- sets of files ------------------------------------------------------------------------------------------------ */

typedef struct member {
    firnc_output output;
    char *before; /* a second name of the file that was there; NULL: there was none */
} member;

/* Gives the file that is there a second name, under which it can be put back. */
static bool keep_before(member *m) {
    struct stat status;
    if (stat(m->output.target, &status) != 0)
        return true;
    char *before = name_beside(m->output.target);
    int file = mkstemp(before);
    if (file < 0)
        return fail(m->output.name, "written", room());
    close(file);
    unlink(before);
    if (link(m->output.target, before) != 0)
        return fail(m->output.name, "kept", "remove it, or choose another folder");
    m->before = before;
    firnc_hold(remove_name, before);
    return true;
}

/* The second name is gone, or stays. */
static void forget_before(member *m) {
    firnc_let_go(remove_name, m->before);
    m->before = NULL;
}

/* Puts back what was there before the rename. If that fails, what was there stays under its second name, which the
 * message gives. Returns whether it did. */
static bool undo_rename(member *m) {
    const bool undone =
        m->before != NULL ? rename(m->before, m->output.target) == 0 : unlink(m->output.target) == 0 || errno == ENOENT;
    if (undone) {
        forget_before(m);
        (void)sync_folder(m->output.target); /* the set has failed, and the message about that has been printed */
        return true;
    }
    char mend[PATH_MAX + 64] = "it belongs to a set that was not written whole: remove it";
    if (m->before != NULL)
        snprintf(mend, sizeof mend, "what it held is in %s: move it back", m->before);
    fail(m->output.name, m->before != NULL ? "put back" : "removed again", mend);
    forget_before(m);
    return false;
}

/* Writes a whole file under a temporary name. */
static bool write_temporary(firnc_output *output, const firnc_bytes *bytes) {
    return create_temporary(output) && firnc_output_add(output, bytes->data, bytes->count) &&
           close_temporary(output, NULL, 0);
}

/* Writes each file under a temporary name, then gives each its own name. */
static bool write_set(member *set, const firnc_file *files, uint32_t count) {
    bool good = true;
    uint32_t renamed = 0;
    for (uint32_t i = 0; i < count && good; i++)
        good = write_temporary(&set[i].output, &files[i].bytes);
    for (uint32_t i = 0; i < count && good; i++)
        good = keep_before(&set[i]);
    while (renamed < count && good) {
        good = rename_temporary(&set[renamed].output);
        renamed += good;
    }
    for (uint32_t i = 0; i < renamed && !good; i++)
        (void)undo_rename(&set[i]);
    for (uint32_t i = 0; i < count && good; i++)
        good = sync_target(&set[i].output);
    return good;
}

/* Whether no earlier name of the set is one of the same file, as a link is. */
static bool is_of_its_own(const member *set, uint32_t position) {
    const firnc_output *output = &set[position].output;
    for (uint32_t i = 0; i < position; i++)
        if (strcmp(set[i].output.target, output->target) == 0 ||
            firnc_same_file(set[i].output.target, output->target)) {
            firnc_say("firnc: %s: is the same file as %s; remove the link", output->name, set[i].output.name);
            return false;
        }
    return true;
}

/* Removes what temporary and second names are left. */
static void clear(member *set, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        firnc_output_abandon(&set[i].output);
        if (set[i].before != NULL) {
            unlink(set[i].before);
            forget_before(&set[i]);
        }
    }
}

bool firnc_files_write(const firnc_file *files, uint32_t count) {
    member *set = firnc_allocate((count + UINT64_C(1)) * sizeof *set);
    for (uint32_t i = 0; i < count; i++)
        if (!find_target(&set[i].output, files[i].name) || !is_of_its_own(set, i))
            return false;
    sigset_t before;
    hold_signals(&before);
    const bool good = write_set(set, files, count);
    clear(set, count);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

/* Gives a file and its note their names. The older note goes first and the new one comes last, each step on the disk
 * before the next, so that no note is ever beside a file that it is not of. */
static bool name_pair(member *file, member *note) {
    if (note->before != NULL && unlink(note->output.target) != 0)
        return fail(note->output.name, "removed", room());
    const bool alone = note->before == NULL || sync_target(&note->output);
    const bool named = alone && rename_temporary(&file->output);
    const bool good = named && sync_target(&file->output) && rename_temporary(&note->output);
    /* the older note comes back only beside the older file */
    if (!good && (!named || undo_rename(file)))
        (void)undo_rename(note);
    return good && sync_target(&note->output);
}

bool firnc_output_end_noted(firnc_output *output, const void *head, uint64_t count, const firnc_file *note) {
    member pair[2] = {{.output = *output}};
    sigset_t before;
    hold_signals(&before);
    const bool good = find_target(&pair[1].output, note->name) && is_of_its_own(pair, 1) &&
                      close_temporary(&pair[0].output, head, count) && write_temporary(&pair[1].output, &note->bytes) &&
                      keep_before(&pair[0]) && keep_before(&pair[1]) && name_pair(&pair[0], &pair[1]);
    clear(pair, 2);
    *output = pair[0].output;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

bool firnc_folder_make(const char *name, bool *made) {
    struct stat status;
    *made = mkdir(name, 0777) == 0;
    if (*made || (errno == EEXIST && stat(name, &status) == 0 && S_ISDIR(status.st_mode)))
        return true;
    if (errno != EEXIST)
        return fail(name, "made", mend_of_folder());
    firnc_say("firnc: %s: is no folder; give the name of a folder", name);
    return false;
}

bool firnc_folder_look(const char *name, bool *there) {
    struct stat status;
    size_t length = strlen(name);
    *there = stat(name, &status) == 0;
    if (*there && !S_ISDIR(status.st_mode)) {
        firnc_say("firnc: %s: is no folder; give the name of a folder", name);
        return false;
    }
    while (length > 1 && name[length - 1] == '/')
        length--;
    return *there || can_add_beside(firnc_format("%.*s", (int)length, name)) || fail(name, "made", mend_of_folder());
}

static bool create(const char *name, const void *bytes, uint64_t count, unsigned permissions) {
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)permissions);
    if (file < 0)
        return fail(name, "made",
                    errno == EEXIST ? "it is never overwritten: choose another name or move it away"
                                    : mend_of_folder());
    if (!sync_and_close(file, write_all(file, bytes, count)) || !sync_folder(name)) {
        fail(name, "written", room());
        unlink(name);
        return false;
    }
    return true;
}

bool firnc_file_create(const char *name, const void *bytes, uint64_t count, unsigned permissions) {
    sigset_t before;
    hold_signals(&before);
    const bool good = create(name, bytes, count, permissions);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

/* --- new folders -------------------------------------------------------------------------------------------------- */

bool firnc_folder_is_free(const char *name) {
    struct stat status;
    if (lstat(name, &status) != 0)
        return true; /* what else is wrong with the name, the folder's maker says */
    if (!S_ISDIR(status.st_mode)) {
        firnc_say("firnc: %s: is there, and is no folder; give the name of a new folder", name);
        return false;
    }
    DIR *folder = opendir(name);
    if (folder == NULL)
        return fail(name, "read", "give the name of a new folder");
    uint32_t entries = 0;
    while (readdir(folder) != NULL)
        entries++;
    closedir(folder);
    if (entries > 2) /* . and .. */
        firnc_say("firnc: %s: is there, and is not empty; remove it, or give the name of a new folder", name);
    return entries <= 2;
}

/* Makes the folders of a path that lie below its first `from` bytes. */
static bool make_folders(const char *path, size_t from) {
    for (const char *slash = strchr(path + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *folder = firnc_format("%.*s", (int)(slash - path), path);
        const bool made = mkdir(folder, 0777) == 0;
        if ((!made && errno != EEXIST) || (made && !sync_folder(folder)))
            return fail(folder, "made", room());
    }
    return true;
}

/* Removes the files that are there and the folders that have become empty, and last the temporary folder. */
static void remove_folder(const char *folder, const firnc_file *files, uint32_t count) {
    const size_t from = strlen(folder) + 1;
    for (uint32_t i = 0; i < count; i++) {
        char *path = name_beside(firnc_format("%s/%s", folder, files[i].name));
        path[strlen(path) - strlen(".XXXXXX")] = '\0';
        (void)unlink(path);
        for (char *slash = strrchr(path, '/'); slash != NULL && slash > path + from; slash = strrchr(path, '/')) {
            *slash = '\0';
            (void)rmdir(path);
        }
    }
    (void)rmdir(folder);
}

static bool fill_folder(const char *folder, const firnc_file *files, uint32_t count) {
    const size_t from = strlen(folder) + 1;
    for (uint32_t i = 0; i < count; i++) {
        const char *path = firnc_format("%s/%s", folder, files[i].name);
        if (!make_folders(path, from) || !create(path, files[i].bytes.data, files[i].bytes.count, 0666))
            return false;
    }
    return true;
}

static bool write_folder(const char *name, const firnc_file *files, uint32_t count) {
    char *folder = name_beside(name);
    if (mkdtemp(folder) == NULL)
        return fail(name, "made", mend_of_folder());
    const mode_t mask = umask(0);
    umask(mask);
    const bool filled = fill_folder(folder, files, count);
    bool good = filled && chmod(folder, 0777 & ~mask) == 0 && rename(folder, name) == 0;
    if (filled && !good)
        fail(name, "made", "give the name of a new folder");
    if (!good)
        remove_folder(folder, files, count);
    return good && (sync_folder(name) || fail(name, "made durable", "check the disk and write it again"));
}

bool firnc_folder_write(const char *name, const firnc_file *files, uint32_t count) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    sigset_t before;
    hold_signals(&before);
    const bool good = firnc_folder_is_free(name) && write_folder(firnc_format("%.*s", (int)length, name), files, count);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}
