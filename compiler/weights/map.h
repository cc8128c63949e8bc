/* Which tensors of a weights file a parameter is, by a rule of a weight map (compiler/job/weight_map.h). It reads and
 * writes no file. */
#ifndef FIRNC_WEIGHTS_MAP_H
#define FIRNC_WEIGHTS_MAP_H

#include "compiler/graph/ir.h"
#include "compiler/job/weight_map.h"

/* A parameter of the model. */
typedef struct firnc_weight_parameter {
    const char *name;
    firn_shape shape;
    bool optional; /* a file need not have it, and no message names it then */
} firnc_weight_parameter;

/* The parameters of a graph, trained and frozen, in float32, sorted by name. */
const firnc_weight_parameter *firnc_weight_parameters(const firnc_graph *graph, uint32_t *count);

uint64_t firnc_weight_elements(const firnc_weight_parameter *parameter);

/* Whether a rule is for this parameter. If so, sets `names` to its tensors' names; returns their number, 0 if not. */
uint32_t firnc_weight_names(const firnc_weight_rule *rule, const char *parameter,
                            const char *names[FIRNC_WEIGHT_TENSORS_MAX]);

#endif
