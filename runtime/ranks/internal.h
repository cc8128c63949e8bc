/* What the files of this folder share. */
#ifndef FIRN_RANKS_INTERNAL_H
#define FIRN_RANKS_INTERNAL_H

#include "runtime/instance.h"
#include "runtime/ranks/ranks.h"
#include "runtime/ranks/segments.h"
#include "runtime/step.h"

/* --- ops that a rank does not simply run (cut.c) ------------------------------------------------------------------ */

/* What a rank does with an op of a phase that is shared. */
typedef enum firn_ranks_way {
    FIRN_RANKS_RUN,  /* it runs the op */
    FIRN_RANKS_TREE, /* it runs the op with the number that the micro-batch has in its segment */
    FIRN_RANKS_KEEP, /* it keeps what the op reads, and all ranks run the op later, for each micro-batch in order */
    FIRN_RANKS_ADD   /* the op adds integers: rank 0 runs it, and adds what the others have counted */
} firn_ranks_way;

/* Bytes of the arena or the state, and where they lie in a record. */
typedef struct firn_ranks_part {
    void *data;
    size_t bytes, offset;
} firn_ranks_part;

/* An op that is kept or added, and its parts of the record. */
typedef struct firn_ranks_op {
    uint32_t number; /* in the phase */
    uint32_t first, count;
    firn_ranks_way way;
} firn_ranks_op;

/* A phase that ranks share: what a micro-batch leaves for others is a record. */
typedef struct firn_ranks_cut {
    uint8_t kind; /* of the phase */
    uint8_t *ways;
    firn_ranks_op *ops;
    firn_ranks_part *parts;
    uint32_t op_count, part_count;
    size_t record;
} firn_ranks_cut;

/* Cuts a phase. Returns NULL, or why it cannot be cut. The cut is freed in any case. */
const char *firn_ranks_cut_begin(firn_ranks_cut *cut, firn_instance *instance, uint8_t kind);
void firn_ranks_cut_end(firn_ranks_cut *cut);

/* Runs the phase for a micro-batch, whose inputs are filled and which instance->moment names, and fills its record.
 * local: its number in the segment. adds: the integers that ops add are left in the state, and not in the record. */
void firn_ranks_cut_run(const firn_ranks_cut *cut, firn_instance *instance, uint32_t local, bool adds, uint8_t *record);
/* Runs the ops that were kept for the micro-batch of a record; others_added: and adds its integers. */
void firn_ranks_cut_replay(const firn_ranks_cut *cut, firn_instance *instance, const uint8_t *record,
                           bool others_added);

/* Runs ops of a phase that follow each other. */
void firn_ranks_run_ops(firn_instance *instance, uint8_t kind, uint32_t first, uint32_t count);

/* --- tensors as one row of elements (row.c) ----------------------------------------------------------------------- */

/* A tensor, and where it begins in the row. */
typedef struct firn_ranks_tensor {
    float *data;
    float *lower; /* of a gradient: the levels of the tree below its top, or NULL */
    uint64_t first, elements;
} firn_ranks_tensor;

typedef struct firn_ranks_row {
    firn_ranks_tensor *tensors;
    uint32_t count;
    uint64_t elements;
} firn_ranks_row;

/* Where the elements of one row lie: in its tensors, on a level of the tree, or elsewhere. */
typedef struct firn_ranks_node {
    float *kept;    /* all elements, or NULL: they lie in the tensors */
    uint32_t level; /* of the tree; UINT32_MAX: its top */
} firn_ranks_node;

/* Returns elements [first, first + count) of a row: where they lie, if that is one run that is a multiple of
 * `alignment`, or copied to `room`. */
float *firn_ranks_row_view(const firn_ranks_row *row, const firn_ranks_node *node, uint64_t first, size_t count,
                           size_t alignment, float *room);
/* Copies elements to the tops of the tensors, unless they lie there already. */
void firn_ranks_row_store(const firn_ranks_row *row, uint64_t first, size_t count, const float *from);

/* --- the ranks ---------------------------------------------------------------------------------------------------- */

/* Bytes of a range that follow each other in memory. */
typedef struct firn_ranks_run {
    uint8_t *bytes;
    uint64_t count;
} firn_ranks_run;

#define FIRN_RANKS_ALL UINT32_MAX /* in place of a unit: what all ranks do */

/* A tensor of the optimizer's state that belongs to a unit. */
typedef struct firn_ranks_state {
    firn_tensor tensor;
    uint32_t index; /* in the plan */
    uint32_t unit;
} firn_ranks_state;

enum { FIRN_RANKS_HEAD_BYTES = 64 }; /* in front of the record of an evaluation */

