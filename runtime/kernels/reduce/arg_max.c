/* The place of the largest element along one dimension. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/axes.h"

/* Whether an element takes the place of the largest one before it. */
static inline bool is_above(float x, float largest, bool last) {
    if (largest != largest)
        return last && x != x;
    return x != x || x > largest || (last && x == largest);
}

static void find_in_line(const firn_lines *lines, const firn_tensor *x, size_t first, bool last, int32_t *y) {
    float values[FIRN_BLOCK], largest = firn_load(x->data, x->type, first);
    *y = 0;
    for (size_t at = 0; at < lines->line; at += FIRN_BLOCK) {
        const size_t some = firn_smaller(FIRN_BLOCK, lines->line - at);
        firn_widen(values, x->data, x->type, first + at, some);
        for (size_t i = 0; i < some; i++) {
            if (!is_above(values[i], largest, last))
                continue;
            largest = values[i];
            *y = (int32_t)(at + i);
        }
    }
}

/* For a block of results whose elements lie next to each other. */
static void find_in_columns(const firn_lines *lines, const firn_tensor *x, size_t first, size_t count, bool last,
                            int32_t *y) {
    float values[FIRN_BLOCK], largest[FIRN_BLOCK];
    firn_line_place place;
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced)) {
        firn_widen(values, x->data, x->type, first + place.element, count);
        for (size_t i = 0; i < count; i++) {
            if (m > 0 && !is_above(values[i], largest[i], last))
                continue;
            largest[i] = values[i];
            y[i] = (int32_t)m;
        }
    }
}

static void lines_of(firn_lines *lines, const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_ARG_MAX_IN_X];
    firn_lines_of(lines, x->dims, x->rank, UINT64_C(1) << call->integers[FIRN_ARG_MAX_AXIS]);
}

/* A task is a result, or a block of those of one kept position. */
static void arg_max_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_ARG_MAX_IN_X];
    const bool last = call->integers[FIRN_ARG_MAX_LAST] != 0;
    int32_t *y = call->outputs[FIRN_ARG_MAX_OUT_Y].data;
    firn_lines lines;
    lines_of(&lines, call);
    const size_t blocks = lines.line_is_reduced ? 1 : firn_blocks(lines.line);
    for (size_t task = begin; task < end; task++) {
        const size_t position = task / blocks, at = task % blocks * FIRN_BLOCK;
        firn_line_place kept;
        firn_line_place_set(&kept, &lines.kept, position);
        if (lines.line_is_reduced)
            find_in_line(&lines, x, kept.element, last, y + position);
        else
            find_in_columns(&lines, x, kept.element + at, firn_smaller(FIRN_BLOCK, lines.line - at), last,
                            y + position * lines.line + at);
    }
}

void firn_kernel_arg_max(const firn_kernel_call *call) {
    firn_lines lines;
    lines_of(&lines, call);
    const size_t tasks = lines.kept.positions * (lines.line_is_reduced ? 1 : firn_blocks(lines.line));
    firn_split(call, tasks, 2 * (uint64_t)(call->inputs[FIRN_ARG_MAX_IN_X].elements / tasks), arg_max_tasks);
}
