/* firn-mpi: train and eval of firn, shared by the processes that mpirun starts. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/mpi/shared.h"
#include "runtime/program/descriptors.h"

static const char help[] =
    "usage: mpirun -n RANKS firn-mpi train PLAN --pub PUB --data FILE [options]\n"
    "       mpirun -n RANKS firn-mpi eval PLAN --pub PUB --data FILE --checkpoint FILE [options]\n"
    "\n"
    "Runs `firn train` or `firn eval` in as many processes as mpirun starts, on one machine or several. State, log "
    "and\n"
    "metric have the same bits for any number of them. The options are those of firn, which `firn help train` and\n"
    "`firn help eval` show, and:\n"
    "\n"
    "  --verify-ranks N   train: compare the states of all ranks after every N steps\n"
    "  --threads N        of each rank; default: the CPUs that mpirun gives the ranks of a machine, divided\n"
    "                     by their number; mpirun --bind-to none gives them all\n"
    "\n"
    "A training plan must have at least as many micro-batches in a step as there are ranks, and the recipe's\n"
    "trainer.init.loop.micro_batch_order must be tree. Every machine needs plan, key and data under the same names; "
    "rank 0\n"
    "writes checkpoint and log. runtime/SCALING.md says more.\n";

/* Takes the options out of the words that are not firn's. Returns CLI_OK, or CLI_USAGE with the fault. */
static int take_own(mpi_options *more, int *count, char **words, const char **fault) {
    static const char name[] = "--verify-ranks";
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        const bool joined = strncmp(words[i], name, sizeof name - 1) == 0 && words[i][sizeof name - 1] == '=';
        if (strcmp(words[i], name) != 0 && !joined) {
            words[kept++] = words[i];
            continue;
        }
        const char *value = joined ? words[i] + sizeof name : i + 1 < *count ? words[++i] : "";
        char *end;
        errno = 0;
        more->verify_ranks = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || more->verify_ranks == 0) {
            *fault = "is no number of steps; write one from 1";
            return CLI_USAGE;
        }
    }
    *count = kept;
    return CLI_OK;
}

static bool is_shared(const char *command) {
    return strcmp(command, "train") == 0 || strcmp(command, "eval") == 0;
}

/* Reads the command line, which all ranks have; rank 0 speaks. */
static int read_options(cli_options *options, mpi_options *more, bool speaks, int count, char **words) {
    const char *fault = NULL;
    if (count > 0 && words[0][0] != '-' && !is_shared(words[0])) {
        if (speaks)
            firn_host_fail("command line", "%s is no command of firn-mpi, which has train and eval", words[0]);
        return CLI_USAGE;
    }
    if (take_own(more, &count, words, &fault) != CLI_OK ||
        (more->verify_ranks != 0 && count > 0 && strcmp(words[0], "train") != 0)) {
        if (speaks)
            firn_host_fail("--verify-ranks", "%s", fault != NULL ? fault : "is an option of train");
        return CLI_USAGE;
    }
    FILE *before = stderr;
    if (!speaks)
        stderr = fopen("/dev/null", "w");
    const int status = cli_options_read(options, count, words);
    if (!speaks && stderr != NULL)
        fclose(stderr);
    stderr = before;
    return status;
}

static bool asks_for(const char *word, const char *name, const char *brief) {
    return strcmp(word, name) == 0 || strcmp(word, brief) == 0;
}

/* The CPUs that the ranks of this machine may use, divided by their number. */
static unsigned threads_of_rank(void) {
    const mpi_machine machine = mpi_this_machine();
    const unsigned each = machine.cpus / machine.ranks, may = firn_host_cpus();
    return each < 1 ? 1 : each < may ? each : may;
}

/* mpirun binds each rank to one core where it starts two or fewer, whatever the cores that are left. */
static void say_bound(const cli_options *options) {
    const mpi_machine machine = mpi_this_machine();
    cpu_set_t all;
    if (sched_getaffinity(getppid(), sizeof all, &all) != 0 || machine.ranks >= (unsigned)CPU_COUNT(&all) ||
        firn_host_cpus() >= (options->threads != 0 ? options->threads : (unsigned)CPU_COUNT(&all) / machine.ranks))
        return;
    firn_host_note("firn-mpi: mpirun binds rank 0 to %u of %d CPUs, which its threads share; --bind-to none, an option "
                   "of mpirun, gives it the others too",
                   firn_host_cpus(), CPU_COUNT(&all));
}

static int run(const firn_ranks_transport *transport, int count, char **words) {
    static cli_options options;
    mpi_options more = {0};
    const bool leads = transport->rank == 0;
    if (count > 1 && (asks_for(words[1], "help", "-h") || asks_for(words[count - 1], "--help", "-h"))) {
        if (leads)
            fputs(help, stdout);
        return leads ? cli_flush() : CLI_OK;
    }
    if (count == 2 && strcmp(words[1], "--version") == 0) {
        if (leads)
            puts("firn-mpi " FIRN_VERSION);
        return leads ? cli_flush() : CLI_OK;
    }
    int status = read_options(&options, &more, leads, count - 1, words + 1);
    if (status == CLI_OK && leads && !options.quiet)
        say_bound(&options);
    if (status == CLI_OK && options.threads == 0)
        options.threads = threads_of_rank();
    if (status == CLI_OK) {
        mpi_watch_begin(transport);
        status = leads ? mpi_lead(transport, &options, &more) : mpi_follow(transport, &options);
    }
    cli_options_free(&options);
    return status;
}

int main(int count, char **words) {
    firn_ranks_transport transport;
    firn_program_open_descriptors();
    firn_host_messages_to(firn_host_print_message, NULL);
    /* A write beyond the file size limit then fails with an error instead of killing the process. */
    signal(SIGXFSZ, SIG_IGN);
    if (!mpi_begin(&transport, mpi_watch_lost))
        return CLI_FILE;
    const int status = run(&transport, count, words);
    mpi_watch_allow_ends();
    mpi_wait_for_all();
    mpi_watch_end();
    mpi_end();
    return status;
}
