/* trainer.init.schedulers and, in the older layout, the optimizer's learning_rate: translates schedules under the model
 * zoo's names into the nodes that the plan holds and schedules/ evaluates. This file reads the classes that combine
 * other schedules and assigns schedules to parameters; recipe_schedule_leaves.c reads all other classes.
 * schedules/SCHEDULES.md describes every class. */
#include <string.h>

#include "compiler/recipe/recipe_schedule_parts.h"

#define NESTING_MAX 8 /* nesting depth of lists of schedules; a level takes up to two nodes, a leaf up to three */

/* Indices of the combining classes, which follow those of the leaves. */
enum { SEQUENTIAL = FIRNC_SCHEDULE_LEAVES, CHAINED, SCALED, CLASSES };

_Static_assert(FIRN_SCHEDULE_DEPTH >= 2 * NESTING_MAX + 3, "every schedule that is read can be evaluated");

/* --- the recipe's lists ------------------------------------------------------------------------------------------- */

/* --- classes that are made of others ------------------------------------------------------------------------------ */

/* Reads the fields of a class that combines other schedules. */
static bool read_list_fields(const firnc_schedule_reader *r, const firnc_tree *mapping, const firnc_field *own,
                             uint32_t count) {
    firnc_field fields[8];
    memcpy(fields, own, count * sizeof *own);
    count += firnc_schedule_common_fields(fields + count, r);
    return firnc_fields_read(mapping, fields, count, NULL);
}

static bool read_node(const firnc_schedule_reader *around, const firnc_tree *entry, uint32_t index,
                      firnc_schedule_traits *traits);

/* Makes the reader for the entries of a list. Returns false if the list is nested too deeply. */
static bool go_inside(const firnc_schedule_reader *r, const firnc_tree *at, firnc_schedule_reader *inside) {
    *inside = *r;
    inside->depth++;
    return inside->depth <= NESTING_MAX ||
           firnc_tree_fail(at, "schedules are nested deeper than %d; make them flatter", NESTING_MAX);
}

/* Finds the step at which the child before `milestone` ends. total_iters gives it, or the milestone, or both, which
 * must then agree. */
static bool find_end(const firnc_tree *next, uint64_t start, uint64_t length, const firnc_tree *milestone,
                     uint64_t *end) {
    if (milestone == NULL) {
        if (length == 0)
            return firnc_tree_fail(next, "the schedule before this one has no end; give it total_iters");
        *end = start + length;
        return true;
    }
    uint64_t sum = start + length;
    if (!firnc_schedule_steps(milestone, 0, end))
        return false;
    if (length != 0 && *end != sum)
        return firnc_tree_fail(milestone,
                               "the total_iters before it add up to %llu; write that, or leave milestones out",
                               (unsigned long long)sum);
    if (*end == 0)
        return firnc_tree_fail(milestone, "is 0, and the schedule before it would have no step; write at least 1");
    return *end > start ||
           firnc_tree_fail(milestone, "is not after the milestone before it; put them in ascending order");
}

/* Reads the children of a sequence. Steps are counted from the start of the sequence, and each child begins where the
 * previous one ends (find_end). */
static bool read_children(const firnc_schedule_reader *r, const firnc_tree *list, const firnc_tree *milestones,
                          uint32_t first, firnc_schedule_traits *traits) {
    const firnc_tree *milestone = milestones == NULL ? NULL : milestones->first;
    uint64_t start = 0;
    firnc_schedule_traits child = {0};
    uint32_t index = first;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next, index++) {
        if (entry != list->first) {
            if (!find_end(entry, start, child.length, milestone, &start))
                return false;
            milestone = milestone == NULL ? NULL : milestone->next;
        }
        if (!read_node(r, entry, index, &child) ||
            (r->keep_steps && !firnc_schedule_keep_steps(r, entry, index, start)))
            return false;
        r->job->schedule.nodes[index].start = start;
        if (entry == list->first)
            traits->initial = child.initial;
    }
    traits->length = child.length == 0 ? 0 : start + child.length;
    return true;
}

