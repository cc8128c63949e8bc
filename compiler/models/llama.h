/* The model llama: its row for the table of models. */
#ifndef FIRNC_LLAMA_H
#define FIRNC_LLAMA_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_llama;

#endif
