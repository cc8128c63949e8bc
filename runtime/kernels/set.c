/* The name of the one kernel set of a target that has no other. */
#include "runtime/kernels/kernels.h"

const char *firn_kernel_set_name(void) {
    return "portable";
}
