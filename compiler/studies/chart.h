/* Writes an SVG chart as a file, whole or not at all. */
#ifndef FIRNC_CHART_H
#define FIRNC_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/chart/chart.h"

/* Draws panels as runtime/chart does. Returns false after one line on stderr. */
bool firnc_chart_write(const char *file, const char *title, const char *axis, const firn_chart_panel *panels,
                       uint32_t count);

#endif
