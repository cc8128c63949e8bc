/* Stands in for oracle.cc where there is no C++ library for the word size: nothing is refused, so that only our own
 * answers are looked at. The caller compares them with those of a build that has the oracle. */
#include "tests/oracle/oracle.h"

int oracle_accepts(const uint8_t *buffer, size_t bytes) {
    (void)buffer;
    (void)bytes;
    return 1;
}
