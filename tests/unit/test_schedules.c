/* Tests schedules from the recipe to the value, against the decimal oracle of tests/golden/schedules.py, every refusal
 * of firn_schedule_check and what lies at its limits, and the coefficients of optimizers. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/recipe/recipe.h"
#include "plan/generated/words.h"
#include "schedules/coefficients.h"
#include "schedules/schedule.h"
#include "schedules/schedule_elementary.h"
#include "schedules/schedule_expression.h"
#include "tests/unit/support_test.h"

/* --- recipes against the oracle ----------------------------------------------------------------------------------- */

static const struct {
    const char *schedulers; /* the schedulers of a recipe, as JSON */
    bool weight_decay;
} golden_cases[] = {
#define SCHEDULE_CASE(schedulers_, weight_decay_) {(schedulers_), (weight_decay_)},
#define SCHEDULE_VALUE(case_, step_, single_, exact_)
#include "tests/golden/schedules.def"
#undef SCHEDULE_CASE
#undef SCHEDULE_VALUE
};

#define GOLDEN_CASES (sizeof golden_cases / sizeof golden_cases[0])

static const struct {
    uint32_t place;
    uint64_t step;
    uint32_t single;
    double exact;
} golden_values[] = {
#define SCHEDULE_CASE(schedulers_, weight_decay_)
#define SCHEDULE_VALUE(case_, step_, single_, exact_) {(case_), (step_), (single_), (exact_)},
#include "tests/golden/schedules.def"
#undef SCHEDULE_CASE
#undef SCHEDULE_VALUE
};

#define GOLDEN_VALUES (sizeof golden_values / sizeof golden_values[0])

#define CHECKSUM 0xb295400666d14199u /* the checksum that every build must give */

static int32_t bits_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns a recipe with those schedulers; *root receives the schedule of the key under test. */
static const firnc_recipe *recipe_of(uint32_t place, uint32_t *root) {
    static firnc_recipe recipe;
    const char *settings[] = {firnc_format("trainer.init.schedulers=%s", golden_cases[place].schedulers),
                              "trainer.init.loop.num_steps=1", "trainer.init.optimizer={SGD: {lr: 0.5}}"};
    if (!firnc_recipe_read(&recipe, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, settings, 3))
        fail_msg("case %u is refused", (unsigned)place);
    *root = UINT32_MAX;
    for (uint32_t i = 0; i < recipe.job.schedule.root_count; i++)
        if (recipe.job.schedule.roots[i].weight_decay == golden_cases[place].weight_decay)
            *root = recipe.job.schedule.roots[i].node;
    assert_true(*root != UINT32_MAX);
    return &recipe;
}

/* The tolerance is one unit in the last place in binary32. In binary64 it allows for the error of powers with large
 * exponents, and of sums whose terms are of similar size. */
TEST(test_values_match_the_oracle) {
    uint32_t wrong = 0, root = 0, place = UINT32_MAX;
    double worst = 0;
    firn_schedule_list list = {0};
    for (size_t i = 0; i < GOLDEN_VALUES; i++) {
        if (golden_values[i].place != place) {
            place = golden_values[i].place;
            list = firnc_job_schedules(&recipe_of(place, &root)->job);
            assert_int_equal(firn_schedule_check(&list), 0);
        }
        uint64_t step = golden_values[i].step;
        float single = firn_schedule_value(&list, root, step);
        double exact = firn_schedule_exact(&list, root, step), expected = golden_values[i].exact;
        int64_t apart = (int64_t)bits_of(single) - (int64_t)golden_values[i].single;
        double error = fabs(exact - expected) / fmax(expected, 1e-38);
        worst = fmax(worst, error);
        if (apart < -1 || apart > 1 || error > 0x1p-35) {
            print_message("%s, step %llu: %a, not %a\n", golden_cases[place].schedulers, (unsigned long long)step,
                          exact, expected);
            wrong++;
        }
    }
    print_message("%u cases, at most 2^%.1f off in binary64\n", (unsigned)GOLDEN_CASES, log2(worst));
    assert_int_equal(place + 1, GOLDEN_CASES);
    assert_int_equal(wrong, 0);
}

/* A checksum over the bits of many values in binary64: two builds with the same checksum compute the same schedules. */
TEST(test_checksum) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t place = 0; place < GOLDEN_CASES; place++) {
        uint32_t root;
        firn_schedule_list list = firnc_job_schedules(&recipe_of(place, &root)->job);
        for (uint64_t step = 0; step < 200000; step += 1 + step / 50) {
            double exact = firn_schedule_exact(&list, root, step);
            uint64_t bits;
            memcpy(&bits, &exact, sizeof bits);
            for (uint32_t i = 0; i < 8; i++)
                hash = (hash ^ (bits >> (8 * i) & 0xffu)) * 0x100000001b3u;
        }
    }
    print_message("schedules checksum %016llx\n", (unsigned long long)hash);
    assert_true(hash == CHECKSUM);
}

TEST(test_ends_are_exact) {
    for (uint16_t kind = FIRN_SCHEDULE_LINEAR; kind <= FIRN_SCHEDULE_POLYNOMIAL; kind++) {
        firn_schedule_node node = {.kind = kind, .total = 12345, .initial = 0.1, .final = 0.7};
        const firn_schedule_list list = {.nodes = &node, .node_count = 1};
        if (kind == FIRN_SCHEDULE_SEQUENTIAL)
            continue;
        node.power = kind == FIRN_SCHEDULE_POLYNOMIAL ? 0.3 : 0;
        assert_int_equal(firn_schedule_check(&list), 0);
        assert_int_equal(bits_of(firn_schedule_value(&list, 0, 0)), bits_of(0.1F));
        assert_true(firn_schedule_exact(&list, 0, node.total) == 0.7);
        assert_true(firn_schedule_exact(&list, 0, UINT64_MAX) == 0.7);
    }
}

