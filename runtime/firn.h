/* The public API of libfirn, which runs one plan.
 *
 * The life of an instance; the caller provides all memory:
 *
 *     firn_plan_sizes(plan, bytes, &sizes)          reads the sizes of all blocks from the header, unchecked
 *     firn_workspace_bytes(&config, &bytes)         for kernel sets with scratch: reads the size of their workspace
 *     firn_open(&firn, &config)                     verifies and binds: signature, counter, schema, semantics
 *     firn_initialise(&firn), or firn_restore       fills the state
 *     firn_train_step(&firn, &source, &report) ...  or firn_eval_step; before it firn_push, if the plan has a ring
 *     firn_confirm(&firn)                           once a step has worked: the device's counter advances
 *     firn_save(&firn)
 *
 * An instance is programmed once: a second firn_open returns FIRN_ERROR_ALREADY_PROGRAMMED. The library writes no
 * global variable, except for what an x86 build remembers of its CPU: a process may hold several instances and use each
 * in a thread of its own. No function allocates, recurses, prints or uses the file system.
 *
 * Unless a function says otherwise, it returns FIRN_OK or a negative firn_error; it must not be called from an
 * interrupt or from two threads on one instance at the same time; and it keeps no pointer passed to it, except
 * firn_open. */
#ifndef FIRN_H
#define FIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/device.h"
#include "plan/errors.h"
#include "plan/release.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "Firn keeps plan and state little-endian and uses them in place: a big-endian target is not supported"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment in bytes that the plan and the blocks need. */
#define FIRN_BLOCK_ALIGNMENT 64

#define FIRN_CHECK_RESULT __attribute__((warn_unused_result))

/* --- the port: what the platform supplies ------------------------------------------------------------------------- */

/* Block storage for checkpoints, in one slot or two. Units are bytes. Slot 0 begins at offset 0, slot 1 at `capacity`,
 * and the storage ends behind the last slot. Offset and length of program are multiples of program_unit, those of erase
 * multiples of erase_unit; read takes any. A byte is programmed at most once between two erases.
 *
 * With two slots, records alternate between them, and the slot with the record that firn_restore would find is never
 * erased: whenever the power fails, firn_restore finds that record or the next one. So flash has two slots.
 *
 * With one slot, the slot is erased before it is written, and a power cut in firn_save loses the record before it as
 * well. One slot is for a port that keeps the previous contents until sync, as a file does that is replaced by
 * renaming. */
typedef struct firn_storage {
    uint32_t program_unit; /* 1 to 256, a power of two */
    uint32_t erase_unit;   /* a multiple of program_unit */
    /* Of one slot, a multiple of erase_unit; 0: one slot that grows as it is written (a file), `stored` is required.
     * `firnc inspect` prints the size of a plan's checkpoint. */
    uint64_t capacity;
    uint8_t erased_value; /* the value of an erased byte: 0xff for most flash */
    uint8_t slots;        /* 1 or 2; 0: 1 */
    /* All four must be there: firn_open does not look, firn_port_test does. Each returns 0, FIRN_ERROR_STORAGE, or
     * FIRN_ERROR_STORAGE_FULL (erase, program and sync only). Saving a record makes reads, then one erase from the
     * beginning of a slot, programs with ascending offsets, and one sync after the last of them. A read that fails is
     * made once more. A slot that cannot be read then, as flash whose error correction fails after a torn write, counts
     * as damaged. The record's SHA-256 detects programs that were lost or reordered before the sync. */
    int (*read)(void *context, uint64_t offset, void *bytes, uint32_t count);
    int (*program)(void *context, uint64_t offset, const void *bytes, uint32_t count);
    int (*erase)(void *context, uint64_t offset, uint64_t count);
    int (*sync)(void *context);
    /* Returns the bytes stored now, 0 if there are none; only with one slot (else ARGUMENT). NULL: use capacity, which
     * must not be 0 (ARGUMENT). */
    uint64_t (*stored)(void *context);
} firn_storage;

