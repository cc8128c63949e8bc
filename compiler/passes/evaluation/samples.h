/* Which values of an evaluation keep the samples of a batch apart. Part of the metric pass; nothing else includes
 * this. */
#ifndef FIRNC_SAMPLES_H
#define FIRNC_SAMPLES_H

#include "compiler/passes/passes.h"

typedef struct firnc_samples firnc_samples;

/* Looks at every node of the graph, whose shapes are known. */
const firnc_samples *firnc_samples_of(const firnc_compilation *compilation);

/* Returns NULL if the first dimension of the value has an equal part for each sample of a batch, in the order of the
 * samples, computed from this sample alone and not from its place in the batch. Else returns the node that mixes
 * samples, or of whose op nothing is known. */
const firnc_node *firnc_samples_mixed_by(const firnc_samples *samples, firnc_value value);

#endif
