/* Steps of a run that several processes share, with the bits of one process (plan/NUMERICS.md, runtime/SCALING.md). All
 * ranks have opened the same plan and the same data; every function here is called by all of them at the same time,
 * unless it says otherwise. For hosts: memory is allocated. */
#ifndef FIRN_RANKS_H
#define FIRN_RANKS_H

#include <stddef.h>

#include "runtime/firn.h"
#include "runtime/ranks/transport.h"

typedef struct firn_ranks firn_ranks;

/* What bytes were sent for. */
typedef enum firn_ranks_cause {
    FIRN_RANKS_GRADIENTS, /* of a step: sums of gradients, and what becomes of them */
    FIRN_RANKS_NUMBERS,   /* losses, norms, statistics, counts of rows, metrics, errors */
    FIRN_RANKS_STATE,     /* a state that is shared at the beginning, or passes to or from a checkpoint */
    FIRN_RANKS_CAUSES
} firn_ranks_cause;

/* What a rank has sent. */
typedef struct firn_ranks_volume {
    uint64_t sent[FIRN_RANKS_CAUSES], gradient_bytes, steps; /* gradient_bytes: of one step */
    bool updates_share; /* each rank updates a share of the parameters; false: each updates all of them */
} firn_ranks_volume;

/* Finds out how an open plan is shared by the ranks of the transport. Each rank may call it by itself. Returns NULL if
 * the plan cannot be, and writes why into `fault`, for a message that begins with the name of the plan. Instance and
 * transport stay where they are. */
firn_ranks *firn_ranks_begin(firn *instance, const firn_ranks_transport *transport, char *fault, size_t size);
void firn_ranks_end(firn_ranks *ranks); /* NULL is allowed */

/* Fills the state with the plan's initial values, as firn_initialise does, but of the optimizer's state only what this
 * rank updates. The blocks must hold zeros, as pages do that were never touched. Each rank may call it by itself. */
int firn_ranks_initialise(firn_ranks *ranks);

/* Restores the state from the storage of rank 0, as firn_restore does. Each rank then has its share of the optimizer's
 * state; firn_ranks_share_state gives it the rest. Rank 0 gets the status and the report; on others the status is
 * FIRN_OK and the report is not written. */
int firn_ranks_restore(firn_ranks *ranks, firn_restore_report *report);

/* Gives every rank what all ranks have of the state: what rank 0 has restored. */
void firn_ranks_share_state(firn_ranks *ranks);

/* Saves the whole state to the storage of rank 0, as firn_save does there. Rank 0 gets the status; on others it is
 * FIRN_OK. Rank 0 has the others' shares piece by piece, and never in its blocks. */
int firn_ranks_save(firn_ranks *ranks);

/* firn_digest of the whole state, of which rank 0 needs no more than it updates. Rank 0 gets the digest; the bytes are
 * undefined on other ranks. */
int firn_ranks_digest(firn_ranks *ranks, uint8_t digest[32]);

/* firn_train_step and firn_eval_step. The errors are those that one process would have met first, on every rank; *from
 * becomes the rank that met it. An evaluation takes as many batches as there are ranks, and only rank 0 then has its
 * metric. */
int firn_ranks_train_step(firn_ranks *ranks, const firn_source *source, firn_step_report *report, uint32_t *from);
int firn_ranks_eval_step(firn_ranks *ranks, const firn_source *source, uint32_t *from);

/* Returns true if firn_ranks_eval_step would return FIRN_ERROR_DATA_END at once. Each rank may call it by itself. */
bool firn_ranks_eval_is_over(firn_ranks *ranks, const firn_source *source);

/* Compares what all ranks have of the state: all of it, or without what only one rank updates. *rank becomes the first
 * whose state is another one than that of rank 0, or UINT32_MAX if there is none. Errors: those of firn_digest. */
int firn_ranks_verify(firn_ranks *ranks, uint32_t *rank);

firn_ranks_volume firn_ranks_sent(const firn_ranks *ranks);

#endif
