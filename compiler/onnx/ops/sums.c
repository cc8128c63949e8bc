/* Ops over whole axes: sums, means, largest elements, softmax, running sums. */
#include <string.h>

#include "compiler/onnx/import.h"

/* The axes of a mask over those of a value, as they stand in the graph. */
static uint32_t standing(const firnc_onnx_value *x, uint32_t axes) {
    uint32_t places = 0;
    for (uint8_t i = 0; i < x->rank; i++)
        places |= (axes >> i & 1) << firnc_onnx_place(x->order, x->rank, i);
    return places;
}

static firnc_value square(firnc_onnx_importer *im, firnc_value x) {
    return firnc_onnx_binary(im, FIRN_OP_multiply, x, x);
}

/* log(sum(e^x)), with the largest element taken out and put back. */
static firnc_value log_sum_exp(firnc_onnx_importer *im, firnc_value x, uint32_t axes) {
    const firnc_value largest = firnc_onnx_maximum(im, x, axes, true);
    const firnc_value sum = firnc_onnx_sum(
        im, firnc_onnx_unary(im, FIRN_OP_exp, firnc_onnx_binary(im, FIRN_OP_subtract, x, largest)), axes, true);
    return firnc_onnx_binary(im, FIRN_OP_add, firnc_onnx_unary(im, FIRN_OP_log, sum), largest);
}

/* The product along one axis, by halves; of an odd number of elements the last one waits. */
static firnc_value product_along(firnc_onnx_importer *im, firnc_value x, uint8_t axis) {
    firnc_value waiting = FIRNC_NONE;
    for (int64_t count = im->failed ? 1 : firnc_onnx_shape(im, x)->dims[axis]; count > 1; count /= 2) {
        const int64_t half = count / 2;
        if (count % 2 != 0) {
            const firnc_value last = firnc_onnx_slice(im, x, axis, count - 1, 1, 1);
            waiting = waiting == FIRNC_NONE ? last : firnc_onnx_binary(im, FIRN_OP_multiply, waiting, last);
        }
        const firnc_value behind = firnc_onnx_slice(im, x, axis, half, 1, half);
        x = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_slice(im, x, axis, 0, 1, half), behind);
    }
    return waiting == FIRNC_NONE ? x : firnc_onnx_binary(im, FIRN_OP_multiply, x, waiting);
}

static firnc_value product_of(firnc_onnx_importer *im, firnc_value x, uint32_t axes) {
    for (uint8_t axis = 0; axis < FIRN_RANK_MAX; axis++)
        if ((axes >> axis & 1) != 0)
            x = product_along(im, x, axis);
    return x;
}

/* The reduction with extents of 1 kept. */
static firnc_value reduce(firnc_onnx_importer *im, const char *op, firnc_value x, uint32_t axes) {
    if (strcmp(op, "ReduceSum") == 0)
        return firnc_onnx_sum(im, x, axes, true);
    if (strcmp(op, "ReduceMean") == 0)
        return firnc_onnx_mean(im, x, axes, true);
    if (strcmp(op, "ReduceMax") == 0)
        return firnc_onnx_maximum(im, x, axes, true);
    if (strcmp(op, "ReduceMin") == 0)
        return firnc_onnx_negative(im, firnc_onnx_maximum(im, firnc_onnx_negative(im, x), axes, true));
    if (strcmp(op, "ReduceL1") == 0)
        return firnc_onnx_sum(im, firnc_onnx_unary(im, FIRN_OP_abs, x), axes, true);
    if (strcmp(op, "ReduceL2") == 0)
        return firnc_onnx_unary(im, FIRN_OP_sqrt, firnc_onnx_sum(im, square(im, x), axes, true));
    if (strcmp(op, "ReduceSumSquare") == 0)
        return firnc_onnx_sum(im, square(im, x), axes, true);
    if (strcmp(op, "ReduceLogSum") == 0)
        return firnc_onnx_unary(im, FIRN_OP_log, firnc_onnx_sum(im, x, axes, true));
    if (strcmp(op, "ReduceProd") == 0)
        return product_of(im, x, axes);
    return log_sum_exp(im, x, axes);
}

/* Without elements to reduce some ops still have a meaning. */
static firnc_value reduce_nothing(firnc_onnx_importer *im, const char *op, firnc_value x) {
    if (strcmp(op, "ReduceL1") == 0 || strcmp(op, "ReduceL2") == 0)
        return firnc_onnx_unary(im, FIRN_OP_abs, x);
    if (strcmp(op, "ReduceSumSquare") == 0)
        return square(im, x);
    if (strcmp(op, "ReduceLogSum") == 0)
        return firnc_onnx_unary(im, FIRN_OP_log, x);
    return x;
}

/* Drops the reduced axes, which have one element. */
static bool drop_axes(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_value y, uint32_t axes) {
    const firnc_onnx_value *x = node->inputs[0];
    uint8_t order[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX];
    const uint8_t rank = firnc_onnx_axes_without(x, axes, order, dims);
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_reshape(im, y, rank, dims), x->type, rank, order);
    return !im->failed;
}

