/* The command line of firn: the table of commands and options, and its parser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

enum { RESIZE_MOST = 16384 };

enum {
    TRAIN = 1,
    EVAL = 2,
    EXPORT = 4,
    DIGEST = 8,
    PREDICT = 16,
    FLASH = 32,
    DATA = 64,
    GENERATE = 128,
    STATISTICS = 256,
    REPORT = 512,
    PLOT = 1024,
    CHECKPOINT = 2048,
    FILES = DATA | STATISTICS | REPORT | PLOT, /* whose operands are any number of files */
    RUN = TRAIN | EVAL | PREDICT,
    OPEN = RUN | GENERATE, /* what opens a plan, with data or without */
    READ = RUN | DATA,
    LOOK = READ | STATISTICS /* what reads data, with a plan or without */
};

static const struct {
    firn_manual_command words;
    unsigned bit;
    const char *operand;
} commands[] = {
    {{.name = "train",
      .forms = {"PLAN --pub PUB --data FILE [options]"},
      .text = "run train steps; the last line on standard output is `digest` and the SHA-256 of the state"},
     TRAIN,
     "PLAN"},
    {{.name = "eval",
      .forms = {"PLAN --pub PUB --data FILE --checkpoint FILE [options]"},
      .text = "print one number, the metric of the plan over the parameters of a checkpoint"},
     EVAL,
     "PLAN"},
    {{.name = "predict",
      .forms = {"PLAN --pub PUB --data FILE --checkpoint FILE -o FILE [options]"},
      .text =
          "write an output of an eval plan over the parameters of a checkpoint, a row for each sample: with a name in "
          ".csv a line of numbers, in .npy an array of NumPy in float32, in .jsonl or by --format for people"},
     PREDICT,
     "PLAN"},
    {{.name = "generate",
      .forms = {"PLAN --pub PUB --checkpoint FILE --prompt TEXT [options]"},
      .text = "print a prompt and the tokens that a language model says behind it: run a decode plan over the "
              "parameters of a checkpoint. The text is the same on every machine"},
     GENERATE,
     "PLAN"},
    {{.name = "data",
      .forms = {"FILE... [options]"},
      .text = "say what data files hold and, with --plan, what a plan takes from them or why it refuses them"},
     DATA,
     "FILE"},
    {{.name = "data-statistics",
      .forms = {"FILE... -o FILE [options]"},
      .text = "write the mean and the standard deviation of each column of the training data, which firnc compile "
              "--statistics freezes into a plan whose recipe says normalise: fit"},
     STATISTICS,
     "FILE"},
    {{.name = "export",
      .forms = {"CHECKPOINT -o FILE [options]"},
      .text = "write the parameters and buffers of a checkpoint, in float32, as safetensors"},
     EXPORT,
     "CHECKPOINT"},
    {{.name = "digest",
      .forms = {"CHECKPOINT [options]"},
      .text = "print the SHA-256 of the state in a checkpoint, as train does at its end"},
     DIGEST,
     "CHECKPOINT"},
    {{.name = "checkpoint",
      .forms = {"CHECKPOINT [options]"},
      .text =
          "say what a checkpoint holds: the step and the samples of the run, sizes, hashes of the run, the model and "
          "the data, and which files are beside it"},
     CHECKPOINT,
     "CHECKPOINT"},
    {{.name = "report",
      .forms = {"LOG... -o FILE [options]", "--plan PLAN --pub PUB -o FILE"},
      .text =
          "write one HTML file, which needs no network, about the logs of runs that train --log wrote, or rows that a "
          "device printed: loss, validation, health and, with --plan, schedules, memory, ops and precision"},
     REPORT,
     "LOG"},
    {{.name = "plot",
      .forms = {"LOG... -o FILE"},
      .text = "draw losses, evaluations and learning rates of the same as SVG"},
     PLOT,
     "LOG"},
    {{.name = "flash",
      .forms = {"PLAN --port PORT [options]"},
      .text = "send a plan to a device, which verifies it and tries it at its next start; a transfer that broke off "
              "goes on where it was"},
     FLASH,
     "PLAN"},
};

typedef enum option_id {
    OPTION_PUB,
    OPTION_VENDOR,
    OPTION_CLASS,
    OPTION_IMAGE_ID,
    OPTION_PORT,
    OPTION_BAUD,
    OPTION_TIMEOUT,
    OPTION_DATA,
    OPTION_PLAN,
    OPTION_CONVERT,
    OPTION_CONVERT_LABELS,
    OPTION_LABELS,
    OPTION_WEIGHTS,
    OPTION_MEMBER,
    OPTION_COLUMNS,
    OPTION_TARGET_COLUMN,
    OPTION_HEADER,
    OPTION_CHECKPOINT,
    OPTION_CHECKPOINT_EVERY,
    OPTION_RESUME,
    OPTION_STEPS,
    OPTION_LOG,
    OPTION_CSV,
    OPTION_TENSORBOARD,
    OPTION_COUNTER,
    OPTION_THREADS,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_ALLOW_OTHER_PREPROCESSING,
    OPTION_ALLOW_OTHER_SPLIT,
    OPTION_ALLOW_OTHER_DATA,
    OPTION_OUTPUT,
    OPTION_NAME,
    OPTION_FORMAT,
    OPTION_CLASSES,
    OPTION_CONFUSION,
    OPTION_PER_CLASS,
    OPTION_PER_TENSOR,
    OPTION_RESIZE,
    OPTION_CLASSES_OUTPUT,
    OPTION_HELD_OUT,
    OPTION_AXIS,
    OPTION_DEVICE_KEY,
    OPTION_SLOT,
    OPTION_PROMPT,
    OPTION_TOKENS,
    OPTION_TEMPERATURE,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_SEED,
    OPTION_EVAL,
    OPTION_EVAL_EVERY,
    OPTION_EVAL_DATA,
    OPTION_EVAL_LABELS,
    OPTION_EVAL_WEIGHTS,
    OPTION_BY,
    OPTION_KEEP_BEST,
    OPTION_PATIENCE,
    OPTION_PROFILE,
    OPTION_MATRIX
} option_id;

