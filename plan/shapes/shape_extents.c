/* Extents of shapes, for the shape rules (plan/shapes/shape_rules.h). Freestanding. */
#include <string.h>

#include "plan/shapes/shape_rules.h"

void firn_shape_set(firn_shape *output, uint32_t rank, const uint32_t *dims) {
    memset(output->dims, 0, sizeof output->dims);
    memcpy(output->dims, dims, rank * sizeof dims[0]);
    output->rank = (uint8_t)rank;
}

uint64_t firn_shape_product(const firn_shape *shape, uint32_t count) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < count; i++)
        product *= shape->dims[i];
    return product;
}
