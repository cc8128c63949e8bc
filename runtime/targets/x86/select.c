/* Picks a kernel set on x86. All of them give the same bits: two are compiled from the same portable sources, of which
 * the one that may use fused multiply-add as an instruction is many times faster, and the third adds the products of
 * runtime/kernels/x86. No kernel may be written here. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"

firn_kernel firn_kernel_find_plain(uint16_t code);
firn_kernel firn_kernel_find_fma(uint16_t code);
firn_kernel firn_kernel_find_avx512(uint16_t code);

static bool has_fma(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* float16 is converted with instructions of AVX-512F itself. */
static bool has_avx512(void) {
    return has_fma() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

/* FIRN_KERNELS=plain, fma or avx512 in the environment asks for a set, to compare them; one that this CPU cannot run is
 * not taken. */
const firn_kernel_set *firn_kernel_set_choose(void) {
    static const firn_kernel_set plain = {.name = "portable", .find = firn_kernel_find_plain};
    static const firn_kernel_set fma = {.name = "portable, avx2 and fma", .find = firn_kernel_find_fma};
    static const firn_kernel_set avx512 = {.name = "avx512", .find = firn_kernel_find_avx512};
    const char *asked = getenv("FIRN_KERNELS");
    if (asked != NULL && strcmp(asked, "plain") == 0)
        return &plain;
    if (has_avx512() && (asked == NULL || strcmp(asked, "fma") != 0))
        return &avx512;
    return has_fma() ? &fma : &plain;
}