/* A monotonic counter of the device, whose value never decreases. The security counter is that of the plans of one
 * image id: plans with another image id have a counter of their own, in the port of their instance. firn_open only
 * reads it; firn_confirm advances it. Checkpoints have another (firn_port.checkpoint_counter). */
typedef struct firn_counter {
    int (*read)(void *context, uint32_t *value);   /* 0 or FIRN_ERROR_COUNTER */
    int (*advance)(void *context, uint32_t value); /* called only with a value above the one read; must be power-safe */
} firn_counter;

typedef struct firn_port {
    uint32_t struct_size;        /* sizeof(firn_port), so that a later library can tell which fields are present */
    void *context;               /* passed to every function below */
    const firn_storage *storage; /* NULL: firn_save and firn_restore return FIRN_ERROR_NO_STORAGE */
    const firn_counter *counter; /* NULL: no counter on this device; every security counter is accepted */
    /* Reads the keys that this device has revoked, as in firn_config.revoked_keys, which it is added to: fuses, or a
     * word in protected memory, of which bits are only ever set. Returns 0 or FIRN_ERROR_COUNTER. NULL: none. */
    int (*revoked_keys)(void *context, uint32_t *mask);
    /* Called regularly during long work, to feed a watchdog. The longest time without a call is in the signature check,
     * which takes 19 million instructions on a Cortex-M7 and 29 million on RV32IMAFC, and calls it before, in the
     * middle and after. NULL: not called. */
    void (*alive)(void *context);
    /* Runs body(argument, begin, end) over disjoint ranges that cover [0, tasks) and returns when all are done. Every
     * thread must round to nearest and keep subnormals. NULL: all work runs in the calling thread. Each thread needs 16
     * KB of stack; `make targets` prints the stack that firmware needs. */
    void (*parallel_for)(void *context, size_t tasks, void (*body)(void *argument, size_t begin, size_t end),
                         void *argument);
    uint32_t threads; /* threads that parallel_for uses at most, caller included; 0 or 1: it is not called. A firmware
                       * that is linked with parts asks for more (firnc export --parallel) */
    uint64_t grain;   /* element operations in one call from which parallel_for is worth its cost; 0: 32,768 */
    /* Does not return. Called if an internal check fails, which only disturbed memory can cause. NULL:
     * __builtin_trap. */
    void (*trap)(void *context, int error);
    /* A second counter, against checkpoints that are put back; NULL: none. A record holds the value that the counter
     * has once it is saved. The order: the record is written, committed and synced; then the counter is advanced by
     * one. firn_restore accepts a record with the counter's value, or with one more: then the power failed between
     * commit and advance, and firn_restore and firn_save first advance the counter, before they read or erase more.
     * Everything else is CHECKPOINT_ROLLED_BACK, also that no slot holds a record once the counter is above 0. So the
     * older slot is no substitute if the newest record decays.
     *
     * Without a device key, which makes the value unforgeable, this detects only old records that were put back as they
     * were. */
    const firn_counter *checkpoint_counter;
    /* Saves for one advance of checkpoint_counter; 0: 1. For a counter that wears: one that stands W advances lasts for
     * W * saves_per_advance saves; after that its errors stop firn_save. With N, the last N records at most have the
     * counter's value, and any of them is accepted if somebody puts it back; a decayed record can be replaced by the
     * older slot if both have the same value. */
    uint32_t saves_per_advance;
} firn_port;

/* --- the data source ---------------------------------------------------------------------------------------------- */

/* A section of one stream; a window never crosses from one segment into the next. */
typedef struct firn_segment {
    uint64_t elements;
} firn_segment;

/* One stream of records or bytes; its segments follow each other. */
typedef struct firn_stream {
    uint8_t element; /* ElementType: float32 (0), int32 (4), uint8 (6), uint16 (7), int16 (8), int8 (9), bool (10) */
    uint32_t record_elements;     /* elements in one record; 1 for bytes of text */
    const firn_segment *segments; /* at least one segment */
    uint32_t segment_count;
} firn_stream;

