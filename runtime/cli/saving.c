/* The checkpoint of a run: claims its name and reserves room for it before the first step, saves the state, and says
 * which state is kept when a save fails. */
#include <errno.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define PROGRAM_UNIT 16 /* of the host's storage */

/* --- before the first step --- */

/* Refuses what is at the name, unless it is a checkpoint and --resume was given. */
static int refuse_there(const cli_saving *saving) {
    const bool resume = saving->session->options->resume;
    const firn_port *port = &saving->port->port;
    const uint64_t bytes = port->storage->stored(port->context);
    char begin[FIRN_RECORD_MAGIC_BYTES];
    if (bytes == 0)
        return CLI_OK;
    const bool readable = port->storage->read(port->context, 0, begin, sizeof begin) == FIRN_OK;
    if (bytes < sizeof begin || (readable && memcmp(begin, FIRN_RECORD_MAGIC, sizeof begin) != 0)) {
        firn_host_fail(saving->path, "is there already and is no checkpoint (%s); give another name",
                       firn_error_name(FIRN_ERROR_CHECKPOINT_DAMAGED));
        return resume ? CLI_REFUSED : CLI_FILE;
    }
    if (resume)
        return CLI_OK;
    firn_host_fail(saving->path, "is there already; give --resume to go on with it, or another name");
    return CLI_FILE;
}

int cli_saving_claim(cli_saving *saving, cli_session *session, firn_host_port *port, cli_progress *progress) {
    *saving = (cli_saving){
        .session = session, .port = port, .path = port->checkpoint, .progress = progress, .saved = CLI_NOT_SAVED};
    if (saving->path == NULL)
        return CLI_OK;
    if (!firn_host_replaceable(saving->path))
        return CLI_FILE;
    const bool dry = session->options->dry_run;
    const bool locked = dry ? firn_host_lock_look(saving->path) : firn_host_lock_take(&saving->lock, saving->path);
    return locked ? refuse_there(saving) : CLI_FILE;
}

void cli_saving_end(cli_saving *saving) {
    firn_host_lock_release(&saving->lock);
}

const char *cli_saving_mend(int error) {
    switch (error) {
    case EFBIG:
        return "the file would be larger than the limit of file sizes: raise it (ulimit -f)";
    case ENOSPC:
        return "the disk is full: make room";
    case EDQUOT:
        return "the quota of the disk is used up: make room";
    case EMFILE:
    case ENFILE:
        return "too many files are open: raise the limit (ulimit -n)";
    default:
        return "look at the folder's permissions and the disk";
    }
}

uint64_t cli_saving_bytes(const cli_session *session) {
    firn_record record = {0};
    firn_header header;
    if (firn_header_decode(&header, session->plan.bytes, session->plan.count) != FIRN_OK)
        return 0; /* never: the plan has been verified */
    firn_record_set_regions(&record, &header);
    return firn_record_commit_offset(firn_record_directory_bytes(cli_plan(session)), record.state_bytes, PROGRAM_UNIT) +
           firn_record_commit_bytes(PROGRAM_UNIT);
}

/* Asks whether the disk has so many bytes. Returns as firn_host_port_reserve does, and reserves nothing. */
static int look_for_room(cli_saving *saving, uint64_t bytes) {
    if (firn_host_has_room(saving->path, bytes))
        return FIRN_OK;
    saving->port->cause = errno;
    return FIRN_ERROR_STORAGE_FULL;
}

int cli_saving_reserve(cli_saving *saving, uint64_t beside) {
    if (saving->path == NULL)
        return CLI_OK;
    const uint64_t bytes = cli_saving_bytes(saving->session);
    const int error = saving->session->options->dry_run ? look_for_room(saving, bytes + beside)
                                                        : firn_host_port_reserve(saving->port, bytes);
    if (error == FIRN_OK)
        return CLI_OK;
    firn_host_fail(saving->path,
                   "%llu bytes for a checkpoint cannot be reserved: %s (%s); %s and run again; no step was run, and %s",
                   (unsigned long long)bytes, strerror(saving->port->cause), firn_error_name(error),
                   cli_saving_mend(saving->port->cause),
                   saving->saved != CLI_NOT_SAVED ? "the checkpoint before is untouched"
                                                  : "there is no checkpoint yet");
    return CLI_FILE;
}

