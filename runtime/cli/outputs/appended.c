/* A file that a run appends to: the log, the rows of --csv, the events of --tensorboard. Each entry is written whole by
 * one call of the system. Room for an entry is reserved before the step that it is about, so that a disk that is full
 * ends a run between two steps. What an entry says is decided in log.c, csv.c and events.c. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

enum {
    ROOM_BYTES = 1 << 16, /* reserved at once, or one entry only if the disk has less */
    SHOWN_BYTES = 80      /* of a line that is refused */
};

/* --- writing --- */

const char *cli_appended_noun(const cli_appended *to) {
    const char *space = strrchr(to->what, ' ');
    return space != NULL ? space + 1 : to->what;
}

/* Says that the file cannot be written, by errno. Returns CLI_FILE. */
static int refuse(const cli_appended *to) {
    firn_host_fail(to->path, "%s cannot be written: %s; %s", to->what,
                   errno == ENXIO ? "nobody reads this pipe" : strerror(errno),
                   errno == EFBIG    ? firn_host_room()
                   : errno == EISDIR ? "give the name of a file"
                   : errno == ENXIO  ? "start its reader first, or give the name of a file"
                                     : "look at the folder and the disk");
    return CLI_FILE;
}

/* Keeps errno of the first failure. */
static bool fails(cli_appended *to) {
    if (to->failed == 0)
        to->failed = errno != 0 ? errno : EIO;
    return false;
}

bool cli_appended_is_file(const cli_appended *to) {
    struct stat status;
    if (to->file == NULL) /* of a dry run, which makes none */
        return to->looks && (stat(to->path, &status) != 0 || S_ISREG(status.st_mode));
    return fstat(fileno(to->file), &status) == 0 && S_ISREG(status.st_mode);
}

static bool put(const cli_appended *to, const char *bytes, size_t count) {
    return fwrite(bytes, 1, count, to->file) == count;
}

