/* Fuzzes models in the ONNX format: arbitrary bytes as such a file. A file is refused with exactly one message, or it
 * becomes a graph; as a model by itself and as that of a recipe. Whatever it asks for, memory stays bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/onnx/onnx.h"
#include "tests/fuzz/fuzz.h"

static uint32_t faults;

static void count_message(void *context, const char *line) {
    (void)context;
    FUZZ_HOLDS(strncmp(line, "firnc: ", 7) == 0 && strchr(line, '\n') == NULL);
    faults++;
}

static void import(const char *name, bool bare) {
    static const firnc_onnx_dimension dimensions[] = {{"length", 3}};
    const firnc_onnx_options options = {.dimensions = dimensions,
                                        .dimension_count = 1,
                                        .bare = bare,
                                        .any_opset = bare,
                                        .features = {.element = FIRN_UINT8}};
    static firnc_onnx_model model;
    faults = 0;
    const bool good = firnc_onnx_import(firnc_graph_create("fuzz"), name, &options, &model);
    FUZZ_HOLDS(faults == (good ? 0u : 1u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char name[64];
    if (name[0] == '\0')
        snprintf(name, sizeof name, "/dev/shm/firn-fuzz-%ld.onnx", (long)getpid());
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    firnc_messages_to(count_message, NULL);
    const firnc_mark mark = firnc_memory_mark();
    import(name, true);
    import(name, false);
    firnc_memory_release(mark);
    remove(name);
    return 0;
}
