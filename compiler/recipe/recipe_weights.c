/* trainer.init.weight_map: which tensors of a weights file each parameter is, where they have other names, another
 * layout, or are several (compiler/job/weight_map.h). A list of rules, the first of which decides. The file itself is
 * named on the command line. */
#include <string.h>

#include "compiler/recipe/recipe_parts.h"

static const firnc_field rule_fields[] = {
    {"parameter", .kind = FIRNC_FIELD_OTHER},
    {"tensors", .kind = FIRNC_FIELD_OTHER},
    {"sizes", .kind = FIRNC_FIELD_ENTRIES},
    {"axis", .kind = FIRNC_FIELD_WHOLE, offsetof(firnc_weight_rule, axis), 0, FIRN_RANK_MAX - 1},
    {"transpose", .kind = FIRNC_FIELD_FLAG, offsetof(firnc_weight_rule, transpose)},
    {"order", .kind = FIRNC_FIELD_ENTRIES},
    {"shape", .kind = FIRNC_FIELD_ENTRIES},
    {"ignore", .kind = FIRNC_FIELD_OTHER},
};

static uint32_t stars(const char *text) {
    uint32_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '*';
    return count;
}

static bool read_name(const firnc_tree *node, const char **name) {
    if (node->kind != FIRNC_SCALAR || !firnc_is_name(node->text))
        return firnc_tree_fail(node, "is not a name; write at most %d printable characters, with * where they vary",
                               FIRNC_NAME_MAX);
    *name = node->text;
    return true;
}

/* A '*' of a tensor stands for what that of the parameter does, so there are as many. */
static bool read_tensors(const firnc_tree *node, firnc_weight_rule *rule) {
    const bool list = node->kind == FIRNC_LIST;
    uint32_t count = 0;
    for (const firnc_tree *entry = list ? node->first : node; entry != NULL; entry = list ? entry->next : NULL) {
        if (count == FIRNC_WEIGHT_TENSORS_MAX)
            return firnc_tree_fail(node, "has more than %d names; write fewer", FIRNC_WEIGHT_TENSORS_MAX);
        if (!read_name(entry, &rule->tensors[count]))
            return false;
        if (stars(entry->text) != stars(rule->parameter))
            return firnc_tree_fail(entry, "has %u *, and the parameter has %u; write as many",
                                   (unsigned)stars(entry->text), (unsigned)stars(rule->parameter));
        count++;
    }
    return count > 0 || firnc_tree_fail(node, "is empty; write the name of a tensor, or a list of names");
}

static bool read_sizes(const firnc_tree *list, firnc_weight_rule *rule) {
    static const firnc_field size = {.kind = FIRNC_FIELD_LONG, .low = 1, .high = UINT32_MAX};
    uint32_t count = 0;
    while (count < FIRNC_WEIGHT_TENSORS_MAX && rule->tensors[count] != NULL)
        count++;
    if (firnc_tree_count(list) != count)
        return firnc_tree_fail(list, "has %u sizes for %u tensors; write one for each",
                               (unsigned)firnc_tree_count(list), (unsigned)count);
    count = 0;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        if (!firnc_field_whole(entry, &size, &value))
            return false;
        rule->sizes[count++] = (uint32_t)value;
    }
    return true;
}

/* A list of axes. */
static bool read_order(const firnc_tree *list, firnc_weight_rule *rule) {
    static const firnc_field axis = {.kind = FIRNC_FIELD_LONG, .high = FIRN_RANK_MAX - 1};
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        if (rule->order_count == FIRN_RANK_MAX)
            return firnc_tree_fail(list, "has more than %d axes; write fewer", FIRN_RANK_MAX);
        if (!firnc_field_whole(entry, &axis, &value))
            return false;
        rule->order[rule->order_count++] = (uint8_t)value;
    }
    return true;
}

/* A list of extents, of which one may be -1. */
static bool read_shape(const firnc_tree *list, firnc_weight_rule *rule) {
    static const firnc_field extent = {.kind = FIRNC_FIELD_LONG, .low = 1, .high = INT32_MAX};
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next) {
        uint64_t value = FIRNC_WEIGHT_REST;
        if (rule->shape_count == FIRN_RANK_MAX)
            return firnc_tree_fail(list, "has more than %d extents; write fewer", FIRN_RANK_MAX);
        if ((entry->kind != FIRNC_SCALAR || strcmp(entry->text, "-1") != 0) &&
            !firnc_field_whole(entry, &extent, &value))
            return false;
        rule->shape[rule->shape_count++] = (uint32_t)value;
    }
    return rule->order_count == rule->shape_count ||
           firnc_tree_fail(list, "has %u extents, and order has %u axes; write as many", (unsigned)rule->shape_count,
                           (unsigned)rule->order_count);
}

static bool read_rule(const firnc_tree *entry, firnc_weight_rule *rule) {
    if (!firnc_fields_read(entry, rule_fields, sizeof rule_fields / sizeof rule_fields[0], rule))
        return false;
    const firnc_tree *parameter = firnc_tree_child(entry, "parameter"), *ignore = firnc_tree_child(entry, "ignore");
    const firnc_tree *tensors = firnc_tree_child(entry, "tensors"), *sizes = firnc_tree_child(entry, "sizes");
    const firnc_tree *order = firnc_tree_child(entry, "order"), *shape = firnc_tree_child(entry, "shape");
    rule->place = firnc_tree_place(entry);
    if (ignore != NULL) {
        rule->kind = FIRNC_WEIGHT_IGNORED;
        if (firnc_tree_count(entry) != 1)
            return firnc_tree_fail(entry, "ignore stands alone in its rule; write the rest as a rule of its own");
        return read_name(ignore, &rule->tensors[0]);
    }
    if (parameter == NULL || tensors == NULL)
        return firnc_tree_fail(entry, "%s is missing; write parameter and tensors, or ignore",
                               parameter == NULL ? "parameter" : "tensors");
    return read_name(parameter, &rule->parameter) && read_tensors(tensors, rule) &&
           (sizes == NULL || read_sizes(sizes, rule)) && (order == NULL || read_order(order, rule)) &&
           (shape == NULL || read_shape(shape, rule));
}

bool firnc_recipe_weight_map(firnc_recipe *recipe, const firnc_tree *list) {
    firnc_job *job = &recipe->job;
    if (recipe->model->weight_map != NULL)
        job->model_weight_map = recipe->model->weight_map(recipe->settings);
    if (list == NULL)
        return true;
    firnc_weight_rule *rules = firnc_allocate((firnc_tree_count(list) + UINT64_C(1)) * sizeof *rules);
    job->weight_map.rules = rules;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next)
        if (!read_rule(entry, &rules[job->weight_map.count++]))
            return false;
    return true;
}
