/* Initial values as recipes of the model zoo give them: a name, or a mapping with a name and numbers. */
#ifndef FIRNC_INITIALIZERS_H
#define FIRNC_INITIALIZERS_H

#include "compiler/graph/graph.h"
#include "compiler/keys/tree.h"

typedef struct firnc_initializer {
    bool given;
    firnc_init init;
} firnc_initializer;

/* Reads the key of a mapping, if it is there. False after one message. */
bool firnc_initializer_read(const firnc_tree *mapping, const char *key, firnc_initializer *initializer);

/* The initial values that the recipe gave, else normal ones with this deviation. */
firnc_init firnc_initializer_or_normal(const firnc_initializer *initializer, float deviation);

#endif
