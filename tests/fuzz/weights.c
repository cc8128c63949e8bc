/* Fuzzes weights files: arbitrary bytes as a safetensors file for a small model, with and without a weight map. A file
 * is refused with exactly one message, or every parameter that it has can be read, and its tensors share its data among
 * themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/weights/weights.h"
#include "tests/fuzz/fuzz.h"

static const firnc_weight_parameter parameters[] = {
    {.name = "a.bias", .shape = {.type = FIRN_FLOAT32, .rank = 1, .dims = {6}}},
    {.name = "a.weight", .shape = {.type = FIRN_FLOAT32, .rank = 2, .dims = {2, 6}}},
    {.name = "table", .shape = {.type = FIRN_FLOAT32, .rank = 3, .dims = {2, 1, 3}}},
};

static const firnc_weight_rule rules[] = {
    {.parameter = "a.weight", .tensors = {"q", "k", "v"}, .sizes = {1, 2, 3}, .transpose = true},
    {.parameter = "*.bias",
     .tensors = {"x.*.bias"},
     .order = {1, 0, 2},
     .order_count = 3,
     .shape = {3, 2, FIRNC_WEIGHT_REST},
     .shape_count = 3},
    {.kind = FIRNC_WEIGHT_COPY, .parameter = "table", .tensors = {"copy"}},
    {.kind = FIRNC_WEIGHT_IGNORED, .tensors = {"*.mask?"}},
};

enum { PARAMETERS = sizeof parameters / sizeof parameters[0], RULES = sizeof rules / sizeof rules[0] };

static char name[64], warning[128]; /* the file, and how a warning about it begins, which a tensor's name may imitate */
static uint32_t faults;

static void count_message(void *context, const char *line) {
    (void)context;
    FUZZ_HOLDS(strncmp(line, "firnc: ", 7) == 0 && strchr(line, '\n') == NULL);
    faults += strncmp(line, warning, strlen(warning)) != 0;
}

/* Every byte of the data is in one tensor. */
static void check_places(const firnc_safetensors *file, uint64_t data_bytes) {
    uint64_t covered = 0;
    for (uint32_t i = 0; i < file->count; i++) {
        const firnc_safetensor *tensor = &file->tensors[i];
        FUZZ_HOLDS(tensor->begin <= tensor->end && tensor->end <= data_bytes);
        FUZZ_HOLDS(firnc_safetensors_find(file, tensor->name) == tensor);
        covered += tensor->end - tensor->begin;
    }
    FUZZ_HOLDS(covered == data_bytes);
}

static void read_file(const uint8_t *data, size_t size, bool mapped, bool allow_unmatched) {
    static firnc_job job;
    firnc_weights weights;
    firnc_job_defaults(&job, FIRNC_TRAIN);
    job.weights = name;
    job.allow_unmatched = allow_unmatched;
    job.model_weight_map = (firnc_weight_map){rules, mapped ? RULES : 0};
    faults = 0;
    const bool opened = firnc_weights_open(&weights, &job, parameters, PARAMETERS);
    FUZZ_HOLDS(faults == (opened ? 0u : 1u));
    if (!opened)
        return;
    uint64_t header = 0;
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)data[i] << (8 * i);
    check_places(&weights.file, size - 8 - header);
    for (uint32_t i = 0; i < PARAMETERS; i++) {
        FUZZ_HOLDS(allow_unmatched || firnc_weights_has(&weights, i));
        /* exactly as large as it must be, for the sanitizers */
        float *values = malloc((size_t)firnc_weight_elements(&parameters[i]) * sizeof *values);
        FUZZ_HOLDS(values != NULL);
        faults = 0;
        const bool read = !firnc_weights_has(&weights, i) || firnc_weights_read(&weights, i, values);
        FUZZ_HOLDS(faults == (read ? 0u : 1u));
        free(values);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (name[0] == '\0') {
        snprintf(name, sizeof name, "/dev/shm/firn-fuzz-%ld.safetensors", (long)getpid());
        snprintf(warning, sizeof warning, "firnc: %s: warning: ", name);
    }
    FILE *file = fopen(name, "wb");
    FUZZ_HOLDS(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    firnc_messages_to(count_message, NULL);
    const firnc_mark mark = firnc_memory_mark();
    for (int way = 0; way < 4; way++)
        read_file(data, size, way % 2 == 1, way / 2 == 1);
    firnc_memory_release(mark);
    remove(name);
    return 0;
}
