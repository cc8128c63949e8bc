/* A recipe: YAML in one of the model zoo's layouts, read, checked and completed with every default. The result is a
 * job, and a model of the model table with its settings. Only compiler/keys/ parses YAML; only recipe.c and the
 * recipe_*.c files beside it define keys. */
#ifndef FIRNC_RECIPE_H
#define FIRNC_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "compiler/models/models.h"

#define FIRNC_DECODE_IMAGE_ID 3 /* of decode plans; 0 to 2 are train, eval and predict of firnc compile --all */

typedef struct firnc_recipe {
    firnc_job job; /* complete except for target, weights and the other values of the command line */
    const firnc_model *model;
    const void *settings; /* settings of the model, in the model's own struct */
    firnc_model_facts facts;
    firnc_elements elements;  /* element types and scaling of records */
    const char *hugging_face; /* set before reading: the folder that --hf names; NULL: the recipe has the model */
    const char *statistics;   /* set before reading: the file that --statistics names; NULL: the recipe may name one */
    bool has_tokenizer;       /* set before reading: --tokenizer says that the data are tokens */
    uint64_t samples;         /* set before reading: the samples that an epoch reads, for num_epochs; 0: not known */
    bool reads_samples;       /* after reading: the length of the run depends on `samples` */
} firnc_recipe;

/* Reads, checks and completes a recipe, which is zero except for `samples`, `hugging_face`, `statistics` and
 * `has_tokenizer`. `settings` are the `--set a.b=v` words, which are applied before checking. On a fault writes one
 * line to stderr (file, line, key, what is wrong, how to mend it) and returns false. */
bool firnc_recipe_read(firnc_recipe *recipe, const char *file, firnc_mode mode, const char *const *settings,
                       uint32_t setting_count);

/* Warns in one line if the file of --statistics changes nothing, because the model reads windows of text. `file` is the
 * recipe, which has been read. */
void firnc_recipe_warn_of_statistics(const firnc_recipe *recipe, const char *file);

/* The tree of a recipe with its settings applied, in the layout of today (recipe_layout.c). A setting whose path begins
 * with trainer is for that layout, any other for the layout of the file. The keys of the model are completed from the
 * folder `hugging_face` (recipe_hugging_face.c), unless it is NULL. NULL after one message. */
firnc_tree *firnc_recipe_tree(const char *file, const char *hugging_face, const char *const *settings,
                              uint32_t setting_count);

/* Finds the modes that a recipe has, by firnc_mode: that of trainer.init.mode, if it is there; else training where
 * there is data for it, and evaluation. The arguments are those of firnc_recipe_tree. False after one message. */
bool firnc_recipe_modes(const char *file, const char *hugging_face, const char *const *settings, uint32_t setting_count,
                        bool has[2]);

/* Takes the keys out of trainer.init.model and trainer.init.precision that have no effect without mixed precision;
 * NULL: there is no such mapping. */
void firnc_recipe_take_mixed_keys(const firnc_model *model, firnc_tree *keys, firnc_tree *precision);

/* The weights file of a folder that transformers have written, or the index of several weights files. NULL after one
 * message, which advises the option `instead`. */
const char *firnc_hugging_face_weights(const char *folder, const char *instead);

/* Makes the job of a recipe that was read for an evaluation one of a decode plan, whose steps take at most `chunk`
 * tokens. Data loader, metric and outputs of the recipe have no part in it. False after one message if the model cannot
 * decode, or the chunk is longer than its context. */
bool firnc_recipe_decode(firnc_recipe *recipe, uint32_t chunk);

/* Builds the graph of the recipe's model. */
firnc_graph *firnc_recipe_build(const firnc_recipe *recipe);

#endif
