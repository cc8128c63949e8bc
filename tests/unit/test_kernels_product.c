/* Tests linear layers, forward and backward, bit by bit against the formula written as three loops: all types, layouts
 * and reductions, weights that are rounded as they are read, sizes around the edges of a tile, special values, and no
 * bias. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

typedef struct shape {
    uint32_t n, k, o;
} shape;

static const shape shapes[] = {{1, 1, 1},   {1, 129, 33}, {17, 33, 15}, {16, 32, 16}, {15, 31, 17}, {33, 1, 2},
                               {3, 200, 5}, {5, 64, 48},  {130, 3, 7},  {7, 65, 1},   {64, 17, 31}, {4, 127, 19}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static const uint32_t chunks[] = {0, 64, 128, 5, 1}; /* 0: float32 sum */
enum { CHUNKS = sizeof chunks / sizeof chunks[0] };

static const firn_reduction flushed[] = {{FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_BFLOAT16, 32},
                                         {FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_BFLOAT16, 2}};

static firn_reduction reduction_of(uint8_t type, uint32_t chunk) {
    if (chunk == 0)
        return (firn_reduction){FIRN_REDUCTION_F32, FIRN_FLOAT32, type, 0};
    return (firn_reduction){FIRN_REDUCTION_CHUNKED, type, type, chunk};
}

static float weight_at(const firn_tensor *weight, int layout, shape s, size_t o, size_t k) {
    return get(weight, layout == 0 ? o * s.k + k : k * s.o + o);
}

typedef struct operands {
    firn_tensor x, weight, bias, dy, y, dx, dweight;
    firn_tensor rounded; /* float32, of which the weight is the rounded copy; without elements if that is float32 */
} operands;

static operands operands_new(uint8_t type, uint8_t out_type, int layout, shape s) {
    operands t = {.x = tensor_new(type, s.n, s.k, 0, 0),
                  .bias = tensor_new(layout == 0 ? FIRN_FLOAT32 : type, s.o, 0, 0, 0),
                  .dy = tensor_new(type, s.n, s.o, 0, 0),
                  .y = tensor_new(out_type, s.n, s.o, 0, 0),
                  .dx = tensor_new(out_type, s.n, s.k, 0, 0)};
    t.weight = layout == 0 ? tensor_new(type, s.o, s.k, 0, 0) : tensor_new(type, s.k, s.o, 0, 0);
    t.dweight = layout == 0 ? tensor_new(out_type, s.o, s.k, 0, 0) : tensor_new(out_type, s.k, s.o, 0, 0);
    tensor_fill(&t.x, s.k, 2.0f);
    tensor_fill(&t.weight, s.o, 1.0f);
    tensor_fill(&t.bias, 3, 1.0f);
    tensor_fill(&t.dy, s.n, 0.5f);
    return t;
}

static void operands_free(operands *t) {
    tensor_free_each(&t->x, &t->weight, &t->bias, &t->dy, &t->y, &t->dx, &t->dweight, (firn_tensor *)NULL);
    if (t->rounded.elements != 0)
        tensor_free(&t->rounded);
}

/* Runs an op, and again with the weight that it has to round. */
static void run_both(uint16_t code, test_call *call, const operands *t, uint8_t weight) {
    run_kernel(code, call);
    if (t->rounded.elements == 0)
        return;
    firn_tensor expected = tensor_copy(&call->outputs[0]);
    test_call own = *call;
    own.inputs[weight] = t->rounded;
    run_kernel(code, &own);
    assert_same(&expected, &own.outputs[0], "a weight that is rounded");
    tensor_free(&expected);
}

static void check_forward(const operands *t, int layout, shape s, firn_reduction reduction, int with_bias) {
    test_call call = {.input_count = (uint8_t)(2 + with_bias),
                      .output_count = 1,
                      .inputs = {t->x, t->weight, t->bias},
                      .outputs = {t->y},
                      .integers = {layout},
                      .reductions = {reduction}};
    firn_tensor expected = tensor_new(t->y.type, s.n, s.o, 0, 0);
    float *a = malloc(s.k * sizeof *a), *b = malloc(s.k * sizeof *b);
    for (size_t n = 0; n < s.n; n++)
        for (size_t o = 0; o < s.o; o++) {
            for (size_t k = 0; k < s.k; k++) {
                a[k] = get(&t->x, n * s.k + k);
                b[k] = weight_at(&t->weight, layout, s, o, k);
            }
            float sum = reduce(reduction, a, b, s.k, 0);
            set(&expected, n * s.o + o, with_bias ? sum + get(&t->bias, o) : sum);
        }
    run_both(FIRN_OP_linear, &call, t, FIRN_LINEAR_IN_WEIGHT);
    assert_same(&expected, &t->y, "linear");
    tensor_free(&expected);
    free(a);
    free(b);
}

