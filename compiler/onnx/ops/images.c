/* Convolutions and pools. ONNX has channels in front of the image and Firn behind it: the operands are taken channels
 * last, which costs a transpose only where the image is not so already, and weights are laid out so when they are read.
 * One dimension is an image of one row. Three are a volume: its convolution is that of images whose channels are those
 * of the slices under a kernel, and its pool is a pool of each slice and then one over the slices. */
#include <float.h>
#include <string.h>

#include "compiler/onnx/import.h"
#include "plan/shapes/windows.h"

/* --- windows ------------------------------------------------------------------------------------------------------ */

enum { DEPTH, ROWS, COLUMNS, SIDES };

/* The windows of a node, by sides. An image of fewer dimensions has an extent of 1 at the first sides. */
typedef struct windows {
    int64_t extent[SIDES]; /* of the image */
    int64_t kernel[SIDES], stride[SIDES], dilation[SIDES];
    int64_t before[SIDES], after[SIDES]; /* padding */
    int64_t beyond[SIDES];               /* elements behind the padding that the last window reaches (ceil_mode) */
    int64_t count[SIDES];                /* number of windows */
} windows;

/* Reads a list of one number for each dimension of the image. False after one message. */
static bool read_sides(firnc_onnx_importer *im, const firnc_onnx_node *node, const char *name, uint8_t spatial,
                       int64_t to[SIDES]) {
    const int64_t *list;
    const uint32_t count = firnc_onnx_integers(node, name, &list);
    if (count == 0)
        return true;
    if (count != spatial)
        return firnc_onnx_fail(im, "its %s has %u numbers for %u dimensions", name, (unsigned)count, (unsigned)spatial);
    for (uint8_t i = 0; i < spatial; i++) {
        if (list[i] < 0 || list[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(im, "its %s has %lld, and 0 to %d are possible; write one of them", name,
                                   (long long)list[i], FIRN_PAIR_MAX);
        to[SIDES - spatial + i] = list[i];
    }
    return true;
}

/* The padding, as it is or as auto_pad asks for it. */
static bool read_padding(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t spatial, windows *w) {
    const char *automatic = firnc_onnx_text(node, "auto_pad", "NOTSET");
    const int64_t *list;
    const uint32_t count = firnc_onnx_integers(node, "pads", &list);
    const bool same = strncmp(automatic, "SAME_", 5) == 0;
    if (!firnc_onnx_is_listed("NOTSET VALID SAME_UPPER SAME_LOWER", automatic))
        return firnc_onnx_fail(im, "has auto_pad %s; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", automatic);
    if (count != 0 && count != 2u * spatial)
        return firnc_onnx_fail(im, "has %u pads for %u dimensions", (unsigned)count, (unsigned)spatial);
    for (uint8_t i = 0; i < spatial; i++) {
        const uint8_t at = (uint8_t)(SIDES - spatial + i);
        if (same) {
            const int64_t made = (w->extent[at] + w->stride[at] - 1) / w->stride[at];
            const int64_t reach = (made - 1) * w->stride[at] + (w->kernel[at] - 1) * w->dilation[at] + 1;
            const int64_t total = reach > w->extent[at] ? reach - w->extent[at] : 0;
            const bool lower = strcmp(automatic, "SAME_LOWER") == 0;
            w->before[at] = lower ? (total + 1) / 2 : total / 2;
            w->after[at] = total - w->before[at];
        } else if (count != 0 && automatic[0] == 'N') {
            if (list[i] < 0 || list[spatial + i] < 0 || list[i] > FIRN_PAIR_MAX || list[spatial + i] > FIRN_PAIR_MAX)
                return firnc_onnx_fail(im,
                                       "has a pad of %lld or %lld, and 0 to %d are known; use Slice for less than 0",
                                       (long long)list[i], (long long)list[spatial + i], FIRN_PAIR_MAX);
            w->before[at] = list[i];
            w->after[at] = list[spatial + i];
        }
    }
    return true;
}

/* The number of windows; with ceil_mode one more may begin in the image or before it and go beyond the padding. */
static bool count_windows(firnc_onnx_importer *im, const firnc_onnx_node *node, windows *w) {
    const bool up = firnc_onnx_integer(node, "ceil_mode", 0) != 0;
    for (int i = 0; i < SIDES; i++) {
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
            return firnc_onnx_fail(im, "has a kernel, stride or dilation of 0");
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const int64_t padded = w->extent[i] + w->before[i] + w->after[i], room = padded - reach;
        if (room < 0)
            return firnc_onnx_fail(im,
                                   "has a window of %lld elements for an image of %lld with its padding; make the "
                                   "image larger (model.dimensions, if its size is open), or the window smaller",
                                   (long long)reach, (long long)padded);
        w->count[i] = room / w->stride[i] + 1;
        w->beyond[i] = 0;
        if (up && room % w->stride[i] != 0 && w->count[i] * w->stride[i] < w->extent[i] + w->before[i]) {
            w->beyond[i] = w->count[i] * w->stride[i] - room;
            w->count[i]++;
        }
        if (w->before[i] > FIRN_PAIR_MAX || w->after[i] + w->beyond[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(im, "pads by more than %d elements; write a smaller padding", FIRN_PAIR_MAX);
    }
    return true;
}

static bool read_windows(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t spatial, windows *w) {
    return read_sides(im, node, "kernel_shape", spatial, w->kernel) &&
           read_sides(im, node, "strides", spatial, w->stride) &&
           read_sides(im, node, "dilations", spatial, w->dilation) && read_padding(im, node, spatial, w) &&
           count_windows(im, node, w);
}

/* Rows and columns of the windows. */
static firnc_windows windows_of(const windows *w) {
    firnc_windows to;
    for (uint8_t i = 0; i < 2; i++) {
        to.stride[i] = (uint32_t)w->stride[ROWS + i];
        to.dilation[i] = (uint32_t)w->dilation[ROWS + i];
        to.before[i] = (uint32_t)w->before[ROWS + i];
        to.after[i] = (uint32_t)(w->after[ROWS + i] + w->beyond[ROWS + i]);
    }
    return to;
}

/* --- images ------------------------------------------------------------------------------------------------------- */

static bool check_image(firnc_onnx_importer *im, const firnc_onnx_value *x) {
    return (x->rank >= 3 && x->rank <= 2 + SIDES) ||
           firnc_onnx_fail(im,
                           "takes images of one to three dimensions behind samples and channels, and its operand has "
                           "%u dimensions in all; reshape it",
                           (unsigned)x->rank);
}

/* An image [N,C,...] as [N,H,W,C], or as [N,D,H,W,C]. */
static firnc_value channels_last(firnc_onnx_importer *im, firnc_onnx_value *x) {
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_channels_last(x->rank, order);
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    return x->rank != 3 ? y : firnc_onnx_reshape(im, y, 4, (int64_t[]){x->dims[0], 1, x->dims[2], x->dims[1]});
}

/* Sets an output from [N,H,W,C], where N is that of the image, or for a volume N times its slices. */
static bool set_image(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value y) {
    const firnc_onnx_value *x = node->inputs[0];
    uint8_t order[FIRN_RANK_MAX];
    if (im->failed)
        return false;
    firnc_onnx_channels_last(x->rank, order);
    const firn_shape shape = *firnc_onnx_shape(im, y);
    if (x->rank == 3)
        y = firnc_onnx_reshape(im, y, 3, (int64_t[]){shape.dims[0], shape.dims[2], shape.dims[3]});
    if (x->rank == 5)
        y = firnc_onnx_reshape(
            im, y, 5, (int64_t[]){x->dims[0], shape.dims[0] / x->dims[0], shape.dims[1], shape.dims[2], shape.dims[3]});
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, order);
    return !im->failed;
}

/* Which side an axis of a value [N,C,...] is. */
static uint8_t side_of(const firnc_onnx_value *x, uint8_t axis) {
    return (uint8_t)(SIDES + axis - x->rank);
}

/* Volumes [N,D,H,W,C] as images [N*D,H,W,C]. */
static firnc_value slices_of(firnc_onnx_importer *im, firnc_value y) {
    if (im->failed)
        return FIRNC_NONE;
    const firn_shape shape = *firnc_onnx_shape(im, y);
    return firnc_onnx_reshape(
        im, y, 4, (int64_t[]){(int64_t)shape.dims[0] * shape.dims[1], shape.dims[2], shape.dims[3], shape.dims[4]});
}

/* Volumes [N,D,H,W,C] as images of the windows along the depth, [N*windows,H,W,C*kernel]: of each group the channels of
 * the first slice under the kernel, then those of the next. */
static firnc_value joined_slices(firnc_onnx_importer *im, firnc_value y, int64_t groups, const windows *w) {
    const int64_t kernel = w->kernel[DEPTH], count = w->count[DEPTH];
    y = firnc_onnx_pad(im, y, 1, w->before[DEPTH], w->after[DEPTH], 0);
    if (im->failed || (kernel == 1 && w->stride[DEPTH] == 1))
        return slices_of(im, y);
    if (kernel * count > FIRNC_ONNX_LIST_MAX) {
        firnc_onnx_fail(im, "has windows of more than %lld slices in all; make them or their dilation smaller",
                        (long long)FIRNC_ONNX_LIST_MAX);
        return FIRNC_NONE;
    }
    const firn_shape shape = *firnc_onnx_shape(im, y);
    int64_t *list = firnc_allocate((uint64_t)(kernel * count) * sizeof *list);
    for (int64_t i = 0; i < kernel * count; i++)
        list[i] = i / kernel * w->stride[DEPTH] + i % kernel * w->dilation[DEPTH];
    y = firnc_onnx_pick(im, y, 1, list, kernel * count);
    y = firnc_onnx_reshape(
        im, y, 6,
        (int64_t[]){shape.dims[0] * count, kernel, shape.dims[2], shape.dims[3], groups, shape.dims[4] / groups});
    y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 2, 3, 4, 1, 5});
    return firnc_onnx_reshape(im, y, 4,
                              (int64_t[]){shape.dims[0] * count, shape.dims[2], shape.dims[3], shape.dims[4] * kernel});
}

/* Weights [O,C,...] as [O,rows,columns,C], or with the channels of each slice for those of joined_slices. */
static firnc_value kernels_of(firnc_onnx_importer *im, firnc_onnx_value *weight) {
    if (weight->rank < 5)
        return channels_last(im, weight);
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, weight, 5, (const uint8_t[]){0, 3, 4, 2, 1}));
    return firnc_onnx_reshape(
        im, y, 4, (int64_t[]){weight->dims[0], weight->dims[3], weight->dims[4], weight->dims[2] * weight->dims[1]});
}

