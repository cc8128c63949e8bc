/* Every op, forward and gradient, against values that PyTorch computed in float64, and the half types against the bits
 * of an independent model of NUMERICS.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/golden.h"

static void agrees_with_pytorch(void **state) {
    (void)state;
    int cases = 0;
    assert_int_equal(golden_run("tests/golden/ops_torch.golden", &cases), 0);
    assert_int_equal(cases, 75);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
