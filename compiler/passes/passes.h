/* The interface of the passes: their argument, their messages and their list. Each pass is one file with one entry
 * function; driver.c calls them in the order of the list below. A pass depends on the graph and the job, never on the
 * front end that created them. */
#ifndef FIRNC_PASSES_H
#define FIRNC_PASSES_H

#include "compiler/graph/ir.h"
#include "compiler/job/job.h"

/* The argument of every pass. */
typedef struct firnc_compilation {
    const firnc_job *job;
    firnc_graph *graph;
    const struct firnc_continued *continued; /* after all passes, compiler/emit/continue.h; NULL: no older run */
} firnc_compilation;

/* Prints "firnc: NAME OF THE JOB: message". Always returns false, so that a pass may `return firnc_fail(...)`. */
bool firnc_fail(const firnc_compilation *compilation, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parameters that are updated with the same settings. */
typedef struct firnc_group {
    const char *name;
    const firnc_parameter_group *source; /* group of the job; NULL: parameters in no group of the job */
    firnc_optimizer_settings settings;   /* weight_decay is the value for this group */
    firnc_value *parameters;             /* sorted by name */
    uint32_t parameter_count;
    firnc_value learning_rate, factors;     /* operands of its updates; factors FIRNC_NONE: gradients are not scaled */
    firnc_value beta1_power, beta2_power;   /* AdamW; otherwise FIRNC_NONE */
    uint32_t rate_schedule, decay_schedule; /* indices of the job's roots; decay_schedule may be FIRNC_NONE */
} firnc_group;

/* Infers the extents of a node's outputs, whose types are set, by the op's shape rule (shapes.c). */
bool firnc_infer_node(const firnc_compilation *compilation, const firnc_node *node);

/* Checks that the indices of a node, whose extents are known, are an input with a limit that fits (shapes.c): the
 * runtime compares elements with the limit when it reads them, and no op does. */
bool firnc_check_indices(const firnc_compilation *compilation, const firnc_node *node);

/* The pattern, or if it is a second name that the model has for a parameter, as lm_head.weight for a tied table, the
 * first name of that parameter (groups.c). Wildcards stand for first names only, as in PyTorch's named_parameters. */
const char *firnc_first_name(const firnc_compilation *compilation, const char *pattern);

/* Assigns the parameters, sorted by name, to groups (groups.c): those of the job, each split by whether weight decay
 * applies. Part of the training pass. False after one message if a pattern matches no parameter. */
bool firnc_group_parameters(const firnc_compilation *compilation, const firnc_value *parameters, uint32_t count);

/* Add the ops that advance a group's powers of beta once per step, before its parameters are updated, and the ops that
 * update one parameter (update.c). Part of the training pass. */
void firnc_advance_powers(firnc_graph *graph, firnc_group *group);
void firnc_update_parameter(firnc_graph *graph, const firnc_group *group, firnc_value parameter);

/* Add the ops that advance the running statistics of batch norms (statistics.c): in each micro-batch those that the
 * buffers will have, behind everything else those of the buffers. Parts of the training pass. The first is false after
 * one message if statistics do not fit their batch norm. */
bool firnc_advance_statistics(const firnc_compilation *compilation, firnc_value *next);
void firnc_store_statistics(firnc_graph *graph, const firnc_value *next);

/* Where the rows of the loss may be absent or weighted and a step has several micro-batches, adds the phase count,
 * which finds what all of them divide by (gradients/batch.c). Part of the training pass. False after one message if the
 * loss does not allow that. */
bool firnc_count_batch(const firnc_compilation *compilation);

/* Whether gradients of such a loss stay float32 until those of all micro-batches are added, and are then rounded to the
 * half type (gradients/batch.c). */
bool firnc_rounds_totals(const firnc_compilation *compilation);

/* The maximum of the arena bytes that are live at one time, for the current node order (memory.c). Sets first and last
 * of every value. */
uint64_t firnc_live_bytes(firnc_graph *graph);

/* The same for the order that the passes which move ops will give the step (logits.c). The graph stays as it was. */
uint64_t firnc_bytes_ahead(firnc_compilation *compilation);

/* Makes a list that firnc_take_nodes gave, or another of its nodes, that of the graph again (logits.c). */
void firnc_put_list(firnc_graph *graph, const firnc_node_list *list);

/* Finds the value of each output of the job by its name (outputs.c). Part of the build pass. False after one message if
 * a name stands for none. */
bool firnc_find_outputs(firnc_compilation *compilation);

/* --- the passes, in order. Each returns false after one message. --------------------------------------------- */

typedef bool (*firnc_pass)(firnc_compilation *compilation);

bool firnc_check_built(firnc_compilation *compilation);   /* built.c: checks the front end's graph */
bool firnc_infer_shapes(firnc_compilation *compilation);  /* shapes.c */
bool firnc_add_adapters(firnc_compilation *compilation);  /* lora.c: LoRA's matrices */
bool firnc_freeze(firnc_compilation *compilation);        /* frozen.c: parameters that are not trained */
bool firnc_resolve_pol(firnc_compilation *compilation);   /* pol.c */
bool firnc_autocast(firnc_compilation *compilation);      /* autocast.c */
bool firnc_decode_tokens(firnc_compilation *compilation); /* decode.c: tokens that follow others (eval) */
bool firnc_differentiate(firnc_compilation *compilation); /* autodiff.c (train) */
bool firnc_add_outputs(firnc_compilation *compilation);   /* outputs.c: what an application reads */
bool firnc_add_training(firnc_compilation *compilation);  /* training.c: the rest of a step; eval: firnc_add_metric */
bool firnc_add_metric(firnc_compilation *compilation);    /* metric.c (eval) */
bool firnc_fuse(firnc_compilation *compilation);          /* fuse.c: duplicate casts merged, dead ops removed */
bool firnc_block_logits(firnc_compilation *compilation);  /* logits.c: large logits by blocks of rows (train) */
bool firnc_leave_out_copies(firnc_compilation *compilation); /* copies.c: weights that products round themselves */
bool firnc_update_early(firnc_compilation *compilation);     /* early.c: gradients used up one by one (train) */
bool firnc_make_views(firnc_compilation *compilation);       /* views.c: reshapes and slices that cost nothing */
bool firnc_order(firnc_compilation *compilation);            /* order.c: least live memory */
bool firnc_plan_memory(firnc_compilation *compilation);      /* memory.c */
bool firnc_add_rings(firnc_compilation *compilation);        /* rings.c: room for samples that are pushed */
bool firnc_lower(firnc_compilation *compilation);            /* lower.c: POL and target -> reductions */

#endif
