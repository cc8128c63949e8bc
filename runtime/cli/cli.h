/* Declarations that the files of `firn`, the host runner, share. Every command returns an exit code. The function that
 * detects an error prints one line to stderr; its callers only pass the exit code on. */
#ifndef FIRN_CLI_H
#define FIRN_CLI_H

#include <stdio.h>

#include "plan/checkpoint/record.h"
#include "plan/container.h"
#include "runtime/decode/sampling.h"
#include "runtime/manual/manual.h"
#include "runtime/targets/host/host.h"

enum {
    CLI_OK = 0,
    CLI_FILE = 1,     /* a file is wrong */
    CLI_USAGE = 2,    /* the command line is wrong */
    CLI_REFUSED = 3,  /* the plan or the checkpoint was refused */
    CLI_NUMBERS = 4,  /* a loss, gradient or parameter was not finite */
    CLI_COMPLETE = 5, /* nothing is left to do: the run that was to go on is complete */
    CLI_INTERRUPTED = 130
};

#define CLI_DATA_MAX    1024 /* files of the training, and of its evaluations */
#define CLI_THREADS_MAX 256
#define CLI_KEYS_MAX    32

struct cli_session;

/* What firn-mpi does with all its ranks in place of what firn does alone. */
typedef struct cli_ranks {
    void *context;
    /* Called when plan and data of a session are open. Returns CLI_OK or, after a message, another exit code. */
    int (*opened)(void *context, struct cli_session *session);
    /* firn_train_step and firn_eval_step; the latter may take several batches. */
    int (*train_step)(void *context, struct cli_session *session, firn_step_report *report);
    int (*eval_step)(void *context, struct cli_session *session);
    /* firn_initialise and firn_digest. */
    int (*initialise)(void *context, struct cli_session *session);
    int (*digest)(void *context, struct cli_session *session, uint8_t digest[32]);
    /* firn_save and firn_restore. */
    int (*save)(void *context, struct cli_session *session);
    int (*restore)(void *context, struct cli_session *session, firn_restore_report *report);
    /* firn_host_data_fault for the data as another rank has them. */
    const char *(*fault)(void *context, char *text, size_t size);
} cli_ranks;

typedef struct cli_options {
    const cli_ranks *ranks;    /* NULL: firn */
    const firn_manual *manual; /* of the program, for messages */
    const char *command;
    const char *file;               /* the plan or the checkpoint */
    const char *keys[CLI_KEYS_MAX]; /* --pub; the plan's header says which of them signed it */
    uint32_t key_count;
    bool vendor_given, class_given, image_given;
    firn_identity identity; /* compared only where given */
    const char *port;       /* flash */
    uint32_t baud, timeout;
    const char *members[FIRN_HOST_STREAMS]; /* allocated; NULL: not given */
    const char *columns, *target;
    firn_host_header header;
    uint32_t resize_width, resize_height; /* 0: not given */
    const char *classes_output;
    const char *axis; /* data-statistics: each, last, first or all; NULL: not given */
    uint32_t held_out_per_mille;
    const char *profile; /* train: the output; report: what train wrote */
    const char *matrix;  /* report: what eval --confusion wrote */
    const char *labels, *weights, *checkpoint, *log, *csv, *tensorboard, *counter, *output, *labels_output, *device_key,
        *name;
    const char *data[CLI_DATA_MAX];
    uint32_t data_count;
    bool steps_given, slot_given;
    uint64_t slot;                    /* of a dump of two slots */
    uint64_t steps, checkpoint_every; /* 0: at the end only */
    const char *eval, *keep_best, *by, *eval_labels, *eval_weights;
    const char *eval_data[CLI_DATA_MAX];
    uint32_t eval_data_count;      /* 0: the data of the training */
    uint64_t eval_every, patience; /* 0: not given */
    unsigned threads;
    const char *classes, *confusion, *format;
    bool resume, dry_run, quiet, verbose, per_tensor, per_class;
    bool allow_other_preprocessing, allow_other_split, allow_other_data;
    const char *prompt;     /* generate */
    uint64_t tokens;        /* generate: UINT64_MAX: to the end of the context */
    firn_sampling sampling; /* generate */
} cli_options;

/* --- options.c --- */

/* Parses the words after the name of a command of the manual. Returns CLI_OK, or CLI_USAGE after a message. The options
 * are to be freed in any case. */
int cli_options_read(cli_options *options, const firn_manual *manual, const firn_command *command, int count,
                     char **words);
void cli_options_free(cli_options *options);
/* The command line of firn. */
extern const firn_manual cli_manual;
/* firn_manual.say of the programs of the runtime. */
void cli_say(const char *line);

/* --- paths.c --- */

/* Refuses a command line that names an output which is also an input or another output, and a counter in a folder that
 * does not exist. Returns CLI_OK or, after a message, CLI_USAGE or CLI_FILE. */
int cli_paths_check(const cli_options *options);

/* --- words.c --- */

/* Returns true if a path is "-", which is standard input or output where the table of options says so. */
bool cli_is_stream(const char *path);
/* Returns "" for one thing, and "s" for any other number of things. */
const char *cli_s(uint64_t count);
/* Writes 64 hexadecimal digits and a terminating 0. */
void cli_hex(char text[65], const uint8_t hash[32]);

/* --- outputs/print.c: how commands print --- */

/* Writes the escape of a character, \u and four digits, or two of them. */
void cli_put_json_code(FILE *to, uint32_t code);
/* Prints a JSON string in ASCII. Of a text that is no UTF-8 each byte is the character with its number. */
void cli_print_json(FILE *to, const char *text);
/* Writes a text as a cell of CSV, in quotes where it needs them. */
void cli_print_csv(FILE *to, const char *text);
/* Prints "digest <hex>" on stdout. */
int cli_print_digest(const uint8_t digest[32]);
/* Flushes stdout. Returns CLI_OK if everything was written. */
int cli_flush(void);

/* --- outputs/classes.c: names of classes --- */

enum { CLI_CLASSES_MAX = 4096 }; /* as a confusion matrix may have */

typedef struct cli_classes {
    const char *path; /* NULL: there are no names */
    char *text, **names;
    uint32_t count;
} cli_classes;

