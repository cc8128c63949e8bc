/* Finds the kernel of an op. The table is plan/ops.def; nothing may be added by hand. Freestanding. */
#include "runtime/kernels/kernels.h"

#ifdef FIRN_KERNELS_ON_DEMAND
/* Weak: a kernel that nothing else asks for is not taken from the archive, and its entry is NULL. */
#    define FIRN_OP(name, code, ...) extern __typeof__(firn_kernel_##name) firn_kernel_##name __attribute__((weak));
#    include "plan/ops.def"
#    undef FIRN_OP
#endif

static const firn_kernel kernels[] = {
#define FIRN_OP(name, code, ...) [code] = firn_kernel_##name,
#include "plan/ops.def"
#undef FIRN_OP
};

firn_kernel firn_kernel_find(uint16_t code) {
    if (code == FIRN_KERNEL_INITIALISE)
        return firn_kernel_initialise;
    return code < sizeof kernels / sizeof kernels[0] ? kernels[code] : NULL;
}
