/* Benchmarks of whole plans: training steps through the library, the time to open a plan, and memory use. firnc makes
 * the plans from recipes, so that only plans that a user can have are measured. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/session.h"

#define RECIPES      "tests/bench/recipes/"
#define STEP_LIMIT   100.0 /* seconds; a plan whose step is expected to take longer is left out */
#define MEGABYTE     (1024.0 * 1024.0)
#define SET          " --set trainer."
#define SET_BATCH    SET "fit.train_dataloader.batch_size="
#define SET_LENGTH   SET "fit.train_dataloader.max_sequence_length="
#define SET_MODEL    SET "init.model."
#define SET_FORMAT   SET "init.precision."
#define SET_NO_LIMIT SET "init.loop.num_steps=100000000"
#define FLOAT32      SET_FORMAT "enabled=false"
#define HALF(type)   SET_FORMAT "enabled=true" SET_FORMAT "fp16_type=" type
#define POL(level)   HALF("float16") SET_FORMAT "pol_lowering=emulate" SET_FORMAT "precision_opt_level=" level

/* What is measured besides the time of a step. */
enum {
    SMOKE = 1, /* also in the shortest run */
    MEMORY = 2,
    OPENING = 4,
    OPS = 8
};

/* A plan of a network. */
typedef struct format {
    const char *storage;
    const char *settings; /* options of firnc */
    unsigned also;
    const char *like;  /* storage of the kernel benchmarks whose speed predicts the step's time; NULL: no prediction */
    const char *needs; /* the kernel set without which the plan is emulated, and measured only if --only names its
                        * storage; NULL: none */
} format;

#define FOR_AMX                                                                                                        \
    { .storage = "bfloat16 for AMX", .settings = HALF("bfloat16") " --target amx-bf16", .also = OPS, .needs = "amx" }
#define FOR_AVX512                                                                                                     \
    {                                                                                                                  \
        .storage = "bfloat16 for AVX512", .settings = HALF("bfloat16") " --target avx512-bf16", .also = OPS,           \
        .needs = "avx512bf16"                                                                                          \
    }

/* The plans of a network over images in bfloat16. They are a contest of their own, which comes late, because each way
 * of PyTorch takes its time. */
#define IMAGE_HALVES                                                                                                   \
    { {.storage = "bfloat16", .settings = HALF("bfloat16"), .also = OPS}, FOR_AMX, FOR_AVX512 }

/* A network, and its plans, which are measured in the same rounds. Another recipe or format, or another target of
 * firnc, is one line in the table. */
enum { FORMATS_MAX = 6 };
typedef struct network {
    const char *shape;
    const char *recipe, *settings; /* settings: options of firnc for every format */
    const char *torch;             /* NULL: PyTorch has no equivalent */
    unsigned torches;
    double weight; /* seconds that measuring the steps, and that measuring the ops of one plan usually takes */
    double ops_weight;
    uint32_t batch, length; /* length: tokens per sequence of a GPT-2; 0 for other models */
    uint32_t layers, width;
    double products;  /* models other than GPT-2: operations in the products of one record; 0: not counted */
    unsigned threads; /* 0: as in the options */
    format formats[FORMATS_MAX];
} network;

#define MLP_PRODUCTS (2.0 * (2 * 784 * 500 + 3 * 500 * 10)) /* the first layer computes no gradient of its input */
#define DEMO_RECIPE  "compiler/recipes/demo_gpt2.yaml"
#define STUDY_RECIPE "compiler/recipes/study_gpt2.yaml"
#define GPT2_RECIPE  RECIPES "gpt2_124m.yaml"

