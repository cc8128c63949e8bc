/* GPT-NeoX: rotary positions across the halves of a part of each head, attention and feed-forward part in parallel,
 * each after a norm of its own, untied output; use_parallel_residual: false puts the parts one behind the other.
 * Parameters have the names of Hugging Face's GPTNeoXForCausalLM, but for qkv_proj, the rows of its query_key_value in
 * another order: all queries, then all keys, then all values, each by heads; Hugging Face has query, key and value of
 * one head together, head after head. embed_positions and dense_h_to_4h_gate, which keys can add, are not in GPT-NeoX.
 */
#include "compiler/models/gpt_neox.h"

#include "compiler/models/transformer.h"

static const firnc_transformer defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_ROTARY,
    .rotary_pct = 0.25,
    .rope_theta = 10000,
    .norm_type = FIRNC_LAYER_NORM,
    .nonlinearity = FIRNC_GELU,
    .share_embedding_weights = false,
    .use_projection_bias_in_attention = true,
    .use_ffn_bias_in_attention = true,
    .use_ffn_bias = true,
    .use_bias_in_output = false,
    .attention_softmax_fp32 = true,
    .use_untied_layer_norm = true,
    .use_parallel_residual = true,
    .dropout_rate = 0.1F,
    .residual_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .attention_dropout_rate = 0.1F,
    .embedding_dropout_rate = FIRNC_UNSET, /* as dropout_rate */
    .layer_norm_epsilon = 1e-5F,
    .initializer_range = 0.02F,
    .loss = {.loss_weight = 1},
};

static const firnc_architecture architecture = {
    .body = "gpt_neox",
    .tokens = "embed_in",
    .positions = "embed_positions",
    .last_norm = "final_layer_norm",
    .output = "embed_out",
    .block = "layers",
    .attention_norm = "input_layernorm",
    .attention = "attention",
    .qkv = "qkv_proj",
    .attention_output = "dense",
    .feed_forward_norm = "post_attention_layernorm",
    .feed_forward = "mlp",
    .gate = "dense_h_to_4h_gate",
    .up = "dense_h_to_4h",
    .down = "dense_4h_to_h",
    .block_form = FIRNC_PARALLEL,
    .interleaved = false,
    .layout = FIRNC_OUT_IN,
};

/* Blocks whose parts stand one behind the other always have two norms. */
static bool complete(const firnc_tree *keys, void *model_settings) {
    const firnc_transformer *settings = model_settings;
    if (!settings->use_parallel_residual && !settings->use_untied_layer_norm)
        return firnc_tree_fail(
            firnc_tree_child(keys, "use_untied_layer_norm"),
            "false is for parallel blocks, and use_parallel_residual is false; remove one of the two");
    return firnc_transformer_complete(keys, model_settings);
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_transformer_build(graph, job, settings, elements, &architecture);
}

const firnc_model firnc_model_gpt_neox = {.name = "gpt-neox",
                                          .fields = &firnc_transformer_fields[FIRNC_MASKED_KEYS],
                                          .field_count =
                                              FIRNC_TRANSFORMER_KEYS + FIRNC_PARALLEL_KEYS + FIRNC_SEQUENTIAL_KEYS,
                                          .mixed_keys = firnc_transformer_mixed_keys,
                                          .mixed_key_count = 1,
                                          .settings_bytes = sizeof(firnc_transformer),
                                          .defaults = &defaults,
                                          .complete = complete,
                                          .facts = firnc_transformer_facts,
                                          .build = build,
                                          .decodes = true,
                                          .weight_map = firnc_gpt_neox_weight_map};
