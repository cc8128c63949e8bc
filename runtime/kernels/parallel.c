/* Hands tasks to the caller's threads, or runs them here. How tasks are split may never show in a result. Freestanding.
 */
#include "runtime/kernels/kernels.h"

void firn_parallel_run(const firn_parallel *parallel, size_t tasks, firn_task_body body, void *argument) {
    if (parallel->run == NULL || tasks < 2)
        body(argument, 0, tasks);
    else
        parallel->run(parallel->context, tasks, body, argument);
}
