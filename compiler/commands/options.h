/* The command line of a command, as a table of options: their names, descriptions and the places of their values. The
 * parser uses the table, and so do --help, the manual page and the completion (runtime/manual/manual.h). */
#ifndef FIRNC_OPTIONS_H
#define FIRNC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/manual/manual.h"

#define FIRNC_TEXTS_MAX 64

/* The values of an option that may be given several times. */
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
    size_t place; /* offset in bytes of the value in the command's request */
} firnc_option;

typedef struct firnc_command {
    firn_manual_command words;
    int (*run)(int argc, char **argv);    /* argv[0] is the command's name; returns the exit code */
    const firnc_option *options, *shared; /* shared: options that several commands have in common */
    uint32_t option_count, shared_count;
} firnc_command;

/* The option at a position, the command's own options first; NULL after the last one. */
const firnc_option *firnc_option_at(const firnc_command *command, uint32_t position);

/* Reads argv[1] to argv[argc - 1] into a request that the caller has zeroed. A value follows its option as the next
 * word or after '=', and is not empty. The one word that is not an option is stored in *operand. Returns false after
 * one line on stderr. */
bool firnc_options_read(int argc, char **argv, const firnc_command *command, void *request, const char **operand);

/* The same for a command of any number of files: stores the words that are not options, which may be none. `operands`
 * has room for argc. */
bool firnc_options_read_many(int argc, char **argv, const firnc_command *command, void *request, const char **operands,
                             uint32_t *count);

/* "firnc COMMAND: message; mend" to stderr; returns FIRNC_EXIT_USAGE. */
int firnc_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether an output may be written: it must not be one of the inputs under any name or link. Inputs may be NULL.
 * Returns false after one line on stderr, which is a usage error. */
bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count);

/* Reads an integer from 0 to `most`: decimal, or hexadecimal behind 0x. Returns false if the text is anything else. */
bool firnc_number_read(const char *text, uint64_t most, uint64_t *value);
/* The same without hexadecimal, for files. */
bool firnc_decimal_read(const char *text, uint64_t most, uint64_t *value);

#endif
