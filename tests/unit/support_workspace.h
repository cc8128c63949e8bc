/* Workspace for kernels that are called without an instance. */
#ifndef FIRN_TESTS_SUPPORT_WORKSPACE_H
#define FIRN_TESTS_SUPPORT_WORKSPACE_H

#include "runtime/kernels/kernels.h"

/* Slots of a set for so many threads, all bytes 0xa5 when they are new. NULL when the set needs none. One block, which
 * the next call may give out again or replace. */
void *support_workspace(const firn_kernel_set *set, uint32_t threads);

#endif
