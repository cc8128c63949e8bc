/* Layer norm and the gradient of its input, a few rows at a time; see norms.h. Each row is read two or three times,
 * from the cache but for the first time. Sums of several rows are computed before the rows are written, because the end
 * of a sum is a chain of additions that leaves the CPU time for the next row. An affine part in a half type is rounded
 * once, into the first slot of the scratch, which all threads read. The type of the rows is a constant after inlining.
 */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/norms/norms.h"
#include "runtime/kernels/vector/sums.h"

enum { ROWS = 4, VECTORS = FIRN_SUM_VECTORS };

/* A row of the op, and its statistics as far as they are known. */
typedef struct row {
    const void *x, *dy; /* dy: backward only */
    const float *gain, *bias;
    size_t first, width; /* its elements in x and dy */
    firn_vector mean, reciprocal;
} row;

/* --- terms of sums ------------------------------------------------------------------------------------------------ */

/* Computes terms of a sum, beginning with column `at`. */
typedef firn_vector (*terms)(uint8_t type, const row *r, size_t at, firn_lanes lanes);

static inline __attribute__((always_inline)) firn_vector element(uint8_t type, const row *r, size_t at,
                                                                 firn_lanes lanes) {
    return firn_vector_widen(r->x, type, r->first + at, lanes);
}

static inline __attribute__((always_inline)) firn_vector square(uint8_t type, const row *r, size_t at,
                                                                firn_lanes lanes) {
    const firn_vector distance = firn_vector_subtract(element(type, r, at, lanes), r->mean);
    return firn_vector_multiply(distance, distance);
}

static inline __attribute__((always_inline)) firn_vector normal(uint8_t type, const row *r, size_t at,
                                                                firn_lanes lanes) {
    return firn_vector_multiply(firn_vector_subtract(element(type, r, at, lanes), r->mean), r->reciprocal);
}

static inline __attribute__((always_inline)) firn_vector gradient(uint8_t type, const row *r, size_t at,
                                                                  firn_lanes lanes) {
    return firn_vector_multiply(firn_vector_widen(r->dy, type, r->first + at, lanes),
                                firn_vector_load_some(lanes, r->gain + at));
}

static inline __attribute__((always_inline)) firn_vector projection(uint8_t type, const row *r, size_t at,
                                                                    firn_lanes lanes) {
    return firn_vector_multiply(gradient(type, r, at, lanes), normal(type, r, at, lanes));
}

/* Returns the total of the block of terms that begins with column `begin`. */
static inline __attribute__((always_inline)) float block_sum(uint8_t type, const row *r, size_t begin, size_t end,
                                                             terms f) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    firn_vector lanes[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        lanes[v] = firn_vector_zero();
    size_t at = begin;
    for (; at + FIRN_SUM_LANES <= end; at += FIRN_SUM_LANES) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            lanes[v] = firn_vector_add(lanes[v], f(type, r, at + v * FIRN_VECTOR, all));
    }
    if (at < end) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = at + v * FIRN_VECTOR;
            const firn_lanes some = firn_first_lanes(i < end ? end - i : 0);
            const firn_vector next = firn_vector_add(lanes[v], f(type, r, i < end ? i : begin, some));
            lanes[v] = firn_vector_select(firn_mask_of(some), next, lanes[v]);
        }
    }
    return firn_fold_lanes(lanes);
}

static inline __attribute__((always_inline)) float row_mean(uint8_t type, const row *r, terms f) {
    float total = 0.0f;
    for (size_t at = 0; at < r->width; at += FIRN_SUM_BLOCK)
        total += block_sum(type, r, at, firn_smaller(at + FIRN_SUM_BLOCK, r->width), f);
    return firn_canonical(total) / (float)r->width;
}

/* A call, and its gain and bias as the op uses them. */
typedef struct norm {
    const firn_kernel_call *call;
    const float *gain, *bias; /* bias: forward only */
} norm;

/* The rows of a call that one thread computes. */
typedef struct range {
    const norm *of;
    size_t begin, end;
} range;

/* --- the affine part ---------------------------------------------------------------------------------------------- */

/* Whether gain and bias are rounded to the type of the rows; else they are used as they are. */
static bool rounds(int64_t affine) {
    return affine != FIRN_FLOAT32;
}

