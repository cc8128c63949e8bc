/* Tests the tile of chunked sums, compiled for AVX2 and for AVX-512, or for NEON, against the definition in NUMERICS.md
 * as implemented by numerics/half.h and `reduce`: the rounded step for random and adversarial operands, then whole
 * tiles with all terms or those on one side of a diagonal, split at any term. Then tests the kernels for CPUs that
 * multiply float16, twice: compiled for a CPU that does not, which is everything except the instructions, and as the
 * set of this CPU. Sets that this CPU cannot run are named and skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/kernels/vector/chunked/chunked.h"
#include "runtime/kernels/vector/chunked/native.h"
#include "runtime/numerics/half.h"
#include "tests/unit/support_control_word.h"
#include "tests/unit/support_kernels.h"
#include "tests/unit/support_workspace.h"

typedef struct tile_kernel {
    const char *set;
    void (*add)(const firn_chunked_tile *tile);
} tile_kernel;

/* The only one of the set neon, or those of the sets avx2 and avx512. */
#ifdef __aarch64__
static tile_kernel kernels[] = {{"neon", firn_chunked_tile_add}};
#else
void firn_chunked_tile_add_avx2(const firn_chunked_tile *tile);
static tile_kernel kernels[] = {{"avx512", firn_chunked_tile_add}, {"avx2", firn_chunked_tile_add_avx2}};
#endif

enum { WIDTH = 40 }; /* more columns than two registers hold */

static void skip_without(const char *set) {
    if (support_set(set) == NULL)
        skip();
}

/* --- numbers of a half type --------------------------------------------------------------------------------------- */

typedef struct half_type {
    uint8_t type;
    int mantissa, bias;
    float (*to_float)(uint16_t half);
} half_type;

static const half_type half_types[] = {
    {FIRN_FLOAT16, 10, 15, firn_float16_to_float},
    {FIRN_BFLOAT16, 7, 127, firn_bfloat16_to_float},
    {FIRN_CBFLOAT16, 9, FIRN_CBFLOAT16_BIAS, firn_cbfloat16_to_float},
};
enum { TYPES = sizeof half_types / sizeof half_types[0] };

static uint32_t draw_bits(uint32_t *seed) {
    return draw(seed, 1u << 16) << 16 | draw(seed, 1u << 16);
}

/* The half with that sign, exponent and mantissa; zero if the exponent is below the range, infinity if above it. */
static float half_of(const half_type *h, bool negative, int exponent, uint32_t mantissa) {
    const int field = exponent + h->bias, infinity = 0x7fff >> h->mantissa;
    uint32_t bits =
        field < 0 ? 0 : (field >= infinity ? (uint32_t)infinity << h->mantissa : (uint32_t)field << h->mantissa);
    if (field >= 0 && field < infinity)
        bits |= mantissa & ((1u << h->mantissa) - 1u);
    return h->to_float((uint16_t)(bits | (negative ? 0x8000u : 0u)));
}

/* Random bits, or an exponent close to that of the other factor with few bits set, or a value at the ends of the range.
 */
static float factor(const half_type *h, int exponent, uint32_t *seed) {
    const uint32_t choice = draw(seed, 8), bits = draw_bits(seed);
    const int near = exponent + (int)draw(seed, 5) - 2;
    if (choice == 0)
        return h->to_float((uint16_t)bits);
    if (choice == 1)
        return h->to_float((uint16_t)((bits & 0x8000u) | (bits & 0x10000u ? draw(seed, 4) : 0x7fffu >> draw(seed, 9))));
    if (choice < 5)
        return half_of(h, (bits & 1u) != 0, near, bits >> 16);
    return half_of(h, (bits & 1u) != 0, near, 1u << draw(seed, (uint32_t)h->mantissa + 1));
}

static int exponent_of(float x) {
    return (int)(firn_bits(x) >> 23 & 0xffu) - 127;
}

/* An addend for a product: any value; one near the limit at which one of the two no longer affects the other; one that
 * cancels the product or nearly does; or one whose half unit is about the product. */
