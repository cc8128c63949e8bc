/* The constants of a graph: tensors whose elements are known when the plan is made, and which ops read from it in
 * place. The part of the builder that makes them, and their conversion to a half type. */
#include <string.h>

#include "compiler/graph/ir.h"
#include "runtime/numerics/numerics.h"

static size_t bytes_of(const firnc_graph *graph, const firn_shape *shape) {
    uint64_t bytes = 0;
    if (!firn_shape_bytes(shape, &bytes) || bytes > SIZE_MAX)
        firnc_graph_misuse(graph, "a constant has more bytes than a plan can hold");
    return (size_t)bytes;
}

firnc_value firnc_constant_new(firnc_graph *graph, const char *name, firn_shape shape, const void *elements) {
    const firnc_value value = firnc_value_new(graph, name, FIRNC_ROLE_CONSTANT, shape);
    graph->values[value].elements = elements;
    return value;
}

firnc_value firnc_constant(firnc_graph *graph, const char *name, firn_type type, uint8_t rank, const uint32_t *dims,
                           const void *elements) {
    const firn_shape shape = firnc_make_shape(graph, type, rank, dims);
    firnc_check_name(graph, name);
    if (type != FIRN_FLOAT32 && type != FIRN_INT32)
        firnc_graph_misuse(graph, firnc_format("constant %s is neither float32 nor int32", name));
    const size_t bytes = bytes_of(graph, &shape);
    void *copy = firnc_allocate(bytes);
    memcpy(copy, elements, bytes);
    return firnc_constant_new(graph, firnc_format("%s", name), shape, copy);
}

firnc_value firnc_constant_narrow(firnc_graph *graph, firnc_value constant, uint8_t half) {
    const firnc_value_info wide = graph->values[constant]; /* a copy: a new value may move the list */
    firn_shape shape = wide.shape;
    shape.type = half;
    void *elements = firnc_allocate(bytes_of(graph, &shape));
    uint64_t count = 0;
    (void)firn_shape_elements(&shape, &count);
    firn_narrow(elements, half, 0, wide.elements, (size_t)count);
    return firnc_constant_new(graph, firnc_format("%s/%s", wide.name, firn_type_name(half)), shape, elements);
}
