/* Says what data a run reads, before its first step: the files in their order, what was left out of folders, files that
 * are probably not the text that they are read as, and how many samples, batches and epochs there are. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"

enum { FILES_MOST = 8, LEFT_MOST = 8 };

static const char *const names[FIRN_HOST_STREAMS] = {"data", "labels", "weights"};

/* --- files --- */

static const char *name_of(const firn_host_stream *stream, uint32_t i) {
    return firn_host_file_name(stream->files[i]);
}

/* Notes each file in a line of its own. */
static void list_files(const cli_session *session, uint32_t number) {
    const firn_host_stream *stream = &session->data.files[number];
    const bool records = session->info.window == 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        const uint64_t count = stream->segments[i].elements / session->data.streams[number].record_elements;
        firn_host_note("%s %lu of %lu: %s, %llu %s%s", names[number], (unsigned long)i + 1,
                       (unsigned long)stream->count, name_of(stream, i), (unsigned long long)count,
                       records ? "record" : firn_type_name(session->data.streams[number].element),
                       records ? cli_s(count) : "");
    }
}

/* Notes all files in one line; of many files only the first and the last. */
static void name_files(const firn_host_stream *stream, uint32_t number) {
    char *text = firn_host_path("", "");
    for (uint32_t i = 0; i < stream->count; i++) {
        if (stream->count > FILES_MOST && i != 0 && i != stream->count - 1)
            continue;
        const char *before = i == 0 ? "" : stream->count > FILES_MOST ? ", ..., " : ", ";
        char *longer = firn_host_path(text, before), *whole = firn_host_path(longer, name_of(stream, i));
        free(text);
        free(longer);
        text = whole;
    }
    firn_host_note("%s: %lu file%s%s: %s%s", names[number], (unsigned long)stream->count, cli_s(stream->count),
                   stream->count == 1 ? "" : " in this order", text,
                   stream->count > FILES_MOST ? " (-v names all)" : "");
    free(text);
}

/* Notes the first two files that their numbers put in another order than the bytes of their names do, such as 9 and 10,
 * or the other way round. Labels in one file may be in the other order. */
static void note_numbers(const firn_host_stream *stream) {
    for (uint32_t i = 0; i + 1 < stream->count; i++) {
        const char *first = name_of(stream, i), *second = name_of(stream, i + 1);
        const bool bytes = firn_host_folder_order(first, second, false) < 0;
        if (bytes == (firn_host_folder_order(first, second, true) < 0))
            continue;
        firn_host_note("%s comes before %s, by the %s of their names", first, second, bytes ? "bytes" : "numbers");
        return;
    }
}

static void note_left_out(const cli_session *session, const firn_host_stream *stream) {
    const uint32_t most = session->options->verbose ? UINT32_MAX : LEFT_MOST;
    for (uint32_t i = 0; i < stream->left_count && i < most; i++)
        firn_host_note("left out: %s", stream->left[i]);
    if (stream->left_count > most)
        firn_host_note("left out: %lu more (-v names all)", (unsigned long)(stream->left_count - most));
}

/* Notes files whose numbers are not exactly those that are read. */
static void note_rounded(const firn_host_stream *stream) {
    uint32_t noted = 0;
    char text[400];
    for (uint32_t i = 0; i < stream->count && noted < FILES_MOST; i++) {
        const uint64_t rounded = firn_host_file_rounded(stream->files[i]);
        if (firn_host_file_rounded_integers(stream->files[i], text, sizeof text) != 0) {
            firn_host_note("%s: %s", name_of(stream, i), text);
            noted++;
        }
        if (rounded == 0)
            continue;
        firn_host_note("%s: %llu of %llu numbers are rounded once, from float64 to float32", name_of(stream, i),
                       (unsigned long long)rounded, (unsigned long long)stream->segments[i].elements);
        noted++;
    }
}

/* Notes how wide the tokens of files without a type are taken to be. */
static void note_tokens(const firn_host_stream *stream) {
    for (uint32_t i = 0; i < stream->count && i < FILES_MOST; i++) {
        const char *type = firn_host_file_tokens(stream->files[i]);
        if (type != NULL)
            firn_host_note("%s: %llu tokens of %s", name_of(stream, i),
                           (unsigned long long)stream->segments[i].elements, type);
    }
}

