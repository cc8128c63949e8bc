/* Writes the report: a table on stdout, row by row, and report.json and report.svg in the output folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/bench/bench.h"

#define ROWS_MAX 1024

static bench_row rows[ROWS_MAX];
static size_t row_count;

static const char *const reference_names[] = {"peak", "streams", "none"};
static const char *const torch_names[] = {"eager",         "compiled",      "bf16",
                                          "bf16_compiled", "channels_last", "channels_last_compiled"};

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
    const bool none = strcmp(bench_torch_version(), "no torch") == 0;
    for (unsigned variant = 0; variant < BENCH_TORCHES; variant++)
        if (none && variant == BENCH_EAGER)
            printf(" %8s", "no torch");
        else
            print_ratio(row->torch[variant], 1.0, " %8.2f");
}

static void print_row(const bench_row *row) {
    printf("%-18s %-22s %-17s", row->group, row->shape, row->storage);
    print_time(row->seconds);
    print_ratio(row->reference == BENCH_NOTHING || row->seconds <= 0.0 ? 0.0 : row->work / row->seconds, 1e-9,
                " %8.1f");
    print_ratio(row->of_one, 100.0, " %7.1f%%");
    print_ratio(row->of_all, 100.0, " %7.1f%%");
    print_torch(row);
    printf("%s%s\n", row->note[0] != 0 ? "  " : "", row->note);
}

void bench_report_begin(void) {
    printf("kernels: %s; threads: %u; PyTorch: %s; peak: %s\n", firn_kernel_set_choose(NULL)->name,
           bench_settings.threads, bench_torch_version(), bench_peak_name());
    printf(
        "G/s: operations or bytes. of 1, of %u: share of the reference of the same round, with 1 thread and with %u. "
        "The rest: PyTorch's time by ours, above 1 being ahead; last: channels last. Instructions: of the peak loop in "
        "1 thread.\n\n",
        bench_settings.threads, bench_settings.threads);
    printf("%-18s %-22s %-17s %12s %8s %8s    of %-2u %8s %8s %8s %8s %8s %8s\n", "what", "shape", "storage", "time",
           "G/s", "of 1", bench_settings.threads, "eager", "compiled", "bf16", "bf16 c.", "last", "last c.");
    fflush(stdout);
}

void bench_report_row(const bench_row *row) {
    if (row_count == ROWS_MAX) {
        bench_fail("more than %d rows; the rest is not reported", ROWS_MAX);
        return;
    }
    rows[row_count++] = *row;
    print_row(row);
    fflush(stdout); /* flushed per row, so that progress is visible and an interrupted run leaves its table */
}

static void print_machine(const bench_machine *machine) {
    printf("\nreferences, medians before and after: peak %.1f GFLOP/s with 1 thread, %.1f with %u; triad %.1f and %.1f "
           "GB/s\n",
           1e-9 * machine->peak_one, 1e-9 * machine->peak_all, bench_settings.threads, 1e-9 * machine->triad_one,
           1e-9 * machine->triad_all);
}

/* --- JSON ------------------------------------------------------------------------------------------------------- */

static void add_row(cJSON *list, const bench_row *row) {
    cJSON *item = cJSON_CreateObject(), *torch = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "what", row->group);
    cJSON_AddStringToObject(item, "shape", row->shape);
    cJSON_AddStringToObject(item, "storage", row->storage);
    cJSON_AddStringToObject(item, "reference", reference_names[row->reference]);
    cJSON_AddNumberToObject(item, "rounds", row->rounds);
    cJSON_AddNumberToObject(item, "work", row->work);
    cJSON_AddNumberToObject(item, "seconds", row->seconds);
    cJSON_AddNumberToObject(item, "of_one_thread", row->of_one);
    cJSON_AddNumberToObject(item, "of_all_threads", row->of_all);
    cJSON_AddNumberToObject(item, "peak_instructions", row->instructions);
    for (unsigned variant = 0; variant < BENCH_TORCHES; variant++)
        if (row->torch[variant] > 0.0)
            cJSON_AddNumberToObject(torch, torch_names[variant], row->torch[variant]);
    cJSON_AddItemToObject(item, "torch_time_by_ours", torch);
    if (row->op[0] != 0) {
        cJSON_AddStringToObject(item, "op", row->op);
        cJSON_AddNumberToObject(item, "calls", row->calls);
        cJSON_AddNumberToObject(item, "share_of_step", row->share);
    }
    cJSON_AddStringToObject(item, "note", row->note);
    cJSON_AddItemToArray(list, item);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[512];
    bench_format(path, sizeof path, "%s/%s", bench_settings.out, name);
    FILE *file = fopen(path, mode);
    if (file == NULL)
        fprintf(stderr, "bench: %s: cannot be opened\n", path);
    return file;
}

