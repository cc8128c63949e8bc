/* Divides the memory of the emulated programs (pool.h): the regions of a plan, then the kernels' workspace, which a
 * microcontroller's need not. */
#include "runtime/targets/emulated/pool.h"

#include "plan/bytes.h"

static uint64_t rounded(uint64_t bytes) {
    return firn_round_up(bytes, FIRN_BLOCK_ALIGNMENT);
}

void *firn_pool_take(firn_pool *left, uint64_t bytes) {
    if (bytes == 0 || bytes > left->bytes || rounded(bytes) > left->bytes)
        return NULL;
    void *block = left->memory;
    left->memory += rounded(bytes);
    left->bytes -= rounded(bytes);
    return block;
}

int firn_pool_blocks(firn_pool *left, firn_config *config, firn_block blocks[FIRN_BLOCKS_MAX]) {
    firn_sizes sizes;
    int error = firn_plan_sizes(config->plan, config->plan_bytes, &sizes);
    config->blocks = blocks;
    config->block_count = sizes.block_count;
    for (uint32_t i = 0; error == FIRN_OK && i < sizes.block_count; i++) {
        const bool shared = config->owner != NULL && sizes.blocks[i].kind % FIRN_REGION_SLOW == FIRN_REGION_PARAMETERS;
        const uint64_t bytes = shared ? 0 : sizes.blocks[i].bytes;
        blocks[i] = (firn_block){.memory = firn_pool_take(left, bytes), .bytes = bytes};
        if (blocks[i].memory == NULL && bytes != 0)
            error = FIRN_ERROR_BLOCK_TOO_SMALL;
    }
    return error;
}

int firn_pool_prepared(firn_pool *left, firn_config *config) {
    firn_sizes sizes;
    const int error = firn_plan_sizes(config->plan, config->plan_bytes, &sizes);
    if (error != FIRN_OK)
        return error;
    config->prepared_bytes = sizes.prepared_bytes;
    config->prepared = firn_pool_take(left, sizes.prepared_bytes);
    return config->prepared != NULL ? FIRN_OK : FIRN_ERROR_PREPARED_TOO_SMALL;
}

int firn_pool_workspace(firn_pool *left, firn_config *config) {
    int error = firn_workspace_bytes(config, &config->workspace_bytes);
    if (error != FIRN_OK)
        return error;
    config->workspace = firn_pool_take(left, config->workspace_bytes);
    return config->workspace == NULL && config->workspace_bytes != 0 ? FIRN_ERROR_WORKSPACE_TOO_SMALL : FIRN_OK;
}
