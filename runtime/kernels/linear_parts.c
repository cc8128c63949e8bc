/* The tiles of linear layers, in a build that leaves them in. A firmware's own definition takes its place
 * (runtime/kernels/parts.h), so nothing else may be defined here. Freestanding. */
#include "runtime/kernels/parts.h"

const firn_task_body firn_linear_tile_part = firn_linear_tiles;
