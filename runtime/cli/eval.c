/* firn eval: runs an eval plan over a checkpoint's parameters and prints its metric, one number, and with options what
 * it says about each class. The loop over the data is also that of the evaluations in firn train. */
#include "runtime/cli/cli.h"

/* Of a plan whose last batch may not be short, neither the metric nor a prediction includes them. */
int cli_note_left(const cli_session *session) {
    uint64_t left;
    int error = firn_eval_left(&session->firn, cli_source(session), &left);
    if (error == FIRN_OK && left > 0 && session->info.steps == 0 && !session->options->quiet)
        firn_host_note("%llu sample%s at the end of the data %s fewer than a batch of %lu and %s left out",
                       (unsigned long long)left, cli_s(left), left == 1 ? "is" : "are",
                       (unsigned long)session->info.samples, left == 1 ? "was" : "were");
    return error;
}

int cli_evaluate(cli_session *session) {
    int error = FIRN_OK;
    while (error == FIRN_OK && !cli_signals_came()) {
        cli_numbers_begin_step(session);
        error = cli_eval_step(session);
        if (error == FIRN_OK)
            error = cli_session_confirm(session);
    }
    if (error == FIRN_ERROR_DATA_END && !firn_host_data_unchanged(&session->data))
        return FIRN_ERROR_SOURCE;
    return error;
}

static int evaluate(cli_session *session, cli_classes *classes) {
    if (!session->info.metric)
        return cli_error(session, FIRN_ERROR_NO_METRIC);
    int status = cli_confusion_check(session, classes);
    if (status == CLI_OK)
        status = cli_restore(session);
    if (status == CLI_OK)
        status = cli_push_begin(session, 0);
    if (status != CLI_OK)
        return status;
    cli_note_data(session);
    int error = cli_evaluate(session);
    if (error != FIRN_ERROR_DATA_END)
        return cli_error(session, error);
    float value;
    error = cli_note_left(session);
    if (error == FIRN_OK)
        error = firn_eval_result(&session->firn, &value);
    if (error != FIRN_OK)
        return cli_error(session, error);
    status = cli_confusion_write(session, classes);
    if (status != CLI_OK)
        return status;
    printf("%.9g\n", (double)value);
    cli_confusion_print(session, classes);
    return cli_flush();
}

int cli_eval(const cli_options *options) {
    static cli_session session;
    cli_classes classes = {0};
    int status = cli_session_begin(&session, options, true);
    if (status == CLI_OK)
        status = evaluate(&session, &classes);
    cli_classes_free(&classes);
    cli_session_end(&session);
    return status;
}
