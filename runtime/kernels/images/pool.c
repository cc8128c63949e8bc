/* Pools of images and their gradients: plan/NUMERICS.md, "Pools". Channels are processed side by side, in blocks.
 * Freestanding. */
#include "runtime/kernels/images/images.h"

_Static_assert((int)FIRN_MAX_POOL_STRIDE == (int)FIRN_MAX_POOL_BACKWARD_STRIDE &&
                   (int)FIRN_MAX_POOL_STRIDE == (int)FIRN_AVERAGE_POOL_STRIDE &&
                   (int)FIRN_MAX_POOL_STRIDE == (int)FIRN_AVERAGE_POOL_BACKWARD_STRIDE &&
                   (int)FIRN_MAX_POOL_KERNEL == (int)FIRN_MAX_POOL_BACKWARD_KERNEL &&
                   (int)FIRN_MAX_POOL_KERNEL == (int)FIRN_AVERAGE_POOL_KERNEL &&
                   (int)FIRN_MAX_POOL_KERNEL == (int)FIRN_AVERAGE_POOL_BACKWARD_KERNEL &&
                   (int)FIRN_AVERAGE_POOL_PADDED == (int)FIRN_AVERAGE_POOL_BACKWARD_PADDED,
               "all pools have the same first attributes");

/* --- windows ------------------------------------------------------------------------------------------------------ */

typedef struct windows {
    firn_window window[FIRN_AXES];
} windows;

static windows windows_of(const firn_kernel_call *call) {
    windows w;
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        w.window[axis] = firn_window_along(&call->integers[FIRN_MAX_POOL_STRIDE], axis,
                                           firn_pair_part(call->integers[FIRN_MAX_POOL_KERNEL], axis));
    return w;
}

/* The elements of the window at (i, j) that lie in the image: rows by columns. */
typedef struct elements {
    firn_span rows, columns;
} elements;

static elements elements_of(const windows *w, const firn_tensor *image, size_t i, size_t j) {
    return (elements){firn_window_elements(&w->window[FIRN_ROWS], i, firn_image_height(image)),
                      firn_window_elements(&w->window[FIRN_COLUMNS], j, firn_image_width(image))};
}

/* The windows, of `positions`, that may have an element at this place of the image. */
static firn_span windows_near(const firn_window *window, size_t at, size_t positions) {
    const size_t from_start = at + window->before, span = (size_t)(window->elements - 1) * window->dilation;
    return (firn_span){from_start > span ? firn_ceiling(from_start - span, window->stride) : 0,
                       firn_smaller(positions, from_start / window->stride + 1)};
}

/* Whether window number `position`, one of those near, has an element at this place, and which. */
static bool is_element(const firn_window *window, size_t at, size_t position, size_t *element) {
    const size_t offset = at + window->before - position * window->stride;
    *element = offset / window->dilation;
    return offset % window->dilation == 0;
}

/* Returns `count` channels, from `channel` on, of a row of channels: where they lie, or widened to the buffer. A NaN
 * among them need not be canonical. */
static const float *channels_of(float *buffer, const firn_tensor *image, size_t number, size_t channel, size_t count) {
    const size_t first = number * firn_image_channels(image) + channel;
    if (image->type == FIRN_FLOAT32)
        return (const float *)image->data + first;
    firn_widen(buffer, image->data, image->type, first, count);
    return buffer;
}

/* The number of the row of channels of the element (r, s) of the window at (i, j). */
static size_t element_at(const windows *w, const firn_tensor *image, size_t sample, size_t i, size_t j, size_t r,
                         size_t s) {
    return firn_image_number(image, sample, firn_window_at(&w->window[FIRN_ROWS], i, r),
                             firn_window_at(&w->window[FIRN_COLUMNS], j, s));
}

/* The cost of a row of channels of output 0, for each of which the elements of windows are read. */
static uint64_t cost_of_row(const firn_kernel_call *call, const windows *w, const firn_tensor *read) {
    const uint64_t rows = firn_smaller(w->window[FIRN_ROWS].elements, firn_image_height(read));
    const uint64_t columns = firn_smaller(w->window[FIRN_COLUMNS].elements, firn_image_width(read));
    return rows * columns * 2 * firn_last_extent(&call->outputs[0]);
}

/* --- the largest element ------------------------------------------------------------------------------------------ */

/* Whether x takes the place of the largest element before it: it is larger, or the first NaN. */
static inline bool is_next(float x, float largest) {
    return (x > largest) | ((x != x) & (largest == largest)); /* without branches, so that loops become vectors */
}

