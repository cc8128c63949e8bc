/* Restores a checkpoint and notes what about its training could not be compared with this run, or differs and was
 * allowed. What differs and was not allowed is an error. */
#define _XOPEN_SOURCE 700
#include <sys/stat.h>

#include "runtime/cli/cli.h"

static void note(uint8_t comparison, const char *unknown, const char *other, const char *flag) {
    if (comparison == FIRN_UNKNOWN)
        firn_host_note("the checkpoint does not say %s; not compared", unknown);
    else if (comparison == FIRN_OTHER)
        firn_host_note("the checkpoint was trained with %s; allowed by %s", other, flag);
}

/* Returns true if the path names something other than a regular file. The port reads no checkpoint there, and the
 * library reports CHECKPOINT_MISSING. */
static bool is_no_file(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && (stat(path, &status) != 0 || !S_ISREG(status.st_mode));
}

/* Refuses a checkpoint, and says what the file is if it is something else. */
static int refuse(const cli_session *session, int error) {
    const char *path = session->options->checkpoint;
    int status = CLI_OK;
    if (path != NULL &&
        (error == FIRN_ERROR_CHECKPOINT_DAMAGED || (error == FIRN_ERROR_CHECKPOINT_MISSING && is_no_file(path))))
        status = cli_record_refuse(path);
    return status != CLI_OK ? status : cli_error(session, error);
}

/* Restores with the files of folders in this order. */
static int restore_in(cli_session *session, bool natural, firn_restore_report *report) {
    (void)firn_host_data_sort(&session->data, natural);
    const int error = firn_set_data_hash(&session->firn, session->data.sha256);
    return error == FIRN_OK ? cli_restore_state(session, report) : error;
}

static bool has_other_data(int error, const firn_restore_report *report) {
    return error == FIRN_ERROR_CHECKPOINT_OTHER_DATA || (error == FIRN_OK && report->data == FIRN_OTHER);
}

/* Restores a checkpoint. One of a version that read folders by the bytes of their names goes on in that order, which
 * its hash of the data shows. */
static int restore(cli_session *session, firn_restore_report *report) {
    int error = cli_restore_state(session, report);
    if (!has_other_data(error, report) || !firn_host_data_sort(&session->data, false))
        return error;
    error = restore_in(session, false, report);
    if (has_other_data(error, report))
        return restore_in(session, true, report);
    if (error == FIRN_OK && !session->options->quiet)
        firn_host_note(
            "the checkpoint was trained with the files of folders by the bytes of their names, and so they are "
            "read now");
    return error;
}

int cli_restore(cli_session *session) {
    firn_restore_report report = {0};
    int error = cli_columns_fit_hash(session);
    if (error == FIRN_OK)
        error = restore(session, &report);
    if (error != FIRN_OK)
        return refuse(session, error);
    if (cli_columns_compare_classes(session) != CLI_OK) /* after the data themselves, which may be others */
        return CLI_FILE;
    /* What is generated from is no data, and tokens come in chunks of another length than in training. */
    if (session->options->quiet || session->options->prompt != NULL)
        return CLI_OK;
    note(report.preprocessing, "how the data that it was trained with was preprocessed",
         "another preprocessing of the data", "--allow-other-preprocessing");
    note(report.split, "which part of its data was held out", "another split of the data", "--allow-other-split");
    note(report.data, "which data it was trained with", "other data", "--allow-other-data");
    return CLI_OK;
}
