/* Constants and sizes, and ops that give the same elements another shape or order of axes. */
#include <string.h>

#include "compiler/onnx/import.h"

/* --- constants and sizes ------------------------------------------------------------------------------------------ */

bool firnc_onnx_import_only_known(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    (void)node;
    return firnc_onnx_fail(
        im, "depends on the data, and Firn computes it from constants and sizes only; make its inputs constants, "
            "or write the module with other ops");
}

bool firnc_onnx_import_constant(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const FirncOnnx__Attribute *a;
    firnc_onnx_tensor *made = NULL;
    if ((a = firnc_onnx_attribute(node, "value")) != NULL && a->t != NULL) {
        firnc_onnx_set_known(node->outputs[0], firnc_onnx_tensor_read(im, a->t, "of its value"));
        firnc_onnx_add_constant(im, node, node->outputs[0]);
        return !im->failed;
    }
    if ((a = firnc_onnx_attribute(node, "sparse_value")) != NULL && a->sparse_tensor != NULL) {
        firnc_onnx_set_known(node->outputs[0],
                             firnc_onnx_tensor_read_sparse(im, a->sparse_tensor, "of its sparse_value"));
        return !im->failed;
    }
    if ((a = firnc_onnx_attribute(node, "value_float")) != NULL)
        made = firnc_onnx_tensor_scalar(im, FIRNC_ONNX_FLOAT, (double)a->f);
    else if ((a = firnc_onnx_attribute(node, "value_int")) != NULL) {
        made = firnc_onnx_tensor_new(im, FIRNC_ONNX_INT64, 0, NULL);
        if (made != NULL) /* not through double, which has no room for all of its digits */
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
    firnc_onnx_add_constant(im, node, node->outputs[0]);
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
        if (x->rank != 2 || !firnc_onnx_is_type(type))
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
        y->parameter = NULL;
        firnc_onnx_identity(y->order);
        if (!firnc_onnx_is_never_trained(im, y->name))
            firnc_onnx_parameter_new(im, y, y->name);
    }
    return true;
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

/* The axes that Unsqueeze makes: the new ones in front of those that are there. */
static void with_ones(const firnc_onnx_value *x, uint8_t wide, uint32_t ones, uint8_t *order, int64_t *dims) {
    uint8_t number[FIRN_RANK_MAX] = {0}, olds = 0, at = 0;
    for (uint8_t i = 0; i < wide; i++)
        if ((ones >> i & 1) != 0) {
            dims[at] = 1;
            order[at++] = i;
        } else {
            number[olds++] = i;
        }
    for (uint8_t i = 0; i < x->rank; i++) {
        dims[at] = x->dims[x->order[i]];
        order[at++] = number[x->order[i]];
    }
}

/* Extents of 1 come or go; the others stay where they stand. */
bool firnc_onnx_import_squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0], *y = node->outputs[0];
    uint8_t order[FIRN_RANK_MAX], rank;
    uint32_t ones;
    int64_t dims[FIRN_RANK_MAX];
    const firnc_value raw = firnc_onnx_raw(im, x);
    if (im->failed || !firnc_onnx_squeezed(im, node, &rank, &ones))
        return false;
    if (strcmp(node->op, "Squeeze") == 0)
        rank = firnc_onnx_axes_without(x, ones, order, dims);
    else
        with_ones(x, rank, ones, order, dims);
    firnc_onnx_set_ordered(im, y, firnc_onnx_reshape(im, raw, rank, dims), x->type, rank, order);
    if (y != NULL && firnc_onnx_is_identity(y->order, rank))
        y->plain = y->value;
    return !im->failed;
}

bool firnc_onnx_import_reshape(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    uint8_t rank = 2;
    int64_t dims[FIRN_RANK_MAX];
    if (strcmp(node->op, "Flatten") == 0 ? !firnc_onnx_flattened(im, node, dims)
                                         : !firnc_onnx_reshaped(im, node, &rank, dims))
        return false;
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, firnc_onnx_plain(im, x), rank, dims), x->type, rank);
    return !im->failed;
}

bool firnc_onnx_import_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const firnc_onnx_value *x = node->inputs[0];
    firnc_onnx_value *y = node->outputs[0];
    uint8_t order[FIRN_RANK_MAX], place[FIRN_RANK_MAX] = {0};
    if (!firnc_onnx_transposed(im, node, order))
        return false;
    for (uint8_t i = 0; i < x->rank; i++)
        place[order[i]] = i;
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
