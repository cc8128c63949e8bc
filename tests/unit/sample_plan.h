/* A plan in which every field of the schema is given, with a value that is not its default. It obeys the schema and
 * means nothing. For tests of the format. */
#ifndef FIRN_TESTS_SAMPLE_PLAN_H
#define FIRN_TESTS_SAMPLE_PLAN_H

#include "plan/generated/writer.h"

extern const firn_native_plan sample_plan;

#endif
