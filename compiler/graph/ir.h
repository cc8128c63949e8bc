/* The graph's data structure, for the passes and the writer; front ends use graph.h. Declarations that need a job do
 * not belong here: the passes are declared in compiler/passes/passes.h. */
#ifndef FIRNC_IR_H
#define FIRNC_IR_H

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"
#include "plan/generated/reader.h"

/* The values of RegionKind, Role and PhaseKind of plan.fbs that the passes use. They are written to the plan
 * unchanged. */
enum {
    FIRNC_IN_PARAMETERS = FIRN_FB_REGION_KIND_PARAMETERS,
    FIRNC_IN_OPTIMIZER = FIRN_FB_REGION_KIND_OPTIMIZER,
    FIRNC_IN_SESSION = FIRN_FB_REGION_KIND_SESSION,
    FIRNC_IN_RING = FIRN_FB_REGION_KIND_RING,
    FIRNC_IN_ARENA = FIRN_FB_REGION_KIND_ARENA,
    FIRNC_IN_CONSTANT = FIRN_FB_REGION_KIND_CONSTANT,
    FIRNC_REGIONS = FIRN_FB_REGION_KIND_CONSTANT + 1
};
enum {
    FIRNC_ROLE_PARAMETER = FIRN_FB_ROLE_PARAMETER,
    FIRNC_ROLE_BUFFER = FIRN_FB_ROLE_BUFFER,
    FIRNC_ROLE_OPTIMIZER_STATE = FIRN_FB_ROLE_OPTIMIZER_STATE,
    FIRNC_ROLE_COUNTER = FIRN_FB_ROLE_COUNTER,
    FIRNC_ROLE_INPUT = FIRN_FB_ROLE_INPUT,
    FIRNC_ROLE_ACTIVATION = FIRN_FB_ROLE_ACTIVATION,
    FIRNC_ROLE_GRADIENT = FIRN_FB_ROLE_GRADIENT,
    FIRNC_ROLE_RESULT = FIRN_FB_ROLE_RESULT,
    FIRNC_ROLE_SCRATCH = FIRN_FB_ROLE_SCRATCH,
    FIRNC_ROLE_CONSTANT = FIRN_FB_ROLE_CONSTANT,
    FIRNC_ROLE_FROZEN = FIRN_FB_ROLE_FROZEN,
    FIRNC_ROLE_RING = FIRN_FB_ROLE_RING,
    FIRNC_ROLE_CACHE = FIRN_FB_ROLE_CACHE,
    /* Of the compiler alone: what standardises data. A plan has it as a frozen weight, so that its bytes are in the
     * model hash; but no weights file and no older run has it. */
    FIRNC_ROLE_STATISTIC = 64
};
enum {
    FIRNC_PHASE_MICRO_BATCH = FIRN_FB_PHASE_KIND_MICRO_BATCH,
    FIRNC_PHASE_FINALISE = FIRN_FB_PHASE_KIND_FINALISE,
    FIRNC_PHASE_UPDATE = FIRN_FB_PHASE_KIND_UPDATE,
    FIRNC_PHASE_BOOKKEEP = FIRN_FB_PHASE_KIND_BOOKKEEP,
    FIRNC_PHASE_EVALUATE = FIRN_FB_PHASE_KIND_EVALUATE,
    FIRNC_PHASE_COUNT = FIRN_FB_PHASE_KIND_COUNT
};
/* Who decided an op's POL. */
enum {
    FIRNC_ORIGIN_NONE,
    FIRNC_ORIGIN_GLOBAL,
    FIRNC_ORIGIN_PATTERN,
    FIRNC_ORIGIN_SCOPE,
    FIRNC_ORIGIN_CALL,
    FIRNC_ORIGIN_RULE
};

_Static_assert(FIRNC_NONE == FIRN_ABSENT, "an absent input of a node is one in the plan");

