/* The command line of a program as one table, and the texts that are made from it: --help, the manual page and the
 * completion of bash. The parsers of firn and firnc read the same tables, so a text cannot differ from what is
 * accepted. Includes nothing of either program: both use it. */
#ifndef FIRN_MANUAL_H
#define FIRN_MANUAL_H

#include <stdint.h>

typedef struct firn_manual_option {
    const char *name;     /* "--output" */
    const char *brief;    /* the short form, "-o", or NULL */
    const char *argument; /* of its value, or NULL for none: "FILE"; "train|eval" in small letters lists all values */
    const char *text;     /* one line, without an end */
} firn_manual_option;

typedef struct firn_manual_command {
    const char *name;
    const char *forms[3]; /* what stands behind the name; unused ones NULL */
    const char *text;     /* one line */
    const char *more;     /* a paragraph, or NULL */
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
    /* NULL behind the last one. `help` is not among them. */
    const firn_manual_command *(*command_at)(uint32_t command);
    const firn_manual_option *(*option_at)(uint32_t command, uint32_t position);
    const firn_manual_section *sections;
    uint32_t section_count;
} firn_manual;

/* `help` with the words behind it: "[COMMAND]", "--man" or "--completion bash". Prints to stdout and returns NULL, or
 * returns the word that is wrong. */
const char *firn_manual_help(const firn_manual *manual, int count, char *const *words);

#endif