/* The rows that others are compared with come first: a run that has too little time leaves out the last. */
static const network networks[] = {
    {.shape = "gpt2 124M B4 T256",
     .recipe = GPT2_RECIPE,
     .settings = SET_BATCH "4" SET_LENGTH "256",
     .torch = "gpt2 50257 768 12 12 1024 4 256",
     .torches = BENCH_SEQUENTIAL,
     .weight = 280.0,
     .ops_weight = 20.0,
     .batch = 4,
     .length = 256,
     .layers = 12,
     .width = 768,
     .formats = {{.storage = "float32", .settings = "", .also = MEMORY | OPENING | OPS},
                 {.storage = "bfloat16", .settings = HALF("bfloat16"), .also = OPS},
                 FOR_AMX,
                 FOR_AVX512}},
    {.shape = "mlp 784-500-10 B500",
     .recipe = RECIPES "mlp_500.yaml",
     .torch = "mlp 784 500 10 500",
     .torches = BENCH_SEQUENTIAL,
     .weight = 25.0,
     .ops_weight = 3.0,
     .batch = 500,
     .products = MLP_PRODUCTS,
     .formats = {{.storage = "float32", .settings = "", .also = MEMORY | OPENING | OPS},
                 {.storage = "bfloat16", .settings = HALF("bfloat16"), .also = OPS},
                 FOR_AMX,
                 FOR_AVX512}},
    {.shape = "mlp 784-500-10 B32",
     .recipe = RECIPES "mlp_500.yaml",
     .settings = SET_BATCH "32",
     .torch = "mlp 784 500 10 32",
     .torches = BENCH_SEQUENTIAL,
     .weight = 25.0,
     .ops_weight = 3.0,
     .batch = 32,
     .products = MLP_PRODUCTS,
     .formats = {{.storage = "float32", .settings = "", .also = OPS},
                 {.storage = "bfloat16", .settings = HALF("bfloat16"), .also = OPS},
                 FOR_AMX,
                 FOR_AVX512}},
    {.shape = "smallest, 1 thread",
     .recipe = RECIPES "smallest.yaml",
     .weight = 2.0,
     .threads = 1,
     .formats = {{.storage = "float32", .settings = "", .also = SMOKE | MEMORY | OPENING}}},
    {.shape = "smallest, all threads",
     .recipe = RECIPES "smallest.yaml",
     .weight = 2.0,
     .formats = {{.storage = "float32", .settings = ""}}},
    {.shape = "gpt2 of the study",
     .recipe = STUDY_RECIPE,
     .settings = SET_NO_LIMIT,
     .weight = 40.0,
     .ops_weight = 8.0,
     .batch = 16,
     .length = 128,
     .layers = 4,
     .width = 256,
     .formats = {{.storage = "float16 POL 0", .settings = POL("0"), .also = OPS},
                 {.storage = "float16 POL 1", .settings = POL("1"), .also = OPS, .like = "float16 chunk 64"},
                 {.storage = "float16 POL 2", .settings = POL("2"), .also = OPS, .like = "float16 chunk 128"},
                 {.storage = "float32", .settings = FLOAT32, .also = OPS},
                 {.storage = "bfloat16", .settings = HALF("bfloat16"), .also = OPS}}},
    {.shape = "resnet8 32x32x3 B32",
     .recipe = "compiler/recipes/resnet8.yaml",
     .torch = "resnet8 32",
     .torches = BENCH_IMAGES,
     .weight = 50.0,
     .ops_weight = 3.0,
     .formats = {{.storage = "float32", .settings = FLOAT32, .also = OPS}}},
    {.shape = "mobilenet 96x96x3 B32",
     .recipe = "compiler/recipes/mobilenet.yaml",
     .settings = SET_MODEL "output_size=10",
     .torch = "mobilenet 32",
     .torches = BENCH_IMAGES,
     .weight = 60.0,
     .ops_weight = 3.0,
     .formats = {{.storage = "float32", .settings = FLOAT32, .also = OPS}}},
    {.shape = "cct-7/3x1 32x32x3 B32",
     .recipe = "compiler/recipes/cct.yaml",
     .settings = SET_BATCH "32" SET_MODEL "dropout_rate=0" SET_MODEL "attention_dropout_rate=0",
     .torch = "cct 32",
     .torches = BENCH_IMAGES,
     .weight = 120.0,
     .ops_weight = 10.0,
     .formats = {{.storage = "float32", .settings = FLOAT32, .also = OPS}}},
    {.shape = "gpt2 of the demo",
     .recipe = DEMO_RECIPE,
     .settings = SET_NO_LIMIT,
     .torch = "gpt2 256 64 2 4 64 32 64",
     .torches = BENCH_SEQUENTIAL,
     .weight = 50.0,
     .ops_weight = 3.0,
     .batch = 32,
     .length = 64,
     .layers = 2,
     .width = 64,
     .formats = {{.storage = "bfloat16", .settings = "", .also = SMOKE | MEMORY | OPENING | OPS},
                 {.storage = "float32", .settings = FLOAT32}}},
    {.shape = "gpt2 124M B4 T64",
     .recipe = GPT2_RECIPE,
     .settings = SET_BATCH "4" SET_LENGTH "64",
     .torch = "gpt2 50257 768 12 12 1024 4 64",
     .torches = BENCH_SEQUENTIAL,
     .weight = 100.0,
     .batch = 4,
     .length = 64,
     .layers = 12,
     .width = 768,
     .formats = {{.storage = "float32", .settings = "", .also = MEMORY | OPENING},
                 {.storage = "bfloat16", .settings = HALF("bfloat16")},
                 {.storage = "float16 POL 1", .settings = POL("1"), .like = "float16 chunk 64"},
                 {.storage = "float16 POL 2", .settings = POL("2"), .like = "float16 chunk 128"}}},
    {.shape = "resnet8 32x32x3 B32",
     .recipe = "compiler/recipes/resnet8.yaml",
     .torch = "resnet8 32",
     .torches = BENCH_AUTOCAST,
     .weight = 30.0,
     .ops_weight = 3.0,
     .formats = IMAGE_HALVES},
    {.shape = "mobilenet 96x96x3 B32",
     .recipe = "compiler/recipes/mobilenet.yaml",
     .settings = SET_MODEL "output_size=10",
     .torch = "mobilenet 32",
     .torches = BENCH_AUTOCAST,
     .weight = 30.0,
     .ops_weight = 3.0,
     .formats = IMAGE_HALVES},
    {.shape = "cct-7/3x1 32x32x3 B32",
     .recipe = "compiler/recipes/cct.yaml",
     .settings = SET_BATCH "32" SET_MODEL "dropout_rate=0" SET_MODEL "attention_dropout_rate=0",
     .torch = "cct 32",
     .torches = BENCH_AUTOCAST,
     .weight = 40.0,
     .ops_weight = 10.0,
     .formats = IMAGE_HALVES},
};
enum { NETWORKS = sizeof networks / sizeof networks[0] };

