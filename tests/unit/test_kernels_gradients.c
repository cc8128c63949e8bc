/* Tests every backward kernel against central finite differences of its forward kernel, in float32. The differentiated
 * function is the sum of the outputs, each multiplied by a fixed weight; the backward kernel receives the weights as
 * the gradient of its output. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

static double weighted(const firn_tensor *y, const firn_tensor *weights) {
    double sum = 0.0;
    for (size_t i = 0; i < y->elements; i++)
        sum += (double)get(y, i) * (double)get(weights, i);
    return sum;
}

/* Moves each element of x (an input of call) by +-step and compares the slope with dx. */
static void check_gradient(uint16_t code, test_call *call, firn_tensor *x, const firn_tensor *weights,
                           const firn_tensor *dx, const char *what) {
    double largest = 0.0;
    call->moment = &support_beginning;
    const firn_kernel kernel = support_kernel(firn_kernel_set_choose(NULL), code, call);
    for (size_t i = 0; i < dx->elements; i++)
        largest = fmax(largest, fabs((double)get(dx, i)));
    for (size_t i = 0; i < x->elements; i++) {
        const float before = get(x, i), step = 0x1p-7f;
        set(x, i, before + step);
        test_call_run(kernel, call);
        const double above = weighted(&call->outputs[0], weights);
        set(x, i, before - step);
        test_call_run(kernel, call);
        const double below = weighted(&call->outputs[0], weights);
        set(x, i, before);
        const double slope = (above - below) / (2.0 * (double)step), given = (double)get(dx, i);
        if (!(fabs(slope - given) <= 2e-3 * largest + 1e-4))
            fail_msg("%s: element %zu: finite difference %g, gradient %g", what, i, slope, given);
    }
}

static firn_tensor filled(uint32_t a, uint32_t b, uint32_t c, uint32_t seed) {
    firn_tensor tensor = tensor_new(FIRN_FLOAT32, a, b, c, 0);
    tensor_fill(&tensor, seed, 1.0f);
    return tensor;
}

TEST(linear) {
    for (int64_t layout = 0; layout < 2; layout++) {
        firn_tensor x = filled(4, 5, 0, 1), w = layout == 0 ? filled(3, 5, 0, 2) : filled(5, 3, 0, 2);
        firn_tensor b = filled(3, 0, 0, 3), y = filled(4, 3, 0, 4), dy = filled(4, 3, 0, 5);
        firn_tensor dx = tensor_copy(&x), dw = tensor_copy(&w), db = tensor_copy(&b);
        test_call call = {
            .input_count = 3, .output_count = 1, .inputs = {x, w, b}, .outputs = {y}, .integers = {layout}};
        test_call of_x = {
            .input_count = 2, .output_count = 1, .inputs = {dy, w}, .outputs = {dx}, .integers = {layout}};
        test_call of_w = {
            .input_count = 2, .output_count = 1, .inputs = {dy, x}, .outputs = {dw}, .integers = {layout}};
        test_call of_b = {.input_count = 1, .output_count = 1, .inputs = {dy}, .outputs = {db}, .integers = {1}};
        run_kernel(FIRN_OP_linear_backward_input, &of_x);
        run_kernel(FIRN_OP_linear_backward_weight, &of_w);
        run_kernel(FIRN_OP_sum_leading, &of_b);
        check_gradient(FIRN_OP_linear, &call, &x, &dy, &dx, "linear: x");
        check_gradient(FIRN_OP_linear, &call, &w, &dy, &dw, "linear: weight");
        check_gradient(FIRN_OP_linear, &call, &b, &dy, &db, "linear: bias");
        tensor_free_each(&x, &w, &b, &y, &dy, &dx, &dw, &db, (firn_tensor *)NULL);
    }
}

static firn_tensor image(uint32_t n, uint32_t h, uint32_t w, uint32_t c, uint32_t seed) {
    firn_tensor tensor = tensor_new(FIRN_FLOAT32, n, h, w, c);
    tensor_fill(&tensor, seed, 1.0f);
    return tensor;
}

/* Attributes of windows: rows and columns differ, and some windows lie partly outside the image. */
#define PAIR(rows, columns) ((int64_t)(rows) << 16 | (columns))
#define WINDOWS             PAIR(2, 1), PAIR(1, 2), PAIR(1, 2), PAIR(2, 0)

