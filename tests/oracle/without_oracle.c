/* Replaces oracle.cc if there is no C++ library for the word size: it accepts every buffer, so that only the results of
 * our own verifier are printed. The caller compares them with those of a build that has the oracle. */
#include "tests/oracle/oracle.h"

int oracle_accepts(const uint8_t *buffer, size_t bytes) {
    (void)buffer;
    (void)bytes;
    return 1;
}
