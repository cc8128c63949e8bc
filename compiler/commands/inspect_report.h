/* What the files compiler/inspect*.c share: a plan that was verified, and what follows from it. */
#ifndef FIRNC_INSPECT_REPORT_H
#define FIRNC_INSPECT_REPORT_H

#include "compiler/base/words.h"
#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/generated/words.h"
#include "plan/ops.h"

typedef struct firnc_report {
    const char *file;
    firn_header header;
    firn_fb_plan plan;
    uint8_t plan_hash[FIRN_HASH_BYTES], model_hash[FIRN_HASH_BYTES];
    uint32_t ops;              /* of all phases */
    uint64_t parameters;       /* elements of all parameters */
    uint64_t multiply_adds;    /* of the products of one step, all micro-batches together */
    uint64_t plan_arena_bytes; /* without the verification pool */
    uint64_t live_bytes;       /* no arrangement of the arena is smaller for this order */
    uint64_t checkpoint_bytes; /* of a checkpoint with a program unit of 1 */
} firnc_report;

/* Multiply-adds of the products of one op; 0 for an op without products. */
uint64_t firnc_op_cost(firn_fb_plan plan, firn_fb_op op);

firn_shape firnc_tensor_shape(firn_fb_tensor tensor);
uint64_t firnc_tensor_bytes(firn_fb_tensor tensor);

/* "chunked 64 in bfloat16, to bfloat16" */
const char *firnc_reduction_text(firn_fb_reduction reduction);
/* "CosineDecayLR from 0.001 to 0.0001 in 900 steps" */
const char *firnc_schedule_text(firn_fb_schedule_node node);

void firnc_print_text(const firnc_report *report);
void firnc_print_json(const firnc_report *report);

#endif
