/* Notices that a rank has died. MPI does not say so: a message of a dead rank on the same machine just never comes, and
 * mpirun ends the others without naming it. So each rank keeps a connection to rank 0 that nothing is sent over: the
 * system closes it when the process ends, whatever the reason, and notices a machine that no longer answers. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/mpi/shared.h"

enum {
    ADDRESSES = 16,
    TOKEN_BYTES = 16,
    CONNECT_MILLISECONDS = 10000,
    DIE_SECONDS = 10, /* for the thread to say why MPI has failed */
    SETTLE_MILLISECONDS = 50
};

/* A byte over a connection. */
static const char given_up = 'g', told_to_end = 't';

/* Where rank 0 listens, and what a connection must say. */
typedef struct meeting {
    uint32_t count; /* of the addresses; 0: nobody is watched */
    uint16_t port;
    struct in_addr addresses[ADDRESSES];
    uint8_t token[TOKEN_BYTES];
} meeting;

typedef struct greeting {
    uint8_t token[TOKEN_BYTES];
    uint32_t rank, process;
    char host[MPI_HOST_BYTES];
} greeting;

/* A rank that is watched: for rank 0 each of the others, for the others rank 0. */
typedef struct watched {
    int connection; /* -1: none */
    bool told;      /* it was told to end by a signal, so it is not the first that died */
    greeting who;
} watched;

static struct {
    const firn_ranks_transport *transport;
    watched *list; /* by rank */
    pthread_t thread;
    bool running;
    atomic_bool ends;
    int wake[2];        /* a pipe */
    int standard_error; /* as it was at the beginning: a rank other than 0 prints into memory */
    const char *_Atomic checkpoint;
    _Atomic uint64_t step;
} watch = {.wake = {-1, -1}};

/* --- the message -------------------------------------------------------------------------------------------------- */

/* Writes a line at once, because mpirun writes about the same event at the same time. */
static void say_at_once(const char *text) {
    char line[8000];
    FILE *to = fmemopen(line, sizeof line, "w");
    if (to == NULL)
        return;
    fputs("firn: firn-mpi: ", to);
    firn_host_print(to, text);
    fputc('\n', to);
    const long length = ftell(to);
    fclose(to);
    if (length > 0)
        (void)!write(watch.standard_error, line, (size_t)length);
}

static void say_dead(uint32_t rank) {
    const watched *dead = &watch.list[rank];
    const char *checkpoint = atomic_load(&watch.checkpoint);
    const unsigned long long step = atomic_load(&watch.step);
    char kept[1500], after[64] = "", text[2500];
    if (checkpoint == NULL)
        snprintf(kept, sizeof kept, "nothing was saved without --checkpoint");
    else if (access(checkpoint, F_OK) != 0)
        snprintf(kept, sizeof kept, "%.1200s was not saved yet", checkpoint);
    else
        snprintf(kept, sizeof kept, "%.1200s is whole, and --resume goes on from it", checkpoint);
    if (step == UINT64_MAX)
        snprintf(kept, sizeof kept, "run again");
    else
        snprintf(after, sizeof after, " after step %llu of the run", step);
    snprintf(text, sizeof text, "rank %lu (process %lu on %s) has died%s; %s", (unsigned long)rank,
             (unsigned long)dead->who.process, dead->who.host, after, kept);
    say_at_once(text);
}

