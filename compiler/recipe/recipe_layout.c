/* Brings a recipe into the layout that the readers know, trainer.init, fit and validate. Recipes of the model zoo up to
 * release 2.3 have train_input, eval_input, model, optimizer and runconfig instead; and some keys may stand in more
 * than one place. Only where a key stands is decided here, not what it means; a key keeps its place in the file for
 * messages. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_parts.h"

/* --- tables of the older layout ----------------------------------------------------------------------------------- */

#define NO_LOG   "a plan does not log; use firn train --log, which logs each step"
#define NO_FILES "a plan names no files; use firn train --checkpoint with --resume, or firnc compile --weights"

/* Where a key belongs below trainer; with a dot at its end, a mapping that takes the key under its own name. */
typedef struct row {
    const char *key, *to;
    const char *idle; /* NULL, or why the key has no effect */
} row;

static const row runconfig_rows[] = {
    {"seed", "init.seed", NULL},
    {"model_dir", "init.model_dir", NULL},
    {"target_device", "init.backend.backend_type", NULL},
    {"precision_opt_level", "init.precision.precision_opt_level", NULL},
    {"num_steps", "init.loop.", NULL},
    {"max_steps", "init.loop.", NULL},
    {"num_epochs", "init.loop.", NULL},
    {"steps_per_epoch", "init.loop.", NULL},
    {"eval_steps", "init.loop.", NULL},
    {"eval_frequency", "init.loop.", NULL},
    {"check_loss_values", "init.loop.check_loss", NULL},
    {"checkpoint_steps", "init.checkpoint.steps", NULL},
    {"save_initial_checkpoint", "init.checkpoint.", NULL},
    {"autoload_last_checkpoint", "init.checkpoint.", NULL},
    {"disable_strict_checkpoint_loading", "init.checkpoint.", NULL},
    {"max_checkpoints", NULL, "a run has one checkpoint, which firn train --checkpoint names; remove it"},
    {"keep_checkpoint_max", NULL, "a run has one checkpoint, which firn train --checkpoint names; remove it"},
    {"checkpoint_path", NULL, NO_FILES},
    {"load_checkpoint_states", NULL, NO_FILES},
    {"is_pretrained_checkpoint", NULL, NO_FILES},
    {"log_steps", "init.logging.", NULL},
    {"logging", NULL, NO_LOG},
    {"wsc_log_level", NULL, NO_LOG},
    {"summary_dir", NULL, NO_LOG},
    {"legacy_event_dirs", NULL, NO_LOG},
    {"save_losses", NULL, NO_LOG},
    {"enable_summaries", NULL, NO_LOG},
    {"save_summary_steps", NULL, NO_LOG},
    {"show_debug_metrics", NULL, NO_LOG},
    {"log_input_summaries", NULL, NO_LOG},
    {"enable_act_frequency", NULL, NO_LOG},
    {"op_profiler_config", NULL, "a plan has no callbacks; firnc inspect lists the ops"},
    {"mode", NULL, "firnc compile --mode says it; remove it"},
};

/* Keys of runconfig that say where and how the model zoo's machines work. */
static const char *const machine_keys[] = {
    "autogen_policy",
    "act_memory_gi",
    "chf_memory_gi",
    "cmd_memory_gi",
    "compile_crd_memory_gi",
    "compile_dir",
    "compile_only",
    "credentials_path",
    "debug_args",
    "debug_args_path",
    "disable_version_check",
    "dist_addr",
    "dist_backend",
    "drop_data",
    "dump_activations",
    "enable_distributed",
    "execute_crd_memory_gi",
    "execution_strategy",
    "experimental",
    "experimental_api",
    "fabric_type_blacklist",
    "hf_cache_dir",
    "ini",
    "init_method",
    "job_labels",
    "job_priority",
    "job_time_sec",
    "lazy_initialization",
    "log_initialization",
    "main_process_id",
    "mgmt_address",
    "mgmt_namespace",
    "mount_dirs",
    "multireplica",
    "num_act_servers",
    "num_csx",
    "num_replicas",
    "num_wgt_servers",
    "num_workers_per_csx",
    "python_paths",
    "retrace_every_iteration",
    "save_stream_size",
    "service_dir",
    "skip_train_recv_activations",
    "sync_batchnorm",
    "transfer_processes",
    "use_appliance_data",
    "use_cs_grad_accum",
    "use_cstorch_optimizer_step",
    "validate_only",
    "variant",
    "wgt_memory_gi",
    "wrk_memory_gi",
};

