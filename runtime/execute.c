/* Runs the ops of a phase: each op of the plan becomes one kernel call. This file takes order, shapes and attributes
 * from the plan as they were checked when it was opened; it makes no decisions. When a plan is opened, it checks that
 * this build has a kernel for every op, and finds the scratch that the largest op needs. A missing kernel is checked
 * again before each op runs, and then traps.
 *
 * Ops are decoded when the plan is opened, into the block `prepared`, or, without this block, each time they run, into
 * a frame on the stack that not every op need fit. The block holds the ops in order, then everything that their calls
 * point to: the integers of all ops, then the tensors, the reals, the reductions. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"

/* --- where ops are decoded to ------------------------------------------------------------------------------------- */

/* What an op may have that is decoded on the stack. */
enum { FRAME_OPERANDS = 16, FRAME_INTEGERS = 8, FRAME_REALS = 8, FRAME_REDUCTIONS = 4 };

typedef struct frame {
    int64_t integers[FRAME_INTEGERS];
    firn_tensor tensors[FRAME_OPERANDS];
    float reals[FRAME_REALS];
    firn_reduction reductions[FRAME_REDUCTIONS];
} frame;

/* Where the next op goes: the first free element of each array. */
typedef struct room {
    int64_t *integers;
    firn_tensor *tensors;
    float *reals;
    firn_reduction *reductions;
} room;

/* The arrays of the block lie one behind the other. */
_Static_assert(sizeof(firn_prepared_op) % _Alignof(int64_t) == 0, "integers can lie behind ops");
_Static_assert(sizeof(int64_t) % _Alignof(firn_tensor) == 0, "tensors can lie behind integers");
_Static_assert(sizeof(firn_tensor) % _Alignof(float) == 0, "reals can lie behind tensors");
_Static_assert(sizeof(float) % _Alignof(firn_reduction) == 0, "reductions can lie behind reals");

/* Room for the attributes of all ops: those that the plan gives, and those that have defaults in this build. */
static uint64_t integers_room(const firn_counts *counts) {
    return counts->integers + counts->ops * (uint64_t)firn_op_most_defaults(false);
}

static uint64_t reals_room(const firn_counts *counts) {
    return counts->reals + counts->ops * (uint64_t)firn_op_most_defaults(true);
}

uint64_t firn_execute_prepared_bytes(const firn_counts *counts) {
    return counts->ops * (uint64_t)sizeof(firn_prepared_op) + integers_room(counts) * sizeof(int64_t) +
           counts->operands * (uint64_t)sizeof(firn_tensor) + reals_room(counts) * sizeof(float) +
           counts->reductions * (uint64_t)sizeof(firn_reduction);
}

static room room_in_block(void *prepared, const firn_counts *counts) {
    firn_prepared_op *ops = prepared;
    room block;
    block.integers = (int64_t *)(void *)(ops + counts->ops);
    block.tensors = (firn_tensor *)(void *)(block.integers + (size_t)integers_room(counts));
    block.reals = (float *)(void *)(block.tensors + counts->operands);
    block.reductions = (firn_reduction *)(void *)(block.reals + (size_t)reals_room(counts));
    return block;
}

static room room_in_frame(frame *here) {
    return (room){here->integers, here->tensors, here->reals, here->reductions};
}

