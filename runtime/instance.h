/* The structure behind the opaque bytes of a `firn`, and the functions that the files of the runtime share. Private to
 * the core (the .c files of this folder): neither users nor targets include it. */
#ifndef FIRN_INSTANCE_H
#define FIRN_INSTANCE_H

#include "plan/checkpoint/record.h"
#include "plan/checks/check.h"
#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"
#include "runtime/firn.h"
#include "runtime/kernels/kernels.h"
#include "runtime/parts.h"

/* The condition of the state block. */
typedef enum firn_condition {
    FIRN_CONDITION_EMPTY = 0,   /* not filled yet, or a restore failed while it wrote */
    FIRN_CONDITION_READY = 1,   /* holds a state between two steps */
    FIRN_CONDITION_POISONED = 2 /* a step began to write it and did not complete */
} firn_condition;

/* An op whose operands are decoded, and whose kernel is found if it is prepared. Its operands lie in the block of
 * prepared ops, or in the frame of a step that has no such block; what it has besides them lies in the plan. */
typedef struct firn_prepared_op {
    firn_kernel kernel;
    const firn_tensor *operands; /* inputs, then outputs */
    const int64_t *integers;
    const float *reals;
    const firn_fb_reduction *reductions;
    uint8_t input_count, output_count, reduction_count;
} firn_prepared_op;

/* One input of the plan, with its tensor. */
typedef struct firn_bound_input {
    uint8_t *data;
    size_t elements;         /* of one sample */
    size_t record;           /* elements of a record; 1 with windows */
    uint32_t advance, limit; /* as in the schema, like the fields that follow */
    float scale, shift;
    uint8_t stream, element;
} firn_bound_input;

/* Inputs of a plan that are bound when it is opened: features, labels and weights. Each sample looks up those that
 * follow. */
enum { FIRN_BOUND_INPUTS = 3 };

typedef struct firn_bound_phase {
    const uint8_t *ops;    /* the plan's list of them */
    uint32_t first, count; /* of the ops, numbered through all phases */
} firn_bound_phase;

/* What steps use besides their ops and inputs, other than what they read from the plan. Pointers lead into the blocks;
 * NULL: the plan has no such tensor. */
typedef struct firn_bindings {
    bool records;      /* true: a sample is a record; false: a window */
    uint8_t epoch_end; /* FIRN_FB_EPOCH_END_* */
    uint32_t samples;  /* of a micro-batch */
    uint32_t inputs;   /* how many the plan has */
    int64_t *cursor;
    int64_t *pushed; /* NULL: the source is read */
    const int64_t *global_step, *optimizer_step;
    const float *loss, *learning_rate, *loss_scale, *gradient_norm;
    const int32_t *finite, *at_floor;                      /* of dynamic loss scaling */
    firn_bound_phase phases[FIRN_FB_PHASE_KIND_COUNT + 1]; /* indexed by kind; the phase `count` is the last one */
} firn_bindings;

/* may_alias, because the user zeroes these bytes through the type `firn`. What steps use comes first: an instruction of
 * a microcontroller is shorter for a small offset. */
typedef struct __attribute__((may_alias)) firn_instance {
    firn_trail trail; /* complete once a plan is bound; otherwise: not programmed */
    firn_fb_plan plan;
    const firn_port *port; /* NULL: none */
    uint32_t condition;    /* firn_condition */
    bool worked;           /* a step has returned FIRN_OK */
    bool casts_input;      /* the sampler computes the op before the first of the phase: firn_samples_bind */
    bool counting;         /* the phase count runs: only the inputs that it reads are filled */
    firn_bindings bound;
    const firn_prepared_op
        *prepared; /* every op in order, written only by firn_open; NULL: ops are decoded each time */
    const firn_kernel_set *kernels;
    firn_moment moment;     /* of the current step */
    void *workspace;        /* scratch of the kernels; NULL if they need none */
    size_t slot_bytes;      /* scratch for each thread */
    firn_parallel parallel; /* the port's threads as they were at firn_open: the workspace has a slot for each */
    const struct firn_instance *owner;          /* whose parameters are used; NULL: its own */
    const uint8_t *blocks[FIRN_REGIONS_MAX];    /* of each region; constants lead into the file */
    const uint8_t *file;                        /* the verified bytes */
    firn_bound_input inputs[FIRN_BOUND_INPUTS]; /* the first of the plan */
    uint64_t changes;                           /* counts the changes of the parameters, those in a step included */
    uint64_t outside_changes;                   /* counts those that no step made */
    uint64_t derived_at;                        /* the count for which derive has run; 0: it has not run */
    bool allow_other_preprocessing, allow_other_split, allow_other_data; /* as in the config */
    const uint8_t *device_key;                                           /* as in the config */
    uint8_t data_hash[FIRN_HASH_BYTES];
    uint8_t plan_hash[FIRN_HASH_BYTES];
    uint8_t model_hash[FIRN_HASH_BYTES]; /* read it through firn_instance_model_hash */
    firn_header header;
} firn_instance;

