/* Data from files and folders: opens all of them, hashes them, and offers them as a source that the library reads. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/container.h"
#include "plan/ops.h"
#include "runtime/targets/host/data_file.h"
#include "runtime/targets/host/table.h"

/* All small files together that are kept in memory. */
#define KEPT_BYTES (UINT64_C(32) << 20)

/* --- a stream of files --- */

/* The data to which files are added, the number of their stream, and what the plan reads. */
typedef struct addition {
    firn_host_data *data;
    uint32_t number;
    const firn_host_wanted *wanted;
} addition;

static void append(firn_host_stream *stream, firn_host_file *file) {
    stream->files = firn_host_grow(stream->files, (stream->count + 1) * sizeof(void *));
    stream->files[stream->count++] = file;
}

/* Keeps the names of the columns, which must be those of the table before unless columns are found by their names. */
static bool keep_names(const addition *to, firn_host_table *table, const firn_host_file *file) {
    firn_host_data *data = to->data;
    const firn_host_names *features = to->wanted->features;
    const bool by_name = to->wanted->columns == NULL && features != NULL && features->count != 0;
    if (!by_name && data->names != NULL && strcmp(data->names, table->names) != 0)
        return firn_host_fail(file->name,
                              "has other columns than %s; give tables with the same names in the same order",
                              data->files[0].files[0]->name);
    free(data->names);
    data->names = table->names;
    table->names = NULL;
    firn_host_names_free(&data->features);
    firn_host_names_free(&data->targets);
    data->features = table->read;
    data->targets = table->named;
    table->read = table->named = (firn_host_names){0};
    return true;
}

/* Says which columns there are and how many the plan reads. */
static bool refuse_columns(const firn_host_file *file, const firn_host_matrix *matrix, const firn_host_wanted *wanted,
                           uint32_t stream, const char *mend) {
    const firn_stream_info *info = &wanted->streams[stream];
    return firn_host_fail(
        file->name, "has %lu column%s for %s, and the plan reads %lu %s of each record (%s); %s%s",
        (unsigned long)matrix->columns, matrix->columns == 1 ? "" : "s",
        stream == 0   ? "features"
        : stream == 1 ? "targets"
                      : "weights",
        (unsigned long)info->record_elements, firn_type_name(info->element), firn_error_name(FIRN_ERROR_DATA_TYPE),
        mend,
        wanted->shared && stream == 0 ? "; these options hold for --data and --eval-data: give both as tables" : "");
}

/* Gives a file the numbers of a matrix, if the plan reads as many of each record. */
static bool take_matrix(firn_host_file *file, firn_host_matrix *matrix, const firn_host_wanted *wanted, uint32_t stream,
                        const char *mend) {
    const firn_stream_info *info = &wanted->streams[stream];
    if (info->record_elements != 0 && info->record_elements != matrix->columns)
        return refuse_columns(file, matrix, wanted, stream, mend);
    firn_host_table_give(file, matrix);
    return firn_host_file_compare(file, wanted, stream);
}

/* Makes records of a table, and a file of labels if it has columns of targets. */
static bool add_table(const addition *to, firn_host_file *file) {
    const firn_host_wanted *wanted = to->wanted;
    firn_host_table table = {0};
    uint8_t digest[FIRN_HASH_BYTES];
    bool added = firn_host_file_unpack(file, UINT64_MAX - 1) && firn_host_file_hash(file, digest) &&
                 firn_host_table_read(&table, file, wanted, to->number) &&
                 (to->number != 0 || keep_names(to, &table, file));
    const bool targets = added && table.targets.columns != 0 && wanted->stream_count > 1;
    added = added && take_matrix(file, &table.features, wanted, to->number,
                                 to->number == 0 ? "choose them by --columns, and the target by --target-column"
                                                 : "give a table of those alone");
    if (added && targets) {
        firn_host_file *labels = firn_host_file_make(file->name);
        memcpy(labels->sha256, file->sha256, sizeof labels->sha256);
        append(&to->data->files[1], labels);
        added = take_matrix(labels, &table.targets, wanted, 1, "name as many by --target-column");
    }
    firn_host_table_free(&table);
    return added;
}

