/* trainer.validate.metric: the one metric of an eval plan, given as a word or as the model zoo's class with its
 * settings; and the outputs of a plan, in trainer.fit.outputs and trainer.validate.outputs. */
#include "compiler/recipe/recipe_parts.h"

static const firnc_choice metrics[] = {{"loss", FIRNC_METRIC_LOSS},
                                       {"mean", FIRNC_METRIC_MEAN},
                                       {"perplexity", FIRNC_METRIC_PERPLEXITY},
                                       {"accuracy", FIRNC_METRIC_ACCURACY},
                                       {"mean_per_class_accuracy", FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY},
                                       {"mean_iou", FIRNC_METRIC_MEAN_IOU},
                                       {"dice", FIRNC_METRIC_DICE},
                                       {"fbeta", FIRNC_METRIC_F_BETA},
                                       {"auc", FIRNC_METRIC_AUC},
                                       {"mean_squared_error", FIRNC_METRIC_MEAN_SQUARED_ERROR},
                                       {"none", FIRNC_METRIC_NONE},
                                       {"MeanMetric", FIRNC_METRIC_MEAN},
                                       {"PerplexityMetric", FIRNC_METRIC_PERPLEXITY},
                                       {"AccuracyMetric", FIRNC_METRIC_ACCURACY},
                                       {"MeanPerClassAccuracyMetric", FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY},
                                       {"MeanIOUMetric", FIRNC_METRIC_MEAN_IOU},
                                       {"DiceCoefficientMetric", FIRNC_METRIC_DICE},
                                       {"FBetaScoreMetric", FIRNC_METRIC_F_BETA},
                                       {"AUCMetric", FIRNC_METRIC_AUC},
                                       {"MSEMetric", FIRNC_METRIC_MEAN_SQUARED_ERROR},
                                       {NULL, 0}};
static const firnc_choice averages[] = {{"micro", 0}, {"macro", 1}, {NULL, 0}};

typedef struct settings {
    uint32_t num_classes; /* 0: not given */
    float beta;
    int average;
} settings;

static const firnc_field fields[] = {
    {"num_classes", .kind = FIRNC_FIELD_WHOLE, offsetof(settings, num_classes), 2, 0},
    {"beta", .kind = FIRNC_FIELD_SINGLE, offsetof(settings, beta), 0, 1e9, .above_low = true},
    {"average_type", .kind = FIRNC_FIELD_CHOICE, offsetof(settings, average), .choices = averages},
    {"ignore_classes", .kind = FIRNC_FIELD_ENTRIES},
};

static const firnc_field validate_fields[] = {
    {"val_dataloader", .kind = FIRNC_FIELD_OTHER},
    {"metric", .kind = FIRNC_FIELD_OTHER},
    {"outputs", .kind = FIRNC_FIELD_ENTRIES},
    {"ckpt_path", .kind = FIRNC_FIELD_IGNORED, .only = "a plan names no files; use firn eval --checkpoint"},
};

static bool has_classes(const firnc_recipe *recipe) {
    return recipe->facts.targets == FIRNC_TARGETS_CLASSES;
}

static bool has_matrix(firnc_metric metric) {
    return metric == FIRNC_METRIC_MEAN_PER_CLASS_ACCURACY || metric == FIRNC_METRIC_MEAN_IOU ||
           metric == FIRNC_METRIC_DICE || metric == FIRNC_METRIC_F_BETA;
}

/* Reads the ignored classes: ascending, and at least one class must remain. */
static bool read_ignored(firnc_recipe *recipe, const firnc_tree *list) {
    const uint32_t classes = recipe->facts.outputs;
    const firnc_field class = {.kind = FIRNC_FIELD_WHOLE, .low = 0, .high = classes - 1};
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next) {
        uint64_t value;
        uint32_t count = recipe->job.metric_ignored_count;
        if (!firnc_field_whole(entry, &class, &value))
            return false;
        if (count > 0 && value <= recipe->job.metric_ignored[count - 1])
            return firnc_tree_fail(entry, "is not above the one before it; list the classes in ascending order");
        if (count == FIRNC_IGNORED_MAX || count + 1 == classes)
            return firnc_tree_fail(entry, "leaves no class, or is one of more than %d; remove it", FIRNC_IGNORED_MAX);
        recipe->job.metric_ignored[recipe->job.metric_ignored_count++] = (uint32_t)value;
    }
    return true;
}

static bool read_settings(firnc_recipe *recipe, const firnc_tree *mapping) {
    const bool f_beta = recipe->job.metric == FIRNC_METRIC_F_BETA;
    settings s = {.beta = 1};
    const firnc_tree *beta = firnc_tree_child(mapping, "beta"), *average = firnc_tree_child(mapping, "average_type");
    const firnc_tree *ignored = firnc_tree_child(mapping, "ignore_classes");
    if (mapping != NULL && !firnc_tree_is_null(mapping) &&
        !firnc_fields_read(mapping, fields, sizeof fields / sizeof fields[0], &s))
        return false;
    if (!f_beta && (beta != NULL || average != NULL))
        return firnc_tree_fail(beta != NULL ? beta : average, "belongs to the metric fbeta; remove it");
    if (!has_matrix(recipe->job.metric) && ignored != NULL)
        return firnc_tree_fail(ignored, "belongs to metrics of a confusion matrix; remove it");
    if (s.num_classes != 0 && s.num_classes != recipe->facts.outputs)
        return firnc_tree_fail(firnc_tree_child(mapping, "num_classes"),
                               "the model has %u classes; write that, or "
                               "leave it out",
                               (unsigned)recipe->facts.outputs);
    recipe->job.metric_beta = f_beta ? s.beta : 0;
    recipe->job.metric_macro = s.average == 1;
    return read_ignored(recipe, ignored);
}

