/* The best evaluation of a run: which one that is, the checkpoint of its state, and how many evaluations have followed
 * it. A value that is not finite is never the best; of equal values the first one is. All of this follows from the
 * values in the log, so that a resumed run goes on as if it had not been interrupted. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/cli/cli.h"

int cli_best_claim(cli_best *best, cli_session *session, cli_progress *progress) {
    *best = (cli_best){.options = session->options};
    firn_host_port_begin(&best->port, session->options->keep_best, NULL, 1);
    return cli_saving_claim(&best->saving, session, &best->port, progress);
}

void cli_best_end(cli_best *best) {
    if (best->options == NULL)
        return;
    firn_host_port_end(&best->port);
    cli_saving_end(&best->saving);
    best->options = NULL;
}

/* --- which is the best --- */

/* Returns true if a value is better than that of a score, or if there is no score yet. */
static bool is_better(const cli_best *best, float value, const cli_score *than) {
    if (!isfinite(value))
        return false;
    return than->step == 0 || (best->metric->higher ? value > than->value : value < than->value);
}

static void count(cli_best *best, cli_score score) {
    best->evaluations++;
    best->since++;
    if (!is_better(best, score.value, &best->best))
        return;
    best->best = score;
    best->since = 0;
}

bool cli_best_is_over(const cli_best *best) {
    return best->options->patience != 0 && best->since >= best->options->patience;
}

/* --- the file --- */

/* Compares a checkpoint with this run and its data. Returns FIRN_OK or the error of what differs. */
static int compare(const cli_session *session, const firn_record *record) {
    static const uint8_t unknown[FIRN_HASH_BYTES] = {0};
    if (memcmp(record->run_hash, session->info.run_hash, FIRN_HASH_BYTES) != 0)
        return FIRN_ERROR_CHECKPOINT_OTHER_RUN;
    if (record->global_step == 0) /* no evaluation is before the first step */
        return FIRN_ERROR_CHECKPOINT_DAMAGED;
    const bool same = memcmp(record->data_hash, session->data.sha256, FIRN_HASH_BYTES) == 0 ||
                      memcmp(record->data_hash, unknown, FIRN_HASH_BYTES) == 0;
    return same || session->options->allow_other_data ? FIRN_OK : FIRN_ERROR_CHECKPOINT_OTHER_DATA;
}

static int refuse(const cli_best *best, int error) {
    const char *mend = error == FIRN_ERROR_CHECKPOINT_DAMAGED
                           ? ", restore this file from a copy, or remove it: then the best state so far is lost, and "
                             "that of the next evaluation is saved"
                       : error == FIRN_ERROR_CHECKPOINT_OTHER_DATA ? ": this is the best state of another run"
                                                                   : "";
    firn_host_fail(best->saving.path, "%s (%s); give another --keep-best%s", firn_error_text(error),
                   firn_error_name(error), mend);
    return cli_exit_code(error);
}

/* Checks the whole file. Returns CLI_OK, with *step that of its state or 0 if there is no file, or another exit code
 * after a message. */
static int check_file(const cli_best *best, uint64_t *step) {
    const firn_port *port = &best->port.port;
    const cli_session *session = best->saving.session;
    cli_record record;
    int error;
    *step = 0;
    if (port->storage->stored(port->context) == 0)
        return CLI_OK;
    const int status = cli_record_read(&record, best->saving.path, session->config.device_key, &error);
    if (status == CLI_OK && error == FIRN_OK)
        error = compare(session, &record.header);
    *step = record.header.global_step;
    cli_record_unload(&record);
    return status == CLI_OK && error != FIRN_OK ? refuse(best, error) : status;
}

/* Returns the finite value of a step in the log, also if that is ahead of the checkpoint; NULL: there is none. */
static const cli_score *find_score(const cli_history *history, uint64_t step) {
    for (size_t i = 0; i < history->count + history->ahead; i++)
        if (history->list[i].step == step && isfinite(history->list[i].value))
            return &history->list[i];
    return NULL;
}

/* Removes the file of a state that is ahead of the checkpoint, before the log loses the line of its value: a run that
 * is killed once more would else leave a file that nothing in the log explains. The state comes again with its step. */
static int drop_ahead(const cli_best *best, uint64_t kept, uint64_t step) {
    const char *path = best->saving.path;
    if (best->options->dry_run)
        return CLI_OK;
    if (!firn_host_remove(path)) {
        firn_host_fail(path, "cannot be removed: %s; look at the folder's permissions and the disk", strerror(errno));
        return CLI_FILE;
    }
    if (!best->options->quiet)
        firn_host_note("%s had the state of step %llu and was removed: the run goes on after step %llu, and comes to "
                       "that state again",
                       path, (unsigned long long)kept, (unsigned long long)step);
    return CLI_OK;
}

