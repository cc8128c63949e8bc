/* Checks schedules, so that evaluation needs no further checks. The rules of each kind are in its part
 * (schedule_kinds.c). Freestanding; trees are walked with loops, not recursion. */
#include "schedules/schedule.h"

#include <stddef.h>

#include "schedules/parts.h"

/* --- the fields of a node ----------------------------------------------------------------------------------------- */

static bool uses_its_fields(const firn_schedule_node *node, const firn_schedule_part *rule) {
    const uint32_t uses = rule->uses;
    if (node->mode >= rule->modes || ((uses & FIRN_SCHEDULE_USES_TOTAL) != 0 && node->total == 0) ||
        ((uses & (FIRN_SCHEDULE_USES_TOTAL | FIRN_SCHEDULE_MAY_HAVE_TOTAL)) == 0 && node->total != 0) ||
        ((uses & FIRN_SCHEDULE_USES_AUXILIARY) == 0 && node->auxiliary != 0))
        return false;
    bool parent = (uses & FIRN_SCHEDULE_USES_CHILDREN) != 0;
    if (parent ? node->child_count == 0 : node->child_count != 0 || node->first_child != 0)
        return false;
    return firn_schedule_is_number(node->initial, (uses & FIRN_SCHEDULE_USES_INITIAL) != 0) &&
           firn_schedule_is_number(node->final, (uses & FIRN_SCHEDULE_USES_FINAL) != 0) &&
           firn_schedule_is_number(node->rate, (uses & FIRN_SCHEDULE_USES_RATE) != 0) &&
           firn_schedule_is_number(node->power, (uses & FIRN_SCHEDULE_USES_POWER) != 0);
}

static const firn_schedule_part constant = {FIRN_SCHEDULE_USES_INITIAL | FIRN_SCHEDULE_MAY_HAVE_TOTAL, 1, NULL, NULL};

/* The part of a kind, or NULL if this build has none. */
static const firn_schedule_part *part_of(uint16_t kind) {
    if (kind == FIRN_SCHEDULE_CONSTANT)
        return &constant;
    return kind < FIRN_SCHEDULE_KINDS ? firn_schedule_parts[kind] : NULL;
}

bool firn_schedule_is_linked(uint16_t kind) {
    return part_of(kind) != NULL;
}

bool firn_schedule_has_children(uint16_t kind) {
    return (part_of(kind)->uses & FIRN_SCHEDULE_USES_CHILDREN) != 0;
}

/* Checks a node against the part of its kind. */
static bool is_well_formed(const firn_schedule_list *list, const firn_schedule_node *node) {
    const firn_schedule_part *part = part_of(node->kind);
    return part != NULL && node->reserved == 0 && uses_its_fields(node, part) &&
           (part->check == NULL || part->check(list, node));
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

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

uint32_t firn_schedule_check(const firn_schedule_list *list) {
    for (uint32_t i = 0; i < list->node_count; i++) {
        if (!is_well_formed(list, &list->nodes[i]) || !has_own_children(list, i) || !starts_in_order(list->nodes, i) ||
            !is_shallow(list->nodes, i))
            return i + 1;
    }
    return 0;
}
