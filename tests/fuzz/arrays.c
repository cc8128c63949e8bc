/* Fuzzes arrays: arbitrary bytes as .npy or IDX, read as records of each type that a plan has, and as tokens. */
#include "plan/ops.h"
#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t elements[] = {FIRN_FLOAT32, FIRN_INT32, FIRN_UINT8, FIRN_INT16};
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        const firn_host_wanted wanted = {
            .records = true, .stream_count = 1, .streams = {{.element = elements[i], .record_elements = 2}}};
        fuzz_file(data, size, ".npy");
        fuzz_read(&wanted);
    }
    const firn_host_wanted tokens = {.stream_count = 1, .streams = {{.element = FIRN_INT32, .record_elements = 1}}},
                           looks = {.records = true, .only_looks = true, .stream_count = 1};
    fuzz_file(data, size, ".npy");
    fuzz_read(&tokens);
    fuzz_file(data, size, ".npy");
    fuzz_read(&looks);
    return 0;
}
