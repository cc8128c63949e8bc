/* Checks schedules, so that evaluation needs no further checks. The rules of each kind are one row of a table, plus one
 * case where a row is not enough. Freestanding; trees are walked with loops, not recursion. */
#include "schedules/schedule.h"

#include <float.h>

#include "schedules/schedule_expression.h"

/* --- the fields of a node, taken alone ---------------------------------------------------------------------------- */

/* The fields that a kind uses; all others must be zero. */
enum {
    USES_TOTAL = 1, /* must be at least 1 */
    USES_AUXILIARY = 2,
    USES_INITIAL = 4,
    USES_FINAL = 8,
    USES_RATE = 16,
    USES_POWER = 32,
    USES_CHILDREN = 64,
    MAY_HAVE_TOTAL = 128
};

typedef struct kind_rule {
    const char *name;
    uint16_t uses;
    uint16_t modes; /* number of modes */
} kind_rule;

static const kind_rule rules[FIRN_SCHEDULE_KINDS] = {
    [FIRN_SCHEDULE_CONSTANT] = {"constant", USES_INITIAL | MAY_HAVE_TOTAL, 1},
    [FIRN_SCHEDULE_LINEAR] = {"linear", USES_INITIAL | USES_FINAL | USES_TOTAL, 1},
    [FIRN_SCHEDULE_COSINE] = {"cosine", USES_INITIAL | USES_FINAL | USES_TOTAL, 1},
    [FIRN_SCHEDULE_SEQUENTIAL] = {"sequential", USES_CHILDREN | MAY_HAVE_TOTAL, 1},
    [FIRN_SCHEDULE_POLYNOMIAL] = {"polynomial", USES_INITIAL | USES_FINAL | USES_TOTAL | USES_POWER, 1},
    [FIRN_SCHEDULE_EXPONENTIAL] = {"exponential", USES_INITIAL | USES_TOTAL | USES_RATE, 2},
    [FIRN_SCHEDULE_INVERSE_TIME] = {"inverse_time", USES_INITIAL | USES_TOTAL | USES_RATE | USES_POWER, 2},
    [FIRN_SCHEDULE_INVERSE_SQUARE_ROOT] = {"inverse_square_root", USES_INITIAL | USES_TOTAL | USES_RATE, 1},
    [FIRN_SCHEDULE_COSINE_PERIODIC] = {"cosine_periodic", USES_INITIAL | USES_FINAL | USES_TOTAL, 2},
    [FIRN_SCHEDULE_MULTI_STEP] = {"multi_step", USES_INITIAL | USES_TOTAL | USES_AUXILIARY | USES_RATE, 1},
    [FIRN_SCHEDULE_PIECEWISE] = {"piecewise", USES_TOTAL | USES_AUXILIARY, 1},
    [FIRN_SCHEDULE_TABLE] = {"table", USES_TOTAL | USES_AUXILIARY, 1},
    [FIRN_SCHEDULE_EXPRESSION] = {"expression", USES_TOTAL | USES_AUXILIARY, 1},
    [FIRN_SCHEDULE_CYCLIC] = {"cyclic", USES_INITIAL | USES_FINAL | USES_TOTAL | USES_AUXILIARY | USES_RATE, 3},
    [FIRN_SCHEDULE_ONE_CYCLE] = {"one_cycle", USES_INITIAL | USES_FINAL | USES_TOTAL | USES_RATE | USES_POWER, 4},
    [FIRN_SCHEDULE_PRODUCT] = {"product", USES_INITIAL | USES_FINAL | USES_CHILDREN, 1},
};

const char *firn_schedule_name(uint16_t kind) {
    return kind < FIRN_SCHEDULE_KINDS ? rules[kind].name : "?";
}

bool firn_schedule_has_children(uint16_t kind) {
    return (rules[kind].uses & USES_CHILDREN) != 0;
}

/* Values are finally rounded to binary32, so larger ones could only become infinite. NaN fails. */
static bool is_single_range(double value) {
    return value >= -(double)FLT_MAX && value <= (double)FLT_MAX;
}

/* Whether a value is +0 bit by bit, which is the only encoding of an unused field. */
static bool is_positive_zero(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits == 0;
}

static bool is_number(double value, bool used) {
    return used ? is_single_range(value) : is_positive_zero(value);
}

