/* Tests the transformers of compiler/models/transformer.h: what each name means when a recipe says nothing else, what
 * keys change, which parameters a graph then has, and that refusals name the key and the remedy. Their arithmetic is
 * tested by tests/end_to_end/transformer_training.sh. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/text.h"
#include "compiler/graph/ir.h"
#include "compiler/models/transformer.h"
#include "compiler/recipe/recipe.h"
#include "tests/unit/support_test.h"

/* --- recipes ------------------------------------------------------------------------------------------------------ */

static char file_name[] = P_tmpdir "/firn-transformers-XXXXXX";
static const char *messages; /* of the last recipe, each followed by a line end */

BEFORE_ALL {
    int file = mkstemp(file_name);
    assert_true(file >= 0 && close(file) == 0);
}

AFTER_ALL {
    assert_int_equal(unlink(file_name), 0);
}

static void keep_message(void *context, const char *line) {
    (void)context;
    messages = firnc_format("%s%s\n", messages, line);
}

/* Reads a recipe of one block of 32 elements, 4 heads; `keys` are the model's other keys, on line 3, `loader` those of
 * the data. NULL if refused. */
static const firnc_recipe *read_recipe(const char *name, const char *keys, const char *loader) {
    FILE *file = fopen(file_name, "w");
    assert_non_null(file);
    fprintf(file,
            "trainer:\n  init:\n    model: {name: %s, vocab_size: 64, hidden_size: 32, num_hidden_layers: 1, "
            "num_heads: 4, max_position_embeddings: 16%s%s}\n    optimizer: {AdamW: {lr: 0.1}}\n"
            "    precision: {enabled: false}\n    loop: {num_steps: 1}\n"
            "  fit: {train_dataloader: {batch_size: 2%s%s}}\n",
            name, *keys == '\0' ? "" : ", ", keys, *loader == '\0' ? "" : ", ", loader);
    assert_int_equal(fclose(file), 0);
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    messages = "";
    firnc_messages_to(keep_message, NULL);
    const bool good = firnc_recipe_read(recipe, file_name, FIRNC_TRAIN, NULL, 0);
    firnc_messages_to(NULL, NULL);
    return good ? recipe : NULL;
}

static const firnc_recipe *read_keys(const char *name, const char *keys) {
    return read_recipe(name, keys, "");
}

static const firnc_recipe *accepted(const char *name, const char *keys) {
    const firnc_recipe *recipe = read_keys(name, keys);
    if (recipe == NULL)
        fail_msg("%s with %s: %s", name, keys, messages);
    return recipe;
}

static const firnc_transformer *settings_of(const char *name, const char *keys) {
    const firnc_recipe *recipe = accepted(name, keys);
    assert_string_equal(messages, "");
    return recipe->settings;
}

/* The message is one line that begins with the place and contains the words. */
static void expect_message(const char *place, const char *words) {
    const char *start = firnc_format("firnc: %s:%s: ", file_name, place);
    if (strncmp(messages, start, strlen(start)) != 0 || strstr(messages, words) == NULL)
        fail_msg("expected %s and %s in %s", start, words, messages);
    assert_int_equal(strcspn(messages, "\n") + 1, strlen(messages));
}

/* Expects a message that names that key of the model. */
static void refused(const char *name, const char *keys, const char *key, const char *words) {
    if (read_keys(name, keys) != NULL)
        fail_msg("%s with %s is accepted", name, keys);
    expect_message(firnc_format("3: trainer.init.model.%s", key), words);
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* The parameters of a recipe's graph by name, each with its dimensions, one in a line. */
static const char *parameters_of(const char *name, const char *keys) {
    const firnc_graph *graph = firnc_recipe_build(accepted(name, keys));
    firnc_value *sorted;
    const char *text = "";
    const uint32_t count = firnc_sorted_values(graph, firnc_is_parameter, &sorted);
    for (uint32_t i = 0; i < count; i++) {
        const firnc_value_info *value = &graph->values[sorted[i]];
        text = firnc_format("%s%s %u", text, value->name, (unsigned)value->shape.dims[0]);
        text = value->shape.rank == 2 ? firnc_format("%sx%u\n", text, (unsigned)value->shape.dims[1])
                                      : firnc_format("%s\n", text);
    }
    return text;
}

/* The initial values of a parameter. */
static firnc_init init_of(const char *keys, const char *parameter) {
    const firnc_graph *graph = firnc_recipe_build(accepted("gpt3", keys));
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, parameter) == 0)
            return graph->values[i].init;
    fail_msg("no parameter %s", parameter);
    return (firnc_init){0};
}

