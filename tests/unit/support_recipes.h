/* Small recipes for tests of the compiler's passes: complete, without a YAML file. */
#ifndef FIRN_TESTS_SUPPORT_RECIPES_H
#define FIRN_TESTS_SUPPORT_RECIPES_H

#include "compiler/graph/ir.h"

/* Two layers of 16, two heads, vocabulary 11, 2 windows of 8 tokens, tied output; AdamW, float32, training. */
firnc_recipe test_gpt2_recipe(void);

/* 6 inputs, layers of 5 and 4, 3 classes, 4 records; SGD, float32, training. */
firnc_recipe test_mlp_recipe(void);

/* Mixed precision in that half type, at that global level. */
void test_make_mixed(firnc_recipe *recipe, firn_type half, int level);

/* Rotary positions in a GPT-2, in six of the eight elements of a head. */
void test_make_rotary(firnc_recipe *recipe);

/* A compilation for the portable target. */
firnc_compilation test_compilation(const firnc_recipe *recipe);

/* Runs passes up to and including the one given; asserts that each succeeds. */
void test_run_passes(firnc_compilation *compilation, firnc_pass last);

/* The node of that op in that layer; asserts that there is one and that it is the only one. */
const firnc_node *test_find_node(const firnc_graph *graph, uint16_t code, const char *layer);

#endif