_Static_assert(sizeof(firn_instance) <= sizeof(firn), "an instance fits into the opaque bytes");
_Static_assert(_Alignof(firn_instance) <= _Alignof(firn), "and is no more aligned than they are");

/* Returns the instance whose parameters one uses; NULL: it has its own, as every instance of a build without sharing,
 * from which a compiler that sees the parts then removes what only instances with an owner do. */
static inline const firn_instance *firn_instance_owner(const firn_instance *instance) {
    return firn_sharing == NULL ? NULL : instance->owner;
}

/* --- instance.c --------------------------------------------------------------------------------------------------- */

/* Returns the instance behind the opaque bytes, or NULL if it holds no plan. */
firn_instance *firn_instance_of(firn *instance);
const firn_instance *firn_instance_view(const firn *instance);

/* Checks that the state allows a step, of either mode: that it is ready, and that of the owner, too. Returns FIRN_OK,
 * NO_STATE or POISONED. */
int firn_instance_condition(const firn_instance *instance) FIRN_CHECK_RESULT;

/* Notes that parameters were changed other than by a step. */
void firn_instance_changed(firn_instance *instance);

/* Calls the port's `alive`, which feeds the watchdog. */
void firn_instance_alive(const firn_instance *instance);

/* Reports that an internal check failed, which only disturbed memory can cause. Does not return. */
void firn_instance_trap(const firn_instance *instance, int error) __attribute__((noreturn));

/* Returns the tensor at an index of the plan, with its address in memory and its extents as they stand in the plan. The
 * index was checked at load. */
firn_tensor firn_instance_tensor(const firn_instance *instance, uint32_t index);

/* Writes the tensors at a list of indices of the plan, as they stand there; FIRN_ABSENT gives a tensor without data. */
void firn_instance_tensors(const firn_instance *instance, const uint8_t *indices, uint32_t count, firn_tensor *to);

/* Returns the address of the tensor at an index of the plan. */
void *firn_instance_data(const firn_instance *instance, uint32_t index);

/* Reads element 0 of an int64 tensor. */
int64_t firn_instance_int64(const firn_instance *instance, uint32_t index);

/* Returns the number of threads that may run a kernel at the same time, at least 1: the slots of the workspace. */
uint32_t firn_instance_threads(const firn_instance *instance);

/* Memory. It does not extend past the end of the address space. */
typedef struct firn_extent {
    uintptr_t begin, end;
} firn_extent;

static inline firn_extent firn_extent_of(const void *memory, uint64_t bytes) {
    return (firn_extent){(uintptr_t)memory, (uintptr_t)memory + (uintptr_t)bytes};
}

bool firn_extents_are_apart(const firn_extent *a, const firn_extent *b);

/* Returns the number of elements of a tensor of the plan; the check at load excludes an overflow. */
uint64_t firn_instance_elements(firn_fb_tensor tensor);

/* --- request.c ---------------------------------------------------------------------------------------------------- */

/* Fills in what plans are checked against with this config: all but the file and the pool. */
void firn_request_of(const firn_config *config, firn_check_request *request);

