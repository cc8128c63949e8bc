/* Plans of the smallest networks that have all kinds of ops: each optimizer, loss, metric and format. A step of one
 * takes well below a millisecond. */
#ifndef FIRN_TESTS_SMALL_PLANS_H
#define FIRN_TESTS_SMALL_PLANS_H

#include "tests/unit/support_compiled_plans.h"

enum { SMALL_PLANS_MAX = 96 };

/* Compiles and signs them. Returns their number; asserts on failure. */
uint32_t small_plans_make(compiled_plan *plans);

#endif