TEST(conv) {
    for (uint32_t groups = 1; groups <= 4; groups *= 2) {
        firn_tensor x = image(2, 5, 6, 4, 1), w = image(4, 3, 2, 4 / groups, 2), b = filled(4, 0, 0, 3);
        firn_tensor y = image(2, 3, 6, 4, 4), dy = image(2, 3, 6, 4, 5);
        firn_tensor dx = tensor_copy(&x), dw = tensor_copy(&w), db = tensor_copy(&b);
        test_call call = {
            .input_count = 3, .output_count = 1, .inputs = {x, w, b}, .outputs = {y}, .integers = {groups, WINDOWS}};
        test_call of_x = {.input_count = 2,
                          .output_count = 1,
                          .inputs = {dy, w},
                          .outputs = {dx},
                          .integers = {groups, WINDOWS, 5, 6}};
        test_call of_w = {.input_count = 2,
                          .output_count = 1,
                          .inputs = {dy, x},
                          .outputs = {dw},
                          .integers = {groups, WINDOWS, PAIR(3, 2)}};
        test_call of_b = {.input_count = 1, .output_count = 1, .inputs = {dy}, .outputs = {db}, .integers = {1}};
        run_kernel(FIRN_OP_conv_backward_input, &of_x);
        run_kernel(FIRN_OP_conv_backward_weight, &of_w);
        run_kernel(FIRN_OP_sum_leading, &of_b);
        check_gradient(FIRN_OP_conv, &call, &x, &dy, &dx, "conv: x");
        check_gradient(FIRN_OP_conv, &call, &w, &dy, &dw, "conv: weight");
        check_gradient(FIRN_OP_conv, &call, &b, &dy, &db, "conv: bias");
        tensor_free_each(&x, &w, &b, &y, &dy, &dx, &dw, &db, (firn_tensor *)NULL);
    }
}

TEST(pools) {
    firn_tensor x = image(2, 5, 6, 3, 1), y = image(2, 3, 6, 3, 4), dy = image(2, 3, 6, 3, 5), dx = tensor_copy(&x);
    /* Elements of a window are further apart than the steps of the differences, so that the largest stays the same. */
    for (size_t i = 0; i < x.elements; i++)
        set(&x, i, 0.03125f * (float)(i * 47 % x.elements));
    test_call largest = {
        .input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}, .integers = {PAIR(3, 2), WINDOWS}};
    test_call of_largest = {
        .input_count = 2, .output_count = 1, .inputs = {dy, x}, .outputs = {dx}, .integers = {PAIR(3, 2), WINDOWS}};
    run_kernel(FIRN_OP_max_pool_backward, &of_largest);
    check_gradient(FIRN_OP_max_pool, &largest, &x, &dy, &dx, "max_pool");
    for (int64_t padded = 0; padded < 2; padded++) {
        test_call mean = {.input_count = 1,
                          .output_count = 1,
                          .inputs = {x},
                          .outputs = {y},
                          .integers = {PAIR(3, 2), WINDOWS, padded}};
        test_call of_mean = {.input_count = 1,
                             .output_count = 1,
                             .inputs = {dy},
                             .outputs = {dx},
                             .integers = {PAIR(3, 2), WINDOWS, padded, 5, 6}};
        run_kernel(FIRN_OP_average_pool_backward, &of_mean);
        check_gradient(FIRN_OP_average_pool, &mean, &x, &dy, &dx, "average_pool");
    }
    tensor_free_each(&x, &y, &dy, &dx, (firn_tensor *)NULL);
}

/* Checks an op of one input whose backward op takes dy and either x or y. */
static void check_activation(uint16_t forward, uint16_t backward, int64_t form, int takes_output) {
    firn_tensor x = filled(40, 0, 0, 7), y = filled(40, 0, 0, 8), dy = filled(40, 0, 0, 9), dx = tensor_copy(&x);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}, .integers = {form}};
    run_kernel(forward, &call);
    test_call gradient = {
        .input_count = 2, .output_count = 1, .inputs = {dy, takes_output ? y : x}, .outputs = {dx}, .integers = {form}};
    run_kernel(backward, &gradient);
    check_gradient(forward, &call, &x, &dy, &dx, "activation");
    tensor_free_each(&x, &y, &dy, &dx, (firn_tensor *)NULL);
}