typedef struct firn_source {
    void *context;
    const firn_stream *streams;
    uint32_t stream_count;
    /* Copies `count` elements of a stream, starting with element `first` (counted through all segments), little-endian
     * and packed. [first, first + count) lies inside the elements that the stream's segments declare and may cross from
     * one segment into the next. `count` may be that of a whole sample, and `elements` need not be aligned. A step may
     * read an element twice (plan/NUMERICS.md, "A step") and must get the same both times. Called in
     * the thread that called firn_train_step or firn_eval_step, never from parallel_for. Returns 0 or
     * FIRN_ERROR_SOURCE. */
    int (*read)(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements);
} firn_source;

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* What a region of a plan holds: RegionKind of plan/plan.fbs. The state, which a checkpoint holds, is parameters,
 * optimizer and session. The slow kinds mean the same, and may lie in memory that is slow. */
typedef enum firn_region_kind {
    FIRN_REGION_PARAMETERS = 0,
    FIRN_REGION_OPTIMIZER = 1,
    FIRN_REGION_SESSION = 2, /* the position in the data, the sums of a metric */
    FIRN_REGION_RING = 3,    /* samples that the application pushes */
    FIRN_REGION_ARENA = 4,   /* activations, gradients and all else that is written */
    FIRN_REGION_CONSTANT = 5,
    FIRN_REGION_SLOW = 6 /* added to one of the above */
} firn_region_kind;

#define FIRN_BLOCKS_MAX 16

typedef struct firn_block_size {
    uint8_t kind; /* firn_region_kind */
    /* What firn_open requires. 0: the region lies in the plan and needs no block. The first arena has at least
     * the pool of the checks, at least 4 bytes for each tensor that is not state, which firn_open borrows. */
    uint64_t bytes;
} firn_block_size;

typedef struct firn_sizes {
    uint32_t block_count; /* at most FIRN_BLOCKS_MAX; the regions of the plan */
    firn_block_size blocks[FIRN_BLOCKS_MAX];
    uint64_t prepared_bytes;  /* bytes that prepared ops take in this build */
    uint64_t copy_plan_bytes; /* of a copy of the plan, which has no report; for plans that another could change */
} firn_sizes;

/* Reads the sizes from a plan's header. Nothing has been verified: use the sizes to provide memory, not to trust the
 * plan. Returns the errors of the container range. */
int firn_plan_sizes(const void *plan, uint64_t plan_bytes, firn_sizes *sizes) FIRN_CHECK_RESULT;

/* Reads the version of the format that a plan needs, whether or not this build has it; firn_format_version gives the
 * build's own. A plan runs where the major versions are equal and the plan's minor version is not higher. Nothing has
 * been verified. Returns FIRN_OK, ARGUMENT, TRUNCATED or MAGIC. */
typedef struct firn_version {
    uint32_t major, minor;
} firn_version;
int firn_plan_needs(const void *plan, uint64_t plan_bytes, firn_version *needed) FIRN_CHECK_RESULT;
firn_version firn_format_version(void);

/* A block of memory for one region. No block, nor the memory for workspace, prepared ops or a copy of the plan, may
 * overlap the instance, the config or anything that the config points to. firn_open checks that they are apart from
 * each other and from the plan (ARGUMENT), and does not check the rest: the instance, keys, identity, port, the config
 * and its list of blocks. */
typedef struct firn_block {
    void *memory; /* aligned to 64 */
    uint64_t bytes;
} firn_block;

typedef struct firn firn;

