/* The kernels that the set amx adds to those of another set: the choice is empty for all others. */
#include "runtime/kernels/vector/engine/engine_rows.h"

firn_kernel_choice firn_kernel_find_amx(uint16_t op, const firn_reduction *reduction);

firn_kernel_choice firn_kernel_find_amx(uint16_t op, const firn_reduction *reduction) {
    return firn_engine_find(FIRN_REDUCTION_EVEN_ODD_BLOCKS, op, reduction);
}
