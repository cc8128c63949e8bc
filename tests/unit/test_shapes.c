/* Tests the op table and the shape rules. tests/unit/support_shapes.h explains the lines of text that are the cases,
 * and derives further cases from the valid ones. */
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/op_words.h"
#include "plan/shapes/infer.h"
#include "tests/unit/support_shapes.h"
#include "tests/unit/support_test.h"

/* clang-format off */
#define EIGHT      "f32[1*] f32[1*] f32[1*] f32[1*] f32[1*] f32[1*] f32[1*] f32[1*]"
#define SIXTY_FOUR EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT " " EIGHT

/* The valid cases of each op, then the refused cases that support_shapes.h does not derive. */
static const char *const lines[] = {
    "cast f32[2*,3*] -> b16[2,3]",
    "cast f32[1*,1*,1*,1*,1*,1*,1*,2*] -> b16[1,1,1,1,1,1,1,2]",
    "cast c16[7*] -> f16[7]",
    "cast f32[2,3] -> f32 = SHAPE",
    "cast f32[4294967295,4294967295] -> b16 = SHAPE",
    "linear f32[4*,3] f32[5,3] f32[5] -> f32[4,5]",
    "linear b16[2*,4*,3] b16[5,3] f32[5] -> b16[2,4,5]",
    "linear f32[4*,3] f32[5*,3] -> f32[4,5]; 0~1",
    "linear b16[4*,3] f32[5*,3] -> b16[4,5]",
    "linear f32[4*,3] f32[3,5] f32[5] -> f32[4,5]; 1",
    "linear f32[4,3] f32[3,5] | f32[2147483648,65536,1] f32[2147483648,1] -> f32 = SHAPE",
    "linear_backward_input f32[4*,5] f32[5,3*] -> f32[4,3]",
    "linear_backward_input f32[4*,5] f32[3*,5] -> f32[4,3]; 1",
    "linear_backward_input b16[2*,4*,5] b16[5,3*] -> b16[2,4,3]",
    "linear_backward_weight f32[4,5*] f32[4,3*] | f32[2,4,5*] f32[2,4,3*] -> f32[5,3]",
    "linear_backward_weight b16[8,5*] b16[2,4,3*] -> f32[3,5]; 1",
    "linear_backward_weight_rows f32[4,5*] f32[4,3*] -> f32[1,3]; 0 0!5!-1 1!0",
    "linear_backward_weight_rows b16[8,5*] b16[2,4,3+] -> f32[1,5]; 1 2 1",
    "linear_backward_weight_rows f32[2,4,5+] f32[2,4,3*] -> f32[2,3]; 0 3 2",
    "linear_backward_weight_rows f32[2,4,5+] f32[2,4,3*] -> f32[5,3]; 0 0 5",
    "linear_backward_weight_rows f32[4,5] f32[4,3] -> f32; 0 3 3 = ATTRIBUTE",
    "linear_backward_weight_rows f32[4,5] f32[4,3] -> f32; 1 0 4 = ATTRIBUTE",
    "linear_backward_weight_rows f32[4,5] f32[4,3] -> f32; 0 1 9223372036854775807 = ATTRIBUTE",
    "sum_leading f32[2*,4*,5*] -> f32[5]; 1!0!4",
    "sum_leading b16[2*,4*,5*] -> f32[4,5]; 2",
    "sum_leading f32[2*,4*,5*] -> f32[2,4,5]; 3",
    "embedding i32[2*,3*] f32[7*,4*] -> f32[2,3,4]",
    "embedding i32[6*] f32[7*,4*] -> f32[6,4]",
    "embedding i32[1,1,1,1,1,1,1,1] f32[7,4] -> f32 = SHAPE",
    "embedding_backward i32[2,3] b16[2,3,4] f32[7,4] -> f32[7,4]; 7",
    "leading_rows f32[9*,4*] -> f32[1,4]; 1",
    "leading_rows f32[9*,4*] -> f32[5,4]; 5!10!0",
    "leading_rows f32[9+,4*] -> f32[9,4]; 9",
    "leading_rows f32[9*,4*] i64[1] -> f32[5,4]; 5!10!0",
    "leading_rows_backward b16[5*,4*] -> f32[9,4]; 9!4",
    "add/multiply b16[2*,3*,4] f32[4]* | f32[2*,3,4] b16[3,4]* | f32[2,3,4] f32[2,3,4]* -> f32[2,3,4]",
    "add/multiply f32[2,3,4] f32[2,3] | f32[4] f32[3,4] | f32[4] i32[4] -> f32 = SHAPE",
    "layer_norm f32[3,4] f32[4] f32[4] -> f32[3,4] f32[3] f32[3];; 1e-5",
    "layer_norm f32[3,4] f32[4] f32[4] -> b16[3,4] f32[3] f32[3]; 2; 1e-5",
    "layer_norm b16[2,3,4] f32[4] f32[4] -> b16[2,3,4] f32[2,3] f32[2,3];; 1e-5",
    "layer_norm_backward f32[2,3,4] f32[2,3,4] f32[4] f32[6] f32[2,3] -> f32[2,3,4]",
    "layer_norm_backward f32[3,4] f32[3,4] f32[4] f32[3] f32[3] -> f32[3,4]",
    "layer_norm_backward b16[2,3,4] f32[2,3,4] f32[4] f32[2,3] f32[2,3] -> b16[2,3,4]",
    "layer_norm_backward f32[3,4] f32[2,4] f32[4] f32[2] f32[2] -> f32 = SHAPE",
    "batch_norm f32[3*,4] f32[4] f32[4] -> f32[3,4] f32[4] f32[4] f32[4] f32[1,4];; 1e-5",
    "batch_norm f32[4294967295<,128<,1] f32[1] f32[1] -> f32[4294967295,128,1] f32[1] f32[1] f32[1] f32[4294967295,1];; 1e-5",
    "batch_norm f32[129*,4] f32[4] f32[4] -> b16[129,4] f32[4] f32[4] f32[4] f32[2,4];; 1e-5",
    "batch_norm b16[2*,3*,4] f32[4] f32[4] -> b16[2,3,4] f32[4] f32[4] f32[4] f32[1,4];; 1e-5",
    "batch_norm_backward b16[130,4] f32[130,4] f32[4] f32[4] f32[4] -> f32[130,4] f32[4] f32[4] f32[2,2,4]",
    "batch_norm_backward f32[3,4] f32[3,4] f32[4] f32[3] f32[4] -> f32 f32 f32 f32 = SHAPE",
    "batch_norm_backward f32[4294967295,129,1] b16[4294967295,129,1] f32[1] f32[1] f32[1] -> f32 f32 f32 f32 = SHAPE",
    "batch_norm_fixed b16[3,4] f32[4] f32[4] f32[4] f32[4] -> f32[3,4];; 1e-5",
    "batch_norm_fixed b16[3,4] f32[4] f32[4] f32[4] f32[1] -> f32;; 1e-5 = SHAPE",
    "batch_norm_fixed_backward f32[3,4] b16[3,4] f32[4] f32[4] f32[4] -> b16[3,4] f32[4] f32[4] f32[1,2,4];; 1e-5",
    "batch_norm_fixed_backward f32[4294967295,129,1] b16[4294967295,129,1] f32[1] f32[1] f32[1] -> f32 f32 f32 f32;; 1e-5 = SHAPE",
    "running_statistics f32[2,4] f32[4] f32[4] f32[4] f32[4] -> f32[2,4]; 2!1; 0.1",
    "store_statistics f32[4] f32[4] f32[2,4] -> f32[4] f32[4]",
    "layer_norm_backward_affine b16[2,3,4] f32[2,3,4] f32[2,3] f32[2,3] -> f32[4] b16[4]",
    "layer_norm_backward_affine b16[3,4] f32[3,4] f32[3] f32[3] -> f32 f32; 6 = ATTRIBUTE",
    "rms_norm f32[3,4] f32[4] -> f32[3,4] f32[3];; 1e-5",
    "rms_norm f32[3,4] f32[4] -> b16[3,4] f32[3]; 2; 1e-5",
    "rms_norm b16[2,3,4] f32[4] -> b16[2,3,4] f32[2,3];; 1e-5",
    "rms_norm_backward f32[3,4] f32[3,4] f32[4] f32[3] -> f32[3,4]",
    "rms_norm_backward b16[2,3,4] f32[2,3,4] f32[4] f32[2,3] -> b16[2,3,4]",
    "rms_norm_backward f32[2,3,4] f32[2,3,4] f32[4] f32[5] | f32[3,4] f32[2,4] f32[4] f32[2] -> f32 = SHAPE",
    "rms_norm_backward_gain b16[2,3,4] f32[2,3,4] f32[2,3] -> f32[4]",
    "rms_norm_backward_gain b16[3,4] f32[3,4] f32[3] -> f32; 6 = ATTRIBUTE",
    "broadcast_add/broadcast_multiply/subtract/divide/minimum/maximum/power f32[4] f32[4] | f32[4*] f32[1] -> f32[4]",
    "broadcast_add/broadcast_multiply/subtract/divide/minimum/maximum/power f32[2,3,4] b16[2,3,4] -> f32[2,3,4]",
    "broadcast_add/broadcast_multiply/subtract/divide/minimum/maximum/power b16[2>,3*,1] b16[5*,1*,1,4*] -> b16[5,2,3,4]",
    "broadcast_add/broadcast_multiply/subtract/divide/minimum/maximum/power f32[1*] f32[1*,1*,1*,1*,1*,1*,1*,2>] -> f32[1,1,1,1,1,1,1,2]",
    "broadcast_add/broadcast_multiply/subtract/divide/minimum/maximum/power f32[4,3] f32[4] -> f32 = SHAPE",
    "less/less_or_equal/equal b16[2>,3] f32[3] | b16[2>,1] b16[3*] -> f32[2,3]",
    "less/less_or_equal/equal i32[3] i32[3] -> f32 = SHAPE",
    "select f32[2] f32[2] f32[2] -> f32[2]",
    "select f32[2>,1] f32[3*] -> f32[2,3]",
    "select f32[2>,1] - b16[3*] -> b16[2,3]",
    "select f32[2>,1] b16[3*] f32[4*,1*,1] -> f32[4,2,3]",
    "select f32[2] f32[3] f32[1] -> f32 = SHAPE",
    "select f32[2] | f32[2] - - -> f32 = OPERANDS",
    "larger_share/power_backward f32[2,3] b16[3]* f32[2,1]* | b16[2,3] f32[1]* f32[2,3]* -> f32[2,3]",
    "larger_share/power_backward f32[1,3] f32[2,3] f32[1] | f32[3] f32[3] f32[1,3] | f32[2,3] f32[3] f32[2] -> f32 = SHAPE",
    "sum_to f32[2>,3*,4] -> f32[4]; 4~3",
    "sum_to f32[3,4] -> f32[3,4]; 3 4!-4!4294967296",
    "sum_to b16[2>,3,4*] -> f32[3,1]; 3 1",
    "sum_to f32[2,3*,4] -> b16[2,1,4]; 2 1 4",
    "sum_to f32[2>,1*,1*,1*,1*,1*,1*,4] -> f32[1,1,1,1,1,1,1,4]; 1 1 1 1 1 1 1 4",
    "sum_to f32[3,4] -> f32; 1 3 4 = SHAPE",
    "sum_to f32[3,4] -> f32 = ATTRIBUTE",
    "sum_to f32[3,4] -> f32; 1 0 4 = ATTRIBUTE",
    "exp/log/sqrt/reciprocal/erf/abs/sign/floor/sin/cos/atan/log_one_plus/round/sigmoid b16[2,3] -> f32[2,3]",
    "clip/affine b16[2,3] -> b16[2,3];; -1 2",
    "leaky_relu/elu b16[2,3] -> b16[2,3];; -1",
    "erf_backward/softmax_backward f32[2,3] f32[2,3] -> f32[2,3]",
    "clip_backward f32[2,3] f32[2,3] -> f32[2,3];; -1 2",
    "clip_backward/leaky_relu_backward/elu_backward f32[3] f32[3] -> f32;; inf = ATTRIBUTE",
    "leaky_relu_backward/elu_backward f32[2,3] f32[2,3] -> f32[2,3];; -1",
    "to_int32 b16[2,3] -> i32[2,3]",
    "to_float32 i32[2,3] -> f32[2,3]",
    "fake_quantize f32[3] f32[3]* f32[1]* -> f32[3];; 0 255",
    "fake_quantize b16[2>,3] f32[3]* f32[1]* -> b16[2,3];; -128 127",
    "fake_quantize f32[2,3*] f32[2,1]* f32[2,1]* -> f32[2,3];; 0 255",
    "fake_quantize f32[2,3] f32[2] f32[1] | f32[3] f32[2,3] f32[1] -> f32;; 0 255 = SHAPE",
    "fake_quantize_backward f32[2,3] f32[2,3] f32[3]* f32[1]* -> f32[2,3];; -128 127",
    "fake_quantize_backward f32[3] f32[3] f32[3] f32[1] -> f32;; 0 inf = ATTRIBUTE",
    "random_uniform f32[2,3] -> f32[2,3]; 7",
    "random_normal b16[2,3] -> f32[2,3]; 7",
    "random_normal f32[2,3] -> f32; -1 = ATTRIBUTE",
    "top_k f32[2*,5*] -> i32[2,2]; 2!6",
    "top_k f32[1*,2147483647<] -> i32[1,1]; 1",
    "top_k f32[1*,5+] -> i32[1,5]; 5 1",
    "top_k b16[2*,3*,5*] -> i32[2,3,4]; 4",
    "gelu b16[2,3] -> b16[2,3]; 1",
    "gelu_backward b16[2,3] f32[2,3] -> b16[2,3]",
    "relu f32[5] -> f32[5]",
    "relu_backward f32[5] f32[5] -> f32[5]",
    "tanh c16[5] -> c16[5]",
    "tanh_backward c16[5] c16[5] -> c16[5]",
    /* rotation, heads, rotated, rotary_dim, interleaved; base */
    "rotary_embedding f32[5*,24] -> f32[5,24]; 0 3 2!4!0 8!7!10!0 1; 10000!0.5!nan!inf",
    "rotary_embedding b16[2*,5*,24] -> f32[2,5,24]; 0 3 3 2; 1",
    "rotary_embedding f32[5*,24+] -> b16[5,24]; 2 1 1 24; 10000",
    "rotary_embedding b16[2*,5*,24] -> b16[2,5,24]; 2 3 2 8 1; 10000",
    "rotary_embedding f32[2*,5*,24] i64[1] -> f32[2,5,24]; 0 3 2!4!0 8!7!10!0 1; 10000",
    "rotary_embedding f32[5,24] -> f32; 0 4294967296 1 8 1; 1 = ATTRIBUTE",
    "rotary_embedding/rotary_embedding_backward f32[5,24] -> f32; 0 5 2 2 1; 10000 = SHAPE",
    "rotary_embedding_backward f16[2*,5*,24] -> f16[2,5,24]; 1 3 2 8 1; 10000",
    "rotary_embedding_backward f32[5,24] -> f32; 0 3 2 9 1; 10000 = ATTRIBUTE",
    "dropout f32[2,3] -> f32[2,3]",
    "dropout f32[2,3] -> f32[2,3]; 4294967039; 0.1",
    /* heads, kv_heads, causal, half_softmax, rng_id, rows; scale, dropout_rate */
    "attention f32[2*,5*,12] -> f32[2,5,4] f32[2,2,5] f32[2,2,5] f32[2,2,16,5]; 2 2!0!4 1 0!1 0 16; 0.5",
    "attention f32[2*,5*,12] -> f32[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,5]; 4 1 1 0 0 16; 0.5",
    "attention b16[2*,5*,16] f32[4] -> b16[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,5]; 4 2 0 1 0 16; 0.5",
    "attention f32[2*,5*,12] -> f32[2,5,4] f32[2,2,5] f32[2,2,5] f32[2,2,16,5]; 2 2 1 0 3 16; 0.5 0.1",
    "attention f32[2*,5*,12] -> f32[2,5,4] f32[2,2,5] f32[2,2,5] f32[2,2,2147483647,5]; 2 2 1 0 3 2147483647; 0.5 0.1",
    "attention f32[2,5,21] -> f32 f32 f32 f32; 3 2 1 0 0 16; 0.5 = ATTRIBUTE",
    "attention b16[2,5,16] f32[2] -> b16 f32 f32 f32; 4 2 0 1 0 16; 0.5 = SHAPE",
    "attention f32[2,5,4] -> f32 f32 f32 f32; 2 2 1 0 0 16; 0.5 = SHAPE",
    "attention f32[2,5,12] -> f32 f32 f32 f32; 4294967295 4294967295 1 0 0 16; 0.5 = SHAPE",
    "cross_attention f32[2,5*,8] f32[2,3,4] f32[2,3,4] -> f32[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,3]; 4 2!3 0 0!1 0 16; 1",
    "cross_attention f32[2,5,8] f32[2,3,4] f32[2,3,4] f32[2,1,5,3] -> f32[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,3]; 4 2 0 0 0 16; 1",
    "cross_attention f32[2,5*,8] f32[2,3,8] f32[2,3,8] - f32[4] -> f32[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,3]; 4 4 1 0 0 16; 0.5",
    "cross_attention b16[2,5,8] b16[2,3,4] b16[2,3,4] f32[1*,4,5,3] f32[4] -> b16[2,5,8] f32[2,4,5] f32[2,4,5] f32[2,4,16,3]; 4 2 0 1 0 16; 0.5",
    "cross_attention f32[2,5,8] f32[2,3,4] f32[2,3,4] f32[2,1,5,4] -> f32 f32 f32 f32; 4 2; 1 = ATTRIBUTE",
    "cross_attention f32[2,5,8] f32[2,3,4] f32[2,3,4] f32[5,3] | f32[2,5,8] f32[2,3,4] f32[2,3,4] - f32[2] | f32[2,5,8] f32[1,3,4] f32[1,3,4] | f32[2,5,8] f32[2,3,6] f32[2,3,6] -> f32 f32 f32 f32; 4 2 0 0 0 16; 1 = SHAPE",
    "cross_attention_backward f32[2,5,8] f32[2,5,8] f32[2,7,4] f32[2,7,4] f32[2,4,5] f32[2,4,5] f32[1*,1,5,7] -> f32[2,5,8] f32[2,7,4] f32[2,7,4] f32[2,4,33,7]; 4 2 0 0 0 16; 0.5",
    "cross_attention_backward f32[2,5,4] f32[2,5,8] f32[2,7,4] f32[2,7,4] f32[2,4,5] f32[2,4,5] | f32[2,5,8] f32[2,5,8] f32[2,7,4] f32[2,7,4] f32[2,4,7] f32[2,4,5] -> f32 f32 f32 f32; 4 2 0 0 0 16; 0.5 = SHAPE",
    "attention_backward b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5] -> b16[2,5,16] f32[2,4,33,5]; 4 2!3 1 0 0 16; 0.5",
    "attention_backward b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5] -> b16[2,5,16] f32[2,4,3,5]; 4 2 1 1 0 1; 0.5",
    "attention_backward f32[2,5,4] f32[2,5,12] f32[2,2,5] f32[2,2,5] f32[2] -> f32[2,5,12] f32[2,2,33,5]; 2 2 1 0 3 16; 0.5 0.1",
    "attention_backward b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5] -> b16[2,5,16] f32[2,4,33,5]; 4 2 1 1 0 16; 0.5",
    "attention_backward b16[2,5,8] b16[2,5,16] f32[2,4,5] f32[2,4,5] -> b16[2,5,16] f32[2,4,4294967295,5]; 4 2 1 1 0 2147483647; 0.5",
    "attention_backward b16[2,5,6] b16[2,5,16] f32[2,4,5] f32[2,4,5] | b16[2,5,8] b16[2,5,16] f32[2,5,4] f32[2,4,5] -> b16 f32; 4 2 1 0 0 16; 0.5 = SHAPE",
    "cached_attention f32[1,5*,12] f32[1,9*,8] i64[1] -> f32[1,9,8] f32[1,5,4] f32[11,2]; 2 2!0!4 0!1; 0.5",
    "cached_attention b16[1,5*,16] b16[1,9*,8] i64[1] f32[4] -> b16[1,9,8] b16[1,5,8] f32[11,4]; 4 2!3 1; 0.5",
    "cached_attention f32[2,5,12] f32[1,9,8] i64[1] | f32[1,5,12] f32[2,9,8] i64[1] | f32[1,5,12] f32[1,9,6] i64[1] | f32[1,5,12] f32[9,8] i64[1] | f32[1,5,12] f32[1,9,8] i64[1] f32[3] | f32[1,5,12] f32[1,4294967294,8] i64[1] -> f32 f32 f32; 2 2 0; 0.5 = SHAPE",
    "advance i64[1] i32[1] -> i64[1]; 16!0!4294967296",
    "cross_entropy f32[6,7] i32[6] | b16[6,7] i32[2,3] -> f32[1] f32[6] f32[6]",
    "cross_entropy f32[2,3,7] i32[2,3] -> f32[1] f32[2,3] f32[2,3]",
    "cross_entropy f32[7] i32[1] -> f32 f32 f32 = SHAPE",
    /* layout, classes, rows, half, weighted, ignore_index, scaling; label_smoothing, factor */
    "linear_cross_entropy f32[2,35,5] f32[9,5] i32[70] f32[1] -> f32[9,5] f32[1] f32[2,35,5] f32[32,9] f32[3,32]; 0 9~8 32!0!33!96!9223372036854775807 0!1 0 -1!0 0!1; 0!0.5 1!2",
    "linear_cross_entropy f32[2,35,5] f32[9,5] i32[70] f32[1] - f32[1] -> f32[9,5] f32[1] f32[2,35,5] f32[32,9] f32[3,32]; 0 9 32 0 1 9 0!1; 0 1",
    "linear_cross_entropy f32[2,35,5] f32[9,5] i32[70] f32[1] f32[70] -> f32[9,5] f32[1] f32[2,35,5] f32[32,9] f32[3,32]; 0 9 32 0 1!0 -1; 0 1",
    "linear_cross_entropy b16[70,5] b16[5,9] i32[2,35] f32[1] f32[70] | b16[70,5] f32[5,9] i32[2,35] f32[1] f32[70] -> f32[5,9] f32[1] b16[70,5] b16[70,9] f32[3,70]; 1 9 70 1 1 8 1; 0.5 2",
    "linear_cross_entropy b16[70,5] b16[9,5] i32[70] f32[1] -> f32 f32 b16 b16 f32; 0 9 32 0 0 -1; 0 1 = ATTRIBUTE",
    "linear_cross_entropy f32[2,35,5] f32[9,5] i32[70] f32[1] -> f32 f32 f32 f32 f32; 0 9 32 0 1 10; 0 1 = ATTRIBUTE",
    "linear_cross_entropy f32[2,35,5] f32[9,5] i32[70] f32[1] - f32[1] -> f32 f32 f32 f32 f32; 0 9 32 0 0 -1; 0 1 = ATTRIBUTE",
    "cross_entropy_backward f32[1] f32[6,7] i32[6] f32[6] f32[6] -> f32[6,7]",
    "cross_entropy_backward f32[1] b16[6,7] i32[2,3] f32[6] f32[6] -> b16[6,7]",
    "mean_squared_error f32[2,3] f32[2,3] -> f32[1]",
    "mean_squared_error_backward f32[1] b16[2,3] f32[2,3] -> f32[2,3]",
    "loss_seed f32[1] -> f32[1];; 1",
    "loss_seed -> f32[1];; 0.25",
    "accumulate f32[2,3] b16[2,3] -> f32[2,3]",
    "sum_of_squares/largest_magnitude f32[2*,3*] f32[4*] -> f32[4] f32[1,1]; 0!4!-1",
    "sum_of_squares f32[4097*] f32[4*] -> f32[4] f32[1,2]",
    "sum_of_squares/largest_magnitude f32[2*,3*] f32[4+] -> f32[4] f32[1,1]; 3",
    "sum_of_squares f32[64*,64*,3*,7*] f32[4*] -> f32[4] f32[1,21]",
    "sum_of_squares b16[64*,64*] f32[4+] f32[1] -> f32[4] f32[1,1]; 3",
    "sum_of_squares f32[4096*,1048577*] f32[4*] -> f32[4] f32[2,1048576]",
    "sum_of_squares f32[2,3] f32[4] f32[2] -> f32 f32 = SHAPE",
    "largest_magnitude b16[4097*] f32[4*] -> f32[4] f32[1,2]",
    "gradient_magnitude f32[4] -> f32[1]",
    "sum_of_scaled_squares f32[2*,3*] f32[4*] f32[1] f32[1] -> f32[4] f32[1,1]",
    "sum_of_scaled_squares f32[2*,3*] f32[4+] f32[1] -> f32[4] f32[1,1]; 3!4",
    "sum_of_scaled_squares b16[4097*] f32[4*] f32[1] f32[1] -> f32[4] f32[1,2]",
    "gradient_norm f32[4*] -> f32[1] i32[1]",
    "gradient_norm f32[4*] f32[1] | f32[4*] f32[1] f32[1] -> f32[1] i32[1] f32[1]",
    "gradient_norm f32[4] f32[1] | f32[4] - f32[1] -> f32 i32 = OPERANDS",
    "gradient_norm f32[4] -> f32 i32 f32 = OPERANDS",
    /* Recurrent ops. */
    "lstm f32[3*,2,20] f32[20,5] f32[2,5] f32[2,5] | f32[3*,2*,20] f32[20,5] -> f32[3,2,5] f32[2,5] f32[2,5] f32[3,2,20] f32[3,2,5]; 0 1",
    "lstm b16[3*,2,20] b16[20,5] b16[2,5] b16[2,5] -> b16[3,2,5] b16[2,5] f32[2,5] f32[1,2,20] f32[1,2,5]; 1",
    "lstm f32[3,2,15] f32[15,5] | f32[3,2,16] f32[20,5] | f32[1,1,4] f32[4,1073741825] -> f32 f32 f32 f32 f32; 0 1 = SHAPE",
    "lstm_backward f32[20,5] f32[3,2,20] f32[3,2,5] f32[3,2,5] f32[2,5] f32[2,5] f32[2,5] | f32[20,5] f32[3,2,20] f32[3,2,5] -> f32[3,2,20] f32[2,5] f32[2,5] f32[2,2,5]",
    "lstm_backward b16[20,5] f32[3,2,20] f32[3,2,5] - - f32[2,5] -> b16[3,2,20] f32[2,5] b16[2,5] f32[2,2,5]; 1",
    "lstm_backward f32[20,5] f32[3,2,20] f32[1,2,5] | f32[20,5] f32[3,2,16] f32[3,2,5] | f32[15,5] f32[3,2,20] f32[3,2,5] -> f32 f32 f32 f32 = SHAPE",
    "lstm_backward b16[20,5] b16[3,2,20] f32[3,2,5] -> b16 f32 f32 f32 = SHAPE",
    "gru f32[3*,2,15] f32[15,5] f32[15] f32[2,5] | f32[3*,2*,15] f32[15,5] -> f32[3,2,5] f32[2,5] f32[3,2,20]; 1 0 1",
    "gru f32[3*,2,15] f32[15,5] - f32[2,5] -> f32[3,2,5] f32[2,5] f32[3,2,20]; 0 0 1",
    "gru b16[3*,2,15] b16[15,5] f32[15] b16[2,5] -> b16[3,2,5] b16[2,5] f32[1,2,20]; 0 1",
    "gru f32[3,2,20] f32[20,5] | f32[1,1,3221225475] f32[3221225475,1073741825] -> f32 f32 f32; 1 0 1 = SHAPE",
    "gru_backward f32[15,5] f32[3,2,20] f32[3,2,5] f32[3,2,5] f32[2,5] f32[2,5] | f32[15,5] f32[3,2,20] f32[3,2,5] -> f32[3,2,15] f32[3,2,15] f32[2,5] f32[2,2,5]; 1",
    "gru_backward b16[15,5] f32[3,2,20] b16[3,2,5] - b16[2,5] -> b16[3,2,15] b16[3,2,15] f32[2,5] f32[2,2,5]; 0 1",
    "rnn f32[3*,2*,5] f32[5,5] -> f32[3,2,5] f32[2,5] f32[2,5]",
    "rnn b16[3*,2,5] b16[5,5] b16[2,5] -> b16[3,2,5] b16[2,5] f32[2,5]; 1 1",
    "rnn f32[3,2,5] f32[5,5] f32[3,5] -> f32 f32 f32 = SHAPE",
    "rnn_backward f32[5,5] f32[3,2,5] f32[3,2,5] f32[2,5] | f32[5,5] f32[3*,2*,5] -> f32[3,2,5] f32[2,5] f32[1,2,5]",
    "rnn_backward b16[5,5] b16[3*,2*,5] -> b16[3,2,5] f32[2,5] f32[1,2,5]; 1 1",
    "rnn_backward f32[4,4] f32[3,2,5] -> f32 f32 f32 = SHAPE",
    "recurrent_backward_weight f32[3,2,20]* f32[3,2,5<] -> f32[20,5]",
    "recurrent_backward_weight f32[3,2,15] f32[3,2,5] - f32[3,2,20] -> f32[15,5]",
    "recurrent_backward_weight b16[3,2,15] b16[3,2,5] b16[2,5] f32[3,2,20] -> f32[15,5]; 1",
    "recurrent_backward_weight f32[1,1,1] f32[1,1,1] - f32[1,1,4] | f32[6,20] f32[3,2,5] | f32[3,2,20] f32[3,2,5] f32[3,5] | f32[3,2,15] f32[3,2,5] - f32[1,2,20] -> f32 = SHAPE",
    /* Convolutions: groups, then the pairs stride, dilation, before and after. */
    "conv f32[1*,3>,3>,3] f32[4*,3<,3<,3] -> f32[1,1,1,4]; 1 1:1!1:0 1:1~2:1!0:1",
    "conv f32[1*,4294967295<,1*,1] f32[1*,1*,1,1] -> f32[1,4294967295,1,1]; 1 1:1 1:1 0~1:0",
    "conv f32[1*,9*,9*,6] f32[4,2*,3*,3] -> f32[1,3,3,4]; 2 3:2 2:2",
    "conv f32[2*,5*,6*,3] f32[4*,3*,2*,3] -> b16[2,3,5,4]; 1 1:1 1:1",
    "conv f32[1*,1*,1*,1] f32[1*,3<,3<,1] -> f32[1,1,1,1]; 1 1:1 1:1 1:1 1:1",
    "conv b16[2*,5*,6*,3] b16[4,3*,2*,3] f32[4] -> f32[2,5,8,4]; 1 1:1 1:1 1:0 1:3",
    "conv f32[1*,1*,1*,4294967295] f32[1*,1,1,4294967295] -> f32[1,1,1,1]; 1 1:1 1:1",
    "conv f32[1,1,1,2] f32[2,1,1,2147483649] | f32[1,9,9,4] f32[4,2,3,3] | f32[1,9,9,6] f32[3,2,3,3] -> f32; 2 1:1 1:1 = SHAPE",
    "conv f32[1,2,2,3] f32[4,3,3,3] | f32[1,65538,1,1] f32[1,65536,1,1] | f32[1,3,3,3] f32[4,3,3,3] f32[3] -> f32; 1 1:1 1:1 = SHAPE",
    "conv_backward_input f32[2*,3,5,4] f32[4,3,2,3*] -> f32[2,5,6,3]; 1~3 1:1!0 1:1 0 0 5~6 6~5",
    "conv_backward_input f32[1*,3,3,4] f32[4,2,3,3*] -> f32[1,10,10,6]; 2 3:2 2:2 0 0 10 10",
    "conv_backward_input f32[2,3,5,4] f32[8,3,2,3] -> f32; 1 1:1 1:1 0 0 5 6 = SHAPE",
    "conv_backward_input f32[1,1,1,4] f32[4,1,1,4294967295] -> f32; 2 1:1 1:1 0 0 1 1 = SHAPE",
    "conv_backward_weight f32[2,3,5,4*] f32[2,5,6,3*] -> f32[4,3,2,3]; 1~2 1:1 1:1 0 0 3:2~2:2!0:2",
    "conv_backward_weight b16[2,3,5,4*] b16[2,5,6,3*] -> b16[4,3,2,3]; 1 1:1 1:1 0 0 3:2",
    "conv_backward_weight f32[1,3,3,4] f32[1,10*,10<,6] -> f32[4,2,3,3]; 2 3:2 2:2 0 0 2:3",
    /* Pools: kernel, stride, dilation, before and after. */
    "max_pool f32[2*,5*,6*,3*] -> f32[2,2,3,3]; 2:2~6:2!0:2 2:2 1:1",
    "max_pool b16[1*,1*,1*,3*] -> f32[1,65535,1,3]; 1:65535 1:1 1:1 65534:65534",
    "max_pool_backward f32[2,2,3,3] f32[2,5<,6>,3] -> f32[2,5,6,3]; 2:2 2:2 1:1",
    "average_pool f32[2*,5*,6*,3*] -> f32[2,2,3,3]; 2:2 2:2 1:1 0 0 1",
    "average_pool_backward f32[2*,2,3,3*] -> f32[2,5,6,3]; 2:2 2:2 1:1 0 0 0 5~6 6",
    "concat f32[2*,3] f32[2*,3] -> f32[4,3]; 0!2!-1",
    "concat f32[4294967294<] f32[1] -> f32[4294967295]",
    "concat " SIXTY_FOUR " -> f32[64]",
    "concat b16[2*,3*]* -> b16[2,3]",
    "concat f16[2,3*]* f16[2,1*] -> f16[2,4]; 1",
    "concat f32[2*,3] f32[4*,3] f32[1*,3] -> f32[7,3]",
    "concat f32[2,3*,5]* f32[2,1*,5] -> f32[2,4,5]; 1",
    "concat  | f32[2] - f32[2] | f32[2] f32[2] - -> f32 = OPERANDS",
    "concat f32[2,3] b16[2,3] | f32[2,3] f32[2,3] f32[2,4] -> f32 = SHAPE",
    "concat i32[2,3] i32[2,3] -> i32 = SHAPE",
    /* Axes as bits, and whether the dimensions stay. */
    "reduce_sum f32[2*,3*] -> f32[3]; 1!0!4!-1!-9223372036854775808",
    "reduce_sum f32[5*] -> f32[1]; 1",
    "reduce_sum f32[2*,3*] -> f32[1]; 3",
    "reduce_sum b16[2*,3*,4*] -> f32[2,4]; 2",
    "reduce_sum f32[2*,3*,4*] -> b16[1,3,1]; 5 1",
    "reduce_sum f32[1*,2*,1*,2*,1*,2*,1*,2*] -> f32[1,1,1,1,1,1,1,1]; 255 1",
    "reduce_max b16[2*,3*,4*] -> b16[3]; 5!8",
    "reduce_sum_backward f32[1] -> f32[4294967295]; -4294967295!-4294967296!-9223372036854775808!9223372036854775807",
    "reduce_sum_backward f32[2,4]* | f32[2,1,4]* -> f32[2,3,4]; 2 -3 4",
    "reduce_sum_backward f32[1] -> f32[2,2,2,2,2,2,2,2]; -2 -2 -2 -2 -2 -2 -2 -2",
    "reduce_sum_backward f32[2,3,4] -> f32; 2 -3 4 = SHAPE",
    "reduce_sum_backward f32[2,4] -> f32; 2 4 = ATTRIBUTE",
    "reduce_sum_backward f32[2,4] -> f32; 2 0 -3 4 = ATTRIBUTE",
    "reduce_sum_backward f32[2,4] -> f32 = ATTRIBUTE",
    "reduce_sum_backward f32[1] -> f32; -4294967295 -4294967295 -4294967295 -4294967295 = SHAPE",
    "reduce_max_backward f32[2,4] f32[2,3*,4] f32[2,4] -> f32[2,3,4]; 2!8",
    "reduce_max_backward f32[2,1,4] f32[2,3*,4] f32[2,1,4] -> f32[2,3,4]; 2 1",
    "reduce_max_backward f32[2,4] b16[2,3*,4] b16[2,4] -> b16[2,3,4]; 2",
    "arg_max f32[5*] | f32[2147483647<] -> i32[1]; 0 1",
    "arg_max f32[5*] -> i32[1]; 0!1!-1",
    "arg_max b16[2*,3*,4*] -> i32[2,4]; 1",
    /* Matrices of batches, each turned or not. */
    "matmul f32[2*,3] f32[3,4*] -> f32[2,4]; 0~1 0~1",
    "matmul f32[2,2*,3] f32[2,3,4*] -> f32[2,2,4]",
    "matmul f32[5,3,2*] f32[5,3,4*] -> f32[5,2,4]; 1",
    "matmul f32[5,3,2*] f32[5,4*,3] -> f32[5,2,4]; 1 1",
    "matmul b16[5,6,2*,3] b16[5,6,4*,3] -> b16[5,6,2,4]; 0 1",
    "matmul f32[3] f32[3] | f32[4294967295,1] f32[1,4294967295] -> f32 = SHAPE",
    "concat_int32 i32[2,3*]* i32[2,1*] -> i32[2,4]; 1",
    "concat_int32 f32[2,3] f32[2,1] -> f32; 1 = SHAPE",
    "gradient_factors f32[1] -> f32[3]; 0!3!-1; 0!1",
    "gradient_factors - f32[1] -> f32[3]; 1; 2!0!inf",
    "gradient_factors f32[1] | -> f32[3]; 2; 2",
    "gradient_factors f32[1] f32[1] | - f32[1] f32[1] f32[1] | f32[1] f32[1] f32[1] f32[1] -> f32[3]; 1; 2",
    "gradient_factors -> f32[3]",
    "gradient_factors - f32[1] f32[1] | - f32[1] - f32[1] | f32[1] -> f32; 1; 2 = OPERANDS",
    "gradient_factors - - f32[1] f32[1] | - f32[1] -> f32 = OPERANDS",
    "gradient_factors - - f32[1] f32[1] | f32[1] f32[1] -> f32; 2; 2 = OPERANDS",
    "gradient_factors f32[1] - -> f32[3] = OPERANDS",
    "gradient_factors - - -> f32[3]; 2; 2 = OPERANDS",
    "decay_factors f32[1] f32[3] -> f32[4]",
    "sgd f32[2,3] f32[2,3] f32[1] f32[4] -> f32[2,3];; 0!0.5",
    "sgd f32[2,3] b16[2,3] f32[1] f32[3] -> f32[2,3];; 0.1",
    "sgd_momentum f32[2] f32[2] f32[1] f32[2] f32[3] -> f32[2] f32[2]; 1; 0.9",
    "sgd_momentum f32[2] f32[2] f32[1] f32[2] f32[4] -> f32 f32;; 0.5 0 0.5 = ATTRIBUTE",
    "sgd_momentum f32[2] f32[2] f32[1] f32[2] -> f32 f32; 1; -0.9 = ATTRIBUTE",
    "adamw f32[2,3] f32[2,3] f32[1] f32[2,3] f32[2,3] f32[1] f32[1] f32[3] -> f32[2,3] f32[2,3] f32[2,3]; 1; 0.9 0.95 1e-8",
    "adamw f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1] f32[4] -> f32[2] f32[2] f32[2]; 1; 0.9 0.95 1e-8 0!0.5",
    "adamw f32[2,3] f32[2,3] f32[1] f32[2,3] f32[2,3] f32[1] f32[1] -> f32[2,3] f32[2,3] f32[2,3]; 1; 0.9 0.95 1e-8 0.01",
    "adamw f32[2] f32[2] f32[1] f32[2] f32[2] f32[1] f32[1] -> f32 f32 f32; 1; 0.9 0.95 1 -1 = ATTRIBUTE",
    "adam/radam f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3] f32[2,3];; 0.9 0.99 1e-6 0.1",
    "adam_amsgrad f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3] f32[2,3] f32[2,3]; 1 1; 0.9 0.99 1e-6 0.1",
    "nadam f32[2] c16[2] f32[1] f32[2] f32[2] f32[1] i64[1] f32[3] -> f32[2] f32[2] f32[2] f32[1];; 0.9 0.99 1e-6 0.1 4e-3",
    "adamax f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3] f32[2,3]; 1; 0.9 0.99 1e-6 0.1",
    "lamb f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[3] -> f32[2,3] f32[2,3] f32[2,3] f32[1,1] f32[1,1]; 1; 0.9 0.99 1e-6 0.1",
    "lion f32[2,3] f16[2,3] f32[1] f32[2,3] f32[3] -> f32[2,3] f32[2,3];; 0.9 0.99 0.1",
    "lion f32[2,3] f16[2,3] f32[1] f32[2,3] -> f32[2,3] f32[2,3];; 0.9 0.9",
    "rmsprop f32[2,3] f16[2,3] f32[1] f32[2,3] f32[3] -> f32[2,3] f32[2,3];; 0.99 1e-8 0.1",
    "rmsprop f32[2,3] f16[2,3] f32[1] f32[2,3] -> f32[2,3] f32[2,3];; 0.9 1e-8",
    "rmsprop_momentum f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[3] -> f32[2,3] f32[2,3] f32[2,3];; 0.99 1e-8 0.1 0.9",
    "rmsprop_momentum/rmsprop_centered f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] -> f32[2,3] f32[2,3] f32[2,3];; 0.9 1e-8",
    "rmsprop_centered f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[3] -> f32[2,3] f32[2,3] f32[2,3];; 0.99 1e-8 0.1",
    "rmsprop_centered_momentum f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[2,3] f32[3] -> f32[2,3] f32[2,3] f32[2,3] f32[2,3];; 0.99 1e-8 0.1 0.9",
    "rmsprop_centered_momentum f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[2,3] -> f32[2,3] f32[2,3] f32[2,3] f32[2,3];; 0.9 1e-8",
    "rprop f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] -> f32[2,3] f32[2,3] f32[2,3];; 0.5 1.2 50 50",
    "rprop f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] f32[3>] | f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] f32[4<] -> f32[2,3] f32[2,3] f32[2,3];; 0.5 1.2 1e-6 50",
    "rprop f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] -> f32[2,3] f32[2,3] f32[2,3];; 0.5!1 1.2!1 0 50",
    "rprop f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] i64[1] -> f32 f32 f32;; 0.5 1.2 2 1 = ATTRIBUTE",
    "adagrad f32[2,3] f16[2,3] f32[1] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3]; 1; 0 1e-6 0.1",
    "adadelta f32[2,3] f16[2,3] f32[1] f32[2,3] f32[2,3] f32[3] -> f32[2,3] f32[2,3] f32[2,3]; 1; 0.9 1e-6 0.1",
    "asgd f32[2,3] f16[2,3] f32[1] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3]; 1; 1e-4 0.75 1e6 0.1",
    "adafactor f32[2,3] f16[2,3] f32[1] f32[2,3] i64[1] f32[3] -> f32[2,3] f32[2,3] f32[1,1]; 1; 1e-30 1e-3 1 -0.8 0.1",
    "adafactor f32[2,3] f16[2,3] f32[1] f32[2,3] i64[1] -> f32[2,3] f32[2,3] f32[1,1]; 1; 1e-30 0 1 -0.8!0!-inf",
    "adafactor_factored f32[2,3] b16[2,3] f32[1] f32[2] f32[3] i64[1] f32[3] -> f32[2,3] f32[2] f32[3] f32[1,1] f32[2] f32[3]; 1; 1e-30 1e-3 1 -0.8 0.1",
    "adafactor_factored f32[2,3] b16[2,3] f32[1] f32[2] f32[3] i64[1] -> f32[2,3] f32[2] f32[3] f32[1,1] f32[2] f32[3]; 1; 1e-30 0 1 -0.8!0!-inf",
    "adafactor_factored f32[5,70,90] f32[5,70,90] f32[1] f32[5,70] f32[5,90] i64[1] f32[3] -> f32[5,70,90] f32[5,70] f32[5,90] f32[1,8] f32[5,70] f32[5,90];; 1e-30 1e-3 1 -0.8 0.1",
    "adafactor_factored f32[2] b16[2] f32[1] f32[2] f32[2] i64[1] | f32[2,3] b16[2,3] f32[1] f32[3] f32[2] i64[1] | f32[2,3] b16[2,3] f32[1] f32[2] f32[2] i64[1] -> f32 f32 f32 f32 f32 f32; 1; 1e-30 1e-3 1 -0.8 0.1 = SHAPE",
    "adafactor_factored f32[2,3] b16[2,3] f32[1] f32[2] f32[3] i64[1] f32[5] -> f32 f32 f32 f32 f32 f32; 1; 1e-30 1e-3 1 -0.8 0.1 = SHAPE",
    "muon_direction f32[2,3] b16[2,3] f32[4] -> f32[2,3] f32[2,3]; 1; 0.95",
    "muon_direction f32[2,3] b16[2,3] f32[1] -> f32 f32; 1; 0.95 = SHAPE",
    "unit_norm/scaled_unit_norm f32[2,3] -> f32[2,3] f32[1,1];; 1e-7",
    "unit_norm f32[100,100] -> f32[100,100] f32[1,3];; 1e-7",
    "weighted_sum f32[2,3] f32[2,3] -> f32[2,3];; 1 -2",
    "muon_step f32[2,3] f32[2,3] f32[1] -> f32[2,3];; 1 0.1",
    "muon_step f32[2,3] f32[2,3] f32[1] f32[4] -> f32[2,3];; 1",
    "muon_step f32[2,3] f32[2,3] f32[1] f32[3] -> f32;; 1 0.1 = SHAPE",
    "advance_power f32[1] -> f32[1];; 0.9",
    "count i64[1] -> i64[1]; 1",
    "loss_scale_update i32[1] f32[1] i64[1] i64[1] i64[1] -> f32[1] i64[1] i64[1] i64[1] i32[1]; 1; 1 2",
    "loss_scale_update i32[1] f32[1] i64[1] i64[1] i64[1] -> f32[1] i64[1] i64[1] i64[1] i32[1]; 2000; 1 2",
    "loss_scale_update i32[1] f32[1] i64[1] i64[1] i64[1] -> f32[1] i64[1] i64[1] i64[1] i32[1]; 2000; 0x1p-14 0x1p15",
    "loss_scale_update i32[1] f32[1] i64[1] i64[1] i64[1] -> f32 i64 i64 i64 i32; 1; 2 1 = ATTRIBUTE",
    "metric_mean f32[1] f32[2] i64[1] -> f32[2] i64[1]",
    "metric_accuracy b16[2,3,7*] i32[2,3] i64[1] i64[1] -> i64[1] i64[1]",
    "sigmoid_backward b16[2,3] f32[2,3] -> f16[2,3]",
    "silu b16[7] -> b16[7]",
    "silu_backward b16[7] b16[7] -> b16[7]",
    "softplus b16[7] -> f32[7]",
    "softplus_backward f32[7] b16[7] -> b16[7]",
    "log_softmax/softmax b16[2,3,7] -> f32[2,3,7]",
    "log_softmax/softmax b16[7] -> f32 = SHAPE",
    "log_softmax_backward f32[2,7] f32[2,7] -> b16[2,7]",
    "log_softmax_backward f32[7] f32[7] -> b16 = SHAPE",
    "l1_loss b16[2,3] f32[2,3] -> f32[1]",
    "l1_loss_backward f32[1] b16[2,3] f32[2,3] -> b16[2,3]",
    "huber_loss b16[2,3] f32[2,3] -> f32[1]; 1; 0.5",
    "huber_loss_backward f32[1] b16[2,3] f32[2,3] -> b16[2,3];; 0.5",
    "binary_cross_entropy c16[2,3] f32[2,3] -> f32[1]",
    "binary_cross_entropy_backward f32[1] c16[2,3] f32[2,3] -> c16[2,3]",
    "kl_divergence f32[2,3] f32[2,3] -> f32[1]; 1",
    "kl_divergence_backward f32[1] f32[2,3] f32[2,3] -> f32[2,3]; 0 1",
    "nll_loss f32[2,3,7] i32[2,3] -> f32[1]",
    "nll_loss_backward f32[1] f32[2,3,7] i32[6] -> b16[2,3,7]",
    "cross_entropy_weighted b16[6,7+] i32[6] f32[2,3] -> f32[1] f32[6] f32[6] f32[6] f32[1]; 7 1; 0.1 2",
    "cross_entropy_weighted b16[6,7+] i32[6] - f32[1] -> f32[1] f32[6] f32[6] f32[6] f32[1]; 7 0!1; 0 1",
    "cross_entropy_weighted b16[2,3,7*] i32[2,3] -> f32[1] f32[2,3] f32[2,3] f32[2,3] f32[1]; -1; 0 1",
    "cross_entropy_weighted b16[6,7+] i32[6] - f32[1] -> f32[1] f32[6] f32[6] f32[6] f32[1]; 7; 0.1 1",
    "cross_entropy_weighted b16[6,7*] i32[6] f32[6] f32[1] -> f32[1] f32[6] f32[6] f32[6] f32[1]; -1; 0.1 1",
    "cross_entropy_weighted b16[6,7] i32[6] f32[5] -> f32 f32 f32 f32 f32; 6 1; 0.1 2 = SHAPE",
    "cross_entropy_weighted b16[6,7] i32[6] -> f32 f32 f32 f32 f32; 8 1; 0.1 2 = ATTRIBUTE",
    "cross_entropy_weighted_backward f32[1] b16[6,7+] i32[6] f32[6] f32[6] f32[1] f32[6] -> b16[6,7]; 7; 0 1",
    "cross_entropy_weighted_backward f32[1] b16[2,3,7*] i32[2,3] f32[2,3] f32[2,3] f32[1] -> b16[2,3,7]; -1; 0 1",
    "cross_entropy_weighted_backward f32[1] b16[6,7] i32[6] f32[6] f32[6] f32[1] -> b16; 8; 0 1 = ATTRIBUTE",
    "batch_rows i32[6] i64[1] -> i64[1] f32[1]; 5",
    "batch_rows i32[2,3] i64[1] -> i64[1] f32[1]; -1",
    "batch_weights i32[6] f32[6] f32[2] | i32[6] f32[2,3] f32[2] -> f32[2] f32[1]; 5",
    "metric_weighted_mean f32[1] i32[6] f32[1] f32[2] i64[1] f32[6] -> f32[2] i64[1]; -1; 1",
    "metric_weighted_mean f32[1] i32[6] f32[1] f32[2] i64[1] f32[6] -> f32[2] i64[1]; 5; 0.5",
    "metric_weighted_accuracy b16[6,7+] i32[6] f32[2] i64[1] f32[6] -> f32[2] i64[1]; 7",
    "metric_weighted_accuracy b16[6,7] i32[6] f32[2] i64[1] -> f32 i64; 8 = ATTRIBUTE",
    "metric_confusion b16[6,7] i32[6] i64[7,8] i64[1] -> i64[7,8] i64[1]; -1!8",
    "metric_confusion b16[6,7] i32[6] i64[7,8] i64[1] f32[7] -> i64 i64; -1 = SHAPE",
    "metric_auc b16[6,2] i32[6]* i64[2,199] i64[1] | b16[6,7] f32[6,7] i64[2,199] i64[1] -> i64[2,199] i64[1]",
    "metric_auc b16[6,2] i32[12] i64[2,199] i64[1] -> i64 i64 = SHAPE",
    "metric_accuracy b16[2,3,7*] i32[2,3] i64[1] i64[1] i32[2*] -> i64[1] i64[1]",
    "metric_accuracy b16[2,3,7] i32[2,3] i64[1] i64[1] i32[4] -> i64 i64 = SHAPE",
    "metric_accuracy b16[2,3,7] i32[2,3] i64[1] i64[1] i32[1,2] -> i64 i64 = SHAPE",
    "metric_weighted_accuracy b16[6,7*] i32[6] f32[2] i64[1] - i32[3<] -> f32[2] i64[1]; -1",
    "metric_weighted_accuracy b16[6,7] i32[6] f32[2] i64[1] f32[6] i32[12] -> f32 i64; -1 = SHAPE",
    "metric_confusion b16[6,7] i32[6] i64[7,8] i64[1] - i32[2*] -> i64[7,8] i64[1]; -1",
    "metric_confusion b16[6,7] i32[6] i64[7,8] i64[1] - i32[5] -> i64 i64; -1 = SHAPE",
    "metric_auc b16[6,2] i32[6]* i64[2,199] i64[1] i32[2*] -> i64[2,199] i64[1]",
    "metric_auc b16[6,2] i32[6] i64[2,199] i64[1] i32[4] -> i64 i64 = SHAPE",
    "metric_row_mean f32[6*] f32[2] i64[1] i32[1*] -> f32[2] i64[1]; -1",
    "metric_row_mean f32[2,3] f32[2] i64[1] i32[2*] i32[6] -> f32[2] i64[1]; 5",
    "metric_row_mean f32[6] f32[2] i64[1] i32[1*] - f32[6] -> f32[2] i64[1]; -1",
    "metric_row_mean f32[6] f32[2] i64[1] i32[4] -> f32 i64; -1 = SHAPE",
    "sample_loss b16[6,5] f32[6,5] -> f32[6]; 25 6",
    "sample_loss f32[6,5] f32[6,5] -> f32[2]; 128 2",
    "sample_loss f32[6] f32[6] -> f32[3]; 130 3 1; 0.5",
    "sample_loss f32[6] f32[6] -> f32[1]; 132 1",
    "sample_loss f32[6,2] f32[6,2] -> f32[6]; 134 6 0 1 1",
    "sample_loss f32[6,4] f32[6,4] -> f32; 25 4 = SHAPE",
    "sample_loss f32[6] f32[6] -> f32; 23 3 = ATTRIBUTE",
    "sample_loss f32[6] f32[6] -> f32; 25 3 1 = ATTRIBUTE",
    "sample_loss f32[6] f32[6] -> f32; 128 3; 0.5 = ATTRIBUTE",
    "sample_loss f32[6] f32[6] -> f32; 130 3 = ATTRIBUTE",
    "sample_loss f32[6] f32[6] -> f32; 132 3 0 0 1 = ATTRIBUTE",
    "reshape f32[2,3]* -> f32[6]; 6~5!0!-6!4294967296",
    "reshape f32[1]* -> f32[1]; 1",
    "reshape b16[2,3,4]* -> b16[4,6]; 4 6",
    "reshape i32[6]* -> i32[1,1,1,1,1,1,2,3]; 1 1 1 1 1 1 2 3",
    "reshape f32[2,3] -> f32; 2 0 3 = ATTRIBUTE",
    "reshape f32[2,3] -> f32; 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 = SHAPE",
    "transpose f32[2*,3*]* -> f32[2,3]; 0x10!0x11!0x20!0x101!-1",
    "transpose f32[7*]* -> f32[7]",
    "transpose b16[2*,3*,4*]* -> b16[4,2,3]; 0x102",
    "transpose i32[1*,2*,3*,4*,5*,6*,7*,8*]* -> i32[8,7,6,5,4,3,2,1]; 0x01234567",
    "transpose i64[2,3] -> i64; 0x01 = SHAPE",
    "slice f32[7*]* -> f32[1]; 0!1!-1 0!7!-1 1 1!0!9223372036854775807",
    "slice f32[7*]* -> f32[2]; 0 0 1!0!2147483648 2",
    "slice i32[7+]* -> i32[3]; 0 6 -3 3",
    "slice f32[7+]* -> f32[1]; 0 6 2147483647 1",
    "slice b16[2*,7+,3*]* -> b16[2,4,3]; 1 0 2 4",
    "slice f32[7] -> f32; 0 1 2 4 = ATTRIBUTE",
    "slice f32[7] -> f32; 0 5 -2 4 = ATTRIBUTE",
    "slice_backward f32[3-]* -> f32[3]; 0 0 1 3",
    "slice_backward f32[3-]* -> f32[7]; 0 6 -3 7!6",
    "slice_backward b16[2*,4-,3*]* -> b16[2,7,3]; 1 0 2 7",
    "pad f32[2*,3*]* -> f32[2,3]; 0!2 0!-1 0!4294967296",
    "pad f32[2*,3*]* -> f32[4,3]; 0 1 1",
    "pad b16[2*,3*]* -> b16[2,6]; 1 1 2; -1.5",
    "pad f32[2,3] -> f32; 0 4294967295 4294967295 = SHAPE",
    "expand f32[3] -> f32[3]; 3!0 0~1",
    "expand i32[1] -> i32[7]; 7",
    "expand b16[3,1]* -> b16[2,3,4]; 2 3 4",
    "gather f32[5*]* i32[1*]* -> f32[1]; 0!1",
    "gather f32[1*,1*,1*,1*,5*]* i32[1*,1*,1*,3*]* -> f32[1,1,1,1,1,1,1,3]; 4",
    "gather b16[2*,5*,3*]* i32[4*,6*]* -> b16[2,4,6,3]; 1",
    "gather f32[1,1,1,1,5] i32[1,1,1,1,3] -> f32; 4 = SHAPE",
    "gather_backward b16[2*,4,6,3*]* i32[4,6]* -> f32[2,5,3]; 1 5",
    "gather_backward f32[4*,6]* i32[6]* -> f32[4,5]; 1!2 5",
    "gather_backward f32[2,4,6,3] i32[6,4] -> f32; 1 5 = SHAPE",
    "gather_backward f32[4] i32[4,1] -> f32; 0 5 = ATTRIBUTE",
    "gather_elements f32[5*] i32[2*] -> f32[2]; 0!-1",
    "gather_elements f32[2,5*,3]* i32[2,7*,3] -> f32[2,7,3]; 1",
    "gather_elements f32[2,5] i32[5] -> f32; 1 = SHAPE",
    "gather_elements_backward f32[2,7] i32[2,7] -> f32[2,5]; 1!2 5",
    "gather_elements_backward b16[2,7,3] i32[2,7,3] -> f32[2,5,3]; 1 5",
    "scatter_nd f32[4*,3] i32[5,1] f32[5,3] | f32[4*,3*]* i32[2]* f32[1] -> f32[4,3]",
    "scatter_nd i32[4*,3*] i32[5,2] i32[5] -> i32[4,3]; 0~1",
    "scatter_nd b16[4*,3] i32[5,1] b16[5,3] -> b16[4,3]; 1",
    "scatter_nd f32[4,3] i32[5,3] f32[5] -> f32 = SHAPE",
    "scatter_nd_backward b16[4*,3*]* i32[5*,1*]* -> b16[4,3] b16[5,3]",
    "scatter_nd_backward f32[4,3] i32[5,3] -> f32 f32 = SHAPE",
    "scatter_nd_backward_updates f32[4*,3*]* i32[2<]* -> f32[1]",
    "scatter_nd_backward_updates b16[4*,3*]* i32[5*,1*]* -> b16[5,3]",
    "scatter_nd_backward_updates f32[4,3] i32[5,3] -> f32 = SHAPE",
    "cumulative_sum f32[2*,3*] -> f32[2,3]; 0!2",
    "cumulative_sum b16[2*,3*] -> f32[2,3]; 1 0 1",
};
/* clang-format on */

