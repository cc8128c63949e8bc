/* How a data loader standardises the records of a model: `normalise` by the statistics of the training data (fit) or by
 * numbers of the recipe (scale, shift), and `normalise_targets`. */
#include <string.h>

#include "compiler/recipe/recipe_parts.h"

/* --- by statistics ------------------------------------------------------------------------------------------------ */

/* A column of deviation 0 is not divided: it is the same in every record, or float32 has no deviation as small. */
static float divisor_of(const firnc_tree *node, const firnc_column *column, uint32_t number, bool target) {
    const char *what = target ? "there is nothing to learn: give other targets" : "leave it out";
    if (column->deviation != 0)
        return column->deviation;
    if (column->varies)
        what = target ? "multiply the target" : "multiply the column";
    firnc_tree_warn(node, "%s %u%s%s%s %s; %s", target ? "target" : "column", (unsigned)number,
                    column->name != NULL ? " (" : "", column->name != NULL ? column->name : "",
                    column->name != NULL ? ")" : "",
                    column->varies ? "has a deviation that float32 makes 0, and is not divided"
                                   : "is the same in every record of the statistics, and becomes 0",
                    what);
    return 1;
}

static const firnc_standard *standard_of(const firnc_tree *node, const firnc_column *columns, uint32_t count,
                                         firnc_standard_axis axis, bool target) {
    float *mean = firnc_allocate(count * sizeof *mean), *deviation = firnc_allocate(count * sizeof *deviation);
    for (uint32_t i = 0; i < count; i++) {
        mean[i] = columns[i].mean;
        deviation[i] = divisor_of(node, &columns[i], i + 1, target);
    }
    firnc_standard *standard = firnc_allocate(sizeof *standard);
    *standard = (firnc_standard){.by_statistics = true,
                                 .axis = axis,
                                 .count = count,
                                 .mean = mean,
                                 .deviation = deviation,
                                 .place = firnc_tree_place(node)};
    return standard;
}

static bool is_fit(const firnc_tree *node) {
    return node->kind == FIRNC_SCALAR && strcmp(node->text, "fit") == 0;
}

/* --- by numbers of the recipe ------------------------------------------------------------------------------------- */

/* Reads a number, or a list of them with one for each column. */
static bool read_numbers(const firnc_tree *node, const float **numbers, uint32_t *count) {
    static const firnc_field number = {.kind = FIRNC_FIELD_SINGLE, .low = -1e30, .high = 1e30};
    const firnc_tree *entry = node->kind == FIRNC_LIST ? node->first : node;
    float *read = firnc_allocate((UINT64_C(1) + firnc_tree_count(node)) * sizeof *read);
    if (node->kind == FIRNC_LIST && entry == NULL)
        return firnc_tree_fail(node, "has no number; write one, or one for each column");
    for (; entry != NULL; entry = node->kind == FIRNC_LIST ? entry->next : NULL)
        if (!firnc_field_single(entry, &number, &read[(*count)++]))
            return false;
    *numbers = read;
    return true;
}

/* Warns of the first scale that makes every value of its column the same. */
static void warn_zero(const firnc_tree *scale, const firnc_standard *standard) {
    uint32_t i = 0;
    while (i < standard->scale_count && standard->scale[i] != 0)
        i++;
    if (i < standard->scale_count)
        firnc_tree_warn(scale, "number %u is 0: what it scales is the same in every record, and says nothing",
                        (unsigned)i + 1);
}

static const firnc_standard *read_affine(const firnc_tree *node) {
    static const firnc_field fields[] = {{"scale", .kind = FIRNC_FIELD_OTHER}, {"shift", .kind = FIRNC_FIELD_OTHER}};
    firnc_standard *standard = firnc_allocate(sizeof *standard);
    standard->place = firnc_tree_place(node);
    if (!firnc_fields_read(node, fields, sizeof fields / sizeof fields[0], NULL))
        return NULL;
    const firnc_tree *scale = firnc_tree_child(node, "scale"), *shift = firnc_tree_child(node, "shift");
    if (scale == NULL && shift == NULL) {
        firnc_tree_fail(node, "says neither scale nor shift; write one of them, or remove it");
        return NULL;
    }
    if ((scale != NULL && !read_numbers(scale, &standard->scale, &standard->scale_count)) ||
        (shift != NULL && !read_numbers(shift, &standard->shift, &standard->shift_count)))
        return NULL;
    warn_zero(scale, standard);
    return standard;
}

