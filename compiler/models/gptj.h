/* The model gptj: its row for the table of models. */
#ifndef FIRNC_GPTJ_H
#define FIRNC_GPTJ_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gptj;

#endif
