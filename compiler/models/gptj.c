/* GPT-J: rotary positions of neighbours, attention and feed-forward part in parallel after one norm, untied output with
 * bias. Parameters have the names of Hugging Face's GPTJForCausalLM, but for qkv_proj, the rows of its q_proj, k_proj
 * and v_proj in this order; wpe, ln_2 and fc_gate, which keys can add, are not in GPT-J. */
#include "compiler/models/gptj.h"

#include "compiler/models/transformer.h"

static const firnc_transformer defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_ROTARY,
    .rotary_pct = 0.25,
    .rope_theta = 10000,
    .norm_type = FIRNC_LAYER_NORM,
    .nonlinearity = FIRNC_GELU,
    .share_embedding_weights = false,
    .use_projection_bias_in_attention = false,
    .use_ffn_bias_in_attention = false,
    .use_ffn_bias = true,
    .use_bias_in_output = true,
    .use_parallel_residual = true,
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
    .qkv = "qkv_proj",
    .attention_output = "out_proj",
    .feed_forward_norm = "ln_2",
    .feed_forward = "mlp",
    .gate = "fc_gate",
    .up = "fc_in",
    .down = "fc_out",
    .block_form = FIRNC_PARALLEL,
    .interleaved = true,
    .layout = FIRNC_OUT_IN,
};

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_transformer_build(graph, job, settings, elements, &architecture);
}

/* The model zoo has GPT-NeoX as this model with untied norms, and there, too, it turns neighbours. */
static bool complete(const firnc_tree *keys, void *model_settings) {
    const firnc_transformer *settings = model_settings;
    const firnc_tree *untied = firnc_tree_child(keys, "use_untied_layer_norm");
    if (!firnc_transformer_complete(keys, model_settings))
        return false;
    if (settings->use_untied_layer_norm && settings->position_embedding == FIRNC_POSITIONS_ROTARY)
        firnc_idle_say(untied, "GPT-NeoX's norms, with GPT-J's rotary positions of neighbours and its biases",
                       "name: gpt-neox turns the halves of a head and fits Hugging Face's files");
    return true;
}

const firnc_model firnc_model_gptj = {.name = "gptj",
                                      .fields = &firnc_transformer_fields[FIRNC_MASKED_KEYS],
                                      .field_count = FIRNC_TRANSFORMER_KEYS + FIRNC_PARALLEL_KEYS,
                                      .mixed_keys = firnc_transformer_mixed_keys,
                                      .mixed_key_count = 1,
                                      .settings_bytes = sizeof(firnc_transformer),
                                      .defaults = &defaults,
                                      .complete = complete,
                                      .facts = firnc_transformer_facts,
                                      .build = build,
                                      .decodes = true,
                                      .weight_map = firnc_gptj_weight_map};
