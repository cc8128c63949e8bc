/* Decode plans (compiler/passes/decode.c, runtime/decode): the scores behind each token of a text have the bits of an
 * evaluation of the same recipe, however the text is cut into steps, with every order of sums, every form of positions
 * and every kernel set of this machine. A length that no session reaches leads to no index outside of its tensor; the
 * sanitizers watch the blocks. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/decode/decode.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

/* Beyond one block of the engines' orders and one tile of queries. */
enum { CONTEXT = 40, CLASSES = 256, SETTINGS_MAX = 8 };

/* Half the bytes are letters, so that keys repeat. */
static int32_t token(uint64_t i) {
    const uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (int32_t)(i % 2 == 0 ? mixed >> 56 : 'a' + (mixed >> 40) % 4);
}

static int read_tokens(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    uint8_t *to = elements;
    (void)context, (void)stream;
    for (uint32_t i = 0; i < count; i++)
        to[i] = (uint8_t)token(first + i);
    return 0;
}

static const firn_segment segment = {CONTEXT};
static const firn_stream stream = {6 /* uint8 */, 1, &segment, 1};
static const firn_source source = {.streams = &stream, .stream_count = 1, .read = read_tokens};

/* --- plans -------------------------------------------------------------------------------------------------------- */

typedef struct form {
    const char *recipe, *target;
    const char *settings[SETTINGS_MAX]; /* of trainer.init, without this beginning */
} form;

static const firnc_recipe *read_form(const form *f, uint32_t count) {
    static const char *const common[] = {
        "trainer.init.model.max_position_embeddings=40", "trainer.init.model.initializer_range=0.4",
        "trainer.fit.train_dataloader.max_sequence_length=40", "trainer.validate.val_dataloader.batch_size=1"};
    const char *settings[SETTINGS_MAX + 4];
    memcpy(settings, common, sizeof common);
    for (uint32_t i = 0; i < count; i++)
        settings[4 + i] = firnc_format("trainer.init.%s", f->settings[i]);
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    assert_true(firnc_recipe_read(recipe, f->recipe, FIRNC_EVAL, settings, 4 + count));
    recipe->job.target = f->target;
    return recipe;
}

static void freeze(compiled_plan *plan, const firnc_recipe *recipe) {
    firnc_compilation compilation = {.job = &recipe->job, .graph = firnc_recipe_build(recipe)};
    compiled_plan_freeze(plan, recipe->job.name, &compilation);
}

