/* Tests the choice of --target host (compiler/job/host.h) for CPUs that this machine is not, and the reasons why a
 * target changes nothing (compiler/job/targets.h). */
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/job/host.h"
#include "plan/ops.h"
#include "tests/unit/support_test.h"

/* --- CPUs --------------------------------------------------------------------------------------------------------- */

#define AVX512  (1U << 16 | 1U << 17 | 1U << 30 | 1U << 31) /* leaf 7.0, ebx: F, DQ, BW, VL */
#define TILES   (1U << 22 | 1U << 24)                       /* leaf 7.0, edx: AMX-BF16, AMX-TILE */
#define FLOAT16 (1U << 23)                                  /* leaf 7.0, edx: AVX512-FP16 */
#define PAIRS   (1U << 5)                                   /* leaf 7.1, eax: AVX512_BF16 */

#define STATES_AVX    0x7U     /* x87, SSE, AVX */
#define STATES_AVX512 0xe7U    /* and the masks and the registers of 512 bits */
#define STATES_TILES  0x600e7U /* and the tiles */

#define INTEL                                                                                                          \
    { .ebx = 0x756e6547, .edx = 0x49656e69, .ecx = 0x6c65746e }
#define AMD                                                                                                            \
    { .ebx = 0x68747541, .edx = 0x69746e65, .ecx = 0x444d4163 }

static const firnc_cpu none = {0};
static const firnc_cpu haswell = {.vendor = INTEL, .version = {.eax = 0x306c3}, .states = STATES_AVX};
static const firnc_cpu cooper_lake = {.vendor = INTEL,
                                      .version = {.eax = 0x5065b},
                                      .features = {.ebx = AVX512},
                                      .more_features = {.eax = PAIRS},
                                      .states = STATES_AVX512};
static const firnc_cpu sapphire_rapids = {.vendor = INTEL,
                                          .version = {.eax = 0x806f8},
                                          .features = {.ebx = AVX512, .edx = TILES | FLOAT16},
                                          .more_features = {.eax = PAIRS},
                                          .states = STATES_TILES};
static const firnc_cpu zen_4 = {.vendor = AMD,
                                .version = {.eax = 0xa60f12},
                                .features = {.ebx = AVX512},
                                .more_features = {.eax = PAIRS},
                                .states = STATES_AVX512};
static const firnc_cpu zen_5 = {.vendor = AMD,
                                .version = {.eax = 0xb40f40},
                                .features = {.ebx = AVX512},
                                .more_features = {.eax = PAIRS},
                                .states = STATES_AVX512};

/* AT_HWCAP of a Raspberry Pi 4 (fp, asimd, evtstrm, crc32, cpuid) and of a Pi 5 (with aes to sha2, atomics, fphp,
 * asimdhp, asimdrdm, lrcpc and asimddp). */
static const firnc_cpu cortex_a72 = {.aarch64 = 0x887};
static const firnc_cpu cortex_a76 = {.aarch64 = 0x119fff};

