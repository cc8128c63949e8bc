/* What every unit test begins with: cmocka with the headers that it needs, and tests that add themselves to their
 * program.
 *
 *     TEST(sums_are_ordered) {
 *         assert_int_equal(...);
 *     }
 *
 *     BEFORE_EACH {
 *         make_sums();
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

/* Each begins the definition of what is done before or after all tests of the program, or each of them. */
#define BEFORE_ALL  SUPPORT_FIXTURE(SUPPORT_BEFORE_ALL, before_all)
#define AFTER_ALL   SUPPORT_FIXTURE(SUPPORT_AFTER_ALL, after_all)
#define BEFORE_EACH SUPPORT_FIXTURE(SUPPORT_BEFORE_EACH, before_each)
#define AFTER_EACH  SUPPORT_FIXTURE(SUPPORT_AFTER_EACH, after_each)
#define SUPPORT_FIXTURE(when, name)                                                                                    \
    static void name(void);                                                                                            \
    __attribute__((constructor)) static void add_##name(void) {                                                        \
        support_fixture_add(when, name);                                                                               \
    }                                                                                                                  \
    static void name(void)

typedef enum support_when {
    SUPPORT_BEFORE_ALL,
    SUPPORT_AFTER_ALL,
    SUPPORT_BEFORE_EACH,
    SUPPORT_AFTER_EACH,
    SUPPORT_WHENS
} support_when;

void support_test_add(const char *name, CMUnitTestFunction test);
void support_fixture_add(support_when when, void (*run)(void));

/* Runs the tests in the order of their definitions and returns the number of those that failed. A program has a main
 * function of its own only if it takes words or runs its tests more than once; else support_main.c has it. */
int support_test_run(void);

#endif
