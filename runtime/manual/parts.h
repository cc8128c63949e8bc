/* What the files of this folder share. */
#ifndef FIRN_MANUAL_PARTS_H
#define FIRN_MANUAL_PARTS_H

#include "runtime/manual/manual.h"

/* --- table.c --- */

/* The rows of `help`, which every program has, and its request. */
extern const firn_command firn_help_command;

typedef struct firn_help_request {
    const char *command, *completion;
    bool man, all;
} firn_help_request;

/* Whether a row's bits of commands have that of a command. */
bool firn_is_of(uint32_t commands, const firn_command *command);

/* Returns the position of the option that a word names, or FIRN_OPTIONS_MAX. *value is what follows '=', or NULL; *old
 * whether the word is the option's old name. */
uint32_t firn_option_find(const firn_command *command, const char *word, const char **value, bool *old);

/* Whether a word is meant as an option: it begins with '-' and is longer. */
bool firn_is_option(const char *word);

/* The command at a position, `help` behind the others; NULL after that. */
const firn_command *firn_command_at(const firn_manual *manual, uint32_t position);

enum { FIRN_EXAMPLE_WIDTH = 88 };

/* Returns how much of a command line fits into a line of FIRN_EXAMPLE_WIDTH: all of it, or up to a space in front of an
 * option or a pipe that is not in quotes. */
size_t firn_example_part(const char *line);

/* --- say.c --- */

/* Says "PROGRAM COMMAND: ..."; command NULL: "PROGRAM: ...". Longer lines are cut. Returns false. */
bool firn_say(const firn_manual *manual, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The word of a list, which ends with NULL, that was meant; NULL if none is near. */
const char *firn_meant(const char *word, const char *const *words);

/* --- help.c, page.c, completion.c: print to stdout --- */

/* The lines of the short help, one for each command; all commands with the sections; one command. */
void firn_help_print_short(const firn_manual *manual);
void firn_help_print_all(const firn_manual *manual);
void firn_help_print_command(const firn_manual *manual, const firn_command *command);

/* The completion for bash, zsh or fish. */
void firn_completion_print(const firn_manual *manual, const char *shell);

#endif