static const struct {
    firn_manual_option words;
    option_id id;
    unsigned commands; /* commands that accept it */
    unsigned needed;   /* commands that require it */
} known[] = {
    {{"--pub", NULL, "PUB", "the public key (PEM) whose plans may run; may be given again, for several keys"},
     OPTION_PUB,
     READ | GENERATE | REPORT,
     OPEN},
    {{"--plan", NULL, "PLAN", "a plan that would read the files; needs --pub"}, OPTION_PLAN, DATA, 0},
    {{"--plan", NULL, "PLAN", "the plan that the runs had; needs --pub"}, OPTION_PLAN, REPORT, 0},
    {{"--vendor", NULL, "ID", "refuse a plan for another vendor: a UUID, or at most 16 characters"},
     OPTION_VENDOR,
     OPEN,
     0},
    {{"--class", NULL, "ID", "refuse a plan for another class of devices"}, OPTION_CLASS, OPEN, 0},
    {{"--image-id", NULL, "N", "refuse a plan with another image id"}, OPTION_IMAGE_ID, OPEN, 0},
    {{"--data", NULL, "FILE",
      "a file, or a folder for the files in it in natural order (p9 before p10), without hidden files, links and "
      "folders; "
      "may "
      "be given again. Any file as bytes, .npy, .npz, IDX, .csv or tokens (.bin), packed with gzip or not; PNG and "
      "JPEG "
      "images, of which a folder may hold one folder for each class, which is then the label"},
     OPTION_DATA,
     RUN,
     RUN},
    {{"--labels", NULL, "FILE", "labels or targets of the records"}, OPTION_LABELS, LOOK, 0},
    {{"--held-out-per-mille", NULL, "N",
      "leave out what a run holds out: the last N per mille of the records, as held_out_per_mille of the recipe; "
      "default: 0"},
     OPTION_HELD_OUT,
     STATISTICS,
     0},
    {{"--axis", NULL, "each|last|first|all",
      "which numbers of a record are one column: each by itself; those with one index in the last or the first extent, "
      "as the channels of images; all. Default: each of a flat record; of images all, or the channels"},
     OPTION_AXIS,
     STATISTICS,
     0},
    {{"--weights", NULL, "FILE", "weights of the records, for a model with sample_weights; needs --labels"},
     OPTION_WEIGHTS,
     READ,
     0},
    {{"--member", NULL, "NAMES",
      "of .npz files with several arrays, the one to read: NAME in the data, or NAME,NAME,NAME in data, labels and "
      "weights"},
     OPTION_MEMBER,
     LOOK,
     0},
    {{"--target-column", NULL, "COLUMN",
      "of a .csv table of data, the column of labels or targets, in place of --labels: its name, or its number from "
      "1; several with commas between them"},
     OPTION_TARGET_COLUMN,
     LOOK,
     0},
    {{"--columns", NULL, "COLUMNS",
      "of a .csv table of data, the columns of features in their order, by name or number, as in age,height,3; "
      "default: all but the target"},
     OPTION_COLUMNS,
     LOOK,
     0},
    {{"--header", NULL, "yes|no",
      "whether the first row of .csv tables has the names of the columns; default: if it has no number"},
     OPTION_HEADER,
     LOOK,
     0},
    {{"--resize", NULL, "WIDTHxHEIGHT",
      "of PNG and JPEG images, the size that all are brought to, by the average over the area of each new pixel; "
      "default: "
      "they must have the size that the plan reads"},
     OPTION_RESIZE,
     LOOK,
     0},
    {{"--convert", NULL, "FILE", "write the records, or the text, as the .npy file that a device reads"},
     OPTION_CONVERT,
     DATA,
     0},
    {{"--convert-labels", NULL, "FILE", "write the labels so, also those of class folders"},
     OPTION_CONVERT_LABELS,
     DATA,
     0},
    {{"--classes-output", NULL, "FILE",
      "write the names of class folders, or of the texts of --target-column, one a line, which predict and eval read "
      "by "
      "--classes"},
     OPTION_CLASSES_OUTPUT,
     DATA,
     0},
    {{"--steps", NULL, "N",
      "so many more steps; default: to the end of the run, or until it is interrupted if it has no end"},
     OPTION_STEPS,
     TRAIN,
     0},
    {{"--checkpoint", NULL, "FILE",
      "where the state is saved, at the end and when the run is interrupted; never over one that is there, without "
      "--resume"},
     OPTION_CHECKPOINT,
     TRAIN,
     0},
    {{"--checkpoint", NULL, "FILE", "the state that train saved, whose parameters are used; it is only read"},
     OPTION_CHECKPOINT,
     EVAL | PREDICT | GENERATE,
     EVAL | PREDICT | GENERATE},
    {{"--checkpoint-every", NULL, "N", "save it after every N steps too; default: what the recipe said, if it did"},
     OPTION_CHECKPOINT_EVERY,
     TRAIN,
     0},
    {{"--resume", NULL, NULL, "go on from the checkpoint, and with the log"}, OPTION_RESUME, TRAIN, 0},
    {{"--log", NULL, "FILE",
      "one line of JSON for each step; never over one that is there, without --resume. If it cannot be written any "
      "more, the "
      "state is saved and the run stops"},
     OPTION_LOG,
     TRAIN,
     0},
    {{"--csv", NULL, "FILE",
      "one row of a table for each step, with evaluations in columns of their own; never over one that is there, "
      "without "
      "--resume"},
     OPTION_CSV,
     TRAIN,
     0},
    {{"--tensorboard", NULL, "FOLDER",
      "event files for TensorBoard, with the scalars of each step and evaluation; a folder that is not there is made, "
      "and one with the events of another run is refused"},
     OPTION_TENSORBOARD,
     TRAIN,
     0},
    {{"--eval", NULL, "PLAN",
      "an eval plan of the same model, which evaluates the state in the course of the run; the log has the values"},
     OPTION_EVAL,
     TRAIN,
     0},
    {{"--eval-every", NULL, "N",
      "evaluate after every N steps, and at the end of the run; default: what the recipe said, else at the end"},
     OPTION_EVAL_EVERY,
     TRAIN,
     0},
    {{"--eval-data", NULL, "FILE",
      "what is evaluated, as for --data and, for tables and .npz files, in the same form; may be given again. Default: "
      "the data of the training, of which --eval reads the part that its recipe says"},
     OPTION_EVAL_DATA,
     TRAIN,
     0},
    {{"--eval-labels", NULL, "FILE", "labels or targets of the records in --eval-data"}, OPTION_EVAL_LABELS, TRAIN, 0},
    {{"--eval-weights", NULL, "FILE", "weights of the records in --eval-data; needs --eval-labels"},
     OPTION_EVAL_WEIGHTS,
     TRAIN,
     0},
    {{"--by", NULL, "METRIC",
      "the metric that the best is chosen by; default: loss, or the first one of a plan without it. A value that is "
      "not finite is never the best; of equal ones the first is"},
     OPTION_BY,
     TRAIN,
     0},
    {{"--keep-best", NULL, "FILE",
      "where the state with the best evaluation is saved, as a checkpoint; needs --log, from which --resume reads the "
      "values"},
     OPTION_KEEP_BEST,
     TRAIN,
     0},
    {{"--patience", NULL, "N", "end the run when N evaluations were not better than the best before them; needs --log"},
     OPTION_PATIENCE,
     TRAIN,
     0},
    {{"--counter", NULL, "FILE",
      "the security counter: plans older than it are refused; it advances to the plan's after a step has worked"},
     OPTION_COUNTER,
     OPEN,
     0},
    {{"--device-key", NULL, "FILE",
      "32 secret bytes of a device, which authenticate its checkpoints: those that were not written with this key are "
      "refused, also those without a key. export, digest and checkpoint read one without its key too, and say so"},
     OPTION_DEVICE_KEY,
     OPEN | EXPORT | DIGEST | CHECKPOINT,
     0},
    {{"--slot", NULL, "N", "of a dump of two slots of flash, the one to read, 0 or 1; default: the newer valid one"},
     OPTION_SLOT,
     EXPORT | DIGEST | CHECKPOINT,
     0},
    {{"--threads", NULL, "N", "default: one for each CPU; the result is the same with any number"},
     OPTION_THREADS,
     OPEN,
     0},
    {{"--allow-other-preprocessing", NULL, NULL,
      "evaluate although the checkpoint was trained with another scale, type or shape of the inputs; of train with "
      "--eval"},
     OPTION_ALLOW_OTHER_PREPROCESSING,
     RUN,
     0},
    {{"--allow-other-split", NULL, NULL,
      "evaluate although another part of the data was held out in training, so that this one may have been trained "
      "with; of train with --eval"},
     OPTION_ALLOW_OTHER_SPLIT,
     RUN,
     0},
    {{"--allow-other-data", NULL, NULL,
      "accept a checkpoint that was trained with other files. A plan that evaluates all of its data accepts it anyway; "
      "to "
      "resume with another preprocessing or split takes another plan, which is another run"},
     OPTION_ALLOW_OTHER_DATA,
     RUN,
     0},
    {{"--port", NULL, "PORT", "the serial port of the device, or a local socket"}, OPTION_PORT, FLASH, FLASH},
    {{"--baud", NULL, "N", "speed of the serial port; default: 115200"}, OPTION_BAUD, FLASH, 0},
    {{"--timeout", NULL, "SECONDS",
      "without an answer or without progress of the device, after which it is given up; default: 30"},
     OPTION_TIMEOUT,
     FLASH,
     0},
    {{"--profile", NULL, "FILE",
      "measure how long each op takes, and write the times there at the end, which report reads; the run has the same "
      "bits, and is slower by what a look at the clock behind each op takes"},
     OPTION_PROFILE,
     TRAIN,
     0},
    {{"--profile", NULL, "FILE", "the times of the ops, which train --profile wrote"}, OPTION_PROFILE, REPORT, 0},
    {{"--confusion", NULL, "FILE", "the confusion matrix that eval --confusion wrote"}, OPTION_MATRIX, REPORT, 0},
    {{"--quiet", "-q", NULL, "show no progress and no notes"},
     OPTION_QUIET,
     OPEN | FLASH | EXPORT | STATISTICS | REPORT,
     0},
    {{"--verbose", "-v", NULL, "show more of the progress"}, OPTION_VERBOSE, OPEN, 0},
    {{"--output", "-o", "FILE", "the file to write; one that is there is replaced, as soon as the new one is whole"},
     OPTION_OUTPUT,
     EXPORT | PREDICT | STATISTICS | REPORT | PLOT,
     EXPORT | PREDICT | STATISTICS | REPORT | PLOT},
    {{"--name", NULL, "NAME", "the output to write, of a plan that has several"}, OPTION_NAME, PREDICT, 0},
    {{"--prompt", NULL, "TEXT",
      "what the text begins with: bytes, or for a model of other tokens their ids, as numbers with spaces between"},
     OPTION_PROMPT,
     GENERATE,
     GENERATE},
    {{"--tokens", NULL, "N", "tokens to add; default: to the end of the model's context"}, OPTION_TOKENS, GENERATE, 0},
    {{"--temperature", NULL, "T",
      "what scores are divided by: below 1 likely tokens become likelier; 0: always the likeliest; default: 1"},
     OPTION_TEMPERATURE,
     GENERATE,
     0},
    {{"--top-k", NULL, "K", "draw from the K likeliest tokens only; default: 0, from all"}, OPTION_TOP_K, GENERATE, 0},
    {{"--top-p", NULL, "P",
      "draw from the likeliest tokens only that together have this share of the probability; default: 1, from all"},
     OPTION_TOP_P,
     GENERATE,
     0},
    {{"--seed", NULL, "S", "of the draws: another seed gives another text; default: 0"}, OPTION_SEED, GENERATE, 0},
    {{"--format", NULL, "csv|npy|jsonl",
      "csv: a table with a header, and in each row its index, of classes the predicted one, and the label where the "
      "plan "
      "reads labels; jsonl: the same as a line of JSON; npy: the numbers"},
     OPTION_FORMAT,
     PREDICT,
     0},
    {{"--classes", NULL, "FILE",
      "names of the classes, one a line; with --format csv or jsonl; default: those that the checkpoint was trained "
      "with, if they are beside it (CHECKPOINT.columns)"},
     OPTION_CLASSES,
     PREDICT,
     0},
    {{"--classes", NULL, "FILE",
      "names of the classes, one a line; with --confusion or --per-class; default: those that the checkpoint was "
      "trained with, if they are beside it (CHECKPOINT.columns)"},
     OPTION_CLASSES,
     EVAL,
     0},
    {{"--confusion", NULL, "FILE",
      "write the confusion matrix as CSV, a row for each label and a column for each prediction; for metrics that "
      "count "
      "one, such as mean_per_class_accuracy"},
     OPTION_CONFUSION,
     EVAL,
     0},
    {{"--per-class", NULL, NULL,
      "print precision, recall, F1 and support of each class behind the metric, as CSV; for the same metrics"},
     OPTION_PER_CLASS,
     EVAL,
     0},
    {{"--per-tensor", NULL, NULL, "of each tensor too, to find where two runs part"}, OPTION_PER_TENSOR, DIGEST, 0},
};