/* --- the keys ----------------------------------------------------------------------------------------------------- */

static bool read_features(const firnc_recipe *recipe, const firnc_tree *node, firnc_elements *elements) {
    const firnc_data_statistics *statistics = recipe->job.statistics;
    if (recipe->facts.tokens)
        return firnc_tree_fail(node, "the features are tokens, which nothing scales; remove it");
    if (node->kind == FIRNC_MAPPING)
        return (elements->features = read_affine(node)) != NULL;
    if (!is_fit(node))
        return firnc_tree_fail(node, "is not fit; write fit, or a mapping as {scale: 0.1, shift: [0, 3]}");
    if (statistics == NULL)
        return firnc_tree_fail(node, "fit needs the statistics of the training data; " FIRNC_RECIPE_MAKE_STATISTICS);
    elements->features = standard_of(node, statistics->columns, statistics->column_count, statistics->axis, false);
    return true;
}

static bool read_targets(const firnc_recipe *recipe, const firnc_tree *node, firnc_elements *elements) {
    const firnc_data_statistics *statistics = recipe->job.statistics;
    if (!is_fit(node))
        return firnc_tree_fail(node, "is not fit; write fit, or remove it");
    if (!recipe->facts.comparable || recipe->facts.own_targets)
        return firnc_tree_fail(node, "the loss does not compare numbers with targets of any size; remove it, or write "
                                     "loss: mean_squared_error, l1, huber or smooth_l1 in the model");
    if (statistics == NULL)
        return firnc_tree_fail(node, "fit needs the statistics of the training data; " FIRNC_RECIPE_MAKE_STATISTICS);
    if (statistics->target_count == 0)
        return firnc_tree_fail(node, "the statistics have no target; make them again by firn data-statistics with "
                                     "--target-column or --labels");
    elements->targets = standard_of(node, statistics->targets, statistics->target_count, FIRNC_STANDARD_EACH, true);
    return true;
}

bool firnc_recipe_normalise(const firnc_recipe *recipe, const firnc_tree *loader, firnc_elements *elements) {
    const firnc_tree *features = firnc_tree_child(loader, "normalise");
    const firnc_tree *targets = firnc_tree_child(loader, "normalise_targets");
    if ((features != NULL && !read_features(recipe, features, elements)) ||
        (targets != NULL && !read_targets(recipe, targets, elements)))
        return false;
    const bool bytes = elements->feature != FIRN_FLOAT32; /* a scale that others inherit is meant for bytes */
    if (elements->features != NULL && bytes && (elements->feature_scale != 1 || elements->feature_shift != 0))
        return firnc_tree_fail(features != NULL ? features : loader,
                               "feature_scale and feature_shift scale the same features; remove them");
    return true;
}

bool firnc_recipe_held_out(const firnc_recipe *recipe, const firnc_tree *loader, const firnc_elements *elements,
                           uint32_t held_out_per_mille) {
    const firnc_data_statistics *statistics = recipe->job.statistics;
    const firnc_standard *features = elements->features;
    const bool used = (features != NULL && features->by_statistics) || elements->targets != NULL;
    if (!used || statistics->held_out_per_mille == held_out_per_mille)
        return true;
    const firnc_tree *place = firnc_tree_child(loader, "held_out_per_mille");
    return firnc_tree_fail(place != NULL ? place : loader,
                           "the statistics leave out the last %u per mille of the records, and the run holds out %u; "
                           "make them again by firn data-statistics --held-out-per-mille %u",
                           (unsigned)statistics->held_out_per_mille, (unsigned)held_out_per_mille,
                           (unsigned)held_out_per_mille);
}
