/* Checks schedules, so that evaluation needs no further checks. The rules of each kind are in its part
 * (schedule_kinds.c). The place of a node in its tree is checked in
 * schedule_trees.c. Freestanding. */
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
    return kind < FIRN_SCHEDULE_KINDS && firn_schedule_parts != NULL ? firn_schedule_parts[kind] : NULL;
}

bool firn_schedule_is_linked(uint16_t kind) {
    return part_of(kind) != NULL;
}

/* Checks a node against the part of its kind. */
static bool is_well_formed(const firn_schedule_list *list, const firn_schedule_node *node) {
    const firn_schedule_part *part = part_of(node->kind);
    return part != NULL && node->reserved == 0 && uses_its_fields(node, part) &&
           (part->check == NULL || part->check(list, node));
}

/* Whether nodes[i] has a place that is allowed. Constants alone have no children, and each is a root. */
static bool is_placed(const firn_schedule_list *list, uint32_t i) {
    return firn_schedule_trees.check != NULL ? firn_schedule_trees.check(list, i) : list->nodes[i].start == 0;
}

uint32_t firn_schedule_check(const firn_schedule_list *list) {
    for (uint32_t i = 0; i < list->node_count; i++) {
        if (!is_well_formed(list, &list->nodes[i]) || !is_placed(list, i))
            return i + 1;
    }
    return 0;
}