/* The evaluation gives the scores of all tokens at once; chunk 0 stands for it. */
static void make_plan(compiled_plan *plan, const form *f, uint32_t chunk) {
    uint32_t count = 0;
    while (count < SETTINGS_MAX && f->settings[count] != NULL)
        count++;
    firnc_recipe *recipe = (firnc_recipe *)(uintptr_t)read_form(f, count);
    if (chunk != 0) {
        assert_true(firnc_recipe_decode(recipe, chunk));
    } else {
        recipe->job.metric = FIRNC_METRIC_NONE;
        recipe->job.check_loss = false;
        recipe->job.outputs[0].name = "logits";
        recipe->job.output_count = 1;
        recipe->job.data = (firnc_data){.window = CONTEXT, .stride = CONTEXT, .batch_size = 1, .micro_batch_size = 1};
    }
    freeze(plan, recipe);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Takes tokens from number `first` on in one step; the chunk is filled up with `fill`. */
static int take(firn_decoder *decoder, uint32_t first, uint32_t count, uint8_t fill, const float **logits) {
    uint8_t ids[CONTEXT];
    memset(ids, fill, sizeof ids);
    for (uint32_t i = 0; i < count && i < CONTEXT; i++)
        ids[i] = (uint8_t)token(first + i);
    return firn_decode(decoder, ids, count, logits);
}

/* Takes the whole text in steps of `step` tokens, whose last scores must be the ones expected. */
static void expect_bits(const float *expected, const compiled_plan *plan, uint32_t chunk, uint32_t step, uint8_t fill) {
    compiled_run run;
    firn_decoder decoder;
    const float *logits;
    assert_int_equal(compiled_run_open(&run, plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_decoder_begin(&decoder, &run.firn), FIRN_OK);
    assert_int_equal(decoder.chunk, chunk);
    assert_int_equal(decoder.context, CONTEXT);
    assert_int_equal(decoder.classes, CLASSES);
    for (uint32_t first = 0; first < CONTEXT; first += step) {
        const uint32_t count = CONTEXT - first < step ? CONTEXT - first : step;
        assert_int_equal(firn_decoder_length(&decoder), first);
        assert_int_equal(take(&decoder, first, count, fill, &logits), FIRN_OK);
        assert_memory_equal(logits, expected + (size_t)(first + count - 1) * CLASSES, CLASSES * sizeof *logits);
    }
    assert_int_equal(firn_decoder_length(&decoder), CONTEXT);
    compiled_run_close(&run);
}

/* The scores of an evaluation in the kernel set that the environment names. Returns false if this machine does not have
 * it. */
static bool evaluate(const compiled_plan *plan, float expected[CONTEXT * CLASSES]) {
    compiled_run run;
    firn_tensor_info output;
    const int error = compiled_run_open(&run, plan, 0);
    if (error == FIRN_ERROR_KERNELS_UNKNOWN) {
        compiled_run_close(&run);
        return false;
    }
    assert_int_equal(error, FIRN_OK);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_eval_step(&run.firn, &source), FIRN_OK);
    assert_int_equal(firn_output(&run.firn, "logits", &output), FIRN_OK);
    assert_int_equal(output.bytes, sizeof(float) * CONTEXT * CLASSES);
    memcpy(expected, output.data, (size_t)output.bytes);
    compiled_run_close(&run);
    return true;
}

static void expect_form(const form *f) {
    static const char *const sets[] = {"plain",      "fma", "avx2", "avx512",  "avx512fp16",
                                       "avx512bf16", "amx", "neon", "neonfp16"};
    compiled_plan eval, one, five;
    static float expected[CONTEXT * CLASSES];
    make_plan(&eval, f, 0);
    make_plan(&one, f, 1);
    make_plan(&five, f, 5);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        assert_int_equal(setenv("FIRN_KERNELS", sets[i], 1), 0);
        if (!evaluate(&eval, expected))
            continue;
        expect_bits(expected, &one, 1, 1, 0);
        expect_bits(expected, &five, 5, 5, 0);
        expect_bits(expected, &five, 5, 3, 255); /* no step is full, and what fills it up has no part */
        expect_bits(expected, &five, 5, 1, 7);
    }
    assert_int_equal(unsetenv("FIRN_KERNELS"), 0);
    compiled_plan_free(&eval);
    compiled_plan_free(&one);
    compiled_plan_free(&five);
}

static const form forms[] = {
    {"compiler/recipes/small_gpt2.yaml", "portable", {"precision.enabled=false"}},
    {"compiler/recipes/small_gpt2.yaml", "portable", {"model.position_embedding_type=alibi", "model.num_heads=4"}},
    {"compiler/recipes/small_gpt2.yaml",
     "portable",
     {"precision.fp16_type=cbfloat16", "precision.precision_opt_level=2", "precision.pol_lowering=emulate"}},
    {"compiler/recipes/small_gpt2.yaml",
     "portable",
     {"precision.fp16_type=float16", "precision.precision_opt_level=2", "precision.pol_lowering=emulate",
      "model.attention_softmax_fp32=false"}},
    {"compiler/recipes/small_gpt2.yaml", "amx-bf16", {"precision.precision_opt_level=1"}},
    {"compiler/recipes/small_gpt2.yaml", "avx512-bf16", {"precision.precision_opt_level=2"}},
    {"compiler/recipes/small_gpt3.yaml", "portable", {NULL}},
    {"compiler/recipes/small_gptj.yaml", "portable", {"precision.precision_opt_level=2"}},
    {"compiler/recipes/small_gpt_neox.yaml", "portable", {"precision.enabled=false"}},
    {"compiler/recipes/small_gpt_neox.yaml", "amx-bf16", {"precision.precision_opt_level=2"}},
    {"compiler/recipes/small_llama.yaml", "portable", {"precision.enabled=false"}},
    {"compiler/recipes/small_llama.yaml", "avx512-bf16", {"precision.precision_opt_level=1"}},
};

