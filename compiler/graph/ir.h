/* The graph as the passes see it. graph.c and the architectures build it through graph.h; each pass is one file with
 * one entry function, declared at the end in the order in which driver.c calls them. */
#ifndef FIRNC_IR_H
#define FIRNC_IR_H

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"
#include "compiler/recipe/recipe.h"
#include "plan/generated/reader.h"

#define FIRNC_VERSION "0.1.0"

/* RegionKind, Role, PhaseKind and PolOrigin of plan.fbs, as far as the passes need them: what is written is what they
 * worked with. */
enum { FIRNC_STATE = FIRN_FB_REGION_KIND_STATE, FIRNC_ARENA = FIRN_FB_REGION_KIND_ARENA };
enum {
    FIRNC_ROLE_PARAMETER = FIRN_FB_ROLE_PARAMETER,
    FIRNC_ROLE_OPTIMIZER_STATE = FIRN_FB_ROLE_OPTIMIZER_STATE,
    FIRNC_ROLE_COUNTER = FIRN_FB_ROLE_COUNTER,
    FIRNC_ROLE_INPUT = FIRN_FB_ROLE_INPUT,
    FIRNC_ROLE_ACTIVATION = FIRN_FB_ROLE_ACTIVATION,
    FIRNC_ROLE_GRADIENT = FIRN_FB_ROLE_GRADIENT,
    FIRNC_ROLE_RESULT = FIRN_FB_ROLE_RESULT
};
enum {
    FIRNC_PHASE_MICRO_BATCH = FIRN_FB_PHASE_KIND_MICRO_BATCH,
    FIRNC_PHASE_FINALISE = FIRN_FB_PHASE_KIND_FINALISE,
    FIRNC_PHASE_UPDATE = FIRN_FB_PHASE_KIND_UPDATE,
    FIRNC_PHASE_BOOKKEEP = FIRN_FB_PHASE_KIND_BOOKKEEP,
    FIRNC_PHASE_EVALUATE = FIRN_FB_PHASE_KIND_EVALUATE
};
enum {
    FIRNC_ORIGIN_NONE = FIRN_FB_POL_ORIGIN_NONE,
    FIRNC_ORIGIN_GLOBAL = FIRN_FB_POL_ORIGIN_GLOBAL,
    FIRNC_ORIGIN_PATTERN = FIRN_FB_POL_ORIGIN_PATTERN,
    FIRNC_ORIGIN_SCOPE = FIRN_FB_POL_ORIGIN_SCOPE,
    FIRNC_ORIGIN_CALL = FIRN_FB_POL_ORIGIN_CALL,
    FIRNC_ORIGIN_RULE = FIRN_FB_POL_ORIGIN_RULE
};

typedef struct firnc_value_info {
    const char *name;
    firn_shape shape;
    uint8_t role;
    uint32_t producer; /* node, or FIRNC_NONE for inputs, parameters and state; kept by every pass */
    bool decay;        /* parameters */
    uint32_t group;    /* parameters, after the training pass */
    bool initialised;  /* state: init below says with what (weights, when given, replace it) */
    firnc_init init;
    uint32_t rng_id;      /* normal, uniform; given in the order of building */
    firnc_value gradient; /* parameters, after autodiff */
    bool persistent;      /* arena: keeps its bytes from phase to phase or step to step */
    /* after the memory pass */
    uint8_t region; /* FIRNC_STATE or FIRNC_ARENA */
    uint64_t offset;
    uint32_t first, last; /* as Tensor.first and .last in plan.fbs */
} firnc_value_info;

typedef struct firnc_node {
    uint16_t code; /* firn_op_code */
    uint8_t phase;
    uint8_t input_count, output_count;
    const char *name; /* the layer path */
    firnc_value inputs[FIRN_INPUTS_MAX];
    firnc_value outputs[FIRN_OUTPUTS_MAX]; /* the same value as an input where the op changes it in place */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX]; /* after lowering */
    bool annotated;                                 /* pol below was set by a scope, a call or a rule */
    firnc_pol pol;
    uint8_t pol_origin; /* FIRNC_ORIGIN_SCOPE, _CALL or _RULE, when annotated */
    bool half_softmax;  /* attention: the model requests scores and probabilities in the half type at every level. The
                         * lower pass sets FIRN_ATTENTION_HALF_SOFTMAX from this and from POL */
    bool backward;      /* made by autodiff */
    /* after the pol pass; a backward node takes the backward ones of its forward node as its level and origin */
    uint8_t level, origin;
    uint8_t backward_level, backward_origin;
    uint8_t forward_level; /* backward: the forward node's own level, for what is computed again as forward did */
} firnc_node;

