/* Tests the phase count: plans that lie about the divisor of a batch are refused, a source that fails leaves the state
 * as it was, only labels and weights are read twice, weights may be computed from data, and the compiler refuses losses
 * whose divisor micro-batches cannot share. */
#include <stdlib.h>
#include <string.h>

#include "compiler/firnc.h"
#include "plan/needs.h"
#include "tests/unit/support_native_plan.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_test.h"

/* --- what the checks refuse --------------------------------------------------------------------------------------- */

/* Three rows in a micro-batch and three hidden units: the first bias has as many elements as there are rows. */
typedef enum adding { ROWS_ALONE, WEIGHTS, WEIGHTS_IN_A_TREE } adding;

static void make_plan(compiled_plan *plan, adding how) {
    static const char *const settings[] = {
        "trainer.init.model={name: mlp, input_size: 4, hidden_sizes: [3], output_size: 5, ignore_index: 1}",
        "trainer.init.precision={enabled: false}",
        "trainer.fit.train_dataloader={batch_size: 6, micro_batch_size: 3, shuffle: true}",
        "trainer.init.model.sample_weights=true", "trainer.init.loop.micro_batch_order=tree"};
    compiled_plan_make(plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, settings,
                       how == ROWS_ALONE          ? 3
                       : how == WEIGHTS_IN_A_TREE ? 5
                                                  : 4);
}

/* The first op with a code. */
static firn_native_op *op_of(const native_plan *native, uint16_t code) {
    for (uint32_t p = 0; p < native->plan->phases_count; p++)
        for (uint32_t i = 0; i < native->plan->phases[p].ops_count; i++)
            if (native->plan->phases[p].ops[i].code == code)
                return (firn_native_op *)(uintptr_t)&native->plan->phases[p].ops[i];
    fail_msg("no op %u", (unsigned)code);
    return NULL;
}

static firn_native_op *loss_of(const native_plan *native) {
    return op_of(native, FIRN_OP_cross_entropy_weighted);
}

static firn_native_op *counter_of(const native_plan *native) {
    return op_of(native, FIRN_OP_batch_weights);
}

static void set_input(const firn_native_op *op, uint32_t i, uint32_t tensor) {
    *(uint32_t *)(uintptr_t)&op->inputs[i] = tensor;
}

static firn_native_tensor *tensor_at(const native_plan *native, uint32_t index) {
    return (firn_native_tensor *)(uintptr_t)&native->plan->tensors[index];
}

static uint32_t divisor_of(const native_plan *native) {
    return loss_of(native)->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR];
}

/* The parameter with as many elements as a micro-batch has rows. */
static uint32_t bias_of(const native_plan *native) {
    uint32_t i = 0;
    while (native->plan->tensors[i].dims_count != 1 || native->plan->tensors[i].dims[0] != 3)
        i++;
    assert_int_equal(native->plan->tensors[i].role, FIRN_FB_ROLE_PARAMETER);
    return i;
}

static void nothing(native_plan *native) {
    (void)native;
}

static void losses_are_averaged(native_plan *native) {
    native->plan->losses_added = false;
}

static void seed_is_averaged(native_plan *native) {
    *(float *)(uintptr_t)&op_of(native, FIRN_OP_loss_seed)->reals[FIRN_LOSS_SEED_FACTOR] = 0.5f;
}

static void losses_and_seed_are_averaged(native_plan *native) {
    losses_are_averaged(native);
    seed_is_averaged(native);
}

static void one_micro_batch(native_plan *native) {
    native->plan->micro_batches = 1;
}

static void loss_without_divisor(native_plan *native) {
    loss_of(native)->inputs_count--;
}

static firn_native_phase *phases_of(const native_plan *native) {
    return (firn_native_phase *)(uintptr_t)native->plan->phases;
}

static void derive_in_place_of_count(native_plan *native) {
    phases_of(native)[0].kind = FIRN_FB_PHASE_KIND_DERIVE;
}

/* The op of count stands before those of a micro-batch, and there is no phase count. */
static void divisor_of_a_micro_batch(native_plan *native) {
    const firn_native_phase *count = &phases_of(native)[0];
    firn_native_phase *micro_batch = &phases_of(native)[1];
    firn_native_op *ops = native_list_memory(native, micro_batch->ops_count + 1, sizeof *ops);
    ops[0] = count->ops[0];
    memcpy(&ops[1], micro_batch->ops, micro_batch->ops_count * sizeof *ops);
    micro_batch->ops = ops;
    micro_batch->ops_count++;
    native->plan->phases = micro_batch;
    native->plan->phases_count--;
    losses_are_averaged(native);
    *(float *)(uintptr_t)&op_of(native, FIRN_OP_loss_seed)->reals[FIRN_LOSS_SEED_FACTOR] = 0.5f;
}

