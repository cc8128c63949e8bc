/* All kinds of schedules: the table of a build that leaves none out. A firmware's own table takes its place
 * (schedules/parts.h), so nothing else may be defined here. Freestanding. */
#include <stddef.h>

#include "schedules/parts.h"

static const firn_schedule_part *const all[FIRN_SCHEDULE_KINDS] = {
    NULL,
    [FIRN_SCHEDULE_LINEAR] = &firn_schedule_part_linear,
    [FIRN_SCHEDULE_COSINE] = &firn_schedule_part_cosine,
    [FIRN_SCHEDULE_SEQUENTIAL] = &firn_schedule_part_sequential,
    [FIRN_SCHEDULE_POLYNOMIAL] = &firn_schedule_part_polynomial,
    [FIRN_SCHEDULE_EXPONENTIAL] = &firn_schedule_part_exponential,
    [FIRN_SCHEDULE_INVERSE_TIME] = &firn_schedule_part_inverse_time,
    [FIRN_SCHEDULE_INVERSE_SQUARE_ROOT] = &firn_schedule_part_inverse_square_root,
    [FIRN_SCHEDULE_COSINE_PERIODIC] = &firn_schedule_part_cosine_periodic,
    [FIRN_SCHEDULE_MULTI_STEP] = &firn_schedule_part_multi_step,
    [FIRN_SCHEDULE_PIECEWISE] = &firn_schedule_part_piecewise,
    [FIRN_SCHEDULE_TABLE] = &firn_schedule_part_table,
    [FIRN_SCHEDULE_EXPRESSION] = &firn_schedule_part_expression,
    [FIRN_SCHEDULE_CYCLIC] = &firn_schedule_part_cyclic,
    [FIRN_SCHEDULE_ONE_CYCLE] = &firn_schedule_part_one_cycle,
    [FIRN_SCHEDULE_PRODUCT] = &firn_schedule_part_product,
};
const firn_schedule_part *const *const firn_schedule_parts = all;