/* Writes names of classes as a file for --classes. Returns CLI_OK, or another exit code after a message.
 */
int cli_classes_write(const char *path, char *const *names, uint32_t count);
void cli_classes_free(cli_classes *classes);
/* Refuses names whose number is not that of the classes, which `of` has. */
int cli_classes_check(const cli_classes *classes, uint64_t count, const char *of);
/* Refuses names that would give a table two columns of one name. columns: the table's others; NULL ends them. */
int cli_classes_check_columns(const cli_classes *classes, const char *const *columns);

/* --- report.c: what a plan says for people --- */

/* Allocated texts; NULL: the file has no report, or the report does not say it. */
typedef struct cli_report {
    char *model, *target;
    uint64_t checkpoint_steps; /* how often the recipe wants the state saved; 0: it does not say */
    char *origin_data;       /* SHA-256 in hexadecimal: the data of the run that this one continues; NULL: not known */
    uint64_t origin_cursor;  /* the sample of these data with which this run begins */
    uint64_t eval_frequency; /* how often the recipe wants an evaluation, in steps; 0: it does not say */
    bool save_initial;       /* the recipe wants the state before the first step saved, too */
    firn_host_names schedules;        /* in the order of the plan */
    firn_host_names columns, targets; /* of the tables that the run is for; none: it does not say */
    char *statistics_targets;         /* as statistics_data, of the targets; NULL: it is not known */
    char *statistics_data; /* SHA-256 in hexadecimal: the features whose statistics the recipe has; NULL: it has none */
} cli_report;

/* Reads the report of a plan that has been verified. Returns FIRN_OK, also if there is none, or REPORT if it is not the
 * one that was signed. */
int cli_report_read(cli_report *report, const firn_host_plan *plan);
void cli_report_free(cli_report *report);

/* --- device_key.c --- */

#define CLI_DEVICE_KEY_BYTES 32

/* Reads a device key, a file of 32 bytes. Returns CLI_OK, or CLI_FILE after a message. */
int cli_device_key_read(uint8_t key[CLI_DEVICE_KEY_BYTES], const char *path);

/* --- numbers.c: the numbers that stop a run --- */

/* Elements that follow each other in a stream. */
typedef struct cli_read {
    uint32_t stream;
    uint64_t first, count;
} cli_read;

typedef struct cli_reads {
    cli_read *list;
    size_t count, space;
} cli_reads;

/* An element of the data that is at fault. */
typedef struct cli_finding {
    const char *file;
    uint32_t stream;
    bool records, several;    /* the data are records; a record has several elements */
    uint64_t record, element; /* in the file, in the record */
    double value;
} cli_finding;

/* How the loss of a plan counts rows (rows.c). */
typedef struct cli_row_rule {
    bool known;      /* false: each row counts, or it is not known which do */
    bool weighted;   /* by the stream of weights */
    bool divides;    /* the loss is divided by the sum of the weights of a step */
    int64_t ignored; /* the label whose rows do not count, or -1 */
    bool unclassed;  /* it is the number of classes, which -100 in the data stands for */
    uint32_t stream; /* that has the labels */
} cli_row_rule;

/* Why the loss of a step is 0 or not finite, as far as its rows are the cause. */
typedef enum cli_rows {
    CLI_ROWS_COUNT,    /* they are not */
    CLI_ROWS_ABSENT,   /* each row is ignored or has no weight */
    CLI_ROWS_CANCEL,   /* the weights sum to 0 */
    CLI_ROWS_OVERFLOW, /* the sum of the weights is beyond float32 */
    CLI_ROWS_TINY      /* the reciprocal of that sum is */
} cli_rows;

typedef struct cli_numbers {
    cli_row_rule rule;
    cli_reads labels;                          /* that the last step read, if there is a rule for them */
    uint64_t empty;                            /* steps of this call without a row that counts */
    uint64_t first_empty;                      /* number of the first of them */
    cli_rows why_empty;                        /* that one is */
    cli_reads now, before;                     /* float32 elements that the last step and the step before it read */
    uint64_t step;                             /* number of the last step, from 1 */
    uint64_t steps, skipped, skipped_for_data; /* of this call; for_data: the data held NaN or infinity */
    cli_finding first;                         /* the first of those NaN or infinities */
} cli_numbers;

/* --- session.c: an open plan with its data --- */

typedef struct cli_session {
    const cli_options *options;
    firn_host_plan plan;
    firn_host_port port;
    firn_host_data data;
    firn_host_blocks blocks;
    firn firn;
    firn_info info;
    cli_report report;
    firn_config config; /* the session owns its memory */
    uint8_t device_key[CLI_DEVICE_KEY_BYTES];
    uint8_t keys[CLI_KEYS_MAX][FIRN_PUBLIC_KEY_BYTES];
    firn_identity identity;
    bool confirmed;      /* firn_confirm has been called */
    firn_source source;  /* the data, each read of which is noted */
    cli_numbers numbers; /* of the run */
    /* That the checkpoint was trained with, from the file beside it: columns, targets and classes. */
    firn_host_names columns, targets, classes;
    /* The data of that training, and the hash in hexadecimal that they have without the streams that this plan does not
     * read; "": it reads all of them, or that is not known. */
    uint8_t trained_data[FIRN_HASH_BYTES];
    char fewer_streams[65];
} cli_session;

/* Loads, verifies and opens an eval plan that reads no data. *session may not be moved. */
int cli_session_begin_alone(cli_session *session, const cli_options *options);
/* Loads, verifies and opens the plan, checks its mode, and opens the data; a decode plan has none and is refused. */
int cli_session_begin(cli_session *session, const cli_options *options, bool eval);
/* The same with a plan of either mode. */
int cli_session_open(cli_session *session, const cli_options *options);
/* The same for an eval plan that uses the parameters of an open training in place. `options` are those of the eval
 * plan, and lose streams of the training that it does not read. The owner stays open and where it is. */
int cli_session_begin_beside(cli_session *session, cli_options *options, const cli_session *owner);
void cli_session_end(cli_session *session);

