/* Notices that a file changes while it is read. A change of the contents also changes the time of modification or, if a
 * program sets that time back, the time of change. Both times are those of the open file, whatever happens to its name.
 * They also change where the contents stay, as by touch or chmod: then the hash of the contents decides. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/targets/host/host.h"

/* The system changes the times of a file before its bytes, and its clock has ticks of up to 10 ms. */
enum { SETTLED_NANOSECONDS = 20000000, WAITS_MOST = 50 };

/* Returns true if a later change could have the same time as this one. */
static bool is_fresh(struct timespec changed) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t seconds = (int64_t)now.tv_sec - (int64_t)changed.tv_sec;
    const int64_t nanoseconds = seconds * 1000000000 + (now.tv_nsec - changed.tv_nsec);
    return seconds >= 0 && seconds <= 1 && nanoseconds < SETTLED_NANOSECONDS;
}

/* Waits until the last change is so old that its bytes are there and a later one has another time; a second at most, if
 * changes do not end. */
static bool settle(int file, struct stat *status) {
    const struct timespec wait = {.tv_nsec = SETTLED_NANOSECONDS};
    bool good = true;
    for (int i = 0; good && i < WAITS_MOST && is_fresh(status->st_ctim); i++) {
        nanosleep(&wait, NULL);
        good = fstat(file, status) == 0;
    }
    return good;
}

void firn_host_watch_begin(firn_host_watch *watch, int file) {
    struct stat status = {0};
    *watch = (firn_host_watch){.file = file};
    if (fstat(file, &status) != 0)
        firn_host_watch_fail(watch, errno);
    watch->bytes = watch->bytes_now = (uint64_t)status.st_size;
    watch->modified = status.st_mtim;
    watch->changed = status.st_ctim;
    watch->unsettled = is_fresh(status.st_ctim);
}

void firn_host_watch_hashed(firn_host_watch *watch, const uint8_t sha256[32]) {
    memcpy(watch->sha256, sha256, sizeof watch->sha256);
    watch->hashed = true;
}

void firn_host_watch_end(firn_host_watch *watch) {
    watch->file = -1;
}

void firn_host_watch_fail(firn_host_watch *watch, int error) {
    watch->faulty = true;
    watch->error = error;
}

static bool same_time(struct timespec one, struct timespec other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

/* Returns true if the contents still have the hash that they had. */
static bool has_same_hash(const firn_host_watch *watch) {
    static uint8_t bytes[65536];
    uint8_t digest[sizeof watch->sha256];
    firn_sha256 hash;
    uint64_t at = 0;
    bool good = watch->hashed && firn_sha256_begin(&hash) == FIRN_OK;
    while (good && at < watch->bytes) {
        const ssize_t got = pread(watch->file, bytes, sizeof bytes, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        good = got > 0 && firn_sha256_update(&hash, bytes, (size_t)got) == FIRN_OK;
        at += got > 0 ? (uint64_t)got : 0;
    }
    return good && at == watch->bytes && firn_sha256_end(&hash, digest) == FIRN_OK &&
           memcmp(digest, watch->sha256, sizeof digest) == 0;
}

bool firn_host_watch_look(firn_host_watch *watch) {
    struct stat status;
    if (watch->file < 0 || watch->faulty)
        return !watch->faulty;
    if (fstat(watch->file, &status) != 0) {
        firn_host_watch_fail(watch, errno);
        return false;
    }
    const bool same = watch->bytes == (uint64_t)status.st_size && same_time(watch->modified, status.st_mtim) &&
                      same_time(watch->changed, status.st_ctim);
    if (same && (!watch->unsettled || !watch->hashed || is_fresh(status.st_ctim)))
        return true;
    if (!settle(watch->file, &status)) {
        firn_host_watch_fail(watch, errno);
        return false;
    }
    /* The times are those from before the contents are hashed, so that a change during that is noticed next. */
    if (watch->bytes == (uint64_t)status.st_size && has_same_hash(watch)) {
        watch->touched = watch->touched || !same_time(watch->modified, status.st_mtim);
        watch->modified = status.st_mtim;
        watch->changed = status.st_ctim;
        watch->unsettled = is_fresh(watch->changed); /* changes did not end */
        watch->renewals++;
        return true;
    }
    watch->faulty = true;
    watch->bytes_now = (uint64_t)status.st_size;
    return false;
}

bool firn_host_watch_fault(const firn_host_watch *watch, char *text, size_t size) {
    const unsigned long long now = (unsigned long long)watch->bytes_now, before = (unsigned long long)watch->bytes;
    if (watch->faulty && watch->error != 0)
        snprintf(text, size, "cannot be read: %s", strerror(watch->error));
    else if (watch->faulty && now != before)
        snprintf(text, size,
                 "was changed while it was in use: it has %llu bytes and had %llu at the start, so it is %s", now,
                 before, now < before ? "shorter" : "longer");
    else if (watch->faulty)
        snprintf(text, size, "was changed while it was in use");
    return watch->faulty;
}
