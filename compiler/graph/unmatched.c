/* The remedy in messages about a pattern that matches no layer, or no weight. */
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/graph/ir.h"

/* The names of the layers, or of the weights, of a graph; NULL ends the list. */
static const char *const *names_of(const firnc_graph *graph, bool layers) {
    const uint32_t most = layers ? graph->node_count : graph->value_count;
    const char **names = firnc_allocate((most + UINT64_C(1)) * sizeof *names);
    uint32_t count = 0;
    for (uint32_t i = 0; i < most; i++)
        if (layers && graph->nodes[i].name[0] != '\0')
            names[count++] = graph->nodes[i].name;
        else if (!layers && firnc_is_weight(graph->values[i].role))
            names[count++] = graph->values[i].name;
    return names;
}

const char *firnc_unmatched_text(const firnc_graph *graph, const char *pattern, bool layers) {
    return firnc_unmatched_among(names_of(graph, layers), pattern, layers);
}

const char *firnc_unmatched_among(const char *const *names, const char *pattern, bool layers) {
    const char *all = layers ? "firnc compile --dump-after build prints the layers"
                             : "firnc compile --dump-after build prints the parameters";
    for (const char *const *name = names; strpbrk(pattern, "*?") == NULL && *name != NULL; name++) {
        const char *at = strstr(*name, pattern);
        if (at != NULL)
            return firnc_format("a pattern stands for a whole name; write \"%s%s%s\" for names such as %s",
                                at == *name ? "" : "*", pattern, at[strlen(pattern)] == '\0' ? "" : "*", *name);
    }
    const char *nearest = firnc_nearest(pattern, names);
    return nearest == NULL ? all : firnc_format("the nearest one is %s, and %s", nearest, all);
}
