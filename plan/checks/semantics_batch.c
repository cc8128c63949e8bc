/* Rule 17 of FORMAT.md, losses that are divided by a divisor of the whole batch. Reached only through
 * firn_semantics_parts: a firmware without such plans leaves it out. */
#include "plan/checks/semantics_lookup.h"
#include "plan/parts.h"

/* Where an op that may have a batch divisor has its operands and ignore_index. */
typedef struct batch_loss {
    uint16_t code;
    uint8_t loss, labels, weights, divisor, ignore_index;
} batch_loss;

static const batch_loss losses[] = {
    {FIRN_OP_cross_entropy_weighted, FIRN_CROSS_ENTROPY_WEIGHTED_OUT_LOSS, FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS,
     FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS, FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR,
     FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX},
    {FIRN_OP_linear_cross_entropy, FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS, FIRN_LINEAR_CROSS_ENTROPY_IN_LABELS,
     FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS, FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR,
     FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX},
};

static uint32_t input_at(const firn_fb_op_record *op, uint8_t position) {
    return position < op->inputs_count ? op->inputs[position] : FIRN_ABSENT;
}

/* The entry of an op that has a batch divisor. */
static const batch_loss *loss_of(const firn_fb_op_record *op) {
    return op->code == losses[0].code ? &losses[0] : &losses[1];
}

_Static_assert((int)FIRN_BATCH_ROWS_IN_LABELS == (int)FIRN_BATCH_WEIGHTS_IN_LABELS &&
                   (int)FIRN_BATCH_ROWS_IGNORE_INDEX == (int)FIRN_BATCH_WEIGHTS_IGNORE_INDEX &&
                   (int)FIRN_BATCH_ROWS_OUT_DIVISOR == (int)FIRN_BATCH_WEIGHTS_OUT_DIVISOR,
               "both ops have these in the same places");

/* Whether an op of the phase count finds the divisor from the rows of the loss: with its labels and ignore_index and,
 * if there are any, its weights. Weights that are no input were computed in count, too, as another tensor. */
static bool is_counted(const firn_fb_plan_record *plan, const firn_fb_op_record *op, const batch_loss *loss) {
    const uint32_t divisor = input_at(op, loss->divisor), weights = input_at(op, loss->weights);
    const uint16_t code = weights == FIRN_ABSENT ? FIRN_OP_batch_rows : FIRN_OP_batch_weights;
    firn_fb_op_record counter;
    if (!firn_semantics_is_scalar(plan, divisor, FIRN_IN_ARENA, FIRN_FLOAT32) ||
        !firn_semantics_has_one_writer(plan, divisor, code, FIRN_BATCH_ROWS_OUT_DIVISOR, FIRN_FB_PHASE_KIND_COUNT,
                                       &counter) ||
        counter.integers[FIRN_BATCH_ROWS_IGNORE_INDEX] != op->integers[loss->ignore_index] ||
        firn_semantics_base(plan, counter.inputs[FIRN_BATCH_ROWS_IN_LABELS]) !=
            firn_semantics_base(plan, op->inputs[loss->labels]))
        return false;
    const uint32_t base = firn_semantics_base(plan, weights);
    return weights == FIRN_ABSENT || firn_semantics_input_of(plan, base) == plan->inputs_count ||
           firn_semantics_base(plan, counter.inputs[FIRN_BATCH_WEIGHTS_IN_WEIGHTS]) == base;
}

/* The loss of a micro-batch: that of the plan, or what a tree adds up to it. */
static uint32_t loss_of_micro_batch(const firn_fb_plan_record *plan) {
    firn_fb_op_record op;
    if (firn_semantics_adds_tree(plan) &&
        firn_semantics_has_one_writer(plan, plan->loss, FIRN_OP_accumulate_tree, FIRN_ACCUMULATE_TREE_OUT_TOTAL,
                                      FIRN_FB_PHASE_KIND_MICRO_BATCH, &op))
        return op.inputs[FIRN_ACCUMULATE_TREE_IN_G];
    return plan->loss;
}

bool firn_semantics_counts_batch(const firn_fb_plan_record *plan) {
    const uint32_t of_micro_batch = loss_of_micro_batch(plan);
    bool good = plan->micro_batches >= 2, divides = false;
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; good && firn_semantics_read_op(plan, n, &op, &phase); n++) {
        if (!firn_semantics_has_divisor(&op))
            continue;
        const batch_loss *loss = loss_of(&op);
        good = is_counted(plan, &op, loss);
        divides |= op.outputs[loss->loss] == of_micro_batch;
    }
    return good && divides;
}
