/* A job: all settings of a training or an evaluation except its graph. A front end (the recipe reader or a C program)
 * fills it in; the passes and the writer only read it. firnc_job_defaults sets everything but the sizes, and
 * firnc_job_check refuses settings that no run can have. Texts and arrays belong to the caller and must outlive the
 * job.
 *
 * A job takes 80 KB: allocate it statically or on the heap, not on the stack. */
#ifndef FIRNC_JOB_H
#define FIRNC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "compiler/job/optimizer.h"
#include "compiler/job/precision.h"
#include "compiler/job/weight_map.h"
#include "schedules/schedule.h"

#define FIRNC_STEPS_MAX     1e15 /* far above the steps of any run, and exact in binary64 */
#define FIRNC_NODES_MAX     1024
#define FIRNC_GROUPS_MAX    31 /* a plan has at most 64: each group, and the default one, may split by decay */
#define FIRNC_SCHEDULES_MAX 64
#define FIRNC_IGNORED_MAX   64 /* as Metric.ignore_classes of plan.fbs */
#define FIRNC_SAMPLES_MAX   (1 << 24)
#define FIRNC_OUTPUTS_MAX   64 /* as Plan.outputs of plan.fbs */

typedef enum firnc_mode { FIRNC_TRAIN = 0, FIRNC_EVAL = 1 } firnc_mode;

/* The message that refuses the mode train_and_eval. */
#define FIRNC_ONE_MODE                                                                                                 \
    "a plan has one mode, because a runtime instance is programmed once and cannot change afterwards; compile two "    \
    "plans, one with --mode train and one with --mode eval"

typedef enum firnc_metric {
    FIRNC_METRIC_LOSS, /* mean of the losses of rows or samples; where the last batch may not be short, of batches */
    FIRNC_METRIC_PERPLEXITY,
    FIRNC_METRIC_ACCURACY,
    FIRNC_METRIC_MEAN, /* mean of the loss over rows, weighted */
    FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY,
    FIRNC_METRIC_MEAN_IOU,
    FIRNC_METRIC_DICE,
    FIRNC_METRIC_F_BETA,
    FIRNC_METRIC_AUC,
    FIRNC_METRIC_MEAN_SQUARED_ERROR,
    FIRNC_METRIC_NONE /* the plan has outputs only, and needs neither labels nor a loss */
} firnc_metric;

/* A group of parameters with its own settings. A parameter belongs to the last group that has a matching pattern; a
 * parameter in no group has the settings of the job's optimizer. */
typedef struct firnc_parameter_group {
    const char *name;            /* unique among the groups; 1 to FIRNC_NAME_MAX characters of printable ASCII */
    const char *const *patterns; /* of parameter names: '*' any characters, '?' one; each must match a parameter */
    const char *const *tags;     /* from recipes: the tags that param_group_tags of a scheduler selects */
    uint32_t pattern_count, tag_count;
    firnc_optimizer_settings settings;
    bool decay_given;            /* the weight decay applies to biases and norms, too, which otherwise have none */
    double adjust_learning_rate; /* from recipes: the factor of ScalePerParamLR */
    double adjust_weight_decay;  /* from recipes: the factor of ScalePerParamWD */
    firnc_place place;           /* for messages */
} firnc_parameter_group;

/* A schedule: the root of a tree of nodes, and the setting that it evaluates to. */
typedef struct firnc_schedule_root {
    const char *name; /* such as "learning_rate" or "weight_decay.head"; of at most FIRNC_NAME_MAX characters */
    bool weight_decay;
    uint32_t node;
    const void *source; /* from recipes: identity, to detect that two groups share a schedule */
    bool adjusted;      /* from recipes: contains a ScalePerParamLR, */
    double adjustment;  /* with this factor */
} firnc_schedule_root;

/* What a node of a schedule was in a recipe, for messages. */
typedef struct firnc_schedule_source {
    const char *class_name; /* such as "OneCycleLR"; NULL for a node that a class adds below its own */
    firnc_place place;
    const void *entry; /* the node of the recipe's tree */
} firnc_schedule_source;

