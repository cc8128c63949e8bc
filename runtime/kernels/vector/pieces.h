/* Work in pieces of unequal or unknown length, for kernels that pack. Each thread takes the next piece when it is free,
 * and has a slot of the workspace to itself. The assignment of pieces to threads must not affect the result. Hosts
 * only: it needs atomic integers. */
#ifndef FIRN_KERNELS_VECTOR_PIECES_H
#define FIRN_KERNELS_VECTOR_PIECES_H

#include "runtime/kernels/kernels.h"

/* float32 multiplications that take as long as one operation on an element, the unit of `cost` (FIRN_GRAIN). */
enum { FIRN_MULTIPLICATIONS = 16 };

/* Computes one piece. No other thread uses the slot until it returns; the slot may still hold data of an earlier
 * piece. */
typedef void (*firn_piece_body)(void *argument, size_t piece, void *slot);

/* Runs body for the pieces 0 to pieces - 1, which begin in this order. needed: bytes of a slot that body uses. cost: of
 * all pieces together (FIRN_GRAIN). Traps if the call's slots are smaller than needed: the kernel's scratch function
 * then contradicts the kernel. */
void firn_pieces_run(const firn_kernel_call *call, size_t needed, size_t pieces, uint64_t cost, firn_piece_body body,
                     void *argument);

#endif
