/* GPT-2: learned positions, pre-norm blocks, tied output. Parameters have the names of Hugging Face's GPT2LMHeadModel,
 * whose linear weights have the layout in-out. c_gate, of a gated feed-forward part, is not in GPT-2. GPT-3 is, as in
 * the reference, the same under another name. */
#include "compiler/models/gpt2.h"

#include "compiler/models/transformer.h"

static const firnc_transformer defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_LEARNED,
    .rotary_pct = 0.25,
    .rope_theta = 10000,
    .norm_type = FIRNC_LAYER_NORM,
    .nonlinearity = FIRNC_GELU,
    .share_embedding_weights = true,
    .use_projection_bias_in_attention = true,
    .use_ffn_bias_in_attention = true,
    .use_ffn_bias = true,
    .use_bias_in_output = false,
    .attention_softmax_fp32 = true,
    .dropout_rate = 0.1F,
    .residual_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .attention_dropout_rate = 0.1F,
    .embedding_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .layer_norm_epsilon = 1e-5F,
    .initializer_range = 0.02F,
    .loss = {.loss_weight = 1},
};

static const firnc_architecture architecture = {
    .body = "transformer",
    .tokens = "wte",
    .positions = "wpe",
    .last_norm = "ln_f",
    .output = "lm_head",
    .block = "h",
    .attention_norm = "ln_1",
    .attention = "attn",
    .qkv = "c_attn",
    .attention_output = "c_proj",
    .feed_forward_norm = "ln_2",
    .feed_forward = "mlp",
    .gate = "c_gate",
    .up = "c_fc",
    .down = "c_proj",
    .interleaved = true, /* as in the reference */
    .layout = FIRNC_IN_OUT,
};

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_transformer_build(graph, job, settings, elements, &architecture);
}

const firnc_model firnc_model_gpt2 = {.name = "gpt2",
                                      .fields = &firnc_transformer_fields[FIRNC_MASKED_KEYS],
                                      .field_count = FIRNC_TRANSFORMER_KEYS,
                                      .mixed_keys = firnc_transformer_mixed_keys,
                                      .mixed_key_count = 1,
                                      .settings_bytes = sizeof(firnc_transformer),
                                      .defaults = &defaults,
                                      .complete = firnc_transformer_complete,
                                      .facts = firnc_transformer_facts,
                                      .build = build,
                                      .decodes = true,
                                      .weight_map = firnc_gpt2_weight_map};

const firnc_model firnc_model_gpt3 = {.name = "gpt3",
                                      .fields = &firnc_transformer_fields[FIRNC_MASKED_KEYS],
                                      .field_count = FIRNC_TRANSFORMER_KEYS,
                                      .mixed_keys = firnc_transformer_mixed_keys,
                                      .mixed_key_count = 1,
                                      .settings_bytes = sizeof(firnc_transformer),
                                      .defaults = &defaults,
                                      .complete = firnc_transformer_complete,
                                      .facts = firnc_transformer_facts,
                                      .build = build,
                                      .decodes = true,
                                      .weight_map = firnc_gpt2_weight_map};
