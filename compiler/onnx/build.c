/* Records ops of the graph for the importer and infers their results at once, so that every value of it has extents.
 * What changes nothing is not recorded. Operands that do not fit are a message about the node that is being read. */
#include <string.h>

#include "compiler/base/words.h"
#include "compiler/onnx/import.h"
#include "plan/errors.h"
#include "plan/op_words.h"

const firn_shape *firnc_onnx_shape(const firnc_onnx_importer *im, firnc_value value) {
    return &im->graph->values[value].shape;
}

firnc_value firnc_onnx_made(firnc_onnx_importer *im, firnc_value value) {
    if (im->failed || value == FIRNC_NONE)
        return FIRNC_NONE;
    firnc_graph *graph = im->graph;
    const uint32_t producer = graph->values[value].producer;
    if (producer == FIRNC_NONE)
        return value; /* the op recorded nothing */
    firnc_node *node = &graph->nodes[producer];
    uint8_t types[FIRN_OUTPUTS_MAX];
    firn_shape shapes[FIRN_OUTPUTS_MAX];
    for (uint8_t i = 0; i < node->output_count; i++)
        types[i] = graph->values[node->outputs[i]].shape.type;
    firnc_choose_general_op(graph, node);
    const int error = firnc_infer_outputs(graph, node, types, shapes);
    if (error != FIRN_OK) {
        const char *operands = "";
        for (uint8_t i = 0; i < node->input_count; i++)
            operands = firnc_format(
                "%s%s%s", operands, i == 0 ? "" : ", ",
                node->inputs[i] == FIRNC_NONE ? "none" : firnc_shape_text(firnc_onnx_shape(im, node->inputs[i])));
        firnc_onnx_fail(im, "does not fit its operands: %s(%s): %s", firn_op_name(firn_op_find(node->code)), operands,
                        firn_error_text(error));
        return FIRNC_NONE;
    }
    for (uint8_t i = 0; i < node->output_count; i++)
        graph->values[node->outputs[i]].shape = shapes[i];
    return value;
}

/* Whether an operand is missing, or a message has been printed. */
static bool lacks(firnc_onnx_importer *im, firnc_value x) {
    if (!im->failed && x == FIRNC_NONE)
        firnc_onnx_fail(im, "lacks an operand");
    return im->failed;
}

/* Extents as a shape has them; a rank of 0 is one element. */
static bool extents(firnc_onnx_importer *im, uint8_t rank, const int64_t *dims, firn_shape *shape) {
    *shape = (firn_shape){.rank = rank == 0 ? 1 : rank, .dims = {1}};
    for (uint8_t i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > UINT32_MAX)
            return firnc_onnx_fail(im, "has an extent of %lld; every extent is at least 1", (long long)dims[i]);
        shape->dims[i] = (uint32_t)dims[i];
    }
    return true;
}

static bool has_dims(const firn_shape *a, const firn_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

firnc_value firnc_onnx_reshape(firnc_onnx_importer *im, firnc_value x, uint8_t rank, const int64_t *dims) {
    firn_shape shape;
    if (lacks(im, x) || !extents(im, rank, dims, &shape))
        return FIRNC_NONE;
    if (has_dims(&shape, firnc_onnx_shape(im, x)))
        return x;
    return firnc_onnx_made(im, firnc_reshape(im->graph, x, shape.rank, shape.dims));
}

firnc_value firnc_onnx_transpose(firnc_onnx_importer *im, firnc_value x, const uint8_t *order) {
    if (lacks(im, x))
        return FIRNC_NONE;
    const firn_shape *shape = firnc_onnx_shape(im, x);
    int64_t dims[FIRN_RANK_MAX];
    int last = -1;
    bool moves = false;
    for (uint8_t i = 0; i < shape->rank; i++) {
        dims[i] = shape->dims[order[i]];
        if (dims[i] == 1)
            continue;
        moves = moves || order[i] < last;
        last = order[i];
    }
    if (!moves)
        return firnc_onnx_reshape(im, x, shape->rank, dims);
    return firnc_onnx_made(im, firnc_transpose(im->graph, x, shape->rank, order));
}

firnc_value firnc_onnx_slice(firnc_onnx_importer *im, firnc_value x, uint8_t axis, int64_t first, int64_t step,
                             int64_t count) {
    if (lacks(im, x))
        return FIRNC_NONE;
    const int64_t extent = firnc_onnx_shape(im, x)->dims[axis];
    if (count < 1) {
        firnc_onnx_fail(im, "takes an empty part of an operand; every extent is at least 1");
        return FIRNC_NONE;
    }
    if (first == 0 && step == 1 && count == extent)
        return x;
    return firnc_onnx_made(im, firnc_slice(im->graph, x, axis, (uint32_t)first, (int32_t)step, (uint32_t)count));
}

firnc_value firnc_onnx_expand(firnc_onnx_importer *im, firnc_value x, uint8_t rank, const int64_t *dims) {
    firn_shape shape;
    if (lacks(im, x) || !extents(im, rank, dims, &shape))
        return FIRNC_NONE;
    if (has_dims(&shape, firnc_onnx_shape(im, x)))
        return x;
    return firnc_onnx_made(im, firnc_expand(im->graph, x, shape.rank, shape.dims));
}

firnc_value firnc_onnx_pad(firnc_onnx_importer *im, firnc_value x, uint8_t axis, int64_t before, int64_t after,
                           float value) {
    if (lacks(im, x))
        return FIRNC_NONE;
    if (before == 0 && after == 0)
        return x;
    if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX) {
        firnc_onnx_fail(im, "pads by %lld and %lld elements; 0 to %d are possible", (long long)before, (long long)after,
                        INT32_MAX);
        return FIRNC_NONE;
    }
    return firnc_onnx_made(im, firnc_pad(im->graph, x, axis, (uint32_t)before, (uint32_t)after, value));
}

