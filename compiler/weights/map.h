/* Follows the rules of a weight map (compiler/job/weight_map.h) for one parameter: which tensors of a file it is, of
 * which shapes, and where each element of them is. It reads and writes no file. */
#ifndef FIRNC_WEIGHTS_MAP_H
#define FIRNC_WEIGHTS_MAP_H

#include "compiler/graph/ir.h"
#include "compiler/job/job.h"
#include "compiler/weights/safetensors.h"

/* A parameter of the model. */
typedef struct firnc_weight_parameter {
    const char *name;
    firn_shape shape;
} firnc_weight_parameter;

/* The parameters of a graph, sorted by name. */
const firnc_weight_parameter *firnc_weight_parameters(const firnc_graph *graph, uint32_t *count);

uint64_t firnc_weight_elements(const firnc_weight_parameter *parameter);

/* Whether a rule is for this parameter. If so, sets `names` to its tensors' names; returns their number, 0 if not. */
uint32_t firnc_weight_names(const firnc_weight_rule *rule, const char *parameter,
                            const char *names[FIRNC_WEIGHT_TENSORS_MAX]);

/* A parameter as tensors of a file. */
typedef struct firnc_weight_layout {
    const firnc_weight_rule *rule;
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    uint64_t dims[FIRNC_WEIGHT_TENSORS_MAX][FIRN_RANK_MAX]; /* of each tensor */
    uint64_t first[FIRNC_WEIGHT_TENSORS_MAX];               /* where it begins along the axis of all joined */
    uint64_t joined[FIRN_RANK_MAX];                         /* extents of all joined */
    uint32_t count;
    uint8_t rank;
} firnc_weight_layout;

/* Makes the layout of a parameter by a rule, whose names have been found. False after one message, at the rule if it
 * has a place, if the rule does not fit the parameter's shape. */
bool firnc_weight_layout_make(firnc_weight_layout *layout, const firnc_job *job, const firnc_weight_rule *rule,
                              const firnc_weight_parameter *parameter);

uint64_t firnc_weight_tensor_elements(const firnc_weight_layout *layout, uint32_t tensor);

/* Copies the values of tensor number `tensor` to their places in the parameter, or from there. */
void firnc_weight_put(const firnc_weight_layout *layout, uint32_t tensor, const float *values, float *parameter);
void firnc_weight_take(const firnc_weight_layout *layout, uint32_t tensor, float *values, const float *parameter);

#endif