static void max_pool_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_MAX_POOL_IN_X], *y = &call->outputs[FIRN_MAX_POOL_OUT_Y];
    const windows w = windows_of(call);
    const float least = -firn_from_bits(FIRN_INFINITY_BITS);
    float largest[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t number = begin; number < end; number++) {
        const firn_place at = firn_image_place(y, number);
        const elements e = elements_of(&w, x, at.row, at.column);
        for (size_t channel = 0; channel < firn_image_channels(y); channel += FIRN_BLOCK) {
            const size_t count = firn_smaller(FIRN_BLOCK, firn_image_channels(y) - channel);
            for (size_t k = 0; k < count; k++)
                largest[k] = least;
            for (size_t r = e.rows.begin; r < e.rows.end; r++)
                for (size_t s = e.columns.begin; s < e.columns.end; s++) {
                    const size_t from = element_at(&w, x, at.sample, at.row, at.column, r, s);
                    const float *element = channels_of(buffer, x, from, channel, count);
                    for (size_t k = 0; k < count; k++)
                        largest[k] = is_next(element[k], largest[k]) ? element[k] : largest[k];
                }
            firn_row_narrow(y, number, channel, largest, count);
        }
    }
}

void firn_kernel_max_pool(const firn_kernel_call *call) {
    const windows w = windows_of(call);
    firn_split(call, firn_rows(&call->outputs[FIRN_MAX_POOL_OUT_Y]),
               cost_of_row(call, &w, &call->inputs[FIRN_MAX_POOL_IN_X]), max_pool_rows);
}

/* Clears wins[k] where the element (r, s) of the window at (i, j) is not the one that max_pool takes: an element before
 * it is at least as large, or one behind it is larger. own: the element itself. */
static void keep_winners(uint32_t *wins, const float *own, const windows *w, const firn_tensor *x, size_t sample,
                         size_t i, size_t j, size_t r, size_t s, size_t channel, size_t count) {
    const elements e = elements_of(w, x, i, j);
    float buffer[FIRN_BLOCK];
    for (size_t other_r = e.rows.begin; other_r < e.rows.end; other_r++)
        for (size_t other_s = e.columns.begin; other_s < e.columns.end; other_s++) {
            if (other_r == r && other_s == s)
                continue;
            const bool before = other_r < r || (other_r == r && other_s < s);
            const size_t from = element_at(w, x, sample, i, j, other_r, other_s);
            const float *other = channels_of(buffer, x, from, channel, count);
            for (size_t k = 0; k < count && before; k++)
                wins[k] &= (uint32_t)is_next(own[k], other[k]);
            for (size_t k = 0; k < count && !before; k++)
                wins[k] &= (uint32_t)!is_next(other[k], own[k]);
        }
}

/* Adds dy of the window at (i, j) to those channels of dx of which its element (r, s) is the largest. */
static void add_won(float *dx, const float *own, const windows *w, const firn_tensor *x, const firn_tensor *dy,
                    size_t sample, size_t i, size_t j, size_t r, size_t s, size_t channel, size_t count) {
    uint32_t wins[FIRN_BLOCK];
    float buffer[FIRN_BLOCK];
    for (size_t k = 0; k < count; k++)
        wins[k] = 1;
    keep_winners(wins, own, w, x, sample, i, j, r, s, channel, count);
    const float *gradient = channels_of(buffer, dy, firn_image_number(dy, sample, i, j), channel, count);
    for (size_t k = 0; k < count; k++)
        dx[k] = wins[k] != 0 ? dx[k] + gradient[k] : dx[k];
}

static void max_pool_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_DY];
    const firn_tensor *x = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_X];
    const firn_tensor *dx = &call->outputs[FIRN_MAX_POOL_BACKWARD_OUT_DX];
    const windows w = windows_of(call);
    float sums[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t number = begin; number < end; number++) {
        const firn_place at = firn_image_place(x, number);
        const firn_span rows = windows_near(&w.window[FIRN_ROWS], at.row, firn_image_height(dy));
        const firn_span columns = windows_near(&w.window[FIRN_COLUMNS], at.column, firn_image_width(dy));
        for (size_t channel = 0; channel < firn_image_channels(x); channel += FIRN_BLOCK) {
            const size_t count = firn_smaller(FIRN_BLOCK, firn_image_channels(x) - channel);
            const float *own = channels_of(buffer, x, number, channel, count);
            size_t r, s;
            for (size_t k = 0; k < count; k++)
                sums[k] = 0;
            for (size_t i = rows.begin; i < rows.end; i++)
                for (size_t j = columns.begin; j < columns.end; j++)
                    if (is_element(&w.window[FIRN_ROWS], at.row, i, &r) &&
                        is_element(&w.window[FIRN_COLUMNS], at.column, j, &s))
                        add_won(sums, own, &w, x, dy, at.sample, i, j, r, s, channel, count);
            firn_row_narrow(dx, number, channel, sums, count);
        }
    }
}

