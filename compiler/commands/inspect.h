/* firnc inspect: what is in a plan, for people, for programs (--json) and for a firmware link (--kernels). */
#ifndef FIRNC_INSPECT_H
#define FIRNC_INSPECT_H

typedef enum firnc_inspect_form { FIRNC_INSPECT_TABLE, FIRNC_INSPECT_JSON, FIRNC_INSPECT_KERNELS } firnc_inspect_form;

/* Reads, decodes and verifies the plan (all but its signature, and says so), then prints to stdout. Returns the exit
 * code: 0, 1 when the file cannot be read, 3 when the plan is refused, after one line on stderr. */
int firnc_inspect(const char *file, firnc_inspect_form form);

#endif
