/* The flushed sums, which a firmware may leave out (runtime/kernels/parts.h); nothing else may be defined here.
 * Freestanding. */
#include "runtime/kernels/parts.h"

const firn_product_part firn_product_flushed = firn_product_tile_flushed;
const firn_sums_part *const firn_sums_flushed = &firn_sums_part_flushed;
