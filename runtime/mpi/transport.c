/* MPI as the transport of runtime/ranks: bytes from rank to rank, and no arithmetic. Every call of MPI is in this file,
 * and in the thread that runs the steps. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/mpi/shared.h"

enum {
    MESSAGE_BYTES = 1 << 30, /* the most that one message of MPI has */
    TAG = 1,
    POLLS = 2000, /* before a rank that waits lets others run */
    YIELDS = 200, /* before it sleeps between two looks */
    SLEEP_NANOSECONDS = 50000
};

static MPI_Request *requests;
static size_t request_space;
static mpi_lost *lost;
static mpi_machine machine;

/* Ends the program after a call of MPI that has failed. */
static void check(int result, const char *what) {
    if (result != MPI_SUCCESS)
        lost(what);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static MPI_Request *next_request(size_t count) {
    if (count == request_space) {
        request_space = 2 * request_space + 64;
        requests = firn_host_grow(requests, request_space * sizeof *requests);
    }
    return &requests[count];
}

/* Begins to send or to receive a list of messages. Returns the number of requests. */
static size_t post(size_t count, const firn_ranks_messages *messages, bool sends) {
    for (uint32_t i = 0; i < messages->count; i++) {
        const firn_ranks_message *message = &messages->list[i];
        uint8_t *bytes = message->bytes;
        for (uint64_t left = message->count; left != 0;) {
            const int now = left < MESSAGE_BYTES ? (int)left : MESSAGE_BYTES;
            MPI_Request *request = next_request(count++);
            const int peer = (int)message->peer;
            check(sends ? MPI_Isend(bytes, now, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request)
                        : MPI_Irecv(bytes, now, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request),
                  sends ? "MPI cannot send" : "MPI cannot receive");
            bytes += now;
            left -= (uint64_t)now;
        }
    }
    return count;
}

/* Waits for the requests. A rank that waits for long sleeps between two looks, because others may have its CPU. */
static void wait_for(size_t count) {
    const int polls = machine.ranks > machine.cpus ? 1 : POLLS;
    for (int looks = 0;; looks++) {
        int done = 0;
        check(MPI_Testall((int)count, requests, &done, MPI_STATUSES_IGNORE), "MPI has lost a message");
        if (done)
            return;
        if (looks > polls + YIELDS)
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NANOSECONDS}, NULL);
        else if (looks > polls)
            sched_yield();
    }
}

static void exchange(void *context, const firn_ranks_messages *sends, const firn_ranks_messages *receives) {
    (void)context;
    size_t count = post(0, receives, false);
    count = post(count, sends, true);
    wait_for(count);
}

/* --- what firn-mpi itself sends ----------------------------------------------------------------------------------- */

void mpi_send(const firn_ranks_transport *transport, uint32_t peer, const void *bytes, uint64_t count) {
    firn_ranks_message message = {peer, (void *)(uintptr_t)bytes, count};
    const firn_ranks_messages one = {&message, 1, 1}, none = {NULL, 0, 0};
    transport->exchange(transport->context, &one, &none);
}

void mpi_receive(const firn_ranks_transport *transport, uint32_t peer, void *bytes, uint64_t count) {
    firn_ranks_message message = {peer, bytes, count};
    const firn_ranks_messages one = {&message, 1, 1}, none = {NULL, 0, 0};
    transport->exchange(transport->context, &none, &one);
}

void mpi_share(const firn_ranks_transport *transport, void *bytes, uint64_t count) {
    for (uint32_t peer = 1; peer < transport->size && transport->rank == 0; peer++)
        mpi_send(transport, peer, bytes, count);
    if (transport->rank != 0)
        mpi_receive(transport, 0, bytes, count);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

void mpi_host(char name[MPI_HOST_BYTES]) {
    char whole[MPI_MAX_PROCESSOR_NAME] = "?";
    int length;
    (void)MPI_Get_processor_name(whole, &length);
    snprintf(name, MPI_HOST_BYTES, "%.*s", MPI_HOST_BYTES - 1, whole);
}

/* Counts the CPUs that any rank of this machine may use: mpirun binds each rank to a CPU or some of them. */
static uint32_t cpus_of(MPI_Comm here, uint32_t size) {
    cpu_set_t own, any, *all = firn_host_allocate(size * sizeof *all);
    CPU_ZERO(&any);
    const bool known = sched_getaffinity(0, sizeof own, &own) == 0;
    if (!known)
        CPU_ZERO(&own);
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, here), "MPI cannot tell the CPUs");
    for (uint32_t i = 0; i < size; i++)
        CPU_OR(&any, &any, &all[i]);
    free(all);
    return CPU_COUNT(&any) > 0 ? (uint32_t)CPU_COUNT(&any) : firn_host_cpus();
}

static mpi_machine look_around(void) {
    MPI_Comm here;
    mpi_machine found = {1, firn_host_cpus()};
    int size;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS)
        return found;
    MPI_Comm_size(here, &size);
    found.ranks = (uint32_t)size;
    found.cpus = cpus_of(here, found.ranks);
    MPI_Comm_free(&here);
    return found;
}

mpi_machine mpi_this_machine(void) {
    return machine;
}

bool mpi_begin(firn_ranks_transport *transport, mpi_lost *when_lost) {
    int provided, rank, size;
    lost = when_lost;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
        return firn_host_fail("MPI", "cannot begin with threads; use an Open MPI that has MPI_THREAD_FUNNELED");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *transport = (firn_ranks_transport){.rank = (uint32_t)rank, .size = (uint32_t)size, .exchange = exchange};
    machine = look_around();
    return true;
}

void mpi_wait_for_all(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

void mpi_end(void) {
    MPI_Finalize();
    free(requests);
    requests = NULL;
}
