/* The log of a run, in JSON lines. The first line describes the run; each further line reports one step. The lines of a
 * run are identical on every machine, with or without interruptions, except for "seconds" and "elapsed" of a step and
 * "kernels" of the first line, which names the kernel set of the machine that created the log. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

/* --- writing --- */

static bool cannot_write(const cli_log *log) {
    return firn_host_fail(log->path, "the log cannot be written: %s; %s",
                          errno == ENXIO ? "nobody reads this pipe" : strerror(errno),
                          errno == EFBIG    ? firn_host_room()
                          : errno == EISDIR ? "give the name of a file"
                          : errno == ENXIO  ? "start its reader first, or give the name of a file"
                                            : "look at the folder and the disk");
}

/* Keeps errno of the first failure. */
static bool fails(cli_log *log) {
    if (log->failed == 0)
        log->failed = errno != 0 ? errno : EIO;
    return false;
}

static bool is_file(const cli_log *log) {
    struct stat status;
    return fstat(fileno(log->file), &status) == 0 && S_ISREG(status.st_mode);
}

/* LINE_BYTES: more than one line has. ROOM_BYTES: reserved at once, or one line only if the disk has less. */
enum { LINE_BYTES = 512, ROOM_BYTES = 1 << 16 };

bool cli_log_reserve(cli_log *log) {
    if (log->file == NULL || !is_file(log))
        return true;
    const off_t at = ftello(log->file);
    if (at < 0 || (uint64_t)at + LINE_BYTES <= log->reserved)
        return true;
    uint64_t bytes = ROOM_BYTES;
    bool reserved = firn_host_reserve(fileno(log->file), (uint64_t)at, bytes);
    if (!reserved && errno != EOPNOTSUPP) {
        bytes = LINE_BYTES;
        reserved = firn_host_reserve(fileno(log->file), (uint64_t)at, bytes);
    }
    if (!reserved && errno != EOPNOTSUPP)
        return fails(log);
    log->reserved = reserved ? (uint64_t)at + bytes : UINT64_MAX;
    return true;
}

