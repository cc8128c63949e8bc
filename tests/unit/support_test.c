/* See support_test.h. */
#include "tests/unit/support_test.h"

#include <stdlib.h>

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

int support_test_run(const support_fixture *fixture) {
    if (count == 0)
        abort();
    const support_fixture none = {0}, *f = fixture != NULL ? fixture : &none;
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = f->before_each;
        tests[i].teardown_func = f->after_each;
    }
    return cmocka_run_group_tests(tests, f->before_all, f->after_all);
}
