/* Elementary functions of the schedules, in binary64. They are fixed sequences of + - * / and integer steps, and so
 * give the same bits on every machine. NUMERICS.md, "Schedules", defines each of them. Freestanding; no libm, no
 * fma. */
#ifndef FIRN_SCHEDULE_ELEMENTARY_H
#define FIRN_SCHEDULE_ELEMENTARY_H

/* The largest integer not above x; x itself if it is NaN or infinite. */
double firn_schedule_floor(double x);

/* e^x; +0 below -708, infinity above 709. */
double firn_schedule_exp(double x);

/* Natural logarithm; -infinity for 0, NaN for a negative number. */
double firn_schedule_log(double x);

/* +0 below 2^-1022; NaN for a negative number. */
double firn_schedule_square_root(double x);

/* x^y with 0^0 = 1; NaN for a negative x and a y that is not an integer. */
double firn_schedule_power(double x, double y);

/* sin(pi/2 * y) for 0 <= y <= 1/2. */
double firn_schedule_sine_of_quarter(double y);

/* Of an angle in radians. The error is 2^-52 of the angle. */
double firn_schedule_sine(double x);
double firn_schedule_cosine(double x);

#endif
