/* firn eval: the metric of an eval plan over a checkpoint's parameters. Prints exactly one number. */
#include "runtime/cli/cli.h"

static int evaluate(cli_session *session) {
    int error = firn_restore(&session->firn);
    while (error == FIRN_OK)
        error = firn_eval_step(&session->firn, &session->data.source);
    if (error != FIRN_ERROR_DATA_END)
        return cli_error(session, error);
    float value;
    error = firn_eval_result(&session->firn, &value);
    if (error != FIRN_OK)
        return cli_error(session, error);
    printf("%.9g\n", (double)value);
    return cli_flush();
}

int cli_eval(const cli_options *options) {
    static cli_session session;
    int status = cli_session_begin(&session, options, true);
    if (status == CLI_OK)
        status = evaluate(&session);
    cli_session_end(&session);
    return status;
}
