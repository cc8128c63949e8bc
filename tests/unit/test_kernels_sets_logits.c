/* Tests that every kernel set that this CPU can run gives the bits of the plain one for linear_cross_entropy: its loss
 * and both gradients, over blocks of rows of which the last has fewer, in each type and kind of sum, plain and
 * weighted. That blocks give the bits of whole logits is shown by tests/end_to_end/logit_rows.sh. Unavailable sets are
 * named and skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/support_sets.h"

static int find_sets(void **state) {
    (void)state;
    support_find_sets(SUPPORT_ALL_SETS);
    return 0;
}

/* Compares the outputs that are no scratch, computed by each set with one and with three threads, with those of the
 * plain set. */
static void compare(const test_call *call, const char *what) {
    static const firn_parallel ways[] = {{.threads = 1}, {.run = support_run_backwards, .threads = 3}};
    firn_tensor expected[FIRN_OUTPUTS_MAX];
    support_run_plain(FIRN_OP_linear_cross_entropy, call, expected);
    support_compare(FIRN_OP_linear_cross_entropy, call, expected,
                    &(support_comparison){.what = what,
                                          .ways = ways,
                                          .way_count = sizeof ways / sizeof ways[0],
                                          .outputs = FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS});
    support_free_outputs(call, expected);
}

typedef struct shape {
    uint32_t rows, terms, classes, block;
} shape;

/* The last blocks have 1, 6, 32, 1 and 44 rows. */
static const shape shapes[] = {
    {33, 5, 7, 32}, {70, 65, 259, 32}, {96, 128, 64, 32}, {129, 33, 1030, 64}, {300, 24, 50, 128}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* The losses that the op has. */
typedef struct loss {
    bool weighted, weights; /* weights: an input has one for each row */
    int ignore_index, by_rows;
    float label_smoothing, factor;
} loss;

static const loss losses[] = {{.ignore_index = -1, .factor = 1.0f},
                              {true, true, 3, 0, 0.1f, 0.5f},
                              {true, false, 3, 1, 0.0f, 1.0f},
                              {true, true, -1, 1, 0.25f, 2.0f}};
enum { LOSSES = sizeof losses / sizeof losses[0] };

static void fill_labels(const firn_tensor *labels, uint32_t classes) {
    uint32_t state = 2463534242u;
    for (size_t i = 0; i < labels->elements; i++)
        ((int32_t *)labels->data)[i] = (int32_t)draw(&state, i % 3 == 0 ? 4 : classes);
}

static void check(uint8_t type, firn_reduction sum, shape s, int layout, loss l, bool special) {
    if (!support_takes_next())
        return;
    firn_tensor x = tensor_new(type, s.rows, s.terms, 0, 0), labels = tensor_new(FIRN_INT32, s.rows, 0, 0, 0);
    firn_tensor weight =
        layout == 0 ? tensor_new(type, s.classes, s.terms, 0, 0) : tensor_new(type, s.terms, s.classes, 0, 0);
    firn_tensor dloss = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), weights = tensor_new(FIRN_FLOAT32, s.rows, 0, 0, 0);
    char what[96];
    tensor_fill(&x, 1, 2.0f);
    tensor_fill(&weight, 2, 1.0f);
    tensor_fill(&weights, 3, 1.0f);
    fill_labels(&labels, s.classes);
    set(&dloss, 0, 128.0f);
    for (size_t i = 0; i < s.rows; i++)
        set(&weights, i, i % 5 == 0 ? 0.0f : 1.0f + get(&weights, i));
    if (special)
        tensor_sprinkle(&weight, 4);
    test_call call = {.input_count =
                          l.weights ? FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS + 1 : FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS,
                      .output_count = FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES + 1,
                      .inputs = {x, weight, labels, dloss, weights}};
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_LAYOUT] = layout;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] = s.classes;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS] = s.block;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_HALF] = type != FIRN_FLOAT32;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] = l.weighted;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] = l.ignore_index;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] = l.by_rows;
    call.reals[FIRN_LINEAR_CROSS_ENTROPY_LABEL_SMOOTHING] = l.label_smoothing;
    call.reals[FIRN_LINEAR_CROSS_ENTROPY_FACTOR] = l.factor;
    sum.output = type;
    call.reductions[FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_LOGITS] = sum;
    call.reductions[FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_INPUT] = sum;
    sum.output = FIRN_FLOAT32;
    call.reductions[FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_WEIGHT] = sum;
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT] =
        tensor_new(FIRN_FLOAT32, weight.dims[0], weight.dims[1], 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS] = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DX] = tensor_new(type, s.rows, s.terms, 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS] = tensor_new(type, s.block, s.classes, 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES] = tensor_new(FIRN_FLOAT32, 3, s.block, 0, 0);
    snprintf(what, sizeof what, "%ux%ux%u by %u, %s, sum %u, layout %d", s.rows, s.terms, s.classes, s.block,
             l.weighted ? "weighted" : "plain", sum.kind, layout);
    compare(&call, what);
    support_free_outputs(&call, call.outputs);
    tensor_free(&x);
    tensor_free(&weight);
    tensor_free(&labels);
    tensor_free(&dloss);
    tensor_free(&weights);
}

/* Each shape and loss, in one layout and the other, and once with special values. */
static void check_all(uint8_t type, firn_reduction sum) {
    for (int i = 0; i < SHAPES; i++)
        for (int j = 0; j < LOSSES; j++)
            check(type, sum, shapes[i], (i + j) % 2, losses[j], false);
    for (int j = 0; j < LOSSES; j++)
        check(type, sum, shapes[1], j % 2, losses[j], true);
}

static void float32_sums(void **state) {
    (void)state;
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        check_all(type, (firn_reduction){.kind = FIRN_REDUCTION_F32, .accumulator = FIRN_FLOAT32});
}

static void chunked_sums(void **state) {
    (void)state;
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        check_all(type, (firn_reduction){.kind = FIRN_REDUCTION_CHUNKED, .accumulator = type, .chunk = 32});
}

static void sums_of_engines(void **state) {
    (void)state;
    check_all(FIRN_BFLOAT16, (firn_reduction){FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_BFLOAT16, 32});
    check_all(FIRN_BFLOAT16, (firn_reduction){FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_BFLOAT16, 2});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_sums),
        cmocka_unit_test(chunked_sums),
        cmocka_unit_test(sums_of_engines),
    };
    return cmocka_run_group_tests_name("kernels_sets_logits", tests, find_sets, NULL);
}