/* Tells the other ranks to end in silence. */
static void tell_all(void) {
    for (uint32_t i = 0; watch.list != NULL && i < watch.transport->size; i++)
        if (watch.list[i].connection >= 0)
            (void)!send(watch.list[i].connection, &given_up, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void mpi_watch_give_up(int status) {
    fflush(stderr);
    tell_all();
    _exit(status);
}

void mpi_watch_lost(const char *what) {
    if (watch.running)
        sleep(DIE_SECONDS);
    firn_host_fail("firn-mpi", "%s; look at the network between the machines", what);
    mpi_watch_give_up(CLI_FILE);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* Reads what a connection says. Returns false if it is closed. */
static bool is_open(watched *peer) {
    char said;
    const ssize_t count = recv(peer->connection, &said, 1, MSG_DONTWAIT);
    if (count == 1 && said == given_up)
        _exit(CLI_FILE);
    peer->told |= count == 1 && said == told_to_end;
    return count == 1 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Returns the rank whose connection is closed; of several one that was not told to end. UINT32_MAX: none. */
static uint32_t find_dead(void) {
    uint32_t dead = UINT32_MAX;
    for (uint32_t i = 0; i < watch.transport->size; i++) {
        watched *peer = &watch.list[i];
        if (peer->connection >= 0 && !is_open(peer) && (dead == UINT32_MAX || watch.list[dead].told))
            dead = i;
    }
    return dead;
}

static void end_for(uint32_t dead) {
    if (atomic_load(&watch.ends))
        return;
    if (watch.transport->rank <= 1) /* rank 1 speaks for rank 0; the others are silent */
        say_dead(dead);
    mpi_watch_give_up(CLI_FILE);
}

static void *look(void *argument) {
    struct pollfd *polled = argument;
    const uint32_t size = watch.transport->size;
    for (uint32_t i = 0; i < size; i++)
        polled[i] = (struct pollfd){.fd = watch.list[i].connection, .events = POLLIN | POLLRDHUP};
    polled[size] = (struct pollfd){.fd = watch.wake[0], .events = POLLIN};
    while (!atomic_load(&watch.ends)) {
        if (poll(polled, size + UINT64_C(1), -1) <= 0 || atomic_load(&watch.ends))
            continue;
        const uint32_t dead = find_dead();
        if (dead != UINT32_MAX)
            end_for(dead);
    }
    return NULL;
}

/* --- connecting --------------------------------------------------------------------------------------------------- */

static void keep_alive(int connection) {
    const int on = 1, idle = 3, between = 1, count = 4;
    setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* Lists the addresses of this machine that others may reach. */
static void list_addresses(meeting *place) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL && place->count < ADDRESSES; at = at->ifa_next)
        if (at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET && (at->ifa_flags & IFF_LOOPBACK) == 0)
            place->addresses[place->count++] = ((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
    freeifaddrs(all);
}

/* Listens for the others: if all are on this machine, where only they can connect. */
static int listen_for(meeting *place, bool here) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(here ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t length = sizeof address;
    *place = (meeting){0};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || getrandom(place->token, sizeof place->token, 0) != (ssize_t)sizeof place->token ||
        bind(listener, (const struct sockaddr *)(const void *)&address, sizeof address) != 0 ||
        listen(listener, SOMAXCONN) != 0 || getsockname(listener, (struct sockaddr *)(void *)&address, &length) != 0) {
        if (listener >= 0)
            close(listener);
        return -1;
    }
    place->port = address.sin_port;
    if (here)
        place->addresses[place->count++] = (struct in_addr){htonl(INADDR_LOOPBACK)};
    else
        list_addresses(place);
    return listener;
}

static bool read_whole(int connection, void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        struct pollfd polled = {.fd = connection, .events = POLLIN};
        if (poll(&polled, 1, CONNECT_MILLISECONDS) <= 0)
            return false;
        const ssize_t now = recv(connection, (uint8_t *)bytes + done, count - done, 0);
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

/* Takes one connection, if it knows the token. Returns false if none has come for long. */
static bool take_one(int listener, const meeting *place, uint32_t *missing) {
    struct pollfd polled = {.fd = listener, .events = POLLIN};
    greeting who;
    if (poll(&polled, 1, CONNECT_MILLISECONDS) <= 0)
        return false;
    const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return true;
    if (!read_whole(connection, &who, sizeof who) || memcmp(who.token, place->token, sizeof who.token) != 0 ||
        who.rank >= watch.transport->size || watch.list[who.rank].connection >= 0) {
        close(connection);
        return true;
    }
    keep_alive(connection);
    watch.list[who.rank].connection = connection;
    watch.list[who.rank].who = who;
    --*missing;
    return true;
}

static greeting introduce(const meeting *place) {
    greeting me = {.rank = watch.transport->rank, .process = (uint32_t)getpid()};
    memcpy(me.token, place->token, sizeof me.token);
    mpi_host(me.host);
    return me;
}

static int connect_to(const struct in_addr *address, uint16_t port) {
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = *address, .sin_port = port};
    const struct timeval limit = {.tv_sec = 3};
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0)
        return -1;
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(connection, (const struct sockaddr *)(const void *)&to, sizeof to) == 0)
        return connection;
    close(connection);
    return -1;
}

static void meet(const meeting *place) {
    watched *leader = &watch.list[0];
    const greeting me = introduce(place);
    for (uint32_t i = 0; i < place->count && leader->connection < 0; i++)
        leader->connection = connect_to(&place->addresses[i], place->port);
    if (leader->connection < 0)
        return;
    keep_alive(leader->connection);
    (void)!send(leader->connection, &me, sizeof me, MSG_NOSIGNAL);
}

/* mpirun sends SIGTERM to the ranks that are left when one has died. */
static void on_signal(int number) {
    (void)number;
    const int error = errno;
    if (watch.list[0].connection >= 0)
        (void)!send(watch.list[0].connection, &told_to_end, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    errno = error;
}

/* Lets rank 0 decide when a run is interrupted. */
static void leave_signals_to_rank_0(void) {
    static const int others[] = {SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGPIPE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        signal(others[i], SIG_IGN);
}

/* Connects all ranks. Returns how many are not watched. */
static uint32_t connect_all(const firn_ranks_transport *transport) {
    meeting place = {0};
    greeting leader = {0};
    uint32_t missing = transport->size - 1;
    int listener = -1;
    if (transport->rank == 0) {
        listener = listen_for(&place, mpi_this_machine().ranks == transport->size);
        leader = introduce(&place);
    }
    mpi_share(transport, &place, sizeof place);
    mpi_share(transport, &leader, sizeof leader);
    if (transport->rank != 0) {
        watch.list[0].who = leader;
        meet(&place);
        leave_signals_to_rank_0();
        return 0;
    }
    while (missing > 0 && listener >= 0 && take_one(listener, &place, &missing)) {
    }
    if (listener >= 0)
        close(listener);
    return missing;
}

void mpi_watch_begin(const firn_ranks_transport *transport) {
    watch.transport = transport;
    atomic_store(&watch.step, UINT64_MAX);
    watch.standard_error = dup(STDERR_FILENO);
    if (transport->size == 1)
        return;
    watch.list = firn_host_allocate(transport->size * sizeof *watch.list);
    struct pollfd *polled = firn_host_allocate((transport->size + UINT64_C(1)) * sizeof *polled);
    for (uint32_t i = 0; i < transport->size; i++)
        watch.list[i] = (watched){.connection = -1};
    const uint32_t missing = connect_all(transport);
    if (missing != 0)
        firn_host_note(
            "firn-mpi: %lu of the ranks cannot be watched, as no connection of theirs has come; if one dies, "
            "mpirun alone ends the run",
            (unsigned long)missing);
    watch.running = pipe(watch.wake) == 0 && pthread_create(&watch.thread, NULL, look, polled) == 0;
}

void mpi_watch_note(const char *checkpoint, uint64_t step) {
    atomic_store(&watch.checkpoint, checkpoint);
    atomic_store(&watch.step, step);
}

void mpi_watch_allow_ends(void) {
    atomic_store(&watch.ends, true);
}

void mpi_watch_end(void) {
    if (!watch.running)
        return;
    (void)!write(watch.wake[1], &given_up, 1);
    pthread_join(watch.thread, NULL);
    watch.running = false;
}
