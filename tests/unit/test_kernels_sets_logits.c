/* Tests that linear_cross_entropy gives, in every kernel set that this CPU can run, the bits of the ops that it stands
 * for, which the plain set runs over whole logits: its loss and both gradients, over blocks of rows of which the last
 * has fewer, in each type and kind of sum, plain and weighted. Unavailable sets are named and skipped. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support_sets.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

BEFORE_ALL {
    support_find_sets("plain " SUPPORT_ALL_SETS);
}

/* Runs an op of the plain set. The parts have their layout, or ignore_index and scaling, at the place of the first
 * integer, and their reals where the whole has its own. */
static void run_part(uint16_t code, const test_call *whole, int first_integer, int reduction, uint8_t input_count,
                     const firn_tensor *inputs, uint8_t output_count, const firn_tensor *outputs) {
    test_call part = {
        .input_count = input_count, .output_count = output_count, .reductions = {whole->reductions[reduction]}};
    memcpy(part.inputs, inputs, input_count * sizeof *inputs);
    memcpy(part.outputs, outputs, output_count * sizeof *outputs);
    memcpy(part.integers, &whole->integers[first_integer], 2 * sizeof part.integers[0]);
    memcpy(part.reals, whole->reals, sizeof part.reals);
    test_call_run(support_kernel(firn_kernel_set_choose("plain"), code, &part), &part);
}

/* Computes dweight, loss and dx by the ops that the op stands for, over the logits of all rows. */
static void run_parts(const test_call *call, const firn_tensor *expected) {
    const firn_tensor *in = call->inputs, none = {0};
    const firn_tensor x = in[FIRN_LINEAR_CROSS_ENTROPY_IN_X], weight = in[FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHT];
    const firn_tensor labels = in[FIRN_LINEAR_CROSS_ENTROPY_IN_LABELS], dloss = in[FIRN_LINEAR_CROSS_ENTROPY_IN_DLOSS];
    const bool weighted = call->integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] != 0;
    const firn_tensor weights =
        call->input_count > FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS ? in[FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS] : none;
    const firn_tensor batch = call->input_count > FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR
                                  ? in[FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR]
                                  : none;
    const uint32_t rows = (uint32_t)labels.elements,
                   classes = (uint32_t)call->integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES];
    firn_tensor logits =
        x.rank == 3 ? tensor_new(x.type, x.dims[0], x.dims[1], classes, 0) : tensor_new(x.type, rows, classes, 0, 0);
    firn_tensor dlogits = tensor_copy(&logits), maxima = tensor_new(FIRN_FLOAT32, rows, 0, 0, 0);
    firn_tensor sums = tensor_copy(&maxima), losses = tensor_copy(&maxima),
                divisor = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0);
    const firn_tensor loss = expected[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS];
    run_part(FIRN_OP_linear, call, FIRN_LINEAR_CROSS_ENTROPY_LAYOUT, FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_LOGITS, 2,
             (const firn_tensor[]){x, weight}, 1, &logits);
    run_part(weighted ? FIRN_OP_cross_entropy_weighted : FIRN_OP_cross_entropy, call,
             FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX, 0, weighted ? 4 : 2,
             (const firn_tensor[]){logits, labels, weights, batch}, weighted ? 5 : 3,
             (const firn_tensor[]){loss, maxima, sums, losses, divisor});
    run_part(weighted ? FIRN_OP_cross_entropy_weighted_backward : FIRN_OP_cross_entropy_backward, call,
             FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX, 0, weighted ? 7 : 5,
             (const firn_tensor[]){dloss, logits, labels, maxima, sums, divisor, weights}, 1, &dlogits);
    run_part(FIRN_OP_linear_backward_input, call, FIRN_LINEAR_CROSS_ENTROPY_LAYOUT,
             FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_INPUT, 2, (const firn_tensor[]){dlogits, weight}, 1,
             &expected[FIRN_LINEAR_CROSS_ENTROPY_OUT_DX]);
    run_part(FIRN_OP_linear_backward_weight, call, FIRN_LINEAR_CROSS_ENTROPY_LAYOUT,
             FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_WEIGHT, 2, (const firn_tensor[]){dlogits, x}, 1,
             &expected[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT]);
    tensor_free_each(&logits, &dlogits, &maxima, &sums, &losses, &divisor, (firn_tensor *)NULL);
}

