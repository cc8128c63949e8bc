/* Tests automatic differentiation: gradients against finite differences of the loss that the same kernels compute, and
 * the structure that values cannot show (types, order of sums, levels). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/numerics/numerics.h"
#include "tests/unit/support_interpreter.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_recurrent.h"
#include "tests/unit/support_test.h"

#define SEED 7

static uint32_t limit_of(const test_recipe *recipe) {
    return test_classes(recipe);
}

static double loss_at(const test_machine *machine, const test_recipe *recipe) {
    test_fill_inputs(machine, limit_of(recipe), 1);
    test_machine_run(machine, FIRNC_PHASE_MICRO_BATCH, 3, 0);
    return (double)test_element(machine, machine->graph->loss, 0);
}

/* Moves a parameter by +-step along a direction whose elements are +1 and -1. Returns whether the slope of the loss
 * agrees with the gradient. */
static bool slope_agrees(const test_machine *machine, const test_recipe *recipe, firnc_value parameter) {
    const firnc_graph *graph = machine->graph;
    size_t count = test_elements(graph, parameter);
    float *elements = machine->data[parameter];
    float *before = firnc_allocate(count * sizeof *before), *direction = firnc_allocate(count * sizeof *direction);
    const float step = 0x1p-13f; /* so small that no relu input changes its sign */
    firn_rng rng = {.seed = 5, .rng_id = parameter};

    loss_at(machine, recipe);
    double expected = 0;
    for (size_t i = 0; i < count; i++) {
        before[i] = elements[i];
        direction[i] = firn_random_bits(&rng, i) % 2 == 0 ? 1.0f : -1.0f;
        expected += (double)direction[i] * (double)test_element(machine, graph->values[parameter].gradient, i);
    }
    double losses[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < count; i++)
            elements[i] = before[i] + (side == 0 ? -step : step) * direction[i];
        losses[side] = loss_at(machine, recipe);
    }
    memcpy(elements, before, count * sizeof *before);
    double slope = (losses[1] - losses[0]) / (2 * (double)step);
    double error = slope > expected ? slope - expected : expected - slope;
    double size = expected > 0 ? expected : -expected;
    if (error <= 2e-3 + 1e-2 * size)
        return true;
    print_message("%s: slope %g, gradient %g\n", graph->values[parameter].name, slope, expected);
    return false;
}

/* LoRA's second matrix begins as zeros, and then the first has no gradient. */
static void fill_adapters(const firnc_graph *graph) {
    for (uint32_t i = 0; i < graph->adapter_count; i++)
        graph->values[graph->adapters[i].second].init = (firnc_init){.rule = FIRNC_INIT_UNIFORM, .a = -0.5f, .b = 0.5f};
}

static void check_compiled(firnc_compilation *compilation, const test_recipe *recipe) {
    test_run_passes(compilation, firnc_lower);
    fill_adapters(compilation->graph);
    test_machine machine = test_machine_apart(compilation->graph, SEED);
    firnc_value *parameters;
    uint32_t count = firnc_sorted_values(compilation->graph, firnc_is_parameter, &parameters);
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++)
        assert_true(slope_agrees(&machine, recipe, parameters[i]));
}

static void check_gradients(const test_recipe *recipe) {
    firnc_compilation compilation = test_compilation(recipe);
    check_compiled(&compilation, recipe);
}

TEST(test_gpt2_gradients) {
    test_recipe recipe = test_gpt2_recipe();
    check_gradients(&recipe);
    recipe.gpt2.share_embedding_weights = false;
    recipe.gpt2.use_bias_in_output = true;
    recipe.gpt2.nonlinearity = FIRNC_GELU_NEW;
    recipe.gpt2.dropout_rate = 0.25f;
    recipe.gpt2.attention_dropout_rate = 0.25f;
    recipe.gpt2.embedding_dropout_rate = 0.25f;
    check_gradients(&recipe);
    recipe.job.data.batch_size = recipe.job.data.micro_batch_size = 1;
    check_gradients(&recipe);
}

TEST(test_lora_gradients) {
    static const firnc_job_pattern words = {.pattern = "transformer.h.*"}, all = {.pattern = "*"};
    for (int is_mlp = 0; is_mlp < 2; is_mlp++) {
        test_recipe recipe = is_mlp == 1 ? test_mlp_recipe() : test_gpt2_recipe();
        recipe.job.fine_tuning.layers = is_mlp == 1 ? &all : &words;
        recipe.job.fine_tuning.layer_count = 1;
        recipe.job.fine_tuning.rank = 3;
        recipe.job.fine_tuning.alpha = 4;
        recipe.job.fine_tuning.dropout = is_mlp == 1 ? 0.25f : 0;
        check_gradients(&recipe);
        recipe.job.fine_tuning.frozen_type = FIRN_FLOAT16; /* rounded weights, and gradients through their casts */
        recipe.job.fine_tuning.bias_only = true;
        check_gradients(&recipe);
    }
}

