/* Optimizers whose step depends on a whole tensor: a norm of the parameter or of its update, means of rows and columns,
 * and the ops of Muon other than products (plan/NUMERICS.md, "Update"; OPTIMIZERS.md compares them). Freestanding. */
#include "runtime/kernels/optimizers/magnitude.h"
#include "runtime/kernels/optimizers/optimizer.h"
#include "schedules/coefficients.h"

/* --- sums over a tensor ------------------------------------------------------------------------------------------- */

static void square_terms(const void *settings, size_t block, float *terms, size_t count) {
    const float *x = firn_block_of(settings, block);
    for (size_t i = 0; i < count; i++)
        terms[i] = x[i] * x[i];
}

/* Returns the square root of the sum of the squares of a float32 tensor. totals: position of the output that holds the
 * totals of the blocks. */
static float norm_of(const firn_kernel_call *call, const firn_tensor *x, uint8_t totals) {
    return firn_sqrt(firn_sum_terms(call, x->elements, call->outputs[totals].data, square_terms, x));
}

/* --- lamb --------------------------------------------------------------------------------------------------------- */

typedef struct lamb {
    const firn_kernel_call *call;
    firn_gradient gradient;
    float beta1, beta2, epsilon, decay, rate;
} lamb;

/* u = m / (sqrt(v) + epsilon) + decay p, with the means as they are stored */
static float lamb_update(const lamb *s, float p, float m, float v) {
    return firn_fma(s->decay, p, m / (firn_sqrt(v) + s->epsilon));
}

/* Updates the means and computes the squares of the update. */
static void lamb_terms(const void *settings, size_t block, float *terms, size_t count) {
    const lamb *s = settings;
    const float *restrict p = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_PARAMETER], block);
    float *restrict m = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_EXP_AVG], block);
    float *restrict v = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_EXP_AVG_SQ], block);
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
        const size_t count = firn_block_elements(s->call->outputs[FIRN_LAMB_OUT_PARAMETER].elements, block);
        float *restrict p = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_PARAMETER], block);
        const float *restrict m = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_EXP_AVG], block);
        const float *restrict v = firn_block_of(&s->call->outputs[FIRN_LAMB_OUT_EXP_AVG_SQ], block);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, lamb_update(s, p[i], m[i], v[i]), p[i]));
    }
}

/* Multiplies the rate by the norm of the parameter, at most 10, divided by the norm of the update. */
void firn_kernel_lamb(const firn_kernel_call *call) {
    lamb s = {.call = call,
              .gradient = firn_gradient_of(call, FIRN_LAMB_IN_FACTORS),
              .beta1 = call->reals[FIRN_LAMB_BETA1],
              .beta2 = call->reals[FIRN_LAMB_BETA2],
              .epsilon = call->reals[FIRN_LAMB_EPSILON],
              .decay = firn_decay_of(call, FIRN_LAMB_IN_FACTORS, call->reals[FIRN_LAMB_WEIGHT_DECAY]),
              .rate = firn_scalar(&call->inputs[FIRN_LAMB_IN_LEARNING_RATE])};
    const firn_tensor *p = &call->outputs[FIRN_LAMB_OUT_PARAMETER];
    const float parameter = norm_of(call, p, FIRN_LAMB_OUT_PARAMETER_SUMS);
    float *totals = call->outputs[FIRN_LAMB_OUT_UPDATE_SUMS].data;
    const float update = firn_sqrt(firn_sum_terms(call, p->elements, totals, lamb_terms, &s));
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
    float epsilon, decay, rate, shrink; /* shrink: the update is multiplied by it */
    bool factored;
    size_t rows, columns; /* extents of each matrix of the parameter; only if it is factored */
    const float *row_factors, *column_factors;
} adafactor;

/* Operands and attributes that the two ops share are at the same positions. */
#define AS_ADAFACTOR(NAME) (FIRN_ADAFACTOR_FACTORED_##NAME == FIRN_ADAFACTOR_##NAME)
_Static_assert(AS_ADAFACTOR(OUT_PARAMETER) && AS_ADAFACTOR(SCALE_PARAMETER) && AS_ADAFACTOR(EPSILON1) &&
                   AS_ADAFACTOR(EPSILON2) && AS_ADAFACTOR(CLIP) && AS_ADAFACTOR(DECAY_RATE) &&
                   AS_ADAFACTOR(WEIGHT_DECAY),
               "adafactor_of and adafactor_step serve both ops");

