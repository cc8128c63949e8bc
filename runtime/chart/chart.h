/* Draws curves as SVG: panels below one another over one horizontal axis. firn plot and firnc share it. What the
 * numbers mean belongs to the caller; nothing is read or opened here. */
#ifndef FIRN_CHART_H
#define FIRN_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How the values of a curve are drawn. */
typedef enum firn_chart_form { FIRN_CHART_LINE, FIRN_CHART_FAINT, FIRN_CHART_DOTS } firn_chart_form;

typedef struct firn_chart_curve {
    const char *name;    /* NULL: it is in no legend; any text in UTF-8 */
    const double *x, *y; /* ascending x; a point that is not finite is left out */
    size_t count;
    firn_chart_form form;
    unsigned style; /* curves of one style have one colour and, except for dots, one pattern of dashes */
} firn_chart_curve;

typedef struct firn_chart_panel {
    const char *title; /* what it shows */
    const char *axis;  /* along the vertical axis: the quantity and its unit; NULL: nothing */
    const firn_chart_curve *curves;
    size_t count;
} firn_chart_panel;

/* Writes a drawing in light and dark colours, as the viewer prefers. A caller that needs to know whether the text could
 * be written asks ferror(to). */
void firn_chart_write(FILE *to, const char *title, const char *axis, const firn_chart_panel *panels, size_t count);

/* Whether a file's name ends as that of a picture or page in a form that Firn does not write, such as .png or .pdf:
 * what is opened by that name could not show SVG or HTML. Letters may be large or small. */
bool firn_chart_is_misnamed(const char *name);

#endif
