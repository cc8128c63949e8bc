/* Ops that put elements at places of an image: MaxUnpool, at those that the data gives, and Col2Im, which adds up
 * windows. A place is one index over all images, or over one of them. */
#include <string.h>

#include "compiler/onnx/import.h"

/* Zeros, with updates at the places, or added to them; the first axis of the updates is that of the places. */
static firnc_value scattered(firnc_onnx_importer *im, uint8_t rank, const int64_t *dims, firnc_value ids,
                             firnc_value updates, bool add) {
    const firnc_value zeros = firnc_onnx_expand(im, firnc_onnx_scalar(im, 0), rank, dims);
    return im->failed ? FIRNC_NONE : firnc_onnx_made(im, firnc_scatter_nd(im->graph, zeros, ids, updates, add));
}

/* --- MaxUnpool ---------------------------------------------------------------------------------------------------- */

/* A number of a list of the node, `otherwise` if there is no list; its length is that of the sides, or twice. */
static bool read_number(firnc_onnx_importer *im, const firnc_onnx_node *node, const char *name, uint32_t length,
                        uint32_t at, int64_t otherwise, int64_t *to) {
    const int64_t *list;
    const uint32_t count = firnc_onnx_integers(node, name, &list);
    *to = otherwise;
    if (count != 0 && count != length)
        return firnc_onnx_fail(im, "its %s has %u numbers, and takes %u", name, (unsigned)count, (unsigned)length);
    if (count != 0)
        *to = list[at];
    return (*to >= 0 && *to <= UINT16_MAX) ||
           firnc_onnx_fail(im, "its %s has %lld, and 0 to %d are possible; write one of them", name, (long long)*to,
                           UINT16_MAX);
}

/* The indices count the elements of the image that the windows came from; a larger output_shape has zeros behind it. */
bool firnc_onnx_import_max_unpool(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *places = node->inputs[1];
    const uint32_t sides = x->rank < 3 ? 0 : x->rank - 2u;
    const int64_t *shape = NULL;
    uint32_t shaped = FIRNC_NONE;
    int64_t dims[FIRN_RANK_MAX], all, count = (int64_t)firnc_onnx_count(x);
    if (sides == 0 || places->rank != x->rank || memcmp(places->dims, x->dims, x->rank * sizeof *x->dims) != 0)
        return firnc_onnx_fail(im, "takes images, and an index for each of their elements");
    if (!firnc_onnx_list(im, node, 2, "output_shape", &shape, &shaped))
        return false;
    if (shaped != FIRNC_NONE && shaped != x->rank)
        return firnc_onnx_fail(im, "has an output_shape of %u numbers", (unsigned)shaped);
    all = x->dims[0] * x->dims[1];
    memcpy(dims, x->dims, sizeof dims);
    for (uint32_t i = 0; i < sides; i++) {
        int64_t kernel, stride, before, after;
        if (!read_number(im, node, "kernel_shape", sides, i, 1, &kernel) ||
            !read_number(im, node, "strides", sides, i, 1, &stride) ||
            !read_number(im, node, "pads", 2 * sides, i, 0, &before) ||
            !read_number(im, node, "pads", 2 * sides, sides + i, 0, &after))
            return false;
        dims[2 + i] = (x->dims[2 + i] - 1) * stride + kernel - before - after;
        if (dims[2 + i] < 1 || all > FIRNC_ONNX_EXACT_MAX / dims[2 + i])
            return firnc_onnx_fail(im, "makes images of no element, or of more than %d in all; use smaller images",
                                   FIRNC_ONNX_EXACT_MAX);
        all *= dims[2 + i];
    }
    firnc_value ids = firnc_onnx_reshape(im, firnc_onnx_indices(im, places), 2, (int64_t[]){count, 1});
    firnc_value y = firnc_onnx_reshape(im, firnc_onnx_plain_real(im, x), 1, &count);
    y = firnc_onnx_reshape(im, scattered(im, 1, &all, ids, y, false), x->rank, dims);
    for (uint8_t i = 0; i < x->rank && shaped != FIRNC_NONE; i++) {
        if (shape[i] < dims[i] || (i < 2 && shape[i] != dims[i]))
            return firnc_onnx_fail(im, "has an output_shape below that of its images");
        y = firnc_onnx_pad(im, y, i, 0, shape[i] - dims[i], 0);
    }
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}

/* --- Col2Im ------------------------------------------------------------------------------------------------------- */

/* One side of the windows of Col2Im. */
typedef struct side {
    int64_t image, kernel, stride, dilation, before, windows;
} side;

