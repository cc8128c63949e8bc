/* Tests operands that are repeated as NumPy repeats them, over random extents of ranks 1 to 8, against indices that are
 * computed element by element; in place, in all types, and with split tasks (run_kernel). Also the error of power. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

enum { CASES = 400, ELEMENTS_MOST = 20000 };

/* A tensor of any rank. */
static firn_tensor tensor_of(uint8_t type, uint32_t rank, const uint32_t *dims) {
    uint32_t elements = 1;
    for (uint32_t d = 0; d < rank; d++)
        elements *= dims[d];
    firn_tensor tensor = tensor_new(type, elements, 0, 0, 0);
    uint32_t *extents = malloc(FIRN_RANK_MAX * sizeof *extents);
    assert_non_null(extents);
    memcpy(extents, dims, rank * sizeof *dims);
    free((void *)(uintptr_t)tensor.dims);
    tensor.dims = extents;
    tensor.rank = (uint8_t)rank;
    return tensor;
}

/* Extents whose product is at most ELEMENTS_MOST; many are 1. */
static uint32_t draw_extents(uint32_t *state, uint32_t *dims) {
    const uint32_t rank = 1 + draw(state, FIRN_RANK_MAX);
    uint32_t elements = 1;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = draw(state, 3) == 0 ? 1 : 1 + draw(state, draw(state, 6) == 0 ? 300 : 4);
        if (elements * dims[d] > ELEMENTS_MOST)
            dims[d] = 1;
        elements *= dims[d];
    }
    return rank;
}

/* A tensor that can be repeated to these extents; sometimes to all of them. */
static firn_tensor draw_operand(uint32_t *state, uint8_t type, uint32_t rank, const uint32_t *dims) {
    uint32_t own[FIRN_RANK_MAX];
    const uint32_t skipped = draw(state, 2) == 0 ? 0 : draw(state, rank), odds = 1 + draw(state, 4);
    for (uint32_t d = skipped; d < rank; d++)
        own[d - skipped] = draw(state, odds) == 0 ? dims[d] : 1;
    firn_tensor tensor = tensor_of(type, rank - skipped, own);
    tensor_fill(&tensor, draw(state, 1000), 4.0f);
    if (tensor.elements > 20)
        tensor_sprinkle(&tensor, draw(state, 1000));
    return tensor;
}

/* The element of an operand that element i of the result takes. */
static size_t place_in(const firn_tensor *operand, const firn_tensor *result, size_t i) {
    size_t place = 0, step = 1;
    for (uint32_t d = 1; d <= operand->rank; d++) {
        const uint32_t own = operand->dims[operand->rank - d], extent = result->dims[result->rank - d];
        place += own > 1 ? i % extent * step : 0;
        i /= extent;
        step *= own;
    }
    return place;
}

static bool is_as_large(const firn_tensor *operand, const firn_tensor *result) {
    return operand->elements == result->elements && operand->type == result->type;
}

/* a - b, in place too where an operand is not repeated. The result has the extents of `full`, which one operand has. */
static void check_subtract(uint32_t *state, const firn_tensor *full, uint8_t out_type) {
    firn_tensor a = draw_operand(state, (uint8_t)draw(state, 4), full->rank, full->dims), b = tensor_copy(full);
    firn_tensor expected = tensor_of(out_type, full->rank, full->dims);
    if (draw(state, 2) == 0) {
        const firn_tensor other = a;
        a = b;
        b = other;
    }
    for (size_t i = 0; i < expected.elements; i++)
        set(&expected, i, get(&a, place_in(&a, &expected, i)) - get(&b, place_in(&b, &expected, i)));
    firn_tensor *places[] = {NULL, &a, &b};
    for (size_t i = 0; i < 3; i++) {
        if (places[i] != NULL && !is_as_large(places[i], &expected))
            continue;
        firn_tensor x = tensor_copy(&a), z = tensor_copy(&b), y = tensor_of(out_type, full->rank, full->dims);
        test_call call = {.input_count = 2, .output_count = 1, .inputs = {x, z}, .outputs = {y}};
        if (places[i] != NULL)
            call.outputs[0].data = places[i] == &a ? x.data : z.data;
        run_kernel(FIRN_OP_subtract, &call);
        assert_same(&expected, &call.outputs[0], "subtract");
        tensor_free_each(&x, &z, &y, (firn_tensor *)NULL);
    }
    tensor_free_each(&a, &b, &expected, (firn_tensor *)NULL);
}