static void expect_init(const char *keys, const char *parameter, firnc_init_rule rule, float a, float b) {
    const firnc_init init = init_of(keys, parameter);
    assert_int_equal(init.rule, rule);
    assert_float_equal(init.a, a, 1e-9);
    assert_float_equal(init.b, b, 1e-9);
}

/* The nodes of an op. */
static uint32_t count_of(const char *name, const char *keys, uint16_t code) {
    const firnc_graph *graph = firnc_recipe_build(accepted(name, keys));
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].code == code;
    return count;
}

/* The rotary embedding of the only block; NULL if there is none. */
static const firnc_node *rotary_of(const char *name, const char *keys) {
    const firnc_graph *graph = firnc_recipe_build(accepted(name, keys));
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == FIRN_OP_rotary_embedding)
            return &graph->nodes[i];
    return NULL;
}

/* --- architectures ------------------------------------------------------------------------------------------------ */

TEST(a_name_says_what_keys_leave_out) {
    assert_memory_equal(settings_of("gpt3", ""), settings_of("gpt2", ""), sizeof(firnc_transformer));
    assert_null(rotary_of("gpt3", ""));
    const firnc_transformer *gptj = settings_of("gptj", "");
    assert_false(gptj->share_embedding_weights || gptj->use_projection_bias_in_attention ||
                 gptj->use_ffn_bias_in_attention || gptj->use_untied_layer_norm);
    assert_true(gptj->use_ffn_bias && gptj->use_bias_in_output);
    assert_int_equal(gptj->rotary_dim, 2);
    const firnc_transformer *neox = settings_of("gpt-neox", "");
    assert_false(neox->share_embedding_weights || neox->use_bias_in_output);
    assert_true(neox->use_ffn_bias && neox->use_projection_bias_in_attention && neox->use_ffn_bias_in_attention &&
                neox->use_untied_layer_norm);
    assert_int_equal(neox->rotary_dim, 2);
    const firnc_transformer *llama = settings_of("llama", "");
    assert_false(llama->share_embedding_weights || llama->use_bias_in_output || llama->use_ffn_bias ||
                 llama->use_projection_bias_in_attention || llama->use_ffn_bias_in_attention);
    assert_int_equal(llama->norm_type, FIRNC_RMS_NORM);
    assert_int_equal(llama->nonlinearity, FIRNC_GATED + FIRNC_SILU);
    assert_int_equal(llama->rotary_dim, 8);
    assert_int_equal(llama->kv_heads, 4);
    assert_int_equal(rotary_of("gptj", "")->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED], 1);
    assert_int_equal(rotary_of("gpt-neox", "")->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED], 0);
    assert_int_equal(rotary_of("llama", "")->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED], 0);
}

