/* Ops that move elements: shapes, orders of axes, parts, tables. Shapes must be known; indices may come from the data.
 */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import.h"

/* --- constants and sizes ------------------------------------------------------------------------------------------ */

bool firnc_onnx_import_only_known(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    (void)node;
    return firnc_onnx_fail(im, "depends on the data, and Firn computes it from constants and sizes only");
}

bool firnc_onnx_import_constant(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const FirncOnnx__Attribute *a;
    firnc_onnx_tensor *made = NULL;
    if ((a = firnc_onnx_attribute(node, "value")) != NULL && a->t != NULL) {
        firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_read(im, a->t, "of its value"));
        return !im->failed;
    }
    if ((a = firnc_onnx_attribute(node, "value_float")) != NULL)
        made = firnc_onnx_tensor_scalar(im, FIRNC_ONNX_FLOAT, (double)a->f);
    else if ((a = firnc_onnx_attribute(node, "value_int")) != NULL) {
        made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 0, NULL);
        made->wholes[0] = a->i;
    } else if ((a = firnc_onnx_attribute(node, "value_floats")) != NULL) {
        made = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, (int64_t[]){(int64_t)a->n_floats});
        for (size_t i = 0; made != NULL && i < a->n_floats; i++)
            made->reals[i] = a->floats[i];
    } else if ((a = firnc_onnx_attribute(node, "value_ints")) != NULL) {
        made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, (int64_t[]){(int64_t)a->n_ints});
        for (size_t i = 0; made != NULL && i < a->n_ints; i++)
            made->wholes[i] = a->ints[i];
    } else {
        return firnc_onnx_fail(im, "has no value");
    }
    firnc_onnx_set_known(node->outputs[0], made);
    return !im->failed;
}

/* Shape, Size and EyeLike: what only the extents of an operand say. */
bool firnc_onnx_import_shape(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_value *x = node->inputs[0];
    firnc_onnx_tensor *made;
    if (strcmp(node->op, "Size") == 0) {
        made = firnc_onnx_tensor_scalar(im, FIRNC_ONNX_INT64, (double)firnc_onnx_count(x));
    } else if (strcmp(node->op, "EyeLike") == 0) {
        const int64_t shift = firnc_onnx_integer(node, "k", 0), type = firnc_onnx_integer(node, "dtype", x->type);
        if (x->rank != 2 || type < 1 || type > FIRNC_ONNX_BFLOAT16 || type == 8 || type == 14 || type == 15)
            return firnc_onnx_fail(im, "takes a matrix, and a dtype such as float");
        made = firnc_onnx_tensor_new(im, (uint8_t)type, 2, x->dims);
        for (uint64_t i = 0; made != NULL && i < made->count; i++)
            firnc_onnx_put(made, i, (int64_t)i % x->dims[1] - (int64_t)i / x->dims[1] == shift);
    } else {
        int64_t first = firnc_onnx_integer(node, "start", 0), end = firnc_onnx_integer(node, "end", x->rank);
        first = first < 0 ? first + x->rank : first;
        end = end < 0 ? end + x->rank : end;
        first = first < 0 ? 0 : first > x->rank ? x->rank : first;
        end = end < first ? first : end > x->rank ? x->rank : end;
        made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, (int64_t[]){end - first});
        for (int64_t i = first; made != NULL && i < end; i++)
            made->wholes[i - first] = x->dims[i];
    }
    firnc_onnx_set_known(node->outputs[0], made);
    return !im->failed;
}

