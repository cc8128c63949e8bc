/* The subcommands of firnc, one file each. argv[0] is the command's name. Each returns the exit code. */
#ifndef FIRNC_COMMANDS_H
#define FIRNC_COMMANDS_H

enum {
    FIRNC_EXIT_OK = 0,
    FIRNC_EXIT_WRONG = 1,  /* a recipe or another file */
    FIRNC_EXIT_USAGE = 2,  /* the command line */
    FIRNC_EXIT_REFUSED = 3 /* a plan */
};

int firnc_keygen_command(int argc, char **argv);
int firnc_compile_command(int argc, char **argv);
int firnc_sign_command(int argc, char **argv);
int firnc_attach_command(int argc, char **argv);
int firnc_schedule_command(int argc, char **argv);
int firnc_verify_command(int argc, char **argv);
int firnc_inspect_command(int argc, char **argv);
int firnc_compare_command(int argc, char **argv);
int firnc_tune_command(int argc, char **argv);

#endif
