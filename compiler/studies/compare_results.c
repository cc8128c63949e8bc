/* The results of firnc compare (compiler/studies/compare_results.h). Trials of one seed begin with the same parameters
 * and read the same batches, so a difference between two of them is that of their arithmetic. What is left of chance in
 * it shows in how it varies between seeds. */
#include "compiler/studies/compare_results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/studies/chart.h"
#include "compiler/studies/paired.h"
#include "plan/generated/words.h"

#define DIFFERENCES "differences"

enum { SMOOTHED = 40 }; /* of so many parts of a run, the mean of one is drawn at each step */

firnc_comparison firnc_comparison_of(const firnc_study *study) {
    const uint32_t seeds = (uint32_t)study->seeds;
    return (firnc_comparison){.study = study,
                              .seeds = seeds,
                              .trials = firnc_allocate((size_t)FIRNC_VARIANTS_MAX * seeds * sizeof(firnc_trial))};
}

firnc_trial *firnc_comparison_trial(const firnc_comparison *c, uint32_t variant, uint32_t seed) {
    return &c->trials[variant * c->seeds + seed];
}

/* --- the table of trials ------------------------------------------------------------------------------------------ */

static const char *csv_number(double x) {
    return isfinite(x) ? firnc_format("%.9g", x) : "";
}

static const char *csv_row(const firnc_comparison *c, uint32_t variant, uint32_t seed) {
    const firnc_trial *t = firnc_comparison_trial(c, variant, seed);
    const char *text = c->names[variant];
    if (c->seeds > 1)
        text = firnc_format("%s,%llu", text, firnc_study_seed(c->study, seed));
    text = firnc_format("%s,%u,%s,%s,%s,%u,%.6f,%s", text, (unsigned)t->steps, csv_number(t->loss),
                        csv_number(t->held_out_loss),
                        csv_number(firnc_trial_deviation(t, firnc_comparison_trial(c, 0, seed))), (unsigned)t->skipped,
                        t->seconds, t->stopped ? "yes" : "no");
    for (uint32_t kind = 0; kind < FIRNC_STUDY_KINDS; kind++)
        text = firnc_format("%s,%u", text, (unsigned)t->sums[kind]);
    return firnc_format("%s\n", text);
}

static bool write_csv(const firnc_comparison *c) {
    const char *text = firnc_format("what%s,steps,loss,held_out_loss,max_deviation,skipped,seconds_per_step,stopped",
                                    c->seeds > 1 ? ",seed" : "");
    for (uint32_t kind = 0; kind < FIRNC_STUDY_KINDS; kind++)
        text = firnc_format("%s,%s", text, firn_fb_reduction_kind_word((uint8_t)kind));
    text = firnc_format("%s\n", text);
    for (uint32_t variant = 0; variant < c->count; variant++)
        for (uint32_t seed = 0; seed < c->seeds; seed++)
            text = firnc_format("%s%s", text, csv_row(c, variant, seed));
    return firnc_file_write(firnc_study_path(c->study, "compare.csv"), text, strlen(text));
}

/* --- differences to float32 --------------------------------------------------------------------------------------- */

/* What is compared of two trials. A run that stopped has no final loss. */
static double final_loss(const firnc_trial *t) {
    return t->stopped ? (double)NAN : t->loss;
}

static double held_out_loss(const firnc_trial *t) {
    return t->stopped ? (double)NAN : t->held_out_loss;
}

/* Times are left out: trials that ran one after another on a machine whose speed varies are no pairs. */
static const struct {
    const char *name, *title;
    double (*of)(const firnc_trial *trial);
} measures[] = {{"loss", "mean of the last training losses", final_loss},
                {"held_out_loss", "held-out loss", held_out_loss}};
enum { MEASURES = sizeof measures / sizeof measures[0] };

static firnc_interval difference(const firnc_comparison *c, uint32_t measure, uint32_t variant) {
    double differences[FIRNC_STUDY_SEEDS];
    for (uint32_t seed = 0; seed < c->seeds; seed++)
        differences[seed] = measures[measure].of(firnc_comparison_trial(c, variant, seed)) -
                            measures[measure].of(firnc_comparison_trial(c, 0, seed));
    return firnc_interval_of(differences, c->seeds);
}

