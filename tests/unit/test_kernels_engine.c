/* Tests the products of linear layers and batches with the sums of matrix engines (even_odd_blocks and pairs) in every
 * kernel set that this CPU can run, bit by bit against both definitions written as plain loops here: sizes around the
 * edges of register tiles, blocks of 32 terms, blocks of panels and pieces, factors whose products and sums are near
 * the smallest normal value or beyond the largest, special values, one thread and several. Unavailable sets are named
 * and skipped. The kernels of the sets amx and avx512bf16 run in any case, with plain C in place of their
 * instructions. With FIRN_TEST_EXHAUSTIVE=1 FIRN_TEST_SETS=amx it is the check of a CPU's instruction: 10^8 random
 * outputs of each kind against the portable kernel. */
#include <fenv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/numerics/half.h"
#include "runtime/targets/x86/engine_probe.h"
#include "tests/unit/support_sets.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

BEFORE_ALL {
    support_find_sets("avx2 avx512 amx avx512bf16 neon");
    support_add_models(SUPPORT_ENGINES);
}

static const firn_reduction kinds[] = {{FIRN_REDUCTION_EVEN_ODD_BLOCKS, FIRN_FLOAT32, FIRN_FLOAT32, 32},
                                       {FIRN_REDUCTION_PAIRS, FIRN_FLOAT32, FIRN_FLOAT32, 2}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* --- the definition ----------------------------------------------------------------------------------------------- */

static float smallest(void) {
    return firn_power_of_two(-126);
}

static float without_subnormals(float x) {
    return x < smallest() && -x < smallest() ? firn_from_bits(firn_bits(x) & FIRN_SIGN_BIT) : x;
}

/* a * b + c, where what is tiny after rounding becomes zero of its sign. */
static float flushed_fma(float a, float b, float c) {
    const float scale = firn_power_of_two(60);
    a = without_subnormals(a), b = without_subnormals(b), c = without_subnormals(c);
    const float r = firn_fma(a, b, c), magnitude = r < 0.0f ? -r : r;
    if (magnitude == smallest()) {
        const float exact = firn_fma(a * scale, b, c * scale);
        if (exact < firn_power_of_two(-66) && -exact < firn_power_of_two(-66))
            return firn_from_bits(firn_bits(r) & FIRN_SIGN_BIT);
    }
    return without_subnormals(r);
}

/* The terms of a sum, of which those at the end of its last block are zeros. */
typedef struct terms {
    const float *a, *b;
    size_t count;
} terms;

static float with_term(const terms *t, size_t k, float sum) {
    return k < t->count ? flushed_fma(t->a[k], t->b[k], sum) : flushed_fma(0.0f, 0.0f, sum);
}

static float sum_of(uint8_t kind, const terms *t) {
    const size_t block = kind == FIRN_REDUCTION_PAIRS ? 2 : 32;
    float sum = 0.0f;
    for (size_t first = 0; first < t->count; first += block) {
        if (kind == FIRN_REDUCTION_PAIRS) {
            sum = with_term(t, first, with_term(t, first + 1, sum));
            continue;
        }
        float even = 0.0f, odd = 0.0f;
        for (size_t k = first; k < first + block; k += 2) {
            even = with_term(t, k, even);
            odd = with_term(t, k + 1, odd);
        }
        sum = without_subnormals(sum + without_subnormals(even + odd));
    }
    return sum;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

typedef enum numbers { COMMON, TINY, HUGE, SPECIAL, NUMBERS } numbers;

/* Products of TINY factors are near the smallest normal value and often cancel; those of HUGE factors overflow. */
static void fill(firn_tensor *tensor, numbers which, uint32_t seed) {
    tensor_fill(tensor, seed, 1.0f);
    for (size_t i = 0; i < tensor->elements && (which == TINY || which == HUGE); i++) {
        const int exponent = which == HUGE ? 63 : -64 + (int)draw(&seed, 4);
        const float mantissa = 1.0f + (float)draw(&seed, 128) / 128.0f;
        float x = firn_power_of_two(exponent) * (draw(&seed, 2) != 0 ? mantissa : -mantissa);
        if (draw(&seed, 16) == 0)
            x = which == TINY ? x * firn_power_of_two(-64) : 0.0f;
        set(tensor, i, x);
    }
    if (which == SPECIAL)
        tensor_sprinkle(tensor, seed);
}

/* Element (row, column) of a factor is element row * row_step + column * column_step of the tensor. */
typedef struct factor {
    const firn_tensor *tensor;
    size_t row_step, column_step;
} factor;

/* out[row][column] of the definition. */
static void expect(uint8_t kind, factor left, factor right, size_t count, const firn_tensor *bias, firn_tensor *out) {
    const size_t columns = out->dims[out->rank - 1], rows = out->elements / columns;
    float *a = malloc((rows + columns) * count * sizeof *a), *b = a + rows * count;
    assert_non_null(a);
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < count; k++)
            a[row * count + k] = get(left.tensor, row * left.row_step + k * left.column_step);
    for (size_t column = 0; column < columns; column++)
        for (size_t k = 0; k < count; k++)
            b[column * count + k] = get(right.tensor, k * right.row_step + column * right.column_step);
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            const float sum = sum_of(kind, &(terms){a + row * count, b + column * count, count});
            set(out, row * columns + column, bias != NULL ? sum + get(bias, column) : sum);
        }
    free(a);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

/* Each thread begins in the mode of a new thread. */
static void run_in_threads(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    support_run_in_threads(THREADS, tasks, body, argument);
}

static void check(uint16_t code, test_call *call, const firn_tensor *expected, const char *place) {
    static const firn_parallel ways[] = {{.run = run_in_threads, .threads = 1},
                                         {.run = run_in_threads, .threads = 2},
                                         {.run = run_in_threads, .threads = THREADS}};
    support_compare(
        code, call, expected,
        &(support_comparison){.what = place, .ways = ways, .way_count = sizeof ways / sizeof ways[0], .outputs = 1});
}

typedef struct shape {
    uint32_t n, k, o;
} shape;

typedef struct layer {
    firn_tensor x, weight, bias, dy, y, dx, dweight;
    firn_tensor rounded; /* float32, of which the weight is the rounded copy */
    shape s;
    int layout;
    const firn_reduction *reduction;
    const char *place;
} layer;

static factor weight_of(const layer *l, bool by_input) {
    const factor out_by_in = l->layout == 0 ? (factor){&l->weight, l->s.k, 1} : (factor){&l->weight, 1, l->s.o};
    return by_input ? out_by_in : (factor){&l->weight, out_by_in.column_step, out_by_in.row_step};
}

static test_call call_of(const layer *l, const firn_tensor *left, const firn_tensor *right, const firn_tensor *out) {
    return (test_call){.input_count = 2,
                       .output_count = 1,
                       .inputs = {*left, *right},
                       .outputs = {*out},
                       .integers = {l->layout},
                       .reductions = {*l->reduction}};
}

static void check_forward(layer *l, bool has_bias) {
    test_call call = call_of(l, &l->x, &l->weight, &l->y);
    firn_tensor expected = tensor_copy(&l->y);
    if (has_bias) {
        call.input_count = 3;
        call.inputs[FIRN_LINEAR_IN_BIAS] = l->bias;
    }
    expect(l->reduction->kind, (factor){&l->x, l->s.k, 1}, weight_of(l, false), l->s.k, has_bias ? &l->bias : NULL,
           &expected);
    check(FIRN_OP_linear, &call, &expected, l->place);
    call.inputs[FIRN_LINEAR_IN_WEIGHT] = l->rounded;
    check(FIRN_OP_linear, &call, &expected, l->place);
    tensor_free(&expected);
}

static void check_backward_input(layer *l) {
    test_call call = call_of(l, &l->dy, &l->weight, &l->dx);
    firn_tensor expected = tensor_copy(&l->dx);
    expect(l->reduction->kind, (factor){&l->dy, l->s.o, 1}, weight_of(l, true), l->s.o, NULL, &expected);
    check(FIRN_OP_linear_backward_input, &call, &expected, l->place);
    call.inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT] = l->rounded;
    check(FIRN_OP_linear_backward_input, &call, &expected, l->place);
    tensor_free(&expected);
}