/* Fills a node whose children, one for each entry of a list, are appended to the list of nodes. */
static bool add_children(const firnc_schedule_reader *r, const firnc_tree *list, uint32_t index,
                         firn_schedule_node node, uint32_t *first) {
    uint32_t count = firnc_tree_count(list);
    if (list->kind != FIRNC_LIST || list->first == NULL)
        return firnc_tree_fail(list, list->kind != FIRNC_LIST ? "is not a list; put schedules below it"
                                                              : "is empty; add a schedule");
    if (!firnc_schedule_add_nodes(r, list, count, first))
        return false;
    node.first_child = (uint16_t)*first;
    node.child_count = (uint16_t)count;
    r->job->schedule.nodes[index] = node;
    return true;
}

static bool read_sequence(const firnc_schedule_reader *r, const firnc_tree *list, const firnc_tree *milestones,
                          uint32_t index, firnc_schedule_traits *traits) {
    firnc_schedule_reader inside;
    uint32_t first = 0, count = firnc_tree_count(list);
    if (!go_inside(r, list, &inside) ||
        !add_children(r, list, index, (firn_schedule_node){.kind = FIRN_SCHEDULE_SEQUENTIAL}, &first))
        return false;
    if (milestones != NULL && firnc_tree_count(milestones) != count - 1)
        return firnc_tree_fail(milestones,
                               "%u milestones for %u schedules; leave milestones out, total_iters says the same",
                               (unsigned)firnc_tree_count(milestones), (unsigned)count);
    return read_children(&inside, list, milestones, first, traits);
}

/* Reads a factor of a chain: a product of one child, divided by the child's initial value. */
static bool read_chained_factor(const firnc_schedule_reader *inside, const firnc_tree *entry, uint32_t index,
                                firnc_schedule_traits *traits) {
    firnc_schedule_traits child = {0};
    uint32_t below = 0;
    if (!firnc_schedule_add_nodes(inside, entry, 1, &below) || !read_node(inside, entry, below, &child))
        return false;
    if (child.initial == 0)
        return firnc_tree_fail(entry, "begins at 0, and a chain divides by where a schedule begins; put it first");
    if (!(child.initial <= FIRNC_SINGLE_MAX))
        return firnc_tree_fail(entry,
                               "begins at %.9g once it is adjusted, and a chain divides by it; lower where it begins, "
                               "or adjust_%s, so that it begins at 3.4e38 at most",
                               child.initial, inside->weight_decay ? "weight_decay" : "learning_rate");
    inside->job->schedule.nodes[index] = (firn_schedule_node){.kind = FIRN_SCHEDULE_PRODUCT,
                                                              .first_child = (uint16_t)below,
                                                              .child_count = 1,
                                                              .initial = 1,
                                                              .final = child.initial};
    if (child.length == 0 || traits->length == 0)
        traits->length = 0;
    else if (child.length > traits->length)
        traits->length = child.length;
    return true;
}

/* Reads a chain: s0(t), multiplied by s(t)/s.initial for each of the other schedules s. */
static bool read_chain(const firnc_schedule_reader *r, const firnc_tree *list, uint32_t index,
                       firnc_schedule_traits *traits) {
    firnc_schedule_reader inside;
    uint32_t at = 0;
    const firn_schedule_node product = {.kind = FIRN_SCHEDULE_PRODUCT, .initial = 1, .final = 1};
    if (!go_inside(r, list, &inside) || !add_children(r, list, index, product, &at))
        return false;
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next, at++) {
        bool good = entry == list->first ? read_node(&inside, entry, at, traits)
                                         : read_chained_factor(&inside, entry, at, traits);
        if (!good)
            return false;
    }
    return true;
}

static bool read_sequential(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t index,
                            firnc_schedule_traits *traits) {
    static const firnc_field fields[] = {
        {"schedulers", .kind = FIRNC_FIELD_ENTRIES, .required = true},
        {"milestones", .kind = FIRNC_FIELD_ENTRIES},
        {"last_epoch", .kind = FIRNC_FIELD_FIXED, .only = "-1"},
    };
    return read_list_fields(r, mapping, fields, sizeof fields / sizeof fields[0]) &&
           read_sequence(r, firnc_tree_child(mapping, "schedulers"), firnc_tree_child(mapping, "milestones"), index,
                         traits);
}