TEST(parameters_have_the_names_of_hugging_face) {
    assert_string_equal(parameters_of("gptj", "filter_size: 48"), "lm_head.bias 64\n"
                                                                  "lm_head.weight 64x32\n"
                                                                  "transformer.h.0.attn.out_proj.weight 32x32\n"
                                                                  "transformer.h.0.attn.qkv_proj.weight 96x32\n"
                                                                  "transformer.h.0.ln_1.bias 32\n"
                                                                  "transformer.h.0.ln_1.weight 32\n"
                                                                  "transformer.h.0.mlp.fc_in.bias 48\n"
                                                                  "transformer.h.0.mlp.fc_in.weight 48x32\n"
                                                                  "transformer.h.0.mlp.fc_out.bias 32\n"
                                                                  "transformer.h.0.mlp.fc_out.weight 32x48\n"
                                                                  "transformer.ln_f.bias 32\n"
                                                                  "transformer.ln_f.weight 32\n"
                                                                  "transformer.wte.weight 64x32\n");
    assert_string_equal(parameters_of("gpt-neox", "filter_size: 48"),
                        "embed_out.weight 64x32\n"
                        "gpt_neox.embed_in.weight 64x32\n"
                        "gpt_neox.final_layer_norm.bias 32\n"
                        "gpt_neox.final_layer_norm.weight 32\n"
                        "gpt_neox.layers.0.attention.dense.bias 32\n"
                        "gpt_neox.layers.0.attention.dense.weight 32x32\n"
                        "gpt_neox.layers.0.attention.qkv_proj.bias 96\n"
                        "gpt_neox.layers.0.attention.qkv_proj.weight 96x32\n"
                        "gpt_neox.layers.0.input_layernorm.bias 32\n"
                        "gpt_neox.layers.0.input_layernorm.weight 32\n"
                        "gpt_neox.layers.0.mlp.dense_4h_to_h.bias 32\n"
                        "gpt_neox.layers.0.mlp.dense_4h_to_h.weight 32x48\n"
                        "gpt_neox.layers.0.mlp.dense_h_to_4h.bias 48\n"
                        "gpt_neox.layers.0.mlp.dense_h_to_4h.weight 48x32\n"
                        "gpt_neox.layers.0.post_attention_layernorm.bias 32\n"
                        "gpt_neox.layers.0.post_attention_layernorm.weight 32\n");
    assert_string_equal(parameters_of("llama", "filter_size: 48, attention_module: multiquery_attention, "
                                               "extra_attention_params: {num_kv_groups: 2}"),
                        "lm_head.weight 64x32\n"
                        "model.embed_tokens.weight 64x32\n"
                        "model.layers.0.input_layernorm.weight 32\n"
                        "model.layers.0.mlp.down_proj.weight 32x48\n"
                        "model.layers.0.mlp.gate_proj.weight 48x32\n"
                        "model.layers.0.mlp.up_proj.weight 48x32\n"
                        "model.layers.0.post_attention_layernorm.weight 32\n"
                        "model.layers.0.self_attn.o_proj.weight 32x32\n"
                        "model.layers.0.self_attn.qkv_proj.weight 64x32\n"
                        "model.norm.weight 32\n");
    assert_string_equal(parameters_of("gpt3", "nonlinearity: reglu, norm_type: rmsnorm, filter_size: 48, "
                                              "use_projection_bias_in_attention: false, use_ffn_bias: false, "
                                              "use_ffn_bias_in_attention: false"),
                        "transformer.h.0.attn.c_attn.weight 32x96\n"
                        "transformer.h.0.attn.c_proj.weight 32x32\n"
                        "transformer.h.0.ln_1.weight 32\n"
                        "transformer.h.0.ln_2.weight 32\n"
                        "transformer.h.0.mlp.c_fc.weight 32x48\n"
                        "transformer.h.0.mlp.c_gate.weight 32x48\n"
                        "transformer.h.0.mlp.c_proj.weight 48x32\n"
                        "transformer.ln_f.weight 32\n"
                        "transformer.wpe.weight 16x32\n"
                        "transformer.wte.weight 64x32\n");
}

