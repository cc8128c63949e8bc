/* Tests the passes one by one: the graph after each pass, and the payload at the end. Autodiff and memory are tested in
 * test_autodiff.c and test_memory.c. */
#define _XOPEN_SOURCE 700 /* mkstemp, truncate, P_tmpdir */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/files.h"
#include "compiler/commands/report_read.h"
#include "compiler/emit/plan_file.h"
#include "compiler/emit/report.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "plan/op_words.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

static uint32_t count_nodes(const firnc_graph *graph, uint16_t code) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].code == code;
    return count;
}

static const firnc_value_info *named(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, name) == 0)
            return &graph->values[i];
    return NULL;
}

static uint8_t output_type(const firnc_graph *graph, const firnc_node *node, uint8_t output) {
    return graph->values[node->outputs[output]].shape.type;
}

/* Returns what the call writes to stderr, at most 999 bytes. */
static const char *errors_of(bool (*call)(firnc_compilation *), firnc_compilation *compilation, bool expected) {
    char *text = firnc_allocate(1000);
    support_capture_begin(STDERR_FILENO);
    const bool result = call(compilation);
    support_capture_end(text, 1000);
    assert_int_equal(result, expected);
    return text;
}

static void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

/* add and multiply stay what they are where b is repeated over leading dimensions of a, or a over those of b; else the
 * general op takes their place. */
TEST(test_shapes_choose_the_op) {
    static const struct {
        uint8_t a_rank, b_rank;
        uint32_t a[3], b[3];
        bool swapped, general;
    } cases[] = {{2, 1, {4, 3}, {3}, false, false}, {2, 2, {4, 3}, {4, 3}, false, false},
                 {1, 2, {3}, {4, 3}, true, false},  {2, 2, {4, 3}, {4, 1}, false, true},
                 {2, 1, {4, 3}, {1}, false, true},  {3, 2, {2, 1, 3}, {4, 1}, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int product = 0; product < 2; product++) {
            test_recipe recipe = test_mlp_recipe();
            firnc_compilation compilation = test_compilation(&recipe);
            firnc_graph *graph = compilation.graph = firnc_graph_create("chosen");
            firnc_value a = firnc_parameter(graph, "a", cases[i].a_rank, cases[i].a, (firnc_init){0}, true);
            firnc_value b = firnc_parameter(graph, "b", cases[i].b_rank, cases[i].b, (firnc_init){0}, true);
            firnc_value y = product != 0 ? firnc_multiply(graph, a, b) : firnc_add(graph, a, b);
            firnc_loss(graph, firnc_mean_squared_error(graph, y, y));
            assert_true(firnc_infer_shapes(&compilation));
            const firnc_node *node = &graph->nodes[graph->values[y].producer];
            const uint16_t special = product != 0 ? FIRN_OP_multiply : FIRN_OP_add;
            const uint16_t general = product != 0 ? FIRN_OP_broadcast_multiply : FIRN_OP_broadcast_add;
            assert_int_equal(node->code, cases[i].general ? general : special);
            assert_int_equal(node->inputs[0], cases[i].swapped ? b : a);
            assert_int_equal(node->inputs[1], cases[i].swapped ? a : b);
        }
}

TEST(test_shapes_name_the_layer) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("crooked");
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 7}, test_float32);
    firnc_value weight = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 6}, (firnc_init){0}, true);
    firnc_layer_begin(graph, "encoder");
    firnc_layer_begin(graph, "dense");
    firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_layer_end(graph);
    const char *text = errors_of(firnc_infer_shapes, &compilation, false);
    assert_contains(text, "firnc: test.yaml: layer encoder.dense: linear(float32[4,7], float32[3,6])");
}

/* --- POL ---------------------------------------------------------------------------------------------------------- */

/* Annotations for one linear op in layer "block.dense"; resolved() returns its node after the pass. */
typedef struct annotations {
    const firnc_pol *scope, *inner, *call, *rule;
} annotations;

static const firnc_node *resolved(test_recipe *recipe, annotations a) {
    static firnc_compilation compilation;
    compilation = test_compilation(recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("one");
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 6}, test_float32);
    firnc_value weight = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 6}, (firnc_init){0}, true);
    if (a.scope != NULL)
        firnc_pol_begin(graph, *a.scope);
    if (a.inner != NULL)
        firnc_pol_begin(graph, *a.inner);
    if (a.call != NULL)
        firnc_pol_next(graph, *a.call);
    if (a.rule != NULL)
        firnc_pol_rule(graph, *a.rule);
    firnc_layer_begin(graph, "block.dense");
    firnc_value y = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    if (a.inner != NULL)
        firnc_pol_end(graph);
    if (a.scope != NULL)
        firnc_pol_end(graph);
    firnc_relu(graph, y);
    assert_true(firnc_infer_shapes(&compilation));
    assert_true(firnc_resolve_pol(&compilation));
    return &graph->nodes[0];
}

static void assert_pol(const firnc_node *node, int level, int origin, int backward_level, int backward_origin) {
    assert_int_equal(node->level, level);
    assert_int_equal(node->origin, origin);
    assert_int_equal(node->backward_level, backward_level);
    assert_int_equal(node->backward_origin, backward_origin);
}

enum { GLOBAL = FIRNC_ORIGIN_GLOBAL, PATTERN = FIRNC_ORIGIN_PATTERN, SCOPE = FIRNC_ORIGIN_SCOPE };
enum { CALL = FIRNC_ORIGIN_CALL, RULE = FIRNC_ORIGIN_RULE };

static const firnc_pol level_0 = {.level = 0, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol level_2 = {.level = 2, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol backward_0 = {.level = FIRNC_UNSET, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol both = {.level = 2, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol unset = {.level = FIRNC_UNSET, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
static const firnc_pol no_forward = {.level = 2, .bwd_level = FIRNC_UNSET, .enable_fwd = false, .enable_bwd = true};
static const firnc_pol no_backward = {.level = 2, .bwd_level = 0, .enable_fwd = true, .enable_bwd = false};

TEST(test_pol_annotations) {
    test_recipe recipe = test_mlp_recipe();
    assert_pol(resolved(&recipe, (annotations){0}), 1, GLOBAL, 1, GLOBAL);
    assert_pol(resolved(&recipe, (annotations){.scope = &level_0}), 0, SCOPE, 0, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.scope = &both}), 2, SCOPE, 0, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.scope = &backward_0}), 1, GLOBAL, 0, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.scope = &no_forward}), 1, GLOBAL, 2, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.scope = &no_backward}), 2, SCOPE, 1, GLOBAL);
    /* the innermost replaces the outer annotation completely, including values that it does not set */
    assert_pol(resolved(&recipe, (annotations){.scope = &level_0, .inner = &unset}), 1, GLOBAL, 1, GLOBAL);
    assert_pol(resolved(&recipe, (annotations){.scope = &level_2, .inner = &backward_0}), 1, GLOBAL, 0, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.scope = &level_0, .call = &level_2}), 2, CALL, 2, CALL);
    assert_pol(resolved(&recipe, (annotations){.rule = &backward_0}), 1, GLOBAL, 0, RULE);
}

TEST(test_pol_patterns) {
    test_recipe recipe = test_mlp_recipe();
    const firnc_pol_pattern patterns[] = {{.pattern = "*", .pol = level_0}, {.pattern = "block.d?nse", .pol = level_2}};
    recipe.job.precision.patterns = patterns;
    recipe.job.precision.pattern_count = 2;
    assert_pol(resolved(&recipe, (annotations){0}), 2, PATTERN, 2, PATTERN); /* the last pattern that matches applies */
    assert_pol(resolved(&recipe, (annotations){.scope = &level_0}), 0, SCOPE, 0, SCOPE);
    assert_pol(resolved(&recipe, (annotations){.call = &backward_0}), 1, GLOBAL, 0, CALL);
    assert_pol(resolved(&recipe, (annotations){.rule = &backward_0}), 2, PATTERN, 2, PATTERN);
    recipe.job.precision.pattern_count = 1;
    assert_pol(resolved(&recipe, (annotations){0}), 0, PATTERN, 0, PATTERN);
}