/* Parameters that are updated with the same settings. */
typedef struct firnc_group {
    const char *name;
    const firnc_parameter_group *source; /* the entry of params that it comes from; NULL: what no entry took */
    firnc_optimizer_settings settings;   /* weight_decay as it holds for this group */
    firnc_value *parameters;             /* sorted by name */
    uint32_t parameter_count;
    firnc_value learning_rate, factors;     /* of its updates; FIRNC_NONE: gradients are taken as they are */
    firnc_value beta1_power, beta2_power;   /* AdamW, else FIRNC_NONE */
    uint32_t rate_schedule, decay_schedule; /* indices into the recipe's roots; the latter may be absent */
} firnc_group;

struct firnc_graph {
    const char *model;
    bool eval; /* dropout is not recorded */
    firnc_value_info *values;
    uint32_t value_count, value_capacity;
    firnc_node *nodes; /* in an order that respects every dependence */
    uint32_t node_count, node_capacity;
    uint32_t rng_ids; /* next rng_id; 0 is the first */
    firnc_value loss, logits, labels;
    firnc_value row_weights;           /* of classification; FIRNC_NONE: each row counts once */
    int64_t ignore_index;              /* label of rows that do not count; -1: none */
    firnc_value prediction, target;    /* of regression */
    firnc_value scores, score_targets; /* of detection */
    /* after the training pass (or, in eval, the metric pass): values that the plan names; FIRNC_NONE when absent */
    firnc_value loss_scale, steps_since_rescale, overflows_since_rescale, skipped_steps, at_floor, finite,
        gradient_norm, global_step, optimizer_step, cursor, metric_sum, metric_count;
    firnc_value schedules[FIRNC_SCHEDULES_MAX]; /* of the recipe's roots: the scalar that receives the value, if any */
    firnc_group *groups;                        /* after the training pass; none is empty */
    uint32_t group_count;
    uint8_t metric_kind; /* MetricKind of plan.fbs */
    /* after the memory pass */
    uint64_t state_bytes, arena_bytes, live_bytes; /* live_bytes: the lower bound of the arena for this order */
    /* the builder: open scopes, innermost first, and the annotation of the next op */
    struct firnc_scope *scopes;
    bool next_annotated;
    firnc_pol next_pol;
    uint8_t next_origin; /* FIRNC_ORIGIN_CALL or FIRNC_ORIGIN_RULE */
};

/* What every pass is given. */
typedef struct firnc_compilation {
    const firnc_recipe *recipe;
    firnc_graph *graph;
    const char *target;  /* --target; "portable" by default */
    const char *weights; /* --weights file, or NULL */
    uint32_t plan_version, security_counter;
    uint8_t vendor[16], class_id[16];
} firnc_compilation;

/* Helpers of graph.c for passes. */
firnc_value firnc_value_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape);
/* Appends a node with fresh outputs of the given types; extents come from the op's shape rule. Returns the node. */
uint32_t firnc_node_new(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name, const firnc_value *inputs,
                        uint8_t input_count, const int64_t *integers, const float *reals, const uint8_t *output_types);
/* The same with outputs given (ops that change tensors in place); one given as FIRNC_NONE is made, in float32. */
uint32_t firnc_node_in_place(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name,
                             const firnc_value *inputs, uint8_t input_count, const int64_t *integers,
                             const float *reals, const firnc_value *outputs);
/* The operands of a node and its outputs, of the types given, with their extents by the op's rule. Returns FIRN_OK, or
 * the error of the rule. */
int firnc_infer_signature(const firnc_graph *graph, const firnc_node *node, const uint8_t *types,
                          firn_op_signature *signature);

