/* Tests the adapt and the freeze pass on graphs that recipes cannot describe: what the matrices of LoRA are, which
 * layers cannot have them, which layers are the last, what stays trained; and how matrices are merged. That they
 * compute what they should is tested in tests/end_to_end/fine_tuning.sh. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/firnc.h"
#include "compiler/passes/passes.h"
#include "compiler/weights/merge.h"
#include "tests/unit/support_test.h"

enum { BATCH = 4, SIZE = 6, CHANNELS = 4, OUT = 3 };

static char message[2048];

static void keep_message(void *context, const char *line) {
    (void)context;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    firnc_messages_to(keep_message, NULL);
}

/* --- a graph ------------------------------------------------------------------------------------------------------ */

static const firnc_init gauss = {.rule = FIRNC_INIT_NORMAL, .b = 1};

static firnc_value parameter(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims) {
    return firnc_parameter(graph, name, rank, dims, gauss, true);
}

/* first: a convolution without groups. second: one with groups. third: a linear layer with its inputs first, in an
 * annotation. fourth: two linear layers that read one weight. fifth: one whose weight is a part of a table. */
static firnc_graph *build(bool eval) {
    firnc_graph *graph = firnc_graph_create("tuned");
    if (eval)
        firnc_graph_evaluate(graph);
    const firnc_input_options options = {.stream = 0, .element = FIRN_FLOAT32};
    firnc_value x = firnc_input(graph, "images", FIRN_FLOAT32, 4, (uint32_t[]){BATCH, SIZE, SIZE, 2}, options);
    const firnc_value kernels = parameter(graph, "first.weight", 4, (uint32_t[]){CHANNELS, 3, 2, 2});
    const firnc_value shift = parameter(graph, "first.bias", 1, (uint32_t[]){CHANNELS});
    firnc_layer_begin(graph, "first");
    x = firnc_conv(graph, x, kernels, shift, 1, (firnc_windows){.stride = {2, 1}});
    firnc_layer_end(graph);
    const firnc_value factors = parameter(graph, "second.weight", 4, (uint32_t[]){CHANNELS, 1, 1, 1});
    firnc_layer_begin(graph, "second");
    x = firnc_conv(graph, x, factors, FIRNC_NONE, CHANNELS, (firnc_windows){.stride = {1, 1}});
    firnc_layer_end(graph);
    const firnc_value matrix = parameter(graph, "a.matrix", 2, (uint32_t[]){CHANNELS, 2 * CHANNELS});
    const firnc_value bias = parameter(graph, "bias", 1, (uint32_t[]){2 * CHANNELS});
    firnc_pol_begin(graph, (firnc_pol){.level = 2, .bwd_level = 0, .enable_fwd = true, .enable_bwd = true});
    firnc_layer_begin(graph, "third");
    x = firnc_linear(graph, x, matrix, bias, FIRNC_IN_OUT);
    firnc_layer_end(graph);
    firnc_pol_end(graph);
    const firnc_value shared = parameter(graph, "shared.weight", 2, (uint32_t[]){2 * CHANNELS, 2 * CHANNELS});
    firnc_layer_begin(graph, "fourth");
    x = firnc_linear(graph, firnc_linear(graph, x, shared, FIRNC_NONE, FIRNC_OUT_IN), shared, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    const firnc_value table = parameter(graph, "table", 2, (uint32_t[]){5, 2 * CHANNELS});
    firnc_layer_begin(graph, "fifth");
    x = firnc_linear(graph, x, firnc_leading_rows(graph, table, OUT), FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_loss(graph, firnc_mean_squared_error(graph, x, firnc_tanh(graph, x)));
    firnc_regression(graph, x, x);
    return graph;
}

static const firnc_job_pattern *patterns_of(const char *pattern) {
    firnc_job_pattern *made = firnc_allocate(sizeof *made);
    *made = (firnc_job_pattern){.pattern = pattern};
    return made;
}

static firnc_job *make_job(bool eval, const char *layers) {
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_job_defaults(job, eval ? FIRNC_EVAL : FIRNC_TRAIN);
    job->name = "tuned";
    job->data.batch_size = job->data.micro_batch_size = BATCH;
    if (layers != NULL) {
        job->fine_tuning.layers = patterns_of(layers);
        job->fine_tuning.layer_count = 1;
        job->fine_tuning.rank = 2;
        job->fine_tuning.alpha = 3;
    }
    return job;
}

/* Runs the passes up to freeze. Returns whether they succeed. */
static bool run(const firnc_graph **graph, const firnc_job *job) {
    firnc_compilation compilation = {.job = job, .graph = build(job->mode == FIRNC_EVAL)};
    *graph = compilation.graph;
    assert_true(firnc_check_built(&compilation) && firnc_infer_shapes(&compilation));
    return firnc_add_adapters(&compilation) && firnc_freeze(&compilation);
}

static const firnc_value_info *find(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, name) == 0)
            return &graph->values[i];
    return NULL;
}