void firn_kernel_max_pool_backward(const firn_kernel_call *call) {
    const windows w = windows_of(call);
    firn_split(call, firn_rows(&call->outputs[FIRN_MAX_POOL_BACKWARD_OUT_DX]),
               2 * cost_of_row(call, &w, &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_X]), max_pool_backward_rows);
}

/* --- the mean ----------------------------------------------------------------------------------------------------- */

/* What the sum of a window is divided by. Without an element it is 1. */
static float divisor(const firn_kernel_call *call, const windows *w, const firn_tensor *image, size_t i, size_t j) {
    const elements e = elements_of(w, image, i, j);
    if (call->integers[FIRN_AVERAGE_POOL_PADDED] != 0)
        return (float)((uint64_t)w->window[FIRN_ROWS].elements * w->window[FIRN_COLUMNS].elements);
    if (e.rows.begin >= e.rows.end || e.columns.begin >= e.columns.end)
        return 1.0f;
    return (float)((uint64_t)(e.rows.end - e.rows.begin) * (e.columns.end - e.columns.begin));
}

static void average_pool_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_AVERAGE_POOL_IN_X], *y = &call->outputs[FIRN_AVERAGE_POOL_OUT_Y];
    const windows w = windows_of(call);
    float sums[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t number = begin; number < end; number++) {
        const firn_place at = firn_image_place(y, number);
        const elements e = elements_of(&w, x, at.row, at.column);
        const float by = divisor(call, &w, x, at.row, at.column);
        for (size_t channel = 0; channel < firn_image_channels(y); channel += FIRN_BLOCK) {
            const size_t count = firn_smaller(FIRN_BLOCK, firn_image_channels(y) - channel);
            for (size_t k = 0; k < count; k++)
                sums[k] = 0;
            for (size_t r = e.rows.begin; r < e.rows.end; r++)
                for (size_t s = e.columns.begin; s < e.columns.end; s++) {
                    const size_t from = element_at(&w, x, at.sample, at.row, at.column, r, s);
                    const float *element = channels_of(buffer, x, from, channel, count);
                    for (size_t k = 0; k < count; k++)
                        sums[k] += element[k];
                }
            for (size_t k = 0; k < count; k++)
                sums[k] /= by;
            firn_row_narrow(y, number, channel, sums, count);
        }
    }
}

void firn_kernel_average_pool(const firn_kernel_call *call) {
    const windows w = windows_of(call);
    firn_split(call, firn_rows(&call->outputs[FIRN_AVERAGE_POOL_OUT_Y]),
               cost_of_row(call, &w, &call->inputs[FIRN_AVERAGE_POOL_IN_X]), average_pool_rows);
}

static void average_pool_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_AVERAGE_POOL_BACKWARD_IN_DY];
    const firn_tensor *dx = &call->outputs[FIRN_AVERAGE_POOL_BACKWARD_OUT_DX];
    const windows w = windows_of(call);
    float sums[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t number = begin; number < end; number++) {
        const firn_place at = firn_image_place(dx, number);
        const firn_span rows = windows_near(&w.window[FIRN_ROWS], at.row, firn_image_height(dy));
        const firn_span columns = windows_near(&w.window[FIRN_COLUMNS], at.column, firn_image_width(dy));
        for (size_t channel = 0; channel < firn_image_channels(dx); channel += FIRN_BLOCK) {
            const size_t count = firn_smaller(FIRN_BLOCK, firn_image_channels(dx) - channel);
            size_t r, s;
            for (size_t k = 0; k < count; k++)
                sums[k] = 0;
            for (size_t i = rows.begin; i < rows.end; i++)
                for (size_t j = columns.begin; j < columns.end; j++) {
                    if (!is_element(&w.window[FIRN_ROWS], at.row, i, &r) ||
                        !is_element(&w.window[FIRN_COLUMNS], at.column, j, &s))
                        continue;
                    const float by = divisor(call, &w, dx, i, j);
                    const size_t from = firn_image_number(dy, at.sample, i, j);
                    const float *gradient = channels_of(buffer, dy, from, channel, count);
                    for (size_t k = 0; k < count; k++)
                        sums[k] += gradient[k] / by;
                }
            firn_row_narrow(dx, number, channel, sums, count);
        }
    }
}

void firn_kernel_average_pool_backward(const firn_kernel_call *call) {
    const windows w = windows_of(call);
    firn_split(call, firn_rows(&call->outputs[FIRN_AVERAGE_POOL_BACKWARD_OUT_DX]),
               cost_of_row(call, &w, &call->inputs[FIRN_AVERAGE_POOL_BACKWARD_IN_DY]), average_pool_backward_rows);
}
