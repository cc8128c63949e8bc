/* Sums and maxima along dimensions, with their gradients: plan/NUMERICS.md, "Sums along dimensions". Memory is read in
 * lines (axes.h). Where a line has an element of each of many results, a block of these is accumulated side by side;
 * where it belongs to one result, it is reduced as a whole. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/axes.h"

_Static_assert((int)FIRN_REDUCE_SUM_IN_X == (int)FIRN_REDUCE_MAX_IN_X &&
                   (int)FIRN_REDUCE_SUM_OUT_Y == (int)FIRN_REDUCE_MAX_OUT_Y &&
                   (int)FIRN_REDUCE_SUM_AXES == (int)FIRN_REDUCE_MAX_AXES &&
                   (int)FIRN_REDUCE_SUM_AXES == (int)FIRN_REDUCE_MAX_BACKWARD_AXES,
               "reduced_lines serves both ops and a gradient");

static void reduced_lines(firn_lines *lines, const firn_kernel_call *call, const firn_tensor *x) {
    firn_lines_of(lines, x->dims, x->rank, (uint64_t)call->integers[FIRN_REDUCE_SUM_AXES]);
}

/* --- results side by side ----------------------------------------------------------------------------------------- */

/* The blocks of a line whose elements are kept. A task is one block of one kept position. */
static size_t blocks_of(const firn_lines *lines) {
    return firn_blocks(lines->line);
}

/* A block of a task: its first element in the line, and its elements. */
typedef struct part {
    firn_line_place kept;
    size_t first, count;
    size_t result; /* number of its first result */
} part;

static void set_part(part *p, const firn_lines *lines, size_t task) {
    const size_t blocks = blocks_of(lines), position = task / blocks;
    firn_line_place_set(&p->kept, &lines->kept, position);
    p->first = task % blocks * FIRN_BLOCK;
    p->count = firn_smaller(FIRN_BLOCK, lines->line - p->first);
    p->result = position * lines->line + p->first;
}

static void sum_columns(const firn_lines *lines, const firn_tensor *x, const firn_tensor *y, size_t task) {
    float sums[FIRN_BLOCK], values[FIRN_BLOCK];
    part p;
    firn_line_place place;
    set_part(&p, lines, task);
    for (size_t i = 0; i < p.count; i++)
        sums[i] = 0.0f;
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced)) {
        firn_widen(values, x->data, x->type, p.kept.element + place.element + p.first, p.count);
        for (size_t i = 0; i < p.count; i++)
            sums[i] = sums[i] + values[i];
    }
    firn_narrow(y->data, y->type, p.result, sums, p.count);
}

static void maximum_columns(const firn_lines *lines, const firn_tensor *x, const firn_tensor *y, size_t task) {
    float maxima[FIRN_BLOCK], values[FIRN_BLOCK];
    part p;
    firn_line_place place;
    set_part(&p, lines, task);
    for (size_t i = 0; i < p.count; i++)
        maxima[i] = -firn_from_bits(FIRN_INFINITY_BITS);
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced)) {
        firn_widen(values, x->data, x->type, p.kept.element + place.element + p.first, p.count);
        for (size_t i = 0; i < p.count; i++)
            maxima[i] = firn_maximum(maxima[i], values[i]);
    }
    for (size_t i = 0; i < p.count; i++)
        maxima[i] = maxima[i] + 0.0f; /* a zero is +0 */
    firn_narrow(y->data, y->type, p.result, maxima, p.count);
}

/* --- one result --------------------------------------------------------------------------------------------------- */

static float sum_of_line(const firn_tensor *x, size_t first, size_t count) {
    float values[FIRN_BLOCK];
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        const size_t some = firn_smaller(FIRN_BLOCK, count - at);
        firn_widen(values, x->data, x->type, first + at, some);
        firn_sum_add_many(&sum, values, some);
    }
    return firn_sum_end(&sum);
}

static void sum_lines(const firn_lines *lines, const firn_tensor *x, const firn_tensor *y, size_t position) {
    firn_line_place kept, place;
    float sum = 0.0f;
    firn_line_place_set(&kept, &lines->kept, position);
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced))
        sum = sum + sum_of_line(x, kept.element + place.element, lines->line);
    firn_narrow(y->data, y->type, position, &sum, 1);
}