/* --- every case ------------------------------------------------------------------------------------------------- */

static bool same_shape(const firn_shape *a, const firn_shape *b) {
    return a->type == b->type && a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* Whether firn_op_infer returns what the case expects, and fills in the expected extents. */
static bool case_holds(const shape_case *c) {
    firn_shape outputs[SHAPES_OUTPUTS];
    firn_op_signature signature = {.code = c->info->code,
                                   .input_count = c->input_count,
                                   .output_count = c->output_count,
                                   .integer_count = c->integer_count,
                                   .real_count = c->real_count,
                                   .inputs = c->inputs,
                                   .outputs = outputs};
    for (uint8_t i = 0; i < c->output_count; i++)
        outputs[i] = (firn_shape){.type = c->outputs[i].type};
    memcpy(signature.integers, c->integers, sizeof c->integers);
    memcpy(signature.reals, c->reals, sizeof c->reals);
    const int error = firn_op_infer(&signature);
    bool holds = error == c->error;
    for (uint8_t i = 0; holds && error == FIRN_OK && c->outputs_known && i < c->output_count; i++)
        holds = same_shape(&outputs[i], &c->outputs[i]);
    return holds;
}

/* Prints a case that does not hold: its line, what was changed, and the inputs and attributes with the change. */
static void print_case(const shape_case *c) {
    print_message("%s\n  %s is not %s:", c->text, c->change, firn_error_name(c->error));
    for (uint32_t i = 0; i < c->input_count; i++) {
        print_message(" %s", firn_type_name(c->inputs[i].type));
        for (uint8_t d = 0; d < c->inputs[i].rank && d < FIRN_RANK_MAX; d++)
            print_message("%c%u", d == 0 ? '[' : ',', (unsigned)c->inputs[i].dims[d]);
    }
    for (uint8_t i = 0; i < c->info->integers; i++)
        print_message("; %lld", (long long)c->integers[i]);
    for (uint8_t i = 0; i < c->info->reals; i++)
        print_message("; %g", (double)c->reals[i]);
    print_message("\n");
}

/* Checks that an output which updates an input has the input's shape, and that no input is updated twice. Returns the
 * number of updates. */
static uint32_t check_changed_inputs(const shape_case *c) {
    uint32_t changing = 0;
    uint64_t seen = 0;
    for (uint8_t j = 0; j < c->output_count; j++) {
        const uint8_t input = firn_op_changed(c->info, j);
        if (input == FIRN_FRESH)
            continue;
        assert_true(input < c->input_count);
        assert_true(same_shape(&c->inputs[input], &c->outputs[j]));
        assert_int_equal(seen >> input & 1, 0);
        seen |= UINT64_C(1) << input;
        changing++;
    }
    if (seen != 0)
        assert_int_equal(c->info->in_place, 1u << firn_op_changed(c->info, 0));
    return changing;
}

/* Ops that take integers of any origin and size: they move them, or their kernels limit them. */
static const char any_integers[] =
    " loss_scale_update advance batch_rows batch_weights metric_weighted_mean metric_row_mean metric_auc to_float32 "
    "concat_int32 reshape "
    "transpose slice expand gather gather_backward gather_elements gather_elements_backward scatter_nd "
    "scatter_nd_backward scatter_nd_backward_updates ";

/* Whether an operand says which samples count: the last one of a metric, which came later. */
static bool says_which_count(const shape_case *c, uint8_t j) {
    return c->info->metric && j + 1 == c->info->inputs_max && firn_op_input(c->info, j)->optional;
}

/* Checks that every other int32 operand is an index, which the runtime limits. */
static void check_index_operands(const shape_case *c) {
    char name[64];
    snprintf(name, sizeof name, " %s ", firn_op_name(c->info));
    for (uint8_t j = 0; j < c->input_count && strstr(any_integers, name) == NULL; j++) {
        const bool is_index = c->inputs[j].rank > 0 && c->inputs[j].type == FIRN_INT32 && !says_which_count(c, j);
        if (is_index != (c->info->index_operand == j))
            fail_msg("%s: input %u", c->text, (unsigned)j);
    }
}

enum { CODES = 512 }; /* op codes are below it */
typedef struct tally {
    uint32_t accepted[CODES], refused[CODES], all, wrong, changing;
} tally;

static void check_case(const shape_case *c, void *context) {
    tally *t = context;
    assert_true(c->info->code < CODES);
    if (c->error == FIRN_OK)
        t->accepted[c->info->code]++;
    else if (shape_rule_is_declared(c->info) || shape_case_is_of_rule(c))
        t->refused[c->info->code]++;
    t->all++;
    if (!case_holds(c) && t->wrong++ < 20)
        print_case(c);
    if (c->error == FIRN_OK && c->outputs_known) {
        t->changing += check_changed_inputs(c);
        check_index_operands(c);
    }
}

enum { CASES_LEAST = 540000 }; /* somewhat fewer than there are */

/* Every rule has a case that it accepts and one that it refuses. Where an op has a rule of its own, what the columns of
 * the table refuse does not count. */
TEST(test_every_rule) {
    static tally t;
    static shape_line line;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        for (uint32_t n = 0; shape_line_read(&line, lines[i], n); n++) {
            check_case(&line.original, &t);
            if (line.original.error == FIRN_OK)
                shape_line_vary(&line, check_case, &t);
        }
    }
    print_message("%u cases\n", (unsigned)t.all);
    assert_int_equal(t.wrong, 0);
    assert_true(t.all >= CASES_LEAST);
    assert_true(t.changing > 20);
    for (uint32_t op = 0; op < FIRN_OPS; op++) {
        const firn_op_info *info = firn_op_at(op);
        const bool only_infers = info->code == FIRN_OP_linear_backward_weight; /* its rule refuses nothing */
        if (t.accepted[info->code] == 0 || (t.refused[info->code] == 0) != only_infers)
            fail_msg("%s: no case", firn_op_name(info));
    }
}

