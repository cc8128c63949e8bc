/* firn report: writes one HTML file about logs of runs, and the plan that they ran. It needs no network and no other
 * file. All that was read is in it as JSON in a script of its own type, which page.js shows as text only; so no name in
 * a log or a plan can become a tag or a command. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/report/report.h"

enum { BUCKETS_ONE = 2048, BUCKETS_ALL = 4096, BUCKETS_LEAST = 128 };

typedef struct page {
    const cli_options *options;
    report_log runs[REPORT_RUNS_MAX];
    uint32_t run_count;
    report_plan plan;
    report_profile profile;
    report_matrix matrix;
    char *library;
    size_t library_length;
} page;

/* --- reading --- */

/* Marks the logs of another plan, and notes them. */
static void compare_plan(page *p) {
    char hash[65];
    cli_hex(hash, p->plan.info.run_hash);
    for (uint32_t i = 0; i < p->run_count; i++) {
        const char *said = report_log_said(&p->runs[i], "run_hash");
        p->runs[i].other_plan = said != NULL && strcmp(said, hash) != 0;
        if (p->runs[i].other_plan && !p->options->quiet)
            firn_host_note("%s is the log of another plan than %s, by its run hash", p->runs[i].path, p->options->file);
    }
}

/* Whether another log has the steps before the first one of a log. */
static bool has_steps_before(const page *p, const report_log *log) {
    for (uint32_t i = 0; i < p->run_count; i++)
        if (p->runs[i].steps != 0 && p->runs[i].first_step < log->first_step &&
            p->runs[i].last_step + 1 >= log->first_step)
            return true;
    return false;
}

/* Notes logs of runs that continue others, because what is said of such a log is of its own steps. */
static void note_continued(const page *p) {
    for (uint32_t i = 0; i < p->run_count; i++) {
        const report_log *log = &p->runs[i];
        if (log->first_step > 1 && !has_steps_before(p, log))
            firn_host_note(
                "%s begins with step %llu, as that of a run that continues another: the page judges the steps "
                "from there on alone; give the log of the run before it behind it, too",
                log->path, (unsigned long long)log->first_step);
    }
}

static int read_runs(page *p) {
    const cli_options *options = p->options;
    const uint32_t share = options->data_count == 0 ? 0 : BUCKETS_ALL / options->data_count;
    const uint32_t most = share > BUCKETS_ONE ? BUCKETS_ONE : share < BUCKETS_LEAST ? BUCKETS_LEAST : share;
    int status = CLI_OK;
    for (uint32_t i = 0; status == CLI_OK && i < options->data_count; i++)
        status = report_log_read(&p->runs[p->run_count++], options->data[i], most);
    if (status == CLI_OK)
        report_logs_name(p->runs, p->run_count);
    if (status == CLI_OK && !options->quiet)
        note_continued(p);
    return status;
}

static int read_all(page *p) {
    const cli_options *options = p->options;
    int status = report_logs_check(options, "page", "HTML", ".html");
    if (status == CLI_OK)
        status = cli_is_stream(options->output) || firn_host_replaceable(options->output) ? read_runs(p) : CLI_FILE;
    if (status == CLI_OK && options->file != NULL)
        status = report_plan_read(&p->plan, options);
    if (status == CLI_OK && options->profile != NULL)
        status = report_profile_read(&p->profile, options->profile, options->file != NULL ? &p->plan : NULL);
    if (status == CLI_OK && options->matrix != NULL)
        status = report_matrix_read(&p->matrix, options->matrix);
    if (status == CLI_OK && options->file != NULL)
        compare_plan(p);
    if (status == CLI_OK)
        status = report_library_read(&p->library, &p->library_length);
    return status;
}

/* --- writing --- */

static void put_data(FILE *to, const page *p) {
    fputs("{\"firn\":\"" FIRN_VERSION "\",\"runs\":[", to);
    for (uint32_t i = 0; i < p->run_count; i++) {
        fputs(i == 0 ? "" : ",\n", to);
        report_log_put(to, &p->runs[i]);
    }
    fputc(']', to);
    if (p->options->file != NULL) {
        fputs(",\n\"plan\":", to);
        report_plan_put(to, &p->plan);
    }
    if (p->options->profile != NULL) {
        fputs(",\n\"profile\":", to);
        report_profile_put(to, &p->profile);
    }
    if (p->options->matrix != NULL) {
        fputs(",\n\"confusion\":", to);
        report_matrix_put(to, &p->matrix);
    }
    fputc('}', to);
}

/* Writes a script so that no text in it ends its element. */
static void put_script(FILE *to, const char *text) {
    static const char end[] = "</";
    for (const char *next; (next = strstr(text, end)) != NULL; text = next + sizeof end - 1) {
        fwrite(text, 1, (size_t)(next - text), to);
        fputs("<\\/", to);
    }
    fputs(text, to);
}

/* Writes the page: page.html, whose marks stand for what is put in. */
static void put_page(FILE *to, const page *p) {
    static const char begin[] = "<!--@", end[] = "-->";
    const char *at = report_page_html;
    for (const char *mark; (mark = strstr(at, begin)) != NULL;) {
        fwrite(at, 1, (size_t)(mark - at), to);
        const char *name = mark + sizeof begin - 1;
        if (strncmp(name, "style", 5) == 0)
            fputs(report_page_css, to);
        else if (strncmp(name, "data", 4) == 0)
            put_data(to, p);
        else if (strncmp(name, "library", 7) == 0)
            put_script(to, p->library);
        else
            put_script(to, report_page_js);
        at = strstr(mark, end) + sizeof end - 1;
    }
    fputs(at, to);
}

int report_write(const char *path, void (*put)(FILE *to, const void *what), const void *what) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to != NULL)
        put(to, what);
    if (to == NULL || fclose(to) != 0) {
        firn_host_fail("memory", "%s; free some, or raise its limit (ulimit -v)", strerror(errno));
        free(text);
        return CLI_FILE;
    }
    if (cli_is_stream(path)) {
        fwrite(text, 1, length, stdout); /* cli_flush sees whether that failed */
        free(text);
        return cli_flush();
    }
    firn_host_replacement file = {.file = -1};
    const bool written = firn_host_replace_begin(&file, path) && firn_host_replace_write(&file, 0, text, length) &&
                         firn_host_replace_end(&file);
    if (!written)
        firn_host_replace_fail(&file, path);
    free(text);
    return written ? CLI_OK : CLI_FILE;
}

static void put(FILE *to, const void *what) {
    put_page(to, what);
}

int cli_report_page(const cli_options *options) {
    static page p;
    p.options = options;
    int status = read_all(&p);
    if (status == CLI_OK)
        status = report_write(options->output, put, &p);
    for (uint32_t i = 0; i < p.run_count; i++)
        report_log_free(&p.runs[i]);
    report_plan_free(&p.plan);
    report_profile_free(&p.profile);
    report_matrix_free(&p.matrix);
    free(p.library);
    return status;
}