/* Advances the security counter after the first step that worked. Returns FIRN_OK or the error of the port. */
int cli_session_confirm(cli_session *session);

/* Prints one line that names the file at fault and how to mend it, and returns the exit code for an error of the
 * library. */
int cli_error(const cli_session *session, int error);

/* Returns the name of the data file at fault, and writes what is wrong with it. NULL: none is. */
const char *cli_data_fault(const cli_session *session, char *text, size_t size);

/* Prints that a file which does not begin like a plan was given in place of one, and returns the exit code. */
int cli_refuse_no_plan(const char *path, const firn_host_plan *plan);
/* Returns the exit code only, for an error of data or storage whose message has already been printed. */
int cli_exit_code(int error);

/* Stores which parts of the data files are wanted: members of archives, and columns of tables. */
void cli_want_parts(firn_host_wanted *wanted, const cli_options *options);

/* --- outputs/dry_run.c: what a run would be --- */

/* What a training would do, all of it open. last: CLI_NO_END if the run has no end; save_every: 0 for the end only. */
typedef struct cli_dry_run {
    const cli_session *session, *evaluation; /* evaluation: NULL without --eval */
    uint64_t first, last, save_every, eval_every;
} cli_dry_run;

/* Refuses a dry run of several processes. Returns CLI_OK or, after a message, CLI_USAGE. */
int cli_dry_run_check(const cli_options *options);
/* Makes the checks that a run makes in its first step: that there are enough samples, and that the counter can be
 * advanced. Returns CLI_OK or, after the message of the run, another exit code. */
int cli_dry_run_step(cli_session *session);
/* Prints the steps, the memory and the files on standard output. Returns CLI_OK or, after a message, CLI_FILE. */
int cli_dry_run_print(const cli_dry_run *run);

/* --- outputs/profile.c: how long each op takes --- */

typedef struct cli_profile {
    cli_session *session;
    const char *path;   /* NULL: nothing is measured, and the functions below do nothing */
    firn_source source; /* the session's, before its reads were measured */
    double *times;      /* of the calls of a step, in seconds */
    uint64_t room, calls;
    double begun, mark; /* of the step, and of the last op or read */
    double *seconds;    /* of each op of the plan, over all steps */
    uint32_t ops;
    uint64_t steps, unmeasured; /* unmeasured: steps whose calls are not those of the plan's ops */
    double step_seconds, data_seconds, data_seconds_of_step;
} cli_profile;

/* Begins to measure an open training where --profile asks for it. Returns CLI_OK or, after a message, another exit
 * code. *profile may not be moved. */
int cli_profile_begin(cli_profile *profile, cli_session *session);
/* Call them before and after each step. done: the step ran to its end. */
void cli_profile_begin_step(cli_profile *profile);
void cli_profile_end_step(cli_profile *profile, bool done, bool skipped);
/* Writes the times, if a step was measured, and notes it if none of those that ran could be. Returns CLI_OK or, after a
 * message, CLI_FILE. */
int cli_profile_write(const cli_profile *profile);
void cli_profile_end(cli_profile *profile);

/* --- steps.c: what one process does alone, and firn-mpi with all ranks --- */

/* Run a step. Return FIRN_OK or an error of the library. */
int cli_train_step(cli_session *session, firn_step_report *report);
int cli_eval_step(cli_session *session);
/* The initial state, and the digest of the state. Errors: those of firn_initialise and firn_digest. */
int cli_initialise(cli_session *session);
int cli_state_digest(cli_session *session, uint8_t digest[32]);
/* Save and restore the state. Errors: those of firn_save and firn_restore. */
int cli_save_state(cli_session *session);
int cli_restore_state(cli_session *session, firn_restore_report *report);

/* --- plan.c: what the library does not say of an open plan --- */

firn_fb_plan cli_plan(const cli_session *session);
/* Returns true if the plan reads the part of the data that is held out. */
bool cli_reads_held_out(const cli_session *session);
/* Returns true if the plan holds frozen weights, whose contents belong to the identity of the model. */
bool cli_has_frozen(const cli_session *session);
/* Returns true if numbers in the plan standardise its data. */
bool cli_has_statistics(const cli_session *session);
/* Returns true if the loss of the plan compares targets that are standardised by statistics. */
bool cli_standardises_targets(const cli_session *session);
/* Returns the shape of a record of the stream: that of the tensor which the first input from the stream fills, without
 * the samples. */
firn_host_shape cli_shape(const cli_session *session, uint32_t stream);

/* --- numbers.c --- */

/* Makes session->source: the source of the data, which also notes each read of float32. */
void cli_numbers_watch(cli_session *session);
/* Call them before and after each step. A step that was skipped is searched for NaN and infinity. */
void cli_numbers_begin_step(cli_session *session);
void cli_numbers_end_step(cli_session *session, const firn_step_report *report);
void cli_numbers_free(cli_numbers *numbers);
/* Returns false if a parameter or a buffer of the model holds NaN or infinity, for example after an update from
 * gradients that overflowed. */
bool cli_parameters_finite(const cli_session *session);

/* The messages after LOSS_NOT_FINITE, LOSS_SCALE_FLOOR and DATA_RANGE. Each searches the data, writes what it found and
 * a remedy into `text`, and returns the file at fault: the plan if the data are not at fault, and NULL from
 * cli_say_out_of_range. saved: inserted behind the step; what happened to the state. */
const char *cli_say_not_finite(const cli_session *session, const char *saved, char *text, size_t size);
const char *cli_say_floor(const cli_session *session, char *text, size_t size);
const char *cli_say_out_of_range(const cli_session *session, char *text, size_t size);

/* --- tokenizer.c --- */

/* Compares the tokenizer that the plan is for with those that notes beside the files of tokens name, and notes files
 * without one. Returns false after a message if a file has another tokenizer. */
bool cli_tokenizer_fits(const cli_session *session);
/* Notes if the checkpoint that was restored was trained with tokens of another tokenizer than the plan is for, or if
 * that is not known. */
void cli_tokenizer_note_training(const cli_session *session);

/* --- rows.c --- */