TEST(test_pattern_without_layer) {
    test_recipe recipe = test_gpt2_recipe();
    const firnc_pol_pattern patterns[] = {
        {.pattern = "*.h.*.mlp.c_f?", .pol = level_0},
        {.pattern = "lm_haed", .pol = level_0, .place = {"test.yaml", 41, "pol.1.pattern"}}};
    recipe.job.precision.patterns = patterns;
    recipe.job.precision.pattern_count = 2;
    firnc_compilation compilation = test_compilation(&recipe);
    assert_true(firnc_check_built(&compilation) && firnc_infer_shapes(&compilation));
    const char *text = errors_of(firnc_resolve_pol, &compilation, false);
    assert_contains(text, ":41: pol.1.pattern: ");
    assert_contains(text, "\"lm_haed\"");
    recipe.job.precision.pattern_count = 1;
    assert_true(firnc_resolve_pol(&compilation));
    assert_int_equal(test_find_node(compilation.graph, FIRN_OP_linear, "transformer.h.1.mlp.c_fc")->level, 0);
    assert_int_equal(test_find_node(compilation.graph, FIRN_OP_linear, "transformer.h.1.mlp.c_proj")->level, 1);
}

/* --- autocast ----------------------------------------------------------------------------------------------------- */

TEST(test_autocast_off) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.job.precision.half = FIRN_BFLOAT16;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_cast), 0);
    for (firnc_value i = 0; i < compilation.graph->value_count; i++)
        assert_false(firn_type_is_half(compilation.graph->values[i].shape.type));
}

TEST(test_autocast_gpt2) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_CBFLOAT16, 1);
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
    const firnc_graph *graph = compilation.graph;
    /* each layer has four weights and four biases, and then there is the tied output weight; the residual stream is
     * half already */
    assert_int_equal(count_nodes(graph, FIRN_OP_cast), 2 * 8 + 1);
    const firnc_node *head = test_find_node(graph, FIRN_OP_linear, "lm_head");
    assert_int_equal(output_type(graph, head, 0), FIRN_CBFLOAT16);
    assert_string_equal(graph->values[head->inputs[1]].name, "transformer.wte.weight/cbfloat16");
    const firnc_node *embedding = test_find_node(graph, FIRN_OP_embedding, "transformer.wte");
    assert_string_equal(graph->values[embedding->inputs[1]].name, "transformer.wte.weight");
    assert_int_equal(output_type(graph, embedding, 0), FIRN_CBFLOAT16);
    const firnc_node *attention = test_find_node(graph, FIRN_OP_attention, "transformer.h.0.attn");
    assert_int_equal(output_type(graph, attention, 0), FIRN_CBFLOAT16);
    assert_int_equal(output_type(graph, attention, 1), FIRN_FLOAT32);
    const firnc_node *norm = test_find_node(graph, FIRN_OP_layer_norm, "transformer.ln_f");
    assert_int_equal(norm->integers[0], FIRN_CBFLOAT16);
    assert_int_equal(output_type(graph, norm, 1), FIRN_FLOAT32);
    const firnc_node *loss = test_find_node(graph, FIRN_OP_cross_entropy, "loss");
    assert_int_equal(graph->values[loss->inputs[0]].shape.type, FIRN_CBFLOAT16); /* widened inside the op */
    assert_int_equal(output_type(graph, loss, 0), FIRN_FLOAT32);
}

/* Every value that the named layer produces is float32, that of every other linear layer half; a value used in both
 * types is cast only once in each direction. */
TEST(test_autocast_leaves_layers_in_float32) {
    test_recipe recipe = test_gpt2_recipe();
    const firnc_layer_pattern pattern = {.pattern = "transformer.h.0.*"};
    recipe.job.precision.mixed = true;
    recipe.job.precision.half = FIRN_BFLOAT16;
    recipe.job.precision.float32_layers = &pattern;
    recipe.job.precision.float32_layer_count = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
    const firnc_graph *graph = compilation.graph;
    uint32_t kept = 0, halved = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (node->code != FIRN_OP_linear && node->code != FIRN_OP_attention)
            continue;
        const bool named = strncmp(node->name, "transformer.h.0.", 16) == 0;
        for (uint8_t operand = 0; operand < node->input_count; operand++)
            assert_int_equal(graph->values[node->inputs[operand]].shape.type, named ? FIRN_FLOAT32 : FIRN_BFLOAT16);
        assert_int_equal(output_type(graph, node, 0), named ? FIRN_FLOAT32 : FIRN_BFLOAT16);
        kept += named;
        halved += !named;
    }
    assert_true(kept > 0 && halved > 0);
}

TEST(test_autocast_names_a_pattern_without_a_layer) {
    test_recipe recipe = test_gpt2_recipe();
    const firnc_layer_pattern pattern = {.pattern = "transfomer.*",
                                         .place = {"test.yaml", 9, "trainer.init.precision.float32_layers.0"}};
    recipe.job.precision.mixed = true;
    recipe.job.precision.half = FIRN_BFLOAT16;
    recipe.job.precision.float32_layers = &pattern;
    recipe.job.precision.float32_layer_count = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_resolve_pol);
    assert_contains(errors_of(firnc_autocast, &compilation, false),
                    ":9: trainer.init.precision.float32_layers.0: no layer matches \"transfomer.*\"");
}

/* Returns the rest of a class's row in the table of compiler/PRECISION.md, "| class | ... | op, op |". */
static const char *documented_ops(const char *page, const char *class) {
    const char *row = strstr(page, firnc_format("\n| %s | ", class));
    assert_non_null(row);
    const char *end = strchr(row + 1, '\n');
    const char *line = firnc_format("%.*s", (int)(end - row - 1), row + 1);
    const char *ops = strrchr(firnc_format("%.*s", (int)strlen(line) - 2, line), '|');
    return firnc_format(", %s,", ops + 2);
}

TEST(test_autocast_table_is_documented) {
    firnc_bytes page;
    assert_true(firnc_file_read("compiler/PRECISION.md", 1 << 20, &page));
    static const char *const classes[] = {
        [FIRN_AUTOCAST_half] = "half",     [FIRN_AUTOCAST_embedding] = "embedding", [FIRN_AUTOCAST_norm] = "norm",
        [FIRN_AUTOCAST_single] = "single", [FIRN_AUTOCAST_promote] = "promote",     [FIRN_AUTOCAST_follow] = "follow"};
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        if (info->autocast == FIRN_AUTOCAST_fixed)
            continue;
        const char *class = classes[info->autocast], *name = firn_op_name(info);
        if (strstr(documented_ops((const char *)page.data, class), firnc_format(", %s,", name)) == NULL)
            fail_msg("compiler/PRECISION.md: %s is not in the row of %s", name, class);
    }
}

/* Layer norm of a float32 input gives a half output at POL 1 and float32 at POL 0. An input that two layers share is
 * cast once. */
TEST(test_autocast_norm_and_cache) {
    for (int level = 0; level < 2; level++) {
        test_recipe recipe = test_mlp_recipe();
        test_make_mixed(&recipe, FIRN_FLOAT16, level);
        firnc_compilation compilation = test_compilation(&recipe);
        firnc_graph *graph = compilation.graph = firnc_graph_create("norm");
        firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 6}, test_float32);
        uint32_t six = 6;
        firnc_value gain = firnc_parameter(graph, "gain", 1, &six, (firnc_init){.a = 1}, false);
        firnc_value bias = firnc_parameter(graph, "bias", 1, &six, (firnc_init){0}, false);
        firnc_value weight = firnc_parameter(graph, "w", 2, (uint32_t[]){6, 6}, (firnc_init){0}, true);
        firnc_value n = firnc_layer_norm(graph, x, gain, bias, 1e-5f);
        firnc_value a = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN);
        firnc_value b = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_IN_OUT);
        firnc_value sum = firnc_add(graph, n, firnc_add(graph, a, b));
        assert_true(firnc_infer_shapes(&compilation) && firnc_resolve_pol(&compilation));
        assert_true(firnc_autocast(&compilation));
        uint8_t expected = level == 0 ? FIRN_FLOAT32 : FIRN_FLOAT16;
        assert_int_equal(graph->values[n].shape.type, expected);
        assert_int_equal(graph->nodes[graph->values[n].producer].integers[0], expected);
        assert_int_equal(graph->values[sum].shape.type, expected); /* the wider of the two types */
        assert_int_equal(count_nodes(graph, FIRN_OP_cast), 2);
    }
}

/* Asserts the types of the forward and backward rotation at those levels, in mixed precision or without it; the tensors
 * keep the half type, or float32. */
