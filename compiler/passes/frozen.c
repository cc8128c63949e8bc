/* The freeze pass. In: the graph with its shapes, and what the job says of fine-tuning. Out: every parameter that is
 * not trained is a frozen weight: it lies in the plan, and has neither a place in the state nor a gradient nor state of
 * the optimizer. An evaluation freezes the same ones, since they are part of the model that it judges.
 *
 * A weight that only products read may be stored in a half type. In mixed precision the products read that type, so no
 * bit of the run changes; where they compute in float32, autocast widens the weight, which has been rounded. */
#include <string.h>

#include "compiler/passes/passes.h"

/* Patterns of the job, each as it is and by first names. */
typedef struct chosen {
    const firnc_job_pattern *patterns;
    const char **first_names;
    uint32_t count;
} chosen;

static chosen choose(const firnc_compilation *compilation, const firnc_job_pattern *patterns, uint32_t count) {
    const chosen c = {patterns, firnc_allocate((count + UINT64_C(1)) * sizeof *c.first_names), count};
    for (uint32_t i = 0; i < count; i++)
        c.first_names[i] = firnc_first_name(compilation, patterns[i].pattern);
    return c;
}

static bool matches_any(const chosen *c, const char *name) {
    for (uint32_t i = 0; i < c->count; i++)
        if (firnc_name_matches(c->first_names[i], name))
            return true;
    return false;
}

static bool is_bias(const char *name) {
    const char *last = strrchr(name, '.');
    return strcmp(last == NULL ? name : last + 1, "bias") == 0;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* The length of the part of a parameter's name that names its layer: up to its first number ("transformer.h.3"), or
 * without its last word ("conv1"). */
static size_t layer_length(const char *name, bool *numbered) {
    const char *end = strchr(name, '.'), *word = name, *last = name + strlen(name);
    for (; end != NULL; end = strchr(word, '.')) {
        *numbered = end > word && strspn(word, "0123456789") == (size_t)(end - word);
        if (*numbered)
            return (size_t)(end - name);
        last = end;
        word = end + 1;
    }
    *numbered = false;
    return (size_t)(last - name);
}

/* The layers of a model in the order in which the ops first read their parameters. If some are numbered, only those
 * count, and the others belong to the one before them. */
typedef struct layers {
    uint32_t *of_value; /* for each parameter: how many layers that count had begun when it was first read, or
                         * FIRNC_NONE */
    uint32_t count;
} layers;

static bool has_numbers(const firnc_graph *graph) {
    bool numbered = false;
    for (firnc_value i = 0; i < graph->value_count && !numbered; i++)
        if (firnc_is_parameter(graph->values[i].role))
            (void)layer_length(graph->values[i].name, &numbered);
    return numbered;
}

/* The value that is first read of the layer of a parameter, or FIRNC_NONE if it is this one. */
static firnc_value known_layer(const firnc_graph *graph, const layers *l, firnc_value parameter, size_t length) {
    bool numbered;
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (l->of_value[i] != FIRNC_NONE && layer_length(graph->values[i].name, &numbered) == length &&
            strncmp(graph->values[i].name, graph->values[parameter].name, length) == 0)
            return i;
    return FIRNC_NONE;
}

static void meet(const firnc_graph *graph, layers *l, firnc_value value, bool only_numbered) {
    if (value == FIRNC_NONE || !firnc_is_parameter(graph->values[value].role) || graph->values[value].adapter ||
        l->of_value[value] != FIRNC_NONE)
        return;
    bool numbered;
    const size_t length = layer_length(graph->values[value].name, &numbered);
    const firnc_value known = known_layer(graph, l, value, length);
    if (known == FIRNC_NONE && (numbered || !only_numbered))
        l->count++;
    l->of_value[value] = known != FIRNC_NONE ? l->of_value[known] : l->count;
}

static layers find_layers(const firnc_graph *graph) {
    layers l = {.of_value = firnc_allocate(graph->value_count * sizeof *l.of_value)};
    const bool only_numbered = has_numbers(graph);
    for (firnc_value i = 0; i < graph->value_count; i++)
        l.of_value[i] = FIRNC_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint8_t j = 0; j < graph->nodes[i].input_count; j++)
            meet(graph, &l, graph->nodes[i].inputs[j], only_numbered);
    return l;
}

