/* Reads the frozen weights of a plan, for firnc weights. */
#ifndef FIRNC_FROZEN_WEIGHTS_H
#define FIRNC_FROZEN_WEIGHTS_H

#include "compiler/base/files.h"
#include "compiler/weights/map.h"
#include "plan/container.h"

/* Takes the values of a parameter from a plan that has passed its checks. False if the plan has no frozen weight of
 * that name and size. */
bool firnc_frozen_weight_read(const firnc_bytes *plan, const firn_header *header,
                              const firnc_weight_parameter *parameter, float *values);

#endif
