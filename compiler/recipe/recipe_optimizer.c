/* trainer.init.optimizer: one class with its settings, under the model zoo's names and with cstorch's defaults, and its
 * `params`, which are groups of parameters with different settings. OPTIMIZERS.md describes each class. */
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/recipe/recipe_parts.h"

typedef struct settings {
    firnc_optimizer_settings optimizer;
    double learning_rate, adjust_learning_rate, adjust_weight_decay;
    bool keep_steps; /* of the older layout; recipe_schedule.c reads it too */
} settings;

#define AT(member) offsetof(settings, optimizer.member)

static const firnc_field optimizer_fields[] = {
    {"learning_rate", .kind = FIRNC_FIELD_OTHER},
    {"lr", .kind = FIRNC_FIELD_OTHER},
    {"params", .kind = FIRNC_FIELD_ENTRIES},
    {"disable_lr_steps_reset", .kind = FIRNC_FIELD_FLAG, offsetof(settings, keep_steps)},
    {"adjust_learning_rate", .kind = FIRNC_FIELD_REFUSED,
     .only = "put the layers into params, each with adjust_learning_rate, and use a ScalePerParamLR"},
};

static const firnc_field group_fields[] = {
    {"params", .kind = FIRNC_FIELD_OTHER, .required = true},
    {"tags", .kind = FIRNC_FIELD_OTHER},
    {"adjust_learning_rate", .kind = FIRNC_FIELD_DOUBLE, offsetof(settings, adjust_learning_rate), 0, 1e30},
    {"adjust_weight_decay", .kind = FIRNC_FIELD_DOUBLE, offsetof(settings, adjust_weight_decay), 0, 1e30},
    {"learning_rate", .kind = FIRNC_FIELD_REFUSED, .only = "give the group tags and a scheduler param_group_tags"},
    {"lr", .kind = FIRNC_FIELD_REFUSED, .only = "give the group tags and a scheduler param_group_tags"},
};

/* Lists of two numbers, as messages show them. */
#define TWO_BETAS    "two numbers, such as [0.9, 0.999]"
#define TWO_ETAS     "two numbers, such as [0.5, 1.2]"
#define TWO_SIZES    "two numbers, such as [1.0e-6, 50]"
#define TWO_EPSILONS "two numbers, such as [1.0e-30, 1.0e-3]"

/* Fields that several classes have. */
#define WEIGHT_DECAY                                                                                                   \
    { "weight_decay", .kind = FIRNC_FIELD_SINGLE, AT(weight_decay), 0, 1e30 }
#define EPSILON                                                                                                        \
    { "eps", .kind = FIRNC_FIELD_SINGLE, AT(epsilon), 0, 1, .above_low = true }
#define BETAS                                                                                                          \
    { "betas", .kind = FIRNC_FIELD_ENTRIES, .only = TWO_BETAS }
#define MAXIMIZE                                                                                                       \
    { "maximize", .kind = FIRNC_FIELD_FLAG, AT(maximize) }
#define MOMENTUM                                                                                                       \
    { "momentum", .kind = FIRNC_FIELD_SINGLE, AT(momentum), 0, 1, .below_high = true }
#define NESTEROV                                                                                                       \
    { "nesterov", .kind = FIRNC_FIELD_FLAG, AT(nesterov) }
#define AMSGRAD                                                                                                        \
    { "amsgrad", .kind = FIRNC_FIELD_FLAG, AT(amsgrad) }

/* The settings of each class. */
static const firnc_field sgd_fields[] = {
    WEIGHT_DECAY, MOMENTUM, NESTEROV, MAXIMIZE, {"dampening", .kind = FIRNC_FIELD_SINGLE, AT(dampening), 0, 1}};
static const firnc_field adam_fields[] = {WEIGHT_DECAY, BETAS, EPSILON, AMSGRAD};
static const firnc_field adamw_fields[] = {
    WEIGHT_DECAY, BETAS, EPSILON, AMSGRAD, {"correct_bias", .kind = FIRNC_FIELD_FLAG, AT(correct_bias)}};