/* Refuses a file whose columns were named. */
static bool refuse_no_table(const addition *to, const char *path) {
    const char *option = to->wanted->target != NULL ? "--target-column" : "--columns";
    if (!to->wanted->shared)
        return firn_host_fail(path, "is no table of comma-separated values, whose columns %s names; leave that out",
                              option);
    return firn_host_fail(path,
                          "is no table of comma-separated values, whose columns %s names; %s holds for --data and "
                          "--eval-data: give both as tables",
                          option, option);
}

static bool add_file(const addition *to, const char *path, bool follow) {
    firn_host_file *file = firn_host_file_open(path, follow, to->wanted, to->number);
    if (file == NULL)
        return false;
    append(&to->data->files[to->number], file);
    if (!firn_host_file_look(file, to->wanted, to->number))
        return false;
    if (file->form == FIRN_HOST_FORM_TABLE)
        return add_table(to, file);
    if (to->number == 0 && file->file.bytes == 0 && (to->wanted->columns != NULL || to->wanted->target != NULL))
        return firn_host_fail(path, "is empty, and so no table; give one with a record or more");
    if (to->number == 0 && (to->wanted->columns != NULL || to->wanted->target != NULL))
        return refuse_no_table(to, path);
    return true;
}

/* Notes that the files from `first` on were found in one folder. */
static void keep_range(firn_host_stream *stream, uint32_t first) {
    stream->ranges = firn_host_grow(stream->ranges, (stream->range_count + 1) * sizeof *stream->ranges);
    stream->ranges[stream->range_count++] = (firn_host_range){first, stream->count - first};
}

static bool add_folder(const addition *to, const char *path) {
    size_t count;
    firn_host_stream *stream = &to->data->files[to->number], *labels = &to->data->files[1];
    const uint32_t first = stream->count, first_label = labels->count;
    char *folder = firn_host_path(path, path[strlen(path) - 1] == '/' ? "" : "/");
    char **names = firn_host_folder_list(stream, path, folder, &count);
    bool added = count > 0;
    stream->folder = true;
    for (size_t i = 0; i < count; i++) {
        char *name = firn_host_path(folder, names[i]);
        added = added && add_file(to, name, false);
        free(name);
        free(names[i]);
    }
    free(folder);
    free(names);
    keep_range(stream, first);
    if (stream != labels && labels->count > first_label) /* of tables */
        keep_range(labels, first_label);
    return added;
}

/* Refuses images whose class folders are others than those of `first`: the labels are their indices. */
static bool compare_classes(const firn_host_file *first, const firn_host_file *file) {
    const firn_host_image_list *list = &file->images, *before = &first->images;
    bool same = list->class_count == before->class_count;
    for (uint32_t i = 0; same && i < list->class_count; i++)
        same = strcmp(list->classes[i], before->classes[i]) == 0;
    if (same)
        return true;
    return firn_host_fail(file->name,
                          "has other class folders than %s, and the labels are their indices; give folders with the "
                          "same class folders",
                          first->name);
}

bool firn_host_data_same_classes(const firn_host_data *data, const firn_host_data *other) {
    const firn_host_file *file = data->files[0].files[0], *first = other->files[0].files[0];
    return file->images.class_count == 0 || first->images.class_count == 0 || compare_classes(first, file);
}

/* Adds images as records, with the labels that their class folders give. */
static bool add_images(const addition *to, firn_host_records *records) {
    firn_host_data *data = to->data;
    const firn_host_wanted *wanted = to->wanted;
    append(&data->files[0], records->images);
    const bool labels = records->labels != NULL && (wanted->stream_count > 1 || wanted->only_looks);
    if (labels)
        append(&data->files[1], records->labels);
    else if (records->labels != NULL)
        firn_host_file_close(records->labels);
    return compare_classes(data->files[0].files[0], records->images) &&
           firn_host_file_compare(records->images, wanted, 0) &&
           (!labels || firn_host_file_compare(records->labels, wanted, 1));
}

