/* How Hugging Face's weights files name the parameters of transformers, one table for each architecture. The models
 * have these names themselves, but for a parameter whose values lie otherwise there: it has another name here, so that
 * a file says by its names which of the two it is. Files of the body alone lack the first part of each name. */
#include "compiler/models/transformer.h"

/* Of rules that depend on the sizes of a model; sized() sets what is left open. */
#define QKV(query, key, value)                                                                                         \
    { query, key, value } /* their sizes */
#define BY_HEADS                                                                                                       \
    .order = {1, 0, 2, 3}, .order_count = 4, .shape = {0, 3, 0, FIRNC_WEIGHT_REST},                                    \
    .shape_count = 4 /* heads, head size */

#define EQUAL_NAMES                                                                                                    \
    {                                                                                                                  \
        .parameter = "*", .tensors = { "*" }                                                                           \
    }
#define IGNORED(tensor)                                                                                                \
    {                                                                                                                  \
        .kind = FIRNC_WEIGHT_IGNORED, .tensors = { tensor }                                                            \
    }
/* of a tied output layer */
#define TIED(tensor, table)                                                                                            \
    { .kind = FIRNC_WEIGHT_COPY, .parameter = (table), .tensors = {tensor}, .ties = true }

/* What is ignored: the causal mask and the frequencies of rotary positions, which older releases stored, and of bert
 * the head of what it does not predict. */

static const firnc_weight_rule gpt2[] = {
    EQUAL_NAMES,
    {.parameter = "transformer.*", .tensors = {"*"}},
    IGNORED("*h.*.attn.bias"),
    IGNORED("*h.*.attn.masked_bias"),
    TIED("lm_head.weight", "transformer.wte.weight"),
};

static const firnc_weight_rule gptj[] = {
    {.parameter = "*.qkv_proj.*", .tensors = QKV("*.q_proj.*", "*.k_proj.*", "*.v_proj.*")},
    EQUAL_NAMES,
    {.parameter = "transformer.*.qkv_proj.*", .tensors = QKV("*.q_proj.*", "*.k_proj.*", "*.v_proj.*")},
    {.parameter = "transformer.*", .tensors = {"*"}},
    IGNORED("*h.*.attn.bias"),
    IGNORED("*h.*.attn.masked_bias"),
    TIED("lm_head.weight", "transformer.wte.weight"),
};

static const firnc_weight_rule gpt_neox[] = {
    {.parameter = "*.qkv_proj.*", .tensors = {"*.query_key_value.*"}, BY_HEADS},
    EQUAL_NAMES,
    {.parameter = "gpt_neox.*.qkv_proj.*", .tensors = {"*.query_key_value.*"}, BY_HEADS},
    {.parameter = "gpt_neox.*", .tensors = {"*"}},
    IGNORED("*layers.*.attention.bias"),
    IGNORED("*layers.*.attention.masked_bias"),
    IGNORED("*layers.*.attention.rotary_emb.inv_freq"),
    TIED("embed_out.weight", "gpt_neox.embed_in.weight"),
};

static const firnc_weight_rule llama[] = {
    {.parameter = "*.qkv_proj.*", .tensors = QKV("*.q_proj.*", "*.k_proj.*", "*.v_proj.*")},
    EQUAL_NAMES,
    {.parameter = "model.*.qkv_proj.*", .tensors = QKV("*.q_proj.*", "*.k_proj.*", "*.v_proj.*")},
    {.parameter = "model.*", .tensors = {"*"}},
    IGNORED("*layers.*.self_attn.rotary_emb.inv_freq"),
    TIED("lm_head.weight", "model.embed_tokens.weight"),
};

static const firnc_weight_rule bert[] = {
    {.parameter = "*.self.qkv.*", .tensors = QKV("*.self.query.*", "*.self.key.*", "*.self.value.*")},
    {.parameter = "cls.predictions.weight", .tensors = {"cls.predictions.decoder.weight"}},
    EQUAL_NAMES,
    {.parameter = "bert.*.self.qkv.*", .tensors = QKV("*.self.query.*", "*.self.key.*", "*.self.value.*")},
    {.parameter = "bert.*", .tensors = {"*"}},
    IGNORED("*embeddings.position_ids"),
    IGNORED("*pooler.dense.*"),
    IGNORED("cls.seq_relationship.*"),
    /* of a model without a table of segments: every token is in segment 0; files have two */
    {.kind = FIRNC_WEIGHT_ADDED,
     .parameter = "bert.embeddings.position_embeddings.weight",
     .tensors = {"bert.embeddings.token_type_embeddings.weight"},
     .sizes = {2}},
    {.kind = FIRNC_WEIGHT_ADDED,
     .parameter = "bert.embeddings.position_embeddings.weight",
     .tensors = {"embeddings.token_type_embeddings.weight"}},
    {.kind = FIRNC_WEIGHT_COPY, .parameter = "cls.predictions.bias", .tensors = {"cls.predictions.decoder.bias"}},
    TIED("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
};

/* Whether a rule is for a model with these settings. */
static bool applies(const firnc_weight_rule *rule, const firnc_transformer *settings) {
    if (rule->ties)
        return settings->share_embedding_weights;
    if (rule->kind == FIRNC_WEIGHT_ADDED)
        return settings->segments == 0;
    return rule->shape_count == 0 || settings->kv_heads == settings->num_heads;
}

static firnc_weight_rule sized(firnc_weight_rule rule, const firnc_transformer *settings) {
    const uint32_t head_size = settings->hidden_size / settings->num_heads;
    if (rule.shape_count > 0) {
        rule.shape[0] = settings->num_heads;
        rule.shape[2] = head_size;
    }
    rule.written = rule.kind == FIRNC_WEIGHT_COPY && !settings->share_embedding_weights;
    if (rule.tensors[1] != NULL) {
        rule.sizes[0] = settings->hidden_size;
        rule.sizes[1] = rule.sizes[2] = head_size * settings->kv_heads;
    }
    return rule;
}

/* The rules of a table that are for these settings. */
static firnc_weight_map chosen(const firnc_weight_rule *table, uint32_t count, const firnc_transformer *settings) {
    firnc_weight_rule *rules = firnc_allocate(count * sizeof *rules);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++)
        if (applies(&table[i], settings))
            rules[taken++] = sized(table[i], settings);
    return (firnc_weight_map){.rules = rules, .count = taken};
}

#define RULES(table) (table), sizeof(table) / sizeof *(table)

firnc_weight_map firnc_gpt2_weight_map(const void *settings) {
    return chosen(RULES(gpt2), settings);
}

firnc_weight_map firnc_gptj_weight_map(const void *settings) {
    return chosen(RULES(gptj), settings);
}

firnc_weight_map firnc_gpt_neox_weight_map(const void *settings) {
    return chosen(RULES(gpt_neox), settings);
}

firnc_weight_map firnc_llama_weight_map(const void *settings) {
    return chosen(RULES(llama), settings);
}

firnc_weight_map firnc_bert_weight_map(const void *settings) {
    return chosen(RULES(bert), settings);
}
