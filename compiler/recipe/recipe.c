/* Reads a recipe from end to end: parses the tree, applies --set, checks the outer layout and calls the reader of each
 * mapping (recipe_parts.h). The order of the calls matters: later readers use what earlier ones have filled in. */
#include "compiler/recipe/recipe.h"

#include <string.h>

#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"

static const firnc_field root_fields[] = {
    {"trainer", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"train_input", .kind = FIRNC_FIELD_REFUSED, .only = "beside trainer it is trainer.fit.train_dataloader"},
    {"eval_input", .kind = FIRNC_FIELD_REFUSED, .only = "beside trainer it is trainer.validate.val_dataloader"},
    {"runconfig", .kind = FIRNC_FIELD_REFUSED, .only = "beside trainer its steps are in trainer.init.loop"},
    {"model", .kind = FIRNC_FIELD_REFUSED, .only = "beside trainer it is trainer.init.model"},
    {"optimizer", .kind = FIRNC_FIELD_REFUSED, .only = "beside trainer it is trainer.init.optimizer"},
    FIRNC_BELOW("init", "trainer"),
    FIRNC_BELOW("fit", "trainer"),
    FIRNC_BELOW("validate", "trainer"),
    FIRNC_BELOW("seed", "trainer.init"),
    FIRNC_BELOW("loop", "trainer.init"),
    FIRNC_BELOW("precision", "trainer.init"),
    FIRNC_BELOW("schedulers", "trainer.init"),
    FIRNC_BELOW("learning_rate", "an entry of trainer.init.schedulers"),
    FIRNC_BELOW("input_size", "trainer.init.model"),
    FIRNC_BELOW("hidden_sizes", "trainer.init.model"),
    FIRNC_BELOW("output_size", "trainer.init.model"),
    FIRNC_BELOW("vocab_size", "trainer.init.model"),
    FIRNC_BELOW("hidden_size", "trainer.init.model"),
    FIRNC_BELOW("loss", "trainer.init.model"),
    FIRNC_BELOW("num_steps", "trainer.init.loop"),
    FIRNC_BELOW("num_epochs", "trainer.init.loop"),
    FIRNC_BELOW("train_dataloader", "trainer.fit"),
    FIRNC_BELOW("batch_size", "trainer.fit.train_dataloader"),
    FIRNC_BELOW("held_out_per_mille", "trainer.fit.train_dataloader"),
    FIRNC_BELOW("val_dataloader", "trainer.validate"),
    FIRNC_BELOW("metric", "trainer.validate"),
};

static const firnc_field trainer_fields[] = {
    {"init", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"fit", .kind = FIRNC_FIELD_NESTED},
    {"validate", .kind = FIRNC_FIELD_NESTED},
    {"validate_all", .kind = FIRNC_FIELD_NESTED},
    FIRNC_BELOW("seed", "trainer.init"),
    FIRNC_BELOW("model", "trainer.init"),
    FIRNC_BELOW("optimizer", "trainer.init"),
    FIRNC_BELOW("schedulers", "trainer.init"),
    FIRNC_BELOW("precision", "trainer.init"),
    FIRNC_BELOW("loop", "trainer.init"),
    FIRNC_BELOW("num_steps", "trainer.init.loop"),
    FIRNC_BELOW("num_epochs", "trainer.init.loop"),
    FIRNC_BELOW("train_dataloader", "trainer.fit"),
    FIRNC_BELOW("batch_size", "trainer.fit.train_dataloader"),
    FIRNC_BELOW("val_dataloader", "trainer.validate"),
    FIRNC_BELOW("metric", "trainer.validate"),
};

static const firnc_field validate_all_fields[] = {
    {"val_dataloaders", .kind = FIRNC_FIELD_OTHER},
    {"ckpt_paths", .kind = FIRNC_FIELD_IGNORED, .only = "a plan names no files; use firn eval --checkpoint"},
};

