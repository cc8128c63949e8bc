/* firn data: says what data files hold, what a plan takes from them or why it refuses them, and writes what a device
 * gets of them. Files are described as they are first, so that a file that the plan refuses is described, too. */
#include <string.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"

enum { COUNTS_SHOWN = 20, PIECE_ELEMENTS = 16384, ELEMENT_BYTES_MOST = 4 };

static const char *const roles[FIRN_HOST_STREAMS] = {"data", "labels", "weights"};

/* --- what the files hold ------------------------------------------------------------------------------------------ */

static void line(const char *name, const char *text) {
    printf("  %-19s", name);
    firn_host_print(stdout, text);
    putchar('\n');
}

static void print_shape(const firn_data_layout *layout, bool bytes) {
    char shape[200], text[300];
    const uint32_t each = firn_data_record_elements(layout);
    if (bytes) {
        snprintf(text, sizeof text, "%llu byte%s", (unsigned long long)layout->elements, cli_s(layout->elements));
        line("length", text);
        return;
    }
    firn_host_dims_text(layout->dims, layout->rank, "()", shape, sizeof shape);
    snprintf(text, sizeof text, "%s: %llu record%s of %lu number%s", shape, (unsigned long long)layout->dims[0],
             cli_s(layout->dims[0]), (unsigned long)each, cli_s(each));
    line("shape", text);
}

/* Prints how often each class stands in the labels. names: of the classes, or none. */
static void print_counts(const firn_host_summary *summary, const firn_host_names *names) {
    uint32_t shown = 0;
    printf("  %-19s", "counts");
    for (uint32_t i = 0; i < summary->span && shown < COUNTS_SHOWN; i++) {
        const long long class = (long long)summary->first + i;
        if (summary->counts[i] == 0)
            continue;
        printf("%s%lld", shown++ == 0 ? "" : ", ", class);
        if (class >= 0 && class < (long long)names->count) {
            putchar(' ');
            firn_host_print(stdout, names->list[class]);
        }
        printf(": %llu", (unsigned long long)summary->counts[i]);
    }
    printf("%s\n", summary->classes > shown ? ", ..." : "");
}

/* Takes the labels of -100, which are ignored and no class, out of the counts. Returns their number. */
static uint64_t take_ignored(firn_host_summary *summary) {
    enum { IGNORED = -100 };
    uint64_t *counts = summary->counts;
    uint32_t begin = 0;
    if (summary->first > IGNORED || summary->first + summary->span <= IGNORED)
        return 0;
    const uint64_t ignored = counts[IGNORED - summary->first];
    counts[IGNORED - summary->first] = 0;
    summary->classes -= ignored != 0;
    while (begin < summary->span && counts[begin] == 0)
        begin++;
    memmove(counts, counts + begin, (summary->span - begin) * sizeof *counts);
    summary->first += begin;
    summary->span -= begin;
    while (summary->span > 0 && counts[summary->span - 1] == 0)
        summary->span--;
    return ignored;
}

static void print_classes(firn_host_summary *summary, const firn_host_names *names) {
    char text[200];
    if (summary->counts == NULL)
        return;
    const uint64_t with_ignored = summary->classes, ignored = take_ignored(summary);
    const long long first = (long long)summary->first, last = first + summary->span - 1;
    if (summary->classes != 0)
        snprintf(text, sizeof text, "%lu, from %lld to %lld", (unsigned long)summary->classes, first, last);
    else
        snprintf(text, sizeof text, "0");
    line("classes", text);
    if (summary->classes != 0)
        print_counts(summary, names);
    if (ignored != 0) {
        snprintf(text, sizeof text,
                 "%llu label%s -100, which is no class: a plan with ignore_index does not count them",
                 (unsigned long long)ignored, ignored == 1 ? " is" : "s are");
        line("ignored", text);
    }
    if (summary->changes + 1 == with_ignored && summary->classes > 1 && summary->numbers >= 2 * with_ignored)
        line("warning", "the labels are sorted by class, and a part that is held out is the last records: shuffle the "
                        "records with their labels");
    if (first == 1 && last == (long long)summary->classes && last > 1)
        line("warning", "the classes begin at 1, and a plan numbers them from 0: save x - 1");
}

