/* Tests recipes: what is accepted, which defaults are filled in, and that refusals and warnings name the file, the
 * line, the key and the remedy (tests/unit/recipe.cases). Runs from the root of the repository. */
#define _XOPEN_SOURCE 700

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/text.h"
#include "compiler/keys/spelling.h"
#include "compiler/keys/tree.h"
#include "compiler/models/gpt2.h"
#include "compiler/models/mlp.h"
#include "compiler/models/transformer.h"
#include "compiler/recipe/recipe.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_capture.h"
#include "tests/unit/support_cases.h"
#include "tests/unit/support_test.h"

/* A minimal recipe. Tests rely on its line numbers. */
static const char minimal[] = "trainer:\n"                   /* 1 */
                              "  init:\n"                    /* 2 */
                              "    seed: 7\n"                /* 3 */
                              "    model:\n"                 /* 4 */
                              "      name: gpt2\n"           /* 5 */
                              "      vocab_size: 256\n"      /* 6 */
                              "      hidden_size: 32\n"      /* 7 */
                              "      num_hidden_layers: 2\n" /* 8 */
                              "      num_heads: 4\n"         /* 9 */
                              "      max_position_embeddings: 64\n"
                              "    optimizer:\n"            /* 11 */
                              "      AdamW:\n"              /* 12 */
                              "        lr: 0.001\n"         /* 13 */
                              "    precision:\n"            /* 14 */
                              "      fp16_type: bfloat16\n" /* 15 */
                              "    loop:\n"                 /* 16 */
                              "      num_steps: 100\n"      /* 17 */
                              "  fit:\n"                    /* 18 */
                              "    train_dataloader:\n"     /* 19 */
                              "      batch_size: 8\n";      /* 20 */

static const char mlp[] = "trainer:\n"
                          "  init:\n"
                          "    model: {name: mlp, input_size: 6, hidden_sizes: [5, 4], output_size: 3}\n"
                          "    optimizer: {sgd: {momentum: 0.5, lr: 0.25}}\n"
                          "    loop: {max_steps: 10}\n"
                          "  fit:\n"
                          "    train_dataloader: {batch_size: 4}\n";

/* Returns the text with the first occurrence of `from` replaced. */
static const char *edited(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    return firnc_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static char file_name[] = P_tmpdir "/firn-recipe-XXXXXX";
static char message[8192];

BEFORE_ALL {
    int file = mkstemp(file_name);
    assert_true(file >= 0 && close(file) == 0);
}

AFTER_ALL {
    assert_int_equal(unlink(file_name), 0);
}

/* Reads a recipe; everything written to stderr is stored in `message`. */
static bool read_file(firnc_recipe *recipe, const char *name, firnc_mode mode, const char *const *settings,
                      uint32_t count) {
    support_capture_begin(STDERR_FILENO);
    const bool good = firnc_recipe_read(recipe, name, mode, settings, count);
    support_capture_end(message, sizeof message);
    return good;
}

static bool read_text(firnc_recipe *recipe, const char *text, firnc_mode mode, const char *const *settings,
                      uint32_t count) {
    FILE *file = fopen(file_name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    return read_file(recipe, file_name, mode, settings, count);
}

static firnc_recipe *accepted_set(const char *text, firnc_mode mode, const char *const *settings, uint32_t count) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (!read_text(recipe, text, mode, settings, count))
        fail_msg("refused: %s", message);
    return recipe;
}

static firnc_recipe *accepted(const char *text, firnc_mode mode) {
    return accepted_set(text, mode, NULL, 0);
}

static firnc_recipe *set(const char *setting) {
    return accepted_set(minimal, FIRNC_TRAIN, &setting, 1);
}

static const firnc_transformer *gpt2_of(const firnc_recipe *recipe) {
    assert_ptr_equal(recipe->model, &firnc_model_gpt2);
    return recipe->settings;
}

static const firnc_mlp *mlp_of(const firnc_recipe *recipe) {
    assert_ptr_equal(recipe->model, &firnc_model_mlp);
    return recipe->settings;
}

/* Asserts that the message is one line that begins with the file and `place` and contains every one of the words. */
static void expect_message(const char *place, const char *words) {
    const char *start = firnc_format("firnc: %s%s", file_name, place);
    if (strncmp(message, start, strlen(start)) != 0)
        fail_msg("expected a message that begins with %s, got %s", start, message);
    if (strstr(message, words) == NULL)
        fail_msg("expected %s in %s", words, message);
    assert_int_equal(strcspn(message, "\n") + 1, strlen(message));
    assert_non_null(strchr(message, ';')); /* the remedy */
}

static void refused(const char *text, firnc_mode mode, const char *place, const char *words) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (read_text(recipe, text, mode, NULL, 0))
        fail_msg("accepted, although %s was expected", words);
    expect_message(place, words);
}

/* Expects a refusal of the minimal recipe with one piece replaced. */
static void refused_edit(const char *from, const char *to, const char *place, const char *words) {
    refused(edited(minimal, from, to), FIRNC_TRAIN, place, words);
}

static void refused_set(const char *setting, const char *place, const char *words) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    if (read_text(recipe, minimal, FIRNC_TRAIN, &setting, 1))
        fail_msg("accepted: %s", setting);
    expect_message(place, words);
}

/* --- defaults ----------------------------------------------------------------------------------------------------- */

TEST(what_is_left_out_has_the_reference_s_default) {
    const firnc_recipe *r = accepted(minimal, FIRNC_TRAIN);
    assert_int_equal(r->job.seed, 7);
    assert_int_equal(r->job.steps, 100);
    assert_true(r->job.check_loss);
    assert_int_equal(gpt2_of(r)->filter_size, 128);
    assert_int_equal(r->job.data.window, 65);
    assert_int_equal(gpt2_of(r)->nonlinearity, FIRNC_GELU);
    assert_true(gpt2_of(r)->share_embedding_weights && gpt2_of(r)->use_ffn_bias &&
                gpt2_of(r)->use_ffn_bias_in_attention && gpt2_of(r)->use_projection_bias_in_attention &&
                gpt2_of(r)->attention_softmax_fp32);
    assert_false(gpt2_of(r)->use_bias_in_output);
    assert_float_equal(gpt2_of(r)->dropout_rate, 0.1F, 0);
    assert_float_equal(gpt2_of(r)->embedding_dropout_rate, 0.1F, 0);
    assert_float_equal(gpt2_of(r)->layer_norm_epsilon, 1e-5F, 0);
    assert_float_equal(gpt2_of(r)->initializer_range, 0.02F, 0);
    assert_float_equal(r->job.optimizer.beta1, 0.9F, 0);
    assert_float_equal(r->job.optimizer.beta2, 0.999F, 0);
    assert_float_equal(r->job.optimizer.epsilon, 1e-6F, 0);
    assert_float_equal(r->job.optimizer.weight_decay, 0, 0);
    assert_true(r->job.optimizer.correct_bias);
    assert_true(r->job.precision.mixed);
    assert_int_equal(r->job.precision.level, 1);
    assert_false(r->job.precision.emulate);
    assert_int_equal(r->job.precision.gradient_type, FIRN_BFLOAT16);
    assert_int_equal(r->job.precision.scaling, FIRNC_SCALING_NONE);
    assert_int_equal(r->job.precision.clipping, FIRN_FB_CLIPPING_NONE);
    assert_int_equal(r->job.data.micro_batch_size, 8);
    assert_int_equal(r->job.data.stride, 64);
    assert_int_equal(r->job.data.shuffle_seed, 7);
    assert_true(r->job.data.wrap && r->job.data.window && !r->job.data.shuffle && !r->job.data.held_out);
    assert_int_equal(r->job.schedule.count, 1);
    assert_int_equal(r->job.schedule.nodes[0].kind, FIRN_SCHEDULE_CONSTANT);
    assert_true(r->job.schedule.nodes[0].initial == 0.001);
}

TEST(dropouts_have_their_rates) {
    static const char *const texts[] = {"0", "0.1", "0.25", "0.9"};
    static const float rates[] = {0, 0.1F, 0.25F, 0.9F};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const char *model = "trainer.init.model.%sdropout_rate=%s";
        const firnc_transformer *all = gpt2_of(set(firnc_format(model, "", texts[i])));
        assert_float_equal(all->dropout_rate, rates[i], 0);
        assert_float_equal(all->residual_dropout_rate, rates[i], 0);
        assert_float_equal(all->embedding_dropout_rate, rates[i], 0);
        assert_float_equal(all->attention_dropout_rate, 0.1F, 0);
        const firnc_transformer *one = gpt2_of(set(firnc_format(model, "residual_", texts[i])));
        assert_float_equal(one->residual_dropout_rate, rates[i], 0);
        one = gpt2_of(set(firnc_format(model, "attention_", texts[i])));
        assert_float_equal(one->attention_dropout_rate, rates[i], 0);
        one = gpt2_of(set(firnc_format(model, "embedding_", texts[i])));
        assert_float_equal(one->embedding_dropout_rate, rates[i], 0);
        const firnc_recipe *layers = accepted(
            edited(mlp, "output_size: 3", firnc_format("output_size: 3, dropout_rate: %s", texts[i])), FIRNC_TRAIN);
        assert_float_equal(mlp_of(layers)->dropout_rate, rates[i], 0);
    }
}

