/* A table that describes the command line of a program, and the texts made from it: --help, the manual page and the
 * completion of bash. The parsers of firn and firnc read the same tables, so the texts cannot differ from what is
 * accepted. Both programs use this header; it includes nothing of either. */
#ifndef FIRN_MANUAL_H
#define FIRN_MANUAL_H

#include <stdint.h>

typedef struct firn_manual_option {
    const char *name;     /* "--output" */
    const char *brief;    /* the short form, "-o", or NULL */
    const char *argument; /* name of its value: "FILE"; lower case ("train|eval") lists all values; NULL: none */
    const char *text;     /* one line, without a newline */
} firn_manual_option;

enum { FIRN_MANUAL_FORMS = 5 };

typedef struct firn_manual_command {
    const char *name;
    const char *forms[FIRN_MANUAL_FORMS]; /* the operands and options after the name; unused entries are NULL */
    const char *text;                     /* one line */
    const char *more;                     /* a paragraph, or NULL */
} firn_manual_command;

/* A term and its explanation, such as an exit code. */
typedef struct firn_manual_entry {
    const char *term, *text;
} firn_manual_entry;

typedef struct firn_manual_section {
    const char *title; /* "Exit status" */
    const firn_manual_entry *entries;
    uint32_t count;
} firn_manual_section;

typedef struct firn_manual {
    const char *program, *version;
    const char *text;     /* what the program does, as in "firn: runs ..." */
    const char *more;     /* a paragraph */
    const char *see_also; /* the other program */
    /* Return NULL after the last entry. `help` is not in the table. */
    const firn_manual_command *(*command_at)(uint32_t command);
    const firn_manual_option *(*option_at)(uint32_t command, uint32_t position);
    const firn_manual_section *sections;
    uint32_t section_count;
} firn_manual;

/* Executes `help` with the words that follow it: "[COMMAND]", "--man" or "--completion bash". Prints to stdout and
 * returns NULL, or returns the word that is wrong. */
const char *firn_manual_help(const firn_manual *manual, int count, char *const *words);

#endif
