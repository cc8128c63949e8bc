/* What came with which minor version of the format, as data for plan/needs.c. Host only.
 * Written by plan/generate from plan/plan.fbs; change that file instead. */
/* clang-format off */
#include "plan/generated/since.h"

const firn_since_mark firn_since_marks[] = {
    {FIRN_SINCE_VALUE, 0, 1, 0, 1, 3}, /* truncated_normal of InitialiserRule */
    {FIRN_SINCE_FIELD, 7, 1, 0, 0, 0}, /* Initialiser.low */
    {FIRN_SINCE_FIELD, 8, 1, 0, 0, 0}, /* Initialiser.high */
    {FIRN_SINCE_VALUE, 32, 2, 0, 1, 5}, /* count of PhaseKind */
    {FIRN_SINCE_VALUE, 35, 3, 0, 1, 0}, /* tree of MicroBatchOrder */
    {FIRN_SINCE_LIMIT, 42, 2, 0, 0, 6}, /* Plan.phases */
    {FIRN_SINCE_FIELD, 61, 2, 0, 0, 0}, /* Plan.losses_added */
    {FIRN_SINCE_FIELD, 62, 3, 0, 0, 0}, /* Plan.tokenizer */
    {FIRN_SINCE_VALUE, 66, 3, 0, 1, 1}, /* short of EpochEnd */
    {FIRN_SINCE_FIELD, 74, 3, 0, 0, 0}, /* Sampler.counted */
    {0, 0, 0, 0, 0, 0}, /* the end */
};
