/* A kernel call with operands of its own, for benchmarks of single kernels. The kernel is looked up and called as the
 * executor does it, so that the environment's choice of a kernel set takes effect. */
#ifndef FIRN_TESTS_BENCH_JOB_H
#define FIRN_TESTS_BENCH_JOB_H

#include "tests/unit/support_call.h"

typedef struct job {
    firn_kernel kernel;
    test_call call;
} job;

firn_tensor tensor(uint8_t type, uint8_t rank, const uint32_t dims[]); /* zeros */
/* Fills with numbers in (-spread, spread) that do not repeat within a row. */
firn_tensor filled(uint8_t type, uint8_t rank, const uint32_t dims[], float spread);
/* Looks up the kernel of this machine's set for a call that is filled in, and gives the call all threads and the
 * workspace that the kernel asks for. */
void find_kernel(job *it, uint16_t op);
void run_job(void *context); /* context: a job */
void free_job(job *it);      /* an output that is an input, too, is freed once */

#endif
