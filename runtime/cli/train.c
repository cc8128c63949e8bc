/* firn train: runs steps until the run is complete (if it has an end), the requested number is done, a signal arrives,
 * a value is not finite, or evaluations have not become better for long enough. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

typedef struct run {
    cli_session session;
    cli_saving saving;
    cli_journal journal;
    cli_progress progress;
    cli_validation validation;
    cli_best best;
    cli_history history; /* the evaluations in the log */
    cli_profile profile;
    uint64_t first, last; /* global steps at the beginning and the end of this call; last may be CLI_NO_END */
    bool data_ended;      /* the data have come to their end, and so has the run */
    bool over;            /* --patience has ended the run */
} run;

/* Returns the global step after which this call ends, or CLI_NO_END. */
static uint64_t last_step(const cli_session *session, uint64_t first) {
    const uint64_t end = session->info.steps != 0 ? session->info.steps : CLI_NO_END;
    bool fewer = session->options->steps_given && session->options->steps < end - first;
    return fewer ? first + session->options->steps : end;
}

static int begin_state(run *run) {
    cli_session *session = &run->session;
    bool resume = session->options->resume;
    int status = resume ? cli_restore(session) : CLI_OK;
    if (status != CLI_OK)
        return status;
    int error = resume ? FIRN_OK : cli_initialise(session);
    if (error == FIRN_OK)
        error = firn_progress(&session->firn, &run->first);
    if (error != FIRN_OK)
        return cli_error(session, error);
    run->last = last_step(session, run->first);
    run->saving.saved = resume ? run->first : CLI_NOT_SAVED;
    return CLI_OK;
}

/* The interval of saves, in steps; 0: only at the end. */
static uint64_t save_every(const run *run) {
    const uint64_t given = run->session.options->checkpoint_every;
    return given != 0 ? given : run->session.report.checkpoint_steps;
}

/* Flushes the journal to the disk and then saves the state, so that no file of it is behind its checkpoint. The state
 * is saved even if a file cannot be flushed. */
static int save(run *run, uint64_t step, uint64_t next) {
    if (run->session.options->checkpoint == NULL || run->saving.saved == step)
        return CLI_OK;
    cli_journal_sync(&run->journal);
    return cli_saving_save(&run->saving, step, next);
}

/* Returns true if a resumed run has no step left that was asked for. */
static bool is_complete(const run *run) {
    const cli_options *options = run->session.options;
    return options->resume && run->first == run->last && !(options->steps_given && options->steps == 0);
}

static int print_digest(run *run) {
    uint8_t digest[32];
    int error = cli_state_digest(&run->session, digest);
    return error == FIRN_OK ? cli_print_digest(digest) : cli_error(&run->session, error);
}

/* Returns true if the state after `step` has to be evaluated, and was not yet. */
static bool is_due(const run *run, uint64_t step) {
    const cli_validation *validation = &run->validation;
    if (!validation->on || step == 0 || validation->step == step)
        return false;
    const bool ends = step == run->session.info.steps || run->data_ended;
    return ends || (validation->every != 0 && step % validation->every == 0);
}

/* Says that there was nothing to do. The digest is that of the end of the run, as if this call had run its last step.
 */
static int finish_complete(run *run) {
    firn_host_fail(run->session.options->checkpoint,
                   "the run is complete at step %llu: nothing is left to do; a longer run takes another plan, which "
                   "firnc compile --continue makes of its recipe and this checkpoint",
                   (unsigned long long)run->first);
    const int status = print_digest(run);
    return status == CLI_OK ? CLI_COMPLETE : status;
}

/* Says that --patience had ended the run already. */
static int finish_over(run *run) {
    char why[200];
    cli_best_say(&run->best, why, sizeof why);
    firn_host_fail(
        run->session.options->checkpoint,
        "the run was ended after step %llu by --patience: %s; nothing is left to do; a --patience above %llu "
        "goes on",
        (unsigned long long)run->first, why, (unsigned long long)run->best.since);
    const int status = print_digest(run);
    return status == CLI_OK ? CLI_COMPLETE : status;
}

