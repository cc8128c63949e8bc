/* Convolutions of images and their gradients: plan/NUMERICS.md, "conv". Each direction determines which terms are there
 * and where their factors lie; sums.c adds them. What lies outside the image is absent. Freestanding. */
#include "runtime/kernels/images/images.h"
#include "runtime/kernels/images/sums.h"

enum { ROWS = FIRN_SUMS_ROWS, LANES = FIRN_SUMS_LANES };

/* --- the three tensors -------------------------------------------------------------------------------------------- */

typedef struct conv {
    const firn_tensor *image, *weight, *result; /* x or dx; weight or dweight; y or dy */
    const firn_tensor *bias, *out;              /* bias: NULL, or one value for each output */
    const firn_reduction *reduction;
    firn_window window[FIRN_AXES];
    size_t groups, inputs, outputs; /* inputs and outputs of a group */
    /* One input and one output in each group: the lanes of a tile are groups, and each has a left factor of its own. */
    bool by_channel;
    /* The lanes of all tiles: `lane_groups` groups of `lanes`, each cut into `blocks`. */
    size_t lane_groups, lanes, blocks;
} conv;

_Static_assert((int)FIRN_CONV_STRIDE == (int)FIRN_CONV_BACKWARD_INPUT_STRIDE &&
                   (int)FIRN_CONV_STRIDE == (int)FIRN_CONV_BACKWARD_WEIGHT_STRIDE &&
                   (int)FIRN_CONV_GROUPS == (int)FIRN_CONV_BACKWARD_INPUT_GROUPS &&
                   (int)FIRN_CONV_GROUPS == (int)FIRN_CONV_BACKWARD_WEIGHT_GROUPS &&
                   (int)FIRN_CONV_REDUCTION_PRODUCTS == (int)FIRN_CONV_BACKWARD_INPUT_REDUCTION_PRODUCTS &&
                   (int)FIRN_CONV_REDUCTION_PRODUCTS == (int)FIRN_CONV_BACKWARD_WEIGHT_REDUCTION_PRODUCTS,
               "all directions have the same attributes");

/* Fills in what the attributes and the three tensors determine. */
static void describe(conv *c, const firn_kernel_call *call) {
    const uint32_t *dims = c->weight->dims;
    c->reduction = &call->reductions[FIRN_CONV_REDUCTION_PRODUCTS];
    c->bias = NULL;
    c->out = &call->outputs[0];
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        c->window[axis] =
            firn_window_along(&call->integers[FIRN_CONV_STRIDE], axis, dims[(int)FIRN_WEIGHT_ROWS + axis]);
    c->groups = (size_t)call->integers[FIRN_CONV_GROUPS];
    c->inputs = dims[FIRN_WEIGHT_INPUTS];
    c->outputs = dims[FIRN_WEIGHT_OUTPUTS] / c->groups;
    c->by_channel = c->inputs == 1 && c->outputs == 1;
}

/* lanes: those of a group. */
static void set_lanes(conv *c, size_t lanes) {
    c->lane_groups = c->by_channel ? 1 : c->groups;
    c->lanes = c->by_channel ? c->groups : lanes;
    c->blocks = firn_ceiling(c->lanes, LANES);
}

/* Tasks are tiles: rows by rows, and among these the groups and blocks of their lanes. */
typedef struct tile {
    size_t rows; /* number of the block of rows */
    size_t group, first_lane, lanes;
} tile;

static tile tile_of(const conv *c, size_t number) {
    const size_t across = number % (c->lane_groups * c->blocks), first = across % c->blocks * LANES;
    return (tile){number / (c->lane_groups * c->blocks), across / c->blocks, first,
                  firn_smaller(LANES, c->lanes - first)};
}

/* Element (row, column, 0) of the weight of an output. */
static size_t weight_at(const conv *c, size_t output, size_t row, size_t column) {
    return ((output * c->window[FIRN_ROWS].elements + row) * c->window[FIRN_COLUMNS].elements + column) * c->inputs;
}

/* The elements of the weight of an output. */
static size_t weight_of_output(const conv *c) {
    return weight_at(c, 1, 0, 0);
}

static void run_tiles(const firn_kernel_call *call, conv *c, size_t row_blocks, size_t terms, firn_task_body body) {
    firn_parallel_run(&call->parallel, row_blocks * c->lane_groups * c->blocks,
                      (uint64_t)ROWS * firn_smaller(LANES, c->lanes) * terms, body, c);
}

