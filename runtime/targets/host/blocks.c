/* Allocates the memory blocks of an instance. Each block has pages to itself, so that it can be made read-only; large
 * blocks use huge pages if the kernel has them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "runtime/targets/host/host.h"

/* In bytes; a smaller block has little from huge pages and may waste most of one. */
#define HUGE_FROM (UINT64_C(8) << 20)
/* No page is smaller, in bytes. */
#define PAGE_LEAST 4096u
/* Of Linux 5.14; older headers lack the name. */
#ifndef MADV_POPULATE_WRITE
#    define MADV_POPULATE_WRITE 23
#endif

void *firn_host_block(uint64_t bytes) {
    if (bytes == 0 || bytes > SIZE_MAX)
        return NULL;
    void *block = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    if (bytes >= HUGE_FROM)
        (void)madvise(block, (size_t)bytes, MADV_HUGEPAGE); /* a kernel without huge pages uses small ones */
    return block;
}

bool firn_host_block_populate(void *block, uint64_t bytes) {
    if (bytes == 0 || madvise(block, (size_t)bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno != EINVAL)
        return false;
    volatile uint8_t *pages = block; /* a kernel that does not know the advice */
    for (uint64_t i = 0; i < bytes; i += PAGE_LEAST)
        pages[i] = 0;
    return true;
}

bool firn_host_block_seal(void *block, uint64_t bytes) {
    return mprotect(block, (size_t)bytes, PROT_READ) == 0;
}

void firn_host_block_free(void *block, uint64_t bytes) {
    if (block != NULL)
        (void)munmap(block, (size_t)bytes);
}

bool firn_host_blocks_begin(firn_host_blocks *blocks, const firn_sizes *sizes) {
    *blocks = (firn_host_blocks){.count = sizes->block_count};
    for (uint32_t i = 0; i < sizes->block_count; i++) {
        const uint64_t bytes = sizes->blocks[i].bytes;
        void *memory = firn_host_block(bytes);
        if (memory == NULL && bytes != 0) {
            firn_host_blocks_end(blocks);
            return false;
        }
        blocks->list[i] = (firn_block){.memory = memory, .bytes = bytes};
    }
    return true;
}

void firn_host_blocks_end(firn_host_blocks *blocks) {
    for (uint32_t i = 0; i < blocks->count; i++)
        firn_host_block_free(blocks->list[i].memory, blocks->list[i].bytes);
    *blocks = (firn_host_blocks){0};
}
