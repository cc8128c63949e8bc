/* A recipe: the YAML of the model zoo's layout, read, checked and with every default filled in. tree.c is the only file
 * that knows YAML, recipe.c and the recipe_*.c beside it are those that know the keys. */
#ifndef FIRNC_RECIPE_H
#define FIRNC_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/graph/graph.h"
#include "schedules/schedule.h"

#define FIRNC_STEPS_MAX     1e15 /* far beyond any run, and exact in binary64 */
#define FIRNC_NODES_MAX     1024
#define FIRNC_LAYERS_MAX    64
#define FIRNC_GROUPS_MAX    31 /* a plan has at most 64: each of these, and the rest, may split by decay */
#define FIRNC_SCHEDULES_MAX 64
#define FIRNC_IGNORED_MAX   64 /* as Metric.ignore_classes of plan.fbs */

typedef enum firnc_mode { FIRNC_TRAIN = 0, FIRNC_EVAL = 1 } firnc_mode;
typedef enum firnc_architecture { FIRNC_GPT2, FIRNC_MLP } firnc_architecture;
typedef enum firnc_optimizer {
    FIRNC_SGD,
    FIRNC_ADAM,
    FIRNC_ADAMW,
    FIRNC_ADAFACTOR,
    FIRNC_LAMB,
    FIRNC_LION,
    FIRNC_RMSPROP,
    FIRNC_RADAM,
    FIRNC_NADAM,
    FIRNC_ADAMAX,
    FIRNC_RPROP,
    FIRNC_ADAGRAD,
    FIRNC_ADADELTA,
    FIRNC_ASGD,
    FIRNC_MUON
} firnc_optimizer;
typedef enum firnc_activation {
    FIRNC_RELU,
    FIRNC_GELU,
    FIRNC_GELU_NEW,
    FIRNC_TANH,
    FIRNC_SIGMOID,
    FIRNC_SILU,
    FIRNC_SOFTPLUS
} firnc_activation;
typedef enum firnc_loss_kind {
    FIRNC_LOSS_CROSS_ENTROPY,
    FIRNC_LOSS_MEAN_SQUARED_ERROR,
    FIRNC_LOSS_L1,
    FIRNC_LOSS_HUBER,
    FIRNC_LOSS_SMOOTH_L1,
    FIRNC_LOSS_BINARY_CROSS_ENTROPY,
    FIRNC_LOSS_NLL,
    FIRNC_LOSS_KL_DIVERGENCE
} firnc_loss_kind;
typedef enum firnc_metric {
    FIRNC_METRIC_LOSS, /* mean of the losses of the batches */
    FIRNC_METRIC_PERPLEXITY,
    FIRNC_METRIC_ACCURACY,
    FIRNC_METRIC_MEAN, /* of the loss, over rows by their weights */
    FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY,
    FIRNC_METRIC_MEAN_IOU,
    FIRNC_METRIC_DICE,
    FIRNC_METRIC_F_BETA,
    FIRNC_METRIC_AUC,
    FIRNC_METRIC_MEAN_SQUARED_ERROR
} firnc_metric;

/* Why there is no train_and_eval, and what to do instead. */
#define FIRNC_ONE_MODE                                                                                                 \
    "a plan has one mode, because a runtime instance is programmed once and cannot change afterwards; compile two "    \
    "plans, one with --mode train and one with --mode eval"

typedef enum firnc_position_embedding { FIRNC_POSITIONS_LEARNED, FIRNC_POSITIONS_ROTARY } firnc_position_embedding;

