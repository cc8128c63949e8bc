/* Tests the kernels of the finalise, update and bookkeep phases bit by bit: against the formula of each element, and
 * the loss scaler against the reference's description of its rules. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "plan/generated/reader.h"
#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

static const uint32_t sizes[] = {1, 64, 256, 257, 5000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static firn_tensor filled(uint8_t type, uint32_t size, uint32_t seed, float spread) {
    firn_tensor tensor = tensor_new(type, size, 0, 0, 0);
    tensor_fill(&tensor, seed, spread);
    return tensor;
}

static firn_tensor scalar(float x) {
    firn_tensor tensor = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0);
    set(&tensor, 0, x);
    return tensor;
}

static firn_tensor counter(int64_t x) {
    firn_tensor tensor = tensor_new(FIRN_INT64, 1, 0, 0, 0);
    *(int64_t *)tensor.data = x;
    return tensor;
}

static firn_tensor flag(int32_t x) {
    firn_tensor tensor = tensor_new(FIRN_INT32, 1, 0, 0, 0);
    *(int32_t *)tensor.data = x;
    return tensor;
}

static int64_t count_in(const firn_tensor *tensor) {
    return *(const int64_t *)tensor->data;
}

static int32_t flag_in(const firn_tensor *tensor) {
    return *(const int32_t *)tensor->data;
}

/* --- micro-batches and counters ----------------------------------------------------------------------------------- */

TEST(multiply) {
    firn_tensor power = scalar(0.3f);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {power}, .outputs = {power}, .reals = {0.999f}};
    run_kernel(FIRN_OP_advance_power, &call);
    assert_int_equal(firn_bits(get(&power, 0)), firn_bits(0.3f * 0.999f));
    tensor_free(&power);
}

TEST(accumulate) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (uint32_t micro_step = 0; micro_step < 2; micro_step++) {
            firn_tensor total = filled(FIRN_FLOAT32, 300, 1, 1.0f), gradient = filled(type, 300, 2, 1.0f);
            tensor_sprinkle(&gradient, 2);
            if (micro_step == 0)
                tensor_sprinkle(&total, 3); /* leftovers of an earlier step must not affect the result */
            firn_tensor expected = tensor_copy(&total);
            for (size_t e = 0; e < total.elements; e++)
                set(&expected, e, micro_step == 0 ? get(&gradient, e) : get(&total, e) + get(&gradient, e));
            const firn_moment moment = {0, micro_step};
            test_call call = {.input_count = 2,
                              .output_count = 1,
                              .inputs = {total, gradient},
                              .outputs = {total},
                              .moment = &moment};
            run_kernel(FIRN_OP_accumulate, &call);
            assert_same(&expected, &total, "accumulate");
            tensor_free_each(&total, &gradient, &expected, (firn_tensor *)NULL);
        }
}

/* --- trees of micro-batches --------------------------------------------------------------------------------------- */

enum { LEAVES_MOST = 17 };

/* Element e of node j of a level, as NUMERICS.md defines the tree, without a counter. The recursion is as deep as the
 * tree. */
static float node_of(const firn_tensor *leaves, uint32_t count, uint32_t level, uint32_t j, size_t e) {
    if (level == 0)
        return get(&leaves[j], e);
    const float left = node_of(leaves, count, level - 1, 2 * j, e);
    if (2 * j + 1 >= (count + (1u << (level - 1)) - 1) >> (level - 1)) /* the nodes of the level below */
        return left;
    return left + node_of(leaves, count, level - 1, 2 * j + 1, e);
}

static uint32_t levels_of(uint32_t count) {
    uint32_t levels = 0;
    while (1u << levels < count)
        levels++;
    return levels;
}

/* Runs the op in every micro-step of a tree. lower: NULL if there is no level below the top. */
static void run_tree(const firn_tensor *leaves, uint32_t count, const firn_tensor *total, const firn_tensor *lower) {
    const uint8_t tensors = lower != NULL ? 2 : 1;
    for (uint32_t m = 0; m < count; m++) {
        const firn_moment moment = {7, m};
        test_call call = {.input_count = (uint8_t)(1 + tensors),
                          .output_count = tensors,
                          .inputs = {*total, leaves[m], lower != NULL ? *lower : (firn_tensor){0}},
                          .outputs = {*total, lower != NULL ? *lower : (firn_tensor){0}},
                          .integers = {count},
                          .moment = &moment};
        run_kernel(FIRN_OP_accumulate_tree, &call);
    }
}

/* Checks the total, and what NUMERICS.md says of the levels below. Returns whether an element differs from the sum in
 * ascending order. */