#define KNOWN    (sizeof known / sizeof *known)
#define COMMANDS (sizeof commands / sizeof *commands)

/* --- what --help and the manual page say -------------------------------------------------------------------------- */

static const firn_manual_entry exit_codes[] = {
    {"0", "success"},
    {"1", "a file is wrong"},
    {"2", "the command line is wrong"},
    {"3", "a plan or checkpoint is refused, here or by the device"},
    {"4", "the run was stopped by its numbers: a loss or a score is not finite, or the loss scale is at its floor"},
    {"5", "train --resume: nothing is left to do, the run is complete, or --patience has ended it"},
    {"130", "interrupted by SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM or SIGXCPU; train has saved the state, "
            "where --checkpoint says, predict has written nothing, and generate has printed what it had"},
};

static const firn_manual_entry environment[] = {
    {"FIRN_KERNELS",
     "the kernel set, of those that this CPU can run: plain; on x86 fma, avx2, avx512, "
     "avx512fp16, avx512bf16, amx; on AArch64 neon, neonfp16; the result is the same with any. Default: the fastest"},
    {"FIRN_JAVASCRIPT",
     "the folder from which report takes chart.js/chart.min.js; default: where the package libjs-chart.js puts it"},
};

static const firn_manual_entry files[] = {
    {"CHECKPOINT.tmp", "before the first save the room that is reserved for it, then a checkpoint that is being "
                       "written, renamed when it is "
                       "whole; what a run that was killed leaves is removed by the next one"},
    {"CHECKPOINT.columns",
     "the names of the columns of a table that was trained with, or of the plan's statistics, by which later tables "
     "are read; with a hash by which an edited one is refused"},
    {"CHECKPOINT.lock", "held by the run that saves there; empty, and may stay behind"},
};

