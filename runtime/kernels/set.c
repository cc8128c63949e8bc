/* The choice of a kernel set on targets that have only the portable one. */
#include <string.h>

#include "runtime/kernels/kernels.h"

const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    static const firn_kernel_set portable = {.name = "portable", .find = firn_kernel_find};
    return name == NULL || strcmp(name, "plain") == 0 ? &portable : NULL;
}
