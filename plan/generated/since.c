/* What came with which minor version of the format, as data for plan/needs.c. Host only.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#include "plan/generated/since.h"

const firn_since_mark firn_since_marks[] = {
    {0, 0, 0, 0, 0, 0}, /* the end */
};
