/* Data from files: opens them, compares them with what the plan reads, unpacks gzip, hashes them, and offers them as a
 * source that the library reads. Files are read through their descriptors instead of being mapped, so that a file
 * truncated during a run causes an error and not a fault. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/container.h"
#include "plan/ops.h"
#include "runtime/targets/host/host.h"

#define PIECE_BYTES 65536u

/* All small files together that are kept in memory. */
#define KEPT_BYTES (UINT64_C(32) << 20)

/* Descriptors reserved for other uses: log, checkpoint, folders. */
#define SPARE_DESCRIPTORS 32u

struct firn_host_file {
    char *name;
    int descriptor;           /* -1 if the contents are in memory */
    uint8_t *memory;          /* unpacked contents, or those of a small file */
    uint64_t space;           /* bytes of that memory */
    firn_host_packed *packed; /* NULL: nothing is left to unpack */
    uint64_t packed_bytes;    /* of the gzip file */
    firn_host_watch watch;
    firn_data_file file;
    firn_data_layout layout;
};

/* --- one file --- */

/* Reads until the bytes are there, the file ends or the read fails; returns how many bytes are missing. */
static uint32_t read_once(firn_host_file *file, uint64_t offset, uint8_t *to, uint32_t count) {
    while (count > 0) {
        ssize_t got = pread(file->descriptor, to, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            firn_host_watch_fail(&file->watch, errno);
        if (got <= 0)
            break;
        to += got;
        count -= (uint32_t)got;
        offset += (uint64_t)got;
    }
    return count;
}

/* What was read before the contents were hashed again may have been others, and is read again. */
static int read_descriptor(void *context, uint64_t offset, void *bytes, uint32_t count) {
    firn_host_file *file = context;
    uint64_t renewals;
    do {
        renewals = file->watch.renewals;
        const uint32_t missing = read_once(file, offset, bytes, count);
        if (firn_host_watch_look(&file->watch) && missing > 0 && file->watch.renewals == renewals)
            firn_host_watch_fail(&file->watch, EIO); /* the file ends before its length */
    } while (!file->watch.faulty && file->watch.renewals != renewals);
    return file->watch.faulty ? FIRN_ERROR_SOURCE : FIRN_OK;
}

static int read_memory(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const firn_host_file *file = context;
    memcpy(bytes, file->memory + offset, count);
    return FIRN_OK;
}

static bool is_gzip(const firn_host_file *file) {
    uint8_t magic[3];
    return file->file.bytes >= sizeof magic && read_descriptor((void *)(uintptr_t)file, 0, magic, sizeof magic) == 0 &&
           magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8;
}

/* --- unpacking --- */

/* Makes room for one more piece. A file that does not fit into the memory of this machine is refused before the system
 * ends the program. */
static bool make_space(firn_host_file *file, uint64_t most) {
    const uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (file->space - file->file.bytes >= PIECE_BYTES)
        return true;
    if (file->file.bytes > there)
        return firn_host_fail(file->name,
                              "unpacks to more than %llu bytes, the memory of this machine; unpack it into a file, "
                              "which is not read into memory",
                              (unsigned long long)there);
    const uint64_t twice = 2 * file->space;
    file->space = (twice < most ? twice : most) + PIECE_BYTES;
    file->memory = firn_host_grow(file->memory, (size_t)file->space);
    return true;
}

/* Unpacks until there are `most` bytes, or all that there are: then nothing is left to unpack. */
static bool unpack(firn_host_file *file, uint64_t most) {
    while (file->packed != NULL && file->file.bytes < most) {
        if (!make_space(file, most))
            return false;
        const uint64_t left = most - file->file.bytes;
        const uint32_t piece = left < PIECE_BYTES ? (uint32_t)left : PIECE_BYTES;
        const char *fault;
        const int64_t got = firn_host_unpack(file->packed, file->memory + file->file.bytes, piece, &fault);
        if (got < 0)
            return firn_host_fail(file->name, "%s", fault);
        file->file.bytes += (uint64_t)got;
        if (got == piece)
            continue;
        firn_host_unpack_end(file->packed);
        file->packed = NULL;
        close(file->descriptor);
        file->descriptor = -1;
        firn_host_watch_end(&file->watch);
    }
    return true;
}

static bool begin_unpacking(firn_host_file *file) {
    file->packed_bytes = file->file.bytes;
    file->packed = firn_host_unpack_begin(file->descriptor);
    if (file->packed == NULL)
        return firn_host_fail(file->name, "cannot be unpacked");
    file->file = (firn_data_file){.context = file, .read = read_memory};
    return unpack(file, PIECE_BYTES);
}

/* --- what a file is --- */

const char *firn_host_file_name(const firn_host_file *file) {
    return file->name;
}

const firn_data_layout *firn_host_file_layout(const firn_host_file *file) {
    return &file->layout;
}

const firn_file_kind *firn_host_file_kind(const firn_host_file *file) {
    uint8_t head[FIRN_FILE_KIND_BYTES];
    const uint32_t count = file->file.bytes < sizeof head ? (uint32_t)file->file.bytes : (uint32_t)sizeof head;
    if (file->layout.format != FIRN_DATA_RAW || file->file.read(file->file.context, 0, head, count) != FIRN_OK)
        return NULL;
    return firn_file_kind_of(head, count);
}

/* Returns the length of the file that follows from its header, or UINT64_MAX. */
static uint64_t announced(const firn_data_layout *layout) {
    const uint32_t width = firn_type_bytes(layout->element);
    return layout->elements > (UINT64_MAX - layout->offset) / width ? UINT64_MAX
                                                                    : layout->offset + layout->elements * width;
}

/* Compares a file, of which the header is known, with what the plan reads from a stream. */
static bool compare(const firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const firn_data_layout *layout = &file->layout;
    const firn_stream_info *info = &wanted->streams[stream];
    if (info->record_elements == 0) /* nothing is read from this stream */
        return true;
    if (wanted->records && layout->format == FIRN_DATA_RAW)
        return firn_host_refuse_raw(file->name, layout, firn_host_file_kind(file));
    if (layout->element != info->element ||
        (wanted->records && firn_data_record_elements(layout) != info->record_elements))
        return firn_host_refuse_stream(file->name, layout, wanted, stream);
    if (wanted->records && !firn_host_axes_fit(layout, &wanted->shapes[stream]))
        return firn_host_refuse_axes(file->name, layout, wanted, stream);
    return true;
}

/* Reads the header of what is there of a file. */
static bool look(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const int error = file->packed != NULL ? firn_data_look_at_begin(&file->file, &file->layout)
                                           : firn_data_look(&file->file, &file->layout);
    if (error == FIRN_ERROR_DATA_TYPE)
        return firn_host_refuse_array(file->name, &file->layout, file->file.bytes, wanted, stream);
    if (error != FIRN_OK)
        return firn_host_fail(file->name, "cannot be read");
    return compare(file, wanted, stream);
}

/* Unpacks the rest of a file whose header is as wanted, and at most one byte more than the header announces: that byte
 * shows that the file is longer. One byte of gzip unpacks to at most 1032 bytes, so a header that announces more than
 * the file can hold is refused first. */
static bool finish(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    enum { MOST_FOR_A_BYTE = 1032 };
    firn_data_layout *layout = &file->layout;
    if (file->packed == NULL)
        return true;
    const bool sized = layout->format == FIRN_DATA_NPY || (layout->format == FIRN_DATA_IDX && wanted->records);
    const uint64_t most = sized ? announced(layout) : UINT64_MAX - 1;
    if (sized && most / MOST_FOR_A_BYTE > file->packed_bytes) {
        layout->fault = FIRN_DATA_CUT;
        return firn_host_refuse_array(file->name, layout, file->packed_bytes, wanted, stream);
    }
    if (!unpack(file, most + 1))
        return false;
    if (file->packed == NULL)
        return look(file, wanted, stream);
    layout->fault = FIRN_DATA_LONGER;
    if (layout->format == FIRN_DATA_NPY)
        return firn_host_refuse_array(file->name, layout, file->file.bytes, wanted, stream);
    return firn_host_refuse_raw(file->name, layout, NULL);
}

static void close_file(firn_host_file *file) {
    if (file->descriptor >= 0)
        close(file->descriptor);
    firn_host_unpack_end(file->packed);
    free(file->memory);
    free(file->name);
    free(file);
}

/* Raises the soft limit of descriptors to the hard limit before they run out, because each file of a stream stays
 * open. */
static void make_room(int descriptor) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)descriptor + SPARE_DESCRIPTORS < limit.rlim_cur)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool open_contents(firn_host_file *file, bool follow) {
    uint64_t bytes;
    file->descriptor = firn_host_open(file->name, follow, &bytes);
    if (file->descriptor < 0)
        return false;
    make_room(file->descriptor);
    firn_host_watch_begin(&file->watch, file->descriptor);
    file->file = (firn_data_file){.context = file, .bytes = bytes, .read = read_descriptor};
    return !is_gzip(file) || begin_unpacking(file);
}

