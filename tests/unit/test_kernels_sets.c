/* Tests that every kernel set that this CPU can run gives the bits of the plain one: linear layers and their gradients
 * over awkward sizes (one, primes, around the edges of register tiles, panels, blocks of terms and pieces), all types,
 * both layouts, special values, one thread and several; recurrent ops, which pack in their own way. Unavailable sets
 * are named and skipped. The sets amx and avx512bf16 have their recurrent ops in any case, with plain C in place of
 * their instructions. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generated/reader.h"
#include "plan/op_words.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

/* The plain set, and the one that is compared in its place where there are many multiplications: fma, the same portable
 * sources with an instruction in place of a call of the C library. NULL if this CPU cannot run it. */
static const firn_kernel_set *plain, *fma;

BEFORE_ALL {
    plain = firn_kernel_set_choose("plain");
    fma = firn_kernel_set_choose("fma");
    support_find_sets(SUPPORT_ALL_SETS);
    assert_non_null(plain);
}

/* The name given in the call has priority over the environment, which has priority over the CPU's features. */
TEST(sets_are_named) {
    char names[] = SUPPORT_ALL_SETS;
    assert_null(firn_kernel_set_choose("nonsense"));
    assert_null(firn_kernel_set_choose(""));
    assert_int_equal(setenv("FIRN_KERNELS", "plain", 1), 0);
    assert_ptr_equal(firn_kernel_set_choose(NULL), plain);
    int found = 0;
    for (char *name = strtok(names, " "); name != NULL; name = strtok(NULL, " ")) {
        const bool is_found = found < support_compared.count && strcmp(name, support_compared.found[found].name) == 0;
        assert_ptr_equal(firn_kernel_set_choose(name), is_found ? support_compared.found[found++].set : NULL);
    }
    assert_int_equal(setenv("FIRN_KERNELS", "nonsense", 1), 0);
    assert_null(firn_kernel_set_choose(NULL));
    assert_int_equal(setenv("FIRN_KERNELS", "", 1), 0);
    const firn_kernel_set *without = firn_kernel_set_choose(NULL);
    assert_int_equal(unsetenv("FIRN_KERNELS"), 0);
    assert_ptr_equal(firn_kernel_set_choose(NULL), without);
}

/* What is no number from 1 takes every case, as does an empty text. */
TEST(every_case_is_taken) {
    static const char *const texts[] = {"0", "", "all", "1"};
    const char *before = getenv("FIRN_TEST_EVERY");
    char *kept = before != NULL ? strdup(before) : NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(setenv("FIRN_TEST_EVERY", texts[i], 1), 0);
        for (int taken = 0; taken < 3; taken++)
            assert_true(support_takes_next());
    }
    assert_int_equal(kept != NULL ? setenv("FIRN_TEST_EVERY", kept, 1) : unsetenv("FIRN_TEST_EVERY"), 0);
    free(kept);
}

static bool asks_for_scratch(const firn_kernel_set *set) {
    enum { OPS = 256 }; /* more than there are */
    static const uint8_t kinds[] = {FIRN_REDUCTION_F32, FIRN_REDUCTION_CHUNKED, FIRN_REDUCTION_EVEN_ODD_BLOCKS,
                                    FIRN_REDUCTION_PAIRS};
    for (uint16_t op = 0; op < OPS; op++) {
        if (set->find(op, NULL).scratch != NULL)
            return true;
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
            for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
                const firn_reduction reductions[FIRN_REDUCTIONS_MAX] = {
                    {.kind = kinds[kind], .accumulator = type, .output = type}};
                if (set->find(op, reductions).scratch != NULL)
                    return true;
            }
    }
    return false;
}

/* The vector kernels of float32 sums compute flushed ones, too: a row that is missing from their table would cost time
 * and no bit. */
TEST(flushed_sums_have_vector_kernels) {
    enum { OPS = 256 };
    static const firn_reduction in_order[FIRN_REDUCTIONS_MAX] = {{.kind = FIRN_REDUCTION_F32}},
                                blocks[FIRN_REDUCTIONS_MAX] = {{.kind = FIRN_REDUCTION_EVEN_ODD_BLOCKS}},
                                pairs[FIRN_REDUCTIONS_MAX] = {{.kind = FIRN_REDUCTION_PAIRS}};
    const firn_kernel_set *avx2 = firn_kernel_set_choose("avx2"), *neon = firn_kernel_set_choose("neon");
    const firn_kernel_set *set = avx2 != NULL ? avx2 : neon;
    if (set == NULL)
        skip();
    for (uint16_t op = 0; op < OPS; op++) {
        const firn_kernel run = set->find(op, in_order).run;
        if (set->find(op, blocks).run != run || set->find(op, pairs).run != run)
            fail_msg("op %u: flushed sums have another kernel", op);
    }
}

/* firn_workspace_bytes asks the kernels only if the set says that some need scratch. */
TEST(scratch_is_announced) {
    assert_int_equal(plain->has_scratch, asks_for_scratch(plain));
    for (int i = 0; i < support_compared.count; i++)
        assert_int_equal(support_compared.found[i].set->has_scratch, asks_for_scratch(support_compared.found[i].set));
}

