/* The table of the ops of ONNX that Firn reads. A row names the attributes, so that one that is not there is refused
 * instead of passed over. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/onnx/import.h"

enum { MANY = FIRNC_ONNX_OPERANDS_MAX };

/* The attributes of all reductions. */
#define REDUCTION "axes keepdims noop_with_empty_axes"

static const firnc_onnx_op ops[] = {
    /* name, function, attributes, inputs from, to, outputs, since */
    {"Abs", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Add", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"And", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"ArgMax", firnc_onnx_import_arg, "axis keepdims select_last_index", 1, 1, 1, 0},
    {"ArgMin", firnc_onnx_import_arg, "axis keepdims select_last_index", 1, 1, 1, 0},
    {"Attention", firnc_onnx_import_attention,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision", 3, 6, 4, 23},
    {"AveragePool", firnc_onnx_import_pool, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     1, 1, 1, 0},
    {"BatchNormalization", firnc_onnx_import_batch_norm, "epsilon momentum training_mode", 5, 5, 3, 0},
    {"Cast", firnc_onnx_import_cast, "to saturate round_mode", 1, 1, 1, 0},
    {"CastLike", firnc_onnx_import_cast, "saturate round_mode", 2, 2, 1, 15},
    {"Ceil", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Clip", firnc_onnx_import_clip, "", 1, 3, 1, 0},
    {"Concat", firnc_onnx_import_concat, "axis", 1, MANY, 1, 0},
    {"Constant", firnc_onnx_import_constant, "value value_float value_floats value_int value_ints", 0, 0, 1, 0},
    {"ConstantOfShape", firnc_onnx_import_only_known, "value", 1, 1, 1, 0},
    {"Conv", firnc_onnx_import_conv, "auto_pad dilations group kernel_shape pads strides", 2, 3, 1, 0},
    {"ConvTranspose", firnc_onnx_import_conv_transpose,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", 2, 3, 1, 0},
    {"CumSum", firnc_onnx_import_cumsum, "exclusive reverse", 2, 2, 1, 0},
    {"DepthToSpace", firnc_onnx_import_depth, "blocksize mode", 1, 1, 1, 0},
    {"Div", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"Dropout", firnc_onnx_import_dropout, "seed", 1, 3, 2, 0},
    {"Einsum", firnc_onnx_import_einsum, "equation", 1, 2, 1, 0},
    {"Elu", firnc_onnx_import_unary, "alpha", 1, 1, 1, 0},
    {"Equal", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"Erf", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Exp", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Expand", firnc_onnx_import_expand, "", 2, 2, 1, 0},
    {"EyeLike", firnc_onnx_import_shape, "dtype k", 1, 1, 1, 0},
    {"Flatten", firnc_onnx_import_reshape, "axis", 1, 1, 1, 0},
    {"Floor", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"GRU", firnc_onnx_import_recurrent,
     "activation_alpha activation_beta activations direction hidden_size layout linear_before_reset", 3, 6, 2, 0},
    {"Gather", firnc_onnx_import_gather, "axis", 2, 2, 1, 0},
    {"GatherElements", firnc_onnx_import_gather_elements, "axis", 2, 2, 1, 0},
    {"Gelu", firnc_onnx_import_unary, "approximate", 1, 1, 1, 20},
    {"Gemm", firnc_onnx_import_gemm, "alpha beta transA transB", 2, 3, 1, 0},
    {"GlobalAveragePool", firnc_onnx_import_global_pool, "", 1, 1, 1, 0},
    {"GlobalMaxPool", firnc_onnx_import_global_pool, "", 1, 1, 1, 0},
    {"Greater", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"GreaterOrEqual", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"GroupNormalization", firnc_onnx_import_group_norm, "epsilon num_groups stash_type", 3, 3, 1, 18},
    {"HardSigmoid", firnc_onnx_import_unary, "alpha beta", 1, 1, 1, 0},
    {"HardSwish", firnc_onnx_import_unary, "", 1, 1, 1, 14},
    {"Identity", firnc_onnx_import_identity, "", 1, 1, 1, 0},
    {"InstanceNormalization", firnc_onnx_import_group_norm, "epsilon", 3, 3, 1, 0},
    {"IsNaN", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"LSTM", firnc_onnx_import_recurrent,
     "activation_alpha activation_beta activations direction hidden_size input_forget layout", 3, 7, 3, 0},
    {"LayerNormalization", firnc_onnx_import_layer_norm, "axis epsilon stash_type", 2, 3, 3, 17},
    {"LeakyRelu", firnc_onnx_import_unary, "alpha", 1, 1, 1, 0},
    {"Less", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"LessOrEqual", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"Log", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"LogSoftmax", firnc_onnx_import_softmax, "axis", 1, 1, 1, 0},
    {"MatMul", firnc_onnx_import_matmul, "", 2, 2, 1, 0},
    {"Max", firnc_onnx_import_binary, "", 1, MANY, 1, 0},
    {"MaxPool", firnc_onnx_import_pool, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 1, 1, 1,
     0},
    {"Mean", firnc_onnx_import_binary, "", 1, MANY, 1, 0},
    {"Min", firnc_onnx_import_binary, "", 1, MANY, 1, 0},
    {"Mish", firnc_onnx_import_unary, "", 1, 1, 1, 18},
    {"Mod", firnc_onnx_import_only_known, "fmod", 2, 2, 1, 0},
    {"Mul", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"Neg", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Not", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"OneHot", firnc_onnx_import_one_hot, "axis", 3, 3, 1, 0},
    {"Or", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"PRelu", firnc_onnx_import_prelu, "", 2, 2, 1, 0},
    {"Pad", firnc_onnx_import_pad, "mode", 2, 4, 1, 0},
    {"Pow", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"RMSNormalization", firnc_onnx_import_rms_norm, "axis epsilon stash_type", 2, 2, 1, 23},
    {"RNN", firnc_onnx_import_recurrent, "activation_alpha activation_beta activations direction hidden_size layout", 3,
     6, 2, 0},
    {"Range", firnc_onnx_import_only_known, "", 3, 3, 1, 0},
    {"Reciprocal", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"ReduceL1", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceL2", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceLogSum", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceLogSumExp", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceMax", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceMean", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceMin", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceProd", firnc_onnx_import_only_known, REDUCTION, 1, 2, 1, 0},
    {"ReduceSum", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"ReduceSumSquare", firnc_onnx_import_reduce, REDUCTION, 1, 2, 1, 0},
    {"Relu", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Reshape", firnc_onnx_import_reshape, "allowzero", 2, 2, 1, 0},
    {"Resize", firnc_onnx_import_resize,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode",
     1, 4, 1, 0},
    {"ScatterND", firnc_onnx_import_scatter_nd, "reduction", 3, 3, 1, 0},
    {"Selu", firnc_onnx_import_unary, "alpha gamma", 1, 1, 1, 0},
    {"SequenceAt", firnc_onnx_import_sequence_at, "", 2, 2, 1, 0},
    {"Shape", firnc_onnx_import_shape, "end start", 1, 1, 1, 0},
    {"Sigmoid", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Sign", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Size", firnc_onnx_import_shape, "", 1, 1, 1, 0},
    {"Slice", firnc_onnx_import_slice, "", 3, 5, 1, 0},
    {"Softmax", firnc_onnx_import_softmax, "axis", 1, 1, 1, 0},
    {"Softplus", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Softsign", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"SpaceToDepth", firnc_onnx_import_depth, "blocksize", 1, 1, 1, 0},
    {"Split", firnc_onnx_import_split, "axis num_outputs", 1, 2, MANY, 0},
    {"SplitToSequence", firnc_onnx_import_split_to_sequence, "axis keepdims", 1, 2, 1, 0},
    {"Sqrt", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"Squeeze", firnc_onnx_import_squeeze, "", 1, 2, 1, 0},
    {"Sub", firnc_onnx_import_binary, "", 2, 2, 1, 0},
    {"Sum", firnc_onnx_import_binary, "", 1, MANY, 1, 0},
    {"Tanh", firnc_onnx_import_unary, "", 1, 1, 1, 0},
    {"ThresholdedRelu", firnc_onnx_import_unary, "alpha", 1, 1, 1, 0},
    {"Tile", firnc_onnx_import_tile, "", 2, 2, 1, 0},
    {"Transpose", firnc_onnx_import_transpose, "perm", 1, 1, 1, 0},
    {"Trilu", firnc_onnx_import_trilu, "upper", 1, 2, 1, 14},
    {"Unsqueeze", firnc_onnx_import_squeeze, "", 2, 2, 1, 0},
    {"Where", firnc_onnx_import_where, "", 3, 3, 1, 0},
    {"Xor", firnc_onnx_import_binary, "", 2, 2, 1, 0},
};

enum { OPS = sizeof ops / sizeof ops[0] };

const firnc_onnx_op *firnc_onnx_op_find(const char *name) {
    for (uint32_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

const char *firnc_onnx_op_nearest(const char *name) {
    const char *names[OPS + 1] = {NULL};
    for (uint32_t i = 0; i < OPS; i++)
        names[i] = ops[i].name;
    return firnc_nearest(name, names);
}
