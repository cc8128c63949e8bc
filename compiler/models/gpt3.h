/* The model gpt3: its row for the table of models. */
#ifndef FIRNC_GPT3_H
#define FIRNC_GPT3_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_gpt3;

#endif
