/* Part of the autodiff pass: marks the parameters that the job freezes. They stay in the state with their values, and
 * checkpoints and evaluations know them as before; they only have no gradient, no update and no state of the optimizer.
 * What nothing else needs of the backward pass is never added. */
#include "compiler/passes/passes.h"

static bool freeze(firnc_graph *graph, const char *pattern) {
    bool found = false;
    for (firnc_value i = 0; i < graph->value_count; i++) {
        firnc_value_info *value = &graph->values[i];
        if (value->role != FIRNC_ROLE_PARAMETER || !firnc_name_matches(pattern, value->name))
            continue;
        value->frozen = true;
        found = true;
    }
    return found;
}

bool firnc_mark_frozen(firnc_compilation *compilation) {
    const firnc_job *job = compilation->job;
    firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < job->frozen_count; i++)
        if (!freeze(graph, job->frozen[i].pattern))
            return firnc_job_fail(job, &job->frozen[i].place,
                                  "no parameter matches \"%s\"; --dump-after build prints the parameters",
                                  job->frozen[i].pattern);
    for (firnc_value i = 0; i < graph->value_count; i++)
        if (firnc_is_trained(&graph->values[i]))
            return true;
    return firnc_job_fail(job, job->frozen_count > 0 ? &job->frozen[0].place : NULL,
                          "every parameter is frozen, and nothing would be trained; leave some out");
}