/* The schedules of a run: trees of nodes (schedules/schedule.h), and the schedule of each parameter group. */
typedef struct firnc_schedules {
    firn_schedule_node nodes[FIRNC_NODES_MAX];
    firnc_schedule_source *sources; /* from recipes: FIRNC_NODES_MAX, one for each node; else NULL */
    double *numbers;
    firn_schedule_instruction *instructions;
    firnc_schedule_root roots[FIRNC_SCHEDULES_MAX];
    uint32_t rate_of[FIRNC_GROUPS_MAX + 1];  /* index of a root: [0] for parameters in no group, [1 + i] for group i */
    uint32_t decay_of[FIRNC_GROUPS_MAX + 1]; /* likewise; FIRNC_NONE: the weight decay is constant */
    uint32_t count, number_count, number_capacity, instruction_count, instruction_capacity, root_count;
} firnc_schedules;

/* Whether the last batch of an evaluation may have fewer samples than the others, where the data does not start again:
 * if the graph allows it, else they are left out; never; or the graph must allow it. */
typedef enum firnc_short_batch { FIRNC_SHORT_IF_POSSIBLE, FIRNC_SHORT_NEVER, FIRNC_SHORT_ALWAYS } firnc_short_batch;

/* How samples are read from the data. firnc_input_options of each graph input selects and converts the elements of a
 * sample. */
typedef struct firnc_data {
    uint32_t window;           /* elements of a sample if samples are windows of a stream; 0: samples are records */
    uint32_t stride;           /* windows: elements from the start of one to the start of the next; records: 0 */
    uint32_t batch_size;       /* samples in a global step */
    uint32_t micro_batch_size; /* samples in the graph's inputs; divides batch_size; eval: equal to it */
    bool shuffle;              /* true: sampler permutation; false: sequential */
    uint64_t shuffle_seed;
    uint32_t held_out_per_mille;   /* 0 to 999: the part of the data that a train plan does not read */
    bool held_out;                 /* this plan reads the held-out part */
    uint32_t ring;                 /* samples are pushed: the records, or elements of windows, that it holds; else 0 */
    bool wrap;                     /* true: start again at the end of the data; false: stop */
    firnc_short_batch short_batch; /* eval */
} firnc_data;

/* A plan that takes tokens one after the other (firnc compile --decode). It is for graphs in which nothing but
 * attention, rotary_embedding and leading_rows leads from one token to another, with inputs of one sequence of `chunk`
 * tokens as a record of stream 0; the decode pass adds stream 1, which says how many of them count. */
typedef struct firnc_decode {
    uint32_t chunk;   /* tokens that a step takes at most; 1 to context */
    uint32_t context; /* tokens that a session holds; 0: no such plan */
} firnc_decode;

#define FIRNC_DECODE_LENGTH "cache.length" /* the tensor with the tokens that a session has taken */

/* A tensor that an application may read after a step: the result of a layer, or a value that the graph names
 * (firnc_name_value). The plan has it under this name, in float32. */
typedef struct firnc_job_output {
    const char *name;
    firnc_place place; /* for messages */
} firnc_job_output;

/* A pattern of names of parameters or of layers: '*' any characters, '?' one. It must match one of them. */
typedef struct firnc_job_pattern {
    const char *pattern;
    firnc_place place; /* for messages */
} firnc_job_pattern;

/* Which parameters are trained where a model is fine-tuned: those of every form that is chosen here together. If none
 * is, all are. The others are frozen: they have no gradient and no state of the optimizer, and lie in the plan, which
 * an evaluation of the run has to have too. So a job of mode FIRNC_EVAL has the same fine_tuning, frozen, seed and
 * weights as that of the training. */
