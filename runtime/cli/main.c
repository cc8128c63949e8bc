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

static bool has_output(void) {
    if (!firn_program_has_output())
        firn_host_fail("stdout", "is closed, and the result goes there; open it");
    return firn_program_has_output();
}

static int run(const cli_options *options) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(options->command, commands[i].name) == 0)
            return (commands[i].prints_result || cli_is_stream(options->output)) && !has_output()
                       ? CLI_FILE
                       : commands[i].run(options);
    return CLI_USAGE;
}

int main(int count, char **words) {
    firn_program_open_descriptors();
    cli_signals_end();
    firn_host_messages_to(firn_host_print_message, NULL);
    /* A write beyond the file size limit then fails with an error instead of killing the process. */
    signal(SIGXFSZ, SIG_IGN);
    const firn_command *command;
    switch (firn_line_open(&cli_manual, count - 1, words + 1, &command)) {
    case FIRN_LINE_DONE:
        return cli_flush();
    case FIRN_LINE_WRONG:
        return CLI_USAGE;
    case FIRN_LINE_COMMAND:
        break;
    }
    static cli_options options;
    int status = cli_options_read(&options, &cli_manual, command, count - 2, words + 2);
    if (status == CLI_OK)
        status = cli_paths_check(&options);
    if (status == CLI_OK)
        status = run(&options);
    cli_options_free(&options);
    return status;
}
