/* The built-in architectures. Each writes one model with the graph builder and nothing else. */
#ifndef FIRNC_BUILD_H
#define FIRNC_BUILD_H

#include "compiler/graph/graph.h"
#include "compiler/recipe/recipe.h"

void firnc_build_gpt2(firnc_graph *graph, const firnc_recipe *recipe); /* gpt2.c */
void firnc_build_mlp(firnc_graph *graph, const firnc_recipe *recipe);  /* mlp.c */

/* What both share (build.c): the activation that a recipe names; and the loss of classes, with what metrics read. */
firnc_value firnc_activate(firnc_graph *graph, firnc_activation kind, firnc_value x);
void firnc_classify(firnc_graph *graph, firnc_value logits, firnc_value labels, firnc_value weights_or_none,
                    firnc_cross_entropy_options options);

#endif