typedef struct firnc_fine_tuning {
    bool bias_only;       /* those whose name is bias or ends in .bias */
    uint32_t last_layers; /* those of so many layers at the end of the model (frozen.c says what a layer is) */
    const firnc_job_pattern *layers; /* LoRA: layers whose products get two trained matrices beside the frozen one */
    uint32_t layer_count;
    uint32_t rank;                    /* LoRA: the inner extent of the two, at least 1 */
    float alpha;                      /* LoRA: their product is multiplied with alpha / rank; above 0 */
    float dropout;                    /* LoRA: of what the first of the two reads; [0, 1) */
    const firnc_job_pattern *trained; /* parameters that are trained too */
    uint32_t trained_count;
    /* What frozen weights of products are stored in: float32, or a half type, in mixed precision that of the run. */
    firn_type frozen_type;
    firnc_place place, frozen_type_place; /* for messages */
} firnc_fine_tuning;

/* Places in a recipe of keys that later passes may refuse; zero without a recipe. */
typedef struct firnc_job_places {
    firnc_place layers;  /* the number of layers, for a graph with more ops than a plan can hold */
    firnc_place size;    /* the largest size of the model, for a state that is too large */
    firnc_place samples; /* the size of a micro-batch, for an arena that is too large */
    firnc_place metric;
    firnc_place ring;
    firnc_place steps; /* the length of a training, for schedules that do not fit it */
    firnc_place short_batch;
} firnc_job_places;

/* What is known of a column of the data that a model is trained with. */
typedef struct firnc_column {
    const char *name; /* NULL: the data have no names */
    float mean, deviation;
    bool varies; /* its least and its greatest value differ, also where the deviation is 0 */
} firnc_column;

/* The statistics of training data, as firn data-statistics writes them: of its features, and of its targets if it has
 * such. */
typedef struct firnc_data_statistics {
    const char *data;         /* SHA-256 of the features in hexadecimal */
    const char *targets_data; /* the same of the targets; NULL: not known */
    uint64_t records;         /* that they are of: all but those held out */
    uint32_t held_out_per_mille;
    firnc_standard_axis axis; /* of the features */
    const firnc_column *columns, *targets;
    uint32_t column_count, target_count;
} firnc_data_statistics;

/* Half copies of float32 weights: AUTO where they are small or do not make the arena larger, ALWAYS, or NEVER where
 * products can do without. */
typedef enum firnc_weight_copies { FIRNC_COPIES_AUTO, FIRNC_COPIES_ALWAYS, FIRNC_COPIES_NEVER } firnc_weight_copies;

typedef struct firnc_job {
    const char *name; /* start of each message: the recipe's file, or a name for the run; not NULL */
    firnc_mode mode;
    uint64_t seed;       /* for initial values and dropout */
    uint64_t steps;      /* train: global steps, 1 to FIRNC_STEPS_MAX; eval: batches, 0: all data */
    bool endless;        /* train: the run has no end, and steps is 0 */
    bool check_loss;     /* a loss that is not finite stops the run */
    bool tree;           /* train: micro-batches are added as a tree (NUMERICS.md, "Finalise") */
    bool gradient_norm;  /* train: the norm of the gradients is computed, even if nothing in the step needs it */
    bool late_update;    /* every gradient is computed before the first update, though the arena may be larger */
    uint32_t logit_rows; /* train: rows of logits that are there at a time; 0: the compiler chooses; all: UINT32_MAX */
    firnc_weight_copies weight_copies;
    firnc_precision precision;
    firnc_optimizer_settings optimizer;
    firnc_parameter_group groups[FIRNC_GROUPS_MAX];
    uint32_t group_count;
    firnc_schedules schedule;
    firnc_data data;
    firnc_decode decode; /* eval */
    firnc_metric metric; /* eval */
    float metric_beta;   /* f_beta: above 0 */
    bool metric_macro;   /* f_beta: true: mean over classes; false: over rows */
    uint32_t metric_ignored[FIRNC_IGNORED_MAX], metric_ignored_count; /* classes to ignore, ascending */
    firnc_job_output outputs[FIRNC_OUTPUTS_MAX];
    uint32_t output_count;
    const firnc_job_pattern *frozen; /* parameters that keep their values, whatever fine_tuning says */
    uint32_t frozen_count;
    firnc_fine_tuning fine_tuning;
    /* train: for the plan's report, what firn train takes for --checkpoint-every and --eval-every; 0: none */
    uint64_t checkpoint_steps, eval_frequency;
    const firnc_data_statistics *statistics; /* for the report: of the data that the run is for; NULL: not known */
    bool save_initial_checkpoint; /* train: for the report, whether firn train saves the state before its first step */
    const char *target;           /* name of a target in targets.c; host.h chooses one for this machine */
    const char *weights;          /* a safetensors file with the parameters, or NULL */
    const uint8_t *tokenizer;     /* the identity of the tokenizer of the data, 32 bytes, or NULL: it is not known */
    const char *continues;        /* the checkpoint of an older run, with whose state this one begins, or NULL */
    bool restart_schedule;        /* with `continues`: the counters of the run begin at 0 */
    bool restart_data;            /* with `continues`: the data begin with the first sample */
    firnc_weight_map weight_map;  /* the user's: the first rule for a parameter decides */
    firnc_weight_map model_weight_map; /* the model's: the first rule whose tensors the file has; then equal names */
    bool allow_unmatched;              /* of weights and of an older run: what has no tensor begins as without the file,
                                        * and tensors without a place are left out */
    const char *unmatched_mend; /* what the command that is run advises where they are not allowed; NULL: give the file
                                 * of the model, or name them in the weight map */
    uint32_t plan_version, image_id, security_counter; /* any; image_id tells the plans of a device apart */
    uint8_t vendor[16], class_id[16];
    firnc_job_places places;
} firnc_job;