/* names: of the classes of labels; NULL: the file has no labels */
static bool print_numbers(const firn_host_file *file, const firn_host_names *names) {
    firn_host_summary summary;
    char text[200];
    const bool read = firn_host_file_summarise(file, &summary);
    if (read && summary.least[0] != 0 && firn_host_file_layout(file)->format != FIRN_DATA_RAW) {
        snprintf(text, sizeof text, "%s to %s", summary.least, summary.most);
        line("range", text);
    }
    if (read && summary.real) {
        snprintf(text, sizeof text, "%llu of %llu numbers, infinity %llu", (unsigned long long)summary.nans,
                 (unsigned long long)summary.numbers, (unsigned long long)summary.infinities);
        line("NaN", text);
    }
    if (read && names != NULL)
        print_classes(&summary, names);
    firn_host_summary_free(&summary);
    return read;
}

/* Prints the class folders of images, and how many images each has. */
static void print_class_folders(const firn_host_image_list *list) {
    printf("  %-19s%lu: ", "class folders", (unsigned long)list->class_count);
    for (uint32_t i = 0; i < list->class_count && i < COUNTS_SHOWN; i++) {
        printf("%s%lu ", i == 0 ? "" : ", ", (unsigned long)i);
        firn_host_print(stdout, list->classes[i]);
        printf(" (%llu)", (unsigned long long)list->class_images[i]);
    }
    printf("%s\n", list->class_count > COUNTS_SHOWN ? ", ..." : "");
    if (list->class_count == 1)
        line("warning", "all images are of one class");
}

/* The names that the numbers of labels have. Those of class folders are shown with the images. */
static const firn_host_names *names_of_labels(const firn_host_data *data) {
    static const firn_host_names none;
    return firn_host_file_images(data->files[0].files[0]) != NULL ? &none : &data->classes;
}

static bool print_file(const firn_host_data *data, uint32_t index, uint32_t role) {
    const firn_host_stream *stream = &data->files[role];
    const firn_host_file *file = stream->files[index];
    const firn_data_layout *layout = firn_host_file_layout(file);
    char text[400], hash[65];
    printf("%s %lu of %lu: ", roles[role], (unsigned long)index + 1, (unsigned long)stream->count);
    firn_host_print(stdout, firn_host_file_name(file));
    putchar('\n');
    firn_host_file_describe(file, text, sizeof text);
    line("form", text);
    print_shape(layout, layout->format == FIRN_DATA_RAW);
    if (!print_numbers(file, role == 1 ? names_of_labels(data) : NULL))
        return false;
    if (firn_host_file_rounded_integers(file, text, sizeof text) != 0)
        line("note", text);
    if (role == 0)
        cli_tokens_print(data, index);
    if (firn_host_file_images(file) != NULL && firn_host_file_images(file)->class_count != 0)
        print_class_folders(firn_host_file_images(file));
    cli_hex(hash, firn_host_file_sha256(file));
    line("sha256", hash);
    return true;
}

static bool print_stream(const firn_host_data *data, uint32_t role) {
    const firn_host_stream *stream = &data->files[role];
    for (uint32_t i = 0; i < stream->count; i++)
        if (!print_file(data, i, role))
            return false;
    for (uint32_t i = 0; i < stream->left_count; i++) {
        fputs("left out: ", stdout);
        firn_host_print(stdout, stream->left[i]);
        putchar('\n');
    }
    return true;
}

/* Opens the files without a plan: as their own numbers, or converted to what they become by default. */
static bool open_without_plan(firn_host_data *data, const cli_options *options, bool only_looks) {
    const bool labels = options->labels != NULL || options->target != NULL || (!only_looks && options->labels_output);
    firn_host_wanted wanted = {.records = true, .only_looks = only_looks};
    wanted.stream_count = options->weights != NULL ? 3 : labels ? 2 : 1;
    cli_want_parts(&wanted, options);
    return firn_host_data_open(data, &wanted, options->data, options->data_count, options->labels, options->weights);
}

/* Writes the names of classes, for --classes. */
static int write_classes(const firn_host_data *data, const cli_options *options) {
    if (options->classes_output == NULL)
        return CLI_OK;
    if (data->classes.count != 0)
        return cli_classes_write(options->classes_output, data->classes.list, data->classes.count);
    firn_host_fail(firn_host_file_name(data->files[0].files[0]),
                   "is no folder of class folders, and has no labels that are names of classes, which --classes-output "
                   "writes; leave that out");
    return CLI_USAGE;
}