static bool check_tree(const firn_tensor *leaves, uint32_t count, const firn_tensor *total, const firn_tensor *lower) {
    const uint32_t levels = levels_of(count), size = (uint32_t)total->elements;
    firn_tensor expected = tensor_copy(total);
    bool differs = false;
    for (size_t e = 0; e < size; e++) {
        float sum = get(&leaves[0], e);
        for (uint32_t m = 1; m < count; m++)
            sum += get(&leaves[m], e);
        set(&expected, e, node_of(leaves, count, levels, 0, e));
        differs |= firn_bits(firn_canonical(sum)) != firn_bits(get(&expected, e));
    }
    assert_same(&expected, total, "the total of a tree");
    for (uint32_t l = 0; l + 1 < levels; l++) {
        uint32_t j = (count - 1) >> l; /* the largest that is even and of which all leaves come before the last */
        while (j % 2 != 0 || (j + 1) << l >= count)
            j--;
        for (size_t e = 0; e < size; e++)
            assert_int_equal(firn_bits(get(lower, l * size + e)),
                             firn_bits(firn_canonical(node_of(leaves, count, l, j, e))));
    }
    tensor_free(&expected);
    return differs;
}

/* Whatever an earlier step has left, total and levels are those of the definition; from four leaves on, some bit is not
 * that of a sum in ascending order. */
TEST(accumulate_tree) {
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (uint32_t count = 2; count <= LEAVES_MOST; count++) {
            const uint32_t size = count % 4 == 1 ? 1 : 300, levels = levels_of(count);
            firn_tensor leaves[LEAVES_MOST], total = filled(FIRN_FLOAT32, size, 1, 1.0f),
                                             lower = filled(FIRN_FLOAT32, size * levels, 2, 1.0f);
            tensor_sprinkle(&total, 3);
            tensor_sprinkle(&lower, 3);
            for (uint32_t m = 0; m < count; m++) {
                leaves[m] = filled(type, size, 10 + m, 1.0f);
                if (m % 3 == 1)
                    tensor_sprinkle(&leaves[m], m);
            }
            run_tree(leaves, count, &total, levels > 1 ? &lower : NULL);
            const bool differs = check_tree(leaves, count, &total, &lower);
            if (type == FIRN_FLOAT32 && size > 1)
                assert_int_equal(differs, count > 3);
            for (uint32_t m = 0; m < count; m++)
                tensor_free(&leaves[m]);
            tensor_free(&total);
            tensor_free(&lower);
        }
}

/* --- counters ------------------------------------------------------------------------------------------------------
 */

TEST(count) {
    firn_tensor steps = counter(0xffffffff);
    test_call call = {.input_count = 1, .output_count = 1, .inputs = {steps}, .outputs = {steps}, .integers = {1}};
    run_kernel(FIRN_OP_count, &call);
    assert_true(count_in(&steps) == 0x100000000);
    tensor_free(&steps);
}

/* Leftovers of an earlier step do not count; rows of all micro-batches of a step do, exactly, and their number is
 * rounded to the nearest float32. */
TEST(batch_rows) {
    firn_tensor labels = tensor_new(FIRN_INT32, 5, 0, 0, 0), rows = counter(77), divisor = scalar(-1.0f);
    for (uint32_t micro_step = 0; micro_step < 3; micro_step++) {
        for (size_t i = 0; i < 5; i++)
            ((int32_t *)labels.data)[i] = i < 2 + micro_step ? 4 : (int32_t)i % 4;
        const firn_moment moment = {9, micro_step};
        test_call call = {.input_count = 2,
                          .output_count = 2,
                          .inputs = {labels, rows},
                          .outputs = {rows, divisor},
                          .integers = {4},
                          .moment = &moment};
        if (micro_step == 2)
            *(int64_t *)rows.data = 0x1000003; /* 2^24 + 3, and one more */
        run_kernel(FIRN_OP_batch_rows, &call);
        static const int64_t expected[] = {3, 3 + 2, 0x1000004};
        assert_true(count_in(&rows) == expected[micro_step]);
        assert_int_equal(firn_bits(get(&divisor, 0)), firn_bits((float)expected[micro_step]));
    }
    tensor_free_each(&labels, &rows, &divisor, (firn_tensor *)NULL);
}

/* The carry keeps what the total is too large for, so the sum does not depend on how many micro-batches there are. */
TEST(batch_weights) {
    enum { STEPS = 1000 };
    firn_tensor labels = tensor_new(FIRN_INT32, 2, 0, 0, 0), weights = tensor_new(FIRN_FLOAT32, 2, 0, 0, 0),
                sum = tensor_new(FIRN_FLOAT32, 2, 0, 0, 0), divisor = scalar(-1.0f);
    set(&sum, 0, 5.0f);
    set(&sum, 1, 6.0f);
    ((int32_t *)labels.data)[0] = 1;
    ((int32_t *)labels.data)[1] = 0;
    set(&weights, 1, 123.0f); /* of a row that does not count */
    for (uint32_t micro_step = 0; micro_step < STEPS; micro_step++) {
        set(&weights, 0, micro_step == 0 ? 16777216.0f : 0.25f);
        const firn_moment moment = {9, micro_step};
        test_call call = {.input_count = 3,
                          .output_count = 2,
                          .inputs = {labels, weights, sum},
                          .outputs = {sum, divisor},
                          .moment = &moment};
        run_kernel(FIRN_OP_batch_weights, &call);
    }
    assert_int_equal(firn_bits(get(&divisor, 0)), firn_bits(16777216.0f + (STEPS - 1) * 0.25f));
    tensor_free_each(&labels, &weights, &sum, &divisor, (firn_tensor *)NULL);
}

