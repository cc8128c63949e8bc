/* Batch norm and its gradients, some columns of a run of rows at a time; see norms.h. The sums of a column are of runs
 * of FIRN_SCRATCH_RUN_ROWS rows, whose totals are added in order, as in runtime/kernels/norms/batch_norm.c. The type of
 * the rows is a constant after inlining. */
#include "plan/shapes/scratch.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/norms/norms.h"

enum {
    VECTORS = 4, /* registers of columns that are processed at once, at most */
    WIDEST = VECTORS * FIRN_VECTOR,
    TWO_VECTORS = 2 * FIRN_VECTOR,
};

/* What the tasks of a call share; a task is a run of rows. */
typedef struct batch {
    const firn_kernel_call *call;
    const firn_tensor *x, *dy;        /* dy: backward only */
    const float *means, *reciprocals; /* as far as they are known */
    const float *gains, *biases;
    const firn_tensor *out;
    float *partial;
    size_t rows, width;
} batch;

/* Some columns of a run: from `column` on, as many as the lanes select in so many registers. */
typedef struct tile {
    const batch *b;
    size_t run, column;
    firn_lanes lanes[VECTORS];
} tile;

typedef firn_vector line[VECTORS];

/* Processes the rows of a tile. */
typedef void (*tile_body)(uint8_t type, const tile *t, size_t vectors);

static inline size_t first_row(const tile *t) {
    return t->run * FIRN_SCRATCH_RUN_ROWS;
}

static inline size_t end_of_rows(const tile *t) {
    return firn_smaller(t->b->rows, (t->run + 1) * FIRN_SCRATCH_RUN_ROWS);
}

/* --- registers of a tile ------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void set_zero(line out, size_t vectors) {
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        out[v] = firn_vector_zero();
}

/* Loads one value for each column of the tile. */
static inline __attribute__((always_inline)) void load(line out, const tile *t, const float *values, size_t vectors) {
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        out[v] = firn_vector_load_some(t->lanes[v], values + t->column + v * FIRN_VECTOR);
}

static inline __attribute__((always_inline)) void store(const tile *t, float *values, const line in, size_t vectors) {
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        firn_vector_store_some(values + t->column + v * FIRN_VECTOR, t->lanes[v], in[v]);
}

static inline __attribute__((always_inline)) firn_vector element(uint8_t type, const firn_tensor *tensor, const tile *t,
                                                                 size_t row, size_t v) {
    return firn_vector_widen(tensor->data, type, row * t->b->width + t->column + v * FIRN_VECTOR, t->lanes[v]);
}

static inline __attribute__((always_inline)) void store_element(uint8_t type, const tile *t, size_t row, size_t v,
                                                                firn_vector x) {
    firn_vector_narrow(t->b->out->data, type, row * t->b->width + t->column + v * FIRN_VECTOR, t->lanes[v],
                       firn_vector_canonical(x));
}

/* Calls body for all columns of a run, with a constant number of registers. */
static inline __attribute__((always_inline)) void process_run(uint8_t type, const batch *b, size_t run,
                                                              tile_body body) {
    tile t = {.b = b, .run = run};
    for (size_t v = 0; v < VECTORS; v++)
        t.lanes[v] = firn_first_lanes(FIRN_VECTOR);
    for (; t.column + WIDEST <= b->width; t.column += WIDEST)
        body(type, &t, VECTORS);
    for (; t.column + TWO_VECTORS <= b->width; t.column += TWO_VECTORS)
        body(type, &t, 2);
    for (; t.column < b->width; t.column += FIRN_VECTOR) {
        t.lanes[0] = firn_first_lanes(b->width - t.column);
        body(type, &t, 1);
    }
}

/* The runs of a task. */
typedef struct runs {
    const batch *b;
    size_t begin, end;
} runs;

static inline __attribute__((always_inline)) void process_runs(uint8_t type, const void *arguments, tile_body body) {
    const runs *r = arguments;
    for (size_t run = r->begin; run < r->end; run++)
        process_run(type, r->b, run, body);
}

/* --- sums over the runs ------------------------------------------------------------------------------------------- */

/* Adds the first of `sums` sums of each column of the runs, in order. */
static void add_runs(const batch *b, size_t sum, size_t sums, float *totals) {
    for (size_t i = 0; i < b->width; i++)
        totals[i] = 0.0f;
    for (size_t run = 0; run < firn_ceiling(b->rows, FIRN_SCRATCH_RUN_ROWS); run++)
        for (size_t i = 0; i < b->width; i++)
            totals[i] += b->partial[(run * sums + sum) * b->width + i];
}

