/* Prints the progress of a run to stderr: one line that is overwritten on a terminal, separate lines elsewhere. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

#define TERMINAL_SECONDS 0.2
#define PLAIN_LINES      20
#define PLAIN_STEPS      100 /* between the lines of a run without an end */

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_begin(cli_progress *progress, const cli_session *session, uint64_t first, uint64_t last) {
    uint64_t samples = (uint64_t)session->info.samples * session->info.micro_batches;
    bool window = session->info.window > 1;
    *progress = (cli_progress){.quiet = session->options->quiet,
                               .terminal = isatty(STDERR_FILENO) == 1,
                               .first = first,
                               .last = last,
                               .units = (double)samples * (window ? session->info.window - 1 : 1),
                               .unit = window ? "tokens/s" : "samples/s",
                               .started = cli_seconds(),
                               .line_every = last == CLI_NO_END ? PLAIN_STEPS : (last - first) / PLAIN_LINES + 1};
}

/* Prints hours, minutes and seconds, omitting leading units that are 0. */
static void print_time(double seconds) {
    uint64_t whole = seconds < 0 ? 0 : seconds > 3.6e9 ? 3600000000u : (uint64_t)(seconds + 0.5);
    unsigned long long hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
    if (hours > 0)
        fprintf(stderr, "%llu:%02llu:%02llu", hours, minutes, rest);
    else
        fprintf(stderr, "%llu:%02llu", minutes, rest);
}

static void print_line(const cli_progress *progress, const firn_step_report *report, double now) {
    double seconds = now - progress->started;
    uint64_t done = report->global_step - progress->first, left = progress->last - report->global_step;
    double speed = seconds > 0 ? (double)done / seconds : 0;
    fprintf(stderr, "step %llu", (unsigned long long)report->global_step);
    if (progress->last != CLI_NO_END)
        fprintf(stderr, "/%llu", (unsigned long long)progress->last);
    fprintf(stderr, "  loss %.4f  lr %.3g  scale %g  %.4g %s", (double)report->loss, (double)report->learning_rate,
            (double)report->loss_scale, speed * progress->units, progress->unit);
    if (progress->last != CLI_NO_END) {
        fputs("  left ", stderr);
        print_time(speed > 0 ? (double)left / speed : 0);
    }
    if (report->skipped)
        fputs("  skipped", stderr);
    fputs(progress->evaluated, stderr);
}

void cli_progress_step(cli_progress *progress, const firn_step_report *report) {
    if (progress->quiet)
        return;
    double now = cli_seconds();
    bool ends = report->global_step == progress->last;
    if (progress->terminal) {
        if (!ends && now - progress->shown < TERMINAL_SECONDS)
            return;
        fputs("\r", stderr);
        print_line(progress, report, now);
        fputs("\033[K", stderr); /* erases the rest of a longer previous line */
        fflush(stderr);
        progress->shown = now;
        progress->open = true;
    } else if (ends || (report->global_step - progress->first - 1) % progress->line_every == 0) {
        print_line(progress, report, now);
        fputs("\n", stderr);
    }
}

void cli_progress_end(cli_progress *progress) {
    if (progress->open)
        fputs("\n", stderr);
    progress->open = false;
}