static const firnc_node *node_of(const firnc_graph *graph, uint16_t code, const char *layer) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].code == code && strcmp(graph->nodes[i].name, layer) == 0)
            return &graph->nodes[i];
    return NULL;
}

static void expect_dims(const firnc_value_info *value, uint8_t rank, const uint32_t *dims) {
    assert_non_null(value);
    assert_int_equal(value->shape.rank, rank);
    assert_memory_equal(value->shape.dims, dims, rank * sizeof *dims);
}

/* --- adapters ----------------------------------------------------------------------------------------------------- */

TEST(of_a_convolution) {
    const firnc_graph *graph;
    assert_true(run(&graph, make_job(false, "first")));
    const firnc_value_info *first = find(graph, "first.lora_A.weight"), *second = find(graph, "first.lora_B.weight");
    expect_dims(first, 4, (uint32_t[]){2, 3, 2, 2});
    expect_dims(second, 2, (uint32_t[]){CHANNELS, 2});
    assert_true(first->init.rule == FIRNC_INIT_UNIFORM && second->init.rule == FIRNC_INIT_CONSTANT);
    assert_true(first->init.b == (float)(1 / sqrt(12)));
    assert_true(first->init.a == -first->init.b && second->init.a == 0);
    const firnc_node *product = node_of(graph, FIRN_OP_conv, "first");
    const firnc_node *inner = node_of(graph, FIRN_OP_conv, "first.lora_A");
    const firnc_node *outer = node_of(graph, FIRN_OP_linear, "first.lora_B");
    const firnc_node *scaled = node_of(graph, FIRN_OP_multiply, "first.lora_scale");
    const firnc_node *sum = node_of(graph, FIRN_OP_add, "first");
    assert_memory_equal(inner->integers, product->integers, sizeof inner->integers);
    assert_int_equal(inner->inputs[0], product->inputs[0]);
    assert_int_equal(scaled->inputs[0], inner->outputs[0]);
    assert_int_equal(outer->inputs[0], scaled->outputs[0]);
    assert_int_equal(sum->inputs[0], product->outputs[0]);
    assert_int_equal(sum->inputs[1], outer->outputs[0]);
    assert_int_equal(sum->outputs[0], node_of(graph, FIRN_OP_conv, "second")->inputs[0]);
    assert_true(graph->values[sum->outputs[0]].producer == (uint32_t)(sum - graph->nodes));
    const float *factors = graph->values[scaled->inputs[1]].elements;
    assert_true(factors[0] == 1.5f && factors[1] == 1.5f);
    for (firnc_value i = 0; i < graph->value_count; i++)
        assert_int_equal(graph->values[i].role == FIRNC_ROLE_PARAMETER, graph->values[i].adapter);
}

