/* Tests the views pass (compiler/passes/views.c): which reshapes and slices become views, that they change no bit of a
 * step, and that plans with views pass the checks and run. */
#include <string.h>

#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_interpreter.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"

enum { SAMPLES = 4, PIXELS = 784, WIDE = 6, CLASSES = 10 };

static uint32_t count_nodes(const firnc_graph *graph, uint16_t code) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].code == code;
    return count;
}

static firnc_value weight_of(firnc_graph *graph, firnc_value stacked, uint32_t number) {
    firnc_value one = firnc_slice(graph, stacked, 0, number, 1, 1);
    return firnc_reshape(graph, one, 2, (uint32_t[]){WIDE, PIXELS});
}

/* Two weights in one parameter, rows that are cut and joined again, and a dimension that is split, moved and merged. */
static firnc_graph *build(bool eval) {
    const firnc_input_options pixels = {.stream = 0, .element = FIRN_UINT8, .scaled = true, .scale = 1.0F / 256};
    const firnc_input_options classes = {.stream = 1, .element = FIRN_UINT8, .limit = CLASSES};
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.05F};
    firnc_graph *graph = firnc_graph_create("views");
    if (eval)
        firnc_graph_evaluate(graph);
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){SAMPLES, PIXELS}, pixels);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){SAMPLES}, classes);
    firnc_value stacked = firnc_parameter(graph, "stacked", 3, (uint32_t[]){2, WIDE, PIXELS}, init, true);
    firnc_value head = firnc_parameter(graph, "head", 2, (uint32_t[]){CLASSES, WIDE}, init, true);
    firnc_layer_begin(graph, "body");
    x = firnc_reshape(graph, firnc_reshape(graph, x, 3, (uint32_t[]){SAMPLES, 28, 28}), 2,
                      (uint32_t[]){SAMPLES, PIXELS});
    firnc_value a = firnc_linear(graph, x, weight_of(graph, stacked, 0), FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value b = firnc_linear(graph, x, weight_of(graph, stacked, 1), FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value h = firnc_add(graph, firnc_tanh(graph, a), b); /* [4,6] */
    const firnc_value parts[] = {
        firnc_slice(graph, h, 0, 2, 1, 2), /* 48 bytes behind the beginning; in a half type 24 */
        firnc_slice(graph, h, 0, 1, 1, 1), /* 24 */
        firnc_slice(graph, h, 0, 0, 1, 1), /* 0 */
    };
    h = firnc_tanh(graph, firnc_concat(graph, parts, 3, 0));
    h = firnc_expand(graph, h, 3, (uint32_t[]){1, SAMPLES, WIDE});
    h = firnc_transpose(graph, h, 3, (uint8_t[]){1, 0, 2});
    h = firnc_transpose(graph, firnc_reshape(graph, h, 3, (uint32_t[]){SAMPLES, 2, 3}), 3, (uint8_t[]){0, 2, 1});
    h = firnc_reshape(graph, h, 2, (uint32_t[]){SAMPLES, WIDE});
    firnc_value logits = firnc_linear(graph, h, head, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return graph;
}

static firnc_compilation compilation_of(test_recipe *recipe) {
    firnc_compilation compilation = test_compilation(recipe);
    compilation.graph = build(recipe->job.mode == FIRNC_EVAL);
    return compilation;
}

static test_recipe recipe_of(firn_type half) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.data.batch_size = recipe.job.data.micro_batch_size = SAMPLES;
    if (half != FIRN_FLOAT32)
        test_make_mixed(&recipe, half, 1);
    return recipe;
}

/* --- what becomes a view ------------------------------------------------------------------------------------------ */

TEST(test_nodes_disappear) {
    test_recipe recipe = recipe_of(FIRN_FLOAT32);
    firnc_compilation compilation = compilation_of(&recipe);
    test_run_passes(&compilation, firnc_fuse);
    assert_true(count_nodes(compilation.graph, FIRN_OP_reshape) >= 10);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_slice), 8);
    assert_true(firnc_make_views(&compilation));
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_reshape), 0);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_expand), 0);
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_transpose), 2); /* forward and backward */
    /* The row 24 bytes behind the beginning, of h and of the gradient of what was joined. */
    assert_int_equal(count_nodes(compilation.graph, FIRN_OP_slice), 2);
    uint32_t views = 0;
    for (firnc_value i = 0; i < compilation.graph->value_count; i++) {
        const firnc_value_info *value = &compilation.graph->values[i];
        if (value->base == FIRNC_NONE)
            continue;
        views++;
        assert_int_equal(value->offset % 16, 0);
        assert_int_equal(compilation.graph->values[value->base].base, FIRNC_NONE);
        assert_int_equal(value->role, compilation.graph->values[value->base].role);
    }
    assert_true(views >= 16);
}

