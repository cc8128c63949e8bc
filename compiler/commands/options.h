/* The command line of firnc's commands: each defines its table (runtime/manual/manual.h) in its own file. */
#ifndef FIRNC_OPTIONS_H
#define FIRNC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/manual/manual.h"

#define FIRNC_TEXTS_MAX 64

/* What --statistics is, of every command that reads a recipe. */
#define FIRNC_STATISTICS_TEXT                                                                                          \
    "the statistics of the training data, as firn data-statistics writes them, for normalise: fit of a recipe"

/* The values of an option that may be given several times. */
typedef struct firnc_texts {
    const char *text[FIRNC_TEXTS_MAX];
    uint32_t count;
} firnc_texts;

typedef struct firnc_command {
    firn_command words;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} firnc_command;

/* Reads argv[1] to argv[argc - 1] by the command's table into its request, which the caller has zeroed. Returns false
 * after one line on stderr. */
bool firnc_options_read(int argc, char **argv, const firnc_command *command, void *request);

/* "firnc COMMAND: message; mend" to stderr; returns FIRNC_EXIT_USAGE. */
int firnc_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* firn_manual.say of firnc. */
void firnc_say_line(const char *line);

/* Whether an output may be written: it must not be one of the inputs under any name or link. Inputs may be NULL.
 * Returns false after one line on stderr, which is a usage error. */
bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count);

#endif
