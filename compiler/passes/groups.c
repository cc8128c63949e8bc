/* Part of the training pass: assigns parameters to groups. In: the job's optimizer settings and groups, and the
 * parameters. Out: the groups of the graph: first the parameters in no group of the job, then the job's groups in their
 * order. Each is split in two by weight decay, from which biases and norms are exempt unless the group gives its
 * own. */
#include "compiler/passes/passes.h"

#include <string.h>

static bool is_weight_named(const firnc_graph *graph, const char *name) {
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (firnc_is_weight(graph->values[i].role) && strcmp(graph->values[i].name, name) == 0)
            return true;
    return false;
}

const char *firnc_first_name(const firnc_compilation *compilation, const char *pattern) {
    const firnc_weight_map *map = &compilation->job->model_weight_map;
    for (uint32_t i = 0; i < map->count; i++)
        if (map->rules[i].kind == FIRNC_WEIGHT_COPY && strcmp(map->rules[i].tensors[0], pattern) == 0)
            return is_weight_named(compilation->graph, pattern) ? pattern : map->rules[i].parameter;
    return pattern;
}

/* For each parameter the last group of the job that matches it, counted from 1; 0 if none does. */
static uint32_t *entries_of(const firnc_compilation *compilation, const firnc_value *parameters, uint32_t count) {
    const firnc_job *job = compilation->job;
    uint32_t *entries = firnc_allocate(count * sizeof *entries);
    for (uint32_t i = 0; i < job->group_count; i++)
        for (uint32_t j = 0; j < job->groups[i].pattern_count; j++) {
            const char *pattern = firnc_first_name(compilation, job->groups[i].patterns[j]);
            for (uint32_t k = 0; k < count; k++)
                if (firnc_name_matches(pattern, compilation->graph->values[parameters[k]].name))
                    entries[k] = i + 1;
        }
    return entries;
}

/* Whether a pattern matches a parameter of the model, be it trained or frozen. */
static bool is_of_model(const firnc_compilation *compilation, const char *pattern) {
    const firnc_graph *graph = compilation->graph;
    const char *first = firnc_first_name(compilation, pattern);
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (firnc_is_weight(graph->values[i].role) && firnc_name_matches(first, graph->values[i].name))
            return true;
    return false;
}

/* Refuses a pattern that no parameter matches: it is most likely a typing error, and other settings than intended would
 * apply. */
static bool check_patterns(const firnc_compilation *compilation) {
    const firnc_job *job = compilation->job;
    for (uint32_t i = 0; i < job->group_count; i++)
        for (uint32_t j = 0; j < job->groups[i].pattern_count; j++) {
            const firnc_parameter_group *group = &job->groups[i];
            if (!is_of_model(compilation, group->patterns[j]))
                return firnc_job_fail(job, &group->place, "no parameter matches \"%s\"; %s", group->patterns[j],
                                      firnc_unmatched_text(compilation->graph, group->patterns[j], false));
        }
    return true;
}

/* Appends a group with the parameters of an entry (as entries_of counts) to which weight decay does or does not apply;
 * appends nothing if there are none. */
static void add_group(const firnc_compilation *compilation, const firnc_value *parameters, const uint32_t *entries,
                      uint32_t count, uint32_t entry, bool decay) {
    const firnc_job *job = compilation->job;
    firnc_graph *graph = compilation->graph;
    const firnc_parameter_group *source = entry == 0 ? NULL : &job->groups[entry - 1];
    bool ruled = source == NULL || !source->decay_given;
    firnc_group group = {.source = source,
                         .settings = source == NULL ? job->optimizer : source->settings,
                         .parameters = firnc_allocate(count * sizeof *group.parameters),
                         .learning_rate = FIRNC_NONE,
                         .factors = FIRNC_NONE,
                         .beta1_power = FIRNC_NONE,
                         .beta2_power = FIRNC_NONE,
                         .rate_schedule = job->schedule.rate_of[entry],
                         .decay_schedule = decay ? job->schedule.decay_of[entry] : FIRNC_NONE};
    for (uint32_t i = 0; i < count; i++) {
        firnc_value_info *value = &graph->values[parameters[i]];
        if (entries[i] != entry || (ruled ? value->decay : true) != decay)
            continue;
        value->group = graph->group_count;
        group.parameters[group.parameter_count++] = parameters[i];
    }
    if (group.parameter_count == 0)
        return;
    group.name = source == NULL ? "decay" : source->name;
    if (!decay) {
        group.name = source == NULL ? "no_decay" : firnc_format("%s.no_decay", source->name);
        group.settings.weight_decay = 0;
    }
    if (group.decay_schedule != FIRNC_NONE)
        group.settings.weight_decay = 0;
    graph->groups[graph->group_count++] = group;
}

bool firnc_group_parameters(const firnc_compilation *compilation, const firnc_value *parameters, uint32_t count) {
    const firnc_job *job = compilation->job;
    if (!check_patterns(compilation))
        return false;
    compilation->graph->groups = firnc_allocate(UINT64_C(2) * (job->group_count + 1) * sizeof(firnc_group));
    const uint32_t *entries = entries_of(compilation, parameters, count);
    for (uint32_t entry = 0; entry <= job->group_count; entry++) {
        add_group(compilation, parameters, entries, count, entry, true);
        add_group(compilation, parameters, entries, count, entry, false);
    }
    return true;
}
