/* Optimizers whose step depends on a whole tensor: a norm of the parameter or of its update, means of rows and columns,
 * and what Muon needs beside products (plan/NUMERICS.md, "Update"; OPTIMIZERS.md compares them). Freestanding. */
#include "runtime/kernels/optimizers/optimizer.h"
#include "schedules/coefficients.h"

/* --- sums over a tensor ------------------------------------------------------------------------------------------- */

/* The sum of the terms of every element of output 0; scratch is the output that holds the totals of its blocks. */
static float sum_over(const firn_kernel_call *call, uint8_t scratch, firn_term_maker terms, const void *settings) {
    return firn_sum_terms(call, call->outputs[0].elements, call->outputs[scratch].data, terms, settings);
}

/* The squares of the parameter, or of any tensor that is output 0. */
static void parameter_terms(const void *settings, size_t block, float *terms, size_t count) {
    const firn_kernel_call *call = settings;
    const float *x = firn_block_of(&call->outputs[0], block);
    for (size_t i = 0; i < count; i++)
        terms[i] = x[i] * x[i];
}

static float norm_of(const firn_kernel_call *call, uint8_t scratch) {
    return firn_sqrt(sum_over(call, scratch, parameter_terms, call));
}

/* --- lamb --------------------------------------------------------------------------------------------------------- */

typedef struct lamb {
    const firn_kernel_call *call;
    firn_gradient gradient;
    float beta1, beta2, epsilon, decay, rate;
} lamb;

/* u = m / (sqrt(v) + epsilon) + decay p, of the means as they are stored */
static float lamb_update(const lamb *s, float p, float m, float v) {
    return firn_fma(s->decay, p, m / (firn_sqrt(v) + s->epsilon));
}

/* Advances the means, and gives the squares of the update. */
static void lamb_terms(const void *settings, size_t block, float *terms, size_t count) {
    const lamb *s = settings;
    const float *restrict p = firn_block_of(&s->call->outputs[0], block);
    float *restrict m = firn_block_of(&s->call->outputs[1], block), *restrict v =
                                                                        firn_block_of(&s->call->outputs[2], block);
    float g[FIRN_BLOCK];
    firn_gradient_block(g, &s->gradient, block);
    for (size_t i = 0; i < count; i++) {
        m[i] = firn_canonical(firn_fma(1.0f - s->beta1, g[i], s->beta1 * m[i]));
        v[i] = firn_canonical(firn_fma(1.0f - s->beta2, g[i] * g[i], s->beta2 * v[i]));
        float u = lamb_update(s, p[i], m[i], v[i]);
        terms[i] = u * u;
    }
}

static void lamb_blocks(void *argument, size_t begin, size_t end) {
    const lamb *s = argument;
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(s->call->outputs[0].elements, block);
        float *restrict p = firn_block_of(&s->call->outputs[0], block);
        const float *restrict m = firn_block_of(&s->call->outputs[1], block);
        const float *restrict v = firn_block_of(&s->call->outputs[2], block);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, lamb_update(s, p[i], m[i], v[i]), p[i]));
    }
}

/* The rate is multiplied by the norm of the parameter, at most 10, over that of the update. */
void firn_kernel_lamb(const firn_kernel_call *call) {
    lamb s = {.call = call,
              .gradient = firn_gradient_of(call, 5),
              .beta1 = call->reals[FIRN_ADAM_BETA1],
              .beta2 = call->reals[FIRN_ADAM_BETA2],
              .epsilon = call->reals[FIRN_ADAM_EPSILON],
              .decay = firn_decay_of(call, 5, call->reals[FIRN_ADAM_WEIGHT_DECAY]),
              .rate = firn_scalar(&call->inputs[4])};
    const float parameter = norm_of(call, 3), update = firn_sqrt(sum_over(call, 4, lamb_terms, &s));
    const float limited = parameter > 10.0f ? 10.0f : parameter;
    if (call->integers[FIRN_LAMB_ADAM] == 0 && limited != 0.0f && update != 0.0f)
        s.rate *= limited / update;
    firn_run_blocks(call, lamb_blocks, &s);
}

