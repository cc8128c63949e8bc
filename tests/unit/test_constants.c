/* Tests the constants of a graph: a network that has them is trained and evaluated beside one that reads the same
 * numbers as data, in every type, and gives the same bits; ops read them from the plan in place; and misuse is refused.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/firnc.h"
#include "compiler/graph/ir.h"
#include "plan/container.h"
#include "plan/generated/reader.h"
#include "runtime/firn.h"
#include "tests/unit/support_test.h"

enum { BATCH = 4, IN = 6, OUT = 3, RECORDS = 8, STEPS = 5, STREAMS = 4 };

static firnc_key key;
static char message[2048];

/* What the streams hold: records, targets, and two tables of constants, whose rows the records of a batch repeat. */
static float streams_of[STREAMS][RECORDS * IN];

static void keep_message(void *context, const char *line) {
    (void)context;
    snprintf(message, sizeof message, "%s", line);
}

BEFORE_ALL {
    const uint32_t elements[STREAMS] = {IN, OUT, IN, IN};
    uint32_t random = 5;
    for (uint32_t s = 0; s < STREAMS; s++)
        for (uint32_t i = 0; i < RECORDS * elements[s]; i++) {
            const uint32_t from = s >= 2 && i >= BATCH * elements[s] ? i - BATCH * elements[s] : i;
            random = random * 1664525u + 1013904223u;
            streams_of[s][i] = from < i ? streams_of[s][from] : (float)(int32_t)random * 0x1p-31f;
        }
    streams_of[2][1] = streams_of[2][1 + BATCH * IN] = 0x1p-140f; /* below the least float16 */
    streams_of[2][2] = streams_of[2][2 + BATCH * IN] = -0.0f;
    streams_of[2][3] = streams_of[2][3 + BATCH * IN] = 1 + 0x1p-8f; /* a tie of bfloat16 */
    firnc_messages_to(keep_message, NULL);
    assert_true(firnc_key_generate(&key));
}

/* --- the network -------------------------------------------------------------------------------------------------- */

static firnc_value input(firnc_graph *graph, const char *name, uint32_t elements, uint8_t stream) {
    return firnc_input(graph, name, FIRN_FLOAT32, 2, (uint32_t[]){BATCH, elements},
                       (firnc_input_options){.stream = stream, .element = FIRN_FLOAT32});
}

/* The numbers of a stream: a constant of the graph, or data. */
static firnc_value table(firnc_graph *graph, const char *name, bool constant, uint8_t stream) {
    if (constant)
        return firnc_constant(graph, name, FIRN_FLOAT32, 2, (uint32_t[]){BATCH, IN}, streams_of[stream]);
    return input(graph, name, IN, stream);
}

/* y = W relu(C (x + D + D)) + b: linear reads C in the half type, add reads D as it is, and another constant with the
 * same elements. */
static firnc_graph *build(bool eval, bool constant) {
    firnc_graph *graph = firnc_graph_create("constants");
    if (eval)
        firnc_graph_evaluate(graph);
    firnc_value x = input(graph, "features", IN, 0), target = input(graph, "target", OUT, 1);
    firnc_value c = table(graph, "projection", constant, 2), d = table(graph, "shift", constant, 3);
    if (constant)
        (void)firnc_constant(graph, "unread", FIRN_INT32, 1, (uint32_t[]){2}, (int32_t[]){1, 2});
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -0.5f, .b = 0.5f};
    firnc_value weight = firnc_parameter(graph, "head.weight", 2, (uint32_t[]){OUT, BATCH}, init, true);
    firnc_value bias = firnc_parameter(graph, "head.bias", 1, (uint32_t[]){OUT}, init, false);
    firnc_value inner = firnc_parameter(graph, "inner.weight", 2, (uint32_t[]){IN, IN}, init, true);
    x = firnc_linear(graph, x, inner, FIRNC_NONE, FIRNC_OUT_IN);
    firnc_value other = table(graph, "shift again", constant, 3);
    x = firnc_relu(graph,
                   firnc_linear(graph, firnc_add(graph, firnc_add(graph, x, d), other), c, FIRNC_NONE, FIRNC_OUT_IN));
    firnc_layer_begin(graph, "head");
    firnc_value y = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    firnc_loss(graph, firnc_mean_squared_error(graph, y, target));
    firnc_regression(graph, y, target);
    return graph;
}