struct firn_ranks {
    firn_instance *instance;
    firn *firn;
    const firn_ranks_transport *transport;
    uint32_t micro_batches;
    firn_ranks_share own;        /* micro-batches */
    firn_ranks_cut batch, count; /* train: the phases micro_batch and count; eval: the phase evaluate, and nothing */
    uint8_t *records;            /* train: of all micro-batches; eval: of a batch of each rank */
    firn_ranks_row gradients;    /* the sums of a step */
    uint64_t *bounds;            /* rank i owns elements [bounds[i], bounds[i + 1]) of the row */
    firn_ranks_run *runs;        /* gather.c: of the ranges of all ranks, in order */
    uint32_t *first_run;         /* runs [first_run[i], first_run[i + 1]) are those of rank i */
    /* units.c and update.c: what belongs to one gradient, which is a unit */
    bool has_units;            /* each rank updates its range alone; false: all ranks update all */
    bool has_totals;           /* finalise sums over all gradients */
    firn_ranks_row parameters; /* of the units */
    uint32_t *units[2];        /* of the ops of finalise and of update; FIRN_RANKS_ALL: none */
    uint8_t *whole;            /* of each unit: it has an op that cannot run for a part of it */
    firn_ranks_state *states;
    uint32_t state_count;
    bool may_fill;              /* while the state is filled: all of the optimizer's begins with constants */
    firn_prepared_op *prepared; /* the ops of the plan, with operands cut to the parts of this rank */
    firn_tensor *operands;
    uint32_t *dims;
    float *totals; /* of blocks of gradients */
    uint64_t total_count;
    uint32_t *pending; /* ops of finalise whose totals have not been exchanged */
    uint32_t pending_count;
    uint64_t *taken;              /* totals of each rank that were put in order */
    float **from;                 /* where those of each rank are */
    firn_ranks_segment *segments; /* of all ranks, in order */
    uint32_t segment_count;       /* of all ranks */
    uint32_t first_segment, mine; /* of this rank */
    firn_ranks_node *nodes;       /* of the segments of this rank */
    float *kept;                  /* of all of them but the last */
    uint64_t chunk;               /* elements that are exchanged at a time, of each rank's range */
    float *received, *packed;     /* a chunk of each segment; of each message */
    float **views;                /* where the chunk of each segment lies */
    firn_ranks_messages out, in;  /* room for the messages of an exchange */
    firn_ranks_volume volume;
};

/* Appends a message to ranks->out or ranks->in. Nothing is sent where count is 0. */
void firn_ranks_send(firn_ranks *ranks, uint32_t peer, const void *bytes, uint64_t count, firn_ranks_cause cause);
void firn_ranks_receive(firn_ranks *ranks, uint32_t peer, void *bytes, uint64_t count);
/* Exchanges what was appended. */
void firn_ranks_exchange(firn_ranks *ranks);

/* Adds up the nodes of all ranks: each gets the sums of its range or, without units, all of them. */
void firn_ranks_reduce(firn_ranks *ranks);
/* Finds what firn_ranks_gather sends. Returns false if there is no memory. */
bool firn_ranks_list_runs(firn_ranks *ranks);
/* Gives every rank all parameters or, without units, all sums: each has its range of them. */
void firn_ranks_gather(firn_ranks *ranks);

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* Returns what a rank has of a tensor of a unit: the same part as of the gradient or, of what is there for all
 * elements, all of it where the first element is. */
firn_ranks_share firn_ranks_state_part(const firn_ranks *ranks, const firn_ranks_state *state, uint32_t rank);
/* Returns where a part lies, and the number of its bytes. */
uint8_t *firn_ranks_state_bytes(const firn_ranks_state *state, firn_ranks_share part, uint64_t *count);
/* Returns the tensor of a unit at an index of the plan, or NULL. */
const firn_ranks_state *firn_ranks_state_at(const firn_ranks *ranks, uint32_t index);
/* Whether a region is the same on all ranks as a whole. */
bool firn_ranks_is_common(const firn_ranks *ranks, uint32_t region);
/* Calls use(argument, index) for each tensor of the optimizer's state that all ranks have, of a plan with units. */
void firn_ranks_for_common_tensors(const firn_ranks *ranks, void (*use)(void *argument, uint32_t index),
                                   void *argument);

/* --- units.c and update.c ----------------------------------------------------------------------------------------- */

/* Finds the units of a plan, if it has any. Returns false if there is no memory. */
bool firn_ranks_find_units(firn_ranks *ranks);
/* Sets the ranges of all ranks. Returns as above. */
bool firn_ranks_set_bounds(firn_ranks *ranks);
/* Returns the elements of a unit that a rank owns, counted from the first of the unit. */
firn_ranks_share firn_ranks_part_of(const firn_ranks *ranks, uint32_t unit, uint32_t rank);
/* Prepare what firn_ranks_run_phase needs of a plan with units. Return as above. */
bool firn_ranks_prepare(firn_ranks *ranks);
bool firn_ranks_make_totals(firn_ranks *ranks);
/* Runs a phase behind the micro-batches. */
void firn_ranks_run_phase(firn_ranks *ranks, uint8_t kind);

#endif