/* Returns the integer at an element in the bytes of a source. */
double cli_integer_at(uint8_t type, const uint8_t *element);
/* Returns true if the loss of the plan ignores the rows with a label. Stores the label, and whether it is no class
 * because it is the number of classes, which -100 in the data stands for; else 0 and false. */
bool cli_ignored_label(const cli_session *session, uint32_t *label, bool *unclassed);
/* Returns the number of classes that labels of a stream may have: its limit, less an ignored label that is no class. */
uint32_t cli_label_classes(const cli_session *session, const firn_stream_info *stream);
/* Reads from the plan which rows count. */
void cli_rows_begin(cli_session *session);
/* Looks at the rows of the last step again, and stores the sum of their weights unless it returns CLI_ROWS_COUNT. Call
 * it only if the loss was 0 or not finite. */
cli_rows cli_rows_of_step(const cli_session *session, double *sum);
/* Writes what is wrong with the rows of a step, for a message that has named the step. */
void cli_rows_say(const cli_session *session, cli_rows rows, double sum, char *text, size_t size);
/* Returns true if all elements of a stream are 0. */
bool cli_all_zero(const cli_session *session, uint32_t stream);
/* Returns the file that it is wrong with. */
const char *cli_rows_file(const cli_session *session, cli_rows rows);

/* --- tables/json.c --- */

struct cJSON;

/* Writes JSON and a line feed as a file, whole, or leaves what was there. Returns CLI_OK or, after a message, CLI_FILE.
 */
int cli_json_write(const char *path, const struct cJSON *root);

/* --- tables/columns.c: which columns of tables are read, and what classes are called --- */

#define CLI_COLUMNS_ENDING ".columns" /* of the file beside a checkpoint */

/* Reads a list of names. Returns false, with no names, if it is no list of texts; NULL stands for no names. */
bool cli_columns_parse(firn_host_names *names, const struct cJSON *list);
/* Reads the names beside the checkpoint that is to be restored. owner: the training beside which the plan is opened, or
 * NULL. Returns CLI_OK or, after a message, CLI_FILE; CLI_REFUSED if the plan has other names. */
int cli_columns_find(cli_session *session, const cli_session *owner);
/* Wants the columns of these names where no option chooses others. */
void cli_columns_want(firn_host_wanted *wanted, const cli_session *session, const cli_session *owner);
/* Gives the plan the data hash of the training if the data are the same, without the streams that the plan does not
 * read. Returns FIRN_OK or an error of the library. */
int cli_columns_fit_hash(cli_session *session);
/* Refuses data whose classes have other names than those of the training, or the same in another order, if the plan
 * reads labels. Returns CLI_OK or, after a message, CLI_FILE. */
int cli_columns_compare_classes(const cli_session *session);
/* Notes that an evaluation reads the columns of a table, or numbers classes, in their order, because no names of a
 * training are known. */
void cli_columns_note(const cli_session *session);
/* Writes what the file beside a checkpoint says, or that there is none, or why it is of no use. */
void cli_columns_describe(const char *checkpoint, const firn_record *header, char *text, size_t size);
/* Writes the names of a training beside its checkpoint; NULL: there is none. Returns CLI_OK or, after a message,
 * CLI_FILE. */
int cli_columns_keep(const cli_session *session, const char *checkpoint);

/* --- data_notes.c --- */

/* Notes which files are read, in which order, and how many samples, batches and epochs they are; nothing with --quiet.
 */
void cli_note_data(const cli_session *session);
/* Writes how many samples there are and how many a batch takes, with what to do; "" if that is not known. */
void cli_say_too_short(const cli_session *session, char *text, size_t size);

/* Notes two files of data with the same contents. */
void cli_note_twins(const cli_session *session);
/* Notes labels that probably begin at 1. */
void cli_note_first_class(const cli_session *session);
/* Notes how classes are numbered whose labels are texts of tables, and classes without a name. */
void cli_note_classes(const cli_session *session);
/* Notes how many images there are of each class folder, and classes without any. */
void cli_note_images(const cli_session *session);
/* Notes files that are probably not the text as which a plan of windows reads them. */
void cli_note_kinds(const cli_session *session);
/* Notes classes that the part that is trained on, or the part that is held out, lacks (tables/split.c). */
void cli_note_split(const cli_session *session);
/* Writes how many samples there are and which of them are read. Returns false if they are fewer than the plan needs. */
bool cli_say_samples(const cli_session *session, char *text, size_t size);

/* --- restore.c --- */

/* Fills the state from the checkpoint. Returns CLI_OK or, after a message, another exit code. */
int cli_restore(cli_session *session);

/* --- outputs/npy.c --- */

#define CLI_NPY_HEADER_BYTES 256 /* room for 8 extents, and a multiple of 64 as the format wants */

/* Writes the header of an array whose elements follow it: its first extent, then the others. Returns false with errno
 * set. type: a firn_type that data have. */
bool cli_npy_put_header(const firn_host_replacement *file, uint8_t type, uint64_t rows, const uint64_t *dims,
                        uint32_t dim_count);

/* --- push.c: plans whose samples are pushed; of others these do nothing --- */

/* Fills the ring: of a training with what was pushed in so many steps before, of an evaluation with the data. Returns
 * CLI_OK or, after a message, another exit code. */
int cli_push_begin(cli_session *session, uint64_t steps);
/* Pushes the batch of the step after so many. Returns FIRN_OK or an error of the library. */
int cli_push_batch(cli_session *session, uint64_t steps);
/* What a step reads: the data, or NULL where it was pushed. */
const firn_source *cli_source(const cli_session *session);

/* --- last_batch.c --- */

typedef struct cli_last_batch {
    const cli_session *session;
    firn_source source; /* of one batch */
    firn_stream streams[FIRN_HOST_STREAMS];
    firn_segment *segments;
    uint64_t *places; /* in the data, of each sample of the batch */
} cli_last_batch;

/* Whether firn predict fills the last batch, so that one sample is enough. False where the library fills it, and where
 * the plan is for an evaluation. */
bool cli_last_batch_is_filled(const cli_session *session);
/* Makes a batch of the last `left` samples, from 1, of a plan that reads all of its data. *batch may not be moved. */
void cli_last_batch_begin(cli_last_batch *batch, const cli_session *session, uint64_t left);
void cli_last_batch_end(cli_last_batch *batch);

