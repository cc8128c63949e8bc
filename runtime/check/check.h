/* Checks around each op, only in builds with CHECK=1 (FIRN_CHECK): what ships has none of this. For whoever looks for
 * the first op at which two machines, kernel sets or builds differ. */
#ifndef FIRN_CHECK_CHECK_H
#define FIRN_CHECK_CHECK_H

#include "runtime/kernels/kernels.h"

/* What a check knows of an op beside its call. */
typedef struct firn_checked_op {
    uint16_t code;
    uint32_t number;              /* in the plan, through all phases */
    bool gradients_are_finite;    /* the update phase under dynamic loss scaling, which skips other steps */
    uint32_t regions;             /* blocks of memory that operands lie in */
    const uint8_t *const *blocks; /* NULL: none of this region */
    const uint64_t *bytes;        /* of each block */
} firn_checked_op;

/* Runs a kernel. Before, it checks that operands lie in the regions, that no output overlaps another operand without
 * being it, and that gradients are finite where that is known. If the number of the op and the step say so, it runs the
 * portable kernel as well and compares the outputs. A check that fails prints a line on stderr and aborts.
 *
 * If the environment has FIRN_TRACE=FILE, the program writes FILE anew, with a line for each op: step, micro-step,
 * number, name, and for each output its position and a hash of 64 bits, without its scratch. NaN is hashed as one
 * value, as in digests. */
void firn_check_run(const firn_checked_op *op, firn_kernel kernel, const firn_kernel_call *call);

#endif
