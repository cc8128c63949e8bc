/* Shared by the tests of kernels: tensors on the heap, runs with and without split tasks, bitwise comparison, and the
 * reduction of NUMERICS.md written as a plain loop. Test code. */
#ifndef FIRN_TESTS_SUPPORT_KERNELS_H
#define FIRN_TESTS_SUPPORT_KERNELS_H

#include <stdbool.h>
#include <string.h>

#include "runtime/numerics/numerics.h"
#include "tests/unit/support_call.h"
#include "tests/unit/support_share.h"

/* The real types are FIRN_FLOAT32 to this one; the half types are those after FIRN_FLOAT32. */
static const uint8_t last_real_type = FIRN_CBFLOAT16;

/* Makes a tensor of rank 1 to 4 (an extent of 0 ends the list) with every byte set to 0xa5. */
firn_tensor tensor_new(uint8_t type, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
firn_tensor tensor_copy(const firn_tensor *from);
void tensor_free(firn_tensor *tensor);
/* Frees several tensors; NULL ends the list. */
void tensor_free_each(firn_tensor *first, ...) __attribute__((sentinel));

/* Fills with numbers in (-spread, spread) that depend on the seed. */
void tensor_fill(firn_tensor *tensor, uint32_t seed, float spread);
/* Replaces some elements by NaN, infinities, zeros of both signs, subnormals, and the largest and smallest values. */
void tensor_sprinkle(firn_tensor *tensor, uint32_t seed);

/* Makes a float32 matrix of which each element rounds to that of a matrix of a half type: most lie anywhere between its
 * neighbours, some half-way, and NaNs have any payload. */
firn_tensor tensor_before_rounding(const firn_tensor *half, uint32_t seed);

float get(const firn_tensor *tensor, size_t i);
void set(firn_tensor *tensor, size_t i, float x);

/* Returns the next random number, below `limit`. */
uint32_t draw(uint32_t *state, uint32_t limit);

/* Fails unless both tensors hold the same bits and every NaN is the canonical one. */
void assert_same(const firn_tensor *expected, const firn_tensor *actual, const char *what);

/* Returns the kernel set of that name. If this CPU or build does not have it, prints so and returns NULL, or fails the
 * test if the environment variable FIRN_TEST_SETS names the set. Nothing is printed of a set for another processor: it
 * is none that a CPU of this kind could have. */
const firn_kernel_set *support_set(const char *name);

/* The first micro-batch of the first step, which run_kernel uses for a call without a moment. */
extern const firn_moment support_beginning;

/* Runs the kernel of an op in one piece, then again on copies with its tasks split into three ranges, executed last
 * range first, and with an empty place for each input that the call leaves out. Fails if any bit of an output
 * differs. */
void run_kernel(uint16_t code, test_call *call);

/* Runs tasks in three ranges, the last first; one may be empty. */
void support_run_split(void *context, size_t tasks, firn_task_body body, void *argument);

/* The reduction defined in NUMERICS.md, over `count` terms of which the first has absolute index `first`: the
 * beginning of a block where the sum is flushed, in which no term is absent. */
float reduce(firn_reduction reduction, const float *a, const float *b, size_t count, size_t first);

/* The sum that NUMERICS.md defines for all sums other than reductions. */
float other_sum(const float *x, size_t count);

#endif
