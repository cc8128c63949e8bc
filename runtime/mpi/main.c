/* firn-mpi: train and eval of firn, shared by the processes that mpirun starts. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runtime/mpi/shared.h"
#include "runtime/program/descriptors.h"

/* The options of firn, and those that only firn-mpi has. */
typedef struct mpi_request {
    cli_options options;
    mpi_options more;
} mpi_request;

static const firn_option options_of_ranks[] = {
    {.name = "--verify-ranks",
     .value = "N",
     .text = "train: compare the states of all ranks after every N steps",
     .kind = FIRN_OPTION_NUMBER,
     .place = offsetof(mpi_request, more.verify_ranks),
     .least = 1,
     .most = UINT64_MAX,
     .what = "a number of steps"},
};

static const firn_example examples[] = {
    {"mpirun -n 2 firn-mpi train plans/train.plan --pub me.pub.pem --data text.txt --checkpoint mpi.ckpt",
     "train in two processes of this machine"},
    {"mpirun -n 2 firn-mpi eval plans/eval.plan --pub me.pub.pem --data text.txt --checkpoint mpi.ckpt",
     "evaluate in two processes"},
};

/* train and eval of firn, with these options. */
static firn_command commands[2];

static const firn_command *command_at(uint32_t position) {
    static const char *const names[] = {"train", "eval"};
    if (position >= sizeof commands / sizeof *commands)
        return NULL;
    firn_command *command = &commands[position];
    *command = *firn_command_named(&cli_manual, names[position]);
    if (strcmp(command->name, "train") == 0)
        command->tables[1] = (firn_option_table){options_of_ranks, sizeof options_of_ranks / sizeof *options_of_ranks};
    memset(command->examples, 0, sizeof command->examples);
    command->examples[0] = examples[position];
    return command;
}

static const char *const commands_of_firn[] = {"predict",    "generate", "data", "data-statistics", "export", "digest",
                                               "checkpoint", "report",   "plot", "flash",           NULL};

static firn_manual manual = {
    .program = "firn-mpi",
    .version = FIRN_VERSION,
    .text = "runs a plan in the processes that mpirun starts",
    .more = "State, log and metric have the same bits for any number of processes, on one machine or several. A "
            "training plan must have at least as many micro-batches in a step as there are ranks, and the recipe's "
            "trainer.init.loop.micro_batch_order must be tree. Every machine needs plan, key and data under the same "
            "names; rank 0 writes checkpoint and log. --threads is of each rank; default: the CPUs that mpirun gives "
            "the ranks of a machine, divided by their number; mpirun --bind-to none gives them all. "
            "runtime/SCALING.md says more.",
    .see_also = "firn",
    .other = commands_of_firn,
    .command_at = command_at,
    .say = cli_say,
};

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
    static mpi_request request;
    cli_options *options = &request.options;
    const firn_command *command;
    const bool leads = transport->rank == 0;
    if (!leads)
        manual.say = NULL; /* all ranks have the same command line; rank 0 speaks */
    const firn_line line = firn_line_open(&manual, count - 1, words + 1, &command);
    if (line != FIRN_LINE_COMMAND)
        return line == FIRN_LINE_WRONG ? CLI_USAGE : leads ? cli_flush() : CLI_OK;
    int status = cli_options_read(options, &manual, command, count - 2, words + 2);
    if (status == CLI_OK && leads && !options->quiet)
        say_bound(options);
    if (status == CLI_OK && options->threads == 0)
        options->threads = threads_of_rank();
    if (status == CLI_OK) {
        mpi_watch_begin(transport);
        status = leads ? mpi_lead(transport, options, &request.more) : mpi_follow(transport, options);
    }
    cli_options_free(options);
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
