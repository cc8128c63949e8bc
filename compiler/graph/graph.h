/* The graph builder: how a model is written down. The built-in models (compiler/models/) use nothing else, and a C
 * program may use it the same way.
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
 * The builder only records: shapes are inferred and checked by the shapes pass. Memory belongs to the compiler's arena
 * and is never freed. Misuse (an unbalanced scope, a value of another graph) is a bug of the caller and aborts. */
#ifndef FIRNC_GRAPH_H
#define FIRNC_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/ops.h"

typedef struct firnc_graph firnc_graph;
typedef uint32_t firnc_value; /* index of a value of one graph */

#define FIRNC_NONE  UINT32_MAX /* no value: an optional operand left out */
#define FIRNC_UNSET (-1)

/* --- precision annotation ----------------------------------------------------------------------------------------
 * The semantics of cstorch.pol: the innermost annotation replaces the outer one entirely while it is active (a level
 * it leaves unset falls to the model's global level, not to the outer scope); `level` speaks for forward, `bwd_level`
 * or else `level` for backward; enable_fwd and enable_bwd take a direction out of the annotation. */
typedef struct firnc_pol {
    int level;       /* 0, 1, 2 or FIRNC_UNSET */
    int bwd_level;   /* 0, 1, 2 or FIRNC_UNSET: as level */
    bool enable_fwd; /* true unless the annotation leaves forward alone */
    bool enable_bwd;
} firnc_pol;

/* Annotates every op built until the matching end. Scopes nest. */
void firnc_pol_begin(firnc_graph *graph, firnc_pol pol);
void firnc_pol_end(firnc_graph *graph);

/* Annotates the next op only (a call): it replaces the scope for that op. */
void firnc_pol_next(firnc_graph *graph, firnc_pol pol);

/* Annotates the next op only, by a rule that belongs to the architecture rather than to its user: it holds where no
 * scope and no pattern of the job speaks for that op. */
void firnc_pol_rule(firnc_graph *graph, firnc_pol pol);

/* --- names --------------------------------------------------------------------------------------------------------
 * Layers nest; their names joined with '.' name the ops in them ("transformer.h.0.attn.c_attn"), for reports and for
 * the job's POL patterns. Parameters are named in full by the caller (PyTorch's names). */
void firnc_layer_begin(firnc_graph *graph, const char *name);
void firnc_layer_end(firnc_graph *graph);

/* --- values ---------------------------------------------------------------------------------------------------- */

typedef enum firnc_init_rule { FIRNC_INIT_CONSTANT, FIRNC_INIT_NORMAL, FIRNC_INIT_UNIFORM } firnc_init_rule;

/* constant: a. normal: mean a, deviation b. uniform: [a, b). */
typedef struct firnc_init {
    firnc_init_rule rule;
    float a, b;
} firnc_init;

firnc_graph *firnc_graph_create(const char *model);

/* The graph is for evaluation (a job of mode FIRNC_EVAL): dropout is not recorded. To be called before the first op. */
void firnc_graph_evaluate(firnc_graph *graph);

/* Where the elements of an input come from, and how they are converted. The limit of indices is at most the rows of the
 * table, or the classes, that they choose from; data with an element that is not below it is refused. */
typedef struct firnc_input_options {
    uint8_t stream;    /* of the data: streams are numbered from 0 in the order of the inputs that read them */
    firn_type element; /* in the data: uint8, or int32 for an int32 input, float32 for a float32 input */
    uint32_t advance;  /* windows: elements between the start of the window and the first one of this input */
    uint32_t limit;    /* int32 inputs: every element is below it, 1 to 2^31-1; other inputs: 0 */
    bool scaled;       /* float32 inputs of uint8 elements: x becomes x * scale + shift; else it is taken as it is */
    float scale, shift;
} firnc_input_options;

/* A tensor, int32 or float32, that some op reads and that each sample fills a part of; dims[0] counts the samples of a
 * micro-batch. */
firnc_value firnc_input(firnc_graph *graph, const char *name, firn_type type, uint8_t rank, const uint32_t *dims,
                        firnc_input_options options);

/* A trained float32 tensor. decay says whether weight decay applies (not for bias and norm). */
firnc_value firnc_parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims, firnc_init init,
                            bool decay);

/* --- ops: plan/ops.def says what each one takes and gives ------------------------------------------------------ */