/* --- y[n,i,j,o] = sum over r, s, c of x[n,h,w,c] weight[o,r,s,c], + bias[o] --------------------------------------- */

/* Sets where the element (r, s) of each row's window lies in x. False if it lies outside the image for all of them. */
static bool windows_have(const conv *c, firn_run *run, const tile *t, const firn_place *places, size_t rows, size_t r,
                         size_t s) {
    const size_t height = firn_image_height(c->image), width = firn_image_width(c->image);
    const size_t channels = firn_image_channels(c->image);
    bool any = false;
    for (size_t row = 0; row < rows; row++) {
        /* Before the image this wraps around to what is larger than any extent. */
        const size_t h = firn_window_at(&c->window[FIRN_ROWS], places[row].row, r);
        const size_t w = firn_window_at(&c->window[FIRN_COLUMNS], places[row].column, s);
        const bool present = h < height && w < width;
        run->left_first[row] = FIRN_NO_TERMS;
        if (present)
            run->left_first[row] = firn_image_number(c->image, places[row].sample, h, w) * channels +
                                   (c->by_channel ? t->first_lane : t->group * c->inputs);
        any = any || present;
    }
    return any;
}

/* Elements of a line of a window that lie in the image for all rows, and side by side in x and in the weight: their
 * terms are one run. */
static firn_span common_columns(const conv *c, const firn_place *places, size_t rows) {
    const firn_window *window = &c->window[FIRN_COLUMNS];
    firn_span common = {0, c->groups == 1 && window->dilation == 1 ? window->elements : 0};
    for (size_t row = 0; row < rows && common.end != 0; row++) {
        const firn_span own = firn_window_elements(window, places[row].column, firn_image_width(c->image));
        common.begin = common.begin > own.begin ? common.begin : own.begin;
        common.end = firn_smaller(common.end, own.end);
    }
    return common;
}

static void add_bias(const conv *c, firn_sums *sums, size_t output) {
    float values[LANES];
    firn_widen(values, c->bias->data, c->bias->type, output, sums->lanes);
    for (size_t row = 0; row < sums->rows; row++)
        for (size_t lane = 0; lane < sums->lanes; lane++)
            sums->values[row][lane] += values[lane];
}

static void forward_tiles(void *argument, size_t begin, size_t end) {
    const conv *c = argument;
    const size_t all = firn_rows(c->result), outputs = c->groups * c->outputs;
    for (size_t number = begin; number < end; number++) {
        const tile t = tile_of(c, number);
        const size_t position = t.rows * ROWS, rows = firn_smaller(ROWS, all - position);
        const size_t output = t.group * c->outputs + t.first_lane;
        firn_place places[ROWS];
        firn_sums sums;
        firn_run run = {.left = c->image,
                        .right = c->weight,
                        .left_step = 1,
                        .right_step = 1,
                        .right_lane_step = weight_of_output(c),
                        .own_lanes = c->by_channel};
        firn_sums_begin(&sums, c->reduction, rows, t.lanes);
        for (size_t row = 0; row < rows; row++)
            places[row] = firn_image_place(c->result, position + row);
        const firn_span common = common_columns(c, places, rows);
        for (size_t r = 0; r < c->window[FIRN_ROWS].elements; r++)
            for (size_t s = 0, columns; s < c->window[FIRN_COLUMNS].elements; s += columns) {
                columns = s == common.begin && s < common.end ? common.end - s : 1;
                if (!windows_have(c, &run, &t, places, rows, r, s) && !firn_sums_take_all(&sums))
                    continue;
                run.k = weight_at(c, 0, r, s);
                run.count = columns * c->inputs;
                run.right_first = weight_at(c, output, r, s);
                firn_sums_add(&sums, &run);
            }
        firn_sums_end(&sums);
        if (c->bias != NULL)
            add_bias(c, &sums, output);
        for (size_t row = 0; row < rows; row++)
            firn_narrow(c->out->data, c->out->type, (position + row) * outputs + output, sums.values[row], t.lanes);
    }
}

void firn_kernel_conv(const firn_kernel_call *call) {
    conv c = {.image = &call->inputs[FIRN_CONV_IN_X],
              .weight = &call->inputs[FIRN_CONV_IN_WEIGHT],
              .result = &call->outputs[FIRN_CONV_OUT_Y]};
    describe(&c, call);
    c.bias = firn_call_input(call, FIRN_CONV_IN_BIAS);
    set_lanes(&c, c.outputs);
    run_tiles(call, &c, firn_ceiling(firn_rows(c.result), ROWS), weight_of_output(&c), forward_tiles);
}