/* Fills in a job named "job": float32, target "portable", seed 1; train: SGD with a constant learning rate of 0, data
 * that starts again at its end; eval: the metric loss, data that ends with a short batch if the
 * graph allows it. The caller must still set
 * data.batch_size and data.micro_batch_size; with windows also data.window and data.stride; in training also steps and
 * the learning rate. */
void firnc_job_defaults(firnc_job *job, firnc_mode mode);

/* Whether the plan judges what the model says, which takes labels and a loss: not an evaluation without a metric. */
bool firnc_job_judges(const firnc_job *job);

/* Replaces the job's schedules by a constant learning rate for every parameter. */
void firnc_job_learning_rate(firnc_job *job, double rate);

/* Checks the job by itself; the passes check what also depends on the graph. False after one message. */
bool firnc_job_check(const firnc_job *job);

/* Receives what the author of a schedule should know: "WHAT: REASON". The source may be NULL. */
typedef void (*firnc_schedule_note)(void *context, const firnc_schedule_source *source, const char *what,
                                    const char *reason);

/* Checks that every schedule is a finite number of at least 0 in each step of the run (in a run of more than about a
 * million steps: in that many, evenly spaced; in a run without an end: in the first million and then at each power of
 * two, up to 2^62), that float32 does not make all its values 0, and that no OneCycleLR is used behind its end. Notes
 * schedules and milestones that the run never reaches, a CosineAnnealingLR that rises again, and a learning rate that
 * is 0 for the rest of the run; without `note`, as warnings of a job that no recipe made. False after one message, at
 * the place of the schedule, or at `place` if the schedule has none. Part of firnc_job_check. */
bool firnc_job_schedule_values(const firnc_job *job, const firnc_place *place, firnc_schedule_note note, void *context);

/* Returns the step from which on no schedule of the job goes on to an end that it has: that of a falling or rising
 * schedule, the last milestone, the beginning of the last schedule of a list. 0: none has an end. */
uint64_t firnc_job_schedule_end(const firnc_job *job);

/* Checks the ring of samples that are pushed, if there is one. False after one message. Part of firnc_job_check. */
bool firnc_job_ring(const firnc_job *job);

/* The schedules of a job in the form that schedules/ reads; the list points into the job. */
firn_schedule_list firnc_job_schedules(const firnc_job *job);

/* Prints a message about a job, which begins with the place, or with the job's name if place is NULL or zero. Always
 * returns false, so that a check may return it. */
bool firnc_job_fail(const firnc_job *job, const firnc_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the same as a warning. */
void firnc_job_warn(const firnc_job *job, const firnc_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
