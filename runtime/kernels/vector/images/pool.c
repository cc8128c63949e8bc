/* The gradient of max pool over float32 images; see pool.h. The portable kernel asks for each element of the image
 * which windows it wins; here each window is read once to find its winner, and again to add to it. The windows of a
 * sample are processed in their order, which is the order in which an element's gradients are added. A task is a
 * sample. */
#include "runtime/kernels/vector/images/pool.h"

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/vector.h"

typedef struct pool {
    const float *dy, *x;
    float *dx;
    const firn_tensor *image, *positions; /* x and dy */
    firn_window window[FIRN_AXES];
} pool;

/* The elements of a window that lie in the image, and where the first of them lies. */
typedef struct elements {
    size_t rows, columns, first;
    size_t row_step, column_step; /* floats between them */
} elements;

static elements elements_of(const pool *p, size_t sample, size_t i, size_t j) {
    const firn_tensor *image = p->image;
    const firn_window *by_row = &p->window[FIRN_ROWS], *by_column = &p->window[FIRN_COLUMNS];
    const size_t channels = firn_image_channels(image), width = firn_image_width(image);
    const firn_span rows = firn_window_elements(by_row, i, firn_image_height(image));
    const firn_span columns = firn_window_elements(by_column, j, width);
    elements e = {.row_step = by_row->dilation * width * channels, .column_step = by_column->dilation * channels};
    if (rows.end <= rows.begin || columns.end <= columns.begin)
        return e;
    e.rows = rows.end - rows.begin;
    e.columns = columns.end - columns.begin;
    e.first = channels * firn_image_number(image, sample, firn_window_at(by_row, i, rows.begin),
                                           firn_window_at(by_column, j, columns.begin));
    return e;
}

/* Returns for each lane the number of the window's first largest element, by plan/NUMERICS.md: a NaN is larger than all
 * numbers. */
static inline firn_vector winners(const float *x, const elements *e, firn_lanes lanes) {
    firn_vector largest = firn_vector_load_some(lanes, x), winner = firn_vector_zero();
    float number = 0.0f;
    for (size_t row = 0; row < e->rows; row++)
        for (size_t column = 0; column < e->columns; column++, number += 1.0f) {
            const firn_vector next = firn_vector_load_some(lanes, x + row * e->row_step + column * e->column_step);
            const firn_mask decided = firn_vector_is_nan(largest);
            const firn_mask wins = firn_mask_or(firn_vector_is_less(largest, next), firn_vector_is_nan(next));
            winner = firn_vector_select(decided, winner, firn_vector_select(wins, firn_vector_fill(number), winner));
            largest = firn_vector_select(decided, largest, firn_vector_select(wins, next, largest));
        }
    return winner;
}

static inline void add_to_winners(float *dx, const elements *e, firn_lanes lanes, firn_vector winner, firn_vector dy) {
    float number = 0.0f;
    for (size_t row = 0; row < e->rows; row++)
        for (size_t column = 0; column < e->columns; column++, number += 1.0f) {
            float *at = dx + row * e->row_step + column * e->column_step;
            const firn_vector before = firn_vector_load_some(lanes, at);
            const firn_vector after = firn_vector_canonical(firn_vector_add(before, dy));
            const firn_words result =
                firn_words_if_equal(firn_vector_bits(winner), firn_vector_bits(firn_vector_fill(number)),
                                    firn_vector_bits(after), firn_vector_bits(before));
            firn_vector_store_some(at, lanes, firn_vector_from_bits(result));
        }
}

static void add_sample(const pool *p, size_t sample) {
    const size_t channels = firn_image_channels(p->image);
    const size_t height = firn_image_height(p->positions), width = firn_image_width(p->positions);
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++) {
            const elements e = elements_of(p, sample, i, j);
            const float *dy = p->dy + firn_image_number(p->positions, sample, i, j) * channels;
            for (size_t channel = 0; channel < channels && e.rows > 0; channel += FIRN_VECTOR) {
                const firn_lanes lanes = firn_first_lanes(channels - channel);
                const firn_vector winner = winners(p->x + e.first + channel, &e, lanes);
                add_to_winners(p->dx + e.first + channel, &e, lanes, winner,
                               firn_vector_load_some(lanes, dy + channel));
            }
        }
}

static void pool_samples(void *argument, size_t begin, size_t end) {
    const pool *p = argument;
    const size_t floats = p->image->elements / p->image->dims[0];
    for (size_t sample = begin; sample < end; sample++) {
        for (size_t k = 0; k < floats; k++)
            p->dx[sample * floats + k] = 0.0f;
        add_sample(p, sample);
    }
}

void firn_vector_max_pool_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_DY];
    const firn_tensor *x = &call->inputs[FIRN_MAX_POOL_BACKWARD_IN_X];
    const firn_tensor *dx = &call->outputs[FIRN_MAX_POOL_BACKWARD_OUT_DX];
    pool p = {.dy = dy->data, .x = x->data, .image = x, .positions = dy};
    p.dx = dx->data;
    uint64_t window = 1;
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++) {
        const uint32_t count = firn_pair_part(call->integers[FIRN_MAX_POOL_BACKWARD_KERNEL], axis);
        p.window[axis] = firn_window_along(&call->integers[FIRN_MAX_POOL_BACKWARD_STRIDE], axis, count);
        window *= count;
    }
    /* Numbers of elements must be exact as floats. */
    if (dy->type != FIRN_FLOAT32 || x->type != FIRN_FLOAT32 || dx->type != FIRN_FLOAT32 || window > 1u << 24) {
        firn_kernel_max_pool_backward(call);
        return;
    }
    firn_parallel_run(&call->parallel, x->dims[0], (dy->elements * window + x->elements) / x->dims[0], pool_samples,
                      &p);
}
