/* Tests kernels that work element by element or row by row bit by bit against the formula of each element: all types,
 * sizes around the edges of a block, special values, in-place operation. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

static const uint32_t sizes[] = {1, 2, 31, 255, 256, 257, 513, 4097};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* --- one or two inputs of equal extents --------------------------------------------------------------------------- */

typedef float (*formula)(float a, float b, const test_call *call, uint64_t element);

/* Runs the op on inputs of `type` with an output of `out_type`; in place on input `in_place` unless that is negative.
 */
static void check_elements(uint16_t code, uint8_t inputs, test_call settings, uint8_t type, uint8_t out_type,
                           int in_place, formula f) {
    for (int i = 0; i < SIZES; i++) {
        firn_tensor a = tensor_new(type, sizes[i], 0, 0, 0), b = tensor_new(type, sizes[i], 0, 0, 0);
        firn_tensor expected = tensor_new(out_type, sizes[i], 0, 0, 0), y = tensor_new(out_type, sizes[i], 0, 0, 0);
        tensor_fill(&a, (uint32_t)i, 4.0f);
        tensor_fill(&b, 50, 4.0f);
        if (i % 2 == 1) {
            tensor_sprinkle(&a, 1);
            tensor_sprinkle(&b, 2);
        }
        for (size_t e = 0; e < sizes[i]; e++)
            set(&expected, e, f(get(&a, e), get(&b, e), &settings, e));
        test_call call = settings;
        call.input_count = inputs;
        call.output_count = 1;
        call.inputs[0] = a;
        call.inputs[1] = b;
        call.outputs[0] = in_place < 0 ? y : in_place == 0 ? a : b;
        call.outputs[0].type = out_type;
        run_kernel(code, &call);
        assert_same(&expected, &call.outputs[0], "elementwise");
        tensor_free_each(&a, &b, &y, &expected, (firn_tensor *)NULL);
    }
}

/* Runs every type with the same output type, in place on each input too, and with another output type. */
static void check_types(uint16_t code, uint8_t inputs, test_call settings, formula f) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        for (int in_place = -1; in_place < inputs; in_place++)
            check_elements(code, inputs, settings, type, type, in_place, f);
        check_elements(code, inputs, settings, type, (uint8_t)((type + 1) % 4), -1, f);
    }
}

static float is_itself(float a, float b, const test_call *call, uint64_t element) {
    (void)b, (void)call, (void)element;
    return a;
}

TEST(casts) {
    for (uint8_t from = FIRN_FLOAT32; from <= last_real_type; from++)
        for (uint8_t to = FIRN_FLOAT32; to <= last_real_type; to++)
            if (from != to)
                check_elements(FIRN_OP_cast, 1, (test_call){0}, from, to, -1, is_itself);
}

static float is_sum(float a, float b, const test_call *call, uint64_t element) {
    (void)call, (void)element;
    return a + b;
}

static float is_gelu(float a, float b, const test_call *call, uint64_t element) {
    (void)b, (void)element;
    return call->integers[FIRN_GELU_FORM] == 0 ? firn_gelu(a) : firn_gelu_tanh(a);
}

static float is_gelu_gradient(float dy, float x, const test_call *call, uint64_t element) {
    (void)element;
    return dy * (call->integers[FIRN_GELU_BACKWARD_FORM] == 0 ? firn_gelu_slope(x) : firn_gelu_tanh_slope(x));
}

static float is_relu(float a, float b, const test_call *call, uint64_t element) {
    (void)b, (void)call, (void)element;
    return isnan(a) ? a : a > 0.0f ? a : 0.0f;
}

static float is_relu_gradient(float dy, float y, const test_call *call, uint64_t element) {
    (void)call, (void)element;
    return isnan(y) || y > 0.0f ? dy : 0.0f;
}

static float is_tanh(float a, float b, const test_call *call, uint64_t element) {
    (void)b, (void)call, (void)element;
    return firn_tanh(a);
}

static float is_tanh_gradient(float dy, float y, const test_call *call, uint64_t element) {
    (void)call, (void)element;
    return dy * fmaf(-y, y, 1.0f);
}

static float is_dropout(float a, float b, const test_call *call, uint64_t element) {
    (void)b;
    const firn_rng rng = {call->seed, (uint32_t)call->integers[FIRN_DROPOUT_RNG_ID], call->moment->global_step,
                          call->moment->micro_step};
    const float keep = 1.0f - call->reals[FIRN_DROPOUT_RATE];
    return firn_random_uniform(&rng, element) >= call->reals[FIRN_DROPOUT_RATE] ? a * (1.0f / keep) : 0.0f;
}

