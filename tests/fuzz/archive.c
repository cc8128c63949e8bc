/* Fuzzes .npz: arbitrary bytes as a zip file, of which the only array or one with a name is read. */
#include "plan/ops.h"
#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {NULL, "x", "y.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const firn_host_wanted wanted = {.records = true,
                                         .stream_count = 1,
                                         .streams = {{.element = FIRN_FLOAT32, .record_elements = 2}},
                                         .members = {names[i]}};
        fuzz_file(data, size, ".npz");
        fuzz_read(&wanted);
    }
    const firn_host_wanted text = {.stream_count = 1, .streams = {{.element = FIRN_UINT8, .record_elements = 1}}};
    fuzz_file(data, size, ".npz");
    fuzz_read(&text);
    return 0;
}
