/* Random numbers of ONNX. What the graph draws depends on the seed of the plan, the op and the step, as dropout does.
 */
#include <string.h>

#include "compiler/onnx/import.h"

/* The type that a node names, else that of its operand, else float. */
static uint8_t type_of(const firnc_onnx_node *node, const firnc_onnx_value *like) {
    return (uint8_t)firnc_onnx_integer(node, "dtype", like != NULL ? like->type : FIRNC_ONNX_FLOAT);
}

/* RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike. Without an operand the extents are an attribute. */
bool firnc_onnx_import_random(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    const bool normal = strncmp(node->op, "RandomNormal", strlen("RandomNormal")) == 0;
    firnc_onnx_value *like = node->inputs[0];
    const uint8_t type = type_of(node, like);
    const int64_t *dims;
    uint32_t rank;
    firnc_value x;
    if (!firnc_onnx_is_real(type))
        return firnc_onnx_fail(im, "makes the type %s; use float", firnc_onnx_type_word(type));
    if (like != NULL) {
        rank = like->rank;
        x = firnc_onnx_raw_real(im, like);
    } else {
        rank = firnc_onnx_integers(node, "shape", &dims);
        if (rank > FIRN_RANK_MAX)
            return firnc_onnx_fail(im, "makes more than %d dimensions; write the module with fewer", FIRN_RANK_MAX);
        x = firnc_onnx_expand(im, firnc_onnx_scalar(im, 0), (uint8_t)rank, dims);
    }
    if (im->failed)
        return false;
    firnc_value y =
        firnc_onnx_made(im, normal ? firnc_random_normal(im->graph, x) : firnc_random_uniform(im->graph, x));
    if (normal) {
        y = firnc_onnx_affine(im, y, firnc_onnx_float(node, "scale", 1), firnc_onnx_float(node, "mean", 0));
    } else {
        const float low = firnc_onnx_float(node, "low", 0);
        y = firnc_onnx_affine(im, y, firnc_onnx_float(node, "high", 1) - low, low);
    }
    firnc_onnx_set_ordered(im, node->outputs[0], y, type, (uint8_t)rank, like != NULL ? like->order : NULL);
    return !im->failed;
}

/* 1 where a number from 0 to below 1 is less than the operand, else 0. */
bool firnc_onnx_import_bernoulli(firnc_onnx_importer *im, const firnc_onnx_node *node) {
    firnc_onnx_value *x = node->inputs[0];
    const firnc_value share = firnc_onnx_raw_real(im, x);
    if (im->failed)
        return false;
    const firnc_value drawn = firnc_onnx_made(im, firnc_random_uniform(im->graph, share));
    firnc_onnx_set_ordered(im, node->outputs[0], firnc_onnx_binary(im, FIRN_OP_less, drawn, share), type_of(node, x),
                           x->rank, x->order);
    return !im->failed;
}
