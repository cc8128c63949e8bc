/* The kinds of schedules: the rules that the fields of a node keep, and its value at a step. NUMERICS.md, "Schedules",
 * defines every operation and its order, and this file may not deviate from it. A kind is reached only through its
 * part, so that a firmware is linked with the kinds that it names. Freestanding: binary64 with + - * / and
 * schedule_elementary.h, no libm, no fma. */
#include <stddef.h>

#include "schedules/parts.h"
#include "schedules/schedule_elementary.h"
#include "schedules/schedule_expression.h"

/* --- the rules of kinds
 * -------------------------------------------------------------------------------------------------- */

/* Whether `wanted` elements starting at `first` are within a list of `count`. */
static bool lies_within(uint64_t first, uint64_t wanted, uint32_t count) {
    return first <= count && wanted <= count - first;
}

static bool are_values(const double *numbers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (!firn_schedule_is_single(numbers[i]))
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
        if (!firn_schedule_is_number(instructions[i].value, instructions[i].operation == FIRN_SCHEDULE_NUMBER))
            return false;
    }
    return firn_schedule_expression_check(instructions, node->total);
}

/* Checks that every piece has a length above 0. */
static bool is_one_cycle(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    bool three = (node->mode & FIRN_SCHEDULE_THREE_PHASE) != 0;
    return node->power > 0.0 && (three ? 2.0 * node->power : node->power) < (double)(node->total - 1);
}

static bool is_cyclic(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    bool decays = node->mode == FIRN_SCHEDULE_DECAYING;
    return node->auxiliary >= 1 && node->auxiliary <= UINT64_MAX / 2 && node->total <= UINT64_MAX / 2 &&
           (decays ? node->rate >= 0.0 : firn_schedule_is_number(node->rate, false));
}

static bool is_polynomial(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    return node->power >= 0.0;
}

static bool is_exponential(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    return node->rate >= 0.0;
}

static bool is_inverse_time(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    return node->rate >= 0.0 && node->power >= 0.0;
}

static bool is_cosine_periodic(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    return node->total <= UINT64_MAX / 2;
}

static bool is_multi_step(const firn_schedule_list *list, const firn_schedule_node *node) {
    return node->rate >= 0.0 && lies_within(node->auxiliary, node->total, list->number_count) &&
           are_milestones(list->numbers + node->auxiliary, node->total);
}

static bool is_table(const firn_schedule_list *list, const firn_schedule_node *node) {
    return lies_within(node->auxiliary, node->total, list->number_count) &&
           are_values(list->numbers + node->auxiliary, node->total);
}

