/* Convolutions and pools. ONNX has channels in front of the image and Firn behind it: the operands are taken channels
 * last, which costs a transpose only where the image is not so already, and weights are laid out so when they are read.
 * One dimension is an image of one row. */
#include <string.h>

#include "compiler/onnx/import.h"
#include "plan/shapes/windows.h"

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* The windows of a node; [0] is for rows, [1] for columns. */
typedef struct windows {
    int64_t kernel[2], stride[2], dilation[2], before[2], after[2], beyond[2], extent[2], count[2];
} windows;

/* Reads a list of one number for each dimension of the image. False after one message. */
static bool read_pair(firnc_onnx_importer *im, const firnc_onnx_node *node, const char *name, uint8_t spatial,
                      int64_t to[2]) {
    const int64_t *list;
    const uint32_t count = firnc_onnx_integers(node, name, &list);
    if (count == 0)
        return true;
    if (count != spatial)
        return firnc_onnx_fail(im, "its %s has %u numbers for %u dimensions", name, (unsigned)count, (unsigned)spatial);
    for (uint8_t i = 0; i < spatial; i++) {
        if (list[i] < 0 || list[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(im, "its %s has %lld, and 0 to %d are known", name, (long long)list[i],
                                   FIRN_PAIR_MAX);
        to[2 - spatial + i] = list[i];
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
        const uint8_t at = (uint8_t)(2 - spatial + i);
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
    for (uint8_t i = 0; i < 2; i++) {
        if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
            return firnc_onnx_fail(im, "has a kernel, stride or dilation of 0");
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const int64_t room = w->extent[i] + w->before[i] + w->after[i] - reach;
        if (room < 0)
            return firnc_onnx_fail(im, "has a window of %lld elements for an image of %lld with its padding",
                                   (long long)reach, (long long)(room + reach));
        w->count[i] = room / w->stride[i] + 1;
        w->beyond[i] = 0;
        if (up && room % w->stride[i] != 0 && w->count[i] * w->stride[i] < w->extent[i] + w->before[i]) {
            w->beyond[i] = w->count[i] * w->stride[i] - room;
            w->count[i]++;
        }
        if (w->before[i] > FIRN_PAIR_MAX || w->after[i] + w->beyond[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(im, "pads by more than %d elements", FIRN_PAIR_MAX);
    }
    return true;
}

static bool read_windows(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t spatial, windows *w) {
    return read_pair(im, node, "kernel_shape", spatial, w->kernel) &&
           read_pair(im, node, "strides", spatial, w->stride) &&
           read_pair(im, node, "dilations", spatial, w->dilation) && read_padding(im, node, spatial, w) &&
           count_windows(im, node, w);
}

static firnc_windows windows_of(const windows *w) {
    firnc_windows to;
    for (uint8_t i = 0; i < 2; i++) {
        to.stride[i] = (uint32_t)w->stride[i];
        to.dilation[i] = (uint32_t)w->dilation[i];
        to.before[i] = (uint32_t)w->before[i];
        to.after[i] = (uint32_t)(w->after[i] + w->beyond[i]);
    }
    return to;
}

/* --- images ------------------------------------------------------------------------------------------------------- */

static bool check_image(firnc_onnx_importer *im, const firnc_onnx_value *x) {
    return x->rank == 3 || x->rank == 4 ||
           firnc_onnx_fail(im, "takes images of one or two dimensions, and its operand has %u in all",
                           (unsigned)x->rank);
}

/* An image [N,C,...] as [N,H,W,C], or a weight [O,C,...] as [O,rows,columns,C]. */
static firnc_value channels_last(firnc_onnx_importer *im, firnc_onnx_value *x) {
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_channels_last(x->rank, order);
    const firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    return x->rank == 4 ? y : firnc_onnx_reshape(im, y, 4, (int64_t[]){x->dims[0], 1, x->dims[2], x->dims[1]});
}

/* Sets an output from [N,H,W,C]. */
static bool set_image(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value y) {
    const firnc_onnx_value *x = node->inputs[0];
    uint8_t order[FIRN_RANK_MAX];
    if (im->failed)
        return false;
    firnc_onnx_channels_last(x->rank, order);
    const firn_shape shape = *firnc_onnx_shape(im, y);
    if (x->rank == 3)
        y = firnc_onnx_reshape(im, y, 3, (int64_t[]){shape.dims[0], shape.dims[2], shape.dims[3]});
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, order);
    return !im->failed;
}

/* Which of rows (0) and columns (1) an axis of a value [N,C,...] is. */
static uint8_t side_of(const firnc_onnx_value *x, uint8_t axis) {
    return (uint8_t)(2 + axis - x->rank);
}

static void set_extents(const firnc_onnx_value *x, windows *w) {
    *w = (windows){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .extent = {1, 1}};
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

bool firnc_onnx_import_conv(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1];
    const int64_t groups = firnc_onnx_integer(node, "group", 1);
    windows w;
    if (!begin_conv(im, node, &w) || !read_windows(im, node, (uint8_t)(x->rank - 2), &w))
        return false;
    for (uint8_t i = 2; i < x->rank; i++)
        if (w.kernel[side_of(x, i)] != weight->dims[i])
            return firnc_onnx_fail(im, "has another kernel_shape than its weight");
    if (groups < 1 || groups > UINT32_MAX)
        return firnc_onnx_fail(im, "has %lld groups", (long long)groups);
    const firnc_value image = channels_last(im, x), kernels = channels_last(im, weight);
    const firnc_value bias = firnc_onnx_plain_real(im, node->inputs[2]);
    if (im->failed)
        return false;
    return set_image(
        im, node, firnc_onnx_made(im, firnc_conv(im->graph, image, kernels, bias, (uint32_t)groups, windows_of(&w))));
}

/* --- transposed convolutions -------------------------------------------------------------------------------------- */

/* Puts stride - 1 zeros behind each row or column of an image, but for the last one. */
static firnc_value spread(firnc_onnx_importer *im, firnc_value y, uint8_t axis, int64_t stride) {
    if (im->failed || stride == 1)
        return y;
    const firn_shape shape = *firnc_onnx_shape(im, y);
    int64_t wide[5], dims[4];
    for (uint8_t i = 0, at = 0; i < 4; i++) {
        wide[at++] = shape.dims[i];
        if (i == axis)
            wide[at++] = 1;
        dims[i] = shape.dims[i] * (i == axis ? stride : 1);
    }
    y = firnc_onnx_reshape(im, y, 5, wide);
    y = firnc_onnx_pad(im, y, (uint8_t)(axis + 1), 0, stride - 1, 0);
    y = firnc_onnx_reshape(im, y, 4, dims);
    return firnc_onnx_slice(im, y, axis, 0, 1, dims[axis] - (stride - 1));
}

/* The padding of a transposed convolution, from what it should make. */
static bool transposed_padding(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t spatial, windows *w,
                               int64_t extra[2]) {
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
        const uint8_t at = (uint8_t)(2 - spatial + i);
        const int64_t whole =
            (w->extent[at] - 1) * w->stride[at] + (w->kernel[at] - 1) * w->dilation[at] + 1 + extra[at];
        if (shaped != 0 || same) {
            const int64_t wanted = shaped != 0 ? shape[i] : w->extent[at] * w->stride[at];
            const int64_t total = wanted < 1 ? 0 : whole - wanted;
            const bool upper = strcmp(automatic, "SAME_UPPER") == 0;
            if (wanted < 1 || total < -FIRN_PAIR_MAX)
                return firnc_onnx_fail(im, "has an output_shape of %lld", (long long)wanted);
            w->before[at] = total <= 0 ? 0 : upper ? total / 2 : (total + 1) / 2;
            w->after[at] = total - w->before[at];
        } else if (count != 0 && strcmp(automatic, "VALID") != 0) {
            if (pads[i] < 0 || pads[i] > FIRN_PAIR_MAX || pads[spatial + i] < -FIRN_PAIR_MAX ||
                pads[spatial + i] > FIRN_PAIR_MAX)
                return firnc_onnx_fail(im, "has a pad of %lld or %lld, and 0 to %d are known", (long long)pads[i],
                                       (long long)pads[spatial + i], FIRN_PAIR_MAX);
            w->before[at] = pads[i];
            w->after[at] = pads[spatial + i];
        }
        if (w->before[at] < 0 || w->before[at] + w->after[at] >= whole)
            return firnc_onnx_fail(im, "has pads that leave nothing");
    }
    return true;
}

/* The kernels of a transposed convolution, [C,O/groups,...] in the file, as those of a convolution, [O,...,C/groups].
 */
static firnc_value turned_kernels(firnc_onnx_importer *im, firnc_onnx_value *weight, int64_t groups) {
    const int64_t c = weight->dims[0] / groups, o = weight->dims[1];
    const int64_t rows = weight->rank == 4 ? weight->dims[2] : 1, columns = weight->dims[weight->rank - 1];
    firnc_value y =
        firnc_onnx_reshape(im, firnc_onnx_plain_real(im, weight), 5, (int64_t[]){groups, c, o, rows, columns});
    y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 2, 3, 4, 1});
    y = firnc_onnx_reshape(im, y, 4, (int64_t[]){groups * o, rows, columns, c});
    if (rows > 1)
        y = firnc_onnx_slice(im, y, 1, rows - 1, -1, rows);
    return columns > 1 ? firnc_onnx_slice(im, y, 2, columns - 1, -1, columns) : y;
}

bool firnc_onnx_import_conv_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *weight = node->inputs[1];
    const int64_t groups = firnc_onnx_integer(node, "group", 1);
    int64_t extra[2] = {0, 0};
    windows w;
    if (!begin_conv(im, node, &w))
        return false;
    const uint8_t spatial = (uint8_t)(x->rank - 2);
    if (groups < 1 || weight->dims[0] % groups != 0 || weight->dims[0] != x->dims[1])
        return firnc_onnx_fail(im, "has %lld groups for %lld channels", (long long)groups, (long long)x->dims[1]);
    if (!read_pair(im, node, "strides", spatial, w.stride) || !read_pair(im, node, "dilations", spatial, w.dilation) ||
        !read_pair(im, node, "output_padding", spatial, extra) || !transposed_padding(im, node, spatial, &w, extra))
        return false;
    if (w.stride[0] < 1 || w.stride[1] < 1 || w.dilation[0] < 1 || w.dilation[1] < 1)
        return firnc_onnx_fail(im, "has a stride or dilation of 0");
    /* a convolution of the image with zeros between its elements, padded with all that a window may reach */
    firnc_value y = spread(im, spread(im, channels_last(im, x), 1, w.stride[0]), 2, w.stride[1]);
    firnc_windows inner = {.dilation = {(uint32_t)w.dilation[0], (uint32_t)w.dilation[1]}};
    int64_t made[2];
    for (uint8_t i = 0; i < 2; i++) {
        const int64_t reach = (w.kernel[i] - 1) * w.dilation[i];
        inner.before[i] = (uint32_t)reach;
        inner.after[i] = (uint32_t)(reach + extra[i] + (w.after[i] < 0 ? -w.after[i] : 0));
        made[i] = (w.extent[i] - 1) * w.stride[i] + reach + 1 + extra[i] - w.before[i] - w.after[i];
        if (reach > FIRN_PAIR_MAX || inner.after[i] > FIRN_PAIR_MAX)
            return firnc_onnx_fail(im, "has windows that reach further than %d", FIRN_PAIR_MAX);
    }
    const firnc_value kernels = turned_kernels(im, weight, groups);
    const firnc_value bias = firnc_onnx_plain_real(im, node->inputs[2]);
    if (im->failed)
        return false;
    y = firnc_onnx_made(im, firnc_conv(im->graph, y, kernels, bias, (uint32_t)groups, inner));
    y = firnc_onnx_slice(im, y, 1, w.before[0], 1, made[0]);
    y = firnc_onnx_slice(im, y, 2, w.before[1], 1, made[1]);
    return set_image(im, node, y);
}

