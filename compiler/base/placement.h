/* Placement of buffers with limited lifetimes in one block of memory. This part of the memory pass must not depend on
 * graphs, so that tests can give it any problem. */
#ifndef FIRNC_PLACEMENT_H
#define FIRNC_PLACEMENT_H

#include <stdint.h>

typedef struct firnc_block {
    uint64_t bytes;
    uint32_t first, last; /* lifetime, inclusive: buffers whose lifetimes intersect must not overlap in memory */
    uint64_t offset;      /* result */
} firnc_block;

/* The maximum of the bytes that are live at one time. No placement needs less. */
uint64_t firnc_lower_bound(const firnc_block *buffers, uint32_t count);

/* Sets the offset of every buffer and returns the bytes of the block. Offsets are sums of buffer sizes: sizes that are
 * multiples of an alignment give offsets that are, too. */
uint64_t firnc_place_buffers(firnc_block *buffers, uint32_t count);

#endif