/* Plans of 1 MB that are only opened: one consists almost entirely of ops, the other of constants. */
static const network deep = {.shape = "78 small blocks",
                             .recipe = GPT2_RECIPE,
                             .settings = SET_MODEL "num_hidden_layers=78" SET_MODEL "hidden_size=16" SET_MODEL
                                                   "num_heads=1" SET_MODEL "vocab_size=256" SET_LENGTH "16",
                             .formats = {{.storage = "float32", .settings = "", .also = OPENING}}};
static const network weighty = {.shape = "1 MB of weights",
                                .recipe = RECIPES "mlp_500.yaml",
                                .formats = {{.storage = "float32", .settings = "", .also = OPENING}}};

/* --- making plans ----------------------------------------------------------------------------------------------- */

/* Makes the plan of a format at a path. more: additional options of firnc. */
static bool make_plan(const char *plan, const network *it, unsigned f, const char *more) {
    char text[2048];
    bench_format(text, sizeof text, "--mode train %s %s %s", it->settings != NULL ? it->settings : "",
                 it->formats[f].settings, more);
    return session_compile(plan, it->recipe, text);
}

/* Writes the tensors of mlp_500.yaml, all zero, as safetensors. Given as initial weights, they make up most of the
 * plan's bytes. */
static bool write_weights(const char *path) {
    static const char tensors[] =
        "{\"layers.0.weight\":{\"dtype\":\"F32\",\"shape\":[320,784],\"data_offsets\":[0,1003520]},"
        "\"layers.0.bias\":{\"dtype\":\"F32\",\"shape\":[320],\"data_offsets\":[1003520,1004800]},"
        "\"layers.1.weight\":{\"dtype\":\"F32\",\"shape\":[10,320],\"data_offsets\":[1004800,1017600]},"
        "\"layers.1.bias\":{\"dtype\":\"F32\",\"shape\":[10],\"data_offsets\":[1017600,1017640]}}";
    const uint8_t length[8] = {(sizeof tensors - 1) & 255u, (sizeof tensors - 1) >> 8};
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    void *zeros = calloc(1, 1017640);
    bool good = zeros != NULL && fwrite(length, sizeof length, 1, file) == 1 &&
                fwrite(tensors, sizeof tensors - 1, 1, file) == 1 && fwrite(zeros, 1017640, 1, file) == 1;
    free(zeros);
    return fclose(file) == 0 && good;
}

