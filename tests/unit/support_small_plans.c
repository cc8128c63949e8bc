/* See support_small_plans.h. */
#include "tests/unit/support_small_plans.h"

#include <string.h>

#include "compiler/base/text.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_native_plan.h"
#include "tests/unit/support_network.h"
#include "tests/unit/support_recipes.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_small_graphs.h"
#include "tests/unit/support_test.h"

static uint32_t made;

static void make(compiled_plan *plans, test_recipe *recipe, const char *name) {
    test_recipe *kept = firnc_allocate(sizeof *kept); /* the plan's texts are in it */
    assert_true(made < SMALL_PLANS_MAX);
    *kept = *recipe;
    firnc_compilation compilation = test_compilation(kept);
    compiled_plan_freeze(&plans[made++], name, &compilation);
}

/* --- precision ---------------------------------------------------------------------------------------------------- */

/* A dynamic loss scale begins so high that the first steps overflow and are skipped, unless the half type is wide. */
static void set_precision(test_recipe *recipe, firn_type half, int level, bool emulate, float loss_scaling,
                          float max_norm, float max_value) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    firnc_precision_fault fault;
    keys.enabled = half != FIRN_FLOAT32;
    if (keys.enabled)
        keys.fp16_type = half;
    keys.precision_opt_level = level;
    keys.emulate = emulate;
    keys.loss_scaling_factor = keys.enabled ? loss_scaling : 1;
    keys.steps_per_increase = 1;
    if (loss_scaling == FIRNC_DYNAMIC)
        keys.initial_loss_scale = keys.max_loss_scale = half == FIRN_FLOAT16 ? 0x1p19f : 0x1p127f;
    keys.max_gradient_norm = max_norm;
    keys.max_gradient_value = max_value;
    if (!firnc_mixed_precision_complete(&keys, &recipe->job.precision, &fault))
        fail_msg("%s: %s", fault.key, fault.reason);
}

/* --- networks of one or two layers -------------------------------------------------------------------------------- */

static test_recipe small_mlp(void) {
    test_recipe recipe = test_mlp_recipe();
    recipe.mlp.losses.huber_threshold = 0.5f;
    recipe.mlp.losses.cross_entropy.loss_weight = 1;
    recipe.mlp.hidden_count = 1;
    recipe.mlp.dropout_rate = 0.25f;
    recipe.job.data.micro_batch_size = 2;
    recipe.job.data.shuffle = true;
    recipe.job.data.held_out_per_mille = 100;
    return recipe;
}

static void set_loss(test_recipe *recipe, firnc_loss_kind loss) {
    recipe->mlp.losses.kind = loss;
    if (loss != FIRNC_LOSS_CROSS_ENTROPY && loss != FIRNC_LOSS_NLL)
        recipe->elements.label = FIRN_FLOAT32;
}

/* Every optimizer, and with them every loss and activation, in changing formats. */
static void make_optimizers(compiled_plan *plans) {
    for (int i = FIRNC_SGD; i <= (int)FIRNC_MUON; i++) {
        test_recipe recipe = small_mlp();
        recipe.job.optimizer = firnc_optimizer_defaults((firnc_optimizer)i);
        recipe.job.optimizer.weight_decay = i % 2 == 0 ? 0.125f : 0;
        recipe.mlp.activation = (firnc_activation)(i % (FIRNC_SOFTPLUS + 1));
        set_loss(&recipe, (firnc_loss_kind)(i % (FIRNC_LOSS_KL_DIVERGENCE + 1)));
        set_precision(&recipe, (firn_type)(i % 4), i % 3, i % 2 == 0, i % 3 == 0 ? FIRNC_DYNAMIC : 1,
                      i % 3 == 1 ? 1.0f : 0, i % 3 == 2 ? 1.0f : 0);
        make(plans, &recipe, firnc_optimizer_word((firnc_optimizer)i));
    }
}