/* Whether there is a value of the measure: held-out losses need data that are held out. */
static bool is_measured(const firnc_comparison *c, uint32_t measure) {
    return measures[measure].of != held_out_loss || c->study->held_out;
}

static bool write_differences(const firnc_comparison *c) {
    const char *text = "what,measure,pairs,mean_difference,low,high,verdict\n";
    for (uint32_t variant = 1; variant < c->count; variant++)
        for (uint32_t m = 0; m < MEASURES; m++) {
            const firnc_interval i = difference(c, m, variant);
            if (is_measured(c, m))
                text = firnc_format("%s%s,%s,%u,%s,%s,%s,%s\n", text, c->names[variant], measures[m].name,
                                    (unsigned)i.count, csv_number(i.mean), csv_number(i.low), csv_number(i.high),
                                    firnc_interval_verdict(&i));
        }
    return firnc_file_write(firnc_study_path(c->study, DIFFERENCES ".csv"), text, strlen(text));
}

static void print_differences(const firnc_comparison *c) {
    printf(
        "\ndifferences to float32, by pairs of one seed: the mean, and its 95 %% interval\n%-20s %-17s %5s %12s %12s "
        "%12s  %s\n",
        "what", "measure", "pairs", "mean", "low", "high", "verdict");
    for (uint32_t variant = 1; variant < c->count; variant++)
        for (uint32_t m = 0; m < MEASURES; m++) {
            const firnc_interval i = difference(c, m, variant);
            if (is_measured(c, m))
                printf("%-20s %-17s %5u %12.3g %12.3g %12.3g  %s\n", c->names[variant], measures[m].name,
                       (unsigned)i.count, i.mean, i.low, i.high, firnc_interval_verdict(&i));
        }
}

/* Warns if all seeds of float32 came to the same loss: then nothing varies, and an interval means nothing. */
static void warn_of_idle_seeds(const firnc_comparison *c) {
    for (uint32_t seed = 1; seed < c->seeds; seed++)
        if (final_loss(firnc_comparison_trial(c, 0, seed)) != final_loss(firnc_comparison_trial(c, 0, 0)))
            return;
    firnc_say("firnc: %s: warning: --seeds: %u changes nothing: float32 has one loss with every seed (no parameter is "
              "drawn, and nothing is shuffled or dropped), so the intervals mean nothing; leave it out",
              c->study->recipe, (unsigned)c->seeds);
}

/* --- drawings ----------------------------------------------------------------------------------------------------- */

/* The loss of a step, as the mean over the seeds; NaN where a run has no such step. */
static double loss_at(const firnc_comparison *c, uint32_t variant, uint32_t step) {
    double sum = 0;
    for (uint32_t seed = 0; seed < c->seeds; seed++) {
        const firnc_trial *t = firnc_comparison_trial(c, variant, seed);
        sum += step < t->steps ? (double)t->losses[step] : (double)NAN;
    }
    return sum / c->seeds;
}

static firn_chart_curve curve_of(const firnc_comparison *c, uint32_t variant) {
    const uint32_t steps = (uint32_t)c->study->steps;
    double *x = firnc_allocate(steps * sizeof *x), *y = firnc_allocate(steps * sizeof *y);
    for (uint32_t step = 0; step < steps; step++) {
        x[step] = step + 1;
        y[step] = loss_at(c, variant, step);
    }
    return (firn_chart_curve){
        .name = c->names[variant], .x = x, .y = y, .count = steps, .form = FIRN_CHART_LINE, .style = variant};
}

/* Replaces each value by the mean of those around it that are finite; one that is not stays so. */
static void smooth(double *y, uint32_t count, uint32_t around) {
    double *means = firnc_allocate(count * sizeof *means);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = i < around ? 0 : i - around, last = i + around < count ? i + around : count - 1;
        double sum = 0;
        uint32_t finite = 0;
        for (uint32_t j = first; j <= last; j++)
            if (isfinite(y[j])) {
                sum += y[j];
                finite++;
            }
        means[i] = isfinite(y[i]) ? sum / finite : (double)NAN;
    }
    memcpy(y, means, count * sizeof *y);
}

