/* Tests that the host replaces a checkpoint as a whole. The linker leads the system calls of the library through this
 * file: it writes down their order, ends the process at each of them, and lets each of them fail with each error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"
#include "tests/unit/support_test.h"

/* --- the calls ---------------------------------------------------------------------------------------------------- */

typedef enum call { NO_CALL, OPEN, OPEN_FOLDER, RESERVE, WRITE, SYNC, SYNC_FOLDER, CLOSE, RENAME } call;

enum { CALLS_MAX = 64 };

static struct {
    bool watching;
    call calls[CALLS_MAX];
    uint32_t count;
    uint32_t fail_at; /* number of the call that fails, counted from 1; 0: none */
    int error;
    uint32_t end_at; /* number of the call before which the process ends; 0: none */
    bool short_writes;
    bool cannot_reserve; /* as a file system without reservations */
} seen;

/* Notes a call. Returns true if it is to fail. */
static bool fails(call call) {
    if (!seen.watching)
        return false;
    assert_true(seen.count < CALLS_MAX);
    seen.calls[seen.count++] = call;
    if (seen.count == seen.end_at)
        _exit(0);
    if (seen.count != seen.fail_at)
        return false;
    errno = seen.error;
    return true;
}

static bool is_folder(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    if ((flags & O_WRONLY) != 0) /* never a file that is there, nor through a link */
        assert_true((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0 && (flags & O_NOFOLLOW) != 0);
    return fails((flags & O_DIRECTORY) != 0 ? OPEN_FOLDER : OPEN) ? -1 : __real_open64(path, flags, mode);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    return __real_open(path, flags, mode);
}

ssize_t __real_pwrite64(int file, const void *bytes, size_t count, off64_t offset);
ssize_t __wrap_pwrite64(int file, const void *bytes, size_t count, off64_t offset);
ssize_t __wrap_pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    if (fails(WRITE))
        return -1;
    return __real_pwrite64(file, bytes, seen.short_writes ? 1 + count / 2 : count, offset);
}

ssize_t __real_pwrite(int file, const void *bytes, size_t count, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t count, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return __real_pwrite(file, bytes, count, offset);
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
    return fails(is_folder(file) ? SYNC_FOLDER : SYNC) ? -1 : __real_fsync(file);
}

int __real_close(int file);
int __wrap_close(int file);
int __wrap_close(int file) {
    const bool failed = fails(CLOSE);
    const int result = __real_close(file); /* which also closes where it reports an error */
    if (failed)
        errno = seen.error;
    return failed ? -1 : result;
}

