/* trainer.init.optimizer: one class with its settings, in the model zoo's names and with cstorch's defaults. */
#include "compiler/recipe_parts.h"

static const firnc_choice classes[] = {{"AdamW", FIRNC_ADAMW}, {"SGD", FIRNC_SGD}, {NULL, 0}};

typedef struct settings {
    firnc_optimizer_settings optimizer;
    double learning_rate;
} settings;

#define AT(member) offsetof(settings, optimizer.member)

static const firnc_field adamw_fields[] = {
    {"learning_rate", .kind = FIRNC_FIELD_OTHER},
    {"lr", .kind = FIRNC_FIELD_OTHER},
    {"betas", .kind = FIRNC_FIELD_ENTRIES},
    {"eps", .kind = FIRNC_FIELD_SINGLE, AT(epsilon), 0, 1, .above_low = true},
    {"weight_decay", .kind = FIRNC_FIELD_SINGLE, AT(weight_decay), 0, 1e30},
    {"correct_bias", .kind = FIRNC_FIELD_FLAG, AT(correct_bias)},
    {"amsgrad", .kind = FIRNC_FIELD_FIXED, .only = "false"},
};

static const firnc_field sgd_fields[] = {
    {"learning_rate", .kind = FIRNC_FIELD_OTHER},
    {"lr", .kind = FIRNC_FIELD_OTHER},
    {"momentum", .kind = FIRNC_FIELD_SINGLE, AT(momentum), 0, 1, .below_high = true},
    {"dampening", .kind = FIRNC_FIELD_SINGLE, AT(dampening), 0, 1},
    {"weight_decay", .kind = FIRNC_FIELD_SINGLE, AT(weight_decay), 0, 1e30},
    {"nesterov", .kind = FIRNC_FIELD_FLAG, AT(nesterov)},
    {"maximize", .kind = FIRNC_FIELD_FLAG, AT(maximize)},
};

#undef AT

static bool read_betas(const firnc_tree *list, firnc_optimizer_settings *optimizer) {
    static const firnc_field beta = {.kind = FIRNC_FIELD_SINGLE, .low = 0, .high = 1, .below_high = true};
    if (list == NULL)
        return true;
    if (firnc_tree_count(list) != 2)
        return firnc_tree_fail(list, "does not have two entries; write [0.9, 0.999]");
    return firnc_field_single(list->first, &beta, &optimizer->beta1) &&
           firnc_field_single(list->first->next, &beta, &optimizer->beta2);
}

/* lr and learning_rate are one setting. */
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
        return firnc_tree_fail(node, "is not a number; schedules stand under trainer.init.schedulers");
    return firnc_field_number(node, &rate, learning_rate);
}

static bool read_settings(const firnc_tree *mapping, settings *s) {
    bool adamw = s->optimizer.kind == FIRNC_ADAMW;
    const firnc_field *fields = adamw ? adamw_fields : sgd_fields;
    size_t count = adamw ? sizeof adamw_fields / sizeof *fields : sizeof sgd_fields / sizeof *fields;
    if (firnc_tree_is_null(mapping))
        return true;
    if (!firnc_fields_read(mapping, fields, (uint32_t)count, s) ||
        !read_betas(firnc_tree_child(mapping, "betas"), &s->optimizer) ||
        !read_learning_rate(mapping, &s->learning_rate))
        return false;
    if (s->optimizer.nesterov && (s->optimizer.momentum == 0 || s->optimizer.dampening != 0))
        return firnc_tree_fail(firnc_tree_child(mapping, "nesterov"),
                               "needs a momentum and no dampening; set momentum above 0 and dampening to 0");
    return true;
}

bool firnc_recipe_optimizer(firnc_recipe *recipe, const firnc_tree *init, double *learning_rate) {
    const firnc_tree *mapping = firnc_tree_child(init, "optimizer");
    *learning_rate = FIRNC_UNSET;
    if (mapping == NULL) {
        if (recipe->mode == FIRNC_TRAIN)
            return firnc_tree_fail(init, "optimizer is missing; add one of %s", firnc_choices_text(classes));
        return true;
    }
    int class;
    const firnc_tree *entry = firnc_class_read(mapping, classes, "", &class);
    if (entry == NULL)
        return false;
    settings s = {.optimizer = {.kind = (firnc_optimizer) class, .correct_bias = true},
                  .learning_rate = class == FIRNC_ADAMW ? 1e-3 : FIRNC_UNSET};
    if (class == FIRNC_ADAMW) {
        s.optimizer.beta1 = 0.9F;
        s.optimizer.beta2 = 0.999F;
        s.optimizer.epsilon = 1e-6F;
    }
    if (!read_settings(entry, &s))
        return false;
    recipe->optimizer = s.optimizer;
    *learning_rate = s.learning_rate;
    return true;
}