static void set_extents(const firnc_onnx_value *x, windows *w) {
    *w = (windows){.kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .extent = {1, 1, 1}};
    for (uint8_t i = 2; i < x->rank; i++)
        w->extent[side_of(x, i)] = x->dims[i];
}

/* Sets the extents of the image and of the kernels. */
static bool begin_conv(firnc_onnx_importer *im, const firnc_onnx_node *node, windows *w) {
    const firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1];
    if (!check_image(im, x))
        return false;
    if (weight->rank != x->rank)
        return firnc_onnx_fail(im, "has a weight of %u dimensions for an image of %u", (unsigned)weight->rank,
                               (unsigned)x->rank);
    set_extents(x, w);
    for (uint8_t i = 2; i < x->rank; i++)
        w->kernel[side_of(x, i)] = weight->dims[i];
    return true;
}

/* The bias, or FIRNC_NONE. torch.export gives a Conv3d without a bias zeros of the shape [channels, 2], which no bias
 * has, in place of none. */
static firnc_value bias_of(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *bias = node->inputs[2];
    const bool is_none = bias != NULL && bias->rank == 2 && bias->parameter == NULL && bias->known != NULL &&
                         firnc_onnx_is_real(bias->type) && firnc_onnx_is_uniform(bias->known) &&
                         bias->known->reals[0] == 0;
    return is_none ? FIRNC_NONE : firnc_onnx_plain_real(im, bias);
}