/* If the sampler stops at the end of the data, that end is not an error but the end of the run. What is wrong with the
 * data or the log is said at the end, together with what was saved. */
static int stop_by_error(run *run, const firn_step_report *report, int error) {
    cli_progress_end(&run->progress);
    if (error == FIRN_ERROR_DATA_END) {
        run->data_ended = true;
        if (run->session.options->resume && report->global_step == run->first && !is_due(run, run->first))
            return finish_complete(run);
        if (!run->session.options->quiet)
            firn_host_note("the data has come to its end after step %llu", (unsigned long long)report->global_step);
        return CLI_OK;
    }
    if (error == FIRN_ERROR_SOURCE)
        return CLI_FILE;
    if (error == FIRN_ERROR_LOSS_NOT_FINITE && !cli_parameters_finite(&run->session))
        return cli_saving_refuse(&run->saving);
    return cli_error(&run->session, error);
}

/* Notes the first step whose loss is 0 because none of its rows counts. */
static void note_empty(run *run, uint64_t step) {
    const cli_session *session = &run->session;
    char why[200];
    if (session->options->quiet || session->numbers.empty == 0 || session->numbers.first_empty != step)
        return;
    cli_progress_end(&run->progress);
    cli_rows_say(session, session->numbers.why_empty, 0, why, sizeof why);
    firn_host_note("no row of step %llu counts, so that its loss and its gradients are 0: %s", (unsigned long long)step,
                   why);
}

/* Notes a file that was written without a change of its contents. */
static void note_touched(run *run, uint64_t step) {
    const char *name = firn_host_data_touched(&run->session.data, step);
    if (name == NULL || run->session.options->quiet)
        return;
    cli_progress_end(&run->progress);
    firn_host_note("%s was touched or written during the run; it has the contents that it had (SHA-256), and the run "
                   "goes on",
                   name);
}

/* Runs one step and logs it. *step becomes the number of steps done in total. */
static int run_step(run *run, uint64_t *step) {
    firn_step_report report = {0};
    double before = cli_seconds();
    cli_numbers_begin_step(&run->session);
    int error = cli_push_batch(&run->session, *step);
    cli_profile_begin_step(&run->profile);
    if (error == FIRN_OK)
        error = cli_train_step(&run->session, &report);
    double now = cli_seconds();
    bool done = error == FIRN_OK || error == FIRN_ERROR_LOSS_SCALE_FLOOR;
    cli_profile_end_step(&run->profile, done, report.skipped);
    *step = done ? report.global_step : *step;
    if (done)
        cli_numbers_end_step(&run->session, &report);
    bool logged = (!done && error != FIRN_ERROR_LOSS_NOT_FINITE) ||
                  cli_journal_step(&run->journal, &report, error, now - before, now - run->progress.started,
                                   error == FIRN_OK && is_due(run, *step));
    if (done) {
        cli_progress_step(&run->progress, &report);
        note_empty(run, report.global_step);
    }
    if (error != FIRN_OK) {
        report.global_step = *step;
        return stop_by_error(run, &report, error);
    }
    error = cli_session_confirm(&run->session);
    if (error != FIRN_OK) {
        cli_progress_end(&run->progress);
        return cli_error(&run->session, error);
    }
    const bool unchanged = firn_host_data_look(&run->session.data, *step);
    note_touched(run, *step);
    return logged && unchanged ? CLI_OK : CLI_FILE;
}

/* Shows the values of an evaluation, in a line of their own and at the end of the lines that follow. */
static void show_evaluation(run *run, uint64_t step) {
    const cli_validation *validation = &run->validation;
    const cli_metric *by = &validation->metrics[validation->by];
    char text[1000] = "";
    if (run->session.options->quiet)
        return;
    cli_progress_evaluated(&run->progress, by->name, by->value, run->best.best.value, run->best.best.step);
    for (uint32_t i = 0; i < validation->metric_count; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s %.9g", i == 0 ? "" : ", ", validation->metrics[i].name,
                 (double)validation->metrics[i].value);
    }
    cli_progress_end(&run->progress);
    firn_host_note("step %llu: eval %s%s", (unsigned long long)step, text,
                   run->best.best.step == step ? ", the best so far" : "");
}

