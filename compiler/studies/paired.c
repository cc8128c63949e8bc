/* Student's interval of a mean (compiler/studies/paired.h). The distribution for a whole number of degrees of freedom
 * is a finite sum, so it needs no library: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3
 * and 26.7.4. */
#define _XOPEN_SOURCE 700 /* M_PI */
#include "compiler/studies/paired.h"

#include <math.h>

#define CONFIDENCE 0.95

/* The probability that |T| < t. */
static double within(double t, uint32_t freedom) {
    const double angle = atan(t / sqrt(freedom)), cosine = cos(angle);
    const uint32_t first = freedom % 2 == 0 ? 2 : 3; /* the denominator of the second term's factor */
    double term = freedom % 2 == 0 ? 1 : cosine, sum = freedom == 1 ? 0 : term;
    for (uint32_t i = first; i < freedom; i += 2) {
        term *= cosine * cosine * (i - 1) / i;
        sum += term;
    }
    return freedom % 2 == 0 ? sin(angle) * sum : 2 / M_PI * (angle + sin(angle) * sum);
}

double firnc_student(uint32_t freedom) {
    double low = 0, high = 16; /* 12.7 for one degree, and less for more */
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (within(middle, freedom) < CONFIDENCE)
            low = middle;
        else
            high = middle;
    }
    return high;
}

firnc_interval firnc_interval_of(const double *differences, uint32_t count) {
    firnc_interval interval = {0, (double)NAN, (double)NAN, (double)NAN};
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++)
        if (isfinite(differences[i])) {
            interval.count++;
            sum += differences[i];
        }
    if (interval.count == 0)
        return interval;
    interval.mean = sum / interval.count;
    if (interval.count == 1)
        return interval;
    for (uint32_t i = 0; i < count; i++)
        if (isfinite(differences[i]))
            squares += (differences[i] - interval.mean) * (differences[i] - interval.mean);
    const double error = sqrt(squares / (interval.count - 1) / interval.count);
    const double half = firnc_student(interval.count - 1) * error;
    interval.low = interval.mean - half;
    interval.high = interval.mean + half;
    return interval;
}

const char *firnc_interval_verdict(const firnc_interval *interval) {
    if (interval->count < 2)
        return "too few pairs";
    return interval->low > 0 ? "higher" : interval->high < 0 ? "lower" : "not told apart";
}
