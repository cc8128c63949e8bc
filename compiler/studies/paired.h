/* Statistics of studies: what a few paired measurements say of a mean, and what they leave open. */
#ifndef FIRNC_PAIRED_H
#define FIRNC_PAIRED_H

#include <stdint.h>

/* The mean of differences, and the interval that holds the true mean in 95 of 100 studies like this one, if the
 * differences are about normal (Student's t). Without two differences low and high are NaN, and without one mean is. */
typedef struct firnc_interval {
    uint32_t count; /* of the differences that are finite; others are left out */
    double mean, low, high;
} firnc_interval;

firnc_interval firnc_interval_of(const double *differences, uint32_t count);

/* What an interval says of the difference: "higher" or "lower" if it does not hold 0, "not told apart" if it does, and
 * "too few pairs" if there is none. */
const char *firnc_interval_verdict(const firnc_interval *interval);

/* The bound within which the t distribution with `freedom` degrees of freedom (from 1) lies with probability 0.95. */
double firnc_student(uint32_t freedom);

#endif