typedef struct firn_config {
    const void *plan; /* stays mapped and unchanged while the instance is used; aligned to 64 */
    uint64_t plan_bytes;
    /* 64 bytes, X then Y. Where plans of several keys may run, the first of them, and the others follow it; the plan's
     * header names the key that signed it by its hash. None of them: WRONG_KEY. */
    const uint8_t *public_key;
    uint32_t more_keys;    /* keys that follow the first, each another one; at most 31 */
    uint32_t revoked_keys; /* bit i: plans of key i are refused (KEY_REVOKED), see also the port */
    /* NULL, or what the firmware says that this device is. A plan for another vendor or class (OTHER_DEVICE) or with
     * another image id (OTHER_IMAGE) is refused. Only firn_open reads it. */
    const firn_identity *identity;
    /* NULL, or a block aligned to 64 of copy_plan_bytes (firn_sizes), into which firn_open copies the plan before it
     * checks anything. From then on only the copy is read, so that a plan in external memory, which another could
     * change after it was hashed, cannot change the run: schedules, sampler and constants too come from the bytes that
     * were verified. The copy has no report. `plan` need not stay mapped then. A firmware that is linked with the parts
     * of its plans needs those of `firnc export PLAN --c --copy-plan`; else KERNEL_MISSING. */
    void *copy_plan;
    uint64_t copy_plan_bytes;
    /* One block for each region, in the order of firn_sizes; only firn_open reads the list. {NULL, 0} where firn_sizes
     * has 0 bytes, and for parameters that `owner` has. */
    const firn_block *blocks;
    uint32_t block_count;
    /* NULL, or an open instance of the same model, whose parameters this instance uses in place: an eval plan beside
     * the train plan, for example. Both plans must place the parameters alike (OTHER_OWNER), and this plan must be an
     * eval plan (WRONG_MODE). This instance then runs only while the owner's state is ready, never writes the
     * parameters (firn_initialise and firn_restore: see there), and must not run at the same time as the owner. No
     * block may overlap one of the owner's, the arena included, nor its plan, its workspace or its prepared ops
     * (ARGUMENT). The owner must stay open and where it is.
     * KERNEL_MISSING in a firmware that is linked with the parts of plans that only train. */
    const firn *owner;
    void *workspace; /* aligned to 64; see firn_workspace_bytes; NULL when workspace_bytes is 0 */
    uint64_t workspace_bytes;
    /* Aligned to 64. firn_open decodes the operands of every op of the plan into it, so that a step need not. Only
     * firn_open writes there, so a host should make these pages read-only once it has returned. NULL: each op is
     * decoded from the plan every time it runs, which takes less memory and gives the same bits; a plan with an op of
     * more than 16 operands is refused (PREPARED_TOO_SMALL). */
    void *prepared;
    uint64_t prepared_bytes;
    const firn_port *port; /* stays valid and unchanged while the instance is used; NULL: no port */
    /* Name of the kernel set. firn_open returns KERNELS_UNKNOWN if this build does not have it or this machine cannot
     * run it. All sets give the same bits. Every build has "plain"; AArch64 builds also have "neon" and
     * "neonfp16", and x86 builds "fma", "avx2", "avx512", "avx512fp16", "avx512bf16" and "amx". NULL: the set named by
     * the environment variable FIRN_KERNELS if there is one and it is not empty, else the one chosen by the CPU. */
    const char *kernels;
    /* NULL, or 32 secret bytes that only this device has. firn_save then authenticates records by HMAC-SHA-256, and
     * firn_restore refuses others (CHECKPOINT_AUTHENTICATION): nobody without the key can make weights that this device
     * takes. Without a key, records that were written with one are refused in the same way. The key is read by
     * firn_save and firn_restore, is not copied, and stays valid and unchanged while the instance is used. What is
     * computed with it is separated by a label, so that it may serve other purposes too. A device gets its key before
     * its first save: older records cannot be restored with it. */
    const uint8_t *device_key;
    /* SHA-256 of the data that the source will give; zeros: not known. It is saved in checkpoints, and compared when
     * one is restored (firn_restore). The next three accept a checkpoint that was trained otherwise. */
    uint8_t data_hash[32];
    bool allow_other_preprocessing, allow_other_split, allow_other_data;
} firn_config;

