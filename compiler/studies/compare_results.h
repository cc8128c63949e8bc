/* What firnc compare writes of trials that have run: a table, differences to float32 with their intervals, drawings. */
#ifndef FIRNC_COMPARE_RESULTS_H
#define FIRNC_COMPARE_RESULTS_H

#include "compiler/studies/study.h"

enum { FIRNC_VARIANTS_MAX = 10 }; /* float32, and each pair of a half type and a level */

typedef struct firnc_comparison {
    const firnc_study *study;
    const char *names[FIRNC_VARIANTS_MAX];
    firnc_trial *trials;   /* each variant with each seed */
    uint32_t count, seeds; /* count: of the variants that have run; the first is float32 */
} firnc_comparison;

/* Returns a comparison without trials. */
firnc_comparison firnc_comparison_of(const firnc_study *study);
firnc_trial *firnc_comparison_trial(const firnc_comparison *c, uint32_t variant, uint32_t seed);

/* Prints the differences if there are several seeds, writes the files and prints their names. Returns false after one
 * line on stderr. */
bool firnc_comparison_report(const firnc_comparison *c);

#endif
