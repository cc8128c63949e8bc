/* What the rules of gradients share: the state of the walk of autodiff.c, and what a rule may do with it (gradients.c).
 * A rule is firnc_gradient_<gradient>, where <gradient> is the column of plan/ops.def; it may stand in autodiff.c or in
 * the file of a family of ops beside this one. Part of the autodiff pass; nothing else includes this. */
#ifndef FIRNC_GRADIENTS_H
#define FIRNC_GRADIENTS_H

#include "compiler/passes/passes.h"

/* The contribution of one consumer to the gradient of a value. */
typedef struct firnc_contribution {
    uint64_t position; /* consumer and operand in the forward graph, which define the order */
    firnc_value gradient;
    const firnc_node *embedding; /* not NULL: an embedding, whose ids select the rows to which `gradient` is added */
    struct firnc_contribution *next; /* of a higher position */
} firnc_contribution;

typedef struct firnc_differentiation {
    firnc_compilation *compilation;
    firnc_graph *graph;
    const firnc_node *forward;          /* the nodes of the forward graph; they stay readable when the list grows */
    uint32_t value_count;               /* values of the forward graph; the length of the next four arrays */
    bool *wanted;                       /* depends on a parameter */
    uint32_t *first_consumer;           /* index of a node, or FIRNC_NONE */
    firnc_contribution **contributions; /* by ascending position */
    firnc_value *gradients;             /* FIRNC_NONE until complete */
    bool rounds_totals;                 /* firnc_rounds_totals */
    const firnc_node *node;             /* the forward node that the walk has reached, and its index */
    uint32_t index;
} firnc_differentiation;

/* A rule contributes to the gradient of every wanted input of the current node; dy is the gradient of its output 0, and
 * FIRNC_NONE only where another output has one, which is so for recurrent ops alone (d->gradients has it). It returns
 * false after one message (firnc_fail). */
typedef bool (*firnc_gradient_rule)(firnc_differentiation *d, firnc_value dy);

/* Declares the rules that ops name. */
#define FIRN_OP(name, code, rule, gradient, ...)                                                                       \
    bool firnc_gradient_##gradient(firnc_differentiation *d, firnc_value dy);
#include "plan/ops.def"
#undef FIRN_OP

static inline const firn_shape *firnc_shape_of(const firnc_differentiation *d, firnc_value value) {
    return &d->graph->values[value].shape;
}

/* An input of the current node, or FIRNC_NONE. */
static inline firnc_value firnc_input_of(const firnc_differentiation *d, uint8_t operand) {
    return operand < d->node->input_count ? d->node->inputs[operand] : FIRNC_NONE;
}

/* The extents of an input of the current node as attributes, FIRN_RANK_MAX of them. */
void firnc_extents_of(const firnc_differentiation *d, uint8_t operand, int64_t *extents);

/* Whether the current node has this input and its gradient is needed. */
bool firnc_wanted(const firnc_differentiation *d, uint8_t operand);

/* The type that the gradient of a value has. */
uint8_t firnc_type_of_gradient(const firnc_differentiation *d, firnc_value value);

/* The type that the gradient of a parameter has in each micro-batch where an op reads the parameter in the half type.
 */
uint8_t firnc_type_of_half_parameter(const firnc_differentiation *d, firnc_value parameter);

/* Adds a backward node for the current forward node, with `types` for its outputs; returns its first output. integers
 * and reals may be NULL, which means zeros. */
firnc_value firnc_emit(firnc_differentiation *d, uint16_t code, const firnc_value *inputs, uint8_t input_count,
                       const int64_t *integers, const float *reals, const uint8_t *types);

/* Adds to the gradient of an input, after a cast to the type of that gradient. */
void firnc_contribute(firnc_differentiation *d, uint8_t operand, firnc_value gradient);

/* The same for an input that was repeated over the leading dimensions: the sum over them. */
void firnc_contribute_repeated(firnc_differentiation *d, uint8_t operand, firnc_value gradient);

/* The same for an input that was repeated to the extents of output 0 as NumPy does: the sum over the repetitions. */
void firnc_contribute_sum(firnc_differentiation *d, uint8_t operand, firnc_value gradient);

/* The best type of what firnc_contribute_sum takes: float32 where a sum follows, which rounds; else that of the
 * gradient. */
uint8_t firnc_type_of_terms(const firnc_differentiation *d, uint8_t operand);

/* Adds to the gradient of a bias, which was added to every row. */
void firnc_contribute_bias(firnc_differentiation *d, uint8_t operand, firnc_value dy);

/* Adds the rows of a gradient to those of a table that the ids of an embedding, which is the current node, select. */
void firnc_contribute_rows(firnc_differentiation *d, uint8_t operand, firnc_value gradient);
/* The gradient of the rows that the node selects: dy, with zeros for rows that get no gradient (trained_rows). */
firnc_value firnc_gradient_of_rows(firnc_differentiation *d, firnc_value dy);

/* Adds the backward op `code` and contributes each output d<input> whose input is wanted. The op's inputs are dy
 * (dloss) and inputs and outputs of the forward op under their names; its attributes are attributes of the forward op.
 * type is the type of these outputs; NULL: that of the gradient of each input. */
void firnc_apply_backward(firnc_differentiation *d, uint16_t code, firnc_value dy, const uint8_t *type);

#endif
