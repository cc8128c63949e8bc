/* Tests the graph builder: names, annotation scopes, random number identities, the two architectures, and that misuse
 * aborts. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support_capture.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

static const firnc_init zero = {.rule = FIRNC_INIT_CONSTANT};
static const firnc_init gauss = {.rule = FIRNC_INIT_NORMAL, .b = 1};

static const firnc_node *last_node(const firnc_graph *graph) {
    return &graph->nodes[graph->node_count - 1];
}

static const firnc_value_info *find_value(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, name) == 0)
            return &graph->values[i];
    return NULL;
}

static firnc_graph *graph_with_input(firnc_value *x) {
    firnc_graph *graph = firnc_graph_create("toy");
    *x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){2, 3}, test_float32);
    return graph;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

TEST(layers_join_with_dots) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_relu(graph, x);
    assert_string_equal(last_node(graph)->name, "toy");
    firnc_layer_begin(graph, "h.0");
    firnc_layer_begin(graph, "mlp");
    firnc_value y = firnc_relu(graph, x);
    assert_string_equal(last_node(graph)->name, "h.0.mlp");
    assert_string_equal(graph->values[y].name, "h.0.mlp/relu");
    firnc_layer_end(graph);
    firnc_relu(graph, x);
    assert_string_equal(last_node(graph)->name, "h.0");
    firnc_layer_end(graph);
}

/* --- annotation --------------------------------------------------------------------------------------------------- */

static firnc_pol level(int value) {
    return (firnc_pol){.level = value, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
}

static void expect_pol(const firnc_graph *graph, int wanted, uint8_t origin) {
    assert_true(last_node(graph)->annotated);
    assert_int_equal(last_node(graph)->pol.level, wanted);
    assert_int_equal(last_node(graph)->pol_origin, origin);
}

TEST(the_innermost_annotation_replaces_the_outer) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_relu(graph, x);
    assert_false(last_node(graph)->annotated);
    firnc_pol_begin(graph, level(2));
    firnc_pol_begin(graph, (firnc_pol){.level = FIRNC_UNSET, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true});
    firnc_layer_begin(graph, "inner"); /* a layer scope in between does not hide the annotation */
    firnc_relu(graph, x);
    expect_pol(graph, FIRNC_UNSET, FIRNC_ORIGIN_SCOPE);
    assert_int_equal(last_node(graph)->pol.bwd_level, 0);
    firnc_layer_end(graph);
    firnc_pol_end(graph);
    firnc_relu(graph, x);
    expect_pol(graph, 2, FIRNC_ORIGIN_SCOPE);
    firnc_pol_end(graph);
    firnc_relu(graph, x);
    assert_false(last_node(graph)->annotated);
}

TEST(a_call_annotates_one_op) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_pol_begin(graph, level(2));
    firnc_pol_next(graph, level(0));
    firnc_relu(graph, x);
    expect_pol(graph, 0, FIRNC_ORIGIN_CALL);
    firnc_relu(graph, x);
    expect_pol(graph, 2, FIRNC_ORIGIN_SCOPE);
    firnc_pol_rule(graph, level(1));
    firnc_relu(graph, x);
    expect_pol(graph, 2, FIRNC_ORIGIN_SCOPE);
    firnc_pol_end(graph);
    firnc_pol_rule(graph, level(1));
    firnc_relu(graph, x);
    expect_pol(graph, 1, FIRNC_ORIGIN_RULE);
}

/* An annotated dropout that is not recorded must not annotate the op after it. */
TEST(an_annotation_ends_with_its_call) {
    for (int eval = 0; eval <= 1; eval++) {
        firnc_value x;
        firnc_graph *graph = graph_with_input(&x);
        graph->eval = eval == 1;
        firnc_pol_next(graph, level(0));
        assert_int_equal(firnc_dropout(graph, x, eval == 1 ? 0.5F : 0), x);
        firnc_relu(graph, x);
        assert_false(last_node(graph)->annotated);
    }
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

static uint32_t rng_of_last_parameter(bool eval, float rate) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    graph->eval = eval;
    firnc_parameter(graph, "first", 1, (uint32_t[]){3}, gauss, true);
    firnc_value y = firnc_dropout(graph, x, rate);
    assert_int_equal(y == x, eval || rate == 0);
    assert_int_equal(graph->node_count, y == x ? 0 : 1);
    firnc_value last = firnc_parameter(graph, "last", 1, (uint32_t[]){3}, gauss, true);
    return graph->values[last].rng_id;
}