static const firnc_field init_fields[] = {
    {"mode", .kind = FIRNC_FIELD_OTHER},
    {"seed", .kind = FIRNC_FIELD_LONG, offsetof(firnc_recipe, job.seed), 0, 0},
    {"model", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"optimizer", .kind = FIRNC_FIELD_OTHER},
    {"schedulers", .kind = FIRNC_FIELD_ENTRIES},
    {"precision", .kind = FIRNC_FIELD_NESTED},
    {"loop", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"callbacks", .kind = FIRNC_FIELD_ENTRIES},
    {"weight_map", .kind = FIRNC_FIELD_ENTRIES},
    {"fine_tuning", .kind = FIRNC_FIELD_NESTED},
    {"sparsity", .kind = FIRNC_FIELD_REFUSED, .only = "Firn trains dense models; remove it"},
    /* They say where the model zoo runs, logs and saves, which is not part of a plan. */
    {"backend", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan runs on the machine that firn is started on; use firnc compile --target and firn train --threads"},
    {"device", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan runs on the machine that firn is started on; use firnc compile --target and firn train --threads"},
    {"autorestart", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "a plan runs on the machine that firn is started on; use firn train --resume"},
    {"model_dir", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; use firnc compile -o, and firn train --checkpoint and --log"},
    {"checkpoint", .kind = FIRNC_FIELD_NESTED},
    {"logging", .kind = FIRNC_FIELD_IGNORED, .only = "a plan does not log; use firn train --log, which logs each step"},
    {"loggers", .kind = FIRNC_FIELD_IGNORED, .only = "a plan does not log; use firn train --log, which logs each step"},
    FIRNC_LOOP_KEYS_BELOW,
    FIRNC_OPTIMIZER_KEYS_BELOW,
    FIRNC_PRECISION_KEYS_BELOW,
    FIRNC_DATA_KEYS_BELOW,
    FIRNC_BELOW("train_dataloader", "trainer.fit"),
    FIRNC_BELOW("val_dataloader", "trainer.validate"),
    FIRNC_BELOW("metric", "trainer.validate"),
};

#define ONE_CHECKPOINT "a run has one checkpoint, which firn train --checkpoint names"

static const firnc_field checkpoint_fields[] = {
    {"steps", .kind = FIRNC_FIELD_LONG, offsetof(firnc_job, checkpoint_steps), 0, FIRNC_STEPS_MAX},
    {"save_initial_checkpoint", .kind = FIRNC_FIELD_FLAG, offsetof(firnc_job, save_initial_checkpoint)},
    {"autoload_last_checkpoint", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = ONE_CHECKPOINT "; firn train --resume goes on from it"},
    {"disable_strict_checkpoint_loading", .kind = FIRNC_FIELD_IGNORED, .usual = "false",
     .only = "a checkpoint fits its plan or is refused; remove it"},
    {"checkpoint_name", .kind = FIRNC_FIELD_IGNORED, .only = ONE_CHECKPOINT "; remove it"},
    {"checkpoint_root", .kind = FIRNC_FIELD_IGNORED, .only = ONE_CHECKPOINT "; remove it"},
    {"ckpt_path", .kind = FIRNC_FIELD_IGNORED, .only = ONE_CHECKPOINT "; firn train --resume goes on from it"},
};

static const firnc_field fit_fields[] = {
    {"train_dataloader", .kind = FIRNC_FIELD_NESTED},
    {"val_dataloader", .kind = FIRNC_FIELD_OTHER},
    {"outputs", .kind = FIRNC_FIELD_ENTRIES},
    {"ckpt_path", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; use firn train --checkpoint with --resume, or firnc compile --weights"},
};

/* --- the mode ----------------------------------------------------------------------------------------------------- */

/* A recipe may omit its mode; if it gives one, it must be the mode that is being compiled. */
static bool check_mode(const firnc_recipe *recipe, const firnc_tree *node) {
    const char *wanted = recipe->job.mode == FIRNC_TRAIN ? "train" : "eval";
    if (node == NULL)
        return true;
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "train_and_eval") == 0)
        return firnc_tree_fail(node, "train_and_eval: " FIRNC_ONE_MODE);
    if (node->kind != FIRNC_SCALAR || (strcmp(node->text, "train") != 0 && strcmp(node->text, "eval") != 0))
        return firnc_tree_fail(node, "is not a mode; write train or eval, or leave it to firnc compile --mode");
    if (strcmp(node->text, wanted) != 0)
        return firnc_tree_fail(node,
                               "is %s, and that of firnc compile --mode is %s; leave mode out of a recipe for both",
                               node->text, wanted);
    return true;
}

bool firnc_recipe_modes(const char *file, const char *hugging_face, const char *const *settings, uint32_t setting_count,
                        bool has[2]) {
    const firnc_tree *root = firnc_recipe_tree(file, hugging_face, settings, setting_count);
    if (root == NULL)
        return false;
    const firnc_tree *trainer = firnc_tree_child(root, "trainer"), *fit = firnc_tree_child(trainer, "fit");
    const firnc_tree *mode = firnc_tree_child(firnc_tree_child(trainer, "init"), "mode");
    const char *word = mode != NULL && mode->kind == FIRNC_SCALAR ? mode->text : NULL;
    has[FIRNC_EVAL] = word == NULL || strcmp(word, "train") != 0;
    /* without data of any kind the reader of the training says what is missing */
    const bool judges_only =
        firnc_tree_child(fit, "train_dataloader") == NULL &&
        (firnc_tree_child(trainer, "validate") != NULL || firnc_tree_child(trainer, "validate_all") != NULL ||
         firnc_tree_child(fit, "val_dataloader") != NULL);
    has[FIRNC_TRAIN] = (word == NULL && !judges_only) || (word != NULL && strcmp(word, "eval") != 0);
    return true;
}

/* --- the parts of the layout -------------------------------------------------------------------------------------- */

/* How often to save is kept in the report of the plan, where firn train finds it. */
static bool read_checkpoint(firnc_job *job, const firnc_tree *mapping) {
    return mapping == NULL ||
           firnc_fields_read(mapping, checkpoint_fields, sizeof checkpoint_fields / sizeof checkpoint_fields[0], job);
}

static bool read_init(firnc_recipe *recipe, const firnc_tree *init, bool *compute_metrics) {
    firnc_job *job = &recipe->job;
    firnc_model_settings said;
    double learning_rate;
    if (!firnc_fields_read(init, init_fields, sizeof init_fields / sizeof init_fields[0], recipe) ||
        !check_mode(recipe, firnc_tree_child(init, "mode")) ||
        !firnc_recipe_model(recipe, firnc_tree_child(init, "model"), &said) ||
        !firnc_recipe_weight_map(recipe, firnc_tree_child(init, "weight_map")))
        return false;
    *compute_metrics = said.compute_eval_metrics;
    return read_checkpoint(job, firnc_tree_child(init, "checkpoint")) && firnc_recipe_precision(job, init, &said) &&
           firnc_recipe_optimizer(job, init, &learning_rate) && firnc_recipe_schedule(job, init, learning_rate);
}

/* Notes what a schedule says of a run of this length. If --set gave the length, keys of the file are meant to stay. */
static void note_schedule(void *context, const firnc_schedule_source *source, const char *what, const char *reason) {
    const firnc_place *steps = context;
    if (source != NULL && (steps->line != 0 || source->place.line == 0))
        firnc_idle_say(source->entry, what, reason);
}

/* What depends on the data: the length of the run, and so the values of the schedules; callbacks; the ring. */
static bool read_run(firnc_recipe *recipe, const firnc_tree *init) {
    const firnc_place place = firnc_tree_place(init);
    return firnc_recipe_loop(recipe, init) &&
           firnc_job_schedule_values(&recipe->job, &place, note_schedule, &recipe->job.places.steps) &&
           firnc_recipe_callbacks(&recipe->job, firnc_tree_child(init, "callbacks")) &&
           firnc_recipe_fine_tuning(&recipe->job, firnc_tree_child(init, "fine_tuning")) &&
           firnc_job_ring(&recipe->job);
}

/* Notes keys that have no effect because of a key in another mapping. */
static void note_idle_keys(const firnc_recipe *recipe, const firnc_tree *trainer, bool compute_metrics) {
    static const firnc_idle_key metrics = {"compute_eval_metrics", NULL};
    const firnc_tree *validate = firnc_tree_child(trainer, "validate");
    const firnc_tree *init = firnc_tree_child(trainer, "init"), *model = firnc_tree_child(init, "model");
    const firnc_tree *loader = firnc_tree_child(firnc_tree_child(trainer, "fit"), "val_dataloader");
    const firnc_tree *metric = firnc_tree_child(validate, "metric");
    const firnc_tree *taken = firnc_tree_child(validate, "val_dataloader");
    if (loader != NULL && taken != NULL && !firnc_tree_same(loader, taken))
        firnc_idle_note(loader, "trainer.validate.val_dataloader is there and is taken; remove one of the two");
    if (recipe->job.mode == FIRNC_EVAL && metric != NULL && !compute_metrics && recipe->job.metric != FIRNC_METRIC_LOSS)
        firnc_idle_note_keys(model, &metrics, 1, metric, "trainer.validate.metric is there; remove one of the two");
    if (!recipe->job.precision.mixed)
        firnc_idle_note_keys(model, recipe->model->mixed_keys, recipe->model->mixed_key_count,
                             firnc_recipe_precision_switch(init), FIRNC_RECIPE_IN_FLOAT32);
}

static bool check_end(const firnc_recipe *recipe, const firnc_tree *trainer) {
    if (recipe->job.mode == FIRNC_EVAL && recipe->job.steps == 0 && recipe->job.data.wrap)
        return firnc_tree_fail(trainer,
                               "validate.val_dataloader.wrap without loop.eval_steps never ends; set eval_steps");
    return true;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* The models of the table that decode, for a message. */
static const char *decoding_models(void) {
    const char *text = "";
    for (uint32_t i = 0; firnc_model_at(i) != NULL; i++)
        if (firnc_model_at(i)->decodes)
            text = firnc_format("%s%s%s", text, text[0] == '\0' ? "" : ", ", firnc_model_at(i)->name);
    return text;
}

bool firnc_recipe_decode(firnc_recipe *recipe, uint32_t chunk) {
    firnc_job *job = &recipe->job;
    const uint32_t context = recipe->facts.longest_sequence;
    if (!recipe->model->decodes)
        return firnc_job_fail(job, NULL,
                              "firnc compile --decode: the model %s does not say one token after the other; those that "
                              "do are %s; write one of them, or leave the option out",
                              recipe->model->name, decoding_models());
    if (chunk > context)
        return firnc_job_fail(job, NULL,
                              "firnc compile --decode-chunk: %u tokens are more than the model's context, "
                              "max_position_embeddings: %u; write at most that",
                              (unsigned)chunk, (unsigned)context);
    job->decode = (firnc_decode){.chunk = chunk, .context = context};
    job->data = (firnc_data){.batch_size = 1, .micro_batch_size = 1, .ring = 1, .wrap = true};
    job->steps = (uint64_t)FIRNC_STEPS_MAX; /* a session has no end of its own */
    job->metric = FIRNC_METRIC_NONE;
    job->outputs[0] = (firnc_job_output){.name = "logits"};
    job->output_count = 1;
    job->check_loss = false;
    job->image_id = FIRNC_DECODE_IMAGE_ID;
    return true;
}

firnc_graph *firnc_recipe_build(const firnc_recipe *recipe) {
    firnc_graph *graph = firnc_graph_create(recipe->model->name);
    if (recipe->job.mode == FIRNC_EVAL)
        firnc_graph_evaluate(graph);
    recipe->model->build(graph, &recipe->job, recipe->settings, &recipe->elements);
    return graph;
}

bool firnc_recipe_read(firnc_recipe *recipe, const char *file, firnc_mode mode, const char *const *settings,
                       uint32_t setting_count) {
    const uint64_t samples = recipe->samples;
    const char *hugging_face = recipe->hugging_face, *statistics = recipe->statistics;
    const bool has_tokenizer = recipe->has_tokenizer;
    memset(recipe, 0, sizeof *recipe);
    recipe->has_tokenizer = has_tokenizer;
    recipe->samples = samples;
    recipe->hugging_face = hugging_face;
    recipe->statistics = statistics;
    recipe->job.name = file;
    recipe->job.mode = mode;
    recipe->job.image_id = mode;
    recipe->job.target = "portable";
    recipe->job.places.layers = recipe->job.places.samples = (firnc_place){.file = file, .line = 1, .path = ""};
    firnc_tree *root = firnc_recipe_tree(file, hugging_face, settings, setting_count);
    if (root == NULL)
        return false;
    if (!firnc_fields_read(root, root_fields, sizeof root_fields / sizeof root_fields[0], NULL) ||
        !firnc_recipe_statistics(recipe, root))
        return false;
    const firnc_tree *trainer = firnc_tree_child(root, "trainer"), *fit = firnc_tree_child(trainer, "fit");
    const firnc_tree *every = firnc_tree_child(trainer, "validate_all");
    bool compute_metrics;
    if (!firnc_fields_read(trainer, trainer_fields, sizeof trainer_fields / sizeof trainer_fields[0], NULL) ||
        (fit != NULL && !firnc_fields_read(fit, fit_fields, sizeof fit_fields / sizeof fit_fields[0], NULL)) ||
        !read_init(recipe, firnc_tree_child(trainer, "init"), &compute_metrics) ||
        !firnc_recipe_metric(recipe, firnc_tree_child(trainer, "validate"), compute_metrics) ||
        (every != NULL && !firnc_fields_read(every, validate_all_fields,
                                             sizeof validate_all_fields / sizeof validate_all_fields[0], NULL)) ||
        (mode == FIRNC_TRAIN && !firnc_recipe_outputs(&recipe->job, firnc_tree_child(fit, "outputs"))) ||
        !firnc_recipe_data(recipe, trainer) || !read_run(recipe, firnc_tree_child(trainer, "init")) ||
        !check_end(recipe, trainer))
        return false;
    note_idle_keys(recipe, trainer, compute_metrics);
    firnc_idle_tell();
    return true;
}