static void note_files(const cli_session *session, uint32_t number) {
    const firn_host_stream *stream = &session->data.files[number];
    if (session->options->verbose)
        list_files(session, number);
    else if (stream->folder)
        name_files(stream, number);
    if (stream->folder)
        note_numbers(stream);
    note_left_out(session, stream);
    note_rounded(stream);
    note_tokens(stream);
}

/* --- what is read as text --- */

void cli_note_kinds(const cli_session *session) {
    const firn_host_stream *stream = &session->data.files[0];
    uint32_t noted = 0;
    for (uint32_t i = 0; i < stream->count && noted < FILES_MOST; i++) {
        const firn_file_kind *kind = firn_host_file_kind(stream->files[i]);
        const firn_data_layout *layout = firn_host_file_layout(stream->files[i]);
        if (kind != NULL)
            firn_host_note("%s begins like %s, and its bytes are read as they are; %s if that is not meant",
                           name_of(stream, i), kind->name, firn_host_file_mend(kind));
        else if (firn_host_file_is_named_bin(stream->files[i]) && session->data.streams[0].element == FIRN_UINT8)
            firn_host_note("%s is named as tokens are, and its bytes are read as they are; give it to a plan with "
                           "token_type: int32 if that is not meant",
                           name_of(stream, i));
        else if (stream->segments[i].elements == 0)
            firn_host_note("%s is empty", name_of(stream, i));
        else if (layout->rank > 1)
            firn_host_note("%s has %u dimensions, and is read as one text without borders between its rows",
                           name_of(stream, i), (unsigned)layout->rank);
        else
            continue;
        noted++;
    }
}

/* --- what is probably a mistake of whoever made the data --- */

/* A file, or one image of many. */
typedef struct content {
    const char *name;
    const uint8_t *sha256;
} content;

static int by_contents(const void *a, const void *b) {
    const content *first = a, *second = b;
    const int order = memcmp(first->sha256, second->sha256, FIRN_HASH_BYTES);
    return order != 0 ? order : strcmp(first->name, second->name);
}

/* Lists the contents of a stream, which the caller frees: its files, and the images in them. */
static content *list_contents(const firn_host_stream *stream, size_t *count) {
    content *list = NULL;
    *count = 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        const firn_host_image_list *images = firn_host_file_images(stream->files[i]);
        const uint32_t more = images != NULL ? images->count : 1;
        list = firn_host_grow(list, (*count + more) * sizeof *list);
        for (uint32_t j = 0; images != NULL && j < more; j++)
            list[*count + j] = (content){images->images[j].name, images->images[j].sha256};
        if (images == NULL)
            list[*count] = (content){name_of(stream, i), firn_host_file_sha256(stream->files[i])};
        *count += more;
    }
    return list;
}

/* Notes two files with the same contents. A part of each file, or of all records, is held out, and stands in the other.
 */
void cli_note_twins(const cli_session *session) {
    size_t count, twins = 0, first = 0;
    content *sorted = list_contents(&session->data.files[0], &count);
    qsort(sorted, count, sizeof *sorted, by_contents);
    for (size_t i = 1; i < count; i++)
        if (memcmp(sorted[i - 1].sha256, sorted[i].sha256, FIRN_HASH_BYTES) == 0 && twins++ == 0)
            first = i - 1;
    if (twins != 0)
        firn_host_note("%s and %s have the same contents%s%s", sorted[first].name, sorted[first + 1].name,
                       twins > 1 ? ", and so have others" : "",
                       session->info.all_data ? "" : ": what is held out of one may be trained on in the other");
    free(sorted);
}

/* Writes the class folders of images, and how many images each has. */
static void say_classes(const firn_host_image_list *list, char *text, size_t size) {
    int at =
        snprintf(text, size, " in %lu class folder%s:", (unsigned long)list->class_count, cli_s(list->class_count));
    for (uint32_t i = 0; i < list->class_count && i < FILES_MOST; i++)
        at += snprintf(text + at, size - (size_t)at, "%s %.40s %llu", i == 0 ? "" : ",", list->classes[i],
                       (unsigned long long)list->class_images[i]);
    if (list->class_count > FILES_MOST)
        snprintf(text + at, size - (size_t)at, ", ...");
}