/* --- eval.c --- */

/* Notes on stderr how many samples at the end of the data were not read. Returns FIRN_OK or an error of the library. */
int cli_note_left(const cli_session *session);
/* Runs the batches of an evaluation that has not begun. Returns DATA_END after the last, FIRN_OK if a signal has asked
 * to stop before that, or an error; SOURCE also if the data have changed. */
int cli_evaluate(cli_session *session);

/* --- progress.c: the line on the terminal, or plain lines elsewhere --- */

#define CLI_NO_END UINT64_MAX

enum { CLI_PROGRESS_PART = 96 }; /* more bytes than one part of a line has */

typedef struct cli_progress {
    bool quiet, terminal, open;           /* open: the current line on the terminal has no newline yet */
    uint64_t first, last;                 /* steps done before this call and after its last step, or CLI_NO_END */
    uint64_t end;                         /* steps of the whole run; 0: it has no end */
    uint64_t step_samples, epoch_samples; /* epoch_samples 0: not known */
    double units;                         /* tokens or samples in one step */
    const char *unit;
    double started, shown;                                      /* shown: when the last line was */
    uint64_t line_every;                                        /* steps between plain lines */
    uint64_t lines;                                             /* that were shown */
    char evaluated[CLI_PROGRESS_PART], best[CLI_PROGRESS_PART]; /* of the last evaluation; "": none yet */
} cli_progress;

/* Seconds of a monotonic clock. */
double cli_seconds(void);
void cli_progress_begin(cli_progress *progress, const cli_session *session, uint64_t first, uint64_t last);
void cli_progress_step(cli_progress *progress, const firn_step_report *report);
/* Takes the value of an evaluation, and the best so far with its step (0: there is none), for the lines that follow. */
void cli_progress_evaluated(cli_progress *progress, const char *name, float value, float best, uint64_t best_step);
/* Ends an open line so that a message can follow on a new one. */
void cli_progress_end(cli_progress *progress);

/* --- signals.c --- */

/* Lets SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM and SIGXCPU end the program at once, with the exit code of an
 * interruption. */
void cli_signals_end(void);
/* From here on these signals ask the command to stop after its current step, and SIGPIPE is ignored. */
void cli_signals_catch(void);
/* Returns true if one of them has come. */
bool cli_signals_came(void);

/* --- saving.c: the checkpoint of a run --- */

#define CLI_NOT_SAVED UINT64_MAX

typedef struct cli_saving {
    cli_session *session;   /* whose state is saved */
    const char *path;       /* NULL: nothing is saved, and the functions below do nothing */
    firn_host_port *port;   /* whose storage is the file at this path */
    cli_progress *progress; /* its line is ended before a message */
    firn_host_lock lock;
    uint64_t saved; /* global step of the checkpoint on the disk, or CLI_NOT_SAVED */
    bool ruined;    /* the state is not finite and must not be saved */
} cli_saving;

/* Bytes of a checkpoint of the session. */
uint64_t cli_saving_bytes(const cli_session *session);

/* Locks the file of a port's storage, of which a dry run only asks whether it is locked. Refuses a name that cannot be
 * replaced, and a file at that name, unless it is a checkpoint and --resume was given. Returns CLI_OK or, after a
 * message, another exit code. */
int cli_saving_claim(cli_saving *saving, cli_session *session, firn_host_port *port, cli_progress *progress);
void cli_saving_end(cli_saving *saving);
/* Reserves room for one whole checkpoint, which the first save takes. A dry run only asks whether there is room for it
 * and `beside` bytes. Returns as above. */
int cli_saving_reserve(cli_saving *saving, uint64_t beside);
/* Saves the state after `step`, if it is finite and not saved yet. `next` is the step of the next save, CLI_NO_END if
 * this is the last. A save that fails for want of storage leaves the checkpoint before, is reported, and is an error
 * only if it was the last. Returns as above. */
int cli_saving_save(cli_saving *saving, uint64_t step, uint64_t next);
/* Saves the state after `step`, if it is finite. Returns CLI_OK, or another exit code after a message; but if the
 * storage failed before the file was in its place, which saving->saved tells, the message is the caller's. *error is
 * the error of the library. */
int cli_saving_write(cli_saving *saving, uint64_t step, int *error);
/* Returns what to do about an operation of the storage that failed with this errno. */
const char *cli_saving_mend(int error);
/* Says that the state is not finite, and keeps it from ever being saved: a state that cannot be resumed must not
 * replace one that can. Returns CLI_NUMBERS. */
int cli_saving_refuse(cli_saving *saving);
/* Writes which state is kept, after a run has ended at `step` and was saved, for the end of a message. */
void cli_saving_describe(const cli_saving *saving, uint64_t step, char *text, size_t size);

/* --- validation.c: evaluations of the state that is trained --- */

#define CLI_METRICS_MAX       16 /* of a plan */
#define CLI_METRIC_NAME_BYTES 40 /* more than a name has */

typedef struct cli_metric {
    char name[CLI_METRIC_NAME_BYTES]; /* the word of the recipe; of a second metric with this word with _2, and so on */
    bool higher;                      /* a higher value is better */
    float value;                      /* in the last evaluation; NaN if it is not finite */
} cli_metric;

typedef struct cli_validation {
    bool on; /* --eval was given; else the functions below do nothing */
    cli_options options;
    cli_session session; /* of the eval plan */
    cli_progress *progress;
    uint64_t every; /* steps from one evaluation to the next; 0: at the end of the run only */
    cli_metric metrics[CLI_METRICS_MAX];
    uint32_t metric_count, by; /* by: the metric that the best is chosen by */
    uint64_t step;             /* of the last evaluation; 0: none yet */
    bool noted;                /* what each evaluation leaves out has been noted */
} cli_validation;

/* Opens the plan of --eval over the parameters of a training whose state is ready, and tries one batch. Returns CLI_OK
 * or, after a message, another exit code. */
