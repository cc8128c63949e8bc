/* firn train --tensorboard: event files, as TensorBoard reads them from a folder. A file is a chain of records (length,
 * masked CRC-32C of the length, bytes, masked CRC-32C of the bytes), and each record is an Event of
 * tensorflow/core/util/ event.proto, in the wire format of Protocol Buffers. Both are written by hand, because scalars
 * need five fields.
 *
 * Each call of firn makes a file of its own, whose name sorts behind those before it. A call with --resume first cuts
 * the events of steps behind the checkpoint from the older files, and its own file begins with the event that makes a
 * TensorBoard which has read those steps already forget them (SessionLog START, a purge step). */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plan/signature.h"
#include "runtime/cli/cli.h"

#define MARK       "tfevents" /* by which TensorBoard knows its files */
#define BEGINNING  "events.out." MARK "."
#define VERSION    "brain.Event:2" /* since which a START event purges */
#define TRAIN      "train/"
#define VALIDATION "validation/"

enum {
    LENGTH_BYTES = 8,
    CRC_BYTES = 4,
    HEAD_BYTES = LENGTH_BYTES + CRC_BYTES,
    OTHERS_BYTES = 128, /* more than a record has beside its scalars */
    SCALAR_BYTES = 48,  /* more than a scalar has beside its name */
    ID_DIGITS = 16,     /* of a hash, in hexadecimal */
    HOST_BYTES = 64
};

/* Fields of the messages, as the key before each: its number, and how its value is written. */
enum {
    EVENT_WALL_TIME = 0x09,
    EVENT_STEP = 0x10,
    EVENT_VERSION = 0x1a,
    EVENT_SUMMARY = 0x2a,
    EVENT_SESSION = 0x3a,
    SESSION_STATUS = 0x08,
    SESSION_START = 1, /* a status */
    SUMMARY_VALUE = 0x0a,
    VALUE_TAG = 0x0a,
    VALUE_NUMBER = 0x15
};

typedef struct cli_events_file {
    char *path;
    uint64_t bytes, kept; /* its length, and what is kept of it */
} cli_events_file;

/* One scalar of a step; its tag is prefix and name. */
typedef struct scalar {
    const char *prefix, *name;
    float value;
} scalar;

/* --- records ------------------------------------------------------------------------------------------------------ */

/* CRC-32C (RFC 3720, appendix B.4), with the mask of the TFRecord format. */
static uint32_t masked_crc(const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

static void put_fixed(FILE *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> (8 * i) & 0xff), to);
}