static const firn_manual_section sections[] = {
    {"Exit status", exit_codes, sizeof exit_codes / sizeof exit_codes[0]},
    {"Environment", environment, sizeof environment / sizeof environment[0]},
    {"Files", files, sizeof files / sizeof files[0]},
};

static const firn_manual_command *command_at(uint32_t command) {
    return command < COMMANDS ? &commands[command].words : NULL;
}

static const firn_manual_option *option_at(uint32_t command, uint32_t position) {
    for (size_t i = 0; i < KNOWN; i++)
        if ((known[i].commands & commands[command].bit) != 0 && position-- == 0)
            return &known[i].words;
    return NULL;
}

const firn_manual cli_manual = {
    .program = "firn",
    .version = FIRN_VERSION,
    .text = "runs a plan that firnc froze and signed",
    .more = "A plan is a training run in one signed file. firn checks the signature and then runs that plan's train "
            "steps, or "
            "its evaluation, and nothing else. The same plan and the same data give the same bits on every machine.",
    .see_also = "firnc",
    .command_at = command_at,
    .option_at = option_at,
    .sections = sections,
    .section_count = sizeof sections / sizeof sections[0],
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int usage(const char *where, const char *text, const char *word) {
    firn_host_fail(where, "%s%s; `firn help` shows the command line", text, word);
    return CLI_USAGE;
}

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != 0 || value < least || value > most)
        return false;
    *number = value;
    return true;
}

