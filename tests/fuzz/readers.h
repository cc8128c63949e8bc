/* What the fuzz targets of data files share: an input becomes a file, which is opened as data. */
#ifndef FIRN_TESTS_FUZZ_READERS_H
#define FIRN_TESTS_FUZZ_READERS_H

#include "runtime/targets/host/host.h"
#include "tests/fuzz/fuzz.h"

/* Writes the input into a file with this ending of its name. Returns the name. */
const char *fuzz_file(const uint8_t *data, size_t size, const char *ending);

/* Opens the file of the last call. It is refused with exactly one line, or all of it can be read, at once and one by
 * one with the same bytes, by streams of as many records. */
void fuzz_read(const firn_host_wanted *wanted);

/* Looks at the columns of the file of the last call of fuzz_file, which stays. At most one line is printed. */
void fuzz_columns(const firn_host_wanted *wanted);

#endif
