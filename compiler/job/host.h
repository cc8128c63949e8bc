/* --target host: the target whose sums the machine that compiles computes fastest. The choice is a function of what the
 * CPU says of itself, so it can be tested on any machine. The plan gets the name of the target that was chosen, never
 * "host", and a plan for any target runs on every machine. */
#ifndef FIRNC_HOST_H
#define FIRNC_HOST_H

#include "compiler/job/precision.h"
#include "compiler/job/targets.h"

#define FIRNC_HOST         "host"
#define FIRNC_TARGET_WORDS "portable|avx512fp16|armv8.1m|amx-bf16|avx512-bf16|" FIRNC_HOST

/* The registers of a leaf of CPUID. */
typedef struct firnc_cpuid {
    uint32_t eax, ebx, ecx, edx;
} firnc_cpuid;

/* What a CPU says of itself; all 0 for another kind of CPU, and for leaves that it does not have. */
typedef struct firnc_cpu {
    firnc_cpuid vendor, version, features, more_features; /* x86: the leaves 0, 1, 7.0 and 7.1 */
    uint64_t states;                                      /* x86: XCR0, the registers that the system saves */
    uint64_t aarch64;                                     /* AArch64: AT_HWCAP of Linux */
} firnc_cpu;

/* Asks the CPU that this program runs on. */
firnc_cpu firnc_cpu_read(void);

/* The target for a CPU and a precision; sets *why to a text for "TARGET: WHY". */
const firnc_target *firnc_host_target(const firnc_cpu *cpu, const firnc_precision *precision, const char **why);

/* True for "host" and the name of a target. The message for other words takes the word and firnc_target_names. */
bool firnc_target_known(const char *word);
#define FIRNC_TARGET_UNKNOWN "%s is not known; write one of %s, " FIRNC_HOST

#endif
