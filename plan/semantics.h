/* The second pass over a plan that firn_fb_verify has accepted: does it mean something that the runtime can run blind?
 * Indices, shapes, places in memory, lifetimes, the order of reads and writes, and every field that the runtime relies
 * on. Nothing is allocated and nothing is remembered. Freestanding. */
#ifndef FIRN_PLAN_SEMANTICS_H
#define FIRN_PLAN_SEMANTICS_H

#include "plan/container.h"
#include "plan/generated/reader.h"

/* Returns FIRN_OK or an error of the semantic range. The header has been decoded and its signature has held. Cost grows
 * with the square of the tensors in the arena and with tensors times ops; the stack stays below 2 KB. */
int firn_semantics_check(firn_fb_plan plan, const firn_header *header) __attribute__((warn_unused_result));

#endif