static void expect_rotation(const test_recipe *recipe, uint8_t forward, uint8_t backward, uint8_t tensors) {
    firnc_compilation compilation = test_compilation_through(recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    static const char layer[] = "transformer.h.1.attn.rotary";
    const firnc_node *turn = test_find_node(graph, FIRN_OP_rotary_embedding, layer);
    const firnc_node *back = test_find_node(graph, FIRN_OP_rotary_embedding_backward, layer);
    assert_int_equal(turn->integers[FIRN_ROTARY_EMBEDDING_ROTATION], forward);
    assert_int_equal(back->integers[FIRN_ROTARY_EMBEDDING_ROTATION], backward);
    for (uint8_t i = FIRN_ROTARY_EMBEDDING_HEADS; i <= FIRN_ROTARY_EMBEDDING_INTERLEAVED; i++)
        assert_int_equal(back->integers[i], turn->integers[i]);
    assert_float_equal(back->reals[FIRN_ROTARY_EMBEDDING_BASE], 100, 0);
    assert_int_equal(graph->values[turn->inputs[0]].shape.type, tensors);
    assert_int_equal(output_type(graph, turn, 0), tensors);
    assert_int_equal(output_type(graph, back, 0), tensors);
}

TEST(test_rotary_honours_pol) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_rotary(&recipe);
    expect_rotation(&recipe, FIRN_FLOAT32, FIRN_FLOAT32, FIRN_FLOAT32);
    for (int level = 0; level <= 2; level++) {
        const uint8_t type = level == 0 ? FIRN_FLOAT32 : FIRN_CBFLOAT16;
        test_make_mixed(&recipe, FIRN_CBFLOAT16, level);
        expect_rotation(&recipe, type, type, FIRN_CBFLOAT16);
    }
    firnc_pol_pattern pattern = {.pattern = "*.rotary"};
    pattern.pol = (firnc_pol){.level = 2, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
    recipe.job.precision.patterns = &pattern;
    recipe.job.precision.pattern_count = 1;
    expect_rotation(&recipe, FIRN_CBFLOAT16, FIRN_FLOAT32, FIRN_CBFLOAT16);
    pattern.pol = (firnc_pol){.level = 0, .bwd_level = 1, .enable_fwd = true, .enable_bwd = true};
    expect_rotation(&recipe, FIRN_FLOAT32, FIRN_CBFLOAT16, FIRN_CBFLOAT16);
    recipe.job.precision.pattern_count = 0;
    const firnc_layer_pattern single = {.pattern = "*.attn*"};
    recipe.job.precision.float32_layers = &single;
    recipe.job.precision.float32_layer_count = 1;
    expect_rotation(&recipe, FIRN_FLOAT32, FIRN_FLOAT32, FIRN_FLOAT32);
}

/* sigmoid and silu keep the type of their input; softplus, log_softmax and the losses are float32. */
TEST(test_autocast_activations) {
    static const struct {
        firnc_activation kind;
        uint16_t code;
        uint8_t type;
    } activations[] = {{FIRNC_SIGMOID, FIRN_OP_sigmoid, FIRN_BFLOAT16},
                       {FIRNC_SILU, FIRN_OP_silu, FIRN_BFLOAT16},
                       {FIRNC_SOFTPLUS, FIRN_OP_softplus, FIRN_FLOAT32}};
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.job.precision.mixed = true;
        recipe.job.precision.half = FIRN_BFLOAT16;
        recipe.mlp.activation = activations[i].kind;
        recipe.mlp.losses.kind = FIRNC_LOSS_NLL;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
        const firnc_graph *graph = compilation.graph;
        const firnc_node *node = test_find_node(graph, activations[i].code, "activations.0");
        assert_int_equal(graph->values[node->outputs[0]].shape.type, activations[i].type);
        const firnc_node *logarithm = test_find_node(graph, FIRN_OP_log_softmax, "loss");
        assert_int_equal(graph->values[logarithm->inputs[0]].shape.type, FIRN_BFLOAT16);
        assert_int_equal(graph->values[logarithm->outputs[0]].shape.type, FIRN_FLOAT32);
    }
}

TEST(test_half_softmax_wish) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_FLOAT16, 1);
    recipe.gpt2.attention_softmax_fp32 = false;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_node *forward = test_find_node(compilation.graph, FIRN_OP_attention, "transformer.h.0.attn");
    const firnc_node *backward = test_find_node(compilation.graph, FIRN_OP_attention_backward, "transformer.h.0.attn");
    assert_int_equal(forward->integers[3], 1);
    assert_int_equal(backward->integers[3], 1);
    assert_int_equal(forward->reductions[0].output, FIRN_FLOAT16);
    assert_int_equal(forward->reductions[0].kind, FIRN_REDUCTION_F32);
}

/* The request applies to layers in the half type; a layer kept in float32 has no half type for its softmax. */
TEST(test_half_softmax_wish_in_float32) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_FLOAT16, 2);
    recipe.job.precision.emulate = true;
    recipe.gpt2.attention_softmax_fp32 = false;
    const firnc_layer_pattern layers[] = {{.pattern = "transformer.h.0.attn"}};
    recipe.job.precision.float32_layers = layers;
    recipe.job.precision.float32_layer_count = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    static const uint16_t codes[] = {FIRN_OP_attention, FIRN_OP_attention_backward};
    for (size_t i = 0; i < 2; i++) {
        const firnc_node *single = test_find_node(graph, codes[i], "transformer.h.0.attn");
        assert_int_equal(single->integers[FIRN_ATTENTION_HALF_SOFTMAX], 0);
        assert_int_equal(single->reductions[0].output, FIRN_FLOAT32);
        assert_int_equal(single->reductions[0].kind, FIRN_REDUCTION_F32);
        const firnc_node *half = test_find_node(graph, codes[i], "transformer.h.1.attn");
        assert_int_equal(half->integers[FIRN_ATTENTION_HALF_SOFTMAX], 1);
    }
}

/* --- training ----------------------------------------------------------------------------------------------------- */

TEST(test_training_adamw) {
    test_recipe recipe = test_gpt2_recipe();
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_add_training);
    const firnc_graph *graph = compilation.graph;
    const firnc_node *weight = test_find_node(graph, FIRN_OP_adamw, "transformer.h.0.attn.c_attn.weight");
    const firnc_node *bias = test_find_node(graph, FIRN_OP_adamw, "transformer.h.0.attn.c_attn.bias");
    assert_float_equal(weight->reals[3], 0.125, 0);
    assert_float_equal(bias->reals[3], 0, 0);
    const firnc_value_info *power = named(graph, "optimizer.beta1_power");
    assert_non_null(power);
    assert_float_equal(power->init.a, 1, 0);
    assert_int_equal(count_nodes(graph, FIRN_OP_advance_power), 2);
    assert_non_null(named(graph, "optimizer.exp_avg.transformer.wte.weight"));
    assert_non_null(named(graph, "optimizer.exp_avg_sq.transformer.wte.weight"));
    assert_int_equal(graph->loss_scale, FIRNC_NONE);
    assert_int_equal(graph->gradient_norm, FIRNC_NONE);
    assert_int_equal(graph->finite, FIRNC_NONE);
    assert_int_equal(count_nodes(graph, FIRN_OP_accumulate), 0);
    assert_int_equal(count_nodes(graph, FIRN_OP_count), 2);
    assert_string_equal(graph->values[graph->loss].name, "loss");
}

TEST(test_training_sgd) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation plain = test_compilation_through(&recipe, firnc_add_training);
    assert_int_equal(count_nodes(plain.graph, FIRN_OP_sgd), 6);
    test_recipe with_momentum = recipe;
    with_momentum.job.optimizer.momentum = 0.5f;
    with_momentum.job.optimizer.nesterov = true;
    firnc_compilation momentum = test_compilation_through(&with_momentum, firnc_add_training);
    assert_int_equal(count_nodes(momentum.graph, FIRN_OP_sgd_momentum), 6);
    assert_non_null(named(momentum.graph, "optimizer.momentum_buffer.layers.0.weight"));
}

/* The last entry of params that matches a parameter applies to it. If the entry sets no weight decay, the rule for
 * biases and norms applies. Groups with equal betas share their powers. */
