/* The row of the model autoencoder for the table of models. */
#ifndef FIRNC_AUTOENCODER_H
#define FIRNC_AUTOENCODER_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_autoencoder;

#endif