static bool uses_its_fields(const firn_schedule_node *node, const kind_rule *rule) {
    uint16_t uses = rule->uses;
    if (node->mode >= rule->modes || ((uses & USES_TOTAL) != 0 && node->total == 0) ||
        ((uses & (USES_TOTAL | MAY_HAVE_TOTAL)) == 0 && node->total != 0) ||
        ((uses & USES_AUXILIARY) == 0 && node->auxiliary != 0))
        return false;
    bool parent = (uses & USES_CHILDREN) != 0;
    if (parent ? node->child_count == 0 : node->child_count != 0 || node->first_child != 0)
        return false;
    return is_number(node->initial, (uses & USES_INITIAL) != 0) && is_number(node->final, (uses & USES_FINAL) != 0) &&
           is_number(node->rate, (uses & USES_RATE) != 0) && is_number(node->power, (uses & USES_POWER) != 0);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Whether `wanted` elements starting at `first` are within a list of `count`. */
static bool lies_within(uint64_t first, uint64_t wanted, uint32_t count) {
    return first <= count && wanted <= count - first;
}

static bool are_values(const double *numbers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (!is_single_range(numbers[i]))
            return false;
    }
    return true;
}

/* Whether the numbers are integers below 2^53 in strictly ascending order. */
static bool are_milestones(const double *numbers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (!(numbers[i] >= 0.0 && numbers[i] < 0x1p53) || (double)(uint64_t)numbers[i] != numbers[i] ||
            (i > 0 && numbers[i] <= numbers[i - 1]))
            return false;
    }
    return true;
}

static bool is_piecewise(const firn_schedule_list *list, const firn_schedule_node *node) {
    if (node->total >= list->number_count || !lies_within(node->auxiliary, 2 * node->total + 1, list->number_count))
        return false;
    const double *milestones = list->numbers + node->auxiliary;
    return are_milestones(milestones, node->total) && are_values(milestones + node->total, node->total + 1);
}

static bool is_expression(const firn_schedule_list *list, const firn_schedule_node *node) {
    if (!lies_within(node->auxiliary, node->total, list->instruction_count))
        return false;
    const firn_schedule_instruction *instructions = list->instructions + node->auxiliary;
    for (uint64_t i = 0; i < node->total; i++) {
        if (!is_number(instructions[i].value, instructions[i].operation == FIRN_SCHEDULE_NUMBER))
            return false;
    }
    return firn_schedule_expression_check(instructions, node->total);
}

/* Checks that every piece has a length above 0. */
static bool is_one_cycle(const firn_schedule_node *node) {
    bool three = (node->mode & FIRN_SCHEDULE_THREE_PHASE) != 0;
    return node->power > 0.0 && (three ? 2.0 * node->power : node->power) < (double)(node->total - 1);
}

static bool is_cyclic(const firn_schedule_node *node) {
    bool decays = node->mode == FIRN_SCHEDULE_DECAYING;
    return node->auxiliary >= 1 && node->auxiliary <= UINT64_MAX / 2 && node->total <= UINT64_MAX / 2 &&
           (decays ? node->rate >= 0.0 : is_positive_zero(node->rate));
}

/* Checks a node against the row of its kind and against the kind's other rules. */
static bool is_well_formed(const firn_schedule_list *list, const firn_schedule_node *node) {
    if (node->kind >= FIRN_SCHEDULE_KINDS || node->reserved != 0 || !uses_its_fields(node, &rules[node->kind]))
        return false;
    switch (node->kind) {
    case FIRN_SCHEDULE_POLYNOMIAL:
        return node->power >= 0.0;
    case FIRN_SCHEDULE_EXPONENTIAL:
        return node->rate >= 0.0;
    case FIRN_SCHEDULE_INVERSE_TIME:
        return node->rate >= 0.0 && node->power >= 0.0;
    case FIRN_SCHEDULE_COSINE_PERIODIC:
        return node->total <= UINT64_MAX / 2;
    case FIRN_SCHEDULE_MULTI_STEP:
        return node->rate >= 0.0 && lies_within(node->auxiliary, node->total, list->number_count) &&
               are_milestones(list->numbers + node->auxiliary, node->total);
    case FIRN_SCHEDULE_PIECEWISE:
        return is_piecewise(list, node);
    case FIRN_SCHEDULE_TABLE:
        return lies_within(node->auxiliary, node->total, list->number_count) &&
               are_values(list->numbers + node->auxiliary, node->total);
    case FIRN_SCHEDULE_EXPRESSION:
        return is_expression(list, node);
    case FIRN_SCHEDULE_CYCLIC:
        return is_cyclic(node);
    case FIRN_SCHEDULE_ONE_CYCLE:
        return is_one_cycle(node);
    case FIRN_SCHEDULE_PRODUCT:
        return node->final != 0.0;
    default:
        return true;
    }
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

static bool is_child(const firn_schedule_node *parent, uint32_t index) {
    return index >= parent->first_child && index - parent->first_child < parent->child_count;
}

/* Checks that the children of nodes[i] are within the list, come after it, and belong to no earlier node. */
static bool has_own_children(const firn_schedule_list *list, uint32_t i) {
    const firn_schedule_node *node = &list->nodes[i];
    if (node->child_count == 0)
        return true;
    if (node->first_child <= i || !lies_within(node->first_child, node->child_count, list->node_count))
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
