/* The first pass: the architecture that the recipe names, written down with the graph builder. Each architecture is one
 * file; a new one is an entry of the table below. */
#include "compiler/build.h"

#include "compiler/ir.h"

static const struct {
    const char *model;
    void (*build)(firnc_graph *graph, const firnc_recipe *recipe);
} architectures[] = {
    [FIRNC_GPT2] = {"gpt2", firnc_build_gpt2},
    [FIRNC_MLP] = {"mlp", firnc_build_mlp},
};

bool firnc_build(firnc_compilation *compilation) {
    const firnc_recipe *recipe = compilation->recipe;
    firnc_graph *graph = firnc_graph_create(architectures[recipe->architecture].model);
    graph->eval = recipe->mode == FIRNC_EVAL;
    compilation->graph = graph;
    architectures[recipe->architecture].build(graph, recipe);
    if (graph->scopes != NULL || graph->next_annotated)
        return firnc_fail(compilation, "the architecture %s leaves a scope open; this is a bug of firnc", graph->model);
    return true;
}
