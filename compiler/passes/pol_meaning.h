/* The meaning of a POL level for an op. pol_meaning.c alone decides it: a pass calls firnc_pol_meaning_of and must not
 * compare a level with a number or choose a chunk itself. pol.c decides the level of an op. The table of POL in
 * compiler/PRECISION.md is printed from these results (tests/unit/test_pol_table.c). */
#ifndef FIRNC_POL_MEANING_H
#define FIRNC_POL_MEANING_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/job/targets.h"
#include "plan/ops.h"

#define FIRNC_POL_LEVELS 3

typedef struct firnc_pol_question {
    firn_pol_class pol;          /* the op's value in the pol column of plan/ops.def */
    uint8_t level;               /* 0, 1, 2 */
    uint8_t type;                /* element type of the operands */
    uint8_t half;                /* norm, rotation: the half type that they may use, or float32 */
    const firnc_target *target;  /* product, attention */
    bool emulate;                /* product, attention: pol_lowering is emulate, so the target does not matter */
    bool half_softmax_requested; /* attention: the model requests it (attention_softmax_fp32: false) at every level */
} firnc_pol_question;

typedef struct firnc_pol_meaning {
    /* Product: the dot product. Attention: the dot products scores, values and queries_and_keys of plan/ops.def. */
    uint8_t reduction;   /* FIRN_REDUCTION_F32, FIRN_REDUCTION_CHUNKED, or that of the target's engine */
    uint8_t accumulator; /* element type in which terms are added */
    uint32_t chunk;      /* terms of a chunk or block; 0 for FIRN_REDUCTION_F32 */
    uint8_t softmax;     /* attention: element type of scores and probabilities */
    uint8_t output;      /* norm, rotation: element type of the output, and of the affine part of a norm */
    uint8_t rotation;    /* rotation: element type in which pairs are rotated */
} firnc_pol_meaning;

firnc_pol_meaning firnc_pol_meaning_of(const firnc_pol_question *question);

#endif
