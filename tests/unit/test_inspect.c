/* Tests firnc inspect: its output must agree with what the compiler planned, and damaged plans must be refused. */
#define _XOPEN_SOURCE 700 /* mkstemp, truncate, P_tmpdir */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/commands/export.h"
#include "compiler/commands/inspect/inspect.h"
#include "compiler/emit/plan_file.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_test.h"
#include <cjson/cJSON.h>

#define OUTPUT_MOST 2000000

/* Writes an unsigned plan of a recipe to a separate file and returns its path. */
static const char *make_plan(const test_recipe *recipe, firnc_compilation *compilation, uint64_t *bytes) {
    static const uint8_t public_key[64] = {4};
    test_recipe *numbered = firnc_allocate(sizeof *numbered);
    *numbered = *recipe;
    numbered->job.plan_version = 12;
    numbered->job.security_counter = 34;
    *compilation = test_compilation(numbered);
    test_run_passes(compilation, firnc_lower);
    const firnc_bytes file = test_seal(compilation, public_key);
    char *name = firnc_allocate(sizeof P_tmpdir "/firn-inspect-XXXXXX");
    strcpy(name, P_tmpdir "/firn-inspect-XXXXXX");
    int descriptor = mkstemp(name);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, file.data, (size_t)file.count), file.count);
    close(descriptor);
    *bytes = file.count;
    return name;
}

/* Returns what inspect prints to one of the standard streams; asserts its exit code. */
static char *output_of(const char *plan, uint32_t form, int stream, int expected) {
    char *text = firnc_allocate(OUTPUT_MOST + 1);
    support_capture_begin(stream);
    const int result = firnc_inspect(plan, form);
    support_capture_end(text, OUTPUT_MOST + 1);
    assert_int_equal(result, expected);
    return text;
}

static void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in the output", part);
}

static uint64_t number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("no number is called %s", name);
    return (uint64_t)item->valuedouble;
}

static const char *string(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (text == NULL)
        fail_msg("no string is called %s", name);
    return text;
}

/* Returns the name of the tensor with the index stored in a field. */
static const char *name_of(const cJSON *tensors, const cJSON *object, const char *field) {
    return string(cJSON_GetArrayItem(tensors, (int)number(object, field)), "name");
}

/* Asserts that some op of that name has a given word (unless `field` is NULL) and attribute. Floats are compared with a
 * tolerance, since JSON may lose the last digit. */
static void check_op(const cJSON *root, const char *op_name, const char *field, const char *word, const char *attribute,
                     double value) {
    const cJSON *phase, *op;
    bool found = false;
    cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(root, "phases")) {
        cJSON_ArrayForEach(op, cJSON_GetObjectItemCaseSensitive(phase, "ops")) {
            if (strcmp(string(op, "op"), op_name) != 0)
                continue;
            if (field != NULL)
                assert_string_equal(string(op, field), word);
            const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(op, "attributes");
            const cJSON *item = cJSON_GetObjectItemCaseSensitive(attributes, attribute);
            assert_true(cJSON_IsNumber(item));
            found = found || fabs(item->valuedouble - value) <= 1e-6 * value;
        }
    }
    if (!found)
        fail_msg("no %s has %s %g", op_name, attribute, value);
}

TEST(test_json_mlp) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.data.micro_batch_size = 2;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
    assert_non_null(root);
    assert_string_equal(string(root, "mode"), "train");
    assert_string_equal(string(root, "signature"), "unsigned");
    assert_int_equal(number(root, "plan_version"), 12);
    assert_int_equal(number(root, "security_counter"), 34);
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
    assert_int_equal(number(totals, "plan_bytes"), bytes);
    assert_int_equal(number(totals, "ops"), compilation.graph->node_count);
    assert_int_equal(number(totals, "parameters"), 5 * 6 + 5 + 4 * 5 + 4 + 3 * 4 + 3);
    assert_int_equal(number(totals, "frozen_weights"), 0);
    assert_int_equal(number(totals, "state_bytes"), firnc_state_bytes(compilation.graph));
    assert_int_equal(number(totals, "plan_arena_bytes"), compilation.graph->region_bytes[FIRNC_IN_ARENA]);
    assert_int_equal(number(totals, "live_bytes"), compilation.graph->live_bytes);
    /* four records: forward and dW of three layers, dx of two */
    assert_int_equal(number(totals, "multiply_adds"), 4 * (2 * (30 + 20 + 12) + (20 + 12)));
    /* header, directory, state and commit unit */
    uint64_t checkpoint = number(totals, "checkpoint_bytes");
    assert_true(checkpoint > 512 + firnc_state_bytes(compilation.graph) + 16);
    assert_int_equal(checkpoint % 16, 0);
    const cJSON *phases = cJSON_GetObjectItemCaseSensitive(root, "phases");
    assert_int_equal(cJSON_GetArraySize(phases), 3);
    const cJSON *op, *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(phases, 0), "ops");
    uint32_t products = 0;
    cJSON_ArrayForEach(op, ops) {
        products += strcmp(string(op, "op"), "linear") == 0 && strcmp(string(op, "layer"), "layers.0") == 0;
    }
    assert_int_equal(products, 1);
    cJSON_Delete(root);
    unlink(plan);
}

