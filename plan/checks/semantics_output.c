/* Rule 17 of FORMAT.md, the outputs that an application reads. Reached only through firn_semantics_parts: a firmware
 * without such plans leaves it out. */
#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* Whether output i has the name of an earlier one. */
static bool repeats_name(const firn_fb_plan_record *plan, uint32_t i, const firn_fb_output_record *output) {
    firn_fb_output_record other;
    for (uint32_t j = 0; j < i; j++) {
        firn_fb_output_read_at(plan->outputs, j, &other);
        if (other.name_length == output->name_length && memcmp(other.name, output->name, other.name_length) == 0)
            return true;
    }
    return false;
}

/* An output is computed in each step and stays until the next; its name is its own. */
bool firn_semantics_is_output(const firn_fb_plan_record *plan, uint32_t i) {
    firn_fb_output_record output;
    firn_fb_tensor_record tensor;
    firn_fb_output_read_at(plan->outputs, i, &output);
    if (output.tensor >= plan->tensors_count)
        return false;
    const uint32_t index = firn_semantics_base(plan, output.tensor);
    firn_semantics_tensor(plan, index, &tensor);
    return firn_semantics_is_arena(&tensor) && firn_semantics_is_persistent(&tensor) &&
           tensor.role != FIRN_FB_ROLE_SCRATCH &&
           firn_semantics_phase_of(plan, firn_semantics_first_use(plan, index, false)) != FIRN_FB_PHASE_KIND_UPDATE &&
           !repeats_name(plan, i, &output);
}
