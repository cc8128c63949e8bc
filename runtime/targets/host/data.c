/* Data from files: opens them, unpacks gzip, hashes them, and offers them as a source that the library reads. Files are
 * read through their descriptors instead of being mapped, so that a file truncated during a run causes an error and not
 * a fault. */
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
#include <zlib.h>

#include "plan/container.h"
#include "plan/ops.h"
#include "runtime/targets/host/host.h"

#define PIECE_BYTES 65536u

/* Descriptors reserved for other uses: log, checkpoint, folders. */
#define SPARE_DESCRIPTORS 32u

struct firn_host_file {
    char *name;
    int descriptor;  /* -1 if the contents are in memory */
    uint8_t *memory; /* unpacked contents */
    firn_data_file file;
    firn_data_layout layout;
};

/* --- one file --- */

static int read_descriptor(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const firn_host_file *file = context;
    uint8_t *to = bytes;
    while (count > 0) {
        ssize_t got = pread(file->descriptor, to, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return FIRN_ERROR_SOURCE;
        to += got;
        count -= (uint32_t)got;
        offset += (uint64_t)got;
    }
    return FIRN_OK;
}

static int read_memory(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const firn_host_file *file = context;
    memcpy(bytes, file->memory + offset, count);
    return FIRN_OK;
}

/* Unpacks a whole gzip file. */
static bool unpack(firn_host_file *file) {
    int copy = dup(file->descriptor);
    gzFile packed = copy < 0 ? NULL : gzdopen(copy, "rb");
    if (packed == NULL) {
        if (copy >= 0)
            close(copy);
        return firn_host_fail(file->name, "cannot be unpacked: %s", strerror(errno));
    }
    size_t count = 0, space = 0;
    int got = 0;
    do {
        if (space - count < PIECE_BYTES) {
            space = 2 * space + PIECE_BYTES;
            file->memory = firn_host_grow(file->memory, space);
        }
        got = gzread(packed, file->memory + count, PIECE_BYTES);
        count += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    bool closed = gzclose(packed) == Z_OK; /* gzclose detects a truncated file */
    if (got != 0 || !closed)
        return firn_host_fail(file->name, "is a damaged or truncated gzip file");
    close(file->descriptor);
    file->descriptor = -1;
    file->file = (firn_data_file){.context = file, .bytes = count, .read = read_memory};
    return true;
}

static bool is_gzip(const firn_host_file *file) {
    uint8_t magic[3];
    return file->file.bytes >= sizeof magic && read_descriptor((void *)(uintptr_t)file, 0, magic, sizeof magic) == 0 &&
           magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8;
}

/* What is wrong with an array that firn_data_look refuses. */
static const char *fault_of(const firn_host_file *file) {
    const firn_data_layout *layout = &file->layout;
    const uint64_t bytes = file->file.bytes;
    if (layout->rank == 0 && layout->offset <= bytes)
        return "is an array that cannot be used; it must hold uint8, int32 or float32 in C order, such as numpy.save "
               "writes after astype and ascontiguousarray";
    for (uint32_t i = 0; i < layout->rank; i++)
        if (layout->dims[i] == 0)
            return "is an array without elements; give one with a record or more";
    const bool longer = layout->offset <= bytes && layout->rank != 0 &&
                        layout->elements <= (bytes - layout->offset) / firn_type_bytes(layout->element);
    return longer ? "has bytes behind the array that its header describes; save it again"
                  : "is an array that was cut: its header says more than the file has; save or copy it again";
}

static bool look(firn_host_file *file) {
    switch (firn_data_look(&file->file, &file->layout)) {
    case FIRN_OK:
        return true;
    case FIRN_ERROR_DATA_TYPE:
        return firn_host_fail(file->name, "%s", fault_of(file));
    default:
        return firn_host_fail(file->name, "cannot be read");
    }
}

static void close_file(firn_host_file *file) {
    if (file->descriptor >= 0)
        close(file->descriptor);
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
    file->file = (firn_data_file){.context = file, .bytes = bytes, .read = read_descriptor};
    return (!is_gzip(file) || unpack(file)) && look(file);
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

static bool add_file(firn_host_stream *stream, const char *path, bool follow) {
    firn_host_file *file = open_file(path, follow);
    if (file == NULL)
        return false;
    stream->files = firn_host_grow(stream->files, (stream->count + 1) * sizeof(void *));
    stream->files[stream->count++] = file;
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the names of the regular files in a folder, sorted by their bytes. */
static char **list_folder(const char *path, size_t *count) {
    DIR *folder = opendir(path);
    char **names = NULL;
    *count = 0;
    if (folder == NULL) {
        firn_host_fail(path, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct stat status;
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
            continue;
        names = firn_host_grow(names, (*count + 1) * sizeof(void *));
        names[(*count)++] = firn_host_path(entry->d_name, "");
    }
    closedir(folder);
    if (*count == 0)
        firn_host_fail(path, "has no file in it");
    else
        qsort(names, *count, sizeof *names, by_name);
    return names;
}

static bool add_folder(firn_host_stream *stream, const char *path) {
    size_t count;
    char **names = list_folder(path, &count);
    char *folder = firn_host_path(path, "/");
    bool added = count > 0;
    for (size_t i = 0; i < count; i++) {
        char *name = firn_host_path(folder, names[i]);
        added = added && add_file(stream, name, false);
        free(name);
        free(names[i]);
    }
    free(folder);
    free(names);
    return added;
}

static bool add_path(firn_host_stream *stream, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return firn_host_fail(path, "cannot be read: %s", strerror(errno));
    return S_ISDIR(status.st_mode) ? add_folder(stream, path) : add_file(stream, path, true);
}

/* Checks that all files of a stream have the same element type and, for records, the same record shape. */
static bool agree(const firn_host_stream *stream, bool records) {
    const firn_host_file *first = stream->files[0];
    for (uint32_t i = 0; i < stream->count; i++) {
        const firn_host_file *file = stream->files[i];
        if (records && file->layout.format == FIRN_DATA_RAW)
            return firn_host_fail(file->name, "is not an array; this plan reads records, from .npy or IDX files");
        if (file->layout.element != first->layout.element ||
            (records && firn_data_record_elements(&file->layout) != firn_data_record_elements(&first->layout)))
            return firn_host_fail(file->name, "has another element type or record shape than %s", first->name);
    }
    return true;
}

static bool describe(firn_stream *described, firn_host_stream *stream, bool records) {
    if (!agree(stream, records))
        return false;
    stream->segments = firn_host_allocate(stream->count * sizeof *stream->segments);
    stream->starts = firn_host_allocate(stream->count * sizeof *stream->starts);
    uint64_t start = 0;
    for (uint32_t i = 0; i < stream->count; i++) {
        stream->segments[i].elements = stream->files[i]->layout.elements;
        stream->starts[i] = start;
        start += stream->files[i]->layout.elements;
    }
    stream->name = stream->files[0]->name;
    *described = (firn_stream){.element = stream->files[0]->layout.element,
                               .record_elements = records ? firn_data_record_elements(&stream->files[0]->layout) : 1,
                               .segments = stream->segments,
                               .segment_count = stream->count};
    return true;
}

/* Returns the last segment that begins at or before an element. Empty segments before the element are skipped. */
static uint32_t segment_of(const firn_host_stream *stream, uint64_t element) {
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

static int read_elements(void *context, uint32_t stream_index, uint64_t first, uint32_t count, void *elements) {
    const firn_host_data *data = context;
    const firn_host_stream *stream = &data->files[stream_index];
    uint32_t bytes = firn_type_bytes(data->streams[stream_index].element);
    uint8_t *to = elements;
    uint32_t i = segment_of(stream, first);
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

static bool hash_file(const firn_host_file *file, uint8_t digest[FIRN_HASH_BYTES]) {
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
    if (hashed && firn_sha256_end(&hash, digest) == FIRN_OK)
        return true;
    firn_host_fail(file->name, "cannot be read to its end");
    return false;
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
    bool hashed = firn_sha256_begin(&list) == FIRN_OK;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        for (uint32_t i = 0; hashed && i < data->files[s].count; i++)
            hashed = hash_file(data->files[s].files[i], digest) && hash_line(&list, s, digest);
    return hashed && firn_sha256_end(&list, data->sha256) == FIRN_OK;
}

/* --- all streams ---- */

static uint64_t records_of(const firn_host_data *data, uint32_t stream) {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < data->streams[stream].segment_count; i++)
        elements += data->streams[stream].segments[i].elements;
    uint32_t each = data->streams[stream].record_elements;
    return each == 0 ? 0 : elements / each;
}

/* Checks that every record has a label, or a weight. */
static bool pair(const firn_host_data *data, uint32_t stream, const char *what) {
    uint64_t records = records_of(data, 0), others = records_of(data, stream);
    return records == others ||
           firn_host_fail(data->files[stream].name, "%llu records and %llu %ss; give one %s for each record of %s",
                          (unsigned long long)records, (unsigned long long)others, what, what, data->files[0].name);
}

bool firn_host_data_open(firn_host_data *data, const char *const *paths, uint32_t path_count, const char *labels,
                         const char *weights) {
    *data = (firn_host_data){0};
    for (uint32_t i = 0; i < path_count; i++)
        if (!add_path(&data->files[0], paths[i]))
            return false;
    if (labels != NULL && !add_path(&data->files[1], labels))
        return false;
    if (weights != NULL && !add_path(&data->files[2], weights))
        return false;
    return hash_data(data);
}

bool firn_host_data_begin(firn_host_data *data, bool records) {
    uint32_t count = 1;
    while (count < FIRN_HOST_STREAMS && data->files[count].count > 0)
        count++;
    for (uint32_t s = 0; s < count; s++)
        if (!describe(&data->streams[s], &data->files[s], records))
            return false;
    if (records && count > 1 && !pair(data, 1, "label"))
        return false;
    if (records && count > 2 && !pair(data, 2, "weight"))
        return false;
    data->source =
        (firn_source){.context = data, .streams = data->streams, .stream_count = count, .read = read_elements};
    return true;
}

void firn_host_data_close(firn_host_data *data) {
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++) {
        for (uint32_t i = 0; i < data->files[s].count; i++)
            close_file(data->files[s].files[i]);
        free(data->files[s].files);
        free(data->files[s].segments);
        free(data->files[s].starts);
    }
    *data = (firn_host_data){0};
}