/* The lists that tell ops and rules from others have no word that is none. */
TEST(test_lists_of_names) {
    shape_lists_check();
    for (const char *word = any_integers + 1; *word != '\0'; word += strcspn(word, " ") + 1) {
        const size_t length = strcspn(word, " ");
        uint32_t i = 0;
        while (i < FIRN_OPS && (strlen(firn_op_name(firn_op_at(i))) != length ||
                                strncmp(firn_op_name(firn_op_at(i)), word, length) != 0))
            i++;
        if (i == FIRN_OPS)
            fail_msg("no op: %s", word);
    }
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static uint8_t words_of(const char *text) {
    uint8_t words = 0;
    for (; *text != '\0'; text++)
        words = (uint8_t)(words + (text[0] != ' ' && (text[1] == ' ' || text[1] == '\0')));
    return words;
}

TEST(test_table) {
    assert_null(firn_op_find(0));
    assert_null(firn_op_find(UINT16_MAX));
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        assert_ptr_equal(firn_op_find(info->code), info);
        assert_int_equal(info->integers, words_of(firn_op_words_of(info)->integers));
        assert_int_equal(info->reals, words_of(firn_op_words_of(info)->reals));
        assert_int_equal(info->inputs, words_of(firn_op_words_of(info)->inputs));
        assert_int_equal(info->outputs, words_of(firn_op_words_of(info)->outputs));
        assert_int_equal(info->reductions, words_of(firn_op_words_of(info)->reductions));
        assert_true(info->inputs_min <= info->inputs && info->inputs <= info->inputs_max);
        const bool repeats = info->code == FIRN_OP_concat || info->code == FIRN_OP_concat_int32;
        assert_int_equal(info->inputs_max, repeats ? FIRN_INPUTS_MAX : info->inputs);
        assert_true(info->outputs >= 1 && info->outputs <= FIRN_OUTPUTS_MAX);
        assert_true(info->integers <= FIRN_ATTRIBUTES_MAX && info->reals <= FIRN_ATTRIBUTES_MAX);
        assert_true(info->reductions <= FIRN_REDUCTIONS_MAX);
        assert_true(info->inputs >= 8 || info->in_place >> info->inputs == 0);
    }
    assert_int_equal(firn_op_find(FIRN_OP_attention)->integers, 6);
    assert_int_equal(firn_op_find(FIRN_OP_adamw)->reals, 4);
}