bool firnc_onnx_import_conv(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1];
    const int64_t groups = firnc_onnx_integer(node, "group", 1);
    windows w;
    if (!begin_conv(im, node, &w) || !read_windows(im, node, (uint8_t)(x->rank - 2), &w))
        return false;
    for (uint8_t i = 2; i < x->rank; i++)
        if (w.kernel[side_of(x, i)] != weight->dims[i])
            return firnc_onnx_fail(im, "has another kernel_shape than its weight");
    if (groups < 1 || groups > UINT32_MAX || (x->rank == 5 && x->dims[1] % groups != 0))
        return firnc_onnx_fail(im, "has %lld groups", (long long)groups);
    firnc_value image = channels_last(im, x);
    if (x->rank == 5)
        image = joined_slices(im, image, groups, &w);
    const firnc_value kernels = kernels_of(im, weight);
    const firnc_value bias = bias_of(im, node);
    if (im->failed)
        return false;
    return set_image(
        im, node, firnc_onnx_made(im, firnc_conv(im->graph, image, kernels, bias, (uint32_t)groups, windows_of(&w))));
}

/* --- transposed convolutions -------------------------------------------------------------------------------------- */

/* Puts stride - 1 zeros behind each row, column or slice of an image, but for the last one. */
static firnc_value spread(firnc_onnx_importer *im, firnc_value y, uint8_t axis, int64_t stride) {
    if (im->failed || stride == 1)
        return y;
    const firn_shape shape = *firnc_onnx_shape(im, y);
    int64_t wide[FIRN_RANK_MAX], dims[FIRN_RANK_MAX] = {0};
    for (uint8_t i = 0, at = 0; i < shape.rank; i++) {
        wide[at++] = shape.dims[i];
        if (i == axis)
            wide[at++] = 1;
        dims[i] = shape.dims[i] * (i == axis ? stride : 1);
    }
    y = firnc_onnx_reshape(im, y, (uint8_t)(shape.rank + 1), wide);
    y = firnc_onnx_pad(im, y, (uint8_t)(axis + 1), 0, stride - 1, 0);
    y = firnc_onnx_reshape(im, y, shape.rank, dims);
    return firnc_onnx_slice(im, y, axis, 0, 1, dims[axis] - (stride - 1));
}

