/* The graph builder, the only interface of front ends to a graph. The built-in models (compiler/models/) use it, and a
 * C program can use it the same way.
 *
 *     firnc_graph *graph = firnc_graph_create("two_layers");
 *     firnc_input_options pixels = {.stream = 0, .element = FIRN_UINT8, .scaled = true, .scale = 1.0f / 255};
 *     firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){32, 784}, pixels);
 *     firnc_layer_begin(graph, "fc1");
 *     firnc_pol float32_sums = {.level = 0, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
 *     firnc_pol_begin(graph, float32_sums);
 *     firnc_value h = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
 *     firnc_pol_end(graph);
 *     firnc_layer_end(graph);
 *
 * The builder only records ops; the shapes pass infers and checks shapes. The compiler owns all memory of a graph
 * (compiler/base/text.h). Misuse (an unbalanced scope, a value that the graph does not have) is a bug of the caller and
 * ends the call with FIRNC_MISUSE (compiler/base/perform.h). */
#ifndef FIRNC_GRAPH_H
#define FIRNC_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "plan/ops.h"

typedef struct firnc_graph firnc_graph;
typedef uint32_t firnc_value; /* index of a value of one graph */

#define FIRNC_NONE  UINT32_MAX /* no value: an omitted optional operand */
#define FIRNC_UNSET (-1)

/* --- precision annotation ----------------------------------------------------------------------------------------
 * The semantics of cstorch.pol: the innermost annotation replaces the outer one entirely while it is active (a level
 * that it leaves unset is the job's global level, not that of the outer scope). `level` applies to forward;
 * `bwd_level`, or `level` if that is unset, applies to backward. enable_fwd and enable_bwd exclude a direction from the
 * annotation. */
typedef struct firnc_pol {
    int level;       /* 0, 1, 2 or FIRNC_UNSET */
    int bwd_level;   /* 0, 1, 2 or FIRNC_UNSET: as level */
    bool enable_fwd; /* false: the annotation does not apply to forward */
    bool enable_bwd;
} firnc_pol;

/* Annotates every op built until the matching end. Scopes nest. */
void firnc_pol_begin(firnc_graph *graph, firnc_pol pol);
void firnc_pol_end(firnc_graph *graph);

/* Annotates only the next op (a call); replaces the scope for that op. */
void firnc_pol_next(firnc_graph *graph, firnc_pol pol);

/* Annotates only the next op, by a rule of the architecture instead of its user: it applies if no scope and no pattern
 * of the job annotates that op. */
void firnc_pol_rule(firnc_graph *graph, firnc_pol pol);

/* --- names --------------------------------------------------------------------------------------------------------
 * Layers nest. Their names, joined with '.', name the ops in them ("transformer.h.0.attn.c_attn") in reports and for
 * the job's POL patterns. The caller gives parameters their full names (PyTorch's).
 *
 * Every name, of a model, an input, a parameter or a whole layer path, is 1 to FIRNC_NAME_MAX (160) characters of
 * printable ASCII. */
void firnc_layer_begin(firnc_graph *graph, const char *name);
void firnc_layer_end(firnc_graph *graph);

/* --- values ---------------------------------------------------------------------------------------------------- */

typedef enum firnc_init_rule {
    FIRNC_INIT_CONSTANT,
    FIRNC_INIT_NORMAL,
    FIRNC_INIT_UNIFORM,
    FIRNC_INIT_TRUNCATED_NORMAL
} firnc_init_rule;

/* constant: a. normal: mean a, deviation b, at least 0. uniform: [a, b), a <= b. truncated_normal: normal, of which
 * [low, high] is left, low < high. All finite. */
typedef struct firnc_init {
    firnc_init_rule rule;
    float a, b, low, high;
} firnc_init;

firnc_graph *firnc_graph_create(const char *model);

/* Makes the graph one for evaluation (a job of mode FIRNC_EVAL), in which dropout is not recorded. Call it before the
 * first op. */
