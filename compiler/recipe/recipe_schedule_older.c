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

/* --- schedules that begin in their middle ------------------------------------------------------------------------- */

/* The node as an expression, its instructions from `first` on. */
static void make_expression(const firnc_schedule_reader *r, firn_schedule_node *node, uint32_t first) {
    *node = (firn_schedule_node){.kind = FIRN_SCHEDULE_EXPRESSION,
                                 .start = node->start,
                                 .total = r->job->schedule.instruction_count - first,
                                 .auxiliary = first};
}

static bool add_instructions(const firnc_schedule_reader *r, const firn_schedule_instruction *list, uint32_t count,
                             const firnc_tree *entry) {
    for (uint32_t i = 0; i < count; i++)
        if (!firnc_schedule_add_instruction(r, entry, list[i].operation, list[i].value))
            return false;
    return true;
}

#define NUMBER(number)                                                                                                 \
    { .operation = FIRN_SCHEDULE_NUMBER, .value = (number) }
#define APPLY(function)                                                                                                \
    { .operation = FIRN_SCHEDULE_##function }

/* (initial - final) f(left / total) + final, where left is what remains of the steps: a power of it, or the square of
 * the sine of a quarter of a turn. */
static bool keep_curve(const firnc_schedule_reader *r, const firnc_tree *entry, firn_schedule_node *node,
                       uint64_t start) {
    const bool power = node->kind == FIRN_SCHEDULE_POLYNOMIAL;
    const uint32_t first = r->job->schedule.instruction_count;
    const firn_schedule_instruction left[] = {NUMBER((double)node->total - (double)start),
                                              APPLY(STEP),
                                              APPLY(SUBTRACT),
                                              NUMBER(0),
                                              APPLY(MAXIMUM),
                                              NUMBER((double)node->total),
                                              APPLY(DIVIDE)};
    const firn_schedule_instruction sine[] = {NUMBER(0x1.921fb54442d18p+0), APPLY(MULTIPLY), APPLY(SINE)};
    const firn_schedule_instruction rest[] = {NUMBER(power ? node->power : 2),
                                              APPLY(POWER),
                                              NUMBER(node->initial - node->final),
                                              APPLY(MULTIPLY),
                                              NUMBER(node->final),
                                              APPLY(ADD)};
    if (!add_instructions(r, left, sizeof left / sizeof left[0], entry) ||
        (!power && !add_instructions(r, sine, sizeof sine / sizeof sine[0], entry)) ||
        !add_instructions(r, rest, sizeof rest / sizeof rest[0], entry))
        return false;
    make_expression(r, node, first);
    return true;
}

/* initial rate^((t + start) / total), where a staircase has the floor of the quotient */
static bool keep_exponential(const firnc_schedule_reader *r, const firnc_tree *entry, firn_schedule_node *node,
                             uint64_t start) {
    const uint32_t first = r->job->schedule.instruction_count;
    const firn_schedule_instruction quotient[] = {
        NUMBER(node->rate), APPLY(STEP), NUMBER((double)start), APPLY(ADD), NUMBER((double)node->total), APPLY(DIVIDE)};
    const firn_schedule_instruction floor[] = {APPLY(FLOOR)};
    const firn_schedule_instruction rest[] = {APPLY(POWER), NUMBER(node->initial), APPLY(MULTIPLY)};
    if (!add_instructions(r, quotient, sizeof quotient / sizeof quotient[0], entry) ||
        (node->mode == FIRN_SCHEDULE_STAIRCASE && !add_instructions(r, floor, 1, entry)) ||
        !add_instructions(r, rest, sizeof rest / sizeof rest[0], entry))
        return false;
    make_expression(r, node, first);
    return true;
}

#undef NUMBER
#undef APPLY

/* The values of a piecewise schedule from the piece on that `start` is in, and the milestones behind it. */
static bool keep_pieces(const firnc_schedule_reader *r, const firnc_tree *entry, firn_schedule_node *node,
                        uint64_t start) {
    const uint32_t first = r->job->schedule.number_count;
    uint64_t passed = 0;
    while (passed < node->total && r->job->schedule.numbers[node->auxiliary + passed] <= (double)start)
        passed++;
    for (uint64_t i = passed; i < node->total; i++)
        if (!firnc_schedule_add_number(r, entry, r->job->schedule.numbers[node->auxiliary + i] - (double)start))
            return false;
    for (uint64_t i = node->total + passed; i <= 2 * node->total; i++)
        if (!firnc_schedule_add_number(r, entry, r->job->schedule.numbers[node->auxiliary + i]))
            return false;
    node->total -= passed;
    node->auxiliary = first;
    return true;
}

static void keep_line(firn_schedule_node *node, uint64_t start) {
    if (start >= node->total) {
        *node = (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .start = node->start, .initial = node->final};
        return;
    }
    node->initial += (node->final - node->initial) * ((double)start / (double)node->total);
    node->total -= start;
}

bool firnc_schedule_keep_steps(const firnc_schedule_reader *r, const firnc_tree *entry, uint32_t index,
                               uint64_t start) {
    firn_schedule_node *node = &r->job->schedule.nodes[index];
    if (start == 0)
        return true;
    switch (node->kind) {
    case FIRN_SCHEDULE_CONSTANT:
        return true;
    case FIRN_SCHEDULE_LINEAR:
        keep_line(node, start);
        return true;
    case FIRN_SCHEDULE_COSINE:
        return keep_curve(r, entry, node, start);
    case FIRN_SCHEDULE_POLYNOMIAL:
        if (node->power > 0) /* of 0 it would not fall to its end */
            return keep_curve(r, entry, node, start);
        break;
    case FIRN_SCHEDULE_EXPONENTIAL:
        return keep_exponential(r, entry, node, start);
    case FIRN_SCHEDULE_PIECEWISE:
        return keep_pieces(r, entry, node, start);
    default:
        break;
    }
    return firnc_tree_fail(entry, "disable_lr_steps_reset lets it begin in its middle, which is possible for Constant, "
                                  "Linear, Polynomial, Exponential, PiecewiseConstant and CosineDecay only; write a "
                                  "schedule that begins where this one stands then");
}
