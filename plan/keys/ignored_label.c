/* Reads ignore_index of the losses of a plan (plan/keys/ignored_label.h). */
#include "plan/keys/ignored_label.h"

#include "plan/ops.h"

/* Returns the last extent of the logits of cross_entropy_weighted. */
static int64_t classes_of(firn_fb_plan plan, firn_fb_op op) {
    const firn_fb_tensor logits =
        firn_fb_plan_tensors_at(plan, firn_fb_op_inputs_at(op, FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS));
    return firn_fb_tensor_dims_at(logits, firn_fb_tensor_dims_count(logits) - 1);
}

bool firn_loss_rows_of(firn_fb_plan plan, firn_fb_op op, firn_loss_rows *rows) {
    const uint16_t code = firn_fb_op_code(op);
    int64_t integers[FIRN_ATTRIBUTES_MAX] = {0};
    if (code != FIRN_OP_cross_entropy_weighted && code != FIRN_OP_linear_cross_entropy)
        return false;
    const uint32_t count = firn_fb_op_integers_count(op);
    for (uint32_t i = 0; i < count; i++)
        integers[i] = firn_fb_op_integers_at(op, i);
    (void)firn_op_fill_integers(code, count, integers);
    if (code == FIRN_OP_linear_cross_entropy && integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] == 0)
        return false;
    const bool linear = code == FIRN_OP_linear_cross_entropy;
    rows->ignored =
        integers[linear ? FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX : FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX];
    rows->unclassed = rows->ignored >= (linear ? integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] : classes_of(plan, op));
    rows->divides = integers[linear ? FIRN_LINEAR_CROSS_ENTROPY_SCALING : FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == 0;
    return true;
}

bool firn_ignored_label(firn_fb_plan plan, uint32_t *label, bool *unclassed) {
    int64_t ignored = -1;
    *unclassed = false;
    *label = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_loss_rows loss;
            if (!firn_loss_rows_of(plan, firn_fb_phase_ops_at(phase, i), &loss))
                continue;
            if (ignored >= 0 && loss.ignored != ignored) {
                *unclassed = false;
                return false;
            }
            ignored = loss.ignored;
            *unclassed = loss.unclassed;
        }
    }
    *label = ignored >= 0 ? (uint32_t)ignored : 0;
    return ignored >= 0;
}