TEST(test_training_groups) {
    static const char *const heads[] = {"transformer.h.0.*", "transformer.ln_f.*"}, *const biases[] = {"*.bias"};
    test_recipe recipe = test_gpt2_recipe();
    recipe.job.group_count = 2;
    recipe.job.groups[0] = (firnc_parameter_group){
        .name = "slow", .patterns = heads, .pattern_count = 2, .settings = recipe.job.optimizer};
    recipe.job.groups[0].settings.beta2 = 0.5f;
    recipe.job.groups[1] = (firnc_parameter_group){.name = "biases",
                                                   .patterns = biases,
                                                   .pattern_count = 1,
                                                   .settings = recipe.job.optimizer,
                                                   .decay_given = true};
    recipe.job.groups[1].settings.weight_decay = 0.25f;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_add_training);
    const firnc_graph *graph = compilation.graph;
    static const char *const names[] = {"decay", "no_decay", "slow", "slow.no_decay", "biases"};
    assert_int_equal(graph->group_count, 5);
    uint32_t parameters = 0;
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(graph->groups[i].name, names[i]);
        parameters += graph->groups[i].parameter_count;
    }
    assert_int_equal(parameters, count_nodes(graph, FIRN_OP_adamw));
    const firnc_node *bias = test_find_node(graph, FIRN_OP_adamw, "transformer.h.0.attn.c_attn.bias");
    const firnc_node *weight = test_find_node(graph, FIRN_OP_adamw, "transformer.h.0.attn.c_attn.weight");
    const firnc_node *norm = test_find_node(graph, FIRN_OP_adamw, "transformer.ln_f.weight");
    assert_float_equal(bias->reals[FIRN_ADAMW_WEIGHT_DECAY], 0.25, 0);
    assert_float_equal(bias->reals[FIRN_ADAMW_BETA2], 0.95f, 0);
    assert_float_equal(weight->reals[FIRN_ADAMW_WEIGHT_DECAY], 0.125, 0);
    assert_float_equal(weight->reals[FIRN_ADAMW_BETA2], 0.5, 0);
    assert_float_equal(norm->reals[FIRN_ADAMW_WEIGHT_DECAY], 0, 0);
    assert_int_equal(count_nodes(graph, FIRN_OP_advance_power), 4);
    assert_int_equal(bias->inputs[6], (firnc_value)(named(graph, "optimizer.beta2_power") - graph->values));
    assert_int_equal(weight->inputs[6], (firnc_value)(named(graph, "optimizer.beta2_power.slow") - graph->values));
}

TEST(test_group_without_parameters) {
    static const char *const patterns[] = {"*.bias", "*.bais"};
    test_recipe recipe = test_gpt2_recipe();
    recipe.job.group_count = 1;
    recipe.job.groups[0] = (firnc_parameter_group){.name = "x",
                                                   .patterns = patterns,
                                                   .pattern_count = 2,
                                                   .place = {"test.yaml", 9, "trainer.init.optimizer.AdamW.params.0"}};
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_differentiate);
    assert_contains(errors_of(firnc_add_training, &compilation, false),
                    ":9: trainer.init.optimizer.AdamW.params.0: no parameter matches \"*.bais\"");
}

TEST(test_training_scaling) {
    static const struct {
        uint8_t scaling;
        float initial;
        bool scaled, dynamic;
    } cases[] = {{FIRNC_SCALING_NONE, 1, false, false},
                 {FIRNC_SCALING_STATIC, 1, false, false},
                 {FIRNC_SCALING_STATIC, 128, true, false},
                 {FIRNC_SCALING_DYNAMIC, 32768, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.job.precision.scaling = cases[i].scaling;
        recipe.job.precision.initial_loss_scale = cases[i].initial;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_add_training);
        const firnc_graph *graph = compilation.graph;
        const firnc_node *seed = test_find_node(graph, FIRN_OP_loss_seed, "loss");
        assert_int_equal(seed->input_count, cases[i].scaled);
        assert_int_equal(count_nodes(graph, FIRN_OP_gradient_factors), cases[i].scaled);
        const firnc_node *sgd = test_find_node(graph, FIRN_OP_sgd, "layers.1.bias");
        assert_int_equal(sgd->input_count, cases[i].scaled ? 4 : 3);
        assert_int_equal(named(graph, "scaler.loss_scale") != NULL, cases[i].scaled);
        assert_int_equal(count_nodes(graph, FIRN_OP_loss_scale_update), cases[i].dynamic);
        assert_int_equal(count_nodes(graph, FIRN_OP_sum_of_squares), 0);
        assert_int_equal(count_nodes(graph, FIRN_OP_largest_magnitude), cases[i].dynamic ? 6 : 0);
        assert_int_equal(count_nodes(graph, FIRN_OP_sum_of_scaled_squares), cases[i].dynamic ? 6 : 0);
        assert_int_equal(graph->finite != FIRNC_NONE, cases[i].dynamic);
        if (cases[i].dynamic) /* the norm is that of unscaled gradients */
            assert_int_equal(test_find_node(graph, FIRN_OP_sum_of_scaled_squares, "layers.1.bias")->inputs[3],
                             graph->loss_scale);
        assert_int_equal(named(graph, "scaler.num_skipped_steps") != NULL, cases[i].dynamic);
    }
}

TEST(test_training_clipping) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.precision.clipping = FIRN_FB_CLIPPING_NORM;
    recipe.job.precision.clip_threshold = 2;
    firnc_compilation by_norm = test_compilation_through(&recipe, firnc_lower);
    const firnc_node *factors = test_find_node(by_norm.graph, FIRN_OP_gradient_factors, "gradient_factors");
    assert_int_equal(factors->integers[FIRN_GRADIENT_FACTORS_CLIPPING], FIRN_FB_CLIPPING_NORM);
    assert_float_equal(factors->reals[FIRN_GRADIENT_FACTORS_LIMIT], 2, 0);
    assert_int_equal(factors->input_count, 4);
    const firnc_node *norm = test_find_node(by_norm.graph, FIRN_OP_gradient_norm, "gradient_norm");
    assert_int_equal(factors->inputs[FIRN_GRADIENT_FACTORS_IN_ROOT], norm->outputs[FIRN_GRADIENT_NORM_OUT_ROOT]);
    assert_int_equal(factors->inputs[FIRN_GRADIENT_FACTORS_IN_MAGNITUDE],
                     norm->inputs[FIRN_GRADIENT_NORM_IN_MAGNITUDE]);
    assert_int_equal(factors->inputs[FIRN_GRADIENT_FACTORS_IN_SCALE], FIRNC_NONE);
    assert_int_equal(factors->inputs[FIRN_GRADIENT_FACTORS_IN_NORM], by_norm.graph->gradient_norm);
    assert_int_equal(test_find_node(by_norm.graph, FIRN_OP_sgd, "layers.1.bias")->inputs[3], factors->outputs[0]);
    /* squares are summed in the order of parameter names */
    const firnc_node *squares = test_find_node(by_norm.graph, FIRN_OP_sum_of_scaled_squares, "layers.1.bias");
    assert_int_equal(squares->integers[0], 2);
    assert_int_equal(squares->input_count, 3); /* no loss scale input */
    assert_int_equal(test_find_node(by_norm.graph, FIRN_OP_largest_magnitude, "layers.1.bias")->integers[0], 2);

    recipe.job.precision.clipping = FIRN_FB_CLIPPING_VALUE;
    firnc_compilation by_value = test_compilation_through(&recipe, firnc_lower);
    factors = test_find_node(by_value.graph, FIRN_OP_gradient_factors, "gradient_factors");
    assert_int_equal(factors->integers[FIRN_GRADIENT_FACTORS_CLIPPING], FIRN_FB_CLIPPING_VALUE);
    assert_int_equal(factors->input_count, 0);
    assert_int_equal(count_nodes(by_value.graph, FIRN_OP_gradient_norm), 0);
}

TEST(test_training_micro_batches) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.data.micro_batch_size = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_add_training);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_accumulate), 6);
    assert_float_equal(test_find_node(compilation.graph, FIRN_OP_loss_seed, "loss")->reals[0], 0.25, 0);
    const firnc_value_info *total = named(compilation.graph, "total.gradient.layers.0.bias");
    assert_non_null(total);
    assert_true(total->persistent);
    assert_int_equal(total->role, FIRNC_ROLE_GRADIENT);
}

