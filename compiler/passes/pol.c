/* The POL pass. In: nodes with the annotations of the builder, and the job's global level and name patterns. Out: the
 * forward and backward level, and their origin, of every node with a reduction, of the norms and of the rotary
 * embedding.
 *
 * Exactly one annotation applies to a node: that of its call, else of its innermost scope, else of the last of the
 * job's patterns that matches its layer, else the architecture's rule. It replaces all others entirely: a direction
 * that it leaves unset has the global level, never that of the next annotation. */
#include "compiler/passes/passes.h"

static const firnc_pol_pattern *last_match(const firnc_precision *precision, const char *layer) {
    for (uint32_t i = precision->pattern_count; i > 0; i--)
        if (firnc_name_matches(precision->patterns[i - 1].pattern, layer))
            return &precision->patterns[i - 1];
    return NULL;
}

static void resolve(firnc_node *node, const firnc_precision *precision) {
    node->level = node->backward_level = (uint8_t)precision->level;
    node->origin = node->backward_origin = FIRNC_ORIGIN_GLOBAL;

    bool annotated = node->annotated;
    firnc_pol pol = node->pol;
    uint8_t origin = node->pol_origin;
    if (!annotated || origin == FIRNC_ORIGIN_RULE) {
        const firnc_pol_pattern *pattern = last_match(precision, node->name);
        if (pattern != NULL) {
            annotated = true;
            pol = pattern->pol;
            origin = FIRNC_ORIGIN_PATTERN;
        }
    }
    if (!annotated)
        return;
    if (pol.enable_fwd && pol.level != FIRNC_UNSET) {
        node->level = (uint8_t)pol.level;
        node->origin = origin;
    }
    int backward = pol.bwd_level != FIRNC_UNSET ? pol.bwd_level : pol.level;
    if (pol.enable_bwd && backward != FIRNC_UNSET) {
        node->backward_level = (uint8_t)backward;
        node->backward_origin = origin;
    }
}

/* Refuses a pattern that no layer matches: it is most likely a typing error, and the plan would have another precision
 * than intended. */
static bool check_patterns(const firnc_compilation *compilation) {
    const firnc_precision *precision = &compilation->job->precision;
    for (uint32_t i = 0; i < precision->pattern_count; i++) {
        const firnc_pol_pattern *pattern = &precision->patterns[i];
        if (!firnc_layer_exists(compilation->graph, pattern->pattern))
            return firnc_job_fail(compilation->job, &pattern->place, "no layer matches \"%s\"; %s", pattern->pattern,
                                  firnc_unmatched_text(compilation->graph, pattern->pattern, true));
    }
    return true;
}

bool firnc_resolve_pol(firnc_compilation *compilation) {
    firnc_graph *graph = compilation->graph;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (firn_op_find(graph->nodes[i].code)->pol != FIRN_POL_none)
            resolve(&graph->nodes[i], &compilation->job->precision);
    return check_patterns(compilation);
}