/* --- pools -------------------------------------------------------------------------------------------------------- */

static firnc_value pool(firnc_onnx_importer *im, firnc_value y, bool maximum, const windows *w) {
    const uint32_t kernel[2] = {(uint32_t)w->kernel[0], (uint32_t)w->kernel[1]};
    if (im->failed)
        return FIRNC_NONE;
    return firnc_onnx_made(im, maximum ? firnc_max_pool(im->graph, y, kernel, windows_of(w))
                                       : firnc_average_pool(im->graph, y, kernel, windows_of(w), false));
}

bool firnc_onnx_import_pool(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const bool maximum = node->op[0] == 'M';
    windows w;
    if (!check_image(im, x))
        return false;
    if (firnc_onnx_integer(node, "storage_order", 0) != 0)
        return firnc_onnx_fail(im, "has storage_order 1, which Firn does not have; leave it out");
    set_extents(x, &w);
    if (!firnc_onnx_has(node, "kernel_shape"))
        return firnc_onnx_fail(im, "has no kernel_shape");
    if (!read_windows(im, node, (uint8_t)(x->rank - 2), &w))
        return false;
    firnc_value y = channels_last(im, x);
    if (!maximum && firnc_onnx_integer(node, "count_include_pad", 0) != 0)
        for (uint8_t i = 0; i < 2; i++) { /* padding counts as zeros, and what is beyond it does not count */
            y = firnc_onnx_pad(im, y, (uint8_t)(i + 1), w.before[i], w.after[i], 0);
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