/* Helpers of passes.c. For passes that write the list of nodes anew: takes the whole list out of the graph, and puts
 * nodes back at the end, where they become the producers of their outputs. */
typedef struct firnc_node_list {
    firnc_node *nodes;
    uint32_t count;
} firnc_node_list;
firnc_node_list firnc_take_nodes(firnc_graph *graph);
void firnc_put_node(firnc_graph *graph, const firnc_node *node);
/* Whether an output is a tensor that the node was given, and changes, rather than one that it makes. */
bool firnc_output_is_input(const firnc_node *node, uint8_t output);
/* The values whose role is wanted, sorted by name; returns how many. */
uint32_t firnc_sorted_values(const firnc_graph *graph, bool (*wanted)(uint8_t role), firnc_value **sorted);
bool firnc_is_parameter(uint8_t role);
bool firnc_is_state(uint8_t role); /* parameter, optimizer state or counter: what a checkpoint holds */
firn_shape firnc_scalar(firn_type type);
/* State that begins with every element `initial`; a counter is int64[1] and begins at 0. */
firnc_value firnc_state_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape, float initial);
firnc_value firnc_counter_new(firnc_graph *graph, const char *name);
/* Whether a layer's name is one that a pattern means: '*' stands for any characters, '?' for one. */
bool firnc_name_matches(const char *pattern, const char *name);
/* Whether a node belongs to such a layer. */
bool firnc_layer_exists(const firnc_graph *graph, const char *pattern);

/* Fills the extents of a node's outputs, whose types are set, by the op's rule (shapes.c). */
bool firnc_infer_node(const firnc_compilation *compilation, const firnc_node *node);

/* The groups of the parameters, which are given sorted by name (groups.c): the recipe's, each split by whether weight
 * decay holds. Part of the training pass. False after one line on stderr: a pattern that no parameter matches. */
bool firnc_group_parameters(const firnc_compilation *compilation, const firnc_value *parameters, uint32_t count);

/* What a group advances once a step before its parameters are updated, and the update of one of them (update.c). Part
 * of the training pass. */
void firnc_advance_powers(firnc_graph *graph, firnc_group *group);
void firnc_update_parameter(firnc_graph *graph, const firnc_group *group, firnc_value parameter);

/* The most bytes of the arena that live at one time in the order of the nodes (memory.c). Fills first and last. */
uint64_t firnc_live_bytes(firnc_graph *graph);

/* --- the passes, in order. Each returns false after one line on stderr. ---------------------------------------- */

typedef bool (*firnc_pass)(firnc_compilation *compilation);

bool firnc_build(firnc_compilation *compilation);         /* architecture -> graph (gpt2.c, mlp.c) */
bool firnc_infer_shapes(firnc_compilation *compilation);  /* shapes.c */
bool firnc_resolve_pol(firnc_compilation *compilation);   /* pol.c */
bool firnc_autocast(firnc_compilation *compilation);      /* autocast.c */
bool firnc_differentiate(firnc_compilation *compilation); /* autodiff.c (train) */
bool firnc_add_training(firnc_compilation *compilation);  /* training.c: the rest of a step; eval: firnc_add_metric */
bool firnc_add_metric(firnc_compilation *compilation);    /* metric.c (eval) */
bool firnc_fuse(firnc_compilation *compilation);          /* fuse.c: duplicate casts merged, dead ops removed */
bool firnc_order(firnc_compilation *compilation);         /* order.c: least live memory */
bool firnc_plan_memory(firnc_compilation *compilation);   /* memory.c */
bool firnc_lower(firnc_compilation *compilation);         /* lower.c: POL, target -> reductions, softmax, rotation */

/* Serialises (write.c): the payload, FlatBuffers then constants. bytes belong to the compiler's arena. */
typedef struct firnc_payload {
    uint8_t *bytes;
    uint64_t flatbuffers_bytes, constants_offset, constants_bytes, total_bytes; /* offsets from the payload's start */
    uint32_t ops, tensors, state_tensors;
} firnc_payload;
bool firnc_write_payload(const firnc_compilation *compilation, firnc_payload *payload);

/* --dump-after: the graph as text on stdout. */
void firnc_dump(const firnc_graph *graph);

#endif