static const firnc_field adafactor_fields[] = {
    WEIGHT_DECAY,
    {"eps", .kind = FIRNC_FIELD_ENTRIES, .only = TWO_EPSILONS},
    {"clip_threshold", .kind = FIRNC_FIELD_SINGLE, AT(clip_threshold), 0, 1e30, .above_low = true},
    {"decay_rate", .kind = FIRNC_FIELD_SINGLE, AT(decay_rate), -1e3, -1e-6},
    {"scale_parameter", .kind = FIRNC_FIELD_FLAG, AT(scale_parameter)},
    {"beta1", .kind = FIRNC_FIELD_REFUSED, .only = "Adafactor keeps no mean of the gradient; leave it null"},
    {"relative_step", .kind = FIRNC_FIELD_FIXED, .only = "false"},
    {"warmup_init", .kind = FIRNC_FIELD_FIXED, .only = "false"}};
static const firnc_field lamb_fields[] = {WEIGHT_DECAY, BETAS, EPSILON, {"adam", .kind = FIRNC_FIELD_FLAG, AT(adam)}};
static const firnc_field lion_fields[] = {WEIGHT_DECAY, BETAS};
static const firnc_field rmsprop_fields[] = {WEIGHT_DECAY,
                                             EPSILON,
                                             MOMENTUM,
                                             {"alpha", .kind = FIRNC_FIELD_SINGLE, AT(alpha), 0, 1, .below_high = true},
                                             {"centered", .kind = FIRNC_FIELD_FLAG, AT(centered)}};
static const firnc_field radam_fields[] = {WEIGHT_DECAY, BETAS, EPSILON};
static const firnc_field nadam_fields[] = {
    WEIGHT_DECAY, BETAS, EPSILON, {"momentum_decay", .kind = FIRNC_FIELD_SINGLE, AT(momentum_decay), 0, 1e30}};
static const firnc_field adamax_fields[] = {WEIGHT_DECAY, BETAS, EPSILON, MAXIMIZE};
static const firnc_field rprop_fields[] = {{"etas", .kind = FIRNC_FIELD_ENTRIES, .only = TWO_ETAS},
                                           {"step_sizes", .kind = FIRNC_FIELD_ENTRIES, .only = TWO_SIZES}};
static const firnc_field adagrad_fields[] = {
    WEIGHT_DECAY,
    EPSILON,
    MAXIMIZE,
    {"lr_decay", .kind = FIRNC_FIELD_SINGLE, AT(lr_decay), 0, 1e30},
    {"initial_accumulator_value", .kind = FIRNC_FIELD_SINGLE, AT(initial_accumulator_value), 0, 1e30}};
static const firnc_field adadelta_fields[] = {
    WEIGHT_DECAY, EPSILON, MAXIMIZE, {"rho", .kind = FIRNC_FIELD_SINGLE, AT(rho), 0, 1, .below_high = true}};
static const firnc_field asgd_fields[] = {WEIGHT_DECAY,
                                          MAXIMIZE,
                                          {"lambd", .kind = FIRNC_FIELD_SINGLE, AT(lambd), 0, 1e30},
                                          {"alpha", .kind = FIRNC_FIELD_SINGLE, AT(alpha), 0, 1e3},
                                          {"t0", .kind = FIRNC_FIELD_SINGLE, AT(t0), 0, 1e30}};
static const firnc_field muon_fields[] = {
    WEIGHT_DECAY, MOMENTUM, NESTEROV, {"ns_steps", .kind = FIRNC_FIELD_WHOLE, AT(ns_steps), 1, 100}};

#undef AT
#undef WEIGHT_DECAY
#undef EPSILON
#undef BETAS
#undef MAXIMIZE
#undef MOMENTUM
#undef NESTEROV
#undef AMSGRAD