/* The ops of optimizers that a setting chooses. */
static void make_variants(compiled_plan *plans) {
    test_recipe recipe = small_mlp();
    recipe.job.optimizer = firnc_optimizer_defaults(FIRNC_SGD);
    recipe.job.optimizer.momentum = 0.5f;
    recipe.job.optimizer.nesterov = true;
    recipe.mlp.losses.sample_weights = true;
    recipe.mlp.losses.cross_entropy =
        (firnc_cross_entropy_options){.ignores = true, .ignore_index = 1, .label_smoothing = 0.125f, .loss_weight = 1};
    make(plans, &recipe, "SGD with momentum, weighted rows");
    recipe.job.optimizer = firnc_optimizer_defaults(FIRNC_ADAM);
    recipe.job.optimizer.amsgrad = true;
    make(plans, &recipe, "AMSGrad, weighted rows");
    recipe.job.optimizer = firnc_optimizer_defaults(FIRNC_RMSPROP);
    recipe.job.optimizer.momentum = 0.5f;
    recipe.mlp.losses.sample_weights = false;
    make(plans, &recipe, "RMSprop with momentum, ignored rows");
    recipe.job.optimizer.centered = true;
    make(plans, &recipe, "RMSprop, centered with momentum");
    recipe.job.optimizer.momentum = 0;
    make(plans, &recipe, "RMSprop, centered");
    recipe = small_mlp();
    recipe.job.optimizer = firnc_optimizer_defaults(FIRNC_SGD);
    recipe.job.data.micro_batch_size = recipe.job.data.batch_size;
    recipe.mlp.hidden_sizes[0] = 48;
    make(plans, &recipe, "gradients in pieces");
}