static firnc_frozen freeze(firnc_mode mode, bool constant, firn_type type) {
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_job_defaults(job, mode);
    job->name = "constants";
    job->steps = mode == FIRNC_TRAIN ? STEPS : 0;
    job->data.batch_size = job->data.micro_batch_size = BATCH;
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    keys.enabled = type != FIRN_FLOAT32;
    if (keys.enabled)
        keys.fp16_type = type;
    assert_true(firnc_mixed_precision_complete(&keys, &job->precision, &fault));
    job->optimizer = firnc_optimizer_defaults(FIRNC_SGD);
    firnc_job_learning_rate(job, 0.125);
    firnc_frozen plan;
    if (!firnc_freeze_plan(build(mode == FIRNC_EVAL, constant), job, &key, NULL, &plan))
        fail_msg("refused: %s", message);
    return plan;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static int read_stream(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    (void)context;
    memcpy(elements, &streams_of[stream][first], count * sizeof(float));
    return 0;
}

/* A plan that runs; a region of constants has no block. */
typedef struct run {
    firn instance;
    firn_sizes sizes;
    firn_block blocks[FIRN_BLOCKS_MAX];
    void *workspace;
    uint32_t constant_regions;
} run;

static void *memory_of(uint64_t bytes) {
    void *memory = NULL;
    if (bytes > 0)
        assert_int_equal(posix_memalign(&memory, FIRN_BLOCK_ALIGNMENT, (size_t)bytes), 0);
    return memory;
}

static void start(run *r, const firnc_frozen *plan) {
    *r = (run){.workspace = NULL};
    assert_int_equal(firn_plan_sizes(plan->file.data, plan->file.count, &r->sizes), FIRN_OK);
    for (uint32_t i = 0; i < r->sizes.block_count; i++) {
        r->constant_regions += r->sizes.blocks[i].kind == FIRN_REGION_CONSTANT;
        assert_int_equal(r->sizes.blocks[i].bytes == 0, r->sizes.blocks[i].kind == FIRN_REGION_CONSTANT);
        r->blocks[i] = (firn_block){.memory = memory_of(r->sizes.blocks[i].bytes), .bytes = r->sizes.blocks[i].bytes};
    }
    firn_config config = {.plan = plan->file.data,
                          .plan_bytes = plan->file.count,
                          .public_key = key.public_key,
                          .blocks = r->blocks,
                          .block_count = r->sizes.block_count};
    assert_int_equal(firn_workspace_bytes(&config, &config.workspace_bytes), FIRN_OK);
    config.workspace = r->workspace = memory_of(config.workspace_bytes);
    assert_int_equal(firn_open(&r->instance, &config), FIRN_OK);
    assert_int_equal(firn_initialise(&r->instance), FIRN_OK);
}

static void finish(run *r) {
    for (uint32_t i = 0; i < r->sizes.block_count; i++)
        free(r->blocks[i].memory);
    free(r->workspace);
}

static firn_source source_of(bool constant) {
    static const firn_segment segments[STREAMS] = {{RECORDS * IN}, {RECORDS * OUT}, {RECORDS * IN}, {RECORDS * IN}};
    static const firn_stream streams[STREAMS] = {{FIRN_FLOAT32, IN, &segments[0], 1},
                                                 {FIRN_FLOAT32, OUT, &segments[1], 1},
                                                 {FIRN_FLOAT32, IN, &segments[2], 1},
                                                 {FIRN_FLOAT32, IN, &segments[3], 1}};
    return (firn_source){.streams = streams, .stream_count = constant ? 2 : STREAMS, .read = read_stream};
}

TEST(same_bits_as_data) {
    static const firn_type types[] = {FIRN_FLOAT32, FIRN_FLOAT16, FIRN_BFLOAT16, FIRN_CBFLOAT16};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        float losses[2][STEPS];
        uint8_t digests[2][32];
        for (int constant = 0; constant < 2; constant++) {
            const firnc_frozen plan = freeze(FIRNC_TRAIN, constant == 1, types[t]);
            const firn_source source = source_of(constant == 1);
            run r;
            start(&r, &plan);
            assert_int_equal(r.constant_regions, constant);
            for (int i = 0; i < STEPS; i++) {
                firn_step_report report;
                assert_int_equal(firn_train_step(&r.instance, &source, &report), FIRN_OK);
                losses[constant][i] = report.loss;
            }
            assert_int_equal(firn_digest(&r.instance, digests[constant]), FIRN_OK);
            finish(&r);
        }
        assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
        assert_true(losses[0][0] != losses[0][STEPS - 1]);
        assert_memory_equal(digests[0], digests[1], sizeof digests[0]);
    }
}

