/* Values over the steps of a run, thinned to a bounded number of buckets that keep their extremes
 * (runtime/report/report.h). */
#include <math.h>
#include <stdlib.h>

#include "runtime/report/report.h"

enum { SMOOTHED = 100 }; /* the mean is of 1/100 of the run to each side */

void report_series_begin(report_series *series, uint32_t most) {
    *series = (report_series){.most = most < 2 ? 2 : most};
}

void report_series_free(report_series *series) {
    free(series->list);
    *series = (report_series){0};
}

/* Adds what a bucket holds of later steps to one of earlier steps. */
static void merge(report_bucket *to, const report_bucket *from) {
    if (from->low < to->low) {
        to->low = from->low;
        to->low_at = from->low_at;
    }
    if (from->high > to->high) {
        to->high = from->high;
        to->high_at = from->high_at;
    }
    to->last = from->last;
    to->last_at = from->last_at;
    to->sum += from->sum;
    to->count += from->count;
}

/* Doubles the width of all buckets. */
static void double_width(report_series *series) {
    uint32_t made = 0;
    series->width *= 2;
    for (uint32_t i = 0; i < series->count; i++) {
        report_bucket *bucket = &series->list[i];
        bucket->index /= 2;
        if (made > 0 && series->list[made - 1].index == bucket->index)
            merge(&series->list[made - 1], bucket);
        else
            series->list[made++] = *bucket;
    }
    series->count = made;
}

/* Step 0 lies in the first bucket with step 1. */
static uint64_t index_of(const report_series *series, uint64_t step) {
    return (step > 0 ? step - 1 : 0) / series->width;
}

void report_series_add(report_series *series, uint64_t step, double value) {
    if (!isfinite(value)) {
        series->not_finite++;
        return;
    }
    if (series->width == 0) {
        series->list = firn_host_allocate(series->most * sizeof *series->list);
        series->width = 1;
    }
    while (series->count != 0 && index_of(series, step) - series->list[0].index >= series->most)
        double_width(series);
    const report_bucket one = {.index = index_of(series, step),
                               .count = 1,
                               .low_at = step,
                               .high_at = step,
                               .last_at = step,
                               .low = value,
                               .high = value,
                               .last = value,
                               .sum = value};
    if (series->count > 0 && series->list[series->count - 1].index == one.index)
        merge(&series->list[series->count - 1], &one);
    else
        series->list[series->count++] = one;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

typedef struct point {
    uint64_t step;
    double value;
} point;

/* The points that stand for a bucket: its extremes in the order of their steps, and of the last bucket its last value.
 * Returns their number. */
static uint32_t points_of(const report_series *series, uint32_t i, point points[3]) {
    const report_bucket *b = &series->list[i];
    const bool low_first = b->low_at <= b->high_at;
    uint32_t count = 0;
    points[count++] = low_first ? (point){b->low_at, b->low} : (point){b->high_at, b->high};
    if (b->low_at != b->high_at)
        points[count++] = low_first ? (point){b->high_at, b->high} : (point){b->low_at, b->low};
    if (i + 1 == series->count && b->last_at > points[count - 1].step)
        points[count++] = (point){b->last_at, b->last};
    return count;
}

static void put_points(FILE *to, const report_series *series, bool steps, int digits) {
    point points[3];
    const char *separator = "[";
    for (uint32_t i = 0; i < series->count; i++) {
        const uint32_t count = points_of(series, i, points);
        for (uint32_t j = 0; j < count; j++) {
            fputs(separator, to);
            separator = ",";
            if (steps)
                fprintf(to, "%llu", (unsigned long long)points[j].step);
            else
                report_put_number(to, points[j].value, digits);
        }
    }
    fputs(series->count == 0 ? "[]" : "]", to);
}

void report_series_put(FILE *to, const report_series *series, int digits) {
    fputc('[', to);
    put_points(to, series, true, digits);
    fputc(',', to);
    put_points(to, series, false, digits);
    fputc(']', to);
}

double report_series_smooth(const report_series *series, uint32_t i) {
    const uint64_t index = series->list[i].index,
                   reach = (series->list[series->count - 1].index - series->list[0].index) / SMOOTHED;
    double sum = 0, count = 0;
    for (uint32_t j = i + 1; j-- > 0 && index - series->list[j].index <= reach;) {
        sum += series->list[j].sum;
        count += (double)series->list[j].count;
    }
    for (uint32_t j = i + 1; j < series->count && series->list[j].index - index <= reach; j++) {
        sum += series->list[j].sum;
        count += (double)series->list[j].count;
    }
    return sum / count;
}

static void put_last_steps(FILE *to, const report_series *series) {
    fputs("[", to);
    for (uint32_t i = 0; i < series->count; i++)
        fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)series->list[i].last_at);
    fputs("]", to);
}

void report_series_put_smooth(FILE *to, const report_series *series, int digits) {
    fputs("[", to);
    put_last_steps(to, series);
    for (uint32_t i = 0; i < series->count; i++) {
        fputs(i == 0 ? ",[" : ",", to);
        report_put_number(to, report_series_smooth(series, i), digits);
    }
    fputs(series->count == 0 ? ",[]]" : "]]", to);
}

void report_series_put_means(FILE *to, const report_series *series, int digits) {
    fputs("[", to);
    put_last_steps(to, series);
    for (uint32_t i = 0; i < series->count; i++) {
        fputs(i == 0 ? ",[" : ",", to);
        report_put_number(to, series->list[i].sum / (double)series->list[i].count, digits);
    }
    for (uint32_t i = 0; i < series->count; i++)
        fprintf(to, "%s%llu", i == 0 ? "],[" : ",", (unsigned long long)series->list[i].count);
    fputs(series->count == 0 ? ",[],[]]" : "]]", to);
}