TEST(neither_mode_nor_rate_moves_random_numbers) {
    uint32_t expected = rng_of_last_parameter(false, 0.5F);
    assert_int_equal(expected, 2);
    assert_int_equal(rng_of_last_parameter(true, 0.5F), expected);
    assert_int_equal(rng_of_last_parameter(false, 0), expected);
}

/* The rates of the recipe are those of the ops, each where it belongs. */
TEST(rates_of_the_recipe_are_those_of_the_ops) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.embedding_dropout_rate = 0.9F;
    recipe.gpt2.attention_dropout_rate = 0.1F;
    recipe.gpt2.residual_dropout_rate = 0.25F;
    const firnc_graph *graph = test_build(&recipe);
    uint32_t embeddings = 0, residuals = 0, attentions = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (node->code == FIRN_OP_attention && node->reals[FIRN_ATTENTION_DROPOUT_RATE] == 0.1F)
            attentions++;
        else if (node->code == FIRN_OP_dropout && node->reals[FIRN_DROPOUT_RATE] == 0.25F)
            residuals++;
        else if (node->code == FIRN_OP_dropout && node->reals[FIRN_DROPOUT_RATE] == 0.9F)
            embeddings++;
        else
            assert_false(node->code == FIRN_OP_attention || node->code == FIRN_OP_dropout);
    }
    assert_int_equal(embeddings, 1);
    assert_int_equal(attentions, 2);
    assert_int_equal(residuals, 4);
    test_recipe layers = test_mlp_recipe();
    layers.mlp.dropout_rate = 0.9F;
    graph = test_build(&layers);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == FIRN_OP_dropout) {
            assert_true(graph->nodes[i].reals[FIRN_DROPOUT_RATE] == 0.9F);
            residuals++;
        }
    assert_int_equal(residuals, 4 + 2);
}

TEST(attention_in_an_eval_graph_drops_nothing) {
    for (int eval = 0; eval <= 1; eval++) {
        firnc_graph *graph = firnc_graph_create("toy");
        if (eval == 1)
            firnc_graph_evaluate(graph);
        firnc_value qkv = firnc_input(graph, "qkv", FIRN_FLOAT32, 3, (uint32_t[]){1, 4, 12}, test_float32);
        firnc_attention(graph, qkv,
                        (firnc_attention_options){.heads = 2, .kv_heads = 2, .scale = 1, .dropout_rate = 0.25F});
        assert_float_equal(last_node(graph)->reals[1], eval == 1 ? 0 : 0.25F, 0);
        assert_int_equal(last_node(graph)->phase, eval == 1 ? FIRNC_PHASE_EVALUATE : FIRNC_PHASE_MICRO_BATCH);
    }
}

/* --- any op ------------------------------------------------------------------------------------------------------- */

TEST(any_forward_op_can_be_recorded) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_value by_name = firnc_gelu(graph, x, FIRNC_GELU_TANH);
    firnc_value by_code = firnc_op(graph, FIRN_OP_gelu, &x, 1, (int64_t[]){FIRNC_GELU_TANH}, NULL);
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(graph->nodes[0].outputs[0], by_name);
    assert_int_equal(graph->nodes[1].outputs[0], by_code);
    assert_int_equal(graph->nodes[1].code, graph->nodes[0].code);
    assert_int_equal(graph->nodes[1].inputs[0], graph->nodes[0].inputs[0]);
    assert_int_equal(graph->nodes[1].integers[FIRN_GELU_FORM], graph->nodes[0].integers[FIRN_GELU_FORM]);
}

/* --- helpers of passes -------------------------------------------------------------------------------------------- */

TEST(a_graph_grows_and_keeps_what_it_has) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    for (int i = 0; i < 1000; i++)
        firnc_relu(graph, x);
    assert_int_equal(graph->node_count, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(graph->nodes[i].outputs[0], i + 1);
        assert_int_equal(graph->values[i + 1].producer, i);
    }
}

TEST(a_new_node_has_the_shapes_of_its_rule) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){5, 3}, zero, true);
    uint8_t type = FIRN_FLOAT32;
    uint32_t node = firnc_node_new(graph, FIRN_OP_linear, FIRNC_PHASE_MICRO_BATCH, "layer", (firnc_value[]){x, weight},
                                   2, (int64_t[]){FIRNC_OUT_IN}, NULL, &type);
    const firn_shape *shape = &graph->values[graph->nodes[node].outputs[0]].shape;
    assert_int_equal(shape->rank, 2);
    assert_int_equal(shape->dims[0], 2);
    assert_int_equal(shape->dims[1], 5);
}