#define COUNT(array)  (sizeof(array) / sizeof(array)[0])
#define FIELDS(array) (array), COUNT(array)

/* In the order of OPTIMIZERS.md, which messages use as well. */
static const firnc_choice classes[] = {
    {"SGD", FIRNC_SGD},           {"Adam", FIRNC_ADAM},     {"AdamW", FIRNC_ADAMW},     {"Adafactor", FIRNC_ADAFACTOR},
    {"Lamb", FIRNC_LAMB},         {"Lion", FIRNC_LION},     {"RMSprop", FIRNC_RMSPROP}, {"RAdam", FIRNC_RADAM},
    {"NAdam", FIRNC_NADAM},       {"Adamax", FIRNC_ADAMAX}, {"Rprop", FIRNC_RPROP},     {"Adagrad", FIRNC_ADAGRAD},
    {"Adadelta", FIRNC_ADADELTA}, {"ASGD", FIRNC_ASGD},     {"Muon", FIRNC_MUON},       {NULL, 0}};

/* The keys of each class. */
static const struct {
    const firnc_field *fields;
    uint32_t count;
} class_table[] = {
    [FIRNC_SGD] = {FIELDS(sgd_fields)},           [FIRNC_ADAM] = {FIELDS(adam_fields)},
    [FIRNC_ADAMW] = {FIELDS(adamw_fields)},       [FIRNC_ADAFACTOR] = {FIELDS(adafactor_fields)},
    [FIRNC_LAMB] = {FIELDS(lamb_fields)},         [FIRNC_LION] = {FIELDS(lion_fields)},
    [FIRNC_RMSPROP] = {FIELDS(rmsprop_fields)},   [FIRNC_RADAM] = {FIELDS(radam_fields)},
    [FIRNC_NADAM] = {FIELDS(nadam_fields)},       [FIRNC_ADAMAX] = {FIELDS(adamax_fields)},
    [FIRNC_RPROP] = {FIELDS(rprop_fields)},       [FIRNC_ADAGRAD] = {FIELDS(adagrad_fields)},
    [FIRNC_ADADELTA] = {FIELDS(adadelta_fields)}, [FIRNC_ASGD] = {FIELDS(asgd_fields)},
    [FIRNC_MUON] = {FIELDS(muon_fields)},
};

#undef FIELDS

enum { FIELDS_MAX = 24 };

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* Reads a list of two numbers, one for each of the two fields. */
static bool read_pair(const firnc_tree *list, const char *example, const firnc_field fields[2], float *first,
                      float *second) {
    if (list == NULL)
        return true;
    if (list->kind != FIRNC_LIST || firnc_tree_count(list) != 2)
        return firnc_tree_fail(list, "does not have two entries; write %s", example);
    return firnc_field_single(list->first, &fields[0], first) &&
           firnc_field_single(list->first->next, &fields[1], second);
}

static bool read_pairs(const firnc_tree *mapping, firnc_optimizer_settings *o) {
    static const firnc_field beta[2] = {{.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1, .below_high = true},
                                        {.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1, .below_high = true}};
    static const firnc_field eta[2] = {
        {.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1, .above_low = true, .below_high = true},
        {.kind = FIRNC_FIELD_SINGLE, .low = 1, .high = 1e30, .above_low = true}};
    static const firnc_field size[2] = {{.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1e30},
                                        {.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1e30, .above_low = true}};
    static const firnc_field epsilon[2] = {{.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1, .above_low = true},
                                           {.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1}};
    const firnc_tree *eps = o->kind == FIRNC_ADAFACTOR ? firnc_tree_child(mapping, "eps") : NULL;
    return read_pair(firnc_tree_child(mapping, "betas"), TWO_BETAS, beta, &o->beta1, &o->beta2) &&
           read_pair(firnc_tree_child(mapping, "etas"), TWO_ETAS, eta, &o->eta_minus, &o->eta_plus) &&
           read_pair(firnc_tree_child(mapping, "step_sizes"), TWO_SIZES, size, &o->smallest_step, &o->largest_step) &&
           read_pair(eps, TWO_EPSILONS, epsilon, &o->epsilon, &o->epsilon2);
}

