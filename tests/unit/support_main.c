/* The main function of the test programs that have none of their own (tests/unit/support_test.h). */
#include "tests/unit/support_test.h"

int main(void) {
    return support_test_run();
}