static void check_backward_weight(layer *l) {
    test_call call = call_of(l, &l->dy, &l->x, &l->dweight);
    firn_tensor expected = tensor_copy(&l->dweight);
    const factor dy = {&l->dy, 1, l->s.o}, x = {&l->x, 1, l->s.k};
    const factor left = l->layout == 0 ? dy : x, right = l->layout == 0 ? x : dy;
    expect(l->reduction->kind, left, (factor){right.tensor, right.column_step, right.row_step}, l->s.n, NULL,
           &expected);
    check(FIRN_OP_linear_backward_weight, &call, &expected, l->place);
    const uint32_t rows = l->dweight.dims[0], columns = l->dweight.dims[1], first = rows / 3, some = rows - first;
    firn_tensor part = tensor_new(l->dweight.type, some, columns, 0, 0), out = tensor_copy(&part);
    for (size_t i = 0; i < part.elements; i++)
        set(&part, i, get(&expected, (size_t)first * columns + i));
    call.outputs[0] = out;
    call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = first;
    call.integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = some;
    check(FIRN_OP_linear_backward_weight_rows, &call, &part, l->place);
    tensor_free_each(&part, &out, &expected, (firn_tensor *)NULL);
}

/* The sum of all rows continues from that of the first ones, whole blocks of terms. */
static void check_continued(const layer *l) {
    const uint32_t first = l->s.n / 2 / 32 * 32, rest = l->s.n - first;
    if (first == 0 || l->dweight.type != FIRN_FLOAT32)
        return;
    test_call call = call_of(l, &l->dy, &l->x, &l->dweight);
    firn_tensor expected = tensor_copy(&l->dweight), begun = tensor_copy(&l->dweight);
    const factor dy = {&l->dy, 1, l->s.o}, x = {&l->x, 1, l->s.k};
    const factor left = l->layout == 0 ? dy : x, right = l->layout == 0 ? x : dy;
    const factor turned = {right.tensor, right.column_step, right.row_step};
    expect(l->reduction->kind, left, turned, l->s.n, NULL, &expected);
    expect(l->reduction->kind, left, turned, first, NULL, &begun);
    const uint32_t dy_dims[] = {rest, l->s.o}, x_dims[] = {rest, l->s.k};
    call.inputs[0].data = (uint16_t *)l->dy.data + (size_t)first * l->s.o;
    call.inputs[0].elements = (size_t)rest * l->s.o, call.inputs[0].dims = dy_dims;
    call.inputs[1].data = (uint16_t *)l->x.data + (size_t)first * l->s.k;
    call.inputs[1].elements = (size_t)rest * l->s.k, call.inputs[1].dims = x_dims;
    call.outputs[0] = begun;
    for (int i = 0; i < support_compared.count; i++) {
        const firn_find_kernel find = support_compared.found[i].set->find;
        assert_int_equal(find(FIRN_KERNEL_ADD_WEIGHT, call.reductions).run != NULL,
                         find(FIRN_OP_linear_backward_weight, call.reductions).run != NULL);
    }
    check(FIRN_KERNEL_ADD_WEIGHT, &call, &expected, l->place);
    firn_tensor out = tensor_copy(&begun);
    call.outputs[0] = out;
    test_call_run(firn_kernel_add_weight, &call);
    assert_same(&expected, &out, l->place);
    tensor_free_each(&out, &expected, &begun, (firn_tensor *)NULL);
}

