/* QuantizeLinear and DequantizeLinear of the data and of weights. A pair of them with one scale and zero point is
 * fake_quantize, whose gradient passes straight through: training that is aware of the quantisation. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/fold.h"

/* A value in the graph, and scales and zero points that are broadcast to it. order: its order of axes there. */
typedef struct grid {
    firnc_value x, scale, zero;
    uint8_t order[FIRN_RANK_MAX];
} grid;

static bool holds_equal(const firnc_onnx_value *a, const firnc_onnx_value *b) {
    if (a == NULL || b == NULL)
        return a == b;
    if (a->known == NULL || b->known == NULL || a->known->count != b->known->count)
        return false;
    for (uint64_t i = 0; i < a->known->count; i++)
        if (firnc_onnx_number(a->known, i) != firnc_onnx_number(b->known, i))
            return false;
    return true;
}

/* The elements as a constant: one for all, or one for each place of the axis, which stands before `behind` others. */
static firnc_value along(firnc_onnx_importer *im, const firnc_onnx_tensor *from, uint8_t behind) {
    int64_t dims[FIRN_RANK_MAX];
    for (uint8_t i = 0; i <= behind; i++)
        dims[i] = i == 0 ? (int64_t)from->count : 1;
    firnc_onnx_tensor *made =
        firnc_onnx_tensor_new(im, FIRNC_ONNX_FLOAT, from->count == 1 ? 1 : (uint8_t)(behind + 1), dims);
    for (uint64_t i = 0; made != NULL && i < made->count; i++)
        made->reals[i] = (float)firnc_onnx_number(from, i);
    return firnc_onnx_constant(im, made, FIRN_FLOAT32);
}

/* Reads x, and the scales and zero points of `node`, into the graph. False after one message. */
static bool read_grid(firnc_onnx_importer *im, const firnc_onnx_node *node, firnc_onnx_value *x, grid *to) {
    const firnc_onnx_value *scale = node->inputs[1], *zero = node->inputs[2];
    const bool single = scale->known != NULL && scale->known->count == 1;
    if (scale->known == NULL || scale->known->reals == NULL || (zero != NULL && zero->known == NULL))
        return firnc_onnx_fail(im, "its scale or zero point depends on the data; make them constants");
    for (uint64_t i = 0; i < scale->known->count; i++)
        if (!(scale->known->reals[i] > 0 && isfinite(scale->known->reals[i])))
            return firnc_onnx_fail(im, "has a scale of %g, which is above 0 and finite",
                                   (double)scale->known->reals[i]);
    if (firnc_onnx_integer(node, "block_size", 0) != 0)
        return firnc_onnx_fail(im, "has scales of blocks; one for all elements or for each place of an axis is known");
    const uint8_t axis = single ? 0 : firnc_onnx_axis(im, firnc_onnx_integer(node, "axis", 1), x->rank);
    if (im->failed)
        return false;
    if ((!single && (scale->rank != 1 || scale->dims[0] != x->dims[axis])) ||
        (zero != NULL && zero->known->count != scale->known->count))
        return firnc_onnx_fail(im, "has %llu scales for an axis of %lld elements",
                               (unsigned long long)scale->known->count, (long long)x->dims[axis]);
    firnc_onnx_channels_last(x->rank, to->order); /* as convolutions read weights */
    if (x->parameter != NULL && x->value == FIRNC_NONE && x->rank > 2) {
        to->x = firnc_onnx_ordered(im, x, x->rank, to->order);
    } else {
        to->x = firnc_onnx_raw_real(im, x);
        memcpy(to->order, x->order, sizeof to->order);
    }
    const uint8_t behind = single ? 0 : (uint8_t)(x->rank - 1 - firnc_onnx_place(to->order, x->rank, axis));
    to->scale = along(im, scale->known, behind);
    to->zero = zero != NULL ? along(im, zero->known, behind) : firnc_onnx_scalar(im, 0);
    return !im->failed;
}

bool firnc_onnx_import_quantize(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    uint8_t type;
    float low, high;
    grid g;
    if (!firnc_onnx_quantised_range(im, node, &type, &low, &high) || !read_grid(im, node, node->inputs[0], &g))
        return false;
    firnc_value y = firnc_onnx_unary(im, FIRN_OP_round, firnc_onnx_binary(im, FIRN_OP_divide, g.x, g.scale));
    y = firnc_onnx_binary(im, FIRN_OP_add, y, g.zero);
    y = firnc_onnx_clip(im, y, low, high);
    firnc_onnx_set_ordered(im, node->outputs[0], y, type, node->inputs[0]->rank, g.order);
    return !im->failed;
}

/* The QuantizeLinear whose output a DequantizeLinear of the same grid reads, perhaps through a Clip, which sets the
 * limits; NULL if there is none. */
static const firnc_onnx_node *quantize_before(firnc_onnx_importer *im, const firnc_onnx_node *node, float *low,
                                              float *high) {
    const firnc_onnx_node *before = node->inputs[0]->producer;
    double bounds[2] = {-HUGE_VAL, HUGE_VAL};
    uint8_t type;
    if (before != NULL && strcmp(before->op, "Clip") == 0) {
        for (uint32_t i = 0; i < 2; i++)
            if (before->inputs[i + 1] != NULL && !firnc_onnx_single(before->inputs[i + 1], &bounds[i]))
                return NULL;
        before = before->inputs[0]->producer;
    }
    if (before == NULL || strcmp(before->op, "QuantizeLinear") != 0 ||
        !holds_equal(before->inputs[1], node->inputs[1]) || !holds_equal(before->inputs[2], node->inputs[2]) ||
        firnc_onnx_integer(before, "axis", 1) != firnc_onnx_integer(node, "axis", 1) ||
        !firnc_onnx_quantised_range(im, before, &type, low, high))
        return NULL;
    *low = bounds[0] > (double)*low ? (float)bounds[0] : *low;
    *high = bounds[1] < (double)*high ? (float)bounds[1] : *high;
    return before;
}

bool firnc_onnx_import_dequantize(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const int64_t named = firnc_onnx_integer(node, "output_dtype", 0);
    const uint8_t type = named != 0 ? (uint8_t)named : node->inputs[1]->type;
    float limits[2];
    grid g = {0};
    const firnc_onnx_node *before =
        quantize_before(im, node, &limits[FIRN_FAKE_QUANTIZE_LOW], &limits[FIRN_FAKE_QUANTIZE_HIGH]);
    if (im->failed || !firnc_onnx_check_cast(im, type))
        return false;
    firnc_onnx_value *x = before != NULL ? before->inputs[0] : node->inputs[0];
    if (!read_grid(im, node, x, &g))
        return false;
    firnc_value y;
    if (before != NULL)
        y = firnc_onnx_made(
            im, firnc_op(im->graph, FIRN_OP_fake_quantize, (firnc_value[]){g.x, g.scale, g.zero}, 3, NULL, limits));
    else
        y = firnc_onnx_binary(im, FIRN_OP_multiply, firnc_onnx_binary(im, FIRN_OP_subtract, g.x, g.zero), g.scale);
    firnc_onnx_set_ordered(im, node->outputs[0], y, type, x->rank, g.order);
    return !im->failed;
}
