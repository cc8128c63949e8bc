/* The log of a run, in JSON lines. The first line describes the run; each further line reports one step, or the
 * evaluation of the state after the step before it. The lines of a run are identical on every machine, with or without
 * interruptions, except for "seconds" and "elapsed", and "kernels" of the first line, which names the kernel set of the
 * machine that created the log. */
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

bool cli_log_is_file(const cli_log *log) {
    struct stat status;
    return fstat(fileno(log->file), &status) == 0 && S_ISREG(status.st_mode);
}

/* ROOM_BYTES: reserved at once, or one line only if the disk has less. */
enum { LINE_BYTES = CLI_LOG_LINE_BYTES, ROOM_BYTES = 1 << 16 };

void cli_log_look(cli_log *log) {
    struct stat status;
    if (log->file == NULL || fstat(fileno(log->file), &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size >= log->written)
        return;
    /* A log may be emptied just before the last line is written, which then is all that it has. */
    const size_t last = status.st_size != 0 ? strlen(log->line) : 0;
    log->reserved = 0;
    log->written = (uint64_t)status.st_size;
    if (log->written != last || (last != 0 && ftruncate(fileno(log->file), 0) != 0)) {
        log->cut = CLI_LOG_CUT;
        return;
    }
    log->cut = log->cut == CLI_LOG_CUT ? CLI_LOG_CUT : CLI_LOG_EMPTIED;
    if (fputs(log->head, log->file) >= 0 && (last == 0 || fputs(log->line, log->file) >= 0) && fflush(log->file) == 0)
        log->written = strlen(log->head) + last;
    else
        fails(log);
}

bool cli_log_reserve(cli_log *log) {
    cli_log_look(log);
    if (log->failed != 0)
        return false;
    if (log->file == NULL || !cli_log_is_file(log) || log->written + LINE_BYTES <= log->reserved)
        return true;
    uint64_t bytes = ROOM_BYTES;
    bool reserved = firn_host_reserve(fileno(log->file), log->written, bytes);
    if (!reserved && errno != EOPNOTSUPP) {
        bytes = LINE_BYTES;
        reserved = firn_host_reserve(fileno(log->file), log->written, bytes);
    }
    if (!reserved && errno != EOPNOTSUPP)
        return fails(log);
    log->reserved = reserved ? log->written + bytes : UINT64_MAX;
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

/* history: NULL if the run is not evaluated. */
static void print_head(FILE *to, const cli_session *session, const cli_history *history) {
    const firn_info *info = &session->info;
    const char *loss = NULL, *unit = NULL;
    if (session->plan.bytes != NULL)
        cli_loss_words(session, &loss, &unit);
    fprintf(to, "{\"firn\":\"%s\"", FIRN_VERSION);
    print_string(to, "model", session->report.model);
    print_hash(to, "plan_hash", info->plan_hash);
    print_hash(to, "run_hash", info->run_hash);
    print_hash(to, "model_hash", info->model_hash);
    print_string(to, "target", session->report.target);
    print_string(to, "kernels", info->kernels);
    print_hash(to, "data_sha256", session->data.sha256);
    fprintf(to, ",\"parameters\":%llu,\"steps\":%llu,\"samples_per_step\":%llu,\"window\":%lu",
            (unsigned long long)info->parameters, (unsigned long long)info->steps,
            (unsigned long long)info->samples * info->micro_batches, (unsigned long)info->window);
    print_string(to, "loss_name", loss);
    print_string(to, "loss_unit", unit);
    if (history != NULL) {
        print_hash(to, "eval_run_hash", history->run_hash);
        print_hash(to, "eval_data_sha256", history->data_sha256);
    }
    fputs("}\n", to);
}

static void print_step(FILE *to, const firn_step_report *report, int error, double seconds, double elapsed) {
    /* The counter in the report does not include a step that was not completed. */
    uint64_t step = report->global_step + (error == FIRN_ERROR_LOSS_NOT_FINITE ? 1 : 0);
    fprintf(to, "{\"step\":%llu", (unsigned long long)step);
    print_number(to, "loss", report->loss);
    fprintf(to, ",\"loss_bits\":\"%08lx\"", (unsigned long)bits_of(report->loss));
    print_number(to, "learning_rate", report->learning_rate);
    print_number(to, "loss_scale", report->loss_scale);
    print_number(to, "gradient_norm", report->gradient_norm);
    fprintf(to, ",\"skipped\":%s", report->skipped ? "true" : "false");
    if (error != FIRN_OK)
        print_string(to, "error", firn_error_name(error));
    fprintf(to, ",\"seconds\":%.9f,\"elapsed\":%.3f}\n", seconds, elapsed);
}

static void print_evaluation(FILE *to, uint64_t step, const cli_metric *metrics, uint32_t count, double seconds,
                             double elapsed) {
    char name[CLI_METRIC_NAME_BYTES + 5];
    fprintf(to, "{\"step\":%llu", (unsigned long long)step);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "eval_%s", metrics[i].name);
        print_number(to, name, metrics[i].value);
    }
    fprintf(to, ",\"seconds\":%.9f,\"elapsed\":%.3f}\n", seconds, elapsed);
}

