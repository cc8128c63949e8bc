/* Tests the statistics of studies: the quantiles of Student's t are those of printed tables, and the intervals of
 * made-up differences are those that were computed elsewhere (scipy.stats, t.ppf and t.interval). */
#include <math.h>

#include "compiler/studies/paired.h"
#include "tests/unit/support_test.h"

static void is_near(double value, double wanted, double relative) {
    assert_true(fabs(value - wanted) <= relative * fabs(wanted));
}

TEST(the_quantiles_are_those_of_tables) {
    static const struct {
        uint32_t freedom;
        double quantile;
    } table[] = {{1, 12.7062047362},  {2, 4.30265272975},  {3, 3.18244630528},  {4, 2.77644510520},
                 {5, 2.57058183564},  {7, 2.36462425159},  {9, 2.2621571628},   {10, 2.22813885199},
                 {19, 2.09302405441}, {30, 2.04227245630}, {63, 1.99834054252}, {1000, 1.96233908083}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        is_near(firnc_student(table[i].freedom), table[i].quantile, 1e-10);
}

TEST(the_intervals_are_those_of_scipy) {
    static const struct {
        double differences[6];
        uint32_t count, finite;
        double mean, low, high;
        const char *verdict;
    } rows[] = {
        {{1, 2, 3, 4, 5}, 5, 5, 3, 1.0367568385224393, 4.963243161477561, "higher"},
        {{-0.5, -0.25, -0.125, -0.375}, 4, 4, -0.3125, -0.5692825320950651, -0.055717467904934925, "lower"},
        {{1, -1, 1, -1, 0.5}, 5, 5, 0.1, -1.1723269857458518, 1.372326985745852, "not told apart"},
        {{(double)NAN, 2, (double)INFINITY, 2, 2}, 5, 3, 2, 2, 2, "higher"},
        {{0, 0}, 2, 2, 0, 0, 0, "not told apart"},
        {{4}, 1, 1, 4, (double)NAN, (double)NAN, "too few pairs"},
        {{0}, 0, 0, (double)NAN, (double)NAN, (double)NAN, "too few pairs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const firnc_interval got = firnc_interval_of(rows[i].differences, rows[i].count);
        const double values[] = {got.mean, got.low, got.high}, wanted[] = {rows[i].mean, rows[i].low, rows[i].high};
        assert_int_equal(got.count, rows[i].finite);
        for (size_t j = 0; j < 3; j++)
            if (isnan(wanted[j]))
                assert_true(isnan(values[j]));
            else
                is_near(values[j], wanted[j], 1e-12);
        assert_string_equal(firnc_interval_verdict(&got), rows[i].verdict);
    }
}