static bool read_chained(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t index,
                         firnc_schedule_traits *traits) {
    static const firnc_field fields[] = {{"schedulers", .kind = FIRNC_FIELD_ENTRIES, .required = true}};
    return read_list_fields(r, mapping, fields, sizeof fields / sizeof fields[0]) &&
           read_chain(r, firnc_tree_child(mapping, "schedulers"), index, traits);
}

static bool read_scaled(const firnc_schedule_reader *r, const firnc_tree *mapping, uint32_t index,
                        firnc_schedule_traits *traits) {
    static const firnc_field fields[] = {{"scheduler", .kind = FIRNC_FIELD_NESTED, .required = true}};
    const firnc_tree *scheduler = firnc_tree_child(mapping, "scheduler");
    firnc_schedule_reader inside;
    uint32_t below = 0;
    if (!read_list_fields(r, mapping, fields, 1) || !go_inside(r, mapping, &inside) ||
        !firnc_schedule_add_nodes(r, mapping, 1, &below) || !read_node(&inside, scheduler, below, traits))
        return false;
    r->job->schedule.nodes[index] = (firn_schedule_node){.kind = FIRN_SCHEDULE_PRODUCT,
                                                         .first_child = (uint16_t)below,
                                                         .child_count = 1,
                                                         .initial = r->adjustment,
                                                         .final = 1};
    traits->initial *= r->adjustment;
    *r->adjusted = true;
    return true;
}

/* --- any class ---------------------------------------------------------------------------------------------------- */

/* Lists the names of all classes. The index of a weight decay class is that of its learning rate twin plus CLASSES. */
static void list_classes(firnc_choice *choices) {
    static const char *const names[2][CLASSES - FIRNC_SCHEDULE_LEAVES] = {
        {"SequentialLR", "ChainedLR", "ScalePerParamLR"}, {"SequentialWD", "ChainedWD", "ScalePerParamWD"}};
    for (int decay = 0; decay < 2; decay++) {
        firnc_choice *first = choices;
        choices += firnc_schedule_leaf_choices(choices, decay == 1);
        for (int i = FIRNC_SCHEDULE_LEAVES; i < CLASSES; i++)
            *choices++ = (firnc_choice){names[decay][i - FIRNC_SCHEDULE_LEAVES], i};
        for (; first < choices; first++)
            first->value += decay * CLASSES;
    }
    *choices++ = (firnc_choice){"ChainedScheduler", CHAINED};
    *choices = (firnc_choice){NULL, 0};
}

/* Returns the settings of an entry and stores its class: {LinearLR: {...}}, or in the older layout {scheduler: Linear,
 * ...}. Returns NULL after one line on stderr. */
static const firnc_tree *read_class(const firnc_tree *entry, int *class) {
    firnc_choice choices[2 * CLASSES + 2];
    list_classes(choices);
    const firnc_tree *word = entry->kind == FIRNC_MAPPING ? firnc_tree_child(entry, "scheduler") : NULL;
    const char *key = word != NULL ? word->text : entry->first != NULL ? entry->first->key : NULL;
    if (key != NULL && firnc_same_word(key, "ReduceLROnPlateau")) {
        firnc_tree_fail(word != NULL ? word : entry->first,
                        "follows the losses of evaluations, and a plan's rates are known before its run; write "
                        "MultiStepLR or CosineDecayLR");
        return NULL;
    }
    if (word == NULL)
        return firnc_class_read(entry, choices, "LR", "schedule", class);
    if (word->kind != FIRNC_SCALAR) {
        firnc_tree_fail(word, "is not a name; write one such as Linear");
        return NULL;
    }
    return firnc_class_find(word, word->text, choices, "LR", class) ? entry : NULL;
}

/* The name of a class, without regard to how the recipe spells it. */
static const char *name_of_class(int class) {
    firnc_choice choices[2 * CLASSES + 2];
    list_classes(choices);
    const firnc_choice *choice = choices;
    while (choice->value != class)
        choice++;
    return choice->word;
}

