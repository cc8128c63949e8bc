/* Compares both forms of the matrix product, with vectors and in scalar registers (runtime/kernels/product.c), with
 * sums that are computed one by one: every edge of a tile, both layouts of each factor, every type and reduction,
 * and terms that end or begin at a diagonal. */
#include <stdio.h>
#include <string.h>

#include "runtime/kernels/parts.h"
#include "runtime/kernels/product.h"
#include "runtime/numerics/flushed.h"
#include "tests/unit/support_test.h"

/* The scalar form, which the build compiles for this machine under other names. */
void firn_product_tile_scalar(const firn_product *product, size_t number, firn_tile *tile);
void firn_product_tile_flushed_scalar(const firn_product *product, firn_tile *tile);
extern const firn_product_part firn_product_flushed_scalar;
const firn_product_part firn_product_flushed_scalar = firn_product_tile_flushed_scalar;

enum { MOST = 48, STEP = MOST + 3, ELEMENTS = MOST * STEP + 8 };

static float left_floats[ELEMENTS], right_floats[ELEMENTS];
static uint8_t left_data[4 * ELEMENTS], right_data[4 * ELEMENTS];
static uint32_t state = 1;

static uint32_t next(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void fill(uint8_t *data, float *floats, uint8_t type) {
    for (size_t i = 0; i < ELEMENTS; i++)
        firn_store(data, type, i, (float)(int32_t)(next() % 2001u - 1000u) * 0x1p-9f);
    firn_widen(floats, data, type, 0, ELEMENTS);
}

static void (*filling)(uint8_t *data, float *floats, uint8_t type) = fill;

static size_t step = STEP; /* between rows, or columns if turned */

static firn_matrix matrix(const uint8_t *data, uint8_t type, bool turned) {
    return (firn_matrix){data, type, 5, turned ? 1 : step, turned ? step : 1};
}

static float element(const firn_matrix *matrix, const float *floats, size_t row, size_t column) {
    return floats[matrix->first + row * matrix->row_step + column * matrix->column_step];
}

static bool is_absent(const firn_product *p, size_t row, size_t k) {
    return k >= p->terms || (p->present == FIRN_TERMS_UP_TO_DIAGONAL && k > p->diagonal + row) ||
           (p->present == FIRN_TERMS_FROM_DIAGONAL && k < p->diagonal + row);
}

/* Adds term k to a flushed sum: with a left factor of +0 where it is absent, with two behind the last term. */
static float add_flushed(const firn_product *p, size_t row, size_t column, size_t k, float sum) {
    const float a = is_absent(p, row, k) ? 0.0f : firn_flushed(element(&p->left, left_floats, row, k));
    const float b = k >= p->terms ? 0.0f : firn_flushed(element(&p->right, right_floats, k, column));
    return firn_flushed_fma(a, b, sum);
}

static float expected_flushed(const firn_product *p, size_t row, size_t column) {
    const size_t block = p->reduction.chunk;
    float sum = 0;
    for (size_t first = 0; first < p->terms; first += block) {
        bool absent = true;
        float parts[2] = {0, 0};
        for (size_t k = first; k < first + block; k++)
            absent = absent && is_absent(p, row, k);
        for (size_t k = first; k < first + block && block == 32; k++)
            parts[k % 2] = add_flushed(p, row, column, k, parts[k % 2]);
        if (!absent && block == 32)
            sum = firn_flushed_sum(sum, firn_flushed_sum(parts[0], parts[1]));
        if (!absent && block == 2)
            sum = add_flushed(p, row, column, first, add_flushed(p, row, column, first + 1, sum));
    }
    return sum;
}

static float expected(const firn_product *p, size_t row, size_t column) {
    if (firn_reduction_is_flushed(p->reduction.kind))
        return expected_flushed(p, row, column);
    const bool chunked = p->reduction.kind == FIRN_REDUCTION_CHUNKED;
    float total = 0, chunk = 0;
    for (size_t k = 0; k < p->terms; k++) {
        const bool absent = (p->present == FIRN_TERMS_UP_TO_DIAGONAL && k > p->diagonal + row) ||
                            (p->present == FIRN_TERMS_FROM_DIAGONAL && k < p->diagonal + row);
        const float a = element(&p->left, left_floats, row, k), b = element(&p->right, right_floats, k, column);
        if (!absent && !chunked)
            total = firn_fma(a, b, total);
        if (!absent && chunked)
            chunk = firn_half_fma(p->reduction.accumulator, a, b, chunk);
        if (chunked && ((k + 1) % p->reduction.chunk == 0 || k + 1 == p->terms)) {
            total += chunk;
            chunk = 0;
        }
    }
    return total;
}

static void check_tile(const firn_product *p, const firn_tile *tile) {
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < tile->columns; column++)
            if (firn_bits(firn_canonical(tile->values[row][column])) !=
                firn_bits(firn_canonical(expected(p, tile->row + row, tile->column + column))))
                fail_msg("%zu x %zu x %zu, types %u and %u, kind %u, present %d: element %zu, %zu", p->rows, p->columns,
                         p->terms, p->left.type, p->right.type, p->reduction.kind, (int)p->present, tile->row + row,
                         tile->column + column);
}

