/* What the library does not say of a plan, and messages of firn need. It is read from the plan that firn_open has
 * verified. */
#include <string.h>

#include "runtime/cli/cli.h"

firn_fb_plan cli_plan(const cli_session *session) {
    return firn_fb_plan_root((const uint8_t *)session->plan.bytes + FIRN_PAYLOAD_OFFSET);
}

bool cli_reads_held_out(const cli_session *session) {
    return firn_fb_sampler_part(firn_fb_plan_sampler(cli_plan(session))) == FIRN_FB_DATA_PART_HELD_OUT;
}

bool cli_has_frozen(const cli_session *session) {
    const firn_fb_plan plan = cli_plan(session);
    const uint32_t first = firn_fb_plan_state_tensors(plan); /* frozen weights follow the state */
    return first < firn_fb_plan_tensors_count(plan) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, first)) == FIRN_FB_ROLE_FROZEN;
}

/* Returns true if a frozen weight of the plan has a name that begins so. */
static bool has_frozen_of(const cli_session *session, const char *begin) {
    const firn_fb_plan plan = cli_plan(session);
    for (uint32_t i = firn_fb_plan_state_tensors(plan); i < firn_fb_plan_tensors_count(plan); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
        if (firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_FROZEN && firn_fb_tensor_name_length(tensor) >= strlen(begin) &&
            memcmp(firn_fb_tensor_name(tensor), begin, strlen(begin)) == 0)
            return true;
    }
    return false;
}

bool cli_has_statistics(const cli_session *session) {
    return has_frozen_of(session, "normalise.");
}

bool cli_standardises_targets(const cli_session *session) {
    return has_frozen_of(session, "normalise.targets.");
}

firn_host_shape cli_shape(const cli_session *session, uint32_t stream) {
    const firn_fb_plan plan = cli_plan(session);
    firn_host_shape shape = {0};
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        if (firn_fb_input_stream(input) != stream)
            continue;
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, firn_fb_input_tensor(input));
        if (firn_fb_tensor_dims_at(tensor, 0) != session->info.samples)
            return shape; /* firnc makes no such plan; the format does not forbid it */
        shape.rank = firn_fb_tensor_dims_count(tensor) - 1;
        for (uint32_t d = 0; d < shape.rank; d++)
            shape.dims[d] = firn_fb_tensor_dims_at(tensor, d + 1);
        return shape;
    }
    return shape;
}