typedef struct shape {
    uint32_t n, k, o;
} shape;

/* A few multiplications; sizes around 6 and 14 rows, 8, 16 and 32 columns, 252 rows and 256 columns whose sums are
 * kept, 512 and 768 terms of a block, 1,152 columns of a piece, groups of 66 rows whose panels do not stay in the L2
 * cache, and 64 terms or rows read in place. Some have so few rows that either set swaps the operands. */
static const shape shapes[] = {
    {1, 1, 1},      {1, 1, 32},    {2, 3, 5},      {4, 8, 1},      {1, 2, 33},     {2, 1, 1},      {5, 3, 7},
    {6, 8, 9},      {7, 9, 17},    {13, 15, 31},   {14, 16, 32},   {15, 17, 33},   {28, 255, 16},  {29, 256, 17},
    {27, 257, 15},  {31, 511, 63}, {83, 512, 64},  {85, 513, 65},  {167, 300, 97}, {169, 37, 97},  {84, 257, 289},
    {7, 258, 1153}, {1, 600, 600}, {257, 1, 13},   {337, 29, 2},   {64, 64, 64},   {53, 127, 289}, {300, 7, 300},
    {170, 260, 90}, {253, 514, 3}, {768, 70, 130}, {70, 768, 130}, {5, 769, 35},   {17, 513, 259}, {150, 136, 200},
    {65, 72, 200},  {4, 1025, 34}, {30, 530, 131}, {62, 40, 515},  {1, 37, 1061},  {1, 6, 17},     {1, 48, 2050},
    {1, 131, 79},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum { THREADS_MAX = 8 };

/* Runs each task in a separate thread. Portable kernels have more tasks than threads: runs three ranges. */
static void run_split(void *context, size_t tasks, firn_task_body body, void *argument) {
    if (tasks <= THREADS_MAX)
        support_run_in_threads(tasks, tasks, body, argument);
    else
        support_run_split(context, tasks, body, argument);
}

static const firn_parallel ways[] = {{.threads = 1},
                                     {.run = run_split, .threads = 2},
                                     {.run = run_split, .threads = 3},
                                     {.run = run_split, .threads = THREADS_MAX}};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* --- comparison --------------------------------------------------------------------------------------------------- */

/* Returns whether a set has a kernel that has not been compared yet: amx and avx512bf16 have most of them from avx512.
 * A model has the kernels of its engine alone. */
static bool takes_part(int i, uint16_t code, const test_call *call) {
    const firn_kernel own = support_compared.found[i].set->find(code, call->reductions).run;
    for (int before = 0; before < i; before++)
        if (support_compared.found[before].set->find(code, call->reductions).run == own)
            return false;
    return i < support_compared.named || own != NULL;
}

/* Makes the NaNs of an output canonical if it is scratch, where they may be any. */
static void clean_scratch(uint16_t code, int output, firn_tensor *tensor) {
    const bool is_scratch = (code == FIRN_OP_lstm_backward && output == FIRN_LSTM_BACKWARD_OUT_CARRIED) ||
                            (code == FIRN_OP_gru_backward && output == FIRN_GRU_BACKWARD_OUT_CARRIED) ||
                            (code == FIRN_OP_rnn_backward && output == FIRN_RNN_BACKWARD_OUT_CARRIED) ||
                            (code == FIRN_OP_rnn && output == FIRN_RNN_OUT_SUMS);
    for (size_t i = 0; i < tensor->elements && is_scratch; i++)
        set(tensor, i, firn_canonical(get(tensor, i)));
}

/* Returns the set that says what is right. Smaller shapes compare fma with plain. */
static const firn_kernel_set *reference_of(shape s) {
    enum { MANY = 1 << 19 };
    return (uint64_t)s.n * s.k * s.o > MANY && fma != NULL ? fma : plain;
}

/* Compares the outputs of one op, computed by each set with each number of threads, with those of the reference. */
static void compare(uint16_t code, test_call *call, const char *what, shape s) {
    char place[96];
    firn_tensor outputs[FIRN_OUTPUTS_MAX], expected[FIRN_OUTPUTS_MAX];
    memcpy(outputs, call->outputs, sizeof outputs);
    for (int o = 0; o < call->output_count; o++)
        call->outputs[o] = expected[o] = tensor_copy(&outputs[o]);
    call->parallel = (firn_parallel){0};
    test_call_run(support_kernel(reference_of(s), code, call), call);
    memcpy(call->outputs, outputs, sizeof outputs);
    for (int o = 0; o < call->output_count; o++)
        clean_scratch(code, o, &expected[o]);
    snprintf(place, sizeof place, "%s %ux%ux%u", what, s.n, s.k, s.o);
    support_compare(code, call, expected,
                    &(support_comparison){.what = place,
                                          .ways = ways,
                                          .way_count = WAYS,
                                          .models_in_every_second = true,
                                          .outputs = call->output_count,
                                          .takes_part = takes_part,
                                          .clean = clean_scratch});
    for (int o = 1; o < call->output_count; o++) /* what a gradient reads */
        memcpy(outputs[o].data, expected[o].data, outputs[o].elements * firn_type_bytes(outputs[o].type));
    support_free_outputs(call, expected);
}

_Static_assert((int)FIRN_LINEAR_IN_WEIGHT == (int)FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT, "one place for the weight");

/* The same with a float32 weight, which the op rounds to the type of the other factor. */
static void compare_rounded(uint16_t code, test_call call, const char *what, shape s) {
    const firn_tensor half = call.inputs[FIRN_LINEAR_IN_WEIGHT];
    if (half.type == FIRN_FLOAT32)
        return;
    firn_tensor weight = tensor_before_rounding(&half, s.n);
    call.inputs[FIRN_LINEAR_IN_WEIGHT] = weight;
    compare(code, &call, what, s);
    tensor_free(&weight);
}

/* The rows of a matrix from `first` on. */
static firn_tensor rows_from(const firn_tensor *matrix, uint32_t first, uint32_t count, uint32_t dims[2]) {
    dims[0] = count, dims[1] = matrix->dims[1];
    return (firn_tensor){.data = (uint8_t *)matrix->data + (size_t)first * dims[1] * firn_type_bytes(matrix->type),
                         .elements = (size_t)count * dims[1],
                         .dims = dims,
                         .type = matrix->type,
                         .rank = 2};
}

/* A gradient of a weight that continues from that of the first rows is that of all rows, in each set that has a kernel
 * for it. A chunk begins with the rows. */
static void compare_continued(test_call *call, uint32_t rows, shape s) {
    const firn_tensor dy = call->inputs[0], x = call->inputs[1], out = call->outputs[0];
    const uint32_t chunk = call->reductions[0].chunk != 0 ? call->reductions[0].chunk : 1;
    const uint32_t first = (rows / 2 + chunk - 1) / chunk * chunk;
    uint32_t dims[2][2];
    char place[96];
    if (first == 0 || first >= rows || out.type != FIRN_FLOAT32)
        return;
    firn_tensor whole = tensor_copy(&out), begun = tensor_copy(&out);
    call->parallel = (firn_parallel){0};
    call->outputs[0] = whole;
    test_call_run(support_kernel(reference_of(s), FIRN_OP_linear_backward_weight, call), call);
    call->outputs[0] = begun;
    call->inputs[0] = rows_from(&dy, 0, first, dims[0]), call->inputs[1] = rows_from(&x, 0, first, dims[1]);
    test_call_run(support_kernel(reference_of(s), FIRN_OP_linear_backward_weight, call), call);
    call->inputs[0] = rows_from(&dy, first, rows - first, dims[0]);
    call->inputs[1] = rows_from(&x, first, rows - first, dims[1]);
    call->outputs[0] = tensor_copy(&begun);
    test_call_run(firn_kernel_add_weight, call);
    assert_same(&whole, &call->outputs[0], "continued, portable");
    tensor_free(&call->outputs[0]);
    snprintf(place, sizeof place, "continued %ux%ux%u", s.n, s.k, s.o);
    call->outputs[0] = begun;
    support_compare(FIRN_KERNEL_ADD_WEIGHT, call, &whole,
                    &(support_comparison){.what = place, .ways = ways, .way_count = WAYS, .outputs = 1});
    tensor_free_each(&whole, &begun, (firn_tensor *)NULL);
    call->inputs[0] = dy, call->inputs[1] = x, call->outputs[0] = out;
}

/* Fills with values whose products are subnormal in the tensor's type, and sums that contain them. */
static void fill_subnormal(firn_tensor *tensor, uint32_t seed) {
    static const float scales[] = {
        [FIRN_FLOAT32] = 0x1p-70f, [FIRN_FLOAT16] = 0x1p-9f, [FIRN_BFLOAT16] = 0x1p-70f, [FIRN_CBFLOAT16] = 0x1p-17f};
    tensor_fill(tensor, seed, 1.0f);
    for (size_t i = 0; i < tensor->elements; i++)
        set(tensor, i, get(tensor, i) * scales[tensor->type] * (i % 3 == 0 ? 0x1p-5f : 1.0f));
}

typedef enum filling { NUMBERS, SPECIALS, SUBNORMALS } filling;

static void fill(firn_tensor *tensor, uint32_t seed, filling filling) {
    if (filling == SUBNORMALS)
        fill_subnormal(tensor, seed);
    else
        tensor_fill(tensor, seed, 1.0f);
    if (filling == SPECIALS)
        tensor_sprinkle(tensor, seed);
}

static void check(uint8_t type, uint8_t out_type, shape s, int layout, firn_reduction reduction, filling filling) {
    if (!support_takes_next())
        return;
    const uint32_t rows = layout == 0 ? s.o : s.k, columns = layout == 0 ? s.k : s.o;
    firn_tensor x = tensor_new(type, s.n, s.k, 0, 0), dy = tensor_new(type, s.n, s.o, 0, 0);
    firn_tensor weight = tensor_new(type, rows, columns, 0, 0);
    firn_tensor bias = tensor_new(layout == 0 ? type : FIRN_FLOAT32, s.o, 0, 0, 0);
    firn_tensor y = tensor_new(out_type, s.n, s.o, 0, 0), dx = tensor_new(out_type, s.n, s.k, 0, 0);
    firn_tensor dweight = tensor_new(out_type, rows, columns, 0, 0);
    fill(&x, 1, filling);
    fill(&dy, 2, filling);
    fill(&weight, 3, filling);
    fill(&bias, 4, filling);
    test_call call = {.input_count = 2, .output_count = 1, .integers = {layout}, .reductions = {reduction}};
    call.inputs[FIRN_LINEAR_IN_X] = x, call.inputs[FIRN_LINEAR_IN_WEIGHT] = weight;
    call.inputs[FIRN_LINEAR_IN_BIAS] = bias, call.outputs[FIRN_LINEAR_OUT_Y] = y;
    compare(FIRN_OP_linear, &call, "linear", s);
    call.input_count = 3;
    compare(FIRN_OP_linear, &call, "linear with bias", s);
    call.input_count = 2;
    compare_rounded(FIRN_OP_linear, call, "linear, rounded weight", s);
    call.inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_DY] = dy, call.outputs[FIRN_LINEAR_BACKWARD_INPUT_OUT_DX] = dx;
    compare(FIRN_OP_linear_backward_input, &call, "linear_backward_input", s);
    compare_rounded(FIRN_OP_linear_backward_input, call, "linear_backward_input, rounded weight", s);
    call.inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = x;
    call.outputs[FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT] = dweight;
    compare(FIRN_OP_linear_backward_weight, &call, "linear_backward_weight", s);
    compare_continued(&call, s.n, s);
    const uint32_t first = rows / 3, some = (rows - first + 1) / 2;
    firn_tensor piece = tensor_new(out_type, some, columns, 0, 0);
    call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = first;
    call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = some;
    call.outputs[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_OUT_DWEIGHT] = piece;
    compare(FIRN_OP_linear_backward_weight_rows, &call, "linear_backward_weight_rows", s);
    tensor_free_each(&piece, &x, &dy, &weight, &bias, &y, &dx, &dweight, (firn_tensor *)NULL);
}

