/* The built-in architectures. Each writes one model with the graph builder and nothing else. */
#ifndef FIRNC_BUILD_H
#define FIRNC_BUILD_H

#include "compiler/graph.h"
#include "compiler/recipe.h"

void firnc_build_gpt2(firnc_graph *graph, const firnc_recipe *recipe); /* gpt2.c */
void firnc_build_mlp(firnc_graph *graph, const firnc_recipe *recipe);  /* mlp.c */

#endif