static bool read_node(const firnc_schedule_reader *around, const firnc_tree *entry, uint32_t index,
                      firnc_schedule_traits *traits) {
    firnc_schedule_reader here = *around, *r = &here;
    int class;
    const firnc_tree *mapping = read_class(entry, &class);
    if (mapping == NULL)
        return false;
    if ((class >= CLASSES) != r->weight_decay)
        return firnc_tree_fail(mapping, "is a schedule of the %s inside one of the %s; both must be of one kind",
                               r->weight_decay ? "learning rate" : "weight decay",
                               r->weight_decay ? "weight decay" : "learning rate");
    *traits = (firnc_schedule_traits){0};
    r->named = mapping == entry;
    r->job->schedule.sources[index] = (firnc_schedule_source){name_of_class(class), firnc_tree_place(mapping), mapping};
    switch (class % CLASSES) {
    case SEQUENTIAL:
        return read_sequential(r, mapping, index, traits);
    case CHAINED:
        return read_chained(r, mapping, index, traits);
    case SCALED:
        return read_scaled(r, mapping, index, traits);
    default:
        return firnc_schedule_read_leaf(r, mapping, (uint32_t)(class % CLASSES), index, traits);
    }
}

/* --- the older layout: optimizer.learning_rate -------------------------------------------------------------------- */

static const firnc_choice main_schedulers[] = {{"sequential", 0}, {"chained", 1}, {NULL, 0}};

/* The settings of the optimizer's class. */
static const firnc_tree *optimizer_settings(const firnc_tree *init) {
    const firnc_tree *optimizer = firnc_tree_child(init, "optimizer");
    return optimizer == NULL ? NULL : optimizer->first;
}

/* The optimizer's learning_rate or lr if it is a schedule; NULL if it is absent or a number. */
static const firnc_tree *older_learning_rate(const firnc_tree *init) {
    const firnc_tree *settings = optimizer_settings(init), *node = firnc_tree_child(settings, "learning_rate");
    if (node == NULL)
        node = firnc_tree_child(settings, "lr");
    return node == NULL || node->kind == FIRNC_SCALAR ? NULL : node;
}

/* Reads main_scheduler of a mapping, which must agree with an earlier one; *said is -1 if there was none. */
static bool read_main_scheduler(const firnc_tree *node, int *said) {
    const firnc_tree *word = node->kind == FIRNC_MAPPING ? firnc_tree_child(node, "main_scheduler") : NULL;
    int chained = 0;
    if (word == NULL)
        return true;
    if (!firnc_field_choice(word, main_schedulers, &chained))
        return false;
    if (*said >= 0 && *said != chained)
        return firnc_tree_fail(word, "%s contradicts another main_scheduler of these schedules; remove one of the two",
                               word->text);
    *said = chained;
    return true;
}

/* main_scheduler may stand beside a list of schedules or in its entries. Beside the name of a class it must agree with
 * the class. */
static bool read_main_schedulers(const firnc_tree *node, bool *chained) {
    const firnc_tree *list = node->kind == FIRNC_MAPPING ? firnc_tree_child(node, "schedulers") : node;
    int said = -1, class;
    if (node->kind == FIRNC_MAPPING && firnc_tree_child(node, "scheduler") != NULL) {
        list = NULL; /* the list belongs to another class, whose reader handles it */
        if (read_class(node, &class) == NULL)
            return false;
        said = class == SEQUENTIAL ? 0 : class == CHAINED ? 1 : -1;
    }
    if (!read_main_scheduler(node, &said))
        return false;
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next)
        if (!read_main_scheduler(entry, &said))
            return false;
    *chained = said == 1;
    return true;
}

/* Refuses param_group_tags: a schedule in the older layout applies to all parameters. */
static bool is_for_all(const firnc_tree *schedule) {
    const firnc_tree *tags = schedule->kind == FIRNC_MAPPING ? firnc_tree_child(schedule, "param_group_tags") : NULL;
    return tags == NULL || firnc_tree_fail(tags, "is for trainer.init.schedulers; write the schedule there");
}

/* Whether the optimizer's disable_lr_steps_reset is true; recipe_optimizer.c has read it. */
static bool keeps_steps(const firnc_tree *init) {
    const firnc_tree *flag = firnc_tree_child(optimizer_settings(init), "disable_lr_steps_reset");
    return flag != NULL && firnc_same_word(flag->text, "true");
}

