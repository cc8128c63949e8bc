/* The model gpt-neox: its row for the table of models. */
#ifndef FIRNC_GPT_NEOX_H
#define FIRNC_GPT_NEOX_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gpt_neox;

#endif
