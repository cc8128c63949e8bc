/* The row of the model mobilenet for the table of models. */
#ifndef FIRNC_MOBILENET_H
#define FIRNC_MOBILENET_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_mobilenet;

#endif