/* Copies of one tensor that exporters write as one are parameters of their own (import.c). */
bool firnc_onnx_import_identity(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_value *x = node->inputs[0];
    firnc_onnx_value *y = node->outputs[0];
    firnc_onnx_alias(y, x);
    if (y != NULL && x->parameter != NULL && !im->options->bare && strchr(y->name, '.') != NULL &&
        firnc_onnx_is_uniform(x->parameter->tensor) && x->known == x->parameter->tensor) {
        y->value = y->plain = FIRNC_NONE;
        firnc_onnx_identity(y->order);
        firnc_onnx_parameter_new(im, y, y->name);
    }
    return true;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

/* The extents that Reshape asks for. */
static bool reshaped(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t *rank, int64_t *dims) {
    const firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count;
    uint64_t left = firnc_onnx_count(x);
    int rest = -1;
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return false;
    if (count > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
    *rank = (uint8_t)count;
    for (uint8_t i = 0; i < count; i++) {
        dims[i] = list[i];
        if (list[i] == 0 && firnc_onnx_integer(node, "allowzero", 0) == 0 && i < x->rank)
            dims[i] = x->dims[i];
        if (dims[i] == -1 && rest < 0)
            rest = i;
        else if (dims[i] < 1 || left % (uint64_t)dims[i] != 0)
            return firnc_onnx_fail(im, "cannot give %llu elements the extent %lld",
                                   (unsigned long long)firnc_onnx_count(x), (long long)dims[i]);
        else
            left /= (uint64_t)dims[i];
    }
    if (rest >= 0)
        dims[rest] = (int64_t)left;
    return rest >= 0 || left == 1 || firnc_onnx_fail(im, "has other extents than its operand has elements for");
}

/* The axes that Squeeze or Unsqueeze names, as a bit mask over `rank` dimensions. */
static bool named_axes(firnc_onnx_importer *im, const firnc_onnx_node *node, uint8_t rank, uint32_t *mask) {
    const int64_t *list;
    uint32_t count;
    *mask = 0;
    if (!firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return false;
    for (uint32_t i = 0; count != FIRNC_NONE && i < count; i++) {
        const uint32_t bit = UINT32_C(1) << firnc_onnx_axis(im, list[i], rank);
        if ((*mask & bit) != 0)
            return firnc_onnx_fail(im, "names an axis twice");
        *mask |= bit;
    }
    return !im->failed;
}

/* Extents of 1 come or go; the others stay where they stand. */
static bool squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const bool drop = node->op[0] == 'S';
    uint32_t mask = 0, count;
    const int64_t *list;
    uint8_t order[FIRN_RANK_MAX], from[FIRN_RANK_MAX], to[FIRN_RANK_MAX], rank = 0;
    int64_t dims[FIRN_RANK_MAX];
    if (!firnc_onnx_list(im, node, 1, "axes", &list, &count))
        return false;
    const uint32_t wide = drop ? x->rank : x->rank + (count == FIRNC_NONE ? 0 : count);
    if (wide > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
    if (!named_axes(im, node, (uint8_t)wide, &mask))
        return false;
    for (uint8_t i = 0; drop && count == FIRNC_NONE && i < x->rank; i++)
        mask |= x->dims[i] == 1 ? UINT32_C(1) << i : 0;
    /* the axes that both shapes have: from[i] of the narrow one is to[i] of the wide one */
    for (uint8_t i = 0; i < wide; i++)
        if ((mask >> i & 1) == 0) {
            to[rank] = i;
            from[rank] = rank;
            rank++;
        } else if (drop && x->dims[i] != 1) {
            return firnc_onnx_fail(im, "drops an axis of %lld elements", (long long)x->dims[i]);
        }
    (void)from;
    uint8_t at = 0;
    const firnc_value raw = firnc_onnx_raw(im, x);
    if (drop) {
        for (uint8_t i = 0; i < x->rank; i++)
            for (uint8_t j = 0; j < rank; j++)
                if (to[j] == x->order[i]) {
                    dims[at] = x->dims[x->order[i]];
                    order[at++] = j;
                }
    } else {
        for (uint8_t i = 0; i < wide; i++)
            if ((mask >> i & 1) != 0) {
                dims[at] = 1;
                order[at++] = i;
            }
        for (uint8_t i = 0; i < x->rank; i++) {
            dims[at] = x->dims[x->order[i]];
            order[at++] = to[x->order[i]];
        }
        rank = (uint8_t)wide;
    }
    if (!im->failed)
        firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_reshape(im, raw, rank, dims), x->type, rank, order);
    return !im->failed;
}

/* In the order of the file, for values that stand in it. */
static bool in_file_order(const firnc_onnx_value *x) {
    uint8_t identity[FIRN_RANK_MAX];
    firnc_onnx_identity(identity);
    return memcmp(identity, x->order, x->rank) == 0;
}

bool firnc_onnx_import_reshape(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    uint8_t rank = 2;
    int64_t dims[FIRN_RANK_MAX] = {1, 1};
    if (strcmp(node->op, "Squeeze") == 0 || strcmp(node->op, "Unsqueeze") == 0) {
        if (!squeeze(im, node))
            return false;
        if (node->outputs[0] != NULL && in_file_order(node->outputs[0]))
            node->outputs[0]->plain = node->outputs[0]->value;
        return true;
    }
    if (strcmp(node->op, "Flatten") == 0) {
        const int64_t axis = firnc_onnx_integer(node, "axis", 1);
        const uint8_t cut = axis == x->rank ? x->rank : firnc_onnx_axis(im, axis, x->rank);
        for (uint8_t i = 0; i < x->rank; i++)
            dims[i >= cut] *= x->dims[i];
    } else if (!reshaped(im, node, &rank, dims)) {
        return false;
    }
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, firnc_onnx_plain(im, x), rank, dims), x->type, rank);
    return !im->failed;
}

bool firnc_onnx_import_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_value *x = node->inputs[0];
    firnc_onnx_value *y = node->outputs[0];
    const int64_t *list;
    uint8_t order[FIRN_RANK_MAX], place[FIRN_RANK_MAX] = {0};
    const uint32_t count = firnc_onnx_integers(node, "perm", &list);
    uint32_t seen = 0;
    if (count != 0 && count != x->rank)
        return firnc_onnx_fail(im, "orders %u axes, and its operand has %u", (unsigned)count, (unsigned)x->rank);
    for (uint8_t i = 0; i < x->rank; i++) {
        order[i] = count == 0 ? (uint8_t)(x->rank - 1 - i) : firnc_onnx_axis(im, list[i], x->rank);
        place[order[i]] = i;
        seen |= UINT32_C(1) << order[i];
    }
    if (seen != (UINT32_C(1) << x->rank) - 1)
        return firnc_onnx_fail(im, "its perm does not have each axis once");
    if (y == NULL)
        return true;
    firnc_onnx_alias(y, x);
    y->plain = y->input = FIRNC_NONE;
    y->producer = node; /* patterns take it for no other value than it is */
    if (x->known != NULL)
        firnc_onnx_set_known(y, firnc_onnx_tensor_ordered(x->known, order));
    for (uint8_t i = 0; i < x->rank; i++) {
        y->dims[i] = x->dims[order[i]];
        y->order[i] = place[x->order[i]];
    }
    return !im->failed;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

