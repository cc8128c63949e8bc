/* Runs the ops of a phase: each op of the plan becomes one kernel call. This file takes order, shapes and attributes
 * from the plan as they were checked when it was opened; it makes no decisions. When a plan is opened, it checks that
 * this build has a kernel for every op, and finds the scratch that the largest op needs. A missing kernel is checked
 * again before each op runs, and then traps.
 *
 * Operands are decoded when the plan is opened, into the block `prepared`, or, without this block, each time an op
 * runs, into a frame on the stack that not every op need fit. The block holds the ops in order, then their operands.
 * Attributes stay in the plan. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"

/* --- where operands are decoded to -------------------------------------------------------------------------------- */

enum { FRAME_OPERANDS = 16 }; /* what an op may have that is decoded on the stack */

_Static_assert(sizeof(void *) != 4 || (sizeof(firn_prepared_op) == 16 && sizeof(firn_tensor) == 16),
               "runtime/targets/ram counts 16 bytes for an op and for an operand");
_Static_assert(sizeof(firn_prepared_op) % _Alignof(firn_tensor) == 0, "operands can lie behind ops");

uint64_t firn_execute_prepared_bytes(const firn_counts *counts) {
    return counts->ops * (uint64_t)sizeof(firn_prepared_op) + counts->operands * (uint64_t)sizeof(firn_tensor);
}

static firn_tensor *operands_in_block(void *prepared, const firn_counts *counts) {
    return (firn_tensor *)(void *)((firn_prepared_op *)prepared + counts->ops);
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

/* Decodes a list of operands, which are indices of tensors of the plan. Returns the place behind them. */
static firn_tensor *decode_operands(const firn_instance *instance, list operands, firn_tensor *to) {
    for (uint32_t i = 0; i < operands.count; i++) {
        const uint32_t index = firn_fb_load_uint32(operands.data + sizeof(uint32_t) * i);
        *to++ = index == FIRN_ABSENT ? (firn_tensor){0} : firn_instance_tensor(instance, index);
    }
    return to;
}

static firn_reduction reduction_at(list reductions, uint32_t i) {
    firn_fb_reduction given;
    memcpy(&given, reductions.data + sizeof given * i, sizeof given);
    return (firn_reduction){
        .kind = given.kind, .accumulator = given.accumulator, .output = given.output, .chunk = given.chunk};
}

/* What a call points to and the plan may not have as it is needed: attributes that the plan leaves to defaults of this
 * build, and reductions. */
typedef struct attributes {
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX];
} attributes;

/* Where attributes lie in the plan, whose numbers are little-endian and aligned. */
static const int64_t *integers_in_plan(firn_fb_op op) {
    return (const int64_t *)(const void *)firn_fb_op_integers_data(op);
}

static const float *reals_in_plan(firn_fb_op op) {
    return (const float *)(const void *)firn_fb_op_reals_data(op);
}

/* Returns whether the plan leaves attributes of an op out; `room` takes their defaults. */
static bool fill_defaults(firn_fb_op op, attributes *room) {
    const uint16_t code = firn_fb_op_code(op);
    const uint32_t integers = firn_fb_op_integers_count(op), reals = firn_fb_op_reals_count(op);
    const bool more_integers = firn_op_fill_integers(code, integers, room->integers) != integers;
    return firn_op_fill_reals(code, reals, room->reals) != reals || more_integers;
}

/* Copies the attributes that the plan gives. */
static void fill_given(firn_fb_op op, attributes *room) {
    for (uint32_t i = 0; i < firn_fb_op_integers_count(op); i++)
        room->integers[i] = firn_fb_op_integers_at(op, i);
    for (uint32_t i = 0; i < firn_fb_op_reals_count(op); i++)
        room->reals[i] = firn_fb_op_reals_at(op, i);
}

static const firn_reduction *reductions_of(list given, firn_reduction *room) {
    for (uint32_t i = 0; i < given.count; i++)
        room[i] = reduction_at(given, i);
    return room;
}

/* Decodes the operands of an op and finds its kernel. */
static firn_kernel_choice prepare(const firn_instance *instance, firn_fb_op op, firn_prepared_op *ready,
                                  firn_tensor *operands) {
    const list inputs = list_of(firn_fb_op_inputs_data(op)), outputs = list_of(firn_fb_op_outputs_data(op)),
               reductions = list_of(firn_fb_op_reductions_data(op));
    firn_reduction first;
    if (reductions.count > 0)
        first = reduction_at(reductions, 0);
    const firn_kernel_choice choice =
        instance->kernels->find(firn_fb_op_code(op), reductions.count > 0 ? &first : NULL);
    *ready = (firn_prepared_op){.kernel = choice.run,
                                .operands = operands,
                                .op = op,
                                .input_count = (uint8_t)inputs.count,
                                .output_count = (uint8_t)outputs.count,
                                .has_reductions = reductions.count > 0};
    attributes room;
    ready->has_defaults = fill_defaults(op, &room);
    (void)decode_operands(instance, outputs, decode_operands(instance, inputs, operands));
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

/* Fills in what a call has of its own. */
static void fill_call(firn_kernel_call *call, const firn_prepared_op *ready, attributes *room) {
    call->inputs = ready->operands;
    call->outputs = ready->operands + ready->input_count;
    call->integers = integers_in_plan(ready->op);
    call->reals = reals_in_plan(ready->op);
    if (ready->has_defaults) {
        (void)fill_defaults(ready->op, room);
        fill_given(ready->op, room);
        call->integers = room->integers;
        call->reals = room->reals;
    }
    call->reductions =
        ready->has_reductions ? reductions_of(list_of(firn_fb_op_reductions_data(ready->op)), room->reductions) : NULL;
    call->input_count = ready->input_count;
    call->output_count = ready->output_count;
}

/* --- opening a plan ----------------------------------------------------------------------------------------------- */

static bool fits_frame(firn_fb_op op) {
    return firn_fb_op_inputs_count(op) + firn_fb_op_outputs_count(op) <= FRAME_OPERANDS;
}

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
            firn_tensor here[FRAME_OPERANDS];
            attributes room;
            firn_prepared_op ready;
            const firn_kernel_choice choice = prepare(
                instance, op, &ready, prepared != NULL ? operands_in_block(prepared, &instance->header.counts) : here);
            if (choice.run == NULL || !sums_are_known(op))
                return FIRN_ERROR_KERNEL_MISSING;
            fill_call(&call, &ready, &room);
            const uint64_t bytes = choice.scratch != NULL ? choice.scratch(firn_fb_op_code(op), &call) : 0;
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
    firn_tensor *operands = operands_in_block(prepared, &instance->header.counts);
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++, next++) {
            (void)prepare(instance, firn_fb_phase_ops_at(phase, i), next, operands);
            operands += next->input_count + next->output_count;
        }
    }
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Runs an op; the call is that of the phase. */
static void run(const firn_instance *instance, const firn_prepared_op *ready, firn_kernel_call *call) {
    attributes room;
    if (ready->kernel == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
    fill_call(call, ready, &room);
    ready->kernel(call);
    firn_instance_alive(instance);
}

/* Decodes an op from the plan and runs it. */
static void run_decoded(const firn_instance *instance, firn_fb_op op, firn_kernel_call *call) {
    firn_tensor operands[FRAME_OPERANDS];
    firn_prepared_op ready;
    (void)prepare(instance, op, &ready, operands);
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
