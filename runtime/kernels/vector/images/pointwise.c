/* Convolutions that are linear layers; see pointwise.h. */
#include "runtime/kernels/vector/images/pointwise.h"

#include "runtime/kernels/images/images.h"

static const firn_tensor *weight_of(uint16_t op, const firn_kernel_call *call) {
    if (op == FIRN_OP_conv)
        return &call->inputs[FIRN_CONV_IN_WEIGHT];
    return op == FIRN_OP_conv_backward_input ? &call->inputs[FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT]
                                             : &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT];
}

static bool is_pointwise(const firn_kernel_call *call, const firn_tensor *weight) {
    const int64_t *attributes = &call->integers[FIRN_CONV_STRIDE];
    return call->integers[FIRN_CONV_GROUPS] == 1 && weight->dims[FIRN_WEIGHT_ROWS] == 1 &&
           weight->dims[FIRN_WEIGHT_COLUMNS] == 1 && attributes[FIRN_WINDOW_STRIDE] == firn_pair(1, 1) &&
           attributes[FIRN_WINDOW_BEFORE] == 0 && attributes[FIRN_WINDOW_AFTER] == 0;
}

/* The weight as a matrix [O,C]. */
static firn_tensor as_matrix(firn_pointwise *layer, const firn_tensor *weight) {
    firn_tensor matrix = *weight;
    layer->weight_dims[0] = weight->dims[FIRN_WEIGHT_OUTPUTS];
    layer->weight_dims[1] = weight->dims[FIRN_WEIGHT_INPUTS];
    matrix.dims = layer->weight_dims;
    matrix.rank = 2;
    return matrix;
}

bool firn_pointwise_of(firn_pointwise *layer, uint16_t op, const firn_kernel_call *call) {
    const firn_tensor *weight = weight_of(op, call);
    if (!is_pointwise(call, weight))
        return false;
    for (uint8_t i = 0; i < call->input_count; i++)
        layer->inputs[i] = call->inputs[i];
    layer->output = call->outputs[0];
    layer->layout = 0;
    layer->call = *call;
    layer->call.inputs = layer->inputs;
    layer->call.outputs = &layer->output;
    layer->call.integers = &layer->layout;
    if (op == FIRN_OP_conv) {
        layer->op = FIRN_OP_linear;
        layer->inputs[FIRN_LINEAR_IN_WEIGHT] = as_matrix(layer, weight);
    } else if (op == FIRN_OP_conv_backward_input) {
        layer->op = FIRN_OP_linear_backward_input;
        layer->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT] = as_matrix(layer, weight);
    } else {
        layer->op = FIRN_OP_linear_backward_weight;
        layer->output = as_matrix(layer, weight);
    }
    return true;
}

_Static_assert((int)FIRN_CONV_IN_X == (int)FIRN_LINEAR_IN_X && (int)FIRN_CONV_IN_WEIGHT == (int)FIRN_LINEAR_IN_WEIGHT &&
                   (int)FIRN_CONV_IN_BIAS == (int)FIRN_LINEAR_IN_BIAS &&
                   (int)FIRN_CONV_BACKWARD_INPUT_IN_DY == (int)FIRN_LINEAR_BACKWARD_INPUT_IN_DY &&
                   (int)FIRN_CONV_BACKWARD_WEIGHT_IN_DY == (int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY &&
                   (int)FIRN_CONV_BACKWARD_WEIGHT_IN_X == (int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_X &&
                   (int)FIRN_CONV_REDUCTION_PRODUCTS == (int)FIRN_LINEAR_REDUCTION_PRODUCTS,
               "a convolution has its operands where a linear layer has them");
