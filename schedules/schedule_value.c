/* Evaluates schedules. A value depends only on the list and the step. NUMERICS.md, "Schedules", defines every operation
 * and its order, and this file may not deviate from it. Trees are walked with an explicit stack. Freestanding: binary64
 * with + - * / and schedule_elementary.h, no libm, no fma. */
#include <stddef.h>

#include "schedules/schedule_elementary.h"
#include "schedules/schedule_expression.h"

/* The weights of a node's initial and final value, which add up to 1. The smaller weight is never computed as 1 minus
 * the other, so that neither a decay to 0 nor a rise from 0 loses precision. */
typedef struct shares {
    double initial, final;
} shares;

static double mix(double initial, double final, shares share) {
    return initial * share.initial + final * share.final;
}

/* --- cosines ---------------------------------------------------------------------------------------------------- */

/* The weight of initial is (1 + cos(pi y))/2: the squared sine of the remaining angle, or 1 minus the squared sine of
 * the angle passed. `smaller` is the smaller of the two angles, as a fraction of pi. */
static shares cosine_shares_of(double smaller, bool near_end) {
    double sine = firn_schedule_sine_of_quarter(smaller);
    double small = sine * sine;
    return near_end ? (shares){small, 1.0 - small} : (shares){1.0 - small, small};
}

/* After t of total steps; t is at most total. */
static shares cosine_shares(uint64_t t, uint64_t total) {
    uint64_t left = total - t;
    bool near_end = left <= t;
    return cosine_shares_of((double)(near_end ? left : t) / (double)total, near_end);
}

/* After any fraction of the steps; above 1 the cosine returns. */
static shares cosine_shares_at(double part) {
    double y = part - 2.0 * firn_schedule_floor(part * 0.5);
    if (y > 1.0)
        y = 2.0 - y;
    return cosine_shares_of(y > 0.5 ? 1.0 - y : y, y > 0.5);
}

/* --- the kinds --------------------------------------------------------------------------------------------------- */

static double linear(const firn_schedule_node *node, uint64_t t) {
    shares share = {0.0, 1.0};
    if (t < node->total)
        share = (shares){(double)(node->total - t) / (double)node->total, (double)t / (double)node->total};
    return mix(node->initial, node->final, share);
}

static double cosine(const firn_schedule_node *node, uint64_t t) {
    return mix(node->initial, node->final, t < node->total ? cosine_shares(t, node->total) : (shares){0.0, 1.0});
}

static double cosine_periodic(const firn_schedule_node *node, uint64_t t) {
    uint64_t total = node->total, place = t % (node->mode == FIRN_SCHEDULE_RESTART ? total : 2 * total);
    return mix(node->initial, node->final, cosine_shares(place > total ? 2 * total - place : place, total));
}

static double polynomial(const firn_schedule_node *node, uint64_t t) {
    if (t >= node->total)
        return node->final;
    double left = firn_schedule_power((double)(node->total - t) / (double)node->total, node->power);
    return (node->initial - node->final) * left + node->final;
}

static double exponential(const firn_schedule_node *node, uint64_t t) {
    uint64_t periods = t / node->total;
    bool staircase = node->mode == FIRN_SCHEDULE_STAIRCASE;
    double exponent = staircase ? (double)periods : (double)t / (double)node->total;
    return node->initial * firn_schedule_power(node->rate, exponent);
}

/* The floor of a quotient that rounding may have put slightly below an integer. */
static double floor_with_slack(double x) {
    return firn_schedule_floor(x + x * 0x1p-44);
}

static double inverse_time(const firn_schedule_node *node, uint64_t t) {
    double quotient = firn_schedule_power((double)t, node->power) / (double)node->total;
    bool whole = firn_schedule_floor(node->power) == node->power;
    if (node->mode == FIRN_SCHEDULE_STAIRCASE)
        quotient = whole ? firn_schedule_floor(quotient) : floor_with_slack(quotient);
    return node->initial / (1.0 + node->rate * quotient);
}

static double inverse_square_root(const firn_schedule_node *node, uint64_t t) {
    return node->initial * node->rate / firn_schedule_square_root((double)(t > node->total ? t : node->total));
}

