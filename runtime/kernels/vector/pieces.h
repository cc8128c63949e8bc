/* Work in pieces of unequal or unknown length, each done by whichever thread is free, with memory of the thread's own:
 * what a kernel that packs needs. Which thread does which piece may never show in a result. For hosts: it needs atomic
 * integers. */
#ifndef FIRN_KERNELS_VECTOR_PIECES_H
#define FIRN_KERNELS_VECTOR_PIECES_H

#include "runtime/kernels/kernels.h"

/* Multiplications in float32 that take the time of one operation on an element, the unit of `cost` (FIRN_GRAIN). */
enum { FIRN_MULTIPLICATIONS = 16 };

/* One piece. The slot, of as many bytes as the call has for each thread, is the thread's alone until it returns; what
 * another piece left in it may still be there. */
typedef void (*firn_piece_body)(void *argument, size_t piece, void *slot);

/* Runs body for the pieces 0 to pieces - 1, begun in this order. cost: of all of them together (FIRN_GRAIN). */
void firn_pieces_run(const firn_kernel_call *call, size_t pieces, uint64_t cost, firn_piece_body body, void *argument);

#endif
