/* What the files of `firn`, the host runner, share. Every command returns the exit code; whoever finds an error says
 * so, in one line on stderr, and the others only pass the code on. */
#ifndef FIRN_CLI_H
#define FIRN_CLI_H

#include <stdio.h>

#include "plan/record.h"
#include "runtime/manual/manual.h"
#include "runtime/targets/host/host.h"

enum {
    CLI_OK = 0,
    CLI_FILE = 1,    /* a file is wrong */
    CLI_USAGE = 2,   /* the command line is */
    CLI_REFUSED = 3, /* plan or checkpoint refused */
    CLI_NUMBERS = 4, /* the run was stopped by its numbers */
    CLI_INTERRUPTED = 130
};

#define CLI_DATA_MAX    1024
#define CLI_THREADS_MAX 256

typedef struct cli_options {
    const char *command;
    const char *file; /* the plan or the checkpoint */
    const char *key, *labels, *weights, *checkpoint, *log, *counter, *output;
    const char *data[CLI_DATA_MAX];
    uint32_t data_count;
    bool steps_given;
    uint64_t steps, checkpoint_every; /* 0: at the end only */
    unsigned threads;
    bool resume, quiet, verbose, per_tensor;
} cli_options;

/* --- options.c --- */

/* Reads the words after the program's name. CLI_OK, or CLI_USAGE after a message. */
int cli_options_read(cli_options *options, int count, char *const *words);
/* What `firn help` prints. */
extern const firn_manual cli_manual;

/* --- paths.c --- */

/* Refuses a command line whose outputs are among its inputs or each other. CLI_OK, or CLI_USAGE after a message. */
int cli_paths_check(const cli_options *options);

/* --- session.c: an open plan with its data --- */

typedef struct cli_session {
    const cli_options *options;
    firn_host_plan plan;
    firn_host_port port;
    firn_host_data data;
    firn firn;
    firn_info info;
    firn_config config; /* its blocks are the session's */
} cli_session;

/* Loads, verifies and opens the plan; checks its mode; opens the data. */
int cli_session_begin(cli_session *session, const cli_options *options, bool eval);
void cli_session_end(cli_session *session);

/* The exit code for an error of the library, after one line that names the file at fault and the mend. */
int cli_error(const cli_session *session, int error);
/* The same for an error of data or storage that has a line of its own. */
int cli_exit_code(int error);

/* --- log.c: JSON lines --- */

typedef struct cli_log {
    FILE *file; /* NULL: no log */
    const char *path;
    bool created; /* and holds nothing but its first line */
} cli_log;

/* Starts a log, or goes on with one, with --resume: lines of steps beyond the checkpoint are dropped, the first line
 * must be the one that this run would write, and no step may be missing before those to come. */
int cli_log_begin(cli_log *log, const cli_session *session, uint64_t steps_done);
/* One line for a step; error is 0 or what stopped the run there. False after a message when it cannot be written. */
bool cli_log_step(cli_log *log, const firn_step_report *report, int error, double seconds, double elapsed);
/* Makes what was written durable. */
bool cli_log_sync(cli_log *log);
/* A log that was begun by a run that failed before its first line is removed. */
void cli_log_end(cli_log *log, bool failed);

/* --- progress.c: the line on the terminal, or plain lines elsewhere --- */

typedef struct cli_progress {
    bool quiet, terminal, open; /* open: a line without its end is on the terminal */
    uint64_t first, last;       /* steps done before this call, and at its end */
    double units;               /* tokens or samples of a step */
    const char *unit;
    double started, shown;
    uint64_t line_every; /* plain lines */
} cli_progress;

/* Seconds of a clock that never goes back. */
double cli_seconds(void);
void cli_progress_begin(cli_progress *progress, const cli_session *session, uint64_t first, uint64_t last);
void cli_progress_step(cli_progress *progress, const firn_step_report *report);
/* Ends an open line, so that a message may follow. */
void cli_progress_end(cli_progress *progress);

/* --- record_file.c: a checkpoint without its plan --- */

typedef struct cli_record_entry {
    char name[FIRN_RECORD_NAME_MAX + 1];
    firn_record_entry entry;
    uint64_t bytes; /* of the tensor */
} cli_record_entry;

typedef struct cli_record {
    firn_record header;
    cli_record_entry *entries;
    uint32_t count;
    uint64_t end;      /* of a record behind which there is what should not be; else 0 */
    uint8_t *contents; /* of the whole file */
    const uint8_t *state;
} cli_record;

/* Reads a checkpoint, or the dump of a slot of flash in which it lies, and checks its lengths, SHA-256, commit unit and
 * list of tensors. CLI_OK, CLI_FILE, CLI_REFUSED. */
int cli_record_load(cli_record *record, const char *path);
void cli_record_unload(cli_record *record);

/* --- the commands --- */

int cli_train(const cli_options *options);
int cli_eval(const cli_options *options);
int cli_export(const cli_options *options);
int cli_digest(const cli_options *options);

/* 64 hexadecimal digits and the end of the string. */
void cli_hex(char text[65], const uint8_t hash[32]);
/* Prints "digest <hex>" on stdout. */
int cli_print_digest(const uint8_t digest[32]);
/* CLI_OK when everything written to stdout has arrived. */
int cli_flush(void);

#endif