static void run_tasks(batch *b, uint64_t cost, firn_task_body body) {
    firn_parallel_run(&b->call->parallel, firn_ceiling(b->rows, FIRN_SCRATCH_RUN_ROWS),
                      cost * FIRN_SCRATCH_RUN_ROWS * b->width, body, b);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void sum_elements(uint8_t type, const tile *t, size_t vectors) {
    line sums;
    set_zero(sums, vectors);
    for (size_t row = first_row(t); row < end_of_rows(t); row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[v] = firn_vector_add(sums[v], element(type, t->b->x, t, row, v));
    }
    store(t, t->b->partial + t->run * t->b->width, sums, vectors);
}

static inline __attribute__((always_inline)) void sum_squares(uint8_t type, const tile *t, size_t vectors) {
    line sums, means;
    set_zero(sums, vectors);
    load(means, t, t->b->means, vectors);
    for (size_t row = first_row(t); row < end_of_rows(t); row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector distance = firn_vector_subtract(element(type, t->b->x, t, row, v), means[v]);
            sums[v] = firn_vector_add(sums[v], firn_vector_multiply(distance, distance));
        }
    }
    store(t, t->b->partial + t->run * t->b->width, sums, vectors);
}

static inline __attribute__((always_inline)) void normalise(uint8_t type, const tile *t, size_t vectors) {
    line means, reciprocals, gains, biases;
    load(means, t, t->b->means, vectors);
    load(reciprocals, t, t->b->reciprocals, vectors);
    load(gains, t, t->b->gains, vectors);
    load(biases, t, t->b->biases, vectors);
    for (size_t row = first_row(t); row < end_of_rows(t); row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector normal =
                firn_vector_multiply(firn_vector_subtract(element(type, t->b->x, t, row, v), means[v]), reciprocals[v]);
            store_element(type, t, row, v, firn_vector_fma(normal, gains[v], biases[v]));
        }
    }
}

static inline __attribute__((always_inline)) void sum_elements_of(uint8_t type, const void *arguments) {
    process_runs(type, arguments, sum_elements);
}

static inline __attribute__((always_inline)) void sum_squares_of(uint8_t type, const void *arguments) {
    process_runs(type, arguments, sum_squares);
}

static inline __attribute__((always_inline)) void normalise_of(uint8_t type, const void *arguments) {
    process_runs(type, arguments, normalise);
}

static void sum_task(void *argument, size_t begin, size_t end) {
    const runs r = {argument, begin, end};
    firn_for_type(r.b->x->type, sum_elements_of, &r);
}

static void square_task(void *argument, size_t begin, size_t end) {
    const runs r = {argument, begin, end};
    firn_for_type(r.b->x->type, sum_squares_of, &r);
}

static void normalise_task(void *argument, size_t begin, size_t end) {
    const runs r = {argument, begin, end};
    firn_for_type(r.b->x->type, normalise_of, &r);
}

void firn_vector_batch_norm(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_BATCH_NORM_IN_X];
    float *means = call->outputs[FIRN_BATCH_NORM_OUT_MEAN].data;
    float *reciprocals = call->outputs[FIRN_BATCH_NORM_OUT_RECIPROCAL].data;
    float *variances = call->outputs[FIRN_BATCH_NORM_OUT_VARIANCE].data;
    batch b = {.call = call,
               .x = x,
               .means = means,
               .reciprocals = reciprocals,
               .gains = call->inputs[FIRN_BATCH_NORM_IN_GAIN].data,
               .biases = call->inputs[FIRN_BATCH_NORM_IN_BIAS].data,
               .out = &call->outputs[FIRN_BATCH_NORM_OUT_Y],
               .partial = call->outputs[FIRN_BATCH_NORM_OUT_PARTIAL].data,
               .rows = firn_rows(x),
               .width = firn_last_extent(x)};
    if (x->type != b.out->type) {
        firn_kernel_batch_norm(call);
        return;
    }
    run_tasks(&b, 1, sum_task);
    add_runs(&b, 0, 1, means);
    for (size_t i = 0; i < b.width; i++)
        means[i] = firn_canonical(means[i] / (float)b.rows);
    run_tasks(&b, 1, square_task);
    add_runs(&b, 0, 1, variances);
    for (size_t i = 0; i < b.width; i++) {
        variances[i] = firn_canonical(variances[i] / (float)b.rows);
        reciprocals[i] = firn_canonical(1.0f / firn_sqrt(variances[i] + call->reals[FIRN_BATCH_NORM_EPSILON]));
    }
    run_tasks(&b, 1, normalise_task);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Sums of dy, and of dy x_hat. */