/* The levels below the top are one tensor; with two micro-batches there are none. */
TEST(test_training_tree) {
    for (uint32_t samples = 1; samples <= 2; samples++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.job.tree = true;
        recipe.job.data.micro_batch_size = samples;
        firnc_compilation compilation = test_compilation(&recipe);
        test_run_passes(&compilation, firnc_add_training);
        const firnc_graph *graph = compilation.graph;
        assert_int_equal(count_nodes(graph, FIRN_OP_accumulate), 0);
        assert_int_equal(count_nodes(graph, FIRN_OP_accumulate_tree), 7);
        const firnc_node *loss = test_find_node(graph, FIRN_OP_accumulate_tree, "loss");
        assert_int_equal(loss->integers[FIRN_ACCUMULATE_TREE_MICRO_BATCHES], 4 / samples);
        assert_int_equal(loss->outputs[FIRN_ACCUMULATE_TREE_OUT_TOTAL], graph->loss);
        assert_int_equal(graph->values[graph->loss].role, FIRNC_ROLE_RESULT);
        assert_int_equal(loss->input_count, samples == 1 ? 3 : 2);
        assert_int_equal(loss->output_count, samples == 1 ? 2 : 1);
        const firnc_value_info *lower = named(graph, "lower.gradient.layers.0.bias");
        assert_int_equal(lower != NULL, samples == 1);
        if (lower == NULL)
            continue;
        assert_true(lower->persistent);
        assert_int_equal(lower->role, FIRNC_ROLE_GRADIENT);
    }
}

/* One micro-batch has nothing to add. */
TEST(test_training_tree_of_one) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.tree = true;
    firnc_compilation compilation = test_compilation(&recipe);
    test_run_passes(&compilation, firnc_add_training);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_accumulate_tree), 0);
}

TEST(test_metric) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.mode = FIRNC_EVAL;
    recipe.job.metric = FIRNC_METRIC_ACCURACY;
    firnc_compilation accuracy = test_compilation_through(&recipe, firnc_lower);
    assert_int_equal(count_nodes(accuracy.graph, FIRN_OP_metric_accuracy), 1);
    assert_non_null(named(accuracy.graph, "metric.correct"));
    assert_int_equal(accuracy.graph->nodes[0].phase, FIRNC_PHASE_EVALUATE);
    recipe.mlp.losses.kind = FIRNC_LOSS_MEAN_SQUARED_ERROR;
    firnc_compilation refused = test_compilation_through(&recipe, firnc_autocast);
    assert_contains(errors_of(firnc_add_training, &refused, false), "the metric needs classes");
}

TEST(test_metrics_that_do_not_fit) {
    static const struct {
        firnc_metric metric;
        uint32_t classes, ignored_count, ignored[2];
        const char *said; /* NULL: it fits */
    } rows[] = {
        {FIRNC_METRIC_MEAN_IOU, 4096, 0, {0}, NULL},
        {FIRNC_METRIC_DICE,
         4097,
         0,
         {0},
         "a confusion matrix of 4097 classes is too large (at most 4096); use accuracy"},
        {FIRNC_METRIC_ACCURACY, 4097, 0, {0}, NULL},
        {FIRNC_METRIC_AUC, 3, 0, {0}, "the metric auc needs two classes"},
        {FIRNC_METRIC_AUC, 2, 0, {0}, NULL},
        {FIRNC_METRIC_MEAN_SQUARED_ERROR, 2, 0, {0}, "the metric mean_squared_error needs a loss of numbers"},
        {FIRNC_METRIC_MEAN_IOU, 3, 2, {0, 2}, NULL},
        {FIRNC_METRIC_MEAN_IOU, 3, 2, {0, 3}, "the metric leaves out a class that is not below 3, or all of them"},
        {FIRNC_METRIC_MEAN_IOU, 2, 2, {0, 1}, "the metric leaves out a class that is not below 2, or all of them"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.job.mode = FIRNC_EVAL;
        recipe.job.metric = rows[i].metric;
        recipe.job.metric_ignored_count = rows[i].ignored_count;
        memcpy(recipe.job.metric_ignored, rows[i].ignored, sizeof rows[i].ignored);
        recipe.mlp.output_size = rows[i].classes;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
        const char *said = errors_of(firnc_add_training, &compilation, rows[i].said == NULL);
        if (rows[i].said != NULL)
            assert_contains(said, rows[i].said);
    }
}

/* --- fuse and order ----------------------------------------------------------------------------------------------- */

TEST(test_fuse) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_add_training);
    firnc_graph *graph = compilation.graph;
    uint32_t before = graph->node_count;
    /* two casts of the same value and their sum, which is never read */
    firnc_value x = graph->nodes[0].outputs[0];
    uint8_t half = FIRN_BFLOAT16, single = FIRN_FLOAT32;
    firnc_value casts[2];
    for (size_t i = 0; i < 2; i++) {
        uint32_t node = firnc_node_new(graph, FIRN_OP_cast, FIRNC_PHASE_MICRO_BATCH, "extra", &x, 1, NULL, NULL, &half);
        casts[i] = graph->nodes[node].outputs[0];
    }
    uint32_t sum = firnc_node_new(graph, FIRN_OP_add, FIRNC_PHASE_MICRO_BATCH, "extra", casts, 2, NULL, NULL, &single);
    assert_true(firnc_fuse(&compilation));
    assert_int_equal(graph->node_count, before);
    assert_int_equal(count_nodes(graph, FIRN_OP_cast), 0);

    /* the same with a sum that is read */
    for (size_t i = 0; i < 2; i++) {
        uint32_t node = firnc_node_new(graph, FIRN_OP_cast, FIRNC_PHASE_MICRO_BATCH, "extra", &x, 1, NULL, NULL, &half);
        casts[i] = graph->nodes[node].outputs[0];
    }
    sum = firnc_node_new(graph, FIRN_OP_add, FIRNC_PHASE_MICRO_BATCH, "extra", casts, 2, NULL, NULL, &single);
    firnc_value read = graph->nodes[sum].outputs[0];
    graph->at_floor = read; /* a value that the plan refers to is kept */
    assert_true(firnc_fuse(&compilation));
    assert_int_equal(graph->node_count, before + 2);
    const firnc_node *kept = &graph->nodes[graph->values[read].producer];
    assert_int_equal(kept->code, FIRN_OP_add);
    assert_int_equal(kept->inputs[0], kept->inputs[1]);
}

/* Copies of weights that only products read are left out if the job says so: of two layers' four weights, and of the
 * output weight. AUTO leaves such small ones. */
TEST(test_copies_of_weights) {
    static const firnc_weight_copies wanted[] = {FIRNC_COPIES_ALWAYS, FIRNC_COPIES_AUTO, FIRNC_COPIES_NEVER};
    for (size_t i = 0; i < 3; i++) {
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
        recipe.job.weight_copies = wanted[i];
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_fuse);
        const firnc_graph *graph = compilation.graph;
        const uint32_t before = count_nodes(graph, FIRN_OP_cast);
        assert_true(firnc_leave_out_copies(&compilation));
        assert_int_equal(before - count_nodes(graph, FIRN_OP_cast), wanted[i] == FIRNC_COPIES_NEVER ? 9 : 0);
        for (uint32_t j = 0; wanted[i] == FIRNC_COPIES_NEVER && j < graph->node_count; j++) {
            const firnc_value_info *from = &graph->values[graph->nodes[j].inputs[0]];
            assert_false(graph->nodes[j].code == FIRN_OP_cast && from->role == FIRNC_ROLE_PARAMETER &&
                         from->shape.rank == 2);
        }
    }
}