int cli_validation_begin(cli_validation *validation, const cli_session *owner, cli_progress *progress);
/* Notes what the evaluations read, and when they are. */
void cli_validation_note(const cli_validation *validation);
/* Evaluates the state after `step`. *done is false if a signal came before the last batch. Returns as above.
 * If the data cannot be read or have changed it returns CLI_FILE without a message; firn_host_data_fault tells the
 * file.
 */
int cli_validation_run(cli_validation *validation, uint64_t step, bool *done);
void cli_validation_end(cli_validation *validation);

/* --- best.c: the best evaluation of a run, its checkpoint, and when to stop --- */

/* The value of an evaluation. step 0: there was none. */
typedef struct cli_score {
    uint64_t step;
    float value;
} cli_score;

/* What a log says of the evaluations: those up to the step of a checkpoint, and those ahead of it. */
typedef struct cli_history {
    const uint8_t *run_hash, *data_sha256; /* of the eval plan, and of the data that it reads */
    const char *name;                      /* of the metric that is read */
    cli_score *list;                       /* in the order of the steps; a value that is not finite is NaN */
    size_t count, ahead, space;            /* evaluations up to the checkpoint; those behind them in the list */
} cli_history;

typedef struct cli_best {
    const cli_options *options;
    const cli_metric *metric;
    firn_host_port port; /* its storage is the file of --keep-best */
    cli_saving saving;
    cli_score best, kept;        /* of all evaluations; of the state in the file */
    uint64_t evaluations, since; /* their number; how many of them came after the best */
    bool failed;                 /* a best state of this call could not be saved */
} cli_best;

/* Claims the file of --keep-best as cli_saving_claim does. */
int cli_best_claim(cli_best *best, cli_session *session, cli_progress *progress);
/* Takes the evaluations of a log, and checks the whole file, which must be a checkpoint of this run and of its data
 * whose step has a value in the log. A file whose step comes after `step` is removed, as the lines of the log are:
 * these steps are run again. The state in memory is that after `step`; it is saved if it is the best and is not in the
 * file yet. Returns CLI_OK or, after a message, another exit code. */
int cli_best_go_on(cli_best *best, const cli_metric *metric, const cli_history *history, uint64_t step);
/* Returns true if cli_best_take will save the state in memory. */
bool cli_best_is_kept(const cli_best *best);
/* Takes the evaluation of the state in memory, and saves this if it is the best. Returns as above; storage that fails
 * ends no run. */
int cli_best_take(cli_best *best, uint64_t step);
/* Returns true if --patience evaluations have followed the best one. */
bool cli_best_is_over(const cli_best *best);
/* Writes since when nothing was better, for the message of a run that is over. */
void cli_best_say(const cli_best *best, char *text, size_t size);
/* Notes the best value at the end of a run. */
void cli_best_note(const cli_best *best);
/* Returns CLI_FILE, after a message, if the best state of this call is not in the file. */
int cli_best_check(const cli_best *best);
void cli_best_end(cli_best *best);

/* --- outputs/appended.c: files that a run appends to --- */

/* What others did to such a file during the run. */
typedef enum cli_file_cut {
    CLI_FILE_WHOLE,
    CLI_FILE_EMPTIED, /* it was cut to nothing, and has been begun again by its head */
    CLI_FILE_CUT      /* it was cut to something, and entries of it are lost */
} cli_file_cut;

typedef struct cli_appended {
    const char *path;
    const char *what, *option; /* "the log", and the option that names the file, for messages */
    size_t entry_bytes;        /* more than one entry has */
    FILE *file;                /* NULL: none; the functions below then do nothing, and return true */
    char *head;                /* what the file begins with, allocated */
    size_t head_bytes;
    bool created;     /* by this run; it holds only its head so far */
    bool looks;       /* a dry run: a file that is there is only read, and none is made */
    uint64_t written; /* length of the file, unless others write to it */
    char *last;       /* the last entry */
    size_t last_bytes;
    cli_file_cut cut;
    uint64_t reserved; /* bytes of the file that have room on the disk */
    int failed;        /* errno of the first operation that failed after the beginning; 0: none */
} cli_appended;

/* How entries are read that are lines of text. */
typedef struct cli_appended_lines {
    uint64_t (*step_of)(const void *context, const char *line); /* 0: it is no line of a step */
    /* NULL, or called for each line; ahead: its step comes after that of the checkpoint. */
    void (*take)(void *context, const char *line, uint64_t step, bool ahead);
    void *context;
} cli_appended_lines;

/* Creates the file at to->path with its head, or opens one that is there, if `resume`, at its beginning. The file is
 * locked, because two runs would destroy it. A dry run only asks whether it could be. Returns CLI_OK or, after a
 * message, CLI_FILE. */
int cli_appended_begin(cli_appended *to, bool resume);
/* Whether a file could be made in the folder of a path. errno says why not. */
bool cli_appended_has_folder(const char *path);
/* Reads the lines from here on, and keeps those of steps up to that of the checkpoint, of which none may be missing at
 * the end; a last line without a newline is dropped. A line that somebody else wrote is refused, because it would be
 * dropped with what is behind it. Nothing is cut yet. Returns as above. */
int cli_appended_keep(cli_appended *to, const cli_appended_lines *lines, uint64_t steps_done);
/* Drops what is behind the entries that are kept, before the first entry is written. Returns as above. */
int cli_appended_cut_ahead(cli_appended *to);
/* The last word of to->what, such as "log". */
const char *cli_appended_noun(const cli_appended *to);
/* Notices whether the file was cut, as by copytruncate of logrotate. Prints nothing. */
void cli_appended_look(cli_appended *to);
/* Does that, and then reserves room for the next entry, if the file system can reserve. Therefore a file that cannot
 * grow ends the run before a step, and not between a step and its entry. This function and those below print nothing:
 * they return false, and to->failed keeps the cause. */
bool cli_appended_reserve(cli_appended *to);
/* Opens the next entry, to be printed behind the first `kept` bytes of the last one; NULL: that fails. Close it, and
 * then append or replace it. */
FILE *cli_appended_entry(cli_appended *to, size_t kept);
bool cli_appended_close_entry(cli_appended *to, FILE *entry);
/* Appends the entry that was closed last. */
bool cli_appended_write(cli_appended *to);
/* Puts the entry that was closed last in the place of the one that begins at the offset `begin` and is the last of a
 * regular file. Both begin with the same `kept` bytes, which are not written again. */
