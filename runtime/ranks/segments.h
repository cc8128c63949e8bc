/* Which micro-batches of a step a rank runs, and which nodes of the tree of micro-batches it adds up by itself
 * (plan/NUMERICS.md). Pure arithmetic. */
#ifndef FIRN_RANKS_SEGMENTS_H
#define FIRN_RANKS_SEGMENTS_H

#include <stdint.h>

/* Consecutive micro-batches, or other things: [first, end). */
typedef struct firn_ranks_share {
    uint64_t first, end;
} firn_ranks_share;

/* Returns the share of a rank in `count` things: the shares follow each other, and differ by one at most. */
firn_ranks_share firn_ranks_share_of(uint32_t rank, uint32_t ranks, uint64_t count);

/* 2^level micro-batches from `first` on, a multiple of 2^level: the leaves of one node on this level of the tree. */
typedef struct firn_ranks_segment {
    uint32_t first, level;
} firn_ranks_segment;

/* Returns the largest segment that begins at `first` and lies in front of `end`. */
firn_ranks_segment firn_ranks_segment_at(uint32_t first, uint32_t end);

/* Returns the number of segments that a share is cut into. */
uint32_t firn_ranks_count_segments(firn_ranks_share share);

/* Adds nodes up to the root: add(argument, left, right) adds node number `right` of the caller to node number `left`,
 * left + right. The segments follow each other from 0 on; node i is the sum of segment i. The root is node 0. */
void firn_ranks_add_tree(const firn_ranks_segment *segments, uint32_t count,
                         void (*add)(void *argument, uint32_t left, uint32_t right), void *argument);

#endif
