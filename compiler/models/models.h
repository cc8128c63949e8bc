/* The table of built-in models. A row defines how the model's keys in trainer.init.model are read, which facts the rest
 * of a recipe uses, and how its graph is built. To add a model, add a file with its row and a line in models.c; no
 * other file may depend on the name of a model. */
#ifndef FIRNC_MODELS_H
#define FIRNC_MODELS_H

#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "compiler/keys/fields.h"

/* The keys that all models have. The settings of every model begin with this struct; the recipe reader fills it in. */
typedef struct firnc_model_settings {
    bool compute_eval_metrics;
    int mixed; /* 0 or 1; FIRNC_UNSET: not given */
    int half;  /* firn_type; FIRNC_UNSET: not given */
} firnc_model_settings;

typedef enum firnc_targets {
    FIRNC_TARGETS_CLASSES, /* labels, each below the number of outputs */
    FIRNC_TARGETS_SHARES,  /* numbers from 0 to 1, one for each output */
    FIRNC_TARGETS_NUMBERS  /* any numbers, one for each output */
} firnc_targets;

/* Facts about a model that set defaults and checks of the data and the metric of a recipe. */
typedef struct firnc_model_facts {
    uint32_t longest_sequence; /* 0: the model reads records; otherwise windows of text of at most this length */
    uint32_t label_shift;      /* windows: distance in elements from an input to its label */
    uint32_t outputs;          /* last extent of the model's output; the number of classes, if they are classes */
    firnc_targets targets;
    bool comparable;          /* mean_squared_error is possible: outputs and targets can be subtracted */
    bool own_targets;         /* what it is compared with is its input; records have no label */
    bool tokens;              /* records: the features are tokens, whole numbers that are not scaled */
    bool wide;                /* records: float32 and int32 unless the recipe says otherwise, instead of bytes */
    bool unclassed;           /* records: rows with the label -100 have no class, and are ignored */
    bool sample_weights;      /* stream 2 has a weight for each record */
    firnc_metric metric;      /* default metric of a model with classes */
    const char *layers_key;   /* key of the number of layers, for messages about too large a model */
    const char *const *sizes; /* keys of its sizes, for the same messages; NULL ends the list */
} firnc_model_facts;

/* The element types of the data. Windows of text have features only, tokens of the type uint8 or int32. */
typedef struct firnc_elements {
    firn_type feature, label, weight; /* of the streams 0, 1 and 2 */
    float feature_scale, feature_shift;
    const firnc_standard *features; /* how features are standardised behind that; NULL: they are not */
    const firnc_standard *targets;  /* how targets are, which are numbers; what a model says is brought back */
} firnc_elements;

typedef struct firnc_model {
    const char *name;
    const firnc_field *fields; /* keys of this model; offsets are into its settings */
    uint32_t field_count;
    const firnc_idle_key *mixed_keys; /* keys of this model that have no effect without mixed precision */
    uint32_t mixed_key_count;
    size_t settings_bytes; /* size of its settings, a struct that begins with a firnc_model_settings */
    const void *defaults;  /* the settings before any key is read */
    /* Checks and completes settings whose fields have been read. False after one message. */
    bool (*complete)(const firnc_tree *keys, void *settings);
    firnc_model_facts (*facts)(const void *settings);
    /* Builds the graph for a job whose data settings are complete, with labels and a loss only if the job judges.
     * Sequences have data.window elements, with labels label_shift fewer. */
    void (*build)(firnc_graph *graph, const firnc_job *job, const void *settings, const firnc_elements *elements);
    /* Whether there can be a decode plan: what the model says of a token depends on no later one. */
    bool decodes;
    /* The names and layouts that weights files of this model have elsewhere. The first rule for a parameter also says
     * what firnc weights calls it. NULL: those of the parameters. */
    firnc_weight_map (*weight_map)(const void *settings);
} firnc_model;

/* The model at a position of the table, NULL after the last. */
const firnc_model *firnc_model_at(uint32_t position);

#endif
