/* Computes nodes that move or make elements which are all known (compiler/onnx/fold.h). */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

/* --- layout ------------------------------------------------------------------------------------------------------- */

const firnc_onnx_tensor *firnc_onnx_fold_reshape(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    uint8_t rank;
    int64_t dims[FIRN_RANK_MAX];
    return firnc_onnx_reshaped(im, node, &rank, dims) ? firnc_onnx_tensor_shaped(x, rank, dims) : NULL;
}

const firnc_onnx_tensor *firnc_onnx_fold_flatten(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    int64_t dims[2];
    return firnc_onnx_flattened(im, node, dims) ? firnc_onnx_tensor_shaped(x, 2, dims) : NULL;
}

const firnc_onnx_tensor *firnc_onnx_fold_squeeze(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    uint8_t wide, rank = 0, at = 0;
    uint32_t ones;
    int64_t dims[FIRN_RANK_MAX];
    if (!firnc_onnx_squeezed(im, node, &wide, &ones))
        return NULL;
    const bool drops = wide == x->rank;
    for (uint8_t i = 0; i < wide; i++)
        if ((ones >> i & 1) == 0)
            dims[rank++] = x->dims[drops ? i : at++];
        else if (!drops)
            dims[rank++] = 1;
    return firnc_onnx_tensor_shaped(x, rank, dims);
}

const firnc_onnx_tensor *firnc_onnx_fold_transpose(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                   const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    uint8_t order[FIRN_RANK_MAX];
    return firnc_onnx_transposed(im, node, order) ? firnc_onnx_tensor_ordered(x, order) : NULL;
}