TEST(dropout_of_embeddings_follows_dropout) {
    assert_float_equal(gpt2_of(set("trainer.init.model.dropout_rate=0.5"))->embedding_dropout_rate, 0.5F, 0);
    assert_float_equal(gpt2_of(set("trainer.init.model.embedding_dropout_rate=0"))->embedding_dropout_rate, 0, 0);
}

TEST(rotary_positions_are_read) {
    const firnc_transformer *usual = accepted(minimal, FIRNC_TRAIN)->settings;
    assert_int_equal(usual->position_embedding, FIRNC_POSITIONS_LEARNED);
    const firnc_transformer *r = set("trainer.init.model.position_embedding_type=rotary")->settings;
    assert_int_equal(r->position_embedding, FIRNC_POSITIONS_ROTARY);
    assert_int_equal(r->rotary_dim, 2); /* a quarter of a head's elements */
    assert_float_equal(r->rope_theta, 10000, 0);
    const char *text = edited(minimal, "num_heads: 4",
                              "num_heads: 4\n      position_embedding_type: rotary\n"
                              "      rotary_dim: 8\n      rope_theta: 5.0e+5");
    r = accepted(text, FIRNC_EVAL)->settings;
    assert_int_equal(r->rotary_dim, 8);
    assert_float_equal(r->rope_theta, 500000, 0);
    accepted(edited(minimal, "num_heads: 4", "num_heads: 4\n      rotary_dim: null"), FIRNC_TRAIN);
}

TEST(an_mlp_is_read) {
    const firnc_recipe *r = accepted(mlp, FIRNC_TRAIN);
    assert_string_equal(r->model->name, "mlp");
    assert_int_equal(mlp_of(r)->hidden_count, 2);
    assert_int_equal(mlp_of(r)->hidden_sizes[1], 4);
    assert_int_equal(mlp_of(r)->activation, FIRNC_RELU);
    assert_int_equal(r->job.steps, 10);
    assert_int_equal(r->job.optimizer.kind, FIRNC_SGD);
    assert_float_equal(r->job.optimizer.momentum, 0.5F, 0);
    assert_int_equal(r->elements.feature, FIRN_UINT8);
    assert_int_equal(r->elements.label, FIRN_UINT8);
    assert_float_equal(r->elements.feature_scale, 1, 0);
    assert_int_equal(accepted(mlp, FIRNC_EVAL)->job.metric, FIRNC_METRIC_ACCURACY);
    const char *squared = edited(mlp, "output_size: 3", "output_size: 3, loss: mean_squared_error");
    assert_int_equal(accepted(squared, FIRNC_TRAIN)->elements.label, FIRN_FLOAT32);
    assert_int_equal(accepted(squared, FIRNC_EVAL)->job.metric, FIRNC_METRIC_LOSS);
}

static const firnc_recipe *with_loss(const char *settings, firnc_mode mode) {
    return accepted(edited(mlp, "output_size: 3", firnc_format("output_size: 3, %s", settings)), mode);
}

TEST(losses_are_read) {
    static const struct {
        const char *settings;
        firnc_loss_kind kind;
    } losses[] = {{"loss: cross_entropy", FIRNC_LOSS_CROSS_ENTROPY},
                  {"loss: mean_squared_error", FIRNC_LOSS_MEAN_SQUARED_ERROR},
                  {"loss: l1", FIRNC_LOSS_L1},
                  {"loss: huber, delta: 0.5", FIRNC_LOSS_HUBER},
                  {"loss: smooth_l1, beta: 0.5", FIRNC_LOSS_SMOOTH_L1},
                  {"loss: binary_cross_entropy_with_logits", FIRNC_LOSS_BINARY_CROSS_ENTROPY},
                  {"loss: nll", FIRNC_LOSS_NLL},
                  {"loss: kl_divergence, log_target: true, reduction: batchmean", FIRNC_LOSS_KL_DIVERGENCE}};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        const firnc_recipe *r = with_loss(losses[i].settings, FIRNC_TRAIN);
        bool classes = losses[i].kind == FIRNC_LOSS_CROSS_ENTROPY || losses[i].kind == FIRNC_LOSS_NLL;
        assert_int_equal(mlp_of(r)->losses.kind, losses[i].kind);
        assert_int_equal(r->elements.label, classes ? FIRN_UINT8 : FIRN_FLOAT32);
        assert_int_equal(with_loss(losses[i].settings, FIRNC_EVAL)->job.metric,
                         classes ? FIRNC_METRIC_ACCURACY : FIRNC_METRIC_LOSS);
    }
    assert_float_equal(mlp_of(with_loss("loss: huber, delta: 0.5", FIRNC_TRAIN))->losses.huber_threshold, 0.5, 0);
    assert_float_equal(mlp_of(with_loss("loss: smooth_l1", FIRNC_TRAIN))->losses.huber_threshold, 1, 0);
    assert_true(mlp_of(with_loss("loss: kl_divergence, reduction: batchmean", FIRNC_TRAIN))->losses.batch_mean);
    const firnc_cross_entropy_options *o =
        &mlp_of(with_loss("label_smoothing: 0.1, ignore_index: 2, loss_scaling: batch_size, loss_weight: 0.5, "
                          "sample_weights: true",
                          FIRNC_TRAIN))
             ->losses.cross_entropy;
    assert_true(o->ignores && o->batch_size && o->ignore_index == 2);
    assert_float_equal(o->label_smoothing, 0.1F, 0);
    assert_float_equal(o->loss_weight, 0.5, 0);
    const firnc_recipe *words = accepted(
        edited(minimal, "num_heads: 4", "num_heads: 4\n      loss_scaling: batch_size\n      loss_weight: 0.25"),
        FIRNC_TRAIN);
    assert_true(gpt2_of(words)->loss.batch_size && !gpt2_of(words)->loss.ignores);
    assert_float_equal(gpt2_of(words)->loss.loss_weight, 0.25, 0);
    const char *bytes = edited(edited(mlp, "output_size: 3", "output_size: 3, loss: binary_cross_entropy_with_logits"),
                               "batch_size: 4", "batch_size: 4, label_type: uint8");
    assert_int_equal(accepted(bytes, FIRNC_TRAIN)->elements.label, FIRN_UINT8);
}

static const char *with_metric(const char *model, const char *metric) {
    return firnc_format("%s  validate:\n    metric: %s\n", edited(mlp, "output_size: 3", model), metric);
}

TEST(metrics_are_read) {
    static const struct {
        const char *model, *metric;
        firnc_metric kind;
    } metrics[] = {{"output_size: 3", "accuracy", FIRNC_METRIC_ACCURACY},
                   {"output_size: 3", "[perplexity]", FIRNC_METRIC_PERPLEXITY},
                   {"output_size: 3", "mean", FIRNC_METRIC_MEAN},
                   {"output_size: 3", "mean_per_class_accuracy", FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY},
                   {"output_size: 3", "{AccuracyMetric: {num_classes: 3}}", FIRNC_METRIC_ACCURACY},
                   {"output_size: 3", "{MeanIOUMetric: {ignore_classes: [0, 2]}}", FIRNC_METRIC_MEAN_IOU},
                   {"output_size: 3", "[{dicecoefficientmetric: null}]", FIRNC_METRIC_DICE},
                   {"output_size: 3", "{fbeta: {beta: 2, average_type: macro}}", FIRNC_METRIC_F_BETA},
                   {"output_size: 2", "auc", FIRNC_METRIC_AUC},
                   {"output_size: 1, loss: binary_cross_entropy_with_logits", "auc", FIRNC_METRIC_AUC},
                   {"output_size: 3, loss: huber", "mean_squared_error", FIRNC_METRIC_MEAN_SQUARED_ERROR}};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        assert_int_equal(accepted(with_metric(metrics[i].model, metrics[i].metric), FIRNC_EVAL)->job.metric,
                         metrics[i].kind);
    const firnc_recipe *r = accepted(
        with_metric("output_size: 3", "{fbeta: {beta: 2, average_type: macro, ignore_classes: [1]}}"), FIRNC_EVAL);
    assert_float_equal(r->job.metric_beta, 2, 0);
    assert_true(r->job.metric_macro && r->job.metric_ignored_count == 1 && r->job.metric_ignored[0] == 1);
}

TEST(an_eval_plan_reads_what_training_never_saw) {
    const char *text = edited(minimal, "batch_size: 8\n",
                              "batch_size: 8\n      micro_batch_size: 2\n      stride: 3\n      shuffle: true\n"
                              "      held_out_per_mille: 50\n");
    const firnc_recipe *train = accepted(text, FIRNC_TRAIN), *eval = accepted(text, FIRNC_EVAL);
    assert_int_equal(train->job.data.micro_batch_size, 2);
    assert_int_equal(train->job.data.stride, 3);
    assert_false(train->job.data.held_out);
    assert_int_equal(eval->job.data.batch_size, 8);
    assert_int_equal(eval->job.data.micro_batch_size, 8);
    assert_int_equal(eval->job.data.stride, 64);
    assert_int_equal(eval->job.data.held_out_per_mille, 50);
    assert_true(eval->job.data.held_out && !eval->job.data.wrap && !eval->job.data.shuffle);
    assert_int_equal(eval->job.steps, 0);
    assert_int_equal(eval->job.metric, FIRNC_METRIC_PERPLEXITY);
    const char *own = firnc_format("%s  validate:\n    metric: loss\n    val_dataloader:\n      batch_size: 3\n", text);
    assert_int_equal(accepted(own, FIRNC_EVAL)->job.data.batch_size, 3);
    assert_int_equal(accepted(own, FIRNC_EVAL)->job.metric, FIRNC_METRIC_LOSS);
}