/* Ops stay within their phases, every value is written before it is read, and the arena does not grow. */
TEST(test_order) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
    recipe.job.precision.clipping = FIRN_FB_CLIPPING_NORM;
    recipe.job.precision.clip_threshold = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_fuse);
    firnc_graph *graph = compilation.graph;
    uint64_t before = firnc_live_bytes(graph);
    uint32_t nodes = graph->node_count;
    assert_true(firnc_order(&compilation));
    assert_int_equal(graph->node_count, nodes);
    uint64_t after = firnc_live_bytes(graph);
    print_message("live at once: %llu bytes as built, %llu as ordered\n", (unsigned long long)before,
                  (unsigned long long)after);
    assert_true(after <= before);
    bool *written = firnc_allocate(graph->value_count), *scratch = firnc_allocate(graph->value_count);
    bool norm_known = false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        assert_true(i == 0 || graph->nodes[i - 1].phase <= node->phase);
        for (uint8_t j = 0; j < node->input_count; j++) {
            if (node->inputs[j] == FIRNC_NONE)
                continue;
            const firnc_value_info *value = &graph->values[node->inputs[j]];
            assert_true(written[node->inputs[j]] || value->producer == FIRNC_NONE);
            assert_false(scratch[node->inputs[j]]);
            assert_true(value->producer == FIRNC_NONE || value->producer < i || firnc_output_is_input(node, 0));
        }
        for (uint8_t j = 0; j < node->output_count; j++) {
            written[node->outputs[j]] = true;
            scratch[node->outputs[j]] = firn_op_output(firn_op_find(node->code), j)->scratch;
        }
        assert_false(norm_known && node->code == FIRN_OP_sum_of_scaled_squares);
        norm_known = norm_known || node->code == FIRN_OP_gradient_norm;
    }
}

/* --- lowering ----------------------------------------------------------------------------------------------------- */

typedef struct lowered {
    firn_reduction linear, dx, dweight, scores, values;
    firn_reduction backward_scores, backward_values,
        queries_and_keys; /* backward_values: the gradient of probabilities */
    int half_softmax, backward_half_softmax;
} lowered;

static lowered lower(firn_type half, int level, bool emulate, const char *target) {
    test_recipe recipe = test_gpt2_recipe();
    if (half != FIRN_FLOAT32)
        test_make_mixed(&recipe, half, level);
    recipe.job.precision.level = level;
    recipe.job.precision.emulate = emulate;
    recipe.job.target = target;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    const firnc_node *attention = test_find_node(graph, FIRN_OP_attention, "transformer.h.1.attn");
    const firnc_node *backward = test_find_node(graph, FIRN_OP_attention_backward, "transformer.h.1.attn");
    return (lowered){
        .linear = test_find_node(graph, FIRN_OP_linear, "transformer.h.0.mlp.c_fc")->reductions[0],
        .dx = test_find_node(graph, FIRN_OP_linear_backward_input, "transformer.h.0.mlp.c_fc")->reductions[0],
        .dweight = test_find_node(graph, FIRN_OP_linear_backward_weight, "transformer.h.0.mlp.c_fc")->reductions[0],
        .scores = attention->reductions[FIRN_ATTENTION_REDUCTION_SCORES],
        .values = attention->reductions[FIRN_ATTENTION_REDUCTION_VALUES],
        .backward_scores = backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_SCORES],
        .backward_values = backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_VALUES],
        .queries_and_keys = backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS],
        .half_softmax = (int)attention->integers[3],
        .backward_half_softmax = (int)backward->integers[3]};
}

static void assert_f32(firn_reduction reduction, firn_type output) {
    assert_int_equal(reduction.kind, FIRN_REDUCTION_F32);
    assert_int_equal(reduction.accumulator, FIRN_FLOAT32);
    assert_int_equal(reduction.output, output);
    assert_int_equal(reduction.chunk, 0);
}

static void assert_chunked(firn_reduction reduction, firn_type half, firn_type output, uint32_t chunk) {
    assert_int_equal(reduction.kind, FIRN_REDUCTION_CHUNKED);
    assert_int_equal(reduction.accumulator, half);
    assert_int_equal(reduction.output, output);
    assert_int_equal(reduction.chunk, chunk);
}

TEST(test_lower_table) {
    static const firn_type halves[] = {FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (size_t i = 0; i < 3; i++) {
        firn_type half = halves[i];
        lowered at_0 = lower(half, 0, true, "portable");
        assert_f32(at_0.linear, half);
        assert_f32(at_0.scores, FIRN_FLOAT32);
        lowered at_1 = lower(half, 1, true, "portable");
        assert_chunked(at_1.linear, half, half, 64);
        assert_chunked(at_1.dx, half, half, 64);
        const bool low_at_1 = half == FIRN_CBFLOAT16;
        assert_f32(at_1.scores, low_at_1 ? half : FIRN_FLOAT32);
        assert_f32(at_1.queries_and_keys, half);
        assert_int_equal(at_1.half_softmax, low_at_1);
        lowered at_2 = lower(half, 2, true, "portable");
        assert_chunked(at_2.linear, half, half, 128);
        assert_chunked(at_2.scores, half, half, 128);
        assert_chunked(at_2.values, half, half, 128);
        assert_chunked(at_2.backward_scores, half, half, 128);
        assert_int_equal(at_2.half_softmax, 1);
        assert_int_equal(at_2.backward_half_softmax, 1);
        /* native applies only to targets that multiply the type */
        lowered portable = lower(half, 2, false, "portable");
        assert_f32(portable.linear, half);
        assert_f32(portable.values, half);
        assert_int_equal(portable.half_softmax, 0);
        static const char *const targets[] = {"avx512fp16", "armv8.1m"};
        for (size_t t = 0; t < 2; t++) {
            lowered native = lower(half, 2, false, targets[t]);
            if (half == FIRN_FLOAT16)
                assert_chunked(native.linear, half, half, 128);
            else
                assert_f32(native.linear, half);
            assert_int_equal(native.half_softmax, half == FIRN_FLOAT16);
        }
    }
    lowered single = lower(FIRN_FLOAT32, 2, true, "avx512fp16");
    assert_f32(single.linear, FIRN_FLOAT32);
    assert_f32(single.values, FIRN_FLOAT32);
    assert_int_equal(single.half_softmax, 0);
}

/* Backward recomputes the scores exactly as forward computed them, whatever the level of backward. */
TEST(test_lower_backward_levels) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
    recipe.job.precision.emulate = true;
    const firnc_pol_pattern patterns[] = {{.pattern = "*.attn", .pol = both}};
    recipe.job.precision.patterns = patterns;
    recipe.job.precision.pattern_count = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_node *backward = test_find_node(compilation.graph, FIRN_OP_attention_backward, "transformer.h.0.attn");
    assert_chunked(backward->reductions[0], FIRN_BFLOAT16, FIRN_BFLOAT16, 128);
    assert_f32(backward->reductions[1], FIRN_BFLOAT16);
    assert_f32(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS], FIRN_BFLOAT16);
    assert_int_equal(backward->integers[3], 1);
    const firnc_node *head = test_find_node(compilation.graph, FIRN_OP_linear_backward_input, "lm_head");
    assert_f32(head->reductions[0], FIRN_BFLOAT16); /* the rule of GPT-2 for POL 1 */
    assert_chunked(test_find_node(compilation.graph, FIRN_OP_linear, "lm_head")->reductions[0], FIRN_BFLOAT16,
                   FIRN_BFLOAT16, 64);
}

/* POL decides every sum of products: a class of ops.def says how, whether the op is a layer's, its gradient or a
 * product of convolutions or recurrence. */
TEST(test_every_sum_has_a_class) {
    uint32_t sums = 0;
    for (uint32_t i = 0; i < FIRN_OPS; i++) {
        const firn_op_info *info = firn_op_at(i);
        const bool decided = info->pol == FIRN_POL_product || info->pol == FIRN_POL_attention;
        assert_int_equal(info->reductions > 0, decided);
        /* scores, and the logits of a loss */
        assert_int_equal(info->inner > 0,
                         info->pol == FIRN_POL_attention || info->code == FIRN_OP_linear_cross_entropy);
        sums += decided;
    }
    assert_true(sums > 15);
}

/* The two targets whose engine adds products of bfloat16 in an order of its own. */
typedef struct engine_case {
    const char *target;
    uint8_t kind;
    uint32_t terms;
} engine_case;

static const engine_case engine_cases[] = {{"amx-bf16", FIRN_REDUCTION_EVEN_ODD_BLOCKS, 32},
                                           {"avx512-bf16", FIRN_REDUCTION_PAIRS, 2}};
#define ENGINES (sizeof engine_cases / sizeof engine_cases[0])

static void assert_engine(firn_reduction reduction, const engine_case *engine, firn_type output) {
    assert_int_equal(reduction.kind, engine->kind);
    assert_int_equal(reduction.accumulator, FIRN_FLOAT32);
    assert_int_equal(reduction.output, output);
    assert_int_equal(reduction.chunk, engine->terms);
}

/* Products take the engine's order at every level, attention from level 1 on; no other type does, nor does `emulate`.
 */
