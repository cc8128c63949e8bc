/* Reads the golden files of tests/golden (ops_torch.py and ops_model.py describe their format) and runs each case
 * through the portable kernel of its op. */
#ifndef FIRN_TESTS_GOLDEN_H
#define FIRN_TESTS_GOLDEN_H

#include <stdbool.h>

/* Runs every case of a file. Prints each case that differs: its name, the output, the first differing element and both
 * values. Returns the number of cases that differ, or -1 if the file cannot be read; *cases is set to the number of
 * cases that were run. */
int golden_run(const char *file, int *cases);

/* Runs one case with float32 tensors and reductions in place of those of a half type. Returns true if the result
 * differs from the file's by no more than the rounding of a half type explains. */
bool golden_differs_in_float32(const char *file, const char *name);

#endif
