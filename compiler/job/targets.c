/* The table of targets (compiler/job/targets.h). To add a target, add a row, and its name to the
 * options --target of compiler/commands/compile.c and compiler/studies/study.c and in compiler/PRECISION.md. */
#include "compiler/job/targets.h"

#include <stddef.h>
#include <string.h>

#include "plan/ops.h"

#define HALF(type) (1u << (type))

static const firnc_target targets[] = {
    {"portable", 0},                    /* any machine with binary32 arithmetic */
    {"avx512fp16", HALF(FIRN_FLOAT16)}, /* x86-64 with AVX-512-FP16 */
    {"armv8.1m", HALF(FIRN_FLOAT16)},   /* Armv8.1-M with half-precision floats (Cortex-M55, M85) */
};

const firnc_target *firnc_target_at(uint32_t position) {
    return position < sizeof targets / sizeof targets[0] ? &targets[position] : NULL;
}

const firnc_target *firnc_target_find(const char *name) {
    for (uint32_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

bool firnc_target_multiplies(const firnc_target *target, uint8_t type) {
    return firn_type_is_half(type) && (target->native_halves & HALF(type)) != 0;
}
