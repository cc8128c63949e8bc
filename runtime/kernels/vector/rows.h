/* The table of a kernel set: the kernels that it adds to those of another set, selected by op and by the op's
 * reductions. The table is searched when a plan's ops are decoded, never while a kernel runs. */
#ifndef FIRN_KERNELS_VECTOR_ROWS_H
#define FIRN_KERNELS_VECTOR_ROWS_H

#include "runtime/kernels/kernels.h"

#define FIRN_ANY     UINT8_MAX
#define FIRN_FLUSHED (UINT8_MAX - 1) /* in place of a kind: each whose sums are flushed */

/* Only the first descriptor is looked at: an op with several is in a table only with FIRN_ANY, and then its kernel
 * computes every sum, whatever kinds the descriptors mix. */
typedef struct firn_kernel_row {
    uint16_t op;
    uint8_t reduction;   /* kind of the op's first descriptor, FIRN_FLUSHED or FIRN_ANY */
    uint8_t accumulator; /* accumulator type of that descriptor, or FIRN_ANY */
    firn_kernel_choice choice;
} firn_kernel_row;

typedef struct firn_kernel_rows {
    const firn_kernel_row *rows;
    size_t count;
    firn_kernel_choice (*inherited)(uint16_t op, const firn_reduction *reduction); /* called if no row matches */
} firn_kernel_rows;

static inline bool firn_row_has_kind(const firn_kernel_row *row, const firn_reduction *reduction) {
    if (row->reduction == FIRN_ANY || reduction == NULL)
        return row->reduction == FIRN_ANY;
    return row->reduction == FIRN_FLUSHED ? firn_reduction_is_flushed(reduction->kind)
                                          : row->reduction == reduction->kind;
}

static inline bool firn_row_matches(const firn_kernel_row *row, uint16_t op, const firn_reduction *reduction) {
    return row->op == op && firn_row_has_kind(row, reduction) &&
           (row->accumulator == FIRN_ANY || (reduction != NULL && row->accumulator == reduction->accumulator));
}

static inline firn_kernel_choice firn_rows_find(const firn_kernel_rows *table, uint16_t op,
                                                const firn_reduction *reduction) {
    for (size_t i = 0; i < table->count; i++)
        if (firn_row_matches(&table->rows[i], op, reduction))
            return table->rows[i].choice;
    return table->inherited(op, reduction);
}

#endif
