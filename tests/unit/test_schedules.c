/* Schedules: values against the decimal oracle of tests/golden/schedules.py, and every refusal of the check. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schedules/schedule.h"

static const firn_schedule_node golden_nodes[] = {
#define SCHEDULE_NODE(kind_, children_, first_, total_, start_, initial_, final_)                                      \
    {.kind = (kind_),                                                                                                  \
     .child_count = (children_),                                                                                       \
     .first_child = (first_),                                                                                          \
     .total = (total_),                                                                                                \
     .start = (start_),                                                                                                \
     .initial = (initial_),                                                                                            \
     .final = (final_)},
#define SCHEDULE_VALUE(root_, step_, single_, exact_)
#include "tests/golden/schedules.def"
#undef SCHEDULE_NODE
#undef SCHEDULE_VALUE
};

#define GOLDEN_NODES (sizeof golden_nodes / sizeof golden_nodes[0])

static const struct {
    uint32_t root;
    uint64_t step;
    uint32_t single;
    double exact;
} golden_values[] = {
#define SCHEDULE_NODE(kind_, children_, first_, total_, start_, initial_, final_)
#define SCHEDULE_VALUE(root_, step_, single_, exact_) {(root_), (step_), (single_), (exact_)},
#include "tests/golden/schedules.def"
#undef SCHEDULE_NODE
#undef SCHEDULE_VALUE
};

#define GOLDEN_VALUES (sizeof golden_values / sizeof golden_values[0])

static int32_t bits_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void test_values_match_the_oracle(void **state) {
    (void)state;
    uint32_t wrong = 0;
    assert_int_equal(firn_schedule_check(golden_nodes, GOLDEN_NODES), 0);
    for (size_t i = 0; i < GOLDEN_VALUES; i++) {
        uint32_t root = golden_values[i].root;
        uint64_t step = golden_values[i].step;
        float single = firn_schedule_value(golden_nodes, root, step);
        double exact = firn_schedule_exact(golden_nodes, root, step);
        int64_t apart = (int64_t)bits_of(single) - (int64_t)golden_values[i].single;
        if (apart < -1 || apart > 1 ||
            fabs(exact - golden_values[i].exact) > 4 * DBL_EPSILON * golden_values[i].exact) {
            print_message("node %u, step %llu: %a, not %a\n", (unsigned)root, (unsigned long long)step, exact,
                          golden_values[i].exact);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_ends_are_exact(void **state) {
    (void)state;
    for (uint32_t i = 0; i < GOLDEN_NODES; i++) {
        const firn_schedule_node *node = &golden_nodes[i];
        if (node->kind != FIRN_SCHEDULE_LINEAR && node->kind != FIRN_SCHEDULE_COSINE)
            continue;
        assert_int_equal(bits_of(firn_schedule_value(golden_nodes, i, 0)), bits_of((float)node->initial));
        assert_true(firn_schedule_exact(golden_nodes, i, node->total) == node->final);
        assert_true(firn_schedule_exact(golden_nodes, i, UINT64_MAX) == node->final);
    }
}

/* The last steps of a decay to 0 shrink with the square of what is left; a cosine near -1 would have lost all digits.
 */
static void test_cosine_keeps_its_digits_at_the_end(void **state) {
    (void)state;
    const firn_schedule_node node = {.kind = FIRN_SCHEDULE_COSINE, .total = 1000000000, .initial = 1.0};
    double last = firn_schedule_exact(&node, 0, node.total - 1);
    double expected = 0x1.3bd3cc9be45dep+1 * 1e-18; /* (pi/2)^2 / total^2, to 1e-18 relative */
    assert_true(fabs(last - expected) < 1e-15 * expected);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(firn_schedule_name(FIRN_SCHEDULE_CONSTANT), "ConstantLR");
    assert_string_equal(firn_schedule_name(FIRN_SCHEDULE_LINEAR), "LinearLR");
    assert_string_equal(firn_schedule_name(FIRN_SCHEDULE_COSINE), "CosineDecayLR");
    assert_string_equal(firn_schedule_name(FIRN_SCHEDULE_SEQUENTIAL), "SequentialLR");
    assert_string_equal(firn_schedule_name(4), "?");
}

/* --- refusals --------------------------------------------------------------------------------------------------- */

/* 0 sequential of 1..3; 1 sequential of 4, 5; the others leaves; 6 a second root. */
#define VALID_NODES 7
static const firn_schedule_node valid[VALID_NODES] = {
    {.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 3, .first_child = 1},
    {.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 2, .first_child = 4},
    {.kind = FIRN_SCHEDULE_COSINE, .total = 100, .start = 20, .initial = 1, .final = 0.5},
    {.kind = FIRN_SCHEDULE_CONSTANT, .start = 120, .initial = 0.5},
    {.kind = FIRN_SCHEDULE_LINEAR, .total = 10, .final = 1},
    {.kind = FIRN_SCHEDULE_LINEAR, .total = 10, .start = 10, .initial = 1, .final = 1},
    {.kind = FIRN_SCHEDULE_CONSTANT, .total = 5, .initial = -0.0},
};

typedef void (*breakage)(firn_schedule_node *nodes);