/* Reads a word, a class with settings, or a list of exactly one of them. */
static bool read_choice(firnc_recipe *recipe, const firnc_tree *node) {
    int metric;
    if (node->kind == FIRNC_LIST && node->first == NULL)
        return firnc_tree_fail(node, "lists no metric; write one, such as loss");
    if (node->kind == FIRNC_LIST && firnc_tree_count(node) != 1)
        return firnc_tree_fail(node,
                               "lists %u metrics; an evaluation gives one value, so that what it prints, and what its "
                               "state holds, is never in doubt; compile one eval plan for each metric",
                               (unsigned)firnc_tree_count(node));
    if (node->kind == FIRNC_LIST)
        node = node->first;
    if (node->kind == FIRNC_SCALAR) {
        if (!firnc_field_choice(node, metrics, &metric))
            return false;
        recipe->job.metric = (firnc_metric)metric;
        return read_settings(recipe, NULL);
    }
    if (firnc_tree_count(node) > 1)
        return firnc_tree_fail(node,
                               "names %u metrics; an evaluation gives one value, so that what it prints, and what its "
                               "state holds, is never in doubt; compile one eval plan for each metric",
                               (unsigned)firnc_tree_count(node));
    const firnc_tree *entry = firnc_class_read(node, metrics, "", "metric", &metric);
    if (entry == NULL)
        return false;
    recipe->job.metric = (firnc_metric)metric;
    return read_settings(recipe, entry);
}

/* Checks that the metric is defined for the loss of the model. */
static bool check_metric(const firnc_recipe *recipe, const firnc_tree *node) {
    const bool classes = has_classes(recipe), binary = recipe->facts.targets == FIRNC_TARGETS_SHARES;
    switch (recipe->job.metric) {
    case FIRNC_METRIC_LOSS:
    case FIRNC_METRIC_MEAN:
    case FIRNC_METRIC_NONE:
        return true;
    case FIRNC_METRIC_AUC:
        return binary || (classes && recipe->facts.outputs == 2) ||
               firnc_tree_fail(node, "auc needs two classes, or loss: binary_cross_entropy_with_logits; write loss");
    case FIRNC_METRIC_MEAN_SQUARED_ERROR:
        return recipe->facts.comparable ||
               firnc_tree_fail(node, "the loss has no targets to take a difference from; write %s",
                               classes ? "accuracy, or loss" : "loss");
    default:
        return classes || firnc_tree_fail(node, "the loss has neither classes nor perplexity; write loss");
    }
}

bool firnc_recipe_outputs(firnc_job *job, const firnc_tree *list) {
    if (list != NULL && list->first == NULL)
        return firnc_tree_fail(list, "lists no output; write one, such as logits, or leave it out");
    for (const firnc_tree *entry = list == NULL ? NULL : list->first; entry != NULL; entry = entry->next) {
        if (entry->kind != FIRNC_SCALAR || !firnc_is_name(entry->text))
            return firnc_tree_fail(entry, "is no name of an output; write logits, or the name of a layer");
        if (job->output_count == FIRNC_OUTPUTS_MAX)
            return firnc_tree_fail(entry, "is one more than the %d outputs that a plan can have; leave some out",
                                   FIRNC_OUTPUTS_MAX);
        job->outputs[job->output_count++] = (firnc_job_output){entry->text, firnc_tree_place(entry)};
    }
    return true;
}

static bool is_given(const firnc_tree *node) {
    return node != NULL && !firnc_tree_is_null(node);
}

/* An evaluation with outputs has a metric only if the recipe names one: what it predicts from may have no labels. */
bool firnc_recipe_metric(firnc_recipe *recipe, const firnc_tree *validate, bool compute_metrics) {
    const firnc_tree *outputs = firnc_tree_child(validate, "outputs");
    recipe->job.metric = has_classes(recipe) && compute_metrics ? recipe->facts.metric : FIRNC_METRIC_LOSS;
    if (outputs != NULL && !is_given(firnc_tree_child(validate, "metric")))
        recipe->job.metric = FIRNC_METRIC_NONE;
    if (validate == NULL)
        return true;
    if (!firnc_fields_read(validate, validate_fields, sizeof validate_fields / sizeof validate_fields[0], NULL))
        return false;
    const firnc_tree *node = firnc_tree_child(validate, "metric");
    recipe->job.places.metric = firnc_tree_place(node);
    if (recipe->job.mode == FIRNC_EVAL && !firnc_recipe_outputs(&recipe->job, outputs))
        return false;
    return !is_given(node) || (read_choice(recipe, node) && check_metric(recipe, node));
}
