/* The graph as the passes see it; front ends build it through graph.h. Nothing here knows a job, and who needs more
 * than the graph is declared elsewhere: the passes in compiler/passes/passes.h. */
#ifndef FIRNC_IR_H
#define FIRNC_IR_H

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"
#include "plan/generated/reader.h"

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
    uint32_t producer;                 /* node, or FIRNC_NONE for inputs, parameters and state; kept by every pass */
    bool decay;                        /* parameters */
    uint32_t group;                    /* parameters, after the training pass */
    const firnc_input_options *source; /* inputs of the graph: where their elements come from; NULL for other values */
    bool initialised;                  /* state: init below says with what (weights, when given, replace it) */
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

struct firnc_graph {
    const char *model;
    bool eval;   /* dropout is not recorded */
    bool passed; /* the passes have begun: the graph is no longer what was built */
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
    firnc_value *schedules;     /* for each root of the job's: the scalar that receives the value, or FIRNC_NONE */
    struct firnc_group *groups; /* compiler/passes/passes.h; none is empty */
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

/* Helpers of graph.c for passes. */
/* Ends the program: a mistake in the program that calls the builder, or in a pass, and never the fault of a recipe. */
_Noreturn void firnc_graph_misuse(const firnc_graph *graph, const char *what);
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

/* Helpers of nodes.c. For passes that write the list of nodes anew: takes the whole list out of the graph, and puts
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

/* --dump-after: the graph as text on stdout. */
void firnc_dump(const firnc_graph *graph);

#endif
