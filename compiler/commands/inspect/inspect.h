/* firnc inspect: prints the contents of a plan for readers, or for programs (--json). */
#ifndef FIRNC_INSPECT_H
#define FIRNC_INSPECT_H

#include <stdint.h>

/* What is printed. Parts may be joined by |; they are printed in this order. */
enum {
    FIRNC_INSPECT_SCREEN = 1,    /* one screen that a person decides by */
    FIRNC_INSPECT_SCHEDULE = 2,  /* steps, optimizer, schedules */
    FIRNC_INSPECT_MEMORY = 4,    /* regions, what is live at the peak, totals */
    FIRNC_INSPECT_TENSORS = 8,   /* each tensor and where it is */
    FIRNC_INSPECT_OPS = 16,      /* each op, with POL and reductions */
    FIRNC_INSPECT_UNFOLDED = 32, /* equal layers one by one */
    FIRNC_INSPECT_TABLE = 64,    /* all of it as one text, unfolded; alone */
    FIRNC_INSPECT_JSON = 128     /* all of it as JSON; alone */
};

/* Reads, decodes and verifies the plan except for its signature, which the report mentions, and prints to stdout.
 * Returns the exit code: 0; or after one line on stderr 1 if the file cannot be read, 3 if the plan is refused. */
int firnc_inspect(const char *file, uint32_t parts);

#endif
