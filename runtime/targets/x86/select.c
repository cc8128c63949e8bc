/* Picks a kernel set on x86. Both sets are compiled from the same portable sources and give the same bits; the one that
 * may use fused multiply-add as an instruction is many times faster. No kernel may be written here. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"

firn_kernel firn_kernel_find_plain(uint16_t code);
firn_kernel firn_kernel_find_fma(uint16_t code);

/* FIRN_KERNELS=plain in the environment asks for the plain set, to compare the two. */
static bool fma_is_wanted(void) {
    const char *asked = getenv("FIRN_KERNELS");
    return (asked == NULL || strcmp(asked, "plain") != 0) && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
}

const firn_kernel_set *firn_kernel_set_choose(void) {
    static const firn_kernel_set plain = {.name = "portable", .find = firn_kernel_find_plain};
    static const firn_kernel_set fma = {.name = "portable, avx2 and fma", .find = firn_kernel_find_fma};
    return fma_is_wanted() ? &fma : &plain;
}