static void maximum_lines(const firn_lines *lines, const firn_tensor *x, const firn_tensor *y, size_t position) {
    float values[FIRN_BLOCK], maximum = -firn_from_bits(FIRN_INFINITY_BITS);
    firn_line_place kept, place;
    firn_line_place_set(&kept, &lines->kept, position);
    firn_line_place_set(&place, &lines->reduced, 0);
    for (size_t m = 0; m < lines->reduced.positions; m++, firn_line_place_next(&place, &lines->reduced))
        for (size_t at = 0; at < lines->line; at += FIRN_BLOCK) {
            const size_t some = firn_smaller(FIRN_BLOCK, lines->line - at);
            firn_widen(values, x->data, x->type, kept.element + place.element + at, some);
            maximum = firn_block_maximum(maximum, values, some);
        }
    maximum = maximum + 0.0f;
    firn_narrow(y->data, y->type, position, &maximum, 1);
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

static void sum_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_REDUCE_SUM_IN_X], *y = &call->outputs[FIRN_REDUCE_SUM_OUT_Y];
    firn_lines lines;
    reduced_lines(&lines, call, x);
    for (size_t task = begin; task < end; task++) {
        if (lines.line_is_reduced)
            sum_lines(&lines, x, y, task);
        else
            sum_columns(&lines, x, y, task);
    }
}

static void maximum_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_REDUCE_MAX_IN_X], *y = &call->outputs[FIRN_REDUCE_MAX_OUT_Y];
    firn_lines lines;
    reduced_lines(&lines, call, x);
    for (size_t task = begin; task < end; task++) {
        if (lines.line_is_reduced)
            maximum_lines(&lines, x, y, task);
        else
            maximum_columns(&lines, x, y, task);
    }
}

/* Divides the results of an op among threads; body finds the lines again. */
static void run_over(const firn_kernel_call *call, const firn_tensor *x, firn_task_body body) {
    firn_lines lines;
    reduced_lines(&lines, call, x);
    const size_t tasks = lines.kept.positions * (lines.line_is_reduced ? 1 : blocks_of(&lines));
    firn_split(call, tasks, 2 * (uint64_t)(x->elements / tasks), body);
}

/* y = the sum of x along dimensions */
void firn_kernel_reduce_sum(const firn_kernel_call *call) {
    run_over(call, &call->inputs[FIRN_REDUCE_SUM_IN_X], sum_tasks);
}

/* y = the maximum of x along dimensions */
void firn_kernel_reduce_max(const firn_kernel_call *call) {
    run_over(call, &call->inputs[FIRN_REDUCE_MAX_IN_X], maximum_tasks);
}

/* --- the gradient of the sum -------------------------------------------------------------------------------------- */

/* The dimensions that were summed have a minus sign in the attributes. */
static void summed_lines(firn_lines *lines, const firn_kernel_call *call) {
    const firn_tensor *dx = &call->outputs[FIRN_REDUCE_SUM_BACKWARD_OUT_DX];
    uint64_t mask = 0;
    for (uint8_t d = 0; d < dx->rank; d++)
        mask |= (uint64_t)(call->integers[FIRN_REDUCE_SUM_BACKWARD_D0 + d] < 0) << d;
    firn_lines_of(lines, dx->dims, dx->rank, mask);
}

/* Fills `count` elements with one value. */
static void fill(const firn_tensor *to, size_t first, size_t count, float value) {
    float values[FIRN_BLOCK];
    for (size_t i = 0; i < firn_smaller(FIRN_BLOCK, count); i++)
        values[i] = value;
    for (size_t at = 0; at < count; at += FIRN_BLOCK)
        firn_narrow(to->data, to->type, first + at, values, firn_smaller(FIRN_BLOCK, count - at));
}

/* A task is one line of dx. */
static void repeat_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_REDUCE_SUM_BACKWARD_IN_DY];
    const firn_tensor *dx = &call->outputs[FIRN_REDUCE_SUM_BACKWARD_OUT_DX];
    firn_lines lines;
    summed_lines(&lines, call);
    for (size_t task = begin; task < end; task++) {
        firn_line_place kept, place;
        const size_t position = task / lines.reduced.positions;
        firn_line_place_set(&kept, &lines.kept, position);
        firn_line_place_set(&place, &lines.reduced, task % lines.reduced.positions);
        const size_t first = kept.element + place.element;
        if (lines.line_is_reduced)
            fill(dx, first, lines.line, firn_load(dy->data, dy->type, position));
        else
            firn_copy(dx, first, dy, position * lines.line, lines.line);
    }
}

