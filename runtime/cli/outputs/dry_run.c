/* firn train --dry-run: what a training would be that has been opened, with its memory and the files that it would
 * write. Nothing is written here but standard output; what would be refused has been refused while it was opened. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cli/cli.h"

int cli_dry_run_check(const cli_options *options) {
    if (!options->dry_run || options->ranks == NULL)
        return CLI_OK;
    firn_host_fail(options->command,
                   "--dry-run describes one process, and firn-mpi shares a step among several; leave it out, or run "
                   "firn");
    return CLI_USAGE;
}

/* --- the checks of the first step --------------------------------------------------------------------------------- */

/* Asks whether the counter could be replaced, where the plan would advance it. Returns FIRN_OK or the error of the
 * port, with its cause. */
static int check_counter(cli_session *session) {
    const char *path = session->options->counter;
    const firn_port *port = &session->port.port;
    uint32_t stored = 0;
    if (path == NULL)
        return FIRN_OK;
    const int error = port->counter->read(port->context, &stored);
    if (error != FIRN_OK || stored >= session->info.security_counter)
        return error;
    const bool can = cli_appended_has_folder(path);
    session->port.counter_cause = can ? 0 : errno;
    return can ? FIRN_OK : FIRN_ERROR_COUNTER;
}

int cli_dry_run_step(cli_session *session) {
    char text[500];
    int error = FIRN_OK;
    if (session->info.ring == 0 && !cli_say_samples(session, text, sizeof text))
        error = FIRN_ERROR_DATA_TOO_SHORT;
    if (error == FIRN_OK)
        error = check_counter(session);
    return error == FIRN_OK ? CLI_OK : cli_error(session, error);
}

/* --- what is printed ---------------------------------------------------------------------------------------------- */

static void label(const char *name) {
    printf("%-11s", name);
}

static void print_steps(const cli_dry_run *run) {
    const firn_info *info = &run->session->info;
    const unsigned long long batch = (unsigned long long)info->samples * info->micro_batches;
    firn_sample_counts counts;
    label("steps");
    if (run->last == CLI_NO_END)
        printf("without an end, from step %llu on", (unsigned long long)run->first + 1);
    else if (run->first == run->last)
        printf("none");
    else
        printf("%llu, step %llu to %llu", (unsigned long long)(run->last - run->first),
               (unsigned long long)run->first + 1, (unsigned long long)run->last);
    if (run->last != CLI_NO_END && info->steps != 0)
        printf(" of %llu", (unsigned long long)info->steps);
    printf(", %llu sample%s each\n", batch, cli_s(batch));
    if (info->ring != 0 || run->last == CLI_NO_END ||
        firn_count_samples(&run->session->firn, &run->session->source, &counts) != FIRN_OK || counts.part == 0)
        return;
    label("epochs");
    printf("%.4g of %llu sample%s\n", (double)(run->last - run->first) * (double)batch / (double)counts.part,
           (unsigned long long)counts.part, cli_s(counts.part));
}

/* Bytes of a session: decoded plan, blocks and workspace. */
static uint64_t memory_of(const cli_session *session) {
    uint64_t bytes = session->config.prepared_bytes + session->config.workspace_bytes;
    for (uint32_t i = 0; i < session->blocks.count; i++)
        bytes += session->blocks.list[i].bytes;
    return bytes;
}

/* A line of /proc/meminfo in bytes; 0 if it is not there. */
static uint64_t machine_memory(const char *name) {
    char line[200];
    unsigned long long kibibytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            kibibytes = strtoull(line + strlen(name) + 1, NULL, 10);
    fclose(file);
    return kibibytes * 1024;
}

static void print_memory(const cli_dry_run *run) {
    const uint64_t train = memory_of(run->session), eval = run->evaluation != NULL ? memory_of(run->evaluation) : 0;
    const uint64_t total = machine_memory("MemTotal"), available = machine_memory("MemAvailable");
    label("memory");
    printf("%llu bytes", (unsigned long long)train + eval);
    if (eval != 0)
        printf(": %llu of the training, %llu of the evaluations", (unsigned long long)train, (unsigned long long)eval);
    if (total != 0)
        printf("; the machine has %llu, of which %llu are available now", (unsigned long long)total,
               (unsigned long long)available);
    printf("\n");
}

/* Prints a file that is written: what it is, and whether one is replaced. */
static void print_file(const char *path, const char *what) {
    struct stat status;
    label("writes");
    firn_host_print(stdout, path);
    printf(": %s", what);
    printf("%s\n", stat(path, &status) == 0 && status.st_size > 0 ? "; it is there, and goes on or is replaced" : "");
}

static void print_beside(const char *path, const char *ending, const char *what) {
    label("");
    firn_host_print(stdout, path);
    printf("%s: %s\n", ending, what);
}

/* A checkpoint and what stands beside it. */
static void print_checkpoint(const cli_dry_run *run, const char *path, const char *when) {
    char what[200];
    if (path == NULL)
        return;
    snprintf(what, sizeof what, "a checkpoint of %llu bytes, %s", (unsigned long long)cli_saving_bytes(run->session),
             when);
    print_file(path, what);
    print_beside(path, ".tmp, " CLI_COLUMNS_ENDING " and .lock",
                 "while it is written; names of columns and classes, if there are any; while the run goes on");
}

static void print_files(const cli_dry_run *run) {
    const cli_options *options = run->session->options;
    const bool first = run->session->report.save_initial && !options->resume;
    char when[200] = "at the end";
    if (run->save_every != 0)
        snprintf(when, sizeof when, "every %llu step%s and at the end", (unsigned long long)run->save_every,
                 cli_s(run->save_every));
    if (first)
        snprintf(when + strlen(when), sizeof when - strlen(when), ", and before the first step");
    print_checkpoint(run, options->checkpoint, when);
    print_checkpoint(run, options->keep_best, "of the best evaluation");
    if (options->log != NULL)
        print_file(options->log, "the log, a line for each step and each evaluation");
    if (options->csv != NULL)
        print_file(options->csv, "a table, a row for each step");
    if (options->tensorboard != NULL)
        print_file(options->tensorboard, "a folder, in which an event file for TensorBoard is made");
    if (options->profile != NULL)
        print_file(options->profile, "the times of the ops, at the end");
    if (options->counter != NULL)
        print_file(options->counter, "the security counter, if the plan has a larger one");
    if (options->checkpoint == NULL && options->keep_best == NULL && options->log == NULL && options->csv == NULL &&
        options->tensorboard == NULL && options->profile == NULL && options->counter == NULL) {
        label("writes");
        printf("nothing\n");
    }
}

int cli_dry_run_print(const cli_dry_run *run) {
    const cli_options *options = run->session->options;
    printf("dry run: nothing was run or written\n");
    label("plan");
    firn_host_print(stdout, options->file);
    printf(": %s%s%llu parameter%s, kernels %s\n", run->session->report.model != NULL ? run->session->report.model : "",
           run->session->report.model != NULL ? ", " : "", (unsigned long long)run->session->info.parameters,
           cli_s(run->session->info.parameters), run->session->info.kernels);
    print_steps(run);
    if (run->evaluation != NULL) {
        label("evaluates");
        firn_host_print(stdout, run->evaluation->options->file);
        if (run->eval_every != 0)
            printf(" every %llu step%s and", (unsigned long long)run->eval_every, cli_s(run->eval_every));
        printf(" at the end\n");
    }
    print_memory(run);
    print_files(run);
    return cli_flush();
}
