/* firn, the host runner: selects the command. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include "runtime/cli/cli.h"
#include "runtime/program/descriptors.h"

static const struct {
    const char *name;
    int (*run)(const cli_options *options);
    bool prints_result; /* it gives nothing but what it prints */
} commands[] = {{"train", cli_train, false},
                {"eval", cli_eval, true},
                {"predict", cli_predict, false},
                {"data", cli_data, true},
                {"data-statistics", cli_data_statistics, false},
                {"generate", cli_generate, true},
                {"export", cli_export, false},
                {"digest", cli_digest, true},
                {"checkpoint", cli_checkpoint, true},
                {"report", cli_report_page, false},
                {"plot", cli_plot, false},
                {"flash", cli_flash, false}};

/* "firn help ..." or "firn [COMMAND ...] --help"; -h is --help. */
static int print_help(int count, char **words) {
    const bool named = strcmp(words[1], "help") == 0;
    const char *wrong = named       ? firn_manual_help(&cli_manual, count - 2, words + 2)
                        : count > 2 ? firn_manual_help(&cli_manual, 1, words + 1)
                                    : firn_manual_help(&cli_manual, 0, NULL);
    if (wrong == NULL)
        return cli_flush();
    firn_host_fail("help", "%s: there is no such command; `firn help` shows the command line", wrong);
    return CLI_USAGE;
}

static bool has_output(void) {
    if (!firn_program_has_output())
        firn_host_fail("stdout", "is closed, and the result goes there; open it");
    return firn_program_has_output();
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(const cli_options *options) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(options->command, commands[i].name) == 0)
            return commands[i].prints_result && !has_output() ? CLI_FILE : commands[i].run(options);
    return CLI_USAGE;
}

int main(int count, char **words) {
    firn_program_open_descriptors();
    firn_host_messages_to(firn_host_print_message, NULL);
    /* A write beyond the file size limit then fails with an error instead of killing the process. */
    signal(SIGXFSZ, SIG_IGN);
    if (count > 1 && (strcmp(words[1], "help") == 0 || asks_for_help(words[count - 1])))
        return print_help(count, words);
    if (count == 2 && strcmp(words[1], "--version") == 0) {
        puts("firn " FIRN_VERSION);
        return cli_flush();
    }
    static cli_options options;
    int status = cli_options_read(&options, count - 1, words + 1);
    if (status == CLI_OK)
        status = cli_paths_check(&options);
    if (status == CLI_OK)
        status = run(&options);
    cli_options_free(&options);
    return status;
}
