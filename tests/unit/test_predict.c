/* Tests predicting beside a training, with plans that firnc makes of one recipe: the outputs of a plan stay until its
 * next step, an evaluation needs no labels where it judges nothing, both plans place the parameters alike whatever the
 * recipe says, and a training that is evaluated between its steps computes what it computes alone. */
#include <math.h>
#include <string.h>

#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

#define INIT  "trainer.init."
#define MODEL "trainer.init.model."
#define FIT   "trainer.fit."
#define VAL   "trainer.validate."

enum { SETTINGS_MAX = 12 };

static const char *const images_recipe = "compiler/recipes/small_mlp.yaml";
static const char *const text_recipe = "compiler/recipes/small_gpt2.yaml";

static compiled_plan train_plan, eval_plan;
static compiled_run trained, alone, predicting;

static uint32_t count_of(const char *const *settings) {
    uint32_t count = 0;
    while (settings[count] != NULL)
        count++;
    return count;
}

static void make(compiled_plan *plan, const char *recipe, firnc_mode mode, const char *const *settings) {
    compiled_plan_make(plan, recipe, mode, settings, count_of(settings));
}

static const float *values_of(const compiled_run *run, const char *name, uint32_t *count) {
    firn_tensor_info output;
    assert_int_equal(firn_output(&run->firn, name, &output), FIRN_OK);
    assert_string_equal(output.name, name);
    assert_int_equal(output.type, FIRN_FLOAT32);
    if (count != NULL)
        *count = (uint32_t)(output.bytes / sizeof(float));
    return output.data;
}

