/* All half types: the table of a build that leaves none out. A firmware's own table takes its place
 * (runtime/numerics/half_parts.h), so nothing else may be defined here. Freestanding. */
#include "runtime/numerics/half_parts.h"

static const firn_half_part *const all[FIRN_HALF_TYPES] = {&firn_half_part_float16, &firn_half_part_bfloat16,
                                                           &firn_half_part_cbfloat16};
const firn_half_part *const *const firn_half_parts = all;