uint64_t firn_vector_layer_norm_scratch(uint16_t op, const firn_kernel_call *call) {
    const uint64_t bytes = firn_last_extent(&call->outputs[0]) * sizeof(float);
    if (op == FIRN_OP_layer_norm)
        return rounds(call->integers[FIRN_LAYER_NORM_AFFINE]) ? 2 * bytes : 0;
    return rounds(call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE]) ? bytes : 0;
}

typedef struct rounding {
    const float *values;
    float *rounded;
    size_t count;
} rounding;

static inline __attribute__((always_inline)) void round_values(uint8_t type, const void *arguments) {
    const rounding *r = arguments;
    for (size_t at = 0; at < r->count; at += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(r->count - at);
        const firn_vector x = firn_vector_load_some(lanes, r->values + at);
        firn_vector_store_some(r->rounded + at, lanes, firn_vector_round(type, x));
    }
}

/* Returns gain or bias as the op uses it: as it lies in memory, or rounded, as part `place` of the scratch. */
static const float *affine_part(const firn_kernel_call *call, const firn_tensor *values, int64_t affine, size_t place) {
    const rounding r = {.values = values->data,
                        .rounded = (float *)call->workspace + place * values->elements,
                        .count = values->elements};
    if (!rounds(affine))
        return r.values;
    firn_for_type((uint8_t)affine, round_values, &r);
    return r.rounded;
}

/* Whether this file computes an op of rows of a type with such an affine part. */
static bool is_affine(int64_t affine, uint8_t type) {
    return !rounds(affine) || affine == type;
}

/* Returns true if every tensor has the type. */
static bool have_type(const firn_tensor *const tensors[], size_t count, uint8_t type) {
    for (size_t i = 0; i < count; i++)
        if (tensors[i]->type != type)
            return false;
    return true;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void store_normal(uint8_t type, uint8_t affine, const row *r, void *y,
                                                               size_t at, firn_lanes lanes) {
    const firn_vector gain = firn_vector_load_some(lanes, r->gain + at),
                      bias = firn_vector_load_some(lanes, r->bias + at);
    const firn_vector rounded = firn_vector_round(affine, normal(type, r, at, lanes));
    const firn_vector result = firn_vector_fma(rounded, gain, bias);
    firn_vector_narrow(y, type, r->first + at, lanes, firn_vector_canonical(result));
}

static inline __attribute__((always_inline)) void store_row(uint8_t type, uint8_t affine, const row *r, void *y) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    size_t at = 0;
    for (; at + FIRN_VECTOR <= r->width; at += FIRN_VECTOR)
        store_normal(type, affine, r, y, at, all);
    if (at < r->width)
        store_normal(type, affine, r, y, at, firn_first_lanes(r->width - at));
}

static inline __attribute__((always_inline)) void normalise_rows(uint8_t type, const void *arguments) {
    const range *part = arguments;
    const firn_kernel_call *call = part->of->call;
    const firn_tensor *y = &call->outputs[FIRN_LAYER_NORM_OUT_Y];
    float *means = call->outputs[FIRN_LAYER_NORM_OUT_MEAN].data;
    float *reciprocals = call->outputs[FIRN_LAYER_NORM_OUT_RECIPROCAL].data;
    const float epsilon = call->reals[FIRN_LAYER_NORM_EPSILON];
    const int64_t affine = call->integers[FIRN_LAYER_NORM_AFFINE];
    row r = {.x = call->inputs[FIRN_LAYER_NORM_IN_X].data,
             .gain = part->of->gain,
             .bias = part->of->bias,
             .width = firn_last_extent(y)};
    for (size_t begin = part->begin; begin < part->end; begin += ROWS) {
        const size_t end = firn_smaller(begin + ROWS, part->end);
        for (size_t i = begin; i < end; i++) {
            r.first = i * r.width;
            means[i] = firn_canonical(row_mean(type, &r, element));
        }
        for (size_t i = begin; i < end; i++) {
            r.first = i * r.width;
            r.mean = firn_vector_fill(means[i]);
            reciprocals[i] = firn_canonical(1.0f / firn_sqrt(row_mean(type, &r, square) + epsilon));
        }
        for (size_t i = begin; i < end; i++) {
            r.first = i * r.width;
            r.mean = firn_vector_fill(means[i]);
            r.reciprocal = firn_vector_fill(reciprocals[i]);
            if (rounds(affine))
                store_row(type, type, &r, y->data);
            else
                store_row(type, FIRN_FLOAT32, &r, y->data);
        }
    }
}