TEST(activations) {
    check_activation(FIRN_OP_gelu, FIRN_OP_gelu_backward, 0, 0);
    check_activation(FIRN_OP_gelu, FIRN_OP_gelu_backward, 1, 0);
    check_activation(FIRN_OP_relu, FIRN_OP_relu_backward, 0, 1);
    check_activation(FIRN_OP_tanh, FIRN_OP_tanh_backward, 0, 1);
}

/* Dropout is its own backward op. */
TEST(dropout) {
    firn_tensor x = filled(40, 0, 0, 7), y = tensor_copy(&x), dy = filled(40, 0, 0, 9), dx = tensor_copy(&x);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}, .reals = {0.4f}};
    test_call gradient = {.input_count = 1, .output_count = 1, .inputs = {dy}, .outputs = {dx}, .reals = {0.4f}};
    run_kernel(FIRN_OP_dropout, &gradient);
    check_gradient(FIRN_OP_dropout, &call, &x, &dy, &dx, "dropout");
    tensor_free_each(&x, &y, &dy, &dx, (firn_tensor *)NULL);
}

TEST(embedding) {
    firn_tensor ids = tensor_new(FIRN_INT32, 6, 0, 0, 0), table = filled(4, 3, 0, 1), y = filled(6, 3, 0, 2);
    firn_tensor dy = filled(6, 3, 0, 3), dtable = tensor_copy(&table);
    for (int32_t i = 0; i < 6; i++)
        ((int32_t *)ids.data)[i] = i * i % 4;
    test_call call = {.input_count = 2, .output_count = 1, .inputs = {ids, table}, .outputs = {y}};
    test_call gradient = {
        .input_count = 2, .output_count = 1, .inputs = {ids, dy}, .outputs = {dtable}, .integers = {4}};
    run_kernel(FIRN_OP_embedding_backward, &gradient);
    check_gradient(FIRN_OP_embedding, &call, &table, &dy, &dtable, "embedding");
    tensor_free_each(&ids, &table, &y, &dy, &dtable, (firn_tensor *)NULL);
}

TEST(layer_norm) {
    firn_tensor x = filled(3, 9, 0, 1), gain = filled(9, 0, 0, 2), bias = filled(9, 0, 0, 3), y = filled(3, 9, 0, 4);
    firn_tensor mean = filled(3, 0, 0, 5), reciprocal = filled(3, 0, 0, 6), dy = filled(3, 9, 0, 7);
    firn_tensor dx = tensor_copy(&x), dgain = tensor_copy(&gain), dbias = tensor_copy(&bias);
    test_call call = {.input_count = 3,
                      .output_count = 3,
                      .inputs = {x, gain, bias},
                      .outputs = {y, mean, reciprocal},
                      .reals = {1e-5f}};
    run_kernel(FIRN_OP_layer_norm, &call);
    test_call of_x = {.input_count = 5, .output_count = 1, .inputs = {dy, x, gain, mean, reciprocal}, .outputs = {dx}};
    test_call of_affine = {
        .input_count = 4, .output_count = 2, .inputs = {dy, x, mean, reciprocal}, .outputs = {dgain, dbias}};
    run_kernel(FIRN_OP_layer_norm_backward, &of_x);
    run_kernel(FIRN_OP_layer_norm_backward_affine, &of_affine);
    check_gradient(FIRN_OP_layer_norm, &call, &x, &dy, &dx, "layer_norm: x");
    check_gradient(FIRN_OP_layer_norm, &call, &gain, &dy, &dgain, "layer_norm: gain");
    check_gradient(FIRN_OP_layer_norm, &call, &bias, &dy, &dbias, "layer_norm: bias");
    tensor_free_each(&x, &gain, &bias, &y, &mean, &reciprocal, &dy, &dx, &dgain, &dbias, (firn_tensor *)NULL);
}

/* Batch norm of 140 rows, which are two runs; fixed: with given statistics, which the backward op reads in their place.
 */