static void check_layer(shape s, int layout, const firn_reduction *reduction, uint8_t out_type, numbers which) {
    if (!support_takes_next())
        return;
    const uint8_t half = FIRN_BFLOAT16;
    const uint32_t rows = layout == 0 ? s.o : s.k, columns = layout == 0 ? s.k : s.o;
    char place[96];
    layer l = {.s = s, .layout = layout, .reduction = reduction, .place = place};
    snprintf(place, sizeof place, "kind %u, %ux%ux%u, layout %d, numbers %d", reduction->kind, s.n, s.k, s.o, layout,
             (int)which);
    l.x = tensor_new(half, s.n, s.k, 0, 0), l.weight = tensor_new(half, rows, columns, 0, 0);
    l.bias = tensor_new(out_type, s.o, 0, 0, 0), l.dy = tensor_new(half, s.n, s.o, 0, 0);
    l.y = tensor_new(out_type, s.n, s.o, 0, 0), l.dx = tensor_new(out_type, s.n, s.k, 0, 0);
    l.dweight = tensor_new(out_type, rows, columns, 0, 0);
    fill(&l.x, which, s.n + s.k), fill(&l.weight, which, s.o), fill(&l.dy, which, s.k + 3);
    l.rounded = tensor_before_rounding(&l.weight, s.n);
    fill(&l.bias, which == HUGE ? COMMON : which, 5);
    /* A bias and its sum with an output keep their subnormals. */
    for (size_t i = 0; i < l.bias.elements && which == TINY; i++)
        set(&l.bias, i, firn_from_bits(0x00400000u * (uint32_t)(i % 3)));
    check_forward(&l, false);
    check_forward(&l, true);
    check_backward_input(&l);
    check_backward_weight(&l);
    check_continued(&l);
    tensor_free_each(&l.x, &l.weight, &l.bias, &l.dy, &l.y, &l.dx, &l.dweight, &l.rounded, (firn_tensor *)NULL);
}