static firn_reduction in_float32(uint8_t type) {
    return (firn_reduction){FIRN_REDUCTION_F32, FIRN_FLOAT32, type, 0};
}

TEST(float32_sums) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < SHAPES; i++)
            for (int layout = 0; layout < 2; layout++)
                check(type, type, shapes[i], layout, in_float32(type), NUMBERS);
}

/* Gradients of half weights may be stored in float32, and float32 layers may have a half output. */
TEST(other_output_types) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (int layout = 0; layout < 2; layout++) {
            check(type, FIRN_FLOAT32, (shape){85, 261, 49}, layout, in_float32(FIRN_FLOAT32), NUMBERS);
            check(FIRN_FLOAT32, type, (shape){85, 261, 49}, layout, in_float32(type), NUMBERS);
        }
}

TEST(special_values) {
    support_skip_without_sets();
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int layout = 0; layout < 2; layout++)
            for (filling filling = SPECIALS; filling <= SUBNORMALS; filling++) {
                check(type, type, (shape){33, 270, 41}, layout, in_float32(type), filling);
                check(type, FIRN_FLOAT32, (shape){5, 18, 35}, layout, in_float32(FIRN_FLOAT32), filling);
            }
}

static void check_row(uint8_t type, uint8_t out_type, shape s, int layout, filling filling) {
    if (!support_takes_next())
        return;
    test_call call = {.input_count = 3,
                      .output_count = 1,
                      .integers = {layout},
                      .reductions = {in_float32(out_type)},
                      .inputs = {[FIRN_LINEAR_IN_X] = tensor_new(type, 1, s.k, 0, 0),
                                 [FIRN_LINEAR_IN_WEIGHT] =
                                     layout == 0 ? tensor_new(type, s.o, s.k, 0, 0) : tensor_new(type, s.k, s.o, 0, 0),
                                 [FIRN_LINEAR_IN_BIAS] = tensor_new(FIRN_FLOAT32, s.o, 0, 0, 0)},
                      .outputs = {[FIRN_LINEAR_OUT_Y] = tensor_new(out_type, 1, s.o, 0, 0)}};
    for (uint32_t i = 0; i < 3; i++)
        fill(&call.inputs[i], i + 5, filling);
    compare(FIRN_OP_linear, &call, "linear of one row with bias", s);
    call.input_count = 2;
    compare(FIRN_OP_linear, &call, "linear of one row", s);
    compare_rounded(FIRN_OP_linear, call, "linear of one row, rounded weight", s);
    for (int i = 0; i < 3; i++)
        tensor_free(&call.inputs[i]);
    tensor_free(&call.outputs[0]);
}

