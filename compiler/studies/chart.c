/* Draws curves as SVG (compiler/studies/chart.h). It only receives names and values; what they mean belongs to the
 * caller. */
#include "compiler/studies/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/files.h"
#include "compiler/base/text.h"

enum { LEFT = 70, TOP = 40, WIDTH = 640, HEIGHT = 360, LEGEND = 200, LINES = 4 };

static const char *const colours[] = {"#222222", "#0b5fa5", "#c2571a", "#2e8540", "#8a3ffc",
                                      "#b8860b", "#d12771", "#007d79", "#6f6f6f", "#a2191f"};
enum { COLOURS = sizeof colours / sizeof colours[0] };

static void put(firnc_growing_text *drawing, const char *text) {
    firnc_text_add(drawing, text, strlen(text));
}

/* The ranges of the axes. */
typedef struct extent {
    double low, high;
    uint32_t steps;
} extent;

static extent extent_of(const firnc_curve *curves, uint32_t count) {
    extent e = {.low = HUGE_VAL, .high = -HUGE_VAL, .steps = 2};
    for (uint32_t i = 0; i < count; i++) {
        e.steps = curves[i].count > e.steps ? curves[i].count : e.steps;
        for (uint32_t j = 0; j < curves[i].count; j++) {
            const double value = (double)curves[i].values[j];
            if (!isfinite(value))
                continue;
            e.low = value < e.low ? value : e.low;
            e.high = value > e.high ? value : e.high;
        }
    }
    if (!(e.low < e.high)) /* no finite value, or all values equal */
        e = (extent){.low = isfinite(e.low) ? e.low - 1 : 0, .high = isfinite(e.high) ? e.high + 1 : 1, e.steps};
    return e;
}

static void draw_axes(firnc_growing_text *d, const extent *e) {
    for (int i = 0; i <= LINES; i++) {
        const int y = TOP + HEIGHT - i * HEIGHT / LINES, x = LEFT + i * WIDTH / LINES;
        put(d, firnc_format("<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n", LEFT, LEFT + WIDTH, y,
                            y));
        put(d, firnc_format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, y + 4,
                            e->low + (e->high - e->low) * i / LINES));
        put(d, firnc_format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x, TOP + HEIGHT + 18,
                            1 + (double)(e->steps - 1) * i / LINES));
    }
}

static void draw_curve(firnc_growing_text *d, const extent *e, const firnc_curve *curve, uint32_t position) {
    const char *colour = colours[position % COLOURS];
    put(d, firnc_format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\" points=\"", colour));
    for (uint32_t i = 0; i < curve->count; i++) {
        const double value = (double)curve->values[i];
        if (isfinite(value))
            put(d, firnc_format("%.1f,%.1f ", LEFT + (double)i / (e->steps - 1) * WIDTH,
                                TOP + HEIGHT - (value - e->low) / (e->high - e->low) * HEIGHT));
    }
    put(d, firnc_format("\"/>\n<text x=\"%d\" y=\"%u\" fill=\"%s\">%s</text>\n", LEFT + WIDTH + 16,
                        (unsigned)(TOP + 14 + 18 * position), colour, curve->name));
}

bool firnc_chart_write(const char *file, const char *title, const firnc_curve *curves, uint32_t count) {
    firnc_growing_text d = {0};
    const extent e = extent_of(curves, count);
    put(&d, firnc_format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                         "font-family=\"sans-serif\" font-size=\"12\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                         "<text x=\"%d\" y=\"24\">%s</text>\n",
                         LEFT + WIDTH + LEGEND, TOP + HEIGHT + 40, LEFT, title));
    draw_axes(&d, &e);
    for (uint32_t i = 0; i < count; i++)
        draw_curve(&d, &e, &curves[i], i);
    put(&d, "</svg>\n");
    return firnc_file_write(file, d.text, d.length);
}
