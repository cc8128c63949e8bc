/* Reads a recipe from end to end: parses the tree, applies --set, checks the outer layout and calls the reader of each
 * mapping (recipe_parts.h). The order of the calls matters: later readers use what earlier ones have filled in. */
#include "compiler/recipe/recipe.h"

#include <string.h>

#include "compiler/recipe/recipe_parts.h"

static const firnc_field root_fields[] = {
    {"trainer", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"train_input", .kind = FIRNC_FIELD_REFUSED,
     .only = "older releases had it here; it is trainer.fit.train_dataloader"},
    {"eval_input", .kind = FIRNC_FIELD_REFUSED,
     .only = "older releases had it here; it is trainer.validate.val_dataloader"},
    {"runconfig", .kind = FIRNC_FIELD_REFUSED, .only = "older releases had it here; steps are in trainer.init.loop"},
    {"model", .kind = FIRNC_FIELD_REFUSED, .only = "older releases had it here; it is trainer.init.model"},
    {"optimizer", .kind = FIRNC_FIELD_REFUSED, .only = "older releases had it here; it is trainer.init.optimizer"},
};

static const firnc_field trainer_fields[] = {
    {"init", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"fit", .kind = FIRNC_FIELD_NESTED},
    {"validate", .kind = FIRNC_FIELD_NESTED},
    {"validate_all", .kind = FIRNC_FIELD_IGNORED,
     .only = "an eval plan reads trainer.validate; compile one with --set for each other data set"},
};

