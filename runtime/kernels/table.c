/* Finds the portable kernel of an op among those of this build (runtime/kernels/parts.h). Freestanding. */
#include "runtime/kernels/parts.h"

/* A portable kernel implements every reduction of its op. */
firn_kernel_choice firn_kernel_find(uint16_t op, const firn_reduction *reduction) {
    (void)reduction;
    firn_kernel_choice choice = {.run = NULL};
    if (op == FIRN_KERNEL_INITIALISE)
        choice.run = firn_kernel_initialise;
    else if (op < firn_kernel_part_count && firn_kernel_parts[op].op == op)
        choice.run = firn_kernel_parts[op].run;
    for (uint32_t i = 0; i < firn_kernel_part_count && choice.run == NULL; i++)
        if (firn_kernel_parts[i].op == op)
            choice.run = firn_kernel_parts[i].run;
    return choice;
}