bool firnc_onnx_import_concat(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_value xs[FIRNC_ONNX_OPERANDS_MAX];
    uint32_t count = 0;
    const firnc_onnx_value *largest = NULL;
    bool wholes = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        firnc_onnx_value *x = node->inputs[i];
        if (x == NULL || x->rank != node->inputs[0]->rank)
            return firnc_onnx_fail(im, "lacks an operand, or they differ in their number of dimensions");
        if (x->value != FIRNC_NONE && (largest == NULL || firnc_onnx_count(x) > firnc_onnx_count(largest)))
            largest = x;
        wholes = wholes && x->value != FIRNC_NONE && firnc_onnx_shape(im, x->value)->type == FIRN_INT32;
    }
    const uint8_t rank = node->inputs[0]->rank, axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), rank);
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_identity(order);
    if (largest != NULL)
        memcpy(order, largest->order, rank);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i]->known == NULL || node->inputs[i]->known->count > 0) {
            const firnc_value x = firnc_onnx_ordered(im, node->inputs[i], rank, order);
            xs[count++] = wholes ? x : firnc_onnx_real(im, x);
        }
    if (count == 0)
        return firnc_onnx_fail(im, "joins tensors without elements");
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_concat(im, xs, count, firnc_onnx_place(order, rank, axis)),
                           node->inputs[0]->type, rank, order);
    return !im->failed;
}

bool firnc_onnx_check_parts(firnc_onnx_importer *im, const firnc_onnx_node *node, int64_t extent) {
    const int64_t *sizes;
    uint32_t count;
    int64_t left = extent;
    if (im->failed || !firnc_onnx_list(im, node, 1, "sizes", &sizes, &count))
        return false;
    for (uint32_t i = 0; count != FIRNC_NONE && i < count && left >= 0; i++)
        left = sizes[i] < 0 || sizes[i] > left ? -1 : left - sizes[i];
    return count == FIRNC_NONE || (left == 0 && count == node->output_count) ||
           firnc_onnx_fail(im, "has sizes that are not one for each output, or not %lld elements together",
                           (long long)extent);
}

bool firnc_onnx_import_split(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const int64_t *list;
    uint32_t count;
    if (!firnc_onnx_list(im, node, 1, "sizes", &list, &count) || im->failed)
        return false;
    const int64_t parts = count != FIRNC_NONE ? count : firnc_onnx_integer(node, "num_outputs", node->output_count);
    if (parts < 1 || parts > FIRNC_ONNX_OPERANDS_MAX || parts < node->output_count)
        return firnc_onnx_fail(im, "makes %lld parts", (long long)parts);
    const int64_t equal = (x->dims[axis] + parts - 1) / parts;
    int64_t first = 0;
    for (uint32_t i = 0; i < node->output_count; i++) {
        int64_t size = count != FIRNC_NONE ? list[i] : equal;
        if (count == FIRNC_NONE && size > x->dims[axis] - first)
            size = x->dims[axis] - first;
        if (size < 0 || size > x->dims[axis] - first)
            return firnc_onnx_fail(im, "has a part of %lld of the %lld elements", (long long)size,
                                   (long long)x->dims[axis]);
        if (size == 0) { /* which Concat may leave out again */
            int64_t dims[FIRN_RANK_MAX];
            memcpy(dims, x->dims, sizeof dims);
            dims[axis] = 0;
            firnc_onnx_set_known(node->outputs[i], firnc_onnx_tensor_new(im, x->type, x->rank, dims));
            continue;
        }
        const firnc_value y =
            firnc_onnx_slice(im, firnc_onnx_raw(im, x), firnc_onnx_place(x->order, x->rank, axis), first, 1, size);
        firnc_onnx_set_ordered(im, node->outputs[i], y, x->type, x->rank, x->order);
        first += size;
    }
    return firnc_onnx_check_parts(im, node, x->dims[axis]);
}

/* A sequence of parts is not there by itself: each part is made where SequenceAt takes it. Until then the sequence is a
 * tensor without elements, which no other op takes. */
bool firnc_onnx_import_split_to_sequence(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    if ((node->input_count < 2 || node->inputs[1] == NULL) && firnc_onnx_integer(node, "keepdims", 1) == 0)
        return firnc_onnx_fail(im, "has keepdims 0; write 1, and Squeeze behind it");
    firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_new(im, node->inputs[0]->type, 1, (int64_t[]){0}));
    return !im->failed;
}

