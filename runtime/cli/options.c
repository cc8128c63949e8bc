/* The command line of firn: which options each command takes, and reading them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

enum { TRAIN = 1, EVAL = 2, EXPORT = 4, DIGEST = 8 };

static const struct {
    const char *name;
    unsigned bit;
    const char *operand;
} commands[] = {{"train", TRAIN, "PLAN"},
                {"eval", EVAL, "PLAN"},
                {"export", EXPORT, "CHECKPOINT"},
                {"digest", DIGEST, "CHECKPOINT"}};

typedef enum option_id {
    OPTION_PUB,
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
    OPTION_OUTPUT,
    OPTION_PER_TENSOR
} option_id;

static const struct {
    const char *name, *brief; /* brief: the short form, or NULL */
    option_id id;
    bool has_value;
    unsigned commands; /* that take it */
    unsigned needed;   /* that cannot do without it */
} known[] = {
    {"--pub", NULL, OPTION_PUB, true, TRAIN | EVAL, TRAIN | EVAL},
    {"--data", NULL, OPTION_DATA, true, TRAIN | EVAL, TRAIN | EVAL},
    {"--labels", NULL, OPTION_LABELS, true, TRAIN | EVAL, 0},
    {"--weights", NULL, OPTION_WEIGHTS, true, TRAIN | EVAL, 0},
    {"--checkpoint", NULL, OPTION_CHECKPOINT, true, TRAIN | EVAL, EVAL},
    {"--checkpoint-every", NULL, OPTION_CHECKPOINT_EVERY, true, TRAIN, 0},
    {"--resume", NULL, OPTION_RESUME, false, TRAIN, 0},
    {"--steps", NULL, OPTION_STEPS, true, TRAIN, 0},
    {"--log", NULL, OPTION_LOG, true, TRAIN, 0},
    {"--counter", NULL, OPTION_COUNTER, true, TRAIN | EVAL, 0},
    {"--threads", NULL, OPTION_THREADS, true, TRAIN | EVAL, 0},
    {"--quiet", "-q", OPTION_QUIET, false, TRAIN | EVAL, 0},
    {"--verbose", "-v", OPTION_VERBOSE, false, TRAIN | EVAL, 0},
    {"--output", "-o", OPTION_OUTPUT, true, EXPORT, EXPORT},
    {"--per-tensor", NULL, OPTION_PER_TENSOR, false, DIGEST, 0},
};

#define KNOWN    (sizeof known / sizeof *known)
#define COMMANDS (sizeof commands / sizeof *commands)

void cli_help(FILE *to) {
    fputs("firn runs a plan that firnc froze and signed.\n"
          "\n"
          "  firn train PLAN --pub PUB --data F [options]         runs train steps; last prints `digest <hex>`\n"
          "      --steps N                so many more steps (default: to the end of the run)\n"
          "      --checkpoint F           where the state is saved at the end, and by Ctrl-C; never over one that is "
          "there,\n"
          "                               without --resume\n"
          "      --checkpoint-every N     also after every N steps\n"
          "      --resume                 go on from the checkpoint\n"
          "      --log F.jsonl            one line of JSON for each step; as with the checkpoint, never over one\n"
          "                               that is there, without --resume\n"
          "  firn eval PLAN --pub PUB --data F --checkpoint F     prints one number, the metric of the plan\n"
          "\n"
          "  Both take:\n"
          "      --pub PUB                the public key (PEM) whose plans may run\n"
          "      --data F                 a file, or a folder for the files in it; may be given again. Any file as\n"
          "                               bytes, .npy or IDX, packed with gzip or not\n"
          "      --labels F               labels or targets of the records in --data\n"
          "      --weights F              weights of the records, for a model with sample_weights; needs --labels\n"
          "      --counter F              the security counter: plans older than it are refused\n"
          "      --threads N              default: one for each CPU; the result is the same with any number\n"
          "      --quiet, --verbose       no progress; more of it\n"
          "  FIRN_KERNELS in the environment chooses among the kernel sets of this CPU: plain, fma, avx2, avx512,\n"
          "  avx512fp16; the result is the same with any. Default: the last of them that it has\n"
          "\n"
          "  firn export CHECKPOINT -o F.safetensors              the parameters in float32\n"
          "  firn digest CHECKPOINT [--per-tensor]                SHA-256 of the state\n"
          "  firn help | --version\n"
          "\n"
          "Exit: 0 success, 1 a file is wrong, 2 the command line is, 3 plan or checkpoint refused, 4 stopped by its\n"
          "numbers (the loss is not finite, or the loss scale at its floor), 130 interrupted (the state was saved).\n",
          to);
}

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