/* --- dx[n,h,w,c] = sum over r, s, o of dy[n,i,j,o] weight[o,r,s,c] ------------------------------------------------ */

/* Sets where dy has the window whose element (r, s) is each row's place. False if there is none for all of them. */
static bool places_are_in(const conv *c, firn_run *run, const tile *t, const firn_place *places, size_t rows, size_t r,
                          size_t s) {
    const size_t channels = firn_image_channels(c->result);
    bool any = false;
    for (size_t row = 0; row < rows; row++) {
        size_t i, j;
        const bool present =
            firn_window_over(&c->window[FIRN_ROWS], places[row].row, r, firn_image_height(c->result), &i) &&
            firn_window_over(&c->window[FIRN_COLUMNS], places[row].column, s, firn_image_width(c->result), &j);
        run->left_first[row] = FIRN_NO_TERMS;
        if (present)
            run->left_first[row] = firn_image_number(c->result, places[row].sample, i, j) * channels +
                                   (c->by_channel ? t->first_lane : t->group * c->outputs);
        any = any || present;
    }
    return any;
}

static void backward_input_tiles(void *argument, size_t begin, size_t end) {
    const conv *c = argument;
    const size_t all = firn_rows(c->image), inputs = c->groups * c->inputs;
    for (size_t number = begin; number < end; number++) {
        const tile t = tile_of(c, number);
        const size_t position = t.rows * ROWS, rows = firn_smaller(ROWS, all - position);
        firn_place places[ROWS];
        firn_sums sums;
        firn_run run = {.left = c->result,
                        .right = c->weight,
                        .count = c->outputs,
                        .left_step = 1,
                        .right_step = weight_of_output(c),
                        .right_lane_step = c->by_channel ? weight_of_output(c) : 1,
                        .own_lanes = c->by_channel};
        firn_sums_begin(&sums, c->reduction, rows, t.lanes);
        for (size_t row = 0; row < rows; row++)
            places[row] = firn_image_place(c->image, position + row);
        for (size_t r = 0; r < c->window[FIRN_ROWS].elements; r++)
            for (size_t s = 0; s < c->window[FIRN_COLUMNS].elements; s++) {
                if (!places_are_in(c, &run, &t, places, rows, r, s) && !firn_sums_take_all(&sums))
                    continue;
                run.k = (r * c->window[FIRN_COLUMNS].elements + s) * c->outputs;
                run.right_first = c->by_channel ? weight_at(c, t.first_lane, r, s)
                                                : weight_at(c, t.group * c->outputs, r, s) + t.first_lane;
                firn_sums_add(&sums, &run);
            }
        firn_sums_end(&sums);
        for (size_t row = 0; row < rows; row++)
            firn_narrow(c->out->data, c->out->type, (position + row) * inputs + t.group * c->inputs + t.first_lane,
                        sums.values[row], t.lanes);
    }
}

void firn_kernel_conv_backward_input(const firn_kernel_call *call) {
    conv c = {.image = &call->outputs[FIRN_CONV_BACKWARD_INPUT_OUT_DX],
              .weight = &call->inputs[FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT],
              .result = &call->inputs[FIRN_CONV_BACKWARD_INPUT_IN_DY]};
    describe(&c, call);
    set_lanes(&c, c.inputs);
    run_tiles(call, &c, firn_ceiling(firn_rows(c.image), ROWS), weight_of_output(&c) / c.inputs * c.outputs,
              backward_input_tiles);
}

/* --- dweight[o,r,s,c] = sum over n, i, j of dy[n,i,j,o] x[n,h,w,c] ------------------------------------------------ */

/* Adds the terms [j.begin, j.end) of a line i of a sample, whose other factors are the image's from element
 * right_first on. left_channel: the first channel of dy that the tile has. */
static void add_windows(const conv *c, firn_sums *sums, firn_run *run, size_t sample, size_t i, firn_span j,
                        size_t left_channel, size_t right_first) {
    if (j.begin >= j.end)
        return;
    run->k = firn_image_number(c->result, sample, i, j.begin);
    run->count = j.end - j.begin;
    for (size_t row = 0; row < sums->rows; row++)
        run->left_first[row] = run->k * firn_image_channels(c->result) + left_channel + row;
    run->right_first = right_first;
    firn_sums_add(sums, run);
}