/* steps, factors: positions of these among the op's inputs. */
static adafactor adafactor_of(const firn_kernel_call *call, uint8_t steps, uint8_t factors) {
    const float *reals = call->reals;
    const uint64_t step = firn_step_of(&call->inputs[steps]);
    return (adafactor){
        .call = call,
        .gradient = firn_gradient_of(call, factors),
        .at = firn_adafactor_coefficients_at(reals[FIRN_ADAFACTOR_DECAY_RATE], step),
        .epsilon = reals[FIRN_ADAFACTOR_EPSILON1],
        .decay = firn_decay_of(call, factors, reals[FIRN_ADAFACTOR_WEIGHT_DECAY]),
        .rate = firn_scalar(&call->inputs[FIRN_ADAFACTOR_IN_LEARNING_RATE]),
        .shrink = 1.0f,
    };
}

/* Computes the number by which the gradient of each element of a block is multiplied. */
static void factored_sizes(const adafactor *s, size_t block, float *sizes, size_t count) {
    size_t row = block * FIRN_BLOCK / s->columns, column = block * FIRN_BLOCK % s->columns;
    for (size_t i = 0; i < count; row++, column = 0) {
        const float *columns = s->column_factors + row / s->rows * s->columns;
        for (; i < count && column < s->columns; i++, column++)
            sizes[i] = s->row_factors[row] * columns[column];
    }
}

static void plain_sizes(const adafactor *s, size_t block, float *sizes, size_t count) {
    const float *v = firn_block_of(&s->call->outputs[FIRN_ADAFACTOR_OUT_EXP_AVG_SQ], block);
    for (size_t i = 0; i < count; i++)
        sizes[i] = 1.0f / firn_sqrt(v[i]);
}

/* Computes a block of the update, before it is multiplied by shrink. */
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
        const size_t count = firn_block_elements(s->call->outputs[FIRN_ADAFACTOR_OUT_PARAMETER].elements, block);
        float *restrict p = firn_block_of(&s->call->outputs[FIRN_ADAFACTOR_OUT_PARAMETER], block);
        adafactor_update(s, block, u, count);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, firn_fma(s->decay, p[i], u[i] * s->shrink), p[i]));
    }
}

/* Applies the update after the squares were updated. If scale_parameter is set, the rate is multiplied by the root mean
 * square of the parameter; the root mean square of the update is limited to `clip`. sums: position of the output for
 * the totals of both sums. */
static void adafactor_step(const firn_kernel_call *call, adafactor *s, uint8_t sums) {
    const firn_tensor *parameter = &call->outputs[FIRN_ADAFACTOR_OUT_PARAMETER];
    const size_t elements = parameter->elements;
    float *totals = call->outputs[sums].data;
    if (call->integers[FIRN_ADAFACTOR_SCALE_PARAMETER] != 0) {
        const float squares = firn_sum_terms(call, elements, totals, square_terms, parameter);
        s->rate *= firn_maximum(call->reals[FIRN_ADAFACTOR_EPSILON2], firn_sqrt(squares / (float)elements));
    }
    const float size = firn_sqrt(firn_sum_terms(call, elements, totals, adafactor_terms, s) / (float)elements);
    s->shrink = 1.0f / firn_maximum(1.0f, size / call->reals[FIRN_ADAFACTOR_CLIP]);
    firn_run_blocks(call, adafactor_blocks, s);
}

/* v = kept v + fresh (g^2 + epsilon) */
static void plain_squares_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const firn_adafactor_coefficients at = ((const adafactor *)settings)->at;
    const float epsilon = ((const adafactor *)settings)->epsilon;
    float *restrict v = tensors[FIRN_ADAFACTOR_OUT_EXP_AVG_SQ];
    for (size_t i = 0; i < count; i++)
        v[i] = firn_canonical(firn_fma(at.fresh, firn_fma(g[i], g[i], epsilon), at.kept * v[i]));
}

void firn_kernel_adafactor(const firn_kernel_call *call) {
    adafactor s = adafactor_of(call, FIRN_ADAFACTOR_IN_STEPS, FIRN_ADAFACTOR_IN_FACTORS);
    firn_update(call, FIRN_ADAFACTOR_IN_FACTORS, 2, plain_squares_run, &s);
    adafactor_step(call, &s, FIRN_ADAFACTOR_OUT_SUMS);
}