/* Checks that involve more than one field. */
static bool check_settings(const firnc_tree *mapping, const firnc_optimizer_settings *o) {
    if (o->kind == FIRNC_SGD && o->nesterov && (o->momentum == 0 || o->dampening != 0)) {
        const firnc_tree *nesterov = firnc_tree_child(mapping, "nesterov");
        return firnc_tree_fail(nesterov == NULL ? mapping : nesterov,
                               "needs a momentum and no dampening; set momentum above 0 and dampening to 0");
    }
    if (o->smallest_step > o->largest_step)
        return firnc_tree_fail(firnc_tree_child(mapping, "step_sizes"), "begins with the larger; turn them round");
    return true;
}

/* Without a momentum, SGD has no buffer to dampen. */
static void note_idle_dampening(const firnc_tree *mapping, const firnc_optimizer_settings *o) {
    static const firnc_idle_key dampening = {"dampening", "0"};
    if (o->kind == FIRNC_SGD && o->momentum == 0)
        firnc_idle_note_keys(mapping, &dampening, 1, firnc_tree_child(mapping, "momentum"),
                             "there is no momentum; set momentum above 0, or remove this key");
}

/* Reads a mapping that holds the settings of a class and the keys in `more`. */
static bool read_settings(const firnc_tree *mapping, const firnc_field *more, size_t more_count, settings *s) {
    const uint32_t count = class_table[s->optimizer.kind].count;
    firnc_field fields[FIELDS_MAX];
    memcpy(fields, more, more_count * sizeof *more);
    memcpy(fields + more_count, class_table[s->optimizer.kind].fields, count * sizeof *fields);
    return firnc_fields_read(mapping, fields, (uint32_t)(more_count + count), s) &&
           read_pairs(mapping, &s->optimizer) && check_settings(mapping, &s->optimizer);
}

