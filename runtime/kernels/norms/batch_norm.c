/* Batch norm, over all dimensions but the last, and the running statistics of its batches. The sums of a column are of
 * runs of FIRN_SCRATCH_RUN_ROWS rows, which threads share, and their totals are added in order. Freestanding. */
#include "plan/shapes/scratch.h"
#include "runtime/kernels/blocks.h"

/* What the tasks of a call share; a task is a run of rows. */
typedef struct batch {
    const firn_kernel_call *call;
    const firn_tensor *x, *dy; /* dy: NULL in the forward op */
    const float *means;        /* NULL: not known yet */
    const float *deviations;   /* the reciprocals of the deviations or, in the ops with fixed statistics, variances */
    bool fixed;
    float epsilon; /* with variances */
    size_t rows, width;
    float *partial;
} batch;

/* Some columns of some rows of a run. */
typedef struct tile {
    size_t row, rows, at, columns;
} tile;

/* Begins with the first rows of a run, of as many columns as a block holds. */
static tile first_tile(const batch *b, size_t run, size_t at) {
    tile t = {.row = run * FIRN_SCRATCH_RUN_ROWS, .at = at, .columns = firn_smaller(FIRN_BLOCK, b->width - at)};
    const size_t left = firn_smaller(FIRN_SCRATCH_RUN_ROWS, b->rows - t.row);
    t.rows = firn_smaller(left, FIRN_BLOCK / t.columns);
    return t;
}

/* Goes on to the next rows of the run; false behind the last. */
static bool next_tile(const batch *b, size_t run, tile *t) {
    const size_t end = firn_smaller(b->rows, (run + 1) * FIRN_SCRATCH_RUN_ROWS);
    t->row += t->rows;
    t->rows = firn_smaller(t->rows, end - t->row);
    return t->row < end;
}

/* Widens the elements of a tile, which then lie without gaps. */
static void widen_tile(float *out, const firn_tensor *tensor, const batch *b, const tile *t) {
    const size_t from = t->row * b->width + t->at;
    if (t->columns == b->width)
        firn_widen_rows(out, 0, tensor->data, tensor->type, from, 0, 1, t->rows * t->columns);
    else
        firn_widen_rows(out, t->columns, tensor->data, tensor->type, from, b->width, t->rows, t->columns);
}

static void narrow_tile(const firn_tensor *tensor, const float *in, const batch *b, const tile *t) {
    const size_t from = t->row * b->width + t->at;
    if (t->columns == b->width)
        firn_narrow(tensor->data, tensor->type, from, in, t->rows * t->columns);
    else /* a tile of one row */
        for (size_t row = 0; row < t->rows; row++)
            firn_narrow(tensor->data, tensor->type, from + row * b->width, in + row * t->columns, t->columns);
}

static void set_zero(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = 0.0f;
}

/* Adds the first of `sums` sums of each column of the runs, in order. */
static void add_runs(const batch *b, size_t sum, size_t sums, float *totals) {
    set_zero(totals, b->width);
    for (size_t run = 0; run < firn_ceiling(b->rows, FIRN_SCRATCH_RUN_ROWS); run++)
        for (size_t i = 0; i < b->width; i++)
            totals[i] += b->partial[(run * sums + sum) * b->width + i];
}

static void run_tasks(batch *b, uint64_t cost, firn_task_body body) {
    firn_parallel_run(&b->call->parallel, firn_ceiling(b->rows, FIRN_SCRATCH_RUN_ROWS),
                      cost * FIRN_SCRATCH_RUN_ROWS * b->width, body, b);
}

static batch begin(const firn_kernel_call *call, const firn_tensor *x) {
    return (batch){.call = call, .x = x, .rows = firn_rows(x), .width = firn_last_extent(x)};
}

