/* Elementary functions of the schedules, in binary64: fixed sequences of + - * / and integer steps, so the same bits
 * everywhere. NUMERICS.md, "Schedules", gives each of them. Freestanding; no libm, no fma. */
#ifndef FIRN_SCHEDULE_ELEMENTARY_H
#define FIRN_SCHEDULE_ELEMENTARY_H

/* The greatest whole number that is at most x; x where it is NaN or infinite. */
double firn_schedule_floor(double x);

/* Below -708: +0; above 709: infinity. */
double firn_schedule_exp(double x);

/* Of 0: -infinity; of a negative number: NaN. */
double firn_schedule_log(double x);

/* Below 2^-1022: +0; of a negative number: NaN. */
double firn_schedule_square_root(double x);

/* x^y, 0^0 = 1; NaN for a negative x and a y that is not whole. */
double firn_schedule_power(double x, double y);

/* sin(pi/2 * y) for 0 <= y <= 1/2. */
double firn_schedule_sine_of_quarter(double y);

/* Of an angle in radians, whose error is 2^-52 of the angle. */
double firn_schedule_sine(double x);
double firn_schedule_cosine(double x);

#endif