static bool is_product(const firn_schedule_list *list, const firn_schedule_node *node) {
    (void)list;
    return node->final != 0.0;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

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

static double linear(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    shares share = {0.0, 1.0};
    if (t < node->total)
        share = (shares){(double)(node->total - t) / (double)node->total, (double)t / (double)node->total};
    return mix(node->initial, node->final, share);
}

static double cosine(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    return mix(node->initial, node->final, t < node->total ? cosine_shares(t, node->total) : (shares){0.0, 1.0});
}

static double cosine_periodic(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    uint64_t total = node->total, place = t % (node->mode == FIRN_SCHEDULE_RESTART ? total : 2 * total);
    return mix(node->initial, node->final, cosine_shares(place > total ? 2 * total - place : place, total));
}

static double polynomial(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    if (t >= node->total)
        return node->final;
    double left = firn_schedule_power((double)(node->total - t) / (double)node->total, node->power);
    return (node->initial - node->final) * left + node->final;
}

static double exponential(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    uint64_t periods = t / node->total;
    bool staircase = node->mode == FIRN_SCHEDULE_STAIRCASE;
    double exponent = staircase ? (double)periods : (double)t / (double)node->total;
    return node->initial * firn_schedule_power(node->rate, exponent);
}

/* The floor of a quotient that rounding may have put slightly below an integer. */
static double floor_with_slack(double x) {
    return firn_schedule_floor(x + x * 0x1p-44);
}

static double inverse_time(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
    double quotient = firn_schedule_power((double)t, node->power) / (double)node->total;
    bool whole = firn_schedule_floor(node->power) == node->power;
    if (node->mode == FIRN_SCHEDULE_STAIRCASE)
        quotient = whole ? firn_schedule_floor(quotient) : floor_with_slack(quotient);
    return node->initial / (1.0 + node->rate * quotient);
}

static double inverse_square_root(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
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

static double cyclic(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
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
static double one_cycle(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    (void)list;
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

static double expression(const firn_schedule_list *list, const firn_schedule_node *node, uint64_t t) {
    return firn_schedule_expression(list->instructions + node->auxiliary, node->total, t);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

enum {
    USES_TOTAL = FIRN_SCHEDULE_USES_TOTAL,
    USES_AUXILIARY = FIRN_SCHEDULE_USES_AUXILIARY,
    USES_INITIAL = FIRN_SCHEDULE_USES_INITIAL,
    USES_FINAL = FIRN_SCHEDULE_USES_FINAL,
    USES_RATE = FIRN_SCHEDULE_USES_RATE,
    USES_POWER = FIRN_SCHEDULE_USES_POWER,
    USES_CHILDREN = FIRN_SCHEDULE_USES_CHILDREN,
    MAY_HAVE_TOTAL = FIRN_SCHEDULE_MAY_HAVE_TOTAL
};

const firn_schedule_part firn_schedule_part_linear = {USES_INITIAL | USES_FINAL | USES_TOTAL, 1, NULL, linear};
const firn_schedule_part firn_schedule_part_cosine = {USES_INITIAL | USES_FINAL | USES_TOTAL, 1, NULL, cosine};
const firn_schedule_part firn_schedule_part_sequential = {USES_CHILDREN | MAY_HAVE_TOTAL, 1, NULL, NULL};
const firn_schedule_part firn_schedule_part_polynomial = {USES_INITIAL | USES_FINAL | USES_TOTAL | USES_POWER, 1,
                                                          is_polynomial, polynomial};
const firn_schedule_part firn_schedule_part_exponential = {USES_INITIAL | USES_TOTAL | USES_RATE, 2, is_exponential,
                                                           exponential};
const firn_schedule_part firn_schedule_part_inverse_time = {USES_INITIAL | USES_TOTAL | USES_RATE | USES_POWER, 2,
                                                            is_inverse_time, inverse_time};
const firn_schedule_part firn_schedule_part_inverse_square_root = {USES_INITIAL | USES_TOTAL | USES_RATE, 1, NULL,
                                                                   inverse_square_root};
const firn_schedule_part firn_schedule_part_cosine_periodic = {USES_INITIAL | USES_FINAL | USES_TOTAL, 2,
                                                               is_cosine_periodic, cosine_periodic};
const firn_schedule_part firn_schedule_part_multi_step = {USES_INITIAL | USES_TOTAL | USES_AUXILIARY | USES_RATE, 1,
                                                          is_multi_step, multi_step};
const firn_schedule_part firn_schedule_part_piecewise = {USES_TOTAL | USES_AUXILIARY, 1, is_piecewise, piecewise};
const firn_schedule_part firn_schedule_part_table = {USES_TOTAL | USES_AUXILIARY, 1, is_table, table};
const firn_schedule_part firn_schedule_part_expression = {USES_TOTAL | USES_AUXILIARY, 1, is_expression, expression};
const firn_schedule_part firn_schedule_part_cyclic = {
    USES_INITIAL | USES_FINAL | USES_TOTAL | USES_AUXILIARY | USES_RATE, 3, is_cyclic, cyclic};
const firn_schedule_part firn_schedule_part_one_cycle = {
    USES_INITIAL | USES_FINAL | USES_TOTAL | USES_RATE | USES_POWER, 4, is_one_cycle, one_cycle};
const firn_schedule_part firn_schedule_part_product = {USES_INITIAL | USES_FINAL | USES_CHILDREN, 1, is_product, NULL};
