/* Data files as a source for the emulated targets. The runtime checks the source's types, lengths and ranges; these
 * checks may not be repeated here. */
#include "runtime/targets/emulated/data.h"

#include "runtime/targets/emulated/system.h"

static int read_file(void *context, uint64_t offset, void *bytes, uint32_t count) {
    const int *handle = context;
    return firn_system_read(*handle, offset, bytes, count) ? FIRN_OK : FIRN_ERROR_SOURCE;
}

static int open_stream(firn_emulated_data *opened, uint32_t index, const char *name, bool records) {
    firn_data_file *file = &opened->files[index];
    firn_data_layout *layout = &opened->layouts[index];
    opened->handles[index] = firn_system_open(name, false);
    int64_t length = opened->handles[index] < 0 ? -1 : firn_system_length(opened->handles[index]);
    if (length <= 0)
        return FIRN_ERROR_SOURCE;
    *file = (firn_data_file){&opened->handles[index], (uint64_t)length, read_file};
    int error = firn_data_look(file, layout);
    opened->segments[index].elements = layout->elements;
    opened->streams[index] =
        (firn_stream){layout->element, records ? firn_data_record_elements(layout) : 1, &opened->segments[index], 1};
    return error;
}

static int read_elements(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    const firn_emulated_data *opened = context;
    return firn_data_read(&opened->files[stream], &opened->layouts[stream], first, count, elements);
}

int firn_emulated_data_open(firn_emulated_data *opened, bool records) {
    *opened = (firn_emulated_data){0};
    opened->source = (firn_source){opened, opened->streams, 1, read_elements};
    int labels = firn_system_open("labels", false);
    if (labels >= 0) {
        (void)firn_system_close(labels);
        opened->source.stream_count = 2;
    }
    int error = open_stream(opened, 0, "data", records);
    if (error == FIRN_OK && opened->source.stream_count == 2)
        error = open_stream(opened, 1, "labels", true);
    return error;
}
