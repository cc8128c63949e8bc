/* Lookups in a plan that has passed the FlatBuffers rules, for the files plan/checks/semantics*.c. The caller passes
 * only indices that are in range. */
#ifndef FIRN_PLAN_SEMANTICS_LOOKUP_H
#define FIRN_PLAN_SEMANTICS_LOOKUP_H

#include "plan/generated/reader.h"
#include "plan/ops.h"

/* Of the offset of a tensor and of weights. */
#define FIRN_TENSOR_ALIGNMENT 16u

/* Value of Tensor.last of a persistent tensor. */
#define FIRN_FOR_EVER UINT32_MAX

/* Reads a tensor of the plan. */
void firn_semantics_tensor(const firn_fb_plan_record *plan, uint32_t index, firn_fb_tensor_record *tensor);

/* The shape of a tensor as the plan gives it; rank and extents may not have been checked yet. */
void firn_semantics_shape(const firn_fb_tensor_record *tensor, firn_shape *shape);

/* Size in bytes of a tensor; 0 if it is none that a tensor may have. */
FIRN_FB_READS uint64_t firn_semantics_bytes(const firn_fb_tensor_record *tensor);

/* Whether `bytes` at this offset lie within `room` bytes, and the offset is aligned. */
FIRN_FB_READS bool firn_semantics_is_placed(uint64_t offset, uint64_t bytes, uint64_t room);

/* A bit for each kind of region; a slow kind counts as the kind that it is. */
enum {
    FIRN_IN_PARAMETERS = 1 << FIRN_FB_REGION_KIND_PARAMETERS,
    FIRN_IN_OPTIMIZER = 1 << FIRN_FB_REGION_KIND_OPTIMIZER,
    FIRN_IN_SESSION = 1 << FIRN_FB_REGION_KIND_SESSION,
    FIRN_IN_RING = 1 << FIRN_FB_REGION_KIND_RING,
    FIRN_IN_ARENA = 1 << FIRN_FB_REGION_KIND_ARENA,
    FIRN_IN_CONSTANT = 1 << FIRN_FB_REGION_KIND_CONSTANT,
    FIRN_IN_STATE = FIRN_IN_PARAMETERS | FIRN_IN_OPTIMIZER | FIRN_IN_SESSION
};

/* The kinds of regions in which the tensors of a role may lie, by role: those of the state, of which a checkpoint is
 * made, or one other. */
extern const uint8_t firn_semantics_regions[];

static inline bool firn_semantics_is_state(const firn_fb_tensor_record *tensor) {
    return (firn_semantics_regions[tensor->role] & FIRN_IN_STATE) != 0;
}

static inline bool firn_semantics_is_arena(const firn_fb_tensor_record *tensor) {
    return firn_semantics_regions[tensor->role] == FIRN_IN_ARENA;
}

/* Whether a tensor is a parameter or a buffer: it belongs to the model, and only an update changes it. */
static inline bool firn_semantics_is_of_model(const firn_fb_tensor_record *tensor) {
    return tensor->role <= FIRN_FB_ROLE_BUFFER;
}

/* Whether a tensor is persistent: its lifetime is not limited to a range of ops. */
static inline bool firn_semantics_is_persistent(const firn_fb_tensor_record *tensor) {
    return tensor->first == 0 && tensor->last == FIRN_FOR_EVER;
}

/* The tensor whose bytes a tensor has: the base of a view, and otherwise the tensor itself. FIRN_ABSENT stays. */
FIRN_FB_READS uint32_t firn_semantics_base(const firn_fb_plan_record *plan, uint32_t tensor);

/* Stores op number n, counted through all phases, and the kind of its phase. False if there is no such op. */
bool firn_semantics_op(firn_fb_plan plan, uint32_t n, firn_fb_op *op, uint8_t *phase);
bool firn_semantics_read_op(const firn_fb_plan_record *plan, uint32_t n, firn_fb_op_record *op, uint8_t *phase);

/* The kind of the phase of op n; if there is no such op, update, where neither a loss nor an output may come from. */
uint8_t firn_semantics_phase_of(const firn_fb_plan_record *plan, uint32_t n);

/* Whether an op, which this build has, fills one element of this tensor. */
bool firn_semantics_fills_partial(const firn_fb_op_record *op, uint32_t tensor);

/* Elements of one sample of an input or a ring; dimension 0 is the number of samples. 0 if there is no such shape. */
uint64_t firn_semantics_sample_elements(const firn_fb_tensor_record *tensor);

/* Whether an op reads, or writes, a tensor that is not a view, itself or through a view. */
bool firn_semantics_reads(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t tensor);
bool firn_semantics_writes(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t tensor);

/* The first op that writes a tensor that is not a view or, if wanted, reads it; the number of ops if there is none. */
uint32_t firn_semantics_first_use(const firn_fb_plan_record *plan, uint32_t tensor, bool reading);

/* The index of the plan's first Input, or first Schedule, that fills a tensor; inputs_count or schedules_count if there
 * is none. */
FIRN_FB_READS uint32_t firn_semantics_input_of(const firn_fb_plan_record *plan, uint32_t tensor);
FIRN_FB_READS uint32_t firn_semantics_schedule_of(const firn_fb_plan_record *plan, uint32_t tensor);

/* Whether the runtime fills a tensor before the ops run: as an input, as the value of a schedule, or with which samples
 * count. */
FIRN_FB_READS bool firn_semantics_is_filled(const firn_fb_plan_record *plan, uint32_t tensor);

/* Whether an op takes the divisor of a whole batch, which is the last of its inputs. */
static inline bool firn_semantics_has_divisor(const firn_fb_op_record *op) {
    return (op->code == FIRN_OP_cross_entropy_weighted &&
            op->inputs_count > FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR) ||
           (op->code == FIRN_OP_linear_cross_entropy && op->inputs_count > FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR);
}

/* Whether the micro-batches of a step are added as a tree. */
static inline bool firn_semantics_adds_tree(const firn_fb_plan_record *plan) {
    return plan->micro_batch_order == FIRN_FB_MICRO_BATCH_ORDER_TREE;
}

/* Whether there is such a tensor, it is one element of this type, is no view, and lies in one of these kinds of
 * regions. In the arena it must also be persistent, because the runtime reads it between phases, and must not be
 * scratch. */
bool firn_semantics_is_scalar(const firn_fb_plan_record *plan, uint32_t index, uint32_t regions, uint8_t type);

/* Whether a tensor is a counter of the state: one int64. */
bool firn_semantics_is_counter(const firn_fb_plan_record *plan, uint32_t index);

/* Whether one op alone writes a tensor, has this code, and has it as this output in a phase of this kind. */
bool firn_semantics_has_one_writer(const firn_fb_plan_record *plan, uint32_t tensor, uint16_t code, uint32_t output,
                                   uint8_t phase, firn_fb_op_record *writer);

/* Whether a value is +0 bit by bit, which is the only encoding of an unused field; whether it is above 0 and finite. */
static inline bool firn_semantics_is_unused(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == 0;
}

static inline bool firn_semantics_is_positive(float x) {
    return x > 0.0f && x - x == 0.0f;
}

#endif
