/* libfirn: runs the one plan that it was given, and nothing else.
 *
 * Life of an instance, all memory being the caller's:
 *
 *     firn_plan_sizes(plan, bytes, &sizes)          how large state and arena must be (from the header, unchecked)
 *     firn_open(&firn, &config)                     verifies and binds: signature, counter, schema, semantics
 *     firn_initialise(&firn) or firn_restore(&firn) fills the state
 *     firn_train_step(&firn, &source, &report) ...  or firn_eval_step
 *     firn_save(&firn)
 *
 * An instance is programmed once: a second firn_open returns FIRN_ERROR_ALREADY_PROGRAMMED. No global of ours is
 * written but the signature check's pool, between the port's lock and unlock; so a process may hold several instances.
 * Nothing here allocates, recurses, prints or uses the file system.
 *
 * Unless a function says otherwise: it returns FIRN_OK or a negative firn_error; it may not be called from an interrupt
 * or from two threads on one instance at the same time; it keeps no pointer that it was given, firn_open apart. */
#ifndef FIRN_H
#define FIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/errors.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "Firn keeps plan and state little-endian and uses them in place: a big-endian target is not supported"
#endif

#define FIRN_VERSION_MAJOR 0
#define FIRN_VERSION_MINOR 1
#define FIRN_VERSION_PATCH 0
#define FIRN_VERSION       "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment in bytes that the plan and the blocks need. */
#define FIRN_BLOCK_ALIGNMENT 64

#define FIRN_CHECK_RESULT __attribute__((warn_unused_result))

/* --- the port: what the platform supplies ------------------------------------------------------------------------- */

/* Block storage for one checkpoint slot. Units are bytes; offsets and lengths of program are multiples of program_unit,
 * of erase multiples of erase_unit, of read any. A byte is programmed at most once between erases.
 *
 * The one slot is erased before it is written: on raw flash a power cut during firn_save loses the record that was
 * there together with the new one, and the run begins anew. Where that may not be, the port must keep the old record
 * until sync (as a file does that is renamed). Two slots, told apart by the record's sequence number, are to come. */
typedef struct firn_storage {
    uint32_t program_unit; /* 1 to 256, a power of two */
    uint32_t erase_unit;   /* a multiple of program_unit */
    uint64_t capacity;     /* a multiple of erase_unit; 0: it grows as it is written (a file), and `stored` is needed */
    uint8_t erased_value;  /* what an erased byte reads as: 0xff for most flash */
    /* Each returns 0, or FIRN_ERROR_STORAGE, or FIRN_ERROR_STORAGE_FULL (erase, program, sync). A record is one erase
     * from offset 0, programs with ascending offsets, and one sync after the last of them: on a file system the old
     * record stays valid until that sync. The record's SHA-256 finds programs that were lost or reordered before it. */
    int (*read)(void *context, uint64_t offset, void *bytes, uint32_t count);
    int (*program)(void *context, uint64_t offset, const void *bytes, uint32_t count);
    int (*erase)(void *context, uint64_t offset, uint64_t count);
    int (*sync)(void *context);
    /* Bytes that are stored now, or 0 when nothing is. NULL: capacity, which then is not 0 (ARGUMENT). */
    uint64_t (*stored)(void *context);
} firn_storage;

/* The security counter of the device: it only grows. */
typedef struct firn_counter {
    int (*read)(void *context, uint32_t *value);   /* 0 or FIRN_ERROR_COUNTER */
    int (*advance)(void *context, uint32_t value); /* only called with more than what read gave; power-safe */
} firn_counter;

typedef struct firn_port {
    uint32_t struct_size;        /* sizeof(firn_port): how a later library knows which fields are there */
    void *context;               /* handed to every function below */
    const firn_storage *storage; /* NULL: firn_save and firn_restore return FIRN_ERROR_NO_STORAGE */
    const firn_counter *counter; /* NULL: the device has no counter; every security counter is accepted */
    /* Around the signature check, whose pool is one for the process. NULL: one thread; two firn_open at the same time
     * are then a bug of the caller, even on two instances. */
    void (*lock)(void *context);
    void (*unlock)(void *context);
    void (*alive)(void *context); /* called now and then during long work, to feed a watchdog. NULL: not called */
    /* Runs body(argument, begin, end) over disjoint ranges that cover [0, tasks) and returns when all are done. Every
     * thread must run with round to nearest and subnormals kept. NULL: everything in the caller. Stack of each thread:
     * 16 KB; `make targets` prints firmware's. */
    void (*parallel_for)(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                         void *argument);
    uint32_t threads; /* that parallel_for uses at most, the caller counted; 0 or 1: it is not called */
    uint64_t grain;   /* operations on elements for which calling it begins to pay; 0: 32,768 */
    /* Does not return. Called when a check that cannot fail has failed (memory was disturbed). NULL: __builtin_trap. */
    void (*trap)(void *context, int error);
} firn_port;

