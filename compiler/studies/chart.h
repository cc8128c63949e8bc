/* One SVG of several curves over steps. */
#ifndef FIRNC_CHART_H
#define FIRNC_CHART_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_curve {
    const char *name;
    const float *values; /* of step 1, 2, ...; what is not finite is left out */
    uint32_t count;
} firnc_curve;

/* False after one line on stderr. */
bool firnc_chart_write(const char *file, const char *title, const firnc_curve *curves, uint32_t count);

#endif
