/* Runs the nodes of a compiled graph with the portable kernels, without a plan: for tests of the compiler. */
#ifndef FIRN_TESTS_SUPPORT_INTERPRETER_H
#define FIRN_TESTS_SUPPORT_INTERPRETER_H

#include "compiler/graph/ir.h"

/* The memory of each value: a separate block, or its place in the regions as assigned by the memory pass.
 * Memory is filled with garbage at first; state then receives its initial values. */
typedef struct test_machine {
    const firnc_graph *graph;
    uint64_t seed;
    void **data; /* indexed by value */
    uint8_t *regions[FIRNC_REGIONS];
} test_machine;

test_machine test_machine_apart(const firnc_graph *graph, uint64_t seed);
test_machine test_machine_planned(const firnc_graph *graph, uint64_t seed);

/* Runs the nodes of a phase. */
void test_machine_run(const test_machine *machine, uint8_t phase, uint64_t global_step, uint32_t micro_step);

/* Returns the value of that name; asserts that it exists. */
firnc_value test_value(const firnc_graph *graph, const char *name);

/* The number of elements of a value, and one of its elements as a float. */
size_t test_elements(const firnc_graph *graph, firnc_value value);
float test_element(const test_machine *machine, firnc_value value, size_t element);

/* Fills the graph's inputs, integers below `limit` and floats in [-1, 1), and sets the learning rate. Each value of
 * `draw` gives different inputs. */
void test_fill_inputs(const test_machine *machine, uint32_t limit, uint64_t draw);

#endif