static float addend(const half_type *h, float product, uint32_t *seed) {
    const uint32_t choice = draw(seed, 8), bits = draw_bits(seed);
    const bool negative = (bits & 1u) != 0;
    if (choice == 0)
        return h->to_float((uint16_t)bits);
    if (choice == 1)
        return half_of(h, negative, exponent_of(product) + (int)draw(seed, 90) - 40, bits >> 16);
    if (choice < 4) {
        const uint32_t nearest = firn_bits(firn_round_to(h->type, -product));
        return firn_round_to(h->type, firn_from_bits(nearest + (draw(seed, 5) << (23 - h->mantissa))));
    }
    return half_of(h, negative, exponent_of(product) + h->mantissa + (int)draw(seed, 4), bits >> 16);
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

/* Zeros of either sign are equal (see chunked.h), and so are all NaN. */
static bool is_same(float expected, float actual) {
    return firn_bits(expected) == firn_bits(actual) || expected == actual || (expected != expected && actual != actual);
}

enum { ROWS = 8, ROUNDS = 9000 };

/* The sizes of operands: any, none near the largest value, or so that no sum is near the smallest, either. The kernel
 * may have separate loops for these. */
typedef enum sizes { ANY_SIZE, SMALL, NEITHER_SMALLEST, SIZES } sizes;

/* Replaces a value that is too large for these sizes, 2^most or more, or too small, less than 2^least, by 1. */
static float tamed(sizes sizes, float x, int least, int most) {
    const float magnitude = x < 0.0f ? -x : x;
    const bool is_smallest = sizes == NEITHER_SMALLEST && magnitude < firn_power_of_two(least);
    return sizes == ANY_SIZE || (magnitude < firn_power_of_two(most) && !is_smallest) ? x : 1.0f;
}

/* Checks as many steps at once as a tile has elements, each with a separate sum. */
static void check_steps(const tile_kernel *kernel, const half_type *h, sizes sizes, uint32_t *seed) {
    float left[ROWS], right[WIDTH], before[ROWS][WIDTH], sums[ROWS][WIDTH], totals[ROWS][WIDTH] = {{0}};
    const int range = 1 << (14 - h->mantissa), exponent = (int)draw(seed, (uint32_t)range) - range / 2;
    for (size_t row = 0; row < ROWS; row++)
        left[row] = tamed(sizes, factor(h, exponent, seed), -3, 12);
    for (size_t column = 0; column < WIDTH; column++)
        right[column] = tamed(sizes, factor(h, draw(seed, 2) ? exponent : -exponent, seed), -3, 12);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < WIDTH; column++)
            before[row][column] = tamed(sizes, addend(h, left[row] * right[column], seed), -26, 28);
    memcpy(sums, before, sizeof sums);
    const firn_chunked_tile tile = {.accumulator = h->type,
                                    .chunk = 3,
                                    .left = left,
                                    .left_row_step = 1,
                                    .right = right,
                                    .rows = ROWS,
                                    .columns = WIDTH,
                                    .terms = 1,
                                    .first_term = 1,
                                    .sums = sums[0],
                                    .totals = totals[0],
                                    .step = WIDTH};
    const uint32_t control = control_word();
    kernel->add(&tile);
    assert_int_equal(control, control_word());
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < WIDTH; column++) {
            const float a = left[row], b = right[column], c = before[row][column];
            const float expected = firn_half_fma(h->type, a, b, c);
            if (!is_same(expected, sums[row][column]))
                fail_msg("type %u: %a * %a + %a: expected %a, got %a", h->type, (double)a, (double)b, (double)c,
                         (double)expected, (double)sums[row][column]);
        }
}

static void steps(void **state) {
    const tile_kernel *kernel = *state;
    skip_without(kernel->set);
    uint32_t seed = 1;
    for (int i = 0; i < TYPES; i++)
        for (int round = 0; round < ROUNDS; round++)
            if (support_takes_next())
                check_steps(kernel, &half_types[i], (sizes)(round % SIZES), &seed);
}

/* Adds the products of 8 times 16 mantissas to sums of 2^exponent times `mantissa`, in bfloat16. The sum before is a
 * product itself, so that only the loop over the terms can notice how small it is. */