/* --- what is trained ---------------------------------------------------------------------------------------------- */

static bool has_form(const firnc_fine_tuning *form) {
    return form->bias_only || form->last_layers > 0 || form->layer_count > 0 || form->trained_count > 0;
}

static bool is_of_last(const firnc_fine_tuning *form, const layers *l, firnc_value value) {
    return form->last_layers > 0 && l->of_value[value] != FIRNC_NONE &&
           l->of_value[value] + form->last_layers > l->count;
}

static bool is_trained(const firnc_compilation *compilation, const layers *l, const chosen *frozen,
                       const chosen *trained, firnc_value value) {
    const firnc_fine_tuning *form = &compilation->job->fine_tuning;
    const firnc_value_info *info = &compilation->graph->values[value];
    const bool by_form = !has_form(form) || info->adapter || (form->bias_only && is_bias(info->name)) ||
                         is_of_last(form, l, value) || matches_any(trained, info->name);
    return by_form && !matches_any(frozen, info->name);
}

/* Refuses a pattern that no parameter matches. */
static bool check_patterns(const firnc_compilation *compilation, const chosen *c) {
    const firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < c->count; i++) {
        bool found = false;
        for (firnc_value j = 0; j < graph->value_count && !found; j++)
            found = firnc_is_parameter(graph->values[j].role) &&
                    firnc_name_matches(c->first_names[i], graph->values[j].name);
        if (!found)
            return firnc_job_fail(compilation->job, &c->patterns[i].place, "no parameter matches \"%s\"; %s",
                                  c->patterns[i].pattern, firnc_unmatched_text(graph, c->patterns[i].pattern, false));
    }
    return true;
}

/* Refuses forms that mean no parameter. */
static bool check_forms(const firnc_compilation *compilation, const layers *l) {
    const firnc_job *job = compilation->job;
    const firnc_graph *graph = compilation->graph;
    const firnc_fine_tuning *form = &job->fine_tuning;
    bool biases = !form->bias_only;
    for (firnc_value i = 0; i < graph->value_count && !biases; i++)
        biases = firnc_is_parameter(graph->values[i].role) && is_bias(graph->values[i].name);
    if (!biases)
        return firnc_job_fail(job, &form->place,
                              "bias_only: the model has no parameter whose name ends in .bias; remove bias_only");
    if (form->last_layers > l->count)
        return firnc_job_fail(job, &form->place, "last_layers: the model has %u layers; write at most that many",
                              (unsigned)l->count);
    return true;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

/* Whether every op that reads a value is a product in the half type, where there is mixed precision. */
static bool only_products_read(const firnc_graph *graph, firnc_value value) {
    bool read = false;
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint8_t j = 0; j < graph->nodes[i].input_count; j++) {
            if (graph->nodes[i].inputs[j] != value)
                continue;
            if (firn_op_find(graph->nodes[i].code)->autocast != FIRN_AUTOCAST_half)
                return false;
            read = true;
        }
    return read;
}

bool firnc_freeze(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    const firnc_job *job = compilation->job;
    if (job->frozen_count == 0 && !has_form(&job->fine_tuning))
        return true;
    const layers l = job->fine_tuning.last_layers > 0 ? find_layers(graph) : (layers){0};
    const chosen frozen = choose(compilation, job->frozen, job->frozen_count),
                 trained = choose(compilation, job->fine_tuning.trained, job->fine_tuning.trained_count);
    if (!check_forms(compilation, &l) || !check_patterns(compilation, &frozen) ||
        !check_patterns(compilation, &trained))
        return false;
    bool any = false;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        firnc_value_info *value = &graph->values[i];
        if (!firnc_is_parameter(value->role))
            continue;
        if (is_trained(compilation, &l, &frozen, &trained, i)) {
            any = true;
            continue;
        }
        value->role = FIRNC_ROLE_FROZEN;
        if (job->fine_tuning.frozen_type != FIRN_FLOAT32 && only_products_read(graph, i))
            value->shape.type = (uint8_t)job->fine_tuning.frozen_type;
    }
    return any || firnc_job_fail(job, job->frozen_count > 0 ? &job->frozen[0].place : &job->fine_tuning.place,
                                 "every parameter is frozen, and nothing would be trained; leave some out");
}
