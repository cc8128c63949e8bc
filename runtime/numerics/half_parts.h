/* The half types that a firmware may leave out, as a table; plan/parts.h says how. Freestanding. */
#ifndef FIRN_NUMERICS_HALF_PARTS_H
#define FIRN_NUMERICS_HALF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/ops.h"

/* Loops over elements of one half type: conversion to float32 and back; that of rows which begin `step` and `out_step`
 * elements apart, where a NaN need not become canonical; and one term of a row of sums in the type,
 * sums[i] += left * right[i]. */
typedef struct firn_half_part {
    void (*widen)(float *out, const uint16_t *in, size_t count);
    void (*narrow)(uint16_t *out, const float *in, size_t count);
    /* NULL in a build with vectors and in one for size, where widen_rows.c converts row after row */
    void (*widen_rows)(float *out, size_t out_step, const uint16_t *in, size_t step, size_t rows, size_t count);
    void (*multiply_add)(float *sums, float left, const float *right, size_t count);
} firn_half_part;

extern const firn_half_part firn_half_part_float16, firn_half_part_bfloat16, firn_half_part_cbfloat16;

/* By firn_type - FIRN_FLOAT16; NULL: not in this build. Without any of them there is no table. */
enum { FIRN_HALF_TYPES = 3 };
extern const firn_half_part *const *const firn_half_parts;

/* Whether a type of the plan is a half type; if not, it is float32. Inlined, because a product asks for each of its
 * rows, and because a build without half types then has nothing that depends on the answer. */
static inline __attribute__((always_inline)) bool firn_has_half_part(uint8_t type) {
    return (uint8_t)(type - FIRN_FLOAT16) < FIRN_HALF_TYPES && firn_half_parts != NULL;
}

#endif
