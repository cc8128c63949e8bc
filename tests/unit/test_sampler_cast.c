/* Tests the cast that the sampler takes over (firn_samples_bind): it is taken where nothing can tell the difference, is
 * left to its op otherwise, and steps give the same bits with any kernel set, with and without prepared ops. */
#include <stdlib.h>
#include <string.h>

#include "runtime/instance.h"
#include "tests/unit/support_builder.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

static const char *const sets[] = {"plain", "fma",        "avx2", "avx512",  "avx512fp16",
                                   "amx",   "avx512bf16", "neon", "neonfp16"};
enum { SETS = sizeof sets / sizeof sets[0] };

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void *block_of(uint64_t bytes) {
    void *block = aligned_alloc(FIRN_BLOCK_ALIGNMENT, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(block);
    return block;
}

/* Opens a file with a kernel set, in one thread. */
static void open_with(compiled_run *run, const uint8_t *file, uint64_t bytes, const uint8_t *key, const char *kernels,
                      bool prepared) {
    firn_config config = {.plan = file, .plan_bytes = bytes, .public_key = key, .kernels = kernels};
    firn_sizes sizes;
    compiled_run_blocks(run, &config);
    assert_int_equal(firn_plan_sizes(file, bytes, &sizes), FIRN_OK);
    if (prepared) {
        config.prepared = run->prepared = block_of(sizes.prepared_bytes);
        config.prepared_bytes = sizes.prepared_bytes;
    }
    assert_int_equal(firn_workspace_bytes(&config, &config.workspace_bytes), FIRN_OK);
    if (config.workspace_bytes != 0)
        config.workspace = run->workspace = block_of(config.workspace_bytes);
    assert_int_equal(firn_open(&run->firn, &config), FIRN_OK);
    assert_int_equal(firn_initialise(&run->firn), FIRN_OK);
}

/* Whether the sampler can compute a cast of an instance, if its plan allows it. */
static bool can_take(const char *kernels, bool prepared) {
    return prepared && firn_kernel_set_choose(kernels)->find(FIRN_KERNEL_SCALE, NULL).run != NULL;
}

static bool has_taken(const compiled_run *run) {
    return firn_instance_view(&run->firn)->casts_input;
}

/* --- a plan of two casts ------------------------------------------------------------------------------------------ */

enum { SAMPLES = 9, WIDTH = 300, RECORDS = 37, STEPS = 3 };

/* Evaluations that cast their input x to a half type, and this back to the output `back`. They have an input besides.
 */
typedef struct cast_plan {
    bool taken; /* the first cast, where the sampler can */
    uint8_t half, element;
    uint32_t samples, width;
    float scale;
    bool reads_again; /* an op behind casts x, too */
    bool reads_view;  /* or a view of x */
    bool casts_view;  /* the first cast is of a view of x */
    bool keeps;       /* what x is cast to is an output */
    bool derives;     /* the cast of a weight precedes all */
    bool reuses;      /* what x is cast to lies where the other input does, which nothing reads */
} cast_plan;

#define BYTES_TO_HALF .half = FIRN_BFLOAT16, .element = FIRN_UINT8, .samples = SAMPLES, .width = WIDTH, .scale = 0.375f

static const cast_plan cast_plans[] = {
    {.taken = true, BYTES_TO_HALF},
    {.taken = true, .half = FIRN_FLOAT16, .element = FIRN_UINT8, .samples = 8, .width = 256, .scale = 1000.0f},
    {.taken = true, BYTES_TO_HALF, .derives = true},
    {BYTES_TO_HALF, .reads_again = true},
    {BYTES_TO_HALF, .reads_view = true},
    {BYTES_TO_HALF, .casts_view = true},
    {BYTES_TO_HALF, .keeps = true},
    {BYTES_TO_HALF, .derives = true, .reuses = true},
    {.half = FIRN_BFLOAT16, .element = FIRN_FLOAT32, .samples = SAMPLES, .width = WIDTH, .scale = 1.0f},
    {.half = FIRN_BFLOAT16, .element = FIRN_UINT8, .samples = 7, .width = WIDTH, .scale = 0.375f},
    {.half = FIRN_BFLOAT16, .element = FIRN_UINT8, .samples = SAMPLES, .width = 255, .scale = 0.375f},
};
enum { CAST_PLANS = sizeof cast_plans / sizeof cast_plans[0] };

static void live(builder *b, int tensor, uint32_t first, uint32_t last) {
    b->tensors[tensor].first = first;
    b->tensors[tensor].last = last;
}

static void add_inputs(builder *b, const cast_plan *plan, const uint32_t *dims) {
    for (uint8_t i = 0; i < 2; i++)
        b->inputs[i] = (firn_native_input){.name = i == 0 ? "x" : "other",
                                           .tensor = builder_arena(b, FIRN_FLOAT32, FIRN_FB_ROLE_INPUT, dims),
                                           .stream = i,
                                           .element = i == 0 ? plan->element : FIRN_UINT8,
                                           .scale = i == 0 ? plan->scale : 1.0f,
                                           .shift = i == 0 && plan->element == FIRN_UINT8 ? -0.3f : 0.0f,
                                           .ring = FIRN_ABSENT};
    b->plan.inputs_count = 2;
}

static void cast(builder *b, int from, int to) {
    builder_op(b, FIRN_OP_cast, (int[]){from, -1}, (int[]){to, -1});
}

/* Casts a tensor to a new one, which lives throughout. */
static int cast_to_new(builder *b, int from, uint8_t type, const uint32_t *dims) {
    const int to = (int)builder_arena(b, type, FIRN_FB_ROLE_ACTIVATION, dims);
    cast(b, from, to);
    return to;
}

/* Adds the ops of the evaluation, the first of which is op number `first` of the plan. */
static void evaluate(builder *b, const cast_plan *plan, uint32_t first, const uint32_t *dims) {
    const int x = (int)b->inputs[0].tensor, other = (int)b->inputs[1].tensor;
    live(b, x, 0, plan->reads_again || plan->reads_view ? first + 2 : first);
    const int view = plan->reads_view || plan->casts_view ? (int)builder_view(b, (uint32_t)x, 0, dims) : x;
    const int half = cast_to_new(b, plan->casts_view ? view : x, plan->half, dims);
    if (plan->keeps)
        builder_output(b, "half", half);
    else
        live(b, half, first, first + 1);
    if (plan->reuses) {
        live(b, other, 0, 0);
        b->tensors[half].offset = b->tensors[other].offset;
    }
    builder_output(b, "back", cast_to_new(b, half, FIRN_FLOAT32, dims));
    if (plan->reads_again || plan->reads_view)
        builder_output(b, "again", cast_to_new(b, view, plan->half, dims));
    builder_phase(b, FIRN_FB_PHASE_KIND_EVALUATE);
}

static void build(signed_plan *file, const cast_plan *plan) {
    static builder b;
    const uint32_t dims[] = {plan->samples, plan->width, 0}, four[] = {4, 0};
    builder_begin(&b, FIRN_MODE_EVAL);
    b.sampler.kind = FIRN_FB_SAMPLER_KIND_PERMUTATION;
    b.sampler.unit = FIRN_FB_SAMPLE_UNIT_RECORD;
    b.sampler.samples = plan->samples;
    b.sampler.cursor = builder_counter(&b, BUILDER_SESSION, "cursor");
    const uint32_t weight = builder_state(&b, BUILDER_PARAMETERS, "weight", FIRN_FLOAT32, FIRN_FB_ROLE_PARAMETER, four);
    add_inputs(&b, plan, dims);
    if (plan->derives) {
        (void)cast_to_new(&b, (int)weight, plan->half, four);
        builder_phase(&b, FIRN_FB_PHASE_KIND_DERIVE);
    }
    evaluate(&b, plan, plan->derives ? 1 : 0, dims);
    builder_finish(&b, NULL, file);
}

/* --- its data ----------------------------------------------------------------------------------------------------- */

/* Records of two streams, of which each element tells its position. */
typedef struct records {
    firn_segment segment;
    firn_stream streams[2];
    uint32_t fails; /* the stream that cannot be read; 2: none */
    firn_source source;
} records;

static int read_records(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const records *from = context;
    if (stream == from->fails)
        return FIRN_ERROR_SOURCE;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t word = ((uint32_t)first + i + stream) * 2654435761u;
        if (from->streams[stream].element == FIRN_FLOAT32)
            memcpy((uint8_t *)elements + (size_t)4 * i, &word, sizeof word);
        else
            ((uint8_t *)elements)[i] = (uint8_t)(word >> 24);
    }
    return FIRN_OK;
}