TEST(untied_norms_are_a_key_of_parallel_blocks) {
    assert_int_equal(count_of("gptj", "", FIRN_OP_layer_norm), 2);
    assert_int_equal(count_of("gptj", "use_untied_layer_norm: true", FIRN_OP_layer_norm), 3);
    assert_non_null(strstr(messages, "warning: GPT-NeoX's norms, with GPT-J's rotary positions of neighbours"));
    assert_int_equal(count_of("gpt-neox", "", FIRN_OP_layer_norm), 3);
    assert_int_equal(count_of("gpt-neox", "use_untied_layer_norm: False", FIRN_OP_layer_norm), 2);
    assert_int_equal(count_of("gptj", "norm_type: rmsnorm", FIRN_OP_rms_norm), 2);
    refused("gpt2", "use_untied_layer_norm: true", "use_untied_layer_norm", "unknown key");
    refused("llama", "use_untied_layer_norm: true", "use_untied_layer_norm", "unknown key");
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

TEST(queries_are_grouped) {
    const char *const module = "attention_module: multiquery_attention";
    assert_int_equal(settings_of("llama", "attention_module: aiayn_attention")->kv_heads, 4);
    assert_int_equal(settings_of("llama", "extra_attention_params: {}")->kv_heads, 4);
    assert_int_equal(settings_of("llama", module)->kv_heads, 1);
    for (unsigned groups = 1; groups <= 4; groups *= 2) {
        const char *keys = firnc_format("%s, extra_attention_params: {num_kv_groups: %u}", module, groups);
        assert_int_equal(settings_of("gpt2", keys)->kv_heads, groups);
        const firnc_node *rotary = rotary_of("llama", keys);
        assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_HEADS], 4 + 2 * groups);
        assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_ROTATED], 4 + groups);
    }
    const char *const groups = "extra_attention_params.num_kv_groups";
    refused("llama", "extra_attention_params: {num_kv_groups: 2}", groups, "belongs to attention_module");
    refused("llama", firnc_format("%s, extra_attention_params: {num_kv_groups: 3}", module), groups,
            "4 heads cannot be divided among 3 groups");
    refused("llama", firnc_format("%s, extra_attention_params: {num_kv_groups: 8}", module), groups,
            "4 heads cannot be divided among 8 groups");
    refused("llama", firnc_format("%s, extra_attention_params: {num_kv_groups: 0}", module), groups, "at least 1");
    refused("llama", firnc_format("%s, extra_attention_params: {groups: 2}", module), "extra_attention_params.groups",
            "num_kv_groups");
    refused("llama", "extra_attention_params: 2", "extra_attention_params", "is not a mapping");
    refused("llama", "attention_module: flash", "attention_module", "aiayn_attention, multiquery_attention");
}

TEST(a_share_of_a_head_is_rotated) {
    assert_int_equal(settings_of("gpt-neox", "rotary_pct: 0.5")->rotary_dim, 4);
    assert_int_equal(settings_of("gpt-neox", "rotary_pct: 1")->rotary_dim, 8);
    assert_int_equal(settings_of("gpt-neox", "rotary_dim: 6")->rotary_dim, 6);
    refused("gpt-neox", "rotary_pct: 0.5, rotary_dim: 4", "rotary_pct", "remove one of the two");
    refused("gpt-neox", "rotary_pct: 0.4", "rotary_pct", "0.4 of a head of 8 elements, 3, is no number of pairs");
    refused("gpt-neox", "rotary_pct: 1.5", "rotary_pct", "at most 1");
    refused("gpt-neox", "rotary_pct: 0", "rotary_pct", "above 0");
    refused("gpt2", "rotary_pct: 0.5", "rotary_pct", "belongs to position_embedding_type: rotary");
    refused("gptj", "position_embedding_type: learned, rotary_dim: 4", "rotary_dim",
            "belongs to position_embedding_type: rotary");
    assert_null(rotary_of("gptj", "position_embedding_type: learned"));
}

