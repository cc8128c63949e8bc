/* Draws curves as SVG (runtime/chart/chart.h). */
#define _POSIX_C_SOURCE 200809L

#include "runtime/chart/chart.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "runtime/text/utf8.h"

enum {
    AXIS = 16,
    LEFT = 84,
    TOP = 44,
    WIDTH = 660,
    HEIGHT = 300,
    GAP = 44,
    BOTTOM = 48,
    LEGEND = 236,
    LINES = 4,
    STYLES = 8
};

/* Of a legend: the height of a line, the room of a sample and of margins, and what a character of a name takes. No path
 * has more than NAME_MOST characters. */
enum { LINE = 18, SAMPLE = 62, CHARACTER = 7, NAME_MOST = 4096 };

/* Colours that are told apart in both schemes, and by people who see no red or green; dashes tell curves apart without
 * any. */
static const char *const colours[STYLES] = {"#1f6fb4", "#c8591b", "#3a8f46", "#9a5cc6",
                                            "#b0872a", "#cf4a7e", "#138a8a", "#7a7a7a"};
static const char *const dashes[STYLES] = {"none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 4", "6 2 1 2 1 2"};

/* The bytes of the character of UTF-8 at the beginning of a text that a zero ends; 0: it is none, or XML takes it not.
 */
static size_t character_bytes(const unsigned char *c) {
    uint32_t code = 0;
    const size_t bytes = firn_utf8_decode((const char *)c, &code);
    const bool control = code < 0x20 || code == 0x7f, special = code == 0xfffe || code == 0xffff;
    return control || special ? 0 : bytes;
}

/* Writes a text between tags or quotes. What XML does not take becomes question marks. */
static void put_text(FILE *to, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c != 0;) {
        const size_t bytes = character_bytes(c);
        if (strchr("<>&\"'", *c) != NULL)
            fprintf(to, "&#%d;", *c);
        else if (bytes == 0)
            fputc('?', to);
        else
            fwrite(c, 1, bytes, to);
        c += bytes == 0 ? 1 : bytes;
    }
}

/* The range of an axis. */
typedef struct range {
    double low, high;
} range;

static void widen(range *r, double value) {
    r->low = value < r->low ? value : r->low;
    r->high = value > r->high ? value : r->high;
}

/* A range without values is 0 to 1, and one of a single value has that in the middle. */
static range closed(range r) {
    if (!(r.low <= r.high))
        return (range){0, 1};
    const double margin = r.low != 0 ? fabs(r.low) / 2 : 1;
    return r.low < r.high ? r : (range){r.low - margin, r.high + margin};
}

static bool is_drawn(const firn_chart_curve *curve, size_t i) {
    return isfinite(curve->x[i]) && isfinite(curve->y[i]) && fabs(curve->y[i]) <= (double)FLT_MAX;
}

static range range_of_x(const firn_chart_panel *panels, size_t count) {
    range r = {HUGE_VAL, -HUGE_VAL};
    for (size_t p = 0; p < count; p++)
        for (size_t c = 0; c < panels[p].count; c++)
            for (size_t i = 0; i < panels[p].curves[c].count; i++)
                if (is_drawn(&panels[p].curves[c], i))
                    widen(&r, panels[p].curves[c].x[i]);
    return closed(r);
}

static range range_of_y(const firn_chart_panel *panel) {
    range r = {HUGE_VAL, -HUGE_VAL};
    for (size_t c = 0; c < panel->count; c++)
        for (size_t i = 0; i < panel->curves[c].count; i++)
            if (is_drawn(&panel->curves[c], i))
                widen(&r, panel->curves[c].y[i]);
    return closed(r);
}

static double place(range r, double value, double from, double length) {
    return from + (value - r.low) / (r.high - r.low) * length;
}

/* A whole number as it is, and other numbers with four digits. */
static void put_number(FILE *to, double value) {
    fprintf(to, value == floor(value) && fabs(value) < 1e9 ? "%.0f" : "%.4g", value);
}

static void put_axes(FILE *to, const firn_chart_panel *panel, range y, int top) {
    fprintf(to, "<text x=\"%d\" y=\"%d\" class=\"t\">", LEFT, top - 10);
    put_text(to, panel->title);
    fputs("</text>\n", to);
    if (panel->axis != NULL) {
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 %d %d)\">", AXIS,
                top + HEIGHT / 2, AXIS, top + HEIGHT / 2);
        put_text(to, panel->axis);
        fputs("</text>\n", to);
    }
    for (int i = 0; i <= LINES; i++) {
        const int down = top + HEIGHT - i * HEIGHT / LINES;
        fprintf(to, "<path class=\"g\" d=\"M%d %dH%d\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT, down,
                LEFT + WIDTH, LEFT - 6, down + 4);
        put_number(to, y.low + (y.high - y.low) * i / LINES);
        fputs("</text>\n", to);
    }
}

/* Labels the horizontal axis at whole numbers, each of them once and where it lies. */
static void put_ticks(FILE *to, range x, int top) {
    double before = -HUGE_VAL;
    for (int i = 0; i <= LINES; i++) {
        const double tick = round(x.low + (x.high - x.low) * i / LINES);
        if (tick < x.low || tick > x.high || tick <= before)
            continue;
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", place(x, tick, LEFT, WIDTH),
                top + HEIGHT + 18);
        put_number(to, tick);
        fputs("</text>\n", to);
        before = tick;
    }
}

