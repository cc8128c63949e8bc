/* What came with which minor version of the format, as data for plan/needs.c. Host only.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_SINCE_H
#define FIRN_PLAN_GENERATED_SINCE_H

#include "plan/needs.h"

extern const firn_since_mark firn_since_marks[];

#endif