/* A row by itself reads the weight in the order of memory: lines of 16 or 32 columns, or blocks of 16 columns by 768
 * terms as squares of 8 or 16; in pieces of at most 4,096 columns. */
TEST(one_row) {
    support_skip_without_sets();
    static const shape some[] = {{1, 2, 17},    {1, 767, 16}, {1, 769, 47}, {1, 784, 33},
                                 {1, 1553, 64}, {1, 3, 4099}, {1, 16, 8225}};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (uint8_t out_type = FIRN_FLOAT32; out_type <= last_real_type; out_type++)
            for (int layout = 0; layout < 2; layout++) {
                for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
                    check_row(type, out_type, some[i], layout, NUMBERS);
                for (filling filling = SPECIALS; filling <= SUBNORMALS; filling++)
                    check_row(type, out_type, (shape){1, 35, 67}, layout, filling);
            }
}

/* A single term multiplied by 1, so that only widening and rounding take place. */
static void convert(const firn_tensor *x, uint8_t out_type, const char *what) {
    firn_tensor one = tensor_new(x->type, 1, 1, 0, 0), out = tensor_new(out_type, 1, x->dims[1], 0, 0);
    set(&one, 0, 1.0f);
    test_call call = {.input_count = 2, .output_count = 1, .reductions = {in_float32(out_type)}};
    call.inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] = one, call.inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = *x;
    call.outputs[FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT] = out;
    compare(FIRN_OP_linear_backward_weight, &call, what, (shape){1, x->dims[1], 1});
    tensor_free_each(&one, &out, (firn_tensor *)NULL);
}

