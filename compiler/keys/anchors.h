/* Anchors, aliases and merge keys of YAML: values that a file writes once and uses in several places. Each use is a
 * copy, whose lines are those of the values themselves and whose paths are those of the place of use. Only tree.c and
 * anchors.c use this. */
#ifndef FIRNC_ANCHORS_H
#define FIRNC_ANCHORS_H

#include "compiler/keys/tree.h"

typedef struct firnc_anchor {
    const char *name;
    const firnc_tree *node;
} firnc_anchor;

/* The anchors of one file so far. Initialise it to {0}. */
typedef struct firnc_anchors {
    firnc_anchor *list;
    uint32_t count, capacity;
} firnc_anchors;

/* Gives a node a name. As in YAML, an alias means the last node of that name above it. */
void firnc_anchors_add(firnc_anchors *anchors, const char *name, const firnc_tree *node);

/* The node of an alias, or NULL. */
const firnc_tree *firnc_anchors_find(const firnc_anchors *anchors, const char *name);

/* The nodes of a value, itself included, up to `most` + 1. */
uint32_t firnc_tree_nodes(const firnc_tree *node, uint32_t most);

/* The levels of lists and mappings in a value; 0 for a scalar. */
uint32_t firnc_tree_levels(const firnc_tree *node);

/* A copy of a value without key and path. */
firnc_tree *firnc_tree_copy(const firnc_tree *node);

#endif
