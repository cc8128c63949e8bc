/* Runs the nodes of a compiled graph with the portable kernels, without a plan: for tests of the compiler. */
#ifndef FIRN_TESTS_SUPPORT_INTERPRETER_H
#define FIRN_TESTS_SUPPORT_INTERPRETER_H

#include "compiler/graph/ir.h"

/* Where each value lies: apart from all others, or at its place in the state and arena of the memory pass. Memory
 * begins as garbage; state gets its initial values. */
typedef struct test_machine {
    const firnc_graph *graph;
    uint64_t seed;
    void **data; /* of each value */
    uint8_t *state, *arena;
} test_machine;

test_machine test_machine_apart(const firnc_graph *graph, uint64_t seed);
test_machine test_machine_planned(const firnc_graph *graph, uint64_t seed);

/* Runs the nodes of a phase. */
void test_machine_run(const test_machine *machine, uint8_t phase, uint64_t global_step, uint32_t micro_step);

/* The value of that name; asserts that there is one. */
firnc_value test_value(const firnc_graph *graph, const char *name);

/* Elements of a value, and one of them as a float. */
size_t test_elements(const firnc_graph *graph, firnc_value value);
float test_element(const test_machine *machine, firnc_value value, size_t element);

/* Fills the graph's inputs: integers below `limit`, floats in [-1, 1); sets the learning rate. draw makes them differ.
 */
void test_fill_inputs(const test_machine *machine, uint32_t limit, uint64_t draw);

#endif