void firnc_graph_evaluate(firnc_graph *graph);

/* Which numbers of a record have a mean and a deviation, or a scale and a shift, in common. */
typedef enum firnc_standard_axis {
    FIRNC_STANDARD_EACH, /* none: as many as a record has numbers; or as many as its last extent, or 1 for all */
    FIRNC_STANDARD_LAST, /* those with the same index in the last extent: columns, or channels of
                            [rows,columns,channels] */
    FIRNC_STANDARD_FIRST /* those with the same index in the first extent: channels of [channels,rows,columns] */
} firnc_standard_axis;

/* How the numbers of a record are standardised, by numbers that the plan holds. They are a part of the model: two plans
 * with other numbers are plans of other models. */
typedef struct firnc_standard {
    bool by_statistics; /* true: (x - mean) / deviation; false: x * scale + shift */
    firnc_standard_axis axis;
    uint32_t count;                    /* of columns; from 1 */
    const float *mean, *deviation;     /* by_statistics: `count` of each; deviations are not 0 */
    const float *scale, *shift;        /* else: likewise; NULL: 1, and 0 */
    uint32_t scale_count, shift_count; /* of those that are there */
    firnc_place place;                 /* for messages */
} firnc_standard;

/* The source of an input's elements and their conversion. The limit of an index input is at most the number of table
 * rows or classes that it selects from; the runtime refuses data with an element that is not below the limit. */
typedef struct firnc_input_options {
    uint8_t stream;    /* data stream; numbered from 0 in the order of the inputs that read them */
    firn_type element; /* type in the data: uint8, int8, uint16, int16, bool; for an int32 input also int32, for a
                        * float32 input also float32 */
    uint32_t advance;  /* windows: elements from the start of the window to the first element of this input */
    uint32_t limit;    /* int32 inputs: every element is below it, 1 to 2^31-1; other inputs: 0 */
    bool scaled;       /* float32 inputs of uint8 elements: x becomes x * scale + shift; false: x is not changed */
    float scale, shift;
    const firnc_standard *standard; /* float32 inputs: what firnc_input returns is standardised so; NULL: it is not */
} firnc_input_options;

/* An input tensor, int32 or float32, on which the loss or the metric depends; at most 8 of them. dims[0] is the number
 * of samples in a micro-batch; each sample fills an equal part. */
firnc_value firnc_input(firnc_graph *graph, const char *name, firn_type type, uint8_t rank, const uint32_t *dims,
                        firnc_input_options options);

/* Adds the ops that standardise x, whose first extent is samples, or that undo it (by_statistics only): the tensors
 * that they read are called normalise.OF.mean and so on; a plan keeps them as it keeps frozen weights. Adds none,
 * refuses the graph and says why if the counts are not those of the extents. */
firnc_value firnc_standardise(firnc_graph *graph, const char *of, firnc_value x, uint8_t rank, const uint32_t *dims,
                              const firnc_standard *standard);
firnc_value firnc_unstandardise(firnc_graph *graph, const char *of, firnc_value x, uint8_t rank, const uint32_t *dims,
                                const firnc_standard *standard);

/* A trained float32 tensor. decay: weight decay applies (usually false for biases and norms). No two parameters have
 * the same name, and none begins with "optimizer.", "counters.", "scaler." or "metric.", as the rest of the state does.
 */
firnc_value firnc_parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims, firnc_init init,
                            bool decay);

/* A float32 tensor of the model that is not trained, such as the statistics of a batch norm; all its elements are
 * `initial` at first. Its name is like a parameter's. It is in weights files and in checkpoints, and an evaluation
 * reads the one of the checkpoint. */
firnc_value firnc_buffer(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims, float initial);
/* A tensor whose elements are known: float32 or int32, row-major, copied. Ops read it from the plan in place; it takes
 * no memory beside the plan's and is no parameter. In mixed precision, ops that read a half type read a copy of it that
 * was rounded when the plan was made. */
