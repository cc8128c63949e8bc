/* Selects a kernel set on AArch64. Both sets give the same bits. plain is the portable sources, for which the compiler
 * already uses NEON and fused multiply-add; neon has the kernels of runtime/kernels/vector besides. Every AArch64 CPU
 * can run both. No kernel may be written here. */
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"

firn_kernel_choice firn_kernel_find_plain(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_neon(uint16_t op, const firn_reduction *reduction);

/* The fastest first. */
static const struct {
    const char *name;
    firn_kernel_set set;
} sets[] = {
    {"neon", {.name = "neon", .find = firn_kernel_find_neon, .has_scratch = true}},
    {"plain", {.name = "portable", .find = firn_kernel_find_plain}},
};

/* If no name is given, the environment variable FIRN_KERNELS may select a set, for comparisons. */
const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    const char *asked = name != NULL ? name : getenv("FIRN_KERNELS");
    if (asked == NULL || (name == NULL && *asked == '\0'))
        return &sets[0].set;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(asked, sets[i].name) == 0)
            return &sets[i].set;
    return NULL;
}