TEST(branches_may_have_a_dropout_of_their_own) {
    assert_float_equal(settings_of("gpt2", "dropout_rate: 0.25")->residual_dropout_rate, 0.25, 0);
    const firnc_transformer *own = settings_of("gpt2", "dropout_rate: 0.25, residual_dropout_rate: 0.5");
    assert_float_equal(own->residual_dropout_rate, 0.5, 0);
    assert_float_equal(own->embedding_dropout_rate, 0.25, 0);
    assert_int_equal(count_of("gpt2", "dropout_rate: 0, residual_dropout_rate: 0.5", FIRN_OP_dropout), 2);
    assert_int_equal(count_of("gpt2", "residual_dropout_rate: 0, dropout_rate: 0.5", FIRN_OP_dropout), 1);
    refused("gpt2", "residual_dropout_rate: 1", "residual_dropout_rate", "below 1");
}

TEST(initial_values_are_read) {
    static const char inner[] = "transformer.h.0.attn.c_attn.weight", up[] = "transformer.h.0.mlp.c_fc.weight",
                      last[] = "transformer.h.0.mlp.c_proj.weight", projection[] = "transformer.h.0.attn.c_proj.weight",
                      tokens[] = "transformer.wte.weight", rows[] = "transformer.wpe.weight",
                      output[] = "lm_head.weight";
    const char *keys = "initializer: {name: uniform, a: -0.5, b: 0.25}";
    expect_init(keys, inner, FIRNC_INIT_UNIFORM, -0.5F, 0.25F);
    expect_init(keys, up, FIRNC_INIT_UNIFORM, -0.5F, 0.25F);
    expect_init(keys, last, FIRNC_INIT_NORMAL, 0, 0.02F / 1.41421356F);
    expect_init(keys, tokens, FIRNC_INIT_NORMAL, 0, 0.02F);
    keys =
        "output_layer_initializer: {name: normal, mean: 1, std: 2}, embedding_initializer: {name: constant, val: 3}, "
        "share_embedding_weights: false";
    expect_init(keys, inner, FIRNC_INIT_NORMAL, 0, 0.02F);
    expect_init(keys, last, FIRNC_INIT_NORMAL, 1, 2);
    expect_init(keys, projection, FIRNC_INIT_NORMAL, 1, 2);
    expect_init(keys, tokens, FIRNC_INIT_CONSTANT, 3, 0);
    expect_init(keys, rows, FIRNC_INIT_CONSTANT, 3, 0);
    expect_init(keys, output, FIRNC_INIT_NORMAL, 0, 0.02F);
    expect_init("initializer: zeros", up, FIRNC_INIT_CONSTANT, 0, 0);
    expect_init("initializer: {name: ones}", up, FIRNC_INIT_CONSTANT, 1, 0);
}

static void expect_truncated(const char *keys, float mean, float deviation, float low, float high) {
    expect_init(keys, "transformer.h.0.mlp.c_fc.weight", FIRNC_INIT_TRUNCATED_NORMAL, mean, deviation);
    const firnc_init init = init_of(keys, "transformer.h.0.mlp.c_fc.weight");
    assert_float_equal(init.low, low, 0);
    assert_float_equal(init.high, high, 0);
    assert_null(strstr(messages, "warning"));
}