TEST(test_rotary_gradients) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_rotary(&recipe);
    check_gradients(&recipe);
}

TEST(test_mlp_gradients) {
    static const firnc_activation activations[] = {FIRNC_TANH,    FIRNC_RELU, FIRNC_GELU,    FIRNC_GELU_NEW,
                                                   FIRNC_SIGMOID, FIRNC_SILU, FIRNC_SOFTPLUS};
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.mlp.activation = activations[i];
        check_gradients(&recipe);
        recipe.mlp.losses.kind = FIRNC_LOSS_MEAN_SQUARED_ERROR;
        recipe.mlp.dropout_rate = 0.5f;
        recipe.elements.label = FIRN_FLOAT32;
        check_gradients(&recipe);
    }
}

/* Tests each loss with the settings that belong to it. The targets are random numbers, not probabilities, so they are
 * taken as logarithms. */
TEST(test_loss_gradients) {
    static const firnc_losses losses[] = {
        {.kind = FIRNC_LOSS_L1},
        {.kind = FIRNC_LOSS_HUBER, .huber_threshold = 0.25f},
        {.kind = FIRNC_LOSS_SMOOTH_L1, .huber_threshold = 0.25f},
        {.kind = FIRNC_LOSS_BINARY_CROSS_ENTROPY},
        {.kind = FIRNC_LOSS_NLL},
        {.kind = FIRNC_LOSS_KL_DIVERGENCE, .log_target = true, .batch_mean = true},
        {.cross_entropy = {.ignores = true, .ignore_index = 1}},
        {.cross_entropy = {.label_smoothing = 0.2f}},
        {.cross_entropy = {.batch_size = true, .loss_weight = 0.3f}, .sample_weights = true},
    };
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        recipe.mlp.losses = losses[i];
        if (losses[i].kind != FIRNC_LOSS_CROSS_ENTROPY && losses[i].kind != FIRNC_LOSS_NLL)
            recipe.elements.label = FIRN_FLOAT32;
        check_gradients(&recipe);
    }
    test_recipe words = test_gpt2_recipe();
    words.gpt2.loss = (firnc_cross_entropy_options){.ignores = true, .ignore_index = 3, .label_smoothing = 0.1f};
    words.gpt2.nonlinearity = FIRNC_SILU;
    check_gradients(&words);
}

/* A gradient that is 5 % too large must be detected. */
TEST(test_check_can_fail) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    for (uint32_t i = 0; i < compilation.graph->node_count; i++)
        if (compilation.graph->nodes[i].code == FIRN_OP_loss_seed)
            compilation.graph->nodes[i].reals[0] = 1.05f;
    test_machine machine = test_machine_apart(compilation.graph, SEED);
    assert_false(slope_agrees(&machine, &recipe, test_value(compilation.graph, "layers.2.bias")));
}

/* Two micro-batches of one sample must give the gradient of one batch of two samples. */
TEST(test_accumulation) {
    test_recipe recipe = test_gpt2_recipe();
    firnc_compilation whole = test_compilation_through(&recipe, firnc_lower);
    test_machine one = test_machine_apart(whole.graph, SEED);
    test_fill_inputs(&one, recipe.gpt2.vocab_size, 1);
    test_machine_run(&one, FIRNC_PHASE_MICRO_BATCH, 0, 0);

    test_recipe halves = recipe;
    halves.job.data.micro_batch_size = 1;
    firnc_compilation parts = test_compilation_through(&halves, firnc_lower);
    test_machine two = test_machine_apart(parts.graph, SEED);
    const char *const inputs[] = {"input_ids", "labels"};
    for (uint32_t micro = 0; micro < 2; micro++) {
        for (size_t i = 0; i < 2; i++) {
            const int32_t *ids = one.data[test_value(whole.graph, inputs[i])];
            memcpy(two.data[test_value(parts.graph, inputs[i])], ids + 8 * micro, 8 * sizeof *ids);
        }
        test_machine_run(&two, FIRNC_PHASE_MICRO_BATCH, 0, micro);
    }
    firnc_value *parameters;
    uint32_t count = firnc_sorted_values(whole.graph, firnc_is_parameter, &parameters);
    for (uint32_t i = 0; i < count; i++) {
        firnc_value other = test_value(parts.graph, whole.graph->values[parameters[i]].name);
        for (size_t j = 0; j < test_elements(whole.graph, other); j++) {
            float a = test_element(&one, whole.graph->values[parameters[i]].gradient, j);
            float b = test_element(&two, parts.graph->values[other].gradient, j);
            assert_float_equal(a, b, 1e-6);
        }
    }
}

