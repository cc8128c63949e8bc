/* Lines of an image as floats, with zeros beside them: a window that overhangs the image reads +0 there, as flushed
 * sums have it (plan/NUMERICS.md, "Reductions"). Nothing here may know of terms or sums. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_PADDED_H
#define FIRN_KERNELS_VECTOR_IMAGES_PADDED_H

#include "runtime/kernels/kernels.h"

typedef struct firn_padded {
    const firn_tensor *image;
    size_t width;  /* places of a line */
    size_t before; /* of these, in front of the image */
    size_t row;    /* floats of a place: FIRN_REGISTER_COLUMNS, or as many as there are channels */
} firn_padded;

/* Writes a line of `channels` channels from `channel` on. line: numbered through all samples. Channels beyond the last
 * one that a place has room for are +0. */
void firn_padded_line(const firn_padded *padded, float *out, size_t line, size_t channel, size_t channels);

/* Writes a line that lies outside of the image. */
void firn_padded_zeros(const firn_padded *padded, float *out);

#endif
