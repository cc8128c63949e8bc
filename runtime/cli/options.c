/* The command line of firn: the table of its commands and options, and what goes together of them. The table is read by
 * the parser of runtime/manual. */
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

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Each of these stores a value in a cli_options, and returns NULL or what is wrong with the value. */
static const char *read_header(void *request, const char *value) {
    cli_options *options = request;
    options->header = strcmp(value, "yes") == 0  ? FIRN_HOST_HEADER_YES
                      : strcmp(value, "no") == 0 ? FIRN_HOST_HEADER_NO
                                                 : FIRN_HOST_HEADER_UNKNOWN;
    return options->header != FIRN_HOST_HEADER_UNKNOWN ? NULL : "is neither; write yes or no";
}

/* Cuts NAME,NAME,NAME at the commas. A name may be empty: then the file has one array only. */
static const char *read_members(void *request, const char *value) {
    cli_options *options = request;
    for (uint32_t i = 0; value != NULL; i++) {
        const char *comma = strchr(value, ',');
        if (i == FIRN_HOST_STREAMS)
            return "names more than three arrays; write those of --data, --labels and --sample-weights";
        const size_t length = comma != NULL ? (size_t)(comma - value) : strlen(value);
        char *name = length != 0 ? firn_host_path(value, "") : NULL;
        if (name != NULL)
            name[length] = 0;
        options->members[i] = name;
        value = comma != NULL ? comma + 1 : NULL;
    }
    return NULL;
}

static const char *read_device_id(uint8_t id[16], const char *value) {
    return firn_device_id_read(value, strlen(value), id)
               ? NULL
               : "is no identity; write a UUID, or at most 16 characters without spaces";
}

static const char *read_vendor(void *request, const char *value) {
    cli_options *options = request;
    options->vendor_given = true;
    return read_device_id(options->identity.vendor, value);
}

static const char *read_class(void *request, const char *value) {
    cli_options *options = request;
    options->class_given = true;
    return read_device_id(options->identity.class_id, value);
}

/* A decimal number from `least`, which itself is only allowed if `equal`, to `most`. */
static bool read_real(float *place, const char *value, float least, bool equal, float most) {
    char *end;
    const float number = strtof(value, &end);
    const bool decimal = ((value[0] >= '0' && value[0] <= '9') || value[0] == '.') && strpbrk(value, "xXnN") == NULL;
    if (!decimal || *end != 0 || !(number <= most) || !(equal ? number >= least : number > least))
        return false;
    *place = number;
    return true;
}

static const char *read_temperature(void *request, const char *value) {
    cli_options *options = request;
    return read_real(&options->sampling.temperature, value, 0, true, 1e30F)
               ? NULL
               : "is no temperature; write a number from 0, such as 0.8";
}

static const char *read_top_p(void *request, const char *value) {
    cli_options *options = request;
    return read_real(&options->sampling.top_p, value, 0, false, 1)
               ? NULL
               : "is no share; write a number above 0, at most 1, such as 0.9";
}

static const char *read_baud(void *request, const char *value) {
    cli_options *options = request;
    uint64_t number = 0;
    if (!firn_number_read(value, UINT32_MAX, &number) || !firn_host_line_has_speed((uint32_t)number))
        return "is no speed of a serial port; write 9600, 19200, 38400, 57600, 115200, 230400, 460800 or 921600";
    options->baud = (uint32_t)number;
    return NULL;
}

/* Reads the decimal digits of one side of a size, which end at `end`. */
static bool read_side(const char *digits, const char *end, uint32_t *side) {
    *side = 0;
    for (; digits < end && *digits >= '0' && *digits <= '9' && *side <= RESIZE_MOST; digits++)
        *side = *side * 10 + (uint32_t)(*digits - '0');
    return digits == end && *side >= 1 && *side <= RESIZE_MOST;
}

static const char *read_resize(void *request, const char *value) {
    cli_options *options = request;
    const char *by = strchr(value, 'x');
    if (by == NULL || by == value)
        return "is no size; write width and height, as 32x32";
    return read_side(value, by, &options->resize_width) && read_side(by + 1, by + strlen(by), &options->resize_height)
               ? NULL
               : "is no size; write width and height from 1 to 16384, as 32x32";
}

_Static_assert(sizeof(unsigned) == sizeof(uint32_t), "the parser stores threads as 32 bits");

/* --- options ------------------------------------------------------------------------------------------------------ */