static firn_host_file *open_file(const char *path, bool follow) {
    firn_host_file *file = firn_host_allocate(sizeof *file);
    file->name = firn_host_path(path, "");
    if (open_contents(file, follow))
        return file;
    close_file(file);
    return NULL;
}

/* --- a stream of files --- */

/* A stream to which files are added, its number, and what the plan reads. */
typedef struct addition {
    firn_host_stream *stream;
    uint32_t number;
    const firn_host_wanted *wanted;
} addition;

static bool add_file(const addition *to, const char *path, bool follow) {
    firn_host_stream *stream = to->stream;
    firn_host_file *file = open_file(path, follow);
    if (file == NULL)
        return false;
    stream->files = firn_host_grow(stream->files, (stream->count + 1) * sizeof(void *));
    stream->files[stream->count++] = file;
    return look(file, to->wanted, to->number);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Notes that something in a folder is not read. */
static void leave_out(firn_host_stream *stream, const char *folder, const char *name, const char *why) {
    char *path = firn_host_path(folder, name), *said = firn_host_path(path, why);
    stream->left = firn_host_grow(stream->left, (stream->left_count + 1) * sizeof(char *));
    stream->left[stream->left_count++] = said;
    free(path);
}

/* Returns why an entry of a folder is left out, or NULL if it is read. */
static const char *why_left_out(const struct dirent *entry, int folder) {
    struct stat status;
    if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return " (cannot be read)";
    if (entry->d_name[0] == '.')
        return " (hidden)";
    if (S_ISREG(status.st_mode))
        return NULL;
    return S_ISLNK(status.st_mode)    ? " (a symbolic link)"
           : S_ISDIR(status.st_mode)  ? " (a folder)"
           : S_ISFIFO(status.st_mode) ? " (a pipe)"
           : S_ISSOCK(status.st_mode) ? " (a socket)"
                                      : " (a device)";
}

/* Returns the names of the files in a folder that are read, sorted by their bytes. folder: its path, with a slash. */
static char **list_folder(firn_host_stream *stream, const char *path, const char *folder, size_t *count) {
    DIR *opened = opendir(path);
    char **names = NULL;
    *count = 0;
    if (opened == NULL) {
        firn_host_fail(path, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char *why = why_left_out(entry, dirfd(opened));
        if (why != NULL) {
            leave_out(stream, folder, entry->d_name, why);
            continue;
        }
        names = firn_host_grow(names, (*count + 1) * sizeof(void *));
        names[(*count)++] = firn_host_path(entry->d_name, "");
    }
    closedir(opened);
    if (stream->left_count != 0)
        qsort(stream->left, stream->left_count, sizeof *stream->left, by_name);
    if (*count == 0 && stream->left_count == 0)
        firn_host_fail(path, "is a folder with no file in it; give one with files");
    else if (*count == 0)
        firn_host_fail(path, "has no file that is read: %s is left out%s; give the files by name", stream->left[0],
                       stream->left_count > 1 ? ", like all else" : "");
    else
        qsort(names, *count, sizeof *names, by_name);
    return names;
}

static bool add_folder(const addition *to, const char *path) {
    size_t count;
    char *folder = firn_host_path(path, path[strlen(path) - 1] == '/' ? "" : "/");
    char **names = list_folder(to->stream, path, folder, &count);
    bool added = count > 0;
    to->stream->folder = true;
    for (size_t i = 0; i < count; i++) {
        char *name = firn_host_path(folder, names[i]);
        added = added && add_file(to, name, false);
        free(name);
        free(names[i]);
    }
    free(folder);
    free(names);
    return added;
}

static bool add_path(firn_host_data *data, const firn_host_wanted *wanted, uint32_t number, const char *path) {
    const addition to = {&data->files[number], number, wanted};
    struct stat status;
    if (path == NULL)
        return true;
    if (stat(path, &status) != 0)
        return firn_host_unreadable(path);
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

/* Makes the files the segments of a stream. */
static void describe(firn_stream *described, firn_host_stream *stream, firn_stream_info info) {
    stream->segments = firn_host_allocate(stream->count * sizeof *stream->segments);
    stream->starts = firn_host_allocate(stream->count * sizeof *stream->starts);
    uint64_t start = 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        stream->segments[i].elements = stream->files[i]->layout.elements;
        stream->starts[i] = start;
        start += stream->files[i]->layout.elements;
    }
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
        int status = firn_data_read(&file->file, &file->layout, at, piece, to);
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

static bool refuse_read(const firn_host_file *file) {
    char fault[200] = "cannot be read to its end";
    (void)firn_host_watch_fault(&file->watch, fault, sizeof fault);
    return firn_host_fail(file->name, "%s", fault);
}

static bool hash_file(firn_host_file *file, uint8_t digest[FIRN_HASH_BYTES]) {
    static uint8_t bytes[PIECE_BYTES];
    firn_sha256 hash;
    bool hashed = firn_sha256_begin(&hash) == FIRN_OK;
    for (uint64_t at = 0; hashed && at < file->file.bytes;) {
        uint64_t left = file->file.bytes - at;
        uint32_t piece = left < PIECE_BYTES ? (uint32_t)left : PIECE_BYTES;
        hashed = file->file.read(file->file.context, at, bytes, piece) == 0 &&
                 firn_sha256_update(&hash, bytes, piece) == FIRN_OK;
        at += piece;
    }
    if (hashed && firn_sha256_end(&hash, digest) == FIRN_OK) {
        firn_host_watch_hashed(&file->watch, digest);
        return true;
    }
    return refuse_read(file);
}

/* Copies a hashed file into memory if it is small. Small data are read often, and a read from a file costs two system
 * calls. */
static bool keep(firn_host_file *file, uint64_t *room) {
    const uint64_t bytes = file->file.bytes;
    uint8_t *memory = file->descriptor >= 0 && bytes <= *room ? malloc((size_t)bytes + 1) : NULL;
    if (memory == NULL)
        return true;
    file->memory = memory;
    if (file->file.read(file->file.context, 0, memory, (uint32_t)bytes) != FIRN_OK)
        return refuse_read(file);
    file->file.read = read_memory;
    *room -= bytes;
    return true;
}

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

/* Hashes the files one by one, because file boundaries determine the windows and the held-out part; a hash of the
 * concatenated contents would not distinguish them. */
static bool hash_data(firn_host_data *data) {
    firn_sha256 list;
    uint8_t digest[FIRN_HASH_BYTES];
    uint64_t room = KEPT_BYTES;
    bool hashed = firn_sha256_begin(&list) == FIRN_OK;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        for (uint32_t i = 0; hashed && i < data->files[s].count; i++)
            hashed = hash_file(data->files[s].files[i], digest) && keep(data->files[s].files[i], &room) &&
                     hash_line(&list, s, digest);
    return hashed && firn_sha256_end(&list, data->sha256) == FIRN_OK;
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

/* Unpacks what is left of packed files. */
static bool finish_all(const firn_host_data *data, const firn_host_wanted *wanted) {
    for (uint32_t s = 0; s < wanted->stream_count; s++)
        for (uint32_t i = 0; i < data->files[s].count; i++)
            if (!finish(data->files[s].files[i], wanted, s))
                return false;
    return true;
}

bool firn_host_data_open(firn_host_data *data, const firn_host_wanted *wanted, const char *const *paths,
                         uint32_t path_count, const char *labels, const char *weights) {
    *data = (firn_host_data){0};
    for (uint32_t i = 0; i < path_count; i++)
        if (!add_path(data, wanted, 0, paths[i]))
            return false;
    if (!add_path(data, wanted, 1, labels) || !add_path(data, wanted, 2, weights) || !pair(data, wanted) ||
        !finish_all(data, wanted))
        return false;
    for (uint32_t s = 0; s < wanted->stream_count; s++)
        describe(&data->streams[s], &data->files[s], elements_of(data, wanted, s));
    data->source = (firn_source){
        .context = data, .streams = data->streams, .stream_count = wanted->stream_count, .read = read_elements};
    return hash_data(data);
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
            close_file(data->files[s].files[i]);
        free(data->files[s].files);
        for (uint32_t i = 0; i < data->files[s].left_count; i++)
            free(data->files[s].left[i]);
        free(data->files[s].left);
        free(data->files[s].segments);
        free(data->files[s].starts);
    }
    *data = (firn_host_data){0};
}
