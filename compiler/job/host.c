/* Chooses the target for --target host (compiler/job/host.h). It knows targets and CPUs, and no kernel set: the runtime
 * chooses those by itself, where the plan runs. armv8.1m is never chosen, because no such machine runs firnc. AArch64
 * has no target of its own: avx512fp16 says what its cores compute, too, and so every CPU that multiplies float16
 * freezes the same plan. */
#include "compiler/job/host.h"

#include <string.h>

#include "compiler/base/text.h"

#if defined(__x86_64__) || defined(__i386__)
#    include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

/* --- the CPU ------------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__) || defined(__i386__)

#    define SAVES_STATES (1U << 27) /* leaf 1, ecx: XGETBV may be used */

static firnc_cpuid leaf(uint32_t number, uint32_t part) {
    firnc_cpuid l = {0};
    if (__get_cpuid_count(number, part, &l.eax, &l.ebx, &l.ecx, &l.edx) == 0)
        return (firnc_cpuid){0};
    return l;
}

static uint64_t saved_states(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

firnc_cpu firnc_cpu_read(void) {
    firnc_cpu cpu = {.vendor = leaf(0, 0), .version = leaf(1, 0), .features = leaf(7, 0)};
    if (cpu.features.eax >= 1) /* the last part of leaf 7 */
        cpu.more_features = leaf(7, 1);
    if ((cpu.version.ecx & SAVES_STATES) != 0)
        cpu.states = saved_states();
    return cpu;
}

#elif defined(__aarch64__) && defined(__linux__)

firnc_cpu firnc_cpu_read(void) {
    return (firnc_cpu){.aarch64 = getauxval(AT_HWCAP)};
}

#else

firnc_cpu firnc_cpu_read(void) {
    return (firnc_cpu){0};
}

#endif

static bool has(uint64_t set, uint64_t bits) {
    return (set & bits) == bits;
}

/* AVX512F, DQ, BW and VL, whose registers the operating system saves. */
static bool has_avx512(const firnc_cpu *cpu) {
    return has(cpu->features.ebx, 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31) && has(cpu->states, 0xe6);
}

/* AMX-TILE and AMX-BF16, whose tiles the operating system saves. */
static bool has_tiles(const firnc_cpu *cpu) {
    return has_avx512(cpu) && has(cpu->features.edx, 1U << 24 | 1U << 22) && has(cpu->states, 3U << 17);
}

static bool has_pairs(const firnc_cpu *cpu) {
    return has_avx512(cpu) && has(cpu->more_features.eax, 1U << 5);
}

static bool has_float16(const firnc_cpu *cpu) {
    return has_avx512(cpu) && has(cpu->features.edx, 1U << 23);
}

/* FEAT_FP16: HWCAP_FPHP and HWCAP_ASIMDHP. */
static bool has_arm_float16(const firnc_cpu *cpu) {
    return has(cpu->aarch64, 1U << 9 | 1U << 10);
}

static bool is_made_by(const firnc_cpu *cpu, const char vendor[12]) {
    const uint32_t words[3] = {cpu->vendor.ebx, cpu->vendor.edx, cpu->vendor.ecx};
    char said[12];
    for (uint32_t i = 0; i < sizeof said; i++)
        said[i] = (char)(words[i / 4] >> (8 * (i % 4)) & 0xff);
    return memcmp(said, vendor, sizeof said) == 0;
}

static uint32_t family_of(const firnc_cpu *cpu) {
    const uint32_t family = cpu->version.eax >> 8 & 0xf;
    return family == 0xf ? family + (cpu->version.eax >> 20 & 0xff) : family;
}

/* The CPUs on which VDPBF16PS is known to multiply faster than the fused multiply-add of float32. It has twice the rate
 * there. On Intel's CPUs it has half the rate of float32. Nothing is known of AMD's family 0x19 (Zen 4). */
static const struct {
    char vendor[13];
    uint32_t family;
} fast_pairs[] = {{"AuthenticAMD", 0x1a}}; /* Zen 5 */

static bool has_fast_pairs(const firnc_cpu *cpu) {
    for (size_t i = 0; i < sizeof fast_pairs / sizeof fast_pairs[0]; i++)
        if (has_pairs(cpu) && is_made_by(cpu, fast_pairs[i].vendor) && family_of(cpu) == fast_pairs[i].family)
            return true;
    return false;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

/* The first that applies is chosen. */
static const struct {
    const char *target;
    firn_type half;
    bool (*applies)(const firnc_cpu *cpu);
    const char *why;
} choices[] = {
    {"amx-bf16", FIRN_BFLOAT16, has_tiles, "this CPU multiplies tiles of bfloat16 (AMX-BF16)"},
    {"avx512-bf16", FIRN_BFLOAT16, has_fast_pairs,
     "this CPU multiplies pairs of bfloat16 at twice the rate of float32 (AVX512_BF16)"},
    {"portable", FIRN_BFLOAT16, has_pairs,
     "this CPU multiplies pairs of bfloat16 (AVX512_BF16), but is not known to be faster at it than at float32"},
    {"avx512fp16", FIRN_FLOAT16, has_float16, "this CPU multiplies and adds float16 (AVX512-FP16)"},
    {"avx512fp16", FIRN_FLOAT16, has_arm_float16,
     "this CPU multiplies and adds float16 (FEAT_FP16), in any sums that a plan for AVX512-FP16 has"},
};

const firnc_target *firnc_host_target(const firnc_cpu *cpu, const firnc_precision *precision, const char **why) {
    *why = NULL;
    if (!precision->mixed)
        *why = "the recipe computes in float32, which is the same for every target";
    else if (precision->emulate)
        *why = "pol_lowering is emulate, which is the same for every target";
    for (size_t i = 0; *why == NULL && i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].half == precision->half && choices[i].applies(cpu)) {
            *why = choices[i].why;
            return firnc_target_find(choices[i].target);
        }
    if (*why == NULL)
        *why = firnc_format("this CPU adds no products of %s faster than those of float32",
                            firn_type_name((uint8_t)precision->half));
    return firnc_target_find("portable");
}

bool firnc_target_known(const char *word) {
    return strcmp(word, FIRNC_HOST) == 0 || firnc_target_find(word) != NULL;
}