static void batch_norm_of(bool fixed) {
    firn_tensor x = filled(140, 3, 0, 1), gain = filled(3, 0, 0, 2), bias = filled(3, 0, 0, 3);
    firn_tensor dy = filled(140, 3, 0, 4), mean = filled(3, 0, 0, 5), other = filled(3, 0, 0, 6);
    firn_tensor y = tensor_copy(&x), variance = tensor_copy(&other), partial = filled(4, 3, 0, 7);
    firn_tensor dx = tensor_copy(&x), dgain = tensor_copy(&gain), dbias = tensor_copy(&bias);
    for (size_t i = 0; i < 3; i++)
        set(&other, i, 0.5f + 0.25f * (float)i); /* the variance or, when it was computed, the reciprocal */
    const uint16_t op = fixed ? FIRN_OP_batch_norm_fixed : FIRN_OP_batch_norm;
    test_call call = {.input_count = 3, .output_count = 5, .inputs = {x, gain, bias}, .reals = {1e-2f}};
    const firn_tensor outputs[] = {y, mean, other, variance, partial};
    memcpy(call.outputs, outputs, sizeof outputs);
    if (fixed) {
        call.input_count = 5;
        call.output_count = 1;
        call.inputs[3] = mean;
        call.inputs[4] = other;
    }
    run_kernel(op, &call);
    test_call backward = {.input_count = 5,
                          .output_count = 4,
                          .inputs = {dy, x, gain, mean, other},
                          .outputs = {dx, dgain, dbias, partial},
                          .reals = {1e-2f}};
    run_kernel(fixed ? FIRN_OP_batch_norm_fixed_backward : FIRN_OP_batch_norm_backward, &backward);
    check_gradient(op, &call, &x, &dy, &dx, "batch_norm: x");
    check_gradient(op, &call, &gain, &dy, &dgain, "batch_norm: gain");
    check_gradient(op, &call, &bias, &dy, &dbias, "batch_norm: bias");
    tensor_free_each(&x, &gain, &bias, &dy, &mean, &other, &y, &variance, &partial, &dx, &dgain, &dbias,
                     (firn_tensor *)NULL);
}

TEST(batch_norm) {
    batch_norm_of(false);
    batch_norm_of(true);
}

TEST(rms_norm) {
    firn_tensor x = filled(3, 9, 0, 1), gain = filled(9, 0, 0, 2), y = filled(3, 9, 0, 3);
    firn_tensor reciprocal = filled(3, 0, 0, 4), dy = filled(3, 9, 0, 5);
    firn_tensor dx = tensor_copy(&x), dgain = tensor_copy(&gain);
    test_call call = {
        .input_count = 2, .output_count = 2, .inputs = {x, gain}, .outputs = {y, reciprocal}, .reals = {1e-6f}};
    run_kernel(FIRN_OP_rms_norm, &call);
    test_call of_x = {.input_count = 4, .output_count = 1, .inputs = {dy, x, gain, reciprocal}, .outputs = {dx}};
    test_call of_gain = {.input_count = 3, .output_count = 1, .inputs = {dy, x, reciprocal}, .outputs = {dgain}};
    run_kernel(FIRN_OP_rms_norm_backward, &of_x);
    run_kernel(FIRN_OP_rms_norm_backward_gain, &of_gain);
    check_gradient(FIRN_OP_rms_norm, &call, &x, &dy, &dx, "rms_norm: x");
    check_gradient(FIRN_OP_rms_norm, &call, &gain, &dy, &dgain, "rms_norm: gain");
    tensor_free_each(&x, &gain, &y, &reciprocal, &dy, &dx, &dgain, (firn_tensor *)NULL);
}

