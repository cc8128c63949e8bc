/* Computes the result of an evaluation from the state that its metric op has accumulated: plan/NUMERICS.md,
 * "Around the ops". The arithmetic is binary32; counters are rounded to it first. No function here runs during a step.
 */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* Returns part / whole, or 0 if whole is 0. */
static float ratio(float part, float whole) {
    return whole > 0.0f ? part / whole : 0.0f;
}

/* --- a sum and a count -------------------------------------------------------------------------------------------- */

float firn_metric_mean(const firn_instance *instance, firn_fb_metric metric) {
    float sum_and_carry[2];
    memcpy(sum_and_carry, firn_instance_tensor(instance, firn_fb_metric_sum(metric)).data, sizeof sum_and_carry);
    return (sum_and_carry[0] + sum_and_carry[1]) / (float)firn_instance_int64(instance, firn_fb_metric_count(metric));
}

float firn_metric_accuracy(const firn_instance *instance, firn_fb_metric metric) {
    return (float)firn_instance_int64(instance, firn_fb_metric_sum(metric)) /
           (float)firn_instance_int64(instance, firn_fb_metric_count(metric));
}

/* --- a confusion matrix: rows are labels, columns predictions, the last column the rows without one --------------- */

typedef struct confusion {
    const uint64_t *counters;
    uint32_t classes;
    firn_fb_metric metric;
} confusion;

/* Counts for one class, over the rows whose label is not ignored: rows predicted correctly, rows with this label, and
 * rows predicted as this class. */
typedef struct class_counts {
    uint64_t right, labelled, predicted;
} class_counts;

static bool is_ignored(const confusion *matrix, uint32_t class) {
    for (uint32_t i = 0; i < firn_fb_metric_ignore_classes_count(matrix->metric); i++)
        if (firn_fb_metric_ignore_classes_at(matrix->metric, i) == class)
            return true;
    return false;
}

static class_counts count_class(const confusion *matrix, uint32_t class) {
    const size_t columns = (size_t)matrix->classes + 1;
    class_counts counts = {.right = matrix->counters[class * columns + class]};
    for (size_t column = 0; column < columns; column++)
        counts.labelled += matrix->counters[class * columns + column];
    for (uint32_t row = 0; row < matrix->classes; row++)
        if (!is_ignored(matrix, row))
            counts.predicted += matrix->counters[row * columns + class];
    return counts;
}

static float f_beta(float beta, class_counts counts) {
    const float square = beta * beta;
    float precision = ratio((float)counts.right, (float)counts.predicted);
    float recall = ratio((float)counts.right, (float)counts.labelled);
    return ratio((1.0f + square) * precision * recall, square * precision + recall);
}

/* Returns the value of one class, and in *takes_part whether the mean includes it. */
static float class_value(const confusion *matrix, class_counts counts, bool *takes_part) {
    float right = (float)counts.right;
    uint64_t together = counts.labelled + counts.predicted;
    switch (firn_fb_metric_kind(matrix->metric)) {
    case FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY:
        *takes_part = counts.labelled > 0;
        return ratio(right, (float)counts.labelled);
    case FIRN_FB_METRIC_KIND_MEAN_IOU:
        *takes_part = together > 0;
        return ratio(right, (float)(together - counts.right));
    case FIRN_FB_METRIC_KIND_DICE:
        *takes_part = together > 0;
        return ratio(2.0f * right, (float)together);
    default:
        *takes_part = true;
        return f_beta(firn_fb_metric_beta(matrix->metric), counts);
    }
}

/* Returns the mean over classes or, for micro averaging, the value over all classes together. */
static float confusion_value(const confusion *matrix) {
    const bool micro = firn_fb_metric_kind(matrix->metric) == FIRN_FB_METRIC_KIND_F_BETA_MICRO;
    class_counts all = {0, 0, 0};
    float total = 0.0f;
    uint32_t classes = 0;
    for (uint32_t class = 0; class < matrix->classes; class ++) {
        if (is_ignored(matrix, class))
            continue;
        bool takes_part;
        class_counts counts = count_class(matrix, class);
        float value = class_value(matrix, counts, &takes_part);
        all.right += counts.right;
        all.labelled += counts.labelled;
        all.predicted += counts.predicted;
        total += takes_part ? value : 0.0f;
        classes += takes_part;
    }
    return micro ? f_beta(firn_fb_metric_beta(matrix->metric), all) : ratio(total, (float)classes);
}

/* --- a histogram of scores: negatives, then positives ------------------------------------------------------------- */

/* Returns the area under the curve of the true-positive rate over the false-positive rate, with straight lines between
 * the thresholds. */
static float area(const uint64_t *histogram) {
    const uint64_t *negatives = histogram, *positives = histogram + FIRN_AUC_BUCKETS;
    uint64_t negative = 0, positive = 0, above = 0;
    for (uint32_t i = 0; i < FIRN_AUC_BUCKETS; i++) {
        negative += negatives[i];
        positive += positives[i];
    }
    float total = 0.0f;
    for (uint32_t i = FIRN_AUC_BUCKETS; i > 0; i--) {
        float height = (float)above + 0.5f * (float)positives[i - 1];
        total += ratio((float)negatives[i - 1], (float)negative) * ratio(height, (float)positive);
        above += positives[i - 1];
    }
    return total;
}

float firn_metric_perplexity(const firn_instance *instance, firn_fb_metric metric) {
    return firn_exp(firn_metric_mean(instance, metric));
}

float firn_metric_confusion(const firn_instance *instance, firn_fb_metric metric) {
    const firn_tensor sum = firn_instance_tensor(instance, firn_fb_metric_sum(metric));
    const confusion matrix = {sum.data, sum.dims[0], metric};
    return confusion_value(&matrix);
}

float firn_metric_area(const firn_instance *instance, firn_fb_metric metric) {
    return area(firn_instance_data(instance, firn_fb_metric_sum(metric)));
}