static bool make_weighty_plan(const char *plan) {
    char path[512], more[640];
    session_path(path, sizeof path, "weights.safetensors");
    bench_format(more, sizeof more, "--weights '%s' --set 'trainer.init.model.hidden_sizes=[320]'", path);
    if (write_weights(path))
        return make_plan(plan, &weighty, 0, more);
    bench_fail("%s: cannot be written", path);
    return false;
}

/* --- measurements ------------------------------------------------------------------------------------------------- */

/* 6 operations per parameter and token, plus the causal half of attention, forward and backward. */
static double work_of(const network *it, const firn_info *info) {
    const double batch = it->batch, length = it->length;
    if (it->length == 0)
        return it->products * batch;
    return 6.0 * (double)info->parameters * batch * length + 6.0 * it->layers * it->width * batch * length * length;
}

static bench_case name_case(const char *group, const network *it, unsigned f) {
    bench_case made = {.reference = BENCH_NOTHING};
    bench_format(made.group, sizeof made.group, "%s", group);
    bench_format(made.shape, sizeof made.shape, "%s", it->shape);
    bench_format(made.storage, sizeof made.storage, "%s", it->formats[f].storage);
    return made;
}

static void run_step(void *context) {
    session *it = context;
    firn_step_report report;
    const int error = firn_train_step(&it->firn, &it->data.source, &report);
    if (error != FIRN_OK)
        it->error = error;
}

/* Uses a separate session, whose instance is discarded after each call. */
static void measure_opening(const network *it, unsigned f, const char *plan) {
    session open;
    bench_case made = name_case("open", it, f);
    if (!bench_is_wanted(made.group, made.shape, made.storage) || !session_load(&open, plan, 1, NULL, session_key()))
        return;
    made.run = session_open;
    made.context = &open;
    made.error = &open.error;
    made.work = (double)open.plan.count;
    bench_measure(&made);
    session_end(&open);
}

/* Uses a separate session, whose kernels are timed. */
static void measure_ops(const network *it, unsigned f, const char *plan) {
    session open;
    bench_case made = name_case("ops", it, f);
    if (!bench_is_wanted(made.group, made.shape, made.storage) ||
        !session_begin(&open, plan, it->threads, BENCH_TIMED, session_key()))
        return;
    made.run = run_step;
    made.context = &open;
    made.error = &open.error;
    bench_ops(&made);
    session_end(&open);
}

/* Starts this program again to run one step of the plan only; the child prints its peak memory and the sizes of the
 * blocks. */