/* Evaluates the state after `step` if that is due, logs the values and keeps the best state. A signal leaves the
 * evaluation undone, and a resumed run begins with it. */
static int validate(run *run, uint64_t step) {
    bool done;
    if (!is_due(run, step) || cli_signals_came())
        return CLI_OK;
    if (!cli_journal_reserve(&run->journal, step))
        return CLI_FILE;
    const double before = cli_seconds();
    int status = cli_validation_run(&run->validation, step, &done);
    if (status != CLI_OK || !done)
        return status;
    const double now = cli_seconds();
    if (!cli_journal_evaluation(&run->journal, step, &run->validation, now - before, now - run->progress.started))
        return CLI_FILE;
    if (cli_best_is_kept(&run->best)) /* the line is on the disk before the file, which is refused without it */
        cli_journal_sync(&run->journal);
    status = cli_best_take(&run->best, step);
    show_evaluation(run, step);
    run->over = status == CLI_OK && cli_best_is_over(&run->best);
    return status;
}

/* Returns the step of the next periodic save after one at `step`, or the last step of this call. */
static uint64_t next_save(const run *run, uint64_t step) {
    const uint64_t every = save_every(run);
    return every == 0 || run->last - step < every ? run->last : step + every;
}

/* Runs the steps. *step becomes the number of steps done in total; the caller saves that state however the run
 * ended. */
static int run_steps(run *run, uint64_t *step) {
    const uint64_t every = save_every(run);
    int status = validate(run, *step); /* a run that was interrupted may have left it undone */
    while (status == CLI_OK && *step < run->last && !run->over && !cli_signals_came()) {
        const uint64_t before = *step;
        status = cli_journal_reserve(&run->journal, *step) ? run_step(run, step) : CLI_FILE;
        if (status == CLI_OK) /* also if the data has come to its end */
            status = validate(run, *step);
        if (status != CLI_OK || *step == before)
            break;
        if (every == 0 || *step % every != 0 || *step == run->last || run->over)
            continue;
        status = firn_host_data_unchanged(&run->session.data) ? save(run, *step, next_save(run, *step)) : CLI_FILE;
        if (cli_journal_failed(&run->journal))
            status = CLI_FILE;
    }
    cli_progress_end(&run->progress);
    return status;
}

/* --- the end of a run --------------------------------------------------------------------------------------------- */

/* The state is saved first, because all messages say where it is. Then come a fault of the data or the log, the digest
 * if nothing failed, and notes. save_at_end and report_fault take the exit code so far and return the one from then on.
 */

/* Saves the state, also after an error. A run that failed before its first step, because its data or its plan is wrong,
 * must not replace an existing checkpoint. */
static int save_at_end(run *run, int status, uint64_t step) {
    bool failed = status != CLI_OK && status != CLI_NUMBERS;
    if (run->saving.ruined || (failed && step == run->first))
        return status;
    if (status != CLI_OK && !cli_parameters_finite(&run->session)) /* the cause has already been reported */
        return status;
    int saving = save(run, step, CLI_NO_END);
    return status != CLI_OK ? status : saving;
}

/* Returns the data file that is at fault, of the training or of its evaluations, and writes what is wrong with it.
 * NULL: none is. */
static const char *fault_of_data(const run *run, char *text, size_t size) {
    const char *file = cli_data_fault(&run->session, text, size);
    return file == NULL && run->validation.on ? firn_host_data_fault(&run->validation.session.data, text, size) : file;
}

/* Reports what is wrong with a data file or the journal, if something is, and what was saved. */
static int report_fault(const run *run, int status, uint64_t step) {
    char kept[5000], fault[200];
    cli_saving_describe(&run->saving, step, kept, sizeof kept);
    const char *file = fault_of_data(run, fault, sizeof fault);
    if (file != NULL) {
        firn_host_fail(file, "%s (%s); the run stopped after step %llu, and %s; %s where nobody changes the file",
                       fault, firn_error_name(FIRN_ERROR_SOURCE), (unsigned long long)step, kept,
                       run->saving.saved != CLI_NOT_SAVED ? "give it as it was and go on by --resume" : "run again");
        return CLI_FILE;
    }
    return cli_journal_report(&run->journal, status, step, kept);
}

