/* Own rules (plan/shapes/shape_rules.h) of the ops on images [N,H,W,C], whose windows slide over rows and columns:
 * convolutions and pools. Freestanding. */
#include "plan/shapes/shape_rules.h"
#include "plan/shapes/windows.h"

/* Dimensions of an image, and of a weight [O,rows,columns,C/groups]. */
enum { SAMPLES = 0, HEIGHT = 1, WIDTH = 2, CHANNELS = 3, IMAGE_RANK = 4 };
enum { WEIGHT_OUTPUTS = 0, WEIGHT_ROWS = 1, WEIGHT_COLUMNS = 2, WEIGHT_INPUTS = 3 };

/* --- windows ---------------------------------------------------------------------------------------------------- */

static bool both_from(int64_t pair, uint32_t least) {
    return is_word(pair, 0) && firn_pair_part(pair, FIRN_ROWS) >= least && firn_pair_part(pair, FIRN_COLUMNS) >= least;
}

/* Whether the attributes of windows (windows.h) are in their ranges. */
static bool are_windows(const int64_t *attributes) {
    return both_from(attributes[FIRN_WINDOW_STRIDE], 1) && both_from(attributes[FIRN_WINDOW_DILATION], 1) &&
           both_from(attributes[FIRN_WINDOW_BEFORE], 0) && both_from(attributes[FIRN_WINDOW_AFTER], 0);
}

/* The number of windows along a dimension of this extent. 0: none fits. Below 2^33, as all parts are. */
static uint64_t windows_along(const firn_window *window, uint32_t extent) {
    const uint64_t padded = (uint64_t)extent + window->before + window->after;
    const uint64_t span = (uint64_t)(window->elements - 1) * window->dilation + 1;
    return padded < span ? 0 : firn_divide(padded - span, window->stride, NULL) + 1;
}

/* Whether `positions` has as many rows and columns as there are windows on `image`, [N,H,W,...] both. kernel: rows and
 * columns of a window. */
static bool are_positions(const firn_shape *positions, const firn_shape *image, const int64_t *attributes,
                          const uint32_t kernel[FIRN_AXES]) {
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++) {
        const firn_window window = firn_window_along(attributes, axis, kernel[axis]);
        if (windows_along(&window, image->dims[HEIGHT + axis]) != positions->dims[HEIGHT + axis])
            return false;
    }
    return positions->dims[SAMPLES] == image->dims[SAMPLES];
}

/* Sets an output to one row of `channels` for each window on the image. */
static int set_positions(firn_shape *output, const firn_shape *image, const int64_t *attributes,
                         const uint32_t kernel[FIRN_AXES], uint32_t channels) {
    uint32_t dims[IMAGE_RANK] = {[SAMPLES] = image->dims[SAMPLES], [CHANNELS] = channels};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++) {
        const firn_window window = firn_window_along(attributes, axis, kernel[axis]);
        const uint64_t count = windows_along(&window, image->dims[HEIGHT + axis]);
        if (count < 1 || count > UINT32_MAX)
            return FIRN_ERROR_OP_SHAPE;
        dims[HEIGHT + axis] = (uint32_t)count;
    }
    firn_shape_set(output, IMAGE_RANK, dims);
    return FIRN_OK;
}

/* --- convolutions ----------------------------------------------------------------------------------------------- */

_Static_assert((int)FIRN_CONV_GROUPS == (int)FIRN_CONV_BACKWARD_INPUT_GROUPS &&
                   (int)FIRN_CONV_GROUPS == (int)FIRN_CONV_BACKWARD_WEIGHT_GROUPS &&
                   (int)FIRN_CONV_STRIDE == (int)FIRN_CONV_BACKWARD_INPUT_STRIDE &&
                   (int)FIRN_CONV_STRIDE == (int)FIRN_CONV_BACKWARD_WEIGHT_STRIDE &&
                   (int)FIRN_CONV_AFTER == (int)FIRN_CONV_STRIDE + (int)FIRN_WINDOW_AFTER &&
                   (int)FIRN_CONV_AFTER == (int)FIRN_CONV_BACKWARD_INPUT_AFTER &&
                   (int)FIRN_CONV_AFTER == (int)FIRN_CONV_BACKWARD_WEIGHT_AFTER,
               "the three convolutions have the same first attributes");

