/* The table of the ops of ONNX that Firn reads. A row names the attributes, so that one that is not there is refused
 * instead of passed over. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/onnx/import.h"

enum { MANY = OX_OPERANDS_MAX };

static const ox_op ops[] = {
    /* name, function, attributes, inputs from, to, outputs, since */
    {"Abs", ox_import_unary, "", 1, 1, 1, 0},
    {"Add", ox_import_binary, "", 2, 2, 1, 0},
    {"And", ox_import_binary, "", 2, 2, 1, 0},
    {"ArgMax", ox_import_arg, "axis keepdims select_last_index", 1, 1, 1, 0},
    {"ArgMin", ox_import_arg, "axis keepdims select_last_index", 1, 1, 1, 0},
    {"Attention", ox_import_attention,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision", 3, 6, 4, 23},
    {"AveragePool", ox_import_pool, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", 1, 1, 1,
     0},
    {"BatchNormalization", ox_import_batch_norm, "epsilon momentum training_mode", 5, 5, 3, 0},
    {"Cast", ox_import_cast, "to saturate round_mode", 1, 1, 1, 0},
    {"CastLike", ox_import_cast, "saturate round_mode", 2, 2, 1, 15},
    {"Ceil", ox_import_unary, "", 1, 1, 1, 0},
    {"Clip", ox_import_clip, "", 1, 3, 1, 0},
    {"Concat", ox_import_concat, "axis", 1, MANY, 1, 0},
    {"Constant", ox_import_constant,
     "value value_float value_floats value_int value_ints", 0, 0, 1, 0},
    {"ConstantOfShape", ox_import_only_known, "value", 1, 1, 1, 0},
    {"Conv", ox_import_conv, "auto_pad dilations group kernel_shape pads strides", 2, 3, 1, 0},
    {"ConvTranspose", ox_import_conv_transpose,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", 2, 3, 1, 0},
    {"CumSum", ox_import_cumsum, "exclusive reverse", 2, 2, 1, 0},
    {"DepthToSpace", ox_import_depth, "blocksize mode", 1, 1, 1, 0},
    {"Div", ox_import_binary, "", 2, 2, 1, 0},
    {"Dropout", ox_import_dropout, "seed", 1, 3, 2, 0},
    {"Einsum", ox_import_einsum, "equation", 1, 2, 1, 0},
    {"Elu", ox_import_unary, "alpha", 1, 1, 1, 0},
    {"Equal", ox_import_binary, "", 2, 2, 1, 0},
    {"Erf", ox_import_unary, "", 1, 1, 1, 0},
    {"Exp", ox_import_unary, "", 1, 1, 1, 0},
    {"Expand", ox_import_expand, "", 2, 2, 1, 0},
    {"EyeLike", ox_import_shape, "dtype k", 1, 1, 1, 0},
    {"Flatten", ox_import_reshape, "axis", 1, 1, 1, 0},
    {"Floor", ox_import_unary, "", 1, 1, 1, 0},
    {"GRU", ox_import_recurrent,
     "activation_alpha activation_beta activations direction hidden_size layout linear_before_reset", 3, 6, 2, 0},
    {"Gather", ox_import_gather, "axis", 2, 2, 1, 0},
    {"GatherElements", ox_import_gather_elements, "axis", 2, 2, 1, 0},
    {"Gelu", ox_import_unary, "approximate", 1, 1, 1, 20},
    {"Gemm", ox_import_gemm, "alpha beta transA transB", 2, 3, 1, 0},
    {"GlobalAveragePool", ox_import_global_pool, "", 1, 1, 1, 0},
    {"GlobalMaxPool", ox_import_global_pool, "", 1, 1, 1, 0},
    {"Greater", ox_import_binary, "", 2, 2, 1, 0},
    {"GreaterOrEqual", ox_import_binary, "", 2, 2, 1, 0},
    {"GroupNormalization", ox_import_group_norm, "epsilon num_groups stash_type", 3, 3, 1, 18},
    {"HardSigmoid", ox_import_unary, "alpha beta", 1, 1, 1, 0},
    {"HardSwish", ox_import_unary, "", 1, 1, 1, 14},
    {"Identity", ox_import_identity, "", 1, 1, 1, 0},
    {"InstanceNormalization", ox_import_group_norm, "epsilon", 3, 3, 1, 0},
    {"IsNaN", ox_import_unary, "", 1, 1, 1, 0},
    {"LSTM", ox_import_recurrent, "activation_alpha activation_beta activations direction hidden_size input_forget layout",
     3, 7, 3, 0},
    {"LayerNormalization", ox_import_layer_norm, "axis epsilon stash_type", 2, 3, 3, 17},
    {"LeakyRelu", ox_import_unary, "alpha", 1, 1, 1, 0},
    {"Less", ox_import_binary, "", 2, 2, 1, 0},
    {"LessOrEqual", ox_import_binary, "", 2, 2, 1, 0},
    {"Log", ox_import_unary, "", 1, 1, 1, 0},
    {"LogSoftmax", ox_import_softmax, "axis", 1, 1, 1, 0},
    {"MatMul", ox_import_matmul, "", 2, 2, 1, 0},
    {"Max", ox_import_binary, "", 1, MANY, 1, 0},
    {"MaxPool", ox_import_pool, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 1, 1, 1, 0},
    {"Mean", ox_import_binary, "", 1, MANY, 1, 0},
    {"Min", ox_import_binary, "", 1, MANY, 1, 0},
    {"Mish", ox_import_unary, "", 1, 1, 1, 18},
    {"Mod", ox_import_only_known, "fmod", 2, 2, 1, 0},
    {"Mul", ox_import_binary, "", 2, 2, 1, 0},
    {"Neg", ox_import_unary, "", 1, 1, 1, 0},
    {"Not", ox_import_unary, "", 1, 1, 1, 0},
    {"OneHot", ox_import_one_hot, "axis", 3, 3, 1, 0},
    {"Or", ox_import_binary, "", 2, 2, 1, 0},
    {"PRelu", ox_import_prelu, "", 2, 2, 1, 0},
    {"Pad", ox_import_pad, "mode", 2, 4, 1, 0},
    {"Pow", ox_import_binary, "", 2, 2, 1, 0},
    {"RMSNormalization", ox_import_rms_norm, "axis epsilon stash_type", 2, 2, 1, 23},
    {"RNN", ox_import_recurrent, "activation_alpha activation_beta activations direction hidden_size layout", 3, 6, 2, 0},
    {"Range", ox_import_only_known, "", 3, 3, 1, 0},
    {"Reciprocal", ox_import_unary, "", 1, 1, 1, 0},
    {"ReduceL1", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceL2", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceLogSum", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceLogSumExp", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceMax", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceMean", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceMin", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceProd", ox_import_only_known, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceSum", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"ReduceSumSquare", ox_import_reduce, "axes keepdims noop_with_empty_axes", 1, 2, 1, 0},
    {"Relu", ox_import_unary, "", 1, 1, 1, 0},
    {"Reshape", ox_import_reshape, "allowzero", 2, 2, 1, 0},
    {"Resize", ox_import_resize,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode",
     1, 4, 1, 0},
    {"ScatterND", ox_import_scatter_nd, "reduction", 3, 3, 1, 0},
    {"Selu", ox_import_unary, "alpha gamma", 1, 1, 1, 0},
    {"SequenceAt", ox_import_sequence_at, "", 2, 2, 1, 0},
    {"Shape", ox_import_shape, "end start", 1, 1, 1, 0},
    {"Sigmoid", ox_import_unary, "", 1, 1, 1, 0},
    {"Sign", ox_import_unary, "", 1, 1, 1, 0},
    {"Size", ox_import_shape, "", 1, 1, 1, 0},
    {"Slice", ox_import_slice, "", 3, 5, 1, 0},
    {"Softmax", ox_import_softmax, "axis", 1, 1, 1, 0},
    {"Softplus", ox_import_unary, "", 1, 1, 1, 0},
    {"Softsign", ox_import_unary, "", 1, 1, 1, 0},
    {"SpaceToDepth", ox_import_depth, "blocksize", 1, 1, 1, 0},
    {"Split", ox_import_split, "axis num_outputs", 1, 2, MANY, 0},
    {"SplitToSequence", ox_import_split_to_sequence, "axis keepdims", 1, 2, 1, 0},
    {"Sqrt", ox_import_unary, "", 1, 1, 1, 0},
    {"Squeeze", ox_import_reshape, "", 1, 2, 1, 0},
    {"Sub", ox_import_binary, "", 2, 2, 1, 0},
    {"Sum", ox_import_binary, "", 1, MANY, 1, 0},
    {"Tanh", ox_import_unary, "", 1, 1, 1, 0},
    {"ThresholdedRelu", ox_import_unary, "alpha", 1, 1, 1, 0},
    {"Tile", ox_import_tile, "", 2, 2, 1, 0},
    {"Transpose", ox_import_transpose, "perm", 1, 1, 1, 0},
    {"Trilu", ox_import_trilu, "upper", 1, 2, 1, 14},
    {"Unsqueeze", ox_import_reshape, "", 2, 2, 1, 0},
    {"Where", ox_import_where, "", 3, 3, 1, 0},
    {"Xor", ox_import_binary, "", 2, 2, 1, 0},
};

enum { OPS = sizeof ops / sizeof ops[0] };

const ox_op *ox_op_find(const char *name) {
    for (uint32_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

const char *ox_op_nearest(const char *name) {
    const char *names[OPS + 1] = {NULL};
    for (uint32_t i = 0; i < OPS; i++)
        names[i] = ops[i].name;
    return firnc_nearest(name, names);
}