bool cli_appended_replace(cli_appended *to, uint64_t begin, size_t kept);
/* Flushes the file to the disk. */
bool cli_appended_sync(cli_appended *to);
/* Returns true if the file is a regular one, and no pipe or device. */
bool cli_appended_is_file(const cli_appended *to);
/* Returns false if the file was removed during the run. */
bool cli_appended_is_there(const cli_appended *to);
/* Closes the file. If the run failed before an entry was written, a file that it created is removed. */
void cli_appended_end(cli_appended *to, bool failed);

/* --- log.c: JSON lines --- */

#define CLI_LOG_LINE_BYTES 1024 /* more than one line of a step or of an evaluation has */

typedef struct cli_log {
    cli_appended to;
} cli_log;

/* Creates a log, which a dry run does not, or opens one with --resume: the first line must be the one this run would
 * write, and no step up to the checkpoint may be missing. history: NULL, or what is to be filled with the evaluations
 * of the log; its list is the caller's to free. */
int cli_log_begin(cli_log *log, const cli_session *session, cli_history *history, uint64_t steps_done);
/* Drops the lines of steps after the checkpoint, before the first line is written. Returns CLI_OK or, after a message,
 * CLI_FILE. */
int cli_log_cut_ahead(cli_log *log);
/* Writes the line of one step; error is 0 or the error that stopped the run at this step. */
bool cli_log_step(cli_log *log, const firn_step_report *report, int error, double seconds, double elapsed);
/* Writes the line of an evaluation of the state after `step`. */
bool cli_log_evaluation(cli_log *log, uint64_t step, const cli_metric *metrics, uint32_t count, double seconds,
                        double elapsed);
/* Closes the log. If the run failed before it logged a step, a log that it created is removed. */
void cli_log_end(cli_log *log, bool failed);

/* --- outputs/series.c: the numbers of a step that tables and charts have --- */

enum {
    CLI_SERIES_NORM = 3, /* the index of the norm of the gradients, NaN of a plan that computes none */
    CLI_SERIES_FIXED = 5,
    CLI_SERIES_MAX = CLI_SERIES_FIXED + 64 /* schedules of a plan, by the schema */
};

typedef struct cli_series {
    const cli_session *session;
    char *names[CLI_SERIES_MAX];        /* allocated */
    float values[CLI_SERIES_MAX];       /* in the last step that was taken */
    uint32_t schedules[CLI_SERIES_MAX]; /* of the plan, from number CLI_SERIES_FIXED on */
    uint32_t count;
} cli_series;

void cli_series_begin(cli_series *series, const cli_session *session);
void cli_series_take(cli_series *series, const firn_step_report *report);
void cli_series_end(cli_series *series);

/* --- outputs/csv.c: a table of steps --- */

typedef struct cli_csv {
    cli_appended to;
    cli_series series;
    const cli_metric *metrics; /* of the evaluations */
    uint32_t metric_count;     /* 0: there are none */
    uint64_t step;             /* of the last row; 0: none */
    size_t columns_bytes;      /* of the last row, without the columns of the evaluation */
    uint64_t end;              /* length of the file behind the last row, if that is in it */
    bool held;                 /* the last row is not in the file yet, because its evaluation is due */
} cli_csv;

/* Creates the table of --csv, or goes on with one as cli_log_begin does; its columns must be those of this run. */
int cli_csv_begin(cli_csv *csv, const cli_session *session, const cli_validation *validation, uint64_t steps_done);
/* Writes the row of a step; due: only with its evaluation, or when a later row is written. */
bool cli_csv_step(cli_csv *csv, const firn_step_report *report, int error, double seconds, double elapsed, bool due);
/* Writes the values of the evaluation of `step` into its row. */
bool cli_csv_evaluation(cli_csv *csv, uint64_t step);
/* Writes a row whose evaluation is due, without it. */
bool cli_csv_flush(cli_csv *csv);
void cli_csv_end(cli_csv *csv, bool failed);

/* --- outputs/events.c: event files for TensorBoard --- */

typedef struct cli_events {
    cli_appended to; /* the file of this call */
    cli_series series;
    const char *folder;            /* NULL: no events are written */
    struct cli_events_file *files; /* of calls before this one, allocated */
    size_t file_count;
    char *name; /* of the file of this call, allocated */
    const cli_metric *metrics;
    uint32_t metric_count;
    uint64_t evaluated; /* the step of the last evaluation in the files */
    double units;       /* tokens or samples of a step */
    const char *rate;   /* what they are called in a second */
    int lock;           /* the folder, which is locked; -1: it is not */
    bool made;          /* the folder was made by this call */
} cli_events;

/* Claims the folder of --tensorboard, reads the event files in it, and creates the one of this call. Returns CLI_OK or,
 * after a message, CLI_FILE. */
int cli_events_begin(cli_events *events, const cli_session *session, const cli_validation *validation,
                     uint64_t steps_done);
/* Drops the events of steps after the checkpoint from the files that are there. Returns as above. */
int cli_events_cut_ahead(cli_events *events);
bool cli_events_step(cli_events *events, const firn_step_report *report, int error, double seconds);
bool cli_events_evaluation(cli_events *events, uint64_t step);
void cli_events_end(cli_events *events, bool failed);

/* --- outputs/journal.c: all that a run writes of each step --- */

enum { CLI_JOURNAL_FILES = 3 };

typedef struct cli_journal {
    const cli_session *session;
    cli_progress *progress; /* its line is ended before a note */
    cli_log log;
    cli_csv csv;
    cli_events events;
} cli_journal;

/* Opens what the options name. history: as of cli_log_begin. Returns CLI_OK or, after a message, another exit code. */
int cli_journal_begin(cli_journal *journal, const cli_session *session, cli_progress *progress,
                      const cli_validation *validation, cli_history *history, uint64_t steps_done);
/* Drops what is ahead of the checkpoint. Returns as above. */
int cli_journal_cut_ahead(cli_journal *journal);
/* Reserves room in each file for the entry of the step after `step`; notes at once if a file was cut, because entries
 * of it may be lost. Returns false if one cannot be written; so do the next three. */