static uint64_t fixed_at(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static size_t varint_bytes(uint64_t value) {
    size_t bytes = 1;
    for (; value > 0x7f; value >>= 7)
        bytes++;
    return bytes;
}

static void put_varint(FILE *to, uint64_t value) {
    for (; value > 0x7f; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, to);
    fputc((int)value, to);
}

/* The bytes of a field whose value has a length before it. */
static size_t field_bytes(size_t value_bytes) {
    return 1 + varint_bytes(value_bytes) + value_bytes;
}

static void put_field(FILE *to, int key, size_t value_bytes) {
    fputc(key, to);
    put_varint(to, value_bytes);
}

/* Begins a record of an event with a time and a step, behind which `bytes` bytes of fields follow. */
static void begin_record(FILE *to, uint64_t step, size_t bytes) {
    uint8_t length[LENGTH_BYTES];
    struct timespec now;
    uint64_t time_bits;
    const uint64_t count = 1 + sizeof time_bits + 1 + varint_bytes(step) + bytes;
    clock_gettime(CLOCK_REALTIME, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&time_bits, &seconds, sizeof time_bits);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (uint8_t)(count >> (8 * i));
    fwrite(length, 1, sizeof length, to);
    put_fixed(to, masked_crc(length, sizeof length), CRC_BYTES);
    fputc(EVENT_WALL_TIME, to);
    put_fixed(to, time_bits, sizeof time_bits);
    fputc(EVENT_STEP, to);
    put_varint(to, step);
}

/* Ends the record that begins at `record`, in the memory that `to` prints into. */
static void end_record(FILE *to, char *const *memory, size_t record) {
    fflush(to);
    const size_t bytes = (size_t)ftell(to) - record - HEAD_BYTES;
    put_fixed(to, masked_crc(*memory + record + HEAD_BYTES, bytes), CRC_BYTES);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static size_t value_bytes(const scalar *s) {
    return field_bytes(strlen(s->prefix) + strlen(s->name)) + 1 + sizeof s->value;
}

static bool write_scalars(cli_events *events, uint64_t step, const scalar *scalars, size_t count) {
    FILE *to = cli_appended_entry(&events->to, 0);
    size_t bytes = 0;
    if (to == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        bytes += field_bytes(value_bytes(&scalars[i]));
    begin_record(to, step, field_bytes(bytes));
    put_field(to, EVENT_SUMMARY, bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &scalars[i].value, sizeof bits);
        put_field(to, SUMMARY_VALUE, value_bytes(&scalars[i]));
        put_field(to, VALUE_TAG, strlen(scalars[i].prefix) + strlen(scalars[i].name));
        fputs(scalars[i].prefix, to);
        fputs(scalars[i].name, to);
        fputc(VALUE_NUMBER, to);
        put_fixed(to, bits, sizeof bits);
    }
    end_record(to, &events->to.last, 0);
    return cli_appended_close_entry(&events->to, to) && cli_appended_write(&events->to);
}

bool cli_events_step(cli_events *events, const firn_step_report *report, int error, double seconds) {
    scalar scalars[CLI_SERIES_MAX + 1];
    size_t count = 0;
    if (events->to.file == NULL)
        return true;
    cli_series_take(&events->series, report);
    for (uint32_t i = 0; i < events->series.count; i++) {
        const scalar s = {TRAIN, events->series.names[i], events->series.values[i]};
        /* Of a plan that computes no norm, no chart is better than one without a point. */
        if (i != CLI_SERIES_NORM || !isnan(s.value))
            scalars[count++] = s;
    }
    if (seconds > 0)
        scalars[count++] = (scalar){TRAIN, events->rate, (float)(events->units / seconds)};
    return write_scalars(events, report->global_step + (error == FIRN_ERROR_LOSS_NOT_FINITE ? 1 : 0), scalars, count);
}

bool cli_events_evaluation(cli_events *events, uint64_t step) {
    scalar scalars[CLI_METRICS_MAX];
    if (events->to.file == NULL || events->evaluated == step) /* the call before has written the same values */
        return true;
    for (uint32_t i = 0; i < events->metric_count; i++)
        scalars[i] = (scalar){VALIDATION, events->metrics[i].name, events->metrics[i].value};
    events->evaluated = step;
    return write_scalars(events, step, scalars, events->metric_count);
}

/* Prints what a file begins with: the version, and for a run that goes on the step from which older events are void. */
static bool print_head(cli_events *events, uint64_t steps_done, bool resumes) {
    cli_appended *to = &events->to;
    FILE *head = open_memstream(&to->head, &to->head_bytes);
    if (head == NULL)
        return false;
    begin_record(head, 0, field_bytes(strlen(VERSION)));
    put_field(head, EVENT_VERSION, strlen(VERSION));
    fputs(VERSION, head);
    end_record(head, &to->head, 0);
    const size_t second = (size_t)ftell(head);
    if (resumes) {
        begin_record(head, steps_done + 1, field_bytes(2));
        put_field(head, EVENT_SESSION, 2);
        fputc(SESSION_STATUS, head);
        fputc(SESSION_START, head);
        end_record(head, &to->head, second);
    }
    return fclose(head) == 0;
}

/* --- reading what is there ---------------------------------------------------------------------------------------- */

/* What an event of ours says. */
typedef struct event {
    uint64_t step;
    bool trains, validates; /* it has scalars of that kind */
} event;

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

/* Returns true if the bytes go on with a field of this key that has a length, and moves to its value. */
static bool take_field(const uint8_t **at, const uint8_t *end, int key) {
    uint64_t bytes;
    if (*at == end || **at != key)
        return false;
    ++*at;
    return take_varint(at, end, &bytes) && bytes <= (uint64_t)(end - *at);
}

static bool begins(const uint8_t *at, const uint8_t *end, const char *text) {
    return (size_t)(end - at) >= strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

/* Reads an event as this file writes them, with its fields in this order. Returns false for any other. */
static bool read_event(const uint8_t *bytes, size_t count, event *e) {
    const uint8_t *at = bytes, *end = bytes + count;
    *e = (event){0};
    if (count < 10 || *at != EVENT_WALL_TIME || at[9] != EVENT_STEP)
        return false;
    at += 10;
    if (!take_varint(&at, end, &e->step))
        return false;
    if (at == end || *at != EVENT_SUMMARY)
        return true;
    if (!take_field(&at, end, EVENT_SUMMARY) || !take_field(&at, end, SUMMARY_VALUE) ||
        !take_field(&at, end, VALUE_TAG))
        return false;
    e->trains = begins(at, end, TRAIN);
    e->validates = begins(at, end, VALIDATION);
    return true;
}

/* Reads the next record into memory that is grown as needed. Returns false at the end of the file or where that cuts a
 * record off, as in a run that was killed; *damaged: or because the bytes are others than those that were written. */
static bool read_record(FILE *file, uint64_t left, uint8_t **bytes, size_t *room, size_t *count, bool *damaged) {
    uint8_t head[HEAD_BYTES], crc[CRC_BYTES];
    *damaged = false;
    if (left < HEAD_BYTES + CRC_BYTES || fread(head, 1, sizeof head, file) != sizeof head)
        return false;
    const uint64_t length = fixed_at(head, LENGTH_BYTES);
    *damaged = fixed_at(head + LENGTH_BYTES, CRC_BYTES) != masked_crc(head, LENGTH_BYTES);
    if (*damaged || length > left - HEAD_BYTES - CRC_BYTES)
        return false;
    if (*bytes == NULL || length > *room) {
        *room = (size_t)length + 1024;
        *bytes = firn_host_grow(*bytes, *room);
    }
    *count = (size_t)length;
    if (fread(*bytes, 1, *count, file) != *count || fread(crc, 1, sizeof crc, file) != sizeof crc)
        return false;
    *damaged = fixed_at(crc, CRC_BYTES) != masked_crc(*bytes, *count);
    return !*damaged;
}

/* Finds how much of an open file is kept: the events up to the checkpoint. *last becomes the last step in it that is.
 * Returns false if the file is damaged behind what is kept. */
static bool measure(cli_events *events, cli_events_file *of, FILE *file, uint64_t steps_done, uint64_t *last) {
    uint8_t *bytes = NULL;
    size_t room = 0, count;
    bool damaged;
    event e;
    while (read_record(file, of->bytes - of->kept, &bytes, &room, &count, &damaged)) {
        damaged = !read_event(bytes, count, &e);
        if (damaged || ((e.trains || e.validates) && e.step > steps_done))
            break;
        of->kept += HEAD_BYTES + count + CRC_BYTES;
        *last = e.trains ? e.step : *last;
        events->evaluated = e.validates ? e.step : events->evaluated;
    }
    free(bytes);
    return !damaged;
}

static bool read_file(cli_events *events, cli_events_file *of, uint64_t steps_done, uint64_t *last) {
    struct stat status;
    errno = 0;
    const int file = open(of->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(file, "r") : NULL;
    if (stream == NULL) {
        firn_host_fail(of->path, "cannot be read: %s; move it away, or give another --tensorboard",
                       file >= 0 && errno == 0 ? "it is no regular file" : strerror(errno));
        if (file >= 0)
            close(file);
        return false;
    }
    of->bytes = (uint64_t)status.st_size;
    const bool good = measure(events, of, stream, steps_done, last);
    fclose(stream);
    if (!good)
        firn_host_fail(
            of->path,
            "is damaged at byte %llu: its bytes are not those that firn wrote; move it away, or give another "
            "--tensorboard",
            (unsigned long long)of->kept);
    return good;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static int is_event_file(const struct dirent *entry) {
    return strstr(entry->d_name, MARK) != NULL;
}

/* Names the run by its plan and data, as the first line of a log does, in the names of its files. */
static bool name_run(char id[ID_DIGITS + 1], const cli_session *session, const cli_validation *validation) {
    uint8_t hashes[4][FIRN_HASH_BYTES] = {0}, hash[32];
    char text[65];
    memcpy(hashes[0], session->info.run_hash, FIRN_HASH_BYTES);
    memcpy(hashes[1], session->data.sha256, FIRN_HASH_BYTES);
    if (validation->on) {
        memcpy(hashes[2], validation->session.info.run_hash, FIRN_HASH_BYTES);
        memcpy(hashes[3], validation->session.data.sha256, FIRN_HASH_BYTES);
    }
    if (firn_sha256_of(hashes, sizeof hashes, hash) != FIRN_OK)
        return false;
    cli_hex(text, hash);
    memcpy(id, text, ID_DIGITS);
    id[ID_DIGITS] = 0;
    return true;
}

/* The name of this machine, of which only what a file name may have is taken. */
static void name_host(char host[HOST_BYTES + 1]) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    char name[HOST_BYTES + 1] = {0};
    if (gethostname(name, HOST_BYTES) != 0 || *name == 0)
        memcpy(name, "host", sizeof "host");
    for (size_t i = 0; i <= HOST_BYTES; i++)
        host[i] = (char)(name[i] != 0 && strchr(allowed, name[i]) == NULL ? '-' : name[i]);
}

/* The seconds in the name of an event file, or 0. */
static uint64_t seconds_of(const char *name) {
    const char *digits = strncmp(name, BEGINNING, strlen(BEGINNING)) == 0 ? name + strlen(BEGINNING) : "";
    const uint64_t seconds = *digits >= '0' && *digits <= '9' ? strtoull(digits, NULL, 10) : 0;
    return seconds <= 9999999998U ? seconds : 0;
}

/* Whether a dry run finds no folder. The run makes it. */
static bool lacks_folder(const cli_events *events) {
    struct stat status;
    return events->to.looks && stat(events->folder, &status) != 0 && errno == ENOENT;
}

/* Makes the folder. Returns false with errno set if it could not; it may be there. */
static bool make_folder(cli_events *events) {
    if (events->to.looks)
        return !lacks_folder(events) || cli_appended_has_folder(events->folder);
    events->made = mkdir(events->folder, 0777) == 0;
    return events->made || errno == EEXIST;
}

/* Makes the folder if it is not there, and locks it, because two runs in one folder would be one to TensorBoard. */
static int claim_folder(cli_events *events) {
    const char *folder = events->folder;
    struct stat status;
    if (!make_folder(events)) {
        firn_host_fail(folder, "the folder of the event files cannot be made: %s; %s", strerror(errno),
                       errno == ENOENT || errno == ENOTDIR ? "make the folder above it, or look at the name"
                                                           : "look at the folder above it and the disk");
        return CLI_FILE;
    }
    if (lacks_folder(events))
        return CLI_OK;
    if (stat(folder, &status) == 0 && !S_ISDIR(status.st_mode)) {
        firn_host_fail(folder, "is no folder, in which event files could be; give the name of a folder");
        return CLI_FILE;
    }
    events->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (events->lock < 0) {
        firn_host_fail(folder, "the folder of the event files cannot be read: %s; look at its permissions",
                       strerror(errno));
        return CLI_FILE;
    }
    if (flock(events->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        firn_host_fail(folder,
                       "another run is writing event files there; wait for its end, or give another --tensorboard");
        return CLI_FILE;
    }
    return CLI_OK;
}

/* Takes the files that are there, in the order of their names. Those of another run are refused, and without --resume
 * any are. *newest: the seconds in the last name. */
static int take_files(cli_events *events, const char *id, bool resume, uint64_t *newest) {
    struct dirent **list = NULL;
    int status = CLI_OK;
    const int count = scandir(events->folder, &list, is_event_file, alphasort);
    if (count < 0) {
        firn_host_fail(events->folder, "the folder of the event files cannot be read: %s; look at its permissions",
                       strerror(errno));
        return CLI_FILE;
    }
    events->files = firn_host_allocate(((size_t)count + 1) * sizeof *events->files);
    char *begin = firn_host_path(events->folder, "/");
    for (int i = 0; i < count; i++) {
        const char *name = list[i]->d_name;
        const size_t length = strlen(name);
        const bool same = length > strlen(id) && strcmp(name + length - strlen(id), id) == 0;
        if (status == CLI_OK && (!resume || !same)) {
            firn_host_fail(events->folder,
                           same ? "has the event files of this run (%s); give --resume to go on with them, or another "
                                  "--tensorboard"
                                : "has event files of another run (%s), which TensorBoard would mix with these; give "
                                  "another --tensorboard",
                           name);
            status = CLI_FILE;
        }
        *newest = seconds_of(name) > *newest ? seconds_of(name) : *newest;
        events->files[events->file_count++].path = firn_host_path(begin, name);
        free(list[i]);
    }
    free(begin);
    free(list);
    return status;
}

/* Reads the files. Their events must reach up to the checkpoint. */
static int read_files(cli_events *events, uint64_t steps_done) {
    uint64_t last = 0;
    for (size_t i = 0; i < events->file_count; i++)
        if (!read_file(events, &events->files[i], steps_done, &last))
            return CLI_FILE;
    if (last == 0 || last == steps_done)
        return CLI_OK;
    firn_host_fail(
        events->folder,
        "its event files end at step %llu and the checkpoint is at step %llu; give the folder that goes with "
        "it, or another --tensorboard",
        (unsigned long long)last, (unsigned long long)steps_done);
    return CLI_FILE;
}

int cli_events_cut_ahead(cli_events *events) {
    for (size_t i = 0; !events->to.looks && i < events->file_count; i++) {
        const cli_events_file *of = &events->files[i];
        if (of->kept < of->bytes && truncate(of->path, (off_t)of->kept) != 0) {
            firn_host_fail(of->path,
                           "the event file cannot be cut to the step of the checkpoint: %s; look at its "
                           "permissions and the disk",
                           strerror(errno));
            return CLI_FILE;
        }
    }
    return CLI_OK;
}

static void name_scalars(cli_events *events, const cli_session *session, const cli_validation *validation) {
    const firn_info *info = &session->info;
    cli_series_begin(&events->series, session);
    if (validation->on) {
        events->metrics = validation->metrics;
        events->metric_count = validation->metric_count;
    }
    events->units =
        (double)info->samples * (double)info->micro_batches * (info->window > 1 ? (double)(info->window - 1) : 1);
    events->rate = info->window > 1 ? "tokens_per_second" : "samples_per_second";
    size_t bytes = OTHERS_BYTES + SCALAR_BYTES;
    for (uint32_t i = 0; i < events->series.count; i++)
        bytes += SCALAR_BYTES + strlen(events->series.names[i]);
    const size_t of_evaluation = OTHERS_BYTES + events->metric_count * (size_t)(SCALAR_BYTES + CLI_METRIC_NAME_BYTES);
    events->to.entry_bytes = bytes > of_evaluation ? bytes : of_evaluation;
}

int cli_events_begin(cli_events *events, const cli_session *session, const cli_validation *validation,
                     uint64_t steps_done) {
    const bool resume = session->options->resume;
    char id[ID_DIGITS + 1], host[HOST_BYTES + 1], name[256];
    uint64_t newest = 0;
    *events =
        (cli_events){.folder = session->options->tensorboard,
                     .lock = -1,
                     .to = {.what = "the event file", .option = "--tensorboard", .looks = session->options->dry_run}};
    if (events->folder == NULL)
        return CLI_OK;
    name_scalars(events, session, validation);
    int status = claim_folder(events);
    if (status == CLI_OK && lacks_folder(events))
        return CLI_OK;
    if (status == CLI_OK && !name_run(id, session, validation))
        status = cli_error(session, FIRN_ERROR_ARGUMENT); /* never: a hash of so few bytes */
    if (status == CLI_OK)
        status = take_files(events, id, resume, &newest);
    if (status == CLI_OK)
        status = read_files(events, steps_done);
    if (status != CLI_OK)
        return status;
    const uint64_t now = (uint64_t)time(NULL);
    name_host(host);
    snprintf(name, sizeof name, "/" BEGINNING "%010llu.%s.%s", (unsigned long long)(now > newest ? now : newest + 1),
             host, id);
    events->to.path = events->name = firn_host_path(events->folder, name);
    if (!print_head(events, steps_done, resume)) {
        firn_host_fail("memory", "%s", strerror(errno));
        return CLI_FILE;
    }
    return cli_appended_begin(&events->to, false);
}

void cli_events_end(cli_events *events, bool failed) {
    if (events->folder == NULL)
        return;
    cli_appended_end(&events->to, failed);
    cli_series_end(&events->series);
    for (size_t i = 0; i < events->file_count; i++)
        free(events->files[i].path);
    free(events->files);
    free(events->name);
    if (events->lock >= 0)
        close(events->lock);
    if (failed && events->made)
        rmdir(events->folder); /* if nothing is in it */
    *events = (cli_events){0};
}