static const char *const twice = "is given twice; leave one out";

/* Each of these returns NULL, or a text that says what is wrong with the value. */
static const char *set_path(const char **place, const char *value) {
    if (*place != NULL)
        return twice;
    if (*value == 0)
        return "has an empty name behind it; write the name of a file";
    *place = value;
    return NULL;
}

static const char *set_name(const char **place, const char *value) {
    if (*place != NULL)
        return twice;
    if (*value == 0)
        return "has an empty name behind it; write a name";
    *place = value;
    return NULL;
}

static const char *set_header(cli_options *options, const char *value) {
    if (options->header != FIRN_HOST_HEADER_UNKNOWN)
        return twice;
    options->header = strcmp(value, "yes") == 0  ? FIRN_HOST_HEADER_YES
                      : strcmp(value, "no") == 0 ? FIRN_HOST_HEADER_NO
                                                 : FIRN_HOST_HEADER_UNKNOWN;
    return options->header != FIRN_HOST_HEADER_UNKNOWN ? NULL : "is neither; write yes or no";
}

/* Cuts NAME,NAME,NAME at the commas. A name may be empty: then the file has one array only. */
static const char *set_members(cli_options *options, const char *value) {
    if (options->members_given)
        return twice;
    options->members_given = true;
    if (*value == 0)
        return "has an empty name behind it; write the name of an array";
    for (uint32_t i = 0; value != NULL; i++) {
        const char *comma = strchr(value, ',');
        if (i == FIRN_HOST_STREAMS)
            return "names more than three arrays; write those of --data, --labels and --weights";
        const size_t length = comma != NULL ? (size_t)(comma - value) : strlen(value);
        char *name = length != 0 ? firn_host_path(value, "") : NULL;
        if (name != NULL)
            name[length] = 0;
        options->members[i] = name;
        value = comma != NULL ? comma + 1 : NULL;
    }
    return NULL;
}

static const char *set_format(cli_options *options, const char *value) {
    if (options->format != NULL)
        return twice;
    options->format = value;
    return strcmp(value, "csv") == 0 || strcmp(value, "npy") == 0 || strcmp(value, "jsonl") == 0
               ? NULL
               : "is no format; write csv, npy or jsonl";
}

static const char *set_number(uint64_t *place, const char *value, uint64_t least, uint64_t most, const char *fault) {
    return read_number(value, least, most, place) ? NULL : fault;
}

static const char *add_data(cli_options *options, const char *value) {
    if (options->data_count == CLI_DATA_MAX)
        return "is given more than 1024 times; put the files into a folder";
    return set_path(&options->data[options->data_count++], value);
}

static const char *add_eval_data(cli_options *options, const char *value) {
    if (options->eval_data_count == CLI_DATA_MAX)
        return "is given more than 1024 times; put the files into a folder";
    return set_path(&options->eval_data[options->eval_data_count++], value);
}

static const char *add_key(cli_options *options, const char *value) {
    if (options->key_count == CLI_KEYS_MAX)
        return "is given more than 32 times; a device has no more keys";
    return set_path(&options->keys[options->key_count++], value);
}

static const char *set_device_id(uint8_t id[16], bool *given, const char *value) {
    if (*given)
        return twice;
    *given = true;
    return value[0] != 0 && firn_device_id_read(value, strlen(value), id)
               ? NULL
               : "is no identity; write a UUID, or at most 16 characters without spaces";
}

static const char *set_image_id(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->image_given ? twice
                                             : set_number(&number, value, 0, UINT32_MAX,
                                                          "is no image id; write a number from 0 to 4294967295");
    options->image_given = true;
    options->identity.image_id = (uint32_t)number;
    return fault;
}

static const char *set_prompt(cli_options *options, const char *value) {
    if (options->prompt != NULL)
        return twice;
    options->prompt = value;
    return NULL;
}

/* A decimal number from `least`, which itself is only allowed if `equal`, to `most`. */
static const char *set_real(float *place, bool *given, const char *value, float least, bool equal, float most,
                            const char *fault) {
    char *end;
    if (*given)
        return twice;
    *given = true;
    const float number = strtof(value, &end);
    const bool decimal = ((value[0] >= '0' && value[0] <= '9') || value[0] == '.') && strpbrk(value, "xXnN") == NULL;
    if (!decimal || *end != 0 || !(number <= most) || !(equal ? number >= least : number > least))
        return fault;
    *place = number;
    return NULL;
}