/* Bounds that no draw reaches make no difference. */
TEST(normal_values_are_truncated) {
    const char *up = "transformer.h.0.mlp.c_fc.weight";
    expect_truncated("initializer: {name: truncated_normal, std: 0.5}", 0, 0.5F, -2, 2);
    expect_truncated("initializer: {name: truncated_normal, std: 0.5, b: 1}", 0, 0.5F, -2, 1);
    expect_truncated("initializer: {name: truncated_normal, mean: 1, std: 0.5, a: 0.5, b: null}", 1, 0.5F, 0.5F, 2);
    expect_truncated("initializer: {name: truncated_normal, std: 1, a: 2.3, b: 9}", 0, 1, 2.3F, 9);
    expect_truncated("initializer: {name: truncated_normal, std: 0.5, a: -3, b: 2.999}", 0, 0.5F, -3, 2.999F);
    expect_init("initializer: {name: truncated_normal, std: 0.5, a: -3, b: 3}", up, FIRNC_INIT_NORMAL, 0, 0.5F);
    expect_init("initializer: {name: truncated_normal, std: 0.02}", up, FIRNC_INIT_NORMAL, 0, 0.02F);
    expect_init("initializer: {name: truncated_normal, mean: 2, std: 0}", up, FIRNC_INIT_NORMAL, 2, 0);
    assert_null(strstr(messages, "warning"));
    const char *key = "embedding_initializer.a", *keys = "embedding_initializer: {name: truncated_normal, std: 1, %s}";
    refused("gpt2", firnc_format(keys, "a: 1, b: 0"), key, "a (1) must be below b (0)");
    refused("gpt2", firnc_format(keys, "a: 1, b: 1"), key, "must be below b");
    refused("gpt2", firnc_format(keys, "a: 0.04, b: -0.04"), key, "a (0.04) must be below b (-0.04), in");
    refused("gpt2", firnc_format(keys, "a: 2"), key, "without them they are -2 and 2");
    refused("gpt2", firnc_format(keys, "b: -2"), "embedding_initializer.b", "a (-2) must be below b (-2)");
    refused("gpt2", firnc_format(keys, "a: .nan"), key, "");
    refused("gpt2", firnc_format(keys, "a: 2.4, b: 9"), key, "less than 1 % of the normal distribution lies between");
    refused("gpt2", firnc_format(keys, "a: -9, b: -2.4"), key, "widen them, or move mean");
    refused("gpt2", firnc_format(keys, "mean: 9"), "embedding_initializer", "less than 1 %");
    refused("gpt2", "initializer: {name: truncated_normal, mean: 3, std: 0}", "initializer", "less than 1 %");
    refused("gpt2", "initializer: {name: truncated_normal, std: -1}", "initializer.std", "at least 0");
    refused("gpt2", "initializer: {name: truncated_normal}", "initializer", "std is missing");
    refused("gpt2", "initializer: truncated_normal", "initializer", "write a mapping");
}

TEST(initial_values_are_checked) {
    refused("gpt2", "initializer: xavier_uniform", "initializer", "constant, zeros, ones, normal");
    refused("gpt2", "initializer: {std: 1}", "initializer", "name is missing");
    refused("gpt2", "initializer: [1]", "initializer", "is not one of the choices");
    refused("gpt2", "initializer: normal", "initializer", "write a mapping");
    refused("gpt2", "initializer: {name: normal}", "initializer", "std is missing");
    refused("gpt2", "initializer: {name: normal, std: -1}", "initializer.std", "at least 0");
    refused("gpt2", "initializer: {name: normal, std: 1, a: 2}", "initializer.a", "unknown key");
    refused("gpt2", "embedding_initializer: {name: uniform, a: 1}", "embedding_initializer", "b is missing");
    refused("gpt2", "embedding_initializer: {name: uniform, a: 1, b: 0}", "embedding_initializer.a", "above b");
    refused("gpt2", "output_layer_initializer: {name: zeros, val: 1}", "output_layer_initializer.val", "unknown key");
    refused("gpt2", "initializers: {name: zeros}", "initializers", "use initializer");
}

/* --- masked language models --------------------------------------------------------------------------------------- */

static const char masked_keys[] = "disable_nsp: true, ignore_index: 0";