/* --- bind.c ------------------------------------------------------------------------------------------------------- */

/* Fills in what a step of this instance uses besides its ops; `bound` is zeroed. The plan must have been checked. */
void firn_bind(firn_instance *instance);

/* Returns input i of the plan, which is in *room if no input of the instance has it. */
const firn_bound_input *firn_bound_input_at(const firn_instance *instance, uint32_t i, firn_bound_input *room);

/* --- execute.c ---------------------------------------------------------------------------------------------------- */

/* Returns the size of a block that holds the decoded ops of a plan. */
uint64_t firn_execute_prepared_bytes(const firn_counts *counts);

/* Finds the kernels of all ops. *slot_bytes becomes the scratch that each thread needs, a multiple of 64. `prepared` is
 * NULL or a block that all ops are decoded into, which begins with an array of firn_prepared_op. The ops hold pointers
 * into the block and the plan, neither of which may move afterwards. Returns FIRN_OK; KERNEL_MISSING if this build has
 * no kernel for an op; PREPARED_TOO_SMALL if there is no such block and an op has more operands than can be decoded
 * without it; or WORKSPACE_TOO_SMALL if no memory of this machine could hold the slots of all threads. */
int firn_execute_check(const firn_instance *instance, void *prepared, size_t *slot_bytes) FIRN_CHECK_RESULT;

/* Runs every op of the phase of one kind, in order, at the step in instance->moment. */
void firn_execute_phase(const firn_instance *instance, uint8_t kind);

/* --- sample.c ----------------------------------------------------------------------------------------------------- */

/* Consecutive elements or records. */
typedef struct firn_span {
    uint64_t first, length;
} firn_span;

/* A source that was checked against the plan, and the number of samples in the part that the plan reads. */
typedef struct firn_samples {
    const firn_source *source;
    uint64_t count; /* at least those of a batch; at least 1 where the last batch may be short */
    uint64_t first; /* with records: the number of the first */
    /* of a plan whose samples are pushed: the newest of them as a source, with what belongs to it */
    firn_source window;
    firn_stream stream; /* the first; the sampler uses no other */
    firn_segment segment;
    const firn_instance *instance;
    uint64_t oldest; /* number of the oldest record in the window */
} firn_samples;

/* Of a build with vectors: if the first op of the phase that reads the inputs casts one of bytes that no other op
 * reads, takes it out of the phase; the sampler then writes what it would. The instance must be bound. */
void firn_samples_bind(firn_instance *instance);

/* Whether the last batch of the plan's data may have fewer samples than the others. */
static inline bool firn_samples_may_be_short(const firn_instance *instance) {
    return instance->bound.epoch_end == FIRN_FB_EPOCH_END_SHORT;
}

/* Checks a source against the plan. *samples is not moved afterwards. Errors: ARGUMENT, SOURCE, DATA_TYPE,
 * DATA_TOO_SHORT, NOT_ENOUGH_PUSHED. */
int firn_samples_begin(const firn_instance *instance, const firn_source *source,
                       firn_samples *samples) FIRN_CHECK_RESULT;

/* Counts the samples in a part of a source that was checked: in the part that the rule gives of each length. */
uint64_t firn_samples_in(const firn_instance *instance, const firn_source *source,
                         firn_span (*part_of)(const firn_instance *instance, uint64_t length));

/* Fills every input with the samples of one micro-batch, starting with draw number `cursor`. Writes only the inputs,
 * and what one is cast to (firn_samples_bind). Errors: SOURCE, DATA_RANGE, DATA_END. */
int firn_samples_fill(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) FIRN_CHECK_RESULT;

/* --- ring.c ------------------------------------------------------------------------------------------------------- */

/* Makes the samples that the ring holds at this moment the source. A reference that is weak does not link ring.c; the
 * call of firn_push does. NULL: the program is linked without it. */
void firn_ring_begin(const firn_instance *instance, firn_samples *samples) __attribute__((weak));

/* --- model.c ------------------------------------------------------------------------------------------------------ */

/* Computes the model hash of an instance whose plan was checked. A reference that is weak does not link model.c; the
 * call of firn_instance_model_hash does. NULL: the program is linked without it. */