TEST(scaled_bytes_may_be_float32_in_evaluation) {
    const char *text = edited(mlp, "batch_size: 4", "batch_size: 4, feature_scale: 0.5, feature_shift: -1");
    const firnc_elements eval = accepted(text, FIRNC_EVAL)->elements;
    assert_float_equal(eval.feature_scale, 0.5, 0);
    assert_float_equal(eval.feature_shift, -1, 0);
    text = firnc_format("%s  validate:\n    val_dataloader: {feature_type: float32}\n", text);
    const firnc_elements train = accepted(text, FIRNC_TRAIN)->elements, other = accepted(text, FIRNC_EVAL)->elements;
    assert_float_equal(train.feature_scale, 0.5, 0);
    assert_int_equal(other.feature, FIRN_FLOAT32);
    assert_float_equal(other.feature_scale, 1, 0);
    assert_float_equal(other.feature_shift, 0, 0);
}

/* --- precision ---------------------------------------------------------------------------------------------------- */

static firnc_precision precision(const char *keys) {
    return accepted(edited(minimal, "fp16_type: bfloat16", keys), FIRNC_TRAIN)->job.precision;
}

TEST(dynamic_scaling_has_the_reference_s_defaults) {
    firnc_precision p = precision("fp16_type: float16\n      loss_scaling_factor: dynamic");
    assert_int_equal(p.scaling, FIRNC_SCALING_DYNAMIC);
    assert_float_equal(p.initial_loss_scale, 32768, 0);
    assert_float_equal(p.max_loss_scale, 32768, 0);
    assert_float_equal(p.min_loss_scale, 0x1p-14F, 0);
    assert_int_equal(p.steps_per_increase, 2000);
    assert_float_equal(p.overflow_tolerance, 0, 0);
    p = precision("fp16_type: cbfloat16\n      loss_scaling_factor: dynamic");
    assert_float_equal(p.initial_loss_scale, 0x1p31F, 0);
    p = precision("loss_scaling_factor: dynamic\n      initial_loss_scale: 65536");
    assert_float_equal(p.initial_loss_scale, 32768, 0);
    p = precision("fp16_type: float16\n      loss_scaling_factor: dynamic\n      max_loss_scale: 1024.0");
    assert_float_equal(p.initial_loss_scale, 1024, 0); /* min(max, initial) */
    p = precision("fp16_type: float16\n      loss_scaling_factor: dynamic\n      initial_loss_scale: 8\n"
                  "      min_loss_scale: 8");
    assert_float_equal(p.initial_loss_scale, 8, 0);
}

TEST(static_scaling_is_a_number_other_than_one) {
    assert_int_equal(precision("loss_scaling_factor: 1.0").scaling, FIRNC_SCALING_NONE);
    assert_int_equal(precision("loss_scaling_factor: null").scaling, FIRNC_SCALING_NONE);
    firnc_precision p = precision("loss_scaling_factor: 128");
    assert_int_equal(p.scaling, FIRNC_SCALING_STATIC);
    assert_float_equal(p.initial_loss_scale, 128, 0);
}

TEST(float32_needs_no_scaling) {
    firnc_precision p = precision("enabled: false\n      loss_scaling_factor: dynamic\n      max_gradient_norm: 2");
    assert_false(p.mixed);
    assert_int_equal(p.scaling, FIRNC_SCALING_NONE);
    assert_int_equal(p.gradient_type, FIRN_FLOAT32);
    assert_int_equal(p.clipping, FIRN_FB_CLIPPING_NORM);
    assert_float_equal(p.clip_threshold, 2, 0);
}

TEST(cbfloat16_without_dynamic_scaling_is_warned_of) {
    (void)precision("fp16_type: cbfloat16");
    assert_non_null(strstr(message, "warning: cbfloat16"));
    (void)precision("fp16_type: cbfloat16\n      loss_scaling_factor: dynamic");
    assert_string_equal(message, "");
}

TEST(patterns_keep_their_order_and_lines) {
    firnc_precision p = precision("pol:\n"
                                  "        - {pattern: 'transformer.h.*', level: 2, bwd_level: 0}\n"
                                  "        - {pattern: lm_head, bwd_level: 1, enable_fwd: false}");
    assert_int_equal(p.pattern_count, 2);
    assert_string_equal(p.patterns[0].pattern, "transformer.h.*");
    assert_int_equal(p.patterns[0].pol.level, 2);
    assert_int_equal(p.patterns[0].pol.bwd_level, 0);
    assert_int_equal(p.patterns[0].place.line, 16);
    assert_string_equal(p.patterns[0].place.path, "trainer.init.precision.pol.0.pattern");
    assert_int_equal(p.patterns[1].pol.level, FIRNC_UNSET);
    assert_false(p.patterns[1].pol.enable_fwd);
    assert_true(p.patterns[1].pol.enable_bwd);
}

TEST(the_model_may_say_the_precision) {
    const char *text = edited(minimal, "fp16_type: bfloat16", "max_gradient_value: 1");
    text = edited(text, "name: gpt2", "name: gpt2\n      fp16_type: float16");
    assert_int_equal(accepted(text, FIRNC_TRAIN)->job.precision.half, FIRN_FLOAT16);
    text = edited(minimal, "name: gpt2", "name: gpt2\n      mixed_precision: false");
    assert_false(accepted(text, FIRNC_TRAIN)->job.precision.mixed);
}

/* --- schedules ---------------------------------------------------------------------------------------------------- */

static const char *with_schedule(const char *lines) {
    return edited(minimal, "    precision:\n", firnc_format("    schedulers:\n%s    precision:\n", lines));
}

TEST(a_sequence_is_laid_out_after_its_parent) {
    const firnc_recipe *r = accepted(
        with_schedule("      - sequential:\n"
                      "          milestones: [10, 30]\n"
                      "          schedulers:\n"
                      "            - linear: {initial_learning_rate: 0, end_learning_rate: 1e-3, total_iters: 10}\n"
                      "            - SequentialLR:\n"
                      "                schedulers:\n"
                      "                  - ConstantLR: {learning_rate: 1e-3, total_iters: 5}\n"
                      "                  - COSINEDECAYLR: {initial_learning_rate: 1e-3, end_learning_rate: 1e-4, "
                      "total_iters: 15}\n"
                      "            - Constant: {learning_rate: 1e-4}\n"),
        FIRNC_TRAIN);
    assert_int_equal(r->job.schedule.count, 6);
    const firn_schedule_node *nodes = r->job.schedule.nodes;
    assert_int_equal(nodes[0].kind, FIRN_SCHEDULE_SEQUENTIAL);
    assert_int_equal(nodes[0].child_count, 3);
    assert_int_equal(nodes[0].first_child, 1);
    assert_int_equal(nodes[2].start, 10);
    assert_int_equal(nodes[2].first_child, 4);
    assert_int_equal(nodes[3].start, 30);
    assert_int_equal(nodes[5].start, 5);
    firn_schedule_list list = firnc_job_schedules(&r->job);
    assert_int_equal(firn_schedule_check(&list), 0);
    assert_true(firn_schedule_value(&list, 0, 0) == 0);
    assert_true(firn_schedule_value(&list, 0, 10) == 1e-3F);
    assert_true(firn_schedule_value(&list, 0, 1000) == 1e-4F);
}

/* The learning rate of a recipe at a step. */
static float rate_at(const firnc_recipe *r, uint64_t step) {
    firn_schedule_list list = firnc_job_schedules(&r->job);
    return firn_schedule_value(&list, r->job.schedule.roots[0].node, step);
}

static const char *with_older(const char *learning_rate) {
    return edited(minimal, "lr: 0.001", firnc_format("learning_rate: %s", learning_rate));
}

TEST(the_older_layout_is_understood) {
    static const char pieces[] =
        "{scheduler: Linear, initial_learning_rate: 0, end_learning_rate: 0.5, total_iters: 10}, "
        "{scheduler: constantlr, learning_rate: 0.25}";
    const firnc_recipe *r = accepted(with_older(firnc_format("[%s]", pieces)), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.25F && rate_at(r, 9) == 0.45F && rate_at(r, 10) == 0.25F);
    r = accepted(with_older(firnc_format("{main_scheduler: sequential, schedulers: [%s]}", pieces)), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.25F && rate_at(r, 10) == 0.25F);
    r = accepted(with_older(firnc_format("{main_scheduler: chained, schedulers: [%s]}", pieces)), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.25F && rate_at(r, 10) == 0.5F);
    r = accepted(with_older(firnc_format("[{main_scheduler: chained, %s]", pieces + 1)), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.25F && rate_at(r, 10) == 0.5F);
    r = accepted(with_older("[{scheduler: Constant, learning_rate: 0.125}]"), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.125F);
    r = accepted(with_older("{scheduler: Constant, learning_rate: 0.125}"), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.125F);
    r = accepted(with_older("0.125"), FIRNC_TRAIN);
    assert_true(rate_at(r, 5) == 0.125F);
}