static void count_comes_late(native_plan *native) {
    const firn_native_phase first = phases_of(native)[0];
    phases_of(native)[0] = phases_of(native)[1];
    phases_of(native)[1] = first;
}

static void another_label_is_ignored(native_plan *native) {
    *(int64_t *)(uintptr_t)&counter_of(native)->integers[FIRN_BATCH_WEIGHTS_IGNORE_INDEX] = 2;
}

static void weights_of_another_tensor(native_plan *native) {
    set_input(counter_of(native), FIRN_BATCH_WEIGHTS_IN_WEIGHTS, bias_of(native));
}

static void weights_that_are_state(native_plan *native) {
    weights_of_another_tensor(native);
    set_input(loss_of(native), FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS, bias_of(native));
    /* the gradient, too, which would otherwise outlive its input */
    set_input(op_of(native, FIRN_OP_cross_entropy_weighted_backward), FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_WEIGHTS,
              bias_of(native));
}

static void divisor_that_is_the_loss(native_plan *native) {
    set_input(loss_of(native), FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR, native->plan->loss);
}

static void divisor_that_does_not_last(native_plan *native) {
    tensor_at(native, divisor_of(native))->last = 9;
}

static void sum_that_does_not_last(native_plan *native) {
    tensor_at(native, counter_of(native)->outputs[FIRN_BATCH_WEIGHTS_OUT_SUM])->last = 0;
}

static void divisor_that_a_micro_batch_writes(native_plan *native) {
    *(uint32_t *)(uintptr_t)&op_of(native, FIRN_OP_loss_seed)->outputs[0] = divisor_of(native);
    set_input(op_of(native, FIRN_OP_cross_entropy_weighted_backward), FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_DLOSS,
              divisor_of(native));
}

static void divisor_that_bookkeep_writes(native_plan *native) {
    firn_native_phase *bookkeep = &phases_of(native)[native->plan->phases_count - 1];
    firn_native_op *two = native_list_memory(native, 2, sizeof *two);
    two[0] = bookkeep->ops[0];
    two[1] = (firn_native_op){.code = FIRN_OP_weighted_sum, .outputs_count = 1, .inputs_count = 2, .reals_count = 2};
    uint32_t *operands = native_list_memory(native, 3, sizeof *operands);
    float *reals = native_list_memory(native, 2, sizeof *reals);
    operands[0] = operands[1] = native->plan->loss;
    operands[2] = divisor_of(native);
    two[1].inputs = operands;
    two[1].outputs = &operands[2];
    two[1].reals = reals;
    bookkeep->ops = two;
    bookkeep->ops_count = 2;
}

static const struct {
    const char *name;
    void (*change)(native_plan *native);
    int error;
} lies[] = {
    {"nothing changed", nothing, FIRN_OK},
    {"losses that are averaged", losses_are_averaged, FIRN_ERROR_PHASE},
    {"a seed that is averaged", seed_is_averaged, FIRN_ERROR_FIELD},
    {"losses and a seed that are averaged", losses_and_seed_are_averaged, FIRN_ERROR_PHASE},
    {"a batch of one micro-batch", one_micro_batch, FIRN_ERROR_FIELD},
    {"a loss without a divisor", loss_without_divisor, FIRN_ERROR_FIELD},
    {"derive in place of count", derive_in_place_of_count, FIRN_ERROR_PHASE},
    {"a divisor of a micro-batch", divisor_of_a_micro_batch, FIRN_ERROR_FIELD},
    {"count behind the micro-batches", count_comes_late, FIRN_ERROR_PHASE},
    {"another ignored label", another_label_is_ignored, FIRN_ERROR_FIELD},
    {"weights of another tensor", weights_of_another_tensor, FIRN_ERROR_FIELD},
    {"weights that are state", weights_that_are_state, FIRN_ERROR_OP_ORDER},
    {"a divisor that is the loss", divisor_that_is_the_loss, FIRN_ERROR_FIELD},
    {"a divisor that does not last", divisor_that_does_not_last, FIRN_ERROR_FIELD},
    {"a sum that does not last", sum_that_does_not_last, FIRN_ERROR_OP_ORDER},
    {"a divisor that a micro-batch writes", divisor_that_a_micro_batch_writes, FIRN_ERROR_FIELD},
    {"a divisor that bookkeep writes", divisor_that_bookkeep_writes, FIRN_ERROR_FIELD},
};