void cli_appended_look(cli_appended *to) {
    struct stat status;
    if (to->file == NULL || fstat(fileno(to->file), &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size >= to->written)
        return;
    /* A file may be emptied just before the last entry is written, which then is all that it has. */
    const size_t last = status.st_size != 0 ? to->last_bytes : 0;
    to->reserved = 0;
    to->written = (uint64_t)status.st_size;
    if (to->written != last || (last != 0 && ftruncate(fileno(to->file), 0) != 0)) {
        to->cut = CLI_FILE_CUT;
        return;
    }
    to->cut = to->cut == CLI_FILE_CUT ? CLI_FILE_CUT : CLI_FILE_EMPTIED;
    if (put(to, to->head, to->head_bytes) && put(to, to->last, last) && fflush(to->file) == 0)
        to->written = to->head_bytes + last;
    else
        fails(to);
}

bool cli_appended_reserve(cli_appended *to) {
    cli_appended_look(to);
    if (to->failed != 0)
        return false;
    if (!cli_appended_is_file(to) || to->written + to->entry_bytes <= to->reserved)
        return true;
    uint64_t bytes = ROOM_BYTES;
    bool reserved = firn_host_reserve(fileno(to->file), to->written, bytes);
    if (!reserved && errno != EOPNOTSUPP) {
        bytes = to->entry_bytes;
        reserved = firn_host_reserve(fileno(to->file), to->written, bytes);
    }
    if (!reserved && errno != EOPNOTSUPP)
        return fails(to);
    to->reserved = reserved ? to->written + bytes : UINT64_MAX;
    return true;
}

FILE *cli_appended_entry(cli_appended *to, size_t kept) {
    to->created = false;
    errno = 0;
    FILE *entry = fmemopen(to->last + kept, to->entry_bytes - kept, "w");
    if (entry == NULL)
        fails(to);
    to->last_bytes = kept;
    return entry;
}

bool cli_appended_close_entry(cli_appended *to, FILE *entry) {
    const long bytes = ftell(entry);
    const bool whole = fclose(entry) == 0 && bytes >= 0 && (size_t)bytes < to->entry_bytes - to->last_bytes;
    if (!whole) {
        errno = EOVERFLOW; /* never: an entry has fewer than entry_bytes */
        return fails(to);
    }
    to->last_bytes += (size_t)bytes;
    return true;
}

bool cli_appended_write(cli_appended *to) {
    errno = 0;
    if (put(to, to->last, to->last_bytes) && fflush(to->file) == 0 && !ferror(to->file)) {
        to->written += to->last_bytes;
        return true;
    }
    fails(to);
    __fpurge(to->file); /* a part of an entry is worth nothing */
    if (cli_appended_is_file(to))
        (void)!ftruncate(fileno(to->file), (off_t)to->written);
    return false;
}

/* A file that is opened to append takes no bytes elsewhere, so it is not while these are written. */
bool cli_appended_replace(cli_appended *to, uint64_t begin, size_t kept) {
    const int file = fileno(to->file);
    const size_t rest = to->last_bytes - kept;
    errno = 0;
    const bool replaced = fcntl(file, F_SETFL, 0) == 0 &&
                          pwrite(file, to->last + kept, rest, (off_t)(begin + kept)) == (ssize_t)rest &&
                          ftruncate(file, (off_t)(begin + to->last_bytes)) == 0 && fcntl(file, F_SETFL, O_APPEND) == 0;
    if (!replaced)
        return fails(to);
    to->written = begin + to->last_bytes;
    return true;
}

bool cli_appended_is_there(const cli_appended *to) {
    struct stat status;
    return !cli_appended_is_file(to) || fstat(fileno(to->file), &status) != 0 || status.st_nlink > 0;
}

bool cli_appended_sync(cli_appended *to) {
    if (to->file == NULL)
        return true;
    errno = 0;
    /* fsync fails on a pipe or a device, which has no disk to flush to. */
    bool synced = fflush(to->file) == 0 && (fsync(fileno(to->file)) == 0 || errno == EINVAL || errno == EROFS);
    return synced || fails(to);
}

void cli_appended_end(cli_appended *to, bool failed) {
    struct stat status;
    free(to->head);
    free(to->last);
    to->head = to->last = NULL;
    if (to->file == NULL)
        return;
    if (failed && to->created && cli_appended_is_file(to))
        unlink(to->path);
    else if (to->reserved != 0 && to->reserved != UINT64_MAX && fstat(fileno(to->file), &status) == 0)
        (void)!ftruncate(fileno(to->file), status.st_size); /* gives back the room that no entry has taken */
    fclose(to->file);
    to->file = NULL;
}

/* --- opening --- */

/* Returns true for a regular file that is not empty. A pipe or a device holds nothing that could be lost. */
static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

static int refuse_there(const char *path) {
    firn_host_fail(path, "is there already; give --resume to go on with it, or another name");
    return CLI_FILE;
}

/* Locks the file, because two runs writing one file would destroy it. A file system without locks is accepted. */
static int claim(const cli_appended *to, bool there) {
    struct stat status;
    int file = fileno(to->file);
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return CLI_OK;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        firn_host_fail(to->path, "another run is writing this %s; wait for its end, or give another %s",
                       cli_appended_noun(to), to->option);
        return CLI_FILE;
    }
    /* Another run may have written the file between the check and the lock. */
    return there || (fstat(file, &status) == 0 && status.st_size == 0) ? CLI_OK : refuse_there(to->path);
}

/* Opens the file. Neither way truncates it before the lock is held, and neither waits until a pipe has a reader:
 * without a reader errno is ENXIO. */
static FILE *open_path(const char *path, bool there) {
    if (there)
        return fopen(path, "r+");
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
    if (file >= 0 && fcntl(file, F_SETFL, O_APPEND) == 0)
        return fdopen(file, "a");
    if (file >= 0)
        close(file);
    return NULL;
}

bool cli_appended_has_folder(const char *path) {
    char *copy = firn_host_path(path, "");
    const bool can = faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) == 0;
    const int error = errno;
    free(copy);
    errno = error;
    return can;
}

/* Finds out whether the file could be opened, a new one also whether there is room for its first entry, and opens it
 * for reading if it is gone on with. Returns false with errno set if it could not. A pipe is not opened, because its
 * reader would see that. */
