/* Benchmarks of text from a language model: a token at a time, and prompts in chunks, of decode plans that firnc makes.
 * A token needs each weight once, so its reference is a loop that reads the memory of the weights. One thread does the
 * work of both, and both are timed by the CPU time of that thread: programs beside this one would otherwise stop one of
 * them for longer than the other. */
#include <stdlib.h>
#include <string.h>

#include "plan/generated/reader.h"
#include "runtime/decode/decode.h"
#include "tests/bench/bench.h"
#include "tests/bench/session.h"

#define GPT2    "tests/bench/recipes/gpt2_124m.yaml"
#define DEMO    "compiler/recipes/demo_gpt2.yaml"
#define SHAPE   "gpt2 124M"
#define CONTEXT 1024
#define LIMIT   100.0 /* seconds; a prompt whose step is expected to take longer is left out */

/* Tokens that one case takes before its session goes back to where it began. */
enum { STEPS = 16 };

/* What is decoded. A session holds `before` tokens before the first step, and a step takes `chunk`. */
typedef struct decoding {
    const char *recipe, *shape, *storage, *settings;
    uint32_t chunk, before;
    double weight; /* seconds that measuring usually takes */
    bool smoke;    /* also in the shortest run */
} decoding;

#define FLOAT32 " --set trainer.init.precision.enabled=false"
#define HALF    " --set trainer.init.precision.enabled=true --set trainer.init.precision.fp16_type=bfloat16"

static const decoding decodings[] = {
    {GPT2, SHAPE " first tokens", "float32", FLOAT32, 1, 0, 12.0, false},
    {GPT2, SHAPE " last tokens", "float32", FLOAT32, 1, CONTEXT - STEPS, 12.0, false},
    {GPT2, SHAPE " first tokens", "bfloat16", HALF, 1, 0, 12.0, false},
    {GPT2, SHAPE " last tokens", "bfloat16", HALF, 1, CONTEXT - STEPS, 12.0, false},
    {GPT2, SHAPE " prompt of 64", "float32", FLOAT32, 64, 0, 12.0, false},
    {GPT2, SHAPE " prompt of 256", "float32", FLOAT32, 256, 0, 15.0, false},
    {DEMO, "gpt2 of the demo", "float32", FLOAT32, 1, 0, 1.0, true},
};
enum { DECODINGS = sizeof decodings / sizeof decodings[0] };

typedef struct text {
    const decoding *it;
    session session;
    firn_decoder decoder;
    int error;
} text;

/* --- the session -------------------------------------------------------------------------------------------------- */

static void set_length(const text *t, int64_t length) {
    firn_tensor_info tensor;
    if (firn_tensor_at(&t->session.firn, t->decoder.length, &tensor) == FIRN_OK)
        memcpy((void *)(uintptr_t)tensor.data, &length, sizeof length);
}

/* Fills the caches with numbers, as if a text of any length had been taken. */
static void fill_caches(const text *t) {
    firn_tensor_info tensor;
    uint32_t state = 1;
    for (uint32_t i = 0; firn_tensor_at(&t->session.firn, i, &tensor) == FIRN_OK; i++) {
        if (tensor.role != FIRN_FB_ROLE_CACHE || tensor.type != FIRN_FLOAT32)
            continue;
        float *numbers = (float *)(uintptr_t)tensor.data;
        for (uint64_t n = 0; n < tensor.bytes / sizeof(float); n++) {
            state = state * 1664525u + 1013904223u;
            numbers[n] = (float)(state >> 8) * 0x1p-23f - 1.0f;
        }
    }
}

static bool text_begin(text *t, const decoding *it, const char *plan, const char *kernels) {
    *t = (text){.it = it};
    if (!session_start(&t->session, plan, 1, kernels, session_key()))
        return false;
    t->error = firn_decoder_begin(&t->decoder, &t->session.firn);
    if (t->error == FIRN_OK) {
        fill_caches(t);
        set_length(t, it->before);
        return true;
    }
    bench_fail("%s: %s", plan, firn_error_text(t->error));
    session_end(&t->session);
    return false;
}