int __real_fallocate64(int file, int mode, off64_t offset, off64_t length);
int __wrap_fallocate64(int file, int mode, off64_t offset, off64_t length);
int __wrap_fallocate64(int file, int mode, off64_t offset, off64_t length) {
    if (seen.cannot_reserve)
        errno = EOPNOTSUPP;
    return fails(RESERVE) || seen.cannot_reserve ? -1 : __real_fallocate64(file, mode, offset, length);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
    return fails(RENAME) ? -1 : __real_rename(from, to);
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

static char folder[64], path[96], temporary[96], link_path[96];
static firn_host_port port;

BEFORE_EACH {
    memset(&seen, 0, sizeof seen);
    strcpy(folder, P_tmpdir "/firn-replace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    snprintf(temporary, sizeof temporary, "%s/checkpoint.tmp", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    firn_host_port_begin(&port, path, NULL, 1);
}

AFTER_EACH {
    firn_host_port_end(&port);
    unlink(path);
    unlink(temporary);
    unlink(link_path);
    assert_int_equal(rmdir(folder), 0);
}

/* A checkpoint begins with these bytes. A leftover is recognised by them. */
static const char magic[8] = {'F', 'I', 'R', 'N', 'C', 'K', 'P', 'T'};

/* Returns the one byte that follows the magic in the whole file, 0 if the file is not there; anything else fails. */
static char contents(const char *of) {
    char bytes[400];
    FILE *file = fopen(of, "rb");
    if (file == NULL)
        return 0;
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(count, 300);
    assert_memory_equal(bytes, magic, sizeof magic);
    for (size_t i = sizeof magic; i < count; i++)
        assert_int_equal(bytes[i], bytes[sizeof magic]);
    return bytes[sizeof magic];
}

static void write_text(const char *to, const char *text) {
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Writes 300 such bytes through the port as the library does. The first error ends it. */
static int store(char byte) {
    char bytes[100];
    memset(bytes, byte, sizeof bytes);
    int status = port.storage.erase(&port, 0, 304);
    memcpy(bytes, magic, sizeof magic);
    for (uint64_t i = 0; status == FIRN_OK && i < 3; i++) {
        status = port.storage.program(&port, 100 * i, bytes, sizeof bytes);
        memset(bytes, byte, sizeof bytes);
    }
    return status == FIRN_OK ? port.storage.sync(&port) : status;
}

static int store_watched(char byte, uint32_t fail_at, int error) {
    memset(&seen, 0, sizeof seen);
    seen.watching = true;
    seen.fail_at = fail_at;
    seen.error = error;
    const int status = store(byte);
    seen.watching = false;
    return status;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* The order that survives a power cut: all bytes are on the disk before the name, and the name before the end. */
TEST(syncs_before_and_after_the_rename) {
    static const call order[] = {OPEN, WRITE, WRITE, WRITE, SYNC, CLOSE, RENAME, OPEN_FOLDER, SYNC_FOLDER, CLOSE};
    for (int i = 0; i < 2; i++) { /* the first file, and its replacement */
        const char byte = i == 0 ? 'a' : 'b';
        assert_int_equal(store_watched(byte, 0, 0), FIRN_OK);
        assert_int_equal(seen.count, sizeof order / sizeof *order);
        assert_memory_equal(seen.calls, order, sizeof order);
        assert_int_equal(contents(path), byte);
    }
}

/* A process that ends at any call leaves the old file or the new one; what it leaves beside it does not disturb the
 * next. */
TEST(ends_at_every_call) {
    assert_int_equal(store_watched('a', 0, 0), FIRN_OK);
    const uint32_t calls = seen.count;
    bool renamed = false;
    for (uint32_t at = 1; at <= calls; at++) {
        assert_int_equal(store('a'), FIRN_OK);
        pid_t child = fork();
        if (child == 0) {
            memset(&seen, 0, sizeof seen);
            seen.watching = true;
            seen.end_at = at;
            (void)store('b');
            _exit(1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        const char found = contents(path);
        assert_true(found == 'a' || found == 'b');
        assert_true(!renamed || found == 'b');
        renamed = found == 'b';
        assert_int_equal(store('c'), FIRN_OK);
        assert_int_equal(contents(path), 'c');
        assert_int_equal(access(temporary, F_OK), -1);
    }
    assert_true(renamed);
}

/* Every error of every call is reported, with two exceptions: a signal is no error, and after the rename a folder that
 * cannot be opened is none. The old file stays until the rename, and nothing is left beside it. */
TEST(every_error_of_every_call) {
    static const int errors[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EACCES, EINTR};
    assert_int_equal(store_watched('a', 0, 0), FIRN_OK);
    const uint32_t calls = seen.count;
    for (uint32_t at = 1; at <= calls; at++) {
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
            assert_int_equal(store('a'), FIRN_OK);
            const int status = store_watched('b', at, errors[e]);
            const call failed = seen.calls[at - 1];
            const bool full = errors[e] == ENOSPC || errors[e] == EDQUOT || errors[e] == EFBIG;
            const bool last = at == calls; /* the folder has been synced */
            if (last || failed == OPEN_FOLDER || (errors[e] == EINTR && failed != RENAME))
                assert_int_equal(status, FIRN_OK);
            else
                assert_int_equal(status, full ? FIRN_ERROR_STORAGE_FULL : FIRN_ERROR_STORAGE);
            if (status != FIRN_OK)
                assert_int_equal(port.cause, errors[e]);
            const bool renamed = failed == SYNC_FOLDER || status == FIRN_OK;
            assert_int_equal(contents(path), renamed ? 'b' : 'a');
            assert_int_equal(access(temporary, F_OK), -1);
        }
    }
    assert_int_equal(store('c'), FIRN_OK);
}

/* Reserves room as before a run, then stores. */
static int reserve_and_store(char byte) {
    const int status = firn_host_port_reserve(&port, 304);
    return status == FIRN_OK ? store(byte) : status;
}

/* What was reserved is used by the first save, and given back at the end without one. */
TEST(the_first_save_takes_what_is_reserved) {
    static const call order[] = {OPEN,  RESERVE, WRITE,       WRITE,       WRITE, SYNC,
                                 CLOSE, RENAME,  OPEN_FOLDER, SYNC_FOLDER, CLOSE};
    struct stat status;
    seen.watching = true;
    assert_int_equal(reserve_and_store('a'), FIRN_OK);
    seen.watching = false;
    assert_int_equal(seen.count, sizeof order / sizeof *order);
    assert_memory_equal(seen.calls, order, sizeof order);
    assert_int_equal(contents(path), 'a');
    assert_int_equal(store('b'), FIRN_OK);
    assert_int_equal(contents(path), 'b');
    assert_int_equal(firn_host_port_reserve(&port, UINT64_C(1) << 20), FIRN_OK);
    assert_int_equal(stat(temporary, &status), 0);
    assert_true(status.st_blocks >= 1 << 11);
    firn_host_port_end(&port);
    assert_int_equal(access(temporary, F_OK), -1);
    firn_host_port_begin(&port, path, NULL, 1);
    /* Somebody removes the temporary file during the run. */
    assert_int_equal(firn_host_port_reserve(&port, 304), FIRN_OK);
    assert_int_equal(unlink(temporary), 0);
    assert_int_equal(store('c'), FIRN_OK);
    assert_int_equal(contents(path), 'c');
}

/* A file system that cannot reserve gets zeros, which are on the disk before the run begins. */
TEST(zeros_reserve_too) {
    struct stat status;
    seen.cannot_reserve = true;
    assert_int_equal(firn_host_port_reserve(&port, 200000), FIRN_OK);
    assert_int_equal(stat(temporary, &status), 0);
    assert_int_equal(status.st_size, 200000);
    firn_host_port_end(&port);
    firn_host_port_begin(&port, path, NULL, 1);
    assert_int_equal(reserve_and_store('a'), FIRN_OK);
    assert_int_equal(contents(path), 'a');
}

/* Lets each call fail between the reservation and the end of the first save, with reservations and with zeros. */
TEST(every_error_of_a_reserved_save) {
    static const int errors[] = {ENOSPC, EDQUOT, EFBIG, EIO};
    for (int zeros = 0; zeros < 2; zeros++) {
        for (uint32_t at = 1, calls = UINT32_MAX; at <= calls; at++) {
            for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
                assert_int_equal(store('a'), FIRN_OK);
                memset(&seen, 0, sizeof seen);
                seen.cannot_reserve = zeros != 0;
                seen.watching = true;
                seen.fail_at = at;
                seen.error = errors[e];
                const int status = reserve_and_store('b');
                seen.watching = false;
                const call failed = at <= seen.count ? seen.calls[at - 1] : NO_CALL;
                const bool placed = failed == SYNC_FOLDER;
                assert_int_equal(contents(path), status == FIRN_OK || placed ? 'b' : 'a');
                assert_int_equal(port.writing.placed, placed);
                assert_int_equal(access(temporary, F_OK), -1);
                if (status != FIRN_OK)
                    assert_int_equal(port.cause, errors[e]);
                else
                    assert_true(failed == NO_CALL || failed == OPEN_FOLDER || failed == CLOSE);
                if (failed == NO_CALL)
                    calls = at;
            }
        }
    }
}

TEST(writes_in_pieces) {
    seen.short_writes = true;
    assert_int_equal(store('a'), FIRN_OK);
    seen.short_writes = false;
    assert_int_equal(contents(path), 'a');
}

/* A file, a folder or a link of somebody else at the temporary name is never removed; a leftover of firn is. */
TEST(leaves_what_is_not_its_own) {
    static const char *const others[] = {"notes", "FIRNCK", "12 apples"};
    static const char *const leftovers[] = {"", "FIRNCKPT and more", "12\n"};
    assert_int_equal(store('a'), FIRN_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        write_text(temporary, others[i]);
        assert_false(firn_host_replaceable(path));
        assert_int_equal(store('b'), FIRN_ERROR_STORAGE);
        assert_int_equal(unlink(temporary), 0);
    }
    assert_int_equal(mkdir(temporary, 0777), 0);
    assert_false(firn_host_replaceable(path));
    assert_int_equal(store('b'), FIRN_ERROR_STORAGE);
    assert_int_equal(rmdir(temporary), 0);
    assert_int_equal(symlink("nothing", temporary), 0);
    assert_false(firn_host_replaceable(path));
    assert_int_equal(store('b'), FIRN_ERROR_STORAGE);
    assert_int_equal(unlink(temporary), 0);
    assert_int_equal(contents(path), 'a');
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) {
        write_text(temporary, leftovers[i]);
        assert_true(firn_host_replaceable(path));
        assert_int_equal(store('b'), FIRN_OK);
    }
}

/* Half a file of a process that was killed is no obstacle, whatever it holds: names of classes, rows of a prediction.
 */
TEST(takes_the_place_of_half_a_file) {
    static const char *const texts[] = {"cat\n", "0.5,0.25\n", "row,predicted\n", "notes"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct stat status;
        const pid_t child = fork();
        if (child == 0) {
            firn_host_replacement half;
            _exit(firn_host_replace_begin(&half, path) && firn_host_replace_write(&half, 0, texts[i], strlen(texts[i]))
                      ? 0
                      : 1);
        }
        int result;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
        assert_int_equal(access(temporary, F_OK), 0);
        assert_true(firn_host_replaceable(path));
        assert_int_equal(store((char)('a' + i)), FIRN_OK);
        assert_int_equal(contents(path), 'a' + (int)i);
        assert_int_not_equal(access(temporary, F_OK), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & S_ISVTX, 0);
    }
}

/* What the owner has kept from others stays so, and a second name of the old file keeps the old contents. */
TEST(keeps_permissions) {
    struct stat status;
    assert_int_equal(store('a'), FIRN_OK);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(link(path, link_path), 0);
    assert_int_equal(store('b'), FIRN_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(contents(path), 'b');
    assert_int_equal(contents(link_path), 'a');
}

/* Runs as a user who is not root, in a child process. Returns the result of the function. */
static int as_nobody(int (*run)(void)) {
    pid_t child = fork();
    if (child == 0)
        _exit(geteuid() == 0 && seteuid(65534) != 0 ? 99 : run());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int store_is_refused(void) {
    return store('b') == FIRN_ERROR_STORAGE && !firn_host_replaceable(path) ? 0 : 1;
}

TEST(a_folder_may_be_read_only) {
    assert_int_equal(store('a'), FIRN_OK);
    assert_int_equal(chmod(folder, 0555), 0);
    assert_int_equal(as_nobody(store_is_refused), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(contents(path), 'a');
}

static int store_succeeds(void) {
    return store('b') == FIRN_OK ? 0 : 1;
}

/* A folder that may be written and searched, but not read, cannot be opened to be synced. */
TEST(a_folder_may_be_unreadable) {
    assert_int_equal(chmod(folder, 0333), 0);
    assert_int_equal(as_nobody(store_succeeds), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(contents(path), 'b');
}

static int is_there_and_unreadable(void) {
    uint8_t byte;
    const bool there = port.storage.stored(&port) != 0;
    return there && port.storage.read(&port, 0, &byte, 1) == FIRN_ERROR_STORAGE ? 0 : 1;
}

/* A file that this user may not read is not a checkpoint that is missing, so no new run begins over it. */
TEST(a_file_may_be_unreadable) {
    assert_int_equal(store('a'), FIRN_OK);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(as_nobody(is_there_and_unreadable), 0);
}