static void refuse_lies(adding how) {
    compiled_plan plan, changed;
    make_plan(&plan, how);
    const firn_header header = compiled_plan_header(&plan);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        native_plan native = native_plan_read(sealed_payload(&plan));
        lies[i].change(&native);
        assert_true(sealed_plan_make(&changed, &plan, &native, &header));
        const int error = sealed_plan_check(&changed);
        if (error != lies[i].error)
            fail_msg("%s: %s", lies[i].name, firn_error_name(error));
        compiled_plan_free(&changed);
        native_plan_free(&native);
    }
    compiled_plan_free(&plan);
}

TEST(a_lie_is_refused) {
    refuse_lies(WEIGHTS);
}

TEST(a_lie_is_refused_where_a_tree_adds_the_losses) {
    refuse_lies(WEIGHTS_IN_A_TREE);
}

/* The op that adds the losses of micro-batches adds what is not divided by the divisor. */
TEST(a_tree_of_other_losses_is_refused) {
    compiled_plan plan, changed;
    make_plan(&plan, WEIGHTS_IN_A_TREE);
    const firn_header header = compiled_plan_header(&plan);
    native_plan native = native_plan_read(sealed_payload(&plan));
    const firn_native_op *tree = op_of(&native, FIRN_OP_accumulate_tree);
    while (tree->code != FIRN_OP_accumulate_tree || tree->outputs[0] != native.plan->loss)
        tree++;
    set_input(tree, FIRN_ACCUMULATE_TREE_IN_G, divisor_of(&native));
    assert_true(sealed_plan_make(&changed, &plan, &native, &header));
    assert_int_equal(sealed_plan_check(&changed), FIRN_ERROR_FIELD);
    compiled_plan_free(&changed);
    native_plan_free(&native);
    compiled_plan_free(&plan);
}

/* Bookkeep counts on in the rows of the batch. */
TEST(what_count_has_written_stays) {
    compiled_plan plan, changed;
    make_plan(&plan, ROWS_ALONE);
    const firn_header header = compiled_plan_header(&plan);
    native_plan native = native_plan_read(sealed_payload(&plan));
    const uint32_t rows = op_of(&native, FIRN_OP_batch_rows)->outputs[FIRN_BATCH_ROWS_OUT_ROWS];
    firn_native_phase *bookkeep = &phases_of(&native)[native.plan->phases_count - 1];
    firn_native_op *two = native_list_memory(&native, 2, sizeof *two);
    uint32_t *operand = native_list_memory(&native, 1, sizeof *operand);
    *operand = rows;
    two[0] = two[1] = bookkeep->ops[0];
    assert_int_equal(two[1].code, FIRN_OP_count);
    two[1].inputs = two[1].outputs = operand;
    bookkeep->ops = two;
    bookkeep->ops_count = 2;
    assert_true(sealed_plan_make(&changed, &plan, &native, &header));
    assert_int_equal(sealed_plan_check(&changed), FIRN_ERROR_OP_ORDER);
    compiled_plan_free(&changed);
    native_plan_free(&native);
    compiled_plan_free(&plan);
}

TEST(it_needs_minor_version_2) {
    compiled_plan plan;
    make_plan(&plan, WEIGHTS);
    assert_int_equal(compiled_plan_header(&plan).needs_minor, 2);
    compiled_plan_free(&plan);
}

