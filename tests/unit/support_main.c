/* The main function of the test programs that need no fixture (tests/unit/support_test.h). */
#include "tests/unit/support_test.h"

int main(void) {
    return support_test_run(NULL);
}
