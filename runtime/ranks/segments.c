/* Shares of ranks and nodes of the tree. */
#include "runtime/ranks/segments.h"

firn_ranks_share firn_ranks_share_of(uint32_t rank, uint32_t ranks, uint64_t count) {
    const uint64_t each = count / ranks, more = count % ranks;
    const uint64_t first = each * rank + more * rank / ranks, end = each * (rank + 1) + more * (rank + 1) / ranks;
    return (firn_ranks_share){first, end};
}

firn_ranks_segment firn_ranks_segment_at(uint32_t first, uint32_t end) {
    firn_ranks_segment segment = {first, 0};
    for (uint64_t length = 2; first % length == 0 && length <= end - first; length *= 2)
        segment.level++;
    return segment;
}

uint32_t firn_ranks_count_segments(firn_ranks_share share) {
    uint32_t count = 0;
    for (uint64_t at = share.first; at < share.end; count++)
        at += UINT64_C(1) << firn_ranks_segment_at((uint32_t)at, (uint32_t)share.end).level;
    return count;
}

/* A sum that waits for its right sibling. */
typedef struct waiting {
    uint32_t node, level;
} waiting;

void firn_ranks_add_tree(const firn_ranks_segment *segments, uint32_t count,
                         void (*add)(void *argument, uint32_t left, uint32_t right), void *argument) {
    waiting stack[33]; /* the levels fall from one to the next */
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        waiting now = {i, segments[i].level};
        for (; depth > 0 && stack[depth - 1].level == now.level; depth--) {
            add(argument, stack[depth - 1].node, now.node);
            now = (waiting){stack[depth - 1].node, now.level + 1};
        }
        stack[depth++] = now;
    }
    for (; depth > 1; depth--) /* a left child alone is its parent */
        add(argument, stack[depth - 2].node, stack[depth - 1].node);
}