/* With its inputs first, in an annotation, which the adapter shares; without a factor of its own and with dropout. */
TEST(of_a_linear_layer) {
    uint32_t rng_ids[2], matrix_ids[2];
    for (int eval = 0; eval < 2; eval++) {
        const firnc_graph *graph;
        firnc_job *job = make_job(eval == 1, "th*");
        job->fine_tuning.alpha = 2;
        job->fine_tuning.dropout = 0.5f;
        assert_true(run(&graph, job));
        expect_dims(find(graph, "a.matrix.lora_A.weight"), 2, (uint32_t[]){2, CHANNELS});
        expect_dims(find(graph, "a.matrix.lora_B.weight"), 2, (uint32_t[]){2 * CHANNELS, 2});
        assert_null(node_of(graph, FIRN_OP_multiply, "third.lora_scale"));
        const firnc_node *inner = node_of(graph, FIRN_OP_linear, "third.lora_A");
        const firnc_node *dropout = node_of(graph, FIRN_OP_dropout, "third.lora_dropout");
        assert_true(inner->annotated && inner->pol.level == 2 && inner->pol_origin == FIRNC_ORIGIN_SCOPE);
        assert_int_equal(dropout == NULL, eval);
        assert_int_equal(inner->integers[FIRN_LINEAR_LAYOUT], FIRNC_OUT_IN);
        if (dropout != NULL)
            assert_true(inner->inputs[0] == dropout->outputs[0] && dropout->reals[0] == 0.5f);
        rng_ids[eval] = graph->rng_ids;
        matrix_ids[eval] = find(graph, "a.matrix.lora_A.weight")->rng_id;
    }
    assert_int_equal(rng_ids[0], rng_ids[1]);
    assert_int_equal(matrix_ids[0], matrix_ids[1]);
}

TEST(some_layers_cannot_have_any) {
    static const char *const wrong[][2] = {{"second", "layer second: it is a convolution with groups"},
                                           {"fourth", "layer fourth: other layers read its weight too"},
                                           {"fifth", "layer fifth: its weight is computed"},
                                           {"sixth", "no layer with a product matches \"sixth\""},
                                           {"tuned", "no layer with a product matches \"tuned\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const firnc_graph *graph;
        assert_false(run(&graph, make_job(false, wrong[i][0])));
        if (strstr(message, wrong[i][1]) == NULL)
            fail_msg("%s: %s", wrong[i][0], message);
    }
}

TEST(names_have_an_end) {
    char name[FIRNC_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    firnc_graph *graph = firnc_graph_create("tuned");
    const firnc_input_options options = {.stream = 0, .element = FIRN_FLOAT32};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){BATCH, SIZE}, options);
    firnc_layer_begin(graph, "layer");
    x = firnc_linear(graph, x, parameter(graph, name, 2, (uint32_t[]){OUT, SIZE}), FIRNC_NONE, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_loss(graph, firnc_mean_squared_error(graph, x, firnc_tanh(graph, x)));
    firnc_compilation compilation = {.job = make_job(false, "layer"), .graph = graph};
    assert_true(firnc_check_built(&compilation) && firnc_infer_shapes(&compilation));
    assert_false(firnc_add_adapters(&compilation));
    assert_non_null(strstr(message, "too long"));
}

/* --- what is trained ---------------------------------------------------------------------------------------------- */

/* The trained parameters in the order in which they were made, each with a space behind it. */
static const char *trained(const firnc_graph *graph) {
    const char *names = "";
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_PARAMETER)
            names = firnc_format("%s%s ", names, graph->values[i].name);
    return names;
}

/* Without numbers every layer counts, by the names of parameters; the order is that of the ops. */
TEST(the_last_layers) {
    static const char *const wanted[] = {"table ", "shared.weight table ", "bias shared.weight table ",
                                         "a.matrix bias shared.weight table ",
                                         "second.weight a.matrix bias shared.weight table "};
    for (uint32_t k = 1; k <= sizeof wanted / sizeof wanted[0]; k++) {
        const firnc_graph *graph;
        firnc_job *job = make_job(false, NULL);
        job->fine_tuning.last_layers = k;
        assert_true(run(&graph, job));
        assert_string_equal(trained(graph), wanted[k - 1]);
    }
    const firnc_graph *graph;
    firnc_job *job = make_job(false, NULL);
    job->fine_tuning.last_layers = 7;
    assert_false(run(&graph, job));
    assert_non_null(strstr(message, "the model has 6 layers"));
}

TEST(forms_add_up_and_freezing_wins) {
    const firnc_graph *graph;
    firnc_job *job = make_job(false, "third");
    job->fine_tuning.bias_only = true;
    job->fine_tuning.trained = patterns_of("first.*");
    job->fine_tuning.trained_count = 1;
    job->frozen = patterns_of("*first.bias");
    job->frozen_count = 1;
    assert_true(run(&graph, job));
    assert_string_equal(trained(graph), "first.weight bias a.matrix.lora_A.weight a.matrix.lora_B.weight ");
    job->frozen = patterns_of("*");
    assert_false(run(&graph, job));
    assert_non_null(strstr(message, "every parameter is frozen"));
}