/* Near the end of a decay to 0 the value shrinks with the square of the remaining steps; computed as 1 + cos(x) with a
 * cosine near -1, it would lose all its digits. */
TEST(test_cosine_keeps_its_digits_at_the_end) {
    const firn_schedule_node node = {.kind = FIRN_SCHEDULE_COSINE, .total = 1000000000, .initial = 1.0};
    double last = firn_schedule_exact(&(firn_schedule_list){.nodes = &node, .node_count = 1}, 0, node.total - 1);
    double expected = 0x1.3bd3cc9be45dep+1 * 1e-18; /* (pi/2)^2 / total^2, with a relative error of 1e-18 */
    assert_true(fabs(last - expected) < 1e-15 * expected);
}

TEST(test_names) {
    for (uint16_t kind = 0; kind < FIRN_SCHEDULE_KINDS; kind++) /* those of the format */
        assert_string_equal(firn_schedule_name(kind), firn_fb_schedule_kind_word(kind));
    assert_string_equal(firn_schedule_name(FIRN_SCHEDULE_KINDS), "?");
}

/* --- elementary functions ----------------------------------------------------------------------------------------- */

/* The difference between x and the long double result of the C library, in units of 2^-53 of that result. */
static double error_of(double x, long double expected) {
    if (expected == 0)
        return x == 0 ? 0 : (double)INFINITY;
    return (double)(fabsl((long double)x - expected) / fabsl(expected) * 0x1p53L);
}

static void expect_error(const char *name, double worst, double bound) {
    print_message("%s: %.2f units of 2^-53\n", name, worst);
    if (!(worst <= bound))
        fail_msg("%s is off by more than %.2f", name, bound);
}

TEST(test_elementary_functions_are_accurate) {
    double exp_worst = 0, log_worst = 0, root_worst = 0, power_worst = 0, sine_worst = 0;
    for (uint32_t i = 1; i < 200000; i++) {
        double part = (double)(i * 2654435761u) * 0x1p-32, x = ldexp(1.0 + part, (int)(i % 400) - 200);
        double near = 1.0 + (part - 0.5) * ldexp(1.0, -(int)(i % 50));
        double exponent = (part - 0.5) * 1400.0, angle = part * 7.0;
        exp_worst = fmax(exp_worst, error_of(firn_schedule_exp(exponent), expl((long double)exponent)));
        log_worst = fmax(log_worst, error_of(firn_schedule_log(x), logl((long double)x)));
        if (near != 1.0)
            log_worst = fmax(log_worst, error_of(firn_schedule_log(near), logl((long double)near)));
        root_worst = fmax(root_worst, error_of(firn_schedule_square_root(x), sqrtl((long double)x)));
        double y = (double)i, base = 1.0 - part * ldexp(1.0, -12);
        power_worst =
            fmax(power_worst, error_of(firn_schedule_power(base, y), powl((long double)base, (long double)y)));
        double sine = firn_schedule_sine(angle), cosine = firn_schedule_cosine(-angle);
        sine_worst = fmax(sine_worst, fabs(sine - sin(angle)) * 0x1p53);
        sine_worst = fmax(sine_worst, fabs(cosine - cos(angle)) * 0x1p53);
        assert_true(firn_schedule_sine(-angle) == -sine);
    }
    expect_error("exp", exp_worst, 4);
    expect_error("log", log_worst, 4);
    expect_error("square root", root_worst, 2);
    expect_error("power", power_worst, 200); /* 2^-45 for results down to 2^-70 */
    expect_error("sine and cosine (absolute)", sine_worst, 16);
}

static void expect_double(double x, double expected) {
    if (!(x == expected && signbit(x) == signbit(expected)) && !(isnan(x) && isnan(expected)))
        fail_msg("%a is not %a", x, expected);
}