/* Reads one schedule; or a list of schedules, which run one after another unless main_scheduler is chained; or a
 * mapping of main_scheduler and such a list. */
static bool read_older(const firnc_schedule_reader *own, const firnc_tree *init, const firnc_tree *node,
                       uint32_t index) {
    static const firnc_field fields[] = {{"main_scheduler", .kind = FIRNC_FIELD_OTHER},
                                         {"schedulers", .kind = FIRNC_FIELD_ENTRIES, .required = true}};
    firnc_schedule_reader here = *own, *r = &here;
    firnc_schedule_traits traits = {0};
    const firnc_tree *list = node;
    bool chained = false;
    r->older = true;
    r->keep_steps = keeps_steps(init);
    if (!read_main_schedulers(node, &chained) || !is_for_all(node) ||
        (node->kind == FIRNC_LIST && node->first != NULL && !is_for_all(node->first)))
        return false;
    if (node->kind == FIRNC_MAPPING && firnc_tree_child(node, "scheduler") != NULL)
        return read_node(r, node, index, &traits);
    if (node->kind == FIRNC_MAPPING) {
        if (!firnc_fields_read(node, fields, sizeof fields / sizeof fields[0], NULL))
            return false;
        list = firnc_tree_child(node, "schedulers");
    }
    if (list->first != NULL && list->first->next == NULL)
        return read_node(r, list->first, index, &traits);
    r->job->schedule.sources[index] =
        (firnc_schedule_source){name_of_class(chained ? CHAINED : SEQUENTIAL), firnc_tree_place(list), list};
    return chained ? read_chain(r, list, index, &traits) : read_sequence(r, list, NULL, index, &traits);
}

/* --- which parameters a schedule is for --------------------------------------------------------------------------- */

/* Names an entry for messages: entry 0 is the parameters that no group of the optimizer takes, entry i is group i -
 * 1. */
static const char *entry_name(const firnc_job *job, uint32_t entry) {
    return entry == 0 ? "the parameters that no group takes" : firnc_format("group %s", job->groups[entry - 1].name);
}

/* A null tag matches entries without tags. */
static bool has_tag(const firnc_job *job, uint32_t entry, const firnc_tree *tag) {
    uint32_t count = entry == 0 ? 0 : job->groups[entry - 1].tag_count;
    if (firnc_tree_is_null(tag))
        return count == 0;
    for (uint32_t i = 0; i < count; i++)
        if (tag->kind == FIRNC_SCALAR && strcmp(job->groups[entry - 1].tags[i], tag->text) == 0)
            return true;
    return false;
}

/* Whether a schedule applies to an entry. A schedule without tags applies to all entries. */
static bool is_for(const firnc_job *job, uint32_t entry, const firnc_tree *tags) {
    if (tags == NULL || tags->kind == FIRNC_SCALAR)
        return tags == NULL || has_tag(job, entry, tags);
    for (const firnc_tree *tag = tags->first; tag != NULL; tag = tag->next)
        if (has_tag(job, entry, tag))
            return true;
    return false;
}