/* Converts every half to float; and to half every combination of the upper 16 bits with lower bits that form a tie or
 * lie next to one. */
TEST(conversions) {
    support_skip_without_sets();
    static const uint32_t low_bits[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000,
                                        0x2001, 0x3000, 0x6000, 0x7fff, 0x8000, 0x8001};
    enum { ALL = 1 << 16, LOW = sizeof low_bits / sizeof low_bits[0] };
    firn_tensor floats = tensor_new(FIRN_FLOAT32, 1, ALL, 0, 0);
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++) {
        firn_tensor halves = tensor_new(type, 1, ALL, 0, 0);
        for (uint32_t i = 0; i < ALL; i++)
            ((uint16_t *)halves.data)[i] = (uint16_t)i;
        convert(&halves, FIRN_FLOAT32, "widening");
        tensor_free(&halves);
        for (int low = 0; low < LOW; low++) {
            for (uint32_t i = 0; i < ALL; i++)
                ((uint32_t *)floats.data)[i] = i << 16 | low_bits[low];
            if (support_takes_next())
                convert(&floats, type, "rounding");
        }
    }
    tensor_free(&floats);
}

/* Sizes around 8 and 16 rows, 32 columns and 256 terms of a panel, 64 rows and 256 columns of a piece; chunks that end
 * at the end of a block of terms, inside it, and chunks longer than a block. */
TEST(chunked_sums) {
    support_skip_without_sets();
    static const uint32_t chunks[] = {64, 128, 7, 300};
    static const shape some[] = {{1, 1, 1}, {9, 257, 33}, {17, 128, 15}, {5, 601, 33}, {3, 65, 259}, {67, 31, 64}};
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
            const firn_reduction reduction = {FIRN_REDUCTION_CHUNKED, type, type, chunks[i % 4]};
            check(type, type, some[i], (int)i % 2, reduction, NUMBERS);
        }
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (int layout = 0; layout < 2; layout++) {
            const firn_reduction reduction = {FIRN_REDUCTION_CHUNKED, type, type, 64};
            check(type, type, (shape){19, 131, 35}, layout, reduction, SPECIALS);
            check(type, FIRN_FLOAT32, (shape){19, 131, 35}, layout, reduction, SUBNORMALS);
        }
}

/* Sizes around a block of 32 terms, and pairs with one. */
TEST(flushed_sums) {
    support_skip_without_sets();
    static const firn_reduction reductions[] = {{FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_BFLOAT16, 32},
                                                {FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_BFLOAT16, 2}};
    static const shape some[] = {{1, 1, 1},   {9, 257, 33}, {17, 128, 15}, {5, 601, 33},
                                 {3, 65, 59}, {67, 31, 64}, {33, 32, 31},  {130, 33, 66}};
    for (size_t kind = 0; kind < 2; kind++)
        for (int layout = 0; layout < 2; layout++) {
            for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
                check(FIRN_BFLOAT16, FIRN_BFLOAT16, some[i], layout, reductions[kind], NUMBERS);
            for (filling filling = SPECIALS; filling <= SUBNORMALS; filling++)
                check(FIRN_BFLOAT16, FIRN_FLOAT32, (shape){19, 131, 35}, layout, reductions[kind], filling);
        }
}

static firn_tensor filled(uint8_t type, uint32_t a, uint32_t b, uint32_t c, uint32_t seed) {
    firn_tensor tensor = tensor_new(type, a, b, c, 0);
    fill(&tensor, seed, c == 0 ? NUMBERS : SPECIALS);
    return tensor;
}

static void scale(firn_tensor *tensor, float factor) {
    for (size_t i = 0; i < tensor->elements; i++)
        set(tensor, i, get(tensor, i) * factor);
}

/* Operands of recurrent ops, and results: those of states have a name of their own, so that no op writes what another
 * reads. */
typedef struct sequence {
    firn_tensor gates, weight, y, state, bias, saved, cells, last;
    firn_tensor of_gates, of_weight, h, c, scratch;
} sequence;

