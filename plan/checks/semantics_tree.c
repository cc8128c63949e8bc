/* Rule 17 of FORMAT.md, sums over micro-batches in the order of a tree. Reached only through firn_semantics_parts: a
 * firmware without such plans leaves it out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* The first op that uses each tensor which is not state. */
typedef struct first_uses {
    const firn_fb_plan_record *plan;
    const uint32_t *list;
} first_uses;

/* Whether the first op that uses one of these tensors, or what it is a view of, is an op of this code other than op n.
 */
static bool are_begun_by_another(const first_uses *uses, const uint32_t *operands, uint32_t count, uint16_t code,
                                 uint32_t n) {
    const firn_fb_plan_record *plan = uses->plan;
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = firn_semantics_base(plan, operands[i]);
        if (tensor == FIRN_ABSENT || tensor < plan->state_tensors || uses->list[tensor - plan->state_tensors] == n)
            continue;
        if (firn_semantics_op(plan->table, uses->list[tensor - plan->state_tensors], &op, &phase) &&
            firn_fb_op_code(op) == code)
            return true;
    }
    return false;
}

/* Whether op n is the first to use each of its outputs, which are no state. */
static bool begins_outputs(const first_uses *uses, const firn_fb_op_record *op, uint32_t n) {
    bool begins = true;
    for (uint32_t j = 0; j < op->outputs_count; j++)
        begins = begins && op->outputs[j] >= uses->plan->state_tensors &&
                 uses->list[op->outputs[j] - uses->plan->state_tensors] == n;
    return begins;
}

/* What a tree adds up is not whole before the last micro-batch, so no other op of micro_batch may use it. */
static bool fits(const first_uses *uses, const firn_fb_op_record *op, uint8_t phase, uint32_t n) {
    const uint16_t tree = FIRN_OP_accumulate_tree;
    if (phase != FIRN_FB_PHASE_KIND_MICRO_BATCH)
        return op->code != tree;
    if (op->code == FIRN_OP_accumulate || are_begun_by_another(uses, op->inputs, op->inputs_count, tree, n) ||
        are_begun_by_another(uses, op->outputs, op->outputs_count, tree, n))
        return false;
    return op->code != tree || (begins_outputs(uses, op, n) &&
                                op->integers[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] == (int64_t)uses->plan->micro_batches);
}

bool firn_semantics_is_tree(const firn_fb_plan_record *plan, const uint32_t *first_touches) {
    const first_uses uses = {plan, first_touches};
    const bool tree = firn_semantics_adds_tree(plan);
    uint8_t phase;
    firn_fb_op_record op;
    bool good =
        !tree || (plan->micro_batches >= 2 &&
                  firn_semantics_has_one_writer(plan, plan->loss, FIRN_OP_accumulate_tree,
                                                FIRN_ACCUMULATE_TREE_OUT_TOTAL, FIRN_FB_PHASE_KIND_MICRO_BATCH, &op));
    for (uint32_t n = 0; good && firn_semantics_read_op(plan, n, &op, &phase); n++)
        good = tree ? fits(&uses, &op, phase, n) : op.code != FIRN_OP_accumulate_tree;
    return good;
}