/* An instance. Zero it before firn_open, and do not move it afterwards: instances that use its parameters hold its
 * address. */
struct firn {
    uint64_t opaque[98 + 6 * sizeof(void *)];
};

/* Tests that the arithmetic of this processor gives the bits of plan/NUMERICS.md: a fused multiply-add with one
 * rounding, subnormals, round to nearest even, square root, conversions. Under 2,000 instructions where floating point
 * is hardware. Returns FIRN_OK or ARITHMETIC. firn_open runs it; a product may run it at power-on, too. */
int firn_self_test(void) FIRN_CHECK_RESULT;

/* Verifies the plan (header, key, signature, vendor, class and image id, SHA-256 of the payload, security counter,
 * FlatBuffers rules, semantic rules, in this order) and binds it. Before that it runs firn_self_test. The device's
 * counter is read and not advanced (firn_confirm). On any error the instance stays unprogrammed and is zeroed. Cost:
 * one SHA-256 over the payload and another over frozen weights, one ECDSA check, and a few passes over its tensors and
 * ops. */
int firn_open(firn *instance, const firn_config *config) FIRN_CHECK_RESULT;

/* Computes the workspace that firn_open requires for this config: the scratch that the kernels of its set need for the
 * ops of its plan with the port's number of threads. With fewer bytes firn_open returns WORKSPACE_TOO_SMALL. Every
 * other field of the config must be as for firn_open; the workspace itself may be missing. Because no part of a plan is
 * trusted before it is verified, this makes all checks of firn_open, at the same cost, with the same errors, and with a
 * pool borrowed from the arena; it does not program the instance. For sets whose kernels need
 * no workspace ("plain", "fma") it returns 0 bytes at once, without reading the plan. Errors: those of firn_open;
 * *bytes is then 0. */
int firn_workspace_bytes(const firn_config *config, uint64_t *bytes) FIRN_CHECK_RESULT;

/* Properties of an open plan. */
typedef struct firn_info {
    const char *kernels;   /* name of the kernel set */
    uint8_t plan_hash[32]; /* SHA-256 of the header, which is signed */
    uint8_t run_hash[32], model_hash[32];
    bool eval;
    bool metric;                     /* an eval plan that has a metric */
    uint64_t steps;                  /* length of the run; 0: no end (train), all data in batches (eval) */
    uint32_t micro_batches, samples; /* samples of one micro-batch */
    uint32_t window;                 /* elements of a window, label shift included; 0: records */
    uint32_t stride;                 /* elements from one window to the next; 0: records */
    uint32_t streams;                /* of data, which the inputs are read from */
    uint32_t plan_version, image_id, security_counter;
    uint64_t parameters; /* elements of all parameters */
    uint32_t outputs;    /* see firn_output_at */
    bool all_data;       /* the plan reads all of its data; false: the part that is trained on, or that is held out */
    uint32_t ring;       /* records (with windows: elements) that the ring holds; 0: samples are not pushed */
    bool short_batch;    /* the last batch of an evaluation may have fewer samples; false: they are left out */
} firn_info;
int firn_describe(const firn *instance, firn_info *info) FIRN_CHECK_RESULT;

/* What a plan takes from one stream of its data. Returns ARGUMENT if it reads no such stream. */
typedef struct firn_stream_info {
    uint8_t element;          /* ElementType */
    uint32_t record_elements; /* in one record; 1 with windows */
    uint32_t limit;           /* integers must be below it; 0: any value is read */
} firn_stream_info;
int firn_stream_at(const firn *instance, uint32_t stream, firn_stream_info *info) FIRN_CHECK_RESULT;

/* Says what data the source will give: SHA-256 of the data, in place of firn_config.data_hash, for a program that looks
 * at its data only when the plan has been opened. Call it before firn_save and firn_restore. */
int firn_set_data_hash(firn *instance, const uint8_t hash[32]) FIRN_CHECK_RESULT;

