/* Rule 17 of FORMAT.md, the rings that an application pushes samples into. Reached only through firn_semantics_parts: a
 * firmware without such plans leaves it out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* The ring of an input holds elements as they were pushed: one after the other for windows, in records of a sample
 * each otherwise. */
static bool is_ring(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler,
                    const firn_fb_input_record *input, firn_fb_tensor_record *ring) {
    firn_fb_tensor_record tensor;
    if (input->ring >= plan->tensors_count || input->ring == sampler->pushed)
        return false;
    firn_semantics_tensor(plan, input->ring, ring);
    firn_semantics_tensor(plan, input->tensor, &tensor);
    return ring->role == FIRN_FB_ROLE_RING && ring->base == FIRN_ABSENT && ring->type == input->element &&
           (sampler->unit == FIRN_FB_SAMPLE_UNIT_WINDOW
                ? ring->dims_count == 1
                : firn_semantics_sample_elements(ring) == firn_semantics_sample_elements(&tensor));
}

/* Checks input i and the earlier ones: those of one stream and no others have the same ring, and all rings have room
 * for as many, because `pushed` counts for all of them. */
static bool shares_rings(const firn_fb_plan_record *plan, uint32_t i, const firn_fb_input_record *input,
                         uint32_t length) {
    firn_fb_input_record other;
    firn_fb_tensor_record ring;
    for (uint32_t j = 0; j < i; j++) {
        firn_fb_input_read_at(plan->inputs, j, &other);
        firn_semantics_tensor(plan, other.ring, &ring);
        if ((other.ring == input->ring) != (other.stream == input->stream) || ring.dims[0] != length)
            return false;
    }
    return true;
}

/* Pushed samples are counted, and none of them is held out. Every input has a ring. */
bool firn_semantics_are_rings(const firn_fb_plan_record *plan, const firn_fb_sampler_record *sampler) {
    firn_fb_input_record input;
    firn_fb_tensor_record ring;
    bool good = firn_semantics_is_scalar(plan, sampler->pushed, FIRN_IN_RING, FIRN_INT64) &&
                sampler->part == FIRN_FB_DATA_PART_ALL && sampler->held_out_per_mille == 0;
    for (uint32_t i = 0; good && i < plan->inputs_count; i++) {
        firn_fb_input_read_at(plan->inputs, i, &input);
        good = is_ring(plan, sampler, &input, &ring) && shares_rings(plan, i, &input, ring.dims[0]);
    }
    return good;
}
