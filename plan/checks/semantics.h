/* The second pass over a plan that firn_fb_verify has accepted: does it mean something that the runtime can run blind?
 * Indices, shapes, places in memory, lifetimes, the order of reads and writes, and every field that the runtime relies
 * on. Nothing is allocated and nothing is remembered. Freestanding. */
#ifndef FIRN_PLAN_SEMANTICS_H
#define FIRN_PLAN_SEMANTICS_H

#include "plan/container.h"
#include "plan/generated/reader.h"

/* Bytes that the check takes: 4 for each tensor that is not state. */
uint64_t firn_semantics_scratch_bytes(uint32_t tensors, uint32_t state_tensors);

/* Returns FIRN_OK, an error of the semantic range, or POOL_TOO_SMALL when the scratch is. The header has been decoded
 * and its signature has held. scratch: aligned to 4; what it holds afterwards is nobody's. Cost grows a little faster
 * than the number of tensors and ops; the stack stays below 2 KB. */
int firn_semantics_check(firn_fb_plan plan, const firn_header *header, void *scratch, uint64_t scratch_bytes)
    __attribute__((warn_unused_result));

#endif