/* The first element and the number of elements of a part, counted from the end if its number is negative. */
static bool part_of_sequence(firnc_onnx_importer *im, const firnc_onnx_node *split, uint8_t axis, int64_t number,
                             int64_t *first, int64_t *size) {
    const int64_t extent = split->inputs[0]->dims[axis], *sizes;
    uint32_t count;
    if (!firnc_onnx_list(im, split, 1, "sizes", &sizes, &count))
        return false;
    const bool listed = count != FIRNC_NONE && split->inputs[1]->rank == 1;
    const int64_t step = count == FIRNC_NONE ? 1 : count > 0 ? sizes[0] : 0;
    if (!listed && step < 1)
        return firnc_onnx_fail(im, "takes a part of %lld elements", (long long)step);
    const int64_t parts = listed ? count : (extent - 1) / step + 1;
    number = number < 0 ? number + parts : number;
    if (number < 0 || number >= parts)
        return firnc_onnx_fail(im, "takes the part %lld of %lld", (long long)number, (long long)parts);
    *first = listed ? 0 : number * step;
    for (int64_t i = 0; listed && i < number; i++)
        if (sizes[i] < 0 || sizes[i] > extent - *first)
            return firnc_onnx_fail(im, "has parts of more elements than its axis");
        else
            *first += sizes[i];
    *size = listed ? sizes[number] : step < extent - *first ? step : extent - *first;
    return (*size >= 1 && *size <= extent - *first) ||
           firnc_onnx_fail(im, "takes a part of %lld of %lld elements", (long long)*size, (long long)extent);
}

bool firnc_onnx_import_sequence_at(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_node *split = node->inputs[0]->producer;
    double number;
    int64_t first = 0, size = 1;
    if (split == NULL || strcmp(split->op, "SplitToSequence") != 0)
        return firnc_onnx_fail(im, "takes from a sequence that SplitToSequence has not made; write Split");
    if (!firnc_onnx_single(node->inputs[1], &number) || !(fabs(number) <= INT32_MAX))
        return firnc_onnx_fail(im, "its position is no constant number; make it one");
    firnc_onnx_value *x = split->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(split, "axis", 0), x->rank);
    if (im->failed || !part_of_sequence(im, split, axis, (int64_t)number, &first, &size))
        return false;
    const firnc_value y =
        firnc_onnx_slice(im, firnc_onnx_raw(im, x), firnc_onnx_place(x->order, x->rank, axis), first, 1, size);
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}

bool firnc_onnx_import_slice(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    int64_t first[FIRN_RANK_MAX], step[FIRN_RANK_MAX], counts[FIRN_RANK_MAX];
    if (!firnc_onnx_slice_bounds(im, node, first, step, counts))
        return false;
    firnc_value y = firnc_onnx_raw(im, x);
    for (uint8_t i = 0; i < x->rank; i++)
        y = firnc_onnx_slice(im, y, firnc_onnx_place(x->order, x->rank, i), first[i], step[i], counts[i]);
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}

/* Takes elements of an axis by a known list. */
static firnc_value pick(firnc_onnx_importer *im, firnc_value x, uint8_t axis, const int64_t *list, int64_t count) {
    firnc_onnx_tensor *ids = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 1, &count);
    if (ids == NULL)
        return FIRNC_NONE;
    memcpy(ids->wholes, list, (size_t)count * sizeof *list);
    return firnc_onnx_gather(im, x, firnc_onnx_constant(im, ids, FIRN_INT32), axis);
}

/* Which element stands at a place before or behind an axis. */
static int64_t reflected(const char *mode, int64_t at, int64_t extent) {
    if (strcmp(mode, "edge") == 0 || extent == 1)
        return at < 0 ? 0 : at >= extent ? extent - 1 : at;
    if (strcmp(mode, "wrap") == 0)
        return (at % extent + extent) % extent;
    const int64_t period = 2 * (extent - 1);
    const int64_t folded = (at % period + period) % period;
    return folded < extent ? folded : period - folded;
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
        firnc_onnx_fail(im, "pads by %lld and %lld elements", (long long)before, (long long)after);
        return FIRNC_NONE;
    }
    int64_t *list = firnc_allocate((uint64_t)count * sizeof *list);
    for (int64_t i = 0; i < count; i++)
        list[i] = reflected(mode, i - before, extent);
    return pick(im, y, axis, list, count);
}

