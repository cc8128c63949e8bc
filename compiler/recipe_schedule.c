/* trainer.init.schedulers: a list with one learning-rate schedule, in the model zoo's names, made into the nodes that
 * the plan holds and schedules/ evaluates. */
#include "compiler/recipe_parts.h"

/* Classes that Firn has. The suffix LR may be left out. */
static const firnc_choice classes[] = {{"ConstantLR", FIRN_SCHEDULE_CONSTANT},
                                       {"LinearLR", FIRN_SCHEDULE_LINEAR},
                                       {"CosineDecayLR", FIRN_SCHEDULE_COSINE},
                                       {"SequentialLR", FIRN_SCHEDULE_SEQUENTIAL},
                                       {NULL, 0}};

typedef struct settings {
    double initial, final;
    uint64_t total;
} settings;

static const firnc_field constant_fields[] = {
    {"learning_rate", .kind = FIRNC_FIELD_DOUBLE, offsetof(settings, initial), 0, 1e30, .required = true},
    {"total_iters", .kind = FIRNC_FIELD_LONG, offsetof(settings, total), 1, FIRNC_STEPS_MAX},
};

static const firnc_field decay_fields[] = {
    {"initial_learning_rate", .kind = FIRNC_FIELD_DOUBLE, offsetof(settings, initial), 0, 1e30, .required = true},
    {"end_learning_rate", .kind = FIRNC_FIELD_DOUBLE, offsetof(settings, final), 0, 1e30, .required = true},
    {"total_iters", .kind = FIRNC_FIELD_LONG, offsetof(settings, total), 1, FIRNC_STEPS_MAX, .required = true},
    {"cycle", .kind = FIRNC_FIELD_IGNORED}, /* last: LinearLR only, and without effect in the reference too */
};

static const firnc_field sequential_fields[] = {
    {"schedulers", .kind = FIRNC_FIELD_ENTRIES, .required = true},
    {"milestones", .kind = FIRNC_FIELD_ENTRIES},
    {"last_epoch", .kind = FIRNC_FIELD_FIXED, .only = "-1"},
};

/* The nodes so far. A node's children follow each other, after it. */
typedef struct writer {
    firnc_recipe *recipe;
    uint32_t depth;
} writer;

static bool read_node(writer w, const firnc_tree *entry, uint32_t index, uint64_t *length);

/* Steps are counted from the start of the sequence: child i begins where those before it end. */
static bool read_children(writer w, const firnc_tree *list, firn_schedule_node *node, uint64_t *length) {
    uint64_t start = 0, child_length = 0;
    uint32_t index = node->first_child;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next, index++) {
        if (entry != list->first && child_length == 0)
            return firnc_tree_fail(entry, "the schedule before this one has no end; give it total_iters");
        start += child_length;
        if (!read_node(w, entry, index, &child_length))
            return false;
        w.recipe->schedule.nodes[index].start = start;
    }
    *length = child_length == 0 ? 0 : start + child_length;
    return true;
}

/* Milestones say again what total_iters has said. */
static bool check_milestones(const writer *w, const firnc_tree *list, const firn_schedule_node *node) {
    static const firnc_field milestone = {.kind = FIRNC_FIELD_LONG, .low = 0, .high = FIRNC_STEPS_MAX};
    if (list == NULL)
        return true;
    if (firnc_tree_count(list) != (uint32_t)node->child_count - 1)
        return firnc_tree_fail(list, "%u milestones for %u schedules; leave milestones out, total_iters says the same",
                               (unsigned)firnc_tree_count(list), (unsigned)node->child_count);
    uint32_t child = node->first_child + 1;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next, child++) {
        uint64_t value, start = w->recipe->schedule.nodes[child].start;
        if (!firnc_field_whole(entry, &milestone, &value))
            return false;
        if (value != start)
            return firnc_tree_fail(entry,
                                   "the total_iters before it add up to %llu; write that, or leave milestones out",
                                   (unsigned long long)start);
    }
    return true;
}