static bool fits_frame(firn_fb_op op) {
    return firn_fb_op_inputs_count(op) + firn_fb_op_outputs_count(op) <= FRAME_OPERANDS &&
           firn_fb_op_integers_count(op) <= FRAME_INTEGERS && firn_fb_op_reals_count(op) <= FRAME_REALS &&
           firn_fb_op_reductions_count(op) <= FRAME_REDUCTIONS;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* A vector of the plan. Its count stands in front of its elements, so both are found by one look at the table. */
typedef struct list {
    const uint8_t *data;
    uint32_t count;
} list;

static list list_of(const uint8_t *elements) {
    return (list){elements, elements == NULL ? 0 : firn_fb_load_uint32(elements - sizeof(uint32_t))};
}

/* Decodes a list of operands, which are indices of tensors of the plan. */
static void decode_operands(const firn_instance *instance, list operands, room *to) {
    for (uint32_t i = 0; i < operands.count; i++) {
        const uint32_t index = firn_fb_load_uint32(operands.data + sizeof(uint32_t) * i);
        *to->tensors++ = index == FIRN_ABSENT ? (firn_tensor){0} : firn_instance_tensor(instance, index);
    }
}

static void decode_attributes(firn_fb_op op, uint16_t code, room *to) {
    const list integers = list_of(firn_fb_op_integers_data(op)), reals = list_of(firn_fb_op_reals_data(op));
    for (uint32_t i = 0; i < integers.count; i++)
        to->integers[i] = firn_fb_load_int64(integers.data + sizeof(int64_t) * i);
    to->integers += firn_op_fill_integers(code, integers.count, to->integers);
    for (uint32_t i = 0; i < reals.count; i++)
        to->reals[i] = firn_fb_load_float(reals.data + sizeof(float) * i);
    to->reals += firn_op_fill_reals(code, reals.count, to->reals);
}

static void decode_reductions(firn_fb_op op, room *to) {
    const uint32_t count = firn_fb_op_reductions_count(op);
    for (uint32_t i = 0; i < count; i++) {
        const firn_fb_reduction reduction = firn_fb_op_reductions_at(op, i);
        *to->reductions++ = (firn_reduction){.kind = reduction.kind,
                                             .accumulator = reduction.accumulator,
                                             .output = reduction.output,
                                             .chunk = reduction.chunk};
    }
}

/* Decodes an op and finds its kernel. */
static firn_kernel_choice prepare(const firn_instance *instance, firn_fb_op op, uint16_t code, firn_prepared_op *ready,
                                  room *to) {
    const list inputs = list_of(firn_fb_op_inputs_data(op)), outputs = list_of(firn_fb_op_outputs_data(op));
    *ready = (firn_prepared_op){.operands = to->tensors,
                                .integers = to->integers,
                                .reals = to->reals,
                                .reductions = to->reductions,
                                .input_count = (uint8_t)inputs.count,
                                .output_count = (uint8_t)outputs.count};
    decode_operands(instance, inputs, to);
    decode_operands(instance, outputs, to);
    decode_attributes(op, code, to);
    decode_reductions(op, to);
    if (to->reductions == ready->reductions)
        ready->reductions = NULL;
    const firn_kernel_choice choice = instance->kernels->find(code, ready->reductions);
    ready->kernel = choice.run;
    return choice;
}

/* What the calls of all ops of an instance have in common. */
static firn_kernel_call common_call(const firn_instance *instance) {
    return (firn_kernel_call){.seed = firn_fb_plan_seed(instance->plan),
                              .moment = &instance->moment,
                              .parallel = instance->parallel,
                              .workspace = instance->workspace,
                              .slot_bytes = instance->slot_bytes};
}

static void fill_call(firn_kernel_call *call, const firn_prepared_op *op) {
    call->inputs = op->operands;
    call->outputs = op->operands + op->input_count;
    call->integers = op->integers;
    call->reals = op->reals;
    call->reductions = op->reductions;
    call->input_count = op->input_count;
    call->output_count = op->output_count;
}

/* --- opening a plan ----------------------------------------------------------------------------------------------- */

/* Returns true if the kernels of this library sum in the orders of all reductions of an op. Blocks and pairs have no
 * kernel in any set, which a set cannot tell: it looks at the first reduction only, and has one kernel for many kinds.
 */
static bool sums_are_known(firn_fb_op op) {
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        const uint8_t kind = firn_fb_op_reductions_at(op, i).kind;
        if (kind != FIRN_REDUCTION_F32 && kind != FIRN_REDUCTION_CHUNKED)
            return false;
    }
    return true;
}

int firn_execute_check(const firn_instance *instance, void *prepared, size_t *slot_bytes) {
    uint64_t most = 0;
    firn_kernel_call call = common_call(instance);
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            if (prepared == NULL && !fits_frame(op))
                return FIRN_ERROR_PREPARED_TOO_SMALL;
            frame here;
            room to = prepared != NULL ? room_in_block(prepared, &instance->header.counts) : room_in_frame(&here);
            firn_prepared_op ready;
            const uint16_t code = firn_fb_op_code(op);
            const firn_kernel_choice choice = prepare(instance, op, code, &ready, &to);
            if (choice.run == NULL || !sums_are_known(op))
                return FIRN_ERROR_KERNEL_MISSING;
            fill_call(&call, &ready);
            const uint64_t bytes = choice.scratch != NULL ? choice.scratch(code, &call) : 0;
            most = bytes > most ? bytes : most;
        }
    }
    const uint64_t largest = SIZE_MAX / firn_instance_threads(instance) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT;
    if (most > largest)
        return FIRN_ERROR_WORKSPACE_TOO_SMALL;
    *slot_bytes = (size_t)((most + FIRN_BLOCK_ALIGNMENT - 1) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT);
    return FIRN_OK;
}

void firn_execute_prepare(const firn_instance *instance, void *prepared) {
    firn_prepared_op *next = prepared;
    room to = room_in_block(prepared, &instance->header.counts);
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++, next++) {
            const firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            (void)prepare(instance, op, firn_fb_op_code(op), next, &to);
        }
    }
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Runs an op; the call is that of the phase. */
static void run(const firn_instance *instance, const firn_prepared_op *op, firn_kernel_call *call) {
    if (op->kernel == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
    fill_call(call, op);
    op->kernel(call);
    firn_instance_alive(instance);
}

/* Decodes an op from the plan and runs it. */
static void run_decoded(const firn_instance *instance, firn_fb_op op, firn_kernel_call *call) {
    frame here;
    room to = room_in_frame(&here);
    firn_prepared_op ready;
    (void)prepare(instance, op, firn_fb_op_code(op), &ready, &to);
    run(instance, &ready, call);
}

void firn_execute_phase(const firn_instance *instance, uint8_t kind) {
    const firn_bound_phase phase = instance->bound.phases[kind];
    firn_kernel_call call = common_call(instance);
    if (instance->prepared != NULL) {
        for (uint32_t i = 0; i < phase.count; i++)
            run(instance, &instance->prepared[phase.first + i], &call);
        return;
    }
    const firn_fb_phase ops = firn_fb_plan_phases_at(instance->plan, phase.position);
    for (uint32_t i = 0; i < phase.count; i++)
        run_decoded(instance, firn_fb_phase_ops_at(ops, i), &call);
}
