/* Tests the value of an evaluation, from states that the test writes: against the definitions in binary64, for counters
 * beyond 2^24, and for divisions by zero. test_golden_ops.c tests that the ops count correctly. */
#include <math.h>
#include <string.h>

#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "tests/unit/support_compiled_plans.h"
#include "tests/unit/support_test.h"

enum { CLASSES = 10, COLUMNS = CLASSES + 1 };

static const char *const recipe = "compiler/recipes/small_mlp.yaml";

typedef struct evaluation {
    compiled_plan plan;
    compiled_run run;
    firn_tensor sum, count;
} evaluation;

/* The run contains pointers into itself, so it must not be moved. */
static void evaluation_open(evaluation *e, const char *metric, const char *setting) {
    const char *settings[] = {metric, setting};
    *e = (evaluation){0};
    compiled_plan_make(&e->plan, recipe, FIRNC_EVAL, settings, setting == NULL ? 1 : 2);
    assert_int_equal(compiled_run_open(&e->run, &e->plan, 0), FIRN_OK);
    assert_int_equal(firn_initialise(&e->run.firn), FIRN_OK);
    const firn_instance *instance = firn_instance_view(&e->run.firn);
    firn_fb_metric written = firn_fb_plan_metrics_at(instance->plan, 0);
    e->sum = firn_instance_tensor(instance, firn_fb_metric_sum(written));
    e->count = firn_instance_tensor(instance, firn_fb_metric_count(written));
}

static void evaluation_close(evaluation *e) {
    compiled_run_close(&e->run);
    compiled_plan_free(&e->plan);
}

static float value_of(const evaluation *e) {
    float value;
    *(int64_t *)e->count.data = 1;
    assert_int_equal(firn_eval_result(&e->run.firn, &value), FIRN_OK);
    return value;
}

static void expect_near(const evaluation *e, double expected) {
    double value = (double)value_of(e);
    if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected))))
        fail_msg("%.9g, not %.9g", value, expected);
}

/* --- confusion matrices ------------------------------------------------------------------------------------------- */

/* Class 7 has no label, class 8 no prediction, and class 9 neither; some rows have no prediction. */
static void fill_matrix(const evaluation *e, int64_t scale) {
    int64_t *matrix = e->sum.data;
    for (int row = 0; row < CLASSES; row++)
        for (int column = 0; column < COLUMNS; column++) {
            int64_t count = row == column ? 20 + row : (row * 7 + column * 3) % 5;
            bool absent = row == 7 || row == 9 || column == 8 || column == 9;
            matrix[row * COLUMNS + column] = absent ? 0 : count * scale;
        }
}