/* --- adafactor ---------------------------------------------------------------------------------------------------- */

typedef struct adafactor {
    const firn_kernel_call *call;
    firn_gradient gradient;
    firn_adafactor_coefficients at;
    float epsilon, decay, rate, shrink; /* shrink: 1 / what the update is divided by */
    bool factored;
    size_t rows, columns; /* of each matrix of the parameter, where it is factored */
    const float *row_factors, *column_factors;
} adafactor;

/* The part of the settings that both ops share; factors is the place of that input. */
static adafactor adafactor_of(const firn_kernel_call *call, uint8_t factors) {
    const float *reals = call->reals;
    return (adafactor){
        .call = call,
        .gradient = firn_gradient_of(call, factors),
        .at =
            firn_adafactor_coefficients_at(reals[FIRN_ADAFACTOR_DECAY_RATE], firn_step_of(&call->inputs[factors - 1])),
        .epsilon = reals[FIRN_ADAFACTOR_EPSILON1],
        .decay = firn_decay_of(call, factors, reals[FIRN_ADAFACTOR_WEIGHT_DECAY]),
        .rate = firn_scalar(&call->inputs[factors - 2]),
        .shrink = 1.0f,
    };
}

/* For each element of a block, what its gradient is multiplied by. */
static void factored_sizes(const adafactor *s, size_t block, float *sizes, size_t count) {
    size_t row = block * FIRN_BLOCK / s->columns, column = block * FIRN_BLOCK % s->columns;
    for (size_t i = 0; i < count; row++, column = 0) {
        const float *columns = s->column_factors + row / s->rows * s->columns;
        for (; i < count && column < s->columns; i++, column++)
            sizes[i] = s->row_factors[row] * columns[column];
    }
}

static void plain_sizes(const adafactor *s, size_t block, float *sizes, size_t count) {
    const float *v = firn_block_of(&s->call->outputs[1], block);
    for (size_t i = 0; i < count; i++)
        sizes[i] = 1.0f / firn_sqrt(v[i]);
}

/* A block of the update, before it is shrunk. */
static void adafactor_update(const adafactor *s, size_t block, float *u, size_t count) {
    float sizes[FIRN_BLOCK];
    if (s->factored)
        factored_sizes(s, block, sizes, count);
    else
        plain_sizes(s, block, sizes, count);
    firn_gradient_block(u, &s->gradient, block);
    for (size_t i = 0; i < count; i++)
        u[i] = sizes[i] * u[i];
}

static void adafactor_terms(const void *settings, size_t block, float *terms, size_t count) {
    adafactor_update(settings, block, terms, count);
    for (size_t i = 0; i < count; i++)
        terms[i] = terms[i] * terms[i];
}

/* p = p - rate (u shrink + decay p) */
static void adafactor_blocks(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    float u[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(s->call->outputs[0].elements, block);
        float *restrict p = firn_block_of(&s->call->outputs[0], block);
        adafactor_update(s, block, u, count);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, firn_fma(s->decay, p[i], u[i] * s->shrink), p[i]));
    }
}

/* With the squares advanced: the rate in units of the parameter's size, the update at most `clip` in size. */
static void adafactor_step(const firn_kernel_call *call, adafactor *s, uint8_t scratch) {
    const float elements = (float)call->outputs[0].elements;
    if (call->integers[FIRN_ADAFACTOR_SCALE_PARAMETER] != 0)
        s->rate *= firn_maximum(call->reals[FIRN_ADAFACTOR_EPSILON2],
                                firn_sqrt(sum_over(call, scratch, parameter_terms, call) / elements));
    float size = firn_sqrt(sum_over(call, scratch, adafactor_terms, s) / elements);
    s->shrink = 1.0f / firn_maximum(1.0f, size / call->reals[FIRN_ADAFACTOR_CLIP]);
    firn_run_blocks(call, adafactor_blocks, s);
}