/* Opens the last line, to be printed anew. Returns NULL if that fails. */
static FILE *begin_line(cli_log *log) {
    log->created = false;
    errno = 0;
    FILE *line = fmemopen(log->line, sizeof log->line, "w");
    if (line == NULL)
        fails(log);
    return line;
}

/* Appends the last line to the file. */
static bool write_line(cli_log *log) {
    if (fputs(log->line, log->file) >= 0 && fflush(log->file) == 0 && !ferror(log->file)) {
        log->written += strlen(log->line);
        return true;
    }
    fails(log);
    __fpurge(log->file); /* a part of a line is worth nothing */
    if (cli_log_is_file(log))
        (void)!ftruncate(fileno(log->file), (off_t)log->written);
    return false;
}

bool cli_log_step(cli_log *log, const firn_step_report *report, int error, double seconds, double elapsed) {
    FILE *line = log->file != NULL ? begin_line(log) : NULL;
    if (line == NULL)
        return log->file == NULL;
    print_step(line, report, error, seconds, elapsed);
    fclose(line);
    return write_line(log);
}

bool cli_log_evaluation(cli_log *log, uint64_t step, const cli_metric *metrics, uint32_t count, double seconds,
                        double elapsed) {
    FILE *line = log->file != NULL ? begin_line(log) : NULL;
    if (line == NULL)
        return log->file == NULL;
    print_evaluation(line, step, metrics, count, seconds, elapsed);
    fclose(line);
    return write_line(log);
}

