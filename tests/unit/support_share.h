/* What part of its cases a test takes. `make test` lets long tests take one case of N, another one each time, and the
 * slices of `make test-all` take them all, part by part (tests/budget). A test asks for each of its cases, in a fixed
 * order. */
#ifndef FIRN_TESTS_SUPPORT_SHARE_H
#define FIRN_TESTS_SUPPORT_SHARE_H

#include <stdbool.h>

/* Returns whether to test the next case of many: always, but one of N, beginning with case K, if the environment
 * variable FIRN_TEST_EVERY is N from 1 on; K is FIRN_TEST_FROM, from 0 to N - 1, or 0. An emulated CPU is some fifty
 * times slower or more, and takes part of the cases, too. N should be prime, so that every value of each inner loop has
 * its turn. */
bool support_takes_next(void);

/* Returns whether support_takes_next takes every case. */
bool support_takes_all(void);

/* Returns N and K of above, for loops that take every Nth case themselves; 1 and 0 where every case is taken. */
unsigned support_every(void);
unsigned support_from(void);

/* Returns whether to take every float, or the like, in place of a sample: the environment has FIRN_TEST_EXHAUSTIVE=1.
 */
bool support_is_exhaustive(void);

#endif
