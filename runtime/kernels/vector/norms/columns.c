/* Sums over the rows of each column, rows in order; see norms.h. A task is a few registers of columns, so that threads
 * have work of equal size even where there are few columns. A thread adds some rows to the sums of all its columns
 * before it reads the next rows. The type of the rows is a constant after inlining. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/norms/norms.h"

enum {
    VECTORS = 4, /* registers of columns in a task */
    COLUMNS = VECTORS * FIRN_VECTOR,
    TASKS = FIRN_BLOCK / COLUMNS * 8, /* tasks whose sums are kept between rows, at most */
    ROWS = 16                         /* rows that are added at once; each may lie on another page of memory */
};

/* A block of rows, and the columns of a task. */
typedef struct tile {
    const firn_kernel_call *call;
    size_t row, rows, column, columns;
    float *sums; /* of its columns; those of the second sum follow after all sums of the first */
} tile;

enum { SECOND = TASKS * COLUMNS };

/* Adds the tile's rows to its sums. */
typedef void (*tile_body)(uint8_t type, const tile *t, const firn_lanes lanes[VECTORS], size_t vectors);

static inline __attribute__((always_inline)) void add_tile(uint8_t type, const tile *t, tile_body body) {
    firn_lanes lanes[VECTORS];
    if (t->columns == COLUMNS) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            lanes[v] = firn_first_lanes(FIRN_VECTOR);
        body(type, t, lanes, VECTORS);
        return;
    }
    for (size_t column = 0; column < t->columns; column += FIRN_VECTOR) {
        tile part = *t;
        part.column += column;
        part.sums += column;
        lanes[0] = firn_first_lanes(t->columns - column);
        body(type, &part, lanes, 1);
    }
}

/* What a call sums: its columns and rows, how a tile is added, and where the sums are stored. */
typedef struct column_sums {
    const firn_kernel_call *call;
    size_t rows, columns;
    void (*add)(const tile *t);
    const firn_tensor *out[2]; /* the second: NULL if there is none */
} column_sums;

static void store_sums(const firn_tensor *out, size_t column, size_t columns, const float *sums) {
    if (out != NULL)
        firn_narrow(out->data, out->type, column, sums, columns);
}

/* Computes the sums of at most TASKS tasks. */
static void sum_columns(const column_sums *c, size_t begin, size_t end) {
    float sums[2 * SECOND];
    const size_t first = begin * COLUMNS, last = firn_smaller(end * COLUMNS, c->columns);
    for (size_t i = 0; i < (end - begin) * COLUMNS; i++) /* not all: a small plan sums one column */
        sums[i] = sums[SECOND + i] = 0.0f;
    tile t = {.call = c->call};
    for (t.row = 0; t.row < c->rows; t.row += ROWS) {
        t.rows = firn_smaller(ROWS, c->rows - t.row);
        for (t.column = first; t.column < last; t.column += COLUMNS) {
            t.columns = firn_smaller(COLUMNS, last - t.column);
            t.sums = sums + (t.column - first);
            c->add(&t);
        }
    }
    store_sums(c->out[0], first, last - first, sums);
    store_sums(c->out[1], first, last - first, sums + SECOND);
}

static void sum_tasks(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task += TASKS)
        sum_columns(argument, task, firn_smaller(task + TASKS, end));
}

static void run(column_sums *c, uint64_t cost) {
    firn_parallel_run(&c->call->parallel, firn_ceiling(c->columns, COLUMNS), cost * c->rows * COLUMNS, sum_tasks, c);
}