/* The plain set is slow: it computes the small shapes only. */
static bool takes_part(int i, uint16_t code, const test_call *call) {
    const firn_kernel_set *set = support_compared.found[i].set;
    const bool is_small = call->inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_X].elements *
                              (size_t)call->integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] <
                          (size_t)1 << 19;
    assert_non_null(set->find(code, call->reductions).run);
    return is_small || strcmp(support_compared.found[i].name, "plain") != 0;
}

/* Compares the outputs that are no scratch, computed by each set with one and with three threads, with those of the
 * parts. */
static void compare(const test_call *call, const char *what) {
    static const firn_parallel ways[] = {{.threads = 1}, {.run = support_run_backwards, .threads = 3}};
    enum { COMPARED = FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS };
    firn_tensor expected[COMPARED];
    for (int o = 0; o < COMPARED; o++)
        expected[o] = tensor_copy(&call->outputs[o]);
    run_parts(call, expected);
    support_compare(FIRN_OP_linear_cross_entropy, call, expected,
                    &(support_comparison){.what = what,
                                          .ways = ways,
                                          .way_count = sizeof ways / sizeof ways[0],
                                          .outputs = COMPARED,
                                          .takes_part = takes_part});
    for (int o = 0; o < COMPARED; o++)
        tensor_free(&expected[o]);
}

typedef struct shape {
    uint32_t rows, terms, classes, block;
} shape;

/* The last blocks have 1, 6, 32, 1 and 44 rows. */
static const shape shapes[] = {
    {33, 5, 7, 32}, {70, 65, 259, 32}, {96, 128, 64, 32}, {129, 33, 1030, 64}, {300, 24, 50, 128}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], SMALL_SHAPES = 2 };

/* The losses that the op has. */
typedef struct loss {
    bool weighted, weights; /* weights: an input has one for each row */
    int ignore_index, by_rows;
    float label_smoothing, factor;
    float divisor;   /* an input has it; 0: there is none */
    bool no_weight;  /* of any row, so that the loss is divided by 0 */
    bool of_windows; /* x has three dimensions, of which the loss counts the first */
} loss;

static const loss losses[] = {{.ignore_index = -1, .factor = 1.0f},
                              {true, true, 3, 0, 0.1f, 0.5f, 0.0f, false, false},
                              {true, false, 3, 1, 0.0f, 1.0f, 0.0f, false, false},
                              {true, true, -1, 1, 0.25f, 2.0f, 0.0f, false, false},
                              {true, false, 3, 0, 0.1f, 0.75f, 37.0f, false, false},
                              {true, true, 3, 1, 0.0f, 1.0f, 0.0f, false, true},
                              {true, true, 3, 0, 0.0f, 1.0f, 0.0f, true, true},
                              {.ignore_index = -1, .factor = 1.0f, .of_windows = true}};
enum { LOSSES = sizeof losses / sizeof losses[0], MAIN_LOSSES = 4 };

static void fill_labels(const firn_tensor *labels, uint32_t classes) {
    uint32_t state = 2463534242u;
    for (size_t i = 0; i < labels->elements; i++)
        ((int32_t *)labels->data)[i] = (int32_t)draw(&state, i % 3 == 0 ? 4 : classes);
}

/* The sums of the three products, by the order of their descriptors. */
typedef struct sums {
    firn_reduction of[3];
} sums;

