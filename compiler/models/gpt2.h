/* The model gpt2: its row for the table of models. */
#ifndef FIRNC_GPT2_H
#define FIRNC_GPT2_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gpt2;

#endif
