/* Runs the passes in order. */
#ifndef FIRNC_DRIVER_H
#define FIRNC_DRIVER_H

#include "compiler/passes/passes.h"

/* Runs every pass on a compilation whose job and graph are set. If dump_after is the name of a pass, prints the graph
 * after that pass. False after one message. */
bool firnc_run_passes(firnc_compilation *compilation, const char *dump_after);

/* True for the name of a pass; and the names of all, "build, shapes, ...", for messages. */
bool firnc_pass_exists(const char *name);
const char *firnc_pass_names(void);

#endif