static void check_products(const tile_kernel *kernel, uint32_t first_left, uint32_t first_right, int exponent,
                           float mantissa) {
    enum { COLUMNS = 16 };
    const float before = mantissa * firn_power_of_two(exponent);
    float left[2][ROWS], right[2][COLUMNS], sums[ROWS][COLUMNS] = {{0}}, totals[ROWS][COLUMNS] = {{0}};
    for (uint32_t row = 0; row < ROWS; row++) {
        left[0][row] = before;
        left[1][row] = (float)(first_left + row) * 0x1p-7f;
    }
    for (uint32_t column = 0; column < COLUMNS; column++) {
        right[0][column] = 1.0f;
        right[1][column] = (float)(first_right + column) * 0x1p-7f;
    }
    const firn_chunked_tile tile = {.accumulator = FIRN_BFLOAT16,
                                    .chunk = 64,
                                    .left = left[0],
                                    .left_row_step = 1,
                                    .left_term_step = ROWS,
                                    .right = right[0],
                                    .right_step = COLUMNS,
                                    .rows = ROWS,
                                    .columns = COLUMNS,
                                    .terms = 2,
                                    .sums = sums[0],
                                    .totals = totals[0],
                                    .step = COLUMNS};
    kernel->add(&tile);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++) {
            const float expected = firn_half_fma(FIRN_BFLOAT16, left[1][row], right[1][column], before);
            if (!is_same(expected, sums[row][column]))
                fail_msg("%a * %a + %a: expected %a, got %a", (double)left[1][row], (double)right[1][column],
                         (double)before, (double)expected, (double)sums[row][column]);
        }
}

/* Every product of two mantissas, and sums of every size relative to it that matters: where the sum decides on which
 * side of the middle of two neighbours the result lies, however small it is. */
static void middles(void **state) {
    static const float mantissas[] = {1.0f, -1.0f, 0x1.02p0f, -0x1.fep0f};
    const tile_kernel *kernel = *state;
    skip_without(kernel->set);
    for (size_t i = 0; i < sizeof mantissas / sizeof mantissas[0]; i++)
        for (int exponent = -40; exponent <= 12; exponent++)
            for (uint32_t left = 128; left < 256; left += ROWS)
                for (uint32_t right = 128; right < 256; right += 16)
                    if (support_takes_next())
                        check_products(kernel, left, right, exponent, mantissas[i]);
}

/* Every rounding to binary32 is one of these times a power of two, which no rounding to bfloat16 or cbfloat16 here
 * depends on. The steps are those of firn_step_to_half, whose multiply-add has an exact product. */
static void rounding_to_half(void **state) {
    (void)state;
    for (int drop = 14; drop <= 16; drop += 2)
        for (uint32_t i = 0; i < 1u << 24; i++) {
            const float x = firn_from_bits((i & 1u) << 31 | 127u << 23 | i >> 1), raised = firn_power_of_two(drop);
            const float less = x * (1.0f - raised);
            const uint32_t just_less = (1u << (drop - 1)) - 1u, last = firn_bits(x) >> drop & 1u;
            const uint32_t expected = (firn_bits(x) + just_less + last) & ~0u << drop;
            const uint32_t actual = firn_bits(x * raised + less);
            if (actual != expected)
                fail_msg("%a: expected %#x, got %#x", (double)x, (unsigned)expected, (unsigned)actual);
        }
}