typedef struct firnc_value_info {
    const char *name;
    firn_shape shape;
    uint8_t role;
    uint32_t producer;                 /* node; FIRNC_NONE for inputs, parameters and state; every pass updates it */
    bool decay;                        /* parameters */
    bool adapter;                      /* parameters that LoRA has added, which a weights file need not have */
    uint32_t group;                    /* parameters, after the training pass */
    const firnc_input_options *source; /* inputs of the graph: the source of their elements; NULL for other values */
    const void *elements;              /* constants, statistics: their elements, in the type of the shape; frozen
                                        * weights: NULL */
    bool initialised;                  /* state: init below holds the initial value, which weights replace if given */
    firnc_init init;
    const float *initial; /* state: the elements that it starts with, in place of init; NULL: those of init */
    bool continued;       /* state and frozen weights: initial is from an older run, and counts above a weights file */
    int64_t integer;      /* int64 state: every element starts as this */
    uint32_t rng_id;      /* of the rules normal and uniform; assigned in build order */
    firnc_value gradient; /* parameters, after autodiff */
    bool total_rounded;   /* likewise: the sum of its gradients over the micro-batches is rounded to the half type */
    /* after the early and the views pass; otherwise FIRNC_NONE */
    firnc_value base;        /* a view: the value whose bytes it shares; offset is from the base's begin. Only views of
                              * state are written */
    firnc_value gradient_of; /* a gradient that is used up at once: its parameter */
    bool persistent;         /* arena: its bytes are kept between phases or steps */
    /* after the memory pass */
    uint8_t region; /* FIRNC_IN_PARAMETERS, and so on */
    uint64_t offset;
    uint32_t first, last; /* lifetime, as Tensor.first and .last in plan.fbs */
} firnc_value_info;

typedef struct firnc_node {
    uint16_t code; /* firn_op_code */
    uint8_t phase;
    uint8_t input_count, output_count;
    const char *name;                      /* the layer path */
    firnc_value inputs[FIRN_INPUTS_MAX];   /* FIRNC_NONE: the op does not have this input; never the last of them */
    firnc_value outputs[FIRN_OUTPUTS_MAX]; /* equal to an input that the op changes in place */
    int64_t integers[FIRN_ATTRIBUTES_MAX];
    float reals[FIRN_ATTRIBUTES_MAX];
    firn_reduction reductions[FIRN_REDUCTIONS_MAX]; /* after lowering */
    bool annotated;                                 /* a scope, a call or a rule has set pol */
    firnc_pol pol;
    uint8_t pol_origin; /* FIRNC_ORIGIN_SCOPE, _CALL or _RULE, when annotated */
    bool half_softmax;  /* attention: the model requests scores and probabilities in the half type at every level; the
                         * lower pass combines this with POL into FIRN_ATTENTION_HALF_SOFTMAX */
    /* embedding, gather: a float32 for each index, 0 where the row that it selects gets no gradient; FIRNC_NONE: every
     * row gets one. Only autodiff reads it. */
    firnc_value trained_rows;
    bool backward; /* created by autodiff */
    /* after the pol pass. The level and origin of a backward node are the backward ones of its forward node */
    uint8_t level, origin;
    uint8_t backward_level, backward_origin;
    uint8_t forward_level, forward_origin; /* backward nodes: those of the forward node, whose values they recompute */
} firnc_node;

/* The statistics of a batch norm that advance in a step of training. */
typedef struct firnc_statistics {
    firnc_value y;              /* of the batch norm */
    firnc_value mean, variance; /* buffers */
    float momentum;
} firnc_statistics;

#define FIRNC_STREAMS_MAX 64 /* as inputs in a plan */

/* A value that a job may make an output. */
typedef struct firnc_named_value {
    const char *name;
    firnc_value value;
} firnc_named_value;

/* LoRA's matrices beside the weight of a product; all three are parameters. */
typedef struct firnc_adapter {
    firnc_value weight, first, second;
    float factor; /* of what the two add */
    bool turned;  /* the weight has its inputs first (FIRNC_IN_OUT), the two have their outputs first */
} firnc_adapter;

