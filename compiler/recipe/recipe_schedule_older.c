/* Names and settings of schedules from older releases of the model zoo: steps and decay_steps for total_iters, values
 * and boundaries of PiecewiseConstant, and disable_lr_steps_reset. */
#include <string.h>

#include "compiler/keys/tree_edit.h"
#include "compiler/recipe/recipe_schedule_parts.h"

static const struct {
    const char *older, *key;
} names[] = {{"steps", "total_iters"},
             {"decay_steps", "total_iters"},
             {"values", "learning_rates"},
             {"boundaries", "milestones"}};

/* The name of today. */
static const char *key_of(const char *key) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].older, key) == 0)
            return names[i].key;
    return key;
}

bool firnc_schedule_rename(const firnc_tree *mapping, const firnc_tree **renamed) {
    firnc_tree *fresh = firnc_tree_make(mapping->kind, mapping);
    bool older = false;
    fresh->key = mapping->key;
    *renamed = mapping;
    for (const firnc_tree *child = mapping->kind == FIRNC_MAPPING ? mapping->first : NULL; child != NULL;
         child = child->next) {
        firnc_tree *copy = firnc_allocate(sizeof *copy);
        *copy = *child;
        copy->next = NULL;
        older = older || strcmp(key_of(child->key), child->key) != 0;
        const firnc_tree *there = firnc_tree_put(fresh, key_of(child->key), copy);
        if (there != copy && !firnc_tree_same(there, copy))
            return firnc_tree_fail(child, "is %s by another name, which is there too; remove one of them",
                                   key_of(child->key));
    }
    if (older)
        *renamed = fresh;
    return true;
}

bool firnc_schedule_keep_steps(const firnc_schedule_reader *r, const firnc_tree *entry, uint32_t index,
                               uint64_t start) {
    firn_schedule_node *node = &r->job->schedule.nodes[index];
    if (start == 0 || node->kind == FIRN_SCHEDULE_CONSTANT)
        return true;
    if (node->kind != FIRN_SCHEDULE_LINEAR)
        return firnc_tree_fail(entry,
                               "disable_lr_steps_reset lets it begin in its middle, which is possible for Constant "
                               "and Linear only; write a schedule that begins where this one stands then");
    if (start >= node->total) {
        *node = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .start = node->start, .initial = node->final};
        return true;
    }
    node->initial += (node->final - node->initial) * ((double)start / (double)node->total);
    node->total -= start;
    return true;
}
