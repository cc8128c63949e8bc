/* See support_small_graphs.h. Features are bytes, scaled to -0.5 to 1.5; there are two samples. */
#include "tests/unit/support_small_graphs.h"

#include "tests/unit/support_recurrent.h"

enum { ROWS = 4, WIDTH = 5 };

static const firnc_input_options bytes = {.element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 128, .shift = -0.5f};
static const firnc_input_options numbers = {.stream = 1, .element = FIRN_FLOAT32};

static firnc_value parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims) {
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -0.5f, .b = 0.5f};
    return firnc_parameter(graph, name, rank, dims, init, rank > 1);
}

/* [SMALL_SAMPLES,ROWS,WIDTH] of the features, which a layer has changed so that it has a gradient. */
static firnc_value features(firnc_graph *graph) {
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 3, (uint32_t[]){SMALL_SAMPLES, ROWS, WIDTH}, bytes);
    firnc_value weight = parameter(graph, "weight", 2, (uint32_t[]){WIDTH, WIDTH});
    return firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
}

/* The loss against targets with this shape. */
static firnc_graph *end(firnc_graph *graph, firnc_value y, uint8_t rank, const uint32_t *dims) {
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, rank, dims, numbers);
    firnc_loss(graph, firnc_mean_squared_error(graph, y, target));
    return graph;
}

static firnc_value unary(firnc_graph *graph, uint16_t code, firnc_value x) {
    return firnc_op(graph, code, &x, 1, NULL, NULL);
}

/* The ops that came with minor version 2. */
static firnc_value later_elements(firnc_graph *graph, firnc_value h) {
    firnc_value wave = firnc_multiply(graph, unary(graph, FIRN_OP_sin, h), unary(graph, FIRN_OP_cos, h));
    firnc_value angle = unary(graph, FIRN_OP_log_one_plus, firnc_abs(graph, unary(graph, FIRN_OP_atan, wave)));
    const int32_t two = 2;
    firnc_value scale = firnc_constant(graph, "scale", FIRN_FLOAT32, 1, (uint32_t[]){1}, (float[]){0.0625f});
    firnc_value zero = firnc_to_float32(graph, firnc_constant(graph, "zero", FIRN_INT32, 1, (uint32_t[]){1}, &two));
    firnc_value kept =
        firnc_op(graph, FIRN_OP_fake_quantize, (firnc_value[]){angle, scale, zero}, 3, NULL, (float[]){-8, 7});
    firnc_value noise = firnc_add(graph, firnc_random_uniform(graph, kept), firnc_random_normal(graph, kept));
    firnc_value places = firnc_op(graph, FIRN_OP_top_k, &kept, 1, (int64_t[]){WIDTH, 1}, NULL);
    kept = firnc_gather_elements(graph, firnc_add(graph, kept, noise), places, 2);
    return firnc_add(graph, kept, unary(graph, FIRN_OP_round, h));
}

static firnc_graph *elements(void) {
    firnc_graph *graph = firnc_graph_create("elements");
    firnc_value h = features(graph), row = parameter(graph, "row", 1, (uint32_t[]){WIDTH});
    firnc_value column = parameter(graph, "column", 2, (uint32_t[]){ROWS, 1});
    firnc_value ratio = firnc_divide(graph, firnc_subtract(graph, h, column), firnc_exp(graph, row));
    firnc_value near = firnc_minimum(graph, firnc_maximum(graph, ratio, h), firnc_affine(graph, h, -0.5f, 1));
    firnc_value other = firnc_leaky_relu(graph, firnc_multiply(graph, h, column), 0.125f);
    firnc_value chosen = firnc_select(graph, firnc_less(graph, near, column), firnc_elu(graph, near, 1.25f), other);
    firnc_value masked = firnc_select(graph, firnc_less_or_equal(graph, row, near), chosen, FIRNC_NONE);
    firnc_value base = firnc_affine(graph, firnc_abs(graph, firnc_subtract(graph, masked, h)), 1, 0.125f);
    firnc_value power = firnc_power(graph, base, firnc_affine(graph, row, 1, 1.5f));
    firnc_value root = firnc_sqrt(graph, firnc_affine(graph, firnc_erf(graph, power), 1, 2));
    firnc_value inverse = firnc_reciprocal(graph, firnc_affine(graph, firnc_clip(graph, power, -1, 2), 1, 3));
    firnc_value whole = firnc_to_float32(graph, firnc_to_int32(graph, firnc_affine(graph, h, 4, 0)));
    firnc_value steps =
        firnc_multiply(graph, firnc_add(graph, whole, firnc_floor(graph, h)), firnc_signum(graph, power));
    firnc_value same = firnc_multiply(graph, firnc_equal(graph, whole, steps), h);
    firnc_value y = firnc_add(graph, firnc_log(graph, root), firnc_multiply(graph, inverse, same));
    return end(graph, firnc_add(graph, y, later_elements(graph, h)), 3, (uint32_t[]){SMALL_SAMPLES, ROWS, WIDTH});
}