/* Adds the terms of a line i of a sample at (r, s) of the weight. left_channel, right_channel: the first channels of dy
 * and of x that the tile has. */
static void add_line(const conv *c, firn_sums *sums, firn_run *run, size_t sample, size_t i, size_t r, size_t s,
                     size_t left_channel, size_t right_channel) {
    const firn_window *columns = &c->window[FIRN_COLUMNS];
    const size_t width = firn_image_width(c->result), h = firn_window_at(&c->window[FIRN_ROWS], i, r);
    firn_span j = firn_window_positions(columns, s, firn_image_width(c->image), width);
    if (h >= firn_image_height(c->image) || j.begin >= j.end)
        j = (firn_span){width, width};
    if (firn_sums_take_all(sums))
        add_windows(c, sums, run, sample, i, (firn_span){0, j.begin}, left_channel, FIRN_NO_TERMS);
    add_windows(c, sums, run, sample, i, j, left_channel,
                firn_image_number(c->image, sample, h, firn_window_at(columns, j.begin, s)) *
                        firn_image_channels(c->image) +
                    right_channel);
    if (firn_sums_take_all(sums))
        add_windows(c, sums, run, sample, i, (firn_span){j.end, width}, left_channel, FIRN_NO_TERMS);
}

/* Returns the lines of windows that have a term at row r of the weight, or all where absent terms take part. */
static firn_span lines_at(const conv *c, const firn_sums *sums, size_t r) {
    const size_t lines = firn_image_height(c->result);
    if (firn_sums_take_all(sums))
        return (firn_span){0, lines};
    return firn_window_positions(&c->window[FIRN_ROWS], r, firn_image_height(c->image), lines);
}

/* A block of rows: outputs of a group at one row and column of the weight. */
static void backward_weight_tiles(void *argument, size_t begin, size_t end) {
    const conv *c = argument;
    const firn_window *window = c->window;
    const size_t samples = firn_rows(c->image) / (firn_image_height(c->image) * firn_image_width(c->image));
    const size_t kernel = (size_t)window[FIRN_ROWS].elements * window[FIRN_COLUMNS].elements;
    for (size_t number = begin; number < end; number++) {
        const tile t = tile_of(c, number);
        const size_t r = t.rows % kernel / window[FIRN_COLUMNS].elements;
        const size_t s = t.rows % kernel % window[FIRN_COLUMNS].elements;
        const size_t first = t.rows / kernel * ROWS; /* output of the group */
        const size_t rows = c->by_channel ? 1 : firn_smaller(ROWS, c->outputs - first);
        const size_t output = c->by_channel ? t.first_lane : t.group * c->outputs + first;
        const size_t input = t.group * c->inputs + t.first_lane;
        firn_sums sums;
        firn_run run = {.left = c->result,
                        .right = c->image,
                        .left_step = firn_image_channels(c->result),
                        .right_step = firn_image_channels(c->image) * window[FIRN_COLUMNS].stride,
                        .right_lane_step = 1,
                        .own_lanes = c->by_channel};
        firn_sums_begin(&sums, c->reduction, rows, t.lanes);
        const firn_span i = lines_at(c, &sums, r);
        for (size_t n = 0; n < samples; n++)
            for (size_t line = i.begin; line < i.end; line++)
                add_line(c, &sums, &run, n, line, r, s, output, input);
        firn_sums_end(&sums);
        for (size_t row = 0; row < rows && !c->by_channel; row++)
            firn_narrow(c->out->data, c->out->type, weight_at(c, output + row, r, s) + t.first_lane, sums.values[row],
                        t.lanes);
        for (size_t lane = 0; lane < t.lanes && c->by_channel; lane++)
            firn_store(c->out->data, c->out->type, weight_at(c, output + lane, r, s), sums.values[0][lane]);
    }
}

/* With few channels in a group the lanes are its outputs instead, and the rows are columns of the weight at one row and
 * channel. Each has its own range of windows in a line. */
typedef struct column_block {
    size_t first;            /* column of row 0 */
    firn_span windows[ROWS]; /* whose element in that column lies in the image */
    firn_span any, common;   /* those of at least one row, and of all */
} column_block;