/* --- saving --- */

int cli_saving_refuse(cli_saving *saving) {
    char text[800];
    saving->ruined = true;
    cli_progress_end(saving->progress);
    const char *where = cli_say_not_finite(saving->session,
                                           saving->saved != CLI_NOT_SAVED ? ", and the checkpoint was left as it was"
                                                                          : ", and nothing was saved",
                                           text, sizeof text);
    firn_host_fail(where, "a parameter is NaN or infinite (%s); %s", firn_error_name(FIRN_ERROR_LOSS_NOT_FINITE), text);
    return CLI_NUMBERS;
}

/* Says that a save has failed, which checkpoint is kept, and how the run goes on. next: the step of the next save, or
 * CLI_NO_END if this was the last. */
static void say_unsaved(const cli_saving *saving, int error, uint64_t step, uint64_t next) {
    char kept[64] = "there is no checkpoint", later[96];
    if (saving->saved != CLI_NOT_SAVED)
        snprintf(kept, sizeof kept, "the checkpoint of step %llu is kept", (unsigned long long)saving->saved);
    if (next != CLI_NO_END)
        snprintf(later, sizeof later, "the run goes on and saves again after step %llu", (unsigned long long)next);
    else
        snprintf(later, sizeof later, "%s",
                 saving->saved != CLI_NOT_SAVED ? "the steps after it are lost: run them again by --resume"
                                                : "the run is lost: run it again");
    firn_host_fail(saving->path, "the state after step %llu cannot be saved: %s (%s); %s; %s, and %s",
                   (unsigned long long)step, strerror(saving->port->cause), firn_error_name(error),
                   cli_saving_mend(saving->port->cause), kept, later);
}

/* Writes the state to the file of the saving, which need not be that of the session's port. */
static int write_state(const cli_saving *saving) {
    firn_host_port_exchange(&saving->session->port, saving->port);
    const int error = cli_save_state(saving->session);
    firn_host_port_exchange(&saving->session->port, saving->port);
    return error;
}

int cli_saving_write(cli_saving *saving, uint64_t step, int *error) {
    *error = FIRN_OK;
    if (!cli_parameters_finite(saving->session))
        return cli_saving_refuse(saving);
    *error = write_state(saving);
    if (*error == FIRN_OK) {
        saving->saved = step;
        return CLI_OK;
    }
    cli_progress_end(saving->progress);
    if (*error != FIRN_ERROR_STORAGE && *error != FIRN_ERROR_STORAGE_FULL)
        return cli_error(saving->session, *error);
    if (!saving->port->writing.placed)
        return CLI_FILE;
    saving->saved = step;
    firn_host_fail(saving->path,
                   "the checkpoint of step %llu is in its place, but the disk has not confirmed that: %s (%s); look at "
                   "the disk before you trust it",
                   (unsigned long long)step, strerror(saving->port->cause), firn_error_name(*error));
    return CLI_FILE;
}

int cli_saving_save(cli_saving *saving, uint64_t step, uint64_t next) {
    if (saving->path == NULL || saving->saved == step)
        return CLI_OK;
    int error;
    const int status = cli_saving_write(saving, step, &error);
    const bool storage = error == FIRN_ERROR_STORAGE || error == FIRN_ERROR_STORAGE_FULL;
    if (status == CLI_OK || !storage)
        return status;
    if (saving->saved != step)
        say_unsaved(saving, error, step, next);
    return next != CLI_NO_END ? CLI_OK : CLI_FILE;
}

void cli_saving_describe(const cli_saving *saving, uint64_t step, char *text, size_t size) {
    const char *path = saving->path;
    if (path == NULL)
        snprintf(text, size, "nothing was saved without --checkpoint");
    else if (saving->saved == step)
        snprintf(text, size, "its state is in %s", path);
    else if (saving->saved != CLI_NOT_SAVED)
        snprintf(text, size, "%s has the state of step %llu", path, (unsigned long long)saving->saved);
    else
        snprintf(text, size, "nothing was saved");
}
