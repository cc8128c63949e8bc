/* Data files for the emulated targets. What the runtime checks about a source (types, lengths, ranges) is not checked
 * again here. */
#include "runtime/targets/emulated/data.h"

#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/emulated/system.h"

#define EXTENTS_MAX 8
#define HEADER_MAX 512

/* What a file's header says. */
typedef struct layout {
    uint8_t element; /* firn_type */
    uint32_t start;
    uint32_t rank;
    uint64_t extents[EXTENTS_MAX];
} layout;

/* --- IDX: two zeros, type, rank, big-endian extents --- */

static bool read_idx(const uint8_t *header, uint32_t available, layout *found) {
    uint32_t rank = header[3];
    if (header[2] != 0x08 || rank == 0 || rank > EXTENTS_MAX || available - 4 < 4 * rank)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        const uint8_t *at = header + 4 + (size_t)4 * i;
        found->extents[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    found->element = FIRN_UINT8;
    found->rank = rank;
    found->start = 4 + 4 * rank;
    return true;
}

/* --- .npy: a magic, a length, and a Python dictionary as text --- */

static bool contains(const char *words, const char *what) {
    return strstr(words, what) != NULL;
}

static bool read_shape(const char *words, layout *found) {
    const char *at = strstr(words, "'shape': (");
    if (at == NULL)
        return false;
    at += strlen("'shape': (");
    while (*at != ')' && found->rank < EXTENTS_MAX) {
        uint64_t extent = 0;
        if (*at < '0' || *at > '9')
            return false;
        for (; *at >= '0' && *at <= '9'; at++)
            extent = extent * 10 + (uint64_t)(*at - '0');
        found->extents[found->rank++] = extent;
        while (*at == ',' || *at == ' ')
            at++;
    }
    return *at == ')' && found->rank != 0;
}

static bool read_npy(uint8_t *header, uint32_t available, layout *found) {
    uint32_t length = (uint32_t)header[8] | (uint32_t)header[9] << 8;
    if (header[6] != 1 || available < 10 || length == 0 || length > available - 10)
        return false;
    header[10 + length - 1] = '\0'; /* in place of the newline that ends the dictionary */
    const char *words = (const char *)header + 10;
    if (contains(words, "'|u1'"))
        found->element = FIRN_UINT8;
    else if (contains(words, "'<i4'"))
        found->element = FIRN_INT32;
    else if (contains(words, "'<f4'"))
        found->element = FIRN_FLOAT32;
    else
        return false;
    found->start = 10 + length;
    return contains(words, "'fortran_order': False") && read_shape(words, found);
}

/* --- a file as a stream --- */

static const char *read_layout(int file, layout *found) {
    uint8_t header[HEADER_MAX] = {0};
    int64_t length = system_length(file);
    if (length <= 0)
        return "is empty";
    uint32_t available = length < HEADER_MAX ? (uint32_t)length : HEADER_MAX;
    if (!system_read(file, 0, header, available))
        return "cannot be read";
    if (available >= 10 && memcmp(header, "\x93NUMPY", 6) == 0)
        return read_npy(header, available, found) ? NULL : "is not a .npy of uint8, int32 or float32, row-major";
    if (available >= 4 && header[0] == 0 && header[1] == 0 && header[2] == 0x08 && read_idx(header, available, found))
        return NULL;
    *found = (layout){.element = FIRN_UINT8, .rank = 1, .extents = {(uint64_t)length}};
    return NULL;
}

static const char *open_stream(data *opened, uint32_t index, const char *name, bool records) {
    layout found = {0};
    opened->files[index] = system_open(name, false);
    if (opened->files[index] < 0)
        return "cannot be opened";
    const char *fault = read_layout(opened->files[index], &found);
    if (fault != NULL)
        return fault;
    uint64_t elements = 1, record = 1;
    for (uint32_t i = 0; i < found.rank; i++)
        elements *= found.extents[i];
    for (uint32_t i = 1; records && i < found.rank; i++)
        record *= found.extents[i];
    uint64_t bytes = (uint64_t)system_length(opened->files[index]) - found.start;
    if (elements == 0 || record > UINT32_MAX || bytes / firn_type_bytes(found.element) < elements)
        return "is shorter than its header says";
    opened->starts[index] = found.start;
    opened->segments[index].elements = elements;
    opened->streams[index] = (firn_stream){found.element, (uint32_t)record, &opened->segments[index], 1};
    return NULL;
}

static int read_elements(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    data *opened = context;
    uint32_t size = firn_type_bytes(opened->streams[stream].element);
    uint64_t at = opened->starts[stream] + first * size;
    return system_read(opened->files[stream], at, elements, count * size) ? FIRN_OK : FIRN_ERROR_SOURCE;
}

const char *data_open(data *opened, bool records) {
    *opened = (data){0};
    const char *fault = open_stream(opened, 0, "data", records);
    if (fault != NULL)
        return fault;
    opened->source = (firn_source){opened, opened->streams, 1, read_elements};
    int labels = system_open("labels", false);
    if (labels >= 0) {
        (void)system_close(labels);
        opened->source.stream_count = 2;
        fault = open_stream(opened, 1, "labels", true);
    }
    return fault;
}
