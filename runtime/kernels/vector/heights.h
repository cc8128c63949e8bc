/* A loop for each height of a register tile, so that its sums stay in registers. */
#ifndef FIRN_KERNELS_VECTOR_HEIGHTS_H
#define FIRN_KERNELS_VECTOR_HEIGHTS_H

#include "runtime/kernels/vector/vector.h"

typedef void (*firn_height_body)(size_t rows, const void *arguments);

/* Calls body with the number of rows, which is at least 1 and a constant in each of the calls. A body that is always
 * inlined must say that no number beyond FIRN_REGISTER_ROWS is reached: there is then no code for it. */
static inline __attribute__((always_inline)) void firn_for_height(size_t rows, firn_height_body body,
                                                                  const void *arguments) {
    switch (rows) {
    case 1:
        body(1, arguments);
        break;
    case 2:
        body(2, arguments);
        break;
    case 3:
        body(3, arguments);
        break;
    case 4:
        body(4, arguments);
        break;
    case 5:
        body(5, arguments);
        break;
    case 6:
        body(6, arguments);
        break;
    case 7:
        body(7, arguments);
        break;
    case 8:
        body(8, arguments);
        break;
    case 9:
        body(9, arguments);
        break;
    case 10:
        body(10, arguments);
        break;
    case 11:
        body(11, arguments);
        break;
    case 12:
        body(12, arguments);
        break;
    case 13:
        body(13, arguments);
        break;
    default:
        body(FIRN_REGISTER_ROWS, arguments);
        break;
    }
}

#endif