static bool add_path(firn_host_data *data, const firn_host_wanted *wanted, uint32_t number, const char *path) {
    const addition to = {data, number, wanted};
    struct stat status;
    if (path == NULL)
        return true;
    if (stat(path, &status) != 0)
        return firn_host_unreadable(path);
    if (number == 0 && wanted->records && wanted->read_images != NULL) {
        firn_host_records records;
        const firn_host_images_result result = wanted->read_images(&records, &data->files[0], path, wanted);
        if (result != FIRN_HOST_IMAGES_NONE)
            return result == FIRN_HOST_IMAGES_READ && add_images(&to, &records);
        if (wanted->resize_width != 0)
            return firn_host_fail(path, "is no image and no folder of images, which --resize is for; %s",
                                  wanted->shared ? "--resize holds for --data and --eval-data: give both as images"
                                                 : "leave that out");
    }
    return S_ISDIR(status.st_mode) ? add_folder(&to, path) : add_file(&to, path, true);
}

/* Returns how the elements of a stream are read: as the plan does, or as its first file says if the plan does not. */
static firn_stream_info elements_of(const firn_host_data *data, const firn_host_wanted *wanted, uint32_t stream) {
    firn_stream_info info = wanted->streams[stream];
    const firn_data_layout *layout = &data->files[stream].files[0]->layout;
    if (info.record_elements == 0)
        info = (firn_stream_info){.element = layout->element, .record_elements = firn_data_record_elements(layout)};
    return info;
}

/* Says where in a stream each file begins, and how long it is. */
static void fill_segments(firn_host_stream *stream) {
    uint64_t start = 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        stream->segments[i].elements = stream->files[i]->layout.elements;
        stream->starts[i] = start;
        start += stream->files[i]->layout.elements;
    }
}

/* Makes the files the segments of a stream. */
static void describe(firn_stream *described, firn_host_stream *stream, firn_stream_info info) {
    stream->segments = firn_host_allocate(stream->count * sizeof *stream->segments);
    stream->starts = firn_host_allocate(stream->count * sizeof *stream->starts);
    fill_segments(stream);
    *described = (firn_stream){.element = info.element,
                               .record_elements = info.record_elements,
                               .segments = stream->segments,
                               .segment_count = stream->count};
}