/* --- norm and clipping -------------------------------------------------------------------------------------------- */

static void gradient_norm_of(float a, float b, float expected_norm, int32_t expected_finite) {
    firn_tensor partial = tensor_new(FIRN_FLOAT32, 2, 0, 0, 0), norm = scalar(0.0f), finite = flag(7);
    set(&partial, 0, a);
    set(&partial, 1, b);
    test_call call = {.input_count = 1, .output_count = 2, .inputs = {partial}, .outputs = {norm, finite}};
    run_kernel(FIRN_OP_gradient_norm, &call);
    assert_int_equal(firn_bits(get(&norm, 0)), firn_bits(expected_norm));
    assert_int_equal(flag_in(&finite), expected_finite);
    tensor_free_each(&partial, &norm, &finite, (firn_tensor *)NULL);
}

TEST(gradient_norm) {
    gradient_norm_of(9.0f, 16.0f, 5.0f, 1);
    gradient_norm_of(0.0f, 0.0f, 0.0f, 1);
    gradient_norm_of(3e38f, 3e38f, INFINITY, 0);
    gradient_norm_of(INFINITY, 1.0f, INFINITY, 0);
    gradient_norm_of(1.0f, NAN, firn_from_bits(FIRN_NAN_BITS), 0);
}

/* scale 0: no scale input. */
static void check_sum_of_squares(uint8_t type, uint32_t size, float scale) {
    firn_tensor gradient = filled(type, size, 4, 3.0f), partial = filled(FIRN_FLOAT32, 5, 1, 1.0f);
    firn_tensor scratch = tensor_new(FIRN_FLOAT32, 1, (size - 1) / 4096 + 1, 0, 0), one = scalar(scale);
    firn_tensor expected = tensor_copy(&partial);
    float *squares = malloc(size * sizeof *squares);
    const float unscale = scale == 0.0f ? 1.0f : 1.0f / scale;
    for (size_t e = 0; e < size; e++) {
        float unscaled = get(&gradient, e) * unscale;
        squares[e] = unscaled * unscaled;
    }
    set(&expected, 3, other_sum(squares, size));
    test_call call = {.input_count = scale == 0.0f ? 2 : 3,
                      .output_count = 2,
                      .inputs = {gradient, partial, one},
                      .outputs = {partial, scratch},
                      .integers = {3}};
    run_kernel(FIRN_OP_sum_of_squares, &call);
    assert_same(&expected, &partial, "sum_of_squares");
    tensor_free_each(&gradient, &partial, &scratch, &one, &expected, (firn_tensor *)NULL);
    free(squares);
}

TEST(sum_of_squares) {
    for (int i = 0; i < SIZES; i++)
        for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
            check_sum_of_squares(type, sizes[i], 0.0f);
            check_sum_of_squares(type, sizes[i], 3.0f);
            check_sum_of_squares(type, sizes[i], 0x1p-140f);
        }
}

/* The norm and the factors of a gradient, by the ops of new plans or, if `older`, by those that scale no square. */
typedef struct clipping {
    float norm, factors[FIRN_FACTORS];
    int32_t finite;
} clipping;

/* scale 0: no scale input. */
static clipping clip(const firn_tensor *gradient, float scale, float limit, bool older) {
    firn_tensor partial = tensor_new(FIRN_FLOAT32, 1, 0, 0, 0), one = scalar(scale), magnitude = scalar(0.0f);
    firn_tensor scratch = tensor_new(FIRN_FLOAT32, 1, (uint32_t)(gradient->elements - 1) / 4096 + 1, 0, 0);
    firn_tensor norm = scalar(0.0f), finite = flag(7), root = scalar(0.0f);
    firn_tensor factors = tensor_new(FIRN_FLOAT32, FIRN_FACTORS, 0, 0, 0);
    const uint8_t given = scale != 0.0f;
    const firn_tensor of_loss = given ? one : (firn_tensor){0};
    test_call largest = {.input_count = 2,
                         .output_count = 2,
                         .inputs = {*gradient, partial},
                         .outputs = {partial, scratch},
                         .integers = {0}};
    test_call whole = {.input_count = 1, .output_count = 1, .inputs = {partial}, .outputs = {magnitude}};
    test_call squares = {.input_count = (uint8_t)((older ? 2 : 3) + given),
                         .output_count = 2,
                         .inputs = {*gradient, partial, older ? of_loss : magnitude, of_loss},
                         .outputs = {partial, scratch},
                         .integers = {0}};
    test_call sum = {.input_count = older ? 1 : (uint8_t)(2 + given),
                     .output_count = older ? 2 : 3,
                     .inputs = {partial, magnitude, of_loss},
                     .outputs = {norm, finite, root}};
    test_call factor = {.input_count = older ? 2 : 4,
                        .output_count = 1,
                        .inputs = {of_loss, norm, root, magnitude},
                        .outputs = {factors},
                        .integers = {FIRN_FB_CLIPPING_NORM},
                        .reals = {limit}};
    if (!older) {
        run_kernel(FIRN_OP_largest_magnitude, &largest);
        run_kernel(FIRN_OP_gradient_magnitude, &whole);
    }
    run_kernel(older ? FIRN_OP_sum_of_squares : FIRN_OP_sum_of_scaled_squares, &squares);
    run_kernel(FIRN_OP_gradient_norm, &sum);
    run_kernel(FIRN_OP_gradient_factors, &factor);
    clipping result = {.norm = get(&norm, 0), .finite = flag_in(&finite)};
    for (size_t i = 0; i < FIRN_FACTORS; i++)
        result.factors[i] = get(&factors, i);
    tensor_free_each(&partial, &one, &magnitude, &scratch, &norm, &finite, &root, &factors, (firn_tensor *)NULL);
    return result;
}