TEST(test_elementary_functions_at_their_ends) {
    const double infinity = (double)INFINITY, nan = (double)NAN;
    expect_double(firn_schedule_exp(0), 1);
    expect_double(firn_schedule_exp(-708.5), 0);
    expect_double(firn_schedule_exp(709.5), infinity);
    expect_double(firn_schedule_exp(-infinity), 0);
    expect_double(firn_schedule_exp(nan), nan);
    expect_double(firn_schedule_log(1), 0);
    expect_double(firn_schedule_log(0), -infinity);
    expect_double(firn_schedule_log(-1), nan);
    expect_double(firn_schedule_log(infinity), infinity);
    expect_double(firn_schedule_log(nan), nan);
    assert_true(error_of(firn_schedule_log(0x1p-1074), logl(0x1p-1074L)) < 4);
    expect_double(firn_schedule_square_root(0), 0);
    expect_double(firn_schedule_square_root(0x1p-1030), 0);
    expect_double(firn_schedule_square_root(-1), nan);
    expect_double(firn_schedule_square_root(infinity), infinity);
    expect_double(firn_schedule_power(0, 0), 1);
    expect_double(firn_schedule_power(0, 0.5), 0);
    expect_double(firn_schedule_power(0, -0.5), infinity);
    expect_double(firn_schedule_power(-2, 3), -8);
    expect_double(firn_schedule_power(-1, -65), -1);
    expect_double(firn_schedule_power(-1, 66), 1);
    expect_double(firn_schedule_power(-2, 0.5), nan);
    expect_double(firn_schedule_power(3, nan), nan);
    expect_double(firn_schedule_power(200000, 3), 8e15);
    expect_double(firn_schedule_floor(-0.5), -1);
    expect_double(firn_schedule_floor(2.75), 2);
    expect_double(firn_schedule_floor(-3), -3);
    expect_double(firn_schedule_floor(0x1p60), 0x1p60);
    expect_double(firn_schedule_floor(nan), nan);
    expect_double(firn_schedule_sine(0), 0);
    expect_double(firn_schedule_cosine(0), 1);
    expect_double(firn_schedule_sine(infinity), nan);
    for (double n = 1; n <= 100000; n++)
        expect_double(firn_schedule_square_root(n * n), n);
    /* the last arguments before an end */
    assert_true(error_of(firn_schedule_exp(-708), expl(-708)) < 4);
    assert_true(error_of(firn_schedule_exp(709), expl(709)) < 4);
    expect_double(firn_schedule_square_root(0x1p-1022), 0x1p-511);
    expect_double(firn_schedule_floor(-0x1p52 + 0.5), -0x1p52);
    expect_double(firn_schedule_floor(-0x1p80), -0x1p80);
    expect_double(firn_schedule_floor(0x1p80), 0x1p80);
    assert_true(fabs(firn_schedule_sine(0x1p51)) <= 1);
    expect_double(firn_schedule_sine(0x1p53), nan);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

/* Node 0 is a sequence of 1 to 3; node 1 a product of 4 and 5; node 6 a second root; then follows one node of each
 * other kind. */
#define VALID_NODES 18
static const firn_schedule_node valid[VALID_NODES] = {
    {.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 3, .first_child = 1},
    {.kind = FIRN_SCHEDULE_PRODUCT, .child_count = 2, .first_child = 4, .initial = 1, .final = 2},
    {.kind = FIRN_SCHEDULE_COSINE, .total = 100, .start = 20, .initial = 1, .final = 0.5},
    {.kind = FIRN_SCHEDULE_CONSTANT, .start = 120, .initial = 0.5},
    {.kind = FIRN_SCHEDULE_LINEAR, .total = 10, .final = 1},
    {.kind = FIRN_SCHEDULE_SEQUENTIAL, .child_count = 2, .first_child = 16},
    {.kind = FIRN_SCHEDULE_CONSTANT, .total = 5, .initial = -0.0},
    {.kind = FIRN_SCHEDULE_POLYNOMIAL, .total = 9, .initial = 1, .power = 2.5},
    {.kind = FIRN_SCHEDULE_EXPONENTIAL, .mode = FIRN_SCHEDULE_STAIRCASE, .total = 9, .initial = 1, .rate = 0.5},
    {.kind = FIRN_SCHEDULE_INVERSE_TIME, .mode = 1, .total = 9, .initial = 1, .rate = 0.5, .power = 0.5},
    {.kind = FIRN_SCHEDULE_INVERSE_SQUARE_ROOT, .total = 9, .initial = 1, .rate = 2},
    {.kind = FIRN_SCHEDULE_COSINE_PERIODIC, .mode = FIRN_SCHEDULE_RESTART, .total = 9, .initial = 1},
    {.kind = FIRN_SCHEDULE_MULTI_STEP, .total = 2, .auxiliary = 1, .initial = 1, .rate = 0.1},
    {.kind = FIRN_SCHEDULE_PIECEWISE, .total = 2, .auxiliary = 1},
    {.kind = FIRN_SCHEDULE_CYCLIC, .mode = FIRN_SCHEDULE_DECAYING, .total = 9, .auxiliary = 4, .final = 1, .rate = 1},
    {.kind = FIRN_SCHEDULE_ONE_CYCLE, .mode = 3, .total = 9, .initial = 1, .final = 2, .power = 3.5},
    {.kind = FIRN_SCHEDULE_TABLE, .total = 3, .auxiliary = 3},
    {.kind = FIRN_SCHEDULE_EXPRESSION, .start = 10, .total = 4},
};

#define VALID_NUMBERS 6
static const double valid_numbers[VALID_NUMBERS] = {0.5, 10, 20, 0.1, 0.2, 0.3};

#define VALID_INSTRUCTIONS 4
static const firn_schedule_instruction valid_instructions[VALID_INSTRUCTIONS] = {
    {.operation = FIRN_SCHEDULE_NUMBER, .value = 0.5},
    {.operation = FIRN_SCHEDULE_STEP},
    {.operation = FIRN_SCHEDULE_POWER},
    {.operation = FIRN_SCHEDULE_NEGATE},
};

/* A copy of the valid list that a test may change. */
typedef struct changeable {
    firn_schedule_node nodes[VALID_NODES];
    double numbers[VALID_NUMBERS];
    firn_schedule_instruction instructions[VALID_INSTRUCTIONS];
} changeable;

static void make_valid(changeable *c) {
    memcpy(c->nodes, valid, sizeof valid);
    memcpy(c->numbers, valid_numbers, sizeof valid_numbers);
    memcpy(c->instructions, valid_instructions, sizeof valid_instructions);
}

static firn_schedule_list list_of(const changeable *c) {
    return (firn_schedule_list){c->nodes, c->numbers, c->instructions, VALID_NODES, VALID_NUMBERS, VALID_INSTRUCTIONS};
}

static uint32_t check(const changeable *c) {
    firn_schedule_list list = list_of(c);
    return firn_schedule_check(&list);
}

/* Each row gives a test name, the node at fault counted from 1, and the change. This must be a macro, because each row
 * becomes a separate test function. */
#define REFUSALS(ROW)                                                                                                  \
    ROW(unknown_kind, 4, c->nodes[3].kind = FIRN_SCHEDULE_KINDS)                                                       \
    ROW(constant_with_final, 4, c->nodes[3].final = 0.5)                                                               \
    ROW(constant_with_negative_zero, 4, c->nodes[3].final = -0.0)                                                      \
    ROW(constant_with_children, 4, c->nodes[3].child_count = 1)                                                        \
    ROW(constant_with_first_child, 4, c->nodes[3].first_child = 4)                                                     \
    ROW(constant_with_mode, 4, c->nodes[3].mode = 1)                                                                   \
    ROW(linear_of_no_steps, 5, c->nodes[4].total = 0)                                                                  \
    ROW(cosine_of_no_steps, 3, c->nodes[2].total = 0)                                                                  \
    ROW(cosine_with_children, 3, c->nodes[2].child_count = 1)                                                          \
    ROW(initial_nan, 5, c->nodes[4].initial = (double)NAN)                                                             \
    ROW(initial_infinite, 5, c->nodes[4].initial = -(double)INFINITY)                                                  \
    ROW(final_nan, 5, c->nodes[4].final = (double)NAN)                                                                 \
    ROW(final_beyond_binary32, 5, c->nodes[4].final = 3.5e38)                                                          \
    ROW(auxiliary_used, 5, c->nodes[4].auxiliary = 1)                                                                  \
    ROW(rate_used, 5, c->nodes[4].rate = 0.9)                                                                          \
    ROW(power_used, 5, c->nodes[4].power = 1)                                                                          \
    ROW(sequential_with_initial, 1, c->nodes[0].initial = 1)                                                           \
    ROW(sequential_with_final, 1, c->nodes[0].final = 1)                                                               \
    ROW(sequential_of_none, 1, c->nodes[0].child_count = 0)                                                            \
    ROW(product_by_infinity, 2, c->nodes[1].initial = (double)INFINITY)                                                \
    ROW(product_over_zero, 2, c->nodes[1].final = 0)                                                                   \
    ROW(product_with_total, 2, c->nodes[1].total = 1)                                                                  \
    ROW(product_of_none, 2, c->nodes[1].child_count = 0)                                                               \
    ROW(child_is_itself, 2, c->nodes[1].first_child = 1)                                                               \
    ROW(child_is_before, 2, c->nodes[1].first_child = 0)                                                               \
    ROW(first_child_outside, 2, c->nodes[1].first_child = VALID_NODES)                                                 \
    ROW(last_child_outside, 2, c->nodes[1].child_count = VALID_NODES - 3)                                              \
    ROW(first_child_far_outside, 2, c->nodes[1].first_child = UINT16_MAX)                                              \
    ROW(child_shared, 2, c->nodes[1].first_child = 3)                                                                  \
    ROW(child_shared_other_way, 2, c->nodes[0].child_count = 4)                                                        \
    ROW(first_start_not_zero, 17, c->nodes[16].start = 1)                                                              \
    ROW(starts_equal, 4, c->nodes[3].start = 20)                                                                       \
    ROW(starts_descend, 4, c->nodes[3].start = 19)                                                                     \
    ROW(second_start_zero, 18, c->nodes[17].start = 0)                                                                 \
    ROW(factor_with_start, 6, c->nodes[5].start = 1)                                                                   \
    ROW(root_with_start, 7, c->nodes[6].start = 1)                                                                     \
    ROW(polynomial_of_negative_power, 8, c->nodes[7].power = -1)                                                       \
    ROW(exponential_of_negative_rate, 9, c->nodes[8].rate = -0.5)                                                      \
    ROW(exponential_mode, 9, c->nodes[8].mode = 2)                                                                     \
    ROW(inverse_time_of_negative_rate, 10, c->nodes[9].rate = -0.5)                                                    \
    ROW(inverse_time_of_negative_power, 10, c->nodes[9].power = -0.5)                                                  \
    ROW(inverse_square_root_at_0, 11, c->nodes[10].total = 0)                                                          \
    ROW(period_that_wraps, 12, c->nodes[11].total = UINT64_MAX / 2 + 1)                                                \
    ROW(multi_step_of_negative_rate, 13, c->nodes[12].rate = -1)                                                       \
    ROW(multi_step_of_none, 13, c->nodes[12].total = 0)                                                                \
    ROW(multi_step_outside, 13, c->nodes[12].total = 6)                                                                \
    ROW(multi_step_that_wraps, 13, c->nodes[12].total = UINT64_MAX)                                                    \
    ROW(multi_step_begins_outside, 13, c->nodes[12].auxiliary = VALID_NUMBERS + 1)                                     \
    ROW(milestone_negative, 13, c->numbers[1] = -1)                                                                    \
    ROW(milestone_broken, 13, c->numbers[1] = 10.5)                                                                    \
    ROW(milestone_too_large, 13, c->numbers[2] = 0x1p53)                                                               \
    ROW(milestone_nan, 13, c->numbers[1] = (double)NAN)                                                                \
    ROW(milestones_equal, 13, c->numbers[2] = 10)                                                                      \
    ROW(milestones_descend, 13, c->numbers[2] = 9)                                                                     \
    ROW(piecewise_outside, 14, c->nodes[13].auxiliary = 2)                                                             \
    ROW(piecewise_that_wraps, 14, c->nodes[13].total = UINT64_MAX / 2 + 1)                                             \
    ROW(piecewise_of_nan, 14, c->numbers[4] = (double)NAN)                                                             \
    ROW(piecewise_beyond_binary32, 14, c->numbers[4] = 1e39)                                                           \
    ROW(table_outside, 17, c->nodes[16].total = 4)                                                                     \
    ROW(table_begins_outside, 17, c->nodes[16].auxiliary = UINT64_MAX)                                                 \
    ROW(table_of_none, 17, c->nodes[16].total = 0)                                                                     \
    ROW(cyclic_without_down, 15, c->nodes[14].auxiliary = 0)                                                           \
    ROW(cyclic_that_wraps, 15, c->nodes[14].total = UINT64_MAX / 2 + 1)                                                \
    ROW(cyclic_of_negative_rate, 15, c->nodes[14].rate = -1)                                                           \
    ROW(cyclic_rate_used, 15, c->nodes[14].mode = FIRN_SCHEDULE_HALVING)                                               \
    ROW(cyclic_mode, 15, c->nodes[14].mode = 3)                                                                        \
    ROW(one_cycle_without_rise, 16, c->nodes[15].power = 0)                                                            \
    ROW(one_cycle_without_end, 16, c->nodes[15].power = 4)                                                             \
    ROW(one_cycle_of_nan, 16, c->nodes[15].power = (double)NAN)                                                        \
    ROW(one_cycle_mode, 16, c->nodes[15].mode = 4)                                                                     \
    ROW(expression_of_none, 18, c->nodes[17].total = 0)                                                                \
    ROW(expression_outside, 18, c->nodes[17].total = 5)                                                                \
    ROW(expression_begins_outside, 18, c->nodes[17].auxiliary = 5)                                                     \
    ROW(expression_leaves_two, 18, c->nodes[17].total = 2)                                                             \
    ROW(expression_lacks_an_operand, 18, c->nodes[17].auxiliary = 1; c->nodes[17].total = 3)                           \
    ROW(unknown_operation, 18, c->instructions[3].operation = FIRN_SCHEDULE_OPERATIONS)                                \
    ROW(instruction_reserved_low, 18, c->instructions[2].reserved_low = 1)                                             \
    ROW(instruction_reserved_high, 18, c->instructions[2].reserved_high = 1)                                           \
    ROW(instruction_value_used, 18, c->instructions[2].value = 1)                                                      \
    ROW(number_of_nan, 18, c->instructions[0].value = (double)NAN)                                                     \
    ROW(number_beyond_binary32, 18, c->instructions[0].value = 1e39)                                                   \
    ROW(reserved_used, 4, c->nodes[3].reserved = 1)                                                                    \
    ROW(initial_just_beyond_binary32, 4, c->nodes[3].initial = nextafter((double)FLT_MAX, DBL_MAX))                    \
    ROW(initial_just_below_binary32, 4, c->nodes[3].initial = -nextafter((double)FLT_MAX, DBL_MAX))                    \
    ROW(cyclic_down_that_wraps, 15, c->nodes[14].auxiliary = UINT64_MAX / 2 + 1)                                       \
    ROW(last_value_of_piecewise, 14, c->numbers[5] = (double)NAN)                                                      \
    ROW(last_value_of_table, 17, c->nodes[13].total = 1; c->numbers[5] = (double)NAN)                                  \
    ROW(first_value_of_table, 17, c->nodes[13].total = 1; c->nodes[13].auxiliary = 0; c->numbers[0] = 5;               \
        c->numbers[3] = (double)NAN)                                                                                   \
    ROW(one_cycle_without_fall, 16, c->nodes[15].mode = FIRN_SCHEDULE_STRAIGHT; c->nodes[15].power = 8)

#define REFUSAL_FUNCTION(name, fault, change)                                                                          \
    static void name(changeable *c) {                                                                                  \
        change;                                                                                                        \
    }
REFUSALS(REFUSAL_FUNCTION)

#define REFUSAL_ROW(name, fault, change) {#name, name, fault},
static const struct {
    const char *name;
    void (*apply)(changeable *c);
    uint32_t fault;
} refusals[] = {REFUSALS(REFUSAL_ROW)};

TEST(test_check_refuses) {
    changeable c;
    make_valid(&c);
    assert_int_equal(check(&c), 0);
    assert_int_equal(firn_schedule_check(&(firn_schedule_list){0}), 0);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        make_valid(&c);
        refusals[i].apply(&c);
        uint32_t fault = check(&c);
        if (fault != refusals[i].fault)
            fail_msg("%s: fault %u, not %u", refusals[i].name, (unsigned)fault, (unsigned)refusals[i].fault);
    }
}

