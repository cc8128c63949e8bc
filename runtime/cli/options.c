/* The command line of firn: the table of commands and options, and its parser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

enum {
    TRAIN = 1,
    EVAL = 2,
    EXPORT = 4,
    DIGEST = 8,
    PREDICT = 16,
    FLASH = 32,
    GENERATE = 64,
    RUN = TRAIN | EVAL | PREDICT,
    OPEN = RUN | GENERATE /* what opens a plan, with data or without */
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
          ".csv a line of numbers, in .npy an array of NumPy in float32"},
     PREDICT,
     "PLAN"},
    {{.name = "generate",
      .forms = {"PLAN --pub PUB --checkpoint FILE --prompt TEXT [options]"},
      .text = "print a prompt and the tokens that a language model says behind it: run a decode plan over the "
              "parameters of a checkpoint. The text is the same on every machine"},
     GENERATE,
     "PLAN"},
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
    OPTION_LABELS,
    OPTION_WEIGHTS,
    OPTION_CHECKPOINT,
    OPTION_CHECKPOINT_EVERY,
    OPTION_RESUME,
    OPTION_STEPS,
    OPTION_LOG,
    OPTION_COUNTER,
    OPTION_THREADS,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_ALLOW_OTHER_PREPROCESSING,
    OPTION_ALLOW_OTHER_SPLIT,
    OPTION_ALLOW_OTHER_DATA,
    OPTION_OUTPUT,
    OPTION_NAME,
    OPTION_PER_TENSOR,
    OPTION_DEVICE_KEY,
    OPTION_SLOT,
    OPTION_PROMPT,
    OPTION_TOKENS,
    OPTION_TEMPERATURE,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_SEED
} option_id;

