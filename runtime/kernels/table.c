/* Finds the portable kernel of an op. The table is generated from plan/ops.def; nothing may be added by hand.
 * Freestanding. */
#include "runtime/kernels/kernels.h"

#ifdef FIRN_KERNELS_ON_DEMAND
/* Weak references: a kernel that nothing else refers to is not linked, and its entry is NULL. */
#    define FIRN_OP(name, code, ...) extern __typeof__(firn_kernel_##name) firn_kernel_##name __attribute__((weak));
#    include "plan/ops.def"
#    undef FIRN_OP
#endif

static const firn_kernel kernels[] = {
#define FIRN_OP(name, code, ...) [code] = firn_kernel_##name,
#include "plan/ops.def"
#undef FIRN_OP
};

/* A portable kernel implements every reduction of its op. */
firn_kernel_choice firn_kernel_find(uint16_t op, const firn_reduction *reduction) {
    (void)reduction;
    firn_kernel_choice choice = {.run = NULL};
    if (op == FIRN_KERNEL_INITIALISE)
        choice.run = firn_kernel_initialise;
    else if (op < sizeof kernels / sizeof kernels[0])
        choice.run = kernels[op];
    return choice;
}
