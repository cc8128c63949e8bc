/* The dimensions of a tensor, divided into those that an op keeps and those along which it reduces: where the elements
 * of one result lie, and in which order. Nothing here depends on what is done with them. Freestanding. */
#ifndef FIRN_KERNELS_REDUCE_AXES_H
#define FIRN_KERNELS_REDUCE_AXES_H

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/kernels.h"

/* Some dimensions, from the outermost to the innermost; neighbours that can be one are one. */
typedef struct firn_axes {
    size_t extents[FIRN_RANK_MAX], steps[FIRN_RANK_MAX];
    size_t count;     /* of dimensions */
    size_t positions; /* product of the extents */
} firn_axes;

/* A tensor as lines: `line` elements that lie next to each other, the last dimensions that are all of one kind. The
 * first element of a line is that of a kept position plus that of a reduced position. Dimensions with an extent of 1
 * are of neither kind. */
typedef struct firn_lines {
    firn_axes kept, reduced; /* without the dimensions of a line */
    size_t line;
    bool line_is_reduced; /* a line belongs to one result; else each of its elements does */
} firn_lines;

/* Bit d of mask: dimension d is reduced. */
void firn_lines_of(firn_lines *lines, const uint32_t *dims, uint8_t rank, uint64_t mask);

/* A position and the first element of its line. */
typedef struct firn_line_place {
    size_t at[FIRN_RANK_MAX];
    size_t element;
} firn_line_place;

/* Sets a place to a position, numbered with the innermost dimension fastest; moves it to the next one, behind the last
 * one to the first. */
void firn_line_place_set(firn_line_place *place, const firn_axes *axes, size_t position);
void firn_line_place_next(firn_line_place *place, const firn_axes *axes);

#endif
