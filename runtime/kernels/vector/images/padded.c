/* Lines of an image between zeros; see padded.h. */
#include "runtime/kernels/vector/images/padded.h"

#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/tile.h"

static void zero(float *out, size_t floats) {
    memset(out, 0, floats * sizeof *out);
}

void firn_padded_zeros(const firn_padded *padded, float *out) {
    zero(out, padded->width * padded->row);
}

void firn_padded_line(const firn_padded *padded, float *out, size_t line, size_t channel, size_t channels) {
    const firn_tensor *image = padded->image;
    const size_t all = firn_image_channels(image), row = padded->row;
    const size_t before = firn_smaller(padded->before, padded->width);
    const size_t inside = firn_smaller(firn_image_width(image), padded->width - before);
    const size_t first = line * firn_image_width(image) * all + channel;
    const firn_matrix from = {image->data, image->type, first, all, 1};
    zero(out, before * row);
    out += before * row;
    if (row == FIRN_REGISTER_COLUMNS)
        firn_vector_pack(out, 2, &from, 0, inside, 0, channels);
    else if (row == all)
        firn_widen(out, image->data, image->type, first, inside * row);
    else
        firn_vector_widen_rows(out, row, &from, 0, inside, 0, channels);
    zero(out + inside * row, (padded->width - before - inside) * row);
}