static void train(compiled_run *run) {
    firn_step_report report;
    assert_int_equal(firn_train_step(&run->firn, compiled_source(run), &report), FIRN_OK);
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* The result of a layer is worked on in place, and its bytes are used again, where it is no output. */
TEST(outputs_stay_as_they_were) {
    const char *settings[] = {VAL "metric=none",
                              VAL "outputs=[layers.0,activations.0,layers.1,activations.1,logits,log_probabilities,"
                                  "probabilities]",
                              INIT "precision.enabled=false", MODEL "nonlinearity=relu", NULL};
    make(&eval_plan, images_recipe, FIRNC_EVAL, settings);
    assert_int_equal(compiled_run_open(&predicting, &eval_plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&predicting.firn), FIRN_OK);
    const firn_source *source = compiled_source(&predicting);
    const firn_source unlabelled = {source->context, source->streams, 1, source->read};
    for (int step = 0; step < 2; step++) {
        assert_int_equal(firn_eval_step(&predicting.firn, &unlabelled), FIRN_OK);
        for (int layer = 0; layer < 2; layer++) {
            uint32_t count, negative = 0;
            const float *before = values_of(&predicting, layer == 0 ? "layers.0" : "layers.1", &count);
            const float *after = values_of(&predicting, layer == 0 ? "activations.0" : "activations.1", NULL);
            for (uint32_t i = 0; i < count; i++) {
                assert_true(after[i] == (before[i] > 0 ? before[i] : 0));
                negative += before[i] < 0;
            }
            assert_true(negative > 0);
        }
        const float *logits = values_of(&predicting, "logits", NULL);
        const float *logarithms = values_of(&predicting, "log_probabilities", NULL);
        const float *shares = values_of(&predicting, "probabilities", NULL);
        for (uint32_t row = 0; row < 8; row++) {
            double sum = 0;
            for (uint32_t i = 0; i < 10; i++) {
                sum += (double)shares[10 * row + i];
                assert_true(fabs(exp((double)logarithms[10 * row + i]) - (double)shares[10 * row + i]) < 1e-6);
                const double apart = (double)logits[10 * row + i] - (double)logits[10 * row];
                assert_true(fabs((double)logarithms[10 * row + i] - (double)logarithms[10 * row] - apart) < 1e-5);
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
    }
    compiled_run_close(&predicting);
    compiled_plan_free(&eval_plan);
}

/* Outputs change no bit of the run, and nothing else of the plan's state. */
TEST(outputs_of_a_training_change_nothing) {
    const char *const recipes[] = {images_recipe, text_recipe};
    const char *const outputs[] = {FIT "outputs=[logits,activations.0,layers.1]",
                                   FIT "outputs=[logits,transformer.h.0,transformer.h.1.attn.c_attn]"};
    for (int i = 0; i < 2; i++) {
        const char *with[] = {outputs[i], NULL}, *without[] = {NULL};
        uint8_t first[32], second[32];
        uint32_t count;
        make(&train_plan, recipes[i], FIRNC_TRAIN, with);
        make(&eval_plan, recipes[i], FIRNC_TRAIN, without);
        assert_int_equal(compiled_run_open(&trained, &train_plan, 0), FIRN_OK);
        assert_int_equal(compiled_run_open(&alone, &eval_plan, 0), FIRN_OK);
        assert_int_equal(firn_initialise(&trained.firn), FIRN_OK);
        assert_int_equal(firn_initialise(&alone.firn), FIRN_OK);
        for (int step = 0; step < 3; step++) {
            train(&trained);
            train(&alone);
            const float *logits = values_of(&trained, "logits", &count);
            for (uint32_t v = 0; v < count; v++)
                assert_true(isfinite(logits[v]));
        }
        assert_int_equal(firn_digest(&trained.firn, first), FIRN_OK);
        assert_int_equal(firn_digest(&alone.firn, second), FIRN_OK);
        assert_memory_equal(first, second, 32);
        compiled_run_close(&trained);
        compiled_run_close(&alone);
        compiled_plan_free(&train_plan);
        compiled_plan_free(&eval_plan);
    }
}

/* --- one region of parameters ------------------------------------------------------------------------------------- */

/* Trains with a prediction after each step, over the same parameters, and without; states must be equal. What is
 * predicted stays while the training goes on, and is what an instance predicts that restored a checkpoint. */
static void predicts_between_steps(const char *recipe, const char *const *settings) {
    const char *of_eval[SETTINGS_MAX + 3] = {VAL "metric=none", VAL "outputs=[logits]"};
    for (uint32_t i = 0; i <= count_of(settings); i++)
        of_eval[2 + i] = settings[i];
    uint8_t first[32], second[32];
    static float kept[65536];
    uint32_t count;
    make(&train_plan, recipe, FIRNC_TRAIN, settings);
    make(&eval_plan, recipe, FIRNC_EVAL, of_eval);
    assert_int_equal(compiled_run_open(&trained, &train_plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_open(&alone, &train_plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_open_shared(&predicting, &eval_plan, &trained), FIRN_OK);
    assert_int_equal(firn_initialise(&trained.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&alone.firn), FIRN_OK);
    for (int step = 0; step < 3; step++) {
        train(&trained);
        train(&alone);
        assert_int_equal(firn_initialise(&predicting.firn), FIRN_OK);
        const firn_source *source = compiled_source(&predicting);
        const firn_source unlabelled = {source->context, source->streams, 1, source->read};
        assert_int_equal(firn_eval_step(&predicting.firn, &unlabelled), FIRN_OK);
        const float *logits = values_of(&predicting, "logits", &count);
        assert_true(count <= sizeof kept / sizeof kept[0]);
        if (step > 0)
            assert_memory_not_equal(kept, logits, count * sizeof(float));
        memcpy(kept, logits, count * sizeof(float));
        train(&trained);
        train(&alone);
        assert_memory_equal(kept, logits, count * sizeof(float));
    }
    assert_int_equal(firn_digest(&trained.firn, first), FIRN_OK);
    assert_int_equal(firn_digest(&alone.firn, second), FIRN_OK);
    assert_memory_equal(first, second, 32);
    compiled_run_close(&predicting);
    compiled_run_close(&trained);
    compiled_run_close(&alone);
    compiled_plan_free(&train_plan);
    compiled_plan_free(&eval_plan);
}

#define OPTIMIZER INIT "optimizer="

/* The parameters lie alike with every optimizer, precision and form of a model: no two plans of one recipe refuse each
 * other with OTHER_OWNER. */
TEST(plans_of_one_recipe_share) {
    static const char *const optimizers[] = {
        "{SGD: {}}",   "{AdamW: {lr: 0.001}}",  "{Adam: {amsgrad: true}}",
        "{RAdam: {}}", "{NAdam: {lr: 0.001}}",  "{Adamax: {lr: 0.001}}",
        "{Lamb: {}}",  "{Lion: {lr: 0.001}}",   "{RMSprop: {centered: true}}",
        "{Rprop: {}}", "{Adagrad: {lr: 0.01}}", "{Adadelta: {lr: 0.1}}",
        "{ASGD: {}}",  "{Adafactor: {}}",       "{SGD: {momentum: 0.9}}",
    };
    static const char *const precisions[] = {INIT "precision.enabled=false", INIT "precision.fp16_type=float16",
                                             INIT "precision.fp16_type=bfloat16", INIT "precision.fp16_type=cbfloat16",
                                             INIT "precision.loss_scaling_factor=dynamic"};
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++) {
        const char *settings[] = {firnc_format(OPTIMIZER "%s", optimizers[i]), MODEL "nonlinearity=tanh",
                                  precisions[i % 5], NULL};
        predicts_between_steps(images_recipe, settings);
    }
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        const char *const forms[] = {MODEL "share_embedding_weights=false", MODEL "position_embedding_type=rotary",
                                     MODEL "use_bias_in_output=true", MODEL "dropout_rate=0.0",
                                     MODEL "use_ffn_bias=false"};
        const char *settings[] = {precisions[i], forms[i], i == 1 ? MODEL "rotary_dim=4" : forms[i], NULL};
        predicts_between_steps(text_recipe, settings);
    }
    const char *pushing[] = {FIT "train_dataloader.held_out_per_mille=0", FIT "train_dataloader.micro_batch_size=2",
                             MODEL "hidden_sizes=[9]", NULL};
    predicts_between_steps(images_recipe, pushing);
}

/* --- runs without an end ------------------------------------------------------------------------------------------ */

TEST(a_run_without_an_end_goes_on) {
    const char *endless[] = {INIT "loop.num_steps=unlimited", NULL}, *short_run[] = {INIT "loop.num_steps=3", NULL};
    firn_step_report report;
    firn_info info;
    uint8_t first[32], second[32];
    make(&train_plan, images_recipe, FIRNC_TRAIN, endless);
    make(&eval_plan, images_recipe, FIRNC_TRAIN, short_run);
    assert_int_equal(compiled_run_open(&trained, &train_plan, 0), FIRN_OK);
    assert_int_equal(compiled_run_open(&alone, &eval_plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&trained.firn), FIRN_OK);
    assert_int_equal(firn_initialise(&alone.firn), FIRN_OK);
    for (int step = 0; step < 3; step++) {
        train(&trained);
        train(&alone);
    }
    assert_int_equal(firn_digest(&trained.firn, first), FIRN_OK);
    assert_int_equal(firn_digest(&alone.firn, second), FIRN_OK);
    assert_memory_equal(first, second, 32);
    assert_int_equal(firn_train_step(&alone.firn, compiled_source(&alone), &report), FIRN_ERROR_RUN_COMPLETE);
    train(&trained);
    assert_int_equal(firn_describe(&trained.firn, &info), FIRN_OK);
    assert_int_equal(info.steps, 0);
    compiled_run_close(&trained);
    compiled_run_close(&alone);
    compiled_plan_free(&train_plan);
    compiled_plan_free(&eval_plan);
}
