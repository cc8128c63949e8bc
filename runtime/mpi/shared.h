/* What the files of firn-mpi share. Rank 0 leads: it runs the command as firn does, writes all files and prints all
 * messages. The other ranks follow: they open the same plan and data, and do what rank 0 tells them to. */
#ifndef FIRN_MPI_SHARED_H
#define FIRN_MPI_SHARED_H

#include "runtime/cli/cli.h"
#include "runtime/ranks/ranks.h"

/* --- transport.c: MPI --------------------------------------------------------------------------------------------- */

/* Called with what has failed when MPI cannot go on; it ends the program. */
typedef void mpi_lost(const char *what);

/* Begins MPI. Returns false after a message. */
bool mpi_begin(firn_ranks_transport *transport, mpi_lost *lost);
void mpi_wait_for_all(void);
void mpi_end(void);

/* Sends bytes to a rank, or receives them from it. */
void mpi_send(const firn_ranks_transport *transport, uint32_t peer, const void *bytes, uint64_t count);
void mpi_receive(const firn_ranks_transport *transport, uint32_t peer, void *bytes, uint64_t count);
/* Gives all ranks the bytes of rank 0. */
void mpi_share(const firn_ranks_transport *transport, void *bytes, uint64_t count);

#define MPI_HOST_BYTES 256

/* Writes the name of this machine. */
void mpi_host(char name[MPI_HOST_BYTES]);
/* The machine of a rank. */
typedef struct mpi_machine {
    uint32_t ranks; /* on it */
    uint32_t cpus;  /* that one of these ranks or another may use */
} mpi_machine;

mpi_machine mpi_this_machine(void);

/* --- watch.c: ranks that die -------------------------------------------------------------------------------------- */

/* Connects rank 0 with each other rank, beside MPI, and watches the connections in a thread: the system closes those of
 * a process that dies. Then rank 0 says which one it was, or rank 1 if it was rank 0, and the program ends. */
void mpi_watch_begin(const firn_ranks_transport *transport);
/* What the message says about the state: the file of --checkpoint, or NULL; steps done. */
void mpi_watch_note(const char *checkpoint, uint64_t step);
/* From here on connections may end. */
void mpi_watch_allow_ends(void);
/* Ends the thread. */
void mpi_watch_end(void);
/* Ends the program for a reason that has been printed, and the other ranks in silence. */
void mpi_watch_give_up(int status) __attribute__((noreturn));
/* Ends the program because MPI has failed: the thread, which knows why, is given time to say so. */
void mpi_watch_lost(const char *what) __attribute__((noreturn));

/* --- what rank 0 tells the others --------------------------------------------------------------------------------- */

typedef enum mpi_order {
    MPI_OPENED,     /* say what was opened, or why it was not; the first thing of each session */
    MPI_INITIALISE, /* fill the state */
    MPI_STATE,      /* take the state of rank 0 */
    MPI_SAVE,       /* give rank 0 what it saves */
    MPI_RESTORE,    /* take what rank 0 restores */
    MPI_DIGEST,     /* give rank 0 what its digest needs */
    MPI_TRAIN,      /* a step */
    MPI_EVALUATE,   /* a batch for each rank */
    MPI_FAULT,      /* the rank `number` says what is wrong with its data */
    MPI_VERIFY,     /* compare states */
    MPI_STOP        /* say what was sent, and end */
} mpi_order;

typedef struct mpi_command {
    uint32_t order; /* mpi_order */
    uint32_t which; /* session: 0, or 1 for that of --eval */
    uint64_t number;
} mpi_command;

#define MPI_TEXT_BYTES 2000

/* What a rank has opened. All must be equal but the last three. */
typedef struct mpi_opened {
    uint8_t plan_hash[32], data_sha256[32];
    char firn[32];
    char host[MPI_HOST_BYTES];
    int32_t status;            /* exit code */
    char text[MPI_TEXT_BYTES]; /* the message, if it is not CLI_OK */
} mpi_opened;

/* What is wrong with a data file of a rank. */
typedef struct mpi_fault {
    char file[MPI_TEXT_BYTES], text[200];
} mpi_fault;

/* Fills in what a session has opened. */
void mpi_say_opened(mpi_opened *opened, const cli_session *session, int status);

/* --- lead.c and follow.c ------------------------------------------------------------------------------------------ */

/* The options of firn-mpi beside those of firn. */
typedef struct mpi_options {
    uint64_t verify_ranks; /* 0: not given */
} mpi_options;

/* Runs the command on rank 0, or follows it on another rank. Returns the exit code. */
int mpi_lead(const firn_ranks_transport *transport, cli_options *options, const mpi_options *more);
int mpi_follow(const firn_ranks_transport *transport, cli_options *options);

#endif
