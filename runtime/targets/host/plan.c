/* The host's copy of a plan. The file is copied into a memory file, which is sealed, so that no process can write to
 * it, shrink it or grow it, and then mapped read-only. No check of the plan is made here; the library checks the bytes
 * that it will run. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/bytes.h"
#include "plan/container.h"
#include "runtime/targets/host/host.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* Reads exactly count bytes. */
static bool read_all(int file, uint8_t *bytes, size_t count) {
    return firn_host_read(file, bytes, count) == (int64_t)count;
}

/* How much of a file is loaded: of a plan what its header says, and one byte more, for which a longer file is refused;
 * of a file of another kind only what shows that. */
static size_t bytes_to_load(int file, size_t count) {
    uint8_t head[FIRN_PAYLOAD_OFFSET];
    if (count <= sizeof head || pread(file, head, sizeof head, 0) != (ssize_t)sizeof head)
        return count;
    const uint64_t total = firn_load64(head + FIRN_HEADER_TOTAL_BYTES_AT);
    const uint64_t wanted = firn_is_plan(head, sizeof head) && total >= sizeof head ? total + 1 : sizeof head;
    return wanted < count ? (size_t)wanted : count;
}

/* Copies the first bytes of a file to a memory file. Returns its descriptor or -1. */
static int copy_to_memory(int file, size_t count) {
    int memory = memfd_create("firn-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0)
        return -1;
    void *bytes = MAP_FAILED;
    if (ftruncate(memory, (off_t)count) == 0)
        bytes = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    bool done = bytes != MAP_FAILED && read_all(file, bytes, count);
    if (bytes != MAP_FAILED)
        munmap(bytes, count);
    if (!done || fcntl(memory, F_ADD_SEALS, SEALS) != 0) {
        close(memory);
        return -1;
    }
    return memory;
}

/* Maps a sealed file such that mprotect cannot make it writable. This requires a descriptor opened read-only, through
 * /proc: kernels before 6.7 refuse a shared mapping of a sealed file through its original descriptor. */
static const void *map_sealed(int memory, size_t count, const char **lost) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    int reopened = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = mmap(NULL, count, PROT_READ, MAP_SHARED, reopened >= 0 ? reopened : memory, 0);
    if (reopened >= 0)
        close(reopened);
    *lost = NULL;
    if (bytes != MAP_FAILED)
        return bytes;
    bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, memory, 0);
    *lost = "the kernel refuses a shared mapping of a sealed file: this process could make its copy writable";
    return bytes != MAP_FAILED ? bytes : NULL;
}

/* The fallback without memory files: ordinary memory, made read-only. */
static const void *map_plain(int file, size_t count, const char **lost) {
    void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    *lost = "the kernel has no sealed memory: this process could make its copy of the plan writable";
    if (lseek(file, 0, SEEK_SET) == 0 && read_all(file, bytes, count) && mprotect(bytes, count, PROT_READ) == 0)
        return bytes;
    munmap(bytes, count);
    return NULL;
}

bool firn_host_plan_load(firn_host_plan *plan, const char *path) {
    *plan = (firn_host_plan){0};
    uint64_t bytes;
    int file = firn_host_open(path, true, &bytes);
    if (file < 0)
        return false;
    if (bytes == 0) {
        close(file);
        return firn_host_fail(path, "is empty; get the plan again from where it came");
    }
    const size_t count = bytes_to_load(file, (size_t)bytes);
    int memory = copy_to_memory(file, count);
    if (memory >= 0) {
        plan->bytes = map_sealed(memory, count, &plan->lost);
        close(memory);
    } else {
        plan->bytes = map_plain(file, count, &plan->lost);
    }
    close(file);
    if (plan->bytes == NULL)
        return firn_host_fail(path, "%zu bytes cannot be loaded: %s", count, strerror(errno));
    plan->count = count;
    return true;
}

void firn_host_plan_unload(firn_host_plan *plan) {
    if (plan->bytes != NULL)
        munmap((void *)(uintptr_t)plan->bytes, plan->count);
    *plan = (firn_host_plan){0};
}