struct firnc_graph {
    const char *model;
    bool eval;       /* dropout is not recorded */
    bool refused;    /* the front end could not build it, and has said so */
    bool passed;     /* the passes have begun to change the graph; it cannot be frozen again */
    bool has_target; /* after the lower pass: an op computes what it would not for the target portable */
    firnc_value_info *values;
    uint32_t value_count, value_capacity;
    firnc_node *nodes; /* in an order that respects every dependence, in-place changes included */
    uint32_t node_count, node_capacity;
    uint32_t rng_ids; /* next rng_id; 0 is the first */
    firnc_value loss, logits, labels;
    firnc_value row_weights;           /* classification; FIRNC_NONE: every row has weight 1 */
    int64_t ignore_index;              /* label of rows that are not counted; -1: none */
    firnc_value prediction, target;    /* regression */
    firnc_value scores, score_targets; /* detection */
    firnc_named_value *named;
    uint32_t named_count, named_capacity;
    firnc_statistics *statistics;
    uint32_t statistics_count, statistics_capacity;
    firnc_adapter *adapters; /* after the adapt pass */
    uint32_t adapter_count, adapter_capacity;
    firnc_value *outputs; /* after the build pass: of each output of the job, in its order */
    uint32_t output_count;
    /* after the training pass (eval: the metric pass): values that the plan refers to; FIRNC_NONE if absent */
    firnc_value loss_scale, steps_since_rescale, overflows_since_rescale, skipped_steps, at_floor, finite,
        gradient_norm, global_step, optimizer_step, cursor, metric_sum, metric_count,
        counted;                /* eval: which samples of a batch count; FIRNC_NONE: the last batch may not be short */
    firnc_value *schedules;     /* for each schedule root of the job: its scalar in the graph, or FIRNC_NONE */
    struct firnc_group *groups; /* compiler/passes/passes.h; each has a parameter */
    uint32_t group_count;
    uint8_t metric_kind;      /* MetricKind of plan.fbs */
    bool losses_added;        /* train, after the training pass: as losses_added of plan.fbs */
    const char *early_update; /* train, after the early pass: what it did, for people */
    /* after the rings pass */
    firnc_value rings[FIRNC_STREAMS_MAX]; /* of each stream */
    uint32_t ring_count;
    firnc_value pushed; /* FIRNC_NONE: samples are not pushed */
    /* after the memory pass */
    uint64_t region_bytes[FIRNC_REGIONS]; /* by kind; 0: the plan has no such region */
    uint64_t live_bytes;                  /* lower bound of the arena for this node order */
    /* builder: the open scopes, innermost first, and the annotation of the next op */
    struct firnc_scope *scopes;
    bool next_annotated;
    firnc_pol next_pol;
    uint8_t next_origin; /* FIRNC_ORIGIN_CALL or FIRNC_ORIGIN_RULE */
};

/* Helpers of graph.c for passes. */
/* Ends the call with FIRNC_MISUSE, after one message. For bugs in a pass or in the program that calls the builder; a
 * wrong recipe must never get here. */
void firnc_graph_misuse(const firnc_graph *graph, const char *what) __attribute__((noreturn));
firnc_value firnc_value_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape);
/* A name or extents that a caller gave: a misuse if they are not as graph.h says. */
void firnc_check_name(const firnc_graph *graph, const char *name);
firn_shape firnc_make_shape(const firnc_graph *graph, firn_type type, uint8_t rank, const uint32_t *dims);
/* Appends a node with new outputs of the given types, whose extents follow from the op's shape rule. Returns its
 * index. An input given as FIRNC_NONE, which must be optional, is absent. */
uint32_t firnc_node_new(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name, const firnc_value *inputs,
                        uint8_t input_count, const int64_t *integers, const float *reals, const uint8_t *output_types);
/* The same with given outputs, for ops that change tensors in place. An output given as FIRNC_NONE is created, in
 * float32. */
uint32_t firnc_node_in_place(firnc_graph *graph, uint16_t code, uint8_t phase, const char *name,
                             const firnc_value *inputs, uint8_t input_count, const int64_t *integers,
                             const float *reals, const firnc_value *outputs);