/* How many samples a source has, windows or records. */
typedef struct firn_sample_counts {
    uint64_t all;
    uint64_t part;     /* in the part that the plan reads */
    uint64_t held_out; /* in the part that is held out; a window may be in neither part */
} firn_sample_counts;
/* Counts the samples of a source. Too few for a batch are no error. Returns SOURCE or DATA_TYPE as a step would, and
 * ARGUMENT for a plan whose samples are pushed. */
int firn_count_samples(const firn *instance, const firn_source *source, firn_sample_counts *counts) FIRN_CHECK_RESULT;

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Fills the state with the plan's initial values, counters included. An instance with an owner fills only what is its
 * own; the parameters stay as they are. */
int firn_initialise(firn *instance) FIRN_CHECK_RESULT;

/* Call it after the application itself has changed parameters: what the plan derives from them once (its phase derive)
 * is computed again before the next step, here and in instances that share the parameters. */
int firn_parameters_changed(firn *instance) FIRN_CHECK_RESULT;

typedef struct firn_step_report {
    uint64_t global_step; /* after this step */
    uint64_t optimizer_step;
    float loss;          /* of the batch: the mean over its micro-batches, or the sum where a plan adds losses */
    float learning_rate; /* of the first group, as used in this step */
    float loss_scale;    /* as used in this step; 1 without scaling */
    float gradient_norm; /* before clipping; infinite beyond float32; NaN when the plan does not compute it */
    bool skipped;        /* the gradients were not finite, so no parameter was updated */
} firn_step_report;

/* Pushes samples into the ring of a plan that has one (firn_info.ring), whose steps then read the ring and no source.
 * streams[i] points to `count` records of stream i, or elements where samples are windows: packed, of the type and
 * length that firn_stream_at gives, little-endian. They are copied. The ring holds the newest, and every step draws
 * from all that it holds at its beginning, in the order that the plan says (plan/NUMERICS.md, "The sampler"): so the
 * steps depend on what was pushed and between which steps, and on nothing else.
 *
 * The ring is data and no state: firn_open empties it; firn_initialise and firn_restore leave it as it is; no
 * checkpoint has it. After a reset a run goes on, as soon as enough samples have been pushed again, at the draw where
 * it was saved; it has the bits of a run without a reset if the ring again holds the same samples.
 *
 * Not while a step of this instance runs, nor another firn_push: an interrupt that takes samples puts them into a
 * buffer of its own, from which the loop that runs the steps pushes them. Works before firn_initialise, too. Returns
 * DATA_RANGE if an integer is not below the plan's limit, NO_RING if the plan reads a source, ARGUMENT for another
 * number of streams; the ring is then unchanged. */
int firn_push(firn *instance, const void *const *streams, uint32_t stream_count, uint32_t count) FIRN_CHECK_RESULT;

/* Runs one global step. source: NULL for a plan whose samples are pushed; while the ring has too few for a batch
 * (NOT_ENOUGH_PUSHED), nothing is changed: push more and call again. Refused on an eval plan (WRONG_MODE) and after the
 * last step of a run that has an end (RUN_COMPLETE). SOURCE errors occur before the state is written and leave it
 * unchanged. If the plan checks the loss, a loss that is not finite (LOSS_NOT_FINITE) is found before the update: the
 * state is that of the previous step. LOSS_SCALE_FLOOR is returned after a completed step. *report is filled in both
 * cases. A power cut leaves the state block undefined: call firn_restore. */
int firn_train_step(firn *instance, const firn_source *source, firn_step_report *report) FIRN_CHECK_RESULT;

/* Runs one batch of an evaluation. Returns DATA_END after the plan's number of steps or, if it has none, if the samples
 * left in the part that it reads are too few for a batch. A plan whose end of the data is short (firn_info.short_batch)
 * takes them as a last batch, in which the last sample stands for those that are missing and the metric counts none of
 * these: DATA_END then means that no sample is left. The application says nothing for that; the number of samples
 * follows from the segments of the source. LOSS_NOT_FINITE (if the plan checks the loss) is returned after the batch.
 */