static const firn_option options_of_all[] = {
    {.name = "--pub",
     .value = "PUB",
     .text = "the public key (PEM) whose plans may run; may be given again, for several keys",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, keys),
     .count = offsetof(cli_options, key_count),
     .most = CLI_KEYS_MAX,
     .mend = "a device has no more keys",
     .commands = READ | GENERATE | REPORT,
     .needed = OPEN,
     .what = "the public key"},
    {.name = "--plan",
     .value = "PLAN",
     .text = "a plan that would read the files; needs --pub",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, file),
     .commands = DATA},
    {.name = "--plan",
     .value = "PLAN",
     .text = "the plan that the runs had; needs --pub",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, file),
     .commands = REPORT},
    {.name = "--vendor",
     .value = "ID",
     .text = "refuse a plan for another vendor: a UUID, or at most 16 characters",
     .kind = FIRN_OPTION_READ,
     .read = read_vendor,
     .commands = OPEN},
    {.name = "--class",
     .value = "ID",
     .text = "refuse a plan for another class of devices",
     .kind = FIRN_OPTION_READ,
     .read = read_class,
     .commands = OPEN},
    {.name = "--image-id",
     .value = "N",
     .text = "refuse a plan with another image id",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(cli_options, identity.image_id),
     .given = offsetof(cli_options, image_given),
     .most = UINT32_MAX,
     .what = "an image id",
     .commands = OPEN},
    {.name = "--data",
     .value = "FILE",
     .text =
         "a file, or a folder for the files in it in natural order (p9 before p10), without hidden files, links and "
         "folders; may be given again. Any file as bytes, .npy, .npz, IDX, .csv or tokens (.bin), packed with gzip or "
         "not; PNG and JPEG images, of which a folder may hold one folder for each class, which is then the label",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, data),
     .count = offsetof(cli_options, data_count),
     .most = CLI_DATA_MAX,
     .mend = "put the files into a folder",
     .commands = RUN,
     .needed = RUN,
     .what = "the data"},
    {.name = "--labels",
     .value = "FILE",
     .text = "labels or targets of the records",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, labels),
     .commands = LOOK},
    {.name = "--held-out-per-mille",
     .value = "N",
     .text = "leave out what a run holds out: the last N per mille of the records, as held_out_per_mille of the "
             "recipe; default: 0",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(cli_options, held_out_per_mille),
     .most = 999,
     .what = "a part of the records",
     .commands = STATISTICS},
    {.name = "--axis",
     .value = "each|last|first|all",
     .text = "which numbers of a record are one column: each by itself; those with one index in the last or the first "
             "extent, as the channels of images; all. Default: each of a flat record; of images all, or the channels",
     .kind = FIRN_OPTION_WORD,
     .place = offsetof(cli_options, axis),
     .commands = STATISTICS},
    {.name = "--sample-weights",
     .old = "--weights",
     .value = "FILE",
     .text = "weights of the records, for a model with sample_weights; needs --labels",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, weights),
     .commands = READ},
    {.name = "--member",
     .value = "NAMES",
     .text = "of .npz files with several arrays, the one to read: NAME in the data, or NAME,NAME,NAME in data, labels "
             "and weights",
     .kind = FIRN_OPTION_READ,
     .read = read_members,
     .commands = LOOK},
    {.name = "--target-column",
     .value = "COLUMN",
     .text = "of a .csv table of data, the column of labels or targets, in place of --labels: its name, or its number "
             "from 1; several with commas between them",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(cli_options, target),
     .commands = LOOK},
    {.name = "--columns",
     .value = "COLUMNS",
     .text = "of a .csv table of data, the columns of features in their order, by name or number, as in age,height,3; "
             "default: all but the target",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(cli_options, columns),
     .commands = LOOK},
    {.name = "--header",
     .value = "yes|no",
     .text = "whether the first row of .csv tables has the names of the columns; default: if it has no number",
     .kind = FIRN_OPTION_READ,
     .read = read_header,
     .commands = LOOK},
    {.name = "--resize",
     .value = "WIDTHxHEIGHT",
     .text = "of PNG and JPEG images, the size that all are brought to, by the average over the area of each new "
             "pixel; default: they must have the size that the plan reads",
     .kind = FIRN_OPTION_READ,
     .read = read_resize,
     .commands = LOOK},
    {.name = "--convert",
     .value = "FILE",
     .text = "write the records, or the text, as the .npy file that a device reads",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, output),
     .commands = DATA},
    {.name = "--convert-labels",
     .value = "FILE",
     .text = "write the labels so, also those of class folders",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, labels_output),
     .commands = DATA},
    {.name = "--classes-output",
     .value = "FILE",
     .text = "write the names of class folders, or of the texts of --target-column, one a line, which predict and eval "
             "read by --classes",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, classes_output),
     .commands = DATA},
    {.name = "--steps",
     .value = "N",
     .text = "so many more steps; default: to the end of the run, or until it is interrupted if it has no end",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, steps),
     .given = offsetof(cli_options, steps_given),
     .most = UINT64_MAX,
     .what = "a number of steps",
     .commands = TRAIN},
    {.name = "--checkpoint",
     .value = "FILE",
     .text = "where the state is saved, at the end and when the run is interrupted; never over one that is there, "
             "without --resume",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, checkpoint),
     .commands = TRAIN},
    {.name = "--checkpoint",
     .value = "FILE",
     .text = "the state that train saved, whose parameters are used; it is only read",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, checkpoint),
     .commands = EVAL | PREDICT | GENERATE,
     .needed = EVAL | PREDICT | GENERATE,
     .what = "the state that train saved"},
    {.name = "--checkpoint-every",
     .value = "N",
     .text = "save it after every N steps too; default: what the recipe said, if it did",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, checkpoint_every),
     .least = 1,
     .most = UINT64_MAX,
     .what = "a number of steps",
     .commands = TRAIN},
    {.name = "--resume",
     .text = "go on from the checkpoint, and with the log",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, resume),
     .commands = TRAIN},
    {.name = "--log",
     .value = "FILE",
     .text = "one line of JSON for each step; never over one that is there, without --resume. If it cannot be written "
             "any more, the state is saved and the run stops",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, log),
     .commands = TRAIN},
    {.name = "--csv",
     .value = "FILE",
     .text = "one row of a table for each step, with evaluations in columns of their own; never over one that is "
             "there, without --resume",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, csv),
     .commands = TRAIN},
    {.name = "--tensorboard",
     .value = "FOLDER",
     .text = "event files for TensorBoard, with the scalars of each step and evaluation; a folder that is not there is "
             "made, and one with the events of another run is refused",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FOLDER,
     .place = offsetof(cli_options, tensorboard),
     .commands = TRAIN},
    {.name = "--eval",
     .value = "PLAN",
     .text =
         "an eval plan of the same model, which evaluates the state in the course of the run; the log has the values",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, eval),
     .commands = TRAIN},
    {.name = "--eval-every",
     .value = "N",
     .text = "evaluate after every N steps, and at the end of the run; default: what the recipe said, else at the end",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, eval_every),
     .least = 1,
     .most = UINT64_MAX,
     .what = "a number of steps",
     .commands = TRAIN},
    {.name = "--eval-data",
     .value = "FILE",
     .text = "what is evaluated, as for --data and, for tables and .npz files, in the same form; may be given again. "
             "Default: the data of the training, of which --eval reads the part that its recipe says",
     .kind = FIRN_OPTION_LIST,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, eval_data),
     .count = offsetof(cli_options, eval_data_count),
     .most = CLI_DATA_MAX,
     .mend = "put the files into a folder",
     .commands = TRAIN},
    {.name = "--eval-labels",
     .value = "FILE",
     .text = "labels or targets of the records in --eval-data",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, eval_labels),
     .commands = TRAIN},
    {.name = "--eval-sample-weights",
     .old = "--eval-weights",
     .value = "FILE",
     .text = "weights of the records in --eval-data; needs --eval-labels",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, eval_weights),
     .commands = TRAIN},
    {.name = "--by",
     .value = "METRIC",
     .text = "the metric that the best is chosen by; default: loss, or the first one of a plan without it. A value "
             "that is not finite is never the best; of equal ones the first is",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(cli_options, by),
     .commands = TRAIN},
    {.name = "--keep-best",
     .value = "FILE",
     .text = "where the state with the best evaluation is saved, as a checkpoint; needs --log, from which --resume "
             "reads the values",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, keep_best),
     .commands = TRAIN},
    {.name = "--patience",
     .value = "N",
     .text = "end the run when N evaluations in a row were not better than the best before them; needs --log",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, patience),
     .least = 1,
     .most = UINT64_MAX,
     .what = "a number of evaluations",
     .commands = TRAIN},
    {.name = "--counter",
     .value = "FILE",
     .text = "the security counter: plans older than it are refused; it advances to the plan's after a step has worked",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, counter),
     .commands = OPEN},
    {.name = "--device-key",
     .value = "FILE",
     .text =
         "32 secret bytes of a device, which authenticate its checkpoints: those that were not written with this key "
         "are refused, also those without a key. export, digest and checkpoint read one without its key too, and say "
         "so",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, device_key),
     .commands = OPEN | EXPORT | DIGEST | CHECKPOINT},
    {.name = "--slot",
     .value = "N",
     .text = "of a dump of two slots of flash, the one to read, 0 or 1; default: the newer valid one",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, slot),
     .given = offsetof(cli_options, slot_given),
     .most = 1,
     .what = "a slot",
     .commands = EXPORT | DIGEST | CHECKPOINT},
    {.name = "--threads",
     .value = "N",
     .text = "default: one for each CPU; the result is the same with any number",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(cli_options, threads),
     .least = 1,
     .most = CLI_THREADS_MAX,
     .what = "a number of threads",
     .commands = OPEN},
    {.name = "--allow-other-preprocessing",
     .text = "evaluate although the checkpoint was trained with another scale, type or shape of the inputs; of train "
             "with --eval",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, allow_other_preprocessing),
     .commands = RUN},
    {.name = "--allow-other-split",
     .text = "evaluate although another part of the data was held out in training, so that this one may have been "
             "trained with; of train with --eval",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, allow_other_split),
     .commands = RUN},
    {.name = "--allow-other-data",
     .text = "accept a checkpoint that was trained with other files. A plan that evaluates all of its data accepts it "
             "anyway; to resume with another preprocessing or split takes another plan, which is another run",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, allow_other_data),
     .commands = RUN},
    {.name = "--port",
     .value = "PORT",
     .text = "the serial port of the device, or a local socket",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, port),
     .commands = FLASH,
     .needed = FLASH,
     .what = "the serial port"},
    {.name = "--baud",
     .value = "N",
     .text = "speed of the serial port; default: 115200",
     .kind = FIRN_OPTION_READ,
     .read = read_baud,
     .commands = FLASH},
    {.name = "--timeout",
     .value = "SECONDS",
     .text = "without an answer or without progress of the device, after which it is given up; default: 30",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(cli_options, timeout),
     .least = 1,
     .most = 86400,
     .what = "a number of seconds",
     .commands = FLASH},
    {.name = "--dry-run",
     .text = "open everything, say what would be run and written, and run and write nothing; what the run would refuse "
             "before its first step is refused",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, dry_run),
     .commands = TRAIN},
    {.name = "--profile",
     .value = "FILE",
     .text = "measure how long each op takes, and write the times there at the end, which report reads; the run has "
             "the same bits, and is slower by what a look at the clock behind each op takes",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, profile),
     .commands = TRAIN},
    {.name = "--profile",
     .value = "FILE",
     .text = "the times of the ops, which train --profile wrote",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, profile),
     .commands = REPORT},
    {.name = "--confusion",
     .value = "FILE",
     .text = "the confusion matrix that eval --confusion wrote",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, matrix),
     .commands = REPORT},
    {.name = "--quiet",
     .brief = "-q",
     .text = "show no progress and no notes",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, quiet),
     .commands = OPEN | FLASH | EXPORT | STATISTICS | REPORT},
    {.name = "--verbose",
     .brief = "-v",
     .text = "show more of the progress",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, verbose),
     .commands = OPEN},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "the file to write; one that is there is replaced, as soon as the new one is whole",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, output),
     .commands = EXPORT | PREDICT | STATISTICS,
     .needed = EXPORT | PREDICT | STATISTICS,
     .what = "the file to write"},
    {.name = "--output",
     .brief = "-o",
     .value = "FILE",
     .text = "the file to write; one that is there is replaced, as soon as the new one is whole; - is standard output",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(cli_options, output),
     .commands = REPORT | PLOT,
     .needed = REPORT | PLOT,
     .what = "the file to write"},
    {.name = "--name",
     .value = "NAME",
     .text = "the output to write, of a plan that has several",
     .kind = FIRN_OPTION_TEXT,
     .place = offsetof(cli_options, name),
     .commands = PREDICT},
    {.name = "--prompt",
     .value = "TEXT",
     .text =
         "what the text begins with: bytes, or for a model of other tokens their ids, as numbers with spaces between",
     .kind = FIRN_OPTION_ANY_TEXT,
     .place = offsetof(cli_options, prompt),
     .commands = GENERATE,
     .needed = GENERATE,
     .what = "what the text begins with"},
    {.name = "--tokens",
     .value = "N",
     .text = "tokens to add; default: to the end of the model's context",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, tokens),
     .least = 1,
     .most = UINT64_MAX - 1,
     .what = "a number of tokens",
     .commands = GENERATE},
    {.name = "--temperature",
     .value = "T",
     .text = "what scores are divided by: below 1 likely tokens become likelier; 0: always the likeliest; default: 1",
     .kind = FIRN_OPTION_READ,
     .read = read_temperature,
     .commands = GENERATE},
    {.name = "--top-k",
     .value = "K",
     .text = "draw from the K likeliest tokens only; default: 0, from all",
     .kind = FIRN_OPTION_NUMBER32,
     .place = offsetof(cli_options, sampling.top_k),
     .mend = "write one from 1, or 0 for all",
     .most = UINT32_MAX,
     .what = "a number of tokens",
     .commands = GENERATE},
    {.name = "--top-p",
     .value = "P",
     .text =
         "draw from the likeliest tokens only that together have this share of the probability; default: 1, from all",
     .kind = FIRN_OPTION_READ,
     .read = read_top_p,
     .commands = GENERATE},
    {.name = "--seed",
     .value = "S",
     .text = "of the draws: another seed gives another text; default: 0",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(cli_options, sampling.seed),
     .most = UINT64_MAX,
     .what = "a seed",
     .commands = GENERATE},
    {.name = "--format",
     .value = "csv|npy|jsonl",
     .text = "csv: a table with a header, and in each row its index, of classes the predicted one, and the label where "
             "the plan reads labels; jsonl: the same as a line of JSON; npy: the numbers",
     .kind = FIRN_OPTION_WORD,
     .place = offsetof(cli_options, format),
     .commands = PREDICT},
    {.name = "--classes",
     .value = "FILE",
     .text = "names of the classes, one a line; with --format csv or jsonl; default: those that the checkpoint was "
             "trained with, if they are beside it (CHECKPOINT.columns)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, classes),
     .commands = PREDICT},
    {.name = "--classes",
     .value = "FILE",
     .text = "names of the classes, one a line; with --confusion or --per-class; default: those that the checkpoint "
             "was trained with, if they are beside it (CHECKPOINT.columns)",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_FILE,
     .place = offsetof(cli_options, classes),
     .commands = EVAL},
    {.name = "--confusion",
     .value = "FILE",
     .text = "write the confusion matrix as CSV, a row for each label and a column for each prediction, or print it "
             "behind the metric if FILE is -; for metrics that count one, such as mean_per_class_accuracy",
     .kind = FIRN_OPTION_TEXT,
     .names = FIRN_NAMES_STREAM,
     .place = offsetof(cli_options, confusion),
     .commands = EVAL},
    {.name = "--per-class",
     .text = "print precision, recall, F1 and support of each class behind the metric, as CSV; for the same metrics",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, per_class),
     .commands = EVAL},
    {.name = "--per-tensor",
     .text = "of each tensor too, to find where two runs part",
     .kind = FIRN_OPTION_FLAG,
     .place = offsetof(cli_options, per_tensor),
     .commands = DIGEST},
};

