/* LLaMA: RMS norms, rotary positions across the halves of each head, a gated feed-forward part, no bias, untied output;
 * attention_module: multiquery_attention gives grouped queries. Parameters have the names of Hugging Face's
 * LlamaForCausalLM, but for qkv_proj, the rows of its q_proj, k_proj and v_proj in this order; embed_positions, which a
 * key can add, is not in LLaMA. */
#include "compiler/models/llama.h"

#include "compiler/models/transformer.h"

static const firnc_transformer defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_ROTARY,
    .rotary_pct = 1,
    .rope_theta = 10000,
    .norm_type = FIRNC_RMS_NORM,
    .nonlinearity = FIRNC_GATED + FIRNC_SILU,
    .share_embedding_weights = false,
    .use_projection_bias_in_attention = false,
    .use_ffn_bias_in_attention = false,
    .use_ffn_bias = false,
    .use_bias_in_output = false,
    .attention_softmax_fp32 = true,
    .dropout_rate = 0,
    .residual_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .attention_dropout_rate = 0,
    .embedding_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .layer_norm_epsilon = 1e-5F,
    .initializer_range = 0.02F,
    .loss = {.loss_weight = 1},
};

static const firnc_architecture architecture = {
    .body = "model",
    .tokens = "embed_tokens",
    .positions = "embed_positions",
    .last_norm = "norm",
    .output = "lm_head",
    .block = "layers",
    .attention_norm = "input_layernorm",
    .attention = "self_attn",
    .qkv = "qkv_proj",
    .attention_output = "o_proj",
    .feed_forward_norm = "post_attention_layernorm",
    .feed_forward = "mlp",
    .gate = "gate_proj",
    .up = "up_proj",
    .down = "down_proj",
    .interleaved = false,
    .layout = FIRNC_OUT_IN,
};

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_transformer_build(graph, job, settings, elements, &architecture);
}

const firnc_model firnc_model_llama = {.name = "llama",
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
                                       .weight_map = firnc_llama_weight_map};
