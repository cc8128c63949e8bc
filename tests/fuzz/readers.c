/* Opens an input as data (readers.h). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/ops.h"
#include "runtime/targets/host/tables/columns.h"
#include "tests/fuzz/readers.h"

enum { ELEMENTS_MOST = 1 << 16 };

static char name[80];
static int said = -1, kept = -1; /* what is printed on standard error, and where it goes else */

const char *fuzz_file(const uint8_t *data, size_t size, const char *ending) {
    snprintf(name, sizeof name, "/dev/shm/firn-fuzz-%ld%s", (long)getpid(), ending);
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    return name;
}

static void begin_messages(void) {
    if (said < 0) {
        said = memfd_create("said", 0);
        firn_host_messages_to(firn_host_print_message, NULL);
        kept = dup(STDERR_FILENO);
    }
    FUZZ_HOLDS(ftruncate(said, 0) == 0 && lseek(said, 0, SEEK_SET) == 0 && dup2(said, STDERR_FILENO) >= 0);
}

/* Ends it, and returns the number of lines that were printed. */
static int end_messages(void) {
    static char text[1 << 16];
    int lines = 0;
    FUZZ_HOLDS(dup2(kept, STDERR_FILENO) >= 0);
    const ssize_t count = pread(said, text, sizeof text, 0);
    for (ssize_t i = 0; i < count; i++)
        lines += text[i] == '\n';
    FUZZ_HOLDS(lines == 0 || (strncmp(text, "firn: ", 6) == 0 && text[count - 1] == '\n'));
    return lines;
}

/* Reads a stream at once and one by one. The blocks are exactly as large as they must be, for the sanitizers. */
static void read_stream(const firn_host_data *data, uint32_t stream) {
    const uint64_t elements = firn_host_data_elements(&data->files[stream]);
    const uint32_t width = firn_type_bytes(data->streams[stream].element);
    const uint32_t count = elements < ELEMENTS_MOST ? (uint32_t)elements : ELEMENTS_MOST;
    uint8_t *all = malloc((size_t)count * width), *one = malloc(width);
    FUZZ_HOLDS(all != NULL && one != NULL);
    FUZZ_HOLDS(data->source.read(data->source.context, stream, 0, count, all) == FIRN_OK);
    for (uint32_t i = 0; i < count; i += 1 + i / 64) {
        FUZZ_HOLDS(data->source.read(data->source.context, stream, i, 1, one) == FIRN_OK);
        FUZZ_HOLDS(memcmp(one, all + (size_t)i * width, width) == 0);
    }
    FUZZ_HOLDS(data->source.read(data->source.context, stream, elements, 1, one) == FIRN_ERROR_SOURCE);
    free(all);
    free(one);
}

static void summarise(const firn_host_data *data, uint32_t stream) {
    char text[300];
    firn_host_summary summary;
    for (uint32_t i = 0; i < data->files[stream].count; i++) {
        firn_host_file_describe(data->files[stream].files[i], text, sizeof text);
        FUZZ_HOLDS(firn_host_file_summarise(data->files[stream].files[i], &summary));
        firn_host_summary_free(&summary);
    }
}

void fuzz_columns(const firn_host_wanted *wanted) {
    firn_host_columns columns;
    begin_messages();
    const bool read = firn_host_columns_read(&columns, name, wanted);
    FUZZ_HOLDS(end_messages() <= (read ? 0 : 1));
    for (uint32_t i = 0; read && i < columns.count; i++) {
        const firn_host_column *c = &columns.list[i];
        FUZZ_HOLDS(c->numbers + c->missing + c->infinities + c->texts <= columns.rows + (columns.cut ? 1 : 0));
        FUZZ_HOLDS(c->distinct <= FIRN_HOST_DISTINCT_MOST && c->distinct <= columns.rows + 1);
    }
    if (read)
        firn_host_columns_free(&columns);
}

void fuzz_read(const firn_host_wanted *wanted) {
    firn_host_data data;
    const char *paths[] = {name};
    begin_messages();
    const bool opened = firn_host_data_open(&data, wanted, paths, 1, NULL, NULL);
    const int lines = end_messages();
    FUZZ_HOLDS(lines == (opened ? 0 : 1));
    for (uint32_t s = 0; opened && s < wanted->stream_count; s++) {
        if (wanted->only_looks)
            summarise(&data, s);
        else
            read_stream(&data, s);
    }
    firn_host_data_close(&data);
    remove(name);
}
