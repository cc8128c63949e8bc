/* Prints the progress of a run to stderr: on a terminal one line that is rewritten within its width, elsewhere lines of
 * their own, of which a short run has few and a long one at least one a minute. */
#define _DEFAULT_SOURCE /* struct winsize */
#include <math.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cli/cli.h"
#include "runtime/program/descriptors.h"

#define TERMINAL_SECONDS 0.2
#define PLAIN_LINES      20
#define PLAIN_STEPS      100 /* between the lines of a run without an end */
#define PLAIN_LEAST      10  /* seconds between its lines, after so many as another run has */
#define PLAIN_MOST       60  /* seconds without a line */
#define USUAL_WIDTH      80  /* of a terminal that does not say */

/* The parts of a line in their order, and how much each is worth: in a narrow terminal parts of higher numbers go
 * first.
 */
typedef enum part_id { STEP, LOSS, EPOCH, RATE, SCALE, SPEED, LEFT, SKIPPED, BEST, EVALUATED, PARTS } part_id;
static const int worth[PARTS] = {
    [STEP] = 0,  [LOSS] = 1,  [SKIPPED] = 2, [LEFT] = 3, [EVALUATED] = 4,
    [EPOCH] = 5, [SPEED] = 6, [BEST] = 7,    [RATE] = 8, [SCALE] = 9,
};

typedef struct line {
    char parts[PARTS][CLI_PROGRESS_PART];
} line;

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Samples of the part that the plan reads; 0: they are pushed, or it is not known. */
static uint64_t samples_of(const cli_session *session) {
    firn_sample_counts counts;
    if (session->info.ring != 0 || firn_count_samples(&session->firn, &session->data.source, &counts) != FIRN_OK)
        return 0;
    return counts.part;
}

void cli_progress_begin(cli_progress *progress, const cli_session *session, uint64_t first, uint64_t last) {
    uint64_t samples = (uint64_t)session->info.samples * session->info.micro_batches;
    bool window = session->info.window > 1;
    const double now = cli_seconds();
    *progress = (cli_progress){.quiet = session->options->quiet,
                               .terminal = firn_program_has_terminal(),
                               .first = first,
                               .last = last,
                               .end = session->info.steps,
                               .step_samples = samples,
                               .epoch_samples = samples_of(session),
                               .units = (double)samples * (window ? session->info.window - 1 : 1),
                               .unit = window ? "tokens/s" : "samples/s",
                               .started = now,
                               .shown = firn_program_has_terminal() ? 0 : now,
                               .line_every = last == CLI_NO_END ? PLAIN_STEPS : (last - first) / PLAIN_LINES + 1};
}

void cli_progress_evaluated(cli_progress *progress, const char *name, float value, float best, uint64_t best_step) {
    snprintf(progress->evaluated, sizeof progress->evaluated, "  eval %s %.5g", name, (double)value);
    progress->best[0] = 0;
    if (best_step != 0)
        snprintf(progress->best, sizeof progress->best, "  best %.5g at %llu", (double)best,
                 (unsigned long long)best_step);
}

/* --- a line ------------------------------------------------------------------------------------------------------- */

/* Writes hours, minutes and seconds, omitting leading units that are 0. */
static void write_time(char *text, size_t size, double seconds) {
    uint64_t whole = seconds < 0 ? 0 : seconds > 3.6e9 ? 3600000000u : (uint64_t)(seconds + 0.5);
    unsigned long long hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
    if (hours > 0)
        snprintf(text, size, "  left %llu:%02llu:%02llu", hours, minutes, rest);
    else
        snprintf(text, size, "  left %llu:%02llu", minutes, rest);
}

/* The epoch that holds the last sample of so many steps, from 1. */
static double epoch_of(const cli_progress *progress, uint64_t steps) {
    return ceil((double)steps * (double)progress->step_samples / (double)progress->epoch_samples);
}