static const firnc_field init_fields[] = {
    {"mode", .kind = FIRNC_FIELD_OTHER},
    {"seed", .kind = FIRNC_FIELD_LONG, offsetof(firnc_recipe, job.seed), 0, 0},
    {"model", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"optimizer", .kind = FIRNC_FIELD_NESTED},
    {"schedulers", .kind = FIRNC_FIELD_ENTRIES},
    {"precision", .kind = FIRNC_FIELD_NESTED},
    {"loop", .kind = FIRNC_FIELD_NESTED, .required = true},
    {"callbacks", .kind = FIRNC_FIELD_ENTRIES},
    {"weight_map", .kind = FIRNC_FIELD_ENTRIES},
    {"sparsity", .kind = FIRNC_FIELD_REFUSED, .only = "Firn trains dense models; remove it"},
    /* They say where the model zoo runs, logs and saves, which is not part of a plan. */
    {"backend", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan runs on the machine that firn is started on; use firnc compile --target and firn train --threads"},
    {"device", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan runs on the machine that firn is started on; use firnc compile --target and firn train --threads"},
    {"model_dir", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; use -o of firnc compile, and --checkpoint and --log of firn train"},
    {"checkpoint", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan does not say when to save; use firn train --checkpoint, --checkpoint-every and --resume"},
    {"logging", .kind = FIRNC_FIELD_IGNORED, .only = "a plan does not log; use firn train --log, which logs each step"},
    {"loggers", .kind = FIRNC_FIELD_IGNORED, .only = "a plan does not log; use firn train --log, which logs each step"},
};

static const firnc_field fit_fields[] = {
    {"train_dataloader", .kind = FIRNC_FIELD_NESTED},
    {"val_dataloader", .kind = FIRNC_FIELD_NESTED},
    {"outputs", .kind = FIRNC_FIELD_ENTRIES},
    {"ckpt_path", .kind = FIRNC_FIELD_IGNORED,
     .only = "a plan names no files; use firn train --checkpoint with --resume, or firnc compile --weights"},
};

typedef struct loop {
    uint64_t eval_steps;
    bool check_loss;
} loop;

static const firnc_field loop_fields[] = {
    {"num_steps", .kind = FIRNC_FIELD_OTHER},
    {"max_steps", .kind = FIRNC_FIELD_OTHER},
    {"eval_steps", .kind = FIRNC_FIELD_LONG, offsetof(loop, eval_steps), 0, FIRNC_STEPS_MAX},
    {"check_loss", .kind = FIRNC_FIELD_FLAG, offsetof(loop, check_loss)},
    {"eval_frequency", .kind = FIRNC_FIELD_IGNORED,
     .only = "a training plan does not evaluate; compile with --mode eval too, and run firn eval on checkpoints"},
    {"num_epochs", .kind = FIRNC_FIELD_REFUSED, .only = "a frozen run has a length in steps; write num_steps"},
    {"steps_per_epoch", .kind = FIRNC_FIELD_REFUSED, .only = "a frozen run has a length in steps; write num_steps"},
    {"grad_accum_steps", .kind = FIRNC_FIELD_REFUSED, .only = "set micro_batch_size below batch_size"},
};

/* Callbacks of the model zoo that only observe a run, each with the reason why it has no effect and what to do instead.
 * Any other callback may change the run and is refused. */
static const struct {
    const char *name, *instead;
} observers[] = {
    {"CheckLoss", "trainer.init.loop.check_loss is false; remove one of the two"},
    {"ComputeNorm", "a plan has no callbacks; firn train --log has the norm of the gradients if they are clipped"},
    {"DebugArgsPath", "it is for the model zoo's machines; remove it"},
    {"GlobalFlags", "it is for the model zoo's machines; remove it"},
    {"KeepNCheckpoints", "a run has one checkpoint, which firn train --checkpoint names; remove it"},
    {"LogInputSummaries", "a plan has no callbacks; remove it"},
    {"LogOptimizerParamGroup", "a plan has no callbacks; firnc schedule prints the learning rates"},
    {"LogSparsity", "Firn trains dense models; remove it"},
    {"ModelEvalMetrics", "trainer.validate.metric chooses the metric; remove it"},
    {"OpProfiler", "a plan has no callbacks; firnc inspect lists the ops"},
    {"ScopedTrainFlags", "it is for the model zoo's machines; remove it"},
    {"ScopedEvalFlags", "it is for the model zoo's machines; remove it"},
    {"ScopedValidateFlags", "it is for the model zoo's machines; remove it"},
};

/* --- the mode ------------------------------------------------------------------------------------------------------
 */

/* A recipe may omit its mode; if it gives one, it must be the mode that is being compiled. */
static bool check_mode(const firnc_recipe *recipe, const firnc_tree *node) {
    const char *wanted = recipe->job.mode == FIRNC_TRAIN ? "train" : "eval";
    if (node == NULL)
        return true;
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "train_and_eval") == 0)
        return firnc_tree_fail(node, "train_and_eval: " FIRNC_ONE_MODE);
    if (node->kind != FIRNC_SCALAR || (strcmp(node->text, "train") != 0 && strcmp(node->text, "eval") != 0))
        return firnc_tree_fail(node, "is not a mode; write train or eval, or leave it to --mode");
    if (strcmp(node->text, wanted) != 0)
        return firnc_tree_fail(node, "is %s, and --mode is %s; leave mode out of a recipe for both", node->text,
                               wanted);
    return true;
}

/* --- the parts of the layout
 * ------------------------------------------------------------------------------------------ */

/* Why a callback has no effect; NULL if it may change the run. */
static const char *reason_of(const char *callback) {
    for (size_t i = 0; i < sizeof observers / sizeof observers[0]; i++)
        if (strcmp(callback, observers[i].name) == 0)
            return observers[i].instead;
    return NULL;
}

static bool check_callback(const firnc_tree *entry, const firnc_tree *callback, bool check_loss) {
    const char *name = callback == NULL ? NULL : callback->key;
    const char *reason = name == NULL ? NULL : reason_of(name);
    if (reason == NULL)
        return firnc_tree_fail(entry, "%s may change the run, and a plan cannot hold it; remove it",
                               name == NULL ? "a callback without a name" : name);
    if (!check_loss || strcmp(name, "CheckLoss") != 0)
        firnc_idle_note(callback, reason);
    return true;
}

static bool check_callbacks(const firnc_tree *list, bool check_loss) {
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next) {
        const firnc_tree *callback = entry->kind == FIRNC_MAPPING ? entry->first : NULL;
        do {
            if (!check_callback(entry, callback, check_loss))
                return false;
            callback = callback->next;
        } while (callback != NULL);
    }
    return true;
}

/* The value of a key; NULL if it is missing or null. */
static const firnc_tree *given(const firnc_tree *mapping, const char *key) {
    const firnc_tree *node = firnc_tree_child(mapping, key);
    return node == NULL || firnc_tree_is_null(node) ? NULL : node;
}

/* Reads the length of a run in steps, or `unlimited`. */
static bool read_length(firnc_job *job, const firnc_tree *node) {
    static const firnc_field steps = {.kind = FIRNC_FIELD_LONG, .low = 1, .high = FIRNC_STEPS_MAX};
    if (node->kind == FIRNC_SCALAR && strcmp(node->text, "unlimited") == 0) {
        job->endless = job->mode == FIRNC_TRAIN;
        return true;
    }
    uint64_t value;
    if (!firnc_field_whole(node, &steps, &value))
        return false;
    if (job->mode == FIRNC_TRAIN)
        job->steps = value;
    return true;
}

static bool read_loop(firnc_recipe *recipe, const firnc_tree *mapping) {
    loop values = {.check_loss = true};
    if (!firnc_fields_read(mapping, loop_fields, sizeof loop_fields / sizeof loop_fields[0], &values))
        return false;
    const firnc_tree *num_steps = given(mapping, "num_steps"), *max_steps = given(mapping, "max_steps");
    const firnc_tree *length = num_steps != NULL ? num_steps : max_steps;
    if (num_steps != NULL && max_steps != NULL)
        return firnc_tree_fail(max_steps, "is num_steps by another name, which is there too; remove one of them");
    if (recipe->job.mode == FIRNC_TRAIN && length == NULL)
        return firnc_tree_fail(mapping, "num_steps is missing; add the length of the run in steps, or unlimited");
    recipe->job.steps = recipe->job.mode == FIRNC_TRAIN ? 0 : values.eval_steps;
    if (length != NULL && !read_length(&recipe->job, length))
        return false;
    recipe->job.check_loss = values.check_loss;
    return true;
}

static bool read_init(firnc_recipe *recipe, const firnc_tree *init, bool *compute_metrics) {
    firnc_job *job = &recipe->job;
    firnc_model_settings said;
    double learning_rate;
    const firnc_place place = firnc_tree_place(init);
    if (!firnc_fields_read(init, init_fields, sizeof init_fields / sizeof init_fields[0], recipe) ||
        !check_mode(recipe, firnc_tree_child(init, "mode")) ||
        !firnc_recipe_model(recipe, firnc_tree_child(init, "model"), &said) ||
        !firnc_recipe_weight_map(recipe, firnc_tree_child(init, "weight_map")))
        return false;
    *compute_metrics = said.compute_eval_metrics;
    return firnc_recipe_precision(job, init, &said) && firnc_recipe_optimizer(job, init, &learning_rate) &&
           firnc_recipe_schedule(job, init, learning_rate) && read_loop(recipe, firnc_tree_child(init, "loop")) &&
           firnc_job_schedule_values(job, &place) &&
           check_callbacks(firnc_tree_child(init, "callbacks"), job->check_loss);
}

/* Notes keys that have no effect because of a key in another mapping. */
static void note_idle_keys(const firnc_recipe *recipe, const firnc_tree *trainer, bool compute_metrics) {
    static const firnc_idle_key metrics = {"compute_eval_metrics", NULL};
    const firnc_tree *validate = firnc_tree_child(trainer, "validate");
    const firnc_tree *init = firnc_tree_child(trainer, "init"), *model = firnc_tree_child(init, "model");
    const firnc_tree *loader = firnc_tree_child(firnc_tree_child(trainer, "fit"), "val_dataloader");
    const firnc_tree *metric = firnc_tree_child(validate, "metric");
    if (loader != NULL && firnc_tree_child(validate, "val_dataloader") != NULL)
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

firnc_graph *firnc_recipe_build(const firnc_recipe *recipe) {
    firnc_graph *graph = firnc_graph_create(recipe->model->name);
    if (recipe->job.mode == FIRNC_EVAL)
        firnc_graph_evaluate(graph);
    recipe->model->build(graph, &recipe->job, recipe->settings, &recipe->elements);
    return graph;
}

bool firnc_recipe_read(firnc_recipe *recipe, const char *file, firnc_mode mode, const char *const *settings,
                       uint32_t setting_count) {
    memset(recipe, 0, sizeof *recipe);
    recipe->job.name = file;
    recipe->job.mode = mode;
    recipe->job.image_id = mode;
    recipe->job.target = "portable";
    recipe->job.places.layers = recipe->job.places.samples = (firnc_place){.file = file, .line = 1, .path = ""};
    firnc_idle_forget();
    firnc_tree *root = firnc_tree_read(file);
    if (root == NULL)
        return false;
    for (uint32_t i = 0; i < setting_count; i++)
        if (!firnc_tree_set(root, settings[i]))
            return false;
    if (!firnc_fields_read(root, root_fields, sizeof root_fields / sizeof root_fields[0], NULL))
        return false;
    const firnc_tree *trainer = firnc_tree_child(root, "trainer"), *fit = firnc_tree_child(trainer, "fit");
    bool compute_metrics;
    if (!firnc_fields_read(trainer, trainer_fields, sizeof trainer_fields / sizeof trainer_fields[0], NULL) ||
        (fit != NULL && !firnc_fields_read(fit, fit_fields, sizeof fit_fields / sizeof fit_fields[0], NULL)) ||
        !read_init(recipe, firnc_tree_child(trainer, "init"), &compute_metrics) ||
        !firnc_recipe_metric(recipe, firnc_tree_child(trainer, "validate"), compute_metrics) ||
        (mode == FIRNC_TRAIN && !firnc_recipe_outputs(&recipe->job, given(fit, "outputs"))) ||
        !firnc_recipe_data(recipe, trainer) || !check_end(recipe, trainer))
        return false;
    note_idle_keys(recipe, trainer, compute_metrics);
    firnc_idle_tell();
    return true;
}