/* The reciprocals of the deviations of some columns: where they lie, or computed into the buffer. */
static const float *reciprocals_of(const batch *b, size_t at, size_t columns, float *buffer) {
    if (!b->fixed)
        return b->deviations + at;
    for (size_t i = 0; i < columns; i++)
        buffer[i] = 1.0f / firn_sqrt(b->deviations[at + i] + b->epsilon);
    return buffer;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void sum_columns(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    float x[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            float *sums = b->partial + run * b->width + at;
            tile t = first_tile(b, run, at);
            set_zero(sums, t.columns);
            do {
                widen_tile(x, b->x, b, &t);
                for (const float *row = x; row < x + t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++)
                        sums[i] += row[i];
            } while (next_tile(b, run, &t));
        }
}

static void sum_squares(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    float x[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            const float *means = b->means + at;
            float *sums = b->partial + run * b->width + at;
            tile t = first_tile(b, run, at);
            set_zero(sums, t.columns);
            do {
                widen_tile(x, b->x, b, &t);
                for (const float *row = x; row < x + t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++)
                        sums[i] += (row[i] - means[i]) * (row[i] - means[i]);
            } while (next_tile(b, run, &t));
        }
}

static void normalise(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    const float *gains = b->call->inputs[FIRN_BATCH_NORM_IN_GAIN].data;
    const float *biases = b->call->inputs[FIRN_BATCH_NORM_IN_BIAS].data;
    const firn_tensor *y = &b->call->outputs[FIRN_BATCH_NORM_OUT_Y];
    float x[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            tile t = first_tile(b, run, at);
            const float *means = b->means + at, *gain = gains + at, *bias = biases + at;
            const float *reciprocals = reciprocals_of(b, at, t.columns, buffer);
            do {
                widen_tile(x, b->x, b, &t);
                for (float *row = x; row < x + t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++)
                        row[i] = firn_fma((row[i] - means[i]) * reciprocals[i], gain[i], bias[i]);
                narrow_tile(y, x, b, &t);
            } while (next_tile(b, run, &t));
        }
}

/* y = gain (x - mean) / sqrt(variance + epsilon) + bias, with the mean and the variance of the rows */
void firn_kernel_batch_norm(const firn_kernel_call *call) {
    batch b = begin(call, &call->inputs[FIRN_BATCH_NORM_IN_X]);
    float *means = call->outputs[FIRN_BATCH_NORM_OUT_MEAN].data;
    float *reciprocals = call->outputs[FIRN_BATCH_NORM_OUT_RECIPROCAL].data;
    float *variances = call->outputs[FIRN_BATCH_NORM_OUT_VARIANCE].data;
    b.partial = call->outputs[FIRN_BATCH_NORM_OUT_PARTIAL].data;
    run_tasks(&b, 1, sum_columns);
    add_runs(&b, 0, 1, means);
    for (size_t i = 0; i < b.width; i++)
        means[i] = firn_canonical(means[i] / (float)b.rows);
    b.means = means;
    run_tasks(&b, 1, sum_squares);
    add_runs(&b, 0, 1, variances);
    for (size_t i = 0; i < b.width; i++) {
        variances[i] = firn_canonical(variances[i] / (float)b.rows);
        reciprocals[i] = firn_canonical(1.0f / firn_sqrt(variances[i] + call->reals[FIRN_BATCH_NORM_EPSILON]));
    }
    b.deviations = reciprocals;
    run_tasks(&b, 2, normalise);
}

_Static_assert((int)FIRN_BATCH_NORM_IN_GAIN == (int)FIRN_BATCH_NORM_FIXED_IN_GAIN &&
                   (int)FIRN_BATCH_NORM_IN_BIAS == (int)FIRN_BATCH_NORM_FIXED_IN_BIAS &&
                   (int)FIRN_BATCH_NORM_OUT_Y == (int)FIRN_BATCH_NORM_FIXED_OUT_Y,
               "normalise is for both");

/* The same with given statistics. */
void firn_kernel_batch_norm_fixed(const firn_kernel_call *call) {
    batch b = begin(call, &call->inputs[FIRN_BATCH_NORM_FIXED_IN_X]);
    b.means = call->inputs[FIRN_BATCH_NORM_FIXED_IN_MEAN].data;
    b.deviations = call->inputs[FIRN_BATCH_NORM_FIXED_IN_VARIANCE].data;
    b.fixed = true;
    b.epsilon = call->reals[FIRN_BATCH_NORM_FIXED_EPSILON];
    run_tasks(&b, 2, normalise);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Sums of dy, and of dy x_hat, of each column of a run. */
static void sum_gradients(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    float x[FIRN_BLOCK], dy[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            tile t = first_tile(b, run, at);
            const float *means = b->means + at, *reciprocals = reciprocals_of(b, at, t.columns, buffer);
            float *sums = b->partial + 2 * run * b->width + at, *projections = sums + b->width;
            set_zero(sums, t.columns);
            set_zero(projections, t.columns);
            do {
                widen_tile(x, b->x, b, &t);
                widen_tile(dy, b->dy, b, &t);
                for (size_t row = 0; row < t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++) {
                        sums[i] += dy[row + i];
                        projections[i] += dy[row + i] * ((x[row + i] - means[i]) * reciprocals[i]);
                    }
            } while (next_tile(b, run, &t));
        }
}

/* Leaves the gradients of gain and bias, and in the first run of the scratch their means over the rows, bias first. */
static void finish_sums(const batch *b, const firn_tensor *dgain, const firn_tensor *dbias) {
    float *gains = dgain->data, *biases = dbias->data;
    add_runs(b, 0, 2, biases);
    add_runs(b, 1, 2, gains);
    for (size_t i = 0; i < b->width; i++) {
        biases[i] = firn_canonical(biases[i]);
        gains[i] = firn_canonical(gains[i]);
        b->partial[i] = biases[i] / (float)b->rows;
        b->partial[b->width + i] = gains[i] / (float)b->rows;
    }
}

static void gradient_of_x(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    const float *gains = b->call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_GAIN].data;
    const firn_tensor *dx = &b->call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DX];
    float x[FIRN_BLOCK], dy[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            tile t = first_tile(b, run, at);
            const float *means = b->means + at, *reciprocals = b->deviations + at, *gain = gains + at;
            const float *gradients = b->partial + at, *projections = gradients + b->width;
            do {
                widen_tile(x, b->x, b, &t);
                widen_tile(dy, b->dy, b, &t);
                for (size_t row = 0; row < t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++) {
                        const float normal = (x[row + i] - means[i]) * reciprocals[i];
                        dy[row + i] =
                            (gain[i] * reciprocals[i]) * firn_fma(-normal, projections[i], dy[row + i] - gradients[i]);
                    }
                narrow_tile(dx, dy, b, &t);
            } while (next_tile(b, run, &t));
        }
}

