/* The phase `count`, which finds what the loss of a whole batch is divided by (NUMERICS.md, "A step"). Reached only
 * through firn_batch: a firmware without such plans leaves it out. Every micro-batch is drawn here, and drawn again for
 * the phase micro_batch: a source gives the same elements both times. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"
#include "runtime/parts.h"

/* Whether an operand lies in an input. A view of an input lies there. Whether a temporary value of the phase lies where
 * an unused input was makes no difference, because inputs are filled before the phase runs. */
static bool lies_in(const firn_instance *instance, uint32_t operand, const firn_bound_input *input) {
    if (operand == FIRN_ABSENT)
        return false;
    const uint8_t *data = firn_instance_data(instance, operand);
    return data >= input->data && data < input->data + sizeof(float) * input->elements * instance->bound.samples;
}

static bool reads(const firn_instance *instance, const firn_bound_input *input) {
    const firn_bound_phase *phase = &instance->bound.phases[FIRN_FB_PHASE_KIND_COUNT];
    for (uint32_t i = 0; i < phase->count; i++) {
        const firn_fb_op op = {firn_fb_follow(phase->ops + sizeof(uint32_t) * i)};
        for (uint32_t j = 0; j < firn_fb_op_inputs_count(op); j++)
            if (lies_in(instance, firn_fb_op_inputs_at(op, j), input))
                return true;
    }
    return false;
}

static int count(firn_instance *instance, const firn_samples *samples, firn_samples_filler fill, uint64_t global_step,
                 uint64_t cursor) {
    const uint32_t micro_batches = firn_fb_plan_micro_batches(instance->plan);
    int status = FIRN_OK;
    instance->counting = true;
    for (uint32_t micro = 0; micro < micro_batches && status == FIRN_OK; micro++) {
        instance->moment = (firn_moment){global_step, micro};
        status = fill(instance, samples, cursor);
        if (status == FIRN_OK)
            firn_execute_phase(instance, FIRN_FB_PHASE_KIND_COUNT);
        cursor += instance->bound.samples;
    }
    instance->counting = false;
    return status;
}

const firn_batch_part firn_batch_divisors = {count, reads};