/* dx = dy, repeated along the dimensions that were summed */
void firn_kernel_reduce_sum_backward(const firn_kernel_call *call) {
    firn_lines lines;
    summed_lines(&lines, call);
    firn_split(call, lines.kept.positions * lines.reduced.positions, 2 * lines.line, repeat_tasks);
}

/* --- the gradient of the maximum ---------------------------------------------------------------------------------- */

static inline bool is_largest(float x, float largest) {
    return x == largest || (x != x && largest != largest);
}

/* The operands of reduce_max_backward. */
typedef struct sharing {
    firn_lines lines;
    const firn_tensor *dy, *x, *y, *dx;
} sharing;

static void share_columns(const sharing *s, size_t task) {
    float values[FIRN_BLOCK], largest[FIRN_BLOCK], shares[FIRN_BLOCK];
    size_t counts[FIRN_BLOCK];
    const firn_axes *reduced = &s->lines.reduced;
    part p;
    firn_line_place place;
    set_part(&p, &s->lines, task);
    firn_widen(largest, s->y->data, s->y->type, p.result, p.count);
    firn_widen(shares, s->dy->data, s->dy->type, p.result, p.count);
    for (size_t i = 0; i < p.count; i++)
        counts[i] = 0;
    firn_line_place_set(&place, reduced, 0);
    for (size_t m = 0; m < reduced->positions; m++, firn_line_place_next(&place, reduced)) {
        firn_widen(values, s->x->data, s->x->type, p.kept.element + place.element + p.first, p.count);
        for (size_t i = 0; i < p.count; i++)
            counts[i] += is_largest(values[i], largest[i]);
    }
    for (size_t i = 0; i < p.count; i++)
        shares[i] = shares[i] / (float)counts[i];
    firn_line_place_set(&place, reduced, 0);
    for (size_t m = 0; m < reduced->positions; m++, firn_line_place_next(&place, reduced)) {
        const size_t first = p.kept.element + place.element + p.first;
        firn_widen(values, s->x->data, s->x->type, first, p.count);
        for (size_t i = 0; i < p.count; i++)
            values[i] = is_largest(values[i], largest[i]) ? shares[i] : 0.0f;
        firn_narrow(s->dx->data, s->dx->type, first, values, p.count);
    }
}

/* Counts the largest elements of a line, and gives each its share where that is not NULL. */
static size_t share_line(const sharing *s, size_t first, float largest, const float *share) {
    float values[FIRN_BLOCK];
    size_t found = 0;
    for (size_t at = 0; at < s->lines.line; at += FIRN_BLOCK) {
        const size_t some = firn_smaller(FIRN_BLOCK, s->lines.line - at);
        firn_widen(values, s->x->data, s->x->type, first + at, some);
        for (size_t i = 0; i < some; i++) {
            const bool is_one = is_largest(values[i], largest);
            found += is_one;
            values[i] = is_one && share != NULL ? *share : 0.0f;
        }
        if (share != NULL)
            firn_narrow(s->dx->data, s->dx->type, first + at, values, some);
    }
    return found;
}

static void share_lines(const sharing *s, size_t position) {
    const firn_axes *reduced = &s->lines.reduced;
    const float largest = firn_load(s->y->data, s->y->type, position);
    firn_line_place kept, place;
    size_t count = 0;
    firn_line_place_set(&kept, &s->lines.kept, position);
    firn_line_place_set(&place, reduced, 0);
    for (size_t m = 0; m < reduced->positions; m++, firn_line_place_next(&place, reduced))
        count += share_line(s, kept.element + place.element, largest, NULL);
    const float share = firn_load(s->dy->data, s->dy->type, position) / (float)count;
    firn_line_place_set(&place, reduced, 0);
    for (size_t m = 0; m < reduced->positions; m++, firn_line_place_next(&place, reduced))
        share_line(s, kept.element + place.element, largest, &share);
}

static void share_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    sharing s = {.dy = &call->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_DY],
                 .x = &call->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_X],
                 .y = &call->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_Y],
                 .dx = &call->outputs[FIRN_REDUCE_MAX_BACKWARD_OUT_DX]};
    reduced_lines(&s.lines, call, s.x);
    for (size_t task = begin; task < end; task++) {
        if (s.lines.line_is_reduced)
            share_lines(&s, task);
        else
            share_columns(&s, task);
    }
}

/* dx = dy / the number of largest elements, at each of them */
void firn_kernel_reduce_max_backward(const firn_kernel_call *call) {
    run_over(call, &call->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_X], share_tasks);
}
