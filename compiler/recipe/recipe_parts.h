/* The parts of a recipe, one file each. Only recipe.c calls them. */
#ifndef FIRNC_RECIPE_PARTS_H
#define FIRNC_RECIPE_PARTS_H

#include "compiler/keys/fields.h"
#include "compiler/recipe/recipe.h"

/* trainer.init.model (recipe_model.c). said: the keys that every model has. */
bool firnc_recipe_model(firnc_recipe *recipe, const firnc_tree *model, firnc_model_settings *said);

/* trainer.init.precision, which may be absent (recipe_precision.c). Comes after the model, which says the same in
 * recipes of the older layout. */
bool firnc_recipe_precision(firnc_job *job, const firnc_tree *init, const firnc_model_settings *said);

/* trainer.init.optimizer and trainer.init.schedulers, both of which an eval recipe may leave out (recipe_optimizer.c,
 * recipe_schedule.c). learning_rate is the optimizer's own, or negative when it has none. */
bool firnc_recipe_optimizer(firnc_job *job, const firnc_tree *init, double *learning_rate);
bool firnc_recipe_schedule(firnc_job *job, const firnc_tree *init, double learning_rate);

/* trainer.validate, whose metric is by default what the model is usually judged by (recipe_metric.c). */
bool firnc_recipe_metric(firnc_recipe *recipe, const firnc_tree *validate, bool compute_metrics);

/* trainer.fit.train_dataloader and trainer.validate.val_dataloader (recipe_data.c), after the model. */
bool firnc_recipe_data(firnc_recipe *recipe, const firnc_tree *trainer);

#endif
