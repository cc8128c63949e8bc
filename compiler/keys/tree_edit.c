/* Moves parts of a tree (compiler/keys/tree_edit.h). This file must not depend on the meaning of a key. */
#include "compiler/keys/tree_edit.h"

#include <string.h>

static void append(firnc_tree *to, firnc_tree *node) {
    firnc_tree **end = &to->first;
    while (*end != NULL)
        end = &(*end)->next;
    node->next = NULL;
    *end = node;
}

/* The child of a mapping with this key, also if its value is null. */
static firnc_tree *find(const firnc_tree *mapping, const char *key) {
    firnc_tree *child = mapping->kind == FIRNC_MAPPING ? mapping->first : NULL;
    while (child != NULL && strcmp(child->key, key) != 0)
        child = child->next;
    return child;
}

firnc_tree *firnc_tree_make(firnc_tree_kind kind, const firnc_tree *place) {
    firnc_tree *node = firnc_allocate(sizeof *node);
    *node = (firnc_tree){.kind = kind, .file = place->file, .line = place->line, .path = place->path, .text = ""};
    return node;
}

firnc_tree *firnc_tree_take(firnc_tree *mapping, const char *key) {
    firnc_tree *child = mapping == NULL ? NULL : find(mapping, key);
    if (child == NULL)
        return NULL;
    firnc_tree **at = &mapping->first;
    while (*at != child)
        at = &(*at)->next;
    *at = child->next;
    child->next = NULL;
    return child;
}

firnc_tree *firnc_tree_put(firnc_tree *mapping, const char *path, firnc_tree *node) {
    const char *dot = strchr(path, '.');
    const char *word = dot == NULL ? path : firnc_format("%.*s", (int)(dot - path), path);
    firnc_tree *there = find(mapping, word);
    if (dot == NULL && there == NULL) {
        node->key = word;
        append(mapping, node);
    }
    if (dot == NULL)
        return there == NULL ? node : there;
    if (there == NULL) {
        there = firnc_tree_make(FIRNC_MAPPING, node);
        there->key = word;
        append(mapping, there);
    } else if (firnc_tree_is_null(there)) {
        there->kind = FIRNC_MAPPING;
    }
    return there->kind == FIRNC_MAPPING ? firnc_tree_put(there, dot + 1, node) : there;
}

void firnc_tree_push(firnc_tree *list, firnc_tree *entry) {
    entry->key = NULL;
    append(list, entry);
}

bool firnc_tree_same(const firnc_tree *a, const firnc_tree *b) {
    if (a->kind != b->kind || firnc_tree_count(a) != firnc_tree_count(b))
        return false;
    if (a->kind == FIRNC_SCALAR)
        return a->plain == b->plain && strcmp(a->text, b->text) == 0;
    const firnc_tree *other = b->first;
    for (const firnc_tree *child = a->first; child != NULL; child = child->next) {
        const firnc_tree *twin = a->kind == FIRNC_MAPPING ? find(b, child->key) : other;
        if (twin == NULL || !firnc_tree_same(child, twin))
            return false;
        other = a->kind == FIRNC_MAPPING ? NULL : other->next;
    }
    return true;
}