/* --- misuse ------------------------------------------------------------------------------------------------------- */

static void end_without_begin(firnc_graph *graph) {
    firnc_layer_end(graph);
}

static void ends_crossed(firnc_graph *graph) {
    firnc_layer_begin(graph, "a");
    firnc_pol_begin(graph, level(0));
    firnc_layer_end(graph);
}

static void value_of_nowhere(firnc_graph *graph) {
    firnc_relu(graph, 77);
}

static void two_losses(firnc_graph *graph) {
    firnc_value y = firnc_relu(graph, 0);
    firnc_loss(graph, y);
    firnc_loss(graph, y);
}

static void loss_without_producer(firnc_graph *graph) {
    firnc_loss(graph, 0);
}

static void level_three(firnc_graph *graph) {
    firnc_pol_begin(graph, level(3));
}

static void rate_of_one(firnc_graph *graph) {
    firnc_dropout(graph, 0, 1);
}

static void backward_op(firnc_graph *graph) {
    firnc_op(graph, FIRN_OP_gelu_backward, (firnc_value[]){0, 0}, 2, NULL, NULL);
}

static void op_out_of_the_table(firnc_graph *graph) {
    firnc_op(graph, (firn_op_code)(0x10000 + FIRN_OP_relu), (firnc_value[]){0}, 1, NULL, NULL);
}

static void dropout_with_its_own_rng_id(firnc_graph *graph) {
    firnc_op(graph, FIRN_OP_dropout, (firnc_value[]){0}, 1, NULL, NULL);
}

static void attention_with_its_own_rng_id(firnc_graph *graph) {
    firnc_op(graph, FIRN_OP_attention, (firnc_value[]){0}, 1, NULL, NULL);
}

static void label_below_none(firnc_graph *graph) {
    firnc_row_weights(graph, FIRNC_NONE, -2);
}

/* A name of as many bytes as no name may have. */
static const char *too_long(void) {
    static char name[FIRNC_NAME_MAX + 2];
    memset(name, 'n', FIRNC_NAME_MAX + 1);
    return name;
}

static void long_model(firnc_graph *graph) {
    (void)graph;
    firnc_graph_create(too_long());
}

static void nameless_model(firnc_graph *graph) {
    (void)graph;
    firnc_graph_create(NULL);
}

static void long_input(firnc_graph *graph) {
    firnc_input(graph, too_long(), FIRN_FLOAT32, 1, (uint32_t[]){1}, test_float32);
}

static void long_parameter(firnc_graph *graph) {
    firnc_parameter(graph, too_long(), 1, (uint32_t[]){1}, zero, false);
}

static void empty_parameter(firnc_graph *graph) {
    firnc_parameter(graph, "", 1, (uint32_t[]){1}, zero, false);
}

static void parameter_that_is_no_ascii(firnc_graph *graph) {
    firnc_parameter(graph, "gew\xc3\xbcrz", 1, (uint32_t[]){1}, zero, false);
}

static void empty_layer(firnc_graph *graph) {
    firnc_layer_begin(graph, "");
}

static void long_path(firnc_graph *graph) {
    firnc_layer_begin(graph, too_long() + 1);
    firnc_layer_begin(graph, "a");
}

static void evaluate_after_an_op(firnc_graph *graph) {
    firnc_relu(graph, 0);
    firnc_graph_evaluate(graph);
}

static void too_few_operands(firnc_graph *graph) {
    firnc_op(graph, FIRN_OP_add, (firnc_value[]){0, FIRNC_NONE}, 2, NULL, NULL);
}

static void too_many_operands(firnc_graph *graph) {
    firnc_op(graph, FIRN_OP_relu, (firnc_value[]){0, 0}, 2, NULL, NULL);
}

static void value_behind_the_last(firnc_graph *graph) {
    firnc_relu(graph, graph->value_count);
}

static void pol_end_in_a_layer(firnc_graph *graph) {
    firnc_pol_begin(graph, level(0));
    firnc_layer_begin(graph, "a");
    firnc_pol_end(graph);
}

static void level_below_unset(firnc_graph *graph) {
    firnc_pol_next(graph, level(FIRNC_UNSET - 1));
}

static void backward_level_three(firnc_graph *graph) {
    firnc_pol_begin(graph, (firnc_pol){.level = 0, .bwd_level = 3});
}

static void two_annotations(firnc_graph *graph) {
    firnc_pol_next(graph, level(0));
    firnc_pol_rule(graph, level(0));
}