void cli_note_images(const cli_session *session) {
    const firn_host_stream *stream = &session->data.files[0];
    firn_stream_info info = {0};
    const bool labelled = session->data.source.stream_count > 1 && firn_stream_at(&session->firn, 1, &info) == FIRN_OK;
    const uint32_t classes = labelled ? cli_label_classes(session, &info) : 0;
    for (uint32_t i = 0; i < stream->count && i < FILES_MOST; i++) {
        const firn_host_image_list *list = firn_host_file_images(stream->files[i]);
        char text[FILES_MOST * 64 + 100] = "";
        if (list == NULL || list->class_count == 0)
            continue;
        say_classes(list, text, sizeof text);
        firn_host_note("%s: %lu image%s%s", name_of(stream, i), (unsigned long)list->count, cli_s(list->count), text);
        if (labelled && list->class_count == 1)
            firn_host_note("%s: all images are of one class", name_of(stream, i));
        else if (labelled && classes > list->class_count)
            firn_host_note("%s: %lu of the %lu classes of the plan have no folder", name_of(stream, i),
                           (unsigned long)(classes - list->class_count), (unsigned long)classes);
    }
}

/* Whether the labels are texts of tables. */
static bool has_named_labels(const cli_session *session) {
    return session->data.classes.count != 0 && session->data.source.stream_count > 1 &&
           firn_host_file_images(session->data.files[0].files[0]) == NULL;
}

void cli_note_classes(const cli_session *session) {
    const firn_host_names *classes = &session->data.classes;
    firn_stream_info info;
    char text[FILES_MOST * 64 + 100] = "";
    size_t at = 0;
    if (!has_named_labels(session) || firn_stream_at(&session->firn, 1, &info) != FIRN_OK)
        return;
    for (uint32_t i = 0; i < classes->count && i < FILES_MOST; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lu %.40s", i == 0 ? "" : ", ", (unsigned long)i,
                               classes->list[i]);
    firn_host_note("%s: %lu class%s: %s%s", name_of(&session->data.files[1], 0), (unsigned long)classes->count,
                   classes->count == 1 ? "" : "es", text, classes->count > FILES_MOST ? ", ..." : "");
    const uint32_t limit = cli_label_classes(session, &info);
    if (limit > classes->count)
        firn_host_note("%s: %lu of the %lu classes of the plan have no name here", name_of(&session->data.files[1], 0),
                       (unsigned long)(limit - classes->count), (unsigned long)limit);
}

/* Notes labels that begin at 1, although the plan has a class for each: then a class has no record. */
void cli_note_first_class(const cli_session *session) {
    firn_stream_info info;
    firn_host_summary summary;
    bool from_one = true;
    const bool numbers = session->data.classes.count == 0; /* names are numbered from 0 */
    if (!numbers || session->data.source.stream_count < 2 || session->info.window != 0 ||
        firn_stream_at(&session->firn, 1, &info) != FIRN_OK)
        return;
    const uint32_t classes = cli_label_classes(session, &info);
    if (classes < 3)
        return;
    for (uint32_t i = 0; from_one && i < session->data.files[1].count; i++) {
        from_one = firn_host_file_summarise(session->data.files[1].files[i], &summary) && summary.counts != NULL &&
                   summary.first >= 1 && (summary.first == 1 || i != 0) &&
                   summary.first + summary.span == (int64_t)classes;
        firn_host_summary_free(&summary);
    }
    if (from_one)
        firn_host_note(
            "%s: the labels are 1 to %lu, and no record has class 0 of %lu: if the classes begin at 1, save x - "
            "1, and compile with one class fewer",
            firn_host_file_name(session->data.files[1].files[0]), (unsigned long)classes - 1, (unsigned long)classes);
}

/* --- counts --- */