static const char *set_top_k(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->top_k_given ? twice
                                             : set_number(&number, value, 0, UINT32_MAX,
                                                          "is no number of tokens; write one from 1, or 0 for all");
    options->top_k_given = true;
    options->sampling.top_k = (uint32_t)number;
    return fault;
}

/* A number from 1 that is given once; 0: it is not given yet. */
static const char *set_count(uint64_t *place, const char *value, const char *fault) {
    return *place != 0 ? twice : set_number(place, value, 1, UINT64_MAX, fault);
}

static const char *set_metric(cli_options *options, const char *value) {
    if (options->by != NULL)
        return twice;
    options->by = value;
    return *value != 0 ? NULL : "has an empty name behind it; write the name of a metric";
}

static const char *set_baud(cli_options *options, const char *value) {
    uint64_t number = 0;
    if (options->baud != 0)
        return twice;
    if (!read_number(value, 1, UINT32_MAX, &number) || !firn_host_line_has_speed((uint32_t)number))
        return "is no speed of a serial port; write 9600, 19200, 38400, 57600, 115200, 230400, 460800 or 921600";
    options->baud = (uint32_t)number;
    return NULL;
}

static const char *set_timeout(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->timeout != 0 ? twice
                                              : set_number(&number, value, 1, 86400,
                                                           "is no number of seconds; write one from 1 to 86400");
    options->timeout = (uint32_t)number;
    return fault;
}

static const char *set_threads(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->threads != 0 ? twice
                                              : set_number(&number, value, 1, CLI_THREADS_MAX,
                                                           "is no number of threads; write one from 1 to 256");
    options->threads = (unsigned)number;
    return fault;
}

_Static_assert(CLI_DATA_MAX == 1024 && CLI_THREADS_MAX == 256 && CLI_KEYS_MAX == 32,
               "the messages have the same numbers");

static const char *set_resize(cli_options *options, const char *value) {
    char width[8];
    uint64_t w, h;
    const char *by = strchr(value, 'x');
    if (options->resize_width != 0)
        return twice;
    if (by == NULL || by == value || (size_t)(by - value) >= sizeof width)
        return "is no size; write width and height, as 32x32";
    memcpy(width, value, (size_t)(by - value));
    width[by - value] = 0;
    if (!read_number(width, 1, RESIZE_MOST, &w) || !read_number(by + 1, 1, RESIZE_MOST, &h))
        return "is no size; write width and height from 1 to 16384, as 32x32";
    options->resize_width = (uint32_t)w;
    options->resize_height = (uint32_t)h;
    return NULL;
}

static const char *set_axis(cli_options *options, const char *value) {
    if (options->axis != NULL)
        return twice;
    options->axis = value;
    return strcmp(value, "each") == 0 || strcmp(value, "last") == 0 || strcmp(value, "first") == 0 ||
                   strcmp(value, "all") == 0
               ? NULL
               : "is no axis; write each, last, first or all";
}

static const char *set_held_out(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->held_out_given ? twice
                                                : set_number(&number, value, 0, 999,
                                                             "is no part of the records; write a number from 0 to 999");
    options->held_out_given = true;
    options->held_out_per_mille = (uint32_t)number;
    return fault;
}

