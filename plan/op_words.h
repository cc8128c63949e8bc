/* The names that plan/ops.def gives to ops, operands and attributes, for reports and for the compiler. The runtime uses
 * none of them. Names in a list are separated by one space. */
#ifndef FIRN_PLAN_OP_WORDS_H
#define FIRN_PLAN_OP_WORDS_H

#include "plan/ops.h"

typedef struct firn_op_words {
    const char *name, *inputs, *outputs, *integers, *reals, *reductions;
} firn_op_words;

extern const firn_op_words firn_op_words_table[FIRN_OPS];

/* Of a row of the table. */
static inline const firn_op_words *firn_op_words_of(const firn_op_info *info) {
    uint32_t i = 0;
    while (i + 1 < FIRN_OPS && firn_op_at(i) != info)
        i++;
    return &firn_op_words_table[i];
}

static inline const char *firn_op_name(const firn_op_info *info) {
    return firn_op_words_of(info)->name;
}

#endif