static bool write_json(const bench_machine *machine) {
    FILE *file = open_file("report.json", "w");
    if (file == NULL)
        return false;
    cJSON *report = cJSON_CreateObject();
    cJSON_AddStringToObject(report, "kernels", firn_kernel_set_choose(NULL)->name);
    cJSON_AddNumberToObject(report, "threads", bench_settings.threads);
    cJSON_AddStringToObject(report, "torch", bench_torch_version());
    cJSON_AddStringToObject(report, "peak", bench_peak_name());
    cJSON_AddNumberToObject(report, "peak_one_thread", machine->peak_one);
    cJSON_AddNumberToObject(report, "peak_all_threads", machine->peak_all);
    cJSON_AddNumberToObject(report, "triad_one_thread", machine->triad_one);
    cJSON_AddNumberToObject(report, "triad_all_threads", machine->triad_all);
    cJSON *list = cJSON_AddArrayToObject(report, "rows");
    for (size_t i = 0; i < row_count; i++)
        add_row(list, &rows[i]);
    char *text = cJSON_Print(report);
    bool good = text != NULL && fprintf(file, "%s\n", text) > 0;
    cJSON_free(text);
    cJSON_Delete(report);
    return fclose(file) == 0 && good;
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

/* Draws our bar and a stroke at PyTorch's eager float32. */
static void draw_row(FILE *file, const bench_row *row, int y) {
    fprintf(file, "<text x='%d' y='%d' text-anchor='end'>%s, %s, %s</text>\n", BAR_LEFT - 8, y + 11, row->group,
            row->shape, row->storage);
    fprintf(file, "<rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>\n", BAR_LEFT, y + 2,
            place(row->of_all) - BAR_LEFT, LINE - 5, row->reference == BENCH_PEAK ? "#4477aa" : "#228833");
    if (row->torch[BENCH_EAGER] > 0.0) {
        const double x = place(row->of_all / row->torch[BENCH_EAGER]);
        fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ee6677' stroke-width='3'/>\n", x, y + 1, x,
                y + LINE - 2);
    }
    fprintf(file, "<text x='%.1f' y='%d'>%.0f%%</text>\n", place(row->of_all) + 4, y + 11, 100.0 * row->of_all);
}

static bool write_svg(void) {
    int height = HEAD + 2 * MARGIN;
    for (size_t i = 0; i < row_count; i++)
        height += rows[i].of_all > 0.0 ? LINE : 0;
    FILE *file = open_file("report.svg", "w");
    if (file == NULL)
        return false;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='%d' font-family='sans-serif' font-size='11'>\n"
            "<rect width='900' height='%d' fill='white'/>\n"
            "<text x='%d' y='20' font-size='14'>Share of this machine's peak, %u threads, kernels: %s</text>\n"
            "<text x='%d' y='34'>red stroke: PyTorch %s, eager float32</text>\n",
            height, height, MARGIN, bench_settings.threads, firn_kernel_set_choose(NULL)->name, MARGIN,
            bench_torch_version());
    draw_scale(file, height);
    int y = HEAD;
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].of_all > 0.0) {
            draw_row(file, &rows[i], y);
            y += LINE;
        }
    fprintf(file, "</svg>\n");
    return fclose(file) == 0;
}

bool bench_report_write(const bench_machine *machine) {
    if (row_count == 0) {
        if (!bench_has_failed())
            fprintf(stderr, "bench: no case has \"%s\" in its name\n", bench_settings.only);
        return false;
    }
    print_machine(machine);
    return write_json(machine) && write_svg();
}

/* --- checking what was written --------------------------------------------------------------------------------- */

/* Returns the whole file, terminated by a 0 byte, or NULL if it cannot be read. */
static char *read_file(const char *name) {
    enum { MOST = 1 << 22 };
    FILE *file = open_file(name, "r");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, MOST);
    if (text != NULL)
        (void)fread(text, 1, MOST - 1, file);
    fclose(file);
    return text;
}

static bool is_good_row(const cJSON *row) {
    const cJSON *what = cJSON_GetObjectItemCaseSensitive(row, "what");
    const cJSON *rounds = cJSON_GetObjectItemCaseSensitive(row, "rounds");
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(row, "seconds");
    const cJSON *share = cJSON_GetObjectItemCaseSensitive(row, "of_all_threads");
    const cJSON *reference = cJSON_GetObjectItemCaseSensitive(row, "reference");
    if (!cJSON_IsString(what) || !cJSON_IsNumber(seconds) || !cJSON_IsNumber(share) || !cJSON_IsNumber(rounds) ||
        !cJSON_IsString(reference))
        return false;
    const bool timed = strcmp(what->valuestring, "memory") != 0 && rounds->valuedouble > 0.0;
    const bool shared = timed && strcmp(reference->valuestring, reference_names[BENCH_NOTHING]) != 0;
    return (!timed || seconds->valuedouble > 0.0) && (!shared || share->valuedouble > 0.0);
}

static bool is_good_json(const char *text) {
    cJSON *report = cJSON_Parse(text);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(report, "rows"), *row;
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(report, "peak_all_threads");
    bool good =
        cJSON_IsNumber(peak) && peak->valuedouble > 0.0 && cJSON_GetArraySize(list) == (int)row_count && row_count > 0;
    cJSON_ArrayForEach(row, list) good = good && is_good_row(row);
    cJSON_Delete(report);
    return good;
}

bool bench_report_check(void) {
    char *json = read_file("report.json"), *svg = read_file("report.svg");
    const bool good = json != NULL && svg != NULL && is_good_json(json) && strncmp(svg, "<svg ", 5) == 0 &&
                      strstr(svg, "</svg>") != NULL;
    free(json);
    free(svg);
    if (!good)
        fprintf(stderr, "bench: %s: report.json or report.svg is not what it should be\n", bench_settings.out);
    return good;
}
