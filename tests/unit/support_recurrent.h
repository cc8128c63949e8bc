/* A network of every recurrent op, in both directions, with and without initial states, whose last states begin the
 * next ones: so the gradients of outputs and of last states come together. For unit tests and for the plans of
 * tests/end_to_end/recurrent_plan.c. */
#ifndef FIRN_TESTS_SUPPORT_RECURRENT_H
#define FIRN_TESTS_SUPPORT_RECURRENT_H

#include "compiler/graph/graph.h"

typedef struct recurrent_sizes {
    uint32_t steps, samples, width, units, outputs;
} recurrent_sizes;

/* Builds the network and its loss, the mean squared error: features [steps,samples,width], target
 * [steps,samples,outputs]. */
void recurrent_build(firnc_graph *graph, const recurrent_sizes *sizes, firnc_input_options features,
                     firnc_input_options target);

#endif