int firn_instance_hash_model(firn_instance *instance) __attribute__((weak, warn_unused_result));

/* Returns the 32 bytes of the hash. */
const uint8_t *firn_instance_model_hash(const firn_instance *instance);

/* --- linked.c ----------------------------------------------------------------------------------------------------- */

/* Returns whether this build has the initialisers, metrics, samples and half types of the plan, which must have been
 * checked. */
bool firn_instance_is_linked(const firn_instance *instance);

/* --- initialise.c ------------------------------------------------------------------------------------------------- */

/* Fills the regions of the state that the instance owns with the plan's initial values; without `with_model` those of
 * the parameters stay as they are. */
void firn_initialise_state(const firn_instance *instance, bool with_model);

/* --- restore.c ---------------------------------------------------------------------------------------------------- */

/* Takes from a config what checkpoints are made and compared with. A reference that is weak does not link restore.c;
 * the calls of firn_save and firn_restore do. NULL: the program has no checkpoints. */
void firn_checkpoint_configure(firn_instance *instance, const firn_config *config) __attribute__((weak));

/* 1: the process of a host, of whose state parts may lie in other processes (runtime/ranks). No firmware has the code
 * for that. */
#ifdef __unix__
#    define FIRN_PROCESSES 1
#else
#    define FIRN_PROCESSES 0
#endif

/* Where the bytes of the state are, if not in the blocks alone. Each function is told an address in a block and in
 * *count how many bytes from there on are wanted, at least 1. It stores how many of these there are one after the
 * other, at least 1, and returns the first. */
typedef struct firn_pieces {
    void *context;
    const uint8_t *(*read)(void *context, const uint8_t *at, uint64_t *count);
    /* For bytes that are restored; `placed` is called when all of them are there. */
    uint8_t *(*place)(void *context, uint8_t *at, uint64_t *count);
    void (*placed)(void *context);
} firn_pieces;

#if FIRN_PROCESSES
/* firn_save and firn_restore of such a state; pieces NULL: it is in the blocks. */
int firn_save_pieces(firn *instance, const firn_pieces *pieces);
int firn_restore_pieces(firn *instance, firn_restore_report *report, const firn_pieces *pieces);
#endif

/* The record that a save leaves where it is. */
typedef enum firn_kept {
    FIRN_KEPT_NONE = 0,
    FIRN_KEPT_THIS_RUN = 1, /* it fits the plan */
    FIRN_KEPT_OTHER_RUN = 2
} firn_kept;

/* What the slots of the storage hold. */
typedef struct firn_survey {
    uint32_t slots;
    /* Of each slot: FIRN_OK, or why its record is not to be used. Before a save, the other one was not hashed if the
     * newest record fits. */
    int status[FIRN_RECORD_SLOTS_MAX];
    uint32_t newest;                        /* the slot with the newer sequence */
    bool any;                               /* a record was found that is whole and authentic, of any run */
    uint32_t sequence;                      /* the newest of such records; 0: none */
    uint32_t erases[FIRN_RECORD_SLOTS_MAX]; /* of each slot, as they say */
    uint32_t device;                        /* value of the checkpoint counter; 0: none */
    uint32_t counter, counted;              /* the highest that an accepted record has; of none: device and 0 */
    uint32_t target;                        /* the slot to write, where the least is lost */
    firn_kept kept;                         /* in the other slot */
} firn_survey;

/* Returns the storage of an instance, or NULL with the reason in *status. */
const firn_storage *firn_survey_storage(const firn_instance *instance, int *status);

/* Examines the slots before a save; advances the checkpoint counter if it is behind a record. Errors: COUNTER, HASH;
 * records that cannot be read are no error. */
int firn_survey_slots(const firn_instance *instance, const firn_storage *storage, firn_survey *found) FIRN_CHECK_RESULT;

/* Returns the directory entry of a tensor of the state, whose region is in the record. */
firn_record_entry firn_survey_entry(const firn_instance *instance, const firn_record *record, firn_fb_tensor tensor);

#endif