static void layer_norm_rows(void *argument, size_t begin, size_t end) {
    const range part = {argument, begin, end};
    firn_for_type(part.of->call->outputs[FIRN_LAYER_NORM_OUT_Y].type, normalise_rows, &part);
}

void firn_vector_layer_norm(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_IN_X];
    const firn_tensor *gain = &call->inputs[FIRN_LAYER_NORM_IN_GAIN], *bias = &call->inputs[FIRN_LAYER_NORM_IN_BIAS];
    const firn_tensor *const parts[] = {gain, bias};
    const int64_t affine = call->integers[FIRN_LAYER_NORM_AFFINE];
    if (!is_affine(affine, x->type) || !have_type(parts, 2, FIRN_FLOAT32) ||
        x->type != call->outputs[FIRN_LAYER_NORM_OUT_Y].type) {
        firn_kernel_layer_norm(call);
        return;
    }
    norm n = {.call = call, .gain = affine_part(call, gain, affine, 0), .bias = affine_part(call, bias, affine, 1)};
    firn_parallel_run(&call->parallel, firn_rows(x), 2 * firn_last_extent(x), layer_norm_rows, &n);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* The means of g and of g x_hat. */
typedef struct means {
    float gradient, projection;
} means;

static inline __attribute__((always_inline)) void store_gradient(uint8_t type, const row *r, const means *mean,
                                                                 void *dx, size_t at, firn_lanes lanes) {
    const firn_vector rest = firn_vector_subtract(gradient(type, r, at, lanes), firn_vector_fill(mean->gradient));
    const firn_vector inner =
        firn_vector_fma(firn_vector_negative(normal(type, r, at, lanes)), firn_vector_fill(mean->projection), rest);
    firn_vector_narrow(dx, type, r->first + at, lanes,
                       firn_vector_canonical(firn_vector_multiply(r->reciprocal, inner)));
}

static inline __attribute__((always_inline)) void gradient_rows(uint8_t type, const void *arguments) {
    const range *part = arguments;
    const firn_kernel_call *call = part->of->call;
    const firn_tensor *dx = &call->outputs[FIRN_LAYER_NORM_BACKWARD_OUT_DX];
    const float *row_means = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_MEAN].data;
    const float *reciprocals = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_RECIPROCAL].data;
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    row r = {.x = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_X].data,
             .dy = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_DY].data,
             .gain = part->of->gain,
             .width = firn_last_extent(dx)};
    for (size_t begin = part->begin; begin < part->end; begin += ROWS) {
        const size_t end = firn_smaller(begin + ROWS, part->end);
        means mean[ROWS];
        for (size_t i = begin; i < end; i++) {
            r.first = i * r.width;
            r.mean = firn_vector_fill(row_means[i]);
            r.reciprocal = firn_vector_fill(reciprocals[i]);
            mean[i - begin].gradient = row_mean(type, &r, gradient);
            mean[i - begin].projection = row_mean(type, &r, projection);
        }
        for (size_t i = begin; i < end; i++) {
            size_t at = 0;
            r.first = i * r.width;
            r.mean = firn_vector_fill(row_means[i]);
            r.reciprocal = firn_vector_fill(reciprocals[i]);
            for (; at + FIRN_VECTOR <= r.width; at += FIRN_VECTOR)
                store_gradient(type, &r, &mean[i - begin], dx->data, at, all);
            if (at < r.width)
                store_gradient(type, &r, &mean[i - begin], dx->data, at, firn_first_lanes(r.width - at));
        }
    }
}

static void layer_norm_backward_rows(void *argument, size_t begin, size_t end) {
    const range part = {argument, begin, end};
    firn_for_type(part.of->call->outputs[FIRN_LAYER_NORM_BACKWARD_OUT_DX].type, gradient_rows, &part);
}

void firn_vector_layer_norm_backward(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_X];
    const firn_tensor *gain = &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_GAIN];
    const firn_tensor *const rows[] = {x, &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_DY]};
    const int64_t affine = call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE];
    if (!is_affine(affine, x->type) || gain->type != FIRN_FLOAT32 ||
        !have_type(rows, 2, call->outputs[FIRN_LAYER_NORM_BACKWARD_OUT_DX].type)) {
        firn_kernel_layer_norm_backward(call);
        return;
    }
    norm n = {.call = call, .gain = affine_part(call, gain, affine, 0)};
    firn_parallel_run(&call->parallel, firn_rows(x), 4 * firn_last_extent(x), layer_norm_backward_rows, &n);
}