static const struct {
    firn_manual_option words;
    option_id id;
    unsigned commands; /* commands that accept it */
    unsigned needed;   /* commands that require it */
} known[] = {
    {{"--pub", NULL, "PUB", "the public key (PEM) whose plans may run; may be given again, for several keys"},
     OPTION_PUB,
     OPEN,
     OPEN},
    {{"--vendor", NULL, "ID", "refuse a plan for another vendor: a UUID, or at most 16 characters"},
     OPTION_VENDOR,
     OPEN,
     0},
    {{"--class", NULL, "ID", "refuse a plan for another class of devices"}, OPTION_CLASS, OPEN, 0},
    {{"--image-id", NULL, "N", "refuse a plan with another image id"}, OPTION_IMAGE_ID, OPEN, 0},
    {{"--data", NULL, "FILE",
      "a file, or a folder for the files in it by the bytes of their names, without hidden files, links and folders; "
      "may "
      "be given again. Any file as bytes, .npy or IDX, packed with gzip or not"},
     OPTION_DATA,
     RUN,
     RUN},
    {{"--labels", NULL, "FILE", "labels or targets of the records in --data"}, OPTION_LABELS, RUN, 0},
    {{"--weights", NULL, "FILE", "weights of the records, for a model with sample_weights; needs --labels"},
     OPTION_WEIGHTS,
     RUN,
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
    {{"--counter", NULL, "FILE",
      "the security counter: plans older than it are refused; it advances to the plan's after a step has worked"},
     OPTION_COUNTER,
     OPEN,
     0},
    {{"--device-key", NULL, "FILE",
      "32 secret bytes of a device, which authenticate its checkpoints: those that were not written with this key are "
      "refused, also those without a key. export and digest read a checkpoint without its key too, and say so"},
     OPTION_DEVICE_KEY,
     OPEN | EXPORT | DIGEST,
     0},
    {{"--slot", NULL, "N", "of a dump of two slots of flash, the one to read, 0 or 1; default: the newer valid one"},
     OPTION_SLOT,
     EXPORT | DIGEST,
     0},
    {{"--threads", NULL, "N", "default: one for each CPU; the result is the same with any number"},
     OPTION_THREADS,
     OPEN,
     0},
    {{"--allow-other-preprocessing", NULL, NULL,
      "evaluate although the checkpoint was trained with another scale, type or shape of the inputs"},
     OPTION_ALLOW_OTHER_PREPROCESSING,
     EVAL | PREDICT,
     0},
    {{"--allow-other-split", NULL, NULL,
      "evaluate although another part of the data was held out in training, so that this one may have been trained "
      "with"},
     OPTION_ALLOW_OTHER_SPLIT,
     EVAL | PREDICT,
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
    {{"--quiet", "-q", NULL, "show no progress and no notes"}, OPTION_QUIET, OPEN | FLASH | EXPORT, 0},
    {{"--verbose", "-v", NULL, "show more of the progress"}, OPTION_VERBOSE, OPEN, 0},
    {{"--output", "-o", "FILE", "the file to write; one that is there is replaced, as soon as the new one is whole"},
     OPTION_OUTPUT,
     EXPORT | PREDICT,
     EXPORT | PREDICT},
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
    {"5", "train --resume: nothing is left to do, the run is complete"},
    {"130", "interrupted by SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM or SIGXCPU; train has saved the state, "
            "where --checkpoint says, predict has written nothing, and generate has printed what it had"},
};

static const firn_manual_entry environment[] = {
    {"FIRN_KERNELS",
     "the kernel set, of those that this CPU can run: plain; on x86 fma, avx2, avx512, "
     "avx512fp16, avx512bf16, amx; on AArch64 neon, neonfp16; the result is the same with any. Default: the fastest"},
};

static const firn_manual_entry files[] = {
    {"CHECKPOINT.tmp", "before the first save the room that is reserved for it, then a checkpoint that is being "
                       "written, renamed when it is "
                       "whole; what a run that was killed leaves is removed by the next one"},
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
        return "has an empty name behind it; write the name of an output";
    *place = value;
    return NULL;
}

static const char *set_number(uint64_t *place, const char *value, uint64_t least, uint64_t most, const char *fault) {
    return read_number(value, least, most, place) ? NULL : fault;
}

static const char *add_data(cli_options *options, const char *value) {
    if (options->data_count == CLI_DATA_MAX)
        return "is given more than 1024 times; put the files into a folder";
    return set_path(&options->data[options->data_count++], value);
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
    case OPTION_LABELS:
        return set_path(&options->labels, value);
    case OPTION_WEIGHTS:
        return set_path(&options->weights, value);
    case OPTION_CHECKPOINT:
        return set_path(&options->checkpoint, value);
    case OPTION_LOG:
        return set_path(&options->log, value);
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
    case OPTION_DATA:
        return add_data(options, value);
    case OPTION_CHECKPOINT_EVERY:
        return options->checkpoint_every != 0 ? twice
                                              : set_number(&options->checkpoint_every, value, 1, UINT64_MAX,
                                                           "is no number of steps; write one from 1");
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

/* Checks that required options are present and that no option is given without the one it depends on. */
static int check(const cli_options *options, unsigned command, const char *operand) {
    if (options->file == NULL)
        return usage(options->command, "needs a ", operand);
    for (size_t i = 0; i < KNOWN; i++)
        if ((known[i].needed & command) != 0 && !is_given(options, known[i].id))
            return usage(options->command, "needs ", known[i].words.name);
    if (options->checkpoint == NULL && (options->resume || options->checkpoint_every != 0))
        return usage(options->command, "needs --checkpoint with ", options->resume ? "--resume" : "--checkpoint-every");
    if (options->labels == NULL && options->weights != NULL)
        return usage(options->command, "needs --labels with ", "--weights");
    return CLI_OK;
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
        } else if (options->file != NULL) {
            return usage(options->command, "has one word too many: ", words[at]);
        } else if (set_path(&options->file, words[at++]) != NULL) {
            return usage(options->command, "has an empty name in place of a ", commands[c].operand);
        }
    }
    return check(options, commands[c].bit, commands[c].operand);
}
