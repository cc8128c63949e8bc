/* The model gpt2: its settings, and its row for the table of models. */
#ifndef FIRNC_GPT2_H
#define FIRNC_GPT2_H

#include "compiler/models/models.h"
#include "compiler/models/parts.h"

typedef enum firnc_position_embedding { FIRNC_POSITIONS_LEARNED, FIRNC_POSITIONS_ROTARY } firnc_position_embedding;

/* trainer.init.model with name: gpt2 */
typedef struct firnc_gpt2 {
    firnc_model_settings common;
    uint32_t vocab_size, hidden_size, num_hidden_layers, num_heads, filter_size, max_position_embeddings;
    firnc_position_embedding position_embedding;
    uint32_t rotary_dim; /* rotary: rotated elements of a head; even */
    float rope_theta;    /* rotary */
    firnc_activation nonlinearity;
    bool share_embedding_weights, use_projection_bias_in_attention, use_ffn_bias_in_attention, use_ffn_bias,
        use_bias_in_output, attention_softmax_fp32;
    float dropout_rate, attention_dropout_rate, embedding_dropout_rate, layer_norm_epsilon, initializer_range;
    int loss_scaling; /* as read from the recipe; sets loss.batch_size */
    firnc_cross_entropy_options loss;
} firnc_gpt2;

extern const firnc_model firnc_model_gpt2;

/* Its weight_map (gpt2_weights.c). */
firnc_weight_map firnc_gpt2_weight_map(const void *settings);

#endif