bool firnc_onnx_import_pad(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const char *mode = firnc_onnx_text(node, "mode", "constant");
    const int64_t *pads, *axes;
    uint32_t count, axis_count;
    double value = 0;
    if (strcmp(mode, "constant") != 0 && strcmp(mode, "edge") != 0 && strcmp(mode, "reflect") != 0 &&
        strcmp(mode, "wrap") != 0)
        return firnc_onnx_fail(im, "has mode %s; constant, edge, reflect and wrap are known", mode);
    if (!firnc_onnx_list(im, node, 1, "pads", &pads, &count) ||
        !firnc_onnx_list(im, node, 3, "axes", &axes, &axis_count))
        return false;
    const uint32_t wanted = axis_count == FIRNC_NONE ? x->rank : axis_count;
    if (count != 2 * wanted)
        return firnc_onnx_fail(im, "has %u pads for %u axes", (unsigned)count, (unsigned)wanted);
    if (node->input_count > 2 && node->inputs[2] != NULL && !firnc_onnx_single(node->inputs[2], &value))
        return firnc_onnx_fail(im, "its value depends on the data; make it a constant");
    firnc_value y = firnc_onnx_real(im, firnc_onnx_raw(im, x));
    for (uint32_t i = 0; i < wanted && !im->failed; i++) {
        const uint8_t axis = firnc_onnx_axis(im, axes == NULL ? i : axes[i], x->rank);
        if (pads[i] < -INT32_MAX || pads[i] > INT32_MAX || pads[wanted + i] < -INT32_MAX ||
            pads[wanted + i] > INT32_MAX)
            return firnc_onnx_fail(im, "pads by %lld and %lld elements", (long long)pads[i],
                                   (long long)pads[wanted + i]);
        y = pad_axis(im, mode, y, firnc_onnx_place(x->order, x->rank, axis), pads[i], pads[wanted + i], (float)value);
    }
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}

bool firnc_onnx_import_expand(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX];
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return false;
    const uint8_t rank = count > x->rank ? (uint8_t)count : x->rank;
    if (count > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
    for (uint8_t i = 0; i < rank; i++) {
        const int64_t own = i < rank - x->rank ? 1 : x->dims[i - (rank - x->rank)];
        const int64_t other = i < rank - count ? 1 : list[i - (rank - count)];
        if (own != other && own != 1 && other != 1)
            return firnc_onnx_fail(im, "cannot repeat %lld elements to %lld", (long long)own, (long long)other);
        dims[i] = own == 1 ? other : own;
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
    firnc_value y = firnc_onnx_plain(im, x);
    for (uint8_t i = 0; i < x->rank; i++) {
        if (list[i] < 1 || list[i] > INT32_MAX)
            return firnc_onnx_fail(im, "repeats an axis %lld times", (long long)list[i]);
        y = repeat(im, y, i, list[i]);
    }
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

/* Tokens are below the rows of every table that they select from. */
static void lower_limit(firnc_onnx_importer *im, firnc_value input, int64_t rows) {
    firnc_value_info *info = &im->graph->values[input];
    if (rows >= info->source->limit)
        return;
    firnc_input_options *source = firnc_allocate(sizeof *source);
    *source = *info->source;
    source->limit = (uint32_t)rows;
    info->source = source;
}

/* Indices into an axis: of whole numbers, and those that are known within it. What the data gives is checked or brought
 * into it when the plan runs. */
static bool check_indices(firnc_onnx_importer *im, const firnc_onnx_value *ids, int64_t extent) {
    if (firnc_onnx_is_real(ids->type))
        return firnc_onnx_fail(im, "its indices are of the type %s; cast them to int64",
                               firnc_onnx_type_word(ids->type));
    for (uint64_t i = 0; ids->known != NULL && i < ids->known->count; i++)
        if (ids->known->wholes[i] < -extent || ids->known->wholes[i] >= extent)
            return firnc_onnx_fail(im, "takes element %lld of %lld", (long long)ids->known->wholes[i],
                                   (long long)extent);
    return true;
}

bool firnc_onnx_import_gather(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const uint8_t rank = (uint8_t)(x->rank + ids->rank - 1);
    int64_t dims[FIRN_RANK_MAX];
    double number;
    if (im->failed || !check_indices(im, ids, x->dims[axis]))
        return false;
    if (x->rank + ids->rank > FIRN_RANK_MAX + 1)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
    if (ids->input != FIRNC_NONE && x->rank == 2 && axis == 0 && x->parameter != NULL && ids->rank > 0) {
        lower_limit(im, ids->input, x->dims[0]);
        firnc_onnx_set(im, node->outputs[0],
                       firnc_onnx_made(im, firnc_embedding(im->graph, ids->input, firnc_onnx_plain(im, x))), x->type,
                       rank);
        return !im->failed;
    }
    for (uint8_t i = 0; i < rank; i++)
        dims[i] = i < axis ? x->dims[i] : i < axis + ids->rank ? ids->dims[i - axis] : x->dims[i - ids->rank + 1];
    firnc_value y;
    if (ids->rank == 0 && firnc_onnx_single(ids, &number)) {
        const int64_t at = firnc_onnx_truncated(number) < 0 ? firnc_onnx_truncated(number) + x->dims[axis]
                                                            : firnc_onnx_truncated(number);
        y = firnc_onnx_slice(im, firnc_onnx_plain(im, x), axis, at, 1, 1);
    } else {
        y = firnc_onnx_gather(im, firnc_onnx_plain(im, x), firnc_onnx_indices(im, ids), axis);
    }
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, y, rank, dims), x->type, rank);
    return !im->failed;
}