TEST(milestones_may_end_a_schedule) {
    const firnc_recipe *r = accepted(
        with_schedule("      - SequentialLR:\n"
                      "          milestones: [10, 15]\n"
                      "          schedulers:\n"
                      "            - StepLR: {initial_learning_rate: 1, step_size: 4, gamma: 0.5}\n"
                      "            - MultiplicativeLR: {initial_learning_rate: 1, coefficient: 0.5, total_iters: 5}\n"
                      "            - ConstantLR: {learning_rate: 0.75}\n"),
        FIRNC_TRAIN);
    assert_true(rate_at(r, 9) == 0.25F && rate_at(r, 10) == 1 && rate_at(r, 14) == 0.0625F && rate_at(r, 15) == 0.75F);
}

static const char *with_lambda(const char *lambda) {
    return with_schedule(firnc_format("      - LambdaLR: {initial_learning_rate: 1, lr_lambda: %s}\n", lambda));
}

TEST(lambdas_are_expressions_or_tables) {
    assert_true(rate_at(accepted(with_lambda("1 / (1 + t)"), FIRNC_TRAIN), 3) == 0.25F);
    assert_true(rate_at(accepted(with_lambda("\"max(where(t < 2, 2, -t + 8.5) * 2 ** -1, 0)\""), FIRNC_TRAIN), 4) ==
                2.25F);
    assert_true(rate_at(accepted(with_lambda("\"4 - 2 - 1 >= t\""), FIRNC_TRAIN), 1) == 1);
    assert_true(rate_at(accepted(with_lambda("[0.5, 0.25]"), FIRNC_TRAIN), 9) == 0.25F);
    assert_true(rate_at(accepted(with_lambda("[\"t + 1\", [0.5, 0.25]]"), FIRNC_TRAIN), 9) == 2.5F);
    assert_true(rate_at(accepted(with_lambda("[\"0.5\", \"0.25\"]"), FIRNC_TRAIN), 9) == 0.125F);
}

/* A length from --set is one of a trial. */
TEST(schedules_are_not_compared_with_a_trial) {
    static const char *const trial[] = {"trainer.init.loop.num_steps=10"};
    const char *text = with_schedule("      - MultiStepLR: {initial_learning_rate: 1, gamma: 0.5, milestones: [50]}\n");
    text = edited(text, "lr: 0.001", "eps: 1e-8");
    (void)accepted_set(text, FIRNC_TRAIN, trial, 1);
    assert_string_equal(message, "");
}

TEST(schedules_nest_to_a_depth) {
    const char *deep = "{ConstantLR: {learning_rate: 1}}";
    for (int i = 0; i < 8; i++)
        deep = firnc_format("{ScalePerParamLR: {scheduler: %s}}", deep);
    assert_true(rate_at(accepted(with_schedule(firnc_format("      - %s\n", deep)), FIRNC_TRAIN), 0) == 1);
    refused(with_schedule(firnc_format("      - ChainedLR: {schedulers: [%s]}\n", deep)), FIRNC_TRAIN,
            ":15: ", "nested deeper than 8");
}

/* Returns the value at a step of the schedule root with that name; -1 if there is no such root. */
static float value_of(const firnc_recipe *r, const char *name, uint64_t step) {
    firn_schedule_list list = firnc_job_schedules(&r->job);
    for (uint32_t i = 0; i < r->job.schedule.root_count; i++)
        if (strcmp(r->job.schedule.roots[i].name, name) == 0)
            return firn_schedule_value(&list, r->job.schedule.roots[i].node, step);
    return -1;
}

static const char *with_groups(const char *lines) {
    return edited(with_schedule(lines), "lr: 0.001",
                  "lr: 0.5\n        params: [{params: a, tags: [x, y], adjust_learning_rate: 0.25}, "
                  "{params: b, tags: z}, {params: c, adjust_weight_decay: 0.5}]");
}

TEST(an_adjusted_chain_divides_by_a_float32) {
    const char *text = with_groups("      - ChainedLR:\n"
                                   "          schedulers:\n"
                                   "            - ConstantLR: {learning_rate: 1}\n"
                                   "            - ScalePerParamLR: {scheduler: {ConstantLR: {learning_rate: 1e30}}}\n");
    accepted(text, FIRNC_TRAIN);
    refused(edited(text, "adjust_learning_rate: 0.25", "adjust_learning_rate: 1e30"), FIRNC_TRAIN,
            ":19: trainer.init.schedulers.0.ChainedLR.schedulers.1: ", "adjust_learning_rate");
}

TEST(schedules_go_by_tags) {
    const char *groups = with_groups("      - ConstantLR: {learning_rate: 0.125, param_group_tags: [x, null]}\n"
                                     "      - ConstantLR: {learning_rate: 0.75, param_group_tags: z}\n"
                                     "      - ScalePerParamWD: {scheduler: {ConstantWD: {val: 0.25}}}\n");
    const firnc_recipe *r = accepted(groups, FIRNC_TRAIN);
    assert_int_equal(r->job.schedule.root_count, 4);
    assert_int_equal(r->job.schedule.rate_of[0], r->job.schedule.rate_of[1]);
    assert_int_equal(r->job.schedule.rate_of[0], r->job.schedule.rate_of[3]);
    assert_int_not_equal(r->job.schedule.rate_of[0], r->job.schedule.rate_of[2]);
    assert_true(value_of(r, "learning_rate", 0) == 0.125F && value_of(r, "learning_rate.z", 0) == 0.75F);
    assert_int_equal(r->job.schedule.decay_of[0], r->job.schedule.decay_of[1]);
    assert_int_not_equal(r->job.schedule.decay_of[0], r->job.schedule.decay_of[3]);
    assert_true(value_of(r, "weight_decay", 0) == 0.25F && value_of(r, "weight_decay.params.2", 0) == 0.125F);

    r = accepted(edited(groups, "ConstantLR: {learning_rate: 0.125, param_group_tags: [x, null]}",
                        "ScalePerParamLR: {scheduler: {ConstantLR: {learning_rate: 0.5}}, param_group_tags: x}"),
                 FIRNC_TRAIN);
    assert_true(value_of(r, "learning_rate.x", 0) == 0.125F);
    assert_true(value_of(r, "learning_rate", 0) == 0.5F); /* lr, for parameters without a schedule */
}

TEST(schedules_have_an_end) {
    static const struct {
        const char *lines;
        uint64_t end;
    } rows[] = {
        {"ConstantLR: {learning_rate: 1}", 0},
        {"ExponentialLR: {initial_learning_rate: 1, decay_rate: 0.5, total_iters: 9}", 0},
        {"StepLR: {initial_learning_rate: 1, step_size: 30, gamma: 0.5}", 0},
        {"LinearLR: {initial_learning_rate: 1, end_learning_rate: 0, total_iters: 30}", 30},
        {"LinearLR: {initial_learning_rate: 0, end_learning_rate: 1, total_iters: 30}", 30},
        {"LinearLR: {initial_learning_rate: 1, end_learning_rate: 1, total_iters: 30}", 0},
        {"CosineDecayLR: {initial_learning_rate: 1, end_learning_rate: 0, total_iters: 20}", 20},
        {"PolynomialLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 25}", 25},
        {"OneCycleLR: {initial_learning_rate: 1, max_lr: 2, total_steps: 100}", 100},
        {"MultiStepLR: {initial_learning_rate: 1, gamma: 0.5, milestones: [50, 70]}", 71},
        {"PiecewiseConstantLR: {learning_rates: [1, 2], milestones: [40]}", 41},
        {"SequentialLR: {schedulers: [{ConstantLR: {learning_rate: 1, total_iters: 10}}, {ConstantLR: "
         "{learning_rate: 2}}]}",
         10},
        {"SequentialLR: {schedulers: [{LinearLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 10}}, "
         "{LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0, total_iters: 15}}]}",
         25},
        {"ChainedLR: {schedulers: [{LinearLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 40}}, "
         "{LinearLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 35}}]}",
         40},
        {"LinearLR: {initial_learning_rate: 1, end_learning_rate: 0, total_iters: 30}\n      - LinearWD: {initial_val: "
         "1, "
         "end_val: 0, total_iters: 45}",
         45},
        {"LinearLR: {initial_learning_rate: 1, end_learning_rate: 0, total_iters: 45}\n      - LinearWD: {initial_val: "
         "1, "
         "end_val: 0, total_iters: 30}",
         45},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const firnc_recipe *r = accepted(with_schedule(firnc_format("      - %s\n", rows[i].lines)), FIRNC_TRAIN);
        const uint64_t end = firnc_job_schedule_end(&r->job);
        if (end != rows[i].end)
            fail_msg("%s ends at step %llu", rows[i].lines, (unsigned long long)end);
    }
}

/* --- the cases of recipe.cases --------------------------------------------------------------------------------- */

/* Ends a text at a word and returns what stands behind the word; NULL if the text does not have it. */
static char *cut_at(char *text, const char *word) {
    char *at = strstr(text, word);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(word);
}

/* Returns a text of the file, with `blanks` before each line that an escape begins. */
static const char *unescaped(const char *text, int blanks) {
    const char *lines = "";
    for (; *text != '\0'; text++)
        if (*text != '\\')
            lines = firnc_format("%s%c", lines, *text);
        else
            lines = *++text == 'n' ? firnc_format("%s\n%*s", lines, blanks, "") : firnc_format("%s ", lines);
    return lines;
}

/* Where a text stands in a recipe, and the line in which it begins, behind some blanks. */
typedef struct found {
    const char *line, *at, *end;
    int blanks;
} found;