bool firnc_onnx_import_reduce(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    uint32_t axes;
    bool none;
    const firnc_value raw = firnc_onnx_raw_real(im, x);
    if (im->failed || !firnc_onnx_reduced(im, node, &axes, &none))
        return false;
    if (!firnc_onnx_is_real(x->type) &&
        !firnc_onnx_is_listed("ReduceSum ReduceMax ReduceMin ReduceL1 ReduceProd ReduceSumSquare", node->op))
        return firnc_onnx_fail(im, "rounds whole numbers of the data; cast them to float before");
    if (none || x->rank == 0)
        return firnc_onnx_set_like(im, node->outputs[0], reduce_nothing(im, node->op, raw), x);
    const firnc_value y = reduce(im, node->op, raw, standing(x, axes));
    return firnc_onnx_integer(node, "keepdims", 1) != 0 ? firnc_onnx_set_like(im, node->outputs[0], y, x)
                                                        : drop_axes(im, node, y, axes);
}

bool firnc_onnx_import_arg(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 0), x->rank);
    firnc_value y = firnc_onnx_plain_real(im, x);
    int64_t dims[FIRN_RANK_MAX];
    uint8_t rank = 0;
    if (strcmp(node->op, "ArgMin") == 0)
        y = firnc_onnx_negative(im, y);
    if (im->failed)
        return false;
    y = firnc_onnx_made(im, firnc_arg_max(im->graph, y, axis, firnc_onnx_integer(node, "select_last_index", 0) != 0));
    const bool keep = firnc_onnx_integer(node, "keepdims", 1) != 0;
    for (uint8_t i = 0; i < x->rank; i++)
        if (i != axis || keep)
            dims[rank++] = i == axis ? 1 : x->dims[i];
    firnc_onnx_set(im, node->outputs[0], firnc_onnx_reshape(im, y, rank, dims), FIRNC_ONNX_INT64, rank);
    return !im->failed;
}

/* The axis is brought last. The values are those at the places, so that they have a gradient. */
bool firnc_onnx_import_top_k(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), x->rank);
    double count;
    uint8_t order[FIRN_RANK_MAX];
    int64_t dims[FIRN_RANK_MAX], rows = 1;
    if (im->failed)
        return false;
    if (!firnc_onnx_single(node->inputs[1], &count))
        return firnc_onnx_fail(im, "its k depends on the data; make it a constant");
    const int64_t extent = x->dims[axis], k = firnc_onnx_truncated(count);
    if (k < 1 || k > extent)
        return firnc_onnx_fail(im, "takes %lld of %lld elements", (long long)k, (long long)extent);
    firnc_onnx_axis_last(x->rank, axis, order);
    for (uint8_t i = 0; i < x->rank; i++) {
        dims[i] = i + 1 == x->rank ? k : x->dims[order[i]];
        rows *= i + 1 == x->rank ? 1 : dims[i];
    }
    firnc_value y = firnc_onnx_real(im, firnc_onnx_ordered(im, x, x->rank, order));
    y = firnc_onnx_reshape(im, y, 2, (int64_t[]){rows, extent});
    if (im->failed)
        return false;
    const int64_t integers[] = {
        [FIRN_TOP_K_COUNT] = k, [FIRN_TOP_K_SMALLEST] = firnc_onnx_integer(node, "largest", 1) == 0};
    const firnc_value places = firnc_onnx_made(im, firnc_op(im->graph, FIRN_OP_top_k, &y, 1, integers, NULL));
    if (im->failed)
        return false;
    const firnc_value values = firnc_onnx_made(im, firnc_gather_elements(im->graph, y, places, 1));
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_reshape(im, values, x->rank, dims), x->type, x->rank,
                           order);
    firnc_onnx_set_ordered(im, node->outputs[1], firnc_onnx_reshape(im, places, x->rank, dims), FIRNC_ONNX_INT64,
                           x->rank, order);
    return !im->failed;
}

bool firnc_onnx_import_softmax(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const uint8_t axis = x->rank == 0 ? 0 : firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", -1), x->rank);
    const firnc_value raw = firnc_onnx_raw(im, x);
    uint8_t order[FIRN_RANK_MAX];
    if (im->failed)
        return false;
    memcpy(order, x->order, sizeof order);
    if (x->rank > 0 && order[x->rank - 1] != axis)
        firnc_onnx_axis_last(x->rank, axis, order);
    firnc_value y = firnc_onnx_real(im, x->rank == 0 ? raw : firnc_onnx_ordered(im, x, x->rank, order));
    if (x->rank < 2) /* one row */
        y = firnc_onnx_reshape(im, y, 2, (int64_t[]){1, (int64_t)firnc_onnx_count(x)});
    if (im->failed)
        return false;
    const bool logarithm = node->op[0] == 'L';
    y = firnc_onnx_made(im, logarithm ? firnc_log_softmax(im->graph, y) : firnc_softmax(im->graph, y));
    if (x->rank < 2)
        y = firnc_onnx_reshape(im, y, x->rank, x->dims);
    firnc_onnx_set_ordered(im, node->outputs[0], y, x->type, x->rank, order);
    return !im->failed;
}

bool firnc_onnx_import_cumsum(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    double number;
    if (!firnc_onnx_single(node->inputs[1], &number))
        return firnc_onnx_fail(im, "its axis depends on the data; make it a constant");
    const uint8_t axis = firnc_onnx_axis(im, firnc_onnx_truncated(number), x->rank);
    const firnc_value raw = firnc_onnx_raw_real(im, x);
    if (im->failed)
        return false;
    const firnc_value y = firnc_cumulative_sum(im->graph, raw, firnc_onnx_place(x->order, x->rank, axis),
                                               firnc_onnx_integer(node, "exclusive", 0) != 0,
                                               firnc_onnx_integer(node, "reverse", 0) != 0);
    return firnc_onnx_set_like(im, node->outputs[0], firnc_onnx_made(im, y), x);
}