static void measure_memory(const network *it, unsigned f, const char *plan) {
    char program[512], text[2048];
    unsigned long long peak = 0, blocks = 0;
    const bench_case made = name_case("memory", it, f);
    if (!bench_is_wanted(made.group, made.shape, made.storage))
        return;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    bench_format(text, sizeof text, "'%s' --threads %u --memory-of '%s' '%s'", program, bench_settings.threads, plan,
                 session_key());
    FILE *child = popen(text, "r");
    const bool read = child != NULL && fscanf(child, "%llu %llu", &peak, &blocks) == 2;
    if (child == NULL || pclose(child) != 0 || !read) {
        bench_fail("failed: %s", text);
        return;
    }
    bench_row row = bench_row_of(&made);
    row.rounds = 1;
    row.work = (double)blocks;
    bench_format(row.note, sizeof row.note, "peak %.1f MB, blocks %.1f, beyond %.1f", (double)peak / MEGABYTE,
                 (double)blocks / MEGABYTE, ((double)peak - (double)blocks) / MEGABYTE);
    bench_report_row(&row);
}

int bench_memory_of(const char *plan, const char *key) {
    session open;
    char line[128];
    unsigned long long peak = 0;
    if (!session_begin(&open, plan, 0, NULL, key))
        return 1;
    run_step(&open);
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %llu", &peak) == 1)
            break;
    if (file != NULL)
        fclose(file);
    /* The benchmark allocates the data itself. */
    const unsigned long long mine = session_data_bytes(&open);
    printf("%llu %llu\n", peak * 1024 - mine, (unsigned long long)session_bytes(&open));
    const int error = open.error;
    session_end(&open);
    return error == FIRN_OK && peak != 0 ? 0 : 1;
}

/* --- networks ----------------------------------------------------------------------------------------------------- */

/* The plans of a network, by format. */
typedef struct plans {
    char path[FORMATS_MAX][512];
    bool made[FORMATS_MAX];
} plans;

/* Returns whether the plan would be emulated here, and nobody asked for that. */
static bool is_left_out(const format *one) {
    if (one->needs == NULL || firn_kernel_set_choose(one->needs) != NULL)
        return false;
    return bench_settings.only == NULL || strstr(bench_settings.only, one->storage) == NULL;
}

/* Returns whether --only selects something that is measured with the plan: the time of each op, or all the rest. */
static bool is_plan_wanted(const network *it, unsigned f, bool ops) {
    const format *one = &it->formats[f];
    if (one->storage == NULL || is_left_out(one) || (bench_settings.smoke && (one->also & SMOKE) == 0))
        return false;
    if (ops)
        return (one->also & OPS) != 0 && bench_is_wanted("ops", it->shape, one->storage);
    return bench_is_wanted("step", it->shape, one->storage) ||
           ((one->also & OPENING) != 0 && bench_is_wanted("open", it->shape, one->storage)) ||
           ((one->also & MEMORY) != 0 && bench_is_wanted("memory", it->shape, one->storage));
}

static unsigned count_wanted(const network *it, bool ops) {
    unsigned wanted = 0;
    for (unsigned f = 0; f < FORMATS_MAX; f++)
        wanted += is_plan_wanted(it, f, ops);
    return wanted;
}

/* Opens the plans from *next on, as many as fit into the memory together with PyTorch, which holds about as much as the
 * largest two, and measures their steps in the same rounds. Sets *next to the first that did not fit. */
