/* The parts of a recipe, one file each. Only recipe.c calls them. */
#ifndef FIRNC_RECIPE_PARTS_H
#define FIRNC_RECIPE_PARTS_H

#include "compiler/keys/fields.h"
#include "compiler/recipe/recipe.h"

/* What trainer.init.model says about precision, as recipes of the older layout do; FIRNC_UNSET where it is silent. */
typedef struct firnc_model_precision {
    int mixed; /* 0, 1 */
    int half;  /* firn_type */
} firnc_model_precision;

/* trainer.init.model (recipe_model.c). Sets compute_metrics when the model has compute_eval_metrics. */
bool firnc_recipe_model(firnc_recipe *recipe, const firnc_tree *model, firnc_model_precision *said,
                        bool *compute_metrics);

/* trainer.init.precision, which may be absent (recipe_precision.c). Comes after the model: it knows the rule of GPT-2.
 */
bool firnc_recipe_precision(firnc_recipe *recipe, const firnc_tree *init, const firnc_model_precision *said);

/* trainer.init.optimizer and trainer.init.schedulers, both of which an eval recipe may leave out (recipe_optimizer.c,
 * recipe_schedule.c). learning_rate is the optimizer's own, or negative when it has none. */
bool firnc_recipe_optimizer(firnc_recipe *recipe, const firnc_tree *init, double *learning_rate);
bool firnc_recipe_schedule(firnc_recipe *recipe, const firnc_tree *init, double learning_rate);

/* Whether the schedules are numbers of at least 0 in every step of the run, whose length is known by now. */
bool firnc_recipe_schedule_values(const firnc_recipe *recipe, const firnc_tree *init);

/* trainer.validate, whose metric is by default what the model is usually judged by (recipe_metric.c). */
bool firnc_recipe_metric(firnc_recipe *recipe, const firnc_tree *validate, bool compute_metrics);

/* trainer.fit.train_dataloader and trainer.validate.val_dataloader (recipe_data.c), after the model. */
bool firnc_recipe_data(firnc_recipe *recipe, const firnc_tree *trainer);

#endif
