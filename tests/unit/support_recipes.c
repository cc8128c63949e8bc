/* Small recipes for tests (tests/unit/support_recipes.h). */
#include "tests/unit/support_recipes.h"

#include <stdio.h>
#include <string.h>

#include "compiler/emit/plan_file.h"
#include "compiler/emit/report.h"
#include "tests/unit/support_test.h"

const firnc_input_options test_float32 = {.element = FIRN_FLOAT32};

static test_recipe common_recipe(void) {
    test_recipe recipe = {0};
    firnc_job_defaults(&recipe.job, FIRNC_TRAIN);
    recipe.job.name = "test.yaml";
    recipe.job.steps = 10;
    firnc_job_learning_rate(&recipe.job, 0.125);
    return recipe;
}

test_recipe test_gpt2_recipe(void) {
    test_recipe recipe = common_recipe();
    recipe.gpt2 = (firnc_transformer){.vocab_size = 11,
                                      .hidden_size = 16,
                                      .num_hidden_layers = 2,
                                      .num_heads = 2,
                                      .kv_heads = 2,
                                      .filter_size = 32,
                                      .max_position_embeddings = 10,
                                      .nonlinearity = FIRNC_GELU,
                                      .share_embedding_weights = true,
                                      .use_projection_bias_in_attention = true,
                                      .use_ffn_bias_in_attention = true,
                                      .use_ffn_bias = true,
                                      .attention_softmax_fp32 = true,
                                      .layer_norm_epsilon = 1e-5f,
                                      .initializer_range = 0.25f};
    recipe.job.optimizer = (firnc_optimizer_settings){.kind = FIRNC_ADAMW,
                                                      .beta1 = 0.9f,
                                                      .beta2 = 0.95f,
                                                      .epsilon = 1e-6f,
                                                      .weight_decay = 0.125f,
                                                      .correct_bias = true};
    recipe.elements.feature = FIRN_UINT8;
    recipe.job.data = (firnc_data){.window = 9, .batch_size = 2, .micro_batch_size = 2, .stride = 8, .wrap = true};
    return recipe;
}

test_recipe test_mlp_recipe(void) {
    test_recipe recipe = common_recipe();
    recipe.is_mlp = true;
    recipe.mlp = (firnc_mlp){
        .input_size = 6, .output_size = 3, .hidden_sizes = {5, 4}, .hidden_count = 2, .activation = FIRNC_TANH};
    recipe.job.optimizer = (firnc_optimizer_settings){.kind = FIRNC_SGD};
    recipe.job.data = (firnc_data){.batch_size = 4, .micro_batch_size = 4, .wrap = true};
    recipe.elements =
        (firnc_elements){.feature = FIRN_FLOAT32, .label = FIRN_UINT8, .weight = FIRN_FLOAT32, .feature_scale = 1};
    return recipe;
}

void test_make_mixed(test_recipe *recipe, firn_type half, int level) {
    recipe->job.precision.mixed = true;
    recipe->job.precision.half = half;
    recipe->job.precision.gradient_type = half;
    recipe->job.precision.level = level;
}

void test_make_rotary(test_recipe *recipe) {
    recipe->gpt2.position_embedding = FIRNC_POSITIONS_ROTARY;
    recipe->gpt2.rotary_dim = 6;
    recipe->gpt2.rope_theta = 100;
}

uint32_t test_classes(const test_recipe *recipe) {
    return recipe->is_mlp ? recipe->mlp.output_size : recipe->gpt2.vocab_size;
}

firnc_graph *test_build(const test_recipe *recipe) {
    const firnc_model *model = recipe->is_mlp ? &firnc_model_mlp : &firnc_model_gpt2;
    firnc_graph *graph = firnc_graph_create(model->name);
    if (recipe->job.mode == FIRNC_EVAL)
        firnc_graph_evaluate(graph);
    model->build(graph, &recipe->job, recipe->is_mlp ? (const void *)&recipe->mlp : &recipe->gpt2, &recipe->elements);
    return graph;
}

firnc_compilation test_compilation(const test_recipe *recipe) {
    return (firnc_compilation){.job = &recipe->job, .graph = test_build(recipe)};
}

void test_run_passes(firnc_compilation *compilation, firnc_pass last) {
    static const firnc_pass passes[] = {
        firnc_check_built, firnc_infer_shapes,  firnc_add_adapters, firnc_freeze, firnc_resolve_pol,
        firnc_autocast,    firnc_differentiate, firnc_add_training, firnc_fuse,   firnc_leave_out_copies,
        firnc_make_views,  firnc_order,         firnc_plan_memory,  firnc_lower};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (passes[i] != firnc_differentiate || compilation->job->mode == FIRNC_TRAIN)
            assert_true(passes[i](compilation));
        if (passes[i] == last)
            return;
    }
}

firnc_compilation test_compilation_through(const test_recipe *recipe, firnc_pass last) {
    firnc_compilation compilation = test_compilation(recipe);
    test_run_passes(&compilation, last);
    return compilation;
}

firnc_bytes test_seal(const firnc_compilation *compilation, const uint8_t public_key[64]) {
    firnc_payload payload;
    firnc_bytes file;
    assert_true(firnc_write_payload(compilation, &payload));
    const firnc_bytes report = firnc_write_report(compilation, &payload);
    assert_true(firnc_plan_seal(compilation, &payload, &report, public_key, &file));
    return file;
}

const firnc_node *test_find_node(const firnc_graph *graph, uint16_t code, const char *layer) {
    const firnc_node *found = NULL;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == code && strcmp(graph->nodes[i].name, layer) == 0) {
            if (found != NULL)
                fail_msg("two nodes of op %u in layer %s", (unsigned)code, layer);
            found = &graph->nodes[i];
        }
    if (found == NULL)
        fail_msg("no node of op %u in layer %s", (unsigned)code, layer);
    return found;
}