firnc_value firnc_onnx_concat(firnc_onnx_importer *im, const firnc_value *xs, uint32_t count, uint8_t axis) {
    for (uint32_t i = 0; i < count; i++)
        if (lacks(im, xs[i]))
            return FIRNC_NONE;
    if (count == 1)
        return xs[0];
    return firnc_onnx_made(im, firnc_concat(im->graph, xs, (uint8_t)count, axis));
}

firnc_value firnc_onnx_affine(firnc_onnx_importer *im, firnc_value x, float scale, float shift) {
    if (lacks(im, x))
        return FIRNC_NONE;
    if (scale == 1 && shift == 0)
        return x;
    return firnc_onnx_made(im, firnc_affine(im->graph, x, scale, shift));
}

firnc_value firnc_onnx_clip(firnc_onnx_importer *im, firnc_value x, float low, float high) {
    return lacks(im, x) ? FIRNC_NONE : firnc_onnx_made(im, firnc_clip(im->graph, x, low, high));
}

firnc_value firnc_onnx_scaled(firnc_onnx_importer *im, firnc_value x, float scale) {
    return firnc_onnx_affine(im, x, scale, -0.0F);
}

firnc_value firnc_onnx_negative(firnc_onnx_importer *im, firnc_value x) {
    return firnc_onnx_scaled(im, x, -1);
}

firnc_value firnc_onnx_unary(firnc_onnx_importer *im, firn_op_code code, firnc_value x) {
    if (lacks(im, x))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_op(im->graph, code, &x, 1, NULL, NULL));
}

/* An operand without extents of 1 in front, if add and multiply can repeat it then. */
static firnc_value narrow(firnc_onnx_importer *im, firnc_value x, firnc_value other) {
    const firn_shape *shape = firnc_onnx_shape(im, x), *to = firnc_onnx_shape(im, other);
    firn_shape narrowed = *shape;
    uint8_t ones = 0;
    int64_t dims[FIRN_RANK_MAX];
    while (ones + 1 < shape->rank && shape->dims[ones] == 1)
        ones++;
    narrowed.rank = (uint8_t)(shape->rank - ones);
    for (uint8_t i = 0; i < narrowed.rank; i++)
        dims[i] = narrowed.dims[i] = shape->dims[ones + i];
    if (firnc_ends_with(to, shape) || !firnc_ends_with(to, &narrowed))
        return x;
    return firnc_onnx_reshape(im, x, narrowed.rank, dims);
}

firnc_value firnc_onnx_binary(firnc_onnx_importer *im, firn_op_code code, firnc_value a, firnc_value b) {
    if (lacks(im, a) || lacks(im, b))
        return FIRNC_NONE;
    if (code == FIRN_OP_add || code == FIRN_OP_multiply) {
        b = narrow(im, b, a);
        if (!im->failed && !firnc_ends_with(firnc_onnx_shape(im, a), firnc_onnx_shape(im, b)))
            a = narrow(im, a, b);
    }
    return firnc_onnx_made(im, firnc_op(im->graph, code, (firnc_value[]){a, b}, 2, NULL, NULL));
}

firnc_value firnc_onnx_select(firnc_onnx_importer *im, firnc_value condition, firnc_value a, firnc_value b) {
    if (lacks(im, a) || lacks(im, b) || lacks(im, condition))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_select(im->graph, condition, a, b));
}

firnc_value firnc_onnx_sum(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep) {
    if (lacks(im, x))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_reduce_sum(im->graph, x, axes, keep));
}

firnc_value firnc_onnx_mean(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep) {
    if (lacks(im, x))
        return FIRNC_NONE;
    const firn_shape *shape = firnc_onnx_shape(im, x);
    double terms = 1;
    for (uint8_t i = 0; i < shape->rank; i++)
        terms *= (axes >> i & 1) != 0 ? shape->dims[i] : 1;
    return firnc_onnx_affine(im, firnc_onnx_sum(im, x, axes, keep), (float)(1 / terms), 0);
}

firnc_value firnc_onnx_maximum(firnc_onnx_importer *im, firnc_value x, uint32_t axes, bool keep) {
    if (lacks(im, x))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_reduce_max(im->graph, x, axes, keep));
}

firnc_value firnc_onnx_gather(firnc_onnx_importer *im, firnc_value x, firnc_value ids, uint8_t axis) {
    if (lacks(im, x) || lacks(im, ids))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_gather(im->graph, x, ids, axis));
}

firnc_value firnc_onnx_matmul(firnc_onnx_importer *im, firnc_value a, firnc_value b, bool transpose_a,
                              bool transpose_b) {
    if (lacks(im, a) || lacks(im, b))
        return FIRNC_NONE;
    return firnc_onnx_made(im, firnc_matmul(im->graph, a, b, transpose_a, transpose_b));
}

firnc_value firnc_onnx_real(firnc_onnx_importer *im, firnc_value x) {
    if (lacks(im, x) || firnc_onnx_shape(im, x)->type != FIRN_INT32)
        return x;
    return firnc_onnx_unary(im, FIRN_OP_to_float32, x);
}

firnc_value firnc_onnx_whole(firnc_onnx_importer *im, firnc_value x) {
    if (lacks(im, x) || firnc_onnx_shape(im, x)->type == FIRN_INT32)
        return x;
    return firnc_onnx_unary(im, FIRN_OP_to_int32, x);
}