/* Whether the steps of this call are a whole run, or have read as many samples as there are. */
static bool has_seen_all(const run *run, uint64_t step) {
    const firn_info *info = &run->session.info;
    firn_sample_counts counts;
    if (run->first == 0 && step == info->steps)
        return true;
    return info->ring == 0 && firn_count_samples(&run->session.firn, &run->session.source, &counts) == FIRN_OK &&
           (step - run->first) * info->samples * info->micro_batches >= counts.part;
}

/* Says that steps had no row that counts. It is an error if that were all steps, and other data would have been no
 * better. Takes and returns the exit code like the functions above. */
static int report_empty(const run *run, int status, uint64_t step) {
    const cli_session *session = &run->session;
    const cli_numbers *numbers = &session->numbers;
    const unsigned long long empty = numbers->empty, steps = numbers->steps;
    char kept[5000], why[200];
    if (empty == 0 || status != CLI_OK)
        return status;
    if (empty != steps || !has_seen_all(run, step) || cli_signals_came()) {
        if (!session->options->quiet)
            firn_host_note("%llu of %llu steps had no row that counts", empty, steps);
        return status;
    }
    cli_saving_describe(&run->saving, step, kept, sizeof kept);
    cli_rows_say(session, numbers->why_empty, 0, why, sizeof why);
    firn_host_fail(cli_rows_file(session, numbers->why_empty),
                   "%llu of %llu steps had no row that counts, so that nothing was learned (%s): in step %llu %s; %s",
                   empty, steps, firn_error_name(FIRN_ERROR_NO_ROWS), (unsigned long long)numbers->first_empty, why,
                   kept);
    return CLI_FILE;
}

/* Notes what was saved, after the message about the error that stopped the run. */
static void note_saved(const run *run, uint64_t step) {
    char kept[5000];
    if (run->session.options->quiet || run->saving.saved != step || step == run->first)
        return;
    cli_saving_describe(&run->saving, step, kept, sizeof kept);
    firn_host_note("the run stopped after step %llu, and %s; --resume goes on", (unsigned long long)step, kept);
}

/* Notes why the run ended, if that was before all steps of --steps, and that the parameters were kept nowhere. */
static void note_end(const run *run, uint64_t step) {
    const cli_options *options = run->session.options;
    char why[200];
    if (run->over) {
        cli_best_say(&run->best, why, sizeof why);
        firn_host_note("the run ends after step %llu by --patience %llu: %s; --resume with a larger one goes on",
                       (unsigned long long)step, (unsigned long long)options->patience, why);
    }
    if (options->quiet || step == run->first)
        return;
    if (options->steps_given && step == run->last && step - run->first < options->steps)
        firn_host_note("the run is complete at step %llu, after %llu of the %llu steps", (unsigned long long)step,
                       (unsigned long long)(step - run->first), (unsigned long long)options->steps);
    if (options->checkpoint == NULL && run->best.kept.step == 0)
        firn_host_note("the trained parameters were kept nowhere, without --checkpoint");
}

/* Notes that a signal ended the run, and where its state is. */
static int finish_interrupted(const run *run, uint64_t step) {
    const char *checkpoint = run->session.options->checkpoint;
    if (checkpoint != NULL)
        firn_host_note("interrupted after step %llu; %s has it, --resume goes on", (unsigned long long)step,
                       checkpoint);
    else
        firn_host_note("interrupted after step %llu; nothing was saved without --checkpoint", (unsigned long long)step);
    return CLI_INTERRUPTED;
}