TEST(same_evaluation_as_data) {
    float values[2];
    for (int constant = 0; constant < 2; constant++) {
        const firnc_frozen plan = freeze(FIRNC_EVAL, constant == 1, FIRN_BFLOAT16);
        const firn_source source = source_of(constant == 1);
        run r;
        start(&r, &plan);
        assert_int_equal(firn_eval_step(&r.instance, &source), FIRN_OK);
        assert_int_equal(firn_eval_result(&r.instance, &values[constant]), FIRN_OK);
        finish(&r);
    }
    assert_memory_equal(&values[0], &values[1], sizeof values[0]);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

/* In float32 the plan has the constants as they are, equal ones in one place; in mixed precision the one that a half
 * type is read of lies there rounded, no op casts it, and what nothing reads is not there. */
TEST(lie_in_the_plan) {
    for (int mixed = 0; mixed < 2; mixed++) {
        const firnc_frozen file = freeze(FIRNC_TRAIN, true, mixed == 1 ? FIRN_BFLOAT16 : FIRN_FLOAT32);
        firn_header header;
        assert_int_equal(firn_header_decode(&header, file.file.data, file.file.count), FIRN_OK);
        const firn_fb_plan plan = firn_fb_plan_root(file.file.data + FIRN_PAYLOAD_OFFSET);
        uint32_t found = 0, halves = 0;
        for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++) {
            const firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, i);
            if (firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_CONSTANT)
                continue;
            const uint8_t *elements = file.file.data + header.constants_offset + firn_fb_tensor_offset(tensor);
            if (firn_fb_tensor_type(tensor) == FIRN_BFLOAT16) {
                halves++;
                assert_int_equal(elements[6] | elements[7] << 8, 0x3f80); /* the tie went to even */
            } else {
                assert_memory_equal(elements, streams_of[found == 0 && mixed == 0 ? 2 : 3], BATCH * IN * sizeof(float));
            }
            found++;
        }
        assert_int_equal(found, 3);
        assert_int_equal(header.region_bytes[header.region_count - 1],
                         BATCH * IN * (mixed == 1 ? sizeof(float) + 2 : 2 * sizeof(float))); /* equal ones once */
        assert_int_equal(halves, mixed);
        assert_int_equal(header.constants_bytes, 192);
    }
}

/* --- misuse ------------------------------------------------------------------------------------------------------- */

TEST(indices_are_refused) {
    firnc_graph *graph = firnc_graph_create("toy");
    firnc_value target = input(graph, "target", OUT, 0);
    firnc_value ids = firnc_constant(graph, "ids", FIRN_INT32, 1, (uint32_t[]){BATCH}, (int32_t[]){0, 1, 2, 0});
    firnc_value rows = firnc_parameter(graph, "rows", 2, (uint32_t[]){3, OUT}, (firnc_init){.a = 1}, true);
    firnc_loss(graph, firnc_mean_squared_error(graph, firnc_embedding(graph, ids, rows), target));
    firnc_job *job = firnc_allocate(sizeof *job);
    firnc_job_defaults(job, FIRNC_TRAIN);
    job->name = "toy";
    job->steps = STEPS;
    job->data.batch_size = job->data.micro_batch_size = BATCH;
    firnc_job_learning_rate(job, 0.125);
    firnc_frozen plan;
    assert_false(firnc_freeze_plan(graph, job, &key, NULL, &plan));
    assert_non_null(strstr(message, "takes its indices or labels from ids; give it an input"));
}

static void of_bytes(firnc_graph *graph) {
    (void)firnc_constant(graph, "c", FIRN_UINT8, 1, (uint32_t[]){4}, "abcd");
}

static void without_extent(firnc_graph *graph) {
    (void)firnc_constant(graph, "c", FIRN_FLOAT32, 1, (uint32_t[]){0}, "abcd");
}

static void without_name(firnc_graph *graph) {
    (void)firnc_constant(graph, "", FIRN_FLOAT32, 1, (uint32_t[]){1}, "abcd");
}

TEST(misuse_aborts) {
    void (*const wrong[])(firnc_graph *) = {of_bytes, without_extent, without_name};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            fclose(stderr);
            wrong[i](firnc_graph_create("toy"));
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}
