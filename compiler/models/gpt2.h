/* The model gpt2: its row for the table of models. */
#ifndef FIRNC_GPT2_H
#define FIRNC_GPT2_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gpt2;

/* Its weight_map (gpt2_weights.c). */
firnc_weight_map firnc_gpt2_weight_map(const void *settings);

#endif