int firn_eval_step(firn *instance, const firn_source *source) FIRN_CHECK_RESULT;

/* Begins an evaluation again: fills the session with the plan's initial values, so that the next eval step is the first
 * one. Parameters and buffers stay. WRONG_MODE on a train plan; NO_STATE before firn_initialise or firn_restore. */
int firn_eval_restart(firn *instance) FIRN_CHECK_RESULT;

/* Counts the samples, in the part that the plan reads, that no eval step has used yet. After DATA_END of a plan without
 * a number of steps, these are the samples too few for a batch; 0 where the last batch may be short. */
int firn_eval_left(const firn *instance, const firn_source *source, uint64_t *samples) FIRN_CHECK_RESULT;

/* Says how many samples of the last eval step are of the data, the first ones of its batch: all, or fewer in a short
 * batch. The rows of the outputs behind them repeat the last of these. Returns NO_RESULT before the first step. */
int firn_eval_rows(const firn *instance, uint32_t *samples) FIRN_CHECK_RESULT;

/* Computes the value of the plan's first metric over the eval steps so far. Returns NO_RESULT before the first step,
 * NO_ROWS if no row counted, NO_METRIC if the plan has none. */
int firn_eval_result(const firn *instance, float *value) FIRN_CHECK_RESULT;
/* The same for each metric of a plan that has several, in its order: NO_METRIC from their number on. */
int firn_eval_metric(const firn *instance, uint32_t index, float *value) FIRN_CHECK_RESULT;

/* Says that this plan works here: advances the device's counter to the plan's, after which plans with a lower security
 * counter are refused. The application decides when; call it in every boot, because one in which the counter already
 * has this value is not written. NOT_TRIED before a step of this instance has returned FIRN_OK. A device with two slots
 * for plans calls firn_slots_confirm (plan_slots.h) instead, which calls this. */
int firn_confirm(firn *instance) FIRN_CHECK_RESULT;

/* Returns the number of global steps (train) or eval steps done. */
int firn_progress(const firn *instance, uint64_t *steps) FIRN_CHECK_RESULT;

/* Writes a checkpoint through the port's storage: the record, then the commit unit. The state can be saved only between
 * steps.
 *
 * With two slots the record goes where no record is lost: the slot that firn_restore would read is kept, or if no
 * record fits this plan, the newest valid one of another run. It is checked in full first, which reads and hashes it
 * once. An error or a power cut therefore leaves the previous record. The first save of another run keeps the newest
 * record of the run before it, and the second one erases it: a plan that may be withdrawn should be confirmed before
 * its second save. With one slot the previous record is destroyed, except on a port that keeps it until sync. After an
 * error the instance can continue.
 *
 * The new record is newer than every valid record in the storage, also in a run that has just been initialised.
 * STORAGE, with nothing erased, if there are two slots and neither can be read: either may hold the newest record, and
 * only the port can tell whether its storage has to be erased.
 * COUNTER if the checkpoint counter cannot be read or advanced; where the last advance failed, the record is saved, and
 * the next save or restore advances first. */
int firn_save(firn *instance) FIRN_CHECK_RESULT;

/* How a property of a checkpoint compares with that of the plan and the data. */
typedef enum firn_comparison {
    FIRN_NOT_COMPARED = 0, /* it does not matter here, as the split to an evaluation of all data */
    FIRN_EQUAL = 1,
    FIRN_UNKNOWN = 2, /* the checkpoint or the config has no hash of it */
    FIRN_OTHER = 3    /* the config allows it */
} firn_comparison;