TEST(bert_fills_in_masked_tokens) {
    const firnc_transformer *bert = settings_of("bert", masked_keys);
    assert_true(bert->share_embedding_weights && bert->use_bias_in_output && bert->loss.ignores);
    assert_int_equal(bert->position_embedding, FIRNC_POSITIONS_LEARNED);
    assert_string_equal(parameters_of("bert", firnc_format("%s, filter_size: 48", masked_keys)),
                        "bert.embeddings.LayerNorm.bias 32\n"
                        "bert.embeddings.LayerNorm.weight 32\n"
                        "bert.embeddings.position_embeddings.weight 16x32\n"
                        "bert.embeddings.word_embeddings.weight 64x32\n"
                        "bert.encoder.layer.0.attention.output.LayerNorm.bias 32\n"
                        "bert.encoder.layer.0.attention.output.LayerNorm.weight 32\n"
                        "bert.encoder.layer.0.attention.output.dense.bias 32\n"
                        "bert.encoder.layer.0.attention.output.dense.weight 32x32\n"
                        "bert.encoder.layer.0.attention.self.qkv.bias 96\n"
                        "bert.encoder.layer.0.attention.self.qkv.weight 96x32\n"
                        "bert.encoder.layer.0.intermediate.dense.bias 48\n"
                        "bert.encoder.layer.0.intermediate.dense.weight 48x32\n"
                        "bert.encoder.layer.0.output.LayerNorm.bias 32\n"
                        "bert.encoder.layer.0.output.LayerNorm.weight 32\n"
                        "bert.encoder.layer.0.output.dense.bias 32\n"
                        "bert.encoder.layer.0.output.dense.weight 32x48\n"
                        "cls.predictions.bias 64\n"
                        "cls.predictions.transform.LayerNorm.bias 32\n"
                        "cls.predictions.transform.LayerNorm.weight 32\n"
                        "cls.predictions.transform.dense.bias 32\n"
                        "cls.predictions.transform.dense.weight 32x32\n");
    const char *activations = firnc_format("%s, encoder_nonlinearity: swiglu, mlm_nonlinearity: relu", masked_keys);
    bert = settings_of("bert", activations);
    assert_int_equal(bert->nonlinearity, FIRNC_GATED + FIRNC_SILU);
    assert_int_equal(bert->mlm_nonlinearity, FIRNC_RELU);
    assert_int_equal(count_of("bert", activations, FIRN_OP_silu), 1);
    assert_int_equal(count_of("bert", activations, FIRN_OP_relu), 1);
}

/* The zoo's names of the loss's keys, and a key of what a masked language model does not have. */
TEST(the_loss_of_bert_has_the_zoos_names) {
    const firnc_transformer *bert =
        settings_of("bert", firnc_format("%s, mlm_loss_scaling: batch_size, mlm_loss_weight: 0.5", masked_keys));
    assert_true(bert->loss.batch_size && bert->loss.loss_weight == 0.5F);
    bert = accepted("bert", firnc_format("%s, mlm_loss_scaling: num_masked, pooler_nonlinearity: tanh", masked_keys))
               ->settings;
    expect_message("3: trainer.init.model.pooler_nonlinearity", "warning: has no effect: a pooler is for");
    assert_false(bert->loss.batch_size);
    assert_true(bert->loss.loss_weight == 1);
}

TEST(what_bert_lacks_is_refused) {
    assert_null(read_keys("bert", "ignore_index: 0"));
    expect_message("3: trainer.init.model", "add that");
    refused("bert", "disable_nsp: false", "disable_nsp", "no next-sentence prediction");
    refused("bert", "disable_nsp: true, mlm_nonlinearity: swiglu", "mlm_nonlinearity", "gelu, gelu_new");
    refused("bert", "disable_nsp: true, encoder_nonlinearity: gelu, nonlinearity: relu", "nonlinearity",
            "remove one of them");
    refused("bert", "disable_nsp: true, mlm_loss_scaling: batch_size, loss_scaling: num_tokens", "loss_scaling",
            "mlm_loss_scaling by another name");
    refused("bert", "disable_nsp: true, mlm_loss_scaling: precomputed_num_masked", "mlm_loss_scaling",
            "num_masked, batch_size");
    refused("bert", "disable_nsp: true, mlm_loss_weight: 0.5", "mlm_loss_weight", "batch_size only");
    refused("gpt2", "mlm_loss_weight: 0.5", "mlm_loss_weight", "unknown key");
    refused("bert", "disable_nsp: true, use_untied_layer_norm: true", "use_untied_layer_norm", "unknown key");
    refused("gpt2", "disable_nsp: true", "disable_nsp", "unknown key");
}

