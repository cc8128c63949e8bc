/* The option --logit-rows of the commands that freeze training plans: its description, what its value means, and the
 * warning where it changes nothing. What it does is in compiler/passes/logits.c. */
#ifndef FIRNC_LOGIT_ROWS_H
#define FIRNC_LOGIT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/graph/ir.h"

#define FIRNC_LOGIT_ROWS_TEXT                                                                                          \
    "compute N rows of logits at a time, rounded up to a multiple of 32 and to whole chunks of POL, 0: all; no bit "   \
    "changes; default: 512 if that makes a large arena smaller"

/* firnc_job.logit_rows for the value of the option, if it is given. */
uint32_t firnc_logit_rows_of(bool given, uint32_t rows);

/* Whether the logits of a graph are computed by blocks of rows, after the passes. */
bool firnc_logits_are_divided(const firnc_graph *graph);

/* Warns of rows that were asked for where the logits are whole. */
void firnc_logit_rows_warn(const char *recipe, uint32_t rows, bool eval);

#endif