/* "op.output" of each output that the table marks as scratch, in the order of the table. */
TEST(test_scratch) {
    static const char expected[] =
        "batch_norm.partial batch_norm_backward.partial batch_norm_fixed_backward.partial "
        "attention.scratch attention_backward.scratch cross_attention.scratch "
        "cross_attention_backward.scratch cached_attention.scratch lstm_backward.carried "
        "gru_backward.carried rnn.sums rnn_backward.carried linear_cross_entropy.logits "
        "linear_cross_entropy.values sum_of_squares.scratch "
        "largest_magnitude.scratch sum_of_scaled_squares.scratch "
        "lamb.parameter_sums lamb.update_sums adafactor.sums adafactor_factored.sums "
        "adafactor_factored.row_factors adafactor_factored.column_factors unit_norm.sums scaled_unit_norm.sums ";
    char found[sizeof expected + 256] = "";
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        const char *names = firn_op_words_of(info)->outputs;
        for (uint32_t j = 0; j < info->outputs; j++) {
            const int length = (int)strcspn(names, " ");
            if (firn_op_output(info, j)->scratch)
                snprintf(found + strlen(found), sizeof found - strlen(found), "%s.%.*s ", firn_op_name(info), length,
                         names);
            names += length + (names[length] == ' ');
        }
    }
    assert_string_equal(found, expected);
}