static void check_backward_input(const operands *t, int layout, shape s, firn_reduction reduction) {
    test_call call = {.input_count = 2,
                      .output_count = 1,
                      .inputs = {t->dy, t->weight},
                      .outputs = {t->dx},
                      .integers = {layout},
                      .reductions = {reduction}};
    firn_tensor expected = tensor_new(t->dx.type, s.n, s.k, 0, 0);
    float *a = malloc(s.o * sizeof *a), *b = malloc(s.o * sizeof *b);
    for (size_t n = 0; n < s.n; n++)
        for (size_t k = 0; k < s.k; k++) {
            for (size_t o = 0; o < s.o; o++) {
                a[o] = get(&t->dy, n * s.o + o);
                b[o] = weight_at(&t->weight, layout, s, o, k);
            }
            set(&expected, n * s.k + k, reduce(reduction, a, b, s.o, 0));
        }
    run_both(FIRN_OP_linear_backward_input, &call, t, FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT);
    assert_same(&expected, &t->dx, "linear_backward_input");
    tensor_free(&expected);
    free(a);
    free(b);
}

/* The op that computes some rows gives those rows of the whole, from the first to the last, in pieces of two lengths.
 */
static void check_rows(const firn_tensor *whole, test_call call) {
    const uint32_t all = whole->dims[0], columns = whole->dims[1];
    for (uint32_t first = 0, rows = 1; first < all; first += rows, rows = rows == 1 ? 5 : 1) {
        rows = rows < all - first ? rows : all - first;
        firn_tensor expected = tensor_new(whole->type, rows, columns, 0, 0),
                    out = tensor_new(whole->type, rows, columns, 0, 0);
        for (size_t i = 0; i < expected.elements; i++)
            set(&expected, i, get(whole, first * (size_t)columns + i));
        call.outputs[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_OUT_DWEIGHT] = out;
        call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = first;
        call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = rows;
        run_kernel(FIRN_OP_linear_backward_weight_rows, &call);
        assert_same(&expected, &out, "linear_backward_weight_rows");
        tensor_free_each(&expected, &out, (firn_tensor *)NULL);
    }
}

static void check_backward_weight(const operands *t, int layout, shape s, firn_reduction reduction) {
    test_call call = {.input_count = 2,
                      .output_count = 1,
                      .inputs = {t->dy, t->x},
                      .outputs = {t->dweight},
                      .integers = {layout},
                      .reductions = {reduction}};
    firn_tensor expected = tensor_new(t->dweight.type, t->dweight.dims[0], t->dweight.dims[1], 0, 0);
    float *a = malloc(s.n * sizeof *a), *b = malloc(s.n * sizeof *b);
    for (size_t o = 0; o < s.o; o++)
        for (size_t k = 0; k < s.k; k++) {
            for (size_t n = 0; n < s.n; n++) {
                a[n] = get(&t->dy, n * s.o + o);
                b[n] = get(&t->x, n * s.k + k);
            }
            set(&expected, layout == 0 ? o * s.k + k : k * s.o + o, reduce(reduction, a, b, s.n, 0));
        }
    run_kernel(FIRN_OP_linear_backward_weight, &call);
    assert_same(&expected, &t->dweight, "linear_backward_weight");
    check_rows(&expected, call);
    tensor_free(&expected);
    free(a);
    free(b);
}

static void check_reduction(uint8_t type, uint8_t out_type, shape s, firn_reduction reduction, int special) {
    for (int layout = 0; layout < 2; layout++) {
        operands t = operands_new(type, out_type, layout, s);
        if (special) {
            tensor_sprinkle(&t.x, 1);
            tensor_sprinkle(&t.weight, 2);
            tensor_sprinkle(&t.dy, 3);
            tensor_sprinkle(&t.bias, 4);
        }
        if (type != FIRN_FLOAT32)
            t.rounded = tensor_before_rounding(&t.weight, s.n);
        check_forward(&t, layout, s, reduction, 0);
        check_forward(&t, layout, s, reduction, 1);
        check_backward_input(&t, layout, s, reduction);
        check_backward_weight(&t, layout, s, reduction);
        operands_free(&t);
    }
}

static void check_all(uint8_t type, uint8_t out_type, shape s, uint32_t chunk, int special) {
    check_reduction(type, out_type, s, reduction_of(type, chunk), special);
}

TEST(linear_in_float32) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < SHAPES; i++)
            check_all(type, type, shapes[i], 0, 0);
}

TEST(linear_in_chunks) {
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (int i = 0; i < SHAPES; i++)
            for (int c = 1; c < CHUNKS; c++)
                check_all(type, type, shapes[i], chunks[c], 0);
}