/* Whether there are as many groups of outputs as of inputs, and a weight with these rows and columns is allowed. */
static bool is_weight(uint32_t outputs, const uint32_t kernel[FIRN_AXES], uint32_t groups) {
    return outputs % groups == 0 && kernel[FIRN_ROWS] <= FIRN_PAIR_MAX && kernel[FIRN_COLUMNS] <= FIRN_PAIR_MAX;
}

int firn_shape_conv(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_CONV_IN_X], *weight = &s->inputs[FIRN_CONV_IN_WEIGHT];
    const firn_shape *bias = &s->inputs[FIRN_CONV_IN_BIAS];
    const uint32_t groups = (uint32_t)s->integers[FIRN_CONV_GROUPS], *kernel = &weight->dims[WEIGHT_ROWS];
    if (!are_windows(&s->integers[FIRN_CONV_STRIDE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (x->rank != IMAGE_RANK || weight->rank != IMAGE_RANK ||
        (uint64_t)groups * weight->dims[WEIGHT_INPUTS] != x->dims[CHANNELS] ||
        !is_weight(weight->dims[WEIGHT_OUTPUTS], kernel, groups) ||
        (has_input(s, FIRN_CONV_IN_BIAS) && !is_vector(bias, bias->type, weight->dims[WEIGHT_OUTPUTS])))
        return FIRN_ERROR_OP_SHAPE;
    return set_positions(&s->outputs[FIRN_CONV_OUT_Y], x, &s->integers[FIRN_CONV_STRIDE], kernel,
                         weight->dims[WEIGHT_OUTPUTS]);
}

int firn_shape_conv_backward_input(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_CONV_BACKWARD_INPUT_IN_DY];
    const firn_shape *weight = &s->inputs[FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT];
    firn_shape *dx = &s->outputs[FIRN_CONV_BACKWARD_INPUT_OUT_DX];
    const uint32_t groups = (uint32_t)s->integers[FIRN_CONV_BACKWARD_INPUT_GROUPS];
    const uint32_t *kernel = &weight->dims[WEIGHT_ROWS];
    if (!are_windows(&s->integers[FIRN_CONV_BACKWARD_INPUT_STRIDE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (dy->rank != IMAGE_RANK || weight->rank != IMAGE_RANK || dy->dims[CHANNELS] != weight->dims[WEIGHT_OUTPUTS] ||
        (uint64_t)groups * weight->dims[WEIGHT_INPUTS] > UINT32_MAX ||
        !is_weight(weight->dims[WEIGHT_OUTPUTS], kernel, groups))
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(dx, IMAGE_RANK,
                   (const uint32_t[]){dy->dims[SAMPLES], (uint32_t)s->integers[FIRN_CONV_BACKWARD_INPUT_HEIGHT],
                                      (uint32_t)s->integers[FIRN_CONV_BACKWARD_INPUT_WIDTH],
                                      groups * weight->dims[WEIGHT_INPUTS]});
    return are_positions(dy, dx, &s->integers[FIRN_CONV_BACKWARD_INPUT_STRIDE], kernel) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_conv_backward_weight(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY];
    const firn_shape *x = &s->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X];
    const uint32_t groups = (uint32_t)s->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS];
    const int64_t pair = s->integers[FIRN_CONV_BACKWARD_WEIGHT_KERNEL];
    const uint32_t kernel[FIRN_AXES] = {firn_pair_part(pair, FIRN_ROWS), firn_pair_part(pair, FIRN_COLUMNS)};
    if (!are_windows(&s->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE]) || !both_from(pair, 1))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (dy->rank != IMAGE_RANK || x->rank != IMAGE_RANK || x->dims[CHANNELS] % groups != 0 ||
        !is_weight(dy->dims[CHANNELS], kernel, groups) ||
        !are_positions(dy, x, &s->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE], kernel))
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(
        &s->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT], IMAGE_RANK,
        (const uint32_t[]){dy->dims[CHANNELS], kernel[FIRN_ROWS], kernel[FIRN_COLUMNS], x->dims[CHANNELS] / groups});
    return FIRN_OK;
}