static void rank_of_nine(firnc_graph *graph) {
    firnc_input(graph, "deep", FIRN_FLOAT32, 9, (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, test_float32);
}

static void rank_of_zero(firnc_graph *graph) {
    firnc_parameter(graph, "scalar", 0, NULL, zero, false);
}

static void extent_of_zero(firnc_graph *graph) {
    firnc_parameter(graph, "empty", 2, (uint32_t[]){1, 0}, zero, false);
}

static void large_window(firnc_graph *graph) {
    firnc_max_pool(graph, 0, (uint32_t[]){1, 65536}, (firnc_windows){0});
}

static void rows_of_no_table(firnc_graph *graph) {
    firnc_train_rows(graph, firnc_relu(graph, 0), 0);
}

static void order_of_rank_nine(firnc_graph *graph) {
    firnc_transpose(graph, 0, 9, (uint8_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
}

static void order_of_more(firnc_graph *graph) {
    firnc_transpose(graph, 0, 2, (uint8_t[]){0, 2});
}

static void nothing_joined(firnc_graph *graph) {
    firnc_concat(graph, NULL, 0, 0);
}

static void normalised(firnc_graph *graph, firnc_value variance, float momentum) {
    const firnc_value gain = firnc_parameter(graph, "gain", 1, (uint32_t[]){3}, zero, false);
    const firnc_value mean = firnc_buffer(graph, "mean", 1, (uint32_t[]){3}, 0);
    const firnc_value own = firnc_buffer(graph, "variance", 1, (uint32_t[]){3}, 1);
    firnc_batch_norm(graph, 0, gain, gain, mean, variance == FIRNC_NONE ? own : variance, 1e-5F, momentum);
}

static void variance_of_the_data(firnc_graph *graph) {
    normalised(graph, 0, 0.5F);
}

static void momentum_above_one(firnc_graph *graph) {
    normalised(graph, FIRNC_NONE, 1.0000001F);
}

static void nothing_selected(firnc_graph *graph) {
    firnc_select(graph, 0, FIRNC_NONE, FIRNC_NONE);
}

static void rate_below_zero(firnc_graph *graph) {
    firnc_dropout(graph, 0, -0x1p-149F);
}

static void attention_rate_of_one(firnc_graph *graph) {
    firnc_attention(graph, 0, (firnc_attention_options){.heads = 1, .kv_heads = 1, .dropout_rate = 1});
}

static void named_input(firnc_graph *graph) {
    firnc_name_value(graph, "name", 0);
}

static void enormous_constant(firnc_graph *graph) {
    const float one = 1;
    firnc_constant(graph, "table", FIRN_FLOAT32, 3, (uint32_t[]){UINT32_MAX, UINT32_MAX, 2}, &one);
}

static void label_above_all(firnc_graph *graph) {
    firnc_row_weights(graph, FIRNC_NONE, INT64_C(1) << 31);
}

static void unscaled_scale(firnc_graph *graph) {
    firnc_input(graph, "pixels", FIRN_FLOAT32, 1, (uint32_t[]){1},
                (firnc_input_options){.element = FIRN_UINT8, .scale = 0.5F});
}

/* Each case aborts after a message with these words. */
TEST(misuse_aborts) {
    static const struct {
        void (*wrong)(firnc_graph *graph);
        const char *words;
    } cases[] = {{end_without_begin, "firnc_layer_end does not match"},
                 {ends_crossed, "firnc_layer_end does not match"},
                 {value_of_nowhere, "an operand is not a value"},
                 {two_losses, "a graph has one loss"},
                 {loss_without_producer, "the loss is an input or a parameter"},
                 {level_three, "a POL is not 0, 1, 2"},
                 {rate_of_one, "a dropout rate is not in"},
                 {backward_op, "records forward ops only"},
                 {op_out_of_the_table, "records forward ops only"},
                 {dropout_with_its_own_rng_id, "call firnc_dropout"},
                 {attention_with_its_own_rng_id, "call firnc_attention"},
                 {label_below_none, "an ignore_index is neither"},
                 {long_model, "is not of 1 to 160"},
                 {nameless_model, "is not of 1 to 160"},
                 {long_input, "is not of 1 to 160"},
                 {long_parameter, "is not of 1 to 160"},
                 {empty_parameter, "is not of 1 to 160"},
                 {parameter_that_is_no_ascii, "is not of 1 to 160"},
                 {empty_layer, "is not of 1 to 160"},
                 {long_path, "is not of 1 to 160"},
                 {evaluate_after_an_op, "firnc_graph_evaluate comes after an op"},
                 {too_few_operands, "op add has 1 operands"},
                 {too_many_operands, "op relu has 2 operands"},
                 {value_behind_the_last, "an operand is not a value"},
                 {pol_end_in_a_layer, "firnc_pol_end does not match"},
                 {level_below_unset, "a POL is not 0, 1, 2"},
                 {backward_level_three, "a POL is not 0, 1, 2"},
                 {two_annotations, "two annotations for one op"},
                 {rank_of_nine, "a rank is not 1 to 8"},
                 {rank_of_zero, "a rank is not 1 to 8"},
                 {extent_of_zero, "an extent is 0"},
                 {large_window, "of windows is above 65535"},
                 {rows_of_no_table, "only rows that an embedding or a gather has selected"},
                 {order_of_rank_nine, "a rank is not 1 to 8"},
                 {order_of_more, "an order of dimensions names one that is not there"},
                 {nothing_joined, "concat joins no tensors"},
                 {variance_of_the_data, "the mean and the variance of a batch norm are buffers"},
                 {momentum_above_one, "the momentum of a batch norm is not from 0 to 1"},
                 {nothing_selected, "a select has nothing to select"},
                 {rate_below_zero, "a dropout rate is not in"},
                 {attention_rate_of_one, "a dropout rate is not in"},
                 {named_input, "a value with a name is an input or a parameter"},
                 {enormous_constant, "a constant has more bytes than a plan can hold"},
                 {label_above_all, "an ignore_index is neither"},
                 {unscaled_scale, "input pixels has a scale or a shift and is not scaled"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status;
        char said[512];
        support_capture_begin(STDERR_FILENO);
        pid_t child = fork();
        if (child == 0) {
            firnc_value x;
            cases[i].wrong(graph_with_input(&x));
            _exit(0);
        }
        const pid_t ended = waitpid(child, &status, 0);
        support_capture_end(said, sizeof said);
        assert_true(child > 0 && ended == child);
        if (!WIFSIGNALED(status) || strstr(said, cases[i].words) == NULL)
            fail_msg("expected an abort with \"%s\", not %s", cases[i].words, said);
    }
}

/* What is just inside the limits that misuse_aborts goes beyond. */
TEST(the_last_good_arguments_are_accepted) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    firnc_parameter(graph, "deep", 8, (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1}, zero, false);
    firnc_row_weights(graph, FIRNC_NONE, -1);
    firnc_row_weights(graph, FIRNC_NONE, INT32_MAX);
    firnc_max_pool(graph, x, (uint32_t[]){1, 65535}, (firnc_windows){0});
    firnc_dropout(graph, x, 0x1.fffffep-1F);
    firnc_pol_next(graph, (firnc_pol){.level = FIRNC_UNSET, .bwd_level = 2});
    normalised(graph, FIRNC_NONE, 1);
    assert_int_equal(graph->node_count, 3);
}

/* The longest names still leave room for what the passes add to them. */
TEST(the_longest_names_are_accepted) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    const char *longest = too_long() + 1;
    firnc_parameter(graph, longest, 1, (uint32_t[]){1}, zero, false);
    firnc_layer_begin(graph, longest);
    firnc_relu(graph, x);
    firnc_layer_end(graph);
    assert_string_equal(last_node(graph)->name, longest);
}

/* --- architectures ------------------------------------------------------------------------------------------------ */

static const firnc_graph *built(const test_recipe *recipe) {
    firnc_compilation compilation = test_compilation_through(recipe, firnc_infer_shapes);
    return compilation.graph;
}

/* Asserts that the graph has exactly these parameters. */
static void expect_parameters(const firnc_graph *graph, const char *const *names, uint32_t count) {
    uint32_t found = 0;
    for (firnc_value i = 0; i < graph->value_count; i++)
        found += graph->values[i].role == FIRNC_ROLE_PARAMETER;
    for (uint32_t i = 0; i < count; i++)
        if (find_value(graph, names[i]) == NULL)
            fail_msg("there is no parameter %s", names[i]);
    assert_int_equal(found, count);
}

TEST(gpt2_has_the_names_of_hugging_face) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.num_hidden_layers = 1;
    static const char *const names[] = {"transformer.wte.weight",
                                        "transformer.wpe.weight",
                                        "transformer.h.0.ln_1.weight",
                                        "transformer.h.0.ln_1.bias",
                                        "transformer.h.0.attn.c_attn.weight",
                                        "transformer.h.0.attn.c_attn.bias",
                                        "transformer.h.0.attn.c_proj.weight",
                                        "transformer.h.0.attn.c_proj.bias",
                                        "transformer.h.0.ln_2.weight",
                                        "transformer.h.0.ln_2.bias",
                                        "transformer.h.0.mlp.c_fc.weight",
                                        "transformer.h.0.mlp.c_fc.bias",
                                        "transformer.h.0.mlp.c_proj.weight",
                                        "transformer.h.0.mlp.c_proj.bias",
                                        "transformer.ln_f.weight",
                                        "transformer.ln_f.bias"};
    const firnc_graph *graph = built(&recipe);
    expect_parameters(graph, names, 16);
    const firn_shape *shape = &find_value(graph, "transformer.h.0.attn.c_attn.weight")->shape;
    assert_int_equal(shape->dims[0], 16); /* in, out */
    assert_int_equal(shape->dims[1], 48);
    assert_true(find_value(graph, "transformer.h.0.attn.c_attn.weight")->decay);
    assert_false(find_value(graph, "transformer.h.0.attn.c_attn.bias")->decay);
    assert_false(find_value(graph, "transformer.ln_f.weight")->decay);
    assert_float_equal(find_value(graph, "transformer.ln_f.weight")->init.a, 1, 0);
    assert_float_equal(find_value(graph, "transformer.h.0.mlp.c_fc.weight")->init.b, 0.25F, 0);
    /* divided by sqrt(2 * layers) */
    assert_float_equal(find_value(graph, "transformer.h.0.mlp.c_proj.weight")->init.b, 0.25F / 1.41421356F, 1e-7F);
    assert_float_equal(find_value(graph, "transformer.h.0.attn.c_proj.weight")->init.b, 0.25F / 1.41421356F, 1e-7F);
}

TEST(gpt2_leaves_out_what_the_recipe_leaves_out) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.num_hidden_layers = 1;
    recipe.gpt2.share_embedding_weights = false;
    recipe.gpt2.use_bias_in_output = true;
    recipe.gpt2.use_projection_bias_in_attention = false;
    recipe.gpt2.use_ffn_bias_in_attention = false;
    recipe.gpt2.use_ffn_bias = false;
    static const char *const names[] = {"lm_head.weight",
                                        "lm_head.bias",
                                        "transformer.wte.weight",
                                        "transformer.wpe.weight",
                                        "transformer.h.0.ln_1.weight",
                                        "transformer.h.0.ln_1.bias",
                                        "transformer.h.0.attn.c_attn.weight",
                                        "transformer.h.0.attn.c_proj.weight",
                                        "transformer.h.0.ln_2.weight",
                                        "transformer.h.0.ln_2.bias",
                                        "transformer.h.0.mlp.c_fc.weight",
                                        "transformer.h.0.mlp.c_proj.weight",
                                        "transformer.ln_f.weight",
                                        "transformer.ln_f.bias"};
    expect_parameters(built(&recipe), names, 14);
}