/* --- the data source ---------------------------------------------------------------------------------------------- */

/* A stretch of one stream; windows do not cross from one to the next. */
typedef struct firn_segment {
    uint64_t elements;
} firn_segment;

/* One stream of records or bytes: its segments follow each other. */
typedef struct firn_stream {
    uint8_t element;              /* ElementType: uint8 (6), int32 (4), float32 (0) */
    uint32_t record_elements;     /* elements of one record; 1 for bytes of text */
    const firn_segment *segments; /* at least one */
    uint32_t segment_count;
} firn_stream;

typedef struct firn_source {
    void *context;
    const firn_stream *streams;
    uint32_t stream_count;
    /* Copies count elements of a stream, from element `first` (counted through all segments), little-endian and packed.
     * [first, first + count) lies inside the elements that the stream's segments declare; it may go from one segment
     * into the next. Called in the thread that called firn_train_step or firn_eval_step, never from parallel_for.
     * 0 or FIRN_ERROR_SOURCE. */
    int (*read)(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements);
} firn_source;

/* --- opening ------------------------------------------------------------------------------------------------------ */

typedef struct firn_sizes {
    uint64_t state_bytes;
    uint64_t arena_bytes;    /* includes the verification pool, which is lent from it and free afterwards */
    uint64_t prepared_bytes; /* what prepared ops take in this build; they may be left out */
} firn_sizes;

/* Reads the sizes from a plan's header. Nothing has been verified: use them to provide memory, not to trust the plan.
 * Errors: those of the container range. */
int firn_plan_sizes(const void *plan, uint64_t plan_bytes, firn_sizes *sizes) FIRN_CHECK_RESULT;

typedef struct firn_config {
    const void *plan; /* stays mapped and unchanged while the instance lives; aligned to 64 */
    uint64_t plan_bytes;
    const uint8_t *public_key; /* 64 bytes, X then Y */
    void *state;               /* aligned to 64 */
    uint64_t state_bytes;
    void *arena; /* aligned to 64 */
    uint64_t arena_bytes;
    void *workspace; /* aligned to 64; see firn_workspace_bytes; NULL when workspace_bytes is 0 */
    uint64_t workspace_bytes;
    /* Aligned to 64. firn_open decodes every op of the plan into it, so that a step need not; it writes there and
     * nothing else does, so that a host can and should make these pages read-only once it has returned. NULL: ops are
     * decoded from the plan each time they run, which takes less memory and gives the same bits. */
    void *prepared;
    uint64_t prepared_bytes;
    const firn_port *port; /* stays valid and unchanged while the instance lives; NULL: no port at all */
    /* Name of the kernel set; KERNELS_UNKNOWN when this build does not have it or this machine cannot run it. All sets
     * give the same bits. "plain" is everywhere, on x86 also "fma", "avx2", "avx512" and "avx512fp16". NULL: what
     * FIRN_KERNELS of the environment names, where there is one and it is not empty; else the CPU decides. */
    const char *kernels;
} firn_config;

/* An instance. Zero it before firn_open, and leave it where it is from then on: prepared ops know its address. */
typedef struct firn {
    uint64_t opaque[120];
} firn;

/* Verifies the plan (container, SHA-256, signature, security counter, FlatBuffers rules, semantic rules, in this order)
 * and binds it. On success the device's counter is advanced to the plan's. On any error the instance stays
 * unprogrammed. Cost: two SHA-256 over the plan, one ECDSA check, and a walk over its tensors and ops. */
int firn_open(firn *instance, const firn_config *config) FIRN_CHECK_RESULT;

/* The workspace that firn_open will ask of this config: what the kernels of its set need for the ops of its plan in so
 * many threads as its port has. With fewer bytes firn_open answers WORKSPACE_TOO_SMALL. Every other field of the config
 * is as for firn_open; its workspace may still be missing. Nothing of the plan is believed before it was verified, so
 * this makes all checks of firn_open, at their cost, with their errors, and with the pool that they borrow from the
 * arena; it programs nothing and leaves the counter alone. Sets whose kernels need no workspace ("plain", "fma") answer
 * 0 at once, without a look at the plan. Errors: those of firn_open; *bytes is then 0. */
