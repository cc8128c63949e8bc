/* The passes, run in order. */
#ifndef FIRNC_DRIVER_H
#define FIRNC_DRIVER_H

#include "compiler/passes/passes.h"

/* Runs every pass on a compilation whose job and graph are set. When dump_after is the name of a pass, the
 * graph is printed after it. False after one message. */
bool firnc_run_passes(firnc_compilation *compilation, const char *dump_after);

/* Name of the pass at a position of the list, or NULL behind its end. */
const char *firnc_pass_name(uint32_t position);

#endif