TEST(elementwise) {
    check_types(FIRN_OP_add, 2, (test_call){0}, is_sum);
    for (int64_t form = 0; form < 2; form++) {
        check_types(FIRN_OP_gelu, 1, (test_call){.integers = {form}}, is_gelu);
        check_types(FIRN_OP_gelu_backward, 2, (test_call){.integers = {form}}, is_gelu_gradient);
    }
    check_types(FIRN_OP_relu, 1, (test_call){0}, is_relu);
    check_types(FIRN_OP_relu_backward, 2, (test_call){0}, is_relu_gradient);
    check_types(FIRN_OP_tanh, 1, (test_call){0}, is_tanh);
    check_types(FIRN_OP_tanh_backward, 2, (test_call){0}, is_tanh_gradient);
}

TEST(dropout) {
    const firn_moment moment = {1ull << 33, 4};
    test_call settings = {.integers = {7}, .reals = {0.3f}, .seed = 99, .moment = &moment};
    check_types(FIRN_OP_dropout, 1, settings, is_dropout);
    settings.reals[FIRN_DROPOUT_RATE] = 0.0f;
    check_types(FIRN_OP_dropout, 1, settings, is_itself);
}

TEST(dropout_drops_the_rate) {
    firn_tensor x = tensor_new(FIRN_FLOAT32, 100000, 0, 0, 0), y = tensor_new(FIRN_FLOAT32, 100000, 0, 0, 0);
    for (size_t i = 0; i < x.elements; i++)
        set(&x, i, 1.0f);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}, .reals = {0.3f}};
    run_kernel(FIRN_OP_dropout, &call);
    size_t zeros = 0;
    for (size_t i = 0; i < y.elements; i++)
        zeros += get(&y, i) == 0.0f;
    assert_in_range(zeros, 29000, 31000);
    tensor_free_each(&x, &y, (firn_tensor *)NULL);
}

/* --- broadcasts --------------------------------------------------------------------------------------------------- */

TEST(add_repeats_b) {
    static const uint32_t widths[] = {1, 3, 255, 256, 300};
    for (int i = 0; i < 5; i++) {
        firn_tensor a = tensor_new(FIRN_BFLOAT16, 7, widths[i], 0, 0), b = tensor_new(FIRN_FLOAT32, widths[i], 0, 0, 0);
        firn_tensor y = tensor_new(FIRN_FLOAT32, 7, widths[i], 0, 0);
        firn_tensor expected = tensor_new(FIRN_FLOAT32, 7, widths[i], 0, 0);
        tensor_fill(&a, 1, 1.0f);
        tensor_fill(&b, 2, 1.0f);
        for (size_t e = 0; e < a.elements; e++)
            set(&expected, e, get(&a, e) + get(&b, e % widths[i]));
        test_call call = {.input_count = 2, .output_count = 1, .inputs = {a, b}, .outputs = {y}};
        run_kernel(FIRN_OP_add, &call);
        assert_same(&expected, &y, "add");
        tensor_free_each(&a, &b, &y, &expected, (firn_tensor *)NULL);
    }
}

TEST(sum_leading) {
    static const uint32_t extents[][2] = {{1, 1}, {1, 300}, {300, 1}, {13, 257}, {5, 4}};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < 5; i++) {
            const uint32_t rows = extents[i][0], columns = extents[i][1];
            firn_tensor x = tensor_new(type, rows, columns, 0, 0), y = tensor_new(type, columns, 0, 0, 0);
            firn_tensor expected = tensor_new(type, columns, 0, 0, 0);
            tensor_fill(&x, 8, 3.0f);
            if (i == 3)
                tensor_sprinkle(&x, 1);
            for (size_t column = 0; column < columns; column++) {
                float sum = 0.0f;
                for (size_t row = 0; row < rows; row++)
                    sum += get(&x, row * columns + column);
                set(&expected, column, sum);
            }
            test_call call = {.input_count = 1, .output_count = 1, .inputs = {x}, .outputs = {y}, .integers = {1}};
            run_kernel(FIRN_OP_sum_leading, &call);
            assert_same(&expected, &y, "sum_leading");
            tensor_free_each(&x, &y, &expected, (firn_tensor *)NULL);
        }
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

