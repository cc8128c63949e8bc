/* The command line of a program as one table, and all that is made from it: the parser, the help, the manual pages and
 * the completion of shells. The texts cannot differ from what is accepted, because both come from the same rows.
 * firn, firnc and firn-mpi use this folder; it includes nothing of them, and prints messages only by `say`. */
#ifndef FIRN_MANUAL_H
#define FIRN_MANUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* How the value of an option is checked, and what is stored at its place in the request. */
typedef enum firn_option_kind {
    FIRN_OPTION_FLAG,     /* a bool, set to true; no value. It may be repeated, which changes nothing */
    FIRN_OPTION_TEXT,     /* a const char *, not empty */
    FIRN_OPTION_ANY_TEXT, /* a const char *, which may be empty */
    FIRN_OPTION_WORD,     /* a const char *: one of the words that `value` lists, as in "yes|no" */
    FIRN_OPTION_LIST,     /* an array of `most` const char *, and their number at `count`; none is empty */
    FIRN_OPTION_WORDS,    /* for operands of any number: a const char *const *, their array, and their number */
    FIRN_OPTION_NUMBER,   /* a uint64_t from `least` to `most`: decimal digits, or hexadecimal ones behind 0x */
    FIRN_OPTION_NUMBER32, /* the same as a uint32_t */
    FIRN_OPTION_READ      /* `read` checks the value and stores it */
} firn_option_kind;

/* What the value of an option names. It decides what "-" is. */
typedef enum firn_option_names {
    FIRN_NAMES_NOTHING, /* no file: "-" is a value like any other */
    FIRN_NAMES_FILE,    /* a file that must have a name: "-" is refused */
    FIRN_NAMES_FOLDER,  /* likewise a folder */
    FIRN_NAMES_STREAM   /* a file for which "-" stands for standard input or output; the command sees the "-" */
} firn_option_names;

/* All commands that list a table of options. */
#define FIRN_EVERY_COMMAND UINT32_MAX

/* A row: an option, or the operands of a command, which have no name. */
typedef struct firn_option {
    const char *name;  /* "--output" */
    const char *brief; /* the short form, "-o", or NULL */
    const char *old;   /* a name that it had: accepted as before, with a note that says the new one; or NULL */
    const char *value; /* the word for its value: "FILE"; lower case ("train|eval") lists all values; NULL: none */
    const char *text;  /* one line, without a newline */
    firn_option_kind kind;
    firn_option_names names;
    uint32_t commands;    /* bits of the commands that accept it; 0: every command that lists the table */
    uint32_t needed;      /* bits of the commands that require it, or FIRN_EVERY_COMMAND */
    size_t place;         /* offset in bytes of what is stored in the request */
    size_t given;         /* offset of a bool that is set to true with it; 0: none, so no such bool is at offset 0 */
    size_t count;         /* LIST and WORDS: offset of a uint32_t, the number of values */
    uint64_t least, most; /* of a number, both included; of a list the most values; of operands the least number */
    const char *unless;   /* of operands: an option with which they may be left out; or NULL */
    const char *what;     /* what a number is: "a number of steps" */
    const char *mend;     /* LIST: what to do instead of giving more values */
    /* READ: stores the value in the request. Returns NULL, or what is wrong: "is no size; write 32x32". */
    const char *(*read)(void *request, const char *value);
} firn_option;

typedef struct firn_example {
    const char *line; /* "firn digest run.ckpt" */
    const char *text; /* what it does; one line */
} firn_example;

typedef struct firn_option_table {
    const firn_option *options;
    uint32_t count;
} firn_option_table;

enum { FIRN_MANUAL_FORMS = 5, FIRN_MANUAL_EXAMPLES = 6, FIRN_MANUAL_TABLES = 2, FIRN_OPTIONS_MAX = 128 };

typedef struct firn_command {
    const char *name;
    const char *group;                            /* the title above it in the short help; equal for neighbours */
    const char *summary;                          /* what it does, at most 60 characters */
    const char *forms[FIRN_MANUAL_FORMS];         /* the operands and options after the name; unused entries are NULL */
    const char *text;                             /* what it does; one line without a newline */
    const char *more;                             /* a paragraph, or NULL */
    firn_example examples[FIRN_MANUAL_EXAMPLES];  /* unused entries are zero */
    uint32_t bit;                                 /* in firn_option.commands and .needed */
    firn_option operand;                          /* value NULL: it has none */
    firn_option_table tables[FIRN_MANUAL_TABLES]; /* at most FIRN_OPTIONS_MAX options in all */
} firn_command;

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
    const char *text;         /* what the program does, as in "firn: runs ..." */
    const char *more;         /* a paragraph */
    const char *see_also;     /* the other program */
    const char *const *other; /* commands of that program which this one does not have; NULL ends them */
    /* Returns NULL after the last command. `help` is not in the table. */
    const firn_command *(*command_at)(uint32_t command);
    const firn_manual_section *sections;
    uint32_t section_count;
    /* Prints a message, which has no newline, to stderr. NULL: messages, help and version are not printed. */
    void (*say)(const char *line);
} firn_manual;

/* The option of a command at a position, in the order of its tables; NULL after the last one. */
const firn_option *firn_option_at(const firn_command *command, uint32_t position);

/* --- the parser --------------------------------------------------------------------------------------------------- */

typedef enum firn_line {
    FIRN_LINE_COMMAND, /* it asks for a command, which is to be run */
    FIRN_LINE_DONE,    /* it asked for help or the version, which stdout has */
    FIRN_LINE_WRONG    /* a message says what is wrong; where the command is missing, stdout has the short help */
} firn_line;

/* Finds what a command line asks for. `words` are those after the program's name. *command is the command. */
firn_line firn_line_open(const firn_manual *manual, int count, char **words, const firn_command **command);

/* Reads the words after a command's name into its request, which has the values that hold without an option. The order
 * of `words` may change. Only `program` and `say` of the manual are used.
 *     --option VALUE, --option=VALUE, -o VALUE; `--` ends the options
 *     each option once, but flags and lists; options and operands in any order
 * Returns false after one message. An old name of an option is noted, unless there is an option --quiet among the
 * words. */
bool firn_options_read(const firn_manual *manual, const firn_command *command, int count, char **words, void *request);

/* Says "PROGRAM COMMAND: text; `PROGRAM help COMMAND` shows the command line", for what no row of a table can say. */
void firn_options_refuse(const firn_manual *manual, const char *command, const char *text, const char *word);

/* Reads an integer from 0 to `most`: decimal, or hexadecimal behind 0x. Returns false if the text is anything else. */
bool firn_number_read(const char *text, uint64_t most, uint64_t *value);

/* --- other functions ---------------------------------------------------------------------------------------------- */

/* The command of a name, or NULL. */
const firn_command *firn_command_named(const firn_manual *manual, const char *name);

/* Prints the manual page, in roff, to stdout: of the program, or of one command if that is not NULL. */
void firn_page_print(const firn_manual *manual, const firn_command *command);

#endif
