/* Selects a kernel set on x86. All sets give the same bits. plain and fma are the portable sources, which run many
 * times faster if fused multiply-add may be an instruction. avx2 and avx512 are the portable sources and the kernels of
 * runtime/kernels/vector. avx512fp16 replaces three kernels of avx512. No kernel may be written here. */
#include <cpuid.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"

firn_kernel_choice firn_kernel_find_plain(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_fma(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx2(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx512(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx512fp16(uint16_t op, const firn_reduction *reduction);

static bool has_fma(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Not all compilers have a name for F16C, so its CPUID bit is read directly. */
static bool has_avx2(void) {
    unsigned a, b, c, d;
    return has_fma() && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

/* AVX-512-FP16 needs no further register state from the operating system, so AVX-512 and its CPUID bit suffice. */
static bool has_avx512fp16(void) {
    unsigned a, b, c, d;
    return has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bit_AVX512FP16) != 0;
}

static bool has_nothing_special(void) {
    return true;
}

/* The sets with their names, the fastest first. */
static const struct {
    const char *name;
    bool (*is_possible)(void);
    firn_kernel_set set;
} sets[] = {
    {"avx512fp16", has_avx512fp16, {.name = "avx512fp16", .find = firn_kernel_find_avx512fp16, .has_scratch = true}},
    {"avx512", has_avx512, {.name = "avx512", .find = firn_kernel_find_avx512, .has_scratch = true}},
    {"avx2", has_avx2, {.name = "avx2", .find = firn_kernel_find_avx2, .has_scratch = true}},
    {"fma", has_fma, {.name = "portable, avx2 and fma", .find = firn_kernel_find_fma}},
    {"plain", has_nothing_special, {.name = "portable", .find = firn_kernel_find_plain}},
};

/* Returns the set of that name or, for NULL, the first that this CPU can run. */
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