enum { WORDS = 11, POSITIONS = 23 };

static firn_tensor some_ids(void) {
    firn_tensor ids = tensor_new(FIRN_INT32, POSITIONS, 0, 0, 0);
    int32_t *id = ids.data;
    for (int i = 0; i < POSITIONS; i++)
        id[i] = i * i % WORDS;
    return ids;
}

TEST(embeddings) {
    static const uint32_t widths[] = {1, 7, 256, 261};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < 4; i++) {
            firn_tensor ids = some_ids(), table = tensor_new(FIRN_FLOAT32, WORDS, widths[i], 0, 0);
            firn_tensor y = tensor_new(type, POSITIONS, widths[i], 0, 0);
            firn_tensor expected = tensor_new(type, POSITIONS, widths[i], 0, 0);
            const int32_t *id = ids.data;
            tensor_fill(&table, 4, 1.0f);
            tensor_sprinkle(&table, 4);
            for (size_t e = 0; e < y.elements; e++)
                set(&expected, e, get(&table, (size_t)id[e / widths[i]] * widths[i] + e % widths[i]));
            test_call call = {.input_count = 2, .output_count = 1, .inputs = {ids, table}, .outputs = {y}};
            run_kernel(FIRN_OP_embedding, &call);
            assert_same(&expected, &y, "embedding");
            tensor_free_each(&ids, &table, &y, &expected, (firn_tensor *)NULL);
        }
}

/* start, the tensor that the sum starts from: 0 none, 1 another tensor, 2 the output itself (the gradient of a tied
 * weight). */
static void check_embedding_backward(uint8_t type, uint32_t width, int start) {
    firn_tensor ids = some_ids(), dy = tensor_new(type, POSITIONS, width, 0, 0);
    firn_tensor before = tensor_new(FIRN_FLOAT32, WORDS, width, 0, 0), dtable = tensor_copy(&before);
    tensor_fill(&dy, 2, 1.0f);
    tensor_sprinkle(&dy, 3);
    tensor_fill(&before, 6, 5.0f);
    set(&before, 0, INFINITY); /* infinity - infinity gives a NaN whose sign depends on the machine */
    set(&dy, 0, -INFINITY);
    firn_tensor expected = tensor_copy(&before);
    const int32_t *id = ids.data;
    for (size_t e = 0; start == 0 && e < expected.elements; e++)
        set(&expected, e, 0.0f);
    for (size_t e = 0; e < dy.elements; e++) {
        size_t at = (size_t)id[e / width] * width + e % width;
        set(&expected, at, get(&expected, at) + get(&dy, e));
    }
    test_call call = {.input_count = start == 0 ? 2 : 3,
                      .output_count = 1,
                      .inputs = {ids, dy, before},
                      .outputs = {start == 2 ? before : dtable},
                      .integers = {WORDS}};
    run_kernel(FIRN_OP_embedding_backward, &call);
    assert_same(&expected, &call.outputs[FIRN_EMBEDDING_BACKWARD_OUT_DTABLE], "embedding_backward");
    tensor_free_each(&ids, &dy, &before, &dtable, &expected, (firn_tensor *)NULL);
}

TEST(embedding_gradients) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int start = 0; start < 3; start++) {
            check_embedding_backward(type, 5, start);
            check_embedding_backward(type, 300, start);
        }
}

TEST(leading_rows) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        firn_tensor table = tensor_new(FIRN_FLOAT32, 9, 100, 0, 0), rows = tensor_new(type, 4, 100, 0, 0);
        firn_tensor expected_rows = tensor_copy(&rows), expected = tensor_copy(&table), back = tensor_copy(&table);
        tensor_fill(&table, 1, 1.0f);
        tensor_sprinkle(&table, 9);
        test_call call = {.input_count = 1, .output_count = 1, .inputs = {table}, .outputs = {rows}, .integers = {4}};
        for (size_t e = 0; e < rows.elements; e++)
            set(&expected_rows, e, get(&table, e));
        run_kernel(FIRN_OP_leading_rows, &call);
        assert_same(&expected_rows, &rows, "leading_rows");
        call.inputs[FIRN_LEADING_ROWS_BACKWARD_IN_DY] = rows;
        call.outputs[FIRN_LEADING_ROWS_BACKWARD_OUT_DTABLE] = back;
        call.integers[FIRN_LEADING_ROWS_BACKWARD_ROWS] = 9;
        for (size_t e = 0; e < expected.elements; e++)
            set(&expected, e, e < rows.elements ? get(&rows, e) : 0.0f);
        run_kernel(FIRN_OP_leading_rows_backward, &call);
        assert_same(&expected, &back, "leading_rows_backward");
        tensor_free_each(&table, &rows, &expected_rows, &expected, &back, (firn_tensor *)NULL);
    }
}