/* Refuses a tag that no group has: it must be a typing mistake. */
static bool check_tags(const firnc_job *job, const firnc_tree *tags) {
    bool list = tags != NULL && tags->kind == FIRNC_LIST;
    if (list && tags->first == NULL)
        return firnc_tree_fail(tags, "is empty; write tags of the optimizer's params, or leave it out");
    for (const firnc_tree *tag = list ? tags->first : tags; tag != NULL; tag = list ? tag->next : NULL) {
        bool found = false;
        for (uint32_t entry = 0; entry <= job->group_count; entry++)
            found = found || has_tag(job, entry, tag);
        if (!found)
            return firnc_tree_fail(tag, "is no tag of a group; write one of the optimizer's params");
    }
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Finds the root of a schedule for an entry, or adds one. *fresh: the root is new and its node has not been filled
 * yet. */
static bool find_root(firnc_schedule_reader *r, const firnc_tree *source, uint32_t entry, uint32_t *root, bool *fresh) {
    firnc_job *job = r->job;
    for (*root = 0; *root < job->schedule.root_count; ++*root) {
        const firnc_schedule_root *other = &job->schedule.roots[*root];
        *fresh = false;
        if (other->source == source && other->weight_decay == r->weight_decay &&
            (!other->adjusted || other->adjustment == r->adjustment))
            return true;
    }
    *fresh = true;
    const char *key = r->weight_decay ? "weight_decay" : "learning_rate";
    firnc_schedule_root *made = &job->schedule.roots[job->schedule.root_count++];
    *made = (firnc_schedule_root){.name = entry == 0 ? key : firnc_format("%s.%s", key, job->groups[entry - 1].name),
                                  .weight_decay = r->weight_decay,
                                  .source = source,
                                  .adjustment = r->adjustment};
    r->adjusted = &made->adjusted;
    return firnc_schedule_add_nodes(r, source, 1, &made->node);
}

/* Sets the learning rate of an entry that no schedule applies to, from the optimizer's own setting in either layout. */
static bool read_learning_rate(firnc_schedule_reader *r, const firnc_tree *init, double learning_rate, uint32_t entry) {
    const firnc_tree *older = older_learning_rate(init);
    bool fresh;
    uint32_t root;
    if (!find_root(r, older == NULL ? init : older, entry, &root, &fresh))
        return false;
    r->job->schedule.rate_of[entry] = root;
    uint32_t node = r->job->schedule.roots[root].node;
    if (!fresh)
        return true;
    if (older != NULL)
        return read_older(r, init, older, node);
    if (learning_rate < 0 && r->job->mode == FIRNC_TRAIN)
        return firnc_tree_fail(init, "there is no learning rate for %s; add schedulers, or lr to the optimizer",
                               r->job->group_count == 0 ? "the run" : entry_name(r->job, entry));
    r->job->schedule.nodes[node] =
        (firn_schedule_node){.kind = FIRN_SCHEDULE_CONSTANT, .initial = learning_rate < 0 ? 0 : learning_rate + 0.0};
    return true;
}

/* Reads one entry of trainer.init.schedulers and assigns it to the entries that it applies to. A second schedule of the
 * same kind for an entry is an error. */
static bool read_scheduler(firnc_schedule_reader *r, const firnc_tree *scheduler, uint32_t *of) {
    firnc_job *job = r->job;
    firnc_schedule_traits traits;
    int class;
    const firnc_tree *settings = read_class(scheduler, &class);
    if (settings == NULL)
        return false;
    if ((class >= CLASSES) != r->weight_decay)
        return true;
    if (r->weight_decay && job->optimizer.kind == FIRNC_RPROP)
        return firnc_tree_fail(scheduler, "Rprop has no weight decay; remove the schedule of it");
    const firnc_tree *tags = firnc_tree_child(settings, "param_group_tags");
    if (!check_tags(job, tags))
        return false;
    for (uint32_t entry = 0; entry <= job->group_count; entry++) {
        bool fresh;
        if (!is_for(job, entry, tags))
            continue;
        if (of[entry] != FIRNC_NONE)
            return firnc_tree_fail(
                scheduler, "a second schedule of the %s for %s; put both below one %s, or give them param_group_tags",
                r->weight_decay ? "weight decay" : "learning rate", entry_name(job, entry),
                r->weight_decay ? "SequentialWD" : "SequentialLR");
        r->adjustment = 1;
        if (entry > 0)
            r->adjustment = r->weight_decay ? job->groups[entry - 1].adjust_weight_decay
                                            : job->groups[entry - 1].adjust_learning_rate;
        if (!find_root(r, scheduler, entry, &of[entry], &fresh) ||
            (fresh && !read_node(r, scheduler, job->schedule.roots[of[entry]].node, &traits)))
            return false;
    }
    return true;
}

static bool read_schedulers(firnc_job *job, const firnc_tree *list, bool weight_decay, uint32_t *of) {
    firnc_schedule_reader r = {.job = job, .weight_decay = weight_decay};
    for (uint32_t entry = 0; entry <= job->group_count; entry++)
        of[entry] = FIRNC_NONE;
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next)
        if (!read_scheduler(&r, entry, of))
            return false;
    return true;
}