/* These return NULL, or what is wrong with the value. */
static const char *set_path(const char **place, const char *value) {
    if (*place != NULL)
        return twice;
    if (*value == 0)
        return "has an empty name behind it; write the name of a file";
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

static const char *set_threads(cli_options *options, const char *value) {
    uint64_t number = 0;
    const char *fault = options->threads != 0 ? twice
                                              : set_number(&number, value, 1, CLI_THREADS_MAX,
                                                           "is no number of threads; write one from 1 to 256");
    options->threads = (unsigned)number;
    return fault;
}

_Static_assert(CLI_DATA_MAX == 1024 && CLI_THREADS_MAX == 256, "the messages have the same numbers");

/* Stores the value of an option. */
static const char *set(cli_options *options, option_id id, const char *value) {
    bool given = false;
    switch (id) {
    case OPTION_PUB:
        return set_path(&options->key, value);
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
    case OPTION_OUTPUT:
        return set_path(&options->output, value);
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
    }
    return NULL;
}

/* Position in `known`, or KNOWN. *value is set when the word carries one ("--steps=3"). */
static size_t find(const char *word, const char **value) {
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL && word[1] == '-' ? (size_t)(equals - word) : strlen(word);
    *value = word[length] == '=' ? word + length + 1 : NULL;
    for (size_t i = 0; i < KNOWN; i++) {
        if (strlen(known[i].name) == length && memcmp(known[i].name, word, length) == 0)
            return i;
        if (known[i].brief != NULL && strcmp(known[i].brief, word) == 0)
            return i;
    }
    return KNOWN;
}

/* Reads the option at words[*at] and steps over it. */
static int read_option(cli_options *options, unsigned command, int count, char *const *words, int *at) {
    const char *word = words[(*at)++], *value;
    size_t i = find(word, &value);
    if (i == KNOWN || (known[i].commands & command) == 0)
        return usage(options->command, "does not know the option ", word);
    if (!known[i].has_value && value != NULL)
        return usage(options->command, "takes no value after ", known[i].name);
    if (known[i].has_value && value == NULL) {
        if (*at == count)
            return usage(options->command, "needs a value after ", word);
        value = words[(*at)++];
    }
    const char *fault = set(options, known[i].id, value == NULL ? "" : value);
    if (fault == NULL)
        return CLI_OK;
    firn_host_fail(options->command, "%s%s%s: %s", known[i].name, known[i].has_value ? " " : "",
                   value == NULL ? "" : value, fault);
    return CLI_USAGE;
}

static bool is_given(const cli_options *options, option_id id) {
    switch (id) {
    case OPTION_PUB:
        return options->key != NULL;
    case OPTION_DATA:
        return options->data_count > 0;
    case OPTION_CHECKPOINT:
        return options->checkpoint != NULL;
    case OPTION_OUTPUT:
        return options->output != NULL;
    default:
        return true;
    }
}

/* What a command cannot do without, and options that make no sense alone. */
static int check(const cli_options *options, unsigned command, const char *operand) {
    if (options->file == NULL)
        return usage(options->command, "needs a ", operand);
    for (size_t i = 0; i < KNOWN; i++)
        if ((known[i].needed & command) != 0 && !is_given(options, known[i].id))
            return usage(options->command, "needs ", known[i].name);
    if (options->checkpoint == NULL && (options->resume || options->checkpoint_every != 0))
        return usage(options->command, "needs --checkpoint with ", options->resume ? "--resume" : "--checkpoint-every");
    if (options->labels == NULL && options->weights != NULL)
        return usage(options->command, "needs --labels with ", "--weights");
    return CLI_OK;
}

int cli_options_read(cli_options *options, int count, char *const *words) {
    *options = (cli_options){0};
    if (count == 0)
        return usage("command line", "is empty", "");
    options->command = words[0];
    size_t c = 0;
    while (c < COMMANDS && strcmp(words[0], commands[c].name) != 0)
        c++;
    if (c == COMMANDS)
        return usage("command line", "has no command ", words[0]);
    for (int at = 1; at < count;) {
        if (words[at][0] == '-' && words[at][1] != 0) {
            int status = read_option(options, commands[c].bit, count, words, &at);
            if (status != CLI_OK)
                return status;
        } else if (set_path(&options->file, words[at++]) != NULL) {
            return usage(options->command, "has one word too many: ", words[at - 1]);
        }
    }
    return check(options, commands[c].bit, commands[c].operand);
}
