/* The minor version of the format: the highest that a mark in the schema or in the table of ops names. Freestanding.
 * Written by plan/generate from plan/plan.fbs and plan/ops.def; change that file instead. */
/* clang-format off */
#ifndef FIRN_PLAN_GENERATED_VERSION_H
#define FIRN_PLAN_GENERATED_VERSION_H

#define FIRN_FORMAT_MINOR 3u

#endif