static void check_attention(uint32_t steps, int64_t heads, int64_t kv_heads, int64_t causal, float rate) {
    const uint32_t size = 4, width = (uint32_t)(heads + 2 * kv_heads) * size, out = (uint32_t)heads * size;
    firn_tensor qkv = filled(2, steps, width, 1), y = filled(2, steps, out, 2), dy = filled(2, steps, out, 3);
    firn_tensor maxima = filled(2, (uint32_t)heads, steps, 4), sums = tensor_copy(&maxima), dqkv = tensor_copy(&qkv);
    firn_tensor scratch = tensor_new(FIRN_FLOAT32, 2, (uint32_t)heads, 16, steps);
    firn_tensor backward_scratch = tensor_new(FIRN_FLOAT32, 2, (uint32_t)heads, 33, steps);
    test_call call = {.input_count = 1,
                      .output_count = 4,
                      .inputs = {qkv},
                      .outputs = {y, maxima, sums, scratch},
                      .integers = {heads, kv_heads, causal, 0, 3, 16},
                      .reals = {0.5f, rate},
                      .seed = 5};
    test_call gradient = {.input_count = 4,
                          .output_count = 2,
                          .inputs = {dy, qkv, maxima, sums},
                          .outputs = {dqkv, backward_scratch},
                          .integers = {heads, kv_heads, causal, 0, 3, 16},
                          .reals = {0.5f, rate},
                          .seed = 5};
    run_kernel(FIRN_OP_attention, &call);
    run_kernel(FIRN_OP_attention_backward, &gradient);
    check_gradient(FIRN_OP_attention, &call, &qkv, &dy, &dqkv, "attention");
    tensor_free_each(&qkv, &y, &dy, &maxima, &sums, &dqkv, &scratch, &backward_scratch, (firn_tensor *)NULL);
}

TEST(attention) {
    for (int64_t causal = 0; causal < 2; causal++) {
        check_attention(5, 2, 2, causal, 0.0f);
        check_attention(18, 2, 1, causal, 0.0f);
        check_attention(7, 3, 1, causal, 0.3f);
    }
}

TEST(rotary_embedding) {
    for (int64_t interleaved = 0; interleaved < 2; interleaved++) {
        firn_tensor x = filled(2, 5, 24, 1), y = tensor_copy(&x), dy = filled(2, 5, 24, 2), dx = tensor_copy(&x);
        test_call call = {.input_count = 1,
                          .output_count = 1,
                          .inputs = {x},
                          .outputs = {y},
                          .integers = {FIRN_FLOAT32, 3, 2, 6, interleaved},
                          .reals = {100}};
        test_call gradient = call;
        gradient.inputs[0] = dy;
        gradient.outputs[0] = dx;
        run_kernel(FIRN_OP_rotary_embedding_backward, &gradient);
        check_gradient(FIRN_OP_rotary_embedding, &call, &x, &dy, &dx, "rotary_embedding");
        tensor_free_each(&x, &y, &dy, &dx, (firn_tensor *)NULL);
    }
}

TEST(losses) {
    firn_tensor logits = filled(3, 7, 0, 1), labels = tensor_new(FIRN_INT32, 3, 0, 0, 0), loss = filled(1, 0, 0, 2);
    firn_tensor maxima = filled(3, 0, 0, 3), sums = filled(3, 0, 0, 4), dloss = filled(1, 0, 0, 5);
    firn_tensor dlogits = tensor_copy(&logits), target = filled(3, 7, 0, 6);
    for (int32_t i = 0; i < 3; i++)
        ((int32_t *)labels.data)[i] = 2 * i;
    test_call call = {.input_count = 2, .output_count = 3, .inputs = {logits, labels}, .outputs = {loss, maxima, sums}};
    test_call gradient = {
        .input_count = 5, .output_count = 1, .inputs = {dloss, logits, labels, maxima, sums}, .outputs = {dlogits}};
    run_kernel(FIRN_OP_cross_entropy, &call);
    run_kernel(FIRN_OP_cross_entropy_backward, &gradient);
    check_gradient(FIRN_OP_cross_entropy, &call, &logits, &dloss, &dlogits, "cross_entropy");
    test_call squared = {.input_count = 2, .output_count = 1, .inputs = {logits, target}, .outputs = {loss}};
    test_call of_squared = {
        .input_count = 3, .output_count = 1, .inputs = {dloss, logits, target}, .outputs = {dlogits}};
    run_kernel(FIRN_OP_mean_squared_error_backward, &of_squared);
    check_gradient(FIRN_OP_mean_squared_error, &squared, &logits, &dloss, &dlogits, "mean_squared_error");
    tensor_free_each(&logits, &labels, &loss, &maxima, &sums, &dloss, &dlogits, &target, (firn_tensor *)NULL);
}
