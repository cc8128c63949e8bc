/* Reads the golden files of tests/golden (their form is told at the heads of ops_torch.py and ops_model.py) and runs
 * each case through the portable kernel of its op. */
#ifndef FIRN_TESTS_GOLDEN_H
#define FIRN_TESTS_GOLDEN_H

#include <stdbool.h>

/* Runs every case of a file. Prints each one that differs (case, output, first element, both values). Returns the
 * number of cases that differ, or -1 when the file cannot be read; *cases counts what was run. */
int golden_run(const char *file, int *cases);

/* Runs one case with float32 tensors and reductions in place of those of a half type. True when the result differs
 * from the file's, and by no more than the rounding of a half type explains. */
bool golden_differs_in_float32(const char *file, const char *name);

#endif