/* What lies at a limit is accepted. Rows as above. */
#define LIMITS(ROW)                                                                                                    \
    ROW(largest_initial, 0, c->nodes[3].initial = (double)FLT_MAX)                                                     \
    ROW(smallest_initial, 0, c->nodes[3].initial = -(double)FLT_MAX)                                                   \
    ROW(least_initial, 0, c->nodes[3].initial = 0x1p-1074)                                                             \
    ROW(linear_of_one_step, 0, c->nodes[4].total = 1)                                                                  \
    ROW(linear_of_most_steps, 0, c->nodes[4].total = UINT64_MAX)                                                       \
    ROW(longest_period, 0, c->nodes[11].total = UINT64_MAX / 2)                                                        \
    ROW(longest_rise, 0, c->nodes[14].total = UINT64_MAX / 2)                                                          \
    ROW(longest_fall, 0, c->nodes[14].auxiliary = UINT64_MAX / 2)                                                      \
    ROW(shortest_fall, 0, c->nodes[14].auxiliary = 1)                                                                  \
    ROW(polynomial_of_power_0, 0, c->nodes[7].power = 0)                                                               \
    ROW(exponential_of_rate_0, 0, c->nodes[8].rate = 0)                                                                \
    ROW(inverse_time_of_nothing, 0, c->nodes[9].rate = c->nodes[9].power = 0)                                          \
    ROW(multi_step_of_rate_0, 0, c->nodes[12].rate = 0)                                                                \
    ROW(cyclic_of_rate_0, 0, c->nodes[14].rate = 0)                                                                    \
    ROW(last_milestone, 0, c->numbers[2] = 0x1p53 - 1)                                                                 \
    ROW(first_milestone, 0, c->numbers[1] = 0)                                                                         \
    ROW(neighbours, 0, c->numbers[2] = 11)                                                                             \
    ROW(steepest_rise, 0, c->nodes[15].power = 0x1p-1074)                                                              \
    ROW(steepest_end, 0, c->nodes[15].power = nextafter(4, 0))                                                         \
    ROW(steepest_fall, 0, c->nodes[15].mode = FIRN_SCHEDULE_STRAIGHT; c->nodes[15].power = nextafter(8, 0))            \
    ROW(starts_next_to_each_other, 0, c->nodes[3].start = 21)                                                          \
    ROW(latest_start, 0, c->nodes[3].start = UINT64_MAX)