bool cli_journal_reserve(cli_journal *journal, uint64_t step);
/* Write the entry of a step (error as in cli_log_step; due: its evaluation follows), and of an evaluation. */
bool cli_journal_step(cli_journal *journal, const firn_step_report *report, int error, double seconds, double elapsed,
                      bool due);
bool cli_journal_evaluation(cli_journal *journal, uint64_t step, const cli_validation *validation, double seconds,
                            double elapsed);
/* Flushes all files to the disk. */
bool cli_journal_sync(cli_journal *journal);
/* Returns true if a file could not be written. */
bool cli_journal_failed(const cli_journal *journal);
/* Writes what was held back and looks at the files for the last time. */
void cli_journal_finish(cli_journal *journal);
/* Says what is wrong with a file. step: the last one; kept: which state is kept. Returns CLI_FILE, or `status` if
 * nothing is wrong. */
int cli_journal_report(const cli_journal *journal, int status, uint64_t step, const char *kept);
/* Closes the files. A run that failed before its first step leaves none that it created. */
void cli_journal_end(cli_journal *journal, bool failed);

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
    uint64_t end;         /* where the record ends, if unexpected bytes follow it; else 0 */
    uint8_t *contents;    /* of the whole file */
    const uint8_t *bytes; /* the record in it */
    const uint8_t *state;
} cli_record;

/* Reads the checkpoint file of the options, or the dump of the flash slot that holds one, or of two slots, of which the
 * newer valid record is taken unless --slot names one. Checks its lengths, SHA-256, commit unit, code (with a device
 * key) and list of tensors. Returns CLI_OK, CLI_FILE or CLI_REFUSED. */
int cli_record_load(cli_record *record, const cli_options *options);
/* Reads the one checkpoint in a file and checks as much; device_key may be NULL. What is wrong with it is no message
 * but becomes *error, an error of the library. Returns CLI_OK or, after a message about a file that cannot be read or
 * begins like no checkpoint, another exit code. */
int cli_record_read(cli_record *record, const char *path, const uint8_t *device_key, int *error);
/* Looks at a file that could not be restored. Returns CLI_OK if it begins like a checkpoint or is empty; otherwise
 * another exit code, after a message. */
int cli_record_refuse(const char *path);
void cli_record_unload(cli_record *record);
/* digest.c: computes the digest of the state in a record. Returns FIRN_OK or FIRN_ERROR_HASH. */
int cli_record_digest(const cli_record *record, uint8_t digest[32]);

/* --- the commands --- */

int cli_train(const cli_options *options);
int cli_eval(const cli_options *options);
int cli_predict(const cli_options *options);
int cli_generate(const cli_options *options);
int cli_data(const cli_options *options);
int cli_data_statistics(const cli_options *options);
int cli_export(const cli_options *options);
int cli_digest(const cli_options *options);
int cli_checkpoint(const cli_options *options);
int cli_flash(const cli_options *options);
int cli_report_page(const cli_options *options); /* runtime/report */
int cli_plot(const cli_options *options);        /* likewise */

/* --- runtime/report/units.c: what a loss is measured in --- */

/* Stores what the loss of the plan is, such as "cross-entropy", and its unit, such as "nats per byte", or "". */
void cli_loss_words(const cli_session *session, const char **loss, const char **unit);

/* --- tables/overview.c: what firn data says of columns and tokens --- */

/* Prints what each column of a file holds, if it is a table. */
void cli_columns_print(const char *path, const firn_host_wanted *wanted);
/* Prints which numbers a file of stream 0 has, if it has tokens or is named as such. The data are open without a plan.
 */
void cli_tokens_print(const firn_host_data *data, uint32_t index);

/* --- outputs/classes.c: the names of classes of a session --- */

/* Takes the names of --classes, which must be those that the checkpoint was trained with, or else the latter if they
 * are as many as the classes and each may be a column beside `others`, which NULL ends. Returns CLI_OK or, after a
 * message, CLI_FILE. Free them in any case, before the session.
 */
int cli_classes_find(cli_classes *classes, const cli_session *session, uint64_t count, const char *const *others);

/* --- outputs/predict_text.c: the rows of a prediction for people --- */

typedef enum cli_rows_kind { CLI_ROWS_CSV, CLI_ROWS_JSON } cli_rows_kind;

/* What a row has beside its numbers. */
typedef struct cli_rows_form {
    const cli_session *session;
    firn_tensor_info output;
    uint64_t columns; /* numbers in a row */
    const cli_classes *classes;
    bool judged;   /* the numbers are of classes, of which one is predicted */
    bool labelled; /* the plan reads a label for each row */
    bool pictured; /* each row is of an image, which has a file */
} cli_rows_form;

/* Whether an output has a number for each class, by its name. */
bool cli_rows_are_of_classes(const firn_tensor_info *output);
/* Finds out what the rows of an output have, as CSV or as JSON, and the names of its classes, which the form refers to.
 * Returns CLI_OK or, after a message, CLI_USAGE or CLI_FILE. */
int cli_rows_form_begin(cli_rows_form *form, const cli_session *session, const firn_tensor_info *output,
                        cli_classes *classes, cli_rows_kind kind);
void cli_rows_csv_head(FILE *to, const cli_rows_form *form);
/* Writes a row. False without a message if its label cannot be read. */
bool cli_rows_put(FILE *to, const cli_rows_form *form, cli_rows_kind kind, uint64_t row, const float *values);

/* --- outputs/confusion.c: what a metric says about each class --- */

/* Before an evaluation for --confusion and --per-class: refuses a plan whose metric counts no confusion matrix, names
 * of another number, and a file that cannot be written; else reads the names. CLI_OK without these options. */
int cli_confusion_check(const cli_session *session, cli_classes *classes);
/* After it: writes the matrix and notes the number of right rows. */
int cli_confusion_write(const cli_session *session, const cli_classes *classes);
/* Prints the matrix to standard output, for --confusion -, and a line for each class, for --per-class. */
void cli_confusion_print(const cli_session *session, const cli_classes *classes);

#endif
