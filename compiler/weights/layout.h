/* The shapes of the tensors that a parameter is in a weights file, and where each element of them is in the parameter,
 * by a rule of a weight map (compiler/job/weight_map.h). */
#ifndef FIRNC_WEIGHTS_LAYOUT_H
#define FIRNC_WEIGHTS_LAYOUT_H

#include "compiler/job/job.h"
#include "compiler/weights/map.h"

/* A parameter as tensors of a file. "The whole" is all of them joined along the axis of the rule. */
typedef struct firnc_weight_layout {
    const char *names[FIRNC_WEIGHT_TENSORS_MAX];
    uint64_t dims[FIRNC_WEIGHT_TENSORS_MAX][FIRN_RANK_MAX]; /* of each tensor */
    uint64_t first[FIRNC_WEIGHT_TENSORS_MAX];               /* where it begins along the axis */
    uint64_t whole[FIRN_RANK_MAX];                          /* extents */
    uint32_t count, axis;
    uint8_t rank;    /* of the whole and of each tensor */
    bool transposed; /* the whole is a matrix, and its columns are the rows of what follows */
    /* The shape whose axes are put in another order, from the last axis to the first, and how far apart in the
     * parameter two neighbours along each are. view_rank 0: no axis moves. */
    uint8_t view_rank;
    uint64_t extents[FIRN_RANK_MAX], strides[FIRN_RANK_MAX];
} firnc_weight_layout;

/* Makes the layout of a parameter by a rule. False after one message, at the rule if it has a place, if the rule does
 * not fit the parameter's name and shape. */
bool firnc_weight_layout_make(firnc_weight_layout *layout, const firnc_job *job, const firnc_weight_rule *rule,
                              const firnc_weight_parameter *parameter);

uint64_t firnc_weight_tensor_elements(const firnc_weight_layout *layout, uint32_t tensor);

/* Copies the values of tensor number `tensor` to their places in the parameter, or from there. */
void firnc_weight_put(const firnc_weight_layout *layout, uint32_t tensor, const float *values, float *parameter);
void firnc_weight_take(const firnc_weight_layout *layout, uint32_t tensor, float *values, const float *parameter);

#endif