static firnc_graph *sums(void) {
    enum { MIDDLE = 2, LAST = 4 }; /* bits of axes */
    firnc_graph *graph = firnc_graph_create("sums");
    float hidden[ROWS * ROWS];
    for (uint32_t i = 0; i < ROWS * ROWS; i++)
        hidden[i] = i % 5 == 1 ? -1e9f : i % 7 == 0 ? 0.25f : 0.0f;
    firnc_value mask = firnc_constant(graph, "mask", FIRN_FLOAT32, 1, (uint32_t[]){ROWS * ROWS}, hidden);
    mask = firnc_reshape(graph, mask, 4, (uint32_t[]){1, 1, ROWS, ROWS});
    firnc_value h = firnc_rms_norm(graph, features(graph), parameter(graph, "gain", 1, (uint32_t[]){WIDTH}), 1e-3f);
    firnc_value p = firnc_softmax(graph, firnc_matmul(graph, h, h, false, true));
    firnc_value turned = firnc_matmul(graph, p, h, true, false);
    const firnc_attention_options options = {.heads = 1, .kv_heads = 1, .scale = 0.5f, .dropout_rate = 0.125f};
    firnc_value y = firnc_cross_attention(graph, h, turned, turned, mask, options);
    y = firnc_add(graph, firnc_reduce_sum(graph, y, MIDDLE, false), firnc_reduce_max(graph, h, MIDDLE, false));
    y = firnc_add(graph, y, firnc_reduce_max(graph, firnc_reduce_sum(graph, turned, LAST, true), MIDDLE, false));
    return end(graph, y, 2, (uint32_t[]){SMALL_SAMPLES, WIDTH});
}

/* Ops that move elements, with indices that the data gives and with known ones. */
static firnc_graph *layout(void) {
    firnc_graph *graph = firnc_graph_create("layout");
    const int32_t places[] = {3, -1, 0}, cells[] = {0, 1, 1, 4};
    firnc_value known = firnc_constant(graph, "places", FIRN_INT32, 1, (uint32_t[]){3}, places);
    firnc_value pairs = firnc_constant(graph, "cells", FIRN_INT32, 2, (uint32_t[]){2, 2}, cells);
    firnc_value h = features(graph);
    firnc_value best = firnc_arg_max(graph, h, 2, false); /* [SMALL_SAMPLES,ROWS] */
    firnc_value indices[] = {known, firnc_slice(graph, known, 0, 0, 1, 1)};
    firnc_value four = firnc_concat(graph, indices, 2, 0);
    firnc_value picked = firnc_gather(graph, h, firnc_slice(graph, four, 0, 1, 1, 3), 1);
    firnc_value flipped =
        firnc_slice(graph, firnc_transpose(graph, picked, 3, (uint8_t[]){0, 2, 1}), 1, WIDTH - 1, -2, 3);
    firnc_value padded = firnc_pad(graph, flipped, 2, 1, 0, 0.5f); /* [SMALL_SAMPLES,3,4] */
    firnc_value sum = firnc_cumulative_sum(graph, padded, 1, true, false);
    firnc_value found =
        firnc_gather_elements(graph, h, firnc_reshape(graph, best, 3, (uint32_t[]){SMALL_SAMPLES, ROWS, 1}), 2);
    firnc_value wide = firnc_expand(graph, found, 3, (uint32_t[]){SMALL_SAMPLES, ROWS, 3});
    firnc_value both[] = {firnc_transpose(graph, wide, 3, (uint8_t[]){0, 2, 1}), sum};
    firnc_value y = firnc_concat(graph, both, 2, 1); /* [SMALL_SAMPLES,6,4] */
    firnc_value table = parameter(graph, "table", 2, (uint32_t[]){WIDTH, ROWS});
    y = firnc_add(graph, firnc_slice(graph, y, 1, 0, 1, ROWS), firnc_gather(graph, table, best, 0));
    firnc_value updates = firnc_slice(graph, y, 2, 0, 1, 2); /* [SMALL_SAMPLES,ROWS,2] */
    updates = firnc_reshape(graph, firnc_slice(graph, updates, 1, 0, 1, 1), 2, (uint32_t[]){SMALL_SAMPLES, 2});
    firnc_value plane = firnc_reshape(graph, y, 4, (uint32_t[]){SMALL_SAMPLES, 2, 2, ROWS});
    plane = firnc_reshape(graph, plane, 2, (uint32_t[]){2 * SMALL_SAMPLES, 2 * ROWS});
    firnc_value line = firnc_reshape(graph, firnc_slice(graph, updates, 1, 0, 1, 1), 1, (uint32_t[]){SMALL_SAMPLES});
    plane = firnc_scatter_nd(graph, plane, pairs, line, true);
    plane = firnc_scatter_nd(graph, plane, pairs, firnc_affine(graph, line, 2, 0), false);
    return end(graph, firnc_reshape(graph, plane, 3, (uint32_t[]){SMALL_SAMPLES, ROWS, ROWS}), 3,
               (uint32_t[]){SMALL_SAMPLES, ROWS, ROWS});
}