/* The padding of a transposed convolution, from what it should make. */
static bool transposed_padding(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t spatial, windows *w,
                               const int64_t extra[SIDES]) {
    const int64_t *shape, *pads;
    const uint32_t shaped = firnc_onnx_integers(node, "output_shape", &shape),
                   count = firnc_onnx_integers(node, "pads", &pads);
    const char *automatic = firnc_onnx_text(node, "auto_pad", "NOTSET");
    const bool same = strncmp(automatic, "SAME_", 5) == 0;
    if (!firnc_onnx_is_listed("NOTSET VALID SAME_UPPER SAME_LOWER", automatic))
        return firnc_onnx_fail(im, "has auto_pad %s; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", automatic);
    if ((shaped != 0 && shaped != spatial) || (count != 0 && count != 2u * spatial))
        return firnc_onnx_fail(im, "has an output_shape or pads for another number of dimensions");
    for (uint8_t i = 0; i < spatial; i++) {
        const uint8_t at = (uint8_t)(SIDES - spatial + i);
        const int64_t whole =
            (w->extent[at] - 1) * w->stride[at] + (w->kernel[at] - 1) * w->dilation[at] + 1 + extra[at];
        if (shaped != 0 || same) {
            const int64_t wanted = shaped != 0 ? shape[i] : w->extent[at] * w->stride[at];
            const int64_t total = wanted < 1 ? 0 : whole - wanted;
            const bool upper = strcmp(automatic, "SAME_UPPER") == 0;
            if (wanted < 1 || total < -FIRN_PAIR_MAX)
                return firnc_onnx_fail(im,
                                       "has an output_shape or an image that gives %lld elements; write a larger one, "
                                       "of at most stride times the image",
                                       (long long)wanted);
            w->before[at] = total <= 0 ? 0 : upper ? total / 2 : (total + 1) / 2;
            w->after[at] = total - w->before[at];
        } else if (count != 0 && strcmp(automatic, "VALID") != 0) {
            if (pads[i] < 0 || pads[i] > FIRN_PAIR_MAX || pads[spatial + i] < -FIRN_PAIR_MAX ||
                pads[spatial + i] > FIRN_PAIR_MAX)
                return firnc_onnx_fail(im, "has a pad of %lld or %lld, and 0 to %d are possible; write one of them",
                                       (long long)pads[i], (long long)pads[spatial + i], FIRN_PAIR_MAX);
            w->before[at] = pads[i];
            w->after[at] = pads[spatial + i];
        }
        if (w->before[at] < 0 || w->before[at] + w->after[at] >= whole)
            return firnc_onnx_fail(im, "has pads that leave nothing of its image; write smaller pads");
    }
    return true;
}