static sequence sequence_of(uint8_t type, shape s, uint32_t gates) {
    const uint32_t t = s.n, b = s.k, units = s.o, width = gates * units;
    return (sequence){.gates = filled(type, t, b, width, 1),
                      .weight = filled(type, width, units, 0, 2),
                      .y = filled(type, t, b, units, 3),
                      .state = filled(type, b, units, 0, 4),
                      .bias = filled(type, width, 0, 0, 5),
                      .saved = filled(FIRN_FLOAT32, t, b, 4 * units, 6),
                      .cells = filled(FIRN_FLOAT32, t, b, units, 7),
                      .last = filled(FIRN_FLOAT32, b, units, 0, 8),
                      .of_gates = filled(type, t, b, width, 9),
                      .of_weight = filled(type, width, units, 0, 10),
                      .h = filled(type, b, units, 0, 11),
                      .c = filled(FIRN_FLOAT32, b, units, 0, 12),
                      .scratch = filled(FIRN_FLOAT32, 2, b, units, 13)};
}

/* Compares one op; the lists end with a tensor without data. */
static void compare_recurrent(uint16_t code, firn_reduction reduction, shape s, const firn_tensor *inputs,
                              const firn_tensor *outputs, const int64_t *integers) {
    test_call call = {.reductions = {reduction}};
    for (; inputs->data != NULL; inputs++)
        call.inputs[call.input_count++] = *inputs;
    for (; outputs->data != NULL; outputs++)
        call.outputs[call.output_count++] = *outputs;
    memcpy(call.integers, integers, 3 * sizeof integers[0]);
    compare(code, &call, firn_op_name(firn_op_find(code)), s);
}

#define LIST(...)                                                                                                      \
    (const firn_tensor[]) {                                                                                            \
        __VA_ARGS__, {                                                                                                 \
            .data = NULL                                                                                               \
        }                                                                                                              \
    }
#define FLAGS(...) ((const int64_t[3]){__VA_ARGS__})

/* Every recurrent op over n steps of k samples with o units, in one direction. weights: NUMBERS, or SUBNORMALS, which
 * make products near the smallest normal value; the gates then add nothing to their sums. */
static void check_recurrent(uint8_t type, firn_reduction reduction, shape s, int64_t reverse, filling weights) {
    sequence lstm = sequence_of(type, s, 4), gru = sequence_of(type, s, 3), rnn = sequence_of(type, s, 1);
    sequence *const all[] = {&lstm, &gru, &rnn};
    const int64_t flag = !reverse; /* of gru and rnn */
    for (size_t i = 0; i < sizeof all / sizeof all[0] && weights == SUBNORMALS; i++) {
        scale(&all[i]->weight, 0x1p-125f);
        tensor_fill(&all[i]->gates, 1, 0.0f);
        tensor_fill(&all[i]->bias, 1, 0.0f);
    }
    sequence *q = &lstm;
    compare_recurrent(FIRN_OP_lstm, reduction, s, LIST(q->gates, q->weight, q->state, q->state),
                      LIST(q->y, q->h, q->c, q->saved, q->cells), FLAGS(reverse, 1));
    compare_recurrent(FIRN_OP_lstm_backward, reduction, s,
                      LIST(q->weight, q->saved, q->cells, q->y, q->state, q->last, q->state),
                      LIST(q->of_gates, q->h, q->c, q->scratch), FLAGS(reverse));
    q = &gru;
    compare_recurrent(FIRN_OP_gru, reduction, s, LIST(q->gates, q->weight, q->bias, q->state),
                      LIST(q->y, q->h, q->saved), FLAGS(flag, reverse, 1));
    compare_recurrent(FIRN_OP_gru_backward, reduction, s, LIST(q->weight, q->saved, q->y, q->y, q->state, q->state),
                      LIST(q->gates, q->of_gates, q->h, q->scratch), FLAGS(flag, reverse));
    compare_recurrent(FIRN_OP_recurrent_backward_weight, reduction, s, LIST(q->of_gates, q->y, q->state, q->saved),
                      LIST(q->of_weight), FLAGS(reverse));
    q = &rnn;
    compare_recurrent(FIRN_OP_rnn, reduction, s, LIST(q->gates, q->weight, q->state), LIST(q->y, q->h, q->scratch),
                      FLAGS(flag, reverse));
    compare_recurrent(FIRN_OP_rnn_backward, reduction, s, LIST(q->weight, q->y, q->y, q->state),
                      LIST(q->of_gates, q->h, q->scratch), FLAGS(flag, reverse));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        q = all[i];
        compare_recurrent(FIRN_OP_recurrent_backward_weight, reduction, s, LIST(q->of_gates, q->y), LIST(q->of_weight),
                          FLAGS(reverse));
        compare_recurrent(FIRN_OP_recurrent_backward_weight, reduction, s, LIST(q->of_gates, q->y, q->state),
                          LIST(q->of_weight), FLAGS(reverse));
        firn_tensor *each = &q->gates;
        for (size_t k = 0; k < sizeof *q / sizeof *each; k++)
            tensor_free(&each[k]);
    }
}

