/* The outputs of a job. Two entry functions: the build pass finds the value of each output by its name, and the outputs
 * pass, behind autodiff, makes each of them float32 and lets it live from one step to the next, so that an
 * application can read it between steps. No other value may change here. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/passes/passes.h"

/* True if a layer is the one of that name or lies in it. */
static bool is_in_layer(const char *layer, const char *name) {
    const size_t length = strlen(name);
    return strncmp(layer, name, length) == 0 && (layer[length] == '\0' || layer[length] == '.');
}

/* The value that a name stands for: one that the graph names, else the result of the last op in the layer of that name;
 * FIRNC_NONE if there is neither. */
static firnc_value find(const firnc_graph *graph, const char *name) {
    firnc_value value = FIRNC_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (is_in_layer(graph->nodes[i].name, name))
            value = graph->nodes[i].outputs[0];
    for (uint32_t i = 0; i < graph->named_count; i++)
        if (strcmp(graph->named[i].name, name) == 0)
            value = graph->named[i].value;
    return value;
}

/* Every name that stands for a value: of the graph, of its layers and of the layers around them. NULL ends the list. */
static const char *const *known_names(const firnc_graph *graph) {
    const char **names = NULL;
    uint32_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < graph->named_count; i++) {
        names = firnc_grown(names, count, &capacity, sizeof *names);
        names[count++] = graph->named[i].name;
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (const char *end = graph->nodes[i].name; *end != '\0';) {
            end += 1 + strcspn(end + 1, ".");
            names = firnc_grown(names, count, &capacity, sizeof *names);
            names[count++] = firnc_format("%.*s", (int)(end - graph->nodes[i].name), graph->nodes[i].name);
        }
    names = firnc_grown(names, count, &capacity, sizeof *names);
    names[count] = NULL;
    return names;
}

bool firnc_find_outputs(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    graph->outputs = firnc_allocate((job->output_count + UINT64_C(1)) * sizeof *graph->outputs);
    graph->output_count = job->output_count;
    for (uint32_t i = 0; i < job->output_count; i++) {
        graph->outputs[i] = find(graph, job->outputs[i].name);
        if (graph->outputs[i] != FIRNC_NONE)
            continue;
        return firnc_job_fail(job, &job->outputs[i].place,
                              "%s is no output of the model %s; the nearest one is %s, and --dump-after build prints "
                              "the layers",
                              firnc_printable(job->outputs[i].name), graph->model,
                              firnc_nearest(job->outputs[i].name, known_names(graph)));
    }
    return true;
}

/* The value in float32: itself, or a cast of it. */
static firnc_value widened(firnc_graph *graph, firnc_value value) {
    if (!firn_type_is_half(graph->values[value].shape.type))
        return value;
    const uint8_t type = FIRN_FLOAT32;
    const firnc_node *producer = &graph->nodes[graph->values[value].producer];
    const uint32_t node =
        firnc_node_new(graph, FIRN_OP_cast, producer->phase, producer->name, &value, 1, NULL, NULL, &type);
    return graph->nodes[node].outputs[FIRN_CAST_OUT_Y];
}

bool firnc_add_outputs(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        graph->outputs[i] = widened(graph, graph->outputs[i]);
        graph->values[graph->outputs[i]].persistent = true;
    }
    return true;
}