/* A sum that cancels gives a zero of either sign while rounding; adding it to the total must leave +0. */
static void zeros(void **state) {
    const tile_kernel *kernel = *state;
    skip_without(kernel->set);
    for (int i = 0; i < TYPES; i++) {
        float left[2] = {1.0f, 1.0f}, right[2][WIDTH], sums[WIDTH] = {0}, totals[WIDTH] = {0};
        for (size_t column = 0; column < WIDTH; column++) {
            right[0][column] = column % 2 == 0 ? 1.5f : -0.0f;
            right[1][column] = -right[0][column] * (column % 4 == 3 ? -1.0f : 1.0f);
        }
        const firn_chunked_tile tile = {.accumulator = half_types[i].type,
                                        .chunk = 2,
                                        .left = left,
                                        .left_row_step = 1,
                                        .left_term_step = 1,
                                        .right = right[0],
                                        .right_step = WIDTH,
                                        .rows = 1,
                                        .columns = WIDTH,
                                        .terms = 2,
                                        .sums = sums,
                                        .totals = totals,
                                        .step = WIDTH};
        kernel->add(&tile);
        for (size_t column = 0; column < WIDTH; column++) {
            assert_int_equal(firn_bits(totals[column]), 0);
            assert_int_equal(firn_bits(sums[column]), 0);
        }
    }
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

enum { ROWS_MAX = 19, TERMS_MAX = 300, BORDER = 3, STEP = WIDTH + BORDER };

typedef struct operands {
    float left[ROWS_MAX][TERMS_MAX], left_by_term[TERMS_MAX][ROWS_MAX];
    float right[TERMS_MAX][STEP], right_by_column[STEP][TERMS_MAX];
    float sums[ROWS_MAX + 1][STEP], totals[ROWS_MAX + 1][STEP];
} operands;

static void fill_operands(operands *o, const half_type *h, uint32_t seed, bool special) {
    for (size_t term = 0; term < TERMS_MAX; term++) {
        for (size_t row = 0; row < ROWS_MAX; row++)
            o->left[row][term] = o->left_by_term[term][row] =
                special ? factor(h, 0, &seed) : half_of(h, draw(&seed, 2) != 0, -(int)draw(&seed, 8), draw_bits(&seed));
        for (size_t column = 0; column < STEP; column++)
            o->right[term][column] = o->right_by_column[column][term] =
                half_of(h, draw(&seed, 2) != 0, -(int)draw(&seed, 8), draw_bits(&seed));
    }
}

/* Adds terms first to first + terms of a product in two or three calls, with the left factor in either order. */
static void run_tile(const tile_kernel *kernel, operands *o, firn_chunked_tile tile, bool by_term, uint32_t *seed) {
    const size_t first = tile.first_term, terms = tile.terms;
    memset(o->sums, 0, sizeof o->sums);
    memset(o->totals, 0, sizeof o->totals);
    for (size_t row = 0; row <= ROWS_MAX; row++)
        for (size_t column = 0; column < STEP; column++)
            if (row >= tile.rows || column >= tile.columns)
                o->sums[row][column] = o->totals[row][column] = 7.0f;
    for (size_t done = 0; done < terms; done += tile.terms) {
        tile.terms = 1 + draw(seed, (uint32_t)terms);
        tile.terms = tile.terms < terms - done ? tile.terms : terms - done;
        tile.first_term = first + done;
        tile.left = by_term ? &o->left_by_term[done][0] : &o->left[0][done];
        tile.left_row_step = by_term ? 1 : TERMS_MAX;
        tile.left_term_step = by_term ? ROWS_MAX : 1;
        tile.right = o->right[done];
        tile.right_step = STEP;
        tile.sums = o->sums[0];
        tile.totals = o->totals[0];
        tile.step = STEP;
        tile.ends = done + tile.terms == terms;
        kernel->add(&tile);
    }
}

/* The range of terms that a row has, counted from the tile's first term. */
static void present(const firn_chunked_tile *tile, size_t row, size_t *begin, size_t *end) {
    const size_t diagonal = tile->diagonal + row, first = tile->first_term;
    *begin = 0;
    *end = tile->terms;
    while (tile->present == FIRN_TERMS_FROM_DIAGONAL && *begin < *end && first + *begin < diagonal)
        (*begin)++;
    while (tile->present == FIRN_TERMS_UP_TO_DIAGONAL && *begin < *end && first + *end - 1 > diagonal)
        (*end)--;
}

static void check_tile(const tile_kernel *kernel, operands *o, firn_chunked_tile tile, uint32_t *seed) {
    const firn_reduction reduction = {FIRN_REDUCTION_CHUNKED, tile.accumulator, FIRN_FLOAT32, tile.chunk};
    for (int by_term = 0; by_term < 2; by_term++) {
        run_tile(kernel, o, tile, by_term != 0, seed);
        for (size_t row = 0; row <= ROWS_MAX; row++)
            for (size_t column = 0; column < STEP; column++) {
                float expected = 7.0f;
                if (row < tile.rows && column < tile.columns) {
                    size_t begin, end;
                    present(&tile, row, &begin, &end);
                    expected = reduce(reduction, o->left[row] + begin, o->right_by_column[column] + begin, end - begin,
                                      tile.first_term + begin);
                }
                const float actual = o->totals[row][column];
                if (firn_bits(firn_canonical(expected)) != firn_bits(firn_canonical(actual)))
                    fail_msg("type %u, %zu x %zu, terms %zu to %zu, chunk %u, present %d at %zu: (%zu, %zu) expected "
                             "%a, got %a",
                             tile.accumulator, tile.rows, tile.columns, tile.first_term, tile.first_term + tile.terms,
                             (unsigned)tile.chunk, (int)tile.present, tile.diagonal, row, column, (double)expected,
                             (double)actual);
            }
    }
}

static void tiles(void **state) {
    const tile_kernel *kernel = *state;
    static const uint32_t chunks[] = {1, 5, 64, 128, 1000};
    skip_without(kernel->set);
    operands *o = malloc(sizeof *o);
    assert_non_null(o);
    uint32_t seed = 2;
    for (int i = 0; i < TYPES; i++)
        for (int round = 0; round < 400; round++) {
            if (round % 8 == 0)
                fill_operands(o, &half_types[i], seed, round % 16 == 0);
            firn_chunked_tile tile = {.accumulator = half_types[i].type,
                                      .chunk = chunks[draw(&seed, sizeof chunks / sizeof chunks[0])],
                                      .rows = 1 + draw(&seed, ROWS_MAX),
                                      .columns = 1 + draw(&seed, WIDTH),
                                      .terms = 1 + draw(&seed, round % 4 == 0 ? TERMS_MAX : 70),
                                      .first_term = draw(&seed, 130),
                                      .present = (firn_terms)(round % 3),
                                      .diagonal = draw(&seed, 200)};
            if (support_takes_next())
                check_tile(kernel, o, tile, &seed);
        }
    free(o);
}

static void set_factors(operands *o, size_t row, size_t column, size_t term, float left, float right) {
    o->left[row][term] = o->left_by_term[term][row] = left;
    o->right[term][column] = o->right_by_column[column][term] = right;
}

/* One of several chunks has a sum that the faster steps round to another number and must notice: in bfloat16 a middle,
 * 259, to which 2^-24 of it or less is added; in cbfloat16 a subnormal number. The row of this sum has no other terms,
 * so that its total shows the bits. */
static void late_notices(void **state) {
    const tile_kernel *kernel = *state;
    enum { CHUNK = 2, ROWS_OF_TILE = 8, COLUMNS_OF_TILE = 32 };
    skip_without(kernel->set);
    operands *o = malloc(sizeof *o);
    assert_non_null(o);
    uint32_t seed = 3;
    for (int i = 0; i < TYPES; i++)
        for (size_t term = 0; term < 12 * CHUNK; term += CHUNK)
            for (int round = 0; round < 8; round++) {
                const size_t row = draw(&seed, ROWS_OF_TILE), column = draw(&seed, COLUMNS_OF_TILE);
                fill_operands(o, &half_types[i], seed, false);
                for (size_t at = 0; at < TERMS_MAX; at++)
                    set_factors(o, row, column, at, 0.0f, o->right[at][column]);
                if (half_types[i].type == FIRN_CBFLOAT16) {
                    set_factors(o, row, column, term, 0x1p-16f + 0x1p-25f, 0x1p-15f);
                } else {
                    set_factors(o, row, column, term, -0x1p-9f, 0x1p-9f);
                    set_factors(o, row, column, term + 1, 7.0f, 37.0f);
                }
                const firn_chunked_tile tile = {.accumulator = half_types[i].type,
                                                .chunk = CHUNK,
                                                .rows = ROWS_OF_TILE,
                                                .columns = COLUMNS_OF_TILE,
                                                .terms = 12 * CHUNK};
                check_tile(kernel, o, tile, &seed);
            }
    free(o);
}

/* --- the kernels for CPUs that multiply float16 ------------------------------------------------------------------- */

enum { THREADS = 3 };

/* The kernels of native.c that were compiled for a set without the instructions; none: those of the set are tested. */
typedef struct native_set {
    const char *set;
    firn_kernel linear, backward_input, backward_weight, add_weight;
    uint64_t (*scratch)(uint16_t op, const firn_kernel_call *call);
} native_set;

static native_set native_without = {
#ifdef __aarch64__
    "neon",
#else
    "avx512",
#endif
    firn_native_linear,
    firn_native_linear_backward_input,
    firn_native_linear_backward_weight,
    firn_native_add_weight,
    firn_native_scratch};
#ifdef __aarch64__
static native_set native_with = {.set = "neonfp16"};
#else
static native_set native_with = {.set = "avx512fp16"};
void firn_native_linear_avx2(const firn_kernel_call *call);
void firn_native_linear_backward_input_avx2(const firn_kernel_call *call);
void firn_native_linear_backward_weight_avx2(const firn_kernel_call *call);
void firn_native_add_weight_avx2(const firn_kernel_call *call);
uint64_t firn_native_scratch_avx2(uint16_t op, const firn_kernel_call *call);
static native_set native_avx2 = {"avx2",
                                 firn_native_linear_avx2,
                                 firn_native_linear_backward_input_avx2,
                                 firn_native_linear_backward_weight_avx2,
                                 firn_native_add_weight_avx2,
                                 firn_native_scratch_avx2};
#endif

static firn_kernel_choice native_kernel(const native_set *set, uint16_t code, const test_call *call) {
    if (set->linear == NULL)
        return firn_kernel_set_choose(set->set)->find(code, call->reductions);
    return (firn_kernel_choice){code == FIRN_OP_linear                  ? set->linear
                                : code == FIRN_OP_linear_backward_input ? set->backward_input
                                : code == FIRN_KERNEL_ADD_WEIGHT        ? set->add_weight
                                                                        : set->backward_weight,
                                set->scratch};
}

/* Runs the last range first. */
static void run_split(void *context, size_t tasks, firn_task_body body, void *argument) {
    (void)context;
    body(argument, tasks / 2, tasks);
    body(argument, 0, tasks / 2);
}

static void compare(uint16_t code, const native_set *set, test_call *call) {
    const firn_tensor out = call->outputs[0];
    firn_tensor expected = tensor_copy(&out);
    char place[96];
    const firn_kernel_choice native = native_kernel(set, code, call);
    call->outputs[0] = expected;
    call->parallel = (firn_parallel){0};
    /* No set of portable kernels finds this one. */
    test_call_run(code == FIRN_KERNEL_ADD_WEIGHT ? firn_kernel_add_weight
                                                 : support_kernel(firn_kernel_set_choose("plain"), code, call),
                  call);
    for (uint32_t threads = 1; threads <= THREADS; threads++) {
        call->parallel = (firn_parallel){.run = run_split, .threads = threads};
        call->outputs[0] = tensor_copy(&out);
        support_give_workspace(native.scratch, code, call);
        test_call_run(native.run, call);
        support_check_workspace();
        snprintf(place, sizeof place, "op %u, %ux%u, chunk %u, %u threads", code, (unsigned)out.dims[0],
                 (unsigned)out.dims[1], (unsigned)call->reductions[0].chunk, (unsigned)threads);
        assert_same(&expected, &call->outputs[0], place);
        tensor_free(&call->outputs[0]);
    }
    tensor_free(&expected);
    call->outputs[0] = out;
}

/* any_bits: factors are any float16 numbers, else common ones. */
static void check_native(const native_set *set, uint32_t n, uint32_t k, uint32_t o, int layout, uint32_t chunk,
                         uint8_t out_type, bool any_bits) {
    const uint8_t half = FIRN_FLOAT16;
    const uint32_t rows = layout == 0 ? o : k, columns = layout == 0 ? k : o;
    firn_tensor x = tensor_new(half, n, k, 0, 0), dy = tensor_new(half, n, o, 0, 0);
    firn_tensor weight = tensor_new(half, rows, columns, 0, 0), bias = tensor_new(half, o, 0, 0, 0);
    firn_tensor y = tensor_new(out_type, n, o, 0, 0), dx = tensor_new(out_type, n, k, 0, 0);
    firn_tensor dweight = tensor_new(out_type, rows, columns, 0, 0);
    firn_tensor *const inputs[] = {&x, &dy, &weight, &bias};
    for (uint32_t i = 0; i < 4; i++) {
        tensor_fill(inputs[i], i + chunk, 1.0f);
        if (chunk == 5)
            tensor_sprinkle(inputs[i], i);
        uint32_t seed = 1 + i + n;
        for (size_t at = 0; any_bits && at < inputs[i]->elements; at++)
            ((uint16_t *)inputs[i]->data)[at] = (uint16_t)draw(&seed, 1u << 16);
    }
    test_call call = {.input_count = 3, .output_count = 1, .integers = {layout}};
    call.reductions[0] = (firn_reduction){FIRN_REDUCTION_CHUNKED, half, out_type, chunk};
    call.inputs[FIRN_LINEAR_IN_X] = x, call.inputs[FIRN_LINEAR_IN_WEIGHT] = weight;
    call.inputs[FIRN_LINEAR_IN_BIAS] = bias, call.outputs[FIRN_LINEAR_OUT_Y] = y;
    compare(FIRN_OP_linear, set, &call);
    call.input_count = 2;
    compare(FIRN_OP_linear, set, &call);
    call.inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_DY] = dy, call.outputs[FIRN_LINEAR_BACKWARD_INPUT_OUT_DX] = dx;
    compare(FIRN_OP_linear_backward_input, set, &call);
    firn_tensor before = tensor_before_rounding(&weight, n);
    call.inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT] = before;
    compare(FIRN_OP_linear_backward_input, set, &call);
    call.inputs[FIRN_LINEAR_IN_X] = x, call.outputs[FIRN_LINEAR_OUT_Y] = y;
    compare(FIRN_OP_linear, set, &call);
    call.inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] = dy;
    tensor_free(&before);
    call.inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = x;
    call.outputs[FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT] = dweight;
    compare(FIRN_OP_linear_backward_weight, set, &call);
    if (out_type == FIRN_FLOAT32) {
        tensor_fill(&dweight, chunk, 4.0f);
        compare(FIRN_KERNEL_ADD_WEIGHT, set, &call);
    }
    tensor_free_each(&x, &dy, &weight, &bias, &y, &dx, &dweight, (firn_tensor *)NULL);
}