static bool look(cli_appended *to, bool there) {
    struct stat status;
    if (there) {
        to->file = faccessat(AT_FDCWD, to->path, W_OK, AT_EACCESS) == 0 ? fopen(to->path, "r") : NULL;
        return to->file != NULL;
    }
    if (stat(to->path, &status) == 0) {
        errno = EISDIR;
        return !S_ISDIR(status.st_mode) && faccessat(AT_FDCWD, to->path, W_OK, AT_EACCESS) == 0;
    }
    if (errno != ENOENT)
        return false;
    if (to->path[0] != 0 && to->path[strlen(to->path) - 1] == '/') {
        errno = EISDIR;
        return false;
    }
    return cli_appended_has_folder(to->path) && firn_host_has_room(to->path, to->head_bytes + to->entry_bytes);
}

int cli_appended_begin(cli_appended *to, bool resume) {
    const bool there = is_there(to->path);
    if (there && !resume)
        return refuse_there(to->path);
    to->last = firn_host_allocate(to->entry_bytes);
    if (to->looks) {
        to->created = !there;
        return !look(to, there) ? refuse(to) : there ? claim(to, there) : CLI_OK;
    }
    to->file = open_path(to->path, there);
    const int status = to->file != NULL ? claim(to, there) : CLI_OK;
    if (status != CLI_OK)
        return status;
    to->created = !there;
    if (to->file != NULL && there)
        return CLI_OK;
    to->written = to->head_bytes;
    return to->file != NULL && put(to, to->head, to->head_bytes) && fflush(to->file) == 0 ? CLI_OK : refuse(to);
}

/* Whether a line is the last one that a run prints, where standard output appends to the same file. */
static bool is_digest(const char *line) {
    static const char begin[] = "digest ";
    return strncmp(line, begin, sizeof begin - 1) == 0;
}

static int refuse_line(const cli_appended *to, const char *line, uint64_t number) {
    const int shown = (int)strcspn(line, "\r\n");
    firn_host_fail(to->path,
                   "line %llu is none that this run wrote there: it begins with \"%.*s\"%s; take it out, or give "
                   "another %s",
                   (unsigned long long)number, shown > SHOWN_BYTES ? SHOWN_BYTES : shown, line,
                   shown > SHOWN_BYTES ? "..." : "", to->option);
    return CLI_FILE;
}

static int refuse_end(const cli_appended *to, uint64_t last, uint64_t steps_done) {
    firn_host_fail(to->path,
                   "ends at step %llu and the checkpoint is at step %llu; give the %s that goes with it, or another %s",
                   (unsigned long long)last, (unsigned long long)steps_done, cli_appended_noun(to), to->option);
    return CLI_FILE;
}

int cli_appended_keep(cli_appended *to, const cli_appended_lines *lines, uint64_t steps_done) {
    char *line = NULL;
    size_t space = 0;
    ssize_t length;
    uint64_t number = 1, last = 0, before = 0; /* number: of the line, behind the head */
    bool ahead = false, ours = true;
    off_t bytes = ftello(to->file);
    while (ours && (length = getline(&line, &space, to->file)) > 0 && line[length - 1] == '\n') {
        const uint64_t step = lines->step_of(lines->context, line);
        number++;
        if (is_digest(line))
            continue;
        ours = step != 0 && step >= before;
        before = step;
        ahead = ahead || step > steps_done;
        if (ours && lines->take != NULL)
            lines->take(lines->context, line, step, ahead);
        if (!ours || ahead)
            continue;
        bytes = ftello(to->file);
        last = step;
    }
    const int status = ours ? CLI_OK : refuse_line(to, line, number);
    free(line);
    to->written = (uint64_t)bytes;
    return status != CLI_OK || last == 0 || last == steps_done ? status : refuse_end(to, last, steps_done);
}

/* From then on entries are appended, so that no hole appears in a file that is cut during the run. */
int cli_appended_cut_ahead(cli_appended *to) {
    if (to->file == NULL || to->created || to->looks)
        return CLI_OK;
    const int file = fileno(to->file);
    const off_t bytes = (off_t)to->written;
    if (ftruncate(file, bytes) == 0 && fseeko(to->file, bytes, SEEK_SET) == 0 && fcntl(file, F_SETFL, O_APPEND) == 0)
        return CLI_OK;
    return refuse(to);
}