TEST(tokens_are_records_that_nothing_scales) {
    static const char loader[] = "7: trainer.fit.train_dataloader.";
    assert_non_null(read_recipe("bert", masked_keys, "feature_type: int32, label_type: int32"));
    const struct {
        const char *keys, *key, *words;
    } cases[] = {{"feature_type: float32", "feature_type", "write uint8 or int32"},
                 {"feature_scale: 0.5", "feature_scale", "which nothing scales"},
                 {"feature_shift: 1", "feature_shift", "which nothing scales"},
                 {"label_type: float32", "label_type", "the loss is of classes"},
                 {"max_sequence_length: 8", "max_sequence_length", "is for text"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(read_recipe("bert", masked_keys, cases[i].keys));
        expect_message(firnc_format("%s%s", loader, cases[i].key), cases[i].words);
    }
}

/* The slopes of attention with that many heads; NULL if it has none. */
static const float *slopes_for(const char *keys, uint32_t heads) {
    firnc_recipe recipe = *accepted("gpt3", keys);
    firnc_transformer settings = *(const firnc_transformer *)recipe.settings;
    settings.num_heads = settings.kv_heads = heads;
    settings.hidden_size = 4 * heads;
    recipe.settings = &settings;
    const firnc_graph *graph = firnc_recipe_build(&recipe);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (node->code == FIRN_OP_attention && node->input_count > FIRN_ATTENTION_IN_SLOPES)
            return graph->values[node->inputs[FIRN_ATTENTION_IN_SLOPES]].elements;
    }
    return NULL;
}

/* Slopes are a geometric row for a power of two heads; other numbers of heads take every second slope of twice as many
 * heads for the rest. No table of positions is there, and no rotation. */
TEST(alibi_has_slopes) {
    const float *four = slopes_for("position_embedding_type: alibi", 4);
    assert_non_null(four);
    for (int i = 0; i < 4; i++)
        assert_float_equal(four[i], 1.0f / (float)(1 << 2 * (i + 1)), 0);
    const float *twelve = slopes_for("position_embedding_type: alibi", 12);
    const float expected[] = {0.5f,       0.25f,       0.125f,       0.0625f,       0.03125f,     0.015625f,
                              0.0078125f, 0.00390625f, 0.707106781f, 0.3535533906f, 0.176776695f, 0.0883883476f};
    for (int i = 0; i < 12; i++)
        assert_float_equal(twelve[i], expected[i], 0);
    assert_float_equal(slopes_for("position_embedding_type: alibi", 1)[0], 0.00390625f, 0);
    assert_null(slopes_for("", 4));
    assert_null(strstr(parameters_of("gpt2", "position_embedding_type: alibi"), "wpe"));
    assert_null(rotary_of("gptj", "position_embedding_type: alibi"));
    refused("gpt2", "position_embedding_type: alibi, rotary_dim: 4", "rotary_dim", "position_embedding_type: rotary");
    refused("bert", "disable_nsp: true, position_embedding_type: alibi", "position_embedding_type",
            "learned or rotary");
}

TEST(words_are_checked) {
    (void)settings_of("gptj", "pos_scaling_factor: 1.0, embedding_layer_norm: false, alibi_trainable_slopes: false");
    refused("gptj", "pos_scaling_factor: 2.0", "pos_scaling_factor", "write 1.0");
    refused("gptj", "embedding_layer_norm: true", "embedding_layer_norm", "write false");
    refused("gptj", "alibi_trainable_slopes: true", "alibi_trainable_slopes", "write false");
    refused("gptj", "position_embedding_type: sine", "position_embedding_type", "learned, rotary, alibi");
    refused("llama", "norm_type: batchnorm", "norm_type", "layernorm, rmsnorm");
    refused("llama", "nonlinearity: swish", "nonlinearity", "swiglu, geglu, reglu");
}
