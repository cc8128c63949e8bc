/* The scores of decode plans are those of Hugging Face's transformers in float64 with the same weights, within 1e-5,
 * for GPT-2, GPT-J, GPT-NeoX and Llama (tests/golden/decode_logits.py). That they have the bits of an evaluation tests
 * test_decode.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/decode/decode.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

enum { LENGTH = 16, CLASSES_MAX = 256, PLACES = 4, KEYS_MAX = 600 };

#define SIZES                                                                                                          \
    "vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 4, filter_size: 64, max_position_embeddings: " \
    "16"

static const struct {
    const char *name, *weights, *keys;
} models[] = {
    {"gpt2", "gpt2_training",
     "vocab_size: 256, hidden_size: 32, num_hidden_layers: 2, num_heads: 2, max_position_embeddings: 16"},
    {"gptj", "transformers_gptj", "rotary_dim: 4, " SIZES},
    {"gpt-neox", "transformers_gpt_neox", "rotary_pct: 0.5, " SIZES},
    {"llama", "transformers_llama",
     "attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}, layer_norm_epsilon: "
     "1.0e-5, " SIZES},
};

static void make_plan(compiled_plan *plan, size_t model, uint32_t chunk) {
    const char *settings[] = {firnc_format("trainer.init.model={name: %s, %s}", models[model].name, models[model].keys),
                              "trainer.init.precision={enabled: false}",
                              "trainer.fit.train_dataloader={batch_size: 4}"};
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    assert_true(firnc_recipe_read(recipe, "tests/end_to_end/gpt2_training.yaml", FIRNC_EVAL, settings, 3));
    recipe->job.weights = firnc_format("tests/golden/%s.safetensors", models[model].weights);
    assert_true(firnc_recipe_decode(recipe, chunk));
    firnc_compilation compilation = {.job = &recipe->job, .graph = firnc_recipe_build(recipe)};
    compiled_plan_freeze(plan, models[model].name, &compilation);
}

/* Compares the scores behind a token with a line of the file. Returns the largest difference. */
static double compare(FILE *golden, uint32_t place, const float *logits, uint32_t classes) {
    double worst = 0;
    unsigned wanted_place;
    assert_int_equal(fscanf(golden, "%u", &wanted_place), 1);
    assert_int_equal(wanted_place, place);
    for (uint32_t i = 0; i < classes; i++) {
        double wanted;
        assert_int_equal(fscanf(golden, "%lf", &wanted), 1);
        worst = fmax(worst, fabs((double)logits[i] - wanted));
    }
    return worst;
}

/* Takes the text in steps of a token, or of the five to the next place. */
static void expect_scores(size_t model, uint32_t chunk) {
    static const uint32_t places[PLACES] = {0, 5, 10, 15};
    FILE *golden = fopen("tests/golden/decode_logits.golden", "r");
    compiled_plan plan;
    compiled_run run;
    firn_decoder decoder;
    const float *logits = NULL;
    char name[16] = "";
    unsigned classes = 0;
    uint8_t ids[LENGTH];
    double worst = 0;
    assert_non_null(golden);
    while (strcmp(name, models[model].name) != 0)
        assert_int_equal(fscanf(golden, "%15s", name), 1);
    assert_int_equal(fscanf(golden, "%u", &classes), 1);
    for (uint32_t i = 0; i < LENGTH; i++) {
        unsigned id;
        assert_int_equal(fscanf(golden, "%u", &id), 1);
        ids[i] = (uint8_t)id;
    }
    make_plan(&plan, model, chunk);
    assert_int_equal(compiled_run_open(&run, &plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&run.firn), FIRN_OK);
    assert_int_equal(firn_decoder_begin(&decoder, &run.firn), FIRN_OK);
    assert_int_equal(decoder.classes, classes);
    for (uint32_t i = 0, at = 0; i < PLACES; i++) {
        while (at <= places[i]) {
            const uint32_t left = places[i] + 1 - at, count = left < chunk ? left : chunk;
            uint8_t step[LENGTH] = {0};
            memcpy(step, ids + at, count);
            assert_int_equal(firn_decode(&decoder, step, count, &logits), FIRN_OK);
            at += count;
        }
        worst = fmax(worst, compare(golden, places[i], logits, classes));
    }
    if (!(worst <= 1e-5))
        fail_msg("%s, steps of %u: %.2e from transformers", models[model].name, (unsigned)chunk, worst);
    compiled_run_close(&run);
    compiled_plan_free(&plan);
    fclose(golden);
}

TEST(scores_are_those_of_transformers) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        expect_scores(i, 1);
        expect_scores(i, 5);
    }
}