/* Says what the columns of tables hold, also of a table that was refused, unless that may be damaged as a packed file:
 * this has been said. */
static void print_columns(const firn_host_data *data, const cli_options *options, bool opened) {
    firn_host_wanted wanted = {.records = true, .only_looks = true, .stream_count = 1};
    cli_want_parts(&wanted, options);
    for (uint32_t i = 0; i < data->files[0].count; i++) {
        const firn_host_file *file = data->files[0].files[i];
        if (firn_host_file_images(file) == NULL && (opened || !firn_host_has_ending(firn_host_file_name(file), ".gz")))
            cli_columns_print(firn_host_file_name(file), &wanted);
    }
}

/* Describes the files. Returns CLI_OK, or another exit code after a message. */
static int print_files(const cli_options *options) {
    firn_host_data data;
    const bool opened = open_without_plan(&data, options, true);
    bool printed = opened;
    int status = CLI_FILE;
    if (printed && options->labels_output != NULL && data.files[1].count == 0) {
        firn_host_fail(options->command, "needs --labels or --target-column with --convert-labels, or class folders of "
                                         "images; `firn help` shows the command line");
        printed = false;
        status = CLI_USAGE;
    }
    for (uint32_t s = 0; printed && s < FIRN_HOST_STREAMS; s++)
        printed = print_stream(&data, s);
    print_columns(&data, options, opened);
    if (printed)
        status = write_classes(&data, options);
    firn_host_data_close(&data);
    return status;
}

/* --- what a plan takes -------------------------------------------------------------------------------------------- */

static void print_stream_of_plan(const cli_session *session, uint32_t stream) {
    firn_stream_info info;
    char text[300];
    uint64_t rounded = 0;
    if (firn_stream_at(&session->firn, stream, &info) != FIRN_OK)
        return;
    for (uint32_t i = 0; i < session->data.files[stream].count; i++)
        rounded += firn_host_file_rounded(session->data.files[stream].files[i]);
    int length = session->info.window != 0
                     ? snprintf(text, sizeof text, "a text of %s", firn_type_name(info.element))
                     : snprintf(text, sizeof text, "%lu %s of each record", (unsigned long)info.record_elements,
                                firn_type_name(info.element));
    const uint32_t limit = stream == 1 ? cli_label_classes(session, &info) : info.limit;
    if (limit != 0)
        length += snprintf(text + length, sizeof text - (size_t)length, ", from 0 to %lu%s", (unsigned long)limit - 1,
                           limit == info.limit ? "" : ", or -100, which is ignored");
    if (rounded != 0)
        snprintf(text + length, sizeof text - (size_t)length, "; %llu number%s rounded once to float32",
                 (unsigned long long)rounded, rounded == 1 ? " is" : "s are");
    line(roles[stream], text);
}

/* Prints what the plan takes. Returns CLI_OK, or another exit code after a message. */
static int print_plan(const cli_session *session) {
    char text[400], hash[65];
    printf("plan: ");
    firn_host_print(stdout, session->options->file);
    printf(", %s\n", session->info.eval ? "eval" : "train");
    for (uint32_t s = 0; s < session->data.source.stream_count; s++)
        print_stream_of_plan(session, s);
    cli_hex(hash, session->data.sha256);
    line("data hash", hash);
    if (session->info.window != 0)
        cli_note_kinds(session);
    cli_note_twins(session);
    cli_note_first_class(session);
    cli_note_images(session);
    cli_note_classes(session);
    cli_note_split(session);
    if (cli_say_out_of_range(session, text, sizeof text) != NULL)
        return cli_error(session, FIRN_ERROR_DATA_RANGE);
    if (!cli_say_samples(session, text, sizeof text))
        return cli_error(session, FIRN_ERROR_DATA_TOO_SHORT);
    line("samples", text);
    return CLI_OK;
}

/* --- what a device gets ------------------------------------------------------------------------------------------- */

static int fail_to_write(firn_host_replacement *file, const char *path) {
    firn_host_replace_fail(file, path);
    return CLI_FILE;
}