/* Samples around a register tile and the share of a thread, units around a panel. */
TEST(recurrent) {
    support_skip_without_sets();
    static const shape some[] = {{1, 1, 1}, {3, 19, 33}, {2, 6, 70}, {5, 1, 16}, {4, 13, 8}, {2, 40, 15}};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
            for (int64_t reverse = 0; reverse < 2; reverse++)
                check_recurrent(type, in_float32(type), some[i], reverse, NUMBERS);
}

/* Units that end a block of terms, and that do not. Only this test compares the models of engines, and not on an
 * emulated CPU, where that would take minutes. */
TEST(recurrent_of_flushed_sums) {
    if (getenv("FIRN_TEST_EMULATED") == NULL)
        support_add_models(SUPPORT_ENGINES);
    support_skip_without_sets();
    static const shape some[] = {{1, 1, 1},  {3, 19, 33}, {2, 6, 70},  {5, 1, 16},  {4, 13, 64}, {2, 40, 15},
                                 {9, 7, 31}, {3, 5, 2},   {1, 34, 32}, {1, 33, 65}, {1, 17, 47}};
    static const firn_reduction reductions[] = {{FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_BFLOAT16, 32},
                                                {FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_BFLOAT16, 2}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        for (int64_t turn = 0; turn < 4; turn++) {
            check_recurrent(FIRN_BFLOAT16, reductions[turn / 2], some[i], turn % 2, NUMBERS);
            if (support_takes_next())
                check_recurrent(FIRN_BFLOAT16, reductions[turn / 2], some[i], turn % 2, SUBNORMALS);
        }
    support_remove_models();
}

/* Chunks that end with the units, that do not, and that are longer; samples around a tile. */
TEST(recurrent_of_chunked_sums) {
    support_skip_without_sets();
    static const shape some[] = {{1, 1, 1}, {3, 19, 33}, {2, 6, 70}, {5, 1, 16}, {4, 16, 64}, {2, 40, 15}, {3, 5, 2}};
    static const uint32_t chunks[] = {1, 7, 32, 64};
    for (uint8_t type = FIRN_FLOAT16; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
            const firn_reduction reduction = {FIRN_REDUCTION_CHUNKED, type, type, chunks[i % 4]};
            for (int64_t reverse = 0; reverse < 2; reverse++)
                check_recurrent(type, reduction, some[i], reverse, NUMBERS);
            if (support_takes_next())
                check_recurrent(type, reduction, some[i], 0, SUBNORMALS);
        }
}

/* Products of batches: a and b turned or not. The shape is that of one batch; its matrices are [n,k] and [k,o]. */
static void check_batches(uint8_t type, uint8_t out_type, uint32_t batches, shape s, int turned,
                          firn_reduction reduction, filling filling) {
    if (!support_takes_next())
        return;
    const int64_t a_turned = turned & 1, b_turned = turned >> 1;
    firn_tensor a = tensor_new(type, batches, a_turned ? s.k : s.n, a_turned ? s.n : s.k, 0);
    firn_tensor b = tensor_new(type, batches, b_turned ? s.o : s.k, b_turned ? s.k : s.o, 0);
    firn_tensor y = tensor_new(out_type, batches, s.n, s.o, 0);
    fill(&a, 5, filling);
    fill(&b, 6, filling);
    test_call call = {.input_count = 2, .output_count = 1, .integers = {a_turned, b_turned}, .reductions = {reduction}};
    call.inputs[FIRN_MATMUL_IN_A] = a, call.inputs[FIRN_MATMUL_IN_B] = b, call.outputs[FIRN_MATMUL_OUT_Y] = y;
    compare(FIRN_OP_matmul, &call, "matmul", s);
    tensor_free_each(&a, &b, &y, (firn_tensor *)NULL);
}

/* Fewer batches than threads, which are then divided, and more. */
TEST(batches) {
    support_skip_without_sets();
    static const struct {
        uint32_t batches, n, k, o;
    } some[] = {{1, 1, 1, 1},     {5, 2, 3, 4},     {2, 7, 9, 17},    {3, 85, 513, 65},
                {33, 29, 31, 33}, {2, 300, 7, 300}, {3, 2, 257, 129}, {40, 17, 64, 48}};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
            for (int turned = 0; turned < 4; turned++) {
                const shape s = {some[i].n, some[i].k, some[i].o};
                const filling values = (filling)((i + (size_t)turned) % 3);
                const uint8_t out_type = (i + (size_t)turned) % 2 == 0 ? type : (uint8_t)FIRN_FLOAT32;
                check_batches(type, out_type, some[i].batches, s, turned, in_float32(out_type), values);
                if (type == FIRN_FLOAT32 || some[i].n > 100)
                    continue;
                const firn_reduction reduction = {FIRN_REDUCTION_CHUNKED, type, out_type, i % 2 == 0 ? 64 : 7};
                check_batches(type, out_type, some[i].batches, s, turned, reduction, values);
            }
}

/* Of the distribution below, drawn as NUMERICS.md says. */
static float truncated(firn_rng rng, size_t element) {
    float x = 0;
    for (rng.micro_step = 0; rng.micro_step < 64; rng.micro_step++) {
        x = firn_fma(0.25f, firn_random_normal(&rng, element), 0.5f);
        if (x >= 0.375f && x <= 0.75f)
            break;
    }
    return x;
}

/* Compares each element with its formula, too, so that missing or swapped elements are found. */
TEST(initial_values) {
    static const uint32_t elements[] = {1, 3, 255, 257, 4096, 9001};
    for (unsigned e = 0; e < sizeof elements / sizeof elements[0]; e++)
        for (int64_t rule = 0; rule <= FIRN_FB_INITIALISER_RULE_TRUNCATED_NORMAL; rule++) {
            if (rule == FIRN_FB_INITIALISER_RULE_WEIGHTS)
                continue;
            const firn_rng rng = {.seed = 31, .rng_id = 6};
            firn_tensor x = tensor_new(FIRN_FLOAT32, elements[e], 0, 0, 0), expected = tensor_copy(&x);
            for (size_t i = 0; i < x.elements; i++)
                set(&expected, i,
                    rule == 0   ? 0.5f
                    : rule == 1 ? firn_fma(0.25f, firn_random_normal(&rng, i), 0.5f)
                    : rule == 2 ? firn_fma(0.25f - 0.5f, firn_random_uniform(&rng, i), 0.5f)
                                : truncated(rng, i));
            test_call call = {.output_count = 1,
                              .outputs = {x},
                              .integers = {rule, 6},
                              .reals = {0.5f, 0.25f, 0.375f, 0.75f},
                              .seed = 31};
            compare(FIRN_KERNEL_INITIALISE, &call, "initial values", (shape){elements[e], 0, 0});
            test_call_run(support_kernel(plain, FIRN_KERNEL_INITIALISE, &call), &call);
            assert_same(&expected, &x, "initial values");
            tensor_free_each(&x, &expected, (firn_tensor *)NULL);
        }
}

/* The sampler's kernels, which the plain set lacks: firn_permute and fma are what they must give. */

static void assert_permuted(firn_kernel kernel, uint64_t epoch, uint64_t count, size_t number) {
    const uint64_t seed = 0xfedcba9876543210u;
    uint64_t numbers[100];
    for (size_t i = 0; i < number; i++)
        numbers[i] = (i * 0x9e3779b97f4a7c15u + epoch) % count;
    const firn_tensor out = {.data = numbers, .elements = number, .type = FIRN_INT64};
    const int64_t integers[] = {(int64_t)seed, (int64_t)epoch, (int64_t)count};
    kernel(&(firn_kernel_call){.outputs = &out, .output_count = 1, .integers = integers});
    for (size_t i = 0; i < number; i++)
        assert_int_equal(numbers[i], firn_permute(seed, epoch, count, (i * 0x9e3779b97f4a7c15u + epoch) % count));
}

TEST(permutations) {
    static const uint64_t counts[] = {1, 2, 3, 17, 256, 10699, (UINT64_C(1) << 33) + 1, UINT64_MAX / 3};
    static const size_t numbers[] = {1, 15, 16, 33, 100};
    for (int i = 0; i < support_compared.count; i++) {
        const firn_kernel kernel = support_compared.found[i].set->find(FIRN_KERNEL_PERMUTE, NULL).run;
        for (unsigned c = 0; kernel != NULL && c < sizeof counts / sizeof counts[0]; c++)
            for (unsigned n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
                assert_permuted(kernel, UINT64_C(12345678901) * n, counts[c], numbers[n]);
    }
}

static void assert_scaled(firn_kernel kernel, uint8_t type, float scale, float shift, size_t count) {
    uint8_t elements[600];
    firn_tensor out = tensor_new(type, (uint32_t)count, 0, 0, 0), expected = tensor_copy(&out);
    const float reals[] = {scale, shift};
    for (size_t i = 0; i < count; i++) {
        elements[i] = (uint8_t)(i * 7);
        set(&expected, i, firn_fma((float)elements[i], scale, shift));
    }
    const firn_tensor in = {.data = elements, .elements = count, .type = FIRN_UINT8};
    kernel(&(firn_kernel_call){.inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1, .reals = reals});
    assert_same(&expected, &out, "scaled bytes");
    tensor_free_each(&out, &expected, (firn_tensor *)NULL);
}

TEST(scaled_bytes) {
    static const float reals[][2] = {{1.0f / 255, 0}, {-0.3f, 0.1f}, {3e38f, -1.0f}, {1e-40f, -0.0f}, {0x1p-8f, 1.0f}};
    static const size_t counts[] = {1, 31, 256, 600};
    for (int i = 0; i < support_compared.count; i++) {
        const firn_kernel kernel = support_compared.found[i].set->find(FIRN_KERNEL_SCALE, NULL).run;
        for (uint8_t type = FIRN_FLOAT32; kernel != NULL && type <= last_real_type; type++)
            for (unsigned r = 0; r < sizeof reals / sizeof reals[0]; r++)
                for (unsigned c = 0; c < sizeof counts / sizeof counts[0]; c++)
                    assert_scaled(kernel, type, reals[r][0], reals[r][1], counts[c]);
    }
}