static firnc_cpu with_states(firnc_cpu cpu, uint64_t states) {
    cpu.states = states;
    return cpu;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

static void expect(const firnc_cpu *cpu, firn_type half, const char *target, const char *part_of_why) {
    const firnc_precision precision = {.mixed = true, .half = half, .level = 1};
    const char *why;
    assert_string_equal(firnc_host_target(cpu, &precision, &why)->name, target);
    assert_non_null(strstr(why, part_of_why));
}

TEST(each_half_type_on_each_cpu) {
    expect(&none, FIRN_BFLOAT16, "portable", "no products of bfloat16");
    expect(&haswell, FIRN_FLOAT16, "portable", "no products of float16");
    expect(&cooper_lake, FIRN_BFLOAT16, "portable", "not known to be faster");
    expect(&cooper_lake, FIRN_FLOAT16, "portable", "no products of float16");
    expect(&sapphire_rapids, FIRN_BFLOAT16, "amx-bf16", "AMX-BF16");
    expect(&sapphire_rapids, FIRN_FLOAT16, "avx512fp16", "AVX512-FP16");
    expect(&sapphire_rapids, FIRN_CBFLOAT16, "portable", "no products of cbfloat16");
    expect(&zen_4, FIRN_BFLOAT16, "portable", "not known to be faster");
    expect(&zen_5, FIRN_BFLOAT16, "avx512-bf16", "twice the rate");
    expect(&zen_5, FIRN_FLOAT16, "portable", "no products of float16");
    expect(&cortex_a72, FIRN_FLOAT16, "portable", "no products of float16");
    expect(&cortex_a76, FIRN_FLOAT16, "avx512fp16", "FEAT_FP16");
    expect(&cortex_a76, FIRN_BFLOAT16, "portable", "no products of bfloat16");
    expect(&cortex_a76, FIRN_CBFLOAT16, "portable", "no products of cbfloat16");
}

/* Instructions whose registers the operating system does not save cannot be used. */
TEST(states_decide) {
    firnc_cpu cpu = with_states(sapphire_rapids, STATES_AVX512);
    expect(&cpu, FIRN_BFLOAT16, "portable", "not known to be faster"); /* the pairs are left, and Intel's are slow */
    expect(&cpu, FIRN_FLOAT16, "avx512fp16", "AVX512-FP16");
    cpu = with_states(sapphire_rapids, STATES_TILES & ~0x20000U); /* the tiles without their configuration */
    expect(&cpu, FIRN_BFLOAT16, "portable", "not known to be faster");
    cpu = with_states(sapphire_rapids, STATES_AVX);
    expect(&cpu, FIRN_BFLOAT16, "portable", "no products of bfloat16");
    expect(&cpu, FIRN_FLOAT16, "portable", "no products of float16");
    cpu = with_states(zen_5, 0);
    expect(&cpu, FIRN_BFLOAT16, "portable", "no products of bfloat16");
}

TEST(each_feature_is_needed) {
    for (uint32_t bit = 0; bit < 64; bit++) {
        const firnc_cpu cpu = {.aarch64 = cortex_a76.aarch64 & ~(UINT64_C(1) << bit)};
        expect(&cpu, FIRN_FLOAT16, bit == 9 || bit == 10 ? "portable" : "avx512fp16", "float16");
    }
    for (uint32_t bit = 0; bit < 32; bit++) {
        firnc_cpu cpu = sapphire_rapids;
        cpu.features.edx &= ~(1U << bit);
        const bool lacks_tiles = (TILES >> bit & 1) != 0, lacks_float16 = (FLOAT16 >> bit & 1) != 0;
        expect(&cpu, FIRN_BFLOAT16, lacks_tiles ? "portable" : "amx-bf16", "bfloat16");
        expect(&cpu, FIRN_FLOAT16, lacks_float16 ? "portable" : "avx512fp16", "float16");
        cpu = sapphire_rapids;
        cpu.features.ebx &= ~(1U << bit);
        expect(&cpu, FIRN_BFLOAT16, (AVX512 >> bit & 1) != 0 ? "portable" : "amx-bf16", "bfloat16");
        cpu = zen_5;
        cpu.more_features.eax &= ~(1U << bit);
        expect(&cpu, FIRN_BFLOAT16, (PAIRS >> bit & 1) != 0 ? "portable" : "avx512-bf16", "bfloat16");
    }
}

/* The vendor and the whole family decide whether pairs are fast. */
TEST(pairs_are_fast_on_one_family) {
    firnc_cpu cpu = zen_5;
    for (uint32_t extended = 0; extended < 256; extended++) {
        cpu.version.eax = 0xf00U | extended << 20;
        expect(&cpu, FIRN_BFLOAT16, extended == 0xb ? "avx512-bf16" : "portable", "bfloat16");
    }
    cpu = zen_5;
    cpu.version.eax = 0xb00e40; /* the extension counts only for family 15 */
    expect(&cpu, FIRN_BFLOAT16, "portable", "not known");
    cpu = zen_5;
    cpu.vendor = (firnc_cpuid)INTEL;
    expect(&cpu, FIRN_BFLOAT16, "portable", "not known");
}

TEST(precisions_without_a_choice) {
    const char *why;
    firnc_precision precision = {.mixed = false, .half = FIRN_BFLOAT16, .level = 1};
    assert_string_equal(firnc_host_target(&sapphire_rapids, &precision, &why)->name, "portable");
    assert_non_null(strstr(why, "float32"));
    precision.mixed = precision.emulate = true;
    assert_string_equal(firnc_host_target(&sapphire_rapids, &precision, &why)->name, "portable");
    assert_non_null(strstr(why, "emulate"));
}

/* Whatever this CPU says, the answer is a target. */
TEST(this_machine) {
    const firnc_cpu cpu = firnc_cpu_read();
    static const firn_type halves[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (size_t i = 0; i < 3; i++) {
        const firnc_precision precision = {.mixed = true, .half = halves[i], .level = 1};
        const char *why;
        assert_non_null(firnc_host_target(&cpu, &precision, &why));
        assert_non_null(why);
    }
#if defined(__x86_64__) || defined(__i386__)
    assert_int_not_equal(cpu.vendor.ebx, 0);
    if (__builtin_cpu_supports("avx2"))
        assert_int_equal(cpu.states & STATES_AVX, STATES_AVX);
#elif defined(__aarch64__)
    assert_int_equal(cpu.aarch64 & 3, 3); /* floating point and vectors */
#endif
}

/* --- names and idle targets --------------------------------------------------------------------------------------- */

/* The words of the options are the names of the table, and "host". */
TEST(the_options_name_every_target) {
    const char *words = "";
    for (uint32_t i = 0; firnc_target_at(i) != NULL; i++) {
        words = firnc_format("%s%s|", words, firnc_target_at(i)->name);
        assert_true(firnc_target_known(firnc_target_at(i)->name));
    }
    assert_string_equal(firnc_format("%s%s", words, FIRNC_HOST), FIRNC_TARGET_WORDS);
    assert_true(firnc_target_known(FIRNC_HOST));
    assert_null(firnc_target_find(FIRNC_HOST)); /* a plan never names it */
    assert_false(firnc_target_known("amx"));
}

static void expect_idle(const char *target, const firnc_precision *precision, const char *part) {
    const char *idle = firnc_target_idle(firnc_target_find(target), precision);
    if (part == NULL) {
        assert_null(idle);
        return;
    }
    assert_non_null(idle);
    assert_non_null(strstr(idle, part));
}

TEST(idle_targets) {
    firnc_precision p = {.mixed = true, .half = FIRN_BFLOAT16, .level = 0};
    expect_idle("portable", &p, NULL);
    expect_idle("amx-bf16", &p, NULL); /* products have the engine's order at level 0, too */
    expect_idle("avx512-bf16", &p, NULL);
    expect_idle("avx512fp16", &p, "computes bfloat16 as portable");
    p.half = FIRN_FLOAT16;
    expect_idle("amx-bf16", &p, "computes float16 as portable");
    expect_idle("avx512fp16", &p, "POL 0");
    const firnc_pol_pattern backward = {.pattern = "*", .pol = {.level = FIRNC_UNSET, .bwd_level = 1}};
    p.patterns = &backward;
    p.pattern_count = 1;
    expect_idle("armv8.1m", &p, NULL);
    p.pattern_count = 0;
    p.level = 1;
    expect_idle("armv8.1m", &p, NULL);
    p.emulate = true;
    expect_idle("avx512fp16", &p, "emulate");
    expect_idle("portable", &p, NULL);
    p.mixed = false;
    expect_idle("avx512fp16", &p, "float32");
}