const firnc_onnx_tensor *firnc_onnx_fold_concat(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *first = in[0];
    for (uint32_t i = 1; i < node->input_count && first != NULL && first->rank == 1 && first->count == 0; i++)
        first = in[i];
    if (first == NULL) {
        firnc_onnx_fail(im, "lacks an operand");
        return NULL;
    }
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), first->rank);
    int64_t dims[FIRN_RANK_MAX];
    uint64_t outer = 1, at = 0;
    memcpy(dims, first->dims, sizeof dims);
    if (im->failed)
        return NULL;
    dims[axis] = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const firnc_onnx_tensor *x = in[i];
        if (x != NULL && x->rank == 1 && x->count == 0 && first->rank != 1)
            continue; /* PyTorch joins [0] to anything */
        if (x == NULL || x->rank != first->rank || x->type != first->type) {
            firnc_onnx_fail(im, "joins tensors of different kinds");
            return NULL;
        }
        for (uint8_t j = 0; j < x->rank; j++)
            if (j != axis && x->dims[j] != first->dims[j]) {
                firnc_onnx_fail(im, "joins tensors of different extents");
                return NULL;
            }
        dims[axis] += x->dims[axis];
    }
    for (uint8_t i = 0; i < axis; i++)
        outer *= (uint64_t)dims[i];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, first->type, first->rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint32_t i = 0; i < node->input_count; i++) {
            const firnc_onnx_tensor *x = in[i];
            const uint64_t inner = x->count / outer;
            for (uint64_t e = 0; e < inner; e++)
                firnc_onnx_copy_element(made, at++, x, o * inner + e);
        }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_gather(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *ids = in[1];
    uint8_t axis, rank;
    int64_t dims[FIRN_RANK_MAX];
    uint64_t outer = 1, inner = 1, at = 0;
    if (!firnc_onnx_gathered(im, node, &axis, &rank, dims))
        return NULL;
    if (ids->wholes == NULL) {
        firnc_onnx_fail(im, "takes whole numbers as indices");
        return NULL;
    }
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, rank, dims);
    for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
        for (uint64_t j = 0; j < ids->count; j++) {
            const int64_t id = ids->wholes[j] < 0 ? ids->wholes[j] + x->dims[axis] : ids->wholes[j];
            if (id < 0 || id >= x->dims[axis]) {
                firnc_onnx_fail(im, "takes element %lld of %lld", (long long)ids->wholes[j], (long long)x->dims[axis]);
                return NULL;
            }
            for (uint64_t e = 0; e < inner; e++)
                firnc_onnx_copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)id) * inner + e);
        }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_slice(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    int64_t first[FIRN_RANK_MAX], step[FIRN_RANK_MAX], counts[FIRN_RANK_MAX];
    firnc_onnx_walk from;
    if (!firnc_onnx_sliced(im, node, first, step, counts))
        return NULL;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, counts);
    firnc_onnx_walk_begin(&from, x, x);
    for (uint8_t i = 0; i < x->rank; i++) {
        from.position += (uint64_t)(first[i] * from.steps[i]);
        from.steps[i] *= counts[i] > 1 ? step[i] : 0; /* a single element may have any step */
    }
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        firnc_onnx_copy_element(made, i, x, from.position);
        firnc_onnx_walk_on(&from, made);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_split(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *begins = NULL;
    uint8_t axis;
    int64_t sizes[FIRNC_ONNX_OPERANDS_MAX], first = 0;
    uint64_t inner = 1, outer = 1;
    if (!firnc_onnx_parts(im, node, &axis, sizes))
        return NULL;
    for (uint8_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : (uint64_t)x->dims[i];
    for (uint32_t p = 0; p < node->output_count; p++) {
        int64_t dims[FIRN_RANK_MAX];
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = sizes[p];
        firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
        uint64_t at = 0;
        for (uint64_t o = 0; made != NULL && made->count > 0 && o < outer; o++)
            for (uint64_t e = 0; e < (uint64_t)sizes[p] * inner; e++)
                firnc_onnx_copy_element(made, at++, x, (o * (uint64_t)x->dims[axis] + (uint64_t)first) * inner + e);
        firnc_onnx_set_known(node->outputs[p], made);
        begins = p == 0 ? made : begins;
        first += sizes[p];
    }
    return begins;
}

/* Moves to the indices of the next element of a tensor with these extents. */
static void go_on(int64_t *at, uint8_t rank, const int64_t *dims) {
    for (uint8_t axis = rank; axis-- > 0;) {
        if (++at[axis] < dims[axis])
            return;
        at[axis] = 0;
    }
}

/* Repeats the elements of x to other extents, by broadcasting. */
const firnc_onnx_tensor *firnc_onnx_fold_expand(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const int64_t *list;
    uint32_t count;
    firnc_onnx_tensor shape = {.type = x->type};
    if (!firnc_onnx_list(im, node, 1, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
        return NULL;
    }
    shape.rank = (uint8_t)count;
    memcpy(shape.dims, list, count * sizeof *list);
    const firnc_onnx_tensor *both[] = {x, &shape};
    firnc_onnx_tensor *made = firnc_onnx_broadcast(im, x->type, both, 2);
    firnc_onnx_walk from;
    if (made == NULL)
        return NULL;
    firnc_onnx_walk_begin(&from, x, made);
    for (uint64_t i = 0; i < made->count; i++) {
        firnc_onnx_copy_element(made, i, x, from.position);
        firnc_onnx_walk_on(&from, made);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_tile(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                              const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    const int64_t *list;
    uint32_t count;
    int64_t dims[FIRN_RANK_MAX], at[FIRN_RANK_MAX] = {0};
    if (!firnc_onnx_list(im, node, 1, "repeats", &list, &count))
        return NULL;
    for (uint8_t i = 0; i < x->rank; i++) {
        if (count != x->rank || list[i] < 0 ||
            (x->dims[i] > 0 && list[i] > (int64_t)FIRNC_ONNX_ELEMENTS_MAX / x->dims[i])) {
            firnc_onnx_fail(im, "has repeats that are not one for each axis");
            return NULL;
        }
        dims[i] = x->dims[i] * list[i];
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        uint64_t from = 0;
        for (uint8_t axis = 0; axis < x->rank; axis++)
            from = from * (uint64_t)x->dims[axis] + (uint64_t)(at[axis] % x->dims[axis]);
        firnc_onnx_copy_element(made, i, x, from);
        go_on(at, x->rank, dims);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_pad(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                             const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0], *value = in[2];
    const char *mode;
    int64_t before[FIRN_RANK_MAX], after[FIRN_RANK_MAX], dims[FIRN_RANK_MAX], at[FIRN_RANK_MAX] = {0};
    if (!firnc_onnx_padded(im, node, &mode, before, after))
        return NULL;
    for (uint8_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i] + before[i] + after[i];
    const bool constant = strcmp(mode, "constant") == 0;
    if (value != NULL && (value->count != 1 || value->type != x->type)) {
        firnc_onnx_fail(im, "has a value that is not one number of the type of its operand");
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        bool inside = true;
        uint64_t from = 0;
        for (uint8_t axis = 0; axis < x->rank; axis++) {
            const int64_t place = at[axis] - before[axis];
            const bool here = place >= 0 && place < x->dims[axis];
            inside = inside && (here || !constant);
            from = from * (uint64_t)x->dims[axis] +
                   (uint64_t)(here || constant ? place : firnc_onnx_reflected(mode, place, x->dims[axis]));
        }
        if (inside)
            firnc_onnx_copy_element(made, i, x, from);
        else if (value != NULL)
            firnc_onnx_copy_element(made, i, value, 0);
        go_on(at, x->rank, dims);
    }
    return made;
}

/* --- made from numbers -------------------------------------------------------------------------------------------- */

const firnc_onnx_tensor *firnc_onnx_fold_range(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *start = in[0], *limit = in[1], *delta = in[2];
    (void)node;
    if (start->count != 1 || limit->count != 1 || delta->count != 1 || firnc_onnx_number(delta, 0) == 0) {
        firnc_onnx_fail(im, "takes three numbers, the last of which is not 0");
        return NULL;
    }
    const double first = firnc_onnx_number(start, 0), step = firnc_onnx_number(delta, 0);
    const double wanted = ceil((firnc_onnx_number(limit, 0) - first) / step);
    if (!(wanted <= (double)FIRNC_ONNX_ELEMENTS_MAX)) {
        firnc_onnx_fail(im, "makes more than %llu elements; use a shorter range",
                        (unsigned long long)FIRNC_ONNX_ELEMENTS_MAX);
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, start->type, 1, (int64_t[]){wanted > 0 ? (int64_t)wanted : 0});
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        firnc_onnx_put(made, i, first + (double)i * step);
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_constant_of_shape(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                           const firnc_onnx_tensor *const *in) {
    (void)in;
    const FirncOnnx__Attribute *a = firnc_onnx_attribute(node, "value");
    const firnc_onnx_tensor *value = a != NULL && a->t != NULL ? firnc_onnx_tensor_read(im, a->t, "of its value")
                                                               : firnc_onnx_tensor_scalar(im, FIRNC_ONNX_FLOAT, 0);
    const int64_t *list;
    uint32_t count;
    if (value == NULL || !firnc_onnx_list(im, node, 0, "extents", &list, &count))
        return NULL;
    if (count > FIRN_RANK_MAX || value->count != 1) {
        firnc_onnx_fail(im, "makes more than %d dimensions, or of more than one value; write the module with fewer",
                        FIRN_RANK_MAX);
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, value->type, (uint8_t)count, list);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        firnc_onnx_copy_element(made, i, value, 0);
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_trilu(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                               const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *x = in[0];
    double diagonal = 0;
    const bool upper = firnc_onnx_integer(node, "upper", 1) != 0;
    if (x->rank < 2 || (node->inputs[1] != NULL && !firnc_onnx_single(node->inputs[1], &diagonal))) {
        firnc_onnx_fail(im, "takes matrices and a number");
        return NULL;
    }
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, x->type, x->rank, x->dims);
    const int64_t columns = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const double beyond = (double)((int64_t)i % columns - (int64_t)i / columns % rows) - diagonal;
        if (upper ? beyond >= 0 : beyond <= 0)
            firnc_onnx_copy_element(made, i, x, i);
    }
    return made;
}

const firnc_onnx_tensor *firnc_onnx_fold_one_hot(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                 const firnc_onnx_tensor *const *in) {
    const firnc_onnx_tensor *ids = in[0], *values = in[2];
    const double depth = in[1]->count == 1 ? firnc_onnx_number(in[1], 0) : 0;
    int64_t dims[FIRN_RANK_MAX] = {0};
    uint64_t inner = 1;
    if (!(depth >= 1 && depth < 1e9) || values->count != 2 || ids->rank + 1 > FIRN_RANK_MAX) {
        firnc_onnx_fail(im, "takes a depth and two values");
        return NULL;
    }
    const uint8_t rank = (uint8_t)(ids->rank + 1),
                  axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), rank);
    for (uint8_t i = 0; i < rank; i++) {
        dims[i] = i == axis ? (int64_t)depth : ids->dims[i > axis ? i - 1 : i];
        inner *= i > axis ? (uint64_t)dims[i] : 1;
    }
    firnc_onnx_tensor *made = im->failed ? NULL : firnc_onnx_tensor_new(im, values->type, rank, dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const uint64_t outer = i / inner / (uint64_t)depth;
        const double class = (double)(i / inner % (uint64_t)depth),
                     id = firnc_onnx_number(ids, outer * inner + i % inner);
        firnc_onnx_copy_element(made, i, values, (id < 0 ? id + depth : id) == class);
    }
    return made;
}

/* HannWindow, HammingWindow and BlackmanWindow: sums of cosines. */
const firnc_onnx_tensor *firnc_onnx_fold_window(firnc_onnx_importer *im, const firnc_onnx_node *node,
                                                const firnc_onnx_tensor *const *in) {
    static const struct {
        const char *op;
        double terms[3];
    } rows[] = {{"HannWindow", {0.5, -0.5, 0}},
                {"HammingWindow", {25.0 / 46, -21.0 / 46, 0}},
                {"BlackmanWindow", {0.42, -0.5, 0.08}}};
    const int64_t type = firnc_onnx_integer(node, "output_datatype", FIRNC_ONNX_FLOAT);
    const double size = in[0]->count == 1 ? firnc_onnx_number(in[0], 0) : 0;
    size_t row = 0;
    if (!(size >= 1 && size <= (double)FIRNC_ONNX_ELEMENTS_MAX) || !firnc_onnx_check_cast(im, type)) {
        firnc_onnx_fail(im, "makes a window of %g elements; write a size of at least 1", size);
        return NULL;
    }
    while (strcmp(rows[row].op, node->op) != 0)
        row++;
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, (uint8_t)type, 1, (int64_t[]){(int64_t)size});
    const double period = firnc_onnx_integer(node, "periodic", 1) != 0 ? size : size - 1;
    for (uint64_t i = 0; made != NULL && i < made->count; i++) {
        const double angle = period > 0 ? 2 * 3.14159265358979323846 * (double)i / period : 0;
        firnc_onnx_put(made, i,
                       rows[row].terms[0] + rows[row].terms[1] * cos(angle) + rows[row].terms[2] * cos(2 * angle));
    }
    return made;
}
