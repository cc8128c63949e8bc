/* What the passes share: what each is given, how it complains, and which there are. Each pass is one file with one
 * entry function; driver.c calls them in the order of the list below. A pass knows the graph and the job, never the
 * front end that made them. */
#ifndef FIRNC_PASSES_H
#define FIRNC_PASSES_H

#include "compiler/graph/ir.h"
#include "compiler/job/job.h"

/* What every pass is given. */
typedef struct firnc_compilation {
    const firnc_job *job;
    firnc_graph *graph;
} firnc_compilation;

/* "firnc: NAME OF THE JOB: message"; always returns false, so that a pass may `return firnc_fail(...)`. */
bool firnc_fail(const firnc_compilation *compilation, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parameters that are updated with the same settings. */
typedef struct firnc_group {
    const char *name;
    const firnc_parameter_group *source; /* of the job; NULL: what no group of the job took */
    firnc_optimizer_settings settings;   /* weight_decay as it holds for this group */
    firnc_value *parameters;             /* sorted by name */
    uint32_t parameter_count;
    firnc_value learning_rate, factors;     /* of its updates; FIRNC_NONE: gradients are taken as they are */
    firnc_value beta1_power, beta2_power;   /* AdamW, else FIRNC_NONE */
    uint32_t rate_schedule, decay_schedule; /* indices into the job's roots; the latter may be absent */
} firnc_group;

/* Fills the extents of a node's outputs, whose types are set, by the op's rule (shapes.c). */
bool firnc_infer_node(const firnc_compilation *compilation, const firnc_node *node);

/* The groups of the parameters, which are given sorted by name (groups.c): the job's, each split by whether weight
 * decay holds. Part of the training pass. False after one message: a pattern that no parameter matches. */
bool firnc_group_parameters(const firnc_compilation *compilation, const firnc_value *parameters, uint32_t count);

/* What a group advances once a step before its parameters are updated, and the update of one of them (update.c). Part
 * of the training pass. */
void firnc_advance_powers(firnc_graph *graph, firnc_group *group);
void firnc_update_parameter(firnc_graph *graph, const firnc_group *group, firnc_value parameter);

/* The most bytes of the arena that live at one time in the order of the nodes (memory.c). Fills first and last. */
uint64_t firnc_live_bytes(firnc_graph *graph);

/* --- the passes, in order. Each returns false after one message. --------------------------------------------- */

typedef bool (*firnc_pass)(firnc_compilation *compilation);

bool firnc_check_built(firnc_compilation *compilation);   /* built.c: the graph of a front end */
bool firnc_infer_shapes(firnc_compilation *compilation);  /* shapes.c */
bool firnc_resolve_pol(firnc_compilation *compilation);   /* pol.c */
bool firnc_autocast(firnc_compilation *compilation);      /* autocast.c */
bool firnc_differentiate(firnc_compilation *compilation); /* autodiff.c (train) */
bool firnc_add_training(firnc_compilation *compilation);  /* training.c: the rest of a step; eval: firnc_add_metric */
bool firnc_add_metric(firnc_compilation *compilation);    /* metric.c (eval) */
bool firnc_fuse(firnc_compilation *compilation);          /* fuse.c: duplicate casts merged, dead ops removed */
bool firnc_order(firnc_compilation *compilation);         /* order.c: least live memory */
bool firnc_plan_memory(firnc_compilation *compilation);   /* memory.c */
bool firnc_lower(firnc_compilation *compilation);         /* lower.c: POL and target -> reductions */

#endif
