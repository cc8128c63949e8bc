/* Kept and reduced dimensions of a tensor; see axes.h. Freestanding. */
#include "runtime/kernels/reduce/axes.h"

/* Adds an outer dimension. axes is filled from its end, so that the innermost dimension is the last one. */
static void add_outer(firn_axes *axes, size_t extent, size_t step, bool joins) {
    const size_t inner = FIRN_RANK_MAX - axes->count;
    axes->positions *= extent;
    if (joins) {
        axes->extents[inner] *= extent;
        return;
    }
    axes->count++;
    axes->extents[inner - 1] = extent;
    axes->steps[inner - 1] = step;
}

/* Moves the dimensions to the beginning. */
static void close(firn_axes *axes) {
    const size_t first = FIRN_RANK_MAX - axes->count;
    for (size_t i = 0; i < axes->count; i++) {
        axes->extents[i] = axes->extents[first + i];
        axes->steps[i] = axes->steps[first + i];
    }
}

void firn_lines_of(firn_lines *lines, const uint32_t *dims, uint8_t rank, uint64_t mask) {
    lines->kept.count = lines->reduced.count = 0;
    lines->kept.positions = lines->reduced.positions = 1;
    lines->line = 1;
    lines->line_is_reduced = false;
    bool in_line = true, before = false; /* before: the dimension inside of this one is reduced */
    size_t step = 1;
    for (uint8_t d = rank; d-- > 0;) {
        if (dims[d] == 1)
            continue;
        const bool reduced = (mask >> d & 1) != 0;
        if (step == 1)
            lines->line_is_reduced = reduced;
        in_line = in_line && reduced == lines->line_is_reduced;
        if (in_line)
            lines->line *= dims[d];
        else
            add_outer(reduced ? &lines->reduced : &lines->kept, dims[d], step, reduced == before);
        before = reduced;
        step *= dims[d];
    }
    close(&lines->kept);
    close(&lines->reduced);
}

void firn_line_place_set(firn_line_place *place, const firn_axes *axes, size_t position) {
    place->element = 0;
    for (size_t d = axes->count; d-- > 0;) {
        place->at[d] = position % axes->extents[d];
        place->element += place->at[d] * axes->steps[d];
        position /= axes->extents[d];
    }
}

void firn_line_place_next(firn_line_place *place, const firn_axes *axes) {
    for (size_t d = axes->count; d-- > 0;) {
        place->element += axes->steps[d];
        if (++place->at[d] < axes->extents[d])
            return;
        place->element -= axes->steps[d] * axes->extents[d];
        place->at[d] = 0;
    }
}
