/* All ops of plan/ops.def: the table of a build that leaves none out. A firmware's own table takes its place
 * (plan/parts.h), so nothing else may be defined here. Freestanding. */
#include "plan/parts.h"

const firn_op_part firn_op_parts[] = {
#define FIRN_OP(name, code, rule, ...) {&firn_op_row_##name, firn_shape_##rule},
#include "plan/ops.def"
#undef FIRN_OP
};

const uint16_t firn_op_part_count = sizeof firn_op_parts / sizeof firn_op_parts[0];
