/* The names of anchors, and copies of values (compiler/keys/anchors.h). The limits on what a file may make of them are
 * in tree.c. */
#include "compiler/keys/anchors.h"

#include <string.h>

void firnc_anchors_add(firnc_anchors *anchors, const char *name, const firnc_tree *node) {
    anchors->list = firnc_grown(anchors->list, anchors->count, &anchors->capacity, sizeof *anchors->list);
    anchors->list[anchors->count++] = (firnc_anchor){.name = name, .node = node};
}

const firnc_tree *firnc_anchors_find(const firnc_anchors *anchors, const char *name) {
    for (uint32_t i = anchors->count; i > 0; i--)
        if (strcmp(anchors->list[i - 1].name, name) == 0)
            return anchors->list[i - 1].node;
    return NULL;
}

uint32_t firnc_tree_nodes(const firnc_tree *node, uint32_t most) {
    uint32_t count = 1;
    for (const firnc_tree *child = node->first; child != NULL && count <= most; child = child->next)
        count += firnc_tree_nodes(child, most - count);
    return count;
}

uint32_t firnc_tree_levels(const firnc_tree *node) {
    uint32_t most = 0;
    for (const firnc_tree *child = node->first; child != NULL; child = child->next) {
        const uint32_t levels = firnc_tree_levels(child);
        most = levels > most ? levels : most;
    }
    return node->kind == FIRNC_SCALAR ? 0 : most + 1;
}

firnc_tree *firnc_tree_copy(const firnc_tree *node) {
    firnc_tree *copy = firnc_allocate(sizeof *copy), **end = &copy->first;
    *copy = *node;
    copy->key = NULL;
    copy->path = "";
    copy->first = copy->next = NULL;
    for (const firnc_tree *child = node->first; child != NULL; child = child->next) {
        *end = firnc_tree_copy(child);
        (*end)->key = child->key;
        end = &(*end)->next;
    }
    return copy;
}
