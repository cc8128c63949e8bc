/* Checks the place of a node in its tree, after all nodes before it have been checked. Reached only through
 * firn_schedule_trees. Freestanding; trees are walked with loops, not recursion. */
#include "schedules/parts.h"

/* Whether the list has `wanted` nodes from `first` on. */
static bool has_nodes(const firn_schedule_list *list, uint32_t first, uint32_t wanted) {
    return first <= list->node_count && wanted <= list->node_count - first;
}

static bool is_child(const firn_schedule_node *parent, uint32_t index) {
    return index >= parent->first_child && index - parent->first_child < parent->child_count;
}

/* Checks that the children of nodes[i] are within the list, come after it, and belong to no earlier node. */
static bool has_own_children(const firn_schedule_list *list, uint32_t i) {
    const firn_schedule_node *node = &list->nodes[i];
    if (node->child_count == 0)
        return true;
    if (node->first_child <= i || !has_nodes(list, node->first_child, node->child_count))
        return false;
    for (uint32_t j = 0; j < i; j++) {
        const firn_schedule_node *other = &list->nodes[j];
        if (is_child(other, node->first_child) || (other->child_count > 0 && is_child(node, other->first_child)))
            return false;
    }
    return true;
}

/* The parent of nodes[i], or i if it has none. All nodes before i have been checked, so there is at most one. */
static uint32_t parent_of(const firn_schedule_node *nodes, uint32_t i) {
    for (uint32_t j = 0; j < i; j++) {
        if (is_child(&nodes[j], i))
            return j;
    }
    return i;
}

/* The first child of a sequence starts at 0, and each other child after the previous one. All other nodes have start
 * 0. */
static bool starts_in_order(const firn_schedule_node *nodes, uint32_t i) {
    uint32_t parent = parent_of(nodes, i);
    if (parent == i || nodes[parent].kind != FIRN_SCHEDULE_SEQUENTIAL || nodes[parent].first_child == i)
        return nodes[i].start == 0;
    return nodes[i].start > nodes[i - 1].start;
}

/* Checks the depth of nodes[i]. A root has depth 1. */
static bool is_shallow(const firn_schedule_node *nodes, uint32_t i) {
    uint32_t at = i;
    for (uint32_t depth = 1; depth <= FIRN_SCHEDULE_DEPTH; depth++) {
        uint32_t parent = parent_of(nodes, at);
        if (parent == at)
            return true;
        at = parent;
    }
    return false;
}

bool firn_schedule_is_in_tree(const firn_schedule_list *list, uint32_t i) {
    return has_own_children(list, i) && starts_in_order(list->nodes, i) && is_shallow(list->nodes, i);
}
