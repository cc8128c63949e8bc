/* What a kernel is given. Kernels run blind: shapes, types, attributes and reductions were checked at load
 * (plan/shapes/shapes_*.c, plan/checks/semantics.c), so a kernel checks nothing, returns nothing and touches nothing
 * but its operands and the call's workspace. The portable kernels in this folder are the meaning of the ops
 * (plan/NUMERICS.md); any other set must equal them bit for bit. Freestanding.
 *
 * Words that mean the same in all files of this folder:
 *
 * - block: consecutive items along one dimension that one pass of a loop takes: elements of a tensor (blocks.h), terms
 *   of a product, queries of a head. The last one may be shorter.
 * - task: what firn_parallel_run splits among threads.
 * - piece: a part of an op's output that one thread computes from beginning to end, with a slot of the workspace
 *   (vector/pieces.h).
 * - tile: rows by columns of a product's output whose sums are kept together: on the stack (product.h), or in registers
 *   (vector/tile.h, vector/attention/tile.h, vector/chunked/chunked.h).
 * - panel: a packed factor of a product as wide as a tile: [term][lane] (vector/pack.h).
 * - strip: one of several panels of a factor's rows that are packed in one pass over memory (vector/pack.h).
 * - chunk: terms whose sum is rounded by itself, as a reduction of the plan says (plan/NUMERICS.md). */
#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/ops.h"

/* A tensor in memory, row-major, aligned to 16 bytes. */
typedef struct firn_tensor {
    void *data;
    size_t elements;
    uint8_t type; /* firn_type */
    uint8_t rank;
    uint32_t dims[FIRN_RANK_MAX];
} firn_tensor;

/* Splits [0, tasks) among threads. body must be free to run for several ranges at once: it may write only what
 * belongs to its tasks. */
typedef void (*firn_task_body)(void *argument, size_t begin, size_t end);
typedef struct firn_parallel {
    void *context;
    void (*run)(void *context, size_t tasks, firn_task_body body, void *argument); /* NULL: run in the caller */
    uint32_t threads; /* that run uses at most, the caller counted; 0 or 1: one */
    uint64_t grain;   /* cost of a whole call below which it is not split: waking a thread would cost more */
} firn_parallel;

/* The grain of a port that does not say its own. Cost is counted in operations on elements, roughly: one for each
 * element that plain code reads, computes or writes. A loop that does sixteen of them at a time counts for less, a
 * division for more. */
#define FIRN_GRAIN ((uint64_t)1 << 15)

/* When a call is made: for random numbers, and for what begins with the first micro-batch. */
typedef struct firn_moment {
    uint64_t global_step;
    uint32_t micro_step;
} firn_moment;

typedef struct firn_kernel_call {
    uint8_t input_count, output_count;
    firn_tensor inputs[FIRN_INPUTS_MAX]; /* those of ops that change a tensor in place are written through outputs */
    firn_tensor outputs[FIRN_OUTPUTS_MAX];
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX];
    uint64_t seed; /* of the plan */
    const firn_moment *moment;
    firn_parallel parallel;
    /* parallel.threads slots (at least one) of slot_bytes, a multiple of 64; the first is aligned to 64. What they hold
     * is anyone's between two calls. NULL and 0 where no kernel asks for scratch. */
    void *workspace;
    size_t slot_bytes;
} firn_kernel_call;

typedef void (*firn_kernel)(const firn_kernel_call *call);

/* Bytes of scratch that each thread of a call needs: slot_bytes of the call must be as many or more. It depends on the
 * shapes, types, attributes, reductions and `parallel` of the call; data and the workspace are not looked at. */
typedef uint64_t (*firn_kernel_scratch)(uint16_t op, const firn_kernel_call *call);

typedef struct firn_kernel_choice {
    firn_kernel run;             /* NULL: the kernel was not linked, or the op is unknown */
    firn_kernel_scratch scratch; /* NULL: it needs none */
} firn_kernel_choice;

/* One kernel for each op of plan/ops.def. Where FIRN_KERNELS_ON_DEMAND is defined (firmware) the references in
 * runtime/kernels/table.c are weak, so that the linker takes only the kernels that `-u firn_kernel_<op>` names. */
#define FIRN_OP(name, code, ...) void firn_kernel_##name(const firn_kernel_call *call);
#include "plan/ops.def"
#undef FIRN_OP

/* What fills its one output, float32, with initial values: found like the kernel of an op, by a code that no op has;
 * it is given no scratch.
 * integers: InitialiserRule (constant, normal, uniform) and rng_id; reals: a and b of the initialiser. */
#define FIRN_KERNEL_INITIALISE UINT16_MAX
enum {
    FIRN_INITIALISE_OUT_TENSOR = 0,
    FIRN_INITIALISE_RULE = 0,
    FIRN_INITIALISE_RNG_ID = 1,
    FIRN_INITIALISE_A = 0,
    FIRN_INITIALISE_B = 1
};
void firn_kernel_initialise(const firn_kernel_call *call);

/* A kernel for each op, or for those that a firmware was linked with. */
typedef struct firn_kernel_set {
    const char *name; /* for reports */
    /* The kernel of an op whose descriptors of reductions begin with this one; NULL for an op without any. */
    firn_kernel_choice (*find)(uint16_t op, const firn_reduction *reduction);
    bool has_scratch; /* some of its kernels need scratch */
} firn_kernel_set;

/* The set of a name (plain: the portable kernels; what else there is, the target says), NULL when this build does not
 * know it or this machine cannot run it. Without a name (NULL) the one for this machine: runtime/kernels/set.c, or
 * runtime/targets/x86/select.c, which chooses by the environment and the CPU. Asked when a plan is opened, and not
 * again while it runs. */
const firn_kernel_set *firn_kernel_set_choose(const char *name);

/* `find` of the portable set. Where there are several compilations the build gives each a name of its own. */
firn_kernel_choice firn_kernel_find(uint16_t op, const firn_reduction *reduction);

/* Threads that work of this cost is split among; 1: it is not split. */
size_t firn_parallel_threads(const firn_parallel *parallel, uint64_t cost);

/* Runs body over [0, tasks), each of them of this cost, split or not as `parallel` has it. */
void firn_parallel_run(const firn_parallel *parallel, size_t tasks, uint64_t cost, firn_task_body body, void *argument);

#endif
