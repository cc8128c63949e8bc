/* firnc inspect: prints the contents of a plan for readers, or for programs (--json). */
#ifndef FIRNC_INSPECT_H
#define FIRNC_INSPECT_H

typedef enum firnc_inspect_form { FIRNC_INSPECT_TABLE, FIRNC_INSPECT_JSON } firnc_inspect_form;

/* Reads, decodes and verifies the plan except for its signature, which the report mentions, and prints to stdout.
 * Returns the exit code: 0; or after one line on stderr 1 if the file cannot be read, 3 if the plan is refused. */
int firnc_inspect(const char *file, firnc_inspect_form form);

#endif
