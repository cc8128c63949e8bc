/* firn plot: draws the loss of runs and the learning rate as SVG, for who has a terminal and no browser. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "runtime/chart/chart.h"
#include "runtime/report/report.h"

enum { BUCKETS = 1024 };

typedef struct plot {
    report_log runs[REPORT_RUNS_MAX];
    uint32_t run_count;
    char title[300], unit[200], axis[200]; /* of the loss */
} plot;

static double *values(size_t count) {
    return firn_host_allocate(count * sizeof(double));
}

static void free_curves(firn_chart_curve *curves, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)curves[i].x);
        free((void *)(uintptr_t)curves[i].y);
    }
}

/* The extremes of each bucket. */
static firn_chart_curve raw(const report_series *series) {
    double *x = values(2 * (size_t)series->count), *y = values(2 * (size_t)series->count);
    size_t count = 0;
    for (uint32_t i = 0; i < series->count; i++) {
        const report_bucket *b = &series->list[i];
        const bool low_first = b->low_at <= b->high_at;
        x[count] = (double)(low_first ? b->low_at : b->high_at);
        y[count++] = low_first ? b->low : b->high;
        if (b->low_at == b->high_at)
            continue;
        x[count] = (double)(low_first ? b->high_at : b->low_at);
        y[count++] = low_first ? b->high : b->low;
    }
    return (firn_chart_curve){.x = x, .y = y, .count = count};
}

static firn_chart_curve smoothed(const report_series *series) {
    double *x = values(series->count), *y = values(series->count);
    for (uint32_t i = 0; i < series->count; i++) {
        x[i] = (double)series->list[i].last_at;
        y[i] = report_series_smooth(series, i);
    }
    return (firn_chart_curve){.x = x, .y = y, .count = series->count};
}

static firn_chart_curve named(firn_chart_curve curve, const char *name, firn_chart_form form, unsigned style) {
    curve.name = name;
    curve.form = form;
    curve.style = style;
    return curve;
}

/* What stands along the axis of a metric: its name, and of a loss that of the training's with its unit. */
static const char *axis_of(const plot *p, const char *name) {
    return strcmp(name, "loss") == 0 ? p->axis : name;
}

/* Draws the losses of all runs in one panel, the rates in another, and each metric of evaluations in one of its own. */
static void put(FILE *to, const void *what) {
    const plot *p = what;
    static firn_chart_curve losses[2 * REPORT_RUNS_MAX], rates[REPORT_RUNS_MAX],
        scores[REPORT_METRICS_MAX][REPORT_RUNS_MAX];
    const char *names[REPORT_METRICS_MAX];
    size_t score_counts[REPORT_METRICS_MAX] = {0}, loss_count = 0, rate_count = 0, metrics = 0, panels = 0;
    firn_chart_panel list[2 + REPORT_METRICS_MAX];
    for (uint32_t i = 0; i < p->run_count; i++) {
        const report_log *run = &p->runs[i];
        losses[loss_count++] = named(raw(&run->loss), NULL, FIRN_CHART_FAINT, i);
        losses[loss_count++] = named(smoothed(&run->loss), run->name, FIRN_CHART_LINE, i);
        if (run->rate.count != 0)
            rates[rate_count++] = named(raw(&run->rate), run->name, FIRN_CHART_LINE, i);
        for (uint32_t m = 0; m < run->metric_count; m++) {
            size_t k = 0;
            while (k < metrics && strcmp(names[k], run->metrics[m].name) != 0)
                k++;
            if (k == REPORT_METRICS_MAX || run->metrics[m].values.count == 0)
                continue;
            if (k == metrics)
                names[metrics++] = run->metrics[m].name;
            scores[k][score_counts[k]++] = named(raw(&run->metrics[m].values), run->name, FIRN_CHART_DOTS, i);
        }
    }
    list[panels++] = (firn_chart_panel){.title = p->unit, .axis = p->axis, .curves = losses, .count = loss_count};
    for (size_t k = 0; k < metrics; k++)
        list[panels++] = (firn_chart_panel){
            .title = names[k], .axis = axis_of(p, names[k]), .curves = scores[k], .count = score_counts[k]};
    if (rate_count != 0)
        list[panels++] = (firn_chart_panel){
            .title = "learning rate", .axis = "learning rate, of one update", .curves = rates, .count = rate_count};
    firn_chart_write(to, p->title, "global step", list, panels);
    free_curves(losses, loss_count);
    free_curves(rates, rate_count);
    for (size_t k = 0; k < metrics; k++)
        free_curves(scores[k], score_counts[k]);
}

/* What the first log says of its model and of its loss. */
static void name_plot(plot *p) {
    const char *model = NULL, *unit = NULL, *loss = NULL;
    for (uint32_t i = 0; i < p->run_count; i++) {
        model = model != NULL ? model : report_log_said(&p->runs[i], "model");
        loss = loss != NULL ? loss : report_log_said(&p->runs[i], "loss_name");
        unit = unit != NULL ? unit : report_log_said(&p->runs[i], "loss_unit");
    }
    snprintf(p->title, sizeof p->title, "training of %s", model != NULL ? model : p->runs[0].name);
    snprintf(p->axis, sizeof p->axis, "%s%s%s", loss != NULL ? loss : "loss", unit != NULL && *unit != 0 ? ", " : "",
             unit != NULL ? unit : "");
    snprintf(p->unit, sizeof p->unit, "%s%s%s%s, each step and smoothed", loss != NULL ? loss : "loss",
             unit != NULL && *unit != 0 ? " (" : "", unit != NULL ? unit : "", unit != NULL && *unit != 0 ? ")" : "");
}

int cli_plot(const cli_options *options) {
    static plot p;
    int status = report_logs_check(options, "drawing", "SVG", ".svg");
    if (status == CLI_OK && !cli_is_stream(options->output) && !firn_host_replaceable(options->output))
        status = CLI_FILE;
    for (uint32_t i = 0; status == CLI_OK && i < options->data_count; i++)
        status = report_log_read(&p.runs[p.run_count++], options->data[i], BUCKETS);
    if (status == CLI_OK) {
        report_logs_name(p.runs, p.run_count);
        name_plot(&p);
    }
    if (status == CLI_OK)
        status = report_write(options->output, put, &p);
    for (uint32_t i = 0; i < p.run_count; i++)
        report_log_free(&p.runs[i]);
    return status;
}