static firnc_graph *images(void) {
    enum { SIDE = 5, CHANNELS = 2, FILTERS = 4 };
    firnc_graph *graph = firnc_graph_create("images");
    firnc_value x =
        firnc_input(graph, "features", FIRN_FLOAT32, 4, (uint32_t[]){SMALL_SAMPLES, SIDE, SIDE, CHANNELS}, bytes);
    firnc_value kernel = parameter(graph, "kernel", 4, (uint32_t[]){FILTERS, 3, 2, 1});
    firnc_value bias = parameter(graph, "bias", 1, (uint32_t[]){FILTERS});
    const firnc_windows wide = {.stride = {1, 2}, .dilation = {1, 2}, .before = {1, 1}, .after = {1, 0}};
    firnc_value h = firnc_conv(graph, x, kernel, bias, 2, wide); /* [SMALL_SAMPLES,5,2,FILTERS] */
    firnc_value gain = parameter(graph, "gain", 1, (uint32_t[]){FILTERS});
    firnc_value mean = firnc_buffer(graph, "mean", 1, (uint32_t[]){FILTERS}, 0);
    firnc_value variance = firnc_buffer(graph, "variance", 1, (uint32_t[]){FILTERS}, 1);
    h = firnc_batch_norm(graph, h, gain, bias, mean, variance, 1e-3f, 0.25f);
    mean = firnc_buffer(graph, "fixed_mean", 1, (uint32_t[]){FILTERS}, 0.25f);
    variance = firnc_buffer(graph, "fixed_variance", 1, (uint32_t[]){FILTERS}, 2);
    h = firnc_batch_norm_fixed(graph, h, gain, bias, mean, variance, 1e-3f);
    const firnc_windows pad = {.before = {1, 0}};
    firnc_value most = firnc_max_pool(graph, h, (uint32_t[]){2, 2}, pad);
    firnc_value average = firnc_average_pool(graph, h, (uint32_t[]){2, 2}, pad, true);
    firnc_value y = firnc_add(graph, most, average); /* [SMALL_SAMPLES,5,1,FILTERS] */
    return end(graph, y, 4, (uint32_t[]){SMALL_SAMPLES, SIDE, 1, FILTERS});
}

static firnc_graph *recurrent(void) {
    const recurrent_sizes sizes = {.steps = SMALL_SAMPLES, .samples = 2, .width = 3, .units = 2, .outputs = 2};
    firnc_graph *graph = firnc_graph_create("recurrent");
    recurrent_build(graph, &sizes, bytes, numbers);
    return graph;
}

const small_graph small_graphs[] = {{"elements", elements}, {"sums", sums},           {"layout", layout},
                                    {"images", images},     {"recurrent", recurrent}, {0}};