/* --- layer norm --------------------------------------------------------------------------------------------------- */

enum { NORM_ROWS = 6 };

typedef struct norm {
    firn_tensor x, dy, gain, bias, y, mean, reciprocal, dx, dgain, dbias;
} norm;

static norm norm_new(uint8_t type, uint8_t out_type, uint32_t width) {
    norm t = {.x = tensor_new(type, NORM_ROWS, width, 0, 0),
              .dy = tensor_new(out_type, NORM_ROWS, width, 0, 0),
              .gain = tensor_new(FIRN_FLOAT32, width, 0, 0, 0),
              .bias = tensor_new(FIRN_FLOAT32, width, 0, 0, 0),
              .y = tensor_new(out_type, NORM_ROWS, width, 0, 0),
              .mean = tensor_new(FIRN_FLOAT32, NORM_ROWS, 0, 0, 0),
              .reciprocal = tensor_new(FIRN_FLOAT32, NORM_ROWS, 0, 0, 0),
              .dx = tensor_new(type, NORM_ROWS, width, 0, 0),
              .dgain = tensor_new(out_type, width, 0, 0, 0),
              .dbias = tensor_new(out_type, width, 0, 0, 0)};
    tensor_fill(&t.x, width, 3.0f);
    tensor_fill(&t.dy, 21, 1.0f);
    tensor_fill(&t.gain, 22, 2.0f);
    tensor_fill(&t.bias, 23, 1.0f);
    return t;
}

static void norm_free(norm *t) {
    tensor_free_each(&t->x, &t->dy, &t->gain, &t->bias, &t->y, &t->mean, &t->reciprocal, &t->dx, &t->dgain, &t->dbias,
                     (firn_tensor *)NULL);
}

static void expect_norm_row(norm *e, const norm *t, size_t row, uint8_t affine, float epsilon) {
    const size_t width = t->gain.elements;
    float *v = malloc(width * sizeof *v), *g = malloc(width * sizeof *g), *h = malloc(width * sizeof *h);
    for (size_t c = 0; c < width; c++)
        v[c] = get(&t->x, row * width + c);
    const float mean = firn_canonical(other_sum(v, width) / (float)width);
    for (size_t c = 0; c < width; c++)
        g[c] = (v[c] - mean) * (v[c] - mean);
    const float variance = other_sum(g, width) / (float)width;
    const float reciprocal = firn_canonical(1.0f / sqrtf(variance + epsilon));
    set(&e->mean, row, mean);
    set(&e->reciprocal, row, reciprocal);
    for (size_t c = 0; c < width; c++) {
        v[c] = (v[c] - mean) * reciprocal;
        float gain = firn_round_to(affine, get(&t->gain, c)), bias = firn_round_to(affine, get(&t->bias, c));
        set(&e->y, row * width + c, fmaf(firn_round_to(affine, v[c]), gain, bias));
        g[c] = get(&t->dy, row * width + c) * gain;
        h[c] = g[c] * v[c];
    }
    const float a = other_sum(g, width) / (float)width, b = other_sum(h, width) / (float)width;
    for (size_t c = 0; c < width; c++)
        set(&e->dx, row * width + c, reciprocal * fmaf(-v[c], b, g[c] - a));
    free(v);
    free(g);
    free(h);
}

static void expect_norm_affine(norm *e, const norm *t, uint8_t affine) {
    const size_t width = t->gain.elements;
    for (size_t c = 0; c < width; c++) {
        float dgain = 0.0f, dbias = 0.0f;
        for (size_t row = 0; row < NORM_ROWS; row++) {
            float dy = get(&t->dy, row * width + c);
            float normal = (get(&t->x, row * width + c) - get(&e->mean, row)) * get(&e->reciprocal, row);
            dgain = fmaf(dy, firn_round_to(affine, normal), dgain);
            dbias += dy;
        }
        set(&e->dgain, c, dgain);
        set(&e->dbias, c, dbias);
    }
}