static void make_metrics(compiled_plan *plans) {
    static const struct {
        const char *name;
        firnc_metric metric;
        firnc_loss_kind loss;
        bool macro, weights, whole;
    } rows[] = {
        {"mean loss", FIRNC_METRIC_LOSS, FIRNC_LOSS_L1, false, false, false},
        {"accuracy", FIRNC_METRIC_ACCURACY, FIRNC_LOSS_CROSS_ENTROPY, false, false, false},
        {"weighted accuracy", FIRNC_METRIC_ACCURACY, FIRNC_LOSS_CROSS_ENTROPY, false, true, false},
        {"weighted mean", FIRNC_METRIC_MEAN, FIRNC_LOSS_CROSS_ENTROPY, false, true, false},
        {"accuracy by class", FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY, FIRNC_LOSS_CROSS_ENTROPY, false, false, false},
        {"mean IoU", FIRNC_METRIC_MEAN_IOU, FIRNC_LOSS_CROSS_ENTROPY, false, true, false},
        {"Dice", FIRNC_METRIC_DICE, FIRNC_LOSS_NLL, false, false, false},
        {"F beta", FIRNC_METRIC_F_BETA, FIRNC_LOSS_CROSS_ENTROPY, false, false, false},
        {"F beta, macro", FIRNC_METRIC_F_BETA, FIRNC_LOSS_CROSS_ENTROPY, true, false, false},
        {"AUC", FIRNC_METRIC_AUC, FIRNC_LOSS_BINARY_CROSS_ENTROPY, false, false, false},
        {"mean squared error", FIRNC_METRIC_MEAN_SQUARED_ERROR, FIRNC_LOSS_MEAN_SQUARED_ERROR, false, false, false},
        {"weighted mean of whole batches", FIRNC_METRIC_MEAN, FIRNC_LOSS_CROSS_ENTROPY, false, true, true},
        {"weighted accuracy of whole batches", FIRNC_METRIC_ACCURACY, FIRNC_LOSS_CROSS_ENTROPY, false, true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_recipe recipe = small_mlp();
        recipe.job.mode = FIRNC_EVAL;
        recipe.job.steps = 0;
        recipe.job.data.micro_batch_size = recipe.job.data.batch_size;
        recipe.job.data.shuffle = false;
        recipe.job.data.wrap = false;
        recipe.job.data.held_out = true;
        recipe.job.data.short_batch = rows[i].whole ? FIRNC_SHORT_NEVER : FIRNC_SHORT_IF_POSSIBLE;
        recipe.job.metric = rows[i].metric;
        recipe.job.metric_macro = rows[i].macro;
        recipe.job.metric_beta = rows[i].metric == FIRNC_METRIC_F_BETA ? 2.0f : 0;
        recipe.mlp.losses.sample_weights = rows[i].weights;
        set_loss(&recipe, rows[i].loss);
        set_precision(&recipe, (firn_type)(i % 4), 1, false, 1, 0, 0);
        make(plans, &recipe, rows[i].name);
    }
}

/* --- language models ---------------------------------------------------------------------------------------------- */

static test_recipe small_gpt2(void) {
    test_recipe recipe = test_gpt2_recipe();
    recipe.gpt2.hidden_size = 8;
    recipe.gpt2.filter_size = 8;
    recipe.gpt2.num_hidden_layers = 1;
    recipe.gpt2.dropout_rate = recipe.gpt2.attention_dropout_rate = 0.125f;
    recipe.job.data =
        (firnc_data){.window = 5, .batch_size = 4, .micro_batch_size = 2, .stride = 4, .shuffle = true, .wrap = true};
    return recipe;
}

static void make_language_models(compiled_plan *plans) {
    for (int i = 0; i < 10; i++) {
        test_recipe recipe = small_gpt2();
        static const firnc_optimizer optimizers[] = {FIRNC_ADAMW, FIRNC_LION, FIRNC_ADAFACTOR};
        recipe.job.optimizer = firnc_optimizer_defaults(optimizers[i % 3]);
        recipe.gpt2.share_embedding_weights = i % 4 != 1;
        recipe.gpt2.attention_softmax_fp32 = i % 2 == 0;
        if (i % 3 == 2) {
            recipe.gpt2.position_embedding = FIRNC_POSITIONS_ROTARY;
            recipe.gpt2.rotary_dim = 4;
            recipe.gpt2.rope_theta = 100;
        }
        if (i >= 8) {
            recipe.job.data.micro_batch_size = recipe.job.data.batch_size;
            recipe.job.weight_copies = FIRNC_COPIES_NEVER;
        }
        set_precision(&recipe, (firn_type)(i % 4), i % 3, i % 4 == 3, i % 4 != 0 ? FIRNC_DYNAMIC : 1,
                      i % 3 != 1 ? 1.0f : 0, i % 3 == 1 ? 1.0f : 0);
        make(plans, &recipe, "a language model");
    }
    for (int i = 0; i < 4; i++) {
        test_recipe recipe = small_gpt2();
        recipe.job.logit_rows = 32; /* two blocks, of 32 rows and of 8 */
        recipe.job.weight_copies = i < 3 ? FIRNC_COPIES_NEVER : FIRNC_COPIES_ALWAYS;
        recipe.job.data.window = 11;
        recipe.job.data.micro_batch_size = recipe.job.data.batch_size;
        recipe.gpt2.share_embedding_weights = i % 2 == 0;
        recipe.gpt2.loss.label_smoothing = i % 2 == 0 ? 0 : 0.125f;
        set_precision(&recipe, (firn_type)i, 1, i == 1, i == 1 ? FIRNC_DYNAMIC : 1, 0, 0);
        make(plans, &recipe, "logits by blocks of rows");
    }
    static const uint32_t batches[] = {4, 6, 10}; /* a tree of 2 micro-batches, which has no levels, of 3 and of 5 */
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        test_recipe recipe = small_gpt2();
        recipe.job.tree = true;
        recipe.job.data.batch_size = batches[i];
        set_precision(&recipe, (firn_type)i, 1, false, i == 1 ? FIRNC_DYNAMIC : 1, 1.0f, 0);
        make(plans, &recipe, "micro-batches as a tree");
    }
    for (int i = 0; i < 4; i++) {
        test_recipe recipe = small_gpt2();
        recipe.job.mode = FIRNC_EVAL;
        recipe.job.steps = 2;
        recipe.job.data = (firnc_data){.window = 5, .batch_size = 2, .micro_batch_size = 2, .stride = 4, .wrap = false};
        recipe.job.metric = i % 2 == 0 ? FIRNC_METRIC_PERPLEXITY : FIRNC_METRIC_ACCURACY;
        set_precision(&recipe, (firn_type)i, i % 3, i == 3, 1, 0, 0);
        make(plans, &recipe, "a language model, evaluated");
    }
}

