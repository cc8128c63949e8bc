/* Windows that slide over images: convolutions and pools. They are part of the format, because shape rules check them
 * and kernels use them. An attribute of both dimensions of an image is a pair: rows * 65,536 + columns. Freestanding.
 */
#ifndef FIRN_PLAN_SHAPES_WINDOWS_H
#define FIRN_PLAN_SHAPES_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

enum { FIRN_ROWS = 0, FIRN_COLUMNS = 1, FIRN_AXES = 2 };

/* The largest part of a pair. */
enum { FIRN_PAIR_MAX = 65535 };

static inline int64_t firn_pair(uint32_t rows, uint32_t columns) {
    return (int64_t)rows << 16 | columns;
}

static inline uint32_t firn_pair_part(int64_t pair, int axis) {
    return axis == FIRN_ROWS ? (uint32_t)pair >> 16 : (uint32_t)pair & FIRN_PAIR_MAX;
}

/* A window along one dimension. Its elements are `dilation` apart; the first window begins `before` elements before the
 * image, the next ones `stride` apart, and the image may be exceeded by `after` elements at its end. */
typedef struct firn_window {
    uint32_t elements, stride, dilation, before, after;
} firn_window;

/* The attributes stride, dilation, before and after, one behind the other, which is their order in every op. */
enum { FIRN_WINDOW_STRIDE, FIRN_WINDOW_DILATION, FIRN_WINDOW_BEFORE, FIRN_WINDOW_AFTER, FIRN_WINDOW_ATTRIBUTES };

static inline firn_window firn_window_along(const int64_t *attributes, int axis, uint32_t elements) {
    return (firn_window){elements, firn_pair_part(attributes[FIRN_WINDOW_STRIDE], axis),
                         firn_pair_part(attributes[FIRN_WINDOW_DILATION], axis),
                         firn_pair_part(attributes[FIRN_WINDOW_BEFORE], axis),
                         firn_pair_part(attributes[FIRN_WINDOW_AFTER], axis)};
}

#endif