/* v = kept v + fresh (g^2 + epsilon) */
static void plain_squares_blocks(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    float g[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_gradient_block(g, &s->gradient, block);
        float *restrict v = firn_block_of(&s->call->outputs[1], block);
        for (size_t i = 0; i < count; i++)
            v[i] = firn_canonical(firn_fma(s->at.fresh, firn_fma(g[i], g[i], s->epsilon), s->at.kept * v[i]));
    }
}

void firn_kernel_adafactor(const firn_kernel_call *call) {
    adafactor s = adafactor_of(call, 5);
    firn_parallel_run(&call->parallel, firn_blocks(call->outputs[1].elements), UINT64_C(4) * FIRN_BLOCK,
                      plain_squares_blocks, &s);
    adafactor_step(call, &s, 2);
}

/* row = kept row + fresh (mean of g^2 + epsilon over the row) */
static void row_squares(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    float *rows = s->call->outputs[1].data, g[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        firn_sum sum;
        firn_sum_begin(&sum);
        for (size_t column = 0; column < s->columns; column += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, s->columns - column);
            firn_gradient_run(g, &s->gradient, row * s->columns + column, count);
            for (size_t i = 0; i < count; i++)
                g[i] = firn_fma(g[i], g[i], s->epsilon);
            firn_sum_add_many(&sum, g, count);
        }
        float mean = firn_sum_end(&sum) / (float)s->columns;
        rows[row] = firn_canonical(firn_fma(s->at.fresh, mean, s->at.kept * rows[row]));
    }
}

/* The same for columns, a block of them in each task; the rows are added in order. */
static void column_squares(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    const size_t blocks = firn_blocks(s->columns);
    float sums[FIRN_BLOCK], g[FIRN_BLOCK];
    for (size_t task = begin; task < end; task++) {
        const size_t matrix = task / blocks, column = task % blocks * FIRN_BLOCK;
        const size_t count = firn_smaller(FIRN_BLOCK, s->columns - column);
        float *columns = (float *)s->call->outputs[2].data + matrix * s->columns + column;
        for (size_t i = 0; i < count; i++)
            sums[i] = 0.0f;
        for (size_t row = matrix * s->rows; row < (matrix + 1) * s->rows; row++) {
            firn_gradient_run(g, &s->gradient, row * s->columns + column, count);
            for (size_t i = 0; i < count; i++)
                sums[i] += firn_fma(g[i], g[i], s->epsilon);
        }
        for (size_t i = 0; i < count; i++)
            columns[i] = firn_canonical(firn_fma(s->at.fresh, sums[i] / (float)s->rows, s->at.kept * columns[i]));
    }
}

/* 1 / sqrt(row / mean of the rows of its matrix), 1 / sqrt(column) */
static void find_factors(const adafactor *s) {
    const float *rows = s->call->outputs[1].data, *columns = s->call->outputs[2].data;
    float *row_factors = s->call->outputs[4].data, *column_factors = s->call->outputs[5].data;
    for (size_t first = 0; first < s->call->outputs[1].elements; first += s->rows) {
        firn_sum sum;
        firn_sum_begin(&sum);
        firn_sum_add_many(&sum, rows + first, s->rows);
        const float mean = firn_sum_end(&sum) / (float)s->rows;
        for (size_t row = first; row < first + s->rows; row++)
            row_factors[row] = firn_canonical(1.0f / firn_sqrt(rows[row] / mean));
    }
    for (size_t i = 0; i < s->call->outputs[2].elements; i++)
        column_factors[i] = firn_canonical(1.0f / firn_sqrt(columns[i]));
}

void firn_kernel_adafactor_factored(const firn_kernel_call *call) {
    const firn_tensor *parameter = &call->outputs[0];
    adafactor s = adafactor_of(call, 6);
    s.factored = true;
    s.rows = parameter->dims[parameter->rank - 2];
    s.columns = parameter->dims[parameter->rank - 1];
    s.row_factors = call->outputs[4].data;
    s.column_factors = call->outputs[5].data;
    const size_t all_rows = call->outputs[1].elements, matrices = all_rows / s.rows;
    firn_parallel_run(&call->parallel, all_rows, 4 * (uint64_t)s.columns, row_squares, &s);
    firn_parallel_run(&call->parallel, matrices * firn_blocks(s.columns), 4 * (uint64_t)s.rows * FIRN_BLOCK,
                      column_squares, &s);
    find_factors(&s);
    adafactor_step(call, &s, 3);
}

