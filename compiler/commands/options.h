/* The words of a command line. */
#ifndef FIRNC_OPTIONS_H
#define FIRNC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define FIRNC_TEXTS_MAX 64

/* The texts of an option that may be given several times. */
typedef struct firnc_texts {
    const char *text[FIRNC_TEXTS_MAX];
    uint32_t count;
} firnc_texts;

/* One option of a command: exactly one of the three pointers is set. */
typedef struct firnc_option {
    const char *name;   /* "--key", "-o" */
    bool *flag;         /* set to true */
    const char **text;  /* at most once */
    firnc_texts *texts; /* any number of times */
} firnc_option;

/* Reads argv[1] to argv[argc - 1], argv[0] being the command. Values stand behind their option or after '='. Words that
 * are not options go to `words`, of which there must be word_count. False after one line on stderr. */
bool firnc_options_read(int argc, char **argv, const firnc_option *options, uint32_t option_count, const char **words,
                        uint32_t word_count);

/* "firnc COMMAND: message; mend" to stderr; returns FIRNC_EXIT_USAGE. */
int firnc_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether an output may be written: it is none of the inputs, of which some may be NULL, by whatever name or link. Else
 * false after one line on stderr, which is a fault of the command line. */
bool firnc_output_is_free(const char *command, const char *output, const char *const *inputs, uint32_t count);

/* A whole number in decimal, at most `most`. */
bool firnc_number_read(const char *text, uint64_t most, uint64_t *value);

#endif
