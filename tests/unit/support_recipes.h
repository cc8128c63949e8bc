/* Small, complete recipes for tests of the compiler's passes, made without a YAML file. */
#ifndef FIRN_TESTS_SUPPORT_RECIPES_H
#define FIRN_TESTS_SUPPORT_RECIPES_H

#include "compiler/base/files.h"
#include "compiler/models/gpt2.h"
#include "compiler/models/mlp.h"
#include "compiler/models/transformer.h"
#include "compiler/passes/passes.h"

/* Options for an input that is float32 in the data too, for graphs that a test builds itself. */
extern const firnc_input_options test_float32;

/* A job and the settings of one of two models: mlp if is_mlp, else gpt2. */
typedef struct test_recipe {
    firnc_job job;
    bool is_mlp;
    firnc_transformer gpt2;
    firnc_mlp mlp;
    firnc_elements elements; /* mlp only */
} test_recipe;

/* Two layers of 16, two heads, vocabulary 11, 2 windows of 8 tokens, tied output; AdamW, float32, training. */
test_recipe test_gpt2_recipe(void);

/* 6 inputs, layers of 5 and 4, 3 classes, 4 records; SGD, float32, training. */
test_recipe test_mlp_recipe(void);

/* Sets mixed precision with that half type and that global level. */
void test_make_mixed(test_recipe *recipe, firn_type half, int level);

/* Adds rotary positions to a GPT-2, in six of the eight elements of a head. */
void test_make_rotary(test_recipe *recipe);

/* The number of classes of the labels. */
uint32_t test_classes(const test_recipe *recipe);

/* Builds the graph of the recipe's model; no pass has run. */
firnc_graph *test_build(const test_recipe *recipe);

/* Makes a compilation of such a graph. */
firnc_compilation test_compilation(const test_recipe *recipe);

/* Runs the passes up to and including `last`; asserts that each succeeds. */
void test_run_passes(firnc_compilation *compilation, firnc_pass last);

/* Makes a compilation and runs its passes up to `last`. */
firnc_compilation test_compilation_through(const test_recipe *recipe, firnc_pass last);

/* Writes the plan of a compilation after all passes, unsigned and with its report. */
firnc_bytes test_seal(const firnc_compilation *compilation, const uint8_t public_key[64]);

/* Returns the node of that op in that layer; asserts that there is exactly one. */
const firnc_node *test_find_node(const firnc_graph *graph, uint16_t code, const char *layer);

#endif
