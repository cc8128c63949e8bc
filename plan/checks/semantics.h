/* The second pass over a plan that firn_fb_verify has accepted. It checks everything that the runtime relies on without
 * checking: indices, shapes, memory offsets, lifetimes, the order of reads and writes, and all fields that the runtime
 * uses. It allocates nothing and keeps no state. Freestanding. */
#ifndef FIRN_PLAN_SEMANTICS_H
#define FIRN_PLAN_SEMANTICS_H

#include "plan/container.h"
#include "plan/generated/reader.h"

/* Size in bytes of the scratch that the check needs: 4 for each tensor that is not state, or a shape for each operand
 * of the widest op. A sealed build needs none. */
uint64_t firn_semantics_scratch_bytes(const firn_counts *counts);

/* Counts what a plan that has passed the FlatBuffers rules has. The header must hold the same numbers. */
firn_counts firn_semantics_count(firn_fb_plan plan);

/* Returns FIRN_OK, an error of the semantic range, or POOL_TOO_SMALL if scratch_bytes is too small. The header has been
 * decoded and the signature verified. scratch is aligned to 8; its contents afterwards are undefined. The time grows
 * at most with the square of the number of tensors and ops; the stack stays below 2 KB. */
int firn_semantics_check(firn_fb_plan table, const firn_header *header, void *scratch, uint64_t scratch_bytes)
    __attribute__((warn_unused_result));

#endif
