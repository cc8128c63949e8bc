/* The rows of a prediction for people: CSV with a header, or a line of JSON for each sample. Beside the numbers a row
 * has its index, the file of its image and, of an output of classes, the predicted class, its name and the label.
 * Nothing is written to a file here. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"
#include "runtime/text/utf8.h"

enum { FEATURES, LABELS }; /* the streams */

/* An output of one logit or probability for each sample has two classes. */
static uint64_t classes_of(const cli_rows_form *form) {
    return form->columns == 1 ? 2 : form->columns;
}

bool cli_rows_are_of_classes(const firn_tensor_info *output) {
    static const char *const names[] = {"logits", "probabilities", "log_probabilities"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(output->name, names[i]) == 0)
            return true;
    return false;
}

/* Leaves out the extents of 1 between the first and the last: an image network has logits of [samples, 1, 1, classes],
 * which are a row for each sample, too. */
static void flatten(firn_tensor_info *output) {
    uint8_t rank = 1;
    for (uint32_t d = 1; d < output->rank; d++)
        if (d + 1 == output->rank || output->dims[d] != 1)
            output->dims[rank++] = output->dims[d];
    output->rank = rank;
}

/* Whether row i of the prediction is record i of the data. */
static bool reads_in_order(const cli_session *session) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(cli_plan(session));
    return session->info.window == 0 && session->info.all_data && session->info.ring == 0 &&
           firn_fb_sampler_kind(sampler) == FIRN_FB_SAMPLER_KIND_SEQUENTIAL;
}

/* Whether each record has one label, which is an integer. */
static bool reads_labels(const cli_session *session) {
    firn_stream_info labels;
    return session->info.streams > LABELS && firn_stream_at(&session->firn, LABELS, &labels) == FIRN_OK &&
           labels.record_elements == 1 && labels.element != FIRN_FLOAT32;
}

/* Whether each record is an image. */
static bool reads_images(const cli_session *session) {
    const firn_host_stream *features = &session->data.files[FEATURES];
    for (uint32_t i = 0; i < features->count; i++)
        if (firn_host_file_images(features->files[i]) == NULL)
            return false;
    return features->count > 0;
}

int cli_rows_form_begin(cli_rows_form *form, const cli_session *session, const firn_tensor_info *output,
                        cli_classes *classes, cli_rows_kind kind) {
    static const char *const others[] = {"row", "file", "predicted", "class", "label", "label_class", NULL};
    *form = (cli_rows_form){.session = session, .output = *output, .classes = classes};
    form->columns = output->bytes / sizeof(float) / session->info.samples;
    if (cli_rows_are_of_classes(output))
        flatten(&form->output);
    form->judged = form->output.rank == 2 && cli_rows_are_of_classes(output);
    const char *names = session->options->classes;
    if (names != NULL && !form->judged) {
        firn_host_fail(names,
                       "the output %s has no classes; leave out --classes, or write logits or "
                       "probabilities of one class for each sample",
                       output->name);
        return CLI_USAGE;
    }
    form->labelled = form->judged && reads_in_order(session) && reads_labels(session);
    form->pictured = reads_in_order(session) && reads_images(session);
    char of[220];
    snprintf(of, sizeof of, "the output %s", output->name);
    const bool heads = kind == CLI_ROWS_CSV && form->columns != 1; /* the names are those of columns, too */
    int status = form->judged ? cli_classes_find(classes, session, classes_of(form),
                                                 heads ? others : &others[sizeof others / sizeof *others - 1])
                              : CLI_OK;
    if (status == CLI_OK)
        status = cli_classes_check(classes, classes_of(form), of);
    return status == CLI_OK && heads ? cli_classes_check_columns(classes, others) : status;
}

/* The class of the largest number, of equals the first; of one number whether it is above that of no preference. -1: a
 * number is NaN. */
static int64_t predicted(const cli_rows_form *form, const float *values) {
    uint64_t best = 0;
    for (uint64_t i = 0; i < form->columns; i++) {
        if (isnan(values[i]))
            return -1;
        best = values[i] > values[best] ? i : best;
    }
    if (form->columns > 1)
        return (int64_t)best;
    const bool probability = strcmp(form->output.name, "probabilities") == 0;
    return values[0] > (probability ? 0.5f : 0.0f);
}

/* The label of a row; -1: it is none of the classes, as what -100 in a file becomes, and is ignored. False without a
 * message if it cannot be read. */
static bool read_label(const cli_rows_form *form, uint64_t row, int64_t *label) {
    const firn_source *source = &form->session->data.source;
    uint8_t element[8];
    if (source->read(source->context, LABELS, row, 1, element) != 0)
        return false;
    *label = (int64_t)cli_integer_at(source->streams[LABELS].element, element);
    if (*label >= (int64_t)classes_of(form))
        *label = -1;
    return true;
}

/* The path of the image of a row. */
static const char *image_of(const cli_rows_form *form, uint64_t row) {
    const firn_host_stream *features = &form->session->data.files[FEATURES];
    const uint64_t width = form->session->data.streams[FEATURES].record_elements, element = row * width;
    const uint32_t file = firn_host_data_file_of(features, element);
    return firn_host_file_images(features->files[file])->images[(element - features->starts[file]) / width].name;
}