/* Prints a number with enough digits to recover the float exactly. JSON has no NaN or infinity; they become null. */
static void print_number(FILE *to, const char *name, float value) {
    if (isfinite(value))
        fprintf(to, ",\"%s\":%.9g", name, (double)value);
    else
        fprintf(to, ",\"%s\":null", name);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void print_hash(FILE *to, const char *name, const uint8_t hash[32]) {
    char text[65];
    cli_hex(text, hash);
    fprintf(to, ",\"%s\":\"%s\"", name, text);
}

/* Prints nothing for NULL. */
static void print_string(FILE *to, const char *name, const char *text) {
    if (text == NULL)
        return;
    fprintf(to, ",\"%s\":", name);
    cli_print_json(to, text);
}

static void print_head(FILE *to, const cli_session *session) {
    const firn_info *info = &session->info;
    fprintf(to, "{\"firn\":\"%s\"", FIRN_VERSION);
    print_string(to, "model", session->report.model);
    print_hash(to, "plan_hash", info->plan_hash);
    print_hash(to, "run_hash", info->run_hash);
    print_hash(to, "model_hash", info->model_hash);
    print_string(to, "target", session->report.target);
    print_string(to, "kernels", info->kernels);
    print_hash(to, "data_sha256", session->data.sha256);
    fprintf(to, ",\"parameters\":%llu,\"steps\":%llu,\"samples_per_step\":%llu,\"window\":%lu}\n",
            (unsigned long long)info->parameters, (unsigned long long)info->steps,
            (unsigned long long)info->samples * info->micro_batches, (unsigned long)info->window);
}

bool cli_log_step(cli_log *log, const firn_step_report *report, int error, double seconds, double elapsed) {
    if (log->file == NULL)
        return true;
    log->created = false;
    errno = 0;
    const off_t begin = ftello(log->file);
    /* The counter in the report does not include a step that was not completed. */
    uint64_t step = report->global_step + (error == FIRN_ERROR_LOSS_NOT_FINITE ? 1 : 0);
    fprintf(log->file, "{\"step\":%llu", (unsigned long long)step);
    print_number(log->file, "loss", report->loss);
    fprintf(log->file, ",\"loss_bits\":\"%08lx\"", (unsigned long)bits_of(report->loss));
    print_number(log->file, "learning_rate", report->learning_rate);
    print_number(log->file, "loss_scale", report->loss_scale);
    print_number(log->file, "gradient_norm", report->gradient_norm);
    fprintf(log->file, ",\"skipped\":%s", report->skipped ? "true" : "false");
    if (error != FIRN_OK)
        print_string(log->file, "error", firn_error_name(error));
    fprintf(log->file, ",\"seconds\":%.9f,\"elapsed\":%.3f}\n", seconds, elapsed);
    if (fflush(log->file) == 0 && !ferror(log->file))
        return true;
    fails(log);
    __fpurge(log->file); /* a part of a line is worth nothing */
    if (is_file(log) && begin >= 0)
        (void)!ftruncate(fileno(log->file), begin);
    return false;
}

bool cli_log_is_there(const cli_log *log) {
    struct stat status;
    return log->file == NULL || fstat(fileno(log->file), &status) != 0 || status.st_nlink > 0 || !is_file(log);
}

bool cli_log_sync(cli_log *log) {
    if (log->file == NULL)
        return true;
    errno = 0;
    /* fsync fails on a pipe or a device, which has no disk to flush to. */
    bool synced = fflush(log->file) == 0 && (fsync(fileno(log->file)) == 0 || errno == EINVAL || errno == EROFS);
    return synced || fails(log);
}

void cli_log_end(cli_log *log, bool failed) {
    struct stat status;
    if (log->file == NULL)
        return;
    if (failed && log->created && is_file(log))
        unlink(log->path);
    else if (log->reserved != 0 && log->reserved != UINT64_MAX && fstat(fileno(log->file), &status) == 0)
        (void)!ftruncate(fileno(log->file), status.st_size); /* gives back the room that no line has taken */
    fclose(log->file);
    log->file = NULL;
}

/* --- going on with a log --- */

/* Returns the step of a line, or 0 if the line is not one of a step. */
static uint64_t step_of(const char *line) {
    static const char begin[] = "{\"step\":";
    return strncmp(line, begin, sizeof begin - 1) == 0 ? strtoull(line + sizeof begin - 1, NULL, 10) : 0;
}

/* Returns true if both lines have the field, a hash, with the same value. */
static bool same_hash(const char *line, const char *head, const char *field) {
    const char *a = strstr(line, field), *b = strstr(head, field);
    return a != NULL && b != NULL && strncmp(a, b, strlen(field) + 64) == 0;
}

/* A log belongs to this run if plan and data agree; the machine that wrote it does not matter. */
static bool same_run(const char *line, const char *head) {
    return same_hash(line, head, "\"run_hash\":\"") && same_hash(line, head, "\"data_sha256\":\"");
}

/* Computes how many bytes of the log to keep: its first line and the lines of steps up to `steps_done`. A last line
 * without a newline is dropped. */
static int measure(FILE *file, const char *path, const char *head, uint64_t steps_done, off_t *bytes) {
    char *line = NULL;
    size_t space = 0;
    ssize_t length = getline(&line, &space, file);
    bool same = length > 0 && same_run(line, head);
    *bytes = ftello(file);
    uint64_t last = 0;
    while (same && (length = getline(&line, &space, file)) > 0 && line[length - 1] == '\n') {
        uint64_t step = step_of(line);
        if (step == 0 || step > steps_done)
            break;
        *bytes = ftello(file);
        last = step;
    }
    free(line);
    if (same && (last == 0 || last == steps_done))
        return CLI_OK;
    if (same) {
        firn_host_fail(path,
                       "ends at step %llu and the checkpoint is at step %llu; give the log that goes with it, or "
                       "another --log",
                       (unsigned long long)last, (unsigned long long)steps_done);
        return CLI_FILE;
    }
    firn_host_fail(path, "is the log of another run: its first line names another plan or other data; give the data "
                         "of the run, or another --log");
    return CLI_FILE;
}

static int go_on(cli_log *log, const char *head, uint64_t steps_done) {
    off_t bytes = 0;
    int status = measure(log->file, log->path, head, steps_done, &bytes);
    if (status != CLI_OK)
        return status;
    if (ftruncate(fileno(log->file), bytes) != 0 || fseeko(log->file, bytes, SEEK_SET) != 0) {
        cannot_write(log);
        return CLI_FILE;
    }
    return CLI_OK;
}

/* Returns true for a regular file that is not empty. A pipe or a device holds nothing that could be lost. */
static bool is_there(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

static int refuse_there(const char *path) {
    firn_host_fail(path, "is there already; give --resume to go on with it, or another name");
    return CLI_FILE;
}

/* Locks the log, because two runs writing one log would destroy it. A file system without locks is accepted. */
static int claim(const cli_log *log, bool there) {
    struct stat status;
    int file = fileno(log->file);
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return CLI_OK;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        firn_host_fail(log->path, "another run is writing this log; wait for its end, or give another --log");
        return CLI_FILE;
    }
    /* Another run may have written the file between the check and the lock. */
    return there || (fstat(file, &status) == 0 && status.st_size == 0) ? CLI_OK : refuse_there(log->path);
}

/* Opens the log. Neither way truncates the file before the lock is held, and neither waits until a pipe has a reader:
 * without a reader errno is ENXIO. */
static FILE *open_log(const char *path, bool there) {
    if (there)
        return fopen(path, "r+");
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
    if (file >= 0 && fcntl(file, F_SETFL, O_APPEND) == 0)
        return fdopen(file, "a");
    if (file >= 0)
        close(file);
    return NULL;
}

static int begin_or_go_on(cli_log *log, bool there, const char *head, uint64_t steps_done) {
    log->file = open_log(log->path, there);
    int status = log->file != NULL ? claim(log, there) : CLI_OK;
    if (status != CLI_OK)
        return status;
    log->created = !there;
    if (log->file != NULL && there)
        return go_on(log, head, steps_done);
    if (log->file != NULL && fputs(head, log->file) >= 0 && fflush(log->file) == 0)
        return CLI_OK;
    cannot_write(log);
    return CLI_FILE;
}

int cli_log_begin(cli_log *log, const cli_session *session, uint64_t steps_done) {
    *log = (cli_log){.path = session->options->log};
    if (log->path == NULL)
        return CLI_OK;
    bool there = is_there(log->path);
    if (there && !session->options->resume)
        return refuse_there(log->path);
    char *head = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&head, &length);
    if (text == NULL)
        return CLI_FILE;
    print_head(text, session);
    fclose(text);
    int status = begin_or_go_on(log, there, head, steps_done);
    free(head);
    return status;
}