enum { FIRNC_OUT_IN = 0, FIRNC_IN_OUT = 1 };      /* layout of a linear weight: PyTorch's Linear, GPT-2's Conv1D */
enum { FIRNC_GELU_ERF = 0, FIRNC_GELU_TANH = 1 }; /* form of gelu */
enum { FIRNC_HUBER = 0, FIRNC_HUBER_SMOOTH = 1 }; /* form of huber_loss */

/* Any forward op of the table: inputs and attributes in the order of its row (FIRN_LINEAR_IN_X and so on are their
 * positions), an optional input left out from the end; integers or reals may be NULL, which means zeros. Returns output
 * 0. The functions below are the same for single ops, with types. */
firnc_value firnc_op(firnc_graph *graph, firn_op_code code, const firnc_value *inputs, uint8_t input_count,
                     const int64_t *integers, const float *reals);

firnc_value firnc_linear(firnc_graph *graph, firnc_value x, firnc_value weight, firnc_value bias_or_none, int layout);
firnc_value firnc_embedding(firnc_graph *graph, firnc_value ids, firnc_value table);
firnc_value firnc_leading_rows(firnc_graph *graph, firnc_value table, uint32_t rows);
firnc_value firnc_add(firnc_graph *graph, firnc_value a, firnc_value b);
firnc_value firnc_layer_norm(firnc_graph *graph, firnc_value x, firnc_value gain, firnc_value bias, float epsilon);
firnc_value firnc_gelu(firnc_graph *graph, firnc_value x, int form);
firnc_value firnc_relu(firnc_graph *graph, firnc_value x);
firnc_value firnc_tanh(firnc_graph *graph, firnc_value x);
firnc_value firnc_sigmoid(firnc_graph *graph, firnc_value x);
firnc_value firnc_silu(firnc_graph *graph, firnc_value x);
firnc_value firnc_softplus(firnc_graph *graph, firnc_value x);
firnc_value firnc_log_softmax(firnc_graph *graph, firnc_value x);
/* rate in [0, 1); rate 0 returns x and records nothing, and so does an eval graph. Each call takes one rng_id all the
 * same, so that a rate, or the mode, changes no other random number of the graph; likewise attention. */
firnc_value firnc_dropout(firnc_graph *graph, firnc_value x, float rate);

typedef struct firnc_attention_options {
    uint32_t heads, kv_heads;
    bool causal;
    bool half_softmax;  /* scores and probabilities in the half type; only for mixed precision */
    float scale;        /* of the scores, such as 1/sqrt(head size) */
    float dropout_rate; /* of the probabilities; 0 in an eval graph */
} firnc_attention_options;
firnc_value firnc_attention(firnc_graph *graph, firnc_value qkv, firnc_attention_options options);

typedef struct firnc_rotary_options {
    uint32_t heads, rotated; /* in the last extent; of qkv the first ones, queries and keys, turn */
    uint32_t rotary_dim;     /* even, of a head's first elements; the rest of the head passes */
    bool interleaved;        /* pairs are neighbours (GPT-J); else the halves of rotary_dim (GPT-NeoX, Llama) */
    float base;              /* at least 1, such as 10000 */
} firnc_rotary_options;
/* x:[..., T, heads * D]; positions count from 0 along T. */
firnc_value firnc_rotary_embedding(firnc_graph *graph, firnc_value x, firnc_rotary_options options);

firnc_value firnc_cross_entropy(firnc_graph *graph, firnc_value logits, firnc_value labels);
/* The rest of what cross-entropy can do. All zero: the plain mean. */
typedef struct firnc_cross_entropy_options {
    bool ignores;          /* rows with the label ignore_index do not count */
    uint32_t ignore_index; /* a class */
    float label_smoothing; /* [0, 1) */
    bool batch_size;       /* the sum over the samples of the batch, times loss_weight; else the weighted mean */
    float loss_weight;
} firnc_cross_entropy_options;
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

/* The scalar that is minimised. Exactly once. */
void firnc_loss(firnc_graph *graph, firnc_value loss);
/* For metrics of classes: the logits and labels that they compare; and which rows count, where not all do. */
void firnc_classification(firnc_graph *graph, firnc_value logits, firnc_value labels);
void firnc_row_weights(firnc_graph *graph, firnc_value weights_or_none, int64_t ignore_index);
/* For mean_squared_error as a metric. */
void firnc_regression(firnc_graph *graph, firnc_value prediction, firnc_value target);
/* For the metric auc of logits that are no classes: each has a target, positive above 1/2. */
void firnc_detection(firnc_graph *graph, firnc_value logits, firnc_value target);

#endif
