/* The rows of the report: a table on stdout, row by row, and report.svg in the output folder. json.c writes the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

#define ROWS_MAX 4096

static bench_row rows[ROWS_MAX];
static size_t row_count;

const bench_row *bench_report_rows(size_t *count) {
    *count = row_count;
    return rows;
}

const bench_row *bench_report_last(const char *group, const char *storage) {
    for (size_t i = row_count; i > 0; i--) {
        const bench_row *row = &rows[i - 1];
        if ((group == NULL || strcmp(row->group, group) == 0) && strcmp(row->storage, storage) == 0 &&
            row->seconds > 0.0 && row->work > 0.0)
            return row;
    }
    return NULL;
}

/* --- table ------------------------------------------------------------------------------------------------------ */

static void print_ratio(double value, double scale, const char *format) {
    if (value > 0.0)
        printf(format, scale * value);
    else
        printf(" %8s", "-");
}

static void print_time(double seconds) {
    if (seconds <= 0.0)
        printf(" %12s", "-");
    else if (seconds < 1e-4)
        printf(" %9.0f ns", 1e9 * seconds);
    else
        printf(" %9.2f ms", 1e3 * seconds);
}

static void print_torch(const bench_row *row) {
    for (unsigned way = 0; way < BENCH_TORCHES; way++) {
        const double by_ours = bench_spread_of(row->torch_by_ours[way], row->rounds).median;
        if (bench_torch_about() == NULL && way == BENCH_EAGER)
            printf(" %8s", "no torch");
        else if (by_ours <= 0.0 && row->torch_why[way][0] != 0)
            printf(" %8s", "why");
        else
            print_ratio(by_ours, 1.0, " %8.2f");
    }
}

/* Half of the distance of the quartiles, relative to the median. */
static void print_spread(const bench_row *row) {
    const bench_spread spread = bench_spread_of(row->times, row->rounds);
    print_ratio(row->rounds > 1 && spread.median > 0.0 ? (spread.high - spread.low) / 2.0 / spread.median : 0.0, 100.0,
                " %4.1f%%");
}

/* The reasons of PyTorch, each in a line of its own. */
static void print_reasons(const bench_row *row) {
    for (unsigned way = 0; way < BENCH_TORCHES; way++)
        if (row->torch_why[way][0] != 0)
            fprintf(stderr, "bench: %s %s %s: torch %s: %s\n", row->group, row->shape, row->storage,
                    bench_torch_name(way), row->torch_why[way]);
}

static void print_row(const bench_row *row) {
    const bool shared = row->reference != BENCH_NOTHING && row->seconds > 0.0;
    printf("%-18s %-22s %-17s", row->group, row->shape, row->storage);
    print_time(row->seconds);
    print_spread(row);
    print_ratio(shared ? row->work / row->seconds : 0.0, 1e-9, " %8.1f");
    print_ratio(bench_spread_of(row->of_one, row->rounds).median, 100.0, " %7.1f%%");
    print_ratio(bench_spread_of(row->of_all, row->rounds).median, 100.0, " %7.1f%%");
    print_ratio(bench_spread_of(row->by_first, row->rounds).median, 1.0, " %8.2f");
    print_torch(row);
    printf("%s%s\n", row->note[0] != 0 ? "  " : "", row->note);
}

static void print_machine_name(void) {
    const bench_machine *machine = bench_machine_of();
    printf("machine: %s; %u CPUs, the first core has %s; %s; %.1f GB; %s\n", machine->features, machine->cpus,
           machine->siblings, machine->caches, 1e-9 * machine->memory, machine->name);
    printf("code: %s, at %s\n", machine->commit, machine->date);
}

void bench_report_begin(void) {
    print_machine_name();
    printf("kernels: %s; threads: %u; PyTorch: %s; peak: %s\n", firn_kernel_set_choose(NULL)->name,
           bench_settings.threads, bench_torch_about() != NULL ? bench_torch_about() : "none", bench_peak_name());
    printf(
        "+-: half of the distance of the quartiles. G/s: operations or bytes. of 1, of %u: share of the reference of "
        "the same round, with 1 thread and with %u. by 1st: time divided by that of the first row of these rounds. "
        "The rest: PyTorch's time by ours, above 1 being ahead; last: channels last, bl: bf16, channels last. "
        "Instructions: of the peak loop in 1 thread.\n\n",
        bench_settings.threads, bench_settings.threads);
    printf("%-18s %-22s %-17s %12s %5s %8s %8s    of %-2u %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "what", "shape",
           "storage", "time", "+-", "G/s", "of 1", bench_settings.threads, "by 1st", "eager", "compiled", "bf16",
           "bf16 c.", "last", "last c.", "bl", "bl c.");
    fflush(stdout);
}