/* Reads lr or learning_rate, which are two names of one setting. */
static bool read_learning_rate(const firnc_tree *mapping, double *learning_rate) {
    static const firnc_field rate = {.kind = FIRNC_FIELD_DOUBLE, .low = 0, .high = 1e30};
    const firnc_tree *lr = firnc_tree_child(mapping, "lr"), *node = firnc_tree_child(mapping, "learning_rate");
    if (lr != NULL && node != NULL)
        return firnc_tree_fail(lr, "is learning_rate by another name, which is there too; remove one of them");
    if (node == NULL)
        node = lr;
    if (node == NULL)
        return true;
    if (node->kind != FIRNC_SCALAR)
        return true; /* a schedule in the older layout; recipe_schedule.c reads it */
    return firnc_field_number(node, &rate, learning_rate);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Reads one word, or a list of words. */
static bool read_words(const firnc_tree *node, const char *what, const char *const **words, uint32_t *count) {
    if (node == NULL)
        return true;
    bool list = node->kind == FIRNC_LIST;
    *count = list ? firnc_tree_count(node) : 1;
    const char **found = firnc_allocate((uint64_t)(*count + 1) * sizeof *found);
    const firnc_tree *entry = list ? node->first : node;
    for (uint32_t i = 0; i < *count; i++, entry = entry->next) {
        if (entry->kind != FIRNC_SCALAR || entry->text[0] == '\0')
            return firnc_tree_fail(entry, "is not %s; write a word, or a list of words", what);
        found[i] = entry->text;
    }
    *words = found;
    return *count > 0 || firnc_tree_fail(node, "is empty; write %s", what);
}

#define TAG_BYTES_MAX 60 /* tags become names in the plan and column heads of the CSV */

/* Tags may contain letters, digits, '_', '-' and '.'. */
static bool check_tags(const firnc_tree *node) {
    const bool list = node != NULL && node->kind == FIRNC_LIST;
    for (const firnc_tree *tag = list ? node->first : node; tag != NULL; tag = list ? tag->next : NULL) {
        const size_t length = strlen(tag->text);
        const size_t good = strspn(tag->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
        if (good != length || length > TAG_BYTES_MAX)
            return firnc_tree_fail(tag, "is not a tag; write at most %d letters, digits, _, - and .", TAG_BYTES_MAX);
    }
    return true;
}

static bool read_group(firnc_job *job, const firnc_tree *entry, const settings *base) {
    uint32_t index = job->group_count++;
    firnc_parameter_group *group = &job->groups[index];
    settings s = *base;
    s.adjust_learning_rate = s.adjust_weight_decay = 1;
    if (!read_settings(entry, group_fields, COUNT(group_fields), &s) ||
        !read_words(firnc_tree_child(entry, "params"), "a pattern of parameter names", &group->patterns,
                    &group->pattern_count) ||
        !read_words(firnc_tree_child(entry, "tags"), "a tag", &group->tags, &group->tag_count) ||
        !check_tags(firnc_tree_child(entry, "tags")))
        return false;
    if (job->mode == FIRNC_TRAIN)
        note_idle_dampening(entry, &s.optimizer);
    group->name = group->tag_count > 0 ? group->tags[0] : firnc_format("params.%u", (unsigned)index);
    group->settings = s.optimizer;
    group->decay_given = firnc_tree_child(entry, "weight_decay") != NULL;
    group->adjust_learning_rate = s.adjust_learning_rate + 0.0;
    group->adjust_weight_decay = s.adjust_weight_decay + 0.0;
    group->place = firnc_tree_place(entry);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(job->groups[i].name, group->name) == 0)
            return firnc_tree_fail(entry, "another group is called \"%s\" too; begin its tags with another word",
                                   group->name);
    return true;
}

static bool read_groups(firnc_job *job, const firnc_tree *list, const settings *base) {
    if (list == NULL)
        return true;
    if (firnc_tree_count(list) > FIRNC_GROUPS_MAX)
        return firnc_tree_fail(list, "more than %d groups; leave some out", FIRNC_GROUPS_MAX);
    for (const firnc_tree *entry = list->first; entry != NULL; entry = entry->next)
        if (!read_group(job, entry, base))
            return false;
    return true;
}

/* --- the optimizer ------------------------------------------------------------------------------------------------ */

bool firnc_recipe_optimizer(firnc_job *job, const firnc_tree *init, double *learning_rate) {
    const firnc_tree *mapping = firnc_tree_child(init, "optimizer");
    *learning_rate = FIRNC_UNSET;
    if (mapping == NULL) {
        if (job->mode == FIRNC_TRAIN)
            return firnc_tree_fail(init, "optimizer is missing; add one of %s", firnc_choices_text(classes));
        return true;
    }
    int class;
    const firnc_tree *entry = firnc_class_read(mapping, classes, "", "optimizer", &class);
    if (entry == NULL)
        return false;
    settings s = {.optimizer = firnc_optimizer_defaults((firnc_optimizer) class),
                  .learning_rate = firnc_optimizer_learning_rate((firnc_optimizer) class)};
    const firnc_tree *groups = NULL;
    if (!firnc_tree_is_null(entry)) {
        if (!read_settings(entry, optimizer_fields, COUNT(optimizer_fields), &s) ||
            !read_learning_rate(entry, &s.learning_rate))
            return false;
        if (job->mode == FIRNC_TRAIN)
            note_idle_dampening(entry, &s.optimizer);
        groups = firnc_tree_child(entry, "params");
    }
    job->optimizer = s.optimizer;
    *learning_rate = s.learning_rate;
    return read_groups(job, groups, &s);
}
