/* In which minor version of the format an op, its operands and its attributes came (plan/generated/op_since.c), for the
 * compiler, which writes into a plan the version that it needs. The runtime uses none of it. */
#ifndef FIRN_PLAN_OP_SINCE_H
#define FIRN_PLAN_OP_SINCE_H

#include "plan/ops.h"

/* The highest version among the row of an op and its first so many operands and attributes, as a plan gives them. */
uint32_t firn_op_since(const firn_op_info *info, uint32_t inputs, uint32_t outputs, uint32_t integers, uint32_t reals);

#endif