TEST(test_lower_engines) {
    for (size_t i = 0; i < ENGINES; i++) {
        const engine_case *engine = &engine_cases[i];
        for (int level = 0; level < 3; level++) {
            const lowered got = lower(FIRN_BFLOAT16, level, false, engine->target);
            assert_engine(got.linear, engine, FIRN_BFLOAT16);
            assert_engine(got.dx, engine, FIRN_BFLOAT16);
            assert_engine(got.dweight, engine, FIRN_BFLOAT16);
            const firn_reduction inner[] = {got.scores, got.backward_scores},
                                 outer[] = {got.values, got.backward_values, got.queries_and_keys};
            for (size_t j = 0; j < 2 && level > 0; j++)
                assert_engine(inner[j], engine, FIRN_FLOAT32);
            for (size_t j = 0; j < 3 && level > 0; j++)
                assert_engine(outer[j], engine, FIRN_BFLOAT16);
            if (level == 0) {
                assert_f32(got.scores, FIRN_FLOAT32);
                assert_f32(got.queries_and_keys, FIRN_BFLOAT16);
            }
            assert_int_equal(got.half_softmax, 0);
            assert_int_equal(got.backward_half_softmax, 0);
            static const firn_type others[] = {FIRN_FLOAT16, FIRN_CBFLOAT16, FIRN_FLOAT32};
            for (size_t j = 0; j < 3; j++) {
                const lowered other = lower(others[j], level, false, engine->target);
                const lowered portable = lower(others[j], level, false, "portable");
                assert_memory_equal(&other, &portable, sizeof other);
            }
            const lowered emulated = lower(FIRN_BFLOAT16, level, true, engine->target);
            const lowered portable = lower(FIRN_BFLOAT16, level, true, "portable");
            assert_memory_equal(&emulated, &portable, sizeof emulated);
        }
    }
}

/* Backward levels, annotations, float32_layers, gradients of weights in float32 and a half softmax that the model
 * requests, all at once. Layer 0's attention is at level 0 forward and 1 backward, layer 1's the other way round. */
TEST(test_lower_engines_by_layer) {
    const firnc_pol up = {.level = 0, .bwd_level = 1, .enable_fwd = true, .enable_bwd = true};
    const firnc_pol down = {.level = 1, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
    const firnc_pol_pattern patterns[] = {{.pattern = "transformer.h.0.attn", .pol = up},
                                          {.pattern = "transformer.h.1.attn", .pol = down}};
    const firnc_layer_pattern single[] = {{.pattern = "transformer.h.0.mlp.c_fc"}};
    for (size_t i = 0; i < ENGINES; i++) {
        const engine_case *engine = &engine_cases[i];
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_BFLOAT16, 0);
        recipe.job.target = engine->target;
        recipe.job.precision.patterns = patterns;
        recipe.job.precision.pattern_count = 2;
        recipe.job.precision.float32_layers = single;
        recipe.job.precision.float32_layer_count = 1;
        recipe.job.precision.gradient_type = FIRN_FLOAT32;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
        const firnc_graph *graph = compilation.graph;
        const firnc_node *attention = test_find_node(graph, FIRN_OP_attention, "transformer.h.0.attn");
        const firnc_node *backward = test_find_node(graph, FIRN_OP_attention_backward, "transformer.h.0.attn");
        assert_f32(attention->reductions[FIRN_ATTENTION_REDUCTION_SCORES], FIRN_FLOAT32);
        assert_f32(attention->reductions[FIRN_ATTENTION_REDUCTION_VALUES], FIRN_BFLOAT16);
        assert_f32(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_SCORES], FIRN_FLOAT32);
        assert_engine(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_VALUES], engine, FIRN_BFLOAT16);
        assert_engine(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_QUERIES_AND_KEYS], engine, FIRN_BFLOAT16);
        attention = test_find_node(graph, FIRN_OP_attention, "transformer.h.1.attn");
        backward = test_find_node(graph, FIRN_OP_attention_backward, "transformer.h.1.attn");
        assert_engine(attention->reductions[FIRN_ATTENTION_REDUCTION_VALUES], engine, FIRN_BFLOAT16);
        assert_engine(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_SCORES], engine, FIRN_FLOAT32);
        assert_f32(backward->reductions[FIRN_ATTENTION_BACKWARD_REDUCTION_VALUES], FIRN_BFLOAT16);
        assert_f32(test_find_node(graph, FIRN_OP_linear, "transformer.h.0.mlp.c_fc")->reductions[0], FIRN_FLOAT32);
        assert_engine(test_find_node(graph, FIRN_OP_linear, "transformer.h.1.mlp.c_fc")->reductions[0], engine,
                      FIRN_BFLOAT16);
        assert_engine(test_find_node(graph, FIRN_OP_linear_backward_weight, "transformer.h.1.mlp.c_fc")->reductions[0],
                      engine, FIRN_FLOAT32);
    }
}

/* The softmax of an annotated layer has that layer's level, not the model's. */
TEST(test_lower_annotated_softmax) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_CBFLOAT16, 2);
    recipe.job.precision.emulate = true;
    const firnc_pol_pattern patterns[] = {
        {.pattern = "transformer.h.0.attn",
         .pol = {.level = 0, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true}}};
    recipe.job.precision.patterns = patterns;
    recipe.job.precision.pattern_count = 1;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    assert_int_equal(test_find_node(graph, FIRN_OP_attention, "transformer.h.0.attn")->integers[3], 0);
    assert_int_equal(test_find_node(graph, FIRN_OP_attention_backward, "transformer.h.0.attn")->integers[3], 0);
    assert_int_equal(test_find_node(graph, FIRN_OP_attention, "transformer.h.1.attn")->integers[3], 1);
}

TEST(test_unknown_target) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.target = "z80";
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_plan_memory);
    assert_contains(errors_of(firnc_lower, &compilation, false), "\"z80\"");
}

/* --- the payload -------------------------------------------------------------------------------------------------- */

static firnc_payload write_payload(const test_recipe *recipe, const char *weights, firnc_compilation *compilation) {
    test_recipe *weighted = firnc_allocate(sizeof *weighted);
    *weighted = *recipe;
    weighted->job.weights = weights;
    *compilation = test_compilation(weighted);
    test_run_passes(compilation, firnc_lower);
    firnc_payload payload = {0};
    assert_true(firnc_write_payload(compilation, &payload));
    return payload;
}

/* Seals the payload and makes all checks of an unsigned plan. */
static firnc_plan_file sealed(const firnc_compilation *compilation, const firnc_payload *payload, firnc_bytes *file) {
    static const uint8_t public_key[64] = {4};
    const firnc_bytes report = firnc_write_report(compilation, payload);
    firnc_plan_file checked;
    assert_true(firnc_plan_seal(compilation, payload, &report, public_key, file));
    assert_string_equal(firn_error_name(firnc_plan_check(file, NULL, 0, &checked)), firn_error_name(FIRN_OK));
    return checked;
}

static firn_fb_plan verified(const firnc_compilation *compilation, const firnc_payload *payload) {
    firnc_bytes file;
    return sealed(compilation, payload, &file).plan;
}

