/* Two small plans written by hand, for tests that need a valid plan to read, run or break. Every table of a plan is an
 * array of the structure below, so that a test may change anything before it writes the plan.
 *
 *     train   records of 3 bytes and a label: linear, softmax cross-entropy, dynamic loss scaling, clipping by norm,
 * SGD eval    windows of 4 tokens: embedding, attention in bfloat16, softmax cross-entropy, mean loss */
#ifndef FIRN_TESTS_SUPPORT_PLAN_H
#define FIRN_TESTS_SUPPORT_PLAN_H

#include "plan/container.h"
#include "plan/generated/writer.h"
#include "plan/ops.h"

/* Tensors of the train plan, in list order. */
enum {
    TRAIN_CURSOR,
    TRAIN_GLOBAL_STEP,
    TRAIN_OPTIMIZER_STEP,
    TRAIN_BIAS,
    TRAIN_WEIGHT,
    TRAIN_LOSS_SCALE,
    TRAIN_SKIPPED,
    TRAIN_OVERFLOWS,
    TRAIN_STEPS,
    TRAIN_FEATURES,
    TRAIN_LABELS,
    TRAIN_LEARNING_RATE,
    TRAIN_LOGITS,
    TRAIN_LOSS,
    TRAIN_ROW_MAX,
    TRAIN_ROW_SUM,
    TRAIN_DLOSS,
    TRAIN_DLOGITS,
    TRAIN_DWEIGHT,
    TRAIN_DBIAS,
    TRAIN_PARTIAL,
    TRAIN_SCRATCH_BIAS,
    TRAIN_SCRATCH_WEIGHT,
    TRAIN_NORM,
    TRAIN_FINITE,
    TRAIN_FACTORS,
    TRAIN_AT_FLOOR,
    TRAIN_TENSORS,
    TRAIN_STATE_TENSORS = TRAIN_FEATURES
};

/* Ops of the train plan, numbered across all phases. */
enum {
    TRAIN_OP_LINEAR,
    TRAIN_OP_CROSS_ENTROPY,
    TRAIN_OP_LOSS_SEED,
    TRAIN_OP_DLOGITS,
    TRAIN_OP_DWEIGHT,
    TRAIN_OP_DBIAS,
    TRAIN_OP_SQUARES_BIAS,
    TRAIN_OP_SQUARES_WEIGHT,
    TRAIN_OP_NORM,
    TRAIN_OP_FACTORS,
    TRAIN_OP_SGD_BIAS,
    TRAIN_OP_SGD_WEIGHT,
    TRAIN_OP_COUNT_UPDATE,
    TRAIN_OP_LOSS_SCALE,
    TRAIN_OP_COUNT_STEP,
    TRAIN_OPS
};

/* Tensors of the eval plan. */
enum {
    EVAL_CURSOR,
    EVAL_COUNT,
    EVAL_SUM,
    EVAL_TABLE,
    EVAL_IDS,
    EVAL_LABELS,
    EVAL_QKV,
    EVAL_Y,
    EVAL_HEAD_MAX,
    EVAL_HEAD_SUM,
    EVAL_SCRATCH,
    EVAL_LOSS,
    EVAL_ROW_MAX,
    EVAL_ROW_SUM,
    EVAL_TENSORS,
    EVAL_STATE_TENSORS = EVAL_IDS
};

/* The regions of the two plans. */
enum { TRAIN_PARAMETERS, TRAIN_OPTIMIZER, TRAIN_SESSION, TRAIN_ARENA, TRAIN_REGIONS };
enum { EVAL_PARAMETERS, EVAL_SESSION, EVAL_ARENA, EVAL_REGIONS };

enum { EVAL_OP_EMBEDDING, EVAL_OP_ATTENTION, EVAL_OP_CROSS_ENTROPY, EVAL_OP_METRIC, EVAL_OPS };

#define SUPPORT_OPS     24
#define SUPPORT_TENSORS 40

typedef struct support_op {
    uint32_t inputs[FIRN_INPUTS_MAX], outputs[FIRN_OUTPUTS_MAX];
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_fb_reduction reductions[FIRN_REDUCTIONS_MAX];
} support_op;

typedef struct support_plan {
    firn_native_plan plan;
    firn_header header; /* only the fields that the semantic rules read, without the counts */
    firn_native_tensor tensors[SUPPORT_TENSORS];
    uint32_t dims[SUPPORT_TENSORS][FIRN_RANK_MAX];
    firn_native_phase phases[6];
    firn_native_op ops[SUPPORT_OPS];
    support_op operands[SUPPORT_OPS]; /* the operands that ops[i] points to */
    firn_native_input inputs[2];
    firn_native_output outputs[2];
    firn_native_sampler sampler;
    firn_fb_schedule_node nodes[2];
    firn_native_schedule schedules[2];
    firn_native_metric metrics[2];
    firn_native_initialiser initialisers[SUPPORT_TENSORS];
    uint8_t origin[FIRN_HASH_BYTES];
} support_plan;

/* Fill the structure. It contains pointers into itself, so it must not be copied. */
void support_plan_train(support_plan *support);
void support_plan_eval(support_plan *support);

/* Counts what the plan has, as its header must say. */
firn_counts support_plan_counts(const support_plan *support);

/* Returns the FlatBuffers part, aligned to 64 bytes; the caller frees it with free(). */
uint8_t *support_plan_write(const support_plan *support, size_t *bytes);

#endif