/* Tokens that come one after the other: learned positions in the order of an engine, ALiBi, and rotary positions. */
static void make_decoding(compiled_plan *plans) {
    static const char *const settings[] = {"trainer.init.model.vocab_size=9",
                                           "trainer.init.model.hidden_size=8",
                                           "trainer.init.model.num_hidden_layers=1",
                                           "trainer.init.model.num_heads=2",
                                           "trainer.init.model.filter_size=4",
                                           "trainer.init.model.max_position_embeddings=6",
                                           "trainer.fit.train_dataloader.max_sequence_length=6",
                                           "trainer.init.model.position_embedding_type=alibi"};
    static const struct {
        const char *name, *recipe, *target;
        uint32_t settings;
    } cases[] = {{"decoding, learned positions", "compiler/recipes/small_gpt3.yaml", "amx-bf16", 7},
                 {"decoding, ALiBi", "compiler/recipes/small_gpt3.yaml", "portable", 8},
                 {"decoding, rotary positions", "compiler/recipes/small_gptj.yaml", "portable", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        firnc_recipe *recipe = firnc_allocate(sizeof *recipe);
        assert_true(firnc_recipe_read(recipe, cases[i].recipe, FIRNC_EVAL, settings, cases[i].settings));
        assert_true(firnc_recipe_decode(recipe, 2));
        recipe->job.target = cases[i].target;
        recipe->job.security_counter = 5;
        firnc_compilation compilation = {.job = &recipe->job, .graph = firnc_recipe_build(recipe)};
        assert_true(made < SMALL_PLANS_MAX);
        compiled_plan_freeze(&plans[made], cases[i].recipe, &compilation);
        plans[made++].name = cases[i].name;
    }
}

/* Schedules of several kinds, with milestones and an expression, for the learning rate and the weight decay. */
static void make_schedules(compiled_plan *plans) {
    static const char *const settings[] = {
        "trainer.init.model.input_size=6", "trainer.init.model.output_size=3", "trainer.init.model.hidden_sizes=[4]",
        "trainer.init.schedulers=[{SequentialLR: {milestones: [1, 2], schedulers: ["
        "{LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.2, total_iters: 1}}, "
        "{LambdaLR: {initial_learning_rate: 0.5, lr_lambda: 1 / (t + 2)}}, "
        "{MultiStepLR: {initial_learning_rate: 0.1, gamma: 0.5, milestones: [1, 4]}}]}}, "
        "{CosineDecayWD: {initial_val: 0.25, end_val: 0.125, total_iters: 10}}]"};
    assert_true(made < SMALL_PLANS_MAX);
    compiled_plan_make(&plans[made], "compiler/recipes/small_mlp.yaml", FIRNC_TRAIN, settings, 4);
    plans[made++].name = "schedules";
}

/* --- images, recurrence, and ops of graphs ------------------------------------------------------------------------ */

/* Each graph in float32 and in a half type, with two micro-batches. */
static void make_graphs(compiled_plan *plans) {
    for (uint32_t i = 0; small_graphs[i].build != NULL; i++)
        for (int half = 0; half < 2; half++) {
            test_recipe *recipe = firnc_allocate(sizeof *recipe);
            *recipe = small_mlp();
            recipe->job.name = small_graphs[i].name;
            recipe->job.data =
                (firnc_data){.batch_size = 2 * SMALL_SAMPLES, .micro_batch_size = SMALL_SAMPLES, .wrap = true};
            set_precision(recipe, half ? (firn_type)(1 + i % 3) : FIRN_FLOAT32, (int)i % 3, i % 2 == 0,
                          half ? FIRNC_DYNAMIC : 1, 0, 0);
            firnc_compilation compilation = {.job = &recipe->job, .graph = small_graphs[i].build()};
            assert_true(made < SMALL_PLANS_MAX);
            compiled_plan_freeze(&plans[made++], small_graphs[i].name, &compilation);
        }
}

/* Batch norms, frozen weights and adapters, as a recipe has them. */
static void make_fine_tuned(compiled_plan *plans) {
    static const char *const settings[] = {"trainer.init.model.image_height=5",
                                           "trainer.init.model.image_width=5",
                                           "trainer.init.model.filters=2",
                                           "trainer.fit.train_dataloader.batch_size=2",
                                           "trainer.fit.train_dataloader.micro_batch_size=1",
                                           "trainer.validate.val_dataloader.batch_size=2",
                                           "trainer.init.fine_tuning={lora: {layers: [conv1, fc], rank: 1, alpha: 2}}",
                                           "trainer.init.fine_tuning.lora.dropout=0.25",
                                           "trainer.init.fine_tuning.train=['*bn*']",
                                           "trainer.init.fine_tuning.frozen_type=half"};
    for (int evaluated = 0; evaluated < 2; evaluated++) {
        assert_true(made < SMALL_PLANS_MAX);
        compiled_plan_make(&plans[made], "compiler/recipes/small_ds_cnn.yaml", evaluated ? FIRNC_EVAL : FIRNC_TRAIN,
                           settings, sizeof settings / sizeof settings[0]);
        plans[made++].name = evaluated ? "fine-tuned, evaluated" : "fine-tuned";
    }
}

/* --- plans that firnc does not write ------------------------------------------------------------------------------ */

/* Writes the plan in `network`, with the key of the other plans. */
static void finish(compiled_plan *plans, const char *name) {
    static signed_plan written;
    assert_true(made < SMALL_PLANS_MAX);
    builder_finish(&network, NULL, &written);
    compiled_plan *plan = &plans[made++];
    compiled_plan_copy(plan, &(compiled_plan){.name = name, .file = written.file, .bytes = written.bytes});
    firn_header header = compiled_plan_header(plan), ours = compiled_plan_header(&plans[0]);
    memcpy(header.key_hash, ours.key_hash, sizeof header.key_hash);
    compiled_plan_set_header(plan, &header);
    compiled_plan_sign(plan);
}

static void make_network(compiled_plan *plans, const char *name, network_form form) {
    network_describe(&form);
    finish(plans, name);
}

/* Caches: the last logits, and how many batches there were. */
static void make_cached(compiled_plan *plans) {
    network_form form = network_evaluated(network_plain);
    form.unlabelled = true;
    builder_begin(&network, FIRN_MODE_EVAL);
    network_at = (network_tensors){0};
    int last = (int)builder_state(&network, BUILDER_SESSION, "cache.last", FIRN_FLOAT32, FIRN_FB_ROLE_CACHE,
                                  (uint32_t[]){NETWORK_SAMPLES, NETWORK_CLASSES, 0});
    int position =
        (int)builder_state(&network, BUILDER_SESSION, "cache.position", FIRN_INT64, FIRN_FB_ROLE_CACHE, network_one);
    network_add_state(&form);
    network_add_inputs(&form);
    network_add_forward(&form);
    int both = network_activation((uint32_t[]){2 * NETWORK_SAMPLES, NETWORK_CLASSES, 0});
    builder_integer(
        &network,
        builder_op(&network, FIRN_OP_concat, (int[]){last, network_at.logits, BUILDER_END}, (int[]){both, BUILDER_END}),
        0);
    network_accumulate(last, network_at.logits);
    network_count(position);
    network_add_evaluation(&form);
    builder_output(&network, "both", both);
    finish(plans, "caches");
}

/* Two metrics: the accuracy, and the mean loss. */
static void make_measured_twice(compiled_plan *plans) {
    network_form form = network_evaluated(network_plain);
    builder_begin(&network, FIRN_MODE_EVAL);
    network_at = (network_tensors){0};
    int right = (int)builder_counter(&network, BUILDER_SESSION, "accuracy.correct");
    int rows = (int)builder_counter(&network, BUILDER_SESSION, "accuracy.count");
    network_add_state(&form);
    network_add_inputs(&form);
    network_add_forward(&form);
    (void)builder_op(&network, FIRN_OP_metric_accuracy,
                     (int[]){network_at.logits, network_at.labels, right, rows, BUILDER_END},
                     (int[]){right, rows, BUILDER_END});
    network_add_evaluation(&form);
    const firn_native_metric metrics[] = {
        {.kind = FIRN_FB_METRIC_KIND_ACCURACY, .sum = (uint32_t)right, .count = (uint32_t)rows}, network.metric};
    network.plan.metrics = metrics;
    network.plan.metrics_count = 2;
    finish(plans, "two metrics");
}

/* Samples that are pushed. */
static void make_pushed(compiled_plan *plans) {
    network_describe(&network_plain);
    int region = builder_region(&network, FIRN_FB_REGION_KIND_RING);
    network.inputs[0].ring =
        builder_tensor(&network, region, FIRN_FLOAT32, FIRN_FB_ROLE_RING, (uint32_t[]){10, NETWORK_WIDTH, 0});
    network.inputs[1].ring = builder_tensor(&network, region, FIRN_UINT8, FIRN_FB_ROLE_RING, (uint32_t[]){10, 0});
    network.sampler.pushed = builder_tensor(&network, region, FIRN_INT64, FIRN_FB_ROLE_RING, network_one);
    finish(plans, "rings");
}

static void make_networks(compiled_plan *plans) {
    network_form form = network_plain;
    network_make_weights(FIRN_BFLOAT16);
    form.regions = form.buffers = form.clip = true;
    make_network(plans, "several regions, buffers", form);
    make_network(plans, "several regions, buffers, evaluated", network_evaluated(form));
    form = network_plain;
    form.buffers = true;
    form.scale = 0x1p127f; /* the first steps are skipped */
    make_network(plans, "buffers, skipped steps", form);
    form = network_plain;
    form.views = true;
    make_network(plans, "views", form);
    make_network(plans, "views, evaluated", network_evaluated(form));
    form = network_plain;
    form.frozen = true;
    form.reduction =
        (firn_fb_reduction){.kind = FIRN_FB_REDUCTION_KIND_CHUNKED, .accumulator = FIRN_BFLOAT16, .chunk = 4};
    make_network(plans, "a frozen weight", form);
    form.half_weight = true;
    make_network(plans, "a derived weight", network_evaluated(form));
    form = network_plain;
    form.frozen = form.wide = true;
    make_network(plans, "a frozen weight, derived", form);
    form.buffers = form.clip = true;
    make_network(plans, "a frozen weight, derived, buffers", form);
    form = network_plain;
    form.weights = FIRN_BFLOAT16;
    form.steps = 0;
    make_network(plans, "half weights, without end", form);
    form = network_evaluated(network_plain);
    form.half_weight = form.unlabelled = true;
    make_network(plans, "a derived weight, without labels", form);
    make_cached(plans);
    make_measured_twice(plans);
    make_pushed(plans);
}

/* --- plans of an earlier firnc -------------------------------------------------------------------------------------
 */

/* Replaces each scaled_unit_norm by unit_norm, which has its operands. Returns whether there was one. */
static bool replace_unit_norms(native_plan *native) {
    bool replaced = false;
    for (uint32_t p = 0; p < native->plan->phases_count; p++)
        for (uint32_t i = 0; i < native->plan->phases[p].ops_count; i++) {
            const firn_native_op *op = &native->plan->phases[p].ops[i];
            if (op->code != FIRN_OP_scaled_unit_norm)
                continue;
            *(uint16_t *)(uintptr_t)&op->code = FIRN_OP_unit_norm;
            replaced = true;
        }
    return replaced;
}

/* Muon as firnc froze it before format minor 2. */
static void make_older_muon(compiled_plan *plans) {
    bool replaced = false;
    for (uint32_t i = 0; i < made && !replaced; i++) {
        native_plan native = native_plan_read(sealed_payload(&plans[i]));
        replaced = replace_unit_norms(&native);
        if (replaced) {
            const firn_header header = compiled_plan_header(&plans[i]);
            assert_true(made < SMALL_PLANS_MAX);
            assert_true(sealed_plan_make(&plans[made], &plans[i], &native, &header));
            plans[made++].name = "Muon of an earlier firnc";
        }
        native_plan_free(&native);
    }
    assert_true(replaced);
}

uint32_t small_plans_make(compiled_plan *plans) {
    made = 0;
    make_optimizers(plans);
    make_variants(plans);
    make_metrics(plans);
    make_language_models(plans);
    make_schedules(plans);
    make_networks(plans);
    make_graphs(plans);
    make_fine_tuned(plans);
    make_decoding(plans);
    make_older_muon(plans);
    return made;
}
