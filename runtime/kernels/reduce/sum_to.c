/* The sum over the dimensions along which a tensor was repeated: the gradient of a repeated operand. Unlike reduce_sum,
 * it adds all terms of a result one after the other, as they lie in memory. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/axes.h"

/* The lines of x; what y has one element of along a dimension is summed. */
static void summed_lines(firn_lines *lines, const firn_tensor *x, const firn_tensor *y) {
    const uint32_t front = (uint32_t)(x->rank - y->rank);
    uint64_t mask = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        mask |= (uint64_t)(d < front || y->dims[d - front] == 1) << d;
    firn_lines_of(lines, x->dims, x->rank, mask);
}

/* Adds a line to one sum. */
static float add_line(float sum, const firn_tensor *x, size_t first, size_t count) {
    float terms[FIRN_BLOCK];
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        const size_t some = firn_smaller(FIRN_BLOCK, count - at);
        firn_widen(terms, x->data, x->type, first + at, some);
        for (size_t i = 0; i < some; i++)
            sum += terms[i];
    }
    return sum;
}

/* Sums for `count` neighbours of y, each of which has an element of each line; or for one, which has whole lines. */
static void sum_neighbours(float *sums, const firn_lines *lines, const firn_tensor *x, size_t first, size_t count) {
    float terms[FIRN_BLOCK];
    firn_line_place place;
    for (size_t i = 0; i < count; i++)
        sums[i] = 0.0f;
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced)) {
        if (lines->line_is_reduced) {
            sums[0] = add_line(sums[0], x, first + place.element, lines->line);
            continue;
        }
        firn_widen(terms, x->data, x->type, first + place.element, count);
        for (size_t i = 0; i < count; i++)
            sums[i] += terms[i];
    }
}

/* A task is a result, or a block of those of one kept position. */
static void sum_to_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_SUM_TO_IN_X], *y = &call->outputs[FIRN_SUM_TO_OUT_Y];
    firn_lines lines;
    summed_lines(&lines, x, y);
    const size_t results = lines.line_is_reduced ? 1 : lines.line, blocks = firn_blocks(results);
    float sums[FIRN_BLOCK];
    for (size_t task = begin; task < end; task++) {
        const size_t at = task % blocks * FIRN_BLOCK, count = firn_smaller(FIRN_BLOCK, results - at);
        firn_line_place kept;
        firn_line_place_set(&kept, &lines.kept, task / blocks);
        sum_neighbours(sums, &lines, x, kept.element + at, count);
        firn_narrow(y->data, y->type, task / blocks * results + at, sums, count);
    }
}

void firn_kernel_sum_to(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_SUM_TO_IN_X];
    firn_lines lines;
    summed_lines(&lines, x, &call->outputs[FIRN_SUM_TO_OUT_Y]);
    const size_t tasks = lines.kept.positions * (lines.line_is_reduced ? 1 : firn_blocks(lines.line));
    firn_split(call, tasks, 2 * (uint64_t)(x->elements / tasks), sum_to_tasks);
}
