/* firnc: finds the command and runs it. Each command defines its options in its own file; this file holds the texts
 * about the whole program. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/base/perform.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/firnc.h"
#include "runtime/program/descriptors.h"

static const firnc_command *const commands[] = {
    &firnc_command_compile, &firnc_command_check,   &firnc_command_inspect, &firnc_command_schedule,
    &firnc_command_verify,  &firnc_command_keygen,  &firnc_command_key,     &firnc_command_sign,
    &firnc_command_attach,  &firnc_command_export,  &firnc_command_image,   &firnc_command_compare,
    &firnc_command_tune,    &firnc_command_weights, &firnc_command_tokens,
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

static const firn_command *command_at(uint32_t command) {
    return command < COMMAND_COUNT ? &commands[command]->words : NULL;
}

static const char *const commands_of_firn[] = {"train",           "eval",   "predict",    "generate", "data",
                                               "data-statistics", "digest", "checkpoint", "report",   "plot",
                                               "flash",           NULL};

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
    .other = commands_of_firn,
    .command_at = command_at,
    .say = firnc_say_line,
    .sections = sections,
    .section_count = sizeof sections / sizeof sections[0],
};

/* --- the commands ------------------------------------------------------------------------------------------------- */

/* The words after the program's name, and the exit code. */
typedef struct call {
    int argc;
    char **argv;
    int status;
} call;

static const firnc_command *command_of(const firn_command *words) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (&commands[i]->words == words)
            return commands[i];
    abort(); /* commands[] is where the words come from */
}

static bool run_line(void *argument) {
    call *c = argument;
    const firn_command *command;
    switch (firn_line_open(&manual, c->argc, c->argv, &command)) {
    case FIRN_LINE_DONE:
        c->status = FIRNC_EXIT_OK;
        break;
    case FIRN_LINE_WRONG:
        c->status = FIRNC_EXIT_USAGE;
        break;
    case FIRN_LINE_COMMAND:
        c->status = command_of(command)->run(c->argc, c->argv);
        break;
    }
    return true;
}

static void print_message(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/* Does what a command line says as one call of the compiler. Returns the exit code. */
static int perform(int argc, char **argv) {
    call c = {.argc = argc, .argv = argv};
    switch (firnc_perform(run_line, &c, NULL, NULL)) {
    case FIRNC_DONE:
        return c.status;
    case FIRNC_MISUSE:
        abort(); /* a bug of firnc, of which a dump says where */
    default:
        return FIRNC_EXIT_WRONG;
    }
}

/* Ends the program. Signals are held back while files get their names, so what was being written then is whole. */
static void end_by_signal(int signal_number) {
    static const char text[] = "firnc: interrupted; no file is half written\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(FIRNC_EXIT_INTERRUPTED);
}

/* Commands that have something to remove take these signals themselves. One that was ignored when the program began
 * stays ignored. */
static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signal(signals[i], end_by_signal) == SIG_IGN)
            signal(signals[i], SIG_IGN);
}

/* Fails if the output could not be written. */
int main(int argc, char **argv) {
    firn_program_open_descriptors();
    catch_signals();
    firnc_messages_by_default(print_message);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit then fails, and its file is removed */
    const int status = perform(argc - 1, argv + 1);
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != FIRNC_EXIT_OK)
        return status;
    firnc_say("firnc: standard output cannot be written; make room where it goes, or raise the limit of file sizes "
              "(ulimit -f)");
    return FIRNC_EXIT_WRONG;
}