TEST(bits) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        print_message("%s %s\n", forms[i].recipe, forms[i].target);
        expect_form(&forms[i]);
    }
}

/* --- the session -------------------------------------------------------------------------------------------------- */

TEST(session) {
    compiled_plan plan;
    compiled_run run;
    firn_decoder decoder;
    const float *logits;
    float first[CLASSES];
    make_plan(&plan, &forms[0], 3);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(firn_decoder_begin(&decoder, &run.firn), FIRN_OK);
    assert_int_equal(take(&decoder, 0, 1, 0, &logits), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_eval_restart(&run.firn), FIRN_ERROR_NO_STATE);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(take(&decoder, 0, 0, 0, &logits), FIRN_ERROR_ARGUMENT);
    assert_int_equal(take(&decoder, 0, 4, 0, &logits), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_decode(&decoder, NULL, 1, &logits), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_decoder_length(&decoder), 0);
    assert_int_equal(take(&decoder, 0, 3, 0, &logits), FIRN_OK);
    memcpy(first, logits, sizeof first);
    for (uint32_t at = 3; at < CONTEXT - 2; at += 3)
        assert_int_equal(take(&decoder, at, 3, 0, &logits), FIRN_OK);
    assert_int_equal(firn_decoder_length(&decoder), CONTEXT - 1);
    uint8_t before[32], after[32];
    assert_int_equal(firn_digest(&run.firn, before), FIRN_OK);
    assert_int_equal(take(&decoder, CONTEXT - 1, 2, 0, &logits), FIRN_ERROR_DATA_END);
    assert_null(logits);
    assert_int_equal(firn_digest(&run.firn, after), FIRN_OK);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(take(&decoder, CONTEXT - 1, 1, 0, &logits), FIRN_OK);
    assert_int_equal(take(&decoder, CONTEXT, 1, 0, &logits), FIRN_ERROR_DATA_END);
    assert_int_equal(firn_eval_restart(&run.firn), FIRN_OK);
    assert_int_equal(firn_decoder_length(&decoder), 0);
    assert_int_equal(take(&decoder, 0, 3, 0, &logits), FIRN_OK);
    assert_memory_equal(first, logits, sizeof first);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}

TEST(other_plans) {
    firn_decoder decoder;
    for (int mode = FIRNC_TRAIN; mode <= FIRNC_EVAL; mode++) {
        compiled_plan plan;
        compiled_run run;
        compiled_plan_make(&plan, "compiler/recipes/small_gpt2.yaml", (firnc_mode)mode, NULL, 0);
        assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
        assert_int_equal(firn_decoder_begin(&decoder, &run.firn), FIRN_ERROR_WRONG_MODE);
        assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
        assert_int_equal(firn_eval_restart(&run.firn), mode == FIRNC_EVAL ? FIRN_OK : FIRN_ERROR_WRONG_MODE);
        compiled_run_close(&run);
        compiled_plan_free(&plan);
    }
    firn empty = {0};
    assert_int_equal(firn_decoder_begin(&decoder, &empty), FIRN_ERROR_NOT_OPEN);
    assert_int_equal(firn_decoder_begin(NULL, &empty), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_eval_restart(&empty), FIRN_ERROR_NOT_OPEN);
}

