/* Merges what LoRA has trained with the weight beside it, for programs that know nothing of LoRA. */
#ifndef FIRNC_WEIGHTS_MERGE_H
#define FIRNC_WEIGHTS_MERGE_H

#include "compiler/graph/ir.h"

/* Adds factor * second * first to the weight: in binary64, rounded once. All values are
 * row-major, in the layouts of the graph. */
void firnc_weights_merge(const firnc_graph *graph, const firnc_adapter *adapter, float *weight, const float *first,
                         const float *second);

#endif
