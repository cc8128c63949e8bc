/* What nodes that move, cut or reduce elements say about axes and extents. Ops of the graph and the computation of
 * known tensors (fold.c) both ask here, so that a node means the same to both. */
#include <string.h>

#include "compiler/onnx/import.h"

/* --- whole shapes ------------------------------------------------------------------------------------------------- */

bool firnc_onnx_flattened(firnc_onnx_importer *im, const firnc_onnx_node *node, int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t axis = firnc_onnx_integer(node, "axis", 1);
    const uint8_t cut = axis == x->rank ? x->rank : firnc_onnx_axis(im, axis, x->rank);
    dims[0] = dims[1] = 1;
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i >= cut] *= x->dims[i];
    return !im->failed;
}

bool firnc_onnx_reshaped(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *rank, int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *list, elements = (int64_t)firnc_onnx_count(x);
    const bool copies_zeros = firnc_onnx_integer(node, "allowzero", 0) == 0;
    int64_t left = elements; /* the elements that one position of the dimensions so far has */
    uint32_t count;
    int rest = -1;
    bool none = false;
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return false;
    if (count > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    *rank = (uint8_t)count;
    for (uint8_t i = 0; i < *rank; i++) {
        dims[i] = list[i] == 0 && copies_zeros && i < x->rank ? x->dims[i] : list[i];
        if (dims[i] == -1 && rest < 0)
            rest = i;
        else if (dims[i] < 0 || (dims[i] > 0 && left % dims[i] != 0))
            return firnc_onnx_fail(im,
                                   "cannot give %lld elements the extent %lld; export the model with a first extent "
                                   "that is open, or write the micro_batch_size that the file has",
                                   (long long)elements, (long long)dims[i]);
        else if (dims[i] == 0)
            none = true;
        else
            left /= dims[i];
    }
    if (rest >= 0)
        dims[rest] = none ? 0 : left;
    none = none || (rest >= 0 && dims[rest] == 0);
    if (elements == 0 ? none : !none && (rest >= 0 || left == 1))
        return true;
    return firnc_onnx_fail(im, "has other extents than its operand has elements for; export the model with a first "
                               "extent that is open, or write the micro_batch_size that the file has");
}

bool firnc_onnx_squeezed(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *wide, uint32_t *ones) {
    const firnc_onnx_value *x = node->inputs[0];
    const bool drops = strcmp(node->op, "Squeeze") == 0;
    const int64_t *list;
    uint32_t count;
    *ones = 0;
    if (!firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return false;
    const bool all = drops && count == FIRNC_NONE;
    count = count == FIRNC_NONE ? 0 : count;
    if (!drops && x->rank + count > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    *wide = (uint8_t)(drops ? x->rank : x->rank + count);
    for (uint8_t i = 0; all && i < x->rank; i++)
        *ones |= x->dims[i] == 1 ? UINT32_C(1) << i : 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t axis = firnc_onnx_axis(im, list[i], *wide);
        if (im->failed)
            return false;
        if ((*ones >> axis & 1) != 0)
            return firnc_onnx_fail(im, "names an axis twice");
        if (drops && x->dims[axis] != 1)
            return firnc_onnx_fail(im, "drops an axis of %lld elements", (long long)x->dims[axis]);
        *ones |= UINT32_C(1) << axis;
    }
    return true;
}

bool firnc_onnx_transposed(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *order) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    const uint32_t count = firnc_onnx_integers(node, "perm", &list);
    uint32_t seen = 0;
    if (count != 0 && count != x->rank)
        return firnc_onnx_fail(im, "orders %u axes, and its operand has %u", (unsigned)count, (unsigned)x->rank);
    for (uint8_t i = 0; i < x->rank; i++) {
        order[i] = count == 0 ? (uint8_t)(x->rank - 1 - i) : firnc_onnx_axis(im, list[i], x->rank);
        seen |= UINT32_C(1) << order[i];
    }
    return seen == (UINT32_C(1) << x->rank) - 1 || firnc_onnx_fail(im, "its perm does not have each axis once");
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Where a slice of an axis begins, and how many elements it has. */
static void bounds(int64_t start, int64_t end, int64_t step, int64_t extent, int64_t *first, int64_t *count) {
    start = start < -extent ? -extent - 1 : start > extent ? extent : start;
    end = end < -extent ? -extent - 1 : end > extent ? extent : end;
    start = start < 0 ? start + extent : start;
    end = end < 0 ? end + extent : end;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        *count = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = start >= extent ? extent - 1 : start;
        *count = start > end && start >= 0 ? (start - end - 1) / -step + 1 : 0;
    }
    *first = start;
}

bool firnc_onnx_sliced(firnc_onnx_importer *im, const firnc_onnx_node *node, int64_t *first, int64_t *step,
                       int64_t *counts) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *starts, *ends, *axes, *steps;
    uint32_t count, end_count, axis_count, step_count;
    if (!firnc_onnx_list(im, node, 1, "starts", &starts, &count) ||
        !firnc_onnx_list(im, node, 2, "ends", &ends, &end_count) ||
        !firnc_onnx_list(im, node, 3, "axes", &axes, &axis_count) ||
        !firnc_onnx_list(im, node, 4, "steps", &steps, &step_count))
        return false;
    if (count != end_count || (axis_count != FIRNC_NONE && axis_count != count) ||
        (step_count != FIRNC_NONE && step_count != count) || count > x->rank)
        return firnc_onnx_fail(im, "has lists of different lengths, or for more axes than its operand has");
    for (uint8_t i = 0; i < x->rank; i++) {
        first[i] = 0;
        step[i] = 1;
        counts[i] = x->dims[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t axis = firnc_onnx_axis(im, axes == NULL ? i : axes[i], x->rank);
        step[axis] = steps == NULL ? 1 : steps[i];
        if (step[axis] == 0 || step[axis] < -INT32_MAX)
            return firnc_onnx_fail(im, "has a step of %lld; write one other than 0", (long long)step[axis]);
        step[axis] = step[axis] > INT32_MAX ? INT32_MAX : step[axis];
        bounds(starts[i], ends[i], step[axis], x->dims[axis], &first[axis], &counts[axis]);
    }
    return !im->failed;
}

int64_t firnc_onnx_reflected(const char *mode, int64_t at, int64_t extent) {
    if (strcmp(mode, "edge") == 0 || extent == 1)
        return at < 0 ? 0 : at >= extent ? extent - 1 : at;
    if (strcmp(mode, "wrap") == 0)
        return (at % extent + extent) % extent;
    const int64_t period = 2 * (extent - 1);
    const int64_t folded = (at % period + period) % period;
    return folded < extent ? folded : period - folded;
}

bool firnc_onnx_padded(firnc_onnx_importer *im, const firnc_onnx_node *node, const char **mode, int64_t *before,
                       int64_t *after) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *pads, *axes;
    uint32_t count, axis_count;
    *mode = firnc_onnx_text(node, "mode", "constant");
    if (!firnc_onnx_is_listed("constant edge reflect wrap", *mode))
        return firnc_onnx_fail(im, "has mode %s; constant, edge, reflect and wrap are known", *mode);
    if (!firnc_onnx_list(im, node, 1, "pads", &pads, &count) ||
        !firnc_onnx_list(im, node, 3, "axes", &axes, &axis_count))
        return false;
    const uint32_t wanted = axis_count == FIRNC_NONE ? x->rank : axis_count;
    if (count != 2 * wanted)
        return firnc_onnx_fail(im, "has %u pads for %u axes", (unsigned)count, (unsigned)wanted);
    for (uint8_t i = 0; i < x->rank; i++)
        before[i] = after[i] = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        const uint8_t axis = firnc_onnx_axis(im, axes == NULL ? i : axes[i], x->rank);
        if (im->failed)
            return false;
        before[axis] = pads[i];
        after[axis] = pads[wanted + i];
        if (before[axis] < -INT32_MAX || before[axis] > INT32_MAX || after[axis] < -INT32_MAX ||
            after[axis] > INT32_MAX || x->dims[axis] + before[axis] + after[axis] < 0 ||
            (x->dims[axis] == 0 && (*mode)[0] != 'c'))
            return firnc_onnx_fail(im, "pads %lld elements by %lld and %lld", (long long)x->dims[axis],
                                   (long long)before[axis], (long long)after[axis]);
    }
    return true;
}

