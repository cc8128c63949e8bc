/* Whether the matrix engine of this CPU sums in the order of plan/NUMERICS.md, "Reductions". Makers of CPUs do not
 * promise the order, so an engine is only used after it has computed a product as the portable kernel does. */
#ifndef FIRN_TARGETS_X86_ENGINE_PROBE_H
#define FIRN_TARGETS_X86_ENGINE_PROBE_H

#include <stdbool.h>

#include "runtime/kernels/kernels.h"

typedef firn_kernel_choice (*firn_find_kernel)(uint16_t op, const firn_reduction *reduction);

/* Computes a few small products of a linear layer with the reduction `kind` by the kernels of both tables. Returns true
 * if all outputs have equal bits; false if one differs, if the first table has no such kernel, or if its kernel needs
 * more scratch than there is here. The caller's floating-point control word has no effect. Takes 70 KB of stack. */
bool firn_engine_agrees(firn_find_kernel engine, firn_find_kernel portable, uint8_t kind);

#endif