static found find_text(const char *recipe, const char *old) {
    const char *first = firnc_format("%.*s", (int)strcspn(old, "\\"), old);
    for (const char *at = strstr(recipe, first); at != NULL; at = strstr(at + 1, first)) {
        found f = {.line = at, .at = at};
        while (f.line > recipe && f.line[-1] != '\n')
            f.line--;
        f.blanks = (int)strspn(f.line, " ");
        const char *whole = unescaped(old, f.blanks);
        f.end = at + strlen(whole);
        if (strncmp(at, whole, strlen(whole)) == 0)
            return f;
    }
    fail_msg("the recipe lacks %s", old);
    return (found){0};
}

/* Returns the recipe after one edit: OLD, a mark, NEW. */
static const char *edited_once(const char *recipe, char *edit) {
    static const char *const marks[] = {" -> ", " + ", " ^ ", " --"};
    const char *mark = NULL, *mark_at = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(edit, marks[i]);
        if (at != NULL && (mark_at == NULL || at < mark_at)) {
            mark = marks[i];
            mark_at = at;
        }
    }
    assert_non_null(mark);
    char *new = cut_at(edit, mark);
    if (strcmp(edit, "end") == 0)
        return firnc_format("%s  %s\n", recipe, unescaped(new, 2));
    const found old = find_text(recipe, edit);
    const char *lines = unescaped(new, old.blanks);
    const int above = (int)(old.line - recipe), before = (int)(old.at - recipe), through = (int)(old.end - recipe);
    switch (mark[1]) {
    case '+':
        return firnc_format("%.*s\n%*s%s%s", through, recipe, old.blanks, "", lines, old.end);
    case '^':
        return firnc_format("%.*s%*s%s\n%s", above, recipe, old.blanks, "", lines, old.line);
    default:
        return mark[2] == '>' ? firnc_format("%.*s%s%s", before, recipe, lines, old.end)
                              : firnc_format("%.*s%s", above, recipe, old.end + 1);
    }
}

enum { LINE_BYTES = 512 }; /* of the file, at most */

/* What the cases below a line with = have in common; the edit is $ if the line has none. */
typedef struct heading {
    const char *recipe, *edit;
    bool modes[2]; /* which the line names: train, eval */
} heading;

static const firnc_mode modes[2] = {FIRNC_TRAIN, FIRNC_EVAL};

static heading read_heading(const char *line) {
    char recipe[8], mode[8];
    int end = 0;
    assert_int_equal(sscanf(line, "= %7s %7s%n", recipe, mode, &end), 2);
    return (heading){.recipe = strcmp(recipe, "mlp") == 0 ? mlp : minimal,
                     .modes = {strcmp(mode, "eval") != 0, strcmp(mode, "train") != 0},
                     .edit = line[end] == ' ' ? firnc_format("%s", line + end + 1) : "$"};
}

/* Asserts that the message has one line for each place, in this order and no other, each with a remedy. */
static void expect_idle(const char *const *places, size_t count) {
    const char *line = message;
    for (size_t i = 0; i < count; i++) {
        const char *start = firnc_format("firnc: %s:%s: warning: has no effect: ", file_name, places[i]);
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, start, strlen(start)) != 0)
            fail_msg("expected a line that begins with %s, got %s", start, line);
        if (memchr(line, ';', length) == NULL)
            fail_msg("no remedy in %.*s", (int)length, line);
        line += length + 1;
    }
    if (*line != '\0')
        fail_msg("one warning too many: %s", line);
}

/* What firnc says of a recipe. `words` are separated by " ... "; NULL: it is accepted. */
typedef struct answer {
    const char *place;
    char *words;
    bool silent, warned, idle;
} answer;