/* trainer.init.model with name: gpt2 */
typedef struct firnc_gpt2 {
    uint32_t vocab_size, hidden_size, num_hidden_layers, num_heads, filter_size, max_position_embeddings;
    uint32_t max_sequence_length; /* T, of the dataloader */
    firnc_position_embedding position_embedding;
    uint32_t rotary_dim; /* rotary: of a head, even */
    float rope_theta;    /* rotary */
    firnc_activation nonlinearity;
    bool share_embedding_weights, use_projection_bias_in_attention, use_ffn_bias_in_attention, use_ffn_bias,
        use_bias_in_output, attention_softmax_fp32;
    float dropout_rate, attention_dropout_rate, embedding_dropout_rate, layer_norm_epsilon, initializer_range;
    firnc_cross_entropy_options loss;
} firnc_gpt2;

/* trainer.init.model with name: mlp */
typedef struct firnc_mlp {
    uint32_t input_size, output_size, hidden_sizes[FIRNC_LAYERS_MAX], hidden_count;
    firnc_activation activation;
    float dropout_rate;
    firnc_loss_kind loss;
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights;         /* cross_entropy: each record has a weight, in stream 2 */
    float huber_threshold;       /* huber, smooth_l1 */
    bool log_target, batch_mean; /* kl_divergence */
} firnc_mlp;

/* One entry of trainer.init.precision.pol: a name pattern ('*' any characters, '?' one) and an annotation. */
typedef struct firnc_pol_pattern {
    const char *pattern;
    firnc_pol pol;
    uint32_t line;    /* as in firnc_tree: 0, it came from --set */
    const char *path; /* of the key that holds the pattern */
} firnc_pol_pattern;

/* One entry of trainer.init.precision.float32_layers: a name pattern. */
typedef struct firnc_layer_pattern {
    const char *pattern;
    uint32_t line;
    const char *path;
} firnc_layer_pattern;

typedef struct firnc_precision {
    bool mixed;               /* false: float32 throughout */
    firn_type half;           /* float16, bfloat16, cbfloat16 */
    int level;                /* global POL: 0, 1, 2; default 1 */
    bool emulate;             /* pol_lowering: emulate */
    firn_type gradient_type;  /* of weights: the half type, or float32 */
    uint8_t scaling;          /* LossScaling of plan.fbs: FIRN_FB_LOSS_SCALING_NONE and so on */
    float initial_loss_scale; /* static: the factor */
    uint64_t steps_per_increase;
    float min_loss_scale, max_loss_scale, overflow_tolerance;
    uint8_t clipping;                  /* Clipping of plan.fbs: FIRN_FB_CLIPPING_NONE and so on */
    float clip_threshold;              /* 0 without clipping */
    const firnc_pol_pattern *patterns; /* the last that matches an op wins */
    uint32_t pattern_count;
    const firnc_layer_pattern *float32_layers; /* whose ops autocast leaves in float32 */
    uint32_t float32_layer_count;
} firnc_precision;

/* Those of every class; OPTIMIZERS.md says which class has which. */
typedef struct firnc_optimizer_settings {
    firnc_optimizer kind;
    float beta1, beta2, epsilon, weight_decay, momentum, dampening;
    float alpha, rho, lr_decay, initial_accumulator_value, lambd, t0, momentum_decay; /* RMSprop, ... NAdam */
    float eta_minus, eta_plus, smallest_step, largest_step;                           /* Rprop */
    float epsilon2, clip_threshold, decay_rate;                                       /* Adafactor */
    uint32_t ns_steps;                                                                /* Muon */
    bool correct_bias, nesterov, maximize, amsgrad, centered, adam, scale_parameter;
} firnc_optimizer_settings;

/* An entry of the optimizer's `params`: parameters with settings of their own. The last entry with a pattern that
 * matches a parameter takes it; what no entry takes has the settings of the optimizer itself. */
typedef struct firnc_parameter_group {
    const char *name;            /* its first tag, or "params.0" and so on */
    const char *const *patterns; /* of parameter names: '*' any characters, '?' one */
    const char *const *tags;     /* what the param_group_tags of a scheduler choose by */
    uint32_t pattern_count, tag_count;
    firnc_optimizer_settings settings;
    bool decay_given;            /* weight_decay stands in the entry itself, and so holds for biases and norms too */
    double adjust_learning_rate; /* the factor of ScalePerParamLR */
    double adjust_weight_decay;  /* the factor of ScalePerParamWD */
    uint32_t line;               /* as in firnc_tree: 0, it came from --set */
    const char *path;
} firnc_parameter_group;

