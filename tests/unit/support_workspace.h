/* Workspace for kernels that are called without an instance. */
#ifndef FIRN_TESTS_SUPPORT_WORKSPACE_H
#define FIRN_TESTS_SUPPORT_WORKSPACE_H

#include "tests/unit/support_call.h"

/* Gives a call the workspace that `scratch` (or NULL) asks for, with a guard behind the bytes of each slot, and checks
 * the guards of the call before it. A new block is filled with 0xa5. There is only one block; the next call may reuse
 * or replace it. */
void support_give_workspace(firn_kernel_scratch scratch, uint16_t op, test_call *call);

/* Fails if a kernel has written behind a slot since workspace was last given. */
void support_check_workspace(void);

/* Returns the set's kernel for a call of an op and gives the call the set and its workspace; NULL if the set has
 * no kernel. */
firn_kernel support_kernel(const firn_kernel_set *set, uint16_t op, test_call *call);

#endif