/* A tied weight: the gradient of the output layer comes first, then the embedding adds its rows in place. */
TEST(test_tied_weight) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
    const firnc_graph *graph = compilation.graph;
    const firnc_node *rows = test_find_node(graph, FIRN_OP_embedding_backward, "transformer.wte");
    assert_int_equal(rows->input_count, 3);
    firnc_value table = test_value(graph, "transformer.wte.weight");
    assert_int_equal(rows->outputs[0], graph->values[table].gradient);
    const firnc_node *widened = &graph->nodes[graph->values[rows->inputs[2]].producer];
    assert_int_equal(widened->code, FIRN_OP_cast);
    const firnc_node *product = &graph->nodes[graph->values[widened->inputs[0]].producer];
    assert_int_equal(product->code, FIRN_OP_linear_backward_weight);
    assert_string_equal(product->name, "lm_head");
    assert_int_equal(graph->values[rows->inputs[2]].offset, graph->values[rows->outputs[0]].offset);
}

/* gradient_type: half rounds dW to the half type. The optimizer reads it in that type, without a cast. */
TEST(test_gradient_type) {
    for (int single = 0; single < 2; single++) {
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_CBFLOAT16, 1);
        if (single)
            recipe.job.precision.gradient_type = FIRN_FLOAT32;
        firnc_compilation compilation = test_compilation_through(&recipe, firnc_lower);
        const firnc_graph *graph = compilation.graph;
        uint8_t expected = single ? FIRN_FLOAT32 : FIRN_CBFLOAT16;
        for (uint32_t i = 0; i < graph->node_count; i++) {
            const firnc_node *node = &graph->nodes[i];
            if (node->code == FIRN_OP_linear_backward_weight || node->code == FIRN_OP_sum_leading ||
                node->code == FIRN_OP_layer_norm_backward_affine)
                assert_int_equal(graph->values[node->outputs[0]].shape.type, expected);
            if (node->code == FIRN_OP_linear_backward_input)
                assert_int_equal(graph->values[node->outputs[0]].shape.type, FIRN_CBFLOAT16);
            if (node->code == FIRN_OP_adamw)
                assert_int_equal(node->inputs[1], graph->values[node->inputs[0]].gradient);
            if (node->code == FIRN_OP_cast)
                assert_int_not_equal(graph->values[node->outputs[0]].role, FIRNC_ROLE_GRADIENT);
        }
        firnc_value *parameters;
        uint32_t count = firnc_sorted_values(graph, firnc_is_parameter, &parameters);
        for (uint32_t i = 0; i < count; i++) {
            const firnc_value_info *parameter = &graph->values[parameters[i]];
            const firnc_value_info *gradient = &graph->values[parameter->gradient];
            bool table = strncmp(parameter->name, "transformer.w", strlen("transformer.w")) == 0; /* wte, wpe */
            assert_int_equal(gradient->shape.type, table ? FIRN_FLOAT32 : expected);
            assert_int_equal(gradient->role, FIRNC_ROLE_GRADIENT);
            assert_string_equal(gradient->name, firnc_format("gradient.%s", parameter->name));
        }
    }
}

/* The residual stream: the gradient of the branch is added before that of the skip connection, and no gradient is
 * computed for the inputs. */
TEST(test_order_of_sums) {
    test_recipe recipe = test_mlp_recipe();
    firnc_graph *graph = firnc_graph_create("residual");
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    firnc_value w1 = firnc_parameter(graph, "w1", 2, (uint32_t[]){3, 3}, init, true);
    firnc_value w2 = firnc_parameter(graph, "w2", 2, (uint32_t[]){3, 3}, init, true);
    firnc_layer_begin(graph, "first");
    firnc_value h = firnc_linear(graph, x, w1, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_layer_begin(graph, "branch");
    firnc_value branch = firnc_linear(graph, h, w2, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_layer_begin(graph, "sum");
    firnc_loss(graph, firnc_mean_squared_error(graph, firnc_add(graph, branch, h), target));
    firnc_layer_end(graph);
    firnc_compilation compilation = test_compilation(&recipe);
    compilation.graph = graph;
    assert_true(firnc_infer_shapes(&compilation));
    assert_true(firnc_resolve_pol(&compilation));
    assert_true(firnc_differentiate(&compilation));
    const firnc_node *sum = NULL;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].backward && graph->nodes[i].code == FIRN_OP_add)
            sum = &graph->nodes[i];
    assert_non_null(sum);
    assert_int_equal(graph->nodes[graph->values[sum->inputs[0]].producer].code, FIRN_OP_linear_backward_input);
    assert_int_equal(graph->nodes[graph->values[sum->inputs[1]].producer].code, FIRN_OP_mean_squared_error_backward);
    for (uint32_t i = 0; i < graph->node_count; i++)
        assert_false(graph->nodes[i].code == FIRN_OP_linear_backward_input &&
                     strcmp(graph->nodes[i].name, "first") == 0);
}