/* Returns the name of an element of text. */
static const char *element_of(const cli_session *session) {
    return session->data.streams[0].element == FIRN_UINT8 ? "byte" : "token";
}

/* Returns the word for so many samples. */
static const char *unit_of(const cli_session *session, uint64_t count, char *text, size_t size) {
    const uint32_t window = session->info.window;
    if (window == 0)
        snprintf(text, size, "sample%s", cli_s(count));
    else
        snprintf(text, size, "window%s of %lu %s%s", cli_s(count), (unsigned long)window, element_of(session),
                 cli_s(window));
    return text;
}

/* Counts the samples. If the plan's samples are pushed, firn pushes all of the data. Returns false if the library
 * cannot count. */
static bool count(const cli_session *session, firn_sample_counts *counts) {
    const firn_info *info = &session->info;
    if (info->ring == 0)
        return firn_count_samples(&session->firn, &session->source, counts) == FIRN_OK;
    const uint64_t elements = firn_host_data_elements(&session->data.files[0]);
    *counts = (firn_sample_counts){0};
    if (info->window == 0)
        counts->all = elements / session->data.streams[0].record_elements;
    else
        counts->all = elements < info->window ? 0 : (elements - info->window) / info->stride + 1;
    counts->part = counts->all;
    return true;
}

/* Writes how many samples there are, held out and read. Windows that begin in the part before the border of a segment
 * and end behind it are in neither part; only a plan that does not read the part held out has the counts of both. */
static void say_counts(const cli_session *session, const firn_sample_counts *counts, char *text, size_t size) {
    char unit[64];
    const char *name = unit_of(session, counts->all, unit, sizeof unit);
    const unsigned long long all = counts->all, part = counts->part, held = counts->held_out;
    if (session->info.all_data)
        snprintf(text, size, "%llu %s, none held out", all, name);
    else if (cli_reads_held_out(session))
        snprintf(text, size, "%llu %s, %llu of them held out, which %s read", all, name, held,
                 held == 1 ? "is" : "are");
    else if (all == held + part)
        snprintf(text, size, "%llu %s, %llu of them held out and %llu read", all, name, held, part);
    else
        snprintf(text, size, "%llu %s, %llu of them held out, %llu read and %llu across the border between the two",
                 all, name, held, part, all - held - part);
}

static void note_training(const cli_session *session, const char *text, uint64_t part) {
    const firn_info *info = &session->info;
    const uint64_t batch = (uint64_t)info->samples * info->micro_batches;
    char micro[64] = "", run[100] = "a run without an end";
    if (info->micro_batches > 1)
        snprintf(micro, sizeof micro, " (%lu micro-batches of %lu)", (unsigned long)info->micro_batches,
                 (unsigned long)info->samples);
    if (info->steps != 0)
        snprintf(run, sizeof run, "%.4g epoch%s in the run of %llu step%s",
                 (double)info->steps * (double)batch / (double)part, cli_s(info->steps * batch == part ? 1 : 0),
                 (unsigned long long)info->steps, cli_s(info->steps));
    firn_host_note("%s; %llu in a step%s, %.4g step%s in an epoch, %s", text, (unsigned long long)batch, micro,
                   (double)part / (double)batch, cli_s(part == batch ? 1 : 0), run);
    if (batch > part)
        firn_host_note("a step takes more samples than there are: it reads some of them more than once");
}

/* Writes in how many batches an evaluation takes the samples. It ends with the data, unless it reads them again, and
 * with its last step, if it has one. The last batch may be short. */
static void note_evaluation(const cli_session *session, const char *text, uint64_t part) {
    const firn_info *info = &session->info;
    const bool again = firn_fb_sampler_epoch_end(firn_fb_plan_sampler(cli_plan(session))) == FIRN_FB_EPOCH_END_WRAP;
    const unsigned long samples = info->samples, rest = (unsigned long)(part % info->samples);
    const uint64_t there = part / info->samples, most = info->steps != 0 ? info->steps : UINT64_MAX;
    const uint64_t whole = again || most < there ? most : there;
    const bool is_short = (info->short_batch || cli_last_batch_is_filled(session)) && rest != 0 && whole < most;
    if (!is_short)
        firn_host_note("%s; %llu batch%s of %lu", text, (unsigned long long)whole, whole == 1 ? "" : "es", samples);
    else if (whole == 0)
        firn_host_note("%s; 1 batch of %lu", text, rest);
    else
        firn_host_note("%s; %llu batch%s of %lu and one of %lu", text, (unsigned long long)whole,
                       whole == 1 ? "" : "es", samples, rest);
}