/* row = kept row + fresh (mean of g^2 + epsilon over the row) */
static void row_squares(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    float *rows = s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_ROW].data, g[FIRN_BLOCK];
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

/* The same for columns; each task computes a block of columns and adds the rows in order. */
static void column_squares(void *argument, size_t begin, size_t end) {
    const adafactor *s = argument;
    const size_t blocks = firn_blocks(s->columns);
    float sums[FIRN_BLOCK], g[FIRN_BLOCK];
    for (size_t task = begin; task < end; task++) {
        const size_t matrix = task / blocks, column = task % blocks * FIRN_BLOCK;
        const size_t count = firn_smaller(FIRN_BLOCK, s->columns - column);
        float *columns =
            (float *)s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_COL].data + matrix * s->columns + column;
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
    const float *rows = s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_ROW].data,
                *columns = s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_COL].data;
    float *row_factors = s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_ROW_FACTORS].data,
          *column_factors = s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_COLUMN_FACTORS].data;
    for (size_t first = 0; first < s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_ROW].elements;
         first += s->rows) {
        firn_sum sum;
        firn_sum_begin(&sum);
        firn_sum_add_many(&sum, rows + first, s->rows);
        const float mean = firn_sum_end(&sum) / (float)s->rows;
        for (size_t row = first; row < first + s->rows; row++)
            row_factors[row] = firn_canonical(1.0f / firn_sqrt(rows[row] / mean));
    }
    for (size_t i = 0; i < s->call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_COL].elements; i++)
        column_factors[i] = firn_canonical(1.0f / firn_sqrt(columns[i]));
}

void firn_kernel_adafactor_factored(const firn_kernel_call *call) {
    const firn_tensor *parameter = &call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_PARAMETER];
    adafactor s = adafactor_of(call, FIRN_ADAFACTOR_FACTORED_IN_STEPS, FIRN_ADAFACTOR_FACTORED_IN_FACTORS);
    s.factored = true;
    s.rows = parameter->dims[parameter->rank - 2];
    s.columns = parameter->dims[parameter->rank - 1];
    s.row_factors = call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_ROW_FACTORS].data;
    s.column_factors = call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_COLUMN_FACTORS].data;
    const size_t all_rows = call->outputs[FIRN_ADAFACTOR_FACTORED_OUT_EXP_AVG_SQ_ROW].elements,
                 matrices = all_rows / s.rows;
    firn_parallel_run(&call->parallel, all_rows, 4 * (uint64_t)s.columns, row_squares, &s);
    firn_parallel_run(&call->parallel, matrices * firn_blocks(s.columns), 4 * (uint64_t)s.rows * FIRN_BLOCK,
                      column_squares, &s);
    find_factors(&s);
    adafactor_step(call, &s, FIRN_ADAFACTOR_FACTORED_OUT_SUMS);
}

/* --- muon --------------------------------------------------------------------------------------------------------- */

typedef struct muon_momentum {
    float momentum, fresh;
    bool nesterov;
} muon_momentum;

/* b = momentum b + (1 - momentum) g;  direction = nesterov ? momentum b + (1 - momentum) g : b */
static void muon_direction_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const muon_momentum s = *(const muon_momentum *)settings;
    float *restrict b = tensors[FIRN_MUON_DIRECTION_OUT_MOMENTUM_BUFFER];
    float *restrict x = tensors[FIRN_MUON_DIRECTION_OUT_DIRECTION];
    for (size_t i = 0; i < count; i++) {
        float buffer = firn_fma(s.momentum, b[i], s.fresh * g[i]);
        x[i] = firn_canonical(s.nesterov ? firn_fma(s.momentum, buffer, s.fresh * g[i]) : buffer);
        b[i] = firn_canonical(buffer);
    }
}

void firn_kernel_muon_direction(const firn_kernel_call *call) {
    const float momentum = call->reals[FIRN_MUON_DIRECTION_MOMENTUM];
    const muon_momentum s = {momentum, 1.0f - momentum, call->integers[FIRN_MUON_DIRECTION_NESTEROV] != 0};
    firn_update(call, FIRN_MUON_DIRECTION_IN_FACTORS, 2, muon_direction_run, &s);
}

