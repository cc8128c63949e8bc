/* firnc: finds the subcommand and runs it. Each command defines its options in its own file; this file holds the texts
 * about the whole program. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/nearest.h"
#include "compiler/base/perform.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/firnc.h"
#include "runtime/program/descriptors.h"

static const firnc_command *const commands[] = {
    &firnc_command_keygen,  &firnc_command_compile,  &firnc_command_sign,   &firnc_command_attach,
    &firnc_command_inspect, &firnc_command_schedule, &firnc_command_verify, &firnc_command_image,
    &firnc_command_compare, &firnc_command_tune,     &firnc_command_export, &firnc_command_weights,
    &firnc_command_tokens,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* --- what --help and the manual page say -------------------------------------------------------------------------- */

static const firn_manual_entry exit_codes[] = {
    {"0", "success"},
    {"1", "a recipe or another file is wrong"},
    {"2", "the command line is wrong"},
    {"3", "a plan is refused"},
    {"130",
     "interrupted by SIGINT, SIGTERM or SIGHUP: no file is half written, and compare, tune and tokens keep none"},
};

static const firn_manual_entry environment[] = {
    {"FIRN_KERNELS", "read by the firn that compare and tune run; see firn(1)"},
    {"PATH", "where compare and tune look for firn when there is none beside firnc"},
};

static const firn_manual_entry files[] = {
    {"NAME.key.pem", "a secret key, readable by its owner only (P-256, PEM)"},
    {"NAME.pub.pem", "its public key, PUB"},
    {"RECIPE", "YAML; the recipes and pages of the source tree explain the keys"},
    {"PLAN", "a frozen run: header, payload, signature"},
};

static const firn_manual_section sections[] = {
    {"Exit status", exit_codes, sizeof exit_codes / sizeof exit_codes[0]},
    {"Environment", environment, sizeof environment / sizeof environment[0]},
    {"Files", files, sizeof files / sizeof files[0]},
};

static const firn_manual_command *command_at(uint32_t command) {
    return command < COMMAND_COUNT ? &commands[command]->words : NULL;
}

static const firn_manual_option *option_at(uint32_t command, uint32_t position) {
    const firnc_option *option = firnc_option_at(commands[command], position);
    return option != NULL ? &option->words : NULL;
}

static const firn_manual manual = {
    .program = "firnc",
    .version = FIRNC_VERSION,
    .text = "freezes a training run into one signed plan",
    .more =
        "firnc takes a recipe, which holds the model, its precision and its schedules, and makes one signed file of "
        "it, the plan. firn and the library libfirn run plans. The value of an option stands behind it, or behind an "
        "equals sign: --mode=train. An output that exists is replaced, except the keys of keygen and the folder of "
        "export "
        "--firmware, which are never overwritten.",
    .see_also = "firn",
    .command_at = command_at,
    .option_at = option_at,
    .sections = sections,
    .section_count = sizeof sections / sizeof sections[0],
};

/* --- the commands ------------------------------------------------------------------------------------------------- */

/* argv[0] is "help". */
static int print_help(int argc, char **argv) {
    const char *wrong = firn_manual_help(&manual, argc - 1, argv + 1);
    return wrong == NULL ? FIRNC_EXIT_OK : firnc_usage("help", "%s: there is no such command; see firnc help", wrong);
}

/* argv[0] is the command. */
static int print_command_help(int argc, char **argv) {
    (void)argc;
    firn_manual_help(&manual, 1, argv);
    return FIRNC_EXIT_OK;
}

static int print_version(int argc, char **argv) {
    (void)argc;
    (void)argv;
    printf("firnc " FIRNC_VERSION "\n");
    return FIRNC_EXIT_OK;
}

/* argv[0] is the word. */
static int fail_unknown(int argc, char **argv) {
    (void)argc;
    const char *word = argv[0];
    if (strcmp(word, "data-statistics") == 0 || strcmp(word, "data") == 0) { /* firnc has no readers of data */
        firnc_say("firnc: %s: is a command of firn, which reads data: write firn %s; firnc compile --statistics takes "
                  "the file of firn data-statistics",
                  word, word);
        return FIRNC_EXIT_USAGE;
    }
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->words.name;
    firnc_say("firnc: %s: unknown command; %s", word, firnc_nearest_text(word, names));
    return FIRNC_EXIT_USAGE;
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A command, its words and the exit code that it returned. */
typedef struct call {
    int (*command)(int argc, char **argv);
    int argc;
    char **argv;
    int status;
} call;

static bool call_command(void *argument) {
    call *c = argument;
    c->status = c->command(c->argc, c->argv);
    return true;
}

static void print_message(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* Runs a command as one call of the compiler. Returns its exit code. */
static int perform(int (*command)(int argc, char **argv), int argc, char **argv) {
    call c = {.command = command, .argc = argc, .argv = argv};
    switch (firnc_perform(call_command, &c, NULL, NULL)) {
    case FIRNC_DONE:
        return c.status;
    case FIRNC_MISUSE:
        abort(); /* a bug of firnc, of which a dump says where */
    default:
        return FIRNC_EXIT_WRONG;
    }
}

/* Runs a command, and fails if its output could not be written. */
static int run(int (*command)(int argc, char **argv), int argc, char **argv) {
    int status = perform(command, argc, argv);
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != FIRNC_EXIT_OK)
        return status;
    firnc_say("firnc: standard output cannot be written; make room where it goes, or raise the limit of file sizes "
              "(ulimit -f)");
    return FIRNC_EXIT_WRONG;
}

enum { INTERRUPTED = 130 };

/* Ends the program. Signals are held back while files get their names, so what was being written then is whole. */
static void end_by_signal(int signal_number) {
    static const char text[] = "firnc: interrupted; no file is half written\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(INTERRUPTED);
}

/* Commands that have something to remove take these signals themselves. One that was ignored when the program began
 * stays ignored. */
static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signal(signals[i], end_by_signal) == SIG_IGN)
            signal(signals[i], SIG_IGN);
}

int main(int argc, char **argv) {
    firn_program_open_descriptors();
    catch_signals();
    firnc_messages_by_default(print_message);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit then fails, and its file is removed */
    if (argc < 2) {
        firnc_say("firnc: the command is missing; see firnc help");
        return FIRNC_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0)
        return run(print_help, argc - 1, argv + 1);
    if (asks_for_help(argv[1]))
        return run(print_help, 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return run(print_version, argc - 1, argv + 1);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i]->words.name) == 0)
            return run(argc == 3 && asks_for_help(argv[2]) ? print_command_help : commands[i]->run, argc - 1, argv + 1);
    return run(fail_unknown, argc - 1, argv + 1);
}
