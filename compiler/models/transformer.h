/* The transformer from which gpt2, gpt3, gptj, gpt-neox and llama are made: their keys, and the graph that they share.
 * A file of its own gives each architecture its defaults and what no key decides: names, the form of a block, the pairs
 * of rotary positions and the layout of weights. */
#ifndef FIRNC_TRANSFORMER_H
#define FIRNC_TRANSFORMER_H

#include "compiler/models/initializers.h"
#include "compiler/models/models.h"
#include "compiler/models/parts.h"

typedef enum firnc_position_embedding {
    FIRNC_POSITIONS_LEARNED,
    FIRNC_POSITIONS_ROTARY,
    FIRNC_POSITIONS_ALIBI
} firnc_position_embedding;
typedef enum firnc_norm_type { FIRNC_LAYER_NORM, FIRNC_RMS_NORM } firnc_norm_type;
typedef enum firnc_attention_module { FIRNC_AIAYN_ATTENTION, FIRNC_MULTIQUERY_ATTENTION } firnc_attention_module;

/* Of a nonlinearity: the feed-forward part is activation(gate(x)) * up(x), where the rest of the number says which
 * activation; without it activation(up(x)). */
#define FIRNC_GATED 256

/* trainer.init.model with the name of one of these models */
typedef struct firnc_transformer {
    firnc_model_settings common;
    uint32_t vocab_size, hidden_size, num_hidden_layers, num_heads, filter_size, max_position_embeddings;
    firnc_attention_module attention_module;
    uint32_t kv_heads; /* heads of keys and of values */
    firnc_position_embedding position_embedding;
    uint32_t rotary_dim; /* rotary: rotated elements of a head; even */
    double rotary_pct;   /* rotary: the share of a head that rotary_dim is if the recipe does not say */
    float rope_theta;    /* rotary */
    firnc_norm_type norm_type;
    int nonlinearity;                  /* a firnc_activation, with FIRNC_GATED added or not */
    firnc_activation mlm_nonlinearity; /* of the head of a masked language model */
    bool disable_nsp;                  /* masked language models, which must set it */
    uint32_t segments;  /* masked language models: rows of the table of segments, of which every token takes the first;
                         * 0: there is no table */
    bool has_pad_token; /* lookups of pad_token_id give its row of the table no gradient */
    uint32_t pad_token_id;
    bool share_embedding_weights, use_projection_bias_in_attention, use_ffn_bias_in_attention, use_ffn_bias,
        use_bias_in_output, attention_softmax_fp32;
    bool use_untied_layer_norm; /* parallel blocks: the feed-forward part has a norm of its own */
    bool use_parallel_residual; /* FIRNC_PARALLEL: false makes the block FIRNC_NORM_FIRST */
    float dropout_rate, residual_dropout_rate, attention_dropout_rate, embedding_dropout_rate, layer_norm_epsilon,
        initializer_range;
    firnc_initializer initializer, embedding_initializer, output_layer_initializer;
    int loss_scaling; /* as read from the recipe; sets loss.batch_size */
    firnc_cross_entropy_options loss;
} firnc_transformer;

typedef enum firnc_block_form {
    FIRNC_NORM_FIRST, /* x + branch(norm(x)) for attention, then for the feed-forward part */
    FIRNC_PARALLEL,   /* x + (attention(norm(x)) + feed_forward(norm(x))) */
    FIRNC_NORM_LAST   /* norm(x + branch(x)) for attention, then for the feed-forward part */
} firnc_block_form;

/* What keys do not decide. The names are of layers and of the parameters in them; NULL where an architecture has no
 * such layer. */
typedef struct firnc_architecture {
    const char *body; /* all but the output layer and the head before it */
    const char *tokens, *segments, *positions, *embedding_norm, *last_norm, *output;
    const char *head, *head_dense, *head_norm; /* the layers between body and output, in `head` */
    const char *block;                         /* such as "h", followed by the number of the block */
    const char *attention_norm, *attention, *qkv, *attention_output;
    const char *feed_forward_norm, *feed_forward, *gate, *up, *down;
    firnc_block_form block_form;
    bool masked;      /* a masked language model: a position sees all others, and samples are records of tokens and of
                       * labels; otherwise it sees those before it, and samples are windows of text */
    bool interleaved; /* rotary positions turn pairs of neighbours, else pairs across the halves of rotary_dim */
    int layout;       /* of the weights in blocks: FIRNC_OUT_IN or FIRNC_IN_OUT */
} firnc_architecture;

/* The keys, for the row of a model: FIRNC_MASKED_KEYS of masked language models, then FIRNC_TRANSFORMER_KEYS of all,
 * then FIRNC_PARALLEL_KEYS of parallel blocks, then FIRNC_SEQUENTIAL_KEYS of those that may be sequential, too. */
enum { FIRNC_MASKED_KEYS = 7, FIRNC_TRANSFORMER_KEYS = 39, FIRNC_PARALLEL_KEYS = 1, FIRNC_SEQUENTIAL_KEYS = 1 };
extern const firnc_field firnc_transformer_fields[];
extern const firnc_idle_key firnc_transformer_mixed_keys[1];

#define FIRNC_LABEL_SHIFT 1 /* the label of an element is the next element of the window */

/* What the row of a model has for these purposes (compiler/models/models.h). */
bool firnc_transformer_complete(const firnc_tree *keys, void *settings);
firnc_model_facts firnc_transformer_facts(const void *settings); /* of all that read windows of text */

/* The weight_map of each architecture (transformer_weights.c). */
firnc_weight_map firnc_gpt2_weight_map(const void *settings);
firnc_weight_map firnc_gptj_weight_map(const void *settings);
firnc_weight_map firnc_gpt_neox_weight_map(const void *settings);
firnc_weight_map firnc_llama_weight_map(const void *settings);
firnc_weight_map firnc_bert_weight_map(const void *settings);

/* Builds the graph of a language model. */
void firnc_transformer_build(firnc_graph *graph, const firnc_job *job, const firnc_transformer *settings,
                             const firnc_elements *elements, const firnc_architecture *architecture);

#endif
