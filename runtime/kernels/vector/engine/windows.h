/* The windows of a convolution as rows of bfloat16, and of its gradient of the input likewise: an output is the sum
 * over the elements (r, s) of a window, and over the channels of a group, of an element of another image and one of the
 * weight. Term k = (r * columns + s) * terms + channel, as in plan/NUMERICS.md. Windows whose elements (r, s) lie in
 * the other image alike are a kind: lines times columns of the output, in every sample. One layout of copies serves all
 * windows of a kind. Nothing here may compute a sum or know of threads. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_WINDOWS_H
#define FIRN_KERNELS_VECTOR_ENGINE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/kernels/images/images.h"

typedef struct firn_engine_windows {
    const firn_tensor *from, *out; /* images [N,H,W,C] */
    firn_window window[FIRN_AXES];
    bool forward;         /* windows lie over `from`; otherwise over the output: the gradient of the input */
    size_t groups, terms; /* terms: channels of a group of `from` */
} firn_engine_windows;

/* Lines or columns of the output, firn_engine_windows_apart from each other, whose windows have the same elements. */
typedef struct firn_engine_alike {
    size_t first, count;
} firn_engine_alike;

static inline size_t firn_engine_windows_apart(const firn_engine_windows *w, int axis) {
    return w->forward ? 1 : w->window[axis].stride;
}

/* Finds all along an axis and returns their number: at most the extent of the output. */
size_t firn_engine_windows_find(const firn_engine_windows *w, int axis, firn_engine_alike *found);

/* Terms that lie side by side in memory, too. */
typedef struct firn_engine_window_copy {
    size_t to, count;
    size_t from; /* elements behind the sample of the window */
} firn_engine_window_copy;

/* Terms that follow each other: whole blocks of a flushed sum. */
typedef struct firn_engine_window_run {
    size_t first, count;
} firn_engine_window_run;

/* The windows of a kind, cut to the terms [first, first + count), which are counted from `first`. */
typedef struct firn_engine_window_kind {
    const firn_engine_windows *windows;
    firn_engine_alike lines, columns;
    size_t first, count;
    firn_engine_window_copy *copies; /* of the first window of sample 0; in all others they have the same places */
    firn_engine_window_run *runs;    /* the blocks of which the windows have a term */
    size_t copy_count, run_count;
} firn_engine_window_kind;

/* Sets the copies and the runs, each at most one for each element of a window. block: the terms of a block. The first
 * term begins one, and the last one of a run may lie behind the last term. */
void firn_engine_window_kind_set(firn_engine_window_kind *kind, size_t block);

/* Sets all terms between the copies to +0, up to a multiple of `block`, in so many rows. */
void firn_engine_window_zeros(const firn_engine_window_kind *kind, size_t block, uint16_t *out, size_t step,
                              size_t rows);

/* A window of a kind: the index of its line and of its column among those of the kind. */
typedef struct firn_engine_window_place {
    size_t sample, line, column;
} firn_engine_window_place;

/* Windows are numbered sample by sample and line by line. */
static inline firn_engine_window_place firn_engine_window_number(const firn_engine_window_kind *kind, size_t number) {
    const size_t line = number / kind->columns.count;
    return (firn_engine_window_place){line / kind->lines.count, line % kind->lines.count, number % kind->columns.count};
}

/* Moves the place behind the windows of its line, or behind `most` of them, and returns how many these are. */
static inline size_t firn_engine_window_line(const firn_engine_window_kind *kind, firn_engine_window_place *place,
                                             size_t most) {
    const size_t left = kind->columns.count - place->column;
    if (most < left) {
        place->column += most;
        return most;
    }
    place->column = 0;
    if (++place->line == kind->lines.count) {
        place->line = 0;
        place->sample++;
    }
    return left;
}

/* The number of the window's row of channels in the output. */
static inline size_t firn_engine_window_output(const firn_engine_window_kind *kind, firn_engine_window_place place) {
    const firn_engine_windows *w = kind->windows;
    return firn_image_number(w->out, place.sample,
                             kind->lines.first + place.line * firn_engine_windows_apart(w, FIRN_ROWS),
                             kind->columns.first + place.column * firn_engine_windows_apart(w, FIRN_COLUMNS));
}

/* Copies the terms of `rows` windows, at most those of a tile, from `place` on, which it moves behind them. Writes
 * nothing between the copies. */
void firn_engine_window_gather(const firn_engine_window_kind *kind, firn_engine_window_place *place, size_t group,
                               uint16_t *out, size_t step, size_t rows);

#endif