bool firnc_onnx_import_gather_elements(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *ids = node->inputs[1];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    const firnc_value data = firnc_onnx_plain(im, x), indices = firnc_onnx_indices(im, ids);
    if (im->failed || !check_indices(im, ids, x->dims[axis]))
        return false;
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_made(im, firnc_gather_elements(im->graph, data, indices, axis)),
                   x->type, x->rank);
    return !im->failed;
}

/* The last axis of the indices has a place in each of the first axes of the data. */
static bool check_places(firnc_onnx_importer *im, const firnc_onnx_value *x, const firnc_onnx_value *ids) {
    const int64_t each = ids->rank == 0 ? 0 : ids->dims[ids->rank - 1];
    if (firnc_onnx_is_real(ids->type) || each < 1 || each > x->rank)
        return firnc_onnx_fail(im, "its indices are no whole numbers, one for each of the first axes");
    for (uint64_t i = 0; ids->known != NULL && i < ids->known->count; i++) {
        const int64_t extent = x->dims[i % (uint64_t)each], at = ids->known->wholes[i];
        if (at < -extent || at >= extent)
            return firnc_onnx_fail(im, "changes element %lld of %lld", (long long)at, (long long)extent);
    }
    return true;
}

bool firnc_onnx_import_scatter_nd(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const char *reduction = firnc_onnx_text(node, "reduction", "none");
    if (strcmp(reduction, "none") != 0 && strcmp(reduction, "add") != 0)
        return firnc_onnx_fail(im, "has reduction %s; none and add are known", reduction);
    const firnc_value data = firnc_onnx_real(im, firnc_onnx_plain(im, x)),
                      ids = firnc_onnx_indices(im, node->inputs[1]);
    const firnc_value updates = firnc_onnx_real(im, firnc_onnx_plain(im, node->inputs[2]));
    if (im->failed || !check_places(im, x, node->inputs[1]))
        return false;
    firnc_onnx_set(im, node->outputs[0],
                   firnc_onnx_made(im, firnc_scatter_nd(im->graph, data, ids, updates, reduction[0] == 'a')), x->type,
                   x->rank);
    return !im->failed;
}

/* --- masks -------------------------------------------------------------------------------------------------------- */

bool firnc_onnx_import_trilu(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    double diagonal = 0;
    const bool upper = firnc_onnx_integer(node, "upper", 1) != 0;
    if (x->rank < 2)
        return firnc_onnx_fail(im, "takes matrices");
    if (node->input_count > 1 && node->inputs[1] != NULL && !firnc_onnx_single(node->inputs[1], &diagonal))
        return firnc_onnx_fail(im, "its diagonal depends on the data; make it a constant");
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    firnc_onnx_tensor *mask = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 2, (int64_t[]){rows, columns});
    for (uint64_t i = 0; mask != NULL && i < mask->count; i++) {
        const double beyond = (double)((int64_t)i % columns - (int64_t)i / columns) - diagonal;
        mask->reals[i] = upper ? beyond >= 0 : beyond <= 0;
    }
    const firnc_value y = firnc_onnx_select(im, firnc_onnx_constant(im, mask, FIRN_FLOAT32),
                                            firnc_onnx_real(im, firnc_onnx_plain(im, x)), firnc_onnx_scalar(im, 0));
    firnc_onnx_set(im, node->outputs[0], y, x->type, x->rank);
    return !im->failed;
}

bool firnc_onnx_import_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *ids = node->inputs[0];
    const firnc_onnx_value *values = node->inputs[2];
    double depth;
    if (!firnc_onnx_single(node->inputs[1], &depth) || !(depth >= 1 && depth < 16777216) ||
        !firnc_onnx_is_constant(values) || values->known->count != 2)
        return firnc_onnx_fail(im, "its depth and its two values are no constants");
    if (ids->rank + 1 > FIRN_RANK_MAX)
        return firnc_onnx_fail(im, "makes more than %d dimensions", FIRN_RANK_MAX);
    const uint8_t rank = (uint8_t)(ids->rank + 1),
                  axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), rank);
    int64_t dims[FIRN_RANK_MAX];
    uint8_t order[FIRN_RANK_MAX];
    firnc_onnx_tensor *classes = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, 1, (int64_t[]){(int64_t)depth});
    for (uint64_t i = 0; classes != NULL && i < classes->count; i++)
        classes->reals[i] = (float)i;
    memcpy(dims, ids->dims, sizeof dims);
    dims[rank - 1] = 1;
    firnc_value x = firnc_onnx_reshape(im, firnc_onnx_real(im, firnc_onnx_plain(im, ids)), rank, dims);
    /* from -depth on they count from the end */
    x = firnc_onnx_binary(
        im, FIRN_OP_add, x,
        firnc_onnx_affine(im, firnc_onnx_binary(im, FIRN_OP_less, x, firnc_onnx_scalar(im, 0)), (float)depth, 0));
    const float off = (float)firnc_onnx_number(values->known, 0), on = (float)firnc_onnx_number(values->known, 1);
    const firnc_value hot = firnc_onnx_binary(im, FIRN_OP_equal, x, firnc_onnx_constant(im, classes, FIRN_FLOAT32));
    firnc_onnx_axis_last(rank, axis, order);
    firnc_onnx_set_ordered(im, node->outputs[0],
                           firnc_onnx_select(im, hot, firnc_onnx_scalar(im, on), firnc_onnx_scalar(im, off)),
                           values->type, rank, order);
    return !im->failed;
}

