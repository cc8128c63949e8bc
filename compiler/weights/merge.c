/* Merges adapters (compiler/weights/merge.h). */
#include "compiler/weights/merge.h"

void firnc_weights_merge(const firnc_graph *graph, const firnc_adapter *adapter, float *weight, const float *first,
                         const float *second) {
    const firn_shape *shape = &graph->values[adapter->second].shape;
    const uint64_t outputs = shape->dims[0], rank = shape->dims[1];
    uint64_t inputs = 0;
    (void)firn_shape_elements(&graph->values[adapter->first].shape, &inputs);
    inputs /= rank;
    for (uint64_t o = 0; o < outputs; o++)
        for (uint64_t i = 0; i < inputs; i++) {
            float *w = &weight[adapter->turned ? i * outputs + o : o * inputs + i];
            double sum = 0;
            for (uint64_t r = 0; r < rank; r++)
                sum += (double)second[o * rank + r] * (double)first[r * inputs + i];
            *w = (float)((double)*w + (double)adapter->factor * sum);
        }
}