static void begin_records(records *from, const cast_plan *plan) {
    *from = (records){.segment = {.elements = (uint64_t)RECORDS * plan->width}, .fails = 2};
    for (uint32_t i = 0; i < 2; i++)
        from->streams[i] = (firn_stream){.element = i == 0 ? plan->element : FIRN_UINT8,
                                         .record_elements = plan->width,
                                         .segments = &from->segment,
                                         .segment_count = 1};
    from->source = (firn_source){.context = from, .streams = from->streams, .stream_count = 2, .read = read_records};
}

/* Compares every output with that of another instance. */
static void assert_same_outputs(const compiled_run *run, const compiled_run *expected) {
    firn_tensor_info one, two;
    for (uint32_t i = 0; firn_output_at(&run->firn, i, &one) == FIRN_OK; i++) {
        assert_int_equal(firn_output_at(&expected->firn, i, &two), FIRN_OK);
        assert_int_equal(one.bytes, two.bytes);
        assert_memory_equal(one.data, two.data, (size_t)one.bytes);
    }
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* Before each step but the first, one fails for its second stream and leaves the outputs as they were. */
static void check_cast_plan(const signed_plan *file, const cast_plan *plan, const char *kernels, bool prepared) {
    compiled_run run, expected;
    records from;
    begin_records(&from, plan);
    open_with(&expected, file->file, file->bytes, file->key, "plain", false);
    open_with(&run, file->file, file->bytes, file->key, kernels, prepared);
    assert_int_equal(has_taken(&expected), false);
    assert_int_equal(has_taken(&run), plan->taken && can_take(kernels, prepared));
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(firn_eval_step(&run.firn, &from.source), FIRN_OK);
        assert_int_equal(firn_eval_step(&expected.firn, &from.source), FIRN_OK);
        assert_same_outputs(&run, &expected);
        from.fails = 1;
        assert_int_equal(firn_eval_step(&run.firn, &from.source), FIRN_ERROR_SOURCE);
        assert_same_outputs(&run, &expected);
        from.fails = 2;
    }
    compiled_run_close(&run);
    compiled_run_close(&expected);
}

