/* Signals that ask a run to stop: it ends after the current step, so that its result can be kept. Before there is one,
 * and in commands that have no steps, they end the program at once, with the same exit code. */
#define _XOPEN_SOURCE 700 /* SIGXCPU */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

/* Set by the first signal. A second SIGINT or SIGTERM has its default action. A second of the others has no effect: a
 * terminal that closes may send two, and SIGXCPU comes each second once the limit of CPU time is reached. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    static const char once[] = "stopping after this step\n",
                      again[] = "stopping after this step; again to stop at once\n";
    const bool by_person = signal_number == SIGINT || signal_number == SIGTERM, first = !interrupted;
    int error = errno;
    interrupted = 1;
    if (by_person)
        (void)!write(STDERR_FILENO, again, sizeof again - 1);
    else if (first)
        (void)!write(STDERR_FILENO, once, sizeof once - 1);
    errno = error;
}

static void end_at_once(int signal_number) {
    static const char text[] = "firn: interrupted; no file is half written\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(CLI_INTERRUPTED);
}

/* Installs a handler, unless the caller ignores the signal: SIGHUP under nohup, SIGINT in the background of a script.
 */
static void catch_signal(int number, void (*handler)(int), unsigned flags) {
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = (int)flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

/* SIGUSR1, SIGUSR2 and SIGXCPU are what batch systems send some time before they kill a job, and SIGALRM is what
 * `timeout -s ALRM` and alarm() send. */
static const int others[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

static void catch_all(void (*handler)(int), unsigned flags_by_person) {
    catch_signal(SIGINT, handler, flags_by_person);
    catch_signal(SIGTERM, handler, flags_by_person);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        catch_signal(others[i], handler, 0);
}

void cli_signals_end(void) {
    catch_all(end_at_once, 0);
}

/* SIGPIPE is ignored because the reader of the messages often ends together with the run; a message that cannot be
 * delivered must not end the process before the state is saved. */
void cli_signals_catch(void) {
    catch_all(interrupt, (unsigned)SA_RESETHAND);
    signal(SIGPIPE, SIG_IGN);
}

bool cli_signals_came(void) {
    return interrupted != 0;
}
