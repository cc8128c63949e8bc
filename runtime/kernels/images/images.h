/* What the kernels of images share: the extents of an image [N,H,W,C], and which elements windows have along one
 * dimension. Freestanding. */
#ifndef FIRN_KERNELS_IMAGES_H
#define FIRN_KERNELS_IMAGES_H

#include <stdbool.h>

#include "plan/shapes/windows.h"
#include "runtime/kernels/blocks.h"

/* Dimensions of an image, and of a weight [O,rows,columns,C/groups]. */
enum { FIRN_IMAGE_HEIGHT = 1, FIRN_IMAGE_WIDTH = 2, FIRN_IMAGE_CHANNELS = 3 };
enum { FIRN_WEIGHT_OUTPUTS = 0, FIRN_WEIGHT_ROWS = 1, FIRN_WEIGHT_COLUMNS = 2, FIRN_WEIGHT_INPUTS = 3 };

static inline size_t firn_image_height(const firn_tensor *image) {
    return image->dims[FIRN_IMAGE_HEIGHT];
}

static inline size_t firn_image_width(const firn_tensor *image) {
    return image->dims[FIRN_IMAGE_WIDTH];
}

static inline size_t firn_image_channels(const firn_tensor *image) {
    return image->dims[FIRN_IMAGE_CHANNELS];
}

/* Sample, row and column of element 0 of a row of channels: rows are numbered through all samples. */
typedef struct firn_place {
    size_t sample, row, column;
} firn_place;

static inline firn_place firn_image_place(const firn_tensor *image, size_t number) {
    const size_t width = firn_image_width(image), line = number / width, height = firn_image_height(image);
    return (firn_place){line / height, line % height, number % width};
}

/* The number of the row of channels at a place. */
static inline size_t firn_image_number(const firn_tensor *image, size_t sample, size_t row, size_t column) {
    return (sample * firn_image_height(image) + row) * firn_image_width(image) + column;
}

/* A range of indices; empty if end <= begin. */
typedef struct firn_span {
    size_t begin, end;
} firn_span;

/* The elements of window number `position` that lie in an image of this extent. */
static inline firn_span firn_window_elements(const firn_window *window, size_t position, size_t extent) {
    const size_t start = position * window->stride, before = window->before, dilation = window->dilation;
    firn_span span = {before > start ? firn_ceiling(before - start, dilation) : 0, 0};
    if (extent + before > start)
        span.end = firn_smaller(window->elements, (extent - 1 + before - start) / dilation + 1);
    return span;
}

/* The windows, of `positions`, whose element number `element` lies in an image of this extent. */
static inline firn_span firn_window_positions(const firn_window *window, size_t element, size_t extent,
                                              size_t positions) {
    const size_t offset = element * window->dilation, before = window->before, stride = window->stride;
    firn_span span = {before > offset ? firn_ceiling(before - offset, stride) : 0, 0};
    if (extent + before > offset)
        span.end = firn_smaller(positions, (extent - 1 + before - offset) / stride + 1);
    return span;
}

/* Where element number `element` of window number `position` lies in the image, which it must. */
static inline size_t firn_window_at(const firn_window *window, size_t position, size_t element) {
    return position * window->stride + element * window->dilation - window->before;
}

/* Finds the window, of `positions`, whose element number `element` lies at this place of the image. */
static inline bool firn_window_over(const firn_window *window, size_t at, size_t element, size_t positions,
                                    size_t *position) {
    const size_t offset = element * window->dilation, from_start = at + window->before;
    if (offset > from_start || (from_start - offset) % window->stride != 0)
        return false;
    *position = (from_start - offset) / window->stride;
    return *position < positions;
}

#endif
