/* Evaluations in the course of a training: an eval plan is opened over the parameters of the training, which it only
 * reads, and runs as firn eval runs it over a checkpoint. What follows from a value is decided in best.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/identity.h"
#include "runtime/cli/cli.h"

/* --- metrics --- */

/* What the row of a kind of metric says (runtime/metrics.def). */
static const struct {
    const char *word;
    bool higher;
} kinds[] = {
#define FIRN_METRIC(kind, rule, word, higher) [FIRN_FB_METRIC_KIND_##kind] = {word, higher},
#include "runtime/metrics.def"
#undef FIRN_METRIC
};

/* Names the metrics of the plan. */
static void name_metrics(cli_validation *validation) {
    const firn_fb_plan plan = cli_plan(&validation->session);
    const char *words[CLI_METRICS_MAX];
    validation->metric_count = firn_fb_plan_metrics_count(plan); /* at most CLI_METRICS_MAX, by the schema */
    for (uint32_t i = 0; i < validation->metric_count; i++) {
        cli_metric *metric = &validation->metrics[i];
        const uint8_t kind = firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i));
        unsigned number = 1;
        words[i] = kinds[kind].word;
        for (uint32_t before = 0; before < i; before++)
            number += strcmp(words[before], words[i]) == 0;
        snprintf(metric->name, sizeof metric->name, number == 1 ? "%s" : "%s_%u", words[i], number);
        metric->higher = kinds[kind].higher;
        metric->value = NAN;
    }
}

static bool find_metric(cli_validation *validation, const char *name) {
    for (uint32_t i = 0; i < validation->metric_count; i++)
        if (strcmp(validation->metrics[i].name, name) == 0) {
            validation->by = i;
            return true;
        }
    return false;
}

/* Chooses the metric of --by; without it the loss, or the first metric of a plan that does not have the loss. */
static int choose_metric(cli_validation *validation) {
    const char *by = validation->options.by;
    if (validation->metric_count == 0)
        return cli_error(&validation->session, FIRN_ERROR_NO_METRIC);
    validation->by = 0;
    if (find_metric(validation, by != NULL ? by : "loss") || by == NULL)
        return CLI_OK;
    char names[CLI_METRICS_MAX * (CLI_METRIC_NAME_BYTES + 2)] = "";
    for (uint32_t i = 0; i < validation->metric_count; i++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ", validation->metrics[i].name);
    }
    firn_host_fail(validation->options.file, "the plan has no metric %s; write --by and one of: %s", by, names);
    return CLI_USAGE;
}

/* --- opening --- */

/* The plan reads its own data, if there are any, or those of the training. */
static void take_options(cli_validation *validation, const cli_options *training) {
    cli_options *options = &validation->options;
    *options = *training;
    options->file = training->eval;
    if (training->eval_data_count == 0)
        return;
    memcpy(options->data, training->eval_data, sizeof options->data);
    options->data_count = training->eval_data_count;
    options->labels = training->eval_labels;
    options->weights = training->eval_weights;
}

/* A property of the evaluation that differs from that of the training. */
typedef struct difference {
    int error; /* of the library, for a checkpoint of the training */
    bool allowed;
    const char *what, *option, *mend;
} difference;

/* Refuses a difference, or notes that it is allowed. */
static int weigh(const cli_validation *validation, const difference *found) {
    const char *plan = validation->options.file;
    if (!found->allowed) {
        firn_host_fail(plan, "%s (%s); %s, or give %s", found->what, firn_error_name(found->error), found->mend,
                       found->option);
        return CLI_REFUSED;
    }
    if (!validation->options.quiet)
        firn_host_note("%s: %s; allowed by %s", plan, found->what, found->option);
    return CLI_OK;
}

/* Returns FIRN_OK, or the error of a hash. *same: both plans have the same hash. */
static int compare_hash(int (*hash)(firn_fb_plan, uint8_t[FIRN_HASH_BYTES]), const cli_session *a, const cli_session *b,
                        bool *same) {
    uint8_t here[FIRN_HASH_BYTES] = {0}, there[FIRN_HASH_BYTES] = {0};
    int error = hash(cli_plan(a), here);
    if (error == FIRN_OK)
        error = hash(cli_plan(b), there);
    *same = memcmp(here, there, sizeof here) == 0;
    return error;
}

/* Compares what firn eval compares with a checkpoint of the training: the preprocessing and, where a part of the data
 * is evaluated, the split and the data. */
static int compare(const cli_validation *validation, const cli_session *owner) {
    const cli_options *options = &validation->options;
    const cli_session *session = &validation->session;
    const difference found[] = {
        {FIRN_ERROR_CHECKPOINT_OTHER_PREPROCESSING, options->allow_other_preprocessing,
         "it preprocesses the data otherwise than the plan that is trained", "--allow-other-preprocessing",
         "compile both plans from one recipe"},
        {FIRN_ERROR_CHECKPOINT_OTHER_SPLIT, options->allow_other_split,
         "it holds out another part of the data than the plan that is trained, so that samples of the training may be "
         "evaluated",
         "--allow-other-split", "compile both plans with one held_out_per_mille"},
        {FIRN_ERROR_CHECKPOINT_OTHER_DATA, options->allow_other_data,
         "it evaluates a part of the data that is trained with, and is given other data", "--allow-other-data",
         "leave out --eval-data, evaluate other files by a plan that reads all of them (held_out_per_mille: 0, no "
         "held_out)"},
    };
    const bool part = !session->info.all_data;
    uint8_t there[FIRN_HASH_BYTES] = {0}; /* by the streams that the evaluation reads, too */
    (void)firn_host_data_hash_first(&owner->data, session->data.source.stream_count, there);
    bool same[] = {true, true, memcmp(session->data.sha256, there, FIRN_HASH_BYTES) == 0};
    int error = compare_hash(firn_preprocessing_hash, session, owner, &same[0]);
    if (error == FIRN_OK)
        error = compare_hash(firn_split_hash, session, owner, &same[1]);
    if (error != FIRN_OK)
        return cli_error(session, error);
    int status = CLI_OK;
    for (size_t i = 0; status == CLI_OK && i < (part ? sizeof found / sizeof *found : 1); i++)
        status = same[i] ? CLI_OK : weigh(validation, &found[i]);
    return status;
}

