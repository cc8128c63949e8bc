/* Selects a kernel set on AArch64. All sets give the same bits. plain is the portable sources, for which the compiler
 * already uses NEON and fused multiply-add; neon has the kernels of runtime/kernels/vector besides. Every AArch64 CPU
 * can run both. neonfp16 replaces the kernels of neon for linear layers, matmul and attention with float16 sums in
 * chunks, on CPUs with FEAT_FP16. No kernel may be written here. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#    include <sys/auxv.h>
#endif

#include "runtime/kernels/kernels.h"

firn_kernel_choice firn_kernel_find_plain(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_neon(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_neonfp16(uint16_t op, const firn_reduction *reduction);

/* Linux says by two bits that float16 is computed, in scalars (HWCAP_FPHP) and in vectors (HWCAP_ASIMDHP), on every
 * core. */
static bool has_float16(void) {
#ifdef __linux__
    enum { BOTH = 1 << 9 | 1 << 10 };
    return (getauxval(AT_HWCAP) & BOTH) == BOTH;
#else
    return false;
#endif
}

static bool has_nothing_special(void) {
    return true;
}

/* The fastest first. */
static const struct {
    const char *name;
    bool (*is_possible)(void);
    firn_kernel_set set;
} sets[] = {
    {"neonfp16", has_float16, {.name = "neonfp16", .find = firn_kernel_find_neonfp16, .has_scratch = true}},
    {"neon", has_nothing_special, {.name = "neon", .find = firn_kernel_find_neon, .has_scratch = true}},
    {"plain", has_nothing_special, {.name = "portable", .find = firn_kernel_find_plain}},
};

/* Returns the set of that name or, for NULL, the first, if this CPU can run it. */
static const firn_kernel_set *find_set(const char *name) {
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if ((name == NULL || strcmp(name, sets[i].name) == 0) && sets[i].is_possible())
            return &sets[i].set;
    return NULL;
}

/* If no name is given, the environment variable FIRN_KERNELS may select a set, for comparisons. */
const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    const char *asked = name != NULL ? name : getenv("FIRN_KERNELS");
    return find_set(name == NULL && asked != NULL && *asked == '\0' ? NULL : asked);
}
