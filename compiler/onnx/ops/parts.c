/* Ops that join, cut, pad or repeat: Concat, Split, Slice, Pad, Expand, Tile. */
#include <string.h>

#include "compiler/onnx/import.h"

/* Gives the output of a node the type and rank of its first operand, and no elements. */
static bool set_empty(firnc_onnx_importer *im, const firnc_onnx_node *node, const int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0];
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, x->type, x->rank, dims));
    return !im->failed;
}

bool firnc_onnx_import_concat(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *parts[FIRNC_ONNX_OPERANDS_MAX];
    firnc_value xs[FIRNC_ONNX_OPERANDS_MAX];
    uint32_t count = 0;
    const firnc_onnx_value *largest = NULL;
    bool wholes = true;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == NULL)
            return firnc_onnx_fail(im, "lacks its operand %u", (unsigned)i);
        else if (!firnc_onnx_is_empty(node->inputs[i])) /* of whatever rank: PyTorch joins [0] to anything */
            parts[count++] = node->inputs[i];
    if (count == 0)
        return firnc_onnx_fail(im, "joins tensors without elements, and a plan has none; leave the node out");
    for (uint32_t i = 0; i < count; i++) {
        firnc_onnx_value *x = parts[i];
        if (x->rank != parts[0]->rank)
            return firnc_onnx_fail(im, "joins operands of %u and %u dimensions", (unsigned)parts[0]->rank,
                                   (unsigned)x->rank);
        if (x->value != FIRNC_NONE && (largest == NULL || firnc_onnx_count(x) > firnc_onnx_count(largest)))
            largest = x;
        wholes = wholes && x->value != FIRNC_NONE && firnc_onnx_shape(im, x->value)->type == FIRN_INT32;
    }
    const uint8_t rank = parts[0]->rank, axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), rank);
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_identity(order);
    if (largest != NULL)
        memcpy(order, largest->order, rank);
    for (uint32_t i = 0; i < count; i++) {
        const firnc_value x = firnc_onnx_ordered(im, parts[i], rank, order);
        xs[i] = wholes ? x : firnc_onnx_real(im, x);
    }
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_concat(im, xs, count, firnc_onnx_place(order, rank, axis)),
                           parts[0]->type, rank, order);
    return !im->failed;
}

bool firnc_onnx_import_split(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    uint8_t axis;
    int64_t sizes[FIRNC_ONNX_OPERANDS_MAX], first = 0;
    if (!firnc_onnx_parts(im, node, &axis, sizes))
        return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const int64_t size = sizes[i];
        if (size == 0) { /* which Concat may leave out again */
            int64_t dims[FIRN_RANK_MAX];
            memcpy(dims, x->dims, sizeof dims);
            dims[axis] = 0;
            firnc_onnx_set_known(node->outputs[i], firnc_onnx_tensor_new(im, x->type, x->rank, dims));
            continue;
        }
        const firnc_value y =
            firnc_onnx_slice(im, firnc_onnx_raw(im, x), firnc_onnx_place(x->order, x->rank, axis), first, 1, size);
        (void)firnc_onnx_set_like(im, node->outputs[i], y, x);
        first += size;
    }
    return !im->failed;
}

bool firnc_onnx_import_slice(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    int64_t first[FIRN_RANK_MAX], step[FIRN_RANK_MAX], counts[FIRN_RANK_MAX];
    if (!firnc_onnx_sliced(im, node, first, step, counts))
        return false;
    for (uint8_t i = 0; i < x->rank; i++)
        if (counts[i] == 0)
            return set_empty(im, node, counts);
    firnc_value y = firnc_onnx_raw(im, x);
    for (uint8_t i = 0; i < x->rank; i++)
        y = firnc_onnx_slice(im, y, firnc_onnx_place(x->order, x->rank, i), first[i], step[i], counts[i]);
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}