/* A counter is advanced to that of a plan which has worked. Two plans with different values would lock each other out
 * when the run is resumed. */
static int check_counters(const cli_validation *validation, const cli_session *owner) {
    const uint32_t here = validation->session.info.security_counter, there = owner->info.security_counter;
    if (validation->options.counter == NULL || here == there)
        return CLI_OK;
    firn_host_fail(validation->options.file,
                   "has the security counter %lu, and the plan that is trained has %lu (%s): with --counter the one "
                   "would keep the other from being run again; compile both with one --security-counter",
                   (unsigned long)here, (unsigned long)there, firn_error_name(FIRN_ERROR_SECURITY_COUNTER));
    return CLI_REFUSED;
}

/* Tries one batch, so that data that no evaluation can read end the run before its first step. */
static int try_batch(cli_session *session) {
    int error = firn_initialise(&session->firn); /* to the first sample; the parameters stay */
    if (error == FIRN_OK) {
        cli_numbers_begin_step(session);
        error = firn_eval_step(&session->firn, cli_source(session));
    }
    return error == FIRN_OK || error == FIRN_ERROR_LOSS_NOT_FINITE ? CLI_OK : cli_error(session, error);
}

static int open_beside(cli_validation *validation, const cli_session *owner) {
    validation->on = true;
    int status = cli_session_begin_beside(&validation->session, &validation->options, owner);
    if (status == CLI_OK)
        status = compare(validation, owner);
    if (status == CLI_OK)
        status = check_counters(validation, owner);
    if (status != CLI_OK)
        return status;
    name_metrics(validation);
    status = choose_metric(validation);
    if (status == CLI_OK)
        status = cli_push_begin(&validation->session, 0);
    return status == CLI_OK ? try_batch(&validation->session) : status;
}

int cli_validation_begin(cli_validation *validation, const cli_session *owner, cli_progress *progress) {
    const cli_options *training = owner->options;
    *validation = (cli_validation){.progress = progress};
    if (training->eval == NULL)
        return CLI_OK;
    validation->every = training->eval_every != 0 ? training->eval_every : owner->report.eval_frequency;
    if (validation->every == 0 && owner->info.steps == 0) {
        firn_host_fail(training->file, "the run has no end, so that nothing says when to evaluate; give --eval-every");
        return CLI_USAGE;
    }
    take_options(validation, training);
    return open_beside(validation, owner);
}

void cli_validation_end(cli_validation *validation) {
    if (validation->on)
        cli_session_end(&validation->session);
    validation->on = false;
}

void cli_validation_note(const cli_validation *validation) {
    if (!validation->on || validation->options.quiet)
        return;
    if (validation->every != 0)
        firn_host_note("%s evaluates %s after every %llu step%s and at the end:", validation->options.file,
                       validation->metrics[validation->by].name, (unsigned long long)validation->every,
                       cli_s(validation->every));
    else
        firn_host_note("%s evaluates %s at the end:", validation->options.file,
                       validation->metrics[validation->by].name);
    cli_note_data(&validation->session);
}

/* --- one evaluation --- */

static void note_left(cli_validation *validation, int *error) {
    if (!validation->noted && !validation->options.quiet) {
        cli_progress_end(validation->progress);
        *error = cli_note_left(&validation->session);
    }
    validation->noted = true;
}

/* Reads the values of all metrics after the last batch. */
static int read_metrics(cli_validation *validation) {
    int error = FIRN_OK;
    for (uint32_t i = 0; error == FIRN_OK && i < validation->metric_count; i++) {
        float *value = &validation->metrics[i].value;
        error = firn_eval_metric(&validation->session.firn, i, value);
        *value = isfinite(*value) ? *value : NAN;
    }
    if (error == FIRN_OK)
        note_left(validation, &error);
    return error;
}

/* An evaluation whose loss is not finite has no value, and the training goes on. */
static void note_not_finite(cli_validation *validation, uint64_t step) {
    for (uint32_t i = 0; i < validation->metric_count; i++)
        validation->metrics[i].value = NAN;
    if (validation->options.quiet)
        return;
    cli_progress_end(validation->progress);
    firn_host_note(
        "the evaluation after step %llu has a loss that is not finite (%s), and so no value; the run goes on",
        (unsigned long long)step, firn_error_name(FIRN_ERROR_LOSS_NOT_FINITE));
}

int cli_validation_run(cli_validation *validation, uint64_t step, bool *done) {
    cli_session *session = &validation->session;
    int error = firn_initialise(&session->firn); /* to the first sample; the parameters stay */
    if (error == FIRN_OK)
        error = cli_evaluate(session);
    *done = error != FIRN_OK;
    if (error == FIRN_OK)
        return CLI_OK;
    if (error == FIRN_ERROR_DATA_END)
        error = read_metrics(validation);
    else if (error == FIRN_ERROR_LOSS_NOT_FINITE) {
        note_not_finite(validation, step);
        error = FIRN_OK;
    }
    validation->step = error == FIRN_OK ? step : validation->step;
    if (error == FIRN_OK)
        return CLI_OK;
    cli_progress_end(validation->progress);
    return error == FIRN_ERROR_SOURCE ? CLI_FILE : cli_error(session, error);
}
