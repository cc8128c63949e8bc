/* Steps of a session: those of the library, or those that firn-mpi shares among its ranks. */
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

void cli_gather_state(cli_session *session) {
    const cli_ranks *ranks = session->options->ranks;
    if (ranks != NULL)
        ranks->gather_state(ranks->context, session);
}
