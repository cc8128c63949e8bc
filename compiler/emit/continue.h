/* A run that begins with the state of an older one (firnc compile --continue): the tensors of its checkpoint become the
 * initial values of the state, in place of rules and of a weights file. */
#ifndef FIRNC_EMIT_CONTINUE_H
#define FIRNC_EMIT_CONTINUE_H

#include "compiler/emit/plan_file.h"
#include "compiler/emit/write.h"
#include "compiler/weights/older_run.h"

typedef struct firnc_continued {
    firnc_older_run run;
    bool same_parameters; /* both train the same parameters, so that the model hashes are equal if the weights are */
    int64_t cursor;       /* the place in the data where this run begins, in samples; 0: the first */
} firnc_continued;

/* After all passes: reads the checkpoint of job->continues, if there is one, and gives each tensor of the state, and
 * each frozen weight, the value that the checkpoint has under its name. A tensor of another shape is an error. A tensor
 * that only one of both runs has is one unless job->allow_unmatched, or unless it follows from the recipe: scaling of
 * the loss that begins or ends, LoRA's matrices, parameters that --weights has, state of the optimizer of parameters
 * that only one of both runs trains. An evaluation takes the model alone. False after one message. */
bool firnc_continue(firnc_compilation *compilation);

/* After the payload was written: the tokens must be those of the older run's tokenizer, as far as that is known, unless
 * job->allow_unmatched. Lets the run begin with the first sample, with a note, if it draws other samples than
 * the older run; *changed says so, and the payload must be written again. False after one message. */
bool firnc_continue_data(firnc_compilation *compilation, const firnc_payload *payload, bool *changed);

/* With the finished plan: if both runs train the same parameters, the frozen weights must be equal, too. False after
 * one message. */
bool firnc_continue_check(const firnc_compilation *compilation, const firnc_bytes *file,
                          const firnc_plan_file *checked);

#endif