/* --- images ------------------------------------------------------------------------------------------------------- */

/* How Resize places the elements of one axis. */
typedef struct scaling {
    const char *transformation, *nearest;
    double scale; /* new elements for an old one */
    int64_t from, to;
} scaling;

/* The place of a new element among the old ones. ONNX takes the extent before it is rounded down for align_corners. */
static double source_of(const scaling *s, int64_t at) {
    const double x = (double)at, from = (double)s->from, to = (double)s->to;
    const double exact = fabs(s->scale * from - to) < 1e-6 * to ? to : s->scale * from;
    if (strcmp(s->transformation, "align_corners") == 0)
        return exact == 1 ? 0 : x * (from - 1) / (exact - 1);
    if (strcmp(s->transformation, "asymmetric") == 0)
        return x / s->scale;
    if (strcmp(s->transformation, "pytorch_half_pixel") == 0)
        return s->to == 1 ? 0 : (x + 0.5) / s->scale - 0.5;
    if (strcmp(s->transformation, "half_pixel_symmetric") == 0) {
        const double adjustment = to / (s->scale * from), centre = from / 2;
        return centre * (1 - adjustment) + (x + 0.5) / s->scale - 0.5;
    }
    return (x + 0.5) / s->scale - 0.5;
}

static int64_t within(double x, int64_t extent) {
    return x < 0 ? 0 : x > (double)(extent - 1) ? extent - 1 : (int64_t)x;
}

static int64_t nearest_of(const scaling *s, double x) {
    if (strcmp(s->nearest, "floor") == 0)
        x = floor(x);
    else if (strcmp(s->nearest, "ceil") == 0)
        x = ceil(x);
    else if (strcmp(s->nearest, "round_prefer_ceil") == 0)
        x = floor(x + 0.5);
    else
        x = ceil(x - 0.5);
    return within(x, s->from);
}

static firnc_value nearest_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    int64_t *list = firnc_allocate((uint64_t)s->to * sizeof *list);
    for (int64_t i = 0; i < s->to; i++)
        list[i] = nearest_of(s, source_of(s, i));
    return pick(im, y, axis, list, s->to);
}

/* Between two neighbours by their distances. */
static firnc_value linear_axis(firnc_onnx_importer *im, firnc_value y, uint8_t axis, const scaling *s) {
    int64_t *low = firnc_allocate((uint64_t)s->to * sizeof *low),
            *high = firnc_allocate((uint64_t)s->to * sizeof *high);
    int64_t dims[FIRN_RANK_MAX];
    const uint8_t behind = im->failed ? 1 : (uint8_t)(firnc_onnx_shape(im, y)->rank - axis);
    for (uint8_t i = 0; i < behind; i++)
        dims[i] = i == 0 ? s->to : 1;
    firnc_onnx_tensor *share = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, behind, dims),
                      *rest = firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, behind, dims);
    if (share == NULL || rest == NULL)
        return FIRNC_NONE;
    for (int64_t i = 0; i < s->to; i++) {
        double x = source_of(s, i);
        x = x < 0 ? 0 : x > (double)(s->from - 1) ? (double)(s->from - 1) : x;
        low[i] = within(floor(x), s->from);
        high[i] = within(floor(x) + 1, s->from);
        share->reals[i] = (float)(x - floor(x));
        rest->reals[i] = (float)(1 - (x - floor(x)));
    }
    const firnc_value a = firnc_onnx_binary(im, FIRN_OP_multiply, pick(im, y, axis, low, s->to),
                                            firnc_onnx_constant(im, rest, FIRN_FLOAT32));
    const firnc_value b = firnc_onnx_binary(im, FIRN_OP_multiply, pick(im, y, axis, high, s->to),
                                            firnc_onnx_constant(im, share, FIRN_FLOAT32));
    return firnc_onnx_binary(im, FIRN_OP_add, a, b);
}