/* Stores the value of an option. Returns as above. */
static const char *set(cli_options *options, option_id id, const char *value) {
    bool given = false;
    switch (id) {
    case OPTION_PUB:
        return add_key(options, value);
    case OPTION_VENDOR:
        return set_device_id(options->identity.vendor, &options->vendor_given, value);
    case OPTION_CLASS:
        return set_device_id(options->identity.class_id, &options->class_given, value);
    case OPTION_IMAGE_ID:
        return set_image_id(options, value);
    case OPTION_PORT:
        return set_path(&options->port, value);
    case OPTION_BAUD:
        return set_baud(options, value);
    case OPTION_TIMEOUT:
        return set_timeout(options, value);
    case OPTION_PLAN:
        return set_path(&options->file, value);
    case OPTION_CONVERT:
        return set_path(&options->output, value);
    case OPTION_CONVERT_LABELS:
        return set_path(&options->labels_output, value);
    case OPTION_LABELS:
        return set_path(&options->labels, value);
    case OPTION_WEIGHTS:
        return set_path(&options->weights, value);
    case OPTION_MEMBER:
        return set_members(options, value);
    case OPTION_COLUMNS:
        return set_name(&options->columns, value);
    case OPTION_TARGET_COLUMN:
        return set_name(&options->target, value);
    case OPTION_HEADER:
        return set_header(options, value);
    case OPTION_RESIZE:
        return set_resize(options, value);
    case OPTION_CLASSES_OUTPUT:
        return set_path(&options->classes_output, value);
    case OPTION_HELD_OUT:
        return set_held_out(options, value);
    case OPTION_AXIS:
        return set_axis(options, value);
    case OPTION_CHECKPOINT:
        return set_path(&options->checkpoint, value);
    case OPTION_LOG:
        return set_path(&options->log, value);
    case OPTION_CSV:
        return set_path(&options->csv, value);
    case OPTION_TENSORBOARD:
        return set_path(&options->tensorboard, value);
    case OPTION_COUNTER:
        return set_path(&options->counter, value);
    case OPTION_DEVICE_KEY:
        return set_path(&options->device_key, value);
    case OPTION_SLOT:
        given = options->slot_given;
        options->slot_given = true;
        return given ? twice : set_number(&options->slot, value, 0, 1, "is no slot; write 0 or 1");
    case OPTION_OUTPUT:
        return set_path(&options->output, value);
    case OPTION_PROMPT:
        return set_prompt(options, value);
    case OPTION_TOKENS:
        given = options->tokens_given;
        options->tokens_given = true;
        return given
                   ? twice
                   : set_number(&options->tokens, value, 1, UINT64_MAX - 1, "is no number of tokens; write one from 1");
    case OPTION_TEMPERATURE:
        return set_real(&options->sampling.temperature, &options->temperature_given, value, 0, true, 1e30F,
                        "is no temperature; write a number from 0, such as 0.8");
    case OPTION_TOP_K:
        return set_top_k(options, value);
    case OPTION_TOP_P:
        return set_real(&options->sampling.top_p, &options->top_p_given, value, 0, false, 1,
                        "is no share; write a number above 0, at most 1, such as 0.9");
    case OPTION_SEED:
        given = options->seed_given;
        options->seed_given = true;
        return given ? twice
                     : set_number(&options->sampling.seed, value, 0, UINT64_MAX, "is no seed; write a number from 0");
    case OPTION_NAME:
        return set_name(&options->name, value);
    case OPTION_FORMAT:
        return set_format(options, value);
    case OPTION_CLASSES:
        return set_path(&options->classes, value);
    case OPTION_CONFUSION:
        return set_path(&options->confusion, value);
    case OPTION_DATA:
        return add_data(options, value);
    case OPTION_CHECKPOINT_EVERY:
        return set_count(&options->checkpoint_every, value, "is no number of steps; write one from 1");
    case OPTION_EVAL:
        return set_path(&options->eval, value);
    case OPTION_EVAL_EVERY:
        return set_count(&options->eval_every, value, "is no number of steps; write one from 1");
    case OPTION_EVAL_DATA:
        return add_eval_data(options, value);
    case OPTION_EVAL_LABELS:
        return set_path(&options->eval_labels, value);
    case OPTION_EVAL_WEIGHTS:
        return set_path(&options->eval_weights, value);
    case OPTION_BY:
        return set_metric(options, value);
    case OPTION_KEEP_BEST:
        return set_path(&options->keep_best, value);
    case OPTION_PATIENCE:
        return set_count(&options->patience, value, "is no number of evaluations; write one from 1");
    case OPTION_PROFILE:
        return set_path(&options->profile, value);
    case OPTION_MATRIX:
        return set_path(&options->matrix, value);
    case OPTION_STEPS:
        given = options->steps_given;
        options->steps_given = true;
        return given ? twice
                     : set_number(&options->steps, value, 0, UINT64_MAX, "is no number of steps; write one from 0");
    case OPTION_THREADS:
        return set_threads(options, value);
    case OPTION_RESUME:
        options->resume = true;
        break;
    case OPTION_QUIET:
        options->quiet = true;
        break;
    case OPTION_VERBOSE:
        options->verbose = true;
        break;
    case OPTION_PER_CLASS:
        options->per_class = true;
        break;
    case OPTION_PER_TENSOR:
        options->per_tensor = true;
        break;
    case OPTION_ALLOW_OTHER_PREPROCESSING:
        options->allow_other_preprocessing = true;
        break;
    case OPTION_ALLOW_OTHER_SPLIT:
        options->allow_other_split = true;
        break;
    case OPTION_ALLOW_OTHER_DATA:
        options->allow_other_data = true;
        break;
    }
    return NULL;
}

/* Returns the position in `known` of an option of the command, or KNOWN if it has no such option. *value is set if the
 * word contains a value ("--steps=3"). */
static size_t find(const char *word, unsigned command, const char **value) {
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL && word[1] == '-' ? (size_t)(equals - word) : strlen(word);
    *value = word[length] == '=' ? word + length + 1 : NULL;
    for (size_t i = 0; i < KNOWN; i++) {
        const firn_manual_option *option = &known[i].words;
        if ((known[i].commands & command) == 0)
            continue;
        if (strlen(option->name) == length && memcmp(option->name, word, length) == 0)
            return i;
        if (option->brief != NULL && strcmp(option->brief, word) == 0)
            return i;
    }
    return KNOWN;
}

/* Parses the option at words[*at] and advances *at past it. */
static int read_option(cli_options *options, unsigned command, int count, char *const *words, int *at) {
    const char *word = words[(*at)++], *value;
    size_t i = find(word, command, &value);
    if (i == KNOWN)
        return usage(options->command, "does not know the option ", word);
    const char *name = known[i].words.name;
    const bool has_value = known[i].words.argument != NULL;
    if (!has_value && value != NULL)
        return usage(options->command, "takes no value after ", name);
    if (has_value && value == NULL) {
        if (*at == count)
            return usage(options->command, "needs a value after ", word);
        value = words[(*at)++];
    }
    const char *fault = set(options, known[i].id, value == NULL ? "" : value);
    if (fault == NULL)
        return CLI_OK;
    firn_host_fail(options->command, "%s%s%s: %s", name, has_value ? " " : "", value == NULL ? "" : value, fault);
    return CLI_USAGE;
}

static bool is_given(const cli_options *options, option_id id) {
    switch (id) {
    case OPTION_PUB:
        return options->key_count != 0;
    case OPTION_PORT:
        return options->port != NULL;
    case OPTION_DATA:
        return options->data_count > 0;
    case OPTION_CHECKPOINT:
        return options->checkpoint != NULL;
    case OPTION_OUTPUT:
        return options->output != NULL;
    case OPTION_PROMPT:
        return options->prompt != NULL;
    default:
        return true;
    }
}