#define LIMIT_FUNCTION(name, fault, change) REFUSAL_FUNCTION(limit_##name, fault, change)
#define LIMIT_ROW(name, fault, change)      {#name, limit_##name},
LIMITS(LIMIT_FUNCTION)

TEST(test_check_accepts_limits) {
    static const struct {
        const char *name;
        void (*apply)(changeable *c);
    } limits[] = {LIMITS(LIMIT_ROW)};
    changeable c;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        make_valid(&c);
        limits[i].apply(&c);
        if (check(&c) != 0)
            fail_msg("%s: fault %u", limits[i].name, (unsigned)check(&c));
    }
}

/* --- single values ------------------------------------------------------------------------------------------------ */

static float constant(double value) {
    const firn_schedule_node node = {.kind = FIRN_SCHEDULE_CONSTANT, .initial = value};
    return firn_schedule_value(&(firn_schedule_list){.nodes = &node, .node_count = 1}, 0, 7);
}

/* A constant is rounded with integers, and has the bits of a cast: at ties, beside them, and below the smallest float,
 * of either sign. */
TEST(test_constants_are_rounded_to_nearest_even) {
    static const uint64_t ends[] = {0,          1,          0x0fffffff, 0x10000000, 0x10000001,
                                    0x1fffffff, 0x2fffffff, 0x30000000, 0x30000001};
    static const uint64_t begins[] = {0, 0x5a5a5c0000000, 0xfffffc0000000};
    for (int exponent = -160; exponent < 128; exponent++)
        for (size_t b = 0; b < sizeof begins / sizeof begins[0]; b++)
            for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++)
                for (uint32_t shift = 0; shift < 24; shift++) {
                    const double value =
                        ldexp((double)((UINT64_C(1) << 52) + begins[b] + (ends[e] << shift) % (UINT64_C(1) << 52)),
                              exponent - 52);
                    if (value > (double)FLT_MAX)
                        continue;
                    assert_int_equal(bits_of(constant(value)), bits_of((float)value));
                    assert_int_equal(bits_of(constant(-value)), bits_of((float)-value));
                }
    assert_int_equal(bits_of(constant(0)), 0);
    assert_int_equal(bits_of(constant(-0.0)), INT32_MIN);
}

