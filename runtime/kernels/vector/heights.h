/* Compiles one loop for each height of a register tile, so that its sums stay in registers. */
#ifndef FIRN_KERNELS_VECTOR_HEIGHTS_H
#define FIRN_KERNELS_VECTOR_HEIGHTS_H

#include "runtime/kernels/vector/vector.h"

/* Each instruction set chooses FIRN_REGISTER_ROWS; the kernels rely on these bounds. */
_Static_assert(FIRN_REGISTER_ROWS >= 1, "a tile has at least one row");
_Static_assert(FIRN_REGISTER_ROWS <= 14, "FIRN_HEIGHT_CASES has a case for each height up to 14");
_Static_assert(FIRN_REGISTER_ROWS <= FIRN_VECTOR, "a packed strip holds the rows of a tile in FIRN_VECTOR lanes");

/* The cases of a switch over the rows of a tile, 1 to FIRN_REGISTER_ROWS. Each calls body with the number as a constant
 * and with the other arguments. body must always be inlined and must declare numbers above FIRN_REGISTER_ROWS
 * unreachable, so that no code is generated for them. This is a macro because clang does not unroll every loop of a
 * body that is passed as a function pointer. */
#define FIRN_HEIGHT_CASES(body, ...)                                                                                   \
case 1:                                                                                                                \
    body(1, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 2:                                                                                                                \
    body(2, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 3:                                                                                                                \
    body(3, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 4:                                                                                                                \
    body(4, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 5:                                                                                                                \
    body(5, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 6:                                                                                                                \
    body(6, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 7:                                                                                                                \
    body(7, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 8:                                                                                                                \
    body(8, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 9:                                                                                                                \
    body(9, __VA_ARGS__);                                                                                              \
    break;                                                                                                             \
case 10:                                                                                                               \
    body(10, __VA_ARGS__);                                                                                             \
    break;                                                                                                             \
case 11:                                                                                                               \
    body(11, __VA_ARGS__);                                                                                             \
    break;                                                                                                             \
case 12:                                                                                                               \
    body(12, __VA_ARGS__);                                                                                             \
    break;                                                                                                             \
case 13:                                                                                                               \
    body(13, __VA_ARGS__);                                                                                             \
    break;                                                                                                             \
default:                                                                                                               \
    body(FIRN_REGISTER_ROWS, __VA_ARGS__);                                                                             \
    break;

#endif