bool firnc_onnx_parts(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *axis, int64_t *sizes) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count;
    *axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    if (im->failed || !firnc_onnx_list(im, node, 1, "sizes", &list, &count))
        return false;
    const bool listed = count != FIRNC_NONE;
    const int64_t parts = listed ? count : firnc_onnx_integer(node, "num_outputs", node->output_count);
    if (parts < 1 || parts > FIRNC_ONNX_OPERANDS_MAX || parts < node->output_count)
        return firnc_onnx_fail(im, "makes %lld parts", (long long)parts);
    const int64_t equal = (x->dims[*axis] + parts - 1) / parts;
    int64_t left = x->dims[*axis];
    for (uint32_t i = 0; i < node->output_count; i++) {
        sizes[i] = listed ? list[i] : equal < left ? equal : left;
        if (sizes[i] < 0 || sizes[i] > left)
            return firnc_onnx_fail(im, "has a part of %lld of the %lld elements", (long long)sizes[i],
                                   (long long)x->dims[*axis]);
        left -= sizes[i];
    }
    return !listed || (left == 0 && count == node->output_count) ||
           firnc_onnx_fail(im, "has sizes that are not one for each output, or not %lld elements together",
                           (long long)x->dims[*axis]);
}

bool firnc_onnx_gathered(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *axis, uint8_t *rank,
                         int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    *axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    if (im->failed)
        return false;
    if (x->rank + ids->rank > FIRN_RANK_MAX + 1)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    *rank = (uint8_t)(x->rank + ids->rank - 1);
    for (uint8_t i = 0; i < *rank; i++)
        dims[i] = i < *axis ? x->dims[i] : i < *axis + ids->rank ? ids->dims[i - *axis] : x->dims[i - ids->rank + 1];
    return true;
}

