/* A small plan in memory for tests that read, run or break one. Every table of it is an array of the structure below,
 * so that a test, or an edit of support_edits.h, may change anything before it writes the plan. */
#ifndef FIRN_TESTS_SUPPORT_PLAN_H
#define FIRN_TESTS_SUPPORT_PLAN_H

#include "plan/container.h"
#include "plan/generated/writer.h"
#include "plan/ops.h"

#define SUPPORT_OPS     24
#define SUPPORT_TENSORS 40
#define SUPPORT_POOL    (1u << 16)

typedef struct support_plan {
    firn_native_plan plan;
    firn_header header; /* only the fields that the semantic rules read, without the counts */
    firn_native_tensor tensors[SUPPORT_TENSORS];
    firn_native_phase phases[6];
    firn_native_op ops[SUPPORT_OPS]; /* of all phases */
    firn_native_input inputs[3];
    firn_native_output outputs[2];
    firn_native_sampler sampler;
    firn_fb_schedule_node nodes[2];
    firn_native_schedule schedules[2];
    firn_native_metric metrics[2];
    firn_native_initialiser initialisers[SUPPORT_TENSORS];
    uint8_t origin[FIRN_HASH_BYTES];
    /* What edits call them; NULL: without a name. */
    const char *tensor_names[SUPPORT_TENSORS], *op_names[SUPPORT_OPS], *region_names[FIRN_REGIONS_MAX];
    _Alignas(8) uint8_t pool[SUPPORT_POOL]; /* names, texts and lists */
    size_t pool_used;
} support_plan;

/* Returns a plan without tensors, phases and ops, to be freed with free(). It contains pointers into itself, so it must
 * not be copied. */
support_plan *support_plan_empty(void);

/* Returns zeroed memory that goes with the plan. */
void *support_plan_memory(support_plan *support, size_t bytes);

/* Counts what the plan has, as its header must say. */
firn_counts support_plan_counts(const support_plan *support);

/* Returns the FlatBuffers part, aligned to 64 bytes; the caller frees it with free(). */
uint8_t *support_plan_write(const support_plan *support, size_t *bytes);

#endif