/* The definitions, computed in binary64. */
static double expected_value(const int64_t *matrix, int kind, double beta, int ignored) {
    double total = 0, right = 0, labelled = 0, predicted = 0;
    int classes = 0;
    for (int i = 0; i < CLASSES; i++) {
        double tp = (double)matrix[i * COLUMNS + i], row = 0, column = 0, value = 0;
        if (i == ignored)
            continue;
        for (int j = 0; j < COLUMNS; j++)
            row += (double)matrix[i * COLUMNS + j];
        for (int j = 0; j < CLASSES; j++)
            column += j == ignored ? 0 : (double)matrix[j * COLUMNS + i];
        right += tp, labelled += row, predicted += column;
        bool counts = kind == FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY ? row > 0 : row + column > 0;
        double precision = column > 0 ? tp / column : 0, recall = row > 0 ? tp / row : 0;
        switch (kind) {
        case FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY:
            value = recall;
            break;
        case FIRN_FB_METRIC_KIND_MEAN_IOU:
            value = counts ? tp / (row + column - tp) : 0;
            break;
        case FIRN_FB_METRIC_KIND_DICE:
            value = counts ? 2 * tp / (row + column) : 0;
            break;
        default:
            counts = true;
            value = precision + recall > 0 ? (1 + beta * beta) * precision * recall / (beta * beta * precision + recall)
                                           : 0;
        }
        total += counts ? value : 0;
        classes += counts;
    }
    if (kind != FIRN_FB_METRIC_KIND_F_BETA_MICRO)
        return total / classes;
    double precision = right / predicted, recall = right / labelled;
    return (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

static const struct {
    const char *metric; /* a name, or settings if it starts with a brace */
    int kind, ignored;
    double beta;
} matrices[] = {
    {"mean_per_class_accuracy", FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY, -1, 0},
    {"mean_iou", FIRN_FB_METRIC_KIND_MEAN_IOU, -1, 0},
    {"{MeanIOUMetric: {ignore_classes: [3], num_classes: 10}}", FIRN_FB_METRIC_KIND_MEAN_IOU, 3, 0},
    {"dice", FIRN_FB_METRIC_KIND_DICE, -1, 0},
    {"{DiceCoefficientMetric: {ignore_classes: [0]}}", FIRN_FB_METRIC_KIND_DICE, 0, 0},
    {"fbeta", FIRN_FB_METRIC_KIND_F_BETA_MICRO, -1, 1},
    {"{fbeta: {beta: 2.0, average_type: macro}}", FIRN_FB_METRIC_KIND_F_BETA_MACRO, -1, 2},
    {"{FBetaScoreMetric: {beta: 0.5, average_type: macro, ignore_classes: [1]}}", FIRN_FB_METRIC_KIND_F_BETA_MACRO, 1,
     0.5},
    {"{fbeta: {beta: 0.5, average_type: micro, ignore_classes: [1]}}", FIRN_FB_METRIC_KIND_F_BETA_MICRO, 1, 0.5},
};

TEST(confusion_matrices) {
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        char setting[128] = "trainer.validate.metric=";
        strcat(setting, matrices[i].metric);
        evaluation e;
        evaluation_open(&e, setting, NULL);
        const firn_instance *instance = firn_instance_view(&e.run.firn);
        assert_int_equal(firn_fb_metric_kind(firn_fb_plan_metrics_at(instance->plan, 0)), matrices[i].kind);
        for (int bits = 0; bits <= 48; bits += 24) {
            fill_matrix(&e, INT64_C(1) << bits);
            expect_near(&e, expected_value(e.sum.data, matrices[i].kind, matrices[i].beta, matrices[i].ignored));
        }
        memset(e.sum.data, 0, CLASSES * COLUMNS * sizeof(int64_t));
        assert_true(value_of(&e) == 0.0f);
        evaluation_close(&e);
    }
}

/* --- area --------------------------------------------------------------------------------------------------------- */

TEST(areas) {
    evaluation e;
    evaluation_open(&e, "trainer.validate.metric=auc", "trainer.init.model.output_size=2");
    int64_t *negatives = e.sum.data, *positives = negatives + FIRN_AUC_BUCKETS;
    double pairs = 0, all = 0;
    for (int i = 0; i < FIRN_AUC_BUCKETS; i++) {
        negatives[i] = (INT64_C(1) << 30) * ((i * 37 + 11) % 50) * (200 - i);
        positives[i] = (INT64_C(1) << 30) * ((i * 53 + 7) % 40) * i;
    }
    for (int i = 0; i < FIRN_AUC_BUCKETS; i++)
        for (int j = 0; j < FIRN_AUC_BUCKETS; j++) {
            double weight = (double)negatives[i] * (double)positives[j];
            pairs += i < j ? weight : i == j ? 0.5 * weight : 0;
            all += weight;
        }
    expect_near(&e, pairs / all);
    memset(negatives, 0, FIRN_AUC_BUCKETS * sizeof *negatives);
    assert_true(value_of(&e) == 0.0f);
    evaluation_close(&e);
}

/* --- real evaluations --------------------------------------------------------------------------------------------- */

/* Counters beyond 2^24 must still count single items. */
TEST(counters_do_not_stall) {
    evaluation e;
    evaluation_open(&e, "trainer.validate.metric=mean_iou", "trainer.fit.train_dataloader.held_out_per_mille=0");
    int64_t *matrix = e.sum.data, *count = e.count.data, before = 0, after = 0;
    for (int i = 0; i < CLASSES * COLUMNS; i++)
        before += matrix[i] = INT64_C(1) << 24;
    *count = INT64_C(1) << 40;
    for (int step = 0; step < 3; step++)
        assert_int_equal(firn_eval_step(&e.run.firn, compiled_source(&e.run)), FIRN_OK);
    for (int i = 0; i < CLASSES * COLUMNS; i++)
        after += matrix[i];
    assert_int_equal(after - before, 3 * 8);
    assert_int_equal(*count - (INT64_C(1) << 40), 3 * 8);
    evaluation_close(&e);
}

/* Rows whose label is ignored must not affect the result; the mean is taken over the other rows. */
TEST(ignored_rows_do_not_count) {
    static const char *const metrics[] = {"trainer.validate.metric=accuracy", "trainer.validate.metric=mean",
                                          "trainer.validate.metric=perplexity"};
    for (size_t i = 0; i < 3; i++) {
        evaluation e;
        evaluation_open(&e, metrics[i], "trainer.init.model.ignore_index=3");
        const firn_instance *instance = firn_instance_view(&e.run.firn);
        int64_t present = 0;
        for (int step = 0; step < 2; step++) {
            assert_int_equal(firn_eval_step(&e.run.firn, compiled_source(&e.run)), FIRN_OK);
            uint32_t input = firn_fb_input_tensor(firn_fb_plan_inputs_at(instance->plan, 1));
            const int32_t *labels = firn_instance_tensor(instance, input).data;
            for (int row = 0; row < 8; row++)
                present += labels[row] != 3;
        }
        assert_int_equal(*(int64_t *)e.count.data, present);
        assert_true(present > 0 && present < 16);
        float value;
        assert_int_equal(firn_eval_result(&e.run.firn, &value), FIRN_OK);
        assert_true(i == 0 ? value >= 0 && value <= 1 : i == 1 ? value > 1 && value < 4 : value > 3 && value < 40);
        evaluation_close(&e);
    }
}