/* Where no square is below 2^-126 or overflows, scaling by a power of two changes no bit. */
TEST(scaled_squares_have_the_bits_of_squares) {
    static const float scales[] = {0.0f, 1024.0f, 3.0f, 0x1p-14f};
    static const float magnitudes[] = {0x1p-40f, 1e-6f, 0.3f, 70.0f, 0x1p40f};
    for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++)
        for (int i = 0; i < SIZES; i++)
            for (size_t k = 0; k < 20; k++) {
                if (firn_type_is_half(type) && k / 4 != 2)
                    continue; /* others leave the range of the half types */
                firn_tensor gradient = filled(type, sizes[i], (uint32_t)k, magnitudes[k / 4]);
                const clipping new = clip(&gradient, scales[k % 4], 0.5f, false);
                const clipping old = clip(&gradient, scales[k % 4], 0.5f, true);
                assert_true(old.norm > 0.0f && old.norm < INFINITY);
                assert_memory_equal(&new, &old, sizeof new);
                tensor_free(&gradient);
            }
}

/* Clips gradients of one size, and compares norm and result with binary64. */
static void check_clipping(float size, float scale, float limit) {
    enum { ELEMENTS = 5000 };
    firn_tensor gradient = tensor_new(FIRN_FLOAT32, ELEMENTS, 0, 0, 0);
    const double unscale = scale == 0.0f ? 1.0 : 1.0 / (double)scale;
    double squares = 0.0;
    for (size_t i = 0; i < ELEMENTS; i++) {
        set(&gradient, i, size * (0.5f + (float)(i % 7) / 14.0f) * (i % 2 != 0 ? -1.0f : 1.0f));
        squares += pow((double)get(&gradient, i) * unscale, 2);
    }
    const double norm = sqrt(squares), wanted = fmin(1.0, (double)limit / (norm + 1e-6));
    const clipping found = clip(&gradient, scale, limit, false);
    assert_int_equal(found.finite, (float)((double)size * unscale * (13.0 / 14.0)) < INFINITY);
    if (norm > (double)FLT_MAX)
        assert_int_equal(firn_bits(found.norm), FIRN_INFINITY_BITS);
    else
        assert_true(fabs((double)found.norm - norm) <= 2e-6 * norm + 0x1p-149);
    for (size_t i = 0; i < ELEMENTS; i++) {
        const float clipped = get(&gradient, i) * found.factors[FIRN_FACTOR_UNSCALE] * found.factors[FIRN_FACTOR_CLIP];
        const double exact = (double)get(&gradient, i) * unscale * wanted;
        assert_true(fabs((double)clipped - exact) <= 2e-6 * fabs(exact) + 0x1p-148);
    }
    tensor_free(&gradient);
}

/* Finite gradients are clipped to the limit also where their norm, or their squares, leave the range of float32. */
TEST(clipping_of_any_size) {
    static const float scales[] = {0.0f, 1024.0f, 3.0f, 0x1p-14f, 0x1p-100f, 1e30f};
    static const float sizes_of[] = {1e-44f, 1e-38f, 1e-30f, 1e-20f, 1.0f, 1e17f, 1e19f, 1e20f, 1e30f, 1e37f, 3e38f};
    static const float limits[] = {1e-20f, 1e-3f, 1.0f, 1e10f, 3e38f};
    for (size_t i = 0; i < sizeof sizes_of / sizeof sizes_of[0]; i++)
        for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++)
            for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++)
                check_clipping(sizes_of[i], scales[k], limits[l]);
}

