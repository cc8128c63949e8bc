/* Checking and evaluating schedules. A value is a function of the nodes and the step alone, in binary64 with + - * /
 * and the sine below, rounded once to binary32: no libm, no fma, no state, so that compiler, host and device agree on
 * every bit. The trees are walked with loops. Freestanding. */
#include "schedules/schedule.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

/* --- checking --------------------------------------------------------------------------------------------------- */

/* Every value is rounded to binary32 in the end, so larger ones could only become infinite. NaN fails. */
static bool is_single_range(double value) {
    return value >= -(double)FLT_MAX && value <= (double)FLT_MAX;
}

/* +0, bit by bit: a field that is not used has one spelling only. */
static bool is_positive_zero(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits == 0;
}

/* The fields of a node, taken alone. */
static bool is_well_formed(const firn_schedule_node *node) {
    if (node->auxiliary != 0 || !is_positive_zero(node->rate) || !is_positive_zero(node->power) ||
        !is_single_range(node->initial) || !is_single_range(node->final))
        return false;
    switch (node->kind) {
    case FIRN_SCHEDULE_CONSTANT:
        return node->child_count == 0 && node->first_child == 0 && is_positive_zero(node->final);
    case FIRN_SCHEDULE_LINEAR:
    case FIRN_SCHEDULE_COSINE:
        return node->child_count == 0 && node->first_child == 0 && node->total >= 1;
    case FIRN_SCHEDULE_SEQUENTIAL:
        return node->child_count >= 1 && is_positive_zero(node->initial) && is_positive_zero(node->final);
    default:
        return false;
    }
}

static bool is_child(const firn_schedule_node *parent, uint32_t index) {
    return parent->kind == FIRN_SCHEDULE_SEQUENTIAL && index >= parent->first_child &&
           index - parent->first_child < parent->child_count;
}

/* The children of nodes[i] lie in the list, after it, and belong to no node before it. */
static bool has_own_children(const firn_schedule_node *nodes, uint32_t count, uint32_t i) {
    const firn_schedule_node *node = &nodes[i];
    if (node->kind != FIRN_SCHEDULE_SEQUENTIAL)
        return true;
    if (node->first_child <= i || node->first_child >= count || node->child_count > count - node->first_child)
        return false;
    for (uint32_t j = 0; j < i; j++) {
        const firn_schedule_node *other = &nodes[j];
        if (is_child(other, node->first_child) ||
            (other->kind == FIRN_SCHEDULE_SEQUENTIAL && is_child(node, other->first_child)))
            return false;
    }
    return true;
}

/* The node that nodes[i] is a child of, or i itself. The nodes before i have been checked, so there is at most one. */
static uint32_t parent_of(const firn_schedule_node *nodes, uint32_t i) {
    for (uint32_t j = 0; j < i; j++) {
        if (is_child(&nodes[j], i))
            return j;
    }
    return i;
}

/* Children begin at 0 and then each after the one before; a root has no beginning. */
static bool starts_in_order(const firn_schedule_node *nodes, uint32_t i) {
    uint32_t parent = parent_of(nodes, i);
    if (parent == i || nodes[parent].first_child == i)
        return nodes[i].start == 0;
    return nodes[i].start > nodes[i - 1].start;
}

/* A root lies at depth 1. */
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

uint32_t firn_schedule_check(const firn_schedule_node *nodes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!is_well_formed(&nodes[i]) || !has_own_children(nodes, count, i) || !starts_in_order(nodes, i) ||
            !is_shallow(nodes, i))
            return i + 1;
    }
    return 0;
}

/* --- evaluation ------------------------------------------------------------------------------------------------- */

/* sin(pi/2 * y), 0 <= y <= 1/2: the series to the 17th power, whose next term is below 2^-63 of the result. */
static double sine_of_quarter_turns(double y) {
    static const double coefficients[] = {
        1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
        1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0,
    };
    double angle = y * 0x1.921fb54442d18p+0; /* pi/2 */
    double square = angle * angle;
    double sum = coefficients[0];
    for (size_t i = 1; i < sizeof coefficients / sizeof coefficients[0]; i++)
        sum = sum * square + coefficients[i];
    return angle + angle * square * sum;
}

/* How far a node has come: the shares of initial and final in its value, which add up to 1. Each is computed where it
 * is small, so that a decay to 0 and a rise from 0 both keep their digits. */
typedef struct shares {
    double initial, final;
} shares;

/* The share of initial is (1 + cos(pi t/total))/2: the square of the sine of the angle that is left, and 1 less the
 * square of the sine of the angle that is done. The smaller of the two angles is taken. */
static shares cosine_shares(uint64_t t, uint64_t total) {
    uint64_t left = total - t;
    bool near_end = left <= t;
    double sine = sine_of_quarter_turns((double)(near_end ? left : t) / (double)total);
    double small = sine * sine;
    return near_end ? (shares){small, 1.0 - small} : (shares){1.0 - small, small};
}

static shares shares_at(const firn_schedule_node *node, uint64_t t) {
    if (t >= node->total)
        return (shares){0.0, 1.0};
    if (node->kind == FIRN_SCHEDULE_COSINE)
        return cosine_shares(t, node->total);
    return (shares){(double)(node->total - t) / (double)node->total, (double)t / (double)node->total};
}

/* The last child that has begun. */
static const firn_schedule_node *child_at(const firn_schedule_node *nodes, const firn_schedule_node *parent,
                                          uint64_t t) {
    const firn_schedule_node *child = &nodes[parent->first_child];
    for (uint32_t i = 1; i < parent->child_count && child[1].start <= t; i++)
        child++;
    return child;
}

double firn_schedule_exact(const firn_schedule_node *nodes, uint32_t root, uint64_t step) {
    const firn_schedule_node *node = &nodes[root];
    uint64_t t = step;
    while (node->kind == FIRN_SCHEDULE_SEQUENTIAL) {
        node = child_at(nodes, node, t);
        t -= node->start;
    }
    if (node->kind == FIRN_SCHEDULE_CONSTANT)
        return node->initial;
    shares share = shares_at(node, t);
    return node->initial * share.initial + node->final * share.final;
}

float firn_schedule_value(const firn_schedule_node *nodes, uint32_t root, uint64_t step) {
    return (float)firn_schedule_exact(nodes, root, step);
}

const char *firn_schedule_name(uint16_t kind) {
    switch (kind) {
    case FIRN_SCHEDULE_CONSTANT:
        return "ConstantLR";
    case FIRN_SCHEDULE_LINEAR:
        return "LinearLR";
    case FIRN_SCHEDULE_COSINE:
        return "CosineDecayLR";
    case FIRN_SCHEDULE_SEQUENTIAL:
        return "SequentialLR";
    default:
        return "?";
    }
}
