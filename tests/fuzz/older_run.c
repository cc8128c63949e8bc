/* Fuzzes checkpoints as firnc compile --continue reads them: arbitrary bytes as a file. The header's SHA-256 is made to
 * fit half of the inputs, so that what lies behind it is reached. Every tensor of a record that is accepted lies in the
 * record, and is found by its name. */
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/weights/older_run.h"
#include "plan/signature.h"
#include "tests/fuzz/fuzz.h"

/* Offsets of a record's header (plan/FORMAT.md). */
enum { AT_DIRECTORY_BYTES = 16, AT_STATE_BYTES = 24, AT_DIGEST = 104, AT_CODE = 264 };

static void mend_digest(uint8_t *data, size_t size) {
    uint64_t directory, state;
    if (size < FIRN_RECORD_HEADER_BYTES)
        return;
    memcpy(&directory, data + AT_DIRECTORY_BYTES, sizeof directory);
    memcpy(&state, data + AT_STATE_BYTES, sizeof state);
    const uint64_t left = size - FIRN_RECORD_HEADER_BYTES;
    if (directory > left || state > left - directory)
        return;
    memset(data + AT_DIGEST, 0, FIRN_HASH_BYTES);
    memset(data + AT_CODE, 0, FIRN_HASH_BYTES);
    FUZZ_HOLDS(firn_sha256_of(data, (size_t)(FIRN_RECORD_HEADER_BYTES + directory + state), data + AT_DIGEST) ==
               FIRN_OK);
}

static void check_tensors(const firnc_older_run *run, const uint8_t *data, size_t size) {
    for (uint32_t i = 0; i < run->count; i++) {
        const firnc_older_tensor *tensor = &run->tensors[i];
        uint64_t bytes;
        FUZZ_HOLDS(firn_shape_bytes(&tensor->shape, &bytes) && tensor->bytes >= data &&
                   bytes <= size - (size_t)(tensor->bytes - data));
        FUZZ_HOLDS(firnc_older_run_find(run, tensor->name) == tensor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const firnc_mark mark = firnc_memory_mark();
    for (int mended = 0; mended < 2; mended++) {
        uint8_t *copy = fuzz_copy(data, size);
        if (mended == 1)
            mend_digest(copy, size);
        firnc_older_run run = {.file = "fuzzed"};
        const firnc_bytes bytes = {.data = copy, .count = size};
        if (firnc_older_run_parse(&run, &bytes) == FIRN_OK)
            check_tensors(&run, copy, size);
        free(copy);
    }
    firnc_memory_release(mark);
    return 0;
}