TEST(norms_that_are_no_numbers) {
    firn_tensor gradient = filled(FIRN_FLOAT32, 70, 4, 1.0f);
    set(&gradient, 69, -INFINITY);
    clipping found = clip(&gradient, 0.0f, 1.0f, false);
    assert_true(found.norm > FLT_MAX && found.finite == 0 && found.factors[FIRN_FACTOR_CLIP] == 0.0f);
    set(&gradient, 0, NAN);
    found = clip(&gradient, 0.0f, 1.0f, false);
    assert_int_equal(firn_bits(found.norm), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(found.factors[FIRN_FACTOR_CLIP]), FIRN_NAN_BITS);
    assert_int_equal(found.finite, 0);
    for (size_t i = 0; i < 70; i++)
        set(&gradient, i, -0.0f);
    found = clip(&gradient, 4.0f, 1.0f, false);
    assert_true(found.norm == 0.0f && found.finite == 1 && found.factors[FIRN_FACTOR_CLIP] == 1.0f &&
                found.factors[FIRN_FACTOR_UNSCALE] == 0.25f);
    tensor_free(&gradient);
}

static void factors_of(bool scaled, int64_t clipping, float limit, float scale, float norm, const float *expected) {
    firn_tensor given[] = {scalar(scale), scalar(norm)}, factors = tensor_new(FIRN_FLOAT32, FIRN_FACTORS, 0, 0, 0);
    test_call call = {.output_count = 1, .outputs = {factors}, .integers = {clipping}, .reals = {limit}};
    if (scaled) {
        call.inputs[FIRN_GRADIENT_FACTORS_IN_SCALE] = given[0];
        call.input_count = FIRN_GRADIENT_FACTORS_IN_SCALE + 1;
    }
    if (clipping == FIRN_FB_CLIPPING_NORM) {
        call.inputs[FIRN_GRADIENT_FACTORS_IN_NORM] = given[1];
        call.input_count = FIRN_GRADIENT_FACTORS_IN_NORM + 1;
    }
    run_kernel(FIRN_OP_gradient_factors, &call);
    for (size_t i = 0; i < FIRN_FACTORS; i++)
        assert_int_equal(firn_bits(get(&factors, i)), firn_bits(expected[i]));
    tensor_free_each(&given[0], &given[1], &factors, (firn_tensor *)NULL);
}

static void clip_of_norm(float norm, float expected) {
    factors_of(0, FIRN_FB_CLIPPING_NORM, 1.0f, 0.0f, norm, (const float[]){1.0f, expected, INFINITY});
    factors_of(1, FIRN_FB_CLIPPING_NORM, 1.0f, 3.0f, norm, (const float[]){1.0f / 3.0f, expected, INFINITY});
}

TEST(gradient_factors) {
    clip_of_norm(0.0f, 1.0f);
    clip_of_norm(0.5f, 1.0f);
    clip_of_norm(4.0f, 1.0f / (4.0f + 1e-6f));
    clip_of_norm(1.0f, 1.0f / (1.0f + 1e-6f));
    clip_of_norm(INFINITY, 0.0f);
    clip_of_norm(NAN, firn_from_bits(FIRN_NAN_BITS));
    factors_of(1, FIRN_FB_CLIPPING_NONE, 0.0f, 0x1p-140f, 0.0f, (const float[]){INFINITY, 1.0f, INFINITY});
    factors_of(0, FIRN_FB_CLIPPING_VALUE, 1.5f, 0.0f, 0.0f, (const float[]){1.0f, 1.0f, 1.5f});
    factors_of(1, FIRN_FB_CLIPPING_VALUE, 1.5f, 4.0f, 0.0f, (const float[]){0.25f, 1.0f, 1.5f});
}

/* A tensor over its norm, by unit_norm or scaled_unit_norm. */
static firn_tensor unit_norm_of(const firn_tensor *x, uint16_t op) {
    firn_tensor y = tensor_copy(x), sums = tensor_new(FIRN_FLOAT32, 1, (uint32_t)(x->elements - 1) / 4096 + 1, 0, 0);
    test_call call = {.input_count = 1, .output_count = 2, .inputs = {*x}, .outputs = {y, sums}, .reals = {1e-7f}};
    run_kernel(op, &call);
    tensor_free(&sums);
    return y;
}

/* The direction of Muon has norm 1 also where its squares overflow or vanish. */
TEST(unit_norm_of_any_size) {
    static const float spreads[] = {0x1p-30f, 1.0f, 0x1p40f, 1e20f, 3e38f};
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
        firn_tensor x = filled(FIRN_FLOAT32, 5000, 7, spreads[i]), scaled = unit_norm_of(&x, FIRN_OP_scaled_unit_norm);
        if (spreads[i] < 1e19f) {
            firn_tensor plain = unit_norm_of(&x, FIRN_OP_unit_norm);
            assert_same(&plain, &scaled, "unit_norm");
            tensor_free(&plain);
        }
        double squares = 0.0;
        for (size_t e = 0; e < 5000; e++)
            squares += pow((double)get(&scaled, e), 2);
        if (spreads[i] >= 1.0f)
            assert_true(fabs(squares - 1.0) < 1e-5);
        tensor_free_each(&x, &scaled, (firn_tensor *)NULL);
    }
}