int firn_workspace_bytes(const firn_config *config, uint64_t *bytes) FIRN_CHECK_RESULT;

/* What was opened. Pointers go into the plan. */
typedef struct firn_info {
    const char *model, *target, *kernels; /* kernels: name of the kernel set */
    uint8_t plan_hash[32];                /* SHA-256 of the signed range */
    uint8_t run_hash[32], model_hash[32];
    bool eval;
    uint64_t steps;                  /* length of the run; 0: every whole batch of the data (eval) */
    uint32_t micro_batches, samples; /* samples of one micro-batch */
    uint32_t window;                 /* elements of a window, label shift included; 0: records */
    uint32_t streams;                /* of data that the inputs are read from */
    uint32_t plan_version, security_counter;
    uint64_t parameters; /* elements of all parameters */
} firn_info;
int firn_describe(const firn *instance, firn_info *info) FIRN_CHECK_RESULT;

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Fills the state with the plan's initial values; the counters become 0. */
int firn_initialise(firn *instance) FIRN_CHECK_RESULT;

typedef struct firn_step_report {
    uint64_t global_step; /* after this step */
    uint64_t optimizer_step;
    float loss;          /* mean over the micro-batches */
    float learning_rate; /* of the first group, as used in this step */
    float loss_scale;    /* as used in this step; 1 without scaling */
    float gradient_norm; /* before clipping; NaN when the plan does not compute it */
    bool skipped;        /* the gradients were not finite: nothing was updated */
} firn_step_report;

/* One global step. Refused on an eval plan (WRONG_MODE) and after the last step of the run (RUN_COMPLETE).
 * Before anything is written: SOURCE errors leave the state as it was. A loss that is not finite (LOSS_NOT_FINITE, when
 * the plan checks it) is found before the update: the state is that of the step before. LOSS_SCALE_FLOOR comes after
 * the step, whose state is complete. *report is filled in both cases. A power cut leaves the state block undefined:
 * restore. */
int firn_train_step(firn *instance, const firn_source *source, firn_step_report *report) FIRN_CHECK_RESULT;

/* One batch of an evaluation. DATA_END after the plan's number of steps, or, where it has none, when too few samples
 * for another batch are left of the part that it reads. LOSS_NOT_FINITE (when the plan checks it) comes after it. */
int firn_eval_step(firn *instance, const firn_source *source) FIRN_CHECK_RESULT;

/* Samples of the part that the plan reads which no eval step has taken yet. After DATA_END of a plan without a number
 * of steps: those that are too few for a batch. */
int firn_eval_left(const firn *instance, const firn_source *source, uint64_t *samples) FIRN_CHECK_RESULT;

/* The one value of the plan's metric over the eval steps so far. NO_RESULT before the first, NO_ROWS where none of the
 * rows counted. */
int firn_eval_result(const firn *instance, float *value) FIRN_CHECK_RESULT;

/* Global steps consumed (train) or eval steps done. */
int firn_progress(const firn *instance, uint64_t *steps) FIRN_CHECK_RESULT;

/* Writes a checkpoint through the port's storage: record, then commit unit last. State is valid between steps only. An
 * error or a power cut costs the record that was there, except on a port that keeps it until sync; after an error the
 * instance goes on. */
int firn_save(firn *instance) FIRN_CHECK_RESULT;

/* Reads a checkpoint back. A train plan needs the same run hash; an eval plan the same model hash, and takes the
 * parameters alone. The whole record is checked before the state is touched: an error leaves the state as it was,
 * unless storage gave other bytes the second time, while they were copied: then the state holds nothing (NO_STATE until
 * initialised or restored). */
int firn_restore(firn *instance) FIRN_CHECK_RESULT;

/* SHA-256 over every state tensor: name, type, shape, canonical bytes, sorted by name. */
int firn_digest(const firn *instance, uint8_t digest[32]) FIRN_CHECK_RESULT;

/* --- looking at tensors ------------------------------------------------------------------------------------------- */

typedef struct firn_tensor_info {
    const char *name;
    uint8_t type, role, rank; /* ElementType, Role */
    uint32_t dims[8];
    const void *data; /* read-only view into state, arena or plan, valid between steps */
    uint64_t bytes;
} firn_tensor_info;
/* Tensor at a position of the plan's list; ARGUMENT when there is none. */
int firn_tensor_at(const firn *instance, uint32_t position, firn_tensor_info *info) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