/* The reasons are printed once for the rows of a contest. */
void bench_report_row(const bench_row *row) {
    static unsigned last_contest;
    if (row_count == ROWS_MAX) {
        bench_fail("more than %d rows; the rest is not reported", ROWS_MAX);
        return;
    }
    rows[row_count++] = *row;
    print_row(row);
    fflush(stdout); /* flushed per row, so that progress is visible and an interrupted run leaves its table */
    if (row->contest != last_contest)
        print_reasons(row);
    last_contest = row->contest;
}

static void print_rates(const bench_rates *rates) {
    printf("\nreferences, medians before and after: peak %.1f GFLOP/s with 1 thread, %.1f with %u; triad %.1f and %.1f "
           "GB/s\n",
           1e-9 * rates->peak_one, 1e-9 * rates->peak_all, bench_settings.threads, 1e-9 * rates->triad_one,
           1e-9 * rates->triad_all);
    for (unsigned i = 0; i < rates->engine_count; i++)
        printf("%s: %.0f GFLOP/s with 1 thread, %.0f with %u\n", rates->engines[i].name, 1e-9 * rates->engines[i].one,
               1e-9 * rates->engines[i].all, bench_settings.threads);
    printf("tables: python3 tests/bench/tables.py %s/report.json\n", bench_settings.out);
}

/* --- drawing ---------------------------------------------------------------------------------------------------- */

enum { BAR_LEFT = 330, BAR_WIDTH = 480, LINE = 16, MARGIN = 20, HEAD = 60 };

/* Horizontal position of a share of the reference; the axis ends at twice the reference. */
static double place(double share) {
    return BAR_LEFT + BAR_WIDTH * (share < 2.0 ? share : 2.0) / 2.0;
}

static void draw_scale(FILE *file, int height) {
    for (int percent = 0; percent <= 200; percent += 50) {
        const double x = place(percent / 100.0);
        fprintf(file, "<line x1='%.0f' y1='%d' x2='%.0f' y2='%d' stroke='%s'/>\n", x, HEAD - 6, x, height - MARGIN,
                percent == 100 ? "#333" : "#ddd");
        fprintf(file, "<text x='%.0f' y='%d' text-anchor='middle'>%d%%</text>\n", x, HEAD - 12, percent);
    }
}

static double share_of(const bench_row *row) {
    return bench_spread_of(row->of_all, row->rounds).median;
}

/* Draws our bar and a stroke at PyTorch's eager float32. */
static void draw_row(FILE *file, const bench_row *row, int y) {
    const double share = share_of(row), eager = bench_spread_of(row->torch_by_ours[BENCH_EAGER], row->rounds).median;
    fprintf(file, "<text x='%d' y='%d' text-anchor='end'>%s, %s, %s</text>\n", BAR_LEFT - 8, y + 11, row->group,
            row->shape, row->storage);
    fprintf(file, "<rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>\n", BAR_LEFT, y + 2,
            place(share) - BAR_LEFT, LINE - 5, row->reference == BENCH_PEAK ? "#4477aa" : "#228833");
    if (eager > 0.0) {
        const double x = place(share / eager);
        fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ee6677' stroke-width='3'/>\n", x, y + 1, x,
                y + LINE - 2);
    }
    fprintf(file, "<text x='%.1f' y='%d'>%.0f%%</text>\n", place(share) + 4, y + 11, 100.0 * share);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[512];
    bench_format(path, sizeof path, "%s/%s", bench_settings.out, name);
    FILE *file = fopen(path, mode);
    if (file == NULL)
        fprintf(stderr, "bench: %s: cannot be opened\n", path);
    return file;
}

static bool write_svg(void) {
    int height = HEAD + 2 * MARGIN;
    for (size_t i = 0; i < row_count; i++)
        height += share_of(&rows[i]) > 0.0 ? LINE : 0;
    FILE *file = open_file("report.svg", "w");
    if (file == NULL)
        return false;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='%d' font-family='sans-serif' font-size='11'>\n"
            "<rect width='900' height='%d' fill='white'/>\n"
            "<text x='%d' y='20' font-size='14'>Share of this machine's peak, %u threads, kernels: %s</text>\n"
            "<text x='%d' y='34'>red stroke: PyTorch, eager float32</text>\n",
            height, height, MARGIN, bench_settings.threads, firn_kernel_set_choose(NULL)->name, MARGIN);
    draw_scale(file, height);
    int y = HEAD;
    for (size_t i = 0; i < row_count; i++)
        if (share_of(&rows[i]) > 0.0) {
            draw_row(file, &rows[i], y);
            y += LINE;
        }
    fprintf(file, "</svg>\n");
    return fclose(file) == 0;
}

bool bench_report_write(const bench_rates *rates) {
    if (row_count == 0) {
        if (!bench_has_failed())
            fprintf(stderr, "bench: no case has \"%s\" in its name\n", bench_settings.only);
        return false;
    }
    print_rates(rates);
    return bench_json_write(rates) && write_svg();
}
