/* The row of the model ds_cnn for the table of models. */
#ifndef FIRNC_DS_CNN_H
#define FIRNC_DS_CNN_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_ds_cnn;

#endif
