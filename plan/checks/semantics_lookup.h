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

/* The shape of a tensor as the plan gives it; rank and extents may not have been checked yet. */
firn_shape firn_semantics_shape(firn_fb_tensor tensor);

/* Size in bytes of a tensor that has been checked. */
FIRN_FB_READS uint64_t firn_semantics_bytes(firn_fb_tensor tensor);

/* Whether `bytes` at this offset lie within `room` bytes, and the offset is aligned. */
FIRN_FB_READS bool firn_semantics_is_placed(uint64_t offset, uint64_t bytes, uint64_t room);

/* The memory that a role lies in (semantics.c checks it against the region): the state, of which a checkpoint is made;
 * the constants; a ring; or the arena. */
typedef enum firn_memory { FIRN_MEMORY_STATE, FIRN_MEMORY_CONSTANT, FIRN_MEMORY_RING, FIRN_MEMORY_ARENA } firn_memory;
FIRN_FB_READS firn_memory firn_semantics_memory(firn_fb_tensor tensor);

/* Whether a tensor is a parameter or a buffer: it belongs to the model, and only an update changes it. */
FIRN_FB_READS bool firn_semantics_is_of_model(firn_fb_tensor tensor);

/* The tensor whose bytes a tensor has: the base of a view, and otherwise the tensor itself. FIRN_ABSENT stays. */
FIRN_FB_READS uint32_t firn_semantics_base(firn_fb_plan plan, uint32_t tensor);

/* Stores op number n, counted through all phases, and the kind of its phase. False if there is no such op. */
bool firn_semantics_op(firn_fb_plan plan, uint32_t n, firn_fb_op *op, uint8_t *phase);

/* Whether an op reads, or writes, a tensor that is not a view, itself or through a view. */
FIRN_FB_READS bool firn_semantics_reads(firn_fb_plan plan, firn_fb_op op, uint32_t tensor);
FIRN_FB_READS bool firn_semantics_writes(firn_fb_plan plan, firn_fb_op op, uint32_t tensor);

/* The first op that reads or writes a tensor that is not a view; the number of ops if there is none. */
FIRN_FB_READS uint32_t firn_semantics_first_touch(firn_fb_plan plan, uint32_t tensor);

/* The index of the plan's first Input, or first Schedule, that fills a tensor; inputs_count or schedules_count if there
 * is none. */
FIRN_FB_READS uint32_t firn_semantics_input_of(firn_fb_plan plan, uint32_t tensor);
FIRN_FB_READS uint32_t firn_semantics_schedule_of(firn_fb_plan plan, uint32_t tensor);

/* The first op that writes a tensor; the number of ops if there is none. */
FIRN_FB_READS uint32_t firn_semantics_first_writer(firn_fb_plan plan, uint32_t tensor);

/* Whether the runtime fills a tensor before the ops run, as an input or as the value of a schedule. */
FIRN_FB_READS bool firn_semantics_is_filled(firn_fb_plan plan, uint32_t tensor);

/* Whether a tensor is persistent: its lifetime is not limited to a range of ops. */
FIRN_FB_READS bool firn_semantics_is_persistent(firn_fb_tensor tensor);

/* Whether a tensor has one dimension of this extent, this type, and lies in this memory. In the arena it must also be
 * persistent, because the runtime reads it between phases, and must not be scratch. */
bool firn_semantics_is_vector(firn_fb_plan plan, uint32_t index, firn_memory memory, uint8_t type, uint32_t extent);

/* Whether a tensor is a counter of the state: one int64. */
bool firn_semantics_is_counter(firn_fb_plan plan, uint32_t index);

/* Whether one op alone writes a tensor, has this code, and has it as this output in a phase of this kind. */
bool firn_semantics_has_one_writer(firn_fb_plan plan, uint32_t tensor, uint16_t code, uint32_t output, uint8_t phase,
                                   firn_fb_op *writer);

/* Whether a value is +0 bit by bit, which is the only encoding of an unused field; whether it is above 0 and finite. */
bool firn_semantics_is_unused(float x);
bool firn_semantics_is_positive(float x);

#endif
