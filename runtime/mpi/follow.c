/* A rank other than 0: opens plan and data, and does what rank 0 says. It writes no file, and prints nothing: what it
 * would print is kept in memory, for rank 0 to say. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/mpi/shared.h"

enum { SESSIONS = 2 };

typedef struct follower {
    const firn_ranks_transport *transport;
    cli_options options;
    const char *checkpoint; /* of rank 0 */
    cli_session session;
    cli_validation validation;
    cli_progress progress;
    firn_ranks *ranks[SESSIONS];
    int status[SESSIONS]; /* of the sessions */
} follower;

/* --- what it would print ------------------------------------------------------------------------------------------ */

static int spoken = -1, standard_error = -1; /* a file in memory in place of the standard error */
static bool ends_well;

/* Writes the last line that was printed, without the name of the program. */
static void last_words(char *text, size_t size) {
    char all[4 * MPI_TEXT_BYTES + 1];
    fflush(stderr);
    const off_t most = (off_t)sizeof all - 1, length = lseek(spoken, 0, SEEK_END);
    const off_t from = length > most ? length - most : 0;
    ssize_t count = pread(spoken, all, sizeof all - 1, from);
    count = count > 0 ? count : 0;
    while (count > 0 && all[count - 1] == '\n')
        count--;
    all[count] = 0;
    const char *line = strrchr(all, '\n') != NULL ? strrchr(all, '\n') + 1 : all;
    line = strncmp(line, "firn: ", 6) == 0 ? line + 6 : line;
    const size_t kept = strlen(line) < size - 1 ? strlen(line) : size - 1;
    memcpy(text, line, kept);
    text[kept] = 0;
}

/* A process that ends before its time says why by itself. */
static void speak_at_exit(void) {
    char text[MPI_TEXT_BYTES];
    if (ends_well)
        return;
    last_words(text, sizeof text);
    if (text[0] != 0)
        dprintf(standard_error, "firn-mpi: %s\n", text);
}

static void be_silent(void) {
    spoken = memfd_create("firn-mpi", MFD_CLOEXEC);
    standard_error = dup(STDERR_FILENO);
    if (spoken < 0 || standard_error < 0)
        return;
    fflush(stderr);
    dup2(spoken, STDERR_FILENO);
    atexit(speak_at_exit);
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static cli_session *session_of(follower *f, uint32_t which) {
    return which == 0 ? &f->session : &f->validation.session;
}

/* Leaves out what only rank 0 reads and writes. */
static void take_options(follower *f, const cli_options *given) {
    f->options = *given;
    f->options.quiet = true;
    f->options.verbose = f->options.resume = false;
    f->options.log = f->options.csv = f->options.tensorboard = f->options.counter = f->options.keep_best = NULL;
    f->options.checkpoint = NULL;
    f->checkpoint = given->checkpoint;
    mpi_watch_note(f->checkpoint, 0);
    f->options.patience = 0;
}

static void say_opened(follower *f, uint32_t which) {
    mpi_opened opened;
    char fault[300];
    cli_session *session = session_of(f, which);
    if (which == 1)
        f->status[1] = cli_validation_begin(&f->validation, &f->session, &f->progress);
    mpi_say_opened(&opened, session, f->status[which]);
    if (opened.status != CLI_OK)
        last_words(opened.text, sizeof opened.text);
    else
        f->ranks[which] = firn_ranks_begin(&session->firn, f->transport, fault, sizeof fault);
    if (opened.status == CLI_OK && f->ranks[which] == NULL) {
        opened.status = CLI_REFUSED;
        snprintf(opened.text, sizeof opened.text, "%s: %s", session->options->file, fault);
    }
    mpi_send(f->transport, 0, &opened, sizeof opened);
}

static void say_fault(follower *f, uint32_t which) {
    mpi_fault fault = {.text = "cannot be read to its end"};
    const cli_session *session = session_of(f, which);
    const char *file = firn_host_data_fault(&session->data, fault.text, sizeof fault.text);
    snprintf(fault.file, sizeof fault.file, "%s", file != NULL ? file : session->options->data[0]);
    mpi_send(f->transport, 0, &fault, sizeof fault);
}

/* --- orders ------------------------------------------------------------------------------------------------------- */

static void train(follower *f) {
    firn_step_report report;
    uint32_t from;
    const int error = firn_ranks_train_step(f->ranks[0], cli_source(&f->session), &report, &from);
    if (error == FIRN_OK) /* else rank 0 has the same error */
        mpi_watch_note(f->checkpoint, report.global_step);
    cli_numbers_begin_step(&f->session);
}

static void evaluate(follower *f, uint32_t which) {
    cli_session *session = session_of(f, which);
    uint32_t from;
    (void)firn_ranks_eval_step(f->ranks[which], cli_source(session), &from);
    cli_numbers_begin_step(session);
}

static void stop(follower *f) {
    const firn_ranks_volume sent = f->ranks[0] != NULL ? firn_ranks_sent(f->ranks[0]) : (firn_ranks_volume){0};
    mpi_send(f->transport, 0, &sent, sizeof sent);
}

/* Does what one command says. Returns false after the last. */
static bool obey(follower *f, const mpi_command *command) {
    uint32_t other;
    uint8_t digest[32];
    switch ((mpi_order)command->order) {
    case MPI_OPENED:
        say_opened(f, command->which);
        break;
    case MPI_INITIALISE:
        (void)!firn_ranks_initialise(f->ranks[0]);
        break;
    case MPI_STATE:
        firn_ranks_share_state(f->ranks[0]);
        break;
    case MPI_SAVE:
        (void)!firn_ranks_save(f->ranks[0]);
        break;
    case MPI_RESTORE:
        (void)!firn_ranks_restore(f->ranks[0], NULL);
        break;
    case MPI_DIGEST:
        (void)!firn_ranks_digest(f->ranks[0], digest);
        break;
    case MPI_TRAIN:
        train(f);
        break;
    case MPI_EVALUATE:
        evaluate(f, command->which);
        break;
    case MPI_FAULT:
        if (command->number == f->transport->rank)
            say_fault(f, command->which);
        break;
    case MPI_VERIFY:
        (void)!firn_ranks_verify(f->ranks[0], &other);
        break;
    case MPI_STOP:
        stop(f);
        return false;
    }
    return true;
}

int mpi_follow(const firn_ranks_transport *transport, cli_options *options) {
    static follower f;
    mpi_command command;
    f.transport = transport;
    be_silent();
    take_options(&f, options);
    f.status[0] = cli_session_begin(&f.session, &f.options, strcmp(options->command, "eval") == 0);
    do
        mpi_receive(transport, 0, &command, sizeof command);
    while (obey(&f, &command));
    ends_well = true;
    for (int i = 0; i < SESSIONS; i++)
        firn_ranks_end(f.ranks[i]);
    cli_validation_end(&f.validation);
    cli_session_end(&f.session);
    return CLI_OK;
}
