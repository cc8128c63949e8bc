/* The parts of plan/ that a firmware may leave out, as tables. The library has files with the full tables
 * (plan/shapes/op_parts.c). A firmware that defines the same tables with less (firnc export PLAN --c) is linked with
 * what these name and nothing else; a plan that needs more is refused when it is opened. Freestanding. */
#ifndef FIRN_PLAN_PARTS_H
#define FIRN_PLAN_PARTS_H

#include "plan/generated/reader.h"
#include "plan/ops.h"

/* The row of each op of plan/ops.def (plan/generated/op_table.c), and the rule that checks what the columns cannot say
 * (plan/shapes). */
#define FIRN_OP(name, code, rule, ...)                                                                                 \
    extern const firn_op_info firn_op_row_##name;                                                                      \
    int firn_shape_##rule(firn_op_signature *signature);
#include "plan/ops.def"
#undef FIRN_OP

typedef struct firn_op_part {
    const firn_op_info *row;
    int (*rule)(firn_op_signature *signature);
} firn_op_part;

/* The ops that this build knows. A sealed build does not read this table. */
extern const firn_op_part firn_op_parts[];
extern const uint16_t firn_op_part_count;

/* The semantic rules of metric i of a plan; NULL: this build has none, and refuses plans with metrics. */
int firn_semantics_check_metric(const firn_fb_plan_record *plan, uint32_t i);
extern int (*const firn_semantics_metric)(const firn_fb_plan_record *plan, uint32_t i);

/* The part of an op, or NULL. */
const firn_op_part *firn_op_part_find(uint16_t code);

#endif