/* Gives a node's outputs their shapes: the given types, and extents that follow from the op's shape rule. Returns
 * FIRN_OK or the error of the rule. outputs: room for node->output_count shapes. */
int firnc_infer_outputs(const firnc_graph *graph, const firnc_node *node, const uint8_t *types, firn_shape *outputs);

/* Helpers of constants.c. A constant with these elements, which are not copied; and a constant of float32 rounded to a
 * half type as the op cast rounds. */
firnc_value firnc_constant_new(firnc_graph *graph, const char *name, firn_shape shape, const void *elements);
firnc_value firnc_constant_narrow(firnc_graph *graph, firnc_value constant, uint8_t half);

/* Helpers of nodes.c. For passes that rebuild the node list: firnc_take_nodes removes the whole list from the graph,
 * firnc_put_node appends a node and makes it the producer of its outputs. */
typedef struct firnc_node_list {
    firnc_node *nodes;
    uint32_t count;
} firnc_node_list;
firnc_node_list firnc_take_nodes(firnc_graph *graph);
void firnc_put_node(firnc_graph *graph, const firnc_node *node);
/* True if the node changes this output in place: it is also one of its inputs. */
bool firnc_output_is_input(const firnc_node *node, uint8_t output);
/* Collects the values with a wanted role, without views, sorted by name. Returns their number. */
uint32_t firnc_sorted_values(const firnc_graph *graph, bool (*wanted)(uint8_t role), firnc_value **sorted);
bool firnc_is_parameter(uint8_t role); /* one that is trained, in an evaluation too */
bool firnc_is_frozen(uint8_t role);    /* one that is not, after the freeze pass */
bool firnc_is_kept(uint8_t role);      /* either what is frozen or a statistic: a plan has its name and its elements */
bool firnc_is_weight(uint8_t role);    /* either of them, or a buffer: a weights file has it */
bool firnc_is_of_model(uint8_t role);  /* parameter or buffer: state that an evaluation reads, too */
bool firnc_is_state(uint8_t role);     /* parameter, buffer, optimizer state, counter or cache: in a checkpoint */
/* True for what is read in place from the plan and has a place neither in the state nor in the arena. */
bool firnc_is_constant(uint8_t role);
/* True for a value that has its own name in the plan and a place of its own in the state: state that is no view. */
bool firnc_is_state_value(const firnc_value_info *value);
firn_shape firnc_scalar(firn_type type);
/* Whether the last dimensions of a are the dimensions of b, which add and multiply can repeat along a. */
bool firnc_ends_with(const firn_shape *a, const firn_shape *b);
/* Makes an addition or product, of operands with extents, one that can repeat them: with the operands the other way
 * round, which gives the same bits, or by the more general op. */
void firnc_choose_general_op(const firnc_graph *graph, firnc_node *node);
/* New state in which every element starts as `initial`; a counter is int64[1] and starts at 0. */
firnc_value firnc_state_new(firnc_graph *graph, const char *name, uint8_t role, firn_shape shape, float initial);
firnc_value firnc_counter_new(firnc_graph *graph, const char *name);
/* Matches a layer's name with a pattern: '*' stands for any characters, '?' for one. */
bool firnc_name_matches(const char *pattern, const char *name);
/* "global", "pattern" and so on. */
const char *firnc_pol_origin_word(uint8_t origin);
/* Bytes of all regions of the state, after the memory pass. */
uint64_t firnc_state_bytes(const firnc_graph *graph);
/* True if some node is in a layer that the pattern matches. */
bool firnc_layer_exists(const firnc_graph *graph, const char *pattern);
/* What to do about a pattern that matches no layer, or no weight: the name that was meant, and where all are. */
const char *firnc_unmatched_text(const firnc_graph *graph, const char *pattern, bool layers);
/* The same for a list of names that NULL ends. */
const char *firnc_unmatched_among(const char *const *names, const char *pattern, bool layers);

/* Prints the graph to stdout as text (--dump-after). */
void firnc_dump(const firnc_graph *graph);

#endif
