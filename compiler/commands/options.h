/* The command line of a command, as a table of its options: what they are called, what they mean, and where their
 * values go. The parser reads it, and so do --help, the manual page and the completion (runtime/manual/manual.h). */
#ifndef FIRNC_OPTIONS_H
#define FIRNC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/manual/manual.h"

#define FIRNC_TEXTS_MAX 64

/* The texts of an option that may be given several times. */
typedef struct firnc_texts {
    const char *text[FIRNC_TEXTS_MAX];
    uint32_t count;
} firnc_texts;

typedef enum firnc_option_kind {
    FIRNC_OPTION_FLAG, /* a bool, set to true */
    FIRNC_OPTION_TEXT, /* a const char *, given at most once */
    FIRNC_OPTION_LIST  /* a firnc_texts, given any number of times */
} firnc_option_kind;

typedef struct firnc_option {
    firn_manual_option words;
    firnc_option_kind kind;
    size_t place; /* of the value in the command's request, in bytes */
} firnc_option;

typedef struct firnc_command {
    firn_manual_command words;
    int (*run)(int argc, char **argv);    /* argv[0] is the command's name; returns the exit code */
    const firnc_option *options, *shared; /* shared: those that it has in common with other commands */
    uint32_t option_count, shared_count;
} firnc_command;

/* The option at a position, those of its own first; NULL behind the last one. */
const firnc_option *firnc_option_at(const firnc_command *command, uint32_t position);

/* Reads argv[1] to argv[argc - 1] into a request that is all zeros. Values stand behind their option or after '='. The
 * one word that is no option goes to *operand. False after one line on stderr. */
bool firnc_options_read(int argc, char **argv, const firnc_command *command, void *request, const char **operand);

/* "firnc COMMAND: message; mend" to stderr; returns FIRNC_EXIT_USAGE. */
int firnc_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether an output may be written: it is none of the inputs, of which some may be NULL, by whatever name or link. Else
 * false after one line on stderr, which is a fault of the command line. */
bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count);

/* A whole number in decimal, at most `most`. */
bool firnc_number_read(const char *text, uint64_t most, uint64_t *value);

#endif