static void write_epoch(char *text, size_t size, const cli_progress *progress, uint64_t step) {
    if (progress->epoch_samples == 0)
        return;
    const int length = snprintf(text, size, "  epoch %.0f", epoch_of(progress, step));
    if (progress->end != 0 && length > 0)
        snprintf(text + length, size - (size_t)length, "/%.0f", epoch_of(progress, progress->end));
}

static void make_line(line *l, const cli_progress *progress, const firn_step_report *report, double now) {
    enum { SIZE = CLI_PROGRESS_PART };
    const unsigned long long step = report->global_step, last = progress->last;
    const double seconds = now - progress->started, done = (double)(step - progress->first);
    const double speed = seconds > 0 ? done / seconds : 0, units = speed * progress->units;
    *l = (line){0};
    if (progress->last != CLI_NO_END)
        snprintf(l->parts[STEP], SIZE, "step %llu/%llu", step, last);
    else
        snprintf(l->parts[STEP], SIZE, "step %llu", step);
    snprintf(l->parts[LOSS], SIZE, "  loss %.4f", (double)report->loss);
    write_epoch(l->parts[EPOCH], SIZE, progress, step);
    snprintf(l->parts[RATE], SIZE, "  lr %.3g", (double)report->learning_rate);
    snprintf(l->parts[SCALE], SIZE, "  scale %g", (double)report->loss_scale);
    snprintf(l->parts[SPEED], SIZE, units < 1000 ? "  %.4g %s" : "  %.0f %s", units, progress->unit);
    if (progress->last != CLI_NO_END)
        write_time(l->parts[LEFT], SIZE, speed > 0 ? (double)(last - step) / speed : 0);
    snprintf(l->parts[SKIPPED], SIZE, "%s", report->skipped ? "  skipped" : "");
    snprintf(l->parts[BEST], SIZE, "%s", progress->best);
    snprintf(l->parts[EVALUATED], SIZE, "%s", progress->evaluated);
}

/* Joins the parts that are worth at most `least`. Returns the length. */
static size_t join(char *text, size_t size, const line *l, int least) {
    size_t length = 0;
    for (int i = 0; i < PARTS; i++)
        if (worth[i] <= least)
            length += (size_t)snprintf(text + length, size - length, "%s", l->parts[i]);
    return length;
}

/* Columns of the terminal. A line leaves the last one free, in which some terminals already begin the next line. */
static size_t width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : USUAL_WIDTH;
}

static void rewrite(const line *l) {
    char text[PARTS * CLI_PROGRESS_PART];
    const size_t most = width() - 1;
    int least = PARTS;
    while (join(text, sizeof text, l, least) > most && least > 0)
        least--;
    fprintf(stderr, "\r%.*s\033[K", (int)most, text); /* erases the rest of a longer previous line */
    fflush(stderr);
}

/* Returns true if a step has a line of its own where lines are not rewritten. */
static bool has_line(const cli_progress *progress, uint64_t step, double now) {
    const bool regular = (step - progress->first - 1) % progress->line_every == 0;
    const bool dense = progress->last == CLI_NO_END && progress->lines >= PLAIN_LINES;
    return (regular && (!dense || now - progress->shown >= PLAIN_LEAST)) || now - progress->shown >= PLAIN_MOST;
}

void cli_progress_step(cli_progress *progress, const firn_step_report *report) {
    char text[PARTS * CLI_PROGRESS_PART];
    line l;
    if (progress->quiet)
        return;
    const double now = cli_seconds();
    const bool ends = report->global_step == progress->last;
    if (!ends &&
        (progress->terminal ? now - progress->shown < TERMINAL_SECONDS : !has_line(progress, report->global_step, now)))
        return;
    make_line(&l, progress, report, now);
    progress->shown = now;
    progress->lines++;
    progress->open = progress->terminal;
    if (progress->terminal) {
        rewrite(&l);
        return;
    }
    join(text, sizeof text, &l, PARTS);
    fprintf(stderr, "%s\n", text);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->open)
        fputs("\n", stderr);
    progress->open = false;
}