static void check_select(uint32_t *state, const firn_tensor *full) {
    firn_tensor condition = draw_operand(state, (uint8_t)draw(state, 4), full->rank, full->dims);
    firn_tensor a = draw_operand(state, (uint8_t)draw(state, 4), full->rank, full->dims), b = tensor_copy(full);
    firn_tensor y = tensor_of(full->type, full->rank, full->dims), expected = tensor_copy(&y);
    for (size_t i = 0; i < condition.elements; i += 2)
        set(&condition, i, i % 4 == 0 ? 0.0f : -0.0f);
    for (int absent = -1; absent < 2; absent++) {
        for (size_t i = 0; i < y.elements; i++) {
            const float one = absent == 0 ? 0.0f : get(&a, place_in(&a, &y, i)),
                        other = absent == 1 ? 0.0f : get(&b, place_in(&b, &y, i));
            set(&expected, i, get(&condition, place_in(&condition, &y, i)) != 0.0f ? one : other);
        }
        test_call call = {
            .input_count = absent == 1 ? 2 : 3, .output_count = 1, .inputs = {condition, a, b}, .outputs = {y}};
        if (absent == 0)
            call.inputs[FIRN_SELECT_IN_A] = (firn_tensor){0};
        run_kernel(FIRN_OP_select, &call);
        assert_same(&expected, &y, "select");
    }
    tensor_free_each(&condition, &a, &b, &y, &expected, (firn_tensor *)NULL);
}

/* The sums over the places along which `small` is repeated to the extents of x. */
static void check_sum_to(uint32_t *state, const firn_tensor *x) {
    firn_tensor small = draw_operand(state, FIRN_FLOAT32, x->rank, x->dims), expected = tensor_copy(&small);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {*x}, .outputs = {small}};
    memset(expected.data, 0, expected.elements * sizeof(float));
    float *sums = expected.data;
    for (size_t i = 0; i < x->elements; i++)
        sums[place_in(&small, x, i)] += get(x, i);
    for (size_t i = 0; i < expected.elements; i++)
        sums[i] = firn_canonical(sums[i]);
    for (uint32_t d = 0; d < small.rank; d++)
        call.integers[d] = small.dims[d];
    run_kernel(FIRN_OP_sum_to, &call);
    assert_same(&expected, &small, "sum_to");
    tensor_free_each(&small, &expected, (firn_tensor *)NULL);
}

TEST(random_extents) {
    uint32_t random = 4711;
    for (int i = 0; i < CASES; i++) {
        uint32_t dims[FIRN_RANK_MAX];
        const uint32_t rank = draw_extents(&random, dims);
        firn_tensor full = tensor_of((uint8_t)draw(&random, 4), rank, dims);
        tensor_fill(&full, (uint32_t)i, 4.0f);
        check_subtract(&random, &full, draw(&random, 2) == 0 ? full.type : (uint8_t)FIRN_FLOAT32);
        check_select(&random, &full);
        check_sum_to(&random, &full);
        tensor_free(&full);
    }
}

/* --- power -------------------------------------------------------------------------------------------------------- */

/* The error in units of the last place, which NUMERICS.md limits, for normal results. */
TEST(powers_are_close) {
    enum { COUNT = 1 << 18 };
    firn_tensor a = tensor_new(FIRN_FLOAT32, COUNT, 0, 0, 0), b = tensor_copy(&a), y = tensor_copy(&a);
    uint32_t random = 99;
    for (size_t i = 0; i < COUNT; i++) {
        const double spread = (double)draw(&random, 1 << 24) / (1 << 24),
                     along = (double)draw(&random, 1 << 24) / (1 << 24);
        const double base = i % 2 == 0 ? exp2(252 * spread - 126) : 1 + (2 * spread - 1) * exp2(-(double)(i % 23));
        set(&a, i, (float)base);
        set(&b, i,
            i % 3 == 0 ? (float)((int)draw(&random, 21) - 10)
                       : (float)((2 * along - 1) * 87 / (fabs(log((double)get(&a, i))) + 1e-9)));
    }
    test_call call = {.input_count = 2, .output_count = 1, .inputs = {a, b}, .outputs = {y}};
    run_kernel(FIRN_OP_power, &call);
    for (size_t i = 0; i < COUNT; i++) {
        const double base = (double)get(&a, i), exponent = (double)get(&b, i), exact = pow(base, exponent);
        if (!(exact > 0x1p-126 && exact < 0x1p127))
            continue;
        const bool product = exponent == floor(exponent) && fabs(exponent) <= 4;
        const double limit = product ? 3.5 : 1.5 + 0.2 * fabs(exponent * log(base));
        const double error = fabs((double)get(&y, i) - exact) / ldexp(1, ilogb(exact) - 23);
        if (!(error <= limit))
            fail_msg("%a to the power of %a: %a, not %a: %.2f units", base, exponent, (double)get(&y, i), exact, error);
    }
    tensor_free_each(&a, &b, &y, (firn_tensor *)NULL);
}