/* inspect must derive from the plan the same bound as the compiler, and the cost of attention must count the pairs of
 * positions. */
TEST(test_json_gpt2) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_CBFLOAT16, 1);
    recipe.gpt2.attention_softmax_fp32 = false;
    recipe.job.precision.scaling = FIRNC_SCALING_DYNAMIC;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
    assert_non_null(root);
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    assert_string_equal(string(root, "loss_scaling"), "dynamic");
    assert_string_equal(name_of(tensors, root, "loss"), "loss");
    assert_string_equal(name_of(tensors, root, "loss_scale"), "scaler.loss_scale");
    assert_string_equal(name_of(tensors, root, "at_floor"), "at_floor");
    assert_string_equal(name_of(tensors, root, "global_step"), "counters.global_step");
    assert_string_equal(name_of(tensors, root, "finite"), "finite");
    assert_string_equal(name_of(tensors, cJSON_GetObjectItemCaseSensitive(root, "sampler"), "cursor"),
                        "counters.cursor");
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(root, "inputs");
    assert_int_equal(cJSON_GetArraySize(inputs), 2);
    assert_string_equal(name_of(tensors, cJSON_GetArrayItem(inputs, 1), "tensor"), "labels");
    assert_int_equal(number(cJSON_GetArrayItem(inputs, 1), "advance"), 1);
    assert_int_equal(number(cJSON_GetArrayItem(inputs, 1), "limit"), 11);
    assert_string_equal(string(cJSON_GetArrayItem(inputs, 1), "element"), "uint8");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(inputs, 1), "label")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(inputs, 0), "label")));
    check_op(root, "attention", "softmax", "cbfloat16", "heads", 2);
    check_op(root, "attention_backward", "softmax", "cbfloat16", "scale", 1 / sqrt(8));
    check_op(root, "layer_norm", "affine", "cbfloat16", "epsilon", (double)1e-5f);
    check_op(root, "adamw", NULL, NULL, "weight_decay", 0.125);
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
    assert_int_equal(number(totals, "live_bytes"), compilation.graph->live_bytes);
    uint64_t tokens = 2 * 8, weights = 2 * (16 * 48 + 16 * 16 + 2 * 16 * 32) + 11 * 16;
    uint64_t pairs = 2 * 2 * 2 * (8 * 9 / 2) * 8; /* samples, layers, heads, pairs of positions, head size */
    assert_int_equal(number(totals, "multiply_adds"), 3 * tokens * weights + (2 + 5) * pairs);
    cJSON_Delete(root);
    unlink(plan);
}

TEST(test_json_eval) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.mode = FIRNC_EVAL;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
    assert_non_null(root);
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    const cJSON *metric = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "metrics"), 0);
    assert_string_equal(string(metric, "kind"), "mean_loss");
    assert_string_equal(name_of(tensors, metric, "sum"), "metric.sum");
    assert_string_equal(name_of(tensors, metric, "count"), "metric.count");
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "finite"));
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "loss_scaling"));
    assert_null(cJSON_GetObjectItemCaseSensitive(root, "loss_scale"));
    cJSON_Delete(root);
    unlink(plan);
}

