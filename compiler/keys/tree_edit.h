/* Moves parts of a tree, for recipes in an older layout. A node that is moved keeps its place in the file, so that
 * messages name what the author wrote. */
#ifndef FIRNC_TREE_EDIT_H
#define FIRNC_TREE_EDIT_H

#include "compiler/keys/tree.h"

/* A new empty list or mapping whose messages have the place of another node. */
firnc_tree *firnc_tree_make(firnc_tree_kind kind, const firnc_tree *place);

/* Takes the child with this key out of a mapping, also if its value is null. NULL if there is none, or no mapping. */
firnc_tree *firnc_tree_take(firnc_tree *mapping, const char *key);

/* Puts a node below a mapping, at a path such as "init.loop.max_steps"; what is missing on the way becomes a mapping
 * with the place of the node. Returns the node, or what is in its way: a node that is there already, or one on the path
 * that is no mapping. */
firnc_tree *firnc_tree_put(firnc_tree *mapping, const char *path, firnc_tree *node);

/* Appends an entry to a list. */
void firnc_tree_push(firnc_tree *list, firnc_tree *entry);

/* Whether two values are written alike; the order of keys does not matter. */
bool firnc_tree_same(const firnc_tree *a, const firnc_tree *b);

#endif