firnc_value firnc_constant(firnc_graph *graph, const char *name, firn_type type, uint8_t rank, const uint32_t *dims,
                           const void *elements);

/* --- ops: plan/ops.def defines the operands and results of each ------------------------------------------------- */

enum { FIRNC_OUT_IN = 0, FIRNC_IN_OUT = 1 };      /* weight layout: of PyTorch's Linear, of GPT-2's Conv1D */
enum { FIRNC_GELU_ERF = 0, FIRNC_GELU_TANH = 1 }; /* form of gelu */
enum { FIRNC_HUBER = 0, FIRNC_HUBER_SMOOTH = 1 }; /* form of huber_loss */

/* Any forward op of the table but cast, which autocast inserts, and dropout, attention and random numbers, which the
 * builder numbers: firnc_dropout, firnc_attention, firnc_random_normal. Inputs and attributes in the order of its row
 * (FIRN_LINEAR_IN_X and so on are their positions), FIRNC_NONE for an optional input that is left out; integers or
 * reals may be NULL, which means zeros. Returns output 0. The functions below are the same for single ops, with types.
 */
firnc_value firnc_op(firnc_graph *graph, firn_op_code code, const firnc_value *inputs, uint8_t input_count,
                     const int64_t *integers, const float *reals);

firnc_value firnc_linear(firnc_graph *graph, firnc_value x, firnc_value weight, firnc_value bias_or_none, int layout);

/* Windows over an image [N,H,W,C]; [0] is for rows, [1] for columns, each below 65,536. Where a stride or a dilation is
 * 0 it is 1; padding is what windows may have before and after the image. */
typedef struct firnc_windows {
    uint32_t stride[2], dilation[2], before[2], after[2];
} firnc_windows;
/* weight:[O,rows,columns,C/groups]; a convolution of one dimension has images and weights of one row. */
firnc_value firnc_conv(firnc_graph *graph, firnc_value x, firnc_value weight, firnc_value bias_or_none, uint32_t groups,
                       firnc_windows windows);
/* kernel: rows and columns of a window. Windows of H by W elements give the mean or maximum of a whole image. */
firnc_value firnc_max_pool(firnc_graph *graph, firnc_value x, const uint32_t kernel[2], firnc_windows windows);
/* padded: what lies outside the image counts as zeros; else it does not count. */
firnc_value firnc_average_pool(firnc_graph *graph, firnc_value x, const uint32_t kernel[2], firnc_windows windows,
                               bool padded);
/* What recurrent ops may be told: reverse: steps are taken from the last to the first. reset_after: of gru only; the
 * reset gate multiplies the products of the candidate, as in PyTorch, and not the state that they read. relu: of rnn
 * only, in place of tanh. */
typedef struct firnc_recurrent_options {
    bool reverse, reset_after, relu;
} firnc_recurrent_options;

/* Recurrence over T steps: gates:[T,B,G*H] is what the input gives to the G gates, a linear layer over all steps, with
 * its bias; weight:[G*H,H] that of the state. Gates are in PyTorch's order: i, f, g, o (lstm), r, z, n (gru). h0 and
 * c0: [B,H], or zeros. bias: [3*H], added to the products of the state. Returns the outputs of all steps, [T,B,H];
 * last_h and last_c, which may be NULL, get the state behind the last step that was taken, [B,H]. All have gradients.
 */
firnc_value firnc_lstm(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value h0_or_none,
                       firnc_value c0_or_none, firnc_recurrent_options options, firnc_value *last_h,
                       firnc_value *last_c);
firnc_value firnc_gru(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value bias_or_none,
                      firnc_value h0_or_none, firnc_recurrent_options options, firnc_value *last_h);
firnc_value firnc_rnn(firnc_graph *graph, firnc_value gates, firnc_value weight, firnc_value h0_or_none,
                      firnc_recurrent_options options, firnc_value *last_h);
