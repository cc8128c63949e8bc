/* Whether the last batch of an evaluation may be short, and what each row of it adds to a mean. Part of the metric
 * pass; nothing else includes this. */
#ifndef FIRNC_SHORT_BATCH_H
#define FIRNC_SHORT_BATCH_H

#include "compiler/passes/passes.h"

/* The operands of metric_row_mean. All are FIRNC_NONE for a metric that is no mean of losses, or a last batch that may
 * not be short. */
typedef struct firnc_row_losses {
    firnc_value losses;          /* of each row, or of each sample */
    firnc_value labels, weights; /* of the rows; FIRNC_NONE: none is left out, each has weight 1 */
    int64_t ignore_index;        /* the label of rows that are left out; -1: none */
} firnc_row_losses;

/* Decides whether the last batch may be short. If so, it adds graph->counted and the ops of *rows. Where the graph
 * cannot have it, it says so; false if the job asks for it. */
bool firnc_decide_short_batch(const firnc_compilation *compilation, firnc_row_losses *rows);

#endif
