/* Which rows the loss of a verified plan leaves out: those with a label that it ignores. PyTorch's -100 in data stands
 * for that label. Host only. */
#ifndef FIRN_PLAN_KEYS_IGNORED_LABEL_H
#define FIRN_PLAN_KEYS_IGNORED_LABEL_H

#include <stdbool.h>

#include "plan/generated/reader.h"

enum { FIRN_PYTORCH_IGNORED = -100 };

/* What a loss does with rows that it may ignore or weigh. */
typedef struct firn_loss_rows {
    int64_t ignored; /* the label whose rows do not count, or -1 */
    bool unclassed;  /* that is no class: it is the number of classes, or above it */
    bool divides;    /* the loss is divided by the sum of the weights */
} firn_loss_rows;

/* Reads an op. Returns false, and stores nothing, for every op that is no such loss. */
bool firn_loss_rows_of(firn_fb_plan plan, firn_fb_op op, firn_loss_rows *rows);

/* Returns true if all such losses of a plan ignore one label, and stores it and whether it is no class; else 0 and
 * false. */
bool firn_ignored_label(firn_fb_plan plan, uint32_t *label, bool *unclassed);

#endif