static void unknown_kind(firn_schedule_node *n) {
    n[3].kind = 4;
}
static void constant_with_final(firn_schedule_node *n) {
    n[3].final = 0.5;
}
static void constant_with_negative_zero(firn_schedule_node *n) {
    n[3].final = -0.0;
}
static void constant_with_children(firn_schedule_node *n) {
    n[3].child_count = 1;
}
static void constant_with_first_child(firn_schedule_node *n) {
    n[3].first_child = 4;
}
static void linear_of_no_steps(firn_schedule_node *n) {
    n[4].total = 0;
}
static void cosine_of_no_steps(firn_schedule_node *n) {
    n[2].total = 0;
}
static void cosine_with_children(firn_schedule_node *n) {
    n[2].child_count = 1;
}
static void initial_nan(firn_schedule_node *n) {
    n[4].initial = (double)NAN;
}
static void initial_infinite(firn_schedule_node *n) {
    n[4].initial = -(double)INFINITY;
}
static void final_nan(firn_schedule_node *n) {
    n[4].final = (double)NAN;
}
static void final_beyond_binary32(firn_schedule_node *n) {
    n[4].final = 3.5e38;
}
static void auxiliary_used(firn_schedule_node *n) {
    n[4].auxiliary = 1;
}
static void rate_used(firn_schedule_node *n) {
    n[4].rate = 0.9;
}
static void power_used(firn_schedule_node *n) {
    n[4].power = 1;
}
static void sequential_with_initial(firn_schedule_node *n) {
    n[1].initial = 1;
}
static void sequential_with_final(firn_schedule_node *n) {
    n[1].final = 1;
}
static void sequential_of_none(firn_schedule_node *n) {
    n[1].child_count = 0;
}
static void child_is_itself(firn_schedule_node *n) {
    n[1].first_child = 1;
}
static void child_is_before(firn_schedule_node *n) {
    n[1].first_child = 0;
}
static void first_child_outside(firn_schedule_node *n) {
    n[1].first_child = VALID_NODES;
}
static void last_child_outside(firn_schedule_node *n) {
    n[1].child_count = 4;
}
static void first_child_wraps(firn_schedule_node *n) {
    n[1].first_child = UINT32_MAX;
}
static void child_shared(firn_schedule_node *n) {
    n[1].first_child = 3;
}
static void child_shared_other_way(firn_schedule_node *n) {
    n[0].child_count = 4;
}
static void first_start_not_zero(firn_schedule_node *n) {
    n[4].start = 1;
}
static void starts_equal(firn_schedule_node *n) {
    n[3].start = 20;
}
static void starts_descend(firn_schedule_node *n) {
    n[3].start = 19;
}
static void second_start_zero(firn_schedule_node *n) {
    n[5].start = 0;
}
static void root_with_start(firn_schedule_node *n) {
    n[6].start = 1;
}

static const struct {
    const char *name;
    breakage apply;
    uint32_t fault;
} refusals[] = {
    {"unknown kind", unknown_kind, 4},
    {"constant with a final value", constant_with_final, 4},
    {"constant with final -0", constant_with_negative_zero, 4},
    {"constant with children", constant_with_children, 4},
    {"constant with a first child", constant_with_first_child, 4},
    {"linear of no steps", linear_of_no_steps, 5},
    {"cosine of no steps", cosine_of_no_steps, 3},
    {"cosine with children", cosine_with_children, 3},
    {"initial is NaN", initial_nan, 5},
    {"initial is infinite", initial_infinite, 5},
    {"final is NaN", final_nan, 5},
    {"final beyond binary32", final_beyond_binary32, 5},
    {"auxiliary used", auxiliary_used, 5},
    {"rate used", rate_used, 5},
    {"power used", power_used, 5},
    {"sequential with initial", sequential_with_initial, 2},
    {"sequential with final", sequential_with_final, 2},
    {"sequential of none", sequential_of_none, 2},
    {"child is itself", child_is_itself, 2},
    {"child is before", child_is_before, 2},
    {"first child outside", first_child_outside, 2},
    {"last child outside", last_child_outside, 2},
    {"first child wraps", first_child_wraps, 2},
    {"child shared", child_shared, 2},
    {"child shared, the other way", child_shared_other_way, 2},
    {"first start not 0", first_start_not_zero, 5},
    {"starts equal", starts_equal, 4},
    {"starts descend", starts_descend, 4},
    {"second start 0", second_start_zero, 6},
    {"root with a start", root_with_start, 7},
};

static void test_check_refuses(void **state) {
    (void)state;
    assert_int_equal(firn_schedule_check(valid, VALID_NODES), 0);
    assert_int_equal(firn_schedule_check(valid, 0), 0);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        firn_schedule_node nodes[VALID_NODES];
        memcpy(nodes, valid, sizeof nodes);
        refusals[i].apply(nodes);
        uint32_t fault = firn_schedule_check(nodes, VALID_NODES);
        if (fault != refusals[i].fault)
            fail_msg("%s: fault %u, not %u", refusals[i].name, (unsigned)fault, (unsigned)refusals[i].fault);
    }
}

static void test_depth_is_bounded(void **state) {
    (void)state;
    firn_schedule_node nodes[FIRN_SCHEDULE_DEPTH + 1] = {{0}};
    for (uint32_t i = 0; i < FIRN_SCHEDULE_DEPTH; i++)
        nodes[i] = (firn_schedule_node){.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 1, .first_child = i + 1};
    nodes[FIRN_SCHEDULE_DEPTH] = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = 0.25};
    assert_int_equal(firn_schedule_check(nodes, FIRN_SCHEDULE_DEPTH + 1), FIRN_SCHEDULE_DEPTH + 1);
    assert_int_equal(firn_schedule_check(nodes, FIRN_SCHEDULE_DEPTH), FIRN_SCHEDULE_DEPTH);
    nodes[FIRN_SCHEDULE_DEPTH - 1] = nodes[FIRN_SCHEDULE_DEPTH];
    assert_int_equal(firn_schedule_check(nodes, FIRN_SCHEDULE_DEPTH), 0);
    assert_true(firn_schedule_exact(nodes, 0, 12345) == 0.25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_match_the_oracle),
        cmocka_unit_test(test_ends_are_exact),
        cmocka_unit_test(test_cosine_keeps_its_digits_at_the_end),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