/* Finds the value of the state in the file. */
static int find_kept(cli_best *best, const cli_history *history, uint64_t step) {
    uint64_t kept;
    const int status = check_file(best, &kept);
    if (status != CLI_OK || kept == 0)
        return status;
    const cli_score *score = find_score(history, kept);
    if (score == NULL) {
        firn_host_fail(best->saving.path,
                       "has the state of step %llu, whose %s is not in the log; give the --log that goes with it, or "
                       "another --keep-best",
                       (unsigned long long)kept, best->metric->name);
        return CLI_FILE;
    }
    if (kept > step)
        return drop_ahead(best, kept, step);
    best->saving.saved = kept;
    best->kept = *score;
    return CLI_OK;
}

/* Says that the best state could not be saved. The next one that is better than the one in the file will be. */
static void say_unkept(const cli_best *best, int error) {
    char kept[64] = "there is no file yet";
    if (best->kept.step != 0)
        snprintf(kept, sizeof kept, "the file keeps that of step %llu", (unsigned long long)best->kept.step);
    firn_host_fail(best->saving.path,
                   "the best state so far, that of step %llu, cannot be saved: %s (%s); %s; %s, and the run goes on",
                   (unsigned long long)best->best.step, strerror(best->port.cause), firn_error_name(error),
                   cli_saving_mend(best->port.cause), kept);
}

/* Saves the state in memory, whose score this is. */
static int keep(cli_best *best, cli_score score) {
    int error;
    int status = cli_saving_write(&best->saving, score.step, &error);
    const bool storage = error == FIRN_ERROR_STORAGE || error == FIRN_ERROR_STORAGE_FULL;
    const bool placed = status == CLI_OK || (storage && best->saving.saved == score.step);
    if (placed)
        best->kept = score;
    else if (storage)
        say_unkept(best, error);
    if (status != CLI_OK || best->kept.step == best->best.step)
        best->failed = status != CLI_OK;
    return storage ? CLI_OK : status;
}

/* --- in the course of a run --- */

int cli_best_go_on(cli_best *best, const cli_metric *metric, const cli_history *history, uint64_t step) {
    best->metric = metric;
    for (size_t i = 0; i < history->count; i++)
        count(best, history->list[i]);
    if (best->saving.path == NULL)
        return CLI_OK;
    const int status = find_kept(best, history, step);
    const bool lacks = best->best.step != 0 && best->best.step == step && best->kept.step != step;
    return status == CLI_OK && lacks && !best->options->dry_run ? keep(best, best->best) : status;
}

bool cli_best_is_kept(const cli_best *best) {
    return best->saving.path != NULL && is_better(best, best->metric->value, &best->kept);
}

int cli_best_take(cli_best *best, uint64_t step) {
    const cli_score score = {step, best->metric->value};
    count(best, score);
    return cli_best_is_kept(best) ? keep(best, score) : CLI_OK;
}

/* --- what is said --- */

void cli_best_say(const cli_best *best, char *text, size_t size) {
    if (best->best.step == 0)
        snprintf(text, size, "none of %llu evaluations had a finite %s", (unsigned long long)best->evaluations,
                 best->metric->name);
    else
        snprintf(text, size, "%s was not better than %.9g, that of step %llu, in %llu evaluation%s", best->metric->name,
                 (double)best->best.value, (unsigned long long)best->best.step, (unsigned long long)best->since,
                 cli_s(best->since));
}

void cli_best_note(const cli_best *best) {
    if (best->metric == NULL || best->options->quiet || best->evaluations == 0)
        return;
    const unsigned long long evaluations = best->evaluations;
    if (best->best.step == 0) {
        firn_host_note("no evaluation of %llu had a finite %s", evaluations, best->metric->name);
        return;
    }
    firn_host_note("best %s: %.9g, after step %llu, of %llu evaluation%s", best->metric->name, (double)best->best.value,
                   (unsigned long long)best->best.step, evaluations, cli_s(best->evaluations));
    if (best->saving.path != NULL && best->saving.saved == best->best.step)
        firn_host_note("%s has the state of that step", best->saving.path);
    else if (best->saving.path != NULL && best->kept.step != 0)
        firn_host_note("%s has the state of step %llu, the best one that was kept, with %.9g", best->saving.path,
                       (unsigned long long)best->saving.saved, (double)best->kept.value);
}

int cli_best_check(const cli_best *best) {
    if (!best->failed)
        return CLI_OK;
    if (best->saving.saved == best->best.step) /* it is in its place, and the doubt about the disk has been said */
        return CLI_FILE;
    if (best->kept.step != 0)
        firn_host_fail(best->saving.path,
                       "the best state, that of step %llu, could not be saved and is lost; the file "
                       "has that of step %llu",
                       (unsigned long long)best->best.step, (unsigned long long)best->kept.step);
    else
        firn_host_fail(best->saving.path,
                       "the best state, that of step %llu, could not be saved and is lost; there is no file",
                       (unsigned long long)best->best.step);
    return CLI_FILE;
}
