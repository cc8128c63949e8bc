/* The peaks of the instructions that multiply half types, of those CPUs that have any: loops that do nothing else. Each
 * runs in a process of its own, so that a CPU or a system that announces an instruction and does not run it costs only
 * this figure. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define SUMS   12     /* independent sums in registers */
#define ROUNDS 200000 /* of a loop: some milliseconds */

#if defined(__x86_64__)
#    include <immintrin.h>

/* The registers of the sums are named because compilers keep an array of them in memory, where each would wait for its
 * last store. Not all compilers know the types of the two instructions outside of a file that is compiled for them. All
 * numbers are 0.5 in the half type. */
#    define SUM_REGISTERS "16,17,18,19,20,21,22,23,24,25,26,27"
#    define LOOP(name, instruction, half)                                                                              \
        __attribute__((target("avx512f"))) static void name(size_t rounds) {                                           \
            __asm__ volatile("vpbroadcastd %1, %%zmm31\n"                                                              \
                             ".irp sum," SUM_REGISTERS "\n vmovdqa64 %%zmm31, %%zmm\\sum\n .endr\n"                    \
                             "1:\n"                                                                                    \
                             ".irp sum," SUM_REGISTERS "\n " instruction " %%zmm31, %%zmm31, %%zmm\\sum\n .endr\n"     \
                             "dec %0\n jnz 1b"                                                                         \
                             : "+r"(rounds)                                                                            \
                             : "r"((half) << 16 | (half))                                                              \
                             : "cc", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",  \
                               "xmm25", "xmm26", "xmm27", "xmm31");                                                    \
        }
LOOP(multiply_pairs, "vdpbf16ps", 0x3f00)
LOOP(multiply_float16, "vfmadd213ph", 0x3800)

/* Four sums of 16 by 16, as the kernels have them. */
__attribute__((target("amx-tile,amx-bf16"))) static void multiply_tiles(size_t rounds) {
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&tiles);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (size_t round = 0; round < rounds; round++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
}
#elif defined(__aarch64__)
#    include <arm_neon.h>

static volatile uint16_t sink;

#    ifdef __clang__
#        define FLOAT16 "fullfp16"
#    else
#        define FLOAT16 "+fp16"
#    endif

/* All numbers are 0.5. Two registers for each sum, because some cores have four units. */
__attribute__((target(FLOAT16))) static void multiply_float16(size_t rounds) {
    uint16x8_t low[SUMS], high[SUMS];
    const uint16x8_t factor = vdupq_n_u16(0x3800);
    for (int i = 0; i < SUMS; i++)
        low[i] = high[i] = factor;
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < SUMS; i++) {
            __asm__("fmla %0.8h, %1.8h, %1.8h" : "+w"(low[i]) : "w"(factor));
            __asm__("fmla %0.8h, %1.8h, %1.8h" : "+w"(high[i]) : "w"(factor));
        }
    for (int i = 0; i < SUMS; i++)
        low[0] = veorq_u16(veorq_u16(low[0], low[i]), high[i]);
    sink = vgetq_lane_u16(low[0], 0);
}
#endif

/* set: the kernel set that uses the instruction; choosing it asks the system for it. operations: of a round. */
static const struct {
    const char *name, *feature, *set;
    void (*loop)(size_t rounds);
    double operations;
} engines[] = {
#if defined(__x86_64__)
    {"tdpbf16ps", "amx_bf16", "amx", multiply_tiles, 4 * 2.0 * 16 * 16 * 32},
    {"vdpbf16ps", "avx512_bf16", "avx512bf16", multiply_pairs, SUMS * 2.0 * 32},
    {"vfmadd213ph", "avx512_fp16", "avx512fp16", multiply_float16, SUMS * 2.0 * 32},
#elif defined(__aarch64__)
    {"fmla.8h", "asimdhp", "neonfp16", multiply_float16, SUMS * 2.0 * 16},
#else
    {NULL, NULL, NULL, NULL, 0.0},
#endif
};
enum { ENGINES = sizeof engines / sizeof engines[0] };

static bool has(size_t engine) {
    return engines[engine].name != NULL && strstr(bench_machine_of()->features, engines[engine].feature) != NULL &&
           firn_kernel_set_choose(engines[engine].set) != NULL;
}

/* Writes the rates into the pipe. The first call warms up. */
static void measure(size_t engine, int output) {
    double rates[2];
    for (int i = 0; i < 2; i++) {
        const unsigned threads = i == 0 ? 1 : bench_settings.threads;
        (void)bench_loop_seconds(threads, engines[engine].loop, ROUNDS);
        rates[i] =
            engines[engine].operations * ROUNDS * threads / bench_loop_seconds(threads, engines[engine].loop, ROUNDS);
    }
    _exit(write(output, rates, sizeof rates) == (ssize_t)sizeof rates ? 0 : 1);
}

static bool read_rates(size_t engine, bench_engine *it) {
    int ends[2];
    double rates[2];
    if (pipe(ends) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0)
        measure(engine, ends[1]);
    close(ends[1]);
    const bool good = child > 0 && read(ends[0], rates, sizeof rates) == (ssize_t)sizeof rates;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (good)
        *it = (bench_engine){engines[engine].name, rates[0], rates[1]};
    return good;
}

unsigned bench_engines(bench_engine list[BENCH_ENGINES_MAX]) {
    unsigned count = 0;
    for (size_t engine = 0; engine < ENGINES && count < BENCH_ENGINES_MAX; engine++)
        if (has(engine) && read_rates(engine, &list[count]))
            count++;
    return count;
}