/* The kernels of a transposed convolution, [C,O/groups,...] in the file, as those of a convolution, [O,...,C/groups],
 * or of a volume with the channels of each slice (kernels_of). */
static firnc_value turned_kernels(firnc_onnx_importer *im, firnc_onnx_value *weight, int64_t groups, const windows *w) {
    const int64_t c = weight->dims[0] / groups, o = weight->dims[1];
    const int64_t depth = w->kernel[DEPTH], rows = w->kernel[ROWS], columns = w->kernel[COLUMNS];
    firnc_value y = firnc_onnx_plain_real(im, weight);
    if (weight->rank == 5) {
        y = firnc_onnx_reshape(im, y, 6, (int64_t[]){groups, c, o, depth, rows, columns});
        y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 2, 4, 5, 3, 1});
        y = firnc_onnx_reshape(im, y, 5, (int64_t[]){groups * o, rows, columns, depth, c});
        if (depth > 1)
            y = firnc_onnx_slice(im, y, 3, depth - 1, -1, depth);
    } else {
        y = firnc_onnx_reshape(im, y, 5, (int64_t[]){groups, c, o, rows, columns});
        y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 2, 3, 4, 1});
    }
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){groups * o, rows, columns, depth * c});
    if (rows > 1)
        y = firnc_onnx_slice(im, y, 1, rows - 1, -1, rows);
    return columns > 1 ? firnc_onnx_slice(im, y, 2, columns - 1, -1, columns) : y;
}

