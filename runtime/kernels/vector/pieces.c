/* Distributes pieces of work; see pieces.h. There is one task for each thread, and all tasks take pieces from one
 * counter. */
#include "runtime/kernels/vector/pieces.h"

#include <stdatomic.h>

typedef struct work {
    atomic_size_t next;
    size_t pieces;
    uint8_t *workspace;
    size_t slot_bytes;
    firn_piece_body body;
    void *argument;
} work;

/* Task i uses slot i, whichever thread runs it. The counter orders no other memory access; the end of the tasks makes
 * the results visible to the caller. */
static void take_pieces(void *argument, size_t begin, size_t end) {
    work *w = argument;
    for (size_t task = begin; task < end; task++) {
        void *slot = w->workspace + task * w->slot_bytes;
        size_t piece;
        while ((piece = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed)) < w->pieces)
            w->body(w->argument, piece, slot);
    }
}

void firn_pieces_run(const firn_kernel_call *call, size_t needed, size_t pieces, uint64_t cost, firn_piece_body body,
                     void *argument) {
    if (needed > call->slot_bytes)
        __builtin_trap();
    work w = {.pieces = pieces,
              .workspace = call->workspace,
              .slot_bytes = call->slot_bytes,
              .body = body,
              .argument = argument};
    const size_t threads = firn_parallel_threads(&call->parallel, cost), tasks = pieces < threads ? pieces : threads;
    /* It is decided above whether to divide: with a cost of one grain each, two tasks or more are divided. */
    firn_parallel_run(&call->parallel, tasks, call->parallel.grain, take_pieces, &w);
}
