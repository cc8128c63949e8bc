/* Interprets graphs for tests; see tests/unit/support_interpreter.h. */
#include "tests/unit/support_interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_test.h"
#include "tests/unit/support_workspace.h"

#define GARBAGE 0xa5

static size_t bytes_of(const firnc_value_info *value) {
    uint64_t bytes = 0;
    assert_true(firn_shape_bytes(&value->shape, &bytes));
    return (size_t)bytes;
}

size_t test_elements(const firnc_graph *graph, firnc_value value) {
    uint64_t elements = 0;
    assert_true(firn_shape_elements(&graph->values[value].shape, &elements));
    return (size_t)elements;
}

static float initial_value(const firnc_value_info *value, const firn_rng *rng, size_t element) {
    float x = value->init.a;
    switch (value->init.rule) {
    case FIRNC_INIT_NORMAL:
        return firn_fma(value->init.b, firn_random_normal(rng, element), value->init.a);
    case FIRNC_INIT_UNIFORM:
        return firn_fma(value->init.b - value->init.a, firn_random_uniform(rng, element), value->init.a);
    case FIRNC_INIT_TRUNCATED_NORMAL:
        firn_random_truncated_many(&x, rng, element, 1,
                                   (firn_truncation){value->init.a, value->init.b, value->init.low, value->init.high});
        return x;
    case FIRNC_INIT_CONSTANT:
        break;
    }
    return x;
}

static void initialise(const test_machine *machine) {
    for (firnc_value i = 0; i < machine->graph->value_count; i++) {
        const firnc_value_info *value = &machine->graph->values[i];
        if (value->elements != NULL && machine->data[i] != NULL)
            memcpy(machine->data[i], value->elements, bytes_of(value));
        if (!firnc_is_state_value(value) && !firnc_is_frozen(value->role))
            continue;
        assert_true(value->initialised);
        firn_rng rng = {.seed = machine->seed, .rng_id = value->rng_id};
        if (value->shape.type == FIRN_INT64)
            memset(machine->data[i], 0, bytes_of(value));
        else
            for (size_t j = 0; j < test_elements(machine->graph, i); j++)
                firn_store(machine->data[i], value->shape.type, j, initial_value(value, &rng, j));
    }
}

static uint8_t *garbage(size_t bytes) {
    uint8_t *memory = firnc_allocate(bytes);
    memset(memory, GARBAGE, bytes);
    return memory;
}

/* A view lies in its base. */
static void place_views(const test_machine *machine) {
    for (firnc_value i = 0; i < machine->graph->value_count; i++) {
        const firnc_value_info *value = &machine->graph->values[i];
        if (value->base != FIRNC_NONE)
            machine->data[i] = (uint8_t *)machine->data[value->base] + value->offset;
    }
}

test_machine test_machine_apart(const firnc_graph *graph, uint64_t seed) {
    test_machine machine = {.graph = graph, .seed = seed, .data = firnc_allocate(graph->value_count * sizeof(void *))};
    for (firnc_value i = 0; i < graph->value_count; i++)
        machine.data[i] = garbage(bytes_of(&graph->values[i]));
    place_views(&machine);
    initialise(&machine);
    return machine;
}

test_machine test_machine_planned(const firnc_graph *graph, uint64_t seed) {
    test_machine machine = {.graph = graph, .seed = seed, .data = firnc_allocate(graph->value_count * sizeof(void *))};
    for (uint8_t i = 0; i < FIRNC_REGIONS; i++)
        machine.regions[i] = garbage((size_t)graph->region_bytes[i]);
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        if (value->first == FIRNC_NONE)
            continue; /* no node uses this value */
        assert_true(value->offset + bytes_of(value) <= graph->region_bytes[value->region]);
        machine.data[i] = machine.regions[value->region] + value->offset;
    }
    place_views(&machine);
    initialise(&machine);
    return machine;
}

static firn_tensor tensor(const test_machine *machine, firnc_value value) {
    const firn_shape *shape = &machine->graph->values[value].shape;
    firn_tensor result = {.data = machine->data[value],
                          .elements = test_elements(machine->graph, value),
                          .dims = shape->dims,
                          .type = shape->type,
                          .rank = shape->rank};
    return result;
}

void test_machine_run(const test_machine *machine, uint8_t phase, uint64_t global_step, uint32_t micro_step) {
    const firnc_graph *graph = machine->graph;
    const firn_moment moment = {global_step, micro_step};
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        if (node->phase != phase)
            continue;
        test_call call = {.input_count = node->input_count,
                          .output_count = node->output_count,
                          .seed = machine->seed,
                          .moment = &moment};
        for (uint8_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != FIRNC_NONE)
                call.inputs[j] = tensor(machine, node->inputs[j]);
        for (uint8_t j = 0; j < node->output_count; j++)
            call.outputs[j] = tensor(machine, node->outputs[j]);
        memcpy(call.integers, node->integers, sizeof call.integers);
        memcpy(call.reals, node->reals, sizeof call.reals);
        memcpy(call.reductions, node->reductions, sizeof call.reductions);
        firn_kernel kernel = support_kernel(firn_kernel_set_choose(NULL), node->code, &call);
        assert_non_null(kernel);
        test_call_run(kernel, &call);
    }
}

firnc_value test_value(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i].name, name) == 0)
            return i;
    fail_msg("no value is called %s", name);
    return FIRNC_NONE;
}

float test_element(const test_machine *machine, firnc_value value, size_t element) {
    return firn_load(machine->data[value], machine->graph->values[value].shape.type, element);
}

void test_fill_inputs(const test_machine *machine, uint32_t limit, uint64_t draw) {
    const firnc_graph *graph = machine->graph;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        const firnc_value_info *value = &graph->values[i];
        if (value->role != FIRNC_ROLE_INPUT || value->base != FIRNC_NONE || machine->data[i] == NULL)
            continue;
        firn_rng rng = {.seed = 99, .rng_id = i, .global_step = draw};
        for (size_t j = 0; j < test_elements(graph, i); j++) {
            if (value->shape.type == FIRN_INT32)
                ((int32_t *)machine->data[i])[j] = (int32_t)(firn_random_bits(&rng, j) % limit);
            else
                ((float *)machine->data[i])[j] = 2 * firn_random_uniform(&rng, j) - 1;
        }
    }
    if (graph->schedules != NULL && graph->schedules[0] != FIRNC_NONE)
        *(float *)machine->data[graph->schedules[0]] = 0.125f;
}
