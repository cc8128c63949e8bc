/* The parts of the semantic checks, which semantics.c calls. No part calls another, nor semantics.c; what they share is
 * in semantics_lookup.h. */
#ifndef FIRN_PLAN_SEMANTICS_PARTS_H
#define FIRN_PLAN_SEMANTICS_PARTS_H

#include "plan/container.h"
#include "plan/generated/reader.h"

/* --- the parts, in the order in which semantics.c calls them. Each relies on those before it. ------------------- */

/* Every op by itself: code, operands, attributes, shapes, reductions, bounds of integer operands (semantics_ops.c). */
int firn_semantics_ops(firn_fb_plan plan);

/* The fields that tell the runtime what to do around the ops (semantics_fields.c). */
int firn_semantics_fields(firn_fb_plan plan, const firn_header *header);

/* What flows between ops: lifetimes, what may be written and when, nothing read before it is written, nothing
 * overwritten while it lives (semantics_flow.c). scratch holds one number for each tensor that is not state. */
int firn_semantics_flow(firn_fb_plan plan, uint32_t *scratch);

#endif
