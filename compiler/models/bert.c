/* BERT as a masked language model: learned positions, attention in both directions, blocks that end with a norm, tied
 * output with bias after a dense layer and a norm. A sample is a record of tokens, some of them masked, with a record
 * of labels; ignore_index, a token or -100, says which label stands where nothing is to be predicted. Every record
 * fills all positions: there is no padding mask and no next-sentence prediction, and all tokens are in segment 0.
 *
 * Parameters have the names of Hugging Face's BertForMaskedLM, but for attention.self.qkv, the rows of its query, key
 * and value in this order. num_segments gives the model the table token_type_embeddings; without it, a weights file's
 * row of segment 0 is added to each row of position_embeddings (transformer_weights.c), which computes the same and
 * learns otherwise. intermediate.gate, which a key can add, is not in BERT. */
#include "compiler/models/bert.h"

#include "compiler/models/transformer.h"

static const firnc_transformer defaults = {
    .max_position_embeddings = 1024,
    .position_embedding = FIRNC_POSITIONS_LEARNED,
    .rotary_pct = 0.25,
    .rope_theta = 10000,
    .norm_type = FIRNC_LAYER_NORM,
    .nonlinearity = FIRNC_GELU,
    .mlm_nonlinearity = FIRNC_GELU,
    .share_embedding_weights = true,
    .use_projection_bias_in_attention = true,
    .use_ffn_bias_in_attention = true,
    .use_ffn_bias = true,
    .use_bias_in_output = true,
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
    .body = "bert",
    .tokens = "embeddings.word_embeddings",
    .segments = "embeddings.token_type_embeddings",
    .positions = "embeddings.position_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .output = "cls.predictions",
    .head = "cls.predictions.transform",
    .head_dense = "dense",
    .head_norm = "LayerNorm",
    .block = "encoder.layer",
    .attention_norm = "attention.output.LayerNorm",
    .attention = "attention",
    .qkv = "self.qkv",
    .attention_output = "output.dense",
    .feed_forward_norm = "output.LayerNorm",
    .gate = "intermediate.gate",
    .up = "intermediate.dense",
    .down = "output.dense",
    .block_form = FIRNC_NORM_LAST,
    .masked = true,
    .layout = FIRNC_OUT_IN,
};

static bool complete(const firnc_tree *keys, void *model_settings) {
    const firnc_transformer *settings = model_settings;
    static const char *const names[][2] = {{"encoder_nonlinearity", "nonlinearity"},
                                           {"mlm_loss_scaling", "loss_scaling"},
                                           {"mlm_loss_weight", "loss_weight"}};
    const firnc_tree *pairs = firnc_tree_child(keys, "disable_nsp");
    if (!settings->disable_nsp)
        return firnc_tree_fail(pairs != NULL ? pairs : keys,
                               "there is no next-sentence prediction, which only disable_nsp: true leaves out; add "
                               "that");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const firnc_tree *other = firnc_tree_child(keys, names[i][1]);
        if (other != NULL && firnc_tree_child(keys, names[i][0]) != NULL)
            return firnc_tree_fail(other, "is %s by another name, which is there too; remove one of them", names[i][0]);
    }
    if (settings->position_embedding == FIRNC_POSITIONS_ALIBI)
        return firnc_tree_fail(firnc_tree_child(keys, "position_embedding_type"),
                               "alibi is for models whose positions see only those before them; choose learned or "
                               "rotary");
    static const firnc_idle_key pooler = {"pooler_nonlinearity", NULL};
    const firnc_tree *weight = firnc_tree_child(keys, "mlm_loss_weight");
    if (!firnc_transformer_complete(keys, model_settings))
        return false;
    firnc_idle_note_keys(keys, &pooler, 1, NULL,
                         "a pooler is for next-sentence prediction, which there is not; remove it");
    return weight == NULL || settings->loss.batch_size || settings->loss.loss_weight == 1 ||
           firnc_tree_fail(weight, "has a meaning with mlm_loss_scaling: batch_size only; write 1.0 or remove it");
}

static firnc_model_facts facts(const void *settings) {
    firnc_model_facts facts = firnc_transformer_facts(settings);
    facts.longest_sequence = facts.label_shift = 0;
    facts.tokens = true;
    return facts;
}

static void build(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements) {
    firnc_transformer_build(graph, job, settings, elements, &architecture);
}

const firnc_model firnc_model_bert = {.name = "bert",
                                      .fields = firnc_transformer_fields,
                                      .field_count = FIRNC_MASKED_KEYS + FIRNC_TRANSFORMER_KEYS,
                                      .mixed_keys = firnc_transformer_mixed_keys,
                                      .mixed_key_count = 1,
                                      .settings_bytes = sizeof(firnc_transformer),
                                      .defaults = &defaults,
                                      .complete = complete,
                                      .facts = facts,
                                      .build = build,
                                      .weight_map = firnc_bert_weight_map};
