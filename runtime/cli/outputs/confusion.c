/* What the state of a metric says about each class: the confusion matrix as CSV, and precision, recall and F1. Only
 * plans whose metric counts a confusion matrix have it (runtime/METRICS.md). */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

/* The matrix of the metric: `classes` rows of labels, each with the counts of `classes` predictions and of none. */
typedef struct matrix {
    const int64_t *counts;
    uint32_t classes;
} matrix;

static bool has_matrix(uint8_t metric) {
    return metric >= FIRN_FB_METRIC_KIND_MEAN_PER_CLASS_ACCURACY && metric <= FIRN_FB_METRIC_KIND_F_BETA_MACRO;
}

/* Finds the matrix; false: the metric counts none. */
static bool find_matrix(const cli_session *session, matrix *found) {
    const firn_fb_plan plan = cli_plan(session);
    if (firn_fb_plan_metrics_count(plan) == 0)
        return false;
    const firn_fb_metric metric = firn_fb_plan_metrics_at(plan, 0);
    firn_tensor_info tensor;
    if (!has_matrix(firn_fb_metric_kind(metric)) ||
        firn_tensor_at(&session->firn, firn_fb_metric_sum(metric), &tensor) != FIRN_OK)
        return false;
    *found = (matrix){.counts = tensor.data, .classes = tensor.dims[0]};
    return true;
}

static bool is_asked(const cli_options *options) {
    return options->confusion != NULL || options->per_class;
}

int cli_confusion_check(const cli_session *session, cli_classes *classes) {
    static const char *const others[] = {"label", NULL};
    const cli_options *options = session->options;
    matrix counts;
    if (!is_asked(options))
        return CLI_OK;
    if (!find_matrix(session, &counts)) {
        firn_host_fail(options->file, "its metric counts no classes; compile it with --set "
                                      "trainer.validate.metric=mean_per_class_accuracy, or mean_iou, dice or fbeta");
        return CLI_REFUSED;
    }
    int status = cli_classes_find(classes, session, counts.classes, options->confusion != NULL ? others : &others[1]);
    if (status == CLI_OK)
        status = cli_classes_check(classes, counts.classes, "the metric");
    if (status == CLI_OK && options->confusion != NULL)
        status = cli_classes_check_columns(classes, others);
    if (status == CLI_OK && options->confusion != NULL && !cli_is_stream(options->confusion) &&
        !firn_host_replaceable(options->confusion))
        status = CLI_FILE;
    return status;
}

static int64_t count_of(const matrix *m, uint32_t label, uint32_t prediction) {
    return m->counts[(size_t)label * (m->classes + 1) + prediction];
}

/* The name of a class, or its number where there are no names. */
static void put_class(FILE *to, const cli_classes *classes, uint32_t class) {
    if (classes->count != 0)
        cli_print_csv(to, classes->names[class]);
    else
        fprintf(to, "%lu", (unsigned long)class);
}

/* A row for each label, a column for each prediction. */
static void put_matrix(FILE *to, const matrix *m, const cli_classes *classes) {
    fputs("label", to);
    for (uint32_t i = 0; i < m->classes; i++) {
        putc(',', to);
        put_class(to, classes, i);
    }
    putc('\n', to);
    for (uint32_t i = 0; i < m->classes; i++) {
        put_class(to, classes, i);
        for (uint32_t j = 0; j < m->classes; j++)
            fprintf(to, ",%lld", (long long)count_of(m, i, j));
        putc('\n', to);
    }
}

static double ratio(int64_t a, int64_t b) {
    return b > 0 ? (double)a / (double)b : 0;
}

static void put_classes(FILE *to, const matrix *m, const cli_classes *classes) {
    fputs("class,precision,recall,f1,support\n", to);
    for (uint32_t i = 0; i < m->classes; i++) {
        int64_t support = 0, taken = 0;
        for (uint32_t j = 0; j < m->classes; j++)
            taken += count_of(m, j, i);
        for (uint32_t j = 0; j <= m->classes; j++)
            support += count_of(m, i, j);
        const int64_t right = count_of(m, i, i);
        put_class(to, classes, i);
        fprintf(to, ",%.6g,%.6g,%.6g,%lld\n", ratio(right, taken), ratio(right, support),
                ratio(2 * right, taken + support), (long long)support);
    }
}

/* Notes how many rows are right, and rows that are in no column. */
static void note_rows(const matrix *m) {
    int64_t right = 0, rows = 0, none = 0;
    for (uint32_t i = 0; i < m->classes; i++) {
        right += count_of(m, i, i);
        none += count_of(m, i, m->classes);
        for (uint32_t j = 0; j <= m->classes; j++)
            rows += count_of(m, i, j);
    }
    firn_host_note("%lld of %lld rows are right, an accuracy of %.6g", (long long)right, (long long)rows,
                   ratio(right, rows));
    if (none > 0)
        firn_host_note("%lld row%s no prediction, because of NaN, and %s in no column", (long long)none,
                       none == 1 ? " has" : "s have", none == 1 ? "is" : "are");
}

static int write_matrix(const char *path, const matrix *m, const cli_classes *classes) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    firn_host_replacement file = {.file = -1};
    if (to != NULL)
        put_matrix(to, m, classes);
    if (to == NULL || fclose(to) != 0) {
        firn_host_fail("memory", "%s", strerror(errno));
        free(text);
        return CLI_FILE;
    }
    const bool written = firn_host_replace_begin(&file, path) && firn_host_replace_write(&file, 0, text, length) &&
                         firn_host_replace_end(&file);
    if (!written)
        firn_host_replace_fail(&file, path);
    free(text);
    return written ? CLI_OK : CLI_FILE;
}

int cli_confusion_write(const cli_session *session, const cli_classes *classes) {
    const cli_options *options = session->options;
    matrix counts;
    if (!is_asked(options) || !find_matrix(session, &counts))
        return CLI_OK;
    if (options->confusion != NULL && !cli_is_stream(options->confusion)) {
        const int status = write_matrix(options->confusion, &counts, classes);
        if (status != CLI_OK)
            return status;
    }
    if (!options->quiet)
        note_rows(&counts);
    return CLI_OK;
}

void cli_confusion_print(const cli_session *session, const cli_classes *classes) {
    matrix counts;
    if (!is_asked(session->options) || !find_matrix(session, &counts))
        return;
    if (cli_is_stream(session->options->confusion))
        put_matrix(stdout, &counts, classes);
    if (session->options->per_class)
        put_classes(stdout, &counts, classes);
}
