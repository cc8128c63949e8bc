/* Selects a kernel set on x86. All sets give the same bits. plain and fma are the portable sources, which run many
 * times faster if fused multiply-add may be an instruction. avx2 and avx512 are the portable sources and the kernels of
 * runtime/kernels/vector. avx512fp16 replaces the kernels of avx512 for linear layers, matmul and attention with
 * float16 sums in chunks. amx and avx512bf16 have the products, the attention, the convolutions and the recurrence of a
 * matrix engine and take all other kernels from avx512fp16, or from avx512 if the CPU lacks it; a set whose engine sums
 * in another order than NUMERICS.md (engine_probe.h) cannot be run. No kernel may be written here. */
#define _DEFAULT_SOURCE /* syscall */
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) && defined(__x86_64__)
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

#include "runtime/targets/x86/engine_probe.h"

firn_kernel_choice firn_kernel_find_plain(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_fma(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx2(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx512(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx512fp16(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_amx(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_avx512bf16(uint16_t op, const firn_reduction *reduction);

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

/* Compares an engine with the portable kernels, once in a process: its CPU remains the same. Threads that ask at the
 * same time find the same. Compiled with fused multiply-adds, which a CPU with AVX-512 has, the portable kernels need a
 * small part of the time. */
static bool agrees_once(atomic_int *found, firn_find_kernel engine, uint8_t kind) {
    enum { UNKNOWN, AGREES, DIFFERS };
    int known = atomic_load_explicit(found, memory_order_relaxed);
    if (known == UNKNOWN) {
        known = firn_engine_agrees(engine, firn_kernel_find_fma, kind) ? AGREES : DIFFERS;
        atomic_store_explicit(found, known, memory_order_relaxed);
    }
    return known == AGREES;
}

static bool has_avx512bf16(void) {
    static atomic_int found;
    unsigned a, b, c, d;
    return has_avx512() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & bit_AVX512BF16) != 0 &&
           agrees_once(&found, firn_kernel_find_avx512bf16, FIRN_REDUCTION_PAIRS);
}

/* The instruction has half the speed of emulation on the CPUs of Intel that have it, and twice its speed on AMD's
 * Zen 5. Others are taken to be like the latter. Whether there is the instruction, is_possible says. */
static bool is_avx512bf16_fast(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) != 0 && b != signature_INTEL_ebx;
}

/* Linux keeps the tiles of a process only after it has asked, once for all its threads; asking again changes nothing.
 */
static bool may_use_tiles(void) {
#if defined(__linux__) && defined(__x86_64__)
    enum { REQUEST = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* The set also uses the conversion of AVX512_BF16. The operating system must save the tiles and their configuration:
 * bits 17 and 18 of XCR0. */
static bool has_amx(void) {
    enum { BF16 = 1 << 22, TILE = 1 << 24, SAVED = 3 << 17 };
    static atomic_int found;
    unsigned a, b, c, d, low, high;
    if (!has_avx512() || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0 || (a & bit_AVX512BF16) == 0 ||
        __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & BF16) == 0 || (d & TILE) == 0)
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & SAVED) == SAVED && may_use_tiles() &&
           agrees_once(&found, firn_kernel_find_amx, FIRN_REDUCTION_EVEN_ODD_BLOCKS);
}

static bool has_amx_and_fp16(void) {
    return has_avx512fp16() && has_amx();
}

static bool has_avx512bf16_and_fp16(void) {
    return has_avx512fp16() && has_avx512bf16();
}

static bool has_nothing_special(void) {
    return true;
}

/* Returns the kernel of the first set, or that of the other if the first has none. */
static firn_kernel_choice find_in(firn_find_kernel first, firn_find_kernel other, uint16_t op,
                                  const firn_reduction *reduction) {
    const firn_kernel_choice choice = first(op, reduction);
    return choice.run != NULL ? choice : other(op, reduction);
}

static firn_kernel_choice find_amx(uint16_t op, const firn_reduction *reduction) {
    return find_in(firn_kernel_find_amx, firn_kernel_find_avx512, op, reduction);
}

static firn_kernel_choice find_amx_and_fp16(uint16_t op, const firn_reduction *reduction) {
    return find_in(firn_kernel_find_amx, firn_kernel_find_avx512fp16, op, reduction);
}

static firn_kernel_choice find_avx512bf16(uint16_t op, const firn_reduction *reduction) {
    return find_in(firn_kernel_find_avx512bf16, firn_kernel_find_avx512, op, reduction);
}

static firn_kernel_choice find_avx512bf16_and_fp16(uint16_t op, const firn_reduction *reduction) {
    return find_in(firn_kernel_find_avx512bf16, firn_kernel_find_avx512fp16, op, reduction);
}

/* The sets with their names, the fastest first; of one name, the first that is possible. */
static const struct {
    const char *name;
    bool (*is_possible)(void);
    firn_kernel_set set;
    bool (*is_fast)(void); /* NULL, or false: it must be named to be used */
} sets[] = {
    {"amx", has_amx_and_fp16, {.name = "amx, avx512fp16", .find = find_amx_and_fp16, .has_scratch = true}, NULL},
    {"amx", has_amx, {.name = "amx", .find = find_amx, .has_scratch = true}, NULL},
    {"avx512bf16",
     has_avx512bf16_and_fp16,
     {.name = "avx512bf16, avx512fp16", .find = find_avx512bf16_and_fp16, .has_scratch = true},
     is_avx512bf16_fast},
    {"avx512bf16",
     has_avx512bf16,
     {.name = "avx512bf16", .find = find_avx512bf16, .has_scratch = true},
     is_avx512bf16_fast},
    {"avx512fp16",
     has_avx512fp16,
     {.name = "avx512fp16", .find = firn_kernel_find_avx512fp16, .has_scratch = true},
     NULL},
    {"avx512", has_avx512, {.name = "avx512", .find = firn_kernel_find_avx512, .has_scratch = true}, NULL},
    {"avx2", has_avx2, {.name = "avx2", .find = firn_kernel_find_avx2, .has_scratch = true}, NULL},
    {"fma", has_fma, {.name = "portable, avx2 and fma", .find = firn_kernel_find_fma}, NULL},
    {"plain", has_nothing_special, {.name = "portable", .find = firn_kernel_find_plain}, NULL},
};

/* Returns the set of that name or, for NULL, the first that this CPU can run fast. */
static const firn_kernel_set *find_set(const char *name) {
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if ((name == NULL ? sets[i].is_fast == NULL || sets[i].is_fast() : strcmp(name, sets[i].name) == 0) &&
            sets[i].is_possible())
            return &sets[i].set;
    return NULL;
}

/* If no name is given, the environment variable FIRN_KERNELS may select a set, for comparisons. */
const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    const char *asked = name != NULL ? name : getenv("FIRN_KERNELS");
    return find_set(name == NULL && asked != NULL && *asked == '\0' ? NULL : asked);
}