/* Writes all elements of a stream behind the header. Returns CLI_OK, or another exit code after a message. */
static int write_elements(const firn_host_data *data, uint32_t stream, firn_host_replacement *file, const char *path) {
    static uint8_t bytes[PIECE_ELEMENTS * ELEMENT_BYTES_MOST];
    const uint32_t width = firn_type_bytes(data->streams[stream].element);
    const uint64_t elements = firn_host_data_elements(&data->files[stream]);
    for (uint64_t at = 0; at < elements;) {
        const uint64_t left = elements - at;
        const uint32_t piece = left < PIECE_ELEMENTS ? (uint32_t)left : PIECE_ELEMENTS;
        char fault[200] = "cannot be read to its end";
        if (data->source.read(data->source.context, stream, at, piece, bytes) != FIRN_OK) {
            const char *name = firn_host_data_fault(data, fault, sizeof fault);
            firn_host_fail(name != NULL ? name : path, "%s, so that %s was not written", fault, path);
            return CLI_FILE;
        }
        if (!firn_host_replace_write(file, CLI_NPY_HEADER_BYTES + at * width, bytes, (size_t)piece * width))
            return fail_to_write(file, path);
        if (cli_signals_came()) {
            firn_host_note("interrupted; %s was not written", path);
            return CLI_INTERRUPTED;
        }
        at += piece;
    }
    return CLI_OK;
}

/* Writes a stream as one array: the records of all files after one another, in the shape of those of the first. The
 * file has its temporary name behind that. */
static int write_stream(const firn_host_data *data, uint32_t stream, firn_host_replacement *file, const char *path) {
    const firn_data_layout *layout = firn_host_file_layout(data->files[stream].files[0]);
    const uint64_t each = firn_data_record_elements(layout), elements = firn_host_data_elements(&data->files[stream]);
    if (!firn_host_replaceable(path))
        return CLI_FILE;
    const int status =
        firn_host_replace_begin(file, path) ? write_elements(data, stream, file, path) : fail_to_write(file, path);
    if (status != CLI_OK)
        return status;
    const bool written =
        cli_npy_put_header(file, data->streams[stream].element, elements / each, layout->dims + 1, layout->rank - 1u) &&
        firn_host_replace_sync(file);
    return written ? CLI_OK : fail_to_write(file, path);
}

enum { CONVERTED = 2 }; /* records and labels */

/* Gives the arrays their names. If only the disk has not confirmed the first name, the second array gets its own, too.
 */
static int place(firn_host_replacement files[CONVERTED], const char *const paths[CONVERTED]) {
    int status = CLI_OK;
    bool placed = true;
    for (uint32_t s = 0; placed && s < CONVERTED; s++) {
        if (paths[s] == NULL || firn_host_replace_end(&files[s]))
            continue;
        placed = files[s].placed;
        status = fail_to_write(&files[s], paths[s]);
        if (s > 0 && !placed && paths[0] != NULL)
            firn_host_note("%s is there already; convert again, so that both are of one call", paths[0]);
    }
    return status;
}

/* Writes both arrays before either replaces what is there, so that records and labels of two calls are not mixed. */
static int convert_streams(const firn_host_data *data, const char *const paths[CONVERTED]) {
    firn_host_replacement files[CONVERTED] = {{.file = -1}, {.file = -1}};
    int status = CLI_OK;
    for (uint32_t s = 0; status == CLI_OK && s < CONVERTED; s++)
        status = paths[s] != NULL ? write_stream(data, s, &files[s], paths[s]) : CLI_OK;
    if (status == CLI_OK)
        status = place(files, paths);
    for (uint32_t s = 0; s < CONVERTED; s++)
        firn_host_replace_abandon(&files[s]);
    return status;
}

/* Returns true if a file is bytes or raw tokens, which are one text. */
static bool is_text(const firn_host_file *file) {
    return firn_host_file_layout(file)->format == FIRN_DATA_RAW || firn_host_file_tokens(file) != NULL;
}

/* A text ends with its file: windows do not cross its end, which one array would lose. */
static int refuse_texts(const firn_host_data *data, bool text) {
    const firn_host_stream *stream = &data->files[0];
    text = text || is_text(stream->files[0]);
    if (!text || stream->count == 1)
        return CLI_OK;
    firn_host_fail(firn_host_file_name(stream->files[1]),
                   "is another text, and --convert writes one: a text ends with its file; convert them one by one");
    return CLI_USAGE;
}

