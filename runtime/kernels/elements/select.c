/* Selects one of two operands by a condition; all are repeated to the extents of the result. Freestanding. */
#include "runtime/kernels/elements/broadcast.h"
#include "runtime/numerics/half.h"

static const uint32_t one_extent = 1;
static const float no_value = 0.0f;

/* Stands for an operand that the op does not have. */
static const firn_tensor zero = {
    .data = (void *)&no_value, .elements = 1, .dims = &one_extent, .type = FIRN_FLOAT32, .rank = 1};

typedef struct selection {
    const firn_kernel_call *call;
    firn_broadcast condition, a, b;
} selection;

static void select_blocks(void *argument, size_t begin, size_t end) {
    const selection *s = argument;
    const firn_tensor *y = &s->call->outputs[FIRN_SELECT_OUT_Y];
    float conditions[FIRN_BLOCK], values[FIRN_BLOCK], others[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(y->elements, block);
        const float *cs = firn_broadcast_floats(&s->condition, conditions, block, count);
        const float *as = firn_broadcast_floats(&s->a, values, block, count);
        const float *bs = firn_broadcast_floats(&s->b, others, block, count);
        for (size_t i = 0; i < count; i++)
            conditions[i] = firn_select_float(cs[i] != 0.0f, as[i], bs[i]);
        firn_block_narrow(y, block, conditions, count);
    }
}

void firn_kernel_select(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_SELECT_OUT_Y];
    const firn_tensor *a = firn_call_input(call, FIRN_SELECT_IN_A), *b = firn_call_input(call, FIRN_SELECT_IN_B);
    selection s = {.call = call};
    firn_broadcast_begin(&s.condition, &call->inputs[FIRN_SELECT_IN_CONDITION], y);
    firn_broadcast_begin(&s.a, a != NULL ? a : &zero, y);
    firn_broadcast_begin(&s.b, b != NULL ? b : &zero, y);
    firn_run_blocks(call, select_blocks, &s);
}
