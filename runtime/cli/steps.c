/* Steps and state of a session: those of the library, or those that firn-mpi shares among its ranks. */
#include "runtime/cli/cli.h"

int cli_train_step(cli_session *session, firn_step_report *report) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->train_step(ranks->context, session, report)
                         : firn_train_step(&session->firn, cli_source(session), report);
}

int cli_eval_step(cli_session *session) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->eval_step(ranks->context, session)
                         : firn_eval_step(&session->firn, cli_source(session));
}

int cli_initialise(cli_session *session) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->initialise(ranks->context, session) : firn_initialise(&session->firn);
}

int cli_state_digest(cli_session *session, uint8_t digest[32]) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->digest(ranks->context, session, digest) : firn_digest(&session->firn, digest);
}

int cli_save_state(cli_session *session) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->save(ranks->context, session) : firn_save(&session->firn);
}

int cli_restore_state(cli_session *session, firn_restore_report *report) {
    const cli_ranks *ranks = session->options->ranks;
    return ranks != NULL ? ranks->restore(ranks->context, session, report) : firn_restore(&session->firn, report);
}
