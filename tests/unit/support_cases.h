/* Files of cases: one case a line. A line that begins with # is a comment, and one that begins with a blank or a tab
 * continues the line above it. What a case means is its test's affair. */
#ifndef FIRN_TESTS_SUPPORT_CASES_H
#define FIRN_TESTS_SUPPORT_CASES_H

/* Calls `run` with each case, whose text may be changed and stays in memory until the program ends. Runs from the root
 * of the repository. Fails the test if the file cannot be read. */
void support_cases_read(const char *name, void (*run)(char *line, void *context), void *context);

#endif
