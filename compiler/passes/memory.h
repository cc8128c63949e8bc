/* Placing buffers that live for a while into one block: the part of the memory pass that knows nothing of graphs, so
 * that it can be tested on any problem. */
#ifndef FIRNC_MEMORY_H
#define FIRNC_MEMORY_H

#include <stdint.h>

typedef struct firnc_buffer {
    uint64_t bytes;
    uint32_t first, last; /* inclusive: two buffers whose spans meet may not overlap in memory */
    uint64_t offset;      /* result */
} firnc_buffer;

/* The most bytes that live at one time: no placement needs less. */
uint64_t firnc_lower_bound(const firnc_buffer *buffers, uint32_t count);

/* Gives every buffer an offset; returns the bytes of the block. Sizes must be multiples of the alignment wanted. */
uint64_t firnc_place_buffers(firnc_buffer *buffers, uint32_t count);

#endif
