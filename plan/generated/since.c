/* What came with which minor version of the format, as data for plan/needs.c. Host only.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#include "plan/generated/since.h"

const firn_since_mark firn_since_marks[] = {
    {FIRN_SINCE_VALUE, 0, 1, 0, 1, 3}, /* truncated_normal of InitialiserRule */
    {FIRN_SINCE_FIELD, 7, 1, 0, 0, 0}, /* Initialiser.low */
    {FIRN_SINCE_FIELD, 8, 1, 0, 0, 0}, /* Initialiser.high */
    {0, 0, 0, 0, 0, 0}, /* the end */
};