static void check(const firn_product *p) {
    firn_tile tile;
    for (size_t number = 0; number < firn_product_tiles(p); number++) {
        firn_product_tile(p, number, &tile);
        check_tile(p, &tile);
        memset(&tile, 0x7f, sizeof tile);
        firn_product_tile_scalar(p, number, &tile);
        check_tile(p, &tile);
    }
}

/* Checks a product of some extents in both layouts of both factors and every set of present terms. */
static void check_extents(firn_product *p, size_t rows, size_t columns, size_t terms) {
    p->rows = rows;
    p->columns = columns;
    p->terms = terms;
    for (unsigned layout = 0; layout < 4; layout++)
        for (p->present = FIRN_TERMS_ALL; p->present <= FIRN_TERMS_FROM_DIAGONAL; p->present++) {
            p->left = matrix(left_data, p->left.type, (layout & 1) != 0);
            p->right = matrix(right_data, p->right.type, (layout & 2) != 0);
            p->diagonal = p->present == FIRN_TERMS_ALL ? 0 : next() % 5;
            if (p->present != FIRN_TERMS_FROM_DIAGONAL || p->diagonal + rows <= terms)
                check(p);
        }
}

static void check_types(uint8_t left, uint8_t right, firn_reduction reduction) {
    filling(left_data, left_floats, left);
    filling(right_data, right_floats, right);
    firn_product p = {.left = {.type = left}, .right = {.type = right}, .reduction = reduction};
    for (size_t rows = 1; rows <= 18; rows++)
        for (size_t columns = 1; columns <= 18; columns += rows % 4 == 0 ? 1 : 3)
            check_extents(&p, rows, columns, 1 + next() % MOST);
    check_extents(&p, 33, 40, MOST);
    step = 1; /* both steps are 1 where a matrix has one row or one column */
    check_extents(&p, 17, 18, 1);
    step = STEP;
}

TEST(float32_products) {
    static const uint8_t types[] = {FIRN_FLOAT32, FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (size_t i = 0; i < sizeof types; i++)
        for (size_t j = 0; j < sizeof types; j++)
            check_types(types[i], types[j], (firn_reduction){.kind = FIRN_REDUCTION_F32});
}

TEST(chunked_products) {
    static const uint8_t types[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (size_t i = 0; i < sizeof types; i++)
        for (uint32_t chunk = 5; chunk <= 32; chunk += 27)
            check_types(types[i], types[i],
                        (firn_reduction){.kind = FIRN_REDUCTION_CHUNKED, .accumulator = types[i], .chunk = chunk});
}

/* Values of which some are subnormal or infinite, or have products near 2^-126 and sums that cancel. */
static void fill_at_the_edges(uint8_t *data, float *floats, uint8_t type) {
    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint32_t r = next(), exponent = r >> 8 & 7u;
        const uint32_t edge = exponent == 7 ? next() % 256u : 64u - exponent % 3u;
        const float x = firn_from_bits((r & 1u) << 31 | edge << 23 | (r >> 1 & 7u) << 20);
        firn_store(data, type, i, r % 31u == 0 ? 0.0f : firn_bfloat16_to_float(firn_bfloat16_from_float(x)));
    }
    firn_widen(floats, data, type, 0, ELEMENTS);
}

/* Factors are bfloat16 or, as probabilities are, floats with values of it. */
TEST(flushed_products) {
    static const firn_reduction reductions[] = {
        {.kind = FIRN_REDUCTION_EVEN_ODD_BLOCKS, .accumulator = FIRN_FLOAT32, .chunk = 32},
        {.kind = FIRN_REDUCTION_PAIRS, .accumulator = FIRN_FLOAT32, .chunk = 2}};
    filling = fill_at_the_edges;
    for (size_t i = 0; i < 2; i++) {
        check_types(FIRN_BFLOAT16, FIRN_BFLOAT16, reductions[i]);
        check_types(FIRN_FLOAT32, FIRN_BFLOAT16, reductions[i]);
    }
    filling = fill;
}