static bool begins(char **text, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static answer read_answer(char *text) {
    answer a = {
        .warned = begins(&text, "warned "), .idle = begins(&text, "idle "), .silent = strcmp(text, "silent") == 0};
    a.words = cut_at(text, "... ");
    if (a.words == NULL && !a.idle && !a.silent)
        assert_string_equal(text, "accepted");
    (void)cut_at(text, "* ");
    a.place = text;
    return a;
}

static void assert_answer(const char *recipe, firnc_mode mode, const answer *a) {
    for (const char *words = a->words, *end; words != NULL; words = *end == '\0' ? NULL : end + strlen(" ... ")) {
        end = strstr(words, " ... ");
        end = end == NULL ? words + strlen(words) : end;
        const char *wanted = unescaped(firnc_format("%.*s", (int)(end - words), words), 0);
        if (!a->warned) {
            refused(recipe, mode, firnc_format(":%s", a->place), wanted);
            continue;
        }
        (void)accepted(recipe, mode);
        expect_message(firnc_format(":%swarning: ", a->place), wanted);
    }
    if (a->words != NULL)
        return;
    (void)accepted(recipe, mode);
    if (a->silent)
        assert_string_equal(message, "");
    if (a->idle)
        expect_idle(&a->place, 1);
}

static void run_case(const heading *head, char *line) {
    static const answer silent = {.silent = true};
    char edits[2 * LINE_BYTES];
    char *expected = cut_at(line, " => ");
    const char *hole = strchr(head->edit, '$'), *recipe = head->recipe;
    assert_true(expected != NULL && hole != NULL && strlen(line) < LINE_BYTES);
    snprintf(edits, sizeof edits, "%.*s%s%s", (int)(hole - head->edit), head->edit, line, hole + 1);
    for (char *edit = edits, *next; edit != NULL; edit = next) {
        next = cut_at(edit, " && ");
        recipe = edited_once(recipe, edit);
    }
    const answer a = read_answer(expected);
    for (int mode = 0; mode < 2; mode++)
        if (head->modes[mode])
            assert_answer(recipe, modes[mode], &a);
        else if (a.warned || a.idle) /* keys of the other mode */
            assert_answer(recipe, modes[mode], &silent);
}

enum { CASES_LEAST = 270 }; /* as many as the file has */

static void run_line(char *line, void *context) {
    static heading head = {.edit = "$"};
    unsigned *cases = context;
    if (line[0] == '=') {
        head = read_heading(line);
        return;
    }
    run_case(&head, line);
    ++*cases;
}

TEST(recipes_get_their_answers) {
    unsigned cases = 0;
    support_cases_read("tests/unit/recipe.cases", run_line, &cases);
    assert_true(cases >= CASES_LEAST);
}

/* Returns a recipe with that optimizer. */
static const firnc_recipe *with_optimizer(const char *optimizer) {
    return accepted(edited(minimal, "      AdamW:\n        lr: 0.001\n", firnc_format("      %s\n", optimizer)),
                    FIRNC_TRAIN);
}

TEST(optimizers_have_the_reference_s_defaults) {
    static const struct {
        const char *name;
        firnc_optimizer kind;
        double rate;
        float beta2, epsilon, weight_decay, momentum;
    } defaults[] = {
        {"SGD: {lr: 0.5}", FIRNC_SGD, 0.5, 0, 0, 0, 0},
        {"adam:", FIRNC_ADAM, 1e-3, 0.999F, 1e-6F, 0, 0},
        {"ADAMW:", FIRNC_ADAMW, 1e-3, 0.999F, 1e-6F, 0, 0},
        {"Adafactor: {lr: 0.5}", FIRNC_ADAFACTOR, 0.5, 0, 1e-30F, 0, 0},
        {"Lamb:", FIRNC_LAMB, 1e-3, 0.999F, 1e-6F, 0, 0},
        {"Lion:", FIRNC_LION, 1e-4, 0.99F, 0, 0, 0},
        {"RMSprop:", FIRNC_RMSPROP, 1e-2, 0, 1e-8F, 0, 0},
        {"RAdam:", FIRNC_RADAM, 1e-3, 0.999F, 1e-6F, 0, 0},
        {"NAdam:", FIRNC_NADAM, 2e-3, 0.999F, 1e-8F, 0, 0},
        {"Adamax:", FIRNC_ADAMAX, 1e-3, 0.999F, 1e-6F, 0, 0},
        {"Rprop:", FIRNC_RPROP, 1e-3, 0, 0, 0, 0},
        {"Adagrad:", FIRNC_ADAGRAD, 1e-2, 0, 1e-6F, 0, 0},
        {"Adadelta:", FIRNC_ADADELTA, 1, 0, 1e-6F, 0, 0},
        {"ASGD:", FIRNC_ASGD, 1e-2, 0, 0, 0, 0},
        {"Muon:", FIRNC_MUON, 0.02, 0, 0, 0.01F, 0.95F},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        const firnc_recipe *r = with_optimizer(defaults[i].name);
        assert_int_equal(r->job.optimizer.kind, defaults[i].kind);
        assert_float_equal(r->job.schedule.nodes[0].initial, defaults[i].rate, 0);
        assert_float_equal(r->job.optimizer.beta2, defaults[i].beta2, 0);
        assert_float_equal(r->job.optimizer.epsilon, defaults[i].epsilon, 0);
        assert_float_equal(r->job.optimizer.weight_decay, defaults[i].weight_decay, 0);
        assert_float_equal(r->job.optimizer.momentum, defaults[i].momentum, 0);
    }
    const firnc_optimizer_settings *o = &with_optimizer("Adafactor: {lr: 1}")->job.optimizer;
    assert_float_equal(o->epsilon2, 1e-3F, 0);
    assert_float_equal(o->clip_threshold, 1, 0);
    assert_float_equal(o->decay_rate, -0.8F, 0);
    assert_true(o->scale_parameter);
    o = &with_optimizer("Rprop:")->job.optimizer;
    assert_float_equal(o->eta_minus, 0.5, 0);
    assert_float_equal(o->eta_plus, 1.2F, 0);
    assert_float_equal(o->smallest_step, 1e-6F, 0);
    assert_float_equal(o->largest_step, 50, 0);
    o = &with_optimizer("ASGD:")->job.optimizer;
    assert_float_equal(o->lambd, 1e-4F, 0);
    assert_float_equal(o->alpha, 0.75, 0);
    assert_float_equal(o->t0, 1e6F, 0);
    o = &with_optimizer("Muon:")->job.optimizer;
    assert_int_equal(o->ns_steps, 5);
    assert_true(o->nesterov);
    assert_float_equal(with_optimizer("NAdam:")->job.optimizer.momentum_decay, 4e-3F, 0);
    assert_float_equal(with_optimizer("RMSprop:")->job.optimizer.alpha, 0.99F, 0);
    assert_float_equal(with_optimizer("Adadelta:")->job.optimizer.rho, 0.9F, 0);
}

TEST(optimizers_are_read) {
    const firnc_optimizer_settings *o = &with_optimizer("Adam: {amsgrad: true, betas: [0.5, 0.25]}")->job.optimizer;
    assert_true(o->amsgrad && o->correct_bias);
    assert_float_equal(o->beta2, 0.25, 0);
    o = &with_optimizer("rprop: {etas: [0.25, 2], step_sizes: [0, 0.5]}")->job.optimizer;
    assert_float_equal(o->eta_minus, 0.25, 0);
    assert_float_equal(o->largest_step, 0.5, 0);
    o = &with_optimizer("Adafactor: {lr: 1, eps: [1.0e-20, 0.5], scale_parameter: false, beta1: null}")->job.optimizer;
    assert_float_equal(o->epsilon, 1e-20F, 0);
    assert_float_equal(o->epsilon2, 0.5, 0);
    assert_false(o->scale_parameter);
    o = &with_optimizer("RMSprop: {centered: true, momentum: 0.5}")->job.optimizer;
    assert_true(o->centered);
    assert_float_equal(o->momentum, 0.5, 0);
    assert_float_equal(
        with_optimizer("Adagrad: {initial_accumulator_value: 2}")->job.optimizer.initial_accumulator_value, 2, 0);
    assert_true(with_optimizer("lamb: {adam: true}")->job.optimizer.adam);
    assert_int_equal(with_optimizer("Muon: {ns_steps: 3}")->job.optimizer.ns_steps, 3);
}

TEST(groups_have_settings_of_their_own) {
    const firnc_recipe *r = accepted(edited(minimal, "lr: 0.001",
                                            "weight_decay: 0.5\n"
                                            "        params:\n"
                                            "          - {params: '*.bias', weight_decay: 0, tags: [bias, all]}\n"
                                            "          - {params: ['a.*', b], betas: [0.5, 0.75], tags: all}\n"
                                            "          - {params: c, adjust_learning_rate: 0.25}"),
                                     FIRNC_TRAIN);
    assert_int_equal(r->job.group_count, 3);
    assert_string_equal(r->job.groups[0].name, "bias");
    assert_string_equal(r->job.groups[1].name, "all");
    assert_string_equal(r->job.groups[2].name, "params.2");
    assert_true(r->job.groups[0].decay_given && !r->job.groups[1].decay_given);
    assert_float_equal(r->job.groups[0].settings.weight_decay, 0, 0);
    assert_float_equal(r->job.groups[1].settings.weight_decay, 0.5, 0);
    assert_float_equal(r->job.groups[1].settings.beta1, 0.5, 0);
    assert_float_equal(r->job.groups[0].settings.beta1, 0.9F, 0);
    assert_int_equal(r->job.groups[0].tag_count, 2);
    assert_string_equal(r->job.groups[0].tags[1], "all");
    assert_int_equal(r->job.groups[1].pattern_count, 2);
    assert_string_equal(r->job.groups[1].patterns[1], "b");
    assert_float_equal(r->job.groups[1].adjust_learning_rate, 1, 0);
    assert_float_equal(r->job.groups[2].adjust_learning_rate, 0.25, 0);
    assert_int_equal(r->job.groups[2].place.line, 17);
}

/* Asserts that a value outside the range is refused and that the limit given in the message is accepted. */
static void tells_an_end_that_is_taken(const char *from, const char *key, const char *beyond, const char *end) {
    refused(edited(minimal, from, firnc_format("%s\n%s: %s", from, key, beyond)), FIRNC_TRAIN, ":", end);
    accepted(edited(minimal, from, firnc_format("%s\n%s: %s", from, key, end)), FIRNC_TRAIN);
}

TEST(ends_of_ranges_can_be_copied) {
    tells_an_end_that_is_taken("fp16_type: bfloat16", "      loss_scaling_factor: dynamic\n      steps_per_increase",
                               "2000000000000000", "1000000000000000");
    tells_an_end_that_is_taken("fp16_type: bfloat16", "      loss_scaling_factor: dynamic\n      min_loss_scale",
                               "1e-9", "6.103515625e-05");
    tells_an_end_that_is_taken("lr: 0.001", "        weight_decay", "1e31", "1e+30");
    tells_an_end_that_is_taken("num_heads: 4", "      initializer_range", "1001", "1000");
    static const char adafactor[] = "Adafactor: {lr: 0.1, decay_rate: %s}";
    refused_edit("AdamW:\n        lr: 0.001", firnc_format(adafactor, "-1e-7"), ":12: ", "at most -1e-06");
    accepted(edited(minimal, "AdamW:\n        lr: 0.001", firnc_format(adafactor, "-1e-06")), FIRNC_TRAIN);
}

TEST(yaml_is_held_short) {
    refused("", FIRNC_TRAIN, ":1: ", "trainer");
    refused("- trainer\n", FIRNC_TRAIN, ":1: ", "trainer");
    refused(firnc_format("%s---\ntrainer: {}\n", minimal), FIRNC_TRAIN, ":21: ", "second document");
    char deep[512];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    refused(deep, FIRNC_TRAIN, ":1: ", "nested deeper");
}

/* The text is refused in words for users, with the line of the fault. */
TEST(faults_of_the_text) {
    static const struct {
        const char *from, *to, *place, *words;
    } cases[] = {
        {"    seed", "\tseed", ":3: ", "not YAML: the line begins with a tab; YAML is indented by blanks"},
        {"    loop", "    \tloop", ":16: ", "begins with a tab"},
        {"seed: 7",
         "seed:\xc2\xa0"
         "7",
         ":3: ", "a no-break space (U+00A0); write a blank instead\n"},
        {"seed: 7", "\xe2\x80\x8bseed: 7", ":3: ", "cannot be seen (U+200B); remove it\n"},
        {"bfloat16",
         "\xe2\x80\x9c"
         "bfloat16\xe2\x80\x9d",
         ":15: ", "a quote that is not ASCII (U+201C); write \" instead"},
        {"0.001",
         "1e\xe2\x88\x92"
         "3",
         ":13: ", "a minus sign that is not ASCII (U+2212); write - instead\n"},
        {"batch_size: 8", "batch_size: 8 # caf\xe9", ":20: ", "the byte e9 is no UTF-8, but perhaps Latin-1; save"},
        {"seed: 7", "seed: \xed\xa0\x80", ":3: ", "the byte ed is no UTF-8"},
        {"seed: 7", "seed: \xbf\xbf", ":3: ", "the byte bf is no UTF-8"},
        {"seed: 7", "seed: \xf8\x90\x80\x80", ":3: ", "the byte f8 is no UTF-8"},
        {"seed: 7", "seed: \f7", ":3: ", "a control character (byte 0c); remove it\n"},
        {"trainer", "\xff\xfet", ":1: ", "UTF-16 or UTF-32; save it as UTF-8\n"},
        {"seed: 7", "seed: 7: 8", ":3: ", "a colon stands where none can; "},
        {"seed: 7", "seed 7", ":4: ", "write key: value in this line and in the one before"},
        {"    seed: 7", "     seed: 7", ":4: ", "other blanks before it than its neighbours"},
        {"seed: 7", "seed: [7", ":", "a list in brackets has no comma or no end; add , or ]"},
        {"seed: 7", "seed: {a: 7", ":",
         "a mapping in braces has no comma or no end; add , or } (it begins in line 3)\n"},
        {"seed: 7", "seed: \"7", ":", "a text in quotes has no end; add the quote (it begins in line 3)\n"},
        {"seed: 7", "seed: @7", ":3: ", "a character that YAML reserves; put the text into quotes\n"},
        {"seed: 7", "seed: - 7", ":3: ", "a list begins behind a key; begin it in a line of its own\n"},
        {"seed: 7", "seed: \"\\q\"", ":3: ", "a backslash between double quotes begins no escape; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused_edit(cases[i].from, cases[i].to, cases[i].place, cases[i].words);
    const char *bare = edited(minimal, "seed: 7", "seed: 8 # a no-break space\xc2\xa0in a comment, caf\xc3\xa9");
    assert_int_equal(accepted(firnc_format("\xef\xbb\xbf%s", bare), FIRNC_TRAIN)->job.seed, 8);
    char *lines = firnc_allocate(sizeof minimal);
    memcpy(lines, minimal, sizeof minimal);
    for (char *at = lines; *at != '\0'; at++)
        *at = *at == '\n' ? '\r' : *at;
    assert_int_equal(accepted(lines, FIRNC_TRAIN)->job.seed, 7);
    refused(edited(lines, "seed: 7",
                   "seed:\xc2\xa0"
                   "7"),
            FIRNC_TRAIN, ":3: ", "no-break space");
    refused(edited(lines, "    seed", "\tseed"), FIRNC_TRAIN, ":3: ", "begins with a tab");
}

/* A character that the end of the text cuts is none, whatever stands behind the text. */
TEST(characters_end_within_the_text) {
    static const uint8_t text[] = "a\n\xe4\xb8\x96";
    uint32_t line;
    for (uint64_t count = 3; count < 5; count++) {
        const char *fault = firnc_spelling_fault(text, count, &line);
        assert_non_null(fault);
        assert_non_null(strstr(fault, "the byte e4 is no UTF-8"));
        assert_int_equal(line, 2);
    }
    assert_null(firnc_spelling_fault(text, 5, &line));
}

/* A few lines can stand for any amount of memory; what they stand for is limited before it is made. */
TEST(bombs_are_refused) {
    const char *text = "a: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n", *merges = "a: &a0 {k0: 1}\n", *deep = "a: &a0 [1]\n";
    const char *names = "a: [", *path = "a:";
    for (int i = 1; i <= 9; i++) {
        text = firnc_format("%sb%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", text, i, i,
                            i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        merges = firnc_format("%sb%d: &a%d {k: {<<: [*a%d, *a%d]}, l: *a%d, m: *a%d, n: *a%d, o: *a%d}\n", merges, i, i,
                              i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    for (int i = 1; i <= 40; i++)
        deep = firnc_format("%sb%d: &a%d [*a%d]\n", deep, i, i, i - 1);
    for (int i = 0; i <= 1024; i++)
        names = firnc_format("%s&a%d 1, ", names, i);
    for (int i = 1; i <= 11; i++)
        path = firnc_format("%s\n%*s%0100d:", path, i, "", i);
    refused(text, FIRNC_TRAIN, ":6: ", "more than 131072 values");
    refused(merges, FIRNC_TRAIN, ":8: ", "more than 131072 values");
    refused(deep, FIRNC_TRAIN, ":32: ", "nested deeper than 32");
    refused(firnc_format("%s]\n", names), FIRNC_TRAIN, ":1: ", "more than 1024 anchors");
    refused(firnc_format("%s 1\n", path), FIRNC_TRAIN, ":11: ", "more than 1000 characters");
}

/* Messages name the line of a value and the path at which it is used. */
TEST(aliases_and_merges_are_copies) {
    static const char loaders[] = "  fit:\n    train_dataloader: &base\n      batch_size: 8\n      shuffle: true\n";
    const char *text = edited(minimal, "  fit:\n    train_dataloader:\n      batch_size: 8\n", loaders);
    const char *merged = firnc_format("%s  validate:\n    val_dataloader: {batch_size: 4, <<: *base}\n", text);
    const firnc_recipe *eval = accepted(merged, FIRNC_EVAL);
    assert_int_equal(eval->job.data.batch_size, 4);
    assert_true(eval->job.data.shuffle);
    const firnc_recipe *alias = accepted(firnc_format("%s  validate:\n    val_dataloader: *base\n", text), FIRNC_EVAL);
    assert_int_equal(alias->job.data.batch_size, 8);
    refused(firnc_format("%s  validate:\n    val_dataloader: {<<: *base, strid: 3}\n", text), FIRNC_EVAL,
            ":23: trainer.validate.val_dataloader.strid: ", "stride");
    refused(edited(merged, "shuffle: true", "shuffle: 3"), FIRNC_EVAL,
            ":21: trainer.fit.train_dataloader.shuffle: ", "true or false");
    refused(edited(merged, "batch_size: 4", "shufle: true"), FIRNC_EVAL,
            ":23: trainer.validate.val_dataloader.shufle: ", "shuffle");

    /* of several mappings the first goes first, and an anchor means the last one above */
    const char *lists = edited(minimal, "seed: 7", "<<: [&a {seed: 1}, &b {seed: 2, device: null}]");
    assert_int_equal(accepted(lists, FIRNC_TRAIN)->job.seed, 1);
    lists = edited(minimal, "seed: 7", "device: &a null\n    mode: &a null\n    seed: &a 5\n    backend: {x: *a}");
    assert_int_equal(accepted(lists, FIRNC_TRAIN)->job.seed, 5);
    const char *keys = edited(minimal, "seed: 7", "&a seed: 7\n    mode: *a");
    refused(keys, FIRNC_TRAIN, ":4: trainer.init.mode: ", "is not a mode");

    const char *setting = "trainer.init.optimizer={AdamW: {lr: &x 0.25, betas: [0.5, 0.5], weight_decay: *x}}";
    const firnc_recipe *set_by = accepted_set(minimal, FIRNC_TRAIN, &setting, 1);
    assert_float_equal(set_by->job.optimizer.weight_decay, 0.25F, 0);
}

/* Every key that nothing reads, in a recipe that is accepted in both modes. */
static const char ignored[] =
    "trainer:\n"
    "  init:\n"
    "    backend:\n"
    "      backend_type: CSX\n"
    "      cluster_config: {num_csx: 2, mount_dirs: [a, b]}\n"
    "    device: CPU\n"
    "    model_dir: ./somewhere\n"
    "    checkpoint: {steps: 10, save_initial_checkpoint: true, ckpt_path: a, autoload_last_checkpoint: true,\n"
    "                 disable_strict_checkpoint_loading: true, checkpoint_name: a, checkpoint_root: b}\n"
    "    autorestart: {max_num_restarts: 3}\n"
    "    logging: {log_steps: 1}\n"
    "    loggers: [{ProgressLogger: {}}]\n"
    "    callbacks: [{CheckLoss: {}}, {LogSparsity: }, {KeepNCheckpoints: {n: 3}}]\n"
    "    model: {name: mlp, input_size: 6, output_size: 3}\n"
    "    optimizer: {SGD: {}}\n"
    "    schedulers:\n"
    "      - LinearLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 5,\n"
    "                   cycle: true}\n"
    "    precision: {log_loss_scale: false}\n"
    "    loop: {max_steps: 10, eval_frequency: 5}\n"
    "  fit:\n"
    "    ckpt_path: a\n"
    "    train_dataloader: {batch_size: 4, data_processor: A, data_dir: [a], num_workers: 4,\n"
    "                       prefetch_factor: 2, persistent_workers: true, mixture: a, num_samples: 5,\n"
    "                       masked_lm_prob: 0.1, max_predictions_per_seq: 2, whole_word_masking: true,\n"
    "                       vocab_file: a, do_lower: true, drop_last: false, drop_last_batch: false,\n"
    "                       repeat: true, sort_files: true, use_worker_cache: true, shuffle_buffer: 9}\n"
    "    val_dataloader: {batch_size: 1}\n"
    "  validate:\n"
    "    ckpt_path: b\n"
    "    val_dataloader: {batch_size: 2}\n"
    "  validate_all: {ckpt_paths: [a], val_dataloaders: [{batch_size: 2}, {batch_size: 3}]}\n";

/* The place of every warning of that recipe, in its order. */
static const char *const ignored_places[] = {"4: trainer.init.backend.backend_type",
                                             "5: trainer.init.backend.cluster_config.num_csx",
                                             "5: trainer.init.backend.cluster_config.mount_dirs",
                                             "6: trainer.init.device",
                                             "7: trainer.init.model_dir",
                                             "8: trainer.init.checkpoint.ckpt_path",
                                             "8: trainer.init.checkpoint.autoload_last_checkpoint",
                                             "9: trainer.init.checkpoint.disable_strict_checkpoint_loading",
                                             "9: trainer.init.checkpoint.checkpoint_name",
                                             "9: trainer.init.checkpoint.checkpoint_root",
                                             "10: trainer.init.autorestart.max_num_restarts",
                                             "11: trainer.init.logging.log_steps",
                                             "12: trainer.init.loggers",
                                             "13: trainer.init.callbacks.1.LogSparsity",
                                             "13: trainer.init.callbacks.2.KeepNCheckpoints",
                                             "18: trainer.init.schedulers.0.LinearLR.cycle",
                                             "19: trainer.init.precision.log_loss_scale",
                                             "22: trainer.fit.ckpt_path",
                                             "23: trainer.fit.train_dataloader.data_processor",
                                             "23: trainer.fit.train_dataloader.data_dir",
                                             "23: trainer.fit.train_dataloader.num_workers",
                                             "24: trainer.fit.train_dataloader.prefetch_factor",
                                             "24: trainer.fit.train_dataloader.persistent_workers",
                                             "24: trainer.fit.train_dataloader.mixture",
                                             "24: trainer.fit.train_dataloader.num_samples",
                                             "25: trainer.fit.train_dataloader.masked_lm_prob",
                                             "25: trainer.fit.train_dataloader.max_predictions_per_seq",
                                             "25: trainer.fit.train_dataloader.whole_word_masking",
                                             "26: trainer.fit.train_dataloader.vocab_file",
                                             "26: trainer.fit.train_dataloader.do_lower",
                                             "26: trainer.fit.train_dataloader.drop_last",
                                             "26: trainer.fit.train_dataloader.drop_last_batch",
                                             "27: trainer.fit.train_dataloader.repeat",
                                             "27: trainer.fit.train_dataloader.sort_files",
                                             "27: trainer.fit.train_dataloader.use_worker_cache",
                                             "27: trainer.fit.train_dataloader.shuffle_buffer",
                                             "28: trainer.fit.val_dataloader",
                                             "30: trainer.validate.ckpt_path",
                                             "32: trainer.validate_all.ckpt_paths",
                                             "32: trainer.validate_all.val_dataloaders.1"};

TEST(keys_that_nothing_reads_are_warned_of) {
    for (int mode = 0; mode < 2; mode++) {
        (void)accepted(ignored, mode == 0 ? FIRNC_TRAIN : FIRNC_EVAL);
        expect_idle(ignored_places, sizeof ignored_places / sizeof ignored_places[0]);
    }
}

/* Reads one file of the compiler and asserts that each of its ignored keys is in the recipe above. */
static uint32_t check_ignored_keys(const char *name) {
    static const char kind[] = ", .kind = FIRNC_FIELD_IGNORED";
    char line[512];
    uint32_t count = 0;
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strstr(line, kind);
        if (end == NULL)
            continue;
        *end = '\0';
        const char *key = strrchr(line, '{') + 2; /* {"key" */
        if (strstr(ignored, firnc_format("%.*s:", (int)strcspn(key, "\""), key)) == NULL)
            fail_msg("%s: the recipe of this test lacks %s", name, key);
        count++;
    }
    fclose(file);
    return count;
}

TEST(the_list_of_ignored_keys_is_complete) {
    glob_t files;
    uint32_t count = 0;
    assert_int_equal(glob("compiler/recipe/*.c", 0, NULL, &files), 0);
    assert_int_equal(glob("compiler/models/*.c", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        count += check_ignored_keys(files.gl_pathv[i]);
    globfree(&files);
    assert_true(count >= 15);
}

/* How often to evaluate and to save is for the report, in steps. */
TEST(intervals_are_steps_or_shares_of_the_run) {
    static const struct {
        const char *text;
        uint64_t steps;
    } cases[] = {{"5", 5},      {"1", 1},        {"1.0", 100}, {"0.5", 50}, {"0.07", 7}, {"0.33", 33},
                 {"0.333", 34}, {"0.001", 1},    {"0", 0},     {"0.0", 0},  {"null", 0}, {"1000", 1000},
                 {"1e-30", 1},  {"0.9999", 100}, {"0.99", 99}, {"0.011", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            edited(minimal, "num_steps: 100", firnc_format("num_steps: 100\n      eval_frequency: %s", cases[i].text));
        assert_int_equal(accepted(text, FIRNC_TRAIN)->job.eval_frequency, cases[i].steps);
        assert_string_equal(message, "");
        assert_int_equal(accepted(text, FIRNC_EVAL)->job.eval_frequency, 0);
    }
    static const char *const wrong[] = {"-1", "1.5", "-0.5", "often", "[5]", "true", "1000000000000001"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refused_edit("num_steps: 100", firnc_format("num_steps: 100\n      eval_frequency: %s", wrong[i]),
                     ":18: trainer.init.loop.eval_frequency: ", "");
    refused_edit("num_steps: 100", "num_steps: unlimited\n      eval_frequency: 0.5",
                 ":18: trainer.init.loop.eval_frequency: ", "no share; write a number of steps");
    const char *initial = edited(minimal, "seed: 7", "seed: 7\n    checkpoint: {save_initial_checkpoint: true}");
    assert_true(accepted(initial, FIRNC_TRAIN)->job.save_initial_checkpoint);
    assert_string_equal(message, "");
    assert_false(accepted(minimal, FIRNC_TRAIN)->job.save_initial_checkpoint);
}

/* --set may turn something off for one plan; the keys of the file then rest on purpose, those of --set do not. */
TEST(what_a_setting_turns_off_rests_silently) {
    const char *text = edited(minimal, "bfloat16", "float16\n      loss_scaling_factor: dynamic");
    static const char *const settings[] = {"trainer.init.precision.enabled=false",
                                           "trainer.init.precision.precision_opt_level=2"};
    (void)accepted_set(text, FIRNC_TRAIN, settings, 1);
    assert_string_equal(message, "");
    (void)accepted_set(text, FIRNC_TRAIN, settings, 2);
    expect_message(": --set trainer.init.precision.precision_opt_level: ",
                   "warning: has no effect: mixed precision is off");
}

TEST(no_recipe_of_the_sources_has_keys_without_effect) {
    glob_t files;
    assert_int_equal(glob("compiler/recipes/*.yaml", 0, NULL, &files), 0);
    assert_int_equal(glob("tests/bench/recipes/*.yaml", GLOB_APPEND, NULL, &files), 0);
    assert_true(files.gl_pathc > 5);
    for (size_t i = 0; i < 2 * files.gl_pathc; i++) {
        static const char *const sizes = "trainer.fit.train_dataloader.statistics="
                                         "../../tests/golden/table_statistics.json"; /* as table.yaml needs them */
        const bool table = strcmp(files.gl_pathv[i / 2], "compiler/recipes/table.yaml") == 0;
        firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
        if (!read_file(recipe, files.gl_pathv[i / 2], i % 2 == 0 ? FIRNC_TRAIN : FIRNC_EVAL, &sizes, table ? 1 : 0) ||
            message[0] != '\0')
            fail_msg("%s", message);
    }
    globfree(&files);
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

TEST(a_setting_replaces_a_value) {
    assert_int_equal(set("trainer.init.seed=3")->job.seed, 3);
    assert_float_equal(set("trainer.init.optimizer.AdamW.betas=[0.5, 0.75]")->job.optimizer.beta2, 0.75F, 0);
    assert_int_equal(set("trainer.init.precision.precision_opt_level=0")->job.precision.level, 0);
    assert_false(set("trainer.init.loop.check_loss=false")->job.check_loss);
    assert_int_equal(set("trainer.fit.train_dataloader.max_sequence_length=16")->job.data.window, 17);
    static const char *const two[] = {"trainer.init.schedulers=[{ConstantLR: {learning_rate: 1}}]",
                                      "trainer.init.schedulers.0.ConstantLR.learning_rate=0.25"};
    assert_true(accepted_set(minimal, FIRNC_TRAIN, two, 2)->job.schedule.nodes[0].initial == 0.25);
}

TEST(a_setting_must_name_a_key) {
    refused_set("trainer.init.sed=3", ": --set trainer.init.sed: ", "nearest known one is seed");
    refused_set("trainer.init.seed=x", ": --set trainer.init.seed: ", "not a whole number");
    refused_set("trainer.init.seed.a=1", ":3: trainer.init.seed: ", "single value");
    refused_set("trainer.init.seed", ": --set trainer.init.seed: ", "has no value");
    refused_set("=x", ": --set =x: ", "has no key before its =");
    refused_set("trainer.init.seed=\xe2\x88\x92"
                "7",
                ": --set trainer.init.seed: ", "a minus sign that is not ASCII");
    refused_set("trainer..seed=1", ": --set trainer..seed: ", "empty word");
    refused_set("trainer.init.optimizer={SGD: {lr: 1, lr: 2}}",
                ": --set trainer.init.optimizer.SGD.lr: ", "the value has the key twice");
    refused_set("trainer.init.seed=[1", ": --set trainer.init.seed: ", "not YAML");
    refused_set("trainer.init.optimizer.adamw.eps=1", ":11: trainer.init.optimizer: ", "one optimizer only");
    refused_set("trainer.init.model.vocab_size=-1", ": --set trainer.init.model.vocab_size: ", "negative");
}

/* What is written is what a person would write, and is read as the same tree. */
TEST(a_tree_is_written_in_blocks) {
    static const char head[] = "# of a test\n",
                      text[] = "trainer:\n"
                               "  a: 1\n"
                               "  'b c':\n"
                               "  - x: [1, 2]\n"
                               "    y: \"1\"\n"
                               "  - {}\n"
                               "  d:\n",
                      written[] = "# of a test\n"
                                  "trainer:\n"
                                  "  a: 1\n"
                                  "  b c:\n"
                                  "  - x:\n"
                                  "    - 1\n"
                                  "    - 2\n"
                                  "    y: \"1\"\n"
                                  "  - {}\n"
                                  "  d: null\n";
    const char *copy = firnc_format("%s-copy", file_name);
    char read[1000];
    for (int again = 0; again < 2; again++) {
        FILE *file = fopen(file_name, "w");
        assert_non_null(file);
        assert_true(fputs(again ? read : text, file) >= 0 && fclose(file) == 0);
        const firnc_tree *tree = firnc_tree_read(file_name, "a tree", "it begins with trainer");
        assert_true(tree != NULL && firnc_tree_write(tree, head, copy));
        file = fopen(copy, "r");
        assert_non_null(file);
        read[fread(read, 1, sizeof read - 1, file)] = 0;
        assert_true(fclose(file) == 0 && unlink(copy) == 0);
        assert_string_equal(read, written);
    }
}

TEST(an_unreadable_file_is_told) {
    firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
    assert_false(read_file(recipe, "/nowhere/recipe.yaml", FIRNC_TRAIN, NULL, 0));
    assert_non_null(strstr(message, "firnc: /nowhere/recipe.yaml: cannot be opened: "));
    assert_false(read_file(recipe, "/", FIRNC_TRAIN, NULL, 0));
    assert_non_null(strstr(message, "firnc: /: is a folder; "));
}