/* Rotary positions have no table. The rotation comes between the projection and attention; values are not rotated. */
TEST(gpt2_with_rotary_positions) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.num_hidden_layers = 1;
    test_make_rotary(&recipe);
    const firnc_graph *graph = built(&recipe);
    assert_null(find_value(graph, "transformer.wpe.weight"));
    assert_non_null(find_value(graph, "transformer.wte.weight"));
    const firnc_node *rotary = test_find_node(graph, FIRN_OP_rotary_embedding, "transformer.h.0.attn.rotary");
    const firnc_node *projection = test_find_node(graph, FIRN_OP_linear, "transformer.h.0.attn.c_attn");
    const firnc_node *attention = test_find_node(graph, FIRN_OP_attention, "transformer.h.0.attn");
    assert_int_equal(rotary->inputs[0], projection->outputs[0]);
    assert_int_equal(attention->inputs[0], rotary->outputs[0]);
    assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_HEADS], 6);
    assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_ROTATED], 4);
    assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_ROTARY_DIM], 6);
    assert_int_equal(rotary->integers[FIRN_ROTARY_EMBEDDING_INTERLEAVED], 1);
    assert_float_equal(rotary->reals[FIRN_ROTARY_EMBEDDING_BASE], 100, 0);
}

TEST(the_output_layer_goes_backward_at_level_0) {
    for (int global = 0; global <= 2; global++) {
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_BFLOAT16, global);
        const firnc_node *node = test_find_node(built(&recipe), FIRN_OP_linear, "lm_head");
        assert_int_equal(node->annotated, global == 1);
        if (global == 1) {
            assert_int_equal(node->pol.level, FIRNC_UNSET);
            assert_int_equal(node->pol.bwd_level, 0);
            assert_int_equal(node->pol_origin, FIRNC_ORIGIN_RULE);
        }
    }
}