bool cli_log_is_there(const cli_log *log) {
    struct stat status;
    return log->file == NULL || fstat(fileno(log->file), &status) != 0 || status.st_nlink > 0 || !cli_log_is_file(log);
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
    free(log->head);
    log->head = NULL;
    if (log->file == NULL)
        return;
    if (failed && log->created && cli_log_is_file(log))
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

/* Refuses a log by what is in place of its first line. */
static int refuse_head(const char *path, const char *line, ssize_t length) {
    static const char begin[] = "{\"firn\":";
    const char *mend = "; move it away, or give another --log";
    if (length > 0 && line[0] == 0)
        firn_host_fail(path, "begins with bytes of 0, like a log that was cut while a run wrote it%s", mend);
    else if (length > 0 && step_of(line) != 0)
        firn_host_fail(path, "lacks its first line, which names the run, like a log that was cut during a run%s", mend);
    else if (length <= 0 || strncmp(line, begin, sizeof begin - 1) != 0)
        firn_host_fail(path, "is not the log of a run: it has another first line%s", mend);
    else
        firn_host_fail(path, "is the log of another run: its first line names another plan or other data; give the "
                             "data of the run, or another --log");
    return CLI_FILE;
}

/* The values of a log can be compared only if one plan computed them over one set of data. */
static bool same_evaluation(const char *line, const char *head) {
    return same_hash(line, head, "\"eval_run_hash\":\"") && same_hash(line, head, "\"eval_data_sha256\":\"");
}

static int refuse_evaluation(const char *path) {
    firn_host_fail(path,
                   "its first line names another eval plan, or other data of the evaluations, or none; give those "
                   "that the run began with, or another --log");
    return CLI_FILE;
}

/* If the line is one of an evaluation, adds its value, NaN if that is not a finite number. ahead: its step comes after
 * that of the checkpoint. */
static void note_evaluation(cli_history *history, const char *line, uint64_t step, bool ahead) {
    char name[CLI_METRIC_NAME_BYTES + 16];
    if (history == NULL || strstr(line, ",\"eval_") == NULL)
        return;
    snprintf(name, sizeof name, ",\"eval_%s\":", history->name);
    const char *at = strstr(line, name);
    const char *from = at != NULL ? at + strlen(name) : "";
    char *stop;
    float value = strtof(from, &stop);
    if (stop == from) /* null, or no number at all */
        value = NAN;
    const size_t all = history->count + history->ahead;
    if (history->list == NULL || all == history->space) {
        history->space = 2 * history->space + 64;
        history->list = firn_host_grow(history->list, history->space * sizeof *history->list);
    }
    history->list[all] = (cli_score){step, isfinite(value) ? value : NAN};
    history->count += ahead ? 0 : 1;
    history->ahead += ahead ? 1 : 0;
}

/* Computes how many bytes of the log to keep: its first line and the lines of steps up to `steps_done`. A last line
 * without a newline is dropped. */
static int measure(const cli_log *log, cli_history *history, uint64_t steps_done, off_t *bytes) {
    FILE *file = log->file;
    const char *path = log->path, *head = log->head;
    char *line = NULL;
    size_t space = 0;
    ssize_t length = getline(&line, &space, file);
    const bool same = length > 0 && same_run(line, head);
    const int refused = !same                                             ? refuse_head(path, line, length)
                        : history != NULL && !same_evaluation(line, head) ? refuse_evaluation(path)
                                                                          : CLI_OK;
    *bytes = ftello(file);
    uint64_t last = 0, step;
    bool ahead = false;
    while (refused == CLI_OK && (length = getline(&line, &space, file)) > 0 && line[length - 1] == '\n' &&
           (step = step_of(line)) != 0) {
        ahead = ahead || step > steps_done;
        note_evaluation(history, line, step, ahead);
        if (ahead)
            continue;
        *bytes = ftello(file);
        last = step;
    }
    free(line);
    if (refused != CLI_OK || last == 0 || last == steps_done)
        return refused;
    firn_host_fail(path,
                   "ends at step %llu and the checkpoint is at step %llu; give the log that goes with it, or another "
                   "--log",
                   (unsigned long long)last, (unsigned long long)steps_done);
    return CLI_FILE;
}

static int go_on(cli_log *log, cli_history *history, uint64_t steps_done) {
    off_t bytes = 0;
    const int status = measure(log, history, steps_done, &bytes);
    log->written = (uint64_t)bytes;
    return status;
}

/* From then on lines are appended, so that no hole appears in a log that is cut during the run. */
int cli_log_cut_ahead(cli_log *log) {
    if (log->file == NULL || log->created)
        return CLI_OK;
    const int file = fileno(log->file);
    const off_t bytes = (off_t)log->written;
    if (ftruncate(file, bytes) == 0 && fseeko(log->file, bytes, SEEK_SET) == 0 && fcntl(file, F_SETFL, O_APPEND) == 0)
        return CLI_OK;
    cannot_write(log);
    return CLI_FILE;
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

static int begin_or_go_on(cli_log *log, cli_history *history, bool there, uint64_t steps_done) {
    log->file = open_log(log->path, there);
    int status = log->file != NULL ? claim(log, there) : CLI_OK;
    if (status != CLI_OK)
        return status;
    log->created = !there;
    if (log->file != NULL && there)
        return go_on(log, history, steps_done);
    log->written = strlen(log->head);
    if (log->file != NULL && fputs(log->head, log->file) >= 0 && fflush(log->file) == 0)
        return CLI_OK;
    cannot_write(log);
    return CLI_FILE;
}

int cli_log_begin(cli_log *log, const cli_session *session, cli_history *history, uint64_t steps_done) {
    *log = (cli_log){.path = session->options->log};
    if (log->path == NULL)
        return CLI_OK;
    bool there = is_there(log->path);
    if (there && !session->options->resume)
        return refuse_there(log->path);
    size_t length = 0;
    FILE *text = open_memstream(&log->head, &length);
    if (text != NULL)
        print_head(text, session, history);
    if (text == NULL || fclose(text) != 0) {
        firn_host_fail("memory", "%s", strerror(errno));
        return CLI_FILE;
    }
    return begin_or_go_on(log, history, there, steps_done);
}
