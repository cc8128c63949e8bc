/* Looking things up in a plan whose FlatBuffers rules have held, for the files plan/checks/semantics*.c. Indices that
 * are given must be in range. */
#ifndef FIRN_PLAN_SEMANTICS_LOOKUP_H
#define FIRN_PLAN_SEMANTICS_LOOKUP_H

#include "plan/generated/reader.h"
#include "plan/ops.h"

/* Tensor.last of a tensor that is not bound to a span of ops. */
#define FIRN_FOR_EVER UINT32_MAX

/* The shape of a tensor. Rank and extents are what the plan says, not checked yet. */
firn_shape firn_semantics_shape(firn_fb_tensor tensor);

/* Bytes of a tensor that has been checked. */
uint64_t firn_semantics_bytes(firn_fb_tensor tensor);

/* RegionKind of the region of a tensor. */
uint8_t firn_semantics_region(firn_fb_plan plan, firn_fb_tensor tensor);

/* Ops of all phases. */
uint32_t firn_semantics_op_count(firn_fb_plan plan);

/* Op number n, counted through all phases, and the kind of its phase. */
firn_fb_op firn_semantics_op(firn_fb_plan plan, uint32_t n, uint8_t *phase);

/* Whether an op reads or writes a tensor. */
bool firn_semantics_reads(firn_fb_op op, uint32_t tensor);
bool firn_semantics_writes(firn_fb_op op, uint32_t tensor);

/* The first op that touches a tensor, or the number of ops when none does. */
uint32_t firn_semantics_first_touch(firn_fb_plan plan, uint32_t tensor);

/* The plan's Input that fills a tensor, or inputs_count. */
uint32_t firn_semantics_input_of(firn_fb_plan plan, uint32_t tensor);

/* Whether the runtime fills a tensor before the ops run: an input or the value of a schedule. */
bool firn_semantics_is_filled(firn_fb_plan plan, uint32_t tensor);

/* Whether a tensor keeps its bytes all the time. */
static inline bool firn_semantics_is_persistent(firn_fb_tensor tensor) {
    return firn_fb_tensor_first(tensor) == 0 && firn_fb_tensor_last(tensor) == FIRN_FOR_EVER;
}

#endif
