/* The subcommands of firnc, one file each, and the exit codes that they share. */
#ifndef FIRNC_COMMANDS_H
#define FIRNC_COMMANDS_H

#include "compiler/commands/options.h"

enum {
    FIRNC_EXIT_OK = 0,
    FIRNC_EXIT_WRONG = 1,        /* a recipe or another file is wrong */
    FIRNC_EXIT_USAGE = 2,        /* the command line is wrong */
    FIRNC_EXIT_REFUSED = 3,      /* a plan was refused */
    FIRNC_EXIT_INTERRUPTED = 130 /* a signal ended the command; nothing was kept */
};

extern const firnc_command firnc_command_keygen, firnc_command_compile, firnc_command_sign, firnc_command_attach,
    firnc_command_schedule, firnc_command_verify, firnc_command_inspect, firnc_command_compare, firnc_command_tune,
    firnc_command_export, firnc_command_image, firnc_command_weights, firnc_command_tokens, firnc_command_key,
    firnc_command_check;

/* Whether standard output was open when the program began. A command that prints its result asks this first. False
 * after one message. */
bool firnc_has_output(void);

/* The function that firnc_command_keygen runs. */
int firnc_keygen_command(int argc, char **argv);

#endif
