/* Small recipes for tests of the compiler's passes: complete, without a YAML file. */
#ifndef FIRN_TESTS_SUPPORT_RECIPES_H
#define FIRN_TESTS_SUPPORT_RECIPES_H

#include "compiler/models/gpt2.h"
#include "compiler/models/mlp.h"
#include "compiler/passes/passes.h"

/* Elements that are float32 in the data too, for graphs of a test's own. */
extern const firnc_input_options test_float32;

/* A job, and the settings of one of two models: gpt2 is built unless is_mlp. */
typedef struct test_recipe {
    firnc_job job;
    bool is_mlp;
    firnc_gpt2 gpt2;
    firnc_mlp mlp;
    firnc_elements elements; /* mlp */
} test_recipe;

/* Two layers of 16, two heads, vocabulary 11, 2 windows of 8 tokens, tied output; AdamW, float32, training. */
test_recipe test_gpt2_recipe(void);

/* 6 inputs, layers of 5 and 4, 3 classes, 4 records; SGD, float32, training. */
test_recipe test_mlp_recipe(void);

/* Mixed precision in that half type, at that global level. */
void test_make_mixed(test_recipe *recipe, firn_type half, int level);

/* Rotary positions in a GPT-2, in six of the eight elements of a head. */
void test_make_rotary(test_recipe *recipe);

/* The classes that its labels name. */
uint32_t test_classes(const test_recipe *recipe);

/* A graph of the recipe's model, before any pass. */
firnc_graph *test_build(const test_recipe *recipe);

/* A compilation of such a graph. */
firnc_compilation test_compilation(const test_recipe *recipe);

/* Runs passes up to and including the one given; asserts that each succeeds. */
void test_run_passes(firnc_compilation *compilation, firnc_pass last);

/* The node of that op in that layer; asserts that there is one and that it is the only one. */
const firnc_node *test_find_node(const firnc_graph *graph, uint16_t code, const char *layer);

#endif
