/* A plan in which every field of the schema is present and differs from its default. It obeys the schema, but its
 * contents make no sense as a plan. For tests of the format. */
#ifndef FIRN_TESTS_SAMPLE_PLAN_H
#define FIRN_TESTS_SAMPLE_PLAN_H

#include "plan/generated/writer.h"

extern const firn_native_plan sample_plan;

#endif