static inline __attribute__((always_inline)) void sum_gradients(uint8_t type, const tile *t, size_t vectors) {
    line sums, projections, means, reciprocals;
    set_zero(sums, vectors);
    set_zero(projections, vectors);
    load(means, t, t->b->means, vectors);
    load(reciprocals, t, t->b->reciprocals, vectors);
    for (size_t row = first_row(t); row < end_of_rows(t); row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector dy = element(type, t->b->dy, t, row, v);
            const firn_vector normal =
                firn_vector_multiply(firn_vector_subtract(element(type, t->b->x, t, row, v), means[v]), reciprocals[v]);
            sums[v] = firn_vector_add(sums[v], dy);
            projections[v] = firn_vector_add(projections[v], firn_vector_multiply(dy, normal));
        }
    }
    store(t, t->b->partial + 2 * t->run * t->b->width, sums, vectors);
    store(t, t->b->partial + (2 * t->run + 1) * t->b->width, projections, vectors);
}

/* Leaves the gradients of gain and bias, and in the first run of the scratch their means over the rows, bias first. */
static void finish_sums(const batch *b, float *gains, float *biases) {
    add_runs(b, 0, 2, biases);
    add_runs(b, 1, 2, gains);
    for (size_t i = 0; i < b->width; i++) {
        biases[i] = firn_canonical(biases[i]);
        gains[i] = firn_canonical(gains[i]);
        b->partial[i] = biases[i] / (float)b->rows;
        b->partial[b->width + i] = gains[i] / (float)b->rows;
    }
}

static inline __attribute__((always_inline)) void store_gradients(uint8_t type, const tile *t, size_t vectors) {
    line means, reciprocals, factors, gradients, projections;
    load(means, t, t->b->means, vectors);
    load(reciprocals, t, t->b->reciprocals, vectors);
    load(factors, t, t->b->gains, vectors);
    load(gradients, t, t->b->partial, vectors);
    load(projections, t, t->b->partial + t->b->width, vectors);
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        factors[v] = firn_vector_multiply(factors[v], reciprocals[v]);
    for (size_t row = first_row(t); row < end_of_rows(t); row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector normal =
                firn_vector_multiply(firn_vector_subtract(element(type, t->b->x, t, row, v), means[v]), reciprocals[v]);
            const firn_vector rest = firn_vector_subtract(element(type, t->b->dy, t, row, v), gradients[v]);
            const firn_vector inner = firn_vector_fma(firn_vector_negative(normal), projections[v], rest);
            store_element(type, t, row, v, firn_vector_multiply(factors[v], inner));
        }
    }
}

static inline __attribute__((always_inline)) void sum_gradients_of(uint8_t type, const void *arguments) {
    process_runs(type, arguments, sum_gradients);
}

static inline __attribute__((always_inline)) void store_gradients_of(uint8_t type, const void *arguments) {
    process_runs(type, arguments, store_gradients);
}

static void gradient_sum_task(void *argument, size_t begin, size_t end) {
    const runs r = {argument, begin, end};
    firn_for_type(r.b->x->type, sum_gradients_of, &r);
}

static void gradient_task(void *argument, size_t begin, size_t end) {
    const runs r = {argument, begin, end};
    firn_for_type(r.b->x->type, store_gradients_of, &r);
}

void firn_vector_batch_norm_backward(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_X];
    batch b = {.call = call,
               .x = x,
               .dy = &call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_DY],
               .means = call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_MEAN].data,
               .reciprocals = call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_RECIPROCAL].data,
               .gains = call->inputs[FIRN_BATCH_NORM_BACKWARD_IN_GAIN].data,
               .out = &call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DX],
               .partial = call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_PARTIAL].data,
               .rows = firn_rows(x),
               .width = firn_last_extent(x)};
    if (x->type != b.dy->type || x->type != b.out->type) {
        firn_kernel_batch_norm_backward(call);
        return;
    }
    run_tasks(&b, 2, gradient_sum_task);
    finish_sums(&b, call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DGAIN].data,
                call->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_DBIAS].data);
    run_tasks(&b, 2, gradient_task);
}