TEST(it_is_taken_where_nothing_can_tell) {
    static signed_plan file;
    for (int p = 0; p < CAST_PLANS; p++) {
        build(&file, &cast_plans[p]);
        for (int i = 0; i < SETS; i++)
            for (int prepared = 0; firn_kernel_set_choose(sets[i]) != NULL && prepared < 2; prepared++)
                check_cast_plan(&file, &cast_plans[p], sets[i], prepared != 0);
    }
}

static void digest_of_training(const compiled_plan *plan, const char *kernels, bool prepared, uint8_t digest[32]) {
    compiled_run run;
    firn_step_report report;
    open_with(&run, plan->file, plan->bytes, compiled_key, kernels, prepared);
    assert_int_equal(has_taken(&run), can_take(kernels, prepared));
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(firn_train_step(&run.firn, compiled_source(&run), &report), FIRN_OK);
    assert_int_equal(firn_digest(&run.firn, digest), FIRN_OK);
    compiled_run_close(&run);
}

/* Each step has several micro-batches. */
TEST(training_has_the_same_digest) {
    static const char *const settings[] = {"trainer.fit.train_dataloader.batch_size=32",
                                           "trainer.fit.train_dataloader.micro_batch_size=8"};
    compiled_plan plan;
    uint8_t expected[32], digest[32];
    compiled_plan_make(&plan, "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, settings, 2);
    digest_of_training(&plan, "plain", false, expected);
    for (int i = 0; i < SETS; i++)
        for (int prepared = 0; firn_kernel_set_choose(sets[i]) != NULL && prepared < 2; prepared++) {
            digest_of_training(&plan, sets[i], prepared != 0, digest);
            assert_memory_equal(digest, expected, sizeof digest);
        }
    compiled_plan_free(&plan);
}