/* The root of a square may be computed slightly below it, and the staircase does not fall back by a step there. Just
 * before the square it has not risen yet. */
TEST(test_staircases_rise_at_whole_numbers) {
    const firn_schedule_node node = {.kind = FIRN_SCHEDULE_INVERSE_TIME,
                                     .mode = FIRN_SCHEDULE_STAIRCASE,
                                     .total = 1,
                                     .initial = 1,
                                     .rate = 1,
                                     .power = 0.5};
    const firn_schedule_list list = {.nodes = &node, .node_count = 1};
    for (uint64_t n = 2; n < 2000000; n += 1 + n / 1000) {
        assert_true(firn_schedule_exact(&list, 0, n * n) == 1.0 / (1.0 + (double)n));
        assert_true(firn_schedule_exact(&list, 0, n * n - 1) == 1.0 / (double)n);
    }
}

/* --- coefficients ------------------------------------------------------------------------------------------------- */

static void expect_single(float x, long double expected, const char *name, uint64_t t) {
    const int64_t apart = (int64_t)bits_of(x) - (int64_t)bits_of((float)expected);
    if (apart < -1 || apart > 1)
        fail_msg("%s at step %llu: %a, not %La", name, (unsigned long long)t, (double)x, expected);
}

/* The formulas of NUMERICS.md, "Update", in the long double of the C library. */
TEST(test_coefficients) {
    static const uint64_t steps[] = {1, 2, 3, 4, 5, 6, 7, 10, 99, 1000, 54321};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint64_t t = steps[i];
        const float beta1 = 0.9F, beta2 = 0.99F, product = 0.75F, decay = 0.004F, rate = 0.25F, start = 4;
        const long double b1 = (long double)beta1, b2 = (long double)beta2, at = (long double)t;
        const long double left1 = 1 - powl(b1, at), power2 = powl(b2, at), left2 = 1 - power2;
        expect_single(firn_bias_correction(beta1, t), 1 / left1, "bias correction", t);
        expect_single(firn_adam_correction(beta1, beta2, t), sqrtl(left2) / left1, "adam", t);
        const firn_radam_coefficients radam = firn_radam_coefficients_at(beta1, beta2, t);
        const long double m = 2 / (1 - b2) - 1, r = m - 2 * at * power2 / left2;
        expect_single(radam.mean, 1 / left1, "radam, mean", t);
        expect_single(radam.rectification, r > 5 ? sqrtl((r - 4) * (r - 2) * m / ((m - 4) * (m - 2) * r) * left2) : 0,
                      "radam, rectification", t);
        const firn_nadam_coefficients nadam = firn_nadam_coefficients_at(beta1, beta2, decay, product, t);
        const long double now = b1 * (1 - 0.5L * powl((long double)0.96, at * (long double)decay));
        const long double next = b1 * (1 - 0.5L * powl((long double)0.96, (at + 1) * (long double)decay));
        expect_single(nadam.product, (long double)product * now, "nadam, product", t);
        expect_single(nadam.gradient, (1 - now) / (1 - (long double)nadam.product), "nadam, gradient", t);
        expect_single(nadam.mean, next / (1 - (long double)nadam.product * next), "nadam, mean", t);
        expect_single(nadam.deviation, sqrtl(left2), "nadam, deviation", t);
        const firn_adafactor_coefficients adafactor = firn_adafactor_coefficients_at(-0.8F, t);
        expect_single(adafactor.fresh, powl(at, (long double)-0.8F), "adafactor, fresh", t);
        expect_single(adafactor.kept, 1 - powl(at, (long double)-0.8F), "adafactor, kept", t);
        expect_single(firn_adagrad_rate(rate, decay, t), (long double)rate / (1 + (at - 1) * (long double)decay),
                      "adagrad", t);
        const firn_asgd_coefficients asgd = firn_asgd_coefficients_at(rate, decay, 0.75F, start, t);
        const long double since = at - 1 - (long double)start;
        expect_single(asgd.rate, (long double)rate / powl(1 + (long double)decay * (long double)rate * (at - 1), 0.75L),
                      "asgd, rate", t);
        expect_single(asgd.share, since > 1 ? 1 / since : 1, "asgd, share", t);
    }
}

