/* What every unit test begins with: cmocka with the headers that it needs, and tests that add themselves to their
 * program.
 *
 *     TEST(sums_are_ordered) {
 *         assert_int_equal(...);
 *     }
 *
 * No helper for a subject that is tested may stand here. */
#ifndef FIRN_TESTS_SUPPORT_TEST_H
#define FIRN_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Begins the definition of a test, a function of `void **state`, and adds it to the tests of the program before main
 * runs. */
#define TEST(name)                                                                                                     \
    static void name(void **state);                                                                                    \
    __attribute__((constructor)) static void add_test_##name(void) {                                                   \
        support_test_add(#name, name);                                                                                 \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)

/* Functions that run before and after all tests of a program, and before and after each of them; NULL: none. */
typedef struct support_fixture {
    CMFixtureFunction before_all, after_all, before_each, after_each;
} support_fixture;

void support_test_add(const char *name, CMUnitTestFunction test);

/* Runs the tests in the order of their definitions and returns the number of those that failed. A program that needs no
 * fixture has no main function of its own: support_main.c calls this one with NULL. */
int support_test_run(const support_fixture *fixture);

#endif
