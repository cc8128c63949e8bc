/* The row of the model resnet8 for the table of models. */
#ifndef FIRNC_RESNET8_H
#define FIRNC_RESNET8_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_resnet8;

#endif