/* --- optimizers --------------------------------------------------------------------------------------------------- */

/* Factors that optimizers apply to gradients. These leave them unchanged. */
static const float no_factors[] = {1.0f, 1.0f, INFINITY};
static const float factor_sets[][FIRN_FACTORS] = {
    {1.0f / 3.0f, 0.7f, INFINITY}, {0x1p-10f, 1.0f, INFINITY}, {1.0f, 1.0f, 0.05f}, {0.3f, 0.9f, 0.01f}};
enum { FACTOR_SETS = sizeof factor_sets / sizeof factor_sets[0] };

static float seen(float x, const float *factors) {
    x = x * factors[FIRN_FACTOR_UNSCALE];
    x = x * factors[FIRN_FACTOR_CLIP];
    return isnan(x) ? x : fminf(fmaxf(x, -factors[FIRN_FACTOR_LIMIT]), factors[FIRN_FACTOR_LIMIT]);
}

/* Makes the factors tensor, which the caller frees, and adds it as the last input unless `factors` is no_factors. */
static firn_tensor give_factors(test_call *call, const float *factors) {
    firn_tensor tensor = tensor_new(FIRN_FLOAT32, FIRN_FACTORS, 0, 0, 0);
    for (size_t i = 0; i < FIRN_FACTORS; i++)
        set(&tensor, i, factors[i]);
    if (factors != no_factors)
        call->inputs[call->input_count++] = tensor;
    return tensor;
}

static void check_adamw(uint8_t type, uint32_t size, int64_t correct_bias, const float *factors) {
    const float beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.01f, rate = 3e-3f;
    firn_tensor p = filled(FIRN_FLOAT32, size, 1, 1.0f), g = filled(type, size, 2, 0.1f);
    firn_tensor m = filled(FIRN_FLOAT32, size, 3, 0.1f), v = filled(FIRN_FLOAT32, size, 4, 0.1f);
    firn_tensor lr = scalar(rate), power1 = scalar(0.81f), power2 = scalar(0.9025f);
    for (size_t i = 0; i < size; i++)
        set(&v, i, fabsf(get(&v, i)));
    tensor_sprinkle(&g, 5);
    firn_tensor e_p = tensor_copy(&p), e_m = tensor_copy(&m), e_v = tensor_copy(&v);
    const float correction = correct_bias ? sqrtf(1.0f - 0.9025f) / (1.0f - 0.81f) : 1.0f;
    for (size_t i = 0; i < size; i++) {
        float gradient = seen(get(&g, i), factors), before = get(&p, i);
        float first = fmaf(1.0f - beta1, gradient, beta1 * get(&m, i));
        float second = fmaf(1.0f - beta2, gradient * gradient, beta2 * get(&v, i));
        float update = first / (sqrtf(second) + epsilon) * correction;
        set(&e_m, i, first);
        set(&e_v, i, second);
        set(&e_p, i, fmaf(-rate, fmaf(decay, before, update), before));
    }
    test_call call = {.input_count = 7,
                      .output_count = 3,
                      .inputs = {p, g, lr, m, v, power1, power2},
                      .outputs = {p, m, v},
                      .integers = {correct_bias},
                      .reals = {beta1, beta2, epsilon, decay}};
    firn_tensor last = give_factors(&call, factors);
    run_kernel(FIRN_OP_adamw, &call);
    assert_same(&e_p, &p, "adamw: parameter");
    assert_same(&e_m, &m, "adamw: exp_avg");
    assert_same(&e_v, &v, "adamw: exp_avg_sq");
    tensor_free_each(&p, &g, &m, &v, &lr, &power1, &power2, &last, &e_p, &e_m, &e_v, (firn_tensor *)NULL);
}

TEST(adamw) {
    for (int i = 0; i < SIZES; i++)
        for (uint8_t type = FIRN_FLOAT32; type <= last_real_type; type++) {
            check_adamw(type, sizes[i], 0, no_factors);
            check_adamw(type, sizes[i], 1, no_factors);
            for (int f = 0; f < FACTOR_SETS; f++)
                check_adamw(type, sizes[i], 1, factor_sets[f]);
        }
}

