/* The kernel sets that a test compares with the portable kernels, and the comparison, bit by bit. Test code. */
#ifndef FIRN_TESTS_SUPPORT_SETS_H
#define FIRN_TESTS_SUPPORT_SETS_H

#include <stdbool.h>

#include "tests/unit/support_kernels.h"

/* Every set but plain, for support_find_sets. */
#define SUPPORT_ALL_SETS "fma avx2 avx512 avx512fp16 amx avx512bf16 neon neonfp16"

/* Models: sets with instructions that few CPUs have, compiled with plain C in their place. The first ones are the sets
 * of the matrix engines, each with the kernels of its engine alone. In a test that is not linked with a model, its
 * `find` is NULL. */
enum {
    SUPPORT_MODEL_AMX,
    SUPPORT_MODEL_AVX512BF16,
    SUPPORT_ENGINES,
    SUPPORT_MODEL_AVX512FP16 = SUPPORT_ENGINES,
    SUPPORT_MODELS
};
extern const firn_kernel_set support_models[SUPPORT_MODELS];

enum { SUPPORT_SETS_MAX = 16 };

/* The sets to compare: those that this CPU can run, in the order of the test's list, then the models. */
typedef struct support_sets {
    int count, named; /* the first `named` ones are no models */
    struct {
        const char *name; /* selects the set */
        const firn_kernel_set *set;
    } found[SUPPORT_SETS_MAX];
} support_sets;

extern support_sets support_compared;

/* Fills support_compared with those of the named sets, separated by spaces, that this CPU and build have. What
 * support_set says of each other set is printed. */
void support_find_sets(const char *names);

/* Adds the first `count` models, SUPPORT_ENGINES or SUPPORT_MODELS, if this CPU and build have the set avx2. The
 * Makefile links the test with them: one that is missing then fails the test. */
void support_add_models(int count);

/* Removes the models. */
void support_remove_models(void);

/* Skips the running test if there is nothing to compare. */
void support_skip_without_sets(void);

/* How a set's outputs of a call are compared. Each set runs in each way; with `models_in_every_second`, a model, which
 * is slow, runs in ways 0, 2, 4 and so on. */
typedef struct support_comparison {
    const char *what; /* names the call in messages */
    const firn_parallel *ways;
    int way_count;
    bool models_in_every_second;
    bool in_place; /* output 0 has the memory of input `input` */
    uint8_t input;
    uint8_t outputs; /* the first outputs that are compared: the others are scratch */

    /* Returns whether found[i] runs the call; NULL: each set that has a kernel for it. */
    bool (*takes_part)(int i, uint16_t code, const test_call *call);
    /* Changes what a set left in an output before it is compared; NULL: nothing. */
    void (*clean)(uint16_t code, int output, firn_tensor *tensor);
} support_comparison;

/* Runs the call in every set of support_compared, on copies of its outputs as they are, and fails unless the results
 * are those in `expected`, an array of tensors. A set of this CPU must have a kernel for every op. */
void support_compare(uint16_t code, const test_call *call, const firn_tensor *expected, const support_comparison *how);

/* Runs the plain kernel on copies of the outputs in `expected`; to be freed by support_free_outputs. */
void support_run_plain(uint16_t code, const test_call *call, firn_tensor *expected);

void support_free_outputs(const test_call *call, firn_tensor *outputs);

/* Ways to run tasks: task after task, the last first; in so many threads, each with one range. */
void support_run_backwards(void *context, size_t tasks, firn_task_body body, void *argument);
void support_run_in_threads(size_t threads, size_t tasks, firn_task_body body, void *argument);

#endif