/* An ignored label that is no class came later. The last class may be ignored in every version. */
TEST(an_ignored_label_that_is_no_class_needs_minor_version_3) {
    static const struct {
        const char *setting;
        uint32_t needs;
    } cases[] = {{"trainer.init.model.ignore_index=-100", 3}, {"trainer.init.model.ignore_index=9", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compiled_plan plan;
        compiled_plan_make(&plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, &cases[i].setting, 1);
        assert_int_equal(compiled_plan_header(&plan).needs_minor, cases[i].needs);
        compiled_plan_free(&plan);
    }
}

/* The limit of the labels is checked against the classes, and against ignore_index where that is no class. */
TEST(labels_may_reach_the_ignored_label_and_no_further) {
    static const struct {
        int64_t ignored;
        uint32_t limit;
        int error;
    } cases[] = {{10, 11, FIRN_OK},
                 {10, 10, FIRN_OK},
                 {10, 12, FIRN_ERROR_OP_OPERANDS},
                 {9, 11, FIRN_ERROR_OP_OPERANDS},
                 {-1, 11, FIRN_ERROR_OP_OPERANDS},
                 {11, 12, FIRN_ERROR_OP_ATTRIBUTE}};
    static const char *const setting = "trainer.init.model.ignore_index=-100";
    compiled_plan plan, changed;
    compiled_plan_make(&plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, &setting, 1);
    const firn_header header = compiled_plan_header(&plan);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        native_plan native = native_plan_read(sealed_payload(&plan));
        for (uint32_t p = 0; p < native.plan->phases_count; p++)
            for (uint32_t o = 0; o < native.plan->phases[p].ops_count; o++) {
                const firn_native_op *op = &native.plan->phases[p].ops[o];
                const uint8_t position = firn_op_ignore_index(op->code);
                if (position != FIRN_NONE_OF_THEM)
                    *(int64_t *)(uintptr_t)&op->integers[position] = cases[i].ignored;
            }
        *(uint32_t *)(uintptr_t)&native.plan->inputs[1].limit = cases[i].limit;
        assert_true(sealed_plan_make(&changed, &plan, &native, &header));
        assert_int_equal(sealed_plan_check(&changed), cases[i].error);
        compiled_plan_free(&changed);
        native_plan_free(&native);
    }
    compiled_plan_free(&plan);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* A source that counts the reads of each stream, and fails at one of them. */
static struct {
    uint32_t reads[2], all, fails_at;
    const firn_source *of;
} watched;

static int read_watched(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    watched.reads[stream]++;
    if (watched.all++ == watched.fails_at)
        return FIRN_ERROR_SOURCE;
    return watched.of->read(watched.of->context, stream, first, count, elements);
}

static firn_source watch(const compiled_run *run, uint32_t fails_at) {
    watched.of = compiled_source(run);
    watched.reads[0] = watched.reads[1] = watched.all = 0;
    watched.fails_at = fails_at;
    firn_source source = *watched.of;
    source.read = read_watched;
    return source;
}

static void open_images(compiled_plan *plan, compiled_run *run, bool tree) {
    static const char *const settings[] = {"trainer.init.model.ignore_index=3", "trainer.init.model.input_size=784",
                                           "trainer.init.precision={enabled: false}",
                                           "trainer.init.loop.micro_batch_order=tree"};
    compiled_plan_make(plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, settings, tree ? 4 : 3);
    assert_int_equal(compiled_run_open(run, plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
}

/* Each read of a step fails once. The state stays as it was, and the next step is that of a run without errors. */
static void fail_each_read(bool tree) {
    compiled_plan plan;
    compiled_run run;
    firn_step_report report;
    uint8_t before[32], after[32], wanted[32], got[32];
    open_images(&plan, &run, tree);
    firn_source source = watch(&run, UINT32_MAX);
    assert_int_equal(firn_train_step(&run.firn, &source, &report), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, wanted), FIRN_OK);
    /* 8 samples: the labels twice, and the images, in pieces, once */
    assert_int_equal(watched.reads[1], 16);
    assert_int_equal(watched.reads[0] % 8, 0);
    const uint32_t reads = watched.all;
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, before), FIRN_OK);
    for (uint32_t i = 0; i < reads; i++) {
        source = watch(&run, i);
        assert_int_equal(firn_train_step(&run.firn, &source, &report), FIRN_ERROR_SOURCE);
        assert_int_equal(firn_digest(&run.firn, after), FIRN_OK);
        assert_memory_equal(before, after, sizeof before);
    }
    source = watch(&run, UINT32_MAX);
    assert_int_equal(firn_train_step(&run.firn, &source, &report), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, got), FIRN_OK);
    assert_memory_equal(got, wanted, sizeof got);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}

TEST(a_source_may_fail_in_either_pass) {
    fail_each_read(false);
    fail_each_read(true);
}

/* --- weights that a graph computes -------------------------------------------------------------------------------- */

enum { ROWS = 6, COLUMNS = 4, CLASSES = 3 };

typedef enum weighting { FROM_DATA, FROM_A_BUFFER, IN_A_SUM } weighting;