/* The only bias of a graph is found wherever it stands among the values. */
TEST(a_bias_without_a_layer_is_one) {
    const uint32_t extents[] = {BATCH, OUT};
    firnc_graph *graph = firnc_graph_create("shifted");
    const firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, extents, (firnc_input_options){.stream = 0});
    const firnc_value bent = firnc_tanh(graph, x);
    firnc_loss(graph, firnc_mean_squared_error(
                          graph, firnc_add(graph, bent, parameter(graph, "shift.bias", 1, &extents[1])), x));
    firnc_job *job = make_job(false, NULL);
    job->fine_tuning.bias_only = true;
    firnc_compilation compilation = {.job = job, .graph = graph};
    assert_true(firnc_check_built(&compilation) && firnc_infer_shapes(&compilation));
    if (!firnc_freeze(&compilation))
        fail_msg("%s", message);
    assert_string_equal(trained(graph), "shift.bias ");
}

/* A weight that something else than a product reads stays in float32. */
TEST(only_weights_of_products_are_narrow) {
    const firnc_graph *graph;
    firnc_job *job = make_job(false, NULL);
    job->fine_tuning.bias_only = true;
    job->fine_tuning.frozen_type = FIRN_CBFLOAT16;
    assert_true(run(&graph, job));
    assert_int_equal(find(graph, "first.weight")->shape.type, FIRN_CBFLOAT16);
    assert_int_equal(find(graph, "shared.weight")->shape.type, FIRN_CBFLOAT16);
    assert_int_equal(find(graph, "table")->shape.type, FIRN_FLOAT32);
    assert_int_equal(find(graph, "first.bias")->shape.type, FIRN_FLOAT32); /* it is trained */
}

TEST(jobs_are_checked) {
    static const char *const wrong[] = {"LoRA needs a rank", "LoRA needs a rank", "LoRA needs a rank",
                                        "pattern: is NULL",  "frozen_type",       "fine_tuning.trained: is NULL"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        firnc_job *job = make_job(false, "third");
        job->steps = 1;
        assert_true(firnc_job_check(job));
        firnc_fine_tuning *form = &job->fine_tuning;
        form->rank = i == 0 ? 0 : form->rank;
        form->alpha = i == 1 ? NAN : form->alpha;
        form->dropout = i == 2 ? 1 : 0;
        form->layers = i == 3 ? patterns_of(NULL) : form->layers;
        form->frozen_type = i == 4 ? FIRN_INT32 : FIRN_FLOAT32;
        form->trained_count = i == 5;
        assert_false(firnc_job_check(job));
        if (strstr(message, wrong[i]) == NULL)
            fail_msg("%s", message);
    }
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

TEST(merged_values) {
    const float first[] = {1, 2, 3, -1, 0.5f, 4}, second[] = {2, 1, -3, 0x1p-30f}; /* [2,3], [2,2] */
    const float product[2][3] = {{1, 4.5f, 10}, {-3, -6, -9}};                     /* but for the small one */
    for (int turned = 0; turned < 2; turned++) {
        firnc_graph *graph = firnc_graph_create("merged");
        firnc_adapter adapter = {.weight = parameter(graph, "w", 2, (uint32_t[]){2, 3}),
                                 .first = parameter(graph, "a", 2, (uint32_t[]){2, 3}),
                                 .second = parameter(graph, "b", 2, (uint32_t[]){2, 2}),
                                 .factor = 0.5f,
                                 .turned = turned == 1};
        float weight[6] = {10, 20, 30, 40, 50, 60};
        firnc_weights_merge(graph, &adapter, weight, first, second);
        for (uint32_t o = 0; o < 2; o++)
            for (uint32_t i = 0; i < 3; i++) {
                const uint32_t at = turned == 1 ? 2 * i + o : 3 * o + i;
                assert_true(weight[at] == (float)(10 * (at + 1)) + 0.5f * product[o][i]);
            }
    }
}
