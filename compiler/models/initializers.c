/* Reads initial values (compiler/models/initializers.h). What a plan cannot draw is refused by name. */
#include "compiler/models/initializers.h"

#include <math.h>

#include "compiler/keys/fields.h"

typedef enum drawing { CONSTANT, ZEROS, ONES, NORMAL, TRUNCATED_NORMAL, UNIFORM } drawing;

static const firnc_choice kinds[] = {{"constant", CONSTANT},
                                     {"zeros", ZEROS},
                                     {"ones", ONES},
                                     {"normal", NORMAL},
                                     {"truncated_normal", TRUNCATED_NORMAL},
                                     {"uniform", UNIFORM},
                                     {NULL, 0}};

#define A    offsetof(firnc_init, a)
#define B    offsetof(firnc_init, b)
#define LOW  offsetof(firnc_init, low)
#define HIGH offsetof(firnc_init, high)

static const firnc_field fields_of_constant[] = {
    {"name", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"val", .kind = FIRNC_FIELD_SINGLE, A, -1e30, 1e30, .required = true},
};
static const firnc_field fields_of_normal[] = {
    {"name", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"mean", .kind = FIRNC_FIELD_SINGLE, A, -1e30, 1e30},
    {"std", .kind = FIRNC_FIELD_SINGLE, B, 0, 1e30, .required = true},
};
static const firnc_field fields_of_truncated_normal[] = {
    {"name", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"mean", .kind = FIRNC_FIELD_SINGLE, A, -1e30, 1e30},
    {"std", .kind = FIRNC_FIELD_SINGLE, B, 0, 1e30, .required = true},
    {"a", .kind = FIRNC_FIELD_SINGLE, LOW, -1e30, 1e30},
    {"b", .kind = FIRNC_FIELD_SINGLE, HIGH, -1e30, 1e30},
};
static const firnc_field fields_of_uniform[] = {
    {"name", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"a", .kind = FIRNC_FIELD_SINGLE, A, -1e30, 1e30, .required = true},
    {"b", .kind = FIRNC_FIELD_SINGLE, B, -1e30, 1e30, .required = true},
};

#undef A
#undef B
#undef LOW
#undef HIGH

static const struct {
    const firnc_field *fields;
    uint32_t count;
    firnc_init init; /* before any number is read */
} readings[] = {
    [CONSTANT] = {fields_of_constant, 2, {.rule = FIRNC_INIT_CONSTANT}},
    [ZEROS] = {fields_of_constant, 1, {.rule = FIRNC_INIT_CONSTANT}},
    [ONES] = {fields_of_constant, 1, {.rule = FIRNC_INIT_CONSTANT, .a = 1}},
    [NORMAL] = {fields_of_normal, 3, {.rule = FIRNC_INIT_NORMAL}},
    [TRUNCATED_NORMAL] = {fields_of_truncated_normal,
                          5,
                          {.rule = FIRNC_INIT_TRUNCATED_NORMAL, .low = -2, .high = 2}}, /* PyTorch's bounds */
    [UNIFORM] = {fields_of_uniform, 3, {.rule = FIRNC_INIT_UNIFORM}},
};

/* The share of a normal distribution that lies between the bounds. */
static double share_within(const firnc_init *init) {
    const double mean = (double)init->a, low = (double)init->low, high = (double)init->high;
    if (init->b == 0)
        return low <= mean && mean <= high ? 1 : 0;
    const double unit = sqrt(2) * (double)init->b;
    return (erfc((low - mean) / unit) - erfc((high - mean) / unit)) / 2;
}

/* No normal number of NUMERICS.md is as far as this from 0: it is at most sqrt(-2 log 2^-24), less than 5.8. */
#define FARTHEST_DRAW 6.0

/* Bounds that no draw reaches are left out: every element is the same without them, and the plan is one that runtimes
 * without the rule run, too. */
static void leave_out_idle_bounds(firnc_init *init) {
    const double mean = (double)init->a, reach = FARTHEST_DRAW * (double)init->b;
    if (mean - reach >= (double)init->low && mean + reach <= (double)init->high)
        *init = (firnc_init){.rule = FIRNC_INIT_NORMAL, .a = init->a, .b = init->b};
}

/* Below this share, more than half of the elements could miss in all the draws that an element has. */
#define LEAST_SHARE 0.01

static bool check_bounds(const firnc_tree *node, firnc_init *init) {
    const firnc_tree *low = firnc_tree_child(node, "a"), *high = firnc_tree_child(node, "b");
    const firnc_tree *place = low != NULL ? low : high != NULL ? high : node;
    if (init->low >= init->high)
        return firnc_tree_fail(place, "a (%s) must be below b (%s), in absolute values; without them they are -2 and 2",
                               firnc_single_text(init->low), firnc_single_text(init->high));
    if (share_within(init) < LEAST_SHARE)
        return firnc_tree_fail(place,
                               "less than 1 %% of the normal distribution lies between a (%s) and b (%s), which are "
                               "absolute values; widen them, or move mean",
                               firnc_single_text(init->low), firnc_single_text(init->high));
    leave_out_idle_bounds(init);
    return true;
}

/* Reads the numbers that stand beside the name. */
static bool read_numbers(const firnc_tree *node, int kind, firnc_init *init) {
    *init = readings[kind].init;
    if (node->kind == FIRNC_SCALAR)
        return kind == ZEROS || kind == ONES ||
               firnc_tree_fail(node, "%s needs numbers; write a mapping with name: %s and its numbers", node->text,
                               node->text);
    if (!firnc_fields_read(node, readings[kind].fields, readings[kind].count, init))
        return false;
    if (kind == TRUNCATED_NORMAL)
        return check_bounds(node, init);
    return init->rule != FIRNC_INIT_UNIFORM || init->a <= init->b ||
           firnc_tree_fail(firnc_tree_child(node, "a"), "is above b; exchange the two");
}

bool firnc_initializer_read(const firnc_tree *mapping, const char *key, firnc_initializer *initializer) {
    const firnc_tree *node = firnc_tree_child(mapping, key);
    if (node == NULL)
        return true;
    const firnc_tree *name = node->kind == FIRNC_MAPPING ? firnc_tree_child(node, "name") : node;
    int kind;
    if (name == NULL)
        return firnc_tree_fail(node, "name is missing; add one of %s", firnc_choices_text(kinds));
    if (!firnc_field_choice(name, kinds, &kind) || !read_numbers(node, kind, &initializer->init))
        return false;
    initializer->given = true;
    return true;
}

firnc_init firnc_initializer_or_normal(const firnc_initializer *initializer, float deviation) {
    return initializer->given ? initializer->init : (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = deviation};
}