/* A gain for each column, then a gate for each element, both of which have parameters. */
TEST(test_multiply_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("gated");
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, init, true);
    firnc_value gate = firnc_parameter(graph, "gate", 2, (uint32_t[]){3, 3}, init, true);
    firnc_value gain = firnc_parameter(graph, "gain", 1, (uint32_t[]){3}, init, true);
    firnc_value h = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value scaled = firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){h, gain}, 2, NULL, NULL);
    firnc_value gates = firnc_linear(graph, x, gate, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value gated = firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){scaled, gates}, 2, NULL, NULL);
    firnc_loss(graph, firnc_mean_squared_error(graph, gated, target));
    check_compiled(&compilation, &recipe);
}

/* --- elementwise ops ---------------------------------------------------------------------------------------------- */

static firnc_value power_of_positive(firnc_graph *graph, firnc_value a, firnc_value b) {
    return firnc_power(graph, firnc_exp(graph, a), b);
}

static firnc_value divide_by_positive(firnc_graph *graph, firnc_value a, firnc_value b) {
    return firnc_divide(graph, a, firnc_exp(graph, b));
}

static firnc_value select_by_sign(firnc_graph *graph, firnc_value a, firnc_value b) {
    return firnc_select(graph, firnc_less(graph, a, b), a, firnc_affine(graph, b, -2, 0.5f));
}

/* Only where the condition says so; a whole number has the gradient 0. */
static firnc_value some_of_both(firnc_graph *graph, firnc_value a, firnc_value b) {
    const firnc_value some = firnc_select(graph, firnc_less_or_equal(graph, a, b), FIRNC_NONE, b);
    const firnc_value others = firnc_select(graph, firnc_less_or_equal(graph, b, a), a, FIRNC_NONE);
    return firnc_subtract(graph, some, firnc_subtract(graph, firnc_floor(graph, some), others));
}

/* Each op with a result of several samples and a parameter of its own extents, which is repeated, or along which the
 * result is repeated; in either order. */
TEST(test_gradients_of_two_operands) {
    static firnc_value (*const ops[])(firnc_graph *, firnc_value, firnc_value) = {
        firnc_add,     firnc_multiply,    firnc_subtract, divide_by_positive, firnc_minimum,
        firnc_maximum, power_of_positive, select_by_sign, some_of_both};
    static const struct {
        uint8_t rank, rank_of_result;
        uint32_t dims[3];
    } shapes[] = {{2, 2, {4, 3}}, {1, 2, {3}},       {1, 2, {1}},      {2, 2, {4, 1}},
                  {2, 2, {1, 3}}, {3, 3, {4, 1, 3}}, {3, 3, {4, 4, 1}}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++)
            for (int swapped = 0; swapped < 2; swapped++) {
                test_recipe recipe = test_mlp_recipe();
                firnc_compilation compilation = test_compilation(&recipe);
                firnc_graph *graph = compilation.graph = firnc_graph_create("two operands");
                const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.7f};
                firnc_input_options other = test_float32;
                other.stream = 1;
                firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
                firnc_value target = shapes[j].rank_of_result == 2
                                         ? x
                                         : firnc_input(graph, "target", FIRN_FLOAT32, 3, (uint32_t[]){4, 4, 3}, other);
                firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, init, true);
                firnc_value p = firnc_parameter(graph, "p", shapes[j].rank, shapes[j].dims, init, true);
                firnc_value h = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
                firnc_value y = swapped != 0 ? ops[i](graph, p, h) : ops[i](graph, h, p);
                firnc_loss(graph, firnc_mean_squared_error(graph, y, target));
                check_compiled(&compilation, &recipe);
            }
}

/* The exponent is 2, without a gradient. */
static firnc_value log_of_square(firnc_graph *graph, firnc_value x) {
    const firnc_value two = firnc_affine(graph, firnc_floor(graph, firnc_sigmoid(graph, x)), 1, 2);
    return firnc_log(graph, firnc_affine(graph, firnc_power(graph, x, two), 1, 0.5f));
}

static firnc_value root_of_magnitude(firnc_graph *graph, firnc_value x) {
    return firnc_sqrt(graph, firnc_affine(graph, firnc_abs(graph, x), 1, 0.25f));
}

