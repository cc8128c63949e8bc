/* Reads the parameters of a model from a weights file by its weight map: for firnc compile --weights, and for firnc
 * weights. */
#ifndef FIRNC_WEIGHTS_H
#define FIRNC_WEIGHTS_H

#include "compiler/weights/layout.h"
#include "compiler/weights/safetensors.h"

/* A weights file whose names, types and shapes fit the model. */
typedef struct firnc_weights {
    const firnc_job *job;
    firnc_safetensors file;
    const firnc_weight_parameter *parameters;
    firnc_weight_layout *layouts; /* of each parameter; count 0: the file does not have it, which job->allow_unmatched
                                   * allows */
    uint32_t parameter_count;
} firnc_weights;

/* Reads job->weights and finds the tensors of each parameter. Parameters without a tensor and tensors without a
 * parameter are listed in one message, which is an error unless job->allow_unmatched. False after one message. */
bool firnc_weights_open(firnc_weights *weights, const firnc_job *job, const firnc_weight_parameter *parameters,
                        uint32_t parameter_count);

/* Whether the file has a parameter. */
bool firnc_weights_has(const firnc_weights *weights, uint32_t parameter);

/* Fills in the values of a parameter that the file has, floats in this machine's order of bytes. False after one
 * message if one is not finite, or if a copy of the parameter in the file differs from it. */
bool firnc_weights_read(const firnc_weights *weights, uint32_t parameter, void *values);

/* Whether no parameter is made from, added to or compared with this tensor of the file, by its position there. */
bool firnc_weights_leaves(const firnc_weights *weights, uint32_t tensor);

/* A rule of the user that is for no parameter is a mistake in its pattern. False after one message. Part of
 * firnc_weights_open. */
bool firnc_weights_check_rules(const firnc_job *job, const firnc_weight_parameter *parameters, uint32_t count);

/* Whether a rule of the map names this tensor of a file without reading a parameter from it: the tensor is ignored, a
 * copy, added to a parameter, or a constant. */
bool firnc_weights_is_ignored(const firnc_weight_map *map, const char *tensor);

/* The rule that says what a parameter is called in a file to be written. */
const firnc_weight_rule *firnc_weights_name_rule(const firnc_job *job, const char *parameter);

#endif