static void check(uint8_t type, const sums *reductions, shape s, int layout, loss l, bool special) {
    if (!support_takes_next())
        return;
    const uint32_t windows = s.rows % 3 == 0 ? 3 : s.rows % 2 == 0 ? 2 : 1;
    firn_tensor x = l.of_windows ? tensor_new(type, windows, s.rows / windows, s.terms, 0)
                                 : tensor_new(type, s.rows, s.terms, 0, 0);
    firn_tensor labels = tensor_new(FIRN_INT32, s.rows, 0, 0, 0), divisor = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0);
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
        set(&weights, i, i % 5 == 0 || l.no_weight ? 0.0f : 1.0f + get(&weights, i));
    set(&divisor, 0, l.divisor);
    if (special)
        tensor_sprinkle(&weight, 4);
    test_call call = {.input_count = FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS,
                      .output_count = FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES + 1,
                      .inputs = {x, weight, labels, dloss}};
    if (l.weights || l.divisor != 0.0f)
        call.inputs[call.input_count++] = l.weights ? weights : (firn_tensor){0};
    if (l.divisor != 0.0f)
        call.inputs[call.input_count++] = divisor;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_LAYOUT] = layout;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_CLASSES] = s.classes;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS] = s.block;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_HALF] = type != FIRN_FLOAT32;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] = l.weighted;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX] = l.ignore_index;
    call.integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] = l.by_rows;
    call.reals[FIRN_LINEAR_CROSS_ENTROPY_LABEL_SMOOTHING] = l.label_smoothing;
    call.reals[FIRN_LINEAR_CROSS_ENTROPY_FACTOR] = l.factor;
    for (int i = 0; i < 3; i++) {
        call.reductions[i] = reductions->of[i];
        call.reductions[i].output = i == FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_WEIGHT ? (uint8_t)FIRN_FLOAT32 : type;
    }
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT] =
        tensor_new(FIRN_FLOAT32, weight.dims[0], weight.dims[1], 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS] = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DX] = tensor_copy(&x);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS] = tensor_new(type, s.block, s.classes, 0, 0);
    call.outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES] = tensor_new(FIRN_FLOAT32, 3, s.block, 0, 0);
    snprintf(what, sizeof what, "%ux%ux%u by %u, %s, sum %u, layout %d", s.rows, s.terms, s.classes, s.block,
             l.weighted ? "weighted" : "plain", reductions->of[0].kind, layout);
    compare(&call, what);
    support_free_outputs(&call, call.outputs);
    tensor_free_each(&x, &weight, &labels, &dloss, &weights, &divisor, (firn_tensor *)NULL);
}

/* Each small shape and loss, in one layout and the other, and once with special values. */
static void check_all(uint8_t type, const sums *reductions) {
    for (int i = 0; i < SHAPES; i++)
        for (int j = 0; j < (i < SMALL_SHAPES ? LOSSES : MAIN_LOSSES); j++)
            check(type, reductions, shapes[i], (i + j) % 2, losses[j], false);
    for (int j = 0; j < MAIN_LOSSES; j++)
        check(type, reductions, shapes[1], j % 2, losses[j], true);
}

static void check_sum(uint8_t type, firn_reduction sum) {
    check_all(type, &(sums){{sum, sum, sum}});
}

static firn_reduction in_order(void) {
    return (firn_reduction){.kind = FIRN_REDUCTION_F32, .accumulator = FIRN_FLOAT32};
}

static firn_reduction chunked(uint8_t type, uint32_t chunk) {
    return (firn_reduction){.kind = FIRN_REDUCTION_CHUNKED, .accumulator = type, .chunk = chunk};
}

TEST(float32_sums) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        check_sum(type, in_order());
}

TEST(chunked_sums) {
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        check_sum(type, chunked(type, 32));
}

TEST(sums_of_engines) {
    check_sum(FIRN_BFLOAT16, (firn_reduction){FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_BFLOAT16, 32});
    check_sum(FIRN_BFLOAT16, (firn_reduction){FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_BFLOAT16, 2});
}

/* Each product has a sum of its own. */
TEST(other_sums_of_each_product) {
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (int layout = 0; layout < 2; layout++) {
            check(type, &(sums){{in_order(), chunked(type, 3), chunked(type, 32)}}, shapes[4], layout, losses[layout],
                  false);
            check(type, &(sums){{chunked(type, 5), in_order(), chunked(type, 16)}}, shapes[4], layout, losses[layout],
                  false);
            check(type, &(sums){{chunked(type, 7), chunked(type, 9), in_order()}}, shapes[4], layout, losses[layout],
                  false);
        }
}
