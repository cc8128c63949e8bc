/* What lies behind the opaque bytes of a `firn`, and the functions that the files of the runtime share. Private to
 * the core (the .c files of this folder): no user and no target includes it. */
#ifndef FIRN_INSTANCE_H
#define FIRN_INSTANCE_H

#include "plan/checks/check.h"
#include "plan/container.h"
#include "plan/generated/reader.h"
#include "plan/signature.h"
#include "runtime/firn.h"
#include "runtime/kernels/kernels.h"

/* What the state block holds. */
typedef enum firn_condition {
    FIRN_CONDITION_EMPTY = 0,   /* nothing yet, or a restore that failed */
    FIRN_CONDITION_READY = 1,   /* the state between two steps */
    FIRN_CONDITION_POISONED = 2 /* a step began to write and did not end */
} firn_condition;

/* An op that is ready to run. */
typedef struct firn_prepared_op {
    firn_kernel kernel;
    firn_kernel_call call;
} firn_prepared_op;

/* The plan's sampler. */
typedef struct firn_bound_sampler {
    uint8_t kind, part; /* SamplerKind, DataPart */
    bool records;       /* a sample is a record, else a window */
    bool stops;         /* at the end of the epoch */
    uint32_t window, stride, samples, held_out_per_mille;
    uint64_t seed;
} firn_bound_sampler;

typedef struct firn_bound_input {
    uint8_t *data;
    uint64_t elements;       /* of one sample */
    uint32_t advance, limit; /* as the schema has them, and what follows too */
    float scale, shift;
    uint8_t stream, element;
} firn_bound_input;

typedef struct firn_bound_phase {
    uint32_t position;     /* among the plan's phases */
    uint32_t first, count; /* of the ops, counted through all phases */
} firn_bound_phase;

#define FIRN_BOUND_INPUTS_MAX 8 /* as the schema has it */

/* What a step looks at besides its ops. Pointers lead into state and arena; NULL: the plan has no such tensor. */
typedef struct firn_bindings {
    firn_bound_sampler sampler;
    uint64_t steps;
    uint32_t micro_batches, input_count;
    bool check_loss;
    int64_t *cursor;
    const int64_t *global_step, *optimizer_step;
    const float *loss, *learning_rate, *loss_scale, *gradient_norm;
    const int32_t *finite, *at_floor; /* of dynamic scaling */
    firn_bound_input inputs[FIRN_BOUND_INPUTS_MAX];
    firn_bound_phase phases[FIRN_FB_PHASE_KIND_EVALUATE + 1]; /* by kind */
} firn_bindings;

/* may_alias: the user zeroes these bytes through the type `firn`. */
typedef struct __attribute__((may_alias)) firn_instance {
    uint64_t mark; /* FIRN_INSTANCE_MARK once a plan is bound; anything else: unprogrammed */
    firn_header header;
    uint8_t plan_hash[FIRN_HASH_BYTES];
    uint8_t model_hash[FIRN_HASH_BYTES];
    const uint8_t *file; /* the verified bytes */
    uint8_t *state, *arena;
    void *workspace;   /* of the kernels; NULL when they need none */
    size_t slot_bytes; /* of it for each thread */
    const firn_prepared_op
        *prepared; /* every op in order, written by firn_open alone; NULL: ops are decoded as they run */
    firn_bindings bound;
    firn_moment moment;    /* of the step that is running */
    const firn_port *port; /* NULL: none */
    const firn_kernel_set *kernels;
    firn_fb_plan plan;
    uint32_t condition; /* firn_condition */
    uint32_t sequence;  /* of the checkpoint saved or restored last */
} firn_instance;

#define FIRN_INSTANCE_MARK 0x66697270726f6721u

_Static_assert(sizeof(firn_instance) <= sizeof(firn), "an instance fits into the opaque bytes");
_Static_assert(_Alignof(firn_instance) <= _Alignof(firn), "and is no more aligned than they are");

/* --- instance.c --------------------------------------------------------------------------------------------------- */

/* The instance behind the opaque bytes, or NULL when it holds no plan. */
firn_instance *firn_instance_of(firn *instance);
const firn_instance *firn_instance_view(const firn *instance);

/* Feeds the watchdog. */
void firn_instance_alive(const firn_instance *instance);

/* A check that cannot fail has failed. Does not return. */
void firn_instance_trap(const firn_instance *instance, int error) __attribute__((noreturn));

/* The tensor at an index of the plan that was checked at load, in memory. */
firn_tensor firn_instance_tensor(const firn_instance *instance, uint32_t index);

/* Its bytes. */
void *firn_instance_data(const firn_instance *instance, uint32_t index);

/* Element 0 of an int64, and of a float32 tensor. */
int64_t firn_instance_int64(const firn_instance *instance, uint32_t index);
void firn_instance_set_float(const firn_instance *instance, uint32_t index, float value);

/* Elements of a tensor of the plan; the product was checked at load. */
uint64_t firn_instance_elements(firn_fb_tensor tensor);

/* How kernels split their work. */
firn_parallel firn_instance_parallel(const firn_instance *instance);

/* --- bind.c ------------------------------------------------------------------------------------------------------- */

firn_bindings firn_bind(const firn_instance *instance);

/* --- execute.c ---------------------------------------------------------------------------------------------------- */

/* FIRN_OK and the scratch that each thread needs for the ops of the plan, a multiple of 64; or KERNEL_MISSING when an
 * op has no kernel in this build. */
int firn_execute_check(const firn_instance *instance, size_t *slot_bytes) FIRN_CHECK_RESULT;

/* Writes every op of the plan. They refer to the instance, which must be where it will stay. */
void firn_execute_prepare(const firn_instance *instance, firn_prepared_op *prepared);

/* Runs every op of the phase of one kind, in order, at the instance's moment. */
void firn_execute_phase(const firn_instance *instance, uint8_t kind);

/* --- sample.c ----------------------------------------------------------------------------------------------------- */

/* A source that was found to fit the plan: how many samples its part has. */
typedef struct firn_samples {
    const firn_source *source;
    uint64_t count;
} firn_samples;

/* Checks a source against the plan. SOURCE, DATA_TYPE or DATA_TOO_SHORT; ARGUMENT. */
int firn_samples_begin(const firn_instance *instance, const firn_source *source,
                       firn_samples *samples) FIRN_CHECK_RESULT;

/* Fills every input with the samples of one micro-batch, the first being draw number `cursor`. Writes inputs only.
 * SOURCE, DATA_RANGE, or DATA_END. */
int firn_samples_fill(const firn_instance *instance, const firn_samples *samples, uint64_t cursor) FIRN_CHECK_RESULT;

/* --- metric.c ----------------------------------------------------------------------------------------------------- */

/* The value of an evaluation that has counted something. */
float firn_metric_value(const firn_instance *instance);

/* --- initialise.c ------------------------------------------------------------------------------------------------- */

/* Fills the whole state block with the plan's initial values; without parameters those stay zero. */
void firn_initialise_state(const firn_instance *instance, bool with_parameters);

#endif
