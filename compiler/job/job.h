/* A job: everything that a training or an evaluation is beside its graph. A front end fills it in (the recipe reader,
 * or a C program), the passes and the writer read it. firnc_job_defaults gives a job that only lacks its sizes, and
 * firnc_job_check finds what no run could have. Texts and arrays belong to the caller and must outlive the job.
 *
 * A job is large, 80 KB: better static or allocated than on a stack. */
#ifndef FIRNC_JOB_H
#define FIRNC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "compiler/job/optimizer.h"
#include "compiler/job/precision.h"
#include "schedules/schedule.h"

#define FIRNC_STEPS_MAX     1e15 /* far beyond any run, and exact in binary64 */
#define FIRNC_NODES_MAX     1024
#define FIRNC_GROUPS_MAX    31 /* a plan has at most 64: each of these, and the rest, may split by decay */
#define FIRNC_SCHEDULES_MAX 64
#define FIRNC_IGNORED_MAX   64 /* as Metric.ignore_classes of plan.fbs */
#define FIRNC_SAMPLES_MAX   (1 << 24)

typedef enum firnc_mode { FIRNC_TRAIN = 0, FIRNC_EVAL = 1 } firnc_mode;

/* Why there is no train_and_eval, and what to do instead. */
#define FIRNC_ONE_MODE                                                                                                 \
    "a plan has one mode, because a runtime instance is programmed once and cannot change afterwards; compile two "    \
    "plans, one with --mode train and one with --mode eval"

typedef enum firnc_metric {
    FIRNC_METRIC_LOSS, /* mean of the losses of the batches */
    FIRNC_METRIC_PERPLEXITY,
    FIRNC_METRIC_ACCURACY,
    FIRNC_METRIC_MEAN, /* of the loss, over rows by their weights */
    FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY,
    FIRNC_METRIC_MEAN_IOU,
    FIRNC_METRIC_DICE,
    FIRNC_METRIC_F_BETA,
    FIRNC_METRIC_AUC,
    FIRNC_METRIC_MEAN_SQUARED_ERROR
} firnc_metric;

/* A group of parameters with settings of their own. The last group with a pattern that matches a parameter takes it;
 * what no group takes has the settings of the job's optimizer. */
typedef struct firnc_parameter_group {
    const char *name;            /* no two groups have the same */
    const char *const *patterns; /* of parameter names: '*' any characters, '?' one. Each matches a parameter */
    const char *const *tags;     /* of recipes: what the param_group_tags of a scheduler choose by */
    uint32_t pattern_count, tag_count;
    firnc_optimizer_settings settings;
    bool decay_given;            /* the weight decay holds for biases and norms too, which else have none */
    double adjust_learning_rate; /* of recipes: the factor of ScalePerParamLR */
    double adjust_weight_decay;  /* of recipes: the factor of ScalePerParamWD */
    firnc_place place;           /* for messages */
} firnc_parameter_group;

/* A schedule: a tree of nodes, and the setting whose value it gives. */
typedef struct firnc_schedule_root {
    const char *name; /* "learning_rate", "weight_decay.head" */
    bool weight_decay;
    uint32_t node;
    const void *source; /* of recipes, which tell by it whether two groups share a schedule */
    bool adjusted;      /* of recipes: holds a ScalePerParamLR, */
    double adjustment;  /* for this factor */
} firnc_schedule_root;

/* The schedules of a run: trees of nodes (schedules/schedule.h), and which of them each group of parameters follows. */
typedef struct firnc_schedules {
    firn_schedule_node nodes[FIRNC_NODES_MAX];
    double *numbers;
    firn_schedule_instruction *instructions;
    firnc_schedule_root roots[FIRNC_SCHEDULES_MAX];
    uint32_t rate_of[FIRNC_GROUPS_MAX + 1];  /* roots: of the parameters that no group takes, then of each group */
    uint32_t decay_of[FIRNC_GROUPS_MAX + 1]; /* likewise, or FIRNC_NONE: the weight decay is constant */
    uint32_t count, number_count, number_capacity, instruction_count, instruction_capacity, root_count;
} firnc_schedules;