bool firnc_onnx_import_conv_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1];
    const int64_t groups = firnc_onnx_integer(node, "group", 1);
    int64_t extra[SIDES] = {0, 0, 0};
    windows w;
    if (!begin_conv(im, node, &w))
        return false;
    const uint8_t spatial = (uint8_t)(x->rank - 2);
    if (groups < 1 || weight->dims[0] % groups != 0 || weight->dims[0] != x->dims[1])
        return firnc_onnx_fail(im, "has %lld groups for %lld channels", (long long)groups, (long long)x->dims[1]);
    if (!read_sides(im, node, "strides", spatial, w.stride) ||
        !read_sides(im, node, "dilations", spatial, w.dilation) ||
        !read_sides(im, node, "output_padding", spatial, extra) || !transposed_padding(im, node, spatial, &w, extra))
        return false;
    for (int i = 0; i < SIDES; i++)
        if (w.stride[i] < 1 || w.dilation[i] < 1)
            return firnc_onnx_fail(im, "has a stride or dilation of 0");
    /* a convolution of the image with zeros between its elements, padded with all that a window may reach */
    firnc_value y = channels_last(im, x);
    for (int i = x->rank == 5 ? DEPTH : ROWS; i < SIDES; i++)
        y = spread(im, y, (uint8_t)(x->rank == 5 ? 1 + i : i), w.stride[i]);
    windows inner = w;
    int64_t made[SIDES];
    for (int i = 0; i < SIDES; i++) {
        const int64_t reach = (w.kernel[i] - 1) * w.dilation[i];
        inner.stride[i] = 1;
        inner.before[i] = reach;
        inner.after[i] = reach + extra[i] + (w.after[i] < 0 ? -w.after[i] : 0);
        made[i] = (w.extent[i] - 1) * w.stride[i] + reach + 1 + extra[i] - w.before[i] - w.after[i];
        inner.count[i] = made[i] + w.before[i] + (w.after[i] > 0 ? w.after[i] : 0);
        if (reach > FIRN_PAIR_MAX || inner.after[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(
                im, "has windows that reach further than %d elements; make kernel, dilation or stride smaller",
                FIRN_PAIR_MAX);
    }
    if (x->rank == 5)
        y = joined_slices(im, y, groups, &inner);
    const firnc_value kernels = turned_kernels(im, weight, groups, &w);
    const firnc_value bias = bias_of(im, node);
    if (im->failed)
        return false;
    y = firnc_onnx_made(im, firnc_conv(im->graph, y, kernels, bias, (uint32_t)groups, windows_of(&inner)));
    y = firnc_onnx_slice(im, y, 1, w.before[ROWS], 1, made[ROWS]);
    y = firnc_onnx_slice(im, y, 2, w.before[COLUMNS], 1, made[COLUMNS]);
    if (x->rank == 5 && !im->failed) {
        const firn_shape shape = *firnc_onnx_shape(im, y);
        y = firnc_onnx_reshape(
            im, y, 5, (int64_t[]){x->dims[0], inner.count[DEPTH], shape.dims[1], shape.dims[2], shape.dims[3]});
        y = slices_of(im, firnc_onnx_slice(im, y, 1, w.before[DEPTH], 1, made[DEPTH]));
    }
    return set_image(im, node, y);
}

/* --- pools -------------------------------------------------------------------------------------------------------- */

static firnc_value pool_plane(firnc_onnx_importer *im, firnc_value y, bool maximum, const windows *w) {
    const uint32_t kernel[2] = {(uint32_t)w->kernel[ROWS], (uint32_t)w->kernel[COLUMNS]};
    if (im->failed)
        return FIRNC_NONE;
    return firnc_onnx_made(im, maximum ? firnc_max_pool(im->graph, y, kernel, windows_of(w))
                                       : firnc_average_pool(im->graph, y, kernel, windows_of(w), false));
}

/* Pools images [N,H,W,C], or volumes [N,D,H,W,C] to images of all their slices. */
static firnc_value pool(firnc_onnx_importer *im, firnc_value y, bool maximum, const windows *w) {
    if (im->failed || firnc_onnx_shape(im, y)->rank == 4)
        return pool_plane(im, y, maximum, w);
    const firn_shape volume = *firnc_onnx_shape(im, y);
    y = pool_plane(im, slices_of(im, y), maximum, w);
    if (im->failed)
        return FIRNC_NONE;
    const firn_shape plane = *firnc_onnx_shape(im, y);
    y = firnc_onnx_reshape(
        im, y, 4, (int64_t[]){volume.dims[0], volume.dims[1], (int64_t)plane.dims[1] * plane.dims[2], plane.dims[3]});
    windows along = {.kernel = {1, w->kernel[DEPTH], 1}, .stride = {1, w->stride[DEPTH], 1}};
    along.dilation[ROWS] = w->dilation[DEPTH];
    along.dilation[COLUMNS] = 1;
    along.before[ROWS] = w->before[DEPTH];
    along.after[ROWS] = w->after[DEPTH];
    along.beyond[ROWS] = w->beyond[DEPTH];
    y = pool_plane(im, y, maximum, &along);
    return firnc_onnx_reshape(
        im, y, 4, (int64_t[]){volume.dims[0] * w->count[DEPTH], plane.dims[1], plane.dims[2], plane.dims[3]});
}

/* --- indices of MaxPool ------------------------------------------------------------------------------------------- */

/* What the number of an element grows by for one step along each side. Columns have the step 1, or if turned the first
 * side has. */
static void steps_of(const windows *w, bool turned, int64_t steps[SIDES]) {
    int64_t step = 1;
    for (int i = 0; i < SIDES; i++) {
        const int side = turned ? i : SIDES - 1 - i;
        steps[side] = step;
        step *= w->extent[side];
    }
}

/* Where number `number` of a grid of windows, or of the taps of a window, is along each side. */
static void position_of(int64_t number, const int64_t extents[SIDES], int64_t at[SIDES]) {
    for (uint8_t side = SIDES; side-- > 0; number /= extents[side])
        at[side] = number % extents[side];
}

static float number_of(const int64_t at[SIDES], const int64_t steps[SIDES]) {
    float number = 0;
    for (uint8_t side = SIDES; side-- > 0;)
        number += (float)(at[side] * steps[side]);
    return number;
}

/* The elements under the windows of an image. A tap is an element of a window: tap t of window i is element
 * list[i * taps + t] of the image. Numbers are those that the node's storage_order asks for. */
typedef struct window_map {
    int64_t taps, windows, elements; /* their numbers; elements: of one channel of an image */
    int64_t *list;                   /* of taps outside of the image: any element */
    firnc_onnx_tensor *outside;      /* [windows,taps,1]: 1 for a tap outside of the image */
    firnc_onnx_tensor *first;        /* [windows,1]: the number of tap 0, as if the image went on outside */
    firnc_onnx_tensor *image;        /* [N,1,C]: the number of element 0 of each image and channel */
    firnc_onnx_tensor *distances;    /* [taps]: the number of a tap minus that of tap 0 */
} window_map;

/* Allocates the lists of a map. False after one message. */
static bool make_map(firnc_onnx_importer *im, const firnc_onnx_value *x, const windows *w, window_map *m) {
    *m = (window_map){.taps = w->kernel[DEPTH] * w->kernel[ROWS] * w->kernel[COLUMNS],
                      .windows = w->count[DEPTH] * w->count[ROWS] * w->count[COLUMNS],
                      .elements = w->extent[DEPTH] * w->extent[ROWS] * w->extent[COLUMNS]};
    if (firnc_onnx_count(x) > FIRNC_ONNX_EXACT_MAX || m->taps * m->windows > FIRNC_ONNX_LIST_MAX) {
        firnc_onnx_fail(
            im, "gives indices of images of more than %d elements in all; use smaller images, or leave the indices out",
            FIRNC_ONNX_EXACT_MAX);
        return false;
    }
    m->list = firnc_allocate((uint64_t)(m->taps * m->windows) * sizeof *m->list);
    m->outside = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 3, (int64_t[]){m->windows, m->taps, 1});
    m->first = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, (int64_t[]){m->windows, 1});
    m->image = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 3, (int64_t[]){x->dims[0], 1, x->dims[1]});
    m->distances = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, &m->taps);
    return m->outside != NULL && m->first != NULL && m->image != NULL && m->distances != NULL;
}