/* Ends a run that stopped after `step` with the exit code `status`. */
static int finish(run *run, int status, uint64_t step) {
    const bool ended = run->over || (step == run->last && !is_due(run, step));
    const bool interrupted = cli_signals_came() && status == CLI_OK && !ended;
    if (!firn_host_data_unchanged(&run->session.data))
        status = CLI_FILE;
    cli_journal_finish(&run->journal);
    status = save_at_end(run, status, step);
    cli_best_note(&run->best);
    int reported = report_empty(run, report_fault(run, status, step), step);
    reported = reported == CLI_OK ? cli_best_check(&run->best) : reported;
    const bool fault_is_new = reported != status; /* its message has said what was saved */
    status = reported == CLI_OK ? print_digest(run) : reported;
    if (status != CLI_OK && !fault_is_new)
        note_saved(run, step);
    if (status != CLI_OK)
        return status;
    if (interrupted)
        return finish_interrupted(run, step);
    note_end(run, step);
    return CLI_OK;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Notes that a run has no end, and that without --checkpoint its parameters are kept nowhere. */
static void note_begin(const run *run) {
    if (run->session.options->quiet)
        return;
    if (run->last == CLI_NO_END)
        firn_host_note("this run has no end: it goes on until it is interrupted; --steps N runs N steps");
    if (run->session.options->checkpoint == NULL && run->session.options->keep_best == NULL && run->first < run->last)
        firn_host_note("without --checkpoint FILE the trained parameters are kept nowhere");
}

/* Notes that the data are not those of the run that this one continues, whose place in them it takes over. */
static void note_origin(const run *run) {
    const cli_session *session = &run->session;
    const cli_report *report = &session->report;
    char here[65];
    cli_hex(here, session->data.sha256);
    if (session->options->quiet || session->options->resume || report->origin_cursor == 0 ||
        report->origin_data == NULL || strcmp(report->origin_data, here) == 0)
        return;
    firn_host_note("these are not the data of the run that this one continues, and it begins with their sample %llu; "
                   "firnc compile --continue --restart-data begins with the first",
                   (unsigned long long)report->origin_cursor);
}

/* Returns true if a stream has another hash than that of the statistics; NULL: that is not known. */
static bool has_other_data(const cli_session *session, uint32_t stream, const char *wanted) {
    uint8_t hash[FIRN_HASH_BYTES];
    char here[65];
    if (wanted == NULL || !firn_host_data_hash(&session->data, stream, hash))
        return false;
    cli_hex(here, hash);
    return strcmp(here, wanted) != 0;
}

/* Notes that the data or targets are others than those whose statistics standardise them. */
static void note_statistics(const run *run) {
    const cli_session *session = &run->session;
    const cli_report *report = &session->report;
    if (session->options->quiet)
        return;
    const bool data = cli_has_statistics(session) && has_other_data(session, 0, report->statistics_data);
    const bool targets = cli_standardises_targets(session) && has_other_data(session, 1, report->statistics_targets);
    if (data || targets)
        firn_host_note("the plan standardises by statistics of other %s than these; if that is not meant, make them "
                       "again by firn data-statistics, and compile the plan with them",
                       data ? "data" : "targets");
}

/* Reserves room for what the run saves, and opens the journal. */
static int begin_outputs(run *run) {
    const cli_validation *validation = &run->validation;
    int status = cli_saving_reserve(&run->saving, 0);
    if (status == CLI_OK)
        status = cli_saving_reserve(&run->best.saving, run->saving.path != NULL ? cli_saving_bytes(&run->session) : 0);
    if (status != CLI_OK)
        return status;
    if (validation->on)
        run->history = (cli_history){.run_hash = validation->session.info.run_hash,
                                     .data_sha256 = validation->session.data.sha256,
                                     .name = validation->metrics[validation->by].name};
    return cli_journal_begin(&run->journal, &run->session, &run->progress, validation,
                             validation->on ? &run->history : NULL, run->first);
}

/* Goes on with the evaluations that the log has. */
static int begin_evaluations(run *run) {
    cli_validation *validation = &run->validation;
    const cli_history *history = &run->history;
    const cli_options *options = run->session.options;
    if (!validation->on)
        return CLI_OK;
    if ((options->keep_best != NULL || options->patience != 0) && !cli_appended_is_file(&run->journal.log.to)) {
        firn_host_fail(options->log,
                       "is no regular file, from which --resume could read the evaluations for %s; give the "
                       "name of a file",
                       options->keep_best != NULL ? "--keep-best" : "--patience");
        return CLI_FILE;
    }
    validation->step = history->count != 0 ? history->list[history->count - 1].step : 0;
    return cli_best_go_on(&run->best, &validation->metrics[validation->by], history, run->first);
}

/* Claims the files, fills the state and opens the plan that evaluates it. */
static int begin(run *run) {
    int status = cli_saving_claim(&run->saving, &run->session, &run->session.port, &run->progress);
    if (status == CLI_OK)
        status = cli_best_claim(&run->best, &run->session, &run->progress);
    if (status == CLI_OK)
        status = begin_state(run);
    if (status == CLI_OK && run->session.options->eval == NULL && is_complete(run))
        return finish_complete(run);
    if (status == CLI_OK)
        status = cli_push_begin(&run->session, run->first);
    if (status == CLI_OK)
        status = cli_profile_begin(&run->profile, &run->session);
    if (status == CLI_OK)
        status = cli_validation_begin(&run->validation, &run->session, &run->progress);
    if (status == CLI_OK)
        status = begin_outputs(run);
    if (status == CLI_OK)
        status = begin_evaluations(run);
    if (status == CLI_OK)
        status = cli_columns_keep(&run->session, run->session.options->checkpoint);
    if (status == CLI_OK)
        status = cli_columns_keep(&run->session, run->session.options->keep_best);
    if (status == CLI_OK)
        status = cli_journal_cut_ahead(&run->journal);
    if (status == CLI_OK && run->validation.on && is_complete(run) && !is_due(run, run->first))
        return finish_complete(run);
    if (status == CLI_OK && run->validation.on && run->session.options->resume && cli_best_is_over(&run->best))
        return finish_over(run);
    return status;
}

/* Says what the run would be, which has begun and runs no step. */
static int describe(run *run) {
    const cli_validation *validation = &run->validation;
    const int status = cli_dry_run_step(&run->session);
    if (status != CLI_OK)
        return status;
    return cli_dry_run_print(&(cli_dry_run){.session = &run->session,
                                            .evaluation = validation->on ? &validation->session : NULL,
                                            .first = run->first,
                                            .last = run->last,
                                            .save_every = save_every(run),
                                            .eval_every = validation->every});
}

static int train(run *run) {
    cli_signals_catch();
    int status = begin(run);
    if (status != CLI_OK)
        return status;
    cli_note_data(&run->session);
    note_origin(run);
    note_statistics(run);
    cli_validation_note(&run->validation);
    note_begin(run);
    if (run->session.options->dry_run)
        return describe(run);
    cli_progress_begin(&run->progress, &run->session, run->first, run->last);
    if (run->history.count != 0)
        cli_progress_evaluated(&run->progress, run->history.name, run->history.list[run->history.count - 1].value,
                               run->best.best.value, run->best.best.step);
    uint64_t step = run->first;
    if (run->session.report.save_initial && !run->session.options->resume && step < run->last)
        status = save(run, step, next_save(run, step));
    if (status == CLI_OK)
        status = run_steps(run, &step);
    return finish(run, status, step);
}

int cli_train(const cli_options *options) {
    static run run;
    int status = cli_dry_run_check(options);
    if (status != CLI_OK)
        return status;
    status = cli_session_begin(&run.session, options, false);
    if (status == CLI_OK)
        status = train(&run);
    const int profiled = options->dry_run ? CLI_OK : cli_profile_write(&run.profile);
    status = status == CLI_OK ? profiled : status;
    cli_profile_end(&run.profile);
    cli_journal_end(&run.journal, status != CLI_OK);
    free(run.history.list);
    cli_validation_end(&run.validation);
    cli_session_end(&run.session);
    cli_best_end(&run.best);
    cli_saving_end(&run.saving);
    return status;
}
