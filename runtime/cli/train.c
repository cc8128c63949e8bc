/* firn train: runs steps until the run is complete (if it has an end), the requested number is done, a signal arrives,
 * or a value is not finite. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

/* Set by the first signal. A second SIGINT or SIGTERM has its default action; a second SIGHUP has no effect, because a
 * terminal that closes may send two. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    static const char once[] = "stopping after this step\n",
                      again[] = "stopping after this step; again to stop at once\n";
    int error = errno;
    interrupted = 1;
    if (signal_number == SIGHUP)
        (void)!write(STDERR_FILENO, once, sizeof once - 1);
    else
        (void)!write(STDERR_FILENO, again, sizeof again - 1);
    errno = error;
}

/* Installs the handler, unless the caller ignores the signal: SIGHUP under nohup, SIGINT in the background of a
 * script. */
static void catch_signal(int number, unsigned flags) {
    struct sigaction before, action = {.sa_handler = interrupt, .sa_flags = (int)flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

/* SIGPIPE is ignored because the reader of the messages often ends together with the run; a message that cannot be
 * delivered must not end the process before the state is saved. */
static void catch_signals(void) {
    catch_signal(SIGINT, (unsigned)SA_RESETHAND);
    catch_signal(SIGTERM, (unsigned)SA_RESETHAND);
    catch_signal(SIGHUP, 0);
    signal(SIGPIPE, SIG_IGN);
}

typedef struct run {
    cli_session session;
    firn_host_lock lock; /* of the checkpoint */
    cli_log log;
    cli_progress progress;
    uint64_t first, last; /* global steps at the beginning and the end of this call; last may be CLI_NO_END */
    uint64_t saved;       /* global step of the checkpoint on disk, or UINT64_MAX */
    bool stuck;           /* the checkpoint must not be written any more */
} run;

/* Locks the checkpoint and refuses one that exists, unless --resume was given. A path that cannot be replaced is
 * reported here, before any step runs. */
static int claim_checkpoint(run *run) {
    const cli_options *options = run->session.options;
    if (options->checkpoint == NULL)
        return CLI_OK;
    if (!firn_host_replaceable(options->checkpoint) || !firn_host_lock_take(&run->lock, options->checkpoint))
        return CLI_FILE;
    const firn_storage *storage = run->session.port.port.storage;
    if (options->resume || storage->stored(run->session.port.port.context) == 0)
        return CLI_OK;
    firn_host_fail(options->checkpoint, "is there already; give --resume to go on with it, or another name");
    return CLI_FILE;
}

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
    int error = resume ? FIRN_OK : firn_initialise(&session->firn);
    if (error == FIRN_OK)
        error = firn_progress(&session->firn, &run->first);
    if (error != FIRN_OK)
        return cli_error(session, error);
    run->last = last_step(session, run->first);
    run->saved = resume ? run->first : UINT64_MAX;
    return CLI_OK;
}

/* Stops without saving: a state that cannot be resumed must not replace one that can. */
static int stop_ruined(run *run) {
    char text[800];
    run->stuck = true;
    const char *where = cli_say_not_finite(
        &run->session, run->saved != UINT64_MAX ? ", and the checkpoint was left as it was" : ", and nothing was saved",
        text, sizeof text);
    firn_host_fail(where, "a parameter is NaN or infinite (%s); %s", firn_error_name(FIRN_ERROR_LOSS_NOT_FINITE), text);
    return CLI_NUMBERS;
}

/* Saves the state if its parameters are finite. The log is flushed to the disk first, so that it is never behind its
 * checkpoint. */
static int save(run *run, uint64_t step) {
    if (run->session.options->checkpoint == NULL || run->saved == step)
        return CLI_OK;
    if (!cli_parameters_finite(&run->session)) {
        cli_progress_end(&run->progress);
        return stop_ruined(run);
    }
    run->stuck = !cli_log_sync(&run->log);
    if (run->stuck)
        return CLI_FILE;
    int error = firn_save(&run->session.firn);
    run->stuck = error != FIRN_OK;
    if (error != FIRN_OK) {
        cli_progress_end(&run->progress);
        return cli_error(&run->session, error);
    }
    run->saved = step;
    return CLI_OK;
}

/* If the sampler stops at the end of the data, that end is not an error but the end of the run. */
static int stop_by_error(run *run, const firn_step_report *report, int error) {
    cli_progress_end(&run->progress);
    if (error == FIRN_ERROR_DATA_END) {
        if (!run->session.options->quiet)
            firn_host_note("the data has come to its end after step %llu", (unsigned long long)report->global_step);
        return CLI_OK;
    }
    if (error == FIRN_ERROR_LOSS_NOT_FINITE && !cli_parameters_finite(&run->session))
        return stop_ruined(run);
    return cli_error(&run->session, error);
}

/* Runs the steps. *step becomes the number of steps done in total; the caller saves that state however the run
 * ended. */
static int run_steps(run *run, uint64_t *step) {
    uint64_t every = run->session.options->checkpoint_every;
    if (every == 0)
        every = run->session.report.checkpoint_steps;
    int status = CLI_OK;
    while (status == CLI_OK && *step < run->last && !interrupted) {
        firn_step_report report = {0};
        double before = cli_seconds();
        cli_numbers_begin_step(&run->session);
        int error = cli_push_batch(&run->session, *step);
        if (error == FIRN_OK)
            error = firn_train_step(&run->session.firn, cli_source(&run->session), &report);
        double now = cli_seconds();
        bool done = error == FIRN_OK || error == FIRN_ERROR_LOSS_SCALE_FLOOR;
        *step = done ? report.global_step : *step;
        if (done)
            cli_numbers_end_step(&run->session, &report);
        bool logged = (!done && error != FIRN_ERROR_LOSS_NOT_FINITE) ||
                      cli_log_step(&run->log, &report, error, now - before, now - run->progress.started);
        if (done)
            cli_progress_step(&run->progress, &report);
        if (error != FIRN_OK) {
            report.global_step = *step;
            return stop_by_error(run, &report, error);
        }
        error = cli_session_confirm(&run->session);
        if (error != FIRN_OK) {
            cli_progress_end(&run->progress);
            return cli_error(&run->session, error);
        }
        run->stuck = !logged;
        status = logged ? CLI_OK : CLI_FILE;
        if (status == CLI_OK && every != 0 && *step % every == 0)
            status = save(run, *step);
    }
    cli_progress_end(&run->progress);
    return status;
}

static int print_digest(const run *run) {
    uint8_t digest[32];
    int error = firn_digest(&run->session.firn, digest);
    return error == FIRN_OK ? cli_print_digest(digest) : cli_error(&run->session, error);
}

static int finish_interrupted(const run *run, uint64_t step) {
    const char *checkpoint = run->session.options->checkpoint;
    if (checkpoint != NULL)
        firn_host_note("interrupted after step %llu; %s has it, --resume goes on", (unsigned long long)step,
                       checkpoint);
    else
        firn_host_note("interrupted after step %llu; nothing was saved without --checkpoint", (unsigned long long)step);
    return CLI_INTERRUPTED;
}

/* Saves the state at the end of a run, also after an error. A run that failed before its first step, because its data
 * or its plan is wrong, must not replace an existing checkpoint. */
static int save_at_end(run *run, int status, uint64_t step) {
    bool failed = status != CLI_OK && status != CLI_NUMBERS;
    if (run->stuck || (failed && step == run->first))
        return status;
    if (status != CLI_OK && !cli_parameters_finite(&run->session)) /* the cause has already been reported */
        return status;
    int saving = save(run, step);
    return status != CLI_OK ? status : saving;
}

static int train(run *run) {
    int status = claim_checkpoint(run);
    if (status == CLI_OK)
        status = begin_state(run);
    if (status == CLI_OK)
        status = cli_push_begin(&run->session, run->first);
    if (status == CLI_OK)
        status = cli_log_begin(&run->log, &run->session, run->first);
    if (status != CLI_OK)
        return status;
    cli_note_data(&run->session);
    if (run->last == CLI_NO_END && !run->session.options->quiet)
        firn_host_note("this run has no end: it goes on until it is interrupted; --steps N runs N steps");
    catch_signals();
    cli_progress_begin(&run->progress, &run->session, run->first, run->last);
    uint64_t step = run->first;
    status = run_steps(run, &step);
    bool stopped = interrupted != 0 && status == CLI_OK && step < run->last;
    status = save_at_end(run, status, step);
    if (status != CLI_OK)
        return status;
    status = print_digest(run);
    return stopped && status == CLI_OK ? finish_interrupted(run, step) : status;
}

int cli_train(const cli_options *options) {
    static run run;
    int status = cli_session_begin(&run.session, options, false);
    if (status == CLI_OK)
        status = train(&run);
    cli_log_end(&run.log, status != CLI_OK);
    cli_session_end(&run.session);
    firn_host_lock_release(&run.lock);
    return status;
}