static void check_norm(uint8_t type, uint8_t out_type, uint8_t affine, uint32_t width, bool special) {
    norm t = norm_new(type, out_type, width), e = norm_new(type, out_type, width);
    if (special) {
        tensor_sprinkle(&t.x, 1);
        tensor_sprinkle(&t.dy, 2);
        tensor_sprinkle(&t.gain, 3);
    }
    test_call call = {.input_count = 3,
                      .output_count = 3,
                      .inputs = {t.x, t.gain, t.bias},
                      .outputs = {t.y, t.mean, t.reciprocal},
                      .integers = {affine},
                      .reals = {1e-5f}};
    for (size_t row = 0; row < NORM_ROWS; row++)
        expect_norm_row(&e, &t, row, affine, 1e-5f);
    expect_norm_affine(&e, &t, affine);
    run_kernel(FIRN_OP_layer_norm, &call);
    assert_same(&e.mean, &t.mean, "layer_norm: mean");
    assert_same(&e.reciprocal, &t.reciprocal, "layer_norm: reciprocal");
    assert_same(&e.y, &t.y, "layer_norm");
    test_call backward = {.input_count = 5,
                          .output_count = 1,
                          .inputs = {t.dy, t.x, t.gain, t.mean, t.reciprocal},
                          .outputs = {t.dx},
                          .integers = {affine}};
    run_kernel(FIRN_OP_layer_norm_backward, &backward);
    assert_same(&e.dx, &t.dx, "layer_norm_backward");
    test_call of_affine = {.input_count = 4,
                           .output_count = 2,
                           .inputs = {t.dy, t.x, t.mean, t.reciprocal},
                           .outputs = {t.dgain, t.dbias},
                           .integers = {affine}};
    run_kernel(FIRN_OP_layer_norm_backward_affine, &of_affine);
    assert_same(&e.dgain, &t.dgain, "layer_norm_backward_affine: gain");
    assert_same(&e.dbias, &t.dbias, "layer_norm_backward_affine: bias");
    norm_free(&t);
    norm_free(&e);
}

typedef void (*norm_check)(uint8_t type, uint8_t out_type, uint8_t affine, uint32_t width, bool special);

static void check_widths_and_types(norm_check check) {
    static const uint32_t widths[] = {1, 2, 63, 65, 256, 257, 4100};
    for (int i = 0; i < 7; i++)
        for (int special = 0; special < 2; special++) {
            check(FIRN_FLOAT32, FIRN_FLOAT32, FIRN_FLOAT32, widths[i], special != 0);
            for (uint8_t half = FIRN_FLOAT16; half <= last_real_type; half++) {
                check(half, half, half, widths[i], special != 0);
                check(FIRN_FLOAT32, half, half, widths[i], special != 0);
                check(half, FIRN_FLOAT32, FIRN_FLOAT32, widths[i], special != 0);
            }
        }
}

TEST(layer_norm) {
    check_widths_and_types(check_norm);
}

/* --- RMS norm ----------------------------------------------------------------------------------------------------- */

static void expect_rms_row(norm *e, const norm *t, size_t row, uint8_t affine, float epsilon) {
    const size_t width = t->gain.elements;
    float *v = malloc(width * sizeof *v), *g = malloc(width * sizeof *g), *h = malloc(width * sizeof *h);
    for (size_t c = 0; c < width; c++) {
        v[c] = get(&t->x, row * width + c);
        g[c] = v[c] * v[c];
    }
    const float reciprocal = firn_canonical(1.0f / sqrtf(other_sum(g, width) / (float)width + epsilon));
    set(&e->reciprocal, row, reciprocal);
    for (size_t c = 0; c < width; c++) {
        v[c] = v[c] * reciprocal;
        const float gain = firn_round_to(affine, get(&t->gain, c));
        set(&e->y, row * width + c, firn_round_to(affine, v[c]) * gain);
        g[c] = get(&t->dy, row * width + c) * gain;
        h[c] = g[c] * v[c];
    }
    const float b = other_sum(h, width) / (float)width;
    for (size_t c = 0; c < width; c++)
        set(&e->dx, row * width + c, reciprocal * fmaf(-v[c], b, g[c]));
    free(v);
    free(g);
    free(h);
}