firnc_value firnc_embedding(firnc_graph *graph, firnc_value ids, firnc_value table);
/* Says which rows that an embedding or a gather has selected get a gradient: `trained` has 1 for each index, or 0 where
 * the row gets none. Its shape is that of the result, with the extent 1 for the elements of a row. */
void firnc_train_rows(firnc_graph *graph, firnc_value selected, firnc_value trained);
firnc_value firnc_leading_rows(firnc_graph *graph, firnc_value table, uint32_t rows);
/* Ops that move elements. All but pad and cumulative_sum take int32, too; scatter_nd does not add them. */
firnc_value firnc_reshape(firnc_graph *graph, firnc_value x, uint8_t rank, const uint32_t *dims);
/* Dimension d of the result is dimension order[d] of x, which has this rank. */
firnc_value firnc_transpose(firnc_graph *graph, firnc_value x, uint8_t rank, const uint8_t *order);
/* `count` elements along the axis: first, first + step, ... */
firnc_value firnc_slice(firnc_graph *graph, firnc_value x, uint8_t axis, uint32_t first, int32_t step, uint32_t count);
firnc_value firnc_pad(firnc_graph *graph, firnc_value x, uint8_t axis, uint32_t before, uint32_t after, float value);
/* NumPy's broadcasting of x to these extents. */
firnc_value firnc_expand(firnc_graph *graph, firnc_value x, uint8_t rank, const uint32_t *dims);
firnc_value firnc_concat(firnc_graph *graph, const firnc_value *xs, uint8_t count, uint8_t axis); /* at most 64 */
/* ids are int32 of any origin: an id from -extent to -1 counts from the end, others are limited to the extent. The
 * extents of ids take the place of the axis. */
firnc_value firnc_gather(firnc_graph *graph, firnc_value x, firnc_value ids, uint8_t axis);
/* ids have the extents of x but for the axis, and so has the result. */
firnc_value firnc_gather_elements(firnc_graph *graph, firnc_value x, firnc_value ids, uint8_t axis);
/* ids:[...,K]: each row names an element, or a slice behind the first K dimensions of data. add: updates are added to
 * what is there, else take its place; the last one stays where rows name the same. */
firnc_value firnc_scatter_nd(firnc_graph *graph, firnc_value data, firnc_value ids, firnc_value updates, bool add);
firnc_value firnc_cumulative_sum(firnc_graph *graph, firnc_value x, uint8_t axis, bool exclusive, bool reverse);

firnc_value firnc_layer_norm(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias, float epsilon);
/* x: [..., C]; gain and bias: [C]; mean and variance: two buffers [C] of this norm alone. In training it normalises by
 * the statistics of the micro-batch, and each micro-batch moves the buffers by momentum, 0 to 1 as PyTorch has it, also
 * in a step whose update is skipped; in an evaluation it normalises by the buffers. */
firnc_value firnc_batch_norm(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias, firnc_value mean,
                             firnc_value variance, float epsilon, float momentum);
/* By the given statistics, in training, too; they have no gradient. */
firnc_value firnc_batch_norm_fixed(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias,
                                   firnc_value mean, firnc_value variance, float epsilon);
firnc_value firnc_rms_norm(firnc_graph *graph, firnc_value x, firnc_value gain, float epsilon);
firnc_value firnc_gelu(firnc_graph *graph, firnc_value x, int form);
firnc_value firnc_relu(firnc_graph *graph, firnc_value x);
firnc_value firnc_tanh(firnc_graph *graph, firnc_value x);
firnc_value firnc_sigmoid(firnc_graph *graph, firnc_value x);
firnc_value firnc_silu(firnc_graph *graph, firnc_value x);
firnc_value firnc_softplus(firnc_graph *graph, firnc_value x);
firnc_value firnc_log_softmax(firnc_graph *graph, firnc_value x);
/* Elementwise ops of two operands, which are repeated as NumPy repeats them. less, less_or_equal and equal give 1 or 0
 * and have the gradient 0. */