static void fill_map(const windows *w, bool turned, window_map *m) {
    int64_t numbered[SIDES], stored[SIDES]; /* steps of the numbers that the node gives, and of the list */
    steps_of(w, turned, numbered);
    steps_of(w, false, stored);
    for (int64_t i = 0; i < m->windows; i++) {
        int64_t begin[SIDES];
        position_of(i, w->count, begin);
        for (int side = 0; side < SIDES; side++)
            begin[side] = begin[side] * w->stride[side] - w->before[side];
        m->first->reals[i] = number_of(begin, numbered);
        for (int64_t t = 0; t < m->taps; t++) {
            int64_t distance[SIDES], element = 0;
            position_of(t, w->kernel, distance);
            for (int side = 0; side < SIDES; side++) {
                distance[side] *= w->dilation[side];
                const int64_t at = begin[side] + distance[side];
                const bool outside = at < 0 || at >= w->extent[side];
                if (outside)
                    m->outside->reals[i * m->taps + t] = 1;
                element += outside ? 0 : at * stored[side];
            }
            m->list[i * m->taps + t] = element;
            m->distances->reals[t] = number_of(distance, numbered);
        }
    }
    for (uint64_t i = 0; i < m->image->count; i++)
        m->image->reals[i] = (float)((int64_t)i * m->elements);
}

/* Sets output 1 of MaxPool: the number of the largest element of each window, among the elements of all images
 * [N,C,...]. The taps of each window are copied side by side, those outside of the image as the lowest number. The
 * largest tap's distance is added to the number of the window's first tap and to that of the image. */
