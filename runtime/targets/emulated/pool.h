/* The memory of the emulated programs, of which blocks are taken and never returned. */
#ifndef FIRN_EMULATED_POOL_H
#define FIRN_EMULATED_POOL_H

#include "runtime/firn.h"

/* The memory that is left; it begins at a multiple of the alignment. */
typedef struct firn_pool {
    uint8_t *memory;
    uint64_t bytes;
} firn_pool;

/* Takes a block from the pool. Returns NULL for 0 bytes, or if the pool has fewer. */
void *firn_pool_take(firn_pool *left, uint64_t bytes);

/* Takes a block for each region of the plan of a config and sets them in it; none for parameters if it has an owner.
 * Returns FIRN_OK, BLOCK_TOO_SMALL or an error of firn_plan_sizes. */
int firn_pool_blocks(firn_pool *left, firn_config *config, firn_block blocks[FIRN_BLOCKS_MAX]) FIRN_CHECK_RESULT;

/* Takes the block for prepared ops. Returns FIRN_OK, PREPARED_TOO_SMALL or an error of firn_plan_sizes. */
int firn_pool_prepared(firn_pool *left, firn_config *config) FIRN_CHECK_RESULT;

/* Takes the workspace of a config whose other fields are complete. Returns FIRN_OK or the error of
 * firn_workspace_bytes; WORKSPACE_TOO_SMALL. */
int firn_pool_workspace(firn_pool *left, firn_config *config) FIRN_CHECK_RESULT;

#endif