TEST(linear_in_flushed_sums) {
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < SHAPES; i++)
            check_reduction(FIRN_BFLOAT16, FIRN_BFLOAT16, shapes[i], flushed[kind], 0);
        check_reduction(FIRN_BFLOAT16, FIRN_FLOAT32, (shape){33, 70, 21}, flushed[kind], 1);
    }
}

TEST(linear_with_special_values) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
        check_all(type, type, (shape){33, 70, 21}, 0, 1);
        if (type != FIRN_FLOAT32)
            check_all(type, FIRN_FLOAT32, (shape){33, 70, 21}, 64, 1);
    }
}

/* Products of two batches, whose rows are no whole number of tiles: every NaN is the canonical one. */
TEST(matmul_with_special_values) {
    enum { BATCHES = 2, TERMS = 6, COLUMNS = 5 };
    static const uint32_t rows[] = {1, 4, 5, 7, 11};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int turned = 0; turned < 4; turned++) {
            const uint32_t n = rows[i], a_turned = turned & 1, b_turned = (uint32_t)turned >> 1;
            const firn_reduction reduction = reduction_of(FIRN_FLOAT32, 0);
            firn_tensor a = tensor_new(FIRN_FLOAT32, BATCHES, a_turned ? TERMS : n, a_turned ? n : TERMS, 0);
            firn_tensor b =
                tensor_new(FIRN_FLOAT32, BATCHES, b_turned ? COLUMNS : TERMS, b_turned ? TERMS : COLUMNS, 0);
            firn_tensor y = tensor_new(FIRN_FLOAT32, BATCHES, n, COLUMNS, 0);
            firn_tensor expected = tensor_new(FIRN_FLOAT32, BATCHES, n, COLUMNS, 0);
            tensor_fill(&a, 5, 2.0f);
            tensor_fill(&b, 6, 1.0f);
            tensor_sprinkle(&a, 7);
            tensor_sprinkle(&b, 8);
            for (size_t j = 0; j < expected.elements; j++) {
                const size_t batch = j / (n * COLUMNS), row = j / COLUMNS % n, column = j % COLUMNS;
                float left[TERMS], right[TERMS];
                for (size_t k = 0; k < TERMS; k++) {
                    left[k] = get(&a, batch * n * TERMS + (a_turned ? k * n + row : row * TERMS + k));
                    right[k] =
                        get(&b, batch * TERMS * COLUMNS + (b_turned ? column * TERMS + k : k * COLUMNS + column));
                }
                set(&expected, j, reduce(reduction, left, right, TERMS, 0));
            }
            test_call call = {
                .input_count = 2, .output_count = 1, .integers = {a_turned, b_turned}, .reductions = {reduction}};
            call.inputs[FIRN_MATMUL_IN_A] = a, call.inputs[FIRN_MATMUL_IN_B] = b, call.outputs[FIRN_MATMUL_OUT_Y] = y;
            run_kernel(FIRN_OP_matmul, &call);
            assert_same(&expected, &y, "matmul");
            tensor_free_each(&a, &b, &y, &expected, (firn_tensor *)NULL);
        }
}

/* Gradients of half weights may be stored in float32, and float32 layers may have a half output. */
TEST(linear_rounds_to_the_output) {
    check_all(FIRN_BFLOAT16, FIRN_FLOAT32, (shape){19, 40, 18}, 0, 0);
    check_all(FIRN_FLOAT16, FIRN_FLOAT32, (shape){19, 140, 18}, 128, 0);
    check_all(FIRN_FLOAT32, FIRN_CBFLOAT16, (shape){19, 40, 18}, 0, 0);
}

/* Adding 1 in bfloat16 stops at 256, because 257 is a tie and rounds to the even 256. */
TEST(chunks_can_be_told_from_float32) {
    firn_tensor x = tensor_new(FIRN_BFLOAT16, 1, 512, 0, 0), weight = tensor_new(FIRN_BFLOAT16, 1, 512, 0, 0);
    firn_tensor y = tensor_new(FIRN_FLOAT32, 1, 1, 0, 0);
    for (size_t i = 0; i < 512; i++) {
        set(&x, i, 1.0f);
        set(&weight, i, 1.0f);
    }
    test_call call = {.input_count = 2, .output_count = 1, .inputs = {x, weight}, .outputs = {y}};
    run_kernel(FIRN_OP_linear, &call);
    assert_true(get(&y, 0) == 512.0f);
    call.reductions[0] = reduction_of(FIRN_BFLOAT16, 512);
    run_kernel(FIRN_OP_linear, &call);
    assert_true(get(&y, 0) == 256.0f);
    call.reductions[0] = reduction_of(FIRN_BFLOAT16, 256);
    run_kernel(FIRN_OP_linear, &call);
    assert_true(get(&y, 0) == 512.0f);
    tensor_free_each(&x, &weight, &y, (firn_tensor *)NULL);
}