/* The number of milestones that are at most t. The milestones are ascending integers. */
static uint64_t milestones_passed(const double *milestones, uint64_t count, uint64_t t) {
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if ((uint64_t)milestones[middle] <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double multi_step(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    uint64_t passed = milestones_passed(list->numbers + node->auxiliary, node->total, t);
    return node->initial * firn_schedule_power(node->rate, (double)passed);
}

static double piecewise(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    const double *milestones = list->numbers + node->auxiliary, *values = milestones + node->total;
    return values[milestones_passed(milestones, node->total, t)];
}

static double table(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    return list->numbers[node->auxiliary + (t < node->total ? t : node->total - 1)];
}

static double cyclic(const firn_schedule_node *node, uint64_t t) {
    uint64_t up = node->total, down = node->auxiliary, cycle = t / (up + down), place = t % (up + down);
    double height = place <= up ? (double)place / (double)up : (double)(up + down - place) / (double)down;
    double factor = 1.0;
    if (node->mode == FIRN_SCHEDULE_HALVING)
        factor = firn_schedule_power(0.5, (double)cycle);
    else if (node->mode == FIRN_SCHEDULE_DECAYING)
        factor = firn_schedule_power(node->rate, (double)t);
    return node->initial + (node->final - node->initial) * height * factor;
}

/* Runs from one knot to the next. The last piece continues beyond its end, as in the reference. */
static double one_cycle(const firn_schedule_node *node, uint64_t t) {
    double x = (double)t, begin = 0.0, end = node->power, from = node->initial, to = node->final;
    if (x > end && (node->mode & FIRN_SCHEDULE_THREE_PHASE) != 0) {
        begin = end;
        end = 2.0 * end;
        from = to;
        to = node->initial;
    }
    if (x > end) {
        begin = end;
        end = (double)(node->total - 1);
        from = to;
        to = node->rate;
    }
    double done = (x - begin) / (end - begin), left = (end - x) / (end - begin);
    return mix(from, to, (node->mode & FIRN_SCHEDULE_STRAIGHT) != 0 ? (shares){left, done} : cosine_shares_at(done));
}

static double leaf(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    switch (node->kind) {
    case FIRN_SCHEDULE_CONSTANT:
        return node->initial;
    case FIRN_SCHEDULE_LINEAR:
        return linear(node, t);
    case FIRN_SCHEDULE_COSINE:
        return cosine(node, t);
    case FIRN_SCHEDULE_POLYNOMIAL:
        return polynomial(node, t);
    case FIRN_SCHEDULE_EXPONENTIAL:
        return exponential(node, t);
    case FIRN_SCHEDULE_INVERSE_TIME:
        return inverse_time(node, t);
    case FIRN_SCHEDULE_INVERSE_SQUARE_ROOT:
        return inverse_square_root(node, t);
    case FIRN_SCHEDULE_COSINE_PERIODIC:
        return cosine_periodic(node, t);
    case FIRN_SCHEDULE_MULTI_STEP:
        return multi_step(list, node, t);
    case FIRN_SCHEDULE_PIECEWISE:
        return piecewise(list, node, t);
    case FIRN_SCHEDULE_TABLE:
        return table(list, node, t);
    case FIRN_SCHEDULE_EXPRESSION:
        return firn_schedule_expression(list->instructions + node->auxiliary, node->total, t);
    case FIRN_SCHEDULE_CYCLIC:
        return cyclic(node, t);
    default:
        return one_cycle(node, t);
    }
}

/* --- trees -------------------------------------------------------------------------------------------------------- */

/* A product on the stack: the range of its children that remain, and the step at which they are evaluated. */
typedef struct frame {
    uint32_t next, end;
    uint64_t t;
} frame;

/* The last child that has started. */
static uint32_t child_at(const firn_schedule_list *list, const firn_schedule_node *parent, uint64_t t) {
    uint32_t child = parent->first_child;
    for (uint32_t i = 1; i < parent->child_count && list->nodes[child + 1].start <= t; i++)
        child++;
    return child;
}

double firn_schedule_exact(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    frame stack[FIRN_SCHEDULE_DEPTH];
    double value = 1.0;
    uint32_t depth = 1;
    stack[0] = (frame){root, root + 1, step};
    while (depth > 0) {
        frame *top = &stack[depth - 1];
        if (top->next == top->end) {
            depth--;
            continue;
        }
        const firn_schedule_node *node = &list->nodes[top->next++];
        uint64_t t = top->t;
        while (node->kind == FIRN_SCHEDULE_SEQUENTIAL) {
            node = &list->nodes[child_at(list, node, t)];
            t -= node->start;
        }
        if (node->kind == FIRN_SCHEDULE_PRODUCT) {
            value = value * node->initial / node->final;
            stack[depth++] = (frame){node->first_child, (uint32_t)node->first_child + node->child_count, t};
        } else {
            value = value * leaf(list, node, t);
        }
    }
    return value;
}

float firn_schedule_value(const firn_schedule_list *list, uint32_t root, uint64_t step) {
    float value = (float)firn_schedule_exact(list, root, step);
    return value == value ? value : __builtin_nanf("");
}
