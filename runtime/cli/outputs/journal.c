/* All that a run writes of each step: the log, the table of --csv and the event files of --tensorboard. One rule holds
 * for the three: room is there before a step, a file that fails ends the run behind a step that is saved, and what is
 * ahead of the checkpoint is dropped when the run goes on. */
#include <errno.h>
#include <string.h>

#include "runtime/cli/cli.h"

static cli_appended *file_at(cli_journal *journal, int i) {
    cli_appended *const files[CLI_JOURNAL_FILES] = {&journal->log.to, &journal->csv.to, &journal->events.to};
    return files[i];
}

static const cli_appended *constant_at(const cli_journal *journal, int i) {
    const cli_appended *const files[CLI_JOURNAL_FILES] = {&journal->log.to, &journal->csv.to, &journal->events.to};
    return files[i];
}

int cli_journal_begin(cli_journal *journal, const cli_session *session, cli_progress *progress,
                      const cli_validation *validation, cli_history *history, uint64_t steps_done) {
    *journal = (cli_journal){.session = session, .progress = progress, .events = {.lock = -1}};
    int status = cli_log_begin(&journal->log, session, history, steps_done);
    if (status == CLI_OK)
        status = cli_csv_begin(&journal->csv, session, validation, steps_done);
    if (status == CLI_OK)
        status = cli_events_begin(&journal->events, session, validation, steps_done);
    return status;
}

int cli_journal_cut_ahead(cli_journal *journal) {
    int status = cli_log_cut_ahead(&journal->log);
    if (status == CLI_OK)
        status = cli_appended_cut_ahead(&journal->csv.to);
    return status == CLI_OK ? cli_events_cut_ahead(&journal->events) : status;
}

/* Notes at once that a file was cut, as entries of it may be lost. */
static void note_cut(const cli_journal *journal, const cli_appended *file, uint64_t step) {
    const bool emptied = file->cut == CLI_FILE_EMPTIED;
    cli_progress_end(journal->progress);
    if (!journal->session->options->quiet)
        firn_host_note("%s was %s after step %llu, and the run goes on%s%s%s", file->path, emptied ? "emptied" : "cut",
                       (unsigned long long)step, emptied ? ": the " : "", emptied ? cli_appended_noun(file) : "",
                       emptied ? " begins again with its first line" : "");
}

bool cli_journal_reserve(cli_journal *journal, uint64_t step) {
    bool room = true;
    for (int i = 0; i < CLI_JOURNAL_FILES; i++) {
        cli_appended *file = file_at(journal, i);
        const cli_file_cut cut = file->cut;
        room = cli_appended_reserve(file) && room;
        if (file->cut != cut)
            note_cut(journal, file, step);
    }
    return room;
}

bool cli_journal_step(cli_journal *journal, const firn_step_report *report, int error, double seconds, double elapsed,
                      bool due) {
    const bool logged = cli_log_step(&journal->log, report, error, seconds, elapsed);
    const bool listed = cli_csv_step(&journal->csv, report, error, seconds, elapsed, due);
    return cli_events_step(&journal->events, report, error, seconds) && logged && listed;
}

bool cli_journal_evaluation(cli_journal *journal, uint64_t step, const cli_validation *validation, double seconds,
                            double elapsed) {
    const bool logged =
        cli_log_evaluation(&journal->log, step, validation->metrics, validation->metric_count, seconds, elapsed);
    const bool listed = cli_csv_evaluation(&journal->csv, step);
    return cli_events_evaluation(&journal->events, step) && logged && listed;
}

bool cli_journal_sync(cli_journal *journal) {
    bool synced = cli_csv_flush(&journal->csv);
    for (int i = 0; i < CLI_JOURNAL_FILES; i++)
        synced = cli_appended_sync(file_at(journal, i)) && synced;
    return synced;
}

bool cli_journal_failed(const cli_journal *journal) {
    for (int i = 0; i < CLI_JOURNAL_FILES; i++)
        if (constant_at(journal, i)->failed != 0)
            return true;
    return false;
}

void cli_journal_finish(cli_journal *journal) {
    (void)cli_csv_flush(&journal->csv);
    for (int i = 0; i < CLI_JOURNAL_FILES; i++)
        cli_appended_look(file_at(journal, i));
}

/* Says what is wrong with one file. Returns false if nothing is. */
static bool report_file(const cli_appended *file, bool good, uint64_t step, const char *kept) {
    if (file->failed != 0) {
        errno = file->failed;
        firn_host_fail(file->path, "%s cannot be written: %s; %s; the run stopped after step %llu, and %s", file->what,
                       strerror(file->failed), firn_host_room(), (unsigned long long)step, kept);
        return true;
    }
    const bool cut = file->cut == CLI_FILE_CUT;
    if (!good || (!cut && cli_appended_is_there(file)))
        return false;
    if (cut)
        firn_host_fail(file->path, "%s was cut during the run, and lines of it are lost; %s", file->what, kept);
    else
        firn_host_fail(file->path, "%s was removed during the run, and its lines are lost; %s", file->what, kept);
    return true;
}

int cli_journal_report(const cli_journal *journal, int status, uint64_t step, const char *kept) {
    for (int i = 0; i < CLI_JOURNAL_FILES; i++)
        if (report_file(constant_at(journal, i), status == CLI_OK, step, kept))
            return CLI_FILE;
    return status;
}

void cli_journal_end(cli_journal *journal, bool failed) {
    cli_log_end(&journal->log, failed);
    cli_csv_end(&journal->csv, failed);
    cli_events_end(&journal->events, failed);
}
