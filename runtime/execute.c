/* Runs the ops of a phase: each op of the plan becomes one kernel call. This file takes order, shapes and attributes
 * from the plan as they were checked when it was opened; it makes no decisions. When a plan is opened, it checks that
 * this build has a kernel for every op, and finds the scratch that the largest op needs. A missing kernel is checked
 * again before each op runs, and then traps.
 *
 * Ops are decoded when the plan is opened, into the block `prepared`, or, without this block, each time one runs, its
 * operands into a frame on the stack that not every op need fit. The block holds the ops in order, then their operands.
 * Attributes stay in the plan. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "plan/bytes.h"
#ifdef FIRN_CHECK
#    include "runtime/check/check.h"
#endif
#include "runtime/instance.h"

/* --- where operands are decoded to -------------------------------------------------------------------------------- */

enum { FRAME_OPERANDS = 16 }; /* what an op may have that is decoded on the stack */

_Static_assert(sizeof(void *) != 4 || (sizeof(firn_prepared_op) == 24 && sizeof(firn_tensor) == 16),
               "runtime/targets/ram counts 24 bytes for an op and 16 for an operand");
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

/* What a call points to and the plan may not have as it is needed: attributes that the plan leaves to defaults of this
 * build, and reductions. */
typedef struct attributes {
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX];
} attributes;

/* Returns whether a plan may leave attributes of an op out. */
static bool has_defaults(uint16_t code) {
    for (int i = 0; i < FIRN_OP_DEFAULTS; i++)
        if (firn_op_defaults[i].code == code)
            return true;
    return false;
}

/* Copies the attributes that the plan gives, and adds the defaults of the others. */
static void complete_attributes(firn_kernel_call *call, firn_fb_op op, attributes *room) {
    const uint32_t integers = firn_fb_op_integers_count(op), reals = firn_fb_op_reals_count(op);
    for (uint32_t i = 0; i < integers; i++)
        room->integers[i] = call->integers[i];
    for (uint32_t i = 0; i < reals; i++)
        room->reals[i] = call->reals[i];
    (void)firn_op_fill_integers(firn_fb_op_code(op), integers, room->integers);
    (void)firn_op_fill_reals(firn_fb_op_code(op), reals, room->reals);
    call->integers = room->integers;
    call->reals = room->reals;
}

/* Decodes all of an op but its kernel. Attributes stay in the plan: its numbers are little-endian and aligned. */
static void decode(const firn_instance *instance, firn_fb_op op, firn_tensor *operands, firn_prepared_op *ready) {
    const list inputs = list_of(firn_fb_op_inputs_data(op)), outputs = list_of(firn_fb_op_outputs_data(op)),
               reductions = list_of(firn_fb_op_reductions_data(op));
    ready->operands = operands;
    ready->integers = (const int64_t *)(const void *)firn_fb_op_integers_data(op);
    ready->reals = (const float *)(const void *)firn_fb_op_reals_data(op);
    ready->reductions = (const firn_fb_reduction *)(const void *)reductions.data;
    ready->input_count = (uint8_t)inputs.count;
    ready->output_count = (uint8_t)outputs.count;
    ready->reduction_count = (uint8_t)reductions.count;
    firn_instance_tensors(instance, inputs.data, inputs.count, operands);
    firn_instance_tensors(instance, outputs.data, outputs.count, operands + inputs.count);
}

/* Fills in what a call has of its own. */
static inline void fill_call(firn_kernel_call *call, const firn_prepared_op *ready, firn_fb_op op, attributes *room) {
    call->inputs = ready->operands;
    call->outputs = ready->operands + ready->input_count;
    call->input_count = ready->input_count;
    call->output_count = ready->output_count;
    call->integers = ready->integers;
    call->reals = ready->reals;
    if (has_defaults(firn_fb_op_code(op)))
        complete_attributes(call, op, room);
    call->reductions = ready->reduction_count > 0 ? room->reductions : NULL;
    for (uint32_t i = 0; i < ready->reduction_count; i++)
        room->reductions[i] = (firn_reduction){.kind = ready->reductions[i].kind,
                                               .accumulator = ready->reductions[i].accumulator,
                                               .output = ready->reductions[i].output,
                                               .chunk = ready->reductions[i].chunk};
}

