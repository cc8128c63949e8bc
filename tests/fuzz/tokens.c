/* Fuzzes raw tokens: arbitrary bytes as a .bin file for plans of few, many and any tokens. */
#include "plan/ops.h"
#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t limits[] = {300, 70000, 0};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const firn_host_wanted wanted = {
            .stream_count = 1, .streams = {{.element = FIRN_INT32, .record_elements = 1, .limit = limits[i]}}};
        fuzz_file(data, size, ".bin");
        fuzz_read(&wanted);
    }
    const firn_host_wanted looks = {.records = true, .only_looks = true, .stream_count = 1};
    fuzz_file(data, size, ".bin");
    fuzz_read(&looks);
    return 0;
}