/* Sizes around 6 and 14 rows, 16, 32 and 64 columns and 256 terms of a panel, 96 and 224 rows and 512 columns of a
 * piece, 32 terms that are packed at once; many tiles whose sums wait for the next block of terms; chunks that end at
 * the end of a block of terms, inside it, and chunks longer than a block. */
static void native_products(void **state) {
    const native_set *set = *state;
    static const uint32_t sizes[][3] = {{1, 1, 1},   {13, 257, 15}, {15, 64, 33},  {29, 300, 63},
                                        {5, 31, 65}, {227, 9, 29},  {3, 260, 257}, {27, 128, 64},
                                        {7, 70, 17}, {97, 5, 129},  {20, 300, 600}};
    static const uint32_t chunks[] = {64, 5, 128, 300};
    skip_without(set->set);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int layout = 0; layout < 2; layout++)
            if (set->linear == NULL || support_takes_next())
                check_native(set, sizes[i][0], sizes[i][1], sizes[i][2], layout, chunks[(i + (size_t)layout) % 4],
                             i % 3 == 0 ? FIRN_FLOAT32 : FIRN_FLOAT16, false);
}

/* One to three terms: subnormals, overflow, ties and NaN at each step. A sum of more is hardly ever finite. */
static void native_products_of_any_numbers(void **state) {
    const native_set *set = *state;
    skip_without(set->set);
    for (uint32_t terms = 1; terms <= 3; terms++)
        check_native(set, 61, terms, 67, 0, 64, terms == 3 ? FIRN_FLOAT32 : FIRN_FLOAT16, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_to_half),
        {"steps", steps, NULL, NULL, &kernels[0]},
        {"middles", middles, NULL, NULL, &kernels[0]},
        {"zeros", zeros, NULL, NULL, &kernels[0]},
        {"tiles", tiles, NULL, NULL, &kernels[0]},
        {"late notices", late_notices, NULL, NULL, &kernels[0]},
#ifndef __aarch64__
        {"steps, avx2", steps, NULL, NULL, &kernels[1]},
        {"middles, avx2", middles, NULL, NULL, &kernels[1]},
        {"zeros, avx2", zeros, NULL, NULL, &kernels[1]},
        {"tiles, avx2", tiles, NULL, NULL, &kernels[1]},
        {"late notices, avx2", late_notices, NULL, NULL, &kernels[1]},
#endif
        {"native products, of the set", native_products, NULL, NULL, &native_with},
        {"native products of any numbers, of the set", native_products_of_any_numbers, NULL, NULL, &native_with},
        {"native products, in plain C", native_products, NULL, NULL, &native_without},
        {"native products of any numbers, in plain C", native_products_of_any_numbers, NULL, NULL, &native_without},
#ifndef __aarch64__
        {"native products, in plain C, avx2", native_products, NULL, NULL, &native_avx2},
        {"native products of any numbers, in plain C, avx2", native_products_of_any_numbers, NULL, NULL, &native_avx2},
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