/* The POL decisions for the rotary embedding, forward and backward. */
TEST(test_rotation) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_rotary(&recipe);
    test_make_mixed(&recipe, FIRN_FLOAT16, 1);
    firnc_pol_pattern pattern = {.pattern = "*.rotary"};
    pattern.pol = (firnc_pol){.level = 1, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true};
    recipe.job.precision.patterns = &pattern;
    recipe.job.precision.pattern_count = 1;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
    assert_non_null(root);
    check_op(root, "rotary_embedding", "rotation", "float16", "rotary_dim", 6);
    check_op(root, "rotary_embedding_backward", "rotation", "float32", "base", 100);
    cJSON_Delete(root);
    const char *text = output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0);
    assert_contains(text,
                    "transformer.h.0.attn.rotary  POL 1 (pattern) -> rotation in float16: 6 elements of each of 4 "
                    "heads (of 6), interleaved, base 100\n");
    assert_contains(text, "transformer.h.0.attn.rotary  POL 0 (pattern) -> rotation in float32: 6 elements");
    unlink(plan);
}

/* Each target with an engine: its name, its kind with the length of a block, and the counts of kinds. */
TEST(test_engines) {
    static const struct {
        const char *target, *kind;
        unsigned terms;
    } cases[] = {{"amx-bf16", "even_odd_blocks", 32}, {"avx512-bf16", "pairs", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_BFLOAT16, 0);
        recipe.job.target = cases[i].target;
        firnc_compilation compilation;
        uint64_t bytes;
        const char *plan = make_plan(&recipe, &compilation, &bytes);
        const char *text = output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0);
        assert_contains(text, firnc_format("for target %s, POL lowering native\n", cases[i].target));
        assert_contains(
            text, firnc_format("POL 0 (global) -> %s %u in float32, to bfloat16, ", cases[i].kind, cases[i].terms));
        assert_contains(text, "POL 0 (global) -> f32 to float32; f32 to bfloat16; softmax in float32"); /* attention */
        assert_contains(text, firnc_format("  reductions         10 f32, 27 %s\n", cases[i].kind));
        cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
        const cJSON *counts = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "totals"), "reductions");
        assert_int_equal(cJSON_GetArraySize(counts), 2);
        assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(counts, cases[i].kind)), 27);
        cJSON_Delete(root);
        unlink(plan);
    }
}

/* Of weights that products round as they read them, the elements of all products count, and only with --weight-copies
 * never: this model is small. */
TEST(test_rounded_weights) {
    static const firnc_weight_copies copies[] = {FIRNC_COPIES_AUTO, FIRNC_COPIES_ALWAYS, FIRNC_COPIES_NEVER};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        test_recipe recipe = test_gpt2_recipe();
        test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
        recipe.job.weight_copies = copies[i];
        firnc_compilation compilation;
        uint64_t bytes;
        const char *plan = make_plan(&recipe, &compilation, &bytes);
        cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
        const uint64_t weights = 2 * (16 * 48 + 16 * 16 + 2 * 16 * 32) + 11 * 16;
        const uint64_t rounded = copies[i] == FIRNC_COPIES_NEVER ? weights : 0;
        assert_int_equal(number(cJSON_GetObjectItemCaseSensitive(root, "totals"), "rounded_weights"), rounded);
        const char *text = output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0);
        if (rounded == 0)
            assert_null(strstr(text, "rounded weights"));
        else
            assert_contains(text,
                            "\n  rounded weights    4,272 elements, which products read as float32: no half copy of "
                            "them\n");
        cJSON_Delete(root);
        unlink(plan);
    }
}

TEST(test_table) {
    test_recipe recipe = test_gpt2_recipe();
    test_make_mixed(&recipe, FIRN_BFLOAT16, 1);
    recipe.job.precision.emulate = true;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    const char *text = output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0);
    assert_contains(text, "unsigned: nothing runs this plan");
    assert_contains(text, "POL 1 (global) -> chunked 64 in bfloat16, to bfloat16");
    assert_contains(text, "POL 0 (rule) -> f32 to bfloat16");
    assert_contains(text, "softmax in float32");
    assert_contains(text, "affine in bfloat16");
    assert_contains(text, " of op adamw\n");
    assert_null(strstr(text, " of op attention\n")); /* which the update phase has not */
    assert_contains(text, "  reductions         12 f32, 25 chunked\n");
    assert_contains(text, "loss scaling         none\n");
    unlink(plan);
    recipe.job.precision.scaling = FIRNC_SCALING_DYNAMIC;
    recipe.job.precision.min_loss_scale = 0.5F;
    recipe.job.precision.max_loss_scale = 65536;
    recipe.job.precision.steps_per_increase = 7;
    recipe.job.precision.overflow_tolerance = 0.1F;
    plan = make_plan(&recipe, &compilation, &bytes);
    text = output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0);
    assert_contains(
        text, "loss scaling         dynamic, first 1, from 0.5 to 65536, doubled after more than 7 steps, overflow "
              "tolerance 0.1\n");
    recipe.job.mode = FIRNC_EVAL;
    recipe.job.steps = 0;
    const char *eval = make_plan(&recipe, &compilation, &bytes);
    assert_contains(output_of(eval, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0), "every whole batch of the data");
    unlink(eval);
    const char *totals = strstr(text, "\ntotals\n");
    assert_non_null(totals);
    static const char *const words[] = {"flash", "checkpoint", "state", "arena", "workspace", "verification pool"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_contains(totals, words[i]);
    unlink(plan);
}