TEST(half_softmax_is_for_mixed_precision) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.attention_softmax_fp32 = false;
    assert_false(test_find_node(built(&recipe), FIRN_OP_attention, "transformer.h.1.attn")->half_softmax);
    test_make_mixed(&recipe, FIRN_FLOAT16, 1);
    assert_true(test_find_node(built(&recipe), FIRN_OP_attention, "transformer.h.1.attn")->half_softmax);
}

TEST(an_mlp_has_the_names_of_pytorch) {
    test_recipe recipe = test_mlp_recipe();
    static const char *const names[] = {"layers.0.weight", "layers.0.bias",   "layers.1.weight",
                                        "layers.1.bias",   "layers.2.weight", "layers.2.bias"};
    const firnc_graph *graph = built(&recipe);
    expect_parameters(graph, names, 6);
    const firnc_value_info *weight = find_value(graph, "layers.1.weight"), *bias = find_value(graph, "layers.1.bias");
    assert_int_equal(weight->shape.dims[0], 4); /* out, in */
    assert_int_equal(weight->shape.dims[1], 5);
    assert_int_equal(weight->init.rule, FIRNC_INIT_UNIFORM);
    assert_float_equal(weight->init.b, 0.4472136F, 1e-7F); /* 1/sqrt(5) */
    assert_float_equal(weight->init.a, -0.4472136F, 1e-7F);
    assert_float_equal(bias->init.b, 0.4472136F, 1e-7F);
    assert_true(weight->rng_id != bias->rng_id);
    assert_true(graph->logits != FIRNC_NONE);
    recipe.mlp.losses.kind = FIRNC_LOSS_MEAN_SQUARED_ERROR;
    recipe.elements.label = FIRN_FLOAT32;
    assert_non_null(find_value(built(&recipe), "targets"));
    assert_true(built(&recipe)->logits == FIRNC_NONE);
}

