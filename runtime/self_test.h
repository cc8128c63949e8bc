/* The self-test as the thread is that calls it: for tests, and for the test of a port. */
#ifndef FIRN_SELF_TEST_H
#define FIRN_SELF_TEST_H

#include <stdbool.h>

/* Returns true if the arithmetic of this processor, as its control word is set, gives the bits of plan/NUMERICS.md. */
bool firn_arithmetic_holds(void);

#endif