typedef struct firn_restore_report {
    uint64_t global_step;               /* of the checkpoint */
    uint8_t run_hash[32];               /* of the plan that wrote it */
    uint8_t origin_hash[32];            /* the run hash of the run that this plan's run continued; zeros: none */
    uint8_t preprocessing, split, data; /* firn_comparison */
    uint8_t slot;                       /* that the record was read from, 0 or 1 */
    /* Slots that are erased; whose record is incomplete, damaged, unreadable or of another version; and whose record is
     * whole but refused: by its code, its counter value, its run or its model. A power cut in firn_save leaves one
     * damaged slot. If a slot is damaged, the record may be the second newest. Filled in also if no record is
     * found. */
    uint8_t slots_missing, slots_damaged, slots_refused;
    uint32_t sequence;  /* of the record; wraps around at 2^32 */
    uint32_t erases[2]; /* of each slot, at most 2^32 - 1, as the newest valid record counted them; 0: not counted */
} firn_restore_report;

/* Reads a checkpoint back: the newest valid record that fits. Where the newest record belongs to another run, for
 * instance of a plan that was withdrawn, an older one that fits is read; with two valid records that fit it is always
 * the newer one, which is then accepted or refused. If no record fits, the error is that of the slot that comes
 * closest, in this order: STORAGE, OTHER_RUN, OTHER_MODEL, CHECKPOINT_ROLLED_BACK, AUTHENTICATION, VERSION, DAMAGED,
 * MISSING. A power cut in the very first save may leave DAMAGED. COUNTER if the checkpoint counter fails.
 *
 * A train plan requires the same run hash, and the same data if both hashes are known
 * (CHECKPOINT_OTHER_DATA). An eval plan requires the same model hash and reads only parameters and buffers; it requires
 * the same preprocessing (CHECKPOINT_OTHER_PREPROCESSING), and if it evaluates the train or the held-out part of the
 * data, the same split (CHECKPOINT_OTHER_SPLIT) and, if known, the same data. The config can allow what differs. The
 * whole record of each slot is checked before the state is written, so an error leaves the state unchanged, with two
 * exceptions: if storage returns different bytes during the copy than during the check, or if a counter has a value
 * that no run reaches, the state becomes empty (NO_STATE until firn_initialise or firn_restore). SHARED on an instance
 * with an owner. *report is filled also if the checkpoint is refused for what was compared; it may be NULL. */
int firn_restore(firn *instance, firn_restore_report *report) FIRN_CHECK_RESULT;

/* Computes the SHA-256 over every state tensor: name, type, shape and canonical bytes, sorted by name. */
int firn_digest(const firn *instance, uint8_t digest[32]) FIRN_CHECK_RESULT;

/* --- looking at tensors ------------------------------------------------------------------------------------------- */

typedef struct firn_tensor_info {
    const char *name;         /* of state, frozen weights and outputs; "" for all others */
    uint8_t type, role, rank; /* ElementType, Role */
    uint32_t dims[8];
    /* Read-only view into a block or the plan, valid between steps. What lies in an arena and is no output means
     * nothing there, inputs included. */
    const void *data;
    uint64_t bytes;
} firn_tensor_info;
/* Describes the tensor at a position of the plan's list. Returns ARGUMENT if there is none. */
int firn_tensor_at(const firn *instance, uint32_t position, firn_tensor_info *info) FIRN_CHECK_RESULT;

/* Describes the output of the plan with this name, as the last step of this instance left it: an output of training is
 * that of the last micro-batch. The data lies in the arena of this instance. It is valid from a step that was completed
 * until the next step of this instance begins: no other function writes there, firn_initialise and firn_restore
 * included, nor does a step of another instance that shares its parameters, so that a device may train while it reads
 * what it has predicted. Before the first step the bytes mean nothing. Outputs that firnc makes are float32, and their
 * first extent is the number of samples. Returns ARGUMENT if the plan has no such output. */
int firn_output(const firn *instance, const char *name, firn_tensor_info *info) FIRN_CHECK_RESULT;
/* The same for the output at a position of the plan's list, whose name is in info->name. */
int firn_output_at(const firn *instance, uint32_t position, firn_tensor_info *info) FIRN_CHECK_RESULT;

#ifdef __cplusplus
}
#endif
#endif
