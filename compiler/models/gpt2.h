/* The models gpt2 and gpt3: their rows for the table of models. */
#ifndef FIRNC_GPT2_H
#define FIRNC_GPT2_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gpt2, firnc_model_gpt3;

#endif
