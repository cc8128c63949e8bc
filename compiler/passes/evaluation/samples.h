/* Which values of an evaluation keep the samples of a batch apart. Part of the metric pass; nothing else includes
 * this. */
#ifndef FIRNC_SAMPLES_H
#define FIRNC_SAMPLES_H

#include "compiler/passes/passes.h"

typedef struct firnc_samples firnc_samples;

/* Looks at every node of the graph, whose shapes are known. */
const firnc_samples *firnc_samples_of(const firnc_compilation *compilation);

/* Returns true if the first dimension of the value has an equal part for each sample of a batch, in the order of the
 * samples, computed from this sample alone and not from its place in the batch, or has one element for all of them.
 * Else stores the node that mixes samples, or of whose op nothing is known; NULL: the value is a parameter or a
 * constant with an element for each place in the batch. */
bool firnc_samples_are_apart(const firnc_samples *samples, firnc_value value, const firnc_node **mixing);

#endif