/* Returns the option that is given and means nothing without --eval, or NULL. */
static const char *needs_eval(const cli_options *options, unsigned command) {
    if (command != TRAIN || options->eval != NULL)
        return NULL;
    return options->eval_every != 0             ? "--eval-every"
           : options->eval_data_count != 0      ? "--eval-data"
           : options->eval_labels != NULL       ? "--eval-labels"
           : options->eval_weights != NULL      ? "--eval-weights"
           : options->by != NULL                ? "--by"
           : options->keep_best != NULL         ? "--keep-best"
           : options->patience != 0             ? "--patience"
           : options->allow_other_preprocessing ? "--allow-other-preprocessing"
           : options->allow_other_split         ? "--allow-other-split"
                                                : NULL;
}

/* Checks that no option of evaluations is given without the one it depends on. */
static int check_evaluation(const cli_options *options, unsigned command) {
    const char *lacking = needs_eval(options, command);
    if (lacking != NULL)
        return usage(options->command, "needs --eval with ", lacking);
    if (options->log == NULL && (options->keep_best != NULL || options->patience != 0))
        return usage(options->command, "needs --log with ", options->keep_best != NULL ? "--keep-best" : "--patience");
    if (options->eval_data_count == 0 && (options->eval_labels != NULL || options->eval_weights != NULL))
        return usage(options->command, "needs --eval-data with ",
                     options->eval_labels != NULL ? "--eval-labels" : "--eval-weights");
    if (options->eval_labels != NULL && options->target != NULL)
        return usage(options->command, "gets labels twice, by --eval-labels and --target-column; leave one out", "");
    if (options->eval_labels == NULL && options->target == NULL && options->eval_weights != NULL)
        return usage(options->command, "needs --eval-labels with ", "--eval-weights");
    return CLI_OK;
}

/* Checks that required options are present and that no option is given without the one it depends on. */
static int check(const cli_options *options, unsigned command, const char *operand) {
    const bool alone = command == REPORT && options->file != NULL; /* a plan before its run */
    if ((command & FILES) != 0 && !alone ? options->data_count == 0 : options->file == NULL)
        return usage(options->command, "needs a ", operand);
    if ((command & (DATA | REPORT)) != 0 && (options->file != NULL) != (options->key_count != 0))
        return usage(options->command, "needs ", options->file != NULL ? "--pub with --plan" : "--plan with --pub");
    if (command == REPORT && options->profile != NULL && options->file == NULL)
        return usage(options->command, "needs --plan with ", "--profile");
    for (size_t i = 0; i < KNOWN; i++)
        if ((known[i].needed & command) != 0 && !is_given(options, known[i].id))
            return usage(options->command, "needs ", known[i].words.name);
    if (options->checkpoint == NULL && (options->resume || options->checkpoint_every != 0))
        return usage(options->command, "needs --checkpoint with ", options->resume ? "--resume" : "--checkpoint-every");
    if ((options->labels == NULL && options->members[1] != NULL) ||
        (options->weights == NULL && options->members[2] != NULL))
        return usage(options->command, "names an array by --member, and no file by ",
                     options->labels == NULL ? "--labels" : "--weights");
    if (options->labels != NULL && options->target != NULL)
        return usage(options->command, "gets labels twice, by --labels and --target-column; leave one out",
                     options->eval_data_count != 0
                         ? " (--target-column holds for --data and --eval-data: give both as tables, or neither)"
                         : "");
    if (options->labels == NULL && options->target == NULL && options->weights != NULL)
        return usage(options->command, "needs --labels with ", "--weights");
    if (command == EVAL && options->classes != NULL && options->confusion == NULL && !options->per_class)
        return usage(options->command, "needs --confusion or --per-class with ", "--classes");
    return check_evaluation(options, command);
}

int cli_options_read(cli_options *options, int count, char *const *words) {
    *options = (cli_options){.tokens = UINT64_MAX, .sampling = {.temperature = 1, .top_p = 1}};
    if (count == 0)
        return usage("command line", "is empty", "");
    options->command = words[0];
    size_t c = 0;
    while (c < COMMANDS && strcmp(words[0], commands[c].words.name) != 0)
        c++;
    if (c == COMMANDS)
        return usage("command line", "has no command ", words[0]);
    for (int at = 1; at < count;) {
        if (words[at][0] == '-' && words[at][1] != 0) {
            int status = read_option(options, commands[c].bit, count, words, &at);
            if (status != CLI_OK)
                return status;
        } else if ((commands[c].bit & FILES) != 0) {
            const char *fault = add_data(options, words[at]);
            if (fault != NULL)
                return usage(words[at], fault, "");
            at++;
        } else if (options->file != NULL) {
            return usage(options->command, "has one word too many: ", words[at]);
        } else if (set_path(&options->file, words[at++]) != NULL) {
            return usage(options->command, "has an empty name in place of a ", commands[c].operand);
        }
    }
    return check(options, commands[c].bit, commands[c].operand);
}

void cli_options_free(cli_options *options) {
    for (uint32_t i = 0; i < FIRN_HOST_STREAMS; i++) {
        free((void *)(uintptr_t)options->members[i]);
        options->members[i] = NULL;
    }
}