TEST(test_unknown_ops_and_counts) {
    firn_op_signature unknown = {.code = 1};
    while (firn_op_find(unknown.code) != NULL)
        unknown.code++;
    assert_int_equal(firn_op_infer(&unknown), FIRN_ERROR_OP_UNKNOWN);
    firn_op_signature many = {.code = FIRN_OP_relu, .input_count = UINT8_MAX, .output_count = 1};
    assert_int_equal(firn_op_infer(&many), FIRN_ERROR_OP_OPERANDS);
    firn_shape x = {.type = FIRN_FLOAT32, .rank = 1, .dims = {1}}, y = x;
    firn_op_signature attributes = {
        .code = FIRN_OP_relu, .input_count = 1, .output_count = 1, .integer_count = 1, .inputs = &x, .outputs = &y};
    assert_int_equal(firn_op_infer(&attributes), FIRN_ERROR_OP_ATTRIBUTE);
    firn_op_signature reals = attributes;
    reals.integer_count = 0;
    reals.real_count = UINT8_MAX;
    assert_int_equal(firn_op_infer(&reals), FIRN_ERROR_OP_ATTRIBUTE);
}

TEST(test_types) {
    static const uint32_t bytes[] = {4, 2, 2, 2, 4, 8, 1, 2, 2, 1, 1, 0, 0};
    static const char *const names[] = {"float32", "float16", "bfloat16", "cbfloat16", "int32", "int64", "uint8",
                                        "uint16",  "int16",   "int8",     "bool",      "?",     "?"};
    for (uint8_t type = 0; type < sizeof bytes / sizeof bytes[0]; type++) {
        assert_int_equal(firn_type_bytes(type), bytes[type]);
        assert_string_equal(firn_type_name(type), names[type]);
        assert_int_equal(firn_type_is_half(type), type >= FIRN_FLOAT16 && type <= FIRN_CBFLOAT16);
    }
    assert_int_equal(firn_type_bytes(UINT8_MAX), 0);
}

TEST(test_sizes_do_not_wrap) {
    uint64_t value = 7;
    firn_shape shape = {.type = FIRN_UINT8, .rank = 2, .dims = {1u << 31, 1u << 31}};
    assert_true(firn_shape_elements(&shape, &value));
    assert_true(value == UINT64_C(1) << 62);
    assert_true(firn_shape_bytes(&shape, &value));
    shape.type = FIRN_FLOAT16;
    assert_false(firn_shape_bytes(&shape, &value));
    shape.dims[1]++;
    assert_false(firn_shape_elements(&shape, &value));
    shape.dims[1] = 0;
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_FLOAT32, .rank = 0};
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_FLOAT32, .rank = 9, .dims = {1, 1, 1, 1, 1, 1, 1, 1}};
    assert_false(firn_shape_elements(&shape, &value));
    shape = (firn_shape){.type = FIRN_BOOL + 1, .rank = 1, .dims = {1}};
    assert_false(firn_shape_bytes(&shape, &value));
}