static void measure_steps(const network *it, const plans *made, unsigned *next) {
    static session open[FORMATS_MAX];
    bench_case cases[FORMATS_MAX];
    unsigned count = 0;
    const double available = bench_available_bytes();
    double taken = 0.0, largest = 0.0;
    for (; *next < FORMATS_MAX; ++*next) {
        const unsigned f = *next;
        if (!made->made[f] || !bench_is_wanted("step", it->shape, it->formats[f].storage) ||
            !session_begin(&open[count], made->path[f], it->threads, NULL, session_key()))
            continue;
        const double bytes = (double)session_bytes(&open[count]);
        if (count > 0 && taken + bytes + 2.0 * (bytes > largest ? bytes : largest) > available) {
            session_end(&open[count]);
            break;
        }
        taken += bytes;
        largest = bytes > largest ? bytes : largest;
        cases[count] = name_case("step", it, f);
        cases[count].run = run_step;
        cases[count].context = &open[count];
        cases[count].error = &open[count].error;
        cases[count].call_limit = STEP_LIMIT;
        cases[count].work = work_of(it, &open[count].info);
        cases[count].like = it->formats[f].like;
        cases[count].reference = cases[count].work > 0.0 ? BENCH_PEAK : BENCH_NOTHING;
        count++;
    }
    bench_compete(&(bench_contest){cases, count, it->torch, it->torches, 0.0});
    for (unsigned i = 0; i < count; i++)
        session_end(&open[i]);
}

/* Adds a row for each plan that would be emulated. */
static void report_left_out(const network *it) {
    for (unsigned f = 0; f < FORMATS_MAX; f++) {
        const format *one = &it->formats[f];
        if (one->storage == NULL || !is_left_out(one) || !bench_is_wanted("step", it->shape, one->storage))
            continue;
        const bench_case made = name_case("step", it, f);
        bench_row row = bench_row_of(&made);
        bench_format(row.note, sizeof row.note, "left out: no kernel set %s here; --only '%s' emulates it", one->needs,
                     one->storage);
        bench_report_row(&row);
    }
}

static void make_plans(const network *it, plans *made, bool ops) {
    *made = (plans){0};
    for (unsigned f = 0; f < FORMATS_MAX; f++) {
        char name[32];
        bench_format(name, sizeof name, "bench-%u.plan", f);
        session_path(made->path[f], sizeof made->path[f], name);
        made->made[f] = is_plan_wanted(it, f, ops) && make_plan(made->path[f], it, f, "");
    }
}

static void measure_network(const network *it) {
    plans made;
    make_plans(it, &made, false);
    for (unsigned f = 0; f < FORMATS_MAX; f++) {
        if (made.made[f] && (it->formats[f].also & OPENING) != 0)
            measure_opening(it, f, made.path[f]);
        if (made.made[f] && (it->formats[f].also & MEMORY) != 0)
            measure_memory(it, f, made.path[f]);
    }
    for (unsigned next = 0; next < FORMATS_MAX;)
        measure_steps(it, &made, &next);
    report_left_out(it);
}

void bench_steps(void) {
    for (const network *it = networks; it < networks + NETWORKS; it++)
        if (count_wanted(it, false) > 0 && bench_turn("step", it->shape, it->weight))
            measure_network(it);
}

void bench_step_ops(void) {
    for (const network *it = networks; it < networks + NETWORKS; it++) {
        const unsigned wanted = count_wanted(it, true);
        if (wanted == 0 || !bench_turn("ops", it->shape, wanted * it->ops_weight))
            continue;
        plans made;
        make_plans(it, &made, true);
        for (unsigned f = 0; f < FORMATS_MAX; f++)
            if (made.made[f])
                measure_ops(it, f, made.path[f]);
    }
}

void bench_openings(void) {
    char plan[512];
    session_path(plan, sizeof plan, "bench.plan");
    if (bench_is_wanted("open", weighty.shape, "float32") && bench_turn("open", weighty.shape, 1.0) &&
        make_weighty_plan(plan))
        measure_opening(&weighty, 0, plan);
    if (!bench_settings.smoke && bench_is_wanted("open", deep.shape, "float32") &&
        bench_turn("open", deep.shape, 2.0) && make_plan(plan, &deep, 0, ""))
        measure_opening(&deep, 0, plan);
}