static bool read_col2im(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t sides, const int64_t *image,
                        const int64_t *kernel, side *to) {
    for (uint32_t i = 0; i < sides; i++) {
        side *s = &to[i];
        int64_t after;
        if (!read_number(im, node, "strides", sides, i, 1, &s->stride) ||
            !read_number(im, node, "dilations", sides, i, 1, &s->dilation) ||
            !read_number(im, node, "pads", 2 * sides, i, 0, &s->before) ||
            !read_number(im, node, "pads", 2 * sides, sides + i, 0, &after))
            return false;
        s->image = image[i];
        s->kernel = kernel[i];
        if (s->image < 1 || s->image > INT32_MAX || s->kernel < 1 || s->kernel > UINT16_MAX || s->stride < 1 ||
            s->dilation < 1) {
            firnc_onnx_fail(im, "has an image, block, stride or dilation of 0");
            return false;
        }
        const int64_t room = s->image + s->before + after - ((s->kernel - 1) * s->dilation + 1);
        if (room < 0) {
            firnc_onnx_fail(im, "has blocks beyond its image");
            return false;
        }
        s->windows = room / s->stride + 1;
    }
    return true;
}

/* The row of the image that element `tap` of window `window` is added to; `rows` stands for what lies outside. */
static int64_t row_of(const side *s, uint32_t sides, int64_t tap, int64_t window, int64_t rows) {
    int64_t row = 0, step = 1;
    for (uint32_t i = sides; i-- > 0; step *= s[i].image, tap /= s[i].kernel, window /= s[i].windows) {
        const int64_t at = window % s[i].windows * s[i].stride + tap % s[i].kernel * s[i].dilation - s[i].before;
        if (at < 0 || at >= s[i].image)
            return rows;
        row += at * step;
    }
    return row;
}

bool firnc_onnx_import_col2im(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t *image, *kernel;
    uint32_t sides, blocks;
    side s[FIRN_RANK_MAX];
    if (!firnc_onnx_list(im, node, 1, "image_shape", &image, &sides) ||
        !firnc_onnx_list(im, node, 2, "block_shape", &kernel, &blocks))
        return false;
    if (sides == 0 || sides > FIRN_RANK_MAX - 2 || blocks != sides || x->rank != 3)
        return firnc_onnx_fail(im, "takes [N,C,L], and as many extents of an image as of a block");
    if (!read_col2im(im, node, sides, image, kernel, s))
        return false;
    int64_t rows = 1, taps = 1, windows = 1, dims[FIRN_RANK_MAX];
    for (uint32_t i = 0; i < sides; i++) {
        if (rows > FIRNC_ONNX_LIST_MAX / s[i].image || taps > FIRNC_ONNX_LIST_MAX / s[i].kernel ||
            windows > FIRNC_ONNX_LIST_MAX / s[i].windows)
            return firnc_onnx_fail(im, "has images of more than %lld elements; use smaller ones",
                                   (long long)FIRNC_ONNX_LIST_MAX);
        rows *= s[i].image;
        taps *= s[i].kernel;
        windows *= s[i].windows;
    }
    if (x->dims[1] % taps != 0 || x->dims[2] != windows)
        return firnc_onnx_fail(im, "has %lld columns of %lld elements for %lld blocks of %lld", (long long)x->dims[2],
                               (long long)x->dims[1], (long long)windows, (long long)taps);
    const int64_t n = x->dims[0], c = x->dims[1] / taps;
    firnc_onnx_tensor *ids = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 2, (int64_t[]){taps * windows, 1});
    for (int64_t i = 0; ids != NULL && i < taps * windows; i++)
        ids->wholes[i] = row_of(s, sides, i / windows, i % windows, rows);
    firnc_value y = firnc_onnx_reshape(im, firnc_onnx_plain_real(im, x), 4, (int64_t[]){n, c, taps, windows});
    y = firnc_onnx_transpose(im, y, (const uint8_t[]){2, 3, 0, 1});
    y = firnc_onnx_reshape(im, y, 2, (int64_t[]){taps * windows, n * c});
    y = scattered(im, 2, (int64_t[]){rows + 1, n * c}, firnc_onnx_constant(im, ids, FIRN_INT32), y, true);
    y = firnc_onnx_slice(im, y, 0, 0, 1, rows);
    y = firnc_onnx_transpose(im, y, (const uint8_t[]){1, 0});
    dims[0] = n;
    dims[1] = c;
    memcpy(dims + 2, image, sides * sizeof *image);
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, y, (uint8_t)(sides + 2), dims), x->type,
                   (uint8_t)(sides + 2));
    return !im->failed;
}