typedef struct division {
    const firn_kernel_call *call;
    float shrink, by; /* each element is multiplied by shrink, a power of two, and then divided */
} division;

static void shrunk_terms(const void *settings, size_t block, float *terms, size_t count) {
    const division *d = settings;
    const float *x = firn_block_of(&d->call->inputs[FIRN_UNIT_NORM_IN_X], block);
    for (size_t i = 0; i < count; i++) {
        const float t = x[i] * d->shrink;
        terms[i] = t * t;
    }
}

static void divide_blocks(void *argument, size_t begin, size_t end) {
    const division *d = argument;
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(d->call->outputs[FIRN_UNIT_NORM_OUT_Y].elements, block);
        const float *x = firn_block_of(&d->call->inputs[FIRN_UNIT_NORM_IN_X], block);
        float *y = firn_block_of(&d->call->outputs[FIRN_UNIT_NORM_OUT_Y], block);
        for (size_t i = 0; i < count; i++)
            y[i] = firn_canonical(x[i] * d->shrink / d->by);
    }
}

_Static_assert((int)FIRN_UNIT_NORM_IN_X == (int)FIRN_SCALED_UNIT_NORM_IN_X &&
                   (int)FIRN_UNIT_NORM_OUT_Y == (int)FIRN_SCALED_UNIT_NORM_OUT_Y &&
                   (int)FIRN_UNIT_NORM_OUT_SUMS == (int)FIRN_SCALED_UNIT_NORM_OUT_SUMS &&
                   (int)FIRN_UNIT_NORM_EPSILON == (int)FIRN_SCALED_UNIT_NORM_EPSILON,
               "both ops have the same operands");

/* Divides x by its norm, whose squares are those of x / 2^exponent. */
static void divide_by_norm(const firn_kernel_call *call, int32_t exponent) {
    const firn_tensor *x = &call->inputs[FIRN_UNIT_NORM_IN_X];
    float *sums = call->outputs[FIRN_UNIT_NORM_OUT_SUMS].data;
    division d = {call, firn_power(-exponent), 0.0f};
    d.by = firn_sqrt(firn_sum_terms(call, x->elements, sums, shrunk_terms, &d)) +
           firn_times_power(call->reals[FIRN_UNIT_NORM_EPSILON], -exponent);
    firn_run_blocks(call, divide_blocks, &d);
}

void firn_kernel_unit_norm(const firn_kernel_call *call) {
    divide_by_norm(call, 0);
}

void firn_kernel_scaled_unit_norm(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_SCALED_UNIT_NORM_IN_X];
    float *sums = call->outputs[FIRN_SCALED_UNIT_NORM_OUT_SUMS].data;
    divide_by_norm(call, firn_unit_exponent(firn_largest_magnitude(call, x, sums)));
}

static void weighted_sum_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const float a = call->reals[FIRN_WEIGHTED_SUM_A], b = call->reals[FIRN_WEIGHTED_SUM_B];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(call->outputs[FIRN_WEIGHTED_SUM_OUT_Z].elements, block);
        const float *x = firn_block_of(&call->inputs[FIRN_WEIGHTED_SUM_IN_X], block);
        const float *y = firn_block_of(&call->inputs[FIRN_WEIGHTED_SUM_IN_Y], block);
        float *z = firn_block_of(&call->outputs[FIRN_WEIGHTED_SUM_OUT_Z], block);
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
        const size_t count = firn_block_elements(s->call->outputs[FIRN_MUON_STEP_OUT_PARAMETER].elements, block);
        const float *restrict x = firn_block_of(&s->call->inputs[FIRN_MUON_STEP_IN_DIRECTION], block);
        float *restrict p = firn_block_of(&s->call->outputs[FIRN_MUON_STEP_OUT_PARAMETER], block);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-s->rate, firn_fma(s->decay, p[i], s->scale * x[i]), p[i]));
    }
}

void firn_kernel_muon_step(const firn_kernel_call *call) {
    muon_step s = {.call = call,
                   .rate = firn_scalar(&call->inputs[FIRN_MUON_STEP_IN_LEARNING_RATE]),
                   .scale = call->reals[FIRN_MUON_STEP_SCALE],
                   .decay = firn_decay_of(call, FIRN_MUON_STEP_IN_FACTORS, call->reals[FIRN_MUON_STEP_WEIGHT_DECAY])};
    firn_run_blocks(call, muon_step_blocks, &s);
}
