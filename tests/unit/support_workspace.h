/* Workspace for kernels that are called without an instance. */
#ifndef FIRN_TESTS_SUPPORT_WORKSPACE_H
#define FIRN_TESTS_SUPPORT_WORKSPACE_H

#include "runtime/kernels/kernels.h"

/* Gives a call the workspace that `scratch` (or NULL) asks for, and not a byte more. All bytes are 0xa5 when it is new.
 * There is one block, which the next call may get again or have replaced. */
void support_give_workspace(firn_kernel_scratch scratch, uint16_t op, firn_kernel_call *call);

/* The kernel that a set has for a call of an op, which gets its workspace; NULL when there is none. */
firn_kernel support_kernel(const firn_kernel_set *set, uint16_t op, firn_kernel_call *call);

#endif
