/* A YAML file as a tree of scalars, lists and mappings, each with its place. tree.c and tree_write.c are the only
 * files that know YAML; the first refuses what a recipe has no use for: aliases, tags, several documents, duplicate
 * keys. */
#ifndef FIRNC_TREE_H
#define FIRNC_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"

typedef enum firnc_tree_kind { FIRNC_SCALAR, FIRNC_LIST, FIRNC_MAPPING } firnc_tree_kind;

typedef struct firnc_tree {
    firnc_tree_kind kind;
    const char *file;
    uint32_t line;    /* 0: it came from --set */
    const char *path; /* "trainer.init.seed"; "" for the root */
    const char *key;  /* of a mapping's child, else NULL */
    const char *text; /* of a scalar */
    bool plain;       /* a scalar without quotes: only such a one can be a number, true, false or null */
    struct firnc_tree *first, *next;
} firnc_tree;

/* Reads a file whose root is a mapping. NULL after one line on stderr. */
firnc_tree *firnc_tree_read(const char *file);

/* Puts "a.b.0.c=value" into the tree, value being YAML; mappings that are missing on the way are made, entries of lists
 * must be there. False after one line on stderr. */
bool firnc_tree_set(firnc_tree *root, const char *setting);

/* Writes a tree as YAML behind a head of comment lines (tree_write.c). False after one line on stderr. */
bool firnc_tree_write(const firnc_tree *root, const char *head, const char *file);

/* Child of a mapping, or NULL; also NULL for a mapping that is NULL and for a child that says null. */
const firnc_tree *firnc_tree_child(const firnc_tree *mapping, const char *key);

/* null, ~ or nothing at all. */
bool firnc_tree_is_null(const firnc_tree *node);

uint32_t firnc_tree_count(const firnc_tree *node);

/* The place of a node, for those that keep it without the tree; no place for NULL. */
firnc_place firnc_tree_place(const firnc_tree *at);

/* "firnc: FILE:LINE: PATH: message" to stderr; always returns false. */
bool firnc_tree_fail(const firnc_tree *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same as a warning. */
void firnc_tree_warn(const firnc_tree *at, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