static firnc_graph *build(uint32_t samples, weighting how) {
    firnc_graph *graph = firnc_graph_create("weighted");
    const firnc_input_options numbers = {.element = FIRN_FLOAT32};
    firnc_value x = firnc_input(graph, "x", FIRN_FLOAT32, 2, (uint32_t[]){samples, COLUMNS}, numbers);
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples,
                                     (firnc_input_options){.stream = 1, .element = FIRN_UINT8, .limit = CLASSES});
    firnc_value weights = firnc_input(graph, "weights", FIRN_FLOAT32, 1, &samples,
                                      (firnc_input_options){.stream = 2, .element = FIRN_FLOAT32});
    firnc_value weight = firnc_parameter(graph, "weight", 2, (uint32_t[]){CLASSES, COLUMNS},
                                         (firnc_init){.rule = FIRNC_INIT_UNIFORM, .a = -1, .b = 1}, true);
    weights = firnc_relu(graph, weights);
    if (how == FROM_A_BUFFER)
        weights = firnc_multiply(graph, weights, firnc_buffer(graph, "scales", 1, &samples, 1));
    firnc_layer_begin(graph, "output");
    firnc_value loss = firnc_cross_entropy_weighted(graph, firnc_linear(graph, x, weight, FIRNC_NONE, FIRNC_OUT_IN),
                                                    labels, weights, (firnc_cross_entropy_options){0});
    firnc_layer_end(graph);
    if (how == IN_A_SUM)
        loss = firnc_add(graph, loss, loss);
    firnc_loss(graph, loss);
    return graph;
}

static const firnc_job *job_of(uint32_t samples) {
    static firnc_job job;
    firnc_job_defaults(&job, FIRNC_TRAIN);
    job.steps = 1;
    job.data.batch_size = ROWS;
    job.data.micro_batch_size = samples;
    firnc_job_learning_rate(&job, 0.5);
    return &job;
}

static const float xs[ROWS * COLUMNS] = {1, -1, 0.5f, 2,  0, 3, -2, 1,  0.25f, 1, 1, -3,
                                         2, 2,  -1,   -1, 4, 0, 1,  -2, 0.5f,  0, 3, 1};
static const uint8_t classes[ROWS] = {0, 2, 1, 1, 2, 0};
static const float row_weights[ROWS] = {0.5f, -1, 2, 0, 0.75f, 3};

static int read_rows(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    if (stream == 0)
        memcpy(elements, &xs[first], count * sizeof xs[0]);
    else if (stream == 1)
        memcpy(elements, &classes[first], count);
    else
        memcpy(elements, &row_weights[first], count * sizeof row_weights[0]);
    return 0;
}

/* The loss of the first step with micro-batches of so many samples. */
static float loss_with(uint32_t samples, bool tree) {
    static const firn_segment segments[] = {{ROWS * COLUMNS}, {ROWS}, {ROWS}};
    static const firn_stream streams[] = {
        {FIRN_FLOAT32, COLUMNS, &segments[0], 1}, {FIRN_UINT8, 1, &segments[1], 1}, {FIRN_FLOAT32, 1, &segments[2], 1}};
    static const firn_source source = {.streams = streams, .stream_count = 3, .read = read_rows};
    compiled_plan plan;
    compiled_run run;
    firn_step_report report;
    firnc_job job = *job_of(samples);
    job.tree = tree;
    firnc_compilation compilation = {.job = &job, .graph = build(samples, FROM_DATA)};
    compiled_plan_freeze(&plan, "weighted", &compilation);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_train_step(&run.firn, &source, &report), FIRN_OK);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
    return report.loss;
}

TEST(weights_may_be_computed_from_data) {
    const float whole = loss_with(ROWS, false);
    assert_true(whole > 0);
    for (uint32_t samples = 1; samples <= 3; samples++)
        for (int tree = 0; tree <= 1; tree++)
            assert_float_equal(loss_with(samples, tree), whole, 1e-6F * whole);
}

static char message[1024];

static void keep_message(void *context, const char *text) {
    (void)context;
    strncpy(message, text, sizeof message - 1);
}

/* Freezes a plan, and returns whether it was. */
static bool freezes(uint32_t samples, weighting how) {
    static firnc_key key;
    const firnc_freeze_options unsigned_plan = {.without_signature = true};
    firnc_frozen plan;
    memcpy(key.public_key, compiled_key, sizeof key.public_key);
    message[0] = '\0';
    firnc_messages_to(keep_message, NULL);
    const bool frozen = firnc_freeze_plan(build(samples, how), job_of(samples), &key, &unsigned_plan, &plan);
    firnc_messages_to(NULL, NULL);
    return frozen;
}

TEST(a_divisor_that_cannot_be_shared_is_refused) {
    assert_true(freezes(ROWS, FROM_A_BUFFER));
    assert_false(freezes(2, FROM_A_BUFFER));
    assert_non_null(strstr(message, "layer output: the weights of its rows depend on scales, which is no data"));
    assert_true(freezes(ROWS, IN_A_SUM));
    assert_false(freezes(2, IN_A_SUM));
    assert_non_null(strstr(message, "layer output: a loss of which rows may be absent is only a part of the loss"));
}