/* The loader accepts every form of step, and writing it twice gives the same bytes. */
TEST(test_payload_variants) {
    static const firn_type types[] = {FIRN_FLOAT32, FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (uint32_t variant = 0; variant < 4 * 3 * 8; variant++) {
        firn_type type = types[variant % 4];
        uint32_t rest = variant / 12;
        test_recipe recipe = (rest & 1) != 0 ? test_mlp_recipe() : test_gpt2_recipe();
        recipe.job.mode = (rest & 2) != 0 ? FIRNC_EVAL : FIRNC_TRAIN;
        if (type != FIRN_FLOAT32)
            test_make_mixed(&recipe, type, (int)(variant / 4 % 3));
        recipe.job.precision.emulate = (variant & 1) != 0;
        if (recipe.job.mode == FIRNC_TRAIN && (rest & 4) != 0) {
            recipe.job.data.micro_batch_size /= 2;
            recipe.job.precision.scaling = FIRNC_SCALING_DYNAMIC;
            recipe.job.precision.clipping = (variant & 1) != 0 ? FIRN_FB_CLIPPING_NORM : FIRN_FB_CLIPPING_VALUE;
            recipe.job.precision.clip_threshold = 1;
            recipe.job.optimizer.momentum = 0.5f;
        } else {
            recipe.job.data.batch_size = recipe.job.data.micro_batch_size;
        }
        if (variant % 5 == 0) { /* frozen weights, in the half type where products read it */
            recipe.job.fine_tuning.bias_only = true;
            recipe.job.fine_tuning.frozen_type = type;
        }
        firnc_compilation first, second;
        firnc_payload a = write_payload(&recipe, NULL, &first), b = write_payload(&recipe, NULL, &second);
        assert_int_equal(a.total_bytes, b.total_bytes);
        assert_memory_equal(a.bytes, b.bytes, (size_t)a.total_bytes);
        assert_int_equal(a.constants_bytes > 0, variant % 5 == 0);
        verified(&first, &a);
    }
}

TEST(test_payload_fields) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.job.data.held_out_per_mille = 50;
    recipe.job.data.shuffle = true;
    recipe.job.data.shuffle_seed = 77;
    recipe.job.data.micro_batch_size = 1;
    firnc_compilation compilation;
    firnc_payload payload = write_payload(&recipe, NULL, &compilation);
    firn_fb_plan plan = verified(&compilation, &payload);
    assert_int_equal(firn_fb_plan_micro_batches(plan), 2);
    assert_int_equal(firn_fb_plan_steps(plan), 10);
    assert_int_equal(firn_fb_plan_phases_count(plan), 3); /* there is nothing to finalise */
    firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    assert_int_equal(firn_fb_sampler_window(sampler), 9);
    assert_int_equal(firn_fb_sampler_stride(sampler), 8);
    assert_int_equal(firn_fb_sampler_samples(sampler), 1);
    assert_int_equal(firn_fb_sampler_part(sampler), FIRN_FB_DATA_PART_TRAIN);
    assert_int_equal(firn_fb_sampler_kind(sampler), FIRN_FB_SAMPLER_KIND_PERMUTATION);
    assert_int_equal(firn_fb_sampler_seed(sampler), 77);
    assert_int_equal(firn_fb_plan_inputs_count(plan), 2);
    firn_fb_input labels = firn_fb_plan_inputs_at(plan, 1);
    assert_string_equal(firn_fb_input_name(labels), "labels");
    assert_int_equal(firn_fb_input_advance(labels), 1);
    assert_int_equal(firn_fb_input_limit(labels), 11);
    assert_false(firn_fb_input_label(firn_fb_plan_inputs_at(plan, 0)));
    assert_true(firn_fb_input_label(labels));
    assert_int_equal(firn_fb_plan_loss_scale(plan), FIRN_ABSENT);
    assert_int_equal(firn_fb_plan_gradient_norm(plan), FIRN_ABSENT);
}

/* The names and the requests that no op needs are in the report: of every tensor that is not state, and of every op in
 * the order of the plan, with a level if and only if its row of the op table has a POL class. */
TEST(test_report) {
    test_recipe recipe = test_gpt2_recipe();
    firnc_compilation compilation;
    firnc_payload payload = write_payload(&recipe, NULL, &compilation);
    firnc_bytes file;
    const firnc_plan_file checked = sealed(&compilation, &payload, &file);
    cJSON *report = firnc_report_of(&file, &checked.header);
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(report, "groups");
    assert_int_equal(cJSON_GetArraySize(groups), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *decay = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(groups, i), "weight_decay");
        assert_true(cJSON_GetNumberValue(decay) == (i == 0 ? 0.125 : 0));
    }
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(report, "tensors");
    assert_int_equal(cJSON_GetArraySize(tensors),
                     firn_fb_plan_tensors_count(checked.plan) - firn_fb_plan_state_tensors(checked.plan));
    assert_string_equal(firnc_report_name(report, "tensors", 0), "input_ids");
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(report, "ops");
    int number = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(checked.plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(checked.plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++, number++) {
            const cJSON *op = cJSON_GetArrayItem(ops, number);
            const bool has_level = firn_op_find(firn_fb_op_code(firn_fb_phase_ops_at(phase, i)))->pol != FIRN_POL_none;
            assert_int_equal(cJSON_GetArraySize(op), has_level ? 3 : 1);
            if (has_level) /* rules apply to mixed precision only */
                assert_string_not_equal(cJSON_GetStringValue(cJSON_GetArrayItem(op, 2)), "rule");
        }
    }
    assert_int_equal(cJSON_GetArraySize(ops), number);
    cJSON_Delete(report);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Writes a safetensors file of the small MLP in which every weight is 1/4 in the given dtype. */
static const char *make_weights(const char *dtype, size_t size, const void *quarter, const char *drop) {
    static const struct {
        const char *name, *shape;
        size_t elements;
    } tensors[] = {{"layers.0.weight", "5,6", 30}, {"layers.0.bias", "5", 5},      {"layers.1.weight", "4,5", 20},
                   {"layers.1.bias", "4", 4},      {"layers.2.weight", "3,4", 12}, {"layers.2.bias", "3", 3}};
    const char *header = "{";
    size_t offset = 0;
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        size_t end = offset + tensors[i].elements * size;
        if (drop != NULL && strcmp(drop, tensors[i].name) == 0)
            continue;
        header = firnc_format("%s%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", header,
                              header[1] == '\0' ? "" : ",", tensors[i].name, dtype, tensors[i].shape, offset, end);
        offset = end;
    }
    header = firnc_format("%s}", header);
    char *name = firnc_allocate(sizeof P_tmpdir "/firn-weights-XXXXXX");
    strcpy(name, P_tmpdir "/firn-weights-XXXXXX");
    int descriptor = mkstemp(name);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    uint64_t length = strlen(header);
    assert_int_equal(fwrite(&length, 8, 1, file), 1);
    assert_int_equal(fwrite(header, 1, (size_t)length, file), length);
    for (size_t i = 0; i < offset / size; i++)
        assert_int_equal(fwrite(quarter, size, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    return name;
}

static bool try_write(firnc_compilation *compilation) {
    firnc_payload payload = {0};
    return firnc_write_payload(compilation, &payload);
}

static void check_weights(const char *dtype, size_t size, const void *quarter) {
    test_recipe recipe = test_mlp_recipe();
    const char *file = make_weights(dtype, size, quarter, NULL);
    firnc_compilation compilation;
    firnc_payload payload = write_payload(&recipe, file, &compilation);
    unlink(file);
    firn_fb_plan plan = verified(&compilation, &payload);
    assert_int_equal(payload.constants_offset % 64, 0);
    assert_int_equal(payload.total_bytes, payload.constants_offset + payload.constants_bytes);
    uint32_t from_weights = 0;
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++) {
        firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(plan, i);
        if (firn_fb_initialiser_rule(initialiser) != FIRN_FB_INITIALISER_RULE_WEIGHTS)
            continue;
        from_weights++;
        assert_int_equal(firn_fb_initialiser_weights(initialiser) % 64, 0);
        float value;
        memcpy(&value, payload.bytes + payload.constants_offset + firn_fb_initialiser_weights(initialiser),
               sizeof value);
        assert_float_equal(value, 0.25, 0);
    }
    assert_int_equal(from_weights, 6);
}

TEST(test_weights) {
    const float single = 0.25f;
    const uint16_t half = 0x3400, brain = 0x3e80;
    check_weights("F32", sizeof single, &single);
    check_weights("F16", sizeof half, &half);
    check_weights("BF16", sizeof brain, &brain);
}

static void check_refused(const char *file, const char *message) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.weights = file;
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    assert_contains(errors_of(try_write, &compilation, false), message);
}

TEST(test_weights_refused) {
    const float single = 0.25f, infinite = firn_from_bits(0x7f800000u);
    const char *missing = make_weights("F32", 4, &single, "layers.1.bias");
    check_refused(missing, "layers.1.bias");
    const char *strange = make_weights("I32", 4, &single, NULL);
    check_refused(strange, "dtype");
    const char *shorter = make_weights("F32", 4, &single, NULL);
    assert_int_equal(truncate(shorter, 600), 0);
    check_refused(shorter, "data_offsets");
    assert_int_equal(truncate(shorter, 20), 0);
    check_refused(shorter, "not a safetensors file");
    const char *unbounded = make_weights("F32", 4, &infinite, NULL);
    check_refused(unbounded, "NaN or infinity");
    check_refused("no-such-file.safetensors", "no-such-file.safetensors");
    unlink(missing);
    unlink(strange);
    unlink(shorter);
    unlink(unbounded);
}
