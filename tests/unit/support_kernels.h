/* What the tests of kernels share: tensors on the heap, runs with and without split tasks, comparison of bits, and the
 * reduction of NUMERICS.md written out. Test code. */
#ifndef FIRN_TESTS_SUPPORT_KERNELS_H
#define FIRN_TESTS_SUPPORT_KERNELS_H

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"

/* Real types are FIRN_FLOAT32 to this one; the half types follow FIRN_FLOAT32. */
static const uint8_t last_real_type = FIRN_CBFLOAT16;

/* A tensor of rank 1 to 4 (extents of 0 end the list), every byte 0xa5. */
firn_tensor tensor_new(uint8_t type, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
firn_tensor tensor_copy(const firn_tensor *from);
void tensor_free(firn_tensor *tensor);

/* Numbers in (-spread, spread), different for each seed. */
void tensor_fill(firn_tensor *tensor, uint32_t seed, float spread);
/* Some elements become NaN, infinities, zeros of both signs, subnormals, the largest and the smallest value. */
void tensor_sprinkle(firn_tensor *tensor, uint32_t seed);

float get(const firn_tensor *tensor, size_t i);
void set(firn_tensor *tensor, size_t i, float x);

/* The next number of a generator, below `limit`. */
uint32_t draw(uint32_t *state, uint32_t limit);

/* Fails unless both hold the same bits and every NaN is the canonical one. */
void assert_same(const firn_tensor *expected, const firn_tensor *actual, const char *what);

/* The set of that name; NULL where this CPU or build has none, which is said, or fails the test if the environment's
 * FIRN_TEST_SETS names the set. */
const firn_kernel_set *support_set(const char *name);

/* The first micro-batch of the first step: what run_kernel gives a call that has no moment. */
extern const firn_moment support_beginning;

/* Runs the kernel of an op in one piece, then again on copies with its tasks split three ways, the last ones first, and
 * fails when that changes a bit of an output. */
void run_kernel(uint16_t code, firn_kernel_call *call);

/* A reduction as NUMERICS.md words it, over count terms of which the first has absolute index `first`. */
float reduce(firn_reduction reduction, const float *a, const float *b, size_t count, size_t first);

/* The sum of other sums, as NUMERICS.md words it. */
float other_sum(const float *x, size_t count);

#endif