static firnc_value reciprocal_of_exp(firnc_graph *graph, firnc_value x) {
    return firnc_reciprocal(graph, firnc_exp(graph, x));
}

static firnc_value rounded_and_not(firnc_graph *graph, firnc_value x) {
    const firnc_value whole = firnc_to_float32(graph, firnc_to_int32(graph, firnc_affine(graph, x, 3, 0)));
    return firnc_subtract(graph, firnc_subtract(graph, x, whole), firnc_signum(graph, x));
}

static firnc_value clipped(firnc_graph *graph, firnc_value x) {
    return firnc_clip(graph, x, -0.5f, INFINITY);
}

static firnc_value leaky(firnc_graph *graph, firnc_value x) {
    return firnc_leaky_relu(graph, x, -0.3f);
}

static firnc_value exponential_linear(firnc_graph *graph, firnc_value x) {
    return firnc_elu(graph, x, 1.3f);
}

static firnc_value op_of(firnc_graph *graph, uint16_t code, firnc_value x) {
    return firnc_op(graph, code, &x, 1, NULL, NULL);
}

static firnc_value sine(firnc_graph *graph, firnc_value x) {
    return op_of(graph, FIRN_OP_sin, x);
}

static firnc_value cosine(firnc_graph *graph, firnc_value x) {
    return op_of(graph, FIRN_OP_cos, x);
}

static firnc_value angle(firnc_graph *graph, firnc_value x) {
    return op_of(graph, FIRN_OP_atan, x);
}

static firnc_value log_of_one_and_square(firnc_graph *graph, firnc_value x) {
    return op_of(graph, FIRN_OP_log_one_plus, firnc_multiply(graph, x, x));
}

TEST(test_gradients_of_one_operand) {
    static firnc_value (*const ops[])(firnc_graph *, firnc_value) = {log_of_square,
                                                                     root_of_magnitude,
                                                                     reciprocal_of_exp,
                                                                     firnc_erf,
                                                                     rounded_and_not,
                                                                     clipped,
                                                                     exponential_linear,
                                                                     leaky,
                                                                     sine,
                                                                     cosine,
                                                                     angle,
                                                                     log_of_one_and_square};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        test_recipe recipe = test_mlp_recipe();
        firnc_compilation compilation = test_compilation(&recipe);
        firnc_graph *graph = compilation.graph = firnc_graph_create("one operand");
        firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
        firnc_value w =
            firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = 1}, true);
        firnc_value y = ops[i](graph, firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN));
        firnc_loss(graph, firnc_mean_squared_error(graph, y, x));
        check_compiled(&compilation, &recipe);
    }
}

/* Parameters that are added have the same gradient; each gets one of its own, as the optimizer needs it. */
TEST(test_parameters_with_one_gradient) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("sums of parameters");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_value sum = firnc_parameter(graph, "p0", 1, (uint32_t[]){3}, init, true);
    for (int i = 1; i < 4; i++)
        sum = firnc_add(graph, sum, firnc_parameter(graph, firnc_format("p%d", i), 1, (uint32_t[]){3}, init, true));
    firnc_loss(graph, firnc_mean_squared_error(graph, firnc_add(graph, sum, x), x));
    check_compiled(&compilation, &recipe);
    for (int i = 1; i < 4; i++)
        assert_int_not_equal(graph->values[test_value(graph, firnc_format("p%d", i))].gradient,
                             graph->values[test_value(graph, "p0")].gradient);
}

/* The same operands in half precision: every op has types that its rule and its gradient accept. */
TEST(test_elements_in_half_types) {
    for (uint8_t half = FIRN_FLOAT16; half <= FIRN_CBFLOAT16; half++) {
        test_recipe recipe = test_mlp_recipe();
        test_make_mixed(&recipe, half, 1);
        firnc_compilation compilation = test_compilation(&recipe);
        firnc_graph *graph = compilation.graph = firnc_graph_create("halves");
        const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
        firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
        firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, init, true);
        firnc_value column = firnc_parameter(graph, "column", 2, (uint32_t[]){4, 1}, init, true);
        firnc_value h = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
        firnc_value narrow = firnc_select(graph, h, firnc_elu(graph, h, 1), firnc_leaky_relu(graph, h, 0.1f));
        narrow = firnc_minimum(graph, firnc_clip(graph, narrow, -2, 2), firnc_maximum(graph, narrow, h));
        firnc_value single = firnc_divide(graph, firnc_sqrt(graph, firnc_abs(graph, narrow)), firnc_exp(graph, column));
        firnc_value y =
            firnc_power(graph, firnc_subtract(graph, firnc_erf(graph, single), column), firnc_floor(graph, x));
        firnc_loss(graph, firnc_mean_squared_error(graph, firnc_affine(graph, y, 2, 1), x));
        test_run_passes(&compilation, firnc_lower);
        assert_int_equal(graph->values[narrow].shape.type, half);
        assert_int_equal(graph->values[y].shape.type, FIRN_FLOAT32);
    }
}