/* --- muon --------------------------------------------------------------------------------------------------------- */

/* b = momentum b + (1 - momentum) g;  direction = nesterov ? momentum b + (1 - momentum) g : b */
static void muon_direction_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_gradient gradient = firn_gradient_of(call, 2);
    const float momentum = call->reals[FIRN_MUON_DIRECTION_MOMENTUM], fresh = 1.0f - momentum;
    const bool nesterov = call->integers[FIRN_MUON_DIRECTION_NESTEROV] != 0;
    float g[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_gradient_block(g, &gradient, block);
        float *restrict b = firn_block_of(&call->outputs[0], block);
        float *restrict x = firn_block_of(&call->outputs[1], block);
        for (size_t i = 0; i < count; i++) {
            float buffer = firn_fma(momentum, b[i], fresh * g[i]);
            x[i] = firn_canonical(nesterov ? firn_fma(momentum, buffer, fresh * g[i]) : buffer);
            b[i] = firn_canonical(buffer);
        }
    }
}

void firn_kernel_muon_direction(const firn_kernel_call *call) {
    firn_split_blocks(call, muon_direction_blocks);
}

typedef struct division {
    const firn_kernel_call *call;
    float by;
} division;

static void input_terms(const void *settings, size_t block, float *terms, size_t count) {
    const firn_kernel_call *call = settings;
    const float *x = firn_block_of(&call->inputs[0], block);
    for (size_t i = 0; i < count; i++)
        terms[i] = x[i] * x[i];
}

static void divide_blocks(void *argument, size_t begin, size_t end) {
    const division *d = argument;
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(d->call->outputs[0].elements, block);
        const float *x = firn_block_of(&d->call->inputs[0], block);
        float *y = firn_block_of(&d->call->outputs[0], block);
        for (size_t i = 0; i < count; i++)
            y[i] = firn_canonical(x[i] / d->by);
    }
}

void firn_kernel_unit_norm(const firn_kernel_call *call) {
    const float norm = firn_sqrt(sum_over(call, 1, input_terms, call));
    division d = {call, norm + call->reals[FIRN_UNIT_NORM_EPSILON]};
    firn_run_blocks(call, divide_blocks, &d);
}

static void weighted_sum_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const float a = call->reals[FIRN_WEIGHTED_SUM_A], b = call->reals[FIRN_WEIGHTED_SUM_B];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(call->outputs[0].elements, block);
        const float *x = firn_block_of(&call->inputs[0], block), *y = firn_block_of(&call->inputs[1], block);
        float *z = firn_block_of(&call->outputs[0], block);
        for (size_t i = 0; i < count; i++)
            z[i] = firn_canonical(firn_fma(a, x[i], b * y[i]));
    }
}

void firn_kernel_weighted_sum(const firn_kernel_call *call) {
    firn_split_blocks(call, weighted_sum_blocks);
}

typedef struct muon_step {
    const firn_kernel_call *call;
    float rate, scale, decay;
} muon_step;

/* p = p - rate (scale direction + decay p) */
static void muon_step_blocks(void *argument, size_t begin, size_t end) {
    const muon_step *s = argument;
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(s->call->outputs[0].elements, block);
        const float *restrict x = firn_block_of(&s->call->inputs[1], block);
        float *restrict p = firn_block_of(&s->call->outputs[0], block);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, firn_fma(s->decay, p[i], s->scale * x[i]), p[i]));
    }
}

void firn_kernel_muon_step(const firn_kernel_call *call) {
    muon_step s = {.call = call,
                   .rate = firn_scalar(&call->inputs[2]),
                   .scale = call->reals[FIRN_MUON_STEP_SCALE],
                   .decay = firn_decay_of(call, 3, call->reals[FIRN_MUON_STEP_WEIGHT_DECAY])};
    firn_run_blocks(call, muon_step_blocks, &s);
}
