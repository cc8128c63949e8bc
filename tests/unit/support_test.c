/* See support_test.h. */
#include "tests/unit/support_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/base/text.h"
#include "runtime/targets/host/host.h"

enum { TESTS_MAX = 128 }; /* of a program, which has at least one; cmocka skips the entries without a name */

static struct CMUnitTest tests[TESTS_MAX];
static size_t count;

void support_test_add(const char *name, CMUnitTestFunction test) {
    if (count == TESTS_MAX) {
        print_error("more than %d tests; raise TESTS_MAX\n", TESTS_MAX);
        abort();
    }
    tests[count++] = (struct CMUnitTest){.name = name, .test_func = test};
}

static void (*fixtures[SUPPORT_WHENS])(void);

void support_fixture_add(support_when when, void (*run)(void)) {
    fixtures[when] = run;
}

static int run_fixture(support_when when) {
    if (fixtures[when] != NULL)
        fixtures[when]();
    return 0;
}

static int before_all(void **state) {
    (void)state;
    return run_fixture(SUPPORT_BEFORE_ALL);
}

static bool is_over; /* without a fault in what is done after all tests, which cmocka does not count */

static int after_all(void **state) {
    (void)state;
    run_fixture(SUPPORT_AFTER_ALL);
    is_over = true;
    return 0;
}

static int before_each(void **state) {
    (void)state;
    return run_fixture(SUPPORT_BEFORE_EACH);
}

static int after_each(void **state) {
    (void)state;
    return run_fixture(SUPPORT_AFTER_EACH);
}

/* The libraries print nothing by themselves. */
static void print_line(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

int support_test_run(void) {
    if (count == 0)
        abort();
    firnc_messages_by_default(print_line);
    firn_host_messages_to(firn_host_print_message, NULL);
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = before_each;
        tests[i].teardown_func = after_each;
    }
    is_over = false;
    const int failed = cmocka_run_group_tests(tests, before_all, after_all);
    return failed + (is_over ? 0 : 1);
}
