/* Writes an SVG chart of several curves over the steps of a run. */
#ifndef FIRNC_CHART_H
#define FIRNC_CHART_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_curve {
    const char *name;
    const float *values; /* of step 1, 2, ...; values that are not finite are left out */
    uint32_t count;
} firnc_curve;

/* Writes the chart to a file. Returns false after one line on stderr. */
bool firnc_chart_write(const char *file, const char *title, const firnc_curve *curves, uint32_t count);

#endif