static const row optimizer_rows[] = {
    {"loss_scaling_factor", "init.precision.", NULL}, {"initial_loss_scale", "init.precision.", NULL},
    {"steps_per_increase", "init.precision.", NULL},  {"min_loss_scale", "init.precision.", NULL},
    {"max_loss_scale", "init.precision.", NULL},      {"overflow_tolerance", "init.precision.", NULL},
    {"max_gradient_norm", "init.precision.", NULL},   {"max_gradient_value", "init.precision.", NULL},
    {"grad_accum_steps", "init.loop.", NULL},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- moving ------------------------------------------------------------------------------------------------------- */

static bool fail_unknown(const firnc_tree *child, const row *rows, size_t count) {
    const char **words = firnc_allocate((count + COUNT(machine_keys) + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = rows[i].key;
    for (size_t i = 0; rows == runconfig_rows && i < COUNT(machine_keys); i++)
        words[count + i] = machine_keys[i];
    return firnc_tree_fail(child, "unknown key; %s", firnc_nearest_text(child->key, words));
}

static const row *row_of(const char *key, const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, rows[i].key) == 0)
            return &rows[i];
    return NULL;
}

static bool is_machine_key(const char *key) {
    for (size_t i = 0; i < COUNT(machine_keys); i++)
        if (strcmp(key, machine_keys[i]) == 0)
            return true;
    return false;
}

static void overwrite(firnc_tree *there, const firnc_tree *node) {
    there->kind = node->kind;
    there->line = node->line;
    there->path = node->path;
    there->text = node->text;
    there->plain = node->plain;
    there->first = node->first;
}

/* Puts a node where it belongs. Two keys may say the same thing there, but not different ones; what --set says, which
 * has no line, goes before what the file says. */
static bool place(firnc_tree *trainer, const char *to, firnc_tree *node) {
    firnc_tree *there = firnc_tree_put(trainer, to, node);
    const bool by_setting = node->line == 0, there_by_setting = there->line == 0;
    if (there == node || firnc_tree_is_null(node) || firnc_tree_same(there, node))
        return true;
    if (firnc_tree_is_null(there) || (by_setting && !there_by_setting))
        overwrite(there, node);
    else if (by_setting == there_by_setting)
        return firnc_tree_fail(node, "%s says otherwise; remove one of the two", there->path);
    return true;
}

static bool move_key(firnc_tree *trainer, const row *found, firnc_tree *child) {
    if (found->to == NULL) {
        if (!firnc_idle_loses_nothing(child, NULL))
            firnc_idle_note(child, found->idle);
        return true;
    }
    const size_t length = strlen(found->to);
    return place(trainer, found->to[length - 1] == '.' ? firnc_format("%s%s", found->to, child->key) : found->to,
                 child);
}

/* Takes a section of the older layout out of the root. It may be absent or null; *good is false after one message, and
 * nothing is said after that. */
static firnc_tree *take_section(firnc_tree *root, const char *key, bool *good) {
    firnc_tree *section = firnc_tree_take(root, key);
    if (!*good || section == NULL || firnc_tree_is_null(section))
        return NULL;
    if (section->kind != FIRNC_MAPPING)
        *good = firnc_tree_fail(section, "is not a mapping; put keys below it");
    return *good ? section : NULL;
}

/* Moves the keys of a section that have a row. `rest` takes the others; without it they are unknown. */
static bool move_keys(firnc_tree *trainer, firnc_tree *section, const row *rows, size_t count, firnc_tree *rest) {
    for (firnc_tree *child = section->first, *next; child != NULL; child = next) {
        next = child->next;
        child->next = NULL;
        const row *found = row_of(child->key, rows, count);
        const row machine = {child->key, "init.backend.", NULL};
        if (found == NULL && rest == NULL && is_machine_key(child->key))
            found = &machine;
        if (found == NULL && rest == NULL)
            return fail_unknown(child, rows, count);
        if (found == NULL)
            (void)firnc_tree_put(rest, child->key, child);
        else if (!move_key(trainer, found, child))
            return false;
    }
    section->first = NULL;
    return true;
}

/* --- the optimizer ------------------------------------------------------------------------------------------------ */

/* {optimizer_type: X, ...} becomes {X: {...}}. Without optimizer_type nothing changes. */
static bool name_optimizer(firnc_tree *init) {
    firnc_tree *settings = init == NULL ? NULL : firnc_tree_take(init, "optimizer");
    firnc_tree *type = settings == NULL ? NULL : firnc_tree_take(settings, "optimizer_type");
    if (type == NULL) {
        if (settings != NULL)
            (void)firnc_tree_put(init, "optimizer", settings);
        return true;
    }
    if (type->kind != FIRNC_SCALAR || type->text[0] == '\0')
        return firnc_tree_fail(type, "is not the name of an optimizer; write one such as AdamW");
    firnc_tree *optimizer = firnc_tree_make(FIRNC_MAPPING, type);
    (void)firnc_tree_put(init, "optimizer", optimizer);
    settings->key = type->text;
    settings->next = NULL;
    optimizer->first = settings;
    return true;
}

/* log_summaries: true asks for the norm of the gradients, as the callback ComputeNorm does. */
static bool ask_for_norm(firnc_tree *trainer, firnc_tree *said) {
    bool asked = false;
    if (said != NULL && !firnc_tree_is_null(said) && !firnc_field_flag(said, &asked))
        return false;
    if (!asked)
        return true;
    firnc_tree *callbacks = firnc_tree_make(FIRNC_LIST, said), *entry = firnc_tree_make(FIRNC_MAPPING, said);
    (void)firnc_tree_put(entry, "ComputeNorm", firnc_tree_make(FIRNC_MAPPING, said));
    firnc_tree_push(callbacks, entry);
    (void)firnc_tree_put(trainer, "init.callbacks", callbacks);
    return true;
}

static bool move_optimizer(firnc_tree *trainer, firnc_tree *section) {
    firnc_tree *settings = firnc_tree_make(FIRNC_MAPPING, section);
    if (firnc_tree_child(section, "optimizer_type") == NULL)
        return firnc_tree_fail(section, "optimizer_type is missing; add it, such as AdamW");
    return ask_for_norm(trainer, firnc_tree_take(section, "log_summaries")) &&
           move_keys(trainer, section, optimizer_rows, COUNT(optimizer_rows), settings) &&
           firnc_tree_put(trainer, "init.optimizer", settings) == settings;
}

/* --- the older layout --------------------------------------------------------------------------------------------- */

static const char *const sections[] = {"model",      "optimizer", "runconfig", "train_input",
                                       "eval_input", "sparsity",  "wandb"};

static bool is_older(const firnc_tree *root) {
    if (firnc_tree_child(root, "trainer") != NULL)
        return false;
    for (size_t i = 0; i < COUNT(sections); i++)
        if (firnc_tree_child(root, sections[i]) != NULL)
            return true;
    return false;
}

/* An evaluation has no micro-batches, and the model zoo's have no influence on it. */
static void rest_micro_batches(firnc_tree *eval_input) {
    firnc_tree *size = firnc_tree_take(eval_input, "micro_batch_size");
    if (size != NULL && !firnc_idle_loses_nothing(size, NULL))
        firnc_idle_note(size, "an eval plan has no micro-batches; remove it");
}

static bool modernise(firnc_tree *root) {
    bool good = true;
    firnc_tree *trainer = firnc_tree_make(FIRNC_MAPPING, root), *init = firnc_tree_make(FIRNC_MAPPING, root);
    firnc_tree *model = take_section(root, "model", &good), *optimizer = take_section(root, "optimizer", &good);
    firnc_tree *runconfig = take_section(root, "runconfig", &good);
    firnc_tree *train = take_section(root, "train_input", &good), *eval = take_section(root, "eval_input", &good);
    firnc_tree *sparsity = firnc_tree_take(root, "sparsity"), *wandb = firnc_tree_take(root, "wandb");
    if (!good)
        return false;
    (void)firnc_tree_put(trainer, "init", init);
    (void)firnc_tree_put(init, "loop", firnc_tree_make(FIRNC_MAPPING, runconfig != NULL ? runconfig : root));
    if (model != NULL)
        (void)firnc_tree_put(init, "model", model);
    if (sparsity != NULL)
        (void)firnc_tree_put(init, "sparsity", sparsity);
    if (wandb != NULL && !firnc_idle_loses_nothing(wandb, NULL))
        firnc_idle_note(wandb, NO_LOG);
    if (train != NULL)
        (void)firnc_tree_put(trainer, "fit.train_dataloader", train);
    if (eval != NULL) {
        rest_micro_batches(eval);
        (void)firnc_tree_put(trainer, "validate.val_dataloader", eval);
    }
    if ((runconfig != NULL && !move_keys(trainer, runconfig, runconfig_rows, COUNT(runconfig_rows), NULL)) ||
        (optimizer != NULL && !move_optimizer(trainer, optimizer)))
        return false;
    (void)firnc_tree_take(root, "trainer"); /* it may be there as null */
    (void)firnc_tree_put(root, "trainer", trainer);
    return true;
}

/* --- keys with more than one place -------------------------------------------------------------------------------- */

static bool move_level(firnc_tree *trainer, firnc_tree *from) {
    firnc_tree *level = firnc_tree_take(from, "precision_opt_level");
    return level == NULL || place(trainer, "init.precision.precision_opt_level", level);
}

/* The mapping at a key, to be changed; NULL if it is none. */
static firnc_tree *inside(firnc_tree *mapping, const char *key) {
    firnc_tree *child = mapping != NULL && mapping->kind == FIRNC_MAPPING ? mapping->first : NULL;
    while (child != NULL && strcmp(child->key, key) != 0)
        child = child->next;
    return child != NULL && child->kind == FIRNC_MAPPING ? child : NULL;
}

static bool gather(firnc_tree *root) {
    firnc_tree *trainer = inside(root, "trainer"), *init = inside(trainer, "init"), *backend = inside(init, "backend");
    return move_level(trainer, inside(init, "model")) && move_level(trainer, backend) &&
           move_level(trainer, inside(backend, "cluster_config")) && name_optimizer(init);
}

/* Adds the keys that --hf FOLDER gives to trainer.init.model. */
static bool add_model(firnc_tree *root, const char *folder) {
    firnc_tree *model = firnc_hugging_face_model(folder), *trainer = inside(root, "trainer");
    if (model == NULL)
        return false;
    firnc_tree *given = inside(inside(trainer, "init"), "model");
    if (trainer == NULL)
        return firnc_tree_fail(root, "trainer is missing; add it, with init.loop and what else a run needs");
    return given != NULL ? firnc_hugging_face_merge(given, model) : place(trainer, "init.model", model);
}

static bool is_for_trainer(const char *setting) {
    static const char word[] = "trainer";
    const char end = strncmp(setting, word, sizeof word - 1) == 0 ? setting[sizeof word - 1] : 'x';
    return end == '.' || end == '=';
}

firnc_tree *firnc_recipe_tree(const char *file, const char *hugging_face, const char *const *settings, uint32_t count) {
    firnc_idle_forget();
    firnc_tree *root = firnc_tree_read(file, "a recipe", "it begins with the key trainer");
    const bool older = root != NULL && is_older(root);
    for (uint32_t i = 0; root != NULL && i < count; i++)
        if (older && !is_for_trainer(settings[i]) && !firnc_tree_set(root, settings[i]))
            return NULL;
    if (root == NULL || (older && !modernise(root)))
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if ((!older || is_for_trainer(settings[i])) && !firnc_tree_set(root, settings[i]))
            return NULL;
    if (hugging_face != NULL && !add_model(root, hugging_face))
        return NULL;
    return gather(root) ? root : NULL;
}