static firnc_value pad_axis(firnc_onnx_importer *im, const char *mode, firnc_value y, uint8_t axis, int64_t before,
                            int64_t after, float value) {
    if (im->failed)
        return FIRNC_NONE;
    int64_t extent = firnc_onnx_shape(im, y)->dims[axis];
    if (before < 0 || after < 0) {
        const int64_t cut = before < 0 ? -before : 0, left = extent - cut + (after < 0 ? after : 0);
        y = firnc_onnx_slice(im, y, axis, cut, 1, left);
        extent = left;
        before = before < 0 ? 0 : before;
        after = after < 0 ? 0 : after;
    }
    if (im->failed || (before == 0 && after == 0))
        return y;
    if (strcmp(mode, "constant") == 0)
        return firnc_onnx_pad(im, y, axis, before, after, value);
    const int64_t count = before + extent + after;
    if (before > FIRNC_ONNX_LIST_MAX || after > FIRNC_ONNX_LIST_MAX || count > FIRNC_ONNX_LIST_MAX) {
        firnc_onnx_fail(im, "pads by %lld and %lld elements; at most %d are possible", (long long)before,
                        (long long)after, (int)FIRNC_ONNX_LIST_MAX);
        return FIRNC_NONE;
    }
    int64_t *list = firnc_allocate((uint64_t)count * sizeof *list);
    for (int64_t i = 0; i < count; i++)
        list[i] = firnc_onnx_reflected(mode, i - before, extent);
    return firnc_onnx_pick(im, y, axis, list, count);
}

bool firnc_onnx_import_pad(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const char *mode;
    int64_t before[FIRN_RANK_MAX], after[FIRN_RANK_MAX], dims[FIRN_RANK_MAX];
    double value = 0;
    bool empty = false;
    if (!firnc_onnx_padded(im, node, &mode, before, after))
        return false;
    if (node->inputs[2] != NULL && !firnc_onnx_single(node->inputs[2], &value))
        return firnc_onnx_fail(im, "its value depends on the data; make it a constant");
    for (uint8_t i = 0; i < x->rank; i++) {
        dims[i] = x->dims[i] + before[i] + after[i];
        empty = empty || dims[i] == 0;
    }
    if (empty)
        return set_empty(im, node, dims);
    firnc_value y = firnc_onnx_raw_real(im, x);
    for (uint8_t i = 0; i < x->rank && !im->failed; i++)
        y = pad_axis(im, mode, y, firnc_onnx_place(x->order, x->rank, i), before[i], after[i], (float)value);
    return firnc_onnx_set_like(im, node->outputs[0], y, x);
}

bool firnc_onnx_import_expand(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX];
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return false;
    if (count > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    uint8_t rank = x->rank;
    memcpy(dims, x->dims, sizeof dims);
    if (!firnc_onnx_join_extents(&rank, dims, (uint8_t)count, list))
        return firnc_onnx_fail(im, "cannot repeat its operand to these extents");
    for (uint8_t i = 0; i < rank; i++)
        if (dims[i] == 0) {
            firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, x->type, rank, dims));
            return !im->failed;
        }
    uint8_t identity[FIRN_RANK_MAX];
    firnc_onnx_identity(identity);
    const firnc_value y = firnc_onnx_expand(im, firnc_onnx_ordered(im, x, rank, identity), rank, dims);
    firnc_onnx_set(im, node->outputs[0], y, x->type, rank);
    return !im->failed;
}

/* Repeats an axis as a whole. */
static firnc_value repeat(firnc_onnx_importer *im, firnc_value x, uint8_t axis, int64_t times) {
    if (times == 1 || im->failed)
        return x;
    const firn_shape shape = *firnc_onnx_shape(im, x);
    int64_t outer = 1, inner = 1, dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i < shape.rank; i++) {
        dims[i] = shape.dims[i] * (i == axis ? times : 1);
        if (i < axis)
            outer *= shape.dims[i];
        else
            inner *= shape.dims[i];
    }
    x = firnc_onnx_reshape(im, x, 3, (int64_t[]){outer, 1, inner});
    x = firnc_onnx_expand(im, x, 3, (int64_t[]){outer, times, inner});
    return firnc_onnx_reshape(im, x, shape.rank, dims);
}

bool firnc_onnx_import_tile(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count;
    if (!firnc_onnx_list(im, node, 1, "repeats", &list, &count))
        return false;
    if (count != x->rank)
        return firnc_onnx_fail(im, "has %u repeats for %u axes", (unsigned)count, (unsigned)x->rank);
    int64_t dims[FIRN_RANK_MAX];
    bool empty = false;
    for (uint8_t i = 0; i < x->rank; i++) {
        if (list[i] < 0 || list[i] > INT32_MAX)
            return firnc_onnx_fail(im, "repeats an axis %lld times", (long long)list[i]);
        dims[i] = x->dims[i] * list[i];
        empty = empty || dims[i] == 0;
    }
    if (empty)
        return set_empty(im, node, dims);
    firnc_value y = firnc_onnx_plain(im, x);
    for (uint8_t i = 0; i < x->rank; i++)
        y = repeat(im, y, i, list[i]);
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}
