/* A recipe: the YAML of the model zoo's layout, read, checked and with every default filled in: a job, and a model of
 * the table with its settings. compiler/keys/ is the only folder that knows YAML, recipe.c and the recipe_*.c beside it
 * are those that know the keys. */
#ifndef FIRNC_RECIPE_H
#define FIRNC_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "compiler/models/models.h"

typedef struct firnc_recipe {
    firnc_job job; /* but for target, weights and what else the command line says */
    const firnc_model *model;
    const void *settings; /* of the model, in its own struct */
    firnc_model_facts facts;
    firnc_elements elements; /* of records */
} firnc_recipe;

/* Reads, checks and completes a recipe. settings are the `--set a.b=v` words, applied before checking. On a fault
 * writes one line to stderr (file, line, key, what is wrong, the mend) and returns false. */
bool firnc_recipe_read(firnc_recipe *recipe, const char *file, firnc_mode mode, const char *const *settings,
                       uint32_t setting_count);

/* The graph of a recipe's model. */
firnc_graph *firnc_recipe_build(const firnc_recipe *recipe);

#endif