/* Finds the last segment that begins at or before the element. Empty segments before the element are skipped. */
uint32_t firn_host_data_file_of(const firn_host_stream *stream, uint64_t element) {
    uint32_t low = 0, high = stream->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (stream->starts[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t firn_host_data_elements(const firn_host_stream *stream) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < stream->count; i++)
        elements += stream->files[i]->layout.elements;
    return elements;
}

static int read_elements(void *context, uint32_t stream_index, uint64_t first, uint32_t count, void *elements) {
    const firn_host_data *data = context;
    const firn_host_stream *stream = &data->files[stream_index];
    uint32_t bytes = firn_type_bytes(data->streams[stream_index].element);
    uint8_t *to = elements;
    uint32_t i = firn_host_data_file_of(stream, first);
    while (count > 0 && i < stream->count) {
        const firn_host_file *file = stream->files[i];
        uint64_t at = first - stream->starts[i], there = file->layout.elements - at;
        uint32_t piece = there < count ? (uint32_t)there : count;
        int status = firn_host_file_read(file, at, piece, to);
        if (status != FIRN_OK)
            return status;
        to += (size_t)piece * bytes;
        first += piece;
        count -= piece;
        i++;
    }
    return count == 0 ? FIRN_OK : FIRN_ERROR_SOURCE;
}

/* --- hashing --- */

/* Hashes one line of the list that identifies the data: the option that named the file, and the file's hash. */
static bool hash_line(firn_sha256 *list, uint32_t stream, const uint8_t digest[FIRN_HASH_BYTES]) {
    static const char *const options[FIRN_HOST_STREAMS] = {"data", "labels", "weights"};
    char line[16 + 2 * FIRN_HASH_BYTES];
    int length = snprintf(line, sizeof line, "%s ", options[stream]);
    for (uint32_t i = 0; i < FIRN_HASH_BYTES; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%02x", digest[i]);
    line[length++] = '\n';
    return firn_sha256_update(list, line, (size_t)length) == FIRN_OK;
}

/* Hashes a file: its contents, or what its numbers become. */
static bool hash_file(firn_host_file *file, const addition *of, uint64_t *room) {
    if (!firn_host_file_hash(file, file->digest) || !firn_host_file_keep(file, room))
        return false;
    return !file->converted || of->wanted->only_looks || firn_host_file_hash_rows(file, of->number, file->digest);
}

/* Hashes the files one by one, because file boundaries determine the windows and the held-out part; a hash of the
 * concatenated contents would not distinguish them. */
bool firn_host_data_hash_first(const firn_host_data *data, uint32_t streams, uint8_t sha256[32]) {
    firn_sha256 list;
    bool hashed = firn_sha256_begin(&list) == FIRN_OK;
    for (uint32_t s = 0; s < streams; s++)
        for (uint32_t i = 0; hashed && i < data->files[s].count; i++)
            hashed = hash_line(&list, s, data->files[s].files[i]->digest);
    return hashed && firn_sha256_end(&list, sha256) == FIRN_OK;
}

static bool hash_list(firn_host_data *data) {
    return firn_host_data_hash_first(data, FIRN_HOST_STREAMS, data->sha256);
}

bool firn_host_data_hash(const firn_host_data *data, uint32_t stream, uint8_t sha256[32]) {
    firn_sha256 list;
    bool hashed = firn_sha256_begin(&list) == FIRN_OK;
    for (uint32_t i = 0; hashed && i < data->files[stream].count; i++)
        hashed = hash_line(&list, stream, data->files[stream].files[i]->digest);
    return hashed && firn_sha256_end(&list, sha256) == FIRN_OK;
}

static bool hash_data(firn_host_data *data, const firn_host_wanted *wanted) {
    uint64_t room = KEPT_BYTES;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        for (uint32_t i = 0; i < data->files[s].count; i++)
            if (!hash_file(data->files[s].files[i], &(addition){data, s, wanted}, &room))
                return false;
    return hash_list(data);
}

/* --- the order of the files in folders --- */

static int by_nature(const void *a, const void *b) {
    return firn_host_folder_order((*(firn_host_file *const *)a)->name, (*(firn_host_file *const *)b)->name, true);
}

static int by_bytes(const void *a, const void *b) {
    return firn_host_folder_order((*(firn_host_file *const *)a)->name, (*(firn_host_file *const *)b)->name, false);
}

/* Sorts the files of each folder. Returns true if the order of some was another. */
static bool sort_stream(firn_host_stream *stream, int (*order)(const void *, const void *)) {
    bool moved = false;
    for (uint32_t r = 0; r < stream->range_count; r++) {
        firn_host_file **files = stream->files + stream->ranges[r].first;
        const uint32_t count = stream->ranges[r].count;
        for (uint32_t i = 1; i < count; i++)
            moved = moved || order(&files[i - 1], &files[i]) > 0;
        if (count > 1)
            qsort(files, count, sizeof(firn_host_file *), order);
    }
    return moved;
}

bool firn_host_data_sort(firn_host_data *data, bool natural) {
    bool moved = false;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++) {
        firn_host_stream *stream = &data->files[s];
        moved = sort_stream(stream, natural ? by_nature : by_bytes) || moved;
        if (stream->segments != NULL)
            fill_segments(stream);
    }
    data->by_bytes = !natural;
    return hash_list(data) && moved;
}

/* --- all streams ---- */

/* Counts the records of a stream by the headers of its files. */
static uint64_t records_of(const firn_host_data *data, const firn_host_wanted *wanted, uint32_t stream) {
    uint64_t records = 0;
    const uint32_t each = elements_of(data, wanted, stream).record_elements;
    for (uint32_t i = 0; i < data->files[stream].count; i++)
        records += data->files[stream].files[i]->layout.elements / each;
    return records;
}

/* Checks that every record has a label and a weight, if the plan reads them. */
static bool pair(const firn_host_data *data, const firn_host_wanted *wanted) {
    static const char *const what[FIRN_HOST_STREAMS] = {"record", "label", "weight"};
    for (uint32_t s = 0; s < wanted->stream_count; s++) {
        if (data->files[s].count == 0 && s == 1 && data->files[0].files[0]->form == FIRN_HOST_FORM_TABLE)
            return firn_host_refuse_no_target(data->files[0].files[0]->name, wanted);
        if (data->files[s].count == 0)
            return firn_host_refuse_absent(data->files[0].files[0]->name, wanted, s);
        const uint64_t records = records_of(data, wanted, 0), others = records_of(data, wanted, s);
        if (wanted->records && records != others)
            return firn_host_fail(data->files[s].files[0]->name,
                                  "%llu record%s and %llu %s%s; give one %s for each record of %s",
                                  (unsigned long long)records, records == 1 ? "" : "s", (unsigned long long)others,
                                  what[s], others == 1 ? "" : "s", what[s], data->files[0].files[0]->name);
    }
    return true;
}

/* Unpacks what is left of packed files, and makes all ready to be read. */
static bool finish_all(const firn_host_data *data, const firn_host_wanted *wanted) {
    for (uint32_t s = 0; s < wanted->stream_count; s++)
        for (uint32_t i = 0; i < data->files[s].count; i++)
            if (!firn_host_file_finish(data->files[s].files[i], wanted, s))
                return false;
    return true;
}

/* Numbers classes that are texts, and keeps the names of classes. */
static bool name_classes(firn_host_data *data, const firn_host_wanted *wanted) {
    const firn_host_image_list *images = &data->files[0].files[0]->images;
    if (data->files[1].count != 0 && images->class_count != 0)
        firn_host_names_copy(&data->classes, &(firn_host_names){images->classes, images->class_count});
    else
        return firn_host_classes_join(data, wanted);
    return true;
}

bool firn_host_data_open(firn_host_data *data, const firn_host_wanted *wanted, const char *const *paths,
                         uint32_t path_count, const char *labels, const char *weights) {
    *data = (firn_host_data){0};
    for (uint32_t i = 0; i < path_count; i++)
        if (!add_path(data, wanted, 0, paths[i]))
            return false;
    if (labels != NULL && data->files[1].count != 0 && data->files[0].files[0]->images.count != 0)
        return firn_host_fail(labels,
                              "labels are given twice, because the class folders of %s are labels; leave one out",
                              data->files[0].files[0]->name);
    if (!add_path(data, wanted, 1, labels) || !add_path(data, wanted, 2, weights) || !name_classes(data, wanted) ||
        (!wanted->only_looks && !pair(data, wanted)) || !finish_all(data, wanted))
        return false;
    for (uint32_t s = 0; s < wanted->stream_count; s++)
        describe(&data->streams[s], &data->files[s], elements_of(data, wanted, s));
    data->source = (firn_source){
        .context = data, .streams = data->streams, .stream_count = wanted->stream_count, .read = read_elements};
    return hash_data(data, wanted);
}

static firn_host_watch *watch_of_turn(const firn_host_data *data, uint64_t turn, const char **name) {
    uint64_t count = 0;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        count += data->files[s].count;
    uint64_t i = turn % count;
    uint32_t s = 0;
    for (; i >= data->files[s].count; s++)
        i -= data->files[s].count;
    *name = data->files[s].files[i]->name;
    return &data->files[s].files[i]->watch;
}

bool firn_host_data_look(firn_host_data *data, uint64_t turn) {
    const char *name;
    return firn_host_watch_look(watch_of_turn(data, turn, &name));
}

const char *firn_host_data_touched(firn_host_data *data, uint64_t turn) {
    const char *name;
    firn_host_watch *watch = watch_of_turn(data, turn, &name);
    const bool touched = watch->touched;
    watch->touched = false;
    return touched ? name : NULL;
}

bool firn_host_data_unchanged(firn_host_data *data) {
    bool unchanged = true;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        for (uint32_t i = 0; i < data->files[s].count; i++)
            unchanged = firn_host_watch_look(&data->files[s].files[i]->watch) && unchanged;
    return unchanged;
}

const char *firn_host_data_fault(const firn_host_data *data, char *text, size_t size) {
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        for (uint32_t i = 0; i < data->files[s].count; i++)
            if (firn_host_watch_fault(&data->files[s].files[i]->watch, text, size))
                return data->files[s].files[i]->name;
    return NULL;
}

void firn_host_data_close(firn_host_data *data) {
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++) {
        for (uint32_t i = 0; i < data->files[s].count; i++)
            firn_host_file_close(data->files[s].files[i]);
        free(data->files[s].files);
        for (uint32_t i = 0; i < data->files[s].left_count; i++)
            free(data->files[s].left[i]);
        free(data->files[s].left);
        free(data->files[s].ranges);
        free(data->files[s].segments);
        free(data->files[s].starts);
    }
    free(data->names);
    firn_host_names_free(&data->features);
    firn_host_names_free(&data->targets);
    firn_host_names_free(&data->classes);
    *data = (firn_host_data){0};
}
