/* Reads the golden files of tests/golden (their form is told at the head of ops_torch.py) and runs each case through
 * the portable kernel of its op. */
#ifndef FIRN_TESTS_GOLDEN_H
#define FIRN_TESTS_GOLDEN_H

/* Runs every case of a file. Prints each one that differs (case, output, first element, both values). Returns the
 * number of cases that differ, or -1 when the file cannot be read; *cases counts what was run. */
int golden_run(const char *file, int *cases);

#endif