static column_block columns_of(const conv *c, size_t first, size_t rows) {
    column_block own = {.first = first, .any = {SIZE_MAX, 0}, .common = {0, SIZE_MAX}};
    for (size_t row = 0; row < rows; row++) {
        const firn_span span = firn_window_positions(&c->window[FIRN_COLUMNS], first + row, firn_image_width(c->image),
                                                     firn_image_width(c->result));
        own.windows[row] = span;
        own.any.begin = firn_smaller(own.any.begin, span.begin);
        own.any.end = own.any.end > span.end ? own.any.end : span.end;
        own.common.begin = own.common.begin > span.begin ? own.common.begin : span.begin;
        own.common.end = firn_smaller(own.common.end, span.end);
    }
    return own;
}

/* Adds the terms of a line i of a sample at row r of the weight. */
static void add_line_by_columns(const conv *c, firn_sums *sums, firn_run *run, const column_block *own, size_t sample,
                                size_t i, size_t r, size_t input, size_t output) {
    const size_t h = firn_window_at(&c->window[FIRN_ROWS], i, r), line = firn_image_number(c->image, sample, h, 0);
    const bool inside = h < firn_image_height(c->image), all = firn_sums_take_all(sums);
    const firn_span any = all ? (firn_span){0, firn_image_width(c->result)} : own->any;
    for (size_t j = any.begin; j < any.end; j += run->count) {
        run->k = firn_image_number(c->result, sample, i, j);
        run->count = j == own->common.begin && j < own->common.end ? own->common.end - j : 1;
        run->right_first = run->k * firn_image_channels(c->result) + output;
        for (size_t row = 0; row < sums->rows; row++) {
            const firn_span *windows = &own->windows[row];
            const size_t w = firn_window_at(&c->window[FIRN_COLUMNS], j, own->first + row);
            run->left_first[row] = inside && j >= windows->begin && j < windows->end
                                       ? (line + w) * firn_image_channels(c->image) + input
                                       : FIRN_NO_TERMS;
        }
        firn_sums_add(sums, run);
    }
}

static void backward_weight_column_tiles(void *argument, size_t begin, size_t end) {
    const conv *c = argument;
    const firn_window *window = c->window;
    const size_t samples = firn_rows(c->image) / (firn_image_height(c->image) * firn_image_width(c->image));
    const size_t blocks = firn_ceiling(window[FIRN_COLUMNS].elements, ROWS);
    for (size_t number = begin; number < end; number++) {
        const tile t = tile_of(c, number);
        const size_t first = t.rows % blocks * ROWS, input = t.rows / blocks % c->inputs;
        const size_t r = t.rows / blocks / c->inputs, output = t.group * c->outputs + t.first_lane;
        const size_t rows = firn_smaller(ROWS, window[FIRN_COLUMNS].elements - first);
        const column_block own = columns_of(c, first, rows);
        firn_sums sums;
        firn_run run = {.left = c->image,
                        .right = c->result,
                        .left_step = firn_image_channels(c->image) * window[FIRN_COLUMNS].stride,
                        .right_step = firn_image_channels(c->result),
                        .right_lane_step = 1};
        firn_sums_begin(&sums, c->reduction, rows, t.lanes);
        const firn_span i = lines_at(c, &sums, r);
        for (size_t n = 0; n < samples; n++)
            for (size_t line = i.begin; line < i.end; line++)
                add_line_by_columns(c, &sums, &run, &own, n, line, r, t.group * c->inputs + input, output);
        firn_sums_end(&sums);
        for (size_t row = 0; row < rows; row++)
            for (size_t lane = 0; lane < t.lanes; lane++)
                firn_store(c->out->data, c->out->type, weight_at(c, output + lane, r, first + row) + input,
                           sums.values[row][lane]);
    }
}

void firn_kernel_conv_backward_weight(const firn_kernel_call *call) {
    conv c = {.image = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X],
              .weight = &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT],
              .result = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY]};
    describe(&c, call);
    const size_t rows = c.window[FIRN_ROWS].elements, columns = c.window[FIRN_COLUMNS].elements;
    const bool by_columns = c.inputs < LANES && c.inputs < c.outputs;
    set_lanes(&c, by_columns ? c.outputs : c.inputs);
    if (by_columns)
        run_tiles(call, &c, rows * c.inputs * firn_ceiling(columns, ROWS), firn_rows(c.result),
                  backward_weight_column_tiles);
    else
        run_tiles(call, &c, rows * columns * firn_ceiling(c.outputs, ROWS), firn_rows(c.result), backward_weight_tiles);
}