static void check_sgd(uint8_t type, uint32_t size, int bits, const float *factors) {
    const bool maximize = (bits & 1) != 0, with_momentum = (bits & 2) != 0, nesterov = (bits & 4) != 0;
    const float decay = 0.1f, rate = 0.05f, momentum = 0.9f, dampening = 0.25f;
    firn_tensor p = filled(FIRN_FLOAT32, size, 1, 1.0f), g = filled(type, size, 2, 1.0f);
    firn_tensor b = filled(FIRN_FLOAT32, size, 3, 1.0f), lr = scalar(rate);
    firn_tensor e_p = tensor_copy(&p), e_b = tensor_copy(&b);
    for (size_t i = 0; i < size; i++) {
        float before = get(&p, i), follow = seen(get(&g, i), factors);
        float gradient = fmaf(decay, before, maximize ? -follow : follow);
        float buffer = fmaf(momentum, get(&b, i), (1.0f - dampening) * gradient);
        float step = !with_momentum ? gradient : nesterov ? fmaf(momentum, buffer, gradient) : buffer;
        set(&e_b, i, buffer);
        set(&e_p, i, fmaf(-rate, step, before));
    }
    test_call plain = {.input_count = 3,
                       .output_count = 1,
                       .inputs = {p, g, lr},
                       .outputs = {p},
                       .integers = {maximize},
                       .reals = {decay}};
    test_call with = {.input_count = 4,
                      .output_count = 2,
                      .inputs = {p, g, lr, b},
                      .outputs = {p, b},
                      .integers = {nesterov, maximize},
                      .reals = {momentum, dampening, decay}};
    firn_tensor last = give_factors(with_momentum ? &with : &plain, factors);
    if (with_momentum) {
        run_kernel(FIRN_OP_sgd_momentum, &with);
        assert_same(&e_b, &b, "sgd_momentum: buffer");
    } else {
        run_kernel(FIRN_OP_sgd, &plain);
    }
    assert_same(&e_p, &p, "sgd");
    tensor_free_each(&p, &g, &b, &lr, &last, &e_p, &e_b, (firn_tensor *)NULL);
}

/* Makes an optimizer's call on new tensors of 5,000 elements: parameter, gradient, and the other tensors of its
 * formula. */
static test_call update_of(uint16_t code, float decay) {
    enum { SIZE = 5000 };
    firn_tensor p = filled(FIRN_FLOAT32, SIZE, 1, 1.0f), g = filled(FIRN_BFLOAT16, SIZE, 2, 0.1f), rate = scalar(0.01f);
    if (code == FIRN_OP_sgd)
        return (test_call){
            .input_count = 3, .output_count = 1, .inputs = {p, g, rate}, .outputs = {p}, .reals = {decay}};
    firn_tensor a = filled(FIRN_FLOAT32, SIZE, 3, 0.1f);
    if (code == FIRN_OP_sgd_momentum)
        return (test_call){.input_count = 4,
                           .output_count = 2,
                           .inputs = {p, g, rate, a},
                           .outputs = {p, a},
                           .reals = {0.9f, 0.25f, decay}};
    firn_tensor b = filled(FIRN_FLOAT32, SIZE, 4, 0.1f);
    for (size_t i = 0; i < SIZE; i++)
        set(&b, i, fabsf(get(&b, i)));
    return (test_call){.input_count = 7,
                       .output_count = 3,
                       .inputs = {p, g, rate, a, b, scalar(0.81f), scalar(0.9f)},
                       .outputs = {p, a, b},
                       .integers = {1},
                       .reals = {0.9f, 0.95f, 1e-8f, decay}};
}

/* A weight decay given in the factors must have the same effect as the attribute, with and without other factors. */
TEST(decay_from_a_schedule) {
    static const uint16_t codes[] = {FIRN_OP_adamw, FIRN_OP_sgd, FIRN_OP_sgd_momentum};
    for (size_t i = 0; i < 6; i++) {
        const float *factors = i % 2 == 0 ? no_factors : factor_sets[1];
        test_call fixed = update_of(codes[i / 2], 0.3f), brought = update_of(codes[i / 2], 0);
        firn_tensor three = give_factors(&fixed, factors), decay = scalar(0.3f);
        firn_tensor four = tensor_new(FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY, 0, 0, 0);
        test_call joined = {.input_count = factors == no_factors ? 1 : 2,
                            .output_count = 1,
                            .inputs = {decay, three},
                            .outputs = {four}};
        run_kernel(FIRN_OP_decay_factors, &joined);
        assert_true(get(&four, FIRN_FACTOR_DECAY) == 0.3f);
        brought.inputs[brought.input_count++] = four;
        run_kernel(codes[i / 2], &fixed);
        run_kernel(codes[i / 2], &brought);
        for (uint8_t k = 0; k < fixed.output_count; k++)
            assert_same(&fixed.outputs[k], &brought.outputs[k], "weight decay from a schedule");
        for (uint8_t k = 0; k < brought.input_count; k++) {
            if (k < fixed.input_count && fixed.inputs[k].data != three.data)
                tensor_free(&fixed.inputs[k]);
            tensor_free(&brought.inputs[k]);
        }
        tensor_free_each(&three, &decay, (firn_tensor *)NULL);
    }
}

TEST(sgd) {
    for (int i = 0; i < SIZES; i++)
        for (int bits = 0; bits < 8; bits++) {
            check_sgd(FIRN_FLOAT32, sizes[i], bits, no_factors);
            for (int f = 0; f < FACTOR_SETS; f++)
                check_sgd((uint8_t)f, sizes[i], bits, factor_sets[f]);
        }
}

/* --- loss scaler -------------------------------------------------------------------------------------------------- */