/* The name of a class; NULL: there is none. */
static const char *name_of(const cli_rows_form *form, int64_t class) {
    return class >= 0 && (uint64_t) class < form->classes->count ? form->classes->names[class] : NULL;
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

void cli_rows_csv_head(FILE *to, const cli_rows_form *form) {
    const bool named = form->classes->count != 0;
    fprintf(to, "row%s%s%s%s%s", form->pictured ? ",file" : "", form->judged ? ",predicted" : "",
            form->judged && named ? ",class" : "", form->labelled ? ",label" : "",
            form->labelled && named ? ",label_class" : "");
    for (uint64_t i = 0; i < form->columns; i++) {
        putc(',', to);
        if (named && form->columns > 1)
            cli_print_csv(to, form->classes->names[i]);
        else
            fprintf(to, "%s_%llu", form->output.name, (unsigned long long)i);
    }
    putc('\n', to);
}

/* A class and its name, as far as there are any. */
static void put_csv_class(FILE *to, const cli_rows_form *form, int64_t class) {
    putc(',', to);
    if (class >= 0)
        fprintf(to, "%lld", (long long)class);
    if (form->classes->count == 0)
        return;
    putc(',', to);
    if (name_of(form, class) != NULL)
        cli_print_csv(to, name_of(form, class));
}

static void put_csv(FILE *to, const cli_rows_form *form, uint64_t row, const float *values, int64_t label) {
    fprintf(to, "%llu", (unsigned long long)row);
    if (form->pictured) {
        putc(',', to);
        cli_print_csv(to, image_of(form, row));
    }
    if (form->judged)
        put_csv_class(to, form, predicted(form, values));
    if (form->labelled)
        put_csv_class(to, form, label);
    for (uint64_t i = 0; i < form->columns; i++)
        fprintf(to, ",%.9g", (double)values[i]);
    putc('\n', to);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* A name as JSON has it. The name of a file may be no UTF-8; each of its bytes is then a character. */
static void put_json_name(FILE *to, const char *name) {
    if (!firn_utf8_is(name)) {
        cli_print_json(to, name);
        return;
    }
    putc('"', to);
    for (; *name != 0; name++) {
        if ((unsigned char)*name < 0x20) {
            fprintf(to, "\\u%04x", (unsigned)*name);
            continue;
        }
        if (*name == '"' || *name == '\\')
            putc('\\', to);
        putc(*name, to);
    }
    putc('"', to);
}

static void put_json_class(FILE *to, const cli_rows_form *form, const char *key, const char *name_key, int64_t class) {
    fprintf(to, ",\"%s\":", key);
    if (class >= 0)
        fprintf(to, "%lld", (long long)class);
    else
        fputs("null", to);
    if (form->classes->count == 0)
        return;
    fprintf(to, ",\"%s\":", name_key);
    if (name_of(form, class) != NULL)
        put_json_name(to, name_of(form, class));
    else
        fputs("null", to);
}

/* The numbers of a row, in a list for each dimension but the first. JSON has neither NaN nor infinity: null. */
static void put_numbers(FILE *to, const cli_rows_form *form, const float *values) {
    const firn_tensor_info *output = &form->output;
    for (uint64_t i = 0; i < form->columns; i++) {
        uint64_t block = 1;
        for (uint32_t d = output->rank;
             d-- > 1;) { /* opened before the first number of a block, closed behind its last */
            block *= output->dims[d];
            if (i % block == 0)
                putc('[', to);
        }
        if (isfinite(values[i]))
            fprintf(to, "%.9g", (double)values[i]);
        else
            fputs("null", to);
        block = 1;
        for (uint32_t d = output->rank; d-- > 1;) {
            block *= output->dims[d];
            if ((i + 1) % block == 0)
                putc(']', to);
        }
        if (i + 1 < form->columns)
            putc(',', to);
    }
}

static void put_json(FILE *to, const cli_rows_form *form, uint64_t row, const float *values, int64_t label) {
    fprintf(to, "{\"row\":%llu", (unsigned long long)row);
    if (form->pictured) {
        fputs(",\"file\":", to);
        put_json_name(to, image_of(form, row));
    }
    if (form->judged)
        put_json_class(to, form, "predicted", "class", predicted(form, values));
    if (form->labelled)
        put_json_class(to, form, "label", "label_class", label);
    putc(',', to);
    cli_print_json(to, form->output.name);
    putc(':', to);
    put_numbers(to, form, values);
    fputs("}\n", to);
}

bool cli_rows_put(FILE *to, const cli_rows_form *form, cli_rows_kind kind, uint64_t row, const float *values) {
    int64_t label = -1;
    if (form->labelled && !read_label(form, row, &label))
        return false;
    if (kind == CLI_ROWS_CSV)
        put_csv(to, form, row, values, label);
    else
        put_json(to, form, row, values, label);
    return true;
}
