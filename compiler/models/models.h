/* The built-in models: a table with a row for each. A row says how the model's keys in trainer.init.model are read,
 * what the rest of a recipe needs to know of it, and how its graph is built. A new model is a file with its row, and a
 * line in models.c; nothing else knows a model by its name. */
#ifndef FIRNC_MODELS_H
#define FIRNC_MODELS_H

#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "compiler/keys/fields.h"

/* What the settings of every model begin with: keys that all models have. The recipe reader fills them in. */
typedef struct firnc_model_settings {
    bool compute_eval_metrics;
    int mixed; /* 0, 1, or FIRNC_UNSET where the model does not say */
    int half;  /* firn_type, or FIRNC_UNSET */
} firnc_model_settings;

typedef enum firnc_targets {
    FIRNC_TARGETS_CLASSES, /* labels, each below the number of outputs */
    FIRNC_TARGETS_SHARES,  /* numbers from 0 to 1, one for each output */
    FIRNC_TARGETS_NUMBERS  /* any numbers, likewise */
} firnc_targets;

/* What a recipe needs to know of a model beside its keys: defaults and checks of data and metric. */
typedef struct firnc_model_facts {
    uint32_t longest_sequence; /* 0: the model reads records; else windows of text of at most that length */
    uint32_t label_shift;      /* windows: elements by which the labels read ahead */
    uint32_t outputs;          /* the last extent of what it gives: of classes, how many there are */
    firnc_targets targets;
    bool comparable;          /* outputs and targets have a difference: mean_squared_error is a metric */
    bool sample_weights;      /* records have a weight, in stream 2 */
    firnc_metric metric;      /* that a model with classes is usually judged by */
    const char *layers_key;   /* of the number of layers, */
    const char *const *sizes; /* and of the sizes, up to NULL: what messages about too large a model point to */
} firnc_model_facts;

/* The elements of records as a data loader has them; windows of text are uint8. */
typedef struct firnc_elements {
    firn_type feature, label, weight; /* of the streams 0, 1 and 2 */
    float feature_scale, feature_shift;
} firnc_elements;

typedef struct firnc_model {
    const char *name;
    const firnc_field *fields; /* its own keys; offsets are into its settings */
    uint32_t field_count;
    size_t settings_bytes; /* of a struct that begins with a firnc_model_settings */
    const void *defaults;  /* such a struct */
    /* Checks and completes settings whose fields have been read. False after one message. */
    bool (*complete)(const firnc_tree *keys, void *settings);
    firnc_model_facts (*facts)(const void *settings);
    /* Builds the graph for a job whose data is known. Sequences have data.window elements less the label shift. */
    void (*build)(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements);
} firnc_model;

/* Model at a position of the table, NULL behind the last. */
const firnc_model *firnc_model_at(uint32_t position);

#endif
