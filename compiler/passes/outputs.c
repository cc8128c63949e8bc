/* The outputs of a job. Two entry functions: the build pass finds the value of each output by its name, and the outputs
 * pass, behind autodiff, checks that each has a row for each sample, makes it float32 and lets it live from one step to
 * the next, so that an application can read it between steps. No other value may change here. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/base/words.h"
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

/* A list of names, each once. */
typedef struct name_list {
    const char **names;
    uint32_t count, capacity;
} name_list;

static void add_name(name_list *list, const char *name) {
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return;
    list->names = firnc_grown(list->names, list->count, &list->capacity, sizeof *list->names);
    list->names[list->count++] = name;
}

/* Every name that stands for a value: of the graph, of its layers and of the layers around them. NULL ends the list. */
static const char *const *known_names(const firnc_graph *graph) {
    name_list list = {0};
    for (uint32_t i = 0; i < graph->named_count; i++)
        add_name(&list, graph->named[i].name);
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (const char *end = graph->nodes[i].name; *end != '\0';) {
            end += 1 + strcspn(end + 1, ".");
            add_name(&list, firnc_format("%.*s", (int)(end - graph->nodes[i].name), graph->nodes[i].name));
        }
    list.names = firnc_grown(list.names, list.count, &list.capacity, sizeof *list.names);
    list.names[list.count] = NULL;
    return list.names;
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
        return firnc_job_fail(
            job, &job->outputs[i].place,
            "%s is no output of the model %s; %s, and firnc compile --dump-after build prints the layers",
            firnc_printable(job->outputs[i].name), graph->model,
            firnc_nearest_text(job->outputs[i].name, known_names(graph)));
    }
    return true;
}

/* Marks the values that are computed from an input. Every node follows those whose results it reads. */
static const bool *computed_from_data(const firnc_graph *graph) {
    bool *from_data = firnc_allocate(graph->value_count * sizeof *from_data);
    for (firnc_value i = 0; i < graph->value_count; i++)
        from_data[i] = graph->values[i].source != NULL;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const firnc_node *node = &graph->nodes[i];
        bool any = false;
        for (uint8_t j = 0; j < node->input_count; j++)
            any = any || (node->inputs[j] != FIRNC_NONE && from_data[node->inputs[j]]);
        for (uint8_t j = 0; j < node->output_count; j++)
            from_data[node->outputs[j]] = from_data[node->outputs[j]] || any;
    }
    return from_data;
}

/* An application takes the first extent of an output for the number of samples. A table of positions may have that
 * extent by chance, but is the same for all data. */
static bool have_rows_of_samples(const firnc_compilation *compilation) {
    const firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    const bool *from_data = computed_from_data(graph);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const firn_shape *shape = &graph->values[graph->outputs[i]].shape;
        if (shape->dims[0] != job->data.micro_batch_size || !from_data[graph->outputs[i]])
            return firnc_job_fail(job, &job->outputs[i].place,
                                  "%s is %s, and an output has a row for each of the %u samples of a batch, computed "
                                  "from the data; name a layer whose first extent is the batch",
                                  firnc_printable(job->outputs[i].name), firnc_shape_text(shape),
                                  (unsigned)job->data.micro_batch_size);
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
    if (!have_rows_of_samples(compilation))
        return false;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        graph->outputs[i] = widened(graph, graph->outputs[i]);
        graph->values[graph->outputs[i]].persistent = true;
    }
    return true;
}