/* --- sum_leading -------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add_elements(uint8_t type, const tile *t,
                                                               const firn_lanes lanes[VECTORS], size_t vectors) {
    const firn_tensor *x = &t->call->inputs[FIRN_SUM_LEADING_IN_X];
    const size_t width = t->call->outputs[FIRN_SUM_LEADING_OUT_Y].elements;
    size_t from = t->row * width + t->column;
    firn_vector sums[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sums[v] = firn_vector_load(t->sums + v * FIRN_VECTOR);
    for (size_t row = 0; row < t->rows; row++, from += width) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[v] = firn_vector_add(sums[v], firn_vector_widen(x->data, type, from + v * FIRN_VECTOR, lanes[v]));
    }
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        firn_vector_store(t->sums + v * FIRN_VECTOR, sums[v]);
}

static inline __attribute__((always_inline)) void add_elements_of_tile(uint8_t type, const void *t) {
    add_tile(type, t, add_elements);
}

static void add_leading(const tile *t) {
    firn_for_type(t->call->inputs[FIRN_SUM_LEADING_IN_X].type, add_elements_of_tile, t);
}

void firn_vector_sum_leading(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_SUM_LEADING_OUT_Y];
    column_sums c = {.call = call,
                     .rows = call->inputs[FIRN_SUM_LEADING_IN_X].elements / y->elements,
                     .columns = y->elements,
                     .add = add_leading,
                     .out = {y, NULL}};
    run(&c, 1);
}

/* --- gain and bias of layer norm ---------------------------------------------------------------------------------- */

enum { DY = FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_DY, X = FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_X };

/* sum of dy x_hat, rounded to the affine type, and sum of dy */
static inline __attribute__((always_inline)) void add_affine(uint8_t type, uint8_t affine, const tile *t,
                                                             const firn_lanes lanes[VECTORS], size_t vectors) {
    const firn_tensor *dy = &t->call->inputs[DY], *x = &t->call->inputs[X];
    const float *means = t->call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_MEAN].data;
    const float *reciprocals = t->call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_RECIPROCAL].data;
    const size_t width = firn_last_extent(x);
    size_t from = t->row * width + t->column;
    firn_vector gains[VECTORS], biases[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        gains[v] = firn_vector_load(t->sums + v * FIRN_VECTOR);
        biases[v] = firn_vector_load(t->sums + SECOND + v * FIRN_VECTOR);
    }
    for (size_t row = t->row; row < t->row + t->rows; row++, from += width) {
        const firn_vector mean = firn_vector_fill(means[row]), reciprocal = firn_vector_fill(reciprocals[row]);
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const size_t at = from + v * FIRN_VECTOR;
            const firn_vector gradient = firn_vector_widen(dy->data, type, at, lanes[v]);
            const firn_vector distance = firn_vector_subtract(firn_vector_widen(x->data, type, at, lanes[v]), mean);
            const firn_vector normal = firn_vector_round(affine, firn_vector_multiply(distance, reciprocal));
            gains[v] = firn_vector_fma(gradient, normal, gains[v]);
            biases[v] = firn_vector_add(biases[v], gradient);
        }
    }
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        firn_vector_store(t->sums + v * FIRN_VECTOR, gains[v]);
        firn_vector_store(t->sums + SECOND + v * FIRN_VECTOR, biases[v]);
    }
}

static inline __attribute__((always_inline)) void add_plain(uint8_t type, const tile *t,
                                                            const firn_lanes lanes[VECTORS], size_t vectors) {
    add_affine(type, FIRN_FLOAT32, t, lanes, vectors);
}

static inline __attribute__((always_inline)) void add_rounded(uint8_t type, const tile *t,
                                                              const firn_lanes lanes[VECTORS], size_t vectors) {
    add_affine(type, type, t, lanes, vectors);
}

static inline __attribute__((always_inline)) void add_plain_tile(uint8_t type, const void *t) {
    add_tile(type, t, add_plain);
}

static inline __attribute__((always_inline)) void add_rounded_tile(uint8_t type, const void *t) {
    add_tile(type, t, add_rounded);
}

static void add_affine_gradients(const tile *t) {
    const uint8_t type = t->call->inputs[X].type;
    if (t->call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE_AFFINE] == FIRN_FLOAT32)
        firn_for_type(type, add_plain_tile, t);
    else
        firn_for_type(type, add_rounded_tile, t);
}

void firn_vector_layer_norm_backward_affine(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[X];
    const int64_t affine = call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE_AFFINE];
    if ((affine != FIRN_FLOAT32 && affine != x->type) || x->type != call->inputs[DY].type) {
        firn_kernel_layer_norm_backward_affine(call);
        return;
    }
    column_sums c = {.call = call,
                     .rows = firn_rows(x),
                     .columns = firn_last_extent(x),
                     .add = add_affine_gradients,
                     .out = {&call->outputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_OUT_DGAIN],
                             &call->outputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_OUT_DBIAS]}};
    run(&c, 2);
}