/* Fills in what the calls of all ops of an instance have in common. Not inlined, because it is used twice. */
static __attribute__((noinline)) void begin_call(firn_kernel_call *call, const firn_instance *instance) {
    call->seed = firn_fb_plan_seed(instance->plan);
    call->moment = &instance->moment;
    if (firn_has_threads) /* else nothing reads it */
        call->parallel = instance->parallel;
    call->workspace = FIRN_KERNELS_HAVE_SCRATCH ? instance->workspace : NULL;
    call->slot_bytes = FIRN_KERNELS_HAVE_SCRATCH ? instance->slot_bytes : 0;
    if (FIRN_KERNELS_HAVE_SCRATCH) /* else nothing reads it */
        call->kernels = instance->kernels;
}

/* --- opening a plan ----------------------------------------------------------------------------------------------- */

static bool fits_frame(firn_fb_op op) {
    return firn_fb_op_inputs_count(op) + firn_fb_op_outputs_count(op) <= FRAME_OPERANDS;
}

int firn_execute_check(const firn_instance *instance, void *prepared, size_t *slot_bytes) {
    firn_tensor here[FRAME_OPERANDS];
    firn_tensor *operands = prepared != NULL ? operands_in_block(prepared, &instance->header.counts) : here;
    firn_prepared_op *next = prepared, unkept;
    attributes room;
    firn_kernel_call call;
    begin_call(&call, instance);
    uint64_t most = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            if (next == NULL && !fits_frame(op))
                return FIRN_ERROR_PREPARED_TOO_SMALL;
            firn_prepared_op *ready = next != NULL ? next++ : &unkept;
            decode(instance, op, operands, ready);
            fill_call(&call, ready, op, &room);
            const firn_kernel_choice choice = instance->kernels->find(firn_fb_op_code(op), call.reductions);
            if (choice.run == NULL)
                return FIRN_ERROR_KERNEL_MISSING;
            ready->kernel = choice.run;
            const uint64_t bytes =
                FIRN_KERNELS_HAVE_SCRATCH && choice.scratch != NULL ? choice.scratch(firn_fb_op_code(op), &call) : 0;
            most = bytes > most ? bytes : most;
            if (next != NULL)
                operands += call.input_count + call.output_count;
        }
    }
    const uint64_t largest = SIZE_MAX / firn_instance_threads(instance) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT;
    if (most > largest)
        return FIRN_ERROR_WORKSPACE_TOO_SMALL;
    *slot_bytes = (size_t)firn_round_up(most, FIRN_BLOCK_ALIGNMENT);
    return FIRN_OK;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static firn_fb_op op_of(const firn_bound_phase *phase, uint32_t i) {
    return (firn_fb_op){firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
}

/* Runs op `i` of a phase, whose call is complete. */
static void run(const firn_instance *instance, const firn_bound_phase *phase, uint32_t i, firn_kernel kernel,
                const firn_kernel_call *call) {
    if (kernel == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
#ifdef FIRN_CHECK
    firn_check_run(
        &(firn_checked_op){.code = firn_fb_op_code(op_of(phase, i)),
                           .number = phase->first + i,
                           .gradients_are_finite = instance->bound.finite != NULL &&
                                                   phase == &instance->bound.phases[FIRN_FB_PHASE_KIND_UPDATE],
                           .regions = instance->header.region_count,
                           .blocks = instance->blocks,
                           .bytes = instance->header.region_bytes},
        kernel, call);
#else
    (void)phase, (void)i;
    kernel(call);
#endif
    firn_instance_alive(instance);
}

void firn_execute_phase(const firn_instance *instance, uint8_t kind) {
    const firn_bound_phase *phase = &instance->bound.phases[kind];
    firn_tensor operands[FRAME_OPERANDS];
    firn_prepared_op here;
    attributes room;
    firn_kernel_call call;
    if (phase->count == 0)
        return;
    begin_call(&call, instance);
    for (uint32_t i = 0; i < phase->count; i++) {
        if (instance->prepared != NULL) {
            const firn_prepared_op *ready = &instance->prepared[phase->first + i];
            fill_call(&call, ready, op_of(phase, i), &room);
            run(instance, phase, i, ready->kernel, &call);
            continue;
        }
        const firn_fb_op op = op_of(phase, i);
        decode(instance, op, operands, &here);
        fill_call(&call, &here, op, &room);
        run(instance, phase, i, instance->kernels->find(firn_fb_op_code(op), call.reductions).run, &call);
    }
}