static bool read_sequential(writer w, const firnc_tree *mapping, uint32_t index, uint64_t *length) {
    if (!firnc_fields_read(mapping, sequential_fields, sizeof sequential_fields / sizeof sequential_fields[0], NULL))
        return false;
    const firnc_tree *list = firnc_tree_child(mapping, "schedulers");
    uint32_t count = firnc_tree_count(list);
    if (count == 0)
        return firnc_tree_fail(list, "is empty; add a schedule");
    if (w.depth == FIRN_SCHEDULE_DEPTH)
        return firnc_tree_fail(list, "sequences are nested deeper than %d; make them flatter", FIRN_SCHEDULE_DEPTH);
    if (count > FIRNC_NODES_MAX - w.recipe->schedule.count)
        return firnc_tree_fail(list, "more than %d schedules; leave some out", FIRNC_NODES_MAX);
    firn_schedule_node *node = &w.recipe->schedule.nodes[index];
    node->kind = FIRN_SCHEDULE_SEQUENTIAL;
    node->child_count = (uint16_t)count;
    node->first_child = (uint16_t)w.recipe->schedule.count;
    w.recipe->schedule.count += count;
    w.depth++;
    return read_children(w, list, node, length) && check_milestones(&w, firnc_tree_child(mapping, "milestones"), node);
}

static bool read_leaf(writer w, const firnc_tree *mapping, int class, uint32_t index, uint64_t *length) {
    settings s = {0};
    const firnc_field *fields = decay_fields;
    size_t count = sizeof decay_fields / sizeof *fields;
    if (class == FIRN_SCHEDULE_CONSTANT) {
        fields = constant_fields;
        count = sizeof constant_fields / sizeof *fields;
    } else if (class == FIRN_SCHEDULE_COSINE) {
        count--;
    }
    if (!firnc_fields_read(mapping, fields, (uint32_t)count, &s))
        return false;
    w.recipe->schedule.nodes[index] = (firn_schedule_node){
        .kind = (uint16_t) class, .total = s.total, .initial = s.initial + 0.0, .final = s.final + 0.0};
    *length = s.total;
    return true;
}

static bool read_node(writer w, const firnc_tree *entry, uint32_t index, uint64_t *length) {
    int class;
    const firnc_tree *mapping = firnc_class_read(entry, classes, "LR", &class);
    if (mapping == NULL)
        return false;
    if (class == FIRN_SCHEDULE_SEQUENTIAL)
        return read_sequential(w, mapping, index, length);
    return read_leaf(w, mapping, class, index, length);
}

firn_schedule_list firnc_recipe_schedules(const firnc_recipe *recipe) {
    return (firn_schedule_list){.nodes = recipe->schedule.nodes,
                                .numbers = recipe->schedule.numbers,
                                .instructions = recipe->schedule.instructions,
                                .node_count = recipe->schedule.count,
                                .number_count = recipe->schedule.number_count,
                                .instruction_count = recipe->schedule.instruction_count};
}

bool firnc_recipe_schedule(firnc_recipe *recipe, const firnc_tree *init, double learning_rate) {
    const firnc_tree *list = firnc_tree_child(init, "schedulers");
    recipe->schedule.count = 1;
    if (list == NULL || list->first == NULL) {
        if (learning_rate < 0 && recipe->mode == FIRNC_TRAIN)
            return firnc_tree_fail(init, "there is no learning rate; add schedulers, or lr to the optimizer");
        recipe->schedule.nodes[0] =
            (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = learning_rate < 0 ? 0 : learning_rate};
        return true;
    }
    if (list->first->next != NULL)
        return firnc_tree_fail(list->first->next,
                               "a second schedule of the learning rate; put both below one SequentialLR");
    uint64_t length;
    if (!read_node((writer){.recipe = recipe, .depth = 1}, list->first, 0, &length))
        return false;
    firn_schedule_list made = firnc_recipe_schedules(recipe);
    uint32_t fault = firn_schedule_check(&made);
    if (fault != 0)
        return firnc_tree_fail(list, "schedule node %u is malformed; this is a bug of firnc", (unsigned)fault - 1);
    return true;
}