/* Convolutions in groups, by channel and of one row, with both pools between: windows that overlap, are dilated, skip
 * elements of the image and exceed it on some sides. */
TEST(test_image_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("images");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    const firnc_windows dilated = {.stride = {2, 1}, .dilation = {1, 2}, .before = {1, 2}, .after = {0, 1}};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 4, (uint32_t[]){4, 7, 6, 4}, test_float32);
    firnc_value target = firnc_average_pool(graph, x, (uint32_t[]){7, 6}, (firnc_windows){0}, false);
    firnc_value by_channel = firnc_parameter(graph, "by_channel", 4, (uint32_t[]){4, 3, 2, 1}, init, true);
    firnc_value grouped = firnc_parameter(graph, "grouped", 4, (uint32_t[]){6, 2, 3, 2}, init, true);
    firnc_value bias = firnc_parameter(graph, "bias", 1, (uint32_t[]){6}, init, false);
    firnc_value line = firnc_parameter(graph, "line", 4, (uint32_t[]){4, 1, 3, 6}, init, true);
    x = firnc_conv(graph, x, by_channel, FIRNC_NONE, 4, dilated);
    x = firnc_average_pool(graph, x, (uint32_t[]){2, 2}, (firnc_windows){.after = {1, 0}}, true);
    x = firnc_conv(graph, x, grouped, bias, 2, (firnc_windows){.before = {1, 1}});
    x = firnc_max_pool(graph, x, (uint32_t[]){3, 1}, (firnc_windows){.stride = {2, 1}, .before = {1, 0}});
    x = firnc_conv(graph, x, line, FIRNC_NONE, 1, (firnc_windows){.stride = {1, 2}});
    x = firnc_average_pool(graph, x, (uint32_t[]){1, 2}, (firnc_windows){0}, false);
    firnc_loss(graph, firnc_mean_squared_error(graph, x, target));
    check_compiled(&compilation, &recipe);
}

/* Attention as it is written out, all four ways to turn the factors of a product, and sums and maxima along dimensions.
 */
TEST(test_gradients_along_dimensions) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("written_out");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.4F};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 3, (uint32_t[]){4, 3, 5}, test_float32), part[4];
    for (int i = 0; i < 4; i++) {
        const char *const names[] = {"q", "k", "v", "w"};
        part[i] = firnc_parameter(graph, names[i], 2, (uint32_t[]){5, 5}, init, true);
        part[i] = firnc_linear(graph, x, part[i], FIRNC_NONE, FIRNC_OUT_IN);
    }
    firnc_value p = firnc_softmax(graph, firnc_matmul(graph, part[0], part[1], false, true));
    firnc_value y = firnc_matmul(graph, p, part[2], false, false);
    firnc_value turned = firnc_matmul(graph, y, p, true, true);
    turned = firnc_matmul(graph, turned, part[3], false, false);
    turned = firnc_matmul(graph, part[2], firnc_matmul(graph, part[3], turned, false, false), true, false);
    firnc_value sum = firnc_reduce_sum(graph, turned, 2, false);
    sum = firnc_add(graph, sum, firnc_reduce_sum(graph, firnc_reduce_sum(graph, y, 2, true), 2, false));
    firnc_value top = firnc_reduce_sum(graph, firnc_reduce_max(graph, turned, 5, true), 5, false);
    sum = firnc_add(graph, firnc_add(graph, sum, firnc_reduce_max(graph, y, 2, false)), top);
    sum = firnc_tanh(graph, sum);
    const firnc_value target = firnc_reduce_max(graph, x, 2, false);
    firnc_loss(graph, firnc_mean_squared_error(graph, sum, target));
    check_compiled(&compilation, &recipe);
}

