/* Reads initial values (compiler/models/initializers.h). What a plan cannot draw is refused by name, but for
 * truncated_normal, which the model zoo writes nearly everywhere: it is drawn without its bounds, which are warned of.
 */
#include "compiler/models/initializers.h"

#include "compiler/keys/fields.h"

typedef enum drawing { CONSTANT, ZEROS, ONES, NORMAL, TRUNCATED_NORMAL, UNIFORM } drawing;

static const firnc_choice kinds[] = {{"constant", CONSTANT},
                                     {"zeros", ZEROS},
                                     {"ones", ONES},
                                     {"normal", NORMAL},
                                     {"truncated_normal", TRUNCATED_NORMAL},
                                     {"uniform", UNIFORM},
                                     {NULL, 0}};

#define A offsetof(firnc_init, a)
#define B offsetof(firnc_init, b)

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
    {"a", .kind = FIRNC_FIELD_OTHER},
    {"b", .kind = FIRNC_FIELD_OTHER},
};
static const firnc_field fields_of_uniform[] = {
    {"name", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"a", .kind = FIRNC_FIELD_SINGLE, A, -1e30, 1e30, .required = true},
    {"b", .kind = FIRNC_FIELD_SINGLE, B, -1e30, 1e30, .required = true},
};

#undef A
#undef B

static const struct {
    const firnc_field *fields;
    uint32_t count;
    firnc_init init; /* before any number is read */
} readings[] = {
    [CONSTANT] = {fields_of_constant, 2, {.rule = FIRNC_INIT_CONSTANT}},
    [ZEROS] = {fields_of_constant, 1, {.rule = FIRNC_INIT_CONSTANT}},
    [ONES] = {fields_of_constant, 1, {.rule = FIRNC_INIT_CONSTANT, .a = 1}},
    [NORMAL] = {fields_of_normal, 3, {.rule = FIRNC_INIT_NORMAL}},
    [TRUNCATED_NORMAL] = {fields_of_truncated_normal, 5, {.rule = FIRNC_INIT_NORMAL}},
    [UNIFORM] = {fields_of_uniform, 3, {.rule = FIRNC_INIT_UNIFORM}},
};

/* Reads the numbers that stand beside the name. */
static bool read_numbers(const firnc_tree *node, int kind, firnc_init *init) {
    *init = readings[kind].init;
    if (node->kind == FIRNC_SCALAR)
        return kind == ZEROS || kind == ONES ||
               firnc_tree_fail(node, "%s needs numbers; write a mapping with name: %s and its numbers", node->text,
                               node->text);
    if (!firnc_fields_read(node, readings[kind].fields, readings[kind].count, init))
        return false;
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
    static const firnc_idle_key bounds[] = {{"a", NULL}, {"b", NULL}};
    if (kind == TRUNCATED_NORMAL)
        firnc_idle_note_keys(node, bounds, 2, NULL,
                             "a normal distribution is not cut off; remove it, or give the values with --weights");
    initializer->given = true;
    return true;
}

firnc_init firnc_initializer_or_normal(const firnc_initializer *initializer, float deviation) {
    return initializer->given ? initializer->init : (firnc_init){.rule = FIRNC_INIT_NORMAL, .b = deviation};
}