static bool is_adjusted(const firnc_job *job, uint32_t root) {
    return root != FIRNC_NONE && job->schedule.roots[root].adjusted;
}

/* Notes factors of groups that have no effect: as in the reference, only a ScalePerParam schedule applies them. */
static void note_idle_factors(const firnc_job *job, const firnc_tree *init) {
    static const firnc_idle_key rate = {"adjust_learning_rate", "1"}, decay = {"adjust_weight_decay", "1"};
    const firnc_tree *list = firnc_tree_child(optimizer_settings(init), "params");
    const firnc_tree *group = list == NULL ? NULL : list->first, *cause = firnc_tree_child(init, "schedulers");
    for (uint32_t entry = 1; group != NULL; entry++, group = group->next) {
        if (!is_adjusted(job, job->schedule.rate_of[entry]))
            firnc_idle_note_keys(group, &rate, 1, cause,
                                 "no ScalePerParamLR is for this group; add one, or remove this key");
        if (!is_adjusted(job, job->schedule.decay_of[entry]))
            firnc_idle_note_keys(group, &decay, 1, cause,
                                 "no ScalePerParamWD is for this group; add one, or remove this key");
    }
}

/* Notes a constant of the optimizer in whose place all the parameters that it is for have a schedule. */
static void note_idle_constants(const firnc_job *job, const firnc_tree *init, bool rate_is_used) {
    static const firnc_idle_key rates[] = {{"learning_rate", NULL}, {"lr", NULL}}, decay = {"weight_decay", NULL};
    static const firnc_idle_key keep = {"disable_lr_steps_reset", "false"};
    const firnc_tree *cause = firnc_tree_child(init, "schedulers"), *settings = optimizer_settings(init);
    bool decay_is_used = false;
    for (uint32_t entry = 0; entry <= job->group_count; entry++)
        decay_is_used = decay_is_used || (job->schedule.decay_of[entry] == FIRNC_NONE &&
                                          (entry == 0 || !job->groups[entry - 1].decay_given));
    if (older_learning_rate(init) == NULL || older_learning_rate(init)->kind != FIRNC_LIST)
        firnc_idle_note_keys(settings, &keep, 1, cause, "it is for a list of schedules in learning_rate; remove it");
    if (!rate_is_used)
        firnc_idle_note_keys(settings, rates, sizeof rates / sizeof rates[0], cause,
                             "trainer.init.schedulers has the learning rate of every parameter; remove one of the two");
    if (!decay_is_used)
        firnc_idle_note_keys(settings, &decay, 1, cause,
                             "trainer.init.schedulers has the weight decay of every parameter; remove one of the two");
}

bool firnc_recipe_schedule(firnc_job *job, const firnc_tree *init, double learning_rate) {
    const firnc_tree *list = firnc_tree_child(init, "schedulers"), *older = older_learning_rate(init);
    firnc_schedule_reader own = {.job = job, .adjustment = 1};
    bool rate_is_used = false;
    job->schedule.sources = firnc_allocate(FIRNC_NODES_MAX * sizeof *job->schedule.sources);
    if (!read_schedulers(job, list, false, job->schedule.rate_of))
        return false;
    if (job->schedule.root_count > 0 && older != NULL)
        return firnc_tree_fail(older, "is a schedule beside one in trainer.init.schedulers; remove one of them");
    for (uint32_t entry = 0; entry <= job->group_count; entry++) {
        own.adjustment = entry == 0 ? 1 : job->groups[entry - 1].adjust_learning_rate;
        if (job->schedule.rate_of[entry] != FIRNC_NONE)
            continue;
        rate_is_used = true;
        if (!read_learning_rate(&own, init, learning_rate, entry))
            return false;
    }
    if (!read_schedulers(job, list, true, job->schedule.decay_of))
        return false;
    firn_schedule_list made = firnc_job_schedules(job);
    uint32_t fault = firn_schedule_check(&made);
    if (fault != 0)
        return firnc_tree_fail(init, "schedule node %u is malformed; this is a bug of firnc", (unsigned)fault - 1);
    if (job->mode == FIRNC_TRAIN) {
        note_idle_factors(job, init);
        note_idle_constants(job, init, rate_is_used);
    }
    return true;
}
