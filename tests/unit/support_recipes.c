/* Small recipes for tests (tests/unit/support_recipes.h). */
#include "tests/unit/support_recipes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static firnc_recipe common_recipe(void) {
    firnc_recipe recipe = {.file = "test.yaml", .mode = FIRNC_TRAIN, .seed = 1, .steps = 10, .check_loss = true};
    recipe.precision = (firnc_precision){.level = 1,
                                         .gradient_type = FIRN_FLOAT32,
                                         .initial_loss_scale = 1,
                                         .steps_per_increase = 2000,
                                         .min_loss_scale = 0x1p-14f,
                                         .max_loss_scale = 32768};
    recipe.schedule.count = 1;
    recipe.schedule.root_count = 1;
    recipe.schedule.roots[0] = (firnc_schedule_root){.name = "learning_rate"};
    for (uint32_t i = 0; i <= FIRNC_GROUPS_MAX; i++)
        recipe.schedule.decay_of[i] = FIRNC_NONE;
    recipe.schedule.nodes[0] = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = 0.125};
    recipe.metric = FIRNC_METRIC_LOSS;
    return recipe;
}

firnc_recipe test_gpt2_recipe(void) {
    firnc_recipe recipe = common_recipe();
    recipe.architecture = FIRNC_GPT2;
    recipe.gpt2 = (firnc_gpt2){.vocab_size = 11,
                               .hidden_size = 16,
                               .num_hidden_layers = 2,
                               .num_heads = 2,
                               .filter_size = 32,
                               .max_position_embeddings = 10,
                               .max_sequence_length = 8,
                               .nonlinearity = FIRNC_GELU,
                               .share_embedding_weights = true,
                               .use_projection_bias_in_attention = true,
                               .use_ffn_bias_in_attention = true,
                               .use_ffn_bias = true,
                               .attention_softmax_fp32 = true,
                               .layer_norm_epsilon = 1e-5f,
                               .initializer_range = 0.25f};
    recipe.optimizer = (firnc_optimizer_settings){.kind = FIRNC_ADAMW,
                                                  .beta1 = 0.9f,
                                                  .beta2 = 0.95f,
                                                  .epsilon = 1e-6f,
                                                  .weight_decay = 0.125f,
                                                  .correct_bias = true};
    recipe.data = (firnc_data){.window = true, .batch_size = 2, .micro_batch_size = 2, .stride = 8, .wrap = true};
    return recipe;
}

firnc_recipe test_mlp_recipe(void) {
    firnc_recipe recipe = common_recipe();
    recipe.architecture = FIRNC_MLP;
    recipe.mlp = (firnc_mlp){
        .input_size = 6, .output_size = 3, .hidden_sizes = {5, 4}, .hidden_count = 2, .activation = FIRNC_TANH};
    recipe.optimizer = (firnc_optimizer_settings){.kind = FIRNC_SGD};
    recipe.data = (firnc_data){.batch_size = 4,
                               .micro_batch_size = 4,
                               .wrap = true,
                               .feature_element = FIRN_FLOAT32,
                               .label_element = FIRN_UINT8,
                               .feature_scale = 1};
    return recipe;
}

void test_make_mixed(firnc_recipe *recipe, firn_type half, int level) {
    recipe->precision.mixed = true;
    recipe->precision.half = half;
    recipe->precision.gradient_type = half;
    recipe->precision.level = level;
}

void test_make_rotary(firnc_recipe *recipe) {
    recipe->gpt2.position_embedding = FIRNC_POSITIONS_ROTARY;
    recipe->gpt2.rotary_dim = 6;
    recipe->gpt2.rope_theta = 100;
}

firnc_compilation test_compilation(const firnc_recipe *recipe) {
    return (firnc_compilation){.recipe = recipe, .target = "portable"};
}

void test_run_passes(firnc_compilation *compilation, firnc_pass last) {
    static const firnc_pass passes[] = {firnc_build,         firnc_infer_shapes, firnc_resolve_pol, firnc_autocast,
                                        firnc_differentiate, firnc_add_training, firnc_fuse,        firnc_order,
                                        firnc_plan_memory,   firnc_lower};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (passes[i] != firnc_differentiate || compilation->recipe->mode == FIRNC_TRAIN)
            assert_true(passes[i](compilation));
        if (passes[i] == last)
            return;
    }
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
