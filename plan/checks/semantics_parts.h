/* The parts of the semantic checks, which semantics.c calls. A part may not call another part or semantics.c; shared
 * functions belong in semantics_lookup.h. */
#ifndef FIRN_PLAN_SEMANTICS_PARTS_H
#define FIRN_PLAN_SEMANTICS_PARTS_H

#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/ops.h"

/* --- the parts, in the order in which semantics.c calls them. Each relies on those before it. -------------------
 * Not inlined, which link-time optimisation would do: the stack of one is free again when the next runs. */

/* Checks every op by itself: code, operands, attributes, shapes, reductions, limits of integer operands
 * (semantics_ops.c). scratch has an element for each operand of the widest op. */
__attribute__((noinline)) int firn_semantics_ops(const firn_fb_plan_record *plan, firn_shape *scratch);

/* Checks the fields that control what the runtime does around the ops (semantics_fields.c). */
__attribute__((noinline)) int firn_semantics_fields(const firn_fb_plan_record *plan, const firn_header *header);

/* Checks the data flow between ops: lifetimes, permitted writes, no read before a write, no overwriting of live tensors
 * (semantics_flow.c). scratch has one element for each tensor that is not state. */
__attribute__((noinline)) int firn_semantics_flow(const firn_fb_plan_record *plan, const firn_header *header,
                                                  uint32_t *scratch);

#endif