bool firnc_onnx_gathered_nd(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *shared, uint8_t *named,
                            uint8_t *rank, int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    const int64_t batch = firnc_onnx_integer(node, "batch_dims", 0),
                  each = ids->rank == 0 ? 0 : ids->dims[ids->rank - 1];
    if (firnc_onnx_is_real(ids->type))
        return firnc_onnx_fail(im, "its indices are of the type %s; cast them to int64",
                               firnc_onnx_type_word(ids->type));
    if (batch < 0 || batch >= ids->rank || each < 1 || batch + each > x->rank)
        return firnc_onnx_fail(im, "has rows of %lld indices behind %lld axes, and its operand has %u axes",
                               (long long)each, (long long)batch, (unsigned)x->rank);
    for (uint8_t i = 0; i < batch; i++)
        if (ids->dims[i] != x->dims[i])
            return firnc_onnx_fail(im, "has indices for %lld of the %lld elements of its axis %u",
                                   (long long)ids->dims[i], (long long)x->dims[i], (unsigned)i);
    if (ids->rank - 1 + x->rank - batch - each > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
    *shared = (uint8_t)batch;
    *named = (uint8_t)each;
    *rank = 0;
    for (uint8_t i = 0; i + 1 < ids->rank; i++)
        dims[(*rank)++] = ids->dims[i];
    for (uint8_t i = (uint8_t)(batch + each); i < x->rank; i++)
        dims[(*rank)++] = x->dims[i];
    return true;
}

/* --- whole axes --------------------------------------------------------------------------------------------------- */

bool firnc_onnx_reduced(firnc_onnx_importer *im, const firnc_onnx_node *node, uint32_t *axes, bool *none) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count = firnc_onnx_integers(node, "axes", &list);
    if (count == 0 && !firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return false;
    const bool all = count == 0 || count == FIRNC_NONE;
    *none = all && firnc_onnx_integer(node, "noop_with_empty_axes", 0) != 0;
    *axes = 0;
    for (uint32_t i = 0; i < (all ? x->rank : count); i++)
        *axes |= UINT32_C(1) << firnc_onnx_axis(im, all ? i : list[i], x->rank);
    return !im->failed;
}
