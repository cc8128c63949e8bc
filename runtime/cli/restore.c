/* Restores a checkpoint and notes what about its training could not be compared with this run, or differs and was
 * allowed. What differs and was not allowed is an error. */
#include "runtime/cli/cli.h"

static void note(uint8_t comparison, const char *unknown, const char *other, const char *flag) {
    if (comparison == FIRN_UNKNOWN)
        firn_host_note("the checkpoint does not say %s; not compared", unknown);
    else if (comparison == FIRN_OTHER)
        firn_host_note("the checkpoint was trained with %s; allowed by %s", other, flag);
}

int cli_restore(cli_session *session) {
    firn_restore_report report;
    int error = firn_restore(&session->firn, &report);
    if (error != FIRN_OK)
        return cli_error(session, error);
    if (session->options->quiet)
        return CLI_OK;
    note(report.preprocessing, "how the data that it was trained with was preprocessed",
         "another preprocessing of the data", "--allow-other-preprocessing");
    note(report.split, "which part of its data was held out", "another split of the data", "--allow-other-split");
    note(report.data, "which data it was trained with", "other data", "--allow-other-data");
    return CLI_OK;
}
