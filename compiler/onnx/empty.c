/* Results without elements. A plan has no tensor without elements, so such a value exists only while the model is read:
 * as a known tensor of count 0. Concat drops it; nodes that give an empty result for an empty operand are here; every
 * other node refuses it by name (firnc_onnx_constant). */
#include <string.h>

#include "compiler/onnx/import.h"

bool firnc_onnx_is_empty(const firnc_onnx_value *value) {
    return value != NULL && value->known != NULL && value->known->count == 0;
}

/* Ops with a result for each element of their operands, which are repeated to the same extents. */
static const char elementwise[] =
    "Abs Add And Ceil Clip Cos Div Dropout Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish "
    "IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mul Neg Not Or PRelu Pow Reciprocal Relu Selu Sigmoid Sign "
    "Sin Softplus Softsign Sqrt Sub Sum Tanh ThresholdedRelu Where Xor";

/* Ops whose result has the extents of their first operand. */
static const char rowwise[] = "CumSum LayerNormalization LogSoftmax RMSNormalization Softmax";

/* Ops whose result is of the type bool. */
static const char truths[] = "And Equal Greater GreaterOrEqual IsNaN Less LessOrEqual Not Or Xor";

/* The extents that two matrices' product has. False if they do not fit. */
static bool product_extents(const firnc_onnx_value *a, const firnc_onnx_value *b, uint8_t *rank, int64_t *dims) {
    if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return false;
    *rank = (uint8_t)(a->rank - 2);
    memcpy(dims, a->dims, sizeof a->dims);
    if (!firnc_onnx_join_extents(rank, dims, (uint8_t)(b->rank - 2), b->dims))
        return false;
    dims[(*rank)++] = a->dims[a->rank - 2];
    dims[(*rank)++] = b->dims[b->rank - 1];
    return true;
}

bool firnc_onnx_import_empty(firnc_onnx_importer *im, const firnc_onnx_node *node, bool *done) {
    const firnc_onnx_value *x = node->inputs[0];
    int64_t dims[FIRN_RANK_MAX] = {0};
    const bool product = strcmp(node->op, "MatMul") == 0;
    bool fits = true;
    *done = false;
    if (x == NULL)
        return true;
    uint8_t type = strcmp(node->op, "Where") == 0 ? node->inputs[1]->type : x->type, rank = 0;
    if (firnc_onnx_is_listed(rowwise, node->op)) {
        rank = x->rank;
        memcpy(dims, x->dims, sizeof dims);
    } else if (product) {
        fits = product_extents(x, node->inputs[1], &rank, dims);
    } else if (firnc_onnx_is_listed(elementwise, node->op)) {
        for (uint32_t i = 0; i < node->input_count && fits; i++)
            fits = node->inputs[i] == NULL ||
                   firnc_onnx_join_extents(&rank, dims, node->inputs[i]->rank, node->inputs[i]->dims);
        type = firnc_onnx_is_listed(truths, node->op) ? FIRNC_ONNX_BOOL : type;
    } else {
        return true;
    }
    if (!fits)
        return firnc_onnx_fail(im, "has operands whose extents do not fit together");
    firnc_onnx_tensor *made = firnc_onnx_tensor_new(im, type, rank, dims);
    if (made == NULL || (made->count > 0 && !product)) /* a sum of no products is 0 */
        return !im->failed;
    firnc_onnx_set_known(node->outputs[0], made);
    *done = node->output_count == 1;
    return true;
}