/* Each of the extents is the number of terms of one op. */
static const shape shapes[] = {{1, 1, 1},      {1, 31, 1},     {2, 32, 33},   {33, 2, 65},   {64, 63, 31},
                               {31, 64, 63},   {65, 33, 32},   {6, 65, 16},   {7, 66, 17},   {13, 96, 15},
                               {14, 3, 129},   {29, 127, 34},  {5, 511, 63},  {3, 513, 130}, {63, 97, 97},
                               {33, 600, 35},  {1, 130, 70},   {2, 1025, 40}, {257, 7, 33},  {100, 64, 70},
                               {33, 34, 1030}, {1030, 770, 3}, {65, 1088, 33}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

TEST(layers) {
    support_skip_without_sets();
    for (int s = 0; s < SHAPES; s++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int layout = 0; layout < 2; layout++)
                check_layer(shapes[s], layout, &kinds[kind], (s + layout) % 2 == 0 ? FIRN_FLOAT32 : FIRN_BFLOAT16,
                            COMMON);
}

TEST(layers_of_awkward_numbers) {
    support_skip_without_sets();
    for (int s = 0; s < SHAPES; s++)
        for (int kind = 0; kind < KINDS; kind++)
            for (numbers which = TINY; which < NUMBERS; which++)
                check_layer(shapes[s], (s + (int)which) % 2, &kinds[kind], s % 3 == 0 ? FIRN_BFLOAT16 : FIRN_FLOAT32,
                            which);
}

/* --- products of batches ------------------------------------------------------------------------------------------ */

static void check_batches(uint32_t batches, shape s, int turns, const firn_reduction *reduction, numbers which) {
    if (!support_takes_next())
        return;
    const bool turned_a = (turns & 1) != 0, turned_b = (turns & 2) != 0;
    const uint8_t half = FIRN_BFLOAT16;
    char place[96];
    firn_tensor a = turned_a ? tensor_new(half, batches, s.k, s.n, 0) : tensor_new(half, batches, s.n, s.k, 0);
    firn_tensor b = turned_b ? tensor_new(half, batches, s.o, s.k, 0) : tensor_new(half, batches, s.k, s.o, 0);
    firn_tensor y = tensor_new(half, batches, s.n, s.o, 0), expected = tensor_copy(&y);
    fill(&a, which, s.n), fill(&b, which, s.o + 1);
    for (uint32_t i = 0; i < batches; i++) {
        firn_tensor own_a = a, own_b = b, own = tensor_new(half, s.n, s.o, 0, 0);
        own_a.data = (uint16_t *)a.data + (size_t)i * s.n * s.k;
        own_b.data = (uint16_t *)b.data + (size_t)i * s.k * s.o;
        expect(reduction->kind, (factor){&own_a, turned_a ? 1 : s.k, turned_a ? s.n : 1},
               (factor){&own_b, turned_b ? 1 : s.o, turned_b ? s.k : 1}, s.k, NULL, &own);
        for (size_t e = 0; e < own.elements; e++)
            set(&expected, i * own.elements + e, get(&own, e));
        tensor_free(&own);
    }
    test_call call = {.input_count = 2,
                      .output_count = 1,
                      .inputs = {a, b},
                      .outputs = {y},
                      .integers = {turned_a, turned_b},
                      .reductions = {*reduction}};
    snprintf(place, sizeof place, "kind %u, %u of %ux%ux%u, turns %d", reduction->kind, batches, s.n, s.k, s.o, turns);
    check(FIRN_OP_matmul, &call, &expected, place);
    tensor_free_each(&a, &b, &y, &expected, (firn_tensor *)NULL);
}

TEST(batches) {
    support_skip_without_sets();
    for (int s = 0; s < SHAPES; s += 2)
        for (int kind = 0; kind < KINDS; kind++)
            for (int turns = 0; turns < 4; turns++)
                check_batches(1 + (uint32_t)s % 3, shapes[s], turns, &kinds[kind], (numbers)((s + turns) % NUMBERS));
}

/* --- random bits against the portable kernel ---------------------------------------------------------------------- */

enum { SIDE = 64, OUTPUTS = SIDE * SIDE };

/* Any bits of bfloat16, or exponents so close that no term drowns: near the smallest normal product, near 1, or near
 * the largest sum. */
static void fill_bits(firn_tensor *tensor, uint32_t *seed) {
    static const uint32_t exponents[] = {0, 60, 62, 124, 188};
    const uint32_t least = exponents[draw(seed, sizeof exponents / sizeof exponents[0])];
    for (size_t i = 0; i < tensor->elements; i++) {
        const uint32_t bits = draw(seed, 1u << 16);
        const uint32_t exponent = draw(seed, 64) == 0 ? bits & 1u : least + (bits >> 7 & 7u) % 5u;
        ((uint16_t *)tensor->data)[i] = (uint16_t)(least == 0 ? bits : (bits & 0x807fu) | exponent << 7);
    }
}

static void check_bits(const firn_kernel_set *portable, const firn_reduction *reduction, uint32_t seed) {
    static const firn_parallel alone = {0};
    if (!support_takes_next())
        return;
    const uint32_t terms = 32 * (1 + draw(&seed, 3));
    firn_tensor x = tensor_new(FIRN_BFLOAT16, SIDE, terms, 0, 0), w = tensor_new(FIRN_BFLOAT16, SIDE, terms, 0, 0);
    firn_tensor y = tensor_new(FIRN_FLOAT32, SIDE, SIDE, 0, 0);
    char place[64];
    fill_bits(&x, &seed);
    fill_bits(&w, &seed);
    test_call call = {
        .input_count = 2, .output_count = 1, .inputs = {x, w}, .outputs = {y}, .reductions = {*reduction}};
    test_call_run(support_kernel(portable, FIRN_OP_linear, &call), &call);
    snprintf(place, sizeof place, "kind %u, %u terms, seed %u", reduction->kind, terms, seed);
    support_compare(FIRN_OP_linear, &call, &y,
                    &(support_comparison){.what = place, .ways = &alone, .way_count = 1, .outputs = 1});
    tensor_free_each(&x, &w, &y, (firn_tensor *)NULL);
}

/* In the exhaustive form 100,000,000 outputs of each kind. */
TEST(random_bits) {
    support_skip_without_sets();
    const bool all = support_is_exhaustive();
    /* The same source, compiled with fused multiply-add, is far faster. */
    const firn_kernel_set *fused = firn_kernel_set_choose("fma");
    const firn_kernel_set *portable = fused != NULL ? fused : firn_kernel_set_choose("plain");
    for (uint32_t round = 0; round < (all ? 100000000u / support_every() : 400000u) / OUTPUTS + 1; round++)
        for (int kind = 0; kind < KINDS; kind++)
            check_bits(portable, &kinds[kind], (round * support_every() + support_from()) * KINDS + (uint32_t)kind);
}

/* --- the probe ---------------------------------------------------------------------------------------------------- */

__attribute__((weak)) bool firn_engine_agrees(firn_find_kernel engine, firn_find_kernel portable, uint8_t kind);

static firn_find_kernel find_other;
static firn_kernel run_changed;

/* The kernel of find_other with run_changed around it. */
static firn_kernel_choice choose_changed(uint16_t op, const firn_reduction *reduction) {
    return (firn_kernel_choice){run_changed, find_other(op, reduction).scratch};
}

/* The last bit of one output is another one. */
static void run_other(const firn_kernel_call *call) {
    uint32_t *bits = call->outputs[0].data;
    find_other(FIRN_OP_linear, call->reductions).run(call);
    bits[call->outputs[0].elements - 1] ^= 1u;
}

TEST(another_order_is_found) {
    if (firn_engine_agrees == NULL || firn_kernel_set_choose("avx2") == NULL)
        skip();
    const firn_find_kernel portable = firn_kernel_set_choose("plain")->find;
    run_changed = run_other;
    for (int i = 0; i < SUPPORT_ENGINES; i++) {
        find_other = support_models[i].find;
        assert_true(firn_engine_agrees(find_other, portable, kinds[i].kind));
        assert_false(firn_engine_agrees(find_other, portable, kinds[1 - i].kind));
        assert_false(firn_engine_agrees(choose_changed, portable, kinds[i].kind));
    }
}

/* As the instructions do: they round to nearest, whatever the mode of the thread is. */
static void run_to_nearest(const firn_kernel_call *call) {
    fenv_t before;
    assert_int_equal(fegetenv(&before), 0);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    find_other(FIRN_OP_linear, call->reductions).run(call);
    assert_int_equal(fesetenv(&before), 0);
}

/* A program may have a rounding of its own when it opens a plan. */
TEST(any_rounding_is_probed) {
    if (firn_engine_agrees == NULL || firn_kernel_set_choose("avx2") == NULL)
        skip();
    const firn_find_kernel portable = firn_kernel_set_choose("plain")->find;
    run_changed = run_to_nearest;
    for (int i = 0; i < SUPPORT_ENGINES; i++) {
        find_other = support_models[i].find;
        assert_int_equal(fesetround(FE_UPWARD), 0);
        const bool agrees = firn_engine_agrees(choose_changed, portable, kinds[i].kind);
        const volatile float small = 0x1p-30f, sum = 1.0f + small;
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        assert_true(agrees);
        assert_true(sum > 1.0f); /* upwards again */
    }
}
