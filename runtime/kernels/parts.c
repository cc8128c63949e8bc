/* All portable kernels, and all rules by which they fill a tensor at first: the tables of a
 * build that leaves none out. A firmware's own tables take their place (runtime/kernels/parts.h), so nothing else may
 * be defined here. Freestanding. */
#include "runtime/kernels/parts.h"

#include "plan/generated/reader.h"

/* Each at the index that is its code. */
const firn_kernel_part firn_kernel_parts[] = {
#define FIRN_OP(name, code, ...) [code] = {code, firn_kernel_##name},
#include "plan/ops.def"
#undef FIRN_OP
};

const firn_task_body firn_linear_in_tiles = firn_linear_tiles;

const uint16_t firn_kernel_part_count = sizeof firn_kernel_parts / sizeof firn_kernel_parts[0];

const firn_initialise_rule firn_initialise_rules[FIRN_INITIALISE_RULES] = {
    [FIRN_FB_INITIALISER_RULE_NORMAL - 1] = firn_initialise_normal,
    [FIRN_FB_INITIALISER_RULE_UNIFORM - 1] = firn_initialise_uniform,
    [FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL - 1] = firn_initialise_truncated_normal};