/* The runtime finds an output by a field of the plan, and an application reads it between steps: it stays. */
TEST(test_outputs_stay) {
    test_recipe recipe = recipe_of(FIRN_FLOAT32);
    firnc_compilation compilation = compilation_of(&recipe);
    firnc_graph *graph = compilation.graph;
    firnc_layer_begin(graph, "folded");
    firnc_reshape(graph, graph->logits, 3, (uint32_t[]){SAMPLES, 2, CLASSES / 2});
    firnc_layer_end(graph);
    recipe.job.output_count = 1;
    recipe.job.outputs[0].name = "folded";
    assert_true(firnc_check_built(&compilation) && firnc_infer_shapes(&compilation) &&
                firnc_resolve_pol(&compilation) && firnc_autocast(&compilation) && firnc_differentiate(&compilation) &&
                firnc_add_outputs(&compilation) && firnc_add_training(&compilation) && firnc_fuse(&compilation) &&
                firnc_make_views(&compilation));
    assert_int_equal(count_nodes(graph, FIRN_OP_reshape), 1);
    assert_int_equal(graph->values[graph->outputs[0]].base, FIRNC_NONE);
}

/* A small slice of a large tensor that lives on would keep all of it: with a view the arena would be larger. */
TEST(test_a_slice_does_not_hold_its_base) {
    test_recipe recipe = recipe_of(FIRN_FLOAT32);
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("kept");
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.1F};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){SAMPLES, 8}, test_float32);
    firnc_value w = firnc_parameter(graph, "w", 2, (uint32_t[]){8, 8}, init, true);
    firnc_value large = firnc_expand(graph, x, 3, (uint32_t[]){100, SAMPLES, 8});
    firnc_value kept = firnc_reshape(graph, firnc_slice(graph, large, 0, 3, 1, 1), 2, (uint32_t[]){SAMPLES, 8});
    firnc_value other =
        firnc_relu(graph, firnc_expand(graph, firnc_tanh(graph, kept), 3, (uint32_t[]){100, SAMPLES, 8}));
    other = firnc_reshape(graph, firnc_slice(graph, other, 0, 9, 1, 1), 2, (uint32_t[]){SAMPLES, 8});
    firnc_value y = firnc_linear(graph, kept, w, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_loss(graph, firnc_mean_squared_error(graph, y, other));
    test_run_passes(&compilation, firnc_fuse);
    assert_true(firnc_make_views(&compilation));
    assert_int_equal(count_nodes(graph, FIRN_OP_slice), 2);
    assert_int_equal(count_nodes(graph, FIRN_OP_reshape), 0);
}

/* --- the same bits ------------------------------------------------------------------------------------------------ */

static void check_bits(firn_type half) {
    test_recipe recipe = recipe_of(half);
    firnc_compilation copies = compilation_of(&recipe), views = compilation_of(&recipe);
    test_run_passes(&copies, firnc_fuse);
    assert_true(firnc_order(&copies) && firnc_plan_memory(&copies) && firnc_lower(&copies));
    test_run_passes(&views, firnc_lower);
    assert_true(views.graph->region_bytes[FIRNC_IN_ARENA] <= copies.graph->region_bytes[FIRNC_IN_ARENA]);
    const test_machine expected = test_machine_apart(copies.graph, 3), machine = test_machine_planned(views.graph, 3);
    for (uint32_t step = 0; step < 3; step++) {
        const test_machine *const both[] = {&expected, &machine};
        for (int i = 0; i < 2; i++) {
            test_fill_inputs(both[i], CLASSES, step);
            test_machine_run(both[i], FIRNC_PHASE_MICRO_BATCH, step, 0);
        }
        const float losses[] = {test_element(&expected, copies.graph->loss, 0),
                                test_element(&machine, views.graph->loss, 0)};
        assert_memory_equal(&losses[0], &losses[1], sizeof losses[0]);
        for (int i = 0; i < 2; i++) {
            test_machine_run(both[i], FIRNC_PHASE_FINALISE, step, 0);
            test_machine_run(both[i], FIRNC_PHASE_UPDATE, step, 0);
            test_machine_run(both[i], FIRNC_PHASE_BOOKKEEP, step, 0);
        }
    }
    static const char *const names[] = {"stacked", "head"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const firnc_value a = test_value(copies.graph, names[i]), b = test_value(views.graph, names[i]);
        assert_memory_equal(expected.data[a], machine.data[b], test_elements(copies.graph, a) * sizeof(float));
    }
}