static bool write_curves(const firnc_comparison *c) {
    firn_chart_curve losses[FIRNC_VARIANTS_MAX], differences[FIRNC_VARIANTS_MAX];
    const uint32_t steps = (uint32_t)c->study->steps, around = steps / SMOOTHED / 2;
    for (uint32_t variant = 0; variant < c->count; variant++)
        losses[variant] = curve_of(c, variant);
    for (uint32_t variant = 1; variant < c->count; variant++) {
        differences[variant - 1] = curve_of(c, variant);
        double *y = (double *)(uintptr_t)differences[variant - 1].y;
        for (uint32_t step = 0; step < steps; step++)
            y[step] -= losses[0].y[step];
        smooth(y, steps, around);
    }
    const firn_chart_panel panels[] = {
        {.title = c->seeds > 1 ? firnc_format("training loss, mean of %u seeds", (unsigned)c->seeds) : "training loss",
         .curves = losses,
         .count = c->count},
        {.title = around > 0 ? firnc_format("difference to float32 at the same step, mean of %u steps",
                                            (unsigned)(2 * around + 1))
                             : "difference to float32 at the same step",
         .curves = differences,
         .count = c->count - 1}};
    return firnc_chart_write(firnc_study_path(c->study, "compare.svg"), "training loss of each global step",
                             "global step", panels, c->count > 1 ? 2 : 1);
}

/* Draws the interval of each variant as a line from its low to its high end, with the mean as a dot, over its number.
 */
static firn_chart_panel intervals_of(const firnc_comparison *c, uint32_t measure) {
    firn_chart_curve *curves = firnc_allocate((2 * c->count + 1) * sizeof *curves);
    double *zero = firnc_allocate(4 * sizeof *zero);
    uint32_t count = 1;
    zero[0] = 0.5, zero[1] = c->count - 0.5;
    curves[0] = (firn_chart_curve){.name = firnc_format("0: %s", c->names[0]),
                                   .x = zero,
                                   .y = zero + 2,
                                   .count = 2,
                                   .form = FIRN_CHART_FAINT,
                                   .style = 7};
    for (uint32_t variant = 1; variant < c->count; variant++) {
        const firnc_interval i = difference(c, measure, variant);
        double *at = firnc_allocate(6 * sizeof *at);
        at[0] = at[1] = at[2] = variant;
        at[3] = i.low, at[4] = i.high, at[5] = i.mean;
        curves[count] = (firn_chart_curve){.name = firnc_format("%u: %s", (unsigned)variant, c->names[variant]),
                                           .x = at,
                                           .y = at + 3,
                                           .count = 2,
                                           .form = FIRN_CHART_LINE,
                                           .style = variant};
        curves[count + 1] =
            (firn_chart_curve){.x = at + 2, .y = at + 5, .count = 1, .form = FIRN_CHART_DOTS, .style = variant};
        count += 2;
    }
    return (firn_chart_panel){.title = firnc_format("difference of the %s to float32", measures[measure].title),
                              .curves = curves,
                              .count = count};
}

static bool write_intervals(const firnc_comparison *c) {
    firn_chart_panel panels[MEASURES];
    uint32_t count = 0;
    for (uint32_t m = 0; m < MEASURES; m++)
        if (is_measured(c, m))
            panels[count++] = intervals_of(c, m);
    return firnc_chart_write(
        firnc_study_path(c->study, DIFFERENCES ".svg"),
        firnc_format("differences to float32 over %u seeds, with 95 %% intervals", (unsigned)c->seeds),
        "number in the legend", panels, count);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

bool firnc_comparison_report(const firnc_comparison *c) {
    const bool several = c->seeds > 1;
    if (several) {
        print_differences(c);
        warn_of_idle_seeds(c);
    }
    if (!write_csv(c) || !write_curves(c) || (several && (!write_differences(c) || !write_intervals(c))))
        return false;
    printf("%s, %s", firnc_printable(firnc_study_path(c->study, "compare.csv")),
           firnc_printable(firnc_study_path(c->study, "compare.svg")));
    if (several)
        printf(", %s, %s", firnc_printable(firnc_study_path(c->study, DIFFERENCES ".csv")),
               firnc_printable(firnc_study_path(c->study, DIFFERENCES ".svg")));
    putchar('\n');
    return true;
}
