/* The model bert: its row for the table of models. */
#ifndef FIRNC_BERT_H
#define FIRNC_BERT_H

#include "compiler/models/models.h"

extern const firnc_model firnc_model_bert;

#endif