/* The samples that an evaluation or a training needs at least. */
static uint64_t fewest(const cli_session *session) {
    return session->info.short_batch || cli_last_batch_is_filled(session) ? 1 : session->info.samples;
}

static void note_counts(const cli_session *session) {
    const firn_info *info = &session->info;
    char text[300];
    firn_sample_counts counts;
    if (!count(session, &counts) || counts.part < fewest(session))
        return; /* too few samples are an error of the first step */
    say_counts(session, &counts, text, sizeof text);
    if (!info->eval)
        note_training(session, text, counts.part);
    else
        note_evaluation(session, text, counts.part);
}

bool cli_say_samples(const cli_session *session, char *text, size_t size) {
    firn_sample_counts counts;
    if (!count(session, &counts) || counts.part < fewest(session))
        return false;
    say_counts(session, &counts, text, size);
    return true;
}

void cli_note_data(const cli_session *session) {
    if (session->options->quiet)
        return;
    for (uint32_t s = 0; s < session->data.source.stream_count && s < FIRN_HOST_STREAMS; s++)
        note_files(session, s);
    if (session->info.window != 0)
        cli_note_kinds(session);
    cli_note_twins(session);
    cli_note_first_class(session);
    cli_note_images(session);
    cli_note_classes(session);
    cli_note_split(session);
    cli_columns_note(session);
    note_counts(session);
}

/* Appends how much text there is. */
static void say_elements(const cli_session *session, char *text, size_t size) {
    const uint32_t files = session->data.streams[0].segment_count;
    const uint64_t elements = firn_host_data_elements(&session->data.files[0]);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, ", of %llu %s%s in %lu file%s", (unsigned long long)elements,
             element_of(session), cli_s(elements), (unsigned long)files, cli_s(files));
}

/* Writes what to do about a training, or an evaluation of all data, that has too few samples. */
static void mend_data(const cli_session *session, uint64_t part, char *text, size_t size) {
    const firn_info *info = &session->info;
    int length = snprintf(text, size, "give more data");
    if (part != 0)
        length += snprintf(text + length, size - (size_t)length, ", or compile with a %s of at most %llu",
                           info->eval ? "batch_size" : "micro_batch_size", (unsigned long long)part);
    else if (info->window != 0 && !info->eval)
        length += snprintf(text + length, size - (size_t)length, ", or compile with a smaller max_sequence_length");
    if (!info->all_data)
        snprintf(text + length, size - (size_t)length, ", or with a smaller held_out_per_mille");
}

/* The same about the evaluation of a part, whose data and split must be those of the training, as its model must. */
static void mend_part(const cli_session *session, uint64_t part, char *text, size_t size) {
    char batch[80] = "";
    if (part != 0)
        snprintf(batch, sizeof batch, "compile with a batch_size of at most %llu, or ", (unsigned long long)part);
    snprintf(text, size, "%strain and evaluate with more data, or with a %s held_out_per_mille", batch,
             cli_reads_held_out(session) ? "larger" : "smaller");
}

void cli_say_too_short(const cli_session *session, char *text, size_t size) {
    const firn_info *info = &session->info;
    char there[300], mend[200];
    firn_sample_counts counts;
    text[0] = 0;
    if (!count(session, &counts))
        return;
    say_counts(session, &counts, there, sizeof there);
    if (info->window != 0)
        say_elements(session, there, sizeof there);
    if (info->eval && !info->all_data)
        mend_part(session, counts.part, mend, sizeof mend);
    else
        mend_data(session, counts.part, mend, sizeof mend);
    snprintf(text, size, "%s, and a batch takes %lu: %s", there, (unsigned long)info->samples, mend);
}