/* Every op of the plan is in both tables exactly once, and nothing else is. */
TEST(test_parts) {
    test_recipe recipe = test_mlp_recipe();
    recipe.job.mode = FIRNC_EVAL;
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes), *output = "test_inspect_parts.c";
    assert_int_equal(firnc_export_parts(&plan, 1, (firnc_export_wishes){0}, output), 0);
    firnc_bytes text;
    assert_true(firnc_file_read(output, 1 << 16, &text));
    const char *parts = (const char *)text.data;
    assert_contains(parts, "firn_op_parts[] = {\n"
                           "    {&firn_op_row_linear, firn_shape_linear},\n"
                           "    {&firn_op_row_tanh, firn_shape_declared},\n"
                           "    {&firn_op_row_cross_entropy, firn_shape_declared},\n"
                           "    {&firn_op_row_metric_mean, firn_shape_declared},\n};\n");
    assert_contains(parts,
                    "{2, firn_kernel_linear},\n    {18, firn_kernel_tanh},\n    {23, firn_kernel_cross_entropy},\n");
    assert_contains(parts, "firn_metric_mean,\n");
    assert_contains(parts, "firn_schedule_trees = {0, 0};\n");
    unlink(output);
    unlink(plan);
}

static void flip(const char *name, long at) {
    FILE *file = fopen(name, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

TEST(test_refused) {
    test_recipe recipe = test_mlp_recipe();
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(&recipe, &compilation, &bytes);
    const long places[] = {0, 8, 13, 150, 180, 250, 290, 310, 440, 520, 600, 1000, (long)bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        flip(plan, places[i]);
        assert_contains(output_of(plan, FIRNC_INSPECT_TABLE, STDERR_FILENO, 3), plan);
        flip(plan, places[i]);
    }
    assert_contains(output_of(plan, FIRNC_INSPECT_TABLE, STDOUT_FILENO, 0), "totals");
    assert_int_equal(truncate(plan, (off_t)bytes - 1), 0);
    assert_contains(output_of(plan, FIRNC_INSPECT_JSON, STDERR_FILENO, 3), plan);
    unlink(plan);
    assert_contains(output_of(plan, FIRNC_INSPECT_TABLE, STDERR_FILENO, 1), plan);
}

/* --- the summary ----------------------------------------------------------------------------------------------------
 */

static const cJSON *summary_of(const cJSON *root) {
    return cJSON_GetObjectItemCaseSensitive(root, "summary");
}

/* Returns the document of a recipe's plan. */
static cJSON *document_of(const test_recipe *recipe) {
    firnc_compilation compilation;
    uint64_t bytes;
    const char *plan = make_plan(recipe, &compilation, &bytes);
    cJSON *root = cJSON_Parse(output_of(plan, FIRNC_INSPECT_JSON, STDOUT_FILENO, 0));
    assert_non_null(root);
    unlink(plan);
    return root;
}

/* The bytes of the data: of windows each begins a stride behind the one before, and of records each has all streams. */
TEST(the_summary_counts_the_data) {
    test_recipe windows = test_gpt2_recipe();
    windows.job.steps = 10;
    cJSON *root = document_of(&windows);
    const cJSON *summary = summary_of(root);
    assert_int_equal(number(summary, "sample_bytes"), 9);
    assert_int_equal(number(summary, "batch_samples"), 2);
    assert_int_equal(number(summary, "run_samples"), 20);
    assert_int_equal(number(summary, "run_bytes"), 19 * 8 + 9);
    assert_int_equal(number(summary, "data_bytes"), 19 * 8 + 9); /* nothing is held out */
    assert_int_equal(number(summary, "least_bytes"), 8 + 9);
    cJSON_Delete(root);
    windows.job.data.micro_batch_size = 1;
    windows.job.data.held_out_per_mille = 300;
    root = document_of(&windows);
    summary = summary_of(root);
    assert_int_equal(number(summary, "batch_samples"), 2);
    assert_int_equal(number(summary, "run_bytes"), 161);
    assert_int_equal(number(summary, "data_bytes"), 230); /* of which 70 per cent are 161 */
    assert_int_equal(number(summary, "least_bytes"), 9);
    cJSON_Delete(root);
    windows.job.data.held_out_per_mille = 290;
    root = document_of(&windows);
    assert_int_equal(number(summary_of(root), "data_bytes"), 227); /* 226.8, rounded up */
    cJSON_Delete(root);
    test_recipe records = test_mlp_recipe();
    root = document_of(&records);
    summary = summary_of(root);
    const uint64_t sample = number(summary, "sample_bytes"), samples = number(summary, "run_samples");
    assert_int_equal(samples, 4 * records.job.steps);
    assert_int_equal(number(summary, "run_bytes"), samples * sample);
    assert_int_equal(number(summary, "least_bytes"), 4 * sample);
    cJSON_Delete(root);
    records.job.endless = true;
    records.job.steps = 0;
    root = document_of(&records);
    assert_int_equal(number(summary_of(root), "run_samples"), 0);
    assert_null(cJSON_GetObjectItemCaseSensitive(summary_of(root), "last_rate"));
    cJSON_Delete(root);
}

/* The lists of layers have all parameters, and an op of the plan is the peak. */
TEST(the_summary_counts_layers_and_what_is_decayed) {
    test_recipe recipe = test_gpt2_recipe();
    cJSON *root = document_of(&recipe);
    const cJSON *summary = summary_of(root), *layers, *totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
    uint64_t parameters = 0, lists = 0;
    cJSON_ArrayForEach(layers, cJSON_GetObjectItemCaseSensitive(summary, "layers")) {
        parameters += number(layers, "parameters");
        lists += number(layers, "layers") != 0;
        if (strcmp(string(layers, "name"), "transformer.h") == 0)
            assert_int_equal(number(layers, "layers"), 2);
    }
    assert_int_equal(parameters, number(totals, "parameters"));
    assert_int_equal(lists, 1);
    assert_true(number(summary, "peak_op") < number(totals, "ops"));
    const cJSON *decayed = cJSON_GetObjectItemCaseSensitive(summary, "decayed"),
                *plain = cJSON_GetObjectItemCaseSensitive(summary, "not_decayed"), *index;
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    uint64_t named = 0;
    cJSON_ArrayForEach(index, decayed) {
        const cJSON *tensor = cJSON_GetArrayItem(tensors, (int)cJSON_GetNumberValue(index));
        assert_string_equal(string(tensor, "role"), "parameter");
        named++;
    }
    assert_int_equal(named + (uint64_t)cJSON_GetArraySize(plain), 28);
    cJSON_Delete(root);
}

/* What is live at the peak has the bytes that the totals name, if each tensor counts that hands its bytes to none. */
TEST(the_peak_is_where_most_is_live) {
    test_recipe recipe = test_gpt2_recipe();
    cJSON *root = document_of(&recipe);
    const cJSON *tensor, *tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    const uint64_t peak = number(summary_of(root), "peak_op");
    uint64_t live = 0, handed_on = 0;
    cJSON_ArrayForEach(tensor, tensors) {
        const uint64_t bytes = (number(tensor, "bytes") + 15) / 16 * 16;
        if (strcmp(string(tensor, "region"), "arena") != 0 ||
            cJSON_GetObjectItemCaseSensitive(tensor, "base") != NULL || number(tensor, "first") > peak ||
            number(tensor, "last") < peak)
            continue;
        live += bytes;
        handed_on += number(tensor, "last") == peak ? bytes : 0;
    }
    const uint64_t most = number(cJSON_GetObjectItemCaseSensitive(root, "totals"), "live_bytes");
    assert_true(live >= most && live - handed_on <= most);
    cJSON_Delete(root);
}
