/* The interface between the executor and the kernels. A kernel makes no checks: shapes, types, attributes and
 * reductions were checked when the plan was loaded (plan/shapes/shapes_*.c, plan/checks/semantics.c). It returns
 * nothing and accesses only its operands and the call's workspace. The portable kernels in this folder define the ops
 * together with plan/NUMERICS.md; every other set must give the same bits. Freestanding.
 *
 * Terms used in all files of this folder:
 *
 * - block: consecutive items along one dimension that one iteration of a loop processes: elements of a tensor
 *   (blocks.h), terms of a product, queries of a head. The last block may be shorter.
 * - task: the unit that firn_parallel_run distributes among threads.
 * - piece: a part of an op's output that one thread computes from beginning to end, using a slot of the workspace
 *   (vector/pieces.h).
 * - tile: rows by columns of a product's output whose sums are kept together: on the stack (product.h), in registers
 *   (vector/tile.h, vector/attention/tile.h), or in the slot, a subtile at a time in registers
 *   (vector/chunked/chunked.h).
 * - panel: a part of a factor of a product, as wide as a tile, packed as [term][lane] (vector/pack.h).
 * - strip: one of several panels of a factor's rows that are packed in one pass over memory (vector/pack.h).
 * - chunk: terms whose sum is rounded separately, as a reduction of the plan specifies (plan/NUMERICS.md). */
#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/ops.h"
#include "runtime/numerics/numerics.h"

/* A tensor in memory, row-major, aligned to 16 bytes. */
typedef struct firn_tensor {
    void *data; /* NULL: an input that this op does not have */
    size_t elements;
    const uint32_t *dims; /* `rank` extents, which belong to the plan or to the caller */
    uint8_t type;         /* firn_type */
    uint8_t rank;
} firn_tensor;

/* Divides [0, tasks) among threads. body may run for several ranges at the same time, so it must write only what
 * belongs to its tasks. */
typedef void (*firn_task_body)(void *argument, size_t begin, size_t end);
typedef struct firn_parallel {
    void *context;
    void (*run)(void *context, size_t tasks, firn_task_body body, void *argument); /* NULL: the caller runs all */
    uint32_t threads; /* threads that run uses at most, caller included; 0 or 1: one */
    uint64_t grain;   /* a call of lower cost is not divided: waking a thread would cost more */
} firn_parallel;

/* The default grain, for a port that sets none. Cost counts operations on elements, approximately: one for each element
 * that plain code reads, computes or writes. A vectorised loop counts less, a division more. */
#define FIRN_GRAIN ((uint64_t)1 << 15)

/* The position of a call in the run. Random numbers depend on it, and accumulation starts in micro-step 0. */
typedef struct firn_moment {
    uint64_t global_step;
    uint32_t micro_step;
} firn_moment;

typedef struct firn_kernel_call {
    const firn_tensor *inputs;  /* tensors that an op changes in place are written through outputs */
    const firn_tensor *outputs; /* all of them present */
    const int64_t *integers;
    const float *reals;
    const firn_reduction *reductions; /* NULL if the op has none */
    uint8_t input_count, output_count;
    uint64_t seed; /* the plan's seed */
    const firn_moment *moment;
    firn_parallel parallel;
    /* The call's scratch: one slot for each of parallel.threads threads, at least one, of slot_bytes each, a multiple
     * of 64. The first slot is aligned to 64. The contents are undefined when a call begins. NULL and 0 if no kernel of
     * the plan needs scratch. */
    void *workspace;
    size_t slot_bytes;
    /* The set of the kernel that runs, for one that consists of others. Not set where no kernel needs scratch: there
     * portable kernels call each other. */
    const struct firn_kernel_set *kernels;
} firn_kernel_call;

/* Returns an input that the op may not have, or NULL if it does not: the list of inputs ends before it, or its place in
 * the list is empty. */
static inline const firn_tensor *firn_call_input(const firn_kernel_call *call, uint8_t position) {
    return position < call->input_count && call->inputs[position].data != NULL ? &call->inputs[position] : NULL;
}

typedef void (*firn_kernel)(const firn_kernel_call *call);

/* Returns the bytes of scratch that each thread of a call needs; slot_bytes must not be less. The result depends only
 * on the shapes, types, attributes, reductions and `parallel` of the call, not on data or workspace. */
typedef uint64_t (*firn_kernel_scratch)(uint16_t op, const firn_kernel_call *call);

