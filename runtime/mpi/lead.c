/* Rank 0: runs the command as firn does, with hooks where firn would run a step alone. Each hook tells the other ranks
 * what to do, and does its part of it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/mpi/shared.h"

/* The session of the plan, and that of --eval. */
enum { SESSIONS = 2 };

typedef struct leader {
    const firn_ranks_transport *transport;
    const cli_options *options;
    const mpi_options *more;
    firn_ranks *ranks[SESSIONS];
    bool has_state; /* the other ranks have the state */
    bool has_fault;
    mpi_fault fault;
    char file[MPI_TEXT_BYTES + MPI_HOST_BYTES]; /* the name of the file at fault, with its rank */
    mpi_opened *opened;                         /* of all ranks */
} leader;

static void tell(const leader *l, mpi_order order, uint32_t which, uint64_t number) {
    const mpi_command command = {.order = order, .which = which, .number = number};
    for (uint32_t peer = 1; peer < l->transport->size; peer++)
        mpi_send(l->transport, peer, &command, sizeof command);
}

static uint32_t which_of(const cli_session *session) {
    return session->config.owner != NULL ? 1 : 0;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void mpi_say_opened(mpi_opened *opened, const cli_session *session, int status) {
    *opened = (mpi_opened){.status = status, .firn = FIRN_VERSION};
    mpi_host(opened->host);
    if (status != CLI_OK)
        return;
    memcpy(opened->plan_hash, session->info.plan_hash, sizeof opened->plan_hash);
    memcpy(opened->data_sha256, session->data.sha256, sizeof opened->data_sha256);
}

/* Returns what is other on a rank than on rank 0, or NULL. */
static const char *difference(const mpi_opened *here, const mpi_opened *there) {
    if (strncmp(here->firn, there->firn, sizeof here->firn) != 0)
        return "runs another version of firn-mpi";
    if (memcmp(here->plan_hash, there->plan_hash, sizeof here->plan_hash) != 0)
        return "has another plan";
    if (memcmp(here->data_sha256, there->data_sha256, sizeof here->data_sha256) != 0)
        return "has other data";
    return NULL;
}

static int refuse_rank(const leader *l, const cli_session *session, uint32_t rank) {
    const mpi_opened *there = &l->opened[rank];
    const char *what = difference(&l->opened[0], there);
    if (there->status != CLI_OK) {
        firn_host_fail("firn-mpi", "rank %lu on %s: %s", (unsigned long)rank, there->host, there->text);
        return there->status;
    }
    if (what == NULL)
        return CLI_OK;
    firn_host_fail(session->options->file, "rank %lu on %s %s than rank 0 on %s; give all machines the same files",
                   (unsigned long)rank, there->host, what, l->opened[0].host);
    return CLI_REFUSED;
}

/* Gives the other ranks what all have of the state that was restored. */
static void share_state(leader *l) {
    if (l->has_state)
        return;
    l->has_state = true;
    tell(l, MPI_STATE, 0, 0);
    firn_ranks_share_state(l->ranks[0]);
}

static int opened(void *context, cli_session *session) {
    leader *l = context;
    const uint32_t which = which_of(session);
    char fault[300];
    if (which == 1)
        share_state(l);
    l->ranks[which] = firn_ranks_begin(&session->firn, l->transport, fault, sizeof fault);
    tell(l, MPI_OPENED, which, 0);
    mpi_say_opened(&l->opened[0], session, CLI_OK);
    for (uint32_t i = 1; i < l->transport->size; i++)
        mpi_receive(l->transport, i, &l->opened[i], sizeof l->opened[i]);
    if (l->ranks[which] == NULL) {
        firn_host_fail(session->options->file, "%s", fault);
        return CLI_REFUSED;
    }
    int status = CLI_OK;
    for (uint32_t i = 1; i < l->transport->size && status == CLI_OK; i++)
        status = refuse_rank(l, session, i);
    return status;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Asks a rank what is wrong with its data. */
static void ask_for_fault(leader *l, uint32_t rank, uint32_t which) {
    if (rank == 0)
        return;
    tell(l, MPI_FAULT, which, rank);
    mpi_receive(l->transport, rank, &l->fault, sizeof l->fault);
    snprintf(l->file, sizeof l->file, "%s of rank %lu on %s", l->fault.file, (unsigned long)rank, l->opened[rank].host);
    l->has_fault = true;
}

static int initialise(void *context, cli_session *session) {
    leader *l = context;
    (void)session;
    l->has_state = true;
    tell(l, MPI_INITIALISE, 0, 0);
    return firn_ranks_initialise(l->ranks[0]);
}

static int digest(void *context, cli_session *session, uint8_t digest[32]) {
    leader *l = context;
    uint64_t step;
    const int error = firn_progress(&session->firn, &step); /* without a state there is nothing to share */
    if (error != FIRN_OK)
        return error;
    share_state(l);
    tell(l, MPI_DIGEST, 0, 0);
    return firn_ranks_digest(l->ranks[0], digest);
}

static int save(void *context, cli_session *session) {
    leader *l = context;
    (void)session;
    tell(l, MPI_SAVE, 0, 0);
    return firn_ranks_save(l->ranks[0]);
}

static int restore(void *context, cli_session *session, firn_restore_report *report) {
    leader *l = context;
    (void)session;
    tell(l, MPI_RESTORE, 0, 0);
    return firn_ranks_restore(l->ranks[0], report);
}

static const char *fault(void *context, char *text, size_t size) {
    leader *l = context;
    if (!l->has_fault)
        return NULL;
    snprintf(text, size, "%s", l->fault.text);
    return l->file;
}

/* Compares the states of all ranks after a step. */
static void verify(leader *l, uint64_t step) {
    uint32_t other;
    tell(l, MPI_VERIFY, 0, 0);
    if (firn_ranks_verify(l->ranks[0], &other) == FIRN_OK && other == UINT32_MAX)
        return;
    firn_host_fail("firn-mpi",
                   "rank %lu on %s has another state than rank 0 after step %llu; one of the two machines computes "
                   "wrongly: go on by --resume without it",
                   (unsigned long)other, l->opened[other < l->transport->size ? other : 0].host,
                   (unsigned long long)step);
    mpi_watch_give_up(CLI_NUMBERS);
}

static int train_step(void *context, cli_session *session, firn_step_report *report) {
    leader *l = context;
    uint32_t from;
    share_state(l);
    tell(l, MPI_TRAIN, 0, 0);
    const int error = firn_ranks_train_step(l->ranks[0], cli_source(session), report, &from);
    if (error == FIRN_ERROR_SOURCE)
        ask_for_fault(l, from, 0);
    if (error != FIRN_OK && error != FIRN_ERROR_LOSS_SCALE_FLOOR)
        return error;
    mpi_watch_note(session->options->checkpoint, report->global_step);
    if (l->more->verify_ranks != 0 && report->global_step % l->more->verify_ranks == 0)
        verify(l, report->global_step);
    return error;
}

static int eval_step(void *context, cli_session *session) {
    leader *l = context;
    const uint32_t which = which_of(session);
    uint32_t from;
    share_state(l);
    if (firn_ranks_eval_is_over(l->ranks[which], cli_source(session)))
        return FIRN_ERROR_DATA_END;
    tell(l, MPI_EVALUATE, which, 0);
    const int error = firn_ranks_eval_step(l->ranks[which], cli_source(session), &from);
    if (error == FIRN_ERROR_SOURCE)
        ask_for_fault(l, from, which);
    return error;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void say_sent(const leader *l, const firn_ranks_volume *most, uint64_t gradients) {
    const double steps = (double)most->steps, bytes = (double)most->sent[FIRN_RANKS_GRADIENTS];
    if (l->options->quiet || most->steps == 0)
        return;
    firn_host_note("%lu ranks: the one that sent most sent %llu bytes of gradients in %llu step%s, %.4f times the %llu "
                   "bytes that they have, and %llu bytes of losses, norms and statistics",
                   (unsigned long)l->transport->size, (unsigned long long)most->sent[FIRN_RANKS_GRADIENTS],
                   (unsigned long long)most->steps, cli_s(most->steps), bytes / steps / (double)gradients,
                   (unsigned long long)gradients, (unsigned long long)most->sent[FIRN_RANKS_NUMBERS]);
}

/* Ends the other ranks, and says what was sent. */
static void stop(leader *l) {
    firn_ranks_volume most = {0}, of = {0};
    tell(l, MPI_STOP, 0, 0);
    if (l->ranks[0] != NULL)
        most = firn_ranks_sent(l->ranks[0]);
    const uint64_t gradients = most.gradient_bytes;
    for (uint32_t i = 1; i < l->transport->size; i++) {
        mpi_receive(l->transport, i, &of, sizeof of);
        for (int cause = 0; cause < FIRN_RANKS_CAUSES; cause++)
            most.sent[cause] = of.sent[cause] > most.sent[cause] ? of.sent[cause] : most.sent[cause];
    }
    if (l->transport->size > 1)
        say_sent(l, &most, gradients);
}

int mpi_lead(const firn_ranks_transport *transport, cli_options *options, const mpi_options *more) {
    static leader l;
    const cli_ranks hooks = {.context = &l,
                             .opened = opened,
                             .train_step = train_step,
                             .eval_step = eval_step,
                             .initialise = initialise,
                             .digest = digest,
                             .save = save,
                             .restore = restore,
                             .fault = fault};
    l = (leader){.transport = transport, .options = options, .more = more};
    l.opened = firn_host_allocate(transport->size * sizeof *l.opened);
    options->ranks = &hooks;
    mpi_watch_note(options->checkpoint, 0);
    int status = cli_paths_check(options);
    if (status == CLI_OK)
        status = strcmp(options->command, "train") == 0 ? cli_train(options) : cli_eval(options);
    stop(&l);
    for (int i = 0; i < SESSIONS; i++)
        firn_ranks_end(l.ranks[i]);
    free(l.opened);
    return status;
}