/* A checkpoint that was made up may hold any length. Steps then compute something, the same each time, and leave
 * nothing but their blocks. */
TEST(any_length) {
    static const int64_t lengths[] = {-1, INT64_MIN, CONTEXT, CONTEXT + 1, INT32_MAX, INT64_C(1) << 40, INT64_MAX};
    static const form positions[] = {
        {"compiler/recipes/small_gpt2.yaml", "amx-bf16", {NULL}},
        {"compiler/recipes/small_llama.yaml", "portable", {NULL}},
        {"compiler/recipes/small_gpt2.yaml", "portable", {"model.position_embedding_type=alibi"}},
    };
    for (size_t f = 0; f < sizeof positions / sizeof positions[0]; f++) {
        compiled_plan plan;
        compiled_run run;
        firn_decoder decoder;
        firn_tensor_info length;
        make_plan(&plan, &positions[f], 5);
        assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
        assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
        assert_int_equal(firn_decoder_begin(&decoder, &run.firn), FIRN_OK);
        assert_int_equal(firn_tensor_at(&run.firn, decoder.length, &length), FIRN_OK);
        assert_string_equal(length.name, "cache.length");
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const uint8_t ids[5] = "words";
            const int32_t count = 5;
            const void *const streams[] = {ids, &count};
            int64_t after;
            memcpy((void *)(uintptr_t)length.data, &lengths[i], sizeof lengths[i]);
            const float *logits;
            assert_int_equal(firn_decode(&decoder, ids, 5, &logits), FIRN_ERROR_DATA_END);
            assert_int_equal(firn_push(&run.firn, streams, 2, 1), FIRN_OK);
            assert_int_equal(firn_eval_step(&run.firn, NULL), FIRN_OK);
            memcpy(&after, length.data, sizeof after);
            assert_int_equal(after, lengths[i] < 0 ? 5 : CONTEXT);
        }
        compiled_run_close(&run);
        compiled_plan_free(&plan);
    }
}

/* A step takes no more tokens than a chunk has, nor ids that the model does not have. */
TEST(ranges) {
    static const form small = {"compiler/recipes/small_gpt2.yaml", "portable", {"model.vocab_size=200"}};
    compiled_plan plan;
    compiled_run run;
    make_plan(&plan, &small, 3);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    const uint8_t good[] = {1, 199, 0}, bad[] = {1, 200, 0};
    const int32_t counts[] = {3, 4, -1};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(firn_push(&run.firn, (const void *const[]){good, &counts[i]}, 2, 1),
                         i == 0 ? FIRN_OK : FIRN_ERROR_DATA_RANGE);
    assert_int_equal(firn_push(&run.firn, (const void *const[]){bad, &counts[0]}, 2, 1), FIRN_ERROR_DATA_RANGE);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

static const char *message;

static void keep_message(void *context, const char *line) {
    (void)context;
    message = firnc_format("%s", line);
}

static bool decodes(const char *file, uint32_t chunk) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    message = "";
    firnc_messages_to(keep_message, NULL);
    assert_true(firnc_recipe_read(recipe, file, FIRNC_EVAL, NULL, 0));
    const bool good = firnc_recipe_decode(recipe, chunk);
    firnc_messages_to(NULL, NULL);
    return good;
}

TEST(refused) {
    static const char *const others[] = {"small_bert", "small_mlp", "small_lenet", "small_cct", "small_autoencoder"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(decodes(firnc_format("compiler/recipes/%s.yaml", others[i]), 1));
        assert_non_null(strstr(message, others[i] + strlen("small_")));
        assert_non_null(strstr(message, "those that do are gpt2, gpt3, gptj, gpt-neox, llama"));
    }
    assert_false(decodes("compiler/recipes/small_gpt2.yaml", 17));
    assert_non_null(strstr(message, "firnc compile --decode-chunk: 17 tokens are more than the model's context"));
    assert_true(decodes("compiler/recipes/small_gpt2.yaml", 16));
}
