/* The ops that standardise the data of a model (firnc_standard in graph.h), a part of the builder. The numbers that
 * they read are kept in the plan by name, so that plans with other numbers are of other models. */
#include <string.h>

#include "compiler/graph/ir.h"

/* The extents of a record: those of the data but for the samples. */
typedef struct record {
    uint8_t rank; /* from 1 */
    uint32_t dims[FIRN_RANK_MAX];
    uint64_t elements;
} record;

static record record_of(uint8_t rank, const uint32_t *dims) {
    record r = {.rank = 1, .dims = {1}, .elements = 1};
    if (rank > 1)
        r.rank = (uint8_t)(rank - 1);
    for (uint8_t i = 1; i < rank; i++) {
        r.dims[i - 1] = dims[i];
        r.elements *= dims[i];
    }
    return r;
}

/* The tensor of this name, if there is one already; else FIRNC_NONE. */
static firnc_value find_tensor(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == FIRNC_ROLE_STATISTIC && strcmp(graph->values[i].name, name) == 0)
            return i;
    return FIRNC_NONE;
}

/* Adds a tensor whose elements are known. */
static firnc_value add_tensor(firnc_graph *graph, const char *name, uint8_t rank, const uint32_t *dims,
                              const float *elements, uint64_t count) {
    float *copy = firnc_allocate(count * sizeof *copy);
    memcpy(copy, elements, count * sizeof *copy);
    firnc_check_name(graph, name);
    const firnc_value value = firnc_value_new(graph, firnc_format("%s", name), FIRNC_ROLE_STATISTIC,
                                              firnc_make_shape(graph, FIRN_FLOAT32, rank, dims));
    graph->values[value].elements = copy;
    return value;
}

/* Adds one number for each element of a record: element i has number (i / run) % count. */
static firnc_value add_spread(firnc_graph *graph, const char *name, const record *r, const float *numbers,
                              uint32_t count, uint64_t run) {
    float *all = firnc_allocate(r->elements * sizeof *all);
    for (uint64_t i = 0; i < r->elements; i++)
        all[i] = numbers[i / run % count];
    return add_tensor(graph, name, r->rank, r->dims, all, r->elements);
}

/* Adds the numbers of columns as a tensor that NumPy's rules repeat to a record. FIRNC_NONE if their count does not fit
 * the record. */
static firnc_value add_numbers(firnc_graph *graph, const char *name, const record *r, const float *numbers,
                               uint32_t count, firnc_standard_axis axis) {
    const uint32_t last = r->dims[r->rank - 1];
    const bool flat = r->rank == 1 && r->elements % count == 0;
    if (count == 1)
        return add_tensor(graph, name, 1, &count, numbers, 1);
    if (axis == FIRNC_STANDARD_FIRST) {
        if (!flat && r->dims[0] != count)
            return FIRNC_NONE;
        return add_spread(graph, name, r, numbers, count, r->elements / count);
    }
    if (axis == FIRNC_STANDARD_EACH && count == r->elements)
        return add_spread(graph, name, r, numbers, count, 1);
    if (last == count)
        return add_tensor(graph, name, 1, &count, numbers, count);
    return axis == FIRNC_STANDARD_LAST && flat ? add_spread(graph, name, r, numbers, count, 1) : FIRNC_NONE;
}

/* Says that the counts do not fit. */
static void refuse(firnc_graph *graph, const firnc_standard *standard, const record *r, uint32_t count) {
    firnc_say_at(&standard->place,
                 firnc_format("has %u columns, and a record of the model has %llu numbers; %s", (unsigned)count,
                              (unsigned long long)r->elements,
                              standard->by_statistics
                                  ? "make the statistics of the data that the model reads, or give the model their size"
                                  : "write one number, or one for each column"));
    firnc_graph_refuse(graph);
}

/* Adds an op of x and numbers; x itself if there are none, or if they do not fit. */
static firnc_value apply(firnc_graph *graph, firn_op_code code, const char *name, firnc_value x, const record *r,
                         const float *numbers, uint32_t count, const firnc_standard *standard) {
    if (numbers == NULL || graph->refused)
        return x;
    firnc_value tensor = find_tensor(graph, name);
    if (tensor == FIRNC_NONE)
        tensor = add_numbers(graph, name, r, numbers, count, standard->axis);
    if (tensor == FIRNC_NONE) {
        refuse(graph, standard, r, count);
        return x;
    }
    const firnc_value y = firnc_op(graph, code, (firnc_value[]){x, tensor}, 2, NULL, NULL);
    graph->values[y].shape = graph->values[x].shape; /* for front ends that look at shapes before the shapes pass */
    return y;
}

firnc_value firnc_standardise(firnc_graph *graph, const char *of, firnc_value x, uint8_t rank, const uint32_t *dims,
                              const firnc_standard *standard) {
    const record r = record_of(rank, dims);
    const uint32_t count = standard->count;
    firnc_layer_begin(graph, "normalise");
    if (standard->by_statistics) {
        x = apply(graph, FIRN_OP_subtract, firnc_format("normalise.%s.mean", of), x, &r, standard->mean, count,
                  standard);
        x = apply(graph, FIRN_OP_divide, firnc_format("normalise.%s.deviation", of), x, &r, standard->deviation, count,
                  standard);
    } else {
        x = apply(graph, FIRN_OP_multiply, firnc_format("normalise.%s.scale", of), x, &r, standard->scale,
                  standard->scale_count, standard);
        x = apply(graph, FIRN_OP_add, firnc_format("normalise.%s.shift", of), x, &r, standard->shift,
                  standard->shift_count, standard);
    }
    firnc_layer_end(graph);
    return x;
}

firnc_value firnc_unstandardise(firnc_graph *graph, const char *of, firnc_value x, uint8_t rank, const uint32_t *dims,
                                const firnc_standard *standard) {
    const record r = record_of(rank, dims);
    const uint32_t count = standard->count;
    firnc_layer_begin(graph, "denormalise");
    x = apply(graph, FIRN_OP_multiply, firnc_format("normalise.%s.deviation", of), x, &r, standard->deviation, count,
              standard);
    x = apply(graph, FIRN_OP_add, firnc_format("normalise.%s.mean", of), x, &r, standard->mean, count, standard);
    firnc_layer_end(graph);
    return x;
}

/* --- inputs --- */

firnc_value firnc_input(firnc_graph *graph, const char *name, firn_type type, uint8_t rank, const uint32_t *dims,
                        firnc_input_options options) {
    firnc_check_name(graph, name);
    firnc_value value =
        firnc_value_new(graph, firnc_format("%s", name), FIRNC_ROLE_INPUT, firnc_make_shape(graph, type, rank, dims));
    firnc_input_options *source = firnc_allocate(sizeof *source);
    *source = options;
    if (!options.scaled && (options.scale != 0 || options.shift != 0))
        firnc_graph_misuse(graph, firnc_format("input %s has a scale or a shift and is not scaled", name));
    if (!options.scaled)
        source->scale = 1;
    graph->values[value].source = source;
    return options.standard != NULL ? firnc_standardise(graph, name, value, rank, dims, options.standard) : value;
}