static void expect_rms_gain(norm *e, const norm *t, uint8_t affine) {
    const size_t width = t->gain.elements;
    for (size_t c = 0; c < width; c++) {
        float dgain = 0.0f;
        for (size_t row = 0; row < NORM_ROWS; row++) {
            const float normal = get(&t->x, row * width + c) * get(&e->reciprocal, row);
            dgain = fmaf(get(&t->dy, row * width + c), firn_round_to(affine, normal), dgain);
        }
        set(&e->dgain, c, dgain);
    }
}

static void check_rms_norm(uint8_t type, uint8_t out_type, uint8_t affine, uint32_t width, bool special) {
    norm t = norm_new(type, out_type, width), e = norm_new(type, out_type, width);
    if (special) {
        tensor_sprinkle(&t.x, 1);
        tensor_sprinkle(&t.dy, 2);
        tensor_sprinkle(&t.gain, 3);
    }
    for (size_t row = 0; row < NORM_ROWS; row++)
        expect_rms_row(&e, &t, row, affine, 1e-6f);
    expect_rms_gain(&e, &t, affine);
    test_call call = {.input_count = 2,
                      .output_count = 2,
                      .inputs = {t.x, t.gain},
                      .outputs = {t.y, t.reciprocal},
                      .integers = {affine},
                      .reals = {1e-6f}};
    run_kernel(FIRN_OP_rms_norm, &call);
    assert_same(&e.reciprocal, &t.reciprocal, "rms_norm: reciprocal");
    assert_same(&e.y, &t.y, "rms_norm");
    test_call of_x = {.input_count = 4,
                      .output_count = 1,
                      .inputs = {t.dy, t.x, t.gain, t.reciprocal},
                      .outputs = {t.dx},
                      .integers = {affine}};
    run_kernel(FIRN_OP_rms_norm_backward, &of_x);
    assert_same(&e.dx, &t.dx, "rms_norm_backward");
    test_call of_gain = {.input_count = 3,
                         .output_count = 1,
                         .inputs = {t.dy, t.x, t.reciprocal},
                         .outputs = {t.dgain},
                         .integers = {affine}};
    run_kernel(FIRN_OP_rms_norm_backward_gain, &of_gain);
    assert_same(&e.dgain, &t.dgain, "rms_norm_backward_gain");
    norm_free(&t);
    norm_free(&e);
}

TEST(rms_norm) {
    check_widths_and_types(check_rms_norm);
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

static float row_maximum(const float *x, size_t count) {
    float top = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (isnan(x[i]))
            return firn_from_bits(FIRN_NAN_BITS);
        top = x[i] > top ? x[i] : top;
    }
    return top == 0.0f ? 0.0f : top;
}

static void check_cross_entropy(uint8_t type, uint32_t rows, uint32_t width, bool in_place, bool special) {
    firn_tensor logits = tensor_new(type, rows, width, 0, 0), labels = tensor_new(FIRN_INT32, rows, 0, 0, 0);
    firn_tensor loss = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), maxima = tensor_new(FIRN_FLOAT32, rows, 0, 0, 0);
    firn_tensor sums = tensor_copy(&maxima), dloss = tensor_copy(&loss), dlogits = tensor_copy(&logits);
    firn_tensor e_loss = tensor_copy(&loss), e_maxima = tensor_copy(&maxima), e_sums = tensor_copy(&maxima);
    firn_tensor e_dlogits = tensor_copy(&logits);
    float *e = malloc(width * sizeof *e), *losses = malloc(rows * sizeof *losses);
    int32_t *label = labels.data;
    tensor_fill(&logits, rows + width, 8.0f);
    set(&dloss, 0, 0.37f);
    if (special)
        tensor_sprinkle(&logits, 7);
    for (uint32_t row = 0; row < rows; row++) {
        label[row] = (int32_t)(row * 7 % width);
        for (uint32_t c = 0; c < width; c++)
            e[c] = get(&logits, (size_t)row * width + c);
        const float top = row_maximum(e, width);
        for (uint32_t c = 0; c < width; c++)
            e[c] = firn_exp(e[c] - top);
        const float sum = firn_canonical(other_sum(e, width));
        set(&e_maxima, row, top);
        set(&e_sums, row, sum);
        losses[row] = firn_log(sum) - (get(&logits, (size_t)row * width + (uint32_t)label[row]) - top);
        for (uint32_t c = 0; c < width; c++) {
            float p = e[c] / sum;
            set(&e_dlogits, (size_t)row * width + c,
                (c == (uint32_t)label[row] ? p - 1.0f : p) * (0.37f / (float)rows));
        }
    }
    set(&e_loss, 0, other_sum(losses, rows) / (float)rows);
    test_call call = {.input_count = 2, .output_count = 3, .inputs = {logits, labels}, .outputs = {loss, maxima, sums}};
    run_kernel(FIRN_OP_cross_entropy, &call);
    assert_same(&e_maxima, &maxima, "cross_entropy: row_max");
    assert_same(&e_sums, &sums, "cross_entropy: row_sum");
    assert_same(&e_loss, &loss, "cross_entropy");
    test_call backward = {.input_count = 5,
                          .output_count = 1,
                          .inputs = {dloss, logits, labels, maxima, sums},
                          .outputs = {in_place ? logits : dlogits}};
    run_kernel(FIRN_OP_cross_entropy_backward, &backward);
    assert_same(&e_dlogits, &backward.outputs[FIRN_CROSS_ENTROPY_BACKWARD_OUT_DLOGITS], "cross_entropy_backward");
    tensor_free_each(&logits, &labels, &loss, &maxima, &sums, &dloss, &dlogits, &e_loss, &e_maxima, &e_sums, &e_dlogits,
                     (firn_tensor *)NULL);
    free(e);
    free(losses);
}

