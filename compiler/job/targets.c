/* The table of targets (compiler/job/targets.h). To add a target, add a row, and its name to FIRNC_TARGET_WORDS in
 * compiler/job/host.h and to compiler/PRECISION.md, whose table is printed from here. */
#include "compiler/job/targets.h"

#include <stddef.h>
#include <string.h>

#include "compiler/base/text.h"
#include "plan/ops.h"

#define HALF(type) (1u << (type))

static const firnc_target targets[] = {
    {.name = "portable"},                                        /* any machine with binary32 arithmetic */
    {.name = "avx512fp16", .native_halves = HALF(FIRN_FLOAT16)}, /* x86-64 with AVX512-FP16 */
    {.name = "armv8.1m", .native_halves = HALF(FIRN_FLOAT16)},   /* Cortex-M55, M85 with half-precision floats */
    {.name = "amx-bf16",                                         /* x86-64 with AMX-BF16: TDPBF16PS */
     .engine = {.reduction = FIRN_REDUCTION_EVEN_ODD_BLOCKS, .type = FIRN_BFLOAT16, .terms = 32}},
    {.name = "avx512-bf16", /* x86-64 with AVX512_BF16: VDPBF16PS */
     .engine = {.reduction = FIRN_REDUCTION_PAIRS, .type = FIRN_BFLOAT16, .terms = 2}},
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

const char *firnc_target_names(void) {
    const char *text = targets[0].name;
    for (uint32_t i = 1; i < sizeof targets / sizeof targets[0]; i++)
        text = firnc_format("%s, %s", text, targets[i].name);
    return text;
}

static bool has_a_level(const firnc_precision *precision) {
    bool has = precision->level > 0;
    for (uint32_t i = 0; i < precision->pattern_count; i++)
        has = has || precision->patterns[i].pol.level > 0 || precision->patterns[i].pol.bwd_level > 0;
    return has;
}

const char *firnc_target_idle(const firnc_target *target, const firnc_precision *precision) {
    const uint8_t half = (uint8_t)precision->half;
    if (target == &targets[0])
        return NULL;
    if (!precision->mixed)
        return "the recipe computes in float32";
    if (precision->emulate)
        return "pol_lowering is emulate, which is the same for every target";
    if (firnc_target_engine(target, half) != NULL)
        return NULL;
    if (!firnc_target_multiplies(target, half))
        return firnc_format("it computes %s as portable does", firn_type_name(half));
    return has_a_level(precision) ? NULL : "POL 0 adds everything up in float32";
}

bool firnc_target_multiplies(const firnc_target *target, uint8_t type) {
    return firn_type_is_half(type) && (target->native_halves & HALF(type)) != 0;
}

const firnc_engine *firnc_target_engine(const firnc_target *target, uint8_t type) {
    const firnc_engine *engine = &target->engine;
    return engine->reduction != FIRN_REDUCTION_F32 && engine->type == type ? engine : NULL;
}