/* How samples are taken from the data. Which elements of a sample an input has, and how they are converted, is said of
 * each input of the graph (firnc_input_options). */
typedef struct firnc_data {
    uint32_t window;           /* elements of a sample that is a window of a stream; 0: samples are records */
    uint32_t stride;           /* windows: elements from the start of one to that of the next; records: 0 */
    uint32_t batch_size;       /* samples of a global step */
    uint32_t micro_batch_size; /* samples of the graph's inputs; divides batch_size, and is equal to it in eval */
    bool shuffle;              /* sampler permutation, else sequential */
    uint64_t shuffle_seed;
    uint32_t held_out_per_mille; /* 0 to 999: the part of the data that a train plan does not see */
    bool held_out;               /* this plan reads the held-out part */
    bool wrap;                   /* start over at the end of the data, else stop */
} firnc_data;

/* Where a recipe says what later passes may find fault with; zero places without a recipe. */
typedef struct firnc_job_places {
    firnc_place layers;  /* the number of layers, when there are more ops than a plan can hold */
    firnc_place size;    /* the largest size of the model, when the state is enormous */
    firnc_place samples; /* the size of a micro-batch, when the arena is enormous */
    firnc_place metric;
} firnc_job_places;

typedef struct firnc_job {
    const char *name; /* what messages begin with: the recipe's file, or a name of the run; not NULL */
    firnc_mode mode;
    uint64_t seed;   /* of initial values and dropout */
    uint64_t steps;  /* train: global steps, 1 to FIRNC_STEPS_MAX; eval: batches, 0: every whole batch of the data */
    bool check_loss; /* a loss that is not finite stops the run */
    firnc_precision precision;
    firnc_optimizer_settings optimizer;
    firnc_parameter_group groups[FIRNC_GROUPS_MAX];
    uint32_t group_count;
    firnc_schedules schedule;
    firnc_data data;
    firnc_metric metric; /* eval */
    float metric_beta;   /* f_beta: above 0 */
    bool metric_macro;   /* f_beta: the mean over classes, else over rows */
    uint32_t metric_ignored[FIRNC_IGNORED_MAX], metric_ignored_count; /* classes, ascending */
    const char *target;                                               /* a name of targets.h */
    const char *weights; /* a safetensors file with every parameter, or NULL */
    uint32_t plan_version, security_counter;
    uint8_t vendor[16], class_id[16];
    firnc_job_places places;
} firnc_job;

/* A job named "job" in float32 for the target "portable" with seed 1, SGD at a constant learning rate of 0 (train) and
 * the metric loss (eval), whose data starts over at its end (train) or stops there (eval). What is still to be set:
 * data.batch_size and data.micro_batch_size, for windows data.window and data.stride; in train steps and the learning
 * rate. */
void firnc_job_defaults(firnc_job *job, firnc_mode mode);

/* Gives every parameter a constant learning rate, in place of the schedules that the job has. */
void firnc_job_learning_rate(firnc_job *job, double rate);

/* Whether a run could be as the job says, on its own; what also depends on the graph is found by the passes. False
 * after one message. */
bool firnc_job_check(const firnc_job *job);

/* Whether every schedule is a number of at least 0 in each step of the run (of more than a million steps: as many,
 * evenly spaced). False after one message, at the place if there is one. Part of firnc_job_check. */
bool firnc_job_schedule_values(const firnc_job *job, const firnc_place *place);

/* The schedules of a job, as schedules/ takes them; the job keeps what the list points to. */
firn_schedule_list firnc_job_schedules(const firnc_job *job);

/* A message about a job: behind its name, or at a place where there is one (place may be NULL). Returns false, so that
 * a check may return it. */
bool firnc_job_fail(const firnc_job *job, const firnc_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same as a warning. */
void firnc_job_warn(const firnc_job *job, const firnc_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
