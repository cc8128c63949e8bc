/* The names of the kinds of schedules, for reports; a device needs none. Freestanding. */
#include "schedules/schedule.h"

const char *firn_schedule_name(uint16_t kind) {
    static const char *const names[FIRN_SCHEDULE_KINDS] = {
        [FIRN_SCHEDULE_CONSTANT] = "constant",
        [FIRN_SCHEDULE_LINEAR] = "linear",
        [FIRN_SCHEDULE_COSINE] = "cosine",
        [FIRN_SCHEDULE_SEQUENTIAL] = "sequential",
        [FIRN_SCHEDULE_POLYNOMIAL] = "polynomial",
        [FIRN_SCHEDULE_EXPONENTIAL] = "exponential",
        [FIRN_SCHEDULE_INVERSE_TIME] = "inverse_time",
        [FIRN_SCHEDULE_INVERSE_SQUARE_ROOT] = "inverse_square_root",
        [FIRN_SCHEDULE_COSINE_PERIODIC] = "cosine_periodic",
        [FIRN_SCHEDULE_MULTI_STEP] = "multi_step",
        [FIRN_SCHEDULE_PIECEWISE] = "piecewise",
        [FIRN_SCHEDULE_TABLE] = "table",
        [FIRN_SCHEDULE_EXPRESSION] = "expression",
        [FIRN_SCHEDULE_CYCLIC] = "cyclic",
        [FIRN_SCHEDULE_ONE_CYCLE] = "one_cycle",
        [FIRN_SCHEDULE_PRODUCT] = "product",
    };
    return kind < FIRN_SCHEDULE_KINDS ? names[kind] : "?";
}
