/* The readers of the parts of a recipe, one file each. Only recipe.c calls them. */
#ifndef FIRNC_RECIPE_PARTS_H
#define FIRNC_RECIPE_PARTS_H

#include "compiler/keys/fields.h"
#include "compiler/recipe/recipe.h"

/* A row for a key that stands a level too high, or where other libraries have it. */
#define FIRNC_BELOW(key, place)                                                                                        \
    { key, .kind = FIRNC_FIELD_ELSEWHERE, .only = place }

/* The rows of the keys of one place, for the tables of other places. They stand behind the table's own rows. */
#define FIRNC_INIT_KEYS_BELOW                                                                                          \
    FIRNC_BELOW("seed", "trainer.init"), FIRNC_BELOW("schedulers", "trainer.init"),                                    \
        FIRNC_BELOW("checkpoint", "trainer.init, with its steps in it")
#define FIRNC_OPTIMIZER_KEYS_BELOW                                                                                     \
    FIRNC_BELOW("learning_rate", "the class of trainer.init.optimizer"),                                               \
        FIRNC_BELOW("lr", "the class of trainer.init.optimizer"),                                                      \
        FIRNC_BELOW("weight_decay", "the class of trainer.init.optimizer")
#define FIRNC_PRECISION_KEYS_BELOW                                                                                     \
    FIRNC_BELOW("fp16_type", "trainer.init.precision"), FIRNC_BELOW("loss_scaling_factor", "trainer.init.precision"),  \
        FIRNC_BELOW("max_gradient_norm", "trainer.init.precision"),                                                    \
        FIRNC_BELOW("max_gradient_value", "trainer.init.precision")
#define FIRNC_LOOP_KEYS_BELOW                                                                                          \
    FIRNC_BELOW("num_steps", "trainer.init.loop"), FIRNC_BELOW("max_steps", "trainer.init.loop"),                      \
        FIRNC_BELOW("num_epochs", "trainer.init.loop"), FIRNC_BELOW("eval_steps", "trainer.init.loop"),                \
        FIRNC_BELOW("grad_accum_steps", "trainer.init.loop"), FIRNC_BELOW("check_loss", "trainer.init.loop"),          \
        FIRNC_BELOW("micro_batch_order", "trainer.init.loop")
#define FIRNC_DATA_KEYS_BELOW                                                                                          \
    FIRNC_BELOW("batch_size", "trainer.fit.train_dataloader"),                                                         \
        FIRNC_BELOW("micro_batch_size", "trainer.fit.train_dataloader"),                                               \
        FIRNC_BELOW("shuffle", "trainer.fit.train_dataloader")

/* The keys of trainer.init.model that FOLDER/config.json stands for, `name` included (recipe_hugging_face.c). Each
 * value has its place in config.json, for messages. NULL after one message. */
firnc_tree *firnc_hugging_face_model(const char *folder);

/* Adds the keys of firnc_hugging_face_model to the recipe's model. The recipe may have keys that config.json does not
 * have, and equal ones. Where values differ, those of the recipe count for rates of dropout and initial values; any
 * other difference is an error. False after one message. */
bool firnc_hugging_face_merge(firnc_tree *recipe_model, firnc_tree *config_model);

/* `statistics` of a data loader, or the file of --statistics: reads it, and gives the model sizes that it leaves out
 * (recipe_statistics.c). Before the model. */
bool firnc_recipe_statistics(firnc_recipe *recipe, firnc_tree *root);

/* What to do about `fit` without statistics. */
#define FIRNC_RECIPE_MAKE_STATISTICS                                                                                   \
    "make them once by firn data-statistics DATA -o FILE, and give FILE by --statistics FILE, or by statistics: FILE " \
    "in this data loader"

/* The standards of features and targets that a data loader asks for by `normalise` and `normalise_targets`; a key that
 * it has not leaves them as they are (recipe_normalise.c). False after one message. */
bool firnc_recipe_normalise(const firnc_recipe *recipe, const firnc_tree *loader, firnc_elements *elements);
/* Checks the statistics against the part of the training data that is held out. */
bool firnc_recipe_held_out(const firnc_recipe *recipe, const firnc_tree *loader, const firnc_elements *elements,
                           uint32_t held_out_per_mille);

/* trainer.init.model (recipe_model.c). `said` receives the settings that every model may have. */
bool firnc_recipe_model(firnc_recipe *recipe, const firnc_tree *model, firnc_model_settings *said);

/* trainer.init.precision, which may be absent (recipe_precision.c). Runs after the model's reader, because recipes in
 * the older layout set the precision there. */
bool firnc_recipe_precision(firnc_job *job, const firnc_tree *init, const firnc_model_settings *said);

/* The key that turns mixed precision off, if one does: precision.enabled or the model's mixed_precision. */
const firnc_tree *firnc_recipe_precision_switch(const firnc_tree *init);

/* Why a key has no effect without mixed precision. */
#define FIRNC_RECIPE_IN_FLOAT32 "mixed precision is off; turn it on, or remove this key"

/* trainer.init.optimizer and trainer.init.schedulers, both optional in an eval recipe (recipe_optimizer.c,
 * recipe_schedule.c). `learning_rate` is the one that the optimizer itself gives; it is negative if there is none. */
bool firnc_recipe_optimizer(firnc_job *job, const firnc_tree *init, double *learning_rate);
bool firnc_recipe_schedule(firnc_job *job, const firnc_tree *init, double learning_rate);

/* trainer.init.weight_map, which may be NULL, and the model's own map (recipe_weights.c), after the model. */
bool firnc_recipe_weight_map(firnc_recipe *recipe, const firnc_tree *list);

/* A list of outputs: trainer.fit.outputs of a training, trainer.validate.outputs of an evaluation (recipe_metric.c).
 * NULL: there is none. */
bool firnc_recipe_outputs(firnc_job *job, const firnc_tree *list);

/* trainer.validate; the default metric is the usual one for the model (recipe_metric.c). */
bool firnc_recipe_metric(firnc_recipe *recipe, const firnc_tree *validate, bool compute_metrics);

/* trainer.fit.train_dataloader and trainer.validate.val_dataloader (recipe_data.c), after the model. */
bool firnc_recipe_data(firnc_recipe *recipe, const firnc_tree *trainer);

/* trainer.init.loop, after the data (recipe_loop.c). */
bool firnc_recipe_loop(firnc_recipe *recipe, const firnc_tree *init);

/* trainer.init.fine_tuning, which may be NULL, after callbacks (recipe_fine_tuning.c). */
bool firnc_recipe_fine_tuning(firnc_job *job, const firnc_tree *mapping);

/* What patterns are of, with an example, for firnc_recipe_patterns. */
#define FIRNC_RECIPE_PARAMETERS "parameter names; write one such as transformer.wte.*"
#define FIRNC_RECIPE_LAYERS     "layers; write one such as transformer.h.*.attn.c_attn"

/* Adds a pattern, or a list of them, to `count` patterns (recipe_fine_tuning.c). False after one message. */
bool firnc_recipe_patterns(const firnc_tree *node, const char *of, const firnc_job_pattern **patterns, uint32_t *count);

/* trainer.init.callbacks, after the loop; NULL: there are none (recipe_callbacks.c). */
bool firnc_recipe_callbacks(firnc_job *job, const firnc_tree *list);

#endif