/* Whether there are kernels that need scratch: only those of a set with vectors do. */
enum { FIRN_KERNELS_HAVE_SCRATCH = FIRN_VECTORS };

typedef struct firn_kernel_choice {
    firn_kernel run;             /* NULL: the kernel was not linked, or the op is unknown */
    firn_kernel_scratch scratch; /* NULL: the kernel needs no scratch */
} firn_kernel_choice;

/* Declares one kernel for each op of plan/ops.def. */
#define FIRN_OP(name, code, ...) void firn_kernel_##name(const firn_kernel_call *call);
#include "plan/ops.def"
#undef FIRN_OP

/* The code of the kernel that fills its only output, float32, with initial values. It is looked up like the kernel of
 * an op, by a code that no op has, and gets no scratch. integers: InitialiserRule (all but weights) and
 * rng_id; reals: a, b, low and high of the initialiser. */
#define FIRN_KERNEL_INITIALISE UINT16_MAX
enum {
    FIRN_INITIALISE_OUT_TENSOR = 0,
    FIRN_INITIALISE_RULE = 0,
    FIRN_INITIALISE_RNG_ID = 1,
    FIRN_INITIALISE_A = 0,
    FIRN_INITIALISE_B = 1,
    FIRN_INITIALISE_LOW = 2,
    FIRN_INITIALISE_HIGH = 3
};
void firn_kernel_initialise(const firn_kernel_call *call);

/* The code of linear_backward_weight whose sums continue from what its output, float32, has; a chunk or a block of
 * terms begins with the first row. It is looked up like the kernel of an op, by a code that no op has; a kernel that
 * computes a gradient by blocks of rows calls it for all blocks but the first. */
#define FIRN_KERNEL_ADD_WEIGHT (UINT16_MAX - 1)
void firn_kernel_add_weight(const firn_kernel_call *call);

/* The codes of two kernels that compute in the calling thread for the sampler, which has loops of its own where a set
 * lacks them: only those with vectors have them. Like the code above, no op has these. SCALE computes
 * fma(element, scale, shift) of an input of uint8, rounded to the type of the output, which has as many elements. Scale
 * and shift are finite. PERMUTE replaces each number of its only output, uint64 below the count and at least one, by
 * what firn_permute returns. */
#define FIRN_KERNEL_SCALE   (UINT16_MAX - 2)
#define FIRN_KERNEL_PERMUTE (UINT16_MAX - 3)
enum {
    FIRN_SCALE_IN_ELEMENTS = 0,
    FIRN_SCALE_OUT_VALUES = 0,
    FIRN_SCALE_SCALE = 0,
    FIRN_SCALE_SHIFT = 1,
    FIRN_PERMUTE_OUT_NUMBERS = 0,
    FIRN_PERMUTE_SEED = 0,
    FIRN_PERMUTE_EPOCH = 1,
    FIRN_PERMUTE_COUNT = 2
};

/* A kernel for each op, or for those that a firmware was linked with. */
typedef struct firn_kernel_set {
    const char *name; /* printed in reports */
    /* Finds the kernel of an op; `reduction` points to all of the op's descriptors, or is NULL if it has none. */
    firn_kernel_choice (*find)(uint16_t op, const firn_reduction *reduction);
    /* At least one of its kernels needs scratch. Only firn_workspace_bytes reads this: without scratch it need not
     * verify a plan. firn_open asks each kernel. */
    bool has_scratch;
} firn_kernel_set;

/* Returns the kernel set with a name, or NULL if this build does not have it or this machine cannot run it. Every build
 * has "plain", the portable kernels; the others depend on the target. Without a name (NULL) it returns the default for
 * this machine: runtime/kernels/set.c, or select.c of runtime/targets/x86 or runtime/targets/aarch64, which considers
 * the environment and the CPU. Called when a plan is opened, never during a step. */
const firn_kernel_set *firn_kernel_set_choose(const char *name);

/* `find` of the portable set. If the build compiles the portable set several times, it renames this function in
 * each. */
firn_kernel_choice firn_kernel_find(uint16_t op, const firn_reduction *reduction);

/* Returns the number of threads among which work of this cost is divided; 1: it is not divided. */
size_t firn_parallel_threads(const firn_parallel *parallel, uint64_t cost);

/* Runs body over [0, tasks), each task of this cost, divided among threads or not as `parallel` requires. */
void firn_parallel_run(const firn_parallel *parallel, size_t tasks, uint64_t cost, firn_task_body body, void *argument);

#endif