/* Writes what records a file has. Returns the text. */
static const char *records_text(const firn_host_file *file, char *text, size_t size) {
    const firn_data_layout *layout = firn_host_file_layout(file);
    char shape[200];
    if (layout->format == FIRN_DATA_RAW)
        return "bytes";
    firn_host_dims_text(layout->dims + 1, layout->rank - 1u, "()", shape, sizeof shape);
    snprintf(text, size, "records of %s %s", firn_type_name(layout->element), shape);
    return text;
}

static bool are_alike(const firn_host_file *a, const firn_host_file *b) {
    const firn_data_layout *p = firn_host_file_layout(a), *q = firn_host_file_layout(b);
    bool alike = is_text(a) == is_text(b) && p->element == q->element && p->rank == q->rank;
    for (uint32_t i = 1; alike && i < p->rank; i++)
        alike = p->dims[i] == q->dims[i];
    return alike;
}

/* Refuses files whose records one array cannot hold. A plan would have said what all of them become. */
static int refuse_unlike(const firn_host_stream *stream) {
    char text[300], first[300];
    for (uint32_t i = 1; i < stream->count; i++)
        if (!are_alike(stream->files[0], stream->files[i])) {
            firn_host_fail(firn_host_file_name(stream->files[i]),
                           "has %s, and %s has %s: one array holds records of one type and shape; convert them one by "
                           "one, or name the plan that reads them by --plan",
                           records_text(stream->files[i], text, sizeof text), firn_host_file_name(stream->files[0]),
                           records_text(stream->files[0], first, sizeof first));
            return CLI_FILE;
        }
    return CLI_OK;
}

/* text: the plan reads one. */
static int convert(const firn_host_data *data, const cli_options *options, bool text) {
    int status = refuse_texts(data, text);
    if (status == CLI_OK && options->labels_output != NULL && data->files[1].count == 0) {
        firn_host_fail(options->labels_output, "cannot be written, because the plan reads no labels; leave out "
                                               "--convert-labels");
        return CLI_USAGE;
    }
    if (status == CLI_OK && options->file == NULL && options->output != NULL)
        status = refuse_unlike(&data->files[0]);
    if (status == CLI_OK && options->file == NULL && options->labels_output != NULL)
        status = refuse_unlike(&data->files[1]);
    cli_signals_catch();
    return status == CLI_OK
               ? convert_streams(data, (const char *const[CONVERTED]){options->output, options->labels_output})
               : status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static bool converts(const cli_options *options) {
    return options->output != NULL || options->labels_output != NULL;
}

static int run_without_plan(const cli_options *options) {
    firn_host_data data;
    if (!converts(options))
        return CLI_OK;
    int status = open_without_plan(&data, options, false) ? CLI_OK : CLI_FILE;
    if (status == CLI_OK)
        status = convert(&data, options, false);
    firn_host_data_close(&data);
    return status;
}

/* Says what stands in the labels of a device for the rows that are ignored. firn reads -100 for it, and a device reads
 * what its plan does, so the array is for devices. */
static void note_ignored(const cli_session *session) {
    const char *path = session->options->labels_output;
    uint32_t label;
    bool unclassed;
    if (path != NULL && !session->options->quiet && cli_ignored_label(session, &label, &unclassed) && unclassed)
        firn_host_note("%s: a label of -100 is written as %lu, which a device reads for it; for firn train keep the "
                       "labels that you have",
                       path, (unsigned long)label);
}

static int run_with_plan(const cli_options *options) {
    static cli_session session;
    int status = cli_session_open(&session, options);
    if (status == CLI_OK)
        status = print_plan(&session);
    if (status == CLI_OK && converts(options))
        status = convert(&session.data, options, session.info.window != 0);
    if (status == CLI_OK)
        note_ignored(&session);
    cli_session_end(&session);
    return status;
}

int cli_data(const cli_options *options) {
    int status = print_files(options);
    if (status != CLI_OK)
        return status;
    status = options->file != NULL ? run_with_plan(options) : run_without_plan(options);
    const int flushed = cli_flush();
    return status != CLI_OK ? status : flushed;
}