TEST(test_bits_are_the_same) {
    check_bits(FIRN_FLOAT32);
    check_bits(FIRN_BFLOAT16);
    check_bits(FIRN_FLOAT16);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void check_plan(test_recipe *recipe) {
    firnc_compilation compilation = compilation_of(recipe);
    compiled_plan plan;
    compiled_run run;
    compiled_plan_freeze(&plan, "views", &compilation);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_steps(&run), FIRN_OK);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}

/* The update of a weight also waits for what reads it through a view: with early updates, and with several
 * micro-batches. */
TEST(test_plans_run) {
    for (firn_type half = FIRN_FLOAT32; half <= FIRN_CBFLOAT16; half++) {
        test_recipe recipe = recipe_of(half);
        check_plan(&recipe);
        recipe.job.late_update = true;
        check_plan(&recipe);
        recipe.job.data.batch_size = 3 * SAMPLES;
        check_plan(&recipe);
    }
    test_recipe recipe = recipe_of(FIRN_FLOAT32);
    recipe.job.mode = FIRNC_EVAL;
    check_plan(&recipe);
}

/* --- updates that come early -------------------------------------------------------------------------------------- */

static void digest_of_product(bool late, uint8_t digest[32]) {
    test_recipe recipe = recipe_of(FIRN_FLOAT32);
    firnc_compilation compilation = test_compilation(&recipe);
    firnc_graph *graph = compilation.graph = firnc_graph_create("product");
    const firnc_input_options pixels = {.stream = 0, .element = FIRN_UINT8, .scaled = true, .scale = 1.0F / 256};
    const firnc_input_options classes = {.stream = 1, .element = FIRN_UINT8, .limit = CLASSES};
    const firnc_init init = {.rule = FIRNC_INIT_NORMAL, .b = 0.5F};
    recipe.job.late_update = late;
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){SAMPLES, PIXELS}, pixels);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, (uint32_t[]){SAMPLES}, classes);
    firnc_value logits = FIRNC_NONE;
    for (int i = 0; i < 3; i++) {
        const uint32_t dims[] = {PIXELS, CLASSES};
        firnc_value a = firnc_parameter(graph, firnc_format("a.%d", i), 2, dims, init, true);
        firnc_value b = firnc_parameter(graph, firnc_format("b.%d", i), 2, dims, init, true);
        firnc_value view = firnc_reshape(graph, firnc_reshape(graph, a, 1, (uint32_t[]){PIXELS * CLASSES}), 2, dims);
        firnc_value w = firnc_op(graph, FIRN_OP_multiply, (firnc_value[]){i == 0 ? view : a, b}, 2, NULL, NULL);
        firnc_value y = firnc_linear(graph, x, w, FIRNC_NONE, FIRNC_IN_OUT);
        logits = logits == FIRNC_NONE ? y : firnc_add(graph, firnc_tanh(graph, logits), y);
    }
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    compiled_plan plan;
    compiled_run run;
    compiled_plan_freeze(&plan, "product", &compilation);
    assert_int_equal(strncmp(graph->early_update, "none", 4) == 0, late);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_steps(&run), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, digest), FIRN_OK);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}

/* The gradient of each factor is computed from the other as it was before the update, whether it is read directly or
 * through a view. */
TEST(test_a_gradient_of_another_weight) {
    uint8_t late[32], early[32];
    digest_of_product(true, late);
    digest_of_product(false, early);
    assert_memory_equal(late, early, sizeof late);
}