TEST(test_depth_is_bounded) {
    firn_schedule_node nodes[FIRN_SCHEDULE_DEPTH + 1] = {{0}};
    firn_schedule_list list = {.nodes = nodes, .node_count = FIRN_SCHEDULE_DEPTH + 1};
    for (uint16_t i = 0; i < FIRN_SCHEDULE_DEPTH; i++)
        nodes[i] = (firn_schedule_node){
            .kind = FIRN_SCHEDULE_PRODUCT, .child_count = 1, .first_child = i + 1, .initial = 0.5, .final = 0.25};
    nodes[FIRN_SCHEDULE_DEPTH] = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = 0.25};
    assert_int_equal(firn_schedule_check(&list), FIRN_SCHEDULE_DEPTH + 1);
    list.node_count = FIRN_SCHEDULE_DEPTH;
    assert_int_equal(firn_schedule_check(&list), FIRN_SCHEDULE_DEPTH);
    nodes[FIRN_SCHEDULE_DEPTH - 1] = nodes[FIRN_SCHEDULE_DEPTH];
    assert_int_equal(firn_schedule_check(&list), 0);
    assert_true(firn_schedule_exact(&list, 0, 12345) == ldexp(0.25, FIRN_SCHEDULE_DEPTH - 1));
}

/* Tests an expression that needs exactly the whole stack, and one that needs one entry more. */
TEST(test_expression_stack_is_bounded) {
    firn_schedule_instruction instructions[2 * FIRN_SCHEDULE_STACK + 1] = {{0}};
    for (uint32_t held = FIRN_SCHEDULE_STACK; held <= FIRN_SCHEDULE_STACK + 1; held++) {
        for (uint32_t i = 0; i < 2 * held - 1; i++)
            instructions[i] = i < held ? (firn_schedule_instruction){.operation = FIRN_SCHEDULE_NUMBER, .value = 1}
                                       : (firn_schedule_instruction){.operation = FIRN_SCHEDULE_ADD};
        firn_schedule_node node = {.kind = FIRN_SCHEDULE_EXPRESSION, .total = 2 * held - 1};
        firn_schedule_list list = {
            .nodes = &node, .instructions = instructions, .node_count = 1, .instruction_count = 2 * held - 1};
        bool fits = held == FIRN_SCHEDULE_STACK;
        assert_int_equal(firn_schedule_check(&list), fits ? 0 : 1);
        if (fits)
            assert_true(firn_schedule_exact(&list, 0, 0) == FIRN_SCHEDULE_STACK);
    }
}