/* Takes the next tokens, and goes back before the session is full. */
static void run_step(void *context) {
    text *t = context;
    int32_t ids[256];
    const float *logits;
    const uint32_t length = firn_decoder_length(&t->decoder), chunk = t->decoder.chunk;
    if (length >= t->it->before + STEPS * chunk || length + chunk > t->decoder.context)
        set_length(t, t->it->before);
    for (uint32_t i = 0; i < chunk; i++)
        ids[i] = (int32_t)((length + i) * 2654435761u % t->decoder.classes);
    const int error = firn_decode(&t->decoder, ids, chunk, &logits);
    if (error != FIRN_OK)
        t->error = error;
}

/* --- what a token needs ------------------------------------------------------------------------------------------- */

/* Returns the bytes of all weights that a token multiplies. The table of positions is not among them: a token reads one
 * row of it. */
static double weight_bytes(const text *t) {
    firn_tensor_info tensor;
    double bytes = 0.0;
    for (uint32_t i = 0; firn_tensor_at(&t->session.firn, i, &tensor) == FIRN_OK; i++)
        if (tensor.role == FIRN_FB_ROLE_PARAMETER && !(tensor.rank == 2 && tensor.dims[0] == t->decoder.context))
            bytes += (double)tensor.bytes;
    return bytes;
}

/* Returns the bytes of the keys and values that a token sees, of the steps that are measured on average. */
static double cache_bytes(const text *t) {
    firn_tensor_info tensor;
    double bytes = 0.0;
    for (uint32_t i = 0; firn_tensor_at(&t->session.firn, i, &tensor) == FIRN_OK; i++)
        if (tensor.role == FIRN_FB_ROLE_CACHE && tensor.rank == 3)
            bytes += (double)tensor.bytes;
    return bytes * (t->it->before + 0.5 * STEPS) / t->decoder.context;
}

/* The block that holds the weights is the largest. */
static void set_reads(bench_case *made, const text *t) {
    const firn_host_blocks *blocks = &t->session.blocks;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < blocks->count; i++)
        if (blocks->list[i].bytes > largest) {
            largest = blocks->list[i].bytes;
            made->streams[0] = blocks->list[i].memory;
            made->stream_elements = (size_t)(largest / sizeof(float));
        }
}

static bench_case case_of(const char *group, text *t) {
    const double bytes = weight_bytes(t);
    bench_case made = {
        .run = run_step, .context = t, .error = &t->error, .one_thread = true, .tokens = t->decoder.chunk};
    bench_format(made.group, sizeof made.group, "%s", group);
    bench_format(made.shape, sizeof made.shape, "%s", t->it->shape);
    bench_format(made.storage, sizeof made.storage, "%s", t->it->storage);
    made.reference = t->it->chunk == 1 ? BENCH_READS : BENCH_PEAK;
    made.work = t->it->chunk == 1 ? bytes : 2.0 * bytes / sizeof(float) * t->it->chunk;
    made.cache = t->it->chunk == 1 ? cache_bytes(t) : 0.0;
    made.call_limit = LIMIT;
    set_reads(&made, t);
    return made;
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

static bool make_plan(const decoding *it, char *plan, size_t size) {
    char options[512];
    session_path(plan, size, "decode.plan");
    bench_format(options, sizeof options,
                 "--mode eval --decode --decode-chunk %u --set trainer.fit.train_dataloader.token_type=int32%s",
                 it->chunk, it->settings);
    return session_compile(plan, it->recipe, options);
}

/* Runs the cases of a group in the kernel set; NULL: this machine's. weight: their share of the usual time. */
static void run(const char *group, const char *kernels, double weight, void (*measure)(const bench_case *it)) {
    static text text;
    char plan[512];
    for (const decoding *it = decodings; it < decodings + DECODINGS; it++) {
        if ((bench_settings.smoke && !it->smoke) || !bench_is_wanted(group, it->shape, it->storage) ||
            !bench_turn(group, it->shape, weight * it->weight) || !make_plan(it, plan, sizeof plan) ||
            !text_begin(&text, it, plan, kernels))
            continue;
        const bench_case made = case_of(group, &text);
        measure(&made);
        session_end(&text.session);
    }
}

void bench_decoding(void) {
    run("decode", NULL, 1.0, bench_measure);
}

void bench_decoding_ops(void) {
    run("decode ops", BENCH_TIMED, 0.25, bench_ops);
}