/* --- pools ------------------------------------------------------------------------------------------------------ */

_Static_assert((int)FIRN_MAX_POOL_KERNEL == (int)FIRN_MAX_POOL_BACKWARD_KERNEL &&
                   (int)FIRN_MAX_POOL_KERNEL == (int)FIRN_AVERAGE_POOL_KERNEL &&
                   (int)FIRN_MAX_POOL_KERNEL == (int)FIRN_AVERAGE_POOL_BACKWARD_KERNEL &&
                   (int)FIRN_MAX_POOL_STRIDE == (int)FIRN_MAX_POOL_BACKWARD_STRIDE &&
                   (int)FIRN_MAX_POOL_STRIDE == (int)FIRN_AVERAGE_POOL_STRIDE &&
                   (int)FIRN_MAX_POOL_STRIDE == (int)FIRN_AVERAGE_POOL_BACKWARD_STRIDE &&
                   (int)FIRN_MAX_POOL_AFTER == (int)FIRN_MAX_POOL_STRIDE + (int)FIRN_WINDOW_AFTER,
               "all pools have the same first attributes");
_Static_assert((int)FIRN_MAX_POOL_IN_X == (int)FIRN_AVERAGE_POOL_IN_X &&
                   (int)FIRN_MAX_POOL_OUT_Y == (int)FIRN_AVERAGE_POOL_OUT_Y,
               "one rule for both");

/* Reads the rows and columns of a pool's windows. False if an attribute is out of its range. */
static bool pool_kernel(const firn_op_signature *s, uint32_t kernel[FIRN_AXES]) {
    const int64_t pair = s->integers[FIRN_MAX_POOL_KERNEL];
    kernel[FIRN_ROWS] = firn_pair_part(pair, FIRN_ROWS);
    kernel[FIRN_COLUMNS] = firn_pair_part(pair, FIRN_COLUMNS);
    return both_from(pair, 1) && are_windows(&s->integers[FIRN_MAX_POOL_STRIDE]);
}

/* The rule of both pools. */
int firn_shape_pool(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_MAX_POOL_IN_X];
    uint32_t kernel[FIRN_AXES];
    if (!pool_kernel(s, kernel))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (x->rank != IMAGE_RANK)
        return FIRN_ERROR_OP_SHAPE;
    return set_positions(&s->outputs[FIRN_MAX_POOL_OUT_Y], x, &s->integers[FIRN_MAX_POOL_STRIDE], kernel,
                         x->dims[CHANNELS]);
}

int firn_shape_max_pool_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_MAX_POOL_BACKWARD_IN_DY], *x = &s->inputs[FIRN_MAX_POOL_BACKWARD_IN_X];
    uint32_t kernel[FIRN_AXES];
    if (!pool_kernel(s, kernel))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return x->rank == IMAGE_RANK && dy->rank == IMAGE_RANK && dy->dims[CHANNELS] == x->dims[CHANNELS] &&
                   are_positions(dy, x, &s->integers[FIRN_MAX_POOL_BACKWARD_STRIDE], kernel)
               ? FIRN_OK
               : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_average_pool_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_AVERAGE_POOL_BACKWARD_IN_DY];
    firn_shape *dx = &s->outputs[FIRN_AVERAGE_POOL_BACKWARD_OUT_DX];
    uint32_t kernel[FIRN_AXES];
    if (!pool_kernel(s, kernel))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (dy->rank != IMAGE_RANK)
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(dx, IMAGE_RANK,
                   (const uint32_t[]){dy->dims[SAMPLES], (uint32_t)s->integers[FIRN_AVERAGE_POOL_BACKWARD_HEIGHT],
                                      (uint32_t)s->integers[FIRN_AVERAGE_POOL_BACKWARD_WIDTH], dy->dims[CHANNELS]});
    return are_positions(dy, dx, &s->integers[FIRN_AVERAGE_POOL_BACKWARD_STRIDE], kernel) ? FIRN_OK
                                                                                          : FIRN_ERROR_OP_SHAPE;
}