firnc_value firnc_add(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_multiply(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_subtract(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_divide(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_minimum(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_maximum(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_power(firnc_graph *graph, firnc_value a, firnc_value b); /* a^b */
firnc_value firnc_less(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_less_or_equal(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_equal(firnc_graph *graph, firnc_value a, firnc_value b);
/* a where the condition is not 0, else b; 0 in place of one that is FIRNC_NONE. */
firnc_value firnc_select(firnc_graph *graph, firnc_value condition, firnc_value a_or_none, firnc_value b_or_none);
firnc_value firnc_exp(firnc_graph *graph, firnc_value x);
firnc_value firnc_log(firnc_graph *graph, firnc_value x);
firnc_value firnc_sqrt(firnc_graph *graph, firnc_value x);
firnc_value firnc_reciprocal(firnc_graph *graph, firnc_value x);
firnc_value firnc_erf(firnc_graph *graph, firnc_value x);
firnc_value firnc_abs(firnc_graph *graph, firnc_value x);
/* With the gradient 0. */
firnc_value firnc_signum(firnc_graph *graph, firnc_value x);
firnc_value firnc_floor(firnc_graph *graph, firnc_value x);
firnc_value firnc_to_int32(firnc_graph *graph, firnc_value x);   /* without the fraction; limited; NaN is 0 */
firnc_value firnc_to_float32(firnc_graph *graph, firnc_value x); /* of int32 */
firnc_value firnc_elu(firnc_graph *graph, firnc_value x, float alpha);
firnc_value firnc_leaky_relu(firnc_graph *graph, firnc_value x, float slope);
/* A plan has finite numbers only: an infinite limit becomes the largest float, which then limits infinity, too. */
firnc_value firnc_clip(firnc_graph *graph, firnc_value x, float low, float high);
/* x * scale + shift with one rounding. With a shift of -0.0f it is the product, and a zero keeps its sign. */
firnc_value firnc_affine(firnc_graph *graph, firnc_value x, float scale, float shift);
firnc_value firnc_softmax(firnc_graph *graph, firnc_value x);
/* Along the dimensions whose bits are set in axes. keep: they stay, with an extent of 1. */
firnc_value firnc_reduce_sum(firnc_graph *graph, firnc_value x, uint32_t axes, bool keep);
firnc_value firnc_reduce_max(firnc_graph *graph, firnc_value x, uint32_t axes, bool keep);
/* int32; the dimension is gone. last: of equal elements the last one. */
firnc_value firnc_arg_max(firnc_graph *graph, firnc_value x, uint8_t axis, bool last);
/* a:[...,M,K] b:[...,K,N], or with the last two dimensions exchanged; the others are equal. */
firnc_value firnc_matmul(firnc_graph *graph, firnc_value a, firnc_value b, bool transpose_a, bool transpose_b);
/* rate in [0, 1). With rate 0, or in an eval graph, returns x, records nothing, and drops an annotation of the call.
 * Each call uses one rng_id in any case, so that neither the rate nor the mode changes other random numbers of the
 * graph; the same holds for attention. */
firnc_value firnc_dropout(firnc_graph *graph, firnc_value x, float rate);

/* A random number for each element of `like`: uniform from 0 to below 1, or normal with mean 0 and deviation 1. An
 * evaluation draws random numbers, too. */
firnc_value firnc_random_uniform(firnc_graph *graph, firnc_value like);
firnc_value firnc_random_normal(firnc_graph *graph, firnc_value like);

typedef struct firnc_attention_options {
    uint32_t heads, kv_heads;
    bool causal;
    bool half_softmax;  /* scores and probabilities in the half type; only for mixed precision */
    float scale;        /* factor of the scores, such as 1/sqrt(head size) */
    float dropout_rate; /* of the probabilities; 0 in an eval graph */
    bool alibi;         /* a score gets slope * (key - query) added */
    firnc_value slopes; /* alibi: float32[heads], without a gradient */
} firnc_attention_options;
firnc_value firnc_attention(firnc_graph *graph, firnc_value qkv, firnc_attention_options options);
/* query:[B,T,heads*D] key, value:[B,S,kv_heads*D]. mask_or_none:[B or 1,heads or 1,T,S], float32, without a gradient,
 * is added to the scores; -infinity hides a key. */
firnc_value firnc_cross_attention(firnc_graph *graph, firnc_value query, firnc_value key, firnc_value value,
                                  firnc_value mask_or_none, firnc_attention_options options);

typedef struct firnc_rotary_options {
    uint32_t heads, rotated; /* heads in the last extent; the first ones are rotated (of qkv: queries and keys) */
    uint32_t rotary_dim;     /* even; only the first elements of a head are rotated */
    bool interleaved;        /* pairs are adjacent (GPT-J), else across the halves of rotary_dim (GPT-NeoX, Llama) */
    float base;              /* at least 1, such as 10000 */
} firnc_rotary_options;
/* x:[..., T, heads * D]; positions count from 0 along T. */
firnc_value firnc_rotary_embedding(firnc_graph *graph, firnc_value x, firnc_rotary_options options);

firnc_value firnc_cross_entropy(firnc_graph *graph, firnc_value logits, firnc_value labels);
/* Options of cross-entropy. All zero: the mean over the rows. */
typedef struct firnc_cross_entropy_options {
    bool ignores;          /* rows with the label ignore_index are not counted */
    uint32_t ignore_index; /* a class, or the number of classes, a label that no row with a class has */
    float label_smoothing; /* [0, 1) */
    bool batch_size; /* true: sum over rows / samples of the batch * loss_weight; false: weighted mean over the rows
                      * of the batch, however it is cut into micro-batches */
    float loss_weight;
} firnc_cross_entropy_options;
/* Where a batch has several micro-batches, the weights must depend on inputs and constants alone. */
firnc_value firnc_cross_entropy_weighted(firnc_graph *graph, firnc_value logits, firnc_value labels,
                                         firnc_value weights_or_none, firnc_cross_entropy_options options);
firnc_value firnc_mean_squared_error(firnc_graph *graph, firnc_value prediction, firnc_value target);
firnc_value firnc_l1_loss(firnc_graph *graph, firnc_value prediction, firnc_value target);
firnc_value firnc_huber_loss(firnc_graph *graph, firnc_value prediction, firnc_value target, int form, float threshold);
firnc_value firnc_binary_cross_entropy(firnc_graph *graph, firnc_value logits, firnc_value target);
firnc_value firnc_nll_loss(firnc_graph *graph, firnc_value log_probabilities, firnc_value labels);
firnc_value firnc_kl_divergence(firnc_graph *graph, firnc_value log_probabilities, firnc_value target, bool log_target,
                                bool batch_mean);

/* --- what the graph is for ------------------------------------------------------------------------------------- */

/* Says that the front end cannot build the graph and has printed why: nobody freezes it, or says more about it. */
void firnc_graph_refuse(firnc_graph *graph);
/* Names the result that is minimised, float32[1]. Call it exactly once; an evaluation without a metric needs none. */
void firnc_loss(firnc_graph *graph, firnc_value loss);
/* For metrics over classes: the logits and labels to compare, and the rows to count if not all are. */
void firnc_classification(firnc_graph *graph, firnc_value logits, firnc_value labels);
/* The rows with the label ignore_index are not counted; -1: every row is. */
void firnc_row_weights(firnc_graph *graph, firnc_value weights_or_none, int64_t ignore_index);
/* Gives a value a name by which a job may make it an output (firnc_job_output). The name of a layer needs no such call:
 * it names the result of the last op in that layer. */
void firnc_name_value(firnc_graph *graph, const char *name, firnc_value value);
/* For the metric mean_squared_error. */
void firnc_regression(firnc_graph *graph, firnc_value prediction, firnc_value target);
/* For the metric auc of logits that are not classes: each logit has a target, which is positive if above 1/2. */
void firnc_detection(firnc_graph *graph, firnc_value logits, firnc_value target);

#endif