/* dbias = sum of dy, dgain = sum of dy x_hat, dx = (dy - mean(dy) - x_hat mean(dy x_hat)) gain / deviation */
void firn_kernel_batch_norm_backward(const firn_kernel_call *call) {
    batch b = begin(call, &call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_X]);
    b.dy = &call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_DY];
    b.means = call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_MEAN].data;
    b.deviations = call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_RECIPROCAL].data;
    b.partial = call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_PARTIAL].data;
    run_tasks(&b, 2, sum_gradients);
    finish_sums(&b, &call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DGAIN],
                &call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DBIAS]);
    run_tasks(&b, 3, gradient_of_x);
}

static void scale_gradient(void *argument, size_t begin, size_t end) {
    const batch *b = argument;
    const float *gains = b->call->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_GAIN].data;
    const firn_tensor *dx = &b->call->outputs[FIRN_BATCH_NORM_FIXED_BACKWARD_OUT_DX];
    float dy[FIRN_BLOCK], buffer[FIRN_BLOCK];
    for (size_t run = begin; run < end; run++)
        for (size_t at = 0; at < b->width; at += FIRN_BLOCK) {
            tile t = first_tile(b, run, at);
            const float *gain = gains + at, *reciprocals = reciprocals_of(b, at, t.columns, buffer);
            do {
                widen_tile(dy, b->dy, b, &t);
                for (float *row = dy; row < dy + t.rows * t.columns; row += t.columns)
                    for (size_t i = 0; i < t.columns; i++)
                        row[i] = (gain[i] * reciprocals[i]) * row[i];
                narrow_tile(dx, dy, b, &t);
            } while (next_tile(b, run, &t));
        }
}