/* A batch norm of images, then one with given statistics. */
TEST(test_batch_norm_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("norms");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    const uint32_t width[] = {5};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 4, (uint32_t[]){4, 3, 2, 5}, test_float32);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 4, (uint32_t[]){4, 3, 2, 5}, test_float32);
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){5, 5}, init, true);
    firnc_value v = firnc_parameter(graph, "v", 2, (uint32_t[]){5, 5}, init, true);
    for (int i = 0; i < 2; i++) {
        firnc_value gain = firnc_parameter(graph, firnc_format("gain%d", i), 1, width, init, true);
        firnc_value bias = firnc_parameter(graph, firnc_format("bias%d", i), 1, width, init, true);
        firnc_value mean = firnc_buffer(graph, firnc_format("mean%d", i), 1, width, 0.25F);
        firnc_value variance = firnc_buffer(graph, firnc_format("variance%d", i), 1, width, 2);
        x = firnc_linear(graph, x, i == 0 ? w : v, FIRNC_NONE, FIRNC_OUT_IN);
        firnc_layer_begin(graph, firnc_format("norm%d", i));
        x = i == 0 ? firnc_batch_norm(graph, x, gain, bias, mean, variance, 1e-2F, 0.1F)
                   : firnc_batch_norm_fixed(graph, firnc_tanh(graph, x), gain, bias, mean, variance, 1e-2F);
        firnc_layer_end(graph);
    }
    firnc_loss(graph, firnc_mean_squared_error(graph, x, target));
    check_compiled(&compilation, &recipe);
}

/* Ops that move elements, one behind the other, and all of one parameter's gradient through each of them. */
TEST(test_layout_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("layout");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    const firnc_input_options names = {.stream = 1, .element = FIRN_INT32, .limit = 3};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 15}, test_float32);
    firnc_value ids = firnc_input(graph, "ids", FIRN_INT32, 2, (uint32_t[]){4, 3}, names);
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){4, 15}, init, true);
    firnc_value row = firnc_parameter(graph, "row", 1, (uint32_t[]){3}, init, true);
    firnc_value updates = firnc_parameter(graph, "updates", 2, (uint32_t[]){12, 3}, init, true);
    firnc_value h = firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){x, w}, 2, NULL, NULL);
    h = firnc_reshape(graph, h, 3, (uint32_t[]){4, 5, 3});
    h = firnc_transpose(graph, h, 3, (uint8_t[]){1, 0, 2});                                /* [5,4,3] */
    h = firnc_concat(graph, (firnc_value[]){firnc_slice(graph, h, 0, 4, -2, 2), h}, 2, 0); /* [7,4,3] */
    h = firnc_pad(graph, h, 1, 1, 0, 0.5F);                                                /* [7,5,3] */
    h = firnc_gather(graph, h, ids, 1);                                                    /* [7,4,3,3] */
    h = firnc_add(graph, h,
                  firnc_expand(graph, firnc_reshape(graph, row, 2, (uint32_t[]){3, 1}), 4, (uint32_t[]){7, 4, 3, 3}));
    h = firnc_cumulative_sum(graph, h, 2, true, false);
    h = firnc_reshape(graph, h, 2, (uint32_t[]){4, 63});
    h = firnc_gather_elements(graph, h, ids, 1); /* [4,3] */
    firnc_value rows = firnc_reshape(graph, ids, 2, (uint32_t[]){12, 1});
    for (int add = 0; add < 2; add++)
        h = firnc_scatter_nd(graph, h, rows, firnc_slice(graph, updates, 0, 0, 1, 12), add != 0);
    firnc_loss(graph, firnc_mean_squared_error(graph, h, firnc_slice(graph, x, 1, 3, 4, 3)));
    check_compiled(&compilation, &recipe);
}

/* Every recurrent op: gradients reach them through outputs and last states, together and alone. */
TEST(test_recurrent_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    compilation.graph = firnc_graph_create("recurrent");
    const recurrent_sizes sizes = {.steps = 4, .samples = 3, .width = 6, .units = 5, .outputs = 2};
    recurrent_build(compilation.graph, &sizes, test_float32,
                    (firnc_input_options){.stream = 1, .element = FIRN_FLOAT32});
    check_compiled(&compilation, &recipe);
}

/* Queries of one sequence and keys of another, with a mask. */
TEST(test_cross_attention_gradients) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("crossing");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.6F};
    const float hidden[] = {0, -1e30F, 0.5F, 0, 0, 0, -1e30F, 0, 0, 0, 0.25F, 0};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 3, (uint32_t[]){4, 3, 5}, test_float32);
    firnc_input_options second = test_float32, third = test_float32;
    second.stream = 1;
    third.stream = 2;
    firnc_value other = firnc_input(graph, "other", FIRN_FLOAT32, 3, (uint32_t[]){4, 4, 5}, second);
    firnc_value mask = firnc_constant(graph, "mask", FIRN_FLOAT32, 4, (uint32_t[]){1, 1, 3, 4}, hidden);
    firnc_value parts[3];
    for (int i = 0; i < 3; i++) {
        const char *const names[] = {"q", "k", "v"};
        const firnc_value w = firnc_parameter(graph, names[i], 2, (uint32_t[]){i == 0 ? 4 : 2, 5}, init, true);
        parts[i] = firnc_linear(graph, i == 0 ? x : other, w, FIRNC_NONE, FIRNC_OUT_IN);
    }
    const firnc_attention_options options = {.heads = 2, .kv_heads = 1, .scale = 0.7F};
    firnc_value y = firnc_cross_attention(graph, parts[0], parts[1], parts[2], mask, options);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 3, (uint32_t[]){4, 3, 4}, third);
    firnc_loss(graph, firnc_mean_squared_error(graph, y, target));
    check_compiled(&compilation, &recipe);
}

