/* Allocates the memory blocks of an instance. Each block has pages to itself, so that it can be made read-only; large
 * blocks use huge pages if the kernel has them. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "runtime/targets/host/host.h"

#define HUGE_FROM                                                                                                      \
    (UINT64_C(8) << 20) /* bytes; a smaller block has little from huge pages and may waste most of one                 \
                         */

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

bool firn_host_block_seal(void *block, uint64_t bytes) {
    return mprotect(block, (size_t)bytes, PROT_READ) == 0;
}

void firn_host_block_free(void *block, uint64_t bytes) {
    if (block != NULL)
        (void)munmap(block, (size_t)bytes);
}
