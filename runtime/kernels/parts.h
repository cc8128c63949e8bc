/* The parts of the kernels that a firmware may leave out, as tables; plan/parts.h says how. Freestanding. */
#ifndef FIRN_KERNELS_PARTS_H
#define FIRN_KERNELS_PARTS_H

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"

/* The portable kernels of this build, in any order, with empty places between them or without. One that stands at the
 * index that is its code is found at once. */
typedef struct firn_kernel_part {
    uint16_t op;
    firn_kernel run;
} firn_kernel_part;

extern const firn_kernel_part firn_kernel_parts[];
extern const uint16_t firn_kernel_part_count;

/* Computes linear layers of which an operand is of a half type or a reduction is not f32; NULL: not in this build. One
 * with vectors does not read it. */
void firn_linear_tiles(void *argument, size_t begin, size_t end);
extern const firn_task_body firn_linear_in_tiles;

/* Computes a tile of a matrix product whose reduction is flushed; NULL: not in this build. */
struct firn_product;
struct firn_tile;
typedef void (*firn_product_part)(const struct firn_product *product, struct firn_tile *tile);
void firn_product_tile_flushed(const struct firn_product *product, struct firn_tile *tile);
extern const firn_product_part firn_product_flushed;

/* The same for the sums of convolutions. */
static inline bool firn_op_is_convolution(uint16_t op) {
    return op == FIRN_OP_conv || op == FIRN_OP_conv_backward_input || op == FIRN_OP_conv_backward_weight;
}
struct firn_sums;
struct firn_run;
typedef struct firn_sums_part {
    void (*add)(struct firn_sums *sums, const struct firn_run *run);
    void (*end)(struct firn_sums *sums);
} firn_sums_part;
extern const firn_sums_part firn_sums_part_flushed;
extern const firn_sums_part *const firn_sums_flushed;

/* Whether a port may have more threads than one (firn_port.parallel_for). A build without them refuses such a port. */
extern const bool firn_has_threads;

/* Writes elements of a float32 tensor, starting with number `first`, by a rule that draws them: reals as those of
 * FIRN_KERNEL_INITIALISE. */
typedef void (*firn_initialise_rule)(float *out, const firn_rng *rng, uint64_t first, size_t count, const float *reals);
void firn_initialise_normal(float *out, const firn_rng *rng, uint64_t first, size_t count, const float *reals);
void firn_initialise_uniform(float *out, const firn_rng *rng, uint64_t first, size_t count, const float *reals);
void firn_initialise_truncated_normal(float *out, const firn_rng *rng, uint64_t first, size_t count,
                                      const float *reals);

/* By InitialiserRule - 1; NULL: not in this build, and at the place of the rule weights, which draws nothing. The rule
 * constant is in every build. */
enum { FIRN_INITIALISE_RULES = 4 };
extern const firn_initialise_rule firn_initialise_rules[FIRN_INITIALISE_RULES];

#endif