/* An op with as many inputs as there may be, before the first parameter: it needs no gradient. */
TEST(test_many_inputs) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("joined");
    firnc_value many[FIRN_INPUTS_MAX];
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_value target = firnc_input(graph, "target", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    for (uint8_t i = 0; i < FIRN_INPUTS_MAX; i++)
        many[i] = i % 2 == 0 ? x : firnc_tanh(graph, many[i - 1]);
    firnc_value joined = firnc_op(graph, FIRN_OP_concat, many, FIRN_INPUTS_MAX, (int64_t[]){1}, NULL);
    firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.1F};
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3 * FIRN_INPUTS_MAX}, init, true);
    firnc_loss(graph,
               firnc_mean_squared_error(graph, firnc_linear(graph, joined, w, FIRNC_NONE, FIRNC_OUT_IN), target));
    check_compiled(&compilation, &recipe);
}

/* In mixed precision what is joined, or written to a tensor, gets the type of the first; integers stay integers, and
 * gradients of gathers, which are added up in float32, become those of their values. */
TEST(test_layout_types) {
    test_recipe recipe = test_mlp_recipe();
    test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("types");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 1};
    const firnc_input_options names = {.stream = 1, .element = FIRN_INT32, .limit = 3};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){4, 3}, test_float32);
    firnc_value ids = firnc_input(graph, "ids", FIRN_INT32, 2, (uint32_t[]){4, 1}, names);
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){3, 3}, init, true);
    firnc_value h = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value both = firnc_concat(graph, (firnc_value[]){h, x}, 2, 0);
    firnc_value twice = firnc_concat(graph, (firnc_value[]){ids, firnc_slice(graph, ids, 0, 3, -1, 4)}, 2, 0);
    firnc_value moved = firnc_scatter_nd(graph, both, twice, firnc_concat(graph, (firnc_value[]){x, h}, 2, 0), true);
    firnc_value taken = firnc_gather(graph, moved, twice, 0);
    firnc_value sums = firnc_cumulative_sum(graph, x, 1, false, true);
    firnc_value target =
        firnc_expand(graph, firnc_reshape(graph, sums, 4, (uint32_t[]){1, 4, 1, 3}), 4, (uint32_t[]){2, 4, 1, 3});
    target = firnc_reshape(graph, target, 3, (uint32_t[]){8, 1, 3});
    firnc_loss(graph, firnc_mean_squared_error(graph, taken, target));
    test_run_passes(&compilation, firnc_fuse);
    assert_int_equal(graph->values[both].shape.type, FIRN_BFLOAT16);
    assert_int_equal(graph->values[moved].shape.type, FIRN_BFLOAT16);
    assert_int_equal(graph->values[taken].shape.type, FIRN_BFLOAT16);
    assert_int_equal(graph->values[twice].shape.type, FIRN_INT32);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == FIRN_OP_gather_backward)
            assert_int_equal(graph->values[graph->nodes[i].outputs[0]].shape.type, FIRN_FLOAT32);
}

TEST(test_backward_levels) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_FLOAT16, 1);
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_differentiate);
    const firnc_node *head = test_find_node(compilation.graph, FIRN_OP_linear_backward_weight, "lm_head");
    assert_int_equal(head->level, 0);
    assert_int_equal(head->origin, FIRNC_ORIGIN_RULE);
    assert_int_equal(head->forward_level, 1);
    assert_true(head->backward);
    const firnc_node *other =
        test_find_node(compilation.graph, FIRN_OP_linear_backward_weight, "transformer.h.1.mlp.c_fc");
    assert_int_equal(other->level, 1);
    assert_int_equal(other->origin, FIRNC_ORIGIN_GLOBAL);
}

/* A parameter that does not affect the loss is refused. */
TEST(test_unused_parameter) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation = test_compilation_through(&recipe, firnc_autocast);
    firnc_parameter(compilation.graph, "idle", 1, (uint32_t[]){3}, (firnc_init){.a = 1}, false);
    assert_false(firnc_differentiate(&compilation));
}