/* --- commands ----------------------------------------------------------------------------------------------------- */

static const firn_command commands[] = {
    {.name = "train",
     .group = "Train",
     .summary = "train by a plan, and save the state",
     .forms = {"PLAN --pub PUB --data FILE [options]"},
     .text = "run train steps; the last line on standard output is `digest` and the SHA-256 of the state",
     .examples = {{"firn train plans/train.plan --pub me.pub.pem --data text.txt --checkpoint run.ckpt --log run.jsonl "
                   "--steps 20",
                   "train 20 steps, save the state and write a log"},
                  {"firn train plans/train.plan --pub me.pub.pem --data text.txt --checkpoint run.ckpt --log run.jsonl "
                   "--resume",
                   "go on from there to the end of the run"},
                  {"firn train flowers/train.plan --pub me.pub.pem --data flowers.csv --target-column species "
                   "--checkpoint flowers.ckpt --log flowers.jsonl --eval flowers/eval.plan --keep-best best.ckpt",
                   "train on a table, evaluate, and keep the best state beside the last one"}},
     .bit = TRAIN,
     .operand = {.value = "PLAN",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "eval",
     .group = "Train",
     .summary = "measure the parameters of a checkpoint on data",
     .forms = {"PLAN --pub PUB --data FILE --checkpoint FILE [options]"},
     .text = "print one number, the metric of the plan over the parameters of a checkpoint",
     .examples = {{"firn eval plans/eval.plan --pub me.pub.pem --data text.txt --checkpoint run.ckpt",
                   "print the metric on what the run held out"},
                  {"firn eval flowers/eval.plan --pub me.pub.pem --data flowers.csv --target-column species "
                   "--checkpoint flowers.ckpt --confusion confusion.csv",
                   "write the confusion matrix of a classifier, too"}},
     .bit = EVAL,
     .operand = {.value = "PLAN",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "predict",
     .group = "Use",
     .summary = "write predictions, a row for each sample",
     .forms = {"PLAN --pub PUB --data FILE --checkpoint FILE -o FILE [options]"},
     .text = "write an output of an eval plan over the parameters of a checkpoint, a row for each sample: with a name "
             "in .csv a line of numbers, in .npy an array of NumPy in float32, in .jsonl or by --format for people",
     .examples = {{"firn predict flowers/predict.plan --pub me.pub.pem --data new.csv --checkpoint flowers.ckpt -o "
                   "new.predicted.csv --format csv",
                   "write a row with the predicted class for each row of new.csv"}},
     .bit = PREDICT,
     .operand = {.value = "PLAN",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "generate",
     .group = "Use",
     .summary = "continue a text by a language model",
     .forms = {"PLAN --pub PUB --checkpoint FILE --prompt TEXT [options]"},
     .text = "print a prompt and the tokens that a language model says behind it: run a decode plan over the "
             "parameters of a checkpoint. The text is the same on every machine",
     .examples = {{"firn generate plans/decode.plan --pub me.pub.pem --checkpoint run.ckpt --prompt 'The ' --tokens 20",
                   "continue a text by 20 tokens"},
                  {"firn generate plans/decode.plan --pub me.pub.pem --checkpoint run.ckpt --prompt 'The ' --tokens 20 "
                   "--temperature 0.8 --seed 1",
                   "draw from less of what is unlikely, and another text than seed 0"}},
     .bit = GENERATE,
     .operand = {.value = "PLAN",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "data",
     .group = "Data",
     .summary = "say what data files hold, and how a plan reads them",
     .forms = {"FILE... [options]"},
     .text = "say what data files hold and, with --plan, what a plan takes from them or why it refuses them",
     .examples = {{"firn data text.txt", "say what a file holds"},
                  {"firn data flowers.csv --target-column species --plan flowers/train.plan --pub me.pub.pem",
                   "say what a plan reads of it"},
                  {"firn data flowers.csv --target-column species --plan flowers/train.plan --pub me.pub.pem --convert "
                   "flowers.npy --convert-labels species.npy",
                   "write it as the files that a device reads"}},
     .bit = DATA,
     .operand = {.value = "FILE",
                 .kind = FIRN_OPTION_LIST,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, data),
                 .count = offsetof(cli_options, data_count),
                 .most = CLI_DATA_MAX,
                 .mend = "put the files into a folder",
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "data-statistics",
     .group = "Data",
     .summary = "write mean and deviation of each column",
     .forms = {"FILE... -o FILE [options]"},
     .text = "write the mean and the standard deviation of each column of the training data, which firnc compile "
             "--statistics freezes into a plan whose recipe says normalise: fit",
     .examples = {{"firn data-statistics flowers.csv --target-column species -o flowers.json",
                   "write what firnc compile --statistics takes"}},
     .bit = STATISTICS,
     .operand = {.value = "FILE",
                 .kind = FIRN_OPTION_LIST,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, data),
                 .count = offsetof(cli_options, data_count),
                 .most = CLI_DATA_MAX,
                 .mend = "put the files into a folder",
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "export",
     .group = "Checkpoints",
     .summary = "write the parameters as safetensors",
     .forms = {"CHECKPOINT -o FILE [options]"},
     .text = "write the parameters and buffers of a checkpoint, in float32, as safetensors",
     .examples = {{"firn export run.ckpt -o run.safetensors", "write the trained parameters"}},
     .bit = EXPORT,
     .operand = {.value = "CHECKPOINT",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "digest",
     .group = "Checkpoints",
     .summary = "print the SHA-256 of the state",
     .forms = {"CHECKPOINT [options]"},
     .text = "print the SHA-256 of the state in a checkpoint, as train does at its end",
     .examples = {{"firn digest run.ckpt", "print the SHA-256 of the state"},
                  {"firn digest run.ckpt --per-tensor", "print that of each tensor, too"}},
     .bit = DIGEST,
     .operand = {.value = "CHECKPOINT",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "checkpoint",
     .group = "Checkpoints",
     .summary = "say what a checkpoint holds",
     .forms = {"CHECKPOINT [options]"},
     .text =
         "say what a checkpoint holds: the step and the samples of the run, sizes, hashes of the run, the model and "
         "the data, and which files are beside it",
     .examples = {{"firn checkpoint run.ckpt", "say at which step a run is, and of which plan and data"}},
     .bit = CHECKPOINT,
     .operand = {.value = "CHECKPOINT",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "report",
     .group = "Look",
     .summary = "write a page about runs: losses, memory, precision",
     .forms = {"LOG... -o FILE [options]", "--plan PLAN --pub PUB -o FILE"},
     .text =
         "write one HTML file, which needs no network, about the logs of runs that train --log wrote, or rows that "
         "a device printed: loss, validation, health and, with --plan, schedules, memory, ops and precision; - reads a "
         "log from standard input",
     .examples = {{"firn report run.jsonl --plan plans/train.plan --pub me.pub.pem -o run.html",
                   "write a page about a run"},
                  {"firn report --plan plans/train.plan --pub me.pub.pem -o before.html",
                   "write one before the run: schedules, memory and ops of the plan"}},
     .bit = REPORT,
     .operand = {.value = "LOG",
                 .kind = FIRN_OPTION_LIST,
                 .names = FIRN_NAMES_STREAM,
                 .place = offsetof(cli_options, data),
                 .count = offsetof(cli_options, data_count),
                 .most = CLI_DATA_MAX,
                 .least = 1,
                 .unless = "--plan",
                 .mend = "put the files into a folder"},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "plot",
     .group = "Look",
     .summary = "draw losses and learning rates as SVG",
     .forms = {"LOG... -o FILE"},
     .text = "draw losses, evaluations and learning rates of runs as one SVG file. A log is what train --log wrote, or "
             "rows "
             "that a device printed; - reads one from standard input",
     .examples = {{"firn plot run.jsonl -o run.svg", "draw the losses of a run"}},
     .bit = PLOT,
     .operand = {.value = "LOG",
                 .kind = FIRN_OPTION_LIST,
                 .names = FIRN_NAMES_STREAM,
                 .place = offsetof(cli_options, data),
                 .count = offsetof(cli_options, data_count),
                 .most = CLI_DATA_MAX,
                 .mend = "put the files into a folder",
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
    {.name = "flash",
     .group = "Devices",
     .summary = "send a plan to a device over a line",
     .forms = {"PLAN --port PORT [options]"},
     .text = "send a plan to a device, which verifies it and tries it at its next start; a transfer that broke off "
             "goes on where it was",
     .examples = {{"firn flash next.plan --port /dev/ttyUSB0", "send a plan to a device"}},
     .bit = FLASH,
     .operand = {.value = "PLAN",
                 .kind = FIRN_OPTION_TEXT,
                 .names = FIRN_NAMES_FILE,
                 .place = offsetof(cli_options, file),
                 .least = 1},
     .tables = {{options_of_all, sizeof options_of_all / sizeof *options_of_all}}},
};

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

static const firn_command *command_at(uint32_t command) {
    return command < sizeof commands / sizeof *commands ? &commands[command] : NULL;
}

void cli_say(const char *line) {
    firn_host_note("%s", line);
}

static const char *const commands_of_firnc[] = {"keygen",  "key",     "compile",  "check",  "sign",
                                                "attach",  "inspect", "schedule", "verify", "image",
                                                "compare", "tune",    "weights",  "tokens", NULL};

const firn_manual cli_manual = {
    .program = "firn",
    .version = FIRN_VERSION,
    .text = "runs a plan that firnc froze and signed",
    .more = "A plan is a training run in one signed file. firn checks the signature and then runs that plan's train "
            "steps, or "
            "its evaluation, and nothing else. The same plan and the same data give the same bits on every machine.",
    .see_also = "firnc",
    .other = commands_of_firnc,
    .command_at = command_at,
    .say = cli_say,
    .sections = sections,
    .section_count = sizeof sections / sizeof sections[0],
};

/* --- what goes together ------------------------------------------------------------------------------------------- */

static int usage(const cli_options *options, const char *text, const char *word) {
    firn_options_refuse(options->manual, options->command, text, word);
    return CLI_USAGE;
}

/* Returns the option that is given and means nothing without --eval, or NULL. */
static const char *needs_eval(const cli_options *options, uint32_t command) {
    if (command != TRAIN || options->eval != NULL)
        return NULL;
    return options->eval_every != 0             ? "--eval-every"
           : options->eval_data_count != 0      ? "--eval-data"
           : options->eval_labels != NULL       ? "--eval-labels"
           : options->eval_weights != NULL      ? "--eval-sample-weights"
           : options->by != NULL                ? "--by"
           : options->keep_best != NULL         ? "--keep-best"
           : options->patience != 0             ? "--patience"
           : options->allow_other_preprocessing ? "--allow-other-preprocessing"
           : options->allow_other_split         ? "--allow-other-split"
                                                : NULL;
}

/* Checks that no option of evaluations is given without the one it depends on. */
static int check_evaluation(const cli_options *options, uint32_t command) {
    const char *lacking = needs_eval(options, command);
    if (lacking != NULL)
        return usage(options, "needs --eval with ", lacking);
    if (options->log == NULL && (options->keep_best != NULL || options->patience != 0))
        return usage(options, "needs --log with ", options->keep_best != NULL ? "--keep-best" : "--patience");
    if (options->eval_data_count == 0 && (options->eval_labels != NULL || options->eval_weights != NULL))
        return usage(options, "needs --eval-data with ",
                     options->eval_labels != NULL ? "--eval-labels" : "--eval-sample-weights");
    if (options->eval_labels != NULL && options->target != NULL)
        return usage(options, "gets labels twice, by --eval-labels and --target-column; leave one out", "");
    if (options->eval_labels == NULL && options->target == NULL && options->eval_weights != NULL)
        return usage(options, "needs --eval-labels with ", "--eval-sample-weights");
    return CLI_OK;
}

/* Checks that no option is given without the one it depends on. */
static int check(const cli_options *options, uint32_t command) {
    if ((command & (DATA | REPORT)) != 0 && (options->file != NULL) != (options->key_count != 0))
        return usage(options, "needs ", options->file != NULL ? "--pub with --plan" : "--plan with --pub");
    if (command == REPORT && options->profile != NULL && options->file == NULL)
        return usage(options, "needs --plan with ", "--profile");
    if (options->checkpoint == NULL && (options->resume || options->checkpoint_every != 0))
        return usage(options, "needs --checkpoint with ", options->resume ? "--resume" : "--checkpoint-every");
    if ((options->labels == NULL && options->members[1] != NULL) ||
        (options->weights == NULL && options->members[2] != NULL))
        return usage(options, "names an array by --member, and no file by ",
                     options->labels == NULL ? "--labels" : "--sample-weights");
    if (options->labels != NULL && options->target != NULL)
        return usage(options, "gets labels twice, by --labels and --target-column; leave one out",
                     options->eval_data_count != 0
                         ? " (--target-column holds for --data and --eval-data: give both as tables, or neither)"
                         : "");
    if (options->labels == NULL && options->target == NULL && options->weights != NULL)
        return usage(options, "needs --labels with ", "--sample-weights");
    if (command == EVAL && options->classes != NULL && options->confusion == NULL && !options->per_class)
        return usage(options, "needs --confusion or --per-class with ", "--classes");
    return check_evaluation(options, command);
}

int cli_options_read(cli_options *options, const firn_manual *manual, const firn_command *command, int count,
                     char **words) {
    *options = (cli_options){
        .manual = manual, .command = command->name, .tokens = UINT64_MAX, .sampling = {.temperature = 1, .top_p = 1}};
    return firn_options_read(manual, command, count, words, options) ? check(options, command->bit) : CLI_USAGE;
}

void cli_options_free(cli_options *options) {
    for (uint32_t i = 0; i < FIRN_HOST_STREAMS; i++) {
        free((void *)(uintptr_t)options->members[i]);
        options->members[i] = NULL;
    }
}