TEST(cross_entropy) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int special = 0; special < 2; special++) {
            check_cross_entropy(type, 1, 1, false, special != 0);
            check_cross_entropy(type, 5, 10, true, special != 0);
            check_cross_entropy(type, 67, 257, false, special != 0);
            check_cross_entropy(type, 3, 4500, true, special != 0);
        }
}

/* The maximum of zeros is +0; its sign must not depend on the order of comparison. */
TEST(a_zero_maximum_is_positive) {
    firn_tensor logits = tensor_new(FIRN_FLOAT32, 1, 20, 0, 0), labels = tensor_new(FIRN_INT32, 1, 0, 0, 0);
    firn_tensor loss = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), maximum = tensor_copy(&loss), sum = tensor_copy(&loss);
    *(int32_t *)labels.data = 3;
    for (size_t i = 0; i < 20; i++)
        set(&logits, i, -0.0f);
    test_call call = {.input_count = 2, .output_count = 3, .inputs = {logits, labels}, .outputs = {loss, maximum, sum}};
    run_kernel(FIRN_OP_cross_entropy, &call);
    assert_int_equal(firn_bits(get(&maximum, 0)), 0);
    assert_true(get(&sum, 0) == 20.0f);
    tensor_free_each(&logits, &labels, &loss, &maximum, &sum, (firn_tensor *)NULL);
}

static void check_squared_error(uint8_t type, uint32_t size, bool in_place) {
    firn_tensor prediction = tensor_new(type, size, 0, 0, 0), target = tensor_new(FIRN_FLOAT32, size, 0, 0, 0);
    firn_tensor loss = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), dloss = tensor_copy(&loss), expected = tensor_copy(&loss);
    firn_tensor gradient = tensor_copy(&prediction), expected_gradient = tensor_copy(&prediction);
    float *squares = malloc(size * sizeof *squares);
    tensor_fill(&prediction, size, 2.0f);
    tensor_fill(&target, 5, 2.0f);
    set(&dloss, 0, 1.7f);
    for (size_t i = 0; i < size; i++) {
        float difference = get(&prediction, i) - get(&target, i);
        squares[i] = difference * difference;
        set(&expected_gradient, i, difference * (2.0f * 1.7f / (float)size));
    }
    set(&expected, 0, other_sum(squares, size) / (float)size);
    test_call call = {.input_count = 2, .output_count = 1, .inputs = {prediction, target}, .outputs = {loss}};
    run_kernel(FIRN_OP_mean_squared_error, &call);
    assert_same(&expected, &loss, "mean_squared_error");
    test_call backward = {.input_count = 3,
                          .output_count = 1,
                          .inputs = {dloss, prediction, target},
                          .outputs = {in_place ? prediction : gradient}};
    run_kernel(FIRN_OP_mean_squared_error_backward, &backward);
    assert_same(&expected_gradient, &backward.outputs[FIRN_MEAN_SQUARED_ERROR_BACKWARD_OUT_DPREDICTION],
                "mean_squared_error_backward");
    tensor_free_each(&prediction, &target, &loss, &dloss, &expected, &gradient, &expected_gradient,
                     (firn_tensor *)NULL);
    free(squares);
}