static bool set_indices(firnc_onnx_importer *im, const firnc_onnx_node *node, const windows *w) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t n = x->dims[0], c = x->dims[1];
    int64_t dims[FIRN_RANK_MAX];
    uint8_t order[FIRN_RANK_MAX];
    window_map m;
    if (node->outputs[1] == NULL || !firnc_onnx_is_read(im, node, node->outputs[1]->name))
        return true;
    if (!make_map(im, x, w, &m))
        return false;
    fill_map(w, firnc_onnx_integer(node, "storage_order", 0) != 0, &m);
    firnc_value y = firnc_onnx_reshape(im, channels_last(im, x), 3, (int64_t[]){n, m.elements, c});
    y = firnc_onnx_pick(im, y, 1, m.list, m.taps * m.windows);
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, m.windows, m.taps, c});
    const firnc_value least = firnc_onnx_scalar(im, -FLT_MAX);
    y = firnc_onnx_select(im, firnc_onnx_constant(im, m.outside, FIRN_FLOAT32), least, y);
    if (im->failed)
        return false;
    y = firnc_onnx_made(im, firnc_arg_max(im->graph, y, 2, false));
    y = firnc_onnx_gather(im, firnc_onnx_constant(im, m.distances, FIRN_FLOAT32), y, 0);
    y = firnc_onnx_binary(im, FIRN_OP_add, y, firnc_onnx_constant(im, m.first, FIRN_FLOAT32));
    y = firnc_onnx_binary(im, FIRN_OP_add, y, firnc_onnx_constant(im, m.image, FIRN_FLOAT32));
    firnc_onnx_channels_last(x->rank, order);
    dims[0] = n;
    dims[x->rank - 1] = c;
    for (uint8_t i = 2; i < x->rank; i++)
        dims[i - 1] = w->count[side_of(x, i)];
    firnc_onnx_set_ordered(im, node->outputs[1], firnc_onnx_reshape(im, y, x->rank, dims), FIRNC_ONNX_INT64, x->rank,
                           order);
    return !im->failed;
}

/* --- pool nodes --------------------------------------------------------------------------------------------------- */

bool firnc_onnx_import_pool(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const bool maximum = node->op[0] == 'M';
    windows w;
    if (!check_image(im, x))
        return false;
    set_extents(x, &w);
    if (!firnc_onnx_has(node, "kernel_shape"))
        return firnc_onnx_fail(im, "has no kernel_shape");
    if (!read_windows(im, node, (uint8_t)(x->rank - 2), &w))
        return false;
    if (maximum && node->output_count > 1 && !set_indices(im, node, &w))
        return false;
    firnc_value y = channels_last(im, x);
    if (!maximum && firnc_onnx_integer(node, "count_include_pad", 0) != 0)
        for (int i = 0; i < SIDES; i++) { /* padding counts as zeros, and what is beyond it does not count */
            y = firnc_onnx_pad(im, y, (uint8_t)(x->rank == 5 ? i + 1 : i), w.before[i], w.after[i], 0);
            w.before[i] = w.after[i] = 0;
        }
    return set_image(im, node, pool(im, y, maximum, &w));
}

bool firnc_onnx_import_global_pool(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const bool maximum = strcmp(node->op, "GlobalMaxPool") == 0;
    windows w;
    if (x->rank < 3)
        return firnc_onnx_fail(im, "takes images, and its operand has %u dimensions", (unsigned)x->rank);
    if (x->rank > 4 || x->dims[2] > FIRN_PAIR_MAX || x->dims[x->rank - 1] > FIRN_PAIR_MAX) {
        uint32_t axes = 0;
        (void)firnc_onnx_raw(im, x);
        for (uint8_t i = 2; i < x->rank; i++)
            axes |= UINT32_C(1) << firnc_onnx_place(x->order, x->rank, i);
        const firnc_value y =
            maximum ? firnc_onnx_maximum(im, x->value, axes, true) : firnc_onnx_mean(im, x->value, axes, true);
        return firnc_onnx_set_like(im, node->outputs[0], y, x);
    }
    set_extents(x, &w);
    memcpy(w.kernel, w.extent, sizeof w.kernel);
    return set_image(im, node, pool(im, channels_last(im, x), maximum, &w));
}