static void put_line(FILE *to, const firn_chart_curve *curve, range x, range y, int top) {
    fprintf(to,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-dasharray=\"%s\"%s "
            "stroke-linejoin=\"round\" points=\"",
            colours[curve->style % STYLES], curve->form == FIRN_CHART_FAINT ? "1" : "1.8",
            curve->form == FIRN_CHART_FAINT ? "none" : dashes[(curve->style + curve->style / STYLES) % STYLES],
            curve->form == FIRN_CHART_FAINT ? " stroke-opacity=\"0.35\"" : "");
    for (size_t i = 0; i < curve->count; i++)
        if (is_drawn(curve, i))
            fprintf(to, "%.1f,%.1f ", place(x, curve->x[i], LEFT, WIDTH), place(y, curve->y[i], top + HEIGHT, -HEIGHT));
    fputs("\"/>\n", to);
}

static void put_dots(FILE *to, const firn_chart_curve *curve, range x, range y, int top) {
    for (size_t i = 0; i < curve->count; i++)
        if (is_drawn(curve, i))
            fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" class=\"d\" stroke=\"%s\"/>\n",
                    place(x, curve->x[i], LEFT, WIDTH), place(y, curve->y[i], top + HEIGHT, -HEIGHT),
                    colours[curve->style % STYLES]);
}

/* The line of a curve in the legend, which has a sample of it and its name. */
static void put_legend(FILE *to, const firn_chart_curve *curve, int line, int top) {
    const int left = LEFT + WIDTH + 18, y = top + 8 + LINE * line;
    const char *colour = colours[curve->style % STYLES];
    if (curve->form == FIRN_CHART_DOTS)
        fprintf(to, "<circle cx=\"%d\" cy=\"%d\" r=\"3.2\" class=\"d\" stroke=\"%s\"/>\n", left + 12, y, colour);
    else
        fprintf(to, "<path d=\"M%d %dh24\" stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\"%s/>\n", left, y,
                colour,
                curve->form == FIRN_CHART_FAINT ? "none" : dashes[(curve->style + curve->style / STYLES) % STYLES],
                curve->form == FIRN_CHART_FAINT ? " stroke-opacity=\"0.35\"" : "");
    fprintf(to, "<text x=\"%d\" y=\"%d\">", left + 32, y + 4);
    put_text(to, curve->name);
    fputs("</text>\n", to);
}

static int lines_of(const firn_chart_panel *panel) {
    int lines = 0;
    for (size_t c = 0; c < panel->count; c++)
        lines += panel->curves[c].name != NULL;
    return lines;
}

/* The height of a panel: that of its axes, or of its legend. */
static int height_of(const firn_chart_panel *panel) {
    const int legend = LINE * lines_of(panel);
    return legend > HEIGHT ? legend : HEIGHT;
}

/* The width of all legends: as the longest name needs. */
static int legend_of(const firn_chart_panel *panels, size_t count) {
    size_t most = 0;
    for (size_t p = 0; p < count; p++)
        for (size_t c = 0; c < panels[p].count; c++) {
            size_t characters = 0;
            for (const char *at = panels[p].curves[c].name; at != NULL && *at != 0; at++)
                characters += ((unsigned char)*at & 0xc0) != 0x80;
            most = characters > most ? characters : most;
        }
    const int wanted = SAMPLE + (int)(most < NAME_MOST ? most : NAME_MOST) * CHARACTER;
    return wanted > LEGEND ? wanted : LEGEND;
}

static void put_panel(FILE *to, const firn_chart_panel *panel, range x, int top, bool last) {
    const range y = range_of_y(panel);
    int line = 0;
    put_axes(to, panel, y, top);
    if (last)
        put_ticks(to, x, top);
    for (size_t c = 0; c < panel->count; c++) {
        if (panel->curves[c].form == FIRN_CHART_DOTS)
            put_dots(to, &panel->curves[c], x, y, top);
        else
            put_line(to, &panel->curves[c], x, y, top);
        if (panel->curves[c].name != NULL)
            put_legend(to, &panel->curves[c], line++, top);
    }
}

void firn_chart_write(FILE *to, const char *title, const char *axis, const firn_chart_panel *panels, size_t count) {
    const range x = range_of_x(panels, count);
    const int width = LEFT + WIDTH + legend_of(panels, count);
    int top = TOP + 12, height = TOP + BOTTOM;
    for (size_t p = 0; p < count; p++)
        height += height_of(&panels[p]) + GAP;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
            width, height, width, height);
    put_text(to, title);
    fputs(
        "</"
        "title>\n<style>.b{fill:#fff}.g{stroke:#dcdcdc}.d{fill:#fff;stroke-width:1.8}text{fill:#333}.t{font-weight:600}"
        "@media(prefers-color-scheme:dark){.b,.d{fill:#16181b}.g{stroke:#3a3d42}text{fill:#d6d6d6}}</style>\n"
        "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n",
        to);
    fprintf(to, "<text x=\"%d\" y=\"20\" class=\"t\" font-size=\"14\">", LEFT);
    put_text(to, title);
    fputs("</text>\n", to);
    for (size_t p = 0; p < count; p++) {
        put_panel(to, &panels[p], x, top, p + 1 == count);
        top += p + 1 == count ? HEIGHT : height_of(&panels[p]) + GAP;
    }
    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + WIDTH / 2, top + GAP + BOTTOM - 24);
    put_text(to, axis);
    fputs("</text>\n</svg>\n", to);
}

bool firn_chart_is_misnamed(const char *name) {
    static const char *const endings[] = {".png",  ".jpg", ".jpeg", ".gif", ".webp", ".tif",
                                          ".tiff", ".bmp", ".pdf",  ".ps",  ".eps"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(ending, endings[i]) == 0)
            return true;
    return false;
}