TEST(mean_squared_error) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < SIZES; i++)
            check_squared_error(type, sizes[i], i % 2 == 1);
}

TEST(loss_seed) {
    firn_tensor scale = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), dloss = tensor_copy(&scale);
    set(&scale, 0, 1024.0f);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {scale}, .outputs = {dloss}, .reals = {0.25f}};
    run_kernel(FIRN_OP_loss_seed, &call);
    assert_true(get(&dloss, 0) == 256.0f);
    call.input_count = 0;
    run_kernel(FIRN_OP_loss_seed, &call);
    assert_true(get(&dloss, 0) == 0.25f);
    tensor_free_each(&scale, &dloss, (firn_tensor *)NULL);
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

TEST(metric_mean_keeps_what_rounding_loses) {
    firn_tensor value = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), sum = tensor_new(FIRN_FLOAT32, 2, 0, 0, 0);
    firn_tensor count = tensor_new(FIRN_INT64, 1, 0, 0, 0);
    int64_t *counted = count.data;
    set(&sum, 0, 16777216.0f);
    set(&sum, 1, 0.0f);
    *counted = 0;
    test_call call = {.input_count = 3, .output_count = 2, .inputs = {value, sum, count}, .outputs = {sum, count}};
    for (int i = 0; i < 1000; i++) {
        set(&value, 0, 1.0f);
        run_kernel(FIRN_OP_metric_mean, &call);
    }
    assert_true((double)get(&sum, 0) + (double)get(&sum, 1) == 16778216.0);
    assert_int_equal(*counted, 1000);
    set(&value, 0, INFINITY);
    run_kernel(FIRN_OP_metric_mean, &call);
    assert_true(isinf(get(&sum, 0)) && get(&sum, 1) == 0.0f);
    set(&value, 0, -INFINITY);
    run_kernel(FIRN_OP_metric_mean, &call);
    assert_int_equal(firn_bits(get(&sum, 0)), FIRN_NAN_BITS);
    tensor_free_each(&value, &sum, &count, (firn_tensor *)NULL);
}

TEST(metric_accuracy) {
    static const float rows[][3] = {{1, 2, 3},         {3, 3, 1},       {3, 3, 1},
                                    {NAN, 1, 5},       {1, NAN, 0},     {-INFINITY, -INFINITY, -INFINITY},
                                    {0.0f, -0.0f, -1}, {1, 0, INFINITY}};
    static const int32_t wanted[] = {2, 0, 1, 2, 1, 0, 0, 2}; /* the correct rows are 0, 1, 5, 6 and 7 */
    firn_tensor logits = tensor_new(FIRN_FLOAT16, 8, 3, 0, 0), labels = tensor_new(FIRN_INT32, 8, 0, 0, 0);
    firn_tensor correct = tensor_new(FIRN_INT64, 1, 0, 0, 0), count = tensor_copy(&correct);
    int64_t *right = correct.data, *counted = count.data;
    *right = 1000;
    *counted = 5;
    for (size_t i = 0; i < 24; i++)
        set(&logits, i, rows[i / 3][i % 3]);
    memcpy(labels.data, wanted, sizeof wanted);
    test_call call = {
        .input_count = 4, .output_count = 2, .inputs = {logits, labels, correct, count}, .outputs = {correct, count}};
    run_kernel(FIRN_OP_metric_accuracy, &call);
    assert_int_equal(*right, 1005);
    assert_int_equal(*counted, 13);
    tensor_free_each(&logits, &labels, &correct, &count, (firn_tensor *)NULL);
}

static bool has_kernel(uint16_t op) {
    static const firn_reduction f32[FIRN_REDUCTIONS_MAX]; /* one for each sum that an op has, at most */
    return firn_kernel_set_choose(NULL)->find(op, f32).run != NULL;
}

TEST(every_op_has_a_kernel) {
    for (uint32_t i = 0; i < FIRN_OPS; i++)
        assert_true(has_kernel(firn_op_at(i)->code));
    assert_false(has_kernel(0));
    assert_false(has_kernel(28));                      /* code 28 was withdrawn and is never reused */
    assert_false(has_kernel(FIRN_KERNEL_PERMUTE - 1)); /* no op has it, nor a kernel that is none of an op */
}