/* The new extents and the scales of all axes. */
static bool resized(firnc_onnx_importer *im, const firnc_onnx_node *node, scaling *axes) {
    const firnc_onnx_value *x = node->inputs[0];
    const firnc_onnx_value *scales = node->input_count > 2 ? node->inputs[2] : NULL;
    const firnc_onnx_value *sizes = node->input_count > 3 ? node->inputs[3] : NULL;
    const int64_t *list;
    const uint32_t named = firnc_onnx_integers(node, "axes", &list), count = named > 0 ? named : x->rank;
    const firnc_onnx_value *from = sizes != NULL ? sizes : scales;
    if (from == NULL || from->known == NULL || from->known->count != count)
        return firnc_onnx_fail(im, "its scales or sizes are no constants, one for each axis");
    for (uint8_t i = 0; i < x->rank; i++)
        axes[i] = (scaling){firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel"),
                            firnc_onnx_text(node, "nearest_mode", "round_prefer_floor"), 1, x->dims[i], x->dims[i]};
    for (uint32_t i = 0; i < count; i++) {
        scaling *s = &axes[firnc_onnx_axis(im, named > 0 ? list[i] : i, x->rank)];
        const double number = firnc_onnx_number(from->known, i);
        if (!(number > 0 && number < 1e6))
            return firnc_onnx_fail(im, "has a scale or size of %g", number);
        s->scale = sizes != NULL ? number / (double)s->from : number;
        s->to = sizes != NULL ? firnc_onnx_truncated(number) : (int64_t)floor(number * (double)s->from);
        if (s->to < 1 || s->to > FIRNC_ONNX_LIST_MAX)
            return firnc_onnx_fail(im, "makes an axis of %lld elements", (long long)s->to);
    }
    return !im->failed;
}

bool firnc_onnx_import_resize(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    static const char *const transformations[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                  "align_corners", "asymmetric"};
    firnc_onnx_value *x = node->inputs[0];
    scaling axes[FIRN_RANK_MAX];
    const char *mode = firnc_onnx_text(node, "mode", "nearest");
    const bool linear = strcmp(mode, "linear") == 0;
    bool known = false;
    if (!linear && strcmp(mode, "nearest") != 0)
        return firnc_onnx_fail(im, "has mode %s; nearest and linear are known", mode);
    if (firnc_onnx_integer(node, "antialias", 0) != 0 || firnc_onnx_integer(node, "exclude_outside", 0) != 0)
        return firnc_onnx_fail(im, "has antialias or exclude_outside, which Firn does not have; leave them out");
    if (strcmp(firnc_onnx_text(node, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        return firnc_onnx_fail(im, "has a keep_aspect_ratio_policy; stretch is known");
    const char *transformation = firnc_onnx_text(node, "coordinate_transformation_mode", "half_pixel");
    for (size_t i = 0; i < sizeof transformations / sizeof transformations[0]; i++)
        known = known || strcmp(transformation, transformations[i]) == 0;
    if (!known)
        return firnc_onnx_fail(im, "has coordinate_transformation_mode %s; the nearest known one is half_pixel",
                               transformation);
    const char *nearest = firnc_onnx_text(node, "nearest_mode", "round_prefer_floor");
    if (!firnc_onnx_is_listed("round_prefer_floor round_prefer_ceil floor ceil", nearest))
        return firnc_onnx_fail(
            im, "has nearest_mode %s; round_prefer_floor, round_prefer_ceil, floor and ceil are known", nearest);
    if (!resized(im, node, axes))
        return false;
    firnc_value y = firnc_onnx_raw(im, x);
    for (uint8_t i = 0; i < x->rank; i++)
        if (axes[i].scale != 1 || axes[i].to != axes[i].from) {
            const uint8_t place = firnc_onnx_place(x->order, x->rank, i);
            y = linear ? linear_axis(im, y, place, &axes[i]) : nearest_axis(im, y, place, &axes[i]);
        }
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, x->order);
    return !im->failed;
}

/* Blocks of an image as channels, or channels as blocks. */
bool firnc_onnx_import_depth(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const int64_t b = firnc_onnx_integer(node, "blocksize", 0);
    const bool to_space = node->op[0] == 'D';
    const char *mode = firnc_onnx_text(node, "mode", "DCR");
    const bool columns_first = strcmp(mode, "CRD") == 0;
    if (!firnc_onnx_is_listed("DCR CRD", mode))
        return firnc_onnx_fail(im, "has mode %s; DCR and CRD are known", mode);
    if (x->rank != 4 || b < 1 || b > UINT16_MAX ||
        (to_space ? x->dims[1] % (b * b) != 0 : x->dims[2] % b != 0 || x->dims[3] % b != 0))
        return firnc_onnx_fail(im, "takes images whose channels, or rows and columns, are a multiple of its blocksize");
    const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
    firnc_value y = firnc_onnx_plain(im, x);
    if (to_space) {
        const int64_t depth = c / (b * b);
        y = columns_first ? firnc_onnx_reshape(im, y, 6, (int64_t[]){n, depth, b, b, h, w})
                          : firnc_onnx_reshape(im, y, 6, (int64_t[]){n, b, b, depth, h, w});
        y = firnc_onnx_transpose(
            im, y, columns_first ? (const uint8_t[]){0, 1, 4, 2, 5, 3} : (const uint8_t[]){0, 3, 4, 1, 5, 2});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, depth, h * b, w * b});
    } else {
        y = firnc_onnx_reshape(im, y, 6, (int64_t[]){n, c, h / b, b, w / b, b});
        y = firnc_onnx_transpose(im, y, (const uint8_t[]){0, 3, 5, 1, 2, 4});
        y = firnc_onnx_reshape(im, y, 4, (int64_t[]){n, c * b * b, h / b, w / b});
    }
    firnc_onnx_set(im, node->outputs[0], y, x->type, 4);
    return !im->failed;
}