/* Extents beyond the rank are not compared. */
TEST(a_shape_ends_with_the_last_extents) {
    const firn_shape whole = {.rank = 3, .dims = {2, 3, 4, 7}};
    const firn_shape ends[] = {{.rank = 0, .dims = {8}},
                               {.rank = 1, .dims = {4, 8}},
                               {.rank = 2, .dims = {3, 4, 8}},
                               {.rank = 3, .dims = {2, 3, 4, 8}}};
    const firn_shape others[] = {{.rank = 1, .dims = {3}},
                                 {.rank = 2, .dims = {2, 4}},
                                 {.rank = 3, .dims = {1, 3, 4}},
                                 {.rank = 4, .dims = {2, 3, 4, 7}}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        assert_true(firnc_ends_with(&whole, &ends[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(firnc_ends_with(&whole, &others[i]));
}

/* --- the dump ----------------------------------------------------------------------------------------------------- */

static const char *dump_of(const firnc_graph *graph) {
    static char text[1 << 14];
    support_capture_begin(STDOUT_FILENO);
    firnc_dump(graph);
    (void)support_capture_end(text, sizeof text);
    return text;
}

/* Every rule of initial values, every annotation and every kind of attribute. */
TEST(a_dump_of_a_built_graph) {
    static const firnc_init truncated = {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .a = 0.5F, .b = 2, .low = -1, .high = 3};
    static const firnc_init uniform = {.rule = FIRNC_INIT_UNIFORM, .a = -0.25F, .b = 0.25F};
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    const firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){4, 3}, gauss, true);
    const firnc_value bias = firnc_parameter(graph, "bias", 1, (uint32_t[]){4}, (firnc_init){.a = 1.5F}, false);
    const firnc_value gain = firnc_parameter(graph, "gain", 1, (uint32_t[]){4}, truncated, false);
    const firnc_value shift = firnc_parameter(graph, "shift", 1, (uint32_t[]){4}, uniform, false);
    firnc_layer_begin(graph, "fc");
    firnc_pol_begin(graph, level(2));
    const firnc_value y = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_pol_end(graph);
    firnc_pol_next(graph, (firnc_pol){.level = 1, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true});
    const firnc_value z = firnc_layer_norm(graph, y, gain, shift, 0.125F);
    firnc_pol_rule(graph, (firnc_pol){.level = 1, .bwd_level = FIRNC_UNSET, .enable_bwd = true});
    (void)firnc_linear(graph, z, weight, FIRNC_NONE, FIRNC_IN_OUT);
    firnc_layer_end(graph);
    assert_string_equal(dump_of(graph),
                        "graph toy, train: 10 values, 3 nodes\n"
                        "values\n"
                        "  %0 input float32[2,3] \"x\"\n"
                        "  %1 parameter float32[4,3] \"weight\" = normal(0, 1) rng 0 decay\n"
                        "  %2 parameter float32[4] \"bias\" = 1.5\n"
                        "  %3 parameter float32[4] \"gain\" = truncated_normal(0.5, 2, -1, 3) rng 1\n"
                        "  %4 parameter float32[4] \"shift\" = uniform(-0.25, 0.25) rng 2\n"
                        "  %5 activation float32[?] \"fc/linear\"\n"
                        "  %6 activation float32[?] \"fc/layer_norm\"\n"
                        "  %7 activation float32[?] \"fc/layer_norm.1\"\n"
                        "  %8 activation float32[?] \"fc/layer_norm.2\"\n"
                        "  %9 activation float32[?] \"fc/linear\"\n"
                        "phase micro_batch\n"
                        "  %5:float32[?] = linear(%0, %1, %2) layout=0 \"fc\" asked 2/2 by scope f32>float32\n"
                        "  %6:float32[?], %7:float32[?], %8:float32[?] = layer_norm(%5, %3, %4) affine=0 epsilon=0.125 "
                        "\"fc\" asked 1/0 by call\n"
                        "  %9:float32[?] = linear(%6, %1) layout=1 \"fc\" asked -/1 by rule f32>float32\n");
}

/* What passes add: places, lifetimes, levels, reductions, the loss and the sizes. */
TEST(a_dump_of_a_frozen_graph) {
    firnc_value x;
    firnc_graph *graph = graph_with_input(&x);
    const firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){4, 3}, gauss, false);
    const firnc_value y = firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN), z = firnc_relu(graph, y);
    graph->eval = true;
    graph->loss = z;
    graph->region_bytes[FIRNC_IN_PARAMETERS] = 48;
    graph->region_bytes[FIRNC_IN_OPTIMIZER] = 16;
    graph->region_bytes[FIRNC_IN_SESSION] = 32;
    graph->region_bytes[FIRNC_IN_ARENA] = 80;
    graph->live_bytes = 64;
    graph->values[x].region = graph->values[y].region = graph->values[z].region = FIRNC_IN_ARENA;
    graph->values[weight].region = FIRNC_IN_PARAMETERS;
    graph->values[weight].offset = 16;
    graph->values[y].offset = 32;
    graph->values[y].first = 1;
    graph->values[y].last = 2;
    graph->values[y].persistent = true;
    firnc_node *linear = &graph->nodes[0], *relu = &graph->nodes[1];
    linear->level = 2;
    linear->origin = FIRNC_ORIGIN_PATTERN;
    linear->backward_level = 1;
    linear->backward_origin = FIRNC_ORIGIN_GLOBAL;
    linear->half_softmax = true;
    linear->reductions[0] = (firn_reduction){
        .kind = FIRN_REDUCTION_CHUNKED, .accumulator = FIRN_FLOAT16, .output = FIRN_BFLOAT16, .chunk = 64};
    relu->phase = FIRNC_PHASE_EVALUATE;
    assert_string_equal(dump_of(graph), "graph toy, eval: 4 values, 2 nodes\n"
                                        "values\n"
                                        "  %0 input float32[2,3] \"x\" @arena+0 live 0..0\n"
                                        "  %1 parameter float32[4,3] \"weight\" = normal(0, 1) rng 0 @parameters+16\n"
                                        "  %2 activation float32[?] \"toy/linear\" persistent @arena+32 live 1..2\n"
                                        "  %3 activation float32[?] \"toy/relu\" @arena+0 live 0..0\n"
                                        "phase micro_batch\n"
                                        "  %2:float32[?] = linear(%0, %1) layout=0 \"toy\" asked half softmax pol 2 by "
                                        "pattern backward 1 by global chunked(float16,64)>bfloat16\n"
                                        "phase evaluate\n"
                                        "  %3:float32[?] = relu(%2) \"toy\"\n"
                                        "loss %3\n"
                                        "state 96 bytes, arena 80 bytes, live at once 64 bytes\n");
}