/* NaN has the bits that NUMERICS.md defines, whichever NaN the machine produces for 0/0. */
TEST(test_nan_is_canonical) {
    const firn_schedule_instruction instructions[] = {{.operation = FIRN_SCHEDULE_STEP},
                                                      {.operation = FIRN_SCHEDULE_STEP},
                                                      {.operation = FIRN_SCHEDULE_DIVIDE},
                                                      {.operation = FIRN_SCHEDULE_NEGATE}};
    firn_schedule_node node = {.kind = FIRN_SCHEDULE_EXPRESSION, .total = 4};
    firn_schedule_list list = {.nodes = &node, .instructions = instructions, .node_count = 1, .instruction_count = 4};
    assert_int_equal(firn_schedule_check(&list), 0);
    assert_int_equal(bits_of(firn_schedule_value(&list, 0, 0)), 0x7fc00000);
    assert_true(firn_schedule_value(&list, 0, 3) == -1);
    node.total = list.instruction_count = 3; /* the NaN of the other sign */
    assert_int_equal(firn_schedule_check(&list), 0);
    assert_int_equal(bits_of(firn_schedule_value(&list, 0, 0)), 0x7fc00000);
}

/* Each operation, where its operands are equal or of another sign, too. */
TEST(test_operations) {
    static const struct {
        uint16_t operation;
        double a, b, c, expected;
    } rows[] = {
        {FIRN_SCHEDULE_ADD, 5, 3, 0, 8},
        {FIRN_SCHEDULE_SUBTRACT, 5, 3, 0, 2},
        {FIRN_SCHEDULE_MULTIPLY, 5, 3, 0, 15},
        {FIRN_SCHEDULE_DIVIDE, 5, 4, 0, 1.25},
        {FIRN_SCHEDULE_NEGATE, 5, 0, 0, -5},
        {FIRN_SCHEDULE_POWER, 5, 3, 0, 125},
        {FIRN_SCHEDULE_MINIMUM, 5, 3, 0, 3},
        {FIRN_SCHEDULE_MINIMUM, 3, 5, 0, 3},
        {FIRN_SCHEDULE_MAXIMUM, 5, 3, 0, 5},
        {FIRN_SCHEDULE_MAXIMUM, 3, 5, 0, 5},
        {FIRN_SCHEDULE_MINIMUM, 0.0, -0.0, 0, -0.0}, /* of two zeros the second */
        {FIRN_SCHEDULE_MINIMUM, -0.0, 0.0, 0, 0.0},
        {FIRN_SCHEDULE_MAXIMUM, 0.0, -0.0, 0, -0.0},
        {FIRN_SCHEDULE_MAXIMUM, -0.0, 0.0, 0, 0.0},
        {FIRN_SCHEDULE_LESS, 3, 5, 0, 1},
        {FIRN_SCHEDULE_LESS, 3, 3, 0, 0},
        {FIRN_SCHEDULE_LESS, 5, 3, 0, 0},
        {FIRN_SCHEDULE_LESS_OR_EQUAL, 3, 5, 0, 1},
        {FIRN_SCHEDULE_LESS_OR_EQUAL, 3, 3, 0, 1},
        {FIRN_SCHEDULE_LESS_OR_EQUAL, 5, 3, 0, 0},
        {FIRN_SCHEDULE_GREATER, 5, 3, 0, 1},
        {FIRN_SCHEDULE_GREATER, 3, 3, 0, 0},
        {FIRN_SCHEDULE_GREATER, 3, 5, 0, 0},
        {FIRN_SCHEDULE_GREATER_OR_EQUAL, 5, 3, 0, 1},
        {FIRN_SCHEDULE_GREATER_OR_EQUAL, 3, 3, 0, 1},
        {FIRN_SCHEDULE_GREATER_OR_EQUAL, 3, 5, 0, 0},
        {FIRN_SCHEDULE_WHERE, 2, 7, 9, 7},
        {FIRN_SCHEDULE_WHERE, -2, 7, 9, 7},
        {FIRN_SCHEDULE_WHERE, 0, 7, 9, 9},
        {FIRN_SCHEDULE_WHERE, -0.0, 7, 9, 9},
        {FIRN_SCHEDULE_EXP, 0, 0, 0, 1},
        {FIRN_SCHEDULE_LOG, 1, 0, 0, 0},
        {FIRN_SCHEDULE_SQUARE_ROOT, 9, 0, 0, 3},
        {FIRN_SCHEDULE_SINE, 0, 0, 0, 0},
        {FIRN_SCHEDULE_COSINE_OF, 0, 0, 0, 1},
        {FIRN_SCHEDULE_FLOOR, -2.5, 0, 0, -3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t operands = firn_schedule_operands(rows[i].operation);
        const double values[] = {rows[i].a, rows[i].b, rows[i].c};
        firn_schedule_instruction instructions[4] = {{0}};
        for (uint32_t o = 0; o < operands; o++)
            instructions[o] = (firn_schedule_instruction){.operation = FIRN_SCHEDULE_NUMBER, .value = values[o]};
        instructions[operands].operation = rows[i].operation;
        const firn_schedule_node node = {.kind = FIRN_SCHEDULE_EXPRESSION, .total = operands + 1};
        const firn_schedule_list list = {
            .nodes = &node, .instructions = instructions, .node_count = 1, .instruction_count = operands + 1};
        assert_int_equal(firn_schedule_check(&list), 0);
        expect_double(firn_schedule_exact(&list, 0, 0), rows[i].expected);
    }
}
