/* Divides tasks among the caller's threads, or runs them in the calling thread. The division must not affect any
 * result. Freestanding. */
#include "runtime/kernels/parts.h"

size_t firn_parallel_threads(const firn_parallel *parallel, uint64_t cost) {
    return !firn_has_threads || parallel->run == NULL || parallel->threads < 2 || cost < parallel->grain
               ? 1
               : parallel->threads;
}

void firn_parallel_run(const firn_parallel *parallel, size_t tasks, uint64_t cost, firn_task_body body,
                       void *argument) {
    if (!firn_has_threads || tasks < 2 || firn_parallel_threads(parallel, tasks * cost) < 2)
        body(argument, 0, tasks);
    else
        parallel->run(parallel->context, tasks, body, argument);
}