/* The same where mean and deviation depend on no row: dx = dy gain / deviation */
void firn_kernel_batch_norm_fixed_backward(const firn_kernel_call *call) {
    batch b = begin(call, &call->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_X]);
    b.dy = &call->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_DY];
    b.means = call->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_MEAN].data;
    b.deviations = call->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_VARIANCE].data;
    b.fixed = true;
    b.epsilon = call->reals[FIRN_BATCH_NORM_FIXED_BACKWARD_EPSILON];
    b.partial = call->outputs[FIRN_BATCH_NORM_FIXED_BACKWARD_OUT_PARTIAL].data;
    run_tasks(&b, 2, sum_gradients);
    finish_sums(&b, &call->outputs[FIRN_BATCH_NORM_FIXED_BACKWARD_OUT_DGAIN],
                &call->outputs[FIRN_BATCH_NORM_FIXED_BACKWARD_OUT_DBIAS]);
    run_tasks(&b, 2, scale_gradient);
}

/* --- running statistics ------------------------------------------------------------------------------------------- */

static void advance(float *next, const float *before, const float *now, float factor, float momentum, size_t count) {
    const float rest = 1.0f - momentum;
    for (size_t i = 0; i < count; i++)
        next[i] = firn_canonical(firn_fma(rest, before[i], momentum * (now[i] * factor)));
}

/* next = (1 - momentum) before + momentum now */
void firn_kernel_running_statistics(const firn_kernel_call *call) {
    const firn_tensor *mean = &call->inputs[FIRN_RUNNING_STATISTICS_IN_MEAN];
    const float *variances = call->inputs[FIRN_RUNNING_STATISTICS_IN_VARIANCE].data;
    float *means = call->outputs[FIRN_RUNNING_STATISTICS_OUT_NEXT].data, *next_variances = means + mean->elements;
    const float momentum = call->reals[FIRN_RUNNING_STATISTICS_MOMENTUM];
    const int64_t rows = call->integers[FIRN_RUNNING_STATISTICS_ROWS];
    const float *means_before = means, *variances_before = next_variances;
    if (call->moment->micro_step == 0) {
        means_before = call->inputs[FIRN_RUNNING_STATISTICS_IN_RUNNING_MEAN].data;
        variances_before = call->inputs[FIRN_RUNNING_STATISTICS_IN_RUNNING_VAR].data;
    }
    advance(means, means_before, mean->data, 1.0f, momentum, mean->elements);
    advance(next_variances, variances_before, variances, (float)rows / (float)(rows - 1), momentum, mean->elements);
}

void firn_kernel_store_statistics(const firn_kernel_call *call) {
    const firn_tensor *mean = &call->outputs[FIRN_STORE_STATISTICS_OUT_RUNNING_MEAN];
    const firn_tensor *variance = &call->outputs[FIRN_STORE_STATISTICS_OUT_RUNNING_VAR];
    const float *next = call->inputs[FIRN_STORE_STATISTICS_IN_NEXT].data;
    __builtin_memcpy(mean->data, next, mean->elements * sizeof *next);
    __builtin_memcpy(variance->data, next + mean->elements, variance->elements * sizeof *next);
}