typedef struct scaler {
    firn_tensor finite, scale, steps, overflows, skipped, at_floor;
    int64_t steps_per_increase;
    float minimum, maximum, tolerance;
} scaler;

static scaler scaler_new(float scale, int64_t steps_per_increase, float minimum, float maximum, float tolerance) {
    return (scaler){.finite = flag(1),
                    .scale = scalar(scale),
                    .steps = counter(0),
                    .overflows = counter(0),
                    .skipped = counter(0),
                    .at_floor = flag(7),
                    .steps_per_increase = steps_per_increase,
                    .minimum = minimum,
                    .maximum = maximum,
                    .tolerance = tolerance};
}

static void scaler_free(scaler *s) {
    tensor_free_each(&s->finite, &s->scale, &s->steps, &s->overflows, &s->skipped, &s->at_floor, (firn_tensor *)NULL);
}

static void update(scaler *s, int32_t finite) {
    *(int32_t *)s->finite.data = finite;
    test_call call = {.input_count = 5,
                      .output_count = 5,
                      .inputs = {s->finite, s->scale, s->steps, s->overflows, s->skipped},
                      .outputs = {s->scale, s->steps, s->overflows, s->skipped, s->at_floor},
                      .integers = {s->steps_per_increase},
                      .reals = {s->minimum, s->maximum, s->tolerance}};
    run_kernel(FIRN_OP_loss_scale_update, &call);
}

static void assert_scaler(const scaler *s, float scale, int64_t steps, int64_t overflows, int64_t skipped) {
    assert_true(get(&s->scale, 0) == scale);
    assert_true(count_in(&s->steps) == steps);
    assert_true(count_in(&s->overflows) == overflows);
    assert_true(count_in(&s->skipped) == skipped);
}

TEST(scale_grows_on_the_2001st_step) {
    scaler s = scaler_new(1024.0f, 2000, 0x1p-14f, 32768.0f, 0.0f);
    for (int i = 0; i < 2000; i++)
        update(&s, 1);
    assert_scaler(&s, 1024.0f, 2000, 0, 0);
    update(&s, 1);
    assert_scaler(&s, 2048.0f, 0, 0, 0);
    assert_int_equal(flag_in(&s.at_floor), 0);
    scaler_free(&s);
}

TEST(scale_stays_below_its_maximum) {
    scaler s = scaler_new(24000.0f, 1, 1.0f, 32768.0f, 0.0f);
    update(&s, 1);
    update(&s, 1);
    assert_scaler(&s, 32768.0f, 0, 0, 0);
    scaler_free(&s);
}

TEST(one_overflow_halves) {
    scaler s = scaler_new(1024.0f, 2000, 1.0f, 32768.0f, 0.0f);
    update(&s, 1);
    update(&s, 0);
    assert_scaler(&s, 512.0f, 0, 0, 1);
    scaler_free(&s);
}

TEST(tolerated_overflows_are_skipped_all_the_same) {
    scaler s = scaler_new(1024.0f, 2000, 1.0f, 32768.0f, 0.25f);
    update(&s, 0); /* 1/1 exceeds the tolerance */
    assert_scaler(&s, 512.0f, 0, 0, 1);
    for (int i = 0; i < 3; i++)
        update(&s, 1);
    update(&s, 0); /* 1/4 does not exceed 0.25 */
    assert_scaler(&s, 512.0f, 4, 1, 2);
    update(&s, 0); /* 2/5 does */
    assert_scaler(&s, 256.0f, 0, 0, 3);
    scaler_free(&s);
}

TEST(floor_is_told_when_a_halving_goes_below_it) {
    scaler s = scaler_new(4.0f, 2000, 1.5f, 32768.0f, 0.0f);
    update(&s, 0);
    assert_scaler(&s, 2.0f, 0, 0, 1);
    assert_int_equal(flag_in(&s.at_floor), 0);
    update(&s, 0);
    assert_scaler(&s, 1.5f, 0, 0, 2);
    assert_int_equal(flag_in(&s.at_floor), 1);
    update(&s, 1);
    assert_int_equal(flag_in(&s.at_floor), 0);
    scaler_free(&s);
}

/* Counters beyond 2^32 convert to float with a single rounding: 2^60 + 2^36 is a tie and rounds to the even 2^60; 2^59
 * + 2^35 + 1 is just above a tie and rounds up. */
TEST(large_counters) {
    scaler s = scaler_new(64.0f, INT64_MAX, 1.0f, 32768.0f, 0.5f);
    *(int64_t *)s.steps.data = 0x1000001000000000 - 1;
    *(int64_t *)s.overflows.data = 0x0800000800000000;
    update(&s, 1); /* exactly one half */
    assert_scaler(&s, 64.0f, 0x1000001000000000, 0x0800000800000000, 0);
    *(int64_t *)s.steps.data = 0x1000001000000000 - 1;
    *(int64_t *)s.overflows.data = 0x0800000800000001;
    update(&s, 1);
    assert_scaler(&s, 32.0f, 0, 0, 0);
    scaler_free(&s);
}