typedef struct firnc_data {
    bool window;               /* language model: windows of bytes; else records */
    uint32_t batch_size;       /* samples of a global step */
    uint32_t micro_batch_size; /* divides batch_size */
    bool shuffle;              /* sampler permutation, else sequential */
    uint64_t shuffle_seed;
    uint32_t stride; /* windows: elements from one to the next; default the window less the label shift */
    uint32_t held_out_per_mille;
    bool held_out;             /* this plan reads the held-out part */
    bool wrap;                 /* start over at the end of the data, else stop */
    firn_type feature_element; /* records: element type of stream 0 in the source: uint8 or float32 */
    firn_type label_element;   /* records: uint8 or int32 (classes), float32 (targets) */
    float feature_scale, feature_shift;
    firn_type weight_element; /* records with sample weights: uint8 or float32 */
} firnc_data;

/* A schedule: a tree of nodes, and the setting whose value it gives. */
typedef struct firnc_schedule_root {
    const char *name; /* "learning_rate", "weight_decay.head" */
    bool weight_decay;
    uint32_t node;
    const struct firnc_tree *source; /* where it stands; NULL: the optimizer's own learning rate */
    bool adjusted;                   /* holds a ScalePerParamLR, */
    double adjustment;               /* for this factor */
} firnc_schedule_root;

typedef struct firnc_recipe {
    const char *file;
    firnc_mode mode;
    uint64_t seed;
    uint64_t steps; /* train: loop.num_steps; eval: loop.eval_steps, 0: every whole batch of the data */
    bool check_loss;
    firnc_architecture architecture;
    firnc_gpt2 gpt2;
    firnc_mlp mlp;
    firnc_optimizer_settings optimizer;
    firnc_parameter_group groups[FIRNC_GROUPS_MAX];
    uint32_t group_count;
    struct {
        firn_schedule_node nodes[FIRNC_NODES_MAX];
        double *numbers;
        firn_schedule_instruction *instructions;
        firnc_schedule_root roots[FIRNC_SCHEDULES_MAX];
        uint32_t rate_of[FIRNC_GROUPS_MAX + 1];  /* roots: of the parameters that no group takes, then of each group */
        uint32_t decay_of[FIRNC_GROUPS_MAX + 1]; /* likewise, or FIRNC_NONE: the weight decay is constant */
        uint32_t count, number_count, number_capacity, instruction_count, instruction_capacity, root_count;
    } schedule;
    firnc_precision precision;
    firnc_data data;     /* of the mode that is compiled */
    firnc_metric metric; /* eval */
    float metric_beta;   /* f_beta */
    bool metric_macro;   /* f_beta: the mean over classes; else over all rows */
    uint32_t metric_ignored[FIRNC_IGNORED_MAX], metric_ignored_count; /* classes, ascending */
    /* where the sizes and the metric stand, for messages of later passes; NULL when the recipe was not read from a
     * file, and where it names no metric */
    const struct firnc_tree *model, *loader, *metric_key;
} firnc_recipe;

/* The schedules of a recipe, as schedules/ takes them; the recipe keeps what the list points to. */
firn_schedule_list firnc_recipe_schedules(const firnc_recipe *recipe);

/* Whether a loss is of classes, which labels name, and not of numbers. */
bool firnc_loss_has_classes(firnc_loss_kind loss);

/* Reads, checks and completes a recipe. settings are the `--set a.b=v` words, applied before checking. On a fault
 * writes one line to stderr (file, line, key, what is wrong, the mend) and returns false. */
bool firnc_recipe_read(firnc_recipe *recipe, const char *file, firnc_mode mode, const char *const *settings,
                       uint32_t setting_count);

#endif
