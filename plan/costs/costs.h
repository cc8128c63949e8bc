/* Sizes and costs of single tensors and ops of a verified plan: extents, bytes, multiply-adds. For firnc inspect and
 * firn report, which compute the totals; no device runs this. Nothing is allocated or printed here. */
#ifndef FIRN_PLAN_COSTS_H
#define FIRN_PLAN_COSTS_H

#include "plan/generated/reader.h"
#include "plan/ops.h"

firn_shape firn_tensor_shape(firn_fb_tensor tensor);
uint64_t firn_tensor_elements(firn_fb_tensor tensor);
uint64_t firn_tensor_bytes(firn_fb_tensor tensor);

/* Multiply-adds of the products of one op; 0 for an op without products. */
uint64_t firn_op_cost(firn_fb_plan plan, firn_fb_op op);

#endif
